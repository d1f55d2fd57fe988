/* pcap_stop - the handler and its flag. */
#include "agent/command/pcap_stop.h"

static volatile sig_atomic_t pcap_stopped;
static struct sigaction before_int, before_term;

static void pcap_stop_on_signal(int signum)
{
	pcap_stopped = 1;
}

const volatile sig_atomic_t *pcap_stop_begin(void)
{
	const struct sigaction action = {
		.sa_handler = pcap_stop_on_signal, .sa_flags = (int)SA_RESETHAND};
	pcap_stopped = 0;
	sigaction(SIGINT, &action, &before_int);
	sigaction(SIGTERM, &action, &before_term);
	return &pcap_stopped;
}

void pcap_stop_end(void)
{
	sigaction(SIGINT, &before_int, NULL);
	sigaction(SIGTERM, &before_term, NULL);
}

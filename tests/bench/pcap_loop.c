/*
 * pcap_loop - reads a capture with libpcap and does nothing else: the unit in which bench_pcap.sh
 * measures. Prints the number of packets.
 */
#include <pcap/pcap.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	char text[PCAP_ERRBUF_SIZE];
	if (argc != 2)
		return 2;
	pcap_t *capture = pcap_open_offline(argv[1], text);
	if (!capture) {
		fprintf(stderr, "pcap_loop: %s\n", text);
		return 1;
	}
	unsigned long long packets = 0, octets = 0;
	struct pcap_pkthdr *head;
	const u_char *bytes;
	while (pcap_next_ex(capture, &head, &bytes) == 1) {
		packets++;
		octets += head->len;
	}
	pcap_close(capture);
	printf("%llu packets, %llu octets\n", packets, octets);
	return 0;
}

/* pcap_watch - a capture in the foreground: "rocewatch pcap -i". Blocks its thread. */
#ifndef RW_COLLECTORS_PCAP_WATCH_H
#define RW_COLLECTORS_PCAP_WATCH_H

#include <signal.h>
#include <stdint.h>

#include "collectors/packet/roce_parse.h"

struct err;

struct pcap_watch {
	const char *interface;
	int64_t for_ns; /* 0 = no end */
	const volatile sig_atomic_t *stop; /* the capture ends soon after it is set */
	/* once, when the interface is open and nothing was read yet: what opening needed can be
	 * given up here. Negative errno with @e ends the capture. NULL = nothing to do. */
	int (*opened)(void *arg, struct err *e);
	/* every frame that PCAP_FILTER lets through; lent for the call */
	void (*packet)(void *arg, const struct roce_packet *packet, int64_t t_ns);
	void *arg;
};

struct pcap_watch_stats {
	uint64_t kernel_drops; /* frames that the kernel had no room for */
};

/* pcap_watch - needs CAP_NET_RAW until .opened was called. 0 or negative errno with @e; @ret is
 * filled in both cases. */
int pcap_watch(const struct pcap_watch *watch, struct pcap_watch_stats *ret, struct err *e);

#endif

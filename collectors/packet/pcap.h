/*
 * pcap - live captures: an interface (in a network namespace if asked) on the loop. Decoding is
 * roce_parse, keeping is flow_table; files are read by pcap_file.
 *
 * A capture is a target (collector.h): UP while it can see packets; BACKOFF while its interface is
 * gone or down, tried again with growing pauses up to RETRY_MAX. At the end of each interval it
 * hands over the flow rows. The totals come always, even when no packet came: a quiet link differs
 * from a capture that does not work.
 * Intervals end at wall-clock multiples of interval_ns; the first after a start or an interruption
 * begins when the capture did.
 */
#ifndef RW_COLLECTORS_PCAP_H
#define RW_COLLECTORS_PCAP_H

#include <signal.h>

#include "collectors/target/collector.h"
#include "collectors/packet/roce_parse.h"
#include "config/config.h"

struct loop;
struct capture;

/* RoCEv2 untagged, in one tag and in two; PFC and pause; RoCEv1. "vlan" shifts the offsets of all
 * that follows it, so it comes last. */
#define PCAP_FILTER                                                                                \
	"udp port 4791 or ether proto 0x8808 or ether proto 0x8915 or (vlan and (udp port 4791 "   \
	"or (vlan and udp port 4791)))"

/*
 * capture_open - needs CAP_NET_RAW (and CAP_SYS_ADMIN for another namespace): call before
 * privileges are dropped.
 *
 * An interface that is absent or down is not an error: the capture waits for it in BACKOFF. 0;
 * -EPERM, -ENOTSUP (listen), -EINVAL.
 * @config is copied. @sink is copied, what it points to is lent. Without device and port the rows
 * go to the entity (capture name, interface).
 */
int capture_open(struct loop *loop, struct entities *entities, const struct config_capture *config,
	const struct sink *sink, struct capture **ret, struct err *e);
bool capture_same(const struct capture *capture, const struct config_capture *config);
/* after capture_same(): nothing is borrowed, nothing changes */
void capture_update(struct capture *capture, const struct config_capture *config);
void capture_free(struct capture *capture); /* hands over the interval under way first */
const struct target *capture_state(const struct capture *capture);

/* What came since the capture was opened, in frames. .roce of 0 says that the capture sees none,
 * not that there is none. */
struct capture_counts {
	/* all that the filter let through; of these RoCEv2, and not readable */
	uint64_t frames, roce, bad;
	uint64_t kernel_drops; /* up to the last end of an interval */
};
const struct capture_counts *capture_counts(const struct capture *capture);

/*
 * pcap_watch - capture in the foreground until @for_ns has passed (0 = no end) or *@stop is set:
 * "rocewatch pcap -i".
 * @fn sees every frame that PCAP_FILTER lets through. 0 or negative errno with @e.
 */
typedef void pcap_packet_fn(void *arg, const struct roce_packet *packet, int64_t t_ns);
struct pcap_watch_stats {
	uint64_t kernel_drops;
};
int pcap_watch(const char *interface, int64_t for_ns, const volatile sig_atomic_t *stop,
	pcap_packet_fn *fn, void *arg, struct pcap_watch_stats *ret, struct err *e);

#endif

/*
 * pcap - live captures: an interface (in a network namespace if asked) on the loop. Decoding is
 * roce_parse, keeping is capture_analysis; files are read by pcap_file.
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

#include "collectors/packet/frame_census.h"
#include "collectors/packet/roce_count.h"
#include "collectors/target/collector.h"
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

/*
 * What came since the capture was opened, in frames. No RoCEv2 packet
 * says that the capture sees none, not that there is none.
 */
struct capture_counts {
	const struct roce_count *count; /* all that the filter let through, by kind; lent */
	uint64_t kernel_drops; /* up to the last end of an interval */
	/* of the interface, RoCE or not; < 0 not known */
	double interface_frames;
	struct frame_census census; /* what the interface shows instead, while there is no RoCE */
};
void capture_counts(const struct capture *capture, struct capture_counts *ret);

#endif

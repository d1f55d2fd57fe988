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

#include "collectors/packet/encapsulation_count.h"
#include "collectors/packet/frame_census.h"
#include "collectors/packet/roce_count.h"
#include "collectors/target/collector.h"
#include "config/config.h"

struct loop;
struct capture;

/*
 * What roce_parse reads or names, and nothing else: RoCEv2, sFlow, Ultra Ethernet, tunnels and
 * mirrors over IPv4 and IPv6; PFC, pause, RoCEv1, MPLS; MACsec, so that it is named.
 *
 * PCAP_FILTER is for Ethernet, untagged, with one tag and with two; "vlan" shifts the offsets of
 * all that follows it, so it comes last. PCAP_FILTER_COOKED is for Linux cooked captures, for which
 * libpcap does not know "vlan"; the kernel compares the type behind the tag there. PCAP_FILTER_IP
 * is for interfaces that begin with an IP header. An IPv6 header with extension headers is let
 * through whole: BPF does not follow them. Fragments of tunnels are let through by their first part
 * only.
 */
#define PCAP_FILTER_IP                                                                             \
	"udp dst port 4791 or udp dst port 4793 or udp dst port 6343 or udp dst port 4789 or "     \
	"udp dst port 4790 or udp dst port 6081 or udp dst port 6635 or udp dst port 4754 or "     \
	"udp dst port 8472 or udp dst port 37008 or ip proto 47 or ip6 proto 47 or ip proto 4 or " \
	"ip6 proto 4 or ip proto 41 or ip6 proto 41 or ip proto 137 or ip6 proto 137 or "          \
	"ip proto 97 or ip6 proto 97 or ip6 proto 143 or ip6 proto 43 or ip6 proto 0 or "          \
	"ip6 proto 60 or ip6 proto 44"
#define PCAP_FILTER_TYPES                                                                          \
	"ether proto 0x8808 or ether proto 0x8915 or ether proto 0x8847 or ether proto 0x8848 or " \
	"ether proto 0x88e5"
#define PCAP_FILTER_COOKED "(" PCAP_FILTER_IP " or " PCAP_FILTER_TYPES ")"
#define PCAP_FILTER                                                                                \
	PCAP_FILTER_COOKED " or (vlan and (" PCAP_FILTER_COOKED                                    \
			   " or (vlan and " PCAP_FILTER_COOKED ")))"

/*
 * capture_open - needs CAP_NET_RAW (and CAP_SYS_ADMIN for another namespace): call before
 * privileges are dropped.
 *
 * An interface that is absent or down is not an error: the capture waits for it in BACKOFF. 0;
 * -EPERM, -EINVAL.
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
	/* all that the filter let through: by kind, and what it was carried in; lent */
	const struct roce_count *count;
	const struct encapsulation_count *encapsulation;
	/* up to the last end of an interval: what the kernel had no room for; packets that came
	 * twice */
	uint64_t kernel_drops, copies;
	/* of the interface, RoCE or not; < 0 not known */
	double interface_frames;
	struct frame_census census; /* what the interface shows instead, while there is no RoCE */
};
void capture_counts(const struct capture *capture, struct capture_counts *ret);

#endif

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
#pragma once

#include <signal.h>
#include "base/base.h"

#include "collectors/packet/frame/frame_count.h"
#include "collectors/packet/frame/roce_parse.h"
#include "collectors/target/collector.h"
#include "config/config.h"

struct loop;
struct capture;

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
void capture_free(struct capture *capture); /* hands over the interval under way first */
const struct target *capture_state(const struct capture *capture);

/* pcap_watch - a capture in the foreground: "rocewatch pcap -i". Blocks its thread. */

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

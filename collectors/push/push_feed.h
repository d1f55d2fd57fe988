/*
 * push_feed - from messages of pushed metrics to samples: which device a message is about, what its
 * names mean, which series a point belongs to. It is used in the process that reads messages of
 * others (agent/jail/parser_child.c): devices are "d" and a number there.
 *
 * A point is looked up by a keyed hash of its labels, of its metric and of its resource, so that
 * texts are read once for each series. Everything that grows has a bound; what is beyond is
 * counted. Nobody can use up a bound for others: a new series is taken while its device has no more
 * series than are free, and its sender no more than four times as many; a new name while the sender
 * brought no more names of the device than half of what is free there. So one alone may have a
 * half, four fifths and a third, several greedy ones less each, and whoever is new finds room.
 * Series that nobody sends any more are forgotten.
 *
 * Not for two threads at once: the caller locks.
 */
#pragma once

#include "base/base.h"
#include "collectors/push/otlp_decode.h"
#include "db/model/metric.h"
#include "collectors/push/push_map.h"

struct push_senders;
struct config;
struct entities;
struct push_feed;

enum {
	FEED_SERIES_MAX = 1 << 20,
	FEED_SENDERS_MAX = 1024, /* whose series are counted each; further ones share a count */
	FEED_UNKNOWN_MAX = 4096, /* names told apart */
	FEED_NAMED = 12, /* of each kind, with its name */
	FEED_NAME_MAX = 64, /* bytes of such a name, the end included */
};

struct push_feed_options {
	struct entities *entities;
	const struct profiles *profiles;
	enum sample_source source;
	uint64_t seed; /* secret of this process */
	size_t most_series; /* 0 = FEED_SERIES_MAX */
};
struct push_feed *push_feed_new(const struct push_feed_options *options); /* all lent */
void push_feed_free(struct push_feed *feed); /* NULL is fine */

/* push_feed_devices - whose messages are taken; @config is lent until the next call. What was
 * learnt of senders is forgotten, values of series are kept. */
void push_feed_devices(struct push_feed *feed, const struct config *config);

/* push_feed_interval - of each series at most one sample in this time is kept, however often it is
 * sent, as of IPFIX (collectors/push/ipfix_flow.h): of a watermark the greatest value. 0 = all. */
void push_feed_interval(struct push_feed *feed, int64_t interval_ns);

/* push_feed_expire - time passes, about once a minute: series that were not sent for FEED_FORGET_NS
 * are forgotten. @mono_ns: by a clock that nobody sets. */
#define FEED_FORGET_NS (3600LL * 1000000000)
void push_feed_expire(struct push_feed *feed, int64_t mono_ns);

struct push_feed_result {
	uint64_t points, refused;
	char message[OTLP_MESSAGE_MAX]; /* why points were refused; "" */
};

/*
 * push_feed_take - one message of a sender. @address: 16 bytes, IPv4 as its IPv6 form; @now_ns:
 * wall clock. Samples are added to push_feed_samples(). 0; -EBADMSG: it is no such message, and
 * nothing of it is kept.
 */
int push_feed_take(struct push_feed *feed, const uint8_t address[16], const uint8_t *data, size_t n,
	int64_t now_ns, struct push_feed_result *ret);

/* What came and was not taken yet, oldest first; lent until the next call of this file. */
const struct sample *push_feed_samples(const struct push_feed *feed, size_t *ret_n);
/* push_feed_taken - the first @n of them are forgotten. */
void push_feed_taken(struct push_feed *feed, size_t n);

struct push_feed_counts {
	uint64_t messages, bad_messages, points, samples;
	uint64_t unknown_points; /* of names that no profile knows */
	uint64_t unknown_names; /* told apart */
	uint64_t unsupported; /* points of histograms and summaries */
	uint64_t delta; /* points of sums that are no running totals */
	uint64_t no_device; /* points of senders that are no device */
	uint64_t
		misnamed; /* resources of a host that is no device, taken for that of the address */
	uint64_t pinned; /* points that name a pinned device and come from elsewhere */
	uint64_t no_place; /* points without the label of the port, or with one that cannot be */
	uint64_t no_value; /* values that cannot be */
	uint64_t repeated; /* points that came before, or are older than the newest */
	uint64_t thinned; /* points that came sooner than the interval: not kept */
	uint64_t off_clock; /* points of a time that cannot be */
	uint64_t beyond; /* points of series that had no room */
	uint64_t forgotten; /* series that nobody sent for FEED_FORGET_NS */
	uint64_t series;
};
const struct push_feed_counts *push_feed_counts(const struct push_feed *feed);

/* push_feed_named - names that were counted: each is letters, digits and _ . : - only, others
 * became '_'. */
enum push_feed_kind {
	FEED_UNKNOWN_NAME,
	FEED_UNKNOWN_DEVICE,
	FEED_UNSUPPORTED,
	FEED_BEYOND, /* the sender of points that had no room */
	FEED_MISNAMED, /* the sender by whose address it is known, not by its name */
	FEED_PINNED, /* who named a pinned device from elsewhere */
	FEED_KINDS
};
typedef void push_feed_named_fn(void *arg, const char *name, uint64_t points);
void push_feed_named(
	const struct push_feed *feed, enum push_feed_kind kind, push_feed_named_fn *fn, void *arg);

/* push_senders - which device sends: by the names that it gives itself in its resource, else by
 * the address it sends from. Immutable once made; any thread. */

#define SENDER_NONE UINT32_MAX

/* push_senders_new - of the devices "dN" with push.names in @config, which is not kept. Their
 * names are push.names, their addresses push.address, snmp.address and gnmi.address. */
struct push_senders *push_senders_new(const struct config *config);

void push_senders_free(struct push_senders *senders); /* NULL is fine */

/* push_senders_named - the number N of the device that calls itself so; letters count the same in
 * any case, and a domain behind the name may be missing on either side. SENDER_NONE: none, or more
 * than one. */
uint32_t push_senders_named(const struct push_senders *senders, const char *name, size_t n);

/* push_senders_find - by the resource's labels (host.name and others), else by the address.
 * SENDER_NONE for neither, and where the labels name a device with push.pin that sends from
 * another address. *@ret_by says which. */
enum sender_by { SENDER_BY_NOTHING, SENDER_BY_NAME, SENDER_BY_ADDRESS, SENDER_PINNED_ELSEWHERE };
uint32_t push_senders_find(const struct push_senders *senders, const uint8_t address[16],
	const struct push_label *labels, size_t n, enum sender_by *ret_by);

/* push_senders_address - is it an address of a device? */
bool push_senders_address(const struct push_senders *senders, const uint8_t address[16]);

/* push_senders_describe - how a sender that is no device calls itself: "NAME_at_ADDRESS". */
enum { SENDER_TEXT_MAX = 64 };

/*
 * gnmi_walk - SubscribeResponses, fast: the same updates as gnmi_decode_subscribe(), read straight
 * from the wire.
 *
 * A stream repeats itself. What costs is not the numbers but the paths, which come as text in
 * pieces, thousands of times the same. So the walker remembers, for the raw bytes of a prefix and a
 * path, what the codec once made of them, and compares bytes: a hash finds the candidate, memcmp
 * decides. Mostly not even the hash is needed, because the path that followed this one last time
 * follows it again. Servers may write one path in several ways (the order of keys is theirs); each
 * way is a form, and forms of one path share its id.
 *
 * It knows the shapes that servers send and no others. At anything else in a message - an unknown
 * field, a field twice, one out of order, a number longer than it must be, a deprecated form - it
 * gives the whole message to the codec before anything was delivered, and counts a fallback. That
 * is what makes the two agree: tests/fuzz/fuzz_gnmi_walk.c.
 *
 *   message -> records (all fields checked, all paths resolved) -> deletes, then updates ->
 *       callback
 *        \-> codec, when in doubt
 *
 * Instructions per update, until a counter is in its table (callgrind, gcc 12 -O2, x86-64;
 * tests/bench/bench_gnmi_codec.sh):
 *
 *                                            walker    codec
 *     100 updates in a notification             410    9,722
 *     one update in a notification              901   11,288
 *     a leaf of a table sent as JSON          1,768    2,395
 *
 * One walker per stream and thread. Not re-entrant. Memory: about 300 bytes per path, within the
 * limits below.
 */
#ifndef RW_PROTO_GNMI_WALK_H
#define RW_PROTO_GNMI_WALK_H

#include "proto/gnmi.h"
#include "proto/gnmi_forms.h"

/* updates or deletes of one message that the walker takes; a message with more goes to the codec */
#define GNMI_WALK_RECORDS_MAX (1u << 16)
#define GNMI_WALK_RECORDS_KEPT (1u << 10) /* room for so many stays between messages */

struct gnmi_walk;

struct gnmi_walk_stats {
	uint64_t walked, fallbacks; /* messages */
	struct gnmi_forms_counts memory; /* of paths */
};

/* gnmi_walk_new - @decode is copied; what it points to must outlive the walker. */
struct gnmi_walk *gnmi_walk_new(const struct gnmi_decode *decode);
void gnmi_walk_free(struct gnmi_walk *walk); /* NULL is fine */

/* gnmi_walk_message - one SubscribeResponse. Returns and counts as gnmi_decode_subscribe(). @data
 * is needed during the call only. */
int gnmi_walk_message(struct gnmi_walk *walk, const void *data, size_t n);

/* gnmi_walk_reset - forgets all paths; ids begin at 0 again. For a new connection, or when .refused
 * grows. Not from the callback. */
void gnmi_walk_reset(struct gnmi_walk *walk);

/* lent until the next call */
const struct gnmi_walk_stats *gnmi_walk_stats(const struct gnmi_walk *walk);

#endif

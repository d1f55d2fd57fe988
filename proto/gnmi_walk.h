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
#pragma once

#include "base/base.h"

#include "proto/gnmi.h"

struct gnmi_walk;

/*
 * gnmi_forms - the walker's memory of paths. A form is the bytes of a Path message behind those of
 * a prefix, and what the codec once made of them. A name is (origin, path); its index is the path's
 * id. Several forms may have one name. Both are found by what came after the last one, else by
 * hash; bytes are compared in any case. Part of gnmi_walk, whose header says why.
 */

/* ids; a chassis with everything subscribed needs about 1 << 17 */
#define GNMI_FORMS_PATHS_MAX (1u << 18)
#define GNMI_FORMS_RAW_MAX (4u << 10) /* bytes of one Path message that are remembered */

struct gnmi_forms_counts {
	uint64_t followed, found, learnt; /* paths: as last time, by hash, new */
	/* Times a path was not remembered because a limit was reached. Without an id it is
	 * delivered with GNMI_PATH_NONE; without a form its messages go to the codec. */
	uint64_t refused;
	uint32_t paths, forms; /* held now */
	uint64_t text_bytes;
};

/* Indexes by hash, open addressing. */
struct gnmi_table {
	uint32_t *slots; /* GNMI_FORM_NONE = free */
	uint32_t size; /* a power of two; at most half full */
	uint32_t used;
};

/* updates or deletes of one message that the walker takes; a message with more goes to the codec */
#define GNMI_WALK_RECORDS_MAX (1u << 16)

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

/*
 * gnmi_split - one large SubscribeResponse as several smaller ones with the same meaning: each has
 * the timestamp and the prefix of the notification and some of its updates; its deletes are in the
 * first one. So a reader may do other work between two of them. A message of another shape (field
 * numbers as in gnmi.proto: an extension, a field out of order, one huge value) is one piece.
 */

#define GNMI_SPLIT_BYTES (64u << 10) /* about so many */

struct gnmi_split {
	const uint8_t *p;
	size_t n;
	/* set by gnmi_split_begin(): offsets into .p */
	bool whole; /* cannot be cut */
	size_t head, head_end; /* timestamp and prefix */
	size_t deletes, end;
	size_t at; /* of the next update */
	bool began;
};

/* gnmi_split_begin - @data is lent until the last gnmi_split_next(). Looks at every update once. */
void gnmi_split_begin(struct gnmi_split *split, const void *data, size_t n);
/* gnmi_split_next - the next piece, in @ret (emptied first) or, for a message that is one piece,
 * lent in *@ret_p. False: there is no more. */
bool gnmi_split_next(
	struct gnmi_split *split, struct str *ret, const uint8_t **ret_p, size_t *ret_n);

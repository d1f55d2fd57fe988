/*
 * gnmi - the nouns of this room: a value, an update, what was counted on the way, and the limits.
 *
 * Where the rest is:
 *   gnmi_path.h   paths as text: "/interfaces/interface[name=Ethernet1]/state/counters/in-octets"
 *   gnmi_codec.h   a JSON value flattened into leaves
 *   gnmi_codec.h  requests to bytes; every kind of response to updates. Slow and complete; the
 *                 only user of protobuf-c.
 *   gnmi_walk.h   the stream: the same answer as the codec at a fraction of the price
 *
 * Everything here is pure: bytes in, updates out through a callback on the caller's thread; no
 * clock, no log, no network. A collector
 *   1. encodes its SubscribeRequest with gnmi_encode_subscribe() and sends the bytes;
 *   2. makes one struct gnmi_walk per stream, and gives each message that arrives to
 *       gnmi_walk_message();
 *   3. keeps an array indexed by update.path_id of what the path means to it (entity, metric,
 *       or nothing), filled when an id is new;
 *   4. takes GNMI_SYNC as "the first round is complete": an open stream alone says nothing;
 *   5. correlates by stream, never by update.target: servers are meant to echo it, and not all
 *       do.
 */
#pragma once

#include "base/base.h"

/* Limits on what comes from outside. What exceeds one is refused and counted in struct gnmi_counts.
 */
/* bytes of a message; the transport's own limit is normally lower */
#define GNMI_MESSAGE_MAX (64u << 20)
#define GNMI_UNPACK_MAX (256u << 20) /* bytes that one message may take while it is unpacked */
/* any message may take this much, a larger one GNMI_UNPACK_FACTOR times its size */
#define GNMI_UNPACK_FLOOR (64u << 10)
#define GNMI_UNPACK_FACTOR 64u /* measured at 7; names of one letter come to 30 */
#define GNMI_PATH_MAX 2048u /* bytes of a path as text */
#define GNMI_PATH_ELEMS_MAX 64u
#define GNMI_PATH_KEYS_MAX 16u /* of one element */
/* objects and arrays inside each other; telemetry needs about 10 */
#define GNMI_JSON_DEPTH_MAX 32u
#define GNMI_JSON_LIST_KEYS_MAX 4u /* keys of one list, where the caller said which they are */
#define GNMI_PATH_NONE UINT32_MAX /* an id that is none */

enum gnmi_kind {
	GNMI_NULL, /* JSON null */
	GNMI_INT, /* .i */
	GNMI_UINT, /* .u */
	GNMI_BOOL, /* .b */
	GNMI_DOUBLE, /* .d */
	GNMI_DECIMAL, /* .i / 10^.scale */
	GNMI_STRING, /* .p, .n; also a JSON integer that fits no 64 bits, as it was written */
	GNMI_ASCII, /* .p, .n: text of an agreed format */
	GNMI_BYTES, /* .p, .n */
	GNMI_PROTO, /* .p, .n: a message of an agreed type */
};

struct gnmi_value {
	enum gnmi_kind kind;
	uint32_t scale;
	union {
		int64_t i;
		uint64_t u;
		double d;
		bool b;
	};
	/* As sent: neither NUL-terminated nor checked. May hold control characters and be no UTF-8;
	 * check before showing it. */
	const char *p;
	size_t n;
};

/*
 * gnmi_value_u64 - a counter, exactly: from a number of any kind, or from its decimal text, as
 * JSON_IETF and many servers send it. Never by way of a double, except where one was sent. true and
 * false are 1 and 0 (not as text).
 *
 * Returns 0, -EINVAL when it is no number, -ERANGE when it is negative, has a fraction, or fits no
 * 64 bits.
 */
int gnmi_value_u64(const struct gnmi_value *value, uint64_t *ret);

/* gnmi_value_double - a gauge: as gnmi_value_u64, with sign and fraction. 0, -EINVAL, or -ERANGE
 * when it is not finite. */
int gnmi_value_double(const struct gnmi_value *value, double *ret);

/*
 * gnmi_value_text - for people and for comparing: numbers in full, text as it is up to @size - 1
 * bytes with what cannot be shown as
 * '?', bytes in hexadecimal. Always terminated. Returns @buf.
 */
char *gnmi_value_text(const struct gnmi_value *value, char *buf, size_t size);

enum gnmi_op {
	GNMI_UPDATE,
	GNMI_DELETE, /* a leaf or a subtree, perhaps with wildcards; comes before the updates of the
		      * same notification. With .atomic: what follows in this notification is all
		      * there is under the path */
	GNMI_SYNC, /* no path: everything was sent once. Some servers send it after each round */
	/* no path: a server of old says so inside the stream; .value is its text, .code a gRPC
	   status */
	GNMI_ERROR,
};

enum gnmi_clock {
	GNMI_CLOCK_OK,
	GNMI_CLOCK_MISSING, /* 0 or negative: .t_ns is 0, the receiver's clock must do */
	GNMI_CLOCK_SCALED, /* sent in s, ms or us; .t_ns is in ns all the same */
	GNMI_CLOCK_EARLY, /* before 2015: the device's clock was never set. .t_ns as sent */
};

/*
 * One change. All pointers are lent until the callback returns, with one exception: from a walker
 * with a path_id, .path and .origin live until gnmi_walk_reset() or gnmi_walk_free(). No pointer is
 * NULL except .extension.
 */
struct gnmi_update {
	enum gnmi_op op;
	enum gnmi_clock clock;
	bool atomic;
	/* values that this one stands for and that were never sent: harmless in a counter, not in a
	 * gauge */
	uint32_t duplicates;
	uint32_t code; /* of GNMI_ERROR */
	/* a walker's number for (origin, path), from 0 up; GNMI_PATH_NONE from the codec */
	uint32_t path_id;
	int64_t t_ns; /* the server's, ns since 1970 */
	const char *target; /* "" when the server did not say */
	const char *origin; /* "" likewise */
	const char *path; /* canonical, see gnmi_path.h */
	size_t path_n;
	struct gnmi_value value; /* of GNMI_UPDATE and GNMI_ERROR */
	/* of the message's first registered extension: line cards that stream on their own tell
	 * here who speaks */
	int32_t extension_id;
	const uint8_t *extension; /* its content, or NULL */
	size_t extension_n;
};

/* gnmi_update_fn - runs on the caller's thread, inside the decoding function. Must not decode with
 * the same walker or arena. */
typedef void gnmi_update_fn(void *arg, const struct gnmi_update *update);

/* What happened, ever. Zeroed by its owner, who may add up those of several streams. */
struct gnmi_counts {
	uint64_t messages, bytes; /* given to a decoder */
	uint64_t notifications;
	uint64_t updates, deletes, syncs, errors; /* given to the callback, by op */
	uint64_t duplicates; /* sum of the updates' */
	uint64_t empty; /* messages or notifications that say nothing: keep-alives */
	uint64_t no_value; /* updates without one, or of a kind not known here */
	uint64_t odd_clocks; /* notifications whose clock is not GNMI_CLOCK_OK */
	/* refused */
	uint64_t bad_messages; /* not what protobuf is: nothing of it was delivered */
	uint64_t large_messages; /* over GNMI_MESSAGE_MAX or GNMI_UNPACK_MAX: likewise */
	/* updates and deletes whose path is too long, too deep, not UTF-8 or has control characters
	 */
	uint64_t bad_paths;
	/* values that are not JSON or nest too deep: nothing of them was delivered */
	uint64_t bad_json;
	uint64_t bad_lists; /* leaf-lists that are not what protobuf is, or hold a list */
};

/* gnmi_clock - what @raw, a notification's timestamp, means. Pure; the bounds are those of enum
 * gnmi_clock. */
enum gnmi_clock gnmi_clock(int64_t raw, int64_t *ret_ns);

/* A list whose keys the caller knows, mostly from the path it asked for: JSON does not say which
 * members of an entry are keys. */
struct gnmi_list {
	const char *name; /* of the list, without module: "interface" */
	const char *keys[GNMI_JSON_LIST_KEYS_MAX]; /* "name"; NULL after the last */
};

/* How to decode, and where to. Filled by the caller, only read here; its pointers must outlive the
 * call (the walker: the walker). */
struct gnmi_decode {
	/*
	 * false: names follow YANG, and a module before one is dropped ("openconfig-qos:queue" is
	 * "queue"), in paths, keys and JSON. true: names are what they are. For servers whose names
	 * are table keys, where "Ethernet0:periodic" must stay whole.
	 */
	bool plain_names;
	const struct gnmi_list *lists;
	size_t n_lists;
	gnmi_update_fn *fn;
	void *arg;
	struct gnmi_counts *counts;
};

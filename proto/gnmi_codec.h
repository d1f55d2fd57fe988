/*
 * gnmi_codec - gNMI messages, both ways. The only user of protobuf-c, whose types do not leave
 * gnmi_codec.c.
 *
 * Encoding takes what a collector knows (paths as text) and gives bytes in an arena. Fields that
 * are empty or that some servers trip over are left out altogether: an empty prefix, qos,
 * use_models, allow_aggregation, updates_only.
 *
 * Decoding is complete rather than fast: all kinds of values, the deprecated forms (Path.element,
 * Update.value, Error), prefix and path joined, unknown fields ignored. A message is delivered
 * whole or, when it is not protobuf, not at all. It is the reference that gnmi_walk.h is held to,
 * and what that falls back to.
 */
#pragma once

#include "base/base.h"
#include "proto/gnmi.h"
#include "proto/gnmi_path.h"

/* The numbers of these enumerations are those on the wire. */
enum gnmi_mode { GNMI_STREAM, GNMI_ONCE, GNMI_POLL };
enum gnmi_sub_mode { GNMI_TARGET_DEFINED, GNMI_ON_CHANGE, GNMI_SAMPLE };
enum gnmi_encoding {
	GNMI_ENC_JSON,
	GNMI_ENC_BYTES,
	GNMI_ENC_PROTO,
	GNMI_ENC_ASCII,
	GNMI_ENC_JSON_IETF
};
enum gnmi_data_type { GNMI_ALL, GNMI_CONFIG, GNMI_STATE, GNMI_OPERATIONAL };

const char *gnmi_encoding_name(unsigned encoding); /* "JSON_IETF"; "unknown" */

/* Full method names, for the call. */
#define GNMI_METHOD_CAPABILITIES "/gnmi.gNMI/Capabilities"
#define GNMI_METHOD_GET "/gnmi.gNMI/Get"
#define GNMI_METHOD_SUBSCRIBE "/gnmi.gNMI/Subscribe"

/* ---- requests. The bytes live in @a. 0, or -EINVAL with @e (may be NULL) filled: a path that is
 * none. ---- */

struct gnmi_bytes {
	const uint8_t *p;
	size_t n;
};

/* Where a request looks. All may be NULL or "": then no prefix is sent, as an empty one is refused
 * by some. */
struct gnmi_where {
	const char *target;
	const char *origin;
	const char *prefix;
	/* the origin goes into each path instead of the prefix: some servers compare the two and
	 * refuse */
	bool origin_in_paths;
};

struct gnmi_subscription {
	const char *path;
	/* say SAMPLE or ON_CHANGE: TARGET_DEFINED, the protocol's default, is fatal on some servers
	 */
	enum gnmi_sub_mode mode;
	uint64_t sample_ns; /* SAMPLE; 0 = as fast as the server can, on some an error */
	uint64_t heartbeat_ns; /* 0 = none */
	bool suppress_redundant;
};

struct gnmi_subscribe {
	struct gnmi_where where;
	enum gnmi_mode mode;
	enum gnmi_encoding encoding;
	const struct gnmi_subscription *v;
	size_t n;
};
int gnmi_encode_subscribe(const struct gnmi_subscribe *subscribe, struct arena *a,
	struct gnmi_bytes *ret, struct err *e);

/* gnmi_encode_poll - the next round of a POLL subscription. */
void gnmi_encode_poll(struct arena *a, struct gnmi_bytes *ret);

struct gnmi_get {
	struct gnmi_where where;
	enum gnmi_data_type type;
	enum gnmi_encoding encoding;
	const char *const *paths;
	size_t n;
};
int gnmi_encode_get(
	const struct gnmi_get *get, struct arena *a, struct gnmi_bytes *ret, struct err *e);

/* no bytes at all, and that is a message */
void gnmi_encode_capabilities(struct arena *a, struct gnmi_bytes *ret);

/* ---- responses ----------------------------------------------------------- */

/*
 * gnmi_decode_subscribe - one SubscribeResponse.
 * gnmi_decode_get       - one GetResponse; notifications in order, no GNMI_SYNC.
 *
 * @decode        how, and where to; decode->counts is counted into
 * @scratch  holds the unpacked message (about 7 times its size); the caller resets it when it
 * likes, best after each message
 *
 * Returns 0 (also when the message said nothing), -EBADMSG when it is no such message, -EMSGSIZE
 * when it is over a limit. Either of these means that nothing was delivered.
 */
int gnmi_decode_subscribe(
	const void *data, size_t n, const struct gnmi_decode *decode, struct arena *scratch);
int gnmi_decode_get(
	const void *data, size_t n, const struct gnmi_decode *decode, struct arena *scratch);

struct gnmi_model {
	const char *name, *organization, *version; /* "" when not said */
};
struct gnmi_capabilities {
	const char *version; /* of gNMI: "0.8.0" */
	const unsigned *encodings; /* enum gnmi_encoding, and such as came later */
	size_t n_encodings;
	const struct gnmi_model *models;
	size_t n_models;
};
/* gnmi_decode_capabilities - all of *ret lives in @a. 0, -EBADMSG or -EMSGSIZE. */
int gnmi_decode_capabilities(
	const void *data, size_t n, struct arena *a, struct gnmi_capabilities *ret);
bool gnmi_capabilities_has(
	const struct gnmi_capabilities *capabilities, enum gnmi_encoding encoding);

/* ---- pieces of the stream, for gnmi_walk.c ------------------------------- */

/*
 * gnmi_decode_path - bytes of a Path message added to @at (prefix first, then path, each with one
 * call). *ret_origin and *ret_target are set, in @scratch, where the message has them, and left
 * alone where not.
 *
 * Returns 0, -EBADMSG (no Path), or -ERANGE: a Path, but one that may not be (counts->bad_paths is
 * the caller's to count).
 */
int gnmi_decode_path(const void *data, size_t n, bool plain_names, struct arena *scratch,
	struct gnmi_path *at, const char **ret_origin, const char **ret_target);

/* gnmi_deliver_* - deliver a value that is not a leaf, at @at, as updates like @update (whose path
 * and value are filled in here and which are counted): JSON flattened, the elements of a leaf-list
 * (the bytes of a ScalarArray) one by one. */
void gnmi_deliver_json(const struct gnmi_decode *decode, struct gnmi_update *update,
	struct gnmi_path *at, const void *data, size_t n, struct arena *scratch);
void gnmi_deliver_list(const struct gnmi_decode *decode, struct gnmi_update *update,
	struct gnmi_path *at, const void *data, size_t n, struct arena *scratch);

/*
 * gnmi_json - one JSON value, which may be a leaf, a subtree or a whole table, flattened into
 * (path, leaf).
 *
 * A scanner of its own and no tree: an unsigned 64-bit counter above 2^63 is a number in plain
 * JSON, which jansson can only read as a double or not at all; names go straight into the path; and
 * a table of a thousand leaves costs no allocation. tests/fuzz/ fuzz_gnmi_json.c holds it to
 * jansson's answer.
 *
 *   {"a": {"b": 1}}                 /a/b = 1
 *   {"m:a": 1}                      /a = 1 (/m:a with plain_names)
 *   {"if": [{"name": "e0", "x": 1}]}  /if[name=e0]/name = "e0", /if[name=e0]/x = 1    when "if"
 *                                     is a known list with key "name"
 *                                   /if[#=0]/name = "e0", ...                         when it
 *                                       is not, or an entry has not all its keys
 *   {"a": [1, 2]}                   /a[#=0] = 1, /a[#=1] = 2                          a leaf-list
 *   {"a": [null]}                   /a = null                                         YANG's
 *                                   type "empty" (RFC 7951, 6.9)
 *   [{"x": 1}] at /if               /if[#=0]/x = 1 (or by key), as if it had been a member
 *   {} and []                       nothing
 *
 * Numbers: an integer is GNMI_UINT, or GNMI_INT when negative, or, beyond 64 bits, GNMI_STRING as
 * written; what has a fraction or an exponent is GNMI_DOUBLE. Strings stay strings
 * (gnmi_value_u64() reads them). Member names that repeat are all delivered.
 */

/* The path and the value are lent for the call. */
typedef void gnmi_leaf_fn(void *arg, const struct gnmi_path *path, const struct gnmi_value *value);

/*
 * gnmi_json_flatten - checks the whole text first (RFC 8259, UTF-8, no lone surrogates,
 * GNMI_JSON_DEPTH_MAX), then delivers its leaves.
 *
 * @at   where the value was; grows and shrinks, and is back as it was at the end
 * @decode    names, lists; leaves whose path breaks a limit are counted in its counts->bad_paths
 * @a    takes strings with escapes in them
 *
 * Returns 0, or -EBADMSG with nothing delivered (not counted here).
 */
int gnmi_json_flatten(const void *data, size_t n, struct gnmi_path *at,
	const struct gnmi_decode *decode, struct arena *a, gnmi_leaf_fn *fn, void *arg);

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
#ifndef RW_PROTO_GNMI_JSON_H
#define RW_PROTO_GNMI_JSON_H

#include "proto/gnmi.h"
#include "proto/gnmi_path.h"

struct arena;

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

#endif

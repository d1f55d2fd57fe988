/*
 * gnmi_speak - a gNMI server's side of the messages, for the counterparts in the tests: requests
 * read, responses written. By protobuf-c's generated code only, so that it shares nothing with what
 * the collector reads with. Everything lives in the arena given.
 */
#ifndef RW_TESTS_GNMI_SPEAK_H
#define RW_TESTS_GNMI_SPEAK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"

enum speak_kind {
	SPEAK_STRING,
	SPEAK_INT,
	SPEAK_UINT,
	SPEAK_BOOL,
	SPEAK_DOUBLE,
	SPEAK_JSON,
	SPEAK_JSON_IETF,
	SPEAK_ASCII,
	SPEAK_KINDS
};
extern const char *const speak_kind_names[SPEAK_KINDS]; /* "string" ... "json_ietf" */

struct speak_value {
	const char *path; /* as in proto/gnmi_path.h */
	enum speak_kind kind;
	const char *text; /* the value as text, whatever its kind */
};

struct speak_subscription {
	const char *path;
	int mode; /* 0 target defined, 1 on change, 2 sample */
	uint64_t interval_ns;
};
struct speak_request {
	bool poll; /* a Poll message: nothing else is set */
	int mode; /* 0 stream, 1 once, 2 poll */
	int encoding;
	const char *target, *origin; /* "" */
	bool updates_only, has_qos, aggregation, models; /* what some servers trip over */
	struct speak_subscription *v;
	size_t n;
};
bool speak_read_subscribe(const void *p, size_t n, struct arena *a, struct speak_request *ret);
bool speak_read_get(const void *p, size_t n, struct arena *a, struct speak_request *ret);

struct speak_bytes {
	uint8_t *p;
	size_t n;
};
struct speak_bytes speak_notification(struct arena *a, int64_t t_ns, const char *target,
	const char *origin, const struct speak_value *v, size_t n);
struct speak_bytes speak_deletes(
	struct arena *a, int64_t t_ns, const char *target, const char *const *paths, size_t n);
struct speak_bytes speak_sync(struct arena *a);
struct speak_bytes speak_get(struct arena *a, int64_t t_ns, const char *target, const char *origin,
	const struct speak_value *v, size_t n);
struct speak_bytes speak_capabilities(struct arena *a, const unsigned *encodings, size_t n,
	const char *const *models, size_t n_models);

#endif

/*
 * gnmi_forms - the walker's memory of paths. A form is the bytes of a Path message behind those of
 * a prefix, and what the codec made of them once; a name is (origin, path), whose index is the
 * path's id. Several forms may have one name. Both are found by what came after the last one, else
 * by hash; bytes are compared in any case. For gnmi_walk.c only; its header says how and why, and
 * has the limits.
 */
#ifndef RW_PROTO_GNMI_FORMS_H
#define RW_PROTO_GNMI_FORMS_H

#include "proto/gnmi_walk.h"

struct arena;

#define GNMI_FORM_NONE UINT32_MAX

/* Indexes by hash, open addressing. */
struct gnmi_table {
	uint32_t *slots; /* GNMI_FORM_NONE = free */
	uint32_t size; /* a power of two; at most half full */
	uint32_t used;
};

/* A path as it is known to the caller. */
struct gnmi_name {
	uint64_t hash;
	const char *origin, *path;
	uint32_t path_n, origin_n;
	uint32_t follower; /* the id that came after this one last time */
};

/* The bytes of a Path message after those of a prefix, and what they mean. A prefix is a form too,
 * with .prefix GNMI_FORM_NONE. */
struct gnmi_form {
	uint64_t hash;
	const uint8_t *raw;
	uint32_t raw_n;
	uint32_t prefix; /* form of the prefix */
	uint32_t follower; /* the form that came after this one last time */
	uint32_t id; /* GNMI_PATH_NONE: a prefix, or a path that may not be */
	const char *origin, *path; /* the name's */
	uint32_t path_n, elems;
	const char *target; /* of a prefix */
};

struct gnmi_forms {
	bool plain_names;
	struct gnmi_walk_stats *stats; /* the walker's: .followed to .text_bytes */
	struct arena *texts; /* of forms and names */
	struct gnmi_table form_table, name_table;
	struct gnmi_form *forms;
	struct gnmi_name *names;
	size_t forms_cap, names_cap;
	uint32_t last_prefix, last_form, last_name;
};

void gnmi_forms_init(struct gnmi_forms *forms, bool plain_names, struct gnmi_walk_stats *stats);
void gnmi_forms_reset(struct gnmi_forms *forms); /* forgets everything */
void gnmi_forms_done(struct gnmi_forms *forms);

/*
 * gnmi_forms_prefix, gnmi_forms_path - index of the form, learnt with the codec's help in @scratch
 * when it is new. Indexes hold until the reset, pointers into .forms until the next call.
 * GNMI_FORM_NONE: the bytes are no Path, or a limit was reached (counted).
 */
uint32_t gnmi_forms_prefix(
	struct gnmi_forms *forms, const uint8_t *data, size_t n, struct arena *scratch);
uint32_t gnmi_forms_path(struct gnmi_forms *forms, uint32_t prefix, const uint8_t *data, size_t n,
	struct arena *scratch);

/* gnmi_forms_name - the id of (origin, path), a new one when there is none yet, GNMI_PATH_NONE when
 * a limit forbids it (counted). */
uint32_t gnmi_forms_name(struct gnmi_forms *forms, const char *origin, const char *path, size_t n);

#endif

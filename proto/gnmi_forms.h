/*
 * gnmi_forms - the walker's memory of paths. A form is the bytes of a Path message behind those of
 * a prefix, and what the codec once made of them. A name is (origin, path); its index is the path's
 * id. Several forms may have one name. Both are found by what came after the last one, else by
 * hash; bytes are compared in any case. Part of gnmi_walk, whose header says why.
 */
#ifndef RW_PROTO_GNMI_FORMS_H
#define RW_PROTO_GNMI_FORMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

/* ids; a chassis with everything subscribed needs about 1 << 17 */
#define GNMI_FORMS_PATHS_MAX (1u << 18)
#define GNMI_FORMS_MAX (1u << 19) /* ways to write them, prefixes included */
#define GNMI_FORMS_TEXT_MAX (128u << 20) /* bytes of both */
#define GNMI_FORMS_RAW_MAX (4u << 10) /* bytes of one Path message that are remembered */
/* slots that are tried for one hash: a server that makes hashes collide only slows itself down */
#define GNMI_FORMS_PROBES_MAX 64u

#define GNMI_FORM_NONE UINT32_MAX

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

/* A path as the caller knows it. */
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
	uint32_t id; /* GNMI_PATH_NONE: a prefix, or a path that is not valid */
	const char *origin, *path; /* the name's */
	uint32_t path_n, elems;
	const char *target; /* of a prefix */
};

struct gnmi_forms {
	bool plain_names;
	struct gnmi_forms_counts *counts; /* lent */
	struct arena *texts; /* of forms and names */
	struct gnmi_table form_table, name_table;
	struct gnmi_form *forms;
	struct gnmi_name *names;
	size_t forms_cap, names_cap;
	uint32_t last_prefix, last_form, last_name;
};

void gnmi_forms_init(struct gnmi_forms *forms, bool plain_names, struct gnmi_forms_counts *counts);
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

/* gnmi_forms_name - the id of (origin, path), a new one when there is none yet. GNMI_PATH_NONE when
 * a limit forbids a new one (counted). */
uint32_t gnmi_forms_name(struct gnmi_forms *forms, const char *origin, const char *path, size_t n);

#endif

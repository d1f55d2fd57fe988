/*
 * gnmi_path - a path as text, in one form only, so that equal paths are equal strings:
 *
 *   /interfaces/interface[name=Ethernet1\/1]/...      elements after '/', keys in brackets,
 *       sorted by name (bytewise), each once
 *
 * A backslash stands before / [ \ in a name, before = ] \ in a key's name, before ] \ in a key's
 * value. (gNMI path conventions ask for it before ] and \ in values and before / in names.) The
 * root is "/". A path is UTF-8 without control characters: what is not is refused, so that it can
 * be logged and stored as it stands. Origin and target are not part of it.
 */
#pragma once

#include "base/base.h"
#include "proto/gnmi.h"

struct gnmi_key {
	const char *name, *value; /* not terminated */
	size_t name_n, value_n;
};

struct gnmi_elem {
	const char *name;
	size_t name_n;
	struct gnmi_key *keys;
	size_t n_keys;
};

/* A path that grows and shrinks at its end. Start with gnmi_path_init(). The root has n 0 and the
 * text "/". */
struct gnmi_path {
	size_t n;
	unsigned elems;
	char s[GNMI_PATH_MAX + 2];
};

void gnmi_path_init(struct gnmi_path *path);

/*
 * gnmi_path_add - one element more. @keys are sorted in place; of two with one name the later wins,
 * as in a protobuf map.
 * @plain_names as in struct gnmi_decode.
 *
 * Returns false and leaves @path as it was when the result would break a limit or the rules above.
 * An element with no name and no keys adds nothing: some servers write the root like this. Keys
 * without a name belong to the element before (Junos writes a list and its keys as two elements);
 * where that one has keys already, they get an element "#" of their own.
 */
bool gnmi_path_add(struct gnmi_path *path, const char *name, size_t n, struct gnmi_key *keys,
	size_t n_keys, bool plain_names);

/*
 * gnmi_path_add_keys - keys behind the last element, which had none. At the root they get an
 * element "#" of their own. Returns false and leaves @path as it was when a limit would break.
 */
bool gnmi_path_add_keys(struct gnmi_path *path, struct gnmi_key *keys, size_t n_keys);
/* gnmi_path_add_index - the place in a list whose keys are not known: "[#=@index]", from 0. */
bool gnmi_path_add_index(struct gnmi_path *path, size_t index);

/* gnmi_path_cut - back to an earlier length and depth. */
void gnmi_path_cut(struct gnmi_path *path, size_t n, unsigned elems);

/* Its text and the length of that: "/" for the root. */
static inline const char *gnmi_path_text(const struct gnmi_path *path)
{
	return path->s;
}
static inline size_t gnmi_path_length(const struct gnmi_path *path)
{
	if (path->n)
		return path->n;
	return 1;
}

/*
 * gnmi_path_parse - text, as a person or a profile writes it, into elements in @a. A leading '/' is
 * not required; "" and "/" are the root; keys may come in any order; wildcards are names and values
 * like others.
 *
 * Returns 0, or -EINVAL with @e (may be NULL) filled.
 */
int gnmi_path_parse(const char *text, size_t n, struct arena *a, struct gnmi_elem **ret,
	size_t *ret_n, struct err *e);

/* gnmi_name_skip - length of the module in front of a name ("openconfig-qos:" of
 * "openconfig-qos:queue"), 0 when there is none. A module and what follows it are YANG identifiers
 * (RFC 7950, 6.2): "oid:0x15" and "eth1/1:3" are whole names. */
size_t gnmi_name_skip(const char *name, size_t n);

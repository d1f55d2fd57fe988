/*
 * JSON flattened here and by jansson: what one takes for JSON, so does the other, and its leaves
 * are the same, in order. Left out of the comparison is what jansson cannot hold: integers beyond
 * 63 bits, doubles beyond their range, depth beyond ours, names that repeat.
 */
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "proto/gnmi_codec.h"

struct leaves {
	struct str log;
	const char *text;
	size_t text_n;
	bool beyond; /* a number that is kept as text */
};

static void leaf(struct leaves *l, const struct gnmi_value *v, const char *path)
{
	char text[64];
	bool inside =
		l->text && v->kind == GNMI_STRING && v->p >= l->text && v->p < l->text + l->text_n;
	if (inside && (v->p == l->text || v->p[-1] != '"'))
		l->beyond = true;
	if (path)
		str_addf(&l->log, "%s ", path);
	if (v->kind == GNMI_STRING) {
		str_addf(&l->log, "%zu:", v->n);
		str_addn(&l->log, v->p, v->n);
	} else {
		str_addf(&l->log, "%d:%s", (int)v->kind, gnmi_value_text(v, text, sizeof(text)));
	}
	str_add(&l->log, "\n");
}

static void ours(void *arg, const struct gnmi_path *path, const struct gnmi_value *v)
{
	leaf(arg, v, gnmi_path_text(path));
}

static void values(void *arg, const struct gnmi_path *path, const struct gnmi_value *v)
{
	leaf(arg, v, NULL);
}

static void theirs(struct leaves *l, const json_t *v)
{
	struct gnmi_value leaf_value = {0};
	const char *key;
	json_t *member;
	size_t i;
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		json_object_foreach ((json_t *)v, key, member)
			theirs(l, member);
		return;
	case JSON_ARRAY:
		json_array_foreach (v, i, member)
			theirs(l, member);
		return;
	case JSON_STRING:
		leaf_value = (struct gnmi_value){
			.kind = GNMI_STRING, .p = json_string_value(v), .n = json_string_length(v)};
		break;
	case JSON_INTEGER:
		leaf_value.kind = json_integer_value(v) < 0 ? GNMI_INT : GNMI_UINT;
		leaf_value.i = json_integer_value(v);
		break;
	case JSON_REAL:
		leaf_value.kind = GNMI_DOUBLE;
		leaf_value.d = json_real_value(v);
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		leaf_value.kind = GNMI_BOOL;
		leaf_value.b = json_is_true(v);
		break;
	case JSON_NULL: break;
	}
	leaf(l, &leaf_value, NULL);
}

static unsigned depth_of(const json_t *v)
{
	unsigned deepest = 0, d;
	const char *key;
	json_t *member;
	size_t i;
	json_object_foreach ((json_t *)v, key, member)
		if ((d = depth_of(member)) > deepest)
			deepest = d;
	json_array_foreach (v, i, member)
		if ((d = depth_of(member)) > deepest)
			deepest = d;
	return deepest + (json_is_object(v) || json_is_array(v));
}

static void fail(const char *what, const struct leaves *a, const struct leaves *b)
{
	fprintf(stderr, "%s\nhere:\n%s\njansson:\n%s\n", what, a->log.s ? a->log.s : "",
		b->log.s ? b->log.s : "");
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct gnmi_list lists[] = {{"interface", {"name"}}, {"q", {"a", "b"}}};
	struct gnmi_counts counts = {0};
	struct gnmi_decode d = {
		.lists = lists, .n_lists = 2, .counts = &counts, .plain_names = size & 1};
	struct arena *a = arena_new();
	struct leaves with_paths = {0}, there = {0},
		      here = {.text = (const char *)data, .text_n = size};
	struct gnmi_path at;
	json_error_t e;

	gnmi_path_init(&at);
	if (size & 2)
		gnmi_path_add(&at, "interface", 9, NULL, 0, false);
	const size_t n = at.n;
	int r = gnmi_json_flatten(data, size, &at, &d, a, ours, &with_paths);
	if (at.n != n)
		abort();
	gnmi_json_flatten(data, size, &at, &d, a, values, &here);
	json_t *v = json_loadb((const char *)data, size,
		JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &e);
	if (v) {
		theirs(&there, v);
		/* It also takes a NUL for the end of the text. */
		if (r < 0 && depth_of(v) <= GNMI_JSON_DEPTH_MAX && !memchr(data, 0, size))
			fail("jansson reads it", &here, &there);
		bool same = here.log.n == there.log.n &&
			(here.log.n == 0 || memcmp(here.log.s, there.log.s, here.log.n) == 0);
		if (r == 0 && counts.bad_paths == 0 && !here.beyond && !same)
			fail("other leaves", &here, &there);
	} else if (r == 0 && json_error_code(&e) != json_error_numeric_overflow &&
		json_error_code(&e) != json_error_duplicate_key &&
		json_error_code(&e) != json_error_null_byte_in_key) {
		fprintf(stderr, "%s\n", e.text);
		fail("jansson does not read it", &here, &there);
	}
	json_decref(v);
	str_done(&with_paths.log);
	str_done(&here.log);
	str_done(&there.log);
	arena_free(a);
	return 0;
}

/* gnmi_forms - finds what is known of the bytes of a path, and learns what is new. */
#include "proto/gnmi_forms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "proto/gnmi_codec.h"

#define NONE UINT32_MAX

static uint64_t gnmi_forms_load64(const void *bytes)
{
	uint64_t v;
	memcpy(&v, bytes, sizeof(v));
	return v;
}

/* gnmi_forms_hash - eight bytes a step. Hashes live as long as the walker: the value may differ
 * between machines. */
static uint64_t gnmi_forms_hash(const void *bytes, size_t n, uint64_t seed)
{
	const uint64_t k = 0x9e3779b97f4a7c15u;
	const uint8_t *p = bytes;
	uint64_t h = (seed + n) * k;
	size_t i = 0;
	for (; i + 8 <= n; i += 8) {
		h = (h ^ gnmi_forms_load64(p + i)) * k;
		h ^= h >> 29;
	}
	if (i < n && n >= 8) {
		h = (h ^ gnmi_forms_load64(p + n - 8)) * k; /* some bytes twice: harmless */
	} else {
		for (; i < n; i++)
			h = (h ^ p[i]) * k;
	}
	h ^= h >> 32;
	return h * k ^ h >> 15;
}

static void table_put(struct gnmi_table *table, uint64_t hash, uint32_t index)
{
	uint32_t i = (uint32_t)hash & (table->size - 1);
	while (table->slots[i] != NONE)
		i = (i + 1) & (table->size - 1);
	table->slots[i] = index;
	table->used++;
}

/* table_grow - doubles the size when the table is half full. True: it is empty now, and its owner
 * must fill it again. */
static bool table_grow(struct gnmi_table *table)
{
	if (table->used * 2 < table->size)
		return false;
	table->size = table->size ? table->size * 2 : 256;
	table->used = 0;
	table->slots = rw_realloc(table->slots, table->size * sizeof(*table->slots));
	memset(table->slots, 0xff, table->size * sizeof(*table->slots));
	return true;
}

static const void *text_keep(struct gnmi_forms *forms, const void *data, size_t n)
{
	char *copy = arena_alloc(forms->texts, n + 1);
	if (n)
		memcpy(copy, data, n);
	forms->counts->text_bytes += n + 1;
	return copy;
}

/* ---- names: (origin, path) -> id ----------------------------------------- */

static bool name_is(const struct gnmi_name *name, const char *origin, size_t origin_n,
	const char *path, size_t n)
{
	return name->path_n == n && name->origin_n == origin_n &&
		memcmp(name->path, path, n) == 0 && memcmp(name->origin, origin, origin_n) == 0;
}

static uint32_t name_add(struct gnmi_forms *forms, uint64_t hash, const char *origin,
	size_t origin_n, const char *path, size_t n)
{
	if (forms->counts->paths == GNMI_FORMS_PATHS_MAX ||
		forms->counts->text_bytes + n + origin_n + 2 > GNMI_FORMS_TEXT_MAX)
		return NONE;
	if (table_grow(&forms->name_table))
		for (uint32_t i = 0; i < forms->counts->paths; i++)
			table_put(&forms->name_table, forms->names[i].hash, i);
	rw_grow(forms->names, forms->counts->paths, forms->names_cap);
	struct gnmi_name *v = &forms->names[forms->counts->paths];
	*v = (struct gnmi_name){.hash = hash,
		.path_n = (uint32_t)n,
		.origin_n = (uint32_t)origin_n,
		.follower = NONE};
	v->origin = text_keep(forms, origin, origin_n);
	v->path = text_keep(forms, path, n);
	table_put(&forms->name_table, hash, forms->counts->paths);
	return forms->counts->paths++;
}

/* name_find - by hash; NONE when it is not known, *ret_full when there were too many probes. */
static uint32_t name_find(const struct gnmi_forms *forms, uint64_t hash, const char *origin,
	size_t origin_n, const char *path, size_t n, bool *ret_full)
{
	const struct gnmi_table *table = &forms->name_table;
	for (uint32_t k = 0; k < table->size; k++) {
		const uint32_t slot = table->slots[((uint32_t)hash + k) & (table->size - 1)];
		if (k == GNMI_FORMS_PROBES_MAX) {
			*ret_full = true;
			return NONE;
		}
		if (slot == NONE)
			return NONE;
		if (forms->names[slot].hash == hash &&
			name_is(&forms->names[slot], origin, origin_n, path, n))
			return slot;
	}
	return NONE;
}

uint32_t gnmi_forms_name(struct gnmi_forms *forms, const char *origin, const char *path, size_t n)
{
	const size_t origin_n = strlen(origin);
	uint32_t id = NONE;
	/* 1. the one that came after the last one before */
	if (forms->last_name != NONE)
		id = forms->names[forms->last_name].follower;
	if (id != NONE && name_is(&forms->names[id], origin, origin_n, path, n)) {
		forms->last_name = id;
		return id;
	}
	/* 2. by hash, else a new one */
	const uint64_t hash = gnmi_forms_hash(path, n, gnmi_forms_hash(origin, origin_n, 0));
	bool full = false;
	id = name_find(forms, hash, origin, origin_n, path, n, &full);
	if (id == NONE && !full)
		id = name_add(forms, hash, origin, origin_n, path, n);
	if (id == NONE) {
		forms->counts->refused++;
		return NONE;
	}
	if (forms->last_name != NONE)
		forms->names[forms->last_name].follower = id;
	forms->last_name = id;
	return id;
}

/* ---- forms: raw bytes -> id ---------------------------------------------- */

static bool form_is(const struct gnmi_form *form, uint32_t prefix, const uint8_t *data, size_t n)
{
	return form->prefix == prefix && form->raw_n == n && memcmp(form->raw, data, n) == 0;
}

/* form_learn - what a form means, by the codec. False when that fails: the message then goes to the
 * codec. */
static bool form_learn(struct gnmi_forms *forms, struct gnmi_form *form, const uint8_t *data,
	size_t n, struct arena *scratch)
{
	struct gnmi_path at;
	const char *origin = "", *target = "";
	int r = 0;
	gnmi_path_init(&at);
	if (form->prefix != NONE) {
		const struct gnmi_form *prefix = &forms->forms[form->prefix];
		r = gnmi_decode_path(prefix->raw, prefix->raw_n, forms->plain_names, scratch, &at,
			&origin, &target);
	}
	if (r == 0)
		r = gnmi_decode_path(data, n, forms->plain_names, scratch, &at, &origin, &target);
	if (form->prefix == NONE) {
		form->id = NONE;
		if (r == 0)
			form->target = text_keep(forms, target, strlen(target));
		return r == 0;
	}
	if (r == -ERANGE) {
		form->id = NONE; /* remembered as not valid */
		return true;
	}
	if (r < 0)
		return false;
	form->id = gnmi_forms_name(forms, origin, gnmi_path_text(&at), gnmi_path_length(&at));
	if (form->id == NONE)
		return false;
	form->origin = forms->names[form->id].origin;
	form->path = forms->names[form->id].path;
	form->path_n = (uint32_t)at.n;
	form->elems = at.elems;
	return true;
}

static uint32_t form_add(struct gnmi_forms *forms, uint64_t hash, uint32_t prefix,
	const uint8_t *data, size_t n, struct arena *scratch)
{
	struct gnmi_form f = {
		.hash = hash, .raw_n = (uint32_t)n, .prefix = prefix, .follower = NONE};
	if (n > GNMI_FORMS_RAW_MAX || forms->counts->forms == GNMI_FORMS_MAX ||
		forms->counts->text_bytes + n > GNMI_FORMS_TEXT_MAX) {
		forms->counts->refused++;
		return NONE;
	}
	if (!form_learn(forms, &f, data, n, scratch))
		return NONE;
	if (table_grow(&forms->form_table))
		for (uint32_t i = 0; i < forms->counts->forms; i++)
			table_put(&forms->form_table, forms->forms[i].hash, i);
	rw_grow(forms->forms, forms->counts->forms, forms->forms_cap);
	f.raw = text_keep(forms, data, n);
	forms->forms[forms->counts->forms] = f;
	table_put(&forms->form_table, hash, forms->counts->forms);
	forms->counts->learnt++;
	return forms->counts->forms++;
}

/* form_find - NONE when the message must go to the codec. */
static uint32_t form_find(struct gnmi_forms *forms, uint32_t prefix, const uint8_t *data, size_t n,
	struct arena *scratch)
{
	uint64_t h = gnmi_forms_hash(data, n, prefix);
	const struct gnmi_table *t = &forms->form_table;
	for (uint32_t k = 0; k < t->size; k++) {
		uint32_t slot = t->slots[((uint32_t)h + k) & (t->size - 1)];
		if (slot == NONE)
			break;
		if (k == GNMI_FORMS_PROBES_MAX) {
			forms->counts->refused++;
			return NONE;
		}
		if (forms->forms[slot].hash == h && form_is(&forms->forms[slot], prefix, data, n)) {
			forms->counts->found++;
			return slot;
		}
	}
	return form_add(forms, h, prefix, data, n, scratch);
}

uint32_t gnmi_forms_path(struct gnmi_forms *forms, uint32_t prefix, const uint8_t *data, size_t n,
	struct arena *scratch)
{
	uint32_t f = NONE;
	if (forms->last_form != NONE)
		f = forms->forms[forms->last_form].follower;
	if (f != NONE && form_is(&forms->forms[f], prefix, data, n)) {
		forms->counts->followed++;
	} else {
		f = form_find(forms, prefix, data, n, scratch);
		if (f == NONE)
			return NONE;
		if (forms->last_form != NONE)
			forms->forms[forms->last_form].follower = f;
	}
	forms->last_form = f;
	return f;
}

uint32_t gnmi_forms_prefix(
	struct gnmi_forms *forms, const uint8_t *data, size_t n, struct arena *scratch)
{
	if (forms->last_prefix != NONE && form_is(&forms->forms[forms->last_prefix], NONE, data, n))
		return forms->last_prefix;
	uint32_t f = form_find(forms, NONE, data, n, scratch);
	if (f != NONE)
		forms->last_prefix = f;
	return f;
}

/* ---- life ---------------------------------------------------------------- */

static void gnmi_forms_forget(struct gnmi_forms *forms)
{
	free(forms->form_table.slots);
	free(forms->name_table.slots);
	free(forms->forms);
	free(forms->names);
	forms->form_table = forms->name_table = (struct gnmi_table){0};
	forms->forms = NULL;
	forms->names = NULL;
	forms->forms_cap = forms->names_cap = 0;
	forms->last_prefix = forms->last_form = forms->last_name = NONE;
	forms->counts->paths = forms->counts->forms = 0;
	forms->counts->text_bytes = 0;
}

void gnmi_forms_init(struct gnmi_forms *forms, bool plain_names, struct gnmi_forms_counts *counts)
{
	*forms = (struct gnmi_forms){
		.plain_names = plain_names, .counts = counts, .texts = arena_new()};
	gnmi_forms_forget(forms);
}

void gnmi_forms_reset(struct gnmi_forms *forms)
{
	gnmi_forms_forget(forms);
	arena_reset(forms->texts);
}

void gnmi_forms_done(struct gnmi_forms *forms)
{
	gnmi_forms_forget(forms);
	arena_free(forms->texts);
}

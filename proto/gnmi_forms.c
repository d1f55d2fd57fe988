/* gnmi_forms - see gnmi_forms.h. */
#include "proto/gnmi_forms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "proto/gnmi_codec.h"

#define NONE UINT32_MAX

static uint64_t load64(const void *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

/* Eight bytes a step; lives as long as the walker, so its value may differ between machines. */
static uint64_t hash(const void *bytes, size_t n, uint64_t seed)
{
	const uint64_t k = 0x9e3779b97f4a7c15u;
	const uint8_t *p = bytes;
	uint64_t h = (seed + n) * k;
	size_t i = 0;
	for (; i + 8 <= n; i += 8) {
		h = (h ^ load64(p + i)) * k;
		h ^= h >> 29;
	}
	if (i < n && n >= 8) {
		h = (h ^ load64(p + n - 8)) * k; /* some bytes twice: harmless */
	} else {
		for (; i < n; i++)
			h = (h ^ p[i]) * k;
	}
	h ^= h >> 32;
	return h * k ^ h >> 15;
}

static void table_put(struct gnmi_table *t, uint64_t h, uint32_t index)
{
	uint32_t i = (uint32_t)h & (t->size - 1);
	while (t->slots[i] != NONE)
		i = (i + 1) & (t->size - 1);
	t->slots[i] = index;
	t->used++;
}

/* Twice the size and empty; its owner fills it again. True when it was grown. */
static bool table_grow(struct gnmi_table *t)
{
	if (t->used * 2 < t->size)
		return false;
	t->size = t->size ? t->size * 2 : 256;
	t->used = 0;
	t->slots = rw_realloc(t->slots, t->size * sizeof(*t->slots));
	memset(t->slots, 0xff, t->size * sizeof(*t->slots));
	return true;
}

static const void *text_keep(struct gnmi_forms *m, const void *p, size_t n)
{
	char *copy = arena_alloc(m->texts, n + 1);
	if (n)
		memcpy(copy, p, n);
	m->stats->text_bytes += n + 1;
	return copy;
}

/* ---- names: (origin, path) -> id ----------------------------------------- */

static bool name_is(
	const struct gnmi_name *v, const char *origin, size_t origin_n, const char *path, size_t n)
{
	return v->path_n == n && v->origin_n == origin_n && memcmp(v->path, path, n) == 0 &&
		memcmp(v->origin, origin, origin_n) == 0;
}

static uint32_t name_add(struct gnmi_forms *m, uint64_t h, const char *origin, size_t origin_n,
	const char *path, size_t n)
{
	if (m->stats->paths == GNMI_WALK_PATHS_MAX ||
		m->stats->text_bytes + n + origin_n + 2 > GNMI_WALK_TEXT_MAX)
		return NONE;
	if (table_grow(&m->name_table))
		for (uint32_t i = 0; i < m->stats->paths; i++)
			table_put(&m->name_table, m->names[i].hash, i);
	rw_grow(m->names, m->stats->paths, m->names_cap);
	struct gnmi_name *v = &m->names[m->stats->paths];
	*v = (struct gnmi_name){
		.hash = h, .path_n = (uint32_t)n, .origin_n = (uint32_t)origin_n, .follower = NONE};
	v->origin = text_keep(m, origin, origin_n);
	v->path = text_keep(m, path, n);
	table_put(&m->name_table, h, m->stats->paths);
	return m->stats->paths++;
}

uint32_t gnmi_forms_name(struct gnmi_forms *m, const char *origin, const char *path, size_t n)
{
	const size_t origin_n = strlen(origin);
	uint32_t id = m->last_name == NONE ? NONE : m->names[m->last_name].follower;
	if (id == NONE || !name_is(&m->names[id], origin, origin_n, path, n)) {
		uint64_t h = hash(path, n, hash(origin, origin_n, 0));
		struct gnmi_table *t = &m->name_table;
		id = NONE;
		for (uint32_t k = 0; k < t->size; k++) {
			uint32_t slot = t->slots[((uint32_t)h + k) & (t->size - 1)];
			if (k == GNMI_WALK_PROBES_MAX) {
				m->stats->refused++;
				return NONE;
			}
			if (slot == NONE)
				break;
			if (m->names[slot].hash == h &&
				name_is(&m->names[slot], origin, origin_n, path, n)) {
				id = slot;
				break;
			}
		}
		if (id == NONE && (id = name_add(m, h, origin, origin_n, path, n)) == NONE) {
			m->stats->refused++;
			return NONE;
		}
		if (m->last_name != NONE)
			m->names[m->last_name].follower = id;
	}
	m->last_name = id;
	return id;
}

/* ---- forms: raw bytes -> id ---------------------------------------------- */

static bool form_is(const struct gnmi_form *f, uint32_t prefix, const uint8_t *p, size_t n)
{
	return f->prefix == prefix && f->raw_n == n && memcmp(f->raw, p, n) == 0;
}

/* What a form means, by the codec. False when that is not to be had: the message is then the
 * codec's. */
static bool form_learn(struct gnmi_forms *m, struct gnmi_form *f, const uint8_t *p, size_t n,
	struct arena *scratch)
{
	struct gnmi_path at;
	const char *origin = "", *target = "";
	int r = 0;
	gnmi_path_init(&at);
	if (f->prefix != NONE) {
		const struct gnmi_form *prefix = &m->forms[f->prefix];
		r = gnmi_decode_path(
			prefix->raw, prefix->raw_n, m->plain_names, scratch, &at, &origin, &target);
	}
	if (r == 0)
		r = gnmi_decode_path(p, n, m->plain_names, scratch, &at, &origin, &target);
	if (f->prefix == NONE) {
		f->id = NONE;
		if (r == 0)
			f->target = text_keep(m, target, strlen(target));
		return r == 0;
	}
	if (r == -ERANGE) {
		f->id = NONE; /* remembered as what may not be */
		return true;
	}
	if (r < 0 ||
		(f->id = gnmi_forms_name(m, origin, gnmi_path_text(&at), gnmi_path_length(&at))) ==
			NONE)
		return false;
	f->origin = m->names[f->id].origin;
	f->path = m->names[f->id].path;
	f->path_n = (uint32_t)at.n;
	f->elems = at.elems;
	return true;
}

static uint32_t form_add(struct gnmi_forms *m, uint64_t h, uint32_t prefix, const uint8_t *p,
	size_t n, struct arena *scratch)
{
	struct gnmi_form f = {.hash = h, .raw_n = (uint32_t)n, .prefix = prefix, .follower = NONE};
	if (n > GNMI_WALK_RAW_MAX || m->stats->forms == GNMI_WALK_FORMS_MAX ||
		m->stats->text_bytes + n > GNMI_WALK_TEXT_MAX) {
		m->stats->refused++;
		return NONE;
	}
	if (!form_learn(m, &f, p, n, scratch))
		return NONE;
	if (table_grow(&m->form_table))
		for (uint32_t i = 0; i < m->stats->forms; i++)
			table_put(&m->form_table, m->forms[i].hash, i);
	rw_grow(m->forms, m->stats->forms, m->forms_cap);
	f.raw = text_keep(m, p, n);
	m->forms[m->stats->forms] = f;
	table_put(&m->form_table, h, m->stats->forms);
	m->stats->learnt++;
	return m->stats->forms++;
}

/* form_find - NONE when the message must go to the codec. */
static uint32_t form_find(
	struct gnmi_forms *m, uint32_t prefix, const uint8_t *p, size_t n, struct arena *scratch)
{
	uint64_t h = hash(p, n, prefix);
	const struct gnmi_table *t = &m->form_table;
	for (uint32_t k = 0; k < t->size; k++) {
		uint32_t slot = t->slots[((uint32_t)h + k) & (t->size - 1)];
		if (slot == NONE)
			break;
		if (k == GNMI_WALK_PROBES_MAX) {
			m->stats->refused++;
			return NONE;
		}
		if (m->forms[slot].hash == h && form_is(&m->forms[slot], prefix, p, n)) {
			m->stats->found++;
			return slot;
		}
	}
	return form_add(m, h, prefix, p, n, scratch);
}

uint32_t gnmi_forms_path(
	struct gnmi_forms *m, uint32_t prefix, const uint8_t *p, size_t n, struct arena *scratch)
{
	uint32_t f = m->last_form == NONE ? NONE : m->forms[m->last_form].follower;
	if (f != NONE && form_is(&m->forms[f], prefix, p, n)) {
		m->stats->followed++;
	} else {
		f = form_find(m, prefix, p, n, scratch);
		if (f == NONE)
			return NONE;
		if (m->last_form != NONE)
			m->forms[m->last_form].follower = f;
	}
	m->last_form = f;
	return f;
}

uint32_t gnmi_forms_prefix(struct gnmi_forms *m, const uint8_t *p, size_t n, struct arena *scratch)
{
	if (m->last_prefix != NONE && form_is(&m->forms[m->last_prefix], NONE, p, n))
		return m->last_prefix;
	uint32_t f = form_find(m, NONE, p, n, scratch);
	if (f != NONE)
		m->last_prefix = f;
	return f;
}

/* ---- life ---------------------------------------------------------------- */

static void forget(struct gnmi_forms *m)
{
	free(m->form_table.slots);
	free(m->name_table.slots);
	free(m->forms);
	free(m->names);
	m->form_table = m->name_table = (struct gnmi_table){0};
	m->forms = NULL;
	m->names = NULL;
	m->forms_cap = m->names_cap = 0;
	m->last_prefix = m->last_form = m->last_name = NONE;
	m->stats->paths = m->stats->forms = 0;
	m->stats->text_bytes = 0;
}

void gnmi_forms_init(struct gnmi_forms *m, bool plain_names, struct gnmi_walk_stats *stats)
{
	*m = (struct gnmi_forms){.plain_names = plain_names, .stats = stats, .texts = arena_new()};
	forget(m);
}

void gnmi_forms_reset(struct gnmi_forms *m)
{
	forget(m);
	arena_reset(m->texts);
}

void gnmi_forms_done(struct gnmi_forms *m)
{
	forget(m);
	arena_free(m->texts);
}

/* gnmi_walk - reads SubscribeResponses from the wire. Field numbers and wire types as in
 * gnmi.proto; a tag is (number << 3) + type, here always one byte. */
#include "proto/gnmi_walk.h"

#include "base/bytes.h"
#include "proto/gnmi_codec.h"

#define GNMI_FORMS_MAX (1u << 19) /* ways to write them, prefixes included */
#define GNMI_FORMS_TEXT_MAX (128u << 20) /* bytes of both */
/* slots that are tried for one hash: a server that makes hashes collide only slows itself down */
#define GNMI_FORMS_PROBES_MAX 64u

#define GNMI_FORM_NONE UINT32_MAX

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
#define GNMI_WALK_RECORDS_KEPT (1u << 10) /* room for so many stays between messages */

#define GNMI_SPLIT_UPDATES 512u /* of one piece */

/* gnmi_forms - finds what is known of the bytes of a path, and learns what is new. */

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

/* gnmi_forms_name - the id of (origin, path), a new one when there is none yet. GNMI_PATH_NONE when
 * a limit forbids a new one (counted). */
static uint32_t gnmi_forms_name(
	struct gnmi_forms *forms, const char *origin, const char *path, size_t n)
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

static uint32_t gnmi_forms_path(struct gnmi_forms *forms, uint32_t prefix, const uint8_t *data,
	size_t n, struct arena *scratch)
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

/* gnmi_forms_prefix, gnmi_forms_path - index of the form, learnt with the codec's help in @scratch
 * when it is new. Indexes hold until the reset, pointers into .forms until the next call.
 * GNMI_FORM_NONE: the bytes are no Path, or a limit was reached (counted). */
static uint32_t gnmi_forms_prefix(
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

static void gnmi_forms_init(
	struct gnmi_forms *forms, bool plain_names, struct gnmi_forms_counts *counts)
{
	*forms = (struct gnmi_forms){
		.plain_names = plain_names, .counts = counts, .texts = arena_new()};
	gnmi_forms_forget(forms);
}

enum walk_how { LEAF, JSON, LIST, NOTHING };

/* One update or delete of the message at hand. */
struct walk_record {
	uint32_t form;
	uint32_t duplicates;
	enum walk_how how;
	struct gnmi_value value; /* JSON and LIST: .p and .n are their bytes */
};

struct walk_records {
	struct walk_record *v;
	size_t n, cap;
};

struct gnmi_walk {
	struct gnmi_decode out; /* the caller's */
	struct gnmi_decode back; /* for the codec: the same, but paths get their ids on the way */
	struct gnmi_forms paths;
	struct arena *scratch; /* of one message */
	struct walk_records updates, deletes;
	struct gnmi_walk_stats stats;
};

/* The codec's updates on their way to the caller. */
static void name_and_deliver(void *arg, const struct gnmi_update *from)
{
	struct gnmi_walk *w = arg;
	struct gnmi_update u = *from;
	if (u.op == GNMI_UPDATE || u.op == GNMI_DELETE) {
		u.path_id = gnmi_forms_name(&w->paths, u.origin, u.path, u.path_n);
		if (u.path_id != GNMI_PATH_NONE) {
			u.path = w->paths.names[u.path_id].path;
			u.origin = w->paths.names[u.path_id].origin;
		}
	}
	w->out.fn(w->out.arg, &u);
}

/* ---- the wire. Each function steps over what it has read. False: a shape that is not known here;
 * the message then goes to the codec. ---- */

struct wire {
	const uint8_t *p, *end;
};

static bool varint_long(struct wire *wire, uint64_t *ret)
{
	uint64_t v = 0;
	for (unsigned shift = 0; shift < 70 && wire->p < wire->end; shift += 7) {
		uint8_t b = *wire->p++;
		if (shift == 63 && b > 1)
			return false; /* over 64 bits: decoders differ */
		v |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80) {
			*ret = v;
			return true;
		}
	}
	return false;
}

static inline bool gnmi_walk_varint(struct wire *wire, uint64_t *ret)
{
	if (wire->p < wire->end && *wire->p < 0x80) {
		*ret = *wire->p++;
		return true;
	}
	return varint_long(wire, ret);
}

/* A length and that many bytes. */
static inline bool gnmi_walk_chunk(struct wire *wire, struct wire *ret)
{
	uint64_t n;
	if (!gnmi_walk_varint(wire, &n) || n > (uint64_t)(wire->end - wire->p))
		return false;
	*ret = (struct wire){wire->p, wire->p + n};
	wire->p += n;
	return true;
}

static inline size_t wire_n(const struct wire *wire)
{
	return (size_t)(wire->end - wire->p);
}

/* Steps over @tag when it is next. */
static inline bool gnmi_walk_tagged(struct wire *wire, uint8_t tag)
{
	if (wire->p == wire->end || *wire->p != tag)
		return false;
	wire->p++;
	return true;
}

enum { VARINT = 0, FIXED64 = 1, CHUNK = 2, FIXED32 = 5 };

/* By field number of TypedValue: how it is sent and what it is. Any (9) is the codec's. */
static const struct {
	uint8_t wire, known, how, kind;
} values[16] = {
	[1] = {CHUNK, 1, LEAF, GNMI_STRING},
	[2] = {VARINT, 1, LEAF, GNMI_INT},
	[3] = {VARINT, 1, LEAF, GNMI_UINT},
	[4] = {VARINT, 1, LEAF, GNMI_BOOL},
	[5] = {CHUNK, 1, LEAF, GNMI_BYTES},
	[6] = {FIXED32, 1, LEAF, GNMI_DOUBLE},
	[7] = {CHUNK, 1, LEAF, GNMI_DECIMAL},
	[8] = {CHUNK, 1, LIST, GNMI_NULL},
	[10] = {CHUNK, 1, JSON, GNMI_NULL},
	[11] = {CHUNK, 1, JSON, GNMI_NULL},
	[12] = {CHUNK, 1, LEAF, GNMI_ASCII},
	[13] = {CHUNK, 1, LEAF, GNMI_PROTO},
	[14] = {FIXED64, 1, LEAF, GNMI_DOUBLE},
};

static bool gnmi_walk_decimal(struct wire wire, struct gnmi_value *value)
{
	uint64_t digits = 0, precision = 0;
	if (gnmi_walk_tagged(&wire, 0x08) && !gnmi_walk_varint(&wire, &digits))
		return false;
	if (gnmi_walk_tagged(&wire, 0x10) && !gnmi_walk_varint(&wire, &precision))
		return false;
	value->i = (int64_t)digits;
	value->scale = (uint32_t)precision;
	return wire.p == wire.end;
}

static bool gnmi_walk_number(struct wire *wire, struct gnmi_value *value)
{
	uint64_t n;
	if (!gnmi_walk_varint(wire, &n))
		return false;
	if (value->kind == GNMI_BOOL)
		value->b = n != 0;
	else
		value->u = n; /* an int64 has the same bits */
	return true;
}

/* IEEE 754, little endian. */
static bool gnmi_walk_fixed(struct wire *wire, unsigned n, struct gnmi_value *value)
{
	uint64_t bits = 0;
	if (wire_n(wire) < n)
		return false;
	for (unsigned i = 0; i < n; i++)
		bits |= (uint64_t)wire->p[i] << (8 * i);
	wire->p += n;
	if (n == 4) {
		uint32_t half = (uint32_t)bits;
		float f;
		memcpy(&f, &half, sizeof(f));
		value->d = f;
	} else {
		memcpy(&value->d, &bits, sizeof(value->d));
	}
	return true;
}

static bool typed_value(struct wire wire, struct walk_record *record)
{
	struct wire text;
	if (wire.p == wire.end)
		return true; /* an empty value */
	const uint8_t tag = *wire.p++;
	if (tag >= 0x80 || !values[tag >> 3].known || values[tag >> 3].wire != (tag & 7))
		return false;
	record->how = values[tag >> 3].how;
	record->value.kind = values[tag >> 3].kind;
	switch (tag & 7) {
	case VARINT: return gnmi_walk_number(&wire, &record->value) && wire.p == wire.end;
	case FIXED32: return gnmi_walk_fixed(&wire, 4, &record->value) && wire.p == wire.end;
	case FIXED64: return gnmi_walk_fixed(&wire, 8, &record->value) && wire.p == wire.end;
	}
	if (!gnmi_walk_chunk(&wire, &text) || wire.p != wire.end)
		return false;
	if (record->value.kind == GNMI_DECIMAL)
		return gnmi_walk_decimal(text, &record->value);
	record->value.p = (const char *)text.p;
	record->value.n = wire_n(&text);
	return true;
}

static struct walk_record *record_add(struct walk_records *records)
{
	if (records->n == records->cap) {
		if (records->cap == GNMI_WALK_RECORDS_MAX)
			return NULL;
		if (records->cap)
			records->cap = records->cap * 2;
		else
			records->cap = 128;
		records->v = rw_realloc(records->v, records->cap * sizeof(*records->v));
	}
	return &records->v[records->n++];
}

/* records_trim - frees the memory that one large message needed: there are hundreds of streams. */
static void records_trim(struct walk_records *records)
{
	if (records->cap <= GNMI_WALK_RECORDS_KEPT)
		return;
	free(records->v);
	*records = (struct walk_records){0};
}

static bool gnmi_walk_update(struct gnmi_walk *walk, struct wire wire, uint32_t prefix)
{
	struct walk_record *r = record_add(&walk->updates);
	struct wire path = {wire.p, wire.p}, value;
	uint64_t duplicates = 0;

	if (!r)
		return false;
	*r = (struct walk_record){.how = NOTHING};
	if (gnmi_walk_tagged(&wire, 0x0a) && !gnmi_walk_chunk(&wire, &path))
		return false;
	if (gnmi_walk_tagged(&wire, 0x1a) &&
		(!gnmi_walk_chunk(&wire, &value) || !typed_value(value, r)))
		return false;
	if (gnmi_walk_tagged(&wire, 0x20) && !gnmi_walk_varint(&wire, &duplicates))
		return false;
	r->duplicates = (uint32_t)duplicates;
	if (wire.p != wire.end)
		return false;
	r->form = gnmi_forms_path(&walk->paths, prefix, path.p, wire_n(&path), walk->scratch);
	return r->form != GNMI_FORM_NONE;
}

static bool delete_path(struct gnmi_walk *walk, struct wire wire, uint32_t prefix)
{
	struct walk_record *r = record_add(&walk->deletes);
	if (!r)
		return false;
	r->form = gnmi_forms_path(&walk->paths, prefix, wire.p, wire_n(&wire), walk->scratch);
	return r->form != GNMI_FORM_NONE;
}

/* Timestamp, prefix, updates, deletes, each in this order where it is there. */
static bool gnmi_walk_notification(
	struct gnmi_walk *walk, struct wire wire, int64_t *ret_time, uint32_t *ret_prefix)
{
	struct wire part = {wire.p, wire.p};
	uint64_t time = 0;

	walk->updates.n = walk->deletes.n = 0;
	if (gnmi_walk_tagged(&wire, 0x08) && !gnmi_walk_varint(&wire, &time))
		return false;
	if (gnmi_walk_tagged(&wire, 0x12) && !gnmi_walk_chunk(&wire, &part))
		return false;
	uint32_t prefix = gnmi_forms_prefix(&walk->paths, part.p, wire_n(&part), walk->scratch);
	if (prefix == GNMI_FORM_NONE)
		return false;
	while (gnmi_walk_tagged(&wire, 0x22))
		if (!gnmi_walk_chunk(&wire, &part) || !gnmi_walk_update(walk, part, prefix))
			return false;
	while (gnmi_walk_tagged(&wire, 0x2a))
		if (!gnmi_walk_chunk(&wire, &part) || !delete_path(walk, part, prefix))
			return false;
	*ret_time = (int64_t)time;
	*ret_prefix = prefix;
	return wire.p == wire.end;
}

/* One registered extension. */
static bool gnmi_walk_extension(struct wire wire, struct gnmi_update *update)
{
	struct wire registered, content = {NULL, NULL};
	uint64_t id = 0;
	if (wire.p == wire.end || *wire.p++ != 0x0a || !gnmi_walk_chunk(&wire, &registered) ||
		wire.p != wire.end)
		return false;
	if (gnmi_walk_tagged(&registered, 0x08) && !gnmi_walk_varint(&registered, &id))
		return false;
	if (gnmi_walk_tagged(&registered, 0x12) && !gnmi_walk_chunk(&registered, &content))
		return false;
	update->extension_id = (int32_t)(uint32_t)id;
	update->extension_n = wire_n(&content);
	if (update->extension_n)
		update->extension = content.p;
	else
		update->extension = (const uint8_t *)"";
	return registered.p == registered.end;
}

/* ---- delivery: nothing can fail from here on ----------------------------- */

/* update_at - false for a path that is not valid. */
static bool update_at(struct gnmi_update *update, const struct gnmi_form *form)
{
	if (form->id == GNMI_PATH_NONE)
		return false;
	update->path_id = form->id;
	update->origin = form->origin;
	update->path = form->path;
	if (form->path_n)
		update->path_n = form->path_n;
	else
		update->path_n = 1;
	return true;
}

/* deliver_below - JSON and lists: the leaves below the path of @form. */
static void deliver_below(struct gnmi_walk *walk, const struct gnmi_update *like,
	const struct gnmi_form *form, const struct walk_record *record)
{
	struct gnmi_update u = *like;
	struct gnmi_path at;
	memcpy(at.s, form->path, form->path_n);
	gnmi_path_cut(&at, form->path_n, form->elems);
	if (record->how == JSON)
		gnmi_deliver_json(
			&walk->back, &u, &at, record->value.p, record->value.n, walk->scratch);
	else
		gnmi_deliver_list(
			&walk->back, &u, &at, record->value.p, record->value.n, walk->scratch);
}

static void gnmi_walk_deliver(
	struct gnmi_walk *walk, struct gnmi_update *update, int64_t time, uint32_t prefix)
{
	struct gnmi_counts *c = walk->out.counts;

	c->notifications++;
	update->clock = gnmi_clock(time, &update->t_ns);
	if (update->clock != GNMI_CLOCK_OK)
		c->odd_clocks++;
	if (walk->updates.n == 0 && walk->deletes.n == 0)
		c->empty++;
	update->target = walk->paths.forms[prefix].target;
	update->op = GNMI_DELETE;
	for (size_t i = 0; i < walk->deletes.n; i++) {
		if (!update_at(update, &walk->paths.forms[walk->deletes.v[i].form])) {
			c->bad_paths++;
			continue;
		}
		c->deletes++;
		walk->out.fn(walk->out.arg, update);
	}
	update->op = GNMI_UPDATE;
	for (size_t i = 0; i < walk->updates.n; i++) {
		const struct walk_record *r = &walk->updates.v[i];
		const struct gnmi_form *f = &walk->paths.forms[r->form];
		if (!update_at(update, f)) {
			c->bad_paths++;
			continue;
		}
		update->duplicates = r->duplicates;
		if (r->how == LEAF) {
			update->value = r->value;
			c->updates++;
			c->duplicates += r->duplicates;
			walk->out.fn(walk->out.arg, update);
		} else if (r->how == NOTHING) {
			c->no_value++;
		} else {
			deliver_below(walk, update, f, r);
		}
	}
}

/* True when the message was understood here, and delivered. */
static bool gnmi_walk(struct gnmi_walk *walk, struct wire wire)
{
	struct gnmi_counts *c = walk->out.counts;
	struct gnmi_update u = {.path_id = GNMI_PATH_NONE,
		.target = "",
		.origin = "",
		.path = "",
		.value = {.p = ""}};
	struct wire body, ext;
	const size_t n = wire_n(&wire);
	uint32_t prefix;
	int64_t time;

	if (n > GNMI_MESSAGE_MAX || n == 0)
		return false;
	if (gnmi_walk_tagged(&wire, 0x18)) {
		if (n != 2 || *wire.p != 1)
			return false;
		c->messages++;
		c->bytes += n;
		c->syncs++;
		u.op = GNMI_SYNC;
		walk->out.fn(walk->out.arg, &u);
		return true;
	}
	/* The extension may be on either side: Go writes the members of a oneof after everything
	 * else. */
	if (gnmi_walk_tagged(&wire, 0x2a) &&
		(!gnmi_walk_chunk(&wire, &ext) || !gnmi_walk_extension(ext, &u)))
		return false;
	if (!gnmi_walk_tagged(&wire, 0x0a) || !gnmi_walk_chunk(&wire, &body))
		return false;
	if (!u.extension && gnmi_walk_tagged(&wire, 0x2a) &&
		(!gnmi_walk_chunk(&wire, &ext) || !gnmi_walk_extension(ext, &u)))
		return false;
	if (wire.p != wire.end || !gnmi_walk_notification(walk, body, &time, &prefix))
		return false;
	c->messages++;
	c->bytes += n;
	gnmi_walk_deliver(walk, &u, time, prefix);
	return true;
}

int gnmi_walk_message(struct gnmi_walk *walk, const void *data, size_t n)
{
	int r = 0;
	if (gnmi_walk(walk, (struct wire){data, (const uint8_t *)data + n})) {
		walk->stats.walked++;
	} else {
		walk->stats.fallbacks++;
		r = gnmi_decode_subscribe(data, n, &walk->back, walk->scratch);
	}
	arena_reset(walk->scratch);
	records_trim(&walk->updates);
	records_trim(&walk->deletes);
	return r;
}

/* ---- life ---------------------------------------------------------------- */

struct gnmi_walk *gnmi_walk_new(const struct gnmi_decode *decode)
{
	struct gnmi_walk *w = rw_calloc(1, sizeof(*w));
	w->out = w->back = *decode;
	w->back.fn = name_and_deliver;
	w->back.arg = w;
	w->scratch = arena_new();
	gnmi_forms_init(&w->paths, decode->plain_names, &w->stats.memory);
	return w;
}

void gnmi_walk_reset(struct gnmi_walk *walk)
{
	gnmi_forms_forget(&walk->paths);
	arena_reset(walk->paths.texts);
}

void gnmi_walk_free(struct gnmi_walk *walk)
{
	if (!walk)
		return;
	gnmi_forms_forget(&walk->paths);
	arena_free(walk->paths.texts);
	free(walk->updates.v);
	free(walk->deletes.v);
	arena_free(walk->scratch);
	free(walk);
}

const struct gnmi_walk_stats *gnmi_walk_stats(const struct gnmi_walk *walk)
{
	return &walk->stats;
}

/* gnmi_split - see the header. A tag is (number << 3) + type, here always one byte. */

enum { TAG_UPDATE = 0x0a, TAG_TIME = 0x08, TAG_PREFIX = 0x12, TAG_ONE = 0x22, TAG_DELETE = 0x2a };
enum { VARINT_MAX = 10 };

static bool split_varint(struct bytes *bytes, uint64_t *ret)
{
	*ret = 0;
	for (unsigned i = 0; i < VARINT_MAX; i++) {
		const uint8_t byte = bytes_u8(bytes);
		*ret |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (!bytes_ok(bytes))
			return false;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* Steps over a field of bytes with this tag; false, and nothing is read, when another one follows.
 */
static bool split_chunk(struct bytes *bytes, uint8_t tag)
{
	struct bytes ahead = *bytes;
	uint64_t n;
	if (bytes_left(&ahead) == 0 || bytes_u8(&ahead) != tag || !split_varint(&ahead, &n))
		return false;
	if (n > bytes_left(&ahead) || !bytes_skip(&ahead, (size_t)n))
		return false;
	*bytes = ahead;
	return true;
}

static bool split_time(struct bytes *bytes)
{
	struct bytes ahead = *bytes;
	uint64_t t;
	if (bytes_left(&ahead) == 0 || bytes_u8(&ahead) != TAG_TIME || !split_varint(&ahead, &t))
		return false;
	*bytes = ahead;
	return true;
}

static size_t split_at(const struct gnmi_split *split, const struct bytes *bytes)
{
	return split->n - bytes_left(bytes);
}

/* False: a shape that is not cut. */
static bool split_shape(struct gnmi_split *split)
{
	struct bytes bytes = bytes_of(split->p, split->n);
	uint64_t n;
	size_t updates = 0;
	if (bytes_u8(&bytes) != TAG_UPDATE || !split_varint(&bytes, &n) || n != bytes_left(&bytes))
		return false;
	split->head = split_at(split, &bytes);
	split_time(&bytes);
	split_chunk(&bytes, TAG_PREFIX);
	split->head_end = split->at = split_at(split, &bytes);
	while (split_chunk(&bytes, TAG_ONE))
		updates++;
	split->deletes = split_at(split, &bytes);
	while (split_chunk(&bytes, TAG_DELETE))
		;
	split->end = split_at(split, &bytes);
	return split->end == split->n && updates > 1;
}

void gnmi_split_begin(struct gnmi_split *split, const void *data, size_t n)
{
	*split = (struct gnmi_split){.p = data, .n = n};
	split->whole = n <= GNMI_SPLIT_BYTES || !split_shape(split);
}

/* Where the updates of the piece that begins at .at end. */
static size_t split_piece_end(const struct gnmi_split *split)
{
	struct bytes bytes = bytes_of(split->p + split->at, split->deletes - split->at);
	for (unsigned i = 0; i < GNMI_SPLIT_UPDATES; i++) {
		const size_t done = split->deletes - split->at - bytes_left(&bytes);
		if (done >= GNMI_SPLIT_BYTES || !split_chunk(&bytes, TAG_ONE))
			break;
	}
	return split->deletes - bytes_left(&bytes);
}

static void split_put_varint(struct str *out, uint64_t value)
{
	char byte;
	for (; value > 0x7f; value >>= 7) {
		byte = (char)(value | 0x80);
		str_addn(out, &byte, 1);
	}
	byte = (char)value;
	str_addn(out, &byte, 1);
}

bool gnmi_split_next(
	struct gnmi_split *split, struct str *ret, const uint8_t **ret_p, size_t *ret_n)
{
	static const char tag = TAG_UPDATE;
	const bool first = !split->began;
	split->began = true;
	*ret_p = split->p;
	*ret_n = split->n;
	if (split->whole)
		return first;
	if (split->at >= split->deletes)
		return false;
	const size_t end = split_piece_end(split), head_n = split->head_end - split->head;
	size_t deletes_n = 0;
	if (first)
		deletes_n = split->end - split->deletes;
	ret->n = 0;
	str_addn(ret, &tag, 1);
	split_put_varint(ret, head_n + end - split->at + deletes_n);
	str_addn(ret, (const char *)split->p + split->head, head_n);
	str_addn(ret, (const char *)split->p + split->at, end - split->at);
	str_addn(ret, (const char *)split->p + split->deletes, deletes_n);
	split->at = end;
	*ret_p = (const uint8_t *)ret->s;
	*ret_n = ret->n;
	return true;
}

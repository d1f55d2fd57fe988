/* gnmi_walk - reads SubscribeResponses from the wire. Field numbers and wire types as in
 * gnmi.proto; a tag is (number << 3) + type, here always one byte. */
#include "proto/gnmi_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "proto/gnmi_codec.h"
#include "proto/gnmi_forms.h"

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
	gnmi_forms_reset(&walk->paths);
}

void gnmi_walk_free(struct gnmi_walk *walk)
{
	if (!walk)
		return;
	gnmi_forms_done(&walk->paths);
	free(walk->updates.v);
	free(walk->deletes.v);
	arena_free(walk->scratch);
	free(walk);
}

const struct gnmi_walk_stats *gnmi_walk_stats(const struct gnmi_walk *walk)
{
	return &walk->stats;
}

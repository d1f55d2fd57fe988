/* gnmi_walk - see gnmi_walk.h. Field numbers and wire types as in gnmi.proto; a tag is (number <<
 * 3) + type, one byte each here. */
#include "proto/gnmi_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "proto/gnmi_codec.h"
#include "proto/gnmi_forms.h"

enum how { LEAF, JSON, LIST, NOTHING };

/* One update or delete of the message at hand. */
struct record {
	uint32_t form;
	uint32_t duplicates;
	enum how how;
	struct gnmi_value value; /* JSON and LIST: .p and .n are their bytes */
};

struct records {
	struct record *v;
	size_t n, cap;
};

struct gnmi_walk {
	struct gnmi_decode out; /* the caller's */
	struct gnmi_decode back; /* for the codec: the same, but paths get their ids on the way */
	struct gnmi_forms paths;
	struct arena *scratch; /* of one message */
	struct records updates, deletes;
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

/* ---- the wire. Each reader steps over what it read; false means "not a shape known here", and
 * nothing else is then looked at. ---- */

struct wire {
	const uint8_t *p, *end;
};

static bool varint_long(struct wire *s, uint64_t *ret)
{
	uint64_t v = 0;
	for (unsigned shift = 0; shift < 70 && s->p < s->end; shift += 7) {
		uint8_t b = *s->p++;
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

static inline bool varint(struct wire *s, uint64_t *ret)
{
	if (s->p < s->end && *s->p < 0x80) {
		*ret = *s->p++;
		return true;
	}
	return varint_long(s, ret);
}

/* A length and that many bytes. */
static inline bool chunk(struct wire *s, struct wire *ret)
{
	uint64_t n;
	if (!varint(s, &n) || n > (uint64_t)(s->end - s->p))
		return false;
	*ret = (struct wire){s->p, s->p + n};
	s->p += n;
	return true;
}

static inline size_t wire_n(const struct wire *s)
{
	return (size_t)(s->end - s->p);
}

/* Steps over @tag when it is next. */
static inline bool tagged(struct wire *s, uint8_t tag)
{
	if (s->p == s->end || *s->p != tag)
		return false;
	s->p++;
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

static bool decimal(struct wire s, struct gnmi_value *v)
{
	uint64_t digits = 0, precision = 0;
	if (tagged(&s, 0x08) && !varint(&s, &digits))
		return false;
	if (tagged(&s, 0x10) && !varint(&s, &precision))
		return false;
	v->i = (int64_t)digits;
	v->scale = (uint32_t)precision;
	return s.p == s.end;
}

static bool number(struct wire *s, struct gnmi_value *v)
{
	uint64_t n;
	if (!varint(s, &n))
		return false;
	if (v->kind == GNMI_BOOL)
		v->b = n != 0;
	else
		v->u = n; /* an int64 has the same bits */
	return true;
}

/* IEEE 754, little endian. */
static bool fixed(struct wire *s, unsigned n, struct gnmi_value *v)
{
	uint64_t bits = 0;
	if (wire_n(s) < n)
		return false;
	for (unsigned i = 0; i < n; i++)
		bits |= (uint64_t)s->p[i] << (8 * i);
	s->p += n;
	if (n == 4) {
		uint32_t half = (uint32_t)bits;
		float f;
		memcpy(&f, &half, sizeof(f));
		v->d = f;
	} else {
		memcpy(&v->d, &bits, sizeof(v->d));
	}
	return true;
}

static bool typed_value(struct wire s, struct record *r)
{
	struct wire text;
	if (s.p == s.end)
		return true; /* a value that says nothing */
	const uint8_t tag = *s.p++;
	if (tag >= 0x80 || !values[tag >> 3].known || values[tag >> 3].wire != (tag & 7))
		return false;
	r->how = values[tag >> 3].how;
	r->value.kind = values[tag >> 3].kind;
	switch (tag & 7) {
	case VARINT: return number(&s, &r->value) && s.p == s.end;
	case FIXED32: return fixed(&s, 4, &r->value) && s.p == s.end;
	case FIXED64: return fixed(&s, 8, &r->value) && s.p == s.end;
	}
	if (!chunk(&s, &text) || s.p != s.end)
		return false;
	if (r->value.kind == GNMI_DECIMAL)
		return decimal(text, &r->value);
	r->value.p = (const char *)text.p;
	r->value.n = wire_n(&text);
	return true;
}

static struct record *record_add(struct records *l)
{
	if (l->n == l->cap) {
		if (l->cap == GNMI_WALK_RECORDS_MAX)
			return NULL;
		l->cap = l->cap ? l->cap * 2 : 128;
		l->v = rw_realloc(l->v, l->cap * sizeof(*l->v));
	}
	return &l->v[l->n++];
}

/* One message with a whole device in it does not keep its room for ever: there are hundreds of
 * streams. */
static void records_trim(struct records *l)
{
	if (l->cap <= GNMI_WALK_RECORDS_KEPT)
		return;
	free(l->v);
	*l = (struct records){0};
}

static bool update(struct gnmi_walk *w, struct wire s, uint32_t prefix)
{
	struct record *r = record_add(&w->updates);
	struct wire path = {s.p, s.p}, value;
	uint64_t duplicates = 0;

	if (!r)
		return false;
	*r = (struct record){.how = NOTHING};
	if (tagged(&s, 0x0a) && !chunk(&s, &path))
		return false;
	if (tagged(&s, 0x1a) && (!chunk(&s, &value) || !typed_value(value, r)))
		return false;
	if (tagged(&s, 0x20) && !varint(&s, &duplicates))
		return false;
	r->duplicates = (uint32_t)duplicates;
	if (s.p != s.end)
		return false;
	r->form = gnmi_forms_path(&w->paths, prefix, path.p, wire_n(&path), w->scratch);
	return r->form != GNMI_FORM_NONE;
}

static bool delete_path(struct gnmi_walk *w, struct wire s, uint32_t prefix)
{
	struct record *r = record_add(&w->deletes);
	if (!r)
		return false;
	r->form = gnmi_forms_path(&w->paths, prefix, s.p, wire_n(&s), w->scratch);
	return r->form != GNMI_FORM_NONE;
}

/* Timestamp, prefix, updates, deletes, each in this order where it is there. */
static bool notification(
	struct gnmi_walk *w, struct wire s, int64_t *ret_time, uint32_t *ret_prefix)
{
	struct wire part = {s.p, s.p};
	uint64_t time = 0;

	w->updates.n = w->deletes.n = 0;
	if (tagged(&s, 0x08) && !varint(&s, &time))
		return false;
	if (tagged(&s, 0x12) && !chunk(&s, &part))
		return false;
	uint32_t prefix = gnmi_forms_prefix(&w->paths, part.p, wire_n(&part), w->scratch);
	if (prefix == GNMI_FORM_NONE)
		return false;
	while (tagged(&s, 0x22))
		if (!chunk(&s, &part) || !update(w, part, prefix))
			return false;
	while (tagged(&s, 0x2a))
		if (!chunk(&s, &part) || !delete_path(w, part, prefix))
			return false;
	*ret_time = (int64_t)time;
	*ret_prefix = prefix;
	return s.p == s.end;
}

/* One registered extension. */
static bool extension(struct wire s, struct gnmi_update *u)
{
	struct wire registered, content = {NULL, NULL};
	uint64_t id = 0;
	if (s.p == s.end || *s.p++ != 0x0a || !chunk(&s, &registered) || s.p != s.end)
		return false;
	if (tagged(&registered, 0x08) && !varint(&registered, &id))
		return false;
	if (tagged(&registered, 0x12) && !chunk(&registered, &content))
		return false;
	u->extension_id = (int32_t)(uint32_t)id;
	u->extension_n = wire_n(&content);
	u->extension = u->extension_n ? content.p : (const uint8_t *)"";
	return registered.p == registered.end;
}

/* ---- delivery: nothing can fail from here on ----------------------------- */

/* False: a path that may not be. */
static bool update_at(struct gnmi_update *u, const struct gnmi_form *f)
{
	if (f->id == GNMI_PATH_NONE)
		return false;
	u->path_id = f->id;
	u->origin = f->origin;
	u->path = f->path;
	u->path_n = f->path_n ? f->path_n : 1;
	return true;
}

/* JSON and lists: leaves below the path of @f. The codec writes into @like. */
static void deliver_below(struct gnmi_walk *w, const struct gnmi_update *like,
	const struct gnmi_form *f, const struct record *r)
{
	struct gnmi_update u = *like;
	struct gnmi_path at;
	memcpy(at.s, f->path, f->path_n);
	gnmi_path_cut(&at, f->path_n, f->elems);
	(r->how == JSON ? gnmi_deliver_json : gnmi_deliver_list)(
		&w->back, &u, &at, r->value.p, r->value.n, w->scratch);
}

static void deliver(struct gnmi_walk *w, struct gnmi_update *u, int64_t time, uint32_t prefix)
{
	struct gnmi_counts *c = w->out.counts;

	c->notifications++;
	u->clock = gnmi_clock(time, &u->t_ns);
	if (u->clock != GNMI_CLOCK_OK)
		c->odd_clocks++;
	if (w->updates.n == 0 && w->deletes.n == 0)
		c->empty++;
	u->target = w->paths.forms[prefix].target;
	u->op = GNMI_DELETE;
	for (size_t i = 0; i < w->deletes.n; i++) {
		if (!update_at(u, &w->paths.forms[w->deletes.v[i].form])) {
			c->bad_paths++;
			continue;
		}
		c->deletes++;
		w->out.fn(w->out.arg, u);
	}
	u->op = GNMI_UPDATE;
	for (size_t i = 0; i < w->updates.n; i++) {
		const struct record *r = &w->updates.v[i];
		const struct gnmi_form *f = &w->paths.forms[r->form];
		if (!update_at(u, f)) {
			c->bad_paths++;
			continue;
		}
		u->duplicates = r->duplicates;
		if (r->how == LEAF) {
			u->value = r->value;
			c->updates++;
			c->duplicates += r->duplicates;
			w->out.fn(w->out.arg, u);
		} else if (r->how == NOTHING) {
			c->no_value++;
		} else {
			deliver_below(w, u, f, r);
		}
	}
}

/* True when the message was understood here, and delivered. */
static bool walk(struct gnmi_walk *w, struct wire s)
{
	struct gnmi_counts *c = w->out.counts;
	struct gnmi_update u = {.path_id = GNMI_PATH_NONE,
		.target = "",
		.origin = "",
		.path = "",
		.value = {.p = ""}};
	struct wire body, ext;
	const size_t n = wire_n(&s);
	uint32_t prefix;
	int64_t time;

	if (n > GNMI_MESSAGE_MAX || n == 0)
		return false;
	if (tagged(&s, 0x18)) {
		if (n != 2 || *s.p != 1)
			return false;
		c->messages++;
		c->bytes += n;
		c->syncs++;
		u.op = GNMI_SYNC;
		w->out.fn(w->out.arg, &u);
		return true;
	}
	/* The extension may be on either side: Go writes the members of a oneof after everything
	 * else. */
	if (tagged(&s, 0x2a) && (!chunk(&s, &ext) || !extension(ext, &u)))
		return false;
	if (!tagged(&s, 0x0a) || !chunk(&s, &body))
		return false;
	if (!u.extension && tagged(&s, 0x2a) && (!chunk(&s, &ext) || !extension(ext, &u)))
		return false;
	if (s.p != s.end || !notification(w, body, &time, &prefix))
		return false;
	c->messages++;
	c->bytes += n;
	deliver(w, &u, time, prefix);
	return true;
}

int gnmi_walk_message(struct gnmi_walk *w, const void *p, size_t n)
{
	int r = 0;
	if (walk(w, (struct wire){p, (const uint8_t *)p + n})) {
		w->stats.walked++;
	} else {
		w->stats.fallbacks++;
		r = gnmi_decode_subscribe(p, n, &w->back, w->scratch);
	}
	arena_reset(w->scratch);
	records_trim(&w->updates);
	records_trim(&w->deletes);
	return r;
}

/* ---- life ---------------------------------------------------------------- */

struct gnmi_walk *gnmi_walk_new(const struct gnmi_decode *d)
{
	struct gnmi_walk *w = rw_calloc(1, sizeof(*w));
	w->out = w->back = *d;
	w->back.fn = name_and_deliver;
	w->back.arg = w;
	w->scratch = arena_new();
	gnmi_forms_init(&w->paths, d->plain_names, &w->stats);
	return w;
}

void gnmi_walk_reset(struct gnmi_walk *w)
{
	gnmi_forms_reset(&w->paths);
}

void gnmi_walk_free(struct gnmi_walk *w)
{
	if (!w)
		return;
	gnmi_forms_done(&w->paths);
	free(w->updates.v);
	free(w->deletes.v);
	arena_free(w->scratch);
	free(w);
}

const struct gnmi_walk_stats *gnmi_walk_stats(const struct gnmi_walk *w)
{
	return &w->stats;
}

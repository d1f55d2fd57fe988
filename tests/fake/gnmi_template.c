/* gnmi_template - see the header. */
#include "tests/fake/gnmi_template.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"

#define VARINT                                                                                     \
	9 /* bytes of a number from 2^56 to 2^63 - 1: counters, and nanoseconds since 1970         \
	   */
#define DIGITS 17
#define FIRST_NS (1ll << 56) /* stands for the time until a round gives one */

enum patch_kind { PATCH_TIME, PATCH_NUMBER, PATCH_DIGITS };
struct patch {
	enum patch_kind kind;
	uint8_t *at;
	uint64_t value;
};
struct message {
	struct speak_bytes bytes;
	struct patch *v;
	size_t n, cap;
};

struct gnmi_template {
	struct arena *arena;
	struct message *v;
	size_t n, cap;
};

static void varint(uint64_t value, uint8_t to[VARINT])
{
	for (size_t i = 0; i < VARINT; i++, value >>= 7)
		to[i] = (uint8_t)((value & 0x7f) | (i + 1 < VARINT ? 0x80 : 0));
}

static void patch_add(struct message *m, enum patch_kind kind, uint8_t *at, uint64_t value)
{
	rw_grow(m->v, m->n, m->cap);
	m->v[m->n++] = (struct patch){kind, at, value};
}

/* number_find - where @value is on the wire, from @from on. */
static uint8_t *number_find(const struct message *m, const uint8_t *from, uint64_t value)
{
	uint8_t want[VARINT];
	varint(value, want);
	uint8_t *at = memmem(from, (size_t)(m->bytes.p + m->bytes.n - from), want, VARINT);
	assert(at); /* else not a number of nine bytes: a bench's own mistake */
	return at;
}

static uint8_t *digits_find(struct message *m, uint8_t *p, const char *text)
{
	uint8_t *at = memmem(p, (size_t)(m->bytes.p + m->bytes.n - p), text, strlen(text)),
		*end = at + strlen(text);
	assert(at);
	for (uint8_t *q = at; q < end;) {
		size_t n = 0;
		while (q + n < end && isdigit(q[n]))
			n++;
		if (n == DIGITS)
			patch_add(m, PATCH_DIGITS, q, strtoull((char *)q, NULL, 10));
		q += n ? n : 1;
	}
	return end;
}

static void message_add(struct gnmi_template *t, const char *target, const char *origin,
	const struct speak_value *v, size_t n)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	rw_grow(t->v, t->n, t->cap);
	struct message *m = &t->v[t->n++];
	struct speak_bytes b = speak_notification(a, FIRST_NS, target, origin, v, n);
	*m = (struct message){.bytes = {memcpy(arena_alloc(t->arena, b.n), b.p, b.n), b.n}};
	uint8_t *p = number_find(m, m->bytes.p, FIRST_NS);
	patch_add(m, PATCH_TIME, p, 0);
	p += VARINT;
	for (size_t i = 0; i < n; i++) {
		if (v[i].kind == SPEAK_JSON || v[i].kind == SPEAK_JSON_IETF) {
			p = digits_find(m, p, v[i].text);
		} else if (strlen(v[i].text) == DIGITS) {
			const uint64_t value = strtoull(v[i].text, NULL, 10);
			p = number_find(m, p, value);
			patch_add(m, PATCH_NUMBER, p, value);
			p += VARINT;
		}
	}
}

struct gnmi_template *gnmi_template_new(const char *target, const char *origin,
	const struct speak_value *v, size_t n, size_t per_message)
{
	struct gnmi_template *t = rw_calloc(1, sizeof(*t));
	t->arena = arena_new();
	per_message = per_message ? per_message : n;
	for (size_t i = 0; i < n; i += per_message)
		message_add(t, target, origin, v + i, n - i < per_message ? n - i : per_message);
	return t;
}

void gnmi_template_free(struct gnmi_template *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++)
		free(t->v[i].v);
	free(t->v);
	arena_free(t->arena);
	free(t);
}

void gnmi_template_next(struct gnmi_template *t, int64_t t_ns)
{
	for (size_t i = 0; i < t->n; i++) {
		for (size_t k = 0; k < t->v[i].n; k++) {
			struct patch *p = &t->v[i].v[k];
			p->value = p->kind == PATCH_TIME ? (uint64_t)t_ns
							 : p->value + GNMI_TEMPLATE_STEP;
			if (p->kind != PATCH_DIGITS) {
				varint(p->value, p->at);
				continue;
			}
			uint64_t value = p->value;
			for (size_t d = DIGITS; d-- > 0; value /= 10)
				p->at[d] = (uint8_t)('0' + value % 10);
		}
	}
}

size_t gnmi_template_count(const struct gnmi_template *t)
{
	return t->n;
}
struct speak_bytes gnmi_template_message(const struct gnmi_template *t, size_t i)
{
	return t->v[i].bytes;
}

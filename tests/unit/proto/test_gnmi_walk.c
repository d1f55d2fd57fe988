/* gnmi_walk: the codec's answers without the codec; ids that hold; limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>
#include <gnmi.pb-c.h>
#include "base/arena.h"
#include "base/cleanup.h"
#include "proto/gnmi_codec.h"
#include "proto/gnmi_walk.h"
#include "tests/unit/collectors/gnmi/gnmi_messages.h"
#include "tests/unit/proto/gnmi_wire.h"

struct seen {
	struct str log;
	uint32_t ids[16];
	size_t n;
};

static void see(void *arg, const struct gnmi_update *u)
{
	struct seen *s = arg;
	wire_text(&s->log, u);
	if (u->op != GNMI_SYNC && u->op != GNMI_ERROR)
		s->ids[s->n++ % rw_countof(s->ids)] = u->path_id;
}

static void seen_clear(struct seen *s)
{
	str_done(&s->log);
	*s = (struct seen){0};
}

static int send(struct gnmi_walk *w, const char *wire)
{
	rw_cleanup(str_done) struct str bytes = {0};
	wire_add(&bytes, wire);
	/* A copy of exactly its size: one byte past the end is then the sanitizer's to see. */
	rw_cleanup(freep) uint8_t *exact = rw_calloc(1, bytes.n + !bytes.n);
	if (bytes.n)
		memcpy(exact, bytes.s, bytes.n);
	return gnmi_walk_message(w, exact, bytes.n);
}

/* Cold and warm, each message alone; then all of them in one stream. */
static void test_messages(void **state)
{
	struct seen seen = {0};
	struct gnmi_counts counts;
	struct gnmi_decode d = {.fn = see, .arg = &seen, .counts = &counts};
	struct gnmi_walk *stream = gnmi_walk_new(&d);

	for (size_t i = 0; i < rw_countof(gnmi_messages); i++) {
		const struct gnmi_message *m = &gnmi_messages[i];
		d.plain_names = m->plain;
		struct gnmi_walk *alone = gnmi_walk_new(&d);
		for (int round = 0; round < (m->plain ? 2 : 4); round++) {
			struct gnmi_walk *w = round < 2 ? alone : stream;
			uint64_t walked = gnmi_walk_stats(w)->walked;
			counts = (struct gnmi_counts){0};
			int r = send(w, m->wire);
			if (r != (m->text ? 0 : -EBADMSG) ||
				strcmp(seen.log.s ? seen.log.s : "", m->text ? m->text : "") != 0)
				fail_msg("%s, round %d: %d\n%s", m->what, round, r,
					seen.log.s ? seen.log.s : "");
			uint64_t count = *(const uint64_t *)((const char *)&counts + m->count);
			if ((m->is && count != m->is) || counts.messages != 1)
				fail_msg("%s, round %d: counted %llu", m->what, round,
					(unsigned long long)count);
			if (gnmi_walk_stats(w)->walked - walked != m->walks)
				fail_msg("%s, round %d: the codec was %s", m->what, round,
					m->walks ? "asked" : "not asked");
			for (size_t k = 0; k < seen.n; k++)
				assert_true(seen.ids[k] < gnmi_walk_stats(w)->memory.paths);
			seen_clear(&seen);
		}
		gnmi_walk_free(alone);
	}
	gnmi_walk_free(stream);
}

/* Each message cut at each place, and with each byte changed: both decoders say the same, and a
 * refused message delivers nothing. */
static void test_damage(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct seen walked = {0}, unpacked = {0};
	struct gnmi_counts walk_counts = {0}, codec_counts = {0};
	struct gnmi_walk *w = gnmi_walk_new(
		&(struct gnmi_decode){.fn = see, .arg = &walked, .counts = &walk_counts});
	struct gnmi_decode d = {.fn = see, .arg = &unpacked, .counts = &codec_counts};

	for (size_t i = 0; i < rw_countof(gnmi_messages); i++) {
		rw_cleanup(str_done) struct str bytes = {0};
		wire_add(&bytes, gnmi_messages[i].wire);
		for (size_t k = 0; k < 3 * bytes.n; k++) {
			size_t at = k / 3, n = k % 3 == 0 ? at : bytes.n;
			rw_cleanup(freep) uint8_t *exact = rw_calloc(1, n + !n);
			if (n)
				memcpy(exact, bytes.s, n);
			if (k % 3)
				exact[at] ^= k % 3 == 1 ? 0x01 : 0x80;
			int r = gnmi_walk_message(w, exact, n);
			if (r != gnmi_decode_subscribe(exact, n, &d, a) ||
				strcmp(walked.log.s ? walked.log.s : "",
					unpacked.log.s ? unpacked.log.s : "") != 0 ||
				(r < 0 && walked.log.s) ||
				memcmp(&walk_counts, &codec_counts, sizeof(walk_counts)) != 0)
				fail_msg("%s, damage %zu: %d\n%s\nand\n%s", gnmi_messages[i].what,
					k, r, walked.log.s ? walked.log.s : "",
					unpacked.log.s ? unpacked.log.s : "");
			seen_clear(&walked);
			seen_clear(&unpacked);
			arena_reset(a);
		}
	}
	gnmi_walk_free(w);
}

static void test_ids(void **state)
{
	struct seen seen = {0};
	struct gnmi_counts counts = {0};
	struct gnmi_walk *w =
		gnmi_walk_new(&(struct gnmi_decode){.fn = see, .arg = &seen, .counts = &counts});

	/* Keys in both orders, joined at two places, by way of JSON and of the codec: one path, one
	 * id. */
	assert_int_equal(send(w,
				 "0a(" T "22( 0a( 1a( 0a('q') 12( 0a('a') 12('1') ) 12( 0a('b') "
				 "12('2') ) ) 1a( 0a('x') ) ) 1a( 18 05 ) ) )"),
		0);
	assert_int_equal(send(w,
				 "0a(" T "22( 0a( 1a( 0a('q') 12( 0a('b') 12('2') ) 12( 0a('a') "
				 "12('1') ) ) 1a( 0a('x') ) ) 1a( 18 05 ) ) )"),
		0);
	assert_int_equal(send(w,
				 "0a(" T "12( 1a( 0a('q') 12( 0a('a') 12('1') ) 12( 0a('b') "
				 "12('2') ) ) ) 22( 0a( 1a( 0a('x') ) ) 1a( 18 05 ) ) )"),
		0);
	assert_int_equal(send(w,
				 "0a(" T "22( 0a( 1a( 0a('q') 12( 0a('a') 12('1') ) 12( 0a('b') "
				 "12('2') ) ) ) 1a( 52('{\"x\":5}') ) ) )"),
		0);
	assert_int_equal(
		send(w, "0a(" T "22( 0a( 0a('q[b=2][a=1]') 0a('x') ) 1a( 18 04 18 05 ) ) )"), 0);
	assert_int_equal(seen.n, 5);
	for (size_t i = 0; i < seen.n; i++)
		assert_int_equal(seen.ids[i], seen.ids[0]);
	/* Another origin is another path. */
	seen_clear(&seen);
	assert_int_equal(
		send(w, "0a(" T "22( 0a( 12('o') 1a( 0a('x') ) ) 1a( 18 05 ) )" LEAF("18 05") ")"),
		0);
	assert_int_not_equal(seen.ids[0], seen.ids[1]);
	/* The same again is found by what followed what. */
	const struct gnmi_walk_stats was = *gnmi_walk_stats(w);
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			send(w,
				"0a(" T
				"22( 0a( 12('o') 1a( 0a('x') ) ) 1a( 18 05 ) )" LEAF("18 05") ")"),
			0);
	assert_int_equal(gnmi_walk_stats(w)->memory.learnt, was.memory.learnt);
	assert_int_equal(gnmi_walk_stats(w)->memory.followed + gnmi_walk_stats(w)->memory.found,
		was.memory.followed + was.memory.found + 6);
	assert_true(gnmi_walk_stats(w)->memory.followed >= was.memory.followed + 5);
	seen_clear(&seen);
	gnmi_walk_reset(w);
	assert_int_equal(gnmi_walk_stats(w)->memory.paths, 0);
	assert_int_equal(send(w, "0a(" SAYS("18 05") ")"), 0);
	assert_int_equal(seen.ids[0], 0);
	seen_clear(&seen);
	gnmi_walk_free(w);
}

/* ---- messages that protobuf-c packed, held to what they were made from ---- */

#define MANY 2000

struct model {
	struct gnmi_value v[MANY];
	char path[MANY][80];
	size_t at;
};

static void compare(void *arg, const struct gnmi_update *u)
{
	struct model *m = arg;
	const struct gnmi_value *v = &m->v[m->at];
	assert_true(m->at < MANY);
	if (strcmp(u->path, m->path[m->at]) != 0 || u->value.kind != v->kind)
		fail_msg("%zu: %s, kind %d instead of %s, kind %d", m->at, u->path,
			(int)u->value.kind, m->path[m->at], (int)v->kind);
	assert_int_equal(u->duplicates, m->at % 3);
	assert_int_equal(u->t_ns, 1763700000000000000);
	if (v->kind == GNMI_STRING || v->kind == GNMI_BYTES) {
		assert_int_equal(u->value.n, v->n);
		assert_memory_equal(u->value.p, v->p, v->n);
	} else if (v->kind == GNMI_BOOL) {
		assert_int_equal(u->value.b, v->b);
	} else {
		assert_true(u->value.u == v->u && u->value.scale == v->scale);
	}
	m->at++;
}

static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x >> (*x & 63); /* numbers of every length */
}

static void value_make(size_t i, uint64_t random, Gnmi__TypedValue *to, struct gnmi_value *v)
{
	static uint8_t text[300];
	*v = (struct gnmi_value){0};
	switch (i % 6) {
	case 0:
		to->value_case = GNMI__TYPED_VALUE__VALUE_UINT_VAL;
		to->uint_val = v->u = random;
		v->kind = GNMI_UINT;
		break;
	case 1:
		to->value_case = GNMI__TYPED_VALUE__VALUE_INT_VAL;
		to->int_val = v->i = -(int64_t)(random >> 1);
		v->kind = GNMI_INT;
		break;
	case 2:
		to->value_case = GNMI__TYPED_VALUE__VALUE_STRING_VAL;
		to->string_val = (ProtobufCBinaryData){random % sizeof(text), text};
		*v = (struct gnmi_value){
			.kind = GNMI_STRING, .p = (const char *)text, .n = random % sizeof(text)};
		break;
	case 3:
		to->value_case = GNMI__TYPED_VALUE__VALUE_BOOL_VAL;
		to->bool_val = v->b = random & 1;
		v->kind = GNMI_BOOL;
		break;
	case 4:
		to->value_case = GNMI__TYPED_VALUE__VALUE_DOUBLE_VAL;
		to->double_val = v->d = (double)random / 3;
		v->kind = GNMI_DOUBLE;
		break;
	default:
		to->value_case = GNMI__TYPED_VALUE__VALUE_BYTES_VAL;
		to->bytes_val = (ProtobufCBinaryData){random % sizeof(text), text};
		*v = (struct gnmi_value){
			.kind = GNMI_BYTES, .p = (const char *)text, .n = random % sizeof(text)};
	}
}

static void test_round_trip(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct model *model = arena_new_of(a, struct model);
	struct gnmi_counts counts = {0};
	struct gnmi_decode d = {.fn = compare, .arg = model, .counts = &counts};
	struct gnmi_walk *w = gnmi_walk_new(&d);
	Gnmi__SubscribeResponse response;
	Gnmi__Notification notification;
	Gnmi__Path prefix;
	Gnmi__PathElem first;
	Gnmi__Update *updates[MANY];
	uint64_t random = 88172645463325252u;

	gnmi__subscribe_response__init(&response);
	gnmi__notification__init(&notification);
	gnmi__path__init(&prefix);
	gnmi__path_elem__init(&first);
	first.name = arena_strdup(a, "interfaces");
	prefix.elem = (Gnmi__PathElem *[]){&first};
	prefix.n_elem = 1;
	response.response_case = GNMI__SUBSCRIBE_RESPONSE__RESPONSE_UPDATE;
	response.update = &notification;
	notification.timestamp = 1763700000000000000;
	notification.prefix = &prefix;
	notification.update = updates;
	notification.n_update = MANY;
	for (size_t i = 0; i < MANY; i++) {
		Gnmi__Update *u = updates[i] = arena_new_of(a, Gnmi__Update);
		Gnmi__PathElem *elem = arena_new_of(a, Gnmi__PathElem);
		Gnmi__PathElem__KeyEntry *key = arena_new_of(a, Gnmi__PathElem__KeyEntry);
		gnmi__update__init(u);
		u->path = arena_new_of(a, Gnmi__Path);
		gnmi__path__init(u->path);
		gnmi__path_elem__init(elem);
		gnmi__path_elem__key_entry__init(key);
		key->key = arena_strdup(a, "name");
		key->value = arena_printf(a, "Ethernet%zu", i);
		elem->name = arena_strdup(a, "interface");
		elem->key = arena_array(a, Gnmi__PathElem__KeyEntry *, 1);
		elem->key[0] = key;
		elem->n_key = 1;
		u->path->elem = arena_array(a, Gnmi__PathElem *, 1);
		u->path->elem[0] = elem;
		u->path->n_elem = 1;
		u->val = arena_new_of(a, Gnmi__TypedValue);
		gnmi__typed_value__init(u->val);
		u->duplicates = i % 3;
		value_make(i, next_random(&random), u->val, &model->v[i]);
		snprintf(model->path[i], sizeof(model->path[i]),
			"/interfaces/interface[name=Ethernet%zu]", i);
	}
	size_t n = gnmi__subscribe_response__get_packed_size(&response);
	uint8_t *bytes = arena_alloc(a, n);
	gnmi__subscribe_response__pack(&response, bytes);
	for (int round = 0; round < 3; round++) {
		rw_cleanup(arena_freep) struct arena *scratch = arena_new();
		model->at = 0;
		assert_int_equal(round == 2 ? gnmi_decode_subscribe(bytes, n, &d, scratch)
					    : gnmi_walk_message(w, bytes, n),
			0);
		assert_int_equal(model->at, MANY);
	}
	assert_int_equal(gnmi_walk_stats(w)->walked, 2);
	assert_int_equal(gnmi_walk_stats(w)->memory.paths, MANY);
	assert_int_equal(gnmi_walk_stats(w)->memory.followed, MANY - 1);
	gnmi_walk_free(w);
}

/* ---- limits -------------------------------------------------------------- */

struct tally {
	uint64_t n, without_id;
};

static void tally(void *arg, const struct gnmi_update *u)
{
	struct tally *t = arg;
	t->n++;
	if (u->path_id == GNMI_PATH_NONE)
		t->without_id++;
	assert_non_null(strchr(u->path, '/'));
}

/* A server that never says the same path twice: memory ends where the limit says, and updates go
 * on, without ids. */
static void test_endless_paths(void **state)
{
	struct tally t = {0};
	struct gnmi_counts counts = {0};
	struct gnmi_walk *w =
		gnmi_walk_new(&(struct gnmi_decode){.fn = tally, .arg = &t, .counts = &counts});
	const uint32_t extra = 1000;

	for (uint32_t i = 0; i < GNMI_FORMS_PATHS_MAX + extra; i++) {
		char message[32];
		/* An update whose only element is eight digits. */
		int n = snprintf(message, sizeof(message),
			"\x0a\x14\x22\x12\x0a\x0c\x1a\x0a\x0a\x08%08x\x1a\x02\x18\x05", i);
		assert_int_equal(gnmi_walk_message(w, message, (size_t)n), 0);
	}
	assert_int_equal(t.n, GNMI_FORMS_PATHS_MAX + extra);
	assert_int_equal(t.without_id, extra);
	assert_int_equal(gnmi_walk_stats(w)->memory.paths, GNMI_FORMS_PATHS_MAX);
	assert_true(gnmi_walk_stats(w)->memory.refused >= extra);
	gnmi_walk_free(w);
}

/* More records than the walker takes, and a Path larger than it remembers: the codec answers. */
static void test_large(void **state)
{
	struct tally t = {0};
	struct gnmi_counts counts = {0};
	struct gnmi_walk *w =
		gnmi_walk_new(&(struct gnmi_decode){.fn = tally, .arg = &t, .counts = &counts});
	rw_cleanup(str_done) struct str body = {0}, message = {0}, path = {0};

	for (uint32_t i = 0; i < GNMI_WALK_RECORDS_MAX + 1; i++)
		wire_add(&body, "22( 0a( 1a( 0a('x') ) ) 1a( 18 05 ) )");
	str_add(&message, "\x0a");
	wire_varint(&message, body.n);
	str_addn(&message, body.s, body.n);
	assert_int_equal(gnmi_walk_message(w, message.s, message.n), 0);
	assert_int_equal(t.n, GNMI_WALK_RECORDS_MAX + 1);
	assert_int_equal(gnmi_walk_stats(w)->fallbacks, 1);

	/* Origins are not in the path's text, so a Path may be larger than that is. */
	str_add(&path, "0a( 22( 0a( 12('");
	for (uint32_t i = 0; i < GNMI_FORMS_RAW_MAX; i++)
		str_add(&path, "o");
	str_add(&path, "') 1a( 0a('x') ) ) 1a( 18 05 ) ) )");
	assert_int_equal(send(w, path.s), 0);
	assert_int_equal(send(w, path.s), 0);
	assert_int_equal(t.n, GNMI_WALK_RECORDS_MAX + 3);
	assert_int_equal(t.without_id, 0);
	assert_int_equal(gnmi_walk_stats(w)->fallbacks, 3);
	gnmi_walk_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_endless_paths),
		cmocka_unit_test(test_large),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

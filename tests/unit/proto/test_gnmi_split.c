/* gnmi_split: the pieces of a large message say what the message says, in the same order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/arena.h"
#include "base/cleanup.h"
#include "proto/gnmi_codec.h"
#include "proto/gnmi_walk.h"
#include "tests/unit/proto/gnmi_wire.h"

static void see(void *arg, const struct gnmi_update *update)
{
	wire_text(arg, update);
}

/* What the codec makes of these bytes is added to @log. */
static int decode(const void *data, size_t n, struct str *log)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct gnmi_counts counts = {0};
	const struct gnmi_decode d = {.fn = see, .arg = log, .counts = &counts};
	return gnmi_decode_subscribe(data, n, &d, a);
}

/* A notification with @head (wire text), @updates values, and @tail. */
static void make(struct str *bytes, const char *head, unsigned updates, const char *tail)
{
	rw_cleanup(str_done) struct str text = {0};
	str_addf(&text, "0a( %s ", head);
	for (unsigned i = 0; i < updates; i++)
		str_addf(&text, "22( 0a( 1a( 0a('leaf%u') ) ) 1a( 18 v%u ) ) ", i, i * 3);
	str_addf(&text, "%s )", tail);
	wire_add(bytes, text.s);
}

static unsigned pieces_of(const struct str *bytes, struct str *log)
{
	rw_cleanup(str_done) struct str piece = {0};
	struct gnmi_split split;
	const uint8_t *p;
	size_t n;
	unsigned pieces = 0;
	for (gnmi_split_begin(&split, bytes->s, bytes->n); gnmi_split_next(&split, &piece, &p, &n);
		pieces++) {
		assert_true(n <= 2 * GNMI_SPLIT_BYTES || pieces == 0);
		assert_int_equal(decode(p, n, log), 0);
	}
	return pieces;
}

static void test_same(void **state)
{
	static const struct {
		const char *what, *head, *tail;
		unsigned updates, least, most; /* pieces */
	} rows[] = {
		{"small", "08 v5", "", 10, 1, 1},
		{"time and prefix", "08 v5 12( 22('box') )", "", 9000, 17, 20},
		{"no head", "", "", 9000, 17, 20},
		{"deletes come first", "08 v5", "2a( 1a( 0a('old') ) ) 2a( 1a( 0a('older') ) )",
			9000, 17, 20},
		{"an unknown field at the end is not cut", "08 v5", "38 v1", 9000, 1, 1},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		rw_cleanup(str_done) struct str bytes = {0}, whole = {0}, cut = {0};
		make(&bytes, rows[i].head, rows[i].updates, rows[i].tail);
		assert_int_equal(decode(bytes.s, bytes.n, &whole), 0);
		const unsigned pieces = pieces_of(&bytes, &cut);
		if (pieces < rows[i].least || pieces > rows[i].most)
			fail_msg("%s: %u pieces", rows[i].what, pieces);
		if (whole.n != cut.n || memcmp(whole.s, cut.s, whole.n) != 0)
			fail_msg("%s: the pieces say something else", rows[i].what);
	}
}

/* Cut off anywhere: one piece, for the codec to refuse. */
static void test_cut_off(void **state)
{
	rw_cleanup(str_done) struct str bytes = {0}, piece = {0};
	make(&bytes, "08 v5", 5000, "");
	for (size_t n = GNMI_SPLIT_BYTES + 1; n < bytes.n; n += 997) {
		rw_cleanup(freep) uint8_t *exact = rw_calloc(1, n);
		memcpy(exact, bytes.s, n);
		struct gnmi_split split;
		const uint8_t *p;
		size_t got;
		gnmi_split_begin(&split, exact, n);
		assert_true(gnmi_split_next(&split, &piece, &p, &got));
		assert_ptr_equal(p, exact);
		assert_int_equal(got, n);
		assert_false(gnmi_split_next(&split, &piece, &p, &got));
	}
}

/* The last update says more bytes than there are: one piece, too. */
static void test_field_beyond_the_end(void **state)
{
	rw_cleanup(str_done) struct str bytes = {0}, piece = {0};
	struct gnmi_split split;
	const uint8_t *p;
	size_t got;
	make(&bytes, "08 v5", 9000, "22 v999");
	gnmi_split_begin(&split, bytes.s, bytes.n);
	assert_true(gnmi_split_next(&split, &piece, &p, &got));
	assert_int_equal(got, bytes.n);
	assert_false(gnmi_split_next(&split, &piece, &p, &got));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_field_beyond_the_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Texts that statements answer with: a number reads back as the one that is stored, also where 15
 * digits are not enough, by those who read for the program and by those who read for a person.
 */
#include <float.h>
#include <stdlib.h>

#include "db/open.h"
#include "tests/unit/db/db_world.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "db/series/history.h"
#include "db/store/store.h"

/* Each stands in table health as a figure of its own. */
static const double numbers[] = {
	3982233994303544.0, /* SQLite's own text is 3.98223399430354e+15 */
	4503599627370495.0, /* 2^52 - 1 */
	9007199254740991.0, /* 2^53 - 1 */
	1e15 + 1,
	1.0 / 3,
	0.1 + 0.2,
	1763690400.1234567,
	-4503599627370497.0,
	DBL_MAX,
	DBL_MIN,
	0,
	5,
	0.25,
	1e15,
};

static void numbers_store(const struct db_world *w)
{
	struct store_health measures[rw_countof(numbers)];
	char keys[rw_countof(numbers)][16];
	struct entities *entities = entities_new();
	struct store *store;
	struct err e = {0};

	for (size_t i = 0; i < rw_countof(numbers); i++) {
		snprintf(keys[i], sizeof(keys[i]), "probe/%02zu", i);
		measures[i] =
			(struct store_health){.key = keys[i], .unit = "", .value = numbers[i]};
	}
	const struct store_options o = {.path = w->path, .replay = true};
	assert_int_equal(db_store_open(&o, entities, &store, &e), 0);
	store_health(store, T0, measures, rw_countof(measures));
	assert_int_equal(store_flush(store, &e), 0);
	store_close(store);
	entities_free(entities);
}

struct read_back {
	size_t rows, wrong;
	struct str texts;
};

static int read_head(void *arg, int n, char *const *values, char *const *names)
{
	return 0;
}

static int read_row(void *arg, int n, char *const *values, char *const *names)
{
	struct read_back *read = arg;

	assert_int_equal(n, 2);
	assert_non_null(values[0]);
	if (read->rows >= rw_countof(numbers))
		fail_msg("a row too many: %s", values[0]);
	if (strtod(values[0], NULL) != numbers[read->rows]) {
		print_error("%.17g was stored, '%s' was read\n", numbers[read->rows], values[0]);
		read->wrong++;
	}
	read->rows++;
	str_addf(&read->texts, "%s ", values[0]);
	assert_null(values[1]);
	return 0;
}

static const char statement[] =
	"SELECT value, nullif(1, 1) FROM health WHERE key GLOB 'probe/*' ORDER BY key";

static void numbers_expect(struct read_back *read)
{
	assert_int_equal(read->rows, rw_countof(numbers));
	assert_int_equal(read->wrong, 0);
	/* what 15 digits can say stays as it is written today */
	assert_non_null(strstr(read->texts.s, " 0.0 5.0 0.25 1.0e+15 "));
	str_done(&read->texts);
}

static void numbers_read_back(void **state)
{
	struct db_world w;
	struct history *history;
	struct read_back own = {0}, named = {0};
	struct err e = {0};

	world_init(&w);
	numbers_store(&w);
	assert_int_equal(db_history_open(w.path, &history, &e), 0);
	assert_int_equal(history_sql(history, statement, read_row, &own, &e), 0);
	assert_int_equal(history_sql_named(history, statement, read_head, read_row, &named, &e), 0);
	history_close(history);
	world_done(&w);
	numbers_expect(&own);
	numbers_expect(&named);
}

/* An integer has its own text, of any length. */
static int take_text(void *arg, int n, char *const *values, char *const *names)
{
	str_addf(arg, "%s %s", values[0], values[1]);
	return 0;
}

static void integers_and_words(void **state)
{
	rw_cleanup(str_done) struct str got = {0};
	struct db_world w;
	struct history *history;
	struct err e = {0};

	world_init(&w);
	numbers_store(&w);
	assert_int_equal(db_history_open(w.path, &history, &e), 0);
	assert_int_equal(history_sql(history, "SELECT 9223372036854775807, '3.98223399430354e+15'",
				 take_text, &got, &e),
		0);
	history_close(history);
	world_done(&w);
	assert_string_equal(got.s, "9223372036854775807 3.98223399430354e+15");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_read_back),
		cmocka_unit_test(integers_and_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What a hostile switch or database says does not steer the terminal, nor run in a spreadsheet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/client/client.h"
#include "agent/answers/query/query_out.h"
#include "agent/answers/query/query.h"
#include "db/model/entity.h"
#include "db/model/metric.h"
#include "db/series/history.h"

static char *const names[] = {(char *)"port\033[31m", (char *)"note"};
static char *const values[] = {(char *)"swp1\033]0;owned\a\xc2\x9b", (char *)"=1+1|'x'"};

/* A database with one row. */
static int one_row(struct history *history, const char *sql, row_fn *head, row_fn *fn, void *arg,
	struct err *e)
{
	static char *const none[] = {NULL, NULL};
	const int rc = head(arg, 2, none, names);
	if (rc != 0)
		return rc;
	return fn(arg, 2, values, names);
}

static char *sql_text(enum report_format format)
{
	static const struct history_ops ops = {.sql = one_row};
	struct history history = {.ops = &ops};
	struct client client = {.history = &history};
	char *text;
	size_t n;
	FILE *file = open_memstream(&text, &n);
	const struct query_sql how = {.format = format, .file = file, .header = true};
	assert_int_equal(query_sql_run(&client, &how, "", NULL), 0);
	fclose(file);
	return text;
}

static char *row_text(enum report_format format)
{
	char *text;
	size_t n;
	FILE *file = open_memstream(&text, &n);
	struct query_out out = {.format = format,
		.file = file,
		.header = true,
		.columns = {.device = 6, .port = 6}};
	const struct query_row row = {.t_ns = 1700000000000000000,
		.device = values[0],
		.port = values[1],
		.priority = PRIO_NONE,
		.metric = M_PORT_IN_OCTETS,
		.unit = "bytes",
		.value = {.kind = VALUE_U64, .u64 = 7}};
	const struct query_foot foot = {.agg = "", .by = "", .join = ""};
	query_out_begin(&out);
	query_out_row(&out, &row);
	query_out_end(&out, &foot);
	fclose(file);
	return text;
}

static void raw_bytes_reach_no_terminal(void **state)
{
	static const enum report_format formats[] = {
		FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON, FORMAT_JSONL};
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		char *texts[] = {sql_text(formats[i]), row_text(formats[i])};
		for (size_t k = 0; k < 2; k++) {
			assert_null(strchr(texts[k], '\033'));
			assert_null(strchr(texts[k], '\a'));
			assert_non_null(strstr(texts[k], "swp1"));
			free(texts[k]);
		}
	}
}

static void csv_runs_no_formula(void **state)
{
	char *texts[] = {sql_text(FORMAT_CSV), row_text(FORMAT_CSV)};
	for (size_t k = 0; k < 2; k++) {
		assert_non_null(strstr(texts[k], ",'=1+1|'x'"));
		free(texts[k]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(raw_bytes_reach_no_terminal),
		cmocka_unit_test(csv_runs_no_formula),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

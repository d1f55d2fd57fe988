/* print_needs - the table "Counters that each cause needs" of docs/detectors.md, from
 * db/model/need.def. */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "db/model/cause.h"
#include "db/model/metric.h"

/* "octets sent (`port.out_octets`); link state (`port.oper_up`)" */
static void print_kind(enum cause cause, enum need_kind kind)
{
	const struct need *rows;
	const size_t n = needs_all(&rows);
	const char *between = "";
	for (size_t i = 0; i < n; i++) {
		if (rows[i].cause != cause || rows[i].kind != kind)
			continue;
		printf("%s%s", between, rows[i].words);
		for (size_t k = 0; k < rows[i].n_metrics; k++)
			printf("%s`%s`", k ? " " : " (", metric_info(rows[i].metrics[k])->name);
		if (rows[i].n_metrics > 0)
			printf(")");
		between = "; and ";
	}
	if (!*between)
		printf("-");
}

static bool has_rows(enum cause cause)
{
	const struct need *rows;
	const size_t n = needs_all(&rows);
	for (size_t i = 0; i < n; i++)
		if (rows[i].cause == cause)
			return true;
	return false;
}

int main(void)
{
	printf("| cause | cannot be seen without (one of each list) | less sure without | not by "
	       "counters of a switch, but by |\n|---|---|---|---|\n");
	for (int i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++) {
		const enum cause cause = (enum cause)i;
		if (!has_rows(cause))
			continue;
		printf("| `%s` | ", cause_name(cause));
		print_kind(cause, NEED_MUST);
		printf(" | ");
		print_kind(cause, NEED_HELPS);
		printf(" | ");
		print_kind(cause, NEED_NO_COUNTER);
		printf(" |\n");
	}
	return 0;
}

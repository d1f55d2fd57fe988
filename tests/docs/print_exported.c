/* print_exported - the families of /metrics for docs/metrics-exported.md, from the table of
 * agent/surface/metrics. */
#include <stdio.h>

#include "agent/surface/metrics.h"

static void print_family(void *arg, const struct metrics_family *family)
{
	static const char *const types[] = {
		[METRICS_GAUGE] = "gauge", [METRICS_COUNTER] = "counter", [METRICS_INFO] = "info"};
	static const char *const suffixes[] = {
		[METRICS_GAUGE] = "", [METRICS_COUNTER] = "_total", [METRICS_INFO] = "_info"};
	printf("| `%s%s` | %s | %s | %s | %s |\n", family->name, suffixes[family->type],
		types[family->type], family->labels, family->help, family->source);
}

int main(void)
{
	printf("\n| metric | type | labels | meaning | from |\n|---|---|---|---|---|\n");
	metrics_each_family(print_family, NULL);
	return 0;
}

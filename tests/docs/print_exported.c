/* print_exported - the families of /metrics for docs/metrics-exported.md, from the table of
 * agent/exporter/metrics. */
#include <stdio.h>

#include "agent/exporter/metrics.h"
#include "db/model/cause.h"
#include "db/model/golden.h"

static void print_family(void *arg, const struct metrics_family *family)
{
	static const char *const types[] = {
		[METRICS_GAUGE] = "gauge", [METRICS_COUNTER] = "counter", [METRICS_INFO] = "info"};
	static const char *const suffixes[] = {
		[METRICS_GAUGE] = "", [METRICS_COUNTER] = "_total", [METRICS_INFO] = "_info"};
	printf("| `%s%s` | %s | %s | %s | %s |\n", family->name, suffixes[family->type],
		types[family->type], family->labels, family->help, family->source);
}

/* The causes whose open incidents show in a signal. */
static void print_causes(const struct golden_info *info)
{
	for (size_t i = 0; i < GOLDEN_CAUSES_MAX && info->causes[i] != CAUSE_NONE; i++)
		printf("%s`%s`", i ? " " : "", cause_name(info->causes[i]));
}

static void print_signals(void)
{
	printf("\n## Golden signals\n\nThe label `signal`, and `signals[].name` of `rocewatch "
	       "watch "
	       "--format json`. A signal is as bad as the detectors' own limits say, and never "
	       "better than an open\nincident of its causes.\n\n"
	       "| signal | unit | meaning | causes that show in it |\n|---|---|---|---|\n");
	for (unsigned i = 0; i < GOLDEN_COUNT; i++) {
		const struct golden_info *info = golden_info(i);
		printf("| `%s` | %s | %s | ", info->name, info->unit, info->meaning);
		print_causes(info);
		printf(" |\n");
	}
}

int main(void)
{
	print_signals();
	printf("\n## Families\n");
	printf("\n| metric | type | labels | meaning | from |\n|---|---|---|---|---|\n");
	metrics_each_family(print_family, NULL);
	return 0;
}

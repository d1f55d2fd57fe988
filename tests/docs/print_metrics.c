/* print_metrics - the chapters of docs/metrics.md that are printed from db/model/metric.def: one
 * table per group of metrics, which is the word before the first dot of a name. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "db/model/metric.h"

static const struct chapter {
	const char *group, *title;
} chapters[] = {
	{"port", "Ports"},
	{"optic", "Optics"},
	{"pfc", "Priority flow control"},
	{"pfcwd", "PFC watchdog"},
	{"pg", "Priority groups (ingress)"},
	{"queue", "Queues (egress)"},
	{"pool", "Buffer pools"},
	{"nic", "NICs of hosts (the NIC's view)"},
	{"cfg", "Configured states"},
	{"agent", "The agent itself"},
};

static bool is_in_group(const struct metric_info *info, const char *group)
{
	size_t n = strlen(group);
	return strncmp(info->name, group, n) == 0 && info->name[n] == '.';
}

static size_t print_chapter(const struct chapter *chapter)
{
	size_t n = 0;
	printf("\n## %s\n\n| metric | unit | kind | of a | meaning |\n|---|---|---|---|---|\n",
		chapter->title);
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		const struct metric_info *info = metric_info(m);
		if (!is_in_group(info, chapter->group))
			continue;
		printf("| `%s` | %s | %s | %s | %s |\n", info->name, info->unit,
			metric_kind_name(info->kind), metric_scope_name(info->scope), info->help);
		n++;
	}
	return n;
}

int main(void)
{
	size_t n = 0;
	for (size_t i = 0; i < rw_countof(chapters); i++)
		n += print_chapter(&chapters[i]);
	if (n == METRIC_COUNT)
		return 0;
	fprintf(stderr, "a group of metrics has no chapter\n");
	return 1;
}

/* print_metrics - the chapters of docs/metrics.md that are printed from db/model/metric.def and the
 * built-in profiles: one table per group of metrics, which is the word before the first dot of a
 * name, with the kinds of switches that tell each metric. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "config/profile/profile.h"
#include "config/profile/profile_coverage.h"
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

/* "eos, sonic": who tells it; the agent tells its own. */
static void print_tellers(const struct profiles *profiles, unsigned metric)
{
	const char *separator = "";
	for (size_t i = 0; i < profiles_count(profiles); i++) {
		const struct profile *profile = profiles_at(profiles, i);
		if (!profile_tells(profile, metric))
			continue;
		printf("%s%s", separator, profile->name);
		separator = ", ";
	}
	if (is_in_group(metric_info(metric), "agent"))
		printf("the agent");
	else if (!*separator)
		putchar('-');
}

static const char *type_name(enum metric_type type)
{
	static const char *const names[] = {
		[TYPE_U64] = "whole number", [TYPE_F64] = "decimal", [TYPE_TEXT] = "text"};
	return names[type];
}

static size_t print_chapter(const struct chapter *chapter, const struct profiles *profiles)
{
	size_t n = 0;
	printf("\n## %s\n\n| metric | unit | kind | value | of a | meaning | told by |\n"
	       "|---|---|---|---|---|---|---|\n",
		chapter->title);
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		const struct metric_info *info = metric_info(m);
		if (!is_in_group(info, chapter->group))
			continue;
		printf("| `%s` | %s | %s | %s | %s | %s | ", info->name, info->unit,
			metric_kind_name(info->kind), type_name(info->type),
			metric_scope_name(info->scope), info->help);
		print_tellers(profiles, m);
		printf(" |\n");
		n++;
	}
	return n;
}

int main(void)
{
	struct profiles *profiles = NULL;
	struct err_list errors = {0};
	size_t n = 0;
	if (profiles_load(NULL, &profiles, &errors) < 0)
		return 1;
	for (size_t i = 0; i < rw_countof(chapters); i++)
		n += print_chapter(&chapters[i], profiles);
	profiles_free(profiles);
	err_list_done(&errors);
	if (n == METRIC_COUNT)
		return 0;
	fprintf(stderr, "a group of metrics has no chapter\n");
	return 1;
}

/* print_causes - the chapters of docs/detectors.md that are printed from db/model/cause.def: one
 * per family, with a table and the next steps of each cause. Causes that nothing reports yet are
 * left out. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "db/model/cause.h"

static const struct chapter {
	enum cause_family family;
	const char *title;
} chapters[] = {
	{CAUSE_FAMILY_WIRE, "Wire"},
	{CAUSE_FAMILY_DEVICE, "Switches"},
	{CAUSE_FAMILY_PATH, "Paths and load balancing"},
	{CAUSE_FAMILY_HOST, "Hosts"},
	{CAUSE_FAMILY_CONGESTION, "Congestion"},
	{CAUSE_FAMILY_LOSS, "Loss in lossless classes"},
	{CAUSE_FAMILY_SETTINGS, "Settings"},
	{CAUSE_FAMILY_JOB, "Jobs"},
	{CAUSE_FAMILY_TELEMETRY, "Telemetry"},
};

static bool is_shown(const struct cause_info *info, enum cause_family family)
{
	return info->family == family && !(info->flags & CAUSE_IS_PLANNED);
}

/* "congestion tuning" -> "`congestion`, `tuning`" */
static void print_reporters(const char *names)
{
	char copy[256];
	snprintf(copy, sizeof(copy), "%s", names);
	const char *between = "";
	for (char *save, *name = strtok_r(copy, " ", &save); name;
		name = strtok_r(NULL, " ", &save)) {
		printf("%s`%s`", between, name);
		between = ", ";
	}
}

static void print_row(const struct cause_info *info)
{
	printf("| `%s` | %s | %s | ", info->name, info->means, info->needs);
	print_reporters(info->reported_by);
	printf(" | %s |\n", info->tune_row ? "waits" : "-");
}

static void print_steps(const struct cause_info *info)
{
	printf("- `%s` - not proved by it: %s\n", info->name, info->not_proved);
	for (size_t i = 0; i < CAUSE_STEPS_MAX && info->steps[i].text; i++) {
		const struct cause_step *step = &info->steps[i];
		const bool safe = strncmp(step->risk, "none", 4) == 0;
		printf("  %zu. %s", i + 1, step->text);
		if (!safe)
			printf(". *Risk: %s*", step->risk);
		printf("\n");
	}
}

int main(void)
{
	for (size_t c = 0; c < rw_countof(chapters); c++) {
		printf("### %s\n\n", chapters[c].title);
		printf("| cause | what it means | what it takes to see it | reported by | tuning "
		       "|\n");
		printf("|---|---|---|---|---|\n");
		for (int i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++)
			if (is_shown(cause_info((enum cause)i), chapters[c].family))
				print_row(cause_info((enum cause)i));
		printf("\nNext steps:\n\n");
		for (int i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++) {
			const struct cause_info *info = cause_info((enum cause)i);
			if (is_shown(info, chapters[c].family) && info->steps[0].text)
				print_steps(info);
		}
		printf("\n");
	}
	return 0;
}

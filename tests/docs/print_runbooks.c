/*
 * print_runbooks - the parts of docs/runbooks/CAUSE.md that tables of the program know: one block
 * per cause and part, headed by a line "=== CAUSE PART". tests/docs/check_runbooks.py puts them
 * between the markers of the pages.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "analyzers/analyzer.h"
#include "config/profile/nic.h"
#include "config/profile/profile.h"
#include "db/model/cause.h"

/* ---- facts --------------------------------------------------------------- */

static void print_names(const char *names)
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

static void print_facts(const struct cause_info *info)
{
	printf("| | |\n|---|---|\n| meaning | %s |\n| reported by | ", info->means);
	print_names(info->reported_by);
	printf(" |\n| needs | %s |\n| never proved by it | %s |\n| money | %s |\n| tuning | %s |\n",
		info->needs, info->not_proved,
		info->flags & CAUSE_MAY_COST ? "the time that jobs lose is counted" : "not counted",
		info->tune_row ? "no threshold is advised while it is open" : "goes on");
}

/* ---- commands ------------------------------------------------------------ */

/* {port} as PORT, and {priority} as the usual one: braces are for the program. */
static void print_command(const char *run)
{
	static const char priority[] = "{priority}";
	bool name = false;
	for (const char *p = run; *p; p++) {
		if (strncmp(p, priority, strlen(priority)) == 0) {
			putchar('3');
			p += strlen(priority) - 1;
		} else if (*p == '{' || *p == '}') {
			name = *p == '{';
		} else if (name) {
			putchar(toupper((unsigned char)*p));
		} else {
			putchar(*p);
		}
	}
}

static void print_item(const char *who, const char *run)
{
	printf("- %s: `", who);
	print_command(run);
	printf("`\n");
}

static const struct vendor {
	const char *profile, *name;
} vendors[] = {
	{"sonic", "SONiC"},
	{"eos", "EOS"},
	{"nxos", "NX-OS"},
	{"cumulus", "Cumulus"},
	{"junos", "Junos"},
	{"srlinux", "SR Linux"},
	{"dell-os10", "Dell OS10"},
};

static const struct profile *find_profile(const struct profiles *profiles, const char *name)
{
	for (size_t i = 0; i < profiles_count(profiles); i++)
		if (str_eq(profiles_at(profiles, i)->name, name))
			return profiles_at(profiles, i);
	return NULL;
}

static void print_switch(const struct profiles *profiles, const char *topic)
{
	for (size_t i = 0; i < rw_countof(vendors); i++) {
		const struct profile *profile = find_profile(profiles, vendors[i].profile);
		const char *run = NULL;
		if (profile)
			run = profile_command_of(profile, topic);
		if (run)
			print_item(vendors[i].name, run);
	}
}

static void print_nic(const char *topic)
{
	static const struct {
		const char *device, *name;
	} kinds[] = {{"mlx5_0", "NVIDIA ConnectX"}, {"bnxt_re0", "Broadcom"}, {"", "any NIC"}};
	const struct nic_command *last = NULL;
	for (size_t i = 0; i < rw_countof(kinds); i++) {
		const struct nic_command *command = nic_command(kinds[i].device, topic);
		/* a row for all NICs is said once, for all */
		if (!command || command == last || (!*command->prefix && *kinds[i].device))
			continue;
		char who[160];
		snprintf(who, sizeof(who), "%s (%s)", kinds[i].name, command->shows);
		print_item(who, command->run);
		last = command;
	}
}

static void print_commands(const struct profiles *profiles, const struct cause_info *info)
{
	char copy[512];
	snprintf(copy, sizeof(copy), "%s", info->checks);
	for (char *save, *check = strtok_r(copy, ";", &save); check;
		check = strtok_r(NULL, ";", &save)) {
		check += strspn(check, " ");
		if (strncmp(check, "switch:", 7) == 0) {
			printf("On the switch (%s):\n\n", check + 7);
			print_switch(profiles, check + 7);
		} else if (strncmp(check, "nic:", 4) == 0) {
			printf("On the host (%s):\n\n", check + 4);
			print_nic(check + 4);
		} else {
			char run[256];
			snprintf(run, sizeof(run), "rocewatch %s", check + strlen("here:"));
			printf("On the machine of rocewatch:\n\n");
			print_item("any time", run);
		}
		printf("\n");
	}
	if (!*info->checks)
		printf("The program suggests no command for it.\n\n");
}

/* ---- steps, look-alikes, options ----------------------------------------- */

static void print_steps(const struct cause_info *info)
{
	if (!info->steps[0].text)
		printf("The program suggests no step of its own.\n");
	for (size_t i = 0; i < CAUSE_STEPS_MAX && info->steps[i].text; i++)
		printf("%zu. %s. *Risk: %s.*\n", i + 1, info->steps[i].text, info->steps[i].risk);
}

static void print_list(const char *head, enum cause cause, bool explains)
{
	const char *between = head;
	for (int i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++) {
		unsigned near = cause_explains((enum cause)i, cause);
		if (explains)
			near = cause_explains(cause, (enum cause)i);
		if (!near || (int)cause == i)
			continue;
		printf("%s[%s](%s.md)", between, cause_name((enum cause)i),
			cause_name((enum cause)i));
		between = ", ";
	}
	if (between != head)
		printf(".\n");
}

static void print_related(enum cause cause)
{
	print_list(
		"- Opens no incident of its own, where near enough, while one of these is open: ",
		cause, false);
	print_list(
		"- Taken for its consequence, where near enough, while it is open: ", cause, true);
}

/* As in a cell of a table. */
static void print_cell_text(const char *text)
{
	for (const char *p = text; *p; p++)
		if (*p != '|')
			putchar(*p);
}

static void print_analyzer(const struct analyzer *analyzer)
{
	for (size_t i = 0; i < analyzer->options.n_rows; i++) {
		const struct option *option = &analyzer->options.rows[i];
		printf("| `analyzers.%s.%s` | %s | ", analyzer->name, option->name,
			str_or(option->def, "-"));
		print_cell_text(option->doc);
		printf(" |\n");
	}
}

static void print_options(const struct cause_info *info)
{
	char copy[256];
	bool any = false;
	snprintf(copy, sizeof(copy), "%s", info->reported_by);
	for (char *save, *name = strtok_r(copy, " ", &save); name;
		name = strtok_r(NULL, " ", &save)) {
		const struct analyzer *analyzer = analyzer_by_name(name);
		if (!analyzer || analyzer->options.n_rows == 0)
			continue;
		if (!any)
			printf("| key | default | what it is |\n|---|---|---|\n");
		any = true;
		print_analyzer(analyzer);
	}
	if (!any)
		printf("No threshold of its own.\n");
}

static void print_cause(const struct profiles *profiles, enum cause cause)
{
	const struct cause_info *info = cause_info(cause);
	printf("=== %s facts\n", info->name);
	print_facts(info);
	printf("=== %s commands\n", info->name);
	print_commands(profiles, info);
	printf("=== %s related\n", info->name);
	print_related(cause);
	printf("=== %s steps\n", info->name);
	print_steps(info);
	printf("=== %s options\n", info->name);
	print_options(info);
}

int main(void)
{
	struct profiles *profiles;
	rw_cleanup(err_list_done) struct err_list errors = {0};
	if (profiles_load(NULL, &profiles, &errors) < 0)
		return 1;
	for (int i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++)
		if (!(cause_info((enum cause)i)->flags & CAUSE_IS_PLANNED))
			print_cause(profiles, (enum cause)i);
	profiles_free(profiles);
	return 0;
}

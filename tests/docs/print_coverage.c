/* print_coverage - the tables of docs/coverage.md, from the built-in profiles: which metric each
 * kind of switch tells over which protocol, and how that is known. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "config/profile/profile.h"
#include "config/profile/profile_coverage.h"
#include "config/profile/profile_gnmi.h"
#include "config/profile/profile_push.h"
#include "db/model/metric.h"

/* The groups of metrics that devices tell; "agent." is ours. */
static const struct chapter {
	const char *group, *title;
} chapters[] = {
	{"port.", "Ports"},
	{"optic.", "Optics"},
	{"pfc.", "Priority flow control"},
	{"pfcwd.", "PFC watchdog"},
	{"pg.", "Priority groups (ingress)"},
	{"queue.", "Queues (egress)"},
	{"pool.", "Buffer pools"},
	{"cfg.", "Configured states, read back"},
	{"nic.", "NICs of hosts"},
};

static char evidence_letter(enum evidence_kind kind)
{
	static const char letters[] = {
		[EVIDENCE_DOCUMENT] = 'd', [EVIDENCE_MOCK] = 'm', [EVIDENCE_RECORDED] = 'R'};
	return letters[kind];
}

/* Returns whether anything was told. */
static bool print_cell(const struct profile *profile, unsigned metric)
{
	bool told = false;
	for (int p = 0; p < COVERAGE_PROTOCOLS; p++) {
		struct coverage_cell cell;
		profile_coverage(profile, metric, (enum coverage_protocol)p, &cell);
		if (!cell.told)
			continue;
		printf("%s%s %c", told ? ", " : "",
			coverage_protocol_name((enum coverage_protocol)p),
			evidence_letter(cell.evidence.kind));
		told = true;
	}
	if (!told)
		printf("-");
	return told;
}

static bool metric_is_told(const struct profiles *profiles, unsigned metric)
{
	for (size_t i = 0; i < profiles_count(profiles); i++)
		for (int p = 0; p < COVERAGE_PROTOCOLS; p++) {
			struct coverage_cell cell;
			profile_coverage(
				profiles_at(profiles, i), metric, (enum coverage_protocol)p, &cell);
			if (cell.told)
				return true;
		}
	return false;
}

static bool is_of(const struct chapter *chapter, unsigned metric)
{
	return strncmp(metric_info(metric)->name, chapter->group, strlen(chapter->group)) == 0;
}

/* Does the profile say anything of this chapter? */
static bool is_in(const struct profile *profile, const struct chapter *chapter)
{
	for (unsigned m = 0; m < METRIC_COUNT; m++)
		for (int p = 0; is_of(chapter, m) && p < COVERAGE_PROTOCOLS; p++) {
			struct coverage_cell cell;
			profile_coverage(profile, m, (enum coverage_protocol)p, &cell);
			if (cell.told)
				return true;
		}
	return false;
}

static void print_chapter(const struct profiles *profiles, const struct chapter *chapter)
{
	printf("### %s\n\n| metric |", chapter->title);
	for (size_t i = 0; i < profiles_count(profiles); i++)
		if (is_in(profiles_at(profiles, i), chapter))
			printf(" %s |", profiles_at(profiles, i)->name);
	printf("\n|---|");
	for (size_t i = 0; i < profiles_count(profiles); i++)
		if (is_in(profiles_at(profiles, i), chapter))
			printf("---|");
	printf("\n");
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		if (!is_of(chapter, m) || !metric_is_told(profiles, m))
			continue;
		printf("| `%s` |", metric_info(m)->name);
		for (size_t i = 0; i < profiles_count(profiles); i++) {
			if (!is_in(profiles_at(profiles, i), chapter))
				continue;
			printf(" ");
			print_cell(profiles_at(profiles, i), m);
			printf(" |");
		}
		printf("\n");
	}
	printf("\n");
}

/* What no profile reads, so that nobody waits for it. */
static void print_untold(const struct profiles *profiles)
{
	const char *separator = "";
	printf("No profile reads: ");
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		bool of_a_device = false;
		for (size_t c = 0; c < rw_countof(chapters); c++)
			of_a_device = of_a_device || is_of(&chapters[c], m);
		if (!of_a_device || metric_is_told(profiles, m))
			continue;
		printf("%s`%s`", separator, metric_info(m)->name);
		separator = ", ";
	}
	printf(".\n\n");
}

static void print_source(const struct profile *profile, const char *protocol, const char *table,
	struct profile_evidence evidence)
{
	printf("| %s | %s | %s | %s | %s |\n", profile->name, protocol, table,
		evidence_kind_name(evidence.kind), evidence.source ? evidence.source : "");
}

static void print_sources(const struct profile *profile)
{
	for (size_t i = 0; i < profile->n_tables; i++) {
		const struct profile_table *table = profile->tables[i];
		struct profile_evidence evidence = table->evidence;
		if (i < profile->n_tables_inherited)
			evidence = profile_inherited_evidence(&profile->inherited, table->name);
		print_source(profile, "snmp", table->name, evidence);
	}
	for (size_t i = 0; profile->gnmi && i < profile->gnmi->n_streams; i++) {
		const struct profile_gnmi_stream *stream = profile->gnmi->streams[i];
		struct profile_evidence evidence = stream->evidence;
		if (i < profile->gnmi->n_streams_inherited)
			evidence =
				profile_inherited_evidence(&profile->gnmi->inherited, stream->name);
		print_source(profile, "gnmi", stream->name, evidence);
	}
	for (size_t i = 0; i < profile->n_push; i++)
		print_source(profile, "push", profile->push[i]->name, profile->push[i]->evidence);
}

int main(void)
{
	struct profiles *profiles;
	rw_cleanup(err_list_done) struct err_list errors = {0};
	if (profiles_load(NULL, &profiles, &errors) < 0) {
		for (size_t i = 0; i < errors.n; i++)
			err_print(stderr, &errors.v[i]);
		return 1;
	}
	printf("\n");
	for (size_t c = 0; c < rw_countof(chapters); c++)
		print_chapter(profiles, &chapters[c]);
	print_untold(profiles);
	printf("### Where it is known from\n\n");
	printf("| profile | protocol | table, stream or group | evidence | where from |\n");
	printf("|---|---|---|---|---|\n");
	for (size_t i = 0; i < profiles_count(profiles); i++)
		print_sources(profiles_at(profiles, i));
	printf("\n");
	profiles_free(profiles);
	return 0;
}

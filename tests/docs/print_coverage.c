/* print_coverage - the tables of docs/coverage.md, from the built-in profiles and the index of what
 * makers' models say: which metric each kind of switch tells over which protocol, since when, and
 * how that is known. */
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
#include "tests/model_facts.h"

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
	{"nic.", "Exporters of hosts"},
};

static char evidence_letter(enum evidence_kind kind)
{
	static const char letters[] = {
		[EVIDENCE_DOCUMENT] = 'd', [EVIDENCE_MOCK] = 'm', [EVIDENCE_RECORDED] = 'R'};
	return letters[kind];
}

/* The release from which on a model has all that brings @metric; NULL: as far back as it goes. */
static const char *gnmi_since(const struct profile *profile, unsigned metric)
{
	const char *since = NULL;
	for (size_t i = 0; i < profile->gnmi->n_streams; i++) {
		const struct profile_gnmi_stream *stream = profile->gnmi->streams[i];
		for (size_t k = 0; k < stream->n_values; k++) {
			const struct profile_gnmi_value *value = &stream->values[k];
			if (value->metric != (int)metric)
				continue;
			const struct fact *fact =
				fact_of(profile->name, profile->gnmi->extends, value->path);
			if (!fact || strcmp(fact->since, "-") == 0)
				return NULL;
			since = fact->since;
		}
	}
	return since;
}

static void print_cell(const struct profile *profile, unsigned metric)
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
		const char *since = p == COVERAGE_GNMI ? gnmi_since(profile, metric) : NULL;
		if (since)
			printf(" since %s", since);
		told = true;
	}
	if (!told)
		printf("-");
}

static bool metric_is_told(const struct profiles *profiles, unsigned metric)
{
	for (size_t i = 0; i < profiles_count(profiles); i++)
		if (profile_tells(profiles_at(profiles, i), metric))
			return true;
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
		if (is_of(chapter, m) && profile_tells(profile, m))
			return true;
	return false;
}

/* A column of a chapter: a kind of switch, or an exporter of a kind of NIC: the names of Prometheus
 * text and of OpenTelemetry are the same. */
struct shown {
	const struct profile *profile;
	const struct profile_push_group *group; /* NULL: all of the profile */
};

static size_t shown_of(
	const struct profiles *profiles, const struct chapter *chapter, struct shown ret[64])
{
	size_t n = 0;
	for (size_t i = 0; i < profiles_count(profiles); i++) {
		const struct profile *profile = profiles_at(profiles, i);
		const bool nic = strcmp(chapter->group, "nic.") == 0;
		for (size_t k = 0; is_in(profile, chapter) && k < (nic ? profile->n_push : 1); k++)
			ret[n++] = (struct shown){profile, nic ? profile->push[k] : NULL};
	}
	return n;
}

static void print_shown(const struct shown *column, unsigned metric)
{
	bool told = false;
	if (!column->group) {
		print_cell(column->profile, metric);
		return;
	}
	for (size_t i = 0; i < column->group->n_values; i++)
		told = told || column->group->values[i].metric == (int)metric;
	printf("%c", told ? evidence_letter(column->group->evidence.kind) : '-');
}

static void print_chapter(const struct profiles *profiles, const struct chapter *chapter)
{
	struct shown columns[64];
	const size_t n = shown_of(profiles, chapter, columns);
	printf("### %s\n\n| metric |", chapter->title);
	for (size_t i = 0; i < n; i++)
		printf(" %s%s%s |", columns[i].profile->name, columns[i].group ? " " : "",
			columns[i].group ? columns[i].group->name : "");
	printf("\n|---|");
	for (size_t i = 0; i < n; i++)
		printf("---|");
	printf("\n");
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		if (!is_of(chapter, m) || !metric_is_told(profiles, m))
			continue;
		printf("| `%s` |", metric_info(m)->name);
		for (size_t i = 0; i < n; i++) {
			printf(" ");
			print_shown(&columns[i], m);
			printf(" |");
		}
		printf("\n");
	}
	printf("\n");
}

/* How many facts of the index are of @profile, from @source, with @verdict. */
static size_t facts_count(const char *profile, char source, const char *verdict)
{
	size_t n = 0;
	for (size_t i = 0; i < facts.n; i++)
		n += strcmp(facts.v[i].profile, profile) == 0 && *facts.v[i].source == source &&
			strcmp(facts.v[i].verdict, verdict) == 0;
	return n;
}

static void print_models(const struct profiles *profiles)
{
	printf("### Held against the makers' models\n\n");
	printf("| profile | read from | served | told | absent |\n|---|---|---|---|---|\n");
	for (size_t i = 0; i < profiles_count(profiles); i++)
		for (int c = 0; c < 128; c++) {
			const char *name = profiles_at(profiles, i)->name;
			const size_t served = facts_count(name, (char)c, "served");
			const size_t told = facts_count(name, (char)c, "told");
			const size_t absent = facts_count(name, (char)c, "absent");
			if (facts.sources[c] && served + told + absent)
				printf("| %s | %s | %zu | %zu | %zu |\n", name, facts.sources[c],
					served, told, absent);
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
	if (facts_read(MODELS_TSV) < 0)
		return 1;
	printf("\n");
	for (size_t c = 0; c < rw_countof(chapters); c++)
		print_chapter(profiles, &chapters[c]);
	print_untold(profiles);
	print_models(profiles);
	printf("### Where it is known from\n\n");
	printf("| profile | protocol | table, stream or group | evidence | where from |\n");
	printf("|---|---|---|---|---|\n");
	for (size_t i = 0; i < profiles_count(profiles); i++)
		print_sources(profiles_at(profiles, i));
	printf("\n");
	facts_free();
	profiles_free(profiles);
	return 0;
}

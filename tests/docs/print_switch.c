/* print_switch PROFILE - the printed parts of docs/switches/<page>.md: every object and path that a
 * switch of this kind is asked for, the view of SNMP that holds just these, and the causes that
 * stay unseen over each protocol. From the built-in profiles, the poller's own lists and
 * db/model/need.def: a view that misses a polled object cannot be printed. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "collectors/snmp/snmp_lldp.h"
#include "collectors/snmp/snmp_target.h"
#include "config/profile/profile.h"
#include "config/profile/profile_coverage.h"
#include "config/profile/profile_gnmi.h"
#include "db/model/cause.h"
#include "db/model/metric.h"

#define ROOTS_MAX 64
#define ROWS_MAX 64
#define OID_TEXT 256

/* How a line of a view is written. A kind of switch that is not here has no view. */
static const struct view_syntax {
	const char *profile, *fence, *before, *after;
	bool numbered; /* the line's number stands between .before and .middle */
	const char *middle;
} view_syntaxes[] = {
	{"eos", "eos", "snmp-server view ROCEWATCH ", " included", false, ""},
	{"nxos", "nxos", "  rule ", "", true, " permit read oid "},
	{"cumulus", "cumulus", "nv set system snmp-server viewname rocewatch included .", "", false,
		""},
	{"junos", "junos", "set snmp view rocewatch oid .", " include", false, ""},
};

struct view {
	struct snmp_oid roots[ROOTS_MAX];
	size_t n;
};

struct oid_row { /* a line of the table: one root, all that is read below it */
	struct snmp_oid root;
	const char *what[ROWS_MAX];
	size_t n_what;
};

struct asked {
	struct oid_row rows[ROOTS_MAX];
	size_t n;
};

/* ---- SNMP ---------------------------------------------------------------- */

/* asked_add - @oid is a column (below a table and its entry) or an object with one instance. */
static void asked_add(struct asked *asked, struct snmp_oid oid, bool scalar, const char *what)
{
	struct snmp_oid root = oid;
	if (!scalar)
		root.n -= 2;
	size_t i = 0;
	while (i < asked->n && snmp_oid_order(asked->rows[i].root, root) != 0)
		i++;
	if (i == ROOTS_MAX)
		abort();
	struct oid_row *row = &asked->rows[i];
	if (i == asked->n) {
		row->root = root;
		asked->n++;
	}
	for (size_t k = 0; k < row->n_what; k++)
		if (str_eq(row->what[k], what))
			return;
	if (row->n_what == ROWS_MAX)
		abort();
	row->what[row->n_what++] = what;
}

static int asked_order(const void *left, const void *right)
{
	const struct oid_row *l = left, *r = right;
	return snmp_oid_order(l->root, r->root);
}

static void asked_by_poller(struct asked *asked, const struct profile *profile)
{
	struct snmp_oid oid;
	bool scalar;
	for (size_t i = 0; snmp_poll_scalar(i, &oid); i++) {
		oid.n--; /* the instance */
		asked_add(asked, oid, true, "which switch it is, whether it restarted");
	}
	oid = (struct snmp_oid){snmp_lldp_last_change, snmp_lldp_last_change_n - 1};
	asked_add(asked, oid, true, "LLDP: whether a neighbour changed");
	for (size_t i = 0; snmp_lldp_asked(i, &oid, &scalar); i++)
		asked_add(asked, oid, scalar, "LLDP: ports and neighbours");
	if (profile->cell_oid.n) {
		oid = (struct snmp_oid){profile->cell_oid.v, profile->cell_oid.n - 1};
		asked_add(asked, oid, true, "size of a buffer cell");
	}
}

static void asked_of(struct asked *asked, const struct profile *profile)
{
	asked_by_poller(asked, profile);
	for (size_t i = 0; i < profile->n_tables; i++) {
		const struct profile_table *table = profile->tables[i];
		for (size_t c = 0; c < table->n_columns; c++) {
			const struct snmp_oid oid = {table->columns[c].v, table->columns[c].n};
			asked_add(asked, oid, false, table->doc ? table->doc : table->name);
		}
	}
	qsort(asked->rows, asked->n, sizeof(*asked->rows), asked_order);
}

/* The rows are in order: a root that is below another comes right behind it. */
static void view_of(struct view *view, const struct asked *asked)
{
	for (size_t i = 0; i < asked->n; i++) {
		const struct snmp_oid root = asked->rows[i].root;
		if (view->n > 0 && snmp_oid_under(root, view->roots[view->n - 1]))
			continue;
		view->roots[view->n++] = root;
	}
}

static void print_view(const struct profile *profile, const struct view *view)
{
	for (size_t i = 0; i < rw_countof(view_syntaxes); i++) {
		const struct view_syntax *syntax = &view_syntaxes[i];
		if (!str_eq(syntax->profile, profile->name))
			continue;
		printf("The view that holds these and nothing else:\n\n```%s\n", syntax->fence);
		if (syntax->numbered)
			printf("role name rocewatch\n");
		for (size_t k = 0; k < view->n; k++) {
			char text[OID_TEXT];
			printf("%s", syntax->before);
			if (syntax->numbered)
				printf("%zu", k + 1);
			printf("%s%s%s\n", syntax->middle,
				snmp_oid_text(text, sizeof(text), view->roots[k]), syntax->after);
		}
		printf("```\n\n");
	}
}

static void print_snmp(const struct profile *profile)
{
	static struct asked asked;
	static struct view view;
	asked_of(&asked, profile);
	view_of(&view, &asked);
	printf("### Polled over SNMP\n\n| table or object | what is read there |\n|---|---|\n");
	for (size_t i = 0; i < asked.n; i++) {
		char text[OID_TEXT];
		printf("| %s | ", snmp_oid_text(text, sizeof(text), asked.rows[i].root));
		for (size_t k = 0; k < asked.rows[i].n_what; k++)
			printf("%s%s", k ? "; " : "", asked.rows[i].what[k]);
		printf(" |\n");
	}
	printf("\n");
	print_view(profile, &view);
}

/* ---- gNMI ---------------------------------------------------------------- */

static void print_stream(const struct profile_gnmi_stream *stream)
{
	for (size_t i = 0; i < stream->n_subscriptions; i++) {
		const struct profile_gnmi_subscription *s = &stream->subscriptions[i];
		printf("| %s | `", stream->name);
		if (*stream->target)
			printf("%s ", stream->target);
		if (*stream->origin)
			printf("%s:", stream->origin);
		printf("%s` | ", s->path);
		if (stream->slow)
			printf("slow_interval");
		else if (s->min_interval_ns > 0)
			printf("%lld s", (long long)(s->min_interval_ns / NS_PER_S));
		else
			printf("-");
		printf(" | %s |\n", s->optional ? "no" : "yes");
	}
}

static void print_gnmi(const struct profile *profile)
{
	printf("### Subscribed to over gNMI\n\n"
	       "| stream | path | not faster than | required |\n|---|---|---|---|\n");
	for (size_t i = 0; i < profile->gnmi->n_streams; i++)
		print_stream(profile->gnmi->streams[i]);
	printf("\n");
}

/* ---- what stays unknown -------------------------------------------------- */

static void told_over(const struct profile *profile, unsigned protocols, bool *ret)
{
	for (unsigned m = 0; m < METRIC_COUNT; m++)
		for (int p = 0; p < COVERAGE_PROTOCOLS; p++) {
			struct coverage_cell cell;
			if (!(protocols & 1U << p))
				continue;
			profile_coverage(profile, m, (enum coverage_protocol)p, &cell);
			ret[m] = ret[m] || cell.told;
		}
}

static void print_sight(enum cause cause, const bool *told)
{
	const struct need *missing[NEED_MISSING_MAX];
	size_t n = 0;
	const enum need_sight sight = need_judge(cause, told, missing, &n);
	if (sight == NEED_SEES) {
		printf(" seen |");
		return;
	}
	printf(" %s (not told: ", sight == NEED_BLIND ? "**unknown**" : "less surely");
	for (size_t i = 0; i < n; i++)
		printf("%s%s", i ? "; " : "", missing[i]->words);
	printf(") |");
}

/* Whether something is missing over one of the ways. */
static bool lacks(enum cause cause, bool told[][METRIC_COUNT], size_t n_ways)
{
	for (size_t i = 0; i < n_ways; i++) {
		const struct need *missing[NEED_MISSING_MAX];
		size_t n = 0;
		const enum need_sight sight = need_judge(cause, told[i], missing, &n);
		if (sight == NEED_BLIND || sight == NEED_WEAK)
			return true;
	}
	return false;
}

static void print_unknown(const struct profile *profile)
{
	static const struct {
		const char *title;
		unsigned protocols;
	} all[] = {
		{"SNMP alone", 1U << COVERAGE_SNMP},
		{"gNMI alone", 1U << COVERAGE_GNMI},
		{"both", 1U << COVERAGE_SNMP | 1U << COVERAGE_GNMI},
	};
	static bool told[rw_countof(all)][METRIC_COUNT];
	size_t n_ways = rw_countof(all);
	size_t first = 0;
	if (!profile->n_tables)
		first = 1;
	if (!profile->gnmi || !profile->n_tables)
		n_ways = first + 1;
	for (size_t i = first; i < n_ways; i++)
		told_over(profile, all[i].protocols, told[i]);
	printf("### What stays unknown\n\n| cause |");
	for (size_t i = first; i < n_ways; i++)
		printf(" %s |", all[i].title);
	printf("\n|---|");
	for (size_t i = first; i < n_ways; i++)
		printf("---|");
	printf("\n");
	for (int c = CAUSE_NONE + 1; c < CAUSE_COUNT; c++) {
		if (!lacks((enum cause)c, told + first, n_ways - first))
			continue;
		printf("| `%s` |", cause_name((enum cause)c));
		for (size_t i = first; i < n_ways; i++)
			print_sight((enum cause)c, told[i]);
		printf("\n");
	}
	printf("\nEvery other cause is seen, where the switch answers what is listed above.\n\n");
}

int main(int argc, char **argv)
{
	struct profiles *profiles;
	rw_cleanup(err_list_done) struct err_list errors = {0};
	if (argc != 2 || profiles_load(NULL, &profiles, &errors) < 0)
		return 1;
	const struct profile *profile = profiles_get(profiles, argv[1]);
	if (profile) {
		printf("\n");
		if (profile->n_tables)
			print_snmp(profile);
		if (profile->gnmi)
			print_gnmi(profile);
		print_unknown(profile);
	}
	profiles_free(profiles);
	return profile ? 0 : 1;
}

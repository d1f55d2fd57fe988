/*
 * metrics - the exposition format: OpenMetrics 1.0 and the Prometheus text format 0.0.4, which
 * differ in the names of counters and infos, in units, and in the last line.
 *
 * Sources: OpenMetrics 1.0 (prometheus.io/docs/specs/om/open_metrics_spec), "Exposition formats"
 * (prometheus.io/docs/instrumenting/exposition_formats).
 */
#include "agent/exporter/metrics.h"

#include "agent/client/client.h"
#include "agent/answers/watch/watch_frame.h"
#include "agent/exporter/metrics_page.h"
#include "db/series/history.h"

static const struct metrics_group *const groups[] = {&metrics_agent_group, &metrics_alert_group,
	&metrics_ship_group, &metrics_fabric_group, &metrics_port_group};

/* ---- families -------------------------------------------------------------- */

static const char *metrics_type_word(const struct metrics_page *page, enum metrics_type type)
{
	if (type == METRICS_COUNTER)
		return "counter";
	if (type == METRICS_INFO && page->options.openmetrics)
		return "info";
	return "gauge";
}

/* In the older format the name in the head is that of the samples. */
static void metrics_put_head(struct metrics_page *page)
{
	const struct metrics_family *family = page->family;
	const char *suffix = "";
	if (!page->options.openmetrics)
		suffix = metrics_suffix(family->type);
	fprintf(page->out, "# HELP %s%s %s\n", family->name, suffix, family->help);
	fprintf(page->out, "# TYPE %s%s %s\n", family->name, suffix,
		metrics_type_word(page, family->type));
	if (page->options.openmetrics && *family->unit)
		fprintf(page->out, "# UNIT %s %s\n", family->name, family->unit);
}

static void metrics_put_family(void *arg, const struct metrics_family *family)
{
	struct metrics_page *page = arg;
	page->family = family;
	metrics_put_head(page);
	family->emit(page);
}

static void metrics_emit_cuts(struct metrics_page *page)
{
	for (size_t i = 0; i < page->n_cuts; i++) {
		const struct metrics_label labels[] = {
			{"family", page->cuts[i].family}, {NULL, NULL}};
		metrics_put(page, labels, (double)page->cuts[i].dropped);
	}
}

static void metrics_emit_build(struct metrics_page *page)
{
	const struct metrics_label labels[] = {{"version", RW_VERSION}, {NULL, NULL}};
	metrics_put(page, labels, 1);
}

static void metrics_emit_readable(struct metrics_page *page)
{
	metrics_put(page, NULL, page->frame != NULL);
}

static const struct metrics_family first_rows[] = {
	{"rocewatch_build", METRICS_INFO, "", "version", "Version of rocewatch", "the program",
		metrics_emit_build},
	{"rocewatch_database_readable", METRICS_GAUGE, "", "",
		"1 when the database could be read; 0: every other family is missing",
		"this scrape", metrics_emit_readable},
};

/* Last, when all others were written. */
static const struct metrics_family last_row = {"rocewatch_exposition_dropped_series", METRICS_GAUGE,
	"", "family",
	"Subjects of a family that are not on this page because only the first N are shown",
	"this scrape", metrics_emit_cuts};

void metrics_each_family(metrics_family_fn *fn, void *arg)
{
	for (size_t i = 0; i < rw_countof(first_rows); i++)
		fn(arg, &first_rows[i]);
	for (size_t g = 0; g < rw_countof(groups); g++)
		for (size_t i = 0; i < groups[g]->n_rows; i++)
			fn(arg, &groups[g]->rows[i]);
	fn(arg, &last_row);
}

static int metrics_end(struct metrics_page *page)
{
	if (page->options.openmetrics)
		fputs("# EOF\n", page->out);
	if (fflush(page->out) != 0 || ferror(page->out))
		return -EIO;
	return 0;
}

/* ---- what the agent says of itself ------------------------------------------ */

static int metrics_take_health(void *arg, int n, char *const *words, char *const *names)
{
	if (n >= 2 && words[0] && words[1])
		json_object_set_new(arg, words[0], json_real(strtod(words[1], NULL)));
	return 0;
}

/* ---- the page ---------------------------------------------------------------- */

int metrics_print(
	FILE *out, struct client *client, const struct metrics_options *options, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct watch_now now;
	struct watch_answer frame;
	int rc = watch_read(client, &now, a, &frame, e);
	if (rc < 0)
		return e->code < 0 ? e->code : -EIO;
	json_t *health = json_object();
	rc = history_sql(client->history, "SELECT key, value FROM health WHERE value IS NOT NULL",
		metrics_take_health, health, e);
	struct metrics_page page = {.out = out,
		.client = client,
		.options = *options,
		.arena = a,
		.frame = &frame,
		.now = &now,
		.health = health};
	if (rc == 0)
		rc = canary_read(client, client->now_ns, &page.canary, e);
	if (!page.options.top)
		page.options.top = METRICS_TOP;
	if (rc == 0) {
		metrics_each_family(metrics_put_family, &page);
		rc = metrics_end(&page);
	}
	json_decref(health);
	return rc;
}

int metrics_print_unreadable(FILE *out, const struct metrics_options *options)
{
	struct metrics_page page = {.out = out, .options = *options};
	for (size_t i = 0; i < rw_countof(first_rows); i++)
		metrics_put_family(&page, &first_rows[i]);
	return metrics_end(&page);
}

bool metrics_wants_openmetrics(const char *accept)
{
	return accept && strstr(accept, "application/openmetrics-text") != NULL;
}

/*
 * What each profile makes of the answers of its kind of switch:
 * tests/golden/gnmi/<case>/answers.tsv (see tests/fake/gnmi_table.h) is served, samples.txt is what
 * must come out: metric, port, priority, value, and what else is said of it; then the neighbours
 * that were heard. The first lines of answers.tsv may be "#profile: NAME", "#models: a,b",
 * "#sonic" and "#stream_only" (a server without Get, ONCE and POLL), "#once_only".
 * RW_GOLDEN_WRITE=1 writes the files anew: review the diff.
 */
#include "tests/unit/collectors/gnmi/gnmi_world.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/loop.h"
#include "base/str.h"
#include "db/model/metric.h"
#include "tests/patience.h"

#define ROOT "tests/golden/gnmi"

static const char *header(const char *text, const char *key, char *buf, size_t size)
{
	rw_cleanup(str_done) struct str want = {0};
	str_addf(&want, "#%s: ", key);
	const char *at = strstr(text, want.s);
	snprintf(
		buf, size, "%.*s", at ? (int)strcspn(at + want.n, "\n") : 0, at ? at + want.n : "");
	return *buf ? buf : NULL;
}

static int by_line(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* newest_text - the newest sample of each series, a line each, in order. */
static char *newest_text(const struct world *w)
{
	struct str all = {0};
	char **lines = rw_calloc(w->samples.n + 1, sizeof(*lines));
	size_t n = 0;
	str_add(&all, "");
	for (size_t i = 0; i < w->samples.n; i++) {
		const struct sample *s = &w->samples.v[i];
		bool last = true;
		for (size_t k = i + 1; k < w->samples.n && last; k++)
			last = w->samples.v[k].entity != s->entity ||
				w->samples.v[k].metric != s->metric;
		if (!last)
			continue;
		const struct entity *e = entity_get(w->entities, s->entity);
		struct str line = {0};
		char flags[SAMPLE_FLAGS_TEXT_MAX], priority[8] = "-";
		if (e->priority != PRIO_NONE)
			snprintf(priority, sizeof(priority), "%d", e->priority);
		str_addf(&line, "%-28s %-14s %s  ", metric_info(s->metric)->name,
			*e->port ? e->port : "-", priority);
		if (metric_info(s->metric)->type == TYPE_TEXT)
			str_add(&line, entities_text_get(w->entities, s->value));
		else if (metric_info(s->metric)->type == TYPE_F64)
			str_addf(&line, "%g", sample_f64(s->value));
		else
			str_addf(&line, "%llu", (unsigned long long)s->value);
		if (s->window_ms)
			str_addf(&line, "  window %g s", s->window_ms / 1e3);
		if (s->flags)
			str_addf(&line, "  %s", sample_flags_text(flags, s->flags));
		str_add(&line, "\n");
		lines[n++] = line.s;
	}
	qsort(lines, n, sizeof(*lines), by_line);
	for (size_t i = 0; i < n; i++) {
		str_add(&all, lines[i]);
		free(lines[i]);
	}
	free(lines);
	str_add(&all, w->neighbors);
	return all.s;
}

/* gauges_stand - the values of a case stand still: no sample is made of a part of a gauge, such as
 * of one lane of a transceiver before the others came. */
static void gauges_stand(const struct world *w, const char *name)
{
	for (size_t i = 0; i < w->samples.n; i++) {
		const struct sample *s = &w->samples.v[i];
		if (metric_info(s->metric)->kind != METRIC_GAUGE)
			continue;
		for (size_t k = i + 1; k < w->samples.n; k++)
			if (w->samples.v[k].entity == s->entity &&
				w->samples.v[k].metric == s->metric &&
				w->samples.v[k].value != s->value)
				fail_msg("%s: %s of %s is told with two values", name,
					metric_info(s->metric)->name,
					entity_get(w->entities, s->entity)->port);
	}
}

static const char *wanted; /* what the case expects; NULL: it has no expectation yet */

/* Values may come again before others came at all: their number says nothing. */
static bool all_there(struct world *w)
{
	if (w->ups == 0 || w->samples.n == w->mark)
		return false;
	w->mark = w->samples.n;
	rw_cleanup(freep) char *have = newest_text(w);
	return !wanted || strcmp(have, wanted) == 0;
}

static void run_case(const char *name)
{
	char path[300], buf[80], device[100] = "", models_text[200];
	const char *models[16];
	rw_cleanup(freep) char *answers = NULL, *expected = NULL, *have = NULL;
	struct gnmi_server_options o = {.period_ns = 20000000};
	struct world w;
	size_t n;
	snprintf(path, sizeof(path), ROOT "/%s/answers.tsv", name);
	assert_int_equal(str_read_file(path, 1 << 20, &answers, &n, NULL), 0);
	snprintf(path, sizeof(path), ROOT "/%s/samples.txt", name);
	str_read_file(path, 1 << 20, &expected, &n, NULL);
	snprintf(device, sizeof(device), "profile: %s",
		header(answers, "profile", buf, sizeof(buf)) ? buf : "auto");
	o.sonic = strstr(answers, "#sonic\n") != NULL;
	o.no_once = strstr(answers, "#stream_only\n") != NULL;
	o.no_stream = strstr(answers, "#once_only\n") != NULL;
	o.no_get = o.no_poll = o.no_once || o.no_stream;
	if (header(answers, "models", models_text, sizeof(models_text))) {
		char *save = NULL;
		for (char *m = strtok_r(models_text, ",", &save);
			m && o.n_models < rw_countof(models); m = strtok_r(NULL, ",", &save))
			models[o.n_models++] = m;
		o.models = models;
	}
	world_open(&w, &o, answers);
	world_target(&w, device, "tls: { off: true }", "interval: 1s");
	wanted = expected;
	world_until(&w, all_there, (int)(patience_ns(15 * NS_PER_S) / NS_PER_S));
	w.mark = w.samples.n * 3; /* each has come some times: what is added up, was */
	world_until(&w, has_mark_samples, 3); /* what comes slowly does not come so often */
	have = newest_text(&w);
	gauges_stand(&w, name);
	if (getenv("RW_GOLDEN_WRITE")) {
		rw_cleanup(fclosep) FILE *f = fopen(path, "w");
		assert_non_null(f);
		fputs(have, f);
	} else if (!expected || strcmp(have, expected) != 0) {
		fail_msg("%s: reads\n%s\nexpected\n%s\n%s", name, have,
			expected ? expected : "(no samples.txt)", w.reasons);
	}
	world_end(&w);
}

static void test_cases(void **state)
{
	struct dirent **list;
	int n = scandir(ROOT, &list, NULL, alphasort);
	assert_true(n > 2);
	for (int i = 0; i < n; i++) {
		if (list[i]->d_name[0] != '.')
			run_case(list[i]->d_name);
		free(list[i]);
	}
	free(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

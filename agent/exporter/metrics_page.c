/* metrics_page - samples of the page: labels, numbers, states, and what was cut. */
#include "agent/exporter/metrics_page.h"

#include "agent/document/json_value.h"

/* ---- one sample ------------------------------------------------------------ */

/* A label's value on one line; backslash and quote are escaped. */
static void metrics_put_label_value(FILE *out, const char *value)
{
	rw_cleanup(freep) char *clean = text_clean_copy(value);
	for (const char *c = clean; *c; c++) {
		if (*c == '\\' || *c == '"')
			fputc('\\', out);
		fputc(*c, out);
	}
}

static void metrics_put_labels(FILE *out, const struct metrics_label *labels)
{
	const char *before = "{";
	for (const struct metrics_label *label = labels; label && label->name; label++) {
		if (!label->value)
			continue;
		fprintf(out, "%s%s=\"", before, label->name);
		metrics_put_label_value(out, label->value);
		fputc('"', out);
		before = ",";
	}
	if (*before == ',')
		fputc('}', out);
}

const char *metrics_suffix(enum metrics_type type)
{
	if (type == METRICS_COUNTER)
		return "_total";
	if (type == METRICS_INFO)
		return "_info";
	return "";
}

void metrics_put(struct metrics_page *page, const struct metrics_label *labels, double value)
{
	rw_cleanup(str_done) struct str number = {0};
	if (isnan(value))
		return;
	if (isinf(value))
		str_add(&number, value > 0 ? "+Inf" : "-Inf");
	else
		str_add_exact(&number, value);
	fprintf(page->out, "%s%s", page->family->name, metrics_suffix(page->family->type));
	metrics_put_labels(page->out, labels);
	fprintf(page->out, " %s\n", number.s);
}

void metrics_put_states(struct metrics_page *page, const struct metrics_label *labels,
	const char *key, const char *const *names, size_t n, const char *state)
{
	struct metrics_label all[METRICS_LABELS_MAX + 1] = {{NULL, NULL}};
	size_t k = 0;
	for (; labels && labels[k].name && k + 1 < METRICS_LABELS_MAX; k++)
		all[k] = labels[k];
	for (size_t i = 0; i < n; i++) {
		all[k] = (struct metrics_label){key, names[i]};
		metrics_put(page, all, str_eq(names[i], state));
	}
}

void metrics_cut(struct metrics_page *page, size_t dropped)
{
	if (!dropped)
		return;
	arena_grow(page->arena, page->cuts, page->n_cuts, page->cap_cuts);
	page->cuts[page->n_cuts++] = (struct metrics_cut){page->family->name, dropped};
}

double metrics_health(const struct metrics_page *page, const char *key)
{
	return doc_number(page->health, key);
}

bool metrics_is_stale(const struct metrics_page *page)
{
	return page->frame->status.agent.stale;
}

void metrics_put_health(struct metrics_page *page)
{
	metrics_put(page, NULL, metrics_health(page, page->family->key));
}

/* .key is "FAMILY/?/WORD": one sample for each name in its place. @well: 1 for 0, else 0. */
static void metrics_put_each_named(struct metrics_page *page, bool well)
{
	const char *pattern = page->family->key, *key;
	const size_t n = strcspn(pattern, "?");
	json_t *value;
	json_object_foreach ((json_t *)page->health, key, value) {
		if (strncmp(key, pattern, n) != 0)
			continue;
		const char *name = key + n, *end = strchr(name, '/');
		if (!end || !str_eq(end, pattern + n + 1))
			continue;
		const struct metrics_label labels[] = {
			{page->family->labels,
				arena_strndup(page->arena, name, (size_t)(end - name))},
			{NULL, NULL}};
		double number = NAN;
		if (json_is_number(value))
			number = json_number_value(value);
		if (well)
			number = number == 0;
		metrics_put(page, labels, number);
	}
}

void metrics_put_named(struct metrics_page *page)
{
	metrics_put_each_named(page, false);
}

void metrics_put_named_well(struct metrics_page *page)
{
	metrics_put_each_named(page, true);
}

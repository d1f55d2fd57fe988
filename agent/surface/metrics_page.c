/* metrics_page - samples of the page: labels, numbers, states, and what was cut. */
#include "agent/surface/metrics_page.h"

#include <math.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/text_clean.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/document/quantity.h"

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
	return json_is_true(json_object_get(json_object_get(page->doc, "agent"), "stale"));
}

void metrics_each_named(struct metrics_page *page, const char *family, const char *label,
	const char *wanted, bool negate)
{
	const char *key;
	json_t *value;
	json_object_foreach ((json_t *)page->health, key, value) {
		if (strncmp(key, family, strlen(family)) != 0)
			continue;
		const char *name = key + strlen(family), *end = strchr(name, '/');
		if (!end || !str_eq(end + 1, wanted))
			continue;
		const struct metrics_label labels[] = {
			{label, arena_strndup(page->arena, name, (size_t)(end - name))},
			{NULL, NULL}};
		double number = NAN;
		if (json_is_number(value))
			number = json_number_value(value);
		if (negate)
			number = number == 0;
		metrics_put(page, labels, number);
	}
}

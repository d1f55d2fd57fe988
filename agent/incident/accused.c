/* accused - reads the incidents of a time range for whom they accuse. */
#include "agent/incident/accused.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/incident/incident_headline.h"
#include "agent/incident/incident_json.h"
#include "agent/incident/incident_record.h"
#include "db/series/history.h"

struct accused_list {
	struct incident_record **v; /* owned */
	size_t n, cap;
	int64_t to_ns;
	const char *id;
};

static int accused_take(void *arg, int n, char *const *words, char *const *names)
{
	struct accused_list *list = arg;
	struct incident_record *record = NULL;
	if (n == 1 && words[0])
		record = incident_json_parse(words[0]);
	if (!record)
		return 0;
	const bool asked = str_eq(record->i.id, list->id);
	const bool fits = record->i.first_ns <= list->to_ns && record->i.severity > SEV_INFO;
	if (!asked && !fits) {
		incident_record_free(record);
		return 0;
	}
	rw_grow(list->v, list->n, list->cap);
	list->v[list->n++] = record;
	return 0;
}

static int accused_order(const void *left, const void *right)
{
	const struct incident_record *const *x = left, *const *y = right;
	return incident_compare(&(*x)->i, &(*y)->i);
}

static const char *accused_copy(struct arena *a, const char *text)
{
	if (!text)
		return NULL;
	return arena_strdup(a, text);
}

static struct accused accused_of(const struct incident *incident, struct arena *a)
{
	rw_cleanup(freep) char *headline = incident_headline(incident);
	struct accused one = {.cause = incident->cause,
		.host = accused_copy(a, incident->host),
		.device = accused_copy(a, incident->device),
		.port = accused_copy(a, str_or(incident->port, incident->member)),
		.priority = incident->priority,
		.confidence_ratio = incident->confidence_ratio,
		.headline = arena_strdup(a, headline)};
	memcpy(one.id, incident->id, sizeof(one.id));
	return one;
}

int accused_read(struct history *history, int64_t from_ns, int64_t to_ns, const char *id,
	struct arena *a, struct accused **ret, size_t *ret_n, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	struct accused_list list = {.to_ns = to_ns, .id = id};
	str_addf(&sql,
		"SELECT json FROM incidents WHERE opened_ns IS NOT NULL AND json IS NOT NULL AND "
		"(closed_ns IS NULL OR closed_ns>=%" PRId64 ")",
		from_ns);
	const int r = history_sql(history, sql.s, accused_take, &list, e);
	*ret = arena_array(a, struct accused, list.n + 1);
	*ret_n = 0;
	if (list.n)
		qsort(list.v, list.n, sizeof(*list.v), accused_order);
	for (int asked = 1; r == 0 && asked >= 0; asked--)
		for (size_t k = 0; k < list.n; k++)
			if (str_eq(list.v[k]->i.id, id) == asked)
				(*ret)[(*ret_n)++] = accused_of(&list.v[k]->i, a);
	for (size_t k = 0; k < list.n; k++)
		incident_record_free(list.v[k]);
	free(list.v);
	return r;
}

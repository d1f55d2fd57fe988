/* finding_list - lists of findings that grow, sort and merge. */
#include "analyzers/finding_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "config/fabric.h"
#include "db/model/entity.h"

struct finding *finding_add(struct finding_list *list, struct arena *a)
{
	if (list->n >= list->cap) {
		size_t cap = 16;
		if (list->cap)
			cap = list->cap * 2;
		struct finding *v = arena_array(a, struct finding, cap);
		if (list->n)
			memcpy(v, list->v, list->n * sizeof(*v));
		list->v = v;
		list->cap = cap;
	}
	struct finding *f = &list->v[list->n++];
	*f = (struct finding){
		.priority = PRIO_NONE,
		.hold = 1,
		.confidence_ratio = NAN,
		.coverage_ratio = NAN,
		.loss_ratio = NAN,
		.explained_ratio = NAN,
		.value = NAN,
		.warn = NAN,
	};
	return f;
}

static int finding_list_by_subject(const void *one, const void *other)
{
	const struct finding *x = one, *y = other;
	const char *const left[] = {x->device, x->port, x->host, x->group},
			  *const right[] = {y->device, y->port, y->host, y->group};
	for (size_t i = 0; i < rw_countof(left); i++) {
		const int c = name_compare(str_or(left[i], ""), str_or(right[i], ""));
		if (c)
			return c;
	}
	return x->priority - y->priority;
}

void finding_list_reserve(struct finding_list *list, struct arena *a, size_t more)
{
	if (list->cap - list->n >= more)
		return;
	struct finding *v = arena_array(a, struct finding, list->n + more);
	if (list->n)
		memcpy(v, list->v, list->n * sizeof(*v));
	list->v = v;
	list->cap = list->n + more;
}

void finding_list_sort(struct finding_list *list)
{
	for (size_t i = 1; i < list->n; i++)
		if (finding_list_by_subject(&list->v[i - 1], &list->v[i]) > 0) {
			qsort(list->v, list->n, sizeof(*list->v), finding_list_by_subject);
			return;
		}
}

/* Where @finding goes in @list at or after @from. It is near as a rule: steps that double, then
 * halves. */
static size_t finding_list_position(
	const struct finding *finding, const struct finding_list *list, size_t from)
{
	size_t lo = from, hi = from;
	for (size_t step = 1; hi < list->n && finding_list_by_subject(&list->v[hi], finding) < 0;
		step *= 2) {
		lo = hi + 1;
		hi += step;
	}
	if (!(hi < list->n))
		hi = list->n;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		if (finding_list_by_subject(&list->v[mid], finding) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The findings [@from, @end) of @list; an empty list has no memory. */
static void finding_list_append(
	struct finding_list *out, const struct finding_list *list, size_t from, size_t end)
{
	if (from == end)
		return;
	memcpy(&out->v[out->n], &list->v[from], (end - from) * sizeof(*list->v));
	out->n += end - from;
}

void finding_list_merge(const struct finding_list *few, const struct finding_list *many,
	struct arena *a, struct finding_list *out)
{
	size_t k = 0;
	const size_t n_clear = out->n_clear + few->n_clear + many->n_clear;
	if (few->n == 0 && out->n == 0) {
		*out = *many;
		out->n_clear = n_clear;
		return;
	}
	out->n_clear = n_clear;
	finding_list_reserve(out, a, few->n + many->n);
	for (size_t i = 0; i < few->n; i++) {
		const size_t end = finding_list_position(&few->v[i], many, k);
		finding_list_append(out, many, k, end);
		finding_list_append(out, few, i, i + 1);
		k = end;
	}
	finding_list_append(out, many, k, many->n);
}

/* finding_list - lists of findings, in an arena: growing them, ordering them by subject, merging
 * two ordered ones. */
#ifndef RW_ANALYZERS_FINDING_LIST_H
#define RW_ANALYZERS_FINDING_LIST_H

#include <stddef.h>

#include "db/model/finding.h"

struct arena;

/* finding_add - a new finding at the end: zeroed, priority PRIO_NONE, hold 1, numbers NAN. Valid
 * until the next one is added. */
struct finding *finding_add(struct finding_list *list, struct arena *a);
/* finding_list_reserve - room for @more findings at once: lists that double leave twice their size
 * behind in the arena. */
void finding_list_reserve(struct finding_list *list, struct arena *a, size_t more);
/* finding_list_sort - by device, port, host, group (as people sort names), then priority. */
void finding_list_sort(struct finding_list *list);
/*
 * finding_list_merge - two sorted lists into @out, behind what it holds; what they only counted is
 * added up. @few may be much the
 * shorter one: it costs as many comparisons as it has findings, times the logarithm of the gaps.
 * When
 * @few and @out are empty, @out borrows the memory of @many.
 */
void finding_list_merge(const struct finding_list *few, const struct finding_list *many,
	struct arena *a, struct finding_list *out);

#endif

/*
 * tune_lint - a sheet on each of its switches, and what `rocewatch lint` would say of it there: a
 * change that breaks headroom, the pool, or the order of marks and pause is not advised. A sheet
 * changes no link, class or priority, so it cannot close a ring of buffers, nor make two ends of a
 * link differ.
 */
#pragma once

#include "analyzers/lint/lint_settings.h"
#include "analyzers/tune/tune.h"
#include "base/base.h"

struct client;

/* tune_turn - turns the sheet to another switch: to the ports that lead to hosts, or to switches,
 * as those of the canary do. */
void tune_turn(const struct fabric *fabric, struct tune_sheet *sheet,
	const struct fabric_device *to, struct arena *a);

/* tune_lint_changes - what the sheet sets, on its first switch and on those that follow; in @a. */
size_t tune_lint_changes(const struct fabric *fabric, const struct tune_sheet *sheet,
	struct arena *a, struct lint_change **ret);

struct tune_lint {
	struct lint_settings_in in; /* without a change */
	struct lint_list before;
};
/* tune_lint_begin - the fabric of @client as it is read back at the end of its time range; in @a. 0
 * or negative errno with @e. */
int tune_lint_begin(struct client *client, struct arena *a, struct tune_lint *ret, struct err *e);

/* tune_lint_against - what the sheet would make worse, as a clause in @a; NULL: nothing. */
const char *tune_lint_against(
	const struct tune_lint *lint, const struct tune_sheet *sheet, struct arena *a);

/* case_export - a time range of history as a recorded case for replay: fabric.yaml and samples.tsv,
 * whose columns its first line names. Flows are not exported. */
#pragma once

#include "base/base.h"
#include "db/series/history.h"

enum case_dir { CASE_NEW, CASE_OVERWRITE };

/*
 * Writes @dir (made with mode 0750; -EEXIST when it is there and @how is CASE_NEW) with the samples
 * @filter lets through, and the states that were in force at its from_ns. *@ret_samples counts
 * lines. 0 or negative errno with words in @e.
 */
int case_export(struct history *history, const char *dir, enum case_dir how,
	const struct history_filter *filter, uint64_t *ret_samples, struct err *e);

/* case_write_samples - @n samples as the samples.tsv of the folder @dir. 0 or negative errno with
 * words in @e. */
int case_write_samples(const char *dir, const struct entities *entities,
	const struct sample *samples, size_t n, struct err *e);

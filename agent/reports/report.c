/*
 * report - finding a report by its name, and dropping what it found.
 */
#include "agent/reports/report.h"

#include <stddef.h>

#include "agent/base/str.h"

const struct report *report_by_name(const char *name)
{
	for (size_t i = 0; reports[i]; i++)
		if (str_eq(reports[i]->name, name))
			return reports[i];
	return NULL;
}

void report_result_done(struct report_result *result)
{
	json_decref(result->doc);
	if (result->sums)
		result->sums_free(result->sums);
	*result = (struct report_result){0};
}

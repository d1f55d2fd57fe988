/*
 * report - finding a report by its name.
 */
#include "agent/reports/report.h"

const struct report *report_by_name(const char *name)
{
	for (size_t i = 0; reports[i]; i++)
		if (str_eq(reports[i]->name, name))
			return reports[i];
	return NULL;
}

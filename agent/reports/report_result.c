/* report_result - dropping what a report found. Apart from the table of reports, in which stand
 * those that use it. */
#include "agent/reports/report.h"

void report_result_done(struct report_result *result)
{
	json_decref(result->doc);
	if (result->sums)
		result->sums_free(result->sums);
	*result = (struct report_result){0};
}

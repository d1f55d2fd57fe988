/* report_result - dropping what a report found. Apart from the table of reports, in which stand
 * those that use it. */
#include "agent/reports/report.h"

#include "base/arena.h"

void report_result_done(struct report_result *result)
{
	json_decref(result->doc);
	if (result->arena)
		arena_free(result->arena);
	*result = (struct report_result){0};
}

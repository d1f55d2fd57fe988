/* report_news - what a report's document says of its comparison (report_compare.h): which problems
 * came, went or changed. */
#ifndef RW_REPORTS_REPORT_NEWS_H
#define RW_REPORTS_REPORT_NEWS_H

#include <jansson.h>
#include <stdbool.h>

/* report_compared - the entry of @doc with this name, or NULL. Borrowed. */
const json_t *report_compared(const json_t *doc, const char *with);

/* report_is_new - is the problem @key new since the previous report? False where there is no
 * comparison. */
bool report_is_new(const json_t *doc, const char *key);

/* report_is_changed - did a problem come, go, or change its state since the previous report? True
 * where there is no comparison. */
bool report_is_changed(const json_t *doc);

#endif

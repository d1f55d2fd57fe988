/*
 * sheet_rows - threshold changes as rows of reports, from the document "tune/list": what each was
 * at the end of the time range, what happened to it in the range, and for whom it waits.
 */
#ifndef RW_REPORTS_SHEET_ROWS_H
#define RW_REPORTS_SHEET_ROWS_H

#include <jansson.h>

struct client;
struct err;

/*
 * sheet_rows - those made up to the end of the range:
 *
 *   [{id, subject, device, port_group, priority, diagnosis, advice, state, summary, change, made,
 *     expires, accepted, accepted_by, rejected, rejected_by, rejected_why, applied, applied_by,
 *     verified, verdict, rollback_why, collect: [text], blocked_by, waits_for, in_range}]
 *
 * subject is "leaf1 uplinks p3". waits_for is null where nothing is to be done. in_range: made or
 * changed in the range. 0 with a new reference, or a negative errno with @e.
 */
int sheet_rows(struct client *client, json_t **ret, struct err *e);

/* sheet_row - one sheet of "tune/list" or "tune/review" as such a row; a new reference. */
json_t *sheet_row(const struct client *client, const json_t *sheet);

#endif

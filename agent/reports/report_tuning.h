/*
 * sheet_rows - threshold changes as rows of reports, from the document "tune/list": what each was
 * at the end of the time range, what happened to it in the range, and for whom it waits.
 */
#pragma once

#include <jansson.h>

#include "agent/answers/tuning/answer.h"
#include "base/base.h"

struct client;

/* sheet_rows - those made up to the end of the range. 0, or a negative errno with @e. */
int sheet_rows(struct client *client, struct arena *a, struct sheet_list *ret, struct err *e);

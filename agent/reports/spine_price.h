/*
 * spine_price - an incident costs the same on every surface: where an incident about a group was
 * open in the report's time, its measured price takes the place of the report's own upper bound.
 *
 * The group gets "incident" and its "usd"; the document's "usd_total" is the sum of those
 * incidents, each counted once, and "usd_source" says "incidents" or "upper bound".
 */
#ifndef RW_REPORTS_SPINE_PRICE_H
#define RW_REPORTS_SPINE_PRICE_H

#include <jansson.h>

struct client;
struct err;

/* spine_price - @doc of spine_imbalance_json(). 0, or a negative errno with @e filled. */
int spine_price(struct client *client, json_t *doc, struct err *e);

#endif

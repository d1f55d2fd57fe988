/* ecmp_history - the matrix of leaves and spines at several points in time: for a page on which one
 * goes back and forth. */
#pragma once

#include <jansson.h>
#include "base/base.h"

struct client;

/*
 * ecmp_history_document - @frames points ("1" to "120", NULL: 60) over the client's time range,
 * each one window of the detector; those between are left out.
 *
 *   {from, to, window_s, warn_ratio, peers: [name], rows: [{device, group}],
 *    frames: [{time, cells: [[utilization_ratio for each peer] for each row],
 *        imbalance_ratio: [for each row], verdict: [for each row]}]}
 *
 * time is the end of the window; null is unknown, or no link. 0 with a new reference, -EINVAL, or
 * another negative errno with @e.
 */
int ecmp_history_document(
	struct client *client, const char *device, const char *frames, json_t **ret, struct err *e);

/*
 * incident_burst - the single values that switches pushed around an incident, and in which order
 * they began: of each counter of pauses, marks and losses the instant at which it began to rise,
 * after 50 ms without a change, in the stretch in which it rose by a twentieth of all; of each fill
 * level the instant at which it first had half of its greatest value. What rose all the time has
 * the first instant that is kept.
 *
 *      { incident, bursts: [{device, start, until, values, fields, whole}],
 *        onset: [{t, device, object, statistic, rise, peak}] }
 *
 * "whole" is false where parts are missing. Bytes in the database are taken as hostile.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "agent/document/writer.h"

struct client;

/* incident_burst - 0 with a new reference in *@ret. -ENODATA: none are kept of it. */
int incident_burst(struct client *client, const char *id, json_t **ret, struct err *e);

/* incident_burst_values - all of them as csv: t_ns,device,object,statistic,value. */
int incident_burst_values(struct client *client, const char *id, FILE *out, struct err *e);

extern const struct view incident_burst_view;

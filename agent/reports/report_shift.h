/*
 * report_shift - what a stretch of time holds beside measurements: who noted what, what was
 * changed, what is silenced, how much of the telemetry arrived, what the GPUs cost. For the reports
 * about a shift or a day; each function adds its part to a document of report_frame(). All return
 * 0 or a negative errno with @e.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

struct client;

/* report_put_people - "people": [{time, incident, headline, who, action, text}]: acknowledgements,
 * assignments, notes and closings in the range, oldest first. */
int report_put_people(struct client *client, json_t *doc, struct err *e);

/* report_put_changes - "changes": [{time, kind, device, port, job, who, text}]: what people noted,
 * threshold decisions, links that LLDP found changed, and the agent's own starts. */
int report_put_changes(struct client *client, json_t *doc, struct err *e);

/* report_put_silences - "silences": those that were in force in the range, as silence_json(). */
int report_put_silences(struct client *client, json_t *doc, struct err *e);

/* report_put_telemetry - "telemetry": {coverage_ratio, source, devices: [{device, coverage_ratio,
 * longest_gap_s}]}: the share of the range in which values of each device came, worst first; null
 * where nothing came. A device that is polled and said nothing is a problem. */
int report_put_telemetry(struct client *client, json_t *doc, struct err *e);

/* report_put_drops - "drops": {lossless, other, discards, rows: [{device, port, priority, frames}]}
 * and a problem for each lossless queue that lost frames; null where nothing counts them. */
int report_put_drops(struct client *client, json_t *doc, struct err *e);

/* report_put_money - "money": {usd_in_range, usd_of_range, share_ratio, gpus,
 * usd_per_gpu_hour, biggest: id}, from "incidents" of @doc: what they cost in the range, and what
 * all GPUs cost in it. null without a price. */
void report_put_money(const struct client *client, json_t *doc);

/* report_put_stale - where the range ends now and the data is old: a line of "missing", and a
 * problem that is UNKNOWN. */
int report_put_stale(struct client *client, json_t *doc, struct err *e);

/*
 * pause_report - the arrays of `report pause`, from what pause_range read. Pure.
 *
 *   {source, step_s, limits: {warn_ratio, critical_ratio}, coverage_ratio,
 *    ports: [{device, port, priority, lossless, peer, host, direction: "rx|tx", words, lo_ratio,
 *        hi_ratio, quality: "time|frames", paused_s, worst_lo_ratio, worst_hi_ratio, worst_at,
 *        frames}],                          most paused first; both directions are rows of their
 * own ports_paused, ports_known, watchdog: [{device, port, priority, host, storms, restores,
 * dropped}], watchdog_counted, ecn_order: [{device, steps_paused, steps_unmarked, marked, words}],
 *    chart: {step_s, times: [end of each step], series: [{name, values: [ratio|null]}]}}
 */
#ifndef RW_REPORTS_PAUSE_REPORT_H
#define RW_REPORTS_PAUSE_REPORT_H

#include <jansson.h>

#include "agent/reports/limits.h"
#include "agent/reports/pause_range.h"

/* pause_report_put - adds the arrays, figures, missing data and the problems of ports over
 * @limits to @doc, a frame with "incidents": a device that one of them names is no problem of its
 * own. */
void pause_report_put(
	json_t *doc, const struct pause_range *range, const struct limit_pair *limits);

/* pause_report_worst_step - the step in which some port was paused most: its number, SIZE_MAX
 * without pause. */
size_t pause_report_worst_step(const struct pause_range *range);

#endif

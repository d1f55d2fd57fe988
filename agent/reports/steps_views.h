/*
 * steps_views - `steps`: what training jobs moved, from one change of level to the next.
 *
 *   {from, to, jobs: [{job, gpus, ports, ports_seen, measured_at, block_s, coverage_ratio,
 *       octets_per_s, step_declared_s, step_s, exchange_s,
 *     duty_ratio, rhythm_confidence_ratio, sample_s, idle_s}],
 *    levels: [{job, from, to, octets_per_s, error_ratio, change_ratio, loss_ratio,
 *        stretch_ratio, step_s}]}
 *
 * change_ratio is against the level before, loss_ratio and stretch_ratio (how many times as long a
 * step takes) against the best one; step_s of a level only where the step is declared or seen. null
 * is unknown.
 */
#ifndef RW_REPORTS_STEPS_VIEWS_H
#define RW_REPORTS_STEPS_VIEWS_H

#include "agent/document/writer.h"

extern const struct view steps_view;

#endif

/* intake - the pipeline's entrance for samples and flows; the rules stand in pipeline.h. Loop
 * thread. */
#pragma once

#include "base/base.h"

struct flow_sample;
struct pipeline;
struct sample;

/* sink.samples and sink.flows; @arg is the struct pipeline. */
void intake_samples(void *arg, const struct sample *samples, size_t n);
void intake_flows(void *arg, const struct flow_sample *flows, size_t n);

/* intake_take, intake_take_flows - the same of what is timed already; it waits while a window is
 * being judged (below). */
void intake_take(struct pipeline *pipeline, const struct sample *samples, size_t n);
void intake_take_flows(struct pipeline *pipeline, const struct flow_sample *flows, size_t n);

/* intake_accept - decide about one sample. True when it is to be stored, with the flags that it has
 * then; what may be analysed is in memory by then. */
bool intake_accept(struct pipeline *pipeline, struct sample *sample);

/* intake_wait_ns - how long after their end windows wait for samples that arrive late: at most an
 * interval, less where all samples arrived sooner lately. In replay an interval. */
int64_t intake_wait_ns(const struct pipeline *pipeline);

/* intake_keep - into the batch for the store; intake_flush() hands the batch over. Neither does
 * anything while priming: those samples are stored already. */
void intake_keep(struct pipeline *pipeline, const struct sample *sample);
void intake_flush(struct pipeline *pipeline);

/*
 * waiting - what comes in while a window is being judged (windows.h): its columns are lent from
 * memory, so nothing may be added meanwhile. Loop thread.
 */

/* Copied; judging takes it in when its windows are done. False when no window is being judged. */
bool waiting_samples(struct pipeline *pipeline, const struct sample *samples, size_t n);

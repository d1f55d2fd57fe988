/*
 * waiting - what comes in while a window is being judged (judging.h): its columns are lent from
 * memory, so nothing may be added meanwhile. Loop thread.
 */
#ifndef RW_AGENT_WAITING_H
#define RW_AGENT_WAITING_H

#include <stdbool.h>
#include <stddef.h>

struct flow_sample;
struct pipeline;
struct sample;

/* Copied; judging takes it in when its windows are done. False when no window is being judged. */
bool waiting_samples(struct pipeline *pipeline, const struct sample *samples, size_t n);
bool waiting_flows(struct pipeline *pipeline, const struct flow_sample *flows, size_t n);

#endif

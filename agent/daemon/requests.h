/* requests - what a command may ask of the running agent over its socket (agent/client/control.h).
 * Loop thread. */
#ifndef RW_AGENT_REQUESTS_H
#define RW_AGENT_REQUESTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* requests_answer - the reply to @request of the user @who, as control_new() wants it; @arg is the
 * struct agent. The caller owns the reply. */
json_t *requests_answer(void *arg, const char *who, const json_t *request);
/* requests_hold, requests_ready - for control_hold(): the reply to a request that wrote something
 * waits until the store has committed it. */
uint64_t requests_hold(void *arg);
bool requests_ready(void *arg, uint64_t ticket);

#endif

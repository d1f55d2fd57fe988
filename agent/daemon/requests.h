/* requests - what a command may ask of the running agent over its socket (agent/client/control.h).
 * Loop thread. */
#pragma once

#include <jansson.h>
#include "base/base.h"

/* requests_answer - the reply to @request of the user @who, as control_new() wants it; @arg is the
 * struct agent. The caller owns the reply. */
json_t *requests_answer(void *arg, const char *who, const json_t *request);

/*
 * state_read - what switches told last of their settings, and for how long that is believed.
 */
#pragma once

#include "base/base.h"

struct client;
struct observed;

/*
 * state_age - for how long a state (link state, speed, MTU) is believed after it was told,
 * ns. A recorded case, whose devices have no address, tells a state when it begins to hold and not
 * again: there it holds until the next one.
 */
int64_t state_age(const struct client *client);

/* state_observe - thresholds, pools, speeds and cables of the client's fabric as they were read
 * back last; counters are left out. In @a. 0, or negative errno with @e. */
int state_observe(
	struct client *client, struct arena *a, const struct observed **ret, struct err *e);

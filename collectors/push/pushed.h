/*
 * push_hub - from the receivers of pushed values to the devices that push: a receiver says of which
 * device samples are, the device's target counts them and passes them on. Loop thread.
 */
#pragma once

#include "base/base.h"

#include "db/model/metric.h"

struct push_hub;

struct push_hub *push_hub_new(void);
void push_hub_free(struct push_hub *hub); /* NULL is fine; nobody is in it any more */

/* push_hub_deliver - false: no such device has joined. */
bool push_hub_deliver(
	struct push_hub *hub, const char *device, const struct sample *samples, size_t n);

/*
 * source_choice - where a device is asked over two protocols, or asked and pushing by itself, each
 * series comes from one of them: the better one, and while that is silent the other. What is pushed
 * is better than what is asked. The better one is COLLECTS_DEVICE_PREFERRED
 * (gNMI), except for metrics that the profile leaves to the other ("prefer_snmp"). A series changes
 * its source only when the better one gives it for the first time, when its target has been down
 * for three of its intervals, and when it is back: each change costs the pipeline a rate. Devices
 * with one protocol pass through untouched.
 *
 * Stands between targets and the pipeline's sink. Loop thread.
 */
#ifndef RW_AGENT_SOURCE_CHOICE_H
#define RW_AGENT_SOURCE_CHOICE_H

#include "collectors/target/collector.h"

struct source_choice;

/* @prefers_plain: does the profile of @device leave @metric to the plain protocol? Asked when the
 * preferred target has reported its profile. @to is copied. */
struct source_choice *source_choice_new(const struct sink *to,
	bool (*prefers_plain)(void *arg, const char *device, unsigned metric), void *arg);
void source_choice_free(struct source_choice *choice); /* the targets first; NULL is fine */

/* source_choice_sink - for the target of @device in this role. Lives as long as @choice. */
const struct sink *source_choice_sink(
	struct source_choice *choice, const char *device, enum collector_role role);
/* source_choice_gone - that target was taken away: the other one is alone now. */
void source_choice_gone(struct source_choice *choice, const char *device, enum collector_role role);

#endif

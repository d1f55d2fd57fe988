/*
 * sources - everything the agent collects from: each device over each of its protocols, and each
 * capture. One instance of a collector stands for one of them, from the configuration that names it
 * to the one that no longer does.
 *
 * An instance that cannot be opened is shown as down with its reason and opened again later; it
 * never stops the agent. A reload keeps the sessions of instances whose configuration is the same.
 * Loop thread.
 */
#pragma once

#include "base/base.h"

#include "collectors/target/collector.h"

struct health;
struct sources;
struct store;
struct incident;
struct source_choice;

/* What a configuration changed, in instances. */
struct source_changes {
	unsigned added, removed, changed, unchanged;
};

/* Samples of devices with two protocols pass source_select before they reach @sink. All four are
 * borrowed until sources_free(). */
struct sources *sources_new(
	struct loop *loop, struct entities *entities, struct store *store, const struct sink *sink);
/* Ends every session; NULL is fine. */
void sources_free(struct sources *sources);

/* sources_apply - from now on as @config says, which is borrowed until the next call. Adds to
 * *@changes. */
void sources_apply(
	struct sources *sources, const struct config *config, struct source_changes *changes);

/* sources_retry - open again what could not be opened and has waited long enough. */
void sources_retry(struct sources *sources, mono_t now);

/* sources_health - the rates and counters of every instance into @health. */
void sources_health(struct sources *sources, struct health *health);

/* sources_lldp_pending - is a protocol of @device still up or connecting, so that its LLDP
 * neighbors may yet come? */
bool sources_lldp_pending(const struct sources *sources, const char *device);

/* One instance, for those who list them: borrowed until the next sources_apply(). */
struct source_view {
	const char *name; /* of the device or capture */
	const struct collector *collector;
	const struct target *target;
	void *instance; /* of .collector; NULL: not open */
};
size_t sources_count(const struct sources *sources);
struct source_view sources_at(const struct sources *sources, size_t index);

/*
 * pins - when an incident opens, the receivers that keep single values for some seconds are asked
 * for those of its devices. Bounded: incidents that open within PINS_GAP_S of another one share its
 * values, and PINS_HOUR an hour are enough; the timeline of each says which. Loop thread.
 */

struct pins {
	char id[9]; /* of the incident that asked last; "" = none */
	mono_t last, hour; /* of that; when the hour began */
	unsigned n; /* in this hour */
};

/* pins_opened - @incident has just opened. */
void pins_opened(struct pins *pins, const struct incident *incident, const struct config *config,
	struct sources *sources, struct store *store);

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

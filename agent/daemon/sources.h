/*
 * sources - everything the agent collects from: each device over each of its protocols, and each
 * capture. One instance of a collector stands for one of them, from the configuration that names it
 * to the one that no longer does.
 *
 * An instance that cannot be opened is shown as down with its reason and opened again later; it
 * never stops the agent. A reload keeps the sessions of instances whose configuration is the same.
 * Loop thread.
 */
#ifndef RW_AGENT_SOURCES_H
#define RW_AGENT_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include "agent/base/clock.h"

struct collector;
struct config;
struct entities;
struct health;
struct loop;
struct sink;
struct sources;
struct store;
struct target;

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

/* sources_pin - incident @id wants the single values of @devices, or of all where there are none:
 * of those receivers that keep them (struct collector .pin). */
void sources_pin(struct sources *sources, const char *id, int64_t from_ns, int64_t to_ns,
	const char *const *devices, size_t n);

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

#endif

/* sources - opens, updates and closes the collector instances that a configuration asks for. */
#include "agent/daemon/sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/log.h"
#include "agent/base/str.h"
#include "agent/daemon/health.h"
#include "agent/daemon/source_select.h"
#include "collectors/gnmi/gnmi.h"
#include "collectors/packet/pcap.h"
#include "collectors/snmp/snmp.h"
#include "config/config.h"
#include "db/store/store.h"

#define RETRY_NS (30 * NS_PER_S) /* between two tries to open an instance */

enum source_kind { SOURCE_OF_SNMP, SOURCE_OF_GNMI, SOURCE_OF_CAPTURE };

/* One of .snmp, .gnmi and .capture is used; all NULL = could not be opened. */
struct source {
	char *name;
	enum source_kind kind;
	struct snmp_target *snmp;
	struct gnmi_target *gnmi;
	struct capture *capture;
	mono_t retry; /* while it is not open */
	struct target down; /* shown while it is not open */
	bool wanted; /* by the configuration being applied */
	struct health_source health;
};

struct sources {
	struct loop *loop;
	struct entities *entities;
	struct store *store;
	const struct sink *sink;
	const struct config *config; /* the one applied last */
	struct source_choice *choice;
	struct source **v;
	size_t n, cap;
};

static const struct config_device *source_device(const struct config *config, const char *name)
{
	for (size_t k = 0; k < config->n_devices; k++) {
		if (str_eq(config->devices[k].name, name))
			return &config->devices[k];
	}
	return NULL;
}

static const struct config_capture *source_capture(const struct config *config, const char *name)
{
	for (size_t k = 0; k < config->n_captures; k++) {
		if (str_eq(config->captures[k].name, name))
			return &config->captures[k];
	}
	return NULL;
}

static const char *source_protocol(const struct source *source)
{
	static const char *const names[] = {
		[SOURCE_OF_SNMP] = "snmp", [SOURCE_OF_GNMI] = "gnmi", [SOURCE_OF_CAPTURE] = "pcap"};
	return names[source->kind];
}

static bool source_is_open(const struct source *source)
{
	return source->snmp || source->gnmi || source->capture;
}

static const struct target *source_state(const struct source *source)
{
	if (source->snmp)
		return snmp_target_state(source->snmp);
	if (source->gnmi)
		return gnmi_target_state(source->gnmi);
	if (source->capture)
		return capture_state(source->capture);
	return &source->down;
}

static struct source *source_find(
	const struct sources *sources, const char *name, enum source_kind kind)
{
	for (size_t k = 0; k < sources->n; k++) {
		if (sources->v[k]->kind == kind && str_eq(sources->v[k]->name, name))
			return sources->v[k];
	}
	return NULL;
}

/* ---- opening and closing ------------------------------------------------- */

/* The address that a person knows the instance by. Borrowed from @config. */
static const char *source_address(const struct source *source, const struct config *config)
{
	if (source->kind == SOURCE_OF_SNMP)
		return source_device(config, source->name)->snmp->address;
	if (source->kind == SOURCE_OF_GNMI)
		return source_device(config, source->name)->gnmi->address;
	const struct config_capture *capture = source_capture(config, source->name);
	if (capture->interface)
		return capture->interface;
	return str_or(capture->listen, "");
}

static int source_new_instance(
	struct sources *sources, struct source *source, const struct sink *sink, struct err *e)
{
	const struct config *config = sources->config;
	switch (source->kind) {
	case SOURCE_OF_SNMP:
		return snmp_target_new(sources->loop, sources->entities,
			source_device(config, source->name), config, sink, &source->snmp, e);
	case SOURCE_OF_GNMI:
		return gnmi_target_new(sources->loop, sources->entities,
			source_device(config, source->name), config, sink, &source->gnmi, e);
	case SOURCE_OF_CAPTURE:
		return capture_open(sources->loop, sources->entities,
			source_capture(config, source->name), sink, &source->capture, e);
	}
	return -EINVAL;
}

/* Open, or show it as down with the reason and come back later. */
static void source_open(struct sources *sources, struct source *source)
{
	const struct sink *sink = sources->sink;
	if (source->kind != SOURCE_OF_CAPTURE)
		sink = source_choice_sink(sources->choice, source->name, source_protocol(source));
	struct err e = {0};
	const int rc = source_new_instance(sources, source, sink, &e);
	if (rc == 0) {
		complaint_over(
			&source->down.complaint, mono_now(), source->name, "can be opened again");
		return;
	}
	source->down.device = source->name;
	source->down.protocol = source_protocol(source);
	source->down.address = source_address(source, sources->config);
	struct reason reason;
	reason_from(&reason, source->down.protocol, *e.text ? e.text : strerror(-rc));
	target_change(&source->down, TARGET_BACKOFF, mono_now(), wall_now(), &reason);
	sink->target(sink->arg, &source->down);
	source->down.address = ""; /* borrowed from a configuration that may go */
	source->retry = (mono_t){mono_now().ns + RETRY_NS};
}

static void source_shut(struct source *source)
{
	snmp_target_free(source->snmp);
	gnmi_target_free(source->gnmi);
	capture_free(source->capture);
	source->snmp = NULL;
	source->gnmi = NULL;
	source->capture = NULL;
}

static void source_free(struct source *source)
{
	source_shut(source);
	free(source->name);
	free(source);
}

static struct source *source_add(struct sources *sources, const char *name, enum source_kind kind)
{
	struct source *s = rw_calloc(1, sizeof(*s));
	s->name = rw_strdup(name);
	s->kind = kind;
	rw_grow(sources->v, sources->n, sources->cap);
	sources->v[sources->n++] = s;
	return s;
}

/* Give the open instance its part of the new configuration; false when that needs a new session. */
static bool source_update(const struct sources *sources, struct source *source)
{
	const struct config *config = sources->config;
	if (source->snmp) {
		const struct config_device *device = source_device(config, source->name);
		if (!snmp_target_same(source->snmp, device, config))
			return false;
		snmp_target_update(source->snmp, device, config);
		return true;
	}
	if (source->gnmi) {
		const struct config_device *device = source_device(config, source->name);
		if (!gnmi_target_same(source->gnmi, device, config))
			return false;
		gnmi_target_update(source->gnmi, device, config);
		return true;
	}
	if (source->capture) {
		const struct config_capture *capture = source_capture(config, source->name);
		if (!capture_same(source->capture, capture))
			return false;
		capture_update(source->capture, capture);
		return true;
	}
	return false;
}

/* ---- applying a configuration: the first one and every reload ------------ */

static void source_apply(struct sources *sources, const char *name, enum source_kind kind,
	struct source_changes *changes)
{
	struct source *source = source_find(sources, name, kind);
	if (!source) {
		source = source_add(sources, name, kind);
		source->wanted = true;
		source_open(sources, source);
		changes->added++;
		return;
	}
	source->wanted = true;
	if (source_update(sources, source)) {
		changes->unchanged++;
		return;
	}
	source_shut(source);
	source_open(sources, source);
	changes->changed++;
}

static void sources_drop_unwanted(struct sources *sources, struct source_changes *changes)
{
	size_t kept = 0;
	for (size_t k = 0; k < sources->n; k++) {
		struct source *s = sources->v[k];
		if (s->wanted) {
			sources->v[kept++] = s;
			continue;
		}
		store_targets_gone(sources->store, s->name, source_protocol(s));
		if (s->kind != SOURCE_OF_CAPTURE)
			source_choice_gone(sources->choice, s->name, source_protocol(s));
		source_free(s);
		changes->removed++;
	}
	sources->n = kept;
}

void sources_apply(
	struct sources *sources, const struct config *config, struct source_changes *changes)
{
	sources->config = config;
	for (size_t k = 0; k < sources->n; k++)
		sources->v[k]->wanted = false;
	for (size_t k = 0; k < config->n_captures; k++)
		source_apply(sources, config->captures[k].name, SOURCE_OF_CAPTURE, changes);
	for (size_t k = 0; k < config->n_devices; k++) {
		const struct config_device *device = &config->devices[k];
		if (device->snmp)
			source_apply(sources, device->name, SOURCE_OF_SNMP, changes);
		if (device->gnmi)
			source_apply(sources, device->name, SOURCE_OF_GNMI, changes);
	}
	sources_drop_unwanted(sources, changes);
}

void sources_retry(struct sources *sources, mono_t now)
{
	for (size_t k = 0; k < sources->n; k++) {
		struct source *s = sources->v[k];
		if (!source_is_open(s) && now.ns >= s->retry.ns)
			source_open(sources, s);
	}
}

/* ---- what others ask ----------------------------------------------------- */

void sources_health(struct sources *sources, struct health *health)
{
	for (size_t k = 0; k < sources->n; k++) {
		struct source *s = sources->v[k];
		unsigned max_repetitions = 0;
		if (s->snmp)
			max_repetitions = snmp_target_max_repetitions(s->snmp);
		if (source_is_open(s))
			health_target(
				health, &s->health, s->name, source_state(s), max_repetitions);
		if (s->gnmi)
			health_gnmi(health, s->name, gnmi_target_counts(s->gnmi));
		if (s->capture)
			health_capture(health, s->name, capture_counts(s->capture));
	}
}

bool sources_lldp_pending(const struct sources *sources, const char *device)
{
	static const enum source_kind kinds[] = {SOURCE_OF_SNMP, SOURCE_OF_GNMI};
	for (size_t k = 0; k < rw_countof(kinds); k++) {
		const struct source *s = source_find(sources, device, kinds[k]);
		if (s && source_is_open(s) && source_state(s)->state != TARGET_BACKOFF)
			return true;
	}
	return false;
}

static bool source_prefers_snmp(void *arg, const char *device, unsigned metric)
{
	const struct source *s = source_find(arg, device, SOURCE_OF_GNMI);
	return s && s->gnmi && gnmi_target_prefers_snmp(s->gnmi, metric);
}

size_t sources_count(const struct sources *sources)
{
	return sources->n;
}

struct source_view sources_at(const struct sources *sources, size_t index)
{
	const struct source *s = sources->v[index];
	return (struct source_view){.name = s->name,
		.protocol = source_protocol(s),
		.target = source_state(s),
		.snmp = s->snmp};
}

/* ---- life ---------------------------------------------------------------- */

struct sources *sources_new(
	struct loop *loop, struct entities *entities, struct store *store, const struct sink *sink)
{
	struct sources *sources = rw_calloc(1, sizeof(*sources));
	sources->loop = loop;
	sources->entities = entities;
	sources->store = store;
	sources->sink = sink;
	sources->choice = source_choice_new(sink, source_prefers_snmp, sources);
	return sources;
}

void sources_free(struct sources *sources)
{
	if (!sources)
		return;
	for (size_t k = sources->n; k-- > 0;)
		source_free(sources->v[k]);
	free(sources->v);
	source_choice_free(sources->choice);
	free(sources);
}

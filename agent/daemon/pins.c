/* pins - whose values, of which time, and not too often. */
#include "agent/daemon/pins.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/str.h"
#include "agent/daemon/sources.h"
#include "agent/incident/incident.h"
#include "config/config.h"
#include "db/store/store.h"

struct pin_devices {
	const char *v[PINS_DEVICES];
	size_t n;
};

/* @entity: "leaf1", "leaf1:Ethernet0" or something that is no device of ours. */
static void pin_add(struct pin_devices *devices, const struct config *config, const char *entity)
{
	const size_t n = strcspn(entity, ":");
	for (size_t i = 0; i < config->n_devices && devices->n < PINS_DEVICES; i++) {
		const char *name = config->devices[i].name;
		bool there = strlen(name) != n || strncmp(name, entity, n) != 0;
		for (size_t k = 0; k < devices->n; k++)
			there |= devices->v[k] == name;
		if (!there)
			devices->v[devices->n++] = name;
	}
}

static bool pins_pushed(const struct config *config)
{
	for (size_t i = 0; i < config->n_pushes; i++)
		if (config->pushes[i].push->ipfix)
			return true;
	return false;
}

static void pins_say(struct store *store, const struct incident *incident, const char *text)
{
	store_event(store, wall_now().ns, "burst_kept", incident->id, NULL, text);
}

void pins_opened(struct pins *pins, const struct incident *incident, const struct config *config,
	struct sources *sources, struct store *store)
{
	struct pin_devices devices = {.n = 0};
	const mono_t now = mono_now();
	if (!pins_pushed(config))
		return;
	if (*pins->id && now.ns - pins->last.ns < PINS_GAP_S * NS_PER_S) {
		char text[160];
		snprintf(text, sizeof(text),
			"the single values of this time are kept with another incident: rocewatch "
			"incident burst %s",
			pins->id);
		pins_say(store, incident, text);
		return;
	}
	if (pins->n == 0 || now.ns - pins->hour.ns >= 3600 * NS_PER_S) {
		pins->hour = now;
		pins->n = 0;
	}
	if (pins->n >= PINS_HOUR) {
		pins_say(store, incident,
			"the single values of this time are not kept: enough of them were this "
			"hour");
		return;
	}
	pins->n++;
	pins->last = now;
	snprintf(pins->id, sizeof(pins->id), "%s", incident->id);
	if (incident->device)
		pin_add(&devices, config, incident->device);
	for (size_t i = 0; i < incident->n_roles; i++)
		pin_add(&devices, config, incident->roles[i].entity);
	sources_pin(sources, incident->id, incident->first_ns - PINS_BEFORE_S * NS_PER_S, INT64_MAX,
		devices.v, devices.n);
}

/* render_world - sheets to render and to walk: what the renderer is given, without agent and store.
 */
#ifndef TESTS_RENDER_WORLD_H
#define TESTS_RENDER_WORLD_H

#include <math.h>
#include <string.h>
#include "base/arena.h"
#include "agent/tuning/vendor_plan.h"

enum { WORLD_PORTS = 3 };
struct world {
	struct profiles *profiles;
	struct arena *arena;
	struct render_port ports[WORLD_PORTS];
	const char *port_names[WORLD_PORTS];
	const char *rest[2];
	struct tune_change changes[TUNE_KNOBS];
	struct tune_sheet sheet;
	struct render_ctx ctx;
};

static inline int world_init(struct world *w)
{
	struct err_list errors = {0};
	int rc = profiles_load(NULL, &w->profiles, &errors);
	for (size_t i = 0; i < errors.n; i++)
		err_print(stderr, &errors.v[i]);
	err_list_done(&errors);
	w->arena = arena_new();
	return rc;
}

static inline void world_done(struct world *w)
{
	profiles_free(w->profiles);
	arena_free(w->arena);
}

/* world_sheet - a sheet without changes for leaf-03, priority 3, three ports of 400G with cables of
 * 30 m that are configured so. */
static inline void world_sheet(struct world *w)
{
	static const char *const names[WORLD_PORTS] = {"Ethernet0", "Ethernet8", "Ethernet16"};
	w->sheet = (struct tune_sheet){.id = "abcd2345",
		.device = "leaf-03",
		.rest = w->rest,
		.n_rest = 2,
		.port_group = "uplinks",
		.ports = w->port_names,
		.n_ports = WORLD_PORTS,
		.priority = 3,
		.diagnosis = "ecn_too_late",
		.advice = ADVICE_CHANGE,
		.changes = w->changes};
	w->rest[0] = "leaf-04";
	w->rest[1] = "leaf-05";
	for (size_t i = 0; i < WORLD_PORTS; i++) {
		w->ports[i] = (struct render_port){.name = names[i],
			.speed_bps = 400000000000,
			.cable_m = 30,
			.cable_now_m = 30};
		w->port_names[i] = names[i];
	}
	w->ctx = (struct render_ctx){.profiles = w->profiles,
		.ports = w->ports,
		.n_ports = WORLD_PORTS,
		.queue = -1,
		.cell_bytes = NAN,
		.queue_limit_bytes = NAN,
		.arena = w->arena};
	for (unsigned k = 0; k < TUNE_KNOBS; k++)
		w->ctx.in_force[k] = NAN;
}

static inline void world_change(struct world *w, enum tune_knob k, double current, double proposed)
{
	w->changes[w->sheet.n_changes++] = (struct tune_change){.knob = k,
		.current = current,
		.proposed = proposed,
		.programmed = NAN,
		.why = "why",
		.source = "read back"};
}

#endif

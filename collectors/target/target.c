/* target - the part of a target's life that does not depend on the protocol: start, pause between
 * tries, report, and whether a new configuration changes anything. */
#include "collectors/target/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/locked.h"
#include "agent/base/loop.h"
#include "agent/base/map.h"
#include "agent/base/str.h"

#define BACKOFF_INTERVALS 3
#define START_SPREAD_MAX_NS NS_PER_S
#define RANDOM_STEPS 1024

/* ---- new and free -------------------------------------------------------- */

static bool profile_named(const char *wanted)
{
	return wanted && !str_eq(wanted, "auto");
}

/* target_profile_check - a profile that is named must exist and serve the protocol; "auto" is
 * chosen when the device was identified. */
static int target_profile_check(const struct target_machine *machine, struct err *e)
{
	const char *wanted = machine->device->profile;
	if (!profile_named(wanted))
		return 0;
	const struct profile *p = profiles_get(machine->set->profiles, wanted);
	if (!p)
		return reason_err(e, -EINVAL, NO_PROFILE, machine->name, wanted);
	if (!machine->hooks->profile_serves(p))
		return reason_err(e, -EINVAL, PROFILE_LACKS, machine->name, wanted,
			machine->hooks->profile_rows);
	return 0;
}

void target_limit(struct target_machine *machine, int64_t limit_ns)
{
	machine->away_ns = loop_away_ns(machine->loop);
	loop_timer_start(machine->deadline, limit_ns, 0);
}

static void target_on_deadline(void *arg)
{
	struct target_machine *machine = arg;
	const int64_t away_ns = loop_away_ns(machine->loop) - machine->away_ns;
	if (away_ns > 0)
		target_limit(machine, away_ns);
	else
		machine->hooks->deadline(machine->owner);
}

int target_init(struct target_machine *machine, const struct target_hooks *hooks, void *owner,
	const struct target_setup *setup, struct err *e)
{
	const bool ipv6 = strchr(setup->host, ':') != NULL;
	char address[300];
	snprintf(address, sizeof(address), ipv6 ? "[%s]:%u" : "%s:%u", setup->host, setup->port);
	*machine = (struct target_machine){.loop = setup->loop,
		.entities = setup->entities,
		.sink = *setup->sink,
		.device = setup->device,
		.config = setup->config,
		.name = rw_strdup(setup->device->name),
		.address = rw_strdup(address),
		.hooks = hooks,
		.owner = owner};
	machine->state.device = machine->name;
	machine->state.protocol = hooks->protocol;
	machine->state.address = machine->address;
	machine->random =
		hash_bytes(machine->name, strlen(machine->name), (uint64_t)wall_now().ns) |
		1; /* xorshift never leaves 0 */
	machine->timer = loop_timer_new(setup->loop, hooks->due, owner);
	machine->deadline = loop_timer_new(setup->loop, target_on_deadline, machine);
	machine->set = profile_set_get(setup->config, e);
	if (!machine->set)
		return -EINVAL;
	return target_profile_check(machine, e);
}

void target_done(struct target_machine *machine)
{
	loop_timer_free(machine->timer);
	loop_timer_free(machine->deadline);
	profile_set_put(machine->set);
	free(machine->address);
	free(machine->name);
}

/* ---- time ---------------------------------------------------------------- */

void target_start_spread(struct target_machine *machine, int64_t interval_ns)
{
	int64_t spread = START_SPREAD_MAX_NS;
	if (interval_ns < spread)
		spread = interval_ns;
	int64_t step = (int64_t)(machine->random % RANDOM_STEPS);
	loop_timer_start(machine->timer, step * spread / RANDOM_STEPS, 0);
}

int64_t target_jittered(struct target_machine *machine, int64_t ns)
{
	/* xorshift64: fast, and nobody gains by predicting it */
	machine->random ^= machine->random << 13;
	machine->random ^= machine->random >> 7;
	machine->random ^= machine->random << 17;
	int64_t step = (int64_t)(machine->random % RANDOM_STEPS);
	return ns - ns / 10 + step * (ns / 5) / RANDOM_STEPS;
}

int64_t target_backoff_ns(const struct target_hooks *hooks, unsigned failures, int64_t interval_ns)
{
	unsigned intervals = BACKOFF_INTERVALS;
	if (failures < intervals)
		intervals = failures;
	int64_t ns = interval_ns * (int64_t)intervals;
	if (hooks->backoff_max_ns && ns > hooks->backoff_max_ns)
		return hooks->backoff_max_ns;
	if (ns < hooks->backoff_min_ns)
		return hooks->backoff_min_ns;
	return ns;
}

/* ---- failure and report -------------------------------------------------- */

void target_lost_for(struct target_machine *machine, const struct reason *reason)
{
	loop_timer_stop(machine->deadline);
	machine->hooks->session_end(machine->owner);
	machine->failures++;
	int64_t pause =
		target_backoff_ns(machine->hooks, machine->failures, target_interval_ns(machine));
	loop_timer_start(machine->timer, target_jittered(machine, pause), 0);
	target_change(&machine->state, TARGET_BACKOFF, loop_now(machine->loop), wall_now(), reason);
	target_report(machine);
}

void target_lost_text(struct target_machine *machine, const char *text)
{
	struct reason reason;
	reason_from(&reason, machine->hooks->protocol, text);
	target_lost_for(machine, &reason);
}

int64_t target_interval_ns(const struct target_machine *machine)
{
	return machine->hooks->interval_ns(machine);
}

void target_report(struct target_machine *machine)
{
	machine->sink.target(machine->sink.arg, &machine->state);
}

/* ---- a new configuration ------------------------------------------------- */

bool target_same(const struct target_machine *machine, const struct config_device *device,
	const struct config *config)
{
	if (!str_eq(machine->device->name, device->name) ||
		!str_eq(machine->device->profile, device->profile))
		return false;
	if (!profile_set_same(machine->set, machine->config, config))
		return false;
	return target_cell_bytes(machine->device, machine->config) ==
		target_cell_bytes(device, config);
}

void target_update(struct target_machine *machine, const struct config_device *device,
	const struct config *config)
{
	machine->device = device;
	machine->config = config;
	/* The profiles are equal, as target_same() found. The set must not be found by the old
	 * configuration's address, which may be used again. */
	machine->set->config = config;
}

void target_secret_wipe(char **text)
{
	locked_freep(text);
}

bool target_secret_same(const struct config_secret *left, const struct config_secret *right)
{
	return left->from == right->from && str_eq(left->name, right->name);
}

uint64_t target_cell_bytes(const struct config_device *device, const struct config *config)
{
	const struct fabric *f = config->fabric;
	if (!f)
		return 0;
	/* a cell is a property of the ASIC: the port and priority of the row do not matter */
	for (size_t i = 0; i < f->n_thresholds; i++)
		if (f->thresholds[i].cell_bytes && str_glob(f->thresholds[i].devices, device->name))
			return f->thresholds[i].cell_bytes;
	return 0;
}

/* lint_fabrics - fabrics drawn for the tests of analyzers/lint: two tiers, three tiers, rails, with
 * parallel links and missing ones. Memory is the arena's. */
#ifndef RW_TESTS_LINT_FABRICS_H
#define RW_TESTS_LINT_FABRICS_H

#include <stdio.h>

#include "base/arena.h"
#include "config/fabric.h"

struct drawn {
	struct arena *arena;
	struct fabric *fabric;
	uint32_t seed;
};

static inline uint32_t draw(struct drawn *d, uint32_t below)
{
	d->seed = d->seed * 1664525 + 1013904223; /* Numerical Recipes, 2nd ed., section 7.1 */
	return (uint32_t)(((uint64_t)(d->seed >> 8) * below) >> 24);
}

static inline struct fabric_device *drawn_switch(
	struct drawn *d, enum device_role role, const char *kind, unsigned number)
{
	struct fabric *f = d->fabric;
	struct fabric_device *device = arena_new_of(d->arena, struct fabric_device);
	device->name = arena_printf(d->arena, "%s%u", kind, number);
	device->role = role;
	device->index = (uint32_t)f->n_devices;
	arena_grow_pow2(d->arena, f->devices, f->n_devices);
	f->devices[f->n_devices++] = device;
	return device;
}

static inline struct fabric_port *drawn_port(struct drawn *d, struct fabric_device *device)
{
	struct fabric_port *port = fabric_port_add(
		device, d->arena, arena_printf(d->arena, "Ethernet%zu", 4 * device->n_ports));
	port->speed_bps = 400000000000;
	return port;
}

static inline void drawn_link(
	struct drawn *d, struct fabric_device *lower, struct fabric_device *upper)
{
	struct fabric_port *one = drawn_port(d, lower), *two = drawn_port(d, upper);
	one->peer = two;
	two->peer = one;
}

static inline void drawn_host(struct drawn *d, struct fabric_device *leaf)
{
	drawn_port(d, leaf)->host = arena_printf(d->arena, "node-%s", leaf->name);
}

static inline struct drawn drawn_begin(uint32_t seed)
{
	struct drawn d = {.arena = arena_new(), .seed = seed};
	d.fabric = arena_new_of(d.arena, struct fabric);
	d.fabric->name = "drawn";
	return d;
}

/* Each leaf to each spine by @parallel links; of @missing of them one end is nowhere. */
static inline void drawn_two_tiers(
	struct drawn *d, unsigned leaves, unsigned spines, unsigned parallel, unsigned missing)
{
	struct fabric_device *up[128], *down[1024];
	const unsigned all = leaves * spines * parallel;
	for (unsigned i = 0; i < leaves; i++)
		down[i] = drawn_switch(d, ROLE_LEAF, "leaf", i);
	for (unsigned i = 0; i < spines; i++)
		up[i] = drawn_switch(d, ROLE_SPINE, "spine", i);
	unsigned gone[8];
	for (unsigned m = 0; m < missing; m++)
		gone[m] = draw(d, all);
	for (unsigned n = 0; n < all; n++) {
		bool is_gone = false;
		for (unsigned m = 0; m < missing; m++)
			is_gone |= gone[m] == n;
		if (!is_gone)
			drawn_link(d, down[n / parallel / spines], up[n / parallel % spines]);
	}
	for (unsigned i = 0; i < leaves; i++)
		drawn_host(d, down[i]);
}

/* Pods of leaves and spines; spine s of each pod to the cores of plane s. */
static inline void drawn_three_tiers(
	struct drawn *d, unsigned pods, unsigned leaves, unsigned spines, unsigned cores)
{
	struct fabric_device *up[64], *down[64], *core[256];
	for (unsigned i = 0; i < spines * cores; i++)
		core[i] = drawn_switch(d, ROLE_SUPERSPINE, "core", i);
	for (unsigned p = 0; p < pods; p++) {
		for (unsigned i = 0; i < leaves; i++)
			down[i] = drawn_switch(d, ROLE_LEAF, "leaf", p * leaves + i);
		for (unsigned i = 0; i < spines; i++)
			up[i] = drawn_switch(d, ROLE_SPINE, "spine", p * spines + i);
		for (unsigned i = 0; i < leaves; i++)
			for (unsigned k = 0; k < spines; k++)
				drawn_link(d, down[i], up[k]);
		for (unsigned k = 0; k < spines; k++)
			for (unsigned c = 0; c < cores; c++)
				drawn_link(d, up[k], core[k * cores + c]);
		for (unsigned i = 0; i < leaves; i++)
			drawn_host(d, down[i]);
	}
}

#endif

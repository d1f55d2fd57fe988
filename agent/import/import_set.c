/* import_set - the devices and ports that files are read into. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/import/import_internal.h"

struct import_set *import_new(const struct profiles *profiles)
{
	struct import_set *set = rw_calloc(1, sizeof(*set));
	set->arena = arena_new();
	set->profiles = profiles;
	return set;
}

void import_free(struct import_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->n_devices; i++)
		free(set->devices[i]->ports);
	free(set->devices);
	free(set->files);
	arena_free(set->arena);
	free(set);
}

struct import_device *import_device(struct import_set *set, const char *name)
{
	for (size_t i = 0; i < set->n_devices; i++)
		if (strcmp(set->devices[i]->name, name) == 0)
			return set->devices[i];
	struct import_device *device = arena_new_of(set->arena, struct import_device);
	*device = (struct import_device){
		.name = arena_strdup(set->arena, name), .type = "", .address = "", .sku = ""};
	rw_grow(set->devices, set->n_devices, set->cap_devices);
	set->devices[set->n_devices++] = device;
	return device;
}

struct import_port *import_port(
	struct import_set *set, struct import_device *device, const char *name, bool make)
{
	for (size_t i = 0; i < device->n_ports; i++)
		if (strcmp(device->ports[i].name, name) == 0)
			return &device->ports[i];
	if (!make || device->n_ports == IMPORT_PORTS_MAX)
		return NULL;
	rw_grow(device->ports, device->n_ports, device->cap_ports);
	struct import_port *port = &device->ports[device->n_ports++];
	*port = (struct import_port){.name = arena_strdup(set->arena, name), .alias = ""};
	for (size_t i = 0; i < IMPORT_PRIORITIES; i++)
		port->rows[i] = (struct import_row){.pmax = NAN, .alpha = NAN};
	return port;
}

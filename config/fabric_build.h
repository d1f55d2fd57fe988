/* fabric_build - how the fabric graph is made: used while a configuration is built, and by tests.
 * All memory is the arena's. */
#ifndef RW_CONFIG_FABRIC_BUILD_H
#define RW_CONFIG_FABRIC_BUILD_H

#include "config/fabric.h"

struct arena;

/* fabric_port_add - finds the port of that name, or adds it. */
struct fabric_port *fabric_port_add(
	struct fabric_device *device, struct arena *a, const char *name);
void fabric_group_add(
	struct fabric_device *device, struct arena *a, const struct fabric_group *group);
/* fabric_job_split - fills .names and .globs of @job from its .hosts. */
void fabric_job_split(struct fabric_job *job, struct arena *a);
/* fabric_sort - devices and ports in natural order; before groups are derived. */
void fabric_sort(struct fabric *fabric);
/* fabric_derive_groups - ECMP groups of the finished graph beside the given ones. */
void fabric_derive_groups(struct fabric *fabric, struct arena *a);

#endif

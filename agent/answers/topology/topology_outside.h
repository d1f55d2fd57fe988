/*
 * topo_outside - switches, and things that may be one, to which links lead and which are not in
 * the configuration. Pure.
 */
#ifndef RW_REPORTS_TOPOLOGY_OUTSIDE_H
#define RW_REPORTS_TOPOLOGY_OUTSIDE_H

#include "config/fabric.h"

struct arena;
struct topo_outside;

/* topo_outside - what lies beyond the configuration, by name, in @a. A role is told by who
 * hears it: two leaves or more and nobody else make a spine. */
struct topo_outside *topology_outside(const struct fabric *fabric, struct arena *a, size_t *ret_n);

/* topology_outside_text - what @port leads to, "switch:NAME[:PORT]", in @buf. */
#define TOPOLOGY_OUTSIDE_MAX 640
const char *topology_outside_text(char buf[TOPOLOGY_OUTSIDE_MAX], const struct fabric_port *port);

#endif

/*
 * topology_outside - switches, and things that may be one, to which links lead and which are not in
 * the configuration. Pure.
 */
#ifndef RW_REPORTS_TOPOLOGY_OUTSIDE_H
#define RW_REPORTS_TOPOLOGY_OUTSIDE_H

#include <jansson.h>

#include "config/fabric.h"

/*
 * topology_outside_json - [{name, kind: switch|unknown, role: spine|leaf|unknown, links, devices:
 * [names]}], by name. The role is what most fabrics have there: heard by two leaves or more and by
 * no spine, it is a spine; heard by two spines or more and by no leaf, and the fabric has no
 * superspine, it is a leaf. Anything else is unknown.
 */
json_t *topology_outside_json(const struct fabric *fabric);

/* topology_outside_text - what @port leads to, "switch:NAME[:PORT]", in @buf. */
#define TOPOLOGY_OUTSIDE_MAX 640
const char *topology_outside_text(char buf[TOPOLOGY_OUTSIDE_MAX], const struct fabric_port *port);

#endif

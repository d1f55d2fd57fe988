/*
 * live_gnmi - what a simulated switch answers by gNMI: the paths of its vendor, filled with what
 * the switch knows. Pure: no clock, no I/O. Paths and shapes of values are those of the project's
 * profiles (config/profiles). SONiC answers whole tables as JSON whose values are all
 * strings, counters keyed by the vendor's alias; the others one typed value a leaf.
 *
 * Thresholds are those of the switch as it is now, in the tables they are configured in: a profile
 * per set of equal values, and who refers to it.
 */
#ifndef FABRIC_LIVE_GNMI_H
#define FABRIC_LIVE_GNMI_H

#include <stdint.h>

#include "tests/fake/gnmi_server.h"

struct live_switch;
struct live_port;

struct live_gnmi_face {
	const char *profile; /* for the agent's configuration; NULL: found by the models */
	uint16_t port; /* where its servers listen */
	bool sonic; /* the server's habits */
	bool no_get, stream_only;
	const char *const *models;
	size_t n_models;
	/* offered; the values are of the first one, whichever is asked for */
	const unsigned *encodings;
	size_t n_encodings;
	/* The values below @path. How many, or -ENOENT: it has no such path. */
	int (*values)(const struct live_switch *s, const char *target, const char *path,
		gnmi_server_emit_fn *emit, void *ctx);
};
extern const struct live_gnmi_face live_gnmi_sonic, live_gnmi_cumulus, live_gnmi_openconfig;

/* ---- for the faces ------------------------------------------------------- */

/* Which of the distinct sets of WRED thresholds a queue has, or of buffer settings a group: from 0,
 * or -1: none. The same number, the same values. */
int live_wred_of(const struct live_switch *s, size_t port, unsigned queue);
int live_buffer_of(const struct live_switch *s, size_t port, unsigned group);

#endif

/*
 * recorder - what record.c, conditions.c, faces.c and truth.c share while a case is written: the
 * scenario, the fabric with and without its fault, and what the agents of the switches last
 * fetched. Nothing else includes it.
 */
#ifndef FABRIC_RECORDER_H
#define FABRIC_RECORDER_H

#include <stdio.h>

#include "tests/fabric/coarse.h"
#include "tests/fabric/faults.h"
#include "tests/fabric/record.h"

struct recorder {
	const struct scenario *s;
	const struct record_options *o;
	struct coarse *c;
	/* before the thresholds were changed in the middle of a recording; NULL: they were not */
	struct coarse *earlier;
	struct sim *shape[2]; /* without and with the fault; never run */
	FILE *out; /* the case's samples; NULL when @tell takes them */
	void (*tell)(void *data, const char *device, const char *port, int priority,
		const char *metric, const char *value);
	void *tell_data;
	double wall_ns; /* UTC at time 0 of the model */
	const char *live_face; /* ... and what the switches answer as */
	struct face_state *f;
	uint64_t random;
	uint64_t lines;
};

/* A port as seen from its switch. @shape is the fabric as it is at this time; names are those of
 * the product's metrics. */
struct view {
	const struct recorder *r;
	struct sim *shape;
	const struct sim_node *node;
	const struct sim_port *port;
	unsigned plane;
	bool on; /* the fault is, in this plane */
};
struct view view_of(
	const struct recorder *r, unsigned plane, size_t device, unsigned port, bool on);
bool view_towards_host(const struct view *v);

/* What packets carry, and every switch knows when nothing is wrong: 26 for priority 3, 34 for 4;
 * ACKs and CNPs 48. */
#define DSCP_LOSSLESS(priority) (8 * (priority) + 2)
#define DSCP_CONTROL 48

/* ---- names --------------------------------------------------------------- */
void device_name(
	const struct scenario *s, const struct sim_node *n, unsigned plane, char *buf, size_t size);
void host_name(const struct scenario *s, unsigned host, char *buf, size_t size);
/* of the shape without fault: leaves, then spines */
const struct sim_node *recorder_switch(const struct recorder *r, size_t i);

/* ---- conditions: what is true of a switch or port at an instant, beyond what packets do ---- */
/* the device does not answer */
bool is_silent(const struct recorder *r, const struct view *v);
bool device_restarts(const struct recorder *r, const struct view *v, bool was_on, bool on);
double port_mtu(const struct view *v);
/* carrier transitions since the start */
double port_flaps(const struct view *v, double t_ns);
struct optics {
	double rx_dbm, tx_dbm, temperature_c, ber;
};
struct optics port_optics(const struct view *v, double t_ns); /* without noise */
/* by the FEC in that time */
double codewords_corrected(const struct view *v, double ber, double ns);
/* its link at the leaf, or the leaf's port to its host; NULL: it has none */
const struct sim_port *fault_port(struct sim *shape, const struct fault *f);

/* ---- faces --------------------------------------------------------------- */
void faces_begin(struct recorder *r);
void faces_sample(struct recorder *r, double t_ns);
/* One switch answers, with all its settings; every switch where something has changed since the
 * last time. Time may stand still. */
void faces_sample_switch(struct recorder *r, double t_ns, unsigned plane, size_t device);
void faces_changed(struct recorder *r); /* settings: every switch tells all of them the next time */
void faces_end(struct recorder *r);
unsigned face_lossless(const struct recorder *r); /* mask of priorities that have PFC by intent */

/* ---- the configuration from the links on; the devices before it are the caller's ---- */
void fabric_write_links(const struct recorder *r, FILE *f);

/* ---- truth.json ---------------------------------------------------------- */
void truth_write(const struct recorder *r, FILE *f);

#endif

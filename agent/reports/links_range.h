/*
 * links_range - what the counters and states of each port said over a time range: errors, FEC,
 * light, flaps, time down, speed and MTU. From whatever the store keeps. States are told seldom:
 * what was told last before the range holds in it, as long as a state is believed. One thread.
 */
#ifndef RW_REPORTS_LINKS_RANGE_H
#define RW_REPORTS_LINKS_RANGE_H

#include <stdbool.h>

#include "agent/reports/range_read.h"
#include "config/fabric.h"

/* NAN: not known. */
struct link_port {
	const char *device, *port;
	const struct fabric_port *fabric_port; /* NULL: the configuration does not name it */
	bool linked; /* the configuration or LLDP says what is at the other end */
	double in_errors, out_errors, fcs_errors, symbol_errors; /* frames, symbols */
	double fec_corrected, fec_uncorrectable; /* codewords */
	double errors_per_s; /* frames received damaged or not sent, mean of the range */
	double worst_per_s; /* ... of the worst step */
	double flaps;
	double up; /* at the end: 1 up, 0 down */
	double up_ratio; /* share of the samples in which it was up */
	double speed_bps, mtu_bytes; /* at the end */
	double ber; /* highest before FEC */
	double rx_power_dbm, rx_power_least_dbm, tx_power_dbm; /* newest; lowest; newest */
	double temperature_c; /* highest */
};

/* A speed or an MTU that was read to be another one than before. */
struct link_change {
	const char *device, *port;
	uint16_t metric; /* M_PORT_SPEED_BPS, M_PORT_MTU_BYTES */
	double before, now;
	int64_t at_ns; /* when the new value was read at the latest */
};

struct links_range {
	struct range_plan plan;
	struct range_read read;
	struct link_port *v; /* in order of the fabric's names */
	size_t n, cap;
	struct link_change *changes; /* in order of time */
	size_t n_changes, cap_changes;
	double *errors, *flaps; /* [step], of all ports; NAN not counted */
};

/* links_range_read - of the client's time range; @device is a glob, NULL for all. 0, also where
 * there is no data, or a negative errno with @e. links_range_done() @ret in either case. */
int links_range_read(
	struct client *client, const char *device, struct links_range *ret, struct err *e);
void links_range_done(struct links_range *range); /* also for rw_cleanup() */

#endif

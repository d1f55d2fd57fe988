/*
 * links/answer - how the links were over a time range: what the counters and states of each port
 * said (errors, FEC, light, flaps, time down, speed and MTU), what is wrong with it, and what
 * changed. From whatever the store keeps. States are told seldom: what was told last before the
 * range holds in it, as long as a state is believed. One thread.
 *
 * A column: its member here; its row in rows.c, its value in answer.c.
 */
#pragma once

#include "agent/answers/common/chart.h"
#include "agent/answers/common/range_read.h"
#include "agent/answers/topology/topology_views.h"
#include "agent/document/shape.h"
#include "config/fabric.h"
#include "base/base.h"

struct config;
struct limit_pair;

enum link_state { LINK_UNKNOWN, LINK_DOWN, LINK_UP, LINK_STATES };

/* NAN: not known. */
struct link_port {
	const char *device, *port;
	const char *peer; /* "spine1:Ethernet1", a host, or NULL */
	enum link_state state; /* at the end of the range */
	double up_ratio; /* share of the samples in which it was up */
	double flaps;
	double speed_bps, class_bps, mtu_bytes; /* at the end; class: as declared */
	double in_errors, out_errors; /* frames */
	double errors_per_s; /* frames received damaged or not sent, mean of the range */
	double worst_errors_per_s; /* ... of the worst step */
	double fcs_errors, symbol_errors; /* frames, symbols */
	double fec_corrected, fec_uncorrectable; /* codewords */
	double pre_fec_ber; /* highest before FEC */
	double rx_power_dbm, rx_power_least_dbm, tx_power_dbm; /* newest; lowest; newest */
	double temperature_c; /* highest */
	const char **words; /* each fault */
	size_t n_words;
	const struct fabric_port *fabric_port; /* NULL: the configuration does not name it */
	bool linked; /* the configuration or LLDP says what is at the other end */
};

/* A speed or an MTU that was read to be another one than before, or what a person noted. */
struct link_change {
	wall_t time; /* when the new value was read at the latest */
	const char *device, *port, *text, *by;
};

struct link_limits {
	double errors_per_s;
};

struct links_known {
	uint64_t all, linked, state, errors, flaps, fec, optics, speed; /* ports */
};

struct links_answer {
	json_t *incidents;
	struct topology_finding *audit;
	size_t n_audit;
	struct topology_checked checked;
	const char *source;
	double step_s, coverage_ratio;
	struct link_limits limits;
	struct link_port *ports; /* those of which there is something to say, worst first */
	size_t n_ports;
	struct links_known ports_known;
	struct link_change *changes;
	size_t n_changes;
	/* when no ring of buffers was possible last; TIME_UNKNOWN: not judged */
	wall_t rings_clean;
	bool ring_open; /* one is possible at the end of the range */
	struct chart chart;
};
extern const char *const links_state_words[LINK_STATES];
extern const struct shape link_port_shape, link_change_shape, links_known_shape, links_answer_shape;
extern const struct shape_table links_ports_table;

struct links_read {
	struct range_plan plan;
	struct range_read read;
	struct arena *arena; /* borrowed; the texts of the answer */
	struct link_port *ports; /* in order of the fabric's names */
	size_t n_ports, cap_ports;
	struct link_change *changes; /* in order of time */
	size_t n_changes;
	double *errors, *flaps; /* [step], of all ports; NAN not counted */
};

/* links_read - of the client's time range; @device is a glob, NULL for all. 0, also where there is
 * no data, or a negative errno with @e. links_read_done() @ret in either case. */
int links_read(struct client *client, const char *device, struct arena *a, struct links_read *ret,
	struct err *e);
void links_read_done(struct links_read *read); /* also for rw_cleanup() */

/* links_answer_make - judges the ports: fills @ret but for its incidents and audit, and adds
 * figures, missing data and the problems of ports to the frame @doc. @ret->incidents is there: a
 * port is as bad as they are. */
void links_answer_make(struct links_answer *ret, json_t *doc, const struct links_read *read,
	const struct config *config, const struct limit_pair *limits);
/* links_answer_change - adds a change to the list. */
void links_answer_change(
	struct links_answer *answer, struct arena *a, const struct link_change *change);

/* links_page - the answer below the frame of @doc; the caller owns it. */
struct page *links_page(const json_t *doc, const void *answer);

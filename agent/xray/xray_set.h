/*
 * xray_set - what `rocewatch xray` reads: samples of switches (which flow left by which member),
 * flows to be foretold, and which member leads to which switch. From csv and from captures. Texts
 * and arrays are in the arena of the set.
 */
#pragma once

#include "base/base.h"

#include "analyzers/xray/xray_plan.h"

struct fabric;
struct history;

enum {
	XRAY_SAMPLES_MAX = 4000000,
	XRAY_FILE_MAX = 512 << 20,
	XRAY_ROCE_PORT = 4791,
	XRAY_UDP = 17
};

/* An ECMP group of a switch, and the samples of one family. */
struct xray_unit {
	const char *device, *group; /* group: "" where there is one only */
	uint8_t family;
	struct xray_sample *samples; /* .member is an index of .names */
	size_t n, cap;
	const char **names;
	size_t n_names, cap_names;
	bool timed; /* the samples have times */
	struct xray_learned learned;
	uint32_t *next; /* by index of a learned member; of struct xray_node */
};

struct xray_next { /* a row of the links */
	const char *device, *group, *member, *next, *next_group;
	int line;
};
struct xray_wanted { /* a flow that is asked about */
	const char *device, *group; /* NULL: not said */
	struct xray_planned planned;
	int line;
};

struct xray_set {
	struct arena *arena;
	const char *devices, *members; /* globs of what is taken; NULL: all */
	struct xray_unit *units;
	size_t n_units, cap_units, n_samples, n_left_out;
	struct smap *unit_by_name, *member_by_name;
	struct xray_next *links;
	size_t n_links, cap_links;
	struct xray_wanted *flows;
	size_t n_flows, cap_flows;
	const char *flows_file, *links_file;
};

struct xray_set *xray_set_new(void);
void xray_set_freep(struct xray_set **set); /* for rw_cleanup() */

/* xray_set_add - one sample; the texts are copied. 0; -E2BIG with @e beyond XRAY_SAMPLES_MAX. */
int xray_set_add(struct xray_set *set, const char *device, const char *group, const char *member,
	const struct xray_flow *flow, int64_t t_ns, struct err *e);

/*
 * xray_csv_samples, xray_csv_flows, xray_csv_links - the rows of a csv file: a line of column
 * names, then a row a line; lines with # and empty ones are skipped. @name stands in mistakes. 0 or
 * -EINVAL with @e, which names the line.
 */
int xray_csv_samples(
	struct xray_set *set, const char *text, size_t n, const char *name, struct err *e);
int xray_csv_flows(
	struct xray_set *set, const char *text, size_t n, const char *name, struct err *e);
int xray_csv_links(
	struct xray_set *set, const char *text, size_t n, const char *name, struct err *e);

/* xray_is_capture - do these bytes begin a capture file (pcap, pcapng)? */
bool xray_is_capture(const char *bytes, size_t n);
/*
 * xray_capture - RoCEv2 packets of a capture and the member each left by: what sFlow datagrams say
 * (agent, output ifIndex), what a mirror says (ERSPAN: source, port or session), or the interface
 * that captured it. @device and @member (may be NULL): of all packets that do not say it. 0, or
 * negative errno with @e.
 */
int xray_capture(struct xray_set *set, const char *path, const char *device, const char *member,
	struct err *e);

/*
 * xray_history - the flows that the agent kept (sFlow, mirrors of one direction), each with the
 * member of the widest ECMP group of @fabric that its port is of; what was received at the other
 * end of a link counts as sent by it. The group is named as in the fabric. 0, or negative errno
 * with @e.
 */
int xray_history(struct xray_set *set, struct history *history, const struct fabric *fabric,
	int64_t from_ns, int64_t to_ns, struct err *e);

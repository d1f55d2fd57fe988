/*
 * congestion_measure - what one window shows of the pressure in a lossless priority: whom we pause,
 * what is marked, which settings are in force. Numbers only; detect/congestion.c judges them. Pure;
 * in the arena of the window's findings.
 *
 * A level is the share of time, 0..1, for which we pause the neighbour of a port. Where only frames
 * are counted it is their upper bound without its ceiling of 1, so that two ports can still be
 * compared; it is never a duration.
 */
#pragma once

#include "base/base.h"

#include "analyzers/measure/input.h"
#include "analyzers/measure/observe.h"
#include "analyzers/measure/pause/pause_graph.h"
#include "db/model/flow.h"
#include "db/series/series.h"

/* Of a queue, a switch or the fabric: marked and all packets are summed; ratios are never averaged.
 */
struct marks {
	double marked, packets;
	bool known; /* marks and at least 1,000 packets were counted in the window */
	bool alive; /* the counter has ever moved */
	/* bytes left the port, yet all queues' counters of the switch stand: its agent has not
	 * refreshed them */
	bool stale;
	unsigned on, off; /* queues whose settings say that marking is enabled, disabled */
};
static inline double marks_ratio(const struct marks *marks)
{
	if (marks->known)
		return marks->marked / marks->packets;
	return NAN;
}

struct device_load {
	struct marks marks;
	/* ports whose neighbour we pause above the floor; those among them that are hosts */
	unsigned inputs, hosts;
	double level; /* of the strongest of them */
	double pressure; /* sum of the levels, each at most 1 */
	const struct port_prio *loudest;
	/* of the loudest: mean length of a pause, ns, and pauses a second; NAN unknown */
	double episode_ns, episodes_per_s;
};

/* so many of the most paused hosts are measured in detail; when more are alike, none stands out */
enum { HOSTS_NAMED = 8 };

struct paused_host {
	const char *host;
	/* the first of its rails that is about as paused as the most paused one: so it stays the
	 * same from window to window */
	const struct port_prio *prio;
	double level; /* of the strongest rail */
	double sum; /* of its rails that are paused above the floor */
	bool measured;
	unsigned rails_paused; /* of its ports, at a third of the level at least */
	/* the first HOSTS_NAMED only */
	unsigned rails; /* ports that face it */
	/* strongest level among the other inputs of that leaf, without hosts that stand out as it
	 * does */
	double at_leaf;
	bool explained; /* it is paused because of a host that pauses the fabric */
};

/* Hosts compared with one another (congestion_measure.h). */
struct lead {
	size_t n; /* the first n of hosts[] lead: 0, 1 or 2 */
	double times; /* the weaker of them against the strongest host behind; INFINITY: no other */
	/* queues to hosts, whose marks are counted: how many, and the median share and load of them
	 */
	size_t receivers;
	double marks_median, marks_most, load_median; /* 0 unknown */
	/* ... those that carry as much as the median and mark far more */
	const struct port_prio **squeezed;
	size_t n_squeezed;
	bool proven; /* detect/congestion_hosts.c: one of the first n does not slow down */
};

/* A bound from frames exceeds the true pause time by this at least (10 to 50 in simulation). */
#define LEVEL_BOUND_FACTOR 10

struct congestion {
	const struct analyzer_in *in;
	const struct observed *o;
	const struct pause_graph *graph;
	int priority;
	/* a measured level above it counts; a bound from frames counts above ten times it */
	double floor;
	struct device_load *devices; /* [fabric_device.index] */
	struct marks all;
	struct paused_host *hosts; /* paused above the floor; strongest first */
	size_t n_hosts;
	/* host-facing ports of hosts not singled out: their median and scaled MAD */
	double *others, median, spread;
	/* the first of hosts[] are this many, all within a third of the strongest */
	size_t n_others, n_singled;
	double others_max;
	size_t n_known; /* host-facing ports whose pause is known */
	bool measured; /* every host-facing level is measured */
	double host_capacity_bps; /* what most host-facing ports run at; 0 = not known */
	double host_root_share; /* of all pressure, that hosts cause (pause_graph) */
	/* a loaded host-facing port runs below its peers: whoever sends there is paused for it */
	bool slow_host;
	struct lead lead;
};

/* @floor: share of time. */
void congestion_measure(
	const struct analyzer_in *in, int priority, double floor, struct congestion *ret);

struct marks prio_marks(const struct port_prio *prio, double lossless_mtu);
void marks_add(struct marks *sum, const struct marks *marks);
/* NAN unknown */
double pause_level(const struct pause_share *share, const struct amount *frames, double speed_bps);
double tx_level(const struct port_prio *prio); /* we pause the neighbour */
double rx_level(const struct port_prio *prio); /* the neighbour pauses us */
bool level_counts(const struct congestion *congestion, double level, bool measured);
bool port_slower(const struct congestion *congestion, const struct port_seen *port);

/* The widest ECMP group a port is a member of, NULL; and what its live members say together. */
struct group_load {
	const struct fabric_group *group;
	/* marked: 1 % at least of what it sent; slower: below the speed that was declared */
	unsigned members, live, marked, slower;
	double mean, max; /* utilisation; NAN unknown */
	/* max/mean - 1, of the group or of the port's own bundle, whichever is less even; NAN
	 * unknown */
	double imbalance;
	/* capacity of the hosts of its leaf over that of its live members; NAN unknown */
	double oversubscription;
};
bool group_measure(
	const struct congestion *congestion, const struct port_seen *port, struct group_load *ret);

/* ---- congestion_lead ------------------------------------------------------- */

/*
 * congestion_lead - does one host lead all others in pause, and which receivers' queues are marked
 * far more than those of their peers? Numbers only; detect/congestion_hosts.c judges them. Pure.
 *
 * Both come from comparing hosts in one window, since hosts of one job do the same at the same
 * time. A queue that carries no more than its peers and marks many times as much receives from a
 * sender that does not slow down: more load, a slower port, or a crowded path would show elsewhere.
 */

/* congestion_lead - fills congestion->lead. @many: share of a queue's packets, from which it counts
 * as congested. Call it after congestion_measure(). */
void congestion_lead(struct congestion *congestion, double many);

/* Does a queue other than those of @host carry far more marks than its peers? */
bool lead_squeezes(const struct congestion *congestion, const char *host);

/* Bytes that @host sends, against the median host-facing port; NAN unknown. */
double lead_load(const struct congestion *congestion, const struct paused_host *host);

/* ---- packets_host ---------------------------------------------------------- */

/*
 * packets_host - which address is the host behind a captured port, and what the packets say of its
 * part in congestion control. Pure.
 */

/* packets_first_row - the first flow row of @entity in the window, or where it would be: rows of an
 * entity follow one another. */
size_t packets_first_row(const struct window *window, uint32_t entity);

/*
 * packets_host_address - the address of the one host behind the port @entity: the source of most
 * that enters the port, or the destination of most that leaves it. Where a capture cannot tell
 * directions apart, it is the address that takes part in nearly everything; with a single peer that
 * is true of both, and nothing is known. 16 bytes, lent by the window; NULL not known.
 */
const uint8_t *packets_host_address(const struct window *window, uint32_t entity);

struct host_part {
	bool known; /* a capture of the port has rows of this host */
	struct reaction_sum reaction; /* as sender */
	struct answer_sum answer; /* as receiver */
	double ce_sent; /* its data that carried CE where it was captured */
	double peak_bps; /* highest rate of one queue pair of the capture, whoever sent it */
	uint32_t sampling; /* the coarsest of the captures */
};

/* host_part - the sums over all captures of @entity in the window. @address: 16 bytes. */
void host_part(const struct window *window, uint32_t entity, const uint8_t *address,
	struct host_part *ret);

/* ---- congestion_packets ---------------------------------------------------- */

/*
 * congestion_packets - the part of a host in DCQCN, from captures at its port: does it send ECT, do
 * CNPs reach it, does it send CNPs, does it slow down after them? From the rows of totals per
 * direction, and from the rows of the host itself, which also a capture has that cannot tell its
 * directions apart. Counts are as sampled. Pure.
 */

struct host_packets {
	bool from_known, to_known; /* the port was captured in that direction */
	/* sent by the host; ect: ECT or already CE */
	double from_packets, from_octets, from_ect, from_cnp;
	double to_packets, to_ce, to_cnp; /* delivered to it */
	double from_v1, to_v1; /* frames of RoCE version 1 */
	/* of captures that cannot tell directions apart */
	double other_packets, other_v1;
	/* data that the host sent, no ACK and no CNP: packets, and those with ECT or CE; 0: not
	 * known */
	double data, data_ect;
	/* to the host, in flows of captures that cannot tell directions apart */
	double to_host;
	const uint8_t *address; /* of the host, 16 bytes; NULL not known. Lent by the window */
	struct host_part part; /* .known false without the address */
	bool sampled; /* some of it was */
};

/* false: nothing was captured there. */
bool host_packets(
	const struct window *window, const struct port_seen *port, struct host_packets *ret);

/* The host sends data without ECT: 1, 0; -1 when there are too few packets to say. */
int packets_lack_ect(const struct host_packets *packets);
/*
 * CE was delivered to the host and no CNP came back: 1, 0; -1 when there are too few packets to
 * say. A receiver answers the first CE of a flow at once and then at most once in some 50 us (Zhu
 * et al., SIGCOMM 2015, section 3). So a hundred CE without a CNP prove it where every packet is
 * captured; a sample must hold as many CE as belong to ten CNPs at 400 Gbit/s with 4 KB packets.
 */
int packets_lack_cnp(const struct host_packets *packets);
/* CNPs reach the host: 1; 0 when there is none among enough packets; -1 too few packets. */
int packets_cnp_reaches(const struct host_packets *packets);
/*
 * Does the host slow down after CNPs (flow.h)? @line_bps: of its link, 0 not known. 1 it does,
 * 0 it does not, -1 not known. @judged may be NULL.
 */
int packets_slow_down(
	const struct host_packets *packets, double line_bps, struct reaction_judged *judged);

/* congestion_signs - reads the signs of a suspect, and finds the signature that fits. */
#include "analyzers/detect/congestion_signs.h"

#include "base/stats.h"
#include "analyzers/measure/rhythm.h"
#include "analyzers/measure/formulas.h"
#include "config/class_policy.h"

#define Z_OUTLIER                                                                                  \
	3.5 /* modified z-score: Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993 */
#define SINGLED_MAX 2 /* more hosts than that are a crowd: an incast, not a fault of theirs */
#define OTHERS_MIN 2 /* host-facing ports to compare with */
#define RAILS_APART 4 /* planes that agree */
#define SKEW 0.2 /* max/mean - 1, as in ecmp_imbalance */
#define NARROW_RATIO 1.05 /* capacity of hosts over that of uplinks; 1 is wanted */
#define LINE 0.85 /* utilisation of a window that is line rate, whatever the rhythm */
#define TIMES_PEERS 2.0 /* load, against the median of its peers, that singles a receiver out */
#define BUSIER 1.3 /* times the load of the hosts' ports */
#define MARKED 0.01 /* of what an uplink sent: it is congested */
#define EPISODES_MIN 100.0 /* pauses a second */
/* ... where only frames are counted: more than pressure at a threshold in order causes */
#define EPISODES_MANY 1000.0
#define EPISODE_TIMES 3.0 /* against the other switches: how much shorter, and more often */
enum { EPISODE_PEERS = 2 };
/* XOFF and XON must lie at least two frames apart; frames are a little shorter than the declared
 * MTU */
#define HYSTERESIS_MTUS 1.5
#define CABLE_USUAL_M 30.0 /* of a link whose length nobody declares, in a hall of racks */

/*
 * The first row that fits decides. Settings that are off or out of order come before their
 * consequences; a host that is singled out before the queues it fills; a leaf with narrow uplinks
 * before its uplinks.
 *
 * Threshold tuning has its own table for the same causes (analyzers/tune/tune_rules.c): it sees
 * hours instead of one window, and settings instead of rates, so signs and confidence differ.
 * Meaning and next steps of a cause are one row for both: db/model/cause.def.
 *
 * Source of the signatures: packet simulation of slow receiver, incast, hosts without DCQCN and bad
 * cables; DCQCN (Zhu et al., SIGCOMM 2015, section 4).
 */
static const struct signature signatures[] = {
	/* ECN absent or too late, on a switch (row 3) */
	{SUSPECT_SWITCH, CAUSE_ECN_OFF, POLICY | PAUSES | SET_OFF, 0, MARKING, 0.9, false,
		"settings: marking is disabled on queues of this priority"},
	{SUSPECT_SWITCH, CAUSE_ECN_OFF, POLICY | SET_OFF, 0, MARKING | PAUSES, 0.8, true,
		"settings: marking is disabled; no pause yet"},
	{SUSPECT_SWITCH, CAUSE_ECN_LATE, POLICY | PAUSES | FEW_MARKS | LATE, 0, FROM_HOST, 0.85,
		false,
		"settings put Kmin above half of the depth at which PFC fires, and next to nothing "
		"is marked"},
	{SUSPECT_SWITCH, CAUSE_ECN_LATE, POLICY | PAUSES | LATE, 0, MARKING | FROM_HOST, 0.6, false,
		"settings put Kmin above half of the depth at which PFC fires; marks are not "
		"observable"},
	/* no setting is read from here on: marking may be off as well */
	{SUSPECT_SWITCH, CAUSE_ECN_LATE, POLICY | PAUSES | HOSTS_PAUSED | FEW_MARKS | OTHERS_MARK,
		MARKS_ALIVE, FROM_HOST | LATE | HOST_PROVEN, 0.7, false,
		"its mark counters never moved, those of other switches do"},
	{SUSPECT_SWITCH, CAUSE_ECN_LATE, POLICY | PAUSES | HOSTS_PAUSED | FEW_MARKS | OTHERS_MARK,
		0, FROM_HOST | LATE | SINGLED | HOST_PROVEN, 0.6, false,
		"its marks stand still while it pauses, those of other switches do not"},
	{SUSPECT_SWITCH, CAUSE_ECN_LATE, POLICY | PAUSES | HOSTS_PAUSED | FEW_MARKS | MARKS_ALIVE,
		0, FROM_HOST | SINGLED | SLOWER | HOST_PROVEN, 0.55, false,
		"pause without marks where marks have been counted before or are enabled"},
	{SUSPECT_SWITCH, CAUSE_ECN_LATE, POLICY | PAUSES | HOSTS_PAUSED | FEW_MARKS,
		MARKS_ALIVE | OTHERS_MARK, FROM_HOST | SINGLED | SLOWER | HOST_PROVEN, 0.4, false,
		"pause, and no mark counter has ever moved: too late, off, or not counted on this "
		"platform"},
	/* ECN too early (row 5) */
	{SUSPECT_SWITCH, CAUSE_ECN_EARLY, POLICY | MANY_MARKS | WIDESPREAD | EARLY, PAUSES,
		FROM_HOST, 0.7, false,
		"settings put Kmin below one bandwidth-delay product, most busy queues mark, "
		"nobody is paused"},
	{SUSPECT_SWITCH, CAUSE_ECN_EARLY, POLICY | MANY_MARKS | WIDESPREAD | SHALLOW, PAUSES,
		FROM_HOST, 0.5, false,
		"most busy queues mark although none ever held one bandwidth-delay product"},
	/* XON too close (row 11) */
	{SUSPECT_SWITCH, CAUSE_XON_CLOSE, PAUSES | SHORT_PAUSES | XON_SET, 0, FROM_HOST, 0.75,
		false,
		"settings put XON less than two frames below XOFF, and pauses are many and short"},
	{SUSPECT_SWITCH, CAUSE_XON_CLOSE, PAUSES | SHORT_PAUSES, 0, FROM_HOST, 0.55, false,
		"pauses end before their effect is back: transitions and pause time"},

	/* a NIC that takes no part in DCQCN, seen in packets */
	{SUSPECT_NIC, CAUSE_ECT_MISSING, POLICY | NO_ECT, 0, 0, 0.85, false,
		"its data packets are not ECT: no switch can mark them"},
	{SUSPECT_NIC, CAUSE_NP_OFF, POLICY | NO_CNP, 0, 0, 0.8, false,
		"CE is delivered to it and it sends no CNP: all its senders stay fast"},
	{SUSPECT_NIC, CAUSE_DCQCN_OFF, POLICY | KEEPS_RATE, 0, 0, 0.95, false,
		"captured packets: its rate stays as it is after CNPs, where a sender with DCQCN "
		"would be far slower"},

	/* One host that does not slow down (row 7). It needs proof: a host that reacts may be
	 * paused more than others too, by luck, by a tight threshold or by its path. */
	{SUSPECT_HOST, CAUSE_DCQCN_OFF, POLICY | LEADS | AHEAD | MARKING | SQUEEZES | CNP_REACHES,
		0, FROM_HOST | SLOWS_DOWN, 0.95, false,
		"one host leads in pause, receivers' queues mark far more than their peers at the "
		"same load, and captures show that CNPs reach the host"},
	{SUSPECT_HOST, CAUSE_DCQCN_OFF, POLICY | LEADS | AHEAD | MARKING | SQUEEZES | ALL_RAILS, 0,
		FROM_HOST | SLOWS_DOWN, 0.93, false,
		"one host leads in pause on all its rails, and receivers' queues mark far more "
		"than "
		"their peers at the same load"},
	{SUSPECT_HOST, CAUSE_DCQCN_OFF, POLICY | LEADS | AHEAD | MARKING | SQUEEZES, 0,
		FROM_HOST | SLOWS_DOWN | SLOWER | SKEWED, 0.88, false,
		"one host leads in pause, and receivers' queues mark far more than their peers at "
		"the same load"},
	{SUSPECT_HOST, CAUSE_DCQCN_OFF, POLICY | LEADS | AHEAD | MARKING | STRONG | ALL_RAILS, 0,
		FROM_HOST | SLOWS_DOWN | HEAVY | LATE, 0.85, false,
		"one host is paused on all its rails, many times as long as any other at the same "
		"load, and marking works"},
	{SUSPECT_HOST, CAUSE_DCQCN_OFF, POLICY | LEADS | AHEAD | MARKING | STRONG | CNP_REACHES, 0,
		FROM_HOST | SLOWS_DOWN | HEAVY, 0.85, false,
		"one host is paused many times as long as any other at the same load, and captures "
		"show that CNPs reach it"},
	{SUSPECT_HOST, CAUSE_DCQCN_OFF, POLICY | LEADS | AHEAD | MARKING | STRONG | RECEIVER_MARKS,
		0, FROM_HOST | SLOWS_DOWN | SLOWER | SKEWED | HEAVY | LATE, 0.7, false,
		"one host is paused many times as long as any other at the same load, and packets "
		"towards receivers are marked"},
	{SUSPECT_HOST, CAUSE_DCQCN_OFF,
		POLICY | LEADS | AHEAD | MARKING | STRONG | FAR | RECEIVER_MARKS, 0,
		FROM_HOST | SLOWS_DOWN | SLOWER | HEAVY | LATE | CROWDED, 0.65, false,
		"one host is paused many times as long as any other at the same load, also as long "
		"as "
		"those that share its uplink, and packets towards receivers are marked"},

	/* ... that leads, without the proof; nothing else explains it. That it leads is sure, why
	 * it does is open. */
	{SUSPECT_LEADER, CAUSE_UNKNOWN, POLICY | LEADS | AHEAD | ALL_RAILS, 0,
		FROM_HOST | FEW_MARKS | SLOWS_DOWN, 0.7, false,
		"one host leads in pause on all its rails"},
	{SUSPECT_LEADER, CAUSE_UNKNOWN, POLICY | LEADS | AHEAD, 0,
		FROM_HOST | SLOWER | SKEWED | FEW_MARKS | BRIEF | SLOWS_DOWN, 0.6, false,
		"one host leads in pause"},

	/* the uplinks of a leaf */
	{SUSPECT_GROUP, CAUSE_OVERSUBSCRIPTION, NARROW | HOT | GROUP_MARKED | HOSTS_PAUSED, 0,
		SKEWED | SLOWER | HELD | FROM_HOST, 0.8, false,
		"hosts can send more than the uplinks carry; these mark, and hosts are paused"},
	{SUSPECT_GROUP, CAUSE_OVERSUBSCRIPTION, NARROW | HOT | GROUP_MARKED | MANY_MARKS, 0,
		SKEWED | SLOWER | HELD | FROM_HOST, 0.7, false,
		"hosts can send more than the uplinks carry; these mark a large share of what they "
		"send"},
	{SUSPECT_GROUP, CAUSE_OVERSUBSCRIPTION, NARROW | HOT | HOSTS_PAUSED | BUSY, 0,
		SKEWED | SLOWER | HELD | FROM_HOST | MARKING | FEW_MARKS | SINGLED, 0.5, false,
		"hosts can send more than the uplinks carry, most of the leaf's hosts are paused, "
		"and the spines do not pause the uplinks; marks are not observable"},
	{SUSPECT_GROUP, CAUSE_OVERSUBSCRIPTION, NARROW | HOT | FULL, 0,
		SKEWED | SLOWER | HELD | FROM_HOST | FEW_MARKS, 0.5, false,
		"hosts can send more than the uplinks carry, and all of these run at line rate "
		"over the window"},

	/* one egress queue (row 4; root QUEUE of the pause graph) */
	{SUSPECT_QUEUE, CAUSE_INCAST, TO_HOST | SEVERAL_INPUTS | MANY_MARKS | BUSY, 0,
		FROM_HOST | SLOWER, 0.8, false,
		"several inputs are paused for one receiver's queue, which is busier than its "
		"peers and marks"},
	{SUSPECT_QUEUE, CAUSE_INCAST, TO_HOST | SEVERAL_INPUTS | MANY_MARKS, 0, FROM_HOST | SLOWER,
		0.65, false,
		"several inputs are paused for one receiver's queue, and it marks a large share"},
	{SUSPECT_QUEUE, CAUSE_INCAST, TO_HOST | SEVERAL_INPUTS | BUSY, 0,
		FROM_HOST | SLOWER | FEW_MARKS | SINGLED, 0.5, false,
		"several inputs are paused for one receiver's queue, which is busier than its "
		"peers; marks are not observable"},
	{SUSPECT_QUEUE, CAUSE_INCAST, TO_HOST | MANY_MARKS | BUSY | PAUSES, 0,
		FROM_HOST | SLOWER | SINGLED, 0.6, false,
		"one receiver's queue is busier than its peers and marks, and an input is paused "
		"for it"},
	{SUSPECT_QUEUE, CAUSE_INCAST, TO_HOST | MANY_MARKS | BUSY, PAUSES, FROM_HOST | SLOWER, 0.6,
		true,
		"one receiver's queue is busier than its peers and marks; nobody is paused for it"},
	{SUSPECT_QUEUE, CAUSE_UPLINK_OVERLOAD, SEVERAL_INPUTS | MANY_MARKS, TO_HOST | SKEWED,
		FROM_HOST | SLOWER | NARROW, 0.55, false,
		"inputs are paused for one uplink, which marks, in an even group"},
	{SUSPECT_QUEUE, CAUSE_UPLINK_OVERLOAD, SEVERAL_INPUTS | FULL, TO_HOST | SKEWED,
		FROM_HOST | SLOWER | NARROW | FEW_MARKS, 0.5, false,
		"inputs are paused for one uplink at line rate, in an even group"},
	{SUSPECT_QUEUE, CAUSE_UPLINK_OVERLOAD, FULL | MANY_MARKS, TO_HOST | SKEWED,
		FROM_HOST | SLOWER | NARROW, 0.5, false,
		"one uplink in an even group runs at line rate over the window and marks"},
};

const struct signature *signature_match(enum suspect_kind kind, const struct signs *signs)
{
	for (size_t i = 0; i < rw_countof(signatures); i++) {
		const struct signature *r = &signatures[i];
		if (r->kind == kind && (signs->yes & r->yes) == r->yes &&
			(signs->known & ~signs->yes & r->no) == r->no && !(signs->yes & r->not_yes))
			return r;
	}
	return NULL;
}

/* ---- signs several kinds share ------------------------------------------- */

void congestion_signs_marks(
	struct signs *signs, const struct marks *marks, const struct congestion_options *options)
{
	const double ratio = marks_ratio(marks);
	if (marks->known) {
		sign_set(signs, MARKING, marks->marked > 0);
		sign_set(signs, MANY_MARKS, ratio >= options->marks);
		sign_set(signs, FEW_MARKS, ratio < options->marks_few);
	}
	if (marks->known || marks->alive || marks->on || marks->off)
		sign_set(signs, MARKS_ALIVE, marks->alive || marks->on > marks->off);
}

/* One or two hosts are paused far more than all others: settings of switches do not choose among
 * hosts. */
static bool is_one_host(
	const struct congestion *congestion, const struct congestion_options *options)
{
	if (!congestion->n_hosts || congestion->n_singled > SINGLED_MAX ||
		congestion->n_others < OTHERS_MIN)
		return false;
	const double level = congestion->hosts[congestion->n_singled - 1].level;
	return level >= options->singled_out * congestion->median &&
		level - congestion->median > Z_OUTLIER * congestion->spread;
}

void congestion_signs_common(struct signs *signs, const struct congestion *congestion,
	const struct congestion_options *options)
{
	if (congestion->n_known)
		sign_set(signs, SINGLED, is_one_host(congestion, options));
	/* from this share on the pause graph accepts a root */
	sign_set(signs, FROM_HOST, congestion->host_root_share >= 0.4);
	sign_set(signs, SLOWER, congestion->slow_host);
	sign_set(signs, POLICY, class_marks(congestion->o->fabric, congestion->priority));
}

/* ---- a switch ------------------------------------------------------------ */

/* Ports that may feed one queue at once: those whose priority groups held bytes, or all where that
 * is unknown. */
static unsigned congestion_signs_inputs_of(
	const struct congestion *congestion, const struct device_seen *device)
{
	unsigned known = 0, held = 0;
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct port_prio *l = observed_prio(&device->ports[i], congestion->priority);
		known += l && !isnan(l->pg_peak);
		held += l && l->pg_peak > 0;
	}
	unsigned n;
	if (known)
		n = held;
	else
		n = (unsigned)device->n_ports;
	if (n > 1)
		return n;
	return 1;
}

/* Order of Kmin and PFC by settings: that of the queue whose Kmin is lowest, since one that marks
 * in time is enough. */
static enum ecn_order order_of(
	const struct congestion *congestion, const struct device_seen *device, struct suspect *ret)
{
	struct ecn_order_in in = {.pool_bytes = device->pool_bytes,
		.alpha = NAN,
		.xoff_level_bytes = NAN,
		.kmin_bytes = NAN,
		.inputs = congestion_signs_inputs_of(congestion, device)};
	double deepest = NAN;
	bool pauses = false;
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct port_prio *l = observed_prio(&device->ports[i], congestion->priority);
		if (!l)
			continue;
		deepest = fmax(deepest, l->queue_peak);
		pauses |= l->tx_pause.lo > 0;
		in.alpha = fmax(in.alpha, l->alpha);
		in.xoff_level_bytes = fmax(in.xoff_level_bytes, l->xoff_level);
		in.kmin_bytes = fmin(in.kmin_bytes, l->kmin);
	}
	ret->kmin_bytes = in.kmin_bytes;
	const enum ecn_order order = ecn_order(&in, &ret->q_pfc_bytes);
	if (pauses && deepest > 0 && deepest < ret->q_pfc_bytes) {
		ret->q_pfc_bytes = deepest;
		ret->q_pfc_seen = true;
	}
	return order;
}

struct busy_queues { /* of a switch, that sent something */
	unsigned busy, marked, deep_known, deep, early_known, early;
	double bdp;
};

static void congestion_signs_of_queues(const struct congestion *congestion,
	const struct congestion_options *options, const struct device_seen *device,
	struct busy_queues *queues)
{
	queues->bdp = NAN;
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct port_prio *l = observed_prio(&device->ports[i], congestion->priority);
		if (!l)
			continue;
		const struct marks m =
			prio_marks(l, (double)congestion->o->fabric->lossless_mtu_bytes);
		double bdp = NAN;
		if (device->ports[i].out.capacity_bps)
			bdp = bdp_bytes(device->ports[i].out.capacity_bps, (double)options->rtt_ns);
		if (!m.known)
			continue;
		queues->busy++;
		if (marks_ratio(&m) < options->marks)
			continue;
		queues->marked++;
		queues->bdp = fmax(queues->bdp, bdp);
		queues->deep_known += !isnan(l->queue_peak) && !isnan(bdp);
		queues->deep += l->queue_peak > bdp;
		queues->early_known += !isnan(l->kmin) && !isnan(bdp);
		queues->early += l->kmin < bdp;
	}
}

/* How long XOFF and XON take to act over a link: cable there and back, the peer's response, a frame
 * each. */
static double link_round_ns(
	const struct congestion *congestion, const struct port_seen *port, double unknown_m)
{
	const double cable_m =
		port->port->cable_mm ? (double)port->port->cable_mm / 1e3 : unknown_m;
	const double bytes_ns = (double)port->out.capacity_bps / 8e9,
		     mtu = fabric_frame_bytes(congestion->o->fabric);
	return 2 * cable_m / CABLE_SPEED_M_S * 1e9 +
		(double)pause_response_bytes(port->out.capacity_bps) / bytes_ns +
		2 * mtu / bytes_ns;
}

/* Does the switch pause as its peers do, but in many pieces: several times as often, each a
 * fraction of theirs? */
static bool pauses_in_pieces(const struct congestion *congestion, const struct device_load *own)
{
	const size_t most = congestion->o->n_devices + 1;
	double *lengths = arena_array(congestion->in->arena, double, most);
	double *rates = arena_array(congestion->in->arena, double, most);
	size_t n = 0;
	for (size_t i = 0; i < congestion->o->n_devices; i++) {
		const struct device_load *load = &congestion->devices[i];
		if (load == own || !load->inputs || !(load->episode_ns > 0))
			continue;
		lengths[n] = load->episode_ns;
		rates[n] = load->episodes_per_s;
		n++;
	}
	if (n < EPISODE_PEERS)
		return false;
	return stats_median(lengths, n) > EPISODE_TIMES * own->episode_ns &&
		own->episodes_per_s > EPISODE_TIMES * stats_median(rates, n);
}

/* Bytes between XOFF and XON by settings; NAN unknown. */
static double xon_apart(const struct port_prio *prio)
{
	if (!isnan(prio->xon_offset))
		return prio->xon_offset;
	return prio->xoff_level - prio->xon_level;
}

/*
 * Do pauses end before their effect is back? Settings that leave enough room between XOFF and XON
 * rule it out, too little room confirms it. Unknown settings require a clear case: half of a round
 * over the link, or pauses far shorter than those of the other switches.
 */
static void episodes_of(const struct congestion *congestion, struct suspect *suspect)
{
	const struct port_prio *l = suspect->prio;
	const struct device_load *load = &congestion->devices[suspect->device->device->index];
	suspect->episode_ns = load->episode_ns;
	suspect->episodes_per_s = load->episodes_per_s;
	suspect->episode_limit_ns = NAN;
	if (!l || !l->port->out.capacity_bps)
		return;
	const double link_ns = link_round_ns(congestion, l->port, CABLE_USUAL_M);
	const double apart = xon_apart(l);
	const bool close = apart < HYSTERESIS_MTUS * fabric_frame_bytes(congestion->o->fabric);
	sign_set(&suspect->signs, XON_SET, close);
	suspect->episode_limit_ns = 0;
	if (close)
		suspect->episode_limit_ns = 4 * link_ns;
	else if (isnan(apart) && pauses_in_pieces(congestion, load))
		suspect->episode_limit_ns = 2 * link_ns;
	else if (isnan(apart)) /* the pauses alone must show it: the shortest cable */
		suspect->episode_limit_ns = link_round_ns(congestion, l->port, 0) / 2;
	bool shorts = load->episode_ns < suspect->episode_limit_ns;
	if (isnan(load->episode_ns))
		shorts = close && load->episodes_per_s > EPISODES_MANY;
	sign_set(&suspect->signs, SHORT_PAUSES, shorts && load->episodes_per_s > EPISODES_MIN);
}

/* Do the other switches mark at least the share @few of what they send? */
static bool others_mark(const struct congestion *congestion, const struct marks *own, double few)
{
	const double marked = congestion->all.marked - own->marked,
		     packets = congestion->all.packets - own->packets;
	return marked > 0 && marked >= few * packets;
}

/* Does @port hold back more than @than? By marks; where neither has any, ports to hosts come first,
 * then rates decide. */
static bool switch_is_fuller(const struct congestion *congestion, const struct port_seen *port,
	const struct port_seen *than)
{
	const struct port_prio *own = observed_prio(port, congestion->priority),
			       *other = observed_prio(than, congestion->priority);
	double marked = 0, below = 0;
	if (own && own->marked.value > 0)
		marked = own->marked.value;
	if (other && other->marked.value > 0)
		below = other->marked.value;
	if (marked != below)
		return marked > below;
	if (!port->port->host != !than->port->host)
		return port->port->host != NULL;
	return port->out.rate_bps > than->out.rate_bps;
}

/* Is the queue that holds back most sent through in a burst? */
static bool switch_bursts(const struct congestion *congestion, const struct device_seen *device)
{
	const struct port_seen *fullest = NULL;
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct port_seen *p = &device->ports[i];
		if (!p->out_known)
			continue;
		if (!fullest || switch_is_fuller(congestion, p, fullest))
			fullest = p;
	}
	return fullest && burst_seen(congestion->in, fullest);
}

void suspect_switch(const struct congestion *congestion, const struct congestion_options *options,
	const struct device_seen *device, struct suspect *ret)
{
	const struct device_load *load = &congestion->devices[device->device->index];
	*ret = (struct suspect){.kind = SUSPECT_SWITCH,
		.device = device,
		.prio = load->loudest,
		.marks = load->marks,
		.q_pfc_bytes = NAN,
		.kmin_bytes = NAN};
	struct signs *s = &ret->signs;
	congestion_signs_common(s, congestion, options);
	congestion_signs_marks(s, &load->marks, options);
	sign_set(s, HOST_PROVEN, congestion->lead.proven);
	sign_set(s, PAUSES, load->inputs > 0);
	sign_set(s, HOSTS_PAUSED, load->hosts > 0 || (load->inputs > 0 && congestion->n_hosts > 0));
	if (load->marks.on || load->marks.off)
		sign_set(s, SET_OFF, load->marks.off > load->marks.on);
	/* where settings say that marking is on here, marks of other switches prove nothing: their
	 * queues may be longer */
	if (congestion->all.known && !(load->marks.on > load->marks.off))
		sign_set(s, OTHERS_MARK, others_mark(congestion, &load->marks, options->marks_few));
	const enum ecn_order order = order_of(congestion, device, ret);
	if (order != ECN_ORDER_UNKNOWN)
		sign_set(s, LATE, order != ECN_FIRST);
	struct busy_queues q = {0};
	congestion_signs_of_queues(congestion, options, device, &q);
	ret->bdp_bytes = q.bdp;
	if (q.busy) {
		sign_set(s, WIDESPREAD, 2 * q.marked >= q.busy);
		sign_set(s, MANY_MARKS, q.marked > 0);
	}
	if (q.early_known)
		sign_set(s, EARLY, 2 * q.early > q.early_known);
	if (q.deep_known)
		sign_set(s, SHALLOW, !q.deep);
	episodes_of(congestion, ret);
	ret->is = signature_match(SUSPECT_SWITCH, s);
	/* so many senders at once make short pauses, whatever the settings */
	if (ret->is && ret->is->cause == CAUSE_XON_CLOSE && switch_bursts(congestion, device))
		ret->is = NULL;
}

/* ---- the uplinks of a leaf ----------------------------------------------- */

struct leaf_side { /* the ports of a leaf that face hosts, or a group of its uplinks */
	struct marks marks;
	/* mean utilisation, towards the fabric for hosts; strongest pause by the neighbour */
	double load, rx;
	unsigned n, known;
};

static void side_add(const struct congestion *congestion, const struct port_seen *port,
	const struct port_rate *rate, bool rate_known, struct leaf_side *side)
{
	const struct port_prio *l = observed_prio(port, congestion->priority);
	side->n++;
	if (rate_known && !isnan(rate->utilization_ratio)) {
		side->load += rate->utilization_ratio;
		side->known++;
	}
	if (!l)
		return;
	const struct marks m = prio_marks(l, (double)congestion->o->fabric->lossless_mtu_bytes);
	const double rx = rx_level(l);
	marks_add(&side->marks, &m);
	if (!isnan(rx))
		side->rx = fmax(side->rx, rx);
}

/* Uplinks are where it piles up: busier than the hosts' ports, or at line rate; and, where both
 * mark, the ones that mark most. */
static bool is_hot(const struct leaf_side *up, const struct leaf_side *hosts)
{
	if (!up->known)
		return false;
	const double load = up->load / up->known;
	double below = NAN;
	if (hosts->known)
		below = hosts->load / hosts->known;
	const double marked = marks_ratio(&up->marks), beside = marks_ratio(&hosts->marks);
	return (load >= LINE || load >= BUSIER * below) && !(beside * 2 > marked);
}

void suspect_group(const struct congestion *congestion, const struct congestion_options *options,
	const struct fabric_group *group, struct suspect *ret)
{
	const struct port_seen *p = observed_port(congestion->o, group->members[0]);
	const struct device_load *load = &congestion->devices[group->device->index];
	*ret = (struct suspect){.kind = SUSPECT_GROUP,
		.device = p->device,
		.q_pfc_bytes = NAN,
		.kmin_bytes = NAN,
		.bdp_bytes = NAN,
		.episode_ns = NAN};
	struct signs *s = &ret->signs;
	group_measure(congestion, p, &ret->group);
	struct leaf_side up = {0}, hosts = {0};
	for (size_t i = 0; i < group->n_members; i++) {
		const struct port_seen *m = observed_port(congestion->o, group->members[i]);
		side_add(congestion, m, &m->out, m->out_known, &up);
	}
	for (size_t i = 0; i < p->device->n_ports; i++) {
		const struct port_seen *h = &p->device->ports[i];
		if (h->port->host)
			side_add(congestion, h, h->in_known ? &h->in : &h->out,
				h->in_known || h->out_known, &hosts);
	}
	ret->marks = up.marks;
	congestion_signs_common(s, congestion, options);
	congestion_signs_marks(s, &ret->marks, options);
	sign_set(s, SLOWER, ret->group.slower > 0 || ret->group.live < ret->group.members);
	if (!isnan(ret->group.imbalance))
		sign_set(s, SKEWED, ret->group.imbalance > SKEW);
	if (!isnan(ret->group.oversubscription))
		sign_set(s, NARROW, ret->group.oversubscription > NARROW_RATIO);
	if (ret->marks.known)
		sign_set(s, GROUP_MARKED, 2 * ret->group.marked > ret->group.live);
	sign_set(s, HOSTS_PAUSED, load->hosts > 0);
	sign_set(s, BUSY, 2 * load->hosts > hosts.n);
	sign_set(s, HOT, is_hot(&up, &hosts));
	if (!isnan(ret->group.mean))
		sign_set(s, FULL, ret->group.mean >= LINE);
	sign_set(s, HELD, up.rx >= congestion->floor && up.rx >= load->level / 2);
	ret->is = signature_match(SUSPECT_GROUP, s);
}

/* ---- an egress queue ----------------------------------------------------- */

/* Load of a port against the median of those that lead to the same kind of neighbour on its switch.
 */
static bool is_busy(const struct port_seen *port)
{
	const struct device_seen *d = port->device;
	double below = 0;
	unsigned n = 0;
	if (!port->out_known)
		return false;
	for (size_t i = 0; i < d->n_ports; i++) {
		const struct port_seen *x = &d->ports[i];
		if (x == port || !x->out_known || !x->port->host != !port->port->host)
			continue;
		n++;
		below += port->out.rate_bps >= TIMES_PEERS * x->out.rate_bps;
	}
	return n && 2 * below > n;
}

void suspect_queue(const struct congestion *congestion, const struct congestion_options *options,
	const struct port_prio *prio, const struct pause_root *root, struct suspect *ret)
{
	const struct port_seen *p = prio->port;
	const struct device_load *load = &congestion->devices[p->port->device->index];
	*ret = (struct suspect){.kind = SUSPECT_QUEUE,
		.device = p->device,
		.prio = prio,
		.root = root,
		.q_pfc_bytes = NAN,
		.kmin_bytes = NAN,
		.bdp_bytes = NAN,
		.episode_ns = NAN,
		.marks = prio_marks(prio, (double)congestion->o->fabric->lossless_mtu_bytes)};
	struct signs *s = &ret->signs;
	congestion_signs_common(s, congestion, options);
	congestion_signs_marks(s, &ret->marks, options);
	sign_set(s, SLOWER, port_slower(congestion, p));
	sign_set(s, TO_HOST, p->port->host != NULL);
	sign_set(s, PAUSES, load->inputs > 0);
	sign_set(s, SEVERAL_INPUTS, load->inputs > 1);
	sign_set(s, HOSTS_PAUSED, congestion->n_hosts > 0);
	if (!isnan(p->out.utilization_ratio))
		sign_set(s, FULL, p->out.utilization_ratio >= LINE);
	sign_set(s, BUSY, is_busy(p));
	const double rx = rx_level(prio);
	/* its own neighbour pauses it: the pressure comes from there */
	if (rx >= congestion->floor && rx >= load->level)
		sign_set(s, FROM_HOST, true);
	if (group_measure(congestion, p, &ret->group)) {
		if (!isnan(ret->group.imbalance))
			sign_set(s, SKEWED, ret->group.imbalance > SKEW);
		if (!isnan(ret->group.oversubscription))
			sign_set(s, NARROW, ret->group.oversubscription > NARROW_RATIO);
		sign_set(s, SLOWER, ret->group.slower > 0 || port_slower(congestion, p));
	}
	ret->is = signature_match(SUSPECT_QUEUE, s);
	/* a job that saves to storage: its receivers take it as fast as their links are */
	if (ret->is && ret->is->cause == CAUSE_INCAST && burst_seen(congestion->in, p))
		ret->is = NULL;
}

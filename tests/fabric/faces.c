/*
 * faces - what the agents of each kind of switch answer, and when what they answer was true.
 *
 * Comments name the MIB or database table of each row. full is everything a switch could know.
 * Refresh: an SNMP agent answers from its cache (SONiC 5 s, snmpd of Cumulus 3 s), SONiC's counters
 * are themselves collected every 1 s (ports), 10 s (queues, priority groups) and 60 s (watermarks,
 * read and cleared); NX-OS and EOS say nothing about their refresh, so none is modelled.
 */
#include "tests/fabric/recorder.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/fabric/digits.h"

const char *const face_names[FACES] = {"full", "sonic-snmp", "nxos-snmp", "cumulus-snmp",
	"sonic-gnmi", "cumulus-gnmi", "openconfig-gnmi", "eos-snmp", "relative-ecn"};

enum {
	R_ = 1 << FACE_RELATIVE_ECN,
	F_ = 1 << FACE_FULL | R_,
	S_ = 1 << FACE_SONIC_SNMP,
	N_ = 1 << FACE_NXOS_SNMP,
	C_ = 1 << FACE_CUMULUS_SNMP,
	G_ = 1 << FACE_SONIC_GNMI,
	K_ = 1 << FACE_CUMULUS_GNMI,
	O_ = 1 << FACE_OPENCONFIG_GNMI,
	E_ = 1 << FACE_EOS_SNMP,
	GNMI = G_ | K_ | O_,
	ALL = F_ | S_ | N_ | C_ | G_ | K_ | O_ | E_,
	PFC = ALL & ~O_ /* OpenConfig knows no PFC */,
	SINCE_EVER = N_ | K_ | O_ /* peaks since they were last cleared, and nobody clears them */
};
enum refresh { REFRESH_PORT, REFRESH_QUEUE, REFRESHES };
static const double refresh_ns[FACES][REFRESHES] = {
	[FACE_SONIC_SNMP] = {5e9, 10e9}, /* refreshed every 5 s, queues every 10 s */
	[FACE_CUMULUS_SNMP] = {3e9, 3e9}, /* snmpd's own cache */
	[FACE_SONIC_GNMI] = {1e9, 10e9}, /* PORT, QUEUE, PG_DROP */
};
/* QUEUE_WATERMARK, PG_WATERMARK */
static const double watermark_ns[FACES] = {[FACE_SONIC_GNMI] = 60e9};
#define FOLD_NS                                                                                    \
	120e9 /* PERIODIC_WATERMARKS, which alone has a path for groups, is zeroed this            \
		 often */
/* xcvrd reads transceivers once a minute */
static const double optics_ns[FACES] = {[FACE_SONIC_SNMP] = 60e9, [FACE_SONIC_GNMI] = 60e9};

/* Where a counter comes from: the measured exchange (enum port_sum), or what conditions.c says of
 * the port. */
enum { FROM_PHY = SUM_COUNT, FROM_UNCORRECTABLE, FROM_SYMBOLS, FROM_FLAPS, FROM_NOTHING };
#define BEST_EFFORT 0 /* where packets go whose class a switch does not recognise */
#define SECOND                                                                                     \
	(-2) /* the scenario's second class; where that is best effort, its rows stand for both */

static const struct row {
	const char *metric;
	int from;
	int priority; /* -1: of the port; SECOND */
	unsigned faces;
	enum refresh refresh;
} counters[] = {
	/* IF-MIB; SAI_PORT_STAT_IF_* */
	{"port.in_octets", SUM_IN_OCTETS, -1, ALL, REFRESH_PORT},
	{"port.out_octets", SUM_OUT_OCTETS, -1, ALL, REFRESH_PORT},
	{"port.in_packets", SUM_IN_PACKETS, -1, ALL, REFRESH_PORT},
	{"port.out_packets", SUM_OUT_PACKETS, -1, ALL, REFRESH_PORT},
	{"port.in_errors", SUM_IN_ERRORS, -1, ALL, REFRESH_PORT},
	{"port.out_errors", FROM_NOTHING, -1, ALL, REFRESH_PORT},
	{"port.in_discards", SUM_IN_DISCARDS, -1, ALL, REFRESH_PORT},
	{"port.out_discards", SUM_OUT_DISCARDS, -1, ALL, REFRESH_PORT},
	/* EtherLike-MIB, which SONiC and Cumulus do not serve; DOT3_STATS_*,
	   FEC_*; clIntIn/OutPausePkt */
	{"port.fcs_errors", SUM_IN_ERRORS, -1, F_ | N_ | G_ | K_ | O_ | E_, REFRESH_PORT},
	{"port.symbol_errors", FROM_SYMBOLS, -1, F_ | N_ | G_ | O_ | E_, REFRESH_PORT},
	{"port.fec_corrected", FROM_PHY, -1, F_ | G_, REFRESH_PORT},
	{"port.fec_uncorrectable", FROM_UNCORRECTABLE, -1, F_ | G_, REFRESH_PORT},
	{"port.in_pause_frames", FROM_NOTHING, -1, ALL & ~S_, REFRESH_PORT},
	{"port.out_pause_frames", FROM_NOTHING, -1, ALL & ~S_, REFRESH_PORT},
	/* carrier-transitions of OpenConfig */
	{"port.flaps", FROM_FLAPS, -1, F_ | K_ | O_, REFRESH_PORT},
	/* cpfcIfPriorityTable, also of SONiC; pfcClCountersTable; aristaPfcPriorityTable;
	   SAI_PORT_STAT_PFC_n_*; NVUE switch-priority */
	{"pfc.rx_frames", SUM_PFC_RX, PRIORITY, PFC, REFRESH_PORT},
	{"pfc.tx_frames", SUM_PFC_TX, PRIORITY, PFC, REFRESH_PORT},
	/* cpfcIfPriorityWaitTable; NVUE in-/out-pause-duration; RX_PAUSE_DURATION of Spectrum
	   with the watchdog on: received only, and no transitions (those are Broadcom's) */
	{"pfc.rx_pause_ns", SUM_RX_PAUSE_NS, PRIORITY, F_ | N_ | G_ | K_, REFRESH_PORT},
	{"pfc.tx_pause_ns", SUM_TX_PAUSE_NS, PRIORITY, F_ | N_ | K_, REFRESH_PORT},
	{"pfc.rx_transitions", SUM_RX_EPISODES, PRIORITY, F_, REFRESH_PORT},
	{"pfc.tx_transitions", SUM_TX_EPISODES, PRIORITY, F_, REFRESH_PORT},
	/* NVUE in-discards; SONiC counts these (PG_DROP), but has no path that leads to them */
	{"pg.drops", SUM_PG_DROPS, PRIORITY, F_ | K_, REFRESH_QUEUE},
	{"pg.drops", SUM_PG_DROPS, BEST_EFFORT, F_ | K_, REFRESH_QUEUE},
	/* csqIfQosGroupStats 1..6, also of SONiC; tcClNewCountersTable 3..7;
	   aristaEgressQueueTable, aristaEcnQueueCounterTable; QUEUE, and WRED_ECN_QUEUE after
	   'counterpoll wredqueue enable'; OpenConfig; NVUE */
	{"queue.out_octets", SUM_QUEUE_OCTETS, PRIORITY, ALL, REFRESH_QUEUE},
	{"queue.out_packets", SUM_QUEUE_PACKETS, PRIORITY, ALL, REFRESH_QUEUE},
	{"queue.drops", SUM_OUT_DISCARDS, PRIORITY, ALL, REFRESH_QUEUE},
	{"queue.ecn_marked", SUM_MARKED, PRIORITY, F_ | C_ | G_ | K_ | O_ | E_, REFRESH_QUEUE},
	{"queue.wred_drops", FROM_NOTHING, PRIORITY, F_ | C_ | G_ | K_, REFRESH_QUEUE},
	{"queue.out_octets", SUM_QUEUE_OCTETS, BEST_EFFORT, ALL, REFRESH_QUEUE},
	{"queue.out_packets", SUM_QUEUE_PACKETS, BEST_EFFORT, ALL, REFRESH_QUEUE},
	{"queue.drops", SUM_OUT_DISCARDS, BEST_EFFORT, ALL, REFRESH_QUEUE},
	{"queue.out_octets", SUM_CONTROL_OCTETS, SIM_CONTROL_PRIORITY, ALL, REFRESH_QUEUE},
	{"queue.out_packets", SUM_CONTROL_PACKETS, SIM_CONTROL_PRIORITY, ALL, REFRESH_QUEUE},
	/* cpfcWatchdogIfQueueInfoTable; aristaPfcWatchdogTxQueueTable, without drops; PFC_WD_*
	   in the queue's hash */
	{"pfcwd.storms", SUM_WATCHDOG_STORMS, PRIORITY, F_ | N_ | G_ | E_, REFRESH_PORT},
	{"pfcwd.restores", SUM_WATCHDOG_RESTORES, PRIORITY, F_ | N_ | G_ | E_, REFRESH_PORT},
	{"pfcwd.drops", SUM_WATCHDOG_DROPS, PRIORITY, F_ | N_ | G_, REFRESH_PORT},
	/* the same tables, of the second class */
	{"pfc.rx_frames", SUM2_PFC_RX, SECOND, PFC, REFRESH_PORT},
	{"pfc.tx_frames", SUM2_PFC_TX, SECOND, PFC, REFRESH_PORT},
	{"pfc.rx_pause_ns", SUM2_RX_PAUSE_NS, SECOND, F_ | N_ | G_ | K_, REFRESH_PORT},
	{"pfc.tx_pause_ns", SUM2_TX_PAUSE_NS, SECOND, F_ | N_ | K_, REFRESH_PORT},
	{"pfc.rx_transitions", SUM2_RX_EPISODES, SECOND, F_, REFRESH_PORT},
	{"pfc.tx_transitions", SUM2_TX_EPISODES, SECOND, F_, REFRESH_PORT},
	{"pg.drops", SUM2_PG_DROPS, SECOND, F_ | K_, REFRESH_QUEUE},
	{"queue.out_octets", SUM2_QUEUE_OCTETS, SECOND, ALL, REFRESH_QUEUE},
	{"queue.out_packets", SUM2_QUEUE_PACKETS, SECOND, ALL, REFRESH_QUEUE},
	{"queue.ecn_marked", SUM2_MARKED, SECOND, F_ | C_ | G_ | K_ | O_ | E_, REFRESH_QUEUE},
};
enum { ROWS = rw_countof(counters) };

static const struct {
	const char *metric;
	enum port_peak peak;
	unsigned faces;
} peaks[] = {
	/* SharedPeek, HeadroomPeek; PG_WATERMARK, QUEUE_WATERMARK; NVUE max-occupancy; OpenConfig
	   max-queue-len */
	{"pg.shared_watermark_bytes", PEAK_PG, F_ | N_ | G_ | K_},
	{"pg.headroom_watermark_bytes", PEAK_HEADROOM, F_ | N_ | G_ | K_},
	{"queue.watermark_bytes", PEAK_QUEUE, F_ | G_ | K_ | O_},
};

/* Per port, in the order of the planes: what its agent last fetched of the switch. */
struct port_state {
	double shown[ROWS]; /* value last fetched */
	double moved[ROWS]; /* of it, what went by best effort */
	double zero[ROWS]; /* what a restart took away */
	double bound[ROWS]; /* upper bound of pause time from frames, ns, so far */
	double frames[ROWS]; /* frames at the last sample, for that bound */
	double peak[PEAK_COUNT]; /* since the watermarks were last read; SINCE_EVER: that */
	/* SONiC: the highest since PERIODIC_WATERMARKS was last zeroed */
	double folded[PEAK_COUNT];
	double corrected, corrected_ns;
};
struct face_state {
	struct port_state *ports;
	double *pool_peak;
	bool *told; /* [plane][switch]: its states and settings are known */
	double refreshed_ns[REFRESHES], peaks_due_ns, optics_due_ns;
	bool was_on, first;
	double time_of_ns; /* the text of the last line's time */
	char time_text[32];
};

static bool has(const struct recorder *r, unsigned faces)
{
	return faces & (1u << r->o->face);
}
static struct port_state *state_of(const struct recorder *r, unsigned plane, const struct view *v)
{
	const size_t first = v->shape->nodes[v->shape->n_hosts].port0;
	return &r->f->ports[plane * r->c->n_ports + (size_t)(v->port - v->shape->ports) - first];
}

/* Lines are most of the work of a recording: they are put together without printf. */
static char *put(char *to, const char *end, const char *text)
{
	while (*text && to < end)
		*to++ = *text++;
	return to;
}

static void line(struct recorder *r, double t_ns, const char *device, const char *port,
	int priority, const char *metric, const char *value, const char *rest)
{
	char prio[2] = "-", buf[512], *to = buf;
	const char *const end = buf + sizeof(buf) - 1;
	if (r->tell) {
		r->tell(r->tell_data, device, port, priority, metric, value);
		return;
	}
	if (priority >= 0)
		prio[0] = (char)('0' + priority);
	if (r->f->time_of_ns != t_ns || !*r->f->time_text) {
		snprintf(r->f->time_text, sizeof(r->f->time_text), "%.3f",
			(r->wall_ns + t_ns) / 1e9);
		r->f->time_of_ns = t_ns;
	}
	const char *const fields[] = {r->f->time_text, device, port, prio, metric, value};
	for (size_t i = 0; i < rw_countof(fields); i++)
		to = put(i ? put(to, end, "\t") : to, end, fields[i]);
	to = put(to, end, rest);
	*to++ = '\n';
	fwrite_unlocked(buf, 1, (size_t)(to - buf), r->out);
	r->lines++;
}
static void line_u64(struct recorder *r, double t_ns, const char *device, const char *port,
	int priority, const char *metric, double value, const char *rest)
{
	char text[DIGITS_MAX], *at = text;
	if (value >= 0 && value < 18446744073709551615.0)
		at = digits_whole(text, (uint64_t)nearbyint(value));
	else
		snprintf(text, sizeof(text), "%.0f", value);
	line(r, t_ns, device, port, priority, metric, at, rest);
}

/* ---- states and settings: told when first seen, when they change, and again after the device was
 * away ---- */

enum setting {
	OPER_UP,
	SPEED,
	MTU,
	PFC_ENABLED,
	ALPHA_EXP,
	HEADROOM,
	XON_OFFSET,
	ECN_ENABLED,
	KMIN,
	KMAX,
	PMAX,
	WEIGHT,
	PRIO_TO_PG,
	PRIO_TO_QUEUE,
	TRUST,
	DSCP_TO_PRIO,
	CABLE,
	CNP_QUEUE,
	WATCHDOG_MS,
	WATCHDOG_ACTION,
	RELATIVE,
	KMIN_SHARE,
	KMAX_SHARE
};
enum spread { OF_PORT, OF_LOSSLESS, OF_EVERY_PRIORITY, OF_WATCHED_PORT };
static const struct {
	const char *metric;
	enum setting what;
	enum spread spread;
	unsigned faces;
} settings[] = {
	/* IF-MIB; CONFIG_DB PORT */
	{"port.oper_up", OPER_UP, OF_PORT, ALL},
	{"port.speed_bps", SPEED, OF_PORT, ALL},
	{"port.mtu_bytes", MTU, OF_PORT, ALL},
	/* PORT_QOS_MAP, BUFFER_PROFILE, WRED_PROFILE, CABLE_LENGTH (its maps of DSCP and
	   classes are read by no profile); OpenConfig queue-management-profile; csqIfQosGroupInfo
	   (buffer size minus pause threshold) */
	{"cfg.pfc_enabled", PFC_ENABLED, OF_EVERY_PRIORITY, F_ | G_},
	{"cfg.pg_alpha_exp", ALPHA_EXP, OF_LOSSLESS, F_ | G_},
	{"cfg.pg_headroom_bytes", HEADROOM, OF_LOSSLESS, F_ | N_ | G_},
	{"cfg.pg_xon_offset_bytes", XON_OFFSET, OF_LOSSLESS, F_ | G_},
	{"cfg.ecn_enabled", ECN_ENABLED, OF_LOSSLESS, F_ | G_ | O_},
	{"cfg.ecn_kmin_bytes", KMIN, OF_LOSSLESS, F_ | G_ | O_},
	{"cfg.ecn_kmax_bytes", KMAX, OF_LOSSLESS, F_ | G_ | O_},
	{"cfg.ecn_pmax_ratio", PMAX, OF_LOSSLESS, F_ | G_ | O_},
	/* Cumulus 5.17, Spectrum-4 and later: traffic-class N mode relative */
	{"cfg.ecn_relative", RELATIVE, OF_LOSSLESS, R_},
	{"cfg.ecn_kmin_ratio", KMIN_SHARE, OF_LOSSLESS, R_},
	{"cfg.ecn_kmax_ratio", KMAX_SHARE, OF_LOSSLESS, R_},
	{"cfg.ecn_weight", WEIGHT, OF_LOSSLESS, F_ | O_},
	{"cfg.prio_to_pg", PRIO_TO_PG, OF_LOSSLESS, F_},
	{"cfg.prio_to_queue", PRIO_TO_QUEUE, OF_LOSSLESS, F_},
	{"cfg.trust", TRUST, OF_PORT, F_},
	{"cfg.dscp_to_prio", DSCP_TO_PRIO, OF_PORT, F_},
	{"cfg.cable_m", CABLE, OF_PORT, F_ | G_},
	{"cfg.cnp_queue", CNP_QUEUE, OF_PORT, F_},
	/* PFC_WD */
	{"cfg.pfcwd_detect_ms", WATCHDOG_MS, OF_WATCHED_PORT, F_ | G_},
	{"cfg.pfcwd_restore_ms", WATCHDOG_MS, OF_WATCHED_PORT, F_ | G_},
	{"cfg.pfcwd_action", WATCHDOG_ACTION, OF_WATCHED_PORT, F_ | G_},
};

static bool misreads_dscp(const struct view *v)
{
	const struct fault *f = v->on ? fault_of(v->r->s, FAULT_DSCP_MAP) : NULL;
	return f && v->node == sim_leaf(v->shape, (unsigned)f->leaf - 1);
}

unsigned face_lossless(const struct recorder *r)
{
	return sim_leaf(r->shape[0], 0)->sw.pfc_mask;
}

/* A threshold as a share of what one queue may take of the free pool: alpha B / (1 + alpha). */
static double share_of_quota(const struct view *v, double bytes)
{
	const double quota =
		v->port->alpha / (1 + v->port->alpha) * (double)v->node->sw.buffer_bytes;
	return fmin(1, bytes / quota);
}

/* The bytes that stand beside shares are the vendor's defaults, and nothing goes by them. */
static double told_bytes(const struct view *v, double bytes, double otherwise)
{
	if (v->r->o->face == FACE_RELATIVE_ECN)
		return otherwise;
	return bytes;
}

static void setting_text(
	const struct view *v, enum setting what, unsigned priority, char *buf, size_t size)
{
	const struct sim_port *p = v->port;
	const struct scenario *s = v->r->s;
	double number = 0;
	switch (what) {
	case OPER_UP: number = !p->down; break;
	case SPEED: number = (double)p->bps; break;
	case MTU: number = port_mtu(v); break;
	/* a DSCP map that is wrong leaves the classes as they are: nothing gets into them */
	case PFC_ENABLED:
		number = (misreads_dscp(v) ? face_lossless(v->r) : v->node->sw.pfc_mask) >>
					priority &
				1 &&
			!p->deaf[priority];
		break;
	case ALPHA_EXP: snprintf(buf, size, "%g", log2(p->alpha)); return;
	case HEADROOM: number = (double)p->headroom_bytes; break;
	case XON_OFFSET: number = (double)p->xon_offset_bytes; break;
	case ECN_ENABLED:
		number = (misreads_dscp(v) ? v->r->shape[0]->ports[p - v->shape->ports].ecn
					   : p->ecn);
		break;
	case KMIN: number = told_bytes(v, (double)p->kmin_bytes, 150000); break;
	case KMAX: number = told_bytes(v, (double)p->kmax_bytes, 1500000); break;
	case RELATIVE: number = 1; break;
	case KMIN_SHARE:
		snprintf(buf, size, "%.4g", share_of_quota(v, (double)p->kmin_bytes));
		return;
	case KMAX_SHARE:
		snprintf(buf, size, "%.4g", share_of_quota(v, (double)p->kmax_bytes));
		return;
	case PMAX: snprintf(buf, size, "%g", p->pmax); return;
	case WEIGHT: number = 0; break; /* the queue as it is, no average */
	case PRIO_TO_PG:
	case PRIO_TO_QUEUE: number = priority; break;
	case TRUST: snprintf(buf, size, "dscp"); return;
	case DSCP_TO_PRIO: {
		int n = 0;
		for (unsigned q = 0; q < SIM_PRIORITIES && !misreads_dscp(v); q++)
			if (face_lossless(v->r) >> q & 1 || (q > 0 && q == s->second_priority))
				n += snprintf(buf + n, size - (size_t)n, "%s%u:%u", n ? "," : "",
					DSCP_LOSSLESS(q), q);
		snprintf(buf + n, size - (size_t)n, "%s%u:%u", n ? "," : "", DSCP_CONTROL,
			SIM_CONTROL_PRIORITY);
		return;
	}
	case CABLE:
		snprintf(buf, size, "%g",
			(view_towards_host(v) ? s->host_cable_mm : s->uplink_cable_mm) / 1e3);
		return;
	case CNP_QUEUE: number = SIM_CONTROL_PRIORITY; break;
	case WATCHDOG_MS: number = s->watchdog_ns / 1e6; break;
	case WATCHDOG_ACTION: snprintf(buf, size, "drop"); return;
	}
	snprintf(buf, size, "%.0f", number);
}

static void tell_settings(struct recorder *r, double t_ns, const char *device, const char *port,
	const struct view *v, const struct view *before)
{
	char now[128], then[128];
	if (before && before->on == v->on)
		return;
	for (size_t k = 0; k < rw_countof(settings); k++) {
		const bool one =
			settings[k].spread == OF_PORT || settings[k].spread == OF_WATCHED_PORT;
		if (!has(r, settings[k].faces) ||
			(settings[k].spread == OF_WATCHED_PORT && r->s->watchdog_ns <= 0))
			continue;
		for (unsigned q = 0; q < (one ? 1 : SIM_PRIORITIES); q++) {
			if (settings[k].spread == OF_LOSSLESS && !(face_lossless(r) >> q & 1))
				continue;
			setting_text(v, settings[k].what, q, now, sizeof(now));
			if (before) {
				setting_text(before, settings[k].what, q, then, sizeof(then));
				if (strcmp(now, then) == 0)
					continue;
			}
			line(r, t_ns, device, port, one ? -1 : (int)q, settings[k].metric, now, "");
		}
	}
}

static void hash_text(const struct sim_node *n, char *buf, size_t size)
{
	const unsigned f = n->hash.fields;
	snprintf(buf, size, "%s%s%s%s%s", f & FIELD_SRC ? "src_ip" : "",
		f & FIELD_SRC && f & ~(unsigned)FIELD_SRC ? "," : "", f & FIELD_DST ? "dst_ip" : "",
		f & FIELD_DST && f & FIELD_SPORT ? "," : "", f & FIELD_SPORT ? "src_port" : "");
}

static const char *pool_name(const struct recorder *r)
{
	return has(r, G_) ? "pool:ingress_lossless_pool" : "pool:ingress_lossless";
}

/* Of the device. Hash settings are in no table that a profile reads: full only. BUFFER_POOL. */
static void tell_device(struct recorder *r, double t_ns, const char *device, const struct view *v,
	const struct view *before)
{
	char now[64], then[64];
	if (has(r, F_)) {
		hash_text(v->node, now, sizeof(now));
		if (before)
			hash_text(before->node, then, sizeof(then));
		if (!before || strcmp(now, then) != 0)
			line(r, t_ns, device, "-", -1, "cfg.hash_fields", now, "");
		if (!before || before->node->hash.seed != v->node->hash.seed)
			line_u64(r, t_ns, device, "-", -1, "cfg.hash_seed", v->node->hash.seed, "");
		if (!before)
			line(r, t_ns, device, "-", -1, "cfg.lb_mode", balancing_name(r->s), "");
		if (!before)
			line(r, t_ns, device, pool_name(r), -1, "cfg.pool_slices", "1", "");
	}
	if (has(r, F_ | G_) && !before)
		line_u64(r, t_ns, device, pool_name(r), -1, "cfg.buffer_pool_bytes",
			(double)v->node->sw.buffer_bytes, "");
	if (has(r, F_) && !before)
		/* each port has its own headroom */
		line(r, t_ns, device, pool_name(r), -1, "cfg.shp_ratio", "0", "");
}

/* ---- optics -------------------------------------------------------------- */

/* ENTITY-SENSOR-MIB of SONiC; its gNMI has the same readings (TRANSCEIVER_DOM_SENSOR) and
 * RATES FEC_PRE_BER. */
static void tell_optics(struct recorder *r, double t_ns, const char *device, const char *port,
	const struct view *v, bool due)
{
	char text[DIGITS_MAX];
	const struct optics o = port_optics(v, t_ns);
	const struct {
		const char *metric;
		double value;
	} rows[] = {{"optic.rx_power_dbm", v->port->down ? -40 : o.rx_dbm},
		{"optic.tx_power_dbm", o.tx_dbm}, {"optic.temperature_c", o.temperature_c}};
	/* copper to the hosts */
	for (size_t k = 0;
		k < rw_countof(rows) && due && has(r, F_ | S_ | G_) && !view_towards_host(v); k++) {
		digits_fixed2(text, rows[k].value + 0.2 * (random_unit(&r->random) - 0.5));
		line(r, t_ns, device, port, -1, rows[k].metric, text, "");
	}
	if (has(r, F_ | G_) && !v->port->down) {
		digits_scientific2(text, o.ber * (0.8 + 0.4 * random_unit(&r->random)));
		line(r, t_ns, device, port, -1, "port.pre_fec_ber", text, "");
	}
}

/* ---- counters ------------------------------------------------------------ */

static double counter_now(struct recorder *r, const struct view *v, struct port_state *p,
	size_t index, const struct row *row, double t_ns)
{
	switch (row->from) {
	case FROM_PHY: return floor(p->corrected);
	/* a codeword beyond repair costs a frame */
	case FROM_UNCORRECTABLE: return coarse_sum(r->c, v->plane, index, SUM_IN_ERRORS);
	/* and has 16 wrong symbols at least: 15 could be repaired */
	case FROM_SYMBOLS: return 16 * coarse_sum(r->c, v->plane, index, SUM_IN_ERRORS);
	case FROM_FLAPS: return port_flaps(v, t_ns);
	case FROM_NOTHING: return 0;
	default: return coarse_sum(r->c, v->plane, index, (enum port_sum)row->from);
	}
}

static void fetch(struct recorder *r, enum refresh which, double t_ns)
{
	const bool on = coarse_fault_on(r->c, t_ns);
	for (unsigned plane = 0; plane < r->c->planes; plane++)
		for (size_t d = 0; d < r->c->n_switches; d++)
			for (unsigned i = 0; i < recorder_switch(r, d)->ports; i++) {
				const struct view v = view_of(r, plane, d, i, on);
				struct port_state *p = state_of(r, plane, &v);
				const bool misread = misreads_dscp(&v);
				if (which == REFRESH_PORT) {
					p->corrected += codewords_corrected(&v,
						port_optics(&v, t_ns).ber, t_ns - p->corrected_ns);
					p->corrected_ns = t_ns;
				}
				for (size_t k = 0; k < ROWS; k++) {
					if (counters[k].refresh != which)
						continue;
					const double value = counter_now(r, &v, p,
						(size_t)(p - r->f->ports) % r->c->n_ports,
						&counters[k], t_ns);
					if (misread)
						p->moved[k] += value - p->shown[k];
					p->shown[k] = value;
				}
			}
}

/* The agent's tables as they are at @t_ns: each was filled at its own last refresh. */
static void refresh(struct recorder *r, double t_ns)
{
	double at[REFRESHES];
	for (unsigned k = 0; k < REFRESHES; k++) {
		const double period = refresh_ns[r->o->face][k];
		at[k] = period > 0 ? floor(t_ns / period) * period : t_ns;
	}
	const unsigned first = at[0] <= at[1] ? 0 : 1;
	for (unsigned i = 0; i < REFRESHES; i++) {
		const unsigned k = i == 0 ? first : 1 - first;
		if (at[k] <= r->f->refreshed_ns[k])
			continue;
		if (at[k] > r->c->t_ns)
			coarse_advance(r->c, at[k]);
		fetch(r, (enum refresh)k, at[k]);
		r->f->refreshed_ns[k] = at[k];
	}
	coarse_advance(r->c, t_ns);
}

/* Where an SNMP face gives no pause time, a bound follows from frames: 65,535 quanta of 512 bit
 * times each, never more than the interval. */
static void tell_bound(struct recorder *r, double t_ns, const char *device, const char *port,
	const struct view *v, struct port_state *p, size_t k, int priority)
{
	static const struct {
		int from;
		const char *metric;
		unsigned measured;
	} rows[] = {{SUM_PFC_RX, "pfc.rx_pause_ns_hi", F_ | N_ | GNMI},
		{SUM_PFC_TX, "pfc.tx_pause_ns_hi", F_ | N_ | GNMI},
		{SUM2_PFC_RX, "pfc.rx_pause_ns_hi", F_ | N_ | GNMI},
		{SUM2_PFC_TX, "pfc.tx_pause_ns_hi", F_ | N_ | GNMI}};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		if (counters[k].from != rows[i].from || has(r, rows[i].measured))
			continue;
		if (!r->f->first && p->shown[k] > p->frames[k])
			p->bound[k] += fmin(r->o->interval_ns,
				(p->shown[k] - p->frames[k]) * 65535.0 * 512 /
					(double)v->port->bps * 1e9);
		p->frames[k] = p->shown[k];
		line_u64(r, t_ns, device, port, priority, rows[i].metric, floor(p->bound[k]),
			"\testimated");
	}
}

/* False: this scenario has no such class, or another row speaks for it. */
static bool row_priority(const struct recorder *r, const struct row *row, int *ret)
{
	const struct scenario *s = r->s;
	*ret = row->priority == SECOND ? (int)s->second_priority : row->priority;
	if (row->from == SUM_WATCHDOG_STORMS || row->from == SUM_WATCHDOG_RESTORES ||
		row->from == SUM_WATCHDOG_DROPS)
		return s->watchdog_ns > 0;
	return row->priority == SECOND
		? s->second_priority >= 0
		: row->priority != BEST_EFFORT || s->second_priority != BEST_EFFORT;
}

static void tell_counters(struct recorder *r, double t_ns, const char *device, const char *port,
	const struct view *v, bool restart)
{
	struct port_state *p = state_of(r, v->plane, v);
	for (size_t k = 0; k < ROWS; k++) {
		int priority;
		if (!has(r, counters[k].faces) || !row_priority(r, &counters[k], &priority))
			continue;
		double value = p->shown[k];
		if (counters[k].priority == BEST_EFFORT)
			value = p->moved[k];
		else if (counters[k].priority == PRIORITY)
			value -= p->moved[k];
		if (restart)
			p->zero[k] = value;
		line_u64(r, t_ns, device, port, priority, counters[k].metric, value - p->zero[k],
			restart ? "\trestart" : "");
		if (counters[k].priority == PRIORITY || counters[k].priority == SECOND)
			tell_bound(r, t_ns, device, port, v, p, k, priority);
	}
}

/* ---- watermarks: a maximum over the device's own window, told once per window ---- */

static void take_peaks(struct recorder *r)
{
	for (unsigned plane = 0; plane < r->c->planes; plane++)
		for (size_t i = 0; i < r->c->n_ports; i++)
			for (unsigned k = 0; k < PEAK_COUNT; k++) {
				double *most = &r->f->ports[plane * r->c->n_ports + i].peak[k];
				*most = fmax(*most, coarse_peak(r->c, plane, i, (enum port_peak)k));
			}
	for (size_t i = 0; i < r->c->n_switches; i++)
		r->f->pool_peak[i] = fmax(r->f->pool_peak[i], coarse_pool_peak(r->c, i));
	coarse_sampled(r->c);
}

/* NVUE instant-occupancy; the others have none. */
static void tell_depth(
	struct recorder *r, double t_ns, const char *device, const char *port, const struct view *v)
{
	const size_t index = (size_t)(state_of(r, v->plane, v) - r->f->ports) % r->c->n_ports;
	if (has(r, F_ | K_))
		line_u64(r, t_ns, device, port, misreads_dscp(v) ? BEST_EFFORT : PRIORITY,
			"queue.depth_bytes", coarse_depth(r->c, v->plane, index), "");
}

static void tell_peaks(struct recorder *r, double t_ns, const char *device, const char *port,
	const struct view *v, const char *window)
{
	struct port_state *p = state_of(r, v->plane, v);
	for (size_t k = 0; k < rw_countof(peaks); k++) {
		if (!has(r, peaks[k].faces))
			continue;
		const enum port_peak which = peaks[k].peak;
		p->folded[which] = fmax(p->folded[which], p->peak[which]);
		line_u64(r, t_ns, device, port, PRIORITY, peaks[k].metric,
			misreads_dscp(v) ? 0 : p->folded[which], window);
		if (misreads_dscp(v))
			line_u64(r, t_ns, device, port, BEST_EFFORT, peaks[k].metric,
				p->folded[which], window);
		if (!has(r, SINCE_EVER))
			p->peak[which] = 0;
		if (!has(r, SINCE_EVER | G_) || fmod(t_ns, FOLD_NS) < watermark_ns[r->o->face])
			p->folded[which] = 0;
	}
}

/* ---- one round ----------------------------------------------------------- */

#define EVERY_SWITCH SIZE_MAX
struct round {
	double t_ns;
	bool on, peaks, optics;
	char window[40];
};

static void sample_switch(struct recorder *r, const struct round *x, unsigned plane, size_t d)
{
	char device[48], port[32];
	const struct view v0 = view_of(r, plane, d, 0, x->on),
			  old0 = view_of(r, plane, d, 0, r->f->was_on);
	bool *told = &r->f->told[plane * r->c->n_switches + d];
	if (is_silent(r, &v0)) {
		*told = false;
		return;
	}
	const bool restart = device_restarts(r, &v0, r->f->was_on, x->on);
	device_name(r->s, v0.node, plane, device, sizeof(device));
	tell_device(r, x->t_ns, device, &v0, *told ? &old0 : NULL);
	if (x->peaks && has(r, F_)) /* SONiC's pools have a watermark, but no path leads to it */
		line_u64(r, x->t_ns, device, pool_name(r), -1, "pool.watermark_bytes",
			r->f->pool_peak[d], x->window);
	for (unsigned i = 0; i < v0.node->ports; i++) {
		const struct view v = view_of(r, plane, d, i, x->on),
				  old = view_of(r, plane, d, i, r->f->was_on);
		snprintf(port, sizeof(port), "Ethernet%u", i + 1);
		tell_settings(r, x->t_ns, device, port, &v, *told ? &old : NULL);
		tell_counters(r, x->t_ns, device, port, &v, restart);
		if (x->peaks)
			tell_peaks(r, x->t_ns, device, port, &v, x->window);
		tell_optics(r, x->t_ns, device, port, &v, x->optics);
		tell_depth(r, x->t_ns, device, port, &v);
	}
	*told = true;
}

/* @only: plane x switches + switch, or every one */
static void sample(struct recorder *r, double t_ns, size_t only)
{
	struct face_state *f = r->f;
	struct round x = {.t_ns = t_ns, .on = coarse_fault_on(r->c, t_ns), .peaks = true};
	const double own = watermark_ns[r->o->face], every = optics_ns[r->o->face];
	refresh(r, t_ns);
	take_peaks(r);
	if (own > 0) {
		x.peaks = t_ns >= f->peaks_due_ns;
		while (f->peaks_due_ns <= t_ns)
			f->peaks_due_ns += own;
		snprintf(x.window, sizeof(x.window), "\t-\t%.3f", FOLD_NS / 1e9);
	} else if (!has(r, SINCE_EVER)) /* since they were last cleared is no window */
		snprintf(x.window, sizeof(x.window), "\t-\t%.3f", r->o->interval_ns / 1e9);
	x.optics = every <= 0 || t_ns >= f->optics_due_ns;
	while (every > 0 && f->optics_due_ns <= t_ns)
		f->optics_due_ns += every;
	for (unsigned plane = 0; plane < r->c->planes; plane++)
		for (size_t d = 0; d < r->c->n_switches; d++)
			if (only == EVERY_SWITCH || only == plane * r->c->n_switches + d)
				sample_switch(r, &x, plane, d);
	for (size_t d = 0; x.peaks && d < r->c->n_switches; d++)
		f->pool_peak[d] = 0;
	f->was_on = x.on;
	f->first = false;
}

void faces_sample(struct recorder *r, double t_ns)
{
	sample(r, t_ns, EVERY_SWITCH);
}

void faces_sample_switch(struct recorder *r, double t_ns, unsigned plane, size_t device)
{
	const size_t at = plane * r->c->n_switches + device;
	r->f->told[at] = false;
	/* What comes once a minute or once in all is told of every switch, whoever asked. */
	const bool due = (watermark_ns[r->o->face] > 0 && t_ns >= r->f->peaks_due_ns) ||
		(optics_ns[r->o->face] > 0 && t_ns >= r->f->optics_due_ns);
	sample(r, t_ns,
		due || r->f->first || coarse_fault_on(r->c, t_ns) != r->f->was_on ? EVERY_SWITCH
										  : at);
}

void faces_begin(struct recorder *r)
{
	struct face_state *f = rw_calloc(1, sizeof(*f));
	const size_t n = (size_t)r->c->planes * r->c->n_ports;
	f->ports = rw_calloc(n, sizeof(*f->ports));
	f->pool_peak = rw_calloc(r->c->n_switches, sizeof(*f->pool_peak));
	f->told = rw_calloc(r->c->planes * r->c->n_switches, sizeof(*f->told));
	f->first = true;
	f->peaks_due_ns = watermark_ns[r->o->face]; /* the first window ends then */
	for (unsigned k = 0; k < REFRESHES; k++)
		f->refreshed_ns[k] = -1;
	uint64_t random = random_seeded(r->s->seed, 52);
	for (size_t i = 0; i < n; i++)
		f->ports[i].corrected = floor(random_unit(&random) * 1e9);
	r->f = f;
}

void faces_changed(struct recorder *r)
{
	memset(r->f->told, 0, r->c->planes * r->c->n_switches * sizeof(*r->f->told));
}

void faces_end(struct recorder *r)
{
	free(r->f->ports);
	free(r->f->pool_peak);
	free(r->f->told);
	free(r->f);
	r->f = NULL;
}

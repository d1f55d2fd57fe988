/*
 * lossless_loss - frames lost in a class that must not lose any: one finding per switch and
 * priority (at its port, when only one port loses).
 *
 *     headroom_small  ingress drops although pause was sent, with headroom used up (or unknown);
 *                     or, before anything is lost, headroom filled to 90 % of its size while
 *                     pause was sent
 *     pool_exhausted  drops while the shared pool was full
 *     lossless_loss   drops that neither explains; and, where the class has no drop counter,
 *                     frames discarded on a port that was sending pause
 *
 * Damaged frames and frames dropped by a watchdog are reported elsewhere (link_errors,
 * pfc_watchdog). Where the neighbour does not obey our pause, the headroom is not to blame, and the
 * confidence is lower.
 *
 * Where senders repair loss one packet at a time and the class is declared to lose (MRC, or UET
 * with lossless: none), drops are congestion, and nothing is reported.
 *
 * Any loss in a lossless class is critical and reported after one window: RoCE retransmits from the
 * gap on (go-back-N).
 */

#include "analyzers/analyzer.h"
#include "analyzers/measure/congestion_measure.h"
#include "analyzers/measure/observe.h"
#include "analyzers/finding_build.h"
#include "config/class_policy.h"

#define HEADROOM_FULL 0.9 /* share of its size */
#define POOL_FULL 0.95
#define HOLD_NEARLY 3 /* windows of headroom nearly full, nothing lost yet */
/* windows of discards without a class beside pause: in one window, one may come before the other */
#define HOLD_DISCARDS 2
/* frames of a port in a window, before they count as loss of the class */
#define DISCARDS_MIN 100.0
/* share of a switch's bytes in lossy classes from which discards may be theirs; CNPs and ACKs stay
 * below */
#define LOSSY_PART 0.05
#define ERRORS_PART 0.1 /* damaged frames over drops: from this share on, the wire is the fault */

struct loss_options {
	double headroom;
	int64_t window_ns, hold;
};

static const struct option rows[] = {
	{"headroom", OPT_RATIO, offsetof(struct loss_options, headroom), "90%", "10%", "100%", NULL,
		"share of the headroom's size that its peak may reach while pause is sent, before "
		"the size is called too small"},
	{"window", OPT_DURATION, offsetof(struct loss_options, window_ns), "0s", "0s", "1h", NULL,
		"evaluation window; 0 = three intervals, at least 5 s"},
	{"hold", OPT_INT, offsetof(struct loss_options, hold), "1", "1", "10000", NULL,
		"windows with loss before an incident opens; headroom that is nearly full takes "
		"three"},
};

/* ---- one priority of a port --------------------------------------------- */

struct loss { /* of a switch and priority */
	double ingress, egress, discards;
	const struct port_prio *worst; /* most frames lost; else the fullest headroom */
	unsigned n_lost, n_near; /* that lose; whose headroom is nearly full */
	bool headroom_full, headroom_known, paused, obeyed;
	/* lossy classes carry traffic on this switch: frames that are discarded without a class may
	 * be theirs */
	bool lossy_traffic;
	/* a drop counter has ever moved here, or headroom is reported */
	bool alive;
	/* a port moved; counters of a queue stand still although its port moved: not refreshed yet
	 */
	bool fresh, stale;
	double fill; /* highest headroom peak over its size; NAN */
};

static double lossless_loss_value_of(const struct amount *amount)
{
	if (amount->known)
		return amount->value;
	return 0;
}

static bool sends_pause(const struct port_prio *prio)
{
	return prio->tx_pause.hi > 0 || lossless_loss_value_of(&prio->tx_frames) > 0;
}

/* Does the neighbour count the pause frames we sent? A neighbour that is not observed is assumed
 * to. */
static bool is_obeyed(const struct observed *observed, const struct port_prio *prio)
{
	const struct port_seen *peer = observed_peer(observed, prio->port);
	const struct port_prio *x = NULL;
	if (peer)
		x = observed_prio(peer, prio->priority);
	if (x && x->pfc_enabled == 0)
		return false;
	return !(x && x->rx_frames.known && x->rx_frames.value == 0 &&
		lossless_loss_value_of(&prio->tx_frames) > 0 &&
		x->rx_frames.covered_ns >= prio->tx_frames.covered_ns);
}

static bool is_damaged(const struct port_seen *port, double lost)
{
	const double errors = fmax(lossless_loss_value_of(&port->fcs_errors),
		lossless_loss_value_of(&port->in_errors));
	return errors > 0 && errors >= ERRORS_PART * lost;
}

static double fill_of(const struct port_prio *prio)
{
	if (prio->headroom > 0)
		return prio->headroom_peak / prio->headroom;
	return NAN;
}

static bool may_have_lost(const struct port_prio *prio)
{
	return prio->pg_drops.alive || prio->drops.alive || prio->port->in_discards.alive ||
		!isnan(fill_of(prio));
}

static void lossless_loss_take(const struct observed *observed, const struct loss_options *opt,
	const struct port_prio *prio, struct loss *loss, double *best)
{
	const struct port_seen *p = prio->port;
	const double ingress = lossless_loss_value_of(&prio->pg_drops),
		     egress = fmax(0,
			     lossless_loss_value_of(&prio->drops) -
				     lossless_loss_value_of(&prio->storm_drops));
	double discards = 0;
	if (!prio->pg_drops.known && sends_pause(prio) && !loss->lossy_traffic &&
		lossless_loss_value_of(&p->in_discards) >= DISCARDS_MIN)
		discards = p->in_discards.value;
	const double lost = ingress + egress + discards, fill = fill_of(prio);
	loss->alive |= may_have_lost(prio);
	loss->fresh |= p->in_known && p->in.octets > 0;
	loss->stale |= prio_marks(prio, 0).stale;
	if (lossless_loss_value_of(&prio->storm_drops) > 0 ||
		lossless_loss_value_of(&prio->storms) > 0)
		return;
	if (lost > 0 && is_damaged(p, lost))
		return;
	if (lost <= 0 && !(fill >= opt->headroom && sends_pause(prio)))
		return;
	loss->n_near += lost <= 0;
	loss->n_lost += lost > 0;
	if (ingress + discards > 0 && sends_pause(prio)) {
		loss->paused = true;
		loss->headroom_known |= !isnan(fill);
		loss->headroom_full |= fill >= opt->headroom;
		loss->obeyed |= is_obeyed(observed, prio);
	}
	loss->ingress += ingress;
	loss->egress += egress;
	loss->discards += discards;
	loss->fill = fmax(loss->fill, fill);
	/* a fill may exceed 1 by rounding, never by a frame */
	double weight = fill;
	if (lost > 0)
		weight = 1 + lost;
	if (!loss->worst || weight > *best) {
		*best = weight;
		loss->worst = prio;
	}
}

/* ---- the cause ----------------------------------------------------------- */

enum {
	LOST = 1,
	INGRESS = 2,
	PAUSED = 4,
	FULL = 8,
	FILL_KNOWN = 16,
	POOL = 32,
	OBEYED = 64,
	DISCARDS_ONLY = 128,
	POOL_KNOWN = 256
};
static const struct loss_rule {
	unsigned yes, no;
	enum cause cause;
	double confidence;
	const char *rests_on;
} loss_rules[] = {
	{0, LOST, CAUSE_HEADROOM_SMALL, 0.7,
		"headroom nearly full while pause was sent; nothing lost yet"},
	{LOST | INGRESS | PAUSED | FULL | OBEYED, 0, CAUSE_HEADROOM_SMALL, 0.9,
		"ingress drops with pause sent and the headroom used up"},
	{LOST | DISCARDS_ONLY | PAUSED | FULL | OBEYED, 0, CAUSE_HEADROOM_SMALL, 0.6,
		"frames discarded on ports that were sending pause, with their headroom used up; "
		"not counted per class"},
	{LOST | INGRESS | POOL, FULL, CAUSE_POOL_EXHAUSTED, 0.75,
		"drops while the shared pool was full"},
	{LOST | INGRESS | PAUSED | OBEYED, FILL_KNOWN, CAUSE_HEADROOM_SMALL, 0.75,
		"ingress drops although pause was sent; the use of headroom is unknown"},
	{LOST | DISCARDS_ONLY, 0, CAUSE_LOSSLESS_LOSS, 0.5,
		"frames discarded on ports that were sending pause; the agent does not count them "
		"per class"},
	{LOST | INGRESS | PAUSED, OBEYED, CAUSE_LOSSLESS_LOSS, 0.4,
		"ingress drops; the neighbour counts none of our pause frames: headroom does not "
		"help against that"},
	{LOST | FILL_KNOWN | POOL_KNOWN, 0, CAUSE_LOSSLESS_LOSS, 0.6,
		"drops of the class; neither its headroom nor the pool was full"},
	{LOST | FILL_KNOWN, 0, CAUSE_LOSSLESS_LOSS, 0.6,
		"drops of the class; its headroom was not full"},
	{LOST, 0, CAUSE_LOSSLESS_LOSS, 0.6, "drops of the class"},
};

static const struct loss_rule *lossless_loss_cause_of(
	const struct loss *loss, const struct device_seen *device)
{
	unsigned is = 0;
	if (loss->n_lost)
		is |= LOST;
	if (loss->ingress > 0)
		is |= INGRESS;
	if (loss->paused)
		is |= PAUSED;
	if (loss->headroom_full)
		is |= FULL;
	if (loss->headroom_known)
		is |= FILL_KNOWN;
	if (device->pool_peak >= POOL_FULL * device->pool_bytes)
		is |= POOL;
	if (!isnan(device->pool_peak) && !isnan(device->pool_bytes))
		is |= POOL_KNOWN;
	if (loss->obeyed)
		is |= OBEYED;
	if (loss->discards > 0 && loss->ingress + loss->egress <= 0)
		is |= DISCARDS_ONLY;
	for (size_t i = 0; i < rw_countof(loss_rules); i++)
		if ((is & loss_rules[i].yes) == loss_rules[i].yes && !(is & loss_rules[i].no))
			return &loss_rules[i];
	return NULL;
}

/* ---- sentences ----------------------------------------------------------- */

static const char *lossless_loss_say(
	const struct loss *loss, const struct loss_rule *why, int priority, struct arena *a)
{
	const char *port = port_text(loss->worst->port, a),
		   *device = loss->worst->port->port->device->name;
	if (!loss->n_lost)
		return arena_printf(a,
			"%s: headroom of priority %d filled to %.0f %% while we paused %s", port,
			priority, 100 * loss->fill, far_end_text(loss->worst->port, a));
	const double lost = loss->ingress + loss->egress + loss->discards;
	const char *what;
	if (loss->discards > 0)
		what = arena_printf(a,
			"%s frames, all classes counted together (priority %d is lossless)",
			number_count_of(lost).s, priority);
	else
		what = arena_printf(
			a, "%s lossless frames (priority %d)", number_count_of(lost).s, priority);
	const char *where;
	if (loss->n_lost > 1)
		where = arena_printf(a, "%s lost %s at %u ports, most at %s", device, what,
			loss->n_lost, loss->worst->port->port->name);
	else
		where = arena_printf(a, "%s lost %s", port, what);
	if (why->cause == CAUSE_HEADROOM_SMALL)
		return arena_printf(
			a, "%s although it paused its neighbours: headroom too small", where);
	if (why->cause == CAUSE_POOL_EXHAUSTED)
		return arena_printf(a, "%s while its shared pool was full", where);
	return where;
}

static void lossless_loss_prove(
	struct draft *draft, const struct device_seen *device, const struct loss *loss)
{
	const struct port_prio *l = loss->worst;
	const struct port_seen *p = l->port;
	const struct {
		const char *metric;
		const struct amount *a;
	} amounts[] = {{"pg.drops", &l->pg_drops}, {"queue.drops", &l->drops},
		{"pfc.tx_frames", &l->tx_frames}};
	for (size_t i = 0; i < rw_countof(amounts); i++)
		finding_amount(draft, amounts[i].metric, p, l->priority, amounts[i].a, "frames");
	finding_amount(draft, "port.in_discards", p, PRIO_NONE, &p->in_discards, "frames");
	if (l->tx_pause.measured)
		finding_evidence(draft, "pfc.tx_pause_ns", p, l->priority, l->tx_pause_ns.value,
			"ns", l->tx_pause.quality);
	finding_evidence(draft, "pg.headroom_watermark_bytes", p, l->priority, l->headroom_peak,
		"bytes", QUALITY_EXACT);
	finding_evidence(draft, "cfg.pg_headroom_bytes", p, l->priority, l->headroom, "bytes",
		l->headroom_declared ? QUALITY_ESTIMATED : QUALITY_EXACT);
	finding_evidence_device(draft, "pool.watermark_bytes", device->device->name,
		device->pool_peak, "bytes", QUALITY_EXACT);
	finding_evidence_device(draft, "cfg.buffer_pool_bytes", device->device->name,
		device->pool_bytes, "bytes", QUALITY_EXACT);
}

static void lossless_loss_rule_out(
	struct draft *draft, const struct device_seen *device, const struct loss *loss)
{
	const struct port_seen *p = loss->worst->port;
	if (p->fcs_errors.known && p->fcs_errors.value == 0)
		finding_ruled_out(
			draft, "damaged frames: %s counts no FCS errors", port_text(p, draft->a));
	if (loss->worst->storms.known && loss->worst->storms.value == 0)
		finding_ruled_out(draft, "PFC watchdog: it dropped nothing");
	if (device->pool_peak < POOL_FULL * device->pool_bytes)
		finding_ruled_out(draft, "shared pool: it peaked at %.0f %%",
			100 * device->pool_peak / device->pool_bytes);
}

/* ---- the analyzer -------------------------------------------------------- */

/* What keeps the class lossless decides where to look. */
static unsigned loss_facts(const struct fabric *fabric, const struct port_prio *prio)
{
	const bool credits = prio->cbfc_enabled == 1 ||
		(prio->pfc_enabled != 1 &&
			class_lossless(fabric, prio->priority) == LOSSLESS_CREDIT);
	if (credits)
		return FACT_NO_PAUSE;
	return FACT_PFC;
}

static void lossless_loss_report(const struct analyzer_in *in, const struct device_seen *device,
	int priority, const struct loss *loss, struct finding_list *out)
{
	const struct loss_options *o = in->options;
	const struct loss_rule *why = lossless_loss_cause_of(loss, device);
	const bool by_class = loss->ingress + loss->egress > 0;
	int64_t hold = o->hold;
	if (!loss->n_lost && hold < HOLD_NEARLY)
		hold = HOLD_NEARLY;
	if (loss->n_lost && !by_class && hold < HOLD_DISCARDS)
		hold = HOLD_DISCARDS;
	struct draft t = finding_new(out, in, "lossless_loss", FINDING_OVER, hold);
	if (loss->n_lost + loss->n_near == 1)
		finding_subject(&t, loss->worst->port);
	t.f->device = device->device->name;
	t.f->priority = priority;
	t.f->cause = why->cause;
	t.f->severity = SEV_WARNING;
	if (loss->n_lost && by_class)
		t.f->severity = SEV_CRITICAL;
	t.f->value = loss->fill;
	t.f->warn = o->headroom;
	if (loss->n_lost) {
		t.f->value = loss->ingress + loss->egress + loss->discards;
		t.f->warn = 1;
	}
	t.f->coverage_ratio = observed_coverage(loss->worst->port);
	const bool declared = loss->worst->headroom_declared && loss->fill > 0;
	t.f->confidence_ratio = why->confidence * (declared ? 0.9 : 1);
	finding_rests_on(&t, "%s", why->rests_on);
	if (why->cause == CAUSE_LOSSLESS_LOSS && !loss->headroom_known)
		finding_unproved(&t, "whether headroom is too small: how full it gets is not told");
	if (declared)
		finding_against(&t,
			"the headroom size is declared in the configuration, not read back from "
			"the device");
	t.f->summary = lossless_loss_say(loss, why, priority, t.a);
	lossless_loss_prove(&t, device, loss);
	lossless_loss_rule_out(&t, device, loss);
	finding_add_role(&t, "culprit", "%s",
		t.f->port ? port_text(loss->worst->port, t.a) : device->device->name);
	if (loss->worst->port->port->host)
		finding_add_role(&t, "direct_victim", "%s", loss->worst->port->port->host);
	finding_steps(&t, why->cause, loss_facts(in->fabric, loss->worst));
}

static void lossless_loss_add_under(const struct analyzer_in *in, const struct device_seen *device,
	const struct port_seen *port, int priority, struct finding_list *out)
{
	const struct loss_options *o = in->options;
	if (finding_is_clear(out, in, "lossless_loss", device->device->name, 1))
		return;
	struct draft t = finding_new(out, in, "lossless_loss", FINDING_UNDER, o->hold);
	if (port)
		finding_subject(&t, port);
	t.f->device = device->device->name;
	t.f->priority = priority;
	t.f->cause = CAUSE_LOSSLESS_LOSS;
}

/* Do lossy classes carry a part of what the switch sends? Control traffic alone is not counted as
 * one. */
static bool has_lossy_traffic(const struct observed *observed, const struct device_seen *device)
{
	double lossy = 0, all = 0;
	for (size_t i = 0; i < device->n_ports; i++)
		for (int priority = 0; priority < OBSERVED_PRIORITIES; priority++) {
			const double octets = device->ports[i].class_octets[priority];
			if (isnan(octets))
				continue;
			all += octets;
			if (!(observed->fabric->lossless_mask >> priority & 1))
				lossy += octets;
		}
	return lossy > LOSSY_PART * all;
}

static void lossless_loss_judge(const struct analyzer_in *in, const struct observed *observed,
	const struct device_seen *device, int priority, struct finding_list *out)
{
	struct loss s = {.fill = NAN, .lossy_traffic = has_lossy_traffic(observed, device)};
	double best = 0;
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct port_prio *l = observed_prio(&device->ports[i], priority);
		if (l)
			lossless_loss_take(observed, in->options, l, &s, &best);
	}
	const bool over = s.n_lost + s.n_near > 0, one = s.n_lost + s.n_near == 1,
		   absent = s.alive && s.fresh && !s.stale;
	if (over && !one)
		lossless_loss_report(in, device, priority, &s, out);
	else if (absent) /* else nothing was ever lost, or nothing is known: there is no incident to
			    close */
		lossless_loss_add_under(in, device, NULL, priority, out);
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct port_prio *l = observed_prio(&device->ports[i], priority);
		if (one && l == s.worst)
			lossless_loss_report(in, device, priority, &s, out);
		else if (l && absent && may_have_lost(l))
			lossless_loss_add_under(in, device, &device->ports[i], priority, out);
	}
}

/* A class whose transport is made for loss: it sends again what was lost or trimmed, and only that.
 */
static bool may_lose(const struct fabric *fabric, int priority)
{
	return class_lossless(fabric, priority) == LOSSLESS_NONE &&
		class_policy_of(class_congestion(fabric, priority))->reorders;
}

static int lossless_loss_run(const struct analyzer_in *in, struct finding_list *out)
{
	const struct observed *o = observe(in);
	for (size_t i = 0; i < o->n_devices; i++) {
		analyzer_pause(in);
		for (int priority = 0; priority < OBSERVED_PRIORITIES; priority++)
			if (in->fabric->lossless_mask >> priority & 1 &&
				!may_lose(in->fabric, priority))
				lossless_loss_judge(in, o, &o->devices[i], priority, out);
	}
	return 0;
}

const struct analyzer analyzer_lossless_loss = {
	.name = "lossless_loss",
	.phase = 100,
	.doc = "frames lost in a lossless class, and headroom that is about to lose some",
	.options = {"analyzers", "lossless_loss", sizeof(struct loss_options), rows,
		rw_countof(rows), "loss in lossless classes, and headroom that is used up"},
	.window_offset = offsetof(struct loss_options, window_ns),
	.observes = true,
	.run = lossless_loss_run,
};

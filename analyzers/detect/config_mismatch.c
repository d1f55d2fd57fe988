/*
 * config_mismatch - settings that must be alike and are not: MTU, PFC and DSCP across a link,
 * within a tier, and against the configuration of the fabric. The reference is the majority of the
 * tier.
 *
 *     mtu_mismatch        below the lossless MTU; or other than at the other end of the link;
 *                         or other than most ports of the tier
 *     dscp_mismatch       trust or DSCP map other than that of most ports of the tier (of the
 *                         fabric, where the tier has no majority)
 *     pfc_wrong_priority  PFC on, or pause frames moving, on a priority that is not lossless, or
 *                         in a class that works without pause (policy.congestion mrc, credit,
 *                         ecn_only; policy.classes; credits read back)
 *     pfc_mismatch        PFC off on a lossless priority; or pause is sent and the neighbour
 *                         does not count it, or counts it and does not stop
 *
 * A setting is reported at the port that differs; for a switch that differs at all its ports, once.
 * A setting is a state, so two windows are enough. Behaviour counts only where the counter that
 * stands still is known to count at other ports of the same switch.
 */

#include "analyzers/measure/links.h"
#include "analyzers/finding_build.h"
#include "config/class_policy.h"

/* Platforms include the Ethernet header (14 bytes), a tag (4) and the FCS (4) in an MTU, or do not:
 * such a difference does not count. */
#define MTU_SLACK 22.0
/* pause frames in a window before silence at the other end proves something */
#define FRAMES_MIN 100.0
#define STRANGE_MIN 10.0 /* pause frames on another priority: one or two may be a probe */
#define PAUSED_MIN 0.01 /* share of the window in which we paused the neighbour */
/* received share of line rate plus share of time paused: more than 1 means that it sent while
 * paused */
#define OBEY_LIMIT 1.15
#define STATE_AGE_NS (366LL * 86400 * NS_PER_S)

struct config_mismatch_options {
	int64_t window_ns, hold;
};
static const struct option rows[] = {
	{"window", OPT_DURATION, offsetof(struct config_mismatch_options, window_ns), "0s", "0s",
		"1h", NULL, "evaluation window; 0 = three poll intervals, at least 5 s"},
	{"hold", OPT_INT, offsetof(struct config_mismatch_options, hold), "2", "1", "10000", NULL,
		"required windows, of the last hold + 2 (2: of the last 3), before an incident "
		"opens"},
};

/* ---- the majority --------------------------------------------------------- */

enum { ATTR_MTU, ATTR_TRUST, ATTR_DSCP, ATTRS };
static const char *const attr_metric[ATTRS] = {"port.mtu_bytes", "cfg.trust", "cfg.dscp_to_prio"};

enum { VALUES_MAX = 16, TIERS = 16, ALL_TIERS = TIERS };
struct value_census {
	struct {
		uint64_t value;
		size_t n;
	} seen[VALUES_MAX];
	size_t n_seen, n;
};

static void census_add(struct value_census *census, uint64_t value)
{
	census->n++;
	for (size_t i = 0; i < census->n_seen; i++)
		if (census->seen[i].value == value) {
			census->seen[i].n++;
			return;
		}
	if (census->n_seen < VALUES_MAX) {
		census->seen[census->n_seen].value = value;
		census->seen[census->n_seen++].n = 1;
	}
}

/* The value of more than half of three or more ports. */
static bool census_majority(const struct value_census *census, uint64_t *ret)
{
	for (size_t i = 0; census->n >= 3 && i < census->n_seen; i++)
		if (census->seen[i].n * 2 > census->n) {
			*ret = census->seen[i].value;
			return true;
		}
	return false;
}

enum { SLOT_PORT = OBSERVED_PRIORITIES, SLOTS };
enum why {
	WHY_NONE,
	WHY_SMALL,
	WHY_LINK,
	WHY_TIER,
	WHY_ENABLED,
	WHY_STRANGE,
	WHY_UNWANTED_SET,
	WHY_UNWANTED,
	WHY_OFF,
	WHY_UNHEARD,
	WHY_IGNORED,
	WHY_DISOBEYED
};

struct mismatch_cell { /* one port, one priority or the port itself */
	enum why why;
	int attr;
	const struct port_seen *other; /* the end it is compared with, NULL */
	double own, like;
	const char *own_text, *like_text;
	bool known;
};

struct mismatch {
	const struct analyzer_in *in;
	const struct observed *o;
	struct value_census (*census)[TIERS + 1];
	struct mismatch_cell (*cells)[SLOTS]; /* by port */
};

static unsigned config_mismatch_tier_of(const struct fabric_port *port)
{
	unsigned direction = 2;
	if (port->host)
		direction = 0;
	else if (!port->peer)
		direction = 3;
	else if (port->peer->device->role > port->device->role)
		direction = 1;
	return ((unsigned)port->device->role * 4 + direction) % TIERS;
}

static bool config_mismatch_value_of(
	const struct mismatch *mismatch, const struct port_seen *port, int attr, uint64_t *ret)
{
	if (attr == ATTR_MTU) {
		*ret = 0;
		if (port->mtu_bytes > 0)
			*ret = (uint64_t)port->mtu_bytes;
		return port->mtu_bytes > 0;
	}
	const struct series *s = NULL;
	if (port->entity != ENTITY_NONE)
		s = window_series(mismatch->in->window, port->entity,
			attr == ATTR_TRUST ? M_CFG_TRUST : M_CFG_DSCP_TO_PRIO);
	return s && series_state(s, mismatch->o->to_ns, STATE_AGE_NS, ret) == 0;
}

/* Hosts outside all jobs (storage, management) have their own settings. */
static bool config_mismatch_compares(const struct fabric *fabric, const struct fabric_port *port)
{
	if (!port->host)
		return port->peer;
	return !fabric_outside_jobs(fabric, port->host);
}

static void config_mismatch_take_census(struct mismatch *mismatch)
{
	for (size_t i = 0; i < mismatch->o->n_ports; i++)
		for (int attr = 0; attr < ATTRS; attr++) {
			const struct port_seen *p = &mismatch->o->ports[i];
			uint64_t v;
			if (!config_mismatch_compares(mismatch->o->fabric, p->port) ||
				!config_mismatch_value_of(mismatch, p, attr, &v))
				continue;
			census_add(&mismatch->census[attr][config_mismatch_tier_of(p->port)], v);
			census_add(&mismatch->census[attr][ALL_TIERS], v);
		}
}

/* ---- settings ------------------------------------------------------------ */

static bool mtu_differs(double left, double right)
{
	return fabs(left - right) > MTU_SLACK;
}

static bool off_tier(const struct mismatch *mismatch, const struct port_seen *port, int attr,
	uint64_t own, uint64_t *ret_like)
{
	if (!config_mismatch_compares(mismatch->o->fabric, port->port))
		return false;
	const bool known =
		census_majority(
			&mismatch->census[attr][config_mismatch_tier_of(port->port)], ret_like) ||
		(attr != ATTR_MTU && census_majority(&mismatch->census[attr][ALL_TIERS], ret_like));
	return known &&
		(attr == ATTR_MTU ? mtu_differs((double)own, (double)*ret_like) : own != *ret_like);
}

static void judge_mtu(
	const struct mismatch *mismatch, const struct port_seen *port, struct mismatch_cell *cell)
{
	const struct port_seen *far = observed_peer(mismatch->o, port);
	const double least = (double)mismatch->o->fabric->lossless_mtu_bytes;
	uint64_t own, like = 0, there, there_like;
	if (!config_mismatch_value_of(mismatch, port, ATTR_MTU, &own))
		return;
	cell->known = true;
	*cell = (struct mismatch_cell){
		.known = true, .attr = ATTR_MTU, .own = (double)own, .other = far};
	if (least > 0 && (double)own < least &&
		config_mismatch_compares(mismatch->o->fabric, port->port)) {
		cell->why = WHY_SMALL;
		cell->like = least;
	} else if (off_tier(mismatch, port, ATTR_MTU, own, &like)) {
		cell->why = WHY_TIER;
		cell->like = (double)like;
		if (far && far->mtu_bytes > 0 && mtu_differs((double)own, far->mtu_bytes)) {
			cell->why = WHY_LINK;
			cell->like = far->mtu_bytes;
		}
	} else if (far && config_mismatch_value_of(mismatch, far, ATTR_MTU, &there) &&
		mtu_differs((double)own, (double)there) && own < there &&
		!off_tier(mismatch, far, ATTR_MTU, there, &there_like)) {
		/* no majority says which end is right; the smaller one drops what the larger one
		 * sends */
		cell->why = WHY_LINK;
		cell->like = (double)there;
	}
}

static void judge_dscp(
	const struct mismatch *mismatch, const struct port_seen *port, struct mismatch_cell *cell)
{
	for (int attr = ATTR_TRUST; attr < ATTRS; attr++) {
		uint64_t own, like;
		if (!config_mismatch_value_of(mismatch, port, attr, &own))
			continue;
		cell->known = true;
		if (cell->why || !off_tier(mismatch, port, attr, own, &like))
			continue;
		*cell = (struct mismatch_cell){.known = true,
			.why = WHY_TIER,
			.attr = attr,
			.own_text = entities_text_get(mismatch->in->window->entities, own),
			.like_text = entities_text_get(mismatch->in->window->entities, like)};
	}
}

/* ---- behaviour ----------------------------------------------------------- */

/* Does the switch count this at another port? Only then does a zero mean something. */
static bool counts_elsewhere(const struct port_seen *port, int priority, size_t offset)
{
	for (size_t i = 0; i < port->device->n_ports; i++) {
		const struct port_seen *q = &port->device->ports[i];
		const struct port_prio *l = NULL;
		if (q != port)
			l = observed_prio(q, priority);
		if (l && ((const struct amount *)((const char *)l + offset))->value > 0)
			return true;
	}
	return false;
}

/* We paused the neighbour. Did it count our pause frames, and did it stop? */
static enum why config_mismatch_unheeded(
	const struct mismatch *mismatch, const struct port_prio *prio, const struct port_seen *far)
{
	const struct port_prio *there = NULL;
	if (far)
		there = observed_prio(far, prio->priority);
	const struct port_seen *p = prio->port;
	if (there && prio->tx_frames.value >= FRAMES_MIN && far->device->n_series) {
		if (there->rx_frames.known && there->rx_frames.value == 0 &&
			counts_elsewhere(
				far, prio->priority, offsetof(struct port_prio, rx_frames)))
			return WHY_UNHEARD;
		if (there->rx_pause_ns.known && there->rx_pause_ns.value == 0 &&
			there->rx_frames.value > 0 &&
			counts_elsewhere(
				far, prio->priority, offsetof(struct port_prio, rx_pause_ns)))
			return WHY_IGNORED;
	}
	double load = NAN;
	if (p->in_known && p->in.read_bps)
		load = p->in.rate_bps / (double)p->in.read_bps;
	if (prio->tx_pause.measured && prio->tx_pause.lo >= PAUSED_MIN &&
		load + prio->tx_pause.lo > OBEY_LIMIT && p->in.quality == QUALITY_EXACT)
		return WHY_DISOBEYED;
	return WHY_NONE;
}

static double strange_frames(const struct port_prio *prio)
{
	return prio->rx_frames.value + prio->tx_frames.value;
}

/* By what is declared of the class, and by credits that the port itself reports. */
static bool pause_is_wanted(const struct mismatch *mismatch, const struct port_prio *prio)
{
	return class_pause_wanted(mismatch->o->fabric, prio->priority) && prio->cbfc_enabled != 1;
}

/* "its congestion policy is mrc", "credits are read back" */
static const char *pause_unwanted_text(const struct fabric *fabric, int priority, struct arena *a)
{
	if (class_pause_wanted(fabric, priority))
		return "credits are read back";
	if (fabric->classes[priority].given && fabric->classes[priority].lossless)
		return arena_printf(a, "policy.classes says lossless: %s",
			class_lossless_name(fabric->classes[priority].lossless));
	return arena_printf(a, "its congestion policy is %s",
		congestion_policy_name(class_congestion(fabric, priority)));
}

static void config_mismatch_judge_prio(
	const struct mismatch *mismatch, const struct port_prio *prio, struct mismatch_cell *cell)
{
	const struct port_seen *far = observed_peer(mismatch->o, prio->port);
	const bool pfc = pause_is_wanted(mismatch, prio);
	*cell = (struct mismatch_cell){
		.known = true, .other = far, .own = prio->pfc_enabled, .like = prio->lossless};
	if (!prio->lossless) {
		if (strange_frames(prio) >= STRANGE_MIN) {
			cell->why = WHY_STRANGE;
			cell->own = strange_frames(prio);
		} else if (prio->pfc_enabled == 1) {
			cell->why = WHY_ENABLED;
		}
		return;
	}
	if (prio->pfc_enabled == 0 && pfc && !port_is_down(prio->port) &&
		config_mismatch_compares(mismatch->o->fabric, prio->port->port)) {
		cell->why = WHY_OFF;
		return;
	}
	if (!pfc && (strange_frames(prio) >= STRANGE_MIN || prio->pfc_enabled == 1)) {
		cell->why = WHY_UNWANTED_SET;
		if (strange_frames(prio) >= STRANGE_MIN)
			cell->why = WHY_UNWANTED;
		cell->own = strange_frames(prio);
		return;
	}
	cell->own = NAN;
	if (pfc)
		cell->why = config_mismatch_unheeded(mismatch, prio, far);
	if (cell->why)
		cell->own = prio->tx_frames.value;
}

/* ---- findings ------------------------------------------------------------ */

static enum cause config_mismatch_cause_of(const struct mismatch_cell *cell)
{
	switch (cell->why) {
	case WHY_SMALL:
	case WHY_LINK: return CAUSE_MTU_MISMATCH;
	case WHY_TIER:
		if (cell->attr == ATTR_MTU)
			return CAUSE_MTU_MISMATCH;
		return CAUSE_DSCP_MISMATCH;
	case WHY_ENABLED:
	case WHY_STRANGE:
	case WHY_UNWANTED_SET:
	case WHY_UNWANTED: return CAUSE_PFC_WRONG_PRIORITY;
	default: return CAUSE_PFC_MISMATCH;
	}
}

static const char *config_mismatch_where_of(
	const struct port_seen *port, bool whole, struct arena *a)
{
	if (whole)
		return arena_printf(a, "%s, all ports", port->port->device->name);
	return port_text(port, a);
}

static const char *config_mismatch_says(const struct fabric *fabric,
	const struct mismatch_cell *cell, const struct port_seen *port, int slot, bool whole,
	struct arena *a)
{
	const char *at = config_mismatch_where_of(port, whole, a), *far = far_end_text(port, a);
	switch (cell->why) {
	case WHY_SMALL:
		return arena_printf(a,
			"%s: MTU %.0f bytes is too small: the lossless class needs %.0f", at,
			cell->own, cell->like);
	case WHY_LINK:
		return arena_printf(a, "%s: MTU %.0f bytes, but %.0f at the other end, %s", at,
			cell->own, cell->like, far);
	case WHY_TIER:
		if (cell->attr == ATTR_MTU)
			return arena_printf(a,
				"%s: MTU %.0f bytes; most ports of the same role have %.0f", at,
				cell->own, cell->like);
		return arena_printf(a, "%s: %s is \"%.80s\"; most ports have \"%.80s\"", at,
			cell->attr == ATTR_TRUST ? "trust" : "the DSCP map", cell->own_text,
			cell->like_text);
	case WHY_ENABLED:
		return arena_printf(
			a, "%s: PFC is on for priority %d, which is not lossless", at, slot);
	case WHY_STRANGE:
		return arena_printf(a,
			"%s and %s exchange pause frames on priority %d, which is not lossless", at,
			far, slot);
	case WHY_UNWANTED_SET:
		return arena_printf(a,
			"%s: PFC is on for priority %d, whose class works without pause (%s)", at,
			slot, pause_unwanted_text(fabric, slot, a));
	case WHY_UNWANTED:
		return arena_printf(a,
			"%s and %s exchange pause frames on priority %d, whose class works without "
			"pause (%s)",
			at, far, slot, pause_unwanted_text(fabric, slot, a));
	case WHY_OFF:
		return arena_printf(
			a, "%s: PFC is off for priority %d, which should be lossless", at, slot);
	case WHY_UNHEARD:
		return arena_printf(a,
			"%s pauses %s on priority %d, but that end counts no pause frame: PFC "
			"differs between the ends",
			at, far, slot);
	case WHY_IGNORED:
		return arena_printf(a,
			"%s pauses %s on priority %d; it counts the pause frames and does not stop",
			at, far, slot);
	default:
		return arena_printf(a,
			"%s pauses %s on priority %d; it keeps sending more than the remaining "
			"time allows",
			at, far, slot);
	}
}

static double sum_discards(const struct device_seen *device)
{
	double n = 0;
	for (size_t i = 0; i < device->n_ports; i++)
		n += device->ports[i].in_discards.value + device->ports[i].out_discards.value;
	return n;
}

static enum severity config_mismatch_severity_of(
	const struct mismatch_cell *cell, const struct port_seen *port, int slot)
{
	const struct port_prio *l = observed_prio(port, slot);
	if (cell->why == WHY_SMALL || (l && l->pg_drops.value > 0) ||
		(cell->attr >= ATTR_TRUST && sum_discards(port->device) > 0) ||
		port->in_discards.value > 0)
		return SEV_CRITICAL;
	if (cell->why == WHY_ENABLED || cell->why == WHY_UNWANTED_SET)
		return SEV_INFO;
	return SEV_WARNING;
}

static void evidence_of(const struct mismatch_cell *cell, const struct port_seen *port, int slot,
	struct draft *draft)
{
	const struct port_prio *here = observed_prio(port, slot);
	const struct port_prio *there = NULL;
	if (cell->other)
		there = observed_prio(cell->other, slot);
	if (cell->attr == ATTR_MTU && slot == SLOT_PORT) {
		finding_evidence(draft, "port.mtu_bytes", port, PRIO_NONE, port->mtu_bytes, "bytes",
			QUALITY_EXACT);
		if (cell->other)
			finding_evidence(draft, "port.mtu_bytes", cell->other, PRIO_NONE,
				cell->other->mtu_bytes, "bytes", QUALITY_EXACT);
	}
	if (slot == SLOT_PORT) {
		finding_rests_on(draft, "%s, read back", attr_metric[cell->attr]);
		return;
	}
	finding_evidence(
		draft, "cfg.pfc_enabled", port, slot, here->pfc_enabled, "-", QUALITY_EXACT);
	finding_amount(draft, "pfc.tx_frames", port, slot, &here->tx_frames, "frames");
	finding_amount(draft, "pfc.rx_frames", port, slot, &here->rx_frames, "frames");
	finding_amount(draft, "pg.drops", port, slot, &here->pg_drops, "frames");
	finding_evidence(draft, "pfc.tx_pause_ratio", port, slot, here->tx_pause.lo, "ratio",
		here->tx_pause.quality);
	if (there) {
		finding_evidence(draft, "cfg.pfc_enabled", cell->other, slot, there->pfc_enabled,
			"-", QUALITY_EXACT);
		finding_amount(
			draft, "pfc.rx_frames", cell->other, slot, &there->rx_frames, "frames");
		finding_amount(
			draft, "pfc.rx_pause_ns", cell->other, slot, &there->rx_pause_ns, "ns");
	}
	const bool by_setting =
		cell->why == WHY_OFF || cell->why == WHY_ENABLED || cell->why == WHY_UNWANTED_SET;
	if (cell->why == WHY_UNWANTED || cell->why == WHY_UNWANTED_SET) {
		finding_rests_on(draft, "what policy: declares of the class, compared with %s",
			by_setting ? "cfg.pfc_enabled, read back" : "its pause counters");
		return;
	}
	finding_rests_on(draft,
		by_setting ? "cfg.pfc_enabled, read back, compared with lossless.priorities"
			   : "pause counters of both ends; the counter that stands still does "
			     "count at other ports of its switch");
}

static double config_mismatch_confidence_of(enum why why)
{
	switch (why) {
	case WHY_TIER: return 0.85;
	case WHY_DISOBEYED: return 0.7;
	case WHY_UNHEARD:
	case WHY_STRANGE:
	case WHY_UNWANTED: return 0.8;
	default: return 0.95;
	}
}

/* A setting that was read back proves more than frames that were counted. */
static bool config_mismatch_read_back(enum why why)
{
	return why == WHY_SMALL || why == WHY_LINK || why == WHY_TIER || why == WHY_ENABLED ||
		why == WHY_UNWANTED_SET || why == WHY_OFF;
}

static void config_mismatch_report_cell(const struct mismatch *mismatch,
	const struct port_seen *port, int slot, bool whole, const struct mismatch_cell *cell,
	struct finding_list *out)
{
	const struct config_mismatch_options *o = mismatch->in->options;
	if (!cell->why && port->device->n_series &&
		finding_is_clear(out, mismatch->in, "config_mismatch", port->port->device->name, 1))
		return;
	struct draft t = finding_new(out, mismatch->in, "config_mismatch",
		finding_verdict(cell->why, port->device->n_series), o->hold);
	t.f->priority = PRIO_NONE;
	if (slot != SLOT_PORT)
		t.f->priority = slot;
	t.f->cause = config_mismatch_cause_of(cell);
	t.f->summary = "";
	if (whole)
		t.f->device = port->port->device->name;
	else
		finding_subject(&t, port);
	if (!cell->why)
		return;
	t.f->severity = config_mismatch_severity_of(cell, port, slot);
	t.f->value = 1;
	t.f->warn = 1;
	t.f->proven = config_mismatch_read_back(cell->why);
	t.f->confidence_ratio = config_mismatch_confidence_of(cell->why);
	t.f->summary = config_mismatch_says(mismatch->o->fabric, cell, port, slot, whole, t.a);
	t.f->coverage_ratio = observed_coverage(port);
	evidence_of(cell, port, slot, &t);
	const bool neighbours =
		cell->why == WHY_IGNORED || cell->why == WHY_DISOBEYED || cell->why == WHY_UNHEARD;
	const char *culprit = port_text(port, t.a);
	if (neighbours)
		culprit = far_end_text(port, t.a);
	else if (whole)
		culprit = port->port->device->name;
	finding_add_role(&t, "culprit", "%s", culprit);
	if (neighbours)
		finding_add_role(&t, "direct_victim", "%s", port_text(port, t.a));
	unsigned facts = FACT_OTHER_PRIORITY;
	if (cell->why == WHY_UNWANTED || cell->why == WHY_UNWANTED_SET)
		facts = FACT_NO_PAUSE;
	finding_steps(&t, t.f->cause, facts);
}

static bool cell_alike(const struct mismatch_cell *left, const struct mismatch_cell *right)
{
	return left->why == right->why && left->attr == right->attr &&
		str_eq(left->own_text, right->own_text);
}

/* NULL: unknown. Most priorities have no counters; their cells are not touched. */
static const struct mismatch_cell *config_mismatch_cell_of(
	const struct mismatch *mismatch, const struct port_seen *port, int slot)
{
	if (slot != SLOT_PORT && !port->prios[slot])
		return NULL;
	const struct mismatch_cell *c = &mismatch->cells[port - mismatch->o->ports][slot];
	if (c->known)
		return c;
	return NULL;
}

/* Two or more ports that all differ in the same way: it is the switch. Behaviour never belongs to
 * the whole switch, since each neighbour is another device. */
static const struct mismatch_cell *whole_device(
	const struct mismatch *mismatch, const struct device_seen *device, int slot)
{
	const struct mismatch_cell *first = NULL;
	size_t n = 0;
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct mismatch_cell *c =
			config_mismatch_cell_of(mismatch, &device->ports[i], slot);
		if (!c)
			continue;
		if (!c->why || c->why >= WHY_UNHEARD || c->why == WHY_STRANGE ||
			c->why == WHY_UNWANTED || (first && !cell_alike(first, c)))
			return NULL;
		first = c;
		n++;
	}
	if (n >= 2)
		return first;
	return NULL;
}

static void config_mismatch_report_device(struct mismatch *mismatch,
	const struct device_seen *device, int slot, struct finding_list *out)
{
	static const struct mismatch_cell fine;
	const struct mismatch_cell *whole = whole_device(mismatch, device, slot);
	size_t known = 0;
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct mismatch_cell *c =
			config_mismatch_cell_of(mismatch, &device->ports[i], slot);
		if (!c)
			continue;
		if (!known++)
			config_mismatch_report_cell(mismatch, &device->ports[i], slot, true,
				whole ? whole : &fine, out);
		config_mismatch_report_cell(
			mismatch, &device->ports[i], slot, false, whole ? &fine : c, out);
	}
}

static int config_mismatch_run(const struct analyzer_in *in, struct finding_list *out)
{
	struct mismatch m = {.in = in, .o = observe(in)};
	m.census = arena_alloc(in->arena, sizeof(*m.census) * ATTRS);
	m.cells = arena_alloc(in->arena, sizeof(*m.cells) * (m.o->n_ports + 1));
	config_mismatch_take_census(&m);
	for (size_t i = 0; i < m.o->n_ports; i++) {
		const struct port_seen *p = &m.o->ports[i];
		analyzer_pause(in);
		judge_mtu(&m, p, &m.cells[i][SLOT_PORT]);
		judge_dscp(&m, p, &m.cells[i][SLOT_PORT]);
		for (int priority = 0; priority < OBSERVED_PRIORITIES; priority++)
			if (p->prios[priority])
				config_mismatch_judge_prio(
					&m, p->prios[priority], &m.cells[i][priority]);
	}
	for (size_t i = 0; i < m.o->n_devices; i++) {
		analyzer_pause(in);
		for (int slot = 0; slot < SLOTS; slot++)
			config_mismatch_report_device(&m, &m.o->devices[i], slot, out);
	}
	return 0;
}

const struct analyzer analyzer_config_mismatch = {
	.name = "config_mismatch",
	.phase = 20,
	.doc = "MTU, PFC and DSCP settings that differ across a link, within a tier, or from what "
	       "the fabric is meant to do",
	.options = {"analyzers", "config_mismatch", sizeof(struct config_mismatch_options), rows,
		rw_countof(rows), "settings that must be alike"},
	.window_offset = offsetof(struct config_mismatch_options, window_ns),
	.spec = {.metrics = (const uint16_t[]){M_CFG_TRUST, M_CFG_DSCP_TO_PRIO}, .n_metrics = 2},
	.observes = true,
	.run = config_mismatch_run,
};

/*
 * config_mismatch - settings that must be alike and are not: MTU, PFC and DSCP across a link,
 * within a tier, against what the fabric is meant to do. Source: tuning facts, d row 12 (align to
 * the majority of the tier); training facts, 3.
 *
 *     mtu_mismatch        below the lossless MTU; or other than at the other end of the link;
 *                         or other than most ports of the tier
 *     dscp_mismatch       trust or DSCP map other than that of most ports of the tier (of the
 *                         fabric, where the tier has no majority)
 *     pfc_wrong_priority  PFC on, or pause frames moving, on a priority that is not lossless
 *     pfc_mismatch        PFC off on a lossless priority; or pause is sent and the neighbour
 *                         does not hear it, or hears and does not stop
 *
 * A setting is told at the port that differs; of a switch that differs at all its ports, once. The
 * setting is a state, so two windows hold it. Behaviour counts only where the counter that stays
 * still is known to count elsewhere on the same switch.
 */
#include <math.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "analyzers/measure/links.h"
#include "analyzers/finding_build.h"

/* Platforms count the Ethernet header (14), a tag (4) and the FCS (4) into an MTU, or do not: such
 * a difference is none. */
#define MTU_SLACK 22.0
#define FRAMES_MIN                                                                                 \
	100.0 /* pause frames in a window before silence at the other end proves something */
#define STRANGE_MIN 10.0 /* pause frames on another priority: a probe or two are no story */
#define PAUSED_MIN 0.01 /* share of the window a neighbour was told to stop */
#define OBEY_LIMIT                                                                                 \
	1.15 /* rate received, of line rate, plus share of time paused: more than 1 means it sent  \
		while paused */
#define STATE_AGE_NS (366LL * 86400 * NS_PER_S)

struct config_mismatch_options {
	int64_t window_ns, hold;
};
static const struct option rows[] = {
	{"window", OPT_DURATION, offsetof(struct config_mismatch_options, window_ns), "0s", "0s",
		"1h", NULL, "time one look spans; 0 = three poll intervals, at least 5 s"},
	{"hold", OPT_INT, offsetof(struct config_mismatch_options, hold), "2", "1", "10000", NULL,
		"windows, of the last hold + 2 (2: of the last 3), that must show it"},
};

/* ---- what most of them have ---------------------------------------------- */

enum { ATTR_MTU, ATTR_TRUST, ATTR_DSCP, ATTRS };
static const char *const attr_metric[ATTRS] = {"port.mtu_bytes", "cfg.trust", "cfg.dscp_to_prio"};

enum { VALUES_MAX = 16, TIERS = 16, ALL_TIERS = TIERS };
struct census {
	struct {
		uint64_t value;
		size_t n;
	} seen[VALUES_MAX];
	size_t n_seen, n;
};

static void census_add(struct census *c, uint64_t value)
{
	c->n++;
	for (size_t i = 0; i < c->n_seen; i++)
		if (c->seen[i].value == value) {
			c->seen[i].n++;
			return;
		}
	if (c->n_seen < VALUES_MAX) {
		c->seen[c->n_seen].value = value;
		c->seen[c->n_seen++].n = 1;
	}
}

/* What more than half of three or more have. */
static bool census_majority(const struct census *c, uint64_t *ret)
{
	for (size_t i = 0; c->n >= 3 && i < c->n_seen; i++)
		if (c->seen[i].n * 2 > c->n) {
			*ret = c->seen[i].value;
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
	WHY_OFF,
	WHY_UNHEARD,
	WHY_IGNORED,
	WHY_DISOBEYED
};

struct cell { /* one port, one priority or the port itself */
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
	struct census (*census)[TIERS + 1];
	struct cell (*cells)[SLOTS]; /* by port */
};

static unsigned tier_of(const struct fabric_port *p)
{
	const unsigned direction = p->host                ? 0
		: !p->peer                                ? 3
		: p->peer->device->role > p->device->role ? 1
							  : 2;
	return ((unsigned)p->device->role * 4 + direction) % TIERS;
}

static bool value_of(const struct mismatch *m, const struct port_seen *p, int attr, uint64_t *ret)
{
	if (attr == ATTR_MTU) {
		*ret = p->mtu_bytes > 0 ? (uint64_t)p->mtu_bytes : 0;
		return p->mtu_bytes > 0;
	}
	const struct series *s = p->entity == ENTITY_NONE
		? NULL
		: window_series(m->in->window, p->entity,
			  attr == ATTR_TRUST ? M_CFG_TRUST : M_CFG_DSCP_TO_PRIO);
	return s && series_state(s, m->o->to_ns, STATE_AGE_NS, ret) == 0;
}

/* Hosts outside all jobs (storage, management) have their own settings. */
static bool compares(const struct fabric *f, const struct fabric_port *p)
{
	if (!p->host || !f->n_jobs)
		return p->host || p->peer;
	for (size_t i = 0; i < f->n_jobs; i++)
		if (str_glob(f->jobs[i].hosts, p->host))
			return true;
	return false;
}

static void take_census(struct mismatch *m)
{
	for (size_t i = 0; i < m->o->n_ports; i++)
		for (int attr = 0; attr < ATTRS; attr++) {
			const struct port_seen *p = &m->o->ports[i];
			uint64_t v;
			if (!compares(m->o->fabric, p->port) || !value_of(m, p, attr, &v))
				continue;
			census_add(&m->census[attr][tier_of(p->port)], v);
			census_add(&m->census[attr][ALL_TIERS], v);
		}
}

/* ---- settings ------------------------------------------------------------ */

static bool mtu_differs(double a, double b)
{
	return fabs(a - b) > MTU_SLACK;
}

static bool off_tier(const struct mismatch *m, const struct port_seen *p, int attr, uint64_t own,
	uint64_t *ret_like)
{
	if (!compares(m->o->fabric, p->port))
		return false;
	const bool known = census_majority(&m->census[attr][tier_of(p->port)], ret_like) ||
		(attr != ATTR_MTU && census_majority(&m->census[attr][ALL_TIERS], ret_like));
	return known &&
		(attr == ATTR_MTU ? mtu_differs((double)own, (double)*ret_like) : own != *ret_like);
}

static void judge_mtu(const struct mismatch *m, const struct port_seen *p, struct cell *c)
{
	const struct port_seen *far = observed_peer(m->o, p);
	const double least = (double)m->o->fabric->lossless_mtu_bytes;
	uint64_t own, like = 0, there, there_like;
	if (!value_of(m, p, ATTR_MTU, &own))
		return;
	c->known = true;
	*c = (struct cell){.known = true, .attr = ATTR_MTU, .own = (double)own, .other = far};
	if (least > 0 && (double)own < least && compares(m->o->fabric, p->port)) {
		c->why = WHY_SMALL;
		c->like = least;
	} else if (off_tier(m, p, ATTR_MTU, own, &like)) {
		c->why = far && far->mtu_bytes > 0 && mtu_differs((double)own, far->mtu_bytes)
			? WHY_LINK
			: WHY_TIER;
		c->like = c->why == WHY_LINK ? far->mtu_bytes : (double)like;
	} else if (far && value_of(m, far, ATTR_MTU, &there) &&
		mtu_differs((double)own, (double)there) && own < there &&
		!off_tier(m, far, ATTR_MTU, there, &there_like)) {
		/* nobody's majority says which end is right: the smaller one drops what the larger
		 * one sends */
		c->why = WHY_LINK;
		c->like = (double)there;
	}
}

static void judge_dscp(const struct mismatch *m, const struct port_seen *p, struct cell *c)
{
	for (int attr = ATTR_TRUST; attr < ATTRS; attr++) {
		uint64_t own, like;
		if (!value_of(m, p, attr, &own))
			continue;
		c->known = true;
		if (c->why || !off_tier(m, p, attr, own, &like))
			continue;
		*c = (struct cell){.known = true,
			.why = WHY_TIER,
			.attr = attr,
			.own_text = entities_text_get(m->in->window->entities, own),
			.like_text = entities_text_get(m->in->window->entities, like)};
	}
}

/* ---- behaviour ----------------------------------------------------------- */

/* Does the switch count this elsewhere? Only then does standing still mean something. */
static bool counts_elsewhere(const struct port_seen *p, int priority, size_t offset)
{
	for (size_t i = 0; i < p->device->n_ports; i++) {
		const struct port_seen *q = &p->device->ports[i];
		const struct lane_seen *l = q == p ? NULL : observed_lane(q, priority);
		if (l && ((const struct amount *)((const char *)l + offset))->value > 0)
			return true;
	}
	return false;
}

/* We told the neighbour to stop. What does it say of it? */
static enum why unheeded(
	const struct mismatch *m, const struct lane_seen *l, const struct port_seen *far)
{
	const struct lane_seen *there = far ? observed_lane(far, l->priority) : NULL;
	const struct port_seen *p = l->port;
	if (there && l->tx_frames.value >= FRAMES_MIN && far->device->n_series) {
		if (there->rx_frames.known && there->rx_frames.value == 0 &&
			counts_elsewhere(far, l->priority, offsetof(struct lane_seen, rx_frames)))
			return WHY_UNHEARD;
		if (there->rx_pause_ns.known && there->rx_pause_ns.value == 0 &&
			there->rx_frames.value > 0 &&
			counts_elsewhere(far, l->priority, offsetof(struct lane_seen, rx_pause_ns)))
			return WHY_IGNORED;
	}
	const double load =
		p->in_known && p->in.read_bps ? p->in.rate_bps / (double)p->in.read_bps : NAN;
	if (l->tx_pause.measured && l->tx_pause.lo >= PAUSED_MIN &&
		load + l->tx_pause.lo > OBEY_LIMIT && p->in.quality == QUALITY_EXACT)
		return WHY_DISOBEYED;
	return WHY_NONE;
}

static double strange_frames(const struct lane_seen *l)
{
	return l->rx_frames.value + l->tx_frames.value;
}

static void judge_lane(const struct mismatch *m, const struct lane_seen *l, struct cell *c)
{
	const struct port_seen *far = observed_peer(m->o, l->port);
	const bool pfc = m->o->fabric->congestion != CC_ECN_ONLY;
	*c = (struct cell){.known = true, .other = far, .own = l->pfc_enabled, .like = l->lossless};
	if (!l->lossless) {
		c->why = strange_frames(l) >= STRANGE_MIN ? WHY_STRANGE
			: l->pfc_enabled == 1             ? WHY_ENABLED
							  : WHY_NONE;
		c->own = c->why == WHY_STRANGE ? strange_frames(l) : l->pfc_enabled;
	} else if (l->pfc_enabled == 0 && pfc && compares(m->o->fabric, l->port->port) &&
		!port_is_down(l->port)) {
		c->why = WHY_OFF;
	} else {
		c->why = pfc ? unheeded(m, l, far) : WHY_NONE;
		c->own = c->why ? l->tx_frames.value : NAN;
	}
}

/* ---- telling ------------------------------------------------------------- */

static const char *cause_of(const struct cell *c)
{
	switch (c->why) {
	case WHY_SMALL:
	case WHY_LINK: return "mtu_mismatch";
	case WHY_TIER: return c->attr == ATTR_MTU ? "mtu_mismatch" : "dscp_mismatch";
	case WHY_ENABLED:
	case WHY_STRANGE: return "pfc_wrong_priority";
	default: return "pfc_mismatch";
	}
}

static const char *where_of(const struct port_seen *p, bool whole, struct arena *a)
{
	return whole ? arena_printf(a, "%s, all ports", p->port->device->name) : tell_port(p, a);
}

static const char *says(
	const struct cell *c, const struct port_seen *p, int slot, bool whole, struct arena *a)
{
	const char *at = where_of(p, whole, a), *far = tell_far(p, a);
	switch (c->why) {
	case WHY_SMALL:
		return arena_printf(a,
			"%s: MTU %.0f is below the %.0f that the lossless class needs", at, c->own,
			c->like);
	case WHY_LINK:
		return arena_printf(
			a, "%s: MTU %.0f, the other end %s has %.0f", at, c->own, far, c->like);
	case WHY_TIER:
		if (c->attr == ATTR_MTU)
			return arena_printf(a, "%s: MTU %.0f, most ports like it have %.0f", at,
				c->own, c->like);
		return arena_printf(a, "%s: %s is \"%.80s\", most ports have \"%.80s\"", at,
			c->attr == ATTR_TRUST ? "trust" : "the DSCP map", c->own_text,
			c->like_text);
	case WHY_ENABLED:
		return arena_printf(
			a, "%s: PFC is on for priority %d, which is not lossless", at, slot);
	case WHY_STRANGE:
		return arena_printf(a,
			"%s and %s exchange pause frames on priority %d, which is not lossless", at,
			far, slot);
	case WHY_OFF:
		return arena_printf(a,
			"%s: PFC is off for priority %d, which is meant to be lossless", at, slot);
	case WHY_UNHEARD:
		return arena_printf(a,
			"%s pauses %s on priority %d, and that end counts no pause frame: PFC is "
			"not alike at both ends",
			at, far, slot);
	case WHY_IGNORED:
		return arena_printf(a,
			"%s pauses %s on priority %d, which hears it and does not stop", at, far,
			slot);
	default:
		return arena_printf(a,
			"%s pauses %s on priority %d, which goes on sending: more than the pause "
			"leaves time for",
			at, far, slot);
	}
}

static double sum_discards(const struct device_seen *d)
{
	double n = 0;
	for (size_t i = 0; i < d->n_ports; i++)
		n += d->ports[i].in_discards.value + d->ports[i].out_discards.value;
	return n;
}

static enum severity severity_of(const struct cell *c, const struct port_seen *p, int slot)
{
	const struct lane_seen *l = observed_lane(p, slot);
	if (c->why == WHY_SMALL || (l && l->pg_drops.value > 0) ||
		(c->attr >= ATTR_TRUST && sum_discards(p->device) > 0) || p->in_discards.value > 0)
		return SEV_CRITICAL;
	return c->why == WHY_ENABLED ? SEV_INFO : SEV_WARNING;
}

static void evidence_of(const struct cell *c, const struct port_seen *p, int slot, struct tell *t)
{
	const struct lane_seen *here = observed_lane(p, slot),
			       *there = c->other ? observed_lane(c->other, slot) : NULL;
	if (c->attr == ATTR_MTU && slot == SLOT_PORT) {
		tell_evidence(
			t, "port.mtu_bytes", p, PRIO_NONE, p->mtu_bytes, "bytes", QUALITY_EXACT);
		if (c->other)
			tell_evidence(t, "port.mtu_bytes", c->other, PRIO_NONE, c->other->mtu_bytes,
				"bytes", QUALITY_EXACT);
	}
	if (slot == SLOT_PORT) {
		tell_rests_on(t, "%s, read back", attr_metric[c->attr]);
		return;
	}
	tell_evidence(t, "cfg.pfc_enabled", p, slot, here->pfc_enabled, "-", QUALITY_EXACT);
	tell_amount(t, "pfc.tx_frames", p, slot, &here->tx_frames, "frames");
	tell_amount(t, "pfc.rx_frames", p, slot, &here->rx_frames, "frames");
	tell_amount(t, "pg.drops", p, slot, &here->pg_drops, "frames");
	tell_evidence(t, "pfc.tx_pause_ratio", p, slot, here->tx_pause.lo, "ratio",
		here->tx_pause.quality);
	if (there) {
		tell_evidence(t, "cfg.pfc_enabled", c->other, slot, there->pfc_enabled, "-",
			QUALITY_EXACT);
		tell_amount(t, "pfc.rx_frames", c->other, slot, &there->rx_frames, "frames");
		tell_amount(t, "pfc.rx_pause_ns", c->other, slot, &there->rx_pause_ns, "ns");
	}
	tell_rests_on(t,
		c->why == WHY_OFF || c->why == WHY_ENABLED
			? "cfg.pfc_enabled, read back, against lossless.priorities"
			: "pause counters of both ends; the one that stands still counts on other "
			  "ports of its switch");
}

static const struct {
	const char *cause;
	struct next_step step;
} steps[] = {
	{"mtu_mismatch",
		{"set the same MTU at both ends of the link (9216 or the fabric's own), hosts "
		 "included",
			"on many switches the port flaps: job boundary only"}},
	{"dscp_mismatch",
		{"apply the tier's QoS template (trust, DSCP map) to this switch",
			"the class of running traffic changes at once: job boundary only"}},
	{"pfc_wrong_priority",
		{"leave PFC on for the lossless priorities only, at both ends; a host that pauses "
		 "another priority has its own map wrong (mlnx_qos, lldptool)",
			"hitless on most switches; check first"}},
	{"pfc_mismatch",
		{"compare PFC at both ends of the link: enabled priorities, DCBX willing mode, "
		 "pause on reception",
			"none: read only"}},
	{"pfc_mismatch",
		{"align it; change no threshold, more headroom does not help against a sender that "
		 "does not stop",
			"enabling PFC may reset the port's queues: job boundary only"}},
};

static void tell_cell(const struct mismatch *m, const struct port_seen *p, int slot, bool whole,
	const struct cell *c, struct finding_list *out)
{
	const struct config_mismatch_options *o = m->in->options;
	struct tell t = tell_new(out, m->in, "config_mismatch",
		c->why                        ? FINDING_OVER
			: p->device->n_series ? FINDING_UNDER
					      : FINDING_UNKNOWN,
		o->hold);
	t.f->priority = slot == SLOT_PORT ? PRIO_NONE : slot;
	t.f->cause = cause_of(c);
	t.f->summary = "";
	if (whole)
		t.f->device = p->port->device->name;
	else
		tell_subject(&t, p);
	if (!c->why)
		return;
	t.f->severity = severity_of(c, p, slot);
	t.f->value = 1;
	t.f->warn = 1;
	t.f->confidence_ratio = c->why == WHY_TIER               ? 0.85
		: c->why == WHY_DISOBEYED                        ? 0.7
		: c->why == WHY_UNHEARD || c->why == WHY_STRANGE ? 0.8
								 : 0.95;
	t.f->summary = says(c, p, slot, whole, t.a);
	t.f->coverage_ratio = observed_coverage(p);
	evidence_of(c, p, slot, &t);
	const bool neighbours =
		c->why == WHY_IGNORED || c->why == WHY_DISOBEYED || c->why == WHY_UNHEARD;
	tell_role(&t, "culprit", "%s",
		neighbours      ? tell_far(p, t.a)
			: whole ? p->port->device->name
				: tell_port(p, t.a));
	if (neighbours)
		tell_role(&t, "direct_victim", "%s", tell_port(p, t.a));
	for (size_t i = 0; i < rw_countof(steps); i++)
		if (str_eq(steps[i].cause, t.f->cause))
			tell_step(&t, steps[i].step.text, steps[i].step.risk);
}

static bool same_story(const struct cell *a, const struct cell *b)
{
	return a->why == b->why && a->attr == b->attr && str_eq(a->own_text, b->own_text);
}

/* NULL: nothing is known of it. Most priorities have no lane; their cells are not touched. */
static const struct cell *cell_of(const struct mismatch *m, const struct port_seen *p, int slot)
{
	if (slot != SLOT_PORT && !p->lanes[slot])
		return NULL;
	const struct cell *c = &m->cells[p - m->o->ports][slot];
	return c->known ? c : NULL;
}

/* Two or more ports, all in the same way? Then it is the switch. Behaviour is never of the whole
 * switch: each neighbour is another. */
static const struct cell *whole_device(
	const struct mismatch *m, const struct device_seen *d, int slot)
{
	const struct cell *first = NULL;
	size_t n = 0;
	for (size_t i = 0; i < d->n_ports; i++) {
		const struct cell *c = cell_of(m, &d->ports[i], slot);
		if (!c)
			continue;
		if (!c->why || c->why >= WHY_UNHEARD || c->why == WHY_STRANGE ||
			(first && !same_story(first, c)))
			return NULL;
		first = c;
		n++;
	}
	return n >= 2 ? first : NULL;
}

static void tell_device(
	struct mismatch *m, const struct device_seen *d, int slot, struct finding_list *out)
{
	static const struct cell fine;
	const struct cell *whole = whole_device(m, d, slot);
	size_t known = 0;
	for (size_t i = 0; i < d->n_ports; i++) {
		const struct cell *c = cell_of(m, &d->ports[i], slot);
		if (!c)
			continue;
		if (!known++)
			tell_cell(m, &d->ports[i], slot, true, whole ? whole : &fine, out);
		tell_cell(m, &d->ports[i], slot, false, whole ? &fine : c, out);
	}
}

static int run(const struct analyzer_in *in, struct finding_list *out)
{
	struct mismatch m = {.in = in, .o = observe(in)};
	m.census = arena_alloc(in->arena, sizeof(*m.census) * ATTRS);
	m.cells = arena_alloc(in->arena, sizeof(*m.cells) * (m.o->n_ports + 1));
	take_census(&m);
	for (size_t i = 0; i < m.o->n_ports; i++) {
		const struct port_seen *p = &m.o->ports[i];
		judge_mtu(&m, p, &m.cells[i][SLOT_PORT]);
		judge_dscp(&m, p, &m.cells[i][SLOT_PORT]);
		for (int priority = 0; priority < OBSERVED_PRIORITIES; priority++)
			if (p->lanes[priority])
				judge_lane(&m, p->lanes[priority], &m.cells[i][priority]);
	}
	for (size_t i = 0; i < m.o->n_devices; i++)
		for (int slot = 0; slot < SLOTS; slot++)
			tell_device(&m, &m.o->devices[i], slot, out);
	return 0;
}

const struct analyzer analyzer_config_mismatch = {
	.name = "config_mismatch",
	.doc = "MTU, PFC and DSCP settings that differ across a link, within a tier, or from what "
	       "the fabric is meant to do",
	.options = {"analyzers", "config_mismatch", sizeof(struct config_mismatch_options), rows,
		rw_countof(rows), "settings that must be alike"},
	.window_offset = offsetof(struct config_mismatch_options, window_ns),
	.spec = {.metrics = (const uint16_t[]){M_CFG_TRUST, M_CFG_DSCP_TO_PRIO}, .n_metrics = 2},
	.observes = true,
	.run = run,
};

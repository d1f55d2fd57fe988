/* faults - see faults.h. */
#include "tests/fabric/faults.h"

#include "tests/fabric/plan.h"

#define STALL_PERIOD_PS (20 * PS_PER_US)

const struct fault *fault_of(const struct scenario *s, enum fault_kind kind)
{
	for (size_t i = 0; i < s->n_faults; i++)
		if (s->faults[i].kind == kind)
			return &s->faults[i];
	return NULL;
}

/* ---- where --------------------------------------------------------------- */

static struct sim_node *leaf_of(struct sim *m, const struct fault *f)
{
	return sim_leaf(m, (unsigned)f->leaf - 1);
}
static struct sim_port *link_of(struct sim *m, const struct fault *f)
{
	return sim_uplink(m, (unsigned)f->leaf - 1, (unsigned)f->spine - 1, (unsigned)f->link - 1);
}
static struct sim_node *host_of(struct sim *m, const struct fault *f)
{
	return &m->nodes[sim_host(m, (unsigned)f->leaf - 1, (unsigned)f->host - 1)];
}

static void both_speeds(struct sim *m, struct sim_port *p, double bps)
{
	p->bps = m->ports[p->peer].bps = (uint64_t)bps;
}

static void links_down(struct sim *m, unsigned leaf, unsigned spine, unsigned count)
{
	for (unsigned k = 0; k < count && k < m->t.parallel; k++)
		sim_link_down(m, sim_uplink(m, leaf, spine, k));
}

/* ---- hashes, links and routes -------------------------------------------- */

static void hash_stuck(struct sim *m, const struct scenario *s, const struct fault *f)
{
	struct sim_node *n = leaf_of(m, f);
	n->hash.stuck = f->share;
	n->hash.stuck_member = ((unsigned)f->spine - 1) * m->t.parallel + (unsigned)f->link - 1;
}
static void hash_fields(struct sim *m, const struct scenario *s, const struct fault *f)
{
	/* Addresses in a row spread evenly over a power of two under a CRC, which is linear; those
	 * of a real fabric are in no row. */
	leaf_of(m, f)->hash.fields = FIELD_SRC | FIELD_DST;
	leaf_of(m, f)->hash.function = HASH_MIX;
}
static void lag_skew(struct sim *m, const struct scenario *s, const struct fault *f)
{
	leaf_of(m, f)->lag_hash.stuck = f->share;
	leaf_of(m, f)->lag_hash.stuck_member = (unsigned)f->link - 1;
}
static void link_down(struct sim *m, const struct scenario *s, const struct fault *f)
{
	sim_link_down(m, link_of(m, f));
}
static void remote_capacity(struct sim *m, const struct scenario *s, const struct fault *f)
{
	links_down(m, (unsigned)f->leaf - 1, (unsigned)f->spine - 1, (unsigned)f->factor);
}
static void missing_route(struct sim *m, const struct scenario *s, const struct fault *f)
{
	link_of(m, f)->unrouted = m->ports[link_of(m, f)->peer].unrouted = true;
}
/* Three leaves have lost a spine each: what meets a spine without a link goes down to the leaf
 * before and up again. */
static void bounce(struct sim *m, const struct scenario *s, const struct fault *f)
{
	m->bounce = true;
	for (unsigned i = 0; i < SIM_BOUNCES; i++) {
		m->bounce_leaf[i] = ((unsigned)f->leaf - 1 + i) % m->t.leaves;
		m->bounce_spine[i] = ((unsigned)f->spine - 1 + i) % m->t.spines;
		links_down(m, m->bounce_leaf[i], m->bounce_spine[i], m->t.parallel);
	}
}
static void link_speed(struct sim *m, const struct scenario *s, const struct fault *f)
{
	both_speeds(m, link_of(m, f), f->speed_bps);
}
/* Dirty where the leaf receives: one-sided, as optics are. */
static void link_loss(struct sim *m, const struct scenario *s, const struct fault *f)
{
	link_of(m, f)->loss = f->loss_ratio;
}

/* ---- switches ------------------------------------------------------------ */

static void ecn_off(struct sim *m, const struct scenario *s, const struct fault *f)
{
	for (unsigned k = 0; k < leaf_of(m, f)->ports; k++)
		sim_port_of(m, leaf_of(m, f), k)->ecn = false;
}
static void headroom(struct sim *m, const struct scenario *s, const struct fault *f)
{
	for (unsigned k = 0; k < leaf_of(m, f)->ports; k++) {
		struct sim_port *p = sim_port_of(m, leaf_of(m, f), k);
		p->headroom_bytes = (uint64_t)((double)p->headroom_bytes * f->factor);
	}
}
/* The lossless class is not recognised: best effort, without PFC and marks. */
static void dscp_map(struct sim *m, const struct scenario *s, const struct fault *f)
{
	leaf_of(m, f)->sw.pfc_mask &= ~(1u << PRIORITY);
	ecn_off(m, s, f);
}
static void config_change(struct sim *m, const struct scenario *s, const struct fault *f)
{
	for (unsigned k = 0; k < leaf_of(m, f)->ports; k++) {
		struct sim_port *p = sim_port_of(m, leaf_of(m, f), k);
		p->kmin_bytes = (uint64_t)((double)p->kmin_bytes * f->factor);
		p->kmax_bytes = (uint64_t)((double)p->kmax_bytes * f->factor);
	}
}
/* At the level at which it pauses, or at a share of the offset that all have. */
static void xon_close(struct sim *m, const struct scenario *s, const struct fault *f)
{
	for (unsigned k = 0; k < leaf_of(m, f)->ports; k++) {
		struct sim_port *p = sim_port_of(m, leaf_of(m, f), k);
		p->xon_offset_bytes = (uint64_t)((double)p->xon_offset_bytes * f->factor);
	}
}
/* Routing has gone round it. */
static void reboot(struct sim *m, const struct scenario *s, const struct fault *f)
{
	const struct sim_node *n = sim_spine(m, (unsigned)f->spine - 1);
	for (unsigned k = 0; k < n->ports; k++)
		sim_link_down(m, sim_port_of(m, n, k));
}
/* The spine does not obey the leaf. */
static void pfc_deaf(struct sim *m, const struct scenario *s, const struct fault *f)
{
	m->ports[link_of(m, f)->peer].deaf[PRIORITY] = true;
}

/* ---- hosts --------------------------------------------------------------- */

static void host_speed(struct sim *m, const struct scenario *s, const struct fault *f)
{
	both_speeds(m, &m->ports[host_of(m, f)->port0], f->speed_bps);
}
static void drain(struct sim *m, const struct scenario *s, const struct fault *f)
{
	sim_link_down(m, &m->ports[host_of(m, f)->port0]);
}
static void cc_off(struct sim *m, const struct scenario *s, const struct fault *f)
{
	host_of(m, f)->cc_off = true;
}
static void nic_hung(struct sim *m, const struct scenario *s, const struct fault *f)
{
	host_of(m, f)->drain_bps = -1;
}
static void nic_stall(struct sim *m, const struct scenario *s, const struct fault *f)
{
	sim_stall(m, host_of(m, f), f->share, STALL_PERIOD_PS, PRIORITY);
}
static void pfc_wrong(struct sim *m, const struct scenario *s, const struct fault *f)
{
	sim_stall(m, host_of(m, f), f->share, STALL_PERIOD_PS, (unsigned)s->second_priority);
}

static const struct {
	void (*apply)(struct sim *m, const struct scenario *s, const struct fault *f);
	bool every_rail;
} kinds[FAULT_KINDS] = {
	[FAULT_HASH_STUCK] = {hash_stuck, false},
	[FAULT_HASH_FIELDS] = {hash_fields, false},
	[FAULT_LOW_ENTROPY] = {NULL, true},
	[FAULT_LAG_SKEW] = {lag_skew, false},
	[FAULT_LINK_DOWN] = {link_down, false},
	[FAULT_LINK_FLAP] = {link_down, false},
	[FAULT_REMOTE_CAPACITY] = {remote_capacity, false},
	[FAULT_MISSING_ROUTE] = {missing_route, false},
	[FAULT_BOUNCE] = {bounce, false},
	[FAULT_LINK_SPEED] = {link_speed, false},
	[FAULT_LINK_LOSS] = {link_loss, false},
	[FAULT_ECN_LATE] = {NULL, true},
	[FAULT_ECN_OFF] = {ecn_off, false},
	[FAULT_HEADROOM] = {headroom, false},
	[FAULT_DSCP_MAP] = {dscp_map, false},
	[FAULT_CONFIG_CHANGE] = {config_change, false},
	[FAULT_XON_CLOSE] = {xon_close, false},
	[FAULT_REBOOT] = {reboot, false},
	[FAULT_PFC_DEAF] = {pfc_deaf, false},
	[FAULT_HOST_SPEED] = {host_speed, false},
	[FAULT_DRAIN] = {drain, true},
	[FAULT_CC_OFF] = {cc_off, true},
	[FAULT_NIC_HUNG] = {nic_hung, true},
	[FAULT_NIC_STALL] = {nic_stall, true},
	[FAULT_PFC_WRONG] = {pfc_wrong, true},
	[FAULT_WRONG_CLASS] = {NULL, true},
	[FAULT_INCAST] = {NULL, true},
	[FAULT_INCAST_SECOND] = {NULL, true},
	[FAULT_CLASS_LEAK] = {NULL, true},
};

bool fault_every_rail(enum fault_kind kind)
{
	return kinds[kind].every_rail;
}

void fault_break(struct sim *m, const struct scenario *s, const struct fault *f)
{
	if (kinds[f->kind].apply)
		kinds[f->kind].apply(m, s, f);
}

/* Hosts of other leaves send to one, all at once. */
void fault_flows(struct sim *m, const struct scenario *s, const struct fault *f, uint64_t *random)
{
	if (f->kind != FAULT_INCAST && f->kind != FAULT_INCAST_SECOND)
		return;
	const uint8_t priority =
		f->kind == FAULT_INCAST ? PRIORITY : (uint8_t)(int)s->second_priority;
	const uint32_t to = sim_host(m, (unsigned)f->leaf - 1, (unsigned)f->host - 1);
	unsigned senders = (unsigned)(f->factor + s->more_senders);
	for (uint32_t h = 0; h < m->n_hosts && senders > 0; h++) {
		const uint32_t from = (uint32_t)((to + m->t.hosts_per_leaf + h) % m->n_hosts);
		if (from / m->t.hosts_per_leaf == to / m->t.hosts_per_leaf)
			continue;
		/* each drawn in a statement of its own: the same seed gives the same under every
		 * compiler */
		const uint16_t sport = (uint16_t)(49152 + random_next(random) % 16384);
		const uint64_t start_ps = random_next(random) % PS_PER_US;
		const size_t flow = sim_flow_add(m, from, to, (uint64_t)(s->slice_bytes * f->share),
			start_ps, sport, priority, KIND_OTHER);
		m->flows[flow].tag = UINT32_MAX;
		senders--;
	}
}

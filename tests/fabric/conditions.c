/*
 * conditions - what is true of a switch or port at an instant beyond what packets do: whether it
 * answers, optics, FEC, carrier transitions, MTU.
 *
 * FEC is RS(544,514) of IEEE 802.3 clause 91 (KP4): 5,440 bits a codeword, line rate 17/16 of the
 * speed, 15 symbols can be repaired.
 */
#include "tests/fabric/recorder.h"

#include <math.h>

#include "base/cleanup.h"

#define CODEWORD_BITS 5440.0
#define LINE_PER_SPEED (17.0 / 16)

const struct sim_port *fault_port(struct sim *shape, const struct fault *f)
{
	if (f->leaf < 1)
		return NULL;
	if (f->spine >= 1)
		return sim_uplink(shape, (unsigned)f->leaf - 1, (unsigned)f->spine - 1,
			f->link >= 1 ? (unsigned)f->link - 1 : 0);
	if (f->host >= 1)
		return sim_port_of(
			shape, sim_leaf(shape, (unsigned)f->leaf - 1), (unsigned)f->host - 1);
	return NULL;
}

static const struct fault *fault_here(const struct view *v, enum fault_kind kind)
{
	for (size_t i = 0; v->on && i < v->r->s->n_faults; i++)
		if (v->r->s->faults[i].kind == kind &&
			fault_port(v->shape, &v->r->s->faults[i]) == v->port)
			return &v->r->s->faults[i];
	return NULL;
}

struct view view_of(const struct recorder *r, unsigned plane, size_t device, unsigned port, bool on)
{
	const bool hit = on && coarse_plane_hit(r->c, plane);
	struct sim *shape = r->shape[hit];
	const struct sim_node *n = &shape->nodes[shape->n_hosts + device];
	return (struct view){.r = r,
		.shape = shape,
		.node = n,
		.port = sim_port_of(shape, n, port),
		.plane = plane,
		.on = hit};
}

bool view_towards_host(const struct view *v)
{
	return v->shape->nodes[v->shape->ports[v->port->peer].node].kind == NODE_HOST;
}

bool is_silent(const struct recorder *r, const struct view *v)
{
	const struct fault *reboot = fault_of(r->s, FAULT_REBOOT),
			   *gap = fault_of(r->s, FAULT_TELEMETRY_GAP);
	if (!v->on || v->plane)
		return false;
	return (reboot && v->node == sim_spine(v->shape, (unsigned)reboot->spine - 1)) ||
		(gap && v->node == sim_leaf(v->shape, (unsigned)gap->leaf - 1));
}

/* The device whose counters start again at zero: when it is back, or where somebody cleared them.
 */
bool device_restarts(const struct recorder *r, const struct view *v, bool was_on, bool on)
{
	const struct fault *reboot = fault_of(r->s, FAULT_REBOOT),
			   *reset = fault_of(r->s, FAULT_COUNTER_RESET);
	if (v->plane)
		return false;
	if (reboot && v->node == sim_spine(v->shape, (unsigned)reboot->spine - 1))
		return was_on && !on;
	return reset && v->node == sim_leaf(v->shape, (unsigned)reset->leaf - 1) && !was_on && on;
}

double port_mtu(const struct view *v)
{
	const struct fault *f = fault_here(v, FAULT_MTU);
	return f ? floor(f->size_bytes) : 9216;
}

double port_flaps(const struct view *v, double t_ns)
{
	const struct scenario *s = v->r->s;
	const size_t index = (size_t)(v->port - v->shape->ports);
	if (!coarse_plane_hit(v->r->c, v->plane) || t_ns < s->at_ns ||
		v->r->shape[0]->ports[index].down || !v->r->shape[1]->ports[index].down)
		return 0;
	const double since = t_ns - s->at_ns,
		     times = s->every_ns > 0 ? floor(since / s->every_ns) : 0;
	return 2 * times + 1 + (since - times * s->every_ns >= s->for_ns);
}

/*
 * A clean link corrects a codeword now and then. A dirty one is on the edge of what can be
 * repaired. A failing laser loses power, and its errors grow by a decade for every 2 dB or so, long
 * before a frame is lost.
 */
struct optics port_optics(const struct view *v, double t_ns)
{
	const struct scenario *s = v->r->s;
	uint64_t random = random_seeded(
		s->seed, 6100 + v->plane * 100000u + (unsigned)(v->port - v->shape->ports));
	struct optics o = {0};
	o.tx_dbm = 0.5 + random_unit(&random);
	o.temperature_c = 38 + 8 * random_unit(&random);
	o.ber = pow(10, -9 + 1.5 * random_unit(&random));
	o.rx_dbm = o.tx_dbm - 1 - random_unit(&random);
	const struct fault *dirty = fault_here(v, FAULT_LINK_LOSS),
			   *ageing = fault_here(v, FAULT_OPTIC_DEGRADING);
	if (dirty) {
		o.rx_dbm -= 6.5;
		o.ber = 3e-4;
	}
	if (ageing) {
		const double part = fmin(1, (t_ns - s->at_ns) / ageing->length_ns),
			     lost_db = ageing->factor * part;
		o.rx_dbm -= lost_db;
		o.ber = fmin(2e-4, o.ber * pow(10, lost_db / 2));
	}
	return o;
}

double codewords_corrected(const struct view *v, double ber, double ns)
{
	if (v->port->down)
		return 0;
	return ns / 1e9 * (double)v->port->bps * LINE_PER_SPEED / CODEWORD_BITS *
		-expm1(CODEWORD_BITS * log1p(-ber));
}

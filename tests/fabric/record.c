/*
 * record - see record.h. The faces follow what the agents of those systems really serve: SONiC's SNMP agent knows no ECN, no watermark
 * and no pause time and refreshes every 5 s, queues every 10 s; its gNMI counters have the received pause time only, and ECN marks
 * are off by default; NX-OS serves pause time by SNMP; Cumulus counts ECN marks but no pause time.
 */
#include "tests/fabric/record.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "tests/fabric/coarse.h"

const char *const face_names[FACES] = {"full", "sonic-snmp", "nxos-snmp", "cumulus-snmp", "sonic-gnmi"};

enum { F_ = 1 << FACE_FULL, S_ = 1 << FACE_SONIC_SNMP, N_ = 1 << FACE_NXOS_SNMP, C_ = 1 << FACE_CUMULUS_SNMP, G_ = 1 << FACE_SONIC_GNMI,
	ALL = F_ | S_ | N_ | C_ | G_ };
enum refresh { REFRESH_PORT, REFRESH_QUEUE, REFRESHES };
static const double refresh_ns[FACES][REFRESHES] = {
	[FACE_SONIC_SNMP] = {5e9, 10e9}, [FACE_CUMULUS_SNMP] = {3e9, 3e9}, [FACE_SONIC_GNMI] = {1e9, 10e9},
};

static const struct {
	const char *metric;
	enum port_sum sum;
	int priority; /* -1: of the port */
	unsigned faces;
	enum refresh refresh;
} counters[] = {
	{"port.in_octets", SUM_IN_OCTETS, -1, ALL, REFRESH_PORT}, {"port.out_octets", SUM_OUT_OCTETS, -1, ALL, REFRESH_PORT},
	{"port.in_packets", SUM_IN_PACKETS, -1, ALL, REFRESH_PORT}, {"port.out_packets", SUM_OUT_PACKETS, -1, ALL, REFRESH_PORT},
	{"port.in_errors", SUM_IN_ERRORS, -1, ALL, REFRESH_PORT}, {"port.in_discards", SUM_IN_DISCARDS, -1, ALL, REFRESH_PORT},
	{"port.out_discards", SUM_OUT_DISCARDS, -1, ALL, REFRESH_PORT}, {"port.fcs_errors", SUM_IN_ERRORS, -1, F_ | N_, REFRESH_PORT},
	{"pfc.rx_frames", SUM_PFC_RX, PRIORITY, ALL, REFRESH_PORT}, {"pfc.tx_frames", SUM_PFC_TX, PRIORITY, ALL, REFRESH_PORT},
	{"pfc.rx_pause_ns", SUM_RX_PAUSE_NS, PRIORITY, F_ | N_ | G_, REFRESH_PORT}, {"pfc.tx_pause_ns", SUM_TX_PAUSE_NS, PRIORITY, F_ | N_, REFRESH_PORT},
	{"pfc.rx_transitions", SUM_RX_EPISODES, PRIORITY, F_ | G_, REFRESH_PORT}, {"pfc.tx_transitions", SUM_TX_EPISODES, PRIORITY, F_, REFRESH_PORT},
	{"pg.drops", SUM_PG_DROPS, PRIORITY, F_ | G_, REFRESH_QUEUE},
	{"queue.out_octets", SUM_QUEUE_OCTETS, PRIORITY, ALL, REFRESH_QUEUE}, {"queue.out_packets", SUM_QUEUE_PACKETS, PRIORITY, ALL, REFRESH_QUEUE},
	{"queue.drops", SUM_OUT_DISCARDS, PRIORITY, ALL, REFRESH_QUEUE}, {"queue.ecn_marked", SUM_MARKED, PRIORITY, F_ | C_, REFRESH_QUEUE},
	{"queue.out_octets", SUM_CONTROL_OCTETS, SIM_CONTROL_PRIORITY, ALL, REFRESH_QUEUE},
	{"queue.out_packets", SUM_CONTROL_PACKETS, SIM_CONTROL_PRIORITY, ALL, REFRESH_QUEUE},
};
static const struct {
	const char *metric;
	enum port_peak peak;
	unsigned faces;
} peaks[] = {
	{"pg.shared_watermark_bytes", PEAK_PG, F_ | N_ | G_}, {"pg.headroom_watermark_bytes", PEAK_HEADROOM, F_ | N_ | G_}, {"queue.watermark_bytes", PEAK_QUEUE, F_ | G_},
};

struct recorder {
	const struct scenario *s;
	const struct record_options *o;
	struct coarse *c;
	struct sim *shape;   /* names, speeds and cables; never run */
	FILE *out;
	double *shown;       /* [plane][port][counter]: value last fetched by the agent of the device */
	double *zero;        /* same: what a restart took away */
	double *bound;       /* [plane][port][2]: upper bound of pause time from frames, ns, so far */
	double *frames;      /* [plane][port][2]: frames at the last sample, for that bound */
	double refreshed_ns[REFRESHES];
	uint64_t random;
	bool was_on;
	uint64_t lines;
};

static size_t first_port(const struct recorder *r) { return r->shape->nodes[r->shape->n_hosts].port0; }

static void device_name(const struct scenario *s, const struct sim_node *n, unsigned plane, char *buf, size_t size)
{
	if (s->planes < 2)
		snprintf(buf, size, "%s%u", n->kind == NODE_LEAF ? "leaf" : "spine", n->index + 1);
	else if (n->kind == NODE_LEAF)
		snprintf(buf, size, "su%u-rail%u", n->index + 1, plane);
	else
		snprintf(buf, size, "rail%u-spine%u", plane, n->index + 1);
}
static void host_name(unsigned host, char *buf, size_t size) { snprintf(buf, size, "node-%03u", host + 1); }

static const struct fault *fault_of(const struct scenario *s, enum fault_kind kind)
{
	for (size_t i = 0; i < s->n_faults; i++)
		if (s->faults[i].kind == kind)
			return &s->faults[i];
	return NULL;
}

/* The port of a fault: its link at the leaf, or the leaf's port to its host. NULL: it has none. */
static const struct sim_port *fault_port(const struct recorder *r, const struct fault *f)
{
	if (f->leaf < 1)
		return NULL;
	if (f->spine >= 1)
		return sim_uplink(r->shape, (unsigned)f->leaf - 1, (unsigned)f->spine - 1, f->link >= 1 ? (unsigned)f->link - 1 : 0);
	if (f->host >= 1)
		return sim_port_of(r->shape, sim_leaf(r->shape, (unsigned)f->leaf - 1), (unsigned)f->host - 1);
	return NULL;
}

static bool link_has(const struct recorder *r, enum fault_kind kind, const struct sim_port *p, bool on)
{
	const struct fault *f = on ? fault_of(r->s, kind) : NULL;
	const struct sim_port *at = f ? fault_port(r, f) : NULL;
	return at && (at == p || &r->shape->ports[at->peer] == p);
}

static bool is_down(const struct recorder *r, const struct sim_port *p, bool on)
{
	const struct fault *f = on ? fault_of(r->s, FAULT_REBOOT) : NULL;
	if (f && (&r->shape->nodes[r->shape->ports[p->peer].node] == sim_spine(r->shape, (unsigned)f->spine - 1)))
		return true;
	return link_has(r, FAULT_LINK_DOWN, p, on);
}

static bool is_silent(const struct recorder *r, const struct sim_node *n, bool on)
{
	const struct fault *reboot = fault_of(r->s, FAULT_REBOOT), *gap = fault_of(r->s, FAULT_TELEMETRY_GAP);
	if (!on)
		return false;
	return (reboot && n == sim_spine(r->shape, (unsigned)reboot->spine - 1)) || (gap && n == sim_leaf(r->shape, (unsigned)gap->leaf - 1));
}

/* The device whose counters start again at zero: when it is back, or where somebody cleared them. */
static bool restarts(const struct recorder *r, const struct sim_node *n, bool on)
{
	const struct fault *reboot = fault_of(r->s, FAULT_REBOOT), *reset = fault_of(r->s, FAULT_COUNTER_RESET);
	if (reboot && n == sim_spine(r->shape, (unsigned)reboot->spine - 1))
		return r->was_on && !on;
	return reset && n == sim_leaf(r->shape, (unsigned)reset->leaf - 1) && !r->was_on && on;
}

static void line(struct recorder *r, double t_ns, const char *device, const char *port, int priority, const char *metric, const char *value, const char *rest)
{
	char prio[16] = "-";
	if (priority >= 0)
		snprintf(prio, sizeof(prio), "%d", priority);
	fprintf(r->out, "%.3f\t%s\t%s\t%s\t%s\t%s%s\n", t_ns / 1e9, device, port, prio, metric, value, rest);
	r->lines++;
}
static void line_u64(struct recorder *r, double t_ns, const char *device, const char *port, int priority, const char *metric, double value, const char *rest)
{
	char text[32];
	snprintf(text, sizeof(text), "%.0f", value);
	line(r, t_ns, device, port, priority, metric, text, rest);
}

static void states(struct recorder *r, double t_ns, const char *device, const char *port, const struct sim_port *p, bool on)
{
	const struct fault *slow = link_has(r, FAULT_LINK_SPEED, p, on) ? fault_of(r->s, FAULT_LINK_SPEED) : link_has(r, FAULT_HOST_SPEED, p, on) ?
		fault_of(r->s, FAULT_HOST_SPEED) : NULL;
	line_u64(r, t_ns, device, port, -1, "port.oper_up", is_down(r, p, on) ? 0 : 1, "");
	line_u64(r, t_ns, device, port, -1, "port.speed_bps", slow ? slow->speed_bps : (double)p->bps, "");
	line_u64(r, t_ns, device, port, -1, "port.mtu_bytes", 9216, "");
}

static void settings(struct recorder *r, double t_ns, const char *device, const char *port, const struct sim_node *n, const struct sim_port *p)
{
	char text[32];
	if (!((F_ | G_) & (1u << r->o->face)))
		return;
	line(r, t_ns, device, port, PRIORITY, "cfg.pfc_enabled", "1", "");
	snprintf(text, sizeof(text), "%g", log2(n->sw.alpha));
	line(r, t_ns, device, port, PRIORITY, "cfg.pg_alpha_exp", text, "");
	line_u64(r, t_ns, device, port, PRIORITY, "cfg.pg_headroom_bytes", (double)p->headroom_bytes, "");
	line_u64(r, t_ns, device, port, PRIORITY, "cfg.ecn_enabled", p->ecn, "");
	line_u64(r, t_ns, device, port, PRIORITY, "cfg.ecn_kmin_bytes", (double)p->kmin_bytes, "");
	line_u64(r, t_ns, device, port, PRIORITY, "cfg.ecn_kmax_bytes", (double)p->kmax_bytes, "");
	snprintf(text, sizeof(text), "%g", p->pmax);
	line(r, t_ns, device, port, PRIORITY, "cfg.ecn_pmax_ratio", text, "");
}

/* What only the physical layer knows: a clean link corrects a codeword now and then, a dirty one warns before it loses frames. */
static void optics(struct recorder *r, double t_ns, const char *device, const char *port, const struct sim_port *p, bool on)
{
	char text[32];
	if (!((F_ | G_) & (1u << r->o->face)) || r->shape->nodes[r->shape->ports[p->peer].node].kind == NODE_HOST)
		return;
	const struct fault *f = on ? fault_of(r->s, FAULT_LINK_LOSS) : NULL;
	const bool dirty = f && fault_port(r, f) == p;
	snprintf(text, sizeof(text), "%.2f", (dirty ? -8.5 : -2.0) + 0.2 * (random_unit(&r->random) - 0.5));
	line(r, t_ns, device, port, -1, "optic.rx_power_dbm", text, "");
	snprintf(text, sizeof(text), "%.2e", (dirty ? 3e-4 : 2e-8) * (0.8 + 0.4 * random_unit(&r->random)));
	line(r, t_ns, device, port, -1, "port.pre_fec_ber", text, "");
}

/* Where a face gives no pause time, a bound follows from frames: 65,535 quanta of 512 bit times each, never more than the interval. */
static void pause_bounds(struct recorder *r, double t_ns, const char *device, const char *port, const struct sim_port *p, size_t at, bool first)
{
	static const struct { const char *metric; unsigned measured; enum port_sum sum; } rows[] = {
		{"pfc.rx_pause_ns_hi", F_ | N_ | G_, SUM_PFC_RX}, {"pfc.tx_pause_ns_hi", F_ | N_, SUM_PFC_TX}};
	for (unsigned k = 0; k < 2; k++) {
		if (rows[k].measured & (1u << r->o->face))
			continue;
		double now = 0;
		for (size_t i = 0; i < rw_countof(counters); i++)
			if (counters[i].sum == rows[k].sum)
				now = r->shown[at * rw_countof(counters) + i];
		double *last = &r->frames[at * 2 + k], *sum = &r->bound[at * 2 + k];
		if (!first && now > *last)
			*sum += fmin(r->o->interval_ns, (now - *last) * 65535.0 * 512 / (double)p->bps * 1e9);
		*last = now;
		line_u64(r, t_ns, device, port, PRIORITY, rows[k].metric, floor(*sum), "\testimated");
	}
}

static void fetch(struct recorder *r, enum refresh which)
{
	for (unsigned plane = 0; plane < r->c->planes; plane++)
		for (size_t i = 0; i < r->c->n_ports; i++)
			for (size_t k = 0; k < rw_countof(counters); k++)
				if (counters[k].refresh == which)
					r->shown[(plane * r->c->n_ports + i) * rw_countof(counters) + k] = coarse_sum(r->c, plane, i, counters[k].sum);
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
		if (at[k] <= r->refreshed_ns[k])
			continue;
		if (at[k] > r->c->t_ns)
			coarse_advance(r->c, at[k]);
		fetch(r, (enum refresh)k);
		r->refreshed_ns[k] = at[k];
	}
	coarse_advance(r->c, t_ns);
}

static void sample_port(struct recorder *r, double t_ns, const char *device, const struct sim_node *n, unsigned plane, unsigned i, bool on, bool restart, bool first)
{
	const struct sim_port *p = sim_port_of(r->shape, n, i);
	const size_t index = (size_t)(p - r->shape->ports) - first_port(r), at = plane * r->c->n_ports + index;
	char port[32], window[32];
	snprintf(port, sizeof(port), "Ethernet%u", i + 1);
	snprintf(window, sizeof(window), "\t-\t%.3f", r->o->interval_ns / 1e9);
	if (first || on != r->was_on)
		states(r, t_ns, device, port, p, on && plane == 0);
	if (first)
		settings(r, t_ns, device, port, n, p);
	for (size_t k = 0; k < rw_countof(counters); k++) {
		if (!(counters[k].faces & (1u << r->o->face)))
			continue;
		double *shown = &r->shown[at * rw_countof(counters) + k], *zero = &r->zero[at * rw_countof(counters) + k];
		if (restart)
			*zero = *shown;
		line_u64(r, t_ns, device, port, counters[k].priority, counters[k].metric, *shown - *zero, restart ? "\trestart" : "");
	}
	for (size_t k = 0; k < rw_countof(peaks); k++)
		if (peaks[k].faces & (1u << r->o->face))
			line_u64(r, t_ns, device, port, PRIORITY, peaks[k].metric, coarse_peak(r->c, plane, index, peaks[k].peak), window);
	pause_bounds(r, t_ns, device, port, p, at, first);
	optics(r, t_ns, device, port, p, on && plane == 0);
}

static void sample(struct recorder *r, double t_ns, bool first)
{
	const bool on = coarse_fault_on(r->c, t_ns);
	char device[48], window[32];
	snprintf(window, sizeof(window), "\t-\t%.3f", r->o->interval_ns / 1e9);
	refresh(r, t_ns);
	for (unsigned plane = 0; plane < r->c->planes; plane++)
		for (size_t i = 0; i < r->c->n_switches; i++) {
			const struct sim_node *n = &r->shape->nodes[r->shape->n_hosts + i];
			if (plane == 0 && is_silent(r, n, on))
				continue;
			device_name(r->s, n, plane, device, sizeof(device));
			if (first && ((F_ | G_) & (1u << r->o->face)))
				line_u64(r, t_ns, device, "pool:ingress_lossless", -1, "cfg.buffer_pool_bytes", (double)n->sw.buffer_bytes, "");
			if ((F_ | G_) & (1u << r->o->face))
				line_u64(r, t_ns, device, "pool:ingress_lossless", -1, "pool.watermark_bytes", coarse_pool_peak(r->c, i), window);
			for (unsigned k = 0; k < n->ports; k++)
				sample_port(r, t_ns, device, n, plane, k, on, plane == 0 && restarts(r, n, on), first);
		}
	coarse_sampled(r->c);
	r->was_on = on;
}

/* --- the other files --- */

static void write_fabric(const struct recorder *r, FILE *f)
{
	const struct scenario *s = r->s;
	const struct sim *m = r->shape;
	char device[48], other[48];
	fprintf(f, "# %s\nfabric: lab\ndevices:\n", s->name);
	for (unsigned plane = 0; plane < r->c->planes; plane++)
		for (size_t i = m->n_hosts; i < m->n_nodes; i++) {
			device_name(s, &m->nodes[i], plane, device, sizeof(device));
			fprintf(f, "  - { name: %s, role: %s }\n", device, m->nodes[i].kind == NODE_LEAF ? "leaf" : "spine");
		}
	fprintf(f, "links:\n");
	for (unsigned plane = 0; plane < r->c->planes; plane++)
		for (size_t i = m->n_hosts; i < m->n_hosts + m->t.leaves; i++) {
			const struct sim_node *n = &m->nodes[i];
			device_name(s, n, plane, device, sizeof(device));
			for (unsigned k = 0; k < n->ports; k++) {
				const struct sim_port *peer = &m->ports[m->ports[n->port0 + k].peer];
				const struct sim_node *to = &m->nodes[peer->node];
				if (to->kind == NODE_HOST) {
					host_name(to->index, other, sizeof(other));
					fprintf(f, "  - { a: \"%s:Ethernet%u\", b: \"host:%s:rail%u\", cable: %.1fm, speed: %.0fG }\n", device, k + 1, other, plane, s->host_cable_mm / 1e3,
						s->host_bps / 1e9);
				} else {
					device_name(s, to, plane, other, sizeof(other));
					fprintf(f, "  - { a: \"%s:Ethernet%u\", b: \"%s:Ethernet%u\", cable: %.1fm, speed: %.0fG }\n", device, k + 1, other,
						(unsigned)(peer - m->ports) - to->port0 + 1, s->uplink_cable_mm / 1e3, s->uplink_bps / 1e9);
				}
			}
		}
	const struct sim_port *up = sim_uplink(r->shape, 0, 0, 0);
	fprintf(f, "lossless: { priorities: [%d], mtu: 4200B }\npolicy: { congestion: dcqcn, load_balancing: %s }\n", PRIORITY, s->spray ? "packet" : "static");
	fprintf(f, "thresholds:\n  - { devices: \"*\", ports: \"*\", priority: %d, kmin: %.0fB, kmax: %.0fB, pmax: %g%%, alpha: %g, headroom: %" PRIu64 "B, pool: %.0fB }\n",
		PRIORITY, s->kmin_bytes, s->kmax_bytes, s->pmax * 100, s->alpha, up->headroom_bytes, s->pool_bytes);
	fprintf(f, "jobs:\n  - { name: train, gpus: %.0f, hosts: \"node-*\" }\ncost: { usd_per_gpu_hour: %g }\n",
		s->gpus > 0 ? s->gpus : s->leaves * s->hosts_per_leaf * s->planes, s->usd_per_gpu_hour);
}

static void write_truth(const struct recorder *r, FILE *f)
{
	const struct scenario *s = r->s;
	const struct coarse *c = r->c;
	char device[48], host[48];
	const double gpus = s->gpus > 0 ? s->gpus : s->leaves * s->hosts_per_leaf * s->planes;
	const bool ends = isfinite(c->fault_exchange_ns);
	const double step = c->compute_ns + c->exchange_ns, slow = ends ? c->compute_ns + c->fault_exchange_ns : INFINITY;
	const double lost = s->n_faults == 0 ? 0 : ends ? fmax(0, 1 - step / slow) : 1, per_hour = gpus * s->usd_per_gpu_hour * lost;
	fprintf(f, "{\n  \"scenario\": \"%s\",\n  \"title\": \"%s\",\n  \"seed\": %" PRIu64 ",\n  \"face\": \"%s\",\n  \"interval_s\": %g,\n  \"length_s\": %g,\n", s->name, s->title, s->seed,
		face_names[r->o->face], r->o->interval_ns / 1e9, r->o->length_ns / 1e9);
	fprintf(f, "  \"cause\": \"%s\",\n  \"accept\": [\"%s\"", s->cause, s->cause);
	for (size_t i = 0; i < s->n_accept; i++)
		fprintf(f, ", \"%s\"", s->accept[i]);
	fprintf(f, "],\n  \"onset_s\": ");
	if (s->n_faults)
		fprintf(f, "%g,\n  \"end_s\": %g,\n", s->at_ns / 1e9, fmin(s->at_ns + s->for_ns, r->o->length_ns) / 1e9);
	else
		fprintf(f, "null,\n  \"end_s\": null,\n");
	fprintf(f, "  \"faults\": [");
	for (size_t i = 0; i < s->n_faults; i++) {
		const struct fault *x = &s->faults[i];
		const struct sim_port *p = fault_port(r, x);
		fprintf(f, "%s\n    {\"kind\": \"%s\"", i ? "," : "", fault_name(x->kind));
		const struct sim_node *n = x->leaf >= 1 ? sim_leaf(r->shape, (unsigned)x->leaf - 1) : x->spine >= 1 ? sim_spine(r->shape, (unsigned)x->spine - 1) : NULL;
		if (n) {
			device_name(s, n, 0, device, sizeof(device));
			fprintf(f, ", \"device\": \"%s\"", device);
		}
		if (p)
			fprintf(f, ", \"port\": \"Ethernet%u\"", (unsigned)((size_t)(p - r->shape->ports) - n->port0) + 1);
		if (x->host >= 1) {
			host_name((unsigned)((x->leaf - 1) * s->hosts_per_leaf + x->host - 1), host, sizeof(host));
			fprintf(f, ", \"host\": \"%s\"", host);
		}
		const struct { const char *key; double v; } numbers[] = {{"share", x->share}, {"loss_ratio", x->loss_ratio}, {"speed_bps", x->speed_bps}, {"factor", x->factor}};
		for (size_t k = 0; k < rw_countof(numbers); k++)
			if (numbers[k].v > 0)
				fprintf(f, ", \"%s\": %.10g", numbers[k].key, numbers[k].v);
		fprintf(f, "}");
	}
	fprintf(f, "%s],\n  \"subject\": \"%s\",\n", s->n_faults ? "\n  " : "", s->subject);
	fprintf(f, "  \"step_s\": %.6f,\n  \"exchange_s\": %.6f,\n", step / 1e9, c->exchange_ns / 1e9);
	if (ends)
		fprintf(f, "  \"step_in_fault_s\": %.6f,\n  \"exchange_in_fault_s\": %.6f,\n", slow / 1e9, c->fault_exchange_ns / 1e9);
	else
		fprintf(f, "  \"step_in_fault_s\": null,\n  \"exchange_in_fault_s\": null,\n");
	fprintf(f, "  \"steps\": %" PRIu64 ",\n  \"gpus\": %.0f,\n  \"lost_ratio\": %.6f,\n  \"usd_per_hour\": %.2f,\n", c->steps, gpus, lost, per_hour);
	const double hours = s->n_faults ? (fmin(s->at_ns + s->for_ns, r->o->length_ns) - s->at_ns) / 3.6e12 : 0;
	fprintf(f, "  \"usd_total\": %.2f\n}\n", per_hour * fmax(0, hours));
}

static int open_file(const char *dir, const char *name, FILE **ret, struct err *e)
{
	char path[4096];
	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return err_set(e, -ENAMETOOLONG, "%s: the name is too long", dir);
	*ret = fopen(path, "w");
	return *ret ? 0 : err_set(e, -errno, "%s: %s", path, strerror(errno));
}
static int close_file(FILE **f, const char *dir, struct err *e)
{
	const bool bad = ferror(*f) != 0;
	const int rc = fclose(*f);
	*f = NULL;
	return bad || rc != 0 ? err_set(e, -EIO, "%s: cannot write: %s", dir, strerror(errno)) : 0;
}

static void shape_donep(struct sim **s) { sim_free(*s); }
static void coarse_donep(struct coarse **c) { coarse_free(*c); }

int record_case(const struct scenario *s, const struct record_options *o, struct err *e)
{
	rw_cleanup(coarse_donep) struct coarse *c = NULL;
	rw_cleanup(shape_donep) struct sim *shape = NULL;
	rw_cleanup(fclosep) FILE *samples = NULL;
	rw_cleanup(fclosep) FILE *fabric = NULL;
	rw_cleanup(fclosep) FILE *truth = NULL;
	if (mkdir(o->dir, 0777) != 0 && errno != EEXIST)
		return err_set(e, -errno, "%s: %s", o->dir, strerror(errno));
	int rc = coarse_new(s, &c, e);
	if (rc != 0)
		return rc;
	const struct sim_params p = sim_defaults();
	const struct topo_params t = scenario_topology(s, true);
	shape = sim_new(&p, &t);
	if ((rc = open_file(o->dir, "samples.tsv", &samples, e)) != 0 || (rc = open_file(o->dir, "fabric.yaml", &fabric, e)) != 0 ||
		(rc = open_file(o->dir, "truth.json", &truth, e)) != 0)
		return rc;
	struct recorder r = {.s = s, .o = o, .c = c, .shape = shape, .out = samples, .random = random_seeded(s->seed, 51)};
	const size_t n = (size_t)c->planes * c->n_ports;
	rw_cleanup(freep) double *shown = rw_calloc(n * rw_countof(counters), sizeof(double));
	rw_cleanup(freep) double *zero = rw_calloc(n * rw_countof(counters), sizeof(double));
	rw_cleanup(freep) double *bound = rw_calloc(n * 2, sizeof(double));
	rw_cleanup(freep) double *frames = rw_calloc(n * 2, sizeof(double));
	r.shown = shown;
	r.zero = zero;
	r.bound = bound;
	r.frames = frames;
	for (unsigned k = 0; k < REFRESHES; k++)
		r.refreshed_ns[k] = -1;
	fprintf(samples, "# %s, seed %" PRIu64 ", face %s: recorded from a simulated fabric\n", s->name, s->seed, face_names[o->face]);
	bool first = true;
	for (double at = 0; at <= o->length_ns; at += o->interval_ns) {
		/* A poller is never quite on time: up to 1 % of the interval late. */
		sample(&r, at + floor(random_unit(&r.random) * o->interval_ns / 100 / 1e6) * 1e6, first);
		first = false;
	}
	write_fabric(&r, fabric);
	write_truth(&r, truth);
	if ((rc = close_file(&samples, o->dir, e)) != 0 || (rc = close_file(&fabric, o->dir, e)) != 0)
		return rc;
	return close_file(&truth, o->dir, e);
}

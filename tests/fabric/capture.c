/*
 * capture - see capture.h. The exchanges of each state are simulated again with somebody looking; a
 * recording repeats them as the coarse grain does, so that packets and counters tell the same
 * story: in exchange k of the recording slice j begins at its share of the exchange's time, and its
 * PSNs go on where slice j-1 ended.
 */
#include "tests/fabric/capture.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "tests/fabric/capture_frame.h"
#include "tests/fabric/sim_internal.h"

enum { MIRRORS_MAX = 64, SNAPLEN = 96, RECORD_BYTES = 16 + SNAPLEN, BURST_MAX = 20000 };
#define BUDGET_BYTES 12e6 /* of all sampled captures together, when the scenario says nothing */

/* One packet at one mirror, as the fine grain had it. */
struct seen {
	uint64_t t_ps;
	uint32_t src, dst, number, packets; /* of the flow: hosts, packets of a slice */
	uint64_t bytes; /* of the flow */
	uint16_t sport, size;
	uint8_t kind, prio;
	bool ce, not_ect;
};
struct seen_list {
	struct seen *v;
	size_t n, cap;
	size_t first; /* from here on they are what goes on and on; before is how it began */
};

struct mirror {
	char device[48], port[32], name[96];
	uint32_t at; /* index of the port in the simulation */
	bool out;
	bool towards_host; /* then it has come from where it may have come, one or three hops */
	struct seen_list seen[STATES][VARIANTS];
	FILE *file;
	uint64_t left; /* packets until the next sample */
};

struct capture {
	struct recorder *r;
	struct mirror m[MIRRORS_MAX];
	size_t n;
	/* of the slice, and what of it counts */
	double duration_ns[STATES][VARIANTS], from_ns[STATES][VARIANTS];
	uint64_t sampling, random;
	double slices; /* done so far */
	bool burst_written;
	struct err error;
	int rc;
};

/* ---- looking ------------------------------------------------------------- */

struct watch {
	struct capture *c;
	enum state state;
	unsigned variant;
};

static void see(void *data, const struct sim *s, const struct sim_port *p, const struct packet *pkt,
	bool out)
{
	const struct watch *w = data;
	const uint32_t at = (uint32_t)(p - s->ports);
	for (size_t i = 0; i < w->c->n; i++) {
		struct mirror *m = &w->c->m[i];
		if (m->at != at || m->out != out)
			continue;
		const struct sim_flow *f = &s->flows[pkt->flow];
		struct seen_list *l = &m->seen[w->state][w->variant];
		rw_grow(l->v, l->n, l->cap);
		l->v[l->n++] = (struct seen){s->now_ps, f->src, f->dst, pkt->number, f->packets,
			f->bytes, f->sport, pkt->size, pkt->kind, pkt->prio, pkt->ce, pkt->not_ect};
	}
}

static void look(struct capture *c, const struct plan *plan, enum state state, unsigned variant)
{
	struct watch w = {c, state, variant};
	struct measured m;
	measure_watched(c->r->s, plan, state, variant, see, &w, &m);
	c->duration_ns[state][variant] = m.duration_ns;
	if (m.endless) { /* only the second half of the time looked at is what goes on and on */
		c->from_ns[state][variant] = m.duration_ns;
		for (size_t i = 0; i < c->n; i++) {
			struct seen_list *l = &c->m[i].seen[state][variant];
			while (l->first < l->n && (double)l->v[l->first].t_ps / 1e3 < m.duration_ns)
				l->first++;
		}
	}
	measured_done(&m);
}

/* ---- which ports --------------------------------------------------------- */

static void mirror_add(struct capture *c, const struct sim_port *p, bool out)
{
	struct sim *shape = c->r->shape[0];
	const struct sim_node *n = &shape->nodes[p->node];
	if (c->n == MIRRORS_MAX)
		return;
	struct mirror *m = &c->m[c->n++];
	m->at = (uint32_t)(p - shape->ports);
	m->out = out;
	m->towards_host = shape->nodes[shape->ports[p->peer].node].kind == NODE_HOST;
	const unsigned number = m->at - n->port0 + 1;
	char device[sizeof(m->device)];
	device_name(c->r->s, n, 0, device, sizeof(device));
	memcpy(m->device, device, sizeof(device));
	snprintf(m->port, sizeof(m->port), "Ethernet%u", number);
	snprintf(m->name, sizeof(m->name), "%s-Ethernet%u-%s", device, number, out ? "out" : "in");
}

static void choose_mirrors(struct capture *c)
{
	const struct scenario *s = c->r->s;
	struct sim *shape = c->r->shape[0];
	unsigned leaf = 1;
	const struct sim_port *at = NULL; /* of the first fault that has a place */
	for (size_t i = s->n_faults; i-- > 0;)
		if (s->faults[i].leaf >= 1) {
			leaf = (unsigned)s->faults[i].leaf;
			at = fault_port(shape, &s->faults[i]);
		}
	const struct sim_node *n = sim_leaf(shape, leaf - 1);
	for (unsigned k = shape->t.hosts_per_leaf; k < n->ports; k++)
		mirror_add(c, sim_port_of(shape, n, k), true);
	if (at && (unsigned)(at - shape->ports) - n->port0 < shape->t.hosts_per_leaf)
		mirror_add(c, at, true);
	if (at)
		mirror_add(c, at, false);
}

/* ---- writing ------------------------------------------------------------- */

static void le16(FILE *f, unsigned v)
{
	fputc((int)(v & 0xff), f);
	fputc((int)(v >> 8 & 0xff), f);
}
static void le32(FILE *f, uint32_t v)
{
	le16(f, v & 0xffff);
	le16(f, v >> 16);
}

static int open_pcap(
	const char *dir, const char *prefix, const char *name, FILE **ret, struct err *e)
{
	char path[4096];
	if (snprintf(path, sizeof(path), "%s/%s%s.pcap", dir, prefix, name) >= (int)sizeof(path))
		return err_set(e, -ENAMETOOLONG, "%s: the name is too long", dir);
	*ret = fopen(path, "w");
	if (!*ret)
		return err_set(e, -errno, "%s: %s", path, strerror(errno));
	le32(*ret, 0xa1b23c4d); /* nanoseconds */
	le16(*ret, 2);
	le16(*ret, 4);
	le32(*ret, 0);
	le32(*ret, 0);
	le32(*ret, SNAPLEN);
	le32(*ret, 1); /* Ethernet */
	return 0;
}

static int close_pcap(FILE **f, const char *dir, struct err *e)
{
	const bool bad = ferror(*f) != 0;
	const int rc = fclose(*f);
	*f = NULL;
	return bad || rc != 0 ? err_set(e, -EIO, "%s: cannot write a capture", dir) : 0;
}

static void address(const struct scenario *s, uint32_t host, uint8_t to[4])
{
	const uint32_t per_leaf = (uint32_t)s->hosts_per_leaf;
	to[0] = 10;
	to[1] = 0; /* the rail */
	to[2] = (uint8_t)(host / per_leaf + 1);
	to[3] = (uint8_t)(host % per_leaf + 1);
}

/* The queue pair of one end of a flow, and its first PSN: the same in every exchange. */
static uint32_t number_of(const struct capture *c, const struct seen *p, unsigned what)
{
	return (uint32_t)random_seeded(random_seeded(c->r->s->seed, 71 + what),
		       (uint64_t)p->src << 40 | (uint64_t)p->dst << 16 | p->sport) &
		0xffffff;
}
enum { SENDER_QP, RECEIVER_QP, FIRST_PSN };

static unsigned hops(const struct capture *c, const struct mirror *m, const struct seen *p)
{
	const uint32_t per_leaf = (uint32_t)c->r->s->hosts_per_leaf;
	if (!m->out)
		return m->towards_host ? 0 : 2; /* from the host itself, or from a spine */
	return m->towards_host && p->src / per_leaf != p->dst / per_leaf ? 3 : 1;
}

static void write_packet(struct capture *c, const struct mirror *m, const struct seen *p,
	uint64_t slice, int64_t t_ns, FILE *f)
{
	const struct sim_params sp = {.payload_bytes = 4096, .header_bytes = 62};
	const bool data = p->kind == PACKET_DATA, first = p->number == 0,
		   last = p->number + 1 == p->packets;
	const uint32_t psn =
		number_of(c, p, FIRST_PSN) + (uint32_t)(slice * p->packets) + p->number;
	uint8_t bytes[SNAPLEN];
	struct frame x = {.dscp = data ? (p->prio ? DSCP_LOSSLESS(p->prio) : 0) : DSCP_CONTROL,
		.ecn = p->not_ect || c->r->s->pfc_only ? 0
			: p->ce                        ? 3
						       : 2,
		.ttl = (uint8_t)(64 - hops(c, m, p)),
		.sport = p->sport,
		.id = (uint16_t)random_next(&c->random),
		.psn = psn,
		.msn = (uint32_t)slice};
	address(c->r->s, data ? p->src : p->dst, x.src);
	address(c->r->s, data ? p->dst : p->src, x.dst);
	x.dst_qp = number_of(c, p, data ? RECEIVER_QP : SENDER_QP);
	switch (p->kind) {
	case PACKET_DATA:
		x.kind = first && last ? FRAME_ONLY
			: first        ? FRAME_FIRST
			: last         ? FRAME_LAST
				       : FRAME_MIDDLE;
		x.payload = p->size - sp.header_bytes;
		x.message = (uint32_t)p->bytes;
		x.address = UINT64_C(0x7f0000000000) + ((uint64_t)x.dst_qp << 24);
		x.ack_request = last || (p->number + 1) % 16 == 0;
		break;
	case PACKET_ACK: /* cumulative: names the last one that has come */
		x.kind = FRAME_ACK;
		x.psn = psn - 1;
		break;
	case PACKET_NAK: /* sequence error: names the one that was expected */
		x.kind = FRAME_NAK;
		break;
	default: x.kind = FRAME_CNP; x.psn = 0;
	}
	const int64_t utc_ns = (int64_t)c->r->wall_ns + t_ns;
	const size_t wire = frame_write(&x, bytes, sizeof(bytes)),
		     kept = wire < sizeof(bytes) ? wire : sizeof(bytes);
	le32(f, (uint32_t)(utc_ns / 1000000000));
	le32(f, (uint32_t)(utc_ns % 1000000000));
	le32(f, (uint32_t)kept);
	le32(f, (uint32_t)wire);
	fwrite(bytes, 1, kept, f);
}

/* ---- following the recording --------------------------------------------- */

/* Packets between two samples: each one is taken with probability 1/N. */
static uint64_t gap(struct capture *c)
{
	if (c->sampling <= 1)
		return 0;
	return (uint64_t)(log(1 - random_unit(&c->random)) / log1p(-1.0 / (double)c->sampling));
}

/* A slice of each variant, one after the other. */
static void write_burst(struct capture *c, const struct coarse *k)
{
	for (size_t i = 0; i < c->n && c->rc == 0; i++) {
		FILE *f = NULL;
		size_t written = 0;
		double at_ns = k->start_ns;
		if ((c->rc = open_pcap(c->r->o->dir, "burst-", c->m[i].name, &f, &c->error)) != 0)
			return;
		for (unsigned v = 0; v < VARIANTS; v++) {
			const struct seen_list *l = &c->m[i].seen[k->state][v];
			for (size_t n = 0; n < l->n && written < BURST_MAX; n++, written++)
				write_packet(c, &c->m[i], &l->v[n], (uint64_t)c->slices + v,
					(int64_t)(at_ns + (double)l->v[n].t_ps / 1e3), f);
			at_ns += c->from_ns[k->state][v] + c->duration_ns[k->state][v];
		}
		c->rc = close_pcap(&f, c->r->o->dir, &c->error);
	}
	c->burst_written = true;
}

/* The first @part of the exchange that @k has under way. */
static void follow(struct capture *c, const struct coarse *k, double part)
{
	const double factor = k->factor * part, length_ns = (k->end_ns - k->start_ns) * part,
		     slice_ns = c->duration_ns[k->state][k->variant];
	if (factor <= 0 || c->rc != 0)
		return;
	if (!c->burst_written && k->state == (c->r->s->n_faults ? STATE_FAULT : STATE_OK))
		write_burst(c, k);
	for (size_t i = 0; i < c->n && c->rc == 0; i++) {
		struct mirror *m = &c->m[i];
		const struct seen_list *l = &m->seen[k->state][k->variant];
		const size_t n = l->n - l->first;
		const uint64_t all = (uint64_t)((double)n * factor);
		for (; m->left < all; m->left += 1 + gap(c)) {
			const struct seen *p = &l->v[l->first + m->left % n];
			const uint64_t slice = m->left / n;
			const double at =
				((double)slice +
					((double)p->t_ps / 1e3 - c->from_ns[k->state][k->variant]) /
						slice_ns) /
				factor;
			write_packet(c, m, p, (uint64_t)c->slices + slice,
				(int64_t)(k->start_ns + fmin(at, 1) * length_ns), m->file);
		}
		m->left -= all;
	}
	c->slices += ceil(factor);
}

static void exchange_done(void *data, const struct coarse *k)
{
	follow(data, k, 1);
}

/* One in N, so that all captures together keep to the budget. 1, 2 and 5 times a power of ten, as
 * people set it. */
static uint64_t choose_sampling(const struct capture *c)
{
	const struct coarse *k = c->r->c;
	const struct scenario *s = c->r->s;
	const double budget = s->capture_bytes > 0 ? s->capture_bytes : BUDGET_BYTES,
		     length = c->r->o->length_ns;
	double most = 0; /* packets a second */
	for (unsigned state = 0; state < STATES; state++)
		for (unsigned v = 0; v < VARIANTS; v++) {
			double n = 0;
			for (size_t i = 0; i < c->n; i++)
				n += (double)(c->m[i].seen[state][v].n -
					c->m[i].seen[state][v].first);
			const double step = state == STATE_FAULT
				? (isfinite(k->fault_exchange_ns)
						  ? k->compute_ns + k->fault_exchange_ns
						  : 0)
				: k->compute_ns + k->exchange_ns;
			if (n > 0 && c->duration_ns[state][v] > 0)
				most = fmax(most,
					step > 0 && state != STATE_CHECKPOINT
						? n * k->scale / step
						: n / c->duration_ns[state][v]);
		}
	const double want = most * length * RECORD_BYTES / budget;
	uint64_t nice = 1;
	for (unsigned k10 = 0; (double)nice < want; k10++)
		nice = (k10 % 3 == 1) ? nice / 2 * 5 : nice * 2;
	return nice;
}

int capture_new(struct recorder *r, struct capture **ret, struct err *e)
{
	struct capture *c = rw_calloc(1, sizeof(*c));
	struct plan *plan = plan_new(r->s);
	c->r = r;
	c->random = random_seeded(r->s->seed, 81);
	choose_mirrors(c);
	for (unsigned v = 0; v < VARIANTS; v++) {
		look(c, plan, STATE_OK, v);
		if (r->s->n_faults)
			look(c, plan, STATE_FAULT, v);
		if (r->s->checkpoint_every_ns > 0)
			look(c, plan, STATE_CHECKPOINT, v);
	}
	plan_free(plan);
	c->sampling = choose_sampling(c);
	for (size_t i = 0; i < c->n && c->rc == 0; i++) {
		c->m[i].left = gap(c);
		c->rc = open_pcap(r->o->dir, "capture-", c->m[i].name, &c->m[i].file, e);
	}
	if (c->rc != 0) {
		const int rc = c->rc;
		capture_free(c);
		return rc;
	}
	r->c->on_exchange = exchange_done;
	r->c->exchange_data = c;
	*ret = c;
	return 0;
}

static int write_yaml(const struct capture *c, struct err *e)
{
	char path[4096];
	rw_cleanup(fclosep) FILE *f = NULL;
	if (snprintf(path, sizeof(path), "%s/capture.yaml", c->r->o->dir) >= (int)sizeof(path))
		return err_set(e, -ENAMETOOLONG, "%s: the name is too long", c->r->o->dir);
	if (!(f = fopen(path, "w")))
		return err_set(e, -errno, "%s: %s", path, strerror(errno));
	fprintf(f, "capture:\n");
	for (size_t i = 0; i < c->n; i++)
		fprintf(f,
			"  - { name: %s, interface: mirror%zu, port: \"%s:%s\", direction: %s, "
			"sampling: %" PRIu64 ", snaplen: %dB, interval: %.0fs }\n",
			c->m[i].name, i + 1, c->m[i].device, c->m[i].port,
			c->m[i].out ? "out" : "in", c->sampling, SNAPLEN,
			fmax(1, ceil(c->r->o->interval_ns / 1e9)));
	return close_pcap(&f, c->r->o->dir, e);
}

int capture_finish(struct capture *c, struct err *e)
{
	const struct coarse *k = c->r->c;
	if (k->t_ns > k->start_ns && k->end_ns > k->start_ns)
		follow(c, k, fmin(1, (k->t_ns - k->start_ns) / (k->end_ns - k->start_ns)));
	for (size_t i = 0; i < c->n && c->rc == 0; i++)
		c->rc = close_pcap(&c->m[i].file, c->r->o->dir, &c->error);
	if (c->rc != 0) {
		*e = c->error;
		return c->rc;
	}
	return write_yaml(c, e);
}

void capture_free(struct capture *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++) {
		if (c->m[i].file)
			fclose(c->m[i].file);
		for (unsigned s = 0; s < STATES; s++)
			for (unsigned v = 0; v < VARIANTS; v++)
				free(c->m[i].seen[s][v].v);
	}
	free(c);
}

/* record - see record.h: the files of a case. What is in them is decided in faces.c, conditions.c
 * and truth.c. */
#include "tests/fabric/record.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "tests/fabric/capture.h"
#include "tests/fabric/recorder.h"

void device_name(
	const struct scenario *s, const struct sim_node *n, unsigned plane, char *buf, size_t size)
{
	if (s->planes < 2)
		snprintf(buf, size, "%s%u", n->kind == NODE_LEAF ? "leaf" : "spine", n->index + 1);
	else if (n->kind == NODE_LEAF)
		snprintf(buf, size, "su%u-rail%u", n->index + 1, plane);
	else
		snprintf(buf, size, "rail%u-spine%u", plane, n->index + 1);
}
void host_name(const struct scenario *s, unsigned host, char *buf, size_t size)
{
	const unsigned nodes = (unsigned)(s->leaves * s->hosts_per_leaf - s->storage_hosts);
	if (host < nodes)
		snprintf(buf, size, "node-%03u", host + 1);
	else
		snprintf(buf, size, "stor-%03u", host - nodes + 1);
}
const struct sim_node *recorder_switch(const struct recorder *r, size_t i)
{
	return &r->shape[0]->nodes[r->shape[0]->n_hosts + i];
}

static void write_fabric(const struct recorder *r, FILE *f)
{
	const struct scenario *s = r->s;
	const struct sim *m = r->shape[0];
	char device[48];
	fprintf(f, "# %s\nfabric: lab\ndevices:\n", s->name);
	for (unsigned plane = 0; plane < r->c->planes; plane++)
		for (size_t i = m->n_hosts; i < m->n_nodes; i++) {
			device_name(s, &m->nodes[i], plane, device, sizeof(device));
			fprintf(f, "  - { name: %s, role: %s }\n", device,
				m->nodes[i].kind == NODE_LEAF ? "leaf" : "spine");
		}
	fabric_write_links(r, f);
}

/* Where parallel links are a LAG: one per neighbour, at both ends. */
static void write_lags(const struct recorder *r, FILE *f)
{
	const struct sim *m = r->shape[0];
	char device[48];
	fprintf(f, "lags:\n");
	for (unsigned plane = 0; plane < r->c->planes; plane++)
		for (size_t i = m->n_hosts; i < m->n_nodes; i++) {
			const struct sim_node *n = &m->nodes[i];
			device_name(r->s, n, plane, device, sizeof(device));
			for (unsigned k = n->kind == NODE_LEAF ? m->t.hosts_per_leaf : 0, lag = 1;
				k < n->ports; k += m->t.parallel, lag++) {
				fprintf(f, "  - { device: %s, name: PortChannel%u, ports: [",
					device, lag);
				for (unsigned x = 0; x < m->t.parallel; x++)
					fprintf(f, "%sEthernet%u", x ? ", " : "", k + x + 1);
				fprintf(f, "] }\n");
			}
		}
}

void fabric_write_links(const struct recorder *r, FILE *f)
{
	const struct scenario *s = r->s;
	const struct sim *m = r->shape[0];
	char device[48], other[48];
	fprintf(f, "links:\n");
	for (unsigned plane = 0; plane < r->c->planes; plane++)
		for (size_t i = m->n_hosts; i < m->n_hosts + m->t.leaves; i++) {
			const struct sim_node *n = &m->nodes[i];
			device_name(s, n, plane, device, sizeof(device));
			for (unsigned k = 0; k < n->ports; k++) {
				const struct sim_port *peer =
					&m->ports[m->ports[n->port0 + k].peer];
				const struct sim_node *to = &m->nodes[peer->node];
				if (to->kind == NODE_HOST) {
					host_name(s, to->index, other, sizeof(other));
					fprintf(f,
						"  - { a: \"%s:Ethernet%u\", b: "
						"\"host:%s:rail%u\", cable: %.1fm, speed: %.0fG "
						"}\n",
						device, k + 1, other, plane, s->host_cable_mm / 1e3,
						s->host_bps / 1e9);
				} else {
					device_name(s, to, plane, other, sizeof(other));
					fprintf(f,
						"  - { a: \"%s:Ethernet%u\", b: \"%s:Ethernet%u\", "
						"cable: %.1fm, speed: %.0fG }\n",
						device, k + 1, other,
						(unsigned)(peer - m->ports) - to->port0 + 1,
						s->uplink_cable_mm / 1e3, s->uplink_bps / 1e9);
				}
			}
		}
	if (s->lag)
		write_lags(r, f);
	const struct sim_port *up = sim_uplink(r->shape[0], 0, 0, 0);
	fprintf(f, "lossless: { priorities: [%d", PRIORITY);
	if (s->second_priority >= 0 && s->second_lossless)
		fprintf(f, ", %.0f", s->second_priority);
	fprintf(f, "], mtu: 4200B }\npolicy: { congestion: %s, load_balancing: %s }\n",
		s->pfc_only ? "pfc_only" : "dcqcn", balancing_name(s));
	fprintf(f,
		"thresholds:\n  - { devices: \"*\", ports: \"*\", priority: %d, kmin: %.0fB, kmax: "
		"%.0fB, pmax: %g%%, alpha: %g, headroom: %" PRIu64 "B, pool: %.0fB }\n",
		PRIORITY, s->kmin_bytes, s->kmax_bytes, s->pmax * 100, s->alpha, up->headroom_bytes,
		s->pool_bytes);
	fprintf(f,
		"jobs:\n  - { name: train, gpus: %.0f, hosts: \"node-*\" }\ncost: { "
		"usd_per_gpu_hour: %g }\n",
		s->gpus > 0 ? s->gpus : s->leaves * s->hosts_per_leaf * s->planes,
		s->usd_per_gpu_hour);
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

static void recorder_done(struct recorder *r)
{
	if (r->f)
		faces_end(r);
	for (unsigned k = 0; k < 2; k++)
		sim_free(r->shape[k]);
	coarse_free(r->c);
	coarse_free(r->earlier);
}

/* @s is the fabric from now on: the same job, so that what its thresholds do to the length of a
 * step shows. @ret: what was before, with its steps. */
static int change_to(
	struct recorder *r, const struct scenario *s, struct coarse **ret, struct err *e)
{
	struct coarse *c;
	int rc = coarse_new(s, &c, e);
	if (rc != 0)
		return rc;
	coarse_continue(c, r->c);
	*ret = r->c;
	r->c = c;
	r->s = s;
	for (unsigned k = 0; k < 2; k++) {
		sim_free(r->shape[k]);
		r->shape[k] = scenario_shape(s, k == 1);
	}
	return 0;
}

static int write_samples(struct recorder *r, struct err *e)
{
	rw_cleanup(fclosep) FILE *f = NULL;
	int rc = open_file(r->o->dir, "samples.tsv", &f, e);
	if (rc != 0)
		return rc;
	r->out = f;
	fprintf(f, "# %s, seed %" PRIu64 ", face %s: recorded from a simulated fabric\n",
		r->s->name, r->s->seed, face_names[r->o->face]);
	faces_begin(r);
	/* A poller is never quite on time: up to 1 % of the interval late. */
	for (double at = 0; at <= r->o->length_ns; at += r->o->interval_ns) {
		if (r->o->tuned_later && !r->earlier && at >= r->o->later_ns) {
			if ((rc = change_to(r, r->o->tuned_later, &r->earlier, e)) != 0)
				return rc;
			faces_changed(r);
		}
		faces_sample(r,
			at + floor(random_unit(&r->random) * r->o->interval_ns / 100 / 1e6) * 1e6);
	}
	return close_file(&f, r->o->dir, e);
}

static int write_other(const struct recorder *r, const char *name,
	void (*write)(const struct recorder *r, FILE *f), struct err *e)
{
	rw_cleanup(fclosep) FILE *f = NULL;
	int rc = open_file(r->o->dir, name, &f, e);
	if (rc != 0)
		return rc;
	write(r, f);
	return close_file(&f, r->o->dir, e);
}

static void capture_donep(struct capture **c)
{
	capture_free(*c);
}

int record_case(const struct scenario *s, const struct record_options *o, struct err *e)
{
	rw_cleanup(capture_donep) struct capture *capture = NULL;
	rw_cleanup(recorder_done) struct recorder r = {
		.s = s, .o = o, .wall_ns = o->begin_ns, .random = random_seeded(s->seed, 51)};
	if (mkdir(o->dir, 0777) != 0 && errno != EEXIST)
		return err_set(e, -errno, "%s: %s", o->dir, strerror(errno));
	int rc = coarse_new(s, &r.c, e);
	if (rc != 0)
		return rc;
	for (unsigned k = 0; k < 2; k++)
		r.shape[k] = scenario_shape(s, k == 1);
	if (o->tuned) {
		rc = change_to(&r, o->tuned, &r.earlier, e);
		coarse_free(r.earlier); /* nothing happened yet */
		r.earlier = NULL;
		if (rc != 0)
			return rc;
	}
	if ((o->packets || (s->capture_bytes > 0 && !o->tuned && !o->tuned_later)) &&
		(rc = capture_new(&r, &capture, e)) != 0)
		return rc;
	if ((rc = write_samples(&r, e)) != 0 || (capture && (rc = capture_finish(capture, e)) != 0))
		return rc;
	if (r.earlier)
		r.s = o->tuned ? o->tuned : s; /* what was wrong, and how bad, is told of before */
	if ((rc = write_other(&r, "fabric.yaml", write_fabric, e)) != 0)
		return rc;
	return write_other(&r, "truth.json", truth_write, e);
}

/* links - see the header. */
#include "analyzers/measure/links.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "analyzers/analyzer.h"

#define FLOOR_BPS 1e9

struct link_values { /* of one measure over links that are alike, sorted */
	struct link_values *next;
	port_measure *measure;
	uint16_t tiers;
	double *v;
	size_t n;
};

static bool is_near(const struct fabric_port *p)
{
	if (!p->peer)
		return true;
	const struct fabric_device *here = p->device, *there = p->peer->device;
	if (here->role != there->role)
		return here->role < there->role;
	return p->index < p->peer->index;
}

static uint16_t tiers_of(const struct fabric_port *p, enum link_kind kind)
{
	return (uint16_t)(kind << 8 |
		(kind == LINK_SWITCH ? p->device->role << 4 | p->peer->device->role : 0));
}

static int by_host(const void *a, const void *b)
{
	const struct link *x = *(const struct link *const *)a, *y = *(const struct link *const *)b;
	const int d = strcmp(x->near->port->host, y->near->port->host);
	return d ? d : x < y ? -1 : 1;
}

void links_find(const struct observed *o, struct arena *a, struct links *ret)
{
	*ret = (struct links){.o = o,
		.a = a,
		.v = arena_array(a, struct link, o->n_ports + 1),
		.by_host = arena_array(a, const struct link *, o->n_ports + 1)};
	for (size_t i = 0; i < o->n_ports; i++) {
		const struct port_seen *p = &o->ports[i];
		if (!is_near(p->port))
			continue;
		struct link *l = &ret->v[ret->n++];
		*l = (struct link){.near = p,
			.far = observed_peer(o, p),
			.kind = p->port->host   ? LINK_HOST
				: p->port->peer ? LINK_SWITCH
						: LINK_LOOSE};
		l->answered = p->device->n_series > 0 || (l->far && l->far->device->n_series > 0);
		l->tiers = tiers_of(p->port, l->kind);
		if (l->kind == LINK_HOST)
			ret->by_host[ret->n_by_host++] = l;
	}
	qsort(ret->by_host, ret->n_by_host, sizeof(*ret->by_host), by_host);
}

struct links *links_seen(const struct analyzer_in *in)
{
	if (in->shared && in->shared->links)
		return in->shared->links;
	struct arena *a = in->shared ? in->shared->arena : in->arena;
	struct links *found = arena_new_of(a, struct links);
	links_find(observe(in), a, found);
	if (in->shared)
		in->shared->links = found;
	return found;
}

size_t links_of_device(const struct links *l, const struct link *of, const struct link **ret)
{
	const struct link *from = of, *to = of + 1;
	while (from > l->v && from[-1].near->device == of->near->device)
		from--;
	while (to < l->v + l->n && to->near->device == of->near->device)
		to++;
	*ret = from;
	return (size_t)(to - from);
}

size_t links_of_host(const struct links *l, const char *host, const struct link *const **ret)
{
	size_t lo = 0, hi = l->n_by_host;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		if (strcmp(l->by_host[mid]->near->port->host, host) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	*ret = &l->by_host[lo];
	size_t n = 0;
	while (lo + n < l->n_by_host && strcmp(l->by_host[lo + n]->near->port->host, host) == 0)
		n++;
	return n;
}

double port_load(const struct port_seen *p)
{
	const double rate =
		fmax(p->out_known ? p->out.rate_bps : NAN, p->in_known ? p->in.rate_bps : NAN);
	return rate / (p->out.capacity_bps ? (double)p->out.capacity_bps : FLOOR_BPS);
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static const struct link_values *values_of(struct links *l, uint16_t tiers, port_measure *measure)
{
	for (const struct link_values *k = l->values; k; k = k->next)
		if (k->measure == measure && k->tiers == tiers)
			return k;
	struct link_values *k = arena_new_of(l->a, struct link_values);
	*k = (struct link_values){.next = l->values,
		.measure = measure,
		.tiers = tiers,
		.v = arena_array(l->a, double, 2 * l->n + 1)};
	for (size_t i = 0; i < l->n; i++)
		for (int e = 0; e < 2 && l->v[i].tiers == tiers; e++) {
			const struct port_seen *p = link_end(&l->v[i], e);
			const double x = p ? measure(p) : NAN;
			if (!isnan(x))
				k->v[k->n++] = x;
		}
	qsort(k->v, k->n, sizeof(*k->v), by_value);
	l->values = k;
	return k;
}

/* The element that would be at @at, were the values at @skip (ascending) not there. */
static double element(const struct link_values *k, size_t at, const size_t skip[2], size_t n_skip)
{
	for (size_t i = 0; i < n_skip; i++)
		at += at >= skip[i];
	return k->v[at];
}

double link_median(struct links *l, const struct link *of, port_measure *measure, size_t least)
{
	const struct link_values *k = values_of(l, of->tiers, measure);
	size_t skip[2], n_skip = 0;
	double own[2] = {measure(of->near), of->far ? measure(of->far) : NAN};
	if (own[1] < own[0])
		own[0] = own[1], own[1] = measure(of->near);
	for (int e = 0; e < 2; e++) {
		const double *at = isnan(own[e])
			? NULL
			: bsearch(&own[e], k->v, k->n, sizeof(*k->v), by_value);
		if (!at)
			continue;
		const size_t found = (size_t)(at - k->v);
		/* both ends measure the same: any two of the equal ones */
		if (n_skip && found == skip[0]) {
			const bool above = found + 1 < k->n && k->v[found + 1] == own[e];
			skip[0] = above ? found : found - 1;
			skip[n_skip++] = above ? found + 1 : found;
			continue;
		}
		skip[n_skip++] = found;
	}
	const size_t n = k->n - n_skip;
	if (n < least || n == 0)
		return NAN;
	return (element(k, (n - 1) / 2, skip, n_skip) + element(k, n / 2, skip, n_skip)) / 2;
}

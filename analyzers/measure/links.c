/* links - see the header. */
#include "analyzers/measure/links.h"
#include "analyzers/measure/input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/stats.h"

#define FLOOR_BPS 1e9

struct link_values { /* of one measure over links that are alike, sorted */
	struct link_values *next;
	port_measure *measure;
	uint16_t tiers;
	double *v;
	size_t n;
};

static bool is_near(const struct fabric_port *port)
{
	if (!port->peer)
		return true;
	const struct fabric_device *here = port->device, *there = port->peer->device;
	if (here->role != there->role)
		return here->role < there->role;
	return port->index < port->peer->index;
}

static uint16_t tiers_of(const struct fabric_port *port, enum link_kind kind)
{
	return (uint16_t)(kind << 8 |
		(kind == LINK_SWITCH ? port->device->role << 4 | port->peer->device->role : 0));
}

static int links_by_host(const void *left, const void *right)
{
	const struct link *x = *(const struct link *const *)left,
			  *y = *(const struct link *const *)right;
	const int d = strcmp(x->near->port->host, y->near->port->host);
	if (d)
		return d;
	if (x < y)
		return -1;
	return 1;
}

void links_find(const struct observed *observed, struct arena *a, struct links *ret)
{
	*ret = (struct links){.o = observed,
		.a = a,
		.v = arena_array(a, struct link, observed->n_ports + 1),
		.by_host = arena_array(a, const struct link *, observed->n_ports + 1)};
	for (size_t i = 0; i < observed->n_ports; i++) {
		const struct port_seen *p = &observed->ports[i];
		if (!is_near(p->port))
			continue;
		struct link *l = &ret->v[ret->n++];
		*l = (struct link){.near = p,
			.far = observed_peer(observed, p),
			.kind = p->port->host   ? LINK_HOST
				: p->port->peer ? LINK_SWITCH
						: LINK_LOOSE};
		l->answered = p->device->n_series > 0 || (l->far && l->far->device->n_series > 0);
		l->tiers = tiers_of(p->port, l->kind);
		if (l->kind == LINK_HOST)
			ret->by_host[ret->n_by_host++] = l;
	}
	qsort(ret->by_host, ret->n_by_host, sizeof(*ret->by_host), links_by_host);
}

struct links *links_seen(const struct analyzer_in *in)
{
	if (in->shared && in->shared->links)
		return in->shared->links;
	struct arena *a;
	if (in->shared)
		a = in->shared->arena;
	else
		a = in->arena;
	struct links *found = arena_new_of(a, struct links);
	links_find(observe(in), a, found);
	if (in->shared)
		in->shared->links = found;
	return found;
}

size_t links_of_device(const struct links *links, const struct link *of, const struct link **ret)
{
	const struct link *from = of, *to = of + 1;
	while (from > links->v && from[-1].near->device == of->near->device)
		from--;
	while (to < links->v + links->n && to->near->device == of->near->device)
		to++;
	*ret = from;
	return (size_t)(to - from);
}

size_t links_of_host(const struct links *links, const char *host, const struct link *const **ret)
{
	size_t lo = 0, hi = links->n_by_host;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		if (strcmp(links->by_host[mid]->near->port->host, host) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	*ret = &links->by_host[lo];
	size_t n = 0;
	while (lo + n < links->n_by_host &&
		strcmp(links->by_host[lo + n]->near->port->host, host) == 0)
		n++;
	return n;
}

double port_load(const struct port_seen *port)
{
	const double rate = fmax(port->out_known ? port->out.rate_bps : NAN,
		port->in_known ? port->in.rate_bps : NAN);
	return rate / (port->out.capacity_bps ? (double)port->out.capacity_bps : FLOOR_BPS);
}

static const struct link_values *values_of(
	struct links *links, uint16_t tiers, port_measure *measure)
{
	for (const struct link_values *k = links->values; k; k = k->next)
		if (k->measure == measure && k->tiers == tiers)
			return k;
	struct link_values *k = arena_new_of(links->a, struct link_values);
	*k = (struct link_values){.next = links->values,
		.measure = measure,
		.tiers = tiers,
		.v = arena_array(links->a, double, 2 * links->n + 1)};
	for (size_t i = 0; i < links->n; i++)
		for (int e = 0; e < 2 && links->v[i].tiers == tiers; e++) {
			const struct port_seen *p = link_end(&links->v[i], e);
			double x = NAN;
			if (p)
				x = measure(p);
			if (!isnan(x))
				k->v[k->n++] = x;
		}
	stats_sort(k->v, k->n);
	links->values = k;
	return k;
}

/* The element that would be at @at, were the values at @skip (ascending) not there. */
static double links_element(
	const struct link_values *values, size_t at, const size_t skip[2], size_t n_skip)
{
	for (size_t i = 0; i < n_skip; i++)
		at += at >= skip[i];
	return values->v[at];
}

double link_median(struct links *links, const struct link *of, port_measure *measure, size_t least)
{
	const struct link_values *k = values_of(links, of->tiers, measure);
	size_t skip[2], n_skip = 0;
	double own[2] = {measure(of->near), of->far ? measure(of->far) : NAN};
	if (own[1] < own[0])
		own[0] = own[1], own[1] = measure(of->near);
	for (int e = 0; e < 2; e++) {
		const double *at = NULL;
		if (!isnan(own[e]))
			at = bsearch(&own[e], k->v, k->n, sizeof(*k->v), stats_order);
		if (!at)
			continue;
		const size_t found = (size_t)(at - k->v);
		/* both ends measure the same: any two of the equal ones */
		if (n_skip && found == skip[0]) {
			const bool above = found + 1 < k->n && k->v[found + 1] == own[e];
			if (above)
				skip[0] = found;
			else
				skip[0] = found - 1;
			skip[n_skip++] = above ? found + 1 : found;
			continue;
		}
		skip[n_skip++] = found;
	}
	const size_t n = k->n - n_skip;
	if (n < least || n == 0)
		return NAN;
	return (links_element(k, (n - 1) / 2, skip, n_skip) +
		       links_element(k, n / 2, skip, n_skip)) /
		2;
}

/* links - finds the links of a window, and what links alike measure. */
#include "analyzers/measure/links.h"
#include "analyzers/measure/input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/stats.h"

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

static enum link_kind kind_of(const struct fabric_port *port)
{
	if (port->host)
		return LINK_HOST;
	if (port->peer)
		return LINK_SWITCH;
	return LINK_LOOSE;
}

static uint16_t tiers_of(const struct fabric_port *port, enum link_kind kind)
{
	unsigned roles = 0;
	if (kind == LINK_SWITCH)
		roles = (unsigned)port->device->role << 4 | (unsigned)port->peer->device->role;
	return (uint16_t)((unsigned)kind << 8 | roles);
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
		*l = (struct link){
			.near = p, .far = observed_peer(observed, p), .kind = kind_of(p->port)};
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
	double rate = NAN, capacity = PORT_LOAD_FLOOR_BPS;
	if (port->out_known)
		rate = port->out.rate_bps;
	if (port->in_known)
		rate = fmax(rate, port->in.rate_bps);
	if (port->out.capacity_bps)
		capacity = (double)port->out.capacity_bps;
	return rate / capacity;
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

/* The element at @at of the values without those at @skip (ascending). */
static double links_element(
	const struct link_values *values, size_t at, const size_t skip[2], size_t n_skip)
{
	for (size_t i = 0; i < n_skip; i++)
		at += at >= skip[i];
	return values->v[at];
}

/* Where the values of @of's own ends lie among those of its like, ascending; returns how many. */
static size_t links_own(const struct link_values *values, const struct link *of,
	port_measure *measure, size_t ret[2])
{
	size_t n = 0;
	double own[2] = {measure(of->near), NAN};
	if (of->far)
		own[1] = measure(of->far);
	if (own[1] < own[0]) {
		const double smaller = own[1];
		own[1] = own[0];
		own[0] = smaller;
	}
	for (int end = 0; end < 2; end++) {
		const double *at = NULL;
		if (!isnan(own[end]))
			at = bsearch(
				&own[end], values->v, values->n, sizeof(*values->v), stats_order);
		if (!at)
			continue;
		const size_t found = (size_t)(at - values->v);
		if (n == 0 || found != ret[0]) {
			ret[n++] = found;
			continue;
		}
		/* both ends measure the same: take any two of the equal values */
		if (found + 1 < values->n && values->v[found + 1] == own[end]) {
			ret[n++] = found + 1;
		} else {
			ret[0] = found - 1;
			ret[n++] = found;
		}
	}
	return n;
}

double link_median(struct links *links, const struct link *of, port_measure *measure, size_t least)
{
	const struct link_values *values = values_of(links, of->tiers, measure);
	size_t skip[2];
	const size_t n_skip = links_own(values, of, measure, skip);
	const size_t n = values->n - n_skip;
	if (n < least || n == 0)
		return NAN;
	const double lower = links_element(values, (n - 1) / 2, skip, n_skip);
	const double upper = links_element(values, n / 2, skip, n_skip);
	return (lower + upper) / 2;
}

/* fabric - the graph's lookups, order, and the ECMP groups that follow from it (see fabric.h). */
#include "config/fabric.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "config/schema.h"

static const char *const role_names[] = {"leaf", "spine", "superspine", "other"};
static const char *const congestion_names[] = {
	"dcqcn", "pfc_only", "ecn_only", "rtt_cc", "receiver_driven"};
static const char *const lb_names[] = {"static", "flowlet", "packet", "adaptive", "pinned"};

const char *device_role_name(enum device_role r)
{
	return (size_t)r < rw_countof(role_names) ? role_names[r] : "?";
}
const char *congestion_policy_name(enum congestion_policy p)
{
	return (size_t)p < rw_countof(congestion_names) ? congestion_names[p] : "?";
}
const char *lb_policy_name(enum lb_policy p)
{
	return (size_t)p < rw_countof(lb_names) ? lb_names[p] : "?";
}

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

int name_compare(const char *a, const char *b)
{
	const char *x = a, *y = b;
	while (*x && *y) {
		if (digit(*x) && digit(*y)) {
			while (*x == '0' && digit(x[1]))
				x++;
			while (*y == '0' && digit(y[1]))
				y++;
			size_t nx = strspn(x, "0123456789"), ny = strspn(y, "0123456789");
			if (nx != ny)
				return nx < ny ? -1 : 1;
			int d = memcmp(x, y, nx);
			if (d)
				return d < 0 ? -1 : 1;
			x += nx;
			y += ny;
			continue;
		}
		if (*x != *y)
			return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
		x++;
		y++;
	}
	if (*x || *y)
		return *x ? 1 : -1;
	/* "eth01" and "eth1" are different names: an order must not call them equal. */
	int d = strcmp(a, b);
	return d < 0 ? -1 : d > 0;
}

const struct fabric_device *fabric_device(const struct fabric *f, const char *name)
{
	size_t lo = 0, hi = f->n_devices;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int d = name_compare(name, f->devices[mid]->name);
		if (d == 0)
			return f->devices[mid];
		if (d < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return NULL;
}

const struct fabric_port *fabric_port(const struct fabric_device *d, const char *name)
{
	for (size_t i = 0; i < d->n_ports; i++)
		if (strcmp(d->ports[i]->name, name) == 0)
			return d->ports[i];
	for (size_t i = 0; i < d->n_ports; i++)
		if (*name && strcmp(d->ports[i]->alias, name) == 0)
			return d->ports[i];
	return NULL;
}

const struct fabric_group *fabric_group(const struct fabric_device *d, const char *id)
{
	for (size_t i = 0; i < d->n_groups; i++)
		if (strcmp(d->groups[i].id, id) == 0)
			return &d->groups[i];
	return NULL;
}

uint64_t fabric_gpus(const struct fabric *f)
{
	uint64_t n = 0;
	for (size_t i = 0; i < f->n_jobs; i++)
		n += f->jobs[i].gpus;
	return n;
}

uint64_t fabric_host_gpus(const struct fabric *f, const char *host)
{
	uint64_t n = 0;
	for (size_t i = 0; i < f->n_jobs; i++)
		if (str_glob(f->jobs[i].hosts, host))
			n += f->jobs[i].gpus;
	return n;
}

/* ---- building ------------------------------------------------------------ */

struct fabric_port *fabric_port_add(struct fabric_device *d, struct arena *a, const char *name)
{
	for (size_t i = 0; i < d->n_ports; i++)
		if (strcmp(d->ports[i]->name, name) == 0)
			return d->ports[i];
	/* Room doubles at powers of two; the count says when. */
	if ((d->n_ports & (d->n_ports - 1)) == 0) {
		struct fabric_port **v =
			arena_array(a, struct fabric_port *, d->n_ports ? d->n_ports * 2 : 1);
		if (d->n_ports)
			memcpy(v, d->ports, d->n_ports * sizeof(*v));
		d->ports = v;
	}
	struct fabric_port *p = arena_new_of(a, struct fabric_port);
	p->name = arena_strdup(a, name);
	p->device = d;
	p->alias = "";
	p->host_nic = "";
	d->ports[d->n_ports++] = p;
	return p;
}

static int compare_devices(const void *a, const void *b)
{
	return name_compare((*(struct fabric_device *const *)a)->name,
		(*(struct fabric_device *const *)b)->name);
}

static int compare_ports(const void *a, const void *b)
{
	return name_compare(
		(*(struct fabric_port *const *)a)->name, (*(struct fabric_port *const *)b)->name);
}

static int compare_groups(const void *a, const void *b)
{
	return name_compare(
		((const struct fabric_group *)a)->id, ((const struct fabric_group *)b)->id);
}

void fabric_sort(struct fabric *f)
{
	if (f->n_devices)
		qsort(f->devices, f->n_devices, sizeof(*f->devices), compare_devices);
	for (size_t i = 0; i < f->n_devices; i++)
		if (f->devices[i]->n_ports)
			qsort(f->devices[i]->ports, f->devices[i]->n_ports,
				sizeof(*f->devices[i]->ports), compare_ports);
	uint32_t n = 0;
	for (size_t i = 0; i < f->n_devices; i++) {
		f->devices[i]->index = (uint32_t)i;
		for (size_t k = 0; k < f->devices[i]->n_ports; k++)
			f->devices[i]->ports[k]->index = n++;
	}
}

/* ---- groups -------------------------------------------------------------- */

/* Does @p stand for a LAG whose ports are known? Its ports speak for it then. */
static bool is_aggregate(const struct fabric_port *p)
{
	for (size_t i = 0; i < p->device->n_ports; i++)
		if (str_eq(p->device->ports[i]->lag, p->name))
			return true;
	return false;
}

/* The first port of a LAG in natural order represents it. */
static bool represents(const struct fabric_port *p)
{
	for (size_t i = 0; p->lag && i < p->device->n_ports && p->device->ports[i] != p; i++)
		if (str_eq(p->device->ports[i]->lag, p->lag))
			return false;
	return true;
}

static bool towards_next_tier(const struct fabric_port *p)
{
	if (!p->peer)
		return false;
	enum device_role here = p->device->role, there = p->peer->device->role;
	return (here == ROLE_LEAF && there == ROLE_SPINE) ||
		(here == ROLE_SPINE && there == ROLE_SUPERSPINE);
}

/* The ports of a device that lead to another one, a LAG once: what groups choose from. */
struct candidates {
	struct fabric_port **v;
	size_t n;
};

/* Which of them belong to a group. */
struct wanted {
	const char *rail; /* of the uplinks; NULL = those without rail */
	const struct fabric_device *peer; /* else those to this device */
	const char *lag; /* else the ports of this LAG */
};

static bool belongs(const struct wanted *w, const struct fabric_port *p)
{
	if (w->lag)
		return str_eq(p->lag, w->lag);
	if (w->peer)
		return p->peer->device == w->peer;
	return towards_next_tier(p) && str_eq(p->rail, w->rail);
}

static bool same_members(const struct fabric_group *a, const struct fabric_group *b)
{
	if (a->n_members != b->n_members)
		return false;
	for (size_t i = 0; i < a->n_members; i++)
		if (a->members[i] != b->members[i])
			return false;
	return true;
}

void fabric_group_add(struct fabric_device *d, struct arena *a, const struct fabric_group *g)
{
	if ((d->n_groups & (d->n_groups - 1)) == 0) {
		struct fabric_group *v =
			arena_array(a, struct fabric_group, d->n_groups ? d->n_groups * 2 : 1);
		if (d->n_groups)
			memcpy(v, d->groups, d->n_groups * sizeof(*v));
		d->groups = v;
	}
	d->groups[d->n_groups++] = *g;
}

/*
 * Adds the group when it has a choice to make: two members or more. A given group of that id wins.
 * Where all uplinks go to one device, "to:<device>" would be the same group again and each of its
 * incidents would be told twice, so it is left out; so is a derived group that was given under
 * another name.
 */
static void derive(struct fabric_device *d, struct arena *a, const struct candidates *from,
	const char *id, const struct wanted *w)
{
	struct fabric_group g = {.id = id, .device = d, .lb = d->lb};
	size_t n = 0;
	for (size_t i = 0; i < from->n; i++)
		n += belongs(w, from->v[i]);
	if (n < 2 || fabric_group(d, id))
		return;
	g.members = arena_array(a, struct fabric_port *, n);
	for (size_t i = 0; i < from->n; i++)
		if (belongs(w, from->v[i]))
			g.members[g.n_members++] = from->v[i];
	for (size_t i = 0; i < d->n_groups; i++)
		if (!w->lag && same_members(&d->groups[i], &g))
			return;
	fabric_group_add(d, a, &g);
}

static bool first_with_rail(const struct candidates *c, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (towards_next_tier(c->v[k]) && str_eq(c->v[k]->rail, c->v[i]->rail))
			return false;
	return true;
}

static bool first_with_peer(const struct candidates *c, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (c->v[k]->peer->device == c->v[i]->peer->device)
			return false;
	return true;
}

static void derive_for(struct fabric_device *d, struct arena *a)
{
	const struct candidates all = {.v = d->ports, .n = d->n_ports};
	struct candidates linked = {.v = arena_array(a, struct fabric_port *, d->n_ports)};
	for (size_t i = 0; i < d->n_ports; i++)
		if (d->ports[i]->peer && !is_aggregate(d->ports[i]) && represents(d->ports[i]))
			linked.v[linked.n++] = d->ports[i];

	for (size_t i = 0; i < linked.n; i++) {
		const struct wanted w = {.rail = linked.v[i]->rail};
		if (towards_next_tier(linked.v[i]) && first_with_rail(&linked, i))
			derive(d, a, &linked,
				w.rail ? arena_printf(a, "uplinks@%s", w.rail) : "uplinks", &w);
	}
	for (size_t i = 0; i < linked.n; i++) {
		const struct wanted w = {.peer = linked.v[i]->peer->device};
		if (first_with_peer(&linked, i))
			derive(d, a, &linked, arena_printf(a, "to:%s", w.peer->name), &w);
	}
	for (size_t i = 0; i < d->n_ports; i++) {
		const struct wanted w = {.lag = d->ports[i]->lag};
		if (w.lag && represents(d->ports[i]))
			derive(d, a, &all, arena_printf(a, "lag:%s", w.lag), &w);
	}
	if (d->n_groups)
		qsort(d->groups, d->n_groups, sizeof(*d->groups), compare_groups);
}

/*
 * Ports share a destination set when they lead to the same plane of the next tier: all of them in a
 * fabric without rails, those of one rail otherwise. Links that are down or missing do not split a
 * group: that is what the group is there to show.
 */
void fabric_derive_groups(struct fabric *f, struct arena *a)
{
	for (size_t n = 0; n < f->n_devices; n++)
		derive_for(f->devices[n], a);
}

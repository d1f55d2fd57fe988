/* fabric - looks up and orders devices and ports, and derives ECMP groups from the links. */
#include "config/fabric.h"

static const char *const role_names[] = {"leaf", "spine", "superspine", "other"};

const char *device_role_name(enum device_role role)
{
	if ((size_t)role < rw_countof(role_names))
		return role_names[role];
	return "?";
}
static bool fabric_digit(char letter)
{
	return letter >= '0' && letter <= '9';
}

static int fabric_sign(int difference)
{
	return (difference > 0) - (difference < 0);
}

/* Compares the numbers at both cursors, which begin with a digit, and steps over them. */
static int compare_numbers(const char **left, const char **right)
{
	while (**left == '0' && fabric_digit((*left)[1]))
		++*left;
	while (**right == '0' && fabric_digit((*right)[1]))
		++*right;
	const size_t n_left = strspn(*left, "0123456789"), n_right = strspn(*right, "0123456789");
	if (n_left != n_right)
		return n_left < n_right ? -1 : 1;
	const int order = fabric_sign(memcmp(*left, *right, n_left));
	*left += n_left;
	*right += n_right;
	return order;
}

int name_compare(const char *left, const char *right)
{
	const char *x = left, *y = right;
	while (*x && *y) {
		if (fabric_digit(*x) && fabric_digit(*y)) {
			const int order = compare_numbers(&x, &y);
			if (order)
				return order;
			continue;
		}
		if (*x != *y)
			return fabric_sign((unsigned char)*x - (unsigned char)*y);
		x++;
		y++;
	}
	if (*x)
		return 1;
	if (*y)
		return -1;
	/* "eth01" and "eth1" are different names: an order must not call them equal. */
	return fabric_sign(strcmp(left, right));
}

const struct fabric_device *fabric_device(const struct fabric *fabric, const char *name)
{
	size_t lo = 0, hi = fabric->n_devices;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int d = name_compare(name, fabric->devices[mid]->name);
		if (d == 0)
			return fabric->devices[mid];
		if (d < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return NULL;
}

const struct fabric_port *fabric_port(const struct fabric_device *device, const char *name)
{
	for (size_t i = 0; i < device->n_ports; i++)
		if (strcmp(device->ports[i]->name, name) == 0)
			return device->ports[i];
	for (size_t i = 0; i < device->n_ports; i++)
		if (*name && strcmp(device->ports[i]->alias, name) == 0)
			return device->ports[i];
	return NULL;
}

const struct fabric_group *fabric_group(const struct fabric_device *device, const char *id)
{
	for (size_t i = 0; i < device->n_groups; i++)
		if (strcmp(device->groups[i].id, id) == 0)
			return &device->groups[i];
	return NULL;
}

static int fabric_by_name(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

bool fabric_job_has(const struct fabric_job *job, const char *host)
{
	if (bsearch(&host, job->names, job->n_names, sizeof(*job->names), fabric_by_name))
		return true;
	for (size_t i = 0; i < job->n_globs; i++)
		if (str_glob(job->globs[i], host))
			return true;
	return false;
}

const struct fabric_job *fabric_job_of(const struct fabric *fabric, const char *host)
{
	for (size_t i = 0; i < fabric->n_jobs; i++)
		if (fabric_job_has(&fabric->jobs[i], host))
			return &fabric->jobs[i];
	return NULL;
}

bool fabric_outside_jobs(const struct fabric *fabric, const char *host)
{
	bool declared = false;
	for (size_t i = 0; i < fabric->n_jobs; i++)
		declared |= !fabric->jobs[i].scheduled;
	return declared && !fabric_job_of(fabric, host);
}

void fabric_job_split(struct fabric_job *job, struct arena *a)
{
	size_t n = 1;
	for (const char *at = job->hosts; *at; at++)
		n += *at == ',';
	job->names = arena_array(a, const char *, n);
	job->globs = arena_array(a, const char *, n);
	for (const char *at = job->hosts; *at;) {
		const size_t length = strcspn(at, ",");
		const char *name = arena_strndup(a, at, length);
		if (strpbrk(name, "*?["))
			job->globs[job->n_globs++] = name;
		else
			job->names[job->n_names++] = name;
		at += length + (at[length] == ',');
	}
	qsort(job->names, job->n_names, sizeof(*job->names), fabric_by_name);
}

uint64_t fabric_gpus(const struct fabric *fabric)
{
	uint64_t n = 0;
	for (size_t i = 0; i < fabric->n_jobs; i++)
		n += fabric->jobs[i].gpus;
	return n;
}

/* ---- building ------------------------------------------------------------ */

struct fabric_port *fabric_port_add(struct fabric_device *device, struct arena *a, const char *name)
{
	for (size_t i = 0; i < device->n_ports; i++)
		if (strcmp(device->ports[i]->name, name) == 0)
			return device->ports[i];
	arena_grow_pow2(a, device->ports, device->n_ports);
	struct fabric_port *p = arena_new_of(a, struct fabric_port);
	p->name = arena_strdup(a, name);
	p->device = device;
	p->alias = "";
	p->host_nic = "";
	p->outsider_port = "";
	device->ports[device->n_ports++] = p;
	return p;
}

static int compare_devices(const void *left, const void *right)
{
	return name_compare((*(struct fabric_device *const *)left)->name,
		(*(struct fabric_device *const *)right)->name);
}

static int compare_ports(const void *left, const void *right)
{
	return name_compare((*(struct fabric_port *const *)left)->name,
		(*(struct fabric_port *const *)right)->name);
}

static int compare_groups(const void *left, const void *right)
{
	return name_compare(
		((const struct fabric_group *)left)->id, ((const struct fabric_group *)right)->id);
}

static bool fabric_globs_fit(const char *devices, const char *ports, const struct fabric_port *port)
{
	if (!str_glob(devices, port->device->name))
		return false;
	if (str_glob(ports, port->name))
		return true;
	return port->alias[0] && str_glob(ports, port->alias);
}

bool fabric_threshold_fits(
	const struct fabric_threshold *threshold, const struct fabric_port *port, int priority)
{
	return threshold->priority == priority &&
		fabric_globs_fit(threshold->devices, threshold->ports, port);
}

const struct fabric_port_setting *fabric_port_setting_of(
	const struct fabric *fabric, const struct fabric_port *port)
{
	for (size_t i = 0; i < fabric->n_port_settings; i++) {
		const struct fabric_port_setting *given = &fabric->port_settings[i];
		if (fabric_globs_fit(given->devices, given->ports, port))
			return given;
	}
	return NULL;
}

const struct fabric_threshold *fabric_threshold_of(
	const struct fabric *fabric, const struct fabric_port *port, int priority)
{
	for (size_t i = 0; i < fabric->n_thresholds; i++)
		if (fabric_threshold_fits(&fabric->thresholds[i], port, priority))
			return &fabric->thresholds[i];
	return NULL;
}

void fabric_sort(struct fabric *fabric)
{
	if (fabric->n_devices)
		qsort(fabric->devices, fabric->n_devices, sizeof(*fabric->devices),
			compare_devices);
	for (size_t i = 0; i < fabric->n_devices; i++)
		if (fabric->devices[i]->n_ports)
			qsort(fabric->devices[i]->ports, fabric->devices[i]->n_ports,
				sizeof(*fabric->devices[i]->ports), compare_ports);
	uint32_t n = 0;
	for (size_t i = 0; i < fabric->n_devices; i++) {
		fabric->devices[i]->index = (uint32_t)i;
		for (size_t k = 0; k < fabric->devices[i]->n_ports; k++)
			fabric->devices[i]->ports[k]->index = n++;
	}
}

/* ---- groups -------------------------------------------------------------- */

/* Does @port stand for a LAG whose ports are known? Its ports speak for it then. */
static bool is_aggregate(const struct fabric_port *port)
{
	for (size_t i = 0; i < port->device->n_ports; i++)
		if (str_eq(port->device->ports[i]->lag, port->name))
			return true;
	return false;
}

/* The first port of a LAG in natural order represents it. */
static bool fabric_represents(const struct fabric_port *port)
{
	for (size_t i = 0; port->lag && i < port->device->n_ports && port->device->ports[i] != port;
		i++)
		if (str_eq(port->device->ports[i]->lag, port->lag))
			return false;
	return true;
}

static bool towards_next_tier(const struct fabric_port *port)
{
	if (!port->peer)
		return false;
	enum device_role here = port->device->role, there = port->peer->device->role;
	return (here == ROLE_LEAF && there == ROLE_SPINE) ||
		(here == ROLE_SPINE && there == ROLE_SUPERSPINE);
}

/* The ports of a device that lead to another one, a LAG once: what groups choose from. */
struct group_ports {
	struct fabric_port **v;
	size_t n;
};

/* Which of them belong to a group: exactly one member is used. */
struct group_rule {
	const char *rail; /* of the uplinks; NULL = those without rail */
	const struct fabric_device *peer; /* else those to this device */
	const char *lag; /* else the ports of this LAG */
};

static bool fabric_belongs(const struct group_rule *wanted, const struct fabric_port *port)
{
	if (wanted->lag)
		return str_eq(port->lag, wanted->lag);
	if (wanted->peer)
		return port->peer->device == wanted->peer;
	return towards_next_tier(port) && str_eq(port->rail, wanted->rail);
}

static bool same_members(const struct fabric_group *left, const struct fabric_group *right)
{
	if (left->n_members != right->n_members)
		return false;
	for (size_t i = 0; i < left->n_members; i++)
		if (left->members[i] != right->members[i])
			return false;
	return true;
}

void fabric_group_add(
	struct fabric_device *device, struct arena *a, const struct fabric_group *group)
{
	arena_grow_pow2(a, device->groups, device->n_groups);
	device->groups[device->n_groups++] = *group;
}

/*
 * Adds the group when it has a choice to make: two members or more. A given group of that id wins.
 * Where all uplinks go to one device, "to:<device>" would be the same group again and each of its
 * incidents would be reported twice, so it is left out; so is a derived group that was given under
 * another name.
 */
static void fabric_derive(struct fabric_device *device, struct arena *a,
	const struct group_ports *from, const char *id, const struct group_rule *wanted)
{
	struct fabric_group group = {.id = id, .device = device, .lb = device->lb};
	size_t n = 0;
	for (size_t i = 0; i < from->n; i++)
		n += fabric_belongs(wanted, from->v[i]);
	if (n < 2 || fabric_group(device, id))
		return;
	group.members = arena_array(a, struct fabric_port *, n);
	for (size_t i = 0; i < from->n; i++)
		if (fabric_belongs(wanted, from->v[i]))
			group.members[group.n_members++] = from->v[i];
	for (size_t i = 0; i < device->n_groups; i++)
		if (!wanted->lag && same_members(&device->groups[i], &group))
			return;
	fabric_group_add(device, a, &group);
}

static bool first_with_rail(const struct group_ports *candidates, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (towards_next_tier(candidates->v[k]) &&
			str_eq(candidates->v[k]->rail, candidates->v[i]->rail))
			return false;
	return true;
}

static bool first_with_peer(const struct group_ports *candidates, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (candidates->v[k]->peer->device == candidates->v[i]->peer->device)
			return false;
	return true;
}

static void derive_for(struct fabric_device *device, struct arena *a)
{
	const struct group_ports all = {.v = device->ports, .n = device->n_ports};
	struct group_ports linked = {.v = arena_array(a, struct fabric_port *, device->n_ports)};
	for (size_t i = 0; i < device->n_ports; i++)
		if (device->ports[i]->peer && !is_aggregate(device->ports[i]) &&
			fabric_represents(device->ports[i]))
			linked.v[linked.n++] = device->ports[i];

	for (size_t i = 0; i < linked.n; i++) {
		const struct group_rule rule = {.rail = linked.v[i]->rail};
		if (!towards_next_tier(linked.v[i]) || !first_with_rail(&linked, i))
			continue;
		const char *id = "uplinks";
		if (rule.rail)
			id = arena_printf(a, "uplinks@%s", rule.rail);
		fabric_derive(device, a, &linked, id, &rule);
	}
	for (size_t i = 0; i < linked.n; i++) {
		const struct group_rule w = {.peer = linked.v[i]->peer->device};
		if (first_with_peer(&linked, i))
			fabric_derive(
				device, a, &linked, arena_printf(a, "to:%s", w.peer->name), &w);
	}
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct group_rule w = {.lag = device->ports[i]->lag};
		if (w.lag && fabric_represents(device->ports[i]))
			fabric_derive(device, a, &all, arena_printf(a, "lag:%s", w.lag), &w);
	}
	if (device->n_groups)
		qsort(device->groups, device->n_groups, sizeof(*device->groups), compare_groups);
}

/*
 * Ports share a destination set when they lead to the same plane of the next tier: all of them in a
 * fabric without rails, those of one rail otherwise. Links that are down or missing do not split a
 * group: that is what the group is there to show.
 */
void fabric_derive_groups(struct fabric *fabric, struct arena *a)
{
	for (size_t n = 0; n < fabric->n_devices; n++)
		derive_for(fabric->devices[n], a);
}

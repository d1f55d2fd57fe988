/* topology_views - the graph: each link once, devices by tier, and who reaches whom over how many
 * links. */
#include "agent/answers/topology/topology_views.h"

#include "config/address.h"

/* ---- topo_outside - gathers the ports that lead out of the configuration by what they lead to. */

struct outside_port {
	const struct fabric_port *port;
};

static int outside_compare(const void *left, const void *right)
{
	const struct fabric_port *x = ((const struct outside_port *)left)->port,
				 *y = ((const struct outside_port *)right)->port;
	const int c = name_compare(x->outsider, y->outsider);
	if (c)
		return c;
	if (x->index < y->index)
		return -1;
	return x->index > y->index;
}

static size_t outside_gather(const struct fabric *fabric, struct outside_port **ret)
{
	size_t n = 0, cap = 0;
	*ret = NULL;
	for (size_t i = 0; i < fabric->n_devices; i++)
		for (size_t k = 0; k < fabric->devices[i]->n_ports; k++) {
			const struct fabric_port *port = fabric->devices[i]->ports[k];
			if (!port->outsider)
				continue;
			rw_grow(*ret, n, cap);
			(*ret)[n++].port = port;
		}
	if (n > 1)
		qsort(*ret, n, sizeof(**ret), outside_compare);
	return n;
}

static bool outside_has_role(const struct fabric *fabric, enum device_role role)
{
	for (size_t i = 0; i < fabric->n_devices; i++)
		if (fabric->devices[i]->role == role)
			return true;
	return false;
}

/* Who hears one thing outside. */
struct outside_heard {
	unsigned by[ROLE_OTHER + 1]; /* devices of each role */
	const char **devices;
	size_t n_devices;
};

static struct outside_heard outside_heard_of(
	const struct outside_port *ports, size_t n, struct arena *a)
{
	struct outside_heard heard = {.devices = arena_array(a, const char *, n + 1)};
	for (size_t i = 0; i < n; i++) {
		const struct fabric_device *device = ports[i].port->device;
		if (i > 0 && ports[i - 1].port->device == device)
			continue;
		heard.by[device->role]++;
		heard.devices[heard.n_devices++] = device->name;
	}
	return heard;
}

static const char *outside_role(const struct fabric *fabric, const struct outside_heard *heard)
{
	const unsigned *by = heard->by;
	const unsigned others = by[ROLE_SUPERSPINE] + by[ROLE_OTHER];
	if (others == 0 && by[ROLE_LEAF] >= 2 && by[ROLE_SPINE] == 0)
		return device_role_name(ROLE_SPINE);
	if (others == 0 && by[ROLE_SPINE] >= 2 && by[ROLE_LEAF] == 0 &&
		!outside_has_role(fabric, ROLE_SUPERSPINE))
		return device_role_name(ROLE_LEAF);
	return "unknown";
}

static struct topo_outside outside_row(
	const struct fabric *fabric, const struct outside_port *ports, size_t n, struct arena *a)
{
	enum neighbor_kind kind = NEIGHBOR_UNKNOWN;
	for (size_t i = 0; i < n; i++)
		if (ports[i].port->outsider_kind == NEIGHBOR_SWITCH)
			kind = NEIGHBOR_SWITCH;
	struct outside_heard heard = outside_heard_of(ports, n, a);
	const char *role = "unknown";
	if (kind == NEIGHBOR_SWITCH)
		role = outside_role(fabric, &heard);
	return (struct topo_outside){.name = ports[0].port->outsider,
		.kind = neighbor_kind_word(kind),
		.role = role,
		.links = n,
		.devices = heard.devices,
		.n_devices = heard.n_devices};
}

struct topo_outside *topology_outside(const struct fabric *fabric, struct arena *a, size_t *ret_n)
{
	struct outside_port *ports;
	const size_t n = outside_gather(fabric, &ports);
	struct topo_outside *rows = arena_array(a, struct topo_outside, n + 1);
	*ret_n = 0;
	for (size_t from = 0, to; from < n; from = to) {
		to = from + 1;
		while (to < n && str_eq(ports[to].port->outsider, ports[from].port->outsider))
			to++;
		rows[(*ret_n)++] = outside_row(fabric, ports + from, to - from, a);
	}
	free(ports);
	return rows;
}

const char *topology_outside_text(char buf[TOPOLOGY_OUTSIDE_MAX], const struct fabric_port *port)
{
	snprintf(buf, TOPOLOGY_OUTSIDE_MAX, "%s:%s%s%s", neighbor_kind_word(port->outsider_kind),
		port->outsider, str_if(*port->outsider_port, ":"), port->outsider_port);
	return buf;
}

#define MATRIX_COLUMNS 12 /* of a terminal's width */
#define MATRIX_ROWS 48
#define LINE_WIDTH 100

#define SHAPE struct topo_group
static const struct field topo_group_fields[] = {
	TEXT(id, "Group.", .known = true),
	TEXTS(members, "Ports."),
};
static SHAPE_OF(topo_group, "TopoGroup", "An ECMP group.");
#undef SHAPE

#define SHAPE struct topo_device
static const struct field topo_device_fields[] = {
	TEXT(name, "Name.", .known = true),
	TEXT(role, "`leaf`, `spine`, `superspine` or `other`.", .known = true),
	COUNT(tier, "Distance from the hosts; 1: leaf."),
	COUNT(links, "Links."),
	ROWS(groups, topo_group, "ECMP groups."),
};
static SHAPE_OF(topo_device, "TopoDevice", "A device.");
#undef SHAPE

#define SHAPE struct topo_link
static const struct field topo_link_fields[] = {
	TEXT(device, "Device.", .known = true),
	TEXT(port, "Port.", .known = true),
	TEXT(peer, "Device or `host:NAME` at the other end.", .known = true),
	TEXT(peer_port, "Port at the other end."),
	COUNT(speed_bps, "Speed.", .unit = UNIT_BITS_PER_S, .unknown = true),
	TEXT(state, "`up`, `down` or `unknown`.", .known = true),
	TEXT(source, "`declared` or `discovered`.", .known = true),
};
static SHAPE_OF(topo_link, "TopoLink", "A link.");
#undef SHAPE

#define SHAPE struct topo_outside
static const struct field topo_outside_fields[] = {
	TEXT(name, "Name that it gives itself.", .known = true),
	TEXT(kind, "What it seems to be.", .known = true),
	TEXT(role, "Role it would have.", .known = true),
	COUNT(links, "Links to it."),
	TEXTS(devices, "Devices that see it."),
};
static SHAPE_OF(topo_outside, "Outside", "A neighbor that is not configured.");
#undef SHAPE

#define SHAPE struct topo_answer
static const struct field topo_answer_fields[] = {
	TEXT(fabric, "Name of the fabric.", .known = true),
	FLAG(discover, "Are links discovered?"),
	ROWS(devices, topo_device, "The devices."),
	ROWS(links, topo_link, "The links."),
	ROWS(outside, topo_outside, "Neighbors that are not configured."),
};
SHAPE_OF(topo_answer, "TopologyShow", "The fabric graph in force.");
#undef SHAPE

static unsigned topology_views_tier_of(const struct fabric_device *device)
{
	static const unsigned tiers[] = {
		[ROLE_LEAF] = 1, [ROLE_SPINE] = 2, [ROLE_SUPERSPINE] = 3, [ROLE_OTHER] = 0};
	return tiers[device->role];
}

/* A link between devices is shown from its lower tier, or from the first name. */
static bool shown_from(const struct fabric_port *port)
{
	if (!port->peer)
		return port->host || port->outsider;
	const unsigned here = topology_views_tier_of(port->device),
		       there = topology_views_tier_of(port->peer->device);
	if (here != there)
		return here < there;
	int c = name_compare(port->device->name, port->peer->device->name);
	return c < 0 || (c == 0 && name_compare(port->name, port->peer->name) < 0);
}

static const char *topology_views_state_of(
	const struct port_facts *left, const struct port_facts *right)
{
	if (left->up == 0 || (right && right->up == 0))
		return "down";
	if (left->up == 1 || (right && right->up == 1))
		return "up";
	return "unknown";
}

static const char *link_peer(const struct fabric_port *port, struct arena *a)
{
	if (port->peer)
		return port->peer->device->name;
	if (port->host)
		return arena_printf(a, "host:%s", port->host);
	return arena_printf(a, "%s:%s", neighbor_kind_word(port->outsider_kind), port->outsider);
}

static const char *link_peer_port(const struct fabric_port *port)
{
	if (port->peer)
		return port->peer->name;
	if (*port->host_nic)
		return port->host_nic;
	if (*port->outsider_port)
		return port->outsider_port;
	return NULL;
}

static uint64_t link_speed(const struct fabric_port *port, const struct port_facts *here,
	const struct port_facts *there)
{
	if (here->speed_bps)
		return here->speed_bps;
	if (there->speed_bps)
		return there->speed_bps;
	return count_or_unknown(port->speed_bps);
}

static struct topo_link link_of(
	const struct fabric_port *port, const struct topology_facts *facts, struct arena *a)
{
	const struct port_facts here = facts->port(facts->arg, port->device->name, port->name);
	struct port_facts there = {.up = -1};
	if (port->peer)
		there = facts->port(facts->arg, port->peer->device->name, port->peer->name);
	return (struct topo_link){.device = port->device->name,
		.port = port->name,
		.peer = link_peer(port, a),
		.peer_port = link_peer_port(port),
		.speed_bps = link_speed(port, &here, &there),
		.state = topology_views_state_of(&here, port->peer ? &there : NULL),
		.source = port->discovered ? "discovered" : "declared"};
}

static struct topo_group group_of(const struct fabric_group *group, struct arena *a)
{
	struct topo_group ret = {.id = group->id,
		.members = arena_array(a, const char *, group->n_members + 1),
		.n_members = group->n_members};
	for (size_t k = 0; k < group->n_members; k++)
		ret.members[k] = group->members[k]->name;
	return ret;
}

static struct topo_device topology_views_device(const struct fabric_device *device, struct arena *a)
{
	struct topo_device ret = {.name = device->name,
		.role = device_role_name(device->role),
		.tier = topology_views_tier_of(device),
		.groups = arena_array(a, struct topo_group, device->n_groups + 1),
		.n_groups = device->n_groups};
	for (size_t i = 0; i < device->n_ports; i++)
		ret.links += device->ports[i]->peer || device->ports[i]->host ||
			device->ports[i]->outsider;
	for (size_t i = 0; i < device->n_groups; i++)
		ret.groups[i] = group_of(&device->groups[i], a);
	return ret;
}

json_t *topology_show_json(const struct fabric *fabric, const struct topology_facts *facts)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct topo_answer answer = {.fabric = fabric->name, .discover = fabric->discover};
	size_t n_ports = 0;
	for (size_t i = 0; i < fabric->n_devices; i++)
		n_ports += fabric->devices[i]->n_ports;
	answer.devices = arena_array(a, struct topo_device, fabric->n_devices + 1);
	answer.links = arena_array(a, struct topo_link, n_ports + 1);
	answer.outside = topology_outside(fabric, a, &answer.n_outside);
	for (size_t i = 0; i < fabric->n_devices; i++) {
		const struct fabric_device *d = fabric->devices[i];
		answer.devices[answer.n_devices++] = topology_views_device(d, a);
		for (size_t k = 0; k < d->n_ports; k++)
			if (shown_from(d->ports[k]))
				answer.links[answer.n_links++] = link_of(d->ports[k], facts, a);
	}
	return shape_json(&topo_answer_shape, &answer);
}

/* ---- as text ------------------------------------------------------------- */

static void print_tiers(FILE *out, const struct topo_answer *answer)
{
	static const char *const roles[] = {"superspine", "spine", "leaf", "other"};
	for (size_t r = 0; r < rw_countof(roles); r++) {
		size_t n = 0, width = 0;
		for (size_t i = 0; i < answer->n_devices; i++) {
			const char *name = answer->devices[i].name;
			if (!str_eq(answer->devices[i].role, roles[r]))
				continue;
			if (n == 0 || width + strlen(name) + 2 > LINE_WIDTH) {
				width = 14;
				if (n)
					fprintf(out, "\n%14s", "");
				else
					fprintf(out, "  %-10s  ", roles[r]);
			}
			width += (size_t)fprintf(out, "%s  ", name);
			n++;
		}
		if (n)
			putc('\n', out);
	}
}

struct matrix {
	const char *upper[MATRIX_COLUMNS]; /* neighbours of the upper tier, by name */
	size_t n;
	bool dropped; /* some did not fit */
};

/* The neighbours that stand over the columns; links to hosts have none. */
static struct matrix matrix_of(const struct topo_answer *answer)
{
	struct matrix matrix = {.n = 0};
	for (size_t i = 0; i < answer->n_links; i++) {
		const char *peer = answer->links[i].peer;
		size_t at = 0;
		while (at < matrix.n && !str_eq(matrix.upper[at], peer))
			at++;
		if (endpoint_kind(peer, NULL) || at < matrix.n)
			continue;
		if (matrix.n == MATRIX_COLUMNS) {
			matrix.dropped = true;
			continue;
		}
		for (at = matrix.n++; at > 0 && name_compare(matrix.upper[at - 1], peer) > 0; at--)
			matrix.upper[at] = matrix.upper[at - 1];
		matrix.upper[at] = peer;
	}
	return matrix;
}

struct matrix_row {
	unsigned total[MATRIX_COLUMNS], up[MATRIX_COLUMNS], hosts, any;
};

static struct matrix_row matrix_row_of(
	const struct matrix *matrix, const struct topo_answer *answer, const char *device)
{
	struct matrix_row row = {.any = 0};
	for (size_t i = 0; i < answer->n_links; i++) {
		const struct topo_link *link = &answer->links[i];
		const char *peer = link->peer;
		if (!str_eq(link->device, device))
			continue;
		row.hosts += strncmp(peer, "host:", 5) == 0;
		for (size_t c = 0; c < matrix->n; c++) {
			if (!str_eq(matrix->upper[c], peer))
				continue;
			row.any++;
			row.total[c]++;
			row.up[c] += !str_eq(link->state, "down");
		}
	}
	return row;
}

static void print_matrix_row(
	FILE *out, const struct matrix *matrix, const struct matrix_row *row, const char *device)
{
	fprintf(out, "  %-15.15s", device);
	for (size_t c = 0; c < matrix->n; c++) {
		char cell[32] = ".";
		if (row->total[c] && row->up[c] == row->total[c])
			snprintf(cell, sizeof(cell), "%u", row->total[c]);
		else if (row->total[c])
			snprintf(cell, sizeof(cell), "%u/%u", row->up[c], row->total[c]);
		fprintf(out, " %8s", cell);
	}
	if (row->hosts)
		fprintf(out, "   and %u to hosts", row->hosts);
	putc('\n', out);
}

/* Devices that have links to the next tier, and the neighbours they lead to: "2" links, "1/2" of
 * them up, "." none. */
static void print_matrix(FILE *out, const struct topo_answer *answer)
{
	const struct matrix matrix = matrix_of(answer);
	size_t rows = 0;
	if (matrix.n == 0)
		return;
	fprintf(out, "\n  links %9s", "");
	for (size_t c = 0; c < matrix.n; c++)
		fprintf(out, " %8.8s", matrix.upper[c]);
	fputs(matrix.dropped ? " ...\n" : "\n", out);
	for (size_t i = 0; i < answer->n_devices; i++) {
		const char *name = answer->devices[i].name;
		const struct matrix_row row = matrix_row_of(&matrix, answer, name);
		if (!row.any)
			continue;
		if (++rows > MATRIX_ROWS) {
			fputs("  ...\n", out);
			return;
		}
		print_matrix_row(out, &matrix, &row, name);
	}
}

/* Switches that are not configured, and what may be one. */
static void print_outside(FILE *out, const struct topo_answer *answer)
{
	for (size_t i = 0; i < answer->n_outside; i++) {
		const struct topo_outside *row = &answer->outside[i];
		fprintf(out, "  outside     %s: ", row->name);
		fputs(str_eq(row->kind, "switch")
				? "a switch that is not in the configuration"
				: "not in the configuration; a switch or a host, LLDP does not "
				  "tell",
			out);
		if (!str_eq(row->role, "unknown"))
			fprintf(out, ", by its neighbours a %s", row->role);
		fprintf(out, "; %llu links, from", (unsigned long long)row->links);
		for (size_t k = 0; k < row->n_devices; k++)
			fprintf(out, " %s", row->devices[k]);
		putc('\n', out);
	}
}

static void topology_views_show_text(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct topo_answer answer;
	struct view table = *view;
	shape_read(&topo_answer_shape, doc, a, &answer);
	if (header) {
		fprintf(out, "%s: %zu devices, %zu link%s%s\n", answer.fabric, answer.n_devices,
			answer.n_links, plural(answer.n_links),
			str_if(answer.discover, " (links: discover)"));
		print_tiers(out, &answer);
		print_matrix(out, &answer);
		print_outside(out, &answer);
		putc('\n', out);
	}
	table.text = NULL;
	report_print(out, doc, &table, FORMAT_TABLE, header, color);
}

static const struct column show_columns[] = {
	{"device", "DEVICE", COL_TEXT, false},
	{"port", "PORT", COL_TEXT, false},
	{"peer", "PEER", COL_TEXT, false},
	{"peer_port", "PEER PORT", COL_TEXT, false},
	{"speed_bps", "SPEED", COL_BPS, true},
	{"state", "STATE", COL_TEXT, false},
	{"source", "SOURCE", COL_TEXT, false},
};
const struct view topology_show_view = {"topology", "links", show_columns, rw_countof(show_columns),
	topology_views_show_text,
	"no links: declare them, or write 'links: discover' and run the agent"};

/* topology_views - the graph: each link once, devices by tier, and who reaches whom over how many
 * links. */
#include "agent/answers/topology/topology_views.h"

#include <string.h>
#include "base/cleanup.h"
#include "config/address.h"
#include "agent/answers/topology/topology_outside.h"
#include "base/str.h"
#include "agent/document/json_value.h"
#include "agent/document/quantity.h"

#define MATRIX_COLUMNS 12 /* of a terminal's width */
#define MATRIX_ROWS 48
#define LINE_WIDTH 100

static int topology_views_tier_of(const struct fabric_device *device)
{
	static const int tiers[] = {
		[ROLE_LEAF] = 1, [ROLE_SPINE] = 2, [ROLE_SUPERSPINE] = 3, [ROLE_OTHER] = 0};
	return tiers[device->role];
}

/* A link between devices is shown from its lower tier, or from the first name. */
static bool shown_from(const struct fabric_port *port)
{
	if (!port->peer)
		return port->host || port->outsider;
	int here = topology_views_tier_of(port->device),
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

static json_t *link_json(const struct fabric_port *port, const struct topology_facts *facts)
{
	struct port_facts a = facts->port(facts->arg, port->device->name, port->name),
			  b = {.up = -1};
	rw_cleanup(str_done) struct str peer = {0};
	if (port->peer)
		b = facts->port(facts->arg, port->peer->device->name, port->peer->name);
	if (port->peer)
		str_add(&peer, port->peer->device->name);
	else if (port->host)
		str_addf(&peer, "host:%s", port->host);
	else
		str_addf(&peer, "%s:%s", neighbor_kind_word(port->outsider_kind), port->outsider);
	uint64_t speed;
	if (a.speed_bps)
		speed = a.speed_bps;
	else if (b.speed_bps)
		speed = b.speed_bps;
	else
		speed = port->speed_bps;
	const char *peer_port = NULL;
	if (port->peer)
		peer_port = port->peer->name;
	else if (*port->host_nic)
		peer_port = port->host_nic;
	else if (*port->outsider_port)
		peer_port = port->outsider_port;
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:s, s:s}", "device", port->device->name,
		"port", port->name, "peer", peer.s, "peer_port", json_string_or_null(peer_port),
		"speed_bps", speed ? json_integer((json_int_t)speed) : json_null(), "state",
		topology_views_state_of(&a, port->peer ? &b : NULL), "source",
		port->discovered ? "discovered" : "declared");
}

static json_t *topology_views_device_json(const struct fabric_device *device)
{
	json_t *groups = json_array();
	json_int_t links = 0;
	for (size_t i = 0; i < device->n_ports; i++)
		links += device->ports[i]->peer || device->ports[i]->host ||
			device->ports[i]->outsider;
	for (size_t i = 0; i < device->n_groups; i++) {
		json_t *members = json_array();
		for (size_t k = 0; k < device->groups[i].n_members; k++)
			json_array_append_new(
				members, json_string(device->groups[i].members[k]->name));
		json_array_append_new(groups,
			json_pack("{s:s, s:o}", "id", device->groups[i].id, "members", members));
	}
	return json_pack("{s:s, s:s, s:i, s:I, s:o}", "name", device->name, "role",
		device_role_name(device->role), "tier", topology_views_tier_of(device), "links",
		links, "groups", groups);
}

json_t *topology_show_json(const struct fabric *fabric, const struct topology_facts *facts)
{
	json_t *devices = json_array(), *links = json_array();
	for (size_t i = 0; i < fabric->n_devices; i++) {
		const struct fabric_device *d = fabric->devices[i];
		json_array_append_new(devices, topology_views_device_json(d));
		for (size_t k = 0; k < d->n_ports; k++)
			if (shown_from(d->ports[k]))
				json_array_append_new(links, link_json(d->ports[k], facts));
	}
	return json_pack("{s:s, s:b, s:o, s:o, s:o}", "fabric", fabric->name, "discover",
		fabric->discover, "devices", devices, "links", links, "outside",
		topology_outside_json(fabric));
}

/* ---- as text ------------------------------------------------------------- */

static void print_tiers(FILE *out, const json_t *devices)
{
	static const char *const roles[] = {"superspine", "spine", "leaf", "other"};
	for (size_t r = 0; r < rw_countof(roles); r++) {
		size_t i, n = 0, width = 0;
		json_t *d;
		json_array_foreach (devices, i, d) {
			const char *name = doc_word(d, "name");
			if (strcmp(doc_word(d, "role"), roles[r]) != 0)
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
static struct matrix matrix_of(const json_t *links)
{
	struct matrix matrix = {.n = 0};
	size_t i;
	json_t *link;
	json_array_foreach (links, i, link) {
		const char *peer = doc_word(link, "peer");
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
	const struct matrix *matrix, const json_t *links, const char *device)
{
	struct matrix_row row = {.any = 0};
	size_t i;
	json_t *link;
	json_array_foreach (links, i, link) {
		const char *peer = doc_word(link, "peer");
		if (!str_eq(doc_word(link, "device"), device))
			continue;
		row.hosts += strncmp(peer, "host:", 5) == 0;
		for (size_t c = 0; c < matrix->n; c++) {
			if (!str_eq(matrix->upper[c], peer))
				continue;
			row.any++;
			row.total[c]++;
			row.up[c] += !str_eq(doc_word(link, "state"), "down");
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
static void print_matrix(FILE *out, const json_t *doc)
{
	const json_t *links = json_object_get(doc, "links");
	const struct matrix matrix = matrix_of(links);
	size_t rows = 0, i;
	json_t *device;
	if (matrix.n == 0)
		return;
	fprintf(out, "\n  links %9s", "");
	for (size_t c = 0; c < matrix.n; c++)
		fprintf(out, " %8.8s", matrix.upper[c]);
	fputs(matrix.dropped ? " ...\n" : "\n", out);
	json_array_foreach (json_object_get(doc, "devices"), i, device) {
		const char *name = doc_word(device, "name");
		const struct matrix_row row = matrix_row_of(&matrix, links, name);
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
static void print_outside(FILE *out, const json_t *doc)
{
	size_t i, k;
	json_t *row, *device;
	json_array_foreach (json_object_get(doc, "outside"), i, row) {
		const char *role = doc_word(row, "role");
		const bool is_switch = str_eq(doc_word(row, "kind"), "switch");
		fprintf(out, "  outside     %s: ", doc_word(row, "name"));
		fputs(is_switch ? "a switch that is not in the configuration"
				: "not in the configuration; a switch or a host, LLDP does not "
				  "tell",
			out);
		if (!str_eq(role, "unknown"))
			fprintf(out, ", by its neighbours a %s", role);
		fprintf(out, "; %lld links, from",
			json_integer_value(json_object_get(row, "links")));
		json_array_foreach (json_object_get(row, "devices"), k, device)
			fprintf(out, " %s", json_string_value(device));
		putc('\n', out);
	}
}

static void topology_views_show_text(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	const json_t *devices = json_object_get(doc, "devices"),
		     *links = json_object_get(doc, "links");
	struct view table = *view;
	if (header) {
		fprintf(out, "%s: %zu devices, %zu link%s%s\n", doc_word(doc, "fabric"),
			json_array_size(devices), json_array_size(links),
			plural(json_array_size(links)),
			str_if(json_is_true(json_object_get(doc, "discover")),
				" (links: discover)"));
		print_tiers(out, devices);
		print_matrix(out, doc);
		print_outside(out, doc);
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

/* import_print - writes what was imported as YAML: devices, links, lossless priorities, thresholds.
 * `config check` accepts the result as it is. */
#include <limits.h>

#include "agent/import/import_sonic.h"
#include "agent/import/import_internal.h"
#include "config/address.h"
#include "config/class_policy.h"
#include "config/profile/profile.h"

/* ---- roles --------------------------------------------------------------- */

/* import_print_rank - the tier that a device's type names, from below; -1 unknown. */
static int import_print_rank(const char *type)
{
	static const char *const tiers[] = {"ToRRouter", "LeafRouter", "SpineRouter"};
	for (size_t i = 0; i < rw_countof(tiers); i++)
		if (strstr(type, tiers[i]))
			return (int)i;
	return -1;
}

static const struct import_device *import_print_peer_of(
	const struct import_set *set, const struct import_port *port)
{
	for (size_t i = 0; port->peer && i < set->n_devices; i++)
		if (strcmp(set->devices[i]->name, port->peer) == 0)
			return set->devices[i];
	return NULL;
}

static bool has_hosts(const struct import_set *set, const struct import_device *device)
{
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct import_device *peer = import_print_peer_of(set, &device->ports[i]);
		if (peer && peer->host)
			return true;
	}
	return false;
}

static bool above_leaf(const struct import_set *set, const struct import_device *device)
{
	for (size_t i = 0; i < set->n_devices; i++)
		for (size_t k = 0; k < set->devices[i]->n_ports; k++)
			if (import_print_peer_of(set, &set->devices[i]->ports[k]) == device &&
				has_hosts(set, set->devices[i]))
				return true;
	return false;
}

/* lowest_rank - of the switches whose type names a tier. */
static int lowest_rank(const struct import_set *set)
{
	int lowest = INT_MAX;
	for (size_t i = 0; i < set->n_devices; i++) {
		const struct import_device *device = set->devices[i];
		const int rank = import_print_rank(device->type);
		if (!device->host && rank >= 0 && rank < lowest)
			lowest = rank;
	}
	return lowest;
}

/* import_print_role - a device with hosts is a leaf. Else by its type, counted from the lowest tier
 * of the fabric: SONiC's names begin with ToR, ours with leaf. */
static const char *import_print_role(
	const struct import_set *set, const struct import_device *device)
{
	static const char *const roles[] = {"leaf", "spine", "superspine"};
	const int rank = import_print_rank(device->type);
	if (has_hosts(set, device))
		return "leaf";
	if (rank >= 0)
		return roles[rank - lowest_rank(set)];
	if (above_leaf(set, device))
		return "spine";
	return "other";
}

/* ---- devices and links --------------------------------------------------- */

static void device_print(
	const struct import_set *set, const struct import_device *device, FILE *out)
{
	const char *address = device->name, *host;
	uint16_t port;
	if (*device->address)
		address = device->address;
	/* a name such as ".76" looks like an address and is none */
	const bool fits = address_split(NULL, address, 161, &host, &port, NULL) == 0;
	if (!fits)
		address = "192.0.2.1";
	fprintf(out,
		"  - { name: \"%s\", role: %s, snmp: { address: \"%s\", credentials: imported "
		"}%s%s "
		"}",
		device->name, import_print_role(set, device), address,
		str_if(device->own, ", profile: "), str_or(device->profile, ""));
	if (!device->own)
		fputs("  # a neighbour; its own file was not read", out);
	else if (*device->sku && text_is_clean(device->sku))
		fprintf(out, "  # %s", device->sku);
	if (!fits)
		fputs("  # its name can be no address: set the right one", out);
	fputc('\n', out);
}

static void devices_print(const struct import_set *set, FILE *out)
{
	size_t n = 0;
	for (size_t i = 0; i < set->n_devices; i++)
		n += !set->devices[i]->host;
	fprintf(out, "devices:%s\n", str_if(n == 0, " []"));
	for (size_t i = 0; i < set->n_devices; i++)
		if (!set->devices[i]->host)
			device_print(set, set->devices[i], out);
}

/* import_print_resolve - the other end's own name for its port: files often name a neighbour's port
 * by its alias. */
static const char *import_print_resolve(const struct import_device *device, const char *port)
{
	for (size_t i = 0; i < device->n_ports; i++)
		if (strcmp(device->ports[i].name, port) == 0)
			return port;
	for (size_t i = 0; i < device->n_ports; i++)
		if (*port && strcmp(device->ports[i].alias, port) == 0)
			return device->ports[i].name;
	return port;
}

struct import_end {
	const char *device, *port;
};
struct import_link {
	struct import_end a, b;
	bool host; /* at .b */
	unsigned cable_m;
	uint64_t speed_bps;
};

static bool same_end(const struct import_end *left, const struct import_end *right)
{
	return strcmp(left->device, right->device) == 0 && strcmp(left->port, right->port) == 0;
}

/* uses_port - does @link end in @end? A host's ports are not named: only .a counts then. */
static bool uses_port(const struct import_link *link, const struct import_end *end)
{
	return same_end(&link->a, end) || (!link->host && same_end(&link->b, end));
}

/* import_print_clash - why @link cannot stand beside the others: "" when one of them is the same
 * link from the other end, a sentence when a port would have two cables. NULL: it can. */
static const char *import_print_clash(
	const struct import_link *links, size_t n, const struct import_link *link)
{
	for (size_t i = 0; i < n; i++) {
		if (same_end(&links[i].a, &link->b) && same_end(&links[i].b, &link->a))
			return "";
		if (uses_port(&links[i], &link->a) || uses_port(&links[i], &link->b))
			return "a port of it is used by a link above; one of the two is wrong";
	}
	return NULL;
}

static void link_print(const struct import_link *link, const char *why, FILE *out)
{
	char text[32];
	fprintf(out, "%s  - { a: \"%s:%s\", b: \"%s%s%s%s\"", str_if(why, "#"), link->a.device,
		link->a.port, str_if(link->host, "host:"), link->b.device,
		str_if(*link->b.port, ":"), link->b.port);
	if (link->speed_bps)
		fprintf(out, ", speed: %s", unit_bitrate_text(text, sizeof(text), link->speed_bps));
	if (link->cable_m)
		fprintf(out, ", cable: %um", link->cable_m);
	fprintf(out, " }%s%s\n", str_if(why, "  # "), str_or(why, ""));
}

static bool has_cables(const struct import_set *set)
{
	for (size_t i = 0; i < set->n_devices; i++) {
		const struct import_device *device = set->devices[i];
		for (size_t k = 0; k < device->n_ports; k++)
			if (device->ports[k].peer && device->ports[k].cable_m)
				return true;
	}
	return false;
}

struct import_links {
	struct import_link *v;
	size_t n, cap;
};

/* link_refused - why this link is not taken, "" when it is there from the other end; NULL: it is.
 */
static const char *link_refused(const struct import_links *links, const struct import_link *link)
{
	const char *why = import_print_clash(links->v, links->n, link);
	if (why)
		return why;
	if (!link->host && !*link->b.port)
		return "the port at the other end is not known";
	if (same_end(&link->a, &link->b))
		return "both ends are one port";
	return NULL;
}

/* link_take - prints the link of one port; one that is refused as a comment. */
static void link_take(
	struct import_links *links, const struct import_set *set, size_t i, size_t k, FILE *out)
{
	const struct import_device *device = set->devices[i];
	const struct import_port *port = &device->ports[k];
	const struct import_device *peer = import_print_peer_of(set, port);
	if (!peer)
		return;
	const struct import_link link = {.a = {device->name, port->name},
		.b = {peer->name, import_print_resolve(peer, port->peer_port)},
		.host = peer->host,
		.cable_m = port->cable_m,
		.speed_bps = port->speed_bps};
	const char *why = link_refused(links, &link);
	if (why && !*why)
		return;
	if (links->n == 0 && !why)
		fputs("links:\n", out);
	link_print(&link, why, out);
	if (why)
		return;
	rw_grow(links->v, links->n, links->cap);
	links->v[links->n++] = link;
}

static void links_print(const struct import_set *set, FILE *out)
{
	struct import_links links = {0};
	if (has_cables(set))
		fputs("# Cable lengths are those that the switch is configured with "
		      "(CABLE_LENGTH): "
		      "correct them where they are wrong.\n",
			out);
	for (size_t i = 0; i < set->n_devices; i++)
		for (size_t k = 0; k < set->devices[i]->n_ports; k++)
			link_take(&links, set, i, k, out);
	if (links.n == 0)
		fprintf(out, "links: %s\n", set->discover ? "discover" : "[]");
	free(links.v);
}

/* ---- thresholds ---------------------------------------------------------- */

static bool import_print_same(double left, double right)
{
	return left == right || (isnan(left) && isnan(right));
}

static bool row_same(const struct import_row *left, const struct import_row *right)
{
	return left->lossless == right->lossless && left->kmin == right->kmin &&
		left->kmax == right->kmax && left->headroom == right->headroom &&
		left->xon_level == right->xon_level && left->xon_offset == right->xon_offset &&
		left->pool == right->pool && left->headroom_pool == right->headroom_pool &&
		import_print_same(left->pmax, right->pmax) &&
		import_print_same(left->alpha, right->alpha) &&
		import_print_same(left->kmin_share, right->kmin_share) &&
		import_print_same(left->kmax_share, right->kmax_share);
}

static bool import_print_row_empty(const struct import_row *row)
{
	return !row->lossless ||
		(!row->kmin && !row->kmax && !row->headroom && !row->xon_level &&
			!row->xon_offset && !row->pool && isnan(row->pmax) && isnan(row->alpha) &&
			isnan(row->kmin_share));
}

static void size_print(FILE *out, const char *key, uint64_t bytes)
{
	if (bytes)
		fprintf(out, ", %s: %" PRIu64 "B", key, bytes);
}

static void row_print(const struct import_device *device, const char *port, unsigned priority,
	const struct import_row *row, FILE *out)
{
	fprintf(out, "  - { devices: \"%s\", ports: \"%s\", priority: %u", device->name, port,
		priority);
	size_print(out, "kmin", row->kmin);
	size_print(out, "kmax", row->kmax);
	if (!isnan(row->kmin_share))
		fprintf(out, ", kmin_share: %.0f%%, kmax_share: %.0f%%", row->kmin_share * 100,
			row->kmax_share * 100);
	if (!isnan(row->pmax))
		fprintf(out, ", pmax: %.0f%%", row->pmax * 100);
	if (row->alpha < 1) /* false for NAN */
		fprintf(out, ", alpha: 1/%.0f", 1 / row->alpha);
	else if (!isnan(row->alpha))
		fprintf(out, ", alpha: %.0f", row->alpha);
	size_print(out, "headroom", row->headroom);
	size_print(out, "xon_level", row->xon_level);
	size_print(out, "xon_offset", row->xon_offset);
	size_print(out, "cell", device->cell_bytes);
	size_print(out, "pool", row->pool);
	size_print(out, "headroom_pool", row->headroom_pool);
	fputs(" }\n", out);
}

/* all_ports_same - have all ports the same thresholds for this priority? */
static bool all_ports_same(const struct import_device *device, unsigned priority)
{
	for (size_t i = 1; i < device->n_ports; i++)
		if (!row_same(&device->ports[0].rows[priority], &device->ports[i].rows[priority]))
			return false;
	return device->n_ports > 0;
}

/* priority_rows - one row for all ports where all have the same, else one per port. @before rows
 * were printed already. Returns how many it printed. */
static size_t priority_rows(
	const struct import_device *device, unsigned priority, size_t before, FILE *out)
{
	const bool same = all_ports_same(device, priority);
	size_t n = 0;
	size_t n_ports = device->n_ports;
	if (same)
		n_ports = 1;
	for (size_t i = 0; i < n_ports; i++) {
		const struct import_port *port = &device->ports[i];
		const char *name = port->name;
		if (import_print_row_empty(&port->rows[priority]))
			continue;
		if (same)
			name = "*";
		if (before + n == 0)
			fputs("thresholds:\n", out);
		row_print(device, name, priority, &port->rows[priority], out);
		n++;
	}
	return n;
}

/* ---- settings of ports ----------------------------------------------------- */

static void map_print(FILE *out, const char *key, const uint8_t *map, unsigned keys)
{
	rw_cleanup(str_done) struct str text = {0};
	if (map)
		class_map_text(map, keys, &text);
	if (text.n > 0)
		fprintf(out, ", %s: \"%s\"", key, text.s);
}

/* setting_text - what @port is set to, as the rest of a row; the caller frees. */
static char *setting_text(const struct import_device *device, const struct import_port *port)
{
	char *text = NULL, speed[32];
	size_t size;
	const char *between = "";
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	if (port->speed_bps)
		fprintf(out, ", speed: %s",
			unit_bitrate_text(speed, sizeof(speed), port->speed_bps));
	size_print(out, "mtu", port->mtu_bytes);
	if (device->lossless) {
		fputs(", pfc: \"", out);
		for (unsigned i = 0; i < IMPORT_PRIORITIES; i++)
			if (port->rows[i].lossless) {
				fprintf(out, "%s%u", between, i);
				between = ",";
			}
		fprintf(out, "%s\"", *between ? "" : "none");
	}
	if (port->trust)
		fprintf(out, ", trust: %s", port->trust);
	if (port->class_map)
		fprintf(out, ", name: \"%s\"", port->class_map);
	map_print(out, "dscp", port->dscp, CLASS_DSCPS);
	map_print(out, "groups", port->groups, IMPORT_PRIORITIES);
	fclose(out);
	return text;
}

/* settings_of - the ports that lead to a neighbour, or may: one row where all are set alike. */
static size_t settings_of(const struct import_device *device, size_t before, FILE *out)
{
	size_t n = 0;
	bool same = true;
	rw_cleanup(freep) char *first = NULL;
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < device->n_ports; i++) {
			const struct import_port *port = &device->ports[i];
			rw_cleanup(freep) char *text = setting_text(device, port);
			if (!(port->peer || device->no_links) || !text || !*text)
				continue;
			if (pass == 0) {
				if (!first)
					first = rw_strdup(text);
				same = same && str_eq(first, text);
				continue;
			}
			if (same && n > 0)
				continue;
			if (before + n++ == 0)
				fputs("port_settings:\n", out);
			fprintf(out, "  - { devices: \"%s\", ports: \"%s\"%s }\n", device->name,
				same ? "*" : port->name, text);
		}
	return n;
}

static void lossless_print(const struct import_set *set, FILE *out)
{
	if (!set->lossless)
		return;
	fputs("lossless: { priorities: [", out);
	for (unsigned i = 0, n = 0; i < IMPORT_PRIORITIES; i++)
		if (set->lossless & 1u << i)
			fprintf(out, "%s%u", str_if(n++, ", "), i);
	fputc(']', out);
	if (set->lossless_mtu)
		fprintf(out, ", mtu: %" PRIu64 "B", set->lossless_mtu);
	fputs(" }\n", out);
}

static int import_print_by_name(const void *left, const void *right)
{
	return name_compare((*(const struct import_device *const *)left)->name,
		(*(const struct import_device *const *)right)->name);
}

/* "*", which fits every port, last: of thresholds the first that fits counts. */
static int by_port(const void *left, const void *right)
{
	const char *one = ((const struct import_port *)left)->name;
	const char *other = ((const struct import_port *)right)->name;
	if (str_eq(one, "*") != str_eq(other, "*"))
		return str_eq(one, "*") ? 1 : -1;
	return name_compare(one, other);
}

void import_print(struct import_set *set, FILE *out)
{
	size_t n = 0;
	if (set->n_devices)
		qsort(set->devices, set->n_devices, sizeof(*set->devices), import_print_by_name);
	for (size_t i = 0; i < set->n_devices; i++)
		if (set->devices[i]->n_ports)
			qsort(set->devices[i]->ports, set->devices[i]->n_ports,
				sizeof(*set->devices[i]->ports), by_port);
	fputs("# Check addresses, roles and credentials: they are a first guess.\n"
	      "credentials:\n  imported: { snmp: { version: 2c, community_env: ROCEWATCH_COMMUNITY "
	      "} }\n",
		out);
	devices_print(set, out);
	links_print(set, out);
	lossless_print(set, out);
	fputs("# Thresholds that are read from a switch win over these; a difference is "
	      "reported.\n",
		out);
	for (size_t i = 0; i < set->n_devices; i++)
		for (unsigned p = 0; p < IMPORT_PRIORITIES; p++)
			n += priority_rows(set->devices[i], p, n, out);
	if (n == 0)
		fputs("thresholds: []\n", out);
	n = 0;
	for (size_t i = 0; i < set->n_devices; i++)
		n += settings_of(set->devices[i], n, out);
}

/* import_files - the files of switches as one configuration. */

enum { IMPORT_FILE_MAX = 64 << 20 };

typedef int import_fn(struct import_set *set, const char *text, size_t n, const char *file,
	struct err_list *errors, struct err_list *warnings);

static const struct {
	const char *name;
	import_fn *read;
} import_formats[] = {{"sonic", import_sonic}, {"nvue", import_nvue}};

static int import_file(struct import_set *set, import_fn *read, const char *path,
	struct err_list *errors, struct err_list *warnings)
{
	rw_cleanup(freep) char *text = NULL;
	size_t n;
	struct err e = {0};
	const int rc = str_read_file(path, IMPORT_FILE_MAX, &text, &n, &e);
	if (rc == 0)
		return read(set, text, n, path, errors, warnings);
	err_list_add(errors, &e);
	return rc;
}

int import_files(const char *format, const char *const *paths, FILE *out, struct err_list *errors,
	struct err_list *warnings)
{
	import_fn *read = NULL;
	for (size_t i = 0; i < rw_countof(import_formats); i++)
		if (str_eq(format, import_formats[i].name))
			read = import_formats[i].read;
	if (!read)
		return -ENOENT;
	rw_cleanup(err_list_done) struct err_list without = {0};
	struct profiles *profiles = NULL;
	int rc = 0;
	/* for the sizes of cells; without them the rest stands */
	profiles_load(NULL, &profiles, &without);
	struct import_set *set = import_new(profiles);
	for (size_t i = 0; paths[i]; i++)
		if (import_file(set, read, paths[i], errors, warnings) < 0)
			rc = -EINVAL;
	if (rc == 0) {
		import_finish(set, warnings);
		import_print(set, out);
	}
	import_free(set);
	profiles_free(profiles);
	return rc;
}

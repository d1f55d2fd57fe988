/* topology - matches LLDP neighbors with the devices and ports they name. Which field of a port an
 * id is compared with follows the meaning of the subtypes in IEEE 802.1AB-2016, clause 8.5.3. */
#include "config/topology.h"

#include <arpa/inet.h>
#include <strings.h>

#include "config/fabric.h"

static bool topology_given(const char *text)
{
	return text && *text;
}

char *lldp_id_text(
	char buf[LLDP_ID_TEXT_MAX], bool chassis, int subtype, const uint8_t *id, size_t n)
{
	bool mac = subtype == LLDP_PORT_MAC, address = subtype == LLDP_PORT_ADDRESS;
	if (chassis) {
		mac = subtype == LLDP_CHASSIS_MAC;
		address = subtype == LLDP_CHASSIS_ADDRESS;
	}
	if (mac && n == 6) {
		snprintf(buf, LLDP_ID_TEXT_MAX, "%02x:%02x:%02x:%02x:%02x:%02x", id[0], id[1],
			id[2], id[3], id[4], id[5]);
		return buf;
	}
	if (address && n == 5 && id[0] == 1 && inet_ntop(AF_INET, id + 1, buf, LLDP_ID_TEXT_MAX))
		return buf;
	if (address && n == 17 && id[0] == 2 && inet_ntop(AF_INET6, id + 1, buf, LLDP_ID_TEXT_MAX))
		return buf;
	size_t k = 0;
	for (size_t i = 0; i < n && k + 5 < LLDP_ID_TEXT_MAX; i++) {
		/* A quote or backslash would need escaping in YAML: shown like the other odd bytes.
		 */
		if (isprint(id[i]) && id[i] != '"' && id[i] != '\\')
			buf[k++] = (char)id[i];
		else if (i + 1 < n || id[i] != 0) /* some agents send the C string's end */
			k += (size_t)snprintf(buf + k, LLDP_ID_TEXT_MAX - k, "%%%02x", id[i]);
	}
	buf[k] = '\0';
	return buf;
}

/* Devices by what neighbours may call them. A name that two devices share names neither. */
struct directory {
	const struct topology_device *devices;
	struct smap *chassis, *names, *macs;
};

#define SHARED UINT64_MAX

static void directory_put(struct smap *map, const char *name, uint64_t device)
{
	uint64_t known;
	if (!topology_given(name))
		return;
	if (smap_get(map, name, strlen(name), &known) && known != device)
		device = SHARED;
	smap_put(map, name, strlen(name), device);
}

static const struct topology_device *directory_get(
	const struct directory *directory, const struct smap *map, const char *name)
{
	uint64_t at;
	if (topology_given(name) && smap_get(map, name, strlen(name), &at) && at != SHARED)
		return &directory->devices[at];
	return NULL;
}

#define SYSTEM_MAX 256

/* "Leaf1.pod-a.example" is leaf1 for this purpose: agents send the domain or leave it out, and case
 * does not matter. */
static const char *system_key(char buf[SYSTEM_MAX], const char *name)
{
	size_t n = 0;
	for (; name && name[n] && name[n] != '.' && n + 1 < SYSTEM_MAX; n++)
		buf[n] = (char)tolower((unsigned char)name[n]);
	buf[n] = '\0';
	return buf;
}

static struct directory directory_new(const struct topology_device *devices, size_t n)
{
	struct directory d = {
		.devices = devices, .chassis = smap_new(), .names = smap_new(), .macs = smap_new()};
	char buf[SYSTEM_MAX];
	for (size_t i = 0; i < n; i++) {
		directory_put(d.chassis, devices[i].chassis, i);
		directory_put(d.names, system_key(buf, devices[i].name), i);
		directory_put(d.names, system_key(buf, devices[i].sysname), i);
		for (size_t p = 0; p < devices[i].n_ports; p++)
			directory_put(d.macs, devices[i].ports[p].mac, i);
	}
	return d;
}

static void directory_done(struct directory *directory)
{
	smap_free(directory->chassis);
	smap_free(directory->names);
	smap_free(directory->macs);
}

static const struct topology_device *neighbor_device(
	const struct directory *all, const struct topology_neighbor *neighbor)
{
	char buf[SYSTEM_MAX];
	const struct topology_device *d = directory_get(all, all->chassis, neighbor->chassis);
	if (!d)
		d = directory_get(all, all->names, system_key(buf, neighbor->sysname));
	if (!d && neighbor->chassis_subtype == LLDP_CHASSIS_MAC)
		d = directory_get(all, all->macs, neighbor->chassis);
	return d;
}

enum port_key { BY_NAME, BY_ALIAS, BY_DESCR, BY_MAC, BY_IFINDEX, BY_END };

static bool port_is(const struct topology_port *port, enum port_key key, const char *id)
{
	switch (key) {
	case BY_NAME: return str_eq(port->name, id);
	case BY_ALIAS: return topology_given(port->alias) && str_eq(port->alias, id);
	case BY_DESCR: return topology_given(port->descr) && str_eq(port->descr, id);
	case BY_MAC: return topology_given(port->mac) && strcasecmp(port->mac, id) == 0;
	case BY_IFINDEX: {
		char *end;
		const unsigned long v = strtoul(id, &end, 10);
		return isdigit((unsigned char)*id) && *end == '\0' && v == port->ifindex && v != 0;
	}
	case BY_END: break;
	}
	return false;
}

/* What to compare an id of each subtype with, best first. */
static const enum port_key keys_of[][6] = {
	[0] = {BY_NAME, BY_ALIAS, BY_DESCR, BY_MAC, BY_END},
	[LLDP_PORT_IFALIAS] = {BY_ALIAS, BY_NAME, BY_DESCR, BY_END},
	[LLDP_PORT_COMPONENT] = {BY_NAME, BY_DESCR, BY_ALIAS, BY_END},
	[LLDP_PORT_MAC] = {BY_MAC, BY_END},
	[LLDP_PORT_ADDRESS] = {BY_END},
	[LLDP_PORT_IFNAME] = {BY_NAME, BY_DESCR, BY_ALIAS, BY_END},
	[LLDP_PORT_CIRCUIT] = {BY_END},
	[LLDP_PORT_LOCAL] = {BY_NAME, BY_ALIAS, BY_DESCR, BY_IFINDEX, BY_END},
};

static const struct topology_port *port_by(
	const struct topology_device *device, const enum port_key *keys, const char *id)
{
	for (; topology_given(id) && *keys != BY_END; keys++) {
		const struct topology_port *found = NULL;
		size_t n = 0;
		for (size_t p = 0; p < device->n_ports; p++) {
			if (port_is(&device->ports[p], *keys, id)) {
				found = &device->ports[p];
				n++;
			}
		}
		if (n == 1) /* several ports with one MAC or alias name none of them */
			return found;
	}
	return NULL;
}

static const struct topology_port *neighbor_port(
	const struct topology_device *device, const struct topology_neighbor *neighbor)
{
	int subtype = neighbor->port_subtype;
	if (subtype < 0 || subtype > LLDP_PORT_LOCAL)
		subtype = 0;
	const struct topology_port *port = port_by(device, keys_of[subtype], neighbor->port_id);
	if (port)
		return port;
	return port_by(device, keys_of[0], neighbor->port_descr);
}

struct topology_end {
	const char *device, *port;
};

static int end_compare(struct topology_end left, struct topology_end right)
{
	const int c = name_compare(left.device, right.device);
	if (c)
		return c;
	return name_compare(left.port, right.port);
}

static int link_compare(const void *left, const void *right)
{
	const struct topology_link *x = left, *y = right;
	const int c = end_compare((struct topology_end){x->a_device, x->a_port},
		(struct topology_end){y->a_device, y->a_port});
	if (c)
		return c;
	if (!x->b_device != !y->b_device) {
		if (x->b_device)
			return -1;
		return 1;
	}
	if (x->b_device)
		return end_compare((struct topology_end){x->b_device, x->b_port},
			(struct topology_end){y->b_device, y->b_port});
	return name_compare(x->host, y->host);
}

/* The two ends of a link as one key; 0 bytes part the words. */
static void link_key(struct str *key, const struct topology_link *link)
{
	const char *other = link->host;
	if (link->b_device)
		other = link->b_port;
	const char *const parts[] = {
		link->a_device, link->a_port, str_or(link->b_device, ""), other};
	for (size_t i = 0; i < rw_countof(parts); i++)
		str_addn(key, parts[i], strlen(parts[i]) + 1);
}

struct port_use { /* a port that a link claims */
	struct topology_end end;
	size_t link;
};

static int use_compare(const void *left, const void *right)
{
	const struct port_use *x = left, *y = right;
	const int c = end_compare(x->end, y->end);
	if (c)
		return c;
	if (x->link < y->link)
		return -1;
	return x->link > y->link;
}

const char *topology_link_peer(struct arena *a, const struct topology_link *link)
{
	return arena_printf(a, "%s:%s", neighbor_kind_word(link->kind), str_or(link->host, ""));
}

/* The other end of @link, seen from @end, as text. */
static const char *link_other_end(
	struct arena *a, const struct topology_link *link, struct topology_end end)
{
	const bool at_a = str_eq(link->a_device, end.device) && str_eq(link->a_port, end.port);
	if (!at_a)
		return arena_printf(a, "%s:%s", link->a_device, link->a_port);
	if (link->b_device)
		return arena_printf(a, "%s:%s", link->b_device, link->b_port);
	return topology_link_peer(a, link);
}

/* @uses are the links that claim one port. Of two, an unconfirmed one is the problem of both; a
 * confirmed one has no problem with an unconfirmed one. */
static void links_dispute_port(
	struct arena *a, struct topology_link *links, const struct port_use *uses, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct topology_link *link = &links[uses[i].link];
		const struct topology_end end = uses[i].end;
		for (size_t k = 0; k < n && !link->problem; k++) {
			const struct topology_link *other = &links[uses[k].link];
			if (other == link || (link->confirmed && !other->confirmed))
				continue;
			link->problem = arena_printf(a, "%s:%s is also said to be linked to %s",
				end.device, end.port, link_other_end(a, other, end));
		}
	}
}

/* Two links that claim the same port cannot both be right. */
static void topology_links_dispute(struct arena *a, struct topology_link *links, size_t n)
{
	struct port_use *uses = arena_array(a, struct port_use, 2 * n + 1);
	size_t n_uses = 0;
	for (size_t i = 0; i < n; i++) {
		uses[n_uses++] = (struct port_use){{links[i].a_device, links[i].a_port}, i};
		if (links[i].b_device)
			uses[n_uses++] = (struct port_use){{links[i].b_device, links[i].b_port}, i};
	}
	if (n_uses > 1)
		qsort(uses, n_uses, sizeof(*uses), use_compare);
	for (size_t from = 0, to; from < n_uses; from = to) {
		to = from + 1;
		while (to < n_uses && end_compare(uses[from].end, uses[to].end) == 0)
			to++;
		links_dispute_port(a, links, uses + from, to - from);
	}
}

/* A host name that can stand in an endpoint: there ':' separates the words, and YAML or a terminal
 * could take other characters for more than text. */
static char *host_name(struct arena *a, const struct topology_neighbor *neighbor)
{
	const char *name = str_or(neighbor->chassis, "");
	if (topology_given(neighbor->sysname))
		name = neighbor->sysname;
	char *host = arena_strdup(a, name);
	for (char *c = host; *c; c++) {
		if (!(isalnum((unsigned char)*c) || strchr("._-", *c)))
			*c = '-';
	}
	return host;
}

/* Does the port id name an interface, rather than an address or a component? An id whose kind was
 * not told is taken for a name. */
static bool port_id_is_name(const struct topology_neighbor *neighbor)
{
	const int subtype = neighbor->port_subtype;
	if (subtype != LLDP_PORT_IFNAME && subtype != LLDP_PORT_LOCAL &&
		subtype != LLDP_PORT_IFALIAS && subtype != 0)
		return false;
	return topology_given(neighbor->port_id);
}

/* The NIC of a host, or the port of a switch that is not configured ("fortyGigE 1/50"), where its
 * port id can stand in an endpoint; else "". */
static const char *nic_name(const struct topology_neighbor *neighbor)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/ ()";
	if (!port_id_is_name(neighbor))
		return "";
	const char *id = neighbor->port_id;
	const size_t n = strlen(id);
	if (id[strspn(id, allowed)] || id[0] == ' ' || id[n - 1] == ' ')
		return "";
	return id;
}

/* The port of a device whose ports are not known (it is not polled, or was silent): as the neighbor
 * itself calls it. */
static const char *port_unknown(const struct topology_neighbor *neighbor)
{
	if (port_id_is_name(neighbor))
		return neighbor->port_id;
	if (topology_given(neighbor->port_descr))
		return neighbor->port_descr;
	return neighbor->port_id;
}

/* The device that reports @neighbor calls its own port so. */
static bool own_port_outside(const struct directory *all, const struct topology_neighbor *neighbor)
{
	static const enum port_key by_name[] = {BY_NAME, BY_END};
	char buf[SYSTEM_MAX];
	const struct topology_device *own =
		directory_get(all, all->names, system_key(buf, neighbor->device));
	if (!own)
		return false;
	const struct topology_port *port = port_by(own, by_name, neighbor->port);
	return port && port->outside;
}

static void host_link(
	struct arena *a, const struct topology_neighbor *neighbor, struct topology_link *ret)
{
	*ret = (struct topology_link){.a_device = neighbor->device,
		.a_port = neighbor->port,
		.host = host_name(a, neighbor),
		.nic = nic_name(neighbor),
		.kind = neighbor->kind,
		.confirmed = true,
		.anonymous = !topology_given(neighbor->sysname)};
}

/* The link that one device reports on one of its ports; false when the neighbor has no name. */
static bool link_of(struct arena *a, const struct directory *all,
	const struct topology_neighbor *neighbor, struct topology_link *ret)
{
	const struct topology_device *device = neighbor_device(all, neighbor);
	const bool outside = own_port_outside(all, neighbor);
	if (!device) {
		host_link(a, neighbor, ret);
		ret->outside = outside;
		return *ret->host;
	}
	const struct topology_port *port = neighbor_port(device, neighbor);
	struct topology_end first = {neighbor->device, neighbor->port};
	struct topology_end second = {device->name, port_unknown(neighbor)};
	if (port)
		second.port = port->name;
	if (!topology_given(second.port))
		return false;
	if (str_eq(first.device, second.device) && str_eq(first.port, second.port))
		return false; /* a loop plug */
	if (end_compare(first, second) > 0) {
		const struct topology_end swap = first;
		first = second;
		second = swap;
	}
	*ret = (struct topology_link){.a_device = first.device,
		.a_port = first.port,
		.b_device = second.device,
		.b_port = second.port,
		.outside = outside || (port && port->outside)};
	if (!port && device->n_ports)
		ret->problem = arena_printf(a,
			"%s has no port that matches what %s:%s heard (id \"%s\", description "
			"\"%s\")",
			device->name, neighbor->device, neighbor->port,
			str_or(neighbor->port_id, ""), str_or(neighbor->port_descr, ""));
	return true;
}

static void link_port_key(struct str *key, const struct topology_link *link)
{
	key->n = 0;
	str_addn(key, link->a_device, strlen(link->a_device) + 1);
	str_add(key, link->a_port);
}

/* On one host port both the NIC's firmware and the host's system may speak LLDP: where one of them
 * has a name, the one without is the same host, not another. */
static size_t drop_anonymous(struct topology_link *links, size_t n)
{
	rw_cleanup(str_done) struct str key = {0};
	struct smap *named = smap_new();
	for (size_t i = 0; i < n; i++) {
		if (!links[i].host || links[i].anonymous)
			continue;
		link_port_key(&key, &links[i]);
		smap_put(named, key.s, key.n, 1);
	}
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t at;
		link_port_key(&key, &links[i]);
		const bool unnamed = links[i].host && links[i].anonymous;
		if (unnamed && smap_get(named, key.s, key.n, &at))
			continue;
		links[kept++] = links[i];
	}
	smap_free(named);
	return kept;
}

/* The same link reported again, usually by its other end. */
static void link_fold(struct topology_link *link, const struct topology_link *again)
{
	link->a_said = link->a_said || again->a_said;
	link->b_said = link->b_said || again->b_said;
	link->confirmed = link->confirmed || (link->a_said && link->b_said);
	link->anonymous = link->anonymous && again->anonymous;
	link->outside = link->outside || again->outside;
}

size_t topology_links(struct arena *a, const struct topology_device *devices, size_t n_devices,
	const struct topology_neighbor *neighbors, size_t n_neighbors, struct topology_link **ret)
{
	struct topology_link *links = arena_array(a, struct topology_link, n_neighbors + 1);
	struct directory all = directory_new(devices, n_devices);
	struct smap *known = smap_new();
	size_t n = 0;
	for (size_t i = 0; i < n_neighbors; i++) {
		rw_cleanup(str_done) struct str key = {0};
		uint64_t at;
		if (!link_of(a, &all, &neighbors[i], &links[n]))
			continue;
		links[n].a_said = str_eq(links[n].a_device, neighbors[i].device) &&
			str_eq(links[n].a_port, neighbors[i].port);
		links[n].b_said = !links[n].a_said;
		link_key(&key, &links[n]);
		if (smap_get(known, key.s, key.n, &at)) {
			link_fold(&links[at], &links[n]);
			continue;
		}
		smap_put(known, key.s, key.n, n++);
	}
	smap_free(known);
	directory_done(&all);
	n = drop_anonymous(links, n);
	topology_links_dispute(a, links, n);
	if (n > 1)
		qsort(links, n, sizeof(*links), link_compare);
	*ret = links;
	return n;
}

/* "DEVICE:PORT" in double quotes. */
static void print_end(FILE *out, const char *device, const char *port)
{
	fprintf(out, "\"%s%s", device, str_if(*port, ":"));
	for (const char *c = port; *c; c++) {
		if (*c == '"' || *c == '\\')
			putc('\\', out);
		putc(*c, out);
	}
	putc('"', out);
}

/* A link with a problem would not pass the check that a port is used once: it is a comment, for a
 * person to settle. One of a management port is a comment, too. */
static void print_link(FILE *out, const struct topology_link *link)
{
	fprintf(out, "%s  - { a: ", str_if(link->problem || link->outside, "#"));
	print_end(out, link->a_device, link->a_port);
	fputs(", b: ", out);
	if (link->b_device)
		print_end(out, link->b_device, link->b_port);
	else
		fprintf(out, "\"%s:%s%s%s\"", neighbor_kind_word(link->kind), link->host,
			str_if(*link->nic, ":"), link->nic);
	fputs(" }", out);
	if (link->outside)
		fputs("  # management: no part of the fabric", out);
	else if (link->problem)
		fprintf(out, "  # %s", link->problem);
	else if (!link->confirmed)
		fputs("  # only one end reports it", out);
	putc('\n', out);
}

void topology_print(FILE *out, const struct topology_link *links, size_t n)
{
	bool any = false;
	for (size_t i = 0; i < n; i++)
		any = any || !(links[i].problem || links[i].outside);
	fprintf(out, "links:%s\n", str_if(!any, " []"));
	for (size_t i = 0; i < n; i++)
		print_link(out, &links[i]);
}

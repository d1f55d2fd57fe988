/* topology - see topology.h. Port matching order: counter-map.md 1.10, which follows the subtypes'
 * meaning in IEEE 802.1AB. */
#include "config/topology.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "config/fabric.h"

static bool topology_given(const char *text)
{
	return text && *text;
}

char *lldp_id_text(
	char buf[LLDP_ID_TEXT_MAX], bool chassis, int subtype, const uint8_t *id, size_t n)
{
	bool mac;
	if (chassis)
		mac = subtype == LLDP_CHASSIS_MAC;
	else
		mac = subtype == LLDP_PORT_MAC;
	bool address;
	if (chassis)
		address = subtype == LLDP_CHASSIS_ADDRESS;
	else
		address = subtype == LLDP_PORT_ADDRESS;
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
	if (topology_given(name))
		smap_put(map, name, strlen(name),
			smap_get(map, name, strlen(name), &known) && known != device ? SHARED
										     : device);
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

static const struct topology_device *device_heard(
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

static const struct topology_port *port_heard(
	const struct topology_device *device, const struct topology_neighbor *neighbor)
{
	const int s = neighbor->port_subtype;
	const struct topology_port *p =
		port_by(device, keys_of[s > 0 && s <= LLDP_PORT_LOCAL ? s : 0], neighbor->port_id);
	if (p)
		return p;
	return port_by(device, keys_of[0], neighbor->port_descr);
}

struct end {
	const char *device, *port;
};

static int end_compare(struct end left, struct end right)
{
	const int c = name_compare(left.device, right.device);
	if (c)
		return c;
	return name_compare(left.port, right.port);
}

static int link_compare(const void *left, const void *right)
{
	const struct topology_link *x = left, *y = right;
	const int c = end_compare(
		(struct end){x->a_device, x->a_port}, (struct end){y->a_device, y->a_port});
	if (c)
		return c;
	if (!x->b_device != !y->b_device) {
		if (x->b_device)
			return -1;
		return 1;
	}
	if (x->b_device)
		return end_compare(
			(struct end){x->b_device, x->b_port}, (struct end){y->b_device, y->b_port});
	return name_compare(x->host, y->host);
}

/* The two ends of a link as one key; 0 bytes part the words. */
static void link_key(struct str *key, const struct topology_link *link)
{
	const char *const parts[] = {link->a_device, link->a_port, str_or(link->b_device, ""),
		link->b_device ? link->b_port : link->host};
	for (size_t i = 0; i < rw_countof(parts); i++)
		str_addn(key, parts[i], strlen(parts[i]) + 1);
}

struct use { /* a port that a link claims */
	struct end end;
	size_t link;
};

static int use_compare(const void *left, const void *right)
{
	const struct use *x = left, *y = right;
	const int c = end_compare(x->end, y->end);
	if (c)
		return c;
	if (x->link < y->link)
		return -1;
	return x->link > y->link;
}

/* Two links that claim the same port cannot both be: an unconfirmed one yields to a confirmed one
 * in words, not in silence. */
static void links_dispute(struct arena *a, struct topology_link *links, size_t n)
{
	struct use *uses = arena_array(a, struct use, 2 * n + 1);
	size_t n_uses = 0;
	for (size_t i = 0; i < n; i++) {
		uses[n_uses++] = (struct use){{links[i].a_device, links[i].a_port}, i};
		if (links[i].b_device)
			uses[n_uses++] = (struct use){{links[i].b_device, links[i].b_port}, i};
	}
	if (n_uses > 1)
		qsort(uses, n_uses, sizeof(*uses), use_compare);
	for (size_t from = 0, to; from < n_uses; from = to) {
		for (to = from + 1; to < n_uses && end_compare(uses[from].end, uses[to].end) == 0;
			to++)
			;
		for (size_t i = from; i < to; i++) {
			struct topology_link *l = &links[uses[i].link];
			for (size_t k = from; k < to && !l->problem; k++) {
				const struct topology_link *x = &links[uses[k].link];
				if (x == l || (l->confirmed && !x->confirmed))
					continue;
				const bool a_end = str_eq(x->a_device, uses[i].end.device) &&
					str_eq(x->a_port, uses[i].end.port);
				l->problem =
					arena_printf(a, "%s:%s is also said to be linked to %s:%s",
						uses[i].end.device, uses[i].end.port,
						!a_end ? x->a_device : str_or(x->b_device, "host"),
						!a_end                ? x->a_port
							: x->b_device ? x->b_port
								      : x->host);
			}
		}
	}
}

/* A name as an endpoint holds it: ':' parts its words, and what YAML or a terminal would take for
 * more than text has no place in it. */
static char *host_name(struct arena *a, const struct topology_neighbor *neighbor)
{
	char *host = arena_strdup(a,
		topology_given(neighbor->sysname) ? neighbor->sysname
						  : str_or(neighbor->chassis, ""));
	for (char *c = host; *c; c++) {
		if (!(isalnum((unsigned char)*c) || strchr("._-", *c)))
			*c = '-';
	}
	return host;
}

static bool nic_is_name(const struct topology_neighbor *neighbor)
{
	const bool kind = neighbor->port_subtype == LLDP_PORT_IFNAME ||
		neighbor->port_subtype == LLDP_PORT_LOCAL ||
		neighbor->port_subtype == LLDP_PORT_IFALIAS;
	return kind && topology_given(neighbor->port_id) &&
		strspn(neighbor->port_id,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") ==
		strlen(neighbor->port_id);
}

/* The other end of a device whose ports are not known (it is not polled, or was silent): as the
 * neighbour itself calls it. */
static const char *port_unknown(const struct topology_neighbor *neighbor)
{
	const bool name = neighbor->port_subtype == LLDP_PORT_IFNAME ||
		neighbor->port_subtype == LLDP_PORT_LOCAL ||
		neighbor->port_subtype == LLDP_PORT_IFALIAS;
	if (name && topology_given(neighbor->port_id))
		return neighbor->port_id;
	if (topology_given(neighbor->port_descr))
		return neighbor->port_descr;
	return neighbor->port_id;
}

/* What one device heard on one of its ports; false when it names nobody. */
static bool link_of(struct arena *a, const struct directory *all,
	const struct topology_neighbor *neighbor, struct topology_link *ret)
{
	const struct topology_device *d = device_heard(all, neighbor);
	if (!d) {
		char *host = host_name(a, neighbor);
		*ret = (struct topology_link){.a_device = neighbor->device,
			.a_port = neighbor->port,
			.host = host,
			.nic = nic_is_name(neighbor) ? neighbor->port_id : "",
			.confirmed = true,
			.anonymous = !topology_given(neighbor->sysname)};
		return *host;
	}
	const struct topology_port *p = port_heard(d, neighbor);
	struct end x = {neighbor->device, neighbor->port},
		   y = {d->name, p ? p->name : port_unknown(neighbor)};
	/* a port that hears itself has a loop plug */
	if (!topology_given(y.port) || (str_eq(x.device, y.device) && str_eq(x.port, y.port)))
		return false;
	const bool swap = end_compare(x, y) > 0;
	*ret = (struct topology_link){.a_device = swap ? y.device : x.device,
		.a_port = swap ? y.port : x.port,
		.b_device = swap ? x.device : y.device,
		.b_port = swap ? x.port : y.port};
	if (!p && d->n_ports)
		ret->problem = arena_printf(a,
			"%s has no port that matches what %s:%s heard (id \"%s\", description "
			"\"%s\")",
			d->name, neighbor->device, neighbor->port, str_or(neighbor->port_id, ""),
			str_or(neighbor->port_descr, ""));
	return true;
}

/* A NIC's firmware and the host's system both speak on one port: the nameless voice is not another
 * host. */
static size_t drop_anonymous(struct topology_link *links, size_t n)
{
	struct smap *named = smap_new();
	size_t kept = 0;
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < n; i++) {
			rw_cleanup(str_done) struct str key = {0};
			uint64_t at;
			str_addn(&key, links[i].a_device, strlen(links[i].a_device) + 1);
			str_add(&key, links[i].a_port);
			if (pass == 0 && links[i].host && !links[i].anonymous)
				smap_put(named, key.s, key.n, 1);
			else if (pass == 1 && links[i].host && links[i].anonymous &&
				smap_get(named, key.s, key.n, &at))
				continue;
			if (pass == 1)
				links[kept++] = links[i];
		}
	}
	smap_free(named);
	return kept;
}

size_t topology_links(struct arena *a, const struct topology_device *devices, size_t n_devices,
	const struct topology_neighbor *heard, size_t n_heard, struct topology_link **ret)
{
	struct topology_link *links = arena_array(a, struct topology_link, n_heard ? n_heard : 1);
	struct directory all = directory_new(devices, n_devices);
	struct smap *known = smap_new();
	size_t n = 0;
	for (size_t i = 0; i < n_heard; i++) {
		rw_cleanup(str_done) struct str key = {0};
		uint64_t at;
		if (!link_of(a, &all, &heard[i], &links[n]))
			continue;
		links[n].a_said = str_eq(links[n].a_device, heard[i].device) &&
			str_eq(links[n].a_port, heard[i].port);
		links[n].b_said = !links[n].a_said;
		link_key(&key, &links[n]);
		/* the same said again, or the other end's word for it */
		if (smap_get(known, key.s, key.n, &at)) {
			links[at].a_said = links[at].a_said || links[n].a_said;
			links[at].b_said = links[at].b_said || links[n].b_said;
			links[at].confirmed =
				links[at].confirmed || (links[at].a_said && links[at].b_said);
			links[at].anonymous = links[at].anonymous && links[n].anonymous;
			continue;
		}
		smap_put(known, key.s, key.n, n++);
	}
	smap_free(known);
	directory_done(&all);
	n = drop_anonymous(links, n);
	links_dispute(a, links, n);
	if (n > 1)
		qsort(links, n, sizeof(*links), link_compare);
	*ret = links;
	return n;
}

/* "DEVICE:PORT" in double quotes. */
static void print_end(FILE *out, const char *device, const char *port)
{
	fprintf(out, "\"%s%s", device, str_if(*port, ":"));
	for (const char *c = port; *c; c++)
		fprintf(out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
	putc('"', out);
}

void topology_print(FILE *out, const struct topology_link *links, size_t n)
{
	bool any = false;
	for (size_t i = 0; i < n; i++)
		any = any || !links[i].problem;
	fprintf(out, "links:%s\n", str_if(!any, " []"));
	for (size_t i = 0; i < n; i++) {
		const struct topology_link *l = &links[i];
		/* A disputed link would not pass the check that a port is used once: kept as a
		 * comment, for a person to settle. */
		fprintf(out, "%s  - { a: ", str_if(l->problem, "#"));
		print_end(out, l->a_device, l->a_port);
		fputs(", b: ", out);
		if (l->b_device)
			print_end(out, l->b_device, l->b_port);
		else
			fprintf(out, "\"host:%s%s%s\"", l->host, str_if(*l->nic, ":"), l->nic);
		fprintf(out, " }%s%s%s\n", str_if(l->problem || !l->confirmed, "  # "),
			str_or(l->problem, ""),
			str_if(!l->problem && !l->confirmed, "one end only has said so"));
	}
}

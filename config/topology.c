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

static bool given(const char *s)
{
	return s && *s;
}

char *lldp_id_text(
	char buf[LLDP_ID_TEXT_MAX], bool chassis, int subtype, const uint8_t *id, size_t n)
{
	const bool mac = chassis ? subtype == LLDP_CHASSIS_MAC : subtype == LLDP_PORT_MAC;
	const bool address =
		chassis ? subtype == LLDP_CHASSIS_ADDRESS : subtype == LLDP_PORT_ADDRESS;
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

static void directory_put(struct smap *m, const char *name, uint64_t device)
{
	uint64_t known;
	if (given(name))
		smap_put(m, name, strlen(name),
			smap_get(m, name, strlen(name), &known) && known != device ? SHARED
										   : device);
}

static const struct topology_device *directory_get(
	const struct directory *d, const struct smap *m, const char *name)
{
	uint64_t at;
	return given(name) && smap_get(m, name, strlen(name), &at) && at != SHARED ? &d->devices[at]
										   : NULL;
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

static void directory_done(struct directory *d)
{
	smap_free(d->chassis);
	smap_free(d->names);
	smap_free(d->macs);
}

static const struct topology_device *device_heard(
	const struct directory *all, const struct topology_neighbor *h)
{
	char buf[SYSTEM_MAX];
	const struct topology_device *d = directory_get(all, all->chassis, h->chassis);
	if (!d)
		d = directory_get(all, all->names, system_key(buf, h->sysname));
	if (!d && h->chassis_subtype == LLDP_CHASSIS_MAC)
		d = directory_get(all, all->macs, h->chassis);
	return d;
}

enum port_key { BY_NAME, BY_ALIAS, BY_DESCR, BY_MAC, BY_IFINDEX, BY_END };

static bool port_is(const struct topology_port *p, enum port_key key, const char *id)
{
	switch (key) {
	case BY_NAME: return str_eq(p->name, id);
	case BY_ALIAS: return given(p->alias) && str_eq(p->alias, id);
	case BY_DESCR: return given(p->descr) && str_eq(p->descr, id);
	case BY_MAC: return given(p->mac) && strcasecmp(p->mac, id) == 0;
	case BY_IFINDEX: {
		char *end;
		const unsigned long v = strtoul(id, &end, 10);
		return isdigit((unsigned char)*id) && *end == '\0' && v == p->ifindex && v != 0;
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
	const struct topology_device *d, const enum port_key *keys, const char *id)
{
	for (; given(id) && *keys != BY_END; keys++) {
		const struct topology_port *found = NULL;
		size_t n = 0;
		for (size_t p = 0; p < d->n_ports; p++) {
			if (port_is(&d->ports[p], *keys, id)) {
				found = &d->ports[p];
				n++;
			}
		}
		if (n == 1) /* several ports with one MAC or alias name none of them */
			return found;
	}
	return NULL;
}

static const struct topology_port *port_heard(
	const struct topology_device *d, const struct topology_neighbor *h)
{
	const int s = h->port_subtype;
	const struct topology_port *p =
		port_by(d, keys_of[s > 0 && s <= LLDP_PORT_LOCAL ? s : 0], h->port_id);
	return p ? p : port_by(d, keys_of[0], h->port_descr);
}

struct end {
	const char *device, *port;
};

static int end_compare(struct end x, struct end y)
{
	const int c = name_compare(x.device, y.device);
	return c ? c : name_compare(x.port, y.port);
}

static int link_compare(const void *a, const void *b)
{
	const struct topology_link *x = a, *y = b;
	const int c = end_compare(
		(struct end){x->a_device, x->a_port}, (struct end){y->a_device, y->a_port});
	if (c)
		return c;
	if (!x->b_device != !y->b_device)
		return x->b_device ? -1 : 1;
	return x->b_device ? end_compare((struct end){x->b_device, x->b_port},
				     (struct end){y->b_device, y->b_port})
			   : name_compare(x->host, y->host);
}

/* The two ends of a link as one key; 0 bytes part the words. */
static void link_key(struct str *key, const struct topology_link *l)
{
	const char *const parts[] = {l->a_device, l->a_port, l->b_device ? l->b_device : "",
		l->b_device ? l->b_port : l->host};
	for (size_t i = 0; i < rw_countof(parts); i++)
		str_addn(key, parts[i], strlen(parts[i]) + 1);
}

struct use { /* a port that a link claims */
	struct end end;
	size_t link;
};

static int use_compare(const void *a, const void *b)
{
	const struct use *x = a, *y = b;
	const int c = end_compare(x->end, y->end);
	return c ? c : x->link < y->link ? -1 : x->link > y->link;
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
						!a_end                ? x->a_device
							: x->b_device ? x->b_device
								      : "host",
						!a_end                ? x->a_port
							: x->b_device ? x->b_port
								      : x->host);
			}
		}
	}
}

/* A name as an endpoint holds it: ':' parts its words, and what YAML or a terminal would take for
 * more than text has no place in it. */
static char *host_name(struct arena *a, const struct topology_neighbor *h)
{
	char *host = arena_strdup(a, given(h->sysname) ? h->sysname : h->chassis ? h->chassis : "");
	for (char *c = host; *c; c++)
		*c = isalnum((unsigned char)*c) || strchr("._-", *c) ? *c : '-';
	return host;
}

static bool nic_is_name(const struct topology_neighbor *h)
{
	const bool kind = h->port_subtype == LLDP_PORT_IFNAME ||
		h->port_subtype == LLDP_PORT_LOCAL || h->port_subtype == LLDP_PORT_IFALIAS;
	return kind && given(h->port_id) &&
		strspn(h->port_id,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") ==
		strlen(h->port_id);
}

/* The other end of a device whose ports are not known (it is not polled, or was silent): as the
 * neighbour itself calls it. */
static const char *port_unknown(const struct topology_neighbor *h)
{
	const bool name = h->port_subtype == LLDP_PORT_IFNAME ||
		h->port_subtype == LLDP_PORT_LOCAL || h->port_subtype == LLDP_PORT_IFALIAS;
	return name && given(h->port_id) ? h->port_id
		: given(h->port_descr)   ? h->port_descr
					 : h->port_id;
}

/* What one device heard on one of its ports; false when it names nobody. */
static bool link_of(struct arena *a, const struct directory *all, const struct topology_neighbor *h,
	struct topology_link *ret)
{
	const struct topology_device *d = device_heard(all, h);
	if (!d) {
		char *host = host_name(a, h);
		*ret = (struct topology_link){.a_device = h->device,
			.a_port = h->port,
			.host = host,
			.nic = nic_is_name(h) ? h->port_id : "",
			.confirmed = true,
			.anonymous = !given(h->sysname)};
		return *host;
	}
	const struct topology_port *p = port_heard(d, h);
	struct end x = {h->device, h->port}, y = {d->name, p ? p->name : port_unknown(h)};
	/* a port that hears itself has a loop plug */
	if (!given(y.port) || (str_eq(x.device, y.device) && str_eq(x.port, y.port)))
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
			d->name, h->device, h->port, h->port_id ? h->port_id : "",
			h->port_descr ? h->port_descr : "");
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
	fprintf(out, "\"%s%s", device, *port ? ":" : "");
	for (const char *c = port; *c; c++)
		fprintf(out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
	putc('"', out);
}

void topology_print(FILE *out, const struct topology_link *links, size_t n)
{
	bool any = false;
	for (size_t i = 0; i < n; i++)
		any = any || !links[i].problem;
	fprintf(out, "links:%s\n", any ? "" : " []");
	for (size_t i = 0; i < n; i++) {
		const struct topology_link *l = &links[i];
		/* A disputed link would not pass the check that a port is used once: kept as a
		 * comment, for a person to settle. */
		fprintf(out, "%s  - { a: ", l->problem ? "#" : "");
		print_end(out, l->a_device, l->a_port);
		fputs(", b: ", out);
		if (l->b_device)
			print_end(out, l->b_device, l->b_port);
		else
			fprintf(out, "\"host:%s%s%s\"", l->host, *l->nic ? ":" : "", l->nic);
		fprintf(out, " }%s%s%s\n", l->problem || !l->confirmed ? "  # " : "",
			l->problem ? l->problem : "",
			!l->problem && !l->confirmed ? "one end only has said so" : "");
	}
}

/* nic_join - which NIC is at the other end of which switch port: by the names and addresses that
 * both ends tell. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/base/arena.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "analyzers/measure/nic.h"

#define NONE UINT32_MAX
enum { NAME_MOST = 256, MAC_DIGITS = 12 };

struct nic_index {
	const struct observed *observed;
	struct smap *full, *brief; /* host's name, its first label -> first port + 1; 0: several */
	struct smap *macs; /* host or NIC that LLDP names by its MAC -> port + 1 */
	uint32_t *next, *first; /* [port]: the next, the first one of the same host */
};

/* ---- names ------------------------------------------------------------------ */

/* In small letters; @brief: up to the first dot. Returns its length, 0: too long or empty. */
static size_t nic_host_name(const char *text, bool brief, char ret[NAME_MOST])
{
	size_t n = 0;
	for (; text[n] && !(brief && text[n] == '.'); n++) {
		if (n + 1 >= NAME_MOST)
			return 0;
		ret[n] = (char)tolower((unsigned char)text[n]);
	}
	ret[n] = '\0';
	return n;
}

/* The twelve digits of a MAC address, however it is written. */
static bool nic_mac(const char *text, char ret[MAC_DIGITS + 1])
{
	size_t n = 0;
	for (; text && *text; text++) {
		if (strchr(":-.", *text))
			continue;
		if (!isxdigit((unsigned char)*text) || n >= MAC_DIGITS)
			return false;
		ret[n++] = (char)tolower((unsigned char)*text);
	}
	ret[n] = '\0';
	return n == MAC_DIGITS;
}

static bool nic_same_mac(const char *left, const char *right)
{
	char a[MAC_DIGITS + 1], b[MAC_DIGITS + 1];
	return nic_mac(left, a) && nic_mac(right, b) && memcmp(a, b, sizeof(a)) == 0;
}

/* ---- the hosts of the fabric ------------------------------------------------- */

static void nic_index_port(struct nic_index *index, uint32_t port)
{
	const struct fabric_port *p = index->observed->ports[port].port;
	char name[NAME_MOST], mac[MAC_DIGITS + 1];
	uint64_t at;
	const size_t n = nic_host_name(p->host, false, name);
	if (nic_mac(p->host, mac) || nic_mac(p->host_nic, mac))
		smap_put(index->macs, mac, MAC_DIGITS, port + 1);
	if (!n)
		return;
	if (smap_get(index->full, name, n, &at)) {
		index->first[port] = (uint32_t)at - 1;
		uint32_t last = (uint32_t)at - 1;
		while (index->next[last] != NONE)
			last = index->next[last];
		index->next[last] = port;
		return;
	}
	smap_put(index->full, name, n, port + 1);
	const size_t n_brief = nic_host_name(p->host, true, name);
	const bool taken = smap_get(index->brief, name, n_brief, &at);
	smap_put(index->brief, name, n_brief, taken ? 0 : port + 1);
}

/* The first port of the host, NONE. */
static uint32_t nic_find_host(const struct nic_index *index, const char *host)
{
	char name[NAME_MOST];
	uint64_t at;
	const size_t n = nic_host_name(host, false, name);
	if (!n)
		return NONE;
	if (smap_get(index->full, name, n, &at))
		return (uint32_t)at - 1;
	if (!strchr(name, '.')) {
		if (smap_get(index->brief, name, n, &at) && at)
			return (uint32_t)at - 1;
		return NONE;
	}
	if (smap_get(index->full, name, nic_host_name(host, true, name), &at))
		return (uint32_t)at - 1;
	return NONE;
}

/* ---- one NIC ------------------------------------------------------------------ */

static bool nic_names_port(const struct nic_seen *nic, const struct fabric_port *port)
{
	if (!*port->host_nic)
		return false;
	return str_eq(port->host_nic, nic->name) ||
		(nic->netdev && str_eq(port->host_nic, nic->netdev)) ||
		nic_same_mac(port->host_nic, nic->mac) || nic_same_mac(port->host_nic, nic->name);
}

static void nic_find_port(const struct nic_index *index, struct nic_seen *nic)
{
	char mac[MAC_DIGITS + 1];
	uint64_t at;
	const uint32_t first = nic_find_host(index, nic->host);
	for (uint32_t i = first; i != NONE && !nic->port; i = index->next[i])
		if (nic_names_port(nic, index->observed->ports[i].port))
			nic->port = &index->observed->ports[i];
	if (!nic->port && nic_mac(nic->mac, mac) && smap_get(index->macs, mac, MAC_DIGITS, &at))
		nic->port = &index->observed->ports[at - 1];
	if (first != NONE)
		nic->host_port = &index->observed->ports[first];
	else
		nic->host_port = nic->port;
}

static uint32_t nic_order(const struct nic_seen *nic)
{
	if (nic->host_port)
		return nic->host_port->port->index;
	return NONE;
}

static int nic_by_host(const void *left, const void *right)
{
	const struct nic_seen *x = left, *y = right;
	const uint32_t a = nic_order(x), b = nic_order(y);
	if (a != b)
		return a < b ? -1 : 1;
	const int hosts = strcmp(x->host, y->host);
	if (hosts && !x->host_port)
		return hosts;
	const int names = name_compare(x->name, y->name);
	return names ? names : hosts;
}

/* ---- all of them ----------------------------------------------------------------- */

/* A host with one NIC and one port: they belong together, whatever they are called. */
static void nic_join_only_one(
	const struct nic_index *index, struct nics *nics, size_t from, size_t to)
{
	struct nic_seen *nic = &nics->v[from];
	if (to - from != 1 || nic->port || !nic->host_port)
		return;
	if (index->next[nic->host_port->port->index] == NONE)
		nic->port = nic->host_port;
}

static void nic_fold_amount(struct amount *to, const struct amount *from)
{
	if (!to->known && from->known)
		*to = *from;
}

/* Two sources tell of one NIC (by its RDMA device and by its network interface): what the first
 * does not know is taken from the second. */
static void nic_fold(struct nic_seen *to, struct nic_seen *from)
{
	struct amount *const own[] = {&to->cnp_sent, &to->cnp_handled, &to->cnp_ignored,
		&to->cnp_received, &to->ce_received, &to->out_of_sequence, &to->seq_errors,
		&to->adp_retrans, &to->ack_timeouts, &to->out_of_buffer, &to->rx_discards,
		&to->out_octets, &to->pci_stall_rd_s, &to->pci_stall_wr_s};
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		nic_fold_amount(own[i],
			(const struct amount *)((const char *)from +
				((const char *)own[i] - (const char *)to)));
	for (int p = 0; p < OBSERVED_PRIORITIES; p++) {
		nic_fold_amount(&to->prios[p].rx_frames, &from->prios[p].rx_frames);
		nic_fold_amount(&to->prios[p].tx_frames, &from->prios[p].tx_frames);
		nic_fold_amount(&to->prios[p].rx_pause_ns, &from->prios[p].rx_pause_ns);
		nic_fold_amount(&to->prios[p].tx_pause_ns, &from->prios[p].tx_pause_ns);
	}
	to->pci_stall_rd = fmax(to->pci_stall_rd, from->pci_stall_rd);
	to->pci_stall_wr = fmax(to->pci_stall_wr, from->pci_stall_wr);
	if (isnan(to->cable_m))
		to->cable_m = from->cable_m;
	to->cable_type = str_or(to->cable_type, from->cable_type);
	to->netdev = str_or(to->netdev, from->netdev);
	to->mac = str_or(to->mac, from->mac);
	from->folded = true;
}

static void nics_give_ports(struct nics *nics, const struct observed *observed, struct arena *a)
{
	const struct nic_seen **of =
		arena_array(a, const struct nic_seen *, observed->n_fabric_ports + 1);
	for (size_t i = 0; i < nics->n; i++) {
		struct nic_seen *nic = &nics->v[i];
		if (nic->port && of[nic->port->port->index]) {
			nic_fold((struct nic_seen *)of[nic->port->port->index], nic);
			continue;
		}
		if (nic->port)
			of[nic->port->port->index] = nic;
	}
	nics->of_port = of;
}

void nics_join(struct nics *nics, const struct observed *observed, struct arena *a)
{
	if (!nics->n)
		return;
	struct nic_index index = {.observed = observed,
		.full = smap_new(),
		.brief = smap_new(),
		.macs = smap_new(),
		.next = arena_array(a, uint32_t, observed->n_fabric_ports + 1),
		.first = arena_array(a, uint32_t, observed->n_fabric_ports + 1)};
	for (uint32_t i = 0; i < observed->n_fabric_ports; i++) {
		index.next[i] = NONE;
		index.first[i] = i;
	}
	for (uint32_t i = 0; i < observed->n_fabric_ports; i++)
		if (observed->ports[i].port->host)
			nic_index_port(&index, i);
	for (size_t i = 0; i < nics->n; i++)
		nic_find_port(&index, &nics->v[i]);
	qsort(nics->v, nics->n, sizeof(*nics->v), nic_by_host);
	for (size_t i = 0, end; i < nics->n; i = end) {
		for (end = i + 1;
			end < nics->n && nic_order(&nics->v[end]) == nic_order(&nics->v[i]);)
			end++;
		nic_join_only_one(&index, nics, i, end);
	}
	nics_give_ports(nics, observed, a);
	nics->first_of_host = index.first;
	smap_free(index.full);
	smap_free(index.brief);
	smap_free(index.macs);
}

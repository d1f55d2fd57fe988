/* nic - gathers the series of NICs: one pass over those of nic.* metrics, by the rows of
 * observe.def. */
#include "analyzers/measure/nic.h"

#include "analyzers/measure/input.h"
#include "base/stats.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

enum nic_kind { NIC_COUNTER, NIC_MEAN, NIC_STATE, NIC_WORDS };
enum { NIC_BOUND_NONE, NIC_BOUND_TIME };

struct nic_row {
	uint16_t metric;
	uint8_t kind, bound;
	uint16_t offset;
};

static const struct nic_row nic_rows[] = {
#define NIC(metric, field, kind, bound)                                                            \
	{M_##metric, NIC_##kind, NIC_BOUND_##bound, offsetof(struct nic_seen, field)},
#include "analyzers/measure/observe.def"
};
static const struct nic_row nic_prio_rows[] = {
#define NIC_PRIO(metric, field, kind, bound)                                                       \
	{M_##metric, NIC_##kind, NIC_BOUND_##bound, offsetof(struct nic_prio, field)},
#include "analyzers/measure/observe.def"
};

struct nic_maker {
	const struct analyzer_in *in;
	struct arena *a;
	struct nics *nics;
	size_t cap;
	struct map *index; /* entity of a NIC -> its position */
};

static struct nic_seen *nic_of(struct nic_maker *maker, uint32_t entity)
{
	uint64_t at;
	struct nics *nics = maker->nics;
	if (map_get(maker->index, entity, &at))
		return &nics->v[at];
	const struct entity *e = entity_get(maker->in->window->entities, entity);
	if (!e || !*e->port)
		return NULL;
	arena_grow(maker->a, nics->v, nics->n, maker->cap);
	map_put(maker->index, entity, nics->n);
	struct nic_seen *nic = &nics->v[nics->n++];
	*nic = (struct nic_seen){.host = e->device,
		.name = e->port,
		.pci_stall_rd = NAN,
		.pci_stall_wr = NAN,
		.cable_m = NAN};
	return nic;
}

static void nic_put(
	struct nic_maker *maker, char *base, const struct nic_row *row, const struct series *series)
{
	const struct window *window = maker->in->window;
	double *number = (double *)(base + row->offset);
	uint64_t words;
	switch ((enum nic_kind)row->kind) {
	case NIC_COUNTER:
		*(struct amount *)(base + row->offset) = amount_of(series, window,
			row->bound == NIC_BOUND_TIME ? PORT_RATE_PLAUSIBLE * 1e9 : 0);
		break;
	case NIC_MEAN: *number = amount_mean(series, window); break;
	case NIC_STATE: *number = amount_state(series, window); break;
	case NIC_WORDS:
		if (series_state(series, window->to_ns, INT64_MAX, &words) == 0 && words)
			*(const char **)(base + row->offset) =
				entities_text_get(window->entities, words);
		break;
	}
}

/* Calls @put for each series of the row's metric. */
static void nic_gather(struct nic_maker *maker, const struct nic_row *row, bool of_priority)
{
	const struct window *window = maker->in->window;
	size_t n;
	const struct series *series = window_of_metric(window, row->metric, &n);
	for (size_t i = 0; i < n; i++) {
		const struct series *s = &series[i];
		const struct entity *e = entity_get(window->entities, s->entity);
		if (!e || !s->n)
			continue;
		if (of_priority && (e->priority < 0 || e->priority >= OBSERVED_PRIORITIES))
			continue;
		struct nic_seen *nic = nic_of(maker, of_priority ? e->parent : s->entity);
		if (nic && of_priority)
			nic_put(maker, (char *)&nic->prios[e->priority], row, s);
		else if (nic)
			nic_put(maker, (char *)nic, row, s);
	}
}

static const struct nics *nics_make(const struct analyzer_in *in, struct arena *a)
{
	struct nic_maker maker = {.in = in, .a = a, .nics = arena_new_of(a, struct nics)};
	maker.index = map_new();
	for (size_t i = 0; i < rw_countof(nic_rows); i++)
		nic_gather(&maker, &nic_rows[i], false);
	for (size_t i = 0; i < rw_countof(nic_prio_rows); i++)
		nic_gather(&maker, &nic_prio_rows[i], true);
	map_free(maker.index);
	nics_join(maker.nics, observe(in), a);
	return maker.nics;
}

const struct nics *nics_seen(const struct analyzer_in *in)
{
	if (!in->shared)
		return nics_make(in, in->arena);
	if (!in->shared->nics)
		in->shared->nics = nics_make(in, in->shared->arena);
	return in->shared->nics;
}

const struct nic_seen *nic_at(const struct nics *nics, const struct port_seen *port)
{
	if (!port->in_fabric || !nics->of_port)
		return NULL;
	return nics->of_port[port->port->index];
}

static double nic_stalled_seconds(const struct amount *amount)
{
	if (!amount->known)
		return NAN;
	return amount->value * 1e9 / (double)amount->covered_ns;
}

double nic_pci_stall(const struct nic_seen *nic)
{
	/* fmax() of NAN and a number is the number */
	return fmax(nic->pci_stall_rd, nic->pci_stall_wr);
}

double nic_pci_stalled_seconds(const struct nic_seen *nic)
{
	return fmax(nic_stalled_seconds(&nic->pci_stall_rd_s),
		nic_stalled_seconds(&nic->pci_stall_wr_s));
}

/* ---- nic_join -------------------------------------------------------------- */

/* nic_join - which NIC is at the other end of which switch port: by the names and addresses that
 * both ends tell. */

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

/* ---- nic_cnps -------------------------------------------------------------- */

/* nic_cnps - sums the counters of CNPs over the NICs of the fabric. */

#define SENDS 0.1 /* of the median NIC: it takes part */
#define SENDS_BPS 1e8 /* less is no traffic of a job */
#define SENT_MIN 100.0 /* CNPs, for a share of them */

double nic_sends_bps(const struct nic_seen *nic)
{
	if (nic->port && nic->port->in_known)
		return nic->port->in.rate_bps;
	if (nic->out_octets.known)
		return 8 * amount_rate(&nic->out_octets);
	/* not known which port is its own: the first of its host stands for all */
	if (!nic->port && nic->host_port && nic->host_port->in_known)
		return nic->host_port->in.rate_bps;
	return NAN;
}

static void nic_cnps_median(const struct nics *nics, struct nic_cnps *cnps, struct arena *a)
{
	double *v = arena_array(a, double, nics->n + 1);
	size_t n = 0;
	for (size_t i = 0; i < nics->n; i++) {
		const double bps = nic_sends_bps(&nics->v[i]);
		if (nics->v[i].host_port && !nics->v[i].folded && bps > SENDS_BPS)
			v[n++] = bps;
	}
	if (n)
		cnps->median_bps = stats_median(v, n);
}

bool nic_is_silent(const struct nic_cnps *cnps, const struct nic_seen *nic)
{
	const double bps = nic_sends_bps(nic);
	return nic->host_port && !nic->folded && nic->cnp_handled.known &&
		!nic->cnp_handled.restarted && nic->cnp_handled.value == 0 && bps > SENDS_BPS &&
		bps >= SENDS * cnps->median_bps;
}

/* Does every port that faces a host have a NIC that tells both counters? */
static bool nic_cnps_complete(const struct analyzer_in *in, const struct nics *nics)
{
	const struct observed *o = observe(in);
	size_t *told = arena_array(in->arena, size_t, o->n_fabric_ports + 1);
	bool any = false;
	for (size_t i = 0; i < nics->n; i++) {
		const struct nic_seen *nic = &nics->v[i];
		const bool arrivals = nic->cnp_handled.known || nic->cnp_received.known;
		if (nic->host_port && !nic->folded && nic->cnp_sent.known && arrivals)
			told[nic->host_port->port->index]++;
	}
	for (size_t i = 0; i < o->n_fabric_ports; i++) {
		const struct port_seen *port = &o->ports[i];
		if (!port->port->host || port->oper_up == 0)
			continue;
		size_t *left = &told[nics->first_of_host[i]];
		if (!*left)
			return false;
		(*left)--;
		any = true;
	}
	return any;
}

static double nic_cnps_rate(const struct amount *amount)
{
	if (amount->known)
		return amount_rate(amount);
	return 0;
}

void nic_cnps_of(const struct analyzer_in *in, const struct nics *nics, struct nic_cnps *ret)
{
	*ret = (struct nic_cnps){.missing_ratio = NAN};
	if (!nics->n)
		return;
	double sent = 0, answered = 0;
	nic_cnps_median(nics, ret, in->arena);
	const struct port_seen *last = NULL;
	for (size_t i = 0; i < nics->n; i++) {
		const struct nic_seen *nic = &nics->v[i];
		if (!nic->host_port || nic->folded)
			continue;
		ret->n++;
		ret->sent_known += nic->cnp_sent.known;
		ret->handled_known += nic->cnp_handled.known;
		ret->ignored_known += nic->cnp_ignored.known;
		ret->handlers += nic->cnp_handled.value > 0;
		ret->sent += nic->cnp_sent.value;
		ret->handled += nic->cnp_handled.value;
		ret->ignored += nic->cnp_ignored.value;
		ret->received_known += nic->cnp_received.known;
		ret->received += nic->cnp_received.value;
		ret->ce += nic->ce_received.value;
		ret->sent_alive |= nic->cnp_sent.alive;
		ret->handled_alive |= nic->cnp_handled.alive;
		ret->ignored_alive |= nic->cnp_ignored.alive;
		sent += nic_cnps_rate(&nic->cnp_sent);
		answered += fmax(nic_cnps_rate(&nic->cnp_received),
			nic_cnps_rate(&nic->cnp_handled) + nic_cnps_rate(&nic->cnp_ignored));
		if (nic_is_silent(ret, nic) && nic->host_port != last) {
			ret->silent_hosts++;
			last = nic->host_port;
		}
	}
	ret->complete = nic_cnps_complete(in, nics);
	if (ret->complete && ret->sent >= SENT_MIN)
		ret->missing_ratio = fmax(0, 1 - answered / sent);
}

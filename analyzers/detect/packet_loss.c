/*
 * packet_loss - packets of RoCEv2 are lost, as captures prove it: where, of which queue pairs, and
 * by which sign. It needs no counter of a switch.
 *
 * A capture says of each loss on which side of it the packet went missing (struct flow_sample,
 * .lost). Where a second capture sees the same stream, the loss lies between the two: before one,
 * and the other one missed next to nothing of it. The nearest of those is taken: the other end of
 * the link, else a port of the same two switches, else any. The subject is the first port that
 * misses the packets, or, where no capture misses any, the last one that they passed.
 *
 * Limits, all of them in the table of options below. A healthy link with forward error correction
 * loses less than one packet of 4 KB in 3e7 (a bit error rate of 1e-12 after correction, IEEE
 * 802.3, clause 119), so on four links less than 1.3e-7 of them: .share is about a hundred times
 * that. In go-back-N a loss costs what is in flight, some 120 packets at 400 Gbit/s and 10 us: at
 * .share a queue pair loses 0.1 % of its rate, at .critical a tenth. A handful of losses (below
 * .losses) says nothing of a share, whatever was captured.
 *
 * RNR NAKs are no loss on the way: the receiver had no buffer posted. They are told beside. Where
 * every lossless class is declared to lose (MRC, UET with lossless: none), nothing is reported.
 */
#include <arpa/inet.h>

#include "analyzers/analyzer.h"
#include "analyzers/finding_build.h"
#include "analyzers/measure/congestion_measure.h"
#include "analyzers/measure/observe.h"
#include "config/class_policy.h"
#include "db/model/entity.h"
#include "db/model/flow.h"

#define CLEAN_PART 0.1 /* of the losses at one place: a place with fewer lies before them */
#define SEEN_PART 0.9 /* of the data at one place: a place with less does not see the stream */
enum { FLOWS_NAMED = 16, HOSTS_SEEN = 32, UPSTREAM_MAX = 8 };

struct packet_loss_options {
	int64_t losses, window_ns, hold;
	double share, critical;
};

static const struct option rows[] = {
	{"losses", OPT_INT, offsetof(struct packet_loss_options, losses), "10", "1", "1000000000",
		NULL, "losses at one place in a window, below which nothing is said"},
	{"share", OPT_RATIO, offsetof(struct packet_loss_options, share), "0.001%", "0.00001%",
		"100%", NULL,
		"lost packets, of all that the queue pairs which lost some sent past the capture, "
		"from which loss is reported"},
	{"critical", OPT_RATIO, offsetof(struct packet_loss_options, critical), "0.1%", "0.00001%",
		"100%", NULL, "the same share, from which it is critical"},
	{"window", OPT_DURATION, offsetof(struct packet_loss_options, window_ns), "30s", "1s", "1h",
		NULL, "evaluation window; captures are counted by their own interval"},
	{"hold", OPT_INT, offsetof(struct packet_loss_options, hold), "2", "1", "10000", NULL,
		"windows above the threshold, of the last hold + 2, before an incident opens"},
};

/* One stream (a direction of a queue pair) at one captured port. */
struct loss_sight {
	struct flow_key key; /* without a source port */
	const struct port_seen *port;
	uint64_t lost[FLOW_LOSS_KINDS], missing, data;
	bool to_host, from_host; /* the port is the last one of its way, the first one */
};

struct loss_stream { /* that lost something */
	const struct loss_sight *at; /* the subject's */
	const struct loss_sight *before; /* the nearest place that it passed whole; NULL: none */
	double lost;
};

struct loss_upstream {
	const struct port_seen *port;
	double lost;
};

struct loss_spot { /* a port, and all that is lost there */
	const struct port_seen *port;
	struct loss_stream *streams;
	size_t n_streams;
	size_t n_seen; /* streams that this port saw */
	double kinds[FLOW_LOSS_KINDS], lost, data;
	const struct port_seen *upstream; /* of most of the losses; NULL: not known */
};

struct loss_sights {
	struct loss_sight *v;
	size_t n;
};

/* ---- what the captures saw ---------------------------------------------------- */

static int sight_stream_order(const struct loss_sight *left, const struct loss_sight *right)
{
	int order = (int)left->key.family - (int)right->key.family;
	if (order == 0)
		order = memcmp(left->key.src, right->key.src, sizeof(left->key.src));
	if (order == 0)
		order = memcmp(left->key.dst, right->key.dst, sizeof(left->key.dst));
	if (order == 0)
		order = (left->key.dst_qp > right->key.dst_qp) -
			(left->key.dst_qp < right->key.dst_qp);
	return order;
}

static int sight_order(const void *left, const void *right)
{
	const struct loss_sight *x = left, *y = right;
	const int order = sight_stream_order(x, y);
	if (order)
		return order;
	return (x->port > y->port) - (x->port < y->port);
}

/* Is the host behind @port at that end of the stream? */
static void sight_ends(const struct flow_sample *row, const uint8_t *host, struct loss_sight *sight)
{
	if (!sight->port->port->host)
		return;
	sight->from_host = row->dir == FLOW_DIR_IN;
	sight->to_host = row->dir == FLOW_DIR_OUT;
	if (row->dir != FLOW_DIR_UNKNOWN || !host)
		return;
	sight->from_host = memcmp(row->key.src, host, sizeof(row->key.src)) == 0;
	sight->to_host = memcmp(row->key.dst, host, sizeof(row->key.dst)) == 0;
}

static void sight_add(struct loss_sight *sight, const struct loss_sight *more)
{
	for (int kind = 0; kind < FLOW_LOSS_KINDS; kind++)
		sight->lost[kind] += more->lost[kind];
	sight->missing += more->missing;
	sight->data += more->data;
}

/* One for each stream and port, by stream. */
static struct loss_sights loss_sights_of(const struct analyzer_in *in, const struct observed *o)
{
	const struct window *window = in->window;
	struct loss_sights sights = {
		.v = arena_array(in->arena, struct loss_sight, window->n_flows + 1)};
	uint32_t entity = ENTITY_NONE;
	const uint8_t *host = NULL;
	for (size_t i = 0; i < window->n_flows; i++) {
		const struct flow_sample *row = &window->flows[i];
		if (row->total || row->host || !row->key.family || row->sampling > 1 ||
			row->entity > o->n_entities || !o->port_of[row->entity])
			continue;
		if (row->entity != entity) {
			entity = row->entity;
			host = packets_host_address(window, entity);
		}
		struct loss_sight *sight = &sights.v[sights.n++];
		*sight = (struct loss_sight){.key = row->key,
			.port = &o->ports[o->port_of[row->entity] - 1],
			.missing = row->missing,
			.data = row->data_packets ? row->data_packets : row->packets};
		sight->key.src_port = 0;
		memcpy(sight->lost, row->lost, sizeof(sight->lost));
		sight_ends(row, host, sight);
	}
	qsort(sights.v, sights.n, sizeof(*sights.v), sight_order);
	size_t n = 0;
	for (size_t i = 0; i < sights.n; i++) {
		if (n && sight_order(&sights.v[n - 1], &sights.v[i]) == 0)
			sight_add(&sights.v[n - 1], &sights.v[i]);
		else
			sights.v[n++] = sights.v[i];
	}
	sights.n = n;
	return sights;
}

/* ---- where one stream lost ----------------------------------------------------- */

static double sight_lost(const struct loss_sight *sight)
{
	double lost = fmax((double)sight->missing, (double)sight->lost[FLOW_LOST_BEFORE]);
	for (int kind = FLOW_LOST_BEYOND; kind < FLOW_LOST_RNR; kind++)
		lost += (double)sight->lost[kind];
	return lost;
}

/* Of two places that miss packets the earlier one on the way, of two that they passed the later
 * one. True: @sight rather than @best. */
static bool sight_is_nearer(
	const struct loss_sight *sight, const struct loss_sight *best, enum flow_loss kind)
{
	if (!best)
		return true;
	const bool worse = kind == FLOW_LOST_BEFORE ? sight->to_host : sight->from_host;
	const bool best_worse = kind == FLOW_LOST_BEFORE ? best->to_host : best->from_host;
	if (worse != best_worse)
		return best_worse;
	return sight->lost[kind] > best->lost[kind];
}

static const struct loss_sight *stream_place(
	const struct loss_sight *sights, size_t n, enum flow_loss kind)
{
	const struct loss_sight *best = NULL;
	for (size_t i = 0; i < n; i++)
		if (sights[i].lost[kind] && sight_is_nearer(&sights[i], best, kind))
			best = &sights[i];
	return best;
}

static bool port_leads_to(const struct port_seen *port, const struct fabric_device *device)
{
	const struct fabric_port *peer = port->port->peer;
	return port->port->device == device || (peer && peer->device == device);
}

/* How near two captured ports are: 3 ends of one link, 2 of one switch or at one link's switches,
 * 1 anything else. */
static int ports_near(const struct port_seen *left, const struct port_seen *right)
{
	if (left->port->peer == right->port)
		return 3;
	if (port_leads_to(left, right->port->device) || port_leads_to(right, left->port->device))
		return 2;
	return 1;
}

/* The nearest place that saw the stream and misses next to nothing of what @at misses. */
static const struct loss_sight *stream_upstream(
	const struct loss_sight *sights, size_t n, const struct loss_sight *at)
{
	const struct loss_sight *best = NULL;
	for (size_t i = 0; i < n; i++) {
		const struct loss_sight *sight = &sights[i];
		if (sight == at ||
			(double)sight->lost[FLOW_LOST_BEFORE] >
				CLEAN_PART * (double)at->lost[FLOW_LOST_BEFORE] ||
			(double)sight->data < SEEN_PART * (double)at->data)
			continue;
		if (!best || ports_near(sight->port, at->port) > ports_near(best->port, at->port))
			best = sight;
	}
	return best;
}

/* @sights: of one stream. False: it lost nothing. */
static bool stream_judge(const struct loss_sight *sights, size_t n, struct loss_stream *ret)
{
	const struct loss_sight *at = NULL;
	*ret = (struct loss_stream){0};
	for (int kind = 0; kind < FLOW_LOST_RNR && !at; kind++)
		at = stream_place(sights, n, (enum flow_loss)kind);
	if (!at)
		return false;
	ret->at = at;
	if (at->lost[FLOW_LOST_BEFORE])
		ret->before = stream_upstream(sights, n, at);
	for (size_t i = 0; i < n; i++)
		ret->lost = fmax(ret->lost, sight_lost(&sights[i]));
	return true;
}

/* ---- all that is lost at one port ------------------------------------------------ */

static int stream_order(const void *left, const void *right)
{
	const struct loss_stream *x = left, *y = right;
	if (x->at->port != y->at->port)
		return x->at->port < y->at->port ? -1 : 1;
	if (x->lost != y->lost)
		return x->lost > y->lost ? -1 : 1;
	return sight_stream_order(x->at, y->at);
}

static void spot_find_upstream(struct loss_spot *spot)
{
	struct loss_upstream found[UPSTREAM_MAX];
	size_t n = 0, best = 0;
	for (size_t i = 0; i < spot->n_streams; i++) {
		const struct loss_stream *stream = &spot->streams[i];
		if (!stream->before)
			continue;
		size_t k = 0;
		while (k < n && found[k].port != stream->before->port)
			k++;
		if (k == UPSTREAM_MAX)
			continue;
		if (k == n)
			found[n++] = (struct loss_upstream){.port = stream->before->port};
		found[k].lost += stream->lost;
		if (found[k].lost > found[best].lost)
			best = k;
	}
	/* it speaks for the place when it does for half of what is lost there */
	if (n && found[best].lost * 2 >= spot->lost)
		spot->upstream = found[best].port;
}

/* *@streams of @port come first; they are taken. */
static struct loss_spot spot_take(const struct port_seen *port, const struct loss_sights *sights,
	struct loss_stream **streams, size_t *n)
{
	struct loss_spot spot = {.port = port, .streams = *streams};
	while (spot.n_streams < *n && spot.streams[spot.n_streams].at->port == port) {
		const struct loss_stream *stream = &spot.streams[spot.n_streams++];
		for (int kind = 0; kind < FLOW_LOST_RNR; kind++)
			spot.kinds[kind] += (double)stream->at->lost[kind];
		spot.lost += stream->lost;
		spot.data += (double)stream->at->data;
	}
	*streams += spot.n_streams;
	*n -= spot.n_streams;
	for (size_t i = 0; i < sights->n; i++) {
		if (sights->v[i].port != port)
			continue;
		spot.n_seen++;
		spot.kinds[FLOW_LOST_RNR] += (double)sights->v[i].lost[FLOW_LOST_RNR];
	}
	spot_find_upstream(&spot);
	return spot;
}

/* ---- words --------------------------------------------------------------------- */

static const char *loss_address(struct arena *a, const struct flow_key *key, const uint8_t *bytes)
{
	char buf[INET6_ADDRSTRLEN] = "";
	inet_ntop(key->family == 4 ? AF_INET : AF_INET6, bytes, buf, sizeof(buf));
	return arena_strdup(a, buf);
}

/* "between spine2:Ethernet3 and leaf3:Ethernet49" */
static const char *spot_where(const struct loss_spot *spot, struct arena *a)
{
	const char *place = port_text(spot->port, a);
	if (spot->upstream && spot->upstream->port->device == spot->port->port->device)
		return arena_printf(a, "inside %s, from %s to %s", spot->port->port->device->name,
			spot->upstream->port->name, spot->port->port->name);
	if (spot->upstream)
		return arena_printf(a, "between %s and %s", port_text(spot->upstream, a), place);
	if (spot->kinds[FLOW_LOST_BEFORE] > spot->kinds[FLOW_LOST_BEYOND])
		return arena_printf(a, "before %s", place);
	if (spot->kinds[FLOW_LOST_BEYOND] > 0)
		return arena_printf(a, "beyond %s", place);
	return arena_printf(a, "near %s", place);
}

static const char *spot_sum(const struct loss_spot *spot, struct arena *a)
{
	const struct loss_stream *most = &spot->streams[0];
	const struct flow_key *key = &most->at->key;
	return arena_printf(a,
		"%.0f in %zu queue pair%s, %.2g %% of their packets, most from %s "
		"to QP 0x%06x of %s",
		spot->lost, spot->n_streams, spot->n_streams == 1 ? "" : "s",
		100 * spot->lost / (spot->data + spot->lost), loss_address(a, key, key->src),
		key->dst_qp, loss_address(a, key, key->dst));
}

static void spot_put_signs(struct draft *t, const struct loss_spot *spot)
{
	for (int kind = 0; kind < FLOW_LOSS_KINDS; kind++) {
		if (spot->kinds[kind] <= 0)
			continue;
		const char *word = flow_loss_word((enum flow_loss)kind);
		if (kind == FLOW_LOST_RNR)
			finding_ruled_out(t,
				"%s: %.0f times the receiver had no buffer posted, "
				"which is no loss on the way",
				word, spot->kinds[kind]);
		else
			finding_rests_on(t, "%s, %.0f times, by the sequence numbers at %s", word,
				spot->kinds[kind], port_text(spot->port, t->a));
	}
	if (spot->upstream)
		finding_rests_on(
			t, "the same queue pairs passed %s whole", port_text(spot->upstream, t->a));
	else
		finding_unproved(t, "where on that side: no second capture sees these queue pairs");
	finding_rests_on(t, "%zu of the %zu queue pairs named at %s lost nothing",
		spot->n_seen - spot->n_streams, spot->n_seen, port_text(spot->port, t->a));
}

/* Drops that a switch counts itself. False: none of its counters came. */
static bool spot_put_drops(struct draft *t, const struct port_seen *port, double *moved)
{
	const struct {
		const char *metric;
		const struct amount *amount;
	} amounts[] = {{"port.in_discards", &port->in_discards},
		{"port.out_discards", &port->out_discards}, {"port.in_errors", &port->in_errors},
		{"port.fcs_errors", &port->fcs_errors}};
	bool known = false;
	for (size_t i = 0; i < rw_countof(amounts); i++) {
		if (!amounts[i].amount->known)
			continue;
		known = true;
		*moved += amounts[i].amount->value;
		finding_amount(t, amounts[i].metric, port, PRIO_NONE, amounts[i].amount, "frames");
	}
	for (int priority = 0; priority < OBSERVED_PRIORITIES; priority++) {
		const struct port_prio *prio = port->prios[priority];
		if (!prio || !prio->lossless)
			continue;
		if (prio->drops.known && prio->drops.value > 0)
			finding_amount(t, "queue.drops", port, priority, &prio->drops, "packets");
		if (prio->pg_drops.known && prio->pg_drops.value > 0)
			finding_amount(t, "pg.drops", port, priority, &prio->pg_drops, "frames");
	}
	return known;
}

static void spot_put_counters(
	struct draft *t, const struct observed *o, const struct loss_spot *spot)
{
	const struct port_seen *ends[2] = {spot->port, spot->upstream};
	double moved = 0;
	bool known = false;
	if (!ends[1])
		ends[1] = observed_peer(o, spot->port);
	for (size_t i = 0; i < rw_countof(ends); i++)
		if (ends[i])
			known |= spot_put_drops(t, ends[i], &moved);
	if (!known)
		finding_unproved(t, "what drops them: no counter of these ports was delivered");
	else if (moved <= 0)
		finding_unproved(t, "what drops them: no drop or error counter there moved");
	else
		finding_rests_on(t, "the ports' own counters of drops and errors moved, too");
}

static void spot_put_flows(struct draft *t, const struct loss_spot *spot)
{
	size_t n = spot->n_streams;
	if (n > FLOWS_NAMED)
		n = FLOWS_NAMED;
	t->f->flows = arena_array(t->a, struct finding_flow, n);
	t->f->n_flows = n;
	for (size_t i = 0; i < n; i++) {
		const struct loss_sight *at = spot->streams[i].at;
		struct finding_flow *flow = &t->f->flows[i];
		*flow = (struct finding_flow){.dst_qp = at->key.dst_qp,
			.device = spot->port->port->device->name,
			.port = spot->port->port->name,
			.packets = at->data};
		snprintf(flow->src, sizeof(flow->src), "%s",
			loss_address(t->a, &at->key, at->key.src));
		snprintf(flow->dst, sizeof(flow->dst), "%s",
			loss_address(t->a, &at->key, at->key.dst));
	}
}

/* The hosts whose queue pairs lost most, both ends of them. */
static void spot_put_hosts(struct draft *t, const struct loss_spot *spot)
{
	const char *named[HOSTS_SEEN];
	size_t n = 0;
	for (size_t i = 0; i < spot->n_streams; i++)
		for (int end = 0; end < 2 && n < HOSTS_SEEN; end++) {
			const struct flow_key *key = &spot->streams[i].at->key;
			const char *host = loss_address(t->a, key, end ? key->dst : key->src);
			size_t k = 0;
			while (k < n && strcmp(named[k], host) != 0)
				k++;
			if (k < n)
				continue;
			named[n++] = host;
			finding_add_role(t, "direct_victim", "%s", host);
		}
}

/* ---- the findings ----------------------------------------------------------------- */

static struct draft loss_draft(const struct analyzer_in *in, const struct port_seen *port,
	enum finding_verdict verdict, struct finding_list *out)
{
	const struct packet_loss_options *opt = in->options;
	struct draft t = finding_new(out, in, "packet_loss", verdict, opt->hold);
	finding_subject(&t, port);
	t.f->cause = CAUSE_PACKET_LOSS;
	t.f->severity = SEV_WARNING;
	t.f->warn = opt->share;
	t.f->summary = "";
	return t;
}

static void spot_report(const struct analyzer_in *in, const struct observed *o,
	const struct loss_spot *spot, struct finding_list *out)
{
	const struct packet_loss_options *opt = in->options;
	struct draft t = loss_draft(in, spot->port, FINDING_OVER, out);
	t.f->value = spot->lost / (spot->data + spot->lost);
	if (t.f->value >= opt->critical)
		t.f->severity = SEV_CRITICAL;
	t.f->confidence_ratio = 0.85;
	if (spot->upstream)
		t.f->confidence_ratio = 0.95;
	t.f->summary = arena_printf(
		t.a, "packets lost %s: %s", spot_where(spot, t.a), spot_sum(spot, t.a));
	finding_evidence(
		&t, "packets.lost", spot->port, PRIO_NONE, spot->lost, "packets", QUALITY_EXACT);
	finding_evidence(&t, "packets.lost_ratio", spot->port, PRIO_NONE, t.f->value, "ratio",
		QUALITY_EXACT);
	spot_put_signs(&t, spot);
	spot_put_counters(&t, o, spot);
	spot_put_flows(&t, spot);
	if (spot->upstream)
		finding_add_role(&t, "culprit", "%s", port_text(spot->upstream, t.a));
	spot_put_hosts(&t, spot);
	finding_steps(&t, CAUSE_PACKET_LOSS, 0);
}

/* What a capture of every packet at @port says of loss in this window. */
enum loss_seen { LOSS_SEEN_NOTHING, LOSS_SEEN_BLIND, LOSS_SEEN_DATA };

static enum loss_seen loss_seen_at(const struct window *window, const struct port_seen *port)
{
	enum loss_seen seen = LOSS_SEEN_NOTHING;
	for (size_t i = packets_first_row(window, port->entity);
		i < window->n_flows && window->flows[i].entity == port->entity; i++) {
		const struct flow_sample *row = &window->flows[i];
		if (!row->total || row->sampling > 1)
			continue;
		if (row->data_packets && !row->capture_lost)
			return LOSS_SEEN_DATA;
		if (row->capture_lost)
			seen = LOSS_SEEN_BLIND;
	}
	return seen;
}

static void loss_judge_port(const struct analyzer_in *in, const struct observed *o,
	const struct port_seen *port, const struct loss_spot *spot, struct finding_list *out)
{
	const struct packet_loss_options *opt = in->options;
	const enum loss_seen seen = loss_seen_at(in->window, port);
	if (spot->lost >= (double)opt->losses &&
		spot->lost >= opt->share * (spot->data + spot->lost)) {
		spot_report(in, o, spot, out);
		return;
	}
	if (seen == LOSS_SEEN_NOTHING)
		return;
	if (seen == LOSS_SEEN_DATA &&
		finding_is_clear(out, in, "packet_loss", port->port->device->name, 1))
		return;
	struct draft t = loss_draft(in, port, finding_verdict(false, seen == LOSS_SEEN_DATA), out);
	t.f->value = spot->lost / fmax(1, spot->data + spot->lost);
}

static bool loss_is_meant(const struct fabric *fabric)
{
	for (int priority = 0; priority < OBSERVED_PRIORITIES; priority++)
		if (fabric->lossless_mask >> priority & 1 &&
			!(class_lossless(fabric, priority) == LOSSLESS_NONE &&
				class_policy_of(class_congestion(fabric, priority))->reorders))
			return false;
	return true;
}

static int packet_loss_run(const struct analyzer_in *in, struct finding_list *out)
{
	if (!in->window->n_flows || loss_is_meant(in->fabric))
		return 0;
	const struct observed *o = observe(in);
	const struct loss_sights sights = loss_sights_of(in, o);
	struct loss_stream *streams = arena_array(in->arena, struct loss_stream, sights.n + 1);
	size_t n = 0;
	for (size_t i = 0, next; i < sights.n; i = next) {
		for (next = i + 1; next < sights.n; next++)
			if (sight_stream_order(&sights.v[i], &sights.v[next]))
				break;
		n += stream_judge(&sights.v[i], next - i, &streams[n]);
	}
	qsort(streams, n, sizeof(*streams), stream_order);
	for (size_t i = 0; i < o->n_ports; i++) {
		const struct port_seen *port = &o->ports[i];
		if (port->entity == ENTITY_NONE)
			continue;
		const struct loss_spot spot = spot_take(port, &sights, &streams, &n);
		loss_judge_port(in, o, port, &spot, out);
	}
	return 0;
}

const struct analyzer analyzer_packet_loss = {
	.name = "packet_loss",
	.phase = 105,
	.doc = "packets that captures prove to be lost: where, and of which queue pairs",
	.options = {"analyzers", "packet_loss", sizeof(struct packet_loss_options), rows,
		rw_countof(rows), "loss that captured packets prove"},
	.window_offset = offsetof(struct packet_loss_options, window_ns),
	.spec = {.flows = true},
	.observes = true,
	.run = packet_loss_run,
};

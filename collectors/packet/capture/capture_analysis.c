/*
 * capture_analysis - hands each frame to what keeps it.
 *
 * A RoCEv2 packet is taken some packets after it came. In between, step by step, memory is asked
 * for: the slot of its flow in the index, the flow, its stream and what its clock has beside it.
 * Each step's memory comes while others are decoded and taken.
 */
#include "collectors/packet/capture/capture_analysis.h"

/* So many packets lie between two steps; longer than memory takes. Few wait at a time: what was
 * asked for them fits into the smallest cache. */
enum {
	ANALYSIS_STEP = 3,
	ANALYSIS_STEPS = 4,
	ANALYSIS_DEPTH = ANALYSIS_STEP * (ANALYSIS_STEPS + 1),
	ANALYSIS_WAITING = 16 /* a power of two above that */
};

/* The first packets of a capture are looked at together, before any is taken: does everything come
 * twice? More than are on their way between two mirrors: 12 million packets a second, and 1 ms.
 * 4 MiB, given back once they are taken. */
enum { ANALYSIS_LOOKED_AT = 16384 };

/* Not options.seed: the same capture gives the same answer in each run. Who aims at a line pushes
 * some packets out of it, and their copies count as packets; no line takes longer than another. */
#define COPIES_SEED 0x2545F4914F6CDD1Dull

/* ---- life ------------------------------------------------------------------ */

static void analysis_drop_stream(void *arg, struct flow_stream *stream)
{
	const struct capture_analysis *analysis = arg;
	capture_clock_drop(analysis->clock, &stream->clock);
}

static void analysis_drop_host(void *arg, uint32_t host)
{
	const struct capture_analysis *analysis = arg;
	capture_clock_forget(analysis->clock, host);
}

void capture_analysis_init(
	struct capture_analysis *analysis, const struct analysis_options *options)
{
	*analysis = (struct capture_analysis){0};
	analysis->flows = flow_table_new(options->flow_limit, options->sampling, options->seed);
	analysis->clock = capture_clock_new(options->bin_ns, options->speed_bps);
	flow_table_on_drop(analysis->flows,
		&(struct flow_drops){.stream = analysis_drop_stream,
			.host = analysis_drop_host,
			.arg = analysis});
	analysis->waiting = rw_calloc(ANALYSIS_WAITING, sizeof(*analysis->waiting));
	if (options->sampling > 1)
		return; /* a copy of what was picked is picked once in a while: no telling */
	analysis->copies = copies_new(COPIES_SEED);
	analysis->first = rw_calloc(ANALYSIS_LOOKED_AT, sizeof(*analysis->first));
}

void capture_analysis_end(struct capture_analysis *analysis)
{
	flow_table_free(analysis->flows);
	copies_free(analysis->copies);
	capture_clock_free(analysis->clock);
	free(analysis->waiting);
	free(analysis->first);
	analysis->flows = NULL;
	analysis->copies = NULL;
	analysis->clock = NULL;
	analysis->waiting = analysis->first = NULL;
}

/* ---- taking packets -------------------------------------------------------- */

/* What the time of the packet says. */
static void analysis_clock(struct capture_analysis *analysis, const struct flow_hit *hit,
	const struct roce_packet *packet, int64_t t_ns)
{
	struct stream_clock *about = NULL;
	if (hit->about)
		about = &hit->about->clock;
	const bool data = hit->role != ROLE_ACK && hit->role != ROLE_NONE;
	if (data && hit->stream)
		capture_clock_data(analysis->clock, &hit->stream->clock, hit->qp->src, hit->qp->dst,
			packet, t_ns);
	if (roce_is_cnp(packet))
		capture_clock_cnp(analysis->clock, about, hit->qp->src, hit->qp->dst, t_ns);
	else if (hit->role == ROLE_ACK || packet->has_aeth)
		capture_clock_answer(analysis->clock, about, hit->qp->src, packet, t_ns);
}

static bool analysis_looks(
	const struct capture_analysis *analysis, const struct roce_packet *packet)
{
	return analysis->copies && !packet->sampled;
}

static void analysis_take(struct capture_analysis *analysis, struct analysis_waiting *waiting)
{
	struct flow_hit hit;
	const struct roce_packet *packet = &waiting->packet;
	if (waiting->same)
		waiting->fetch.probably = analysis->last_id;
	analysis->last_id = FLOW_NONE;
	if (analysis_looks(analysis, packet) && copies_judge(analysis->copies, &waiting->look)) {
		roce_count_copy(&analysis->count, packet, waiting->t_ns);
		encapsulation_count_mirror(&analysis->encapsulation, packet);
		flow_table_copy(analysis->flows, packet, &waiting->aim, waiting->t_ns,
			!copies_count(analysis->copies)->systematic);
		return;
	}
	roce_count_add(&analysis->count, packet, waiting->t_ns);
	if (encapsulation_counts(packet))
		encapsulation_count_add(&analysis->encapsulation, packet);
	flow_table_add_aimed(analysis->flows, packet, &waiting->aim, waiting->fetch.probably,
		waiting->t_ns, &hit);
	analysis->last_id = hit.id;
	if (!hit.qp)
		return;
	if (hit.qp->dir != waiting->origin.direction)
		hit.qp->dir = waiting->origin.direction & 3;
	if (!packet->sampled)
		analysis_clock(analysis, &hit, packet, waiting->t_ns);
}

/* ---- packets that wait --------------------------------------------------------------- */

static struct analysis_waiting *analysis_at(
	const struct capture_analysis *analysis, uint32_t number)
{
	return &analysis->waiting[number % ANALYSIS_WAITING];
}

struct roce_packet *capture_analysis_room(struct capture_analysis *analysis)
{
	return &analysis_at(analysis, analysis->next)->packet;
}

/* The first step. What a packet needs that is of the same direction as the one before it was asked
 * for. */
static void analysis_find(struct capture_analysis *analysis, uint32_t number)
{
	struct analysis_waiting *waiting = analysis_at(analysis, number);
	const struct analysis_waiting *before = analysis_at(analysis, number - 1);
	const struct flow_aim *aim = &waiting->aim;
	waiting->fetch = (struct flow_fetch){.probably = FLOW_NONE};
	flow_table_aim(analysis->flows, &waiting->packet, &waiting->aim);
	waiting->same = number != analysis->oldest &&
		before->packet.dst_qp == waiting->packet.dst_qp && before->aim.src == aim->src &&
		before->aim.dst == aim->dst && aim->src != FLOW_NONE && aim->dst != FLOW_NONE;
	if (analysis_looks(analysis, &waiting->packet))
		copies_look(analysis->copies, &waiting->packet, &waiting->origin, waiting->t_ns,
			&waiting->look);
}

/* The other steps; the fetches of the flow table and of the clock say what each asks for. */
static inline void analysis_step(
	const struct capture_analysis *analysis, unsigned step, struct analysis_waiting *waiting)
{
	const struct flow_table *flows = analysis->flows;
	struct flow_fetch *fetch = &waiting->fetch;
	if (waiting->same)
		return;
	if (step == 1)
		fetch->probably = flow_table_fetch_qp(flows, &waiting->aim);
	else if (step == 2)
		flow_table_fetch_stream(flows, &waiting->packet, &waiting->aim, fetch);
	else if (step == 3 && fetch->stream)
		capture_clock_fetch(analysis->clock, &fetch->stream->clock);
	else if (step == 3)
		flow_table_fetch_pair(flows, fetch);
	else if (fetch->stream)
		capture_clock_fetch_reaction(analysis->clock, &fetch->stream->clock);
	else
		flow_table_fetch_peer(flows, fetch);
}

/* analysis_drain - takes the packets that wait. */
static void analysis_drain(struct capture_analysis *analysis)
{
	while (analysis->oldest != analysis->next)
		analysis_take(analysis, analysis_at(analysis, analysis->oldest++));
}

static void analysis_wait(struct capture_analysis *analysis, const struct roce_packet *packet,
	const struct packet_origin *origin, int64_t t_ns)
{
	const uint32_t number = analysis->next++;
	struct analysis_waiting *waiting = analysis_at(analysis, number);
	if (packet != &waiting->packet)
		waiting->packet = *packet;
	waiting->origin = (struct packet_origin){0};
	if (origin)
		waiting->origin = *origin;
	waiting->t_ns = t_ns;
	analysis_find(analysis, number);
	const uint32_t n = number - analysis->oldest;
	for (uint32_t step = 1; step <= ANALYSIS_STEPS && step * ANALYSIS_STEP <= n; step++)
		analysis_step(analysis, step, analysis_at(analysis, number - step * ANALYSIS_STEP));
	if (n == ANALYSIS_DEPTH)
		analysis_take(analysis, analysis_at(analysis, analysis->oldest++));
}

static void analysis_frame(struct capture_analysis *analysis, const struct roce_packet *packet,
	const struct packet_origin *origin, int64_t t_ns)
{
	if (packet->kind == PACKET_ROCE) {
		analysis_wait(analysis, packet, origin, t_ns);
		return;
	}
	roce_count_add(&analysis->count, packet, t_ns);
	if (encapsulation_counts(packet))
		encapsulation_count_add(&analysis->encapsulation, packet);
	if (packet->kind == PACKET_PFC || packet->kind == PACKET_PAUSE) {
		/* what came before it was not paused by it */
		analysis_drain(analysis);
		capture_clock_pause(analysis->clock, packet, t_ns);
	} else if (packet->kind == PACKET_ROCEV1) {
		flow_table_add(analysis->flows, packet, t_ns, NULL);
	}
}

/* ---- the first packets ------------------------------------------------------ */

/* analysis_first - the first packets have been seen: take them. */
static void analysis_first(struct capture_analysis *analysis)
{
	struct analysis_waiting *first = analysis->first;
	if (!first)
		return;
	analysis->first = NULL;
	copies_learned(analysis->copies);
	for (uint32_t i = 0; i < analysis->n_first; i++)
		analysis_frame(analysis, &first[i].packet, &first[i].origin, first[i].t_ns);
	free(first);
}

static void analysis_look(struct capture_analysis *analysis, const struct roce_packet *packet,
	const struct packet_origin *origin, int64_t t_ns)
{
	struct analysis_waiting *first = &analysis->first[analysis->n_first++];
	first->packet = *packet;
	first->t_ns = t_ns;
	if (origin)
		first->origin = *origin;
	if (packet->kind == PACKET_ROCE && !packet->sampled)
		copies_learn(analysis->copies, packet, &first->origin, t_ns);
	if (analysis->n_first == ANALYSIS_LOOKED_AT)
		analysis_first(analysis);
}

void capture_analysis_packet(struct capture_analysis *analysis, const struct roce_packet *packet,
	const struct packet_origin *origin, int64_t t_ns)
{
	/* frames of other kinds may point into memory that does not stay */
	const bool keeps = packet->kind == PACKET_ROCE || packet->kind == PACKET_PFC ||
		packet->kind == PACKET_PAUSE;
	if (analysis->first && keeps)
		analysis_look(analysis, packet, origin, t_ns);
	else
		analysis_frame(analysis, packet, origin, t_ns);
}

void capture_analysis_flush(struct capture_analysis *analysis)
{
	analysis_first(analysis);
	analysis_drain(analysis);
}

void capture_analysis_next(struct capture_analysis *analysis)
{
	capture_analysis_flush(analysis);
	analysis->told.data_packets = analysis->count.data_packets;
	analysis->told.data_not_ect = analysis->count.data_not_ect;
	capture_clock_next(analysis->clock);
	flow_table_next(analysis->flows);
	if (analysis->copies)
		copies_next(analysis->copies);
}

/* ---- hosts --------------------------------------------------------------------- */

/* How much the packets say of a host: marks and notifications. */
static uint64_t host_weight(const struct clock_host *host)
{
	return host->reaction.cnp + host->answer.ce + host->answer.cnp + host->ce_sent;
}

static int host_order(const void *left, const void *right)
{
	const struct clock_host *x = *(const struct clock_host *const *)left;
	const struct clock_host *y = *(const struct clock_host *const *)right;
	const uint64_t more = host_weight(x), less = host_weight(y);
	if (more != less)
		return more > less ? -1 : 1;
	return (x->host > y->host) - (x->host < y->host);
}

/* Rates before and after say nothing where the capture itself lost packets; counts are what they
 * are. */
static void host_forget_rates(struct flow_sample *row)
{
	row->reaction = (struct reaction_sum){
		.cnp = row->reaction.cnp, .unattributed = row->reaction.unattributed};
}

static void host_row(const struct flow_host *address, const struct clock_host *host,
	const struct flow_rows_of *of, uint32_t sampling, struct flow_sample *ret)
{
	*ret = (struct flow_sample){.from_ns = of->from_ns,
		.to_ns = of->to_ns,
		.entity = of->entity,
		.dir = (uint8_t)of->dir,
		.sampling = sampling,
		.host = true,
		.key = {.family = (uint8_t)address->family},
		.ce = host->ce_sent,
		.reaction = host->reaction,
		.answer = host->answer};
	memcpy(ret->key.src, address->address, sizeof(ret->key.src));
	if (of->capture_lost)
		host_forget_rates(ret);
}

/* The rows of queue pairs that slow down, or do not, say so. After capture_clock_hosts(). */
static void flow_rows_react(
	const struct capture_analysis *analysis, struct flow_sample *rows, size_t n)
{
	const struct flow_table *flows = analysis->flows;
	for (uint32_t i = 0; i < flow_table_stream_end(flows); i++) {
		const struct flow_stream *stream = flow_table_stream(flows, i);
		struct clock_qp_reaction reaction;
		struct flow flow;
		if (stream->qp == FLOW_NONE ||
			!capture_clock_reaction(analysis->clock, &stream->clock, &reaction))
			continue;
		const enum reaction_verdict verdict =
			qp_reaction_judge(&reaction, rows[0].sampling, 0, NULL);
		if (verdict == REACTION_TOO_FEW)
			continue;
		flow_table_row(flows, stream->qp, &flow);
		for (size_t k = 1; k < n; k++)
			if (rows[k].key.dst_qp == flow.key.dst_qp && !rows[k].host &&
				memcmp(rows[k].key.src, flow.key.src, sizeof(flow.key.src)) == 0 &&
				memcmp(rows[k].key.dst, flow.key.dst, sizeof(flow.key.dst)) == 0)
				rows[k].reacts = verdict;
	}
}

static size_t host_rows(struct capture_analysis *analysis, const struct flow_rows_of *of,
	uint32_t sampling, struct flow_sample ret[FLOW_HOSTS])
{
	size_t n_hosts, n = 0, kept = 0;
	const struct clock_host *hosts = capture_clock_hosts(analysis->clock, &n_hosts);
	rw_cleanup(freep) const struct clock_host **order = rw_calloc(n_hosts + 1, sizeof(*order));
	for (size_t i = 0; i < n_hosts; i++)
		if (hosts[i].host != CLOCK_NO_HOST && host_weight(&hosts[i]))
			order[n++] = &hosts[i];
	qsort(order, n, sizeof(*order), host_order);
	for (size_t i = 0; i < n && kept < FLOW_HOSTS; i++) {
		const struct flow_host *address = flow_table_host(analysis->flows, order[i]->host);
		if (address && address->family)
			host_row(address, order[i], of, sampling, &ret[kept++]);
	}
	return kept;
}

/* ---- all rows -------------------------------------------------------------------- */

size_t flow_rows(struct capture_analysis *analysis, const struct flow_rows_of *of,
	struct flow_sample ret[FLOW_ROWS_MAX])
{
	capture_analysis_flush(analysis);
	const size_t n = flow_table_samples(analysis->flows, of->from_ns, of->to_ns, of->entity,
		of->dir, of->capture_lost == 0, ret);
	const struct roce_count *count = &analysis->count;
	const uint64_t data = count->data_packets - analysis->told.data_packets;
	const uint64_t not_ect = count->data_not_ect - analysis->told.data_not_ect;
	ret[0].data_packets = data;
	ret[0].data_ect = data - not_ect;
	ret[0].capture_lost = of->capture_lost;
	if (analysis->copies)
		ret[0].copies = copies_count(analysis->copies)->packets;
	const size_t n_hosts = host_rows(analysis, of, ret[0].sampling, &ret[n]);
	if (of->capture_lost == 0)
		flow_rows_react(analysis, ret, n);
	return n + n_hosts;
}

/*
 * capture_analysis - hands each frame to what keeps it.
 *
 * A RoCEv2 packet passes through a ring on its way: the slot of its flow in the index, the flow,
 * its stream and what its clock has beside it are fetched into the cache in steps, some packets
 * apart, each when what it needs to know has arrived.
 */
#include "collectors/packet/capture_analysis.h"

#include "agent/base/cleanup.h"

/* Not options.seed: the same capture gives the same answer in each run. Who aims at a line pushes
 * some packets out of it, and their copies count as packets; no line takes longer than another. */
#define COPIES_SEED 0x2545F4914F6CDD1Dull

/* How many packets wait before the second step and those after it. */
enum {
	FETCH_QP_AFTER = 4,
	FETCH_STREAM_AFTER = 8,
	FETCH_CLOCK_AFTER = 11,
	FETCH_REACTION_AFTER = 14
};

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
	analysis->waiting = rw_calloc(ANALYSIS_RING, sizeof(*analysis->waiting));
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

static void analysis_take(struct capture_analysis *analysis, const struct analysis_waiting *waiting)
{
	struct flow_hit hit;
	if (waiting->copy) {
		flow_table_copy(analysis->flows, &waiting->packet, waiting->hash, waiting->t_ns,
			!copies_count(analysis->copies)->systematic);
		return;
	}
	flow_table_add_hashed(analysis->flows, &waiting->packet, waiting->hash, waiting->probably,
		waiting->t_ns, &hit);
	if (!hit.qp)
		return;
	hit.qp->dir = waiting->origin.direction & 3;
	if (!waiting->packet.sampled)
		analysis_clock(analysis, &hit, &waiting->packet, waiting->t_ns);
}

static void analysis_take_first(struct capture_analysis *analysis)
{
	const uint32_t at = analysis->first_waiting;
	analysis->first_waiting = (at + 1) % ANALYSIS_RING;
	analysis->n_waiting--;
	analysis_take(analysis, &analysis->waiting[at]);
}

static void analysis_drain(struct capture_analysis *analysis)
{
	while (analysis->n_waiting)
		analysis_take_first(analysis);
}

/* ---- the ring -------------------------------------------------------------- */

/* The packet that came @ago packets before the newest. */
static struct analysis_waiting *analysis_before(struct capture_analysis *analysis, uint32_t ago)
{
	const uint32_t newest = analysis->first_waiting + analysis->n_waiting - 1;
	return &analysis->waiting[(newest - ago) % ANALYSIS_RING];
}

/* The ring has more places than packets wait in it: this one is free. */
static struct analysis_waiting *analysis_room(struct capture_analysis *analysis)
{
	return &analysis->waiting[(analysis->first_waiting + analysis->n_waiting) % ANALYSIS_RING];
}

struct roce_packet *capture_analysis_room(struct capture_analysis *analysis)
{
	return &analysis_room(analysis)->packet;
}

/* The stream that was asked for by the packet that came @ago packets before the newest. */
static const struct stream_clock *analysis_fetched(struct capture_analysis *analysis, uint32_t ago)
{
	if (analysis->n_waiting <= ago)
		return NULL;
	const struct flow_stream *stream = analysis_before(analysis, ago)->fetched;
	if (!stream)
		return NULL;
	return &stream->clock;
}

/* The next step for the newest packet and for those that came before. */
static void analysis_fetch(struct capture_analysis *analysis)
{
	struct analysis_waiting *waiting = analysis_before(analysis, 0);
	flow_table_fetch_slot(analysis->flows, waiting->hash);
	if (analysis->n_waiting > FETCH_QP_AFTER) {
		waiting = analysis_before(analysis, FETCH_QP_AFTER);
		waiting->probably = flow_table_fetch_qp(analysis->flows, waiting->hash);
	}
	if (analysis->n_waiting > FETCH_STREAM_AFTER) {
		waiting = analysis_before(analysis, FETCH_STREAM_AFTER);
		waiting->fetched = flow_table_fetch_stream(analysis->flows, waiting->probably);
	}
	const struct stream_clock *stream = analysis_fetched(analysis, FETCH_CLOCK_AFTER);
	if (stream)
		capture_clock_fetch(analysis->clock, stream);
	stream = analysis_fetched(analysis, FETCH_REACTION_AFTER);
	if (stream)
		capture_clock_fetch_reaction(analysis->clock, stream);
}

static void analysis_wait(struct capture_analysis *analysis, const struct roce_packet *packet,
	const struct packet_origin *origin, int64_t t_ns, bool copy)
{
	struct analysis_waiting *waiting = analysis_room(analysis);
	if (analysis->n_waiting == ANALYSIS_WAITING)
		analysis_take_first(analysis);
	analysis->n_waiting++;
	if (packet != &waiting->packet)
		waiting->packet = *packet;
	waiting->origin = (struct packet_origin){0};
	if (origin)
		waiting->origin = *origin;
	waiting->t_ns = t_ns;
	waiting->copy = copy;
	waiting->hash = flow_table_hash(analysis->flows, packet);
	waiting->probably = FLOW_NONE;
	waiting->fetched = NULL;
	analysis_fetch(analysis);
}

static bool analysis_is_copy(struct capture_analysis *analysis, const struct roce_packet *packet,
	const struct packet_origin *origin, int64_t t_ns)
{
	return analysis->copies && !packet->sampled &&
		copies_take(analysis->copies, packet, origin, t_ns);
}

static void analysis_frame(struct capture_analysis *analysis, const struct roce_packet *packet,
	const struct packet_origin *origin, int64_t t_ns)
{
	const bool roce = packet->kind == PACKET_ROCE;
	if (roce && analysis_is_copy(analysis, packet, origin, t_ns)) {
		roce_count_copy(&analysis->count, packet, t_ns);
		encapsulation_count_mirror(&analysis->encapsulation, packet);
		analysis_wait(analysis, packet, origin, t_ns, true);
		return;
	}
	roce_count_add(&analysis->count, packet, t_ns);
	if (encapsulation_counts(packet))
		encapsulation_count_add(&analysis->encapsulation, packet);
	if (roce) {
		analysis_wait(analysis, packet, origin, t_ns, false);
	} else if (packet->kind == PACKET_PFC || packet->kind == PACKET_PAUSE) {
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

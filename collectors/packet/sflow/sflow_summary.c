/* sflow_summary - bounded tables of what the samples of sFlow datagrams say. */
#include "collectors/packet/sflow/sflow_summary.h"

#define CONFIDENCE 1.96 /* standard deviations that hold 95 % */
#define NONE_SEEN 3.0 /* without any, up to so many samples are likely: -ln(0.05) */

/* Rows found by a key; the hash is not known to who sends the datagrams. */
struct sflow_index {
	struct smap *map;
	size_t n, max;
};

struct sflow_key {
	uint8_t b[80];
	size_t n;
};

struct sflow_summary {
	uint64_t seed;
	struct sflow_sequence *sequence;
	struct sflow_totals totals;
	struct sflow_index by_source, by_flow, by_discard, by_reason, by_queue, by_standing;
	struct sflow_source *sources;
	struct sflow_flow *flows;
	struct sflow_discard *discards;
	struct sflow_reason *reasons;
	struct sflow_queue *queues;
	struct sflow_standing *standings;
	size_t cap_sources, cap_flows, cap_discards, cap_reasons, cap_queues, cap_standings;
};

/* ---- keys ----------------------------------------------------------------- */

static void sflow_key_add(struct sflow_key *key, const void *data, size_t n)
{
	memcpy(key->b + key->n, data, n);
	key->n += n;
}

static struct sflow_key sflow_key_begin(const struct sflow_summary *summary)
{
	struct sflow_key key = {.n = 0};
	sflow_key_add(&key, &summary->seed, sizeof(summary->seed));
	return key;
}

static void sflow_key_address(struct sflow_key *key, const struct sflow_address *address)
{
	sflow_key_add(key, &address->family, 1);
	sflow_key_add(key, address->bytes, sizeof(address->bytes));
}

static void sflow_key_number(struct sflow_key *key, uint32_t number)
{
	sflow_key_add(key, &number, sizeof(number));
}

static void sflow_key_pair(struct sflow_key *key, const struct sflow_pair *pair)
{
	sflow_key_add(key, &pair->family, 1);
	sflow_key_add(key, pair->src, sizeof(pair->src));
	sflow_key_add(key, pair->dst, sizeof(pair->dst));
	sflow_key_number(key, pair->dst_qp);
}

/* The row of a key. False when there is none and no room for one; *ret_new: it is to be filled in,
 * as the last one. */
static bool sflow_index_at(
	struct sflow_index *index, const struct sflow_key *key, size_t *ret_at, bool *ret_new)
{
	uint64_t at;
	*ret_new = false;
	if (smap_get(index->map, key->b, key->n, &at)) {
		*ret_at = (size_t)at;
		return true;
	}
	if (index->n >= index->max)
		return false;
	*ret_at = index->n++;
	*ret_new = true;
	smap_put(index->map, key->b, key->n, *ret_at);
	return true;
}

/* ---- life ------------------------------------------------------------------ */

struct sflow_summary *sflow_summary_new(uint64_t seed)
{
	struct sflow_summary *s = rw_calloc(1, sizeof(*s));
	s->seed = seed;
	s->sequence = sflow_sequence_new();
	s->by_source = (struct sflow_index){smap_new(), 0, SFLOW_SOURCES_MAX};
	s->by_flow = (struct sflow_index){smap_new(), 0, SFLOW_FLOWS_MAX};
	s->by_discard = (struct sflow_index){smap_new(), 0, SFLOW_DISCARDS_MAX};
	s->by_reason = (struct sflow_index){smap_new(), 0, SFLOW_REASONS_MAX};
	s->by_queue = (struct sflow_index){smap_new(), 0, SFLOW_QUEUES_MAX};
	s->by_standing = (struct sflow_index){smap_new(), 0, SFLOW_STANDING_MAX};
	return s;
}

void sflow_summary_free(struct sflow_summary *summary)
{
	if (!summary)
		return;
	sflow_sequence_free(summary->sequence);
	smap_free(summary->by_source.map);
	smap_free(summary->by_flow.map);
	smap_free(summary->by_discard.map);
	smap_free(summary->by_reason.map);
	smap_free(summary->by_queue.map);
	smap_free(summary->by_standing.map);
	free(summary->sources);
	free(summary->flows);
	free(summary->discards);
	free(summary->reasons);
	free(summary->queues);
	free(summary->standings);
	free(summary);
}

/* ---- sources and estimates -------------------------------------------------- */

/* How many samples the source made since the last one that came: 1 when none is missing. */
static uint64_t source_steps(const struct sflow_source *source, const struct sflow_sample *sample)
{
	const int32_t steps = (int32_t)(sample->sequence - source->sequence);
	const int32_t drops = (int32_t)(sample->drops - source->drops);
	uint64_t made = 0;
	if (steps > SFLOW_AHEAD_MAX || steps <= -SFLOW_BACK_MAX)
		return 1; /* began anew */
	if (steps > 0)
		made = (uint64_t)steps;
	if (steps > 0 && drops > 0 && drops < SFLOW_AHEAD_MAX)
		made += (uint64_t)drops;
	return made; /* 0: late, it was counted when it was missing */
}

static void source_follow(struct sflow_source *source, const struct sflow_sample *sample)
{
	const int32_t steps = (int32_t)(sample->sequence - source->sequence);
	if (source->samples == 0)
		source->generated = 1;
	else
		source->generated += source_steps(source, sample);
	source->samples++;
	if (source->generated < source->samples) /* sent twice */
		source->generated = source->samples;
	if (source->samples > 1 && steps <= 0 && steps > -SFLOW_BACK_MAX)
		return;
	source->sequence = sample->sequence;
	source->drops = sample->drops;
}

static struct sflow_source *source_of(struct sflow_summary *summary,
	const struct sflow_datagram *datagram, const struct sflow_sample *sample)
{
	struct sflow_key key = sflow_key_begin(summary);
	size_t at, n = summary->by_source.n;
	bool fresh;
	sflow_key_address(&key, &datagram->agent);
	sflow_key_number(&key, datagram->sub_agent);
	sflow_key_number(&key, sample->source_class);
	sflow_key_number(&key, sample->source_index);
	if (!sflow_index_at(&summary->by_source, &key, &at, &fresh))
		return NULL;
	if (fresh) {
		rw_grow(summary->sources, n, summary->cap_sources);
		summary->sources[at] = (struct sflow_source){.agent = datagram->agent,
			.sub_agent = datagram->sub_agent,
			.source_class = sample->source_class,
			.source_index = sample->source_index};
	}
	return &summary->sources[at];
}

static void sums_add(struct sflow_sums *sums, uint32_t sampling, uint32_t octets)
{
	const double n = sampling, length = octets;
	sums->samples++;
	sums->packets += n;
	sums->octets += n * length;
	sums->packets_variance += n * (n - 1);
	sums->octets_variance += n * (n - 1) * length * length;
}

/* How much more there was than what came. */
static double source_scale(const struct sflow_source *source)
{
	if (source->samples == 0)
		return 1;
	return (double)source->generated / (double)source->samples;
}

static struct sflow_estimate estimate_make(
	double sum, double variance, double scale, double least, double none)
{
	struct sflow_estimate e = {sum * scale, 0, none};
	if (sum > 0) {
		const double error = CONFIDENCE * sqrt(variance) * scale;
		e.low = fmax(least, e.value - error);
		e.high = e.value + error;
	}
	return e;
}

struct sflow_estimate sflow_estimate_packets(
	const struct sflow_sums *sums, const struct sflow_source *source)
{
	return estimate_make(sums->packets, sums->packets_variance, source_scale(source),
		(double)sums->samples, NONE_SEEN * source->sampling);
}

struct sflow_estimate sflow_estimate_octets(
	const struct sflow_sums *sums, const struct sflow_source *source)
{
	double seen = 0;
	if (sums->packets > 0) /* what the samples themselves had */
		seen = sums->octets / sums->packets * (double)sums->samples;
	return estimate_make(sums->octets, sums->octets_variance, source_scale(source), seen, NAN);
}

/* ---- flows, discards, queues ------------------------------------------------- */

static struct sflow_pair pair_of(const struct roce_packet *packet)
{
	struct sflow_pair pair = {0};
	if (!packet || packet->kind != PACKET_ROCE)
		return pair;
	pair.family = packet->family;
	memcpy(pair.src, packet->src, sizeof(pair.src));
	memcpy(pair.dst, packet->dst, sizeof(pair.dst));
	pair.dst_qp = packet->dst_qp;
	return pair;
}

static void flow_take(struct sflow_summary *summary, struct sflow_source *source, uint32_t sampling,
	const struct roce_packet *packet)
{
	const struct sflow_pair pair = pair_of(packet);
	const uint32_t at_source = (uint32_t)(source - summary->sources);
	struct sflow_key key = sflow_key_begin(summary);
	size_t at, n = summary->by_flow.n;
	bool fresh;
	sums_add(&source->roce, sampling, packet->octets);
	sflow_key_number(&key, at_source);
	sflow_key_pair(&key, &pair);
	if (!sflow_index_at(&summary->by_flow, &key, &at, &fresh)) {
		summary->totals.unlisted++;
		return;
	}
	if (fresh) {
		rw_grow(summary->flows, n, summary->cap_flows);
		summary->flows[at] = (struct sflow_flow){.source = at_source, .pair = pair};
	}
	sums_add(&summary->flows[at].sums, sampling, packet->octets);
}

static uint32_t port_index(const struct sflow_port *port)
{
	if (port->kind == SFLOW_PORT_INDEX)
		return port->index;
	return 0;
}

static void blame_add(struct sflow_blame *blame, const struct sflow_sample *sample, double octets)
{
	blame->by_octets += octets;
	if (sample->has_depth)
		blame->by_depth += octets * sample->depth_bytes;
	if (sample->has_delay)
		blame->by_delay += octets * sample->delay_ns;
}

static void standing_take(struct sflow_summary *summary, uint32_t at_queue,
	const struct sflow_sample *sample, const struct sflow_pair *pair, double octets)
{
	struct sflow_key key = sflow_key_begin(summary);
	size_t at, n = summary->by_standing.n;
	bool fresh;
	sflow_key_number(&key, at_queue);
	sflow_key_pair(&key, pair);
	if (!sflow_index_at(&summary->by_standing, &key, &at, &fresh)) {
		summary->totals.unlisted++;
		return;
	}
	if (fresh) {
		rw_grow(summary->standings, n, summary->cap_standings);
		summary->standings[at] = (struct sflow_standing){.queue = at_queue, .pair = *pair};
	}
	summary->standings[at].samples++;
	blame_add(&summary->standings[at].blame, sample, octets);
}

static uint32_t sflow_larger(uint32_t left, uint32_t right)
{
	if (left > right)
		return left;
	return right;
}

static void queue_count(struct sflow_queue *queue, const struct sflow_sample *sample, double octets)
{
	queue->samples++;
	if (sample->has_depth)
		queue->depth_max_bytes = sflow_larger(queue->depth_max_bytes, sample->depth_bytes);
	if (sample->has_delay)
		queue->delay_max_ns = sflow_larger(queue->delay_max_ns, sample->delay_ns);
	queue->has_depth |= sample->has_depth;
	queue->has_delay |= sample->has_delay;
	blame_add(&queue->blame, sample, octets);
}

static void queue_take(struct sflow_summary *summary, const struct sflow_datagram *datagram,
	const struct sflow_sample *sample, const struct roce_packet *packet, uint32_t sampling)
{
	const struct sflow_pair pair = pair_of(packet);
	const uint32_t output = port_index(&sample->output);
	struct sflow_key key = sflow_key_begin(summary);
	size_t at, n = summary->by_queue.n;
	double octets = sample->frame_bytes;
	bool fresh;
	if (packet)
		octets = packet->octets;
	octets *= sampling;
	sflow_key_address(&key, &datagram->agent);
	sflow_key_number(&key, output);
	sflow_key_number(&key, sample->has_queue);
	sflow_key_number(&key, sample->queue);
	if (!sflow_index_at(&summary->by_queue, &key, &at, &fresh)) {
		summary->totals.unlisted++;
		return;
	}
	if (fresh) {
		rw_grow(summary->queues, n, summary->cap_queues);
		summary->queues[at] = (struct sflow_queue){.agent = datagram->agent,
			.output = output,
			.has_queue = sample->has_queue,
			.queue = sample->queue};
	}
	queue_count(&summary->queues[at], sample, octets);
	if (pair.family)
		standing_take(summary, (uint32_t)at, sample, &pair, octets);
}

static void reason_take(struct sflow_summary *summary, uint32_t reason, bool roce)
{
	struct sflow_key key = sflow_key_begin(summary);
	size_t at, n = summary->by_reason.n;
	bool fresh;
	sflow_key_number(&key, reason);
	if (!sflow_index_at(&summary->by_reason, &key, &at, &fresh)) {
		summary->totals.unlisted++;
		return;
	}
	if (fresh) {
		rw_grow(summary->reasons, n, summary->cap_reasons);
		summary->reasons[at] = (struct sflow_reason){.reason = reason};
	}
	summary->reasons[at].notifications++;
	summary->reasons[at].roce += roce;
}

static void discard_take(struct sflow_summary *summary, const struct sflow_datagram *datagram,
	const struct sflow_sample *sample, const struct roce_packet *packet)
{
	struct sflow_discard row = {.agent = datagram->agent,
		.input = port_index(&sample->input),
		.output = port_index(&sample->output),
		.reason = sample->reason,
		.pair = pair_of(packet)};
	struct sflow_key key = sflow_key_begin(summary);
	size_t at, n = summary->by_discard.n;
	bool fresh;
	reason_take(summary, row.reason, row.pair.family != 0);
	sflow_key_address(&key, &row.agent);
	sflow_key_number(&key, row.input);
	sflow_key_number(&key, row.output);
	sflow_key_number(&key, row.reason);
	sflow_key_pair(&key, &row.pair);
	if (!sflow_index_at(&summary->by_discard, &key, &at, &fresh)) {
		summary->totals.unlisted++;
		return;
	}
	if (fresh) {
		rw_grow(summary->discards, n, summary->cap_discards);
		summary->discards[at] = row;
	}
	summary->discards[at].notifications++;
}

/* ---- samples ------------------------------------------------------------------ */

static void sample_of_flow(struct sflow_summary *summary, const struct sflow_datagram *datagram,
	const struct sflow_sample *sample, const struct roce_packet *packet)
{
	struct sflow_source *source = source_of(summary, datagram, sample);
	uint32_t sampling = sample->sampling;
	if (sampling == 0)
		sampling = 1;
	summary->totals.flow_samples++;
	if (source) {
		source->sampling = sampling;
		source_follow(source, sample);
	} else {
		summary->totals.unlisted++;
	}
	if (source && packet && packet->kind == PACKET_ROCE)
		flow_take(summary, source, sampling, packet);
	if (sample->has_queue || sample->has_depth || sample->has_delay)
		queue_take(summary, datagram, sample, packet, sampling);
}

/* Notifications that an agent left out: its count grows from one to the next, per source. */
static void notifications_follow(struct sflow_summary *summary,
	const struct sflow_datagram *datagram, const struct sflow_sample *sample)
{
	struct sflow_sample marked = *sample;
	marked.source_class |= 1u << 31; /* a sequence of its own beside that of the samples */
	struct sflow_source *source = source_of(summary, datagram, &marked);
	if (!source)
		return;
	const int32_t more = (int32_t)(sample->drops - source->drops);
	if (source->generated && more > 0 && more < SFLOW_AHEAD_MAX)
		summary->totals.notifications_lost += (uint64_t)more;
	source->generated++;
	source->drops = sample->drops;
}

void sflow_summary_sample(struct sflow_summary *summary, const struct sflow_datagram *datagram,
	const struct sflow_sample *sample, const struct roce_packet *packet)
{
	summary->totals.skipped_records += sample->skipped;
	if (packet) {
		summary->totals.headers++;
		summary->totals.roce += packet->kind == PACKET_ROCE;
	}
	switch (sample->kind) {
	case SFLOW_FLOW: sample_of_flow(summary, datagram, sample, packet); break;
	case SFLOW_COUNTERS: summary->totals.counter_samples++; break;
	case SFLOW_DROP:
		summary->totals.notifications++;
		notifications_follow(summary, datagram, sample);
		discard_take(summary, datagram, sample, packet);
		break;
	case SFLOW_KINDS: break;
	}
}

void sflow_summary_datagram(struct sflow_summary *summary, const void *data, size_t n, bool cut,
	sflow_packet_fn *fn, void *arg)
{
	struct sflow_reader reader;
	struct sflow_datagram datagram;
	struct sflow_sample sample;
	int rc = sflow_open(&reader, data, n, &datagram);
	summary->totals.other_versions += rc == -ENOTSUP;
	summary->totals.cut_datagrams += cut;
	summary->totals.bad_datagrams += rc == -EBADMSG && !cut;
	if (rc < 0)
		return;
	sflow_sequence_add(summary->sequence, &datagram);
	while ((rc = sflow_next(&reader, &sample)) > 0) {
		struct roce_packet packet;
		const struct roce_packet *found = NULL;
		if (sflow_packet(&sample, &packet))
			found = &packet;
		sflow_summary_sample(summary, &datagram, &sample, found);
		if (found && sample.kind == SFLOW_FLOW)
			fn(arg, &sample, found);
	}
	summary->totals.skipped_samples += reader.skipped;
	summary->totals.bad_datagrams += rc < 0 && !cut;
}

/* ---- answers ------------------------------------------------------------------- */

const struct sflow_totals *sflow_summary_totals(const struct sflow_summary *summary)
{
	return &summary->totals;
}

const struct sflow_sequence_counts *sflow_summary_sequence(const struct sflow_summary *summary)
{
	return sflow_sequence_counts(summary->sequence);
}

const struct sflow_source *sflow_summary_sources(const struct sflow_summary *summary, size_t *n)
{
	*n = summary->by_source.n;
	return summary->sources;
}

const struct sflow_flow *sflow_summary_flows(const struct sflow_summary *summary, size_t *n)
{
	*n = summary->by_flow.n;
	return summary->flows;
}

const struct sflow_discard *sflow_summary_discards(const struct sflow_summary *summary, size_t *n)
{
	*n = summary->by_discard.n;
	return summary->discards;
}

const struct sflow_reason *sflow_summary_reasons(const struct sflow_summary *summary, size_t *n)
{
	*n = summary->by_reason.n;
	return summary->reasons;
}

const struct sflow_queue *sflow_summary_queues(const struct sflow_summary *summary, size_t *n)
{
	*n = summary->by_queue.n;
	return summary->queues;
}

const struct sflow_standing *sflow_summary_standings(const struct sflow_summary *summary, size_t *n)
{
	*n = summary->by_standing.n;
	return summary->standings;
}

double sflow_blame_of(
	const struct sflow_blame *blame, const struct sflow_queue *queue, const char **ret_by)
{
	if (queue->blame.by_delay > 0) {
		*ret_by = "octets*delay";
		return blame->by_delay;
	}
	if (queue->blame.by_depth > 0) {
		*ret_by = "octets*depth";
		return blame->by_depth;
	}
	*ret_by = "octets";
	return blame->by_octets;
}

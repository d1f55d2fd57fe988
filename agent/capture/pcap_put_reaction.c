/* pcap_put_reaction - senders after CNPs, receivers after marks. */
#include "agent/capture/pcap_parts.h"

#include "agent/capture/pcap_sampling.h"
#include "agent/capture/pcap_verdict.h"
#include "agent/document/json_value.h"

enum { RATE_TEXT_MAX = 32, REACTION_HOSTS_MAX = 1000 };

static const char *reaction_rate_text(char buf[RATE_TEXT_MAX], double bps)
{
	if (bps >= 1e9)
		snprintf(buf, RATE_TEXT_MAX, "%.3g Gbit/s", bps / 1e9);
	else
		snprintf(buf, RATE_TEXT_MAX, "%.3g Mbit/s", bps / 1e6);
	return buf;
}

/* Most CNPs and marks first: those are printed when there are many. */
static int reaction_order(const void *left, const void *right)
{
	const struct clock_host *a = *(const struct clock_host *const *)left;
	const struct clock_host *b = *(const struct clock_host *const *)right;
	const uint64_t weight_a = a->reaction.cnp + a->ce_sent + a->answer.ce + a->answer.cnp;
	const uint64_t weight_b = b->reaction.cnp + b->ce_sent + b->answer.ce + b->answer.cnp;
	if (weight_a != weight_b)
		return weight_a < weight_b ? 1 : -1;
	return (a->host > b->host) - (a->host < b->host);
}

/* ---- senders -------------------------------------------------------------------- */

/* A stream that gets CNPs, and the host that sends it. */
struct reaction_stream {
	uint32_t host, stream;
};

struct reaction_context {
	json_t *document;
	const struct pcap_reading *reading;
	uint32_t sampling; /* pcap_sampling() */
	double peak_bps;
	struct reaction_stream *streams; /* owned; by host, then by stream */
	size_t n_streams, cap_streams;
};

static int reaction_stream_order(const void *left, const void *right)
{
	const struct reaction_stream *a = left, *b = right;
	if (a->host != b->host)
		return (a->host > b->host) - (a->host < b->host);
	return (a->stream > b->stream) - (a->stream < b->stream);
}

/* reaction_streams - one walk for all hosts: a capture has many of both. */
static void reaction_streams(struct reaction_context *context)
{
	const struct capture_analysis *analysis = &context->reading->analysis;
	struct clock_qp_reaction reaction;
	for (uint32_t i = 0; i < flow_table_stream_end(analysis->flows); i++) {
		const struct flow_stream *stream = flow_table_stream(analysis->flows, i);
		if (stream->qp == FLOW_NONE ||
			!capture_clock_reaction(analysis->clock, &stream->clock, &reaction))
			continue;
		rw_grow(context->streams, context->n_streams, context->cap_streams);
		context->streams[context->n_streams++] =
			(struct reaction_stream){.host = reaction.host->host, .stream = i};
	}
	if (context->n_streams)
		qsort(context->streams, context->n_streams, sizeof(*context->streams),
			reaction_stream_order);
}

/* The first of @host's streams; *ret_n: how many they are. */
static const struct reaction_stream *reaction_streams_of(
	const struct reaction_context *context, uint32_t host, size_t *ret_n)
{
	size_t from = 0, to = context->n_streams;
	while (from < to) {
		const size_t middle = (from + to) / 2;
		if (context->streams[middle].host < host)
			from = middle + 1;
		else
			to = middle;
	}
	while (to < context->n_streams && context->streams[to].host == host)
		to++;
	*ret_n = to - from;
	if (!context->streams)
		return NULL; /* no stream reacts: there is no place to count from */
	return &context->streams[from];
}

static void reaction_sentence(const struct reaction_context *context, const char *host,
	const struct reaction_sum *sum, const struct reaction_judged *judged)
{
	char before[RATE_TEXT_MAX], after[RATE_TEXT_MAX];
	enum pcap_verdict kind = PCAP_VERDICT_SLOWS;
	const char *says = "slows down after CNPs";
	if (judged->verdict == REACTION_TOO_FEW)
		return;
	if (judged->verdict == REACTION_DOES_NOT_SLOW) {
		kind = PCAP_VERDICT_DOES_NOT_SLOW;
		says = "does not slow down after CNPs";
	}
	json_t *row = pcap_verdict_add(context->document, kind,
		"%s %s: %s before, %s after, %lu reactions to %lu CNPs", host, says,
		reaction_rate_text(before, judged->before_bps),
		reaction_rate_text(after, judged->after_bps), (unsigned long)judged->n,
		(unsigned long)sum->cnp);
	json_object_set_new(row, "host", json_string(host));
	json_object_set_new(row, "rate_before_bps", json_number_or_null(judged->before_bps));
	json_object_set_new(row, "rate_after_bps", json_number_or_null(judged->after_bps));
	json_object_set_new(row, "n", json_integer((json_int_t)judged->n));
}

/* One queue pair that does not slow down although others of its host do. */
static void reaction_qp_sentence(const struct reaction_context *context, uint32_t qp,
	const struct reaction_sum *own, const struct reaction_judged *judged, size_t deaf,
	size_t all)
{
	char before[RATE_TEXT_MAX], after[RATE_TEXT_MAX];
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];
	struct flow flow;
	flow_table_row(context->reading->analysis.flows, qp, &flow);
	pcap_address_text(src, flow.key.family, flow.key.src);
	pcap_address_text(dst, flow.key.family, flow.key.dst);
	json_t *row = pcap_verdict_add(context->document, PCAP_VERDICT_DOES_NOT_SLOW,
		"%s to QP 0x%06x of %s does not slow down after CNPs: %s before, %s after, %lu "
		"reactions to %lu CNPs; %zu of the %zu queue pairs of this host that get CNPs do "
		"not",
		src, flow.key.dst_qp, dst, reaction_rate_text(before, judged->before_bps),
		reaction_rate_text(after, judged->after_bps), (unsigned long)judged->n,
		(unsigned long)own->cnp, deaf, all);
	if (!row)
		return;
	json_object_set_new(row, "host", json_string(src));
	json_object_set_new(row, "src", json_string(src));
	json_object_set_new(row, "dst", json_string(dst));
	pcap_count_put(row, "dst_qp", flow.key.dst_qp);
	json_object_set_new(row, "rate_before_bps", json_number_or_null(judged->before_bps));
	json_object_set_new(row, "rate_after_bps", json_number_or_null(judged->after_bps));
	json_object_set_new(row, "n", json_integer((json_int_t)judged->n));
}

static enum reaction_verdict reaction_qp_judge(const struct reaction_context *context,
	uint32_t stream, struct clock_qp_reaction *ret, struct reaction_judged *judged)
{
	const struct capture_analysis *analysis = &context->reading->analysis;
	const struct flow_stream *of = flow_table_stream(analysis->flows, stream);
	if (!capture_clock_reaction(analysis->clock, &of->clock, ret))
		return REACTION_TOO_FEW;
	return qp_reaction_judge(
		ret, context->sampling, (double)context->reading->options.speed_bps, judged);
}

/* Where at most half of the queue pairs of @host do not slow down, they are named, and the host is
 * not: true. */
static bool reaction_qps(const struct reaction_context *context, const struct clock_host *host)
{
	const struct flow_table *flows = context->reading->analysis.flows;
	struct clock_qp_reaction reaction;
	struct reaction_judged judged;
	size_t deaf = 0, all;
	const struct reaction_stream *of = reaction_streams_of(context, host->host, &all);
	for (size_t i = 0; i < all; i++)
		deaf += reaction_qp_judge(context, of[i].stream, &reaction, &judged) ==
			REACTION_DOES_NOT_SLOW;
	if (deaf == 0 || deaf * 2 > all)
		return false;
	for (size_t i = 0; i < all; i++)
		if (reaction_qp_judge(context, of[i].stream, &reaction, &judged) ==
			REACTION_DOES_NOT_SLOW)
			reaction_qp_sentence(context, flow_table_stream(flows, of[i].stream)->qp,
				reaction.own, &judged, deaf, all);
	return true;
}

static void reaction_judge_host(const struct reaction_context *context,
	const struct reaction_sum *sum, struct reaction_judged *ret)
{
	if (context->sampling) {
		reaction_judge(sum, context->sampling, (double)context->reading->options.speed_bps,
			context->peak_bps, ret);
		return;
	}
	reaction_judge(&(struct reaction_sum){.cnp = sum->cnp}, 1, 0, 0, ret);
	ret->needs = "how many packets the capture holds one of (--sampling N)";
}

static json_t *reaction_row(
	const struct reaction_context *context, const char *address, const struct clock_host *host)
{
	struct reaction_judged judged;
	reaction_judge_host(context, &host->reaction, &judged);
	json_t *row = json_object();
	json_object_set_new(row, "host", json_string(address));
	pcap_count_put(row, "cnp", host->reaction.cnp);
	pcap_count_put(row, "ce", host->ce_sent);
	json_object_set_new(row, "rate_before_bps", json_number_or_null(judged.before_bps));
	json_object_set_new(row, "rate_after_bps", json_number_or_null(judged.after_bps));
	json_object_set_new(row, "ratio", json_number_or_null(judged.ratio));
	json_object_set_new(row, "low_ratio", json_number_or_null(judged.low));
	json_object_set_new(row, "high_ratio", json_number_or_null(judged.high));
	pcap_count_put(row, "n", judged.n);
	pcap_count_put(row, "left_out", host->reaction.left_out);
	/* windows under pressure, and the mean rate in them as a share of its own peak */
	pcap_count_put(row, "pressed", host->reaction.pressed);
	json_object_set_new(row, "held_ratio",
		json_number_or_null(host->reaction.held / (double)host->reaction.pressed));
	json_object_set_new(row, "verdict", json_string(reaction_verdict_name(judged.verdict)));
	json_object_set_new(row, "needs", json_string_or_null(judged.needs));
	if (!context->sampling || !reaction_qps(context, host))
		reaction_sentence(context, address, &host->reaction, &judged);
	return row;
}

/* ---- receivers ------------------------------------------------------------------ */

static json_t *reaction_receiver_row(
	const struct reaction_context *context, const char *address, const struct answer_sum *sum)
{
	enum answer_verdict verdict = ANSWER_TOO_FEW;
	const char *needs = NULL;
	double share = NAN;
	if (context->sampling)
		verdict = answer_judge(sum, context->sampling);
	if (verdict == ANSWER_TOO_FEW)
		needs = answer_needs(sum);
	if (sum->ce)
		share = (double)sum->cnp / (double)sum->ce;
	json_t *row = json_object();
	json_object_set_new(row, "host", json_string(address));
	pcap_count_put(row, "ce", sum->ce);
	pcap_count_put(row, "cnp", sum->cnp);
	json_object_set_new(row, "cnp_per_ce_ratio", json_number_or_null(share));
	pcap_count_put(row, "ce_slots", sum->slots);
	json_object_set_new(row, "verdict", json_string(answer_verdict_name(verdict)));
	json_object_set_new(row, "needs", json_string_or_null(needs));
	if (verdict != ANSWER_NO)
		return row;
	json_t *said = pcap_verdict_add(context->document, PCAP_VERDICT_DOES_NOT_ANSWER,
		"%s sends no CNP for %lu marked packets that came to it in %lu slots of 50 us",
		address, (unsigned long)sum->ce, (unsigned long)sum->slots);
	json_object_set_new(said, "host", json_string(address));
	json_object_set_new(said, "ce", json_integer((json_int_t)sum->ce));
	json_object_set_new(said, "cnp", json_integer((json_int_t)sum->cnp));
	return row;
}

/* ---- the part ------------------------------------------------------------------- */

static void reaction_put(const struct reaction_context *context, const struct clock_host *host,
	json_t *senders, json_t *receivers)
{
	char address[INET6_ADDRSTRLEN];
	const struct flow_host *known =
		flow_table_host(context->reading->analysis.flows, host->host);
	pcap_address_text(address, known->family, known->address);
	if (host->reaction.cnp + host->ce_sent && json_array_size(senders) < REACTION_HOSTS_MAX)
		json_array_append_new(senders, reaction_row(context, address, host));
	if (host->answer.cnp + host->answer.ce && json_array_size(receivers) < REACTION_HOSTS_MAX)
		json_array_append_new(
			receivers, reaction_receiver_row(context, address, &host->answer));
}

void pcap_put_reaction(json_t *document, struct pcap_reading *reading)
{
	size_t n, known = 0;
	const struct clock_host *hosts = capture_clock_hosts(reading->analysis.clock, &n);
	rw_cleanup(freep) const struct clock_host **order = rw_calloc(n + 1, sizeof(*order));
	struct reaction_context context = {
		.document = document, .reading = reading, .sampling = pcap_sampling(reading)};
	for (size_t i = 0; i < n; i++) {
		if (hosts[i].host == CLOCK_NO_HOST)
			continue;
		order[known++] = &hosts[i];
		context.peak_bps = fmax(context.peak_bps, hosts[i].reaction.peak_bps);
	}
	qsort(order, known, sizeof(*order), reaction_order);
	reaction_streams(&context);
	json_t *senders = json_array(), *receivers = json_array();
	for (size_t i = 0; i < known; i++)
		reaction_put(&context, order[i], senders, receivers);
	json_object_set_new(document, "cnp_reaction", senders);
	json_object_set_new(document, "receivers", receivers);
	free(context.streams);
}

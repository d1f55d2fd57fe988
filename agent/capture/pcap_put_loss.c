/* pcap_put_loss - gaps, resends and refusals of the whole capture, and what caused them; many
 * losses in few sentences: all of them, the host that they share, pairs of hosts. */

#include "agent/capture/pcap_parts.h"
#include "agent/capture/pcap_sampling.h"
#include "agent/capture/pcap_verdict.h"

enum { LOSS_QPS_TOLD = 3 }; /* of one cause, below sentences about all of them */

/* One sentence about one direction of a queue pair and one cause. */
struct loss_finding {
	enum loss_cause cause;
	uint32_t n, missing;
	uint32_t qp; /* id of the flow table */
};

/* What each cause means for a direction; .says follows the queue pair. */
static const struct {
	enum loss_cause cause;
	enum pcap_verdict verdict;
	const char *says;
} loss_sentences[] = {
	{LOSS_BEYOND, PCAP_VERDICT_LOST_BEYOND, "packets were lost beyond this point"},
	{LOSS_BEFORE, PCAP_VERDICT_LOST_BEFORE, "packets were lost before this point"},
	{LOSS_TIMEOUT, PCAP_VERDICT_TIMEOUT, "the sender waited for its timer and sent again"},
	{LOSS_READ, PCAP_VERDICT_READ_RESPONSE_LOST,
		"READ responses were lost and requested again"},
	{LOSS_ACK, PCAP_VERDICT_ACK_LOST, "the sender repeated what had arrived: ACKs were lost"},
	{LOSS_RNR, PCAP_VERDICT_RNR, "the receiver had no buffer posted (RNR NAK)"},
	{LOSS_SELECTIVE, PCAP_VERDICT_SELECTIVE_REPEAT, "single packets were lost and sent again"},
	{LOSS_REORDERED, PCAP_VERDICT_REORDERED, "packets came in another order"},
	{LOSS_RECONNECTED, PCAP_VERDICT_RECONNECTED, "the queue pair was connected anew"},
};

static json_t *json_naks(const struct roce_count *count)
{
	if (count->aeth_cut)
		return json_null();
	json_t *o = json_object();
	for (unsigned i = 0; i < 32; i++) {
		if (!count->nak_code[i])
			continue;
		/* reserved codes share one text */
		const char *text = aeth_nak_text((uint8_t)i);
		const json_int_t before = json_integer_value(json_object_get(o, text));
		pcap_count_put(o, text, count->nak_code[i] + (uint64_t)before);
	}
	return o;
}

/* A count, or null where it cannot be known. */
static void put_known(json_t *o, const char *key, uint64_t value, bool known)
{
	if (known)
		pcap_count_put(o, key, value);
	else
		json_object_set_new(o, key, json_null());
}

/* pcap_capture_drops - packets that the capture's own counters say it lost; false: it has none. */
static bool pcap_capture_drops(const struct pcap_reading *reading, uint64_t *ret)
{
	*ret = reading->input.kernel_drops;
	if (reading->input.live)
		return true;
	*ret = reading->input.capture_drops;
	return reading->input.capture_drops_known;
}

/* ---- groups ------------------------------------------------------------------- */

/* so few queue pairs are told one by one, and nothing else is said of them */
enum { LOSS_QPS_FEW = 3, LOSS_PAIRS_TOLD = 4 };
#define LOSS_SHARED_PART 0.9 /* of all losses: a host with as many is what they share */

/* What is lost on the way, as the total says it. */
static const struct {
	enum loss_cause cause;
	const char *says;
} group_causes[] = {
	{LOSS_BEFORE, "lost before this point"},
	{LOSS_BEYOND, "lost beyond it"},
	{LOSS_SELECTIVE, "repaired one by one"},
	{LOSS_READ, "of READ responses"},
	{LOSS_TIMEOUT, "found by a timer"},
	{LOSS_ACK, "of ACKs"},
};

/* Losses from one host to another; of one queue pair, or of several together. */
struct loss_pair {
	uint8_t family, src[16], dst[16];
	uint64_t n;
	uint32_t qps;
};

struct loss_pairs {
	struct loss_pair *v;
	size_t n, cap;
	uint64_t by_cause[rw_countof(group_causes)], losses;
	uint32_t qps;
};

static int pair_order(const void *left, const void *right)
{
	return memcmp(left, right,
		offsetof(struct loss_pair, dst) + sizeof(((struct loss_pair *)0)->dst));
}

static int pair_by_dst(const void *left, const void *right)
{
	const struct loss_pair *x = left, *y = right;
	const int order = memcmp(x->dst, y->dst, sizeof(x->dst));
	return order ? order : pair_order(left, right);
}

static int pair_by_losses(const void *left, const void *right)
{
	const struct loss_pair *x = left, *y = right;
	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return pair_order(left, right);
}

static void pairs_add(struct loss_pairs *pairs, const struct flow_table *flows,
	const struct flow_stream *stream, const struct loss_causes *causes)
{
	struct flow flow;
	struct loss_pair pair = {.qps = 1};
	for (size_t i = 0; i < rw_countof(group_causes); i++) {
		pairs->by_cause[i] += causes->n[group_causes[i].cause];
		pair.n += causes->n[group_causes[i].cause];
	}
	if (!pair.n)
		return;
	flow_table_row(flows, stream->qp, &flow);
	pair.family = flow.key.family;
	memcpy(pair.src, flow.key.src, sizeof(pair.src));
	memcpy(pair.dst, flow.key.dst, sizeof(pair.dst));
	pairs->losses += pair.n;
	pairs->qps++;
	rw_grow(pairs->v, pairs->n, pairs->cap);
	pairs->v[pairs->n++] = pair;
}

/* Queue pairs of the same hosts become one. */
static void pairs_merge(struct loss_pairs *pairs)
{
	size_t n = 0;
	qsort(pairs->v, pairs->n, sizeof(*pairs->v), pair_order);
	for (size_t i = 0; i < pairs->n; i++) {
		if (n && pair_order(&pairs->v[n - 1], &pairs->v[i]) == 0) {
			pairs->v[n - 1].n += pairs->v[i].n;
			pairs->v[n - 1].qps += pairs->v[i].qps;
		} else {
			pairs->v[n++] = pairs->v[i];
		}
	}
	pairs->n = n;
}

static void group_total(json_t *document, const struct loss_pairs *pairs)
{
	rw_cleanup(str_done) struct str parts = {0};
	for (size_t i = 0; i < rw_countof(group_causes); i++)
		if (pairs->by_cause[i])
			str_addf(&parts, "%s%s %s", parts.n ? ", " : "",
				number_count(pairs->by_cause[i]).s, group_causes[i].says);
	json_t *row = pcap_verdict_add(document, PCAP_VERDICT_LOSSES,
		"%s losses in %s queue pairs of %s pair%s of hosts: %s",
		number_count(pairs->losses).s, number_count(pairs->qps).s, number_count(pairs->n).s,
		pairs->n == 1 ? "" : "s", parts.s);
	pcap_count_put(row, "n", pairs->losses);
	pcap_count_put(row, "qps", pairs->qps);
}

/* @pairs stand in the order of one end of theirs: the host there with most losses. @at: where its
 * address is. */
static struct loss_pair pairs_most(const struct loss_pairs *pairs, size_t at, size_t *ret_partners)
{
	struct loss_pair most = {0};
	for (size_t i = 0, next; i < pairs->n; i = next) {
		struct loss_pair sum = pairs->v[i];
		for (next = i + 1; next < pairs->n; next++) {
			const char *left = (const char *)&pairs->v[i] + at;
			if (memcmp(left, (const char *)&pairs->v[next] + at, sizeof(sum.src)) != 0)
				break;
			sum.n += pairs->v[next].n;
			sum.qps += pairs->v[next].qps;
		}
		if (sum.n <= most.n)
			continue;
		most = sum;
		*ret_partners = next - i;
	}
	return most;
}

static bool group_shared_end(json_t *document, const struct loss_pairs *pairs, bool to)
{
	size_t partners = 0;
	size_t at = offsetof(struct loss_pair, src);
	if (to)
		at = offsetof(struct loss_pair, dst);
	const struct loss_pair most = pairs_most(pairs, at, &partners);
	if (partners < 2 || (double)most.n < LOSS_SHARED_PART * (double)pairs->losses)
		return false;
	char host[INET6_ADDRSTRLEN];
	pcap_address_text(host, most.family, to ? most.dst : most.src);
	json_t *row = pcap_verdict_add(document, PCAP_VERDICT_LOSS_SHARED,
		"%s of the %s losses are on the way %s %s, %s %zu hosts: look at what all of them "
		"pass",
		number_count(most.n).s, number_count(pairs->losses).s, to ? "to" : "from", host,
		to ? "from" : "to", partners);
	json_object_set_new(row, to ? "dst" : "src", json_string(host));
	pcap_count_put(row, "n", most.n);
	return true;
}

static void group_pairs(json_t *document, const struct loss_pairs *pairs)
{
	for (size_t i = 0; i < pairs->n && i < LOSS_PAIRS_TOLD; i++) {
		const struct loss_pair *pair = &pairs->v[i];
		char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];
		pcap_address_text(src, pair->family, pair->src);
		pcap_address_text(dst, pair->family, pair->dst);
		json_t *row = pcap_verdict_add(document, PCAP_VERDICT_LOSS_PAIR,
			"%s to %s: %s loss%s in %s queue pair%s", src, dst, number_count(pair->n).s,
			pair->n == 1 ? "" : "es", number_count(pair->qps).s, plural(pair->qps));
		json_object_set_new(row, "src", json_string(src));
		json_object_set_new(row, "dst", json_string(dst));
		pcap_count_put(row, "n", pair->n);
		pcap_count_put(row, "qps", pair->qps);
		if (i + 1 == LOSS_PAIRS_TOLD && pairs->n > LOSS_PAIRS_TOLD)
			pcap_count_put(row, "more", pairs->n - LOSS_PAIRS_TOLD);
	}
}

bool pcap_put_loss_groups(json_t *document, const struct flow_table *flows)
{
	struct loss_pairs pairs = {0};
	const struct loss *loss = flow_table_loss(flows);
	for (uint32_t i = 0; i < flow_table_stream_end(flows); i++) {
		const struct flow_stream *stream = flow_table_stream(flows, i);
		const struct loss_causes *causes = NULL;
		if (stream->qp != FLOW_NONE)
			causes = loss_causes(loss, &stream->psn);
		if (causes)
			pairs_add(&pairs, flows, stream, causes);
	}
	const bool many = pairs.qps > LOSS_QPS_FEW;
	if (many) {
		pairs_merge(&pairs);
		group_total(document, &pairs);
		if (!group_shared_end(document, &pairs, false)) {
			qsort(pairs.v, pairs.n, sizeof(*pairs.v), pair_by_dst);
			group_shared_end(document, &pairs, true);
		}
		qsort(pairs.v, pairs.n, sizeof(*pairs.v), pair_by_losses);
		group_pairs(document, &pairs);
	}
	free(pairs.v);
	return many;
}

/* ---- verdicts --------------------------------------------------------------- */

static int compare_findings(const void *left, const void *right)
{
	const struct loss_finding *a = left, *b = right;
	if (a->n != b->n)
		return (a->n < b->n) - (a->n > b->n);
	return (a->qp > b->qp) - (a->qp < b->qp);
}

/* loss_findings - the directions with events of @cause, most events first. The caller frees. */
static struct loss_finding *loss_findings(
	const struct flow_table *flows, enum loss_cause cause, size_t *ret_n)
{
	struct loss_finding *found = NULL;
	size_t n = 0, cap = 0;
	const struct loss *loss = flow_table_loss(flows);
	for (uint32_t i = 0; i < flow_table_stream_end(flows); i++) {
		const struct flow_stream *stream = flow_table_stream(flows, i);
		const struct loss_causes *causes = NULL;
		if (stream->qp != FLOW_NONE)
			causes = loss_causes(loss, &stream->psn);
		if (!causes || causes->n[cause] == 0)
			continue;
		rw_grow(found, n, cap);
		found[n++] = (struct loss_finding){
			cause, causes->n[cause], causes->missing[cause], stream->qp};
	}
	if (n)
		qsort(found, n, sizeof(*found), compare_findings);
	*ret_n = n;
	return found;
}

static json_t *loss_verdict(json_t *document, const struct flow_table *flows,
	const struct loss_finding *finding, enum pcap_verdict verdict, const char *says)
{
	struct flow flow;
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN], missing[40] = "", times[40] = "once";
	flow_table_row(flows, finding->qp, &flow);
	pcap_address_text(src, flow.key.family, flow.key.src);
	pcap_address_text(dst, flow.key.family, flow.key.dst);
	if (finding->n > 1)
		snprintf(times, sizeof(times), "%u times", finding->n);
	if (finding->missing == 1)
		snprintf(missing, sizeof(missing), ", 1 packet missing here");
	else if (finding->missing)
		snprintf(missing, sizeof(missing), ", %u packets missing here", finding->missing);
	json_t *row = pcap_verdict_add(document, verdict, "%s to QP 0x%06x of %s: %s, %s%s", src,
		flow.key.dst_qp, dst, says, times, missing);
	if (!row)
		return NULL;
	json_object_set_new(row, "src", json_string(src));
	json_object_set_new(row, "dst", json_string(dst));
	pcap_count_put(row, "dst_qp", flow.key.dst_qp);
	pcap_count_put(row, "n", finding->n);
	pcap_count_put(row, "missing", finding->missing);
	return row;
}

/* Of many the first few; the last of these says how many there are beside. */
static void loss_verdicts_of(json_t *document, const struct flow_table *flows, size_t at, bool few)
{
	size_t n;
	rw_cleanup(freep) struct loss_finding *found =
		loss_findings(flows, loss_sentences[at].cause, &n);
	const enum pcap_verdict kind = loss_sentences[at].verdict;
	for (size_t k = 0; k < n && !(few && k >= LOSS_QPS_TOLD); k++) {
		json_t *row =
			loss_verdict(document, flows, &found[k], kind, loss_sentences[at].says);
		if (few && k + 1 == LOSS_QPS_TOLD && n > LOSS_QPS_TOLD)
			pcap_count_put(row, "more", n - LOSS_QPS_TOLD);
	}
}

static void loss_verdicts(json_t *document, const struct flow_table *flows)
{
	const bool grouped = pcap_put_loss_groups(document, flows);
	const struct loss_totals *totals = loss_totals(flow_table_loss(flows));
	for (size_t i = 0; i < rw_countof(loss_sentences); i++) {
		if (totals->events[loss_sentences[i].cause] == 0)
			continue;
		loss_verdicts_of(document, flows, i, grouped);
	}
	if (totals->capture_gaps == 0)
		return;
	json_t *row = pcap_verdict_add(document, PCAP_VERDICT_CAPTURE_LOSS,
		"the capture itself lost packets: of %s gaps in the sequence, %s are its own "
		"and not the network's",
		number_count(totals->psn.gaps).s, number_count(totals->capture_gaps).s);
	pcap_count_put(row, "n", totals->capture_gaps);
}

/* ---- the parts ---------------------------------------------------------------- */

static void put_causes(json_t *document, const struct pcap_reading *reading, bool known)
{
	static const struct loss_totals none;
	const struct loss *loss = flow_table_loss(reading->analysis.flows);
	const struct loss_totals *totals = &none;
	json_t *o = json_object();
	if (loss)
		totals = loss_totals(loss);
	for (int i = 0; i < LOSS_CAUSE_COUNT; i++)
		put_known(o, loss_cause_word((enum loss_cause)i), totals->events[i], known);
	put_known(o, "gaps", totals->psn.gaps, known);
	json_object_set_new(o, "capture_lost_ratio", json_null());
	if (known && totals->judged_gaps)
		json_object_set_new(o, "capture_lost_ratio",
			json_real((double)totals->capture_gaps / (double)totals->judged_gaps));
	uint64_t drops;
	put_known(o, "capture_drops", 0, false);
	if (pcap_capture_drops(reading, &drops))
		pcap_count_put(o, "capture_drops", drops);
	if (totals->untold)
		pcap_count_put(o, "untold", totals->untold);
	json_object_set_new(document, "loss", o);
}

/* put_refusals - NAKs are not known where the snap length cut them off. */
static void put_refusals(json_t *document, const struct roce_count *count)
{
	json_object_set_new(document, "nak_codes", json_naks(count));
	if (!count->aeth_cut)
		return;
	json_object_set_new(document, "nak", json_null());
	json_object_set_new(document, "rnr_nak", json_null());
	json_object_set_new(document, "nak_reason",
		json_string("the snap length ends before the AETH, which tells ACK from NAK"));
	json_t *row = pcap_verdict_add(document, PCAP_VERDICT_CUT_SHORT,
		"the snap length cut off the AETH of %s packets: whether they are ACK or NAK is "
		"not known",
		number_count(count->aeth_cut).s);
	pcap_count_put(row, "n", count->aeth_cut);
}

void pcap_put_loss(json_t *document, struct pcap_reading *reading)
{
	struct loss *loss = flow_table_loss(reading->analysis.flows);
	uint64_t drops = 0;
	pcap_capture_drops(reading, &drops);
	if (loss)
		loss_end(loss, drops);
	const bool known = pcap_psn_known(reading);
	struct psn_counts counts = {0};
	if (loss)
		counts = loss_totals(loss)->psn;
	pcap_put_sampling(document, reading);
	put_refusals(document, &reading->analysis.count);
	put_known(document, "gaps", counts.gaps, known);
	put_known(document, "missing", counts.missing, known);
	put_known(document, "duplicates", counts.duplicates, known);
	put_known(document, "retransmits", counts.retransmits, known);
	put_known(document, "reordered", counts.reordered, known);
	put_causes(document, reading, known);
	if (known && loss)
		loss_verdicts(document, reading->analysis.flows);
}

/* ---- rows ---------------------------------------------------------------------- */

/* Packets of this queue pair take many paths: its order says nothing. By its source ports or flow
 * labels, or because much comes late and nothing again. */
static bool loss_sprayed(const struct flow *flow)
{
	enum { LATE_SHARE = 20, PACKETS_LEAST = 200 };
	const bool late = flow->packets >= PACKETS_LEAST && flow->psn.retransmits == 0 &&
		flow->psn.reordered * LATE_SHARE >= flow->packets;
	return flow->stream && (flow->sprays || late);
}

static void put_event(struct pcap_row *row, const struct loss_event *event)
{
	char text[LOSS_PROOF_TEXT_MAX];
	pcap_row_open(row, NULL);
	pcap_row_time(row, "t", event->t_ns);
	pcap_row_count(row, "psn", event->psn);
	pcap_row_count(row, "missing", event->missing);
	pcap_row_word(row, "cause", loss_cause_word(loss_event_cause(event)));
	pcap_row_word(row, "proof", loss_event_text(text, event));
	pcap_row_close(row);
}

/* put_events - the worst first; @psn NULL: none is known. Returns how many there were. */
static uint64_t put_events(
	struct pcap_row *row, const struct loss *loss, const struct stream_psn *psn)
{
	size_t n = 0;
	uint64_t total = 0;
	const struct loss_event *told = NULL;
	struct loss_event events[LOSS_EVENTS_MAX];
	if (psn)
		told = loss_events(loss, psn, &n, &total);
	if (n) {
		memcpy(events, told, n * sizeof(*events));
		qsort(events, n, sizeof(*events), loss_event_compare);
	}
	pcap_row_open_list(row, "events");
	for (size_t i = 0; i < n; i++)
		put_event(row, &events[i]);
	pcap_row_close(row);
	return total;
}

static const char *transport_word(const struct flow *flow)
{
	static const char *const words[] = {
		[0] = "RC", [1] = "UC", [2] = "RD", [3] = "UD", [5] = "XRC"};
	int transport = -1;
	if (flow->stream)
		transport = loss_transport(&flow->stream->psn);
	if (transport < 0 || (size_t)transport >= rw_countof(words))
		return NULL;
	return words[transport];
}

static void put_spray(struct pcap_row *row, const struct flow *flow, bool sprayed)
{
	if (!sprayed) {
		pcap_row_null(row, "spray");
		return;
	}
	uint32_t values = flow->source_ports;
	if (flow->flow_labels > values)
		values = flow->flow_labels;
	pcap_row_open(row, "spray");
	pcap_row_count(row, "values", values);
	pcap_row_close(row);
}

static void row_known(struct pcap_row *row, const char *key, uint64_t value, bool known)
{
	if (known)
		pcap_row_count(row, key, value);
	else
		pcap_row_null(row, key);
}

void pcap_put_qp_loss(struct pcap_row *row, struct pcap_reading *reading, const struct flow *flow)
{
	const struct loss *loss = flow_table_loss(reading->analysis.flows);
	const struct stream_psn *psn = NULL;
	const bool known = reading->rows.psn_known, sprayed = loss_sprayed(flow);
	const bool order = known && !(sprayed && flow->psn.gaps);
	const bool aeth = reading->analysis.count.aeth_cut == 0;
	if (order && loss && flow->stream)
		psn = &flow->stream->psn;
	row_known(row, "gaps", flow->psn.gaps, order);
	row_known(row, "missing", flow->psn.missing, order);
	row_known(row, "duplicates", flow->psn.duplicates, known);
	row_known(row, "retransmits", flow->psn.retransmits, known);
	row_known(row, "reordered", flow->psn.reordered, known);
	row_known(row, "restarts", flow->psn.restarts, known);
	row_known(row, "nak", flow->nak_sent, aeth);
	row_known(row, "rnr_nak", flow->rnr_nak_sent, aeth);
	row_known(row, "nak_returned", flow->nak_about, aeth);
	row_known(row, "rnr_nak_returned", flow->rnr_nak_about, aeth);
	pcap_row_count(row, "copies", flow->copies);
	pcap_row_word(row, "transport", transport_word(flow));
	put_spray(row, flow, sprayed);
	const uint64_t events = put_events(row, loss, psn);
	row_known(row, "events_total", events, known);
}

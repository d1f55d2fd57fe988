/* pcap_put_entropy - five-tuples, source ports, and how evenly they spread the load. */

#include "agent/capture/pcap_parts.h"
#include "agent/capture/pcap_verdict.h"
#include "agent/document/json_value.h"
#include "analyzers/measure/chance.h"
#include "collectors/packet/flow/flow_store.h"

/*
 * N packets of F equal flows spread like N F / (N + F) flows (each flow's share of them is a
 * Poisson number): the figure is too low by F / (N + F). With ten packets for each flow that is
 * below a tenth: this many are needed at least.
 */
enum { PACKETS_PER_FLOW = 10 };

/* The hash cannot help when a few five-tuples carry many queue pairs. */
enum { QPS_PER_TUPLE = 4, FEW_FLOWS = 16, JUDGED_UPLINKS = 8 };

/* Which packets one row is about. */
struct entropy_part {
	enum flow_dir dir;
	enum flow_side side;
	const char *direction, *src_side; /* NULL: not known */
	const char *text;
};

/* A capture that says which way packets went, else by the address pair: the two ways of a pair take
 * other paths. */
static const struct entropy_part entropy_parts[] = {
	{FLOW_DIR_IN, FLOW_SIDE_ANY, "in", NULL, "going in"},
	{FLOW_DIR_OUT, FLOW_SIDE_ANY, "out", NULL, "going out"},
	{FLOW_DIR_UNKNOWN, FLOW_SIDE_LOW, NULL, "lower", "from the lower to the higher address"},
	{FLOW_DIR_UNKNOWN, FLOW_SIDE_HIGH, NULL, "higher", "from the higher to the lower address"},
};

static void entropy_judge(
	json_t *document, const struct entropy_part *part, const struct flow_entropy *entropy)
{
	struct chance chance;
	if (entropy->n_eff > FEW_FLOWS ||
		entropy->queue_pairs < QPS_PER_TUPLE * (uint64_t)entropy->five_tuples)
		return;
	if (chance_baseline(JUDGED_UPLINKS, entropy->n_eff, &chance) < 0)
		return;
	json_t *row = pcap_verdict_add(document, PCAP_VERDICT_LOW_ENTROPY,
		"the data of %u queue pairs %s has %u five-tuple%s and spreads like %.1f equal "
		"flows: by chance alone, the fullest of %d uplinks carries %.0f %% more than the "
		"mean",
		entropy->queue_pairs, part->text, entropy->five_tuples,
		plural(entropy->five_tuples), entropy->n_eff, JUDGED_UPLINKS, chance.mean * 100);
	json_object_set_new(row, "queue_pairs", json_integer(entropy->queue_pairs));
	json_object_set_new(row, "five_tuples", json_integer(entropy->five_tuples));
	json_object_set_new(row, "n_eff", json_real(entropy->n_eff));
}

static void put_entropy_part(
	json_t *document, json_t *rows, const struct entropy_part *part, struct flow_table *flows)
{
	struct flow_entropy entropy;
	flow_table_entropy(flows, part->dir, part->side, &entropy);
	if (entropy.data_packets == 0)
		return;
	const uint64_t least = (uint64_t)ceil(entropy.n_eff * PACKETS_PER_FLOW);
	const bool known = entropy.data_packets >= least;
	json_t *o = json_object();
	json_object_set_new(o, "direction", json_string_or_null(part->direction));
	json_object_set_new(o, "src_side", json_string_or_null(part->src_side));
	json_object_set_new(o, "n_eff", json_real(entropy.n_eff));
	pcap_count_put(o, "five_tuples", entropy.five_tuples);
	pcap_count_put(o, "queue_pairs", entropy.queue_pairs);
	pcap_count_put(o, "data_packets", entropy.data_packets);
	pcap_count_put(o, "payload_bytes", entropy.payload_bytes);
	pcap_count_put(o, "least_packets", least);
	json_object_set_new(o, "known", json_boolean(known));
	json_array_append_new(rows, o);
	if (known)
		entropy_judge(document, part, &entropy);
}

/* put_bounds - which totals are no exact ones, and why. */
static void put_bounds(json_t *document, const struct flow_totals *totals)
{
	static const char *const bounds[] = {
		"qps", "gaps", "missing", "duplicates", "retransmits", "reordered", "unattributed"};
	json_t *names = json_array();
	json_object_set_new(document, "lower_bounds", names);
	if (totals->evicted + totals->refused == 0)
		return;
	for (size_t i = 0; i < rw_countof(bounds); i++)
		json_array_append_new(names, json_string(bounds[i]));
	const double error = hyperloglog_error_ratio(FLOW_DISTINCT_PRECISION);
	json_t *estimates = json_object();
	json_object_set_new(estimates, "flows", json_real(error));
	json_object_set_new(estimates, "five_tuples", json_real(error));
	json_object_set_new(document, "estimates_error_ratio", estimates);
	pcap_count_put(json_object_get(document, "errors"), "flow_table_full",
		totals->evicted + totals->refused);
	json_t *row = pcap_verdict_add(document, PCAP_VERDICT_LOWER_BOUNDS,
		"there were about %u flows, more than are kept: the %llu least were let go; "
		"packets, "
		"octets, marks and CNPs are exact, loss and the list of queue pairs are lower "
		"bounds, every queue pair with more than a fair share is in it",
		totals->flows, (unsigned long long)totals->evicted);
	json_object_set_new(row, "flows", json_integer(totals->flows));
	json_object_set_new(row, "let_go", json_integer((json_int_t)totals->evicted));
}

void pcap_put_entropy(json_t *document, struct pcap_reading *reading)
{
	struct flow_table *flows = reading->analysis.flows;
	struct flow_totals totals;
	flow_table_totals(flows, &totals);
	double n_eff = NAN;
	if (totals.sum_sq_octets > 0)
		n_eff = flow_n_eff(totals.sum_octets, totals.sum_sq_octets);
	pcap_count_put(document, "five_tuples", totals.five_tuples);
	pcap_count_put(document, "udp_source_ports", reading->analysis.count.udp_source_ports);
	pcap_count_put(document, "flows", totals.flows);
	json_object_set_new(document, "n_eff", json_number_or_null(n_eff));
	pcap_count_put(document, "unattributed", totals.unattributed);
	pcap_count_put(document, "burst_bps", totals.burst_octets * 8000);
	json_t *rows = json_array();
	for (size_t i = 0; i < rw_countof(entropy_parts); i++)
		put_entropy_part(document, rows, &entropy_parts[i], flows);
	json_object_set_new(document, "entropy", rows);
	put_bounds(document, &totals);
	if (totals.sprayed == 0)
		return;
	json_t *row = pcap_verdict_add(document, PCAP_VERDICT_SPRAYED,
		"%u queue pair%s spread%s packets over several source ports or flow labels in "
		"turn: they take several paths, and their order says nothing",
		totals.sprayed, plural(totals.sprayed), str_if(totals.sprayed == 1, "s"));
	json_object_set_new(row, "queue_pairs", json_integer(totals.sprayed));
}

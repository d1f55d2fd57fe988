/* pcap_facts - what the lines tell of, as a struct, and one function per line. */
#include "agent/capture/pcap_facts.h"

#include "agent/capture/pcap_words.h"
#include "agent/document/quantity.h"
#include "agent/document/shape.h"
#include "analyzers/measure/chance.h"

enum { FACT_NAMES = 12 }; /* of a list of counters */
enum { DATE = 10 }; /* 2026-11-22 */

/* ---- the document, as far as lines tell of it: agent/schema/pcap.schema.json ------------------
 */

#define C(m) COUNT(m, "")
#define U(m) COUNT(m, "", .unknown = true)
#define W(m) TEXT(m, "", .known = true)
#define N(m) NUMBER(m, UNIT_NONE, "")

struct told_selected {
	const char *since, *until, **hosts;
	double *dst_qps;
	size_t n_hosts, n_dst_qps;
	int priority; /* -1: not chosen */
};
#define SHAPE struct told_selected
static const struct field told_selected_fields[] = {
	W(since), W(until), TEXTS(hosts, ""), NUMBERS(dst_qps, ""), PRIORITY(priority, "")};
static SHAPE_OF(told_selected, "selected", "");
#undef SHAPE

struct told_sampling {
	const char *source, *reason;
	uint64_t n;
};
#define SHAPE struct told_sampling
static const struct field told_sampling_fields[] = {W(source), W(reason), U(n)};
static SHAPE_OF(told_sampling, "sampling", "");
#undef SHAPE

struct told_mirror {
	const char *kind, *direction;
	uint64_t session, port, packets, cut;
};
#define SHAPE struct told_mirror
static const struct field told_mirror_fields[] = {
	W(kind), W(direction), U(session), U(port), C(packets), C(cut)};
static SHAPE_OF(told_mirror, "mirror", "");
#undef SHAPE

struct told_other {
	json_t *ethertypes, *ip_protocols, *udp_ports, *tcp_ports;
};
#define SHAPE struct told_other
static const struct field told_other_fields[] = {TREE(ethertypes, "any"), TREE(ip_protocols, "any"),
	TREE(udp_ports, "any"), TREE(tcp_ports, "any")};
static SHAPE_OF(told_other, "other", "");
#undef SHAPE

struct told_transports {
	uint64_t rocev1, trimmed;
	json_t *uet;
};
#define SHAPE struct told_transports
static const struct field told_transports_fields[] = {C(rocev1), C(trimmed), TREE(uet, "any")};
static SHAPE_OF(told_transports, "transports", "");
#undef SHAPE

struct told_counts { /* of "ecn", "icrc" and "copies": what each of them has */
	uint64_t not_ect, ce, ok, bad, unchecked, packets;
	double share_ratio;
};
#define SHAPE struct told_counts
static const struct field told_counts_fields[] = {
	C(not_ect), C(ce), C(ok), C(bad), C(unchecked), C(packets), N(share_ratio)};
static SHAPE_OF(told_counts, "counts", "");
#undef SHAPE

struct told_share {
	double ratio, low_ratio, high_ratio;
	uint64_t n;
};
#define SHAPE struct told_share
static const struct field told_share_fields[] = {N(ratio), N(low_ratio), N(high_ratio), C(n)};
static SHAPE_OF(told_share, "share", "");
#undef SHAPE

struct told_entropy {
	const char *direction, *src_side;
	double n_eff;
	uint64_t data_packets, five_tuples, least_packets;
	bool known;
};
#define SHAPE struct told_entropy
static const struct field told_entropy_fields[] = {W(direction), W(src_side), N(n_eff),
	C(data_packets), C(five_tuples), C(least_packets), FLAG(known, "")};
static SHAPE_OF(told_entropy, "entropy", "");
#undef SHAPE

struct told_loss {
	double capture_lost_ratio;
	uint64_t capture_drops;
};
#define SHAPE struct told_loss
static const struct field told_loss_fields[] = {N(capture_lost_ratio), C(capture_drops)};
static SHAPE_OF(told_loss, "loss", "");
#undef SHAPE

struct told_pfc {
	uint64_t priority, xoff, xon;
};
#define SHAPE struct told_pfc
static const struct field told_pfc_fields[] = {C(priority), C(xoff), C(xon)};
static SHAPE_OF(told_pfc, "pfc", "");
#undef SHAPE

struct told_last {
	const char *src;
	double later_by_s;
};
#define SHAPE struct told_last
static const struct field told_last_fields[] = {W(src), N(later_by_s)};
static SHAPE_OF(told_last, "last", "");
#undef SHAPE

struct told_rhythm {
	double step_s, exchange_s;
	uint64_t steps;
	struct told_last *last_finisher;
};
#define SHAPE struct told_rhythm
static const struct field told_rhythm_fields[] = {
	N(step_s), N(exchange_s), C(steps), PART_AT(last_finisher, told_last, "")};
static SHAPE_OF(told_rhythm, "rhythm", "");
#undef SHAPE

struct told_estimate {
	double value, low, high;
};
#define SHAPE struct told_estimate
static const struct field told_estimate_fields[] = {N(value), N(low), N(high)};
static SHAPE_OF(told_estimate, "estimate", "");
#undef SHAPE

struct told_sflow {
	uint64_t datagrams, agents, flow_samples, counter_samples, lost_datagrams;
	json_t *discards;
	struct told_estimate *estimated_packets;
};
#define SHAPE struct told_sflow
static const struct field told_sflow_fields[] = {C(datagrams), C(agents), C(flow_samples),
	C(counter_samples), C(lost_datagrams), TREE(discards, "any"),
	PART_AT(estimated_packets, told_estimate, "")};
static SHAPE_OF(told_sflow, "sflow", "");
#undef SHAPE

struct told_errors {
	json_t *encapsulated;
};
#define SHAPE struct told_errors
static const struct field told_errors_fields[] = {TREE(encapsulated, "any")};
static SHAPE_OF(told_errors, "errors", "");
#undef SHAPE

struct told {
	const char *from, *to, *nak_reason, **files;
	size_t n_files, n_mirrors, n_entropy, n_pfc;
	uint64_t packets, octets, roce_packets, rocev1_packets, roce_octets, cnp, pfc_frames,
		pause_frames, burst_bps, nak, rnr_nak, gaps, missing, retransmits, duplicates,
		reordered;
	double duration_s;
	json_t *by_encapsulation, *by_opcode, *nak_codes, *errors, *loss;
	struct told_selected selected;
	struct told_sampling *sampling;
	struct told_mirror *mirrors;
	struct told_other other;
	struct told_transports transports;
	struct told_counts copies, ecn, icrc;
	struct told_share ce_share;
	struct told_entropy *entropy;
	struct told_loss *lost; /* of .loss */
	struct told_errors *refused; /* of .errors */
	struct told_pfc *pfc;
	struct told_rhythm *rhythm;
	struct told_sflow *sflow;
};
#define SHAPE struct told
static const struct field told_fields[] = {W(from), W(to), W(nak_reason), TEXTS(files, ""),
	C(packets), C(octets), C(roce_packets), C(rocev1_packets), C(roce_octets), C(cnp),
	C(pfc_frames), C(pause_frames), C(burst_bps), U(nak), U(rnr_nak), U(gaps), U(missing),
	U(retransmits), U(duplicates), U(reordered), N(duration_s), TREE(by_encapsulation, "any"),
	TREE(by_opcode, "any"), TREE(nak_codes, "any"), TREE(errors, "any"), TREE(loss, "any"),
	PART(selected, told_selected, ""), PART_AT(sampling, told_sampling, ""),
	ROWS(mirrors, told_mirror, ""), PART(other, told_other, ""),
	PART(transports, told_transports, ""), PART(copies, told_counts, ""),
	PART(ecn, told_counts, ""), PART(icrc, told_counts, ""), PART(ce_share, told_share, ""),
	ROWS(entropy, told_entropy, ""), PART_AT_AS("loss", lost, told_loss, ""),
	PART_AT_AS("errors", refused, told_errors, ""), ROWS(pfc, told_pfc, ""),
	PART_AT(rhythm, told_rhythm, ""), PART_AT(sflow, told_sflow, "")};
static SHAPE_OF(told, "pcap", "");
#undef SHAPE

/* ---- words ---------------------------------------------------------------------------- */

static struct number_text fact_count(uint64_t n)
{
	if (n == COUNT_UNKNOWN)
		return (struct number_text){"unknown"};
	return number_count(n);
}

static void fact_quantity(struct str *out, double value, const char *unit)
{
	if (isnan(value))
		str_add(out, "unknown");
	else
		str_add_quantity(out, value, unit);
}

/* @before and the counters, where any is above 0. */
static void fact_counts(struct str *out, const json_t *counts, const char *before)
{
	rw_cleanup(str_done) struct str list = {0};
	if (words_counts(&list, counts, FACT_NAMES))
		str_addf(out, "%s%s", before, list.s);
}

static uint64_t fact_sampled(const struct told *told)
{
	if (!told->sampling || told->sampling->n == COUNT_UNKNOWN)
		return 0;
	return told->sampling->n;
}

/* " (REASON)" where one is known. */
static void fact_reason(struct str *out, const struct told_sampling *sampling)
{
	if (sampling && *sampling->reason)
		str_addf(out, " (%s)", sampling->reason);
}

/* ---- what was captured --------------------------------------------------------------- */

static void fact_capture(struct str *out, const struct told *told)
{
	str_addf(out, "%s packets, ", number_count(told->packets).s);
	str_add_quantity(out, (double)told->octets, "bytes");
	if (told->packets) {
		str_addf(out, " in %.6f s, from ", told->duration_s);
		words_time(out, told->from);
		str_add(out, " to ");
		if (strncmp(told->from, told->to, DATE) == 0)
			words_clock(out, told->to);
		else
			words_time(out, told->to);
		str_add(out, " UTC");
	}
	str_addf(out, "; RoCEv2 %s, RoCEv1 %s", number_count(told->roce_packets).s,
		number_count(told->rocev1_packets).s);
}

static void fact_files(struct str *out, const struct told *told)
{
	if (told->n_files < 2)
		return;
	str_addf(out, "%zu, merged by time:", told->n_files);
	for (size_t i = 0; i < told->n_files && i < FACT_NAMES; i++)
		str_addf(out, "%s %s", str_if(i, ","), told->files[i]);
	if (told->n_files > FACT_NAMES)
		str_addf(out, " and %zu more", told->n_files - FACT_NAMES);
}

/* "10.0.0.3" for "10.0.0.3/32"; networks as they are. */
static void fact_selected_host(struct str *out, const char *host)
{
	const char *slash = strchr(host, '/');
	const char *whole = strchr(host, ':') ? "/128" : "/32";
	size_t n = strlen(host);
	if (str_eq(slash, whole))
		n = (size_t)(slash - host);
	str_addn(out, host, n);
}

static void fact_selected(struct str *out, const struct told *told)
{
	const struct told_selected *selected = &told->selected;
	if (*selected->since) {
		str_add(out, "packets from ");
		words_time(out, selected->since);
	}
	if (*selected->until) {
		str_add(out, out->n ? " to " : "packets up to ");
		words_time(out, selected->until);
	}
	for (size_t i = 0; i < selected->n_hosts; i++) {
		str_addf(out, "%s%s", str_if(out->n, i ? ", " : "; "),
			str_if(i == 0, "packets from or to "));
		fact_selected_host(out, selected->hosts[i]);
	}
	if (selected->priority >= 0)
		str_addf(out, "%spackets of priority %d", str_if(out->n, "; "), selected->priority);
	for (size_t i = 0; i < selected->n_dst_qps; i++)
		str_addf(out, "%s%s0x%06x", str_if(out->n, i ? ", " : "; "),
			str_if(i == 0, "rows of destination QP "), (unsigned)selected->dst_qps[i]);
	if (selected->n_dst_qps)
		str_add(out, ", while the totals count all of them");
}

static void fact_wrapped(struct str *out, const struct told *told)
{
	fact_counts(out, told->by_encapsulation, "");
}

static void fact_mirrors(struct str *out, const struct told *told)
{
	for (size_t i = 0; i < told->n_mirrors && i < FACT_NAMES; i++) {
		const struct told_mirror *mirror = &told->mirrors[i];
		str_addf(out, "%s%s", str_if(i, "; "), mirror->kind);
		if (mirror->session != COUNT_UNKNOWN)
			str_addf(out, " session %d", (int)mirror->session);
		if (mirror->port != COUNT_UNKNOWN)
			str_addf(out, " port %d", (int)mirror->port);
		str_addf(out, "%s%s: %s packets", str_if(*mirror->direction, " "),
			mirror->direction, number_count(mirror->packets).s);
		if (mirror->cut)
			str_addf(out, ", %s cut by the mirror", number_count(mirror->cut).s);
	}
}

static void fact_holds(struct str *out, const struct told *told)
{
	const struct told_other *other = &told->other;
	const struct {
		const json_t *counts;
		const char *before;
	} parts[] = {{other->ethertypes, "ethertypes "}, {other->ip_protocols, "IP protocols "},
		{other->udp_ports, "UDP ports "}, {other->tcp_ports, "TCP ports "}};
	for (size_t i = 0; i < rw_countof(parts) && told->roce_packets == 0; i++) {
		rw_cleanup(str_done) struct str part = {0};
		fact_counts(&part, parts[i].counts, parts[i].before);
		if (part.n)
			str_addf(out, "%s%s", str_if(out->n, "; "), part.s);
	}
}

static void fact_opcodes(struct str *out, const struct told *told)
{
	fact_counts(out, told->by_opcode, "");
}

static void fact_copies(struct str *out, const struct told *told)
{
	if (told->copies.packets == 0)
		return;
	str_addf(out, "%s packets (", number_count(told->copies.packets).s);
	words_percent(out, told->copies.share_ratio);
	str_add(out, ") were captured before; they are in no other count");
}

static void fact_sampling(struct str *out, const struct told *told)
{
	const struct told_sampling *sampling = told->sampling;
	if (!sampling || sampling->n == 1)
		return;
	if (sampling->n != COUNT_UNKNOWN)
		str_addf(out, "one packet in %d", (int)sampling->n);
	else
		str_add(out, "one packet in an unknown number");
	if (*sampling->source)
		str_addf(out, ", known from: %s", sampling->source);
	fact_reason(out, sampling);
}

/* ---- what the packets say ------------------------------------------------------------- */

/* " going in", " from the lower to the higher address" */
static const char *entropy_direction(const struct told_entropy *row)
{
	if (str_eq(row->direction, "in"))
		return " going in";
	if (str_eq(row->direction, "out"))
		return " going out";
	if (str_eq(row->src_side, "lower"))
		return " from the lower to the higher address";
	return " from the higher to the lower address";
}

static void fact_entropy_row(struct str *out, const struct told_entropy *row)
{
	struct chance two, eight;
	str_addf(out, "%s data packets%s: %s five-tuple%s, spread like %.1f equal flows",
		number_count(row->data_packets).s, entropy_direction(row),
		number_count(row->five_tuples).s, plural(row->five_tuples), row->n_eff);
	if (!row->known)
		str_addf(out, " or more (at least %s data packets are needed to tell)",
			number_count(row->least_packets).s);
	else if (chance_baseline(2, row->n_eff, &two) == 0 &&
		chance_baseline(8, row->n_eff, &eight) == 0)
		str_addf(out,
			": by chance alone, the fullest of 2 uplinks carries %.0f %% more than the "
			"mean; of 8 uplinks, %.0f %%",
			two.mean * 100, eight.mean * 100);
}

/* By direction: the two ways of a pair take other paths. */
static void fact_entropy(struct str *out, const struct told *told)
{
	for (size_t i = 0; i < told->n_entropy; i++) {
		str_add(out, str_if(i, "; "));
		fact_entropy_row(out, &told->entropy[i]);
	}
}

static void fact_ecn(struct str *out, const struct told *told)
{
	const struct told_share *share = &told->ce_share;
	if (told->roce_packets == 0)
		return;
	if (share->n) {
		str_addf(out, "%s of %s ECN-capable packets marked CE, ",
			number_count(told->ecn.ce).s, number_count(share->n).s);
		words_share(out, share->ratio, share->low_ratio, share->high_ratio);
		str_add(out, "; ");
	}
	str_addf(out, "not ECN-capable %s, CNPs %s", number_count(told->ecn.not_ect).s,
		number_count(told->cnp).s);
}

static void fact_refusals(struct str *out, const struct told *told)
{
	if (told->nak == COUNT_UNKNOWN) {
		str_add(out, "; NAKs unknown");
		if (*told->nak_reason)
			str_addf(out, " (%s)", told->nak_reason);
		return;
	}
	str_addf(out, "; NAKs %s, RNR NAKs %s", number_count(told->nak).s,
		fact_count(told->rnr_nak).s);
	fact_counts(out, told->nak_codes, "; codes of NAKs: ");
}

static void fact_sequence(struct str *out, const struct told *told)
{
	if (told->roce_packets == 0)
		return;
	if (told->gaps != COUNT_UNKNOWN) {
		str_addf(out,
			"gaps %s, PSNs missing %s, sent again %s, duplicates %s, reordered %s",
			number_count(told->gaps).s, fact_count(told->missing).s,
			fact_count(told->retransmits).s, fact_count(told->duplicates).s,
			fact_count(told->reordered).s);
	} else {
		str_add(out, "gaps, resends and order unknown");
		fact_reason(out, told->sampling);
	}
	fact_refusals(out, told);
}

static void fact_loss(struct str *out, const struct told *told)
{
	json_t *causes = json_copy(told->loss);
	json_object_del(causes, "gaps");
	json_object_del(causes, "capture_drops");
	words_counts(out, causes, FACT_NAMES);
	json_decref(causes);
	if (told->lost && !isnan(told->lost->capture_lost_ratio)) {
		str_add(out, str_if(out->n, "; "));
		words_percent(out, told->lost->capture_lost_ratio);
		str_add(out, " of the gaps are the capture's own");
	}
	if (told->lost && told->lost->capture_drops)
		str_addf(out, "%s%s packets dropped by the capture, by its own count",
			str_if(out->n, "; "), number_count(told->lost->capture_drops).s);
}

static void fact_icrc(struct str *out, const struct told *told)
{
	if (told->roce_packets)
		str_addf(out, "%s right, %s wrong, %s not checked (cut short)",
			number_count(told->icrc.ok).s, number_count(told->icrc.bad).s,
			number_count(told->icrc.unchecked).s);
}

static void fact_pause(struct str *out, const struct told *told)
{
	if (told->pfc_frames + told->pause_frames == 0)
		return;
	str_addf(out, "%s PFC frames, %s 802.3x pause frames", number_count(told->pfc_frames).s,
		number_count(told->pause_frames).s);
	for (size_t i = 0; i < told->n_pfc; i++)
		str_addf(out, "; priority %d: %s XOFF, %s XON", (int)told->pfc[i].priority,
			number_count(told->pfc[i].xoff).s, number_count(told->pfc[i].xon).s);
}

static void fact_rate(struct str *out, const struct told *told)
{
	double mean_bps = NAN;
	if (told->roce_packets == 0)
		return;
	if (told->duration_s > 0)
		mean_bps = (double)told->roce_octets * 8 / told->duration_s;
	str_add(out, "mean ");
	fact_quantity(out, mean_bps, "bit/s");
	if (fact_sampled(told) != 1)
		str_add(out, " of what was captured");
	str_add(out, ", most in one millisecond ");
	str_add_quantity(out, (double)told->burst_bps, "bit/s");
}

static void fact_step(struct str *out, const struct told *told)
{
	const struct told_rhythm *rhythm = told->rhythm;
	if (!rhythm)
		return;
	str_addf(out, "%.5g s over %s steps, packets come in %.3g s of it", rhythm->step_s,
		number_count(rhythm->steps).s, rhythm->exchange_s);
	if (rhythm->last_finisher)
		str_addf(out, "; %s finishes last, by %.3g ms on average",
			rhythm->last_finisher->src, 1e3 * rhythm->last_finisher->later_by_s);
}

static void fact_sflow(struct str *out, const struct told *told)
{
	const struct told_sflow *sflow = told->sflow;
	if (!sflow)
		return;
	str_addf(out,
		"%s datagrams of %s agents, %s flow samples, %s counter samples, %s datagrams lost",
		number_count(sflow->datagrams).s, number_count(sflow->agents).s,
		number_count(sflow->flow_samples).s, number_count(sflow->counter_samples).s,
		number_count(sflow->lost_datagrams).s);
	fact_counts(out, sflow->discards, "; dropped by switches: ");
	if (sflow->estimated_packets)
		str_addf(out, "; the samples stand for %.3g RoCEv2 packets (95 %%: %.3g..%.3g)",
			sflow->estimated_packets->value, sflow->estimated_packets->low,
			sflow->estimated_packets->high);
}

static void fact_transports(struct str *out, const struct told *told)
{
	const struct told_transports *transports = &told->transports;
	if (transports->rocev1)
		str_addf(out, "RoCEv1 %s", number_count(transports->rocev1).s);
	if (transports->trimmed)
		str_addf(out, "%strimmed %s", str_if(out->n, "; "),
			number_count(transports->trimmed).s);
	fact_counts(out, transports->uet, out->n ? "; Ultra Ethernet: " : "Ultra Ethernet: ");
}

static void fact_errors(struct str *out, const struct told *told)
{
	words_counts(out, told->errors, FACT_NAMES);
	if (told->refused)
		fact_counts(out, told->refused->encapsulated,
			out->n ? "; not opened: " : "not opened: ");
}

static const struct {
	const char *label;
	/* adds the line's text; nothing when the capture says nothing about it */
	void (*say)(struct str *out, const struct told *told);
} facts[] = {
	{"captured", fact_capture},
	{"files", fact_files},
	{"selected", fact_selected},
	{"sampling", fact_sampling},
	{"wrapped in", fact_wrapped},
	{"mirrors", fact_mirrors},
	{"holds", fact_holds},
	{"transports", fact_transports},
	{"opcodes", fact_opcodes},
	{"copies", fact_copies},
	{"rate", fact_rate},
	{"entropy", fact_entropy},
	{"ecn", fact_ecn},
	{"sequence", fact_sequence},
	{"loss", fact_loss},
	{"pause", fact_pause},
	{"step", fact_step},
	{"icrc", fact_icrc},
	{"sflow", fact_sflow},
	{"errors", fact_errors},
};

void pcap_facts(const json_t *document, pcap_fact_fn *line, void *arg)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct told told;
	shape_read(&told_shape, document, a, &told);
	for (size_t i = 0; i < rw_countof(facts); i++) {
		rw_cleanup(str_done) struct str text = {0};
		facts[i].say(&text, &told);
		if (text.n)
			line(arg, facts[i].label, text.s);
	}
}

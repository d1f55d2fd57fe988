/* pcap_facts - one function per line. */
#include "agent/capture/pcap_facts.h"

#include "agent/capture/pcap_words.h"
#include "agent/document/json_value.h"
#include "analyzers/measure/chance.h"

enum { FACT_NAMES = 12 }; /* of a list of counters */
enum { DATE = 10 }; /* 2026-11-22 */

/* A name and the counters of @key, where any is above 0. */
static void fact_counts(
	struct str *out, const json_t *document, const char *key, const char *before)
{
	struct str list = {0};
	if (words_counts(&list, json_object_get(document, key), FACT_NAMES))
		str_addf(out, "%s%s", before, list.s);
	str_done(&list);
}

/* fact_reason - " (REASON)" where @object has one. */
static void fact_reason(struct str *out, const json_t *object)
{
	const char *reason = doc_word(object, "reason");
	if (*reason)
		str_addf(out, " (%s)", reason);
}

/* ---- what was captured --------------------------------------------------------------- */

static void fact_capture(struct str *out, const json_t *document)
{
	words_count(out, document, "packets");
	str_add(out, " packets, ");
	words_quantity(out, document, "octets", "bytes");
	if (words_number(document, "packets")) {
		str_addf(out, " in %.6f s, from ", doc_number(document, "duration_s"));
		words_time(out, document, "from");
		str_add(out, " to ");
		if (strncmp(doc_word(document, "from"), doc_word(document, "to"), DATE) == 0)
			words_clock(out, document, "to");
		else
			words_time(out, document, "to");
		str_add(out, " UTC");
	}
	str_add(out, "; RoCEv2 ");
	words_count(out, document, "roce_packets");
	str_add(out, ", RoCEv1 ");
	words_count(out, document, "rocev1_packets");
}

static void fact_files(struct str *out, const json_t *document)
{
	const json_t *files = json_object_get(document, "files");
	const size_t n = json_array_size(files);
	if (n < 2)
		return;
	str_addf(out, "%zu, merged by time:", n);
	for (size_t i = 0; i < n && i < FACT_NAMES; i++)
		str_addf(out, "%s %s", str_if(i, ","), json_string_value(json_array_get(files, i)));
	if (n > FACT_NAMES)
		str_addf(out, " and %zu more", n - FACT_NAMES);
}

/* fact_selected_hosts - "10.0.0.3" for "10.0.0.3/32"; networks as they are. */
static void fact_selected_hosts(struct str *out, const json_t *hosts)
{
	for (size_t i = 0; i < json_array_size(hosts); i++) {
		const char *host = json_string_value(json_array_get(hosts, i));
		const char *slash = strchr(host, '/');
		size_t n = strlen(host);
		const bool whole = (strchr(host, ':') && str_eq(slash, "/128")) ||
			(!strchr(host, ':') && str_eq(slash, "/32"));
		if (whole)
			n = (size_t)(slash - host);
		if (i)
			str_add(out, ", ");
		else
			str_addf(out, "%spackets from or to ", str_if(out->n, "; "));
		str_addn(out, host, n);
	}
}

static void fact_selected_qps(struct str *out, const json_t *qps)
{
	for (size_t i = 0; i < json_array_size(qps); i++) {
		if (i)
			str_add(out, ", ");
		else
			str_addf(out, "%srows of destination QP ", str_if(out->n, "; "));
		str_addf(out, "0x%06x", (unsigned)json_integer_value(json_array_get(qps, i)));
	}
	if (json_array_size(qps))
		str_add(out, ", while the totals count all of them");
}

static void fact_selected(struct str *out, const json_t *document)
{
	const json_t *selected = json_object_get(document, "selected");
	if (*doc_word(selected, "since")) {
		str_add(out, "packets from ");
		words_time(out, selected, "since");
	}
	if (*doc_word(selected, "until")) {
		str_addf(out, "%s", out->n ? " to " : "packets up to ");
		words_time(out, selected, "until");
	}
	fact_selected_hosts(out, json_object_get(selected, "hosts"));
	if (words_known(selected, "priority"))
		str_addf(out, "%spackets of priority %d", str_if(out->n, "; "),
			(int)words_number(selected, "priority"));
	fact_selected_qps(out, json_object_get(selected, "dst_qps"));
}

static void fact_wrapped(struct str *out, const json_t *document)
{
	fact_counts(out, document, "by_encapsulation", "");
}

static void fact_mirrors(struct str *out, const json_t *document)
{
	const json_t *mirrors = json_object_get(document, "mirrors");
	for (size_t i = 0; i < json_array_size(mirrors) && i < FACT_NAMES; i++) {
		const json_t *mirror = json_array_get(mirrors, i);
		str_addf(out, "%s%s", str_if(i, "; "), doc_word(mirror, "kind"));
		if (words_known(mirror, "session"))
			str_addf(out, " session %d", (int)words_number(mirror, "session"));
		if (words_known(mirror, "port"))
			str_addf(out, " port %d", (int)words_number(mirror, "port"));
		if (*doc_word(mirror, "direction"))
			str_addf(out, " %s", doc_word(mirror, "direction"));
		str_add(out, ": ");
		words_count(out, mirror, "packets");
		str_add(out, " packets");
		if (!words_number(mirror, "cut"))
			continue;
		str_add(out, ", ");
		words_count(out, mirror, "cut");
		str_add(out, " cut by the mirror");
	}
}

static void fact_holds(struct str *out, const json_t *document)
{
	const json_t *other = json_object_get(document, "other");
	if (words_number(document, "roce_packets"))
		return;
	static const char *const keys[][2] = {{"ethertypes", "ethertypes "},
		{"ip_protocols", "IP protocols "}, {"udp_ports", "UDP ports "},
		{"tcp_ports", "TCP ports "}};
	for (size_t i = 0; i < rw_countof(keys); i++) {
		struct str part = {0};
		fact_counts(&part, other, keys[i][0], keys[i][1]);
		if (part.n)
			str_addf(out, "%s%s", str_if(out->n, "; "), part.s);
		str_done(&part);
	}
}

static void fact_opcodes(struct str *out, const json_t *document)
{
	fact_counts(out, document, "by_opcode", "");
}

static void fact_copies(struct str *out, const json_t *document)
{
	const json_t *copies = json_object_get(document, "copies");
	if (!words_number(copies, "packets"))
		return;
	words_count(out, copies, "packets");
	str_add(out, " packets (");
	words_percent(out, doc_number(copies, "share_ratio"));
	str_add(out, ") were captured before; they are in no other count");
}

static void fact_sampling(struct str *out, const json_t *document)
{
	const json_t *sampling = json_object_get(document, "sampling");
	if (words_number(sampling, "n") == 1 || !sampling)
		return;
	if (words_known(sampling, "n"))
		str_addf(out, "one packet in %d", (int)words_number(sampling, "n"));
	else
		str_add(out, "one packet in an unknown number");
	if (*doc_word(sampling, "source"))
		str_addf(out, ", known from: %s", doc_word(sampling, "source"));
	fact_reason(out, sampling);
}

/* ---- what the packets say ------------------------------------------------------------- */

/* " going in", " from the lower to the higher address" */
static const char *entropy_direction(const json_t *row)
{
	const char *direction = doc_word(row, "direction");
	if (str_eq(direction, "in"))
		return " going in";
	if (str_eq(direction, "out"))
		return " going out";
	if (str_eq(doc_word(row, "src_side"), "lower"))
		return " from the lower to the higher address";
	return " from the higher to the lower address";
}

static void fact_entropy_row(struct str *out, const json_t *row)
{
	const double n_eff = doc_number(row, "n_eff");
	words_count(out, row, "data_packets");
	str_addf(out, " data packets%s: ", entropy_direction(row));
	words_count(out, row, "five_tuples");
	str_addf(out, " five-tuple%s, spread like %.1f equal flows",
		plural((uint64_t)words_number(row, "five_tuples")), n_eff);
	if (!json_is_true(json_object_get(row, "known"))) {
		str_add(out, " or more (at least ");
		words_count(out, row, "least_packets");
		str_add(out, " data packets are needed to tell)");
		return;
	}
	struct chance two, eight;
	if (chance_baseline(2, n_eff, &two) == 0 && chance_baseline(8, n_eff, &eight) == 0)
		str_addf(out,
			": by chance alone, the fullest of 2 uplinks carries %.0f %% more than the "
			"mean; of 8 uplinks, %.0f %%",
			two.mean * 100, eight.mean * 100);
}

/* By direction: the two ways of a pair take other paths. */
static void fact_entropy(struct str *out, const json_t *document)
{
	const json_t *rows = json_object_get(document, "entropy");
	for (size_t i = 0; i < json_array_size(rows); i++) {
		str_add(out, str_if(i, "; "));
		fact_entropy_row(out, json_array_get(rows, i));
	}
}

static void fact_ecn(struct str *out, const json_t *document)
{
	const json_t *share = json_object_get(document, "ce_share");
	if (!words_number(document, "roce_packets"))
		return;
	if (words_number(share, "n")) {
		words_count(out, json_object_get(document, "ecn"), "ce");
		str_add(out, " of ");
		words_count(out, share, "n");
		str_add(out, " ECN-capable packets marked CE, ");
		words_share(out, share);
		str_add(out, "; ");
	}
	str_add(out, "not ECN-capable ");
	words_count(out, json_object_get(document, "ecn"), "not_ect");
	str_add(out, ", CNPs ");
	words_count(out, document, "cnp");
}

static void fact_refusals(struct str *out, const json_t *document)
{
	if (!words_known(document, "nak")) {
		str_add(out, "; NAKs unknown");
		if (*doc_word(document, "nak_reason"))
			str_addf(out, " (%s)", doc_word(document, "nak_reason"));
		return;
	}
	str_add(out, "; NAKs ");
	words_count(out, document, "nak");
	str_add(out, ", RNR NAKs ");
	words_count(out, document, "rnr_nak");
	fact_counts(out, document, "nak_codes", "; codes of NAKs: ");
}

static void fact_sequence(struct str *out, const json_t *document)
{
	static const char *const keys[][2] = {{"gaps", "gaps "}, {"missing", ", PSNs missing "},
		{"retransmits", ", sent again "}, {"duplicates", ", duplicates "},
		{"reordered", ", reordered "}};
	if (!words_number(document, "roce_packets"))
		return;
	for (size_t i = 0; i < rw_countof(keys) && words_known(document, "gaps"); i++) {
		str_add(out, keys[i][1]);
		words_count(out, document, keys[i][0]);
	}
	if (!words_known(document, "gaps")) {
		str_add(out, "gaps, resends and order unknown");
		fact_reason(out, json_object_get(document, "sampling"));
	}
	fact_refusals(out, document);
}

static void fact_loss(struct str *out, const json_t *document)
{
	const json_t *loss = json_object_get(document, "loss");
	json_t *causes = json_object();
	const char *key;
	json_t *value;
	json_object_foreach ((json_t *)loss, key, value)
		if (json_is_integer(value) && !str_eq(key, "gaps") && !str_eq(key, "capture_drops"))
			json_object_set(causes, key, value);
	words_counts(out, causes, FACT_NAMES);
	json_decref(causes);
	if (words_known(loss, "capture_lost_ratio")) {
		str_add(out, str_if(out->n, "; "));
		words_percent(out, doc_number(loss, "capture_lost_ratio"));
		str_add(out, " of the gaps are the capture's own");
	}
	if (words_number(loss, "capture_drops")) {
		str_addf(out, "%s", str_if(out->n, "; "));
		words_count(out, loss, "capture_drops");
		str_add(out, " packets dropped by the capture, by its own count");
	}
}

static void fact_icrc(struct str *out, const json_t *document)
{
	const json_t *icrc = json_object_get(document, "icrc");
	if (!words_number(document, "roce_packets"))
		return;
	words_count(out, icrc, "ok");
	str_add(out, " right, ");
	words_count(out, icrc, "bad");
	str_add(out, " wrong, ");
	words_count(out, icrc, "unchecked");
	str_add(out, " not checked (cut short)");
}

static void fact_pause(struct str *out, const json_t *document)
{
	const json_t *pfc = json_object_get(document, "pfc");
	if (words_number(document, "pfc_frames") + words_number(document, "pause_frames") == 0)
		return;
	words_count(out, document, "pfc_frames");
	str_add(out, " PFC frames, ");
	words_count(out, document, "pause_frames");
	str_add(out, " 802.3x pause frames");
	for (size_t i = 0; i < json_array_size(pfc); i++) {
		const json_t *row = json_array_get(pfc, i);
		str_addf(out, "; priority %d: ", (int)words_number(row, "priority"));
		words_count(out, row, "xoff");
		str_add(out, " XOFF, ");
		words_count(out, row, "xon");
		str_add(out, " XON");
	}
}

static void fact_rate(struct str *out, const json_t *document)
{
	const double duration_s = doc_number(document, "duration_s");
	const double octets = doc_number(document, "roce_octets");
	if (!words_number(document, "roce_packets"))
		return;
	json_t *mean = json_object();
	if (duration_s > 0)
		json_object_set_new(mean, "bps", json_real(octets * 8 / duration_s));
	str_add(out, "mean ");
	words_quantity(out, mean, "bps", "bit/s");
	json_decref(mean);
	if (words_number(json_object_get(document, "sampling"), "n") != 1)
		str_add(out, " of what was captured");
	str_add(out, ", most in one millisecond ");
	words_quantity(out, document, "burst_bps", "bit/s");
}

static void fact_step(struct str *out, const json_t *document)
{
	const json_t *rhythm = json_object_get(document, "rhythm");
	const json_t *last = json_object_get(rhythm, "last_finisher");
	if (!rhythm)
		return;
	str_addf(out, "%.5g s over ", doc_number(rhythm, "step_s"));
	words_count(out, rhythm, "steps");
	str_addf(out, " steps, packets come in %.3g s of it", doc_number(rhythm, "exchange_s"));
	if (json_is_object(last))
		str_addf(out, "; %s finishes last, by %.3g ms on average", doc_word(last, "src"),
			1e3 * doc_number(last, "later_by_s"));
}

static void fact_sflow(struct str *out, const json_t *document)
{
	const json_t *sflow = json_object_get(document, "sflow");
	static const char *const keys[][2] = {{"datagrams", " datagrams of "},
		{"agents", " agents, "}, {"flow_samples", " flow samples, "},
		{"counter_samples", " counter samples, "}, {"lost_datagrams", " datagrams lost"}};
	if (!sflow)
		return;
	for (size_t i = 0; i < rw_countof(keys); i++) {
		words_count(out, sflow, keys[i][0]);
		str_add(out, keys[i][1]);
	}
	fact_counts(out, sflow, "discards", "; dropped by switches: ");
	const json_t *estimate = json_object_get(sflow, "estimated_packets");
	if (json_is_object(estimate))
		str_addf(out, "; the samples stand for %.3g RoCEv2 packets (95 %%: %.3g..%.3g)",
			doc_number(estimate, "value"), doc_number(estimate, "low"),
			doc_number(estimate, "high"));
}

static void fact_transports(struct str *out, const json_t *document)
{
	const json_t *transports = json_object_get(document, "transports");
	const json_t *uet = json_object_get(transports, "uet");
	struct str list = {0};
	if (words_number(transports, "rocev1"))
		str_addf(out, "RoCEv1 %s", number_count(words_number(transports, "rocev1")).s);
	if (words_number(transports, "trimmed"))
		str_addf(out, "%strimmed %s", str_if(out->n, "; "),
			number_count(words_number(transports, "trimmed")).s);
	if (words_counts(&list, uet, FACT_NAMES))
		str_addf(out, "%sUltra Ethernet: %s", str_if(out->n, "; "), list.s);
	str_done(&list);
}

static void fact_errors(struct str *out, const json_t *document)
{
	const json_t *errors = json_object_get(document, "errors");
	json_t *counts = json_copy((json_t *)errors);
	const json_t *encapsulated = json_object_get(errors, "encapsulated");
	json_object_del(counts, "encapsulated");
	words_counts(out, counts, FACT_NAMES);
	json_decref(counts);
	struct str list = {0};
	if (words_counts(&list, encapsulated, FACT_NAMES))
		str_addf(out, "%snot opened: %s", str_if(out->n, "; "), list.s);
	str_done(&list);
}

const struct pcap_fact pcap_facts[] = {
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
	{NULL},
};

/* pcap_put_findings - verdicts about counts of the whole capture. */

#include "agent/capture/pcap_parts.h"
#include "agent/capture/pcap_verdict.h"
#include "agent/capture/pcap_words.h"
#include "agent/document/json_value.h"

/* ---- reading ---------------------------------------------------------------------- */

static void find_reading(json_t *document, const struct pcap_input *input)
{
	json_t *errors = json_object_get(document, "errors");
	const uint64_t unread = input->truncated + input->damaged + input->failed;
	if (input->truncated)
		pcap_count_put(errors, "truncated_file", input->truncated);
	if (input->damaged)
		pcap_count_put(errors, "damaged_file", input->damaged);
	if (input->failed)
		pcap_count_put(errors, "read_failed", input->failed);
	if (input->kernel_drops)
		pcap_count_put(errors, "kernel_drops", input->kernel_drops);
	if (!unread)
		return;
	json_t *row = pcap_verdict_add(document, PCAP_VERDICT_DAMAGED_FILE,
		"%s of %zu file%s could not be read to the end: what came before the damage is "
		"reported",
		number_count(unread).s, input->n_files, plural(input->n_files));
	pcap_count_put(row, "n", unread);
}

static void find_interrupted(json_t *document, const struct pcap_input *input)
{
	if (!input->interrupted || input->live)
		return;
	pcap_count_put(json_object_get(document, "errors"), "interrupted", 1);
	const double read = (double)input->read_bytes;
	if (input->all_bytes)
		pcap_verdict_add(document, PCAP_VERDICT_INTERRUPTED,
			"reading was stopped at %.0f %% of the bytes: the report is about what was "
			"read until then",
			read / (double)input->all_bytes * 100);
	else
		pcap_verdict_add(document, PCAP_VERDICT_INTERRUPTED,
			"reading was stopped after %.0f bytes: the report is about what was read "
			"until then",
			read);
}

/* ---- settings and damage ------------------------------------------------------------- */

/* NAK codes after which a queue pair does not go on: InfiniBand specification vol. 1, 9.7.5.2.8. */
static void find_fatal_nak(json_t *document, const struct roce_count *count)
{
	enum { NAK_FATAL_FIRST = 1, NAK_FATAL_LAST = 4 }; /* code 0 is a sequence error */
	for (uint8_t code = NAK_FATAL_FIRST; code <= NAK_FATAL_LAST; code++) {
		const uint64_t n = count->nak_code[code];
		if (!n)
			continue;
		json_t *row = pcap_verdict_add(document, PCAP_VERDICT_FATAL_NAK,
			"receivers refused %s request%s for good (NAK: %s)", number_count(n).s,
			plural(n), aeth_nak_text(code));
		pcap_count_put(row, "n", n);
		json_object_set_new(row, "code", json_string(aeth_nak_text(code)));
	}
}

static void find_icrc(json_t *document, const struct roce_count *count)
{
	const uint64_t bad = count->icrc[ICRC_BAD], checked = bad + count->icrc[ICRC_OK];
	if (!bad)
		return;
	json_t *row = pcap_verdict_add(document, PCAP_VERDICT_BAD_ICRC,
		"%s of %s packets whose ICRC could be checked carry a wrong one",
		number_count(bad).s, number_count(checked).s);
	pcap_count_put(row, "n", bad);
	pcap_count_put(row, "checked", checked);
}

static void find_ecn(json_t *document, const struct roce_count *count)
{
	const json_t *share = json_object_get(document, "ce_share");
	const uint64_t ce = count->ecn[ECN_CE];
	rw_cleanup(str_done) struct str text = {0};
	if (!ce)
		return;
	words_share(&text, doc_number(share, "ratio"), doc_number(share, "low_ratio"),
		doc_number(share, "high_ratio"));
	json_t *row = pcap_verdict_add(document, PCAP_VERDICT_CE_MARKED,
		"switches marked %s of %s ECN-capable packets with CE, %s", number_count(ce).s,
		number_count(words_number(share, "n")).s, text.s);
	pcap_count_put(row, "n", ce);
	json_object_set(row, "ratio", json_object_get(share, "ratio"));
}

/* Acknowledgements and CNPs are left out: NICs send those without ECN on purpose. */
static void find_ect(json_t *document, const struct roce_count *count)
{
	const uint64_t data = count->data_packets, not_ect = count->data_not_ect;
	if (!not_ect)
		return;
	json_t *row = pcap_verdict_add(document, PCAP_VERDICT_ECT_MISSING,
		"%s of %s data packets are not ECN-capable: switches cannot mark them",
		number_count(not_ect).s, number_count(data).s);
	pcap_count_put(row, "n", not_ect);
	pcap_count_put(row, "data_packets", data);
}

static void find_cut(json_t *document, const struct roce_count *count)
{
	const uint64_t cut = count->errors[ROCE_CUT_BY_SNAPLEN];
	if (!cut)
		return;
	json_t *row = pcap_verdict_add(document, PCAP_VERDICT_CUT_SHORT,
		"the snap length ends %s of %s frames within headers that the report needs",
		number_count(cut).s, number_count(count->packets).s);
	pcap_count_put(row, "n", cut);
}

/* ---- nothing ---------------------------------------------------------------------------- */

/* Frames that nobody could look into: of those nothing can be said, RoCEv2 or not. */
static uint64_t find_unread(const struct capture_analysis *analysis)
{
	uint64_t n = analysis->count.errors[ROCE_UNSUPPORTED_LINK];
	for (int i = 0; i < REFUSED_COUNT; i++)
		n += analysis->encapsulation.refused[i];
	return n;
}

static void find_no_roce(json_t *document, const struct capture_analysis *analysis)
{
	const struct roce_count *count = &analysis->count;
	const bool all_unread = count->packets && find_unread(analysis) == count->packets;
	if (count->roce_packets || all_unread)
		return;
	json_t *row;
	if (count->packets)
		row = pcap_verdict_add(document, PCAP_VERDICT_NO_ROCE,
			"none of the %s frames is RoCEv2 that could be read; this is no sign of "
			"health",
			number_count(count->packets).s);
	else
		row = pcap_verdict_add(document, PCAP_VERDICT_NO_ROCE,
			"no frame was read; this is no sign of health");
	pcap_count_put(row, "packets", count->packets);
}

/* Where nothing was found: what was looked for. Signs that nobody explained are no health; what is
 * not known is named. */
static void find_clean(json_t *document, const struct roce_count *count)
{
	static const char *const keys[][2] = {{"gaps", "gaps"}, {"retransmits", "resends"},
		{"nak", "NAKs"}, {"rnr_nak", "RNR NAKs"}};
	rw_cleanup(str_done) struct str none = {0};
	rw_cleanup(str_done) struct str unknown = {0};
	if (!count->roce_packets || pcap_verdict_worst(document) >= PCAP_WARNING)
		return;
	for (size_t i = 0; i < rw_countof(keys); i++) {
		if (words_number(document, keys[i][0]))
			return;
		struct str *list = &none;
		if (!json_is_number(json_object_get(document, keys[i][0])))
			list = &unknown;
		str_addf(list, "%s%s", str_if(list->n, ", "), keys[i][1]);
	}
	if (!none.n)
		return;
	pcap_verdict_add(document, PCAP_VERDICT_CLEAN,
		"nothing in %s RoCEv2 packets points at a fault; there are none of these: %s%s%s",
		number_count(count->roce_packets).s, none.s,
		str_if(unknown.n, "; not known from this capture: "), str_or(unknown.s, ""));
}

void pcap_put_findings(json_t *document, struct pcap_reading *reading)
{
	const struct roce_count *count = &reading->analysis.count;
	find_reading(document, &reading->input);
	find_interrupted(document, &reading->input);
	find_fatal_nak(document, count);
	find_icrc(document, count);
	find_ecn(document, count);
	find_ect(document, count);
	find_cut(document, count);
	find_no_roce(document, &reading->analysis);
	find_clean(document, count);
}

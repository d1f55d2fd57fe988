/* pcap_text - the report for people: sections in the order in which a capture is judged. */
#include "agent/capture/pcap_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "analyzers/measure/chance.h"

enum { TEXT_QPS = 20, TEXT_LOSSES = 5 }; /* rows that are printed; the document has all */

/* ---- values -------------------------------------------------------------- */

static uint64_t count_of(const json_t *object, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(object, key));
}

static double percent_of(const json_t *object, const char *key)
{
	return json_real_value(json_object_get(object, key)) * 100;
}

static const char *word_of(const json_t *object, const char *key)
{
	return str_or(json_string_value(json_object_get(object, key)), "-");
}

/* pcap_text_grouped - 1234567 -> "1,234,567", into @buf. */
#define GROUPED_MAX 32
static const char *pcap_text_grouped(char buf[GROUPED_MAX], uint64_t value)
{
	char digits[GROUPED_MAX];
	const int n = snprintf(digits, sizeof(digits), "%" PRIu64, value);
	int k = 0;
	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			buf[k++] = ',';
		buf[k++] = digits[i];
	}
	buf[k] = '\0';
	return buf;
}

static const char *grouped_of(char buf[GROUPED_MAX], const json_t *object, const char *key)
{
	return pcap_text_grouped(buf, count_of(object, key));
}

static void text_rate(FILE *out, int width, uint64_t bps)
{
	static const char *const units[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
	double value = (double)bps;
	size_t i = 0;
	for (; value >= 1000 && i + 1 < rw_countof(units); i++)
		value /= 1000;
	fprintf(out, "%*.4g %s", width, value, units[i]);
}

/* largest_below - the largest member of @object that is below @limit; 0 = none. */
static uint64_t largest_below(const json_t *object, uint64_t limit)
{
	uint64_t largest = 0;
	const char *key;
	json_t *value;
	json_object_foreach ((json_t *)object, key, value) {
		const uint64_t n = (uint64_t)json_integer_value(value);
		if (n < limit && n > largest)
			largest = n;
	}
	return largest;
}

/* text_counts - name and count of each member, the largest first: a few dozen at most. */
static void text_counts(FILE *out, const char *label, const json_t *object)
{
	const size_t n = json_object_size(object);
	size_t done = 0;
	uint64_t limit = UINT64_MAX;
	const char *key;
	json_t *value;
	char buf[GROUPED_MAX];
	if (n == 0)
		return;
	fprintf(out, "  %-9s", label);
	while (done < n) {
		limit = largest_below(object, limit);
		json_object_foreach ((json_t *)object, key, value) {
			if ((uint64_t)json_integer_value(value) != limit)
				continue;
			fprintf(out, "%s%s %s", str_if(done++, ", "), key,
				pcap_text_grouped(buf, limit));
		}
	}
	fputc('\n', out);
}

/* ---- sections ------------------------------------------------------------ */

static void text_entropy(FILE *out, const json_t *document)
{
	const double n_eff = json_real_value(json_object_get(document, "n_eff"));
	fprintf(out,
		"  entropy  %" PRIu64 " five-tuples on %" PRIu64
		" UDP source ports spread like %.1f equal flows",
		count_of(document, "five_tuples"), count_of(document, "udp_source_ports"), n_eff);
	struct chance two, eight;
	if (chance_baseline(2, n_eff, &two) == 0 && chance_baseline(8, n_eff, &eight) == 0)
		fprintf(out,
			": by chance alone, the fullest of 2 uplinks carries %.0f %% more than the "
			"mean; of 8 uplinks, %.0f %%",
			two.mean * 100, eight.mean * 100);
	fputc('\n', out);
}

static void text_ecn(FILE *out, const json_t *document)
{
	const json_t *ecn = json_object_get(document, "ecn");
	const json_t *share = json_object_get(document, "ce_share");
	char capable[GROUPED_MAX], not_capable[GROUPED_MAX], cnps[GROUPED_MAX];
	fprintf(out, "  ecn      ");
	if (count_of(share, "n"))
		fprintf(out, "CE on %.2f %% of %s ECN-capable packets (95 %%: %.2f..%.2f %%), ",
			percent_of(share, "ratio"), grouped_of(capable, share, "n"),
			percent_of(share, "low_ratio"), percent_of(share, "high_ratio"));
	fprintf(out, "not ECN-capable %s, CNPs %s\n", grouped_of(not_capable, ecn, "not_ect"),
		grouped_of(cnps, document, "cnp"));
	if (count_of(ecn, "ce") && !count_of(document, "cnp"))
		fprintf(out,
			"           CE marks but no CNP here: CNPs take another path, or the "
			"receiver sends none\n");
}

/* loss_place - on which side of the capture point packets were lost, by the sequence numbers; ""
 * for no sign of loss. */
static const char *loss_place(const json_t *qp)
{
	const bool sent_again = count_of(qp, "retransmits") > 0;
	const bool refused = count_of(qp, "nak_returned") > 0;
	if (count_of(qp, "gaps")) {
		if (sent_again)
			return "lost before this point, and sent again";
		if (count_of(qp, "reordered"))
			return "out of order";
		return "missing here and not sent again: lost by the capture, or an unreliable "
		       "transport";
	}
	if (sent_again && refused)
		return "lost beyond this point: nothing is missing here";
	if (sent_again)
		return "sent again without a gap here: loss beyond this point, or an "
		       "acknowledgement that was lost or late";
	if (refused)
		return "refused by the receiver";
	return "";
}

static void text_loss(FILE *out, const json_t *document)
{
	char gaps[GROUPED_MAX], missing[GROUPED_MAX], again[GROUPED_MAX], twice[GROUPED_MAX];
	char late[GROUPED_MAX], nak[GROUPED_MAX], rnr_nak[GROUPED_MAX];
	fprintf(out,
		"  sequence %s gaps (%s PSNs missing), %s retransmitted, %s duplicates, %s "
		"reordered; %s NAKs, %s RNR NAKs\n",
		grouped_of(gaps, document, "gaps"), grouped_of(missing, document, "missing"),
		grouped_of(again, document, "retransmits"),
		grouped_of(twice, document, "duplicates"), grouped_of(late, document, "reordered"),
		grouped_of(nak, document, "nak"), grouped_of(rnr_nak, document, "rnr_nak"));
	text_counts(out, "naks", json_object_get(document, "nak_codes"));
	size_t i, shown = 0;
	json_t *qp;
	json_array_foreach (json_object_get(document, "qps"), i, qp) {
		const char *where = loss_place(qp);
		if (!*where || shown++ >= TEXT_LOSSES)
			continue;
		fprintf(out,
			"           %s -> %s QP 0x%06x: %" PRIu64 " gaps, %" PRIu64
			" retransmitted, %" PRIu64 " NAKs: %s\n",
			word_of(qp, "src"), word_of(qp, "dst"), (unsigned)count_of(qp, "dst_qp"),
			count_of(qp, "gaps"), count_of(qp, "retransmits"),
			count_of(qp, "nak_returned"), where);
	}
	if (shown > TEXT_LOSSES)
		fprintf(out, "           and %zu more queue pair%s\n", shown - TEXT_LOSSES,
			plural(shown - TEXT_LOSSES));
}

static void text_pfc(FILE *out, const json_t *document)
{
	const uint64_t pfc = count_of(document, "pfc_frames");
	const uint64_t pause = count_of(document, "pause_frames");
	if (pfc + pause == 0)
		return;
	fprintf(out, "  pause    %" PRIu64 " PFC frames, %" PRIu64 " 802.3x pause frames", pfc,
		pause);
	size_t i;
	json_t *priority;
	json_array_foreach (json_object_get(document, "pfc"), i, priority)
		fprintf(out, "; priority %" PRIu64 ": %" PRIu64 " XOFF, %" PRIu64 " XON",
			count_of(priority, "priority"), count_of(priority, "xoff"),
			count_of(priority, "xon"));
	fputc('\n', out);
}

/* ---- queue pairs --------------------------------------------------------- */

/* address_width - of the rows that are printed: at least that of IPv4. */
static int address_width(const json_t *rows)
{
	static const char *const keys[] = {"src", "dst"};
	size_t width = 15;
	for (size_t i = 0; i < json_array_size(rows) && i < TEXT_QPS; i++)
		for (size_t k = 0; k < rw_countof(keys); k++) {
			const size_t n = strlen(word_of(json_array_get(rows, i), keys[k]));
			if (n > width)
				width = n;
		}
	return (int)width;
}

static void text_qp(FILE *out, const json_t *qp, int width)
{
	char port[16], packets[GROUPED_MAX], octets[GROUPED_MAX];
	if (count_of(qp, "source_ports") == 1)
		snprintf(port, sizeof(port), "%" PRIu64, count_of(qp, "src_port"));
	else
		snprintf(port, sizeof(port), "x%" PRIu64, count_of(qp, "source_ports"));
	fprintf(out, "  %-*s %-*s 0x%06x %6s %10s %14s", width, word_of(qp, "src"), width,
		word_of(qp, "dst"), (unsigned)count_of(qp, "dst_qp"), port,
		grouped_of(packets, qp, "packets"), grouped_of(octets, qp, "octets"));
	fprintf(out,
		" %8" PRIu64 " %8" PRIu64 " %5" PRIu64 " %6" PRIu64 " %6" PRIu64 " %5" PRIu64
		" %5" PRIu64 " ",
		count_of(qp, "psn_first"), count_of(qp, "psn_last"), count_of(qp, "gaps"),
		count_of(qp, "retransmits"), count_of(qp, "ce"), count_of(qp, "cnp_returned"),
		count_of(qp, "nak_returned"));
	text_rate(out, 6, count_of(qp, "burst_bps"));
	fputc('\n', out);
}

static void text_qps(FILE *out, const json_t *document, bool header)
{
	const json_t *rows = json_object_get(document, "qps");
	const size_t n = json_array_size(rows);
	const int width = address_width(rows);
	if (header)
		fprintf(out, "\n  %-*s %-*s %-8s %6s %10s %14s %8s %8s %5s %6s %6s %5s %5s %13s\n",
			width, "SOURCE", width, "DESTINATION", "DST QP", "SPORT", "PACKETS",
			"OCTETS", "PSN", "..", "GAPS", "RETR", "CE", "CNP", "NAK", "PEAK IN 1 ms");
	for (size_t i = 0; i < n && i < TEXT_QPS; i++)
		text_qp(out, json_array_get(rows, i), width);
	if (n > TEXT_QPS)
		fprintf(out, "  and %zu more queue pair%s (--format json or csv has all)\n",
			n - TEXT_QPS, plural(n - TEXT_QPS));
}

/* ---- the report ---------------------------------------------------------- */

/* The training step, where packet times show it. */
static void text_rhythm(FILE *out, const json_t *document)
{
	const json_t *rhythm = json_object_get(document, "rhythm");
	const json_t *last = json_object_get(rhythm, "last_finisher");
	if (!rhythm)
		return;
	fprintf(out, "  step     %.5g s over %" PRIu64 " steps, packets come in %.3g s of it",
		json_real_value(json_object_get(rhythm, "step_s")), count_of(rhythm, "steps"),
		json_real_value(json_object_get(rhythm, "exchange_s")));
	if (json_is_object(last))
		fprintf(out, "; %s finishes last, by %.3g ms on average", word_of(last, "src"),
			1e3 * json_real_value(json_object_get(last, "later_by_s")));
	fputc('\n', out);
}

static void text_capture(FILE *out, const json_t *document, bool header)
{
	char packets[GROUPED_MAX], octets[GROUPED_MAX], roce[GROUPED_MAX], v1[GROUPED_MAX];
	char ok[GROUPED_MAX], bad[GROUPED_MAX], unchecked[GROUPED_MAX];
	fprintf(out, "%s: %s packets, %s octets in %.6f s from %s; RoCEv2 %s, RoCEv1 %s\n",
		word_of(document, "file"), grouped_of(packets, document, "packets"),
		grouped_of(octets, document, "octets"),
		json_real_value(json_object_get(document, "duration_s")), word_of(document, "from"),
		grouped_of(roce, document, "roce_packets"),
		grouped_of(v1, document, "rocev1_packets"));
	text_pfc(out, document);
	if (count_of(document, "roce_packets") == 0) {
		fprintf(out,
			"  No RoCEv2 packets. This is no sign of health. A capture on a switch's "
			"CPU port does not see what the ASIC forwards: use a mirror port or "
			"ERSPAN. A host's ordinary interface does not see what its RDMA NIC "
			"offloads.\n");
		text_counts(out, "errors", json_object_get(document, "errors"));
		return;
	}
	text_counts(out, "opcodes", json_object_get(document, "by_opcode"));
	text_entropy(out, document);
	text_ecn(out, document);
	text_loss(out, document);
	const json_t *icrc = json_object_get(document, "icrc");
	fprintf(out, "  icrc     %s ok, %s bad, %s unchecked (packets cut short)\n",
		grouped_of(ok, icrc, "ok"), grouped_of(bad, icrc, "bad"),
		grouped_of(unchecked, icrc, "unchecked"));
	fprintf(out, "  peak     ");
	text_rate(out, 0, count_of(document, "burst_bps"));
	fprintf(out, " in one millisecond\n");
	text_rhythm(out, document);
	text_counts(out, "errors", json_object_get(document, "errors"));
	text_qps(out, document, header);
}

static void pcap_text(
	FILE *out, const json_t *doc, const struct view *layout, bool color, bool header)
{
	const json_t *captures = json_object_get(doc, "captures");
	if (!captures) {
		text_capture(out, doc, header);
		return;
	}
	size_t i;
	json_t *capture;
	json_array_foreach ((json_t *)captures, i, capture) {
		if (i)
			fputc('\n', out);
		text_capture(out, capture, header);
	}
}

static const struct column pcap_columns[] = {
	{"file", NULL, COL_TEXT},
	{"src", NULL, COL_TEXT},
	{"dst", NULL, COL_TEXT},
	{"dst_qp", NULL, COL_INT},
	{"packets", NULL, COL_INT},
	{"octets", NULL, COL_INT},
	{"psn_first", NULL, COL_INT},
	{"psn_last", NULL, COL_INT},
	{"gaps", NULL, COL_INT},
	{"duplicates", NULL, COL_INT},
	{"retransmits", NULL, COL_INT},
	{"ce", NULL, COL_INT},
	{"cnp", NULL, COL_INT},
	{"src_port", NULL, COL_INT},
	{"missing", NULL, COL_INT},
	{"reordered", NULL, COL_INT},
	{"nak", NULL, COL_INT},
	{"rnr_nak", NULL, COL_INT},
	{"cnp_returned", NULL, COL_INT},
	{"nak_returned", NULL, COL_INT},
	{"burst_bps", NULL, COL_INT},
};
const struct view pcap_view = {.title = "RoCEv2 in captures",
	.rows = "qps",
	.columns = pcap_columns,
	.n_columns = rw_countof(pcap_columns),
	.text = pcap_text,
	.empty = "no RoCEv2 packets"};

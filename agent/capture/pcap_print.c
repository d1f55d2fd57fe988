/* pcap_print - json, jsonl and csv; the forms for people stand in files of their own. */
#include "agent/capture/pcap_print.h"

#include "agent/capture/pcap_facts.h"
#include "agent/capture/pcap_verdict.h"
#include "agent/capture/pcap_words.h"
#include "agent/document/json_value.h"
#include "agent/document/page.h"

/* ---- pcap_view ------------------------------------------------------------- */

/* pcap_view - the columns of the rows of a capture: for csv all, for people those that fit. */

extern const struct view pcap_view; /* csv */
extern const struct view pcap_view_short; /* table, html, md */

/* Columns are only added at the end: scripts count them. */
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
	{"transport", NULL, COL_TEXT},
	{"t_first", NULL, COL_TIME},
	{"t_last", NULL, COL_TIME},
	{"copies", NULL, COL_INT},
	{"rate_bps", NULL, COL_NUMBER},
	{"messages", NULL, COL_INT},
	{"events_total", NULL, COL_INT},
	{"stall_s", NULL, COL_NUMBER},
};
const struct view pcap_view = {.title = "RoCEv2 in captures",
	.rows = "qps",
	.columns = pcap_columns,
	.n_columns = rw_countof(pcap_columns),
	.empty = "no RoCEv2 packets"};

static const struct column pcap_columns_short[] = {
	{"src", "SOURCE", COL_TEXT},
	{"dst", "DESTINATION", COL_TEXT},
	{"dst_qp", "DST QP", COL_QP},
	{"packets", "PACKETS", COL_INT},
	{"octets", "OCTETS", COL_BYTES},
	{"rate_bps", "RATE", COL_BPS},
	{"gaps", "GAPS", COL_INT},
	{"retransmits", "RETR", COL_INT},
	{"refused", "NAK", COL_INT},
	{"ce", "CE", COL_INT},
	{"cnp_returned", "CNP", COL_INT},
	{"stall_s", "STALL", COL_DURATION_S},
};
const struct view pcap_view_short = {.rows = "qps",
	.columns = pcap_columns_short,
	.n_columns = rw_countof(pcap_columns_short),
	.empty = "no RoCEv2 packets"};

static void view_put_stall(json_t *row)
{
	json_t *stalls = json_object_get(row, "stalls"), *stall;
	double longest = 0;
	size_t i;
	if (!json_is_array(stalls))
		return;
	json_array_foreach (stalls, i, stall) {
		const double s = doc_number(stall, "s");
		if (s > longest)
			longest = s;
	}
	json_object_set_new(row, "stall_s", json_real(longest));
}

/* pcap_view_row - adds to a row what only its columns need: "stall_s", the longest stall, 0 where
 * none was seen; "refused", NAKs and RNR NAKs about it. */
static void pcap_view_row(json_t *row)
{
	const json_t *nak = json_object_get(row, "nak_returned");
	const json_t *rnr = json_object_get(row, "rnr_nak_returned");
	json_t *refused = json_null();
	if (json_is_integer(nak) && json_is_integer(rnr))
		refused = json_integer(json_integer_value(nak) + json_integer_value(rnr));
	json_object_set_new(row, "refused", refused);
	view_put_stall(row);
}

/* ---- pcap_tables ----------------------------------------------------------- */

/*
 * pcap_tables - the tables of a capture for people: senders that were told to slow down, receivers
 * of CE, pause frames by device, queue pairs. The forms table, html and md print the same ones.
 */

struct pcap_table {
	const char *title; /* one sentence: what the rows are */
	struct view view; /* .rows: the key in the document */
};
extern const struct pcap_table pcap_tables[]; /* ends with title NULL */
enum { PCAP_TABLE_ROWS = 10 }; /* printed of each, the first ones */

static const struct column reaction_columns[] = {
	{"host", "SENDER", COL_TEXT},
	{"ce", "CE SENT", COL_INT},
	{"cnp", "CNPS IN", COL_INT},
	{"rate_before_bps", "BEFORE", COL_BPS},
	{"rate_after_bps", "AFTER", COL_BPS},
	{"ratio", "RATIO", COL_NUMBER},
	{"n", "MEASURED", COL_INT},
	{"verdict", "VERDICT", COL_TEXT},
};

static const struct column receiver_columns[] = {
	{"host", "RECEIVER", COL_TEXT},
	{"ce", "CE IN", COL_INT},
	{"cnp", "CNPS SENT", COL_INT},
	{"cnp_per_ce_ratio", "CNP PER CE", COL_NUMBER},
	{"verdict", "VERDICT", COL_TEXT},
};

static const struct column pause_columns[] = {
	{"mac", "PAUSED BY", COL_TEXT},
	{"priority", "PRIORITY", COL_INT},
	{"xoff", "XOFF", COL_INT},
	{"xon", "XON", COL_INT},
	{"paused_s_low", "AT LEAST", COL_DURATION_S},
	{"paused_s_high", "AT MOST", COL_DURATION_S},
	{"longest_s", "LONGEST", COL_DURATION_S},
	{"duty_ratio_low", "DUTY FROM", COL_RATIO_PCT},
	{"duty_ratio_high", "TO", COL_RATIO_PCT},
};

const struct pcap_table pcap_tables[] = {
	{"Senders: what they did after CNPs told them to slow down",
		{.rows = "cnp_reaction",
			.columns = reaction_columns,
			.n_columns = rw_countof(reaction_columns)}},
	{"Receivers: whether they answer CE marks with CNPs",
		{.rows = "receivers",
			.columns = receiver_columns,
			.n_columns = rw_countof(receiver_columns)}},
	{"Pause: who stopped its neighbour, and for how long",
		{.rows = "pause",
			.columns = pause_columns,
			.n_columns = rw_countof(pause_columns)}},
	{NULL},
};

/* pcap_table_part - the first rows of @table as a document of their own; NULL: there is none.
 * *ret_n is how many there are in all. The caller owns it. */
static json_t *pcap_table_part(
	const struct pcap_table *table, const json_t *document, size_t *ret_n)
{
	const json_t *all = json_object_get(document, table->view.rows);
	*ret_n = json_array_size(all);
	if (*ret_n == 0)
		return NULL;
	json_t *some = json_array();
	for (size_t i = 0; i < *ret_n && i < PCAP_TABLE_ROWS; i++)
		json_array_append(some, json_array_get(all, i));
	json_t *part = json_object();
	json_object_set_new(part, table->view.rows, some);
	return part;
}

/* ---- pcap_chart ------------------------------------------------------------ */

/*
 * pcap_chart - the rate of a capture over its time, and when pause frames were seen, for a page.
 * From "rates" and "pause" of the document.
 */

enum { CHART_SLICES = 4096, CHART_PAUSES = 6 };

static int64_t chart_time(const json_t *object, const char *key)
{
	wall_t t = {0};
	(void)wall_parse(doc_word(object, key), (wall_t){0}, &t);
	return t.ns;
}

/* Slices without a packet do not stand in the document: their rate is 0. */
static json_t *chart_rates(const json_t *bins, double bin_s)
{
	const int64_t from_ns = chart_time(json_array_get(bins, 0), "t");
	json_t *rates = json_array();
	for (size_t i = 0; i < json_array_size(bins); i++) {
		const json_t *bin = json_array_get(bins, i);
		const double slice = (double)(chart_time(bin, "t") - from_ns) / (bin_s * 1e9);
		while ((double)json_array_size(rates) + 0.5 < slice &&
			json_array_size(rates) < CHART_SLICES)
			json_array_append_new(rates, json_real(0));
		json_array_append_new(
			rates, json_number_or_null(doc_number(bin, "octets") * 8 / bin_s));
	}
	return rates;
}

static void chart_pauses(struct page *page, const json_t *pauses)
{
	for (size_t i = 0; i < json_array_size(pauses) && i < CHART_PAUSES; i++) {
		const json_t *pause = json_array_get(pauses, i);
		page_factf(page, "paused", "priority %.0f from %s to %s",
			doc_number(pause, "priority"), doc_word(pause, "t_first"),
			doc_word(pause, "t_last"));
	}
}

/* pcap_chart - adds nothing when the document has fewer than two slices. */
static void pcap_chart(struct page *page, const json_t *document)
{
	const json_t *rates = json_object_get(document, "rates");
	const json_t *bins = json_object_get(rates, "bins");
	const double bin_s = doc_number(rates, "bin_s");
	const size_t n = json_array_size(bins);
	char until[WALL_TEXT_MAX];
	if (n < 2 || !(bin_s > 0))
		return;
	const wall_t end = {
		chart_time(json_array_get(bins, n - 1), "t") + (int64_t)(bin_s * NS_PER_S)};
	wall_format(until, end, 3);
	struct page_block *times = page_times(page, "Rate of the data packets", "bit/s",
		doc_word(json_array_get(bins, 0), "t"), until, PAGE_COLUMNS);
	json_t *drawn = chart_rates(bins, bin_s);
	page_series_tree(times, "", drawn);
	json_decref(drawn);
	chart_pauses(page, json_object_get(document, "pause"));
}

/* ---- pcap_page ------------------------------------------------------------- */

/*
 * pcap_page - the report of a capture as a page for a mail or a ticket: html in one file with a
 * chart of the rate and the pauses, or markdown. The same verdicts, lines and tables as the text.
 */

enum { PAGE_EVENTS = 50 };

static void page_put_verdicts(struct page *page, const json_t *document)
{
	json_t *row;
	size_t i;
	json_array_foreach (json_object_get(document, "verdicts"), i, row) {
		rw_cleanup(str_done) struct str text = {0};
		const struct pcap_verdict_info *info = pcap_verdict_named(doc_word(row, "kind"));
		str_add(&text, doc_word(row, "text"));
		if (words_number(row, "more"))
			str_addf(&text, "; and %s more of this kind",
				number_count(words_number(row, "more")).s);
		if (info && info->severity >= PCAP_WARNING)
			str_addf(&text, ". What to do: %s", info->help);
		page_fact(page, doc_word(row, "severity"), text.s);
	}
}

static void page_put_line(void *arg, const char *label, const char *text)
{
	page_fact(arg, label, text);
}

static void page_put_table(
	struct page *page, const struct pcap_table *table, const json_t *document)
{
	size_t n;
	json_t *part = pcap_table_part(table, document, &n);
	if (!part)
		return;
	page_heading(page, "%s", table->title);
	page_table(page, NULL, table->view.columns, table->view.n_columns,
		json_object_get(part, table->view.rows));
	json_decref(part);
}

static void page_put_events(struct page *page, const json_t *rows)
{
	size_t i, k, shown = 0;
	json_t *row, *event;
	json_array_foreach ((json_t *)rows, i, row)
		json_array_foreach (json_object_get(row, "events"), k, event) {
			if (shown >= PAGE_EVENTS)
				break;
			if (shown++ == 0)
				page_heading(page, "What happened");
			rw_cleanup(str_done) struct str text = {0};
			str_addf(&text, "%s ", doc_word(event, "t"));
			words_qp(&text, row);
			str_addf(&text, ": %s", doc_word(event, "proof"));
			page_fact(page, doc_word(event, "cause"), text.s);
		}
}

static void page_put_qps(struct page *page, const struct pcap_report *report)
{
	json_t *rows = json_array();
	for (size_t i = 0; i < report->rows.n; i++) {
		json_t *row = pcap_report_row(report, i);
		pcap_view_row(row);
		json_array_append_new(rows, row);
	}
	if (report->rows.n)
		page_heading(page, "Queue pairs, one direction a row");
	page_table(page, NULL, pcap_view_short.columns, pcap_view_short.n_columns, rows);
	if (report->rows.all > report->rows.n)
		page_textf(page, "%zu more: --top 0 prints all", report->rows.all - report->rows.n);
	page_put_events(page, rows);
	json_decref(rows);
}

/* pcap_page - adds the report of one capture to @page. */
static void pcap_page(struct page *page, const struct pcap_report *report)
{
	const json_t *document = report->document;
	page_heading(page, "Capture %s", doc_word(document, "file"));
	page_put_verdicts(page, document);
	pcap_chart(page, document);
	page_heading(page, "Summary");
	pcap_facts(document, page_put_line, page);
	for (const struct pcap_table *table = pcap_tables; table->title; table++)
		page_put_table(page, table, document);
	page_put_qps(page, report);
}

/* ---- pcap_text ------------------------------------------------------------- */

/*
 * pcap_text - the report of a capture for people: the verdicts, the worst first; what was captured;
 * tables of senders, pause frames and queue pairs; what happened to the queue pairs shown.
 */

struct pcap_text_style {
	size_t width; /* columns */
	bool color, header;
};

enum { TEXT_EVENTS = 10, TEXT_EVENTS_PER_QP = 3 };

/* ---- verdicts ----------------------------------------------------------------------- */

static const char *text_severity_color(const char *severity)
{
	static const struct {
		const char *severity, *color;
	} rows[] = {{"critical", "\033[1;31m"}, {"warning", "\033[33m"}, {"ok", "\033[32m"}};
	for (size_t i = 0; i < rw_countof(rows); i++)
		if (str_eq(rows[i].severity, severity))
			return rows[i].color;
	return "";
}

/* The severity in capitals, and the sentence beside it. */
static void text_verdict(FILE *out, const json_t *row, const struct pcap_text_style *style)
{
	rw_cleanup(str_done) struct str text = {0};
	char label[16];
	const char *severity = doc_word(row, "severity"), *color = "";
	size_t n = 0;
	for (; severity[n] && n + 1 < sizeof(label); n++)
		label[n] = (char)(severity[n] - 'a' + 'A');
	label[n] = '\0';
	str_add(&text, doc_word(row, "text"));
	if (words_number(row, "more"))
		str_addf(&text, "; and %s more of this kind",
			number_count(words_number(row, "more")).s);
	if (style->color)
		color = text_severity_color(severity);
	fputs(color, out);
	words_put(out, style->width, label, text.s);
	fputs(str_if(*color, "\033[0m"), out);
}

/* text_help - what to do about this kind, once behind its last sentence. */
static void text_help(FILE *out, const json_t *row, const struct pcap_text_style *style)
{
	rw_cleanup(str_done) struct str text = {0};
	const struct pcap_verdict_info *info = pcap_verdict_named(doc_word(row, "kind"));
	const bool asks = info && info->severity >= PCAP_WARNING;
	if (!asks)
		return;
	str_addf(&text, "-> %s", info->help);
	words_put(out, style->width, "", text.s);
}

static void text_verdicts(FILE *out, const json_t *document, const struct pcap_text_style *style)
{
	const json_t *list = json_object_get(document, "verdicts");
	const size_t n = json_array_size(list);
	for (size_t i = 0; i < n; i++) {
		const json_t *row = json_array_get(list, i), *next = json_array_get(list, i + 1);
		text_verdict(out, row, style);
		if (!next || !str_eq(doc_word(row, "kind"), doc_word(next, "kind")))
			text_help(out, row, style);
	}
	if (n)
		fputc('\n', out);
}

/* ---- summary ------------------------------------------------------------------------- */

struct text_lines {
	FILE *out;
	size_t width;
};

static void text_fact(void *arg, const char *label, const char *text)
{
	const struct text_lines *lines = arg;
	words_put(lines->out, lines->width, label, text);
}

static void text_table(FILE *out, const struct pcap_table *table, const json_t *document,
	const struct pcap_text_style *style)
{
	size_t n;
	json_t *part = pcap_table_part(table, document, &n);
	if (!part)
		return;
	fprintf(out, "\n%s\n", table->title);
	report_print(out, part, &table->view, FORMAT_TABLE, style->header, style->color);
	if (n > PCAP_TABLE_ROWS)
		fprintf(out, "... %zu more: --format json has all\n", n - PCAP_TABLE_ROWS);
	json_decref(part);
}

/* ---- queue pairs ------------------------------------------------------------------------ */

/* text_unknown - whether a cell of the columns printed is unknown. */
static bool text_unknown(const json_t *rows)
{
	const struct view *view = &pcap_view_short;
	for (size_t i = 0; i < json_array_size(rows); i++)
		for (size_t c = 0; c < view->n_columns; c++)
			if (json_is_null(
				    json_object_get(json_array_get(rows, i), view->columns[c].key)))
				return true;
	return false;
}

static void text_footnotes(FILE *out, const struct pcap_report *report, const json_t *rows,
	const struct pcap_text_style *style)
{
	rw_cleanup(str_done) struct str text = {0};
	const json_t *sampling = json_object_get(report->document, "sampling");
	if (text_unknown(rows)) {
		const char *reason = doc_word(sampling, "reason");
		str_add(&text, "not known, or the row carries answers only");
		if (!*reason)
			reason = doc_word(report->document, "nak_reason");
		if (*reason)
			str_addf(&text, "; %s", reason);
		words_put(out, style->width, "-", text.s);
	}
	if (report->rows.all > report->rows.n)
		fprintf(out, "... %zu more: --top 0 prints all, --sort chooses the first\n",
			report->rows.all - report->rows.n);
}

static json_t *text_rows(const struct pcap_report *report)
{
	json_t *rows = json_array();
	for (size_t i = 0; i < report->rows.n; i++) {
		json_t *row = pcap_report_row(report, i);
		pcap_view_row(row);
		json_array_append_new(rows, row);
	}
	return rows;
}

static void text_qps(FILE *out, const struct pcap_report *report, json_t *rows,
	const struct pcap_text_style *style)
{
	if (json_array_size(rows) == 0)
		return;
	json_t *part = json_object();
	json_object_set(part, "qps", rows);
	fputs("\nQueue pairs, one direction a row; NAK (with RNR) and CNP: sent by the receiver "
	      "about it\n",
		out);
	report_print(out, part, &pcap_view_short, FORMAT_TABLE, style->header, style->color);
	text_footnotes(out, report, rows, style);
	json_decref(part);
}

/* ---- events ------------------------------------------------------------------------------- */

struct text_event {
	const json_t *row, *event; /* lent */
	size_t rank, at; /* of its cause among the kinds of verdicts; as it was found */
};

static int text_event_by_rank(const void *left, const void *right)
{
	const struct text_event *a = left, *b = right;
	if (a->rank != b->rank)
		return (a->rank > b->rank) - (a->rank < b->rank);
	return (a->at > b->at) - (a->at < b->at);
}

/* Causes are ranked like the verdicts of the same name; others come last. */
static size_t text_event_rank(const json_t *event)
{
	const struct pcap_verdict_info *info = pcap_verdict_named(doc_word(event, "cause"));
	if (!info)
		return PCAP_VERDICT_COUNT;
	return (size_t)(info - pcap_verdict_info((enum pcap_verdict)0));
}

static void text_event(
	FILE *out, const struct text_event *event, const struct pcap_text_style *style)
{
	rw_cleanup(str_done) struct str text = {0};
	words_clock(&text, doc_word(event->event, "t"));
	str_addf(&text, "  %s  ", doc_word(event->event, "cause"));
	words_qp(&text, event->row);
	fprintf(out, "%s\n", text.s);
	words_put(out, style->width, "", doc_word(event->event, "proof"));
}

/* The first events of each row; returns how many. *ret_all: of all rows together. */
static size_t text_events_of(const json_t *rows, struct text_event *ret, uint64_t *ret_all)
{
	size_t i, k, n = 0;
	json_t *row, *event;
	*ret_all = 0;
	json_array_foreach ((json_t *)rows, i, row) {
		*ret_all += words_number(row, "events_total");
		json_array_foreach (json_object_get(row, "events"), k, event) {
			if (k >= TEXT_EVENTS_PER_QP)
				break;
			ret[n] = (struct text_event){row, event, text_event_rank(event), n};
			n++;
		}
	}
	return n;
}

/* text_events - the worst events of the rows printed, few of each. */
static void text_events(FILE *out, const json_t *rows, const struct pcap_text_style *style)
{
	const size_t room = json_array_size(rows) * TEXT_EVENTS_PER_QP + 1;
	rw_cleanup(freep) struct text_event *events = rw_calloc(room, sizeof(*events));
	uint64_t all;
	const size_t n = text_events_of(rows, events, &all);
	if (n == 0)
		return;
	qsort(events, n, sizeof(*events), text_event_by_rank);
	fputs("\nWhat happened to them, the worst first\n", out);
	size_t shown = 0;
	for (; shown < n && shown < TEXT_EVENTS; shown++)
		text_event(out, &events[shown], style);
	if (all > shown)
		fprintf(out, "... %s more: --format json has them by queue pair\n",
			number_count(all - shown).s);
}

/* ---- the report ---------------------------------------------------------------------------- */

static void pcap_text(
	FILE *out, const struct pcap_report *report, const struct pcap_text_style *style)
{
	const json_t *document = report->document;
	json_t *rows = text_rows(report);
	words_put(out, style->width, "file", doc_word(document, "file"));
	text_verdicts(out, document, style);
	pcap_facts(document, text_fact, &(struct text_lines){out, style->width});
	for (const struct pcap_table *table = pcap_tables; table->title; table++)
		text_table(out, table, document, style);
	text_qps(out, report, rows, style);
	text_events(out, rows, style);
	json_decref(rows);
}

/* ---- pcap_print ------------------------------------------------------------ */

/* 15 digits: 0.2 stays 0.2; counters are integers and keep every digit. */
#define PRINT_NUMBERS (JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY)
enum { PRINT_ROWS = 512 }; /* of csv, made at a time */
enum { PRINT_PIECE = 65536 }; /* bytes of rows that are written at once */

/* ---- json ------------------------------------------------------------------------ */

/* print_value - @value, its further lines @indent columns to the right. */
static void print_value(FILE *out, const json_t *value, int indent)
{
	rw_cleanup(freep) char *text = json_dumps(value, PRINT_NUMBERS | JSON_INDENT(2));
	for (const char *at = text; at && *at;) {
		const size_t n = strcspn(at, "\n");
		fwrite(at, 1, n, out);
		at += n;
		if (*at != '\n')
			break;
		fprintf(out, "\n%*s", indent, "");
		at++;
	}
}

/* print_pass - what waits in @text goes out, once it is much or is the @last. */
static void print_pass(FILE *out, struct str *text, bool last)
{
	if (text->n == 0 || (!last && text->n < PRINT_PIECE))
		return;
	fwrite(text->s, 1, text->n, out);
	text->n = 0;
}

static void print_json_rows(FILE *out, const struct pcap_report *report, int indent)
{
	rw_cleanup(str_done) struct str text = {0};
	fprintf(out, "%*s\"qps\": [", indent + 2, "");
	for (size_t i = 0; i < report->rows.n; i++) {
		str_addf(&text, "%s\n%*s", str_if(i, ","), indent + 4, "");
		pcap_report_row_text(report, i, NULL, &text);
		print_pass(out, &text, false);
	}
	print_pass(out, &text, true);
	if (report->rows.n)
		fprintf(out, "\n%*s", indent + 2, "");
	fputc(']', out);
}

static void print_json(const struct pcap_printer *printer, const struct pcap_report *report)
{
	FILE *out = printer->out;
	const int indent = printer->many ? 4 : 0;
	const char *key;
	json_t *value;
	if (printer->many)
		fprintf(out, "%s\n%*s", str_if(printer->n, ","), indent, "");
	fputs("{\n", out);
	json_object_foreach (report->document, key, value) {
		json_t *name = json_string(key);
		fprintf(out, "%*s", indent + 2, "");
		print_value(out, name, 0);
		fputs(": ", out);
		print_value(out, value, indent + 2);
		fputs(",\n", out);
		json_decref(name);
	}
	print_json_rows(out, report, indent);
	fprintf(out, "\n%*s}", indent, "");
}

/* ---- jsonl ------------------------------------------------------------------------ */

static void print_jsonl_report(FILE *out, const struct pcap_report *report)
{
	rw_cleanup(str_done) struct str text = {0};
	json_t *file = json_object_get(report->document, "file");
	json_t *line = json_pack("{s:s, s:O}", "type", "capture", "file", file);
	json_object_update_missing(line, report->document);
	json_dumpf(line, out, PRINT_NUMBERS | JSON_COMPACT);
	fputc('\n', out);
	json_decref(line);
	for (size_t i = 0; i < report->rows.n; i++) {
		pcap_report_row_text(report, i, file, &text);
		str_addn(&text, "\n", 1);
		print_pass(out, &text, false);
	}
	print_pass(out, &text, true);
}

/* ---- csv ---------------------------------------------------------------------------- */

/* print_rows_some - rows from @at on, as a document of their own. */
static json_t *print_rows_some(const struct pcap_report *report, size_t at)
{
	json_t *file = json_object_get(report->document, "file");
	json_t *rows = json_array();
	for (size_t i = at; i < report->rows.n && i < at + PRINT_ROWS; i++) {
		json_t *row = pcap_report_row(report, i);
		pcap_view_row(row);
		json_object_set(row, "file", file);
		json_array_append_new(rows, row);
	}
	return json_pack("{s:o}", "qps", rows);
}

static void print_csv_report(const struct pcap_printer *printer, const struct pcap_report *report)
{
	bool header = printer->header && printer->n == 0;
	for (size_t at = 0; at == 0 || at < report->rows.n; at += PRINT_ROWS) {
		json_t *some = print_rows_some(report, at);
		report_print(printer->out, some, &pcap_view, FORMAT_CSV, header, false);
		json_decref(some);
		header = false;
	}
}

/* ---- all formats ------------------------------------------------------------------------ */

static bool print_is_page(const struct pcap_printer *printer)
{
	return printer->format == FORMAT_HTML || printer->format == FORMAT_MD;
}

static void print_begin(struct pcap_printer *printer)
{
	if (printer->format == FORMAT_JSON && printer->many)
		fputs("{\n  \"captures\": [", printer->out);
	if (print_is_page(printer))
		printer->page = page_new("RoCEv2 in captures");
}

void pcap_print_report(struct pcap_printer *printer, const struct pcap_report *report)
{
	const struct pcap_text_style style = {printer->width, printer->color, printer->header};
	if (printer->n == 0)
		print_begin(printer);
	switch (printer->format) {
	case FORMAT_JSON: print_json(printer, report); break;
	case FORMAT_JSONL: print_jsonl_report(printer->out, report); break;
	case FORMAT_CSV: print_csv_report(printer, report); break;
	case FORMAT_HTML:
	case FORMAT_MD: pcap_page(printer->page, report); break;
	case FORMAT_TABLE:
		if (printer->n)
			fputc('\n', printer->out);
		pcap_text(printer->out, report, &style);
		break;
	}
	printer->n++;
}

int pcap_print_end(struct pcap_printer *printer)
{
	if (printer->n && printer->format == FORMAT_JSON && printer->many)
		fputs("\n  ]\n}", printer->out);
	if (printer->n && printer->format == FORMAT_JSON)
		fputc('\n', printer->out);
	if (printer->page) {
		const struct page_style style = {.format = printer->format};
		page_print(printer->out, printer->page, &style);
		page_free(printer->page);
		printer->page = NULL;
	}
	if (fflush(printer->out) == 0 && !ferror(printer->out))
		return 0;
	return -EIO;
}

/* pcap_text - the report as text: sections in the order in which a capture is judged. */
#include "agent/capture/pcap_text.h"

#include <stdlib.h>

#include "agent/base/number.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/capture/pcap_facts.h"
#include "agent/capture/pcap_tables.h"
#include "agent/capture/pcap_verdict.h"
#include "agent/capture/pcap_view.h"
#include "agent/capture/pcap_words.h"
#include "agent/document/json_value.h"

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

static void text_facts(FILE *out, const json_t *document, const struct pcap_text_style *style)
{
	for (const struct pcap_fact *fact = pcap_facts; fact->label; fact++) {
		rw_cleanup(str_done) struct str text = {0};
		fact->say(&text, document);
		if (text.n)
			words_put(out, style->width, fact->label, text.s);
	}
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
	words_clock(&text, event->event, "t");
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

void pcap_text(FILE *out, const struct pcap_report *report, const struct pcap_text_style *style)
{
	const json_t *document = report->document;
	json_t *rows = text_rows(report);
	words_put(out, style->width, "file", doc_word(document, "file"));
	text_verdicts(out, document, style);
	text_facts(out, document, style);
	for (const struct pcap_table *table = pcap_tables; table->title; table++)
		text_table(out, table, document, style);
	text_qps(out, report, rows, style);
	text_events(out, rows, style);
	json_decref(rows);
}

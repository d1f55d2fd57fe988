/* pcap_page - headings, lines and tables in html and markdown. */
#include "agent/capture/pcap_page.h"

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/capture/pcap_chart.h"
#include "agent/capture/pcap_facts.h"
#include "agent/capture/pcap_tables.h"
#include "agent/capture/pcap_verdict.h"
#include "agent/capture/pcap_view.h"
#include "agent/capture/pcap_words.h"
#include "agent/document/json_value.h"
#include "agent/document/writer.h"

enum { PAGE_EVENTS = 50 };

static void page_put_heading(FILE *out, const char *text, enum report_format format)
{
	if (format == FORMAT_HTML)
		fputs("<h2>", out);
	else
		fputs("\n## ", out);
	report_page_text(out, text, format);
	if (format == FORMAT_HTML)
		fputs("</h2>\n", out);
	else
		fputs("\n\n", out);
}

/* page_put_item - "LABEL: TEXT", one of a list. */
static void page_put_item(FILE *out, const char *label, const char *text, enum report_format format)
{
	if (format == FORMAT_HTML)
		fputs("<li><b>", out);
	else
		fputs("- **", out);
	report_page_text(out, label, format);
	if (format == FORMAT_HTML)
		fputs("</b>: ", out);
	else
		fputs("**: ", out);
	report_page_text(out, text, format);
	if (format == FORMAT_HTML)
		fputs("</li>", out);
	fputc('\n', out);
}

static void page_put_list(FILE *out, bool begin, enum report_format format)
{
	if (format == FORMAT_HTML && begin)
		fputs("<ul>\n", out);
	if (format == FORMAT_HTML && !begin)
		fputs("</ul>\n", out);
}

static void page_put_verdicts(FILE *out, const json_t *document, enum report_format format)
{
	json_t *row;
	size_t i;
	page_put_list(out, true, format);
	json_array_foreach (json_object_get(document, "verdicts"), i, row) {
		rw_cleanup(str_done) struct str text = {0};
		const struct pcap_verdict_info *info = pcap_verdict_named(doc_word(row, "kind"));
		str_add(&text, doc_word(row, "text"));
		if (words_number(row, "more"))
			str_addf(&text, "; and %s more of this kind",
				words_text(words_number(row, "more")).s);
		if (info && info->severity >= PCAP_WARNING)
			str_addf(&text, ". What to do: %s", info->help);
		page_put_item(out, doc_word(row, "severity"), text.s, format);
	}
	page_put_list(out, false, format);
}

static void page_put_facts(FILE *out, const json_t *document, enum report_format format)
{
	page_put_heading(out, "Summary", format);
	page_put_list(out, true, format);
	for (const struct pcap_fact *fact = pcap_facts; fact->label; fact++) {
		rw_cleanup(str_done) struct str text = {0};
		fact->say(&text, document);
		if (text.n)
			page_put_item(out, fact->label, text.s, format);
	}
	page_put_list(out, false, format);
}

static void page_put_table(FILE *out, const struct pcap_table *table, const json_t *document,
	enum report_format format)
{
	size_t n;
	json_t *part = pcap_table_part(table, document, &n);
	if (!part)
		return;
	page_put_heading(out, table->title, format);
	report_page_table(out, part, &table->view, format);
	json_decref(part);
}

static void page_put_events(FILE *out, const json_t *rows, enum report_format format)
{
	size_t i, k, shown = 0;
	json_t *row, *event;
	json_array_foreach ((json_t *)rows, i, row)
		json_array_foreach (json_object_get(row, "events"), k, event) {
			if (shown >= PAGE_EVENTS)
				break;
			if (shown++ == 0) {
				page_put_heading(out, "What happened", format);
				page_put_list(out, true, format);
			}
			rw_cleanup(str_done) struct str text = {0};
			str_addf(&text, "%s ", doc_word(event, "t"));
			words_qp(&text, row);
			str_addf(&text, ": %s", doc_word(event, "proof"));
			page_put_item(out, doc_word(event, "cause"), text.s, format);
		}
	if (shown)
		page_put_list(out, false, format);
}

static void page_put_qps(FILE *out, const struct pcap_report *report, enum report_format format)
{
	json_t *rows = json_array(), *part = json_object();
	char more[128];
	for (size_t i = 0; i < report->rows.n; i++) {
		json_t *row = pcap_report_row(report, i);
		pcap_view_row(row);
		json_array_append_new(rows, row);
	}
	json_object_set(part, "qps", rows);
	if (report->rows.n) {
		page_put_heading(out, "Queue pairs, one direction a row", format);
		report_page_table(out, part, &pcap_view_short, format);
	}
	if (report->rows.all > report->rows.n) {
		snprintf(more, sizeof(more), "%zu more: --top 0 prints all",
			report->rows.all - report->rows.n);
		if (format == FORMAT_HTML)
			fprintf(out, "<p>%s</p>\n", more);
		else
			fprintf(out, "\n%s\n", more);
	}
	page_put_events(out, rows, format);
	json_decref(rows);
	json_decref(part);
}

void pcap_page_begin(FILE *out, enum report_format format)
{
	report_page_begin(out, "RoCEv2 in captures", format);
}

void pcap_page(FILE *out, const struct pcap_report *report, enum report_format format)
{
	const json_t *document = report->document;
	rw_cleanup(str_done) struct str title = {0};
	str_addf(&title, "Capture %s", doc_word(document, "file"));
	page_put_heading(out, title.s, format);
	page_put_verdicts(out, document, format);
	if (format == FORMAT_HTML)
		pcap_chart(out, document);
	page_put_facts(out, document, format);
	for (const struct pcap_table *table = pcap_tables; table->title; table++)
		page_put_table(out, table, document, format);
	page_put_qps(out, report, format);
}

void pcap_page_end(FILE *out, enum report_format format)
{
	report_page_end(out, format);
}

/* pcap_page - what stands on the page of a capture. */
#include "agent/capture/pcap_page.h"

#include "agent/base/number.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/capture/pcap_chart.h"
#include "agent/capture/pcap_facts.h"
#include "agent/capture/pcap_tables.h"
#include "agent/capture/pcap_verdict.h"
#include "agent/capture/pcap_view.h"
#include "agent/capture/pcap_words.h"
#include "agent/document/json_value.h"
#include "agent/document/page.h"

enum { PAGE_EVENTS = 50 };

static void page_put_verdicts(json_t *page, const json_t *document)
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

static void page_put_facts(json_t *page, const json_t *document)
{
	page_heading(page, "Summary");
	for (const struct pcap_fact *fact = pcap_facts; fact->label; fact++) {
		rw_cleanup(str_done) struct str text = {0};
		fact->say(&text, document);
		if (text.n)
			page_fact(page, fact->label, text.s);
	}
}

static void page_put_table(json_t *page, const struct pcap_table *table, const json_t *document)
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

static void page_put_events(json_t *page, const json_t *rows)
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

static void page_put_qps(json_t *page, const struct pcap_report *report)
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

void pcap_page(json_t *page, const struct pcap_report *report)
{
	const json_t *document = report->document;
	page_heading(page, "Capture %s", doc_word(document, "file"));
	page_put_verdicts(page, document);
	pcap_chart(page, document);
	page_put_facts(page, document);
	for (const struct pcap_table *table = pcap_tables; table->title; table++)
		page_put_table(page, table, document);
	page_put_qps(page, report);
}

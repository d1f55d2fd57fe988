/* pcap_print - json, jsonl and csv; the forms for people stand in files of their own. */
#include "agent/capture/pcap_print.h"

#include <errno.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/capture/pcap_page.h"
#include "agent/capture/pcap_text.h"
#include "agent/capture/pcap_view.h"
#include "agent/document/page.h"

/* 15 digits: 0.2 stays 0.2; counters are integers and keep every digit. */
#define PRINT_NUMBERS (JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY)
enum { PRINT_ROWS = 512 }; /* of csv, made at a time */
enum { PRINT_LINE = 16384 }; /* bytes of a row that needs no memory of its own */

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

/* print_line_of - as json_dumpf(), in one piece: that writes each bracket and key by itself, which
 * was a third of the time of a long report. */
static void print_line_of(FILE *out, const json_t *value, size_t flags)
{
	char usual[PRINT_LINE];
	const size_t n = json_dumpb(value, usual, sizeof(usual), flags);
	if (n <= sizeof(usual)) {
		fwrite(usual, 1, n, out);
		return;
	}
	rw_cleanup(freep) char *text = json_dumps(value, flags);
	if (text)
		fputs(text, out);
}

static void print_json_rows(FILE *out, const struct pcap_report *report, int indent)
{
	fprintf(out, "%*s\"qps\": [", indent + 2, "");
	for (size_t i = 0; i < report->rows.n; i++) {
		json_t *row = pcap_report_row(report, i);
		fprintf(out, "%s\n%*s", str_if(i, ","), indent + 4, "");
		print_line_of(out, row, PRINT_NUMBERS);
		json_decref(row);
	}
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

static void print_line(FILE *out, const char *type, const json_t *file, json_t *object)
{
	json_t *line = json_object();
	json_object_set_new(line, "type", json_string(type));
	json_object_set(line, "file", (json_t *)file);
	json_object_update_missing(line, object);
	print_line_of(out, line, PRINT_NUMBERS | JSON_COMPACT);
	fputc('\n', out);
	json_decref(line);
}

static void print_jsonl_report(FILE *out, const struct pcap_report *report)
{
	const json_t *file = json_object_get(report->document, "file");
	print_line(out, "capture", file, report->document);
	for (size_t i = 0; i < report->rows.n; i++) {
		json_t *row = pcap_report_row(report, i);
		print_line(out, "qp", file, row);
		json_decref(row);
	}
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
		json_decref(printer->page);
		printer->page = NULL;
	}
	if (fflush(printer->out) == 0 && !ferror(printer->out))
		return 0;
	return -EIO;
}

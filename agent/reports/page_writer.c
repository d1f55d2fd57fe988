/* page_writer - writes headings, paragraphs, tables and commands as text, markdown or html. */
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/base/text_clean.h"
#include "agent/reports/page_writer.h"
#include "agent/reports/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#define LABEL 13
#define WIDTH_MAX 120
#define WIDTH_USUAL 100

int tune_width(FILE *out)
{
	return (int)text_width(out, WIDTH_USUAL, WIDTH_MAX);
}

static size_t page_writer_columns_of(const char *text, size_t bytes)
{
	size_t n = 0;
	for (size_t k = 0; k < bytes; k++)
		n += ((unsigned char)text[k] & 0xc0) != 0x80;
	return n;
}

/* @n bytes: a blank for each control character, an escape for what a page would take for markup. */
static void page_writer_put(FILE *out, const struct tune_page *page, const char *text, size_t n)
{
	rw_cleanup(freep) char *clean = rw_calloc(n + 1, 1);
	text_clean(clean, n + 1, text, n);
	for (const char *at = clean; *at; at++) {
		const unsigned char c = (unsigned char)*at;
		if (page->format == FORMAT_HTML && c == '<')
			fputs("&lt;", out);
		else if (page->format == FORMAT_HTML && c == '>')
			fputs("&gt;", out);
		else if (page->format == FORMAT_HTML && c == '&')
			fputs("&amp;", out);
		else if (page->format == FORMAT_MD && strchr("|*_<`", c))
			fprintf(out, "\\%c", c);
		else
			fputc(c, out);
	}
}

static void put_all(FILE *out, const struct tune_page *page, const char *text)
{
	page_writer_put(out, page, text, strlen(text));
}

/* Words from column @at on, further lines from column @indent on. */
static void put_wrapped(FILE *out, const struct tune_page *page, const char *text, size_t indent)
{
	size_t at = indent;
	bool first = true;
	for (const char *s = text; *s;) {
		const size_t blanks = strspn(s, " \n\t");
		s += blanks;
		const size_t n = strcspn(s, " \n\t");
		if (n == 0)
			break;
		const size_t wide = page_writer_columns_of(s, n);
		if (!first && at + 1 + wide > (size_t)page->width) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
			first = true;
		}
		if (!first)
			fputc(' ', out);
		page_writer_put(out, page, s, n);
		at += wide + !first;
		first = false;
		s += n;
	}
	fputc('\n', out);
}

void page_begin(FILE *out, const struct tune_page *page, const char *title)
{
	static const char head[] =
		"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
		"name=\"viewport\" content=\"width=device-width\"><title>";
	static const char style[] =
		"</title><style>\n"
		"body{font:15px/1.45 "
		"system-ui,sans-serif;color:#1a1d21;background:#fff;max-width:70em;margin:2em "
		"auto;padding:0 1em}\n"
		"h2{font-size:1.15em;border-top:3px solid "
		"#1a1d21;padding-top:.6em;margin-top:2.2em}\n"
		"dl{display:grid;grid-template-columns:9em 1fr;gap:.2em 1em;margin:.6em "
		"0}dt{color:#5b6570}dd{margin:0}\n"
		"table{border-collapse:collapse;margin:.8em "
		"0;width:100%}th,td{text-align:left;vertical-align:top;padding:.3em .8em .3em "
		"0;border-bottom:1px solid #d6dbe0}\n"
		"th{color:#5b6570;font-weight:600}pre{background:#f3f5f7;padding:.8em;overflow-x:"
		"auto;font-size:13px;line-height:1.35}\n"
		"@media "
		"(prefers-color-scheme:dark){body{color:#e3e6ea;background:#15181c}h2{border-color:"
		"#e3e6ea}dt,th{color:#9aa5b1}td,th{border-color:#333a42}pre{background:#1f242a}}\n"
		"</style></head><body>\n";
	if (page->format != FORMAT_HTML)
		return;
	fputs(head, out);
	put_all(out, page, title);
	fputs(style, out);
}

void page_end(FILE *out, const struct tune_page *page)
{
	if (page->format == FORMAT_HTML)
		fputs("</body></html>\n", out);
}

void page_heading(FILE *out, const struct tune_page *page, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (page->format == FORMAT_HTML) {
		fputs("<h2>", out);
		put_all(out, page, text);
		fputs("</h2>\n", out);
	} else if (page->format == FORMAT_MD) {
		fputs("## ", out);
		put_all(out, page, text);
		fputs("\n\n", out);
	} else {
		fputs(str_if(page->color, "\033[1m"), out);
		put_wrapped(out, page, text, 0);
		fputs(str_if(page->color, "\033[0m"), out);
	}
}

void page_line(FILE *out, const struct tune_page *page, const char *label, const char *text)
{
	if (!text || !*text)
		return;
	if (page->format == FORMAT_HTML) {
		fputs("<dl><dt>", out);
		put_all(out, page, label);
		fputs("</dt><dd>", out);
		put_all(out, page, text);
		fputs("</dd></dl>\n", out);
	} else if (page->format == FORMAT_MD) {
		fprintf(out, *label ? "- **%s**: " : "  %s", label);
		put_all(out, page, text);
		fputc('\n', out);
	} else {
		fprintf(out, "%-*s", LABEL, label);
		put_wrapped(out, page, text, LABEL);
	}
}

void page_linef(FILE *out, const struct tune_page *page, const char *label, const char *fmt, ...)
{
	char text[2048];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	page_line(out, page, label, text);
}

static void table_text(FILE *out, const struct tune_page *page, const char *const *headers,
	size_t n, const struct page_row *rows, size_t n_rows)
{
	size_t width[PAGE_CELLS] = {0};
	for (size_t c = 0; c < n; c++) {
		width[c] = page_writer_columns_of(headers[c], strlen(headers[c]));
		for (size_t r = 0; r < n_rows; r++) {
			size_t w = 0;
			if (rows[r].cell[c])
				w = page_writer_columns_of(
					rows[r].cell[c], strlen(rows[r].cell[c]));
			if (w > width[c])
				width[c] = w;
		}
	}
	for (size_t r = 0; r <= n_rows; r++) {
		size_t at = 0;
		fputs(str_if(r == 0 && page->color, "\033[1m"), out);
		for (size_t c = 0; c < n; c++) {
			const char *cell;
			if (r)
				cell = rows[r - 1].cell[c];
			else
				cell = headers[c];
			if (!cell)
				cell = "";
			if (c + 1 == n) {
				put_wrapped(out, page, cell, at);
				break;
			}
			put_all(out, page, cell);
			fprintf(out, "%*s",
				(int)(width[c] - page_writer_columns_of(cell, strlen(cell)) + 2),
				"");
			at += width[c] + 2;
		}
		fputs(str_if(r == 0 && page->color, "\033[0m"), out);
	}
}

static void page_writer_cells(FILE *out, const struct tune_page *page, const char *const *texts,
	size_t n, const char *before, const char *after)
{
	for (size_t c = 0; c < n; c++) {
		fputs(before, out);
		put_all(out, page, str_or(texts[c], ""));
		fputs(after, out);
	}
}

void page_table(FILE *out, const struct tune_page *page, const char *const *headers, size_t n,
	const struct page_row *rows, size_t n_rows)
{
	if (n_rows == 0)
		return;
	page_gap(out, page);
	if (page->format == FORMAT_TABLE) {
		table_text(out, page, headers, n, rows, n_rows);
	} else if (page->format == FORMAT_MD) {
		page_writer_cells(out, page, headers, n, "| ", " ");
		fputs("|\n", out);
		for (size_t c = 0; c < n; c++)
			fputs("|---", out);
		fputs("|\n", out);
		for (size_t r = 0; r < n_rows; r++) {
			page_writer_cells(
				out, page, (const char *const *)rows[r].cell, n, "| ", " ");
			fputs("|\n", out);
		}
	} else {
		fputs("<table><thead><tr>", out);
		page_writer_cells(out, page, headers, n, "<th>", "</th>");
		fputs("</tr></thead><tbody>\n", out);
		for (size_t r = 0; r < n_rows; r++) {
			fputs("<tr>", out);
			page_writer_cells(
				out, page, (const char *const *)rows[r].cell, n, "<td>", "</td>");
			fputs("</tr>\n", out);
		}
		fputs("</tbody></table>\n", out);
	}
}

void page_code(FILE *out, const struct tune_page *page, const char *label, const char *text)
{
	if (!text || !*text)
		return;
	page_line(out, page, label, page->format == FORMAT_TABLE ? NULL : " ");
	fputs(page->format == FORMAT_HTML ? "<pre>" : str_if(page->format == FORMAT_MD, "\n```\n"),
		out);
	const struct tune_page raw = {
		.format = page->format == FORMAT_MD ? FORMAT_TABLE : page->format,
		.width = page->width};
	bool first = true;
	for (const char *s = text; *s;) {
		const size_t n = strcspn(s, "\n");
		if (page->format == FORMAT_TABLE)
			fprintf(out, "%-*s", LABEL, first ? label : "");
		page_writer_put(out, &raw, s, n);
		fputc('\n', out);
		s += n + (s[n] == '\n');
		first = false;
	}
	fputs(page->format == FORMAT_HTML ? "</pre>\n"
					  : str_if(page->format == FORMAT_MD, "```\n\n"),
		out);
}

void page_gap(FILE *out, const struct tune_page *page)
{
	if (page->format != FORMAT_HTML)
		fputc('\n', out);
}

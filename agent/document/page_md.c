/* page_md - a page as markdown with the tables of GitHub (CommonMark and GFM). */
#include <math.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/document/page_chart.h"
#include "agent/document/page_writers.h"

enum { MD_BAR = 20, MD_SPARK = 72 };

/* A pipe ends a cell, and the characters of markup would be read as markup. */
static void md_put(FILE *out, const char *text)
{
	for (; *text; text++) {
		const bool strike = text[0] == '~' && text[1] == '~';
		const bool entity = text[0] == '&' && text[1] && text[1] != ' ';
		if (strchr("|\\`*_<>[]", *text) || strike || entity)
			fputc('\\', out);
		fputc(*text, out);
	}
}

/* A text that begins a line may not begin a heading, a list or a quotation. */
static void md_put_line(FILE *out, const char *text)
{
	if (*text && strchr("#+-=", *text))
		fputc('\\', out);
	const size_t digits = strspn(text, "0123456789");
	if (digits && strchr(".)", text[digits]) && text[digits]) {
		fprintf(out, "%.*s\\", (int)digits, text);
		text += digits;
	}
	md_put(out, text);
}

static bool md_is_web(const char *where)
{
	return strncmp(where, "http://", 7) == 0 || strncmp(where, "https://", 8) == 0;
}

/* A link between angle brackets must not hold any. */
static void md_put_where(FILE *out, const char *where, bool link)
{
	if (link && md_is_web(where) && !strpbrk(where, "<> ")) {
		fprintf(out, "<%s>", where);
	} else if (link && !strchr(where, '`')) {
		fprintf(out, "`%s`", where);
	} else {
		md_put(out, where);
	}
}

static void md_fact(FILE *out, const json_t *block)
{
	const json_t *texts = json_object_get(block, "texts"), *text;
	const bool link = json_is_true(json_object_get(block, "link"));
	const bool many = json_array_size(texts) > 1;
	const char *label = doc_word(block, "label");
	size_t i;
	if (*label) {
		fputs("- **", out);
		md_put(out, label);
		fputs(many ? "**:\n" : "**: ", out);
	}
	json_array_foreach (texts, i, text) {
		if (many && *label)
			fputs("  - ", out);
		else if (!*label)
			fputs("- ", out);
		md_put_where(out, json_string_value(text), link);
		fputc('\n', out);
	}
}

static void md_list(FILE *out, const json_t *block)
{
	const json_t *text;
	size_t i;
	json_array_foreach (json_object_get(block, "texts"), i, text) {
		fputs("- ", out);
		md_put_line(out, json_string_value(text));
		fputc('\n', out);
	}
}

/* A fence longer than any run of backticks in @text. */
static void md_fence(FILE *out, const char *text)
{
	size_t longest = 2, run = 0;
	for (; *text; text++) {
		run = *text == '`' ? run + 1 : 0;
		if (run > longest)
			longest = run;
	}
	for (size_t i = 0; i <= longest; i++)
		fputc('`', out);
}

static void md_code(FILE *out, const json_t *block)
{
	const char *text = doc_word(block, "text"), *label = doc_word(block, "label");
	if (*label) {
		fputs("**", out);
		md_put(out, label);
		fputs("**\n\n", out);
	}
	md_fence(out, text);
	fprintf(out, "\n%s", text);
	md_fence(out, text);
	fputc('\n', out);
}

static void md_table(FILE *out, const json_t *block)
{
	const json_t *columns = json_object_get(block, "columns"), *column,
		     *rows = json_object_get(block, "rows"), *row, *cell;
	size_t r, c;
	if (*doc_word(block, "caption")) {
		md_put_line(out, doc_word(block, "caption"));
		fputs("\n\n", out);
	}
	json_array_foreach (columns, c, column) {
		fputs("| ", out);
		md_put(out, doc_word(column, "header"));
		fputc(' ', out);
	}
	fputs("|\n", out);
	json_array_foreach (columns, c, column)
		fputs(json_is_true(json_object_get(column, "right")) ? "|---:" : "|---", out);
	fputs("|\n", out);
	json_array_foreach (rows, r, row) {
		json_array_foreach (row, c, cell) {
			fputs("| ", out);
			md_put(out, json_string_value(cell));
			fputc(' ', out);
		}
		fputs("|\n", out);
	}
}

static void md_chart_title(FILE *out, const json_t *chart)
{
	rw_cleanup(str_done) struct str title = {0};
	page_add_title(&title, chart);
	fputs("**", out);
	md_put(out, title.s);
	fputs("**\n\n", out);
}

static void md_bars(FILE *out, const json_t *chart)
{
	const double top = page_chart_top(chart);
	const json_t *bar;
	size_t i;
	md_chart_title(out, chart);
	fputs("| | | |\n|---|---:|---|\n", out);
	json_array_foreach (json_object_get(chart, "bars"), i, bar) {
		rw_cleanup(str_done) struct str drawn = {0}, value = {0};
		page_add_bar(&drawn, doc_number(bar, "value"), top, MD_BAR, false);
		page_quantity(&value, doc_number(bar, "value"), doc_word(chart, "unit"));
		drawn.s[strcspn(drawn.s, " ")] = '\0';
		fputs("| ", out);
		md_put(out, doc_word(bar, "label"));
		fputs(" | ", out);
		md_put(out, value.s);
		fprintf(out, " | %s |\n", drawn.s);
	}
}

static void md_times(FILE *out, const json_t *chart)
{
	const double top = page_chart_top(chart);
	const json_t *series;
	rw_cleanup(str_done) struct str range = {0};
	size_t i;
	md_chart_title(out, chart);
	page_add_clock(&range, doc_word(chart, "since"));
	str_add(&range, " to ");
	page_add_clock(&range, doc_word(chart, "until"));
	fputs("```\n", out);
	json_array_foreach (json_object_get(chart, "series"), i, series) {
		rw_cleanup(str_done) struct str spark = {0}, numbers = {0}, name = {0};
		const json_t *values = json_object_get(series, "values");
		page_add_spark(&spark, values, top, MD_SPARK, false);
		page_add_range(&numbers, values, doc_word(chart, "unit"));
		str_add(&name, doc_word(series, "name"));
		for (char *s = name.s; *s; s++)
			if (*s == '`')
				*s = '\'';
		if (*name.s)
			fprintf(out, "%s\n", name.s);
		fprintf(out, "%s\n%s\n", str_or(spark.s, ""), numbers.s);
	}
	fprintf(out, "%s\n```\n", range.s);
}

static void md_heat(FILE *out, const json_t *chart)
{
	const json_t *columns = json_object_get(chart, "columns"), *column, *row;
	size_t r, c;
	md_chart_title(out, chart);
	fputs("| |", out);
	json_array_foreach (columns, c, column) {
		fputc(' ', out);
		md_put(out, json_string_value(column));
		fputs(" |", out);
	}
	fputs("\n|---|", out);
	for (c = 0; c < json_array_size(columns); c++)
		fputs("---:|", out);
	fputc('\n', out);
	json_array_foreach (json_object_get(chart, "rows"), r, row) {
		fputs("| ", out);
		md_put(out, doc_word(row, "label"));
		fputs(" |", out);
		for (c = 0; c < json_array_size(columns); c++) {
			rw_cleanup(str_done) struct str value = {0};
			page_quantity(&value, page_value_at(json_object_get(row, "values"), c),
				doc_word(chart, "unit"));
			fputc(' ', out);
			md_put(out, value.s);
			fputs(" |", out);
		}
		fputc('\n', out);
	}
}

static void md_title(FILE *out, const json_t *block)
{
	fputs("# ", out);
	md_put(out, doc_word(block, "text"));
	fputc('\n', out);
	if (*doc_word(block, "below")) {
		fputc('\n', out);
		md_put_line(out, doc_word(block, "below"));
		fputc('\n', out);
	}
}

static void md_verdict(FILE *out, const json_t *block)
{
	fputs("**", out);
	md_put(out, doc_word(block, "state"));
	fputs("** ", out);
	md_put(out, doc_word(block, "text"));
	fputc('\n', out);
}

static void md_heading(FILE *out, const json_t *block)
{
	fputs("## ", out);
	md_put(out, doc_word(block, "text"));
	fputc('\n', out);
}

static void md_text(FILE *out, const json_t *block)
{
	md_put_line(out, doc_word(block, "text"));
	fputc('\n', out);
}

void page_write_md(FILE *out, const json_t *page)
{
	static const struct {
		const char *kind;
		void (*write)(FILE *out, const json_t *block);
	} writers[] = {
		{"title", md_title},
		{"verdict", md_verdict},
		{"heading", md_heading},
		{"text", md_text},
		{"fact", md_fact},
		{"list", md_list},
		{"code", md_code},
		{"table", md_table},
		{"bars", md_bars},
		{"times", md_times},
		{"heat", md_heat},
	};
	const char *before = "";
	const json_t *block;
	size_t i;
	json_array_foreach (json_object_get(page, "blocks"), i, block) {
		const char *kind = doc_word(block, "kind");
		const bool facts = str_eq(kind, "fact") && str_eq(before, "fact");
		for (size_t k = 0; k < rw_countof(writers); k++) {
			if (!str_eq(writers[k].kind, kind))
				continue;
			if (*before && !facts)
				fputc('\n', out);
			writers[k].write(out, block);
		}
		if (!str_eq(kind, "gap"))
			before = kind;
		else if (*before)
			before = "gap";
	}
}

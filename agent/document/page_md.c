/* page_md - a page as markdown with the tables of GitHub (CommonMark and GFM). */

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

static void md_fact(FILE *out, const struct page_block *block)
{
	const bool many = block->texts.n > 1;
	const char *label = block->label;
	if (*label) {
		fputs("- **", out);
		md_put(out, label);
		fputs(many ? "**:\n" : "**: ", out);
	}
	for (size_t i = 0; i < block->texts.n; i++) {
		if (many && *label)
			fputs("  - ", out);
		else if (!*label)
			fputs("- ", out);
		md_put_where(out, block->texts.v[i], block->link);
		fputc('\n', out);
	}
}

static void md_list(FILE *out, const struct page_block *block)
{
	for (size_t i = 0; i < block->texts.n; i++) {
		fputs("- ", out);
		md_put_line(out, block->texts.v[i]);
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

static void md_code(FILE *out, const struct page_block *block)
{
	const char *text = block->text, *label = block->label;
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

static void md_table(FILE *out, const struct page_block *block)
{
	const size_t n = block->n_columns;
	if (*block->text) {
		md_put_line(out, block->text);
		fputs("\n\n", out);
	}
	for (size_t c = 0; c < n; c++) {
		fputs("| ", out);
		md_put(out, block->columns[c].header);
		fputc(' ', out);
	}
	fputs("|\n", out);
	for (size_t c = 0; c < n; c++)
		fputs(block->columns[c].right ? "|---:" : "|---", out);
	fputs("|\n", out);
	for (size_t r = 0; r < block->n_rows; r++) {
		for (size_t c = 0; c < n; c++) {
			fputs("| ", out);
			md_put(out, block->rows[r].v[c]);
			fputc(' ', out);
		}
		fputs("|\n", out);
	}
}

static void md_chart_title(FILE *out, const struct page_block *chart)
{
	rw_cleanup(str_done) struct str title = {0};
	page_add_title(&title, chart);
	fputs("**", out);
	md_put(out, title.s);
	fputs("**\n\n", out);
}

static void md_bars(FILE *out, const struct page_block *chart)
{
	const double top = page_chart_top(chart);
	md_chart_title(out, chart);
	fputs("| | | |\n|---|---:|---|\n", out);
	for (size_t i = 0; i < chart->n_lines; i++) {
		const struct page_line *bar = &chart->lines[i];
		rw_cleanup(str_done) struct str drawn = {0}, value = {0};
		page_add_bar(&drawn, bar->value, top, MD_BAR, false);
		page_quantity(&value, bar->value, chart->unit);
		drawn.s[strcspn(drawn.s, " ")] = '\0';
		fputs("| ", out);
		md_put(out, bar->label);
		fputs(" | ", out);
		md_put(out, value.s);
		fprintf(out, " | %s |\n", drawn.s);
	}
}

static void md_times(FILE *out, const struct page_block *chart)
{
	const double top = page_chart_top(chart);
	rw_cleanup(str_done) struct str range = {0};
	md_chart_title(out, chart);
	page_add_clocks(&range, chart);
	fputs("```\n", out);
	for (size_t i = 0; i < chart->n_lines; i++) {
		const struct page_line *series = &chart->lines[i];
		rw_cleanup(str_done) struct str spark = {0}, numbers = {0}, name = {0};
		page_add_spark(&spark, series, top, MD_SPARK, false);
		page_add_range(&numbers, series, chart->unit);
		str_add(&name, series->label);
		for (char *s = name.s; *s; s++)
			if (*s == '`')
				*s = '\'';
		if (*name.s)
			fprintf(out, "%s\n", name.s);
		fprintf(out, "%s\n%s\n", str_or(spark.s, ""), numbers.s);
	}
	fprintf(out, "%s\n```\n", range.s);
}

static void md_heat(FILE *out, const struct page_block *chart)
{
	const size_t n = chart->texts.n;
	md_chart_title(out, chart);
	fputs("| |", out);
	for (size_t c = 0; c < n; c++) {
		fputc(' ', out);
		md_put(out, chart->texts.v[c]);
		fputs(" |", out);
	}
	fputs("\n|---|", out);
	for (size_t c = 0; c < n; c++)
		fputs("---:|", out);
	fputc('\n', out);
	for (size_t r = 0; r < chart->n_lines; r++) {
		const struct page_line *row = &chart->lines[r];
		fputs("| ", out);
		md_put(out, row->label);
		fputs(" |", out);
		for (size_t c = 0; c < n; c++) {
			rw_cleanup(str_done) struct str value = {0};
			page_quantity(&value, page_value_at(row, c), chart->unit);
			fputc(' ', out);
			md_put(out, value.s);
			fputs(" |", out);
		}
		fputc('\n', out);
	}
}

static void md_title(FILE *out, const struct page_block *block)
{
	fputs("# ", out);
	md_put(out, block->text);
	fputc('\n', out);
	if (*block->below) {
		fputc('\n', out);
		md_put_line(out, block->below);
		fputc('\n', out);
	}
}

static void md_verdict(FILE *out, const struct page_block *block)
{
	fputs("**", out);
	md_put(out, block->state);
	fputs("** ", out);
	md_put(out, block->text);
	fputc('\n', out);
}

static void md_heading(FILE *out, const struct page_block *block)
{
	fputs("## ", out);
	md_put(out, block->text);
	fputc('\n', out);
}

static void md_text(FILE *out, const struct page_block *block)
{
	md_put_line(out, block->text);
	fputc('\n', out);
}

void page_write_md(FILE *out, const struct page *page)
{
	static void (*const writers[BLOCK_KINDS])(FILE * out, const struct page_block *block) = {
		[BLOCK_TITLE] = md_title,
		[BLOCK_VERDICT] = md_verdict,
		[BLOCK_HEADING] = md_heading,
		[BLOCK_TEXT] = md_text,
		[BLOCK_FACT] = md_fact,
		[BLOCK_LIST] = md_list,
		[BLOCK_CODE] = md_code,
		[BLOCK_TABLE] = md_table,
		[BLOCK_BARS] = md_bars,
		[BLOCK_TIMES] = md_times,
		[BLOCK_HEAT] = md_heat,
	};
	bool begun = false;
	enum block_kind before = BLOCK_GAP;
	for (size_t i = 0; i < page->n; i++) {
		const enum block_kind kind = page->blocks[i]->kind;
		const bool facts = kind == BLOCK_FACT && before == BLOCK_FACT;
		before = kind;
		if (kind == BLOCK_GAP)
			continue;
		if (begun && !facts)
			fputc('\n', out);
		writers[kind](out, page->blocks[i]);
		begun = true;
	}
}

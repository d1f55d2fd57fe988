/* writer - JSON is the document as it is; csv and table walk the columns of the view over its rows;
 * html and md are pages. */
#include "agent/document/writer.h"

#include "agent/document/json_value.h"
#include "agent/document/page.h"
#include "agent/document/paper.h"
#include "agent/document/shape.h"

/* ---- csv_field - one field of a csv line. */

/* Lines of a field stay lines; what would steer a terminal goes. */
static void csv_field_clean(struct str *out, const char *text)
{
	for (;;) {
		const size_t n = strcspn(text, "\n");
		rw_cleanup(freep) char *line = rw_calloc(n + 1, 1);
		text_clean(line, n + 1, text, n);
		str_add(out, line);
		if (!text[n])
			break;
		str_add(out, "\n");
		text += n + 1;
	}
}

static void csv_field_write(FILE *out, const char *text)
{
	const bool quoted = strpbrk(text, ",\"\r\n") != NULL;
	if (quoted)
		fputc('"', out);
	if (text_is_formula(text))
		fputc('\'', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	if (quoted)
		fputc('"', out);
}

void csv_field_print(FILE *out, const char *text)
{
	if (text_is_clean(text)) {
		csv_field_write(out, text);
		return;
	}
	rw_cleanup(str_done) struct str clean = {0};
	csv_field_clean(&clean, text);
	csv_field_write(out, str_or(clean.s, ""));
}

/* The rows and columns of a view, of a document or of an answer in memory. */
struct writer_table {
	const struct view *view;
	size_t n_rows, n_columns;
	const json_t *doc;
	const void *rows; /* structs, NULL: objects of the document */
	struct shape_column *columns; /* of structs; own */
};

static struct writer_table writer_table_of(
	const json_t *doc, const void *answer, const struct view *view)
{
	struct writer_table table = {.view = view, .doc = doc, .n_columns = view->n_columns};
	if (view->table && answer) {
		table.rows = view->table_rows(answer, &table.n_rows);
		table.n_columns = shape_table_columns(view->table, NULL);
		table.columns = rw_calloc(table.n_columns + 1, sizeof(*table.columns));
		shape_table_columns(view->table, table.columns);
	} else if (view->rows) {
		table.n_rows = json_array_size(json_object_get(doc, view->rows));
	} else {
		table.n_rows = 1;
	}
	return table;
}

static void writer_table_done(struct writer_table *table)
{
	free(table->columns);
}

static const json_t *writer_object(const struct writer_table *table, size_t row)
{
	if (table->view->rows)
		return json_array_get(json_object_get(table->doc, table->view->rows), row);
	return table->doc;
}

static void writer_add_cell(
	const struct writer_table *table, size_t row, size_t column, bool pretty, struct str *out)
{
	if (table->columns)
		shape_add_column(out, shape_row_at(table->view->table->shape, table->rows, row),
			&table->columns[column], pretty);
	else
		column_add_cell(
			out, writer_object(table, row), &table->view->columns[column], pretty);
}

static const char *writer_head(const struct writer_table *table, size_t column)
{
	if (table->columns)
		return table->columns[column].head;
	return column_header(&table->view->columns[column]);
}

static bool writer_is_right(const struct writer_table *table, size_t column)
{
	if (table->columns)
		return table->columns[column].right;
	return column_is_right(&table->view->columns[column]);
}

/* Keys, not headings: they carry the unit and do not change with the layout. "hosts[]" is read as
 * hosts. */
static const char *writer_key(const struct writer_table *table, size_t column)
{
	if (table->columns)
		return table->columns[column].field->key;
	return table->view->columns[column].key;
}

/* ---- writers ------------------------------------------------------------- */

static void print_table(FILE *out, const struct writer_table *table, bool header, bool color)
{
	const size_t n = table->n_rows, n_columns = table->n_columns;
	if (n == 0) {
		fprintf(out, "%s\n", str_or(table->view->empty, "nothing"));
		return;
	}
	struct str *cells = rw_calloc(n * n_columns, sizeof(*cells));
	size_t *widths = rw_calloc(n_columns, sizeof(*widths));
	for (size_t c = 0; c < n_columns; c++) {
		const char *head = writer_head(table, c);
		if (header)
			widths[c] = text_columns(head, strlen(head));
		for (size_t r = 0; r < n; r++) {
			struct str *cell = &cells[r * n_columns + c];
			writer_add_cell(table, r, c, true, cell);
			size_t w = text_columns(cell->s, strlen(cell->s));
			if (w > widths[c])
				widths[c] = w;
		}
	}
	for (size_t r = header ? 0 : 1; r <= n; r++) { /* line 0 is the header */
		if (r == 0 && color)
			fputs("\033[1m", out);
		for (size_t c = 0; c < n_columns; c++) {
			const char *s;
			if (r == 0)
				s = writer_head(table, c);
			else
				s = cells[(r - 1) * n_columns + c].s;
			int pad = (int)(widths[c] - text_columns(s, strlen(s)));
			bool last = c + 1 == n_columns;
			if (writer_is_right(table, c))
				fprintf(out, "%*s%s%s", pad, "", s, str_if(!last, "  "));
			else
				fprintf(out, "%s%*s", s, last ? 0 : pad + 2, "");
		}
		fputs(r == 0 && color ? "\033[0m\n" : "\n", out);
	}
	for (size_t i = 0; i < n * n_columns; i++)
		str_done(&cells[i]);
	free(cells);
	free(widths);
}

static void print_csv(FILE *out, const struct writer_table *table, bool header)
{
	for (size_t c = 0; header && c < table->n_columns; c++) {
		char key[64];
		const char *whole = writer_key(table, c);
		snprintf(key, sizeof(key), "%.*s", (int)strcspn(whole, "["), whole);
		fputs(str_if(c, ","), out);
		csv_field_print(out, key);
	}
	if (header)
		fputc('\n', out);
	for (size_t r = 0; r < table->n_rows; r++) {
		for (size_t c = 0; c < table->n_columns; c++) {
			rw_cleanup(str_done) struct str cell = {0};
			writer_add_cell(table, r, c, false, &cell);
			fputs(str_if(c, ","), out);
			csv_field_print(out, cell.s);
		}
		fputc('\n', out);
	}
}

/* A view without a page of its own: its title and its table. */
static struct page *writer_page(const struct writer_table *table, const void *answer, bool header)
{
	const struct view *view = table->view;
	if (view->answer_page && answer)
		return view->answer_page(table->doc, answer);
	if (view->page)
		return view->page(table->doc);
	struct page *page = page_new(str_or(view->title, "rocewatch"));
	if (view->title && header)
		page_title(page, view->title, NULL);
	if (table->columns) {
		page_rows(page, NULL, view->table, table->rows, table->n_rows);
	} else if (view->rows) {
		page_table(page, NULL, view->columns, view->n_columns,
			json_object_get(table->doc, view->rows));
	} else {
		json_t *rows = json_pack("[O]", table->doc);
		page_table(page, NULL, view->columns, view->n_columns, rows);
		json_decref(rows);
	}
	if (table->n_rows == 0)
		page_text(page, str_or(view->empty, "nothing"));
	return page;
}

static int writer_print_page(FILE *out, const struct writer_table *table, const void *answer,
	enum report_format format, bool header, bool color)
{
	const struct page_style style = {.format = format,
		.width = paper_width(out, 100, 160),
		.color = color,
		.ascii = !paper_is_utf8()};
	struct page *page = writer_page(table, answer, header);
	const int rc = page_print(out, page, &style);
	page_free(page);
	return rc;
}

/* 15 digits: 0.2 stays 0.2; counters are integers and keep every digit. */
#define JSON_STYLE JSON_REAL_PRECISION(15)

static void print_jsonl(FILE *out, const struct writer_table *table)
{
	for (size_t r = 0; r < table->n_rows; r++) {
		json_t *row = NULL;
		if (table->columns)
			row = shape_json(table->view->table->shape,
				shape_row_at(table->view->table->shape, table->rows, r));
		json_print(out, row ? row : writer_object(table, r), JSON_STYLE | JSON_COMPACT);
		fputc('\n', out);
		json_decref(row);
	}
}

int answer_print(FILE *out, const json_t *doc, const void *answer, const struct view *view,
	enum report_format format, bool header, bool color)
{
	const bool has_page = view->page || view->answer_page;
	const bool paged = format == FORMAT_HTML || format == FORMAT_MD;
	rw_cleanup(writer_table_done) struct writer_table table =
		writer_table_of(doc, answer, view);
	if (paged || (format == FORMAT_TABLE && has_page && !view->text && !view->answer_text))
		return writer_print_page(out, &table, answer, format, header, color);
	switch (format) {
	case FORMAT_JSON:
		json_print(out, doc, JSON_STYLE | JSON_INDENT(2));
		fputc('\n', out);
		break;
	case FORMAT_JSONL: print_jsonl(out, &table); break;
	case FORMAT_CSV: print_csv(out, &table, header); break;
	case FORMAT_HTML:
	case FORMAT_MD: break;
	case FORMAT_TABLE:
		if (view->answer_text && answer)
			view->answer_text(out, answer, view, color, header);
		else if (view->text)
			view->text(out, doc, view, color, header);
		else
			print_table(out, &table, header, color);
		break;
	}
	if (fflush(out) == 0 && !ferror(out))
		return 0;
	return -EIO;
}

int report_print(FILE *out, const json_t *doc, const struct view *view, enum report_format format,
	bool header, bool color)
{
	return answer_print(out, doc, NULL, view, format, header, color);
}

/* format - the table of format names. */

static const char *const format_names[] = {
	[FORMAT_TABLE] = "table",
	[FORMAT_CSV] = "csv",
	[FORMAT_JSON] = "json",
	[FORMAT_JSONL] = "jsonl",
	[FORMAT_HTML] = "html",
	[FORMAT_MD] = "md",
};

int report_format_parse(const char *text, enum report_format *ret)
{
	for (size_t i = 0; i < rw_countof(format_names); i++)
		if (str_eq(text, format_names[i])) {
			*ret = (enum report_format)i;
			return 0;
		}
	return -EINVAL;
}

/*
 * Texts of any bytes through every writer: a document of them as table, csv, json, html and
 * markdown, and the cleaning itself. Nothing that is printed steers a terminal; csv has no formula
 * and as many fields as columns; json reads as the same document; markup stays text.
 */
#include <ctype.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "agent/document/json_value.h"
#include "agent/document/writer.h"
#include "tests/fuzz/printed.h"

static const struct column columns[] = {{"name", "NAME", COL_TEXT, false},
	{"time", "TIME", COL_TIME, false}, {"rate", "RATE", COL_BPS, false},
	{"hosts[]", "HOSTS", COL_TEXT, false}};
static const struct view view = {
	.title = "Fuzz", .rows = "rows", .columns = columns, .n_columns = rw_countof(columns)};

static char *printed_by(const json_t *doc, enum report_format format)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	if (report_print(out, doc, &view, format, true, false) != 0)
		abort();
	fclose(out);
	if (strlen(text) != n)
		printed_fault("a NUL", text);
	return text;
}

/* A field, without its quotes. */
static void csv_begins(const char *text)
{
	char field[64];
	snprintf(field, sizeof(field), "%.*s", (int)strcspn(text, ",\"\n"), text);
	if (text_is_formula(field))
		printed_fault("a formula", text);
}

/* Fields of the first record; NULL in @ret_next at the end. */
static size_t csv_fields(const char *text, const char **ret_next)
{
	size_t n = 1;
	bool quoted = *text == '"';
	csv_begins(text + quoted);
	text += quoted;
	for (; *text && (quoted || *text != '\n'); text++) {
		if (quoted && *text == '"' && text[1] == '"') {
			text++;
		} else if (quoted && *text == '"') {
			quoted = false;
		} else if (!quoted && *text == ',') {
			n++;
			quoted = text[1] == '"';
			csv_begins(text + 1 + quoted);
			text += quoted;
		}
	}
	*ret_next = text;
	if (*text)
		*ret_next = text + 1;
	return n;
}

static void printed_csv(const char *text, size_t rows)
{
	size_t n = 0;
	for (; *text; n++)
		if (csv_fields(text, &text) != rw_countof(columns))
			printed_fault("another number of fields", text);
	if (n != rows + 1)
		printed_fault("another number of rows", "");
}

static void printed_json(const json_t *doc, char *text)
{
	json_t *again = json_loads(text, 0, NULL);
	if (!again || !json_equal(again, doc))
		printed_fault("json that is not the document", text);
	json_decref(again);
}

static void printed_html(const char *text)
{
	for (const char *tag = strchr(text, '<'); tag; tag = strchr(tag + 1, '<')) {
		static const char *const own[] = {"<!DOCTYPE", "<html", "<head", "<meta", "<title",
			"<style", "<body", "<div class=", "<h1", "<table", "<tr", "<td", "<th",
			"<thead>", "<tbody>", "<p", "<b class=", "<span class=", "</"};
		bool known = false;
		for (size_t i = 0; i < rw_countof(own); i++)
			known |= strncmp(tag, own[i], strlen(own[i])) == 0;
		if (!known)
			printed_fault("foreign markup", tag);
	}
}

static void clean_check(const char *data, size_t n)
{
	char small[16];
	char *line = malloc(n + 1);
	const size_t length = text_clean(line, n + 1, data, n);
	if (length != strlen(line) || length > n)
		printed_fault("another length", line);
	printed_line(line);
	if (text_clean(small, sizeof(small), data, n) >= sizeof(small))
		abort();
	printed_line(small);
	free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *rows = json_array(), *doc = json_pack("{s:o}", "rows", rows);
	clean_check((const char *)data, size);
	/* texts end with a NUL; three make a row */
	for (size_t at = 0; at < size && json_array_size(rows) < 64;) {
		json_t *row = json_object(), *hosts = json_array();
		const char *keys[] = {"name", "time", "host"};
		for (size_t i = 0; i < 3; i++) {
			char *text = strndup((const char *)data + at, size - at);
			at += strlen(text) + 1;
			if (at > size)
				at = size;
			json_t *value = json_string_or_null(text);
			if (i == 2)
				json_array_append_new(hosts, value);
			else
				json_object_set_new(row, keys[i], value);
			free(text);
		}
		json_object_set_new(row, "hosts", hosts);
		json_object_set_new(row, "rate", json_real((double)at));
		json_array_append_new(rows, row);
	}
	for (enum report_format format = FORMAT_TABLE; format <= FORMAT_MD; format++) {
		char *text = printed_by(doc, format);
		printed_lines(text);
		if (format == FORMAT_CSV)
			printed_csv(text, json_array_size(rows));
		if (format == FORMAT_JSON)
			printed_json(doc, text);
		if (format == FORMAT_HTML)
			printed_html(text);
		free(text);
	}
	json_decref(doc);
	return 0;
}

/*
 * text - fields, states and tables of the text layouts.
 */
#include "agent/answers/common/text.h"

#include "agent/document/quantity.h"

const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	if (text && *text)
		return text;
	return "-";
}

void text_add_speeds(struct str *out, double is_bps, double declared_bps)
{
	str_add(out, "runs at ");
	str_add_quantity(out, is_bps, "bit/s");
	str_add(out, ", declared ");
	str_add_quantity(out, declared_bps, "bit/s");
}

void text_put(FILE *out, const char *text)
{
	rw_cleanup(freep) char *clean = text_clean_copy(text);
	fputs(clean, out);
}

/* Bytes of the first @columns columns of @text. */
static size_t text_bytes(const char *text, size_t columns)
{
	size_t n = 0;
	for (; text[n]; n++) {
		const bool begins = ((unsigned char)text[n] & 0xc0) != 0x80;
		if (begins && columns-- == 0)
			break;
	}
	return n;
}

void text_put_cut(FILE *out, const char *text, size_t columns)
{
	const size_t all = strlen(text);
	size_t n = text_bytes(text, columns);
	const bool cut = n < all;
	if (cut) {
		n = text_bytes(text, columns - 3);
		size_t word = n;
		while (word > 0 && text[word] != ' ')
			word--;
		if (word > 0)
			n = word;
	}
	rw_cleanup(freep) char *part = strndup(text, n);
	text_put(out, part);
	if (cut)
		fputs("...", out);
	const size_t used = text_columns(text, n) + (cut ? 3 : 0);
	fprintf(out, "%*s", (int)(columns - used), "");
}

void text_put_table(FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	report_print(out, doc, view, FORMAT_TABLE, header, color);
}

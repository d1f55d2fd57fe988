/* csv_field - one field of a csv line. */
#include "agent/document/csv_field.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/text_clean.h"

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

/* json_print - writes JSON, with an escape for what must not reach a terminal. */
#include "agent/document/json_print.h"

#include "base/text_clean.h"

/* jansson hands over runs of whole characters. Outside of strings JSON is plain ASCII, so an escape
 * is right wherever such a character stands. */
static int json_print_run(const char *run, size_t n, void *arg)
{
	FILE *out = arg;
	size_t done = 0;
	for (size_t i = 0; i < n;) {
		uint32_t code = 0;
		const size_t length = text_next(run + i, n - i, &code);
		if (text_is_shown(code) || code < 0x20) { /* blanks and newlines between values */
			i += length;
			continue;
		}
		fwrite(run + done, 1, i - done, out);
		fprintf(out, "\\u%04x", code);
		i += length;
		done = i;
	}
	fwrite(run + done, 1, n - done, out);
	return ferror(out) ? -1 : 0;
}

int json_print(FILE *out, const json_t *value, size_t flags)
{
	return json_dump_callback(value, json_print_run, out, flags);
}

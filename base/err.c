/* err - fills and prints errors. Filling never allocates, so that it works when memory is out. */
#include "base/err.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/text_clean.h"

__attribute__((format(printf, 6, 0))) static void err_fill(
	struct err *e, int code, const char *file, int line, int col, const char *fmt, va_list ap)
{
	if (!e)
		return;
	/* The arguments may point into @e itself (a caller that wraps the text), so the new text is
	 * made beside it. */
	char text[sizeof(e->text)], name[sizeof(e->file)];
	vsnprintf(text, sizeof(text), fmt, ap);
	text_whole(text);
	snprintf(name, sizeof(name), "%s", str_or(file, ""));
	e->code = code;
	e->line = line;
	e->col = col;
	memcpy(e->text, text, strlen(text) + 1);
	memcpy(e->file, name, strlen(name) + 1);
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	err_fill(e, code, NULL, 0, 0, fmt, ap);
	va_end(ap);
	return code;
}

int err_at(struct err *e, int code, const char *file, int line, int col, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	err_fill(e, code, file, line, col, fmt, ap);
	va_end(ap);
	return code;
}

/* File names and texts quote what was read. */
static void err_put(FILE *out, const char *text)
{
	char clean[sizeof(((struct err *)0)->text)];
	text_clean(clean, sizeof(clean), text, strlen(text));
	fputs(clean, out);
}

void err_print(FILE *out, const struct err *e)
{
	if (e->file[0]) {
		err_put(out, e->file);
		fputc(':', out);
	}
	if (e->line > 0)
		fprintf(out, "%s%d:", str_if(!e->file[0], "line "), e->line);
	if (e->line > 0 && e->col > 0)
		fprintf(out, "%d:", e->col);
	if (e->file[0] || e->line > 0)
		fputc(' ', out);
	const char *text = e->text;
	if (!*text)
		text = strerror(-e->code);
	err_put(out, text);
	fputc('\n', out);
}

void err_list_add(struct err_list *errors, const struct err *e)
{
	rw_grow(errors->v, errors->n, errors->cap);
	errors->v[errors->n++] = *e;
}

void err_list_done(struct err_list *errors)
{
	free(errors->v);
	*errors = (struct err_list){0};
}

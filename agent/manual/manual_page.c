/* manual_page - macros of man(7), and what must be escaped in them. */
#include "agent/manual/manual_page.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"

/* The date of the version: SOURCE_DATE_EPOCH is for files, not for what a page says. */
#define PAGE_DATE RW_DATE

/* The code point that begins at @p, and its length; a stray byte is one of its own. */
static unsigned roff_code(const unsigned char *p, size_t *ret_n)
{
	static const unsigned char first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	size_t n = 1;
	if (*p >= 0xf0)
		n = 4;
	else if (*p >= 0xe0)
		n = 3;
	else if (*p >= 0xc0)
		n = 2;
	unsigned code = *p & first[n];
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80) {
			*ret_n = 1;
			return *p;
		}
		code = code << 6 | (p[i] & 0x3fu);
	}
	*ret_n = n;
	return code;
}

static void roff_escape_n(struct str *out, const char *text, size_t length)
{
	for (size_t i = 0; i < length;) {
		const unsigned char *p = (const unsigned char *)text + i;
		size_t n = 1;
		if (*p >= 0x80) {
			str_addf(out, "\\[u%04X]", roff_code(p, &n));
			i += n;
			continue;
		}
		switch (*p) {
		case '\\': str_add(out, "\\e"); break;
		case '-': str_add(out, "\\-"); break;
		case '\'': str_add(out, "\\(aq"); break;
		case '`': str_add(out, "\\(ga"); break;
		case '^': str_add(out, "\\(ha"); break;
		case '~': str_add(out, "\\(ti"); break;
		case '"': str_add(out, "\\(dq"); break;
		default: str_addn(out, (const char *)p, 1);
		}
		i++;
	}
}

void roff_escape(struct str *out, const char *text)
{
	roff_escape_n(out, text, strlen(text));
}

void roff_begin(struct str *out, const char *name, int section, const char *summary)
{
	rw_cleanup(str_done) struct str title = {0};
	for (const char *p = name; *p; p++)
		str_addf(&title, "%c", toupper((unsigned char)*p));
	str_addf(out, ".\\\" Made from the tables of the program when it is built.\n.TH \"");
	roff_escape(out, title.s);
	str_addf(out, "\" \"%d\" \"%s\" \"rocewatch %s\" \"rocewatch\"\n", section, PAGE_DATE,
		RW_VERSION);
	str_add(out, ".SH NAME\n");
	roff_escape(out, name);
	str_add(out, " \\- ");
	roff_escape(out, summary);
	str_add(out, "\n");
}

void roff_heading(struct str *out, const char *title)
{
	str_add(out, ".SH \"");
	roff_escape(out, title);
	str_add(out, "\"\n");
}

void roff_subheading(struct str *out, const char *title)
{
	str_add(out, ".SS \"");
	roff_escape(out, title);
	str_add(out, "\"\n");
}

/* One source line: a leading dot or quote would be a request. */
static void roff_line(struct str *out, const char *text, size_t n)
{
	while (n > 0 && *text == ' ') {
		text++;
		n--;
	}
	if (n == 0)
		return;
	if (*text == '.')
		str_add(out, "\\&");
	roff_escape_n(out, text, n);
	str_add(out, "\n");
}

void roff_text(struct str *out, const char *text)
{
	rw_cleanup(str_done) struct str line = {0};
	for (const char *p = text; *p; p++) {
		if (*p != '\n') {
			str_addn(&line, p, 1);
			continue;
		}
		const bool ends = p == text || strchr(".:\n", p[-1]) || p[1] == '\n' || !p[1];
		if (!ends) {
			str_add(&line, " ");
			continue;
		}
		roff_line(out, str_or(line.s, ""), line.n);
		if (line.n > 0 && p[1] == '\n')
			str_add(out, ".PP\n");
		else if (line.n > 0 && p[1])
			str_add(out, ".br\n");
		str_done(&line);
		line = (struct str){0};
	}
	roff_line(out, str_or(line.s, ""), line.n);
}

void roff_item(struct str *out, const char *term, const char *text)
{
	str_add(out, ".TP\n.B ");
	roff_line(out, term, strlen(term));
	roff_line(out, text, strlen(text));
}

void roff_literal(struct str *out, const char *text)
{
	str_add(out, ".PP\n.nf\n");
	while (*text) {
		const size_t n = strcspn(text, "\n");
		if (n == 0)
			str_add(out, ".sp\n");
		if (n > 0 && *text == '.')
			str_add(out, "\\&");
		roff_escape_n(out, text, n);
		if (n > 0)
			str_add(out, "\n");
		text += n + (text[n] == '\n');
	}
	str_add(out, ".fi\n");
}

void roff_see(struct str *out, const char *const *pages)
{
	roff_heading(out, "SEE ALSO");
	for (size_t i = 0; pages[i]; i++) {
		const char *open = strchr(pages[i], '(');
		str_add(out, ".BR ");
		roff_escape_n(out, pages[i], (size_t)(open - pages[i]));
		str_addf(out, " %s%s\n", open, str_if(pages[i + 1], ","));
	}
}

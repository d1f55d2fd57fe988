/*
 * manual_page - the text of a manual page in man(7), escaped. Every function adds to @out. What is
 * not ASCII becomes a named character, so that a page reads the same in every locale.
 */
#ifndef RW_MANUAL_PAGE_H
#define RW_MANUAL_PAGE_H

#include <stdbool.h>

#include "agent/base/str.h"

/* A file below the directory that the pages go to. */
struct manual_file {
	char path[96]; /* "man/man1/rocewatch.1" */
	struct str text;
};

/* roff_begin - the title line and NAME. @date "2026-11-23". */
void roff_begin(struct str *out, const char *name, int section, const char *summary);
void roff_heading(struct str *out, const char *title); /* "EXAMPLES" */
void roff_subheading(struct str *out, const char *title);
/* roff_text - paragraphs as help has them: a newline counts behind '.' and ':' and in "\n\n". */
void roff_text(struct str *out, const char *text);
/* roff_item - a term and what it means. */
void roff_item(struct str *out, const char *term, const char *text);
/* roff_literal - lines as they are. */
void roff_literal(struct str *out, const char *text);
/* roff_escape - @text on a line of its own begun by the caller: no line break of its own. */
void roff_escape(struct str *out, const char *text);
/* roff_see - SEE ALSO: "rocewatch(1)", ended by NULL. */
void roff_see(struct str *out, const char *const *pages);

#endif

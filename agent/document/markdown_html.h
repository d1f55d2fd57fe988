/*
 * markdown_html - the markdown of the runbooks as HTML: headings, paragraphs, lists of one level,
 * tables, fenced code, and in a line `code`, **bold**, *stress* and [links](to). What is not known
 * is printed as it stands. Every text is escaped: a page can hold no tag and no script.
 */
#pragma once

#include "base/base.h"

/*
 * markdown_html_add - adds the HTML of the @n bytes at @text to @out, without head and body. A link
 * to NAME.md beside the page becomes NAME, one to README.md "./"; http and https stay; others are
 * only their words.
 */
void markdown_html_add(struct str *out, const char *text, size_t n);

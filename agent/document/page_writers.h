/* page_writers - the three writers of a page, chosen by page_print(). Each prints a whole page. */
#pragma once

#include "base/base.h"

#include "agent/document/page_blocks.h"

void page_write_text(FILE *out, const struct page *page, const struct page_style *style);
void page_write_md(FILE *out, const struct page *page);
void page_write_html(FILE *out, const struct page *page);

/* page_write_escaped - @text without markup of html; also fit for an attribute in quotes. */
void page_write_escaped(FILE *out, const char *text);
/* page_color - of @state in a verdict, a table or a bar; NULL for an ordinary word. */
const char *page_color(const char *state);
/* page_series_color - of series @i of a chart. */
const char *page_series_color(size_t i);

/*
 * page_chart - what the three writers of a page need to know of a chart: its highest value, its
 * numbers as texts, and values as rows of characters. Pure.
 */
#pragma once

#include "base/base.h"

#include "agent/document/page_blocks.h"

/* page_value_at - of a series or of a row of a heat map; NAN behind its end. */
double page_value_at(const struct page_line *line, size_t i);
/* page_chart_top - the upper end of the scale: the highest value or limit, 1 where none is above
 * 0. */
double page_chart_top(const struct page_block *chart);
/* page_chart_round - @top rounded up to 1, 2, 2.5 or 5 times a power of ten. */
double page_chart_round(double top);

/* page_add_bar - @value of @top as up to @columns characters; blanks follow up to @columns. */
void page_add_bar(struct str *out, double value, double top, size_t columns, bool ascii);
/* page_add_spark - the values in at most @columns characters, by height; '.' or a middle dot where
 * a value is missing. */
void page_add_spark(
	struct str *out, const struct page_line *line, double top, size_t columns, bool ascii);
/* page_add_range - "lowest 3, highest 9, last 4; 2 of 40 values are missing". */
void page_add_range(struct str *out, const struct page_line *line, const char *unit);
/* page_add_title - of a chart: "TITLE, limit 20 %". */
void page_add_title(struct str *out, const struct page_block *chart);
/* page_clock_chars - so many characters of the clock as tell the two ends of @chart apart: "03:14",
 * "03:14:20", "03:14:20.032". */
int page_clock_chars(const struct page_block *chart);
/* page_add_clocks - both ends: "2026-11-21 03:14Z to 2026-11-21 04:14Z". */
void page_add_clocks(struct str *out, const struct page_block *chart);

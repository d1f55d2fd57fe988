/*
 * page_blocks - what a page is made of: filled by page.c, read by the writers. Texts are clean and
 * never NULL; numbers that are not known are NAN. All lies in the arena of the page.
 */
#pragma once

#include "agent/document/page.h"
#include "base/base.h"

enum block_kind {
	BLOCK_TITLE,
	BLOCK_VERDICT,
	BLOCK_HEADING,
	BLOCK_TEXT,
	BLOCK_FACT,
	BLOCK_LIST,
	BLOCK_CODE,
	BLOCK_GAP,
	BLOCK_TABLE,
	BLOCK_BARS,
	BLOCK_TIMES,
	BLOCK_HEAT,
	BLOCK_KINDS
};

struct page_texts {
	const char **v;
	size_t n, cap;
};

struct page_column {
	const char *header;
	bool right, state;
};

struct page_cells {
	const char **v; /* one for each column */
};

/* A bar; a series, one value for each time; a row of a heat map, one for each column. */
struct page_line {
	const char *label, *state;
	double value;
	const double *values;
	size_t n;
};

struct page_block {
	struct arena *arena; /* the page's */
	enum block_kind kind;
	const char *text; /* caption of a table, title of a chart */
	const char *label, *state, *below;
	struct page_texts texts; /* of a fact and a list; headers of a heat map */
	bool link;

	struct page_column *columns;
	struct page_cells *rows;
	size_t n_columns, cap_columns, n_rows, cap_rows;

	struct page_line *lines;
	size_t n_lines, cap_lines;
	const char *unit, *limit_name, *since, *until;
	double limit;
	bool as_columns;
};

struct page {
	struct arena *arena;
	const char *title;
	struct page_block **blocks;
	size_t n, cap;
};

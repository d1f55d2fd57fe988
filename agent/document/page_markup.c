/* page_markup - what text, html and SVG of a page have in common: escapes and colours. */
#include <string.h>

#include "base/cleanup.h"
#include "agent/document/page_writers.h"

void page_write_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&': fputs("&amp;", out); break;
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '"': fputs("&quot;", out); break;
		case '\'': fputs("&#39;", out); break;
		default: fputc(*text, out); break;
		}
	}
}

const char *page_color(const char *state)
{
	static const struct {
		const char *state, *color;
	} colors[] = {
		{"critical", "#c62828"},
		{"down", "#c62828"},
		{"action", "#c62828"},
		{"warning", "#b26a00"},
		{"unknown", "#6b4fa0"},
		{"no data", "#6b4fa0"},
		{"ok", "#2e7d32"},
	};
	for (size_t i = 0; i < rw_countof(colors); i++)
		if (strcasecmp(state, colors[i].state) == 0)
			return colors[i].color;
	return NULL;
}

const char *page_series_color(size_t i)
{
	/* Okabe and Ito (2008): apart also for eyes that see no red or no green */
	static const char *const colors[] = {
		"#3b8fd0", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};
	return colors[i % rw_countof(colors)];
}

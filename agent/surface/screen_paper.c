/* screen_paper - wraps and scrolls a text. */
#include "agent/surface/screen_paper.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/surface/screen_text.h"

enum { PAPER_INDENT_MAX = 24 };

struct paper_line {
	const char *text;
	size_t n;
	int indent; /* columns before it */
};

struct paper {
	struct paper_line *v;
	size_t n, cap;
};

static void paper_add(struct paper *paper, const char *text, size_t n, int indent)
{
	rw_grow(paper->v, paper->n, paper->cap);
	paper->v[paper->n++] = (struct paper_line){text, n, indent};
}

/* Where the continuation of a line begins: behind the first gap of two blanks ("cost        $3"),
 * else two columns in from its own beginning. */
static int paper_indent(const char *line, size_t n)
{
	size_t own = 0;
	while (own < n && line[own] == ' ')
		own++;
	for (size_t i = own; i + 2 < n && i < PAPER_INDENT_MAX; i++) {
		if (line[i] != ' ' || line[i + 1] != ' ')
			continue;
		while (i < n && line[i] == ' ')
			i++;
		if (i < PAPER_INDENT_MAX)
			return (int)i;
	}
	return (int)own + 2;
}

/* Bytes of @line that fill @width columns, ended at a word where there is one. */
static size_t paper_fit(const char *line, size_t n, int width)
{
	size_t last = 0;
	int cols = 0;
	size_t i = 0;
	for (; i < n && cols < width; i++) {
		cols += ((unsigned char)line[i] & 0xc0) != 0x80;
		if (line[i] == ' ')
			last = i;
	}
	while (i < n && ((unsigned char)line[i] & 0xc0) == 0x80)
		i++;
	if (i >= n || line[i] == ' ')
		return i;
	if (last > i / 2)
		return last;
	return i;
}

static void paper_wrap(struct paper *paper, const char *line, size_t n, int width)
{
	int hang = paper_indent(line, n);
	int indent = 0;
	if (hang > width / 2)
		hang = 2;
	do {
		size_t fit = paper_fit(line, n, width - indent);
		paper_add(paper, line, fit, indent);
		line += fit;
		n -= fit;
		while (n > 0 && *line == ' ') {
			line++;
			n--;
		}
		indent = hang;
	} while (n > 0);
}

/* A line of a tree is cut rather than continued: its place says what it belongs to. */
static bool paper_is_branch(const char *line, size_t n)
{
	size_t i = 0;
	while (i < n && (line[i] == ' ' || line[i] == '|'))
		i++;
	return i > 0 && i + 1 < n && line[i] == '+' && line[i + 1] == '-';
}

static void paper_read(struct paper *paper, const char *text, int width)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		if (paper_is_branch(text, n))
			paper_add(paper, text, n, 0);
		else
			paper_wrap(paper, text, n, width);
		text += n;
		if (*text == '\n')
			text++;
	}
}

static bool paper_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

/* Words that say how bad something is, where they stand alone. */
static void paper_colour(struct canvas *canvas, int row, int col, const char *line)
{
	static const struct {
		const char *word;
		enum canvas_style style;
	} words[] = {
		{"critical", STYLE_CRITICAL},
		{"CRITICAL", STYLE_CRITICAL},
		{"warning", STYLE_WARNING},
		{"WARNING", STYLE_WARNING},
		{"down", STYLE_CRITICAL},
		{"DO NOW", STYLE_BOLD},
		{"NOT PROVED", STYLE_BOLD},
		{"ROOT", STYLE_BOLD},
		{"TO DO", STYLE_BOLD},
	};
	for (size_t w = 0; w < rw_countof(words); w++) {
		size_t n = strlen(words[w].word);
		for (const char *at = strstr(line, words[w].word); at;
			at = strstr(at + n, words[w].word)) {
			bool alone =
				(at == line || !paper_is_letter(at[-1])) && !paper_is_letter(at[n]);
			char before[1024];
			if (!alone || (size_t)(at - line) >= sizeof(before))
				continue;
			snprintf(before, sizeof(before), "%.*s", (int)(at - line), line);
			canvas_paint(
				canvas, row, col + canvas_width(before), (int)n, words[w].style);
		}
	}
}

static void paper_put_line(
	struct canvas *canvas, int row, int margin, const struct paper_line *line, bool title)
{
	rw_cleanup(str_done) struct str text = {0};
	str_addn(&text, line->text, line->n);
	int col = margin + line->indent;
	canvas_put(canvas, row, col, canvas->cols - col, title ? STYLE_BOLD : STYLE_PLAIN,
		str_or(text.s, ""));
	paper_colour(canvas, row, col, str_or(text.s, ""));
}

/* A text that was laid out for this many columns keeps its lines: it gives up its margin. */
static int paper_margin(const char *text, int cols)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		rw_cleanup(str_done) struct str line = {0};
		str_addn(&line, text, n);
		int width = canvas_width(str_or(line.s, ""));
		if (width > cols - 2 && width <= cols)
			return 0;
		text += n + (text[n] == '\n');
	}
	return 1;
}

void screen_paper_put(
	struct screen *screen, struct canvas *canvas, int row, int rows, const char *text)
{
	struct screen_place *place = screen_place_of(screen);
	struct paper paper = {0};
	int margin = paper_margin(text, canvas->cols);
	paper_read(&paper, text, canvas->cols - 2 * margin);
	int visible = rows;
	if ((int)paper.n > rows)
		visible = rows - 1;
	if (place->top > (int)paper.n - visible)
		place->top = (int)paper.n - visible;
	if (place->top < 0)
		place->top = 0;
	screen->n_rows = (int)paper.n;
	screen->n_visible = visible;
	for (int i = 0; i < visible && place->top + i < (int)paper.n; i++)
		paper_put_line(
			canvas, row + i, margin, &paper.v[place->top + i], place->top + i == 0);
	int below = (int)paper.n - place->top - visible;
	if (below > 0)
		canvas_putf(canvas, row + visible, 1, canvas->cols - 2, STYLE_DIM,
			"%d more lines: PgDn", below);
	else if ((int)paper.n > rows)
		canvas_put(canvas, row + visible, 1, canvas->cols - 2, STYLE_DIM, "end: PgUp");
	free(paper.v);
}

void screen_paper_put_at(struct canvas *canvas, int row, int rows, const char *text)
{
	struct paper paper = {0};
	paper_read(&paper, text, canvas->cols - 2);
	for (int i = 0; i < rows && i < (int)paper.n; i++) {
		struct paper_line line = paper.v[i];
		if (i == rows - 1) /* with all that follows, so that it is cut with an ellipsis */
			line.n = strcspn(line.text, "\n");
		paper_put_line(canvas, row + i, 1, &line, false);
	}
	free(paper.v);
}

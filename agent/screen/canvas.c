/* canvas - cells, the cutting of text at words, and lines made of cells. */
#include "agent/screen/canvas.h"

#define CUT_ROOM 2 /* a text is cut at a word when that leaves at least 1/2 of the width */

void canvas_init(struct canvas *canvas, int cols, int rows, bool utf8)
{
	*canvas = (struct canvas){.cols = cols, .rows = rows, .utf8 = utf8};
	canvas->cells = rw_calloc((size_t)cols * (size_t)rows, sizeof(*canvas->cells));
	for (int i = 0; i < cols * rows; i++)
		canvas->cells[i].text[0] = ' ';
}

void canvas_done(struct canvas *canvas)
{
	free(canvas->cells);
	*canvas = (struct canvas){0};
}

static struct canvas_cell *canvas_cell_of(const struct canvas *canvas, int row, int col)
{
	if (row < 0 || col < 0 || row >= canvas->rows || col >= canvas->cols)
		return NULL;
	return &canvas->cells[row * canvas->cols + col];
}

const struct canvas_cell *canvas_at(const struct canvas *canvas, int row, int col)
{
	return canvas_cell_of(canvas, row, col);
}

/* ---- characters ---------------------------------------------------------- */

/* Bytes of the UTF-8 character at @text; 1 for a byte that begins none. */
static size_t canvas_bytes(const char *text)
{
	static const struct {
		unsigned char mask, lead;
		size_t n;
	} forms[] = {{0x80, 0x00, 1}, {0xe0, 0xc0, 2}, {0xf0, 0xe0, 3}, {0xf8, 0xf0, 4}};
	for (size_t f = 0; f < rw_countof(forms); f++) {
		if (((unsigned char)*text & forms[f].mask) != forms[f].lead)
			continue;
		for (size_t i = 1; i < forms[f].n; i++)
			if (((unsigned char)text[i] & 0xc0) != 0x80)
				return 1;
		return forms[f].n;
	}
	return 1;
}

static uint32_t canvas_code(const char *text, size_t n)
{
	static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t code = (unsigned char)*text & masks[n];
	for (size_t i = 1; i < n; i++)
		code = code << 6 | ((unsigned char)text[i] & 0x3f);
	return code;
}

/* Characters that every terminal draws one column wide: Latin, Greek and Cyrillic letters,
 * punctuation, arrows, mathematical signs, boxes, blocks. */
static bool canvas_is_narrow(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {{0x20, 0x7e}, {0xa1, 0x2ff}, {0x370, 0x3ff}, {0x400, 0x482}, {0x2010, 0x2027},
		{0x2030, 0x205e}, {0x2190, 0x22ff}, {0x2500, 0x25fc}};
	for (size_t i = 0; i < rw_countof(ranges); i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

static const char *canvas_ascii(uint32_t code)
{
	static const struct {
		uint32_t first, last;
		const char *sign;
	} signs[] = {
		{0x2010, 0x2015, "-"},
		{0x2018, 0x2019, "'"},
		{0x201c, 0x201d, "\""},
		{0x2026, 0x2026, "."},
		{0x2190, 0x2190, "<"},
		{0x2192, 0x2192, ">"},
		{0x2264, 0x2264, "<"},
		{0x2500, 0x2501, "-"},
		{0x2502, 0x2503, "|"},
		{0x250c, 0x254b, "+"},
		{0x2581, 0x258f, "#"},
		{0x2591, 0x2591, "-"},
		{0x25b6, 0x25b6, ">"},
	};
	for (size_t i = 0; i < rw_countof(signs); i++)
		if (code >= signs[i].first && code <= signs[i].last)
			return signs[i].sign;
	return "?";
}

/* Writes the character at @text into @cell as this canvas can show it. */
static void canvas_set(
	const struct canvas *canvas, struct canvas_cell *cell, const char *text, size_t n)
{
	uint32_t code = canvas_code(text, n);
	*cell->text = '\0';
	if (n == 1 && (code < 0x20 || code == 0x7f || (unsigned char)*text >= 0x80))
		snprintf(cell->text, sizeof(cell->text), "%s",
			(unsigned char)*text >= 0x80 ? "?" : " ");
	else if (n > 1 && !canvas->utf8)
		snprintf(cell->text, sizeof(cell->text), "%s", canvas_ascii(code));
	else if (canvas_is_narrow(code))
		snprintf(cell->text, sizeof(cell->text), "%.*s", (int)n, text);
	else
		snprintf(cell->text, sizeof(cell->text), "?");
}

int canvas_width(const char *text)
{
	int n = 0;
	for (; *text; text += canvas_bytes(text))
		n++;
	return n;
}

/* ---- text ---------------------------------------------------------------- */

/* Where a text of more than @width columns ends before its ellipsis: behind the last word that
 * leaves room for it; in the middle of a word where that would lose half of the width. */
static int canvas_cut(const char *text, int width, int ellipsis)
{
	int limit = width - ellipsis;
	int last = 0;
	int at = 0;
	if (limit <= 0)
		return width;
	for (const char *p = text; *p && at <= limit; p += canvas_bytes(p), at++)
		if (*p == ' ')
			last = at;
	if (last < width / CUT_ROOM)
		return limit;
	return last;
}

static int canvas_write(
	struct canvas *canvas, int row, int col, int n, enum canvas_style style, const char *text)
{
	int at = 0;
	for (; *text && at < n; at++) {
		size_t bytes = canvas_bytes(text);
		struct canvas_cell *cell = canvas_cell_of(canvas, row, col + at);
		if (cell) {
			canvas_set(canvas, cell, text, bytes);
			cell->style = (uint8_t)style;
		}
		text += bytes;
	}
	return at;
}

int canvas_put(struct canvas *canvas, int row, int col, int width, enum canvas_style style,
	const char *text)
{
	if (width > canvas->cols - col)
		width = canvas->cols - col;
	if (width <= 0)
		return 0;
	if (canvas_width(text) <= width)
		return canvas_write(canvas, row, col, width, style, text);
	const char *ellipsis = "...";
	if (canvas->utf8)
		ellipsis = "\u2026";
	int cut = canvas_cut(text, width, canvas_width(ellipsis));
	int n = canvas_write(canvas, row, col, cut, style, text);
	return n + canvas_write(canvas, row, col + n, width - n, style, ellipsis);
}

int canvas_put_right(struct canvas *canvas, int row, int col, int width, enum canvas_style style,
	const char *text)
{
	int n = canvas_width(text);
	if (n > width)
		n = width;
	return canvas_put(canvas, row, col + width - n, n, style, text);
}

int canvas_putf(struct canvas *canvas, int row, int col, int width, enum canvas_style style,
	const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return canvas_put(canvas, row, col, width, style, text);
}

void canvas_paint(struct canvas *canvas, int row, int col, int width, enum canvas_style style)
{
	for (int i = 0; i < width; i++) {
		struct canvas_cell *cell = canvas_cell_of(canvas, row, col + i);
		if (cell)
			cell->style = (uint8_t)style;
	}
}

/* Eighths of a block in UTF-8, whole signs in ASCII. */
void canvas_bar(
	struct canvas *canvas, int row, int col, int width, enum canvas_style style, double ratio)
{
	static const char *const eighths[] = {
		"", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b", "\u258a", "\u2589"};
	if (isnan(ratio) || ratio < 0)
		ratio = 0;
	int steps = (int)lrint(fmin(ratio, 1) * width * 8);
	for (int i = 0; i < width; i++) {
		int rest = steps - i * 8;
		const char *sign = "\u2591";
		if (rest >= 8)
			sign = "\u2588";
		else if (rest > 0 && canvas->utf8)
			sign = eighths[rest];
		else if (rest >= 4)
			sign = "#";
		enum canvas_style used = style;
		if (rest <= 0)
			used = STYLE_DIM;
		canvas_put(canvas, row, col + i, 1, used, sign);
	}
}

/* ---- lines --------------------------------------------------------------- */

static int canvas_row_end(const struct canvas *canvas, int row)
{
	int n = canvas->cols;
	while (n > 0 && str_eq(canvas_at(canvas, row, n - 1)->text, " "))
		n--;
	return n;
}

/* Rows up to the last one that holds a character. */
static int canvas_used(const struct canvas *canvas)
{
	int n = canvas->rows;
	while (n > 0 && canvas_row_end(canvas, n - 1) == 0)
		n--;
	return n;
}

static const char *canvas_escape(unsigned style)
{
	static const char *const codes[STYLE_COUNT] = {
		[STYLE_PLAIN] = "\033[0m",
		[STYLE_DIM] = "\033[0;2m",
		[STYLE_BOLD] = "\033[0;1m",
		[STYLE_WARNING] = "\033[0;1;33m",
		[STYLE_CRITICAL] = "\033[0;1;37;41m",
		[STYLE_UNKNOWN] = "\033[0;1;35m",
		[STYLE_ALARM] = "\033[0;1;31m",
		[STYLE_SELECTED] = "\033[0;7m",
		[STYLE_BAR] = "\033[0;7m",
	};
	return codes[style];
}

static void canvas_print_row(FILE *out, const struct canvas *canvas, int row, bool color)
{
	unsigned style = STYLE_PLAIN;
	int n = canvas_row_end(canvas, row);
	for (int i = 0; i < n; i++) {
		const struct canvas_cell *cell = canvas_at(canvas, row, i);
		if (color && cell->style != style)
			fputs(canvas_escape(cell->style), out);
		style = cell->style;
		fputs(cell->text, out);
	}
	if (color && style != STYLE_PLAIN)
		fputs(canvas_escape(STYLE_PLAIN), out);
	fputc('\n', out);
}

void canvas_print(FILE *out, const struct canvas *canvas, int first, bool color)
{
	int n = canvas_used(canvas);
	for (int row = first; row < n; row++)
		canvas_print_row(out, canvas, row, color);
}

/* markdown_html - line by line: what a line begins with decides which block it belongs to. */
#include "agent/document/markdown_html.h"

enum block { BLOCK_NONE, BLOCK_TEXT, BLOCK_LIST, BLOCK_STEPS, BLOCK_TABLE, BLOCK_CODE };

struct markdown {
	struct str *out;
	enum block block;
	size_t rows; /* of the table so far */
};

/* Harmless between tags and in a quoted attribute. */
static void markdown_escape(struct str *out, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		switch (text[i]) {
		case '&': str_add(out, "&amp;"); break;
		case '<': str_add(out, "&lt;"); break;
		case '>': str_add(out, "&gt;"); break;
		case '"': str_add(out, "&quot;"); break;
		default: str_addn(out, text + i, 1);
		}
	}
}

/* ---- in a line ----------------------------------------------------------- */

static bool is_prefix(const char *text, size_t n, const char *prefix)
{
	const size_t n_prefix = strlen(prefix);
	return n >= n_prefix && memcmp(text, prefix, n_prefix) == 0;
}

/* Where @mark stands in the @n bytes at @text; @n when it does not. */
static size_t find_mark(const char *text, size_t n, const char *mark)
{
	const char *found = memmem(text, n, mark, strlen(mark));
	if (!found)
		return n;
	return (size_t)(found - text);
}

/* The address that a link to @to gets; false: it leads nowhere from here. */
static bool link_address(struct str *ret, const char *to, size_t n)
{
	static const char ending[] = ".md";
	const size_t n_ending = strlen(ending);
	if (is_prefix(to, n, "https://") || is_prefix(to, n, "http://")) {
		markdown_escape(ret, to, n);
		return true;
	}
	if (n == strlen("README.md") && is_prefix(to, n, "README.md")) {
		str_add(ret, "./");
		return true;
	}
	if (n <= n_ending || memcmp(to + n - n_ending, ending, n_ending) != 0)
		return false;
	for (size_t i = 0; i < n - n_ending; i++)
		if (!islower((unsigned char)to[i]) && !isdigit((unsigned char)to[i]) &&
			to[i] != '_')
			return false;
	str_addn(ret, to, n - n_ending);
	return true;
}

static void add_inline(struct str *out, const char *text, size_t n);

/* "[words](address)" at @text; the bytes it takes, or 0 when it is none. */
static size_t add_link(struct str *out, const char *text, size_t n)
{
	const size_t middle = find_mark(text, n, "](");
	if (middle == n)
		return 0;
	const size_t begin = middle + 2, end = begin + find_mark(text + begin, n - begin, ")");
	if (end == n)
		return 0;
	struct str address = {0};
	const bool leads = link_address(&address, text + begin, end - begin);
	if (leads)
		str_addf(out, "<a href=\"%s\">", address.s);
	add_inline(out, text + 1, middle - 1);
	if (leads)
		str_add(out, "</a>");
	str_done(&address);
	return end + 1;
}

/* Text between two equal marks; the bytes it takes, or 0 when the second is missing. */
static size_t add_marked(
	struct str *out, const char *text, size_t n, const char *mark, const char *tag)
{
	const size_t n_mark = strlen(mark);
	if (!is_prefix(text, n, mark))
		return 0;
	const size_t inner = find_mark(text + n_mark, n - n_mark, mark);
	if (inner == n - n_mark || inner == 0)
		return 0;
	str_addf(out, "<%s>", tag);
	if (str_eq(tag, "code"))
		markdown_escape(out, text + n_mark, inner);
	else
		add_inline(out, text + n_mark, inner);
	str_addf(out, "</%s>", tag);
	return inner + 2 * n_mark;
}

static void add_inline(struct str *out, const char *text, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t took = add_marked(out, text + i, n - i, "`", "code");
		if (!took)
			took = add_marked(out, text + i, n - i, "**", "strong");
		if (!took && i + 1 < n && text[i + 1] != ' ')
			took = add_marked(out, text + i, n - i, "*", "em");
		if (!took && text[i] == '[')
			took = add_link(out, text + i, n - i);
		if (!took) {
			markdown_escape(out, text + i, 1);
			took = 1;
		}
		i += took;
	}
}

/* ---- blocks -------------------------------------------------------------- */

static void markdown_end(struct markdown *m)
{
	static const char *const ends[] = {
		[BLOCK_NONE] = "",
		[BLOCK_TEXT] = "</p>\n",
		[BLOCK_LIST] = "</li></ul>\n",
		[BLOCK_STEPS] = "</li></ol>\n",
		[BLOCK_TABLE] = "</table></div>\n",
		[BLOCK_CODE] = "</pre>\n",
	};
	str_add(m->out, ends[m->block]);
	m->block = BLOCK_NONE;
}

static void markdown_begin(struct markdown *m, enum block block, const char *tag)
{
	markdown_end(m);
	str_add(m->out, tag);
	m->block = block;
	m->rows = 0;
}

static bool is_heading(const char *line, size_t n)
{
	const size_t level = strspn(line, "#");
	return level >= 1 && level <= 4 && n > level + 1 && line[level] == ' ';
}

/* The bytes of "12. ", or 0. */
static size_t step_mark(const char *line, size_t n)
{
	size_t digits = 0;
	while (digits < n && isdigit((unsigned char)line[digits]))
		digits++;
	if (digits == 0 || !is_prefix(line + digits, n - digits, ". "))
		return 0;
	return digits + 2;
}

static void markdown_item(struct markdown *m, enum block block, const char *text, size_t n)
{
	const char *begin = "<ul><li>";
	if (block == BLOCK_STEPS)
		begin = "<ol><li>";
	if (m->block == block)
		str_add(m->out, "</li>\n<li>");
	else
		markdown_begin(m, block, begin);
	add_inline(m->out, text, n);
}

/* "| a | b |": the second row of a table only says that the first one is its head. */
static void markdown_row(struct markdown *m, const char *line, size_t n)
{
	const char *tag = "td";
	if (m->block != BLOCK_TABLE)
		markdown_begin(m, BLOCK_TABLE, "<div class=\"wide\"><table>\n");
	m->rows++;
	if (m->rows == 2)
		return;
	if (m->rows == 1)
		tag = "th";
	str_add(m->out, "<tr>");
	for (size_t i = 1; i < n;) {
		const size_t wide = find_mark(line + i, n - i, " |");
		if (wide == n - i)
			break;
		size_t skip = 0;
		while (skip < wide && line[i + skip] == ' ')
			skip++;
		str_addf(m->out, "<%s>", tag);
		add_inline(m->out, line + i + skip, wide - skip);
		str_addf(m->out, "</%s>", tag);
		i += wide + 2;
	}
	str_add(m->out, "</tr>\n");
}

static void markdown_more(struct markdown *m, const char *line, size_t n)
{
	size_t skip = 0;
	while (skip < n && line[skip] == ' ')
		skip++;
	if (m->block == BLOCK_NONE || m->block == BLOCK_TABLE)
		markdown_begin(m, BLOCK_TEXT, "<p>");
	else
		str_add(m->out, "\n");
	add_inline(m->out, line + skip, n - skip);
}

static void markdown_line(struct markdown *m, const char *line, size_t n)
{
	size_t indent = 0;
	while (indent < n && line[indent] == ' ')
		indent++;
	const bool fence = is_prefix(line + indent, n - indent, "```");
	const size_t step = step_mark(line, n);
	if (m->block == BLOCK_CODE && !fence) {
		markdown_escape(m->out, line, n);
		str_add(m->out, "\n");
	} else if (m->block == BLOCK_CODE) {
		markdown_end(m);
	} else if (fence) {
		markdown_begin(m, BLOCK_CODE, "<pre>");
	} else if (indent == n || is_prefix(line, n, "<!--")) {
		markdown_end(m);
	} else if (is_heading(line, n)) {
		const size_t level = strspn(line, "#");
		markdown_end(m);
		str_addf(m->out, "<h%zu>", level);
		add_inline(m->out, line + level + 1, n - level - 1);
		str_addf(m->out, "</h%zu>\n", level);
	} else if (is_prefix(line, n, "- ")) {
		markdown_item(m, BLOCK_LIST, line + 2, n - 2);
	} else if (step) {
		markdown_item(m, BLOCK_STEPS, line + step, n - step);
	} else if (line[0] == '|') {
		markdown_row(m, line, n);
	} else {
		markdown_more(m, line, n);
	}
}

void markdown_html_add(struct str *out, const char *text, size_t n)
{
	struct markdown m = {.out = out};
	for (size_t i = 0; i < n;) {
		const size_t wide = find_mark(text + i, n - i, "\n");
		markdown_line(&m, text + i, wide);
		i += wide + 1;
	}
	markdown_end(&m);
}

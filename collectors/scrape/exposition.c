/* exposition - Prometheus text, line by line. */
#include "collectors/scrape/exposition.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MAX = 64 }; /* bytes of a number */
#define TIME_MOST_MS 9.0e12 /* beyond, ns do not fit: the year 2255 */

void exposition_begin(struct exposition *text, const char *data, size_t n, bool openmetrics)
{
	text->at = data;
	text->end = data + n;
	text->openmetrics = openmetrics;
}

static bool exposition_blank(char c)
{
	return c == ' ' || c == '\t';
}

static const char *exposition_skip(const char *at, const char *end)
{
	while (at < end && exposition_blank(*at))
		at++;
	return at;
}

static bool exposition_name_char(char c, bool first)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':')
		return true;
	return !first && c >= '0' && c <= '9';
}

/* Where a name that begins at @at ends; @at itself: there is none. */
static const char *exposition_name(const char *at, const char *end)
{
	const char *p = at;
	while (p < end && exposition_name_char(*p, p == at))
		p++;
	return p;
}

int exposition_next(struct exposition *text, struct exposition_line *ret)
{
	while (text->at < text->end) {
		const char *line = text->at;
		const size_t left = (size_t)(text->end - line);
		const char *end = memchr(line, '\n', left);
		if (!end)
			end = text->end;
		text->at = end;
		if (end < text->end)
			text->at++;
		if (end > line && end[-1] == '\r')
			end--;
		line = exposition_skip(line, end);
		if (line == end || *line == '#')
			continue;
		if (end - line > EXPOSITION_LINE_MAX)
			return -EMSGSIZE;
		const char *behind = exposition_name(line, end);
		*ret = (struct exposition_line){.name = line,
			.n_name = (size_t)(behind - line),
			.rest = behind,
			.end = end};
		return behind > line ? 1 : -EBADMSG;
	}
	return 0;
}

/* ---- labels ---------------------------------------------------------------- */

/* The value behind the opening quote at @at: as it stands, or, where something is escaped, a copy
 * at *@room. Where its closing quote stands; NULL: it has none. */
static const char *exposition_quoted(
	const char *at, const char *end, char **room, struct push_label *label)
{
	const char *begin = at;
	while (at < end && *at != '"' && *at != '\\')
		at++;
	label->value = begin;
	label->n_value = (size_t)(at - begin);
	if (at < end && *at == '"')
		return at;
	char *out = *room;
	memcpy(out, begin, label->n_value);
	label->value = out;
	out += label->n_value;
	for (; at < end && *at != '"'; at++) {
		char c = *at;
		if (c == '\\' && ++at == end)
			return NULL;
		if (c == '\\' && *at == 'n')
			c = '\n';
		else
			c = *at;
		*out++ = c;
	}
	label->n_value = (size_t)(out - label->value);
	*room = out;
	return at < end ? at : NULL;
}

/* NAME="value", one behind the other. Where the closing brace stands; NULL with *@ret. */
static const char *exposition_braces(
	struct exposition *text, struct exposition_line *line, const char *at, int *ret)
{
	char *room = text->unescaped;
	*ret = -EBADMSG;
	for (;;) {
		at = exposition_skip(at, line->end);
		if (at < line->end && *at == '}')
			return at;
		if (line->n_labels == EXPOSITION_LABELS_MAX) {
			*ret = -E2BIG;
			return NULL;
		}
		struct push_label *label = &text->labels[line->n_labels];
		const char *behind = exposition_name(at, line->end);
		label->key = at;
		label->n_key = (size_t)(behind - at);
		at = exposition_skip(behind, line->end);
		if (label->n_key == 0 || at >= line->end || *at != '=')
			return NULL;
		at = exposition_skip(at + 1, line->end);
		if (at >= line->end || *at != '"')
			return NULL;
		at = exposition_quoted(at + 1, line->end, &room, label);
		if (!at)
			return NULL;
		line->n_labels++;
		at = exposition_skip(at + 1, line->end);
		if (at < line->end && *at == ',')
			at++;
		else if (at >= line->end || *at != '}')
			return NULL;
	}
}

/* ---- numbers --------------------------------------------------------------- */

/* The word at *@at, ended by a zero byte. False: there is none, or it is too long. */
static bool exposition_word(const char **at, const char *end, char ret[NUMBER_MAX])
{
	const char *begin = exposition_skip(*at, end), *p = begin;
	while (p < end && !exposition_blank(*p))
		p++;
	*at = p;
	if (p == begin || p - begin >= NUMBER_MAX)
		return false;
	memcpy(ret, begin, (size_t)(p - begin));
	ret[p - begin] = '\0';
	return true;
}

static bool exposition_real(const char *word, double *ret)
{
	char *end;
	if (strpbrk(word, "xXpP(")) /* strtod() reads more than the format has */
		return false;
	*ret = strtod(word, &end);
	return *end == '\0';
}

/* Whole numbers without a point keep all their digits: a counter of octets outgrows a double. */
static bool exposition_number(const char *word, struct push_number *ret)
{
	char *end;
	errno = 0;
	ret->integer = strtoll(word, &end, 10);
	ret->whole = *end == '\0' && errno == 0;
	if (ret->whole)
		return true;
	return exposition_real(word, &ret->real);
}

static bool exposition_time(
	const struct exposition *text, const char *word, struct exposition_line *line)
{
	double value;
	if (!exposition_real(word, &value) || !isfinite(value))
		return false;
	if (text->openmetrics)
		value *= 1e3;
	if (fabs(value) > TIME_MOST_MS)
		return false;
	line->has_time = true;
	line->t_ns = (int64_t)llround(value) * 1000000;
	return true;
}

int exposition_labels(struct exposition *text, struct exposition_line *line)
{
	char word[NUMBER_MAX];
	int rc;
	const char *at = exposition_skip(line->rest, line->end);
	line->labels = text->labels;
	line->n_labels = 0;
	if (at < line->end && *at == '{') {
		at = exposition_braces(text, line, at + 1, &rc);
		if (!at)
			return rc;
		at++;
	} else if (at == line->rest) {
		return -EBADMSG; /* nothing between the name and what follows */
	}
	if (!exposition_word(&at, line->end, word) || !exposition_number(word, &line->number))
		return -EBADMSG;
	at = exposition_skip(at, line->end);
	if (at == line->end || (text->openmetrics && *at == '#'))
		return 0;
	if (!exposition_word(&at, line->end, word) || !exposition_time(text, word, line))
		return -EBADMSG;
	at = exposition_skip(at, line->end);
	if (at == line->end || (text->openmetrics && *at == '#'))
		return 0;
	return -EBADMSG;
}

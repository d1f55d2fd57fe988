/* text_clean - replaces what a terminal, a database or a spreadsheet would act on. */
#include "base/text_clean.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum { TEXT_HIDE_LEAST = 3 }; /* a shorter word would hide half of every sentence */

/* Bytes of the valid sequence at @data, 0 when there is none: no overlong forms, no surrogates. */
static size_t text_utf8_length(const uint8_t *data, size_t n)
{
	size_t len = 0;
	if (data[0] < 0x80)
		len = 1;
	else if (data[0] >= 0xc2 && data[0] < 0xe0)
		len = 2;
	else if (data[0] >= 0xe0 && data[0] < 0xf0)
		len = 3;
	else if (data[0] >= 0xf0 && data[0] < 0xf5)
		len = 4;
	if (len == 0 || len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((data[i] & 0xc0) != 0x80)
			return 0;
	if ((data[0] == 0xe0 && data[1] < 0xa0) || (data[0] == 0xed && data[1] > 0x9f) ||
		(data[0] == 0xf0 && data[1] < 0x90) || (data[0] == 0xf4 && data[1] > 0x8f))
		return 0;
	return len;
}

static uint32_t text_code_point(const uint8_t *data, size_t len)
{
	if (len == 1)
		return data[0];
	uint32_t code = data[0] & (0xffu >> (len + 1));
	for (size_t i = 1; i < len; i++)
		code = code << 6 | (data[i] & 0x3f);
	return code;
}

/* Characters that reorder or hide what stands beside them. Source: Unicode, "Bidirectional
 * Algorithm" (UAX #9), table of explicit formatting characters; zero-width ones of General
 * Punctuation; U+FEFF. */
static bool text_hides(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {{0x61c, 0x61c}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x2064},
		{0x2066, 0x206f}, {0xfeff, 0xfeff}};
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

/* How many bytes the sequence that begins with @lead has; 1 where it begins none. */
static size_t text_utf8_wanted(uint8_t lead)
{
	if (lead >= 0xf0 && lead < 0xf5)
		return 4;
	if (lead >= 0xe0 && lead < 0xf0)
		return 3;
	if (lead >= 0xc2 && lead < 0xe0)
		return 2;
	return 1;
}

void text_whole(char *text)
{
	const size_t n = strlen(text);
	for (size_t i = 0; i < n;) {
		const size_t len = text_utf8_length((const uint8_t *)text + i, n - i);
		if (len > 0) {
			i += len;
			continue;
		}
		if (i + text_utf8_wanted((uint8_t)text[i]) > n) {
			text[i] = '\0';
			return;
		}
		text[i++] = '?';
	}
}

size_t text_next(const char *data, size_t n, uint32_t *ret_code)
{
	const size_t len = text_utf8_length((const uint8_t *)data, n);
	*ret_code = 0xfffd;
	if (len == 0)
		return 1;
	*ret_code = text_code_point((const uint8_t *)data, len);
	return len;
}

bool text_is_shown(uint32_t code)
{
	const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
	return !control && !text_hides(code);
}

/* What stands for the sequence: 0 = itself. */
static char text_stand_in(const uint8_t *data, size_t len)
{
	if (len == 0)
		return '?';
	const uint32_t code = text_code_point(data, len);
	if (code < 0x20 || (code >= 0x7f && code < 0xa0))
		return ' ';
	if (text_hides(code))
		return '?';
	return 0;
}

size_t text_clean(char *buf, size_t size, const void *data, size_t n)
{
	const uint8_t *from = data;
	size_t at = 0;
	for (size_t i = 0; i < n;) {
		const size_t len = text_utf8_length(from + i, n - i);
		const char stand_in = text_stand_in(from + i, len);
		size_t read = 1, wrote = 1;
		if (len > 1)
			read = len;
		if (!stand_in)
			wrote = read;
		if (at + wrote >= size)
			break;
		if (stand_in)
			buf[at] = stand_in;
		else
			memmove(buf + at, from + i, wrote);
		at += wrote;
		i += read;
	}
	if (size > 0)
		buf[at] = '\0';
	return at;
}

char *text_clean_copy(const char *text)
{
	const size_t n = strlen(text);
	char *copy = rw_calloc(n + 1, 1);
	text_clean(copy, n + 1, text, n);
	return copy;
}

void text_hide(char *text, const char *secret)
{
	size_t n = 0;
	if (secret)
		n = strlen(secret);
	if (n < TEXT_HIDE_LEAST)
		return;
	for (char *at = strstr(text, secret); at; at = strstr(at + n, secret))
		memset(at, '*', n);
}

bool text_is_clean(const char *text)
{
	const size_t n = strlen(text);
	const uint8_t *from = (const uint8_t *)text;
	for (size_t i = 0; i < n;) {
		const size_t len = text_utf8_length(from + i, n - i);
		if (text_stand_in(from + i, len))
			return false;
		i += len;
	}
	return true;
}

bool text_is_word(const char *text)
{
	static const char fit[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:/-";
	return *text && *text != '-' && text[strspn(text, fit)] == '\0';
}

/* Spreadsheets of Asian editions take the full-width forms for the same signs. */
static bool text_begins_formula(const char *text)
{
	static const char *const signs[] = {"=", "+", "-", "@", "\t", "\r", "\xef\xbc\x9d",
		"\xef\xbc\x8b", "\xef\xbc\x8d", "\xef\xbc\xa0"};
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		const size_t n = strlen(signs[i]);
		if (strncmp(text, signs[i], n) == 0 && text[n])
			return true;
	}
	return false;
}

/* Digits, a point, an exponent; "-nan(x)" would be a call of a function. */
static bool text_is_plain_number(const char *text)
{
	char *end;
	if (text[strspn(text, "0123456789.eE+-")] != '\0')
		return strcmp(text, "-inf") == 0 || strcmp(text, "-nan") == 0;
	strtod(text, &end);
	return *end == '\0';
}

bool text_is_formula(const char *text)
{
	/* Blanks in front do not stop every spreadsheet. */
	const char *first = text + strspn(text, " ");
	return text_begins_formula(first) && !text_is_plain_number(first);
}

/* secret_mask - one pass for each form of each word, then one for patterns, one for addresses. */
#include "agent/support/secret_mask.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/base64.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/support/secret_words.h"

static const char masked[] = "MASKED";

enum {
	SHORT_WORD = 6, /* shorter ones are masked as whole words only */
	CODED_LEAST = 4, /* shorter words are not looked for in base64 and the like */
	CODED_MOST_TEXT = 4 << 20, /* nor in larger texts: these are samples */
	ADDRESSES_MOST = 100000,
};

struct form {
	char *text;
	bool whole; /* neighbours must not be part of a word */
	bool coded; /* base64: the whole run of such characters goes */
};

struct secret_mask {
	struct form *forms;
	size_t n_forms, cap_forms;
	size_t n_plain; /* the first ones: the words as they are */
	bool anonymize;
	char **addresses; /* as they are; the place in the list is the new one */
	size_t n_addresses, cap_addresses;
	size_t count;
};

/* ---- forms --------------------------------------------------------------- */

static void form_add(struct secret_mask *mask, char *text, bool whole, bool coded)
{
	rw_grow(mask->forms, mask->n_forms, mask->cap_forms);
	mask->forms[mask->n_forms++] = (struct form){text, whole, coded};
}

/* The characters of base64 that depend on the word alone, when it begins at byte @offset of three.
 */
static void form_add_base64(struct secret_mask *mask, const char *word, size_t offset)
{
	const size_t n = strlen(word);
	rw_cleanup(freep) char *bytes = rw_calloc(n + 3, 1);
	memcpy(bytes + offset, word, n);
	rw_cleanup(freep) char *text = base64_text(bytes, n + offset);
	const size_t skip = offset ? offset + 1 : 0;
	const size_t whole = (n + offset) * 8 / 6; /* complete characters */
	if (whole < skip + CODED_LEAST)
		return;
	text[whole] = '\0';
	form_add(mask, rw_strdup(text + skip), false, true);
	/* the alphabet of addresses, RFC 4648 section 5 */
	if (!strpbrk(text + skip, "+/"))
		return;
	char *other = rw_strdup(text + skip);
	for (char *c = other; *c; c++) {
		if (*c == '+')
			*c = '-';
		else if (*c == '/')
			*c = '_';
	}
	form_add(mask, other, false, true);
}

static void form_add_hex(struct secret_mask *mask, const char *word, const char digits[17])
{
	struct str hex = {0};
	for (const char *c = word; *c; c++)
		str_addf(&hex, "%c%c", digits[(unsigned char)*c >> 4], digits[*c & 15]);
	form_add(mask, hex.s, false, false);
}

/* As in an address: everything but letters, digits and -._~ (RFC 3986, section 2.3). */
static void form_add_percent(struct secret_mask *mask, const char *word)
{
	struct str text = {0};
	for (const char *c = word; *c; c++) {
		if (isalnum((unsigned char)*c) || strchr("-._~", *c))
			str_addn(&text, c, 1);
		else
			str_addf(&text, "%%%02X", (unsigned char)*c);
	}
	if (str_eq(text.s, word))
		str_done(&text);
	else
		form_add(mask, text.s, false, false);
}

/* As in a JSON text. */
static void form_add_escaped(struct secret_mask *mask, const char *word)
{
	struct str text = {0};
	for (const char *c = word; *c; c++)
		str_addf(&text, "%s%c", strchr("\"\\", *c) ? "\\" : "", *c);
	if (str_eq(text.s, word))
		str_done(&text);
	else
		form_add(mask, text.s, false, false);
}

struct secret_mask *secret_mask_new(const struct secret_words *words, bool anonymize)
{
	struct secret_mask *mask = rw_calloc(1, sizeof(*mask));
	mask->anonymize = anonymize;
	for (size_t i = 0; i < secret_words_count(words); i++) {
		const char *word = secret_words_at(words, i);
		form_add(mask, rw_strdup(word), strlen(word) < SHORT_WORD, false);
	}
	mask->n_plain = mask->n_forms;
	for (size_t i = 0; i < secret_words_count(words); i++) {
		const char *word = secret_words_at(words, i);
		if (strlen(word) < CODED_LEAST)
			continue;
		form_add_escaped(mask, word);
		for (size_t offset = 0; offset < 3; offset++)
			form_add_base64(mask, word, offset);
		form_add_hex(mask, word, "0123456789abcdef");
		form_add_hex(mask, word, "0123456789ABCDEF");
		form_add_percent(mask, word);
	}
	return mask;
}

void secret_mask_free(struct secret_mask *mask)
{
	if (!mask)
		return;
	for (size_t i = 0; i < mask->n_forms; i++) {
		explicit_bzero(mask->forms[i].text, strlen(mask->forms[i].text));
		free(mask->forms[i].text);
	}
	for (size_t i = 0; i < mask->n_addresses; i++)
		free(mask->addresses[i]);
	free(mask->addresses);
	free(mask->forms);
	free(mask);
}

size_t secret_mask_count(const struct secret_mask *mask)
{
	return mask->count;
}

/* ---- words --------------------------------------------------------------- */

static bool is_word_part(int c)
{
	return isalnum(c) || c == '_';
}

static bool is_base64(int c)
{
	return isalnum(c) || c == '+' || c == '/' || c == '-' || c == '_' || c == '=';
}

/* The bytes from @*from to @*end, which hold the form, are they to go? A run of base64 goes whole.
 */
static bool form_fits(const struct str *text, const struct form *form, size_t *from, size_t *end)
{
	const char *s = text->s;
	if (form->whole && *from > 0 && is_word_part((unsigned char)s[*from - 1]))
		return false;
	if (form->whole && *end < text->n && is_word_part((unsigned char)s[*end]))
		return false;
	while (form->coded && *from > 0 && is_base64((unsigned char)s[*from - 1]))
		--*from;
	while (form->coded && *end < text->n && is_base64((unsigned char)s[*end]))
		++*end;
	return true;
}

static void mask_form(struct secret_mask *mask, const struct form *form, struct str *text)
{
	struct str out = {0};
	const size_t n = strlen(form->text);
	size_t kept = 0, at = 0;
	for (char *hit; (hit = memmem(text->s + at, text->n - at, form->text, n));) {
		size_t from = (size_t)(hit - text->s), end = from + n;
		at = end;
		if (!form_fits(text, form, &from, &end))
			continue;
		if (from > kept)
			str_addn(&out, text->s + kept, from - kept);
		str_add(&out, masked);
		kept = at = end;
		mask->count++;
	}
	if (kept == 0)
		return;
	str_addn(&out, text->s + kept, text->n - kept);
	str_done(text);
	*text = out;
}

/* ---- patterns ------------------------------------------------------------ */

/* How many bytes at @s, the beginning of a word, are secret by their looks; @*ret_keep of them
 * stay.
 */
static size_t looks_secret(const char *s, size_t left, size_t *ret_keep)
{
	static const struct {
		const char *name, *stop;
	} names[] = {
		{"Authorization: ", "\r\n\"'"}, /* "Bearer xyz", "Basic xyz" */
		{"Bearer ", " \t\r\n\"',;"},
		{"X-Auth-Token: ", " \t\r\n\"',;"},
		{"X-Api-Key: ", " \t\r\n\"',;"},
		{"access_token=", " \t\r\n\"',;&"},
		{"api_key=", " \t\r\n\"',;&"},
		{"password=", " \t\r\n\"',;&"},
		{"token=", " \t\r\n\"',;&"},
	};
	static const char begin[] = "-----BEGIN ", end[] = "-----END ";
	if (left > sizeof(begin) && strncmp(s, begin, sizeof(begin) - 1) == 0) {
		const size_t line = strcspn(s, "\n");
		const char *stop = strstr(s, end);
		*ret_keep = 0;
		if (memmem(s, line, "PRIVATE KEY", strlen("PRIVATE KEY")))
			return stop ? (size_t)(stop - s) + strcspn(stop, "\n") : left;
		return 0;
	}
	for (size_t i = 0; i < rw_countof(names); i++) {
		const size_t n = strlen(names[i].name);
		const size_t value = left > n ? strcspn(s + n, names[i].stop) : 0;
		if (value >= SHORT_WORD && strncasecmp(s, names[i].name, n) == 0) {
			*ret_keep = n;
			return n + value;
		}
	}
	/* ://user:password@ */
	const size_t host =
		left > 3 && strncmp(s, "://", 3) == 0 ? strcspn(s + 3, "/ \t\r\n\"'") : 0;
	const char *at = host ? memchr(s + 3, '@', host) : NULL;
	const char *colon = at ? memchr(s + 3, ':', (size_t)(at - s - 3)) : NULL;
	if (!colon)
		return 0;
	*ret_keep = (size_t)(colon - s) + 1;
	return (size_t)(at - s);
}

static void mask_patterns(struct secret_mask *mask, struct str *text)
{
	struct str out = {0};
	size_t at = 0;
	str_add(&out, "");
	while (at < text->n) {
		size_t keep = 0, n = 0;
		const char c = text->s[at];
		if (c == '-' || c == ':' || isalpha((unsigned char)c))
			n = looks_secret(text->s + at, text->n - at, &keep);
		const bool already = n > keep && n - keep == strlen(masked) &&
			strncmp(text->s + at + keep, masked, n - keep) == 0;
		if (n == 0 || already) {
			str_addn(&out, text->s + at++, 1);
			continue;
		}
		str_addn(&out, text->s + at, keep);
		str_add(&out, masked);
		mask->count++;
		at += n;
	}
	str_done(text);
	*text = out;
}

/* ---- addresses ----------------------------------------------------------- */

static size_t address_number(struct secret_mask *mask, const char *address)
{
	for (size_t i = 0; i < mask->n_addresses; i++)
		if (str_eq(mask->addresses[i], address))
			return i + 1;
	if (mask->n_addresses == ADDRESSES_MOST)
		return ADDRESSES_MOST;
	rw_grow(mask->addresses, mask->n_addresses, mask->cap_addresses);
	mask->addresses[mask->n_addresses++] = rw_strdup(address);
	return mask->n_addresses;
}

/* This machine's own, and those that are no address of a machine. */
static bool stays(const char *address, int family)
{
	if (family == AF_INET)
		return strncmp(address, "127.", 4) == 0 || strncmp(address, "255.", 4) == 0 ||
			strncmp(address, "0.", 2) == 0;
	return str_eq(address, "::") || str_eq(address, "::1");
}

static void mask_addresses(struct secret_mask *mask, struct str *text)
{
	struct str out = {0};
	size_t at = 0;
	str_add(&out, "");
	while (at < text->n) {
		unsigned char binary[16];
		char word[64];
		size_t n = 0;
		while (at + n < text->n &&
			(isxdigit((unsigned char)text->s[at + n]) || text->s[at + n] == '.' ||
				text->s[at + n] == ':'))
			n++;
		size_t length = n;
		while (length > 0 && strchr(".:", text->s[at + length - 1]))
			length--;
		snprintf(word, sizeof(word), "%.*s", (int)length, text->s + at);
		const size_t port = strcspn(word, ":"); /* 192.0.2.1:161 */
		const bool is_word = at > 0 && is_word_part((unsigned char)text->s[at - 1]);
		int family = 0;
		if (!is_word && length < sizeof(word) && inet_pton(AF_INET6, word, binary) == 1)
			family = AF_INET6;
		if (!family && !is_word && length < sizeof(word)) {
			word[port] = '\0';
			family = inet_pton(AF_INET, word, binary) == 1 ? AF_INET : 0;
		}
		if (n == 0)
			n = 1;
		if (!family || stays(word, family)) {
			str_addn(&out, text->s + at, n);
			at += n;
			continue;
		}
		const unsigned number = (unsigned)address_number(mask, word);
		if (family == AF_INET)
			str_addf(&out, "198.%u.%u.%u", 18 + (number >> 16 & 1), number >> 8 & 255,
				number & 255);
		else
			str_addf(&out, "2001:db8::%x", number);
		at += strlen(word);
	}
	str_done(text);
	*text = out;
}

void secret_mask_text(struct secret_mask *mask, struct str *text)
{
	const bool large = text->n > CODED_MOST_TEXT;
	if (text->n == 0)
		return;
	for (size_t i = 0; i < mask->n_forms; i++)
		if (!large || i < mask->n_plain)
			mask_form(mask, &mask->forms[i], text);
	if (!large)
		mask_patterns(mask, text);
	if (mask->anonymize)
		mask_addresses(mask, text);
}

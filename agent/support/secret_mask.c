/* secret_mask - one pass for each form of each word, then one for patterns, one for addresses. */
#include "agent/support/secret_mask.h"

#include <arpa/inet.h>
#include <strings.h>
#include <unistd.h>

#include "base/bytes.h"

/* secret_words - keys whose values are secret or name a secret, and addresses. */

enum { WORD_LEAST = 3, FILE_MOST = 65536, WORDS_MOST = 2000 };

struct secret_words {
	char **v;
	size_t n, cap;
};

struct secret_words *secret_words_new(void)
{
	return rw_calloc(1, sizeof(struct secret_words));
}

void secret_words_free(struct secret_words *words)
{
	if (!words)
		return;
	for (size_t i = 0; i < words->n; i++) {
		explicit_bzero(words->v[i], strlen(words->v[i]));
		free(words->v[i]);
	}
	free(words->v);
	free(words);
}

static size_t secret_words_count(const struct secret_words *words)
{
	return words->n;
}

/* secret_words_at - borrowed, longest first. */
static const char *secret_words_at(const struct secret_words *words, size_t i)
{
	return words->v[i];
}

/* secret_words_add - one more; shorter than three bytes: nothing. */
static void secret_words_add(struct secret_words *words, const char *word, size_t n)
{
	size_t at = 0;
	while (n > 0 && isspace((unsigned char)*word)) {
		word++;
		n--;
	}
	while (n > 0 && isspace((unsigned char)word[n - 1]))
		n--;
	if (n < WORD_LEAST || memchr(word, '\0', n) || words->n == WORDS_MOST)
		return;
	for (size_t i = 0; i < words->n; i++)
		if (strlen(words->v[i]) == n && memcmp(words->v[i], word, n) == 0)
			return;
	rw_grow(words->v, words->n, words->cap);
	while (at < words->n && strlen(words->v[at]) >= n)
		at++;
	memmove(words->v + at + 1, words->v + at, (words->n - at) * sizeof(*words->v));
	words->v[at] = rw_calloc(n + 1, 1);
	memcpy(words->v[at], word, n);
	words->n++;
}

/* Each line, and each word of it of six characters and more: a file of tokens names their owners.
 */
static void words_of_file(struct secret_words *words, const char *path)
{
	rw_cleanup(freep) char *text = NULL;
	size_t n = 0;
	struct err e = {0};
	if (str_read_file(path, FILE_MOST, &text, &n, &e) != 0)
		return;
	for (char *rest = text, *line; (line = strsep(&rest, "\r\n"));) {
		secret_words_add(words, line, strlen(line));
		if (strncmp(line, "-----", 5) == 0)
			continue; /* a line of PEM says what it is */
		for (char *word; (word = strsep(&line, " \t:,=\"'{}[]"));)
			if (strlen(word) >= 6)
				secret_words_add(words, word, strlen(word));
	}
	explicit_bzero(text, n);
}

static void words_of_credential(struct secret_words *words, const char *name)
{
	const char *dir = getenv("CREDENTIALS_DIRECTORY");
	rw_cleanup(str_done) struct str path = {0};
	if (!dir || strchr(name, '/'))
		return;
	str_addf(&path, "%s/%s", dir, name);
	words_of_file(words, path.s);
}

static bool ends_with(const char *text, const char *end)
{
	const size_t n = strlen(text), m = strlen(end);
	return n >= m && strcasecmp(text + n - m, end) == 0;
}

/* Keys whose own value is a secret, where somebody wrote one. */
static bool is_secret_key(const char *key)
{
	static const char *const ends[] = {"community", "password", "passwd", "pass", "token",
		"tokens", "secret", "passphrase", "pass_phrase", "api_key", "apikey", "auth_key",
		"priv_key", "routing_key", "integration_key", "authorization", "bearer"};
	for (size_t i = 0; i < rw_countof(ends); i++)
		if (ends_with(key, ends[i]))
			return true;
	return false;
}

static void words_of_value(struct secret_words *words, const char *key, char *value)
{
	if (ends_with(key, "_file") || str_eq(key, "key"))
		words_of_file(words, value);
	else if (ends_with(key, "_env") && getenv(value))
		secret_words_add(words, getenv(value), strlen(getenv(value)));
	else if (ends_with(key, "_credential"))
		words_of_credential(words, value);
	if (is_secret_key(key) || (str_eq(key, "key") && *value != '/'))
		secret_words_add(words, value, strlen(value));
}

/* "key: value", anywhere in a line: block style and flow style. @line is taken apart. */
static void words_of_line(struct secret_words *words, const char *line)
{
	for (const char *colon = strchr(line, ':'); colon; colon = strchr(colon + 1, ':')) {
		char key[64], value[1024];
		const char *from = colon;
		while (from > line && (isalnum((unsigned char)from[-1]) || from[-1] == '_'))
			from--;
		snprintf(key, sizeof(key), "%.*s", (int)(colon - from), from);
		const char *at = colon + 1 + strspn(colon + 1, " \t\"");
		if (*at == '\'')
			at++;
		const char *stop = ",}]\"\r\n";
		if (colon[1 + strspn(colon + 1, " \t")] == '"')
			stop = "\"\r\n"; /* a quoted value may hold anything else */
		snprintf(value, sizeof(value), "%.*s", (int)strcspn(at, stop), at);
		char *end = value + strlen(value);
		while (end > value && strchr(" \t'", end[-1]))
			*--end = '\0';
		if (*key && *value)
			words_of_value(words, key, value);
	}
}

/* The log-in, the path and the parameters of an address: web hooks carry their token there. */
static void words_of_address(struct secret_words *words, const char *address, size_t n)
{
	enum { PIECE_LEAST = 8, PATH_LEAST = 12 };
	const char *end = address + n, *slash = memchr(address, '/', n);
	const char *host_end = slash ? slash : end;
	const char *at = memchr(address, '@', (size_t)(host_end - address));
	if (at) {
		const char *colon = memchr(address, ':', (size_t)(at - address));
		const char *from = colon ? colon + 1 : address;
		secret_words_add(words, from, (size_t)(at - from));
	}
	if (!slash || end - slash < PATH_LEAST)
		return;
	secret_words_add(words, slash + 1, (size_t)(end - slash - 1));
	for (const char *piece = slash + 1; piece < end;) {
		size_t length = 0;
		while (piece + length < end && !strchr("/?&=", piece[length]))
			length++;
		bool digit = false;
		for (size_t i = 0; i < length; i++)
			digit |= isdigit((unsigned char)piece[i]) != 0;
		if (length >= PIECE_LEAST && digit)
			secret_words_add(words, piece, length);
		piece += length + 1;
	}
}

void secret_words_config(struct secret_words *words, const char *text)
{
	rw_cleanup(freep) char *copy = rw_strdup(text);
	for (char *rest = copy, *line; (line = strsep(&rest, "\n"));)
		words_of_line(words, line);
	for (const char *at = strstr(text, "://"); at; at = strstr(at + 3, "://"))
		words_of_address(words, at + 3, strcspn(at + 3, " \t\r\n\"'>,}]"));
	explicit_bzero(copy, strlen(copy));
}

void secret_words_environment(struct secret_words *words)
{
	static const char *const signs[] = {"PASS", "TOKEN", "SECRET", "COMMUNITY", "CREDENTIAL",
		"APIKEY", "API_KEY", "PRIVATE_KEY", "ACCESS_KEY"};
	enum { VALUE_LEAST = 4 };
	for (char **variable = environ; *variable; variable++) {
		const char *equals = strchr(*variable, '=');
		bool sign = false;
		if (!equals || strlen(equals + 1) < VALUE_LEAST || equals[1] == '/')
			continue;
		rw_cleanup(freep) char *name = rw_strdup(*variable);
		name[equals - *variable] = '\0';
		for (size_t i = 0; i < rw_countof(signs); i++)
			sign |= strcasestr(name, signs[i]) != NULL;
		if (sign)
			secret_words_add(words, equals + 1, strlen(equals + 1));
	}
}

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

/* secret_words - keys whose values are secret or name a secret, and addresses. */
#include "agent/support/secret_words.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/str.h"

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

size_t secret_words_count(const struct secret_words *words)
{
	return words->n;
}

const char *secret_words_at(const struct secret_words *words, size_t i)
{
	return words->v[i];
}

void secret_words_add(struct secret_words *words, const char *word, size_t n)
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

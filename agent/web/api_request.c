/* api_request - reads what an HTTP client sent. */
#include "agent/web/api_request.h"

#include <netinet/in.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/locked.h"
#include "config/address.h"

/* ---- target -------------------------------------------------------------- */

static int api_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* The next byte of @text, decoded; *@ret_used bytes of it. Negative when it is not allowed. */
static int api_byte(const char *text, size_t n, bool plus, size_t *ret_used)
{
	unsigned char c = (unsigned char)*text;
	*ret_used = 1;
	if (c == '+' && plus)
		return ' ';
	if (c == '%') {
		if (n < 3 || api_hex(text[1]) < 0 || api_hex(text[2]) < 0)
			return -EINVAL;
		*ret_used = 3;
		c = (unsigned char)(api_hex(text[1]) * 16 + api_hex(text[2]));
	}
	if (c < 0x20 || c == 0x7f)
		return -EINVAL;
	return c;
}

/* @n bytes of @text, decoded, into @buf of @size. 0, -EINVAL or -E2BIG. */
static int api_decode(const char *text, size_t n, bool plus, char *buf, size_t size)
{
	size_t out = 0;
	if (size == 0)
		return -E2BIG;
	for (size_t i = 0; i < n;) {
		size_t used;
		const int c = api_byte(text + i, n - i, plus, &used);
		if (c < 0)
			return c;
		if (out + 1 >= size)
			return -E2BIG;
		buf[out++] = (char)c;
		i += used;
	}
	buf[out] = '\0';
	return 0;
}

static int api_given_order(const void *left, const void *right)
{
	const struct served_given *a = left, *b = right;
	return strcmp(a->name, b->name);
}

/* One "name=value"; its texts go to the end of ret->text. */
static int api_param(
	const char *part, size_t n, struct api_target *ret, size_t *used, struct err *e)
{
	const char *equals = memchr(part, '=', n);
	size_t n_name = n;
	if (equals)
		n_name = (size_t)(equals - part);
	if (ret->n_given == API_PARAMS_MAX)
		return err_set(e, -EINVAL, "more than %d parameters", API_PARAMS_MAX);
	char *name = ret->text + *used;
	int rc = api_decode(part, n_name, true, name, sizeof(ret->text) - *used);
	if (rc == 0 && !*name)
		rc = -EINVAL;
	if (rc < 0)
		return err_set(e, rc, "a parameter without a readable name; expected name=value");
	*used += strlen(name) + 1;
	char *value = ret->text + *used;
	size_t n_value = 0;
	if (equals)
		n_value = n - n_name - 1;
	rc = api_decode(part + n - n_value, n_value, true, value, sizeof(ret->text) - *used);
	if (rc < 0)
		return err_set(e, rc,
			"the value of '%.64s' is not readable: a wrong %%-escape "
			"or a control character",
			name);
	if (strlen(value) > API_VALUE_MAX)
		return err_set(e, -EINVAL, "the value of '%.64s' has more than %d bytes", name,
			API_VALUE_MAX);
	*used += strlen(value) + 1;
	ret->given[ret->n_given++] = (struct served_given){.name = name, .value = value};
	return 0;
}

static int api_params(const char *query, struct api_target *ret, struct err *e)
{
	size_t used = 0;
	int rc = 0;
	while (rc == 0 && *query) {
		const size_t n = strcspn(query, "&");
		if (n > 0)
			rc = api_param(query, n, ret, &used, e);
		query += n;
		if (*query == '&')
			query++;
	}
	if (rc < 0)
		return rc;
	qsort(ret->given, ret->n_given, sizeof(ret->given[0]), api_given_order);
	for (size_t i = 1; i < ret->n_given; i++)
		if (str_eq(ret->given[i].name, ret->given[i - 1].name))
			return err_set(e, -EINVAL, "'%.64s' is given twice", ret->given[i].name);
	return 0;
}

int api_target_read(const char *text, struct api_target *ret, struct err *e)
{
	const size_t length = strlen(text);
	ret->n_given = 0;
	if (length > API_TARGET_MAX)
		return err_set(e, -E2BIG, "the address has %zu bytes; expected at most %d", length,
			API_TARGET_MAX);
	const size_t n_path = strcspn(text, "?#");
	int rc = api_decode(text, n_path, false, ret->path, sizeof(ret->path));
	if (rc == 0 && ret->path[0] != '/')
		rc = -EINVAL;
	if (rc < 0)
		return err_set(e, -EINVAL,
			"the path is not readable; expected one that begins "
			"with '/', such as /api/v1/status");
	if (text[n_path] != '?')
		return 0;
	return api_params(text + n_path + 1, ret, e);
}

/* ---- headers ------------------------------------------------------------- */

const char *api_bearer(const char *header, size_t *ret_n)
{
	static const char scheme[] = "Bearer ";
	if (!header || strncasecmp(header, scheme, sizeof(scheme) - 1) != 0)
		return NULL;
	header += sizeof(scheme) - 1;
	header += strspn(header, " ");
	*ret_n = strlen(header);
	while (*ret_n > 0 && header[*ret_n - 1] == ' ')
		(*ret_n)--;
	if (*ret_n == 0 || *ret_n > API_TOKEN_MAX)
		return NULL;
	return header;
}

static bool api_port_is_one(const char *text)
{
	return strlen(text) <= 5 && text[strspn(text, "0123456789")] == '\0';
}

int api_host(const char *header, char *buf, size_t size)
{
	const char *begin = header, *end, *rest;
	if (*header == '[') {
		begin++;
		end = strchr(begin, ']');
		if (!end)
			return -EINVAL;
		rest = end + 1;
	} else {
		end = header + strcspn(header, ":");
		rest = end;
	}
	if (*rest && (*rest != ':' || !api_port_is_one(rest + 1)))
		return -EINVAL;
	const size_t n = (size_t)(end - begin);
	if (n == 0 || n >= size)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		const unsigned char c = (unsigned char)begin[i];
		if (!isalnum(c) && !strchr(".-_:%", c))
			return -EINVAL;
		buf[i] = (char)tolower(c);
	}
	buf[n] = '\0';
	return 0;
}

bool api_etag_matches(const char *header, const char *etag)
{
	if (!header)
		return false;
	const size_t n = strlen(etag);
	while (*header) {
		header += strspn(header, " \t,");
		if (*header == '*')
			return true;
		if (strncmp(header, "W/", 2) == 0)
			header += 2;
		if (strncmp(header, etag, n) == 0 && strchr(" \t,", header[n]))
			return true;
		header += strcspn(header, ",");
	}
	return false;
}

/* ---- tokens -------------------------------------------------------------- */

bool api_token_equal(const char *given, size_t n_given, const char *token, size_t n_token)
{
	unsigned difference = n_given != n_token;
	for (size_t i = 0; i < n_given; i++) {
		size_t at = i;
		if (n_token == 0)
			return false;
		if (at >= n_token)
			at %= n_token;
		difference |=
			(unsigned)(unsigned char)given[i] ^ (unsigned)(unsigned char)token[at];
	}
	return difference == 0;
}

static bool api_is_printable(const char *text)
{
	for (; *text; text++)
		if (*text <= 0x20 || *text >= 0x7f)
			return false;
	return true;
}

/* Cuts the next word off @line and returns it; "" at the end. */
static char *api_word(char **line)
{
	char *word = *line;
	char *end = word + strcspn(word, " \t");
	*line = end + strspn(end, " \t");
	*end = '\0';
	return word;
}

static int api_token_right(const char *right, struct api_token *ret, struct err *e)
{
	ret->may_ack = str_eq(right, "may:ack");
	if (*right && !ret->may_ack)
		return err_set(e, -EINVAL,
			"more than a name and a token; expected TOKEN, NAME "
			"TOKEN or NAME TOKEN may:ack");
	if (ret->may_ack && (strlen(ret->name) > API_ACTOR_MAX || !text_is_word(ret->name)))
		return err_set(e, -EINVAL,
			"may:ack behind a name that is no word of at most %d letters and digits",
			API_ACTOR_MAX);
	return 0;
}

int api_token_line(char *line, struct api_token *ret, struct err *e)
{
	line += strspn(line, " \t");
	line[strcspn(line, "\r\n")] = '\0';
	size_t n = strlen(line);
	while (n > 0 && (line[n - 1] == ' ' || line[n - 1] == '\t'))
		line[--n] = '\0';
	if (n == 0 || *line == '#')
		return 0;
	*ret = (struct api_token){.name = "", .text = api_word(&line)};
	if (*line) {
		ret->name = ret->text;
		ret->text = api_word(&line);
	}
	const size_t n_token = strlen(ret->text);
	if (!api_is_printable(ret->name) || !api_is_printable(ret->text))
		return err_set(e, -EINVAL,
			"more than a name and a token of printable ASCII; expected TOKEN or NAME "
			"TOKEN");
	const int rc = api_token_right(line, ret, e);
	if (rc < 0)
		return rc;
	if (n_token < API_TOKEN_MIN || n_token > API_TOKEN_MAX)
		return err_set(e, -EINVAL, "a token of %zu characters; expected %d to %d", n_token,
			API_TOKEN_MIN, API_TOKEN_MAX);
	return 1;
}

/* web_guard - networks, host names and bearer tokens. */

enum { TOKENS_MAX = 1000 };
#define TOKENS_FILE_MAX 1048576

struct guard_token {
	char *text;
	size_t n;
	const char *actor; /* the name of one that may act; NULL: it may read */
};

struct web_guard {
	struct arena *a;
	bool local, asks_token;
	struct network *allow;
	size_t n_allow;
	const char **hosts; /* with the address itself */
	size_t n_hosts;
	struct guard_token *tokens;
	size_t n_tokens;
};

/* ---- the tokens file ----------------------------------------------------- */

static int guard_file_is_private(const char *path, struct err *e)
{
	struct stat st;
	if (stat(path, &st) < 0)
		return err_at(e, -errno, path, 0, 0, "http.tokens_file: %s", strerror(errno));
	if (st.st_mode & 077)
		return err_at(e, -EACCES, path, 0, 0,
			"http.tokens_file has mode %04o: others can read it; run chmod 600",
			(unsigned)st.st_mode & 07777);
	return 0;
}

static int guard_add_token(
	struct web_guard *guard, char *line, const char *path, int number, struct err *e)
{
	struct api_token token;
	struct err why;
	const int rc = api_token_line(line, &token, &why);
	if (rc < 0)
		return err_at(e, rc, path, number, 0, "http.tokens_file: %s", why.text);
	if (rc == 0)
		return 0;
	if (guard->n_tokens == TOKENS_MAX)
		return err_at(e, -EINVAL, path, number, 0, "http.tokens_file: more than %d tokens",
			TOKENS_MAX);
	arena_grow_pow2(guard->a, guard->tokens, guard->n_tokens);
	struct guard_token *kept = &guard->tokens[guard->n_tokens++];
	*kept = (struct guard_token){.text = locked_dup(token.text), .n = strlen(token.text)};
	if (token.may_ack)
		kept->actor = arena_strdup(guard->a, token.name);
	return 0;
}

static int guard_read_tokens(struct web_guard *guard, const char *path, struct err *e)
{
	rw_cleanup(locked_freep) char *text = NULL;
	size_t n;
	int number = 0;
	int rc = guard_file_is_private(path, e);
	if (rc == 0)
		rc = locked_read_file(path, TOKENS_FILE_MAX, &text, &n, e);
	if (rc < 0)
		return rc;
	for (char *line = text, *next; rc == 0 && line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		rc = guard_add_token(guard, line, path, ++number, e);
	}
	if (rc == 0 && guard->n_tokens == 0)
		rc = err_at(e, -EINVAL, path, 0, 0,
			"http.tokens_file holds no token; write one with 'openssl rand -hex 24 > "
			"FILE'");
	return rc;
}

/* ---- life ---------------------------------------------------------------- */

int web_guard_new(const struct config_http *http, struct web_guard **ret, struct err *e)
{
	struct arena *a = arena_new();
	struct web_guard *guard = arena_new_of(a, struct web_guard);
	guard->a = a;
	guard->local = address_is_local(http->address);
	guard->allow = arena_array(a, struct network, http->n_allow + 1);
	for (size_t i = 0; i < http->n_allow; i++)
		network_parse(http->allow[i], &guard->allow[i]); /* the schema has checked it */
	guard->n_allow = http->n_allow;
	guard->hosts = arena_array(a, const char *, http->n_hosts + 1);
	for (size_t i = 0; i < http->n_hosts; i++)
		guard->hosts[guard->n_hosts++] = arena_strdup(a, http->hosts[i]);
	guard->hosts[guard->n_hosts++] = arena_strdup(a, http->address);
	int rc = 0;
	guard->asks_token = http->tokens_file != NULL;
	if (http->tokens_file)
		rc = guard_read_tokens(guard, http->tokens_file, e);
	if (rc < 0)
		web_guard_free(guard);
	else
		*ret = guard;
	return rc;
}

void web_guard_free(struct web_guard *guard)
{
	if (!guard)
		return;
	for (size_t i = 0; i < guard->n_tokens; i++)
		locked_free(guard->tokens[i].text);
	arena_free(guard->a);
}

/* ---- questions ----------------------------------------------------------- */

bool web_guard_admits(const struct web_guard *guard, const struct sockaddr *peer)
{
	unsigned char address[16] = {[10] = 0xff, [11] = 0xff};
	if (guard->n_allow == 0)
		return true;
	if (peer->sa_family == AF_INET)
		memcpy(address + 12, &((const struct sockaddr_in *)(const void *)peer)->sin_addr,
			4);
	else if (peer->sa_family == AF_INET6)
		memcpy(address, &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr, 16);
	else
		return false;
	for (size_t i = 0; i < guard->n_allow; i++)
		if (network_holds(&guard->allow[i], address))
			return true;
	return false;
}

bool web_guard_knows_host(const struct web_guard *guard, const char *host)
{
	char name[256];
	/* HTTP/1.0 has no such header, and no browser speaks it. */
	if (!host)
		return true;
	if (api_host(host, name, sizeof(name)) < 0)
		return false;
	if (address_is_local(name))
		return true;
	for (size_t i = 0; i < guard->n_hosts; i++)
		if (strcasecmp(guard->hosts[i], name) == 0)
			return true;
	/* On other addresses a token is asked for, which no foreign page has. */
	return !guard->local && guard->n_hosts == 1;
}

static const struct guard_token *guard_find(
	const struct web_guard *guard, const char *authorization)
{
	size_t n;
	const struct guard_token *found = NULL;
	const char *token = api_bearer(authorization, &n);
	if (!token)
		return NULL;
	/* All of them, so that the time does not tell which one was nearly right. */
	for (size_t i = 0; i < guard->n_tokens; i++)
		if (api_token_equal(token, n, guard->tokens[i].text, guard->tokens[i].n))
			found = &guard->tokens[i];
	return found;
}

bool web_guard_token(const struct web_guard *guard, const char *authorization)
{
	return !guard->asks_token || guard_find(guard, authorization);
}

int web_guard_actor(
	const struct web_guard *guard, const char *authorization, char *buf, size_t size)
{
	const struct guard_token *token = guard_find(guard, authorization);
	if (!token || !token->actor)
		return -EACCES;
	snprintf(buf, size, "%s", token->actor);
	return 0;
}

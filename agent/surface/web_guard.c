/* web_guard - networks, host names and bearer tokens. */
#include "agent/surface/web_guard.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/locked.h"
#include "agent/base/str.h"
#include "agent/surface/api_request.h"
#include "config/address.h"

enum { TOKENS_MAX = 1000 };
#define TOKENS_FILE_MAX 1048576

struct guard_token {
	char *text;
	size_t n;
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
	const char *name, *token;
	struct err why;
	const int rc = api_token_line(line, &name, &token, &why);
	if (rc < 0)
		return err_at(e, rc, path, number, 0, "http.tokens_file: %s", why.text);
	if (rc == 0)
		return 0;
	if (guard->n_tokens == TOKENS_MAX)
		return err_at(e, -EINVAL, path, number, 0, "http.tokens_file: more than %d tokens",
			TOKENS_MAX);
	arena_grow_pow2(guard->a, guard->tokens, guard->n_tokens);
	guard->tokens[guard->n_tokens++] =
		(struct guard_token){.text = locked_dup(token), .n = strlen(token)};
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

bool web_guard_token(const struct web_guard *guard, const char *authorization)
{
	size_t n;
	bool known = false;
	if (!guard->asks_token)
		return true;
	const char *token = api_bearer(authorization, &n);
	if (!token)
		return false;
	/* All of them, so that the time does not tell which one was nearly right. */
	for (size_t i = 0; i < guard->n_tokens; i++)
		known |= api_token_equal(token, n, guard->tokens[i].text, guard->tokens[i].n);
	return known;
}

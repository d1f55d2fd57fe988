/*
 * api_request - what an HTTP client sent, as values: the target of a request, the host it means, a
 * bearer token. Pure; any thread. Every byte is foreign: anything not plainly right is refused.
 */
#pragma once

#include "base/base.h"
#include <sys/socket.h>

#include "agent/answers/common/served.h"
#include "config/config.h"

struct web_guard;

#define API_TARGET_MAX 4096 /* bytes of a target; longer ones get 414 */
#define API_PARAMS_MAX 32
#define API_VALUE_MAX 1024 /* bytes of one value, decoded */

/* "/api/v1/pause/tree?device=leaf1" as path and parameters, decoded. */
struct api_target {
	char path[API_TARGET_MAX + 1];
	struct served_given given[API_PARAMS_MAX]; /* in @text, by name */
	size_t n_given;
	char text[API_TARGET_MAX + 2];
};

/*
 * api_target_read - 0; -E2BIG the target is too long; -EINVAL it is not one: a wrong %-escape, a
 * control character, a parameter without name, or given twice. RFC 3986 section 2.1 for escapes;
 * '+' in the query is a blank, as in forms.
 */
int api_target_read(const char *text, struct api_target *ret, struct err *e);

/* api_bearer - the token of an Authorization header ("Bearer TOKEN", RFC 6750 section 2.1); NULL
 * when there is none. Points into @header; *@ret_n bytes. */
const char *api_bearer(const char *header, size_t *ret_n);

/* api_host - the name or address of a Host header without its port, in lower case: "[::1]:80" is
 * "::1". 0, or -EINVAL. */
int api_host(const char *header, char *buf, size_t size);

/* api_etag_matches - whether an If-None-Match header names @etag, or is "*". */
bool api_etag_matches(const char *header, const char *etag);

/* api_token_equal - compares in a time that depends on the length of @given only. */
bool api_token_equal(const char *given, size_t n_given, const char *token, size_t n_token);

/* One line of a tokens file: "TOKEN", "NAME TOKEN" or "NAME TOKEN may:ack". 1 with all filled (""
 * without a name), 0 for a blank line or comment, -EINVAL. The texts point into @line, which is
 * changed. */
#define API_TOKEN_MIN 16
#define API_TOKEN_MAX 512
#define API_ACTOR_MAX 40 /* characters of a name that may act */
struct api_token {
	const char *name, *text;
	bool may_ack;
};
int api_token_line(char *line, struct api_token *ret, struct err *e);

/*
 * web_guard - who may read: networks, host names and bearer tokens. Made from the configuration and
 * the tokens file, never changed afterwards; a reload makes a new one. Any thread.
 */

/* web_guard_new - 0, or a negative errno with @e: the tokens file is missing, open to others, empty
 * or wrong. */
int web_guard_new(const struct config_http *http, struct web_guard **ret, struct err *e);
void web_guard_free(struct web_guard *guard);

/* web_guard_admits - whether a peer of this address may connect. */
bool web_guard_admits(const struct web_guard *guard, const struct sockaddr *peer);

/* web_guard_knows_host - whether the Host header names this server. On a loopback address only
 * local names and those of http.hosts do: a page of elsewhere, whose name was made to resolve to
 * 127.0.0.1 (DNS rebinding), comes with its own. */
bool web_guard_knows_host(const struct web_guard *guard, const char *host);

/* web_guard_token - whether the Authorization header holds a known token; always when none are
 * configured. */
bool web_guard_token(const struct web_guard *guard, const char *authorization);

/* web_guard_actor - the name of a token that may act, into @buf. 0, or -EACCES: the header holds
 * none that may. */
int web_guard_actor(
	const struct web_guard *guard, const char *authorization, char *buf, size_t size);

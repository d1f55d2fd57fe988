/*
 * web_guard - who may read: networks, host names and bearer tokens. Made from the configuration and
 * the tokens file, never changed afterwards; a reload makes a new one. Any thread.
 */
#ifndef RW_SURFACE_WEB_GUARD_H
#define RW_SURFACE_WEB_GUARD_H

#include <stdbool.h>
#include <sys/socket.h>

#include "config/config.h"

struct err;
struct web_guard;

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

#endif

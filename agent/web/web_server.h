/*
 * web_server - `rocewatch web`: page, API, event stream and metrics in one process of its own,
 * which reads the database like any other command. However slow or hostile a client is, the agent
 * does not notice.
 *
 * Threads: the HTTP server's one (answers that are known, all sockets), one that makes documents,
 * one that makes frames for the event streams, and the caller's, which waits for signals and once a
 * second looks at limits and health.
 */
#pragma once

#include "base/base.h"

#include "config/config.h"

struct globals;
struct config;

struct web_options {
	const struct globals *globals; /* which database and configuration */
	const char *db_path;
	const struct config *config; /* NULL: the database holds none */
	struct config_http http;
	const char *port_file; /* gets the port, NULL */
	bool child; /* of an agent: its lines go to the agent's log */
	/* SIGHUP: fills what may change (tls, tokens_file, allow, hosts); 0, or a negative errno
	 * with @e, and what was stays. */
	int (*reread)(struct config_http *ret, void *arg, struct err *e);
	/* Everything is open and nobody was answered yet: give up what is not needed. NULL, or 0 or
	 * a negative errno with @e, and then the server does not start. */
	int (*close_up)(void *arg, struct err *e);
	/* Each second: is there a reason to start anew? NULL, or the reason, and then the server
	 * stops with an error. */
	const char *(*outdated)(void *arg);
	void *arg; /* of the three */
};

/* web_server_run - serves until SIGTERM or SIGINT. 0, or a negative errno with @e. SIGTERM, SIGINT
 * and SIGHUP stay blocked. */
int web_server_run(const struct web_options *options, struct err *e);

/* web_listen - the listening socket of the web server. */

/* web_listen - a TCP socket that listens on @address (an IP address or "localhost") and @port; 0 is
 * any free one. Returns the descriptor, or a negative errno with @e. */
int web_listen(const char *address, uint16_t port, struct err *e);

/* web_listen_port - the port of the socket; 0 on failure. */
uint16_t web_listen_port(int fd);

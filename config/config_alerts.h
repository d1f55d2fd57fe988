/*
 * config_alerts - who receives alerts: the section 'alerts:' as built, and how secrets are
 * named. Part of struct config (config/config.h).
 */
#ifndef RW_CONFIG_ALERTS_H
#define RW_CONFIG_ALERTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A secret is only ever named: a file, an environment variable or a systemd credential.
 * secret_read() gets it when needed. */
struct config_secret {
	enum { SECRET_NONE, SECRET_FILE, SECRET_ENV, SECRET_CREDENTIAL } from;
	const char *name; /* path, variable or credential name */
	int line, col;
};

enum receiver_kind {
	RECEIVER_ALERTMANAGER,
	RECEIVER_WEBHOOK,
	RECEIVER_SYSLOG,
	RECEIVER_MAIL,
	RECEIVER_COMMAND,
	RECEIVER_KINDS
};
/* receiver_kind_name - the word in the file: "alertmanager". */
const char *receiver_kind_name(enum receiver_kind kind);

struct config_texts {
	const char *const *v;
	size_t n;
};

/* One receiver. Which members below the line count depends on its kind; the others are zero. */
struct config_receiver {
	enum receiver_kind kind;
	const char *name; /* unique */
	int min_severity; /* enum severity: alerts below it are not sent */
	int64_t resend_ns; /* while open */
	int64_t retry_ns; /* longest time between two attempts */
	int64_t timeout_ns; /* of one attempt */
	size_t spool; /* alerts that may wait */
	struct config_texts causes, devices, jobs; /* globs; none: all */
	int line;
	/* ---- */
	const char *url; /* alertmanager, webhook: http(s); mail: smtp(s), NULL with .run */
	const char *address; /* syslog: udp://HOST:PORT, tcp://HOST:PORT, unix:PATH */
	int facility; /* syslog, RFC 5424 section 6.2.1 */
	const char *username;
	struct config_secret password, token, secret; /* secret: signs webhooks */
	const char *tls_ca, *tls_cert, *tls_key; /* NULL: not given */
	bool tls_skip_verify;
	const char *from; /* mail; NULL: rocewatch@HOSTNAME */
	struct config_texts to, run; /* run: the command and its arguments */
};

struct config_alerts {
	const char *web_url; /* of the web page, for links; NULL */
	const char *runbook_url; /* of the site's runbooks, with {cause}; NULL */
	struct config_receiver *receivers;
	size_t n_receivers;
};

#endif

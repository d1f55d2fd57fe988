/*
 * curl_io - the one door to libcurl: one POST, or one mail, at a time. Synchronous: for threads
 * that may wait, never for the loop. Nothing is taken from the environment (no proxy of
 * $http_proxy), nothing is redirected, and only the protocols named here are spoken.
 */
#ifndef RW_BASE_CURL_IO_H
#define RW_BASE_CURL_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct str;

/* curl_io_begin - once, on the main thread, before any thread uses the rest. */
void curl_io_begin(void);

struct curl_tls {
	const char *ca, *cert, *key; /* files; NULL: the system's authorities, no certificate */
	bool skip_verify;
};

/* What both kinds of requests have. All is borrowed for the call. */
struct curl_ask {
	const char *url;
	const char *username, *password, *token; /* NULL: none; token: bearer */
	struct curl_tls tls; /* at least TLS 1.2 */
	int64_t timeout_ns; /* of the whole exchange */
	int stop_fd; /* when it can be read, the exchange is given up; -1: none */
};

struct curl_post {
	struct curl_ask ask; /* http:// or https:// */
	const char *body;
	size_t n_body;
	const char *const *headers; /* "Name: value" */
	size_t n_headers;
	/* bytes of the answer that are kept, and beyond which it is an error; 0: CURL_ANSWER_MAX,
	 * and as below */
	size_t answer_max;
};

/* curl_io_escape - adds @text as it may stand in the query of a URL (RFC 3986 section 2.1). */
void curl_io_escape(struct str *out, const char *text);

#define CURL_ANSWER_MAX 4096 /* bytes kept of an answer; one of more than 1 MiB is an error */

/*
 * curl_io_post - sends it and reads the answer. 0 with the HTTP status, whichever it is, and the
 * first CURL_ANSWER_MAX bytes of the answer added to @ret_answer (NULL: not wanted). -ETIMEDOUT,
 * -ECONNREFUSED, -EHOSTUNREACH (no such name), -EACCES (TLS), -ECANCELED (stopped), -EIO; @e says
 * what happened, never a secret.
 */
int curl_io_post(
	const struct curl_post *post, long *ret_status, struct str *ret_answer, struct err *e);

struct curl_mail {
	struct curl_ask ask; /* smtp:// or smtps:// */
	bool starttls; /* smtp:// must change to TLS before anything else is said */
	const char *from; /* addresses only */
	const char *const *to;
	size_t n_to;
	const char *text; /* headers, an empty line, the body; lines end with CR LF */
};

/* curl_io_mail - hands the mail to the server for all of @to. 0 when it took it; else as above. A
 * reply of 5xx is -EIO like others: a relay that refuses us today may be mended tomorrow. */
int curl_io_mail(const struct curl_mail *mail, struct err *e);

#endif

/*
 * curl_io - the one door to libcurl: one POST, or one mail, at a time, synchronous, for threads
 * that may wait and never for the loop; and many GETs beside a loop. Nothing is taken from the
 * environment (no proxy of $http_proxy), nothing is redirected, and only the protocols named here
 * are spoken.
 */
#pragma once

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
 * -ECONNREFUSED, -EHOSTUNREACH (no such name), -EACCES (TLS), -ECANCELED (stopped), -EFBIG (the
 * answer is too long), -EIO; @e says what happened, never a secret.
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

/* ---- many GETs beside a loop ------------------------------------------------ */

/*
 * curl_fetcher - one thread that fetches for a loop, however slow the servers and name servers are:
 *
 *   loop                                    the fetcher's thread
 *   curl_fetch_new   -- list, wakeup -->    names, TLS, HTTP, at most as long as was asked
 *   done()           <-- mailbox --         what came, once
 *
 * All functions, and done(), are for the loop thread; none blocks but the last
 * curl_fetcher_put(), which ends the thread.
 */
#define CURL_FETCHES_MAX 4096u /* that exist at once */
#define CURL_TYPE_MAX 128 /* bytes of a Content-Type that are kept */

struct loop;
struct curl_fetcher;
struct curl_fetch;

/* curl_fetcher_get - of this loop; the first one starts the thread, the last curl_fetcher_put()
 * ends it. A process has one loop that uses it at a time. NULL with @e when the library, the thread
 * or a mailbox cannot be had. */
struct curl_fetcher *curl_fetcher_get(struct loop *loop, struct err *e);
void curl_fetcher_put(struct curl_fetcher *fetcher); /* NULL is fine; nothing is under way */

struct curl_get {
	struct curl_ask ask; /* http:// or https://; its .tls files and .stop_fd are not used */
	const char *ca_pem, *cert_pem, *key_pem; /* texts; ca_pem NULL: the system's authorities */
	const char *const *headers; /* "Name: value" */
	size_t n_headers;
	size_t answer_max; /* bytes after unpacking; a longer answer is -EFBIG */
};

struct curl_got { /* lent for the call of done(); .text until curl_fetch_free() */
	int error; /* 0, -EFBIG, or as curl_io_post(); .text is then a sentence without a secret */
	long status; /* of HTTP, whichever it is */
	char type[CURL_TYPE_MAX]; /* Content-Type, "" */
	const char *text; /* ended by a zero byte, which .n does not count */
	size_t n;
};
typedef void curl_fetch_fn(void *arg, const struct curl_got *got);

/* curl_fetch_new - everything in @get is copied. 0, or -EMFILE or -ENOMEM with @e. */
int curl_fetch_new(struct curl_fetcher *fetcher, const struct curl_get *get, curl_fetch_fn *done,
	void *arg, struct curl_fetch **ret, struct err *e);
/* curl_fetch_free - gives it up when it is not over; no call of done() comes after it. NULL is
 * fine. */
void curl_fetch_free(struct curl_fetch *fetch);

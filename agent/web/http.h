/*
 * http - an HTTP server that answers requests without a body: connections, limits and TLS. The only
 * file that knows the library (libmicrohttpd). What is answered is decided by a function that is
 * handed over; it runs on the server's one thread and must not block. It answers at once, or later
 * from any thread (http_answer), or with a stream of events (http_stream_put).
 *
 * Limits hold for everybody: a request must be complete, and an answer taken, within a fixed time;
 * when nearly all connections are in use, the one that has been quiet for longest is closed.
 */
#pragma once

#include "base/base.h"
#include <sys/socket.h>

/* Bytes that several answers share; never changed once made. The count of users is atomic. */
struct blob {
	size_t n;
	char etag[24]; /* of the bytes, with quotes */
	unsigned users;
	char bytes[];
};
/* blob_new - a copy of @n bytes, with one user. blob_put - one user less; NULL is fine. */
struct blob *blob_new(const void *bytes, size_t n);
struct blob *blob_get(struct blob *blob);
void blob_put(struct blob *blob);
void blob_putp(struct blob **blob); /* for rw_cleanup() */

/* One request. Lent for the call. A field that was not sent is NULL. */
struct http_request {
	const char *method;
	const char *target; /* as sent: path, '?' and query, not decoded */
	const char *host, *authorization, *if_none_match, *accept;
	/* what a browser says of who asks: https://www.w3.org/TR/fetch-metadata/ */
	const char *fetch_site, *fetch_mode;
	const char *origin;
	bool host_twice, has_body;
};

struct http_reply {
	int status;
	const char *type; /* media type; lives as long as the process */
	const char *etag; /* NULL: none; lent for the call */
	const char *allow, *authenticate; /* headers, or NULL; live as long as the process */
	int retry_after_s; /* 0: no such header */
	struct blob *body; /* its user goes to the server; or NULL */
	const void *fixed; /* bytes that live as long as the process, in place of body */
	size_t n_fixed;
};

/* Where the answer to one request goes. */
struct http_ticket;

/* http_client - tells clients apart: the address of the peer, hashed. */
uint64_t http_client(const struct http_ticket *ticket);
/* http_address - of the peer, for people; lent as long as the ticket. */
const char *http_address(const struct http_ticket *ticket);
/* http_hung_up - whether the peer of a ticket that waits has closed its end. */
bool http_hung_up(struct http_ticket *ticket);

enum http_outcome {
	HTTP_ANSWERED, /* the reply is filled */
	HTTP_WAITS, /* http_answer() follows, or has come already */
	HTTP_STREAMS, /* the status of the reply is 200; http_stream_put() follows */
};

struct http_handler {
	void *arg;
	enum http_outcome (*answer)(void *arg, struct http_ticket *ticket,
		const struct http_request *request, struct http_reply *ret);
	/* The stream has ended: @ticket is not used again after this call. */
	void (*stream_ended)(void *arg, struct http_ticket *ticket);
	/* Whether this peer may connect. */
	bool (*admits)(void *arg, const struct sockaddr *peer);
};

struct http_limits {
	unsigned connections;
	int64_t request_ns; /* for a whole request to arrive */
	int64_t answer_ns; /* from the request to the last byte of its answer; not for streams */
	int64_t stream_ns; /* how far a reader of a stream may be behind */
	size_t stream_bytes; /* the same in bytes */
};

struct http;

/* http_prepare - loads the library: once, where the process may still open files. 0, or -ENOENT
 * with @e. */
int http_prepare(struct err *e);

/*
 * http_start - serve on @fd, a listening socket that stays the caller's. @cert and @key are PEM
 * texts, both NULL for plain HTTP; TLS is 1.2 or newer. 0 or negative errno with @e. The handler is
 * copied.
 */
int http_start(int fd, const char *cert, const char *key, const struct http_limits *limits,
	const struct http_handler *handler, struct http **ret, struct err *e);

/* http_stop - closes every connection and frees; NULL is fine. Every ticket that waits must have
 * its answer before. */
void http_stop(struct http *http);

/* http_refuse - from now on requests get 503: before the ones that wait are answered for good. */
void http_refuse(struct http *http);

/* http_sweep - closes what is past its limits; to be called about once a second, on any thread. */
void http_sweep(struct http *http);

/* http_answer - the answer to a ticket that waits; once. The ticket is not used afterwards. */
void http_answer(struct http_ticket *ticket, const struct http_reply *reply);

/* http_stream_put - @blob behind what was put before. 0, or -EPIPE: the reader is too far behind
 * and is disconnected. Until stream_ended(). */
int http_stream_put(struct http_ticket *ticket, struct blob *blob);
/* http_stream_end - no more follows. */
void http_stream_end(struct http_ticket *ticket);

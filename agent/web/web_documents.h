/*
 * web_documents - answers for /api/v1: documents are made one at a time on a thread of their own,
 * and kept for as long as they are new. However many clients ask for one, it is made once. A
 * document that takes long delays other documents, nothing else.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "agent/answers/common/served.h"
#include "agent/web/http.h"

struct globals;
struct web_documents;

/* What is made: the JSON of a row, or the text that @print makes of the database (metrics). */
struct web_subject {
	const char *path; /* with the parameters, what tells two subjects apart */
	const char *type; /* media type */
	bool quick; /* made by a thread of its own kind: never behind a query */
	const struct served_document *row; /* NULL: print */
	int (*print)(const struct globals *base, char **ret, size_t *ret_n, struct err *e);
};

/* web_documents_new - @base and @db_path are lent until web_documents_free(). */
struct web_documents *web_documents_new(
	const struct globals *base, const char *db_path, int64_t timeout_ns);

/* web_documents_ask - answers @ticket, now or later. @subject lives as long as the process, the
 * rest is copied. */
void web_documents_ask(struct web_documents *documents, struct http_ticket *ticket,
	const struct web_subject *subject, const struct served_given *given, size_t n,
	const char *if_none_match);

/* web_documents_sweep - 503 to those who have waited too long; about once a second. */
void web_documents_sweep(struct web_documents *documents);

/* web_documents_refuse - 503 to all who wait. Those who ask from now on get it at once, until
 * web_documents_admit(). */
void web_documents_refuse(struct web_documents *documents);
void web_documents_admit(struct web_documents *documents);

/* web_documents_free - false when the thread is still at work after some seconds: then nothing is
 * freed, and the process should end. */
bool web_documents_free(struct web_documents *documents);

/*
 * web_answer - the document of a row of agent/answers/common/served.h as an answer to an HTTP
 * client: the bytes are those that the command prints with --format json. Any thread, for different
 * clients.
 */

/* web_reply_error - {"error": "..."} with this status. */
void web_reply_error(struct http_reply *ret, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* web_reply_err - the same from an error: -EINVAL 400, -ENOENT 404, others 503. */
void web_reply_err(struct http_reply *ret, int code, const struct err *e);

/* web_check_params - 0; -EINVAL with @e for a parameter that the row does not have, with the
 * nearest name, or one that is missing. */
int web_check_params(const struct served_document *row, const struct served_given *given, size_t n,
	struct err *e);

/*
 * web_make - the document of @row as JSON text, indented as the command prints it, or in one line.
 * @base says which database and configuration; the time range is taken from @given. 0, or a
 * negative errno with @e.
 */
int web_make(const struct globals *base, const struct served_document *row,
	const struct served_given *given, size_t n, bool one_line, char **ret, size_t *ret_n,
	struct err *e);

/* web_cpu_ns - CPU time that this thread has used, ns: what a document costs, however busy the
 * machine is. */
int64_t web_cpu_ns(void);

/* The time range, which every document takes. */
extern const struct served_param web_range_params[]; /* ends with name NULL */

/* web_openapi - the description of the API (OpenAPI 3.0.3), printed from the table of documents. */

/* web_openapi - the caller owns it. Any thread. */
json_t *web_openapi(void);

/* web_metrics - /metrics of the web server: the page of agent/exporter/metrics in the format that
 * the scraper asks for. */

/* web_metrics_subject - what to make for a request with this Accept header; NULL: none was sent.
 * Static. */
const struct web_subject *web_metrics_subject(const char *accept);

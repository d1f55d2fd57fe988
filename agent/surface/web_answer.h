/*
 * web_answer - the document of a row of agent/reports/served.h as an answer to an HTTP client: the
 * bytes are those that the command prints with --format json. Any thread, for different clients.
 */
#ifndef RW_SURFACE_WEB_ANSWER_H
#define RW_SURFACE_WEB_ANSWER_H

#include <stdbool.h>

#include "agent/reports/served.h"
#include "agent/surface/http.h"

struct err;
struct globals;

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

#endif

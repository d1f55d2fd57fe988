/*
 * web_documents - answers for /api/v1: documents are made one at a time on a thread of their own,
 * and kept for as long as they are new. However many clients ask for one, it is made once. A
 * document that takes long delays other documents, nothing else.
 */
#ifndef RW_SURFACE_WEB_DOCUMENTS_H
#define RW_SURFACE_WEB_DOCUMENTS_H

#include "agent/reports/served.h"
#include "agent/surface/http.h"

struct globals;
struct web_documents;

/* What is made: the JSON of a row, or the text that @print makes of the database (metrics). */
struct web_subject {
	const char *path; /* with the parameters, what tells two subjects apart */
	const char *type; /* media type */
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

#endif

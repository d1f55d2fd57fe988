/*
 * web_documents - one thread makes documents; a cache by path, parameters and what the agent has
 * written since.
 *
 * A document is given again without a look while it is young: at least 200 ms, and five times the
 * CPU time that it took to make (at most 10 s), so that the thread is busy for a fifth of the time
 * with any one of them. Older, it is made again, unless nothing was written and it is younger than
 * 2 s (ages in it count on even when nothing is written).
 */
#include "agent/surface/web_documents.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/err.h"
#include "agent/base/str.h"
#include "agent/client/client.h"
#include "agent/client/peek.h"
#include "agent/surface/api_request.h"
#include "agent/surface/web_answer.h"

#define YOUNG_LEAST_NS (200 * NS_PER_MS)
#define YOUNG_MOST_NS (10 * NS_PER_S)
#define YOUNG_COSTS 5
#define UNCHANGED_NS (2 * NS_PER_S)
#define END_WAIT_S 3

enum { ENTRIES_MAX = 128, WAITING_MAX = 64 };
#define BYTES_MAX ((size_t)64 << 20)

struct document_waiter {
	struct http_ticket *ticket;
	int64_t since_ns;
	char *if_none_match;
};

enum document_state { DOCUMENT_IDLE, DOCUMENT_WAITING, DOCUMENT_MAKING };

struct document {
	struct document *next;
	const struct web_subject *subject;
	char *key;
	struct served_given *given; /* own copies */
	size_t n_given;
	enum document_state state;
	int64_t asked_ns, made_ns, cost_ns, change; /* asked: last used */
	struct http_reply reply; /* without a ticket's own parts; status 0: never made */
	struct document_waiter *waiters;
	size_t n_waiters, cap_waiters;
};

struct web_documents {
	const struct globals *base;
	struct peek peek; /* of the maker's thread */
	int64_t timeout_ns;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct document *first;
	size_t n, bytes;
	bool stop, refuse;
};

/* ---- one document -------------------------------------------------------- */

static char *document_key(
	const struct web_subject *subject, const struct served_given *given, size_t n)
{
	struct str key = {0};
	str_add(&key, subject->path);
	for (size_t i = 0; i < n; i++)
		str_addf(&key, "\n%s=%s", given[i].name, given[i].value);
	return key.s;
}

static void document_free(struct document *document)
{
	for (size_t i = 0; i < document->n_given; i++) {
		free((void *)(uintptr_t)document->given[i].name);
		free((void *)(uintptr_t)document->given[i].value);
	}
	free(document->given);
	free(document->key);
	free(document->waiters);
	blob_put(document->reply.body);
	free(document);
}

static struct document *document_new(
	const struct web_subject *subject, const struct served_given *given, size_t n, char *key)
{
	struct document *document = rw_calloc(1, sizeof(*document));
	document->subject = subject;
	document->key = key;
	document->given = rw_calloc(n + 1, sizeof(*document->given));
	document->n_given = n;
	for (size_t i = 0; i < n; i++)
		document->given[i] = (struct served_given){
			.name = rw_strdup(given[i].name), .value = rw_strdup(given[i].value)};
	return document;
}

static int64_t document_young_ns(const struct document *document)
{
	const int64_t ns = YOUNG_COSTS * document->cost_ns;
	if (ns < YOUNG_LEAST_NS)
		return YOUNG_LEAST_NS;
	if (ns > YOUNG_MOST_NS)
		return YOUNG_MOST_NS;
	return ns;
}

static bool document_is_young(const struct document *document, int64_t now_ns)
{
	return document->reply.status && now_ns - document->made_ns < document_young_ns(document);
}

/* The document for one client: 304 when it has these bytes already. */
static void document_give(
	const struct document *document, struct http_ticket *ticket, const char *if_none_match)
{
	struct http_reply reply = document->reply;
	if (reply.status == 200)
		reply.etag = reply.body->etag;
	if (reply.etag && api_etag_matches(if_none_match, reply.etag)) {
		reply.status = 304;
		reply.type = NULL;
	}
	/* With 304 the body lends its tag; the server sends none for this status. */
	blob_get(reply.body);
	http_answer(ticket, &reply);
}

static void document_give_all(struct document *document)
{
	for (size_t i = 0; i < document->n_waiters; i++) {
		struct document_waiter *waiter = &document->waiters[i];
		document_give(document, waiter->ticket, waiter->if_none_match);
		free(waiter->if_none_match);
	}
	document->n_waiters = 0;
}

static void document_refuse(struct http_ticket *ticket, const char *why)
{
	struct http_reply reply;
	web_reply_error(&reply, 503, "%s", why);
	reply.retry_after_s = 5;
	http_answer(ticket, &reply);
}

/* ---- the cache ----------------------------------------------------------- */

static struct document *documents_find(struct web_documents *documents, const char *key)
{
	for (struct document *at = documents->first; at; at = at->next)
		if (str_eq(at->key, key))
			return at;
	return NULL;
}

static size_t document_bytes(const struct document *document)
{
	if (!document->reply.body)
		return 0;
	return document->reply.body->n;
}

/* The document that was asked for least recently. */
static struct document *documents_oldest(struct web_documents *documents)
{
	struct document *oldest = NULL;
	for (struct document *at = documents->first; at; at = at->next)
		if (at->state == DOCUMENT_IDLE && (!oldest || at->asked_ns < oldest->asked_ns))
			oldest = at;
	return oldest;
}

static void documents_drop(struct web_documents *documents, struct document *document)
{
	struct document **at = &documents->first;
	while (*at != document)
		at = &(*at)->next;
	*at = document->next;
	documents->n--;
	documents->bytes -= document_bytes(document);
	document_free(document);
}

static void documents_trim(struct web_documents *documents)
{
	while (documents->n > ENTRIES_MAX || documents->bytes > BYTES_MAX) {
		struct document *oldest = documents_oldest(documents);
		if (!oldest)
			return;
		documents_drop(documents, oldest);
	}
}

/* The one that has waited longest; *@ret_n of them wait. */
static struct document *documents_next(struct web_documents *documents, size_t *ret_n)
{
	struct document *next = NULL;
	*ret_n = 0;
	for (struct document *at = documents->first; at; at = at->next) {
		if (at->state != DOCUMENT_WAITING)
			continue;
		(*ret_n)++;
		if (!next || at->asked_ns < next->asked_ns)
			next = at;
	}
	return next;
}

/* ---- asking -------------------------------------------------------------- */

static void document_wait(struct document *document, struct http_ticket *ticket,
	const char *if_none_match, int64_t now_ns)
{
	char *tag = NULL;
	if (if_none_match)
		tag = rw_strdup(if_none_match);
	rw_grow(document->waiters, document->n_waiters, document->cap_waiters);
	document->waiters[document->n_waiters++] = (struct document_waiter){
		.ticket = ticket, .since_ns = now_ns, .if_none_match = tag};
}

static void documents_ask_locked(struct web_documents *documents, struct document *document,
	struct http_ticket *ticket, const char *if_none_match)
{
	const int64_t now_ns = mono_now().ns;
	size_t waiting;
	if (document->state == DOCUMENT_IDLE && document_is_young(document, now_ns)) {
		document->asked_ns = now_ns;
		document_give(document, ticket, if_none_match);
		return;
	}
	documents_next(documents, &waiting);
	if (document->state == DOCUMENT_IDLE && waiting >= WAITING_MAX) {
		document_refuse(ticket,
			"too many different documents are asked for at once; try "
			"again in a moment");
		return;
	}
	document_wait(document, ticket, if_none_match, now_ns);
	if (document->state != DOCUMENT_IDLE)
		return;
	document->state = DOCUMENT_WAITING;
	document->asked_ns = now_ns;
	pthread_cond_signal(&documents->wake);
}

void web_documents_ask(struct web_documents *documents, struct http_ticket *ticket,
	const struct web_subject *subject, const struct served_given *given, size_t n,
	const char *if_none_match)
{
	char *key = document_key(subject, given, n);
	pthread_mutex_lock(&documents->lock);
	struct document *document = documents_find(documents, key);
	if (documents->refuse) {
		free(key);
		document_refuse(ticket, "the server is stopping");
	} else {
		if (document) {
			free(key);
		} else {
			document = document_new(subject, given, n, key);
			document->next = documents->first;
			documents->first = document;
			documents->n++;
		}
		documents_ask_locked(documents, document, ticket, if_none_match);
		documents_trim(documents);
	}
	pthread_mutex_unlock(&documents->lock);
}

/* ---- making -------------------------------------------------------------- */

/* Runs without the lock: nobody else touches what the document is asked with. */
static void document_make(
	const struct globals *base, const struct document *document, struct http_reply *ret)
{
	const struct web_subject *subject = document->subject;
	struct err e = {0};
	rw_cleanup(freep) char *text = NULL;
	size_t n = 0;
	int rc;
	if (subject->row)
		rc = web_make(base, subject->row, document->given, document->n_given, false, &text,
			&n, &e);
	else
		rc = subject->print(base, &text, &n, &e);
	if (rc < 0)
		web_reply_err(ret, rc, &e);
	else
		*ret = (struct http_reply){
			.status = 200, .type = subject->type, .body = blob_new(text, n)};
}

static void documents_store(struct web_documents *documents, struct document *document,
	const struct http_reply *reply, int64_t begin_cpu_ns, int64_t change)
{
	documents->bytes -= document_bytes(document);
	blob_put(document->reply.body);
	document->reply = *reply;
	documents->bytes += document_bytes(document);
	document->change = change;
	document->made_ns = mono_now().ns;
	document->cost_ns = web_cpu_ns() - begin_cpu_ns;
}

static void documents_serve(struct web_documents *documents, struct document *document)
{
	struct http_reply reply;
	document->state = DOCUMENT_MAKING;
	pthread_mutex_unlock(&documents->lock);
	const int64_t begin_ns = mono_now().ns, begin_cpu_ns = web_cpu_ns();
	const int64_t change = peek_change(&documents->peek);
	const bool unchanged = document->reply.status == 200 && change >= 0 &&
		change == document->change && begin_ns - document->made_ns < UNCHANGED_NS;
	if (!unchanged)
		document_make(documents->base, document, &reply);
	pthread_mutex_lock(&documents->lock);
	if (!unchanged)
		documents_store(documents, document, &reply, begin_cpu_ns, change);
	document->state = DOCUMENT_IDLE;
	document_give_all(document);
	documents_trim(documents);
}

static void *documents_run(void *arg)
{
	struct web_documents *documents = arg;
	size_t waiting;
	pthread_mutex_lock(&documents->lock);
	while (!documents->stop) {
		struct document *document = documents_next(documents, &waiting);
		if (document)
			documents_serve(documents, document);
		else
			pthread_cond_wait(&documents->wake, &documents->lock);
	}
	pthread_mutex_unlock(&documents->lock);
	peek_done(&documents->peek);
	return NULL;
}

/* ---- limits, life -------------------------------------------------------- */

/* Answers the waiters of @document that came before @until_ns; nobody left: it is not made. */
static void document_expire(struct document *document, int64_t until_ns, const char *why)
{
	size_t kept = 0;
	for (size_t i = 0; i < document->n_waiters; i++) {
		struct document_waiter waiter = document->waiters[i];
		if (waiter.since_ns >= until_ns) {
			document->waiters[kept++] = waiter;
			continue;
		}
		document_refuse(waiter.ticket, why);
		free(waiter.if_none_match);
	}
	document->n_waiters = kept;
	if (kept == 0 && document->state == DOCUMENT_WAITING)
		document->state = DOCUMENT_IDLE;
}

void web_documents_sweep(struct web_documents *documents)
{
	char why[160];
	snprintf(why, sizeof(why),
		"the document was not ready within %lld s; ask for a shorter time range, or again "
		"later",
		(long long)(documents->timeout_ns / NS_PER_S));
	pthread_mutex_lock(&documents->lock);
	const int64_t until_ns = mono_now().ns - documents->timeout_ns;
	for (struct document *at = documents->first; at; at = at->next)
		document_expire(at, until_ns, why);
	pthread_mutex_unlock(&documents->lock);
}

void web_documents_refuse(struct web_documents *documents)
{
	pthread_mutex_lock(&documents->lock);
	documents->refuse = true;
	for (struct document *at = documents->first; at; at = at->next)
		document_expire(at, INT64_MAX, "the server is stopping");
	pthread_mutex_unlock(&documents->lock);
}

void web_documents_admit(struct web_documents *documents)
{
	pthread_mutex_lock(&documents->lock);
	documents->refuse = false;
	pthread_mutex_unlock(&documents->lock);
}

struct web_documents *web_documents_new(
	const struct globals *base, const char *db_path, int64_t timeout_ns)
{
	struct web_documents *documents = rw_calloc(1, sizeof(*documents));
	documents->base = base;
	documents->peek.db_path = db_path;
	documents->timeout_ns = timeout_ns;
	pthread_mutex_init(&documents->lock, NULL);
	pthread_cond_init(&documents->wake, NULL);
	if (pthread_create(&documents->thread, NULL, documents_run, documents) == 0)
		return documents;
	pthread_cond_destroy(&documents->wake);
	pthread_mutex_destroy(&documents->lock);
	free(documents);
	return NULL;
}

bool web_documents_free(struct web_documents *documents)
{
	if (!documents)
		return true;
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += END_WAIT_S;
	pthread_mutex_lock(&documents->lock);
	documents->stop = true;
	pthread_cond_signal(&documents->wake);
	pthread_mutex_unlock(&documents->lock);
	if (pthread_timedjoin_np(documents->thread, NULL, &until) != 0)
		return false;
	while (documents->first)
		documents_drop(documents, documents->first);
	pthread_cond_destroy(&documents->wake);
	pthread_mutex_destroy(&documents->lock);
	free(documents);
	return true;
}

/*
 * web_documents - two threads make documents, one of them only what is quick; a cache by path,
 * parameters and what the agent has written since.
 *
 * Of the documents that wait, the next one is that of the client who was served longest ago; one
 * client may wait for CLIENT_MAX of them. What nobody waits for any more is not made.
 *
 * A document is given again without a look while it is young: at least 200 ms, and five times the
 * CPU time that it took to make (at most 10 s), so that the thread is busy for a fifth of the time
 * with any one of them. Older, it is made again, unless nothing was written and it is younger than
 * 2 s (ages in it count on even when nothing is written).
 */
#include "agent/web/web_documents.h"

#include <pthread.h>
#include <time.h>

#include "agent/client/client.h"
#include "agent/client/peek.h"
#include "agent/document/json_value.h"
#include "agent/document/writer.h"
#include "agent/exporter/metrics.h"
#include "agent/web/api_request.h"
#include "base/log.h"
#include "config/config.h"

/* web_answer - makes a document and puts it, or why there is none, into an HTTP answer. */

static void web_reply_text(struct http_reply *ret, int status, const char *text)
{
	json_t *doc = json_object();
	json_object_set_new(doc, "error", json_string_or_null(text));
	char *bytes = json_dumps(doc, 0);
	rw_cleanup(str_done) struct str line = {0};
	str_addf(&line, "%s\n", bytes);
	free(bytes);
	json_decref(doc);
	*ret = (struct http_reply){
		.status = status, .type = "application/json", .body = blob_new(line.s, line.n)};
}

void web_reply_error(struct http_reply *ret, int status, const char *fmt, ...)
{
	char text[1400];
	va_list values;
	va_start(values, fmt);
	vsnprintf(text, sizeof(text), fmt, values);
	va_end(values);
	web_reply_text(ret, status, text);
}

/* As err_print() writes it: with the place, without the line's end. */
static char *web_err_text(const struct err *e)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	if (!out)
		return NULL;
	err_print(out, e);
	fclose(out);
	if (n > 0 && text[n - 1] == '\n')
		text[n - 1] = '\0';
	return text;
}

void web_reply_err(struct http_reply *ret, int code, const struct err *e)
{
	rw_cleanup(freep) char *text = web_err_text(e);
	int status = 503;
	if (code == -EINVAL)
		status = 400;
	else if (code == -ENOENT)
		status = 404;
	web_reply_text(ret, status, str_or(text, strerror(-code)));
	if (status == 503)
		ret->retry_after_s = 5;
}

/* ---- parameters ---------------------------------------------------------- */

const struct served_param web_range_params[] = {
	{"since", "Begin of the time range: 2026-11-21T03:00:00Z, or 24h for a day ago.", false},
	{"until", "End of the time range; now when not given.", false},
	{"around", "Middle of the time range, in place of since and until.", false},
	{"span", "With around: this long before and after it, such as 15m.", false},
	{NULL, NULL, false},
};

static bool web_params_have(const struct served_param *params, const char *name)
{
	for (; params && params->name; params++)
		if (str_eq(params->name, name))
			return true;
	return false;
}

/* Adds the names of @params to @names and the text "a, b, c". */
static size_t web_params_names(const struct served_param *params, const char **names, size_t n,
	size_t max, struct str *text)
{
	for (; params && params->name && n < max; params++) {
		str_addf(text, "%s%s", str_if(n > 0, ", "), params->name);
		names[n++] = params->name;
	}
	return n;
}

static int web_param_unknown(const struct served_document *row, const char *name, struct err *e)
{
	const char *names[64];
	rw_cleanup(str_done) struct str all = {0};
	size_t n = web_params_names(row->params, names, 0, rw_countof(names), &all);
	n = web_params_names(web_range_params, names, n, rw_countof(names), &all);
	const char *near = str_nearest(name, names, n);
	if (near)
		return err_set(e, -EINVAL,
			"unknown parameter '%.64s'; expected one of %s; did you mean '%s'?", name,
			all.s, near);
	return err_set(e, -EINVAL, "unknown parameter '%.64s'; expected one of %s", name, all.s);
}

int web_check_params(const struct served_document *row, const struct served_given *given, size_t n,
	struct err *e)
{
	const struct served_ask ask = {.given = given, .n_given = n};
	for (size_t i = 0; i < n; i++)
		if (!web_params_have(row->params, given[i].name) &&
			!web_params_have(web_range_params, given[i].name))
			return web_param_unknown(row, given[i].name, e);
	for (const struct served_param *param = row->params; param && param->name; param++)
		if (param->required && !served_get(&ask, param->name))
			return err_set(e, -EINVAL, "the parameter '%s' is missing: %s", param->name,
				param->doc);
	return 0;
}

/* ---- documents ----------------------------------------------------------- */

static int web_print(const json_t *doc, bool one_line, char **ret, size_t *ret_n, struct err *e)
{
	/* Rows: the document itself. The view decides nothing for these two formats. */
	static const struct view whole = {0};
	enum report_format format = FORMAT_JSON;
	if (one_line)
		format = FORMAT_JSONL;
	FILE *out = open_memstream(ret, ret_n);
	int rc = -ENOMEM;
	if (out) {
		rc = report_print(out, doc, &whole, format, true, false);
		fclose(out);
	}
	if (rc < 0)
		return err_set(e, rc, "the document cannot be written: %s", strerror(-rc));
	return 0;
}

/* A long document, which is not held as a tree. */
static int web_print_row(struct client *client, const struct served_document *row,
	const struct served_ask *ask, char **ret, size_t *ret_n, struct err *e)
{
	FILE *out = open_memstream(ret, ret_n);
	if (!out)
		return err_set(e, -ENOMEM, "no memory for the document");
	const int rc = row->print(client, ask, out, e);
	fclose(out);
	if (rc < 0)
		free(rw_take(*ret));
	return rc;
}

int web_make(const struct globals *base, const struct served_document *row,
	const struct served_given *given, size_t n, bool one_line, char **ret, size_t *ret_n,
	struct err *e)
{
	const struct served_ask ask = {.given = given, .n_given = n};
	struct globals globals = *base;
	struct client client;
	json_t *doc = NULL;
	globals.since = served_get(&ask, "since");
	globals.until = served_get(&ask, "until");
	globals.around = served_get(&ask, "around");
	globals.span = served_get(&ask, "span");
	globals.quiet = true;
	int rc = client_open(&client, &globals, row->span_ns, e);
	if (rc < 0)
		return rc;
	if (row->print)
		rc = web_print_row(&client, row, &ask, ret, ret_n, e);
	else
		rc = row->make(&client, &ask, &doc, e);
	client_done(&client);
	if (rc < 0 || row->print)
		return rc;
	rc = web_print(doc, one_line, ret, ret_n, e);
	json_decref(doc);
	return rc;
}

int64_t web_cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

#define YOUNG_LEAST_NS (200 * NS_PER_MS)
#define YOUNG_MOST_NS (10 * NS_PER_S)
#define YOUNG_COSTS 5
#define UNCHANGED_NS (2 * NS_PER_S)
#define END_WAIT_S 3

enum { ENTRIES_MAX = 128, WAITING_MAX = 64, CLIENT_MAX = 16, CLIENTS_KNOWN = 64 };
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
	uint64_t client; /* who asked first of those who wait */
	int64_t asked_ns, made_ns, cost_ns, change; /* asked: last used */
	struct http_reply reply; /* without a ticket's own parts; status 0: never made */
	struct document_waiter *waiters;
	size_t n_waiters, cap_waiters;
};

struct documents_maker {
	struct web_documents *documents;
	bool quick; /* makes these only, the other one the rest */
	struct peek peek; /* of its thread */
	pthread_t thread;
};
enum { MAKERS = 2 };

/* When a client got its last document; all 0 is nobody's. */
struct documents_client {
	uint64_t client;
	uint64_t turn;
};

struct web_documents {
	const struct globals *base;
	struct documents_maker makers[MAKERS];
	size_t n_makers; /* whose threads run */
	int64_t timeout_ns;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct documents_client clients[CLIENTS_KNOWN];
	uint64_t turns;
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

/* Its last turn; 0: none that is known. */
static uint64_t documents_turn(const struct web_documents *documents, uint64_t client)
{
	for (size_t i = 0; i < CLIENTS_KNOWN; i++)
		if (documents->clients[i].client == client)
			return documents->clients[i].turn;
	return 0;
}

/* In the place that it has, or that of the client whose last turn is longest ago. */
static void documents_took_turn(struct web_documents *documents, uint64_t client)
{
	struct documents_client *place = &documents->clients[0];
	for (size_t i = 0; i < CLIENTS_KNOWN; i++) {
		struct documents_client *at = &documents->clients[i];
		if (at->client == client) {
			place = at;
			break;
		}
		if (at->turn < place->turn)
			place = at;
	}
	*place = (struct documents_client){client, ++documents->turns};
}

/* Whose client was served longest ago; of one client, what has waited longest. */
static struct document *documents_next(struct web_documents *documents, bool quick)
{
	struct document *next = NULL;
	uint64_t next_turn = 0;
	for (struct document *at = documents->first; at; at = at->next) {
		if (at->state != DOCUMENT_WAITING || at->subject->quick != quick)
			continue;
		const uint64_t turn = documents_turn(documents, at->client);
		const bool same_turn = next && turn == next_turn;
		if (next && (turn > next_turn || (same_turn && at->asked_ns >= next->asked_ns)))
			continue;
		next = at;
		next_turn = turn;
	}
	return next;
}

/* How many wait, and how many of them for @client. */
static size_t documents_waiting(
	const struct web_documents *documents, uint64_t client, size_t *ret_of_client)
{
	size_t n = 0;
	*ret_of_client = 0;
	for (const struct document *at = documents->first; at; at = at->next) {
		if (at->state != DOCUMENT_WAITING)
			continue;
		n++;
		*ret_of_client += at->client == client;
	}
	return n;
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
	const uint64_t client = http_client(ticket);
	if (document->state == DOCUMENT_IDLE && document_is_young(document, now_ns)) {
		document->asked_ns = now_ns;
		document_give(document, ticket, if_none_match);
		return;
	}
	size_t of_client = 0;
	const size_t waiting = documents_waiting(documents, client, &of_client);
	if (document->state == DOCUMENT_IDLE && of_client >= CLIENT_MAX) {
		document_refuse(ticket,
			"this client waits for many different documents already; ask for "
			"fewer at once");
		return;
	}
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
	document->client = client;
	document->asked_ns = now_ns;
	pthread_cond_broadcast(&documents->wake);
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

static void documents_serve(struct documents_maker *maker, struct document *document)
{
	struct web_documents *documents = maker->documents;
	struct http_reply reply;
	document->state = DOCUMENT_MAKING;
	documents_took_turn(documents, document->client);
	pthread_mutex_unlock(&documents->lock);
	const int64_t begin_ns = mono_now().ns, begin_cpu_ns = web_cpu_ns();
	const int64_t change = peek_change(&maker->peek);
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

/* Takes leave of the waiters that have hung up; nobody left: it does not wait any more. */
static bool document_still_awaited(struct document *document)
{
	size_t kept = 0;
	for (size_t i = 0; i < document->n_waiters; i++) {
		struct document_waiter waiter = document->waiters[i];
		if (!http_hung_up(waiter.ticket)) {
			document->waiters[kept++] = waiter;
			continue;
		}
		document_refuse(waiter.ticket, "the client has hung up");
		free(waiter.if_none_match);
	}
	document->n_waiters = kept;
	if (kept == 0 && document->state == DOCUMENT_WAITING)
		document->state = DOCUMENT_IDLE;
	return kept > 0;
}

static void *documents_run(void *arg)
{
	struct documents_maker *maker = arg;
	struct web_documents *documents = maker->documents;
	pthread_mutex_lock(&documents->lock);
	while (!documents->stop) {
		struct document *document = documents_next(documents, maker->quick);
		if (document && !document_still_awaited(document))
			continue;
		if (document)
			documents_serve(maker, document);
		else
			pthread_cond_wait(&documents->wake, &documents->lock);
	}
	pthread_mutex_unlock(&documents->lock);
	peek_done(&maker->peek);
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
	for (struct document *at = documents->first; at; at = at->next) {
		document_expire(at, until_ns, why);
		document_still_awaited(at);
	}
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
	documents->timeout_ns = timeout_ns;
	pthread_mutex_init(&documents->lock, NULL);
	pthread_cond_init(&documents->wake, NULL);
	for (size_t i = 0; i < MAKERS; i++) {
		struct documents_maker *maker = &documents->makers[i];
		*maker = (struct documents_maker){.documents = documents, .quick = i == 0};
		maker->peek.db_path = db_path;
		if (pthread_create(&maker->thread, NULL, documents_run, maker) != 0) {
			web_documents_free(documents);
			return NULL;
		}
		documents->n_makers++;
	}
	return documents;
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
	pthread_cond_broadcast(&documents->wake);
	pthread_mutex_unlock(&documents->lock);
	for (; documents->n_makers > 0; documents->n_makers--) {
		const pthread_t thread = documents->makers[documents->n_makers - 1].thread;
		if (pthread_timedjoin_np(thread, NULL, &until) != 0)
			return false;
	}
	while (documents->first)
		documents_drop(documents, documents->first);
	pthread_cond_destroy(&documents->wake);
	pthread_mutex_destroy(&documents->lock);
	free(documents);
	return true;
}

/* web_openapi - the description of the API, https://spec.openapis.org/oas/v3.1.0 . Documents are
 * described by the schemas of agent/schema, which the server has at /schema/: the dialect of
 * OpenAPI 3.1 is theirs. */

enum { OPENAPI_PATH_MAX = 128 };

/* @schema: the name of a schema; NULL, a text. */
static json_t *openapi_response(const char *description, const char *type, const char *schema)
{
	char at[OPENAPI_PATH_MAX];
	if (!type)
		return json_pack("{s:s}", "description", description);
	const char *key = "type", *value = "string";
	if (strcmp(type, "text/event-stream") == 0) /* an answer without an end has no schema */
		return json_pack("{s:s, s:{s:{}}}", "description", description, "content", type);
	if (schema) {
		snprintf(at, sizeof(at), "/schema/%s.schema.json", schema);
		key = "$ref";
		value = at;
	}
	return json_pack("{s:s, s:{s:{s:{s:s}}}}", "description", description, "content", type,
		"schema", key, value);
}

/* Not a constant: each answer of the description owns its own. */
static json_t *openapi_error(const char *description)
{
	return openapi_response(description, "application/json", "error");
}

static json_t *openapi_responses(const char *type, const char *schema)
{
	json_t *all = json_object();
	json_object_set_new(all, "200", openapi_response("The document.", type, schema));
	json_object_set_new(
		all, "304", openapi_response("Not changed (If-None-Match).", NULL, NULL));
	json_object_set_new(all, "400", openapi_error("A parameter is wrong; error says which."));
	json_object_set_new(all, "401", openapi_error("A bearer token is needed."));
	json_object_set_new(all, "404", openapi_error("What is asked for does not exist."));
	json_object_set_new(all, "503",
		openapi_error("The document cannot be made at present, or not in time."));
	return all;
}

#define OPENAPI_DURATION "^[1-9][0-9]{0,3}(s|m|h|d)$"
#define OPENAPI_YEARS "^(19[7-9]|20|21)" /* what nanoseconds since 1970 reach */

/* A time is one of RFC 3339 or lies so long ago; @text is its name. */
static json_t *openapi_param_schema(const char *text)
{
	static const char *const times[] = {"since", "until", "around"};
	json_t *schema = json_pack("{s:s}", "type", "string");
	if (str_eq(text, "span"))
		json_object_set_new(schema, "pattern", json_string(OPENAPI_DURATION));
	for (size_t i = 0; i < rw_countof(times); i++)
		if (str_eq(text, times[i]))
			json_object_set_new(schema, "anyOf",
				json_pack("[{s:s, s:s}, {s:s}]", "format", "date-time", "pattern",
					OPENAPI_YEARS, "pattern", OPENAPI_DURATION));
	return schema;
}

static void openapi_params(json_t *list, const struct served_param *params)
{
	for (; params && params->name; params++)
		json_array_append_new(list,
			json_pack("{s:s, s:s, s:s, s:b, s:o}", "name", params->name, "in", "query",
				"description", params->doc, "required", (int)params->required,
				"schema", openapi_param_schema(params->name)));
}

/* "pause/tree" as a name for generated code: "pause_tree". */
static void openapi_name(struct str *out, const char *path)
{
	for (; *path; path++) {
		char c = *path;
		if (c == '/' || c == '-')
			c = '_';
		str_addn(out, &c, 1);
	}
}

static json_t *openapi_get(const char *name, const char *summary, json_t *params, json_t *responses)
{
	struct str id = {0};
	openapi_name(&id, name);
	json_t *get = json_pack("{s:{s:s, s:s, s:o, s:o}}", "get", "operationId", id.s, "summary",
		summary, "parameters", params, "responses", responses);
	str_done(&id);
	return get;
}

/* "pause/tree" has pause-tree. */
static void openapi_schema(char *out, size_t size, const struct served_document *row)
{
	snprintf(out, size, "%s", str_or(row->schema, row->path));
	for (char *c = strchr(out, '/'); c; c = strchr(c, '/'))
		*c = '-';
}

/* The time range is one object whose members are the parameters: only so can a description say that
 * around excludes since and until, and that span goes with it. */
static json_t *openapi_range(void)
{
	json_t *members = json_object();
	for (const struct served_param *one = web_range_params; one->name; one++) {
		json_t *schema = openapi_param_schema(one->name);
		json_object_set_new(schema, "description", json_string(one->doc));
		json_object_set_new(members, one->name, schema);
	}
	json_t *schema = json_pack("{s:s, s:o, s:b, s:{s:[s]}, s:{s:{s:{s:b, s:b}}}}", "type",
		"object", "properties", members, "additionalProperties", 0, "dependentRequired",
		"span", "around", "dependentSchemas", "around", "properties", "since", 0, "until",
		0);
	return json_pack("{s:s, s:s, s:s, s:b, s:s, s:o}", "name", "range", "in", "query", "style",
		"form", "explode", 1, "description",
		"Time range: its members are parameters of their own (?since=24h&until=1h).",
		"schema", schema);
}

static void openapi_row(void *arg, const struct served_document *row)
{
	json_t *paths = arg, *params = json_array();
	char path[OPENAPI_PATH_MAX], schema[OPENAPI_PATH_MAX];
	openapi_params(params, row->params);
	json_array_append_new(params, openapi_range());
	snprintf(path, sizeof(path), "/api/v1/%s", row->path);
	openapi_schema(schema, sizeof(schema), row);
	json_object_set_new(paths, path,
		openapi_get(row->path, row->summary, params,
			openapi_responses("application/json", schema)));
}

static void openapi_others(json_t *paths)
{
	static const struct {
		const char *path, *name, *summary, *type, *schema, *without; /* 503's own text */
	} others[] = {
		{"/api/v1/events", "events",
			"Server-sent events: watch (the whole frame when it has changed), incident "
			"(opened, changed or closed), trouble, still (the last frame holds).",
			"text/event-stream", NULL, NULL},
		{"/api/v1/act", "act",
			"Whose token this is when it may act, and a pass for one POST of the same "
			"path; nulls when it may only read.",
			"application/json", "act", NULL},
		{"/metrics", "metrics", "All metrics of the fabric and the agent, OpenMetrics.",
			"text/plain", NULL, NULL},
		{"/healthz", "healthz", "Does an agent run, and is its data new?",
			"application/json", "healthz",
			"No agent runs, it has no new sample, or the database cannot be read; "
			"error says which."},
	};
	for (size_t i = 0; i < rw_countof(others); i++) {
		json_t *responses = openapi_responses(others[i].type, others[i].schema);
		if (others[i].without)
			json_object_set_new(responses, "503", openapi_error(others[i].without));
		json_object_set_new(paths, others[i].path,
			openapi_get(others[i].name, others[i].summary, json_array(), responses));
	}
}

static json_t *openapi_components(void)
{
	return json_pack("{s:{s:{s:s, s:s}}}", "securitySchemes", "token", "type", "http", "scheme",
		"bearer");
}

json_t *web_openapi(void)
{
	json_t *doc = json_object(), *paths = json_object();
	served_each(openapi_row, paths);
	openapi_others(paths);
	json_object_set_new(doc, "openapi", json_string("3.1.0"));
	json_object_set_new(doc, "info",
		json_pack("{s:s, s:s, s:s}", "title", "rocewatch", "version", RW_VERSION,
			"description",
			"Each document is what the command of its name prints with "
			"--format json."));
	json_object_set_new(doc, "paths", paths);
	json_object_set_new(doc, "components", openapi_components());
	json_object_set_new(doc, "security", json_pack("[{s:[]}, {}]", "token"));
	return doc;
}

/* web_metrics - makes the page from the database, as any reading command does. */

#define SPAN_NS (15 * 60 * NS_PER_S)

/* A database that cannot be read is a fact to be told, not a scrape that fails: an alert asks for
 * it by name. */
static int web_metrics_write(
	FILE *out, const struct globals *base, const struct metrics_options *options, struct err *e)
{
	static struct complaint unreadable;
	struct client client;
	int rc = client_open(&client, base, SPAN_NS, e);
	if (rc == 0) {
		struct metrics_options wanted = *options;
		const struct config_http *http = client.config->http;
		wanted.top = http ? http->metrics_top : 0;
		wanted.all_ports = http && http->metrics_all_ports;
		rc = metrics_print(out, &client, &wanted, e);
		client_done(&client);
	}
	if (rc == 0)
		return 0;
	complain(&unreadable, mono_now(), LOG_WARN_, "web",
		"/metrics: the database cannot be read: %s", e->text);
	return metrics_print_unreadable(out, options);
}

static int web_metrics_make(
	const struct globals *base, bool openmetrics, char **ret, size_t *ret_n, struct err *e)
{
	const struct metrics_options options = {.openmetrics = openmetrics};
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_n);
	if (!out)
		return err_set(e, -ENOMEM, "out of memory");
	const int rc = web_metrics_write(out, base, &options, e);
	if (fclose(out) != 0 || rc < 0) {
		free(text);
		return rc < 0 ? rc : -EIO;
	}
	*ret = text;
	return 0;
}

static int web_metrics_print_open(
	const struct globals *base, char **ret, size_t *ret_n, struct err *e)
{
	return web_metrics_make(base, true, ret, ret_n, e);
}

static int web_metrics_print_text(
	const struct globals *base, char **ret, size_t *ret_n, struct err *e)
{
	return web_metrics_make(base, false, ret, ret_n, e);
}

static const struct web_subject web_metrics_open = {.path = "/metrics openmetrics",
	.type = METRICS_OPENMETRICS_TYPE,
	.quick = true,
	.print = web_metrics_print_open};
static const struct web_subject web_metrics_text = {.path = "/metrics text",
	.type = METRICS_TEXT_TYPE,
	.quick = true,
	.print = web_metrics_print_text};

const struct web_subject *web_metrics_subject(const char *accept)
{
	if (metrics_wants_openmetrics(accept))
		return &web_metrics_open;
	return &web_metrics_text;
}

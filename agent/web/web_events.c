/* web_events - makes frames while somebody reads them, and says what happened to incidents. */
#include "agent/web/web_events.h"

#include <pthread.h>
#include <time.h>

#include "agent/answers/common/served.h"
#include "agent/client/client.h"
#include "agent/client/peek.h"
#include "agent/document/json_value.h"
#include "agent/web/web_documents.h"

#define TURN_NS NS_PER_S
#define STILL_NS (5 * NS_PER_S) /* ages in a frame count on when nothing is written */
#define HEARTBEAT_NS (5 * NS_PER_S) /* state.js: LEAST_INTERVAL_MS */
#define COSTS 33 /* rest, in CPU times of a frame: 3 % of a core, whatever the fabric */
#define TURN_MOST_NS (10 * NS_PER_S)
#define END_WAIT_S 3

struct web_events {
	const struct globals *base;
	struct peek peek; /* the rest up to lock: of the thread */
	int64_t made_change, made_ns, cost_ns;
	char *text; /* of the newest frame */
	json_t *frame;
	char *trouble; /* what is wrong, NULL */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct http_ticket **readers;
	size_t n, cap;
	struct blob *newest; /* the newest frame as an event, for who joins; NULL */
	int64_t newest_ns, sent_ns;
	uint64_t number;
	bool stop;
};

/* ---- incidents ----------------------------------------------------------- */

static const json_t *events_incident(const json_t *frame, const char *id)
{
	size_t i;
	json_t *incident;
	json_array_foreach (json_object_get(frame, "incidents"), i, incident) {
		if (str_eq(doc_word(incident, "id"), id))
			return incident;
	}
	return NULL;
}

static void events_add_incident(struct str *out, const char *change, const json_t *incident)
{
	json_t *doc = json_object();
	json_object_set_new(doc, "change", json_string(change));
	json_object_set(doc, "incident", (json_t *)(uintptr_t)incident);
	char *text = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(15));
	str_addf(out, "event: incident\ndata: %s\n\n", text);
	free(text);
	json_decref(doc);
}

/* What people decide on; ages and money go on by themselves. */
static bool events_incident_differs(const json_t *before, const json_t *after)
{
	static const char *const keys[] = {
		"state", "severity", "acked_by", "assigned_to", "silenced", "cause", "parent"};
	for (size_t i = 0; i < rw_countof(keys); i++) {
		const json_t *old = json_object_get(before, keys[i]);
		const json_t *new = json_object_get(after, keys[i]);
		if (old != new && !(old && new &&json_equal(old, new)))
			return true;
	}
	return false;
}

void web_events_incidents(struct str *out, const json_t *before, const json_t *after)
{
	size_t i;
	json_t *incident;
	if (!before)
		return;
	json_array_foreach (json_object_get(after, "incidents"), i, incident) {
		const json_t *old = events_incident(before, doc_word(incident, "id"));
		if (!old)
			events_add_incident(out, "opened", incident);
		else if (events_incident_differs(old, incident))
			events_add_incident(out, "changed", incident);
	}
	json_array_foreach (json_object_get(before, "incidents"), i, incident) {
		if (!events_incident(after, doc_word(incident, "id")))
			events_add_incident(out, "closed", incident);
	}
}

/* ---- sending ------------------------------------------------------------- */

static void events_send(struct web_events *events, struct blob *blob)
{
	events->sent_ns = mono_now().ns;
	for (size_t i = 0; i < events->n; i++)
		http_stream_put(events->readers[i], blob);
}

static void events_send_text(struct web_events *events, const char *text)
{
	rw_cleanup(blob_putp) struct blob *blob = blob_new(text, strlen(text));
	pthread_mutex_lock(&events->lock);
	events_send(events, blob);
	pthread_mutex_unlock(&events->lock);
}

/* One line of JSON, with its line's end. */
static void events_send_frame(struct web_events *events, const char *json, const char *incidents)
{
	rw_cleanup(str_done) struct str frame = {0};
	rw_cleanup(blob_putp) struct blob *changes = NULL;
	pthread_mutex_lock(&events->lock);
	str_addf(&frame, "id: %llu\nevent: watch\ndata: %s\n", (unsigned long long)++events->number,
		json);
	blob_put(events->newest);
	events->newest = blob_new(frame.s, frame.n);
	events->newest_ns = mono_now().ns;
	events_send(events, events->newest);
	if (incidents) {
		changes = blob_new(incidents, strlen(incidents));
		events_send(events, changes);
	}
	pthread_mutex_unlock(&events->lock);
}

static void events_send_trouble(struct web_events *events)
{
	json_t *doc = json_object();
	json_object_set_new(doc, "error", json_string_or_null(events->trouble));
	rw_cleanup(freep) char *text = json_dumps(doc, JSON_COMPACT);
	json_decref(doc);
	rw_cleanup(str_done) struct str out = {0};
	str_addf(&out, "event: trouble\ndata: %s\n\n", text);
	events_send_text(events, out.s);
}

static void events_trouble(struct web_events *events, const struct err *e)
{
	if (events->trouble && str_eq(events->trouble, e->text))
		return;
	free(events->trouble);
	events->trouble = rw_strdup(e->text);
	events_send_trouble(events);
}

static void events_take(struct web_events *events, char *text, size_t n)
{
	json_t *frame = json_loadb(text, n, 0, NULL);
	rw_cleanup(str_done) struct str incidents = {0};
	const bool same = events->text && str_eq(events->text, text) && !events->trouble;
	web_events_incidents(&incidents, events->frame, frame);
	json_decref(events->frame);
	events->frame = frame;
	free(events->text);
	events->text = text;
	free(events->trouble);
	events->trouble = NULL;
	if (!same)
		events_send_frame(events, text, incidents.s);
}

static void events_make(struct web_events *events)
{
	const mono_t begin = mono_now();
	const int64_t begin_cpu_ns = web_cpu_ns();
	const int64_t change = peek_change(&events->peek);
	const bool unchanged = change >= 0 && change == events->made_change;
	if (unchanged && begin.ns - events->made_ns < STILL_NS && events->text)
		return;
	const struct served_document *row = served_find("watch");
	struct err e = {0};
	char *text = NULL;
	size_t n;
	const int rc = web_make(events->base, row, NULL, 0, true, &text, &n, &e);
	events->made_change = change;
	events->made_ns = mono_now().ns;
	events->cost_ns = web_cpu_ns() - begin_cpu_ns;
	if (rc < 0)
		events_trouble(events, &e);
	else
		events_take(events, text, n);
}

/* ---- the thread ---------------------------------------------------------- */

/* Waits for @ns, or the end. */
static void events_rest(struct web_events *events, int64_t ns)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(ns / NS_PER_S);
	until.tv_nsec += (long)(ns % NS_PER_S);
	if (until.tv_nsec >= NS_PER_S) {
		until.tv_sec++;
		until.tv_nsec -= (long)NS_PER_S;
	}
	int rc = 0;
	while (!events->stop && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&events->wake, &events->lock, &until);
}

/* Nobody reads: what was known grows old, and the next reader begins with a frame of his own. */
static void events_forget(struct web_events *events)
{
	free(events->text);
	json_decref(events->frame);
	free(events->trouble);
	events->text = events->trouble = NULL;
	events->frame = NULL;
	peek_done(&events->peek);
}

/*
 * Nothing was sent for a while. Either the last frame still holds, also that of a file at rest, or
 * there is trouble: who joined since then has not heard of it.
 */
static void events_heartbeat(struct web_events *events)
{
	pthread_mutex_lock(&events->lock);
	const bool due = mono_now().ns - events->sent_ns >= HEARTBEAT_NS;
	pthread_mutex_unlock(&events->lock);
	if (!due)
		return;
	if (events->trouble)
		events_send_trouble(events);
	else
		events_send_text(events, "event: still\ndata: {}\n\n");
}

static int64_t events_turn_ns(const struct web_events *events)
{
	const int64_t ns = COSTS * events->cost_ns;
	if (ns < TURN_NS)
		return TURN_NS;
	if (ns > TURN_MOST_NS)
		return TURN_MOST_NS;
	return ns;
}

static void *events_run(void *arg)
{
	struct web_events *events = arg;
	pthread_mutex_lock(&events->lock);
	while (!events->stop) {
		if (events->n == 0) {
			events_forget(events);
			pthread_cond_wait(&events->wake, &events->lock);
			continue;
		}
		pthread_mutex_unlock(&events->lock);
		events_make(events);
		events_heartbeat(events);
		pthread_mutex_lock(&events->lock);
		events_rest(events, events_turn_ns(events));
	}
	pthread_mutex_unlock(&events->lock);
	events_forget(events);
	return NULL;
}

/* ---- readers, life ------------------------------------------------------- */

void web_events_join(struct web_events *events, struct http_ticket *ticket)
{
	static const char hello[] = "retry: 2000\n\n";
	rw_cleanup(blob_putp) struct blob *blob = blob_new(hello, sizeof(hello) - 1);
	http_stream_put(ticket, blob);
	pthread_mutex_lock(&events->lock);
	/* With other readers the newest frame is what they see; else the thread makes one. */
	if (events->n > 0 && events->newest)
		http_stream_put(ticket, events->newest);
	rw_grow(events->readers, events->n, events->cap);
	events->readers[events->n++] = ticket;
	if (events->n == 1)
		pthread_cond_signal(&events->wake);
	pthread_mutex_unlock(&events->lock);
}

void web_events_leave(struct web_events *events, struct http_ticket *ticket)
{
	pthread_mutex_lock(&events->lock);
	for (size_t i = 0; i < events->n; i++)
		if (events->readers[i] == ticket) {
			events->readers[i] = events->readers[--events->n];
			break;
		}
	pthread_mutex_unlock(&events->lock);
}

size_t web_events_readers(struct web_events *events)
{
	pthread_mutex_lock(&events->lock);
	const size_t n = events->n;
	pthread_mutex_unlock(&events->lock);
	return n;
}

void web_events_end(struct web_events *events)
{
	pthread_mutex_lock(&events->lock);
	for (size_t i = 0; i < events->n; i++)
		http_stream_end(events->readers[i]);
	pthread_mutex_unlock(&events->lock);
}

static void events_locks_done(struct web_events *events)
{
	pthread_cond_destroy(&events->wake);
	pthread_mutex_destroy(&events->lock);
}

struct web_events *web_events_new(const struct globals *base, const char *db_path)
{
	struct web_events *events = rw_calloc(1, sizeof(*events));
	pthread_condattr_t clock;
	events->base = base;
	events->peek.db_path = db_path;
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_mutex_init(&events->lock, NULL);
	pthread_cond_init(&events->wake, &clock);
	pthread_condattr_destroy(&clock);
	if (pthread_create(&events->thread, NULL, events_run, events) == 0)
		return events;
	events_locks_done(events);
	free(events);
	return NULL;
}

bool web_events_free(struct web_events *events)
{
	if (!events)
		return true;
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += END_WAIT_S;
	pthread_mutex_lock(&events->lock);
	events->stop = true;
	pthread_cond_signal(&events->wake);
	pthread_mutex_unlock(&events->lock);
	if (pthread_timedjoin_np(events->thread, NULL, &until) != 0)
		return false;
	blob_put(events->newest);
	free(events->readers);
	events_locks_done(events);
	free(events);
	return true;
}

/*
 * store - the queue between the loop and the file; see store.h. What is in the file is
 * store_write.c's.
 *
 * Two lists under one mutex: .queue takes what the loop hands over; the writer moves it to .todo,
 * writes .todo in one transaction without the mutex, and frees it after the commit. When the disk
 * refuses, .todo goes back to the front of .queue, so that order is kept and nothing is written
 * twice. Entities, texts and incidents are never dropped, samples and flows are, oldest first.
 */
#include "db/store/store.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/err.h"
#include "agent/base/log.h"
#include "db/sqlite/sqlite_io.h"
#include "db/store/store_internal.h"

#define QUIET_NS (50 * NS_PER_MS) /* a burst of polls is over */
#define HOLD_NS                                                                                    \
	(950 * NS_PER_MS) /* the longest a sample waits; the commit itself fits in the rest of the \
			     second */
#define BATCH_SAMPLES                                                                              \
	262144 /* per transaction: bounds the memory of catching up after an outage                \
		*/
#define REPLAY_SAMPLES                                                                             \
	65536 /* replay commits in the caller's thread whenever so many are waiting */
#define RETRY_FIRST_NS (250 * NS_PER_MS)
#define RETRY_MAX_NS (5 * NS_PER_S)
#define CLOSE_NS (5 * NS_PER_S)
#define REPLAY_JOBS 8192 /* the same for what is not samples */
#define RETAIN_EVERY_NS (60 * NS_PER_S) /* between passes that found nothing more to delete */
#define RETAIN_FIRST_NS (10 * NS_PER_S) /* a short command that opens the store deletes nothing */
#define MAX_PENDING 4000000u

struct jobs {
	struct job *first, **end;
	size_t samples; /* in it */
};

struct store {
	struct store_options o;
	char *path;
	struct entities *entities;
	uint32_t sent_entities;
	uint64_t sent_texts;
	int lock_fd;
	struct store_writer *writer;
	bool threaded;
	pthread_t thread;

	pthread_mutex_t mutex; /* guards the rest */
	pthread_cond_t wake; /* for the writer */
	pthread_cond_t done; /* for store_flush */
	struct jobs queue, todo;
	int64_t first_ns, last_ns; /* when the oldest waiting and the newest job came, monotonic */
	bool stop, flush, abandoned;
	uint64_t handed, settled; /* jobs given, and jobs committed or dropped */
	/* failed attempts ever: tells store_flush about one that began after it was called */
	uint64_t failures;
	int last_error;
	char last_text[sizeof(((struct err *)0)->text)];
	struct store_stats stats;
	struct complaint complaint, held; /* writer only */
};

static void jobs_init(struct jobs *jobs)
{
	*jobs = (struct jobs){.first = NULL};
	jobs->end = &jobs->first;
}

static size_t job_samples(const struct job *job)
{
	if (job->kind == JOB_SAMPLES || job->kind == JOB_FLOWS)
		return job->n;
	return 0;
}

static void jobs_push(struct jobs *jobs, struct job *job)
{
	job->next = NULL;
	*jobs->end = job;
	jobs->end = &job->next;
	jobs->samples += job_samples(job);
}

static struct job *jobs_pop(struct jobs *jobs)
{
	struct job *j = jobs->first;

	if (!j)
		return NULL;
	jobs->first = j->next;
	if (!jobs->first)
		jobs->end = &jobs->first;
	jobs->samples -= job_samples(j);
	return j;
}

/* jobs_prepend - all of @front before @jobs; @front is left empty. */
static void jobs_prepend(struct jobs *jobs, struct jobs *front)
{
	if (!front->first)
		return;
	*front->end = jobs->first;
	if (!jobs->first)
		jobs->end = front->end;
	jobs->first = front->first;
	jobs->samples += front->samples;
	jobs_init(front);
}

static void job_free(struct job *job)
{
	if (!job)
		return;
	for (size_t i = 0; i < JOB_STRINGS; i++)
		free(job->s[i]);
	free(job->samples); /* whichever of the union it is */
	free(job);
}

static void jobs_free(struct jobs *jobs)
{
	struct job *j;

	while ((j = jobs_pop(jobs)))
		job_free(j);
}

/* Mutex held. Unlinks the oldest droppable jobs until the bound is kept again. */
static void drop_oldest(struct store *store)
{
	size_t max = MAX_PENDING;
	if (store->o.max_pending)
		max = store->o.max_pending;
	struct job **at = &store->queue.first;

	while (store->queue.samples + store->todo.samples > max && *at) {
		struct job *j = *at;
		if (job_samples(j) == 0) {
			at = &j->next;
			continue;
		}
		*at = j->next;
		if (!*at)
			store->queue.end = at;
		store->queue.samples -= job_samples(j);
		store->stats.dropped += job_samples(j);
		store->settled++;
		job_free(j);
	}
}

/* Mutex held. A snapshot that still waits is old news: on a full disk they must not pile up. */
static void drop_health(struct store *store)
{
	for (struct job **at = &store->queue.first; *at;) {
		struct job *j = *at;
		if (j->kind != JOB_HEALTH) {
			at = &j->next;
			continue;
		}
		*at = j->next;
		if (!*at)
			store->queue.end = at;
		store->settled++;
		job_free(j);
	}
}

/* Moves the next transaction's worth to .todo. Mutex held. */
static void store_take(struct store *store)
{
	while (store->queue.first &&
		(store->todo.samples == 0 ||
			store->todo.samples + job_samples(store->queue.first) <= BATCH_SAMPLES))
		jobs_push(&store->todo, jobs_pop(&store->queue));
}

/* Will a retry help? Else the job is at fault, and is left out rather than blocking those behind
 * it. */
static bool store_transient(int rc)
{
	rc &= 0xff;
	return rc != SQLITE_CONSTRAINT && rc != SQLITE_MISMATCH && rc != SQLITE_TOOBIG &&
		rc != SQLITE_RANGE && rc != SQLITE_MISUSE;
}

/* All samples of .todo go in one call, after the entities and texts among the jobs. Not under the
 * mutex: .todo is the writer's. */
static int write_todo(struct store *store, uint64_t *ret_samples, struct job **ret_faulty)
{
	size_t n = 0;
	int rc = SQLITE_OK;

	*ret_samples = 0;
	*ret_faulty = NULL;
	for (struct job *j = store->todo.first; j; j = j->next) {
		if (j->kind == JOB_SAMPLES)
			n += j->n;
	}
	rw_cleanup(freep) struct sample *v = NULL;
	if (n)
		v = rw_realloc(NULL, n * sizeof(*v));
	n = 0;
	for (struct job *j = store->todo.first; rc == SQLITE_OK && j; j = j->next) {
		if (j->kind == JOB_SAMPLES) {
			memcpy(v + n, j->samples, j->n * sizeof(*v));
			n += j->n;
			continue;
		}
		rc = writer_apply(store->writer, j);
		if (rc != SQLITE_OK)
			*ret_faulty = j;
	}
	if (rc == SQLITE_OK && n > 0)
		rc = writer_samples(store->writer, v, n);
	*ret_samples = n;
	return rc;
}

static int store_attempt(struct store *store, uint64_t *ret_samples, struct job **ret_faulty)
{
	*ret_faulty = NULL;
	int rc = writer_begin(store->writer);
	if (rc == SQLITE_OK)
		rc = write_todo(store, ret_samples, ret_faulty);
	if (rc == SQLITE_OK)
		rc = writer_commit(store->writer);
	return rc;
}

static void store_forget(struct store *store, struct job *faulty)
{
	struct jobs rest;
	struct job *j;

	jobs_init(&rest);
	while ((j = jobs_pop(&store->todo))) {
		if (j == faulty)
			job_free(j);
		else
			jobs_push(&rest, j);
	}
	jobs_init(&store->todo);
	jobs_prepend(&store->todo, &rest);
	store->settled++;
}

/* One transaction of what waits. Mutex held on entry and on return, not while writing. 0 or
 * negative errno. */
static int store_commit(struct store *store)
{
	uint64_t samples, n_jobs = 0;
	struct job *faulty;
	struct jobs finished;

	store_take(store);
	if (!store->todo.first)
		return 0;
	pthread_mutex_unlock(&store->mutex);
	int rc = store_attempt(store, &samples, &faulty);
	char text[sizeof(store->last_text)] = "";
	if (rc != SQLITE_OK) {
		struct err e = {0};
		sqlite_fail(&e, writer_db(store->writer), rc, "write", store->path);
		snprintf(text, sizeof(text), "%s", e.text);
		writer_rollback(store->writer);
	}
	pthread_mutex_lock(&store->mutex);
	if (rc != SQLITE_OK) {
		store->stats.errors++;
		store->failures++;
		store->last_error = sqlite_errno(rc);
		memcpy(store->last_text, text, sizeof(text));
		if (faulty && !store_transient(rc))
			store_forget(store, faulty);
		jobs_prepend(&store->queue, &store->todo);
		drop_oldest(store);
		return store->last_error;
	}
	store->stats.samples += samples;
	store->stats.commits++;
	store->stats.last_commit_ns = wall_now().ns;
	for (struct job *j = store->todo.first; j; j = j->next)
		n_jobs++;
	store->settled += n_jobs;
	finished = store->todo;
	jobs_init(&store->todo);
	store->stats.wal_bytes = (uint64_t)writer_wal_pages(store->writer) * 8192;
	pthread_cond_broadcast(&store->done);
	pthread_mutex_unlock(&store->mutex);
	jobs_free(&finished);
	pthread_mutex_lock(&store->mutex);
	return 0;
}

static void wait_until(struct store *store, int64_t mono_ns)
{
	struct timespec ts = {.tv_sec = mono_ns / NS_PER_S, .tv_nsec = mono_ns % NS_PER_S};

	pthread_cond_timedwait(&store->wake, &store->mutex, &ts);
}

static void store_checkpoint(struct store *store)
{
	bool held = false;
	int pages = writer_checkpoint(store->writer, &held);

	if (held)
		complain(&store->held, mono_now(), LOG_WARN_, "store",
			"%s-wal has grown to %d MB because a reader keeps an old snapshot; end "
			"long-running queries",
			store->path, pages / 128);
	else
		complaint_over(&store->held, mono_now(), "store",
			"the write-ahead log can be shortened again");
}

/* The order of a turn: wait for the end of a burst, commit, complain or not, checkpoint, delete one
 * chunk of old rows. */
static void *writer_main(void *arg)
{
	struct store *s = arg;
	int64_t retry_ns = RETRY_FIRST_NS, not_before_ns = 0,
		retain_ns = mono_now().ns + RETAIN_FIRST_NS;

	pthread_mutex_lock(&s->mutex);
	for (;;) {
		int64_t now = mono_now().ns;
		if (s->abandoned)
			break;
		if (!s->queue.first) {
			if (s->stop)
				break;
			if (now >= retain_ns) {
				pthread_mutex_unlock(&s->mutex);
				bool more = writer_retain(s->writer, wall_now().ns);
				pthread_mutex_lock(&s->mutex);
				/* chunks follow one another with room for the loop's batches
				 * between them */
				retain_ns = mono_now().ns + (more ? QUIET_NS : RETAIN_EVERY_NS);
				continue;
			}
			wait_until(s, retain_ns);
			continue;
		}
		int64_t due = s->first_ns + HOLD_NS;
		if (s->last_ns + QUIET_NS < s->first_ns + HOLD_NS)
			due = s->last_ns + QUIET_NS;
		if (s->stop || s->flush)
			due = now;
		if (!s->stop && !s->flush && due < not_before_ns)
			due = not_before_ns;
		if (now < due) {
			wait_until(s, due);
			continue;
		}
		s->flush = false;
		int r = store_commit(s);
		int64_t after = mono_now().ns;
		if (r < 0) {
			complain(&s->complaint, mono_now(), LOG_ERROR_, "store",
				"%s; %zu samples wait in memory, trying again", s->last_text,
				s->queue.samples);
			not_before_ns = after + retry_ns;
			if (retry_ns * 2 < RETRY_MAX_NS)
				retry_ns = retry_ns * 2;
			else
				retry_ns = RETRY_MAX_NS;
			pthread_cond_broadcast(&s->done);
			if (s->stop)
				break; /* one last try was made */
			continue;
		}
		complaint_over(&s->complaint, mono_now(), "store", "writing again");
		retry_ns = RETRY_FIRST_NS;
		not_before_ns = 0;
		pthread_mutex_unlock(&s->mutex);
		store_checkpoint(s);
		pthread_mutex_lock(&s->mutex);
	}
	pthread_mutex_unlock(&s->mutex);
	return NULL;
}

static void store_free(struct store *store)
{
	jobs_free(&store->queue);
	jobs_free(&store->todo);
	writer_close(store->writer);
	store_unlock(store->lock_fd);
	pthread_mutex_destroy(&store->mutex);
	pthread_cond_destroy(&store->wake);
	pthread_cond_destroy(&store->done);
	free(store->path);
	free(store);
}

/* Signals are the loop thread's. */
static int start_thread(struct store *store)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = -pthread_create(&store->thread, NULL, writer_main, store);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

int store_open(const struct store_options *options, struct entities *entities, struct store **ret,
	struct err *e)
{
	pthread_condattr_t attr;
	int r, fd = -1;

	if (!options->path || !*options->path)
		return err_set(e, -EINVAL, "no database file given; set store.path or use --db");
	if (strstr(options->path, "://"))
		return err_set(e, -EINVAL,
			"the database %s is a URL; this version writes SQLite files only, give a "
			"path",
			options->path);
	r = store_lock(options->path, &fd, e);
	if (r < 0)
		return r;
	struct store *s = rw_calloc(1, sizeof(*s));
	s->o = *options;
	s->path = rw_strdup(options->path);
	s->o.path = s->path;
	s->entities = entities;
	s->lock_fd = fd;
	jobs_init(&s->queue);
	jobs_init(&s->todo);
	pthread_mutex_init(&s->mutex, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->wake, &attr);
	pthread_cond_init(&s->done, &attr);
	pthread_condattr_destroy(&attr);
	uint32_t before = entities_count(entities);
	r = writer_open(&s->o, entities, &s->writer, e);
	if (r == 0 && before == 0) {
		s->sent_entities = entities_count(entities);
		while (*entities_text_get(entities, s->sent_texts + 1))
			s->sent_texts++;
	}
	if (r == 0 && !options->replay) {
		r = start_thread(s);
		if (r < 0)
			err_set(e, r, "cannot start the store's thread: %s", strerror(-r));
		s->threaded = r == 0;
	}
	if (r < 0) {
		store_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	if (!store->threaded) {
		struct err e = {0};
		if (store_flush(store, &e) < 0)
			log_error("store", "%s", e.text);
		store_free(store);
		return;
	}
	pthread_mutex_lock(&store->mutex);
	store->stop = true;
	pthread_cond_signal(&store->wake);
	pthread_mutex_unlock(&store->mutex);

	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += CLOSE_NS / NS_PER_S;
	if (pthread_timedjoin_np(store->thread, NULL, &until) != 0) {
		log_error("store", "%s: the disk does not answer, leaving what is not yet written",
			store->path);
		pthread_mutex_lock(&store->mutex);
		store->abandoned = true;
		pthread_mutex_unlock(&store->mutex);
		writer_interrupt(store->writer);
		/* Its thread may be stuck in the kernel and still use all of this: it is left to
		 * the end of the process. */
		pthread_detach(store->thread);
		return;
	}
	if (store->queue.samples > 0)
		log_error("store", "%s: %zu samples could not be written: %s", store->path,
			store->queue.samples, store->last_text);
	store_free(store);
}

/* ---- the loop's side ----------------------------------------------------- */

static void push_locked(struct store *store, struct job *job)
{
	int64_t now = mono_now().ns;

	if (!store->queue.first)
		store->first_ns = now;
	store->last_ns = now;
	jobs_push(&store->queue, job);
	store->handed++;
	drop_oldest(store);
}

static struct job *job_new(enum job_kind kind)
{
	struct job *j = rw_calloc(1, sizeof(*j));

	j->kind = kind;
	return j;
}

/* New names go before the job that uses them. */
static void push_names(struct store *store)
{
	uint32_t n = entities_count(store->entities);

	if (n > store->sent_entities) {
		struct job *j = job_new(JOB_ENTITIES);
		j->names = rw_calloc(n - store->sent_entities, sizeof(*j->names));
		for (uint32_t id = store->sent_entities + 1; id <= n; id++) {
			const struct entity *e = entity_get(store->entities, id);
			if (e)
				j->names[j->n++] = (struct job_name){.id = id,
					.device = e->device,
					.port = e->port,
					.priority = e->priority,
					.place = schema_place(store->entities, id)};
		}
		store->sent_entities = n;
		push_locked(store, j);
	}
	uint64_t texts = store->sent_texts;
	while (*entities_text_get(store->entities, texts + 1))
		texts++;
	if (texts > store->sent_texts) {
		struct job *j = job_new(JOB_TEXTS);
		j->names = rw_calloc(texts - store->sent_texts, sizeof(*j->names));
		for (uint64_t id = store->sent_texts + 1; id <= texts; id++)
			j->names[j->n++] = (struct job_name){.id = (uint32_t)id,
				.device = entities_text_get(store->entities, id)};
		store->sent_texts = texts;
		push_locked(store, j);
	}
}

static void store_hand_over(struct store *store, struct job *job)
{
	bool names = job->kind == JOB_SAMPLES || job->kind == JOB_FLOWS;

	pthread_mutex_lock(&store->mutex);
	if (names)
		push_names(store);
	if (job->kind == JOB_HEALTH)
		drop_health(store);
	push_locked(store, job);
	if (store->threaded)
		pthread_cond_signal(&store->wake);
	else if (store->queue.samples >= REPLAY_SAMPLES ||
		store->handed - store->settled >= REPLAY_JOBS)
		store_commit(store); /* a failure is kept in the queue and told by store_flush() */
	pthread_mutex_unlock(&store->mutex);
}

static char *store_copy(const char *text)
{
	if (text)
		return rw_strdup(text);
	return NULL;
}

void store_samples(struct store *store, const struct sample *samples, size_t n)
{
	if (n == 0)
		return;
	struct job *j = job_new(JOB_SAMPLES);
	j->samples = rw_realloc(NULL, n * sizeof(*samples));
	memcpy(j->samples, samples, n * sizeof(*samples));
	j->n = n;
	store_hand_over(store, j);
}

void store_flows(struct store *store, const struct flow_sample *flows, size_t n)
{
	if (n == 0)
		return;
	struct job *j = job_new(JOB_FLOWS);
	j->flows = rw_calloc(n, sizeof(*flows));
	memcpy(j->flows, flows, n * sizeof(*flows));
	j->n = n;
	store_hand_over(store, j);
}

void store_fabric(struct store *store, int64_t t_ns, const char *yaml)
{
	struct job *j = job_new(JOB_FABRIC);

	j->i[0] = t_ns;
	j->s[0] = store_copy(yaml);
	store_hand_over(store, j);
}

void store_target(struct store *store, const struct store_target *target)
{
	struct job *j = job_new(JOB_TARGET);
	const char *const text[] = {
		target->device, target->protocol, target->address, target->state, target->reason};

	for (size_t i = 0; i < rw_countof(text); i++)
		j->s[i] = store_copy(text[i]);
	j->i[0] = target->up;
	j->i[1] = target->since_ns;
	j->i[2] = target->last_success_ns;
	j->i[3] = target->now_ns;
	j->d[0] = target->poll_p50_s;
	j->d[1] = target->poll_p95_s;
	j->i[4] = (int64_t)target->polls;
	j->i[5] = (int64_t)target->timeouts;
	j->i[6] = (int64_t)target->errors;
	j->i[7] = (int64_t)target->values;
	store_hand_over(store, j);
}

void store_targets_gone(struct store *store, const char *device, const char *protocol)
{
	struct job *j = job_new(JOB_TARGET_GONE);

	j->s[0] = store_copy(device);
	j->s[1] = store_copy(protocol);
	store_hand_over(store, j);
}

void store_device(struct store *store, const struct store_device *device)
{
	struct job *j = job_new(JOB_DEVICE);
	const char *const text[] = {
		device->name, device->role, device->profile, device->sysname, device->descr};

	for (size_t i = 0; i < rw_countof(text); i++)
		j->s[i] = store_copy(text[i]);
	j->i[0] = device->t_ns;
	store_hand_over(store, j);
}

void store_port(struct store *store, const struct store_port *port)
{
	struct job *j = job_new(JOB_PORT);
	const char *const text[] = {
		port->device, port->port, port->alias, port->peer_device, port->peer_port};

	for (size_t i = 0; i < rw_countof(text); i++)
		j->s[i] = store_copy(text[i]);
	j->i[0] = port->t_ns;
	j->i[1] = (int64_t)port->speed_bps;
	store_hand_over(store, j);
}

void store_incident(struct store *store, const struct store_incident *incident)
{
	struct job *j = job_new(JOB_INCIDENT);
	const char *const text[] = {incident->id, incident->cause, incident->severity,
		incident->state, incident->device, incident->port, incident->group, incident->host,
		incident->summary, incident->json, incident->acked_by};

	_Static_assert(rw_countof(text) <= JOB_STRINGS, "room for all");
	for (size_t k = 0; k < rw_countof(text); k++)
		j->s[k] = store_copy(text[k]);
	j->i[0] = incident->priority;
	j->i[1] = incident->opened_ns;
	j->i[2] = incident->closed_ns;
	j->i[3] = incident->updated_ns;
	j->d[0] = incident->usd_per_hour;
	j->d[1] = incident->usd_total;
	j->d[2] = incident->confidence;
	store_hand_over(store, j);
}

void store_recommendation(struct store *store, const struct store_recommendation *recommendation)
{
	struct job *j = job_new(JOB_RECOMMENDATION);
	const char *const text[] = {recommendation->id, recommendation->incident_id,
		recommendation->device, recommendation->port, recommendation->state,
		recommendation->advice, recommendation->summary, recommendation->json,
		recommendation->diagnosis, recommendation->who};

	_Static_assert(rw_countof(text) <= JOB_STRINGS, "room for all");
	for (size_t k = 0; k < rw_countof(text); k++)
		j->s[k] = store_copy(text[k]);
	j->i[0] = recommendation->priority;
	j->i[1] = recommendation->t_ns;
	j->i[2] = recommendation->from_ns;
	j->i[3] = recommendation->to_ns;
	j->i[4] = recommendation->updated_ns;
	store_hand_over(store, j);
}

void store_event(struct store *store, int64_t t_ns, const char *kind, const char *incident_id,
	const char *who, const char *text)
{
	struct job *j = job_new(JOB_EVENT);

	j->i[0] = t_ns;
	j->s[0] = store_copy(kind);
	j->s[1] = store_copy(incident_id);
	j->s[2] = store_copy(who);
	j->s[3] = store_copy(text);
	store_hand_over(store, j);
}

void store_device_event(struct store *store, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text)
{
	struct job *j = job_new(JOB_DEVICE_EVENT);

	j->i[0] = t_ns;
	j->s[0] = store_copy(kind);
	j->s[1] = store_copy(text);
	j->s[2] = store_copy(device);
	j->s[3] = store_copy(port);
	store_hand_over(store, j);
}

void store_health(struct store *store, int64_t t_ns, const struct store_health *measures, size_t n)
{
	struct job *j = job_new(JOB_HEALTH);
	size_t texts = 0;

	for (size_t i = 0; i < n; i++)
		texts += strlen(measures[i].key) + strlen(measures[i].unit) + 2;
	j->health = rw_calloc(1, n * sizeof(*j->health) + texts + 1);
	char *to = (char *)(j->health + n);
	for (size_t i = 0; i < n; i++) {
		j->health[i] = (struct job_health){.key = to, .value = measures[i].value};
		to = stpcpy(to, measures[i].key) + 1;
		j->health[i].unit = to;
		to = stpcpy(to, measures[i].unit) + 1;
	}
	j->n = n;
	j->i[0] = t_ns;
	store_hand_over(store, j);
}

void store_finding(struct store *store, const struct store_finding *finding)
{
	struct job *j = job_new(JOB_FINDING);
	const char *const text[] = {finding->analyzer, finding->cause, finding->verdict,
		finding->severity, finding->device, finding->port, finding->group, finding->host,
		finding->summary};

	for (size_t i = 0; i < rw_countof(text); i++)
		j->s[i] = store_copy(text[i]);
	j->i[0] = finding->from_ns;
	j->i[1] = finding->to_ns;
	j->i[2] = finding->priority;
	j->d[0] = finding->value;
	j->d[1] = finding->warn;
	j->d[2] = finding->confidence;
	store_hand_over(store, j);
}

int store_flush(struct store *store, struct err *e)
{
	int r = 0;

	pthread_mutex_lock(&store->mutex);
	uint64_t until = store->handed, failures = store->failures;
	/* Before anything is counted as settled, an attempt under way may still fail: only failures
	 * after the wish to flush count. */
	while (store->settled < until && r == 0) {
		if (store->threaded) {
			store->flush = true;
			pthread_cond_signal(&store->wake);
			pthread_cond_wait(&store->done, &store->mutex);
			if (store->failures != failures && store->settled < until)
				r = store->last_error;
		} else {
			r = store_commit(store);
		}
	}
	if (r < 0)
		err_set(e, r, "%s", store->last_text);
	pthread_mutex_unlock(&store->mutex);
	return r;
}

void store_stats(struct store *store, struct store_stats *ret)
{
	pthread_mutex_lock(&store->mutex);
	*ret = store->stats;
	ret->pending = store->queue.samples + store->todo.samples;
	pthread_mutex_unlock(&store->mutex);
}

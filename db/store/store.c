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

static void jobs_init(struct jobs *l)
{
	*l = (struct jobs){.first = NULL};
	l->end = &l->first;
}

static size_t job_samples(const struct job *j)
{
	return j->kind == JOB_SAMPLES || j->kind == JOB_FLOWS ? j->n : 0;
}

static void jobs_push(struct jobs *l, struct job *j)
{
	j->next = NULL;
	*l->end = j;
	l->end = &j->next;
	l->samples += job_samples(j);
}

static struct job *jobs_pop(struct jobs *l)
{
	struct job *j = l->first;

	if (!j)
		return NULL;
	l->first = j->next;
	if (!l->first)
		l->end = &l->first;
	l->samples -= job_samples(j);
	return j;
}

/* jobs_prepend - all of @front before @l; @front is left empty. */
static void jobs_prepend(struct jobs *l, struct jobs *front)
{
	if (!front->first)
		return;
	*front->end = l->first;
	if (!l->first)
		l->end = front->end;
	l->first = front->first;
	l->samples += front->samples;
	jobs_init(front);
}

static void job_free(struct job *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < JOB_STRINGS; i++)
		free(j->s[i]);
	free(j->samples); /* whichever of the union it is */
	free(j);
}

static void jobs_free(struct jobs *l)
{
	struct job *j;

	while ((j = jobs_pop(l)))
		job_free(j);
}

/* Mutex held. Unlinks the oldest droppable jobs until the bound is kept again. */
static void drop_oldest(struct store *s)
{
	size_t max = s->o.max_pending ? s->o.max_pending : MAX_PENDING;
	struct job **at = &s->queue.first;

	while (s->queue.samples + s->todo.samples > max && *at) {
		struct job *j = *at;
		if (job_samples(j) == 0) {
			at = &j->next;
			continue;
		}
		*at = j->next;
		if (!*at)
			s->queue.end = at;
		s->queue.samples -= job_samples(j);
		s->stats.dropped += job_samples(j);
		s->settled++;
		job_free(j);
	}
}

/* Mutex held. A snapshot that still waits is old news: on a full disk they must not pile up. */
static void drop_health(struct store *s)
{
	for (struct job **at = &s->queue.first; *at;) {
		struct job *j = *at;
		if (j->kind != JOB_HEALTH) {
			at = &j->next;
			continue;
		}
		*at = j->next;
		if (!*at)
			s->queue.end = at;
		s->settled++;
		job_free(j);
	}
}

/* Moves the next transaction's worth to .todo. Mutex held. */
static void take(struct store *s)
{
	while (s->queue.first &&
		(s->todo.samples == 0 ||
			s->todo.samples + job_samples(s->queue.first) <= BATCH_SAMPLES))
		jobs_push(&s->todo, jobs_pop(&s->queue));
}

/* Will a retry help? Else the job is at fault, and is left out rather than blocking those behind
 * it. */
static bool transient(int rc)
{
	rc &= 0xff;
	return rc != SQLITE_CONSTRAINT && rc != SQLITE_MISMATCH && rc != SQLITE_TOOBIG &&
		rc != SQLITE_RANGE && rc != SQLITE_MISUSE;
}

/* All samples of .todo go in one call, after the entities and texts among the jobs. Not under the
 * mutex: .todo is the writer's. */
static int write_todo(struct store *s, uint64_t *ret_samples, struct job **ret_faulty)
{
	size_t n = 0;
	int rc = SQLITE_OK;

	*ret_samples = 0;
	*ret_faulty = NULL;
	for (struct job *j = s->todo.first; j; j = j->next)
		n += j->kind == JOB_SAMPLES ? j->n : 0;
	rw_cleanup(freep) struct sample *v = n ? rw_realloc(NULL, n * sizeof(*v)) : NULL;
	n = 0;
	for (struct job *j = s->todo.first; rc == SQLITE_OK && j; j = j->next) {
		if (j->kind == JOB_SAMPLES) {
			memcpy(v + n, j->samples, j->n * sizeof(*v));
			n += j->n;
			continue;
		}
		rc = writer_apply(s->writer, j);
		if (rc != SQLITE_OK)
			*ret_faulty = j;
	}
	if (rc == SQLITE_OK && n > 0)
		rc = writer_samples(s->writer, v, n);
	*ret_samples = n;
	return rc;
}

static int attempt(struct store *s, uint64_t *ret_samples, struct job **ret_faulty)
{
	*ret_faulty = NULL;
	int rc = writer_begin(s->writer);
	if (rc == SQLITE_OK)
		rc = write_todo(s, ret_samples, ret_faulty);
	if (rc == SQLITE_OK)
		rc = writer_commit(s->writer);
	return rc;
}

static void forget(struct store *s, struct job *faulty)
{
	struct jobs rest;
	struct job *j;

	jobs_init(&rest);
	while ((j = jobs_pop(&s->todo))) {
		if (j == faulty)
			job_free(j);
		else
			jobs_push(&rest, j);
	}
	jobs_init(&s->todo);
	jobs_prepend(&s->todo, &rest);
	s->settled++;
}

/* One transaction of what waits. Mutex held on entry and on return, not while writing. 0 or
 * negative errno. */
static int commit(struct store *s)
{
	uint64_t samples, n_jobs = 0;
	struct job *faulty;
	struct jobs finished;

	take(s);
	if (!s->todo.first)
		return 0;
	pthread_mutex_unlock(&s->mutex);
	int rc = attempt(s, &samples, &faulty);
	char text[sizeof(s->last_text)] = "";
	if (rc != SQLITE_OK) {
		struct err e = {0};
		sqlite_fail(&e, writer_db(s->writer), rc, "write", s->path);
		snprintf(text, sizeof(text), "%s", e.text);
		writer_rollback(s->writer);
	}
	pthread_mutex_lock(&s->mutex);
	if (rc != SQLITE_OK) {
		s->stats.errors++;
		s->failures++;
		s->last_error = sqlite_errno(rc);
		memcpy(s->last_text, text, sizeof(text));
		if (faulty && !transient(rc))
			forget(s, faulty);
		jobs_prepend(&s->queue, &s->todo);
		drop_oldest(s);
		return s->last_error;
	}
	s->stats.samples += samples;
	s->stats.commits++;
	s->stats.last_commit_ns = wall_now().ns;
	for (struct job *j = s->todo.first; j; j = j->next)
		n_jobs++;
	s->settled += n_jobs;
	finished = s->todo;
	jobs_init(&s->todo);
	s->stats.wal_bytes = (uint64_t)writer_wal_pages(s->writer) * 8192;
	pthread_cond_broadcast(&s->done);
	pthread_mutex_unlock(&s->mutex);
	jobs_free(&finished);
	pthread_mutex_lock(&s->mutex);
	return 0;
}

static void wait_until(struct store *s, int64_t mono_ns)
{
	struct timespec ts = {.tv_sec = mono_ns / NS_PER_S, .tv_nsec = mono_ns % NS_PER_S};

	pthread_cond_timedwait(&s->wake, &s->mutex, &ts);
}

static void checkpoint(struct store *s)
{
	bool held = false;
	int pages = writer_checkpoint(s->writer, &held);

	if (held)
		complain(&s->held, mono_now(), LOG_WARN_, "store",
			"%s-wal has grown to %d MB because a reader keeps an old snapshot; end "
			"long-running queries",
			s->path, pages / 128);
	else
		complaint_over(&s->held, mono_now(), "store",
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
		int64_t due = s->last_ns + QUIET_NS < s->first_ns + HOLD_NS ? s->last_ns + QUIET_NS
									    : s->first_ns + HOLD_NS;
		if (s->stop || s->flush)
			due = now;
		if (!s->stop && !s->flush && due < not_before_ns)
			due = not_before_ns;
		if (now < due) {
			wait_until(s, due);
			continue;
		}
		s->flush = false;
		int r = commit(s);
		int64_t after = mono_now().ns;
		if (r < 0) {
			complain(&s->complaint, mono_now(), LOG_ERROR_, "store",
				"%s; %zu samples wait in memory, trying again", s->last_text,
				s->queue.samples);
			not_before_ns = after + retry_ns;
			retry_ns = retry_ns * 2 < RETRY_MAX_NS ? retry_ns * 2 : RETRY_MAX_NS;
			pthread_cond_broadcast(&s->done);
			if (s->stop)
				break; /* one last try was made */
			continue;
		}
		complaint_over(&s->complaint, mono_now(), "store", "writing again");
		retry_ns = RETRY_FIRST_NS;
		not_before_ns = 0;
		pthread_mutex_unlock(&s->mutex);
		checkpoint(s);
		pthread_mutex_lock(&s->mutex);
	}
	pthread_mutex_unlock(&s->mutex);
	return NULL;
}

static void store_free(struct store *s)
{
	jobs_free(&s->queue);
	jobs_free(&s->todo);
	writer_close(s->writer);
	store_unlock(s->lock_fd);
	pthread_mutex_destroy(&s->mutex);
	pthread_cond_destroy(&s->wake);
	pthread_cond_destroy(&s->done);
	free(s->path);
	free(s);
}

/* Signals are the loop thread's. */
static int start_thread(struct store *s)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = -pthread_create(&s->thread, NULL, writer_main, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

int store_open(
	const struct store_options *o, struct entities *entities, struct store **ret, struct err *e)
{
	pthread_condattr_t attr;
	int r, fd = -1;

	if (!o->path || !*o->path)
		return err_set(e, -EINVAL, "no database file given; set store.path or use --db");
	if (strstr(o->path, "://"))
		return err_set(e, -EINVAL,
			"the database %s is a URL; this version writes SQLite files only, give a "
			"path",
			o->path);
	r = store_lock(o->path, &fd, e);
	if (r < 0)
		return r;
	struct store *s = rw_calloc(1, sizeof(*s));
	s->o = *o;
	s->path = rw_strdup(o->path);
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
	if (r == 0 && !o->replay) {
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

void store_close(struct store *s)
{
	if (!s)
		return;
	if (!s->threaded) {
		struct err e = {0};
		if (store_flush(s, &e) < 0)
			log_error("store", "%s", e.text);
		store_free(s);
		return;
	}
	pthread_mutex_lock(&s->mutex);
	s->stop = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->mutex);

	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += CLOSE_NS / NS_PER_S;
	if (pthread_timedjoin_np(s->thread, NULL, &until) != 0) {
		log_error("store", "%s: the disk does not answer, leaving what is not yet written",
			s->path);
		pthread_mutex_lock(&s->mutex);
		s->abandoned = true;
		pthread_mutex_unlock(&s->mutex);
		writer_interrupt(s->writer);
		/* Its thread may be stuck in the kernel and still use all of this: it is left to
		 * the end of the process. */
		pthread_detach(s->thread);
		return;
	}
	if (s->queue.samples > 0)
		log_error("store", "%s: %zu samples could not be written: %s", s->path,
			s->queue.samples, s->last_text);
	store_free(s);
}

/* ---- the loop's side ----------------------------------------------------- */

static void push_locked(struct store *s, struct job *j)
{
	int64_t now = mono_now().ns;

	if (!s->queue.first)
		s->first_ns = now;
	s->last_ns = now;
	jobs_push(&s->queue, j);
	s->handed++;
	drop_oldest(s);
}

static struct job *job_new(enum job_kind kind)
{
	struct job *j = rw_calloc(1, sizeof(*j));

	j->kind = kind;
	return j;
}

/* New names go before the job that uses them. */
static void push_names(struct store *s)
{
	uint32_t n = entities_count(s->entities);

	if (n > s->sent_entities) {
		struct job *j = job_new(JOB_ENTITIES);
		j->names = rw_calloc(n - s->sent_entities, sizeof(*j->names));
		for (uint32_t id = s->sent_entities + 1; id <= n; id++) {
			const struct entity *e = entity_get(s->entities, id);
			if (e)
				j->names[j->n++] = (struct job_name){.id = id,
					.device = e->device,
					.port = e->port,
					.priority = e->priority,
					.place = schema_place(s->entities, id)};
		}
		s->sent_entities = n;
		push_locked(s, j);
	}
	uint64_t texts = s->sent_texts;
	while (*entities_text_get(s->entities, texts + 1))
		texts++;
	if (texts > s->sent_texts) {
		struct job *j = job_new(JOB_TEXTS);
		j->names = rw_calloc(texts - s->sent_texts, sizeof(*j->names));
		for (uint64_t id = s->sent_texts + 1; id <= texts; id++)
			j->names[j->n++] = (struct job_name){
				.id = (uint32_t)id, .device = entities_text_get(s->entities, id)};
		s->sent_texts = texts;
		push_locked(s, j);
	}
}

static void hand_over(struct store *s, struct job *j)
{
	bool names = j->kind == JOB_SAMPLES || j->kind == JOB_FLOWS;

	pthread_mutex_lock(&s->mutex);
	if (names)
		push_names(s);
	if (j->kind == JOB_HEALTH)
		drop_health(s);
	push_locked(s, j);
	if (s->threaded)
		pthread_cond_signal(&s->wake);
	else if (s->queue.samples >= REPLAY_SAMPLES || s->handed - s->settled >= REPLAY_JOBS)
		commit(s); /* a failure is kept in the queue and told by store_flush() */
	pthread_mutex_unlock(&s->mutex);
}

static char *copy(const char *text)
{
	return text ? rw_strdup(text) : NULL;
}

void store_samples(struct store *s, const struct sample *v, size_t n)
{
	if (n == 0)
		return;
	struct job *j = job_new(JOB_SAMPLES);
	j->samples = rw_realloc(NULL, n * sizeof(*v));
	memcpy(j->samples, v, n * sizeof(*v));
	j->n = n;
	hand_over(s, j);
}

void store_flows(struct store *s, const struct flow_sample *v, size_t n)
{
	if (n == 0)
		return;
	struct job *j = job_new(JOB_FLOWS);
	j->flows = rw_calloc(n, sizeof(*v));
	memcpy(j->flows, v, n * sizeof(*v));
	j->n = n;
	hand_over(s, j);
}

void store_fabric(struct store *s, int64_t t_ns, const char *yaml)
{
	struct job *j = job_new(JOB_FABRIC);

	j->i[0] = t_ns;
	j->s[0] = copy(yaml);
	hand_over(s, j);
}

void store_target(struct store *s, const struct store_target *t)
{
	struct job *j = job_new(JOB_TARGET);
	const char *const text[] = {t->device, t->protocol, t->address, t->state, t->reason};

	for (size_t i = 0; i < rw_countof(text); i++)
		j->s[i] = copy(text[i]);
	j->i[0] = t->up;
	j->i[1] = t->since_ns;
	j->i[2] = t->last_success_ns;
	j->i[3] = t->now_ns;
	j->d[0] = t->poll_p50_s;
	j->d[1] = t->poll_p95_s;
	j->i[4] = (int64_t)t->polls;
	j->i[5] = (int64_t)t->timeouts;
	j->i[6] = (int64_t)t->errors;
	j->i[7] = (int64_t)t->values;
	hand_over(s, j);
}

void store_targets_gone(struct store *s, const char *device, const char *protocol)
{
	struct job *j = job_new(JOB_TARGET_GONE);

	j->s[0] = copy(device);
	j->s[1] = copy(protocol);
	hand_over(s, j);
}

void store_device(struct store *s, const struct store_device *d)
{
	struct job *j = job_new(JOB_DEVICE);
	const char *const text[] = {d->name, d->role, d->profile, d->sysname, d->descr};

	for (size_t i = 0; i < rw_countof(text); i++)
		j->s[i] = copy(text[i]);
	j->i[0] = d->t_ns;
	hand_over(s, j);
}

void store_port(struct store *s, const struct store_port *p)
{
	struct job *j = job_new(JOB_PORT);
	const char *const text[] = {p->device, p->port, p->alias, p->peer_device, p->peer_port};

	for (size_t i = 0; i < rw_countof(text); i++)
		j->s[i] = copy(text[i]);
	j->i[0] = p->t_ns;
	j->i[1] = (int64_t)p->speed_bps;
	hand_over(s, j);
}

void store_incident(struct store *s, const struct store_incident *i)
{
	struct job *j = job_new(JOB_INCIDENT);
	const char *const text[] = {i->id, i->cause, i->severity, i->state, i->device, i->port,
		i->group, i->host, i->summary, i->json, i->acked_by};

	_Static_assert(rw_countof(text) <= JOB_STRINGS, "room for all");
	for (size_t k = 0; k < rw_countof(text); k++)
		j->s[k] = copy(text[k]);
	j->i[0] = i->priority;
	j->i[1] = i->opened_ns;
	j->i[2] = i->closed_ns;
	j->i[3] = i->updated_ns;
	j->d[0] = i->usd_per_hour;
	j->d[1] = i->usd_total;
	j->d[2] = i->confidence;
	hand_over(s, j);
}

void store_recommendation(struct store *s, const struct store_recommendation *r)
{
	struct job *j = job_new(JOB_RECOMMENDATION);
	const char *const text[] = {r->id, r->incident_id, r->device, r->port, r->state, r->advice,
		r->summary, r->json, r->diagnosis, r->who};

	_Static_assert(rw_countof(text) <= JOB_STRINGS, "room for all");
	for (size_t k = 0; k < rw_countof(text); k++)
		j->s[k] = copy(text[k]);
	j->i[0] = r->priority;
	j->i[1] = r->t_ns;
	j->i[2] = r->from_ns;
	j->i[3] = r->to_ns;
	j->i[4] = r->updated_ns;
	hand_over(s, j);
}

void store_event(struct store *s, int64_t t_ns, const char *kind, const char *incident_id,
	const char *who, const char *text)
{
	struct job *j = job_new(JOB_EVENT);

	j->i[0] = t_ns;
	j->s[0] = copy(kind);
	j->s[1] = copy(incident_id);
	j->s[2] = copy(who);
	j->s[3] = copy(text);
	hand_over(s, j);
}

void store_device_event(struct store *s, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text)
{
	struct job *j = job_new(JOB_DEVICE_EVENT);

	j->i[0] = t_ns;
	j->s[0] = copy(kind);
	j->s[1] = copy(text);
	j->s[2] = copy(device);
	j->s[3] = copy(port);
	hand_over(s, j);
}

void store_health(struct store *s, int64_t t_ns, const struct store_health *v, size_t n)
{
	struct job *j = job_new(JOB_HEALTH);
	size_t texts = 0;

	for (size_t i = 0; i < n; i++)
		texts += strlen(v[i].key) + strlen(v[i].unit) + 2;
	j->health = rw_calloc(1, n * sizeof(*j->health) + texts + 1);
	char *to = (char *)(j->health + n);
	for (size_t i = 0; i < n; i++) {
		j->health[i] = (struct job_health){.key = to, .value = v[i].value};
		to = stpcpy(to, v[i].key) + 1;
		j->health[i].unit = to;
		to = stpcpy(to, v[i].unit) + 1;
	}
	j->n = n;
	j->i[0] = t_ns;
	hand_over(s, j);
}

void store_finding(struct store *s, const struct store_finding *f)
{
	struct job *j = job_new(JOB_FINDING);
	const char *const text[] = {f->analyzer, f->cause, f->verdict, f->severity, f->device,
		f->port, f->group, f->host, f->summary};

	for (size_t i = 0; i < rw_countof(text); i++)
		j->s[i] = copy(text[i]);
	j->i[0] = f->from_ns;
	j->i[1] = f->to_ns;
	j->i[2] = f->priority;
	j->d[0] = f->value;
	j->d[1] = f->warn;
	j->d[2] = f->confidence;
	hand_over(s, j);
}

int store_flush(struct store *s, struct err *e)
{
	int r = 0;

	pthread_mutex_lock(&s->mutex);
	uint64_t until = s->handed, failures = s->failures;
	/* Before anything is counted as settled, an attempt under way may still fail: only failures
	 * after the wish to flush count. */
	while (s->settled < until && r == 0) {
		if (s->threaded) {
			s->flush = true;
			pthread_cond_signal(&s->wake);
			pthread_cond_wait(&s->done, &s->mutex);
			if (s->failures != failures && s->settled < until)
				r = s->last_error;
		} else {
			r = commit(s);
		}
	}
	if (r < 0)
		err_set(e, r, "%s", s->last_text);
	pthread_mutex_unlock(&s->mutex);
	return r;
}

void store_stats(struct store *s, struct store_stats *ret)
{
	pthread_mutex_lock(&s->mutex);
	*ret = s->stats;
	ret->pending = s->queue.samples + s->todo.samples;
	pthread_mutex_unlock(&s->mutex);
}

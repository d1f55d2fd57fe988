/*
 * store - the queue between the loop and the place where things are stored, and the thread that
 * empties it. How they are stored is the backend's (store_backend.h).
 *
 * Two lists under one mutex: .queue takes what the loop hands over; the writer moves it to .todo,
 * writes .todo in one transaction without the mutex, and frees it after the commit. When the disk
 * refuses, .todo goes back to the front of .queue: order is kept and nothing is written twice.
 * Samples and flows are dropped when too many wait, oldest first; so are states of targets, events
 * and findings; everything else is kept.
 */
#include "db/store/store.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include "base/log.h"
#include "db/store/retain_watch.h"
#include "db/store/store_backend.h"
#include "db/store/store_records.h"
#include "db/store/store_state.h"

#define SPARE_MAX 100000u /* states of targets, events and findings that wait at most */
#define MAX_PENDING 4000000u /* samples that wait at most, unless the options say otherwise */

/* When to commit: QUIET_NS after the newest job, since a burst of polls is over then, but at the
 * latest HOLD_NS after the oldest one. A sample then waits at most one second, the commit
 * included. */
#define QUIET_NS (50 * NS_PER_MS)
#define HOLD_NS (950 * NS_PER_MS)
/* Samples of one transaction: bounds the memory of catching up after an outage. */
#define BATCH_SAMPLES 262144

/* Without a thread (replay): a commit when this much waits. */
#define REPLAY_SAMPLES 65536
#define REPLAY_JOBS 8192

/* Between attempts while the disk refuses. */
#define RETRY_FIRST_NS (250 * NS_PER_MS)
#define RETRY_MAX_NS (5 * NS_PER_S)

/* Between passes that found nothing more to delete. The first one comes late enough that a command
 * that opens the store for a moment deletes nothing. */
#define RETAIN_EVERY_NS (60 * NS_PER_S)
#define RETAIN_FIRST_NS (10 * NS_PER_S)

/* Work on stored samples goes on for so long, and rests so long, when there is much of it. It comes
 * after each commit at least, so that it keeps up however busy the store is. */
#define COMPACT_NS (20 * NS_PER_MS)
#define COMPACT_REST_NS (30 * NS_PER_MS)
#define COMPACT_EVERY_NS (10 * NS_PER_S)

#define RETAIN_KEY "retain_clock" /* what the store keeps of .retain_clock */
#define CLOSE_NS (5 * NS_PER_S) /* store_close() waits that long */
#define HUNG_NS (5 * NS_PER_S) /* a transaction under way for longer is reported */
#define SLOW_NS NS_PER_S /* one that took longer is counted, and reported at its end */
#define STUCK_NS (2 * NS_PER_S) /* one under way for longer holds up what readers see */

#define SET_ASIDE_NS (300 * NS_PER_S) /* a damaged file is tried for that long */
#define OPEN_NS (30 * NS_PER_S) /* store_open() waits that long for its file */
#define BEAT_NS NS_PER_S /* between two states written for readers */

#define OPENING 1 /* of .opened: no attempt has ended */

struct store {
	struct store_options o;
	char *path;
	struct entities *entities;
	uint64_t sent_texts;
	const struct store_backend *backend;
	void *state; /* the backend's; used by the writer only */
	bool threaded;
	pthread_t thread, beat; /* the writer; the one that writes PATH.state */
	bool beating;

	pthread_mutex_t mutex; /* guards the rest */
	pthread_cond_t wake; /* for the writer */
	pthread_cond_t done; /* for store_open, store_flush and store_close */
	pthread_cond_t tick; /* for the beat */
	int opened; /* of the newest attempt to open: OPENING, 0 or negative errno */
	bool late; /* store_open() went on without waiting for it */
	bool closing, finished; /* the writer closes the file; the writer has ended */
	bool beat_finished;
	int64_t damaged_since_ns; /* monotonic: opening has failed by damage since then; 0 = not */
	int64_t waiting_ns; /* wall: the first failure since the last success; 0 = none */
	int64_t began_ns, misplaced_ns; /* wall: opening began; another file took its place */
	int64_t newest_given_ns; /* of the samples handed over */
	struct jobs queue, todo;
	int64_t first_ns, last_ns; /* when the oldest waiting and the newest job came, monotonic */
	bool stop, flush, abandoned;
	uint64_t handed, settled; /* jobs given, and jobs committed or dropped */
	uint64_t committed; /* number of the newest job that was committed */
	uint64_t failures; /* failed attempts ever; store_flush() looks for one after its call */
	int last_error;
	char last_text[sizeof(((struct err *)0)->text)];
	struct store_stats stats;
	struct complaint complaint; /* writer only, as all below */
	int64_t busy_since_ns; /* monotonic: the transaction under way began; 0 = none */
	struct complaint slow_complaint; /* the loop's thread only */
	struct complaint log_complaint, clock_complaint, place_complaint, duration_complaint;
	struct retain_clock retain_clock;
	bool clock_known; /* .retain_clock was read from the store */
	int64_t newest_ns; /* stored before this process began */
	struct complaint retain_complaint, compact_complaint;
	struct quota_watch quota;
};

/* ---- the writer ---------------------------------------------------------- */

static size_t max_pending(const struct store *store)
{
	if (store->o.max_pending)
		return store->o.max_pending;
	return MAX_PENDING;
}

/* Mutex held. Keeps the bound on what waits, of which .todo cannot be dropped. */
static void drop_oldest(struct store *store)
{
	size_t max = max_pending(store), room = 0;

	if (max > store->todo.n_values)
		room = max - store->todo.n_values;
	struct jobs_dropped dropped = jobs_drop_values(&store->queue, room);
	struct jobs_dropped spare = jobs_drop_class(&store->queue, JOB_SPARE, SPARE_MAX);
	store->stats.dropped += dropped.values;
	store->stats.dropped_records += spare.jobs;
	store->settled += dropped.jobs + spare.jobs;
}

/* Mutex held. Moves the next transaction's worth to .todo: at least one job. */
static void store_take(struct store *store)
{
	while (store->queue.first) {
		size_t n = store->todo.n_values + store->queue.first->n_values;
		if (store->todo.n_values > 0 && n > BATCH_SAMPLES)
			break;
		jobs_push(&store->todo, jobs_pop(&store->queue));
	}
}

/* The samples of all jobs in .todo, in one array; the caller frees it. */
/* Those handed over before the clock was set back are late, as the ones already stored are. */
static void gather_rewind(struct sample *samples, size_t n, int64_t t_ns)
{
	for (size_t i = 0; i < n; i++)
		if (samples[i].t_ns > t_ns)
			samples[i].flags |= SF_LATE;
}

static struct sample *gather_samples(const struct jobs *jobs, size_t *ret_n)
{
	size_t n = 0, filled = 0;

	for (const struct job *job = jobs->first; job; job = job->next)
		if (job->samples)
			n += job->n_values;
	*ret_n = n;
	if (n == 0)
		return NULL;
	struct sample *samples = rw_realloc(NULL, n * sizeof(*samples));
	for (const struct job *job = jobs->first; job; job = job->next) {
		if (job->samples) {
			memcpy(samples + filled, job->samples, job->n_values * sizeof(*samples));
			filled += job->n_values;
		} else if (job->record.kind == RECORD_REWIND) {
			gather_rewind(samples, filled, job->record.rewind.t_ns);
		}
	}
	return samples;
}

/* Records first, since the names of new entities are among them; then all samples. Not under the
 * mutex: .todo is the writer's. */
static int write_todo(
	struct store *store, uint64_t *ret_samples, struct job **ret_faulty, struct err *e)
{
	size_t n;
	rw_cleanup(freep) struct sample *samples = gather_samples(&store->todo, &n);

	for (struct job *job = store->todo.first; job; job = job->next) {
		if (job->samples)
			continue;
		int r = store->backend->record(store->state, &job->record, e);
		if (r < 0) {
			*ret_faulty = job;
			return r;
		}
	}
	*ret_samples = n;
	if (n == 0)
		return 0;
	return store->backend->samples(store->state, samples, n, e);
}

static int store_attempt(
	struct store *store, uint64_t *ret_samples, struct job **ret_faulty, struct err *e)
{
	int r = store->backend->begin(store->state, e);

	if (r == 0)
		r = write_todo(store, ret_samples, ret_faulty, e);
	if (r == 0)
		r = store->backend->commit(store->state, e);
	if (r < 0)
		store->backend->rollback(store->state);
	return r;
}

/* Mutex held. Why nothing can be written at the moment. */
static void note_failure(struct store *store, int error, const char *text)
{
	if (!store->waiting_ns)
		store->waiting_ns = wall_now().ns;
	store->stats.errors++;
	store->failures++;
	store->last_error = error;
	snprintf(store->last_text, sizeof(store->last_text), "%s", text);
}

/* Mutex held. What could not be written waits again; a record that never can be is left out rather
 * than keeping all others from being written. */
static int store_failed(struct store *store, struct job *faulty, int error, const char *text)
{
	if (error == STORE_BAD_RECORD) {
		error = -EIO;
		jobs_remove(&store->todo, faulty);
		store->settled++;
	}
	note_failure(store, error, text);
	jobs_prepend(&store->queue, &store->todo);
	drop_oldest(store);
	return error;
}

/* Mutex held. */
static void note_duration(struct store *store, int64_t took_ns)
{
	char took[32];

	if (took_ns > store->stats.slowest_ns)
		store->stats.slowest_ns = took_ns;
	if (took_ns < SLOW_NS)
		return;
	store->stats.slow_commits++;
	complain(&store->duration_complaint, mono_now(), LOG_WARN_, "store",
		"%s: a write took %s; nothing is lost, but the disk is slow", store->path,
		duration_format(took, sizeof(took), took_ns));
}

/* One transaction of what waits. Mutex held on entry and on return, not while writing. 0 or
 * negative errno. */
static int store_commit(struct store *store)
{
	uint64_t samples = 0;
	struct job *faulty = NULL;
	struct err e = {0};

	store_take(store);
	if (!store->todo.first)
		return 0;
	store->busy_since_ns = mono_now().ns;
	pthread_mutex_unlock(&store->mutex);
	int r = store_attempt(store, &samples, &faulty, &e);
	pthread_mutex_lock(&store->mutex);
	note_duration(store, mono_now().ns - store->busy_since_ns);
	store->busy_since_ns = 0;
	if (r < 0)
		return store_failed(store, faulty, r, e.text);
	store->waiting_ns = 0;

	store->stats.samples += samples;
	store->stats.commits++;
	store->stats.last_commit_ns = wall_now().ns;
	store->stats.wal_bytes = store->backend->log_bytes(store->state);
	for (const struct job *job = store->todo.first; job; job = job->next) {
		store->settled++;
		store->committed = job->number;
	}
	struct jobs finished = store->todo;
	store->todo = (struct jobs){0};
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

/* Mutex held. When what waits is to be committed, monotonic; never before @not_before_ns, unless
 * somebody waits for it. */
static int64_t commit_due(const struct store *store, int64_t now_ns, int64_t not_before_ns)
{
	int64_t quiet_ns = store->last_ns + QUIET_NS, latest_ns = store->first_ns + HOLD_NS;
	int64_t due_ns = latest_ns;

	if (store->stop || store->flush)
		return now_ns;
	if (quiet_ns < latest_ns)
		due_ns = quiet_ns;
	if (due_ns < not_before_ns)
		return not_before_ns;
	return due_ns;
}

/* The time that retention counts from. It is kept in the store: a sample that was stored under a
 * wrong clock must not vouch for that clock after a restart. */
static int store_clock_read(struct store *store, struct err *e)
{
	char text[RETAIN_TEXT_MAX];

	if (store->clock_known)
		return 0;
	int r = store->backend->newest(store->state, &store->newest_ns);
	retain_clock_limit(&store->retain_clock, store->o.raw_ns);
	if (r == 0)
		r = store->backend->recall(store->state, RETAIN_KEY, text, sizeof(text));
	if (r == 0)
		retain_clock_parse(&store->retain_clock, text);
	if (r < 0 && r != -ENOENT) /* a clock that nothing vouches for deletes nothing */
		return err_set(e, r, "cannot read %s: %s", store->path, strerror(-r));
	store->clock_known = true;
	return 0;
}

static int64_t store_clock_now(struct store *store)
{
	char text[RETAIN_TEXT_MAX];
	const int64_t now_ns = retain_clock_now(
		&store->retain_clock, store->newest_ns, wall_now(), clock_boot_ns());
	retain_clock_print(&store->retain_clock, text, sizeof(text));
	if (store->backend->remember(store->state, RETAIN_KEY, text) < 0)
		log_debug("store", "%s: the time of retention could not be kept", store->path);
	return now_ns;
}

/* As above, and says when that is not the wall clock. */
static int64_t store_retain_now(struct store *store)
{
	const int64_t now_ns = store_clock_now(store);
	char ahead[32], hold[32];

	if (store->retain_clock.ahead)
		complain(&store->clock_complaint, mono_now(), LOG_WARN_, "store",
			"the clock is %s ahead of the time that the stored data and the running "
			"time give: retention goes on by the latter until the clock has stayed "
			"there for %s; check the clock",
			duration_format(ahead, sizeof(ahead), wall_now().ns - now_ns),
			duration_format(hold, sizeof(hold), store->retain_clock.hold_ns));
	else
		complaint_over(&store->clock_complaint, mono_now(), "store",
			"retention follows the clock again");
	return now_ns;
}

/* Mutex held, not while copying. Keeps the log short, and says when that fails: nothing is lost
 * then, but the log grows until the disk is full. */
static void store_settle(struct store *store)
{
	struct err e = {0};

	pthread_mutex_unlock(&store->mutex);
	const int r = store->backend->settle(store->state, &e);
	if (r < 0)
		complain(&store->log_complaint, mono_now(), LOG_ERROR_, "store",
			"%s; samples are kept in the write-ahead log, which grows: check the disk",
			e.text);
	else
		complaint_over(&store->log_complaint, mono_now(), "store",
			"the write-ahead log is copied into the file again");
	pthread_mutex_lock(&store->mutex);
	store->stats.log_stuck = r < 0;
	store->stats.log_errors += r < 0;
}

/* What happened to the file itself, as an event of now. */
static void store_tell(struct store *store, const char *kind, const char *text)
{
	store_hand_over(store,
		&(struct store_record){.kind = RECORD_EVENT,
			.event = {.t_ns = wall_now().ns, .kind = kind, .text = text}});
}

/* Mutex held, not while copying. A file that was deleted under us is put back. */
static void store_rescue(struct store *store)
{
	struct err e = {0};

	pthread_mutex_unlock(&store->mutex);
	const int r = store->backend->rescue(store->state, &e);
	if (r < 0)
		complain(&store->place_complaint, mono_now(), LOG_ERROR_, "store", "%s", e.text);
	else
		complaint_over(&store->place_complaint, mono_now(), "store",
			"the database is in its place again");
	if (r > 0) {
		log_error("store",
			"%s was deleted while the agent wrote it; what it held was written back",
			store->path);
		store_tell(store, "store_rescued",
			"the database file was deleted under the agent and written back");
	}
	pthread_mutex_lock(&store->mutex);
	if (r < 0 && !store->stats.misplaced)
		store->misplaced_ns = wall_now().ns;
	store->stats.misplaced = r < 0;
	store->stats.rescued += r > 0;
}

/* Mutex held, not while deleting. Returns when to come again, monotonic: chunks follow one another
 * with room for the loop's batches between them. */
static int64_t store_maintain(struct store *store)
{
	struct store_usage usage = {0};
	struct err e = {0};
	bool more = false;

	const struct store_options options = store->o;
	pthread_mutex_unlock(&store->mutex);
	store->backend->keep(store->state, &options);
	retain_clock_limit(&store->retain_clock, options.raw_ns);
	int64_t now_ns = 0;
	int r = store_clock_read(store, &e);
	if (r == 0)
		now_ns = store_retain_now(store);
	if (r == 0)
		r = store->backend->maintain(store->state, now_ns, &more, &e);
	if (r == 0)
		r = store->backend->usage(store->state, &usage, &e);
	if (r < 0)
		complain(&store->retain_complaint, mono_now(), LOG_ERROR_, "store",
			"%s; old data stay until the next attempt", e.text);
	else
		complaint_over(&store->retain_complaint, mono_now(), "store",
			"old data are deleted again");
	if (r == 0)
		quota_watch(&store->quota, store->backend, store->state, &options, now_ns, &usage);
	pthread_mutex_lock(&store->mutex);
	store->stats.retention_held = store->retain_clock.ahead;
	store->stats.retention_failed = r < 0;
	if (r == 0)
		store->stats.usage = usage;
	if (more)
		return mono_now().ns + QUIET_NS;
	return mono_now().ns + RETAIN_EVERY_NS;
}

/* Mutex held, not while working. Brings stored samples into their final form for @budget_ns.
 * Returns when to come again, monotonic: at once by turns with rests, while there is more. */
static int64_t store_compact(struct store *store, int64_t now_ns, int64_t budget_ns)
{
	struct err e = {0};
	bool more = false;

	pthread_mutex_unlock(&store->mutex);
	const int r = store->backend->compact(store->state, now_ns, budget_ns, &more, &e);
	if (r < 0)
		complain(&store->compact_complaint, mono_now(), LOG_ERROR_, "store",
			"%s; they stay as they came, which takes more room", e.text);
	else
		complaint_over(
			&store->compact_complaint, mono_now(), "store", "samples are sealed again");
	pthread_mutex_lock(&store->mutex);
	store->stats.compact_failed = r < 0;
	if (r < 0)
		return mono_now().ns + RETRY_MAX_NS;
	if (more)
		return mono_now().ns + COMPACT_REST_NS;
	return mono_now().ns + COMPACT_EVERY_NS;
}

/* Mutex held, not while writing. Commits what waits and keeps the log short. On failure
 * @retry_ns, the pause before the next attempt, grows. */
static int store_turn(struct store *store, int64_t *retry_ns)
{
	store->flush = false;
	if (!store->clock_known) {
		/* Before this process stores a sample of its own. What cannot be read now could be
		 * its own later: then the data count as very old, and nothing is deleted. */
		pthread_mutex_unlock(&store->mutex);
		if (store_clock_read(store, NULL) < 0)
			store->newest_ns = 1;
		store->clock_known = true;
		store_clock_now(store);
		pthread_mutex_lock(&store->mutex);
	}
	int r = store_commit(store);

	if (r < 0) {
		complain(&store->complaint, mono_now(), LOG_ERROR_, "store",
			"%s; %zu samples wait in memory, trying again", store->last_text,
			store->queue.n_values);
		*retry_ns *= 2;
		if (*retry_ns > RETRY_MAX_NS)
			*retry_ns = RETRY_MAX_NS;
		pthread_cond_broadcast(&store->done);
		return r;
	}
	complaint_over(&store->complaint, mono_now(), "store", "writing again");
	*retry_ns = RETRY_FIRST_NS;
	store_settle(store);
	store_rescue(store);
	return 0;
}

/* ---- opening and closing the file ---------------------------------------- */

/* Mutex held. A file that stays damaged may be set aside with the next attempt. */
static void note_damage(struct store *store, int opened)
{
	int64_t limit_ns = SET_ASIDE_NS;
	const int64_t now_ns = mono_now().ns;

	if (store->o.set_aside_ns)
		limit_ns = store->o.set_aside_ns;
	if (opened != -EBADMSG)
		store->damaged_since_ns = 0;
	else if (!store->damaged_since_ns)
		store->damaged_since_ns = now_ns;
	store->o.set_aside =
		store->damaged_since_ns && now_ns - store->damaged_since_ns >= limit_ns;
}

/* Mutex held, not while opening. 0 or negative errno. */
static int open_once(struct store *store)
{
	struct err e = {0};
	void *state = NULL;

	pthread_mutex_unlock(&store->mutex);
	int r = store->backend->open(&store->o, &state, &e);
	if (r == STORE_SET_ASIDE) {
		log_error("store", "%s", e.text);
		store_tell(store, "store_damaged", e.text);
		r = store->backend->open(&store->o, &state, &e);
	}
	pthread_mutex_lock(&store->mutex);
	note_damage(store, r);
	store->state = state;
	store->opened = r;
	if (r < 0)
		note_failure(store, r, e.text);
	else
		store->waiting_ns = 0;
	pthread_cond_broadcast(&store->done);
	return r;
}

/* Mutex held. False: it was told to stop, or the file is not ours to write. */
static bool writer_open_store(struct store *store)
{
	int64_t retry_ns = RETRY_FIRST_NS;

	while (open_once(store) < 0) {
		if (!store->late && !store_may_pass(store->opened))
			return false; /* store_open() refuses */
		complain(&store->complaint, mono_now(), LOG_ERROR_, "store",
			"%s; the agent watches from memory: %zu samples wait, trying again",
			store->last_text, store->queue.n_values);
		const int64_t until_ns = mono_now().ns + retry_ns;
		while (!store->stop && !store->flush && mono_now().ns < until_ns)
			wait_until(store, until_ns);
		store->flush = false;
		if (store->stop)
			return false;
		retry_ns *= 2;
		if (retry_ns > RETRY_MAX_NS)
			retry_ns = RETRY_MAX_NS;
	}
	complaint_over(&store->complaint, mono_now(), "store", "the database is open");
	return true;
}

/* Mutex held, not while closing: that copies the log into the file, which takes as long as the disk
 * does. */
static void writer_close_store(struct store *store)
{
	void *state = store->state;

	store->closing = true;
	pthread_mutex_unlock(&store->mutex);
	if (state)
		store->backend->close(state);
	pthread_mutex_lock(&store->mutex);
	store->state = NULL;
	store->finished = true;
	pthread_cond_broadcast(&store->done);
}

/* The order of a turn: wait for the end of a burst, commit, or complain and wait longer; then seal
 * for a moment; with nothing to write, delete one chunk of old rows. */
static void writer_work(struct store *store)
{
	int64_t retry_ns = RETRY_FIRST_NS, not_before_ns = 0;
	int64_t maintain_ns = mono_now().ns + RETAIN_FIRST_NS, compact_ns = mono_now().ns;

	while (!store->abandoned) {
		int64_t now_ns = mono_now().ns;
		if (!store->queue.first) {
			if (store->stop)
				break;
			if (now_ns >= maintain_ns)
				maintain_ns = store_maintain(store);
			else if (now_ns >= compact_ns)
				compact_ns = store_compact(store, wall_now().ns, COMPACT_NS);
			else
				wait_until(store, ns_earlier(maintain_ns, compact_ns));
			continue;
		}
		int64_t due_ns = commit_due(store, now_ns, not_before_ns);
		if (now_ns < due_ns) {
			if (now_ns >= compact_ns)
				compact_ns = store_compact(store, wall_now().ns, COMPACT_NS);
			else
				wait_until(store, ns_earlier(due_ns, compact_ns));
			continue;
		}
		int64_t pause_ns = retry_ns;
		not_before_ns = 0;
		if (store_turn(store, &retry_ns) < 0) {
			not_before_ns = mono_now().ns + pause_ns;
			if (store->stop)
				break; /* one last try was made */
		} else if (!store->stop) {
			compact_ns = store_compact(store, wall_now().ns, COMPACT_NS);
		}
	}
}

static void *writer_main(void *arg)
{
	struct store *store = arg;

	pthread_mutex_lock(&store->mutex);
	if (writer_open_store(store))
		writer_work(store);
	writer_close_store(store);
	pthread_mutex_unlock(&store->mutex);
	return NULL;
}

/* ---- the state for readers ----------------------------------------------- */

/* Mutex held. */
static void state_now(const struct store *store, struct store_state *ret)
{
	const int64_t busy_ns = mono_now().ns - store->busy_since_ns;

	*ret = (struct store_state){.running = true,
		.pid = (int)getpid(),
		.stage = STAGE_WRITING,
		.beat_ns = wall_now().ns,
		.beat_boot_ns = store_state_boot_ns(),
		.pending = store->queue.n_values + store->todo.n_values,
		.dropped = store->stats.dropped,
		.newest_ns = store->newest_given_ns};
	if (store->waiting_ns) {
		ret->since_ns = store->waiting_ns;
		snprintf(ret->reason, sizeof(ret->reason), "%.*s", (int)sizeof(ret->reason) - 1,
			store->last_text);
	} else if (store->busy_since_ns && busy_ns > STUCK_NS) {
		ret->since_ns = ret->beat_ns - busy_ns;
		snprintf(ret->reason, sizeof(ret->reason),
			"the disk has not answered a write since then");
	} else if (store->opened == OPENING && ret->beat_ns - store->began_ns > STUCK_NS) {
		ret->since_ns = store->began_ns;
		snprintf(ret->reason, sizeof(ret->reason), "the database is being opened");
	} else if (store->stats.misplaced) {
		ret->since_ns = store->misplaced_ns;
		snprintf(ret->reason, sizeof(ret->reason),
			"another file stands in the place of the database");
	}
	if (ret->since_ns)
		ret->stage = STAGE_WAITING;
}

void store_state_now(struct store *store, struct store_state *ret)
{
	pthread_mutex_lock(&store->mutex);
	state_now(store, ret);
	pthread_mutex_unlock(&store->mutex);
}

bool store_is_waiting(struct store *store)
{
	pthread_mutex_lock(&store->mutex);
	const bool waiting = store->threaded && store->opened != 0;
	pthread_mutex_unlock(&store->mutex);
	return waiting;
}

/* Mutex held, not while writing. @ret_fd: -1 until the file can be made. */
static void beat_once(struct store *store, int *ret_fd)
{
	struct store_state state;

	state_now(store, &state);
	if (store->finished)
		state.stage = STAGE_STOPPED;
	pthread_mutex_unlock(&store->mutex);
	if (*ret_fd < 0)
		*ret_fd = store_state_open(store->path);
	int r = 0;
	if (*ret_fd >= 0)
		r = store_state_put(*ret_fd, &state);
	/* a full disk: it is kept, and its lock with it, which says at least that somebody runs */
	if (r < 0 && r != -ENOSPC) {
		close(*ret_fd); /* made anew with the next beat */
		*ret_fd = -1;
	}
	pthread_mutex_lock(&store->mutex);
}

/* A thread of its own: neither the loop nor the writer, which may hang with the disk, can say that
 * it hangs. When this one hangs too, its silence says so. */
static void *beat_main(void *arg)
{
	struct store *store = arg;
	int fd = -1;

	pthread_mutex_lock(&store->mutex);
	while (!store->finished) {
		beat_once(store, &fd);
		const int64_t until_ns = mono_now().ns + BEAT_NS;
		struct timespec ts = {until_ns / NS_PER_S, until_ns % NS_PER_S};
		while (!store->finished && mono_now().ns < until_ns)
			pthread_cond_timedwait(&store->tick, &store->mutex, &ts);
	}
	beat_once(store, &fd);
	if (fd >= 0)
		close(fd);
	store->beat_finished = true;
	pthread_cond_broadcast(&store->done);
	pthread_mutex_unlock(&store->mutex);
	return NULL;
}

static void store_free(struct store *store)
{
	jobs_free(&store->queue);
	jobs_free(&store->todo);
	if (store->state)
		store->backend->close(store->state);
	pthread_mutex_destroy(&store->mutex);
	pthread_cond_destroy(&store->wake);
	pthread_cond_destroy(&store->done);
	pthread_cond_destroy(&store->tick);
	free(store->path);
	free(store);
}

/* Signals are the loop thread's. */
static int start_threads(struct store *store)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = -pthread_create(&store->thread, NULL, writer_main, store);
	store->threaded = r == 0;
	if (r == 0)
		store->beating = pthread_create(&store->beat, NULL, beat_main, store) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

static void store_init(struct store *store)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&store->mutex, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&store->wake, &attr);
	pthread_cond_init(&store->done, &attr);
	pthread_cond_init(&store->tick, &attr);
	pthread_condattr_destroy(&attr);
}

/* Waits until @flag is set, @ns at most. Mutex held. Returns it. */
static bool wait_for_flag(struct store *store, const bool *flag, int64_t ns)
{
	const int64_t until_ns = mono_now().ns + ns;
	const struct timespec ts = {until_ns / NS_PER_S, until_ns % NS_PER_S};

	while (!*flag && mono_now().ns < until_ns)
		pthread_cond_timedwait(&store->done, &store->mutex, &ts);
	return *flag;
}

/* A thread opens and writes; this waits for it, but not for ever. */
static int open_beside(struct store *store, struct err *e)
{
	const int64_t until_ns = mono_now().ns + OPEN_NS;
	const struct timespec ts = {until_ns / NS_PER_S, until_ns % NS_PER_S};
	int r = start_threads(store);

	if (r < 0)
		return err_set(e, r, "cannot start the store's thread: %s", strerror(-r));
	pthread_mutex_lock(&store->mutex);
	while (store->opened == OPENING && mono_now().ns < until_ns)
		pthread_cond_timedwait(&store->done, &store->mutex, &ts);
	if (store->opened < 0 && !store_may_pass(store->opened))
		r = err_set(e, store->opened, "%s", store->last_text);
	store->late = store->opened != 0;
	if (store->opened == OPENING)
		log_warn("store",
			"%s: opening it takes long (a slow disk, or the migration of a large "
			"file); "
			"the agent watches from memory meanwhile",
			store->path);
	pthread_mutex_unlock(&store->mutex);
	return r;
}

int store_open(const struct store_backend *backend, const struct store_options *options,
	struct entities *entities, struct store **ret, struct err *e)
{
	struct store *store = rw_calloc(1, sizeof(*store));
	int r;

	store->backend = backend;
	store->o = *options;
	store->path = rw_strdup(options->path);
	store->o.path = store->path;
	store->entities = entities;
	store->opened = OPENING;
	store->began_ns = wall_now().ns;
	store_init(store);
	if (options->replay)
		r = store->opened = store->backend->open(&store->o, &store->state, e);
	else
		r = open_beside(store, e);
	if (r < 0) {
		store_close(store);
		return r;
	}
	*ret = store;
	return 0;
}

/* What the threads still use, one of which may be stuck in the kernel, is left to the end of the
 * process. Mutex held. */
static void store_abandon(struct store *store)
{
	log_error(
		"store", "%s: the disk does not answer: rows that wait are given up", store->path);
	store->abandoned = true;
	if (store->state && !store->closing)
		store->backend->interrupt(store->state);
	pthread_mutex_unlock(&store->mutex);
	pthread_detach(store->thread);
	if (store->beating)
		pthread_detach(store->beat);
}

/* A disk that is slow is none that does not answer: for as long as jobs are committed. Mutex held.
 */
static bool store_wait_writer(struct store *store)
{
	uint64_t settled;
	do {
		settled = store->settled;
		if (wait_for_flag(store, &store->finished, CLOSE_NS))
			return true;
	} while (store->settled != settled);
	return false;
}

static bool store_close_threads(struct store *store)
{
	pthread_mutex_lock(&store->mutex);
	store->stop = true;
	pthread_cond_signal(&store->wake);
	bool ended = store_wait_writer(store);
	pthread_cond_signal(&store->tick);
	if (ended && store->beating)
		ended = wait_for_flag(store, &store->beat_finished, BEAT_NS);
	if (!ended) {
		store_abandon(store);
		return false;
	}
	pthread_mutex_unlock(&store->mutex);
	/* both have said that they are at their end */
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += CLOSE_NS / NS_PER_S;
	pthread_timedjoin_np(store->thread, NULL, &until);
	if (store->beating)
		pthread_timedjoin_np(store->beat, NULL, &until);
	if (store->queue.n_values > 0)
		log_error("store", "%s: %zu samples could not be written: %s", store->path,
			store->queue.n_values, store->last_text);
	store_free(store);
	return true;
}

bool store_close(struct store *store)
{
	struct err e = {0};

	if (!store)
		return true;
	if (store->threaded)
		return store_close_threads(store);
	if (store->opened == 0 && store_flush(store, &e) < 0)
		log_error("store", "%s", e.text);
	if (store->opened == 0) {
		pthread_mutex_lock(&store->mutex);
		store_compact(store, INT64_MAX, INT64_MAX);
		pthread_mutex_unlock(&store->mutex);
	}
	store_free(store);
	return true;
}

/* ---- the loop's side ----------------------------------------------------- */

/* Mutex held. The caller's thread writes, and seals what is complete. */
static int store_commit_here(struct store *store)
{
	const int r = store_commit(store);

	if (r == 0)
		store_compact(store, wall_now().ns, INT64_MAX);
	return r;
}

static void push_locked(struct store *store, struct job *job)
{
	int64_t now = mono_now().ns;

	if (!store->queue.first)
		store->first_ns = now;
	store->last_ns = now;
	job->number = ++store->handed;
	jobs_push(&store->queue, job);
	drop_oldest(store);
}

/* Names that were given since the last time. */
static void push_entities(struct store *store)
{
	size_t n;
	const uint32_t *ids = entities_fresh(store->entities, &n);

	if (n == 0)
		return;
	rw_cleanup(freep) struct record_entity *v = rw_calloc(n, sizeof(*v));
	struct store_record record = {.kind = RECORD_ENTITIES, .entities = {.v = v}};
	for (size_t i = 0; i < n; i++) {
		const struct entity *e = entity_get(store->entities, ids[i]);
		if (!e)
			continue;
		v[record.entities.n++] = (struct record_entity){.id = e->id,
			.parent = e->parent,
			.owner = entity_device(store->entities, e->id),
			.priority = e->priority,
			.device = e->device,
			.port = e->port};
	}
	entities_fresh_done(store->entities);
	if (record.entities.n > 0)
		push_locked(store, job_of_record(&record));
}

static void push_texts(struct store *store)
{
	uint64_t n = store->sent_texts, first = store->sent_texts + 1;

	while (*entities_text_get(store->entities, n + 1))
		n++;
	if (n < first)
		return;
	rw_cleanup(freep) struct record_text *v = rw_calloc(n - first + 1, sizeof(*v));
	struct store_record record = {.kind = RECORD_TEXTS, .texts = {.v = v}};
	for (uint64_t id = first; id <= n; id++)
		v[record.texts.n++] = (struct record_text){
			.id = id, .text = entities_text_get(store->entities, id)};
	store->sent_texts = n;
	push_locked(store, job_of_record(&record));
}

static void hand_over_job(struct store *store, struct job *job)
{
	pthread_mutex_lock(&store->mutex);
	if (job->n_values > 0) { /* new names go before the job that uses them */
		push_entities(store);
		push_texts(store);
	}
	if (!job->samples && job->record.kind == RECORD_HEALTH) {
		/* Only the newest snapshot counts: on a full disk they must not pile up. */
		store->settled += jobs_drop_class(&store->queue, JOB_NEWEST, 0).jobs;
	}
	push_locked(store, job);
	if (store->threaded)
		pthread_cond_signal(&store->wake);
	else if (store->queue.n_values >= REPLAY_SAMPLES ||
		store->handed - store->settled >= REPLAY_JOBS)
		store_commit_here(store); /* on failure the jobs stay; store_flush() reports it */
	pthread_mutex_unlock(&store->mutex);
}

void store_hand_over(struct store *store, const struct store_record *record)
{
	hand_over_job(store, job_of_record(record));
}

void store_samples(struct store *store, const struct sample *samples, size_t n)
{
	if (n == 0)
		return;
	pthread_mutex_lock(&store->mutex);
	if (samples[n - 1].t_ns > store->newest_given_ns)
		store->newest_given_ns = samples[n - 1].t_ns;
	pthread_mutex_unlock(&store->mutex);
	hand_over_job(store, job_of_samples(samples, n));
}

void store_names_gone(struct store *store, const struct entities *entities, int64_t t_ns)
{
	const struct entity *entity;
	size_t n = 0;

	while (entities_gone(entities, n))
		n++;
	rw_cleanup(freep) uint32_t *ids = rw_calloc(n + 1, sizeof(*ids));
	for (size_t i = 0; (entity = entities_gone(entities, i)); i++)
		ids[i] = entity->id;
	store_hand_over(store,
		&(struct store_record){
			.kind = RECORD_NAMES_GONE, .gone = {.v = ids, .n = n, .t_ns = t_ns}});
}

/* ---- waiting for the writer ---------------------------------------------- */

uint64_t store_handed(struct store *store)
{
	pthread_mutex_lock(&store->mutex);
	const uint64_t handed = store->handed;
	pthread_mutex_unlock(&store->mutex);
	return handed;
}

void store_hurry(struct store *store)
{
	pthread_mutex_lock(&store->mutex);
	store->flush = true;
	if (store->threaded)
		pthread_cond_signal(&store->wake);
	pthread_mutex_unlock(&store->mutex);
}

bool store_committed(struct store *store, uint64_t handed)
{
	pthread_mutex_lock(&store->mutex);
	const bool committed = store->committed >= handed;
	pthread_mutex_unlock(&store->mutex);
	return committed;
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
			r = store_commit_here(store);
		}
	}
	if (r < 0)
		err_set(e, r, "%s", store->last_text);
	pthread_mutex_unlock(&store->mutex);
	return r;
}

void store_keep(struct store *store, const struct store_options *options)
{
	pthread_mutex_lock(&store->mutex);
	store->o.quota_bytes = options->quota_bytes;
	store->o.raw_ns = options->raw_ns;
	store->o.minute_ns = options->minute_ns;
	store->o.hour_ns = options->hour_ns;
	store->o.events_ns = options->events_ns;
	store->o.incidents_ns = options->incidents_ns;
	store->o.spool = options->spool;
	store->o.spool_bytes = options->spool_bytes;
	pthread_mutex_unlock(&store->mutex);
}

void store_spool_done(struct store *store, int64_t id)
{
	pthread_mutex_lock(&store->mutex);
	if (id > store->o.spool_done)
		store->o.spool_done = id;
	pthread_mutex_unlock(&store->mutex);
}

void store_watch(struct store *store, mono_t now)
{
	pthread_mutex_lock(&store->mutex);
	const int64_t since_ns = store->busy_since_ns;
	const size_t waiting = store->queue.n_values + store->todo.n_values;
	pthread_mutex_unlock(&store->mutex);
	char waited[32];
	if (since_ns && now.ns - since_ns > HUNG_NS)
		complain(&store->slow_complaint, now, LOG_ERROR_, "store",
			"%s: the disk has not answered a write for %s; %zu samples wait in memory",
			store->path, duration_format(waited, sizeof(waited), now.ns - since_ns),
			waiting);
	else
		complaint_over(&store->slow_complaint, now, "store", "the disk answers again");
}

void store_stats(struct store *store, struct store_stats *ret)
{
	pthread_mutex_lock(&store->mutex);
	*ret = store->stats;
	ret->pending = store->queue.n_values + store->todo.n_values;
	pthread_mutex_unlock(&store->mutex);
}

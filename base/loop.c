/*
 * loop - timers, descriptors, signals, pool work and mailboxes on libuv; the only file that
 * includes uv.h.
 *
 * The order of one turn (libuv's): timers that are due, pending callbacks, poll for fds, signals,
 * mailboxes and finished work, then the close callbacks, where freed handles release their memory.
 * A handle that is freed is stopped at once (its callback never runs again) and released in that
 * last step, so a callback may free its own.
 */
#include "base/loop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <uv.h>

#include "base/cleanup.h"

/* A turn that takes longer than this keeps others waiting. */
#define AWAY_LEAST_NS (50 * NS_PER_MS)

struct loop {
	uv_loop_t uv;
	uv_check_t woken; /* after the poll */
	uv_prepare_t waits; /* before the next one */
	int64_t woken_ns; /* when the poll returned; 0: it has not yet */
	int64_t away_ns; /* see loop_away_ns() */
	struct work *works; /* of loop_work(), in the order of the calls, until each is done */
	uv_timer_t works_late; /* runs while there is one; keeps no loop alive */
	uv_async_t works_ended; /* keeps the loop alive while there is one */
	pthread_mutex_t ended_lock; /* guards .ended */
	struct work *ended; /* by their threads */
};

struct loop_timer {
	uv_timer_t uv; /* first: the close callback frees the whole by this address */
	loop_timer_fn *fn;
	void *arg;
};

struct loop_fd {
	uv_poll_t uv; /* first */
	loop_fd_fn *fn;
	void *arg;
	int events;
};

struct loop_signal {
	uv_signal_t uv; /* first */
	loop_signal_fn *fn;
	void *arg;
};

static void loop_on_woken(uv_check_t *handle)
{
	struct loop *loop = handle->data;
	loop->woken_ns = (int64_t)uv_now(&loop->uv) * NS_PER_MS;
}

/* Of the turn under way, so far; what is short counts for nothing. */
static int64_t loop_busy_ns(const struct loop *loop)
{
	if (loop->woken_ns == 0)
		return 0;
	const int64_t busy_ns = (int64_t)uv_hrtime() - loop->woken_ns;
	if (busy_ns <= AWAY_LEAST_NS)
		return 0;
	return busy_ns;
}

static void loop_on_waits(uv_prepare_t *handle)
{
	struct loop *loop = handle->data;
	loop->away_ns += loop_busy_ns(loop);
	loop->woken_ns = 0;
}

/* They keep no loop alive. */
static void loop_watch_turns(struct loop *loop)
{
	uv_check_init(&loop->uv, &loop->woken);
	uv_prepare_init(&loop->uv, &loop->waits);
	loop->woken.data = loop->waits.data = loop;
	uv_check_start(&loop->woken, loop_on_woken);
	uv_prepare_start(&loop->waits, loop_on_waits);
	uv_unref((uv_handle_t *)&loop->woken);
	uv_unref((uv_handle_t *)&loop->waits);
}

int64_t loop_away_ns(const struct loop *loop)
{
	/* The turn under way counts, too: a deadline may pass in the turn that kept it waiting. */
	return loop->away_ns + loop_busy_ns(loop);
}

/* ---- work ---------------------------------------------------------------- */

#define WORKS_LOOK_MS 200 /* how often what is late is looked for */

struct work {
	struct work *next, *next_ended;
	struct loop *loop;
	const struct loop_job *job;
	void *arg;
	pthread_t thread;
	int64_t until_ns; /* by loop_now(); 0: it waits for its turn */
	bool late;
};

static void *work_main(void *arg)
{
	struct work *work = arg;
	struct loop *loop = work->loop;
	work->job->work(work->arg);
	pthread_mutex_lock(&loop->ended_lock);
	work->next_ended = loop->ended;
	loop->ended = work;
	uv_async_send(&loop->works_ended); /* inside: the loop may go when it has been taken */
	pthread_mutex_unlock(&loop->ended_lock);
	return NULL;
}

/* Signals are the loop's. */
static int work_begin(struct work *work)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const int rc = -pthread_create(&work->thread, NULL, work_main, work);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc == 0)
		work->until_ns = loop_now(work->loop).ns + work->job->limit_ns;
	return rc;
}

/* How many of a kind run and are late, or run and are not. */
static int works_running(const struct loop *loop, const struct loop_job *job, bool late)
{
	int n = 0;
	for (const struct work *w = loop->works; w; w = w->next)
		n += w->job == job && w->until_ns != 0 && w->late == late;
	return n;
}

static bool works_have_room(const struct loop *loop, const struct loop_job *job)
{
	return works_running(loop, job, false) < LOOP_JOB_THREADS &&
		works_running(loop, job, true) < LOOP_JOB_LATE_MAX;
}

/* Whose turn has come; what gets no thread now gets one at the next look. */
static void works_begin(struct loop *loop)
{
	for (struct work *w = loop->works; w; w = w->next)
		if (w->until_ns == 0 && works_have_room(loop, w->job) && work_begin(w) < 0)
			return;
}

static void work_leave(struct work *work)
{
	struct loop *loop = work->loop;
	struct work **place = &loop->works;
	while (*place != work)
		place = &(*place)->next;
	*place = work->next;
	if (loop->works)
		return;
	uv_timer_stop(&loop->works_late);
	uv_unref((uv_handle_t *)&loop->works_ended);
}

static void works_on_ended(uv_async_t *handle)
{
	struct loop *loop = handle->data;
	pthread_mutex_lock(&loop->ended_lock);
	struct work *ended = loop->ended;
	loop->ended = NULL;
	pthread_mutex_unlock(&loop->ended_lock);
	while (ended) {
		struct work *work = ended;
		ended = work->next_ended;
		pthread_join(work->thread, NULL); /* this was its last act */
		work_leave(work);
		work->job->done(work->arg);
		free(work);
	}
	works_begin(loop);
}

static void works_on_look(uv_timer_t *timer)
{
	struct loop *loop = timer->data;
	works_on_ended(&loop->works_ended); /* not late because of the loop */
	for (struct work *w = loop->works; w; w = w->next) {
		if (w->until_ns == 0 || w->late || loop_now(loop).ns < w->until_ns)
			continue;
		w->late = true;
		if (w->job->late)
			w->job->late(w->arg); /* may add work, at the end */
	}
	works_begin(loop); /* in the place of the late */
}

static void works_init(struct loop *loop)
{
	uv_timer_init(&loop->uv, &loop->works_late);
	uv_async_init(&loop->uv, &loop->works_ended, works_on_ended);
	loop->works_late.data = loop->works_ended.data = loop;
	uv_unref((uv_handle_t *)&loop->works_late);
	uv_unref((uv_handle_t *)&loop->works_ended);
	pthread_mutex_init(&loop->ended_lock, NULL);
}

int loop_work(struct loop *loop, const struct loop_job *job, void *arg)
{
	if (works_running(loop, job, true) >= LOOP_JOB_LATE_MAX)
		return -EAGAIN;
	struct work *work = rw_calloc(1, sizeof(*work));
	*work = (struct work){.loop = loop, .job = job, .arg = arg};
	const bool waits = works_running(loop, job, false) >= LOOP_JOB_THREADS;
	if (!waits && work_begin(work) < 0) {
		free(work);
		return -EAGAIN;
	}
	struct work **end = &loop->works;
	while (*end)
		end = &(*end)->next;
	*end = work;
	uv_ref((uv_handle_t *)&loop->works_ended);
	if (!uv_is_active((const uv_handle_t *)&loop->works_late))
		uv_timer_start(&loop->works_late, works_on_look, WORKS_LOOK_MS, WORKS_LOOK_MS);
	return 0;
}

int loop_new(struct loop **ret)
{
	struct loop *l = rw_calloc(1, sizeof(*l));
	int r = uv_loop_init(&l->uv);
	if (r < 0) {
		free(l);
		return r; /* libuv's codes are negative errnos on Unix */
	}
	loop_watch_turns(l);
	works_init(l);
	*ret = l;
	return 0;
}

static void refuse_unfreed(uv_handle_t *handle, void *arg)
{
	const struct loop *loop = arg;
	if (uv_is_closing(handle) || handle == (const uv_handle_t *)&loop->works_late ||
		handle == (const uv_handle_t *)&loop->works_ended)
		return;
	/* Our own mistake: waiting for this handle would be a hang at shutdown. */
	fprintf(stderr, "rocewatch: a %s handle outlives its loop\n",
		uv_handle_type_name(handle->type));
	abort();
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	uv_close((uv_handle_t *)&loop->woken, NULL);
	uv_close((uv_handle_t *)&loop->waits, NULL);
	uv_walk(&loop->uv, refuse_unfreed, loop);
	/* Releases what is closing and waits for the threads of loop_work(). */
	uv_run(&loop->uv, UV_RUN_DEFAULT);
	uv_close((uv_handle_t *)&loop->works_late, NULL);
	uv_close((uv_handle_t *)&loop->works_ended, NULL);
	uv_run(&loop->uv, UV_RUN_DEFAULT);
	if (uv_loop_close(&loop->uv) < 0)
		abort();
	pthread_mutex_destroy(&loop->ended_lock);
	free(loop);
}

int loop_run(struct loop *loop)
{
	loop->woken_ns = (int64_t)uv_hrtime(); /* the first turn begins with its timers */
	uv_run(&loop->uv, UV_RUN_DEFAULT);
	return 0;
}

void loop_stop(struct loop *loop)
{
	uv_stop(&loop->uv);
}

mono_t loop_now(struct loop *loop)
{
	/* uv_now() is CLOCK_MONOTONIC in ms, the same clock as mono_now(), as of the start of the
	 * turn. */
	return (mono_t){(int64_t)uv_now(&loop->uv) * NS_PER_MS};
}

static void loop_release(uv_handle_t *handle)
{
	free(handle);
}

static uint64_t ms_of(int64_t ns)
{
	if (ns <= 0)
		return 0;
	return (uint64_t)((ns + NS_PER_MS - 1) / NS_PER_MS);
}

static void loop_on_timer(uv_timer_t *handle)
{
	struct loop_timer *t = (struct loop_timer *)handle;
	t->fn(t->arg);
}

struct loop_timer *loop_timer_new(struct loop *loop, loop_timer_fn *fn, void *arg)
{
	struct loop_timer *t = rw_calloc(1, sizeof(*t));
	uv_timer_init(&loop->uv, &t->uv);
	t->fn = fn;
	t->arg = arg;
	return t;
}

void loop_timer_start(struct loop_timer *timer, int64_t delay_ns, int64_t repeat_ns)
{
	/* The turn's time may be old when a callback worked long; a delay counts from now. */
	uv_update_time(timer->uv.loop);
	/* Before 1.48 libuv runs a timer of 0 that starts itself again in the same turn, and again,
	 * and nothing else until it ends. */
	uint64_t delay_ms = ms_of(delay_ns);
	if (delay_ms == 0)
		delay_ms = 1;
	uv_timer_start(&timer->uv, loop_on_timer, delay_ms, ms_of(repeat_ns));
}

void loop_timer_stop(struct loop_timer *timer)
{
	uv_timer_stop(&timer->uv);
}

void loop_timer_free(struct loop_timer *timer)
{
	if (timer)
		uv_close((uv_handle_t *)&timer->uv, loop_release);
}

static void on_fd(uv_poll_t *handle, int status, int events)
{
	struct loop_fd *f = (struct loop_fd *)handle;
	int ready = 0;
	if (events & UV_READABLE)
		ready |= LOOP_READ;
	if (events & UV_WRITABLE)
		ready |= LOOP_WRITE;
	/* An error is reported as everything asked for: the read or write that follows gets the
	 * errno. */
	if (status < 0)
		ready = f->events;
	f->fn(f->arg, ready);
}

struct loop_fd *loop_fd_new(struct loop *loop, int fd, int events, loop_fd_fn *fn, void *arg)
{
	struct loop_fd *f = rw_calloc(1, sizeof(*f));
	if (uv_poll_init(&loop->uv, &f->uv, fd) < 0) {
		free(f);
		return NULL;
	}
	f->fn = fn;
	f->arg = arg;
	loop_fd_events(f, events);
	return f;
}

void loop_fd_events(struct loop_fd *fd, int events)
{
	fd->events = events;
	if (events == 0) {
		uv_poll_stop(&fd->uv);
		return;
	}
	int wanted = 0;
	if (events & LOOP_READ)
		wanted |= UV_READABLE;
	if (events & LOOP_WRITE)
		wanted |= UV_WRITABLE;
	uv_poll_start(&fd->uv, wanted, on_fd);
}

void loop_fd_free(struct loop_fd *fd)
{
	if (fd)
		uv_close((uv_handle_t *)&fd->uv, loop_release);
}

static void loop_on_signal(uv_signal_t *handle, int signum)
{
	struct loop_signal *s = (struct loop_signal *)handle;
	s->fn(s->arg, signum);
}

struct loop_signal *loop_signal_new(struct loop *loop, int signum, loop_signal_fn *fn, void *arg)
{
	struct loop_signal *s = rw_calloc(1, sizeof(*s));
	if (uv_signal_init(&loop->uv, &s->uv) < 0) {
		free(s);
		return NULL;
	}
	s->fn = fn;
	s->arg = arg;
	if (uv_signal_start(&s->uv, loop_on_signal, signum) < 0) {
		uv_close((uv_handle_t *)&s->uv, loop_release);
		return NULL;
	}
	return s;
}

void loop_signal_free(struct loop_signal *signal)
{
	if (signal)
		uv_close((uv_handle_t *)&signal->uv, loop_release);
}

struct mailbox {
	uv_async_t uv; /* first */
	pthread_mutex_t lock; /* guards the ring only; never held while fn runs */
	void **ring;
	uint32_t capacity, head, n;
	bool closed;
	mailbox_fn *fn;
	void *arg;
};

static bool mailbox_take(struct mailbox *mailbox, void **ret)
{
	pthread_mutex_lock(&mailbox->lock);
	bool any = mailbox->n > 0;
	if (any) {
		*ret = mailbox->ring[mailbox->head];
		mailbox->head = (mailbox->head + 1) % mailbox->capacity;
		mailbox->n--;
	}
	pthread_mutex_unlock(&mailbox->lock);
	return any;
}

static uint32_t mailbox_waiting(struct mailbox *mailbox)
{
	pthread_mutex_lock(&mailbox->lock);
	uint32_t n = mailbox->n;
	pthread_mutex_unlock(&mailbox->lock);
	return n;
}

static void loop_on_mail(uv_async_t *handle)
{
	struct mailbox *m = (struct mailbox *)handle;
	void *message;
	/* Only what waits now: a sender faster than fn must not keep the timers from running. */
	uint32_t n = mailbox_waiting(m);
	while (n-- > 0 && !m->closed && mailbox_take(m, &message))
		m->fn(m->arg, message);
	if (!m->closed && mailbox_waiting(m) > 0)
		uv_async_send(&m->uv);
}

struct mailbox *mailbox_new(struct loop *loop, uint32_t capacity, mailbox_fn *fn, void *arg)
{
	struct mailbox *m = rw_calloc(1, sizeof(*m));
	if (uv_async_init(&loop->uv, &m->uv, loop_on_mail) < 0) {
		free(m);
		return NULL;
	}
	m->capacity = 1;
	if (capacity > 1)
		m->capacity = capacity;
	m->ring = rw_calloc(m->capacity, sizeof(*m->ring));
	m->fn = fn;
	m->arg = arg;
	pthread_mutex_init(&m->lock, NULL);
	return m;
}

bool mailbox_post(struct mailbox *mailbox, void *message)
{
	pthread_mutex_lock(&mailbox->lock);
	bool room = mailbox->n < mailbox->capacity && !mailbox->closed;
	if (room) {
		mailbox->ring[(mailbox->head + mailbox->n) % mailbox->capacity] = message;
		mailbox->n++;
		/* Inside the lock: once closed is set nobody may touch the async handle again. */
		uv_async_send(&mailbox->uv);
	}
	pthread_mutex_unlock(&mailbox->lock);
	return room;
}

static void mailbox_release(uv_handle_t *handle)
{
	struct mailbox *m = (struct mailbox *)handle;
	pthread_mutex_destroy(&m->lock);
	free(m->ring);
	free(m);
}

void mailbox_free(struct mailbox *mailbox)
{
	void *message;

	if (!mailbox)
		return;
	pthread_mutex_lock(&mailbox->lock);
	mailbox->closed = true;
	pthread_mutex_unlock(&mailbox->lock);
	while (mailbox_take(mailbox, &message))
		mailbox->fn(mailbox->arg, message);
	uv_close((uv_handle_t *)&mailbox->uv, mailbox_release);
}

/* sim - see sim.h. A baton goes from the loop to a thread and back, through
 * semaphores. */
#include "tests/faults/sim.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define SIM_LOG_BYTES (1 << 20)
#define SIM_SLICES_MAX 1000000 /* in one run: more is a thread that spins */
#define SIM_THREADS 4
#define SIM_JOIN_NS (5 * NS_PER_S)

struct sim_thread {
	bool exists, done, signaled;
	pthread_t thread;
	sem_t go; /* the baton comes */
	pthread_cond_t *waits; /* NULL: it runs, or has not begun */
	int64_t due_ns; /* INT64_MAX: without a time */
	void *(*run)(void *);
	void *arg;
};

static struct {
	bool active;
	pthread_t loop; /* the test's thread */
	int64_t now_ns, wall_ns; /* monotonic; what to add to it */
	int64_t slices;
	sem_t back; /* the baton comes back to the loop */
	pthread_cond_t *loop_waits; /* the loop waits for it */
	struct sim_thread threads[SIM_THREADS];
	char log[SIM_LOG_BYTES];
	size_t n_log;
} sim;
static __thread struct sim_thread *sim_self; /* NULL: the loop */

int __real_pthread_create(
	pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg);
int __real_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int __real_pthread_cond_timedwait(
	pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until);
int __real_pthread_cond_signal(pthread_cond_t *cond);
int __real_pthread_cond_broadcast(pthread_cond_t *cond);
int __real_pthread_join(pthread_t thread, void **ret);
int __wrap_pthread_join(pthread_t thread, void **ret);
int __real_pthread_timedjoin_np(pthread_t thread, void **ret, const struct timespec *until);
mono_t __real_mono_now(void);
wall_t __real_wall_now(void);
ssize_t __real_write(int fd, const void *data, size_t n);

int __wrap_pthread_create(
	pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg);
int __real_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int __wrap_pthread_cond_timedwait(
	pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until);
int __wrap_pthread_cond_signal(pthread_cond_t *cond);
int __wrap_pthread_cond_broadcast(pthread_cond_t *cond);
int __wrap_pthread_timedjoin_np(pthread_t thread, void **ret, const struct timespec *until);
mono_t __wrap_mono_now(void);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __real_clock_gettime(clockid_t clock, struct timespec *ret);
wall_t __wrap_wall_now(void);
ssize_t __wrap_write(int fd, const void *data, size_t n);

/* ---- the baton ----------------------------------------------------------- */

static void sim_die(const char *why)
{
	fprintf(stderr, "sim: %s\n%.*s", why, (int)sim.n_log, sim.log);
	abort();
}

static void sim_wait(sem_t *baton)
{
	while (sem_wait(baton) < 0 && errno == EINTR)
		continue;
}

/* When @thread wants to run: now, at its time, or never (INT64_MAX). */
static int64_t sim_due(const struct sim_thread *thread)
{
	if (!thread->exists || thread->done)
		return INT64_MAX;
	if (thread->signaled || !thread->waits)
		return sim.now_ns;
	return thread->due_ns;
}

static struct sim_thread *sim_next(int64_t until_ns)
{
	struct sim_thread *next = &sim.threads[0];

	for (size_t i = 1; i < SIM_THREADS; i++)
		if (sim_due(&sim.threads[i]) < sim_due(next))
			next = &sim.threads[i];
	if (sim_due(next) > until_ns)
		return NULL;
	return next;
}

/* The thread that is due first, until @until_ns, runs until it waits or ends. False: there is none.
 */
static bool sim_slice(int64_t until_ns)
{
	struct sim_thread *next = sim_next(until_ns);

	if (!next)
		return false;
	if (++sim.slices > SIM_SLICES_MAX)
		sim_die("a thread never comes to rest");
	if (sim_due(next) > sim.now_ns)
		sim.now_ns = sim_due(next);
	sem_post(&next->go);
	sim_wait(&sim.back);
	return true;
}

static void *sim_main(void *arg)
{
	sim_self = arg;
	sim_wait(&sim_self->go);
	sim_self->run(sim_self->arg);
	sim_self->done = true;
	sem_post(&sim.back);
	return NULL;
}

void sim_start(int64_t wall_ns)
{
	sim.loop = pthread_self();
	sim.now_ns = 1000 * NS_PER_S;
	sim.wall_ns = wall_ns - sim.now_ns;
	sim.slices = 0;
	sim.n_log = 0;
	sim.loop_waits = NULL;
	memset(sim.threads, 0, sizeof(sim.threads));
	sem_init(&sim.back, 0, 0);
	sim.active = true;
}

void sim_stop(void)
{
	sim.active = false;
}

int64_t sim_wall_ns(void)
{
	return sim.now_ns + sim.wall_ns;
}

void sim_advance(int64_t ns)
{
	const int64_t until_ns = sim.now_ns + ns;

	while (sim_slice(until_ns))
		continue;
	if (sim.now_ns < until_ns)
		sim.now_ns = until_ns;
}

int64_t sim_mark(void)
{
	return sim.now_ns;
}

void sim_go_back(int64_t mark)
{
	sim.now_ns = mark;
	sim.slices = 0;
}

void sim_sleep_us(int64_t us)
{
	sim.now_ns += us * NS_PER_US;
	if (++sim.slices > SIM_SLICES_MAX)
		sim_die("sleeps without end");
}

const char *sim_log(size_t *ret_n)
{
	*ret_n = sim.n_log;
	return sim.log;
}

/* ---- in the place of the system's ---------------------------------------- */

mono_t __wrap_mono_now(void)
{
	if (sim.active)
		return (mono_t){sim.now_ns};
	return __real_mono_now();
}

/* The boot clock tells a reader how old the heartbeat of the store is: it goes with the others. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	if (!sim.active || clock != CLOCK_BOOTTIME)
		return __real_clock_gettime(clock, ret);
	*ret = (struct timespec){.tv_sec = sim.now_ns / NS_PER_S, .tv_nsec = sim.now_ns % NS_PER_S};
	return 0;
}

wall_t __wrap_wall_now(void)
{
	if (sim.active)
		return (wall_t){sim_wall_ns()};
	return __real_wall_now();
}

ssize_t __wrap_write(int fd, const void *data, size_t n)
{
	if (!sim.active || fd != STDERR_FILENO)
		return __real_write(fd, data, n);
	if (n <= sizeof(sim.log) - sim.n_log) {
		memcpy(sim.log + sim.n_log, data, n);
		sim.n_log += n;
	}
	return (ssize_t)n;
}

/* Without a descriptor it is a sleep. */
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	if (!sim.active || n > 0)
		return __real_poll(fds, n, timeout_ms);
	sim_sleep_us(timeout_ms * 1000LL);
	return 0;
}

int __wrap_pthread_create(
	pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	struct sim_thread *to = NULL;

	if (!sim.active)
		return __real_pthread_create(thread, attr, run, arg);
	for (size_t i = 0; i < SIM_THREADS && !to; i++)
		if (!sim.threads[i].exists)
			to = &sim.threads[i];
	if (!to)
		sim_die("too many threads");
	*to = (struct sim_thread){.run = run, .arg = arg, .exists = true};
	sem_init(&to->go, 0, 0);
	const int r = __real_pthread_create(&to->thread, attr, sim_main, to);
	to->exists = r == 0;
	if (r == 0)
		*thread = to->thread;
	return r;
}

/* A thread gives the baton back and waits for it. */
static void sim_park(pthread_cond_t *cond, int64_t due_ns)
{
	sim_self->waits = cond;
	sim_self->due_ns = due_ns;
	sim_self->signaled = false;
	sem_post(&sim.back);
	sim_wait(&sim_self->go);
	sim_self->waits = NULL;
}

/* The loop lets the others run until it is signaled, or it is @due_ns. */
static bool sim_loop_waits(pthread_cond_t *cond, int64_t due_ns)
{
	sim.loop_waits = cond;
	while (sim.loop_waits && sim_slice(due_ns))
		continue;
	const bool signaled = !sim.loop_waits;
	sim.loop_waits = NULL;
	if (!signaled && due_ns == INT64_MAX - 1)
		sim_die("all threads wait");
	if (!signaled && sim.now_ns < due_ns)
		sim.now_ns = due_ns;
	return signaled;
}

static int sim_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t due_ns)
{
	bool signaled;

	pthread_mutex_unlock(mutex);
	if (sim_self) {
		sim_park(cond, due_ns);
		signaled = sim_self->signaled;
		sim_self->signaled = false;
	} else {
		signaled = sim_loop_waits(cond, due_ns);
	}
	pthread_mutex_lock(mutex);
	return signaled ? 0 : ETIMEDOUT;
}

int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	if (!sim.active)
		return __real_pthread_cond_wait(cond, mutex);
	sim_cond_wait(cond, mutex, INT64_MAX - 1);
	return 0;
}

int __wrap_pthread_cond_timedwait(
	pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
	if (!sim.active)
		return __real_pthread_cond_timedwait(cond, mutex, until);
	return sim_cond_wait(cond, mutex, until->tv_sec * NS_PER_S + until->tv_nsec);
}

static void sim_signal(const pthread_cond_t *cond)
{
	if (!sim.active)
		return;
	for (size_t i = 0; i < SIM_THREADS; i++)
		if (sim.threads[i].waits == cond)
			sim.threads[i].signaled = true;
	if (sim.loop_waits == cond)
		sim.loop_waits = NULL;
}

int __wrap_pthread_cond_signal(pthread_cond_t *cond)
{
	sim_signal(cond);
	return __real_pthread_cond_signal(cond);
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *cond)
{
	sim_signal(cond);
	return __real_pthread_cond_broadcast(cond);
}

static struct sim_thread *sim_thread_of(pthread_t thread)
{
	for (size_t i = 0; i < SIM_THREADS; i++)
		if (sim.threads[i].exists && pthread_equal(sim.threads[i].thread, thread))
			return &sim.threads[i];
	return NULL;
}

int __wrap_pthread_timedjoin_np(pthread_t thread, void **ret, const struct timespec *until)
{
	struct sim_thread *of = sim.active ? sim_thread_of(thread) : NULL;

	if (!of)
		return __real_pthread_timedjoin_np(thread, ret, until);
	const int64_t until_ns = sim.now_ns + SIM_JOIN_NS;
	while (!of->done && sim_slice(until_ns))
		continue;
	if (!of->done)
		return ETIMEDOUT;
	of->exists = false;
	return __real_pthread_join(thread, ret);
}

int __wrap_pthread_join(pthread_t thread, void **ret)
{
	struct sim_thread *of = sim.active ? sim_thread_of(thread) : NULL;

	while (of && !of->done)
		if (!sim_slice(INT64_MAX - 1))
			sim_die("the thread to be joined never ends");
	if (of)
		of->exists = false;
	return __real_pthread_join(thread, ret);
}

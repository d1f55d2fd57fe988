/*
 * fast_clock - a library to preload: time passes faster for a program, and its wall clock can be
 * set, so that a day of its life takes minutes. The page that FAST_CLOCK names (fast_clock.py
 * writes it) says how: all clocks of one simulation share it.
 *
 *      monotonic, boot    real0 + (real - real0) x speed
 *      wall               wall0 + (real - real0) x speed + step
 *
 * Waits are shortened by the same factor: poll, select, epoll, sleeps, condition variables,
 * semaphores and futexes. What the kernel does by itself is not: disk, network, timeouts of
 * sockets.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define S_NS 1000000000LL
#define WALL_FROM_S 1000000000LL /* no monotonic clock of a machine shows 30 years */

struct page {
	int64_t speed, real0_ns, wall0_ns;
	_Atomic int64_t step_ns;
};
static const struct page still = {.speed = 1};
static const struct page *page = &still;
static bool off = true;

static long raw3(long number, long one, long two, long three)
{
	long ret;
	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(number), "D"(one), "S"(two), "d"(three)
			 : "rcx", "r11", "memory");
	return ret;
}

/* A symbol of the library below. The first call may come before this library's constructor. */
#define BELOW(name)                                                                                \
	static __typeof__(name) *below;                                                            \
	if (!below)                                                                                \
	*(void **)(void *)&below = dlsym(RTLD_NEXT, #name)

static int64_t ns_of(struct timespec t)
{
	return (int64_t)t.tv_sec * S_NS + t.tv_nsec;
}

static struct timespec timespec_of(int64_t ns)
{
	if (ns < 0)
		ns = 0;
	return (struct timespec){ns / S_NS, ns % S_NS};
}

static int64_t real_ns(clockid_t id)
{
	struct timespec t = {0};
	raw3(SYS_clock_gettime, id, (long)&t, 0);
	return ns_of(t);
}

__attribute__((constructor)) static void fast_clock_start(void)
{
	const char *name = getenv("FAST_CLOCK");
	if (!name)
		return;
	const int fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		abort();
	void *map = mmap(NULL, sizeof(struct page), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		abort();
	page = map;
	off = page->speed < 1;
}

static bool is_wall(clockid_t id)
{
	return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE || id == CLOCK_TAI;
}

static bool is_monotonic(clockid_t id)
{
	return id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_RAW || id == CLOCK_MONOTONIC_COARSE ||
		id == CLOCK_BOOTTIME;
}

static int64_t fast_ns(clockid_t id)
{
	const int64_t passed = (real_ns(CLOCK_MONOTONIC) - page->real0_ns) * page->speed;
	if (is_wall(id))
		return page->wall0_ns + passed + atomic_load(&page->step_ns);
	return page->real0_ns + passed;
}

/* A wait of this program in real time, at least a nanosecond where it is one at all. */
static int64_t shorter_ns(int64_t wait_ns)
{
	if (wait_ns <= 0)
		return wait_ns;
	return (wait_ns + page->speed - 1) / page->speed;
}

static int shorter_ms(int wait_ms)
{
	if (off || wait_ms <= 0)
		return wait_ms;
	return (int)((wait_ms + page->speed - 1) / page->speed);
}

/* An instant of this program's wall or monotonic clock as one of the real clock @id. */
static struct timespec real_instant(clockid_t id, struct timespec at)
{
	const int64_t left_ns = shorter_ns(ns_of(at) - fast_ns(id));
	return timespec_of(real_ns(id) + left_ns);
}

static clockid_t clock_of(struct timespec at)
{
	if (at.tv_sec >= WALL_FROM_S)
		return CLOCK_REALTIME;
	return CLOCK_MONOTONIC;
}

/* ---- clocks -------------------------------------------------------------- */

int clock_gettime(clockid_t id, struct timespec *ret)
{
	if (off || (!is_wall(id) && !is_monotonic(id)))
		return (int)raw3(SYS_clock_gettime, id, (long)ret, 0);
	*ret = timespec_of(fast_ns(id));
	return 0;
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
	struct timespec t;
	(void)zone;
	clock_gettime(CLOCK_REALTIME, &t);
	*ret = (struct timeval){t.tv_sec, t.tv_nsec / 1000};
	return 0;
}

time_t time(time_t *ret)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	if (ret)
		*ret = t.tv_sec;
	return t.tv_sec;
}

/* ---- sleeps -------------------------------------------------------------- */

int nanosleep(const struct timespec *wait, struct timespec *left)
{
	BELOW(nanosleep);
	if (off)
		return below(wait, left);
	const struct timespec real = timespec_of(shorter_ns(ns_of(*wait)));
	return below(&real, left);
}

int clock_nanosleep(clockid_t id, int flags, const struct timespec *wait, struct timespec *left)
{
	BELOW(clock_nanosleep);
	if (off)
		return below(id, flags, wait, left);
	struct timespec real = timespec_of(shorter_ns(ns_of(*wait)));
	if (flags & TIMER_ABSTIME)
		real = real_instant(id, *wait);
	return below(id, flags, &real, left);
}

int usleep(useconds_t us)
{
	const struct timespec wait = timespec_of((int64_t)us * 1000);
	return nanosleep(&wait, NULL);
}

unsigned sleep(unsigned s)
{
	const struct timespec wait = {.tv_sec = s};
	nanosleep(&wait, NULL);
	return 0;
}

/* ---- waits for descriptors ----------------------------------------------- */

int poll(struct pollfd *fds, nfds_t n, int wait_ms)
{
	BELOW(poll);
	return below(fds, n, shorter_ms(wait_ms));
}

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *wait, const sigset_t *mask)
{
	BELOW(ppoll);
	if (off || !wait)
		return below(fds, n, wait, mask);
	const struct timespec real = timespec_of(shorter_ns(ns_of(*wait)));
	return below(fds, n, &real, mask);
}

int select(int n, fd_set *reads, fd_set *writes, fd_set *others, struct timeval *wait)
{
	BELOW(select);
	if (off || !wait)
		return below(n, reads, writes, others, wait);
	const int64_t us = (int64_t)wait->tv_sec * 1000000 + wait->tv_usec;
	const int64_t real_us = shorter_ns(us);
	struct timeval real = {real_us / 1000000, real_us % 1000000};
	return below(n, reads, writes, others, &real);
}

int epoll_wait(int fd, struct epoll_event *events, int n, int wait_ms)
{
	BELOW(epoll_wait);
	return below(fd, events, n, shorter_ms(wait_ms));
}

int epoll_pwait(int fd, struct epoll_event *events, int n, int wait_ms, const sigset_t *mask)
{
	BELOW(epoll_pwait);
	return below(fd, events, n, shorter_ms(wait_ms), mask);
}

/* ---- waits for threads --------------------------------------------------- */

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *at)
{
	BELOW(pthread_cond_timedwait);
	if (off)
		return below(cond, lock, at);
	const struct timespec real = real_instant(clock_of(*at), *at);
	return below(cond, lock, &real);
}

int pthread_cond_clockwait(
	pthread_cond_t *cond, pthread_mutex_t *lock, clockid_t id, const struct timespec *at)
{
	BELOW(pthread_cond_clockwait);
	if (off)
		return below(cond, lock, id, at);
	const struct timespec real = real_instant(id, *at);
	return below(cond, lock, id, &real);
}

int sem_timedwait(sem_t *sem, const struct timespec *at)
{
	BELOW(sem_timedwait);
	if (off)
		return below(sem, at);
	const struct timespec real = real_instant(CLOCK_REALTIME, *at);
	return below(sem, &real);
}

/* Abseil, below gRPC, waits on futexes of its own. */
long syscall(long number, ...)
{
	BELOW(syscall);
	long v[6];
	va_list ap;
	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		v[i] = va_arg(ap, long);
	va_end(ap);
	struct timespec real;
	const long what = v[1] & FUTEX_CMD_MASK;
	const struct timespec *at = (const struct timespec *)v[3];
	if (!off && number == SYS_futex && at && what == FUTEX_WAIT_BITSET) {
		clockid_t id = CLOCK_MONOTONIC;
		if (v[1] & FUTEX_CLOCK_REALTIME)
			id = CLOCK_REALTIME;
		real = real_instant(id, *at);
		v[3] = (long)&real;
	} else if (!off && number == SYS_futex && at && what == FUTEX_WAIT) {
		real = timespec_of(shorter_ns(ns_of(*at)));
		v[3] = (long)&real;
	}
	return below(number, v[0], v[1], v[2], v[3], v[4], v[5]);
}

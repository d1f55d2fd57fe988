/* stop_guard - a thread that reads single bytes from a pipe: what happened, as it happens. */
#include "agent/jail/stop_guard.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/log.h"

enum { GUARD_SIGNAL = 's', GUARD_STOPPING = 't', GUARD_POOL = 'p', GUARD_DONE = 'd' };

static const int guard_signals[] = {SIGTERM, SIGINT};
static struct sigaction guard_before[rw_countof(guard_signals)];
static int guard_pipe[2] = {-1, -1};
static pthread_t guard_thread;
static bool guard_runs, guard_armed; /* the thread; its handlers of signals */

static void guard_say(char what)
{
	if (guard_pipe[1] >= 0 && write(guard_pipe[1], &what, 1) < 0) {
		/* full: it has been told often enough */
	}
}

static void guard_on_signal(int signum)
{
	const int error = errno;
	for (size_t i = 0; i < rw_countof(guard_signals); i++)
		if (guard_signals[i] == signum && guard_before[i].sa_handler != SIG_DFL &&
			guard_before[i].sa_handler != SIG_IGN)
			guard_before[i].sa_handler(signum);
	guard_say(GUARD_SIGNAL);
	errno = error;
}

/* The next byte; 0 when none came until @deadline_ns (monotonic; 0 = wait for ever). */
static char guard_next(int64_t deadline_ns)
{
	struct pollfd p = {.fd = guard_pipe[0], .events = POLLIN};
	char what = 0;
	for (;;) {
		int wait_ms = -1;
		const int64_t left_ns = deadline_ns - mono_now().ns;
		if (deadline_ns && left_ns <= 0)
			return 0;
		if (deadline_ns)
			wait_ms = (int)(left_ns / NS_PER_MS) + 1;
		if (poll(&p, 1, wait_ms) > 0 && read(guard_pipe[0], &what, 1) == 1)
			return what;
	}
}

static void guard_leave(bool pool)
{
	if (pool) {
		log_warn("agent",
			"a thread that looks up a name, reads a file or shakes hands with a device "
			"did not end within %d s: leaving without it; everything is stored",
			(int)(STOP_GUARD_POOL_NS / NS_PER_S));
		_exit(0);
	}
	log_error("agent",
		"the stop hangs, on a disk that does not answer or a machine that has no time: "
		"leaving; what was committed stays");
	_exit(1);
}

static void *guard_main(void *arg)
{
	int64_t deadline_ns = 0;
	bool pool = false;
	for (;;) {
		const char what = guard_next(deadline_ns);
		if (what == GUARD_DONE)
			return NULL;
		if (what == GUARD_SIGNAL && !deadline_ns)
			deadline_ns = mono_now().ns + STOP_GUARD_START_NS;
		if (what == GUARD_STOPPING)
			deadline_ns = mono_now().ns + STOP_GUARD_STOP_NS;
		if (what == GUARD_POOL)
			deadline_ns = mono_now().ns + STOP_GUARD_POOL_NS;
		pool |= what == GUARD_POOL;
		if (what == 0)
			guard_leave(pool);
	}
}

int stop_guard_start(void)
{
	sigset_t all, before;
	const struct sigaction action = {.sa_handler = guard_on_signal, .sa_flags = SA_RESTART};
	if (pipe2(guard_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const int r = -pthread_create(&guard_thread, NULL, guard_main, NULL);
	for (size_t i = 0; r == 0 && i < rw_countof(guard_signals); i++)
		sigaction(guard_signals[i], &action, &guard_before[i]);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	guard_runs = guard_armed = r == 0;
	return r;
}

void stop_guard_stopping(void)
{
	guard_say(GUARD_STOPPING);
}

static void guard_disarm(void)
{
	for (size_t i = 0; guard_armed && i < rw_countof(guard_signals); i++)
		sigaction(guard_signals[i], &guard_before[i], NULL);
	guard_armed = false;
}

void stop_guard_pool(void)
{
	guard_disarm();
	guard_say(GUARD_POOL);
}

void stop_guard_done(void)
{
	if (!guard_runs)
		return;
	guard_disarm();
	guard_say(GUARD_DONE);
	pthread_join(guard_thread, NULL);
	guard_runs = false;
	close(guard_pipe[0]);
	close(guard_pipe[1]);
	guard_pipe[0] = guard_pipe[1] = -1;
}

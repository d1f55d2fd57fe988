/* process - programs, a thread that runs by slices, and network namespaces. */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"

/* netns - enters a network namespace and returns from it (setns(2)). */

int netns_enter(const char *name, int *ret_back, struct err *e)
{
	*ret_back = -1;
	if (!name)
		return 0;

	char path[512];
	snprintf(path, sizeof(path), "%s%s", str_if(!strchr(name, '/'), "/run/netns/"), name);
	rw_cleanup(closep) int there = open(path, O_RDONLY | O_CLOEXEC);
	if (there < 0 && errno == ENOENT)
		return err_set(e, -ENODEV, "network namespace %s does not exist (%s)", name, path);
	if (there < 0)
		return err_set(e, -errno, "cannot open network namespace %s (%s): %s", name, path,
			strerror(errno));

	int back = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (back < 0)
		return err_set(
			e, -errno, "cannot open our own network namespace: %s", strerror(errno));
	if (setns(there, CLONE_NEWNET) < 0) {
		const int code = -errno;
		close(back);
		if (code == -ENOSYS) /* the sandbox of an agent that began without namespaces */
			return err_set(e, code,
				"cannot enter network namespace %s: none was configured when the "
				"agent started; restart it",
				name);
		return err_set(e, code, "cannot enter network namespace %s: %s%s", name,
			strerror(-code), str_if(code == -EPERM, " (needs CAP_SYS_ADMIN)"));
	}
	*ret_back = back;
	return 0;
}

void netns_leave(int back)
{
	if (back < 0)
		return;
	if (setns(back, CLONE_NEWNET) < 0) {
		log_error("netns", "cannot return to the agent's network namespace: %s",
			strerror(errno));
		abort();
	}
	close(back);
}

/* spawn - posix_spawn with what all callers want alike. */

#define SPAWN_FLAGS (POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK)

void spawn_begin(struct spawn *spawn)
{
	sigset_t none, all;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&spawn->files);
	posix_spawnattr_init(&spawn->attributes);
	posix_spawnattr_setflags(&spawn->attributes, SPAWN_FLAGS);
	posix_spawnattr_setsigdefault(&spawn->attributes, &all);
	posix_spawnattr_setsigmask(&spawn->attributes, &none);
}

void spawn_own_group(struct spawn *spawn)
{
	posix_spawnattr_setflags(&spawn->attributes, SPAWN_FLAGS | POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setpgroup(&spawn->attributes, 0);
}

int spawn_run(struct spawn *spawn, pid_t *ret_pid, const char *program, char *const *argv,
	char *const *environment)
{
	/* after the caller's own: what it duplicates is still open here */
	posix_spawn_file_actions_addclosefrom_np(&spawn->files, STDERR_FILENO + 1);
	const int rc =
		posix_spawn(ret_pid, program, &spawn->files, &spawn->attributes, argv, environment);
	posix_spawnattr_destroy(&spawn->attributes);
	posix_spawn_file_actions_destroy(&spawn->files);
	return -rc;
}

/* path_answers - asks a child, which is left behind when it does not end. */

enum { LOOK_MS = 3000, LOOK_AGAIN_MS = 500, HELD_MAX = 16 };

static struct {
	pthread_mutex_t lock;
	pid_t pids[HELD_MAX]; /* children that did not come back */
	size_t n;
	bool off;
} held = {.lock = PTHREAD_MUTEX_INITIALIZER};

void path_ask_nobody(void)
{
	pthread_mutex_lock(&held.lock);
	held.off = true;
	pthread_mutex_unlock(&held.lock);
}

/* How long to wait for the next one; -1: not to be asked, there are HELD_MAX. */
static int look_patience(void)
{
	size_t kept = 0;
	for (size_t i = 0; i < held.n; i++)
		if (waitpid(held.pids[i], NULL, WNOHANG) == 0)
			held.pids[kept++] = held.pids[i];
	held.n = kept;
	if (held.n == HELD_MAX)
		return -1;
	return held.n > 0 ? LOOK_AGAIN_MS : LOOK_MS;
}

/* In the child: system calls alone. Its end is the answer, which the parent sees by @told. */
static void look_at(const char *path, int told)
{
	struct stat st;
	char some[512];
	if (dup2(told, STDIN_FILENO) < 0)
		_exit(0);
	close_range(STDIN_FILENO + 1, ~0U, 0); /* nobody waits for the end of our output */
	if (stat(path, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		_exit(0);
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0 && S_ISDIR(st.st_mode))
		(void)syscall(SYS_getdents64, fd, some, sizeof(some));
	else if (fd >= 0 && read(fd, some, 1) < 0)
		_exit(0);
	_exit(0);
}

/* True when @fd is at its end before @patience_ms have passed. */
static bool look_ended(int fd, int patience_ms)
{
	struct pollfd end = {.fd = fd, .events = POLLIN};
	const int64_t until_ns = mono_now().ns + patience_ms * NS_PER_MS;
	int64_t left_ns = patience_ms * NS_PER_MS;
	while (left_ns > 0) {
		const int n = poll(&end, 1, (int)(left_ns / NS_PER_MS) + 1);
		if (n != 0 && (n > 0 || errno != EINTR))
			return true;
		left_ns = until_ns - mono_now().ns;
	}
	return false;
}

static bool look_returns(const char *path)
{
	int ends[2];
	const int patience_ms = look_patience();
	if (patience_ms < 0)
		return false;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return true;
	const pid_t pid = _Fork(); /* runs no handler of a library: the child calls none */
	if (pid == 0)
		look_at(path, ends[1]);
	close(ends[1]);
	const bool ended = pid < 0 || look_ended(ends[0], patience_ms);
	close(ends[0]);
	if (pid > 0 && ended)
		waitpid(pid, NULL, 0);
	if (ended)
		return true;
	kill(pid, SIGKILL);
	held.pids[held.n++] = pid;
	return false;
}

int path_answers(const char *path, struct err *e)
{
	static const char *const own[] = {"/proc/", "/sys/"};
	for (size_t i = 0; i < rw_countof(own); i++)
		if (strncmp(path, own[i], strlen(own[i])) == 0)
			return 0;
	pthread_mutex_lock(&held.lock);
	const bool returns = held.off || look_returns(path);
	pthread_mutex_unlock(&held.lock);
	if (returns)
		return 0;
	return err_at(e, -ETIMEDOUT, path, 0, 0,
		"does not answer: is it on a mount whose server is away (findmnt --target shows "
		"it)?");
}

/* slice - a thread that runs only while slice_run() waits for it. */

enum slice_turn { TURN_OWNER, TURN_WORK, TURN_END };

struct slice {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t turned;
	enum slice_turn turn;
	slice_fn *fn; /* NULL: nothing is under way */
	void *arg;
	int64_t until_ns; /* of the slice */
};

/* With the mutex held: @turn is the other's now; returns when it is ours again. */
static void slice_hand_over(struct slice *slice, enum slice_turn turn)
{
	const enum slice_turn ours = slice->turn;
	slice->turn = turn;
	pthread_cond_broadcast(&slice->turned);
	while (slice->turn != ours && slice->turn != TURN_END)
		pthread_cond_wait(&slice->turned, &slice->mutex);
}

static void *slice_main(void *arg)
{
	struct slice *slice = arg;
	pthread_mutex_lock(&slice->mutex);
	while (slice->turn == TURN_OWNER)
		pthread_cond_wait(&slice->turned, &slice->mutex);
	while (slice->turn == TURN_WORK) {
		slice_fn *fn = slice->fn;
		pthread_mutex_unlock(&slice->mutex);
		fn(slice->arg);
		pthread_mutex_lock(&slice->mutex);
		slice->fn = NULL;
		slice_hand_over(slice, TURN_OWNER);
	}
	pthread_mutex_unlock(&slice->mutex);
	return NULL;
}

struct slice *slice_new(void)
{
	sigset_t all, before;
	struct slice *slice = rw_calloc(1, sizeof(*slice));
	pthread_mutex_init(&slice->mutex, NULL);
	pthread_cond_init(&slice->turned, NULL);
	sigfillset(&all); /* signals are the loop thread's */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const bool made = pthread_create(&slice->thread, NULL, slice_main, slice) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (made)
		return slice;
	pthread_cond_destroy(&slice->turned);
	pthread_mutex_destroy(&slice->mutex);
	free(slice);
	return NULL;
}

void slice_free(struct slice *slice)
{
	if (!slice)
		return;
	pthread_mutex_lock(&slice->mutex);
	slice->turn = TURN_END;
	pthread_cond_broadcast(&slice->turned);
	pthread_mutex_unlock(&slice->mutex);
	pthread_join(slice->thread, NULL);
	pthread_cond_destroy(&slice->turned);
	pthread_mutex_destroy(&slice->mutex);
	free(slice);
}

void slice_begin(struct slice *slice, slice_fn *fn, void *arg)
{
	slice->fn = fn;
	slice->arg = arg;
}

bool slice_run(struct slice *slice, int64_t budget_ns)
{
	pthread_mutex_lock(&slice->mutex);
	const int64_t now_ns = mono_now().ns;
	slice->until_ns = INT64_MAX;
	if (budget_ns < INT64_MAX - now_ns)
		slice->until_ns = now_ns + budget_ns;
	slice_hand_over(slice, TURN_WORK);
	const bool ended = !slice->fn;
	pthread_mutex_unlock(&slice->mutex);
	return ended;
}

void slice_pause(struct slice *slice)
{
	if (!pthread_equal(pthread_self(), slice->thread) || mono_now().ns < slice->until_ns)
		return;
	pthread_mutex_lock(&slice->mutex);
	slice_hand_over(slice, TURN_OWNER);
	pthread_mutex_unlock(&slice->mutex);
}

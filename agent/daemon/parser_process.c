/* parser_process - posix_spawn with one end of a socket pair, and a pidfd that says when it ended.
 */
#include "agent/daemon/parser_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "agent/base/cleanup.h"
#include "agent/base/log.h"
#include "agent/base/loop.h"
#include "agent/base/spawn.h"
#include "agent/base/str.h"
#include "agent/daemon/privilege.h"

#define OOM_SCORE 500 /* of 1000 */
#define STEP_MS 5 /* between two looks, where the kernel has no pidfd */

extern char **environ;

struct parser_process {
	pid_t pid;
	int pidfd; /* -1 = the kernel has none: the owner looks from time to time */
	struct loop_fd *watch;
	bool reaped;
	int status;
	struct parser_process_options options;
};

static void parser_process_on_end(void *arg, int events)
{
	struct parser_process *process = arg;
	loop_fd_events(process->watch, 0);
	process->options.ended(process->options.arg);
}

bool parser_process_reap(struct parser_process *process, int *ret_status)
{
	pid_t got;
	if (!process->reaped) {
		do
			got = waitpid(process->pid, &process->status, WNOHANG);
		while (got < 0 && errno == EINTR);
		process->reaped = got != 0;
	}
	*ret_status = process->status;
	return process->reaped;
}

bool parser_process_wait(struct parser_process *process, int ms, int *ret_status)
{
	const int64_t until_ns = mono_now().ns + ms * NS_PER_MS;
	while (!parser_process_reap(process, ret_status)) {
		struct pollfd p = {.fd = process->pidfd, .events = POLLIN};
		const int64_t left_ns = until_ns - mono_now().ns;
		int wait_ms = STEP_MS;
		if (left_ns <= 0)
			return false;
		if (process->pidfd >= 0)
			wait_ms = (int)(left_ns / NS_PER_MS) + 1;
		poll(&p, 1, wait_ms);
	}
	return true;
}

void parser_process_kill(struct parser_process *process)
{
	if (!process->reaped)
		kill(process->pid, SIGKILL);
}

pid_t parser_process_pid(const struct parser_process *process)
{
	return process->pid;
}

/* A child has the score of its parent at its birth. proc(5): who raised it may go back to what it
 * was. */
static int oom_score = -1; /* /proc/self/oom_score_adj of the agent */

void parser_process_prepare(void)
{
	if (oom_score < 0)
		oom_score = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
}

static void parser_process_score(int score)
{
	char text[16];
	const int n = snprintf(text, sizeof(text), "%d", score);
	if (oom_score >= 0 && pwrite(oom_score, text, (size_t)n, 0) < 0)
		log_debug("parser", "oom_score_adj %d: %s", score, strerror(errno));
}

static int parser_process_own_score(void)
{
	char text[16] = "";
	if (oom_score < 0 || pread(oom_score, text, sizeof(text) - 1, 0) < 0)
		return 0;
	return atoi(text);
}

/* A secret may stand in a variable: the parser gets none of them. Who preloads a library to look
 * into a process, or to set its clock, wants it there too, with its settings. */
static char **parser_process_environment(char *only[2])
{
	static char zone[128];
	if (getenv("LD_PRELOAD") || getenv("ASAN_OPTIONS"))
		return environ;
	only[0] = only[1] = NULL;
	if (getenv("TZ")) {
		snprintf(zone, sizeof(zone), "TZ=%s", getenv("TZ"));
		only[0] = zone;
	}
	return only;
}

static int parser_process_spawn(struct parser_process *process, int channel)
{
	const char *program = str_or(process->options.program, "/proc/self/exe");
	char name[] = "rocewatch", word[] = "parser";
	char *const argv[] = {name, word, NULL};
	char *only[2];
	char **environment = parser_process_environment(only);
	struct spawn spawn;
	spawn_begin(&spawn);
	posix_spawn_file_actions_adddup2(&spawn.files, channel, STDIN_FILENO);
	posix_spawn_file_actions_addopen(&spawn.files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	const int own_score = parser_process_own_score();
	parser_process_score(OOM_SCORE);
	privilege_lend(process->options.lend_raw, process->options.lend_netns);
	const int rc = spawn_run(&spawn, &process->pid, program, argv, environment);
	privilege_lend(false, false);
	parser_process_score(own_score);
	return rc;
}

int parser_process_start(struct loop *loop, const struct parser_process_options *options,
	struct parser_process **ret, int *ret_fd)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	struct parser_process *p = rw_calloc(1, sizeof(*p));
	p->options = *options;
	p->pidfd = -1;
	const int rc = parser_process_spawn(p, ends[1]);
	close(ends[1]);
	if (rc < 0) {
		close(ends[0]);
		free(p);
		return rc;
	}
	p->pidfd = pidfd_open(p->pid, 0);
	if (p->pidfd >= 0)
		p->watch = loop_fd_new(loop, p->pidfd, LOOP_READ, parser_process_on_end, p);
	*ret = p;
	*ret_fd = ends[0];
	return 0;
}

void parser_process_free(struct parser_process *process)
{
	int status;
	if (!process)
		return;
	parser_process_kill(process);
	while (!parser_process_wait(process, 1000, &status))
		continue;
	loop_fd_free(process->watch);
	if (process->pidfd >= 0)
		close(process->pidfd);
	free(process);
}

/* part_run - starts a program with its output in files without a name, and waits. */
#include "agent/support/part_run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/spawn.h"

enum { LOOK_MS = 50 };

static const char *part_program(const char *name, char *buf, size_t size)
{
	static const char *const places[] = {"/usr/bin", "/bin"};
	if (strchr(name, '/'))
		return name;
	for (size_t i = 0; i < rw_countof(places); i++)
		if (snprintf(buf, size, "%s/%s", places[i], name) < (int)size &&
			access(buf, X_OK) == 0)
			return buf;
	return NULL;
}

static int64_t part_size(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 ? (int64_t)st.st_size : 0;
}

/* Why the program must end now; NULL: it may go on. */
static const char *part_over(const struct part_limits *limits, mono_t begun, int out, int err)
{
	struct stat st;
	if (mono_now().ns - begun.ns > limits->time_ns)
		return "it took too long";
	if (part_size(out) > 4 * (int64_t)limits->bytes || part_size(err) > (64 << 20))
		return "it printed too much";
	if (limits->watched && stat(limits->watched, &st) == 0 &&
		st.st_size > limits->watched_bytes)
		return "its file grew too large";
	return NULL;
}

static void part_read(int fd, size_t most, struct str *out)
{
	char buf[65536];
	str_add(out, "");
	if (lseek(fd, 0, SEEK_SET) < 0)
		return;
	for (ssize_t n; out->n < most && (n = read(fd, buf, sizeof(buf))) > 0;)
		str_addn(out, buf, (size_t)n < most - out->n ? (size_t)n : most - out->n);
}

static void part_wait(
	pid_t pid, const struct part_limits *limits, int out, int err, struct part_output *ret)
{
	const mono_t begun = mono_now();
	const int watch = pidfd_open(pid, 0);
	int status = 0;
	ret->exit = -1;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		struct pollfd p = {.fd = watch, .events = POLLIN};
		ret->why = part_over(limits, begun, out, err);
		if (ret->why) {
			kill(-pid, SIGKILL);
			waitpid(pid, &status, 0);
			break;
		}
		poll(&p, watch >= 0, LOOK_MS);
	}
	if (watch >= 0)
		close(watch);
	if (!ret->why && WIFEXITED(status))
		ret->exit = WEXITSTATUS(status);
	else if (!ret->why)
		ret->why = "it crashed";
}

int part_run(const char *const *argv, const struct part_limits *limits, struct part_output *ret)
{
	char path[512];
	struct spawn spawn;
	pid_t pid;
	*ret = (struct part_output){0};
	const char *program = part_program(argv[0], path, sizeof(path));
	if (!program)
		return -ENOENT;
	rw_cleanup(fclosep) FILE *out = tmpfile(), *err = tmpfile();
	if (!out || !err)
		return -errno;
	spawn_begin(&spawn);
	spawn_own_group(&spawn);
	posix_spawn_file_actions_addopen(&spawn.files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&spawn.files, fileno(out), STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&spawn.files, fileno(err), STDERR_FILENO);
	const int rc = spawn_run(&spawn, &pid, program, (char *const *)(uintptr_t)argv, environ);
	if (rc != 0)
		return rc;
	part_wait(pid, limits, fileno(out), fileno(err), ret);
	part_read(fileno(out), limits->bytes, &ret->out);
	part_read(fileno(err), limits->bytes, &ret->err);
	return 0;
}

void part_output_done(struct part_output *output)
{
	str_done(&output->out);
	str_done(&output->err);
}

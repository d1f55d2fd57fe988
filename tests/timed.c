/*
 * timed NAME PROGRAM [ARGUMENT...] - runs a test, and ends as it ends. With $RW_TEST_TIMES, a line
 * is added to that file: name, seconds by the clock, CPU seconds of the user and of the system,
 * largest resident set of one process in KiB, exit code. `scripts/test --times` makes a table of
 * them.
 *
 * The CPU time is that of the program and of all that it and its children have waited for.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* One write: tests that end together do not mix their lines. */
static void note_times(const char *path, const char *name, double wall_s, int status)
{
	struct rusage use;
	char line[512];
	const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	getrusage(RUSAGE_CHILDREN, &use);
	const int n = snprintf(line, sizeof(line), "%s\t%.3f\t%.3f\t%.3f\t%ld\t%d\n", name, wall_s,
		seconds_of(use.ru_utime), seconds_of(use.ru_stime), use.ru_maxrss, status);
	if (n > 0 && write(fd, line, (size_t)n) < n)
		fprintf(stderr, "timed: %s: %s\n", path, strerror(errno));
	close(fd);
}

/* The signal of the child becomes ours: ctest tells a crash from a failure. */
static int end_as(int status)
{
	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	const char *path = getenv("RW_TEST_TIMES");
	int status = 0;
	if (argc < 3) {
		fprintf(stderr, "usage: timed NAME PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	if (!path) {
		execvp(argv[2], argv + 2);
		fprintf(stderr, "timed: %s: %s\n", argv[2], strerror(errno));
		return 127;
	}
	const double begin = seconds_now();
	const pid_t child = fork();
	if (child == 0) {
		execvp(argv[2], argv + 2);
		fprintf(stderr, "timed: %s: %s\n", argv[2], strerror(errno));
		_exit(127);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return 127;
	note_times(path, argv[1], seconds_now() - begin, WEXITSTATUS(status));
	return end_as(status);
}

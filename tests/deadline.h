/*
 * deadline - a call that a fault could keep waiting for ever ends the test program instead, and
 * says what was waited for. Between deadline_begin() and deadline_end(); one at a time, in the
 * program's main thread.
 */
#ifndef RW_TESTS_DEADLINE_H
#define RW_TESTS_DEADLINE_H

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tests/patience.h"

#define DEADLINE_IDLE_NS (INT64_C(3) * 1000000000) /* what takes milliseconds */

static const char *deadline_what;

static inline void deadline_passed(int signal)
{
	static const char said[] = "\ngiven up, for it never came: ";
	(void)signal;
	if (write(STDERR_FILENO, said, sizeof(said) - 1) < 0 ||
		write(STDERR_FILENO, deadline_what, strlen(deadline_what)) < 0 ||
		write(STDERR_FILENO, "\n", 1) < 0)
		_exit(2);
	_exit(1);
}

/* @what is lent until deadline_end(). */
static inline void deadline_begin(const char *what)
{
	deadline_what = what;
	signal(SIGALRM, deadline_passed);
	alarm((unsigned)(patience_ns(DEADLINE_IDLE_NS) / 1000000000));
}

static inline void deadline_end(void)
{
	alarm(0);
}

#endif

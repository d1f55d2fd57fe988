/*
 * patience - how long a test waits for what has to come: the one place for limits of time, for C;
 * tests/patience.py is the same for Python.
 *
 * A limit is that of an idle machine. It is stretched by three, because a limit only decides how
 * long a failure takes to be told, and by what the machine does at this moment.
 */
#ifndef RW_TESTS_PATIENCE_H
#define RW_TESTS_PATIENCE_H

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define PATIENCE_SPARE 3

/* @ns of an idle machine, on this one, now */
static inline int64_t patience_ns(int64_t ns)
{
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);
	double load = 0;
	double busy = 1;
	if (getloadavg(&load, 1) == 1 && processors > 0)
		busy = load / (double)processors;
	if (busy < 1)
		busy = 1;
	return (int64_t)((double)(PATIENCE_SPARE * ns) * busy);
}

#endif

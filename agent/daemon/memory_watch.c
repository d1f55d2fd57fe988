/* memory_watch - reads what the kernel counts about want of memory, and says what is new. */
#include "agent/daemon/memory_watch.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/str.h"

#define FILE_MAX 2048
#define STALLED_RATIO 0.2 /* of the time: then the loop is late as well */
#define SAY_EVERY_NS (600 * NS_PER_S)

const char *const memory_count_names[MEMORY_COUNTS] = {
	[MEMORY_HIGH] = "high",
	[MEMORY_MAX] = "max",
	[MEMORY_OOM] = "oom",
	[MEMORY_OOM_KILL] = "oom_kill",
};

static const char *const memory_words[MEMORY_COUNTS] = {
	[MEMORY_HIGH] = "held back at MemoryHigh",
	[MEMORY_MAX] = "at its limit, MemoryMax",
	[MEMORY_OOM] = "out of memory",
	[MEMORY_OOM_KILL] = "a process of it was ended by the kernel",
};

struct memory_watch {
	int events, pressure; /* descriptors; -1 = there is no such file */
	uint64_t first[MEMORY_COUNTS], said[MEMORY_COUNTS];
	bool begun;
	mono_t said_at;
	struct memory_counts counts;
};

/* ---- the files ----------------------------------------------------------- */

static int memory_open(const char *root, const char *group, const char *name)
{
	rw_cleanup(str_done) struct str path = {0};
	str_addf(&path, "%s%s/%s", root, group, name);
	return open(path.s, O_RDONLY | O_CLOEXEC);
}

/* Our control group is the line "0::/PATH" of /proc/self/cgroup, cgroups(7). */
static void memory_group(const char *proc, struct str *out)
{
	rw_cleanup(str_done) struct str path = {0};
	rw_cleanup(freep) char *text = NULL;
	struct err e;
	size_t n;
	str_addf(&path, "%s/self/cgroup", proc);
	if (str_read_file(path.s, FILE_MAX, &text, &n, &e) < 0)
		return;
	const char *line = strstr(text, "0::/");
	if (line && strcspn(line, "\n") > strlen("0::/"))
		str_addn(out, line + 3, strcspn(line + 3, "\n"));
}

static bool memory_read(int fd, char *buf, size_t size)
{
	if (fd < 0)
		return false;
	const ssize_t n = pread(fd, buf, size - 1, 0);
	if (n < 0)
		return false;
	buf[n] = '\0';
	return true;
}

/* The number behind "NAME " at the beginning of a line; 0 when there is none. */
static uint64_t memory_number(const char *text, const char *name)
{
	const size_t n = strlen(name);
	for (const char *at = text; at && *at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, name, n) == 0 && at[n] == ' ')
			return strtoull(at + n + 1, NULL, 10);
	}
	return 0;
}

/* "some avg10=1.23 ..." in percent. */
static double memory_stalled(const char *text)
{
	const char *at = strstr(text, "some avg10=");
	char *end;
	if (!at)
		return NAN;
	at += strlen("some avg10=");
	const double percent = strtod(at, &end);
	if (end == at)
		return NAN;
	return percent / 100;
}

/* ---- the watch ----------------------------------------------------------- */

static void memory_count(struct memory_watch *watch)
{
	char text[FILE_MAX];
	watch->counts.stalled_ratio = NAN;
	if (memory_read(watch->pressure, text, sizeof(text)))
		watch->counts.stalled_ratio = memory_stalled(text);
	if (!memory_read(watch->events, text, sizeof(text)))
		return;
	for (unsigned i = 0; i < MEMORY_COUNTS; i++) {
		const uint64_t n = memory_number(text, memory_count_names[i]);
		if (!watch->begun)
			watch->first[i] = n;
		watch->counts.n[i] = n - watch->first[i];
	}
	watch->begun = true;
	watch->counts.counted = true;
}

struct memory_watch *memory_watch_new(const char *cgroup, const char *proc)
{
	struct memory_watch *watch = rw_calloc(1, sizeof(*watch));
	rw_cleanup(str_done) struct str group = {0};
	memory_group(proc, &group);
	watch->events = memory_open(cgroup, str_or(group.s, ""), "memory.events");
	watch->pressure = memory_open(cgroup, str_or(group.s, ""), "memory.pressure");
	if (watch->pressure < 0)
		watch->pressure = memory_open(proc, "/pressure", "memory");
	memory_count(watch);
	return watch;
}

void memory_watch_free(struct memory_watch *watch)
{
	if (!watch)
		return;
	if (watch->events >= 0)
		close(watch->events);
	if (watch->pressure >= 0)
		close(watch->pressure);
	free(watch);
}

bool memory_watch_look(struct memory_watch *watch, mono_t now, char *what, size_t size)
{
	rw_cleanup(str_done) struct str text = {0};
	if (!watch)
		return false;
	memory_count(watch);
	if (watch->said_at.ns != 0 && now.ns - watch->said_at.ns < SAY_EVERY_NS)
		return false;
	const struct memory_counts *counts = &watch->counts;
	for (unsigned i = 0; i < MEMORY_COUNTS; i++)
		if (counts->n[i] > watch->said[i])
			str_addf(&text, "%s%s (%llu times)", str_if(text.n > 0, ", "),
				memory_words[i],
				(unsigned long long)(counts->n[i] - watch->said[i]));
	if (counts->stalled_ratio >= STALLED_RATIO)
		str_addf(&text, "%s%.0f %% of the last 10 s were spent waiting for memory",
			str_if(text.n > 0, ", "), 100 * counts->stalled_ratio);
	if (text.n == 0)
		return false;
	memcpy(watch->said, counts->n, sizeof(watch->said));
	watch->said_at = now;
	snprintf(what, size, "memory is short: %s", text.s);
	return true;
}

const struct memory_counts *memory_watch_counts(const struct memory_watch *watch)
{
	if (!watch || (watch->events < 0 && watch->pressure < 0))
		return NULL;
	return &watch->counts;
}

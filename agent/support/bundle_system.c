/* bundle_system - what the kernel says. */
#include "agent/support/bundle_system.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/err.h"
#include "agent/base/number.h"
#include "agent/base/str.h"
#include "db/store/store_state.h"

enum { FILE_MOST = 16384 };

static void add_file(struct str *out, const char *path)
{
	rw_cleanup(freep) char *text = NULL;
	size_t n = 0;
	struct err e = {0};
	str_addf(out, "\n== %s\n", path);
	if (str_read_file(path, FILE_MOST, &text, &n, &e) == 0)
		str_add(out, text);
	else
		str_addf(out, "not read: %s\n", e.text);
}

static void add_disk(struct str *out, const char *path)
{
	struct statvfs disk;
	if (statvfs(path, &disk) != 0) {
		str_addf(out, "disk of %s: %s\n", path, strerror(errno));
		return;
	}
	const double block = (double)disk.f_frsize;
	str_addf(out, "disk of %s: %s free of %s, %s inodes free\n", path,
		number_size((double)disk.f_bavail * block).s,
		number_size((double)disk.f_blocks * block).s, number_count(disk.f_favail).s);
}

static void add_store_files(struct str *out, const char *db_path)
{
	static const char *const ends[] = {"", "-wal", "-shm", ".lock", ".state"};
	for (size_t i = 0; i < rw_countof(ends); i++) {
		rw_cleanup(str_done) struct str path = {0};
		struct stat st;
		str_addf(&path, "%s%s", db_path, ends[i]);
		if (stat(path.s, &st) != 0)
			str_addf(out, "%s: %s\n", path.s, strerror(errno));
		else
			str_addf(out, "%s: %s bytes, mode %04o, owner %u:%u\n", path.s,
				number_count((uint64_t)st.st_size).s, (unsigned)st.st_mode & 07777,
				(unsigned)st.st_uid, (unsigned)st.st_gid);
	}
}

static void add_store_state(struct str *out, const char *db_path)
{
	static const char *const stages[] = {"stopped", "writing", "waiting"};
	struct store_state state;
	char text[WALL_TEXT_MAX];
	const int rc = store_state_read(db_path, &state);
	if (rc != 0) {
		str_addf(out, "state file of the store: %s\n", strerror(-rc));
		return;
	}
	str_addf(out, "state file of the store: agent %s, pid %d, %s since %s",
		state.running ? "running" : "not running", state.pid, stages[state.stage],
		wall_text(text, (wall_t){state.since_ns}, 0));
	str_addf(out, ", written %s", wall_text(text, (wall_t){state.beat_ns}, 0));
	str_addf(out, ", %s samples wait, %s dropped%s%s\n", number_count(state.pending).s,
		number_count(state.dropped).s, str_if(*state.reason, ": "), state.reason);
}

static void add_clock(struct str *out)
{
	struct timex clock = {0};
	char text[WALL_TEXT_MAX];
	const int state = adjtimex(&clock);
	str_addf(out, "time: %s\n", wall_text(text, wall_now(), 0));
	str_addf(out, "clock: %s, offset %ld %s, largest error %ld us\n",
		state == TIME_ERROR || (clock.status & STA_UNSYNC) ? "not synchronized"
								   : "synchronized",
		clock.offset, clock.status & STA_NANO ? "ns" : "us", clock.maxerror);
}

void bundle_system_add(struct str *out, const char *db_path)
{
	struct utsname name;
	if (uname(&name) == 0)
		str_addf(out, "kernel: %s %s %s %s\n", name.sysname, name.release, name.version,
			name.machine);
	str_addf(out, "rocewatch: " RW_VERSION ", built with %s\n", __VERSION__);
	str_addf(out, "C library: %s\n", gnu_get_libc_version());
	str_addf(out, "processors: %ld\n", sysconf(_SC_NPROCESSORS_ONLN));
	str_addf(out, "this command runs as uid %u, gid %u\n", (unsigned)getuid(),
		(unsigned)getgid());
	add_clock(out);
	if (db_path) {
		rw_cleanup(str_done) struct str dir = {0};
		const char *slash = strrchr(db_path, '/');
		str_addn(&dir, slash ? db_path : ".", slash ? (size_t)(slash - db_path) + 1 : 1);
		add_disk(out, dir.s);
		add_store_files(out, db_path);
		add_store_state(out, db_path);
	}
	add_disk(out, "/tmp");
	add_file(out, "/etc/os-release");
	add_file(out, "/proc/meminfo");
	add_file(out, "/proc/self/limits");
	add_file(out, "/proc/self/cgroup");
	add_file(out, "/proc/loadavg");
	add_file(out, "/proc/uptime");
	add_file(out, "/proc/sys/net/core/rmem_max");
}

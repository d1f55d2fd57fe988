/* store_holders - reads /proc/locks: one line for each lock, with its process and its file. */
#include "db/sqlite/store_holders.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/base/text_clean.h"

#define HOLDERS_MAX 4 /* named; more are not needed to know what to do */
/* The bytes of a -shm file that SQLite locks (https://www.sqlite.org/walformat.html, "WAL Locks"):
 * 120 to 127; 128 says only that the file is open. */
#define SHM_LOCK_FIRST 120
#define SHM_LOCK_LAST 127

struct held {
	int pid;
	unsigned major, minor;
	uint64_t inode, first;
};

/* "1: POSIX  ADVISORY  READ 1234 fe:01:5678 123 123"; a waiting one has "->" behind the number. */
static bool held_parse(const char *line, struct held *ret)
{
	const char *at = strchr(line, ':');

	if (!at || strstr(line, "->"))
		return false;
	return sscanf(at + 1, "%*s %*s %*s %d %x:%x:%" SCNu64 " %" SCNu64, &ret->pid, &ret->major,
		       &ret->minor, &ret->inode, &ret->first) == 5;
}

static void holder_add(struct str *out, int pid)
{
	char path[64], name[64] = "", clean[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	FILE *f = fopen(path, "re");
	if (f) {
		if (fgets(name, sizeof(name), f))
			text_clean(clean, sizeof(clean), name, strcspn(name, "\n"));
		fclose(f);
	}
	if (out->n > 0)
		str_add(out, ", ");
	str_addf(out, "pid %d", pid);
	if (*clean)
		str_addf(out, " (%s)", clean);
}

static bool holder_is_new(int *pids, size_t *n, int pid)
{
	for (size_t i = 0; i < *n; i++)
		if (pids[i] == pid)
			return false;
	pids[(*n)++] = pid;
	return true;
}

void store_holders_text(const char *path, const char *suffix, struct str *out)
{
	rw_cleanup(str_done) struct str name = {0};
	char line[256];
	struct stat st;
	struct held held;
	int pids[HOLDERS_MAX];
	size_t n = 0;

	str_addf(&name, "%s%s", path, suffix);
	if (stat(name.s, &st) < 0)
		return;
	FILE *f = fopen("/proc/locks", "re");
	if (!f)
		return;
	while (n < HOLDERS_MAX && fgets(line, sizeof(line), f)) {
		if (!held_parse(line, &held) || held.pid <= 0 || held.pid == getpid())
			continue;
		if (held.inode != st.st_ino || held.major != major(st.st_dev) ||
			held.minor != minor(st.st_dev))
			continue;
		if (*suffix && (held.first < SHM_LOCK_FIRST || held.first > SHM_LOCK_LAST))
			continue;
		if (holder_is_new(pids, &n, held.pid))
			holder_add(out, held.pid);
	}
	fclose(f);
}

/* store_state - lines of "key value" in one block, with the same number in the first and the last
 * line, by which a reader sees that it did not read half of each of two states. */
#include "db/store/store_state.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STATE_BYTES 4096
#define STATE_TRIES 5 /* of a reader that meets a writer */

static const char *const stage_names[] = {
	[STAGE_STOPPED] = "stopped",
	[STAGE_WRITING] = "writing",
	[STAGE_WAITING] = "waiting",
};

int64_t store_state_boot_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* The file goes with the database, whichever of its names was given. */
static int state_file(const char *path, int flags)
{
	char name[PATH_MAX + 8];
	rw_cleanup(freep) char *real = realpath(path, NULL);
	const int n = snprintf(name, sizeof(name), "%s.state", str_or(real, path));

	if (n < 0 || (size_t)n >= sizeof(name))
		return -ENAMETOOLONG;
	const int fd = open(name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640);
	if (fd < 0)
		return -errno;
	return fd;
}

/* Does another open file hold the writer's lock? */
static bool state_locked(int fd)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
}

/* A lock of the open file: closing another descriptor of it does not drop it. A reader that holds a
 * shared lock can prevent it; then the beat alone tells. -EBUSY: another agent holds it. */
static int state_lock(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};

	if (fcntl(fd, F_OFD_SETLK, &lock) < 0 && state_locked(fd))
		return -EBUSY;
	return 0;
}

int store_state_open(const char *path)
{
	const int fd = state_file(path, O_RDWR | O_CREAT);

	if (fd < 0)
		return fd;
	if (fchmod(fd, 0640) < 0) {
		/* another user's, or a file system without modes */
	}
	return fd;
}

/* ---- writing ------------------------------------------------------------- */

int store_state_put(int fd, const struct store_state *state)
{
	char block[STATE_BYTES], reason[sizeof(state->reason)];
	struct stat st;

	text_clean(reason, sizeof(reason), state->reason, strlen(state->reason));
	memset(block, ' ', sizeof(block));
	const int n = snprintf(block, sizeof(block),
		"rocewatch-state %" PRId64 "\npid %d\nstage %s\nbeat_ns %" PRId64
		"\nsince_ns %" PRId64 "\npending %" PRIu64 "\ndropped %" PRIu64
		"\nnewest_ns %" PRId64 "\nreason %s\nend %" PRId64 "\n",
		state->beat_boot_ns, state->pid, stage_names[state->stage], state->beat_ns,
		state->since_ns, state->pending, state->dropped, state->newest_ns, reason,
		state->beat_boot_ns);
	block[n] = ' ';
	block[sizeof(block) - 1] = '\n';
	if (fstat(fd, &st) == 0 && st.st_nlink == 0)
		return -ENOENT; /* somebody deleted it: it is to be made anew */
	if (state_lock(fd) < 0)
		return -EBUSY;
	const ssize_t written = pwrite(fd, block, sizeof(block), 0);
	if (written == (ssize_t)sizeof(block))
		return 0;
	if (written < 0)
		return -errno;
	return -ENOSPC;
}

/* ---- reading ------------------------------------------------------------- */

/* The text behind "@key " at the beginning of a line; NULL when there is none. */
static const char *state_value(const char *block, const char *key)
{
	const size_t n = strlen(key);
	for (const char *line = block; line; line = strchr(line, '\n')) {
		if (line > block || *line == '\n')
			line++;
		if (strncmp(line, key, n) == 0 && line[n] == ' ')
			return line + n + 1;
	}
	return NULL;
}

static int64_t state_number(const char *block, const char *key)
{
	const char *text = state_value(block, key);

	if (!text)
		return 0;
	return strtoll(text, NULL, 10);
}

static bool state_parse(const char *block, struct store_state *ret)
{
	const char *stage = state_value(block, "stage"), *reason = state_value(block, "reason");

	*ret = (struct store_state){0};
	if (!stage || !reason || !state_value(block, "end") ||
		state_number(block, "rocewatch-state") != state_number(block, "end"))
		return false;
	for (unsigned i = 0; i < rw_countof(stage_names); i++)
		if (strncmp(stage, stage_names[i], strlen(stage_names[i])) == 0)
			ret->stage = (enum store_stage)i;
	const int64_t pid = state_number(block, "pid");
	if (pid > 0 && pid <= INT32_MAX)
		ret->pid = (int)pid;
	ret->beat_boot_ns = state_number(block, "rocewatch-state");
	ret->beat_ns = state_number(block, "beat_ns");
	ret->since_ns = state_number(block, "since_ns");
	ret->pending = (uint64_t)state_number(block, "pending");
	ret->dropped = (uint64_t)state_number(block, "dropped");
	ret->newest_ns = state_number(block, "newest_ns");
	text_clean(ret->reason, sizeof(ret->reason), reason, strcspn(reason, "\n"));
	return true;
}

/* Somebody's shared lock can keep the writer from holding its own: then a fresh beat of a process
 * that exists says that it runs. */
static bool state_beats(const struct store_state *state)
{
	char process[32];
	const int64_t age_ns = store_state_boot_ns() - state->beat_boot_ns;

	if (state->stage == STAGE_STOPPED || state->pid <= 0)
		return false;
	if (age_ns < 0 || age_ns > STORE_STATE_LATE_NS)
		return false;
	/* not by kill(): the web server may send no signals */
	snprintf(process, sizeof(process), "/proc/%d", state->pid);
	return access(process, F_OK) == 0;
}

int store_state_read(const char *path, struct store_state *ret)
{
	char block[STATE_BYTES + 1];
	const int fd = state_file(path, O_RDONLY);
	bool whole = false;

	*ret = (struct store_state){0};
	if (fd < 0)
		return fd;
	const bool locked = state_locked(fd);
	for (int i = 0; !whole && i < STATE_TRIES; i++) {
		const ssize_t n = pread(fd, block, STATE_BYTES, 0);
		if (n < 0)
			break;
		block[n] = '\0';
		whole = state_parse(block, ret);
	}
	close(fd);
	if (!whole) /* it has just been made, or is no longer ours */
		*ret = (struct store_state){.stage = STAGE_WRITING};
	ret->running = locked || (whole && state_beats(ret));
	return 0;
}

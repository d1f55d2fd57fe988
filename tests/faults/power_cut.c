/* power_cut - see power_cut.h. */
#include "tests/faults/power_cut.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/faults/fault_vfs.h"

#define CUT_FILES 16

struct cut_write { /* not yet synced */
	int64_t at;
	size_t n;
	uint8_t *data; /* NULL: truncated to .at */
};
struct cut_file {
	char name[128];
	uint8_t *data; /* on the disk */
	size_t n, cap;
	struct cut_write *writes;
	size_t n_writes, cap_writes;
	bool exists; /* as the program sees it */
	bool named; /* the directory on the disk has it */
	bool fresh; /* its next sync syncs the directory */
};
static struct {
	struct cut_file files[CUT_FILES];
	size_t n;
	bool frozen;
	void (*synced)(void *arg);
	void *arg;
} cut;

static struct cut_file *cut_file(const char *name)
{
	for (size_t i = 0; i < cut.n; i++)
		if (strcmp(cut.files[i].name, name) == 0)
			return &cut.files[i];
	if (cut.n == CUT_FILES)
		abort();
	struct cut_file *file = &cut.files[cut.n++];
	memset(file, 0, sizeof(*file));
	snprintf(file->name, sizeof(file->name), "%s", name);
	return file;
}

static void cut_write_free(struct cut_file *file)
{
	for (size_t i = 0; i < file->n_writes; i++)
		free(file->writes[i].data);
	file->n_writes = 0;
}

/* ---- on the disk --------------------------------------------------------- */

static void cut_size(struct cut_file *file, size_t n)
{
	if (n > file->cap) {
		file->cap = n * 2;
		file->data = rw_realloc(file->data, file->cap);
	}
	if (n > file->n)
		memset(file->data + file->n, 0, n - file->n);
	file->n = n;
}

static void cut_put(struct cut_file *file, int64_t at, const void *data, size_t n)
{
	if ((size_t)at + n > file->n)
		cut_size(file, (size_t)at + n);
	memcpy(file->data + at, data, n);
}

static void cut_settle(struct cut_file *file)
{
	for (size_t i = 0; i < file->n_writes; i++) {
		const struct cut_write *write = &file->writes[i];
		if (write->data)
			cut_put(file, write->at, write->data, write->n);
		else
			cut_size(file, (size_t)write->at);
	}
	cut_write_free(file);
}

static void cut_sync_names(void)
{
	for (size_t i = 0; i < cut.n; i++) {
		cut.files[i].named = cut.files[i].exists;
		if (!cut.files[i].exists)
			cut_size(&cut.files[i], 0);
	}
}

/* ---- the observer -------------------------------------------------------- */

static void cut_opened(const char *name, int flags)
{
	const int journals = SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL;

	if (cut.frozen)
		return;
	struct cut_file *file = cut_file(name);
	file->exists = true;
	file->fresh = flags & journals;
}

static void cut_wrote(const char *name, const void *data, int n, int64_t at)
{
	if (cut.frozen)
		return;
	struct cut_file *file = cut_file(name);
	rw_grow(file->writes, file->n_writes, file->cap_writes);
	struct cut_write *write = &file->writes[file->n_writes++];
	*write = (struct cut_write){.at = at, .n = (size_t)n};
	write->data = memcpy(rw_realloc(NULL, (size_t)n), data, (size_t)n);
}

static void cut_truncated(const char *name, int64_t size)
{
	if (cut.frozen)
		return;
	struct cut_file *file = cut_file(name);
	rw_grow(file->writes, file->n_writes, file->cap_writes);
	file->writes[file->n_writes++] = (struct cut_write){.at = size};
}

static void cut_synced(const char *name)
{
	if (cut.frozen)
		return;
	struct cut_file *file = cut_file(name);
	cut_settle(file);
	if (file->fresh)
		cut_sync_names();
	file->fresh = false;
	if (cut.synced && strstr(name, "-wal"))
		cut.synced(cut.arg);
}

static void cut_deleted(const char *name, bool directory_synced)
{
	if (cut.frozen)
		return;
	struct cut_file *file = cut_file(name);
	file->exists = false;
	if (directory_synced)
		cut_sync_names();
}

static const struct fault_observer cut_observer = {
	.opened = cut_opened,
	.wrote = cut_wrote,
	.truncated = cut_truncated,
	.synced = cut_synced,
	.deleted = cut_deleted,
};

void power_cut_begin(void (*synced)(void *arg), void *arg)
{
	power_cut_end();
	cut.synced = synced;
	cut.arg = arg;
	cut.frozen = false;
	fault_vfs_observe(&cut_observer);
}

void power_cut_freeze(void)
{
	cut.frozen = true;
}

void power_cut_end(void)
{
	fault_vfs_observe(NULL);
	for (size_t i = 0; i < cut.n; i++) {
		cut_write_free(&cut.files[i]);
		free(cut.files[i].writes);
		free(cut.files[i].data);
	}
	cut.n = 0;
}

/* ---- the cut ------------------------------------------------------------- */

struct cut_choice {
	uint64_t state;
	size_t sector;
	unsigned keep; /* of 16 sectors, how many reach the disk */
	bool noise; /* one sector in 16 of the others becomes noise */
};

static uint64_t cut_random(struct cut_choice *choice)
{
	choice->state ^= choice->state << 13;
	choice->state ^= choice->state >> 7;
	choice->state ^= choice->state << 17;
	return choice->state >> 8;
}

static void cut_noise(struct cut_choice *choice, uint8_t *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		data[i] = (uint8_t)cut_random(choice);
}

static void cut_tear(struct cut_choice *choice, struct cut_file *file, struct cut_write *write)
{
	for (size_t from = 0; from < write->n;) {
		size_t n = choice->sector - ((size_t)write->at + from) % choice->sector;
		if (n > write->n - from)
			n = write->n - from;
		if (cut_random(choice) % 16 < choice->keep) {
			cut_put(file, write->at + (int64_t)from, write->data + from, n);
		} else if (choice->noise && cut_random(choice) % 16 == 0) {
			cut_noise(choice, write->data + from, n);
			cut_put(file, write->at + (int64_t)from, write->data + from, n);
		}
		from += n;
	}
}

/* Any part of what was not synced. */
static void cut_leave(struct cut_choice *choice, struct cut_file *file)
{
	for (size_t i = 0; i < file->n_writes; i++) {
		struct cut_write *write = &file->writes[i];
		if (write->data)
			cut_tear(choice, file, write);
		else if (cut_random(choice) % 2)
			cut_size(file, (size_t)write->at);
	}
	cut_write_free(file);
}

static void cut_to_disk(const struct cut_file *file)
{
	const int fd = open(file->name, O_WRONLY | O_CREAT | O_TRUNC, 0640);

	if (fd < 0 || (file->n > 0 && write(fd, file->data, file->n) != (ssize_t)file->n)) {
		perror(file->name);
		abort();
	}
	close(fd);
}

/* Shared memory is no file that must survive: whatever its last content is, it is not to be used.
 */
static void cut_spoil_shm(struct cut_choice *choice, const char *name)
{
	uint8_t noise[4096];
	char shm[160];

	snprintf(shm, sizeof(shm), "%s-shm", name);
	const int fd = open(shm, O_WRONLY);
	if (fd < 0)
		return;
	cut_noise(choice, noise, sizeof(noise));
	if (write(fd, noise, sizeof(noise)) < 0)
		abort();
	close(fd);
}

void power_cut_apply(uint64_t seed)
{
	struct cut_choice choice = {.state = seed * 0x9E3779B97F4A7C15 + 1};

	for (size_t i = 0; i < cut.n; i++) {
		struct cut_file *file = &cut.files[i];
		choice.sector = cut_random(&choice) % 2 ? 512 : 4096;
		choice.keep = (unsigned)(cut_random(&choice) % 17);
		choice.noise = cut_random(&choice) % 4 == 0;
		cut_leave(&choice, file);
		bool there = file->named;
		if (file->named != file->exists)
			there = cut_random(&choice) % 2;
		if (there)
			cut_to_disk(file);
		else
			unlink(file->name);
		if (!strstr(file->name, "-wal") && !strstr(file->name, "-journal"))
			cut_spoil_shm(&choice, file->name);
	}
}

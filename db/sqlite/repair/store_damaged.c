/*
 * store_damaged - a database file of ours that SQLite cannot read. It is renamed, with its log, and
 * the agent begins a new one: watching goes on, and nothing is deleted. A file that does not say by
 * its header that it is ours is left alone.
 */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "db/sqlite/write/store_write.h"

/* https://www.sqlite.org/fileformat2.html, "The Database Header" */
#define HEADER_BYTES 100
#define HEADER_MAGIC "SQLite format 3"
#define HEADER_APPLICATION_ID 68

static bool file_is_ours(const char *path)
{
	unsigned char header[HEADER_BYTES] = {0};
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	const ssize_t n = read(fd, header, sizeof(header));
	close(fd);
	if (n != (ssize_t)sizeof(header) || memcmp(header, HEADER_MAGIC, sizeof(HEADER_MAGIC)) != 0)
		return false;
	struct bytes id = bytes_of(header + HEADER_APPLICATION_ID, sizeof(uint32_t));
	return bytes_be32(&id) == SCHEMA_APPLICATION_ID;
}

int writer_set_aside(struct store_writer *writer, struct err *e)
{
	static const char *const suffixes[] = {"-wal", "-shm", ""};
	rw_cleanup(str_done) struct str to = {0};
	const char *path = writer->o.path;
	char when[32], why[256];
	const time_t now = time(NULL);
	struct tm tm;

	if (writer->o.replay || !writer->o.set_aside || !file_is_ours(path))
		return -EBADMSG;
	snprintf(why, sizeof(why), "%.200s", e->text);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
	str_addf(&to, "%s.damaged-%s", path, when);
	for (size_t i = 0; i < rw_countof(suffixes); i++) {
		rw_cleanup(str_done) struct str from = {0}, aside = {0};
		str_addf(&from, "%s%s", path, suffixes[i]);
		str_addf(&aside, "%s%s", to.s, suffixes[i]);
		if (rename(from.s, aside.s) < 0 && errno != ENOENT)
			return err_set(e, -EBADMSG, "%s; it cannot be renamed to %s: %s", why, to.s,
				strerror(errno));
	}
	return err_set(e, STORE_SET_ASIDE,
		"the database was damaged and is now %s; a new one was begun, so history starts "
		"afresh: look after the disk, and try 'sqlite3 %s .recover' for what it held (%s)",
		to.s, to.s, why);
}

/*
 * store_checkpoint - keeps the write-ahead log short: copies it into the file, and begins it anew.
 *
 * The usual copy is passive and waits for nobody. The log begins anew once all of it is copied and
 * nobody reads in it. Many short readers, one always before the other has ended, would keep that
 * from happening for ever although each is short: when the log has grown, the copy waits for those
 * that are there, while nothing is written, so that each later one reads the newest state. One that
 * stays (a foreign snapshot) cannot be ended: people are told.
 */
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/base/str.h"
#include "db/sqlite/store_holders.h"
#include "db/sqlite/store_write.h"

#define CHECKPOINT_PAGES 1000 /* 8 MB */
#define HELD_PAGES 16384 /* 128 MB that cannot be copied back: someone reads an old snapshot */
#define PAGES_PER_MB 128

#define RESTART_SHARE 4 /* times the usual length: then the copy waits for readers */
#define RESTART_WAIT_MS 250
/* After one that was in vain, twice as long each time. */
#define RESTART_REST_NS NS_PER_S
#define RESTART_REST_MAX_NS (60 * NS_PER_S)

static void checkpoint_say(struct store_writer *writer, bool held, int pages)
{
	rw_cleanup(str_done) struct str who = {0};

	if (!held) {
		complaint_over(&writer->wal_held, mono_now(), "store",
			"the write-ahead log can be shortened again");
		return;
	}
	store_holders_text(writer->o.path, "-shm", &who);
	complain(&writer->wal_held, mono_now(), LOG_WARN_, "store",
		"%s-wal has grown to %d MB because a reader keeps an old snapshot; end "
		"long-running queries%s%s",
		writer->o.path, pages / PAGES_PER_MB, str_if(who.n > 0, ": "), str_or(who.s, ""));
}

/* Waits a moment for the readers that are there. */
static int checkpoint_restart(struct store_writer *writer, int *ret_in_log, int *ret_copied)
{
	sqlite3_busy_timeout(writer->db, RESTART_WAIT_MS);
	const int rc = sqlite3_wal_checkpoint_v2(
		writer->db, NULL, SQLITE_CHECKPOINT_RESTART, ret_in_log, ret_copied);
	sqlite3_busy_timeout(writer->db, WRITER_BUSY_MS);
	if (rc == SQLITE_OK) {
		writer->restart_rest_ns = RESTART_REST_NS;
		return rc;
	}
	if (writer->restart_rest_ns < RESTART_REST_NS)
		writer->restart_rest_ns = RESTART_REST_NS;
	writer->restart_after_ns = mono_now().ns + writer->restart_rest_ns;
	if (writer->restart_rest_ns < RESTART_REST_MAX_NS)
		writer->restart_rest_ns *= 2;
	return rc;
}

int writer_checkpoint(struct store_writer *writer)
{
	int in_log = 0, copied = 0, rc = SQLITE_OK, enough = CHECKPOINT_PAGES;

	if (writer->o.log_pages > 0)
		enough = writer->o.log_pages;
	if (writer->wal_pages >= enough)
		rc = sqlite3_wal_checkpoint_v2(
			writer->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_log, &copied);
	const bool long_log = in_log >= RESTART_SHARE * enough;
	if (rc == SQLITE_OK && long_log && mono_now().ns >= writer->restart_after_ns)
		rc = checkpoint_restart(writer, &in_log, &copied);
	checkpoint_say(writer, in_log > HELD_PAGES && copied < in_log, in_log);
	if (rc == SQLITE_BUSY) /* another connection copies; the next commit tries again */
		return SQLITE_OK;
	return rc;
}

/* peek - a quick look at a database. */
#include "agent/client/peek.h"

#include <errno.h>
#include <stdlib.h>

#include "db/open.h"
#include "db/series/history.h"
#include "db/store/store_state.h"

static int peek_open(struct peek *peek, struct err *e)
{
	if (peek->history)
		return 0;
	return db_history_open(peek->db_path, &peek->history, e);
}

static int peek_take_number(void *arg, int n, char *const *words, char *const *names)
{
	if (n > 0 && words[0])
		*(int64_t *)arg = strtoll(words[0], NULL, 10);
	return 0;
}

/* That the agent can no longer write is news too, although nothing was written. */
static bool peek_is_stuck(const struct peek *peek)
{
	struct store_state state;
	if (db_store_state(peek->db_path, &state) < 0)
		return false;
	return state.stage == STAGE_WAITING ||
		store_state_boot_ns() - state.beat_boot_ns > STORE_STATE_LATE_NS;
}

int64_t peek_change(struct peek *peek)
{
	int64_t number = -1;
	if (peek_open(peek, NULL) < 0)
		return -1;
	/* https://www.sqlite.org/pragma.html#pragma_data_version: changes when another connection
	 * has committed. */
	const int rc = history_sql(peek->history, "SELECT data_version FROM pragma_data_version",
		peek_take_number, &number, NULL);
	if (rc == 0)
		return 2 * number + peek_is_stuck(peek);
	peek_done(peek);
	return -1;
}

int peek_newest(struct peek *peek, int64_t *ret_ns, struct err *e)
{
	int64_t first_ns;
	int rc = peek_open(peek, e);
	if (rc == 0)
		rc = history_range(peek->history, &first_ns, ret_ns, e);
	if (rc < 0 && rc != -ENODATA)
		peek_done(peek);
	return rc;
}

int peek_writer(const struct peek *peek)
{
	return db_writer_pid(peek->db_path);
}

void peek_done(struct peek *peek)
{
	history_close(peek->history);
	peek->history = NULL;
}

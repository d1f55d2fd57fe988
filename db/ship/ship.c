/* ship - the thread of a sink. The mutex guards the status; all else is the thread's. */
#include "db/ship/ship.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/locked.h"
#include "base/log.h"
#include "db/ship/ship_sink.h"
#include "db/sqlite/write/store_spool.h"

/* ship_cursor - written beside and renamed: there is always a whole one. */

#define CURSOR_FORMAT "rocewatch-ship 1\nsent %" PRId64 "\nflight %" PRId64 "\n"
#define CURSOR_SCAN "rocewatch-ship 1\nsent %" SCNd64 "\nflight %" SCNd64

int ship_cursor_read(const char *path, struct ship_cursor *ret, struct err *e)
{
	rw_cleanup(freep) char *text = NULL;
	size_t n;
	*ret = (struct ship_cursor){0};
	const int r = str_read_file(path, 4096, &text, &n, e);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	if (sscanf(text, CURSOR_SCAN, &ret->sent, &ret->flight) == 2)
		return 0;
	/* what is sent again is dropped by its numbers; what is left out would be lost */
	*ret = (struct ship_cursor){0};
	return 0;
}

static int cursor_put(int fd, const struct str *text)
{
	if (write(fd, text->s, text->n) != (ssize_t)text->n)
		return -EIO;
	if (fsync(fd) < 0)
		return -errno;
	return 0;
}

int ship_cursor_write(const char *path, const struct ship_cursor *cursor, struct err *e)
{
	rw_cleanup(str_done) struct str part = {0}, text = {0};
	str_addf(&part, "%s.part", path);
	str_addf(&text, CURSOR_FORMAT, cursor->sent, cursor->flight);
	const int fd = open(part.s, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return err_set(e, -errno, "cannot write %s: %s", part.s, strerror(errno));
	int r = cursor_put(fd, &text);
	close(fd);
	if (r == 0 && rename(part.s, path) < 0)
		r = -errno;
	if (r < 0)
		return err_set(e, r, "cannot write %s: %s", path, strerror(-r));
	return 0;
}

#define BATCH_SAMPLES 200000
#define BATCH_BYTES (16u << 20) /* as kept, packed */
#define INTERVAL_NS NS_PER_S
#define RETRY_FIRST_NS NS_PER_S
#define RETRY_LAST_NS (60 * NS_PER_S)
#define LOOK_NS (5 * NS_PER_S) /* counting what waits reads all of it */

static const struct {
	const char *name;
	const struct ship_sink_ops *ops;
} ship_kinds[SHIP_KINDS] = {
	[SHIP_CLICKHOUSE] = {"clickhouse", &ship_clickhouse},
	[SHIP_REMOTE_WRITE] = {"remote_write", &ship_remote_write},
};

struct ship {
	struct arena *texts; /* of .options */
	struct ship_options options;
	char *cursor_path;
	int stop_fd;
	pthread_t thread;
	struct ship_cursor cursor;
	struct ship_sink sink;
	char *password;
	int64_t retry_ns; /* until the next attempt after a failure */
	struct complaint complaint;
	pthread_mutex_t mutex;
	/* guarded by .mutex */
	struct ship_status status;
	int64_t done;
};

/* ---- status --------------------------------------------------------------------- */

int64_t ship_done(struct ship *ship)
{
	pthread_mutex_lock(&ship->mutex);
	const int64_t done = ship->done;
	pthread_mutex_unlock(&ship->mutex);
	return done;
}

void ship_status(struct ship *ship, struct ship_status *ret)
{
	pthread_mutex_lock(&ship->mutex);
	*ret = ship->status;
	pthread_mutex_unlock(&ship->mutex);
}

static void status_sent(struct ship *ship, const struct spool_batch *batch)
{
	pthread_mutex_lock(&ship->mutex);
	struct ship_status *status = &ship->status;
	status->samples += batch->n_samples;
	status->rows += batch->n_rows;
	status->batches++;
	status->refused = ship->sink.refused;
	status->last_success_ns = wall_now().ns;
	status->failing_since_ns = 0;
	status->error[0] = '\0';
	pthread_mutex_unlock(&ship->mutex);
	char text[128];
	snprintf(text, sizeof(text), "%s takes what was waiting for it", ship->options.name);
	complaint_over(&ship->complaint, mono_now(), "ship", text);
}

static void status_failed(struct ship *ship, const struct err *e)
{
	pthread_mutex_lock(&ship->mutex);
	struct ship_status *status = &ship->status;
	status->failures++;
	if (status->failing_since_ns == 0)
		status->failing_since_ns = wall_now().ns;
	snprintf(status->error, sizeof(status->error), "%.255s", e->text);
	pthread_mutex_unlock(&ship->mutex);
	complain(&ship->complaint, mono_now(), LOG_ERROR_, "ship",
		"%s does not take what is sent: %s; it waits in the database and is sent later",
		ship->options.name, e->text);
}

static void status_waiting(struct ship *ship)
{
	struct spool_waiting waiting;
	struct err ignored = {0};
	if (spool_read_waiting(ship->options.store_path, ship->cursor.sent, &waiting, &ignored) < 0)
		return;
	const int64_t now_ns = wall_now().ns;
	pthread_mutex_lock(&ship->mutex);
	struct ship_status *status = &ship->status;
	status->waiting_rows = waiting.rows;
	status->waiting_samples = waiting.samples;
	status->waiting_bytes = waiting.bytes;
	status->lost = waiting.lost;
	status->behind_ns = 0;
	if (waiting.rows > 0 && waiting.oldest_ns < now_ns)
		status->behind_ns = now_ns - waiting.oldest_ns;
	pthread_mutex_unlock(&ship->mutex);
}

/* ---- a batch -------------------------------------------------------------------- */

static int ship_cursor_move(struct ship *ship, int64_t sent, int64_t flight, struct err *e)
{
	const struct ship_cursor cursor = {.sent = sent, .flight = flight};
	const int r = ship_cursor_write(ship->cursor_path, &cursor, e);
	if (r < 0)
		return r;
	ship->cursor = cursor;
	pthread_mutex_lock(&ship->mutex);
	ship->done = sent;
	pthread_mutex_unlock(&ship->mutex);
	return 0;
}

/* A row that is damaged cannot be sent, and must not hold up all others. */
static void batch_fill(struct ship *ship, struct arena *a, const struct spool_part_row *rows,
	size_t n, struct spool_batch *ret)
{
	for (size_t i = 0; i < n; i++)
		if (spool_batch_add(ret, a, rows[i].id, rows[i].data, rows[i].n) < 0)
			log_error("ship", "row %lld of the spool is damaged and is left out",
				(long long)rows[i].id);
}

static int ship_login(struct ship *ship, struct err *e)
{
	locked_free(ship->password);
	ship->password = NULL;
	if (!ship->options.password)
		return 0;
	const int r = ship->options.password(ship->options.password_arg, &ship->password, e);
	ship->sink.password = ship->password;
	return r;
}

static int batch_send(struct ship *ship, struct arena *a, const struct spool_part_row *rows,
	size_t n, struct err *e)
{
	struct spool_batch batch = {0};
	const int64_t last = rows[n - 1].id;
	int r = 0;
	if (ship->cursor.flight != last)
		r = ship_cursor_move(ship, ship->cursor.sent, last, e);
	if (r == 0 && ship->options.password && !ship->password)
		r = ship_login(ship, e);
	if (r < 0)
		return r;
	batch_fill(ship, a, rows, n, &batch);
	r = ship_kinds[ship->options.kind].ops->send(&ship->sink, &batch, e);
	if (r == 0)
		r = ship_cursor_move(ship, last, last, e);
	if (r == 0)
		status_sent(ship, &batch);
	return r;
}

/* One range of the spool, if there is one. *@ret_more: probably there is another one. */
static int ship_turn(struct ship *ship, bool *ret_more, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct spool_part_row *rows;
	size_t n;
	struct spool_ask ask = {.path = ship->options.store_path,
		.after = ship->cursor.sent,
		.samples = ship->options.batch_samples,
		.bytes = BATCH_BYTES};
	if (ship->cursor.flight > ship->cursor.sent)
		ask.until = ship->cursor.flight;
	*ret_more = false;
	int r = spool_read_rows(&ask, a, &rows, &n, e);
	if (r < 0)
		return r;
	if (n == 0 && ask.until) { /* it was dropped from the spool: go on behind it */
		*ret_more = true;
		return ship_cursor_move(ship, ask.until, ask.until, e);
	}
	if (n == 0)
		return 0;
	r = batch_send(ship, a, rows, n, e);
	uint64_t samples = 0;
	for (size_t i = 0; i < n; i++)
		samples += rows[i].samples;
	*ret_more = samples * 2 > ask.samples;
	return r;
}

/* ---- the thread ----------------------------------------------------------------- */

static int64_t ship_first_retry(const struct ship *ship)
{
	if (ship->options.retry_ns < RETRY_FIRST_NS)
		return ship->options.retry_ns;
	return RETRY_FIRST_NS;
}

/* False: it is to stop. */
static bool ship_wait(struct ship *ship, int64_t ns)
{
	struct pollfd stop = {.fd = ship->stop_fd, .events = POLLIN};
	return poll(&stop, 1, (int)(ns / NS_PER_MS)) == 0;
}

static int64_t ship_step(struct ship *ship)
{
	struct err e = {0};
	bool more = false;
	const int r = ship_turn(ship, &more, &e);
	if (r == -ECANCELED)
		return 0;
	if (r < 0) {
		const int64_t pause_ns = ship->retry_ns;
		status_failed(ship, &e);
		(void)ship_login(ship, &e);
		ship->retry_ns *= 2;
		if (ship->retry_ns > ship->options.retry_ns)
			ship->retry_ns = ship->options.retry_ns;
		return pause_ns;
	}
	ship->retry_ns = ship_first_retry(ship);
	if (more)
		return 0;
	return ship->options.interval_ns;
}

static void *ship_main(void *arg)
{
	struct ship *ship = arg;
	struct err e = {0};
	if (ship_cursor_read(ship->cursor_path, &ship->cursor, &e) < 0)
		log_error("ship", "%s; all that the spool holds is sent again", e.text);
	pthread_mutex_lock(&ship->mutex);
	ship->done = ship->cursor.sent;
	pthread_mutex_unlock(&ship->mutex);
	int64_t pause_ns = 0, looked_ns = 0;
	while (ship_wait(ship, pause_ns)) {
		pause_ns = ship_step(ship);
		if (looked_ns == 0 || mono_now().ns - looked_ns > LOOK_NS) {
			status_waiting(ship);
			looked_ns = mono_now().ns;
		}
	}
	ship_kinds[ship->options.kind].ops->done(&ship->sink);
	return NULL;
}

/* ---- start and stop ------------------------------------------------------------- */

static const size_t ship_texts[] = {
	offsetof(struct ship_options, name),
	offsetof(struct ship_options, store_path),
	offsetof(struct ship_options, url),
	offsetof(struct ship_options, agent),
	offsetof(struct ship_options, database),
	offsetof(struct ship_options, username),
	offsetof(struct ship_options, tls_ca),
	offsetof(struct ship_options, tls_cert),
	offsetof(struct ship_options, tls_key),
};

static void options_copy(struct ship *ship, const struct ship_options *options)
{
	ship->options = *options;
	for (size_t i = 0; i < rw_countof(ship_texts); i++) {
		const char **text = (const char **)(void *)((char *)&ship->options + ship_texts[i]);
		if (*text)
			*text = arena_strdup(ship->texts, *text);
	}
	if (ship->options.batch_samples == 0)
		ship->options.batch_samples = BATCH_SAMPLES;
	if (ship->options.interval_ns == 0)
		ship->options.interval_ns = INTERVAL_NS;
	if (ship->options.retry_ns == 0)
		ship->options.retry_ns = RETRY_LAST_NS;
}

/* Signals are the loop's. */
static int ship_thread(struct ship *ship)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const int r = pthread_create(&ship->thread, NULL, ship_main, ship);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

struct ship *ship_start(const struct ship_options *options)
{
	struct ship *ship = rw_calloc(1, sizeof(*ship));
	ship->texts = arena_new();
	options_copy(ship, options);
	ship->cursor_path = arena_printf(
		ship->texts, "%s.ship-%s", ship->options.store_path, ship->options.name);
	ship->retry_ns = ship_first_retry(ship);
	ship->stop_fd = eventfd(0, EFD_CLOEXEC);
	ship->sink = (struct ship_sink){.options = &ship->options, .stop_fd = ship->stop_fd};
	pthread_mutex_init(&ship->mutex, NULL);
	snprintf(ship->status.name, sizeof(ship->status.name), "%s", ship->options.name);
	snprintf(ship->status.kind, sizeof(ship->status.kind), "%s",
		ship_kinds[ship->options.kind].name);
	if (ship_thread(ship) != 0)
		abort(); /* no thread at the start of a process: nothing would work */
	return ship;
}

void ship_stop(struct ship *ship)
{
	const uint64_t one = 1;
	if (!ship)
		return;
	if (write(ship->stop_fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(ship->thread, NULL);
	close(ship->stop_fd);
	locked_free(ship->password);
	pthread_mutex_destroy(&ship->mutex);
	arena_free(ship->texts);
	free(ship);
}

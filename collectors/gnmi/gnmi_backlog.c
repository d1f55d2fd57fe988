/* gnmi_backlog - cuts large messages, and rests after work. */
#include "collectors/gnmi/gnmi_backlog.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/loop.h"
#include "agent/base/str.h"
#include "collectors/gnmi/grpc_io.h"
#include "proto/gnmi_split.h"

#define SLICE_NS (5 * NS_PER_MS) /* of one turn of the loop */
#define BACKLOG_SHARE 4 /* one part in so many of the time is for one call */
/* A first round of a large switch takes that long, and is not slowed down. */
#define BURST_NS (250 * NS_PER_MS)

struct waiting {
	struct waiting *next;
	bool is_done; /* the status of the call: .code, and .bytes as its text */
	int code;
	uint8_t *bytes;
	size_t n;
};

struct gnmi_backlog {
	struct gnmi_backlog_hooks hooks;
	void *arg;
	struct loop_timer *timer;
	struct waiting *first, *last;
	struct gnmi_split split; /* of .first */
	bool split_begun;
	struct str piece;
	unsigned cleared; /* how often: a callback may have done it */
	bool held;
	int64_t busy_ns; /* work not yet rested for */
	mono_t busy_at; /* as of then */
};

/* ---- how much one call may work ------------------------------------------ */

static void backlog_worked(struct gnmi_backlog *backlog, mono_t began)
{
	const mono_t now = mono_now();
	const int64_t rested_ns = (now.ns - backlog->busy_at.ns) / BACKLOG_SHARE;
	backlog->busy_ns += now.ns - began.ns - rested_ns;
	if (backlog->busy_ns < 0)
		backlog->busy_ns = 0;
	backlog->busy_at = now;
}

/* How long to rest now; 0: not yet. */
static int64_t backlog_rest_ns(const struct gnmi_backlog *backlog)
{
	if (backlog->busy_ns <= BURST_NS)
		return 0;
	return SLICE_NS * BACKLOG_SHARE;
}

static void backlog_hold(struct gnmi_backlog *backlog, bool hold)
{
	if (hold == backlog->held)
		return;
	backlog->held = hold;
	backlog->hooks.hold(backlog->arg, hold);
}

/* ---- what waits ---------------------------------------------------------- */

static void backlog_drop_first(struct gnmi_backlog *backlog)
{
	struct waiting *first = backlog->first;
	backlog->first = first->next;
	if (!backlog->first)
		backlog->last = NULL;
	backlog->split_begun = false;
	free(first->bytes);
	free(first);
}

static void backlog_add(struct gnmi_backlog *backlog, struct waiting item)
{
	struct waiting *copy = rw_calloc(1, sizeof(*copy));
	const uint8_t *bytes = item.bytes;
	*copy = item;
	copy->bytes = rw_calloc(1, item.n + 1);
	memcpy(copy->bytes, bytes, item.n);
	if (backlog->last)
		backlog->last->next = copy;
	else
		backlog->first = copy;
	backlog->last = copy;
	backlog_hold(backlog, true);
}

/* The next piece of what waits first; the item goes with its last piece. */
static void backlog_give(struct gnmi_backlog *backlog)
{
	struct waiting *item = backlog->first;
	const unsigned cleared = backlog->cleared;
	const uint8_t *piece;
	size_t n;
	if (item->is_done) {
		rw_cleanup(freep) char *text = rw_strdup((const char *)item->bytes);
		const struct grpc_io_status status = {.code = item->code, .text = text};
		backlog_drop_first(backlog);
		backlog->hooks.done(backlog->arg, &status);
		return;
	}
	if (!backlog->split_begun)
		gnmi_split_begin(&backlog->split, item->bytes, item->n);
	backlog->split_begun = true;
	if (!gnmi_split_next(&backlog->split, &backlog->piece, &piece, &n)) {
		backlog_drop_first(backlog);
		return;
	}
	if (!backlog->split.whole) {
		backlog->hooks.message(backlog->arg, piece, n);
		return;
	}
	/* the callback may clear: the bytes must outlive it */
	rw_cleanup(freep) uint8_t *bytes = item->bytes;
	item->bytes = NULL;
	backlog->hooks.message(backlog->arg, bytes, n);
	if (cleared == backlog->cleared)
		backlog_drop_first(backlog);
}

static void backlog_turn(void *arg)
{
	struct gnmi_backlog *backlog = arg;
	const unsigned cleared = backlog->cleared;
	const mono_t began = mono_now();
	while (backlog->first && cleared == backlog->cleared && mono_now().ns - began.ns < SLICE_NS)
		backlog_give(backlog);
	if (cleared == backlog->cleared)
		backlog->hooks.idle(backlog->arg);
	backlog_worked(backlog, began);
	if (cleared != backlog->cleared)
		return;
	const int64_t rest_ns = backlog_rest_ns(backlog);
	if (backlog->first || rest_ns > 0)
		loop_timer_start(backlog->timer, rest_ns, 0);
	else
		backlog_hold(backlog, false);
}

/* ---- from the call ------------------------------------------------------- */

void gnmi_backlog_message(struct gnmi_backlog *backlog, const void *data, size_t n)
{
	const bool waits = backlog->first || backlog->held;
	if (waits || n > GNMI_SPLIT_BYTES) {
		backlog_add(backlog, (struct waiting){.bytes = (uint8_t *)data, .n = n});
		if (!waits)
			loop_timer_start(backlog->timer, 0, 0);
		return;
	}
	const unsigned cleared = backlog->cleared;
	const mono_t began = mono_now();
	backlog->hooks.message(backlog->arg, data, n);
	backlog_worked(backlog, began);
	const int64_t rest_ns = backlog_rest_ns(backlog);
	if (rest_ns == 0 || cleared != backlog->cleared)
		return;
	backlog_hold(backlog, true);
	loop_timer_start(backlog->timer, rest_ns, 0);
}

void gnmi_backlog_done(struct gnmi_backlog *backlog, const struct grpc_io_status *status)
{
	if (!backlog->first) {
		backlog->hooks.done(backlog->arg, status);
		return;
	}
	const char *text = str_or(status->text, "");
	backlog_add(backlog,
		(struct waiting){.is_done = true,
			.code = status->code,
			.bytes = (uint8_t *)text,
			.n = strlen(text)});
}

/* ---- life ---------------------------------------------------------------- */

struct gnmi_backlog *gnmi_backlog_new(
	struct loop *loop, const struct gnmi_backlog_hooks *hooks, void *arg)
{
	struct gnmi_backlog *backlog = rw_calloc(1, sizeof(*backlog));
	backlog->hooks = *hooks;
	backlog->arg = arg;
	backlog->timer = loop_timer_new(loop, backlog_turn, backlog);
	backlog->busy_at = mono_now();
	return backlog;
}

void gnmi_backlog_clear(struct gnmi_backlog *backlog)
{
	while (backlog->first)
		backlog_drop_first(backlog);
	loop_timer_stop(backlog->timer);
	backlog->held = false; /* the call that was held is gone */
	backlog->cleared++;
}

void gnmi_backlog_free(struct gnmi_backlog *backlog)
{
	if (!backlog)
		return;
	gnmi_backlog_clear(backlog);
	str_done(&backlog->piece);
	loop_timer_free(backlog->timer);
	free(backlog);
}

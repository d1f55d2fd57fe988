/*
 * log - one line per event: text for a terminal, "key=value" for journald or a pipe. stderr only.
 * Secrets never reach it: callers pass names of credentials, not their content.
 * Thread-safe (one write(2) per line).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/clock.h"

enum log_level { LOG_DEBUG_, LOG_INFO_, LOG_WARN_, LOG_ERROR_ };

void log_set_level(enum log_level min);
/* log_set_nonblocking - for a process that must never wait for whoever reads its log (a pipe or
 * socket whose reader stopped, a terminal on hold): a line that cannot be written at once is lost,
 * and counted; the next one that can says how many were. A regular file is written as it is. */
void log_set_nonblocking(void);
void log_set_plain(bool key_value); /* default: key_value unless stderr is a terminal */

/* log_set_writer - from now on lines go to @fn and not to stderr, for a process that has no stderr
 * of its own: the text without its place, lent. Before any thread. NULL: to stderr again. */
typedef void log_writer_fn(enum log_level level, const char *where, const char *text);
void log_set_writer(log_writer_fn *fn);

/*
 * log_event - @where names the subject ("leaf1", "store"); @fmt is a sentence for people.
 */
void log_event(enum log_level level, const char *where, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
#define log_debug(where, ...) log_event(LOG_DEBUG_, where, __VA_ARGS__)
#define log_info(where, ...) log_event(LOG_INFO_, where, __VA_ARGS__)
#define log_warn(where, ...) log_event(LOG_WARN_, where, __VA_ARGS__)
#define log_error(where, ...) log_event(LOG_ERROR_, where, __VA_ARGS__)

struct err_list;
/* log_errors - one line for each, "FILE:LINE:COLUMN: text", and one for those not kept. */
void log_errors(enum log_level level, const char *where, const struct err_list *errors);

/*
 * complaint - a failure that repeats is logged with growing gaps: at once, then after 10 s, 20 s
 * and so on up to 1 h, each time with the count since the last line, and once more when it is over.
 * Embed one, zeroed, per thing.
 */
struct complaint {
	int64_t next_ns, gap_ns; /* monotonic */
	uint64_t since_last, total;
	int64_t began_ns;
};
/* Returns true when a line was written. */
bool complain(struct complaint *complaint, mono_t now, enum log_level level, const char *where,
	const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* "leaf1: answers again after 42 s, 21 failures" when there was something to end. */
void complaint_over(struct complaint *complaint, mono_t now, const char *where, const char *what);

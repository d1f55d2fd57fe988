/* log - writes log lines, and repeated complaints with growing gaps. */
#include "base/log.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "base/text_clean.h"

enum { LINE_MAX_BYTES = 2048 };
enum { FORMAT_AUTO, FORMAT_TEXT, FORMAT_KEY_VALUE };

static _Atomic int min_level = LOG_INFO_;
static _Atomic int format_wanted = FORMAT_AUTO;

static log_writer_fn *log_writer;

static const char *const level_names[] = {"debug", "info", "warning", "error"};

void log_set_level(enum log_level min)
{
	atomic_store(&min_level, (int)min);
}

void log_set_writer(log_writer_fn *fn)
{
	log_writer = fn;
}

void log_set_plain(bool key_value)
{
	atomic_store(&format_wanted, key_value ? FORMAT_KEY_VALUE : FORMAT_TEXT);
}

static bool is_key_value(void)
{
	int f = atomic_load(&format_wanted);
	if (f == FORMAT_AUTO) {
		f = FORMAT_KEY_VALUE;
		if (isatty(STDERR_FILENO))
			f = FORMAT_TEXT;
		atomic_store(&format_wanted, f);
	}
	return f == FORMAT_KEY_VALUE;
}

struct log_line {
	char s[LINE_MAX_BYTES];
	size_t n;
};

static void log_put(struct log_line *line, const char *text)
{
	size_t n = strlen(text), room = sizeof(line->s) - 1 - line->n;
	if (n > room)
		n = room;
	memcpy(line->s + line->n, text, n);
	line->n += n;
}

/* Text from outside (a device name, a server's message) must not end the line, nor move the cursor
 * of a terminal. */
static void log_put_clean(struct log_line *line, const char *text, bool quoted)
{
	char clean[LINE_MAX_BYTES];
	text_clean(clean, sizeof(clean), text, strlen(text));
	for (const char *c = clean; *c && line->n + 3 < sizeof(line->s); c++) {
		if (quoted && (*c == '"' || *c == '\\'))
			line->s[line->n++] = '\\';
		line->s[line->n++] = *c;
	}
}

static bool is_bare(const char *text)
{
	if (!*text)
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr("-_.:/", *text))
			return false;
	return true;
}

/* time=... level=... where=... msg="..." */
static void log_put_pairs(
	struct log_line *line, enum log_level level, const char *where, const char *text)
{
	char when[WALL_TEXT_MAX];
	log_put(line, "time=");
	log_put(line, wall_format(when, wall_now(), 3));
	log_put(line, " level=");
	log_put(line, level_names[level]);
	log_put(line, " where=");
	if (is_bare(where)) {
		log_put(line, where);
	} else {
		log_put(line, "\"");
		log_put_clean(line, where, true);
		log_put(line, "\"");
	}
	log_put(line, " msg=\"");
	log_put_clean(line, text, true);
	log_put(line, "\"");
}

/* warning: leaf1: ... */
static void log_put_plain(
	struct log_line *line, enum log_level level, const char *where, const char *text)
{
	log_put(line, level_names[level]);
	log_put(line, ": ");
	if (*where) {
		log_put_clean(line, where, false);
		log_put(line, ": ");
	}
	log_put_clean(line, text, false);
}

/* ---- where it goes ------------------------------------------------------- */

enum { OUTPUT_PLAIN, OUTPUT_NONBLOCKING, OUTPUT_SOCKET };
static _Atomic int output_kind = OUTPUT_PLAIN;
static _Atomic int output_fd = STDERR_FILENO;
static _Atomic uint64_t output_lost;

void log_set_nonblocking(void)
{
	struct stat st;
	if (fstat(STDERR_FILENO, &st) < 0)
		return;
	if (S_ISSOCK(st.st_mode)) {
		atomic_store(&output_kind, OUTPUT_SOCKET);
		return;
	}
	if (!S_ISFIFO(st.st_mode) && !isatty(STDERR_FILENO))
		return;
	/* Opened anew: the mode of standard error itself belongs to all that share it. */
	const int fd =
		open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | O_APPEND);
	if (fd < 0)
		return;
	atomic_store(&output_fd, fd);
	atomic_store(&output_kind, OUTPUT_NONBLOCKING);
}

/* One write per line keeps the lines of two threads apart. Where the log cannot be written, there
 * is nobody to report it to. */
static void log_output(const char *line, size_t n)
{
	const int kind = atomic_load(&output_kind);
	ssize_t written;
	if (kind == OUTPUT_SOCKET)
		written = send(STDERR_FILENO, line, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	else
		written = write(atomic_load(&output_fd), line, n);
	if (written < 0 && kind != OUTPUT_PLAIN && (errno == EAGAIN || errno == EWOULDBLOCK))
		atomic_fetch_add(&output_lost, 1);
}

static void log_tell_lost(void)
{
	struct log_line line = {.n = 0};
	char text[96];
	const uint64_t lost = atomic_exchange(&output_lost, 0);
	if (lost == 0)
		return;
	snprintf(text, sizeof(text),
		"%" PRIu64 " lines of the log were lost: nobody read them in time", lost);
	if (is_key_value())
		log_put_pairs(&line, LOG_WARN_, "log", text);
	else
		log_put_plain(&line, LOG_WARN_, "log", text);
	line.s[line.n++] = '\n';
	log_output(line.s, line.n);
	if (atomic_load(&output_lost) > 0) /* this one too */
		atomic_fetch_add(&output_lost, lost - 1);
}

__attribute__((format(printf, 3, 0))) static void log_write(
	enum log_level level, const char *where, const char *fmt, va_list ap)
{
	if ((int)level < atomic_load(&min_level))
		return;
	char text[1536];
	struct log_line l = {.n = 0};

	vsnprintf(text, sizeof(text), fmt, ap);
	where = str_or(where, "");
	if (log_writer) {
		log_writer(level, where, text);
		return;
	}
	if (is_key_value())
		log_put_pairs(&l, level, where, text);
	else
		log_put_plain(&l, level, where, text);
	if (l.n > sizeof(l.s) - 1)
		l.n = sizeof(l.s) - 1;
	l.s[l.n++] = '\n';
	log_tell_lost();
	log_output(l.s, l.n);
}

void log_event(enum log_level level, const char *where, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	log_write(level, where, fmt, ap);
	va_end(ap);
}

void log_errors(enum log_level level, const char *where, const struct err_list *errors)
{
	for (size_t i = 0; i < errors->n; i++) {
		const struct err *e = &errors->v[i];
		log_event(level, where, "%s:%d:%d: %s", e->file, e->line, e->col, e->text);
	}
	if (errors->more)
		log_event(level, where, "and %zu more", errors->more);
}

#define GAP_FIRST_NS (10 * NS_PER_S)
#define GAP_MAX_NS (3600 * NS_PER_S)

bool complain(struct complaint *complaint, mono_t now, enum log_level level, const char *where,
	const char *fmt, ...)
{
	if (complaint->total == 0)
		complaint->began_ns = now.ns;
	complaint->total++;
	complaint->since_last++;
	if (complaint->total > 1 && now.ns < complaint->next_ns)
		return false;

	char text[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	char for_how_long[32];
	if (complaint->total == 1)
		log_event(level, where, "%s", text);
	else
		log_event(level, where,
			"%s (%" PRIu64 " times since the last message, %" PRIu64 " in %s)", text,
			complaint->since_last, complaint->total,
			duration_format(
				for_how_long, sizeof(for_how_long), now.ns - complaint->began_ns));
	complaint->since_last = 0;
	complaint->gap_ns *= 2;
	if (complaint->gap_ns == 0)
		complaint->gap_ns = GAP_FIRST_NS;
	if (complaint->gap_ns > GAP_MAX_NS)
		complaint->gap_ns = GAP_MAX_NS;
	complaint->next_ns = now.ns + complaint->gap_ns;
	return true;
}

void complaint_over(struct complaint *complaint, mono_t now, const char *where, const char *what)
{
	if (complaint->total == 0)
		return;
	char for_how_long[32];
	log_event(LOG_INFO_, where, "%s after %s, %" PRIu64 " failure%s", what,
		duration_format(for_how_long, sizeof(for_how_long), now.ns - complaint->began_ns),
		complaint->total, plural(complaint->total));
	*complaint = (struct complaint){0};
}

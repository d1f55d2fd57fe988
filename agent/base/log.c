/* log - see log.h. */
#include "agent/base/log.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 2048 };
enum { FORMAT_AUTO, FORMAT_TEXT, FORMAT_KEY_VALUE };

static _Atomic int min_level = LOG_INFO_;
static _Atomic int format_wanted = FORMAT_AUTO;

static const char *const level_names[] = {"debug", "info", "warning", "error"};

void log_set_level(enum log_level min)
{
	atomic_store(&min_level, (int)min);
}

void log_set_plain(bool key_value)
{
	atomic_store(&format_wanted, key_value ? FORMAT_KEY_VALUE : FORMAT_TEXT);
}

static bool is_key_value(void)
{
	int f = atomic_load(&format_wanted);
	if (f == FORMAT_AUTO) {
		f = isatty(STDERR_FILENO) ? FORMAT_TEXT : FORMAT_KEY_VALUE;
		atomic_store(&format_wanted, f);
	}
	return f == FORMAT_KEY_VALUE;
}

struct line {
	char s[LINE_MAX_BYTES];
	size_t n;
};

static void put(struct line *l, const char *s)
{
	size_t n = strlen(s), room = sizeof(l->s) - 1 - l->n;
	if (n > room)
		n = room;
	memcpy(l->s + l->n, s, n);
	l->n += n;
}

/* Text from outside (a device name, a server's message) must not end the line, nor move the cursor
 * of a terminal. */
static void put_clean(struct line *l, const char *s, bool quoted)
{
	for (; *s && l->n + 3 < sizeof(l->s); s++) {
		unsigned char c = (unsigned char)*s;
		if (quoted && (c == '"' || c == '\\'))
			l->s[l->n++] = '\\';
		l->s[l->n++] = c < 0x20 || c == 0x7f ? ' ' : (char)c;
	}
}

static bool is_bare(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("-_.:/", *s))
			return false;
	return true;
}

__attribute__((format(printf, 3, 0))) static void log_line(
	enum log_level level, const char *where, const char *fmt, va_list ap)
{
	if ((int)level < atomic_load(&min_level))
		return;
	char text[1536];
	struct line l = {.n = 0};

	vsnprintf(text, sizeof(text), fmt, ap);
	if (!where)
		where = "";
	if (is_key_value()) {
		char when[WALL_TEXT_MAX];
		put(&l, "time=");
		put(&l, wall_format(when, wall_now(), 3));
		put(&l, " level=");
		put(&l, level_names[level]);
		put(&l, " where=");
		if (is_bare(where)) {
			put(&l, where);
		} else {
			put(&l, "\"");
			put_clean(&l, where, true);
			put(&l, "\"");
		}
		put(&l, " msg=\"");
		put_clean(&l, text, true);
		put(&l, "\"");
	} else {
		put(&l, level_names[level]);
		put(&l, ": ");
		if (*where) {
			put_clean(&l, where, false);
			put(&l, ": ");
		}
		put_clean(&l, text, false);
	}
	if (l.n > sizeof(l.s) - 1)
		l.n = sizeof(l.s) - 1;
	l.s[l.n++] = '\n';
	/* One write per line keeps the lines of two threads apart. A log that cannot be written has
	 * nobody to tell. */
	ssize_t ignored = write(STDERR_FILENO, l.s, l.n);
	(void)ignored;
}

void log_event(enum log_level level, const char *where, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	log_line(level, where, fmt, ap);
	va_end(ap);
}

#define GAP_FIRST_NS (10 * NS_PER_S)
#define GAP_MAX_NS (3600 * NS_PER_S)

bool complain(struct complaint *c, mono_t now, enum log_level level, const char *where,
	const char *fmt, ...)
{
	if (c->total == 0)
		c->began_ns = now.ns;
	c->total++;
	c->since_last++;
	if (c->total > 1 && now.ns < c->next_ns)
		return false;

	char text[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	char for_how_long[32];
	if (c->total == 1)
		log_event(level, where, "%s", text);
	else
		log_event(level, where,
			"%s (%" PRIu64 " times since the last message, %" PRIu64 " in %s)", text,
			c->since_last, c->total,
			duration_format(for_how_long, sizeof(for_how_long), now.ns - c->began_ns));
	c->since_last = 0;
	c->gap_ns = c->gap_ns == 0 ? GAP_FIRST_NS : c->gap_ns * 2;
	if (c->gap_ns > GAP_MAX_NS)
		c->gap_ns = GAP_MAX_NS;
	c->next_ns = now.ns + c->gap_ns;
	return true;
}

void complaint_over(struct complaint *c, mono_t now, const char *where, const char *what)
{
	if (c->total == 0)
		return;
	char for_how_long[32];
	log_event(LOG_INFO_, where, "%s after %s, %" PRIu64 " failure%s", what,
		duration_format(for_how_long, sizeof(for_how_long), now.ns - c->began_ns), c->total,
		c->total == 1 ? "" : "s");
	*c = (struct complaint){0};
}

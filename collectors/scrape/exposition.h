/*
 * exposition - reads the text in which exporters show their values, a line at a time: Prometheus'
 * text format 0.0.4 ("Exposition formats", prometheus.io/docs/instrumenting/exposition_formats),
 * and OpenMetrics 1.0, which differs in the unit of time and in what may follow a value. Comments
 * are stepped over: what a name means, a profile says. Pure; any thread.
 *
 *	exposition_begin(&text, data, n, false);
 *	while ((rc = exposition_next(&text, &line)) != 0)
 *		if (rc > 0 && exposition_labels(&text, &line) >= 0) ...
 */
#ifndef RW_COLLECTORS_EXPOSITION_H
#define RW_COLLECTORS_EXPOSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/push/push_map.h"

enum {
	EXPOSITION_LABELS_MAX = 64, /* of one line */
	EXPOSITION_LINE_MAX = 16 << 10, /* bytes */
};

struct exposition {
	const char *at, *end; /* lent */
	bool openmetrics;
	struct push_label labels[EXPOSITION_LABELS_MAX];
	char unescaped[EXPOSITION_LINE_MAX]; /* values of labels of the newest line that need it */
};

struct exposition_line {
	const char *name; /* n_name bytes: a letter, '_' or ':' and then digits, too */
	size_t n_name;
	const char *rest, *end; /* from the labels on */
	/* of exposition_labels(); lent until the next line */
	const struct push_label *labels;
	size_t n_labels;
	struct push_number number;
	bool has_time;
	int64_t t_ns; /* while .has_time; since 1970 */
};

/* exposition_begin - @data is lent until the last line was read. */
void exposition_begin(struct exposition *text, const char *data, size_t n, bool openmetrics);

/* exposition_next - the next line that begins with a name. 1; 0 at the end; -EBADMSG: the line is
 * none of the format, -EMSGSIZE: it is too long; either way the next call goes on behind it. */
int exposition_next(struct exposition *text, struct exposition_line *ret);

/* exposition_labels - the rest of @line. 0, or -EBADMSG; -E2BIG: too many labels. */
int exposition_labels(struct exposition *text, struct exposition_line *line);

#endif

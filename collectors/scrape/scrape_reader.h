/*
 * scrape_reader - from what the exporters of a host answer to samples: what a name means is looked
 * up in the "push" sections of all profiles (collectors/push/push_map.h); the device is the host
 * that was asked, whatever a label says. Read in pieces, so that a long page keeps nobody waiting.
 * Loop thread.
 */
#pragma once

#include "base/base.h"
#include "collectors/push/push_map.h"
#include "config/config.h"
#include "db/model/metric.h"

struct entities;
struct scrape_reader;

enum {
	SCRAPE_SERIES_MAX = 16384, /* of one host that are kept of one scrape */
	SCRAPE_LINES_MAX = 1000000, /* of one scrape that are read */
	SCRAPE_NAME_MAX = 64, /* bytes of a name that is shown */
};

/* scrape_reader_new - all lent. */
struct scrape_reader *scrape_reader_new(
	struct entities *entities, const char *device, const struct push_map *names);
void scrape_reader_free(struct scrape_reader *reader); /* NULL is fine */

/* scrape_reader_ports - "NAME=NIC"; lent until the next call. */
void scrape_reader_ports(struct scrape_reader *reader, const struct config_texts *ports);

/* scrape_reader_begin - a new scrape; samples of the one before are forgotten. @t_ns: of values
 * that carry no time. */
void scrape_reader_begin(struct scrape_reader *reader, int64_t t_ns);
/* scrape_reader_text - one page of it; lent until it is read to its end. */
void scrape_reader_text(struct scrape_reader *reader, const char *text, size_t n, bool openmetrics);
/* scrape_reader_step - reads about @bytes of it. True: there is more. */
bool scrape_reader_step(struct scrape_reader *reader, size_t bytes);

/* Of the scrape so far; lent until the next call of this file. */
const struct sample *scrape_reader_samples(const struct scrape_reader *reader, size_t *ret_n);

struct scrape_counts { /* of one scrape */
	uint64_t lines; /* that have a name */
	uint64_t bad_lines; /* none of the format, or too long */
	uint64_t samples;
	uint64_t unknown; /* lines with a name that no profile knows */
	uint64_t
		no_place; /* a name that is known, and no label, or no usable one, says which NIC */
	uint64_t no_value; /* values that cannot be */
	uint64_t repeated; /* of a series that came before in this scrape */
	uint64_t off_clock; /* values of a time that cannot be */
	uint64_t beyond; /* lines or series beyond the limits, or names that had no room */
	char first_unknown[SCRAPE_NAME_MAX]; /* such a name, clean; "" */
};
const struct scrape_counts *scrape_reader_counts(const struct scrape_reader *reader);

/* scrape_reader_rows - how many series of this scrape @value brought, and how many of them are 0.
 */
size_t scrape_reader_rows(const struct scrape_reader *reader,
	const struct profile_push_value *value, size_t *ret_zero);

/* scrape_reader_profile - whose names most samples of this scrape had; NULL: none. */
const struct profile *scrape_reader_profile(const struct scrape_reader *reader);

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

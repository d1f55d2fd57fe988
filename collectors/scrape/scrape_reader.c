/* scrape_reader - pages of exporters to samples. */
#include "collectors/scrape/scrape_reader.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "collectors/scrape/exposition.h"
#include "config/profile/profile.h"
#include "config/profile/profile_push.h"
#include "db/model/entity.h"

#define AHEAD_NS (10 * NS_PER_S) /* a time further ahead of our clock is wrong */
#define BEHIND_NS (24 * 3600 * NS_PER_S)

struct scrape_reader {
	struct entities *entities;
	const char *device;
	const struct push_map *names;
	const struct config_texts *ports;
	int64_t t_ns;
	struct exposition text;
	struct sample *samples;
	size_t n, cap;
	struct map *seen; /* entity << 16 | metric -> index of its sample */
	struct scrape_counts counts;
	const struct profile *profile; /* of .run samples more than others */
	size_t run;
};

struct scrape_reader *scrape_reader_new(
	struct entities *entities, const char *device, const struct push_map *names)
{
	struct scrape_reader *reader = rw_calloc(1, sizeof(*reader));
	reader->entities = entities;
	reader->device = device;
	reader->names = names;
	reader->seen = map_new();
	return reader;
}

void scrape_reader_free(struct scrape_reader *reader)
{
	if (!reader)
		return;
	map_free(reader->seen);
	free(reader->samples);
	free(reader);
}

void scrape_reader_ports(struct scrape_reader *reader, const struct config_texts *ports)
{
	reader->ports = ports;
}

void scrape_reader_begin(struct scrape_reader *reader, int64_t t_ns)
{
	reader->t_ns = t_ns;
	reader->n = 0;
	reader->run = 0;
	reader->profile = NULL;
	reader->counts = (struct scrape_counts){0};
	map_clear(reader->seen);
}

void scrape_reader_text(struct scrape_reader *reader, const char *text, size_t n, bool openmetrics)
{
	exposition_begin(&reader->text, text, n, openmetrics);
}

/* ---- one line -------------------------------------------------------------- */

static void scrape_unknown(struct scrape_reader *reader, const struct exposition_line *line)
{
	if (reader->counts.unknown++ == 0)
		snprintf(reader->counts.first_unknown, SCRAPE_NAME_MAX, "%.*s",
			(int)(line->n_name < SCRAPE_NAME_MAX ? line->n_name : SCRAPE_NAME_MAX - 1),
			line->name);
}

/* What the links call the NIC. */
static void scrape_port(const struct scrape_reader *reader, struct push_place *place)
{
	const size_t n = strcspn(place->port, "#"); /* "NIC#q5" */
	for (size_t i = 0; reader->ports && i < reader->ports->n; i++) {
		const char *pair = reader->ports->v[i], *equals = strchr(pair, '=');
		if ((size_t)(equals - pair) != n || memcmp(pair, place->port, n) != 0)
			continue;
		char behind[PUSH_PORT_MAX];
		snprintf(behind, sizeof(behind), "%s", place->port + n);
		snprintf(place->port, sizeof(place->port), "%.100s%.20s", equals + 1, behind);
		return;
	}
}

/* The profile of the majority (Boyer and Moore, 1981): one pass, no table. */
static void scrape_vote(struct scrape_reader *reader, const struct profile *profile)
{
	if (reader->run == 0)
		reader->profile = profile;
	if (reader->profile == profile)
		reader->run++;
	else
		reader->run--;
}

static bool scrape_time(
	struct scrape_reader *reader, const struct exposition_line *line, int64_t *ret)
{
	*ret = reader->t_ns;
	if (line->has_time)
		*ret = line->t_ns;
	if (*ret <= reader->t_ns + AHEAD_NS && *ret >= reader->t_ns - BEHIND_NS)
		return true;
	reader->counts.off_clock++;
	return false;
}

/* Lines about one thing (lanes): the least or the most counts. False: it came before otherwise. */
static bool scrape_fold(struct sample *sample, enum profile_fold fold, uint64_t value)
{
	if (fold == FOLD_SUM)
		return false;
	const double was = sample_f64(sample->value), is = sample_f64(value);
	if ((fold == FOLD_MIN) == (is < was))
		sample->value = value;
	return true;
}

static void scrape_put(
	struct scrape_reader *reader, const struct push_rule *rule, const struct sample *sample)
{
	const uint64_t subject = (uint64_t)sample->entity << 16 | sample->metric;
	uint64_t at;
	if (map_get(reader->seen, subject, &at)) {
		if (!scrape_fold(&reader->samples[at], rule->value->fold, sample->value))
			reader->counts.repeated++;
		return;
	}
	map_put(reader->seen, subject, reader->n);
	rw_grow(reader->samples, reader->n, reader->cap);
	reader->samples[reader->n++] = *sample;
	reader->counts.samples++;
	scrape_vote(reader, rule->profile);
}

static void scrape_line(struct scrape_reader *reader, const struct push_rule *rule,
	const struct exposition_line *line)
{
	struct push_place place;
	struct sample sample = {.entity = ENTITY_NONE,
		.window_ms = rule->value->window_ms,
		.metric = (uint16_t)rule->value->metric,
		.source = SOURCE_SCRAPE};
	unsigned flags;
	if (!line->number.whole && isnan(line->number.real))
		return; /* "not there" */
	const int rc = push_rule_value(rule, &line->number, &sample.value, &flags);
	if (rc == -ENODATA)
		return;
	if (rc < 0) {
		reader->counts.no_value++;
		return;
	}
	if (push_rule_place(rule, line->labels, line->n_labels, &place) < 0) {
		reader->counts.no_place++;
		return;
	}
	scrape_port(reader, &place);
	if (!scrape_time(reader, line, &sample.t_ns))
		return;
	sample.flags = (uint16_t)flags;
	if (reader->n < SCRAPE_SERIES_MAX)
		sample.entity = entities_intern(
			reader->entities, reader->device, place.port, place.priority);
	if (sample.entity == ENTITY_NONE) {
		reader->counts.beyond++;
		return;
	}
	scrape_put(reader, rule, &sample);
}

static void scrape_named(struct scrape_reader *reader, struct exposition_line *line)
{
	const struct push_rule *rule = push_map_find(reader->names, line->name, line->n_name);
	if (!rule) {
		scrape_unknown(reader, line);
		return;
	}
	if (exposition_labels(&reader->text, line) < 0) {
		reader->counts.bad_lines++;
		return;
	}
	for (; rule; rule = rule->next) {
		if (!push_rule_fits(rule, line->labels, line->n_labels))
			continue;
		scrape_line(reader, rule, line);
		return;
	}
	scrape_unknown(reader, line);
}

bool scrape_reader_step(struct scrape_reader *reader, size_t bytes)
{
	const char *until = reader->text.at;
	struct exposition_line line;
	if ((size_t)(reader->text.end - until) > bytes)
		until += bytes;
	else
		until = reader->text.end;
	while (reader->text.at < until) {
		const int rc = exposition_next(&reader->text, &line);
		if (rc == 0)
			return false;
		if (++reader->counts.lines > SCRAPE_LINES_MAX) {
			reader->counts.beyond++;
			return false;
		}
		if (rc < 0)
			reader->counts.bad_lines++;
		else
			scrape_named(reader, &line);
	}
	return reader->text.at < reader->text.end;
}

const struct sample *scrape_reader_samples(const struct scrape_reader *reader, size_t *ret_n)
{
	*ret_n = reader->n;
	return reader->samples;
}

const struct scrape_counts *scrape_reader_counts(const struct scrape_reader *reader)
{
	return &reader->counts;
}

const struct profile *scrape_reader_profile(const struct scrape_reader *reader)
{
	return reader->profile;
}

/* scrape_reader - pages of exporters to samples. */
#include "collectors/scrape/scrape_reader.h"

#include "config/profile/profile.h"
#include "db/model/entity.h"
#include "config/profile/profile_push.h"

/* exposition - Prometheus text, line by line. */

enum { NUMBER_MAX = 64 }; /* bytes of a number */
#define TIME_MOST_MS 9.0e12 /* beyond, ns do not fit: the year 2255 */

void exposition_begin(struct exposition *text, const char *data, size_t n, bool openmetrics)
{
	text->at = data;
	text->end = data + n;
	text->openmetrics = openmetrics;
}

static bool exposition_blank(char c)
{
	return c == ' ' || c == '\t';
}

static const char *exposition_skip(const char *at, const char *end)
{
	while (at < end && exposition_blank(*at))
		at++;
	return at;
}

static bool exposition_name_char(char c, bool first)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':')
		return true;
	return !first && c >= '0' && c <= '9';
}

/* Where a name that begins at @at ends; @at itself: there is none. */
static const char *exposition_name(const char *at, const char *end)
{
	const char *p = at;
	while (p < end && exposition_name_char(*p, p == at))
		p++;
	return p;
}

int exposition_next(struct exposition *text, struct exposition_line *ret)
{
	while (text->at < text->end) {
		const char *line = text->at;
		const size_t left = (size_t)(text->end - line);
		const char *end = memchr(line, '\n', left);
		if (!end)
			end = text->end;
		text->at = end;
		if (end < text->end)
			text->at++;
		if (end > line && end[-1] == '\r')
			end--;
		line = exposition_skip(line, end);
		if (line == end || *line == '#')
			continue;
		if (end - line > EXPOSITION_LINE_MAX)
			return -EMSGSIZE;
		const char *behind = exposition_name(line, end);
		*ret = (struct exposition_line){.name = line,
			.n_name = (size_t)(behind - line),
			.rest = behind,
			.end = end};
		return behind > line ? 1 : -EBADMSG;
	}
	return 0;
}

/* ---- labels ---------------------------------------------------------------- */

/* The value behind the opening quote at @at: as it stands, or, where something is escaped, a copy
 * at *@room. Where its closing quote stands; NULL: it has none. */
static const char *exposition_quoted(
	const char *at, const char *end, char **room, struct push_label *label)
{
	const char *begin = at;
	while (at < end && *at != '"' && *at != '\\')
		at++;
	label->value = begin;
	label->n_value = (size_t)(at - begin);
	if (at < end && *at == '"')
		return at;
	char *out = *room;
	memcpy(out, begin, label->n_value);
	label->value = out;
	out += label->n_value;
	for (; at < end && *at != '"'; at++) {
		char c = *at;
		if (c == '\\' && ++at == end)
			return NULL;
		if (c == '\\' && *at == 'n')
			c = '\n';
		else
			c = *at;
		*out++ = c;
	}
	label->n_value = (size_t)(out - label->value);
	*room = out;
	return at < end ? at : NULL;
}

/* NAME="value", one behind the other. Where the closing brace stands; NULL with *@ret. */
static const char *exposition_braces(
	struct exposition *text, struct exposition_line *line, const char *at, int *ret)
{
	char *room = text->unescaped;
	*ret = -EBADMSG;
	for (;;) {
		at = exposition_skip(at, line->end);
		if (at < line->end && *at == '}')
			return at;
		if (line->n_labels == EXPOSITION_LABELS_MAX) {
			*ret = -E2BIG;
			return NULL;
		}
		struct push_label *label = &text->labels[line->n_labels];
		const char *behind = exposition_name(at, line->end);
		label->key = at;
		label->n_key = (size_t)(behind - at);
		at = exposition_skip(behind, line->end);
		if (label->n_key == 0 || at >= line->end || *at != '=')
			return NULL;
		at = exposition_skip(at + 1, line->end);
		if (at >= line->end || *at != '"')
			return NULL;
		at = exposition_quoted(at + 1, line->end, &room, label);
		if (!at)
			return NULL;
		line->n_labels++;
		at = exposition_skip(at + 1, line->end);
		if (at < line->end && *at == ',')
			at++;
		else if (at >= line->end || *at != '}')
			return NULL;
	}
}

/* ---- numbers --------------------------------------------------------------- */

/* The word at *@at, ended by a zero byte. False: there is none, or it is too long. */
static bool exposition_word(const char **at, const char *end, char ret[NUMBER_MAX])
{
	const char *begin = exposition_skip(*at, end), *p = begin;
	while (p < end && !exposition_blank(*p))
		p++;
	*at = p;
	if (p == begin || p - begin >= NUMBER_MAX)
		return false;
	memcpy(ret, begin, (size_t)(p - begin));
	ret[p - begin] = '\0';
	return true;
}

static bool exposition_real(const char *word, double *ret)
{
	char *end;
	if (strpbrk(word, "xXpP(")) /* strtod() reads more than the format has */
		return false;
	*ret = strtod(word, &end);
	return *end == '\0';
}

/* Whole numbers without a point keep all their digits: a counter of octets outgrows a double. */
static bool exposition_number(const char *word, struct push_number *ret)
{
	char *end;
	errno = 0;
	ret->integer = strtoll(word, &end, 10);
	ret->whole = *end == '\0' && errno == 0;
	if (ret->whole)
		return true;
	return exposition_real(word, &ret->real);
}

static bool exposition_time(
	const struct exposition *text, const char *word, struct exposition_line *line)
{
	double value;
	if (!exposition_real(word, &value) || !isfinite(value))
		return false;
	if (text->openmetrics)
		value *= 1e3;
	if (fabs(value) > TIME_MOST_MS)
		return false;
	line->has_time = true;
	line->t_ns = (int64_t)llround(value) * 1000000;
	return true;
}

int exposition_labels(struct exposition *text, struct exposition_line *line)
{
	char word[NUMBER_MAX];
	int rc;
	const char *at = exposition_skip(line->rest, line->end);
	line->labels = text->labels;
	line->n_labels = 0;
	if (at < line->end && *at == '{') {
		at = exposition_braces(text, line, at + 1, &rc);
		if (!at)
			return rc;
		at++;
	} else if (at == line->rest) {
		return -EBADMSG; /* nothing between the name and what follows */
	}
	if (!exposition_word(&at, line->end, word) || !exposition_number(word, &line->number))
		return -EBADMSG;
	at = exposition_skip(at, line->end);
	if (at == line->end || (text->openmetrics && *at == '#'))
		return 0;
	if (!exposition_word(&at, line->end, word) || !exposition_time(text, word, line))
		return -EBADMSG;
	at = exposition_skip(at, line->end);
	if (at == line->end || (text->openmetrics && *at == '#'))
		return 0;
	return -EBADMSG;
}

/* ---- scrape_reader ------------------------------------------------------- */

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
	const struct profile_push_value **meant; /* by index of .samples: which name it came by */
	size_t cap_meant;
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
	free(reader->meant);
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
	rw_grow(reader->meant, reader->n, reader->cap_meant);
	reader->meant[reader->n] = rule->value;
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

size_t scrape_reader_rows(const struct scrape_reader *reader,
	const struct profile_push_value *value, size_t *ret_zero)
{
	size_t rows = 0;
	*ret_zero = 0;
	for (size_t i = 0; i < reader->n; i++) {
		if (reader->meant[i] != value)
			continue;
		rows++;
		*ret_zero +=
			sample_number(reader->samples[i].metric, reader->samples[i].value) == 0;
	}
	return rows;
}

const struct scrape_counts *scrape_reader_counts(const struct scrape_reader *reader)
{
	return &reader->counts;
}

const struct profile *scrape_reader_profile(const struct scrape_reader *reader)
{
	return reader->profile;
}

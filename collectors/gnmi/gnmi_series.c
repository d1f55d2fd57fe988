/* gnmi_series - makes samples: of one value each, or of several paths that are added up. */
#include "collectors/gnmi/gnmi_series.h"

#include "config/class_policy.h"
#include "config/profile/profile.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

#define GNMI_EFFECTIVE_UNANSWERED 3

/* gnmi_ports - finds the ports of a device by name and alias, and notes which of them changed. */

void gnmi_ports_init(struct gnmi_ports *ports, const struct profile_gnmi *profile)
{
	*ports = (struct gnmi_ports){
		.profile = profile, .by_name = smap_new(), .by_alias = smap_new()};
}

void gnmi_ports_done(struct gnmi_ports *ports)
{
	for (size_t i = 0; i < ports->n; i++) {
		free(ports->v[i].name);
		free(ports->v[i].alias);
	}
	free(ports->v);
	smap_free(ports->by_name);
	smap_free(ports->by_alias);
}

/* ports_prefixed - @text with the prefix that the fabric uses instead of the device's. */
static void ports_prefixed(
	const struct gnmi_ports *ports, struct gnmi_text text, char name[GNMI_NAME_MAX])
{
	const struct profile_gnmi *profile = ports->profile;
	snprintf(name, GNMI_NAME_MAX, "%.*s", (int)text.n, text.p);
	for (size_t i = 0; i < profile->n_port_prefix; i++) {
		const char *there = profile->port_prefix[i].there;
		const size_t n = strlen(there);
		if (text.n <= n || memcmp(text.p, there, n) != 0)
			continue;
		if (!isdigit((unsigned char)text.p[n]))
			continue;
		snprintf(name, GNMI_NAME_MAX, "%s%.*s", profile->port_prefix[i].here,
			(int)(text.n - n), text.p + n);
		return;
	}
}

/* ports_name - the name of a port as everybody prints it. */
static void ports_name(
	const struct gnmi_ports *ports, struct gnmi_text text, char name[GNMI_NAME_MAX])
{
	ports_prefixed(ports, text, name);
	text_clean(name, GNMI_NAME_MAX, name, strlen(name));
}

uint32_t gnmi_ports_find(const struct gnmi_ports *ports, struct gnmi_text text, bool alias)
{
	char name[GNMI_NAME_MAX];
	uint64_t at;
	if (alias && smap_get(ports->by_alias, text.p, text.n, &at) && at)
		return (uint32_t)at - 1;
	ports_name(ports, text, name);
	if (smap_get(ports->by_name, name, strlen(name), &at))
		return (uint32_t)at;
	for (size_t i = 0; *name == '*' && i < ports->n; i++) {
		if (!str_glob(name, ports->v[i].name))
			continue;
		smap_put(ports->by_name, name, strlen(name), i);
		return (uint32_t)i;
	}
	return GNMI_PORT_NONE;
}

static void port_changed(struct gnmi_ports *ports, struct gnmi_port *port)
{
	port->changed = true;
	ports->changed = true;
}

uint32_t gnmi_ports_add(struct gnmi_ports *ports, struct gnmi_text text, bool alias)
{
	char name[GNMI_NAME_MAX];
	const uint32_t known = gnmi_ports_find(ports, text, alias);
	if (known != GNMI_PORT_NONE)
		return known;
	if (ports->n == GNMI_PORTS_MAX)
		return GNMI_PORT_NONE;
	ports_name(ports, text, name);
	if (*name == '*')
		return GNMI_PORT_NONE; /* the port that it fits was not named yet */
	rw_grow(ports->v, ports->n, ports->cap);
	struct gnmi_port *port = &ports->v[ports->n];
	*port = (struct gnmi_port){.name = rw_strdup(name), .alias = rw_strdup("")};
	port_changed(ports, port);
	smap_put(ports->by_name, name, strlen(name), ports->n);
	return (uint32_t)ports->n++;
}

void gnmi_ports_set_alias(struct gnmi_ports *ports, uint32_t index, const char *alias)
{
	struct gnmi_port *port = &ports->v[index];
	rw_cleanup(freep) char *clean = text_clean_copy(alias);
	alias = clean;
	if (strcmp(port->alias, alias) == 0)
		return;
	if (*port->alias)
		smap_put(ports->by_alias, port->alias, strlen(port->alias), 0);
	free(port->alias);
	port->alias = rw_strdup(alias);
	port_changed(ports, port);
	if (*alias)
		smap_put(ports->by_alias, alias, strlen(alias), index + 1);
	ports->alias_changes++;
}

static void gnmi_ports_set_speed(struct gnmi_ports *ports, uint32_t index, uint64_t bps)
{
	struct gnmi_port *port = &ports->v[index];
	if (port->speed_bps == bps)
		return;
	port->speed_bps = bps;
	port_changed(ports, port);
}

void gnmi_ports_reported(struct gnmi_ports *ports)
{
	for (size_t i = 0; i < ports->n; i++)
		ports->v[i].changed = false;
	ports->changed = false;
}

/* gnmi_convert - turns a value as the server sends it into the unit of its metric. */

#define TEXT_MAX 256

const char *gnmi_convert_kind_name(enum gnmi_kind kind)
{
	static const char *const names[] = {"null", "int", "uint", "bool", "double", "decimal",
		"string", "ascii", "bytes", "proto"};
	if ((size_t)kind < rw_countof(names))
		return names[kind];
	return "?";
}

static bool is_text(const struct gnmi_value *value)
{
	return value->kind == GNMI_STRING || value->kind == GNMI_ASCII;
}

static enum gnmi_convert gnmi_convert_word_of(
	const struct profile_gnmi_value *spec, const struct gnmi_value *value, uint64_t *ret)
{
	char text[TEXT_MAX];
	/* "openconfig-if-ethernet:SPEED_100GB" is "SPEED_100GB": a YANG identity
	 * comes with its module (RFC 7951, 6.8). */
	struct gnmi_value bare = *value;
	const char *colon = NULL;
	if (is_text(value) && value->n)
		colon = memchr(value->p, ':', value->n);
	if (colon) {
		bare.n = (size_t)(value->p + value->n - colon) - 1;
		bare.p = colon + 1;
	}
	gnmi_value_text(&bare, text, sizeof(text)); /* a boolean is "true" or "false" */
	for (size_t i = 0; i < spec->n_words; i++)
		if (strcmp(spec->words[i].word, text) == 0) {
			*ret = spec->words[i].value;
			return GNMI_CONVERT_OK;
		}
	if (!is_text(value))
		return GNMI_CONVERT_WRONG;
	if (!spec->has_otherwise)
		return GNMI_CONVERT_NONE;
	*ret = spec->otherwise;
	return GNMI_CONVERT_OK;
}

/* bits_of - "18" in hex as it is: priorities 3 and 4. */
static enum gnmi_convert bits_of(const struct gnmi_value *value, uint64_t *ret)
{
	char text[3] = "", *end = text;
	if (is_text(value) && value->n < sizeof(text))
		snprintf(text, sizeof(text), "%.*s", (int)value->n, value->p);
	if (!isxdigit((unsigned char)*text))
		return GNMI_CONVERT_WRONG;
	*ret = strtoul(text, &end, 16);
	return *end ? GNMI_CONVERT_WRONG : GNMI_CONVERT_OK;
}

/* priorities_of - "3,4" as a set of bits; "" is the empty set. */
static enum gnmi_convert priorities_of(const struct gnmi_value *value, uint64_t *ret)
{
	uint64_t set = 0;
	if (value->kind == GNMI_UINT && value->u < 8) {
		*ret = (uint64_t)1 << value->u;
		return GNMI_CONVERT_OK;
	}
	for (size_t i = 0; is_text(value) && i < value->n; i++) {
		char c = value->p[i];
		if (c >= '0' && c <= '7')
			set |= (uint64_t)1 << (c - '0');
		else if (c != ',' && c != ' ')
			return GNMI_CONVERT_WRONG;
	}
	*ret = set;
	if (is_text(value))
		return GNMI_CONVERT_OK;
	return GNMI_CONVERT_WRONG;
}

static bool gnmi_convert_unread(
	const struct profile_gnmi_value *spec, const struct gnmi_value *value)
{
	for (size_t i = 0; is_text(value) && i < spec->n_unread; i++)
		if (strlen(spec->unread[i]) == value->n &&
			memcmp(spec->unread[i], value->p, value->n) == 0)
			return true;
	return false;
}

static bool gnmi_convert_ignored(const struct profile_gnmi_value *spec, uint64_t number)
{
	for (size_t i = 0; i < spec->n_ignore; i++)
		if (spec->ignore[i] == number)
			return true;
	return false;
}

enum gnmi_convert gnmi_convert_number(
	const struct profile_gnmi_value *spec, const struct gnmi_value *value, uint64_t *ret)
{
	if (spec->n_words || spec->has_otherwise)
		return gnmi_convert_word_of(spec, value, ret);
	if (gnmi_value_u64(value, ret) < 0)
		return GNMI_CONVERT_WRONG;
	return GNMI_CONVERT_OK;
}

void gnmi_bare_name(char *text)
{
	const size_t n = strlen(text);
	if (n < 2 || text[0] != '[' || text[n - 1] != ']')
		return;
	const size_t table = strcspn(text, "|:");
	if (table == n)
		return;
	text[n - 1] = '\0';
	memmove(text, text + table + 1, n - table - 1);
}

/* class_of - what a row of a map leads to. */
static enum gnmi_convert class_of(const struct gnmi_value *value, uint64_t *ret)
{
	if (gnmi_value_u64(value, ret) < 0 || *ret >= FABRIC_CLASSES)
		return GNMI_CONVERT_WRONG;
	return GNMI_CONVERT_OK;
}

/* text_said - the text that the profile has for this word, else the word itself. */
static const char *text_said(const struct profile_gnmi_value *spec, const char *word)
{
	for (size_t i = 0; i < spec->n_words; i++)
		if (strcmp(spec->words[i].word, word) == 0)
			return spec->words[i].text;
	return str_or(spec->otherwise_text, word);
}

enum gnmi_convert gnmi_convert(const struct profile_gnmi_value *spec,
	const struct gnmi_value *value, struct gnmi_texts texts, uint64_t cell_bytes,
	struct gnmi_converted *ret)
{
	const struct metric_info *m = metric_info((unsigned)spec->metric);
	uint64_t cells = 1;
	if (spec->cells)
		cells = cell_bytes;
	struct gnmi_value bare = *value;
	char text[TEXT_MAX];
	enum gnmi_convert rc = GNMI_CONVERT_OK;
	*ret = (struct gnmi_converted){0};
	if (value->kind == GNMI_NULL || cells == 0 || gnmi_convert_unread(spec, value))
		return GNMI_CONVERT_NONE;
	if (spec->map)
		return class_of(value, &ret->u);
	if (m->type == TYPE_TEXT) {
		gnmi_value_text(value, text, sizeof(text));
		if (spec->of)
			gnmi_bare_name(text);
		const char *said = text_said(spec, text);
		ret->u = entities_text_of(texts.entities, texts.device, said);
		if (ret->u == 0 && *said)
			return GNMI_CONVERT_NONE; /* too many texts of this device */
		return GNMI_CONVERT_OK;
	}
	if (spec->bits)
		return bits_of(value, &ret->u);
	if (spec->priorities)
		return priorities_of(value, &ret->u);
	if (spec->suffix && is_text(value)) {
		size_t n = strlen(spec->suffix);
		if (bare.n > n && memcmp(bare.p + bare.n - n, spec->suffix, n) == 0)
			bare.n -= n;
	}
	if (m->type == TYPE_F64) {
		if (gnmi_value_double(&bare, &ret->d) < 0)
			return GNMI_CONVERT_WRONG;
		ret->d = ret->d * (double)cells * (double)spec->mul / (double)spec->div;
		return GNMI_CONVERT_OK;
	}
	if (spec->n_words || spec->has_otherwise)
		rc = gnmi_convert_word_of(spec, value, &ret->u);
	else if (gnmi_value_u64(&bare, &ret->u) < 0)
		rc = GNMI_CONVERT_WRONG;
	if (rc == GNMI_CONVERT_OK && gnmi_convert_ignored(spec, ret->u))
		rc = GNMI_CONVERT_NONE;
	ret->u = ret->u * cells * spec->mul / spec->div;
	return rc;
}

/* gnmi_effective - remembers, for each series, the last round in which an effective stream gave it.
 */

struct gnmi_effective {
	struct map *given; /* entity and metric -> round */
	uint64_t round; /* rounds that were answered in full */
	unsigned unanswered; /* times it was asked since then */
};

struct gnmi_effective *gnmi_effective_new(void)
{
	struct gnmi_effective *effective = rw_calloc(1, sizeof(*effective));
	effective->given = map_new();
	return effective;
}

void gnmi_effective_free(struct gnmi_effective *effective)
{
	if (!effective)
		return;
	map_free(effective->given);
	free(effective);
}

void gnmi_effective_asked(struct gnmi_feed *feed)
{
	if (feed->stream->effective)
		feed->decoder->effective->unanswered++;
}

void gnmi_effective_round(struct gnmi_feed *feed)
{
	if (!feed->stream->effective)
		return;
	feed->decoder->effective->round++;
	feed->decoder->effective->unanswered = 0;
}

/* gnmi_effective_take - may a value of @series be taken from @feed? */
static bool gnmi_effective_take(struct gnmi_feed *feed, const struct gnmi_series *series)
{
	struct gnmi_effective *effective = feed->decoder->effective;
	const uint64_t key = (uint64_t)series->entity << 16 | series->metric;
	uint64_t round;
	if (!effective)
		return true;
	if (feed->stream->effective) {
		map_put(effective->given, key, effective->round);
		return true;
	}
	if (effective->unanswered > GNMI_EFFECTIVE_UNANSWERED)
		return true;
	if (!map_get(effective->given, key, &round))
		return true;
	return round + 1 < effective->round;
}

/* ---- gnmi_series ----------------------------------------------------------- */

#define LINE_LEAST_BPS 1000000u /* a lower speed is a placeholder, not a speed */

int gnmi_series_priority_of(const struct gnmi_feed *feed, enum gnmi_number number, unsigned n)
{
	if (number == GNMI_NUMBER_PRIORITY)
		return (int)n;
	return profile_priority(feed->decoder->profile, n);
}

static uint32_t series_entity(struct gnmi_decoder *decoder, const struct gnmi_series_key *key)
{
	struct entities *entities = decoder->entities;
	const char *device = decoder->device;
	char name[GNMI_NAME_MAX + 80];
	/* 1. of a pool, or of the device */
	const enum metric_scope scope = metric_info((unsigned)key->metric)->scope;
	if (key->port == GNMI_PORT_NONE || scope == SCOPE_DEVICE) {
		if (!key->pool.p)
			return entities_intern(entities, device, NULL, PRIO_NONE);
		snprintf(name, sizeof(name), "pool:%.*s", (int)key->pool.n, key->pool.p);
		return entities_intern(entities, device, name, PRIO_NONE);
	}
	/* 2. of a port */
	const char *port = decoder->ports.v[key->port].name;
	if (scope != SCOPE_PRIO)
		return entities_intern(entities, device, port, PRIO_NONE);
	/* 3. of a priority */
	if (key->priority != PRIO_NONE || !key->queue)
		return entities_intern(entities, device, port, key->priority);
	/* 4. of a queue that the profile maps to no priority: kept under the queue's name */
	snprintf(name, sizeof(name), "%s#q%s", port, key->queue);
	return entities_intern(entities, device, name, PRIO_NONE);
}

uint32_t gnmi_series_at(struct gnmi_feed *feed, const struct gnmi_series_key *key)
{
	const uint32_t entity = series_entity(feed->decoder, key);
	const uint16_t metric = (uint16_t)key->metric;
	if (entity == ENTITY_NONE) { /* the device has too many names; counted there */
		feed->decoder->stats.over_limit++;
		return GNMI_SERIES_NONE;
	}
	const uint64_t hash_key = (uint64_t)entity << 16 | metric;
	uint64_t at;
	if (map_get(feed->by_entity, hash_key, &at))
		return (uint32_t)at;
	if (feed->n_series == GNMI_SERIES_MAX) {
		gnmi_refuse(feed->decoder);
		return GNMI_SERIES_NONE;
	}
	rw_grow(feed->series, feed->n_series, feed->cap_series);
	feed->series[feed->n_series] = (struct gnmi_series){.entity = entity,
		.metric = metric,
		.port = key->port,
		.epoch = feed->decoder->epoch,
		.first_part = GNMI_SERIES_NONE};
	entities_hold(feed->decoder->entities, entity);
	map_put(feed->by_entity, hash_key, feed->n_series);
	return (uint32_t)feed->n_series++;
}

/* series_bound - the most that a counter can grow by in one second; 0 = unknown. */
static double series_bound(const struct gnmi_decoder *decoder, const struct gnmi_series *series)
{
	uint64_t speed_bps;
	switch (series->metric) {
	case M_PORT_IN_OCTETS:
	case M_PORT_OUT_OCTETS:
	case M_QUEUE_OUT_OCTETS:
		if (series->port == GNMI_PORT_NONE)
			return 0;
		speed_bps = decoder->ports.v[series->port].speed_bps;
		if (speed_bps < LINE_LEAST_BPS)
			return 0;
		return (double)speed_bps / 8;
	case M_PFC_RX_PAUSE_NS:
	case M_PFC_TX_PAUSE_NS: return 1e9;
	default: return 0;
	}
}

/* series_check - the flags of a counter, with SF_SUSPECT when it cannot have grown like that. */
static unsigned series_check(struct gnmi_decoder *decoder, struct gnmi_series *series, int64_t t_ns,
	uint64_t value, unsigned flags)
{
	const double bound = series_bound(decoder, series);
	if (bound <= 0)
		return flags;
	if (!series->check) {
		rw_grow(decoder->checks, decoder->n_checks, decoder->cap_checks);
		decoder->checks[decoder->n_checks++] = (struct counter_check){0};
		series->check = (uint32_t)decoder->n_checks;
	}
	flags = counter_check_take(&decoder->checks[series->check - 1], t_ns, value, flags, bound);
	decoder->stats.suspects += (flags & SF_SUSPECT) != 0;
	return flags;
}

/* A counter that comes far more often than it was asked for. States are taken as they come: each
 * change may matter, and the last one counts. */
static bool series_too_often(
	const struct gnmi_feed *feed, const struct gnmi_series *series, int64_t t_ns)
{
	const int64_t since_ns = t_ns - series->t_ns;
	return metric_info(series->metric)->kind == METRIC_COUNTER && since_ns > 0 &&
		since_ns < feed->least_ns;
}

void gnmi_series_emit(struct gnmi_feed *feed, struct gnmi_series *series,
	const struct gnmi_converted *value, struct gnmi_sample_info info, struct sample_list *out)
{
	struct gnmi_decoder *decoder = feed->decoder;
	const struct metric_info *metric = metric_info(series->metric);
	unsigned flags = 0;
	uint64_t bits = value->u;
	if (!gnmi_effective_take(feed, series))
		return;
	if (series_too_often(feed, series, info.t_ns)) {
		decoder->stats.too_often++;
		series->remade |= info.remade;
		return;
	}
	info.remade |= series->remade;
	series->remade = false;
	series->t_ns = info.t_ns;
	if (value->estimated)
		flags = SF_ESTIMATED;
	if (metric->type == TYPE_F64)
		bits = sample_of_f64(value->d);
	if (metric->kind == METRIC_COUNTER) {
		if (info.remade || series->epoch != decoder->epoch)
			flags |= SF_RESTART;
		flags = series_check(decoder, series, info.t_ns, bits, flags);
	}
	series->epoch = decoder->epoch;
	if (series->metric == M_PORT_SPEED_BPS && series->port != GNMI_PORT_NONE)
		gnmi_ports_set_speed(&decoder->ports, series->port, bits);
	rw_grow(out->v, out->n, out->cap);
	out->v[out->n++] = (struct sample){.t_ns = info.t_ns,
		.value = bits,
		.entity = series->entity,
		.metric = series->metric,
		.flags = (uint16_t)flags,
		.source = SOURCE_GNMI,
		.window_ms = info.window_ms};
}

/* ---- series of several parts --------------------------------------------- */

static uint64_t fold_whole(enum profile_fold fold, uint64_t sum, uint64_t value)
{
	const bool is_less = value < sum;
	if (fold == FOLD_SUM)
		return sum + value;
	if (is_less == (fold == FOLD_MIN))
		return value;
	return sum;
}

static double fold_double(enum profile_fold fold, double sum, double value)
{
	if (fold == FOLD_MIN)
		return fmin(sum, value);
	if (fold == FOLD_MAX)
		return fmax(sum, value);
	return sum + value;
}

/* adds - is it a part of the sum, and not only of what is taken away from it? */
static bool adds(const struct profile_gnmi_value *spec)
{
	return !spec->subtract && !spec->restores;
}

/* has_better - is there a value of a row that is not only a fallback? */
static bool has_better(const struct gnmi_feed *feed, const struct gnmi_series *series)
{
	for (uint32_t i = series->first_part; i != GNMI_SERIES_NONE; i = feed->parts[i].next) {
		const struct profile_gnmi_value *spec = feed->parts[i].row->spec;
		if (feed->parts[i].seen && !spec->fallback && adds(spec))
			return true;
	}
	return false;
}

struct taken { /* from a sum */
	bool any;
	uint64_t away, back;
};

/* difference - what is left of @sum. The counters of a difference are read one after the other:
 * without a restart it does not go back. */
static uint64_t difference(struct gnmi_series *series, uint64_t sum, struct taken taken)
{
	uint64_t away = 0;
	if (taken.away > taken.back)
		away = taken.away - taken.back;
	uint64_t left = 0;
	if (sum > away)
		left = sum - away;
	if (left < series->held && !series->went_back)
		left = series->held;
	series->held = left;
	return left;
}

void gnmi_series_emit_parts(
	struct gnmi_feed *feed, struct gnmi_series *series, int64_t t_ns, struct sample_list *out)
{
	const bool better = has_better(feed, series);
	const bool is_double = metric_info(series->metric)->type == TYPE_F64;
	struct gnmi_converted sum = {0};
	struct gnmi_sample_info info = {.t_ns = t_ns};
	struct taken taken = {0};
	uint32_t seen = 0;
	for (uint32_t i = series->first_part; i != GNMI_SERIES_NONE; i = feed->parts[i].next) {
		struct gnmi_part *part = &feed->parts[i];
		const struct profile_gnmi_value *spec = part->row->spec;
		part->fresh = false;
		if (!part->seen || (better && spec->fallback))
			continue;
		if (!adds(spec)) {
			taken.any = true;
			taken.away += spec->subtract ? part->u : 0;
			taken.back += spec->restores ? part->u : 0;
			continue;
		}
		seen++;
		info.window_ms = spec->window_ms;
		sum.estimated |= part->estimated;
		if (seen == 1 && is_double)
			sum.d = part->d;
		else if (seen == 1)
			sum.u = part->u;
		else if (is_double)
			sum.d = fold_double(spec->fold, sum.d, part->d);
		else
			sum.u = fold_whole(spec->fold, sum.u, part->u);
	}
	if (!seen)
		return;
	if (series->epoch != feed->decoder->epoch)
		series->went_back = true;
	if (taken.any)
		sum.u = difference(series, sum.u, taken);
	series->went_back = false;
	info.remade = series->emitted_parts &&
		(series->emitted_parts != seen || series->better != better);
	gnmi_series_emit(feed, series, &sum, info, out);
	series->emitted_parts = seen;
	series->better = better;
}

static void emit_at_round_end(struct gnmi_feed *feed, uint32_t series)
{
	if (feed->series[series].pending)
		return;
	feed->series[series].pending = true;
	rw_grow(feed->pending, feed->n_pending, feed->cap_pending);
	feed->pending[feed->n_pending++] = series;
}

/* all_fresh - has every part that ever had a value a new one? */
static bool all_fresh(const struct gnmi_feed *feed, const struct gnmi_series *series)
{
	for (uint32_t i = series->first_part; i != GNMI_SERIES_NONE; i = feed->parts[i].next)
		if (feed->parts[i].seen && !feed->parts[i].fresh)
			return false;
	return true;
}

void gnmi_series_take_part(struct gnmi_feed *feed, uint32_t index,
	const struct gnmi_converted *value, int64_t t_ns, struct sample_list *out)
{
	struct gnmi_part *part = &feed->parts[index];
	struct gnmi_series *series = &feed->series[part->series];
	/* A second value of this part: the others sent none, so they did not change. */
	if (part->fresh && feed->complete)
		gnmi_series_emit_parts(feed, series, t_ns, out);
	const bool is_double = metric_info(series->metric)->type == TYPE_F64;
	if (!is_double && part->seen && value->u < part->u && adds(part->row->spec))
		series->went_back = true;
	if (is_double)
		part->d = value->d;
	else
		part->u = value->u;
	part->estimated = value->estimated;
	/* A lane that was never seen, of a port that was named late: the others follow. */
	const bool others_follow = !part->seen && part->row->spec->fold != FOLD_SUM;
	part->seen = part->fresh = true;
	if (!feed->complete)
		emit_at_round_end(feed, part->series);
	else if (!others_follow && all_fresh(feed, series))
		gnmi_series_emit_parts(feed, series, t_ns, out);
}

/* gnmi_objects - samples of objects that ports and queues refer to by name: a WRED profile, a
 * transceiver. */

/* Which numbers (priorities, queues) a value is of. */
struct object_place {
	enum gnmi_number number;
	uint64_t numbers;
};

/* object_wanted - it has a value, and is no fallback for another property that has one. */
static bool object_wanted(const struct gnmi_feed *feed, const struct gnmi_property *property)
{
	const struct profile_gnmi_value *spec = property->row->spec;
	if (!property->has_value)
		return false;
	if (!spec->fallback)
		return true;
	for (size_t i = 0; i < feed->n_properties; i++) {
		const struct gnmi_property *other = &feed->properties[i];
		const struct profile_gnmi_value *other_spec = other->row->spec;
		if (!other->has_value || other_spec->fallback)
			continue;
		if (other_spec->metric == spec->metric && strcmp(other->name, property->name) == 0)
			return false;
	}
	return true;
}

/* object_shared - does another port refer to the same object, as the ports of a split transceiver
 * do? */
static bool object_shared(const struct gnmi_feed *feed, const struct gnmi_reference *reference)
{
	for (size_t i = 0; i < feed->n_references; i++) {
		const struct gnmi_reference *other = &feed->references[i];
		if (other->port == reference->port || !other->name)
			continue;
		if (str_eq(other->kind, reference->kind) &&
			strcmp(other->name, reference->name) == 0)
			return true;
	}
	return false;
}

/* object_of_port - is the value the port's own? Of an object that several ports share it is so only
 * where the device says which lanes are the port's. */
static bool object_of_port(const struct gnmi_feed *feed, const struct gnmi_reference *reference,
	const struct gnmi_property *property, bool shared)
{
	uint64_t lanes = 0;
	if (reference->port != GNMI_PORT_NONE)
		lanes = feed->decoder->ports.v[reference->port].lanes;
	if (property->has_lane && lanes)
		return (property->lanes & lanes) != 0;
	return !shared || (!property->has_lane && !property->row->spec->alone);
}

/* object_of_queue - a value of one queue of the object, as of a class of a policy, is of that queue
 * alone. */
static bool object_of_queue(
	const struct gnmi_reference *reference, const struct gnmi_property *property)
{
	if (reference->number == GNMI_NUMBER_NONE || property->number == GNMI_NUMBER_NONE)
		return true;
	return reference->number == property->number &&
		(reference->numbers & property->numbers) != 0;
}

static struct object_place object_place_of(
	const struct gnmi_reference *reference, const struct gnmi_property *property)
{
	if (reference->number == GNMI_NUMBER_NONE)
		return (struct object_place){property->number, property->numbers};
	if (property->number == GNMI_NUMBER_NONE)
		return (struct object_place){reference->number, reference->numbers};
	return (struct object_place){reference->number, reference->numbers & property->numbers};
}

static void object_emit_at(struct gnmi_feed *feed, const struct gnmi_converted *value,
	const struct gnmi_series_key *key, int64_t t_ns, struct sample_list *out)
{
	const uint32_t index = gnmi_series_at(feed, key);
	if (index != GNMI_SERIES_NONE)
		gnmi_series_emit(feed, &feed->series[index], value,
			(struct gnmi_sample_info){.t_ns = t_ns}, out);
}

/* object_emit_value - as a sample of the port, or of each priority or queue that refers to it. */
static void object_emit_value(struct gnmi_feed *feed, const struct gnmi_reference *reference,
	const struct gnmi_property *property, const struct gnmi_converted *value, int64_t t_ns,
	struct sample_list *out)
{
	char queue[16];
	const struct object_place place = object_place_of(reference, property);
	struct gnmi_series_key key = {.metric = property->row->spec->metric,
		.port = reference->port,
		.priority = PRIO_NONE};
	if (place.number == GNMI_NUMBER_NONE) {
		object_emit_at(feed, value, &key, t_ns, out);
		return;
	}
	key.queue = queue;
	for (unsigned n = 0; n < 64; n++) {
		if (!(place.numbers >> n & 1))
			continue;
		snprintf(queue, sizeof(queue), "%u", n);
		key.priority = gnmi_series_priority_of(feed, place.number, n);
		object_emit_at(feed, value, &key, t_ns, out);
	}
}

/* object_is_named - does @reference name the object of @property? */
static bool object_is_named(
	const struct gnmi_reference *reference, const struct gnmi_property *property)
{
	return reference->name && str_eq(reference->kind, property->row->spec->of) &&
		strcmp(reference->name, property->name) == 0;
}

static bool object_of_device(const struct profile_gnmi_value *spec)
{
	return spec->of && metric_info((unsigned)spec->metric)->scope == SCOPE_DEVICE;
}

/* object_has - is @property a value of the object, and of this port? */
static bool object_has(const struct gnmi_feed *feed, const struct gnmi_reference *reference,
	const struct gnmi_property *property, bool shared)
{
	return object_is_named(reference, property) && !object_of_device(property->row->spec) &&
		object_of_queue(reference, property) && object_wanted(feed, property) &&
		object_of_port(feed, reference, property, shared);
}

/* object_folds - do these become one value, as the lanes of a transceiver do? */
static bool object_folds(const struct gnmi_property *left, const struct gnmi_property *right)
{
	const struct profile_gnmi_value *a = left->row->spec;
	const struct profile_gnmi_value *b = right->row->spec;
	return a->fold != FOLD_SUM && a->fold == b->fold && a->metric == b->metric &&
		left->numbers == right->numbers;
}

static void object_fold(const struct profile_gnmi_value *spec, struct gnmi_converted *to,
	struct gnmi_converted value)
{
	const bool is_double = metric_info((unsigned)spec->metric)->type == TYPE_F64;
	bool is_less = value.u < to->u;
	if (is_double)
		is_less = value.d < to->d;
	if (is_less == (spec->fold == FOLD_MIN))
		*to = value;
}

/* object_emit_map - the rows of a map as one text, where @property is the first of them. */
static void object_emit_map(struct gnmi_feed *feed, const struct gnmi_reference *reference,
	size_t property, int64_t t_ns, struct sample_list *out)
{
	rw_cleanup(str_done) struct str text = {0};
	const struct gnmi_property *of = &feed->properties[property];
	uint8_t map[CLASS_DSCPS];
	memset(map, CLASS_NO_ROW, sizeof(map));
	for (size_t i = 0; i < feed->n_properties; i++) {
		const struct gnmi_property *row = &feed->properties[i];
		if (row->row != of->row || !row->has_value || strcmp(row->name, of->name) != 0)
			continue;
		if (i < property)
			return;
		for (unsigned n = 0; n < CLASS_DSCPS; n++)
			if (row->numbers >> n & 1)
				map[n] = (uint8_t)row->value.u;
	}
	class_map_text(map, CLASS_DSCPS, &text);
	const struct gnmi_series_key key = {
		.metric = of->row->spec->metric, .port = reference->port, .priority = PRIO_NONE};
	const struct gnmi_converted value = {
		.u = entities_text_of(feed->decoder->entities, feed->decoder->device, text.s)};
	if (value.u)
		object_emit_at(feed, &value, &key, t_ns, out);
}

/* object_emit - the values of the object that @reference names. Of those that fold, the first one
 * speaks for all. */
static void object_emit(struct gnmi_feed *feed, const struct gnmi_reference *reference,
	int64_t t_ns, struct sample_list *out)
{
	if (!reference->name)
		return;
	const bool shared = object_shared(feed, reference);
	for (size_t i = 0; i < feed->n_properties; i++) {
		const struct gnmi_property *property = &feed->properties[i];
		if (!object_has(feed, reference, property, shared))
			continue;
		if (property->row->spec->map) {
			object_emit_map(feed, reference, i, t_ns, out);
			continue;
		}
		struct gnmi_converted value = property->value;
		bool first = true;
		for (size_t k = 0; k < feed->n_properties && first; k++) {
			const struct gnmi_property *other = &feed->properties[k];
			if (k == i || !object_folds(property, other) ||
				!object_has(feed, reference, other, shared))
				continue;
			first = k > i;
			object_fold(property->row->spec, &value, other->value);
		}
		if (first)
			object_emit_value(feed, reference, property, &value, t_ns, out);
	}
}

/* object_device_value - of all objects that any place refers to; false when there is none, or when
 * they differ and have no word for it. */
static bool object_device_value(
	const struct gnmi_feed *feed, const struct gnmi_row *row, struct gnmi_converted *ret)
{
	bool any = false, differ = false;
	for (size_t i = 0; i < feed->n_references; i++)
		for (size_t k = 0; k < feed->n_properties; k++) {
			const struct gnmi_property *property = &feed->properties[k];
			if (property->row != row || !property->has_value ||
				!object_is_named(&feed->references[i], property))
				continue;
			differ |= any && property->value.u != ret->u;
			*ret = property->value;
			any = true;
		}
	if (!differ)
		return any;
	if (metric_info((unsigned)row->spec->metric)->type != TYPE_TEXT)
		return false;
	ret->u = entities_text_of(feed->decoder->entities, feed->decoder->device, "mixed");
	return true;
}

/* object_emit_device - a setting of the whole device is one sample. */
static void object_emit_device(
	struct gnmi_feed *feed, const struct gnmi_row *row, int64_t t_ns, struct sample_list *out)
{
	const struct gnmi_series_key key = {
		.metric = row->spec->metric, .port = GNMI_PORT_NONE, .priority = PRIO_NONE};
	struct gnmi_converted value = {0};
	if (object_device_value(feed, row, &value))
		object_emit_at(feed, &value, &key, t_ns, out);
}

static bool object_refers(const struct gnmi_feed *feed, const char *kind, uint32_t port)
{
	for (size_t i = 0; i < feed->n_references; i++)
		if (feed->references[i].port == port && feed->references[i].name &&
			str_eq(feed->references[i].kind, kind))
			return true;
	return false;
}

/* object_emit_everywhere - @reference is of no place: it holds for each port without its own. */
static void object_emit_everywhere(struct gnmi_feed *feed, struct gnmi_reference reference,
	int64_t t_ns, struct sample_list *out)
{
	const uint32_t ports = (uint32_t)feed->decoder->ports.n;
	for (reference.port = 0; reference.port < ports; reference.port++)
		if (!object_refers(feed, reference.kind, reference.port))
			object_emit(feed, &reference, t_ns, out);
}

void gnmi_objects_emit(struct gnmi_feed *feed, int64_t t_ns, struct sample_list *out)
{
	for (size_t i = 0; i < feed->n_references; i++)
		if (feed->references[i].port == GNMI_PORT_NONE)
			object_emit_everywhere(feed, feed->references[i], t_ns, out);
		else
			object_emit(feed, &feed->references[i], t_ns, out);
	for (size_t i = 0; i < feed->n_rows; i++)
		if (object_of_device(feed->rows[i].spec))
			object_emit_device(feed, &feed->rows[i], t_ns, out);
}

/* gnmi_lldp - collects the leaves of LLDP neighbours until a round is complete. */

struct gnmi_neighbor {
	uint32_t port; /* index */
	const char *id; /* of the neighbour in the device's table */
	const char *sysname, *chassis, *port_id, *port_descr; /* NULL: not sent */
	const char *sysdesc;
	int chassis_kind, port_kind;
	uint8_t capabilities;
};

struct gnmi_lldp {
	struct arena *arena; /* texts of one round */
	struct gnmi_neighbor *v;
	size_t n, cap;
	const char *chassis; /* the device's own */
};

struct gnmi_lldp *gnmi_lldp_new(void)
{
	struct gnmi_lldp *lldp = rw_calloc(1, sizeof(*lldp));
	*lldp = (struct gnmi_lldp){.arena = arena_new(), .chassis = ""};
	return lldp;
}

void gnmi_lldp_free(struct gnmi_lldp *lldp)
{
	if (!lldp)
		return;
	arena_free(lldp->arena);
	free(lldp->v);
	free(lldp);
}

void gnmi_lldp_clear(struct gnmi_lldp *lldp)
{
	arena_reset(lldp->arena);
	lldp->n = 0;
	lldp->chassis = "";
}

static bool neighbor_is(
	const struct gnmi_neighbor *neighbor, uint32_t port, const char *id, size_t n)
{
	return neighbor->port == port && strlen(neighbor->id) == n &&
		memcmp(neighbor->id, id, n) == 0;
}

uint32_t gnmi_lldp_of(struct gnmi_lldp *lldp, uint32_t port, const char *id, size_t n)
{
	/* from the newest: the leaves of one neighbour come together */
	for (size_t i = lldp->n; i-- > 0;)
		if (neighbor_is(&lldp->v[i], port, id, n))
			return (uint32_t)i;
	if (lldp->n == GNMI_LLDP_NEIGHBORS_MAX)
		return GNMI_LLDP_NONE;
	rw_grow(lldp->v, lldp->n, lldp->cap);
	lldp->v[lldp->n] =
		(struct gnmi_neighbor){.port = port, .id = arena_strndup(lldp->arena, id, n)};
	return (uint32_t)lldp->n++;
}

/* What a neighbour says of itself, as everybody prints it. */
static char *gnmi_lldp_text(struct arena *a, const char *text)
{
	rw_cleanup(freep) char *clean = text_clean_copy(text);
	return arena_strdup(a, clean);
}

/* is_mac - "00:11:22:33:44:55", also with dashes. */
static bool is_mac(const char *text)
{
	size_t i = 0;
	for (; text[i] && i < 17; i++) {
		const bool separator = text[i] == ':' || text[i] == '-';
		const bool digit = isxdigit((unsigned char)text[i]) != 0;
		if (i % 3 == 2 ? !separator : !digit)
			return false;
	}
	return i == 17 && !text[i];
}

/* id_text - a MAC address as lldp_id_text() writes it: lower case, with colons. Any other id as it
 * is. */
static const char *id_text(struct arena *a, const char *text)
{
	char *copy = gnmi_lldp_text(a, text);
	if (!is_mac(text))
		return copy;
	for (char *p = copy; *p; p++) {
		if (*p == '-')
			*p = ':';
		*p = (char)tolower((unsigned char)*p);
	}
	return copy;
}

/* gnmi_lldp_kind_of - 0, "not known", for a number that the standard does not have. */
static int gnmi_lldp_kind_of(uint64_t number, int last)
{
	if (number <= (uint64_t)last)
		return (int)number;
	return 0;
}

static uint8_t capability_if(const char *text, uint8_t bit)
{
	if (str_eq(text, "true") || str_eq(text, "1"))
		return bit;
	return 0;
}

void gnmi_lldp_take(struct gnmi_lldp *lldp, uint32_t at, enum profile_gnmi_attribute which,
	const char *text, uint64_t number)
{
	struct arena *a = lldp->arena;
	if (which == GNMI_ATTRIBUTE_CHASSIS) {
		lldp->chassis = id_text(a, text);
		return;
	}
	if (at >= lldp->n)
		return;
	struct gnmi_neighbor *neighbor = &lldp->v[at];
	switch (which) {
	case GNMI_ATTRIBUTE_NEIGHBOR_SYSNAME: neighbor->sysname = gnmi_lldp_text(a, text); break;
	case GNMI_ATTRIBUTE_NEIGHBOR_CHASSIS: neighbor->chassis = id_text(a, text); break;
	case GNMI_ATTRIBUTE_NEIGHBOR_PORT: neighbor->port_id = id_text(a, text); break;
	case GNMI_ATTRIBUTE_NEIGHBOR_DESCR: neighbor->port_descr = gnmi_lldp_text(a, text); break;
	case GNMI_ATTRIBUTE_NEIGHBOR_CHASSIS_KIND:
		neighbor->chassis_kind = gnmi_lldp_kind_of(number, LLDP_CHASSIS_LOCAL);
		break;
	case GNMI_ATTRIBUTE_NEIGHBOR_PORT_KIND:
		neighbor->port_kind = gnmi_lldp_kind_of(number, LLDP_PORT_LOCAL);
		break;
	case GNMI_ATTRIBUTE_NEIGHBOR_SYSDESC: neighbor->sysdesc = gnmi_lldp_text(a, text); break;
	case GNMI_ATTRIBUTE_NEIGHBOR_CAPABILITIES:
		neighbor->capabilities |= neighbor_capabilities_hex(text);
		break;
	case GNMI_ATTRIBUTE_NEIGHBOR_BRIDGE:
		neighbor->capabilities |= capability_if(text, LLDP_CAP_BRIDGE);
		break;
	case GNMI_ATTRIBUTE_NEIGHBOR_ROUTER:
		neighbor->capabilities |= capability_if(text, LLDP_CAP_ROUTER);
		break;
	case GNMI_ATTRIBUTE_NEIGHBOR_STATION:
		neighbor->capabilities |= capability_if(text, LLDP_CAP_STATION);
		break;
	default: break;
	}
}

static const char *text_copy(struct arena *a, const char *text)
{
	return arena_strdup(a, str_or(text, ""));
}

static enum neighbor_kind gnmi_lldp_neighbor_kind(
	const struct profiles *profiles, const struct gnmi_neighbor *neighbor)
{
	struct neighbor_signs signs = {.capabilities = neighbor->capabilities};
	if (profiles)
		profiles_neighbor_signs(profiles, str_or(neighbor->sysdesc, ""),
			str_or(neighbor->port_id, ""), str_or(neighbor->port_descr, ""), &signs);
	return neighbor_kind_of(&signs);
}

size_t gnmi_lldp_result(const struct gnmi_lldp *lldp, struct arena *a,
	const struct profiles *profiles, struct topology_device *self,
	struct topology_neighbor **ret_neighbors)
{
	size_t n = 0;
	self->name = arena_strdup(a, self->name);
	self->sysname = arena_strdup(a, self->sysname);
	self->chassis = arena_strdup(a, lldp->chassis);
	*ret_neighbors = arena_array(a, struct topology_neighbor, lldp->n + 1);
	for (size_t i = 0; i < lldp->n; i++) {
		const struct gnmi_neighbor *neighbor = &lldp->v[i];
		if (neighbor->port >= self->n_ports)
			continue;
		if (!neighbor->sysname && !neighbor->chassis && !neighbor->port_id)
			continue;
		(*ret_neighbors)[n++] = (struct topology_neighbor){.device = self->name,
			.port = self->ports[neighbor->port].name,
			.sysname = text_copy(a, neighbor->sysname),
			.chassis_subtype = neighbor->chassis_kind,
			.port_subtype = neighbor->port_kind,
			.chassis = text_copy(a, neighbor->chassis),
			.port_id = text_copy(a, neighbor->port_id),
			.port_descr = text_copy(a, neighbor->port_descr),
			.kind = gnmi_lldp_neighbor_kind(profiles, neighbor)};
	}
	return n;
}

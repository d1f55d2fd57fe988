/* push_feed - messages to samples. */
#include "collectors/push/push_feed.h"

#include "config/profile/profile_push.h"
#include "db/model/entity.h"
#include "config/address.h"
#include "config/config.h"

/* ---- push_senders - names and addresses of the devices that push. */

enum { SENDER_NAME_MAX = 254 };

/* Attributes of a resource that name a device, the surest first. Source: OpenTelemetry semantic
 * conventions, host and service; net.host.name is the older name of the first. */
static const char *const sender_keys[] = {"host.name", "net.host.name", "hostname", "host",
	"device.name", "service.instance.id", "host.id", "net.host.ip", "host.ip"};
#define SENDER_HOST_KEYS 5 /* so many of them are names that people give */

struct push_senders {
	struct smap *names; /* lower case -> number + 1; 0 = of several */
	struct smap *addresses;
	struct map *pinned; /* numbers of devices whose name counts from their address only */
};

static size_t sender_lower(char buf[SENDER_NAME_MAX], const char *name, size_t n)
{
	if (n >= SENDER_NAME_MAX)
		return 0;
	for (size_t i = 0; i < n; i++)
		buf[i] = (char)tolower((unsigned char)name[i]);
	return n;
}

static void sender_put(struct smap *map, const void *key, size_t n, uint32_t number)
{
	uint64_t before;
	if (n == 0)
		return;
	if (smap_get(map, key, n, &before) && before != number + 1)
		number = UINT32_MAX; /* of several: 0 */
	smap_put(map, key, n, (uint32_t)(number + 1));
}

static uint32_t sender_get(const struct smap *map, const void *key, size_t n)
{
	uint64_t found;
	if (n == 0 || !smap_get(map, key, n, &found) || found == 0)
		return SENDER_NONE;
	return (uint32_t)(found - 1);
}

static bool sender_is_address(const char *name, size_t n, uint8_t ret[16])
{
	char text[64];
	struct network network;
	if (n >= sizeof(text))
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)n, name);
	if (strchr(text, '/') || network_parse(text, &network) < 0)
		return false;
	memcpy(ret, network.address, 16);
	return true;
}

/* Without the domain, unless it is an address. */
static size_t sender_short(const char *name, size_t n)
{
	uint8_t address[16];
	const char *dot = memchr(name, '.', n);
	if (!dot || dot == name || sender_is_address(name, n, address))
		return n;
	return (size_t)(dot - name);
}

static void sender_add_name(struct push_senders *senders, const char *name, uint32_t number)
{
	char lower[SENDER_NAME_MAX];
	const size_t n = sender_lower(lower, name, strlen(name)), n_short = sender_short(lower, n);
	sender_put(senders->names, lower, n, number);
	if (n_short != n)
		sender_put(senders->names, lower, n_short, number);
}

static void sender_add_address(struct push_senders *senders, const char *text, uint32_t number)
{
	uint8_t address[16];
	if (text && sender_is_address(text, strlen(text), address))
		sender_put(senders->addresses, address, 16, number);
}

struct push_senders *push_senders_new(const struct config *config)
{
	struct push_senders *senders = rw_calloc(1, sizeof(*senders));
	senders->names = smap_new();
	senders->addresses = smap_new();
	senders->pinned = map_new();
	for (size_t i = 0; i < config->n_devices; i++) {
		const struct config_device *device = &config->devices[i];
		unsigned number;
		if (!device->push || device->push->n_names == 0 ||
			sscanf(device->name, "d%u", &number) != 1)
			continue;
		for (size_t k = 0; k < device->push->n_names; k++)
			sender_add_name(senders, device->push->names[k], number);
		if (device->push->pin)
			map_put(senders->pinned, number, 1);
		sender_add_address(senders, device->push->address, number);
		if (device->snmp)
			sender_add_address(senders, device->snmp->address, number);
		if (device->gnmi)
			sender_add_address(senders, device->gnmi->address, number);
	}
	return senders;
}

void push_senders_free(struct push_senders *senders)
{
	if (!senders)
		return;
	smap_free(senders->names);
	smap_free(senders->addresses);
	map_free(senders->pinned);
	free(senders);
}

uint32_t push_senders_named(const struct push_senders *senders, const char *name, size_t n)
{
	char lower[SENDER_NAME_MAX];
	uint8_t address[16];
	const size_t n_lower = sender_lower(lower, name, n);
	uint32_t found = sender_get(senders->names, lower, n_lower);
	if (found == SENDER_NONE)
		found = sender_get(senders->names, lower, sender_short(lower, n_lower));
	if (found == SENDER_NONE && sender_is_address(name, n, address))
		found = sender_get(senders->addresses, address, 16);
	return found;
}

static uint32_t senders_by_labels(
	const struct push_senders *senders, const struct push_label *labels, size_t n)
{
	for (size_t i = 0; i < rw_countof(sender_keys); i++) {
		const struct push_label *label = push_label_of(labels, n, sender_keys[i]);
		uint32_t found = SENDER_NONE;
		if (label)
			found = push_senders_named(senders, label->value, label->n_value);
		if (found != SENDER_NONE)
			return found;
	}
	return SENDER_NONE;
}

uint32_t push_senders_find(const struct push_senders *senders, const uint8_t address[16],
	const struct push_label *labels, size_t n, enum sender_by *ret_by)
{
	const uint32_t named = senders_by_labels(senders, labels, n);
	const uint32_t placed = sender_get(senders->addresses, address, 16);
	*ret_by = SENDER_BY_NAME;
	if (named != SENDER_NONE && (named == placed || !map_get(senders->pinned, named, NULL)))
		return named;
	*ret_by = SENDER_PINNED_ELSEWHERE;
	if (named != SENDER_NONE)
		return SENDER_NONE;
	*ret_by = SENDER_BY_ADDRESS;
	if (placed == SENDER_NONE)
		*ret_by = SENDER_BY_NOTHING;
	return placed;
}

/* sender_host - the name that a resource gives its host; NULL: none. */
static const struct push_label *sender_host(const struct push_label *labels, size_t n)
{
	const struct push_label *label = NULL;
	for (size_t i = 0; i < SENDER_HOST_KEYS && !label; i++)
		label = push_label_of(labels, n, sender_keys[i]);
	return label;
}

bool push_senders_address(const struct push_senders *senders, const uint8_t address[16])
{
	uint64_t found;
	return smap_get(senders->addresses, address, 16, &found);
}

static void push_senders_describe(const uint8_t address[16], const struct push_label *labels,
	size_t n, char ret[SENDER_TEXT_MAX])
{
	char host[ADDRESS_TEXT_MAX];
	const struct push_label *label = NULL;
	for (size_t i = 0; i < rw_countof(sender_keys) && !label; i++)
		label = push_label_of(labels, n, sender_keys[i]);
	address_text(host, address);
	int n_name = 0;
	if (label && label->n_value < SENDER_TEXT_MAX)
		n_name = (int)label->n_value;
	if (n_name > 0)
		snprintf(ret, SENDER_TEXT_MAX, "%.*s_at_%s", n_name, label->value, host);
	else
		snprintf(ret, SENDER_TEXT_MAX, "%s", host);
}

/*
 * push_hash - a fast keyed hash of short texts, for tables whose keys strangers choose: without the
 * seed nobody can make two of them equal. Multiplication of 64 bits by 64 bits, both halves folded,
 * as in wyhash (Wang Yi, public domain). Not for anything that is stored.
 */

static inline uint64_t push_hash_fold(uint64_t left, uint64_t right)
{
	const unsigned __int128 product = (unsigned __int128)left * right;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}
static inline uint64_t push_hash_number(uint64_t number, uint64_t seed)
{
	return push_hash_fold(number ^ 0xa0761d6478bd642fULL, seed ^ 0xe7037ed1a0b428dbULL);
}
/* @data may be NULL while @n is 0. */
static inline uint64_t push_hash(const void *data, size_t n, uint64_t seed)
{
	const uint8_t *p = data;
	uint64_t hash = push_hash_number(n, seed);
	for (; n >= 8; n -= 8, p += 8) {
		uint64_t word;
		memcpy(&word, p, 8);
		hash = push_hash_number(word, hash);
	}
	if (n == 0)
		return hash;
	uint64_t tail = 0;
	memcpy(&tail, p, n);
	return push_hash_number(tail, hash ^ 0x8ebc6af09c88c6e3ULL);
}

/* ---- push_feed ------------------------------------------------------------- */

#define AHEAD_NS (10 * NS_PER_S) /* a time further ahead of our clock is wrong */
#define BEHIND_NS (24 * 3600 * NS_PER_S)
#define NO_SERIES UINT32_MAX
#define NO_SAMPLE UINT32_MAX

/* What a hash of labels stands for, when it is no series. */
enum feed_place { PLACE_UNFIT = 1, PLACE_MISSING, PLACE_NO_DEVICE, PLACES };

struct feed_series {
	const struct push_rule *rule;
	int64_t t_ns, start_ns;
	uint64_t value; /* as delivered */
	uint64_t message; /* that brought it: points of one message are folded */
	int64_t kept_ns; /* time of the newest one that was kept */
	uint64_t peak; /* the greatest one since then, of a watermark */
	int64_t heard_ns; /* by the ticks of push_feed_expire() */
	uint32_t sender; /* that brought it first: in .sent */
	uint32_t device; /* entity */
	uint32_t entity; /* ENTITY_NONE: the place is free */
	uint32_t pending; /* its sample, while it waits; NO_SAMPLE: the point was not kept */
	uint16_t flags; /* of those since then that were not kept */
};

struct feed_sender {
	uint8_t address[16];
	size_t series;
};

struct feed_names {
	struct {
		char name[FEED_NAME_MAX];
		uint64_t points;
	} v[FEED_NAMED];
	size_t n;
};

struct push_feed {
	struct push_feed_options o;
	struct push_map *names;
	struct push_senders *senders;
	struct map *places; /* hash of labels -> series, or enum feed_place */
	struct map *by_subject; /* entity and metric -> series */
	struct feed_series *series;
	size_t n_series, cap_series; /* free places among them are in .free */
	uint32_t *free;
	size_t n_free, cap_free;
	struct feed_sender
		sent[FEED_SENDERS_MAX]; /* the first: all that have no count of their own */
	size_t n_sent;
	struct map *of_device; /* entity of a device -> number of its series */
	struct map *names_of; /* sender (FEED_SENDERS_MAX: all) and device -> how many names it
				 brought */
	struct map *unknown; /* hashes of names */
	struct map *stand_in; /* address of a device -> the name of no device that it stands for */
	struct feed_names named[FEED_KINDS];
	struct sample *pending;
	size_t n_pending, cap_pending;
	size_t n_taken; /* of these, at the beginning */
	size_t before; /* .n_pending at the start of the message */
	struct push_feed_counts counts;
	/* of the message under way */
	uint64_t message;
	int64_t now_ns, mono_ns, interval_ns;
	const uint8_t *address;
	struct bytes resource;
	uint64_t resource_hash;
	uint32_t device; /* of the resource; SENDER_NONE */
	enum sender_by by;
	struct otlp_metric metric;
	const struct push_rule *rules;
	struct push_feed_result *result;
	struct otlp_labels labels, resource_labels;
};

/* ---- what is counted with its name -------------------------------------------- */

static void feed_clean(char ret[FEED_NAME_MAX], const char *name, size_t n)
{
	size_t k = 0;
	for (; k < n && k < FEED_NAME_MAX - 1; k++) {
		const unsigned char c = (unsigned char)name[k];
		ret[k] = '_';
		if (c < 128 && (isalnum(c) || strchr("_.:-", c)))
			ret[k] = (char)c;
	}
	ret[k] = '\0';
}

static void feed_name(struct push_feed *feed, enum push_feed_kind kind, const char *name, size_t n,
	uint64_t points)
{
	struct feed_names *names = &feed->named[kind];
	char clean[FEED_NAME_MAX];
	size_t i = 0;
	feed_clean(clean, name, n);
	if (!*clean)
		return;
	while (i < names->n && !str_eq(names->v[i].name, clean))
		i++;
	if (i == FEED_NAMED)
		return;
	if (i == names->n)
		memcpy(names->v[names->n++].name, clean, sizeof(clean));
	names->v[i].points += points;
}

void push_feed_named(
	const struct push_feed *feed, enum push_feed_kind kind, push_feed_named_fn *fn, void *arg)
{
	const struct feed_names *names = &feed->named[kind];
	for (size_t i = 0; i < names->n; i++)
		fn(arg, names->v[i].name, names->v[i].points);
}

__attribute__((format(printf, 3, 4))) static void feed_refuse(
	struct push_feed *feed, uint64_t points, const char *fmt, ...)
{
	struct push_feed_result *result = feed->result;
	result->refused += points;
	if (*result->message)
		return;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(result->message, sizeof(result->message), fmt, ap);
	va_end(ap);
}

/* ---- resources and metrics ------------------------------------------------------ */

/* feed_stand_in - the resource's host is no device, and its address is one's. An address stands for
 * one such name, as a switch may be called otherwise there; a second one is another switch behind
 * the same Collector, of which nothing is known. Both are told. */
static void feed_stand_in(struct push_feed *feed, const struct push_label *host)
{
	const uint64_t address = push_hash(feed->address, 16, feed->o.seed);
	const uint64_t name = push_hash(host->value, host->n_value, feed->o.seed);
	uint64_t known;
	char told[SENDER_TEXT_MAX];
	if (!map_get(feed->stand_in, address, &known)) {
		map_put(feed->stand_in, address, name);
		known = name;
	}
	if (known != name) {
		feed->device = SENDER_NONE;
		return;
	}
	feed->counts.misnamed++;
	push_senders_describe(
		feed->address, feed->resource_labels.v, feed->resource_labels.n, told);
	feed_name(feed, FEED_MISNAMED, told, strlen(told), 1);
}

static void feed_on_resource(void *arg, struct bytes labels)
{
	struct push_feed *feed = arg;
	feed->resource = labels;
	feed->resource_hash = push_hash(feed->address, 16, feed->o.seed);
	feed->resource_hash = push_hash(labels.p, bytes_left(&labels), feed->resource_hash);
	otlp_labels_of(labels, OTLP_IN_RESOURCE, &feed->resource_labels);
	const struct push_label *told = feed->resource_labels.v;
	const size_t n = feed->resource_labels.n;
	feed->device = push_senders_find(feed->senders, feed->address, told, n, &feed->by);
	const struct push_label *host = sender_host(told, n);
	if (host && feed->by == SENDER_BY_ADDRESS)
		feed_stand_in(feed, host);
}

static void feed_unknown(struct push_feed *feed, uint64_t points)
{
	const struct bytes name = feed->metric.name;
	uint64_t hash = push_hash(name.p, bytes_left(&name), feed->o.seed), seen;
	feed->counts.unknown_points += points;
	if (map_count(feed->unknown) < FEED_UNKNOWN_MAX && !map_get(feed->unknown, hash, &seen)) {
		map_put(feed->unknown, hash, 1);
		feed->counts.unknown_names++;
	}
	feed_name(feed, FEED_UNKNOWN_NAME, (const char *)name.p, bytes_left(&name), points);
}

static bool feed_on_metric(void *arg, const struct otlp_metric *metric)
{
	struct push_feed *feed = arg;
	feed->metric = *metric;
	feed->rules = NULL;
	if (bytes_left(&metric->name) > 0)
		feed->rules = push_map_find(
			feed->names, (const char *)metric->name.p, bytes_left(&metric->name));
	return feed->rules && metric->kind != OTLP_DELTA_SUM;
}

static void feed_on_unread(void *arg, const struct otlp_metric *metric, uint64_t points)
{
	struct push_feed *feed = arg;
	const struct bytes name = metric->name;
	feed->result->points += points;
	feed->counts.points += points;
	if (metric->kind > OTLP_DELTA_SUM) {
		feed->counts.unsupported += points;
		feed_name(feed, FEED_UNSUPPORTED, (const char *)name.p, bytes_left(&name), points);
	} else if (!feed->rules) {
		feed_unknown(feed, points);
	} else {
		feed->counts.delta += points;
		feed_refuse(feed, points,
			"sums with delta temporality are not taken: export running totals "
			"(cumulative)");
	}
}

/* ---- series --------------------------------------------------------------------- */

static size_t feed_series_used(const struct push_feed *feed)
{
	return feed->n_series - feed->n_free;
}

static uint64_t feed_count(const struct map *map, uint64_t key)
{
	uint64_t n;
	if (map_get(map, key, &n))
		return n;
	return 0;
}

/* Who sends the message under way. The bound is beyond all fabrics; who is behind it shares. */
static uint32_t feed_sender(struct push_feed *feed)
{
	for (size_t i = 1; i < feed->n_sent; i++)
		if (memcmp(feed->sent[i].address, feed->address, 16) == 0)
			return (uint32_t)i;
	if (feed->n_sent == FEED_SENDERS_MAX)
		return 0;
	memcpy(feed->sent[feed->n_sent].address, feed->address, 16);
	return (uint32_t)feed->n_sent++;
}

/* May @sender bring one more series of @device? */
static bool feed_has_share(const struct push_feed *feed, uint32_t sender, uint32_t device)
{
	const size_t free = feed->o.most_series - feed_series_used(feed);
	return free > 0 && feed_count(feed->of_device, device) <= free &&
		feed->sent[sender].series / 4 <= free;
}

static uint32_t feed_series_of(
	struct push_feed *feed, uint32_t entity, const struct push_rule *rule)
{
	const uint64_t subject = (uint64_t)entity << 16 | (uint64_t)rule->value->metric;
	const uint32_t device = entity_device(feed->o.entities, entity);
	const uint32_t sender = feed_sender(feed);
	uint64_t at;
	if (map_get(feed->by_subject, subject, &at))
		return (uint32_t)at;
	if (!feed_has_share(feed, sender, device))
		return NO_SERIES;
	if (feed->n_free > 0) {
		at = feed->free[--feed->n_free];
	} else {
		rw_grow(feed->series, feed->n_series, feed->cap_series);
		at = feed->n_series++;
	}
	feed->series[at] = (struct feed_series){.rule = rule,
		.entity = entity,
		.device = device,
		.sender = sender,
		.heard_ns = feed->mono_ns,
		.t_ns = INT64_MIN,
		.kept_ns = INT64_MIN};
	map_put(feed->by_subject, subject, at);
	map_put(feed->of_device, device, feed_count(feed->of_device, device) + 1);
	feed->sent[sender].series++;
	feed->counts.series = feed_series_used(feed);
	return (uint32_t)at;
}

static void feed_series_forget(struct push_feed *feed, uint32_t at)
{
	struct feed_series *series = &feed->series[at];
	map_put(feed->of_device, series->device, feed_count(feed->of_device, series->device) - 1);
	feed->sent[series->sender].series--;
	*series = (struct feed_series){.entity = ENTITY_NONE};
	rw_grow(feed->free, feed->n_free, feed->cap_free);
	feed->free[feed->n_free++] = at;
	feed->counts.forgotten++;
}

static uint64_t feed_subject(const struct feed_series *series)
{
	return (uint64_t)series->entity << 16 | (uint64_t)series->rule->value->metric;
}

void push_feed_expire(struct push_feed *feed, int64_t mono_ns)
{
	feed->mono_ns = mono_ns;
	const uint64_t before = feed->counts.forgotten;
	for (size_t i = 0; i < feed->n_series; i++) {
		const struct feed_series *series = &feed->series[i];
		if (series->entity != ENTITY_NONE && mono_ns - series->heard_ns > FEED_FORGET_NS)
			feed_series_forget(feed, (uint32_t)i);
	}
	if (feed->counts.forgotten == before)
		return;
	feed->counts.series = feed_series_used(feed);
	/* some lead to what was forgotten */
	map_clear(feed->places);
	map_clear(feed->by_subject);
	for (size_t i = 0; i < feed->n_series; i++)
		if (feed->series[i].entity != ENTITY_NONE)
			map_put(feed->by_subject, feed_subject(&feed->series[i]), i);
}

/* A name that is not known yet is added where the sender has a share of the device's names. */
static uint32_t feed_entity(
	struct push_feed *feed, const char *device, const struct push_place *place)
{
	struct entities *entities = feed->o.entities;
	const uint32_t found = entities_find(entities, device, place->port, place->priority);
	const uint32_t most = entities_limits(entities)->per_device;
	if (found != ENTITY_NONE || most == 0)
		return entities_intern(entities, device, place->port, place->priority);
	const uint32_t of = entities_intern(entities, device, NULL, PRIO_NONE);
	const uint64_t key_all = (uint64_t)FEED_SENDERS_MAX << 32 | of;
	const uint64_t key = (uint64_t)feed_sender(feed) << 32 | of;
	const uint64_t all = feed_count(feed->names_of, key_all);
	const uint64_t mine = feed_count(feed->names_of, key);
	if (all >= most || 2 * mine > most - all)
		return ENTITY_NONE;
	const uint32_t before = entities_known(entities);
	const uint32_t entity = entities_intern(entities, device, place->port, place->priority);
	const uint32_t more = entities_known(entities) - before; /* a priority may bring its port */
	map_put(feed->names_of, key, mine + more);
	map_put(feed->names_of, key_all, all + more);
	return entity;
}

/* By labels of the point, then of the resource, where the profile names them; else whose the
 * resource is. */
static uint32_t feed_device(const struct push_feed *feed, const struct push_rule *rule)
{
	const struct profile_push_labels *keys = &rule->group->device;
	for (size_t i = 0; i < keys->n; i++) {
		const struct push_label *label =
			push_label_of(feed->labels.v, feed->labels.n, keys->v[i]);
		if (!label)
			label = push_label_of(
				feed->resource_labels.v, feed->resource_labels.n, keys->v[i]);
		uint32_t device = SENDER_NONE;
		if (label)
			device = push_senders_named(feed->senders, label->value, label->n_value);
		if (device != SENDER_NONE)
			return device;
	}
	return feed->device;
}

static uint64_t feed_place_of(struct push_feed *feed, const struct push_rule *rule)
{
	struct push_place place;
	const uint32_t device = feed_device(feed, rule);
	if (device == SENDER_NONE)
		return PLACE_NO_DEVICE;
	if (push_rule_place(rule, feed->labels.v, feed->labels.n, &place) < 0)
		return PLACE_MISSING;
	char name[16];
	snprintf(name, sizeof(name), "d%u", device);
	const uint32_t entity = feed_entity(feed, name, &place);
	if (entity == ENTITY_NONE)
		return NO_SERIES;
	const uint32_t at = feed_series_of(feed, entity, rule);
	if (at == NO_SERIES)
		return NO_SERIES;
	return (uint64_t)at + PLACES;
}

/* The rule of the name that fits: the one whose profile the sender is known to have first. */
static uint64_t feed_places_first(struct push_feed *feed, struct bytes labels)
{
	uint64_t place = PLACE_UNFIT;
	otlp_labels_of(labels, OTLP_IN_POINT, &feed->labels);
	for (const struct push_rule *rule = feed->rules; rule; rule = rule->next) {
		if (!push_rule_fits(rule, feed->labels.v, feed->labels.n))
			continue;
		place = feed_place_of(feed, rule);
		if (place >= PLACES)
			return place;
	}
	return place;
}

static uint64_t feed_place(struct push_feed *feed, struct bytes labels)
{
	const uint64_t context =
		push_hash_number((uint64_t)(uintptr_t)feed->rules, feed->resource_hash);
	const uint64_t hash = push_hash(labels.p, bytes_left(&labels), context);
	uint64_t place;
	if (map_get(feed->places, hash, &place))
		return place;
	place = feed_places_first(feed, labels);
	if (map_count(feed->places) < feed->o.most_series && place != NO_SERIES)
		map_put(feed->places, hash, place);
	return place;
}

/* ---- points --------------------------------------------------------------------- */

/* A point of no device: why. */
static void feed_no_device(struct push_feed *feed)
{
	char clean[SENDER_TEXT_MAX];
	push_senders_describe(
		feed->address, feed->resource_labels.v, feed->resource_labels.n, clean);
	if (feed->by == SENDER_PINNED_ELSEWHERE) {
		feed->counts.pinned++;
		feed_name(feed, FEED_PINNED, clean, strlen(clean), 1);
		feed_refuse(feed, 1,
			"%s: the device of this name has push.pin, and this is not its address",
			clean);
		return;
	}
	feed->counts.no_device++;
	feed_name(feed, FEED_UNKNOWN_DEVICE, clean, strlen(clean), 1);
	feed_refuse(feed, 1,
		"%s is no device of the configuration: give a device 'push: { names: [...] "
		"}' or 'push: { address: ... }'",
		clean);
}

/* A point that has no series: why. */
static void feed_nowhere(struct push_feed *feed, uint64_t place)
{
	const struct bytes name = feed->metric.name;
	char clean[FEED_NAME_MAX];
	switch (place) {
	case PLACE_UNFIT: /* the profile leaves out such labels on purpose */
		feed_unknown(feed, 1);
		break;
	case PLACE_MISSING:
		feed->counts.no_place++;
		feed_clean(clean, (const char *)name.p, bytes_left(&name));
		feed_refuse(feed, 1, "%s: no label, or no usable one, says which port", clean);
		break;
	case PLACE_NO_DEVICE: feed_no_device(feed); break;
	default:
		feed->counts.beyond++;
		push_senders_describe(
			feed->address, feed->resource_labels.v, feed->resource_labels.n, clean);
		feed_name(feed, FEED_BEYOND, clean, strlen(clean), 1);
		feed_refuse(feed, 1,
			"too many series or names from this sender, or of this device: others need "
			"room, too");
	}
}

static void feed_sample(struct push_feed *feed, struct feed_series *series, int64_t t_ns,
	uint64_t value, unsigned flags)
{
	rw_grow(feed->pending, feed->n_pending, feed->cap_pending);
	series->pending = (uint32_t)feed->n_pending;
	feed->pending[feed->n_pending++] = (struct sample){.t_ns = t_ns,
		.value = value,
		.entity = series->entity,
		.window_ms = series->rule->value->window_ms,
		.metric = (uint16_t)series->rule->value->metric,
		.flags = (uint16_t)flags,
		.source = (uint16_t)feed->o.source};
	feed->counts.samples++;
}

/* Points of one message about one thing (lanes): the least or the most counts. */
static bool feed_fold(struct push_feed *feed, struct feed_series *series, uint64_t value)
{
	const enum profile_fold fold = series->rule->value->fold;
	if (fold == FOLD_SUM || series->message != feed->message)
		return false;
	if (series->pending == NO_SAMPLE)
		return true;
	struct sample *sample = &feed->pending[series->pending];
	const double was = sample_f64(sample->value), is = sample_f64(value);
	if ((fold == FOLD_MIN) == (is < was))
		sample->value = value;
	return true;
}

/* A total that fell, or that began anew, has no difference to the one before. */
static unsigned feed_restart(
	const struct feed_series *series, const struct otlp_point *point, uint64_t value)
{
	const struct metric_info *metric = metric_info((unsigned)series->rule->value->metric);
	if (metric->kind != METRIC_COUNTER || series->t_ns == INT64_MIN)
		return 0;
	if (metric->type == TYPE_U64 && value < series->value)
		return SF_RESTART;
	if (point->start_ns && series->start_ns && point->start_ns != series->start_ns)
		return SF_RESTART;
	return 0;
}

/* Does a point of @t_ns come too soon after the one that was kept? By a quarter of the interval it
 * may: who sends at the interval itself does so with some jitter, and loses nothing. */
static bool feed_too_soon(
	const struct push_feed *feed, const struct feed_series *series, int64_t t_ns)
{
	if (feed->interval_ns == 0 || series->kept_ns == INT64_MIN)
		return false;
	return t_ns - series->kept_ns < feed->interval_ns - feed->interval_ns / 4;
}

/* What was not kept goes into the next one that is. */
static void feed_keep(struct push_feed *feed, struct feed_series *series, int64_t t_ns,
	uint64_t value, unsigned flags)
{
	const struct metric_info *metric = metric_info((unsigned)series->rule->value->metric);
	if (metric->kind == METRIC_WATERMARK && series->peak > value)
		value = series->peak;
	flags |= series->flags;
	if (feed_too_soon(feed, series, t_ns)) {
		feed->counts.thinned++;
		series->peak = value;
		series->flags = (uint16_t)flags;
		series->pending = NO_SAMPLE;
		return;
	}
	feed_sample(feed, series, t_ns, value, flags);
	series->kept_ns = t_ns;
	series->peak = 0;
	series->flags = 0;
}

static bool feed_time(struct push_feed *feed, const struct otlp_point *point, int64_t *ret)
{
	*ret = point->t_ns;
	if (point->t_ns == 0)
		*ret = feed->now_ns;
	if (*ret <= feed->now_ns + AHEAD_NS && *ret >= feed->now_ns - BEHIND_NS)
		return true;
	feed->counts.off_clock++;
	feed_refuse(feed, 1, "points are of a time that is %s: set the device's clock",
		*ret > feed->now_ns ? "ahead" : "more than a day ago");
	return false;
}

static void feed_series_point(
	struct push_feed *feed, struct feed_series *series, const struct otlp_point *point)
{
	uint64_t value;
	unsigned flags;
	int64_t t_ns;
	const int rc = push_rule_value(series->rule, &point->number, &value, &flags);
	if (rc == -ENODATA)
		return;
	if (rc < 0) {
		feed->counts.no_value++;
		feed_refuse(feed, 1, "values are negative, not finite or too large");
		return;
	}
	if (!feed_time(feed, point, &t_ns) || feed_fold(feed, series, value))
		return;
	if (t_ns <= series->t_ns) {
		feed->counts.repeated++;
		return;
	}
	flags |= feed_restart(series, point, value);
	feed_keep(feed, series, t_ns, value, flags);
	series->t_ns = t_ns;
	series->start_ns = point->start_ns;
	series->value = value;
	series->message = feed->message;
}

static void feed_on_point(void *arg, const struct otlp_point *point)
{
	struct push_feed *feed = arg;
	feed->result->points++;
	feed->counts.points++;
	if (!point->has_value)
		return;
	const uint64_t place = feed_place(feed, point->labels);
	if (place < PLACES || place >= NO_SERIES) {
		feed_nowhere(feed, place);
		return;
	}
	struct feed_series *series = &feed->series[place - PLACES];
	series->heard_ns = feed->mono_ns;
	feed_series_point(feed, series, point);
}

/* Room at the end of what waits, by moving it to the beginning. */
static void feed_close_up(struct push_feed *feed)
{
	if (feed->n_taken == 0)
		return;
	memmove(feed->pending, feed->pending + feed->n_taken,
		(feed->n_pending - feed->n_taken) * sizeof(*feed->pending));
	feed->n_pending -= feed->n_taken;
	feed->n_taken = 0;
}

int push_feed_take(struct push_feed *feed, const uint8_t address[16], const uint8_t *data, size_t n,
	int64_t now_ns, struct push_feed_result *ret)
{
	const struct otlp_events events = {.arg = feed,
		.resource = feed_on_resource,
		.metric = feed_on_metric,
		.point = feed_on_point,
		.unread = feed_on_unread};
	*ret = (struct push_feed_result){0};
	feed_close_up(feed);
	feed->message++;
	feed->before = feed->n_pending;
	feed->now_ns = now_ns;
	feed->address = address;
	feed->result = ret;
	feed->counts.messages++;
	const int rc = otlp_decode(data, n, &events);
	if (rc < 0) {
		feed->counts.bad_messages++;
		feed->counts.samples -= feed->n_pending - feed->before;
		feed->n_pending = feed->before;
	}
	return rc;
}

/* ---- results ---------------------------------------------------------------------- */

const struct sample *push_feed_samples(const struct push_feed *feed, size_t *ret_n)
{
	*ret_n = feed->n_pending - feed->n_taken;
	if (*ret_n == 0)
		return NULL;
	return feed->pending + feed->n_taken;
}

void push_feed_taken(struct push_feed *feed, size_t n)
{
	feed->n_taken += n;
	if (feed->n_taken < feed->n_pending)
		return;
	feed->n_taken = feed->n_pending = 0;
}

const struct push_feed_counts *push_feed_counts(const struct push_feed *feed)
{
	return &feed->counts;
}

/* ---- life ------------------------------------------------------------------------- */

void push_feed_devices(struct push_feed *feed, const struct config *config)
{
	push_senders_free(feed->senders);
	feed->senders = push_senders_new(config);
	map_clear(feed->places);
	map_clear(feed->stand_in);
	feed->named[FEED_MISNAMED].n = 0;
	feed->named[FEED_PINNED].n = 0;
	feed->named[FEED_UNKNOWN_DEVICE].n = 0;
	feed->named[FEED_BEYOND].n = 0;
}

void push_feed_interval(struct push_feed *feed, int64_t interval_ns)
{
	feed->interval_ns = interval_ns;
}

struct push_feed *push_feed_new(const struct push_feed_options *options)
{
	struct push_feed *feed = rw_calloc(1, sizeof(*feed));
	feed->o = *options;
	if (feed->o.most_series == 0)
		feed->o.most_series = FEED_SERIES_MAX;
	feed->names = push_map_new(options->profiles);
	feed->places = map_new();
	feed->by_subject = map_new();
	feed->of_device = map_new();
	feed->names_of = map_new();
	feed->n_sent = 1;
	feed->unknown = map_new();
	feed->stand_in = map_new();
	return feed;
}

void push_feed_free(struct push_feed *feed)
{
	if (!feed)
		return;
	push_senders_free(feed->senders);
	push_map_free(feed->names);
	map_free(feed->places);
	map_free(feed->by_subject);
	map_free(feed->of_device);
	map_free(feed->names_of);
	free(feed->free);
	map_free(feed->unknown);
	map_free(feed->stand_in);
	free(feed->series);
	free(feed->pending);
	free(feed);
}

/* snmp_decode - the rows of a table become samples: what each row is about, which values of the
 * profile it holds, and whether a counter's difference to the last poll means anything. */
#include "collectors/snmp/snmp_decode.h"

#include "collectors/target/counter_check.h"

/* snmp_sums - finds or begins the sum of one metric of one entity. */

struct snmp_sums *snmp_sums_new(void)
{
	struct snmp_sums *sums = rw_calloc(1, sizeof(*sums));
	sums->at = map_new();
	return sums;
}

void snmp_sums_free(void *sums)
{
	struct snmp_sums *s = sums;
	if (!s)
		return;
	map_free(s->at);
	free(s->v);
	free(s->samples.v);
	free(s);
}

/* A new table: forget all. */
static void snmp_sums_begin(struct snmp_sums *sums)
{
	sums->n = 0;
	map_clear(sums->at);
}

/* Of the maps that remember something of one metric of one entity. */
static uint64_t snmp_sums_key(uint32_t entity, int metric)
{
	return (uint64_t)entity << 16 | (uint16_t)metric;
}

/* The sum of this metric of this entity, new if there is none. @join_rows: rows add up; else
 * only sums from position @from on, those of the current row, are looked at. Lent until the next
 * call. */
static struct snmp_sum *snmp_sums_get(
	struct snmp_sums *sums, bool join_rows, uint32_t entity, int metric, size_t from)
{
	uint64_t at;
	if (join_rows) {
		if (map_get(sums->at, snmp_sums_key(entity, metric), &at))
			return &sums->v[at];
		map_put(sums->at, snmp_sums_key(entity, metric), sums->n);
	} else {
		for (size_t i = from; i < sums->n; i++)
			if (sums->v[i].entity == entity && sums->v[i].metric == metric)
				return &sums->v[i];
	}
	rw_grow(sums->v, sums->n, sums->cap);
	sums->v[sums->n] = (struct snmp_sum){.entity = entity, .metric = metric};
	return &sums->v[sums->n++];
}

/* snmp_sensor - reads the five columns of a sensor as one number. */

/* RFC 3433 section 2: EntitySensorDataType, EntitySensorDataScale, EntitySensorPrecision,
 * EntitySensorValue, EntitySensorStatus. CISCO-ENTITY-SENSOR-MIB has the same columns and numbers,
 * and dBm (14) as a further SensorDataType */
enum {
	TYPE_WATTS = 6,
	TYPE_CELSIUS = 8,
	TYPE_DBM = 14,
	SCALE_UNITS = 9,
	SCALE_LAST = 17,
	STATUS_OK = 1
};
#define VALUE_RANGE 1000000000 /* at either end: over- or underflow, not a value */

static bool snmp_sensor_number(
	const struct snmp_value *cell, int64_t min, int64_t max, int64_t *ret)
{
	if (!cell || !snmp_type_is_number(cell->type) || (int64_t)cell->u < min ||
		(int64_t)cell->u > max)
		return false;
	*ret = (int64_t)cell->u;
	return true;
}

/* sensor_read - in base units, and the weight of its last digit. */
static int sensor_read(
	const struct snmp_sensor *sensor, int64_t type, double *ret, double *ret_digit)
{
	int64_t is, scale, precision, status, value;
	if (!snmp_sensor_number(sensor->type, 1, INT32_MAX, &is) ||
		!snmp_sensor_number(sensor->scale, 1, SCALE_LAST, &scale) ||
		!snmp_sensor_number(sensor->precision, -8, 9, &precision) ||
		!snmp_sensor_number(sensor->status, STATUS_OK, STATUS_OK, &status) ||
		!snmp_sensor_number(sensor->value, 1 - VALUE_RANGE, VALUE_RANGE - 1, &value))
		return -ENODATA;
	if (is != type)
		return -EPROTOTYPE;
	*ret_digit = pow(10, (double)(3 * (scale - SCALE_UNITS) - precision));
	*ret = (double)value * *ret_digit;
	return 0;
}

int snmp_sensor_dbm(const struct snmp_sensor *sensor, double *ret, bool *ret_bound)
{
	double watts, digit;
	*ret_bound = false;
	int rc = sensor_read(sensor, TYPE_DBM, ret, &digit);
	if (rc != -EPROTOTYPE)
		return rc;
	rc = sensor_read(sensor, TYPE_WATTS, &watts, &digit);
	if (rc < 0)
		return rc;
	if (watts < 0)
		return -ENODATA;
	*ret_bound = watts == 0;
	if (*ret_bound)
		watts = digit / 2;
	*ret = 10 * log10(watts * 1000);
	return 0;
}

int snmp_sensor_celsius(const struct snmp_sensor *sensor, double *ret)
{
	double digit;
	return sensor_read(sensor, TYPE_CELSIUS, ret, &digit);
}

/*
 * snmp_join - pure: which port a row is about, in a table whose index does not say it. A column
 * names the port, or the row that contains this row does (profile.h: "port").
 */

#define NAME_WORDS_MAX 3 /* "fortyGigE 1/50" has two */
#define AROUND_MAX 8 /* rows one inside of the other: a sensor, a transceiver, a port ... */

/* snmp_join_text - the text of row @row that may name a port, cleaned; "" when it has none. */
static const char *snmp_join_text(const struct profile_table *table, const struct snmp_rows *rows,
	size_t row, char buf[SNMP_NAME_MAX])
{
	const struct snmp_value *cell = snmp_rows_value(rows, row, (size_t)table->port_column);
	const uint8_t *bytes = NULL;
	size_t n;
	*buf = '\0';
	if (cell)
		bytes = snmp_rows_bytes(rows, cell, &n);
	if (bytes)
		snmp_text_clean(buf, SNMP_NAME_MAX, bytes, n);
	return buf;
}

/* Do the characters from @from to @to of @text fit the first @n characters of @pattern? */
static bool join_fits(const char *pattern, size_t n, const char *text, size_t from, size_t to)
{
	char glob[SNMP_NAME_MAX], part[SNMP_NAME_MAX];
	if (n >= sizeof(glob) || to - from >= sizeof(part))
		return false;
	memcpy(glob, pattern, n);
	glob[n] = '\0';
	memcpy(part, text + from, to - from);
	part[to - from] = '\0';
	return str_glob(glob, part);
}

/* The name between @from and @to, when the text around it fits. */
static struct snmp_port_entry *join_between(const struct snmp_ports *ports, const char *pattern,
	const char *text, size_t from, size_t to)
{
	const char *at = strstr(pattern, PROFILE_PORT_WORD);
	const char *behind = at + strlen(PROFILE_PORT_WORD);
	char name[SNMP_NAME_MAX];
	if (to - from >= sizeof(name))
		return NULL;
	memcpy(name, text + from, to - from);
	name[to - from] = '\0';
	struct snmp_port_entry *port = snmp_ports_named(ports, name);
	/* "Lane 1" is not about a port that is called 1 */
	if (at > pattern && *behind && strspn(name, "0123456789") == strlen(name))
		return NULL;
	if (!port || !join_fits(pattern, (size_t)(at - pattern), text, 0, from) ||
		!join_fits(behind, strlen(behind), text, to, strlen(text)))
		return NULL;
	return port;
}

/* snmp_join_named - the port that @text names after @pattern, such as "DOM * Sensor for {port}":
 * the longest name that fits; NULL when there is none. */
static struct snmp_port_entry *snmp_join_named(
	const struct snmp_ports *ports, const char *pattern, const char *text)
{
	struct snmp_port_entry *best = NULL;
	const size_t n = strlen(text);
	const char *at = strstr(pattern, PROFILE_PORT_WORD);
	const bool at_begin = at == pattern, at_end = at[strlen(PROFILE_PORT_WORD)] == '\0';
	size_t longest = 0;
	if (at_begin && at_end)
		return snmp_ports_named(ports, text);
	/* a name begins and ends where a word does; a few words may be one name */
	for (size_t from = 0; from < n; from++) {
		if (from > 0 && (at_begin || text[from - 1] != ' '))
			continue;
		size_t words = 0;
		for (size_t to = from + 1; to <= n && words < NAME_WORDS_MAX; to++) {
			if (to < n && text[to] != ' ')
				continue;
			words++;
			if ((to < n && at_end) || to - from <= longest)
				continue;
			struct snmp_port_entry *port = join_between(ports, pattern, text, from, to);
			if (!port)
				continue;
			best = port;
			longest = to - from;
		}
	}
	return best;
}

/* The row that contains @row; false at the outermost one. */
static bool join_around(
	const struct profile_table *table, const struct snmp_rows *rows, size_t row, size_t *ret)
{
	if (table->parent_column < 0)
		return false;
	const struct snmp_value *cell = snmp_rows_value(rows, row, (size_t)table->parent_column);
	if (!cell || !snmp_type_is_number(cell->type) || cell->u == 0 || cell->u > UINT32_MAX)
		return false;
	const uint32_t index = (uint32_t)cell->u;
	return snmp_rows_find(rows, (struct snmp_oid){&index, 1}, ret);
}

/* snmp_join_port - the port of row @row by its text, or by that of a row around it; NULL when none
 * of them names a port of this device. */
static struct snmp_port_entry *snmp_join_port(const struct snmp_ports *ports,
	const struct profile_table *table, const struct snmp_rows *rows, size_t row)
{
	char buf[SNMP_NAME_MAX];
	for (int i = 0; i < AROUND_MAX; i++) {
		const char *text = snmp_join_text(table, rows, row, buf);
		struct snmp_port_entry *port = snmp_join_named(ports, table->port_text, text);
		if (!port && i > 0)
			port = snmp_ports_named(ports, text);
		if (port)
			return port;
		if (!join_around(table, rows, row, &row))
			return NULL;
	}
	return NULL;
}

/*
 * snmp_made - pure: what a device's counters were made of in their last reading, and how far each
 * is checked against what is possible. 12 bytes a counter: a large fabric has millions. Polls bring
 * the same counters in the same order, so the one behind the last is tried first; an index is made
 * only when that fails, and lives until the next poll.
 */

struct made_entry {
	uint32_t entity;
	uint16_t metric;
	uint16_t parts; /* position + 1 in .parts; 0: not read yet */
	uint32_t check; /* position + 1 in .checks; 0: none */
};

struct snmp_made {
	struct made_entry *v;
	uint32_t n, cap;
	uint32_t next; /* behind the one found last */
	uint32_t *slots; /* positions + 1 in .v, by hash; NULL: no index */
	uint32_t n_slots; /* a power of two, more than 2 n */
	uint64_t *parts; /* each set of parts once: profiles have few */
	size_t n_parts, cap_parts;
	struct counter_check *checks;
	uint32_t n_checks, cap_checks;
};

#define PARTS_MOST UINT16_MAX

/* NULL is fine */
static void snmp_made_free(struct snmp_made *made)
{
	if (!made)
		return;
	free(made->v);
	free(made->slots);
	free(made->parts);
	free(made->checks);
	free(made);
}

static void made_drop_index(struct snmp_made *made)
{
	free(made->slots);
	made->slots = NULL;
	made->n_slots = 0;
}

static bool made_is(const struct made_entry *entry, uint32_t entity, int metric)
{
	return entry->entity == entity && entry->metric == metric;
}

static uint32_t *made_slot(const struct snmp_made *made, uint32_t entity, int metric)
{
	const uint32_t mask = made->n_slots - 1;
	uint32_t i = (uint32_t)hash_u64(snmp_sums_key(entity, metric)) & mask;
	while (made->slots[i] && !made_is(&made->v[made->slots[i] - 1], entity, metric))
		i = (i + 1) & mask;
	return &made->slots[i];
}

static void made_index(struct snmp_made *made)
{
	if (made->slots && made->n * 2 + 2 <= made->n_slots)
		return;
	made_drop_index(made);
	made->n_slots = 64;
	while (made->n_slots < made->n * 4)
		made->n_slots *= 2;
	made->slots = rw_calloc(made->n_slots, sizeof(*made->slots));
	for (uint32_t i = 0; i < made->n; i++)
		*made_slot(made, made->v[i].entity, made->v[i].metric) = i + 1;
}

/* snmp_made_number - of one metric of one entity; a new one has no parts. Valid for the life of
 * @made. */
static uint32_t snmp_made_number(struct snmp_made *made, uint32_t entity, int metric)
{
	if (made->next < made->n && made_is(&made->v[made->next], entity, metric))
		return made->next++;
	made_index(made);
	uint32_t *slot = made_slot(made, entity, metric);
	if (*slot == 0) {
		if (made->n == made->cap) {
			made->cap += made->cap / 8 + 32;
			made->v = rw_realloc(made->v, made->cap * sizeof(*made->v));
		}
		made->v[made->n++] =
			(struct made_entry){.entity = entity, .metric = (uint16_t)metric};
		*slot = made->n;
	}
	made->next = *slot;
	return *slot - 1;
}

static uint16_t made_parts(struct snmp_made *made, uint64_t parts)
{
	for (size_t i = 0; i < made->n_parts; i++)
		if (made->parts[i] == parts)
			return (uint16_t)(i + 1);
	if (made->n_parts >= PARTS_MOST)
		return 0; /* more than profiles can have: as if it were read for the first time */
	rw_grow(made->parts, made->n_parts, made->cap_parts);
	made->parts[made->n_parts++] = parts;
	return (uint16_t)made->n_parts;
}

/* snmp_made_changed - were the parts others in its last reading? @parts are remembered. */
static bool snmp_made_changed(struct snmp_made *made, uint32_t number, uint64_t parts)
{
	struct made_entry *entry = &made->v[number];
	if (entry->parts && made->parts[entry->parts - 1] == parts)
		return false;
	const bool known = entry->parts != 0;
	entry->parts = made_parts(made, parts);
	return known;
}

/* snmp_made_check - lent until the next call; zeroed at first. */
static struct counter_check *snmp_made_check(struct snmp_made *made, uint32_t number)
{
	struct made_entry *entry = &made->v[number];
	if (!entry->check) {
		if (made->n_checks == made->cap_checks) {
			made->cap_checks += made->cap_checks / 8 + 16;
			made->checks =
				rw_realloc(made->checks, made->cap_checks * sizeof(*made->checks));
		}
		made->checks[made->n_checks++] = (struct counter_check){0};
		entry->check = made->n_checks;
	}
	return &made->checks[entry->check - 1];
}

/* ---- snmp_decode ----------------------------------------------------------- */

#define CELL_MAX_BYTES 65536
/* agents say 10 Mb/s of ports without a line: loopback, bridges, tunnels */
#define LINE_LEAST_BPS 100000000

struct snmp_decoder {
	struct entities *entities;
	const struct profile *profile;
	char *device;
	struct snmp_ports *ports;
	struct snmp_sums *sums; /* lent: the scratch of the table being read */
	uint64_t cell_bytes; /* of the switch's buffer; 0 = unknown */
	bool cell_reported; /* by the device, not only by the profile */
	bool cell_assumed; /* from the configuration */
	struct snmp_made *made; /* of what each counter was made in the last poll */
	/* by number of a table that others stand behind: (entity, metric) it told; else NULL */
	struct map **told;
	int64_t t_ns; /* of the poll, 0 = not given */
	struct snmp_decode_stats stats;
};

static struct map **told_slot(struct snmp_decoder *decoder, const char *table)
{
	for (size_t i = 0; i < decoder->profile->n_tables; i++)
		if (str_eq(decoder->profile->tables[i]->name, table))
			return &decoder->told[i];
	return NULL;
}

static void told_open(struct snmp_decoder *decoder, const char *table)
{
	struct map **slot = told_slot(decoder, table);
	if (slot && !*slot)
		*slot = map_new();
}

struct snmp_decoder *snmp_decoder_new(struct entities *entities, const char *device,
	const struct profile *profile, struct snmp_sums *sums)
{
	struct snmp_decoder *d = rw_calloc(1, sizeof(*d));
	*d = (struct snmp_decoder){.entities = entities,
		.profile = profile,
		.device = rw_strdup(device),
		.ports = snmp_ports_new(entities, device, profile),
		.sums = sums,
		.cell_bytes = profile->cell_bytes,
		.made = rw_calloc(1, sizeof(struct snmp_made))};
	d->told = rw_calloc(profile->n_tables + 1, sizeof(*d->told));
	for (size_t i = 0; i < profile->n_tables; i++)
		if (profile->tables[i]->behind)
			told_open(d, profile->tables[i]->behind);
	return d;
}

void snmp_decoder_free(struct snmp_decoder *decoder)
{
	if (!decoder)
		return;
	snmp_ports_free(decoder->ports);
	snmp_made_free(decoder->made);
	for (size_t i = 0; i < decoder->profile->n_tables; i++)
		map_free(decoder->told[i]);
	free(decoder->told);
	free(decoder->device);
	free(decoder);
}

struct snmp_ports *snmp_decode_ports(const struct snmp_decoder *decoder)
{
	return decoder->ports;
}

/* ---- the size of a buffer cell ------------------------------------------- */

void snmp_decode_cell_reported(struct snmp_decoder *decoder, uint64_t cell_bytes)
{
	if (cell_bytes == 0 || cell_bytes > CELL_MAX_BYTES)
		return;
	decoder->cell_bytes = cell_bytes;
	decoder->cell_reported = true;
	decoder->cell_assumed = false;
}

void snmp_decode_cell_assumed(struct snmp_decoder *decoder, uint64_t cell_bytes)
{
	if (decoder->cell_bytes != 0 || cell_bytes == 0 || cell_bytes > CELL_MAX_BYTES)
		return;
	decoder->cell_bytes = cell_bytes;
	decoder->cell_assumed = true;
}

bool snmp_decode_cell_known(const struct snmp_decoder *decoder)
{
	return decoder->cell_bytes != 0;
}

void snmp_decode_cell(struct snmp_decoder *decoder, struct sample_list *out)
{
	if (!decoder->cell_reported)
		return;
	rw_grow(out->v, out->n, out->cap);
	out->v[out->n++] = (struct sample){.value = decoder->cell_bytes,
		.entity = entities_intern(decoder->entities, decoder->device, NULL, PRIO_NONE),
		.metric = M_CFG_CELL,
		.source = SOURCE_SNMP};
}

/* ---- what a row is about ------------------------------------------------- */

struct snmp_subject { /* from the index of a row */
	struct snmp_port_entry *port; /* NULL = the device, or a pool */
	int priority; /* PRIO_NONE = none in the index, or unmapped */
	int64_t queue; /* -1 = none; the unmapped one when priority is PRIO_NONE */
	int64_t pool; /* -1 = none */
};

/* index_parts - the parts of a row's index, by the table's rule. False when the row is not for us.
 */
static bool index_parts(struct snmp_decoder *decoder, const struct profile_table *table,
	struct snmp_oid row, uint32_t parts[PROFILE_PARTS_MAX])
{
	const bool decimal = table->decimal_by[0] != 0; /* all parts in one number */
	size_t n_arcs = table->n_parts;
	if (decimal)
		n_arcs = 1;
	if (row.n != n_arcs) {
		decoder->stats.bad_indexes++;
		return false;
	}
	if (!decimal) {
		memcpy(parts, row.v, row.n * sizeof(*parts));
		return true;
	}
	if (row.v[0] < table->decimal_base)
		return false; /* another kind of thing in the same table */
	uint32_t left = row.v[0] - table->decimal_base;
	for (size_t i = 0; i < table->n_parts; i++) {
		parts[i] = left / table->decimal_by[i];
		left %= table->decimal_by[i];
	}
	return true;
}

/* index_subject - what the index says. False when the row is not for us. */
static bool index_subject(struct snmp_decoder *decoder, const struct profile_table *table,
	const uint32_t *index, struct snmp_subject *ret)
{
	*ret = (struct snmp_subject){.priority = PRIO_NONE, .queue = -1, .pool = -1};
	for (size_t i = 0; i < table->n_parts; i++) {
		uint32_t arc = index[i];
		switch (table->parts[i]) {
		case PART_PORT:
			ret->port = snmp_ports_find(decoder->ports, arc);
			if (!ret->port) {
				decoder->stats.unknown_ports++;
				return false;
			}
			break;
		case PART_PRIORITY:
			if (arc >= SNMP_PRIORITIES)
				return false;
			ret->priority = (int)arc;
			break;
		case PART_QUEUE:
			if (arc < table->first_queue)
				return false; /* "0 = the sum of all" and the like */
			ret->queue = (int64_t)arc - table->first_queue;
			ret->priority = profile_priority(decoder->profile, (uint32_t)ret->queue);
			break;
		case PART_GROUP:
			ret->queue = (int64_t)arc;
			ret->priority = profile_priority(decoder->profile, arc);
			break;
		case PART_POOL: ret->pool = arc; break;
		case PART_OTHER: break;
		}
	}
	return true;
}

static uint32_t priority_entity(
	struct snmp_decoder *decoder, struct snmp_port_entry *port, int priority)
{
	uint32_t *slot = &port->priority[priority];
	if (!*slot)
		*slot = entities_intern(decoder->entities, decoder->device, port->name, priority);
	return *slot;
}

static uint32_t subject_entity(struct snmp_decoder *decoder, const struct snmp_subject *subject,
	const struct profile_value *value)
{
	char name[SNMP_NAME_MAX + 32];
	/* 1. of the device, or of one of its buffer pools */
	if (!subject->port) {
		if (subject->pool < 0)
			return entities_intern(decoder->entities, decoder->device, NULL, PRIO_NONE);
		snprintf(name, sizeof(name), "pool:%lld", (long long)subject->pool);
		return entities_intern(decoder->entities, decoder->device, name, PRIO_NONE);
	}
	/* 2. of the whole port */
	if (metric_info((unsigned)value->metric)->scope != SCOPE_PRIO)
		return subject->port->entity;
	/* 3. of one priority of it */
	int priority = subject->priority;
	if (value->priority != PRIO_NONE)
		priority = value->priority;
	if (priority != PRIO_NONE)
		return priority_entity(decoder, subject->port, priority);
	if (subject->queue < 0)
		return subject->port->entity;
	/* 4. of a queue that no priority maps to: never dropped silently */
	snprintf(name, sizeof(name), "%s#q%lld", subject->port->name, (long long)subject->queue);
	return entities_intern(decoder->entities, decoder->device, name, PRIO_NONE);
}

/* ---- the values of a row ------------------------------------------------- */

struct snmp_row { /* the one being read */
	const struct profile_table *table;
	const struct snmp_rows *rows;
	size_t at; /* its number */
	uint32_t index[PROFILE_PARTS_MAX];
	char text[SNMP_NAME_MAX]; /* that may name its port; "" where the index does */
	struct snmp_subject subject;
	size_t first_sum; /* where its sums begin */
};

static bool value_applies(const struct snmp_row *row, const struct profile_value *value)
{
	for (size_t i = 0; i < row->table->n_parts; i++)
		if (value->where[i] != PROFILE_ANY && row->index[i] != (uint64_t)value->where[i])
			return false;
	if (value->named && !str_glob(value->named, row->text))
		return false;
	if (value->when_column < 0)
		return true;
	const struct snmp_value *when =
		snmp_rows_value(row->rows, row->at, (size_t)value->when_column);
	return when && when->u == value->when_equals;
}

static struct snmp_sum *row_sum(
	struct snmp_decoder *decoder, const struct snmp_row *row, const struct profile_value *value)
{
	const uint32_t entity = subject_entity(decoder, &row->subject, value);
	return snmp_sums_get(
		decoder->sums, row->table->sums_rows, entity, value->metric, row->first_sum);
}

/* value_wraps - does this counter wrap at 2^32? A scaled one does not any more: then a decrease is
 * a reset. */
static bool value_wraps(const struct profile_value *value, enum snmp_type type)
{
	if (value->mul != 1 || value->div != 1 || value->cells)
		return false;
	if (value->width == 0)
		return type == SNMP_COUNTER32;
	return value->width == 32;
}

/* fold_keeps - of several sensors of one port: does the one known already stay? */
static bool fold_keeps(const struct profile_value *value, double known, double fresh)
{
	if (value->fold == FOLD_MIN)
		return fresh >= known;
	if (value->fold == FOLD_MAX)
		return fresh <= known;
	return false;
}

static void value_take(struct snmp_decoder *decoder, const struct snmp_row *row,
	const struct profile_value *value, const struct snmp_value *answer)
{
	if (!snmp_type_is_number(answer->type)) {
		decoder->stats.wrong_types++;
		return;
	}
	if (!snmp_value_usable(value, answer->u))
		return;
	if (value->cells && !decoder->cell_bytes) {
		decoder->stats.no_cell++;
		return;
	}
	struct snmp_sum *sum = row_sum(decoder, row, value);
	if (sum->mask && value->fallback && !sum->fallback)
		return; /* the better column has answered */
	uint64_t raw = answer->u, cells = 1;
	if (value->has_equals)
		raw = answer->u == value->equals;
	if (value->cells)
		cells = decoder->cell_bytes;
	double number = (double)raw;
	if (answer->type == SNMP_INTEGER)
		number = (double)(int64_t)raw;
	uint64_t whole = raw * cells * value->mul / value->div;
	number = number * (double)cells * (double)value->mul / (double)value->div;
	const bool first = sum->mask == 0;
	if (value->fold != FOLD_SUM) {
		if (first || !fold_keeps(value, sum->fsum, number))
			sum->fsum = number;
	} else if (value->subtract) {
		sum->sum -= whole;
		sum->fsum -= number;
	} else {
		sum->sum += whole;
		sum->fsum += number;
	}
	sum->mask |= (uint64_t)1 << value->bit;
	sum->port = row->subject.port;
	sum->fallback = value->fallback;
	sum->needed = value->needed;
	if (value->cells && decoder->cell_assumed)
		sum->estimated = true;
	if (value_wraps(value, answer->type))
		sum->wrap32 = true;
}

/* reading_take - one number that is no counter: the first of its thing, or folded into it. */
static void reading_take(struct snmp_decoder *decoder, const struct snmp_row *row,
	const struct profile_value *value, double reading, bool estimated)
{
	struct snmp_sum *sum = row_sum(decoder, row, value);
	const bool first = sum->mask == 0;
	if (!first && fold_keeps(value, sum->fsum, reading))
		return;
	if (first || value->fold != FOLD_SUM)
		sum->fsum = reading;
	else
		sum->fsum += reading;
	sum->mask |= (uint64_t)1 << value->bit;
	sum->port = row->subject.port;
	sum->estimated = estimated;
}

/* text_take - a number that the device writes as text. "N/A" and the like are no value. */
static void text_take(struct snmp_decoder *decoder, const struct snmp_row *row,
	const struct profile_value *value, const struct snmp_value *answer)
{
	char text[SNMP_NAME_MAX], *end;
	size_t n;
	const uint8_t *bytes = snmp_rows_bytes(row->rows, answer, &n);
	if (!bytes) {
		decoder->stats.wrong_types++;
		return;
	}
	snmp_text_clean(text, sizeof(text), bytes, n);
	if (text[0] == '\0' || text[strspn(text, "+-.0123456789")] != '\0')
		return;
	double number = strtod(text, &end) * (double)value->mul / (double)value->div;
	if (value->milliwatts && number <= 0)
		return; /* no light: there is no such dBm */
	if (value->milliwatts)
		number = 10 * log10(number);
	if (*end == '\0' && isfinite(number))
		reading_take(decoder, row, value, number, false);
}

static void sensor_take(
	struct snmp_decoder *decoder, const struct snmp_row *row, const struct profile_value *value)
{
	struct snmp_sensor sensor = {.value = snmp_rows_value(row->rows, row->at, value->column)};
	const struct snmp_value **const to[] = {[SENSOR_TYPE] = &sensor.type,
		[SENSOR_SCALE] = &sensor.scale,
		[SENSOR_PRECISION] = &sensor.precision,
		[SENSOR_STATUS] = &sensor.status};
	for (size_t i = 0; i < PROFILE_SENSOR_COLUMNS; i++)
		*to[i] = snmp_rows_value(row->rows, row->at, value->sensor_columns[i]);
	const bool power = strcmp(metric_info((unsigned)value->metric)->unit, "dBm") == 0;
	bool bound = false;
	double reading;
	int rc;
	if (power)
		rc = snmp_sensor_dbm(&sensor, &reading, &bound);
	else
		rc = snmp_sensor_celsius(&sensor, &reading);
	if (!snmp_value_usable(value, sensor.value->u))
		return;
	if (rc == -EPROTOTYPE)
		decoder->stats.wrong_types++;
	if (rc == 0)
		reading_take(decoder, row, value, reading, bound);
}

/* discontinuity_take - ifCounterDiscontinuityTime (RFC 2863): when it changes, the port's counters
 * began anew. */
static void discontinuity_take(struct snmp_port_entry *port, const struct snmp_value *answer)
{
	if (!port || !snmp_type_is_number(answer->type))
		return;
	if (port->has_discontinuity && port->discontinuity != answer->u)
		port->discontinued = true;
	port->discontinuity = answer->u;
	port->has_discontinuity = true;
}

/* row_join - the port of a row whose index does not say it. False when the row is not for us. */
static bool row_join(struct snmp_decoder *decoder, struct snmp_row *row)
{
	bool holds = false;
	row->text[0] = '\0';
	if (row->table->port_column < 0)
		return true;
	snmp_join_text(row->table, row->rows, row->at, row->text);
	for (size_t i = 0; i < row->table->n_values && !holds; i++) {
		const struct profile_value *value = &row->table->values[i];
		holds = snmp_rows_value(row->rows, row->at, value->column) &&
			value_applies(row, value);
	}
	if (!holds)
		return false; /* a fan, a power supply: nothing is asked of it */
	row->subject.port = snmp_join_port(decoder->ports, row->table, row->rows, row->at);
	if (row->subject.port)
		return true;
	decoder->stats.strangers++;
	memcpy(decoder->stats.stranger, row->text, sizeof(row->text));
	return false;
}

static void row_take(struct snmp_decoder *decoder, const struct snmp_row *row)
{
	for (size_t i = 0; i < row->table->n_values; i++) {
		const struct profile_value *value = &row->table->values[i];
		const struct snmp_value *answer =
			snmp_rows_value(row->rows, row->at, value->column);
		if (!answer || !value_applies(row, value))
			continue;
		if (value->attribute == ATTRIBUTE_DISCONTINUITY)
			discontinuity_take(row->subject.port, answer);
		else if (value->attribute != ATTRIBUTE_NONE)
			continue; /* names: snmp_ports */
		else if (value->sensor)
			sensor_take(decoder, row, value);
		else if (value->text)
			text_take(decoder, row, value, answer);
		else
			value_take(decoder, row, value, answer);
	}
}

/* ---- from sums to samples ------------------------------------------------ */

/* sum_bound - what a counter can grow by in a second; 0 = unknown. */
static double sum_bound(const struct snmp_sum *sum)
{
	switch (sum->metric) {
	case M_PORT_IN_OCTETS:
	case M_PORT_OUT_OCTETS:
	case M_QUEUE_OUT_OCTETS:
		if (sum->port && sum->port->seen.speed_bps >= LINE_LEAST_BPS)
			return (double)sum->port->seen.speed_bps / 8;
		return 0;
	case M_PFC_RX_PAUSE_NS:
	case M_PFC_TX_PAUSE_NS: return NS_PER_S;
	default: return 0;
	}
}

/* sum_check - is the counter's growth possible? Returns @flags, with what was found. */
static unsigned sum_check(struct snmp_decoder *decoder, const struct snmp_sum *sum, uint32_t number,
	uint64_t value, unsigned flags)
{
	double bound = 0;
	if (decoder->t_ns)
		bound = sum_bound(sum);
	if (bound <= 0)
		return flags;
	flags = counter_check_take(
		snmp_made_check(decoder->made, number), decoder->t_ns, value, flags, bound);
	decoder->stats.suspects += (flags & SF_SUSPECT) != 0;
	return flags;
}

/* sum_restarted - may no difference to the last poll be taken? */
static bool sum_restarted(struct snmp_decoder *decoder, const struct profile_table *table,
	const struct snmp_sum *sum, uint32_t number, bool restart)
{
	uint64_t made_of = sum->mask;
	if (table->unless)
		made_of = ~made_of; /* never the same columns as those of the better table */
	if (snmp_made_changed(decoder->made, number, made_of) || restart)
		return true;
	return sum->port && (sum->port->discontinued || sum->port->fresh);
}

static uint64_t sum_value(const struct snmp_sum *sum)
{
	if (metric_info((unsigned)sum->metric)->type == TYPE_F64)
		return sample_of_f64(sum->fsum);
	if (sum->wrap32 && sum->sum > SAMPLE_WRAP32_MAX) /* what is taken away has not wrapped */
		return (uint32_t)sum->sum;
	return sum->sum;
}

static void sum_sample(struct snmp_decoder *decoder, const struct profile_table *table,
	const struct snmp_sum *sum, bool restart, struct sample_list *out)
{
	if (sum->needed && (unsigned)__builtin_popcountll(sum->mask) < sum->needed)
		return;
	const uint64_t value = sum_value(sum);
	unsigned flags = 0;
	if (sum->estimated)
		flags = SF_ESTIMATED;
	if (metric_info((unsigned)sum->metric)->kind == METRIC_COUNTER) {
		const uint32_t number = snmp_made_number(decoder->made, sum->entity, sum->metric);
		if (sum_restarted(decoder, table, sum, number, restart))
			flags |= SF_RESTART;
		if (sum->wrap32)
			flags |= SF_WRAP32;
		flags = sum_check(decoder, sum, number, value, flags);
	}
	rw_grow(out->v, out->n, out->cap);
	out->v[out->n++] = (struct sample){.value = value,
		.entity = sum->entity,
		.metric = (uint16_t)sum->metric,
		.flags = (uint16_t)flags,
		.source = SOURCE_SNMP};
}

/* ---- a poll -------------------------------------------------------------- */

void snmp_decode_begin(struct snmp_decoder *decoder, int64_t t_ns)
{
	decoder->t_ns = t_ns;
	decoder->stats.no_cell = 0;
	decoder->made->next = 0;
	made_drop_index(decoder->made);
	snmp_ports_begin(decoder->ports);
}

void snmp_decode_table(struct snmp_decoder *decoder, const struct profile_table *table,
	const struct snmp_rows *rows, bool restart, struct sample_list *out)
{
	struct snmp_row row = {.table = table, .rows = rows};
	snmp_sums_begin(decoder->sums);
	for (row.at = 0; row.at < snmp_rows_count(rows); row.at++) {
		struct snmp_oid index = snmp_rows_index(rows, row.at);
		if (!index_parts(decoder, table, index, row.index) ||
			!index_subject(decoder, table, row.index, &row.subject) ||
			!row_join(decoder, &row))
			continue;
		row.first_sum = decoder->sums->n;
		row_take(decoder, &row);
	}
	struct map **told = told_slot(decoder, table->name), **better = NULL;
	if (told && *told)
		map_clear(*told);
	if (table->behind)
		better = told_slot(decoder, table->behind);
	for (size_t i = 0; i < decoder->sums->n; i++) {
		const struct snmp_sum *sum = &decoder->sums->v[i];
		uint64_t known, key = snmp_sums_key(sum->entity, sum->metric);
		if (better && *better && map_get(*better, key, &known))
			continue;
		if (told && *told)
			map_put(*told, key, 1);
		sum_sample(decoder, table, sum, restart, out);
	}
}

/* better_answers - does a column that @value only stands in for give this row's value? */
static bool better_answers(const struct profile_table *table, const struct snmp_rows *rows,
	size_t row, const struct profile_value *value)
{
	for (size_t i = 0; i < table->n_values; i++) {
		const struct profile_value *other = &table->values[i];
		if (other->fallback || other->metric != value->metric)
			continue;
		const struct snmp_value *answer = snmp_rows_value(rows, row, other->column);
		if (answer && snmp_value_usable(other, answer->u))
			return true;
	}
	return false;
}

static bool value_needed(const struct profile_table *table, const struct snmp_rows *rows,
	const struct profile_value *value)
{
	if (snmp_rows_column_count(rows, value->column) == 0)
		return false;
	if (!value->fallback)
		return true;
	for (size_t row = 0; row < snmp_rows_count(rows); row++) {
		const struct snmp_value *answer = snmp_rows_value(rows, row, value->column);
		if (answer && snmp_value_usable(value, answer->u) &&
			!better_answers(table, rows, row, value))
			return true;
	}
	return false;
}

size_t snmp_decode_needed(
	const struct profile_table *table, const struct snmp_rows *rows, bool *ret_want)
{
	size_t n = 0;
	memset(ret_want, 0, table->n_columns * sizeof(*ret_want));
	for (size_t i = 0; i < table->n_values; i++) {
		const struct profile_value *value = &table->values[i];
		if (!value_needed(table, rows, value))
			continue;
		ret_want[value->column] = true;
		if (value->when_column >= 0)
			ret_want[value->when_column] = true;
		for (size_t k = 0; value->sensor && k < PROFILE_SENSOR_COLUMNS; k++)
			ret_want[value->sensor_columns[k]] = true;
		if (table->port_column >= 0)
			ret_want[table->port_column] = true;
		if (table->parent_column >= 0)
			ret_want[table->parent_column] = true;
	}
	for (size_t i = 0; i < table->n_columns; i++)
		n += ret_want[i];
	return n;
}

const struct snmp_decode_stats *snmp_decode_stats(const struct snmp_decoder *decoder)
{
	return &decoder->stats;
}

/* ipfix - sessions, templates, sets. */
#include "collectors/push/ipfix.h"

#include "base/bytes.h"
#include "collectors/push/push_map.h"
#include "config/push_objects.h"
#include "db/model/entity.h"
#include "db/model/metric.h"
#include "config/profile/profile_push.h"

/* ---- ipfix_flow - sums up records, and looks fields up. */

enum series_state { SERIES_UNKNOWN, SERIES_NO_OBJECT, SERIES_MAPPED };

struct flow_series {
	struct ipfix_field field;
	enum series_state state;
	bool peak;
	uint32_t entity;
	const struct push_rule *rule;
};

struct ipfix_flow {
	struct burst *burst;
	void *owner;
	uint32_t group;
	struct flow_series *series;
	uint64_t *values; /* of the interval under way */
	size_t n;
	bool whole; /* all numbers have 8 bytes */
	uint64_t records; /* in the interval */
	int64_t t_ns; /* of the newest record */
};

struct ipfix_flow *ipfix_flow_new(const struct ipfix_template *template, struct burst *burst)
{
	struct ipfix_flow *flow = rw_calloc(1, sizeof(*flow));
	rw_cleanup(freep) struct burst_field *fields =
		rw_calloc(template->n_fields + 1, sizeof(*fields));
	flow->burst = burst;
	flow->group = BURST_NONE;
	flow->n = template->n_fields;
	flow->series = rw_calloc(flow->n + 1, sizeof(*flow->series));
	flow->values = rw_calloc(flow->n + 1, sizeof(*flow->values));
	flow->whole = true;
	for (size_t i = 0; i < flow->n; i++) {
		const struct ipfix_field *field = &template->fields[i];
		flow->series[i].field = *field;
		flow->whole &= field->bytes == 8;
		fields[i] = (struct burst_field){field->type, field->stat, field->object};
		const struct sai_stat *stat = NULL;
		if (field->sai)
			stat = sai_stat_of(field->type, field->stat);
		flow->series[i].peak = stat && stat->kind == SAI_PEAK;
	}
	if (burst)
		flow->group = burst_group(burst, fields, flow->n);
	return flow;
}

void ipfix_flow_free(struct ipfix_flow *flow)
{
	if (!flow)
		return;
	free(flow->series);
	free(flow->values);
	free(flow);
}

void ipfix_flow_belongs(struct ipfix_flow *flow, void *owner)
{
	flow->owner = owner;
}

void *ipfix_flow_owner(const struct ipfix_flow *flow)
{
	return flow->owner;
}

size_t ipfix_flow_fields(const struct ipfix_flow *flow)
{
	return flow->n;
}

/* ---- meanings ---------------------------------------------------------------- */

static void series_means(struct flow_series *series, const struct ipfix_meaning *meaning)
{
	char name[SAI_NAME_MAX];
	struct push_place place;
	const struct ipfix_field *field = &series->field;
	series->state = SERIES_UNKNOWN;
	series->rule = NULL;
	if (!field->sai || !meaning->map)
		return;
	sai_stat_text(name, field->type, field->stat);
	series->rule = push_map_find(meaning->map, name, strlen(name));
	if (!series->rule)
		return;
	series->state = SERIES_NO_OBJECT;
	const char *object = push_objects_name(meaning->objects, field->type, field->object);
	if (!object)
		return;
	const struct push_label label = {
		"object_name", object, strlen("object_name"), strlen(object)};
	if (push_rule_place(series->rule, &label, 1, &place) < 0)
		return;
	const char *port = place.port;
	if (!*port)
		port = NULL;
	series->entity = entities_intern(meaning->entities, meaning->device, port, place.priority);
	if (series->entity != ENTITY_NONE)
		series->state = SERIES_MAPPED;
}

void ipfix_flow_means(struct ipfix_flow *flow, const struct ipfix_meaning *meaning)
{
	for (size_t i = 0; i < flow->n; i++)
		series_means(&flow->series[i], meaning);
}

/* ---- records ----------------------------------------------------------------- */

static inline uint64_t flow_keep(const struct flow_series *series, uint64_t before, uint64_t value)
{
	if (series->peak && before > value)
		return before;
	return value;
}

/* @row: of the ring; NULL: it takes none. */
static void flow_whole(
	struct ipfix_flow *flow, const uint8_t *record, uint64_t *restrict row, size_t stride)
{
	for (size_t i = 0; i < flow->n; i++) {
		uint64_t value;
		memcpy(&value, record + flow->series[i].field.offset, sizeof(value));
		value = __builtin_bswap64(value);
		if (row)
			row[i * stride] = value;
		flow->values[i] = flow_keep(&flow->series[i], flow->values[i], value);
	}
}

static void flow_mixed(
	struct ipfix_flow *flow, const uint8_t *record, uint64_t *restrict row, size_t stride)
{
	for (size_t i = 0; i < flow->n; i++) {
		const struct ipfix_field *field = &flow->series[i].field;
		const uint64_t value = ipfix_number(record + field->offset, field->bytes);
		if (row)
			row[i * stride] = value;
		flow->values[i] = flow_keep(&flow->series[i], flow->values[i], value);
	}
}

static bool flow_off(int64_t t_ns, int64_t now_ns, int64_t off_ns)
{
	return t_ns < now_ns - off_ns || t_ns > now_ns + off_ns;
}

size_t ipfix_flow_add(struct ipfix_flow *flow, const struct ipfix_template *template,
	const uint8_t *data, size_t n, uint32_t export_s, int64_t now_ns, int64_t off_ns)
{
	size_t off = 0;
	for (size_t r = 0; r < n; r++, data += template->record_bytes) {
		uint64_t *row = NULL;
		size_t stride = 0;
		int64_t t_ns = ipfix_time(template, data, export_s);
		if (flow_off(t_ns, now_ns, off_ns)) {
			t_ns = now_ns;
			off++;
		}
		if (flow->group != BURST_NONE)
			row = burst_row(flow->burst, flow->group, t_ns, &stride);
		if (flow->whole)
			flow_whole(flow, data, row, stride);
		else
			flow_mixed(flow, data, row, stride);
		flow->records++;
		flow->t_ns = t_ns;
	}
	return off;
}

/* ---- the end of an interval ---------------------------------------------------- */

/* "port_if_in_ucast_pkts" of SAI_PORT_STAT_IF_IN_UCAST_PKTS: figures have short lower keys. */
static void unknown_key(const struct ipfix_field *field, char ret[IPFIX_UNKNOWN_KEY])
{
	const struct sai_stat *stat = NULL;
	const char *type = NULL;
	if (field->sai) {
		stat = sai_stat_of(field->type, field->stat);
		type = sai_type_name(field->type);
	}
	if (stat && type)
		snprintf(ret, IPFIX_UNKNOWN_KEY, "%s_%s", type, stat->name);
	else if (field->sai)
		snprintf(ret, IPFIX_UNKNOWN_KEY, "type_%u_stat_%u", field->type, field->stat);
	else
		snprintf(ret, IPFIX_UNKNOWN_KEY, "e%u_%u", field->type, field->object);
	for (char *p = ret; *p; p++)
		*p = (char)tolower((unsigned char)*p);
}

static void unknown_add(
	struct ipfix_unknown *unknown, const struct ipfix_field *field, uint64_t values)
{
	char key[IPFIX_UNKNOWN_KEY];
	size_t i = 0;
	unknown->values += values;
	unknown_key(field, key);
	while (i < unknown->n_names && !str_eq(unknown->names[i].key, key))
		i++;
	if (i == IPFIX_UNKNOWN_NAMES) {
		unknown->more += values;
		return;
	}
	if (i == unknown->n_names) {
		unknown->n_names++;
		memcpy(unknown->names[i].key, key, sizeof(key));
	}
	unknown->names[i].values += values;
}

static bool series_sample(const struct ipfix_flow *flow, const struct flow_series *series,
	uint64_t value, int64_t interval_ns, struct sample *ret)
{
	const struct push_number number = {.whole = true, .integer = (int64_t)value};
	unsigned flags = 0;
	*ret = (struct sample){.t_ns = flow->t_ns,
		.entity = series->entity,
		.metric = (uint16_t)series->rule->value->metric,
		.source = SOURCE_PUSH};
	if (value > INT64_MAX || push_rule_value(series->rule, &number, &ret->value, &flags) < 0)
		return false;
	ret->flags = (uint16_t)flags;
	if (series->peak)
		ret->window_ms = (uint32_t)(interval_ns / NS_PER_MS);
	return true;
}

size_t ipfix_flow_end(struct ipfix_flow *flow, int64_t interval_ns, struct ipfix_unknown *unknown,
	struct sample *ret)
{
	size_t n = 0;
	if (flow->records == 0)
		return 0;
	for (size_t i = 0; i < flow->n; i++) {
		const struct flow_series *series = &flow->series[i];
		const uint64_t value = flow->values[i];
		if (series->peak)
			flow->values[i] = 0;
		if (series->state == SERIES_UNKNOWN)
			unknown_add(unknown, &series->field, flow->records);
		else if (series->state == SERIES_NO_OBJECT)
			unknown->objects += flow->records;
		else if (series_sample(flow, series, value, interval_ns, &ret[n]))
			n++;
		else
			unknown->impossible++;
	}
	flow->records = 0;
	return n;
}

/* ipfix_sequence - habits and gaps. */

#define SURE 3 /* messages in a row that speak for another habit */
#define BACK_MAX 65536u /* further back it is no late message: the source began anew */

static void sequence_vote(struct ipfix_sequence *s, uint32_t step)
{
	const bool says[3] = {
		[IPFIX_COUNTS_RECORDS] = step == (uint32_t)s->records,
		[IPFIX_COUNTS_MESSAGES] = step == 1,
		[IPFIX_COUNTS_NOTHING] = step == 0,
	};
	if (s->unknown || s->records <= 1) /* all would look the same, or nothing is known */
		if (step != 0)
			return;
	for (int i = 0; i < 3; i++) {
		s->votes[i] = says[i] ? s->votes[i] + 1 : 0;
		if (s->votes[i] >= SURE && !says[s->habit])
			s->habit = (enum ipfix_habit)i;
	}
}

void ipfix_sequence(struct ipfix_sequence *s, uint32_t number, uint64_t records, bool unknown,
	struct ipfix_gap *ret)
{
	const uint32_t step = number - s->last;
	const enum ipfix_habit before = s->habit;
	*ret = (struct ipfix_gap){0};
	if (s->begun) {
		if (s->records > 0)
			sequence_vote(s, step);
		uint32_t expected = (uint32_t)s->records;
		if (s->habit == IPFIX_COUNTS_MESSAGES)
			expected = 1;
		const uint32_t ahead = step - expected;
		const bool open = s->habit == IPFIX_COUNTS_RECORDS &&
			(s->unknown || s->votes[IPFIX_COUNTS_MESSAGES] > 0);
		ret->uncounted = s->habit == IPFIX_COUNTS_NOTHING;
		if (ret->uncounted || open || before != s->habit) {
			/* nothing can be said of this step */
		} else if (ahead > 0 && ahead < 0x80000000u) {
			ret->lost = ahead;
		} else if (ahead != 0 && 0 - ahead < BACK_MAX + expected) {
			ret->reordered = true;
			if (s->votes[IPFIX_COUNTS_NOTHING] == 0)
				return; /* the newest one stays */
		}
	}
	s->begun = true;
	s->last = number;
	s->records = records;
	s->unknown = unknown;
}

/* ---- ipfix ----------------------------------------------------------------- */

#define VERSION 10
#define SET_TEMPLATE 2
#define SET_OPTIONS 3
#define SET_DATA_MIN 256
#define VARIABLE 0xffff
#define ENTERPRISE 0x8000
#define EXTENSION_BASE 0x20000000u
#define LIFE_MIN (30 * 60 * NS_PER_S)
#define LIFE_MAX (3 * 24 * 3600 * NS_PER_S)
#define NTP_EPOCH_S 2208988800 /* from 1900 to 1970 */

struct known_template {
	struct ipfix_template t;
	uint8_t *wire; /* its fields as they came */
	size_t n_wire;
	mono_t sent; /* last */
	int64_t again_ns; /* between the last two; 0 = came once */
};

struct known_session {
	struct ipfix_session s;
	struct ipfix_sequence sequence;
	mono_t heard;
	bool read; /* a record of it, ever */
	struct known_template templates[IPFIX_TEMPLATES];
	size_t n_templates;
};

struct ipfix {
	struct ipfix_options o;
	struct known_session *sessions[IPFIX_SESSIONS];
	size_t n_sessions, fields;
	struct ipfix_counts counts;
};

struct message { /* that is read */
	struct known_session *session;
	bool reliable;
	mono_t now;
	uint32_t export_s;
	uint64_t records; /* that count in the sequence */
	bool unknown; /* a set whose records cannot be counted */
};

const struct ipfix_counts *ipfix_counts(const struct ipfix *ipfix)
{
	return &ipfix->counts;
}

size_t ipfix_templates(const struct ipfix *ipfix)
{
	size_t n = 0;
	for (size_t i = 0; i < ipfix->n_sessions; i++)
		n += ipfix->sessions[i]->n_templates;
	return n;
}

/* ---- shares ---------------------------------------------------------------- */

static size_t session_fields(const struct known_session *session)
{
	size_t n = 0;
	for (size_t i = 0; i < session->n_templates; i++)
		n += session->templates[i].t.n_fields;
	return n;
}

/* What one source has; its sessions and their fields. */
static void source_has(const struct ipfix *ipfix, const uint8_t source[16], size_t *ret_sessions,
	size_t *ret_fields)
{
	*ret_sessions = *ret_fields = 0;
	for (size_t i = 0; i < ipfix->n_sessions; i++) {
		const struct known_session *session = ipfix->sessions[i];
		if (memcmp(session->s.source, source, 16) != 0)
			continue;
		++*ret_sessions;
		*ret_fields += session_fields(session);
	}
}

static bool source_may_add_session(const struct ipfix *ipfix, const uint8_t source[16])
{
	size_t sessions, fields;
	source_has(ipfix, source, &sessions, &fields);
	return sessions < IPFIX_SESSIONS - ipfix->n_sessions;
}

static bool source_may_add_fields(const struct ipfix *ipfix, const uint8_t source[16], size_t n)
{
	size_t sessions, fields;
	source_has(ipfix, source, &sessions, &fields);
	return fields + n <= IPFIX_FIELDS_ALL - ipfix->fields;
}

static void source_refused(struct ipfix *ipfix, const uint8_t source[16])
{
	ipfix->counts.refused++;
	if (ipfix->o.refused)
		ipfix->o.refused(ipfix->o.arg, source);
}

/* ---- templates ------------------------------------------------------------- */

static void template_clear(struct ipfix *ipfix, struct known_template *known)
{
	if (known->t.user && ipfix->o.free_user)
		ipfix->o.free_user(ipfix->o.arg, known->t.user);
	ipfix->fields -= known->t.n_fields;
	free(known->t.fields);
	free(known->wire);
	*known = (struct known_template){0};
}

static void template_remove(struct ipfix *ipfix, struct known_session *session, size_t at)
{
	template_clear(ipfix, &session->templates[at]);
	session->templates[at] = session->templates[--session->n_templates];
}

static struct known_template *template_find(struct known_session *session, uint16_t id)
{
	for (size_t i = 0; i < session->n_templates; i++)
		if (session->templates[i].t.id == id)
			return &session->templates[i];
	return NULL;
}

/* Of an element that is the time of a record; 0: it is none. */
static unsigned time_bytes(uint16_t element)
{
	if (element == 322)
		return 4;
	if (element >= 323 && element <= 325)
		return 8;
	return 0;
}

/* RFC 7011 3.2: element, length, and an enterprise number where the highest bit says so. */
static void field_take(struct ipfix_template *template, struct bytes *in, bool number)
{
	const uint16_t element = bytes_be16(in), bytes = bytes_be16(in);
	uint32_t enterprise = 0;
	if (element & ENTERPRISE)
		enterprise = bytes_be32(in);
	const uint32_t offset = template->record_bytes;
	if (bytes == VARIABLE) {
		template->variable = true;
		template->record_bytes++;
		return;
	}
	template->record_bytes += bytes;
	if (enterprise == 0 && template->time_element == 0 && bytes > 0 &&
		bytes == time_bytes(element)) {
		template->time_element = element;
		template->time_offset = offset;
		return;
	}
	if (!number || bytes < 1 || bytes > 8)
		return;
	struct ipfix_field *field = &template->fields[template->n_fields++];
	*field = (struct ipfix_field){.offset = offset,
		.bytes = (uint8_t)bytes,
		.type = enterprise,
		.object = element & 0x7fff};
	if (enterprise >> 16 == 0) /* a number that IANA gave to somebody, or none */
		return;
	field->sai = true;
	field->type = (enterprise & 0x7fff0000) >> 16;
	field->stat = enterprise & 0x7fff;
	if (enterprise & 0x80000000)
		field->type += EXTENSION_BASE;
	if (enterprise & 0x8000)
		field->stat += EXTENSION_BASE;
}

/* How many bytes @n fields need on the wire; 0: they are not all there. */
static size_t fields_bytes(struct bytes in, size_t n)
{
	const size_t before = bytes_left(&in);
	for (size_t i = 0; i < n; i++) {
		const uint16_t element = bytes_be16(&in);
		bytes_skip(&in, 2);
		if (element & ENTERPRISE)
			bytes_skip(&in, 4);
	}
	if (!bytes_ok(&in))
		return 0;
	return before - bytes_left(&in);
}

static void template_sent(struct known_template *known, mono_t now)
{
	if (known->sent.ns)
		known->again_ns = now.ns - known->sent.ns;
	known->sent = now;
}

static void template_fill(struct ipfix *ipfix, struct known_template *known, uint16_t id,
	const uint8_t *wire, size_t n_wire, size_t n, bool options)
{
	struct bytes in = bytes_of(wire, n_wire);
	*known = (struct known_template){.t = {.id = id, .options = options}};
	known->t.fields = rw_calloc(n, sizeof(*known->t.fields));
	for (size_t i = 0; i < n; i++)
		field_take(&known->t, &in, !options);
	known->wire = rw_calloc(n_wire, 1);
	memcpy(known->wire, wire, n_wire);
	known->n_wire = n_wire;
	ipfix->fields += known->t.n_fields;
}

static void template_take(struct ipfix *ipfix, const struct message *message, uint16_t id,
	const uint8_t *wire, size_t n_wire, size_t n, bool options)
{
	struct known_session *session = message->session;
	struct known_template *known = template_find(session, id);
	uint64_t changes = 0;
	ipfix->counts.templates++;
	if (known && known->n_wire == n_wire && known->t.options == options &&
		memcmp(known->wire, wire, n_wire) == 0) {
		template_sent(known, message->now);
		return;
	}
	if (known) {
		ipfix->counts.changed++;
		changes = known->t.changes + 1;
		template_remove(ipfix, session, (size_t)(known - session->templates));
	}
	if (session->n_templates == IPFIX_TEMPLATES || n > IPFIX_FIELDS ||
		!source_may_add_fields(ipfix, session->s.source, n)) {
		source_refused(ipfix, session->s.source);
		return;
	}
	known = &session->templates[session->n_templates++];
	template_fill(ipfix, known, id, wire, n_wire, n, options);
	known->t.changes = changes;
	template_sent(known, message->now);
}

static void template_withdraw(struct ipfix *ipfix, const struct message *message, uint16_t id)
{
	struct known_session *session = message->session;
	if (!message->reliable) {
		ipfix->counts.ignored_withdrawals++;
		return;
	}
	for (size_t i = session->n_templates; i-- > 0;) {
		const struct ipfix_template *t = &session->templates[i].t;
		/* the id of the set withdraws all of its kind */
		const bool all = id == (t->options ? SET_OPTIONS : SET_TEMPLATE);
		if (t->id != id && !all)
			continue;
		template_remove(ipfix, session, i);
		ipfix->counts.withdrawn++;
	}
}

/* RFC 7011 3.4.1 and 3.4.2.2. */
static bool set_of_templates(
	struct ipfix *ipfix, const struct message *message, struct bytes *in, bool options)
{
	while (bytes_left(in) >= 4) {
		const uint16_t id = bytes_be16(in), n = bytes_be16(in);
		if (id == 0 && n == 0) /* padding */
			return true;
		if (n == 0) {
			template_withdraw(ipfix, message, id);
			continue;
		}
		if (options)
			bytes_skip(in, 2); /* how many of them are the scope */
		const size_t n_wire = fields_bytes(*in, n);
		if (id < SET_DATA_MIN || n_wire == 0)
			return false;
		template_take(ipfix, message, id, bytes_take(in, n_wire), n_wire, n, options);
	}
	return bytes_ok(in);
}

/* ---- data ------------------------------------------------------------------ */

/* 32 bits of seconds and 32 of a fraction. */
static int64_t time_of_fraction(uint64_t value, int64_t epoch_s)
{
	return ((int64_t)(value >> 32) - epoch_s) * NS_PER_S +
		(int64_t)(((value & 0xffffffff) * (uint64_t)NS_PER_S) >> 32);
}

static int64_t time_nearer(int64_t left, int64_t right, int64_t to)
{
	const int64_t from_left = left - to, from_right = right - to;
	if (llabs(from_right) < llabs(from_left))
		return right;
	return left;
}

int64_t ipfix_time(const struct ipfix_template *template, const uint8_t *record, uint32_t export_s)
{
	const uint8_t *at = record + template->time_offset;
	const int64_t export_ns = export_s * NS_PER_S;
	int64_t plain_ns = 0;
	if (template->time_element == 0)
		return export_ns;
	if (template->time_element == 322)
		return (int64_t)ipfix_number(at, 4) * NS_PER_S;
	const uint64_t value = ipfix_number(at, 8), most = (uint64_t)INT64_MAX;
	if (template->time_element == 325 && value <= most)
		plain_ns = (int64_t)value;
	if (template->time_element == 324 && value <= most / 1000)
		plain_ns = (int64_t)value * 1000;
	if (template->time_element == 323) {
		if (value <= most / NS_PER_MS)
			return (int64_t)value * NS_PER_MS;
		return export_ns;
	}
	if (export_s == 0 && plain_ns > 0)
		return plain_ns;
	const int64_t ntp_ns = time_nearer(
		time_of_fraction(value, NTP_EPOCH_S), time_of_fraction(value, 0), export_ns);
	return time_nearer(plain_ns, ntp_ns, export_ns);
}

static void set_of_data(struct ipfix *ipfix, struct message *message, uint16_t id, struct bytes *in)
{
	struct known_template *known = template_find(message->session, id);
	const size_t n = bytes_left(in);
	if (!known) {
		ipfix->counts.early++;
		message->unknown = true;
		return;
	}
	if (known->t.variable || known->t.record_bytes == 0) {
		ipfix->counts.variable++;
		message->unknown = true;
		return;
	}
	/* what is shorter than a record is padding (RFC 7011 3.3.1) */
	const size_t records = n / known->t.record_bytes;
	message->records += records;
	if (known->t.options) {
		ipfix->counts.options += records;
		return;
	}
	message->session->read |= records > 0;
	ipfix->counts.records += records;
	ipfix->counts.values += records * known->t.n_fields;
	if (records > 0)
		ipfix->o.records(ipfix->o.arg, &message->session->s, &known->t,
			bytes_take(in, records * known->t.record_bytes), records,
			message->export_s);
}

static bool message_sets(struct ipfix *ipfix, struct message *message, struct bytes *in)
{
	while (bytes_left(in) >= 4) {
		const uint16_t id = bytes_be16(in), n = bytes_be16(in);
		if (id == 0 && n == 0)
			return true; /* padding of the message, as some sources do */
		if (n < 4 || !bytes_ok(in))
			return false;
		const uint8_t *data = bytes_take(in, n - 4u);
		if (!data)
			return false;
		struct bytes set = bytes_of(data, n - 4u);
		bool ok = true;
		if (id == SET_TEMPLATE || id == SET_OPTIONS)
			ok = set_of_templates(ipfix, message, &set, id == SET_OPTIONS);
		else if (id >= SET_DATA_MIN)
			set_of_data(ipfix, message, id, &set);
		if (!ok)
			return false;
	}
	return true;
}

/* ---- sessions -------------------------------------------------------------- */

static void session_free(struct ipfix *ipfix, struct known_session *session)
{
	while (session->n_templates > 0)
		template_remove(ipfix, session, session->n_templates - 1);
	free(session);
}

/* NULL: the source has its share. */
static struct known_session *session_of(
	struct ipfix *ipfix, const uint8_t source[16], uint32_t domain)
{
	for (size_t i = 0; i < ipfix->n_sessions; i++) {
		struct known_session *session = ipfix->sessions[i];
		if (session->s.domain == domain && memcmp(session->s.source, source, 16) == 0)
			return session;
	}
	if (!source_may_add_session(ipfix, source))
		return NULL;
	struct known_session *session = rw_calloc(1, sizeof(*session));
	memcpy(session->s.source, source, 16);
	session->s.domain = domain;
	ipfix->sessions[ipfix->n_sessions++] = session;
	return session;
}

static void message_sequence(struct ipfix *ipfix, const struct message *message, uint32_t number)
{
	struct ipfix_counts *counts = &ipfix->counts;
	struct ipfix_gap gap;
	ipfix_sequence(
		&message->session->sequence, number, message->records, message->unknown, &gap);
	counts->lost += gap.lost;
	counts->reordered += gap.reordered;
	counts->uncounted += gap.uncounted;
}

int ipfix_message(struct ipfix *ipfix, const uint8_t source[16], const uint8_t *data, size_t n,
	bool reliable, mono_t now)
{
	struct bytes in = bytes_of(data, n);
	const uint16_t version = bytes_be16(&in), bytes = bytes_be16(&in);
	const uint32_t export_s = bytes_be32(&in), number = bytes_be32(&in),
		       domain = bytes_be32(&in);
	if (!bytes_ok(&in) || bytes < 16 || (version == VERSION && bytes > n)) {
		ipfix->counts.bad++;
		return -EBADMSG;
	}
	if (version != VERSION) {
		ipfix->counts.other_versions++;
		return -ENOTSUP;
	}
	struct message message = {.reliable = reliable, .now = now, .export_s = export_s};
	message.session = session_of(ipfix, source, domain);
	if (!message.session) {
		source_refused(ipfix, source);
		return 0;
	}
	ipfix->counts.messages++;
	message.session->heard = now;
	in.end = data + bytes;
	const bool ok = message_sets(ipfix, &message, &in);
	message.unknown |= !ok;
	message_sequence(ipfix, &message, number);
	if (ok)
		return 0;
	ipfix->counts.bad++;
	return -EBADMSG;
}

/* ---- life ------------------------------------------------------------------ */

static int64_t template_life(const struct known_template *known)
{
	const int64_t life = 3 * known->again_ns;
	if (known->again_ns == 0 || life > LIFE_MAX)
		return LIFE_MAX;
	if (life < LIFE_MIN)
		return LIFE_MIN;
	return life;
}

void ipfix_expire(struct ipfix *ipfix, mono_t now)
{
	for (size_t i = ipfix->n_sessions; i-- > 0;) {
		struct known_session *session = ipfix->sessions[i];
		for (size_t k = session->n_templates; k-- > 0;) {
			const struct known_template *known = &session->templates[k];
			if (now.ns - known->sent.ns <= template_life(known))
				continue;
			template_remove(ipfix, session, k);
			ipfix->counts.expired++;
		}
		const bool kept = session->n_templates > 0 && session->read;
		if (kept || now.ns - session->heard.ns <= LIFE_MIN)
			continue;
		session_free(ipfix, session);
		ipfix->sessions[i] = ipfix->sessions[--ipfix->n_sessions];
	}
}

struct ipfix *ipfix_new(const struct ipfix_options *options)
{
	struct ipfix *ipfix = rw_calloc(1, sizeof(*ipfix));
	ipfix->o = *options;
	return ipfix;
}

void ipfix_free(struct ipfix *ipfix)
{
	if (!ipfix)
		return;
	for (size_t i = 0; i < ipfix->n_sessions; i++)
		session_free(ipfix, ipfix->sessions[i]);
	free(ipfix);
}

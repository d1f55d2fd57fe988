/* parser_intake - checks messages of a parser, one function for each kind. */
#include "agent/jail/parser_intake.h"

#include "base/log.h"
#include "collectors/packet/datagram/datagram_senders.h"
#include "collectors/push/pushed.h"
#include "config/address.h"
#include "config/config.h"
#include "config/fabric.h"
#include "db/model/metric.h"

#define AHEAD_NS (5 * NS_PER_S) /* beside two intervals: what may be ahead of our clock */
enum { INTAKE_PORT_MAX = 128 }; /* bytes of a port, the end included */
#define NAME_FRESH_NS (30 * NS_PER_S)
#define BEHIND_NS (24 * 3600 * NS_PER_S) /* older rows are of a clock that was set */

struct intake_name { /* who is 0: not said */
	uint8_t who;
	uint8_t host[16];
	uint32_t number, ifindex;
	char *port; /* of what devices push; NULL = the device itself */
	int priority;
	uint32_t entity; /* of the same, as it was a while ago; ENTITY_NONE = look */
	int64_t looked_ns; /* when that was */
};

struct parser_intake {
	struct intake_options o;
	struct sink sink;
	struct intake_name *names; /* by the parser's own number */
	size_t n_names, cap_names;
	double rows_left, rows_burst, rows_second; /* room for rows; at most; gained a second */
	uint32_t samples, events, logs; /* in this second */
	uint32_t unmapped; /* in the interval under way */
	/* incidents whose bursts were asked for, the newest ones; parts of each that are taken yet
	 */
	struct {
		char id[32];
		uint32_t left;
	} pinned[INTAKE_PINNED];
	size_t n_pinned; /* ever */
	struct intake_said said;
	struct flow_sample rows[FLOW_ROWS_MAX];
	struct sample values[512];
};

const struct intake_said *parser_intake_said(const struct parser_intake *intake)
{
	return &intake->said;
}

void parser_intake_second(struct parser_intake *intake)
{
	intake->samples = intake->events = intake->logs = 0;
	intake->rows_left += intake->rows_second;
	if (intake->rows_left > intake->rows_burst)
		intake->rows_left = intake->rows_burst;
}

static int intake_wrong(struct parser_intake *intake, const char *what)
{
	intake->said.wrong = what;
	return -EBADMSG;
}

/* Is there room for one more of a kind in this second? */
static bool intake_room(struct parser_intake *intake, uint32_t *count, uint32_t most)
{
	if (*count >= most) {
		intake->said.refused++;
		return false;
	}
	++*count;
	return true;
}

/* A text in one line, fit for a terminal. */
static const char *intake_text(struct bytes *in, char buf[PARSER_TEXT_MAX])
{
	const char *text = parser_get_text(in, buf);
	if (!text)
		return "";
	text_clean(buf, PARSER_TEXT_MAX, buf, strlen(buf));
	return buf;
}

/* ---- who a row is about ---------------------------------------------------- */

static void intake_get_name(struct bytes *in, struct intake_name *name)
{
	name->who = bytes_u8(in);
	if (name->who != INTAKE_DEVICE && name->who != INTAKE_AGENT)
		in->bad = true;
	name->number = bytes_be32(in);
	const uint8_t *host = bytes_take(in, sizeof(name->host));
	if (host)
		memcpy(name->host, host, sizeof(name->host));
	name->ifindex = bytes_be32(in);
}

static int intake_names(struct parser_intake *intake, struct bytes *in)
{
	if (intake->o.one_port)
		return intake_wrong(intake, "names, from a capture of one port");
	while (bytes_left(in) > 0) {
		struct intake_name name = {0};
		const uint32_t id = bytes_be32(in);
		intake_get_name(in, &name);
		if (!bytes_ok(in) || id == 0 || id > INTAKE_NAMES)
			return intake_wrong(intake, "a name that cannot be");
		while (intake->n_names <= id) {
			rw_grow(intake->names, intake->n_names, intake->cap_names);
			intake->names[intake->n_names++] = (struct intake_name){0};
		}
		if (intake->names[id].who)
			return intake_wrong(intake, "a name that it had given before");
		intake->names[id] = name;
	}
	return PARSER_NAMES;
}

static int intake_port_names(struct parser_intake *intake, struct bytes *in)
{
	char buf[PARSER_TEXT_MAX];
	if (!intake->o.pushed)
		return intake_wrong(intake, "names of ports, from a capture");
	while (bytes_left(in) > 0) {
		struct intake_name name = {.who = INTAKE_DEVICE};
		const uint32_t id = bytes_be32(in);
		name.number = bytes_be32(in);
		const char *port = parser_get_text(in, buf);
		name.priority = (int8_t)bytes_u8(in);
		if (!bytes_ok(in) || id == 0 || id > INTAKE_NAMES_PUSHED ||
			name.priority < PRIO_NONE || name.priority > PRIO_MOST ||
			(port && (!*port || strlen(port) >= INTAKE_PORT_MAX)))
			return intake_wrong(intake, "a port that cannot be");
		while (intake->n_names <= id) {
			rw_grow(intake->names, intake->n_names, intake->cap_names);
			intake->names[intake->n_names++] = (struct intake_name){0};
		}
		if (intake->names[id].who)
			return intake_wrong(intake, "a name that it had given before");
		if (port) {
			text_clean(buf, sizeof(buf), port, strlen(port));
			name.port = rw_strdup(buf);
		}
		intake->names[id] = name;
	}
	return PARSER_PORT_NAMES;
}

/* The device and the port in our words. @ret_port NULL: it is not known. False: no such device. */
static bool intake_who(const struct parser_intake *intake, const struct intake_name *name,
	char host[ADDRESS_TEXT_MAX], const char **ret_device, const char **ret_port)
{
	const struct intake_lookup *lookup = &intake->o.lookup;
	*ret_port = NULL;
	if (name->who == INTAKE_AGENT) {
		*ret_device = address_text(host, name->host);
		return true;
	}
	*ret_device = lookup->device(lookup->arg, name->number);
	if (!*ret_device)
		return false;
	*ret_port = lookup->port(lookup->arg, name->number, name->ifindex);
	return true;
}

/* The entity of the parser's number @id. ENTITY_NONE: it never named it, or the device left the
 * configuration. */
static uint32_t intake_entity(const struct parser_intake *intake, uint32_t id, bool *ret_known_port)
{
	char host[ADDRESS_TEXT_MAX], number[32];
	const char *device, *port;
	*ret_known_port = true;
	if (intake->o.one_port)
		return entities_intern(
			intake->o.entities, intake->o.device, intake->o.port, PRIO_NONE);
	if (id >= intake->n_names || !intake->names[id].who)
		return ENTITY_NONE;
	const struct intake_name *name = &intake->names[id];
	if (!intake_who(intake, name, host, &device, &port))
		return ENTITY_NONE;
	if (!port && !name->ifindex) {
		port = ""; /* the device itself: it says no port */
	} else if (!port) {
		*ret_known_port = name->who != INTAKE_DEVICE;
		snprintf(number, sizeof(number), "ifindex %u", name->ifindex);
		port = number;
	}
	return entities_intern(intake->o.entities, device, port, PRIO_NONE);
}

/* Metrics of a device need no port, those of a port and of its priorities do. */
static bool intake_scope_fits(const struct parser_intake *intake, const struct sample *sample)
{
	const struct intake_name *name = &intake->names[sample->entity];
	const bool device = metric_info(sample->metric)->scope == SCOPE_DEVICE;
	return device == (name->port == NULL);
}

/* ---- rows and samples ------------------------------------------------------ */

static bool intake_time_fits(const struct parser_intake *intake, int64_t t_ns, wall_t now)
{
	return t_ns <= now.ns + 2 * intake->o.interval_ns + AHEAD_NS && t_ns >= now.ns - BEHIND_NS;
}

static bool intake_row(struct parser_intake *intake, struct flow_sample *row, wall_t now)
{
	bool known;
	/* before it is looked at: no new name for a row that nobody takes */
	if (intake->rows_left < 1 || !intake_time_fits(intake, row->to_ns, now)) {
		intake->said.refused++;
		return false;
	}
	intake->rows_left--;
	row->entity = intake_entity(intake, row->entity, &known);
	if (row->entity == ENTITY_NONE) {
		intake->said.refused++;
		return false;
	}
	intake->unmapped += row->total && !known;
	return true;
}

static int intake_flows(struct parser_intake *intake, struct bytes *in, wall_t now)
{
	size_t n = 0;
	while (bytes_left(in) > 0) {
		struct flow_sample *row = &intake->rows[n];
		if (!parser_get_flow(in, row))
			return intake_wrong(intake, "a row of flows that cannot be");
		n += intake_row(intake, row, now);
		if (n == rw_countof(intake->rows) || (n > 0 && bytes_left(in) == 0)) {
			intake->sink.flows(intake->sink.arg, intake->rows, n);
			n = 0;
		}
	}
	return PARSER_FLOWS;
}

/* Counters are taken of devices that nothing else asks. */
static bool intake_counted(const struct parser_intake *intake, uint32_t id)
{
	const struct intake_lookup *lookup = &intake->o.lookup;
	return id < intake->n_names && intake->names[id].who == INTAKE_DEVICE &&
		lookup->counters(lookup->arg, intake->names[id].number);
}

/* ---- what is pushed ---------------------------------------------------------- */

/* The entity of a port. It is looked up anew after a while without use: names that nothing is heard
 * of are given up, and their numbers are given again. */
static uint32_t intake_port_entity(
	struct parser_intake *intake, struct intake_name *name, int64_t now_ns)
{
	const struct intake_lookup *lookup = &intake->o.lookup;
	const int64_t age_ns = now_ns - name->looked_ns;
	name->looked_ns = now_ns;
	if (name->entity != ENTITY_NONE && age_ns >= 0 && age_ns < NAME_FRESH_NS)
		return name->entity;
	const char *device = lookup->device(lookup->arg, name->number);
	name->entity = ENTITY_NONE;
	if (device && lookup->counters(lookup->arg, name->number))
		name->entity =
			entities_intern(intake->o.entities, device, name->port, name->priority);
	return name->entity;
}

/* Samples of one device. */
static void intake_deliver(struct parser_intake *intake, uint32_t device, size_t n)
{
	const struct intake_lookup *lookup = &intake->o.lookup;
	const char *name = lookup->device(lookup->arg, device);
	if (n == 0)
		return;
	if (intake->o.hub && name && push_hub_deliver(intake->o.hub, name, intake->values, n))
		return;
	intake->sink.samples(intake->sink.arg, intake->values, n);
}

static bool intake_pushed_one(
	struct parser_intake *intake, struct sample *sample, wall_t now, uint32_t *ret_device)
{
	uint32_t most = INTAKE_SAMPLES_PUSHED;
	if (intake->o.samples_s > 0)
		most = intake->o.samples_s;
	if (!intake_room(intake, &intake->samples, most))
		return false;
	if (sample->entity >= intake->n_names || !intake->names[sample->entity].who ||
		!intake_scope_fits(intake, sample) ||
		!intake_time_fits(intake, sample->t_ns, now)) {
		intake->said.refused++;
		return false;
	}
	struct intake_name *name = &intake->names[sample->entity];
	*ret_device = name->number;
	sample->entity = intake_port_entity(intake, name, now.ns);
	intake->said.refused += sample->entity == ENTITY_NONE;
	return sample->entity != ENTITY_NONE;
}

static int intake_pushed(struct parser_intake *intake, struct bytes *in, wall_t now)
{
	uint32_t device = 0, next = 0;
	size_t n = 0;
	while (bytes_left(in) > 0) {
		struct sample s;
		if (!parser_get_sample(in, true, &s))
			return intake_wrong(intake, "a sample that cannot be");
		if (!intake_pushed_one(intake, &s, now, &next))
			continue;
		if (n == rw_countof(intake->values) || (n > 0 && next != device)) {
			intake_deliver(intake, device, n);
			n = 0;
		}
		device = next;
		intake->values[n++] = s;
	}
	intake_deliver(intake, device, n);
	return PARSER_SAMPLES;
}

static int intake_samples(struct parser_intake *intake, struct bytes *in, wall_t now)
{
	size_t n = 0;
	if (intake->o.one_port)
		return intake_wrong(intake, "samples, from a capture of packets");
	if (intake->o.pushed)
		return intake_pushed(intake, in, now);
	while (bytes_left(in) > 0) {
		struct sample *s = &intake->values[n];
		bool known;
		if (!parser_get_sample(in, false, s))
			return intake_wrong(intake, "a sample that cannot be");
		if (!intake_room(intake, &intake->samples, INTAKE_SAMPLES))
			continue;
		if (!intake_counted(intake, s->entity)) {
			intake->said.refused++;
			continue;
		}
		s->entity = intake_entity(intake, s->entity, &known);
		if (!known)
			intake->said.unmapped_samples++;
		else if (s->entity == ENTITY_NONE || !intake_time_fits(intake, s->t_ns, now))
			intake->said.refused++;
		else
			n++;
		if (n == rw_countof(intake->values)) {
			intake->sink.samples(intake->sink.arg, intake->values, n);
			n = 0;
		}
	}
	if (n > 0)
		intake->sink.samples(intake->sink.arg, intake->values, n);
	return PARSER_SAMPLES;
}

/* ---- events and log lines -------------------------------------------------- */

/* The only ones that captures have, by the collectors' names for them. */
static const char *const event_kinds[] = {"capture_drops", "roce_discarded"};

static int intake_event(struct parser_intake *intake, struct bytes *in, wall_t now)
{
	char buf[PARSER_TEXT_MAX], host[ADDRESS_TEXT_MAX];
	struct intake_name name;
	const char *device = intake->o.event_device, *port = intake->o.event_port;
	const int64_t t_ns = (int64_t)bytes_be64(in);
	const char *kind = parser_get_text(in, buf);
	size_t k = 0;
	while (k < rw_countof(event_kinds) && !str_eq(kind, event_kinds[k]))
		k++;
	intake_get_name(in, &name);
	const bool has_port = parser_get_bool(in);
	const char *text = intake_text(in, buf);
	if (!bytes_ok(in) || bytes_left(in) > 0 || k == rw_countof(event_kinds) || t_ns < 0)
		return intake_wrong(intake, "an event that cannot be");
	if (!intake_room(intake, &intake->events, INTAKE_EVENTS))
		return PARSER_EVENT;
	if (!intake->o.one_port && !intake_who(intake, &name, host, &device, &port)) {
		intake->said.refused++;
		return PARSER_EVENT;
	}
	if (!has_port)
		port = NULL;
	if (intake_time_fits(intake, t_ns, now) && intake->sink.event)
		intake->sink.event(intake->sink.arg, t_ns, event_kinds[k], device, port, text);
	return PARSER_EVENT;
}

/* Was it asked for, and is there room for one more part? */
static bool intake_pin_take(struct parser_intake *intake, const char *id)
{
	for (size_t i = 0; i < INTAKE_PINNED; i++) {
		if (intake->pinned[i].left == 0 || !str_eq(intake->pinned[i].id, id))
			continue;
		intake->pinned[i].left--;
		return true;
	}
	return false;
}

/* The bytes stay as they are: whoever reads them takes them as hostile. Of incidents that nobody
 * asked for there is none. */
static int intake_burst(struct parser_intake *intake, struct bytes *in, wall_t now)
{
	char buf[PARSER_TEXT_MAX];
	const struct intake_lookup *lookup = &intake->o.lookup;
	const char *id = parser_get_text(in, buf);
	const uint32_t number = bytes_be32(in);
	struct collector_burst burst = {.incident = id};
	burst.t_ns = (int64_t)bytes_be64(in);
	burst.from_ns = (int64_t)bytes_be64(in);
	burst.to_ns = (int64_t)bytes_be64(in);
	burst.part = bytes_be32(in);
	burst.parts = bytes_be32(in);
	burst.n = bytes_left(in);
	burst.data = bytes_take(in, burst.n);
	if (!bytes_ok(in) || !intake->o.pushed || !id || burst.n == 0 ||
		burst.part >= burst.parts || burst.parts > INTAKE_BURST_PARTS ||
		burst.from_ns > burst.to_ns)
		return intake_wrong(intake, "a burst that cannot be");
	burst.device = lookup->device(lookup->arg, number);
	if (!burst.device || !intake_time_fits(intake, burst.t_ns, now) ||
		!intake_pin_take(intake, id)) {
		intake->said.refused++;
		return PARSER_BURST;
	}
	rw_cleanup(freep) char *objects = NULL;
	if (burst.part == 0 && lookup->objects)
		objects = lookup->objects(lookup->arg, number);
	burst.objects = objects;
	if (intake->sink.burst)
		intake->sink.burst(intake->sink.arg, &burst);
	return PARSER_BURST;
}

void parser_intake_pinned(struct parser_intake *intake, const char *id)
{
	const size_t at = intake->n_pinned++ % INTAKE_PINNED;
	snprintf(intake->pinned[at].id, sizeof(intake->pinned[at].id), "%s", id);
	intake->pinned[at].left = INTAKE_BURST_PARTS;
}

static int intake_log(struct parser_intake *intake, struct bytes *in)
{
	char buf[PARSER_TEXT_MAX];
	const uint8_t level = bytes_u8(in);
	const char *text = intake_text(in, buf);
	if (!bytes_ok(in) || bytes_left(in) > 0 || level > LOG_ERROR_)
		return intake_wrong(intake, "a log line that cannot be");
	if (intake_room(intake, &intake->logs, INTAKE_LOGS))
		log_event((enum log_level)level, intake->o.name, "%s", text);
	return PARSER_LOG;
}

/* ---- about itself ---------------------------------------------------------- */

static void intake_reason(const struct parser_intake *intake, struct bytes *in, struct reason *ret)
{
	char buf[PARSER_TEXT_MAX];
	const char *text = intake_text(in, buf);
	*ret = (struct reason){0};
	if (*text)
		reason_from(ret, intake->o.protocol, text);
}

static int intake_target(struct parser_intake *intake, struct bytes *in, wall_t now)
{
	struct intake_said *said = &intake->said;
	const uint8_t state = bytes_u8(in);
	intake_reason(intake, in, &said->reason);
	const uint64_t errors = bytes_be64(in), values = bytes_be64(in), polls = bytes_be64(in);
	const double poll_s = parser_get_f64(in);
	const int64_t polled_ns = (int64_t)bytes_be64(in);
	if (!bytes_ok(in) || bytes_left(in) > 0 || state > TARGET_BACKOFF)
		return intake_wrong(intake, "a state that cannot be");
	if (polls > said->polls) {
		said->unmapped_ports = intake->unmapped;
		intake->unmapped = 0;
	}
	said->state = (enum target_state)state;
	said->errors = errors;
	said->values = values;
	said->polls = polls;
	said->poll_s = poll_s;
	said->polled = now;
	if (intake_time_fits(intake, polled_ns, now))
		said->polled.ns = polled_ns;
	return PARSER_TARGET;
}

static bool intake_key_fits(const char *key)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-";
	const size_t n = strlen(key);
	return n > 0 && n < PARSER_KEY_MAX && strspn(key, letters) == n;
}

/* All of them at once, in the place of those before. */
static int intake_figures(struct parser_intake *intake, struct bytes *in)
{
	char buf[PARSER_TEXT_MAX];
	size_t n = 0;
	while (bytes_left(in) > 0) {
		const char *key = parser_get_text(in, buf);
		const double value = parser_get_f64(in);
		if (!bytes_ok(in) || !key || !intake_key_fits(key) || n == PARSER_FIGURES_MAX) {
			intake->said.n_figures = 0;
			return intake_wrong(intake, "a figure that cannot be");
		}
		struct intake_figure *figure = &intake->said.figures[n++];
		snprintf(figure->key, sizeof(figure->key), "%s", key);
		figure->value = value;
	}
	intake->said.n_figures = n;
	return PARSER_FIGURES;
}

static int intake_failed(struct parser_intake *intake, struct bytes *in)
{
	const uint32_t code = bytes_be32(in);
	intake_reason(intake, in, &intake->said.failure);
	if (!bytes_ok(in) || bytes_left(in) > 0 || code == 0 || code > 4095)
		return intake_wrong(intake, "a failure that cannot be");
	intake->said.failed = -(int)code;
	return PARSER_FAILED;
}

int parser_intake_message(struct parser_intake *intake, const uint8_t *data, size_t n, wall_t now)
{
	struct bytes in = bytes_of(data, n);
	switch (bytes_u8(&in)) {
	case PARSER_TARGET: return intake_target(intake, &in, now);
	case PARSER_FIGURES: return intake_figures(intake, &in);
	case PARSER_NAMES: return intake_names(intake, &in);
	case PARSER_PORT_NAMES: return intake_port_names(intake, &in);
	case PARSER_FLOWS: return intake_flows(intake, &in, now);
	case PARSER_SAMPLES: return intake_samples(intake, &in, now);
	case PARSER_EVENT: return intake_event(intake, &in, now);
	case PARSER_BURST: return intake_burst(intake, &in, now);
	case PARSER_LOG: return intake_log(intake, &in);
	case PARSER_FAILED: return intake_failed(intake, &in);
	case PARSER_BYE: return PARSER_BYE;
	default: return intake_wrong(intake, "a message of no known kind");
	}
}

/* ---- life ---------------------------------------------------------------- */

static void intake_no_samples(void *arg, const struct sample *samples, size_t n)
{
}

static void intake_no_flows(void *arg, const struct flow_sample *flows, size_t n)
{
}

static void intake_rows_bound(struct parser_intake *intake)
{
	double rows = INTAKE_ROWS_SFLOW, burst = INTAKE_BURST_SFLOW;
	double seconds = (double)intake->o.interval_ns / NS_PER_S;
	if (intake->o.one_port) {
		rows = INTAKE_ROWS_PORT;
		burst = INTAKE_BURST_PORT;
	}
	if (seconds <= 0)
		seconds = 1; /* the parser refuses such an interval */
	intake->rows_left = intake->rows_burst = rows * burst;
	intake->rows_second = rows / seconds;
}

struct parser_intake *parser_intake_new(const struct intake_options *options)
{
	struct parser_intake *intake = rw_calloc(1, sizeof(*intake));
	intake->o = *options;
	intake->sink = *options->sink;
	if (!intake->sink.samples)
		intake->sink.samples = intake_no_samples;
	if (!intake->sink.flows)
		intake->sink.flows = intake_no_flows;
	intake_rows_bound(intake);
	return intake;
}

void parser_intake_free(struct parser_intake *intake)
{
	if (!intake)
		return;
	for (size_t i = 0; i < intake->n_names; i++)
		free(intake->names[i].port);
	free(intake->names);
	free(intake);
}

/* parser_map - addresses of the configuration for a parser, and its numbers back to names. */

enum { SENDER_NAMES_MAX = 8 }; /* of one device, beside its own */
/* bytes of one device on the wire, at most */
#define RECORD_MAX ((SENDER_NAMES_MAX + 2) * (PARSER_TEXT_MAX + 3) + 8)

struct map_device { /* by number */
	char *name;
	const struct config_device *device; /* NULL: no longer configured, or a host */
	bool host; /* of the configured links */
};

struct parser_map {
	struct collector_lookup lookup;
	const struct config *config;
	const struct config_capture *capture;
	struct datagram_senders *agents;
	struct map_device *v;
	size_t n, cap;
	uint32_t *numbers; /* of the configuration's devices */
	size_t n_numbers, cap_numbers;
	uint64_t sent; /* hash of what was sent last */
	bool known; /* .sent says something */
};

/* ---- numbers ----------------------------------------------------------------- */

static uint32_t map_number(struct parser_map *map, size_t guess, const char *name)
{
	/* a reload seldom changes the order */
	if (guess < map->n && str_eq(map->v[guess].name, name))
		return (uint32_t)guess;
	for (size_t i = 0; i < map->n; i++)
		if (str_eq(map->v[i].name, name))
			return (uint32_t)i;
	rw_grow(map->v, map->n, map->cap);
	map->v[map->n++] = (struct map_device){.name = rw_strdup(name)};
	return (uint32_t)(map->n - 1);
}

/* Hosts at the other end of links push, too: their NICs. */
static void map_hosts(struct parser_map *map, const struct config *config)
{
	const struct fabric *fabric = config->fabric;
	for (size_t i = 0; fabric && i < fabric->n_devices; i++) {
		const struct fabric_device *device = fabric->devices[i];
		for (size_t k = 0; k < device->n_ports; k++) {
			const char *host = device->ports[k]->host;
			if (!host)
				continue;
			const uint32_t number = map_number(map, map->n, host);
			map->v[number].host = !map->v[number].device;
		}
	}
}

void parser_map_update(
	struct parser_map *map, const struct config *config, const struct config_capture *capture)
{
	map->config = config;
	map->capture = capture;
	datagram_senders_free(map->agents);
	map->agents = NULL;
	if (capture->interface)
		return;
	map->agents = datagram_senders_new(config, capture, &map->lookup);
	for (size_t i = 0; i < map->n; i++) {
		map->v[i].device = NULL;
		map->v[i].host = false;
	}
	map->n_numbers = 0;
	for (size_t i = 0; i < config->n_devices; i++) {
		const uint32_t number = map_number(map, i, config->devices[i].name);
		rw_grow(map->numbers, map->n_numbers, map->cap_numbers);
		map->numbers[map->n_numbers++] = number;
		map->v[number].device = &config->devices[i];
	}
	if (capture->push)
		map_hosts(map, config);
}

void parser_map_changed(struct parser_map *map)
{
	map->known = false;
}

/* ---- sending ----------------------------------------------------------------- */

/* A name is none: the parser resolves nothing. */
static bool map_numeric(const char *text)
{
	struct network network;
	return text && network_parse(text, &network) == 0;
}

/* "192.0.2.1:161", "[2001:db8::1]:161" without the port; false when it is not known. */
static bool map_peer(const struct parser_map *map, const char *device, char host[64])
{
	const char *peer = NULL;
	if (map->lookup.peer)
		peer = map->lookup.peer(map->lookup.arg, device);
	if (!peer)
		return false;
	size_t n = strcspn(peer, ":");
	if (*peer == '[')
		n = strcspn(++peer, "]");
	snprintf(host, 64, "%.*s", (int)n, peer);
	return map_numeric(host);
}

static bool device_has_counters(const struct config_device *device)
{
	return device->sflow && device->sflow->counters && !device->snmp && !device->gnmi;
}

static void map_put_device(
	const struct parser_map *map, const struct config_device *device, struct parser_out *out)
{
	char host[64];
	const char *agent = NULL, *snmp = NULL, *gnmi = NULL, *push = NULL;
	if (device->push)
		push = device->push->address;
	if (device->sflow)
		agent = device->sflow->agent;
	if (device->snmp && map_numeric(device->snmp->address))
		snmp = device->snmp->address;
	if (device->gnmi && map_numeric(device->gnmi->address))
		gnmi = device->gnmi->address;
	/* asked by name: the address that the name was resolved to stands in its place */
	const bool named = (device->snmp && !snmp) || (device->gnmi && !gnmi);
	if (named && map_peer(map, device->name, host)) {
		if (device->snmp && !snmp)
			snmp = host;
		else
			gnmi = host;
	}
	parser_put_text(out, agent);
	parser_put_text(out, snmp);
	parser_put_text(out, gnmi);
	parser_put_text(out, push);
	parser_put_u8(out, device_has_counters(device));
}

/* What a sender calls itself, and where it sends from. */
static void map_put_sender(const struct parser_map *map, uint32_t number, struct parser_out *out)
{
	const struct map_device *of = &map->v[number];
	const struct config_device_push *push = NULL;
	const char *address = NULL;
	bool pin = false;
	size_t n = 0;
	if (of->device)
		push = of->device->push;
	if (push) {
		n = push->n_names;
		address = push->address;
		pin = push->pin;
	}
	if (n > SENDER_NAMES_MAX)
		n = SENDER_NAMES_MAX;
	parser_put_u32(out, number);
	parser_put_u8(out, (uint8_t)(n + 1));
	parser_put_text(out, of->name);
	for (size_t i = 0; i < n; i++)
		parser_put_text(out, push->names[i]);
	parser_put_text(out, address);
	parser_put_u8(out, pin);
}

struct map_pass { /* over all messages: to hash them, or to send them */
	parser_map_send_fn *send; /* NULL: only the hash */
	void *arg;
	uint64_t hash;
	bool failed;
	struct parser_out out;
};

static void pass_end_message(struct map_pass *pass)
{
	pass->hash = hash_bytes((const char *)pass->out.b, pass->out.n, pass->hash);
	if (pass->send && !pass->failed)
		pass->failed = !pass->send(pass->arg, &pass->out);
}

static void pass_short(struct map_pass *pass, enum parser_kind kind)
{
	parser_out_begin(&pass->out, kind);
	pass_end_message(pass);
}

static void pass_next(struct map_pass *pass, enum parser_kind kind)
{
	if (pass->out.n + RECORD_MAX <= sizeof(pass->out.b))
		return;
	pass_end_message(pass);
	parser_out_begin(&pass->out, kind);
}

/* @at: of the device, in the order in which they were sent. */
static void map_pass_objects(
	struct map_pass *pass, uint32_t at, const struct config_device_push *push)
{
	for (size_t i = 0; push && i < push->n_objects; i++) {
		parser_out_begin(&pass->out, PARSER_MAP_OBJECTS);
		parser_put_u32(&pass->out, at);
		parser_put_bytes(&pass->out, push->objects[i], strlen(push->objects[i]));
		pass_end_message(pass);
	}
}

static void map_pass(const struct parser_map *map, struct map_pass *pass)
{
	const struct config_capture *capture = map->capture;
	pass_short(pass, PARSER_MAP_BEGIN);
	parser_out_begin(&pass->out, PARSER_MAP_ALLOW);
	for (size_t i = 0; map->agents && i < capture->n_allow; i++) {
		parser_put_text(&pass->out, capture->allow[i]);
		pass_next(pass, PARSER_MAP_ALLOW);
	}
	pass_end_message(pass);
	parser_out_begin(&pass->out, PARSER_MAP_DEVICES);
	for (size_t i = 0; map->agents && i < map->n_numbers; i++) {
		parser_put_u32(&pass->out, map->numbers[i]);
		map_put_device(map, &map->config->devices[i], &pass->out);
		pass_next(pass, PARSER_MAP_DEVICES);
	}
	pass_end_message(pass);
	for (size_t i = 0; map->agents && capture->push && i < map->n_numbers; i++)
		map_pass_objects(pass, (uint32_t)i, map->config->devices[i].push);
	parser_out_begin(&pass->out, PARSER_MAP_SENDERS);
	for (size_t i = 0; capture->push && i < map->n; i++) {
		const struct map_device *of = &map->v[i];
		if (!of->host && !(of->device && of->device->push))
			continue;
		map_put_sender(map, (uint32_t)i, &pass->out);
		pass_next(pass, PARSER_MAP_SENDERS);
	}
	pass_end_message(pass);
	pass_short(pass, PARSER_MAP_END);
}

void parser_map_send(struct parser_map *map, parser_map_send_fn *send, void *arg)
{
	if (map->known && !map->agents)
		return;
	rw_cleanup(freep) struct map_pass *pass = rw_calloc(1, sizeof(*pass));
	map_pass(map, pass);
	if (map->known && pass->hash == map->sent)
		return;
	const uint64_t hash = pass->hash;
	*pass = (struct map_pass){.send = send, .arg = arg};
	map_pass(map, pass);
	map->known = !pass->failed;
	map->sent = hash;
}

/* ---- what numbers mean --------------------------------------------------------- */

static const struct config_device *map_device(const struct parser_map *map, uint32_t number)
{
	if (number >= map->n)
		return NULL;
	return map->v[number].device;
}

static const char *map_device_name(void *arg, uint32_t number)
{
	const struct parser_map *map = arg;
	const struct config_device *device = map_device(map, number);
	if (!device && number < map->n && map->v[number].host)
		return map->v[number].name;
	if (!device)
		return NULL;
	return device->name;
}

static const char *map_port(void *arg, uint32_t number, uint32_t ifindex)
{
	const struct parser_map *map = arg;
	const struct config_device *device = map_device(map, number);
	if (!device || !map->agents)
		return NULL;
	return datagram_senders_port(map->agents, device, ifindex);
}

static bool map_counters(void *arg, uint32_t number)
{
	const struct parser_map *map = arg;
	const struct config_device *device = map_device(map, number);
	if (map->capture->push)
		return (device && device->push) || (number < map->n && map->v[number].host);
	return device && device_has_counters(device);
}

static char *map_objects(void *arg, uint32_t number)
{
	const struct config_device *device = map_device(arg, number);
	struct str out = {0};
	for (size_t i = 0; device && device->push && i < device->push->n_objects; i++)
		str_addf(&out, "%s;", device->push->objects[i]);
	return out.s;
}

uint32_t parser_map_number(const struct parser_map *map, const char *device)
{
	for (size_t i = 0; i < map->n; i++)
		if (map->v[i].device && str_eq(map->v[i].name, device))
			return (uint32_t)i;
	return UINT32_MAX;
}

struct intake_lookup parser_map_lookup(struct parser_map *map)
{
	return (struct intake_lookup){map, map_device_name, map_port, map_counters, map_objects};
}

/* ---- life ---------------------------------------------------------------- */

struct parser_map *parser_map_new(const struct collector_lookup *lookup)
{
	struct parser_map *map = rw_calloc(1, sizeof(*map));
	map->lookup = *lookup;
	return map;
}

void parser_map_free(struct parser_map *map)
{
	if (!map)
		return;
	for (size_t i = 0; i < map->n; i++)
		free(map->v[i].name);
	free(map->v);
	free(map->numbers);
	datagram_senders_free(map->agents);
	free(map);
}

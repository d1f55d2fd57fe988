/*
 * links/answer - adds up what is known of each port over a time range, and says what is wrong with
 * it.
 */
#include "agent/answers/links/answer.h"

#include "agent/answers/common/report_page.h"
#include "agent/document/page.h"
#include "agent/answers/common/limits.h"
#include "agent/answers/common/report_frame.h"
#include "agent/answers/incident/incident_list.h"
#include "agent/answers/common/text.h"
#include "agent/client/client.h"
#include "agent/document/quantity.h"
#include "agent/history/window_walk.h"
#include "analyzers/measure/links.h"
#include "config/config.h"
#include "db/model/cause.h"
#include "db/model/golden.h"
#include "db/model/metric.h"
#include "db/series/history.h"

/* ---- what is read ------------------------------------------------------------------------- */

static const uint16_t links_wanted[] = {M_PORT_IN_ERRORS, M_PORT_OUT_ERRORS, M_PORT_FCS_ERRORS,
	M_PORT_SYMBOL_ERRORS, M_PORT_FEC_CORRECTED, M_PORT_FEC_UNCORRECTABLE, M_PORT_FLAPS,
	M_PORT_OPER_UP, M_PORT_SPEED_BPS, M_PORT_MTU_BYTES, M_PORT_PRE_FEC_BER, M_OPTIC_RX_POWER,
	M_OPTIC_TX_POWER, M_OPTIC_TEMPERATURE};

/* States hold until the next one is told. */
static const uint16_t links_states[] = {M_PORT_OPER_UP, M_PORT_SPEED_BPS, M_PORT_MTU_BYTES};

struct links_state { /* as it was told last */
	uint32_t entity;
	uint16_t metric;
	double value;
	int64_t told_ns;
};

struct links_walk {
	struct links_read *range;
	const struct fabric *fabric;
	const struct entities *entities;
	const char *device; /* glob */
	struct map *index; /* entities whose port was added */
	struct map *worst; /* entity -> the worst step's errors, frames per second x 1000 */
	int64_t believed_ns; /* a state, after it was told */
	struct links_state *states;
	size_t n_states, cap_states;
	struct map *state_index; /* links_state_key() -> position in .states */
};

static bool links_is_wanted(const struct links_walk *walk, const struct entity *entity)
{
	return entity && *entity->port && entity->priority < 0 &&
		str_glob(walk->device, entity->device);
}

/* ---- numbers of a rollup ---------------------------------------------------------------- */

static double links_least(const struct rollup *rollup)
{
	return rollup && rollup->numbers > 0 ? rollup->min : NAN;
}

static double links_most(const struct rollup *rollup)
{
	return rollup && rollup->numbers > 0 ? rollup->max : NAN;
}

static double links_mean(const struct rollup *rollup)
{
	return rollup && rollup->numbers > 0 ? rollup->sum / rollup->numbers : NAN;
}

static double links_first(const struct rollup *rollup)
{
	return rollup ? range_number(rollup, rollup->first) : NAN;
}

static double links_last(const struct rollup *rollup)
{
	return rollup ? range_number(rollup, rollup->last) : NAN;
}

/* ---- states ----------------------------------------------------------------------------- */

static uint64_t links_state_key(uint32_t entity, uint16_t metric)
{
	return (uint64_t)entity << 16 | metric;
}

static struct links_state *links_state_of(
	const struct links_walk *walk, uint32_t entity, uint16_t metric)
{
	uint64_t at;
	if (!map_get(walk->state_index, links_state_key(entity, metric), &at))
		return NULL;
	return &walk->states[at];
}

static const char *links_change_text(struct arena *a, uint16_t metric, double before, double now)
{
	rw_cleanup(str_done) struct str text = {0};
	const char *what = "MTU ", *unit = "bytes";
	if (metric == M_PORT_SPEED_BPS) {
		what = "speed ";
		unit = "bit/s";
	}
	str_add(&text, what);
	str_add_quantity(&text, before, unit);
	str_add(&text, " -> ");
	str_add_quantity(&text, now, unit);
	return arena_strdup(a, text.s);
}

/* A value that was told: the change is kept when it is another one than before. */
static void links_told(struct links_walk *walk, const struct entity *entity, uint16_t metric,
	double value, int64_t at_ns)
{
	struct links_read *range = walk->range;
	struct links_state *state = links_state_of(walk, entity->id, metric);
	if (isnan(value))
		return;
	if (!state) {
		map_put(walk->state_index, links_state_key(entity->id, metric), walk->n_states);
		rw_grow(walk->states, walk->n_states, walk->cap_states);
		state = &walk->states[walk->n_states++];
		*state = (struct links_state){
			.entity = entity->id, .metric = metric, .value = value};
	}
	if (state->value != value && metric != M_PORT_OPER_UP) {
		arena_grow_pow2(range->arena, range->changes, range->n_changes);
		range->changes[range->n_changes++] = (struct link_change){.time = {at_ns},
			.device = arena_strdup(range->arena, entity->device),
			.port = arena_strdup(range->arena, entity->port),
			.text = links_change_text(range->arena, metric, state->value, value)};
	}
	state->value = value;
	state->told_ns = at_ns;
}

static int links_told_before(void *arg, const struct sample *sample)
{
	struct links_walk *walk = arg;
	const struct entity *entity = entity_get(walk->entities, sample->entity);
	const bool believed = sample->t_ns >= walk->range->plan.from_ns - walk->believed_ns;
	if (believed && links_is_wanted(walk, entity))
		links_told(walk, entity, sample->metric,
			sample_number(sample->metric, sample->value), sample->t_ns);
	return 0;
}

static bool links_is_state(uint16_t metric)
{
	for (size_t i = 0; i < rw_countof(links_states); i++)
		if (links_states[i] == metric)
			return true;
	return false;
}

/* At the end of the range; NAN when it was told too long ago. */
static double links_state_now(const struct links_walk *walk, uint32_t entity, uint16_t metric)
{
	const struct range_plan *plan = &walk->range->plan;
	const struct links_state *state = links_state_of(walk, entity, metric);
	if (!state)
		return NAN;
	if (state->told_ns <= plan->from_ns && plan->last_ns - state->told_ns > walk->believed_ns)
		return NAN;
	return state->value;
}

/* ---- steps ------------------------------------------------------------------------------ */

/* Steps of one port, errors in and out together: the worst is kept. */
static void links_step(void *arg, size_t step, const struct rollup *rollup)
{
	struct links_walk *walk = arg;
	struct links_read *range = walk->range;
	const struct entity *entity = entity_get(walk->entities, rollup->entity);
	const struct amount amount = range_amount(rollup);
	uint64_t worst = 0;
	if (!links_is_wanted(walk, entity))
		return;
	if (links_is_state(rollup->metric)) {
		links_told(walk, entity, rollup->metric, links_first(rollup), rollup->first_ns);
		links_told(walk, entity, rollup->metric, links_last(rollup), rollup->last_ns);
		return;
	}
	if (!amount.known)
		return;
	if (rollup->metric == M_PORT_FLAPS)
		range->flaps[step] = range_add(range->flaps[step], amount.value);
	if (rollup->metric != M_PORT_IN_ERRORS && rollup->metric != M_PORT_OUT_ERRORS)
		return;
	range->errors[step] = range_add(range->errors[step], amount.value);
	const uint64_t rate = (uint64_t)(amount_rate(&amount) * 1000);
	map_get(walk->worst, rollup->entity, &worst);
	if (rate > worst)
		map_put(walk->worst, rollup->entity, rate);
}

/* ---- the whole range ---------------------------------------------------------------- */

static double links_count(const struct links_read *range, uint32_t entity, uint16_t metric)
{
	const struct amount amount = range_amount(range_find(&range->read, entity, metric));
	if (!amount.known)
		return NAN;
	return amount.value;
}

static double links_rate(const struct links_read *range, uint32_t entity)
{
	double rate = NAN;
	static const uint16_t metrics[] = {M_PORT_IN_ERRORS, M_PORT_OUT_ERRORS};
	for (size_t i = 0; i < rw_countof(metrics); i++) {
		const struct amount amount =
			range_amount(range_find(&range->read, entity, metrics[i]));
		rate = range_add(rate, amount_rate(&amount));
	}
	return rate;
}

static const struct rollup *links_of(
	const struct links_read *range, uint32_t entity, uint16_t metric)
{
	return range_find(&range->read, entity, metric);
}

static enum link_state links_state_of_up(double up)
{
	if (isnan(up))
		return LINK_UNKNOWN;
	return up > 0 ? LINK_UP : LINK_DOWN;
}

/* The declared speed is what the link should run at. */
static void links_put_declared(struct link_port *port, struct arena *a)
{
	const struct fabric_port *declared = port->fabric_port;
	port->linked = declared->peer || declared->host;
	if (declared->speed_bps)
		port->class_bps = (double)declared->speed_bps;
	if (declared->peer)
		port->peer = arena_printf(
			a, "%s:%s", declared->peer->device->name, declared->peer->name);
	else if (declared->host)
		port->peer = arena_strdup(a, declared->host);
}

static void links_add(struct links_walk *walk, const struct entity *entity)
{
	struct links_read *range = walk->range;
	const struct fabric_device *device = fabric_device(walk->fabric, entity->device);
	const uint32_t id = entity->id;
	uint64_t worst = 0;
	const struct rollup *up = links_of(range, id, M_PORT_OPER_UP);
	const struct rollup *rx = links_of(range, id, M_OPTIC_RX_POWER);
	rw_grow(range->ports, range->n_ports, range->cap_ports);
	struct link_port *port = &range->ports[range->n_ports++];
	*port = (struct link_port){.device = arena_strdup(range->arena, entity->device),
		.port = arena_strdup(range->arena, entity->port),
		.state = links_state_of_up(links_state_now(walk, id, M_PORT_OPER_UP)),
		.in_errors = links_count(range, id, M_PORT_IN_ERRORS),
		.out_errors = links_count(range, id, M_PORT_OUT_ERRORS),
		.fcs_errors = links_count(range, id, M_PORT_FCS_ERRORS),
		.symbol_errors = links_count(range, id, M_PORT_SYMBOL_ERRORS),
		.fec_corrected = links_count(range, id, M_PORT_FEC_CORRECTED),
		.fec_uncorrectable = links_count(range, id, M_PORT_FEC_UNCORRECTABLE),
		.errors_per_s = links_rate(range, id),
		.worst_errors_per_s = NAN,
		.flaps = links_count(range, id, M_PORT_FLAPS),
		.up_ratio = links_mean(up),
		.speed_bps = links_state_now(walk, id, M_PORT_SPEED_BPS),
		.class_bps = NAN,
		.mtu_bytes = links_state_now(walk, id, M_PORT_MTU_BYTES),
		.pre_fec_ber = links_most(links_of(range, id, M_PORT_PRE_FEC_BER)),
		.rx_power_dbm = links_last(rx),
		.rx_power_least_dbm = links_least(rx),
		.tx_power_dbm = links_last(links_of(range, id, M_OPTIC_TX_POWER)),
		.temperature_c = links_most(links_of(range, id, M_OPTIC_TEMPERATURE))};
	if (map_get(walk->worst, id, &worst))
		port->worst_errors_per_s = (double)worst / 1000;
	else if (!isnan(port->errors_per_s))
		port->worst_errors_per_s = 0;
	if (device)
		port->fabric_port = fabric_port(device, entity->port);
	if (port->fabric_port)
		links_put_declared(port, range->arena);
}

static int links_order(const void *left, const void *right)
{
	const struct link_port *a = left, *b = right;
	const int r = name_compare(a->device, b->device);
	return r ? r : name_compare(a->port, b->port);
}

static void links_add_once(struct links_walk *walk, uint32_t id)
{
	const struct entity *entity = entity_get(walk->entities, id);
	uint64_t ignored;
	if (!links_is_wanted(walk, entity) || map_get(walk->index, id, &ignored))
		return;
	map_put(walk->index, id, 1);
	links_add(walk, entity);
}

static void links_finish(struct links_walk *walk)
{
	struct links_read *range = walk->range;
	for (size_t i = 0; i < range->read.n; i++)
		links_add_once(walk, range->read.v[i].entity);
	for (size_t i = 0; i < walk->n_states; i++)
		links_add_once(walk, walk->states[i].entity);
	if (range->n_ports > 1)
		qsort(range->ports, range->n_ports, sizeof(*range->ports), links_order);
}

int links_read(struct client *client, const char *device, struct arena *a, struct links_read *ret,
	struct err *e)
{
	*ret = (struct links_read){.arena = a};
	int rc = range_plan_make(client, &ret->plan, e);
	if (rc < 0)
		return rc;
	struct links_walk walk = {.range = ret,
		.fabric = client->config->fabric,
		.entities = history_entities(client->history),
		.device = device,
		.index = map_new(),
		.worst = map_new(),
		.believed_ns = state_age(client),
		.state_index = map_new()};
	const struct history_filter before = {.priority = PRIO_NONE,
		.metrics = links_states,
		.n_metrics = rw_countof(links_states)};
	ret->errors = rw_calloc(ret->plan.n_steps + 1, sizeof(*ret->errors));
	ret->flaps = rw_calloc(ret->plan.n_steps + 1, sizeof(*ret->flaps));
	for (size_t i = 0; i < ret->plan.n_steps; i++)
		ret->errors[i] = ret->flaps[i] = NAN;
	if (ret->plan.n_steps > 0)
		rc = history_each_before(
			client->history, &before, ret->plan.from_ns, links_told_before, &walk, e);
	if (rc == 0)
		rc = range_read(client, &ret->plan, links_wanted, rw_countof(links_wanted),
			&ret->read, links_step, &walk, e);
	if (rc == 0)
		links_finish(&walk);
	map_free(walk.index);
	map_free(walk.worst);
	map_free(walk.state_index);
	free(walk.states);
	return rc;
}

void links_read_done(struct links_read *range)
{
	free(range->ports);
	free(range->errors);
	free(range->flaps);
	range_read_done(&range->read);
	*range = (struct links_read){0};
}

/* ---- what is wrong with a port ------------------------------------------------------------- */

struct link_judge {
	struct arena *arena;
	double errors_per_s; /* limit */
	bool own; /* a user gave it */
	const json_t *incidents;
	const struct link_health_options *options; /* NULL: none */
};

/* What is wrong with one port: its words, and the worst state. */
struct link_faults {
	struct link_port *port;
	enum report_state state;
	const char *cause; /* of the worst */
};

__attribute__((format(printf, 5, 6))) static void links_fault(const struct link_judge *judge,
	struct link_faults *faults, enum report_state state, const char *cause, const char *fmt,
	...)
{
	struct link_port *port = faults->port;
	char *text = NULL;
	va_list args;
	if (state > faults->state) {
		faults->state = state;
		faults->cause = cause;
	}
	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) >= 0) {
		arena_grow_pow2(judge->arena, port->words, port->n_words);
		port->words[port->n_words++] = arena_strdup(judge->arena, text);
		free(text);
	}
	va_end(args);
}

static void links_judge_state(const struct link_judge *judge, struct link_faults *faults)
{
	const struct link_port *port = faults->port;
	if (port->state == LINK_DOWN)
		links_fault(judge, faults, REPORT_WARNING, "link_down", "down");
	if (port->up_ratio > 0 && port->up_ratio < 1)
		links_fault(judge, faults, REPORT_WARNING, cause_name(CAUSE_LINK_FLAP),
			"up in %.1f %% of the samples", 100 * port->up_ratio);
	if (port->flaps > 0)
		links_fault(judge, faults, REPORT_WARNING, cause_name(CAUSE_LINK_FLAP),
			"%s carrier transition%s", number_count_of(port->flaps).s,
			port->flaps == 1 ? "" : "s");
	if (port->speed_bps > 0 && port->speed_bps < port->class_bps) {
		rw_cleanup(str_done) struct str words = {0};
		text_add_speeds(&words, port->speed_bps, port->class_bps);
		links_fault(
			judge, faults, REPORT_WARNING, cause_name(CAUSE_LINK_SLOW), "%s", words.s);
	}
}

static void links_judge_errors(const struct link_judge *judge, struct link_faults *faults)
{
	const struct link_port *port = faults->port;
	const double errors = range_add(port->in_errors, port->out_errors);
	enum report_state state = REPORT_OK;
	if (port->worst_errors_per_s > judge->errors_per_s)
		state = REPORT_WARNING;
	if (errors > 0)
		links_fault(judge, faults, state, cause_name(CAUSE_LINK_ERRORS),
			"%s frames with errors, %s/s at worst", number_count_of(errors).s,
			number_three(port->worst_errors_per_s).s);
	if (port->fec_uncorrectable > 0)
		links_fault(judge, faults, REPORT_WARNING, cause_name(CAUSE_LINK_ERRORS),
			"%s codewords that FEC could not repair",
			number_count_of(port->fec_uncorrectable).s);
	if (judge->options && port->pre_fec_ber > judge->options->ber)
		links_fault(judge, faults, REPORT_OK, cause_name(CAUSE_OPTIC_DEGRADING),
			"bit error ratio before FEC up to %.2g", port->pre_fec_ber);
	if (judge->options && port->rx_power_least_dbm < judge->options->rx_power_min_dbm)
		links_fault(judge, faults, REPORT_OK, cause_name(CAUSE_OPTIC_DEGRADING),
			"receives only %.1f dBm of light", port->rx_power_least_dbm);
}

static void links_problem(
	json_t *doc, const struct link_judge *judge, const struct link_faults *faults)
{
	const struct link_port *port = faults->port;
	rw_cleanup(str_done) struct str text = {0};
	const bool damaged = str_eq(faults->cause, cause_name(CAUSE_LINK_ERRORS));
	const enum golden signal = damaged ? GOLDEN_ERRORS : GOLDEN_LINKS_BELOW_CLASS;
	const struct report_over over = {
		.own = judge->own && damaged,
		.state = faults->state,
		.cause = faults->cause,
		.causes = golden_info(signal)->causes,
		.device = port->device,
		.port = port->port,
		.peer = port->peer,
	};
	if (faults->state == REPORT_OK)
		return;
	for (size_t i = 0; i < port->n_words; i++)
		str_addf(&text, "%s%s", str_if(i > 0, "; "), port->words[i]);
	report_incidents_over(doc, judge->incidents, &over, "%s:%s %s", port->device, port->port,
		str_or(text.s, ""));
}

static void links_answer_add(struct links_answer *answer, struct arena *a, struct link_port port)
{
	arena_grow_pow2(a, answer->ports, answer->n_ports);
	answer->ports[answer->n_ports++] = port;
}

/* The ports of which there is something to say: those with a fault first. An unused port that is
 * down has none. */
static void links_judge_all(struct links_answer *answer, json_t *doc, const struct links_read *read,
	const struct link_judge *judge)
{
	struct links_answer other = {0};
	for (size_t i = 0; i < read->n_ports; i++) {
		struct link_port port = read->ports[i];
		struct link_faults faults = {.port = &port, .state = REPORT_OK};
		if (port.linked)
			links_judge_state(judge, &faults);
		links_judge_errors(judge, &faults);
		links_problem(doc, judge, &faults);
		if (port.n_words > 0)
			links_answer_add(
				faults.state == REPORT_OK ? &other : answer, judge->arena, port);
	}
	for (size_t i = 0; i < other.n_ports; i++)
		links_answer_add(answer, judge->arena, other.ports[i]);
}

/* ---- how much is known -------------------------------------------------------------------- */

static struct links_known links_known_of(const struct links_read *read)
{
	struct links_known known = {.all = read->n_ports};
	for (size_t i = 0; i < read->n_ports; i++) {
		const struct link_port *port = &read->ports[i];
		known.linked += port->linked;
		known.state += port->state != LINK_UNKNOWN;
		known.errors += !isnan(port->in_errors);
		known.flaps += !isnan(port->flaps);
		known.fec += !isnan(port->fec_uncorrectable) || !isnan(port->fec_corrected);
		known.optics += !isnan(port->rx_power_dbm);
		known.speed += !isnan(port->speed_bps);
	}
	return known;
}

static void links_missing(json_t *doc, const struct links_known *known)
{
	const struct {
		uint64_t n;
		const char *what;
	} rows[] = {
		{known->state, "link state"},
		{known->errors, "frames with errors"},
		{known->flaps, "carrier transitions"},
		{known->fec, "FEC counters"},
		{known->optics, "optical power"},
		{known->speed, "port speed"},
	};
	const uint64_t all = known->all;
	if (all == 0)
		report_missing(doc, "no port delivers link state, speed, errors, FEC or light");
	for (size_t i = 0; all > 0 && i < rw_countof(rows); i++) {
		if (rows[i].n == 0)
			report_missing(doc, "%s: delivered by no port", rows[i].what);
		else if (rows[i].n < all)
			report_missing(doc, "%s: delivered by %llu of %llu ports", rows[i].what,
				(unsigned long long)rows[i].n, (unsigned long long)all);
	}
}

static void links_figures(json_t *doc, const struct links_read *read)
{
	double errors = NAN, flaps = NAN, uncorrectable = NAN, down = NAN;
	for (size_t i = 0; i < read->n_ports; i++) {
		const struct link_port *port = &read->ports[i];
		errors = range_add(errors, range_add(port->in_errors, port->out_errors));
		flaps = range_add(flaps, port->flaps);
		uncorrectable = range_add(uncorrectable, port->fec_uncorrectable);
		if (port->linked && port->state != LINK_UNKNOWN)
			down = range_add(down, port->state == LINK_DOWN);
	}
	report_figure(doc, "links_down", "ports of links that are down", down, "-");
	report_figure(doc, "errors", "frames with errors", errors, "frames");
	report_figure(doc, "flaps", "carrier transitions", flaps, "-");
	report_figure(doc, "fec_uncorrectable", "codewords that FEC could not repair",
		uncorrectable, "codewords");
}

/* ---- the answer --------------------------------------------------------------------------- */

/* What no port counts is no line of a chart. */
static void links_series(
	struct links_answer *answer, struct arena *a, const char *name, const double *values)
{
	double sum = NAN;
	for (size_t i = 0; i < answer->chart.n_times; i++)
		sum = range_add(sum, values[i]);
	if (!isnan(sum))
		chart_add(&answer->chart, a, name, values);
}

void links_answer_change(
	struct links_answer *answer, struct arena *a, const struct link_change *change)
{
	arena_grow_pow2(a, answer->changes, answer->n_changes);
	answer->changes[answer->n_changes++] = *change;
}

void links_answer_make(struct links_answer *ret, json_t *doc, const struct links_read *read,
	const struct config *config, const struct limit_pair *limits)
{
	struct arena *a = read->arena;
	const struct link_judge judge = {.arena = a,
		.errors_per_s = limits->warn,
		.own = limits->own,
		.incidents = ret->incidents,
		.options = config_options(config, "analyzers", "link_health")};
	*ret = (struct links_answer){
		.incidents = ret->incidents,
		.rings_clean = ret->rings_clean,
		.ring_open = ret->ring_open,
		.source = range_source(&read->read),
		.step_s = (double)read->plan.step_ns / (double)NS_PER_S,
		.coverage_ratio = range_coverage(&read->plan, &read->read),
		.limits = {limits->warn},
		.ports_known = links_known_of(read),
	};
	links_judge_all(ret, doc, read, &judge);
	for (size_t i = 0; i < read->n_changes; i++)
		links_answer_change(ret, a, &read->changes[i]);
	chart_begin(&ret->chart, a, &read->plan);
	links_series(ret, a, "frames with errors", read->errors);
	links_series(ret, a, "carrier transitions", read->flaps);
	links_figures(doc, read);
	links_missing(doc, &ret->ports_known);
}

/* ---- page ---------------------------------------------------------------- */

/* links/page - the page of `report links`. */

#define SHAPE struct topology_finding
static const struct shown audit_shown[] = {
	COLUMN(severity, "severity"),
	COLUMN(device, "device"),
	COLUMN(port, "port"),
	COLUMN(text, "what"),
	COLUMN(remedy, "what to do"),
};
#undef SHAPE
static const struct shape_table audit_table = {
	&topology_finding_shape, audit_shown, rw_countof(audit_shown)};

#define SHAPE struct link_port
static const struct shown optics_shown[] = {
	COLUMN(device, "device"),
	COLUMN(port, "port"),
	COLUMN(rx_power_dbm, "received dBm"),
	COLUMN(rx_power_least_dbm, "least dBm"),
	COLUMN(tx_power_dbm, "sent dBm"),
	COLUMN(pre_fec_ber, "BER before FEC"),
	COLUMN(fec_uncorrectable, "not repaired"),
	COLUMN(temperature_c, "C"),
};
#undef SHAPE
static const struct shape_table optics_table = {
	&link_port_shape, optics_shown, rw_countof(optics_shown)};
static const struct shape_table known_table = {.shape = &links_known_shape};
static const struct shape_table changes_table = {.shape = &link_change_shape};

/* Of the ports with something to say, those whose optics or FEC are known. */
static void links_optics(struct page *page, const struct links_answer *answer)
{
	struct link_port *rows = rw_calloc(answer->n_ports + 1, sizeof(*rows));
	size_t n = 0;
	for (size_t i = 0; i < answer->n_ports; i++) {
		const struct link_port *port = &answer->ports[i];
		if (!isnan(port->rx_power_dbm) || !isnan(port->pre_fec_ber) ||
			!isnan(port->fec_uncorrectable))
			rows[n++] = *port;
	}
	page_rows(page, "Light and FEC", &optics_table, rows, n);
	free(rows);
}

static void links_rings(struct page *page, const struct links_answer *answer)
{
	char when[WALL_TEXT_MAX], text[96];
	if (answer->rings_clean.ns == TIME_UNKNOWN.ns)
		return;
	snprintf(text, sizeof(text), "%s %s.",
		answer->ring_open ? "A ring of buffers is possible since"
				  : "No ring of buffers was possible as of",
		wall_text(when, answer->rings_clean, 0));
	page_text(page, text);
}

struct page *links_page(const json_t *doc, const void *of)
{
	const struct links_answer *answer = of;
	struct page *page = report_page("Links", doc);
	report_block_incidents(page, "Incidents", answer->incidents, NULL);
	page_heading(page, "Ports of which there is something to say");
	if (answer->n_ports == 0)
		page_text(page, "None, as far as ports tell.");
	report_block_links(page, answer->ports, answer->n_ports);
	links_optics(page, answer);
	chart_draw(page, "errors and flaps of all ports", "-", &answer->chart);
	page_heading(page, "Audit of the topology");
	if (answer->n_audit == 0)
		page_text(page, "Nothing that could be compared differs.");
	links_rings(page, answer);
	page_rows(page, NULL, &audit_table, answer->audit, answer->n_audit);
	page_heading(page, "What changed");
	if (answer->n_changes == 0)
		page_text(page, "No speed, MTU or neighbour changed, and nobody noted a change.");
	page_rows(page, NULL, &changes_table, answer->changes, answer->n_changes);
	page_heading(page, "How much is known");
	page_rows(page, NULL, &known_table, &answer->ports_known, 1);
	return page;
}

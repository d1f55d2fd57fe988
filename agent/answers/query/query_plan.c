/* query_plan - reads what is asked for. */
#include "agent/answers/query/query_plan.h"

#include "agent/answers/query/query.h"
#include "agent/client/client.h"
#include "config/config.h"

/* ---- query_lines - the series of a query, their lines, their order. */

/* A series that was silent for longer before the range is not expected in it. */
#define ALIVE_NS (24 * 3600 * NS_PER_S)

static uint64_t slot_key(uint32_t entity, uint16_t metric)
{
	return (uint64_t)entity << 16 | metric;
}

struct query_slot *query_lines_slot(struct query_lines *lines, uint32_t entity, uint16_t metric)
{
	uint64_t at;
	if (!map_get(lines->index, slot_key(entity, metric), &at))
		return NULL;
	return &lines->slots[at];
}

void query_lines_done(struct query_lines *lines)
{
	map_free(lines->index);
	free(lines->slots);
	free(lines->v);
}

/* ---- the line of a series ---------------------------------------------------- */

static const struct fabric_port *lines_port(
	const struct client *client, const struct entity *entity)
{
	if (!client->config)
		return NULL;
	const struct fabric_device *device = fabric_device(client->config->fabric, entity->device);
	if (!device || !*entity->port)
		return NULL;
	return fabric_port(device, entity->port);
}

static const char *lines_role(const struct client *client, const struct entity *entity)
{
	const struct fabric_device *device = NULL;
	if (client->config)
		device = fabric_device(client->config->fabric, entity->device);
	if (device)
		return device_role_name(device->role);
	return NULL;
}

static const char *lines_rail(const struct client *client, const struct entity *entity)
{
	const struct fabric_port *port = lines_port(client, entity);
	if (port && port->rail)
		return port->rail;
	if (port)
		return port->device->rail;
	return NULL;
}

static const char *lines_host(const struct client *client, const struct entity *entity)
{
	const struct fabric_port *port = lines_port(client, entity);
	if (port)
		return port->host;
	return NULL;
}

static const char *lines_job(const struct client *client, const struct entity *entity)
{
	const char *host = lines_host(client, entity);
	const struct fabric_job *job = NULL;
	if (host)
		job = fabric_job_of(client->config->fabric, host);
	if (job)
		return job->name;
	return NULL;
}

/* False: the series is in no line, such as a port without a host in lines of hosts. */
static bool lines_key(const struct client *client, const struct query_plan *plan,
	const struct entity *entity, struct query_line *ret)
{
	*ret = (struct query_line){
		.device = "", .port = "", .group = "", .priority = PRIO_NONE, .shown = true};
	switch (plan->by) {
	case BY_NONE:
	case BY_WORDS:
		ret->device = entity->device;
		ret->port = entity->port;
		ret->priority = entity->priority;
		break;
	case BY_PORT:
		ret->device = entity->device;
		ret->port = entity->port;
		break;
	case BY_DEVICE: ret->device = entity->device; break;
	case BY_PRIORITY: ret->priority = entity->priority; break;
	case BY_FABRIC: break;
	case BY_HOST: ret->group = lines_host(client, entity); break;
	case BY_JOB: ret->group = lines_job(client, entity); break;
	case BY_ROLE: ret->group = lines_role(client, entity); break;
	case BY_RAIL: ret->group = lines_rail(client, entity); break;
	}
	return ret->group != NULL;
}

static int lines_compare(const struct query_line *x, const struct query_line *y)
{
	int order = name_compare(x->group, y->group);
	if (order == 0)
		order = name_compare(x->device, y->device);
	if (order == 0)
		order = name_compare(x->port, y->port);
	if (order == 0)
		order = x->priority - y->priority;
	if (order == 0)
		order = (x->metric > y->metric) - (x->metric < y->metric);
	return order;
}

static int lines_order(const void *left, const void *right)
{
	const struct query_line *x = left, *y = right;
	const int order = lines_compare(x, y);
	if (order != 0)
		return order;
	return (x->begin > y->begin) - (x->begin < y->begin); /* the slot, for now */
}

/* Each slot begins as a line of its own; sorted, equal ones become one. */
static void lines_join(struct query_lines *lines)
{
	struct query_slot *slots = rw_calloc(lines->n_slots + 1, sizeof(*slots));
	size_t n = 0;
	if (lines->n > 1)
		qsort(lines->v, lines->n, sizeof(*lines->v), lines_order);
	for (size_t i = 0; i < lines->n; i++) {
		const size_t slot = lines->v[i].begin;
		const bool same = n > 0 && lines_compare(&lines->v[n - 1], &lines->v[i]) == 0;
		if (!same) {
			lines->v[n] = lines->v[i];
			lines->v[n].begin = i;
			n++;
		}
		lines->v[n - 1].end = i + 1;
		slots[i] = lines->slots[slot];
		slots[i].line = n - 1;
		map_put(lines->index, slot_key(slots[i].entity->id, slots[i].metric), i);
	}
	lines->n_slots = lines->n;
	lines->n = n;
	free(lines->slots);
	lines->slots = slots;
	lines->cap_slots = lines->n_slots + 1;
}

/* ---- which series there are ---------------------------------------------------- */

static int lines_add_metric(struct client *client, const struct query_plan *plan,
	const struct history_filter *filter, struct query_lines *lines, struct err *e)
{
	rw_cleanup(freep) uint32_t *ids = NULL;
	size_t n = 0;
	const int rc = history_match(client->history, filter, &ids, &n, e);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct query_line line;
		const struct entity *entity = entity_get(history_names(client->history), ids[i]);
		if (!entity || !lines_key(client, plan, entity, &line))
			continue;
		line.metric = filter->metrics[0];
		line.begin = lines->n_slots;
		rw_grow(lines->v, lines->n, lines->cap);
		lines->v[lines->n++] = line;
		rw_grow(lines->slots, lines->n_slots, lines->cap_slots);
		lines->slots[lines->n_slots++] =
			(struct query_slot){.entity = entity, .metric = filter->metrics[0]};
	}
	return rc;
}

/* ---- what a counter of bytes can grow by ------------------------------------------ */

struct lines_speeds {
	struct map *bps; /* of ports */
};

static int lines_take_speed(void *arg, const struct sample *sample)
{
	struct lines_speeds *speeds = arg;
	map_put(speeds->bps, sample->entity, sample->value);
	return 0;
}

/* The port's line rate, measured or else configured, with 2 % for clocks that differ. */
static double lines_bound(
	const struct client *client, const struct lines_speeds *speeds, const struct entity *entity)
{
	uint64_t bps = 0;
	const uint32_t port = entities_find(
		history_names(client->history), entity->device, entity->port, PRIO_NONE);
	map_get(speeds->bps, port, &bps);
	const struct fabric_port *configured = NULL;
	if (bps == 0)
		configured = lines_port(client, entity);
	if (configured)
		bps = configured->speed_bps;
	return 1.02 * (double)bps / 8;
}

static int lines_bounds(struct client *client, const struct query_plan *plan, int64_t to_ns,
	struct query_lines *lines, struct err *e)
{
	static const uint16_t metric = M_PORT_SPEED_BPS;
	struct history_filter filter = query_plan_filter(plan, 0, 0);
	struct lines_speeds speeds;
	bool bytes = false;
	for (size_t i = 0; i < plan->n_metrics; i++)
		bytes = bytes || str_eq(metric_info(plan->metrics[i])->unit, "bytes");
	if (!bytes)
		return 0;
	speeds.bps = map_new();
	filter.priority = HISTORY_ANY_PRIORITY;
	filter.metrics = &metric;
	filter.n_metrics = 1;
	const int rc =
		history_each_before(client->history, &filter, to_ns, lines_take_speed, &speeds, e);
	for (size_t i = 0; rc == 0 && i < lines->n_slots; i++) {
		const struct metric_info *info = metric_info(lines->slots[i].metric);
		if (info->kind == METRIC_COUNTER && str_eq(info->unit, "bytes"))
			lines->slots[i].bound_per_s =
				lines_bound(client, &speeds, lines->slots[i].entity);
	}
	map_free(speeds.bps);
	return rc;
}

/* ---- which of them are expected ---------------------------------------------------- */

struct lines_alive {
	struct query_lines *lines;
	int64_t since_ns;
};

static int lines_take_alive(void *arg, const struct sample *sample)
{
	struct lines_alive *alive = arg;
	struct query_slot *slot = query_lines_slot(alive->lines, sample->entity, sample->metric);
	if (slot && sample->t_ns >= alive->since_ns)
		slot->alive = true;
	return 0;
}

int query_lines_make(struct client *client, const struct query_plan *plan, int64_t from_ns,
	int64_t to_ns, struct query_lines *ret, struct err *e)
{
	struct history_filter filter = query_plan_filter(plan, from_ns, to_ns);
	int rc = 0;
	*ret = (struct query_lines){.index = map_new()};
	for (size_t i = 0; i < plan->n_metrics && rc == 0; i++) {
		filter.metrics = &plan->metrics[i];
		filter.n_metrics = 1;
		rc = lines_add_metric(client, plan, &filter, ret, e);
	}
	if (rc < 0)
		return rc;
	lines_join(ret);
	rc = lines_bounds(client, plan, to_ns, ret, e);
	if (rc < 0 || plan->top > 0 || !plan->steps)
		return rc;
	struct lines_alive alive = {.lines = ret, .since_ns = from_ns - ALIVE_NS};
	filter = query_plan_filter(plan, from_ns, to_ns);
	return history_each_before(client->history, &filter, from_ns, lines_take_alive, &alive, e);
}

/* ---- columns ------------------------------------------------------------------------- */

static size_t lines_widest(size_t width, const char *text)
{
	size_t n = 0;
	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	if (n > 40)
		return 40;
	return n > width ? n : width;
}

void query_lines_columns(
	const struct query_lines *lines, const struct query_plan *plan, struct query_columns *ret)
{
	const bool port = plan->by == BY_NONE || plan->by == BY_PORT;
	const bool device = port || plan->by == BY_DEVICE;
	*ret = (struct query_columns){.join = plan->by != BY_NONE,
		.fraction = !plan->steps || plan->step_ns % NS_PER_S != 0,
		.group_name = query_by_name(plan->by)};
	if (device)
		ret->device = strlen("DEVICE");
	if (plan->n_metrics > 1)
		ret->metric = strlen("METRIC");
	if (plan->by >= BY_HOST && plan->by <= BY_RAIL)
		ret->group = strlen("HOST");
	for (size_t i = 0; i < lines->n; i++) {
		const struct query_line *line = &lines->v[i];
		if (ret->group)
			ret->group = lines_widest(ret->group, line->group);
		if (device)
			ret->device = lines_widest(ret->device, line->device);
		if (port && *line->port)
			ret->port = lines_widest(ret->port ? ret->port : 4, line->port);
		if (ret->metric)
			ret->metric = lines_widest(ret->metric, metric_info(line->metric)->name);
		ret->priority = ret->priority || line->priority != PRIO_NONE;
	}
}

static const char *const agg_names[AGG_WORDS] = {
	[AGG_MEAN] = "mean",
	[AGG_MIN] = "min",
	[AGG_MAX] = "max",
	[AGG_P50] = "p50",
	[AGG_P95] = "p95",
	[AGG_P99] = "p99",
	[AGG_INCREASE] = "increase",
	[AGG_FIRST] = "first",
	[AGG_LAST] = "last",
	[AGG_COUNT] = "count",
	[AGG_COVERAGE] = "coverage",
};
static const char *const by_names[BY_WORDS] = {
	[BY_PORT] = "port",
	[BY_DEVICE] = "device",
	[BY_PRIORITY] = "priority",
	[BY_HOST] = "host",
	[BY_JOB] = "job",
	[BY_ROLE] = "role",
	[BY_RAIL] = "rail",
	[BY_FABRIC] = "fabric",
};
static const char *const join_names[JOIN_WORDS] = {
	[JOIN_SUM] = "sum",
	[JOIN_MEAN] = "mean",
	[JOIN_MIN] = "min",
	[JOIN_MAX] = "max",
	[JOIN_COUNT] = "count",
};

const char *query_agg_name(enum query_agg agg)
{
	return str_or(agg_names[agg], "");
}

const char *query_by_name(enum query_by by)
{
	return str_or(by_names[by], "");
}

const char *query_join_name(enum query_join join)
{
	return str_or(join_names[join], "");
}

const char *query_agg_words(void)
{
	return "mean|min|max|p50|p95|p99|increase|first|last|count|coverage";
}

const char *query_by_words(void)
{
	return "port|device|priority|host|job|role|rail|fabric";
}

const char *query_join_words(void)
{
	return "sum|mean|min|max|count";
}

/* The position of @text in @names, whose first one has no word. */
static int query_read_word(const char *option, const char *text, const char *const *names, size_t n,
	const char *expected, struct err *e)
{
	for (size_t i = 1; i < n; i++)
		if (str_eq(text, names[i]))
			return (int)i;
	const char *near = str_nearest(text, names + 1, n - 1);
	return err_set(e, -EINVAL, "%s: unknown '%.64s'; expected %s%s%s%s", option, text, expected,
		str_if(near, "; did you mean '"), str_or(near, ""), str_if(near, "'?"));
}

static int query_unknown_metric(const char *name, struct err *e)
{
	const char *names[METRIC_COUNT];

	for (unsigned m = 0; m < METRIC_COUNT; m++)
		names[m] = metric_info(m)->name;
	const char *near = str_nearest(name, names, METRIC_COUNT);
	if (near)
		return err_set(e, -EINVAL, "there is no metric '%.64s'; perhaps '%s'", name, near);
	return err_set(e, -EINVAL,
		"there is no metric '%.64s'; 'rocewatch query --list' names them", name);
}

static void query_plan_add(struct query_plan *plan, unsigned metric)
{
	for (size_t i = 0; i < plan->n_metrics; i++)
		if (plan->metrics[i] == metric)
			return;
	plan->metrics[plan->n_metrics++] = (uint16_t)metric;
}

/* May a glob take this metric along? A metric named in full gets an error instead. */
static bool query_metric_fits(const struct query_plan *plan, const struct metric_info *info)
{
	const bool counts = plan->rate || plan->agg == AGG_INCREASE;
	if (counts && info->kind != METRIC_COUNTER)
		return false;
	const bool numbers = plan->agg != AGG_USUAL || plan->by != BY_NONE || plan->top;
	return !numbers || info->type != TYPE_TEXT;
}

static int query_metric_check(
	const struct query_plan *plan, const struct metric_info *info, struct err *e)
{
	if (query_metric_fits(plan, info))
		return 0;
	if (info->type == TYPE_TEXT)
		return err_set(e, -EINVAL, "--agg, --by and --top are for numbers; %s is text",
			info->name);
	if (plan->rate)
		return err_set(e, -EINVAL, "--rate is for counters; %s is a %s", info->name,
			metric_kind_name(info->kind));
	return err_set(e, -EINVAL, "--agg increase is for counters; %s is a %s", info->name,
		metric_kind_name(info->kind));
}

static int query_read_metric(struct query_plan *plan, const char *word, struct err *e)
{
	const int m = metric_by_name(word);
	if (m >= 0) {
		query_plan_add(plan, (unsigned)m);
		return query_metric_check(plan, metric_info((unsigned)m), e);
	}
	const size_t before = plan->n_metrics;
	bool any = false;
	for (unsigned k = 0; strpbrk(word, "*?[") && k < METRIC_COUNT; k++) {
		if (!str_glob(word, metric_info(k)->name))
			continue;
		any = true;
		if (query_metric_fits(plan, metric_info(k)))
			query_plan_add(plan, k);
	}
	if (plan->n_metrics > before)
		return 0;
	if (any)
		return err_set(
			e, -EINVAL, "no metric like '%.64s' can be asked for in this way", word);
	return query_unknown_metric(word, e);
}

static int query_read_metrics(struct query_plan *plan, const char *text, struct err *e)
{
	rw_cleanup(freep) char *words = rw_strdup(text);
	char *save = NULL;
	int rc = 0;
	for (char *word = strtok_r(words, ",", &save); word && rc == 0;
		word = strtok_r(NULL, ",", &save))
		rc = query_read_metric(plan, word, e);
	if (rc == 0 && plan->n_metrics == 0)
		return query_unknown_metric(text, e);
	return rc;
}

static int query_read_step(const char *text, int64_t *ret_ns, struct err *e)
{
	struct err why = {0};
	if (unit_duration(text, ret_ns, &why) < 0)
		return err_set(e, -EINVAL, "--step: %s", why.text);
	if (*ret_ns <= 0)
		return err_set(e, -EINVAL, "--step: expected a duration above zero");
	return 0;
}

static int query_read_numbers(const struct query_ask *ask, struct query_plan *plan, struct err *e)
{
	int64_t n;
	plan->priority = HISTORY_ANY_PRIORITY;
	if (ask->priority) {
		if (unit_int(ask->priority, &n, NULL) < 0 || n < 0 || n > 7)
			return err_set(e, -EINVAL,
				"--priority: '%.64s' is not a priority; expected 0 to 7",
				ask->priority);
		plan->priority = (int)n;
	}
	if (ask->top) {
		if (unit_int(ask->top, &n, NULL) < 0 || n < 1 || n > 1000000)
			return err_set(e, -EINVAL,
				"--top: '%.64s' is not a number of lines such as 20", ask->top);
		plan->top = (size_t)n;
	}
	if (ask->step)
		return query_read_step(ask->step, &plan->step_ns, e);
	return 0;
}

static int query_read_words(const struct query_ask *ask, struct query_plan *plan, struct err *e)
{
	int k = 0;
	/* "--by device --agg sum" says how ports become one. */
	const bool sum = str_eq(ask->agg, "sum");
	if (sum && !ask->by)
		return err_set(e, -EINVAL,
			"--agg sum adds up ports: say of what with --by, such as --by device");
	if (sum)
		plan->join = JOIN_SUM;
	if (ask->agg && !sum)
		k = query_read_word("--agg", ask->agg, agg_names, AGG_WORDS, query_agg_words(), e);
	if (k < 0)
		return k;
	plan->agg = (enum query_agg)k;
	k = 0;
	if (ask->by)
		k = query_read_word("--by", ask->by, by_names, BY_WORDS, query_by_words(), e);
	if (k < 0)
		return k;
	plan->by = (enum query_by)k;
	if (!ask->join)
		return 0;
	if (!ask->by)
		return err_set(e, -EINVAL,
			"--join says how ports become one line: add --by, such as --by device");
	k = query_read_word("--join", ask->join, join_names, JOIN_WORDS, query_join_words(), e);
	if (k < 0)
		return k;
	plan->join = (enum query_join)k;
	return 0;
}

int query_plan_read(const struct query_ask *ask, struct query_plan *ret, struct err *e)
{
	*ret = (struct query_plan){.device = ask->device, .port = ask->port, .rate = ask->rate};
	int rc = query_read_numbers(ask, ret, e);
	if (rc == 0)
		rc = query_read_words(ask, ret, e);
	if (rc < 0)
		return rc;
	ret->steps = ret->step_ns || ask->agg || ask->by || ret->top;
	return query_read_metrics(ret, ask->metric, e);
}

struct history_filter query_plan_filter(
	const struct query_plan *plan, int64_t from_ns, int64_t to_ns)
{
	return (struct history_filter){.device = plan->device,
		.port = plan->port,
		.priority = plan->priority,
		.metrics = plan->metrics,
		.n_metrics = plan->n_metrics,
		.from_ns = from_ns,
		.to_ns = to_ns};
}

/* ---- what a value is ------------------------------------------------------- */

enum query_agg query_agg_of(const struct query_plan *plan, unsigned metric)
{
	const struct metric_info *info = metric_info(metric);
	if (plan->agg != AGG_USUAL)
		return plan->agg;
	if (info->kind == METRIC_GAUGE || plan->rate)
		return AGG_MEAN;
	if (info->kind == METRIC_WATERMARK)
		return AGG_MAX;
	/* The last values of counters say nothing together. */
	const bool many = plan->by != BY_NONE || plan->top;
	if (info->kind == METRIC_COUNTER && many)
		return AGG_MEAN;
	return AGG_LAST;
}

enum query_join query_join_of(const struct query_plan *plan, unsigned metric)
{
	if (plan->join != JOIN_USUAL)
		return plan->join;
	switch (query_agg_of(plan, metric)) {
	case AGG_MIN: return JOIN_MIN;
	case AGG_MAX:
	case AGG_P95:
	case AGG_P99: return JOIN_MAX;
	case AGG_COUNT: return JOIN_SUM;
	case AGG_COVERAGE: return JOIN_MEAN;
	default: break;
	}
	if (metric_info(metric)->kind == METRIC_COUNTER)
		return JOIN_SUM;
	return JOIN_MEAN;
}

bool query_is_rate(const struct query_plan *plan, unsigned metric)
{
	if (metric_info(metric)->kind != METRIC_COUNTER)
		return false;
	if (!plan->steps)
		return plan->rate;
	switch (query_agg_of(plan, metric)) {
	case AGG_MEAN:
	case AGG_MIN:
	case AGG_MAX:
	case AGG_P50:
	case AGG_P95:
	case AGG_P99: return true;
	default: return false;
	}
}

const char *query_unit(const struct query_plan *plan, unsigned metric, char buf[QUERY_UNIT_MAX])
{
	const char *unit = metric_info(metric)->unit;
	if (plan->by != BY_NONE && query_join_of(plan, metric) == JOIN_COUNT)
		return "series";
	if (plan->steps && query_agg_of(plan, metric) == AGG_COUNT)
		return "samples";
	if (plan->steps && query_agg_of(plan, metric) == AGG_COVERAGE)
		return "ratio";
	if (!query_is_rate(plan, metric))
		return unit;
	snprintf(buf, QUERY_UNIT_MAX, "%s/s", unit);
	return buf;
}

static struct query_value query_number(double value)
{
	struct query_value ret = {.kind = VALUE_NONE};
	if (isfinite(value))
		ret = (struct query_value){.kind = VALUE_F64, .f64 = value};
	return ret;
}

struct query_value query_stored(unsigned metric, uint64_t value, const struct entities *entities)
{
	switch (metric_info(metric)->type) {
	case TYPE_U64: return (struct query_value){.kind = VALUE_U64, .u64 = value};
	case TYPE_F64: return query_number(sample_f64(value));
	case TYPE_TEXT:
		return (struct query_value){
			.kind = VALUE_TEXT, .text = entities_text_get(entities, value)};
	}
	return (struct query_value){.kind = VALUE_NONE};
}

/* Change per second, which a port cannot exceed. */
static struct query_value query_rate_of(double rate, double bound_per_s, unsigned *flags)
{
	if (bound_per_s > 0 && rate > bound_per_s) {
		*flags |= SF_SUSPECT;
		return (struct query_value){.kind = VALUE_NONE};
	}
	return query_number(rate);
}

/* The mean of rates, each weighed by its time, is the increase over the time that they cover. */
static double query_mean_of(const struct rollup *rollup)
{
	if (metric_info(rollup->metric)->kind != METRIC_COUNTER)
		return rollup->sum / rollup->numbers;
	if (rollup->intervals == 0 || rollup->covered_ns <= 0)
		return NAN;
	return (double)rollup->increase / ((double)rollup->covered_ns / NS_PER_S);
}

/* Whole values stay exact. */
static struct query_value query_extreme(const struct rollup *rollup, double value)
{
	const struct metric_info *info = metric_info(rollup->metric);
	const bool whole = info->kind != METRIC_COUNTER && info->type == TYPE_U64;
	if (whole && rollup->numbers && value < 9007199254740992.0) /* 2^53 */
		return (struct query_value){.kind = VALUE_U64, .u64 = (uint64_t)value};
	return query_number(value);
}

struct query_value query_value_of(const struct query_plan *plan, const struct rollup *rollup,
	double bound_per_s, const struct entities *entities, unsigned *flags)
{
	const unsigned metric = rollup->metric;
	const enum query_agg agg = query_agg_of(plan, metric);
	const bool rate = query_is_rate(plan, metric);
	double value = NAN;
	switch (agg) {
	case AGG_FIRST:
	case AGG_LAST:
	case AGG_USUAL:
		if (rollup->count == 0)
			return (struct query_value){.kind = VALUE_NONE};
		return query_stored(
			metric, agg == AGG_FIRST ? rollup->first : rollup->last, entities);
	case AGG_COUNT: return (struct query_value){.kind = VALUE_U64, .u64 = rollup->count};
	case AGG_COVERAGE:
		return query_number(
			(double)rollup->seen_ns / (double)(rollup->to_ns - rollup->from_ns));
	case AGG_INCREASE:
		if (rollup->intervals == 0)
			return (struct query_value){.kind = VALUE_NONE};
		if (bound_per_s > 0 && query_mean_of(rollup) > bound_per_s) {
			*flags |= SF_SUSPECT;
			return (struct query_value){.kind = VALUE_NONE};
		}
		return (struct query_value){.kind = VALUE_U64, .u64 = rollup->increase};
	case AGG_MEAN: value = query_mean_of(rollup); break;
	case AGG_MIN: value = rollup->min; break;
	case AGG_MAX: value = rollup->max; break;
	case AGG_P50: value = rollup->p50; break;
	case AGG_P95: value = rollup->p95; break;
	case AGG_P99: value = rollup->p99; break;
	case AGG_WORDS: break;
	}
	if (rate)
		return query_rate_of(value, bound_per_s, flags);
	if (agg == AGG_MIN || agg == AGG_MAX)
		return query_extreme(rollup, value);
	return query_number(value);
}

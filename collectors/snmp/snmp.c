/*
 * snmp - the life of one polled device: sessions, the API, and the collector. Its polls, and the
 * reasons of its failures, are in snmp_poll.c.
 */
#include "collectors/snmp/snmp_target.h"

#include "base/loop.h"
#include "db/model/metric.h"

#define REPETITIONS_FIRST 25
void snmp_init(void)
{
	snmp_io_init();
}

/* ---- failure ------------------------------------------------------------- */

static void snmp_session_end(void *owner)
{
	struct snmp_target *t = owner;
	loop_timer_stop(t->pace);
	t->phase = PHASE_NONE;
}

/* ---- session ------------------------------------------------------------- */

static void on_ready(void *arg, int rc, const char *why)
{
	struct snmp_target *t = arg;
	if (rc < 0) {
		t->machine.state.errors++;
		target_lost_text(&t->machine, why);
		return;
	}
	snmp_poll_identify(t);
}

static const struct snmp_io_events io_events = {.ready = on_ready, .answer = snmp_poll_answer};

static int io_open(struct snmp_target *target, struct err *e)
{
	const struct config_snmp *s = target->machine.device->snmp;
	const struct config_snmp_credential *c = s->credential->snmp;
	rw_cleanup(target_secret_wipe) char *community = NULL, *auth = NULL, *priv = NULL;
	struct err why = {0};
	int rc = 0;
	if (c->version != 3)
		rc = secret_read(&c->community, &community, &why);
	if (rc == 0 && c->version == 3 && c->auth)
		rc = secret_read(&c->auth_secret, &auth, &why);
	if (rc == 0 && c->version == 3 && c->priv)
		rc = secret_read(&c->priv_secret, &priv, &why);
	if (rc < 0)
		return reason_err(e, rc, SNMP_SECRET, why.text);
	struct snmp_io_options o = {.host = s->address,
		.port = s->port,
		.source = s->source,
		.netns = s->netns,
		.version = c->version,
		.community = community,
		.user = c->user,
		.context = c->context,
		.auth = c->auth,
		.auth_password = auth,
		.priv = c->priv,
		.priv_password = priv,
		.timeout_ns = s->timeout_ns,
		.retries = s->retries};
	return snmp_io_new(target->machine.loop, &o, &io_events, target, &target->io, e);
}

/* io_renew - the secret is read at each try, so that a new one needs no reload. Where it cannot be
 * read any more (rights were given up after the start), the old one is kept; and a socket in
 * another namespace cannot be opened again. */
static int io_renew(struct snmp_target *target, struct err *e)
{
	struct snmp_io *old = target->io;
	if (old && target->machine.device->snmp->netns)
		return 0;
	target->io = NULL;
	int rc = io_open(target, e);
	if (rc == -EACCES && old) {
		target->io = old;
		return 0;
	}
	snmp_io_free(old);
	return rc;
}

/* snmp_session_start - from IDLE or BACKOFF. */
static void snmp_session_start(struct snmp_target *target)
{
	struct err e = {0};
	target_change(&target->machine.state, TARGET_STARTING, loop_now(target->machine.loop),
		wall_now(), NULL);
	target_report(&target->machine);
	int rc = io_renew(target, &e);
	if (rc == 0)
		rc = snmp_io_start(target->io, &e);
	if (rc == -EINPROGRESS)
		return;
	if (rc < 0) {
		target->machine.state.errors++;
		target_lost_text(&target->machine, e.text);
		return;
	}
	snmp_poll_identify(target);
}

static void snmp_on_timer(void *arg)
{
	struct snmp_target *t = arg;
	if (t->machine.state.state == TARGET_UP)
		snmp_poll_begin(t);
	else
		snmp_session_start(t);
}

/* ---- new, same, update, free --------------------------------------------- */

/* The configured interval, or the profile's least one when that is longer. */
static int64_t snmp_interval_ns(const struct target_machine *machine)
{
	int64_t least = 0;
	if (machine->profile)
		least = machine->profile->min_interval_ns;
	if (machine->device->snmp->interval_ns > least)
		return machine->device->snmp->interval_ns;
	return least;
}

static bool snmp_serves(const struct profile *profile)
{
	return profile->snmp;
}

static const struct target_hooks snmp_hooks = {.protocol = "snmp",
	.due = snmp_on_timer,
	.deadline = snmp_poll_deadline,
	.session_end = snmp_session_end,
	.interval_ns = snmp_interval_ns,
	.profile_serves = snmp_serves,
	.profile_rows = "SNMP tables"};

int snmp_target_new(struct loop *loop, struct entities *entities,
	const struct config_device *device, const struct config *config, const struct sink *sink,
	struct snmp_target **ret, struct err *e)
{
	assert(device->snmp);
	struct snmp_target *t = rw_calloc(1, sizeof(*t));
	t->pace = loop_timer_new(loop, snmp_poll_pace, t);
	if (sink->neighbors)
		t->lldp = snmp_lldp_new();
	const struct target_setup setup = {.loop = loop,
		.entities = entities,
		.device = device,
		.config = config,
		.sink = sink,
		.host = device->snmp->address,
		.port = device->snmp->port};
	int rc = target_init(&t->machine, &snmp_hooks, t, &setup, e);
	/* Now, while we may read the secret and enter the namespace. Without a namespace a failure
	 * may heal: the first try reports it. */
	if (rc == 0 && device->snmp->netns)
		rc = io_open(t, e);
	else if (rc == 0)
		io_open(t, NULL);
	if (rc < 0) {
		snmp_target_free(t);
		return rc;
	}
	t->machine.state.max_repetitions = REPETITIONS_FIRST;
	target_start_spread(&t->machine, device->snmp->interval_ns);
	*ret = t;
	return 0;
}

/* snmp_credential_same - the same log-in, read from the same places? */
static bool snmp_credential_same(
	const struct config_snmp_credential *left, const struct config_snmp_credential *right)
{
	if (left->version != right->version ||
		!target_secret_same(&left->community, &right->community))
		return false;
	if (!str_eq(left->user, right->user) || !str_eq(left->context, right->context))
		return false;
	if (left->auth != right->auth ||
		!target_secret_same(&left->auth_secret, &right->auth_secret))
		return false;
	return left->priv == right->priv &&
		target_secret_same(&left->priv_secret, &right->priv_secret);
}

bool snmp_target_same(const struct snmp_target *target, const struct config_device *device,
	const struct config *config)
{
	const struct config_snmp *is = target->machine.device->snmp, *wanted = device->snmp;
	if (!wanted || !target_same(&target->machine, device, config))
		return false;
	if (!str_eq(is->address, wanted->address) || is->port != wanted->port)
		return false;
	if (!str_eq(is->source, wanted->source) || !str_eq(is->netns, wanted->netns))
		return false;
	if (is->interval_ns != wanted->interval_ns ||
		is->slow_interval_ns != wanted->slow_interval_ns ||
		is->timeout_ns != wanted->timeout_ns || is->deadline_ns != wanted->deadline_ns)
		return false;
	if (is->retries != wanted->retries || is->max_varbinds_s != wanted->max_varbinds_s)
		return false;
	return snmp_credential_same(is->credential->snmp, wanted->credential->snmp);
}

void snmp_target_free(struct snmp_target *target)
{
	if (!target)
		return;
	snmp_io_free(target->io);
	loop_timer_free(target->pace);
	snmp_poll_profile_free(target);
	snmp_lldp_free(target->lldp);
	free(target->sysname);
	target_done(&target->machine);
	free(target);
}

const struct target *snmp_target_state(const struct snmp_target *target)
{
	return &target->machine.state;
}

/* ---- for "profile test" -------------------------------------------------- */

static void value_count(
	struct collector_value *ret, const struct snmp_rows *rows, size_t column, bool text)
{
	for (size_t row = 0; row < snmp_rows_count(rows); row++) {
		const struct snmp_value *cell = snmp_rows_value(rows, row, column);
		if (!cell)
			continue;
		const bool number = snmp_type_is_number(cell->type);
		if (ret->rows++ == 0)
			ret->type = snmp_type_name(cell->type);
		if (text)
			ret->wrong_type += cell->type != SNMP_STRING;
		else
			ret->wrong_type += !number;
		ret->zero += number && cell->u == 0;
	}
}

static void walk_values(const struct walk *walk, bool cell_known, collector_value_fn *fn, void *arg)
{
	for (size_t i = 0; i < walk->table->n_values; i++) {
		const struct profile_value *v = &walk->table->values[i];
		const struct profile_oid *column = &walk->table->columns[v->column];
		char oid[SNMP_OID_MAX * 11];
		struct collector_value value = {.table = walk->table->name,
			.path = snmp_oid_text(
				oid, sizeof(oid), (struct snmp_oid){column->v, column->n}),
			.what = profile_attribute_name(v->attribute),
			.doc = v->doc,
			.slow = walk->table->cadence != CADENCE_FAST,
			.fallback = v->fallback || walk->table->unless || walk->table->behind,
			.pending = walk->under_way,
			.no_cell = v->cells && !cell_known,
			.trouble = "",
			.type = ""};
		if (v->metric >= 0)
			value.what = metric_info((unsigned)v->metric)->name;
		const bool name =
			v->attribute != ATTRIBUTE_NONE && v->attribute != ATTRIBUTE_DISCONTINUITY;
		const bool text = name || v->text;
		value_count(&value, walk->rows, v->column, text);
		fn(arg, &value);
	}
}

void snmp_target_values(const struct snmp_target *target, collector_value_fn *fn, void *arg)
{
	const bool cell_known = target->decoder && snmp_decode_cell_known(target->decoder);
	for (size_t i = 0; i < target->n_walks; i++)
		walk_values(&target->walks[i], cell_known, fn, arg);
}

int64_t snmp_target_refresh_ns(const struct snmp_target *target)
{
	int64_t longest = 0;
	for (size_t i = 0; i < target->n_walks; i++) {
		if (target->walks[i].refresh.period_ns > longest)
			longest = target->walks[i].refresh.period_ns;
	}
	return longest;
}

/* ---- for traps ----------------------------------------------------------- */

#define POLL_SOON_NS (200 * NS_PER_MS) /* more traps may follow */
#define POLL_GAP_NS (2 * NS_PER_S) /* a storm of traps does not become a storm of polls */

const struct profile *snmp_target_profile_data(const struct snmp_target *target)
{
	return target->machine.profile;
}

const char *snmp_target_peer(const struct snmp_target *target)
{
	if (target->io)
		return snmp_io_peer(target->io);
	return target->machine.address;
}

const char *snmp_target_port_name(const struct snmp_target *target, uint32_t ifindex)
{
	for (size_t i = 0;
		target->decoder && i < snmp_ports_count(snmp_decode_ports(target->decoder)); i++) {
		const struct snmp_port *p = snmp_ports_at(snmp_decode_ports(target->decoder), i);
		if (p->ifindex == ifindex)
			return p->name;
	}
	return NULL;
}

void snmp_target_poll_soon(struct snmp_target *target)
{
	target->next_slow_ns = 0;
	if (target->machine.state.state == TARGET_UP && target->phase == PHASE_NONE &&
		loop_now(target->machine.loop).ns - target->poll_began.ns >= POLL_GAP_NS)
		loop_timer_start(target->machine.timer, POLL_SOON_NS, 0);
}

/* ---- the collector ------------------------------------------------------- */

static bool snmp_collector_place(const struct config *config, size_t i, struct collector_place *ret)
{
	if (i >= config->n_devices)
		return false;
	const struct config_device *device = &config->devices[i];
	*ret = (struct collector_place){.name = device->name};
	if (device->snmp) {
		ret->address = device->snmp->address;
		ret->config = device;
	}
	return true;
}

static int snmp_collector_open(
	const struct collector_env *env, const void *place, void **ret, struct err *e)
{
	struct snmp_target *target;
	int rc = snmp_target_new(
		env->loop, env->entities, place, env->config, env->sink, &target, e);
	if (rc == 0)
		*ret = target;
	return rc;
}

static bool snmp_collector_same(
	const void *instance, const void *place, const struct config *config)
{
	return snmp_target_same(instance, place, config);
}

static void snmp_collector_update(void *instance, const void *place, const struct config *config)
{
	struct snmp_target *target = instance;
	target_update(&target->machine, place, config);
}

static void snmp_collector_close(void *instance)
{
	snmp_target_free(instance);
}

static const struct target *snmp_collector_state(const void *instance)
{
	return snmp_target_state(instance);
}

static void snmp_collector_values(const void *instance, collector_value_fn *fn, void *arg)
{
	snmp_target_values(instance, fn, arg);
}

static const char *snmp_collector_port_name(const void *instance, uint32_t ifindex)
{
	return snmp_target_port_name(instance, ifindex);
}

static const char *snmp_collector_peer(const void *instance)
{
	return snmp_target_peer(instance);
}

const struct collector collector_snmp = {.name = "snmp",
	.role = COLLECTS_DEVICE,
	.place = snmp_collector_place,
	.open = snmp_collector_open,
	.same = snmp_collector_same,
	.update = snmp_collector_update,
	.close = snmp_collector_close,
	.state = snmp_collector_state,
	.values = snmp_collector_values,
	.port_name = snmp_collector_port_name,
	.peer = snmp_collector_peer};

/*
 * settings_drift - cause config_drift: a setting that changed, or that is not what the
 * configuration file declares (thresholds:, and of policy: load balancing, the mode of ECN, and
 * credits). Information, not alarm: it belongs in the timeline of
 * what follows. Who changed it is unknown here.
 *
 * Windows are longer than those of the analyzers that see harm, and its phase is after theirs:
 * where windows end together, the harm opens the incident and the change joins it
 * (agent/incident/explain.h).
 *
 * One finding per switch, at its port where only one port changed. A change is an event: the next
 * window clears it. A difference from the declaration lasts until it is resolved. Headroom and XOFF
 * levels are not compared with the declaration: they follow the cable of each port, which a
 * declaration for many ports cannot do. What most switches show alike is one finding about the
 * fabric: a roll-out, or a configuration file that is out of date.
 */

#include "analyzers/finding_build.h"
#include "analyzers/measure/class_world.h"
#include "config/class_policy.h"

/* thresholds are programmed in cells and steps of probability: less than this is the same */
#define ROUNDING 0.02
#define ALPHA_ROUNDING 0.1
#define SHOWN_MAX 8

struct settings_drift_options {
	int64_t window_ns, hold;
};
static const struct option rows[] = {
	{"window", OPT_DURATION, offsetof(struct settings_drift_options, window_ns), "30s", "1s",
		"1h", NULL,
		"evaluation window: long enough for the consequences of a change to open their "
		"incident first"},
	{"hold", OPT_INT, offsetof(struct settings_drift_options, hold), "2", "1", "10000", NULL,
		"windows, of the last hold + 2 (2: of the last 3), that must show a difference "
		"from the declaration; a change is reported at once"},
};

static const uint16_t watched[] = {M_PORT_MTU_BYTES, M_CFG_PFC_ENABLED, M_CFG_PG_ALPHA_EXP,
	M_CFG_PG_HEADROOM, M_CFG_PG_XOFF_LEVEL, M_CFG_PG_XON_LEVEL, M_CFG_PG_XON_OFFSET,
	M_CFG_ECN_ENABLED, M_CFG_ECN_KMIN, M_CFG_ECN_KMAX, M_CFG_ECN_PMAX, M_CFG_ECN_WEIGHT,
	M_CFG_PRIO_TO_PG, M_CFG_PRIO_TO_QUEUE, M_CFG_DSCP_TO_PRIO, M_CFG_TRUST, M_CFG_CNP_QUEUE,
	M_CFG_HASH_FIELDS, M_CFG_HASH_SEED, M_CFG_LB_MODE, M_CFG_PFCWD_DETECT, M_CFG_PFCWD_RESTORE,
	M_CFG_PFCWD_ACTION, M_CFG_ECN_RELATIVE, M_CFG_ECN_KMIN_RATIO, M_CFG_ECN_KMAX_RATIO,
	M_CFG_CBFC_ENABLED, M_CFG_CELL, M_CFG_POOL, M_CFG_POOL_SLICES, M_CFG_SHP_RATIO,
	M_CFG_POOL_HEADROOM, M_CFG_PG_POOL, M_CFG_TRIM_ENABLED, M_CFG_TRIM_SIZE, M_CFG_TRIM_DSCP,
	M_CFG_TRIM_QUEUE, M_CFG_LLR_ENABLED};

struct setting_change { /* of one setting of one entity, or its difference from what is declared */
	const struct entity *entity;
	unsigned metric;
	bool declared; /* .from is what is declared */
	uint64_t from, to; /* as stored; .declared: doubles below */
	double expected, own;
	const char *expected_text, *own_text; /* .declared of a text; NULL: numbers */
	int64_t t_ns;
};

struct device_drift { /* of one switch */
	struct setting_change *v;
	size_t n, n_events, cap;
	bool known; /* some watched setting of it was ever read */
};

static void settings_drift_push(
	struct device_drift *drift, struct arena *a, struct setting_change change)
{
	if (drift->n == drift->cap) {
		size_t cap = 8;
		if (drift->cap)
			cap = drift->cap * 2;
		struct setting_change *v = arena_array(a, struct setting_change, cap);
		if (drift->n)
			memcpy(v, drift->v, drift->n * sizeof(*v));
		drift->v = v;
		drift->cap = cap;
	}
	drift->v[drift->n++] = change;
	drift->n_events += !change.declared;
}

/* ---- what changed in the window ------------------------------------------ */

/* Did somebody agree to it? An accepted tuning sheet has this value; the sheet records that it was
 * applied. */
static bool settings_drift_agreed(const struct analyzer_in *in, const struct entity *entity,
	unsigned metric, double value, int64_t t_ns)
{
	for (size_t i = 0; i < in->n_expected; i++) {
		const struct expected_change *x = &in->expected[i];
		if (x->metric != metric || x->priority != entity->priority ||
			!str_eq(x->device, entity->device))
			continue;
		double slack = ROUNDING * fabs(x->value);
		if (metric == M_CFG_PG_ALPHA_EXP)
			slack = fmax(slack, ALPHA_ROUNDING);
		if (t_ns >= x->from_ns && t_ns <= x->until_ns && fabs(value - x->value) <= slack)
			return true;
	}
	return false;
}

/*
 * A change is a sample in the window that
 * 1. has another value than the one before it,
 * 2. was read back, like the one before it, in time and without doubt,
 * 3. no accepted tuning sheet asked for.
 */
static void settings_drift_changes_of(const struct analyzer_in *in, const struct series *series,
	struct device_drift *drift, const struct entity *entity)
{
	const unsigned unusable = SF_DECLARED | SF_LATE | SF_SUSPECT;
	drift->known = drift->known || series->n > 0;
	for (uint32_t i = 1; i < series->n && series->t_ns[i] <= in->window->to_ns; i++) {
		const uint64_t before = series->value[i - 1], after = series->value[i];
		const int64_t t_ns = series->t_ns[i];
		if (t_ns <= in->window->from_ns || after == before)
			continue;
		if ((series->flags[i] | series->flags[i - 1]) & unusable)
			continue;
		const double value = sample_number(series->metric, after);
		if (settings_drift_agreed(in, entity, series->metric, value, t_ns))
			continue;
		settings_drift_push(drift, in->arena,
			(struct setting_change){.entity = entity,
				.metric = series->metric,
				.from = before,
				.to = after,
				.t_ns = t_ns});
	}
}

static void find_changes(const struct analyzer_in *in, struct device_drift *drifts)
{
	bool wanted[METRIC_COUNT] = {false};
	for (size_t i = 0; i < rw_countof(watched); i++)
		wanted[watched[i]] = true;
	const struct fabric_device *d = NULL;
	const char *name = NULL; /* of @d; names of devices are interned */
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		size_t n = 0;
		const struct series *series = NULL;
		bool known = true; /* every device has some series: one that is flat adds nothing */
		if (wanted[m])
			series = window_of_metric(in->window, m, &n);
		for (size_t i = 0; i < in->fabric->n_devices; i++)
			known &= drifts[i].known;
		for (size_t i = 0; i < n; i++) {
			const struct entity *e = NULL;
			if (!known || !series[i].flat)
				e = entity_get(in->window->entities, series[i].entity);
			if (!e)
				continue;
			if (e->device != name) {
				analyzer_pause(in);
				name = e->device;
				d = fabric_device(in->fabric, name);
			}
			if (d)
				settings_drift_changes_of(in, &series[i], &drifts[d->index], e);
		}
	}
}

/* ---- what differs from the declaration ----------------------------------- */

static double settings_drift_stored(const struct window *window, uint32_t entity, unsigned metric)
{
	const struct series *s = window_series(window, entity, metric);
	uint32_t end = 0;
	if (s)
		end = series_after(s, window->to_ns);
	if (end && !(s->flags[end - 1] & SF_DECLARED))
		return sample_number(metric, s->value[end - 1]);
	return NAN;
}

/* What is declared and what was read back differ: one change. */
static void settings_drift_declared(const struct analyzer_in *in, uint32_t entity, unsigned metric,
	double expected, double own, struct device_drift *drift)
{
	settings_drift_push(drift, in->arena,
		(struct setting_change){.entity = entity_get(in->window->entities, entity),
			.metric = metric,
			.declared = true,
			.expected = expected,
			.own = own,
			.t_ns = in->window->to_ns});
}

static void settings_drift_compare(const struct analyzer_in *in, uint32_t entity, unsigned metric,
	double expected, double own, double slack, struct device_drift *drift)
{
	if (isnan(own) || isnan(expected) || expected <= 0 ||
		fabs(own - expected) <= slack * expected)
		return;
	if (settings_drift_agreed(in, entity_get(in->window->entities, entity), metric,
		    metric == M_CFG_PG_ALPHA_EXP ? log2(own) : own, in->window->to_ns))
		return;
	settings_drift_declared(in, entity, metric, expected, own, drift);
}

/* One port and priority against its declaration. */
static void compare_thresholds(const struct analyzer_in *in, uint32_t entity,
	const struct fabric_threshold *threshold, struct device_drift *drift)
{
	const struct window *w = in->window;
	const double alpha = exp2(settings_drift_stored(w, entity, M_CFG_PG_ALPHA_EXP));
	const struct {
		unsigned metric;
		double expected, own, slack;
	} settings[] = {
		{M_CFG_ECN_KMIN, (double)threshold->kmin_bytes,
			settings_drift_stored(w, entity, M_CFG_ECN_KMIN), ROUNDING},
		{M_CFG_ECN_KMAX, (double)threshold->kmax_bytes,
			settings_drift_stored(w, entity, M_CFG_ECN_KMAX), ROUNDING},
		{M_CFG_ECN_PMAX, threshold->pmax, settings_drift_stored(w, entity, M_CFG_ECN_PMAX),
			ALPHA_ROUNDING},
		{M_CFG_PG_ALPHA_EXP, threshold->alpha, alpha, ALPHA_ROUNDING},
	};
	for (size_t i = 0; i < rw_countof(settings); i++)
		settings_drift_compare(in, entity, settings[i].metric, settings[i].expected,
			settings[i].own, settings[i].slack, drift);
}

/* How the device balances, where the configuration says how it should. */
static void compare_balancing(const struct analyzer_in *in, const struct fabric_device *device,
	struct device_drift *drift)
{
	const struct entities *entities = in->window->entities;
	const uint32_t entity = entities_find(entities, device->name, "", PRIO_NONE);
	enum lb_policy told;
	bool known;
	const char *text = lb_read(in->window, device->name, &told, &known);
	if (!text || !known || !device->lb_declared || !lb_contradicts(device->lb, told))
		return;
	settings_drift_push(drift, in->arena,
		(struct setting_change){.entity = entity_get(entities, entity),
			.metric = M_CFG_LB_MODE,
			.declared = true,
			.expected_text = lb_policy_name(device->lb),
			.own_text = text,
			.t_ns = in->window->to_ns});
}

/* One switch of a class, 0 or 1, against what policy.classes and policy.congestion say. */
static void compare_switch(const struct analyzer_in *in, uint32_t entity, unsigned metric,
	double expected, struct device_drift *drift)
{
	const double own = settings_drift_stored(in->window, entity, metric);
	if (isnan(own) || isnan(expected) || own == expected)
		return;
	settings_drift_declared(in, entity, metric, expected, own, drift);
}

static void compare_class(const struct analyzer_in *in, const struct fabric_port *port,
	int priority, struct device_drift *drift)
{
	const struct fabric *fabric = in->fabric;
	const enum class_ecn ecn = fabric->classes[priority].ecn;
	const bool credit = class_lossless(fabric, priority) == LOSSLESS_CREDIT;
	double relative = NAN;
	if (!credit && ecn != ECN_RELATIVE && ecn != ECN_ABSOLUTE)
		return; /* nothing is declared */
	const uint32_t entity =
		entities_find(in->window->entities, port->device->name, port->name, priority);
	if (entity == ENTITY_NONE)
		return;
	if (ecn == ECN_RELATIVE || ecn == ECN_ABSOLUTE)
		relative = ecn == ECN_RELATIVE;
	compare_switch(in, entity, M_CFG_ECN_RELATIVE, relative, drift);
	if (credit)
		compare_switch(in, entity, M_CFG_CBFC_ENABLED, 1, drift);
}

static void find_other_worlds(const struct analyzer_in *in, struct device_drift *drifts)
{
	const struct fabric *f = in->fabric;
	for (size_t i = 0; i < f->n_devices; i++) {
		analyzer_pause(in);
		compare_balancing(in, f->devices[i], &drifts[i]);
		for (size_t k = 0; k < f->devices[i]->n_ports; k++)
			for (int priority = 0; priority < OBSERVED_PRIORITIES; priority++)
				if (f->lossless_mask >> priority & 1)
					compare_class(
						in, f->devices[i]->ports[k], priority, &drifts[i]);
	}
}

static void find_undeclared(const struct analyzer_in *in, struct device_drift *drifts)
{
	const struct fabric *f = in->fabric;
	for (size_t i = 0; f->n_thresholds && i < f->n_devices; i++)
		for (size_t k = 0; k < f->devices[i]->n_ports; k++)
			for (int priority = 0; priority < OBSERVED_PRIORITIES; priority++) {
				const struct fabric_port *p = f->devices[i]->ports[k];
				const struct fabric_threshold *t =
					fabric_threshold_of(f, p, priority);
				uint32_t e = ENTITY_NONE;
				if (t)
					e = entities_find(in->window->entities, p->device->name,
						p->name, priority);
				if (e != ENTITY_NONE)
					compare_thresholds(in, e, t, &drifts[i]);
			}
}

/* ---- findings ------------------------------------------------------------ */

/* Words of a setting's metric as people write them. */
static const struct {
	const char *word, *said;
} setting_words[] = {{"cbfc", "CBFC"}, {"cnp", "CNP"}, {"dscp", "DSCP"}, {"ecn", "ECN"},
	{"exp", ""}, {"kmax", "Kmax"}, {"kmin", "Kmin"}, {"lb", "load balancing"}, {"llr", "LLR"},
	{"pfc", "PFC"}, {"pfcwd", "PFC watchdog"}, {"pg", ""}, {"pmax", "Pmax"},
	{"prio", "priority"}, {"shp", "shared headroom pool"}, {"xoff", "XOFF"}, {"xon", "XON"},
	/* units stand behind the value */
	{"bytes", ""}, {"ratio", ""}, {"ms", ""}, {"m", ""}, {"enabled", ""}};

/* "ECN Kmin" of cfg.ecn_kmin_bytes. */
static const char *setting_name(unsigned metric, struct arena *a)
{
	static const char prefix[] = "cfg.";
	const char *rest = metric_info(metric)->name, *text = "";
	if (strncmp(rest, prefix, sizeof(prefix) - 1) == 0)
		rest += sizeof(prefix) - 1;
	while (*rest) {
		const size_t n = strcspn(rest, "_");
		const char *word = arena_printf(a, "%.*s", (int)n, rest);
		for (size_t i = 0; i < rw_countof(setting_words); i++)
			if (str_eq(word, setting_words[i].word))
				word = setting_words[i].said;
		text = arena_printf(a, "%s%s%s", text, str_if(*text && *word, " "), word);
		rest += n + (rest[n] == '_');
	}
	return text;
}

/* A number as people read it: by the unit of its metric; what is on or off says so. */
static const char *setting_number(unsigned metric, double value, struct arena *a)
{
	const char *name = metric_info(metric)->name, *unit = metric_info(metric)->unit;
	const bool is_switch = strstr(name, "_enabled") || metric == M_CFG_ECN_RELATIVE;
	if (is_switch && (value == 0 || value == 1))
		return value == 1 ? "on" : "off";
	if (str_eq(unit, "bytes"))
		return arena_strdup(a, number_size(value).s);
	if (str_eq(unit, "ratio"))
		return arena_printf(a, "%.4g %%", 100 * value);
	if (str_eq(unit, "ms") || str_eq(unit, "m"))
		return arena_printf(a, "%.6g %s", value, unit);
	return arena_printf(a, "%.15g", value);
}

/* The value before the change (or the declared one), or the one after it. */
static const char *settings_drift_value_text(
	const struct analyzer_in *in, const struct setting_change *change, bool after)
{
	if (change->own_text)
		return after ? change->own_text : change->expected_text;
	const bool is_alpha = change->metric == M_CFG_PG_ALPHA_EXP;
	if (change->declared) {
		const double value = after ? change->own : change->expected;
		if (is_alpha)
			return arena_strdup(in->arena, number_alpha(value).s);
		return setting_number(change->metric, value, in->arena);
	}
	uint64_t stored = change->from;
	if (after)
		stored = change->to;
	if (metric_info(change->metric)->type == TYPE_TEXT)
		return arena_printf(
			in->arena, "\"%.60s\"", entities_text_get(in->window->entities, stored));
	if (is_alpha)
		return arena_strdup(
			in->arena, number_alpha(exp2(sample_number(change->metric, stored))).s);
	return setting_number(change->metric, sample_number(change->metric, stored), in->arena);
}

/* The port, where all changes belong to one port of the fabric; a pool belongs to the switch. */
static const char *only_port(const struct fabric_device *dev, const struct device_drift *drift)
{
	for (size_t i = 0; i < drift->n; i++)
		if (!drift->v[i].entity->port[0] ||
			!str_eq(drift->v[i].entity->port, drift->v[0].entity->port))
			return NULL;
	const struct fabric_port *p = fabric_port(dev, drift->v[0].entity->port);
	if (p)
		return p->name;
	return NULL;
}

static size_t ports_of(const struct device_drift *drift, unsigned metric)
{
	size_t n = 0;
	for (size_t i = 0; i < drift->n; i++) {
		bool first = drift->v[i].metric == metric;
		for (size_t k = 0; first && k < i; k++)
			first = drift->v[k].metric != metric ||
				!str_eq(drift->v[k].entity->port, drift->v[i].entity->port);
		n += first;
	}
	return n;
}

/* The metrics that drifted, each with its first values. */
static const char *settings_drift_list_of(
	const struct analyzer_in *in, const struct device_drift *drift)
{
	const char *list = "";
	size_t shown = 0;
	for (size_t i = 0; i < drift->n && shown < 4; i++) {
		bool first = true;
		for (size_t k = 0; k < i; k++)
			first = first && drift->v[k].metric != drift->v[i].metric;
		if (!first)
			continue;
		const size_t ports = ports_of(drift, drift->v[i].metric);
		const struct setting_change *change = &drift->v[i];
		const char *many = "";
		if (ports > 1)
			many = arena_printf(in->arena, " (%zu ports)", ports);
		const char *name = setting_name(change->metric, in->arena);
		const char *before = settings_drift_value_text(in, change, false),
			   *after = settings_drift_value_text(in, change, true);
		if (change->declared)
			list = arena_printf(in->arena, "%s%s%s is %s, declared %s%s", list,
				str_if(shown, "; "), name, after, before, many);
		else
			list = arena_printf(in->arena, "%s%s%s was %s, now %s%s", list,
				str_if(shown, "; "), name, before, after, many);
		shown++;
	}
	return list;
}

static int64_t first_change(const struct device_drift *drift)
{
	int64_t first = INT64_MAX;
	for (size_t i = 0; i < drift->n; i++)
		if (!drift->v[i].declared && drift->v[i].t_ns < first)
			first = drift->v[i].t_ns;
	return first;
}

static void settings_drift_describe(const struct analyzer_in *in, const struct device_drift *drift,
	const char *device, struct draft *draft)
{
	draft->f->summary = arena_printf(draft->a, "%s: %s; no accepted tuning sheet asked for it",
		device, settings_drift_list_of(in, drift));
	for (size_t i = 0; i < drift->n && i < SHOWN_MAX; i++) {
		const struct setting_change *c = &drift->v[i];
		const struct metric_info *m = metric_info(c->metric);
		if (m->type == TYPE_TEXT)
			continue;
		struct fabric_device dev = {.name = c->entity->device};
		struct fabric_port port = {
			.name = c->entity->port[0] ? c->entity->port : NULL, .device = &dev};
		finding_evidence(draft, m->name, &(struct port_seen){.port = &port},
			c->entity->priority, c->declared ? c->own : sample_number(c->metric, c->to),
			m->unit, QUALITY_EXACT);
	}
	finding_rests_on(draft,
		drift->n_events ? "the value read back before and after"
				: "the value read back, compared with thresholds: and policy: in "
				  "the configuration file");
	if (drift->n_events) {
		draft->f->event = cause_name(CAUSE_CONFIG_DRIFT);
		draft->f->event_ns = first_change(drift);
	}
	finding_add_role(draft, "culprit", "%s", device);
	finding_steps(draft, CAUSE_CONFIG_DRIFT, 0);
}

static void settings_drift_report_device(const struct analyzer_in *in,
	const struct fabric_device *dev, const struct device_drift *drift, struct finding_list *out)
{
	const struct settings_drift_options *o = in->options;
	const int64_t hold = drift->n_events ? 1 : o->hold;
	const char *port = NULL;
	if (!drift->n && finding_is_clear(out, in, "settings_drift", dev->name, dev->n_ports + 1))
		return;
	if (drift->n)
		port = only_port(dev, drift);
	for (size_t i = 0; i <= dev->n_ports; i++) { /* the switch, then its ports */
		const char *here = NULL;
		if (i)
			here = dev->ports[i - 1]->name;
		const bool over = drift->n && str_eq(here, port);
		struct draft t =
			finding_new(out, in, "settings_drift", finding_verdict(over, true), hold);
		t.f->device = dev->name;
		t.f->port = here;
		t.f->cause = CAUSE_CONFIG_DRIFT;
		t.f->summary = "";
		t.f->severity = SEV_INFO;
		t.f->value = (double)drift->n;
		t.f->warn = 1;
		t.f->confidence_ratio = 0.95;
		if (over)
			settings_drift_describe(in, drift, dev->name, &t);
	}
}

static bool same_settings(const struct device_drift *left, const struct device_drift *right)
{
	for (size_t i = 0; i < left->n; i++) {
		bool found = false;
		for (size_t k = 0; k < right->n && !found; k++)
			found = left->v[i].metric == right->v[k].metric &&
				left->v[i].declared == right->v[k].declared;
		if (!found)
			return false;
	}
	return true;
}

static bool settings_drift_alike(const struct device_drift *left, const struct device_drift *right)
{
	return left->n && right->n && same_settings(left, right) && same_settings(right, left);
}

/* Do most switches show the same? Then @ret gets what one of them shows, and theirs is emptied.
 * Returns how many. */
static size_t take_common(
	const struct fabric *fabric, struct device_drift *drifts, struct device_drift *ret)
{
	size_t known = 0, agree = 0;
	for (size_t i = 0; i < fabric->n_devices; i++)
		known += drifts[i].known;
	for (size_t i = 0; i < fabric->n_devices && !ret->n; i++) {
		agree = 0;
		for (size_t k = 0; k < fabric->n_devices; k++)
			agree += settings_drift_alike(&drifts[i], &drifts[k]);
		if (agree >= 3 && agree * 2 > known)
			*ret = drifts[i];
	}
	for (size_t i = 0; ret->n && i < fabric->n_devices; i++)
		if (settings_drift_alike(&drifts[i], ret))
			drifts[i].n = drifts[i].n_events = 0;
	if (ret->n)
		return agree;
	return 0;
}

static int settings_drift_run(const struct analyzer_in *in, struct finding_list *out)
{
	const struct settings_drift_options *o = in->options;
	const struct fabric *f = in->fabric;
	struct device_drift *drifts = arena_array(in->arena, struct device_drift, f->n_devices + 1),
			    old = {0};
	memset(drifts, 0, sizeof(*drifts) * (f->n_devices + 1));
	find_changes(in, drifts);
	find_undeclared(in, drifts);
	find_other_worlds(in, drifts);
	const size_t common = take_common(f, drifts, &old);
	for (size_t i = 0; i < f->n_devices; i++)
		if (drifts[i].known)
			settings_drift_report_device(in, f->devices[i], &drifts[i], out);
	const int64_t hold = old.n_events ? 1 : o->hold;
	struct draft t =
		finding_new(out, in, "settings_drift", finding_verdict(common, true), hold);
	t.f->cause = CAUSE_CONFIG_DRIFT;
	t.f->summary = "";
	t.f->severity = SEV_INFO;
	t.f->value = t.f->warn = 1;
	if (old.n_events)
		t.f->confidence_ratio = 0.95;
	else
		t.f->confidence_ratio = 0.8;
	if (common)
		settings_drift_describe(in, &old,
			arena_printf(in->arena, "%zu switches%s", common,
				str_if(!old.n_events, " (is the configuration file out of date?)")),
			&t);
	return 0;
}

const struct analyzer analyzer_settings_drift = {
	.name = "settings_drift",
	.phase = 130,
	.doc = "settings that changed, or are not what the configuration declares",
	.options = {"analyzers", "settings_drift", sizeof(struct settings_drift_options), rows,
		rw_countof(rows), "changes of settings"},
	.strides = 1, /* a change is one event: windows that overlap would each report it */
	.window_offset = offsetof(struct settings_drift_options, window_ns),
	.spec = {.metrics = watched, .n_metrics = rw_countof(watched)},
	.run = settings_drift_run,
};

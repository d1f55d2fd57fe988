/* tune_read - reads a stretch of the database as what tuning needs: evidence, incidents, platforms,
 * and the windows of a comparison. */
#include "agent/tuning/tune_read.h"

#include "agent/client/client.h"
#include "agent/history/window_walk.h"
#include "analyzers/measure/observe.h"
#include "analyzers/measure/rhythm.h"
#include "analyzers/tune/tune_evidence.h"
#include "base/stats.h"
#include "config/config.h"
#include "config/profile/profile.h"
#include "db/model/metric.h"
#include "db/series/history.h"

#define SPACING_SPAN_NS (300 * NS_PER_S)
#define SLICES 600
#define STEPS_A_WINDOW 3
#define SENDS 0.01 /* of line rate: a host that takes part */
#define SENDS_BPS 10e6 /* where the line rate is not known */
#define HEARD 0.9 /* of the ports that count for load */
#define MARKS_LEAST 1000 /* packets a share of marked ones takes  */

/* Beside what observe() reads. */
static const uint16_t more_metrics[] = {
	M_CFG_POOL_SLICES, M_CFG_SHP_RATIO, M_CFG_CABLE, M_CFG_ECN_WEIGHT};

/* ---- windows, in chunks -------------------------------------------------- */

typedef void observed_fn(void *arg, const struct observed *observed);

struct tune_walk {
	const struct fabric *fabric;
	int64_t interval_ns;
	observed_fn *fn;
	void *arg;
};

static int tune_read_observe(void *arg, const struct window *window, struct arena *turn)
{
	const struct tune_walk *walk = arg;
	const struct analyzer_in in = {.fabric = walk->fabric,
		.window = window,
		.interval_ns = walk->interval_ns,
		.arena = turn};
	walk->fn(walk->arg, observe(&in));
	return 0;
}

/* Each window of (from, to], both multiples of @window_ns, observed as a detector does. */
static int tune_read_each(struct client *client, int64_t from_ns, int64_t to_ns, int64_t window_ns,
	int64_t interval_ns, observed_fn *fn, void *arg, struct err *e)
{
	uint16_t metrics[METRIC_COUNT];
	size_t n = 0;
	for (size_t k = 0; k < observe_n_metrics; k++)
		metrics[n++] = observe_metrics[k];
	for (size_t k = 0; k < rw_countof(more_metrics); k++)
		metrics[n++] = more_metrics[k];
	const struct window_spec spec = {.metrics = metrics, .n_metrics = n};
	const struct window_plan plan = {
		.spec = &spec, .from_ns = from_ns, .to_ns = to_ns, .window_ns = window_ns};
	struct tune_walk walk = {
		.fabric = client->config->fabric, .interval_ns = interval_ns, .fn = fn, .arg = arg};
	return window_walk(client, &plan, tune_read_observe, &walk, e);
}

/* Time between samples: as the newest ones show it, else as configured. */
static int64_t tune_read_interval(struct client *client, int64_t to_ns)
{
	static const uint16_t metrics[] = {M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS};
	const struct window_spec spec = {.metrics = metrics, .n_metrics = rw_countof(metrics)};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct window window;
	struct err ignored = {0};
	const int rc = history_window(
		client->history, a, &spec, to_ns - SPACING_SPAN_NS, to_ns, &window, &ignored);
	if (rc != 0)
		return config_interval(client->config);
	double longest_ns = 0;
	for (size_t k = 0; k < window.n_series; k++) {
		const double spacing_ns = window_spacing(&window.series[k], a);
		if (spacing_ns > longest_ns)
			longest_ns = spacing_ns;
	}
	if (longest_ns <= 0)
		return config_interval(client->config);
	/* polls are late by a little: whole tenths of a second */
	const double tenths = ceil(longest_ns / 1e8 - 0.5);
	if (tenths > 1)
		return (int64_t)tenths * (NS_PER_S / 10);
	return NS_PER_S / 10;
}

/* ---- incidents and platforms --------------------------------------------- */

struct incidents {
	struct tune_incident *v;
	size_t n, cap;
	struct arena *arena;
};

static const char *tune_read_text_or_null(struct arena *a, const char *text)
{
	if (text && *text)
		return arena_strdup(a, text);
	return NULL;
}

/* Columns of the query below. */
enum {
	IN_ID,
	IN_CAUSE,
	IN_DEVICE,
	IN_PORT,
	IN_HOST,
	IN_GROUP,
	IN_PRIORITY,
	IN_SEVERITY,
	IN_OPENED,
	IN_CLOSED,
	IN_CONFIDENCE,
	IN_COLUMNS
};

static int64_t integer_or(const char *text, int64_t otherwise)
{
	if (text)
		return strtoll(text, NULL, 10);
	return otherwise;
}

static enum severity severity_of(const char *word)
{
	for (int s = SEV_INFO; word && s <= SEV_CRITICAL; s++)
		if (str_eq(severity_name((enum severity)s), word))
			return (enum severity)s;
	return SEV_INFO;
}

static int take_incident(void *arg, int n, char *const *words, char *const *names)
{
	struct incidents *list = arg;
	if (n < IN_COLUMNS || !words[IN_ID] || !words[IN_CAUSE])
		return 0;
	rw_grow(list->v, list->n, list->cap);
	struct tune_incident *incident = &list->v[list->n++];
	*incident = (struct tune_incident){.id = arena_strdup(list->arena, words[IN_ID]),
		.cause = cause_by_name(words[IN_CAUSE]),
		.device = tune_read_text_or_null(list->arena, words[IN_DEVICE]),
		.port = tune_read_text_or_null(list->arena, words[IN_PORT]),
		.host = tune_read_text_or_null(list->arena, words[IN_HOST]),
		.group = tune_read_text_or_null(list->arena, words[IN_GROUP]),
		.priority = (int)integer_or(words[IN_PRIORITY], PRIO_NONE),
		.severity = severity_of(words[IN_SEVERITY]),
		.opened_ns = integer_or(words[IN_OPENED], 0),
		.closed_ns = integer_or(words[IN_CLOSED], 0),
		.confidence_ratio = NAN};
	if (words[IN_CONFIDENCE])
		incident->confidence_ratio = strtod(words[IN_CONFIDENCE], NULL);
	return 0;
}

/* Those of the stretch that reached open. */
static int tune_read_incidents(struct client *client, int64_t from_ns, int64_t to_ns,
	struct arena *a, struct tune_incident **ret, size_t *ret_n, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	struct incidents l = {.arena = a};
	str_addf(&sql,
		"SELECT id, cause, device, port, host, ecmp_group, priority, severity, opened_ns, "
		"closed_ns, confidence_ratio FROM incidents"
		" WHERE opened_ns IS NOT NULL AND opened_ns<=%lld AND (closed_ns IS NULL OR "
		"closed_ns>=%lld) ORDER BY opened_ns, id",
		(long long)to_ns, (long long)from_ns);
	const int rc = history_sql(client->history, sql.s, take_incident, &l, e);
	*ret = arena_array(a, struct tune_incident, l.n + 1);
	if (l.n)
		memcpy(*ret, l.v, l.n * sizeof(*l.v));
	*ret_n = l.n;
	for (size_t k = 0; k < l.n; k++)
		if ((*ret)[k].closed_ns > to_ns)
			(*ret)[k].closed_ns = 0; /* still open at the end of the range */
	free(l.v);
	return rc;
}

struct attributes {
	struct client *x;
	const struct profiles *profiles;
	struct tune_history *h;
	struct arena *arena;
};

static int take_device(void *arg, int n, char *const *words, char *const *names)
{
	struct attributes *t = arg;
	const struct fabric_device *d = NULL;
	if (n >= 3 && words[0])
		d = fabric_device(t->x->config->fabric, words[0]);
	if (!d)
		return 0;
	if (words[1] && *words[1] && !str_eq(words[1], "auto"))
		t->h->profiles[d->index] = profiles_get(t->profiles, words[1]);
	if (words[2] && *words[2])
		t->h->descriptions[d->index] = arena_strdup(t->arena, words[2]);
	return 0;
}

static int read_platforms(struct client *client, const struct profiles *profiles, int64_t to_ns,
	struct arena *a, struct tune_history *history, struct err *e)
{
	const struct config *c = client->config;
	const size_t n = c->fabric->n_devices;
	rw_cleanup(str_done) struct str sql = {0};
	struct attributes t = {.x = client, .profiles = profiles, .h = history, .arena = a};
	history->platforms = arena_array(a, struct tune_platform, n + 1);
	history->profiles = arena_array(a, const struct profile *, n + 1);
	history->descriptions = arena_array(a, const char *, n + 1);
	/* attributes are dated by the wall clock of the agent, those of a recorded case by its
	 * samples: the newest not after the stretch, else the oldest */
	str_addf(&sql,
		"SELECT device, profile, descr FROM device_attr a WHERE t_ns=coalesce((SELECT "
		"max(t_ns) FROM device_attr WHERE device=a.device AND t_ns<=%lld),"
		" (SELECT min(t_ns) FROM device_attr WHERE device=a.device))",
		(long long)to_ns);
	const int rc = history_sql(client->history, sql.s, take_device, &t, e);
	if (rc != 0)
		return rc;
	for (size_t k = 0; k < c->n_devices; k++)
		if (c->devices[k].profile && !str_eq(c->devices[k].profile, "auto"))
			history->profiles[c->devices[k].device->index] =
				profiles_get(profiles, c->devices[k].profile);
	for (size_t k = 0; k < n; k++) {
		struct tune_platform *platform = &history->platforms[k];
		platform->name = history->descriptions[k];
		platform->asic = profiles_asic(profiles, history->descriptions[k]);
		if (history->profiles[k])
			platform->profile = history->profiles[k]->tune;
	}
	return 0;
}

/* ---- evidence ------------------------------------------------------------ */

static void tune_read_fold(void *arg, const struct observed *observed)
{
	tune_fold_add(arg, observed);
}

int tune_read_history(struct client *client, const struct profiles *profiles, int64_t from_ns,
	int64_t to_ns, struct arena *a, struct tune_history *ret, struct err *e)
{
	*ret = (struct tune_history){.from_ns = from_ns, .to_ns = to_ns};
	ret->interval_ns = tune_read_interval(client, to_ns);
	if (3 * ret->interval_ns > 5 * NS_PER_S)
		ret->window_ns = 3 * ret->interval_ns;
	else
		ret->window_ns = 5 * NS_PER_S;
	int64_t first_ns, last_ns;
	int rc = history_range(client->history, &first_ns, &last_ns, e);
	if (rc == 0) {
		const int64_t span = (to_ns < last_ns ? to_ns : last_ns) -
			(from_ns > first_ns ? from_ns : first_ns);
		ret->window_ns *= 1 + (span > 0 ? span / ret->window_ns / TUNE_WINDOWS_MAX : 0);
		rc = window_bounds(client, ret->window_ns, &ret->from_ns, &ret->to_ns, e);
	}
	if (rc == -ENODATA)
		return err_set(e, rc,
			"there is less than one window (%lld s) of samples in the time "
			"range",
			(long long)(ret->window_ns / NS_PER_S));
	if (rc != 0)
		return rc;
	struct tune_fold *f =
		tune_fold_new(client->config->fabric, ret->window_ns, ret->interval_ns, a);
	rc = tune_read_each(client, ret->from_ns, ret->to_ns, ret->window_ns, ret->interval_ns,
		tune_read_fold, f, e);
	if (rc == 0)
		rc = tune_fold_done(f, &ret->evidence);
	if (rc == -ENODATA)
		return err_set(e, rc, "there are no samples in the time range");
	if (rc == 0)
		rc = tune_read_incidents(
			client, ret->from_ns, ret->to_ns, a, &ret->incidents, &ret->n_incidents, e);
	if (rc == 0)
		rc = read_platforms(client, profiles, ret->to_ns, a, ret, e);
	return rc;
}

void tune_read_past(const struct tune_ledger *ledger, struct arena *a, struct tune_history *history)
{
	const struct tune_record *const *v;
	const size_t n = tune_ledger_records(ledger, &v);
	struct tune_past *past = arena_array(a, struct tune_past, n + 1);
	history->n_past = 0;
	history->past = past;
	for (size_t k = 0; k < n; k++) {
		const struct tune_record *record = v[k];
		const bool was_applied = record->state == TUNE_APPLIED ||
			record->state == TUNE_VERIFIED || record->state == TUNE_UNDONE;
		if (!was_applied || record->applied_ns == 0)
			continue;
		struct tune_past *p = &past[history->n_past++];
		*p = (struct tune_past){.id = record->sheet.id,
			.device = record->sheet.device,
			.diagnosis = record->sheet.diagnosis,
			.rest = record->sheet.rest,
			.n_rest = record->sheet.n_rest,
			.priority = record->sheet.priority,
			.applied_ns = record->applied_ns,
			.verified = record->state != TUNE_APPLIED,
			.undone = record->state == TUNE_UNDONE};
		for (size_t i = 0; i < record->sheet.n_changes; i++)
			p->knobs |= 1u << record->sheet.changes[i].knob;
	}
}

/* ---- comparison ---------------------------------------------------------- */

struct compare {
	struct tune_comparison *out;
	const struct fabric *fabric;
	const struct fabric_device *device;
	int priority;
	const struct fabric_port **ports; /* of .device, in the order of the comparison's */
	/* no host's port is linked: leaf uplinks stand for them */
	bool uplinks;
	struct arena *arena;
	size_t cap;
};

static bool counts_for_load(const struct compare *compare, const struct fabric_port *port)
{
	if (compare->uplinks)
		return port->device->role == ROLE_LEAF && port->peer &&
			port->peer->device->role != ROLE_LEAF;
	return port->host != NULL;
}

struct load_side { /* one direction of the ports that count for load */
	double bytes_per_s;
	size_t n; /* ports with samples */
};

/* Of all @n ports, from those with samples; NAN: too few have any. */
static double load_of(const struct load_side *out, const struct load_side *in, size_t n)
{
	const struct load_side *side = in;
	if (out->n >= in->n)
		side = out;
	if (!n || (double)side->n < HEARD * (double)n)
		return NAN;
	return side->bytes_per_s / (double)side->n * (double)n;
}

static bool takes_part(const struct port_seen *port)
{
	double least_bps = SENDS_BPS;
	if (port->in.capacity_bps)
		least_bps = SENDS * (double)port->in.capacity_bps;
	return port->in.rate_bps > least_bps;
}

static void tune_read_add_load(const struct compare *compare, const struct observed *observed,
	struct verify_window *window)
{
	struct load_side out = {0}, in = {0};
	size_t n = 0;
	for (size_t k = 0; k < observed->n_fabric_ports; k++) {
		const struct port_seen *port = &observed->ports[k];
		if (!counts_for_load(compare, port->port))
			continue;
		n++;
		if (port->out_known) {
			out.n++;
			out.bytes_per_s += port->out.rate_bps / 8;
		}
		if (port->in_known) {
			in.n++;
			in.bytes_per_s += port->in.rate_bps / 8;
			window->senders += takes_part(port);
		}
	}
	window->load = load_of(&out, &in, n);
}

struct port_means { /* over the ports of the comparison */
	double pause, frames;
	size_t n_pause, n_frames;
};

/* One port: returns its pause share, or, where that is only a bound from frames, its frames per
 * second. */
static float add_port_pause(
	const struct port_prio *prio, struct port_means *means, struct verify_window *window)
{
	double pause = NAN, frames = NAN;
	if (!prio)
		return NAN;
	if (prio->lossless)
		pause = prio->tx_pause.hi;
	frames = amount_rate(&prio->tx_frames);
	if (!isnan(frames)) {
		means->frames += frames;
		means->n_frames++;
	}
	if (!isnan(pause)) {
		means->pause += pause;
		means->n_pause++;
		window->pause_bound |= !prio->tx_pause.measured;
	}
	if (!prio->tx_pause.measured && !isnan(frames))
		return (float)frames;
	return (float)pause;
}

static double mean_or_nan(double sum, size_t n)
{
	if (n)
		return sum / (double)n;
	return NAN;
}

/* Marks and drops of all ports of the switch at the priority. */
static void add_queues(const struct compare *compare, const struct observed *observed,
	struct verify_window *window)
{
	const struct device_seen *device = &observed->devices[compare->device->index];
	double marked = 0, sent = 0, drops = 0;
	bool drops_known = false;
	for (size_t k = 0; k < device->n_ports; k++) {
		const struct port_prio *prio = observed_prio(&device->ports[k], compare->priority);
		if (!prio)
			continue;
		if (prio->marked.known && prio->out_packets.known) {
			marked += prio->marked.value;
			sent += prio->out_packets.value;
		}
		drops_known = drops_known || prio->pg_drops.known || prio->drops.known;
		drops += prio->pg_drops.value + prio->drops.value;
	}
	window->marks = window->drops = NAN;
	if (sent >= MARKS_LEAST)
		window->marks = marked / sent;
	if (drops_known)
		window->drops = drops;
}

static void compare_window(void *arg, const struct observed *observed)
{
	struct compare *c = arg;
	struct tune_comparison *out = c->out;
	arena_grow(c->arena, out->windows, out->n_windows, c->cap);
	struct verify_window *w = &out->windows[out->n_windows++];
	const struct device_seen *d = &observed->devices[c->device->index];
	*w = (struct verify_window){
		.from_ns = observed->from_ns, .to_ns = observed->to_ns, .load = NAN, .frames = NAN};
	tune_read_add_load(c, observed, w);
	float *ports = arena_array(c->arena, float, c->out->n_ports + 1);
	struct port_means means = {0};
	for (size_t k = 0; k < c->out->n_ports; k++) {
		const struct port_seen *port = observed_port(observed, c->ports[k]);
		ports[k] = add_port_pause(observed_prio(port, c->priority), &means, w);
	}
	w->ports = ports;
	w->frames = mean_or_nan(means.frames, means.n_frames);
	w->pause = mean_or_nan(means.pause, means.n_pause);
	add_queues(c, observed, w);
	w->spoiled = d->n_series == 0 || d->restarted || isnan(w->load);
}

/* Busy as rhythm.h says: a fifth of what is usual, here the 90th percentile. */
static void find_busy(struct tune_comparison *comparison, struct arena *a)
{
	double *load = arena_array(a, double, comparison->n_windows + 1);
	size_t n = 0;
	for (size_t k = 0; k < comparison->n_windows; k++)
		if (isfinite(comparison->windows[k].load))
			load[n++] = comparison->windows[k].load;
	const double usual = stats_quantile(load, n, 0.9);
	for (size_t k = 0; k < comparison->n_windows; k++)
		comparison->windows[k].busy = comparison->windows[k].load > 0 &&
			comparison->windows[k].load >= RHYTHM_IDLE * usual;
}

/* Incidents that thresholds cause do not spoil a window: they are what is compared. */
static bool is_effect(const struct tune_incident *incident, const char *diagnosis)
{
	return cause_has(incident->cause, CAUSE_IS_EFFECT) || incident->severity == SEV_INFO ||
		str_eq(cause_name(incident->cause), diagnosis);
}

static bool is_open_in(const struct tune_incident *incident, int64_t from_ns, int64_t to_ns)
{
	const bool closed_before = incident->closed_ns && incident->closed_ns <= from_ns;
	return incident->opened_ns < to_ns && !closed_before;
}

/* An incident that was open all the time disturbs both sides alike. */
static bool is_open_throughout(
	const struct tune_incident *incident, const struct tune_comparison *comparison)
{
	const int64_t from_ns = comparison->windows[0].from_ns,
		      to_ns = comparison->windows[comparison->n_windows - 1].to_ns;
	return incident->opened_ns <= from_ns &&
		(incident->closed_ns == 0 || incident->closed_ns >= to_ns);
}

/* Windows with an incident of another cause are left out of the comparison. */
static void tune_read_spoil(struct tune_comparison *comparison,
	const struct tune_incident *incidents, size_t n, const char *diagnosis)
{
	if (!comparison->n_windows)
		return;
	for (size_t i = 0; i < n; i++) {
		if (is_effect(&incidents[i], diagnosis) ||
			is_open_throughout(&incidents[i], comparison))
			continue;
		for (size_t k = 0; k < comparison->n_windows; k++) {
			struct verify_window *window = &comparison->windows[k];
			if (is_open_in(&incidents[i], window->from_ns, window->to_ns))
				window->spoiled = true;
		}
	}
}

static void choose_ports(struct compare *compare)
{
	const struct fabric_device *d = compare->device;
	bool hosts = false;
	for (size_t k = 0; k < d->n_ports; k++)
		hosts = hosts || d->ports[k]->host;
	compare->ports = arena_array(compare->arena, const struct fabric_port *, d->n_ports + 1);
	compare->out->ports = arena_array(compare->arena, const char *, d->n_ports + 1);
	for (size_t k = 0; k < d->n_ports; k++) {
		if (hosts && !d->ports[k]->host)
			continue;
		compare->ports[compare->out->n_ports] = d->ports[k];
		compare->out->ports[compare->out->n_ports++] =
			arena_printf(compare->arena, "%s:%s", d->name, d->ports[k]->name);
	}
	compare->uplinks = true;
	for (size_t i = 0; i < compare->fabric->n_devices; i++)
		for (size_t k = 0; k < compare->fabric->devices[i]->n_ports; k++)
			compare->uplinks =
				compare->uplinks && !compare->fabric->devices[i]->ports[k]->host;
}

/* Some steps to a window: the longest that is declared, else what the samples show; 0 unknown. */
static int64_t tune_read_step_of(struct client *client, int64_t to_ns, int64_t interval_ns)
{
	const struct fabric *f = client->config->fabric;
	const struct window_spec spec = {
		.metrics = throughput_metrics, .n_metrics = throughput_n_metrics};
	int64_t step = 0;
	for (size_t k = 0; k < f->n_jobs; k++) {
		if (f->jobs[k].step_ns > step)
			step = f->jobs[k].step_ns;
	}
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct err ignored = {0};
	struct window w;
	struct period p = {0};
	if (step > 0 ||
		history_window(client->history, a, &spec, to_ns - SLICES * interval_ns, to_ns, &w,
			&ignored) != 0)
		return step;
	double *v = arena_array(a, double, SLICES);
	struct throughput_hosts *hosts = throughput_hosts_new(f);
	throughput_slices(f, hosts, NULL, &w, interval_ns, v, SLICES);
	throughput_hosts_free(hosts);
	if (rhythm_period(v, SLICES, interval_ns, &p))
		return p.period_ns;
	return 0;
}

int tune_read_comparison(struct client *client, const struct tune_record *record, int64_t from_ns,
	int64_t to_ns, int64_t window_ns, struct arena *a, struct tune_comparison *ret,
	struct err *e)
{
	struct compare c = {.out = ret,
		.fabric = client->config->fabric,
		.device = fabric_device(client->config->fabric, record->sheet.device),
		.priority = record->sheet.priority,
		.arena = a};
	const int64_t interval_ns = tune_read_interval(client, to_ns);
	struct tune_incident *incidents;
	size_t n;
	*ret = (struct tune_comparison){.window_ns = window_ns};
	if (!c.device)
		return err_set(
			e, -ENOENT, "the fabric has no switch '%s' any more", record->sheet.device);
	if (ret->window_ns <= 0) {
		const int64_t steps =
			STEPS_A_WINDOW * tune_read_step_of(client, to_ns, interval_ns);
		int64_t least = NS_PER_S;
		if (interval_ns > NS_PER_S)
			least = interval_ns;
		if (steps > least)
			ret->window_ns = (steps + interval_ns - 1) / interval_ns * interval_ns;
		else
			ret->window_ns = least;
		const int64_t span = to_ns - from_ns;
		ret->window_ns *= 1 + span / ret->window_ns / TUNE_WINDOWS_MAX;
	}
	choose_ports(&c);
	int rc = window_bounds(client, ret->window_ns, &from_ns, &to_ns, e);
	if (rc == -ENODATA)
		return err_set(e, rc,
			"there is less than one window (%lld s) of samples around the change",
			(long long)(ret->window_ns / NS_PER_S));
	if (rc == 0)
		rc = tune_read_each(
			client, from_ns, to_ns, ret->window_ns, interval_ns, compare_window, &c, e);
	if (rc == 0)
		rc = tune_read_incidents(client, from_ns, to_ns, a, &incidents, &n, e);
	if (rc != 0)
		return rc;
	find_busy(ret, a);
	tune_read_spoil(ret, incidents, n, record->sheet.diagnosis);
	return 0;
}

int tune_read_settings_in(struct client *client, const struct tune_record *record, int64_t from_ns,
	int64_t to_ns, struct arena *a, struct tune_readback *ret, struct err *e)
{
	const uint16_t *metrics;
	const size_t n_metrics = tune_metrics(&metrics);
	const struct window_spec spec = {.metrics = metrics, .n_metrics = n_metrics};
	struct window w;
	const int rc = history_window(client->history, a, &spec, from_ns, to_ns, &w, e);
	if (rc == 0)
		tune_readback(record, &w, a, ret);
	return rc;
}

int tune_read_settings(struct client *client, const struct tune_record *record, int64_t to_ns,
	struct arena *a, struct tune_readback *ret, struct err *e)
{
	return tune_read_settings_in(client, record, record->sheet.to_ns, to_ns, a, ret, e);
}

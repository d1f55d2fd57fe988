/*
 * telemetry - switches that stopped answering: are they down, or only not seen? One finding per
 * switch and window, and one for all of them together.
 *
 *     device_down    it sent no samples, and most links that its neighbours have to it are down,
 *                    or carry nothing at all where no state of them is read
 *     telemetry_gap  it sent no samples although its links are up (or unknown); or polls are
 *                    missing; or a part of its former answers is missing
 *
 * Missing polls are data: they are reported as gaps, never interpolated. Silence is judged by the
 * switch's own rhythm: LATE_POLLS of its polls and at least LATE_NS, since some switches are polled
 * less often than others. Where the neighbours report the links as down, DOWN_POLLS are enough.
 * Counters that start again show a restart; by itself that is no finding, since somebody may have
 * cleared them.
 *
 * Time in which the agent itself was away, or that a clock set forward left out, is nobody's
 * silence: the agent's pulse (agent.canary) has the same gap, and it is subtracted. Where several
 * agents share the fabric, each switch goes by the pulse of the agent that asks it, and an agent
 * whose data stopped is one finding: its switches are unknown, not silent. Where there is
 * no pulse (recordings, other programs' data), or the pulse went on, a gap that most switches have
 * at the same time is one finding about all of them, without a device: one reason, not one per
 * switch.
 */

#include "analyzers/finding_build.h"
#include "db/series/window_columns.h"

#define LATE_POLLS 3.5
#define LATE_NS (12 * NS_PER_S) /* where polls are frequent: two that timed out, and the next */
/* So few steps say little of a rhythm: after a start the first may be very short. */
#define FEW_STEPS 2
#define FEW_POLLS 2.5 /* of the usual interval: until then few steps do not call it late */
#define STILL_LEAST 2 /* links that carry nothing: one may be idle */
#define DOWN_POLLS 1.5 /* without a sample, where its neighbours see their links to it down */
#define PART_NS (120 * NS_PER_S) /* slow tables are polled every minute or so */
#define PART_SHARE 0.25
#define HOSTS_SHOWN 8
/* A longer step between two pulses is a gap: so many of their usual steps, and some jitter. */
#define PULSE_STEPS 3
#define PULSE_NS (2 * NS_PER_S)
#define PULSE_MOST_NS (10 * NS_PER_S) /* the agent never sends it more slowly */
/* Gaps are the same one when they begin and end within that many polls of each other. */
#define SHARED_POLLS 2
#define SHARED_SHARE 0.75 /* of the switches that are polled, at least two; of the gap's length */
#define MEMBERS_SHOWN 16

struct telemetry_options {
	int64_t window_ns, hold;
	int64_t past_ns; /* no option: as long as is usual */
};
static const struct option rows[] = {
	{"window", OPT_DURATION, offsetof(struct telemetry_options, window_ns), "0s", "0s", "1h",
		NULL, "evaluation window; 0 = three poll intervals, at least 5 s"},
	{"hold", OPT_INT, offsetof(struct telemetry_options, hold), "2", "1", "10000", NULL,
		"windows, of the last hold + 2 (2: of the last 3), that must show a switch down; a "
		"gap needs one window"},
};

static const uint16_t past_metrics[] = {M_AGENT_CANARY};

enum state { STATE_FINE, STATE_NEVER, STATE_SILENT, STATE_HOLE, STATE_PART };

struct pulse_gaps;
struct sighting { /* of one switch */
	const struct device_seen *d;
	const struct pulse_gaps *gaps; /* of the agent that asks it */
	struct series densest; /* the first series with the most samples in the window */
	size_t n_densest;
	int64_t newest_ns; /* INT64_MIN: no sample ever */
	/* counters ever reported; those that stopped long before the others */
	size_t counters, stale;
	unsigned stale_metric;
	bool restarted;
	/* what its neighbours report about the links to it */
	size_t links_up, links_down;
	size_t links_unread, links_still; /* whose state nobody reads; that carry nothing at all */
	bool carries; /* a neighbour still received from it after its last sample */
	bool alone; /* the only switch that is polled, and the agent's pulse is not known */
	enum state state;
	int64_t cadence_ns, silence_ns;
	int64_t hole_from_ns, hole_to_ns; /* the longest time without a sample */
	struct { /* the series that was looked at last */
		const int64_t *t_ns;
		const uint16_t *flags;
		uint32_t n;
		bool stale;
	} same;
};

/* Time during which the agent itself was not there. */
struct pulse_gap {
	int64_t from_ns, to_ns;
};
struct pulse_gaps {
	const char *agent; /* whose; NULL: the only one */
	bool known; /* there is a pulse */
	bool away; /* it goes on at the window's end */
	int64_t since_ns; /* its first sample that is known */
	struct pulse_gap *v;
	size_t n;
};

static int telemetry_by_length(const void *left, const void *right)
{
	const int64_t x = *(const int64_t *)left, y = *(const int64_t *)right;
	return (x > y) - (x < y);
}

/* The pulse of @agent. Before the fabric was shared there was one of all. */
static const struct series *telemetry_pulse(const struct window *past, const char *agent)
{
	const struct series *found = NULL;
	const struct series *pulses = NULL;
	size_t n = 0;
	if (past)
		pulses = window_of_metric(past, M_AGENT_CANARY, &n);
	for (size_t i = 0; i < n; i++) {
		const struct entity *whose = entity_get(past->entities, pulses[i].entity);
		if (!agent || (whose && str_eq(whose->port, agent)))
			return &pulses[i];
		if (whose && str_eq(whose->port, ENTITY_AGENT_PORT))
			found = &pulses[i];
	}
	return found;
}

/* The usual step between two pulses. Just after a gap, the gap may be all there is to see. */
static int64_t telemetry_pulse_step(const struct series *series, struct arena *a)
{
	if (series->n < 2)
		return PULSE_MOST_NS;
	int64_t *steps = arena_array(a, int64_t, series->n);
	for (uint32_t i = 1; i < series->n; i++)
		steps[i - 1] = series->t_ns[i] - series->t_ns[i - 1];
	qsort(steps, series->n - 1, sizeof(*steps), telemetry_by_length);
	const int64_t median_ns = steps[(series->n - 2) / 2];
	if (median_ns > PULSE_MOST_NS)
		return PULSE_MOST_NS;
	return median_ns;
}

/* Was the agent away before pulse @i, or its clock set? What a clock that was set forward and back
 * timed ahead is not here, however short it was; the first pulse after it says so. */
static bool telemetry_pulse_gap(const struct series *pulses, uint32_t i, int64_t usual_ns)
{
	const bool torn = !pulses->flat && (pulses->flags[i] & SF_RESTART);
	return torn || pulses->t_ns[i] - pulses->t_ns[i - 1] > usual_ns;
}

static struct pulse_gaps telemetry_gaps(const struct analyzer_in *in, const char *agent)
{
	struct pulse_gaps gaps = {.agent = agent};
	const struct series *s = telemetry_pulse(in->past, agent);
	if (!s || s->n == 0)
		return gaps;
	const int64_t usual_ns = PULSE_STEPS * telemetry_pulse_step(s, in->arena) + PULSE_NS;
	gaps.known = true;
	gaps.since_ns = s->t_ns[0];
	gaps.v = arena_array(in->arena, struct pulse_gap, s->n);
	const int64_t newest_ns = s->t_ns[s->n - 1];
	gaps.away = in->window->to_ns - newest_ns > usual_ns;
	if (gaps.away)
		gaps.v[gaps.n++] = (struct pulse_gap){newest_ns, in->window->to_ns};
	for (uint32_t i = 1; i < s->n; i++)
		if (telemetry_pulse_gap(s, i, usual_ns))
			gaps.v[gaps.n++] = (struct pulse_gap){s->t_ns[i - 1], s->t_ns[i]};
	/* Away since the first pulse that is known: whether it was there before is not known. */
	for (size_t i = 0; i < gaps.n; i++)
		if (gaps.v[i].from_ns == gaps.since_ns)
			gaps.v[i].from_ns = INT64_MIN;
	return gaps;
}

/* How long the agent was there between two times. */
static int64_t telemetry_watched(const struct pulse_gaps *gaps, int64_t from_ns, int64_t to_ns)
{
	int64_t watched_ns = to_ns - from_ns;
	for (size_t i = 0; i < gaps->n; i++) {
		int64_t from = gaps->v[i].from_ns, to = gaps->v[i].to_ns;
		if (from < from_ns)
			from = from_ns;
		if (to > to_ns)
			to = to_ns;
		if (from < to)
			watched_ns -= to - from;
	}
	return watched_ns;
}

/* @lanes series are like this one, which is the first of them. */
static void telemetry_add_series(struct sighting *sighting, const struct series *series,
	size_t lanes, const struct window *window)
{
	const bool counter = metric_info(series->metric)->kind == METRIC_COUNTER;
	/* the series of one poll share their instants and flags: the same answer as before */
	if (series->t_ns == sighting->same.t_ns && series->n == sighting->same.n &&
		series->flags == sighting->same.flags) {
		if (counter)
			sighting->counters += lanes;
		if (counter && sighting->same.stale)
			sighting->stale += lanes;
		if (counter && sighting->same.stale)
			sighting->stale_metric = series->metric;
		return;
	}
	uint32_t end;
	if (series->n && series->t_ns[series->n - 1] <= window->to_ns)
		end = series->n;
	else
		end = series_after(series, window->to_ns);
	const size_t n = end - series_after(series, window->from_ns);
	if (!end)
		return;
	if (series->t_ns[end - 1] > sighting->newest_ns)
		sighting->newest_ns = series->t_ns[end - 1];
	if (n > sighting->n_densest ||
		(n > 0 && n == sighting->n_densest &&
			series_order(series, &sighting->densest) < 0)) {
		sighting->n_densest = n;
		sighting->densest = *series;
	}
	for (uint32_t i = end; !series->flat && i-- > 0 && series->t_ns[i] > window->from_ns;)
		sighting->restarted = sighting->restarted || (series->flags[i] & SF_RESTART);
	sighting->same.t_ns = series->t_ns;
	sighting->same.flags = series->flags;
	sighting->same.n = series->n;
	sighting->same.stale =
		telemetry_watched(sighting->gaps, series->t_ns[end - 1], window->to_ns) >= PART_NS;
	if (!counter)
		return;
	sighting->counters += lanes;
	if (sighting->same.stale) {
		sighting->stale += lanes;
		sighting->stale_metric = series->metric;
	}
}

/* All pulses, one for each agent that asks any of the switches. */
struct pulses {
	struct pulse_gaps *v;
	size_t n;
};

static const struct pulse_gaps *telemetry_pulse_of(
	const struct analyzer_in *in, struct pulses *pulses, const char *agent)
{
	for (size_t i = 0; i < pulses->n; i++)
		if (str_eq(pulses->v[i].agent, agent))
			return &pulses->v[i];
	pulses->v[pulses->n] = telemetry_gaps(in, agent);
	return &pulses->v[pulses->n++];
}

/* The lanes of a column that are in step are alike. */
static void telemetry_add_part(struct sighting *sighting, const struct window_column *column,
	bool came, const struct window *window)
{
	struct series first = column->part[came];
	size_t lanes = 0;
	if (first.n == 0)
		return;
	first.metric = column->column->metric;
	first.entity = UINT32_MAX;
	for (uint32_t lane = 0; lane < column->lanes; lane++) {
		if (!column_bit(column->column->in_step, lane) ||
			column_bit(column->column->came, lane) != came)
			continue;
		lanes++;
		if (column->entity[lane] < first.entity)
			first.entity = column->entity[lane];
	}
	if (lanes > 0)
		telemetry_add_series(sighting, &first, lanes, window);
}

/* The same as of its series one by one, from the columns of a live window. */
static void telemetry_add_device(const struct analyzer_in *in, struct sighting *sighting)
{
	const struct window_columns *columns = in->window->columns;
	const uint32_t id =
		entities_find(in->window->entities, sighting->d->device->name, NULL, PRIO_NONE);
	const struct window_column *v;
	struct lane_values values = {.a = in->arena};
	struct series series;
	const size_t n = window_device_columns(columns, id, &v);
	for (size_t i = 0; i < n; i++) {
		telemetry_add_part(sighting, &v[i], false, in->window);
		telemetry_add_part(sighting, &v[i], true, in->window);
		for (uint32_t lane = 0; v[i].column->n_odd > 0 && lane < v[i].lanes; lane++)
			if (v[i].column->odd[lane] &&
				window_lane(columns, &v[i], lane, &values, &series))
				telemetry_add_series(sighting, &series, 1, in->window);
	}
}

#define PAUSE_EACH 256 /* series */
#define PAUSE_DEVICES 8

static void telemetry_collect(const struct analyzer_in *in, const struct observed *observed,
	struct pulses *pulses, struct sighting *sighting)
{
	for (size_t i = 0; i < observed->n_devices; i++)
		sighting[i] = (struct sighting){.d = &observed->devices[i],
			.gaps = telemetry_pulse_of(in, pulses, observed->devices[i].device->agent),
			.newest_ns = INT64_MIN,
			.restarted = observed->devices[i].restarted};
	if (in->window->columns) {
		for (size_t i = 0; i < observed->n_devices; i++) {
			if (i % PAUSE_DEVICES == 0)
				analyzer_pause(in);
			telemetry_add_device(in, &sighting[i]);
		}
		return;
	}
	for (size_t i = 0; i < in->window->n_series; i++) {
		const struct series *s = &in->window->series[i];
		if (i % PAUSE_EACH == 0)
			analyzer_pause(in);
		if (s->entity <= observed->n_entities && observed->device_of[s->entity])
			telemetry_add_series(
				&sighting[observed->device_of[s->entity] - 1], s, 1, in->window);
	}
}

/* Was the agent away between two times? Such a step says nothing of a switch's rhythm. */
static bool telemetry_was_away(const struct pulse_gaps *gaps, int64_t from_ns, int64_t to_ns)
{
	return telemetry_watched(gaps, from_ns, to_ns) != to_ns - from_ns;
}

/* Median time between polls in the window, 0 unknown; and the longest hole, in @sighting. */
static int64_t telemetry_rhythm(struct sighting *sighting, const struct analyzer_in *in)
{
	const struct pulse_gaps *gaps = sighting->gaps;
	if (sighting->n_densest == 0)
		return 0;
	const struct series *s = &sighting->densest;
	const uint32_t from = series_after(s, in->window->from_ns),
		       end = series_after(s, in->window->to_ns);
	uint32_t first = 1;
	if (from)
		first = from;
	int64_t *v = arena_array(in->arena, int64_t, end + 1);
	size_t n = 0;
	int64_t longest_ns = 0;
	for (uint32_t i = first; i < end; i++) {
		v[n] = telemetry_watched(gaps, s->t_ns[i - 1], s->t_ns[i]);
		if (v[n] > longest_ns) {
			longest_ns = v[n];
			sighting->hole_from_ns = s->t_ns[i - 1];
			sighting->hole_to_ns = s->t_ns[i];
		}
		n += !telemetry_was_away(gaps, s->t_ns[i - 1], s->t_ns[i]);
	}
	if (!n)
		return 0;
	qsort(v, n, sizeof(*v), telemetry_by_length);
	const int64_t median_ns = v[(n - 1) / 2];
	if (n <= FEW_STEPS && median_ns < in->interval_ns &&
		(double)sighting->silence_ns < FEW_POLLS * (double)in->interval_ns)
		return in->interval_ns;
	return median_ns;
}

static int64_t late_after(int64_t cadence_ns)
{
	const int64_t late = (int64_t)(LATE_POLLS * (double)cadence_ns);
	if (late > LATE_NS)
		return late;
	return LATE_NS;
}

static int64_t down_after(int64_t cadence_ns)
{
	return (int64_t)(DOWN_POLLS * (double)cadence_ns) + NS_PER_S;
}

/* Stands the link still, while another of the neighbour's links to switches does not? On one that
 * is up at least LLDP and routing are heard. */
static bool telemetry_link_still(const struct port_seen *far)
{
	if (!far->in_known || !far->out_known || far->in.rate_bps > 0 || far->out.rate_bps > 0)
		return false;
	for (size_t i = 0; i < far->device->n_ports; i++) {
		const struct port_seen *other = &far->device->ports[i];
		if (other->port->peer && other->in_known && other->in.rate_bps > 0)
			return true;
	}
	return false;
}

static void telemetry_ask_neighbours(
	const struct analyzer_in *in, const struct observed *observed, struct sighting *sighting)
{
	for (size_t i = 0; i < sighting->d->n_ports; i++) {
		const struct port_seen *far = observed_peer(observed, &sighting->d->ports[i]);
		if (!far || !far->device->n_series)
			continue;
		sighting->links_unread += isnan(far->oper_up);
		sighting->links_still += isnan(far->oper_up) && telemetry_link_still(far);
		sighting->links_up += far->oper_up > 0;
		sighting->links_down += far->oper_up == 0;
		if (far->oper_up == 0)
			continue;
		const struct series *s = NULL;
		if (far->entity != ENTITY_NONE)
			s = window_series(in->window, far->entity, M_PORT_IN_OCTETS);
		uint32_t end = 0;
		if (s)
			end = series_after(s, observed->to_ns);
		uint32_t then = 0;
		if (s)
			then = series_after(s, sighting->newest_ns + sighting->cadence_ns);
		sighting->carries = sighting->carries ||
			(end > 0 && then < end && s->value[end - 1] > s->value[then]);
	}
}

static bool links_say_down(const struct sighting *sighting)
{
	if (sighting->links_still >= STILL_LEAST &&
		sighting->links_still == sighting->links_unread && !sighting->links_up)
		return true;
	return sighting->links_down && sighting->links_down >= sighting->links_up &&
		!sighting->carries;
}

static void telemetry_judge(
	const struct analyzer_in *in, const struct observed *observed, struct sighting *sighting)
{
	const struct pulse_gaps *gaps = sighting->gaps;
	const struct window *w = in->window;
	if (sighting->d->device->foreign) /* another agent knows */
		return;
	if (sighting->newest_ns != INT64_MIN)
		sighting->silence_ns = telemetry_watched(gaps, sighting->newest_ns, w->to_ns);
	sighting->cadence_ns = telemetry_rhythm(sighting, in);
	const int64_t longest_ns =
		telemetry_watched(gaps, sighting->hole_from_ns, sighting->hole_to_ns);
	if (!sighting->cadence_ns)
		sighting->cadence_ns = in->interval_ns;
	telemetry_ask_neighbours(in, observed, sighting);
	if (sighting->newest_ns == INT64_MIN) {
		if (sighting->links_down >= 2 && !sighting->links_up)
			sighting->state = STATE_NEVER;
		else
			sighting->state = STATE_FINE;
		return;
	}
	if (sighting->silence_ns > longest_ns) {
		sighting->hole_from_ns = sighting->newest_ns;
		sighting->hole_to_ns = w->to_ns;
	}
	if (sighting->silence_ns > late_after(sighting->cadence_ns) ||
		(sighting->silence_ns > down_after(sighting->cadence_ns) &&
			links_say_down(sighting)))
		sighting->state = STATE_SILENT;
	else if (longest_ns > late_after(sighting->cadence_ns))
		sighting->state = STATE_HOLE;
	else if (sighting->silence_ns < PART_NS / 4 &&
		(double)sighting->stale > PART_SHARE * (double)sighting->counters &&
		sighting->stale < sighting->counters)
		sighting->state = STATE_PART;
	if (sighting->state == STATE_HOLE)
		sighting->silence_ns = longest_ns;
}

static bool is_down(const struct sighting *sighting)
{
	return sighting->state == STATE_NEVER ||
		(sighting->state == STATE_SILENT && links_say_down(sighting));
}

/* ---- findings ------------------------------------------------------------ */

static const char *telemetry_links_text(const struct sighting *sighting)
{
	if (sighting->carries)
		return "its links still carry traffic, so only telemetry is lost";
	if (sighting->links_up)
		return "its links are up";
	return "whether it is up is unknown";
}

static const char *telemetry_alone_text(const struct sighting *sighting)
{
	return str_if(
		sighting->alone, "; with one switch, the agent's own absence cannot be ruled out");
}

static const char *telemetry_says(const struct sighting *sighting, struct arena *a)
{
	const char *name = sighting->d->device->name;
	const double silence_s = (double)sighting->silence_ns / 1e9;
	switch (sighting->state) {
	case STATE_NEVER:
		return arena_printf(a,
			"%s: no samples ever, and all %zu links that its neighbours have to it are "
			"down",
			name, sighting->links_down);
	case STATE_SILENT:
		if (is_down(sighting) && !sighting->links_down)
			return arena_printf(a,
				"%s is down: no samples for %.0f s, and its neighbours' %zu links "
				"to it carry nothing, while others do",
				name, silence_s, sighting->links_still);
		if (is_down(sighting))
			return arena_printf(a,
				"%s is down: no samples for %.0f s, and %zu of %zu links that its "
				"neighbours have to it are down",
				name, silence_s, sighting->links_down,
				sighting->links_down + sighting->links_up);
		return arena_printf(a, "%s: no samples for %.0f s; %s%s", name, silence_s,
			telemetry_links_text(sighting), telemetry_alone_text(sighting));
	case STATE_HOLE:
		return arena_printf(a, "%s: no samples for %.0f s (usually every %.3g s)%s%s", name,
			silence_s, (double)sighting->cadence_ns / 1e9,
			str_if(sighting->restarted, "; it restarted meanwhile"),
			telemetry_alone_text(sighting));
	default:
		return arena_printf(a, "%s no longer reports %zu of %zu counters, among them %s",
			name, sighting->stale, sighting->counters,
			metric_info(sighting->stale_metric)->name);
	}
}

static void telemetry_name_hosts(const struct sighting *sighting, struct draft *draft)
{
	size_t n = 0;
	for (size_t i = 0; i < sighting->d->n_ports && n < HOSTS_SHOWN; i++)
		if (sighting->d->ports[i].port->host) {
			finding_add_role(
				draft, "direct_victim", "%s", sighting->d->ports[i].port->host);
			n++;
		}
}

static double telemetry_confidence_of(const struct sighting *sighting)
{
	if (sighting->state == STATE_NEVER)
		return 0.6;
	if (is_down(sighting) && !sighting->links_down)
		return 0.92;
	if (is_down(sighting))
		return sighting->links_up ? 0.8 : 0.95;
	if (sighting->state == STATE_SILENT && !sighting->links_up)
		return 0.5;
	return 0.9;
}

static void telemetry_describe(const struct sighting *sighting, struct draft *draft)
{
	const bool down = is_down(sighting);
	const char *name = sighting->d->device->name;
	draft->f->cause = CAUSE_TELEMETRY_GAP;
	if (down)
		draft->f->cause = CAUSE_DEVICE_DOWN;
	if (down)
		draft->f->severity = SEV_CRITICAL;
	else if (sighting->state == STATE_SILENT)
		draft->f->severity = SEV_WARNING;
	else
		draft->f->severity = SEV_INFO;
	draft->f->confidence_ratio = telemetry_confidence_of(sighting);
	draft->f->summary = telemetry_says(sighting, draft->a);
	finding_evidence_device(draft, "telemetry.silence_s", name,
		sighting->state == STATE_NEVER ? NAN : (double)sighting->silence_ns / 1e9, "s",
		QUALITY_EXACT);
	finding_evidence_device(draft, "telemetry.links_down", name, (double)sighting->links_down,
		"links", QUALITY_EXACT);
	finding_evidence_device(draft, "telemetry.links_up", name, (double)sighting->links_up,
		"links", QUALITY_EXACT);
	if (sighting->links_up + sighting->links_down) {
		finding_rests_on(draft,
			"times of its samples, and what its neighbours report about the links to "
			"it");
	} else if (down) {
		finding_rests_on(draft,
			"times of its samples, and the octets of its neighbours' links to it");
		finding_unproved(draft, "that its links are down: no state of them is read");
	} else {
		finding_rests_on(draft, "times of its samples");
		finding_against(draft, "no neighbour reports the links to it");
	}
	if (down) {
		finding_add_role(draft, "culprit", "%s", name);
		telemetry_name_hosts(sighting, draft);
		finding_steps(draft, draft->f->cause, 0);
	} else {
		if (sighting->carries || sighting->links_up)
			finding_ruled_out(draft, "device_down: %s",
				sighting->carries ? "traffic still comes from it"
						  : "its links are up");
		finding_steps(draft, draft->f->cause, 0);
	}
}

/* ---- all at once --------------------------------------------------------- */

/* A hole that most switches have at the same time. */
struct shared_hole {
	const struct sighting *longest; /* NULL = there is none */
	size_t n, polled;
};

/* Not seen, for whatever reason but its own end. */
static bool telemetry_unseen(const struct sighting *sighting)
{
	if (sighting->state == STATE_SILENT)
		return !is_down(sighting);
	return sighting->state == STATE_HOLE;
}

/* Has @other nothing between the same two times? One that has just come back has a single sample,
 * which is too little to call its rhythm broken, but it was as silent. */
static bool telemetry_same_hole(
	const struct analyzer_in *in, const struct sighting *one, const struct sighting *other)
{
	const int64_t near_ns = SHARED_POLLS * in->interval_ns;
	const double length_ns = (double)(one->hole_to_ns - one->hole_from_ns);
	const double other_ns = (double)(other->hole_to_ns - other->hole_from_ns);
	return other_ns >= SHARED_SHARE * length_ns && other->newest_ns != INT64_MIN &&
		!is_down(other) && llabs(one->hole_from_ns - other->hole_from_ns) <= near_ns &&
		llabs(one->hole_to_ns - other->hole_to_ns) <= near_ns;
}

static struct shared_hole telemetry_shared(
	const struct analyzer_in *in, const struct sighting *v, size_t n)
{
	struct shared_hole shared = {0};
	const struct sighting *longest = NULL;
	for (size_t i = 0; i < n; i++) {
		shared.polled += v[i].newest_ns != INT64_MIN;
		if (telemetry_unseen(&v[i]) && (!longest || v[i].silence_ns > longest->silence_ns))
			longest = &v[i];
	}
	for (size_t i = 0; longest && i < n; i++)
		shared.n += telemetry_same_hole(in, longest, &v[i]);
	if (shared.n >= 2 && (double)shared.n >= SHARED_SHARE * (double)shared.polled)
		shared.longest = longest;
	return shared;
}

static const char *telemetry_others_text(const struct shared_hole *shared, struct arena *a)
{
	if (shared->n == shared->polled)
		return "";
	return arena_printf(a, " (%zu others answered)", shared->polled - shared->n);
}

/* Agents of which nothing arrives any more, where several share the fabric. */
static void telemetry_report_away(
	const struct pulses *pulses, const struct sighting *v, size_t n, struct draft *draft)
{
	rw_cleanup(str_done) struct str names = {0};
	size_t switches = 0, agents = 0;
	int64_t silence_ns = 0;
	for (size_t i = 0; i < pulses->n; i++)
		if (pulses->v[i].agent && pulses->v[i].away) {
			str_addf(&names, "%s%s", str_if(names.n, ", "), pulses->v[i].agent);
			agents++;
		}
	if (agents == 0)
		return;
	for (size_t i = 0; i < n; i++) {
		const struct pulse_gaps *gaps = v[i].gaps;
		if (!gaps->agent || !gaps->away || v[i].newest_ns == INT64_MIN)
			continue;
		const int64_t since_ns = draft->f->to_ns - v[i].newest_ns;
		switches++;
		if (since_ns > silence_ns)
			silence_ns = since_ns;
	}
	draft->f->verdict = FINDING_OVER;
	draft->f->severity = SEV_WARNING;
	draft->f->confidence_ratio = 0.9;
	draft->f->value = (double)silence_ns / 1e9;
	draft->f->summary = arena_printf(draft->a,
		"nothing arrives from agent%s %s for %.0f s; switches unknown: %zu", plural(agents),
		names.s, draft->f->value, switches);
	finding_rests_on(draft, "the pulses of the agents");
	finding_ruled_out(draft, "device_down: their agent is away, so nobody knows");
	finding_steps(draft, draft->f->cause, 0);
}

/* The finding about all switches together, which has no device. */
static void telemetry_report_shared(const struct analyzer_in *in, const struct pulses *pulses,
	const struct shared_hole *shared, const struct sighting *v, size_t n,
	struct finding_list *out)
{
	struct draft t = finding_new(
		out, in, "telemetry", finding_verdict(shared->longest != NULL, true), 1);
	t.f->cause = CAUSE_TELEMETRY_GAP;
	t.f->summary = "";
	t.f->value = 0;
	t.f->warn = (double)late_after(in->interval_ns) / 1e9;
	if (!shared->longest) {
		telemetry_report_away(pulses, v, n, &t);
		return;
	}
	const struct pulse_gaps *gaps = shared->longest->gaps;
	const bool ran = gaps->known && gaps->since_ns <= shared->longest->hole_from_ns;
	const char *why = "the collector was away, not the switches";
	if (ran)
		why = "the agent ran, so its way to them was lost";
	t.f->severity = SEV_INFO;
	if (shared->longest->state == STATE_SILENT)
		t.f->severity = SEV_WARNING; /* it goes on */
	t.f->confidence_ratio = 0.9;
	t.f->value = (double)shared->longest->silence_ns / 1e9;
	t.f->summary = arena_printf(in->arena,
		"%zu switches: no samples for %.0f s, all at the same time%s: %s", shared->n,
		t.f->value, telemetry_others_text(shared, in->arena), why);
	size_t shown = 0;
	for (size_t i = 0; i < n && shown < MEMBERS_SHOWN; i++) {
		if (!telemetry_same_hole(in, shared->longest, &v[i]))
			continue;
		finding_evidence_device(&t, "telemetry.silence_s", v[i].d->device->name,
			(double)telemetry_watched(v[i].gaps, v[i].hole_from_ns, v[i].hole_to_ns) /
				1e9,
			"s", QUALITY_EXACT);
		shown++;
	}
	finding_rests_on(&t, "times of the samples of all switches%s",
		str_if(ran, ", and of the agent's own pulse"));
	finding_ruled_out(
		&t, "device_down: %zu switches do not fail at the same instant", shared->n);
	finding_steps(&t, t.f->cause, 0);
}

static void telemetry_report(
	const struct analyzer_in *in, const struct sighting *sighting, struct finding_list *out)
{
	const struct telemetry_options *o = in->options;
	int64_t hold = 1;
	if (is_down(sighting) || sighting->state == STATE_PART)
		hold = o->hold;
	struct draft t =
		finding_new(out, in, "telemetry", finding_verdict(sighting->state, true), hold);
	t.f->device = sighting->d->device->name;
	t.f->cause = CAUSE_TELEMETRY_GAP;
	t.f->summary = "";
	t.f->value = (double)sighting->silence_ns / 1e9;
	t.f->warn = (double)late_after(sighting->cadence_ns) / 1e9;
	t.f->proven = is_down(sighting) && sighting->links_down >= 2 && !sighting->links_up;
	if (sighting->state)
		telemetry_describe(sighting, &t);
}

static int telemetry_run(const struct analyzer_in *in, struct finding_list *out)
{
	const struct observed *seen = observe(in);
	struct pulses pulses = {
		.v = arena_array(in->arena, struct pulse_gaps, seen->n_devices + 1)};
	struct sighting *v = arena_array(in->arena, struct sighting, seen->n_devices + 1);
	telemetry_collect(in, seen, &pulses, v);
	for (size_t i = 0; i < seen->n_devices; i++) {
		analyzer_pause(in);
		telemetry_judge(in, seen, &v[i]);
	}
	const struct shared_hole shared = telemetry_shared(in, v, seen->n_devices);
	for (size_t i = 0; i < seen->n_devices; i++) {
		struct sighting *h = &v[i];
		if (h->state == STATE_FINE && h->newest_ns == INT64_MIN)
			continue; /* nobody polls it */
		struct sighting one = *h;
		if (shared.longest && telemetry_same_hole(in, shared.longest, h))
			one.state = STATE_FINE;
		one.alone = shared.polled == 1 && !h->gaps->known;
		telemetry_report(in, &one, out);
	}
	/* last: switches that come back a window later are still explained by it */
	if (shared.polled > 1)
		telemetry_report_shared(in, &pulses, &shared, v, seen->n_devices, out);
	return 0;
}

const struct analyzer analyzer_telemetry = {
	.name = "telemetry",
	.phase = 160,
	.doc = "switches that stopped answering: down, or only not seen",
	.options = {"analyzers", "telemetry", sizeof(struct telemetry_options), rows,
		rw_countof(rows), "silence of switches"},
	.window_offset = offsetof(struct telemetry_options, window_ns),
	.past_offset = offsetof(struct telemetry_options, past_ns),
	.past = {.metrics = past_metrics, .n_metrics = rw_countof(past_metrics)},
	.observes = true,
	.run = telemetry_run,
};

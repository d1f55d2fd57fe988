/*
 * telemetry - switches that stopped answering: are they down, or is it only that we do not see? One
 * finding per switch and window.
 *
 *     device_down    nothing was heard of it, and most links that its neighbours have to it are
 *                    down
 *     telemetry_gap  nothing was heard of it although its links are up (or nobody can draft); or
 *                    polls are missing; or part of what it used to
 *                    answer is
 *
 * Source: tuning facts, e (missing polls are data: mark as gaps, never interpolate); product
 * facts, 1.7 (stale is not OK).
 *
 * Silence is judged by the switch's own rhythm: LATE_POLLS of its polls and at least LATE_NS, since
 * some switches are asked less often than others and a window need not show how often. Where the
 * neighbours say that the links are down, no sample in the window is enough. Counters that begin
 * again say it restarted; by itself that is no finding, somebody may have cleared them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "analyzers/finding_build.h"

#define LATE_POLLS 3.5
#define LATE_NS (35 * NS_PER_S) /* a poll every 30 s, and some jitter */
#define PART_NS (120 * NS_PER_S) /* slow tables are asked every minute or so */
#define PART_SHARE 0.25
#define HOSTS_SHOWN 8

struct telemetry_options {
	int64_t window_ns, hold;
};
static const struct option rows[] = {
	{"window", OPT_DURATION, offsetof(struct telemetry_options, window_ns), "0s", "0s", "1h",
		NULL, "time one look spans; 0 = three poll intervals, at least 5 s"},
	{"hold", OPT_INT, offsetof(struct telemetry_options, hold), "2", "1", "10000", NULL,
		"windows, of the last hold + 2 (2: of the last 3), that must show a switch down; a "
		"gap has lasted long enough when it is seen"},
};

enum state { STATE_FINE, STATE_NEVER, STATE_SILENT, STATE_HOLE, STATE_PART };

struct heard { /* of one switch */
	const struct device_seen *d;
	const struct series *densest; /* the series with the most samples in the window */
	size_t n_densest;
	int64_t newest_ns; /* INT64_MIN: never heard */
	/* counter series that were ever there; those that stopped long before the others */
	size_t counters, stale;
	unsigned stale_metric;
	bool restarted;
	/* what its neighbours say of the links to it */
	size_t links_up, links_down;
	bool carries; /* a neighbour still received from it after its last sample */
	enum state state;
	int64_t cadence_ns, silence_ns;
};

static void hear_series(
	struct heard *heard, const struct series *series, const struct window *window)
{
	uint32_t end;
	if (series->n && series->t_ns[series->n - 1] <= window->to_ns)
		end = series->n;
	else
		end = series_after(series, window->to_ns);
	const size_t n = end - series_after(series, window->from_ns);
	if (!end)
		return;
	if (series->t_ns[end - 1] > heard->newest_ns)
		heard->newest_ns = series->t_ns[end - 1];
	if (n > heard->n_densest) {
		heard->n_densest = n;
		heard->densest = series;
	}
	for (uint32_t i = end; i-- > 0 && series->t_ns[i] > window->from_ns;)
		heard->restarted = heard->restarted || (series->flags[i] & SF_RESTART);
	if (metric_info(series->metric)->kind != METRIC_COUNTER)
		return;
	heard->counters++;
	if (window->to_ns - series->t_ns[end - 1] >= PART_NS) {
		heard->stale++;
		heard->stale_metric = series->metric;
	}
}

static void telemetry_hear(
	const struct analyzer_in *in, const struct observed *observed, struct heard *heard)
{
	for (size_t i = 0; i < observed->n_devices; i++)
		heard[i] = (struct heard){.d = &observed->devices[i],
			.newest_ns = INT64_MIN,
			.restarted = observed->devices[i].restarted};
	for (size_t i = 0; i < in->window->n_series; i++) {
		const struct series *s = &in->window->series[i];
		window_fetch(in->window, i);
		if (s->entity <= observed->n_entities && observed->device_of[s->entity])
			hear_series(&heard[observed->device_of[s->entity] - 1], s, in->window);
	}
}

static int by_length(const void *left, const void *right)
{
	const int64_t x = *(const int64_t *)left, y = *(const int64_t *)right;
	return (x > y) - (x < y);
}

/* Time between polls as the window shows it, 0 when it does not; and the longest of them. */
static int64_t telemetry_rhythm(const struct heard *heard, const struct window *window,
	struct arena *a, int64_t *ret_longest_ns)
{
	*ret_longest_ns = 0;
	if (!heard->densest)
		return 0;
	const struct series *s = heard->densest;
	const uint32_t from = series_after(s, window->from_ns),
		       end = series_after(s, window->to_ns);
	uint32_t first = 1;
	if (from)
		first = from;
	int64_t *v = arena_array(a, int64_t, end + 1);
	size_t n = 0;
	for (uint32_t i = first; i < end; i++)
		v[n++] = s->t_ns[i] - s->t_ns[i - 1];
	if (!n)
		return 0;
	qsort(v, n, sizeof(*v), by_length);
	*ret_longest_ns = v[n - 1];
	return v[(n - 1) / 2];
}

static int64_t late_after(int64_t cadence_ns)
{
	const int64_t late = (int64_t)(LATE_POLLS * (double)cadence_ns);
	if (late > LATE_NS)
		return late;
	return LATE_NS;
}

static void ask_neighbours(
	const struct analyzer_in *in, const struct observed *observed, struct heard *heard)
{
	for (size_t i = 0; i < heard->d->n_ports; i++) {
		const struct port_seen *far = observed_peer(observed, &heard->d->ports[i]);
		if (!far || !far->device->n_series || isnan(far->oper_up))
			continue;
		heard->links_up += far->oper_up != 0;
		heard->links_down += far->oper_up == 0;
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
			then = series_after(s, heard->newest_ns + heard->cadence_ns);
		heard->carries = heard->carries ||
			(end > 0 && then < end && s->value[end - 1] > s->value[then]);
	}
}

static bool links_say_down(const struct heard *heard)
{
	return heard->links_down && heard->links_down >= heard->links_up && !heard->carries;
}

static void telemetry_judge(
	const struct analyzer_in *in, const struct observed *observed, struct heard *heard)
{
	const struct window *w = in->window;
	int64_t longest_ns;
	heard->cadence_ns = telemetry_rhythm(heard, w, in->arena, &longest_ns);
	if (!heard->cadence_ns)
		heard->cadence_ns = in->interval_ns;
	ask_neighbours(in, observed, heard);
	if (heard->newest_ns == INT64_MIN) {
		if (heard->links_down >= 2 && !heard->links_up)
			heard->state = STATE_NEVER;
		else
			heard->state = STATE_FINE;
		return;
	}
	heard->silence_ns = w->to_ns - heard->newest_ns;
	if (heard->silence_ns > late_after(heard->cadence_ns) ||
		(!heard->n_densest && links_say_down(heard)))
		heard->state = STATE_SILENT;
	else if (longest_ns > late_after(heard->cadence_ns))
		heard->state = STATE_HOLE;
	else if (heard->silence_ns < PART_NS / 4 &&
		(double)heard->stale > PART_SHARE * (double)heard->counters &&
		heard->stale < heard->counters)
		heard->state = STATE_PART;
	if (heard->state == STATE_HOLE)
		heard->silence_ns = longest_ns;
}

static bool is_down(const struct heard *heard)
{
	return heard->state == STATE_NEVER ||
		(heard->state == STATE_SILENT && links_say_down(heard));
}

/* ---- telling ------------------------------------------------------------- */

static const char *telemetry_says(const struct heard *heard, struct arena *a)
{
	const char *name = heard->d->device->name;
	const double silence_s = (double)heard->silence_ns / 1e9;
	switch (heard->state) {
	case STATE_NEVER:
		return arena_printf(a,
			"%s was never heard of, and all %zu links that its neighbours have to it "
			"are down",
			name, heard->links_down);
	case STATE_SILENT:
		if (is_down(heard))
			return arena_printf(a,
				"%s is down: silent for %.0f s, and %zu of %zu links that its "
				"neighbours have to it are down",
				name, silence_s, heard->links_down,
				heard->links_down + heard->links_up);
		return arena_printf(a, "%s has been silent for %.0f s; %s", name, silence_s,
			heard->carries
				? "its links still carry traffic, so only its telemetry is lost"
				: heard->links_up ? "its links are up"
						  : "nobody can tell whether it is up");
	case STATE_HOLE:
		return arena_printf(a, "%s: no samples for %.0f s (usually every %.3g s)%s", name,
			silence_s, (double)heard->cadence_ns / 1e9,
			str_if(heard->restarted, "; it restarted meanwhile"));
	default:
		return arena_printf(a,
			"%s no longer answers part of what it did: %zu of %zu counters, among them "
			"%s",
			name, heard->stale, heard->counters,
			metric_info(heard->stale_metric)->name);
	}
}

static void telemetry_name_hosts(const struct heard *heard, struct draft *draft)
{
	size_t n = 0;
	for (size_t i = 0; i < heard->d->n_ports && n < HOSTS_SHOWN; i++)
		if (heard->d->ports[i].port->host) {
			finding_add_role(
				draft, "direct_victim", "%s", heard->d->ports[i].port->host);
			n++;
		}
}

static void telemetry_describe(const struct heard *heard, struct draft *draft)
{
	const bool down = is_down(heard);
	const char *name = heard->d->device->name;
	if (down)
		draft->f->cause = CAUSE_DEVICE_DOWN;
	else
		draft->f->cause = CAUSE_TELEMETRY_GAP;
	if (down)
		draft->f->severity = SEV_CRITICAL;
	else if (heard->state == STATE_SILENT)
		draft->f->severity = SEV_WARNING;
	else
		draft->f->severity = SEV_INFO;
	if (heard->state == STATE_NEVER) {
		draft->f->confidence_ratio = 0.6;
	} else if (down) {
		if (heard->links_up)
			draft->f->confidence_ratio = 0.8;
		else
			draft->f->confidence_ratio = 0.95;
	} else if (heard->state == STATE_SILENT) {
		if (heard->links_up)
			draft->f->confidence_ratio = 0.9;
		else
			draft->f->confidence_ratio = 0.5;
	} else {
		draft->f->confidence_ratio = 0.9;
	}
	draft->f->summary = telemetry_says(heard, draft->a);
	finding_evidence_device(draft, "telemetry.silence_s", name,
		heard->state == STATE_NEVER ? NAN : (double)heard->silence_ns / 1e9, "s",
		QUALITY_EXACT);
	finding_evidence_device(draft, "telemetry.links_down", name, (double)heard->links_down,
		"links", QUALITY_EXACT);
	finding_evidence_device(
		draft, "telemetry.links_up", name, (double)heard->links_up, "links", QUALITY_EXACT);
	finding_rests_on(draft, "times of its samples%s",
		heard->links_up + heard->links_down
			? ", and what its neighbours say of the links to it"
			: "; no neighbour says anything of the links to it");
	if (down) {
		finding_add_role(draft, "culprit", "%s", name);
		telemetry_name_hosts(heard, draft);
		finding_steps(draft, draft->f->cause, 0);
	} else {
		if (heard->carries || heard->links_up)
			finding_ruled_out(draft, "device_down: %s",
				heard->carries ? "traffic still comes from it"
					       : "its links are up");
		finding_steps(draft, draft->f->cause, 0);
	}
}

static int telemetry_run(const struct analyzer_in *in, struct finding_list *out)
{
	const struct telemetry_options *o = in->options;
	const struct observed *seen = observe(in);
	struct heard *v = arena_array(in->arena, struct heard, seen->n_devices + 1);
	telemetry_hear(in, seen, v);
	for (size_t i = 0; i < seen->n_devices; i++) {
		struct heard *h = &v[i];
		telemetry_judge(in, seen, h);
		if (h->state == STATE_FINE && h->newest_ns == INT64_MIN)
			continue; /* nobody polls it */
		struct draft t =
			finding_new(out, in, "telemetry", h->state ? FINDING_OVER : FINDING_UNDER,
				is_down(h) || h->state == STATE_PART ? o->hold : 1);
		t.f->device = h->d->device->name;
		t.f->cause = CAUSE_TELEMETRY_GAP;
		t.f->summary = "";
		t.f->value = (double)h->silence_ns / 1e9;
		t.f->warn = (double)late_after(h->cadence_ns) / 1e9;
		if (h->state)
			telemetry_describe(h, &t);
	}
	return 0;
}

const struct analyzer analyzer_telemetry = {
	.name = "telemetry",
	.phase = 160,
	.doc = "switches that stopped answering: down, or only not seen",
	.options = {"analyzers", "telemetry", sizeof(struct telemetry_options), rows,
		rw_countof(rows), "silence of switches"},
	.window_offset = offsetof(struct telemetry_options, window_ns),
	.observes = true,
	.run = telemetry_run,
};

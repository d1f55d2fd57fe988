/* watch_incidents - open incidents by money, and what they say about signals. */
#include "agent/answers/watch/watch_incidents.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "agent/answers/watch/watch_frame.h"
#include "agent/client/client.h"
#include "analyzers/measure/golden_measure.h"
#include "db/model/cause.h"
#include "db/series/history.h"

enum { EVENTS_SHOWN = 8 };

/* ---- by money --------------------------------------------------------------- */

/* Zero where it has no price. */
static double watch_price(const struct open_incident *incident)
{
	if (isnan(incident->usd_per_hour))
		return 0;
	return incident->usd_per_hour;
}

struct watch_ranked {
	struct open_incident incident;
	size_t place; /* by severity */
};

static int watch_by_money(const void *left, const void *right)
{
	const struct watch_ranked *x = left, *y = right;
	const double u = watch_price(&x->incident), v = watch_price(&y->incident);
	if (u != v)
		return (v > u) - (v < u);
	return (x->place > y->place) - (x->place < y->place);
}

/* They are sorted by severity. */
static void watch_sort_by_money(struct open_incident *incidents, size_t n)
{
	struct watch_ranked *ranked = rw_calloc(n + 1, sizeof(*ranked));
	for (size_t i = 0; i < n; i++)
		ranked[i] = (struct watch_ranked){incidents[i], i};
	qsort(ranked, n, sizeof(*ranked), watch_by_money);
	for (size_t i = 0; i < n; i++)
		incidents[i] = ranked[i].incident;
	free(ranked);
}

void watch_take_incidents(struct watch_answer *frame)
{
	frame->open_incidents = frame->status.open_incidents;
	frame->incidents = frame->status.incidents;
	frame->n_incidents = frame->status.n_incidents;
	frame->status.n_incidents = 0;
	watch_sort_by_money(frame->incidents, frame->n_incidents);
}

/* ---- events ---------------------------------------------------------------- */

struct watch_events {
	struct arena *arena;
	struct watch_answer *frame;
};

static const char *watch_word(struct arena *a, const char *word)
{
	if (!word)
		return NULL;
	return arena_strdup(a, word);
}

static int watch_take_event(void *arg, int n, char *const *words, char *const *names)
{
	const struct watch_events *events = arg;
	struct arena *a = events->arena;
	struct watch_answer *frame = events->frame;
	frame->events[frame->n_events++] =
		(struct watch_event){watch_word(a, words[0]), watch_word(a, words[1]),
			watch_word(a, words[2]), watch_word(a, words[3]), watch_word(a, words[4])};
	return 0;
}

int watch_events_read(
	struct client *client, struct arena *a, struct watch_answer *frame, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	struct watch_events events = {a, frame};
	frame->events = arena_array(a, struct watch_event, EVENTS_SHOWN);
	str_addf(&sql,
		"SELECT time AS t, kind, text, device, port FROM events WHERE t_ns<=%lld "
		"ORDER BY t_ns DESC LIMIT %d",
		(long long)client->at_ns, EVENTS_SHOWN);
	return history_sql(client->history, sql.s, watch_take_event, &events, e);
}

/* ---- what incidents say of signals ------------------------------------------ */

/* The worst open incident that shows in @signal, the first of those alike; NULL: none. */
static const struct open_incident *watch_incident_of(
	enum golden signal, const struct watch_answer *frame)
{
	const struct open_incident *worst = NULL;
	for (size_t i = 0; i < frame->n_incidents; i++) {
		const struct open_incident *incident = &frame->incidents[i];
		if (!golden_shows(signal, cause_by_name(incident->cause)))
			continue;
		if (!worst || verdict_incident_state(incident) > verdict_incident_state(worst))
			worst = incident;
	}
	return worst;
}

static bool watch_has(const char *text)
{
	return text && *text;
}

/* An incident about a whole switch says less of the place than a port of that switch does. */
static bool watch_names_less(
	const struct watch_signal *signal, const struct open_incident *incident)
{
	return !watch_has(incident->host) && !watch_has(incident->port) &&
		str_eq(str_or(incident->device, ""), str_or(signal->subject.device, ""));
}

/* Where the fault is: the incident's subject, not the port with the highest number. */
static void watch_take_subject(
	struct arena *a, struct watch_signal *signal, const struct open_incident *incident)
{
	const bool has_device = watch_has(incident->device);
	rw_cleanup(str_done) struct str where = {0};
	if (watch_has(incident->host))
		str_addf(&where, "%s%s", incident->host, str_if(has_device, " at "));
	if (has_device)
		str_addf(&where, "%s", incident->device);
	if (has_device && watch_has(incident->port))
		str_addf(&where, " %s", incident->port);
	if (!where.n || watch_names_less(signal, incident))
		return;
	signal->subject = (struct watch_subject){
		incident->device, incident->port, incident->priority, incident->host};
	signal->where = arena_strdup(a, where.s);
}

/* What was measured over its limit, and no incident is about it. */
static void watch_apply_none(struct arena *a, struct watch_signal *signal)
{
	if (signal->state != GOLDEN_WARNING && signal->state != GOLDEN_CRITICAL)
		return;
	signal->state = GOLDEN_OK;
	if (watch_has(signal->why))
		signal->why = arena_printf(a, "%s; %s", VERDICT_NOT_LASTING, signal->why);
	else
		signal->why = VERDICT_NOT_LASTING;
}

static void watch_apply_signal(struct arena *a, enum golden of, struct watch_answer *frame)
{
	struct watch_signal *signal = &frame->signals[of];
	const struct open_incident *incident = watch_incident_of(of, frame);
	signal->over = signal->state == GOLDEN_WARNING || signal->state == GOLDEN_CRITICAL;
	if (!incident) {
		if (!watch_has(signal->incident))
			watch_apply_none(a, signal);
		return;
	}
	const enum golden_state state = verdict_incident_state(incident);
	if (state != GOLDEN_OK || signal->over)
		signal->state = state;
	signal->incident = incident->id;
	signal->why = incident->headline;
	if (watch_has(incident->silenced))
		signal->why = arena_printf(a, "silenced: %s", str_or(incident->headline, ""));
	watch_take_subject(a, signal, incident);
}

/* An incident is about a paused port when it names the port, or the host behind it. */
static bool watch_is_about(const struct open_incident *incident, const struct watch_paused *paused)
{
	if (!golden_shows(GOLDEN_PAUSE_TIME, cause_by_name(incident->cause)))
		return false;
	if (watch_has(incident->host) && str_eq(incident->host, paused->host))
		return true;
	return watch_has(incident->port) && str_eq(incident->port, paused->port) &&
		str_eq(str_or(incident->device, ""), str_or(paused->device, ""));
}

static void watch_apply_paused(struct watch_paused *paused, const struct watch_answer *frame)
{
	for (size_t i = 0; i < frame->n_incidents; i++) {
		if (!watch_is_about(&frame->incidents[i], paused))
			continue;
		paused->incident = frame->incidents[i].id;
		paused->role = golden_role_name(GOLDEN_ROLE_ORIGIN);
		return;
	}
}

void watch_apply_incidents(struct arena *a, struct watch_answer *frame)
{
	for (size_t i = 0; i < frame->n_signals; i++)
		watch_apply_signal(a, (enum golden)i, frame);
	for (size_t i = 0; i < frame->n_paused; i++)
		watch_apply_paused(&frame->paused[i], frame);
}

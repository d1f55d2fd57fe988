/* alert - compares, once a second, what each receiver knows with how the incidents stand; gives
 * messages to the threads and takes their results. */
#include "agent/alert/alert.h"

#include <strings.h>

#include "agent/incident/incident_json.h"
#include "base/curl_io.h"
#include "base/loop.h"
#include "config/config.h"
#include "db/series/history.h"
#include "db/store/store.h"

/* alert_list - subjects, receivers and deliveries, found and made. */

static struct alert_subject *alert_subject_find(const struct alert *alert, const char *id)
{
	for (size_t i = alert->n_subjects; i-- > 0;)
		if (strcasecmp(alert->subjects[i]->id, id) == 0)
			return alert->subjects[i];
	return NULL;
}

static struct alert_subject *alert_subject_get(struct alert *alert, const char *id)
{
	struct alert_subject *subject = alert_subject_find(alert, id);
	if (subject)
		return subject;
	subject = rw_calloc(1, sizeof(*subject));
	memcpy(subject->id, id, strnlen(id, sizeof(subject->id) - 1));
	rw_grow(alert->subjects, alert->n_subjects, alert->cap_subjects);
	alert->subjects[alert->n_subjects++] = subject;
	return subject;
}

static struct alert_receiver *alert_receiver_find(const struct alert *alert, const char *name)
{
	for (size_t i = 0; i < alert->n_receivers; i++)
		if (str_eq(alert->receivers[i].name, name))
			return &alert->receivers[i];
	return NULL;
}

static struct alert_delivery *alert_delivery_find(
	const struct alert_receiver *receiver, const struct alert_subject *subject)
{
	for (size_t i = receiver->n; i-- > 0;)
		if (receiver->v[i]->subject == subject)
			return receiver->v[i];
	return NULL;
}

static struct alert_delivery *alert_delivery_get(
	struct alert_receiver *receiver, struct alert_subject *subject)
{
	struct alert_delivery *d = alert_delivery_find(receiver, subject);
	if (d)
		return d;
	d = rw_calloc(1, sizeof(*d));
	d->subject = subject;
	rw_grow(receiver->v, receiver->n, receiver->cap);
	receiver->v[receiver->n++] = d;
	return d;
}

/* alert_rows - deliveries to rows of table alert and back. */

static const char *const told_names[] = {
	[TOLD_NOTHING] = "",
	[TOLD_OPEN] = "open",
	[TOLD_RESOLVED] = "resolved",
};

/* In the order of the SELECT below. */
enum row_column {
	R_RECEIVER,
	R_INCIDENT,
	R_STATE,
	R_SEVERITY,
	R_CAUSE,
	R_PENDING,
	R_ERROR,
	R_LABELS,
	R_SENT_NS,
	R_PENDING_NS,
	R_ATTEMPTS,
	R_SENT,
	R_ACKED,
	R_JSON,
	R_COLUMNS
};

static int64_t row_number(const char *text)
{
	return strtoll(str_or(text, "0"), NULL, 10);
}

static enum severity row_severity(const char *word)
{
	for (int k = SEV_INFO; k <= SEV_CRITICAL; k++)
		if (str_eq(severity_name((enum severity)k), word))
			return (enum severity)k;
	return SEV_INFO;
}

static enum alert_told row_told(const char *word)
{
	for (size_t k = 0; k < rw_countof(told_names); k++)
		if (str_eq(told_names[k], word))
			return (enum alert_told)k;
	return TOLD_NOTHING;
}

/* The incident as it was stored: the ledger may not restore it. */
static void row_subject(struct alert_subject *subject, const char *json)
{
	if (subject->kept || !json)
		return;
	subject->kept = incident_json_parse(json);
	if (!subject->kept)
		return;
	const struct incident *i = &subject->kept->i;
	subject->closed = i->state == INCIDENT_CLOSED;
	subject->severity = i->severity;
	subject->cause = i->cause;
	subject->acked = i->acked_by != NULL;
	subject->closed_ns = i->closed_ns;
}

static char *alert_copy(const char *text)
{
	if (!text)
		return NULL;
	return rw_strdup(text);
}

static int row_take(void *arg, int n, char *const *values, char *const *names)
{
	struct alert *alert = arg;
	const char *name = str_or(values[R_RECEIVER], ""), *id = values[R_INCIDENT];
	struct alert_receiver *receiver = alert_receiver_find(alert, name);
	if (n != R_COLUMNS || !id || strlen(id) != 8)
		return 0;
	if (!receiver) {
		store_alert_gone(alert->store, name, id);
		return 0;
	}
	struct alert_subject *subject = alert_subject_get(alert, id);
	row_subject(subject, values[R_JSON]);
	struct alert_delivery *d = alert_delivery_get(receiver, subject);
	d->stored = true;
	d->fits = true; /* it did when it was stored; the ledger's news decide anew */
	d->known.told = row_told(values[R_STATE]);
	d->known.severity = row_severity(values[R_SEVERITY]);
	d->known.cause = cause_by_name(values[R_CAUSE]);
	d->known.acked = row_number(values[R_ACKED]) != 0;
	d->pending = alert_event_parse(values[R_PENDING]);
	d->pending_ns = row_number(values[R_PENDING_NS]);
	d->attempts = (int)row_number(values[R_ATTEMPTS]);
	d->sent = (int)row_number(values[R_SENT]);
	d->sent_ns = row_number(values[R_SENT_NS]);
	d->error = alert_copy(values[R_ERROR]);
	d->labels = alert_copy(values[R_LABELS]);
	if (d->sent_ns > receiver->last_success_ns)
		receiver->last_success_ns = d->sent_ns;
	return 0;
}

/* alert_rows_load - the rows of table alert into deliveries; those of receivers that are gone are
 * deleted. alert.c. 0 or negative errno with @e. */
static int alert_rows_load(struct alert *alert, struct history *history, struct err *e)
{
	const int rc = history_sql(history,
		"SELECT a.receiver, a.incident_id, a.state, a.severity, a.cause, a.pending, "
		"a.error, a.labels, a.sent_ns, a.pending_ns, a.attempts, a.sent, a.acked, i.json "
		"FROM alert a LEFT JOIN incident i ON i.id=a.incident_id",
		row_take, alert, e);
	if (rc == -ENOTSUP)
		return 0;
	return rc;
}

/* alert_rows_save - one delivery as it now stands. */
static void alert_rows_save(struct alert *alert, const struct alert_receiver *receiver,
	struct alert_delivery *delivery, int64_t now_ns)
{
	delivery->stored = true;
	store_alert(alert->store,
		&(struct store_alert){
			.receiver = receiver->name,
			.incident_id = delivery->subject->id,
			.state = told_names[delivery->known.told],
			.severity = severity_name(delivery->known.severity),
			.cause = cause_name(delivery->known.cause),
			.pending = alert_event_name(delivery->pending),
			.error = delivery->error,
			.labels = delivery->labels,
			.sent_ns = delivery->sent_ns,
			.pending_ns = delivery->pending_ns,
			.updated_ns = now_ns,
			.attempts = delivery->attempts,
			.sent = delivery->sent,
			.acked = delivery->known.acked,
		});
}

#define IN_FLIGHT_MAX 64 /* of one receiver */
#define RESULTS_MAX 4096 /* of all receivers: 32 x 64, and tests */
#define GAP_FIRST_NS NS_PER_S
#define REFUSED_MAX 3 /* attempts at what a receiver refuses */
#define KEEP_NS (24 * 3600 * NS_PER_S) /* what is settled is forgotten after that */
/* An incident goes on being covered for that long after the one that explains it has ended: both
 * end by the same repair, a few windows apart. */
#define COVER_NS (10 * 60 * NS_PER_S)
#define STOP_GRACE_NS (2 * NS_PER_S)

/* ---- receivers ----------------------------------------------------------- */

static void delivery_free(struct alert_delivery *delivery)
{
	free(delivery->labels);
	free(delivery->error);
	free(delivery);
}

static void receiver_open(
	struct alert *alert, struct alert_receiver *receiver, const struct config_receiver *config)
{
	receiver->thread = receiver_new(config, alert->results);
	receiver->config = receiver_config(receiver->thread);
	receiver->sender = sender_find(config->kind);
}

static void receiver_close(struct alert_receiver *receiver)
{
	receiver_free(receiver->thread);
	receiver->thread = NULL;
	receiver->in_flight = 0;
	for (size_t i = 0; i < receiver->n; i++)
		receiver->v[i]->in_flight = false;
}

static void receiver_drop(struct alert_receiver *receiver)
{
	for (size_t i = 0; i < receiver->n; i++)
		delivery_free(receiver->v[i]);
	free(receiver->v);
	free(receiver->name);
}

/* ---- facts --------------------------------------------------------------- */

static bool texts_match(const struct config_texts *globs, const char *text)
{
	for (size_t i = 0; text && i < globs->n; i++)
		if (str_glob(globs->v[i], text))
			return true;
	return false;
}

static bool jobs_match(const struct config_texts *globs, const struct incident *incident)
{
	for (size_t i = 0; i < incident->n_jobs; i++)
		if (texts_match(globs, incident->jobs[i]))
			return true;
	return false;
}

/* Did the receiver ask for such incidents? */
static bool receiver_wants(const struct config_receiver *config, const struct incident *incident)
{
	if ((int)incident->severity < config->min_severity)
		return false;
	if (config->causes.n && !texts_match(&config->causes, cause_name(incident->cause)))
		return false;
	if (config->devices.n && !texts_match(&config->devices, incident->device) &&
		!texts_match(&config->devices, incident->host))
		return false;
	return config->jobs.n == 0 || jobs_match(&config->jobs, incident);
}

static bool delivery_settled(const struct alert_delivery *d)
{
	return d->pending == ALERT_NONE && !d->in_flight && d->known.told != TOLD_OPEN;
}

/* A receiver that got it, or is getting it now, also gets its end, even if cause or jobs have
 * changed since. */
static bool delivery_begun(const struct alert_delivery *d)
{
	return d->known.told == TOLD_OPEN || (d->in_flight && d->pending == ALERT_OPENED);
}

/* The ledger forgets what is closed; what is still to be sent must not depend on it. */
static void subject_keep(
	const struct alert *alert, struct alert_subject *subject, const struct incident *incident)
{
	bool settled = true;
	for (size_t i = 0; i < alert->n_receivers; i++) {
		const struct alert_delivery *d = alert_delivery_find(&alert->receivers[i], subject);
		settled &= !d || delivery_settled(d);
	}
	if (settled)
		return;
	rw_cleanup(freep) char *json = incident_json_text(incident);
	incident_record_free(subject->kept);
	subject->kept = incident_json_parse(json);
}

void alert_take(void *arg, const struct incident *incident, enum incident_state from)
{
	struct alert *alert = arg;
	if (!alert || alert->n_receivers == 0)
		return;
	struct alert_subject *subject = alert_subject_find(alert, incident->id);
	if (!subject && incident->state == INCIDENT_CLOSED)
		return; /* no receiver got it, and none needs it */
	if (!subject)
		subject = alert_subject_get(alert, incident->id);
	subject->known = true;
	subject->closed = incident->state == INCIDENT_CLOSED;
	subject->severity = incident->severity;
	subject->cause = incident->cause;
	subject->acked = incident->acked_by != NULL;
	subject->closed_ns = incident->closed_ns;
	snprintf(subject->parent, sizeof(subject->parent), "%.8s", str_or(incident->parent, ""));
	for (size_t i = 0; i < alert->n_receivers; i++) {
		struct alert_receiver *r = &alert->receivers[i];
		struct alert_delivery *d = alert_delivery_get(r, subject);
		if (!d->fits || !delivery_begun(d))
			d->fits = receiver_wants(r->config, incident);
	}
	if (subject->closed)
		subject_keep(alert, subject, incident);
}

void alert_sync(struct alert *alert, const struct ledger *ledger, wall_t now)
{
	const struct incident **all;
	if (!alert)
		return;
	const size_t n = ledger_incidents(ledger, &all);
	for (size_t i = 0; i < n; i++)
		alert_take(alert, all[i], all[i]->state);
	/* stored as open, but no longer in the ledger: it has ended */
	for (size_t i = 0; i < alert->n_subjects; i++) {
		struct alert_subject *subject = alert->subjects[i];
		if (subject->known || subject->closed)
			continue;
		subject->closed = true;
		subject->closed_ns = now.ns;
	}
}

static const struct incident *subject_incident(
	const struct alert_subject *subject, const struct ledger *ledger)
{
	const struct incident *incident = NULL;
	if (subject->known)
		incident = ledger_find(ledger, subject->id);
	if (!incident && subject->kept)
		incident = &subject->kept->i;
	return incident;
}

/* Does the receiver get another incident that explains this one? */
static bool delivery_covered(const struct alert *alert, const struct alert_receiver *receiver,
	const struct alert_subject *subject, int64_t now_ns)
{
	if (!subject->parent[0])
		return false;
	const struct alert_subject *parent = alert_subject_find(alert, subject->parent);
	if (!parent)
		return false;
	/* one that was closed ahead of the clock, before it was set back, is long over */
	const int64_t over_ns = now_ns - parent->closed_ns;
	if (parent->closed && (over_ns > COVER_NS || over_ns < -COVER_NS))
		return false;
	const struct alert_delivery *d = alert_delivery_find(receiver, parent);
	return d && d->fits;
}

/* ---- comparing ----------------------------------------------------------- */

static void delivery_set_error(struct alert_delivery *delivery, const char *error)
{
	free(delivery->error);
	delivery->error = alert_copy(error);
}

/* What waits because of a change, and not only because time has passed. */
static bool event_is_news(enum alert_event event)
{
	return event != ALERT_NONE && event != ALERT_REMINDER;
}

static void delivery_compare(struct alert *alert, struct alert_receiver *receiver,
	struct alert_delivery *d, wall_t now, mono_t mono)
{
	const struct alert_subject *subject = d->subject;
	const struct alert_fact fact = {
		.closed = subject->closed,
		.covered = delivery_covered(alert, receiver, subject, now.ns),
		.silenced = subject->silenced,
		.acked = subject->acked,
		.fits = d->fits,
		.severity = subject->severity,
		.cause = subject->cause,
	};
	if (fact.silenced && d->known.told == TOLD_OPEN)
		d->known.muted = true;
	d->known.waiting = d->pending == ALERT_OPENED || d->pending == ALERT_RESOLVED;
	d->known.age_ns = mono.ns - d->sent_at.ns;
	enum alert_event wish = alert_wish(
		&fact, &d->known, receiver->config->resend_ns, receiver->sender->heartbeat);
	if (wish == d->given_up)
		wish = ALERT_NONE;
	else
		d->given_up = ALERT_NONE;
	if (wish == d->pending)
		return;
	const bool news = event_is_news(wish) || event_is_news(d->pending);
	if (d->pending == ALERT_NONE || wish == ALERT_NONE) {
		d->pending_ns = now.ns;
		d->attempts = 0;
		delivery_set_error(d, NULL);
	}
	d->pending = wish;
	if (news)
		alert_rows_save(alert, receiver, d, now.ns);
}

/* ---- giving up ----------------------------------------------------------- */

static void alert_tell(const struct alert *alert, const struct alert_receiver *receiver,
	const struct alert_delivery *d, const char *kind, int64_t now_ns, const char *text)
{
	rw_cleanup(str_done) struct str line = {0};
	str_addf(&line, "%s: %s", receiver->name, text);
	store_event(alert->store, now_ns, kind, d->subject->id, "", line.s);
}

static void delivery_give_up(struct alert *alert, struct alert_receiver *receiver,
	struct alert_delivery *d, const char *why, int64_t now_ns)
{
	rw_cleanup(str_done) struct str text = {0};
	str_addf(&text, "'%s' is given up: %s", alert_event_name(d->pending), why);
	complain(&receiver->giving_up, alert->mono, LOG_ERROR_, "alert",
		"%s: %s of incident %s is given up: %s", receiver->name,
		alert_event_name(d->pending), d->subject->id, why);
	alert_tell(alert, receiver, d, "alert_failed", now_ns, text.s);
	receiver->dropped++;
	d->given_up = d->pending;
	d->pending = ALERT_NONE;
	alert_rows_save(alert, receiver, d, now_ns);
}

/* What may wait is bounded: the oldest goes first, ends of incidents last. */
static void receiver_bound(struct alert *alert, struct alert_receiver *receiver, int64_t now_ns)
{
	size_t waiting = 0;
	for (size_t i = 0; i < receiver->n; i++)
		waiting += event_is_news(receiver->v[i]->pending);
	for (; waiting > receiver->config->spool; waiting--) {
		struct alert_delivery *oldest = NULL;
		for (size_t i = 0; i < receiver->n; i++) {
			struct alert_delivery *d = receiver->v[i];
			if (!event_is_news(d->pending) || d->in_flight)
				continue;
			const bool end = d->pending == ALERT_RESOLVED;
			const bool oldest_end = oldest && oldest->pending == ALERT_RESOLVED;
			if (!oldest || (oldest_end && !end) ||
				(oldest_end == end && d->pending_ns < oldest->pending_ns))
				oldest = d;
		}
		if (!oldest)
			break;
		delivery_give_up(alert, receiver, oldest,
			"too many alerts wait for this receiver (see 'spool')", now_ns);
	}
	receiver->queued = waiting;
}

/* ---- sending ------------------------------------------------------------- */

/* Why an end is sent for an incident that is still open. */
static void end_reason(struct str *out, const struct alert_subject *subject)
{
	if (!subject->closed && subject->parent[0])
		str_addf(out, "not closed, but part of incident %s from now on", subject->parent);
	else if (!subject->closed)
		str_add(out, "not closed, but no longer for this receiver");
}

static bool delivery_send(struct alert *alert, struct alert_receiver *receiver,
	struct alert_delivery *d, const struct ledger *ledger, int64_t now_ns)
{
	const struct incident *incident = subject_incident(d->subject, ledger);
	rw_cleanup(str_done) struct str why = {0};
	if (!incident) {
		delivery_give_up(
			alert, receiver, d, "the incident cannot be read any more", now_ns);
		return false;
	}
	if (d->pending == ALERT_RESOLVED)
		end_reason(&why, d->subject);
	const struct alert_context context = {
		.event = d->pending,
		.fabric = alert->fabric,
		.receiver = receiver->name,
		.web_url = alert->web_url,
		.runbook_url = alert->runbook_url,
		.why = why.s,
		.labels = d->labels,
		.sent = d->sent,
		.time_ns = now_ns,
		.resend_ns = receiver->config->resend_ns,
	};
	struct receiver_job *job =
		receiver_job_new(alert_message_new(incident, &context), receiver->name);
	if (!receiver_give(receiver->thread, job)) {
		receiver_job_free(job);
		return false;
	}
	d->in_flight = true;
	receiver->in_flight++;
	return true;
}

/* The one that has waited longest; NULL: none may be sent now. */
static struct alert_delivery *receiver_next_due(const struct alert_receiver *receiver, mono_t mono)
{
	struct alert_delivery *next = NULL;
	for (size_t i = 0; i < receiver->n; i++) {
		struct alert_delivery *d = receiver->v[i];
		if (d->pending == ALERT_NONE || d->in_flight || d->not_before.ns > mono.ns)
			continue;
		if (!next || d->pending_ns < next->pending_ns)
			next = d;
	}
	return next;
}

static void receiver_dispatch(struct alert *alert, struct alert_receiver *receiver,
	const struct ledger *ledger, wall_t now, mono_t mono)
{
	size_t room = IN_FLIGHT_MAX;
	if (receiver->gap_ns)
		room = 1; /* find out with one message whether it is back */
	if (receiver->gap_ns && mono.ns < receiver->next_try.ns)
		return;
	while (receiver->in_flight < room) {
		struct alert_delivery *d = receiver_next_due(receiver, mono);
		if (!d)
			return;
		if (!delivery_send(alert, receiver, d, ledger, now.ns) && d->pending)
			return;
	}
}

/* ---- results ------------------------------------------------------------- */

static void delivery_sent(struct alert *alert, struct alert_receiver *receiver,
	struct alert_delivery *d, const struct alert_message *message, wall_t now, mono_t mono)
{
	const bool tell = event_is_news(message->event) || !receiver->sender->heartbeat;
	d->known.told = TOLD_OPEN;
	if (message->resolved)
		d->known.told = TOLD_RESOLVED;
	d->known.severity = message->severity;
	d->known.cause = cause_by_name(message->cause);
	d->known.acked = message->event == ALERT_ACKNOWLEDGED ||
		(d->known.acked && message->event != ALERT_OPENED);
	d->known.muted = false;
	d->sent++;
	d->sent_ns = now.ns;
	d->sent_at = mono;
	d->attempts = 0;
	free(d->labels);
	d->labels = alert_copy(message->labels);
	delivery_set_error(d, NULL);
	if (d->pending == message->event)
		d->pending = ALERT_NONE;
	if (tell) {
		rw_cleanup(str_done) struct str text = {0};
		str_addf(&text, "%s (%s)", alert_event_name(message->event),
			severity_name(message->severity));
		alert_tell(alert, receiver, d, "alert_sent", now.ns, text.s);
	}
	alert_rows_save(alert, receiver, d, now.ns);
}

static void delivery_failed(struct alert *alert, struct alert_receiver *receiver,
	struct alert_delivery *d, const struct receiver_job *job, wall_t now, mono_t mono)
{
	d->attempts++;
	delivery_set_error(d, job->error);
	if (job->rc == -EBADMSG && d->attempts >= REFUSED_MAX && d->pending) {
		delivery_give_up(alert, receiver, d, job->error, now.ns);
		return;
	}
	if (job->rc == -EBADMSG)
		d->not_before.ns = mono.ns + (GAP_FIRST_NS << d->attempts);
	if (d->attempts == 1 && event_is_news(d->pending)) {
		rw_cleanup(str_done) struct str text = {0};
		str_addf(&text, "%s: not delivered yet: %s", alert_event_name(d->pending),
			job->error);
		alert_tell(alert, receiver, d, "alert_failed", now.ns, text.s);
	}
	if (event_is_news(d->pending))
		alert_rows_save(alert, receiver, d, now.ns);
}

static void receiver_failed(
	struct alert_receiver *receiver, const struct receiver_job *job, mono_t mono)
{
	receiver->failed++;
	complain(&receiver->failing, mono, LOG_WARN_, "alert",
		"%s: an alert could not be sent, trying again: %s (%llu wait)", receiver->name,
		job->error, (unsigned long long)receiver->queued);
	if (job->rc == -EBADMSG)
		return; /* it answers; the message is at fault */
	if (receiver->next_try.ns > mono.ns)
		return; /* of the same batch */
	receiver->gap_ns *= 2;
	if (receiver->gap_ns == 0)
		receiver->gap_ns = GAP_FIRST_NS;
	if (receiver->gap_ns > receiver->config->retry_ns)
		receiver->gap_ns = receiver->config->retry_ns;
	receiver->next_try.ns = mono.ns + receiver->gap_ns;
}

static void receiver_worked(struct alert_receiver *receiver, wall_t now, mono_t mono)
{
	receiver->sent++;
	receiver->gap_ns = 0;
	receiver->last_success_ns = now.ns;
	complaint_over(&receiver->failing, mono, "alert", receiver->name);
}

static void test_done(struct alert_test_run *test, const struct receiver_job *job)
{
	if (test->ticket != job->ticket)
		return; /* another one was asked for meanwhile */
	test->done = true;
	test->rc = job->rc;
	test->took_ns = job->took_ns;
	snprintf(test->text, sizeof(test->text), "%s", job->error);
}

static void alert_take_result(void *arg, void *message)
{
	struct alert *alert = arg;
	struct receiver_job *job = message;
	const wall_t now = alert->now;
	const mono_t mono = alert->mono;
	if (job->ticket) {
		test_done(&alert->test, job);
		receiver_job_free(job);
		return;
	}
	struct alert_receiver *receiver = alert_receiver_find(alert, job->receiver);
	struct alert_subject *subject = alert_subject_find(alert, job->message->id);
	struct alert_delivery *d = NULL;
	if (receiver && subject)
		d = alert_delivery_find(receiver, subject);
	if (d && d->in_flight) {
		d->in_flight = false;
		receiver->in_flight--;
		if (job->rc == 0)
			receiver_worked(receiver, now, mono);
		else
			receiver_failed(receiver, job, mono);
		if (job->rc == 0)
			delivery_sent(alert, receiver, d, job->message, now, mono);
		else
			delivery_failed(alert, receiver, d, job, now, mono);
	}
	receiver_job_free(job);
}

/* ---- the tick ------------------------------------------------------------ */

static bool alert_has_silence(const struct alert *alert, int64_t now_ns)
{
	for (size_t i = 0; i < alert->silences.n; i++)
		if (silence_is_active(&alert->silences.v[i], now_ns))
			return true;
	return false;
}

static void alert_silences_tick(struct alert *alert, const struct ledger *ledger, int64_t now_ns)
{
	const bool any = alert_has_silence(alert, now_ns);
	for (size_t i = 0; i < alert->n_subjects; i++) {
		struct alert_subject *subject = alert->subjects[i];
		subject->silenced = false;
		if (subject->closed || !any)
			continue;
		const struct incident *incident = subject_incident(subject, ledger);
		subject->silenced =
			incident && silence_match(&alert->silences, incident, now_ns) != NULL;
	}
	for (size_t i = 0; i < alert->silences.n && alert->now.ns; i++) {
		const struct silence *silence = &alert->silences.v[i];
		if (silence->until_ns > alert->now.ns && silence->until_ns <= now_ns &&
			!silence->ended_by)
			silence_store(alert->store, silence, "silence_expired", now_ns);
	}
}

void alert_clock_set_back(struct alert *alert, int64_t now_ns, int64_t step_ns)
{
	for (size_t i = 0; i < alert->silences.n; i++) {
		struct silence *silence = &alert->silences.v[i];
		if (silence->created_ns <= now_ns)
			continue;
		silence->created_ns += step_ns;
		silence->from_ns += step_ns;
		silence->until_ns += step_ns;
		silence_store(alert->store, silence, "silence_moved", now_ns);
	}
}

static void subject_free(struct alert_subject *subject)
{
	incident_record_free(subject->kept);
	free(subject);
}

/* True: no receiver will get it any more. */
static bool subject_over(const struct alert *alert, const struct alert_subject *subject,
	const struct ledger *ledger, int64_t now_ns)
{
	if (!subject->closed) /* one that the ledger does not have will never change */
		return !subject_incident(subject, ledger);
	const int64_t over_ns = now_ns - subject->closed_ns;
	if (over_ns < KEEP_NS && over_ns > -KEEP_NS)
		return false;
	for (size_t i = 0; i < alert->n_receivers; i++) {
		const struct alert_delivery *d = alert_delivery_find(&alert->receivers[i], subject);
		if (d && !delivery_settled(d))
			return false;
	}
	return true;
}

static void subject_forget(struct alert *alert, const struct alert_subject *subject)
{
	for (size_t i = 0; i < alert->n_receivers; i++) {
		struct alert_receiver *r = &alert->receivers[i];
		size_t n = 0;
		for (size_t k = 0; k < r->n; k++) {
			struct alert_delivery *d = r->v[k];
			if (d->subject != subject) {
				r->v[n++] = d;
				continue;
			}
			if (d->stored)
				store_alert_gone(alert->store, r->name, subject->id);
			delivery_free(d);
		}
		r->n = n;
	}
}

static void alert_forget(struct alert *alert, const struct ledger *ledger, int64_t now_ns)
{
	size_t n = 0;
	for (size_t i = 0; i < alert->n_subjects; i++) {
		struct alert_subject *subject = alert->subjects[i];
		if (!subject_over(alert, subject, ledger, now_ns)) {
			alert->subjects[n++] = subject;
			continue;
		}
		subject_forget(alert, subject);
		subject_free(subject);
	}
	alert->n_subjects = n;
}

void alert_tick(struct alert *alert, const struct ledger *ledger, wall_t now, mono_t mono)
{
	if (!alert)
		return;
	alert_forget(alert, ledger, now.ns);
	alert_silences_tick(alert, ledger, now.ns);
	alert->now = now;
	alert->mono = mono;
	for (size_t i = 0; i < alert->n_receivers; i++) {
		struct alert_receiver *r = &alert->receivers[i];
		for (size_t k = 0; k < r->n; k++)
			if (!r->v[k]->in_flight)
				delivery_compare(alert, r, r->v[k], now, mono);
		receiver_bound(alert, r, now.ns);
		receiver_dispatch(alert, r, ledger, now, mono);
	}
}

/* ---- start, reload, stop ------------------------------------------------- */

struct alert *alert_new(struct loop *loop, struct store *store, const struct config *config)
{
	struct alert *alert = rw_calloc(1, sizeof(*alert));
	curl_io_begin();
	alert->store = store;
	alert->results = mailbox_new(loop, RESULTS_MAX, alert_take_result, alert);
	alert_reload(alert, config, NULL, wall_now());
	return alert;
}

/* Ages count on the monotonic clock; what was sent before the start lies before its time. */
static void alert_set_ages(struct alert *alert, wall_t now, mono_t mono)
{
	for (size_t i = 0; i < alert->n_receivers; i++) {
		for (size_t k = 0; k < alert->receivers[i].n; k++) {
			struct alert_delivery *d = alert->receivers[i].v[k];
			int64_t age_ns = now.ns - d->sent_ns;
			if (age_ns < 0) /* the clock was set back */
				age_ns = 0;
			d->sent_at.ns = mono.ns - age_ns;
		}
	}
}

int alert_load(struct alert *alert, struct history *history, wall_t now, mono_t mono, struct err *e)
{
	int rc = alert_rows_load(alert, history, e);
	if (rc == 0)
		rc = silences_load(history, &alert->silences, e);
	alert_set_ages(alert, now, mono);
	return rc;
}

int alert_load_silences(struct alert *alert, struct history *history, struct err *e)
{
	return silences_load(history, &alert->silences, e);
}

/* The receiver of that name goes on; what it knows stays, and its thread too when nothing about it
 * changed. */
static void receiver_inherit(struct alert *alert, struct alert_receiver *to,
	struct alert_receiver *from, const struct config_receiver *config)
{
	*to = *from;
	*from = (struct alert_receiver){0};
	if (receiver_same(to->thread, config))
		return;
	receiver_close(to);
	to->gap_ns = 0;
	for (size_t i = 0; i < to->n; i++)
		to->v[i]->fits = false; /* by the old words */
	receiver_open(alert, to, config);
}

static void receiver_remove(struct alert *alert, struct alert_receiver *receiver)
{
	if (!receiver->name)
		return;
	for (size_t i = 0; i < receiver->n; i++)
		if (receiver->v[i]->stored)
			store_alert_gone(alert->store, receiver->name, receiver->v[i]->subject->id);
	receiver_close(receiver);
	receiver_drop(receiver);
}

void alert_reload(
	struct alert *alert, const struct config *config, const struct ledger *ledger, wall_t now)
{
	if (!alert)
		return;
	struct alert_receiver *old = alert->receivers;
	const size_t n_old = alert->n_receivers, n = config->alerts.n_receivers;
	struct alert_receiver *v = rw_calloc(n + 1, sizeof(*v));
	free(alert->fabric);
	free(alert->web_url);
	free(alert->runbook_url);
	alert->fabric = alert_copy(config->fabric->name);
	alert->web_url = alert_copy(config->alerts.web_url);
	alert->runbook_url = alert_copy(config->alerts.runbook_url);
	for (size_t i = 0; i < n; i++) {
		const struct config_receiver *c = &config->alerts.receivers[i];
		struct alert_receiver *before = alert_receiver_find(alert, c->name);
		if (before) {
			receiver_inherit(alert, &v[i], before, c);
			continue;
		}
		v[i].name = rw_strdup(c->name);
		receiver_open(alert, &v[i], c);
	}
	for (size_t i = 0; i < n_old; i++)
		receiver_remove(alert, &old[i]);
	free(old);
	alert->receivers = v;
	alert->n_receivers = n;
	if (ledger)
		alert_sync(alert, ledger, now);
}

void alert_free(struct alert *alert)
{
	if (!alert)
		return;
	const int64_t until_ns = mono_now().ns + STOP_GRACE_NS;
	for (size_t i = 0; i < alert->n_receivers; i++) {
		int64_t grace_ns = until_ns - mono_now().ns;
		if (grace_ns < 0)
			grace_ns = 0;
		receiver_stop(alert->receivers[i].thread, grace_ns);
	}
	mailbox_free(alert->results); /* takes the results that came meanwhile */
	for (size_t i = 0; i < alert->n_receivers; i++) {
		receiver_close(&alert->receivers[i]);
		receiver_drop(&alert->receivers[i]);
	}
	for (size_t i = 0; i < alert->n_subjects; i++)
		subject_free(alert->subjects[i]);
	silences_done(&alert->silences);
	free(alert->receivers);
	free(alert->subjects);
	free(alert->fabric);
	free(alert->web_url);
	free(alert->runbook_url);
	free(alert);
}

/* ---- for the agent's health ---------------------------------------------- */

size_t alert_count(const struct alert *alert)
{
	if (!alert)
		return 0;
	return alert->n_receivers;
}

struct alert_view alert_at(const struct alert *alert, size_t i)
{
	const struct alert_receiver *r = &alert->receivers[i];
	return (struct alert_view){.name = r->name,
		.sent = r->sent,
		.failed = r->failed,
		.dropped = r->dropped,
		.queued = r->queued,
		.last_success_ns = r->last_success_ns,
		.failing = r->gap_ns != 0};
}

/* alert_request - what commands ask of the agent about silences, events and tests of receivers. */

struct request {
	struct alert *alert;
	const char *who;
	const json_t *json;
	wall_t now;
};

static json_t *request_refuse(const char *text)
{
	return json_pack("{s:b, s:s}", "ok", 0, "error", text);
}

static json_t *request_silence_add(const struct request *r)
{
	struct silence silence;
	struct err e = {0};
	if (silence_read(r->json, r->who, r->now.ns, &silence, &e) != 0)
		return request_refuse(e.text);
	silences_put(&r->alert->silences, &silence);
	silence_store(r->alert->store, &silence, "silence_added", r->now.ns);
	return json_pack("{s:b, s:o}", "ok", 1, "silence", silence_json(&silence, r->now.ns));
}

static json_t *request_silence_expire(const struct request *r)
{
	const char *id = json_string_value(json_object_get(r->json, "id"));
	struct silence ended;
	struct err e = {0};
	if (silence_end(&r->alert->silences, str_or(id, ""), r->who, r->now.ns, &ended, &e) != 0)
		return request_refuse(e.text);
	silence_store(r->alert->store, &ended, "silence_expired", r->now.ns);
	return json_pack("{s:b, s:o}", "ok", 1, "silence", silence_json(&ended, r->now.ns));
}

static json_t *request_event_add(const struct request *r)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct store_change change;
	struct err e = {0};
	if (change_read(r->json, r->who, r->now.ns, a, &change, &e) != 0)
		return request_refuse(e.text);
	store_change_event(r->alert->store, &change);
	return json_pack("{s:b}", "ok", 1);
}

/* The receiver that is meant; NULL with a reply. */
static struct alert_receiver *request_receiver(const struct request *r, json_t **ret_refused)
{
	const struct alert *alert = r->alert;
	const char *name = json_string_value(json_object_get(r->json, "receiver"));
	rw_cleanup(str_done) struct str text = {0};
	if (!name && alert->n_receivers == 1)
		return &alert->receivers[0];
	struct alert_receiver *found = NULL;
	if (name)
		found = alert_receiver_find(alert, name);
	if (found)
		return found;
	if (alert->n_receivers == 0)
		str_add(&text, "no receiver is configured; see 'alerts:' (docs/alerts.md)");
	else
		str_addf(&text, "%s%.64s%s expected one of", str_if(name, "unknown receiver '"),
			str_or(name, "several receivers are configured;"), str_if(name, "';"));
	for (size_t i = 0; i < alert->n_receivers; i++)
		str_addf(&text, "%s %s", str_if(i, ","), alert->receivers[i].name);
	*ret_refused = request_refuse(text.s);
	return NULL;
}

static json_t *request_test(const struct request *r)
{
	struct alert *alert = r->alert;
	json_t *refused = NULL;
	struct alert_receiver *receiver = request_receiver(r, &refused);
	if (!receiver)
		return refused;
	const struct alert_context context = {.event = ALERT_TEST,
		.fabric = alert->fabric,
		.receiver = receiver->name,
		.web_url = alert->web_url,
		.time_ns = r->now.ns,
		.resend_ns = receiver->config->resend_ns};
	struct receiver_job *job = receiver_job_new(alert_message_test(&context), receiver->name);
	job->ticket = alert->test.ticket + 1;
	if (!receiver_give(receiver->thread, job)) {
		receiver_job_free(job);
		return request_refuse("no thread can be made for it");
	}
	alert->test = (struct alert_test_run){.ticket = alert->test.ticket + 1};
	return json_pack("{s:b, s:I, s:s, s:f}", "ok", 1, "ticket", (json_int_t)alert->test.ticket,
		"receiver", receiver->name, "timeout_s",
		(double)receiver->config->timeout_ns / 1e9);
}

static json_t *request_result(const struct request *r)
{
	const struct alert_test_run *test = &r->alert->test;
	const json_int_t ticket = json_integer_value(json_object_get(r->json, "ticket"));
	if (ticket <= 0 || (uint64_t)ticket != test->ticket)
		return request_refuse("another test was asked for meanwhile; try again");
	return json_pack("{s:b, s:b, s:b, s:s, s:f}", "ok", 1, "done", test->done, "delivered",
		test->done && test->rc == 0, "text", test->text, "took_s",
		(double)test->took_ns / 1e9);
}

static const struct {
	const char *cmd;
	json_t *(*fn)(const struct request *request);
} alert_requests[] = {
	{"silence_add", request_silence_add},
	{"silence_expire", request_silence_expire},
	{"event_add", request_event_add},
	{"alert_test", request_test},
	{"alert_result", request_result},
};

json_t *alert_request(
	struct alert *alert, const char *cmd, const char *who, const json_t *request, wall_t now)
{
	const struct request r = {alert, who, request, now};
	for (size_t i = 0; alert && i < rw_countof(alert_requests); i++)
		if (str_eq(alert_requests[i].cmd, cmd))
			return alert_requests[i].fn(&r);
	return NULL;
}

/* alert_rows - deliveries to rows of table alert and back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/alert/alert_internal.h"
#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/str.h"
#include "agent/incident/incident_json.h"
#include "db/series/history.h"
#include "db/store/store.h"

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

static char *row_copy(const char *text)
{
	if (!text)
		return NULL;
	return rw_strdup(text);
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
	d->error = row_copy(values[R_ERROR]);
	d->labels = row_copy(values[R_LABELS]);
	if (d->sent_ns > receiver->last_success_ns)
		receiver->last_success_ns = d->sent_ns;
	return 0;
}

int alert_rows_load(struct alert *alert, struct history *history, struct err *e)
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

void alert_rows_save(struct alert *alert, const struct alert_receiver *receiver,
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

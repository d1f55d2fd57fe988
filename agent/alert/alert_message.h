/*
 * alert_message - one message about one incident, as the senders take it: all its texts are copied,
 * so that it can go to another thread. Made on the loop, never changed afterwards.
 */
#pragma once

#include "base/base.h"

#include "agent/incident/incident.h"

/* Why a message is sent. */
enum alert_event {
	ALERT_NONE,
	ALERT_OPENED,
	ALERT_ESCALATED, /* the severity rose */
	ALERT_CHANGED, /* another cause is given, as better evidence came */
	ALERT_REMINDER, /* it is still open */
	ALERT_ACKNOWLEDGED,
	ALERT_RESOLVED,
	ALERT_TEST,
	ALERT_EVENTS
};
/* alert_event_name - "opened"; "" for ALERT_NONE. alert_event_parse: ALERT_NONE for other words. */
const char *alert_event_name(enum alert_event event);
enum alert_event alert_event_parse(const char *word);

struct alert_step {
	const char *text, *risk;
};

struct alert_message {
	struct arena *arena; /* of this struct and all its texts */
	enum alert_event event;
	enum severity severity;
	bool resolved;
	bool first; /* of this incident, to this receiver */
	const char *delivery; /* the same when it is sent again because nobody answered */
	const char *id, *fabric, *cause;
	const char *device, *port, *host, *group, *jobs; /* NULL: does not apply; jobs: "a, b" */
	int priority; /* PRIO_NONE */
	const char *headline; /* at most 60 columns */
	const char *summary;
	const char *cost; /* "120 USD/h, 35 USD so far"; NULL: not known */
	const char *runbook; /* its URL, or the command that prints it; NULL in a test */
	const char *acked_by, *url, *why; /* NULL; why: it is resolved for this receiver */
	const struct alert_step *steps;
	size_t n_steps;
	int64_t opened_ns, closed_ns; /* wall; closed 0: it is open */
	int64_t time_ns; /* when the message was made */
	int64_t resend_ns; /* when the next one follows, if nothing changes */
	const char *labels; /* by what an Alertmanager knows the alert, from begin to end: JSON */
	const char *document; /* the incident as JSON */
};

/* What a message needs to know beside the incident. Borrowed. */
struct alert_context {
	enum alert_event event;
	const char *fabric, *receiver, *web_url, *runbook_url, *why;
	const char *labels; /* it was last sent with these; NULL: never */
	int sent; /* messages so far: numbers the delivery */
	int64_t time_ns, resend_ns;
};

/* alert_message_new - alert_message_free() it. */
struct alert_message *alert_message_new(
	const struct incident *incident, const struct alert_context *context);
/* alert_message_test - a message about nothing, to try a receiver. */
struct alert_message *alert_message_test(const struct alert_context *context);
void alert_message_free(struct alert_message *message); /* NULL is fine */

/* alert_put_text - @text under @key, where there is one. */
void alert_put_text(json_t *object, const char *key, const char *text);

/* alert_message_runbook_url - the runbook where it is a URL, else NULL. */
const char *alert_message_runbook_url(const struct alert_message *message);

/* alert_message_word - the state in one word: "critical" while open, else "resolved". */
const char *alert_message_word(const struct alert_message *message);

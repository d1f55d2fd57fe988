/* alert_list - subjects, receivers and deliveries, found and made. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/alert/alert_internal.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"

struct alert_subject *alert_subject_find(const struct alert *alert, const char *id)
{
	for (size_t i = alert->n_subjects; i-- > 0;)
		if (strcasecmp(alert->subjects[i]->id, id) == 0)
			return alert->subjects[i];
	return NULL;
}

struct alert_subject *alert_subject_get(struct alert *alert, const char *id)
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

struct alert_receiver *alert_receiver_find(const struct alert *alert, const char *name)
{
	for (size_t i = 0; i < alert->n_receivers; i++)
		if (str_eq(alert->receivers[i].name, name))
			return &alert->receivers[i];
	return NULL;
}

struct alert_delivery *alert_delivery_find(
	const struct alert_receiver *receiver, const struct alert_subject *subject)
{
	for (size_t i = receiver->n; i-- > 0;)
		if (receiver->v[i]->subject == subject)
			return receiver->v[i];
	return NULL;
}

struct alert_delivery *alert_delivery_get(
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

/* doctor_alerts - the doctor's view of the receivers of alerts: do they answer, was anything lost?
 */
#include <errno.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "agent/document/json_value.h"
#include "agent/answers/alerts/alert_views.h"
#include "agent/answers/doctor/doctor_internal.h"

static void doctor_receiver(struct doctor *doctor, const json_t *receiver)
{
	rw_cleanup(str_done) struct str subject = {0}, remedy = {0};
	const char *name = doc_word(receiver, "receiver");
	const double dropped = doc_number(receiver, "dropped");
	const double queued = doc_number(receiver, "queued");
	str_addf(&subject, "alert receiver %s", name);
	str_addf(&remedy, "rocewatch alert test %s says what it answers", name);
	if (str_eq(doc_word(receiver, "state"), "failing"))
		doctor_todo(doctor, true, subject.s, remedy.s,
			"it does not take alerts, %.0f wait: %s", queued,
			str_or(json_string_value(json_object_get(receiver, "error")),
				"the agent's log says why"));
	if (dropped > 0)
		doctor_todo(doctor, true, subject.s,
			"see 'rocewatch event list --kind alert_failed'",
			"%.0f alerts were given up since the agent started", dropped);
}

int doctor_alerts(struct doctor *doctor, struct err *e)
{
	json_t *doc = alerts_document(doctor->client, e);
	const json_t *receiver;
	size_t k;
	if (!doc && e->code < 0)
		return e->code;
	if (!doc)
		return -EIO;
	json_array_foreach (json_object_get(doc, "receivers"), k, receiver)
		doctor_receiver(doctor, receiver);
	json_object_set(doctor->doc, "alert_receivers", json_object_get(doc, "receivers"));
	json_decref(doc);
	return 0;
}

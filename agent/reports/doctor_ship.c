/* doctor_ship - the doctor's view of where the store's content goes as well: does it arrive, how
 * much waits, was anything dropped? */
#include <math.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/reports/doctor_internal.h"
#include "config/config.h"

#define SHIP_BEHIND_S 300.0

static void ship_judge(struct doctor *doctor, const struct config_sink *sink, const json_t *row)
{
	const double behind_s = doctor_health(doctor, "ship/%s/behind_s", sink->name);
	const double refused = doctor_health(doctor, "ship/%s/refused", sink->name);
	const double lost = doctor_health(doctor, "ship/%s/lost", sink->name);
	rw_cleanup(str_done) struct str subject = {0};
	str_addf(&subject, "ship %s", sink->name);
	if (json_is_true(json_object_get(row, "failing")))
		doctor_todo(doctor, true, subject.s,
			"see 'rocewatch event list --kind ship_failed' for what the server says; "
			"what waits is sent when it takes data again",
			"%s does not take what is sent; %.0f s of data wait", sink->url, behind_s);
	else if (behind_s > SHIP_BEHIND_S)
		doctor_todo(doctor, false, subject.s,
			"wait while it catches up; if it falls behind further, the server or the "
			"way to it is too slow",
			"%s is %.0f s behind", sink->url, behind_s);
	if (lost > 0)
		doctor_todo(doctor, true, subject.s,
			"let more wait (store.ship.spool), and mend the server sooner; this file "
			"still has them",
			"%.0f samples were not sent because too much waited", lost);
	if (refused > 0)
		doctor_todo(doctor, false, subject.s, "see the agent's log for what it answered",
			"%.0f samples were refused for good since the agent started", refused);
}

void doctor_ship(struct doctor *doctor)
{
	static const char *const counts[] = {"samples", "batches", "failures", "refused",
		"waiting_samples", "waiting_bytes", "lost"};
	const struct config *config = doctor->client->config;
	json_t *rows = json_array();
	for (size_t i = 0; config && i < config->ship.n_sinks; i++) {
		const struct config_sink *sink = &config->ship.sinks[i];
		const double failing_s = doctor_health(doctor, "ship/%s/failing_s", sink->name);
		json_t *row = json_object();
		json_object_set_new(row, "name", json_string(sink->name));
		json_object_set_new(row, "kind", json_string(sink_kind_name(sink->kind)));
		json_object_set_new(row, "url", json_string(sink->url));
		json_t *failing = json_null();
		if (isfinite(failing_s))
			failing = json_boolean(failing_s > 0);
		json_object_set_new(row, "failing", failing);
		doctor_put_number(
			row, "behind_s", doctor_health(doctor, "ship/%s/behind_s", sink->name));
		for (size_t k = 0; k < rw_countof(counts); k++)
			doctor_put_count(row, counts[k],
				doctor_health(doctor, "ship/%s/%s", sink->name, counts[k]));
		json_array_append_new(rows, row);
		ship_judge(doctor, sink, row);
	}
	json_object_set_new(doctor->doc, "ship", rows);
}

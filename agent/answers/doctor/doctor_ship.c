/* doctor_ship - the doctor's view of where the store's content goes as well: does it arrive, how
 * much waits, was anything dropped? */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "agent/answers/doctor/doctor_internal.h"
#include "agent/answers/common/store_facts.h"
#include "config/config.h"

#define SHIP_BEHIND_S 300.0

static void ship_judge(
	struct doctor *doctor, const struct config_sink *sink, const struct ship_fact *fact)
{
	const double behind_s = doctor_health(doctor, "ship/%s/behind_s", sink->name);
	const double refused = doctor_health(doctor, "ship/%s/refused", sink->name);
	const double lost = doctor_health(doctor, "ship/%s/lost", sink->name);
	rw_cleanup(str_done) struct str subject = {0};
	char since[WALL_TEXT_MAX];
	str_addf(&subject, "ship %s", sink->name);
	if (fact->failing == MAYBE_YES)
		doctor_todo(doctor, true, subject.s,
			"mend the server or the way to it (events ship_failed have its answers); "
			"what waits is sent when it takes data again",
			"%s does not take what is sent since %s (%s); %.0f s of data wait",
			sink->url, wall_text(since, fact->failing_since, 0),
			str_or(fact->error, "reason not known"), behind_s);
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
	const struct config *config = doctor->client->config;
	size_t n;
	const struct ship_fact *facts =
		ship_facts_read(doctor->client, doctor->health, doctor->arena, &n);
	for (size_t i = 0; i < n; i++)
		ship_judge(doctor, &config->ship.sinks[i], &facts[i]);
	json_object_set_new(doctor->doc, "ship", shape_rows_json(&ship_fact_shape, facts, n));
}

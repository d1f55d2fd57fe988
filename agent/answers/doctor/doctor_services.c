/* doctor_alerts - the doctor's view of the receivers of alerts: do they answer, was anything lost?
 */

#include "agent/answers/common/store_facts.h"
#include "agent/document/json_value.h"
#include "agent/answers/alerts/alert_views.h"
#include "agent/answers/doctor/doctor_internal.h"
#include "config/config.h"

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

/* doctor_jobs - the doctor's view of the files in which a scheduler says what runs where. */

/* Why running jobs are not named. */
static const struct {
	const char *key, *why;
} left_out[] = {
	{"few_hosts", "run on fewer hosts than min_hosts"},
	{"no_gpus", "have an unknown number of GPUs (gpus_per_host)"},
	{"strangers", "run on hosts that no link names"},
	{"too_many", "are beyond the 1,000 largest"},
};

static void doctor_job_file(struct doctor *doctor, const struct config_job_file *file, json_t *rows)
{
	const double jobs = doctor_health(doctor, "job_file/%s/jobs", file->path);
	const double written_s = doctor_health(doctor, "job_file/%s/written_s", file->path);
	const bool read = written_s > 0;
	json_t *row = json_object();
	rw_cleanup(str_done) struct str subject = {0};
	str_addf(&subject, "jobs of %s", file->path);
	json_object_set_new(row, "file", json_string(file->path));
	doctor_put_count(row, "jobs", jobs);
	rw_cleanup(str_done) struct str note = {0};
	for (size_t k = 0; k < rw_countof(left_out); k++) {
		const double n =
			doctor_health(doctor, "job_file/%s/%s", file->path, left_out[k].key);
		doctor_put_count(row, left_out[k].key, n);
		if (n > 0)
			str_addf(&note, "%s%.0f %s", str_if(note.n > 0, "; "), n, left_out[k].why);
	}
	json_object_set_new(row, "note", json_string_or_null(note.s));
	double age_s = NAN;
	if (read)
		age_s = (double)doctor->client->now_ns / NS_PER_S - written_s;
	doctor_put_number(row, "age_s", age_s);
	json_array_append_new(rows, row);
	if (isfinite(jobs) && !read)
		doctor_todo(doctor, false, subject.s,
			"let cron write it: squeue --json > FILE.new && mv FILE.new FILE; the "
			"agent's log says what is wrong",
			"the file was never read: no job of it is named");
	else if (doctor_health(doctor, "job_file/%s/stale", file->path) > 0)
		doctor_todo(doctor, false, subject.s,
			"see why cron does not write it any more; max_age says how old it may be",
			"the file is %.0f s old: its jobs are no longer named", age_s);
	const double strangers = doctor_health(doctor, "job_file/%s/strangers", file->path);
	if (strangers > 0 && jobs == 0)
		doctor_todo(doctor, false, subject.s,
			"compare the hosts of squeue with those of 'rocewatch topology show'",
			"none of its %.0f jobs runs on a host that the links name", strangers);
}

void doctor_jobs(struct doctor *doctor)
{
	const struct config *config = doctor->client->config;
	json_t *rows = json_array();
	for (size_t k = 0; k < config->n_job_files; k++)
		doctor_job_file(doctor, &config->job_files[k], rows);
	json_object_set_new(doctor->doc, "job_files", rows);
}

/* doctor_ship - the doctor's view of where the store's content goes as well: does it arrive, how
 * much waits, was anything dropped? */

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

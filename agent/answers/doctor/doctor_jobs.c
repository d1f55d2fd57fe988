/* doctor_jobs - the doctor's view of the files in which a scheduler says what runs where. */
#include <math.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "agent/document/json_value.h"
#include "agent/answers/doctor/doctor_internal.h"
#include "config/config.h"

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

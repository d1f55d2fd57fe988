/*
 * doctor_internal - what the parts of the doctor share. For doctor*.c only.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "agent/answers/doctor/doctor.h"
#include "agent/client/client.h"

#define DOCTOR_LOST_SHARE 0.05 /* of polls that met a timeout, of flow rows that came late */

struct config_capture;

struct doctor_todos {
	struct store_alarm *v;
	size_t n;
};

struct doctor {
	struct client *client;
	json_t *health; /* key -> number: what the agent wrote of itself */
	int64_t health_ns; /* when; 0 = never */
	int64_t clock_step_ns; /* when the clock was set last; 0 = it was not, or not known */
	int64_t config_ns; /* when the configuration in force came into force; 0 = not known */
	struct arena *arena; /* of the answer */
	struct doctor_answer *answer;
	json_t *doc; /* the answer's */
	struct doctor_todos critical, warning;
};

/* doctor_todo - adds one thing to do: what is wrong by @fmt, and the remedy. */
void doctor_todo(struct doctor *doctor, bool critical, const char *subject, const char *remedy,
	const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* doctor_health - a number that the agent wrote of itself, by its key; NAN when it did not. */
double doctor_health(const struct doctor *doctor, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* doctor_text - a copy of @text in the arena of the answer; NULL stays. */
const char *doctor_text(struct doctor *doctor, const char *text);
uint64_t doctor_count(double value); /* a whole number; COUNT_UNKNOWN for NAN */
json_t *doctor_count_or_null(double value); /* a whole number; null for NAN */
void doctor_put_number(json_t *object, const char *key, double value);
void doctor_put_count(json_t *object, const char *key, double value);

/* doctor_missed_polls - those that the agent @counted, and those that should have happened since
 * the last answer, @since_s ago, of a device that is asked every @interval_s. @step_s: since the
 * clock was set, NAN when it was not. */
double doctor_missed_polls(double counted, double since_s, double step_s, double interval_s);

enum disk_room { DISK_ROOMY, DISK_SHORT, DISK_FULL_SOON };

/* doctor_disk_room - whether @free_bytes, a @free_ratio of the disk, last for a database that grows
 * by @growth_bytes_day. NAN = not known. */
enum disk_room doctor_disk_room(double free_ratio, double free_bytes, double growth_bytes_day);

/* The parts; each adds its keys to the document and what is to be done. 0 or negative errno. */
int doctor_targets(struct doctor *doctor, struct err *e);
int doctor_alerts(struct doctor *doctor, struct err *e);
int doctor_coverage(struct doctor *doctor, struct err *e);
void doctor_captures(struct doctor *doctor);
void doctor_traps(struct doctor *doctor);
void doctor_push(struct doctor *doctor); /* receivers of what devices push */
void doctor_jobs(struct doctor *doctor); /* files of the scheduler */
void doctor_agents(struct doctor *doctor); /* who shares the fabric, and the judge */
void doctor_ship(struct doctor *doctor); /* where the store's content goes as well */
/* doctor_names - "192.0.2.9 17, ...": what the keys FAMILY/NAME/@begin... of health name. */
void doctor_names(const struct doctor *doctor, const char *family, const char *name,
	const char *begin, struct str *out);
/* doctor_sflow - of a capture with 'listen'; adds to its notes, each with "; " behind it. */
void doctor_sflow(struct doctor *doctor, const struct config_capture *capture, struct str *notes);

/*
 * store_records - everything that is stored besides samples: one tagged union, and one table that
 * names the columns of each kind. The table serves twice: to copy a record's texts while it waits,
 * and to bind it in the backend's own language. A new stored fact is a member of its struct
 * (store.h) and a row of the table.
 */
#pragma once

#include "db/store/store.h"

enum record_kind {
	/* lists */
	RECORD_ENTITIES,
	RECORD_NAMES_GONE,
	RECORD_TEXTS,
	RECORD_FLOWS,
	RECORD_HEALTH,
	/* one row each, described by record_columns() */
	RECORD_REWIND,
	RECORD_FABRIC,
	RECORD_TARGET,
	RECORD_TARGET_GONE,
	RECORD_DEVICE,
	RECORD_PORT,
	RECORD_INCIDENT,
	RECORD_RECOMMENDATION,
	RECORD_SILENCE,
	RECORD_ALERT,
	RECORD_ALERT_GONE,
	RECORD_EVENT,
	RECORD_BURST,
	RECORD_FINDING,
	RECORD_KINDS
};

struct record_entity { /* a new entity; its names live until entities_reclaim() */
	uint32_t id;
	uint32_t parent; /* ENTITY_NONE for a device */
	uint32_t owner; /* its device; itself for a device */
	int priority; /* 0..7 or PRIO_NONE */
	const char *device, *port;
};
struct record_text { /* a new text value; it lives as long as struct entities */
	uint64_t id;
	const char *text;
};
struct record_rewind {
	int64_t t_ns; /* samples stored so far that are newer are late */
};
struct record_fabric {
	int64_t t_ns;
	const char *yaml;
};
struct record_target_gone {
	const char *device, *protocol;
};
struct record_alert_gone {
	const char *receiver, *incident_id;
};
struct record_event {
	int64_t t_ns;
	/* NULL = does not apply */
	const char *kind, *incident_id, *who, *text, *device, *port, *job;
};

struct store_record {
	enum record_kind kind;
	union {
		struct {
			const struct record_entity *v;
			size_t n;
		} entities;
		struct { /* these were released: nothing more comes of them */
			const uint32_t *v;
			size_t n;
			int64_t t_ns;
		} gone;
		struct {
			const struct record_text *v;
			size_t n;
		} texts;
		struct {
			const struct flow_sample *v;
			size_t n;
		} flows;
		struct {
			const struct store_health *v;
			size_t n;
			int64_t t_ns;
		} health;
		struct record_rewind rewind;
		struct record_fabric fabric;
		struct store_target target;
		struct record_target_gone target_gone;
		struct store_device device;
		struct store_port port;
		struct store_incident incident;
		struct store_recommendation recommendation;
		struct store_silence silence;
		struct store_alert alert;
		struct record_alert_gone alert_gone;
		struct record_event event;
		struct store_finding finding;
		struct store_burst burst;
	};
};

enum column_type { COLUMN_TEXT, COLUMN_BOOL, COLUMN_INT, COLUMN_I64, COLUMN_U64, COLUMN_REAL };
struct record_column {
	const char *name; /* as in the database */
	enum column_type type;
	size_t offset; /* in struct store_record */
};
/* record_columns - of a kind that is one row; NULL and 0 for a list. */
const struct record_column *record_columns(enum record_kind kind, size_t *ret_n);

/*
 * store_queue - a list of jobs in the order they came. A job is one call of the loop with its
 * arguments copied: samples, or one record. Not locked: store.c holds its mutex.
 *
 * While the disk refuses, jobs pile up. Each job belongs to a class, which says what may be
 * dropped; the jobs of a class are chained among themselves, so dropping the oldest takes constant
 * time however many others wait.
 */

enum job_class {
	JOB_KEPT, /* names, incidents, decisions: never dropped */
	JOB_VALUES, /* samples and flows: the oldest go beyond a number of values */
	JOB_SPARE, /* states of targets, events, findings: the oldest go beyond a number of jobs */
	JOB_NEWEST, /* the agent's own health: only the newest counts */
	JOB_CLASSES
};

struct job {
	struct job *next, *before; /* in the order they came */
	struct job *class_next, *class_before;
	uint64_t number; /* 1, 2, ... in the order the store was given them */
	enum job_class class;
	size_t n_values; /* samples or flows in it: what the queue's bound counts, and may drop */
	const struct sample *samples; /* NULL: .record is the job */
	struct store_record record;
};

struct jobs { /* zeroed to start */
	struct job *first, *last;
	size_t n_values; /* of all its jobs */
	struct {
		struct job *first, *last;
		size_t n;
	} classes[JOB_CLASSES];
};

struct job *job_of_samples(const struct sample *samples, size_t n);
struct job *job_of_record(const struct store_record *record);
void job_free(struct job *job); /* NULL is fine */

void jobs_free(struct jobs *jobs); /* the jobs in it */
void jobs_push(struct jobs *jobs, struct job *job);
struct job *jobs_pop(struct jobs *jobs); /* NULL when it is empty */
/* jobs_prepend - all of @front before @jobs; @front is left empty. */
void jobs_prepend(struct jobs *jobs, struct jobs *front);
void jobs_remove(struct jobs *jobs, struct job *job); /* unlinks @job and frees it */

/* What was taken out of a queue. */
struct jobs_dropped {
	uint64_t jobs, values;
};
/* jobs_drop_values - the oldest jobs with values, until at most @max_values are left.
 * jobs_drop_class - the oldest jobs of @class, until at most @max of them are left. */
struct jobs_dropped jobs_drop_values(struct jobs *jobs, size_t max_values);
struct jobs_dropped jobs_drop_class(struct jobs *jobs, enum job_class class, size_t max);

struct store;
/* store_hand_over - copies @record and leaves it to the writer of @store; never waits for the disk
 * but in replay. */
void store_hand_over(struct store *store, const struct store_record *record);

/*
 * store_records - everything that is stored besides samples: one tagged union, and one table that
 * names the columns of each kind. The table serves twice: to copy a record's texts while it waits,
 * and to bind it in the backend's own language. A new stored fact is a member of its struct
 * (store.h) and a row of the table.
 */
#ifndef RW_DB_STORE_RECORDS_H
#define RW_DB_STORE_RECORDS_H

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

/* record_size - bytes that a copy of @record needs besides struct store_record itself.
 * record_copy - @to becomes a copy of @from that depends on nothing but those bytes at @room. */
size_t record_size(const struct store_record *record);
void record_copy(struct store_record *to, const struct store_record *from, void *room);

#endif

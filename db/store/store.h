/*
 * store - the write side, for agent/ only: everyone else reads through history.h. One writer per
 * store.
 *
 * A thread of its own writes. The loop hands it whole batches; it commits when the burst of polls
 * is over (50 ms without more) or after 1 s, whichever is first: kill -9 loses at most that second.
 * While the disk is full or the file is locked, batches wait in memory (bounded: then the oldest
 * samples are dropped and counted), the log gets a complaint with growing gaps, and writing goes on
 * when it can.
 */
#pragma once

#include "base/base.h"
#include "db/model/entity.h"
#include "db/model/flow.h"
#include "db/model/metric.h"

struct store;

struct store_options {
	const char *path;
	bool replay; /* no thread, no retention: the caller's thread writes */
	/* A replay makes this store: it holds the past of another one, so its newest sample is its
	 * "now". The store says so itself until an agent writes it. */
	bool recorded;
	uint64_t quota_bytes; /* 0 = none */
	int64_t raw_ns, minute_ns, hour_ns; /* retention; 0 = for ever */
	int64_t events_ns, incidents_ns;
	size_t max_pending; /* samples kept while the disk refuses; 0 = 4 M */
	/* A file that is damaged at each attempt to open it for so long is set aside, and a new one
	 * begun: a disk or memory that misreads for a moment must not end a history. 0 = 5 min */
	int64_t set_aside_ns;
	bool set_aside; /* the store's own: that time is over */
	/* the write-ahead log is copied into the file from so many pages on; 0 = 1,000 (8 MB) */
	int log_pages;
	/* Each commit also keeps its samples and records for sinks (db/ship), until
	 * store_spool_done(), and the newest so many bytes of them (0 = 4 GB). */
	bool spool;
	uint64_t spool_bytes;
	int64_t spool_done; /* the store's own */
};

/*
 * store_open - opens or makes the store of @options->path through @backend and starts its thread;
 * db_store_open() of db/open.h knows the backend. @entities is lent for the store's life: the store
 * reads new names there, and knows its own by name. 0, -EBUSY (another writer: its pid is in the
 * message), -EINVAL (not a rocewatch database, or newer than this program).
 *
 * What may pass by itself (a full or broken disk, a missing or read-only mount) is no failure,
 * unless @options->replay: the store then waits, keeps what it is given in memory as it does for a
 * full disk, and goes on trying. store_is_waiting() says so. The same when opening takes longer
 * than OPEN_NS.
 */
struct store_backend;
int store_open(const struct store_backend *backend, const struct store_options *options,
	struct entities *entities, struct store **ret, struct err *e);
/* store_close - commits what is pending (waits at most 5 s), checkpoints, releases the lock. False
 * when the disk did not answer: a thread of the store may then still read the entities, which must
 * not be freed. */
bool store_close(struct store *store);

/* store_keep - takes over the quota and the ages of @options, after a reload. Any thread. */
void store_keep(struct store *store, const struct store_options *options);

/* store_spool_done - every sink has the spool's rows up to this one: they go. Any thread. */
void store_spool_done(struct store *store, int64_t id);

/* Loop thread. The list is copied. New entities and texts are sent along by themselves. */
void store_samples(struct store *store, const struct sample *samples, size_t n);
void store_flows(struct store *store, const struct flow_sample *flows, size_t n);

/* store_names_gone - these ids were released (entities_gone()): no sample of them comes any more.
 * The names are in use by the store until store_committed() of store_handed(). */
void store_names_gone(struct store *store, const struct entities *entities, int64_t t_ns);

/* The configuration in force from @t_ns on (YAML, secrets masked); a text equal to the newest
 * stored one is not stored again. */
void store_fabric(struct store *store, int64_t t_ns, const char *yaml);

/* store_rewind - the clock was set back: samples handed over before whose time is after @t_ns are
 * flagged late, so that no window mixes them with those that come now. They are kept. */
void store_rewind(struct store *store, int64_t t_ns);

struct store_target {
	const char *device, *protocol; /* "snmp", "gnmi", "pcap" */
	/* state: idle starting up backoff; reason "" when up */
	const char *address, *state, *reason;
	bool up;
	int64_t since_ns, last_success_ns, now_ns; /* wall; 0 = never */
	double poll_p50_s, poll_p95_s; /* NAN unknown */
	uint64_t polls, timeouts, errors, values;
};
void store_target(
	struct store *store, const struct store_target *target); /* upsert by (device, protocol) */
/* removed by a reload */
void store_targets_gone(struct store *store, const char *device, const char *protocol);

struct store_device {
	const char *name, *role, *profile, *sysname, *descr;
	int64_t t_ns;
};
struct store_port { /* dated attributes; a row is added when something changed */
	const char *device, *port, *alias, *peer_device, *peer_port;
	uint64_t speed_bps;
	int64_t t_ns;
};
void store_device(struct store *store, const struct store_device *device);
void store_port(struct store *store, const struct store_port *port);

/* An incident as it now stands: replaced by id. @json is its whole contract form; the columns are
 * for views and sorting. */
struct store_incident {
	const char *id, *cause, *severity, *state, *device, *port, *group, *host, *summary, *json;
	int priority;
	int64_t opened_ns, closed_ns, updated_ns; /* closed 0 = not */
	double usd_per_hour, usd_total, confidence; /* NAN unknown */
	const char *acked_by; /* NULL */
};
void store_incident(struct store *store, const struct store_incident *incident);

/* A threshold recommendation as it now stands: replaced by id. @json is the whole sheet with its
 * life. [from, to] is what it rests on: kept while it is open. */
struct store_recommendation {
	/* who: of the latest change; NULL */
	const char *id, *incident_id, *device, *port, *state, *advice, *summary, *json, *diagnosis,
		*who;
	int priority;
	int64_t t_ns, from_ns, to_ns, updated_ns;
};
void store_recommendation(struct store *store, const struct store_recommendation *recommendation);

/* Alerts that fit a silence are not sent from .from_ns until .until_ns: replaced by id. What the
 * globs leave NULL does not matter. */
struct store_silence {
	const char *id, *device, *port, *host, *job, *cause, *who, *why;
	const char *ended_by; /* who ended it before its time; NULL: nobody did */
	int64_t created_ns, from_ns, until_ns;
};
void store_silence(struct store *store, const struct store_silence *silence);

/* What one receiver knows of one incident, and what it shall be told: replaced by both. */
struct store_alert {
	const char *receiver, *incident_id;
	const char *state; /* of what was sent last: "" "open" "resolved" */
	const char *severity, *cause; /* of what was sent last */
	const char *pending; /* what waits to be sent: "" or the word of the event */
	const char *error; /* of the last attempt; NULL: none */
	const char *labels; /* by which an Alertmanager knows it; NULL */
	int64_t sent_ns, pending_ns, updated_ns; /* wall; 0 = never */
	int attempts; /* at what is pending */
	int sent; /* messages so far */
	bool acked; /* the acknowledgement was sent to it */
};
void store_alert(struct store *store, const struct store_alert *alert);
void store_alert_gone(struct store *store, const char *receiver, const char *incident_id);

void store_event(struct store *store, int64_t t_ns, const char *kind, const char *incident_id,
	const char *who, const char *text);

/* store_device_event - what happened to a device or one of its ports, with our own or the device's
 * words. @port NULL = the device. */
void store_device_event(struct store *store, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text);

/* store_change_event - what a person says happened: any of @device, @port and @job may be NULL. */
struct store_change {
	int64_t t_ns;
	const char *kind, *who, *text, *device, *port, *job;
};
void store_change_event(struct store *store, const struct store_change *change);

/* store_burst - one part of the single values that a device pushed around an incident. */
struct store_burst {
	int64_t t_ns; /* when it was asked for: the same for all parts */
	const char *incident_id, *device;
	int64_t from_ns, to_ns; /* of the values */
	int part, parts; /* from 0 */
	const char *objects; /* with part 0: what its object numbers mean; else NULL */
	const char *data; /* Base64 */
};
void store_burst(struct store *store, const struct store_burst *burst);

/*
 * store_health - what the agent says of itself, for "doctor": the whole snapshot of one instant,
 * which replaces the one before.
 * @measures[].key is a path such as "process/rss_bytes" or "target/leaf1/snmp/varbinds"; NAN values
 * are stored as NULL. Copied.
 */
struct store_health {
	const char *key, *unit;
	double value;
};
void store_health(struct store *store, int64_t t_ns, const struct store_health *measures, size_t n);

/* Findings of one window (all verdicts but UNDER and IDLE are kept), for views and timelines. */
struct store_finding {
	int64_t from_ns, to_ns;
	const char *analyzer, *cause, *verdict, *severity, *device, *port, *group, *host, *summary;
	int priority;
	double value, warn, confidence;
};
void store_finding(struct store *store, const struct store_finding *finding);

/*
 * Read your write, without blocking the loop: store_handed() is the number of the newest thing that
 * was handed over; after store_hurry() it is committed without waiting for the end of a burst; once
 * store_committed() of that number is true, every reader sees it. Any thread.
 */
uint64_t store_handed(struct store *store);
void store_hurry(struct store *store);
bool store_committed(struct store *store, uint64_t handed);

/* store_flush - block until everything handed over is committed or refused (tests, replay,
 * shutdown). 0 or negative errno. */
int store_flush(struct store *store, struct err *e);

/* The tiers in which samples are kept: as they came, and by the minute and the hour. */
enum store_tier { STORE_RAW, STORE_MINUTE, STORE_HOUR, STORE_TIERS };
extern const char *const store_tier_names[STORE_TIERS]; /* raw, minute, hour */

/* What fills the store. */
enum store_use {
	STORE_USE_SAMPLES,
	STORE_USE_FLOWS,
	STORE_USE_FINDINGS,
	STORE_USE_EVENTS,
	STORE_USE_INCIDENTS,
	STORE_USE_NAMES,
	STORE_USE_CONFIGURATION,
	STORE_USES
};
extern const char *const store_use_names[STORE_USES];

struct store_usage {
	uint64_t quota_bytes, used_bytes; /* used: without the space that deletion left */
	bool stuck; /* over the quota, and nothing more may be deleted */
	bool counted; /* .by is known */
	uint64_t by[STORE_USES]; /* bytes */
	/* of each tier: the end of its oldest piece that may go, 0 = not known or none; and the
	 * quota, not its age, decides how far it reaches back */
	int64_t oldest_ns[STORE_TIERS];
	bool cut[STORE_TIERS];
	/* by which the store grows, bytes a day, NAN = not known yet; and when it thus reaches its
	 * quota, 0 = not foreseen */
	double growth_bytes_day;
	int64_t full_ns;
	/* damaged samples: devices whose rows cannot be sealed for it, and hours of single devices
	 * whose minutes were made without a metric; since the file was opened */
	uint64_t damaged_devices, damaged_hours;
};

struct store_stats {
	uint64_t samples, commits, dropped, errors, pending, wal_bytes;
	/* states of targets, events and findings that were dropped, as .dropped counts samples */
	uint64_t dropped_records;
	/* attempts to copy the log into the file that failed; .log_stuck: the newest one did */
	uint64_t log_errors;
	bool log_stuck;
	/* the file was deleted or replaced: .rescued counts how often it was written back,
	 * .misplaced: what stands at its path is another one */
	uint64_t rescued;
	bool misplaced;
	bool retention_failed; /* the newest attempt to delete old data */
	bool compact_failed; /* the newest attempt to seal samples, or to make minutes and hours */
	bool retention_held; /* the clock is far ahead of the data: nothing is deleted */
	int64_t last_commit_ns; /* wall */
	struct store_usage usage; /* of the newest retention pass */
	/* commits that took longer than a second, and the longest of all */
	uint64_t slow_commits;
	int64_t slowest_ns;
};
void store_stats(struct store *store, struct store_stats *ret); /* any thread */

/* store_state_now - the same in short, for people: does it write, or since when and why does it
 * wait? Any thread. */
struct store_state;
void store_state_now(struct store *store, struct store_state *ret);
/* store_is_waiting - could its file not be opened so far? Any thread. */
bool store_is_waiting(struct store *store);

/* store_watch - loop's thread, about once a second: says when the disk does not answer, and when it
 * does again. */
void store_watch(struct store *store, mono_t now);

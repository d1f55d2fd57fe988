/*
 * collector - from the network to samples. A target is one device over one protocol; its life is
 * this machine, changed in one function (target_change) that logs old, new and reason:
 *
 *      IDLE --start--> STARTING --first full answer--> UP
 *                        |  ^                           |
 *                 no answer  +--retry timer--+    lost (deadline passed, refused, ...)
 *                        v                   |          |
 *                      BACKOFF <-------------+----------+
 *
 * Retries are capped at about three poll intervals: a short outage must not become a long one. One
 * target never delays another. Everything runs on the loop thread.
 */
#pragma once

#include "base/base.h"
#include "base/log.h"
#include "collectors/target/reason.h"
#include "config/topology.h"
#include "db/model/entity.h"
#include "db/model/flow.h"
#include "db/model/metric.h"

enum target_state { TARGET_IDLE, TARGET_STARTING, TARGET_UP, TARGET_BACKOFF };
const char *target_state_name(enum target_state state);

/* Where a collector delivers what it collects; implemented by the pipeline. Arrays are lent for the
 * call. */
struct target;
struct collector_burst { /* one part of the single values of a device; lent for the call */
	const char *incident, *device;
	int64_t t_ns; /* when they were asked for */
	int64_t from_ns, to_ns; /* of the values */
	unsigned part, parts; /* from 0 */
	const char *objects; /* with part 0, as config/push_objects.h has them, each ended by ";" */
	const uint8_t *data; /* collectors/push/burst.h */
	size_t n;
};
struct sink {
	void *arg;
	void (*samples)(void *arg, const struct sample *samples, size_t n);
	void (*flows)(void *arg, const struct flow_sample *flows, size_t n);
	/* state or statistics changed; at most about once a poll */
	void (*target)(void *arg, const struct target *target);
	void (*device)(void *arg, const char *device, const char *profile, const char *sysname,
		const char *descr);
	void (*port)(void *arg, const char *device, const char *port, const char *alias,
		uint64_t speed_bps);
	void (*event)(void *arg, int64_t t_ns, const char *kind, const char *device,
		const char *port, const char *text);
	/* The device's own identity and all its LLDP neighbours; replaces what was reported before.
	 * May be NULL: then neighbours are not read. */
	void (*neighbors)(void *arg, const struct topology_device *self,
		const struct topology_neighbor *neighbors, size_t n);
	/* One part of what collector.pin was asked for. May be NULL. */
	void (*burst)(void *arg, const struct collector_burst *burst);
};

#define TARGET_POLL_HISTORY 64
struct target {
	const char *device, *protocol, *address; /* borrowed from the collector's own copy */
	enum target_state state;
	/* why it is not up, a sentence; while it is up: why no value comes although it is, else ""
	 */
	char reason[REASON_TEXT_MAX];
	enum reason_code reason_code;
	wall_t since, last_success;
	mono_t polled; /* the last successful poll; 0: none */
	uint64_t polls, timeouts, errors, values;
	/* values asked of the device, whatever became of them: the load put on it */
	uint64_t varbinds;
	/* polls that are missing between two successful ones; those since the last one are not
	 * counted yet */
	uint64_t missed;
	/* readings of counters that cannot be true: kept, flagged, no rate is taken from them */
	uint64_t suspects;
	/* of the newest poll: values in another order than that of OIDs; table columns that were
	 * given up, because answers went round or the table has too many rows */
	uint32_t out_of_order, cut_columns;
	uint32_t no_cell; /* values in buffer cells that are not stored: nobody tells their size */
	int64_t uptime_stands_ns; /* sysUpTime has not moved for so long; 0: it moves, or is not
				     read */
	int64_t interval_ns; /* how often it is asked; 0 = not said: nothing is missed */
	unsigned max_repetitions; /* of SNMP GETBULK, as learned; 0 = has none */
	float poll_s[TARGET_POLL_HISTORY]; /* ring of the last poll durations, seconds */
	uint32_t n_poll; /* ever */
	struct complaint complaint;
};
/* target_change - the only place that changes .state, logs old, new and reason. @reason NULL: the
 * last one stays, until the target is up. */
void target_change(struct target *target, enum target_state to, mono_t mono, wall_t wall,
	const struct reason *reason);
/* target_polled - one successful poll, which took @seconds. */
void target_polled(struct target *target, double seconds, mono_t mono, wall_t wall);
/* p50 and p95 over the ring; NAN when empty. */
void target_poll_quantiles(const struct target *target, double *ret_p50, double *ret_p95);

/* ---- the interface of a collector ---------------------------------------- */

struct config;
struct loop;
struct push_hub;

enum collector_role {
	COLLECTS_PACKETS, /* of a link: it is no protocol of a device */
	/* Protocols of a device. Where a device is asked over both, each series comes from the
	 * preferred one, unless that one's prefers_other() leaves it to the other. */
	COLLECTS_DEVICE,
	COLLECTS_DEVICE_PREFERRED,
	COLLECTS_DEVICE_PUSHED, /* what it sends by itself wins over both */
};

/* What the collectors of a device have learned of it, for those that hear of it by other means.
 * Lent until the next turn of the loop; NULL when nobody knows. */
struct collector_lookup {
	void *arg;
	const char *(*port_name)(void *arg, const char *device, uint32_t ifindex);
	const char *(*peer)(void *arg, const char *device); /* "192.0.2.1:161" */
};

/* How many bytes of what was delivered still wait for whoever takes them; .bytes NULL: none ever.
 */
struct collector_backlog {
	void *arg;
	size_t (*bytes)(void *arg);
};

struct collector_env { /* all lent for the life of the instance */
	struct loop *loop;
	struct entities *entities;
	const struct config *config; /* until a successful update() */
	const struct sink *sink; /* copied by open() */
	struct collector_lookup lookup;
	const struct collector *row; /* that is opened */
	struct collector_backlog backlog;
	struct push_hub *hub; /* NULL: nothing is pushed */
};

/* One place of the configuration that asks for an instance. Lent by the configuration. */
struct collector_place {
	const char *name; /* of the device or capture */
	const char *address; /* that a person knows it by */
	const void *config; /* struct config_device or struct config_capture */
};

/* One number that an instance knows about itself: "messages", "", 17. */
typedef void collector_figure_fn(void *arg, const char *key, const char *unit, double value);

/* What became of a stream that was asked for. */
enum collector_outcome {
	OUTCOME_FINE,
	OUTCOME_HAS_NONE, /* it was taken, and the device has none of its values */
	OUTCOME_REFUSED,
	OUTCOME_SILENT /* it was taken, and the device does not answer, or not any more */
};

/* What one row of the profile brought, for "profile test". Lent for the call. */
struct collector_value {
	const char *table; /* table or stream */
	const char *how; /* how the stream is asked: "stream", "once" ... ; NULL = has no ways */
	const char *path; /* OID or path */
	const char *what; /* metric or attribute */
	const char *doc, *type; /* type: of the first value, "" */
	const char *trouble; /* why the stream does not deliver; "" */
	bool slow, fallback;
	bool pending; /* its table is not read to the end yet: 0 rows say nothing */
	enum collector_outcome outcome; /* of the whole stream */
	size_t rows; /* answered */
	size_t zero; /* of these, 0 */
	bool no_cell; /* its values are in buffer cells, and nobody tells their size */
	size_t wrong_type; /* no number where a metric needs one, or no text where a name is */
};
typedef void collector_value_fn(void *arg, const struct collector_value *value);

/* One row for each way to collect. An instance is what open() makes of one place. */
struct collector {
	const char *name; /* "snmp": the protocol in views and in the database */
	enum collector_role role;
	/* It parses what anybody can send who can send packets: the agent runs it in a process
	 * of its own. Then .same compares the place alone, and of the rest only .figures counts. */
	bool own_process;
	const char
		*family; /* of its figures in the agent's health: "gnmi"; NULL without figures() */

	/* place - number @i of the configuration's devices or captures. False past the end;
	 * ret->config NULL where that one does not ask for this collector. */
	bool (*place)(const struct config *config, size_t i, struct collector_place *ret);
	/* open - what may heal leaves the instance in BACKOFF with the reason. 0, or negative errno
	 * with @e for what cannot: the caller shows it as down and tries again later. */
	int (*open)(const struct collector_env *env, const void *config, void **ret, struct err *e);
	/* same - would the new place in @config collect exactly as now? Then update() re-borrows
	 * and the session goes on. */
	bool (*same)(const void *instance, const void *place, const struct config *config);
	void (*update)(void *instance, const void *place, const struct config *config);
	void (*close)(void *instance);
	const struct target *(*state)(const void *instance);
	/* The rest may be NULL. */
	void (*figures)(const void *instance, collector_figure_fn *fn, void *arg);
	bool (*prefers_other)(const void *instance, unsigned metric);
	void (*values)(const void *instance, collector_value_fn *fn, void *arg);
	/* pin - hand the single values from @from_ns to @to_ns of @devices, or of all of them when
	 * there are none, to the sink's .burst, soon. They belong to incident @id. */
	void (*pin)(void *instance, const char *id, int64_t from_ns, int64_t to_ns,
		const char *const *devices, size_t n);
	/* for struct collector_lookup */
	const char *(*port_name)(const void *instance, uint32_t ifindex);
	const char *(*peer)(const void *instance);
};

/* RW_COLLECTORS of the top CMakeLists.txt, ended by NULL. */
extern const struct collector *const collectors[];

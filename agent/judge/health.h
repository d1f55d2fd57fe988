/*
 * health - figures that only the running agent has, gathered on the loop every few seconds and
 * written as one snapshot (store_health), so that "doctor" reads them from the database.
 * Keys:
 *
 *   process/   rss_bytes, started_s (wall clock), config_refused (1 = a reload was refused and the
 *              file on disk is not in force), config_refused_s (when, wall clock),
 *              boot/ID (value 1), booted_s (the machine's start by the wall clock)
 *   process/sandbox/  walls (0: none, 1: system calls, 2: system calls and files)
 *   process/web/  running, starts (where http.listen is configured)
 *   pipeline/  samples late duplicates refused restarts suspects flows late_flows windows
 *              findings failed
 *   class/PRIORITY/  the facts of analyzers/measure/class_world.h, by name
 *   store/     commits samples dropped errors pending wal_bytes last_commit_s (wall clock)
 *   target/NAME/PROTOCOL/  interval_s values_per_s varbinds_per_s missed suspects max_repetitions
 *                          uptime_stands_s out_of_order cut_columns no_cell
 *   gnmi/NAME/             messages bytes updates refused wrong_types unknown_paths odd_times
 *                          stale reconnects stalls skew_s; in words, value 1: unknown_path/PATH
 *                          (one of them), has_none/STREAM, trouble/SENTENCE
 *   capture/NAME/          frames roce bad kernel_drops parser_ends parser_refused unsent; of sFlow
 * also datagrams strangers bad_datagrams lost_datagrams unmapped_ports ...
 *   traps/     open received events informs repeated unknown_sender wrong_credential malformed
 *              unknown_trap limited
 *   FAMILY/NAME/refused:REASON:SENDER  of captures, push and traps (NAME snmp): how often a sender
 *              was refused (collectors/target/refused.h)
 *   alert/NAME/            sent failed dropped queued failing last_success_s (wall clock)
 *
 * Loop thread.
 */
#pragma once

#include "base/base.h"

#include "collectors/target/collector.h"

struct pipeline_counters;
struct trap_counters;
struct store;
struct health;
struct memory_counts;
struct memory_watch;
struct world_facts;

#define HEALTH_EVERY_NS (5 * NS_PER_S)

/* health_rate - how fast a growing count grew over the last one to two minutes; embed one, zeroed,
 * per count. */
struct health_rate {
	struct {
		int64_t t_ns;
		uint64_t count;
	} now, before; /* monotonic */
};
/* Per second; NAN until there are five seconds to divide by. A count that went back begins anew. */
double health_rate(struct health_rate *rate, mono_t now, uint64_t count);

struct health_source { /* what the rates of one target need to know of its past */
	struct health_rate values, varbinds;
};
struct health *health_new(wall_t started);
void health_free(struct health *health); /* NULL is fine */

void health_begin(struct health *health, mono_t now);
void health_memory(struct health *health, const struct memory_counts *counts);
/* health_boot - which run of the machine this is ("": not known), and its beginning by the wall
 * clock: by these the next agent sees that the clock was set while none ran. */
void health_boot(struct health *health, const char *boot, int64_t booted_ns);
/* health_config - @refused: when a reload was refused; 0 = the file is in force. */
void health_config(struct health *health, wall_t refused);
void health_pipeline(struct health *health, const struct pipeline_counters *counters);
/* health_class - what the newest window says of a lossless class; NULL: nothing. */
void health_class(struct health *health, const struct world_facts *facts);
/* health_names - how many names are known, how often a new one was refused, how many were
 * @released, and which devices are near their bound. */
void health_names(struct health *health, const struct entities *entities, uint64_t released);
/* @name as in the configuration. */
void health_target(struct health *health, struct health_source *past, const char *name,
	const struct target *target);
/* health_figure - one number of a collector instance, as FAMILY/NAME/KEY. @unit lives as long as
 * the snapshot. */
void health_figure(struct health *health, const char *family, const char *name, const char *key,
	const char *unit, double value);
/* NULL = wanted, but the receiver could not be opened */
void health_traps(struct health *health, const struct trap_counters *counters);
void health_commit(struct health *health, struct store *store, int64_t now_ns);

/*
 * memory_watch - is there enough memory? Two files of the kernel say so:
 *
 *      memory.events     of our control group: how often it was held back at memory.high, met
 *                        memory.max, ran out (oom) and lost a process (oom_kill); see
 *                        Documentation/admin-guide/cgroup-v2.rst of Linux
 *      memory.pressure   of our control group, or /proc/pressure/memory: the share of the last ten
 *                        seconds in which somebody waited for memory;
 * Documentation/accounting/psi.rst
 *
 * Both are opened once, before the process gives its rights away; then they are only read again.
 * Where the kernel has neither, nothing is said. Loop thread.
 */

#define MEMORY_TEXT_MAX 256

enum { MEMORY_HIGH, MEMORY_MAX, MEMORY_OOM, MEMORY_OOM_KILL, MEMORY_COUNTS };

struct memory_counts {
	bool counted; /* .n is known */
	uint64_t n[MEMORY_COUNTS]; /* since the watch began */
	double stalled_ratio; /* of the last ten seconds; NAN = not known */
};

/* memory_watch_new - @cgroup: where control groups are mounted; @proc: /proc. Never NULL. */
struct memory_watch *memory_watch_new(const char *cgroup, const char *proc);
void memory_watch_free(struct memory_watch *watch); /* NULL is fine */

/* memory_watch_look - about once a second. True: there is something to say that was not said in the
 * last ten minutes, in @what. */
bool memory_watch_look(struct memory_watch *watch, mono_t now, char *what, size_t size);

/* memory_watch_counts - as of the last look; NULL = the kernel does not say. Lent. */
const struct memory_counts *memory_watch_counts(const struct memory_watch *watch);

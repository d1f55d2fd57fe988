/*
 * doctor - how the collection itself is doing: each part adds its facts to the document and what is
 * to be done to a list. This file: data quality, store and process; doctor_targets and
 * doctor_captures the rest. A count that only grows is judged as a share of what it is a part of,
 * so that one bad hour does not ask for attention for ever.
 */
#include "agent/answers/doctor/doctor.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "agent/answers/doctor/doctor_internal.h"
#include "agent/client/peek.h"
#include "agent/document/json_value.h"
#include "config/config.h"
#include "db/series/history.h"

#define SILENT_NS (60 * NS_PER_S) /* an agent writes its health every 5 s */
#define DATA_SHARE 0.001 /* of samples, that may be suspect, late or refused */
#define DUPLICATE_SHARE 0.01
#define SLOW_SHARE 0.01 /* of commits, that may take longer than a second */
#define NAMES_MANY 0.8 /* of the names that all devices may have */
/* A disk is short where little is left of it and that is little for what is written: 3 % of 20 TB
 * are years, and 5 GB are less than a day of a large fabric. */
#define DISK_WARN 0.10
#define DISK_WARN_BYTES 4e9
#define DISK_WARN_DAYS 7
#define DISK_CRITICAL 0.03
#define DISK_CRITICAL_BYTES 1e9
#define DISK_CRITICAL_DAYS 1
#define USE_LEAST_BYTES 1e5 /* less is not worth a word */
#define QUOTA_SOON_DAYS 30
#define MEMORY_STALLED 0.2 /* of the time: as the agent's event */
#define WAL_WARN_BYTES 134217728.0 /* as the agent's log */

/* ---- rows ---------------------------------------------------------------- */

#define SHAPE struct doctor_quality
static const struct field doctor_quality_fields[] = {
	COUNT(samples, "All samples.", .unknown = true),
	COUNT(suspect_samples, "Samples that cannot be true.", .unknown = true),
	COUNT(late_samples, "Samples that came too late to be judged.", .unknown = true),
	COUNT(duplicate_samples, "Samples that came twice.", .unknown = true),
	COUNT(restart_samples, "Samples after a restart of a counter.", .unknown = true),
	COUNT(refused_samples, "Samples that were refused.", .unknown = true),
	COUNT(late_flows, "Flows that came too late.", .unknown = true),
	COUNT(failed_windows, "Windows that could not be judged.", .unknown = true),
};
static SHAPE_OF(doctor_quality, "SampleQuality", "Counts of samples since the start of the agent.");
#undef SHAPE

#define SHAPE struct doctor_store
static const struct field doctor_store_fields[] = {
	TEXT(path, "Path."),
	COUNT(writer_pid, "Process that writes it.", .unknown = true),
	TIME(from, "Oldest sample."),
	TIME(to, "Newest sample."),
	NUMBER(span_s, UNIT_SECONDS, "Time between them."),
	COUNT(size_bytes, "Size of the file.", .unknown = true, .unit = UNIT_BYTES),
	COUNT(wal_bytes, "Size of its log.", .unknown = true, .unit = UNIT_BYTES),
	NUMBER(last_commit_age_s, UNIT_SECONDS, "Time since the last commit."),
	NUMBER(canary_age_s, UNIT_SECONDS, "Time since the agent's own heartbeat was stored."),
	COUNT(pending_samples, "Samples that wait to be written.", .unknown = true),
	COUNT(dropped_samples, "Samples that were dropped.", .unknown = true),
	COUNT(failed_commits, "Commits that failed.", .unknown = true),
	NUMBER(disk_free_ratio, UNIT_RATIO, "Free share of the disk."),
	COUNT(disk_free_bytes, "Free bytes of the disk.", .unknown = true, .unit = UNIT_BYTES),
};
static SHAPE_OF(doctor_store, "Store", "The database.", .common = true);
#undef SHAPE

#define SHAPE struct doctor_dropped
static const struct field doctor_dropped_fields[] = {
	COUNT(pipeline_refused, "Samples that were not taken in.", .unknown = true),
	COUNT(pipeline_duplicates, "Samples that came twice.", .unknown = true),
	COUNT(pipeline_late_flows, "Flows that came too late.", .unknown = true),
	COUNT(store_queue, "Samples that found the queue of the store full.", .unknown = true),
};
static SHAPE_OF(doctor_dropped, "Dropped", "Counts of what was left out since the start.");
#undef SHAPE

#define SHAPE struct doctor_process
static const struct field doctor_process_fields[] = {
	COUNT(rss_bytes, "Memory in use.", .unknown = true, .unit = UNIT_BYTES),
	NUMBER(up_s, UNIT_SECONDS, "Time since its start."),
	PART(dropped, doctor_dropped, "What it had to leave out."),
	TEXT(sandbox, "What is closed to it: `system calls`, `files` or both.", .optional = true),
};
static SHAPE_OF(doctor_process, "Process", "The process of the agent.");
#undef SHAPE

/* ---- what the agent wrote of itself --------------------------------------- */

static int take_health(void *arg, int n, char *const *words, char *const *names)
{
	struct doctor *doctor = arg;
	if (words[0] && words[1])
		json_object_set_new(doctor->health, words[0], json_real(strtod(words[1], NULL)));
	if (words[2])
		doctor->health_ns = strtoll(words[2], NULL, 10);
	return 0;
}

static int read_health(struct doctor *doctor, struct err *e)
{
	if (doctor->client->past)
		return 0; /* only the newest snapshot is kept */
	return history_sql(doctor->client->history, "SELECT key, value, t_ns FROM health",
		take_health, doctor, e);
}

/* ---- data quality -------------------------------------------------------- */

static const struct {
	const char *key;
	size_t at; /* in struct doctor_quality */
	const char *of;
	double share; /* of @of, above which somebody should look; INFINITY: never */
	const char *what, *remedy;
} qualities[] = {
	{"pipeline/suspects", offsetof(struct doctor_quality, suspect_samples), "pipeline/samples",
		DATA_SHARE,
		"values are not plausible (above line rate, pause longer than the interval)",
		"see which: rocewatch query sql \"SELECT device, port, metric, count(*) FROM "
		"samples WHERE flags LIKE '%suspect%' GROUP BY 1, 2, 3\""},
	{"pipeline/late", offsetof(struct doctor_quality, late_samples), "pipeline/samples",
		DATA_SHARE, "values came after their window was judged",
		"compare the clock of this machine with a time server, and look for slow targets "
		"above"},
	{"pipeline/duplicates", offsetof(struct doctor_quality, duplicate_samples),
		"pipeline/samples", DUPLICATE_SHARE, "values were not newer than the ones before",
		"look for one device configured twice, or a clock that was set back"},
	{"pipeline/restarts", offsetof(struct doctor_quality, restart_samples), NULL, INFINITY,
		NULL, NULL},
	{"pipeline/refused", offsetof(struct doctor_quality, refused_samples), "pipeline/samples",
		DATA_SHARE, "values do not fit their metric or their port",
		"correct the site's profile that makes them"},
	{"pipeline/late_flows", offsetof(struct doctor_quality, late_flows), "pipeline/flows",
		DOCTOR_LOST_SHARE, "flow rows came after their window was judged",
		"choose a capture interval below the analyzers' window"},
	{"pipeline/failed", offsetof(struct doctor_quality, failed_windows), "pipeline/windows", 0,
		"windows could not be analysed", "see the agent's log"},
};

static void doctor_quality(struct doctor *doctor)
{
	struct doctor_quality *quality = &doctor->answer->data_quality;
	quality->samples = doctor_count(doctor_health(doctor, "pipeline/samples"));
	for (size_t i = 0; i < rw_countof(qualities); i++) {
		double n = doctor_health(doctor, "%s", qualities[i].key);
		double of = NAN;
		if (qualities[i].of)
			of = doctor_health(doctor, "%s", qualities[i].of);
		*(uint64_t *)(void *)((char *)quality + qualities[i].at) = doctor_count(n);
		if (n > 0 && n > qualities[i].share * of)
			doctor_todo(doctor, false, "data", qualities[i].remedy, "%.0f %s", n,
				qualities[i].what);
	}
	json_object_set_new(
		doctor->doc, "data_quality", shape_json(&doctor_quality_shape, quality));
}

/* ---- store --------------------------------------------------------------- */

static double file_size(const char *path, const char *suffix)
{
	rw_cleanup(str_done) struct str name = {0};
	struct stat st;
	str_addf(&name, "%s%s", path, suffix);
	if (stat(name.s, &st) == 0)
		return (double)st.st_size;
	return NAN;
}

/* Devices near their bound, and all together near theirs. */
static void judge_crowds(struct doctor *doctor)
{
	static const char prefix[] = "names/crowded/";
	rw_cleanup(str_done) struct str worst = {0};
	const double most = doctor_health(doctor, "names/limit_per_device");
	const double total = doctor_health(doctor, "names/limit");
	const double known = doctor_health(doctor, "names/known");
	const char *key;
	json_t *value;
	json_object_foreach (doctor->health, key, value)
		if (strncmp(key, prefix, sizeof(prefix) - 1) == 0)
			str_addf(&worst, "%s%s %.0f", str_if(worst.n > 0, ", "),
				key + sizeof(prefix) - 1, json_number_value(value));
	if (worst.n > 0)
		doctor_todo(doctor, false, "names",
			"find out which names come and go; raise limits: names_per_device, or "
			"lower "
			"limits: forget",
			"names of ports and queues, of at most %.0f per device: %s", most, worst.s);
	if (known > NAMES_MANY * total)
		doctor_todo(doctor, false, "names", "raise limits: names, or lower limits: forget",
			"%.0f names of all devices are known, of at most %.0f", known, total);
}

/* Which device has its newest name refused: the key of the measure holds it. */
static void judge_names(struct doctor *doctor)
{
	static const char prefix[] = "names/device/";
	judge_crowds(doctor);
	if (!(doctor_health(doctor, "names/refused") > 0))
		return;
	const char *device = "a switch";
	const char *key;
	json_t *value;
	json_object_foreach (doctor->health, key, value)
		if (strncmp(key, prefix, sizeof(prefix) - 1) == 0)
			device = key + sizeof(prefix) - 1;
	doctor_todo(doctor, true, "names",
		"find out why it invents names; if they are real, raise limits: names_per_device "
		"or ports_per_device",
		"%s has more names than it may have: %.0f new ones were refused", device,
		doctor_health(doctor, "names/refused"));
}

/* What fills the file, where the quota cannot be kept. */
static void judge_quota(struct doctor *doctor)
{
	static const char prefix[] = "store/use/";
	rw_cleanup(str_done) struct str what = {0};
	const char *key;
	json_t *value;
	if (!(doctor_health(doctor, "store/quota_stuck") > 0))
		return;
	json_object_foreach (doctor->health, key, value)
		if (strncmp(key, prefix, sizeof(prefix) - 1) == 0 &&
			json_number_value(value) >= USE_LEAST_BYTES)
			str_addf(&what, ", %s %s", number_size(json_number_value(value)).s,
				key + sizeof(prefix) - 1);
	doctor_todo(doctor, true, "store",
		"raise store.quota, or close the incidents and recommendations that are open",
		"the quota is %s, but %s are in use that may not be deleted%s",
		number_size(doctor_health(doctor, "store/quota_bytes")).s,
		number_size(doctor_health(doctor, "store/used_bytes")).s, what.n > 0 ? what.s : "");
}

/* The quota takes what store.retention would keep: which samples, and how far they reach back. */
static void judge_quota_cut(struct doctor *doctor)
{
	static const char prefix[] = "store/cut/";
	rw_cleanup(str_done) struct str what = {0};
	const double now_s = (double)doctor->client->at_ns / 1e9;
	const char *key;
	json_t *value;
	json_object_foreach (doctor->health, key, value) {
		if (strncmp(key, prefix, sizeof(prefix) - 1) != 0 ||
			!(json_number_value(value) > 0))
			continue;
		const char *tier = key + sizeof(prefix) - 1;
		const double reach_s = now_s - doctor_health(doctor, "store/oldest/%s_s", tier);
		str_addf(&what, "%s%s samples %.1f days", str_if(what.n > 0, ", "), tier,
			reach_s / 86400);
	}
	if (what.n > 0)
		doctor_todo(doctor, false, "store",
			"raise store.quota, or lower store.retention to what it holds",
			"the quota of %s holds less than store.retention asks for: %s",
			number_size(doctor_health(doctor, "store/quota_bytes")).s, what.s);
}

/* Reached within a month at the present growth. */
static void judge_quota_soon(struct doctor *doctor)
{
	char when[WALL_TEXT_MAX];
	const double full_s = doctor_health(doctor, "store/quota_full_s");
	const double days = (full_s - (double)doctor->client->at_ns / 1e9) / 86400;
	if (!(days < QUOTA_SOON_DAYS) || doctor_health(doctor, "store/cut/raw") > 0)
		return;
	wall_text(when, (wall_t){(int64_t)(full_s * 1e9)}, 0);
	doctor_todo(doctor, false, "store", "raise store.quota, or lower store.retention",
		"%s of %s of the quota are in use; growing by %s a day, it is "
		"reached about %s, and raw samples then go before their time",
		number_size(doctor_health(doctor, "store/used_bytes")).s,
		number_size(doctor_health(doctor, "store/quota_bytes")).s,
		number_size(doctor_health(doctor, "store/growth_bytes_day")).s, when);
}

static void judge_alarms(struct doctor *doctor)
{
	size_t n;
	const struct store_alarm *alarms = store_alarms_read(doctor->health, doctor->arena, &n);
	for (size_t i = 0; i < n; i++)
		doctor_todo(doctor, str_eq(alarms[i].severity, "critical"), alarms[i].subject,
			alarms[i].remedy, "%s", alarms[i].what);
}

static void judge_store(struct doctor *doctor, double wal_bytes)
{
	double dropped = doctor_health(doctor, "store/dropped");
	double errors = doctor_health(doctor, "store/errors");
	rw_cleanup(str_done) struct str holders = {0};
	if (wal_bytes > WAL_WARN_BYTES)
		client_store_holders(doctor->client, &holders);
	if (doctor_health(doctor, "store/misplaced") > 0)
		doctor_todo(doctor, true, "store", "see the agent's log",
			"the database file was deleted or replaced under the agent");
	if (doctor_health(doctor, "store/log_stuck") > 0)
		doctor_todo(doctor, true, "store",
			"check the disk; see the agent's log for its error",
			"the database file cannot be written: samples stay in the write-ahead "
			"log, %s so far; %.0f attempts to copy it failed",
			number_size(wal_bytes).s, doctor_health(doctor, "store/log_errors"));
	else if (wal_bytes > WAL_WARN_BYTES)
		doctor_todo(doctor, false, "store", "end long-running queries on it",
			"the write-ahead log has grown to %s: somebody reads an old "
			"snapshot%s%s",
			number_size(wal_bytes).s, str_if(holders.n > 0, ": "),
			str_or(holders.s, ""));
	if (doctor_health(doctor, "store/retention_held") > 0)
		doctor_todo(doctor, false, "store", "check the clock of this machine",
			"the clock is far ahead of the time that the stored data and the running "
			"time give: retention does not follow it for now");
	if (doctor_health(doctor, "store/retention_failed") > 0)
		doctor_todo(doctor, true, "store", "see the agent's log for the disk's error",
			"old data could not be deleted: the database grows");
	judge_alarms(doctor);
	judge_quota(doctor);
	judge_quota_cut(doctor);
	judge_quota_soon(doctor);
	if (dropped > 0)
		doctor_todo(doctor, true, "store", "see the agent's log for the disk's error",
			"%.0f samples were dropped because they could not be written", dropped);
	if (doctor_health(doctor, "store/dropped_records") > 0)
		doctor_todo(doctor, true, "store", "see the agent's log for the disk's error",
			"%.0f events, findings and states of targets were dropped because they "
			"could "
			"not be written",
			doctor_health(doctor, "store/dropped_records"));
	if (doctor_health(doctor, "store/slow_commits") >
		SLOW_SHARE * doctor_health(doctor, "store/commits"))
		doctor_todo(doctor, false, "store", "look after the disk, or what else uses it",
			"the disk is slow: %.0f of %.0f writes took longer than 1 s, the longest "
			"%.1f s",
			doctor_health(doctor, "store/slow_commits"),
			doctor_health(doctor, "store/commits"),
			doctor_health(doctor, "store/slowest_commit_s"));
	if (errors > 0)
		doctor_todo(doctor, false, "store", "see the agent's log",
			"%.0f commits failed and were tried again", errors);
}

/* Free space of the disk that holds the database; NAN = not known. */
struct disk {
	double free_ratio, free_bytes;
};

static struct disk disk_of(const char *path)
{
	struct statvfs disk;
	if (statvfs(path, &disk) != 0 || disk.f_blocks == 0)
		return (struct disk){NAN, NAN};
	return (struct disk){(double)disk.f_bavail / (double)disk.f_blocks,
		(double)disk.f_bavail * (double)disk.f_frsize};
}

/* NAN, as each of them may be, is below nothing. */
enum disk_room doctor_disk_room(double free_ratio, double free_bytes, double growth_bytes_day)
{
	const double days = growth_bytes_day > 0 ? free_bytes / growth_bytes_day : NAN;
	if (free_ratio < DISK_CRITICAL &&
		(free_bytes < DISK_CRITICAL_BYTES || days < DISK_CRITICAL_DAYS))
		return DISK_FULL_SOON;
	if (free_ratio < DISK_WARN && (free_bytes < DISK_WARN_BYTES || days < DISK_WARN_DAYS))
		return DISK_SHORT;
	return DISK_ROOMY;
}

static void judge_disk(struct doctor *doctor, const struct disk *disk)
{
	const double growth = doctor_health(doctor, "store/growth_bytes_day");
	const enum disk_room room = doctor_disk_room(disk->free_ratio, disk->free_bytes, growth);
	if (room != DISK_ROOMY)
		doctor_todo(doctor, room == DISK_FULL_SOON, "store",
			"free some, or lower store.quota or store.retention: a full disk loses "
			"samples",
			"the disk of %s has %.1f %% left (%.1f GB)", doctor->client->db_path,
			100 * disk->free_ratio, disk->free_bytes / 1e9);
}

/* The age of the newest commit we know of: the one the agent counted, or the newest health or
 * sample that can be read here, since that was committed. */
static double commit_age_s(const struct doctor *doctor, bool has_samples, int64_t last_ns)
{
	double commit_s = doctor_health(doctor, "store/last_commit_s");
	double now_s = (double)doctor->client->at_ns / 1e9;
	if (!doctor->client->agent_alive)
		return NAN;
	if (doctor->health_ns)
		commit_s = fmax(commit_s, (double)doctor->health_ns / 1e9);
	if (has_samples)
		commit_s = fmax(commit_s, (double)last_ns / 1e9);
	if (isnan(commit_s))
		return NAN;
	return fmax(0, now_s - commit_s);
}

/* What the agent sends through the whole way of the data has to arrive here, whatever it says of
 * itself: a thread that hangs also stops reports about it. */
static int judge_canary(struct doctor *doctor, double *ret_age_s, struct err *e)
{
	struct canary_state canary;
	const int rc = canary_read(doctor->client, doctor->client->at_ns, &canary, e);
	*ret_age_s = NAN;
	if (rc < 0 || !doctor->client->agent_alive || !canary.known)
		return rc;
	*ret_age_s = canary.age_s;
	if (!canary.moving && !doctor->client->stuck_ns)
		doctor_todo(doctor, true, "store",
			"see the agent's log: a disk that refuses, a lock on the database, or a "
			"hung loop",
			"nothing has reached the database for %.0f s, expected every %.0f s",
			canary.age_s, canary.limit_s);
	return 0;
}

static int doctor_store(struct doctor *doctor, struct err *e)
{
	const char *path = doctor->client->db_path;
	double wal_bytes = file_size(path, "-wal"), span_s = NAN, canary_s;
	int64_t first_ns = 0, last_ns = 0;
	int r = history_range(doctor->client->history, &first_ns, &last_ns, e);
	if (r < 0 && r != -ENODATA)
		return r;
	bool has_samples = r == 0;
	if (has_samples)
		span_s = (double)(last_ns - first_ns) / 1e9;
	if (!isfinite(wal_bytes))
		wal_bytes = 0;
	struct disk disk = disk_of(path);
	judge_disk(doctor, &disk);
	judge_store(doctor, wal_bytes);
	r = judge_canary(doctor, &canary_s, e);
	if (r < 0)
		return r;

	int pid = doctor->client->writer_pid;
	struct doctor_store *store = &doctor->answer->store;
	*store = (struct doctor_store){.path = doctor_text(doctor, path),
		.writer_pid = pid > 0 ? (uint64_t)pid : COUNT_UNKNOWN,
		.from = has_samples ? (wall_t){first_ns} : TIME_UNKNOWN,
		.to = has_samples ? (wall_t){last_ns} : TIME_UNKNOWN,
		.span_s = span_s,
		.size_bytes = doctor_count(file_size(path, "")),
		.wal_bytes = doctor_count(wal_bytes),
		.last_commit_age_s = commit_age_s(doctor, has_samples, last_ns),
		.canary_age_s = canary_s,
		.pending_samples = doctor_count(doctor_health(doctor, "store/pending")),
		.dropped_samples = doctor_count(doctor_health(doctor, "store/dropped")),
		.failed_commits = doctor_count(doctor_health(doctor, "store/errors")),
		.disk_free_ratio = disk.free_ratio,
		.disk_free_bytes = doctor_count(disk.free_bytes)};
	json_object_set_new(doctor->doc, "store", shape_json(&doctor_store_shape, store));
	return 0;
}

/* ---- process ------------------------------------------------------------- */

/* "; its newest sample is 6m10s old", or nothing where there is none. */
static const char *doctor_data_age(const struct agent_state *agent, char *buf, size_t size)
{
	char age[32];
	buf[0] = '\0';
	if (!isnan(agent->data_age_s))
		snprintf(buf, size, "; the newest sample is %s old",
			duration_format(
				age, sizeof(age), (int64_t)(agent->data_age_s * (double)NS_PER_S)));
	return buf;
}

/* Before all else: what follows is as old as that. */
static void judge_stuck(struct doctor *doctor)
{
	const struct client *client = doctor->client;
	rw_cleanup(str_done) struct str more = {0}, holders = {0};
	char stuck[32];
	duration_format(stuck, sizeof(stuck), client->at_ns - client->stuck_ns);
	if (client->store.dropped)
		str_addf(&more, ", %llu were dropped", (unsigned long long)client->store.dropped);
	client_store_holders(client, &holders);
	if (holders.n > 0)
		str_addf(&more, "; it is in use by %s", holders.s);
	doctor_todo(doctor, true, "store",
		"mend that: the agent goes on polling and alerting, and writes what waits when it "
		"can",
		"nothing has reached the database for %s: %s; %llu samples wait in memory%s", stuck,
		client->stuck_why, (unsigned long long)client->store.pending, str_or(more.s, ""));
}

/* The row may be that of an earlier run: an agent that has just started has written none yet. */
static void judge_health(struct doctor *doctor)
{
	char since[WALL_TEXT_MAX + 8] = " yet";
	if (doctor->health_ns) {
		char time[WALL_TEXT_MAX];
		wall_text(time, (wall_t){doctor->health_ns}, 0);
		snprintf(since, sizeof(since), " since %s", time);
	}
	doctor_todo(doctor, true, "agent",
		"if it has just started, ask again in 20 s; else see its log: disk error or hung "
		"main loop",
		"the agent (pid %d) has not written its health%s", doctor->client->writer_pid,
		since);
}

static void judge_process(struct doctor *doctor, const struct agent_state *agent)
{
	const struct client *client = doctor->client;
	int64_t silent_ns = client->now_ns - doctor->health_ns;
	char age[80];
	doctor_data_age(agent, age, sizeof(age));
	if (client->past)
		return;
	if (client->agent == AGENT_STOPPED)
		doctor_todo(doctor, true, "agent",
			"start it: systemctl start rocewatch, or rocewatch agent -c FILE",
			"no agent is running: nothing is collected%s", age);
	else if (client->agent == AGENT_CANNOT_TELL && !client->agent_alive)
		doctor_todo(doctor, true, "agent",
			"ask as a user who may: systemctl status rocewatch",
			"cannot tell whether an agent runs (no right to read %s.lock)%s",
			client->db_path, age);
	else if (client->stuck_ns)
		judge_stuck(doctor);
	else if (client->agent_alive &&
		(doctor->health_ns == 0 || silent_ns > SILENT_NS || silent_ns < -SILENT_NS))
		judge_health(doctor);
}

/* The file on disk is not what the agent works by: the next restart will fail. */
static void judge_config(struct doctor *doctor, const struct agent_state *agent)
{
	const struct agent_refused *refused = agent->reload_refused;
	const char *error = agent->config_error;
	char since[WALL_TEXT_MAX] = "an earlier time", when[WALL_TEXT_MAX];
	if (doctor->client->past)
		return;
	if (doctor->config_ns > 0)
		wall_text(since, (wall_t){doctor->config_ns}, 0);
	if (refused)
		doctor_todo(doctor, true, "configuration",
			"mend the file ('rocewatch config check' lists the mistakes), then reload: "
			"systemctl reload rocewatch",
			"the configuration file was refused at %s; in force is the one of %s: "
			"%s",
			wall_text(when, refused->t, 0), since, refused->text);
	else if (error)
		doctor_todo(doctor, false, "configuration",
			"mend the file ('rocewatch config check' lists the mistakes); until then "
			"the "
			"agent cannot be restarted or reloaded with it",
			"the configuration file has mistakes: %s; the configuration in force is "
			"the "
			"one of %s",
			error, since);
}

/* Before its first report of itself an agent has said nothing of it. */
static void judge_sandbox(struct doctor *doctor, struct doctor_process *process)
{
	static const char *const closed[] = {"nothing", "system calls", "system calls and files"};
	const double walls = doctor_health(doctor, "process/sandbox/walls");
	if (!doctor->client->agent_alive || !(walls >= 0 && walls < (double)rw_countof(closed)))
		return;
	process->sandbox = closed[(int)walls];
	if ((int)walls == 0)
		doctor_todo(doctor, false, "sandbox", "restart the agent without --no-sandbox",
			"the agent runs without its sandbox: who takes it over can do all that its "
			"user can");
}

/* What was over long ago needs nothing done; the history has it as an event. */
static void judge_memory(struct doctor *doctor)
{
	const double stalled = doctor_health(doctor, "process/memory_stalled_ratio");
	if (!doctor->client->past && stalled >= MEMORY_STALLED)
		doctor_todo(doctor, false, "agent",
			"give the machine or the service more memory (MemoryHigh, MemoryMax), or "
			"lower limits and intervals",
			"memory is short: %.0f %% of the last 10 s were spent waiting for it",
			100 * stalled);
}

static void doctor_process(struct doctor *doctor)
{
	double rss_bytes = NAN, up_s = NAN;
	const struct agent_state *agent = &doctor->answer->agent;
	struct doctor_process *process = &doctor->answer->process;
	if (doctor->client->agent_alive) {
		rss_bytes = doctor_health(doctor, "process/rss_bytes");
		up_s = (double)doctor->client->now_ns / 1e9 -
			doctor_health(doctor, "process/started_s");
	}
	judge_process(doctor, agent);
	judge_config(doctor, agent);
	judge_names(doctor);
	judge_memory(doctor);
	*process = (struct doctor_process){.rss_bytes = doctor_count(rss_bytes),
		.up_s = up_s,
		.dropped = {doctor_count(doctor_health(doctor, "pipeline/refused")),
			doctor_count(doctor_health(doctor, "pipeline/duplicates")),
			doctor_count(doctor_health(doctor, "pipeline/late_flows")),
			doctor_count(doctor_health(doctor, "store/dropped"))}};
	judge_sandbox(doctor, process);
	json_object_set_new(doctor->doc, "process", shape_json(&doctor_process_shape, process));
}

/* ---- the document -------------------------------------------------------- */

static int doctor_take_time(void *arg, int n, char *const *words, char *const *names)
{
	int64_t *ret_ns = arg;
	if (words[0])
		*ret_ns = strtoll(words[0], NULL, 10);
	return 0;
}

/* Since when the configuration is in force, and when the clock was set. */
static int doctor_read_times(struct doctor *doctor, struct err *e)
{
	struct history *history = doctor->client->history;
	rw_cleanup(str_done) struct str sql = {0};
	const int rc = history_sql(history, "SELECT max(t_ns) FROM config_history",
		doctor_take_time, &doctor->config_ns, e);
	str_addf(&sql, "SELECT max(t_ns) FROM events WHERE kind = 'clock_step' AND t_ns <= %lld",
		(long long)doctor->client->now_ns);
	if (rc != 0)
		return rc;
	return history_sql(history, sql.s, doctor_take_time, &doctor->clock_step_ns, e);
}

/* What is declared and what is so belongs to what there is to do. */
static void doctor_classes(struct doctor *doctor)
{
	const struct doctor_answer *answer = doctor->answer;
	json_object_set_new(doctor->doc, "classes",
		shape_rows_json(&class_told_shape, answer->classes, answer->n_classes));
	for (size_t i = 0; i < answer->n_classes; i++)
		for (size_t k = 0; k < answer->classes[i].n_differences; k++)
			doctor_todo(doctor, false, "class",
				"correct policy: in the configuration, or the setting that is not "
				"what it should be",
				"priority %d: %s", (int)answer->classes[i].priority,
				answer->classes[i].differences[k]);
}

static int doctor_fill(struct doctor *doctor, struct err *e)
{
	struct agent_state *agent = &doctor->answer->agent;
	int r = agent_state_whole(doctor->client, doctor->arena, agent, e);
	if (r < 0)
		return r;
	json_object_set_new(doctor->doc, "agent", shape_json(&agent_state_shape, agent));
	r = read_health(doctor, e);
	if (r == 0)
		r = doctor_read_times(doctor, e);
	if (r < 0)
		return r;
	doctor_process(doctor);
	r = doctor_targets(doctor, e);
	if (r < 0)
		return r;
	r = doctor_coverage(doctor, e);
	if (r < 0)
		return r;
	doctor_classes(doctor);
	doctor_quality(doctor);
	doctor_captures(doctor);
	doctor_traps(doctor);
	doctor_push(doctor);
	doctor_jobs(doctor);
	doctor_agents(doctor);
	doctor_ship(doctor);
	r = doctor_alerts(doctor, e);
	if (r < 0)
		return r;
	return doctor_store(doctor, e);
}

/* The worst first. What was to be done in the past is not known: most of it is not kept. */
static void doctor_take_todo(struct doctor *doctor)
{
	struct doctor_answer *answer = doctor->answer;
	const struct doctor_todos *critical = &doctor->critical, *warning = &doctor->warning;
	if (doctor->client->past)
		return;
	answer->n_todo = critical->n + warning->n;
	answer->todo = arena_array(doctor->arena, struct store_alarm, answer->n_todo);
	for (size_t i = 0; i < critical->n; i++)
		answer->todo[i] = critical->v[i];
	for (size_t i = 0; i < warning->n; i++)
		answer->todo[critical->n + i] = warning->v[i];
}

static json_t *doctor_running(enum maybe running)
{
	return running == MAYBE_UNKNOWN ? json_null() : json_boolean(running == MAYBE_YES);
}

int doctor_read(struct client *client, struct arena *a, struct doctor_answer *ret, struct err *e)
{
	*ret = (struct doctor_answer){.doc = json_object()};
	struct doctor doctor = {.client = client,
		.health = json_object(),
		.arena = a,
		.answer = ret,
		.doc = ret->doc};
	json_object_set_new(
		doctor.doc, "fabric", json_string_or_null(client->config->fabric->name));
	json_object_set_new(doctor.doc, "time", json_time(client->at_ns));
	const int r = doctor_fill(&doctor, e);
	json_decref(doctor.health);
	if (r < 0) {
		doctor_done(ret);
		return r;
	}
	doctor_take_todo(&doctor);
	json_object_set_new(doctor.doc, "agent_running", doctor_running(agent_running(client)));
	json_object_set_new(
		doctor.doc, "todo", shape_rows_json(&store_alarm_shape, ret->todo, ret->n_todo));
	return 0;
}

void doctor_done(struct doctor_answer *answer)
{
	json_decref(answer->doc);
	*answer = (struct doctor_answer){0};
}

json_t *doctor_document(struct client *client, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct doctor_answer answer;
	if (doctor_read(client, a, &answer, e) < 0)
		return NULL;
	json_t *doc = json_incref(answer.doc);
	doctor_done(&answer);
	return doc;
}

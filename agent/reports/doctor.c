/*
 * doctor - how the collection itself is doing: each part adds its facts to the document and what is
 * to be done to a list. This file: data quality, store and process; doctor_targets and
 * doctor_captures the rest. A count that only grows is judged as a share of what it is a part of,
 * so that one bad hour does not ask for attention for ever.
 */
#include "agent/reports/doctor.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/number.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/reports/agent_state.h"
#include "agent/reports/class_worlds.h"
#include "agent/client/canary.h"
#include "agent/document/quantity.h"
#include "agent/reports/doctor_internal.h"
#include "agent/reports/store_facts.h"
#include "config/config.h"
#include "db/series/history.h"

#define SILENT_NS (60 * NS_PER_S) /* an agent writes its health every 5 s */
#define DATA_SHARE 0.001 /* of samples, that may be suspect, late or refused */
#define DUPLICATE_SHARE 0.01
#define SLOW_SHARE 0.01 /* of commits, that may take longer than a second */
#define NAMES_MANY 0.8 /* of the names that all devices may have */
#define DISK_WARN 0.10
#define DISK_CRITICAL 0.03
#define USE_LEAST_BYTES 1e5 /* less is not worth a word */
#define QUOTA_SOON_DAYS 30
#define MEMORY_STALLED 0.2 /* of the time: as the agent's event */
#define WAL_WARN_BYTES 134217728.0 /* as the agent's log */

static void doctor_put_time(json_t *object, const char *key, bool known, int64_t t_ns)
{
	json_object_set_new(object, key, known ? json_time(t_ns) : json_null());
}

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
	const char *key, *name, *of;
	double share; /* of @of, above which somebody should look; INFINITY: never */
	const char *what, *remedy;
} qualities[] = {
	{"pipeline/suspects", "suspect_samples", "pipeline/samples", DATA_SHARE,
		"values are not plausible (above line rate, pause longer than the interval)",
		"see which: rocewatch query sql \"SELECT device, port, metric, count(*) FROM "
		"samples WHERE flags LIKE '%suspect%' GROUP BY 1, 2, 3\""},
	{"pipeline/late", "late_samples", "pipeline/samples", DATA_SHARE,
		"values came after their window was judged",
		"compare the clock of this machine with a time server, and look for slow targets "
		"above"},
	{"pipeline/duplicates", "duplicate_samples", "pipeline/samples", DUPLICATE_SHARE,
		"values were not newer than the ones before",
		"look for one device configured twice, or a clock that was set back"},
	{"pipeline/restarts", "restart_samples", NULL, INFINITY, NULL, NULL},
	{"pipeline/refused", "refused_samples", "pipeline/samples", DATA_SHARE,
		"values do not fit their metric or their port",
		"correct the site's profile that makes them"},
	{"pipeline/late_flows", "late_flows", "pipeline/flows", DOCTOR_LOST_SHARE,
		"flow rows came after their window was judged",
		"choose a capture interval below the analyzers' window"},
	{"pipeline/failed", "failed_windows", "pipeline/windows", 0,
		"windows could not be analysed", "see the agent's log"},
};

static void doctor_quality(struct doctor *doctor)
{
	json_t *quality = json_object();
	doctor_put_count(quality, "samples", doctor_health(doctor, "pipeline/samples"));
	for (size_t i = 0; i < rw_countof(qualities); i++) {
		double n = doctor_health(doctor, "%s", qualities[i].key);
		double of = NAN;
		if (qualities[i].of)
			of = doctor_health(doctor, "%s", qualities[i].of);
		doctor_put_count(quality, qualities[i].name, n);
		if (n > 0 && n > qualities[i].share * of)
			doctor_todo(doctor, false, "data", qualities[i].remedy, "%.0f %s", n,
				qualities[i].what);
	}
	json_object_set_new(doctor->doc, "data_quality", quality);
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
	json_t *rows = store_alarms_json(doctor->health), *row;
	size_t i;
	json_array_foreach (rows, i, row)
		doctor_todo(doctor, str_eq(doc_word(row, "severity"), "critical"),
			doc_word(row, "subject"), doc_word(row, "do"), "%s", doc_word(row, "what"));
	json_decref(rows);
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

static void judge_disk(struct doctor *doctor, const struct disk *disk)
{
	if (disk->free_ratio < DISK_WARN)
		doctor_todo(doctor, disk->free_ratio < DISK_CRITICAL, "store",
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
	json_t *store = json_object();
	json_object_set_new(store, "path", json_string_or_null(path));
	json_object_set_new(store, "writer_pid", pid > 0 ? json_integer(pid) : json_null());
	doctor_put_time(store, "from", has_samples, first_ns);
	doctor_put_time(store, "to", has_samples, last_ns);
	doctor_put_number(store, "span_s", span_s);
	doctor_put_count(store, "size_bytes", file_size(path, ""));
	doctor_put_count(store, "wal_bytes", wal_bytes);
	doctor_put_number(store, "last_commit_age_s", commit_age_s(doctor, has_samples, last_ns));
	doctor_put_number(store, "canary_age_s", canary_s);
	doctor_put_count(store, "pending_samples", doctor_health(doctor, "store/pending"));
	doctor_put_count(store, "dropped_samples", doctor_health(doctor, "store/dropped"));
	doctor_put_count(store, "failed_commits", doctor_health(doctor, "store/errors"));
	doctor_put_number(store, "disk_free_ratio", disk.free_ratio);
	doctor_put_count(store, "disk_free_bytes", disk.free_bytes);
	json_object_set_new(doctor->doc, "store", store);
	return 0;
}

/* ---- process ------------------------------------------------------------- */

/* "; its newest sample is 6m10s old", or nothing where there is none. */
static const char *doctor_data_age(const json_t *agent, char *buf, size_t size)
{
	char age[32];
	buf[0] = '\0';
	const json_t *age_s = json_object_get(agent, "data_age_s");
	if (json_is_number(age_s))
		snprintf(buf, size, "; the newest sample is %s old",
			duration_format(age, sizeof(age),
				(int64_t)(json_number_value(age_s) * (double)NS_PER_S)));
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

static void judge_process(struct doctor *doctor, const json_t *agent)
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
static void judge_config(struct doctor *doctor, const json_t *agent)
{
	const json_t *refused = json_object_get(agent, "reload_refused");
	const char *error = json_string_value(json_object_get(agent, "config_error"));
	char since[WALL_TEXT_MAX] = "an earlier time";
	if (doctor->client->past)
		return;
	if (doctor->config_ns > 0)
		wall_text(since, (wall_t){doctor->config_ns}, 0);
	if (json_is_object(refused))
		doctor_todo(doctor, true, "configuration",
			"mend the file ('rocewatch config check' lists the mistakes), then reload: "
			"systemctl reload rocewatch",
			"the configuration file was refused at %s; in force is the one of %s: "
			"%s",
			when_text(doc_word(refused, "t")).s, since, doc_word(refused, "text"));
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
static void judge_sandbox(struct doctor *doctor, json_t *process)
{
	static const char *const closed[] = {"nothing", "system calls", "system calls and files"};
	const double walls = doctor_health(doctor, "process/sandbox/walls");
	if (!doctor->client->agent_alive || !(walls >= 0 && walls < (double)rw_countof(closed)))
		return;
	json_object_set_new(process, "sandbox", json_string(closed[(int)walls]));
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
	const json_t *agent = json_object_get(doctor->doc, "agent");
	if (doctor->client->agent_alive) {
		rss_bytes = doctor_health(doctor, "process/rss_bytes");
		up_s = (double)doctor->client->now_ns / 1e9 -
			doctor_health(doctor, "process/started_s");
	}
	judge_process(doctor, agent);
	judge_config(doctor, agent);
	judge_names(doctor);
	judge_memory(doctor);
	json_t *dropped = json_object();
	doctor_put_count(dropped, "pipeline_refused", doctor_health(doctor, "pipeline/refused"));
	doctor_put_count(
		dropped, "pipeline_duplicates", doctor_health(doctor, "pipeline/duplicates"));
	doctor_put_count(
		dropped, "pipeline_late_flows", doctor_health(doctor, "pipeline/late_flows"));
	doctor_put_count(dropped, "store_queue", doctor_health(doctor, "store/dropped"));
	json_t *process = json_object();
	doctor_put_count(process, "rss_bytes", rss_bytes);
	doctor_put_number(process, "up_s", up_s);
	json_object_set_new(process, "dropped", dropped);
	judge_sandbox(doctor, process);
	json_object_set_new(doctor->doc, "process", process);
}

/* ---- the document -------------------------------------------------------- */

static int doctor_take_config(void *arg, int n, char *const *words, char *const *names)
{
	struct doctor *doctor = arg;
	if (words[0])
		doctor->config_ns = strtoll(words[0], NULL, 10);
	return 0;
}

/* What is declared and what is so belongs to what there is to do. */
static int doctor_classes(struct doctor *doctor, struct err *e)
{
	json_t *classes = class_worlds_json(doctor->client, doctor->health, e), *row, *text;
	size_t i, k;
	if (!classes)
		return -EIO;
	json_object_set_new(doctor->doc, "classes", classes);
	json_array_foreach (classes, i, row)
		json_array_foreach (json_object_get(row, "differences"), k, text)
			doctor_todo(doctor, false, "class",
				"correct policy: in the configuration, or the setting that is not "
				"what it should be",
				"priority %d: %s",
				(int)json_integer_value(json_object_get(row, "priority")),
				json_string_value(text));
	return 0;
}

static int doctor_fill(struct doctor *doctor, struct err *e)
{
	json_t *agent = agent_state_json(doctor->client, e);
	if (!agent)
		return -EIO;
	json_object_set_new(doctor->doc, "agent", agent);
	int r = read_health(doctor, e);
	if (r == 0)
		r = history_sql(doctor->client->history, "SELECT max(t_ns) FROM config_history",
			doctor_take_config, doctor, e);
	if (r < 0)
		return r;
	doctor_process(doctor);
	r = doctor_targets(doctor, e);
	if (r < 0)
		return r;
	r = doctor_coverage(doctor, e);
	if (r < 0)
		return r;
	r = doctor_classes(doctor, e);
	if (r < 0)
		return r;
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

json_t *doctor_document(struct client *client, struct err *e)
{
	struct doctor doctor = {.client = client,
		.health = json_object(),
		.doc = json_object(),
		.critical = json_array(),
		.warning = json_array()};
	json_object_set_new(
		doctor.doc, "fabric", json_string_or_null(client->config->fabric->name));
	json_object_set_new(doctor.doc, "time", json_time(client->at_ns));
	int r = doctor_fill(&doctor, e);
	if (client->past) { /* what was to be done then is not known: most of it is not kept */
		json_array_clear(doctor.critical);
		json_array_clear(doctor.warning);
	}
	json_object_set_new(doctor.doc, "agent_running", agent_running_json(client));
	json_array_extend(doctor.critical, doctor.warning);
	json_object_set(doctor.doc, "todo", doctor.critical);
	json_decref(doctor.critical);
	json_decref(doctor.warning);
	json_decref(doctor.health);
	if (r == 0)
		return doctor.doc;
	json_decref(doctor.doc);
	return NULL;
}

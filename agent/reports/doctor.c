/*
 * doctor - see the header. Each part reads, says what it found, and adds to the list of things to
 * do. A count that only grows is judged as a share of what it is a part of, so that one bad hour
 * does not need attention for ever.
 */
#include "agent/reports/doctor.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/reports/status.h"
#include "collectors/target/reason.h"
#include "config/config.h"
#include "db/series/history.h"
#include "db/store/store.h"

#define SILENT_NS (60 * NS_PER_S) /* an agent writes its health each 5 s */
#define EXPECT_NS (5 * 60 * NS_PER_S) /* what a capture should have seen is asked for this long */
#define SLOW_SHARE 0.5 /* of the interval, that a poll may take */
#define LOST_SHARE 0.05 /* of polls, that may have met a timeout */
#define MISSED_SHARE 0.01
#define DATA_SHARE 0.001 /* of samples, that may be suspect, late or refused */
#define DUPLICATE_SHARE 0.01
#define DISK_WARN 0.10
#define DISK_CRITICAL 0.03
#define WAL_WARN_BYTES 268435456.0
#define READ_LAG_S 3 /* statistics are written once a second and committed within one */
#define REPETITIONS_FULL 25 /* what polling begins with */

struct doctor {
	struct client *x;
	json_t *health; /* key -> number */
	int64_t health_ns; /* 0 = the agent never said anything */
	json_t *doc, *critical, *warning;
};

/* ---- what to do ---------------------------------------------------------- */

static void doctor_todo(struct doctor *doctor, bool critical, const char *subject,
	const char *remedy, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
static void doctor_todo(struct doctor *doctor, bool critical, const char *subject,
	const char *remedy, const char *fmt, ...)
{
	rw_cleanup(freep) char *what = NULL;
	va_list ap;
	va_start(ap, fmt);
	int n = vasprintf(&what, fmt, ap);
	va_end(ap);
	if (n < 0)
		what = NULL;
	json_t *t = json_object();
	json_object_set_new(t, "severity", json_string(critical ? "critical" : "warning"));
	json_object_set_new(t, "subject", json_string_or_null(subject));
	json_object_set_new(t, "what", json_string_or_null(str_or(what, "")));
	json_object_set_new(t, "do", json_string_or_null(remedy));
	json_array_append_new(critical ? doctor->critical : doctor->warning, t);
}

/* ---- what the agent said ------------------------------------------------- */

static int take_health(void *arg, int n, char *const *words, char *const *names)
{
	struct doctor *d = arg;
	if (words[0] && words[1])
		json_object_set_new(d->health, words[0], json_real(strtod(words[1], NULL)));
	if (words[2])
		d->health_ns = strtoll(words[2], NULL, 10);
	return 0;
}

static int take_flag(void *arg, int n, char *const *words, char *const *names)
{
	*(bool *)arg = true;
	return 0;
}

static int read_health(struct doctor *doctor, struct err *e)
{
	bool there = false; /* not in a file that only older versions wrote */
	int r = history_sql(doctor->x->history, "SELECT 1 FROM sqlite_master WHERE name='health'",
		take_flag, &there, e);
	if (r < 0 || !there)
		return r;
	return history_sql(
		doctor->x->history, "SELECT key, value, t_ns FROM health", take_health, doctor, e);
}

static double doctor_said(const struct doctor *doctor, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static double doctor_said(const struct doctor *doctor, const char *fmt, ...)
{
	char key[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(key, sizeof(key), fmt, ap);
	va_end(ap);
	const json_t *v = json_object_get(doctor->health, key);
	if (v)
		return json_number_value(v);
	return NAN;
}

static json_t *doctor_time_or_null(bool known, int64_t t_ns)
{
	char buf[WALL_TEXT_MAX];
	if (known)
		return json_string(wall_format(buf, (wall_t){t_ns}, t_ns % NS_PER_MS == 0 ? 3 : 9));
	return json_null();
}

/* To one decimal: a rate over a minute is not known better. */
static json_t *rate_or_null(double value)
{
	return json_number_or_null(round(10 * value) / 10);
}
static json_t *count_or_null(double value)
{
	if (isfinite(value))
		return json_integer((json_int_t)value);
	return json_null();
}
static double doctor_number(const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);
	if (json_is_number(v))
		return json_number_value(v);
	return NAN;
}
static const char *doctor_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* ---- targets ------------------------------------------------------------- */

struct target_facts {
	const char *name, *protocol, *status, *reason;
	double age_s, p95_s, interval_s, polls, timeouts, missed, repetitions, suspects;
};

/* judge_streams - of a target that delivers by itself: what is lost and late shows in its streams,
 * not in polls. */
static void judge_streams(
	struct doctor *doctor, const struct target_facts *facts, struct str *notes)
{
	const double stale = doctor_said(doctor, "gnmi/%s/stale", facts->name),
		     refused = doctor_said(doctor, "gnmi/%s/refused", facts->name),
		     skew_s = doctor_said(doctor, "gnmi/%s/skew_s", facts->name),
		     stalls = doctor_said(doctor, "gnmi/%s/stalls", facts->name);
	if (facts->suspects > 0)
		str_addf(notes,
			"%s%.0f readings cannot be true: above line rate, or a pause longer than "
			"the time",
			str_if(notes->n, "; "), facts->suspects);
	if (stale > 0)
		str_addf(notes, "%s%.0f times a stream went silent and was asked for anew",
			str_if(notes->n, "; "), stale);
	if (stalls > 0)
		str_addf(notes, "%s%.0f times it sent faster than we read", str_if(notes->n, "; "),
			stalls);
	if (refused > 0)
		doctor_todo(doctor, false, facts->name,
			"see which paths have the verdict 'wrong type': rocewatch profile test",
			"%.0f messages or values were not what they should be", refused);
	if (fabs(skew_s) > 0)
		doctor_todo(doctor, false, facts->name,
			"set its clock (NTP): until then values are stamped with the time of their "
			"arrival",
			"its clock is %.0f s %s ours", fabs(skew_s),
			skew_s > 0 ? "behind" : "ahead of");
}

static void judge_target(struct doctor *doctor, const struct target_facts *facts, struct str *notes)
{
	if (str_eq(facts->status, "down"))
		doctor_todo(doctor, true, facts->name,
			reason_next_step(facts->protocol, facts->reason), "%s down: %s",
			facts->protocol, str_or(facts->reason, "does not answer"));
	else if (!str_eq(facts->status, "up") && doctor->x->agent_alive && facts->protocol)
		doctor_todo(doctor, false, facts->name,
			"wait for the next poll; when it stays so, see the agent's log",
			"%s %s: %s", facts->protocol, facts->status, str_or(facts->reason, ""));
	if (facts->reason)
		str_add(notes, facts->reason);
	if (!str_eq(facts->status, "up"))
		return;
	if (str_eq(facts->protocol, "gnmi")) {
		judge_streams(doctor, facts, notes);
		return;
	}
	if (facts->p95_s > SLOW_SHARE * facts->interval_s) {
		str_addf(notes, "%sslow: p95 %.1f s of an interval of %.0f s",
			str_if(notes->n, "; "), facts->p95_s, facts->interval_s);
		doctor_todo(doctor, false, facts->name,
			"raise snmp.interval, or leave out long tables: 'rocewatch profile test' "
			"shows them",
			"slow: a poll takes %.1f s (p95), the interval is %.0f s", facts->p95_s,
			facts->interval_s);
	}
	if (facts->repetitions < REPETITIONS_FULL)
		str_addf(notes, "%slarge answers get lost: max-repetitions %d -> %.0f",
			str_if(notes->n, "; "), REPETITIONS_FULL, facts->repetitions);
	if (facts->suspects > 0)
		str_addf(notes,
			"%s%.0f readings cannot be true: above line rate, or a pause longer than "
			"the time",
			str_if(notes->n, "; "), facts->suspects);
	if (facts->timeouts > LOST_SHARE * facts->polls && facts->polls >= 20)
		doctor_todo(doctor, false, facts->name,
			"look for loss on the management network, or raise snmp.timeout",
			"%.0f requests of %.0f polls were not answered in time", facts->timeouts,
			facts->polls);
	if (facts->missed >= 3 && facts->missed > MISSED_SHARE * (facts->polls + facts->missed))
		doctor_todo(doctor, false, facts->name, "see the agent's log for when it was away",
			"%.0f polls are missing beside the %.0f that were", facts->missed,
			facts->polls);
}

static void add_target(struct doctor *doctor, json_t *to, const json_t *device)
{
	rw_cleanup(str_done) struct str notes = {0};
	struct target_facts t = {.name = doctor_text(device, "name"),
		.protocol = doctor_text(device, "protocol"),
		.status = doctor_text(device, "status"),
		.reason = doctor_text(device, "reason"),
		.age_s = doctor_number(device, "age_s"),
		.p95_s = doctor_number(device, "poll_p95_s"),
		.polls = doctor_number(device, "polls"),
		.timeouts = doctor_number(device, "timeouts")};
	const char *protocol = "-";
	if (t.protocol)
		protocol = t.protocol;
	t.interval_s = doctor_said(doctor, "target/%s/%s/interval_s", t.name, protocol);
	if (!isfinite(t.interval_s))
		t.interval_s = doctor_number(device, "interval_s");
	t.missed = doctor_said(doctor, "target/%s/%s/missed", t.name, protocol);
	/* and those that should have been since then, or ever; what is read here is some seconds
	 * old */
	double since_s;
	if (isfinite(t.age_s))
		since_s = t.age_s;
	else
		since_s =
			(double)doctor->x->now_ns / 1e9 - doctor_said(doctor, "process/started_s");
	if (isfinite(t.missed) && since_s - READ_LAG_S > 2 * t.interval_s)
		t.missed += floor((since_s - READ_LAG_S) / t.interval_s) - 1;
	t.repetitions = doctor_said(doctor, "target/%s/%s/max_repetitions", t.name, protocol);
	t.suspects = doctor_said(doctor, "target/%s/%s/suspects", t.name, protocol);
	judge_target(doctor, &t, &notes);

	json_t *row = json_object();
	static const char *const same[] = {"name", "protocol", "address", "status", "state",
		"reason", "age_s", "poll_p50_s", "poll_p95_s", "polls", "timeouts", "errors"};
	for (size_t i = 0; i < rw_countof(same); i++) {
		json_t *v = json_object_get(device, same[i]);
		json_object_set_new(row, same[i], v ? json_incref(v) : json_null());
	}
	json_object_set_new(row, "interval_s", json_number_or_null(t.interval_s));
	json_object_set_new(row, "values_per_s",
		rate_or_null(doctor_said(doctor, "target/%s/%s/values_per_s", t.name, protocol)));
	json_object_set_new(row, "varbinds_per_s",
		rate_or_null(doctor_said(doctor, "target/%s/%s/varbinds_per_s", t.name, protocol)));
	json_object_set_new(row, "missed_polls", count_or_null(t.missed));
	json_object_set_new(row, "suspect_readings", count_or_null(t.suspects));
	json_object_set_new(row, "max_repetitions", count_or_null(t.repetitions));
	json_object_set_new(row, "notes", json_string_or_null(notes.n ? notes.s : NULL));
	json_object_set_new(row, "do",
		str_eq(t.status, "down") ? json_string(reason_next_step(t.protocol, t.reason))
					 : json_null());
	json_array_append_new(to, row);
}

static int doctor_targets(struct doctor *doctor, struct err *e)
{
	json_t *status = status_document(doctor->x, e), *list = json_array(), *device;
	size_t i;
	if (!status) {
		json_decref(list);
		return -EIO;
	}
	json_array_foreach (json_object_get(status, "devices"), i, device)
		add_target(doctor, list, device);
	json_object_set_new(doctor->doc, "targets", list);
	json_decref(status);
	return 0;
}

/* ---- data quality -------------------------------------------------------- */

static const struct {
	const char *key, *name, *of;
	double share; /* of @of, above which somebody should look; INFINITY = told only */
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
		"values do not fit what they are about",
		"correct the site's profile that makes them"},
	{"pipeline/late_flows", "late_flows", "pipeline/flows", LOST_SHARE,
		"flow rows came after their window was judged",
		"choose a capture interval below the analyzers' window"},
	{"pipeline/failed", "failed_windows", "pipeline/windows", 0,
		"windows could not be analysed", "see the agent's log"},
};

static void data_quality(struct doctor *doctor)
{
	json_t *q = json_object();
	json_object_set_new(q, "samples", count_or_null(doctor_said(doctor, "pipeline/samples")));
	for (size_t i = 0; i < rw_countof(qualities); i++) {
		double n = doctor_said(doctor, "%s", qualities[i].key);
		double of = NAN;
		if (qualities[i].of)
			of = doctor_said(doctor, "%s", qualities[i].of);
		json_object_set_new(q, qualities[i].name, count_or_null(n));
		if (n > 0 && n > qualities[i].share * of)
			doctor_todo(doctor, false, "data", qualities[i].remedy, "%.0f %s", n,
				qualities[i].what);
	}
	json_object_set_new(doctor->doc, "data_quality", q);
}

/* ---- captures ------------------------------------------------------------ */

static void add_quoted(struct str *sql, const char *text)
{
	str_add(sql, "'");
	for (; *text; text++)
		str_addn(sql, *text == '\'' ? "''" : text, *text == '\'' ? 2 : 1);
	str_add(sql, "'");
}

struct expectation {
	/* octets: captured times sampling, and by the port's counters over the same stretch; NAN
	 * unknown */
	double captured, counted;
};

static int take_expectation(void *arg, int n, char *const *words, char *const *names)
{
	struct expectation *x = arg;
	if (words[0])
		x->captured = strtod(words[0], NULL);
	else
		x->captured = NAN;
	if (words[1])
		x->counted = strtod(words[1], NULL);
	else
		x->counted = NAN;
	return 0;
}

/* The counters of the mirrored port count every frame, the capture RoCE alone: more is impossible,
 * much less needs a reason. */
static struct expectation doctor_expect(struct doctor *doctor, const struct config_capture *capture)
{
	struct expectation ret = {NAN, NAN};
	rw_cleanup(str_done) struct str sql = {0}, where = {0};
	if (!capture->device || !capture->port)
		return ret;
	int64_t from = doctor->x->now_ns - EXPECT_NS;
	str_add(&where, "device=");
	add_quoted(&where, capture->device);
	str_add(&where, " AND port=");
	add_quoted(&where, capture->port);
	str_addf(&sql,
		"SELECT (SELECT sum(octets*sampling) FROM flows WHERE %s AND total=1 AND "
		"to_ns>%lld), (SELECT sum(rate*interval_s) FROM rates WHERE %s"
		" AND t_ns>%lld AND metric IN (%s%s%s))",
		where.s, (long long)from, where.s, (long long)from,
		str_if(!str_eq(capture->direction, "out"), "'port.in_octets'"),
		str_if(str_eq(capture->direction, "both"), ","),
		str_if(!str_eq(capture->direction, "in"), "'port.out_octets'"));
	struct err ignored;
	if (history_sql(doctor->x->history, sql.s, take_expectation, &ret, &ignored) < 0)
		return (struct expectation){NAN, NAN}; /* an estimate less; the rest stands */
	return ret;
}

static const char no_roce[] =
	"a switch's CPU port never sees RoCE that the ASIC forwards: mirror the port (SPAN, "
	"ERSPAN) to a machine, send sFlow to one, or capture on a host "
	"that can (rdma sniffing device); check that the mirror session is up and UDP 4791 is in "
	"it";

static void judge_capture(struct doctor *doctor, const struct config_capture *capture,
	double frames, double roce, double drops, const struct expectation *expectation,
	struct str *notes)
{
	if (drops > 0) {
		str_addf(notes, "kernel dropped %.0f; ", drops);
		doctor_todo(doctor, false, capture->name,
			"raise capture.buffer, sample, or mirror less to it",
			"the kernel dropped %.0f frames of %.0f: PSN gaps of those intervals are "
			"unknown",
			drops, frames);
	}
	if (roce == 0) {
		str_add(notes, "0 RoCE seen: nothing is known of the fabric from here; ");
		doctor_todo(doctor, false, capture->name, no_roce,
			"0 RoCE packets seen: that is no sign of health");
	}
	if (expectation->captured > 0 && expectation->counted > 0)
		str_addf(notes, "%.0f %% of the port's octets; ",
			100 * expectation->captured / expectation->counted);
	if (expectation->captured > 1.5 * expectation->counted && expectation->counted > 0)
		doctor_todo(doctor, false, capture->name,
			"correct capture.sampling, or capture.port",
			"it stands for %.1f times what the counters of %s %s carried",
			expectation->captured / expectation->counted, capture->device,
			capture->port);
	if (notes->n >= 2)
		notes->s[notes->n -= 2] = '\0';
}

static void add_capture(struct doctor *doctor, json_t *to, const struct config_capture *capture)
{
	rw_cleanup(str_done) struct str notes = {0};
	double frames = doctor_said(doctor, "capture/%s/frames", capture->name),
	       roce = doctor_said(doctor, "capture/%s/roce", capture->name),
	       drops = doctor_said(doctor, "capture/%s/kernel_drops", capture->name);
	struct expectation x = doctor_expect(doctor, capture);
	if (isfinite(frames))
		judge_capture(doctor, capture, frames, roce, drops, &x, &notes);
	json_t *row = json_object();
	json_object_set_new(row, "name", json_string_or_null(capture->name));
	json_object_set_new(row, "interface",
		json_string_or_null(capture->interface ? capture->interface : capture->listen));
	json_object_set_new(row, "sampling", json_integer((json_int_t)capture->sampling));
	json_object_set_new(row, "frames", count_or_null(frames));
	json_object_set_new(row, "roce_packets", count_or_null(roce));
	json_object_set_new(row, "unreadable_frames",
		count_or_null(doctor_said(doctor, "capture/%s/bad", capture->name)));
	json_object_set_new(row, "kernel_drops", count_or_null(drops));
	json_object_set_new(row, "captured_bytes", count_or_null(x.captured));
	json_object_set_new(row, "expected_bytes", count_or_null(x.counted));
	json_object_set_new(row, "notes",
		json_string_or_null(notes.n        ? notes.s
				: isfinite(frames) ? NULL
						   : "not open"));
	json_array_append_new(to, row);
}

static void doctor_captures(struct doctor *doctor)
{
	json_t *list = json_array();
	for (size_t i = 0; i < doctor->x->config->n_captures; i++)
		add_capture(doctor, list, &doctor->x->config->captures[i]);
	json_object_set_new(doctor->doc, "captures", list);
}

/* ---- traps --------------------------------------------------------------- */

static const struct {
	const char *name, *what, *remedy;
} trap_drops[] = {
	{"unknown_sender", "traps came from addresses of no device, or of several: dropped",
		"set the trap source of the devices to the address they are polled at; the agent's "
		"log names them"},
	{"wrong_credential", "traps had a community or user that is not accepted: dropped",
		"name their credentials in traps.credentials, or correct the devices"},
	{"malformed", "messages on the trap port were no traps",
		"look for what else sends there; the agent's log names it"},
	{"limited", "traps were dropped unread because one sender sent too many",
		"look at that device: the agent's log names it"},
};

static void doctor_traps(struct doctor *doctor)
{
	static const char *const names[] = {"received", "events", "informs", "repeated",
		"unknown_trap", "unknown_sender", "wrong_credential", "malformed", "limited"};
	if (!isfinite(doctor_said(doctor, "traps/open"))) {
		json_object_set_new(doctor->doc, "traps", json_null());
		return;
	}
	json_t *t = json_object();
	json_object_set_new(t, "open", json_boolean(doctor_said(doctor, "traps/open") > 0));
	for (size_t i = 0; i < rw_countof(names); i++)
		json_object_set_new(
			t, names[i], count_or_null(doctor_said(doctor, "traps/%s", names[i])));
	json_object_set_new(doctor->doc, "traps", t);
	if (!(doctor_said(doctor, "traps/open") > 0))
		doctor_todo(doctor, true, "traps",
			"see the agent's log for why the port cannot be opened; correct "
			"traps.listen",
			"no traps are received");
	for (size_t i = 0; i < rw_countof(trap_drops); i++)
		if (doctor_said(doctor, "traps/%s", trap_drops[i].name) > 0)
			doctor_todo(doctor, false, "traps", trap_drops[i].remedy, "%.0f %s",
				doctor_said(doctor, "traps/%s", trap_drops[i].name),
				trap_drops[i].what);
}

/* ---- store and process --------------------------------------------------- */

static double doctor_size_of(const char *path, const char *suffix)
{
	rw_cleanup(str_done) struct str name = {0};
	struct stat st;
	str_addf(&name, "%s%s", path, suffix);
	if (stat(name.s, &st) == 0)
		return (double)st.st_size;
	return NAN;
}

static void judge_disk(struct doctor *doctor, double free_ratio, double free_bytes)
{
	if (free_ratio < DISK_WARN)
		doctor_todo(doctor, free_ratio < DISK_CRITICAL, "store",
			"free some, or lower store.quota or store.retention: a full disk loses "
			"samples",
			"the disk of %s has %.1f %% left (%.1f GB)", doctor->x->db_path,
			100 * free_ratio, free_bytes / 1e9);
}

static int doctor_store(struct doctor *doctor, struct err *e)
{
	int64_t first = 0, last = 0;
	double wal = doctor_size_of(doctor->x->db_path, "-wal"), free_ratio = NAN, free_bytes = NAN,
	       commit_s = doctor_said(doctor, "store/last_commit_s");
	double dropped = doctor_said(doctor, "store/dropped"),
	       errors = doctor_said(doctor, "store/errors");
	struct statvfs v;
	int r = history_range(doctor->x->history, &first, &last, e);
	if (r < 0 && r != -ENODATA)
		return r;
	if (statvfs(doctor->x->db_path, &v) == 0 && v.f_blocks > 0) {
		free_ratio = (double)v.f_bavail / (double)v.f_blocks;
		free_bytes = (double)v.f_bavail * (double)v.f_frsize;
	}
	judge_disk(doctor, free_ratio, free_bytes);
	if (wal > WAL_WARN_BYTES)
		doctor_todo(doctor, false, "store", "end long-running queries on it",
			"the write-ahead log has grown to %.0f MB: somebody reads an old snapshot",
			wal / 1e6);
	if (dropped > 0)
		doctor_todo(doctor, true, "store", "see the agent's log for why the disk refused",
			"%.0f samples were dropped because they could not be written", dropped);
	if (errors > 0)
		doctor_todo(doctor, false, "store", "see the agent's log",
			"%.0f commits failed and were tried again", errors);

	int pid = client_writer_pid(doctor->x);
	json_t *s = json_object();
	json_object_set_new(s, "path", json_string_or_null(doctor->x->db_path));
	json_object_set_new(s, "writer_pid", pid > 0 ? json_integer(pid) : json_null());
	json_object_set_new(s, "from", doctor_time_or_null(r == 0, first));
	json_object_set_new(s, "to", doctor_time_or_null(r == 0, last));
	json_object_set_new(
		s, "span_s", json_number_or_null(r == 0 ? (double)(last - first) / 1e9 : NAN));
	json_object_set_new(s, "size_bytes", count_or_null(doctor_size_of(doctor->x->db_path, "")));
	json_object_set_new(s, "wal_bytes", count_or_null(isfinite(wal) ? wal : 0));
	/* What was read here was committed after it came about: the newest of it is the newest
	 * commit we know of. */
	commit_s = fmax(commit_s,
		fmax(doctor->health_ns ? (double)doctor->health_ns / 1e9 : NAN,
			r == 0 ? (double)last / 1e9 : NAN));
	json_object_set_new(s, "last_commit_age_s",
		json_number_or_null(doctor->x->agent_alive
				? fmax(0, (double)doctor->x->now_ns / 1e9 - commit_s)
				: NAN));
	json_object_set_new(
		s, "pending_samples", count_or_null(doctor_said(doctor, "store/pending")));
	json_object_set_new(s, "dropped_samples", count_or_null(dropped));
	json_object_set_new(s, "failed_commits", count_or_null(errors));
	json_object_set_new(s, "disk_free_ratio", json_number_or_null(free_ratio));
	json_object_set_new(s, "disk_free_bytes", count_or_null(free_bytes));
	json_object_set_new(doctor->doc, "store", s);
	return 0;
}

static void doctor_process(struct doctor *doctor)
{
	double started = doctor_said(doctor, "process/started_s");
	int64_t silent = doctor->x->now_ns - doctor->health_ns;
	if (!doctor->x->agent_alive)
		doctor_todo(doctor, true, "agent",
			"start it: systemctl start rocewatch, or rocewatch agent -c FILE",
			"no agent is running: nothing is collected");
	else if (doctor->health_ns == 0 || silent > SILENT_NS)
		doctor_todo(doctor, true, "agent",
			"see its log: the disk may refuse, or its loop hang",
			"the agent (pid %d) has written nothing about itself for a minute",
			client_writer_pid(doctor->x));
	json_t *p = json_object(), *dropped = json_object();
	json_object_set_new(p, "rss_bytes",
		doctor->x->agent_alive ? count_or_null(doctor_said(doctor, "process/rss_bytes"))
				       : json_null());
	json_object_set_new(p, "up_s",
		json_number_or_null(
			doctor->x->agent_alive ? (double)doctor->x->now_ns / 1e9 - started : NAN));
	json_object_set_new(dropped, "pipeline_refused",
		count_or_null(doctor_said(doctor, "pipeline/refused")));
	json_object_set_new(dropped, "pipeline_duplicates",
		count_or_null(doctor_said(doctor, "pipeline/duplicates")));
	json_object_set_new(dropped, "pipeline_late_flows",
		count_or_null(doctor_said(doctor, "pipeline/late_flows")));
	json_object_set_new(
		dropped, "store_queue", count_or_null(doctor_said(doctor, "store/dropped")));
	json_object_set_new(p, "dropped", dropped);
	json_object_set_new(doctor->doc, "process", p);
}

json_t *doctor_document(struct client *client, struct err *e)
{
	struct doctor d = {.x = client,
		.health = json_object(),
		.doc = json_object(),
		.critical = json_array(),
		.warning = json_array()};
	json_object_set_new(d.doc, "fabric", json_string_or_null(client->config->fabric->name));
	json_object_set_new(d.doc, "time", doctor_time_or_null(true, client->now_ns));
	json_object_set_new(d.doc, "agent_running", json_boolean(client->agent_alive));
	int r = read_health(&d, e);
	if (r == 0) {
		doctor_process(&d);
		r = doctor_targets(&d, e);
	}
	if (r == 0) {
		data_quality(&d);
		doctor_captures(&d);
		doctor_traps(&d);
		r = doctor_store(&d, e);
	}
	json_array_extend(d.critical, d.warning);
	json_object_set(d.doc, "todo", d.critical);
	json_decref(d.critical);
	json_decref(d.warning);
	json_decref(d.health);
	if (r == 0)
		return d.doc;
	json_decref(d.doc);
	return NULL;
}

/*
 * doctor_targets - the doctor's view of each device that is polled or streams: is it up, how slow
 * is it, how much of its data is lost.
 */

#include "agent/document/json_value.h"
#include "agent/answers/doctor/doctor_internal.h"
#include "agent/answers/status/status.h"
#include "collectors/target/reason.h"

#define SLOW_SHARE 0.5 /* of the interval, that a poll may take */
#define MISSED_SHARE 0.01
#define MISSED_MIN 3
#define POLLS_MIN 20 /* below so many a share of them says nothing */
#define READ_LAG_S 3 /* statistics are written once a second and committed within one */
#define REPETITIONS_FULL 25 /* max-repetitions that polling begins with */

struct target_facts {
	const char *name, *protocol, *status, *reason; /* protocol, reason: NULL = none */
	double age_s, p95_s, interval_s, polls, timeouts, missed, repetitions, suspects,
		uptime_stands_s, out_of_order, cut_columns, no_cell;
};

static double facts_health(
	const struct doctor *doctor, const struct target_facts *facts, const char *key)
{
	return doctor_health(
		doctor, "target/%s/%s/%s", facts->name, str_or(facts->protocol, "-"), key);
}

double doctor_missed_polls(double counted, double since_s, double step_s, double interval_s)
{
	/* a clock that was set makes the last answer older, or younger, than it is */
	if (isfinite(step_s))
		since_s = fmin(since_s, step_s);
	const double silent_s = since_s - READ_LAG_S;
	if (isfinite(counted) && silent_s > 2 * interval_s)
		return counted + floor(silent_s / interval_s) - 1;
	return counted;
}

/* Polls that were due and did not happen: those the agent counted, and those that should have
 * happened since its last answer. */
static double facts_missed(const struct doctor *doctor, const struct target_facts *facts)
{
	const double counted = facts_health(doctor, facts, "missed");
	const double now_s = (double)doctor->client->now_ns / (double)NS_PER_S;
	double since_s = facts->age_s, step_s = NAN;
	if (!isfinite(since_s))
		since_s = now_s - doctor_health(doctor, "process/started_s");
	if (doctor->clock_step_ns > 0)
		step_s = now_s - (double)doctor->clock_step_ns / (double)NS_PER_S;
	if (!doctor->client->agent_alive || doctor->client->stuck_ns)
		return counted;
	return doctor_missed_polls(counted, since_s, step_s, facts->interval_s);
}

static struct target_facts doctor_targets_facts_of(
	const struct doctor *doctor, const struct status_device *device)
{
	struct target_facts facts = {
		.name = device->name,
		.protocol = device->protocol,
		.status = device->status,
		.reason = device->reason,
		.age_s = device->age_s,
		.p95_s = device->poll_p95_s,
		.polls = count_number(device->polls),
		.timeouts = count_number(device->timeouts),
	};
	facts.interval_s = facts_health(doctor, &facts, "interval_s");
	if (!isfinite(facts.interval_s))
		facts.interval_s = device->interval_s;
	facts.missed = facts_missed(doctor, &facts);
	facts.repetitions = facts_health(doctor, &facts, "max_repetitions");
	facts.out_of_order = facts_health(doctor, &facts, "out_of_order");
	facts.cut_columns = facts_health(doctor, &facts, "cut_columns");
	facts.no_cell = facts_health(doctor, &facts, "no_cell");
	facts.uptime_stands_s = facts_health(doctor, &facts, "uptime_stands_s");
	facts.suspects = facts_health(doctor, &facts, "suspects");
	return facts;
}

/* ---- what is wrong ------------------------------------------------------- */

static void doctor_targets_note(struct str *notes, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void doctor_targets_note(struct str *notes, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	str_addf(notes, "%s%s", str_if(notes->n, "; "), text);
}

static void note_suspects(const struct target_facts *facts, struct str *notes)
{
	if (facts->suspects > 0)
		doctor_targets_note(notes,
			"%.0f readings are impossible: above line rate, or a pause longer than the "
			"interval",
			facts->suspects);
}

/* The words that the agent keeps in keys "PROTOCOL/NAME/KIND/WORDS", with @between, behind @head.
 */
static void note_words(const struct doctor *doctor, const struct target_facts *facts,
	const char *kind, const char *head, const char *between, struct str *notes)
{
	rw_cleanup(str_done) struct str prefix = {0}, words = {0};
	const char *key;
	json_t *value;
	str_addf(&prefix, "%s/%s/%s/", facts->protocol, facts->name, kind);
	json_object_foreach (doctor->health, key, value)
		if (strncmp(key, prefix.s, prefix.n) == 0 && !str_eq(key + prefix.n, facts->reason))
			str_addf(&words, "%s%s", str_if(words.n, between), key + prefix.n);
	if (words.n)
		str_addf(notes, "%s%s%s", str_if(notes->n, "; "), head, words.s);
}

/* What the device sends and nobody reads, what it was asked for and has none of, what it refuses.
 */
static void note_answers(
	const struct doctor *doctor, const struct target_facts *facts, struct str *notes)
{
	const double unknown = doctor_health(doctor, "gnmi/%s/unknown_paths", facts->name);
	rw_cleanup(str_done) struct str head = {0};
	str_addf(&head, "delivers %.0f paths that its profile does not know, e.g. ", unknown);
	if (unknown > 0 && !strstr(str_or(facts->reason, ""), "does not know"))
		note_words(doctor, facts, "unknown_path", head.s, "; ", notes);
	note_words(doctor, facts, "has_none", "has none of stream ", ", ", notes);
	note_words(doctor, facts, "trouble", "", "; ", notes);
}

/* Values and messages of a wrong form, of how many. */
static void judge_wrong(struct doctor *doctor, const struct target_facts *facts)
{
	const double refused = doctor_health(doctor, "gnmi/%s/refused", facts->name);
	const double updates = doctor_health(doctor, "gnmi/%s/updates", facts->name);
	double wrong = doctor_health(doctor, "gnmi/%s/wrong_types", facts->name);
	if (!isfinite(wrong))
		wrong = 0; /* of an agent that does not tell them apart */
	if (wrong > 0)
		doctor_todo(doctor, false, facts->name,
			"see which paths have the verdict 'wrong type' or 'some wrong': rocewatch "
			"profile test",
			"%.0f of %.0f values had a wrong type", wrong, updates);
	if (refused > wrong)
		doctor_todo(doctor, false, facts->name,
			"see the agent's log; ask the vendor for a release whose gNMI server keeps "
			"to the specification",
			"%.0f messages had the wrong form", refused - wrong);
}

/* gNMI delivers by itself: what is lost or late shows in its streams, not in polls. */
static void judge_streams(
	struct doctor *doctor, const struct target_facts *facts, struct str *notes)
{
	double stale = doctor_health(doctor, "gnmi/%s/stale", facts->name);
	double skew_s = doctor_health(doctor, "gnmi/%s/skew_s", facts->name);
	double stalls = doctor_health(doctor, "gnmi/%s/stalls", facts->name);
	note_suspects(facts, notes);
	if (stale > 0)
		doctor_targets_note(
			notes, "%.0f times a stream went silent and was subscribed again", stale);
	if (stalls > 0)
		doctor_targets_note(
			notes, "%.0f times it sent faster than rocewatch reads", stalls);
	judge_wrong(doctor, facts);
	note_answers(doctor, facts, notes);
	if (fabs(skew_s) > 0)
		doctor_todo(doctor, false, facts->name,
			"set its clock (NTP): until then values get the time of their arrival",
			"its clock is %.0f s %s ours", fabs(skew_s),
			skew_s > 0 ? "behind" : "ahead of");
}

static void judge_polls(struct doctor *doctor, const struct target_facts *facts, struct str *notes)
{
	if (facts->p95_s > SLOW_SHARE * facts->interval_s) {
		doctor_targets_note(notes, "slow: p95 %.1f s of an interval of %.0f s",
			facts->p95_s, facts->interval_s);
		doctor_todo(doctor, false, facts->name,
			"raise snmp.interval, or leave out long tables: 'rocewatch profile test' "
			"shows them",
			"slow: a poll takes %.1f s (p95), the interval is %.0f s", facts->p95_s,
			facts->interval_s);
	}
	if (facts->repetitions < REPETITIONS_FULL)
		doctor_targets_note(notes, "large answers get lost: max-repetitions %d -> %.0f",
			REPETITIONS_FULL, facts->repetitions);
	note_suspects(facts, notes);
	if (facts->out_of_order > 0)
		doctor_targets_note(notes,
			"%.0f values a poll are not in the order of their OIDs; they are read",
			facts->out_of_order);
	if (facts->cut_columns > 0)
		doctor_todo(doctor, false, facts->name,
			"see which tables are shorter than the switch's own: rocewatch profile "
			"test",
			"%.0f columns of its tables could not be read to their end: the answers go "
			"round, or have too many rows",
			facts->cut_columns);
	if (facts->no_cell > 0)
		doctor_todo(doctor, false, facts->name,
			"declare the size of its buffer cell, as its data sheet has it: "
			"thresholds: - { devices: NAME, ports: \"*\", priority: 3, cell: 144B }",
			"%.0f values of buffers a poll are not stored: they are counted in "
			"buffer cells, and the switch does not tell their size",
			facts->no_cell);
	if (facts->uptime_stands_s > 0)
		doctor_targets_note(notes,
			"sysUpTime stands still for %.0f s: restarts show only in counters",
			facts->uptime_stands_s);
	if (facts->timeouts > DOCTOR_LOST_SHARE * facts->polls && facts->polls >= POLLS_MIN)
		doctor_todo(doctor, false, facts->name,
			"look for loss on the management network, or raise snmp.timeout",
			"%.0f requests of %.0f polls were not answered in time", facts->timeouts,
			facts->polls);
	double due = facts->polls + facts->missed;
	if (facts->missed >= MISSED_MIN && facts->missed > MISSED_SHARE * due)
		doctor_todo(doctor, false, facts->name, "see in the agent's log when it was away",
			"%.0f polls did not happen, %.0f did", facts->missed, facts->polls);
}

/* What is wrong with pages of exporters: figures of the collector since the agent began. */
static const struct {
	const char *key, *what, *remedy;
} scrape_troubles[] = {
	{"bad_lines", "lines of its exporters are no Prometheus text",
		"see which exporter it is: curl its URL; correct scrape.urls"},
	{"no_place", "values do not say which NIC they are of",
		"see whether the exporter's release differs from what its profile was written for"},
	{"no_value", "values cannot be: negative or too large",
		"see whether the exporter's release differs from what its profile was written for"},
	{"off_clock", "values are of a time that cannot be", "set the clock of that host (NTP)"},
	{"beyond", "values are more than are kept of one host", "let its exporters show less"},
};

static void judge_scrape(struct doctor *doctor, const struct target_facts *facts, struct str *notes)
{
	rw_cleanup(str_done) struct str missing = {0};
	note_suspects(facts, notes);
	note_words(doctor, facts, "trouble", "", "; ", &missing);
	if (missing.n)
		doctor_todo(doctor, false, facts->name,
			reason_next_step(facts->protocol, missing.s), "scrape: %s", missing.s);
	for (size_t i = 0; i < rw_countof(scrape_troubles); i++) {
		const double n =
			doctor_health(doctor, "scrape/%s/%s", facts->name, scrape_troubles[i].key);
		if (n > 0)
			doctor_todo(doctor, false, facts->name, scrape_troubles[i].remedy,
				"%.0f %s", n, scrape_troubles[i].what);
	}
}

/* The device is there, and nothing new is known of it: what to do where the agent knows why. */
static const char *remedy_unknown(const struct target_facts *facts)
{
	struct reason reason;
	reason_from(&reason, facts->protocol, str_or(facts->reason, ""));
	const struct reason_row *row = reason_row(reason.code);
	if (row)
		return row->next;
	return "wait for the next poll; when it stays so, see the agent's log";
}

static void judge_target(struct doctor *doctor, const struct target_facts *facts, struct str *notes)
{
	bool up = str_eq(facts->status, "up");
	bool down = str_eq(facts->status, "down");
	if (facts->reason)
		str_add(notes, facts->reason);
	if (down)
		doctor_todo(doctor, true, facts->name,
			reason_next_step(facts->protocol, facts->reason), "%s down: %s",
			facts->protocol, str_or(facts->reason, "does not answer"));
	else if (!up && doctor->client->agent_alive && facts->protocol && !doctor->client->stuck_ns)
		doctor_todo(doctor, false, facts->name, remedy_unknown(facts), "%s %s: %s",
			facts->protocol, facts->status, str_or(facts->reason, ""));
	const bool gnmi = str_eq(facts->protocol, "gnmi");
	if (!up && !down && gnmi)
		note_answers(doctor, facts, notes);
	if (!up)
		return;
	if (gnmi)
		judge_streams(doctor, facts, notes);
	else if (str_eq(facts->protocol, "scrape"))
		judge_scrape(doctor, facts, notes);
	else
		judge_polls(doctor, facts, notes);
}

/* ---- rows ---------------------------------------------------------------- */

#define SHAPE struct doctor_target
static const struct field doctor_target_fields[] = {
	TEXT(name, "Device.", .known = true),
	TEXT(protocol, "`snmp`, `gnmi`, `scrape`, `push` or `replay`."),
	TEXT(address, "Address and port."),
	TEXT(status, "`up`, `down` or `unknown`.", .known = true),
	TEXT(state, "State of the target."),
	TEXT(reason, "Why it is not up."),
	NUMBER(age_s, UNIT_SECONDS, "Age of its newest answer."),
	NUMBER(poll_p50_s, UNIT_SECONDS, "Median time of a poll."),
	NUMBER(poll_p95_s, UNIT_SECONDS, "95th percentile of the time of a poll."),
	COUNT(polls, "Polls that were answered.", .unknown = true),
	COUNT(timeouts, "Polls that were not answered in time.", .unknown = true),
	COUNT(errors, "Polls that failed otherwise.", .unknown = true),
	NUMBER(interval_s, UNIT_SECONDS, "Time between two polls."),
	NUMBER(values_per_s, UNIT_NONE, "Values that it delivers, per second."),
	NUMBER(varbinds_per_s, UNIT_NONE,
		"Values that it is asked for, per second, answered or not."),
	COUNT(missed_polls, "Polls that were due and did not happen.", .unknown = true),
	COUNT(suspect_readings, "Values that cannot be true.", .unknown = true),
	COUNT(max_repetitions, "Rows of a table that one SNMP answer may hold.", .unknown = true),
	TEXT(notes, "What stands out."),
	TEXT_AS("do", remedy, "What to do about it."),
};
SHAPE_OF(doctor_target, "Target", "A device over one protocol.");
#undef SHAPE

/* A rate over a minute is good for one decimal. */
static double target_rate(
	const struct doctor *doctor, const struct target_facts *facts, const char *key)
{
	return round(10 * facts_health(doctor, facts, key)) / 10;
}

static struct doctor_target target_row(struct doctor *doctor, const struct status_device *device,
	const struct target_facts *facts, const char *notes)
{
	struct doctor_target row = {.name = device->name,
		.protocol = device->protocol,
		.address = device->address,
		.status = device->status,
		.state = device->state,
		.reason = device->reason,
		.age_s = device->age_s,
		.poll_p50_s = device->poll_p50_s,
		.poll_p95_s = device->poll_p95_s,
		.polls = device->polls,
		.timeouts = device->timeouts,
		.errors = device->errors,
		.interval_s = facts->interval_s,
		.values_per_s = target_rate(doctor, facts, "values_per_s"),
		.varbinds_per_s = target_rate(doctor, facts, "varbinds_per_s"),
		.missed_polls = doctor_count(facts->missed),
		.suspect_readings = doctor_count(facts->suspects),
		.max_repetitions = doctor_count(facts->repetitions),
		.notes = doctor_text(doctor, notes)};
	if (device->up == MAYBE_NO)
		row.remedy = doctor_text(doctor, reason_next_step(facts->protocol, facts->reason));
	return row;
}

int doctor_targets(struct doctor *doctor, struct err *e)
{
	struct doctor_answer *answer = doctor->answer;
	struct status_answer status;
	const int r = status_read(doctor->client, doctor->arena, &status, e);
	if (r < 0)
		return r;
	answer->verdict = (struct verdict){status.state, status.state_why, status.money};
	answer->classes = status.classes;
	answer->n_classes = status.n_classes;
	json_object_set_new(
		doctor->doc, "state", json_string(golden_state_name(answer->verdict.state)));
	json_object_set_new(doctor->doc, "state_why", json_string_or_null(answer->verdict.why));
	answer->n_targets = status.n_devices;
	answer->targets = arena_array(doctor->arena, struct doctor_target, status.n_devices);
	for (size_t i = 0; i < status.n_devices; i++) {
		const struct status_device *device = &status.devices[i];
		rw_cleanup(str_done) struct str notes = {0};
		struct target_facts facts = doctor_targets_facts_of(doctor, device);
		judge_target(doctor, &facts, &notes);
		answer->targets[i] = target_row(doctor, device, &facts, notes.s);
	}
	json_object_set_new(doctor->doc, "targets",
		shape_rows_json(&doctor_target_shape, answer->targets, answer->n_targets));
	return 0;
}

/* cmd_status - the state of the fabric, once: who answers, how old the data is, what is open. */
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "agent/command/command.h"
#include "agent/answers/status/status.h"
#include "agent/answers/common/text.h"

#define SHAPE struct status_device
static const struct shown device_columns[] = {COLUMN(name, "NAME"), COLUMN(protocol, "PROTOCOL"),
	COLUMN(status, "STATUS"), COLUMN(age_s, "AGE"), COLUMN(poll_p50_s, "POLL P50"),
	COLUMN(poll_p95_s, "P95"), COLUMN(polls, "POLLS"), COLUMN(timeouts, "TIMEOUTS"),
	COLUMN(errors, "ERRORS"), COLUMN(reason, "REASON")};
static const struct shown csv_columns[] = {PLAIN(name), PLAIN(up), PLAIN(status), PLAIN(reason),
	PLAIN(age_s), PLAIN(protocol), PLAIN(address), PLAIN(state), PLAIN(interval_s),
	PLAIN(poll_p50_s), PLAIN(poll_p95_s), PLAIN(polls), PLAIN(timeouts), PLAIN(errors),
	PLAIN(device), PLAIN(port)};
#undef SHAPE
#define SHAPE struct open_incident
static const struct shown incident_columns[] = {COLUMN(id, "INCIDENT"),
	COLUMN(severity, "SEVERITY"), COLUMN(state, "STATE"), COLUMN(opened, "OPENED"),
	COLUMN(cause, "CAUSE"), COLUMN(summary, "SUMMARY")};
#undef SHAPE
static const struct shape_table device_table = {
	&status_device_shape, device_columns, rw_countof(device_columns)};
static const struct shape_table csv_table = {
	&status_device_shape, csv_columns, rw_countof(csv_columns)};
static const struct shape_table incident_table = {
	&open_incident_shape, incident_columns, rw_countof(incident_columns)};

static const void *status_devices(const void *answer, size_t *ret_n)
{
	const struct status_answer *status = answer;
	*ret_n = status->n_devices;
	return status->devices;
}

static const void *status_incidents(const void *answer, size_t *ret_n)
{
	const struct status_answer *status = answer;
	*ret_n = status->n_incidents;
	return status->incidents;
}

static const struct view device_view = {
	.table = &device_table, .table_rows = status_devices, .empty = "no devices"};
static const struct view incident_view = {
	.table = &incident_table, .table_rows = status_incidents, .empty = "no open incidents"};

/* The file on disk is not the configuration in force. */
static void status_put_refused(FILE *out, const struct agent_refused *refused)
{
	char when[WALL_TEXT_MAX];
	if (!refused)
		return;
	fprintf(out, "CONFIGURATION REFUSED at %s: ", wall_text(when, refused->t, 0));
	text_put(out, text_or_dash(refused->text));
	fputc('\n', out);
}

/* What the store cannot do, and a line for each system to which it sends. */
static void status_put_store_facts(FILE *out, const struct status_answer *status)
{
	for (size_t i = 0; i < status->n_alarms; i++) {
		const struct store_alarm *alarm = &status->alarms[i];
		rw_cleanup(str_done) struct str line = {0};
		const bool critical = str_eq(alarm->severity, "critical");
		str_addf(&line, "%s %s: ", critical ? "CRITICAL" : "WARNING", alarm->subject);
		str_addf(&line, "%s -> %s", alarm->what, alarm->remedy);
		text_put(out, line.s);
		fputc('\n', out);
	}
	for (size_t i = 0; i < status->n_ship; i++) {
		rw_cleanup(str_done) struct str line = {0};
		str_addf(&line, "ship %s: ", status->ship[i].name);
		ship_fact_text(&status->ship[i], &line);
		text_put(out, line.s);
		fputc('\n', out);
	}
}

/* The state and the sentence of every face. */
static void status_put_verdict(FILE *out, const struct status_answer *status)
{
	rw_cleanup(str_done) struct str line = {0};
	verdict_line(&line, status->state, status->state_why);
	text_put(out, line.s);
	fputc('\n', out);
}

static void status_put_head(FILE *out, const struct status_answer *status)
{
	const struct status_quality *quality = &status->data_quality;
	rw_cleanup(str_done) struct str agent = {0};
	char when[WALL_TEXT_MAX];
	agent_state_text(&status->agent, &agent);
	const uint64_t captures =
		quality->captures_up + quality->captures_down + quality->captures_unknown;
	fprintf(out, "%s   %s   %s\n", text_or_dash(status->fabric),
		wall_text(when, status->time, 0), agent.s);
	status_put_verdict(out, status);
	fprintf(out, "up %" PRIu64 "   down %" PRIu64 "   unknown %" PRIu64 "   ", quality->up,
		quality->down, quality->unknown);
	if (captures > 0)
		fprintf(out, "captures %" PRIu64 "/%" PRIu64 " up   ", quality->captures_up,
			captures);
	if (status->open_incidents == COUNT_UNKNOWN)
		fputs("incidents: in the judge's database\n", out);
	else
		fprintf(out, "open incidents %" PRIu64 "\n", status->open_incidents);
	status_put_refused(out, status->agent.reload_refused);
	status_put_store_facts(out, status);
	fputc('\n', out);
}

static void cmd_status_print_text(
	FILE *out, const void *answer, const struct view *layout, bool color, bool header)
{
	const struct status_answer *status = answer;
	if (header)
		status_put_head(out, status);
	answer_print(out, NULL, status, &device_view, FORMAT_TABLE, header, color);
	if (status->open_incidents != COUNT_UNKNOWN && status->open_incidents > 0) {
		fputc('\n', out);
		answer_print(out, NULL, status, &incident_view, FORMAT_TABLE, header, color);
	}
}

static const struct view view = {
	.title = "Fabric status",
	.table = &csv_table,
	.table_rows = status_devices,
	.answer_text = cmd_status_print_text,
	.empty = "no devices",
};

static int cmd_status_read(struct client *client, struct arena *a, void *ret, struct err *e)
{
	return status_read(client, a, ret, e);
}

static json_t *cmd_status_json(const void *answer)
{
	return shape_json(&status_answer_shape, answer);
}

static int cmd_status_run(struct command_args *args)
{
	static const struct command_told told = {
		sizeof(struct status_answer), cmd_status_read, cmd_status_json, NULL};
	return command_tell(args, &told, &view);
}

const struct command command_status = {
	.name = "status",
	.summary = "who answers, how old the data is, which incidents are open",
	.help = "A device is up while it is polled and answers, down when it is polled and does "
		"not, and unknown in every other case: silent for more "
		"than three intervals and 10 s, not polled, or no agent running. Unknown is never "
		"shown as "
		"up. Captures (protocol pcap) have a row each, by their own "
		"names, and are counted apart.\n\nAges count from the clock, also "
		"when no agent runs; those of a replayed database from its newest sample. With "
		"--until T or --around T it shows the state as it was at T.",
	.takes = TAKES_DB | TAKES_AT,
	.formats = WRITES_ALL,
	.examples = {{"status", "shows each device, its age and the open incidents"},
		{"status --until 5m", "shows the same as it was five minutes ago"}},
	.run = cmd_status_run,
};

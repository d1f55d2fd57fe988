/* cmd_incident - "rocewatch incident": the incidents as a list, a card, a timeline or an export,
 * and what people do to them. */

#include "agent/command/command.h"
#include "agent/answers/incident/incident_burst.h"
#include "agent/answers/incident/incident_read.h"
#include "agent/answers/incident/incident_view.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/history/case_export.h"
#include "agent/incident/incident_json.h"
#include "agent/incident/incident_record.h"
#include "agent/incident/ledger.h"
#include "agent/web/runbook.h"
#include "config/config.h"
#include "db/model/cause.h"
#include "db/series/history.h"
#include "agent/answers/incident/blame.h"

/* ---- cmd_blame - "rocewatch blame HOST|PORT": the incidents that a host or port causes, and those
 * it is a victim of. */

static int cmd_blame_run(struct command_args *args)
{
	return command_served(args, "blame", "name", args->argv[0], &blame_view);
}

const struct command command_blame = {
	.name = "blame",
	.args = "HOST|PORT",
	.summary = "findings against a host or port, with their evidence",
	.help = "HOST is its name, or as in links host:NAME[:NIC]; PORT as DEVICE:PORT. All "
		"incidents are searched, or those of --since, --until and --around. The worst "
		"open one is shown in full, or the worst one when none is open; those of which it "
		"is only a victim are listed last.",
	.takes = TAKES_DB | TAKES_RANGE,
	.formats = WRITES_ALL,
	.examples = {{"blame node-010", "shows the incidents that this host causes"},
		{"blame leaf2:Ethernet2 --since 24h",
			"shows those of a switch port in the last day"}},
	.usage_exit = EXIT_USAGE,
	.run = cmd_blame_run,
};

static const struct command_option incident_options[] = {
	{"all", 0, NULL, "closed ones too"},
	{"state", 0, "open|clearing|closed", "open includes clearing; several with commas"},
	{"severity", 0, "critical|warning|info", "this one or worse"},
	{"device", 0, "GLOB", "only those about these devices"},
	{"host", 0, "GLOB", "only those about these hosts"},
	{"job", 0, "GLOB", "only those that slow these jobs"},
	{"cause", 0, "GLOB", "only these causes"},
	{"full", 0, NULL, "all reasons, steps, evidence, flows and the timeline"},
	{"values", 0, NULL, "all values as csv instead of who began"},
	{"note", 0, "TEXT", "why, or what is being done"},
	{"out", 0, "DIR", "write the samples around the incident as a recorded case, for replay"},
	{0},
};

extern const struct command command_incident;

static int cmd_incident_show(struct client *client, const struct command_args *args,
	const char *path, const struct view *view, struct err *e)
{
	const char *id = NULL;
	json_t *doc = NULL;
	if (args->argc > 1)
		id = args->argv[1];
	int r = command_document(client, args, path, "id", id, &doc, e);
	if (r == 0)
		r = command_print(args, doc, view, e);
	json_decref(doc);
	return r;
}

static int cmd_incident_run_list(
	struct client *client, const struct command_args *args, struct err *e)
{
	return cmd_incident_show(client, args, "incidents", &incident_list_view, e);
}

static int cmd_incident_run_show(
	struct client *client, const struct command_args *args, struct err *e)
{
	const struct view *view = &incident_card_view;
	if (command_opt(&command_incident, args, "full"))
		view = &incident_full_view;
	return cmd_incident_show(client, args, "incident/show", view, e);
}

static int run_timeline(struct client *client, const struct command_args *args, struct err *e)
{
	return cmd_incident_show(client, args, "incident/timeline", &incident_timeline_view, e);
}

static int cmd_incident_run_burst(
	struct client *client, const struct command_args *args, struct err *e)
{
	json_t *o = NULL, *doc = NULL;
	int rc = incident_find(client, args->argv[1], &o, e);
	if (rc < 0)
		return rc;
	const char *id = incident_id_of(o);
	if (command_opt(&command_incident, args, "values"))
		rc = incident_burst_values(client, id, stdout, e);
	else
		rc = incident_burst(client, id, &doc, e);
	if (doc)
		rc = command_print(args, doc, &incident_burst_view, e);
	json_decref(doc);
	json_decref(o);
	return rc;
}

#define EXPORT_BEFORE_NS (15 * 60 * NS_PER_S) /* what was normal before it */
#define EXPORT_AFTER_NS (5 * 60 * NS_PER_S)

/* --out DIR: the samples around it as a recorded case. A replay finds the same incident. */
static int export_case(
	struct client *client, const struct incident *incident, const char *dir, struct err *e)
{
	struct history_filter filter = {.priority = HISTORY_ANY_PRIORITY};
	uint64_t samples;
	int rc = history_range(client->history, &filter.from_ns, &filter.to_ns, e);
	if (rc != 0)
		return rc;
	if (incident->first_ns - EXPORT_BEFORE_NS > filter.from_ns)
		filter.from_ns = incident->first_ns - EXPORT_BEFORE_NS;
	const int64_t after_ns = incident->closed_ns + EXPORT_AFTER_NS;
	if (incident->state == INCIDENT_CLOSED && after_ns < filter.to_ns)
		filter.to_ns = after_ns;
	rc = case_export(client->history, dir, CASE_NEW, &filter, &samples, e);
	if (rc == 0)
		fprintf(stderr, "%llu samples written to %s; rocewatch replay --from %s\n",
			(unsigned long long)samples, dir, dir);
	return rc;
}

/* Everything about one incident: itself and the configuration it was judged by in one document, or
 * its samples as a case. */
static int cmd_incident_run_export(
	struct client *client, const struct command_args *args, struct err *e)
{
	const char *dir = command_opt(&command_incident, args, "out");
	json_t *o = NULL;
	const int found = incident_find(client, args->argv[1], &o, e);
	if (found < 0)
		return found;
	if (dir) {
		struct incident_record *record = incident_json_read(o);
		json_decref(o);
		if (!record)
			return err_set(e, -EIO, "the stored incident cannot be read");
		const int exported = export_case(client, &record->i, dir, e);
		incident_record_free(record);
		return exported;
	}
	rw_cleanup(freep) char *yaml = config_text(client->config);
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	json_t *doc = json_pack("{s:o, s:s?, s:s?}", "incident",
		incident_public(client->config, incident_told(o, a)), "configuration", yaml,
		"database", client->db_path);
	json_decref(o);
	int rc = -EIO;
	if (doc)
		rc = report_print(stdout, doc, &incident_card_view, FORMAT_JSON, true, false);
	json_decref(doc);
	if (rc == 0)
		return 0;
	return err_set(e, rc, "the result could not be written: %s", strerror(-rc));
}

/* ---- what people do ---------------------------------------------------------------- */

static int cmd_incident_restore(struct ledger *ledger, const json_t *incident)
{
	rw_cleanup(freep) char *json = json_dumps(incident, JSON_COMPACT);
	return ledger_restore(ledger, json);
}

/* One action on stored incidents. @other: the incident to merge into, NULL. */
struct direct_action {
	const json_t *incident, *other;
	enum incident_action action;
	const char *text;
};

static int action_in(struct ledger *ledger, const struct direct_action *direct, struct err *e)
{
	char who[64];
	int rc = cmd_incident_restore(ledger, direct->incident);
	if (rc == 0 && direct->other)
		rc = cmd_incident_restore(ledger, direct->other);
	if (rc != 0)
		return err_set(e, rc, "the stored incident cannot be read: %s", strerror(-rc));
	client_own_name(who, sizeof(who));
	rc = ledger_action(ledger, incident_id_of(direct->incident), direct->action, who,
		direct->text, wall_now().ns);
	if (rc == 0)
		return 0;
	return err_set(e, rc, "%s", incident_action_error(rc));
}

static int action_direct(const struct client *client, struct store *store, void *arg, struct err *e)
{
	struct ledger *ledger = ledger_new(client->config->fabric, incident_store, store);
	const int rc = action_in(ledger, arg, e);
	ledger_free(ledger);
	return rc;
}

static int cmd_incident_run_action(
	struct client *client, const struct command_args *args, struct err *e)
{
	const char *note = command_opt(&command_incident, args, "note");
	const char *text = note;
	if (args->argc > 2)
		text = args->argv[2];
	enum incident_action action = ACTION_ACK;
	incident_action_parse(args->argv[0], &action);
	json_t *o = NULL, *other = NULL;
	int rc = incident_find(client, args->argv[1], &o, e);
	if (rc == 0 && action == ACTION_MERGE)
		rc = incident_find(client, text, &other, e);
	if (rc < 0) {
		json_decref(o);
		return rc;
	}
	if (other)
		text = incident_id_of(other);
	const char *id = incident_id_of(o);
	if (other && json_equal(other, o))
		rc = err_set(
			e, -EINVAL, "an incident cannot be merged into itself; name another one");
	else if (client_writer_pid(client) != 0)
		rc = client_act(client, args->argv[0], id, text, e);
	else
		rc = direct_write(client, action_direct,
			&(struct direct_action){
				.incident = o, .other = other, .action = action, .text = text},
			e);
	if (rc == 0)
		rc = command_said(args,
			json_pack("{s:s, s:s, s:s?}", "id", id, "action", args->argv[0], "text",
				text),
			e, "%s: %s", id, args->argv[0]);
	json_decref(o);
	json_decref(other);
	return rc;
}

/* ---- the command --------------------------------------------------------- */

#define BY_AGENT                                                                                   \
	"It goes through the agent's socket, which knows who asks; with no agent running it is "   \
	"written directly."
#define SHORT_ID "An id may be shortened while it stays unambiguous."

static const struct subcommand incident_subcommands[] = {
	{.name = "list",
		.summary = "what is open now, worst first, one line each",
		.help = "--all adds what is closed. With --since, --until or --around it shows "
			"what was open in that time. In csv and json, without --state, it holds "
			"all that were ever opened; each has its state.",
		.options = "all state severity device host job cause",
		.takes = TAKES_DB | TAKES_RANGE,
		.formats = WRITES_ALL,
		.examples = {{"incident list --severity warning",
				     "lists the open incidents, without those that only inform"},
			{"incident list --all --since 24h --format csv",
				"writes all incidents of the last day as csv"}},
		.act = cmd_incident_run_list},
	{.name = "show",
		.args = "ID",
		.summary = "the card of one incident: what, why, cost, what to do",
		.help = SHORT_ID,
		.options = "full",
		.takes = TAKES_DB,
		.formats = WRITES_ALL,
		.examples = {{"incident show 72drcj3l", "prints the card; it fits a screen"},
			{"incident show 72drcj3l --full --format md",
				"writes all that is known as Markdown, for a ticket"}},
		.act = cmd_incident_run_show},
	{.name = "timeline",
		.args = "ID",
		.summary = "what happened before and during an incident, in order",
		.takes = TAKES_DB,
		.formats = WRITES_ALL,
		.examples = {{"incident timeline 72drcj3l",
				     "shows onset, changes, alerts and what people did"},
			{"incident timeline 72drcj3l --format json", "writes it as a document"}},
		.act = run_timeline},
	{.name = "burst",
		.args = "ID",
		.summary = "which port began, by values of a millisecond",
		.help = "Switches that push values by IPFIX have them at a millisecond; they are "
			"kept as an incident opens.",
		.options = "values",
		.takes = TAKES_DB,
		.formats = WRITES_ALL,
		.examples = {{"incident burst 72drcj3l", "names the port whose queue filled first",
				     EXIT_FAILED},
			{"incident burst 72drcj3l --values", "prints all kept values as csv",
				EXIT_FAILED}},
		.act = cmd_incident_run_burst},
	{.name = "export",
		.args = "ID",
		.summary = "one incident with its configuration, or its samples as a case",
		.help = "Without --out it prints one JSON document. A case holds 15 minutes before "
			"the incident and 5 after it; a replay finds the same incident in it.",
		.options = "out",
		.takes = TAKES_DB,
		.formats = 1 << FORMAT_JSON,
		.examples = {{"incident export 72drcj3l", "prints the incident as JSON"},
			{"incident export 72drcj3l --out storm.case",
				"writes its samples for 'rocewatch replay --from storm.case'"}},
		.act = cmd_incident_run_export},
	{.name = "ack",
		.args = "ID",
		.summary = "take it: its alerts stop",
		.help = BY_AGENT,
		.options = "note",
		.takes = TAKES_DB,
		.formats = WRITES_SAID,
		.examples = {{"incident ack 72drcj3l", "stops the alerts of this incident"},
			{"incident ack 72drcj3l --note 'optic ordered'",
				"also notes what is being done"}},
		.act = cmd_incident_run_action},
	{.name = "assign",
		.args = "ID WHO",
		.summary = "give an incident to somebody",
		.help = BY_AGENT,
		.takes = TAKES_DB,
		.formats = WRITES_SAID,
		.examples = {{"incident assign 72drcj3l alice", "gives it to alice"},
			{"incident assign 72drcj3l 'network team'", "gives it to a team"}},
		.act = cmd_incident_run_action},
	{.name = "note",
		.args = "ID TEXT",
		.summary = "add a line to the timeline of an incident",
		.help = BY_AGENT,
		.takes = TAKES_DB,
		.formats = WRITES_SAID,
		.examples = {{"incident note 72drcj3l 'firmware is 28.39'", "adds this line"},
			{"incident note 72drcj3l 'node-010 drained' --format json",
				"adds it and confirms it as JSON"}},
		.act = cmd_incident_run_action},
	{.name = "close",
		.args = "ID",
		.summary = "end an incident",
		.help = "A fault that continues, or returns within 8 hours, opens it "
			"again. " BY_AGENT,
		.options = "note",
		.takes = TAKES_DB,
		.formats = WRITES_SAID,
		.examples = {{"incident close 72drcj3l", "closes it"},
			{"incident close 72drcj3l --note 'cable replaced'",
				"closes it and says why"}},
		.act = cmd_incident_run_action},
	{.name = "merge",
		.args = "ID INTO",
		.summary = "make an incident part of another one",
		.help = "It remains, as part of the other. " BY_AGENT,
		.takes = TAKES_DB,
		.formats = WRITES_SAID,
		.examples = {{"incident merge gsq2kfcd 72drcj3l",
				     "makes gsq2kfcd part of 72drcj3l"},
			{"incident merge gsq2kfcd 72drcj3l --quiet",
				"does the same and prints nothing"}},
		.act = cmd_incident_run_action},
	{0},
};

const struct command command_incident = {
	.name = "incident",
	.summary = "incidents with their evidence, worst first",
	.help = SHORT_ID,
	.options = incident_options,
	.usage_exit = EXIT_USAGE,
	.subs = incident_subcommands,
	.otherwise = "list",
	.span_ns = 24 * 3600 * NS_PER_S,
};

/* cmd_runbook - "rocewatch runbook CAUSE|INCIDENT": what the cause is, how to confirm it by hand,
 * fix it and escalate it. The pages are part of the program: no file and no database is needed. */

/* An incident is found whenever it was; a range must be named all the same. */
#define RUNBOOK_SPAN_NS (24 * 3600 * NS_PER_S)

extern const struct command command_runbook;

/* The runbook of the cause of incident @id. 0; -ENOENT and others with @e. */
static int runbook_of_incident(
	const struct globals *globals, const char *id, const struct web_file **ret, struct err *e)
{
	struct client client;
	json_t *incident = NULL;
	int rc = command_open(&client, globals, RUNBOOK_SPAN_NS, e);
	if (rc < 0)
		return rc;
	rc = incident_find(&client, id, &incident, e);
	client_done(&client);
	if (rc < 0)
		return rc;
	*ret = runbook_find(doc_word(incident, "cause"));
	if (!*ret)
		rc = err_set(e, -ENOENT, "there is no runbook for the cause '%.60s'",
			doc_word(incident, "cause"));
	json_decref(incident);
	return rc;
}

static const char *runbook_nearest(const char *word)
{
	const char *names[CAUSE_COUNT];
	size_t n = 0;
	for (int i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++)
		names[n++] = cause_name((enum cause)i);
	return str_nearest(word, names, n);
}

static int runbook_unknown(const char *word)
{
	const char *near = runbook_nearest(word);
	if (near)
		return usage_error(
			&command_runbook, "unknown cause '%.60s'; did you mean '%s'?", word, near);
	return usage_error(&command_runbook,
		"unknown cause or incident '%.60s'; 'rocewatch runbook' lists the causes", word);
}

/* The page as a person reads it: without the comments that mark its printed parts, and without the
 * empty lines beside them. */
static void runbook_text_add(struct str *out, const struct web_file *runbook)
{
	static const char mark[] = "<!-- ";
	bool empty = false;
	const char *line = (const char *)runbook->begin;
	const char *end = (const char *)runbook->end;
	while (line < end) {
		const char *next = memchr(line, '\n', (size_t)(end - line));
		next = next ? next + 1 : end;
		const size_t n = (size_t)(next - line);
		const bool is_mark = n >= strlen(mark) && memcmp(line, mark, strlen(mark)) == 0;
		if (!is_mark && !(empty && n == 1))
			str_addn(out, line, n);
		if (!is_mark)
			empty = n == 1;
		line = next;
	}
}

static int runbook_print(const struct web_file *runbook, enum report_format format)
{
	rw_cleanup(str_done) struct str text = {0};
	if (format == FORMAT_HTML)
		runbook_html_add(&text, runbook, true);
	else if (format == FORMAT_TABLE)
		runbook_text_add(&text, runbook);
	else
		str_addn(&text, runbook->begin, (size_t)(runbook->end - runbook->begin));
	if (fwrite(text.s, 1, text.n, stdout) != text.n)
		return EXIT_FAILED;
	return EXIT_OK;
}

static int cmd_runbook_run(struct command_args *args)
{
	const enum report_format format = args->g->format;
	const char *word = "";
	struct err e = {0};
	if (args->argc == 1)
		word = args->argv[0];
	const struct web_file *runbook = runbook_find(word);
	if (!runbook && !incident_id_is_plain(word))
		return runbook_unknown(word);
	if (runbook)
		return runbook_print(runbook, format);
	const int rc = runbook_of_incident(args->g, word, &runbook, &e);
	if (rc == 0)
		return runbook_print(runbook, format);
	if (runbook_nearest(word)) /* a mistyped cause rather than an incident */
		return runbook_unknown(word);
	return command_exit(rc, &e);
}

const struct command command_runbook = {
	.name = "runbook",
	.args = "[CAUSE|INCIDENT]",
	.summary = "what to do: confirm a cause by hand, fix it, escalate it",
	.help = "Prints the runbook of a cause, or of the cause of an incident, as markdown; with "
		"--format html as a page. Without a word it prints the index by symptom. The web "
		"page serves the same below /runbooks/, and alerts link to it: alerts.web_url, or "
		"alerts.runbook_url for a site's own pages.",
	.takes = TAKES_DB,
	.formats = 1 << FORMAT_TABLE | 1 << FORMAT_MD | 1 << FORMAT_HTML,
	.examples = {{"runbook pfc_storm", "prints what to do about a PFC storm"},
		{"runbook 72drcj3l", "prints what to do about an incident"}},
	.usage_exit = EXIT_USAGE,
	.run = cmd_runbook_run,
};

/* cmd_tune - "rocewatch tune": threshold changes as reviewable sheets, who decided what, and the
 * proof afterwards. rocewatch never logs in to a switch. */
#include <jansson.h>

#include "agent/tuning/tune_view.h"
#include "agent/client/client.h"
#include "agent/command/command.h"
#include "agent/document/json_value.h"
#include "agent/tuning/tune_documents.h"
#include "agent/tuning/tune_json.h"
#include "agent/tuning/tune_ledger.h"
#include "agent/tuning/tune_read.h"
#include "agent/tuning/tune_record.h"
#include "agent/tuning/tune_review.h"
#include "analyzers/tune/tune_effect.h"
#include "config/config.h"
#include "config/profile/profile.h"
#include "db/model/entity.h"
#include "db/series/history.h"

/* cmd_tune_whatif - makes the answer of "rocewatch tune whatif": what other thresholds would do, by
 * the queue model calibrated on the time range asked for. */

struct tune_whatif_ask { /* as given on the command line; NULL: not given */
	const char *device, *port, *priority;
	const char *const *set; /* "kmin=400KB" ..., NULL-terminated */
};

static double *setting_of(struct whatif_settings *settings, enum tune_knob knob)
{
	switch (knob) {
	case KNOB_ALPHA: return &settings->alpha;
	case KNOB_HEADROOM: return &settings->headroom_bytes;
	case KNOB_XOFF_LEVEL: return &settings->xoff_level_bytes;
	case KNOB_XON_OFFSET: return &settings->xon_offset_bytes;
	case KNOB_KMIN: return &settings->kmin_bytes;
	case KNOB_KMAX: return &settings->kmax_bytes;
	case KNOB_PMAX: return &settings->pmax;
	default: return NULL;
	}
}

static int cmd_tune_whatif_read_value(
	enum tune_knob knob, const char *text, double *ret, struct err *e)
{
	struct err why = {0};
	uint64_t bytes;
	if (str_eq(tune_knob_unit(knob), "bytes")) {
		if (unit_size(text, &bytes, &why) != 0)
			return err_set(e, -EINVAL, "--set %s: %s", tune_knob_name(knob), why.text);
		*ret = (double)bytes;
		return 0;
	}
	if (unit_ratio(text, ret, &why) == 0 ||
		(knob == KNOB_ALPHA && unit_double(text, ret, NULL) == 0)) {
		if (*ret > 0)
			return 0;
		return err_set(
			e, -EINVAL, "--set %s: '%.40s' is not above 0", tune_knob_name(knob), text);
	}
	return err_set(e, -EINVAL, "--set %s: %s", tune_knob_name(knob), why.text);
}

static int read_sets(
	const char *const *set, struct whatif_settings *to, unsigned *ret_knobs, struct err *e)
{
	*to = (struct whatif_settings){NAN, NAN, NAN, NAN, NAN, NAN, NAN};
	*ret_knobs = 0;
	for (; set && *set; set++) {
		const char *equals = strchr(*set, '=');
		rw_cleanup(freep) char *word = NULL;
		if (equals)
			word = strndup(*set, (size_t)(equals - *set));
		enum tune_knob k;
		double *at = NULL;
		if (word && tune_knob_parse(word, &k) == 0)
			at = setting_of(to, k);
		if (!at)
			return err_set(e, -EINVAL,
				"--set: unknown setting '%.60s'; expected alpha, headroom, "
				"xoff_level, "
				"xon_offset, kmin, kmax or pmax and a value, such as kmin=400KB",
				*set);
		const int rc = cmd_tune_whatif_read_value(k, equals + 1, at, e);
		if (rc != 0)
			return rc;
		*ret_knobs |= 1u << k;
	}
	if (*ret_knobs)
		return 0;
	return err_set(e, -EINVAL, "missing --set KNOB=VALUE, such as --set kmin=400KB");
}

static json_t *cmd_tune_whatif_changes_of(struct tune_effect *effect, unsigned knobs)
{
	json_t *changes = json_array();
	for (int k = 0; k < TUNE_KNOBS; k++)
		if (knobs & 1u << k)
			json_array_append_new(changes,
				json_pack("{s:s, s:o, s:o, s:n, s:s, s:s}", "knob",
					tune_knob_name((enum tune_knob)k), "current",
					json_number_or_null(
						*setting_of(&effect->queue.now, (enum tune_knob)k)),
					"proposed",
					json_number_or_null(
						*setting_of(&effect->to, (enum tune_knob)k)),
					"programmed", "unit", tune_knob_unit((enum tune_knob)k),
					"why", ""));
	return changes;
}

static json_t *cmd_tune_whatif_document(struct tune_effect *effect, unsigned knobs)
{
	json_t *expected = json_array(), *notes = json_array();
	for (size_t k = 0; k < effect->n_expected; k++)
		json_array_append_new(expected,
			json_pack("{s:s, s:n, s:o, s:o, s:o, s:o, s:o, s:o}", "metric",
				effect->expected[k].metric, "worse_ratio", "now",
				json_number_or_null(effect->expected[k].now), "likely",
				json_number_or_null(effect->expected[k].likely), "low",
				json_number_or_null(effect->expected[k].low), "high",
				json_number_or_null(effect->expected[k].high), "unit",
				json_string_or_null(effect->expected[k].unit), "of",
				json_string_or_null(effect->expected[k].of)));
	for (size_t k = 0; k < effect->n_notes; k++)
		json_array_append_new(notes, json_string_or_null(effect->notes[k]));
	return json_pack("{s:s, s:s, s:i, s:o, s:o, s:o, s:o, s:o}", "device",
		effect->prio->port->device->name, "port", effect->prio->port->name, "priority",
		effect->prio->priority, "changes", cmd_tune_whatif_changes_of(effect, knobs),
		"expected", expected, "q_pfc_bytes", json_number_or_null(effect->model.q_pfc_bytes),
		"residual_ratio", json_number_or_null(effect->model.residual), "notes", notes);
}

static int only_priority(const struct fabric *fabric)
{
	int found = PRIO_NONE;
	for (int k = 0; k < 8; k++)
		if (fabric->lossless_mask & 1u << k) {
			if (found == PRIO_NONE)
				found = k;
			else
				found = 8;
		}
	if (found < 8)
		return found;
	return PRIO_NONE;
}

static void cmd_tune_whatif_free_profiles(struct profiles **profiles)
{
	profiles_free(*profiles);
}

static int load_whatif_profiles(const struct client *client, struct profiles **ret, struct err *e)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	if (profiles_load(client->config->profile_dir, ret, &errors) == 0)
		return 0;
	if (errors.n)
		return err_set(e, -EINVAL, "%s", errors.v[0].text);
	return err_set(e, -EINVAL, "the profiles cannot be read");
}

static int read_priority(const struct client *client, const char *word, int64_t *ret, struct err *e)
{
	struct err why = {0};
	*ret = only_priority(client->config->fabric);
	if (word && (unit_int(word, ret, &why) != 0 || *ret < 0 || *ret > 7))
		return err_set(e, -EINVAL, "--priority: '%.20s' is not a priority, 0 to 7", word);
	if (*ret == PRIO_NONE)
		return err_set(
			e, -EINVAL, "missing --priority N: the fabric has several lossless ones");
	return 0;
}

/* tune_whatif_document - the answer, a new reference. 0 or negative errno, @e: -EINVAL for usage.
 */
static int tune_whatif_document(
	struct client *client, const struct tune_whatif_ask *ask, json_t **ret, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *arena = arena_new();
	rw_cleanup(cmd_tune_whatif_free_profiles) struct profiles *profiles = NULL;
	const struct config *config = client->config;
	int64_t priority = PRIO_NONE;
	struct whatif_settings to;
	struct tune_history history;
	struct tune_effect effect;
	unsigned knobs;
	if (!ask->device)
		return err_set(e, -EINVAL, "missing --device NAME");
	int rc = read_priority(client, ask->priority, &priority, e);
	if (rc == 0)
		rc = read_sets(ask->set, &to, &knobs, e);
	if (rc == 0)
		rc = load_whatif_profiles(client, &profiles, e);
	if (rc == 0)
		rc = tune_read_history(
			client, profiles, client->from_ns, client->to_ns, arena, &history, e);
	if (rc == 0)
		rc = known_device(client, ask->device, e);
	if (rc == 0)
		rc = known_port(client, ask->device, ask->port, e);
	if (rc != 0)
		return rc;
	const struct tune_options options = {.min_evidence_ns = config->tuning.min_evidence_ns,
		.min_coverage = config->tuning.min_coverage,
		.rtt_ns = config->tuning.base_rtt_ns,
		.max_pmax = config->tuning.max_pmax};
	rc = tune_whatif(history.evidence, ask->device, ask->port, (int)priority, &to, &options,
		arena, &effect, e);
	if (rc == 0)
		*ret = cmd_tune_whatif_document(&effect, knobs);
	return rc;
}

/* ---- cmd_tune -------------------------------------------------------------- */

#define DEFAULT_SPAN_NS (24 * 3600 * NS_PER_S)

static const struct command_option options[] = {
	{"device", 0, "GLOB", "only these switches"},
	{"port", 0, "GLOB", "only sheets that touch such a port"},
	{"priority", 0, "N", "only this priority"},
	{"uplinks", 0, "PEER", "only sheets that touch a link to this switch"},
	{"allow-reduce", 0, NULL, "headroom may be advised down"},
	{"no-record", 0, NULL, "print only, do not record the proposals in the ledger"},
	{"vendor", 0, "NAME",
		"the syntax of this vendor, any that a profile has words for (default: the "
		"switch's own)"},
	{"undo", 0, NULL, "the commands that undo the change"},
	{"why", 0, "TEXT", "the reason; reject needs one"},
	{"at", 0, "TIME", "when it was applied (default: now)"},
	{"match", 0, "job|load|none",
		"windows of the same job at the same phase (job, the default), of the same load "
		"(load), or all busy ones (none)"},
	{"before", 0, "DURATION",
		"how much of the time before (default: as far back as the sheet looked, at least "
		"1h, at most 24h, and no further than its previous values were in force)"},
	{"after", 0, "DURATION", "how much of the time since (default: at most 24h)"},
	{"set", 0, "KNOB=VALUE",
		"a threshold, such as kmin=400KB, alpha=1/8, pmax=10%; may be repeated"},
	{0},
};

extern const struct command command_tune;

static const char *cmd_tune_opt(const struct command_args *args, const char *name)
{
	return command_opt(&command_tune, args, name);
}

/* ---- printing ------------------------------------------------------------ */

/* ---- what was recorded --------------------------------------------------- */

static int cmd_tune_run_list(struct client *client, const struct command_args *args, struct err *e)
{
	json_t *doc = NULL;
	int rc = tune_list_document(client, &doc, e);
	if (rc != 0)
		return rc;
	rc = command_print(args, doc, &tune_list_view, e);
	json_decref(doc);
	return rc;
}

static int cmd_tune_run_show(struct client *client, const struct command_args *args, struct err *e)
{
	json_t *doc = NULL;
	int rc = tune_show_document(client, args->argv[1], &doc, e);
	if (rc != 0)
		return rc;
	rc = command_print(args, doc, &tune_sheets_view, e);
	json_decref(doc);
	return rc;
}

static int run_render(struct client *client, const struct command_args *args, struct err *e)
{
	rw_cleanup(tune_documents_free) struct tune_ledger *l = NULL;
	rw_cleanup(arena_freep) struct arena *arena = arena_new();
	const char *device = cmd_tune_opt(args, "device"), *text = NULL;
	const bool undo = cmd_tune_opt(args, "undo") != NULL;
	const struct tune_record *record = NULL;
	int rc = tune_documents_load(client, &l, e);
	if (rc == 0)
		record = tune_find(l, args->argv[1], e);
	if (!record)
		return e->code;
	rc = tune_render(
		client, record, device, cmd_tune_opt(args, "vendor"), undo, arena, &text, e);
	if (rc != 0)
		return rc;
	if (args->g->format != FORMAT_JSON) {
		fputs(text, stdout);
		return 0;
	}
	json_t *doc = json_pack("{s:s, s:s, s:b, s:s}", "id", record->sheet.id, "device",
		str_or(device, record->sheet.device), "undo", undo, "text", text);
	rc = command_print(args, doc, &tune_list_view, e);
	json_decref(doc);
	return rc;
}

/* ---- review -------------------------------------------------------------- */

static void record_proposals(
	struct client *client, const struct command_args *args, struct tune_reviewed *reviewed)
{
	struct err why = {0};
	if (tune_propose_all(client, reviewed->v, reviewed->n, &why) == 0 || args->g->quiet)
		return;
	fprintf(stderr,
		"warning: the proposals were not recorded (%s%s%s); 'tune accept' reviews again\n",
		why.file, str_if(why.file[0], ": "), why.text);
}

static int run_review(struct client *client, const struct command_args *args, struct err *e)
{
	rw_cleanup(tune_reviewed_done) struct tune_reviewed reviewed = {0};
	const struct tune_ask ask = {
		.device = args->argc > 1 ? args->argv[1] : cmd_tune_opt(args, "device"),
		.port = cmd_tune_opt(args, "port"),
		.uplinks = cmd_tune_opt(args, "uplinks"),
		.priority = cmd_tune_opt(args, "priority"),
		.allow_reduce = cmd_tune_opt(args, "allow-reduce") != NULL};
	int rc = tune_review_asked(client, &ask, &reviewed, e);
	if (rc != 0)
		return rc;
	if (!cmd_tune_opt(args, "no-record"))
		record_proposals(client, args, &reviewed);
	json_t *doc = tune_reviewed_json(&reviewed);
	rc = command_print(args, doc, &tune_sheets_view, e);
	json_decref(doc);
	return rc;
}

/* ---- acts ---------------------------------------------------------------- */

/* A sheet that could not be recorded when it was made: the same time range is reviewed again, and
 * the sheet proposed. */
static int propose_again(struct client *client, const char *id, char ret_id[9], struct err *e)
{
	const struct tune_filter all = {.priority = PRIO_NONE};
	rw_cleanup(tune_documents_free) struct tune_ledger *l = NULL;
	rw_cleanup(tune_reviewed_done) struct tune_reviewed reviewed = {0};
	struct err ignored = {0};
	if (tune_documents_load(client, &l, &ignored) != 0 ||
		tune_review_records(client, &all, l, &reviewed, &ignored) != 0)
		return e->code;
	for (size_t i = 0; i < reviewed.n; i++) {
		const struct tune_sheet *sheet = &reviewed.v[i]->sheet;
		if (sheet->advice != ADVICE_CHANGE || !str_eq(sheet->id, id))
			continue;
		*e = (struct err){0};
		snprintf(ret_id, 9, "%s", id);
		return tune_propose_all(client, &reviewed.v[i], 1, e);
	}
	return e->code;
}

static const char *const decided_words[] = {
	[TUNE_ACCEPT] = "accepted", [TUNE_REJECT] = "rejected", [TUNE_APPLY] = "applied"};

static int read_decision(struct client *client, const struct command_args *args,
	struct tune_decision_in *in, struct err *e)
{
	const char *word = args->argv[0], *at = cmd_tune_opt(args, "at");
	wall_t at_time;
	*in = (struct tune_decision_in){.decision = TUNE_APPLY,
		.text = cmd_tune_opt(args, "why"),
		.t_ns = client->now_ns,
		.at_ns = client->now_ns};
	if (str_eq(word, "accept"))
		in->decision = TUNE_ACCEPT;
	else if (str_eq(word, "reject"))
		in->decision = TUNE_REJECT;
	if (in->decision == TUNE_REJECT && !*str_or(in->text, ""))
		return err_set(e, -EINVAL, "missing --why TEXT: a rejection needs its reason");
	if (!at)
		return 0;
	if (wall_parse(at, (wall_t){client->now_ns}, &at_time) != 0)
		return err_set(e, -EINVAL,
			"--at: '%.60s' is not a time; expected one such as 2026-11-21T03:00:00Z, "
			"or 10m for ten minutes ago",
			at);
	in->at_ns = at_time.ns;
	return 0;
}

static int run_decide(struct client *client, const struct command_args *args, struct err *e)
{
	rw_cleanup(tune_documents_free) struct tune_ledger *l = NULL;
	struct tune_decision_in in;
	char id[9] = "";
	int rc = read_decision(client, args, &in, e);
	if (rc == 0)
		rc = tune_documents_load(client, &l, e);
	if (rc != 0)
		return rc;
	const struct tune_record *record = tune_find(l, args->argv[1], e);
	if (record)
		snprintf(id, sizeof(id), "%s", record->sheet.id);
	else if (e->code == -ENOENT)
		rc = propose_again(client, args->argv[1], id, e);
	else
		rc = e->code;
	if (rc == 0)
		rc = tune_decide(client, id, &in, e);
	if (rc != 0)
		return rc;
	return command_said(args,
		json_pack("{s:s, s:s, s:s?}", "id", id, "decision", decided_words[in.decision],
			"text", in.text),
		e, "%s: %s", id, decided_words[in.decision]);
}

/* ---- verify -------------------------------------------------------------- */

static int cmd_tune_read_span(
	const struct command_args *args, const char *name, int64_t *ret, struct err *e)
{
	struct err why = {0};
	if (!cmd_tune_opt(args, name))
		return 0;
	if (unit_duration(cmd_tune_opt(args, name), ret, &why) != 0 || *ret <= 0)
		return err_set(e, -EINVAL, "--%s: '%.40s' is not a duration such as 2h", name,
			cmd_tune_opt(args, name));
	return 0;
}

static int record_result(struct client *client, const struct tune_record *record,
	const struct tune_verified *verified, int64_t applied_ns, struct err *e)
{
	const struct tune_decision_in apply = {.decision = TUNE_APPLY,
		.text = "read back",
		.t_ns = client->now_ns,
		.at_ns = applied_ns};
	const struct tune_decision_in verify = {
		.decision = TUNE_VERIFY, .t_ns = client->now_ns, .result = verified};
	/* A refusal does not matter here: the agent has read the values back by itself meanwhile,
	 * or it refuses the result too, with its reason. */
	struct err ignored = {0};
	if (record->state == TUNE_ACCEPTED && client_writer_pid(client) != 0)
		(void)tune_decide(client, record->sheet.id, &apply, &ignored);
	return tune_decide(client, record->sheet.id, &verify, e);
}

static int read_verify_ask(
	const struct command_args *args, struct tune_verify_ask *ask, struct err *e)
{
	const char *match = cmd_tune_opt(args, "match");
	*ask = (struct tune_verify_ask){.match = VERIFY_JOB};
	if (match && verify_match_parse(match, &ask->match) != 0)
		return err_set(e, -EINVAL,
			"--match: unknown word '%.20s'; expected job, load or none", match);
	int rc = cmd_tune_read_span(args, "before", &ask->before_ns, e);
	if (rc == 0)
		rc = cmd_tune_read_span(args, "after", &ask->after_ns, e);
	return rc;
}

static int run_verify(struct client *client, const struct command_args *args, struct err *e)
{
	rw_cleanup(tune_documents_free) struct tune_ledger *l = NULL;
	rw_cleanup(arena_freep) struct arena *arena = arena_new();
	struct tune_verify_ask ask;
	struct tune_verified verified;
	const struct tune_record *record = NULL;
	int rc = read_verify_ask(args, &ask, e);
	if (rc == 0)
		rc = tune_documents_load(client, &l, e);
	if (rc == 0)
		record = tune_find(l, args->argv[1], e);
	if (!record)
		return e->code;
	rc = tune_verify_record(client, record, &ask, arena, &verified, e);
	if (rc != 0)
		return rc;
	struct err why = {0};
	const char *recorded = "yes";
	if (record_result(client, record, &verified, ask.applied_ns, &why) != 0) {
		recorded = "no";
		if (!args->g->quiet)
			fprintf(stderr, "warning: the result was not recorded: %s\n", why.text);
	}
	json_t *doc = tune_verified_json(&verified);
	json_object_set_new(doc, "recorded", json_string(recorded));
	rc = command_print(args, doc, &tune_verify_view, e);
	json_decref(doc);
	return rc;
}

/* ---- what-if ------------------------------------------------------------- */

static int run_whatif(struct client *client, const struct command_args *args, struct err *e)
{
	rw_cleanup(freep) const char **sets = command_opt_all(args, "set");
	const struct tune_whatif_ask ask = {.device = cmd_tune_opt(args, "device"),
		.port = cmd_tune_opt(args, "port"),
		.priority = cmd_tune_opt(args, "priority"),
		.set = sets};
	json_t *doc = NULL;
	int rc = tune_whatif_document(client, &ask, &doc, e);
	if (rc == 0)
		rc = command_print(args, doc, &tune_whatif_view, e);
	json_decref(doc);
	return rc;
}

/* ---- the command --------------------------------------------------------- */

#define BY_AGENT                                                                                   \
	"It goes through the agent's socket, which knows who asks; with no agent running it is "   \
	"written directly."

static const struct subcommand subcommands[] = {
	{.name = "review",
		.args = "[DEVICE]",
		.summary = "which thresholds should change, to which value, and why",
		.help = "Reads the last 24 hours, or --since/--until, and prints sheets: what to "
			"change, why, what it costs, the expected effect, how to apply it and how "
			"to undo it; or what to fix first, or what to collect. Its proposals are "
			"recorded in the ledger.",
		.options = "device port priority uplinks allow-reduce no-record",
		.takes = TAKES_DB | TAKES_RANGE,
		.formats = WRITES_ALL,
		.examples = {{"tune review", "prints the sheets of all switches"},
			{"tune review leaf1 --priority 3 --no-record",
				"reviews one switch and records nothing"}},
		.act = run_review},
	{.name = "list",
		.summary = "all sheets with their state",
		.takes = TAKES_DB,
		.formats = WRITES_ALL,
		.examples = {{"tune list", "lists proposed, accepted and verified sheets"},
			{"tune list --format csv --no-header", "writes them as csv rows"}},
		.act = cmd_tune_run_list},
	{.name = "show",
		.args = "ID",
		.summary = "one sheet",
		.takes = TAKES_DB,
		.formats = WRITES_ALL,
		.examples = {{"tune show hk2v7q4d", "prints the sheet"},
			{"tune show hk2v7q4d --format html", "writes it as a page for a change"}},
		.act = cmd_tune_run_show},
	{.name = "render",
		.args = "ID",
		.summary = "the change in the syntax of the switch",
		.options = "device vendor undo",
		.takes = TAKES_DB,
		.formats = WRITES_SAID,
		.examples = {{"tune render hk2v7q4d", "prints the commands to apply by hand"},
			{"tune render hk2v7q4d --undo", "prints the commands to go back"}},
		.act = run_render},
	{.name = "accept",
		.args = "ID",
		.summary = "decide that a sheet is to be applied",
		.help = "rocewatch changes nothing on a switch. When the values are read back, the "
			"sheet counts as applied. A sheet expires after 72 hours, or when its "
			"evidence changes. " BY_AGENT,
		.options = "why",
		.takes = TAKES_DB,
		.formats = WRITES_SAID,
		.examples = {{"tune accept hk2v7q4d", "records the decision"},
			{"tune accept hk2v7q4d --why 'change NET-1204'",
				"records it with the change's number"}},
		.act = run_decide},
	{.name = "reject",
		.args = "ID",
		.summary = "decide that a sheet is not to be applied",
		.help = BY_AGENT,
		.options = "why",
		.takes = TAKES_DB,
		.formats = WRITES_SAID,
		.examples = {{"tune reject hk2v7q4d --why 'maintenance first'",
				     "records the decision with its reason"},
			{"tune reject hk2v7q4d --why 'same as last week' --quiet",
				"does it and prints nothing"}},
		.act = run_decide},
	{.name = "applied",
		.args = "ID",
		.summary = "record that it was applied, where nothing is read back",
		.help = "Until it is verified the agent watches: lossless drops or longer steps "
			"open incident tuning_regression. " BY_AGENT,
		.options = "why at",
		.takes = TAKES_DB,
		.formats = WRITES_SAID,
		.examples = {{"tune applied hk2v7q4d", "records that it was applied now"},
			{"tune applied hk2v7q4d --at 5m", "records that it was five minutes ago"}},
		.act = run_decide},
	{.name = "verify",
		.args = "ID",
		.summary = "did it help: keep, roll back, or inconclusive",
		.help = "Compares matched windows before and after, with 95 % intervals, and "
			"records the result.",
		.options = "match before after",
		.takes = TAKES_DB,
		.formats = WRITES_ALL,
		.examples = {{"tune verify hk2v7q4d", "compares and records the verdict"},
			{"tune verify hk2v7q4d --match load --before 2h --after 2h",
				"compares windows of equal load of two hours each"}},
		.act = run_verify},
	{.name = "whatif",
		.summary = "what other thresholds would do, by the queue model",
		.help = "The model is calibrated on the time range. Without --set it shows the "
			"values in force.",
		.options = "device port priority set",
		.takes = TAKES_DB | TAKES_RANGE,
		.formats = WRITES_ALL,
		.examples = {{"tune whatif --device leaf1 --set kmin=400KB --set kmax=1600KB",
				     "predicts marks, pause and step time with these values"},
			{"tune whatif --device leaf1 --port Ethernet1 --set alpha=1/4",
				"predicts them for one port"}},
		.act = run_whatif},
	{0},
};

const struct command command_tune = {
	.name = "tune",
	.summary = "threshold changes: review, syntax, decisions, proof",
	.help = "rocewatch changes nothing on a switch: it proposes, people decide and apply, it "
		"reads the values back and verifies. Ids may be shortened while they stay "
		"unambiguous.",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.subs = subcommands,
	.otherwise = "list",
	.span_ns = DEFAULT_SPAN_NS,
};

/* cmd_alert - "rocewatch alert": the receivers, what each one got, and a test of a receiver. */
#include <poll.h>

#include "agent/client/client.h"
#include "agent/command/command.h"
#include "agent/alert/sender.h"
#include "agent/incident/silence.h"
#include "base/curl_io.h"
#include "agent/answers/alerts/alert_views.h"
#include "config/config.h"
#include "db/store/store.h"

#define ASK_EVERY_MS 200
#define ASK_MARGIN_NS (10 * NS_PER_S) /* beyond the receiver's timeout: others may be before */

static int alert_list(struct client *client, const struct command_args *args, struct err *e)
{
	json_t *doc = alerts_document(client, e);
	if (!doc)
		return -EIO;
	int rc = report_print(stdout, doc, &alerts_view, args->g->format, !args->g->no_header,
		args->g->color == COLOR_ALWAYS);
	json_decref(doc);
	if (rc == 0)
		return 0;
	return err_set(e, rc, "the result could not be written: %s", strerror(-rc));
}

/* ---- test, by the agent -------------------------------------------------- */

/* What a test came to. */
struct alert_tried {
	char receiver[64], text[300];
	bool delivered;
	double took_s;
};

static int alert_await(struct client *client, json_int_t ticket, int64_t wait_ns,
	struct alert_tried *ret, struct err *e)
{
	const mono_t begin = mono_now();
	bool done = false;
	while (!done) {
		json_t *reply = NULL;
		json_t *request = json_pack("{s:s, s:I}", "cmd", "alert_result", "ticket", ticket);
		const int rc = client_ask(client, request, &reply, e);
		if (rc < 0)
			return rc;
		const char *text = json_string_value(json_object_get(reply, "text"));
		done = json_is_true(json_object_get(reply, "done"));
		ret->delivered = json_is_true(json_object_get(reply, "delivered"));
		ret->took_s = json_number_value(json_object_get(reply, "took_s"));
		snprintf(ret->text, sizeof(ret->text), "%s", str_or(text, ""));
		json_decref(reply);
		if (!done && mono_now().ns - begin.ns > wait_ns)
			return err_set(e, -ETIMEDOUT,
				"no result yet; other alerts are before it: rocewatch alert list");
		if (!done)
			poll(NULL, 0, ASK_EVERY_MS);
	}
	return 0;
}

static int alert_test_by_agent(
	struct client *client, const char *name, struct alert_tried *ret, struct err *e)
{
	json_t *reply = NULL;
	json_t *request = json_pack("{s:s, s:s?}", "cmd", "alert_test", "receiver", name);
	if (!request)
		return err_set(e, -EINVAL, "expected the name of a receiver");
	const int rc = client_ask(client, request, &reply, e);
	if (rc < 0)
		return rc;
	const json_int_t ticket = json_integer_value(json_object_get(reply, "ticket"));
	const double timeout_s = json_number_value(json_object_get(reply, "timeout_s"));
	const char *receiver = json_string_value(json_object_get(reply, "receiver"));
	snprintf(ret->receiver, sizeof(ret->receiver), "%s", str_or(receiver, "?"));
	json_decref(reply);
	return alert_await(client, ticket, (int64_t)(timeout_s * 1e9) + ASK_MARGIN_NS, ret, e);
}

/* ---- test, with no agent ------------------------------------------------- */

static const struct config_receiver *alert_find(
	const struct config *config, const char *name, struct err *e)
{
	const struct config_alerts *alerts = &config->alerts;
	rw_cleanup(str_done) struct str names = {0};
	if (!name && alerts->n_receivers == 1)
		return &alerts->receivers[0];
	for (size_t i = 0; i < alerts->n_receivers; i++) {
		if (name && str_eq(alerts->receivers[i].name, name))
			return &alerts->receivers[i];
		str_addf(&names, "%s%s", str_if(i, ", "), alerts->receivers[i].name);
	}
	if (alerts->n_receivers == 0)
		err_set(e, -ENOENT, "no receiver is configured; see 'alerts:' (docs/alerts.md)");
	else if (name)
		err_set(e, -ENOENT, "unknown receiver '%.64s'; expected one of %s", name, names.s);
	else
		err_set(e, -ENOENT, "several receivers are configured; name one of %s", names.s);
	return NULL;
}

static int alert_test_here(
	const struct client *client, const char *name, struct alert_tried *ret, struct err *e)
{
	const struct config_receiver *to = alert_find(client->config, name, e);
	if (!to)
		return -ENOENT;
	const struct alert_context context = {.event = ALERT_TEST,
		.fabric = client->config->fabric->name,
		.receiver = to->name,
		.web_url = client->config->alerts.web_url,
		.time_ns = wall_now().ns,
		.resend_ns = to->resend_ns};
	const struct alert_message *message = alert_message_test(&context);
	const struct sender_ask ask = {to, &message, 1, -1};
	struct err why = {0};
	curl_io_begin();
	const mono_t begin = mono_now();
	ret->delivered = sender_find(to->kind)->send(&ask, &why) == 0;
	ret->took_s = (double)(mono_now().ns - begin.ns) / 1e9;
	snprintf(ret->receiver, sizeof(ret->receiver), "%s", to->name);
	snprintf(ret->text, sizeof(ret->text), "%.*s", (int)sizeof(ret->text) - 1, why.text);
	alert_message_free((struct alert_message *)message);
	return 0;
}

static int alert_test(struct client *client, const struct command_args *args, struct err *e)
{
	const char *name = NULL;
	struct alert_tried tried = {0};
	int rc;
	if (args->argc > 1)
		name = args->argv[1];
	if (client_writer_pid(client) != 0)
		rc = alert_test_by_agent(client, name, &tried, e);
	else
		rc = alert_test_here(client, name, &tried, e);
	if (rc < 0)
		return rc;
	if (!tried.delivered)
		return err_set(e, -EIO, "%s: not delivered: %s", tried.receiver, tried.text);
	return command_said(args,
		json_pack("{s:s, s:b, s:f}", "receiver", tried.receiver, "delivered", 1, "took_s",
			tried.took_s),
		e, "%s: delivered in %.2f s", tried.receiver, tried.took_s);
}

/* ---- the command --------------------------------------------------------- */

static const struct subcommand alert_subcommands[] = {
	{.name = "list",
		.summary = "each receiver, what waits for it and what it answered last",
		.help = "--format json also says what it got of which incident.",
		.takes = TAKES_DB,
		.formats = WRITES_ALL,
		.examples = {{"alert list", "shows which receivers answer"},
			{"alert list --format json", "adds what each got of which incident"}},
		.act = alert_list},
	{.name = "test",
		.args = "[RECEIVER]",
		.summary = "send a test message through one receiver",
		.help = "The running agent does it, with its own rights and secrets; with no agent "
			"running it is done here. The name may be left out where there is only "
			"one receiver.",
		.takes = TAKES_DB,
		.formats = WRITES_SAID,
		.examples = {{"alert test", "sends it through the only receiver",
				     .not_run = "sends a message"},
			{"alert test noc-mail", "sends it through this receiver",
				.not_run = "sends a message"}},
		.act = alert_test},
	{0},
};

const struct command command_alert = {
	.name = "alert",
	.summary = "the receivers of alerts, and whether they answer",
	.help = "Receivers are configured in 'alerts:' (docs/alerts.md).",
	.usage_exit = EXIT_USAGE,
	.subs = alert_subcommands,
	.otherwise = "list",
	.span_ns = 24 * 3600 * NS_PER_S,
};

/* cmd_silence - "rocewatch silence": maintenance windows of alerts. */

static const struct command_option silence_options[] = {
	{"device", 0, "GLOB", "incidents of these devices"},
	{"port", 0, "GLOB", "incidents of these ports"},
	{"host", 0, "GLOB", "incidents of these hosts"},
	{"job", 0, "GLOB", "incidents that slow these jobs"},
	{"cause", 0, "GLOB", "incidents of these causes, such as 'pfc_*'"},
	{"for", 0, "DURATION", "how long, such as 2h"},
	{"from", 0, "TIME", "when it begins (default: now)"},
	{"why", 0, "TEXT", "the reason, for who finds it"},
	{"all", 0, NULL, "also prints those that have ended"},
	{0},
};

extern const struct command command_silence;

/* What may concern @device: a silence without devices concerns all of them. */
static void silence_keep_device(json_t *rows, const char *device)
{
	for (size_t i = json_array_size(rows); i > 0; i--) {
		const char *of =
			json_string_value(json_object_get(json_array_get(rows, i - 1), "device"));
		if (of && !str_glob(of, device) && !str_glob(device, of))
			json_array_remove(rows, i - 1);
	}
}

static int silence_list(struct client *client, const struct command_args *args, struct err *e)
{
	const bool all = command_opt(&command_silence, args, "all") != NULL;
	const char *device = command_opt(&command_silence, args, "device");
	int rc = known_stored_device(client, device, e);
	if (rc < 0)
		return rc;
	json_t *doc = silences_document(client, all, e);
	if (!doc)
		return -EIO;
	if (device)
		silence_keep_device(json_object_get(doc, "silences"), device);
	rc = report_print(stdout, doc, &silences_view, args->g->format, !args->g->no_header,
		args->g->color == COLOR_ALWAYS);
	json_decref(doc);
	if (rc == 0)
		return 0;
	return err_set(e, rc, "the result could not be written: %s", strerror(-rc));
}

/* ---- add ----------------------------------------------------------------- */

/* --from; the future is written as a date. */
static int silence_from(
	const struct command_args *args, int64_t now_ns, int64_t *ret, struct err *e)
{
	const char *text = command_opt(&command_silence, args, "from");
	wall_t from = {now_ns};
	if (text && wall_parse(text, (wall_t){now_ns}, &from) != 0)
		return err_set(e, -EINVAL,
			"--from: '%.64s' is not a time such as \"2026-11-22 22:00\" (UTC)", text);
	*ret = from.ns;
	return 0;
}

static int silence_request(const struct command_args *args, json_t **ret, struct err *e)
{
	static const char *const texts[] = {"device", "port", "host", "job", "cause", "why"};
	const char *length = command_opt(&command_silence, args, "for");
	const int64_t now_ns = wall_now().ns;
	int64_t from_ns = now_ns, for_ns = 0;
	struct err why = {0};
	if (!length)
		return err_set(e, -EINVAL, "no end is given; add --for DURATION, such as --for 2h");
	if (unit_duration(length, &for_ns, &why) != 0)
		return err_set(e, -EINVAL, "--for: %s", why.text);
	const int rc = silence_from(args, now_ns, &from_ns, e);
	if (rc < 0)
		return rc;
	json_t *request = json_pack("{s:s, s:I, s:I}", "cmd", "silence_add", "from_ns",
		(json_int_t)from_ns, "until_ns", (json_int_t)(from_ns + for_ns));
	for (size_t i = 0; i < rw_countof(texts); i++) {
		const char *text = command_opt(&command_silence, args, texts[i]);
		if (text && json_object_set_new(request, texts[i], json_string(text)) != 0) {
			json_decref(request);
			return err_set(e, -EINVAL, "--%s: expected text in UTF-8", texts[i]);
		}
	}
	*ret = request;
	return 0;
}

struct silence_act {
	const json_t *request;
	char id[9]; /* result */
};

static int silence_add_direct(
	const struct client *client, struct store *store, void *arg, struct err *e)
{
	struct silence_act *act = arg;
	struct silence silence;
	char who[64];
	const int64_t now_ns = wall_now().ns;
	client_own_name(who, sizeof(who));
	const int rc = silence_read(act->request, who, now_ns, &silence, e);
	if (rc < 0)
		return rc;
	silence_store(store, &silence, "silence_added", now_ns);
	memcpy(act->id, silence.id, sizeof(act->id));
	return 0;
}

/* By the agent where one runs, else directly; the id of the silence into .id of @act. */
static int silence_do(
	struct client *client, direct_fn *direct, struct silence_act *act, struct err *e)
{
	json_t *reply = NULL;
	if (client_writer_pid(client) == 0)
		return direct_write(client, direct, act, e);
	const int rc = client_ask(client, json_incref((json_t *)act->request), &reply, e);
	const json_t *silence = json_object_get(reply, "silence");
	const char *id = json_string_value(json_object_get(silence, "id"));
	snprintf(act->id, sizeof(act->id), "%s", str_or(id, ""));
	json_decref(reply);
	return rc;
}

static int silence_add(struct client *client, const struct command_args *args, struct err *e)
{
	json_t *request = NULL;
	struct silence checked;
	int rc = silence_request(args, &request, e);
	if (rc == 0) /* a wrong option is a usage error, with or without an agent */
		rc = silence_read(request, "", wall_now().ns, &checked, e);
	if (rc == 0) /* one that fits no device keeps nothing back, and nobody would notice */
		rc = known_stored_device(client, command_opt(&command_silence, args, "device"), e);
	struct silence_act act = {.request = request};
	if (rc == 0)
		rc = silence_do(client, silence_add_direct, &act, e);
	json_decref(request);
	if (rc != 0)
		return rc;
	return command_said(args, json_pack("{s:s, s:s}", "id", act.id, "action", "add"), e,
		"%s: silenced; 'rocewatch silence expire %s' ends it early", act.id, act.id);
}

/* ---- expire -------------------------------------------------------------- */

static int silence_expire_direct(
	const struct client *client, struct store *store, void *arg, struct err *e)
{
	struct silence_act *act = arg;
	rw_cleanup(silences_done) struct silences silences = {0};
	const char *id = json_string_value(json_object_get(act->request, "id"));
	const int64_t now_ns = wall_now().ns;
	struct silence ended;
	char who[64];
	client_own_name(who, sizeof(who));
	int rc = silences_load(client->history, &silences, e);
	if (rc == 0)
		rc = silence_end(&silences, id, who, now_ns, &ended, e);
	if (rc < 0)
		return rc;
	silence_store(store, &ended, "silence_expired", now_ns);
	memcpy(act->id, ended.id, sizeof(act->id));
	return 0;
}

static int silence_expire(struct client *client, const struct command_args *args, struct err *e)
{
	json_t *request = json_pack("{s:s, s:s}", "cmd", "silence_expire", "id", args->argv[1]);
	if (!request)
		return err_set(e, -EINVAL, "expected the id of a silence");
	struct silence_act act = {.request = request};
	const int rc = silence_do(client, silence_expire_direct, &act, e);
	json_decref(request);
	if (rc != 0)
		return rc;
	return command_said(args, json_pack("{s:s, s:s}", "id", act.id, "action", "expire"), e,
		"%s: ended", act.id);
}

/* ---- the command --------------------------------------------------------- */

#define BY_AGENT                                                                                   \
	"It goes through the agent's socket, which knows who asks; with no agent running it is "   \
	"written directly."

static const struct subcommand silence_subcommands[] = {
	{.name = "list",
		.summary = "the silences in force and to come",
		.options = "device all",
		.takes = TAKES_DB,
		.formats = WRITES_ALL,
		.examples = {{"silence list", "lists them with their reasons and ends"},
			{"silence list --all --format json", "also prints those that have ended"}},
		.act = silence_list},
	{.name = "add",
		.summary = "send no alerts of these incidents for a time",
		.help = "The incidents are found, counted and shown as others. A silence fits when "
			"all its globs do. When it ends, what is still open is sent. A --device "
			"that "
			"fits no switch is refused. " BY_AGENT,
		.options = "device port host job cause for from why",
		.takes = TAKES_DB,
		.formats = WRITES_SAID,
		.examples = {{"silence add --device 'leaf*' --for 2h --why 'upgrade'",
				     "silences all leaves for two hours"},
			{"silence add --cause pfc_storm --host node-010 --for 30m --why test",
				"silences one cause at one host"}},
		.act = silence_add},
	{.name = "expire",
		.args = "ID",
		.summary = "end a silence early",
		.help = BY_AGENT,
		.takes = TAKES_DB,
		.formats = WRITES_SAID,
		.examples = {{"silence expire 5vf2xq3h", "ends it now"},
			{"silence expire 5vf2xq3h --format json", "ends it and confirms as JSON"}},
		.act = silence_expire},
	{0},
};

const struct command command_silence = {
	.name = "silence",
	.summary = "maintenance windows: incidents that are not sent to receivers",
	.options = silence_options,
	.usage_exit = EXIT_USAGE,
	.subs = silence_subcommands,
	.otherwise = "list",
	.span_ns = 24 * 3600 * NS_PER_S,
};

/* cmd_event - "rocewatch event": what happened, and what people note that happened. */

static const struct command_option event_options[] = {
	{"text", 0, "TEXT", "what was done"},
	{"device", 0, "NAME", "the device; for list a glob, such as 'leaf*'"},
	{"port", 0, "NAME", "which of its ports"},
	{"job", 0, "NAME", "which job"},
	{"ticket", 0, "ID", "the change ticket, such as NET-1"},
	{"at", 0, "TIME", "when it was (default: now)"},
	{"kind", 0, "GLOB", "only of this kind: change, 'alert_*', 'agent_*'"},
	{0},
};

extern const struct command command_event;

static int event_list(struct client *client, const struct command_args *args, struct err *e)
{
	json_t *doc = events_document(client, command_opt(&command_event, args, "kind"),
		command_opt(&command_event, args, "device"), e);
	if (!doc)
		return -EIO;
	if (json_array_size(json_object_get(doc, "events")) == 0) {
		const int unknown =
			known_stored_device(client, command_opt(&command_event, args, "device"), e);
		if (unknown < 0) {
			json_decref(doc);
			return unknown;
		}
	}
	int rc = report_print(stdout, doc, &events_view, args->g->format, !args->g->no_header,
		args->g->color == COLOR_ALWAYS);
	json_decref(doc);
	if (rc == 0)
		return 0;
	return err_set(e, rc, "the result could not be written: %s", strerror(-rc));
}

/* ---- add ----------------------------------------------------------------- */

static int event_request(const struct command_args *args, json_t **ret, struct err *e)
{
	static const char *const texts[] = {"text", "device", "port", "job", "ticket"};
	const char *at = command_opt(&command_event, args, "at");
	const wall_t now = wall_now();
	wall_t t = now;
	if (at && wall_parse(at, now, &t) != 0)
		return err_set(e, -EINVAL,
			"--at: '%.64s' is not a time such as \"2026-11-22 14:00\" (UTC) or "
			"15m (ago)",
			at);
	json_t *request = json_pack("{s:s, s:I}", "cmd", "event_add", "t_ns", (json_int_t)t.ns);
	for (size_t i = 0; i < rw_countof(texts); i++) {
		const char *text = command_opt(&command_event, args, texts[i]);
		if (text && json_object_set_new(request, texts[i], json_string(text)) != 0) {
			json_decref(request);
			return err_set(e, -EINVAL, "--%s: expected text in UTF-8", texts[i]);
		}
	}
	*ret = request;
	return 0;
}

static int event_add_direct(
	const struct client *client, struct store *store, void *arg, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct store_change change;
	char who[64];
	client_own_name(who, sizeof(who));
	const int rc = change_read(arg, who, wall_now().ns, a, &change, e);
	if (rc == 0)
		store_change_event(store, &change);
	return rc;
}

int command_event_store(struct client *client, json_t *request, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	json_t *reply = NULL;
	struct store_change checked;
	/* a wrong option is a usage error, with or without an agent */
	int rc = change_read(request, "", wall_now().ns, a, &checked, e);
	if (rc == 0 && client_writer_pid(client) == 0)
		rc = direct_write(client, event_add_direct, request, e);
	else if (rc == 0)
		rc = client_ask(client, json_incref(request), &reply, e);
	json_decref(reply);
	return rc;
}

static int event_add(struct client *client, const struct command_args *args, struct err *e)
{
	json_t *request = NULL;
	int rc = event_request(args, &request, e);
	if (rc == 0)
		rc = command_event_store(client, request, e);
	json_decref(request);
	if (rc != 0)
		return rc;
	return command_said(args, json_pack("{s:b}", "noted", 1), e, "noted");
}

/* ---- the command --------------------------------------------------------- */

static const struct subcommand event_subcommands[] = {
	{.name = "list",
		.summary = "what happened in the last day",
		.options = "device kind",
		.takes = TAKES_DB | TAKES_RANGE,
		.formats = WRITES_ALL,
		.examples = {{"event list", "lists changes, alerts and the agent's own life"},
			{"event list --kind change --since 7d",
				"lists only the changes of a week"}},
		.act = event_list},
	{.name = "add",
		.summary = "note what was done to the fabric",
		.help = "It stands in the timelines of incidents that began after it. It goes "
			"through the agent's socket, which knows who asks; with no agent running "
			"it is written directly.",
		.options = "text device port job ticket at",
		.takes = TAKES_DB,
		.formats = WRITES_SAID,
		.examples = {{"event add --text 'new optic' --device leaf1 --ticket NET-7",
				     "notes it at this switch, with its ticket"},
			{"event add --text 'firmware 4.31' --device leaf1 --at 15m",
				"notes a change of 15 minutes ago"}},
		.act = event_add},
	{0},
};

const struct command command_event = {
	.name = "event",
	.summary = "what happened: changes, alerts, the agent's own life",
	.options = event_options,
	.usage_exit = EXIT_USAGE,
	.subs = event_subcommands,
	.otherwise = "list",
	.span_ns = 24 * 3600 * NS_PER_S,
};

/* cmd_event - "rocewatch event": what happened, and what people note that happened. */
#include "agent/command/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/answers/alerts/alert_views.h"
#include "agent/client/client.h"
#include "agent/incident/silence.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "db/store/store.h"

static const struct command_option options[] = {
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

static int event_add(struct client *client, const struct command_args *args, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	json_t *request = NULL, *reply = NULL;
	struct store_change checked;
	int rc = event_request(args, &request, e);
	if (rc == 0) /* a wrong option is a usage error, with or without an agent */
		rc = change_read(request, "", wall_now().ns, a, &checked, e);
	if (rc == 0 && client_writer_pid(client) == 0)
		rc = direct_write(client, event_add_direct, request, e);
	else if (rc == 0)
		rc = client_ask(client, json_incref(request), &reply, e);
	json_decref(reply);
	json_decref(request);
	if (rc != 0)
		return rc;
	return command_said(args, json_pack("{s:b}", "noted", 1), e, "noted");
}

/* ---- the command --------------------------------------------------------- */

static const struct subcommand subcommands[] = {
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
	.options = options,
	.usage_exit = EXIT_USAGE,
	.subs = subcommands,
	.otherwise = "list",
	.span_ns = 24 * 3600 * NS_PER_S,
};

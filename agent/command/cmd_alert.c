/* cmd_alert - "rocewatch alert": the receivers, what each one got, and a test of a receiver. */
#include "agent/command/command.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "agent/alert/sender.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/curl_io.h"
#include "base/str.h"
#include "agent/answers/alerts/alert_views.h"
#include "config/config.h"

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

static const struct subcommand subcommands[] = {
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
	.subs = subcommands,
	.otherwise = "list",
	.span_ns = 24 * 3600 * NS_PER_S,
};

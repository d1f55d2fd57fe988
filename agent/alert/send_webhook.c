/*
 * send_webhook - one POST per message: JSON with the incident as its document has it. With a secret
 * it is signed: X-Rocewatch-Signature: t=SECONDS,v1=HEX, where HEX is HMAC-SHA256 over "SECONDS."
 * and the body. X-Rocewatch-Delivery stays the same when a message is tried again.
 */
#include <jansson.h>

#include "agent/alert/sender.h"
#include "agent/document/json_value.h"
#include "base/bytes.h"
#include "config/receiver_rows.h"

static char *webhook_body(const struct alert_message *message)
{
	json_t *o = json_object();
	json_object_set_new(o, "version", json_integer(1));
	json_object_set_new(o, "event", json_string(alert_event_name(message->event)));
	json_object_set_new(o, "delivery", json_string_or_null(message->delivery));
	json_object_set_new(o, "fabric", json_string_or_null(message->fabric));
	json_object_set_new(o, "time", json_time(message->time_ns));
	json_object_set_new(o, "headline", json_string_or_null(message->headline));
	json_object_set_new(o, "note", json_string_or_null(message->why));
	json_object_set_new(o, "url", json_string_or_null(message->url));
	json_object_set_new(o, "runbook", json_string_or_null(message->runbook));
	json_object_set_new(o, "incident", json_loads(message->document, 0, NULL));
	char *text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	return text;
}

static int webhook_send(const struct sender_ask *ask, struct err *e)
{
	const struct alert_message *message = ask->messages[0];
	rw_cleanup(sender_login_done) struct sender_login login = {0};
	rw_cleanup(freep) char *body = webhook_body(message);
	rw_cleanup(str_done) struct str event = {0}, delivery = {0}, signature = {0};
	const int rc = sender_login_read(ask->to, &login, e);
	if (rc < 0)
		return rc;
	if (!body)
		return err_set(e, -EBADMSG, "the incident cannot be written as JSON");
	str_addf(&event, "X-Rocewatch-Event: %s", alert_event_name(message->event));
	str_addf(&delivery, "X-Rocewatch-Delivery: %s", message->delivery);
	const char *headers[4] = {"Content-Type: application/json", event.s, delivery.s};
	size_t n = 3;
	if (login.secret) {
		rw_cleanup(str_done) struct str signed_text = {0};
		char digest[HMAC_HEX_MAX];
		const long long t = wall_now().ns / NS_PER_S;
		str_addf(&signed_text, "%lld.%s", t, body);
		hmac_sha256(
			login.secret, strlen(login.secret), signed_text.s, signed_text.n, digest);
		str_addf(&signature, "X-Rocewatch-Signature: t=%lld,v1=%s", t, digest);
		headers[n++] = signature.s;
	}
	return sender_post(ask, &login, str_or(login.url, ask->to->url), body, headers, n, e);
}

/* ---- its section of the configuration ---- */

static const struct field webhook_rows[] = {
	TEXT(config_receiver, url, "url", "Where each alert is posted as JSON.",
		.check = schema_check_url),
	SECRET(config_receiver, url_secret, "url",
		"The whole URL, in place of url, where it holds a secret"),
	SECRET(config_receiver, secret, "secret",
		"Key of the HMAC-SHA256 signature in X-Rocewatch-Signature; not signed when not "
		"given"),
	NEVER_INLINE("secret"),
	LOGIN_ROWS,
	RECEIVER_ROWS,
};
TABLE(webhook_section, config_receiver, webhook_rows, "A program of the site that takes JSON.");

static void webhook_complete(struct build *build, struct config_receiver *receiver)
{
	const bool secret = receiver->url_secret.from != SECRET_NONE;
	/* one that is wrong has its own error */
	if (!yaml_get(receiver->node, "url") && !secret)
		build_error(build, receiver->node,
			"webhook: no url; add 'url: https://HOST/PATH', or 'url_file: PATH' where "
			"the URL holds a secret");
	if (receiver->url && secret)
		build_error(build, build_at(receiver->node, "url"),
			"url: a secret one is given as well; keep one of them");
}

const struct sender sender_webhook = {
	.options = {.section = "alerts",
		.name = "webhook",
		.receiver = &webhook_section,
		.complete = webhook_complete},
	.batch = 1,
	.send = webhook_send,
};

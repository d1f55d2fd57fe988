/* sender - what several senders share: secrets, requests, the text for people. */
#include "agent/alert/sender.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/text_clean.h"
#include "agent/base/clock.h"
#include "agent/base/curl_io.h"
#include "agent/base/err.h"
#include "agent/base/locked.h"
#include "agent/base/str.h"
#include "config/config.h"

#define ANSWER_SHOWN 160

char *sender_hostname(char *buf, size_t size)
{
	if (gethostname(buf, size) != 0 || !*buf)
		snprintf(buf, size, "localhost");
	buf[size - 1] = '\0';
	return buf;
}

/* ---- secrets ------------------------------------------------------------- */

static int login_take(const struct config_secret *secret, char **ret, struct err *e)
{
	if (secret->from == SECRET_NONE)
		return 0;
	return secret_read(secret, ret, e);
}

int sender_login_read(const struct config_receiver *to, struct sender_login *ret, struct err *e)
{
	int rc = login_take(&to->password, &ret->password, e);
	if (rc == 0)
		rc = login_take(&to->token, &ret->token, e);
	if (rc == 0)
		rc = login_take(&to->secret, &ret->secret, e);
	return rc;
}

void sender_login_done(struct sender_login *login)
{
	locked_free(login->password);
	locked_free(login->token);
	locked_free(login->secret);
	*login = (struct sender_login){0};
}

/* ---- requests ------------------------------------------------------------ */

void sender_curl(
	const struct sender_ask *ask, const struct sender_login *login, struct curl_ask *ret)
{
	const struct config_receiver *to = ask->to;
	*ret = (struct curl_ask){
		.url = to->url,
		.username = to->username,
		.password = login->password,
		.token = login->token,
		.tls = {to->tls_ca, to->tls_cert, to->tls_key, to->tls_skip_verify},
		.timeout_ns = to->timeout_ns,
		.stop_fd = ask->stop_fd,
	};
}

/* What the receiver answered, on one line. It may send back what it was sent, log-in included. */
static void answer_line(struct str *answer, const struct sender_login *login)
{
	if (answer->s) {
		text_hide(answer->s, login->password);
		text_hide(answer->s, login->token);
		text_hide(answer->s, login->secret);
	}
	if (answer->n > ANSWER_SHOWN)
		answer->s[answer->n = ANSWER_SHOWN] = '\0';
	if (answer->s)
		answer->n = text_clean(answer->s, answer->n + 1, answer->s, answer->n);
}

static bool status_blames_request(long status)
{
	return status == 400 || status == 413 || status == 415 || status == 422;
}

int sender_post(const struct sender_ask *ask, const struct sender_login *login, const char *url,
	const char *body, const char *const *headers, size_t n_headers, struct err *e)
{
	rw_cleanup(str_done) struct str answer = {0};
	struct curl_post post = {
		.body = body, .n_body = strlen(body), .headers = headers, .n_headers = n_headers};
	long status = 0;
	sender_curl(ask, login, &post.ask);
	post.ask.url = url;
	const int rc = curl_io_post(&post, &status, &answer, e);
	if (rc < 0)
		return rc;
	if (status >= 200 && status < 300)
		return 0;
	answer_line(&answer, login);
	int error = -EIO;
	if (status_blames_request(status))
		error = -EBADMSG;
	return err_set(e, error, "it answered with status %ld%s%s", status, str_if(answer.n, ": "),
		str_or(answer.s, ""));
}

/* ---- the text for people ------------------------------------------------- */

static void text_time(struct str *out, const char *name, int64_t t_ns, const char *end)
{
	char t[WALL_TEXT_MAX];
	if (t_ns)
		str_addf(out, "%-10s%s%s", name, wall_text(t, (wall_t){t_ns}, 0), end);
}

static void text_line(struct str *out, const char *name, const char *value, const char *end)
{
	if (value && *value)
		str_addf(out, "%-10s%s%s", name, value, end);
}

void sender_text(struct str *out, const struct alert_message *message, const char *end)
{
	str_addf(out, "%s%s%s%s%s%s", message->headline, end, end, message->summary, end, end);
	text_line(out, "state", alert_message_word(message), end);
	text_line(out, "cause", message->cause, end);
	text_line(out, "fabric", message->fabric, end);
	text_line(out, "device", message->device, end);
	text_line(out, "port", message->port, end);
	text_line(out, "group", message->group, end);
	text_line(out, "host", message->host, end);
	text_line(out, "jobs", message->jobs, end);
	text_line(out, "cost", message->cost, end);
	text_time(out, "opened", message->opened_ns, end);
	text_time(out, "closed", message->closed_ns, end);
	text_line(out, "note", message->why, end);
	text_line(out, "acked by", message->acked_by, end);
	if (message->n_steps && !message->resolved)
		str_addf(out, "%sNext:%s", end, end);
	for (size_t i = 0; i < message->n_steps && !message->resolved; i++) {
		str_addf(out, "  %zu. %s", i + 1, str_or(message->steps[i].text, "?"));
		if (message->steps[i].risk)
			str_addf(out, " (risk: %s)", message->steps[i].risk);
		str_add(out, end);
	}
	if (message->event == ALERT_TEST)
		return;
	str_addf(out, "%sRunbook:  %s%s", end, message->runbook, end);
	str_addf(out, "rocewatch incident show %s%s", message->id, end);
	if (message->url)
		str_addf(out, "%s%s", message->url, end);
}

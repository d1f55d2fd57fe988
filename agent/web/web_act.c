/* web_act - passes, whose page asks, and the request to the agent. */
#include "agent/web/web_act.h"

#include <strings.h>
#include <sys/random.h>

#include "agent/client/client.h"

/* ---- passes -------------------------------------------------------------- */

int web_pass_give(struct web_passes *passes, const char *who, mono_t now, char ret[WEB_PASS_TEXT])
{
	unsigned char bytes[(WEB_PASS_TEXT - 1) / 2];
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	struct web_pass *pass = &passes->v[passes->next++ % WEB_PASSES_MAX];
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(pass->text + 2 * i, 3, "%02x", bytes[i]);
	snprintf(pass->who, sizeof(pass->who), "%s", who);
	pass->given = now;
	memcpy(ret, pass->text, WEB_PASS_TEXT);
	return 0;
}

bool web_pass_take(struct web_passes *passes, const char *who, const char *text, mono_t now)
{
	if (!text || !*text)
		return false;
	for (size_t i = 0; i < WEB_PASSES_MAX; i++) {
		struct web_pass *pass = &passes->v[i];
		if (!str_eq(pass->text, text) || !str_eq(pass->who, who))
			continue;
		pass->text[0] = '\0';
		return now.ns - pass->given.ns <= WEB_PASS_NS;
	}
	return false;
}

/* ---- whose page asks ----------------------------------------------------- */

/* Scheme and host of an Origin header, https://www.rfc-editor.org/rfc/rfc6454 section 7. A proxy
 * may end TLS, so the scheme says nothing here. */
static bool act_origin_is(const char *origin, const char *host)
{
	static const char *const schemes[] = {"http://", "https://"};
	for (size_t i = 0; i < rw_countof(schemes); i++) {
		const size_t n = strlen(schemes[i]);
		if (strncasecmp(origin, schemes[i], n) == 0)
			return host && strcasecmp(origin + n, host) == 0;
	}
	return false;
}

bool web_act_is_own(const struct http_request *request)
{
	if (request->fetch_site && !str_eq(request->fetch_site, "same-origin"))
		return false;
	return !request->origin || act_origin_is(request->origin, request->host);
}

/* ---- the request to the agent -------------------------------------------- */

static const struct served_param act_params[] = {
	{"do", "ack, note, assign or silence", true},
	{"pass", "the pass of a GET before, good once", true},
	{"who", "the name of the token", true},
	{"id", "the incident; not for silence", false},
	{"text", "the note, who it is assigned to, or why it is silenced", false},
	{"device", "silence: a glob", false},
	{"port", "silence: a glob", false},
	{"host", "silence: a glob", false},
	{"cause", "silence: a glob", false},
	{"for", "silence: how long, such as 2h", false},
	{0},
};

static int act_silence(const struct served_ask *ask, json_t **ret, struct err *e)
{
	int64_t length_ns;
	const char *length = str_or(served_get(ask, "for"), "");
	if (unit_duration(length, &length_ns, e) < 0)
		return -EINVAL;
	const int64_t now_ns = wall_now().ns;
	*ret = json_pack("{s:s, s:s?, s:s?, s:s?, s:s?, s:s?, s:I, s:I}", "cmd", "silence_add",
		"device", served_get(ask, "device"), "port", served_get(ask, "port"), "host",
		served_get(ask, "host"), "cause", served_get(ask, "cause"), "why",
		served_get(ask, "text"), "from_ns", (json_int_t)now_ns, "until_ns",
		(json_int_t)(now_ns + length_ns));
	return 0;
}

static int act_request(const struct served_ask *ask, json_t **ret, struct err *e)
{
	static const char *const incident_acts[] = {"ack", "note", "assign"};
	const char *act = served_get(ask, "do");
	if (str_eq(act, "silence"))
		return act_silence(ask, ret, e);
	for (size_t i = 0; i < rw_countof(incident_acts); i++)
		if (str_eq(act, incident_acts[i])) {
			*ret = json_pack("{s:s, s:s?, s:s?}", "cmd", act, "id",
				served_get(ask, "id"), "note", served_get(ask, "text"));
			return 0;
		}
	return err_set(
		e, -EINVAL, "do: '%.32s' is not valid; expected ack, note, assign or silence", act);
}

static int act_make(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	json_t *request = NULL;
	int rc = act_request(ask, &request, e);
	if (rc < 0)
		return rc;
	if (!request)
		return err_set(e, -EINVAL, "expected text in UTF-8");
	json_object_set_new(request, "for", json_string(served_get(ask, "who")));
	return client_ask(client, request, ret, e);
}

static const struct served_document act_row = {.path = "act",
	.summary = "What a person does to an incident.",
	.params = act_params,
	.span_ns = NS_PER_S,
	.make = act_make};

const struct web_subject web_act_subject = {
	.path = "act", .type = "application/json", .quick = true, .row = &act_row};

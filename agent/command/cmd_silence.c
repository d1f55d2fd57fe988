/* cmd_silence - "rocewatch silence": maintenance windows of alerts. */
#include "agent/command/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/answers/alerts/alert_views.h"
#include "agent/client/client.h"
#include "agent/incident/silence.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"

static const struct command_option options[] = {
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

static const struct subcommand subcommands[] = {
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
	.options = options,
	.usage_exit = EXIT_USAGE,
	.subs = subcommands,
	.otherwise = "list",
	.span_ns = 24 * 3600 * NS_PER_S,
};

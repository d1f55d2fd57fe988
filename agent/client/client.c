/* client - opens the database and the configuration that a reading command works on. */
#include "agent/client/client.h"

#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/base/str.h"
#include "agent/client/client_config.h"
#include "agent/client/client_range.h"
#include "agent/client/control.h"
#include "config/config.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/store/store.h"

/* An agent that has just been started creates its database: that takes a tenth of a second, on a
 * slow disk some seconds. */
#define READY_WAIT_NS (3 * NS_PER_S)
#define READY_STEP_MS 50
/* An agent writes its health every 5 s. What is newer than this was written by one that runs. */
#define FRESH_NS (60 * NS_PER_S)

int client_writer_pid(const struct client *client)
{
	return db_writer_pid(client->db_path);
}

void client_store_holders(const struct client *client, struct str *out)
{
	db_store_holders(client->db_path, out);
}

int client_store_open(
	const struct client *client, struct entities *entities, struct store **ret, struct err *e)
{
	const struct store_options options = {.path = client->db_path, .replay = true};
	return db_store_open(&options, entities, ret, e);
}

static int take_made(void *arg, int n, char *const *words, char *const *names)
{
	*(bool *)arg = words[0] && str_eq(words[0], "1");
	return 0;
}

/* ---- the database -------------------------------------------------------- */

/* The views come last when a database is created. -EAGAIN while its writer is not that far. */
static int open_store(struct client *client, struct err *e)
{
	bool made = false;
	const bool there =
		access(client->db_path, F_OK) == 0; /* before, not after: it may be made now */
	int r = db_history_open(client->db_path, &client->history, e);
	if (r == 0)
		r = history_sql(client->history,
			"SELECT count(*) FROM sqlite_master WHERE type='view' AND name='devices'",
			take_made, &made, e);
	int pid = client_writer_pid(client);
	client->writer_pid = pid;
	if (r == 0 && made)
		return 0;
	if (pid <= 0) {
		if (r < 0)
			return r;
		return err_set(e, -EIO,
			"%s was not made to its end; start 'rocewatch agent' once to complete it",
			client->db_path);
	}
	if (r < 0 && r != -ENOENT) {
		/* still empty, most likely; the words are right in any case */
		if (r == -EINVAL)
			return -EAGAIN;
		return r;
	}
	if (r < 0 && there)
		return r; /* it was there, and cannot be opened */
	return err_set(e, -EAGAIN,
		"%s is not ready: an agent (pid %d) has just begun to make it; try again in a "
		"moment",
		client->db_path, pid);
}

/* ---- who writes it, and what time it is ---------------------------------- */

/* The newest one up to now; where all lie ahead of the clock, the newest of them: it shows that an
 * agent wrote at all. */
static int take_written(void *arg, int n, char *const *words, char *const *names)
{
	struct client *client = arg;
	if (n > 1 && words[1])
		client->written_ns = strtoll(words[1], NULL, 10);
	else if (words[0])
		client->written_ns = strtoll(words[0], NULL, 10);
	return 0;
}

/* When an agent last wrote of itself or of a target; 0: never. */
static int client_read_written(struct client *client, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	str_addf(&sql,
		"SELECT max(t), max(CASE WHEN t<=%lld THEN t END) FROM (SELECT updated_ns AS t "
		"FROM target UNION ALL SELECT t_ns FROM health)",
		(long long)(wall_now().ns + CLIENT_SKEW_NS));
	return history_sql(client->history, sql.s, take_written, client, e);
}

/* Samples ahead of the clock must not be taken for news. */
static int client_read_range(struct client *client, struct err *e)
{
	int64_t first_ns;
	client->history->not_after_ns = wall_now().ns + CLIENT_SKEW_NS;
	int r = history_range(client->history, &first_ns, &client->data_ns, e);
	if (r != -ENODATA)
		return r;
	client->history->not_after_ns = 0;
	return history_range(client->history, &first_ns, &client->data_ns, e);
}

/* A replay's newest sample is its present, whatever the clock says. */
static int client_read_replay(struct client *client, struct err *e)
{
	int64_t first_ns;
	client->history->not_after_ns = 0;
	if (!client->has_data)
		return 0;
	return history_range(client->history, &first_ns, &client->data_ns, e);
}

/* A replay marks its database, also while it or a command writes it. Only agents write of
 * themselves and of targets: what has neither is taken for a replay too. */
static int client_is_replay(struct client *client, bool *ret, struct err *e)
{
	const int r = history_sql(client->history, "SELECT count(*) FROM meta WHERE key='recorded'",
		take_made, ret, e);
	if (r == 0 && !*ret && client->writer_pid <= 0)
		*ret = client->has_data && client->written_ns == 0;
	return r;
}

/* Does the agent poll, and what it polls does not arrive? */
static void client_read_stuck(struct client *client)
{
	struct store_state *store = &client->store;
	if (client->agent != AGENT_RUNNING || db_store_state(client->db_path, store) < 0) {
		*store = (struct store_state){0};
		return;
	}
	const int64_t late_ns = store_state_boot_ns() - store->beat_boot_ns;
	if (store->stage == STAGE_WAITING) {
		client->stuck_ns = store->since_ns;
		snprintf(client->stuck_why, sizeof(client->stuck_why), "%s", store->reason);
	} else if (store->beat_boot_ns > 0 && late_ns > STORE_STATE_LATE_NS) {
		client->stuck_ns = wall_now().ns - late_ns;
		snprintf(client->stuck_why, sizeof(client->stuck_why),
			"the agent's disk does not answer, or its process was stopped");
	}
}

static int client_read_agent(struct client *client, struct err *e)
{
	bool replay = false;
	int r = client_read_range(client, e);
	client->has_data = r == 0;
	if (r == 0 || r == -ENODATA)
		r = client_read_written(client, e);
	if (r == 0)
		r = client_is_replay(client, &replay, e);
	if (r == 0 && replay)
		r = client_read_replay(client, e);
	if (r < 0)
		return r;
	if (replay)
		client->agent = STORE_REPLAY;
	else if (client->writer_pid > 0)
		client->agent = AGENT_RUNNING;
	else if (client->writer_pid < 0)
		client->agent = AGENT_CANNOT_TELL;
	else
		client->agent = AGENT_STOPPED;
	client_read_stuck(client);
	return 0;
}

static void client_set_now(struct client *client)
{
	const int64_t wall_ns = wall_now().ns;
	int64_t newest_ns = client->written_ns;
	if (client->has_data && client->data_ns > newest_ns)
		newest_ns = client->data_ns;
	const bool fresh = newest_ns > wall_ns - FRESH_NS && newest_ns <= wall_ns + CLIENT_SKEW_NS;
	client->agent_alive =
		client->agent == AGENT_RUNNING || (client->agent == AGENT_CANNOT_TELL && fresh);
	client->now_ns = wall_ns;
	if (client->agent == STORE_REPLAY && client->has_data)
		client->now_ns = client->data_ns;
	client->end_ns = client->now_ns;
	if (!client->agent_alive && client->has_data)
		client->end_ns = client->data_ns;
}

/* ---- opening ------------------------------------------------------------- */

/* The database's own configuration, where it may be missing. */
static int read_stored_if_right(struct client *client, const struct globals *globals)
{
	struct err why = {0};
	if (client_config_stored(client, &why) == 0 || globals->quiet)
		return 0;
	const char *text = why.text;
	if (!*text)
		text = "no configuration";
	err_at(&why, why.code, why.file, why.line, why.col, "warning: %s; going on without it",
		text);
	err_print(stderr, &why);
	return 0;
}

/* Without a usable file the database was the way out. When there is none either, the mistake in the
 * file is what people have to mend. */
static int client_both_failed(const struct client *client, int r, struct err *e)
{
	const struct err *mistake = &client->config_mistake;
	char why[sizeof(e->text)];
	if (!client->config_error || r == -EAGAIN)
		return r;
	snprintf(why, sizeof(why), "%s", e->text);
	return err_at(e, -EINVAL, mistake->file, mistake->line, mistake->col,
		"%.400s; and the configuration in force is not known: %.300s", mistake->text, why);
}

struct client_role {
	char self[64]; /* which agent of a shared fabric writes this database; "" = none */
	bool judge;
};

static int client_take_role(void *arg, int n, char *const *words, char *const *names)
{
	struct client_role *role = arg;
	if (!words[0])
		return 0;
	role->judge = role->judge || strncmp(words[0], "judge/", 6) == 0;
	if (strncmp(words[0], "self/", 5) == 0)
		snprintf(role->self, sizeof(role->self), "%.*s", (int)strcspn(words[0] + 5, "/"),
			words[0] + 5);
	return 0;
}

/* Where agents share the fabric, the configuration as the writer of this database works by it: what
 * it does not ask is not silent here, but unknown. */
static int client_read_role(struct client *client, struct err *e)
{
	struct client_role role = {0};
	struct err ignored = {0};
	const bool engine = strstr(client->db_path, "://"); /* all of them write it */
	if (!client->config || client->config->n_agents == 0 || engine)
		return 0;
	if (history_sql(client->history,
		    "SELECT key FROM health WHERE key LIKE 'self/%' OR "
		    "key='judge/judge/unreadable'",
		    client_take_role, &role, &ignored) != 0)
		return 0;
	if (role.judge && client->config->judge)
		return config_as_judge(client->config, e);
	/* an agent that is no longer listed owns nothing that is known */
	if (*role.self)
		(void)config_as_agent(client->config, role.self, &ignored);
	return 0;
}

static int client_read_config(
	struct client *client, const struct globals *globals, bool data_only, struct err *e)
{
	if (client->config)
		return config_recall(&client->config, client->history, client->to_ns, e);
	if (data_only)
		return read_stored_if_right(client, globals);
	const int rc = client_config_stored(client, e);
	if (rc < 0)
		return client_both_failed(client, rc, e);
	return 0;
}

static int client_read_rest(struct client *client, const struct globals *globals,
	int64_t default_span_ns, bool data_only, struct err *e)
{
	int rc = client_read_agent(client, e);
	if (rc < 0)
		return rc;
	client_set_now(client);
	rc = client_range_read(client, globals, default_span_ns, e);
	if (rc < 0)
		return rc;
	rc = client_read_config(client, globals, data_only, e);
	if (rc < 0)
		return rc;
	return client_read_role(client, e);
}

/* The database cannot be read. Does an agent run without it? */
static int client_explain(const struct client *client, int r, struct err *e)
{
	rw_cleanup(str_done) struct str usual = {0};
	char why[sizeof(e->text)];
	json_t *reply = NULL, *request = NULL;
	const char *path = usual.s, *since = NULL, *reason = NULL;
	struct err ignored = {0};
	str_addf(&usual, "%s.sock", client->db_path);
	path = usual.s;
	if (client->config && client->config->socket_path &&
		str_eq(client->config->store.path, client->db_path))
		path = client->config->socket_path;
	request = json_pack("{s:s}", "cmd", "status");
	if (control_call(path, request, &reply, &ignored) == 0)
		json_unpack(reply, "{s:{s:{s:s, s:s}}}", "writer", "waits", "since", &since,
			"reason", &reason);
	if (since && reason) {
		snprintf(why, sizeof(why), "%s", e->text);
		r = err_set(e, -EIO,
			"an agent polls without a database since %s: %.300s. It alerts, and keeps "
			"samples in memory until the file can be opened. Here: %.300s",
			since, reason, why);
	}
	json_decref(reply);
	json_decref(request);
	return r;
}

static int client_fill(struct client *client, const struct globals *globals,
	int64_t default_span_ns, bool data_only, struct err *e)
{
	int rc = client_config_read(client, globals, e);
	if (rc < 0)
		return rc;
	rc = open_store(client, e);
	if (rc < 0)
		return client_both_failed(client, client_explain(client, rc, e), e);
	return client_read_rest(client, globals, default_span_ns, data_only, e);
}

static int client_try(struct client *client, const struct globals *globals, int64_t default_span_ns,
	bool data_only, struct err *e)
{
	*client = (struct client){0};
	const int rc = client_fill(client, globals, default_span_ns, data_only, e);
	if (rc < 0)
		client_done(client);
	return rc;
}

static int client_wait(struct client *client, const struct globals *globals,
	int64_t default_span_ns, bool data_only, struct err *e)
{
	const mono_t begin = mono_now();
	for (;;) {
		int r = client_try(client, globals, default_span_ns, data_only, e);
		if (r != -EAGAIN || mono_now().ns - begin.ns >= READY_WAIT_NS)
			return r;
		poll(NULL, 0, READY_STEP_MS);
	}
}

int client_open(struct client *client, const struct globals *globals, int64_t default_span_ns,
	struct err *e)
{
	return client_wait(client, globals, default_span_ns, false, e);
}

int client_open_data(struct client *client, const struct globals *globals, int64_t default_span_ns,
	struct err *e)
{
	return client_wait(client, globals, default_span_ns, true, e);
}

void client_done(struct client *client)
{
	if (client->history)
		history_close(client->history);
	config_free(client->config);
	free(client->db_path);
	free(client->config_error);
	*client = (struct client){0};
}

void client_warning(const struct client *client, struct str *out)
{
	char since[WALL_TEXT_MAX];
	if (!client->config_error)
		return;
	str_addf(out, "%s; ", client->config_error);
	if (!client->config)
		str_add(out, "going on without a configuration");
	else if (client->config_since_ns > 0)
		str_addf(out, "using the configuration in force since %s",
			wall_text(since, (wall_t){client->config_since_ns}, 0));
	else
		str_add(out, "using the configuration in force");
}

/* ---- asking the agent ---------------------------------------------------- */

int client_ask(const struct client *client, json_t *request, json_t **ret, struct err *e)
{
	rw_cleanup(str_done) struct str usual = {0};
	str_addf(&usual, "%s.sock", client->db_path);
	const char *path = usual.s;
	/* The configuration's socket, unless --db names another database. */
	const struct config *config = client->config;
	if (config && config->socket_path && str_eq(config->store.path, client->db_path))
		path = config->socket_path;
	int rc = control_call(path, request, ret, e);
	json_decref(request);
	if (rc == 0 && !json_is_true(json_object_get(*ret, "ok"))) {
		const char *why = json_string_value(json_object_get(*ret, "error"));
		rc = err_set(e, -EIO, "the agent refused: %s", str_or(why, "no reason given"));
		json_decref(*ret);
		*ret = NULL;
	} else if (rc == 0 && json_is_false(json_object_get(*ret, "committed"))) {
		log_warn("client",
			"done, but the agent could not store it yet: it is shown as "
			"soon as the disk takes it");
	}
	return rc;
}

void client_own_name(char *buf, size_t size)
{
	const struct passwd *pw = getpwuid(getuid());
	if (pw)
		snprintf(buf, size, "%s", pw->pw_name);
	else
		snprintf(buf, size, "uid %u", (unsigned)getuid());
}

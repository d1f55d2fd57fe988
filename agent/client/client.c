/* client - opens the database and the configuration that a reading command works on. */
#include "agent/client/client.h"

#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/client/control.h"
#include "agent/modules.h"
#include "config/config.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/store/store.h"

#define AROUND_SPAN_NS (15 * 60 * NS_PER_S)
/* An agent that has just been started creates its database: that takes a tenth of a second, on a
 * slow disk some seconds. */
#define READY_WAIT_NS (3 * NS_PER_S)
#define READY_STEP_MS 50

/* The first mistake, and how to see the others. */
static int first_of(const struct err_list *errors, int code, struct err *e)
{
	if (errors->n == 0)
		return err_set(e, code, "%s", strerror(-code));
	const struct err *first = &errors->v[0];
	if (errors->n == 1)
		return err_at(e, code, first->file, first->line, first->col, "%s", first->text);
	return err_at(e, code, first->file, first->line, first->col,
		"%s (and %zu more: 'rocewatch config check' lists them)", first->text,
		errors->n - 1 + errors->more);
}

static int client_read_file(struct client *client, const char *path, struct err *e)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	size_t n;
	const struct option_table *const *tables = module_tables(&n);

	int r = config_load(path, CONFIG_FULL, tables, n, &client->config, &errors);
	/* Whatever is wrong with it, to the caller it is a configuration that cannot be used:
	 * exit 2. */
	if (r < 0)
		return first_of(&errors, -EINVAL, e);
	return 0;
}

static bool holds_data(struct client *client)
{
	int64_t first_ns, last_ns;
	struct err ignored;
	return history_range(client->history, &first_ns, &last_ns, &ignored) == 0;
}

/* The configuration that was in force at the end of the time range, as the agent or the replay
 * stored it. */
static int read_stored(struct client *client, struct err *e)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	rw_cleanup(freep) char *yaml = NULL;
	size_t n;
	const struct option_table *const *tables = module_tables(&n);

	int r = history_fabric_at(client->history, client->to_ns, &yaml, e);
	if (r == -ENODATA && client->agent_alive && !holds_data(client))
		return err_at(e, -EAGAIN, client->db_path, 0, 0,
			"is not ready: the agent that writes it has just been started; try again "
			"in a moment");
	if (r == -ENODATA)
		return err_at(e, -EINVAL, client->db_path, 0, 0,
			"holds no configuration yet; name one with -c FILE");
	if (r < 0)
		return r;
	r = config_parse(yaml, strlen(yaml), "configuration in the database", CONFIG_CASE, tables,
		n, &client->config, &errors);
	if (r < 0)
		return first_of(&errors, -EINVAL, e);
	return 0;
}

int config_recall(struct config **config, struct history *history, int64_t at_ns, struct err *e)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	rw_cleanup(freep) char *yaml = NULL;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct config *stored = NULL, *fresh = NULL;
	struct config_link *links;
	size_t n;

	if (!(*config)->fabric->discover)
		return 0;
	const struct option_table *const *tables = module_tables(&n);
	int r = history_fabric_at(history, at_ns, &yaml, e);
	if (r == -ENODATA)
		return 0;
	if (r < 0)
		return r;
	/* What an older version stored may not be right for this one: then nothing is known. */
	if (config_parse(yaml, strlen(yaml), "configuration in the database", CONFIG_CASE, tables,
		    n, &stored, &errors) < 0)
		return 0;
	n = config_discovered(stored, a, &links);
	config_free(stored);
	if (n == 0)
		return 0;
	r = config_with_links(*config, links, n, &fresh, &errors);
	if (r < 0)
		return first_of(&errors, r, e);
	config_free(*config);
	*config = fresh;
	return 0;
}

static int client_read_config(struct client *client, const struct globals *globals, struct err *e)
{
	bool missing = access(globals->config_path, F_OK) < 0 && errno == ENOENT;

	if (missing && globals->config_named)
		return err_at(e, -EINVAL, globals->config_path, 0, 0,
			"there is no such configuration file");
	/* With --db and no -c the database's own configuration is meant: the site's file describes
	 * another fabric. */
	if (globals->db && !globals->config_given)
		return 0;
	if (missing)
		return err_at(e, -EINVAL, globals->config_path, 0, 0,
			"there is no configuration; name one with -c FILE, or a database with --db "
			"FILE");
	return client_read_file(client, globals->config_path, e);
}

static int read_time(
	const char *option, const char *text, int64_t now_ns, int64_t *ret_ns, struct err *e)
{
	wall_t t;
	if (wall_parse(text, (wall_t){now_ns}, &t) < 0)
		return err_set(e, -EINVAL,
			"%s: '%.64s' is not a time; write it as 2026-11-21T03:00:00Z, "
			"'2026-11-21 03:00', or 24h for a day ago",
			option, text);
	*ret_ns = t.ns;
	return 0;
}

static int client_read_range(struct client *client, const struct globals *globals,
	int64_t default_span_ns, struct err *e)
{
	int64_t span_ns = AROUND_SPAN_NS, middle_ns = 0;

	client->range_given = globals->since || globals->until || globals->around;
	if (globals->span && !globals->around)
		return err_set(e, -EINVAL, "--span goes with --around");
	if (globals->around) {
		if (globals->since || globals->until)
			return err_set(e, -EINVAL,
				"--around goes with --span, not with --since or --until");
		struct err why;
		if (globals->span && unit_duration(globals->span, &span_ns, &why) < 0)
			return err_set(e, -EINVAL, "--span: %s", why.text);
		if (span_ns <= 0)
			return err_set(e, -EINVAL, "--span: '%.64s' is not a duration above zero",
				globals->span);
		int r = read_time("--around", globals->around, client->now_ns, &middle_ns, e);
		if (r < 0)
			return r;
		if (__builtin_sub_overflow(middle_ns, span_ns, &client->from_ns) ||
			__builtin_add_overflow(middle_ns, span_ns, &client->to_ns))
			return err_set(e, -EINVAL, "--span: '%.64s' is too long", globals->span);
		return 0;
	}
	client->to_ns = client->now_ns;
	if (globals->until) {
		int r = read_time("--until", globals->until, client->now_ns, &client->to_ns, e);
		if (r < 0)
			return r;
	}
	client->from_ns = client->to_ns - default_span_ns;
	if (globals->since) {
		int r = read_time("--since", globals->since, client->now_ns, &client->from_ns, e);
		if (r < 0)
			return r;
	}
	if (client->from_ns >= client->to_ns) {
		char from[WALL_TEXT_MAX], to[WALL_TEXT_MAX];
		return err_set(e, -EINVAL, "empty time range: it begins at %s and ends at %s",
			wall_format(from, (wall_t){client->from_ns}, 0),
			wall_format(to, (wall_t){client->to_ns}, 0));
	}
	return 0;
}

int client_writer_pid(const struct client *client)
{
	return db_writer_pid(client->db_path);
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

/* The views come last when a database is created. -EAGAIN while its writer is not that far. */
static int open_store(struct client *client, struct err *e)
{
	bool made = false;
	int r = db_history_open(client->db_path, &client->history, e);
	if (r == 0)
		r = history_sql(client->history,
			"SELECT count(*) FROM sqlite_master WHERE type='view' AND name='devices'",
			take_made, &made, e);
	int pid = client_writer_pid(client);
	client->agent_alive = pid > 0;
	if (r == 0 && made)
		return 0;
	if (pid == 0) {
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
	return err_set(e, -EAGAIN,
		"%s is not ready: an agent (pid %d) has just begun to make it; try again in a "
		"moment",
		client->db_path, pid);
}

/* The database's own configuration, where it may be missing. */
static int read_stored_if_right(struct client *client, const struct globals *globals)
{
	struct err why = {0};
	if (read_stored(client, &why) == 0 || globals->quiet)
		return 0;
	const char *text = why.text;
	if (!*text)
		text = "no configuration";
	err_at(&why, why.code, why.file, why.line, why.col, "warning: %s; going on without it",
		text);
	err_print(stderr, &why);
	return 0;
}

/* Without an agent "now" is the newest sample: a recorded database is read as of its end. */
static int client_set_now(struct client *client, struct err *e)
{
	client->now_ns = wall_now().ns;
	if (client->agent_alive)
		return 0;
	int64_t first_ns, last_ns;
	const int rc = history_range(client->history, &first_ns, &last_ns, e);
	if (rc == -ENODATA)
		return 0;
	if (rc == 0)
		client->now_ns = last_ns;
	return rc;
}

/* --db, else the configuration's; NULL when neither names one. */
static const char *client_db_path(const struct client *client, const struct globals *globals)
{
	if (globals->db)
		return globals->db;
	if (client->config)
		return client->config->store.path;
	return NULL;
}

static int client_fill(struct client *client, const struct globals *globals,
	int64_t default_span_ns, bool data_only, struct err *e)
{
	int rc = client_read_config(client, globals, e);
	if (rc < 0)
		return rc;
	client->db_path = client_db_path(client, globals);
	if (!client->db_path)
		return err_at(e, -EINVAL, globals->config_path, 0, 0,
			"names no store.path; name a database with --db FILE");
	rc = open_store(client, e);
	if (rc == 0)
		rc = client_set_now(client, e);
	if (rc == 0)
		rc = client_read_range(client, globals, default_span_ns, e);
	if (rc < 0)
		return rc;
	if (client->config)
		rc = config_recall(&client->config, client->history, client->to_ns, e);
	else if (data_only)
		rc = read_stored_if_right(client, globals);
	else
		rc = read_stored(client, e);
	/* config_recall() may have replaced the configuration that the path belonged to */
	client->db_path = client_db_path(client, globals);
	return rc;
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
	*client = (struct client){0};
}

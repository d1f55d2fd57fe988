/* client - opens the database and the configuration that a reading command works on. */
#include "agent/client/client.h"

#include <poll.h>
#include <pwd.h>
#include <unistd.h>

#include "agent/client/control.h"
#include "agent/modules.h"
#include "base/log.h"
#include "base/process.h"
#include "config/config.h"
#include "config/config_salvage.h"
#include "config/yaml.h"
#include "db/model/entity.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/store/store.h"

/* ---- known_names - all names of a kind, and the one that is nearest to what somebody typed. */

struct name_list {
	const char **v; /* borrowed */
	size_t n, cap;
};

static void name_list_free(struct name_list *names)
{
	free(names->v);
}

static void name_list_add(struct name_list *names, const char *name)
{
	if (!name || !*name)
		return;
	if (names->n > 0 && str_eq(names->v[names->n - 1], name))
		return;
	rw_grow(names->v, names->n, names->cap);
	names->v[names->n++] = name;
}

static bool name_list_has(const struct name_list *names, const char *glob)
{
	for (size_t i = 0; i < names->n; i++)
		if (str_glob(glob, names->v[i]))
			return true;
	return false;
}

/* Did anything that matches both ever deliver a value? Only for a device that is named in full: of
 * globs the history would read all names. */
static bool name_delivered(struct client *client, const char *device, const char *port)
{
	const struct history_filter filter = {
		.device = device, .port = port, .priority = HISTORY_ANY_PRIORITY};
	rw_cleanup(freep) uint32_t *ids = NULL;
	size_t n = 0;

	if (!device || strpbrk(device, "*?[]\\"))
		return false;
	return history_match(client->history, &filter, &ids, &n, NULL) == 0 && n > 0;
}

/* 0 when one of @names matches, else the error. @where: what lists them. */
static int name_list_check(const struct name_list *names, const char *kind, const char *glob,
	const char *where, struct err *e)
{
	rw_cleanup(freep) char *plain = rw_strdup(glob);
	size_t n = 0;
	if (name_list_has(names, glob))
		return 0;
	/* "leef*" is near to "leaf1" as "leef" is. */
	for (const char *c = glob; *c; c++)
		if (!strchr("*?[]", *c))
			plain[n++] = *c;
	plain[n] = '\0';
	const char *near = str_nearest(plain, names->v, names->n);
	if (near)
		return err_set(e, -EINVAL, "no %s matches '%.64s'; did you mean '%.64s'? %s", kind,
			glob, near, where);
	return err_set(e, -EINVAL, "no %s matches '%.64s'; %s", kind, glob, where);
}

int known_device(struct client *client, const char *glob, struct err *e)
{
	rw_cleanup(name_list_free) struct name_list names = {0};
	if (!glob)
		return 0;
	for (size_t i = 0; client->config && i < client->config->fabric->n_devices; i++)
		name_list_add(&names, client->config->fabric->devices[i]->name);
	if (name_list_has(&names, glob) || name_delivered(client, glob, NULL))
		return 0;
	const struct entities *entities = history_entities(client->history);
	for (uint32_t id = 1; id <= entities_count(entities); id++) {
		const struct entity *entity = entity_get(entities, id);
		if (entity && !*entity->port && entity->priority == PRIO_NONE)
			name_list_add(&names, entity->device);
	}
	return name_list_check(&names, "device", glob, "'rocewatch topology show' lists them", e);
}

int known_stored_device(struct client *client, const char *glob, struct err *e)
{
	const struct history_filter filter = {.device = glob, .priority = HISTORY_ANY_PRIORITY};
	rw_cleanup(freep) uint32_t *ids = NULL;
	size_t n = 0;
	if (!glob)
		return 0;
	const int r = history_match(client->history, &filter, &ids, &n, e);
	if (r < 0)
		return r;
	return known_device(client, glob, e);
}

static void name_list_add_ports(
	struct name_list *names, const struct fabric *fabric, const char *device)
{
	for (size_t i = 0; i < fabric->n_devices; i++) {
		const struct fabric_device *of = fabric->devices[i];
		for (size_t k = 0; k < of->n_ports && str_glob(device, of->name); k++) {
			name_list_add(names, of->ports[k]->name);
			name_list_add(names, of->ports[k]->alias);
		}
	}
}

/* Aliases that the devices tell stand in the view of ports. */
struct alias_search {
	const char *device, *glob;
	bool found;
};

static int alias_row(void *arg, int n, char *const *values, char *const *names)
{
	struct alias_search *search = arg;
	if (n == 2 && values[0] && values[1] && str_glob(search->device, values[0]) &&
		str_glob(search->glob, values[1]))
		search->found = true;
	return 0;
}

static bool known_alias(struct client *client, const char *device, const char *glob)
{
	struct alias_search search = {.device = device, .glob = glob};
	history_sql(client->history, "SELECT DISTINCT device, alias FROM ports WHERE alias <> ''",
		alias_row, &search, NULL);
	return search.found;
}

int known_port(struct client *client, const char *device, const char *glob, struct err *e)
{
	rw_cleanup(name_list_free) struct name_list names = {0};
	if (!glob)
		return 0;
	if (client->config)
		name_list_add_ports(&names, client->config->fabric, device);
	if (name_list_has(&names, glob) || name_delivered(client, device, glob))
		return 0;
	const struct entities *entities = history_entities(client->history);
	for (uint32_t id = 1; id <= entities_count(entities); id++) {
		const struct entity *entity = entity_get(entities, id);
		if (entity && str_glob(device, entity->device))
			name_list_add(&names, entity->port);
	}
	const int rc = name_list_check(
		&names, "port", glob, "'rocewatch topology show --format json' lists them", e);
	if (rc < 0 && known_alias(client, device, glob))
		return 0;
	return rc;
}

int known_job(struct client *client, const char *glob, struct err *e)
{
	rw_cleanup(name_list_free) struct name_list names = {0};
	if (!glob)
		return 0;
	if (client->config)
		for (size_t i = 0; i < client->config->fabric->n_jobs; i++)
			name_list_add(&names, client->config->fabric->jobs[i].name);
	return name_list_check(&names, "job", glob,
		"jobs: of the configuration, or the scheduler's files, name them", e);
}

/* client_config - reads the configuration that a command works by: the file, else the one that the
 * database holds. */

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

/* ---- the file ------------------------------------------------------------ */

/* Where the database is, as far as a file with mistakes says it. */
static void config_salvage_path(struct client *client, const char *path)
{
	rw_cleanup(freep) char *text = NULL;
	size_t n = 0;
	if (str_read_file(path, YAML_MAX_BYTES, &text, &n, NULL) == 0)
		client->db_path = config_salvage_store(text, n);
	if (!client->db_path)
		client->db_path = rw_strdup(CONFIG_STORE_DEFAULT);
}

/* A mistake in the file is kept: the configuration in force then counts. */
static void client_read_file(struct client *client, const char *path)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	size_t n;
	const struct option_table *const *tables = module_tables(&n);

	int r = config_load(path, CONFIG_FULL, tables, n, &client->config, &errors);
	if (r == 0) {
		client->db_path =
			rw_strdup(str_or(client->config->store.path, CONFIG_STORE_DEFAULT));
		return;
	}
	/* Whatever is wrong with it, to the caller it is a configuration that cannot be used:
	 * exit 2. */
	struct err *mistake = &client->config_mistake;
	first_of(&errors, -EINVAL, mistake);
	rw_cleanup(str_done) struct str text = {0};
	str_add(&text, mistake->file);
	if (mistake->line > 0)
		str_addf(&text, ":%d:%d", mistake->line, mistake->col);
	str_addf(&text, ": %s", mistake->text);
	client->config_error = rw_strdup(text.s);
	config_salvage_path(client, path);
}

int client_config_read(struct client *client, const struct globals *globals, struct err *e)
{
	bool missing = !globals->config_path;
	if (!missing)
		missing = access(globals->config_path, F_OK) < 0 && errno == ENOENT;

	if (missing && globals->config_named)
		return err_at(e, -EINVAL, globals->config_path, 0, 0,
			"there is no such configuration file");
	/* With --db and no -c the database's own configuration is meant: the site's file describes
	 * another fabric. */
	bool own = globals->db && !globals->config_given;
	if (missing && !own)
		return err_at(e, -EINVAL, globals->config_path, 0, 0,
			"there is no configuration; name one with -c FILE, or a database with --db "
			"FILE");
	if (!own)
		client_read_file(client, globals->config_path);
	if (globals->db) {
		free(client->db_path);
		client->db_path = rw_strdup(globals->db);
	}
	return 0;
}

/* ---- the database -------------------------------------------------------- */

static bool holds_data(struct client *client)
{
	int64_t last_ns;
	struct err ignored;
	return history_range(client->history, NULL, &last_ns, &ignored) == 0;
}

static int take_since(void *arg, int n, char *const *words, char *const *names)
{
	int64_t *since_ns = arg;
	if (words[0])
		*since_ns = strtoll(words[0], NULL, 10);
	return 0;
}

/* When the stored configuration of @client->to_ns came into force; 0 when it is not known. */
static int64_t stored_since(struct client *client)
{
	rw_cleanup(str_done) struct str sql = {0};
	int64_t since_ns = 0;
	struct err ignored;
	str_addf(&sql, "SELECT max(t_ns) FROM config_history WHERE t_ns <= %lld",
		(long long)client->to_ns);
	(void)history_sql(client->history, sql.s, take_since, &since_ns, &ignored);
	return since_ns;
}

/* client_config_stored - reads the configuration that was in force at @client->to_ns, as the agent
 * or the replay stored it, into .config and .config_since_ns. -EINVAL: there is none, or this
 * version does not accept it; -EAGAIN: the agent has just begun. */
static int client_config_stored(struct client *client, struct err *e)
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
	client->config_since_ns = stored_since(client);
	return 0;
}

/* *@config gives its place to @fresh where that was made. */
static int recall_take(struct config **config, struct config *fresh, int rc,
	const struct err_list *errors, struct err *e)
{
	if (rc < 0)
		return first_of(errors, rc, e);
	config_free(*config);
	*config = fresh;
	return 0;
}

static int recall_links(struct config **config, const struct config *stored, struct err *e)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct config_link *links;
	struct config *fresh = NULL;
	const size_t n = config_discovered(stored, a, &links);
	if (n == 0 || !(*config)->fabric->discover)
		return 0;
	const int rc = config_with_links(*config, links, n, &fresh, &errors);
	return recall_take(config, fresh, rc, &errors, e);
}

static int recall_jobs(struct config **config, const struct config *stored, struct err *e)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct config_job *jobs;
	struct config *fresh = NULL;
	const size_t n = config_scheduled(stored, a, &jobs);
	if (n == 0 || (*config)->n_job_files == 0)
		return 0;
	const int rc = config_with_jobs(*config, jobs, n, &fresh, &errors);
	return recall_take(config, fresh, rc, &errors, e);
}

int config_recall(struct config **config, struct history *history, int64_t at_ns, struct err *e)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	rw_cleanup(freep) char *yaml = NULL;
	struct config *stored = NULL;
	size_t n;

	if (!(*config)->fabric->discover && (*config)->n_job_files == 0)
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
	r = recall_links(config, stored, e);
	if (r == 0)
		r = recall_jobs(config, stored, e);
	config_free(stored);
	return r;
}

/*
 * client_range - the time range and the time that a command is asked for. For client.c.
 *
 * client_range - reads --since, --until, --around and --span.
 */

#define AROUND_SPAN_NS (15 * 60 * NS_PER_S)

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

/* The state is asked for as of @t_ns: the present, unless that is over. */
static void range_set_at(struct client *client, int64_t t_ns)
{
	client->at_ns = client->now_ns;
	client->past = t_ns < client->now_ns;
	if (client->past)
		client->at_ns = t_ns;
}

static int range_around(struct client *client, const struct globals *globals, struct err *e)
{
	int64_t span_ns = AROUND_SPAN_NS, middle_ns = 0;
	struct err why;

	if (globals->since || globals->until)
		return err_set(
			e, -EINVAL, "--around goes with --span, not with --since or --until");
	if (globals->span && unit_duration(globals->span, &span_ns, &why) < 0)
		return err_set(e, -EINVAL, "--span: %s", why.text);
	if (span_ns <= 0)
		return err_set(
			e, -EINVAL, "--span: '%.64s' is not a duration above zero", globals->span);
	int r = read_time("--around", globals->around, client->end_ns, &middle_ns, e);
	if (r < 0)
		return r;
	if (__builtin_sub_overflow(middle_ns, span_ns, &client->from_ns) ||
		__builtin_add_overflow(middle_ns, span_ns, &client->to_ns))
		return err_set(e, -EINVAL, "--span: '%.64s' is too long", globals->span);
	range_set_at(client, middle_ns);
	return 0;
}

/* client_range_read - .from_ns, .to_ns, .at_ns and .past of @client from the options, by its
 * .now_ns and .end_ns. -EINVAL with @e: an option is not a time, or the range is empty. */
static int client_range_read(struct client *client, const struct globals *globals,
	int64_t default_span_ns, struct err *e)
{
	int r = 0;
	client->range_given = globals->since || globals->until || globals->around;
	if (globals->span && !globals->around)
		return err_set(e, -EINVAL, "--span goes with --around");
	if (globals->around)
		return range_around(client, globals, e);
	client->to_ns = client->end_ns;
	if (globals->until)
		r = read_time("--until", globals->until, client->end_ns, &client->to_ns, e);
	client->from_ns = client->to_ns - default_span_ns;
	if (r == 0 && globals->since)
		r = read_time("--since", globals->since, client->end_ns, &client->from_ns, e);
	if (r < 0)
		return r;
	client->at_ns = client->now_ns;
	client->past = false;
	if (globals->until)
		range_set_at(client, client->to_ns);
	if (client->from_ns < client->to_ns)
		return 0;
	char from[WALL_TEXT_MAX], to[WALL_TEXT_MAX];
	return err_set(e, -EINVAL, "empty time range: it begins at %s and ends at %s",
		wall_text(from, (wall_t){client->from_ns}, 0),
		wall_text(to, (wall_t){client->to_ns}, 0));
}

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

/* client_store_open - the database for writing, by a command, where no agent writes it; its
 * entities go into @entities. store_close() it. */
static int client_store_open(
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
	int r = path_answers(client->db_path, e);
	if (r < 0)
		return r;
	const bool there =
		access(client->db_path, F_OK) == 0; /* before, not after: it may be made now */
	r = db_history_open(client->db_path, &client->history, e);
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

/* Samples ahead of the clock must not be taken for news, unless there are no others. The newest of
 * all is asked for first: mostly it is both, and one search is enough. */
static int client_read_range(struct client *client, int64_t *ret_newest_ns, struct err *e)
{
	const int64_t until_ns = wall_now().ns + CLIENT_SKEW_NS;
	client->history->not_after_ns = 0;
	int r = history_range(client->history, NULL, ret_newest_ns, e);
	if (r < 0)
		return r;
	client->data_ns = *ret_newest_ns;
	client->history->not_after_ns = until_ns;
	if (*ret_newest_ns <= until_ns)
		return 0;
	r = history_range(client->history, NULL, &client->data_ns, e);
	if (r != -ENODATA)
		return r;
	client->history->not_after_ns = 0;
	client->data_ns = *ret_newest_ns;
	return 0;
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
	int64_t newest_ns = 0;
	int r = client_read_range(client, &newest_ns, e);
	client->has_data = r == 0;
	if (r == 0 || r == -ENODATA)
		r = client_read_written(client, e);
	if (r == 0)
		r = client_is_replay(client, &replay, e);
	if (r < 0)
		return r;
	/* A replay's newest sample is its present, whatever the clock says. */
	if (replay) {
		client->agent = STORE_REPLAY;
		client->history->not_after_ns = 0;
		client->data_ns = newest_ns;
	} else if (client->writer_pid > 0) {
		client->agent = AGENT_RUNNING;
	} else if (client->writer_pid < 0) {
		client->agent = AGENT_CANNOT_TELL;
	} else {
		client->agent = AGENT_STOPPED;
	}
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

/* direct - opens the store as its only writer, for one act of a command. */

int direct_write(const struct client *client, direct_fn *fn, void *arg, struct err *e)
{
	struct entities *entities = entities_new();
	struct store *store = NULL;
	int rc = client_store_open(client, entities, &store, e);
	if (rc == 0) {
		rc = fn(client, store, arg, e);
		if (rc == 0)
			rc = store_flush(store, e);
		store_close(store);
	}
	entities_free(entities);
	return rc;
}

int client_act(const struct client *client, const char *action, const char *id, const char *note,
	struct err *e)
{
	json_t *reply = NULL;
	json_t *request = json_pack("{s:s, s:s, s:s?}", "cmd", action, "id", id, "note", note);
	if (!request)
		return err_set(e, -EINVAL, "expected text in UTF-8");
	const int rc = client_ask(client, request, &reply, e);
	json_decref(reply);
	return rc;
}

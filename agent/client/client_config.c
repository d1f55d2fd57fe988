/* client_config - reads the configuration that a command works by: the file, else the one that the
 * database holds. */
#include "agent/client/client_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/client/client.h"
#include "agent/modules.h"
#include "config/config.h"
#include "config/config_salvage.h"
#include "config/yaml.h"
#include "db/series/history.h"

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
	int64_t first_ns, last_ns;
	struct err ignored;
	return history_range(client->history, &first_ns, &last_ns, &ignored) == 0;
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

int client_config_stored(struct client *client, struct err *e)
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

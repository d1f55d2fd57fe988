/* sandbox_config - the paths of a configuration, gathered. */
#include "agent/daemon/sandbox_config.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/log.h"
#include "agent/base/str.h"
#include "agent/daemon/privilege.h"
#include "config/config.h"

static bool runs_commands(const struct config *config)
{
	for (size_t k = 0; k < config->alerts.n_receivers; k++) {
		if (config->alerts.receivers[k].run.n > 0)
			return true;
	}
	return false;
}

/* What both processes read: the configuration and all that it names, and the program itself. */
static void sandbox_add_config(
	const struct config *config, const char *config_path, struct sandbox_paths *ret)
{
	sandbox_add_beside(ret, "/proc/self/exe", SANDBOX_READ); /* what it links to counts */
	sandbox_add(ret, getenv("CREDENTIALS_DIRECTORY"), SANDBOX_READ);
	sandbox_add_beside(ret, config_path, SANDBOX_READ);
	if (!config)
		return;
	sandbox_add_beside(ret, config->path, SANDBOX_READ);
	sandbox_add(ret, config->profile_dir, SANDBOX_READ);
	for (size_t k = 0; k < config->n_files; k++)
		sandbox_add_beside(ret, config->files[k].path, SANDBOX_READ);
	if (!config->http)
		return;
	sandbox_add_beside(ret, config->http->cert, SANDBOX_READ);
	sandbox_add_beside(ret, config->http->key, SANDBOX_READ);
	sandbox_add_beside(ret, config->http->tokens_file, SANDBOX_READ);
}

/* Where people keep what is theirs, and where no configuration of a service belongs. */
static const char *const private_roots[] = {"home", "root", "boot", "lost+found"};

static bool is_private_root(const char *name)
{
	for (size_t k = 0; k < rw_countof(private_roots); k++) {
		if (str_eq(name, private_roots[k]))
			return true;
	}
	return false;
}

/* A configuration that is read later may name a secret or a profile anywhere: a wall that is in the
 * way of a reload gets switched off by people. So all else may be read, as modes and owners have
 * it. */
static void sandbox_add_roots(struct sandbox_paths *ret)
{
	DIR *root = opendir("/");
	if (!root)
		return;
	for (struct dirent *entry = readdir(root); entry; entry = readdir(root)) {
		rw_cleanup(str_done) struct str path = {0};
		if (*entry->d_name == '.' || is_private_root(entry->d_name))
			continue;
		str_addf(&path, "/%s", entry->d_name);
		sandbox_add(ret, path.s, SANDBOX_READ);
	}
	closedir(root);
}

/* Of a directory that is not there yet no right can be named. */
static bool directory_is_missing(const char *file)
{
	rw_cleanup(freep) char *directory = rw_strdup(file);
	char *slash = strrchr(directory, '/');
	if (!slash || slash == directory)
		return false;
	*slash = '\0';
	return access(directory, F_OK) < 0;
}

void sandbox_of_agent(
	const struct config *config, const char *config_path, struct sandbox_paths *ret)
{
	sandbox_add_roots(ret);
	sandbox_add_config(config, config_path, ret);
	sandbox_add_beside(ret, config->store.path, SANDBOX_WRITE);
	sandbox_add_beside(ret, config->socket_path, SANDBOX_WRITE);
	ret->netns = privilege_wants_netns(config);
	if (runs_commands(config)) {
		ret->free_files = true;
		log_info("sandbox",
			"alerts run a command of this site, and what it may open is not known "
			"here: "
			"files are limited by the agent's user and the unit only");
		return;
	}
	if (directory_is_missing(config->store.path)) {
		ret->free_files = true;
		log_warn("sandbox",
			"the directory of %s does not exist yet: until the next start files are "
			"limited by the agent's user and the unit only",
			config->store.path);
	}
}

void sandbox_of_reload(const struct config *was, const struct config *is)
{
	if (runs_commands(is) && !runs_commands(was))
		log_warn("sandbox",
			"reload: alerts run a command now; until the agent is restarted that can "
			"open only the files that the agent can");
	if (privilege_wants_netns(is) && !privilege_wants_netns(was))
		log_warn("sandbox",
			"reload: a network namespace is named now; entering it needs a restart");
}

static void index_name(const char *db_path, struct str *ret)
{
	str_addf(ret, "%s-shm", db_path);
}

void sandbox_of_web(const struct config *config, const char *config_path, const char *db_path,
	bool child, struct sandbox_paths *ret)
{
	rw_cleanup(str_done) struct str index = {0};
	index_name(db_path, &index);
	sandbox_add_config(config, config_path, ret);
	if (!child) { /* the first reader of a file that nobody writes makes log and index */
		sandbox_add_beside(ret, db_path, SANDBOX_WRITE);
		return;
	}
	if (access(index.s, F_OK) == 0) {
		sandbox_add_beside(ret, db_path, SANDBOX_READ);
		sandbox_add(ret, index.s, SANDBOX_EDIT);
		return;
	}
	sandbox_add_beside(ret, db_path, SANDBOX_EDIT);
}

uint64_t sandbox_index_inode(const char *db_path)
{
	rw_cleanup(str_done) struct str index = {0};
	struct stat st;
	index_name(db_path, &index);
	if (stat(index.s, &st) < 0)
		return 0;
	return st.st_ino;
}

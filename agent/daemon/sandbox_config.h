/* sandbox_config - which files a configuration means for the agent and for its web server. */
#ifndef RW_AGENT_SANDBOX_CONFIG_H
#define RW_AGENT_SANDBOX_CONFIG_H

#include "agent/daemon/sandbox.h"

struct config;

/*
 * sandbox_of_agent - what an agent with @config (read from @config_path) reads and writes; into
 * @ret, which the caller ends with sandbox_paths_done(). Files that a later configuration names are
 * in reach unless they lie in /home, /root or /boot. Says in the log why files stay open, where
 * they do.
 */
void sandbox_of_agent(
	const struct config *config, const char *config_path, struct sandbox_paths *ret);

/* sandbox_of_reload - says in the log what @is, taken over by a reload, cannot have before a
 * restart. */
void sandbox_of_reload(const struct config *was, const struct config *is);

/*
 * sandbox_of_web - the same of the web server. @config may be NULL. @child: an agent writes
 * @db_path; then nothing can be written but the index of its log ("-shm"), through which SQLite's
 * readers and writer speak.
 */
void sandbox_of_web(const struct config *config, const char *config_path, const char *db_path,
	bool child, struct sandbox_paths *ret);

/* sandbox_index_inode - which file the index of @db_path is, 0 = none. When another one is there
 * than when the files were closed, the web server of an agent has to start anew. */
uint64_t sandbox_index_inode(const char *db_path);

#endif

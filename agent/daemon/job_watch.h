/*
 * job_watch - the files in which a scheduler says what runs where (job_files): read anew when they
 * change, on a thread of its own; the jobs of the running configuration follow. A file that cannot
 * be read or is half written keeps the jobs it told before, until it is older than its max_age:
 * then they are no longer named, since nobody knows what runs. Loop thread.
 */
#pragma once

struct agent;
struct config;
struct health;
struct job_watch;

/* job_watch_open - makes agent->jobs; the files are read by the first tick. */
void job_watch_open(struct agent *agent);
/* job_watch_free - before loop_free(), which ends what a thread still reads. NULL is fine. */
void job_watch_free(struct job_watch *watch);

/* job_watch_reload - the configuration was replaced. */
void job_watch_reload(struct agent *agent);

/* job_watch_into - a copy of @config with the jobs that are known to run; @config itself where it
 * names no files, or where they do not fit it (that is logged). */
struct config *job_watch_into(struct agent *agent, struct config *config);

/* job_watch_changed - once a second: looks for changed files, and returns the running configuration
 * with the jobs that run since the last call; NULL when nothing changed. The caller owns it. */
struct config *job_watch_changed(struct agent *agent);

/* job_watch_health - figures of each file, as job_file/PATH/KEY. */
void job_watch_health(const struct agent *agent, struct health *health);

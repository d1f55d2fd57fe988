/* job_watch - follows the files of the scheduler. */
#include "agent/daemon/job_watch.h"

#include <sys/stat.h>

#include "agent/daemon/agent_state.h"
#include "agent/jobs/job_file.h"
#include "agent/judge/health.h"
#include "base/log.h"
#include "base/loop.h"
#include "config/config.h"
#include "db/store/store.h"

/* A change of jobs is a change of the fabric, which is kept in the history each time. */
#define JOB_APPLY_NS (30 * NS_PER_S)
#define JOB_READ_NS (10 * NS_PER_S)

struct job_reading { /* one reading of one file, while its thread has it */
	struct job_watch *watch;
	struct job_source *source; /* NULL: nobody waits for it any more */
	struct arena *a;
	char *path;
	enum job_format format;
	struct job_runs runs;
	struct err why;
	int rc;
	struct timespec changed; /* of what was read last, then of the file that is read */
	bool same, late; /* .same: not read again. .late: the loop has gone on without it */
};

struct job_source { /* one file */
	struct config_job_file file; /* .path is a copy */
	struct timespec changed; /* of the newest file that was read, or tried */
	int64_t changed_ns; /* of the newest one that could be read; 0 = none yet */
	struct job_reading *reading; /* under way, or NULL */
	struct job_reading *told; /* the newest that could be read, or NULL */
	struct job_left_out left_out;
	size_t named;
	bool stale, fresh; /* .fresh: .told is not yet in the configuration */
	bool looked; /* once, or it was late */
	struct complaint unreadable, old;
};

struct job_watch {
	struct agent *agent;
	struct job_source **v;
	size_t n;
	bool changed; /* the files tell other jobs than the configuration in force has */
	mono_t apply_next;
};

/* ---- reading ------------------------------------------------------------- */

static void job_reading_free(struct job_reading *reading)
{
	if (!reading)
		return;
	job_runs_done(&reading->runs);
	arena_free(reading->a);
	free(reading->path);
	free(reading);
}

static bool same_instant(const struct timespec *one, const struct timespec *other)
{
	return one->tv_sec == other->tv_sec && one->tv_nsec == other->tv_nsec;
}

/* On a thread: neither may the loop wait for a mount that does not answer. */
static void job_reading_work(void *arg)
{
	struct job_reading *reading = arg;
	struct stat st;
	if (stat(reading->path, &st) < 0) {
		reading->rc = err_set(&reading->why, -errno,
			"%s; let the scheduler write it (cron: squeue --json)", strerror(errno));
		return;
	}
	reading->same = same_instant(&st.st_mtim, &reading->changed);
	reading->changed = st.st_mtim;
	if (!reading->same)
		reading->rc = job_file_load(
			&reading->runs, reading->path, reading->format, &reading->why);
}

static void job_source_failed(struct job_source *source, const struct err *why)
{
	complain(&source->unreadable, mono_now(), LOG_WARN_, "jobs", "%s cannot be used: %s%s%s",
		source->file.path, why->text, str_if(why->line > 0, " in line "),
		str_if(why->line > 0, "of the file"));
}

/* Nothing more is asked of it until its thread ends; the other files go on. */
static void job_reading_late(void *arg)
{
	struct job_reading *reading = arg;
	struct err why = {0};
	if (!reading->source)
		return;
	reading->source->looked = reading->late = true;
	err_set(&why, -ETIMEDOUT, "it has not been read for %d s: its disk does not answer",
		(int)(JOB_READ_NS / NS_PER_S));
	job_source_failed(reading->source, &why);
}

static void job_reading_done(void *arg)
{
	struct job_reading *reading = arg;
	struct job_source *source = reading->source;
	if (!source) { /* the configuration was replaced meanwhile */
		job_reading_free(reading);
		return;
	}
	source->reading = NULL;
	source->looked = true;
	if (reading->rc == 0 && reading->same) {
		job_reading_free(reading);
		return;
	}
	source->changed = reading->changed;
	if (reading->rc < 0) {
		job_source_failed(source, &reading->why);
		job_reading_free(reading);
		return;
	}
	complaint_over(&source->unreadable, mono_now(), "jobs", "the file can be read again");
	job_reading_free(source->told);
	source->told = reading;
	source->changed_ns = (int64_t)reading->changed.tv_sec * NS_PER_S + reading->changed.tv_nsec;
	source->fresh = true;
	reading->watch->changed = true;
}

static const struct loop_job job_reading_job = {.limit_ns = JOB_READ_NS,
	.work = job_reading_work,
	.done = job_reading_done,
	.late = job_reading_late};

static void job_source_read(struct job_watch *watch, struct job_source *source)
{
	struct job_reading *reading = rw_calloc(1, sizeof(*reading));
	reading->watch = watch;
	reading->source = source;
	reading->a = arena_new();
	reading->path = rw_strdup(source->file.path);
	reading->format = (enum job_format)source->file.format;
	reading->changed = source->changed;
	job_runs_init(&reading->runs, reading->a);
	if (loop_work(watch->agent->loop, &job_reading_job, reading) < 0) {
		job_reading_free(reading);
		return;
	}
	source->reading = reading;
}

/* Has the file changed, and is it too old to be believed? */
static void job_source_look(struct job_watch *watch, struct job_source *source)
{
	if (!source->reading)
		job_source_read(watch, source);
	const int64_t age_ns = wall_now().ns - source->changed_ns;
	const bool stale = source->told && age_ns > source->file.max_age_ns;
	if (stale)
		complain(&source->old, mono_now(), LOG_WARN_, "jobs",
			"%s is %lld s old: its jobs are no longer named until it is written again",
			source->file.path, (long long)(age_ns / NS_PER_S));
	else if (source->stale)
		complaint_over(&source->old, mono_now(), "jobs", "the file is written again");
	watch->changed |= stale != source->stale;
	source->stale = stale;
}

/* ---- the configuration --------------------------------------------------- */

static size_t job_watch_select(struct job_watch *watch, const struct config *config,
	struct arena *a, struct config_job **ret)
{
	struct config_job *all = NULL;
	size_t n = 0, cap = 0;
	for (size_t i = 0; i < watch->n; i++) {
		struct job_source *source = watch->v[i];
		source->named = 0;
		source->fresh = false;
		if (!source->told || source->stale)
			continue;
		struct config_job *jobs;
		source->named = job_select(a, &source->told->runs, config->fabric, &source->file,
			&jobs, &source->left_out);
		for (size_t k = 0; k < source->named; k++) {
			arena_grow(a, all, n, cap);
			all[n++] = jobs[k];
		}
	}
	*ret = all;
	return n;
}

struct config *job_watch_into(struct agent *agent, struct config *config)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct config_job *jobs;
	struct config *with = NULL;
	if (!agent->jobs || config->n_job_files == 0)
		return config;
	const size_t n = job_watch_select(agent->jobs, config, a, &jobs);
	if (config_with_jobs(config, jobs, n, &with, &errors) == 0)
		return with;
	log_errors(LOG_ERROR_, "config", &errors);
	log_error("jobs", "the jobs of the scheduler cannot be used, going on without a change");
	return config;
}

static bool job_watch_reads(const struct job_watch *watch)
{
	for (size_t i = 0; i < watch->n; i++) {
		const struct job_source *source = watch->v[i];
		if (!source->looked || (source->reading && !source->reading->late))
			return true;
	}
	return false;
}

struct config *job_watch_changed(struct agent *agent)
{
	struct job_watch *watch = agent->jobs;
	if (!watch || watch->n == 0)
		return NULL;
	const bool reads = job_watch_reads(watch);
	for (size_t i = 0; i < watch->n; i++)
		job_source_look(watch, watch->v[i]);
	if (!watch->changed || reads || mono_now().ns < watch->apply_next.ns)
		return NULL;
	watch->changed = false;
	struct config *fresh = job_watch_into(agent, agent->config);
	if (fresh == agent->config)
		return NULL;
	rw_cleanup(freep) char *was = config_text(agent->config), *is = config_text(fresh);
	if (strcmp(was, is) == 0) {
		config_free(fresh);
		return NULL;
	}
	watch->apply_next.ns = mono_now().ns + JOB_APPLY_NS;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	rw_cleanup(str_done) struct str line = {0};
	struct config_job *jobs;
	const size_t before = config_scheduled(agent->config, a, &jobs);
	const size_t now = config_scheduled(fresh, a, &jobs);
	str_addf(&line, "the scheduler says that %zu job%s run%s now, %zu before", now, plural(now),
		str_if(now == 1, "s"), before);
	log_info("jobs", "%s", line.s);
	store_event(agent->store, wall_now().ns, "jobs", NULL, "", line.s);
	return fresh;
}

/* ---- start, reload, end -------------------------------------------------- */

static void job_source_free(struct job_source *source)
{
	if (source->reading)
		source->reading->source = NULL; /* its end frees it */
	job_reading_free(source->told);
	free((char *)source->file.path);
	free(source);
}

static struct job_source *job_source_new(const struct config_job_file *file)
{
	struct job_source *source = rw_calloc(1, sizeof(*source));
	source->file = *file;
	source->file.path = rw_strdup(file->path);
	return source;
}

/* One that is asked for still keeps what it told. */
static struct job_source *job_watch_take(
	struct job_source **was, size_t n, const struct config_job_file *file)
{
	for (size_t i = 0; i < n; i++) {
		struct job_source *source = was[i];
		if (!source || !str_eq(source->file.path, file->path) ||
			source->file.format != file->format)
			continue;
		const char *path = source->file.path;
		source->file = *file;
		source->file.path = path;
		was[i] = NULL;
		return source;
	}
	return job_source_new(file);
}

void job_watch_reload(struct agent *agent)
{
	struct job_watch *watch = agent->jobs;
	const struct config *config = agent->config;
	struct job_source **was = watch->v;
	const size_t n_was = watch->n;
	watch->n = config->n_job_files;
	watch->v = rw_calloc(watch->n + 1, sizeof(*watch->v));
	for (size_t i = 0; i < watch->n; i++)
		watch->v[i] = job_watch_take(was, n_was, &config->job_files[i]);
	for (size_t i = 0; i < n_was; i++)
		if (was[i])
			job_source_free(was[i]);
	free(was);
}

void job_watch_open(struct agent *agent)
{
	agent->jobs = rw_calloc(1, sizeof(*agent->jobs));
	agent->jobs->agent = agent;
	/* the database may have told jobs of the last run: they are in force until the files say
	 * what runs now */
	agent->jobs->changed = true;
	job_watch_reload(agent);
}

void job_watch_free(struct job_watch *watch)
{
	if (!watch)
		return;
	for (size_t i = 0; i < watch->n; i++)
		job_source_free(watch->v[i]);
	free(watch->v);
	free(watch);
}

/* ---- figures ------------------------------------------------------------- */

void job_watch_health(const struct agent *agent, struct health *health)
{
	for (size_t i = 0; agent->jobs && i < agent->jobs->n; i++) {
		const struct job_source *source = agent->jobs->v[i];
		const struct job_left_out *out = &source->left_out;
		const struct {
			const char *key;
			double value;
		} figures[] = {
			{"jobs", (double)source->named},
			{"few_hosts", (double)out->few_hosts},
			{"no_gpus", (double)out->no_gpus},
			{"strangers", (double)out->strangers},
			{"too_many", (double)out->too_many},
			{"stale", source->stale},
			{"written_s", (double)source->changed_ns / NS_PER_S},
		};
		for (size_t k = 0; k < rw_countof(figures); k++)
			health_figure(health, "job_file", source->file.path, figures[k].key, "",
				figures[k].value);
	}
}

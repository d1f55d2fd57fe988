/* job_run - gathers what a scheduler says into one entry for each job. */
#include "agent/jobs/job_run.h"

enum { JOB_NAME_BYTES = 200 };

void job_runs_init(struct job_runs *runs, struct arena *a)
{
	*runs = (struct job_runs){.a = a, .by_name = smap_new()};
}

void job_runs_done(struct job_runs *runs)
{
	smap_free(runs->by_name);
	runs->by_name = NULL;
}

static const char *job_run_text(struct arena *a, const char *text)
{
	char clean[JOB_NAME_BYTES];
	text_clean(clean, sizeof(clean), text, strlen(text));
	return arena_strdup(a, clean);
}

struct job_run *job_runs_of(struct job_runs *runs, const char *name, const char *user)
{
	const char *shown = job_run_text(runs->a, name);
	uint64_t at;
	if (smap_get(runs->by_name, shown, strlen(shown), &at))
		return runs->v[at];
	struct job_run *run = arena_new_of(runs->a, struct job_run);
	run->name = shown;
	if (user && *user)
		run->user = job_run_text(runs->a, user);
	smap_put(runs->by_name, shown, strlen(shown), runs->n);
	arena_grow(runs->a, runs->v, runs->n, runs->cap);
	runs->v[runs->n++] = run;
	return run;
}

/* From the end: a scheduler names the hosts of a job in order, so a repeated one was just added. */
static bool job_run_has_host(const struct job_run *run, const char *host)
{
	enum { LOOK_BACK = 64 };
	for (size_t i = run->n_hosts; i > 0 && run->n_hosts - i < LOOK_BACK; i--)
		if (strcmp(run->hosts[i - 1], host) == 0)
			return true;
	return false;
}

void job_run_add_host(struct job_runs *runs, struct job_run *run, const char *host)
{
	if (!*host || job_run_has_host(run, host))
		return;
	arena_grow(runs->a, run->hosts, run->n_hosts, run->cap_hosts);
	run->hosts[run->n_hosts++] = arena_strdup(runs->a, host);
}

/* check_accept - is the fabric ready for a job? All checks for the job's hosts, a line each. */

#include "agent/answers/watch/watch_frame.h"
#include "agent/check/check_source.h"
#include "agent/client/client.h"
#include "config/config.h"
#include "config/fabric.h"

/* check_fabric - is it well? The state and the sentence of every face; the other checks add. */

static const char *const fabric_parts[] = {
	"target", "freshness", "pfc", "ecn", "drops", "ecmp", "links", "mtu", "config", NULL};

static int check_fabric_run(struct check_source *source, struct check_line *ret, struct err *e)
{
	const struct watch_answer *watch;
	int r = check_source_open(source, &watch, e);
	if (r < 0)
		return r;
	struct verdict verdict;
	const size_t n = check_verdict(source, watch, &verdict, ret);
	check_line_value(ret, "incidents", (double)n, 0, NULL, NAN);
	check_line_value(ret, "usd_per_hour", verdict.money.usd_per_hour, 2, NULL, NAN);
	return 0;
}

const struct check check_fabric = {
	.name = "fabric",
	.label = "FABRIC",
	.summary = "is the fabric well? What `status` and the wall say, too",
	.parts = fabric_parts,
	.run = check_fabric_run,
	.help = "The state and the sentence of `status`, `watch` and `report handover`: that of "
		"the "
		"worst open incident, and never better than what is known. The other checks "
		"add a line each and do not change the state.",
	.options = "device port group priority job",
	.examples = {{"check fabric", "judges the whole fabric in one line", 2},
		{"check fabric --device 'leaf*' --format json", "judges the leaves, as a document",
			2}},
};

/* ---- check_accept -------------------------------------------------------- */

static const char *const accept_parts[] = {
	"target", "freshness", "links", "mtu", "config", "drops", "pfc", "ecn", "ecmp", NULL};

static bool accept_has_job(const struct fabric *fabric, const char *job)
{
	for (size_t i = 0; i < fabric->n_jobs; i++)
		if (str_glob(job, fabric->jobs[i].name))
			return true;
	return false;
}

static int check_accept_run(struct check_source *source, struct check_line *ret, struct err *e)
{
	const struct fabric *fabric = source->client->config->fabric;
	const char *job = source->scope.job;
	const struct watch_answer *watch;
	if (job && !accept_has_job(fabric, job))
		return err_set(e, -EINVAL, "no job '%.64s' in the configuration (jobs:)", job);
	int r = check_source_open(source, &watch, e);
	if (r < 0)
		return r;
	check_incidents(source, watch, NULL, ret);
	return 0;
}

const struct check check_accept = {
	.name = "accept",
	.label = "ACCEPT",
	.summary = "ready for a job?",
	.parts = accept_parts,
	.run = check_accept_run,
	.strict = true,
	.help = "All checks for its hosts, a line each; unknown counts as not ready.",
	.options = "device port group priority job",
	.examples = {{"check accept --job train", "asks whether the fabric is ready for this job",
			     2},
		{"check accept --job train --format json", "prints the same as a document", 2}},
};

/* served_fabric - the documents about what the fabric is: graph, audit, configuration, profiles,
 * and the rhythm of the jobs on it. */

#include "agent/answers/lint/answer.h"
#include "agent/client/client.h"
#include "agent/answers/settings/config_document.h"
#include "agent/answers/common/served.h"
#include "agent/answers/steps/steps_document.h"
#include "agent/answers/topology/topology_document.h"
#include "config/config.h"
#include "config/profile/profile.h"

#define TOPOLOGY_SPAN_NS (15 * 60 * NS_PER_S)
#define STEPS_SPAN_NS (3600 * NS_PER_S)

static int served_topology_show(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	return topology_document(client, topology_show_json, ret, e);
}

static int served_topology_check(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	return topology_document(client, topology_check_json, ret, e);
}

static int served_lint(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *arena = arena_new();
	struct lint_ask lint = {.source = "the configuration in force", .as_read = true};
	struct lint_answer answer;
	int rc = lint_ask_read(&lint, served_get(ask, "failures"), served_get(ask, "reroute"), e);
	if (rc == 0)
		rc = lint_answer_make(client, &lint, arena, &answer, e);
	if (rc == 0)
		*ret = shape_json(&lint_answer_shape, &answer);
	return rc;
}

static int served_config_show(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	return config_document(client->config, ret, e);
}

static int served_profile_list(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	struct profiles *profiles = NULL;
	const int rc = profiles_load(client->config->profile_dir, &profiles, &errors);
	if (rc < 0) {
		if (errors.n > 0)
			return err_at(e, -EIO, errors.v[0].file, errors.v[0].line, errors.v[0].col,
				"%s", errors.v[0].text);
		return err_set(e, rc, "the profiles cannot be read");
	}
	*ret = profile_list_json(profiles);
	profiles_free(profiles);
	return 0;
}

static int served_steps(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	return steps_document(client, served_get(ask, "job"), ret, e);
}

static const struct served_param steps_params[] = {
	{"job", "only these jobs, a glob", false},
	{0},
};

static const struct served_param lint_params[] = {
	{"failures", "links and switches that fail at once, at most: 0, 1 or 2", false},
	{"reroute",
		"what switches do about a failure: converged, local, back or tagged; the first two "
		"when not given",
		false},
	{0},
};

static const struct served_document rows[] = {
	{.path = "topology/show",
		.summary = "Devices by tier, and each link with its state and source.",
		.span_ns = TOPOLOGY_SPAN_NS,
		.make = served_topology_show},
	{.path = "topology/check",
		.summary = "Audit of the graph: oversubscription, speeds, MTU, PFC, LLDP.",
		.span_ns = TOPOLOGY_SPAN_NS,
		.make = served_topology_check},
	{.path = "lint",
		.summary =
			"What would be wrong with the fabric after failures: rings of buffers with "
			"witnesses, headroom, marks, both ends, paths.",
		.params = lint_params,
		.span_ns = TOPOLOGY_SPAN_NS,
		.make = served_lint},
	{.path = "config/show",
		.summary = "The configuration in force with its defaults; secrets are named only.",
		.span_ns = TOPOLOGY_SPAN_NS,
		.make = served_config_show},
	{.path = "profile/list",
		.summary = "The profiles: which switches are understood, and what they deliver.",
		.span_ns = TOPOLOGY_SPAN_NS,
		.make = served_profile_list},
	{.path = "steps",
		.summary = "Training rhythm: throughput of each job, its changes, its step time.",
		.params = steps_params,
		.span_ns = STEPS_SPAN_NS,
		.make = served_steps},
};

const struct served_group served_fabric = {.rows = rows, .n_rows = rw_countof(rows)};

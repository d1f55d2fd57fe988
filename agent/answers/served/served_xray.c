/* served_xray - the documents about the hash of switches, learned from the flows that the agent
 * kept: which function each follows, where flows will go, and ports that spread them. */

#include "agent/answers/common/served.h"
#include "agent/client/client.h"
#include "agent/xray/xray_answer.h"
#include "config/config.h"

#define XRAY_SPAN_NS (24 * 3600 * NS_PER_S)
enum { GROUPS_MOST = 16 }; /* each may take some seconds */

/* The flows of a request: rows of csv, with ';' in place of the ends of lines. */
static int served_flows(struct xray_set *set, const char *flows, struct err *e)
{
	rw_cleanup(freep) char *text = rw_strdup(flows);
	for (char *p = text; *p; p++)
		if (*p == ';')
			*p = '\n';
	return xray_csv_flows(set, text, strlen(text), "flows", e);
}

static int served_learn(struct client *client, const struct served_ask *ask, struct xray_set *set,
	const char *flows, struct err *e)
{
	set->devices = served_get(ask, "device");
	set->members = served_get(ask, "members");
	if (!client->history)
		return err_set(e, -ENOENT, "there is no database with flows");
	int rc = xray_history(
		set, client->history, client->config->fabric, client->from_ns, client->to_ns, e);
	if (rc == 0 && set->n_units == 0)
		rc = err_set(e, -ENOENT,
			"no flow with the member it left by was kept in this range (sFlow, or "
			"mirrors of one direction, at members of ECMP groups)");
	if (rc == 0 && set->n_units > GROUPS_MOST)
		rc = err_set(e, -EINVAL,
			"device: flows of %zu groups were kept, and at most %d are learned at "
			"once: "
			"name switches by a glob",
			set->n_units, GROUPS_MOST);
	if (rc == 0 && flows)
		rc = served_flows(set, flows, e);
	return rc == 0 ? xray_learn_all(set, e) : rc;
}

static int served_xray_learn(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	rw_cleanup(xray_set_freep) struct xray_set *set = xray_set_new();
	struct xray_learn_answer answer;
	const int rc = served_learn(client, ask, set, NULL, e);
	if (rc < 0)
		return rc;
	xray_say_learned(set, &answer);
	*ret = shape_json(&xray_learn_answer_shape, &answer);
	return 0;
}

static int served_paths(struct client *client, const struct served_ask *ask,
	const struct xray_ports *ports, json_t **ret, struct err *e)
{
	rw_cleanup(xray_set_freep) struct xray_set *set = xray_set_new();
	struct xray_paths_answer answer;
	bool good;
	int rc = served_learn(client, ask, set, served_get(ask, "flows"), e);
	if (rc == 0)
		rc = xray_say_paths(set, ports, &answer, &good, e);
	if (rc == 0)
		*ret = shape_json(&xray_paths_answer_shape, &answer);
	return rc;
}

static int served_xray_predict(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	return served_paths(client, ask, NULL, ret, e);
}

static int served_xray_prescribe(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	struct xray_ports ports;
	const int rc =
		xray_ports_read(served_get(ask, "ports"), served_get(ask, "goal"), &ports, e);
	return rc == 0 ? served_paths(client, ask, &ports, ret, e) : rc;
}

#define PARAM_DEVICE                                                                               \
	{                                                                                          \
		"device", "only these switches, a glob", false                                     \
	}
#define PARAM_MEMBERS                                                                              \
	{                                                                                          \
		"members", "only samples with these members, a glob", false                        \
	}
#define PARAM_FLOWS                                                                                \
	{                                                                                          \
		"flows",                                                                           \
			"the flows, as csv with ';' between the lines: column names (src, dst, "   \
			"src_port, device, dst_qp, weight), then a row each",                      \
			true                                                                       \
	}

static const struct served_param learn_params[] = {PARAM_DEVICE, PARAM_MEMBERS, {0}};
static const struct served_param predict_params[] = {PARAM_DEVICE, PARAM_MEMBERS, PARAM_FLOWS, {0}};
static const struct served_param prescribe_params[] = {PARAM_DEVICE, PARAM_MEMBERS, PARAM_FLOWS,
	{"ports", "source ports that may be prescribed: 49152-65535", false},
	{"goal", "max/mean-1 that is good enough: 2%", false}, {0}};

static const struct served_document rows[] = {
	{.path = "xray/learn",
		.summary = "Which hash function each switch follows, learned from the flows that "
			   "were kept; which tiers are polarised.",
		.params = learn_params,
		.span_ns = XRAY_SPAN_NS,
		.make = served_xray_learn},
	{.path = "xray/predict",
		.summary = "Where flows will go by the learned hash, and which collide.",
		.params = predict_params,
		.span_ns = XRAY_SPAN_NS,
		.make = served_xray_predict},
	{.path = "xray/prescribe",
		.summary = "UDP source ports that spread flows by the learned hash.",
		.params = prescribe_params,
		.span_ns = XRAY_SPAN_NS,
		.make = served_xray_prescribe},
};

const struct served_group served_xray = {.rows = rows, .n_rows = rw_countof(rows)};

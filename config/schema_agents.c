/* schema_agents - the keys of rocewatch.yaml for more than one agent: who polls what, and who
 * judges the whole fabric. Part of schema.c's tables. */
#include "config/schema_rows.h"

static const struct field agent_rows[] = {
	TEXT(tree_agent, name, "name",
		"Name of the agent; start it with 'rocewatch agent --name NAME'.",
		.flags = FIELD_REQUIRED, .check = schema_check_name),
	LIST(tree_agent, devices, "devices", schema_check_text,
		"The devices that it asks, with * and ?. Each device belongs to one agent.",
		.flags = FIELD_REQUIRED),
};
const struct section agents_section = {
	.size = sizeof(struct tree_agent),
	.fields = agent_rows,
	.n_fields = rw_countof(agent_rows),
	.doc = "Agents that share the fabric, each with its devices. All of them, and the judge, "
	       "read this same file. One agent asks every device when not given.",
};

static const struct field judge_rows[] = {
	TEXT(tree_judge, from, "from",
		"Where 'rocewatch agent --judge' reads what the agents collect: "
		"clickhouse://USER@HOST:PORT/DATABASE, or the agents' database files with commas "
		"between them.",
		.flags = FIELD_REQUIRED, .check = schema_check_source),
	VALUE(tree_judge, wait_ns, "wait", OPT_DURATION, "60s", "1s", "1h",
		"How long the judge waits for an agent of which nothing new arrives. Then it goes "
		"on, and that agent's devices are unknown until it is back."),
	VALUE(tree_judge, begin_ns, "begin", OPT_DURATION, "1h", "0s", "50y",
		"How far before the newest data a judge begins that has judged nothing yet."),
};
const struct section judge_section = {
	.size = sizeof(struct tree_judge),
	.fields = judge_rows,
	.n_fields = rw_countof(judge_rows),
	.doc = "One process judges what all agents collect. The agents then judge nothing "
	       "themselves.",
};

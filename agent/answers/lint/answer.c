/* answer - judges a fabric with analyzers/lint, and puts what it found into words. */
#include "agent/answers/lint/answer.h"

#include "agent/answers/topology/topology_document.h"
#include "agent/client/client.h"
#include "agent/history/window_walk.h"
#include "analyzers/lint/lint_pairs.h"
#include "config/config.h"
#include "db/model/cause.h"

/* Ways to meet a failure. */
static const struct reroute_row {
	const char *word, *how, *assumed, *remedy;
} reroutes[LINT_REROUTES] = {
	[LINT_CONVERGED] = {"converged", "when routing has converged", NULL,
		"drop at the leaves what comes from above and goes up again (a valley filter, such "
		"as an AS path rule), or turn it into a second lossless priority (Tagger)"},
	[LINT_LOCAL] = {"local", "while switches reroute locally",
		"rerouting locally, a switch without a next hop sends the packet to another "
		"switch below it, not back to where it came from",
		"let switches drop packets without a route until routing has converged, or turn "
		"bounced packets into a second lossless priority; enable the PFC watchdog"},
	[LINT_BACK] = {"back", "while switches reroute locally and send back",
		"rerouting locally, a switch without a next hop sends the packet to any switch "
		"below it, and each may send it back to where it came from",
		"keep switches from sending a packet back where it came from, or let them drop "
		"what has no route until routing has converged; enable the PFC watchdog"},
	[LINT_TAGGED] = {"tagged", "while switches reroute locally and tag",
		"rerouting locally, each switch moves a packet that came down and goes up again to "
		"the next lossless priority, with headroom of its own, and out of the last one "
		"drops it: no packet turns within a priority, so no buffers wait in a ring",
		NULL},
};

/* Of the ways that one question asks for, and the priorities whose PFC differs. */
enum {
	RINGS_MAX = 2 * FABRIC_CLASSES,
	WITNESSES_MAX = RINGS_MAX * (2 * LINT_EXAMPLES_MAX + 1),
};

struct lint_work {
	struct arena *arena;
	const struct lint_graph *graph;
	struct lint_list list;
	struct lint_answer *answer;
	const struct lint_ask *ask;
	const struct observed *observed; /* NULL: a file is judged */
	struct lint_table table; /* .next NULL: all shortest paths */
	struct topology_checked checked; /* links whose ends were compared */
	size_t class_findings; /* links whose ends put a packet into other classes */
};

/* ---- rings --------------------------------------------------------------- */

static void add_witness(
	struct lint_work *work, enum lint_reroute reroute, const struct lint_example *example)
{
	const struct lint_graph *graph = work->graph;
	const struct lint_ring *ring = &example->ring;
	struct lint_answer *answer = work->answer;
	struct lint_witness *to = &answer->witnesses[answer->n_witnesses++];
	to->reroute = reroutes[reroute].word;
	to->failed = arena_array(work->arena, const char *, LINT_FAILURES_MAX);
	for (size_t i = 0; i < example->failures.n; i++)
		to->failed[to->n_failed++] =
			lint_element_text(graph, example->failures.v[i], work->arena);
	to->ring = arena_array(work->arena, const char *, ring->n + 1);
	to->flows = arena_array(work->arena, const char *, ring->n + 1);
	for (size_t i = 0; i < ring->n; i++) {
		const struct lint_hop *hop = &ring->hops[i];
		const struct lint_switch *s = &graph->switches[hop->at];
		const struct lint_port *out = &s->ports[hop->out];
		to->ring[to->n_ring++] = arena_printf(work->arena, "%s:%s -> %s", s->device->name,
			out->at->name, graph->switches[out->peer].device->name);
		to->flows[to->n_flows++] = graph->switches[hop->leaf].device->name;
	}
}

static const char *example_text(struct lint_work *work, const struct lint_example *example)
{
	const char *text = lint_element_text(work->graph, example->failures.v[0], work->arena);
	if (example->failures.n < 2)
		return text;
	return arena_printf(work->arena, "%s and %s", text,
		lint_element_text(work->graph, example->failures.v[1], work->arena));
}

/* What nobody said of routing is told as an info: it depends on what the switches do. */
static enum lint_severity ring_severity(const struct lint_work *work, enum lint_severity severity)
{
	if (!work->ask->reroute)
		return LINT_INFO;
	return severity;
}

static void found_rings(struct lint_work *work, const struct lint_verdict *v, int priority)
{
	struct lint_finding finding = {
		.check = "deadlock", .priority = priority, .remedy = reroutes[v->reroute].remedy};
	const bool local = v->reroute != LINT_CONVERGED;
	const char *how = reroutes[v->reroute].how;
	if (v->whole_cyclic) {
		finding.severity = LINT_CRITICAL;
		lint_found(&work->list, &finding,
			"buffers can wait for each other in a ring as the fabric stands");
	}
	if (v->cyclic_singles > 0) {
		finding.severity = local ? ring_severity(work, LINT_CRITICAL) : LINT_CRITICAL;
		lint_found(&work->list, &finding,
			"%s, %llu of %llu single failures can close a ring of buffers, such as %s",
			how, (unsigned long long)v->cyclic_singles, (unsigned long long)v->singles,
			v->n_single ? example_text(work, &v->single[0]) : "none that was walked");
	}
	if (v->cyclic_pairs > 0) {
		finding.severity = local ? ring_severity(work, LINT_WARNING) : LINT_WARNING;
		lint_found(&work->list, &finding,
			"%s, %llu of %llu failures of two can close a ring of buffers%s%s", how,
			(unsigned long long)v->cyclic_pairs, (unsigned long long)v->pairs,
			str_if(v->n_pair > 0, ", such as "),
			v->n_pair ? example_text(work, &v->pair[0]) : "");
	}
	if (v->unjudged)
		lint_unjudged(&work->list,
			"failures, %s: the table of next hops sends packets in a circle, so each "
			"would have to be walked, and they are too many",
			how);
	if (v->unjudged_pairs > 0)
		lint_unjudged(&work->list,
			"%llu failures of two, %s: they would have to be walked one by one",
			(unsigned long long)v->unjudged_pairs, how);
}

/* A table says what converged routing does as the fabric stands; after failures shortest paths
 * count. */
static struct lint_verdict judge_way(
	struct lint_work *work, const struct lint_class *class, enum lint_reroute reroute)
{
	const bool routed = work->table.next != NULL;
	const bool apart = routed && reroute == LINT_CONVERGED;
	const unsigned failures = work->ask->failures;
	struct lint_engine *engine = lint_engine_new(work->graph);
	lint_engine_lossless(engine, class->lossless);
	struct lint_verdict whole = {.whole_cyclic = false}, v;
	if (apart) {
		lint_engine_routes(engine, work->table.next);
		whole = lint_judge(engine, work->graph, reroute, 0, LINT_CHOOSE, work->arena);
		lint_engine_free(engine);
		engine = lint_engine_new(work->graph);
		lint_engine_lossless(engine, class->lossless);
	} else if (routed) {
		lint_engine_routes(engine, work->table.next);
	}
	v = lint_judge(engine, work->graph, reroute, failures, LINT_CHOOSE, work->arena);
	lint_engine_free(engine);
	if (apart) {
		v.whole_cyclic = whole.whole_cyclic;
		v.whole = whole.whole;
	}
	return v;
}

static void judge_world(
	struct lint_work *work, const struct lint_class *class, enum lint_reroute reroute)
{
	struct lint_answer *answer = work->answer;
	const struct lint_verdict v = judge_way(work, class, reroute);
	answer->rings[answer->n_rings++] = (struct lint_rings){.reroute = reroutes[reroute].word,
		.priority = class->priority,
		.whole = v.whole_cyclic,
		.singles = v.singles,
		.cyclic_singles = v.cyclic_singles,
		.pairs = v.pairs,
		.cyclic_pairs = v.cyclic_pairs,
		.unjudged_pairs = v.unjudged_pairs,
		.walked = v.walked};
	found_rings(work, &v, class->priority);
	if (v.whole_cyclic)
		add_witness(work, reroute, &v.whole);
	for (size_t i = 0; i < v.n_single; i++)
		add_witness(work, reroute, &v.single[i]);
	for (size_t i = 0; i < v.n_pair; i++)
		add_witness(work, reroute, &v.pair[i]);
}

static bool is_asked(const struct lint_ask *ask, enum lint_reroute reroute)
{
	if (ask->reroute)
		return str_eq(ask->reroute, reroutes[reroute].word);
	return reroute == LINT_CONVERGED || reroute == LINT_LOCAL;
}

static void judge_tags(struct lint_work *work)
{
	const unsigned lossless =
		(unsigned)__builtin_popcount(lint_paused_priorities(work->graph->fabric));
	if (is_asked(work->ask, LINT_TAGGED) && lossless < 2)
		lint_found(&work->list,
			&(struct lint_finding){LINT_WARNING, "tags", NULL, NULL, -1, NULL,
				"declare a second one in lossless.priorities, with headroom on "
				"every port, or accept that bounced packets are lost under load"},
			"bounced packets need a second lossless priority, and %u %s declared",
			lossless, lossless == 1 ? "is" : "are");
}

static void judge_rings(struct lint_work *work)
{
	struct lint_answer *answer = work->answer;
	struct lint_class classes[FABRIC_CLASSES];
	const size_t n = lint_classes(work->graph, work->observed, work->arena, classes);
	answer->rings = arena_array(work->arena, struct lint_rings, RINGS_MAX);
	answer->witnesses = arena_array(work->arena, struct lint_witness, WITNESSES_MAX);
	for (int reroute = 0; reroute < LINT_REROUTES; reroute++)
		for (size_t i = 0; i < n && is_asked(work->ask, reroute); i++)
			judge_world(work, &classes[i], reroute);
	judge_tags(work);
}

/* ---- the watchdog -------------------------------------------------------- */

static bool has_watchdog(const struct lint_work *work, const struct lint_port *port)
{
	return work->observed && observed_port(work->observed, port->at)->watchdog_ms > 0;
}

/* A switch that tells of a watchdog at one of its ports has none where it tells of none. */
static void judge_watchdog_of(
	struct lint_work *work, const struct lint_switch *s, enum lint_severity severity)
{
	size_t with = 0;
	const struct lint_port *without = NULL;
	for (size_t p = s->n_ports; p-- > 0;) {
		if (has_watchdog(work, &s->ports[p]))
			with++;
		else
			without = &s->ports[p];
	}
	if (with > 0 && without)
		lint_found(&work->list,
			&(struct lint_finding){severity, "watchdog", s->device->name,
				without->at->name, -1, NULL,
				"enable the PFC watchdog on every lossless port, action drop"},
			"no PFC watchdog at %zu of %zu ports to switches, where a ring of buffers "
			"is possible",
			s->n_ports - with, s->n_ports);
}

static void judge_watchdog(struct lint_work *work)
{
	const struct lint_graph *graph = work->graph;
	enum lint_severity severity = LINT_SEVERITIES;
	size_t silent = 0;
	for (size_t i = 0; i < work->list.n; i++)
		if (str_eq(work->list.findings[i].check, "deadlock") &&
			work->list.findings[i].severity < severity)
			severity = work->list.findings[i].severity;
	if (severity == LINT_SEVERITIES)
		return;
	if (severity == LINT_CRITICAL)
		severity = LINT_WARNING;
	for (size_t i = 0; i < graph->n_switches; i++) {
		const struct lint_switch *s = &graph->switches[i];
		bool told = s->n_ports == 0;
		for (size_t p = 0; p < s->n_ports && !told; p++)
			told = has_watchdog(work, &s->ports[p]);
		silent += !told;
		judge_watchdog_of(work, s, severity);
	}
	if (silent > 0)
		lint_unjudged(&work->list,
			"whether a PFC watchdog is on at %zu switch%s where a ring is possible: "
			"they do not tell of one",
			silent, str_if(silent != 1, "es"));
}

/* ---- the graph ----------------------------------------------------------- */

static void judge_graph(struct lint_work *work)
{
	const struct lint_graph *graph = work->graph;
	if (graph->islands > 1 && !graph->planes)
		lint_found(&work->list,
			&(struct lint_finding){LINT_WARNING, "topology", NULL, NULL, -1, NULL,
				"declare the links that join them, or judge each by itself"},
			"the switches are %zu parts that no link joins: paths between them are not "
			"judged",
			graph->islands);
	for (size_t i = 0; i < graph->n_left_out; i++)
		lint_unjudged(&work->list, "%s: it has no role (leaf, spine or superspine)",
			graph->left_out[i]);
	if (graph->lateral_links > 0)
		lint_found(&work->list,
			&(struct lint_finding){LINT_INFO, "topology", NULL, NULL, -1, NULL,
				"check that only packets to hosts of both ends use them: three "
				"such links that routes use can close a ring by themselves"},
			"%zu link%s within a tier: rings over them are not judged",
			graph->lateral_links, str_if(graph->lateral_links != 1, "s"));
	if (graph->outside_links > 0)
		lint_unjudged(&work->list, "%zu link%s to switches without a role",
			graph->outside_links, plural(graph->outside_links));
	size_t outsiders = 0;
	for (size_t i = 0; i < graph->fabric->n_devices; i++)
		for (size_t p = 0; p < graph->fabric->devices[i]->n_ports; p++)
			outsiders += graph->fabric->devices[i]->ports[p]->outsider != NULL;
	if (outsiders > 0)
		lint_unjudged(&work->list,
			"%zu link%s to switches that are not in the configuration: rings and "
			"failures behind them are not seen",
			outsiders, str_if(outsiders != 1, "s"));
}

/* ---- settings ------------------------------------------------------------ */

static void judge_settings(struct lint_work *work)
{
	const struct lint_settings_in in = {.graph = work->graph,
		.observed = work->observed,
		.changes = work->ask->changes,
		.n_changes = work->ask->n_changes};
	lint_settings(&in, &work->list);
}

/* ---- both ends, as the switches answered ----------------------------------- */

static enum lint_severity severity_of(const char *word)
{
	for (int i = 0; i < LINT_SEVERITIES; i++)
		if (str_eq(lint_severity_words[i], word))
			return (enum lint_severity)i;
	return LINT_INFO;
}

static bool is_about_both_ends(const char *kind)
{
	static const char *const kinds[] = {"speed_mismatch", "mtu_mismatch", "pfc_mismatch",
		"pfc_off", "mtu_small", "speed_declared", "lldp_mismatch", "dscp_mismatch",
		"group_mismatch", "class_names"};
	for (size_t i = 0; i < rw_countof(kinds); i++)
		if (str_eq(kinds[i], kind))
			return true;
	return false;
}

/* "leaf", "host": what stands at the other end; links between the same kinds are alike. */
static const char *end_kind(const struct fabric *fabric, const char *name)
{
	char device[256];
	snprintf(device, sizeof(device), "%.*s", (int)strcspn(name, ":"), name);
	const struct fabric_device *known = fabric_device(fabric, device);
	return known ? device_role_name(known->role) : "host";
}

/* One row for what is the same at links of one kind, with the two ends of the first. */
static void found_ends(struct lint_work *work, const struct topology_finding *row)
{
	const struct fabric *fabric = work->graph->fabric;
	const struct lint_finding finding = {.severity = severity_of(row->severity),
		.check = "both_ends",
		.device = row->device,
		.port = row->port,
		.priority = -1,
		.remedy = row->remedy,
		.same = arena_printf(work->arena, "%s, %s - %s: %s", row->kind,
			end_kind(fabric, row->device), end_kind(fabric, str_or(row->peer, "host")),
			row->text)};
	work->class_findings += str_eq(row->kind, cause_name(CAUSE_DSCP_MISMATCH));
	lint_found(&work->list, &finding, "%s (%s; other end %s)", row->text, row->kind,
		str_or(row->peer, "unknown"));
}

static int judge_ends(struct lint_work *work, struct client *client, struct err *e)
{
	struct topology_audit audit;
	work->checked.switch_links = work->graph->n_links;
	if (!client->history && work->graph->fabric->n_port_settings == 0) {
		lint_unjudged(&work->list,
			"whether both ends of each link agree (speed, MTU, PFC priorities, DSCP "
			"maps, groups): that needs the database of an agent that polls them, or "
			"port_settings");
		return 0;
	}
	const int rc = topology_audit_read(client, work->arena, &audit, e);
	if (rc < 0)
		return rc;
	work->checked = audit.checked;
	for (size_t i = 0; i < audit.n_findings; i++)
		if (is_about_both_ends(audit.findings[i].kind))
			found_ends(work, &audit.findings[i]);
	const struct topology_checked *known = &work->checked;
	if (known->speed + known->mtu + known->pfc < 3 * known->switch_links)
		lint_unjudged(&work->list,
			"whether both ends agree where they are not both known: of %llu links "
			"between switches the speed is of %llu, the MTU of %llu, PFC of %llu",
			(unsigned long long)known->switch_links, (unsigned long long)known->speed,
			(unsigned long long)known->mtu, (unsigned long long)known->pfc);
	return 0;
}

/* ---- words --------------------------------------------------------------- */

static void say(struct lint_work *work, const char *text)
{
	work->answer->assumptions[work->answer->n_assumptions++] = text;
}

static void say_classes(struct lint_work *work)
{
	const unsigned long long links = work->checked.switch_links, known = work->checked.classes;
	struct arena *a = work->arena;
	if (known < links)
		say(work,
			arena_printf(a,
				"a packet stays in its priority and its priority group on the "
				"whole path: the DSCP maps of both ends are known of %llu of %llu "
				"links between switches",
				known, links));
	else
		say(work, "the DSCP of a packet is not rewritten on its way");
	if (work->class_findings > 0)
		say(work,
			"rings are judged as if a packet stayed in its priority, though both ends "
			"of a link do not agree on it");
}

static void say_assumptions(struct lint_work *work)
{
	struct arena *a = work->arena;
	const size_t taken = work->graph->taken_leaves;
	work->answer->assumptions = arena_array(a, const char *, 12);
	if (work->table.next)
		say(work,
			arena_printf(a,
				"next hops are those of %s; when routing has converged after a "
				"failure, packets take every shortest path that is left",
				work->ask->routes));
	else
		say(work,
			"packets take every shortest path that is left; the routes of the "
			"switches were not read, and no filter against paths that go down and up "
			"again is known");
	if (work->table.missing > 0)
		say(work,
			arena_printf(a,
				"where the table has no row (%zu of a switch and a leaf), packets "
				"are dropped",
				work->table.missing));
	if (work->ask->sheet)
		say(work,
			arena_printf(a,
				"the thresholds of sheet %s are in force, on all its switches",
				work->ask->sheet));
	if (!work->ask->reroute)
		say(work,
			"it is not said what switches do until routing has converged: both ways "
			"are "
			"judged, and rings of local reroute are told as infos (say --reroute)");
	for (int reroute = 0; reroute < LINT_REROUTES; reroute++)
		if (is_asked(work->ask, reroute) && reroutes[reroute].assumed)
			say(work, reroutes[reroute].assumed);
	if (taken == 1)
		say(work, "a leaf of which no host is declared has hosts");
	if (taken > 1)
		say(work,
			arena_printf(
				a, "%zu leaves of which no host is declared have hosts", taken));
	say_classes(work);
	say(work, "a ring is necessary for a deadlock, not sufficient: traffic has to fill it");
}

struct lint_rows {
	struct smap *said; /* row by what it says */
	size_t *more; /* of a row: findings that say the same of other switches */
};

static void take_row(struct lint_work *work, struct lint_rows *rows, const struct lint_finding *x)
{
	struct lint_answer *answer = work->answer;
	rw_cleanup(str_done) struct str key = {0};
	uint64_t row;
	str_addf(&key, "%d %d %s %s", (int)x->severity, x->priority, x->check,
		str_or(x->same, x->text));
	if (smap_get(rows->said, key.s, key.n, &row)) {
		rows->more[row]++;
		return;
	}
	smap_put(rows->said, key.s, key.n, answer->n_findings);
	answer->findings[answer->n_findings++] = *x;
}

/* The worst first, each severity in the order in which it was found; what holds of many once. */
static void take_rows(struct lint_work *work)
{
	struct lint_answer *answer = work->answer;
	const struct lint_list *list = &work->list;
	struct lint_rows rows = {smap_new(), arena_array(work->arena, size_t, list->n + 1)};
	answer->findings = arena_array(work->arena, struct lint_finding, list->n + 1);
	for (int severity = 0; severity < LINT_SEVERITIES; severity++)
		for (size_t i = 0; i < list->n; i++)
			if ((int)list->findings[i].severity == severity)
				take_row(work, &rows, &list->findings[i]);
	smap_free(rows.said);
	for (size_t i = 0; i < answer->n_findings; i++)
		if (rows.more[i] > 0)
			answer->findings[i].text = arena_printf(work->arena,
				"%s; the same at %zu more", answer->findings[i].text, rows.more[i]);
	answer->unjudged = list->unjudged;
	answer->n_unjudged = list->n_unjudged;
}

/* With infos only: a ring of local reroute, of which nobody said whether it happens. */
static bool says_ring(const struct lint_work *work)
{
	for (size_t i = 0; i < work->answer->n_rings; i++) {
		const struct lint_rings *rings = &work->answer->rings[i];
		if (rings->cyclic_singles + rings->cyclic_pairs > 0)
			return true;
	}
	return false;
}

static const char *verdict_of(const struct lint_work *work)
{
	size_t n[LINT_SEVERITIES] = {0};
	for (size_t i = 0; i < work->answer->n_findings; i++)
		n[work->answer->findings[i].severity]++;
	if (work->graph->n_links == 0)
		return "no link between switches is known: no path was judged";
	if (n[LINT_CRITICAL] + n[LINT_WARNING] == 0 && says_ring(work))
		return "nothing is wrong once routing has converged; until then switches that "
		       "reroute locally can deadlock";
	if (n[LINT_CRITICAL] + n[LINT_WARNING] == 0)
		return arena_printf(work->arena,
			"nothing is wrong on these assumptions (%zu info%s)", n[LINT_INFO],
			str_if(n[LINT_INFO] != 1, "s"));
	return arena_printf(work->arena, "%zu critical, %zu warning%s, %zu info%s",
		n[LINT_CRITICAL], n[LINT_WARNING], str_if(n[LINT_WARNING] != 1, "s"), n[LINT_INFO],
		str_if(n[LINT_INFO] != 1, "s"));
}

int lint_ask_read(struct lint_ask *ask, const char *failures, const char *reroute, struct err *e)
{
	ask->failures = LINT_FAILURES_MAX;
	ask->reroute = NULL;
	if (failures && (strlen(failures) != 1 || *failures < '0' || *failures > '2'))
		return err_set(e, -EINVAL, "failures: '%.32s'; expected 0, 1 or 2", failures);
	if (failures)
		ask->failures = (unsigned)(*failures - '0');
	for (size_t i = 0; i < LINT_REROUTES; i++)
		if (str_eq(reroute, reroutes[i].word))
			ask->reroute = reroutes[i].word;
	if (reroute && !ask->reroute)
		return err_set(e, -EINVAL,
			"reroute: '%.32s'; expected converged, local, back or tagged", reroute);
	return 0;
}

int lint_answer_make(struct client *client, const struct lint_ask *ask, struct arena *a,
	struct lint_answer *ret, struct err *e)
{
	const struct fabric *fabric = client->config->fabric;
	struct lint_work work = {.arena = a,
		.graph = lint_graph_new(fabric, a),
		.list = {.arena = a},
		.answer = ret,
		.ask = ask};
	*ret = (struct lint_answer){.fabric = fabric->name,
		.source = ask->source,
		.switches = work.graph->n_switches,
		.links = work.graph->n_links,
		.leaves = work.graph->n_leaves,
		.failures = ask->failures};
	if (work.graph->n_links == 0)
		lint_found(&work.list,
			&(struct lint_finding){LINT_WARNING, "topology", NULL, NULL, -1, NULL,
				"declare 'links', or run it beside an agent that discovers them"},
			"no link between switches is known");
	int rc = 0;
	if (client->history && ask->as_read)
		rc = state_observe(client, a, &work.observed, e);
	if (rc == 0 && ask->routes)
		rc = lint_table_read(ask->routes, work.graph, a, &work.table, e);
	if (rc < 0)
		return rc;
	judge_graph(&work);
	if (work.graph->n_links > 0) {
		judge_rings(&work);
		judge_watchdog(&work);
	}
	judge_settings(&work);
	rc = judge_ends(&work, client, e);
	if (rc < 0)
		return rc;
	say_assumptions(&work);
	take_rows(&work);
	ret->verdict = verdict_of(&work);
	return 0;
}

/*
 * rings - can buffers wait for each other in a ring on the links that are up now? What `rocewatch
 * lint` proves before rollout, asked of the fabric as it stands: shortest paths over what is left,
 * no filter against paths that go down and up again (analyzers/lint/lint_cycle.h). Whether it
 * happens takes traffic: an info, so that somebody repairs a link or withdraws a route before a
 * deadlock does tell. Not judged where a link leads to a switch that is not in the configuration:
 * paths behind it are not known.
 */
#include "analyzers/finding_build.h"
#include "analyzers/lint/lint_cycle.h"
#include "analyzers/lint/lint_settings.h"

#define RING_SURE 0.6 /* routes are computed, not read */
enum { DOWN_NAMED = 3 }; /* of what is down; the rest is counted */

struct rings_options {
	int64_t window_ns, hold;
};
static const struct option rows[] = {
	{"window", OPT_DURATION, offsetof(struct rings_options, window_ns), "120s", "1s", "1h",
		NULL, "evaluation window"},
	{"hold", OPT_INT, offsetof(struct rings_options, hold), "1", "1", "10000", NULL,
		"required windows, of the last hold + 2, before an incident opens"},
};

static bool rings_port_up(const void *arg, const struct fabric_port *port)
{
	const struct port_seen *seen = observed_port(arg, port);
	return seen->oper_up != 0; /* not known: up */
}

/* What is down between switches, as "while ... is down": a few by name; "": nothing. */
static const char *down_text(const struct observed *observed, struct arena *a)
{
	const char *named = "";
	size_t n = 0;
	for (size_t i = 0; i < observed->n_fabric_ports; i++) {
		const struct port_seen *seen = &observed->ports[i];
		const struct fabric_port *peer = seen->port->peer;
		if (!peer || rings_port_up(observed, seen->port) ||
			(peer->index < seen->port->index && !rings_port_up(observed, peer)))
			continue;
		if (n < DOWN_NAMED)
			named = arena_printf(
				a, "%s%s%s", named, str_if(n > 0, ", "), port_text(seen, a));
		n++;
	}
	if (n > DOWN_NAMED)
		return arena_printf(a, " while %s and %zu more are down", named, n - DOWN_NAMED);
	if (n == 0)
		return "";
	return arena_printf(a, " while %s %s down", named, n > 1 ? "are" : "is");
}

static bool is_whole(const struct fabric *fabric)
{
	for (size_t i = 0; i < fabric->n_devices; i++)
		for (size_t p = 0; p < fabric->devices[i]->n_ports; p++)
			if (fabric->devices[i]->ports[p]->outsider)
				return false;
	return true;
}

static void report_ring(struct draft *draft, const struct lint_graph *graph,
	const struct lint_ring *ring, const char *down)
{
	const char *text = "";
	for (size_t i = 0; i < ring->n; i++) {
		const struct lint_hop *hop = &ring->hops[i];
		const struct lint_switch *s = &graph->switches[hop->at];
		const char *out = s->ports[hop->out].at->name;
		text = arena_printf(
			draft->a, "%s%s%s:%s", text, str_if(i > 0, " > "), s->device->name, out);
		finding_rests_on(draft, "%s holds packets to %s that leave by %s", s->device->name,
			graph->switches[hop->leaf].device->name, out);
		finding_add_role(draft, "culprit", "%s:%s", s->device->name, out);
	}
	draft->f->severity = SEV_INFO;
	draft->f->confidence_ratio = RING_SURE;
	draft->f->value = (double)ring->n;
	draft->f->summary =
		arena_printf(draft->a, "buffers can wait for each other in a ring%s: %s > %s", down,
			text, graph->switches[ring->hops[0].at].device->name);
	finding_evidence_device(
		draft, "rings.buffers", NULL, (double)ring->n, "buffers", QUALITY_EXACT);
	finding_unproved(draft, "routes are computed from the links that are up, not read");
	finding_steps(draft, CAUSE_RING_POSSIBLE, 0);
}

static int rings_run(const struct analyzer_in *in, struct finding_list *out)
{
	const struct rings_options *options = in->options;
	const struct observed *observed = observe(in);
	const struct lint_graph *graph =
		lint_graph_now(in->fabric, in->arena, rings_port_up, observed);
	struct lint_ring ring;
	if (graph->outside_links > 0 || graph->n_links == 0 || !is_whole(in->fabric) ||
		lint_paused_priorities(in->fabric) == 0)
		return 0;
	struct lint_engine *engine = lint_engine_new(graph);
	struct lint_class classes[FABRIC_CLASSES];
	const size_t n = lint_classes(graph, observed, in->arena, classes);
	bool cyclic = false;
	lint_engine_pause(engine, in->pause, in->pause_arg);
	for (size_t i = 0; i < n && !cyclic; i++) {
		lint_engine_lossless(engine, classes[i].lossless);
		cyclic = lint_cyclic(
			engine, LINT_CONVERGED, &(struct lint_failures){.n = 0}, &ring, in->arena);
	}
	lint_engine_free(engine);
	if (!cyclic && finding_is_clear(out, in, "rings", "", 1))
		return 0;
	struct draft t =
		finding_new(out, in, "rings", finding_verdict(cyclic, true), options->hold);
	t.f->cause = CAUSE_RING_POSSIBLE;
	t.f->coverage_ratio = 1;
	t.f->summary = "";
	if (cyclic)
		report_ring(&t, graph, &ring, down_text(observed, t.a));
	return 0;
}

const struct analyzer analyzer_rings = {
	.name = "rings",
	.phase = 190,
	.doc = "buffers that could wait for each other in a ring on the links that are up",
	.options = {"analyzers", "rings", sizeof(struct rings_options), rows, rw_countof(rows),
		"rings of buffers that are possible as the fabric stands"},
	.window_offset = offsetof(struct rings_options, window_ns),
	.strides = 1,
	.observes = true,
	.run = rings_run,
};

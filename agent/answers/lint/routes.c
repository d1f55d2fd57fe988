/* routes - a table of next hops, as people or a script write it from the switches' own. */

#include "agent/answers/lint/answer.h"

#define ROUTES_MOST_BYTES (256 << 20)

struct routes_reader {
	const struct lint_graph *graph;
	const char *path;
	int line;
	uint64_t *next; /* as those of lint_routes */
	bool *own; /* of a leaf and a switch: a row names both */
	struct smap *numbers; /* switches, and leaves among the leaves, by name */
	struct err *e;
};

static int routes_number(
	const struct routes_reader *r, const char *kind, const char *name, uint64_t *ret)
{
	rw_cleanup(str_done) struct str key = {0};
	str_addf(&key, "%s %s", kind, name);
	if (smap_get(r->numbers, key.s, key.n, ret))
		return 0;
	return err_at(r->e, -EINVAL, r->path, r->line, 0, "no %s '%s' in the fabric", kind, name);
}

static void routes_name(struct routes_reader *r, const char *kind, uint32_t at, uint64_t number)
{
	rw_cleanup(str_done) struct str key = {0};
	str_addf(&key, "%s %s", kind, r->graph->switches[at].device->name);
	smap_put(r->numbers, key.s, key.n, number);
}

/* A port towards another switch; of a LAG any member, or its name. */
static int routes_port(
	const struct routes_reader *r, const struct lint_switch *s, const char *name, size_t *ret)
{
	const struct fabric_port *port = fabric_port(s->device, name);
	const char *lag = port ? port->lag : name;
	for (*ret = 0; *ret < s->n_ports; ++*ret) {
		const struct fabric_port *at = s->ports[*ret].at;
		if (at == port || (at->lag && str_eq(at->lag, lag)))
			return 0;
	}
	return err_at(r->e, -EINVAL, r->path, r->line, 0,
		"no port '%s' of %s leads to another switch of the fabric", name, s->device->name);
}

/* A row of a leaf replaces what '*' says of it, wherever that stands. */
static void routes_add(
	const struct routes_reader *r, size_t leaf, uint64_t at, const uint64_t *ports, bool named)
{
	const struct lint_graph *graph = r->graph;
	const struct lint_switch *s = &graph->switches[at];
	uint64_t *next = r->next + leaf * graph->words + s->first_word;
	bool *own = &r->own[leaf * graph->n_switches + at];
	if ((*own && !named) || graph->leaves[leaf] == at)
		return;
	if (named && !*own)
		memset(next, 0, s->words * sizeof(*next));
	*own |= named;
	for (size_t w = 0; w < s->words; w++)
		next[w] |= ports[w];
}

static int routes_row(const struct routes_reader *r, char *row)
{
	char *rest = NULL, *at_port = NULL;
	const char *name = strtok_r(row, " \t\r", &rest), *leaf = strtok_r(NULL, " \t\r", &rest);
	char *ports = strtok_r(NULL, " \t\r", &rest);
	uint64_t at, to = 0;
	if (!name || *name == '#')
		return 0;
	if (!ports || strtok_r(NULL, " \t\r", &rest))
		return err_at(r->e, -EINVAL, r->path, r->line, 0,
			"expected SWITCH LEAF PORT[,PORT...], where LEAF may be '*'");
	const bool named = !str_eq(leaf, "*");
	int rc = routes_number(r, "switch", name, &at);
	if (rc == 0 && named)
		rc = routes_number(r, "leaf", leaf, &to);
	if (rc < 0)
		return rc;
	const struct lint_switch *s = &r->graph->switches[at];
	rw_cleanup(freep) uint64_t *set = rw_calloc(s->words + 1, sizeof(*set));
	for (char *port = strtok_r(ports, ",", &at_port); port;
		port = strtok_r(NULL, ",", &at_port)) {
		size_t number;
		rc = routes_port(r, s, port, &number);
		if (rc < 0)
			return rc;
		lint_add(set, number);
	}
	for (size_t i = 0; named ? i < 1 : i < r->graph->n_leaves; i++)
		routes_add(r, named ? to : i, at, set, named);
	return 0;
}

static size_t routes_missing(const struct routes_reader *r)
{
	const struct lint_graph *graph = r->graph;
	size_t n = 0;
	for (size_t leaf = 0; leaf < graph->n_leaves; leaf++)
		for (size_t i = 0; i < graph->n_switches; i++) {
			const struct lint_switch *s = &graph->switches[i];
			const uint64_t *next = r->next + leaf * graph->words + s->first_word;
			n += i != graph->leaves[leaf] && s->n_ports > 0 &&
				lint_next(next, s->n_ports, 0) == s->n_ports;
		}
	return n;
}

int lint_table_read(const char *path, const struct lint_graph *graph, struct arena *a,
	struct lint_table *ret, struct err *e)
{
	rw_cleanup(freep) char *text = NULL;
	size_t size;
	int rc = str_read_file(path, ROUTES_MOST_BYTES, &text, &size, e);
	if (rc < 0)
		return -EINVAL;
	struct routes_reader r = {.graph = graph, .path = path, .numbers = smap_new(), .e = e};
	r.next = arena_array(a, uint64_t, graph->n_leaves * graph->words + 1);
	r.own = arena_array(a, bool, graph->n_leaves * graph->n_switches + 1);
	for (uint32_t i = 0; i < graph->n_switches; i++)
		routes_name(&r, "switch", i, i);
	for (size_t i = 0; i < graph->n_leaves; i++)
		routes_name(&r, "leaf", graph->leaves[i], i);
	char *rest = text;
	for (char *row = strsep(&rest, "\n"); row && rc == 0; row = strsep(&rest, "\n")) {
		r.line++;
		rc = routes_row(&r, row);
	}
	smap_free(r.numbers);
	if (rc == 0)
		*ret = (struct lint_table){.next = r.next, .missing = routes_missing(&r)};
	return rc;
}

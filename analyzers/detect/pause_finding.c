/* pause_finding - pause in words, and who waits as roles of a finding. */
#include "analyzers/detect/pause_finding.h"

const char *pause_share_text(double lo, double hi, bool measured, struct arena *a)
{
	if (measured)
		return arena_printf(a, "%.1f %% of the time", 100 * lo);
	return arena_printf(
		a, "at most %.1f %% of the time (upper bound from PFC frames)", 100 * hi);
}

/* Lists are short (ROLES_MAX), and the edges of the tree come switch by switch: the search from the
 * end is cheap. */
static bool has_role(const struct draft *draft, const char *entity)
{
	for (size_t i = draft->f->n_roles; i-- > 0;)
		if (str_eq(draft->f->roles[i].entity, entity))
			return true;
	return false;
}

/* "leaf2", "switch:spine9" where it is not configured; NULL: a host waits. */
static const char *pause_waiting_switch(const struct pause_edge *edge, struct arena *a)
{
	const char *outsider = edge_outsider(edge);
	if (edge->at)
		return edge->at->port->device->name;
	if (!outsider)
		return NULL;
	return arena_printf(a, "%s:%s", neighbor_kind_word(NEIGHBOR_SWITCH), outsider);
}

void pause_add_roles(
	struct draft *draft, const char *role, const struct pause_edge *const *edges, size_t n)
{
	size_t n_added = 0;
	/* switches first, so that only hosts and ports are cut off */
	for (int switches = 1; switches >= 0; switches--)
		for (size_t i = 0; i < n && n_added < ROLES_MAX; i++) {
			const struct pause_edge *e = edges[i];
			const char *entity;
			if (switches) {
				entity = pause_waiting_switch(e, draft->a);
			} else if (e->at) {
				entity = port_text(e->at, draft->a);
			} else {
				entity = e->host;
			}
			if (!entity || has_role(draft, entity))
				continue;
			finding_add_role(draft, role, "%s", entity);
			n_added++;
		}
}

static const char *pause_count_text(size_t n, const char *one, const char *many, struct arena *a)
{
	if (!n)
		return "";
	if (n == 1)
		return arena_printf(a, "1 %s", one);
	return arena_printf(a, "%zu %s", n, many);
}

const char *pause_spread_text(const struct pause_root *root, struct arena *a)
{
	if (!root)
		return "";
	size_t switches = root->n_outsiders;
	if (root->n_switches > 1)
		switches += root->n_switches - 1;
	if (!switches && !root->n_hosts)
		return "";
	return arena_printf(a, "; %s%s%s wait%s behind it (L%d)",
		pause_count_text(switches, "other switch", "other switches", a),
		str_if(switches && root->n_hosts, " and "),
		pause_count_text(root->n_hosts, "host", "hosts", a),
		str_if(switches + root->n_hosts == 1, "s"), pause_ladder(root));
}

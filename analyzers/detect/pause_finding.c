/* pause_tell - see the header. */
#include "analyzers/detect/pause_finding.h"

#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/str.h"

const char *pause_share_text(double lo, double hi, bool measured, struct arena *a)
{
	if (measured)
		return arena_printf(a, "%.1f %% of the time", 100 * lo);
	return arena_printf(a, "at most %.1f %% of the time (from frames)", 100 * hi);
}

/* Lists are short and the tree's edges come switch by switch: looking back is cheap, and bounded by
 * TOLD_ROLES. */
static bool told_before(const struct draft *draft, const char *entity)
{
	for (size_t i = draft->f->n_roles; i-- > 0;)
		if (str_eq(draft->f->roles[i].entity, entity))
			return true;
	return false;
}

void pause_add_roles(
	struct draft *draft, const char *role, const struct pause_edge *const *edges, size_t n)
{
	size_t told = 0;
	/* the first to be cut off are hosts and ports, never switches */
	for (int switches = 1; switches >= 0; switches--)
		for (size_t i = 0; i < n && told < TOLD_ROLES; i++) {
			const struct pause_edge *e = edges[i];
			const char *entity;
			if (switches) {
				if (e->at)
					entity = e->at->port->device->name;
				else
					entity = NULL;
			} else if (e->at) {
				entity = port_text(e->at, draft->a);
			} else {
				entity = e->host;
			}
			if (!entity || told_before(draft, entity))
				continue;
			finding_add_role(draft, role, "%s", entity);
			told++;
		}
}

int pause_ladder(const struct pause_root *root)
{
	if (!root || root->n_direct + root->n_indirect <= 1)
		return 1;
	if (root->n_switches >= 3)
		return 3;
	return 2;
}

static const char *count_text(size_t n, const char *one, struct arena *a)
{
	return arena_printf(a, n == 1 ? "%zu %s" : "%zu %s%s", n, one,
		str_eq(one, "other switch") ? "es" : "s");
}

const char *pause_spread_text(const struct pause_root *root, struct arena *a)
{
	size_t switches = 0;
	if (root && root->n_switches > 1)
		switches = root->n_switches - 1;
	size_t hosts = 0;
	if (root)
		hosts = root->n_hosts;
	if (!switches && !hosts)
		return "";
	return arena_printf(a, "; because of it %s%s%s wait%s (L%d)",
		switches ? count_text(switches, "other switch", a) : "",
		str_if(switches && hosts, " and "), hosts ? count_text(hosts, "host", a) : "",
		str_if(switches + hosts == 1, "s"), pause_ladder(root));
}

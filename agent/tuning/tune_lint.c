/* tune_lint - judges sheets by analyzers/lint. */
#include "agent/tuning/tune_lint.h"

#include "agent/client/client.h"
#include "agent/history/window_walk.h"
#include "config/config.h"

/* Does a port of the canary lead over the same kind of link? */
static bool is_alike(const struct fabric_port *port, const struct fabric_device *from,
	const char *const *names, size_t n)
{
	for (size_t i = 0; from && i < n; i++) {
		const struct fabric_port *like = fabric_port(from, names[i]);
		if (like && !like->host == !port->host && like->cable_mm == port->cable_mm &&
			like->speed_bps == port->speed_bps)
			return true;
	}
	return false;
}

/* A change for some ports of the canary is, elsewhere, for those with the same kind of link. */
static void scopes_alike(const struct fabric_device *from, const struct fabric_device *to,
	struct arena *a, struct tune_sheet *sheet)
{
	struct tune_change *changes = arena_array(a, struct tune_change, sheet->n_changes + 1);
	size_t n = 0;
	for (size_t i = 0; i < sheet->n_changes; i++) {
		struct tune_change change = sheet->changes[i];
		const char *const *names = change.ports;
		const size_t n_names = change.n_ports;
		change.ports = arena_array(a, const char *, to->n_ports + 1);
		change.n_ports = 0;
		for (size_t k = 0; n_names && k < to->n_ports; k++)
			if (is_alike(to->ports[k], from, names, n_names))
				change.ports[change.n_ports++] = to->ports[k]->name;
		if (!n_names || change.n_ports)
			changes[n++] = change;
	}
	sheet->changes = changes;
	sheet->n_changes = n;
}

void tune_turn(const struct fabric *fabric, struct tune_sheet *sheet,
	const struct fabric_device *to, struct arena *a)
{
	const struct fabric_device *from = fabric_device(fabric, sheet->device);
	bool hosts = false, peers = false;
	for (size_t i = 0; from && i < sheet->n_ports; i++) {
		const struct fabric_port *port = fabric_port(from, sheet->ports[i]);
		hosts = hosts || (port && port->host);
		peers = peers || (port && port->peer);
	}
	const bool all = !hosts && !peers;
	sheet->ports = arena_array(a, const char *, to->n_ports + 1);
	sheet->n_ports = 0;
	for (size_t i = 0; i < to->n_ports; i++) {
		const struct fabric_port *port = to->ports[i];
		if (all || (hosts && port->host) || (peers && port->peer))
			sheet->ports[sheet->n_ports++] = port->name;
	}
	scopes_alike(from, to, a, sheet);
	sheet->device = to->name;
}

static size_t changes_on(const struct tune_sheet *sheet, struct lint_change *ret)
{
	size_t n = 0;
	for (size_t i = 0; i < sheet->n_changes; i++) {
		const struct tune_change *from = &sheet->changes[i];
		struct lint_change to = {.device = sheet->device,
			.ports = from->n_ports ? from->ports : sheet->ports,
			.n_ports = from->n_ports ? from->n_ports : sheet->n_ports,
			.priority = sheet->priority,
			.kmin_bytes = NAN,
			.alpha = NAN,
			.headroom_bytes = NAN};
		switch (from->knob) {
		case KNOB_KMIN: to.kmin_bytes = from->proposed; break;
		case KNOB_ALPHA: to.alpha = from->proposed; break;
		case KNOB_HEADROOM: to.headroom_bytes = from->proposed; break;
		default: continue;
		}
		ret[n++] = to;
	}
	return n;
}

size_t tune_lint_changes(const struct fabric *fabric, const struct tune_sheet *sheet,
	struct arena *a, struct lint_change **ret)
{
	*ret = arena_array(a, struct lint_change, (sheet->n_rest + 1) * sheet->n_changes + 1);
	size_t n = changes_on(sheet, *ret);
	for (size_t i = 0; i < sheet->n_rest; i++) {
		const struct fabric_device *device = fabric_device(fabric, sheet->rest[i]);
		struct tune_sheet turned = *sheet;
		if (!device)
			continue;
		tune_turn(fabric, &turned, device, a);
		n += changes_on(&turned, *ret + n);
	}
	return n;
}

int tune_lint_begin(struct client *client, struct arena *a, struct tune_lint *ret, struct err *e)
{
	*ret = (struct tune_lint){
		.in.graph = lint_graph_new(client->config->fabric, a), .before.arena = a};
	const int rc = state_observe(client, a, &ret->in.observed, e);
	if (rc == 0)
		lint_settings(&ret->in, &ret->before);
	return rc;
}

/* With a higher Kmin fewer queues that are busy at once are marked first, and the dose counts as
 * many as were congested (safety rule 3). That not even one is, is critical, and blocks. */
static void leave_order_to_dose(struct lint_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (str_eq(list->findings[i].check, "ecn_after_pfc") &&
			list->findings[i].severity == LINT_WARNING)
			list->findings[i].severity = LINT_INFO;
}

const char *tune_lint_against(
	const struct tune_lint *lint, const struct tune_sheet *sheet, struct arena *a)
{
	struct lint_settings_in in = lint->in;
	struct lint_list after = {.arena = a};
	struct lint_change *changes;
	in.n_changes = tune_lint_changes(in.graph->fabric, sheet, a, &changes);
	in.changes = changes;
	lint_settings(&in, &after);
	leave_order_to_dose(&after);
	const struct lint_finding *worse = lint_worsened(&lint->before, &after);
	if (!worse)
		return NULL;
	return arena_printf(a, "on %s%s%s %s (%s)", str_or(worse->device, "the fabric"),
		str_if(worse->port, ":"), str_or(worse->port, ""), worse->text, worse->check);
}

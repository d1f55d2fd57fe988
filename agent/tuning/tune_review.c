/* tune_review - makes records of sheets, texts for switches of records, and verifications of
 * changes. */
#include "agent/tuning/tune_review.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/client/client.h"
#include "agent/tuning/vendor_parts.h"
#include "agent/tuning/vendor_plan.h"
#include "agent/tuning/tune_read.h"
#include "agent/tuning/tune_json.h"
#include "agent/tuning/tune_readback.h"
#include "agent/tuning/tune_undo.h"
#include "analyzers/tune/tune.h"
#include "analyzers/tune/tune_evidence.h"
#include "config/config.h"
#include "db/model/entity.h"

/* How far back a rendering looks for the other settings in force. */
#define RENDER_SPAN_NS (600 * NS_PER_S)

static void tune_review_free_profiles(struct profiles **profiles)
{
	profiles_free(*profiles);
}

static int load_profiles(const struct client *client, struct profiles **ret, struct err *e)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	const int rc = profiles_load(client->config->profile_dir, ret, &errors);
	if (rc == 0)
		return 0;
	return err_set(
		e, -EINVAL, "%s", errors.n ? errors.v[0].text : "the profiles cannot be read");
}

/* ---- rendering ----------------------------------------------------------- */

static double in_force(const struct tune_prio *prio, enum tune_knob knob)
{
	const double values[TUNE_KNOBS] = {[KNOB_HEADROOM] = prio->headroom_bytes,
		[KNOB_XOFF_LEVEL] = prio->xoff_level,
		[KNOB_XON_LEVEL] = prio->xon_level,
		[KNOB_XON_OFFSET] = prio->xon_offset,
		[KNOB_ALPHA] = prio->alpha,
		[KNOB_KMIN] = prio->kmin,
		[KNOB_KMAX] = prio->kmax,
		[KNOB_PMAX] = prio->pmax,
		[KNOB_WEIGHT] = NAN};
	return values[knob];
}

static const struct tune_device *tune_review_device_of(
	const struct tune_history *history, const char *name)
{
	for (size_t k = 0; history->evidence && k < history->evidence->n_devices; k++)
		if (str_eq(history->evidence->devices[k].device->name, name))
			return &history->evidence->devices[k];
	return NULL;
}

static const struct tune_port *tune_review_port_of(
	const struct tune_device *device, const char *name)
{
	for (size_t k = 0; device && k < device->n_ports; k++)
		if (str_eq(device->ports[k].port->name, name))
			return &device->ports[k];
	return NULL;
}

static struct render_port render_port_of(
	const char *name, const struct fabric_port *declared, const struct tune_port *seen)
{
	struct render_port port = {.name = name, .cable_m = NAN, .cable_now_m = NAN};
	if (seen) {
		port.cable_now_m = seen->cable_m;
		if (seen->speed_bps > 0)
			port.speed_bps = (uint64_t)seen->speed_bps;
	}
	if (declared && declared->cable_mm)
		port.cable_m = (double)declared->cable_mm / 1e3;
	if (declared && declared->speed_bps)
		port.speed_bps = declared->speed_bps;
	return port;
}

/* Settings of @port that are in force, as far as no port before told them. */
static void add_in_force(const struct tune_history *history, const struct fabric_port *port,
	int priority, struct render_ctx *ctx)
{
	const struct tune_prio *prio = NULL;
	if (port && history->evidence)
		prio = tune_prio_at(history->evidence, port, priority);
	for (int k = 0; prio && k < TUNE_KNOBS; k++)
		if (isnan(ctx->in_force[k]))
			ctx->in_force[k] = in_force(prio, (enum tune_knob)k);
}

/* What a rendering reads beside the sheet. @history may be without evidence: then only names are
 * known. */
static void context_of(const struct client *client, const struct profiles *profiles,
	const struct tune_history *history, const struct tune_sheet *sheet, struct arena *a,
	struct render_ctx *ctx)
{
	const struct fabric_device *declared = fabric_device(client->config->fabric, sheet->device);
	const struct tune_device *seen = tune_review_device_of(history, sheet->device);
	struct render_port *ports = arena_array(a, struct render_port, sheet->n_ports + 1);
	*ctx = (struct render_ctx){.profiles = profiles,
		.device = sheet->device,
		.ports = ports,
		.n_ports = sheet->n_ports,
		.queue = -1,
		.cell_bytes = NAN,
		.queue_limit_bytes = NAN,
		.arena = a};
	/* 1. The kind of switch. */
	if (declared && history->profiles) {
		ctx->platform = history->profiles[declared->index];
		ctx->description = history->descriptions[declared->index];
	}
	if (seen)
		ctx->cell_bytes = seen->cell_bytes;
	/* 2. Its ports, and the settings that the sheet does not change. */
	for (int k = 0; k < TUNE_KNOBS; k++)
		ctx->in_force[k] = NAN;
	for (size_t i = 0; i < sheet->n_ports; i++) {
		const char *name = sheet->ports[i];
		const struct fabric_port *port = NULL;
		if (declared)
			port = fabric_port(declared, name);
		ports[i] = render_port_of(name, port, tune_review_port_of(seen, name));
		add_in_force(history, port, sheet->priority, ctx);
	}
	/* 3. What its objects are called. */
	render_names(ctx, client->config, sheet->device);
	/* 4. What a queue may hold: alpha B / (1 + alpha) (Choudhury and Hahne, 1998). */
	const double alpha = ctx->in_force[KNOB_ALPHA];
	if (seen && seen->pool_bytes > 0 && alpha > 0)
		ctx->queue_limit_bytes = alpha * seen->pool_bytes / (1 + alpha);
}

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

/* Turns the sheet to another switch: to the ports that lead to hosts, or to switches, as those of
 * the canary do. */
static void ports_alike(const struct fabric *fabric, struct tune_sheet *sheet,
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

static int choose_device(const struct client *client, const struct tune_record *record,
	const char *device, struct tune_sheet *sheet, struct arena *a, struct err *e)
{
	if (!device || str_eq(device, record->sheet.device))
		return 0;
	const struct fabric_device *d = fabric_device(client->config->fabric, device);
	for (size_t k = 0; d && k < record->sheet.n_rest; k++) {
		if (str_eq(record->sheet.rest[k], device)) {
			ports_alike(client->config->fabric, sheet, d, a);
			return 0;
		}
	}
	return err_set(e, -EINVAL,
		"--device: '%.64s' is not a switch of this sheet; expected %s, or one of the %zu "
		"that follow it",
		device, record->sheet.device, record->sheet.n_rest);
}

/* All parts of the sheet, those that come first first; undone in the other order. 0 when any can be
 * written. */
static int render_parts(const struct client *client, const struct profiles *profiles,
	const struct tune_history *history, const struct tune_sheet *sheet, const char *canary,
	const char *vendor, bool undo, struct arena *a, const char **ret)
{
	struct tune_sheet *parts;
	const size_t n = vendor_parts(sheet, a, &parts);
	int rc = -ENOTSUP;
	*ret = "";
	for (size_t i = 0; i < n; i++) {
		struct tune_sheet *part = &parts[undo ? n - 1 - i : i];
		struct render_ctx ctx;
		const char *text = NULL;
		context_of(client, profiles, history, part, a, &ctx);
		ctx.device = part->device;
		part->device = canary; /* whose turn is first is said in the text */
		if (render_device(part, &ctx, vendor, undo, &text) == 0)
			rc = 0;
		*ret = arena_printf(a, "%s%s%s", *ret, str_if(i, "\n"), str_or(text, ""));
	}
	return rc;
}

int tune_render(struct client *client, const struct tune_record *record, const char *device,
	const char *vendor, bool undo, struct arena *a, const char **ret, struct err *e)
{
	rw_cleanup(tune_review_free_profiles) struct profiles *profiles = NULL;
	struct tune_sheet s;
	struct tune_history h = {0};
	struct err ignored = {0};
	int rc = load_profiles(client, &profiles, e);
	if (rc != 0)
		return rc;
	if (vendor && !render_knows(profiles, vendor))
		return err_set(e, -EINVAL,
			"--vendor: no profile has words for '%.40s'; known are %s", vendor,
			render_syntaxes(profiles, a));
	s = record->sheet;
	const char *canary = s.device;
	rc = choose_device(client, record, device, &s, a, e);
	if (rc != 0)
		return rc;
	/* without it names stand for what is not known */
	(void)tune_read_history(client, profiles, record->sheet.to_ns - RENDER_SPAN_NS,
		record->sheet.to_ns, a, &h, &ignored);
	rc = render_parts(client, profiles, &h, &s, canary, vendor, undo, a, ret);
	if (rc == 0)
		return 0;
	if (**ret)
		return err_set(e, rc, "%s", *ret);
	return err_set(e, rc, "nothing of it can be written for this switch");
}

/* ---- review -------------------------------------------------------------- */

static bool port_wanted(
	const struct tune_filter *filter, const struct fabric_device *device, const char *name)
{
	const struct fabric_port *port = fabric_port(device, name);
	const char *alias = "", *peer = "";
	if (port)
		alias = port->alias;
	if (port && port->peer)
		peer = port->peer->device->name;
	const bool named = !filter->port || str_glob(filter->port, name) ||
		(*alias && str_glob(filter->port, alias));
	const bool leads_there = !filter->uplinks || (*peer && str_glob(filter->uplinks, peer));
	return named && leads_there;
}

static bool has_port(const struct tune_sheet *sheet, const struct tune_filter *filter,
	const struct fabric *fabric)
{
	const struct fabric_device *device = NULL;
	if (!filter->port && !filter->uplinks)
		return true;
	if (sheet->device)
		device = fabric_device(fabric, sheet->device);
	for (size_t i = 0; device && i < sheet->n_ports; i++)
		if (port_wanted(filter, device, sheet->ports[i]))
			return true;
	return false;
}

static bool has_device(const struct tune_sheet *sheet, const char *glob)
{
	if (!glob || (sheet->device && str_glob(glob, sheet->device)))
		return true;
	for (size_t i = 0; i < sheet->n_rest; i++)
		if (str_glob(glob, sheet->rest[i]))
			return true;
	return false;
}

static bool tune_review_wanted(const struct tune_sheet *sheet, const struct tune_filter *filter,
	const struct fabric *fabric)
{
	if (filter->priority != PRIO_NONE && sheet->priority != filter->priority)
		return false;
	return has_device(sheet, filter->device) && has_port(sheet, filter, fabric);
}

/* What vendors would type, beside the sheet. */
static void render_into(const struct client *client, const struct profiles *profiles,
	const struct tune_history *history, struct arena *a, struct tune_record *record)
{
	const struct tune_sheet *sheet = &record->sheet;
	if (sheet->advice != ADVICE_CHANGE && sheet->n_changes == 0) {
		record->vendor.apply = render_nothing(profiles);
		record->vendor.undo = render_nothing(profiles);
		return;
	}
	struct tune_sheet *parts;
	const size_t n = vendor_parts(sheet, a, &parts);
	json_t *apply = NULL, *undo = NULL, *notes = NULL;
	for (size_t i = 0; i < n; i++) {
		struct render_ctx ctx, last;
		context_of(client, profiles, history, &parts[i], a, &ctx);
		context_of(client, profiles, history, &parts[n - 1 - i], a, &last);
		apply = vendor_parts_join(apply, render_apply(&parts[i], &ctx));
		undo = vendor_parts_join(undo, render_undo(&parts[n - 1 - i], &last));
		notes = vendor_parts_join(notes, render_notes(&parts[i], &ctx));
	}
	record->vendor.apply = apply;
	record->vendor.undo = undo;
	record->vendor.notes = notes;
}

static void platform_into(
	const struct client *client, const struct tune_history *history, struct tune_record *record)
{
	const struct fabric_device *device = NULL;
	if (record->sheet.device)
		device = fabric_device(client->config->fabric, record->sheet.device);
	if (!device || !history->platforms)
		return;
	const struct tune_platform *platform = &history->platforms[device->index];
	record->platform_known = true;
	record->platform = platform->name;
	record->version = platform->version;
	if (platform->profile)
		record->syntax = platform->profile->syntax;
}

static struct tune_record *record_of(const struct client *client, const struct profiles *profiles,
	const struct tune_history *history, const struct tune_ledger *ledger,
	const struct tune_sheet *sheet, struct arena *a)
{
	struct tune_record borrowed = {.sheet = *sheet, .state = TUNE_UNRECORDED};
	const struct tune_record *kept = tune_ledger_find(ledger, sheet->id);
	if (kept)
		borrowed.state = kept->state;
	platform_into(client, history, &borrowed);
	render_into(client, profiles, history, a, &borrowed);
	struct tune_record *record = tune_record_copy(&borrowed);
	json_decref(borrowed.vendor.apply);
	json_decref(borrowed.vendor.undo);
	json_decref(borrowed.vendor.notes);
	return record;
}

void tune_reviewed_done(struct tune_reviewed *reviewed)
{
	for (size_t i = 0; i < reviewed->n; i++)
		tune_record_free(reviewed->v[i]);
	free(reviewed->v);
	free(reviewed->reason);
	*reviewed = (struct tune_reviewed){0};
}

static int review_history(struct client *client, const struct tune_filter *filter,
	const struct tune_history *history, struct arena *a, struct tune_list *ret, struct err *e)
{
	const struct tune_in in = {.fabric = client->config->fabric,
		.evidence = history->evidence,
		.platforms = history->platforms,
		.incidents = history->incidents,
		.n_incidents = history->n_incidents,
		.past = history->past,
		.n_past = history->n_past,
		.now_ns = client->to_ns,
		.arena = a,
		.options = {.min_evidence_ns = client->config->tuning.min_evidence_ns,
			.min_coverage = client->config->tuning.min_coverage,
			.allow_reduce = filter->allow_reduce,
			.rtt_ns = client->config->tuning.base_rtt_ns,
			.max_pmax = client->config->tuning.max_pmax}};
	const int rc = tune_review(&in, ret);
	if (rc == 0)
		return 0;
	return err_set(e, rc, "this range cannot be reviewed: %s", strerror(-rc));
}

int tune_review_records(struct client *client, const struct tune_filter *filter,
	const struct tune_ledger *ledger, struct tune_reviewed *ret, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	rw_cleanup(tune_review_free_profiles) struct profiles *profiles = NULL;
	struct tune_history history;
	struct tune_list list = {0};
	*ret = (struct tune_reviewed){0};
	int rc = load_profiles(client, &profiles, e);
	if (rc == 0)
		rc = tune_read_history(
			client, profiles, client->from_ns, client->to_ns, a, &history, e);
	if (rc != 0)
		return rc;
	tune_read_past(ledger, a, &history);
	rc = review_history(client, filter, &history, a, &list, e);
	if (rc != 0)
		return rc;
	tune_undo_first(client, ledger, &history, a, &list);
	ret->v = rw_calloc(list.n + 1, sizeof(struct tune_record *));
	for (size_t i = 0; i < list.n; i++) {
		if (!tune_review_wanted(&list.v[i], filter, client->config->fabric))
			continue;
		ret->v[ret->n++] = record_of(client, profiles, &history, ledger, &list.v[i], a);
	}
	return 0;
}

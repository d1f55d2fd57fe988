/* tune_sheets - see tune_sheets.h. */
#include "agent/tuning/tune_review.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/client/client.h"
#include "agent/tuning/vendor_plan.h"
#include "agent/tuning/tune_read.h"
#include "agent/tuning/tune_json.h"
#include "analyzers/tune/tune.h"
#include "analyzers/tune/tune_evidence.h"
#include "config/config.h"
#include "db/model/entity.h"

#define RENDER_SPAN_NS                                                                             \
	(600 * NS_PER_S) /* looked at for what else is in force where a sheet is rendered anew */
#define COMPARE_SPAN_NS (24 * 3600 * NS_PER_S)
#define COMPARE_LEAST_NS (3600 * NS_PER_S)

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

static double in_force(const struct tune_lane *lane, enum tune_knob knob)
{
	const double values[TUNE_KNOBS] = {[KNOB_HEADROOM] = lane->headroom_bytes,
		[KNOB_XOFF_LEVEL] = lane->xoff_level,
		[KNOB_XON_LEVEL] = lane->xon_level,
		[KNOB_XON_OFFSET] = lane->xon_offset,
		[KNOB_ALPHA] = lane->alpha,
		[KNOB_KMIN] = lane->kmin,
		[KNOB_KMAX] = lane->kmax,
		[KNOB_PMAX] = lane->pmax,
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

/* What a rendering reads beside the sheet; @history may be without evidence: then only names are
 * known.
 */
static void context_of(const struct client *client, const struct profiles *profiles,
	const struct tune_history *history, const struct tune_sheet *sheet, struct arena *a,
	struct render_ctx *ctx)
{
	const struct fabric_device *fd = fabric_device(client->config->fabric, sheet->device);
	const struct tune_device *d = tune_review_device_of(history, sheet->device);
	struct render_port *ports = arena_array(a, struct render_port, sheet->n_ports + 1);
	*ctx = (struct render_ctx){.profiles = profiles,
		.device = sheet->device,
		.ports = ports,
		.n_ports = sheet->n_ports,
		.queue = -1,
		.cell_bytes = d ? d->cell_bytes : NAN,
		.queue_limit_bytes = NAN,
		.arena = a};
	if (fd && history->profiles) {
		ctx->platform = history->profiles[fd->index];
		ctx->description = history->descriptions[fd->index];
	}
	for (int k = 0; k < TUNE_KNOBS; k++)
		ctx->in_force[k] = NAN;
	for (size_t k = 0; k < sheet->n_ports; k++) {
		const struct tune_port *t = tune_review_port_of(d, sheet->ports[k]);
		const struct fabric_port *f = NULL;
		if (fd)
			f = fabric_port(fd, sheet->ports[k]);
		ports[k] = (struct render_port){.name = sheet->ports[k],
			.cable_m = f && f->cable_mm ? (double)f->cable_mm / 1e3 : NAN,
			.cable_now_m = t ? t->cable_m : NAN,
			.speed_bps = f && f->speed_bps  ? f->speed_bps
				: t && t->speed_bps > 0 ? (uint64_t)t->speed_bps
							: 0};
		const struct tune_lane *l = NULL;
		if (f && history->evidence)
			l = tune_lane_at(history->evidence, f, sheet->priority);
		for (int i = 0; l && i < TUNE_KNOBS; i++)
			if (isnan(ctx->in_force[i]))
				ctx->in_force[i] = in_force(l, (enum tune_knob)i);
	}
	render_names(ctx, client->config, sheet->device);
	if (d && d->pool_bytes > 0 && ctx->in_force[KNOB_ALPHA] > 0)
		ctx->queue_limit_bytes =
			ctx->in_force[KNOB_ALPHA] * d->pool_bytes / (1 + ctx->in_force[KNOB_ALPHA]);
}

/* Ports of another switch that are to it what the canary's are: by where they lead. */
static void ports_alike(const struct fabric *fabric, struct tune_sheet *sheet,
	const struct fabric_device *to, struct arena *a)
{
	const struct fabric_device *from = fabric_device(fabric, sheet->device);
	bool hosts = false, peers = false;
	for (size_t k = 0; from && k < sheet->n_ports; k++) {
		const struct fabric_port *p = fabric_port(from, sheet->ports[k]);
		hosts = hosts || (p && p->host);
		peers = peers || (p && p->peer);
	}
	sheet->ports = arena_array(a, const char *, to->n_ports + 1);
	sheet->n_ports = 0;
	for (size_t k = 0; k < to->n_ports; k++)
		if ((hosts && to->ports[k]->host) || (peers && to->ports[k]->peer) ||
			(!hosts && !peers))
			sheet->ports[sheet->n_ports++] = to->ports[k]->name;
	sheet->device = to->name;
}

static int choose_device(const struct client *client, const struct tune_record *record,
	const char *device, struct tune_sheet *sheet, struct arena *a, struct err *e)
{
	if (!device || str_eq(device, record->device))
		return 0;
	const struct fabric_device *d = fabric_device(client->config->fabric, device);
	for (size_t k = 0; d && k < record->n_rest; k++) {
		if (str_eq(record->rest[k], device)) {
			ports_alike(client->config->fabric, sheet, d, a);
			return 0;
		}
	}
	return err_set(e, -EINVAL,
		"--device: read '%.64s', expected %s, which the sheet begins with, or one of the "
		"%zu that follow",
		device, record->device, record->n_rest);
}

int tune_render(struct client *client, const struct tune_record *record, const char *device,
	const char *vendor, bool undo, struct arena *a, const char **ret, struct err *e)
{
	rw_cleanup(tune_review_free_profiles) struct profiles *profiles = NULL;
	struct tune_sheet s;
	struct tune_history h = {0};
	struct render_ctx c;
	struct err ignored = {0};
	int rc = load_profiles(client, &profiles, e);
	if (rc != 0)
		return rc;
	if (tune_sheet_parse(record->json, a, &s) != 0)
		return err_set(e, -EIO, "the stored sheet %s cannot be read", record->id);
	const char *canary = s.device;
	rc = choose_device(client, record, device, &s, a, e);
	if (rc != 0)
		return rc;
	/* without it names stand for what is not known */
	(void)tune_history_read(
		client, profiles, record->to_ns - RENDER_SPAN_NS, record->to_ns, a, &h, &ignored);
	context_of(client, profiles, &h, &s, a, &c);
	c.device = s.device;
	s.device = canary; /* whose turn is first is said in the text */
	const char *text = NULL;
	rc = render_device(&s, &c, vendor, undo, &text);
	if (text && *text)
		*ret = text;
	else
		*ret = "";
	if (rc == 0)
		return 0;
	return err_set(
		e, rc, "%s", text && *text ? text : "nothing of it can be written for this switch");
}

/* ---- review -------------------------------------------------------------- */

static bool has_port(const struct tune_sheet *sheet, const struct tune_filter *filter,
	const struct fabric *fabric)
{
	const struct fabric_device *d = NULL;
	if (sheet->device)
		d = fabric_device(fabric, sheet->device);
	if (!filter->port && !filter->uplinks)
		return true;
	for (size_t k = 0; d && k < sheet->n_ports; k++) {
		const struct fabric_port *p = fabric_port(d, sheet->ports[k]);
		const bool named = !filter->port || str_glob(filter->port, sheet->ports[k]) ||
			(p && *p->alias && str_glob(filter->port, p->alias));
		if (named &&
			(!filter->uplinks ||
				(p && p->peer && str_glob(filter->uplinks, p->peer->device->name))))
			return true;
	}
	return false;
}

static bool tune_review_wanted(const struct tune_sheet *sheet, const struct tune_filter *filter,
	const struct fabric *fabric)
{
	bool device = !filter->device || (sheet->device && str_glob(filter->device, sheet->device));
	for (size_t k = 0; k < sheet->n_rest && !device; k++)
		device = str_glob(filter->device, sheet->rest[k]);
	return device && (filter->priority == PRIO_NONE || sheet->priority == filter->priority) &&
		has_port(sheet, filter, fabric);
}

static json_t *document_of(const struct client *client, const struct profiles *profiles,
	const struct tune_history *history, const struct tune_sheet *sheet, struct arena *a)
{
	const struct fabric_device *d = NULL;
	if (sheet->device)
		d = fabric_device(client->config->fabric, sheet->device);
	const struct tune_platform *platform = NULL;
	if (d && history->platforms)
		platform = &history->platforms[d->index];
	struct render_ctx c;
	if (sheet->advice != ADVICE_CHANGE && sheet->n_changes == 0)
		return tune_sheet_json(sheet, platform, NULL, NULL, NULL);
	context_of(client, profiles, history, sheet, a, &c);
	return tune_sheet_json(sheet, platform, render_apply(sheet, &c), render_undo(sheet, &c),
		render_notes(sheet, &c));
}

static void take_states(const struct tune_ledger *ledger, json_t *sheets)
{
	json_t *s;
	size_t k;
	json_array_foreach (sheets, k, s) {
		const struct tune_record *r =
			tune_ledger_find(ledger, json_string_value(json_object_get(s, "id")));
		if (r)
			json_object_set_new(s, "state", json_string(tune_state_name(r->state)));
	}
}

int tune_sheets(struct client *client, const struct tune_filter *filter,
	const struct tune_ledger *ledger, json_t **ret, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	rw_cleanup(tune_review_free_profiles) struct profiles *profiles = NULL;
	struct tune_history h;
	struct tune_list list = {0};
	int rc = load_profiles(client, &profiles, e);
	if (rc == 0)
		rc = tune_history_read(client, profiles, client->from_ns, client->to_ns, a, &h, e);
	if (rc != 0)
		return rc;
	tune_history_past(ledger, a, &h);
	const struct tune_in in = {.fabric = client->config->fabric,
		.evidence = h.evidence,
		.platforms = h.platforms,
		.incidents = h.incidents,
		.n_incidents = h.n_incidents,
		.past = h.past,
		.n_past = h.n_past,
		.now_ns = client->to_ns,
		.arena = a,
		.options = {.min_evidence_ns = client->config->tuning.min_evidence_ns,
			.min_coverage = client->config->tuning.min_coverage,
			.allow_reduce = filter->allow_reduce,
			.rtt_ns = client->config->tuning.base_rtt_ns,
			.max_pmax = client->config->tuning.max_pmax}};
	rc = tune_review(&in, &list);
	if (rc != 0)
		return err_set(e, rc, "the stretch asked for cannot be judged: %s", strerror(-rc));
	*ret = json_array();
	for (size_t k = 0; k < list.n; k++)
		if (tune_review_wanted(&list.v[k], filter, client->config->fabric))
			json_array_append_new(
				*ret, document_of(client, profiles, &h, &list.v[k], a));
	take_states(ledger, *ret);
	return 0;
}

/* ---- verification -------------------------------------------------------- */

/* When it came into force: as the ledger knows, else as it was read back. before: the end of what
 * was before. */
static int find_change(struct client *client, const struct tune_record *record, struct arena *a,
	int64_t *ret_before_ns, int64_t *ret_applied_ns, struct err *e)
{
	struct tune_read read;
	const int rc = tune_history_read_back(client, record, client->to_ns, a, &read, e);
	if (rc != 0)
		return rc;
	*ret_applied_ns = record->applied_ns;
	if (*ret_applied_ns == 0 && read.reading == TUNE_READ_PROPOSED &&
		record->state == TUNE_ACCEPTED)
		*ret_applied_ns = read.since_ns;
	if (*ret_applied_ns == 0)
		return err_set(e, -ENODATA,
			"%s is %s, and %s; 'tune applied %s --at TIME' tells when it was put in "
			"force",
			record->id, tune_state_name(record->state),
			read.reading == TUNE_READ_NOTHING ? "its thresholds cannot be read back"
				: read.reading == TUNE_READ_MIXED
				? "only some of its values were read back"
				: read.reading == TUNE_READ_OTHER ? read.text
				: read.reading == TUNE_READ_PROPOSED
				? "its values are in force without having been accepted"
				: "the values of before are in force",
			record->id);
	if (read.reading == TUNE_READ_PROPOSED && read.before_ns > record->to_ns &&
		read.before_ns < *ret_applied_ns)
		*ret_before_ns = read.before_ns;
	else
		*ret_before_ns = *ret_applied_ns;
	return 0;
}

/* Since when the values of before had been in force: what was measured under others is no
 * comparison. */
static int64_t before_since(struct client *client, const struct tune_record *record,
	int64_t from_ns, int64_t applied_ns, struct arena *a)
{
	struct tune_read read;
	struct err ignored = {0};
	if (tune_history_read_range(client, record, from_ns, applied_ns - 1, a, &read, &ignored) !=
			0 ||
		read.reading != TUNE_READ_CURRENT || read.before_ns == INT64_MIN)
		return from_ns;
	if (read.since_ns > from_ns)
		return read.since_ns;
	return from_ns;
}

static int64_t no_later(int64_t left, int64_t right)
{
	if (left < right)
		return left;
	return right;
}

int tune_verify_record(struct client *client, const struct tune_record *record,
	struct tune_verify_ask *ask, struct arena *a, json_t **ret, struct err *e)
{
	int64_t before_to = 0;
	struct tune_comparison c;
	struct verify_result result;
	int rc = find_change(client, record, a, &before_to, &ask->applied_ns, e);
	if (rc != 0)
		return rc;
	/* as far as the sheet looked, at least an hour, at most a day */
	int64_t before_from = no_later(record->from_ns, ask->applied_ns - COMPARE_LEAST_NS);
	if (ask->before_ns || before_from < ask->applied_ns - COMPARE_SPAN_NS)
		before_from = ask->applied_ns - (ask->before_ns ? ask->before_ns : COMPARE_SPAN_NS);
	before_from = before_since(client, record, before_from, ask->applied_ns, a);
	int64_t after_to = no_later(
		ask->applied_ns + (ask->after_ns ? ask->after_ns : COMPARE_SPAN_NS), client->to_ns);
	rc = tune_history_compare(client, record, before_from, after_to, 0, a, &c, e);
	if (rc != 0)
		return rc;
	size_t n_before = 0, after = c.n_windows;
	while (n_before < c.n_windows && c.windows[n_before].to_ns <= before_to)
		n_before++;
	while (after > 0 && c.windows[after - 1].from_ns >= ask->applied_ns)
		after--;
	if (after < c.n_windows) /* senders need a moment to hear of it */
		after++;
	const struct verify_in in = {.before = c.windows,
		.n_before = n_before,
		.after = c.windows + after,
		.n_after = c.n_windows - after,
		.n_ports = c.n_ports,
		.match = ask->match,
		.arena = a};
	tune_verify(&in, &result);
	const struct tune_verified v = {.id = record->id,
		.match = ask->match,
		.window_ns = c.window_ns,
		.ports = c.ports,
		.result = &result,
		.before_from_ns = n_before ? c.windows[0].from_ns : before_from,
		.before_to_ns = n_before ? c.windows[n_before - 1].to_ns : before_to,
		.after_from_ns = after < c.n_windows ? c.windows[after].from_ns : ask->applied_ns,
		.after_to_ns = after < c.n_windows ? c.windows[c.n_windows - 1].to_ns : after_to};
	*ret = tune_verified_json(&v);
	return 0;
}

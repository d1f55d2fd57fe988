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

static void free_profiles(struct profiles **p)
{
	profiles_free(*p);
}

static int load_profiles(const struct client *x, struct profiles **ret, struct err *e)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	const int rc = profiles_load(x->config->profile_dir, ret, &errors);
	return rc == 0 ? 0
		       : err_set(e, -EINVAL, "%s",
				 errors.n ? errors.v[0].text : "the profiles cannot be read");
}

/* ---- rendering ----------------------------------------------------------- */

static double in_force(const struct tune_lane *l, enum tune_knob k)
{
	const double values[TUNE_KNOBS] = {[KNOB_HEADROOM] = l->headroom_bytes,
		[KNOB_XOFF_LEVEL] = l->xoff_level,
		[KNOB_XON_LEVEL] = l->xon_level,
		[KNOB_XON_OFFSET] = l->xon_offset,
		[KNOB_ALPHA] = l->alpha,
		[KNOB_KMIN] = l->kmin,
		[KNOB_KMAX] = l->kmax,
		[KNOB_PMAX] = l->pmax,
		[KNOB_WEIGHT] = NAN};
	return values[k];
}

static const struct tune_device *device_of(const struct tune_history *h, const char *name)
{
	for (size_t k = 0; h->evidence && k < h->evidence->n_devices; k++)
		if (str_eq(h->evidence->devices[k].device->name, name))
			return &h->evidence->devices[k];
	return NULL;
}

static const struct tune_port *port_of(const struct tune_device *d, const char *name)
{
	for (size_t k = 0; d && k < d->n_ports; k++)
		if (str_eq(d->ports[k].port->name, name))
			return &d->ports[k];
	return NULL;
}

/* What a rendering reads beside the sheet; @h may be without evidence: then only names are known.
 */
static void context_of(const struct client *x, const struct profiles *profiles,
	const struct tune_history *h, const struct tune_sheet *s, struct arena *a,
	struct render_ctx *c)
{
	const struct fabric_device *fd = fabric_device(x->config->fabric, s->device);
	const struct tune_device *d = device_of(h, s->device);
	struct render_port *ports = arena_array(a, struct render_port, s->n_ports + 1);
	*c = (struct render_ctx){.profiles = profiles,
		.device = s->device,
		.ports = ports,
		.n_ports = s->n_ports,
		.queue = -1,
		.cell_bytes = d ? d->cell_bytes : NAN,
		.queue_limit_bytes = NAN,
		.arena = a};
	if (fd && h->profiles) {
		c->platform = h->profiles[fd->index];
		c->description = h->descriptions[fd->index];
	}
	for (int k = 0; k < TUNE_KNOBS; k++)
		c->in_force[k] = NAN;
	for (size_t k = 0; k < s->n_ports; k++) {
		const struct tune_port *t = port_of(d, s->ports[k]);
		const struct fabric_port *f = fd ? fabric_port(fd, s->ports[k]) : NULL;
		ports[k] = (struct render_port){.name = s->ports[k],
			.cable_m = f && f->cable_mm ? (double)f->cable_mm / 1e3 : NAN,
			.cable_now_m = t ? t->cable_m : NAN,
			.speed_bps = f && f->speed_bps  ? f->speed_bps
				: t && t->speed_bps > 0 ? (uint64_t)t->speed_bps
							: 0};
		const struct tune_lane *l =
			f && h->evidence ? tune_lane_at(h->evidence, f, s->priority) : NULL;
		for (int i = 0; l && i < TUNE_KNOBS; i++)
			if (isnan(c->in_force[i]))
				c->in_force[i] = in_force(l, (enum tune_knob)i);
	}
	render_names(c, x->config, s->device);
	if (d && d->pool_bytes > 0 && c->in_force[KNOB_ALPHA] > 0)
		c->queue_limit_bytes =
			c->in_force[KNOB_ALPHA] * d->pool_bytes / (1 + c->in_force[KNOB_ALPHA]);
}

/* Ports of another switch that are to it what the canary's are: by where they lead. */
static void ports_alike(const struct fabric *f, struct tune_sheet *s,
	const struct fabric_device *to, struct arena *a)
{
	const struct fabric_device *from = fabric_device(f, s->device);
	bool hosts = false, peers = false;
	for (size_t k = 0; from && k < s->n_ports; k++) {
		const struct fabric_port *p = fabric_port(from, s->ports[k]);
		hosts = hosts || (p && p->host);
		peers = peers || (p && p->peer);
	}
	s->ports = arena_array(a, const char *, to->n_ports + 1);
	s->n_ports = 0;
	for (size_t k = 0; k < to->n_ports; k++)
		if ((hosts && to->ports[k]->host) || (peers && to->ports[k]->peer) ||
			(!hosts && !peers))
			s->ports[s->n_ports++] = to->ports[k]->name;
	s->device = to->name;
}

static int choose_device(const struct client *x, const struct tune_record *r, const char *device,
	struct tune_sheet *s, struct arena *a, struct err *e)
{
	if (!device || str_eq(device, r->device))
		return 0;
	const struct fabric_device *d = fabric_device(x->config->fabric, device);
	for (size_t k = 0; d && k < r->n_rest; k++) {
		if (str_eq(r->rest[k], device)) {
			ports_alike(x->config->fabric, s, d, a);
			return 0;
		}
	}
	return err_set(e, -EINVAL,
		"--device: read '%.64s', expected %s, which the sheet begins with, or one of the "
		"%zu that follow",
		device, r->device, r->n_rest);
}

int tune_render(struct client *x, const struct tune_record *r, const char *device,
	const char *vendor, bool undo, struct arena *a, const char **ret, struct err *e)
{
	rw_cleanup(free_profiles) struct profiles *profiles = NULL;
	struct tune_sheet s;
	struct tune_history h = {0};
	struct render_ctx c;
	struct err ignored = {0};
	int rc = load_profiles(x, &profiles, e);
	if (rc != 0)
		return rc;
	if (tune_sheet_parse(r->json, a, &s) != 0)
		return err_set(e, -EIO, "the stored sheet %s cannot be read", r->id);
	const char *canary = s.device;
	rc = choose_device(x, r, device, &s, a, e);
	if (rc != 0)
		return rc;
	/* without it names stand for what is not known */
	(void)tune_history_read(x, profiles, r->to_ns - RENDER_SPAN_NS, r->to_ns, a, &h, &ignored);
	context_of(x, profiles, &h, &s, a, &c);
	c.device = s.device;
	s.device = canary; /* whose turn is first is said in the text */
	const char *text = NULL;
	rc = render_device(&s, &c, vendor, undo, &text);
	*ret = text && *text ? text : "";
	return rc == 0
		? 0
		: err_set(e, rc, "%s",
			  text && *text ? text : "nothing of it can be written for this switch");
}

/* ---- review -------------------------------------------------------------- */

static bool has_port(
	const struct tune_sheet *s, const struct tune_filter *f, const struct fabric *fabric)
{
	const struct fabric_device *d = s->device ? fabric_device(fabric, s->device) : NULL;
	if (!f->port && !f->uplinks)
		return true;
	for (size_t k = 0; d && k < s->n_ports; k++) {
		const struct fabric_port *p = fabric_port(d, s->ports[k]);
		const bool named = !f->port || str_glob(f->port, s->ports[k]) ||
			(p && *p->alias && str_glob(f->port, p->alias));
		if (named &&
			(!f->uplinks ||
				(p && p->peer && str_glob(f->uplinks, p->peer->device->name))))
			return true;
	}
	return false;
}

static bool wanted(
	const struct tune_sheet *s, const struct tune_filter *f, const struct fabric *fabric)
{
	bool device = !f->device || (s->device && str_glob(f->device, s->device));
	for (size_t k = 0; k < s->n_rest && !device; k++)
		device = str_glob(f->device, s->rest[k]);
	return device && (f->priority == PRIO_NONE || s->priority == f->priority) &&
		has_port(s, f, fabric);
}

static json_t *document_of(const struct client *x, const struct profiles *profiles,
	const struct tune_history *h, const struct tune_sheet *s, struct arena *a)
{
	const struct fabric_device *d =
		s->device ? fabric_device(x->config->fabric, s->device) : NULL;
	const struct tune_platform *platform = d && h->platforms ? &h->platforms[d->index] : NULL;
	struct render_ctx c;
	if (s->advice != ADVICE_CHANGE && s->n_changes == 0)
		return tune_sheet_json(s, platform, NULL, NULL, NULL);
	context_of(x, profiles, h, s, a, &c);
	return tune_sheet_json(
		s, platform, render_apply(s, &c), render_undo(s, &c), render_notes(s, &c));
}

static void take_states(const struct tune_ledger *l, json_t *sheets)
{
	json_t *s;
	size_t k;
	json_array_foreach (sheets, k, s) {
		const struct tune_record *r =
			tune_ledger_find(l, json_string_value(json_object_get(s, "id")));
		if (r)
			json_object_set_new(s, "state", json_string(tune_state_name(r->state)));
	}
}

int tune_sheets(struct client *x, const struct tune_filter *f, const struct tune_ledger *l,
	json_t **ret, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	rw_cleanup(free_profiles) struct profiles *profiles = NULL;
	struct tune_history h;
	struct tune_list list = {0};
	int rc = load_profiles(x, &profiles, e);
	if (rc == 0)
		rc = tune_history_read(x, profiles, x->from_ns, x->to_ns, a, &h, e);
	if (rc != 0)
		return rc;
	tune_history_past(l, a, &h);
	const struct tune_in in = {.fabric = x->config->fabric,
		.evidence = h.evidence,
		.platforms = h.platforms,
		.incidents = h.incidents,
		.n_incidents = h.n_incidents,
		.past = h.past,
		.n_past = h.n_past,
		.now_ns = x->to_ns,
		.arena = a,
		.options = {.min_evidence_ns = x->config->tuning.min_evidence_ns,
			.min_coverage = x->config->tuning.min_coverage,
			.allow_reduce = f->allow_reduce,
			.rtt_ns = x->config->tuning.base_rtt_ns,
			.max_pmax = x->config->tuning.max_pmax}};
	rc = tune_review(&in, &list);
	if (rc != 0)
		return err_set(e, rc, "the stretch asked for cannot be judged: %s", strerror(-rc));
	*ret = json_array();
	for (size_t k = 0; k < list.n; k++)
		if (wanted(&list.v[k], f, x->config->fabric))
			json_array_append_new(*ret, document_of(x, profiles, &h, &list.v[k], a));
	take_states(l, *ret);
	return 0;
}

/* ---- verification -------------------------------------------------------- */

/* When it came into force: as the ledger knows, else as it was read back. before: the end of what
 * was before. */
static int find_change(struct client *x, const struct tune_record *r, struct arena *a,
	int64_t *ret_before_ns, int64_t *ret_applied_ns, struct err *e)
{
	struct tune_read read;
	const int rc = tune_history_read_back(x, r, x->to_ns, a, &read, e);
	if (rc != 0)
		return rc;
	*ret_applied_ns = r->applied_ns;
	if (*ret_applied_ns == 0 && read.reading == TUNE_READ_PROPOSED && r->state == TUNE_ACCEPTED)
		*ret_applied_ns = read.since_ns;
	if (*ret_applied_ns == 0)
		return err_set(e, -ENODATA,
			"%s is %s, and %s; 'tune applied %s --at TIME' tells when it was put in "
			"force",
			r->id, tune_state_name(r->state),
			read.reading == TUNE_READ_NOTHING ? "its thresholds cannot be read back"
				: read.reading == TUNE_READ_MIXED
				? "only some of its values were read back"
				: read.reading == TUNE_READ_OTHER ? read.text
				: read.reading == TUNE_READ_PROPOSED
				? "its values are in force without having been accepted"
				: "the values of before are in force",
			r->id);
	*ret_before_ns = read.reading == TUNE_READ_PROPOSED && read.before_ns > r->to_ns &&
			read.before_ns < *ret_applied_ns
		? read.before_ns
		: *ret_applied_ns;
	return 0;
}

/* Since when the values of before had been in force: what was measured under others is no
 * comparison. */
static int64_t before_since(struct client *x, const struct tune_record *r, int64_t from_ns,
	int64_t applied_ns, struct arena *a)
{
	struct tune_read read;
	struct err ignored = {0};
	if (tune_history_read_range(x, r, from_ns, applied_ns - 1, a, &read, &ignored) != 0 ||
		read.reading != TUNE_READ_CURRENT || read.before_ns == INT64_MIN)
		return from_ns;
	return read.since_ns > from_ns ? read.since_ns : from_ns;
}

static int64_t no_later(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int tune_verify_record(struct client *x, const struct tune_record *r, struct tune_verify_ask *ask,
	struct arena *a, json_t **ret, struct err *e)
{
	int64_t before_to = 0;
	struct tune_comparison c;
	struct verify_result result;
	int rc = find_change(x, r, a, &before_to, &ask->applied_ns, e);
	if (rc != 0)
		return rc;
	/* as far as the sheet looked, at least an hour, at most a day */
	int64_t before_from = no_later(r->from_ns, ask->applied_ns - COMPARE_LEAST_NS);
	if (ask->before_ns || before_from < ask->applied_ns - COMPARE_SPAN_NS)
		before_from = ask->applied_ns - (ask->before_ns ? ask->before_ns : COMPARE_SPAN_NS);
	before_from = before_since(x, r, before_from, ask->applied_ns, a);
	int64_t after_to = no_later(
		ask->applied_ns + (ask->after_ns ? ask->after_ns : COMPARE_SPAN_NS), x->to_ns);
	rc = tune_history_compare(x, r, before_from, after_to, 0, a, &c, e);
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
	const struct tune_verified v = {.id = r->id,
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

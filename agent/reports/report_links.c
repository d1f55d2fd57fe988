/* report_links - links over a time range: down, flapping, slow, damaged, mismatched, and what
 * changed. */

#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/answers/alerts/alert_views.h"
#include "agent/answers/common/limits.h"
#include "agent/answers/links/answer.h"
#include "agent/reports/report.h"
#include "agent/answers/common/report_frame.h"
#include "agent/answers/incident/incident_list.h"
#include "agent/reports/report_shift.h"
#include "agent/answers/topology/topology_document.h"
#include "config/config.h"

static const enum cause links_causes[] = {CAUSE_LINK_SLOW, CAUSE_LINK_ERRORS, CAUSE_LINK_FLAP,
	CAUSE_OPTIC_DEGRADING, CAUSE_MISSING_RAIL, CAUSE_DEVICE_DOWN, CAUSE_PATH_ASYMMETRY,
	CAUSE_REMOTE_CAPACITY, CAUSE_MTU_MISMATCH, CAUSE_PFC_MISMATCH, CAUSE_RING_POSSIBLE,
	CAUSE_NONE};

/* ---- the audit -------------------------------------------------------------------------- */

/* How many hosts share the uplinks was decided when the fabric was built: it is shown, and no fault
 * of a link. */
static enum report_state links_audit_state(const struct topology_finding *finding)
{
	if (str_eq(finding->kind, cause_name(CAUSE_OVERSUBSCRIPTION)))
		return REPORT_OK;
	if (str_eq(finding->severity, "critical"))
		return REPORT_CRITICAL;
	if (str_eq(finding->severity, "warning"))
		return REPORT_WARNING;
	return REPORT_OK;
}

static void links_audit_problem(json_t *doc, const struct topology_finding *finding)
{
	rw_cleanup(str_done) struct str subject = {0};
	const enum report_state state = links_audit_state(finding);
	const char *port = str_or(finding->port, ""), *cause = finding->kind;
	str_addf(&subject, "%s%s%s", finding->device, str_if(*port, ":"), port);
	/* the speed below the declared one is told once, by the incident or by the port */
	if (str_eq(cause, "speed_declared"))
		cause = cause_name(CAUSE_LINK_SLOW);
	if (state != REPORT_OK && !report_is_told(doc, cause, subject.s))
		report_problem(doc, state, cause, subject.s,
			"%s: %s (no incident: settings are compared, no harm is measured)",
			str_or(subject.s, "fabric"), finding->text);
}

/* Of both ends of the links, what is in scope. */
static int links_audit(struct client *client, const struct report_ask *ask, struct arena *a,
	struct links_answer *answer, json_t *doc, struct err *e)
{
	struct topology_audit audit;
	const int rc = topology_audit_read(client, a, &audit, e);
	answer->audit = audit.findings;
	answer->checked = audit.checked;
	for (size_t i = 0; rc == 0 && i < audit.n_findings; i++) {
		if (!str_glob(ask->device, audit.findings[i].device))
			continue;
		links_audit_problem(doc, &audit.findings[i]);
		answer->audit[answer->n_audit++] = audit.findings[i];
	}
	return rc;
}

/* Links whose two ends were both known; what could not be compared is not called fine. */
static void links_audit_missing(json_t *doc, const struct topology_checked *checked)
{
	const struct {
		const char *title;
		uint64_t n;
	} known[] = {{"speed", checked->speed}, {"MTU", checked->mtu}, {"PFC", checked->pfc}};
	for (size_t i = 0; i < rw_countof(known); i++)
		if (known[i].n < checked->links)
			report_missing(doc,
				"%s of both ends was known for %" PRIu64 " of %" PRIu64
				" links between switches: the others are not compared",
				known[i].title, known[i].n, checked->links);
}

/* ---- rings of buffers ---------------------------------------------------------------------- */

/* Does the detector look for rings in this fabric (analyzers/detect/rings.c)? */
static bool links_rings_judged(const struct fabric *fabric)
{
	bool linked = false;
	for (size_t i = 0; i < fabric->n_devices; i++) {
		const struct fabric_device *device = fabric->devices[i];
		for (size_t p = 0; p < device->n_ports; p++) {
			if (device->ports[p]->outsider)
				return false;
			linked |= device->ports[p]->peer != NULL;
		}
	}
	return linked && fabric->lossless_mask != 0;
}

/* Until the end of the range, or until the ring that is possible there was found. */
static void links_rings(const struct client *client, const json_t *incidents,
	const struct range_plan *plan, struct links_answer *answer)
{
	const int64_t since_ns = report_incidents_open_since(incidents, CAUSE_RING_POSSIBLE);
	answer->rings_clean = TIME_UNKNOWN;
	if (plan->n_steps == 0 || !links_rings_judged(client->config->fabric))
		return;
	answer->ring_open = since_ns != INT64_MAX;
	answer->rings_clean = (wall_t){answer->ring_open ? since_ns : plan->last_ns};
}

/* ---- what changed, as events say --------------------------------------------------------- */

static bool links_is_change(const char *kind)
{
	return str_eq(kind, "change") || str_eq(kind, "topology");
}

/* The texts of the answer outlive the document of events. */
static const char *links_copy(struct arena *a, const json_t *event, const char *key)
{
	const char *text = json_string_value(json_object_get(event, key));
	if (text)
		return arena_strdup(a, text);
	return NULL;
}

static int links_changes(struct client *client, const struct report_ask *ask,
	struct links_answer *answer, struct arena *a, struct err *e)
{
	json_t *events = events_document(client, NULL, ask->device, e), *event;
	size_t i;
	if (!events)
		return e->code ? e->code : -EIO;
	json_array_foreach (json_object_get(events, "events"), i, event) {
		struct link_change change = {.time = TIME_UNKNOWN,
			.device = links_copy(a, event, "device"),
			.port = links_copy(a, event, "port"),
			.text = links_copy(a, event, "text"),
			.by = links_copy(a, event, "who")};
		wall_parse(doc_word(event, "t"), (wall_t){0}, &change.time);
		if (links_is_change(doc_word(event, "kind")))
			links_answer_change(answer, a, &change);
	}
	json_decref(events);
	return 0;
}

/* ---- the report ----------------------------------------------------------------------------- */

static int links_fill(struct client *client, const struct report_ask *ask,
	const struct links_read *read, struct links_answer *answer, json_t *doc, struct err *e)
{
	struct limit_pair limits = limits_errors(client->config);
	json_t *incidents = report_incidents(client, links_causes, e);
	if (!incidents)
		return e->code ? e->code : -EIO;
	limits.own = ask->warn > 0;
	if (limits.own)
		limits.warn = ask->warn;
	links_rings(client, incidents, &read->plan, answer);
	report_incidents_about(incidents, ask->device);
	report_incidents_problems(doc, incidents);
	answer->incidents = incidents;
	links_answer_make(answer, doc, read, client->config, &limits);
	int rc = links_audit(client, ask, read->arena, answer, doc, e);
	if (rc < 0)
		return rc;
	report_figure(
		doc, "incidents", "incidents about links", (double)json_array_size(incidents), "-");
	links_audit_missing(doc, &answer->checked);
	/* States come seldom: only counters tell a gap. */
	const bool counted = answer->ports_known.errors > 0;
	range_missing(client, &read->plan, counted ? &read->read : NULL, doc);
	rc = links_changes(client, ask, answer, read->arena, e);
	if (rc < 0)
		return rc;
	return report_put_stale(client, doc, e);
}

static int links_collect(struct client *client, const struct report_ask *ask,
	struct report_result *ret, struct err *e)
{
	rw_cleanup(links_read_done) struct links_read read = {0};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	int rc = known_device(client, ask->device, e);
	if (rc == 0 && ask->group)
		rc = err_set(e, -EINVAL, "report links knows no groups; use --device");
	if (rc == 0)
		rc = links_read(client, ask->device, a, &read, e);
	if (rc < 0)
		return rc;
	struct links_answer *answer = arena_new_of(a, struct links_answer);
	json_t *doc = report_frame("links", client);
	rc = links_fill(client, ask, &read, answer, doc, e);
	/* The document takes its share of the trees. */
	shape_put(doc, &links_answer_shape, answer);
	json_decref(answer->incidents);
	if (rc < 0) {
		json_decref(doc);
		return rc;
	}
	const bool judged = answer->ports_known.errors > 0 || answer->ports_known.state > 0;
	report_verdict(client->config, doc, judged ? REPORT_OK : REPORT_UNKNOWN,
		judged ? "no link was down, slow or damaged, as far as ports tell"
		       : "links are not known: no port delivered its state or errors");
	*ret = (struct report_result){
		.doc = doc, .answer = answer, .arena = rw_take(a), .window_ns = read.plan.step_ns};
	return 0;
}

static const void *links_rows(const void *answer, size_t *ret_n)
{
	const struct links_answer *links = answer;
	*ret_n = links->n_ports;
	return links->ports;
}

static const struct view links_view = {
	.title = "links",
	.table = &links_ports_table,
	.table_rows = links_rows,
	.empty = "nothing to say of any port in this time",
	.answer_page = links_page,
};

const struct report report_links = {
	.name = "links",
	.summary = "links that were down, flapped, ran slow, lost frames or do not match",
	.help = "Shows each port of which there is something to say: down or flapping, below its "
		"declared speed, frames with errors, codewords that FEC could not repair, little "
		"light. Then the audit of the topology (speed, MTU and PFC of both ends, missing "
		"links), incidents about links and rails, and what changed.\n"
		"With --check each of these is a warning or critical as the audit and the "
		"detectors "
		"say; frames with errors warn above analyzers.link_health.errors_per_s, or above "
		"--warn, in the worst step.",
	.options = "device",
	.examples = {{"report links --since 24h",
			     "prints what was wrong with links in the last day"},
		{"report links --only-problems --format html --out links.html",
			"writes a page for mail, and nothing when all links are well"}},
	.span_ns = 24 * 3600 * NS_PER_S,
	.collect = links_collect,
	.view = &links_view,
};

/* incident_page - prints all that an incident's document holds. */
#include "agent/answers/incident/incident_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "agent/document/json_value.h"
#include "agent/document/page.h"
#include "agent/document/quantity.h"
#include "agent/answers/incident/incident_words.h"

/* ---- lines --------------------------------------------------------------- */

static void page_words(struct page *page, const char *label,
	void (*add)(struct str *out, const json_t *incident), const json_t *incident)
{
	rw_cleanup(str_done) struct str text = {0};
	str_add(&text, "");
	add(&text, incident);
	page_fact(page, label, text.s);
}

static void add_subject(struct str *out, const json_t *incident)
{
	static const struct {
		const char *key, *word;
	} parts[] = {
		{"device", ""},
		{"port", "port "},
		{"group", "group "},
		{"member", "member "},
		{"host", "host "},
	};
	const json_t *subject = json_object_get(incident, "subject");
	const json_t *priority = json_object_get(subject, "priority");
	for (size_t k = 0; k < rw_countof(parts); k++) {
		const char *word = doc_word(subject, parts[k].key);
		if (*word)
			str_addf(out, "%s%s%s", str_if(out->n, ", "), parts[k].word, word);
	}
	if (json_is_integer(priority))
		str_addf(out, "%spriority %lld", str_if(out->n, ", "),
			(long long)json_integer_value(priority));
}

static void add_when(struct str *out, const json_t *incident)
{
	const char *opened = doc_word(incident, "opened"), *closed = doc_word(incident, "closed"),
		   *first = doc_word(incident, "first");
	const json_t *windows = json_object_get(incident, "windows");
	str_addf(out, "began %s, opened %s", when_text(*first ? first : opened).s,
		when_text(opened).s);
	if (*closed)
		str_addf(out, ", closed %s", when_text(closed).s);
	if (json_is_integer(windows))
		str_addf(out, "; seen in %lld window%s", (long long)json_integer_value(windows),
			str_if(json_integer_value(windows) != 1, "s"));
}

static void add_confidence(struct str *out, const json_t *incident)
{
	const double confidence = doc_number(incident, "confidence_ratio"),
		     coverage = doc_number(incident, "coverage_ratio");
	str_add(out, incident_confidence_word(confidence));
	if (!isnan(confidence))
		str_addf(out, " (%.0f %%)", 100 * confidence);
	if (!isnan(coverage))
		str_addf(out, ", %.0f %% of the data was there", 100 * coverage);
}

static void add_cost(struct str *out, const json_t *incident)
{
	const double per_hour = doc_number(incident, "usd_per_hour"),
		     total = doc_number(incident, "usd_total"),
		     explained = doc_number(incident, "explained_ratio");
	const long long gpus =
		(long long)json_integer_value(json_object_get(incident, "gpus_affected"));
	if (isnan(per_hour))
		str_addf(out, "unknown%s",
			str_if(!gpus, " (no job is configured for this subject, or no price)"));
	else
		str_addf(out, "$%.2f/h, $%.2f so far (%lld GPUs wait)", per_hour,
			isnan(total) ? 0 : total, gpus);
	if (!isnan(explained))
		str_addf(out, "; accounts for %.0f %% of the measured slowdown", 100 * explained);
}

/* The time a job lost since the onset: as a share of wall time, and per step where the normal
 * length of a step is configured. */
static void page_loss(struct page *page, const json_t *loss, double explained)
{
	const double lost = doc_number(loss, "loss_ratio"),
		     before = doc_number(loss, "step_before_s"), now = doc_number(loss, "step_s");
	rw_cleanup(str_done) struct str text = {0};
	if (!(lost > 0))
		return;
	str_addf(&text, "%.1f %% of wall time of %s since %s, measured at %s", 100 * lost,
		*doc_word(loss, "job") ? doc_word(loss, "job") : "all hosts",
		when_text(doc_word(loss, "since")).s, doc_word(loss, "measured_at"));
	if (!isnan(before) && !isnan(now))
		str_addf(&text, "; a step takes %.3g s, before %.3g s", now, before);
	if (!isnan(before) && !isnan(now) && !isnan(explained))
		str_addf(&text, "; accounts for %.3g of %.3g ms per step",
			1e3 * (now - before) * explained, 1e3 * (now - before));
	page_fact(page, "lost", text.s);
}

/* ---- lists --------------------------------------------------------------- */

static void page_texts(struct page *page, const char *label, const json_t *list)
{
	const json_t *o;
	size_t k;
	json_array_foreach (list, k, o) {
		const char *text = json_string_value(o);
		if (!text)
			text = doc_word(o, "summary");
		if (!*text)
			text = doc_word(o, "cause");
		page_fact(page, label, text);
	}
}

static void page_commands(struct page *page, const json_t *list)
{
	const json_t *o;
	size_t k;
	json_array_foreach (list, k, o) {
		rw_cleanup(str_done) struct str head = {0};
		const char *where = doc_word(o, "where"), *effect = doc_word(o, "effect");
		str_addf(&head, "on %s", str_eq(where, "here") ? "this machine" : where);
		if (*effect)
			str_addf(&head, ", %s", effect);
		str_addf(&head, " (%s)", doc_word(o, "risk"));
		page_fact(page, "do now", head.s);
		page_code(page, "", doc_word(o, "command"));
	}
}

static void page_steps(struct page *page, const json_t *list)
{
	const json_t *o;
	size_t k;
	json_array_foreach (list, k, o)
		page_factf(page, "next", "%s (risk: %s)", doc_word(o, "text"), doc_word(o, "risk"));
}

enum { ROLES_SHOWN = 16 };

static void page_roles(struct page *page, const json_t *roles)
{
	static const struct {
		const char *role, *label;
	} kinds[] = {
		{"culprit", "culprit"},
		{"suspect", "suspect"},
		{"direct_victim", "victims"},
		{"indirect_victim", "indirect"},
	};
	for (size_t k = 0; k < rw_countof(kinds); k++) {
		rw_cleanup(str_done) struct str text = {0};
		const json_t *role;
		size_t i, n = 0;
		str_add(&text, "");
		json_array_foreach (roles, i, role) {
			if (!str_eq(doc_word(role, "role"), kinds[k].role))
				continue;
			if (n++ < ROLES_SHOWN)
				str_addf(&text, "%s%s", str_if(n > 1, ", "),
					doc_word(role, "entity"));
		}
		if (n > ROLES_SHOWN)
			str_addf(&text, " and %zu more", n - ROLES_SHOWN);
		page_fact(page, kinds[k].label, text.s);
	}
}

/* ---- tables -------------------------------------------------------------- */

static char *evidence_value(const json_t *row)
{
	struct str text = {0};
	const json_t *value = json_object_get(row, "value");
	if (json_is_number(value))
		str_add_quantity(&text, json_number_value(value), doc_word(row, "unit"));
	else
		str_add(&text, json_is_string(value) ? json_string_value(value) : "-");
	return text.s;
}

static char *page_place(const json_t *row)
{
	struct str text = {0};
	const char *device = doc_word(row, "device"), *port = doc_word(row, "port");
	str_addf(&text, "%s%s%s", device, str_if(*device && *port, ":"), port);
	return text.s;
}

static char *page_clock(const json_t *row, const char *key)
{
	struct str text = {0};
	str_add_when(&text, doc_word(row, key));
	return text.s;
}

/* The time of day; with its date where that is not the one of the first row. */
static char *evidence_clock(const json_t *row, const json_t *first)
{
	const char *time = doc_word(row, "to");
	struct str text = {0};
	const bool other_day = strncmp(time, doc_word(first, "to"), 10) != 0;
	if (strlen(time) < 19 || other_day)
		return page_clock(row, "to");
	str_addf(&text, "%.8sZ", time + 11);
	return text.s;
}

static void page_evidence(struct page *page, const json_t *list)
{
	static const char *const headers[] = {"EVIDENCE", "WHERE", "VALUE", "QUALITY", "UNTIL"};
	const size_t n = json_array_size(list);
	struct page_row *rows = rw_calloc(n + 1, sizeof(*rows));
	const json_t *o;
	size_t k;
	json_array_foreach (list, k, o) {
		rows[k].cell[0] = rw_strdup(quantity_name(doc_word(o, "metric")));
		rows[k].cell[1] = page_place(o);
		rows[k].cell[2] = evidence_value(o);
		rows[k].cell[3] = rw_strdup(doc_word(o, "quality"));
		rows[k].cell[4] = evidence_clock(o, json_array_get(list, 0));
	}
	page_grid(page, headers, rw_countof(headers), rows, n);
}

static void page_flows(struct page *page, const json_t *list)
{
	static const char *const headers[] = {"FLOW FROM", "TO", "UDP PORT", "QP", "PORT", "BYTES"};
	const size_t n = json_array_size(list);
	struct page_row *rows = rw_calloc(n + 1, sizeof(*rows));
	const json_t *o;
	size_t k;
	json_array_foreach (list, k, o) {
		struct str port = {0}, qp = {0}, bytes = {0};
		str_addf(&port, "%.0f", doc_number(o, "src_port"));
		str_addf(&qp, "0x%06llx",
			(long long)json_integer_value(json_object_get(o, "dst_qp")));
		str_add_quantity(&bytes, doc_number(o, "octets"), "bytes");
		rows[k].cell[0] = rw_strdup(doc_word(o, "src"));
		rows[k].cell[1] = rw_strdup(doc_word(o, "dst"));
		rows[k].cell[2] = port.s;
		rows[k].cell[3] = qp.s;
		rows[k].cell[4] = page_place(o);
		rows[k].cell[5] = bytes.s;
	}
	page_grid(page, headers, rw_countof(headers), rows, n);
}

static void page_timeline(struct page *page, const json_t *list)
{
	static const char *const headers[] = {"TIME", "WHAT HAPPENED"};
	const size_t n = json_array_size(list);
	struct page_row *rows = rw_calloc(n + 1, sizeof(*rows));
	const json_t *o;
	size_t k;
	json_array_foreach (list, k, o) {
		rows[k].cell[0] = page_clock(o, "t");
		rows[k].cell[1] = rw_strdup(doc_word(o, "text"));
	}
	page_grid(page, headers, rw_countof(headers), rows, n);
}

struct page *incident_page_timeline(const json_t *incident)
{
	struct page *page = page_new("Timeline");
	page_timeline(page, json_object_get(incident, "timeline"));
	return page;
}

/* ---- the page ------------------------------------------------------------ */

static void page_reasons(struct page *page, const json_t *incident)
{
	static const struct {
		const char *label, *key;
	} lists[] = {
		{"why", "reasons_for"},
		{"against", "reasons_against"},
		{"not proved", "not_proved"},
		{"ruled out", "ruled_out"},
		{"changed", "changed_before"},
		{"also", "also"},
	};
	for (size_t k = 0; k < rw_countof(lists); k++)
		page_texts(page, lists[k].label, json_object_get(incident, lists[k].key));
}

/* The card's line begins with its own label. */
static void page_spread(struct page *page, const json_t *incident)
{
	static const char label[] = "Spread: ";
	rw_cleanup(str_done) struct str text = {0};
	str_add(&text, "");
	incident_add_spread(&text, incident);
	const bool labelled = strncmp(text.s, label, strlen(label)) == 0;
	page_fact(page, "spread", labelled ? text.s + strlen(label) : text.s);
}

/* "CRITICAL pfc_storm ..." with its first word as the state. */
static void page_head(struct page *page, const char *head)
{
	const size_t n = strcspn(head, " ");
	rw_cleanup(freep) char *state = strndup(head, n);
	page_verdict(page, state, head + n + strspn(head + n, " "));
}

struct page *incident_page(const json_t *incident)
{
	struct page *page = page_new(doc_word(incident, "headline"));
	const json_t *loss;
	rw_cleanup(str_done) struct str head = {0};
	size_t k;
	incident_add_head(&head, incident);
	page_title(page, doc_word(incident, "headline"), NULL);
	page_head(page, head.s);
	page_fact(page, "what", doc_word(incident, "summary"));
	page_spread(page, incident);
	page_words(page, "where", add_subject, incident);
	page_words(page, "when", add_when, incident);
	page_words(page, "cost", add_cost, incident);
	json_array_foreach (json_object_get(incident, "loss"), k, loss)
		page_loss(page, loss, doc_number(incident, "explained_ratio"));
	page_words(page, "owner", incident_add_owner, incident);
	page_fact(page, "part of", doc_word(incident, "parent"));
	page_commands(page, json_object_get(incident, "commands"));
	page_steps(page, json_object_get(incident, "next_steps"));
	page_link(page, "runbook", doc_word(incident, "runbook"));
	page_words(page, "confidence", add_confidence, incident);
	page_reasons(page, incident);
	page_roles(page, json_object_get(incident, "roles"));
	page_evidence(page, json_object_get(incident, "evidence"));
	page_flows(page, json_object_get(json_object_get(incident, "subject"), "flows"));
	page_timeline(page, json_object_get(incident, "timeline"));
	return page;
}

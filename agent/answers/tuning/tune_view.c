/* tune_view - walks over a document of tuning and writes it for people, and the columns of its csv.
 */
#include "agent/answers/tuning/tune_view.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/str.h"
#include "agent/document/json_value.h"
#include "agent/document/quantity.h"
#include "agent/document/page.h"

#define PORTS_SHOWN 6
#define AFFECTED_SHOWN 6
#define EVIDENCE_SHOWN 8

/* ---- words and numbers --------------------------------------------------- */

static const json_t *tune_view_get(const json_t *object, const char *key)
{
	return json_object_get(object, key);
}

/* "2026-11-21T03:14:22.123Z" -> "2026-11-21 03:14:22Z" */
static const char *tune_view_when(char buf[32], const json_t *object, const char *key)
{
	const char *t = doc_word(object, key);
	if (strlen(t) < 19)
		snprintf(buf, 32, "%.31s", *t ? t : "-");
	else
		snprintf(buf, 32, "%.10s %.8sZ", t, t + 11);
	return buf;
}

static void tune_view_upper(char *text)
{
	for (; *text; text++) {
		if (*text == '_')
			*text = ' ';
		else
			*text = (char)toupper((unsigned char)*text);
	}
}

/* Alpha as switches have it, a power of two: "1/8 (dynamic_th -3)". */
static void add_alpha(struct str *out, double value)
{
	const double n = log2(value);
	if (value > 0 && fabs(n - round(n)) < 1e-6)
		str_addf(out, "%s%.0f (dynamic_th %.0f)", str_if(n < 0, "1/"), exp2(fabs(n)), n);
	else
		str_addf(out, "%.4g", value);
}

/* A value to be approved: all of its digits, and how people say it. */
static void add_value(struct str *out, double value, const char *unit, bool exact)
{
	if (isnan(value)) {
		str_add(out, "-");
	} else if (str_eq(unit, "alpha")) {
		add_alpha(out, value);
	} else if (exact && str_eq(unit, "bytes")) {
		str_addf(out, "%.0f B", value);
		if (value >= 10000)
			str_addf(out, " (%s)", number_size(value).s);
	} else if (exact) {
		str_addf(out, "%.6g", value);
	} else {
		str_add_quantity(out, value, unit);
	}
}

static char *tune_view_value_text(double value, const char *unit, bool exact)
{
	struct str b = {0};
	str_add(&b, "");
	add_value(&b, value, unit, exact);
	return b.s;
}

static char *range_text(double low, double high, const char *unit)
{
	struct str b = {0};
	add_value(&b, low, unit, false);
	if (!isnan(high) && high != low) {
		str_add(&b, " to ");
		add_value(&b, high, unit, false);
	}
	return b.s;
}

/* What the number is of: alpha has no unit of its own. */
static const char *unit_of(const char *name, const char *unit)
{
	if (strstr(name, "alpha") && !strstr(name, "exp"))
		return "alpha";
	return unit;
}

static const char *tune_view_confidence(double ratio)
{
	if (isnan(ratio))
		return "unknown";
	if (ratio >= 0.75)
		return "high";
	if (ratio >= 0.5)
		return "medium";
	return "low";
}

/* The first @most of an array of words, and how many more there are. */
static void add_words(struct str *out, const json_t *array, size_t most)
{
	const size_t n = json_array_size(array);
	for (size_t k = 0; k < n && k < most; k++)
		str_addf(out, "%s%s", str_if(k, ", "),
			json_string_value(json_array_get(array, k))
				? json_string_value(json_array_get(array, k))
				: "?");
	if (n > most)
		str_addf(out, " and %zu more", n - most);
}

static void add_site(struct str *out, const json_t *section)
{
	const json_t *ports = tune_view_get(section, "ports");
	str_add(out, doc_word(section, "device"));
	if (*doc_word(section, "port_group"))
		str_addf(out, " %s", doc_word(section, "port_group"));
	if (json_array_size(ports) > 1)
		str_addf(out, " (%zu ports)", json_array_size(ports));
	if (json_is_integer(tune_view_get(section, "priority")))
		str_addf(out, ", priority %lld",
			(long long)json_integer_value(tune_view_get(section, "priority")));
}

/* ---- a sheet ------------------------------------------------------------- */

static void put_head(struct page *page, const json_t *section)
{
	rw_cleanup(str_done) struct str site = {0}, ports = {0};
	char advice[32], state[32], made[32], expires[32], from[32], to[32];
	snprintf(advice, sizeof(advice), "%s", doc_word(section, "advice"));
	snprintf(state, sizeof(state), "%s", doc_word(section, "state"));
	tune_view_upper(advice);
	tune_view_upper(state);
	add_site(&site, section);
	page_heading(page, "TUNING REVIEW  %s  %s  %s%s%s", doc_word(section, "id"), site.s, advice,
		str_if(*state, "  "), state);
	page_fact(page, "summary", doc_word(section, "summary"));
	page_fact(page, "diagnosis", doc_word(section, "diagnosis"));
	if (json_array_size(tune_view_get(section, "ports")) > 1) {
		add_words(&ports, tune_view_get(section, "ports"), PORTS_SHOWN);
		page_fact(page, "ports", ports.s);
	}
	const json_t *platform = tune_view_get(section, "platform");
	if (json_is_object(platform) &&
		(*doc_word(platform, "name") || !*doc_word(platform, "syntax")))
		page_factf(page, "platform", "%s%s%s",
			*doc_word(platform, "name") ? doc_word(platform, "name") : "unknown",
			str_if(*doc_word(platform, "version"), ", "),
			doc_word(platform, "version"));
	else if (json_is_object(platform))
		page_factf(page, "platform", "%s by its profile; ASIC unknown",
			doc_word(platform, "syntax"));
	page_factf(page, "evidence", "%s - %s, coverage %.1f %%, confidence %s (%.2f)",
		tune_view_when(from, section, "from"), tune_view_when(to, section, "to"),
		100 * doc_number(section, "coverage_ratio"),
		tune_view_confidence(doc_number(section, "confidence_ratio")),
		doc_number(section, "confidence_ratio"));
	if (str_eq(doc_word(section, "advice"), "change"))
		page_factf(page, "prepared", "%s, expires %s",
			tune_view_when(made, section, "made"),
			tune_view_when(expires, section, "expires"));
	page_fact(page, "class", doc_word(section, "world"));
	page_fact(page, "blocked by", doc_word(section, "blocked_by"));
}

/* "headroom, uplinks" where it is for some ports of the sheet. */
static char *change_name(const json_t *change)
{
	struct str name = {0};
	str_add(&name, doc_word(change, "knob"));
	if (*doc_word(change, "port_group"))
		str_addf(&name, ", %s", doc_word(change, "port_group"));
	return name.s;
}

static void put_changes(struct page *page, const json_t *section)
{
	static const char *const headers[] = {"CHANGE", "CURRENT", "PROPOSED", "PROGRAMMED"};
	const json_t *changes = tune_view_get(section, "changes"), *c;
	const size_t n = json_array_size(changes);
	struct page_row *rows = rw_calloc(n + 1, sizeof(*rows));
	size_t k;
	json_array_foreach (changes, k, c) {
		const char *unit = unit_of(doc_word(c, "knob"), doc_word(c, "unit"));
		rows[k] = (struct page_row){
			{change_name(c), tune_view_value_text(doc_number(c, "current"), unit, true),
				tune_view_value_text(doc_number(c, "proposed"), unit, true),
				tune_view_value_text(doc_number(c, "programmed"), unit, true)}};
	}
	page_grid(page, headers, rw_countof(headers), rows, n);
	bool any = !isnan(doc_number(section, "buffer_cost_bytes"));
	json_array_foreach (changes, k, c)
		any = any || *doc_word(c, "why");
	if (n && any)
		page_gap(page);
	json_array_foreach (changes, k, c) {
		rw_cleanup(freep) char *name = change_name(c);
		if (*doc_word(c, "why"))
			page_factf(page, "why", "%s: %s%s%s%s", name, doc_word(c, "why"),
				str_if(*doc_word(c, "source"), " ["), doc_word(c, "source"),
				str_if(*doc_word(c, "source"), "]"));
	}
	if (n && !isnan(doc_number(section, "buffer_cost_bytes"))) {
		rw_cleanup(freep) char *cost = tune_view_value_text(
			doc_number(section, "buffer_cost_bytes"), "bytes", true);
		page_factf(page, "buffer cost", "%s of the shared pool %s", cost,
			doc_number(section, "buffer_cost_bytes") > 0
				? "are reserved"
				: "are reserved: queues share it as the checks below say");
	}
}

static void tune_view_put_evidence(struct page *page, const json_t *section)
{
	static const char *const headers[] = {"MEASURED", "VALUE", "QUALITY", "WHERE"};
	const json_t *evidence = tune_view_get(section, "evidence"), *e;
	size_t n = EVIDENCE_SHOWN;
	if (json_array_size(evidence) < EVIDENCE_SHOWN)
		n = json_array_size(evidence);
	struct page_row *rows = rw_calloc(n + 1, sizeof(*rows));
	size_t k;
	json_array_foreach (evidence, k, e) {
		if (k == n)
			break;
		struct str where = {0};
		str_addf(&where, "%s%s%s", doc_word(e, "device"), str_if(*doc_word(e, "port"), ":"),
			doc_word(e, "port"));
		if (json_is_integer(tune_view_get(e, "priority")) &&
			!json_equal(
				tune_view_get(e, "priority"), tune_view_get(section, "priority")))
			str_addf(&where, " priority %lld",
				(long long)json_integer_value(tune_view_get(e, "priority")));
		rows[k] = (struct page_row){{rw_strdup(quantity_name(doc_word(e, "metric"))),
			tune_view_value_text(doc_number(e, "value"),
				unit_of(doc_word(e, "metric"), doc_word(e, "unit")), false),
			rw_strdup(doc_word(e, "quality")), where.s}};
	}
	page_grid(page, headers, rw_countof(headers), rows, n);
}

static void put_expected(struct page *page, const json_t *section)
{
	static const char *const headers[] = {"EFFECT", "NOW", "EXPECTED AFTER", "OF"};
	const json_t *expected = tune_view_get(section, "expected"), *e;
	const size_t n = json_array_size(expected);
	struct page_row *rows = rw_calloc(n + 1, sizeof(*rows));
	size_t k;
	json_array_foreach (expected, k, e)
		rows[k] = (struct page_row){{rw_strdup(quantity_name(doc_word(e, "metric"))),
			tune_view_value_text(doc_number(e, "now"), doc_word(e, "unit"), false),
			range_text(
				doc_number(e, "low"), doc_number(e, "high"), doc_word(e, "unit")),
			rw_strdup(doc_word(e, "of"))}};
	page_grid(page, headers, rw_countof(headers), rows, n);
}

static void put_checks(struct page *page, const json_t *section)
{
	static const char *const headers[] = {"PASS", "BEFORE", "AFTER", "LIMIT", "CHECK"};
	const json_t *checks = tune_view_get(section, "checks"), *c;
	const size_t n = json_array_size(checks);
	struct page_row *rows = rw_calloc(n + 1, sizeof(*rows));
	size_t k;
	json_array_foreach (checks, k, c) {
		const char *unit = doc_word(c, "unit");
		const char *ok = "NO";
		if (json_is_true(tune_view_get(c, "ok")))
			ok = "yes";
		rows[k] = (struct page_row){
			{rw_strdup(ok), tune_view_value_text(doc_number(c, "before"), unit, false),
				tune_view_value_text(doc_number(c, "after"), unit, false),
				tune_view_value_text(doc_number(c, "limit"), unit, false),
				rw_strdup(doc_word(c, "text"))}};
	}
	page_grid(page, headers, rw_countof(headers), rows, n);
}

static void put_affected(struct page *page, const json_t *section)
{
	rw_cleanup(str_done) struct str b = {0};
	const json_t *affected = tune_view_get(section, "affected");
	const size_t n = json_array_size(affected);
	size_t shown = 0;
	for (size_t k = 0; k < n;) {
		const json_t *o = json_array_get(affected, k);
		size_t m = k;
		while (m < n &&
			str_eq(doc_word(json_array_get(affected, m), "object"),
				doc_word(o, "object")) &&
			str_eq(doc_word(json_array_get(affected, m), "device"),
				doc_word(o, "device")))
			m++;
		if (shown++ == AFFECTED_SHOWN) {
			str_addf(&b, " and %zu more", n - k);
			break;
		}
		str_addf(&b, "%s%s%s%s", str_if(k, "; "), doc_word(o, "object"),
			str_if(*doc_word(o, "object"), " on "), doc_word(o, "device"));
		if (m - k > 1)
			str_addf(&b, ", %zu ports", m - k);
		else if (*doc_word(o, "port"))
			str_addf(&b, ":%s", doc_word(o, "port"));
		k = m;
	}
	page_fact(page, "affected", b.s);
}

static void put_lines(struct page *page, const char *label, const json_t *array)
{
	const json_t *o;
	size_t k;
	json_array_foreach (array, k, o)
		page_fact(page, label, json_string_value(o));
}

/* What one vendor would type: its text, or the form of it that is typed. */
static const char *typed_text(const json_t *vendor)
{
	const json_t *form;
	const char *name;
	if (json_is_string(vendor))
		return json_string_value(vendor);
	json_object_foreach ((json_t *)vendor, name, form)
		if (json_is_string(form))
			return json_string_value(form);
	return NULL;
}

/* The syntax to show: the switch's own; else the one that the sheet names; else, in sheets of older
 * versions, the first that has a text. */
static const char *shown_syntax(const json_t *section, const json_t *vendors)
{
	const char *own = doc_word(tune_view_get(section, "platform"), "syntax"), *name;
	const char *shown = doc_word(tune_view_get(section, "render_notes"), "shown");
	const json_t *vendor;
	if (*own)
		return own;
	if (*shown)
		return shown;
	json_object_foreach ((json_t *)vendors, name, vendor)
		if (typed_text(vendor))
			return name;
	return NULL;
}

static void put_commands(
	struct page *page, const json_t *section, const char *label, const char *key)
{
	const json_t *vendors = tune_view_get(section, key);
	const char *syntax = shown_syntax(section, vendors), *text = NULL;
	if (syntax)
		text = typed_text(tune_view_get(vendors, syntax));
	if (text) {
		page_gap(page);
		page_code(page, label, text);
	} else if (json_is_object(vendors) && json_array_size(tune_view_get(section, "changes"))) {
		page_factf(page, label,
			"no commands for %s: see tune render --vendor, and \"render_notes\" of the "
			"json",
			str_or(syntax, "any vendor"));
	}
}

static void put_history(struct page *page, const json_t *section)
{
	const json_t *history = tune_view_get(section, "history"), *h;
	char t[32];
	size_t k;
	if (json_array_size(history))
		page_gap(page);
	json_array_foreach (history, k, h)
		page_factf(page, "history", "%s  %s%s%s%s%s", tune_view_when(t, h, "time"),
			doc_word(h, "event"), str_if(*doc_word(h, "who"), " by "),
			doc_word(h, "who"), str_if(*doc_word(h, "text"), ": "),
			doc_word(h, "text"));
}

static void put_effects(struct page *page, const json_t *doc);

static void put_verification(struct page *page, const json_t *section)
{
	const json_t *v = tune_view_get(section, "verification");
	if (!json_is_object(v))
		return;
	page_gap(page);
	page_factf(page, "verified", "%s: %s", doc_word(v, "verdict"), doc_word(v, "why"));
	put_effects(page, v);
}

static void put_change_rest(struct page *page, const json_t *section)
{
	rw_cleanup(str_done) struct str rest = {0};
	const char *state = doc_word(section, "state");
	put_affected(page, section);
	page_factf(page, "disruption", "%s%s", doc_word(section, "disruption"),
		str_if(json_is_true(tune_view_get(section, "job_boundary")),
			": at a job boundary only"));
	str_addf(&rest, "%s", doc_word(section, "device"));
	if (json_array_size(tune_view_get(section, "rest"))) {
		str_add(&rest, "; when it is verified: ");
		add_words(&rest, tune_view_get(section, "rest"), PORTS_SHOWN);
	}
	page_fact(page, "canary", rest.s);
	page_fact(page, "not predicted", doc_word(section, "not_expected"));
	page_fact(page, "risk", doc_word(section, "risk"));
	page_fact(page, "roll back if", doc_word(section, "rollback_if"));
	put_commands(page, section, "apply", "render");
	put_commands(page, section, "undo", "undo");
	page_gap(page);
	put_lines(page, "next", tune_view_get(section, "next_steps"));
	put_verification(page, section);
	put_history(page, section);
	if (!*state || str_eq(state, "proposed"))
		page_factf(page, "approve",
			"____  change window: ____   rocewatch tune accept %s; verify with: "
			"rocewatch tune verify %s",
			doc_word(section, "id"), doc_word(section, "id"));
	else if (str_eq(state, "accepted") || str_eq(state, "applied"))
		page_factf(page, "then", "rocewatch tune verify %s", doc_word(section, "id"));
}

static void put_sheet(struct page *page, const json_t *section)
{
	const bool change = str_eq(doc_word(section, "advice"), "change") ||
		json_array_size(tune_view_get(section, "changes"));
	put_head(page, section);
	put_lines(page, "differs", tune_view_get(section, "world_differences"));
	put_changes(page, section);
	tune_view_put_evidence(page, section);
	put_expected(page, section);
	put_checks(page, section);
	page_gap(page);
	put_lines(page, "to collect", tune_view_get(section, "collect"));
	if (change)
		put_change_rest(page, section);
	else
		put_lines(page, "do", tune_view_get(section, "next_steps"));
	put_lines(page, "rests on", tune_view_get(section, "confidence_inputs"));
}

static void tune_view_none(struct page *page, const json_t *doc)
{
	rw_cleanup(str_done) struct str text = {0};
	if (json_array_size(tune_view_get(doc, "sheets")))
		return;
	str_add(&text, "no sheet: nothing in this time range calls for a change");
	if (*doc_word(doc, "reason")) {
		str_done(&text);
		str_addf(&text, "not reviewed: %s", doc_word(doc, "reason"));
	}
	page_fact(page, "", text.s);
}

static struct page *tune_sheets_page(const json_t *doc)
{
	struct page *page = page_new("rocewatch tuning review");
	const json_t *sheets = tune_view_get(doc, "sheets"), *s;
	size_t k;
	tune_view_none(page, doc);
	json_array_foreach (sheets, k, s) {
		put_sheet(page, s);
	}
	return page;
}

/* ---- verification -------------------------------------------------------- */

static char *delta_text(double value, const char *unit)
{
	struct str b = {0};
	const bool share = str_eq(unit, "ratio") || str_eq(unit, "of before");
	if (isnan(value))
		str_add(&b, "-");
	else if (share)
		str_addf(&b, "%+.*f %%", fabs(value) < 0.01 ? 2 : 1, 100 * value);
	else
		str_addf(&b, "%+.3g", value);
	return b.s;
}

static char *level_text(double value, const char *unit)
{
	struct str b = {0};
	if (isnan(value))
		str_add(&b, "-");
	else if (str_eq(unit, "ratio") || str_eq(unit, "of before"))
		str_addf(&b, "%.*f %%", fabs(value) < 0.01 ? 2 : 1, 100 * value);
	else
		str_addf(&b, "%.3g", value);
	return b.s;
}

static void put_effects(struct page *page, const json_t *doc)
{
	static const char *const headers[] = {"EFFECT", "BEFORE", "AFTER", "DELTA", "95 % CI", ""};
	const json_t *effects = tune_view_get(doc, "effects"), *e;
	const size_t n = json_array_size(effects);
	struct page_row *rows = rw_calloc(n + 1, sizeof(*rows));
	size_t k;
	json_array_foreach (effects, k, e) {
		const char *unit = doc_word(e, "unit");
		rw_cleanup(freep) char *low = delta_text(doc_number(e, "low"), unit),
				       *high = delta_text(doc_number(e, "high"), unit);
		struct str ci = {0};
		if (isnan(doc_number(e, "low")))
			str_add(&ci, "-");
		else
			str_addf(&ci, "[%s, %s]", low, high);
		rows[k] = (struct page_row){{rw_strdup(quantity_name(doc_word(e, "metric"))),
			level_text(doc_number(e, "before"), unit),
			level_text(doc_number(e, "after"), unit),
			delta_text(doc_number(e, "delta"), unit), ci.s,
			rw_strdup(doc_word(e, "told"))}};
	}
	page_grid(page, headers, rw_countof(headers), rows, n);
}

static void put_side(struct page *page, const json_t *doc, const char *key)
{
	const json_t *side = tune_view_get(doc, key);
	char from[32], to[32];
	page_factf(page, key, "%s - %s, %lld windows matched, %.10g lossless drops",
		tune_view_when(from, side, "from"), tune_view_when(to, side, "to"),
		(long long)json_integer_value(tune_view_get(side, "windows")),
		doc_number(side, "drops"));
}

static void put_ports(struct page *page, const json_t *doc, const char *label, const char *key)
{
	rw_cleanup(str_done) struct str b = {0};
	if (!json_array_size(tune_view_get(doc, key)))
		return;
	add_words(&b, tune_view_get(doc, key), 2 * PORTS_SHOWN);
	page_fact(page, label, b.s);
}

static struct page *tune_verify_page(const json_t *doc)
{
	struct page *page = page_new("rocewatch tuning verification");
	char verdict[32];
	const json_t *left = tune_view_get(doc, "left_out");
	snprintf(verdict, sizeof(verdict), "%s", doc_word(doc, "verdict"));
	tune_view_upper(verdict);
	page_heading(page, "TUNING VERIFY  %s  %s: %s", doc_word(doc, "id"), verdict,
		doc_word(doc, "why"));
	page_factf(page, "matched by", "%s, windows of %.3g s; pause: %s", doc_word(doc, "match"),
		doc_number(doc, "window_s"), doc_word(doc, "pause_quality"));
	put_side(page, doc, "before");
	put_side(page, doc, "after");
	page_factf(page, "left out",
		"%lld idle, %lld disturbed (restarts, gaps, other incidents), %lld of another load",
		(long long)json_integer_value(tune_view_get(left, "idle")),
		(long long)json_integer_value(tune_view_get(left, "disturbed")),
		(long long)json_integer_value(tune_view_get(left, "unmatched")));
	put_effects(page, doc);
	page_gap(page);
	put_ports(page, doc, "worse at", "ports_worse");
	put_ports(page, doc, "better at", "ports_better");
	page_fact(page, "judged by",
		"J = step time + 0.5 x pause + 99th percentile of step time, each against before; "
		"never by pause alone, and no new lossless drop");
	page_fact(page, "recorded", doc_word(doc, "recorded"));
	return page;
}

/* ---- what-if ------------------------------------------------------------- */

static struct page *tune_whatif_page(const json_t *doc)
{
	struct page *page = page_new("rocewatch what-if");
	page_heading(page, "WHAT IF  %s%s%s, priority %lld", doc_word(doc, "device"),
		str_if(*doc_word(doc, "port"), ":"), doc_word(doc, "port"),
		(long long)json_integer_value(tune_view_get(doc, "priority")));
	put_changes(page, doc);
	put_expected(page, doc);
	page_gap(page);
	put_lines(page, "rests on", tune_view_get(doc, "notes"));
	return page;
}

/* ---- views: csv, and the list -------------------------------------------- */

static const struct column list_columns[] = {
	{"id", NULL, COL_TEXT, false},
	{"state", NULL, COL_TEXT, false},
	{"advice", NULL, COL_TEXT, false},
	{"device", NULL, COL_TEXT, false},
	{"port_group", "ports", COL_TEXT, false},
	{"priority", "prio", COL_INT, true},
	{"diagnosis", NULL, COL_TEXT, false},
	{"change", NULL, COL_TEXT, false},
	{"confidence_ratio", "confidence", COL_NUMBER, true},
	{"made", NULL, COL_TIME, false},
	{"verdict", NULL, COL_TEXT, false},
};
const struct view tune_list_view = {.title = "Threshold recommendations",
	.rows = "sheets",
	.columns = list_columns,
	.n_columns = rw_countof(list_columns),
	.empty = "no recommendation is recorded yet; 'rocewatch tune review' makes them"};
const struct view tune_sheets_view = {.title = "Threshold recommendations",
	.rows = "sheets",
	.columns = list_columns,
	.n_columns = rw_countof(list_columns),
	.page = tune_sheets_page};

static const struct column effect_columns[] = {
	{"metric", NULL, COL_TEXT, false},
	{"unit", NULL, COL_TEXT, false},
	{"before", NULL, COL_NUMBER, true},
	{"after", NULL, COL_NUMBER, true},
	{"delta", NULL, COL_NUMBER, true},
	{"low", NULL, COL_NUMBER, true},
	{"high", NULL, COL_NUMBER, true},
	{"told", NULL, COL_TEXT, false},
};
const struct view tune_verify_view = {.title = "Verification",
	.rows = "effects",
	.columns = effect_columns,
	.n_columns = rw_countof(effect_columns),
	.page = tune_verify_page};

static const struct column whatif_columns[] = {
	{"metric", NULL, COL_TEXT, false},
	{"unit", NULL, COL_TEXT, false},
	{"now", NULL, COL_NUMBER, true},
	{"low", NULL, COL_NUMBER, true},
	{"high", NULL, COL_NUMBER, true},
};
const struct view tune_whatif_view = {.title = "What if",
	.rows = "expected",
	.columns = whatif_columns,
	.n_columns = rw_countof(whatif_columns),
	.page = tune_whatif_page};

/* tune_view - see tune_view.h. */
#include "agent/reports/tune_view.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/reports/page_writer.h"

#define PORTS_SHOWN 6
#define AFFECTED_SHOWN 6
#define EVIDENCE_SHOWN 8

/* ---- words and numbers --------------------------------------------------- */

static const json_t *get(const json_t *o, const char *key)
{
	return json_object_get(o, key);
}

/* "2026-11-21T03:14:22.123Z" -> "2026-11-21 03:14:22Z" */
static const char *when(char buf[32], const json_t *o, const char *key)
{
	const char *t = doc_word(o, key);
	if (strlen(t) < 19)
		snprintf(buf, 32, "%.31s", *t ? t : "-");
	else
		snprintf(buf, 32, "%.10s %.8sZ", t, t + 11);
	return buf;
}

static void upper(char *s)
{
	for (; *s; s++)
		*s = *s == '_' ? ' ' : (char)toupper((unsigned char)*s);
}

/* Alpha as switches have it, a power of two: "1/8 (dynamic_th -3)". */
static void add_alpha(struct str *b, double v)
{
	const double n = log2(v);
	if (v > 0 && fabs(n - round(n)) < 1e-6)
		str_addf(b, n < 0 ? "1/%.0f (dynamic_th %.0f)" : "%.0f (dynamic_th %.0f)",
			exp2(fabs(n)), n);
	else
		str_addf(b, "%.4g", v);
}

/* A value to be approved: all of its digits, and how people say it. */
static void add_value(struct str *b, double v, const char *unit, bool exact)
{
	if (isnan(v)) {
		str_add(b, "-");
	} else if (str_eq(unit, "alpha")) {
		add_alpha(b, v);
	} else if (exact && str_eq(unit, "bytes")) {
		str_addf(b, "%.0f B", v);
		if (v >= 10240)
			str_addf(b, v >= 1048576 ? " (%.4g MiB)" : " (%.4g KiB)",
				v / (v >= 1048576 ? 1048576 : 1024));
	} else if (exact) {
		str_addf(b, "%.6g", v);
	} else {
		str_add_quantity(b, v, unit);
	}
}

static char *value_text(double v, const char *unit, bool exact)
{
	struct str b = {0};
	str_add(&b, "");
	add_value(&b, v, unit, exact);
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

static void rows_free(struct page_row *rows, size_t n)
{
	for (size_t r = 0; r < n; r++)
		for (size_t c = 0; c < PAGE_CELLS; c++)
			free(rows[r].cell[c]);
	free(rows);
}

/* What the number is of: alpha has no unit of its own. */
static const char *unit_of(const char *name, const char *unit)
{
	return strstr(name, "alpha") && !strstr(name, "exp") ? "alpha" : unit;
}

static const char *confidence(double ratio)
{
	return isnan(ratio) ? "unknown" : ratio >= 0.75 ? "high" : ratio >= 0.5 ? "medium" : "low";
}

/* The first @most of an array of words, and how many more there are. */
static void add_words(struct str *b, const json_t *array, size_t most)
{
	const size_t n = json_array_size(array);
	for (size_t k = 0; k < n && k < most; k++)
		str_addf(b, "%s%s", k ? ", " : "",
			json_string_value(json_array_get(array, k))
				? json_string_value(json_array_get(array, k))
				: "?");
	if (n > most)
		str_addf(b, " and %zu more", n - most);
}

static void add_place(struct str *b, const json_t *s)
{
	const json_t *ports = get(s, "ports");
	str_add(b, doc_word(s, "device"));
	if (*doc_word(s, "port_group"))
		str_addf(b, " %s", doc_word(s, "port_group"));
	if (json_array_size(ports) > 1)
		str_addf(b, " (%zu ports)", json_array_size(ports));
	if (json_is_integer(get(s, "priority")))
		str_addf(b, ", priority %lld", (long long)json_integer_value(get(s, "priority")));
}

/* ---- a sheet ------------------------------------------------------------- */

static void put_head(FILE *out, const struct tune_page *p, const json_t *s)
{
	rw_cleanup(str_done) struct str place = {0}, ports = {0};
	char advice[32], state[32], made[32], expires[32], from[32], to[32];
	snprintf(advice, sizeof(advice), "%s", doc_word(s, "advice"));
	snprintf(state, sizeof(state), "%s", doc_word(s, "state"));
	upper(advice);
	upper(state);
	add_place(&place, s);
	page_heading(out, p, "TUNING REVIEW  %s  %s  %s%s%s", doc_word(s, "id"), place.s, advice,
		*state ? "  " : "", state);
	page_line(out, p, "summary", doc_word(s, "summary"));
	page_line(out, p, "diagnosis", doc_word(s, "diagnosis"));
	if (json_array_size(get(s, "ports")) > 1) {
		add_words(&ports, get(s, "ports"), PORTS_SHOWN);
		page_line(out, p, "ports", ports.s);
	}
	const json_t *platform = get(s, "platform");
	if (json_is_object(platform) &&
		(*doc_word(platform, "name") || !*doc_word(platform, "syntax")))
		page_linef(out, p, "platform", "%s%s%s",
			*doc_word(platform, "name") ? doc_word(platform, "name")
						    : "not known what it is",
			*doc_word(platform, "version") ? ", " : "", doc_word(platform, "version"));
	else if (json_is_object(platform))
		page_linef(out, p, "platform", "%s by its profile; its ASIC is not known",
			doc_word(platform, "syntax"));
	page_linef(out, p, "evidence", "%s - %s, coverage %.1f %%, confidence %s (%.2f)",
		when(from, s, "from"), when(to, s, "to"), 100 * doc_number(s, "coverage_ratio"),
		confidence(doc_number(s, "confidence_ratio")), doc_number(s, "confidence_ratio"));
	if (str_eq(doc_word(s, "advice"), "change"))
		page_linef(out, p, "prepared", "%s, expires %s", when(made, s, "made"),
			when(expires, s, "expires"));
	page_line(out, p, "blocked by", doc_word(s, "blocked_by"));
}

static void put_changes(FILE *out, const struct tune_page *p, const json_t *s)
{
	static const char *const headers[] = {"CHANGE", "CURRENT", "PROPOSED", "PROGRAMMED"};
	const json_t *changes = get(s, "changes"), *c;
	const size_t n = json_array_size(changes);
	struct page_row *rows = rw_calloc(n + 1, sizeof(*rows));
	size_t k;
	json_array_foreach (changes, k, c) {
		const char *unit = unit_of(doc_word(c, "knob"), doc_word(c, "unit"));
		rows[k] = (struct page_row){{rw_strdup(doc_word(c, "knob")),
			value_text(doc_number(c, "current"), unit, true),
			value_text(doc_number(c, "proposed"), unit, true),
			value_text(doc_number(c, "programmed"), unit, true)}};
	}
	page_table(out, p, headers, rw_countof(headers), rows, n);
	rows_free(rows, n);
	bool any = !isnan(doc_number(s, "buffer_cost_bytes"));
	json_array_foreach (changes, k, c)
		any = any || *doc_word(c, "why");
	if (n && any)
		page_gap(out, p);
	json_array_foreach (changes, k, c)
		if (*doc_word(c, "why"))
			page_linef(out, p, k ? "" : "why", "%s: %s%s%s%s", doc_word(c, "knob"),
				doc_word(c, "why"), *doc_word(c, "source") ? " [" : "",
				doc_word(c, "source"), *doc_word(c, "source") ? "]" : "");
	if (n && !isnan(doc_number(s, "buffer_cost_bytes"))) {
		rw_cleanup(freep) char *cost =
			value_text(doc_number(s, "buffer_cost_bytes"), "bytes", true);
		page_linef(out, p, "buffer cost", "%s of the shared pool", cost);
	}
}

static void put_evidence(FILE *out, const struct tune_page *p, const json_t *s)
{
	static const char *const headers[] = {"MEASURED", "VALUE", "QUALITY", "WHERE"};
	const json_t *evidence = get(s, "evidence"), *e;
	const size_t n = json_array_size(evidence) < EVIDENCE_SHOWN ? json_array_size(evidence)
								    : EVIDENCE_SHOWN;
	struct page_row *rows = rw_calloc(n + 1, sizeof(*rows));
	size_t k;
	json_array_foreach (evidence, k, e) {
		if (k == n)
			break;
		struct str where = {0};
		str_addf(&where, "%s%s%s", doc_word(e, "device"), *doc_word(e, "port") ? ":" : "",
			doc_word(e, "port"));
		if (json_is_integer(get(e, "priority")) &&
			!json_equal(get(e, "priority"), get(s, "priority")))
			str_addf(&where, " priority %lld",
				(long long)json_integer_value(get(e, "priority")));
		rows[k] = (struct page_row){{rw_strdup(doc_word(e, "metric")),
			value_text(doc_number(e, "value"),
				unit_of(doc_word(e, "metric"), doc_word(e, "unit")), false),
			rw_strdup(doc_word(e, "quality")), where.s}};
	}
	page_table(out, p, headers, rw_countof(headers), rows, n);
	rows_free(rows, n);
}

static void put_expected(FILE *out, const struct tune_page *p, const json_t *s)
{
	static const char *const headers[] = {"EFFECT", "NOW", "EXPECTED AFTER"};
	const json_t *expected = get(s, "expected"), *e;
	const size_t n = json_array_size(expected);
	struct page_row *rows = rw_calloc(n + 1, sizeof(*rows));
	size_t k;
	json_array_foreach (expected, k, e)
		rows[k] = (struct page_row){{rw_strdup(doc_word(e, "metric")),
			value_text(doc_number(e, "now"), doc_word(e, "unit"), false),
			range_text(
				doc_number(e, "low"), doc_number(e, "high"), doc_word(e, "unit"))}};
	page_table(out, p, headers, rw_countof(headers), rows, n);
	rows_free(rows, n);
}

static void put_checks(FILE *out, const struct tune_page *p, const json_t *s)
{
	static const char *const headers[] = {"HOLDS", "BEFORE", "AFTER", "LIMIT", "CHECK"};
	const json_t *checks = get(s, "checks"), *c;
	const size_t n = json_array_size(checks);
	struct page_row *rows = rw_calloc(n + 1, sizeof(*rows));
	size_t k;
	json_array_foreach (checks, k, c) {
		const char *unit = doc_word(c, "unit");
		rows[k] = (struct page_row){{rw_strdup(json_is_true(get(c, "ok")) ? "yes" : "NO"),
			value_text(doc_number(c, "before"), unit, false),
			value_text(doc_number(c, "after"), unit, false),
			value_text(doc_number(c, "limit"), unit, false),
			rw_strdup(doc_word(c, "text"))}};
	}
	page_table(out, p, headers, rw_countof(headers), rows, n);
	rows_free(rows, n);
}

static void put_affected(FILE *out, const struct tune_page *p, const json_t *s)
{
	rw_cleanup(str_done) struct str b = {0};
	const json_t *affected = get(s, "affected");
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
		str_addf(&b, "%s%s%s%s", k ? "; " : "", doc_word(o, "object"),
			*doc_word(o, "object") ? " on " : "", doc_word(o, "device"));
		if (m - k > 1)
			str_addf(&b, ", %zu ports", m - k);
		else if (*doc_word(o, "port"))
			str_addf(&b, ":%s", doc_word(o, "port"));
		k = m;
	}
	page_line(out, p, "affected", b.s);
}

static void put_lines(FILE *out, const struct tune_page *p, const char *label, const json_t *array)
{
	const json_t *o;
	size_t k;
	json_array_foreach (array, k, o)
		page_line(out, p, k ? "" : label, json_string_value(o));
}

/* In the switch's own words; where it is not known what it is, in SONiC's, for orientation. */
static void put_words(
	FILE *out, const struct tune_page *p, const json_t *s, const char *label, const char *key)
{
	const char *own = doc_word(get(s, "platform"), "syntax");
	const char *vendor = *own ? own : "sonic";
	const json_t *v = get(get(s, key), vendor), *cli = json_is_object(v) ? get(v, "cli") : v;
	if (json_is_string(cli)) {
		page_gap(out, p);
		page_code(out, p, label, json_string_value(cli));
	} else if (json_is_object(get(s, key)) && json_array_size(get(s, "changes"))) {
		page_linef(out, p, label,
			"cannot be written in the words of %s: see tune render --vendor, and "
			"\"render_notes\" of the json",
			vendor);
	}
}

static void put_history(FILE *out, const struct tune_page *p, const json_t *s)
{
	const json_t *history = get(s, "history"), *h;
	char t[32];
	size_t k;
	if (json_array_size(history))
		page_gap(out, p);
	json_array_foreach (history, k, h)
		page_linef(out, p, k ? "" : "history", "%s  %s%s%s%s%s", when(t, h, "time"),
			doc_word(h, "event"), *doc_word(h, "who") ? " by " : "", doc_word(h, "who"),
			*doc_word(h, "text") ? ": " : "", doc_word(h, "text"));
}

static void put_effects(FILE *out, const struct tune_page *p, const json_t *doc);

static void put_verification(FILE *out, const struct tune_page *p, const json_t *s)
{
	const json_t *v = get(s, "verification");
	if (!json_is_object(v))
		return;
	page_gap(out, p);
	page_linef(out, p, "verified", "%s: %s", doc_word(v, "verdict"), doc_word(v, "why"));
	put_effects(out, p, v);
}

static void put_change_rest(FILE *out, const struct tune_page *p, const json_t *s)
{
	rw_cleanup(str_done) struct str rest = {0};
	const char *state = doc_word(s, "state");
	put_affected(out, p, s);
	page_linef(out, p, "disruption", "%s%s", doc_word(s, "disruption"),
		json_is_true(get(s, "job_boundary")) ? ": at a job boundary only" : "");
	str_addf(&rest, "%s", doc_word(s, "device"));
	if (json_array_size(get(s, "rest"))) {
		str_add(&rest, "; when it is verified: ");
		add_words(&rest, get(s, "rest"), PORTS_SHOWN);
	}
	page_line(out, p, "canary", rest.s);
	page_line(out, p, "not foretold", doc_word(s, "not_expected"));
	page_line(out, p, "risk", doc_word(s, "risk"));
	page_line(out, p, "roll back if", doc_word(s, "rollback_if"));
	put_words(out, p, s, "apply", "render");
	put_words(out, p, s, "undo", "undo");
	page_gap(out, p);
	put_lines(out, p, "next", get(s, "next_steps"));
	put_verification(out, p, s);
	put_history(out, p, s);
	if (!*state || str_eq(state, "proposed"))
		page_linef(out, p, "approve",
			"____  change window: ____   rocewatch tune accept %s; verify with: "
			"rocewatch tune verify %s",
			doc_word(s, "id"), doc_word(s, "id"));
	else if (str_eq(state, "accepted") || str_eq(state, "applied"))
		page_linef(out, p, "then", "rocewatch tune verify %s", doc_word(s, "id"));
}

static void put_sheet(FILE *out, const struct tune_page *p, const json_t *s)
{
	const bool change =
		str_eq(doc_word(s, "advice"), "change") || json_array_size(get(s, "changes"));
	put_head(out, p, s);
	put_changes(out, p, s);
	put_evidence(out, p, s);
	put_expected(out, p, s);
	put_checks(out, p, s);
	page_gap(out, p);
	put_lines(out, p, "to collect", get(s, "collect"));
	if (change)
		put_change_rest(out, p, s);
	else
		put_lines(out, p, "do", get(s, "next_steps"));
	put_lines(out, p, "rests on", get(s, "confidence_inputs"));
}

static int done(FILE *out)
{
	return ferror(out) ? -EIO : 0;
}

int tune_sheets_print(FILE *out, const json_t *doc, const struct tune_page *p)
{
	const json_t *sheets = get(doc, "sheets"), *s;
	size_t k;
	page_begin(out, p, "rocewatch tuning review");
	if (!json_array_size(sheets))
		page_line(out, p, "", "no sheet: nothing in this stretch asks for a change");
	json_array_foreach (sheets, k, s) {
		if (k)
			page_gap(out, p);
		put_sheet(out, p, s);
	}
	page_end(out, p);
	return done(out);
}

/* ---- verification -------------------------------------------------------- */

static char *delta_text(double v, const char *unit)
{
	struct str b = {0};
	const bool share = str_eq(unit, "ratio") || str_eq(unit, "of before");
	if (isnan(v))
		str_add(&b, "-");
	else if (share)
		str_addf(&b, "%+.*f %%", fabs(v) < 0.01 ? 2 : 1, 100 * v);
	else
		str_addf(&b, "%+.3g", v);
	return b.s;
}

static char *level_text(double v, const char *unit)
{
	struct str b = {0};
	if (isnan(v))
		str_add(&b, "-");
	else if (str_eq(unit, "ratio") || str_eq(unit, "of before"))
		str_addf(&b, "%.*f %%", fabs(v) < 0.01 ? 2 : 1, 100 * v);
	else
		str_addf(&b, "%.3g", v);
	return b.s;
}

static void put_effects(FILE *out, const struct tune_page *p, const json_t *doc)
{
	static const char *const headers[] = {"EFFECT", "BEFORE", "AFTER", "DELTA", "95 % CI", ""};
	const json_t *effects = get(doc, "effects"), *e;
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
		rows[k] = (struct page_row){{rw_strdup(doc_word(e, "metric")),
			level_text(doc_number(e, "before"), unit),
			level_text(doc_number(e, "after"), unit),
			delta_text(doc_number(e, "delta"), unit), ci.s,
			rw_strdup(doc_word(e, "told"))}};
	}
	page_table(out, p, headers, rw_countof(headers), rows, n);
	rows_free(rows, n);
}

static void put_side(FILE *out, const struct tune_page *p, const json_t *doc, const char *key)
{
	const json_t *side = get(doc, key);
	char from[32], to[32];
	page_linef(out, p, key, "%s - %s, %lld windows matched, %.10g lossless drops",
		when(from, side, "from"), when(to, side, "to"),
		(long long)json_integer_value(get(side, "windows")), doc_number(side, "drops"));
}

static void put_ports(
	FILE *out, const struct tune_page *p, const json_t *doc, const char *label, const char *key)
{
	rw_cleanup(str_done) struct str b = {0};
	if (!json_array_size(get(doc, key)))
		return;
	add_words(&b, get(doc, key), 2 * PORTS_SHOWN);
	page_line(out, p, label, b.s);
}

int tune_verify_print(FILE *out, const json_t *doc, const struct tune_page *p)
{
	char verdict[32];
	const json_t *left = get(doc, "left_out");
	snprintf(verdict, sizeof(verdict), "%s", doc_word(doc, "verdict"));
	upper(verdict);
	page_begin(out, p, "rocewatch tuning verification");
	page_heading(out, p, "TUNING VERIFY  %s  %s: %s", doc_word(doc, "id"), verdict,
		doc_word(doc, "why"));
	page_linef(out, p, "matched by", "%s, windows of %.3g s; pause: %s", doc_word(doc, "match"),
		doc_number(doc, "window_s"), doc_word(doc, "pause_quality"));
	put_side(out, p, doc, "before");
	put_side(out, p, doc, "after");
	page_linef(out, p, "left out",
		"%lld idle, %lld disturbed (restarts, gaps, other incidents), %lld of other work",
		(long long)json_integer_value(get(left, "idle")),
		(long long)json_integer_value(get(left, "disturbed")),
		(long long)json_integer_value(get(left, "unmatched")));
	put_effects(out, p, doc);
	page_gap(out, p);
	put_ports(out, p, doc, "worse at", "ports_worse");
	put_ports(out, p, doc, "better at", "ports_better");
	page_line(out, p, "judged by",
		"J = step time + 0.5 x pause + 99th percentile of step time, each against before; "
		"never by pause alone, and no new lossless drop");
	page_line(out, p, "recorded", doc_word(doc, "recorded"));
	page_end(out, p);
	return done(out);
}

/* ---- what-if ------------------------------------------------------------- */

int tune_whatif_print(FILE *out, const json_t *doc, const struct tune_page *p)
{
	page_begin(out, p, "rocewatch what-if");
	page_heading(out, p, "WHAT IF  %s%s%s, priority %lld", doc_word(doc, "device"),
		*doc_word(doc, "port") ? ":" : "", doc_word(doc, "port"),
		(long long)json_integer_value(get(doc, "priority")));
	put_changes(out, p, doc);
	put_expected(out, p, doc);
	page_gap(out, p);
	put_lines(out, p, "rests on", get(doc, "notes"));
	page_end(out, p);
	return done(out);
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
	.empty = "no recommendation is recorded; 'rocewatch tune review' makes them"};

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
	.n_columns = rw_countof(effect_columns)};

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
	.n_columns = rw_countof(whatif_columns)};

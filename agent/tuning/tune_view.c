/* tune_view - walks over a document of tuning and writes it for people, and the columns of its csv.
 */
#include "agent/tuning/tune_view.h"

#include "agent/document/json_value.h"
#include "agent/document/page.h"
#include "agent/document/quantity.h"
#include "agent/tuning/tune_json.h"

#define PORTS_SHOWN 6
#define AFFECTED_SHOWN 6
#define EVIDENCE_SHOWN 8

/* ---- words and numbers --------------------------------------------------- */

/* "2026-11-21 03:14:22Z" */
static const char *tune_view_when(char buf[32], int64_t t_ns)
{
	char text[WALL_TEXT_MAX];
	wall_text(text, (wall_t){t_ns}, 0);
	snprintf(buf, 32, "%.10s %.8sZ", text, text + 11);
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
static void add_words(struct str *out, const char *const *words, size_t n, size_t most)
{
	for (size_t k = 0; k < n && k < most; k++)
		str_addf(out, "%s%s", str_if(k, ", "), words[k]);
	if (n > most)
		str_addf(out, " and %zu more", n - most);
}

/* ---- a sheet ------------------------------------------------------------- */

static void put_platform(struct page *page, const struct tune_said *platform)
{
	if (!platform)
		return;
	if (!platform->name && platform->syntax)
		page_factf(page, "platform", "%s by its profile; ASIC unknown", platform->syntax);
	else
		page_factf(page, "platform", "%s%s%s", str_or(platform->name, "unknown"),
			str_if(platform->version, ", "), str_or(platform->version, ""));
}

static void put_head(struct page *page, const struct tune_paper *paper)
{
	const struct tune_sheet *sheet = &paper->r.sheet;
	rw_cleanup(str_done) struct str site = {0}, ports = {0};
	char advice[32], state[32] = "", made[32], expires[32], from[32], to[32];
	snprintf(advice, sizeof(advice), "%s", tune_advice_name(sheet->advice));
	if (paper->r.state != TUNE_UNRECORDED)
		snprintf(state, sizeof(state), "%s", tune_state_name(paper->r.state));
	tune_view_upper(advice);
	tune_view_upper(state);
	str_add(&site, str_or(sheet->device, ""));
	if (sheet->port_group)
		str_addf(&site, " %s", sheet->port_group);
	if (sheet->n_ports > 1)
		str_addf(&site, " (%zu ports)", sheet->n_ports);
	if (sheet->priority >= 0)
		str_addf(&site, ", priority %d", sheet->priority);
	page_heading(page, "TUNING REVIEW  %s  %s  %s%s%s", sheet->id, site.s, advice,
		str_if(*state, "  "), state);
	page_fact(page, "summary", sheet->summary);
	page_fact(page, "diagnosis", sheet->diagnosis);
	if (sheet->n_ports > 1) {
		add_words(&ports, sheet->ports, sheet->n_ports, PORTS_SHOWN);
		page_fact(page, "ports", ports.s);
	}
	put_platform(page, paper->r.platform);
	page_factf(page, "evidence", "%s - %s, coverage %.1f %%, confidence %s (%.2f)",
		tune_view_when(from, sheet->from_ns), tune_view_when(to, sheet->to_ns),
		100 * sheet->coverage_ratio, tune_view_confidence(sheet->confidence_ratio),
		sheet->confidence_ratio);
	if (sheet->advice == ADVICE_CHANGE)
		page_factf(page, "prepared", "%s, expires %s", tune_view_when(made, sheet->made_ns),
			tune_view_when(expires, sheet->expires_ns));
	page_fact(page, "class", sheet->world);
	page_fact(page, "blocked by", sheet->blocked_by);
}

/* "headroom, uplinks" where it is for some ports of the sheet. */
static char *change_name(const struct tune_change *change)
{
	struct str name = {0};
	str_add(&name, tune_knob_name(change->knob));
	if (change->port_group)
		str_addf(&name, ", %s", change->port_group);
	return name.s;
}

static void put_why(struct page *page, const struct tune_change *change)
{
	rw_cleanup(freep) char *name = change_name(change);
	const char *source = str_or(change->source, "");
	if (*str_or(change->why, ""))
		page_factf(page, "why", "%s: %s%s%s%s", name, change->why, str_if(*source, " ["),
			source, str_if(*source, "]"));
}

/* @cost_bytes: what they reserve of the pool; NAN: not known. */
static void put_changes(
	struct page *page, const struct tune_change *changes, size_t n, double cost_bytes)
{
	static const char *const headers[] = {"CHANGE", "CURRENT", "PROPOSED", "PROGRAMMED"};
	bool reserved = false;
	struct page_row *rows = rw_calloc(n + 1, sizeof(*rows));
	bool any = fabs(cost_bytes) > 0;
	for (size_t k = 0; k < n; k++) {
		const struct tune_change *c = &changes[k];
		const char *unit = unit_of(tune_knob_name(c->knob), tune_knob_unit(c->knob));
		rows[k] = (struct page_row){
			{change_name(c), tune_view_value_text(c->current, unit, true),
				tune_view_value_text(c->proposed, unit, true),
				tune_view_value_text(c->programmed, unit, true)}};
		any = any || *str_or(c->why, "");
		reserved = reserved || c->knob == KNOB_HEADROOM;
	}
	page_grid(page, headers, rw_countof(headers), rows, n);
	if (n && any)
		page_gap(page);
	for (size_t k = 0; k < n; k++)
		put_why(page, &changes[k]);
	if (n && fabs(cost_bytes) > 0) {
		rw_cleanup(freep) char *cost = tune_view_value_text(cost_bytes, "bytes", true);
		page_factf(page, "buffer cost", "%s of the shared pool %s", cost,
			reserved ? "are reserved"
				 : "more may congested queues take, as the checks below say");
	}
}

static char *tune_view_where(const struct evidence *e, int priority)
{
	struct str where = {0};
	str_addf(
		&where, "%s%s%s", str_or(e->device, ""), str_if(e->port, ":"), str_or(e->port, ""));
	if (e->priority >= 0 && e->priority != priority)
		str_addf(&where, " priority %d", e->priority);
	return where.s;
}

static void tune_view_put_evidence(struct page *page, const struct tune_sheet *sheet)
{
	static const char *const headers[] = {"MEASURED", "VALUE", "QUALITY", "WHERE"};
	const size_t n = sheet->n_evidence < EVIDENCE_SHOWN ? sheet->n_evidence : EVIDENCE_SHOWN;
	struct page_row *rows = rw_calloc(n + 1, sizeof(*rows));
	for (size_t k = 0; k < n; k++) {
		const struct evidence *e = &sheet->evidence[k];
		rows[k] = (struct page_row){{rw_strdup(quantity_name(e->metric)),
			tune_view_value_text(e->value, unit_of(e->metric, e->unit), false),
			rw_strdup(quality_name(e->quality)), tune_view_where(e, sheet->priority)}};
	}
	page_grid(page, headers, rw_countof(headers), rows, n);
}

/* "4 %": of cases like this one, so many come out more than 1 % worse. */
static char *chance_text(double ratio)
{
	if (isnan(ratio))
		return rw_strdup("");
	return tune_view_value_text(ratio, "ratio", false);
}

static void put_expected(struct page *page, const struct tune_expect *expected, size_t n)
{
	static const char *const headers[] = {
		"EFFECT", "NOW", "LIKELY AFTER", "BETWEEN", "WORSE", "OF"};
	struct page_row *rows = rw_calloc(n + 1, sizeof(*rows));
	for (size_t k = 0; k < n; k++) {
		const struct tune_expect *e = &expected[k];
		rows[k] = (struct page_row){{rw_strdup(quantity_name(e->metric)),
			tune_view_value_text(e->now, e->unit, false),
			tune_view_value_text(e->likely, e->unit, false),
			range_text(e->low, e->high, e->unit), chance_text(e->worse_ratio),
			rw_strdup(str_or(e->of, ""))}};
	}
	page_grid(page, headers, rw_countof(headers), rows, n);
}

static void put_checks(struct page *page, const struct tune_sheet *sheet)
{
	static const char *const headers[] = {"PASS", "BEFORE", "AFTER", "LIMIT", "CHECK"};
	struct page_row *rows = rw_calloc(sheet->n_checks + 1, sizeof(*rows));
	for (size_t k = 0; k < sheet->n_checks; k++) {
		const struct tune_check *c = &sheet->checks[k];
		rows[k] = (struct page_row){{rw_strdup(c->ok ? "yes" : "NO"),
			tune_view_value_text(c->before, c->unit, false),
			tune_view_value_text(c->after, c->unit, false),
			tune_view_value_text(c->limit, c->unit, false),
			rw_strdup(str_or(c->text, ""))}};
	}
	page_grid(page, headers, rw_countof(headers), rows, sheet->n_checks);
}

static bool alike_text(const char *left, const char *right)
{
	return str_eq(str_or(left, ""), str_or(right, ""));
}

/* How many from @o on are of the same object and switch. */
static size_t affected_alike(const struct tune_object *o, size_t n)
{
	size_t m = 0;
	while (m < n && alike_text(o[m].object, o->object) && alike_text(o[m].device, o->device))
		m++;
	return m;
}

static void put_affected(struct page *page, const struct tune_sheet *sheet)
{
	rw_cleanup(str_done) struct str b = {0};
	size_t shown = 0, alike;
	for (size_t k = 0; k < sheet->n_affected; k += alike) {
		const struct tune_object *o = &sheet->affected[k];
		alike = affected_alike(o, sheet->n_affected - k);
		if (shown++ == AFFECTED_SHOWN) {
			str_addf(&b, " and %zu more", sheet->n_affected - k);
			break;
		}
		str_addf(&b, "%s%s%s%s", str_if(k, "; "), str_or(o->object, ""),
			str_if(o->object, " on "), str_or(o->device, ""));
		if (alike > 1)
			str_addf(&b, ", %zu ports", alike);
		else if (o->port)
			str_addf(&b, ":%s", o->port);
	}
	page_fact(page, "affected", b.s);
}

static void put_lines(struct page *page, const char *label, const char *const *lines, size_t n)
{
	for (size_t k = 0; k < n; k++)
		page_fact(page, label, lines[k]);
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
static const char *shown_syntax(const struct tune_record *record, const json_t *vendors)
{
	const char *shown = doc_word(record->vendor.notes, "shown"), *name;
	const json_t *vendor;
	if (record->platform && record->platform->syntax)
		return record->platform->syntax;
	if (*shown)
		return shown;
	json_object_foreach ((json_t *)vendors, name, vendor)
		if (typed_text(vendor))
			return name;
	return NULL;
}

static void put_commands(struct page *page, const struct tune_record *record, const char *label,
	const json_t *vendors)
{
	const char *syntax = shown_syntax(record, vendors), *text = NULL;
	if (syntax)
		text = typed_text(json_object_get(vendors, syntax));
	if (text) {
		page_gap(page);
		page_code(page, label, text);
	} else if (json_is_object(vendors) && record->sheet.n_changes) {
		page_factf(page, label,
			"no commands for %s: see tune render --vendor, and \"render_notes\" of the "
			"json",
			str_or(syntax, "any vendor"));
	}
}

static void put_history(struct page *page, const struct tune_record *record)
{
	char t[32];
	if (record->n_history)
		page_gap(page);
	for (size_t k = 0; k < record->n_history; k++) {
		const struct tune_event *h = &record->history[k];
		page_factf(page, "history", "%s  %s%s%s%s%s", tune_view_when(t, h->t_ns), h->event,
			str_if(*h->who, " by "), h->who, str_if(*h->text, ": "), h->text);
	}
}

static void put_effects(struct page *page, const struct verification *verification);

static void put_verification(struct page *page, const struct verification *verification)
{
	if (!verification)
		return;
	page_gap(page);
	page_factf(page, "verified", "%s: %s", verify_verdict_names[verification->verdict],
		str_or(verification->why, ""));
	put_effects(page, verification);
}

static void put_change_rest(struct page *page, const struct tune_paper *paper)
{
	rw_cleanup(str_done) struct str rest = {0};
	const struct tune_sheet *sheet = &paper->r.sheet;
	put_affected(page, sheet);
	page_factf(page, "disruption", "%s%s", tune_disruption_name(sheet->disruption),
		str_if(sheet->job_boundary, ": at a job boundary only"));
	str_add(&rest, str_or(sheet->device, ""));
	if (sheet->n_rest) {
		str_add(&rest, "; when it is verified: ");
		add_words(&rest, sheet->rest, sheet->n_rest, PORTS_SHOWN);
	}
	page_fact(page, "canary", rest.s);
	page_fact(page, "not predicted", sheet->not_expected);
	page_fact(page, "risk", sheet->risk);
	page_fact(page, "roll back if", sheet->rollback_if);
	put_commands(page, &paper->r, "apply", paper->r.vendor.apply);
	put_commands(page, &paper->r, "undo", paper->r.vendor.undo);
	page_gap(page);
	put_lines(page, "next", sheet->next_steps, sheet->n_next_steps);
	put_verification(page, paper->verification);
	put_history(page, &paper->r);
	const char *id = paper->r.sheet.id;
	if (paper->r.state == TUNE_UNRECORDED || paper->r.state == TUNE_PROPOSED)
		page_factf(page, "approve",
			"____  change window: ____   rocewatch tune accept %s; verify with: "
			"rocewatch tune verify %s",
			id, id);
	else if (paper->r.state == TUNE_ACCEPTED || paper->r.state == TUNE_APPLIED)
		page_factf(page, "then", "rocewatch tune verify %s", id);
}

static void put_sheet(struct page *page, const struct tune_paper *paper)
{
	const struct tune_sheet *sheet = &paper->r.sheet;
	const bool change = sheet->advice == ADVICE_CHANGE || sheet->n_changes;
	put_head(page, paper);
	put_lines(page, "differs", sheet->differences, sheet->n_differences);
	put_changes(page, sheet->changes, sheet->n_changes, sheet->buffer_cost_bytes);
	tune_view_put_evidence(page, sheet);
	put_expected(page, sheet->expected, sheet->n_expected);
	put_checks(page, sheet);
	page_gap(page);
	put_lines(page, "to collect", sheet->collect, sheet->n_collect);
	if (change)
		put_change_rest(page, paper);
	else
		put_lines(page, "do", sheet->next_steps, sheet->n_next_steps);
	put_lines(page, "rests on", sheet->confidence_inputs, sheet->n_confidence_inputs);
}

/* What 'tune review', 'list' and 'show' answer. */
struct tune_papers {
	struct tune_paper *sheets;
	size_t n_sheets;
	const char *reason;
};
#define SHAPE struct tune_papers
static const struct field tune_papers_fields[] = {
	ROWS(sheets, tune_paper, "The sheets, the most urgent first."),
	TEXT(reason, "Why there is no sheet."),
};
static SHAPE_OF(tune_papers, "Sheets", "");
#undef SHAPE

static struct page *tune_sheets_page(const json_t *doc)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct page *page = page_new("rocewatch tuning review");
	struct tune_papers papers;
	shape_read(&tune_papers_shape, doc, a, &papers);
	if (!papers.n_sheets && papers.reason)
		page_factf(page, "", "not reviewed: %s", papers.reason);
	else if (!papers.n_sheets)
		page_fact(page, "", "no sheet: nothing in this time range calls for a change");
	for (size_t k = 0; k < papers.n_sheets; k++)
		put_sheet(page, &papers.sheets[k]);
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

static char *interval_text(const struct verify_effect *e)
{
	struct str ci = {0};
	rw_cleanup(freep) char *low = delta_text(e->low, e->unit),
			       *high = delta_text(e->high, e->unit);
	if (isnan(e->low))
		str_add(&ci, "-");
	else
		str_addf(&ci, "[%s, %s]", low, high);
	return ci.s;
}

static void put_effects(struct page *page, const struct verification *verification)
{
	static const char *const headers[] = {"EFFECT", "BEFORE", "AFTER", "DELTA", "95 % CI", ""};
	const size_t n = verification->n_effects;
	struct page_row *rows = rw_calloc(n + 1, sizeof(*rows));
	for (size_t k = 0; k < n; k++) {
		const struct verify_effect *e = &verification->effects[k];
		rows[k] = (struct page_row){{rw_strdup(quantity_name(e->metric)),
			level_text(e->before, e->unit), level_text(e->after, e->unit),
			delta_text(e->delta, e->unit), interval_text(e), rw_strdup(e->judgement)}};
	}
	page_grid(page, headers, rw_countof(headers), rows, n);
}

static void put_side(struct page *page, const char *label, const struct verified_side *side)
{
	char from[32], to[32];
	page_factf(page, label, "%s - %s, %zu windows matched, %.10g lossless drops",
		tune_view_when(from, side->from_ns), tune_view_when(to, side->to_ns), side->windows,
		side->drops);
}

static void put_ports(struct page *page, const char *label, const char *const *ports, size_t n)
{
	rw_cleanup(str_done) struct str b = {0};
	add_words(&b, ports, n, 2 * PORTS_SHOWN);
	page_fact(page, label, b.s);
}

static struct page *tune_verify_page(const json_t *doc)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct page *page = page_new("rocewatch tuning verification");
	struct verification v;
	char verdict[32];
	shape_read(&verification_shape, doc, a, &v);
	snprintf(verdict, sizeof(verdict), "%s", verify_verdict_name(v.verdict));
	tune_view_upper(verdict);
	page_heading(page, "TUNING VERIFY  %s  %s: %s", v.id, verdict, str_or(v.why, ""));
	page_factf(page, "matched by", "%s, windows of %.3g s; pause: %s",
		verify_match_name(v.match), v.window_s, str_or(v.pause_quality, ""));
	put_side(page, "before", &v.before);
	put_side(page, "after", &v.after);
	page_factf(page, "left out",
		"%zu idle, %zu disturbed (restarts, gaps, other incidents), %zu of another load",
		v.left_out.idle, v.left_out.disturbed, v.left_out.unmatched);
	put_effects(page, &v);
	page_gap(page);
	put_ports(page, "worse at", v.ports_worse, v.n_ports_worse);
	put_ports(page, "better at", v.ports_better, v.n_ports_better);
	page_fact(page, "judged by",
		"J = step time + 0.5 x pause + 99th percentile of step time, each against before; "
		"never by pause alone, and no new lossless drop");
	page_fact(page, "recorded", v.recorded);
	return page;
}

/* ---- what-if ------------------------------------------------------------- */

struct whatif_paper {
	const char *device, *port;
	int priority;
	struct tune_change *changes;
	size_t n_changes;
	struct tune_expect *expected;
	size_t n_expected;
	const char **notes;
	size_t n_notes;
};
#define SHAPE struct whatif_paper
static const struct field whatif_paper_fields[] = {
	TEXT(device, "Switch.", .known = true),
	TEXT(port, "Port that the prediction was calibrated on."),
	PRIORITY(priority, "Priority, 0 to 7."),
	ROWS(changes, tune_change, "The thresholds."),
	ROWS(expected, tune_expect, "What to expect."),
	TEXTS(notes, "What the prediction stands on and leaves out."),
};
static SHAPE_OF(whatif_paper, "WhatIf", "");
#undef SHAPE

static struct page *tune_whatif_page(const json_t *doc)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct page *page = page_new("rocewatch what-if");
	struct whatif_paper paper;
	shape_read(&whatif_paper_shape, doc, a, &paper);
	page_heading(page, "WHAT IF  %s%s%s, priority %d", paper.device, str_if(paper.port, ":"),
		str_or(paper.port, ""), paper.priority);
	put_changes(page, paper.changes, paper.n_changes, NAN);
	put_expected(page, paper.expected, paper.n_expected);
	page_gap(page);
	put_lines(page, "rests on", paper.notes, paper.n_notes);
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

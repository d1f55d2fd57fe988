/* tune_json - the tables of recommendations and verifications, and what a document has in another
 * form than the struct in memory. */
#include "agent/tuning/tune_json.h"

#include "agent/document/json_value.h"
#include "analyzers/tune/tune_rules.h"

/* ---- lists of a sheet ---------------------------------------------------- */

#define SHAPE struct tune_change
static const struct field tune_change_fields[] = {
	WORD(knob, tune_knob, tune_knob_names, TUNE_KNOBS, "Threshold."),
	NUMBER(current, UNIT_NONE, "Value in force, in `unit`."),
	NUMBER(proposed, UNIT_NONE, "Proposed value, in `unit`."),
	NUMBER(programmed, UNIT_NONE, "Value that the switch will round it to, in `unit`."),
	WORD_AS("unit", knob, tune_knob, tune_knob_units, TUNE_KNOBS, "`bytes` or `ratio`.",
		.derived = true),
	TEXT(why, "Why this value."),
	TEXT(source, "Formula or rule that it comes from."),
	TEXT(port_group, "Ports that it is for, where not all."),
	TEXTS(ports, "These ports by name."),
};
SHAPE_OF(tune_change, "Change", "A threshold and its new value.");
#undef SHAPE

#define SHAPE struct tune_object
static const struct field tune_object_fields[] = {
	TEXT(device, "Switch."),
	TEXT(port, "Port; null: the switch."),
	PRIORITY(priority, "Priority, 0 to 7."),
	TEXT(object, "Object of the configuration that is shared."),
};
static SHAPE_OF(tune_object, "Affected", "A queue that a change touches.");
#undef SHAPE

#define SHAPE struct evidence
static const struct field evidence_fields[] = {
	TEXT(metric, "Metric.", .known = true),
	TEXT(device, "Switch."),
	TEXT(port, "Port."),
	PRIORITY(priority, "Priority, 0 to 7."),
	TIME_NS("from", from_ns, "Begin."),
	TIME_NS("to", to_ns, "End."),
	NUMBER(value, UNIT_NONE, "Value, in `unit`."),
	TEXT(unit, "Unit of the value."),
	WORD(quality, quality, quality_names, QUALITY_UNKNOWN + 1, "How well it is known."),
};
static SHAPE_OF(evidence, "Evidence", "A measured value.");
#undef SHAPE

#define SHAPE struct tune_expect
static const struct field tune_expect_fields[] = {
	TEXT(metric, "Metric.", .known = true),
	NUMBER(low, UNIT_NONE, "Least value to expect, in `unit`."),
	NUMBER(high, UNIT_NONE, "Greatest value to expect, in `unit`."),
	NUMBER(likely, UNIT_NONE, "Most likely value, in `unit`."),
	NUMBER(now, UNIT_NONE, "Value now, in `unit`."),
	NUMBER(worse_ratio, UNIT_RATIO,
		"Chance that it comes out more than 1 % worse than now; null: not told."),
	TEXT(unit, "Unit of these values."),
	TEXT(of, "What of the switch it is: mean of 8 ports to hosts."),
};
SHAPE_OF(tune_expect, "Expected", "What a change is expected to do.");
#undef SHAPE

#define SHAPE struct tune_check
static const struct field tune_check_fields[] = {
	TEXT(text, "The rule."),
	NUMBER(before, UNIT_NONE, "Value before, in `unit`."),
	NUMBER(after, UNIT_NONE, "Value after, in `unit`."),
	NUMBER(limit, UNIT_NONE, "Limit, in `unit`."),
	TEXT(unit, "Unit of these values."),
	FLAG(ok, "Is it kept?"),
};
static SHAPE_OF(tune_check, "SheetCheck", "A rule that new values keep.");
#undef SHAPE

#define SHAPE struct tune_said
static const struct field tune_said_fields[] = {
	TEXT(name, "What it says it is."),
	TEXT(version, "Version that runs."),
	TEXT(syntax, "Syntax of its commands."),
};
static SHAPE_OF(tune_said, "Platform", "A switch by what it says it is.");
#undef SHAPE

#define SHAPE struct tune_event
static const struct field tune_event_fields[] = {
	TIME_NS("time", t_ns, "When."),
	TEXT(event, "What happened.", .known = true),
	TEXT(who, "Who; empty: rocewatch.", .known = true),
	TEXT(text, "With which words.", .known = true),
};
static SHAPE_OF(tune_event, "LedgerEntry", "An entry of the ledger.");
#undef SHAPE

/* ---- "progress": what only rocewatch needs ------------------------------- */

#define SHAPE struct tune_rate
static const struct field tune_rate_fields[] = {
	TEXT(job, "", .known = true),
	NUMBER(mean, UNIT_BYTES_PER_S, ""),
	NUMBER(se, UNIT_BYTES_PER_S, ""),
	COUNT(n, ""),
};
static SHAPE_OF(tune_rate, "Rate", "");
#undef SHAPE

struct roll_back_open {
	const char *why;
};
#define SHAPE struct roll_back_open
static const struct field roll_back_open_fields[] = {TEXT(why, "", .known = true)};
static SHAPE_OF(roll_back_open, "RollBackOpen", "");
#undef SHAPE

struct tune_progress {
	int64_t made_ns, expires_ns, from_ns, to_ns;
	int64_t updated_ns, accepted_ns, rejected_ns, applied_ns, verified_ns, looked_ns;
	struct tune_rate *rates;
	size_t n_rates;
	struct roll_back_open *rollback;
};
#define SHAPE struct tune_progress
static const struct field tune_progress_fields[] = {
	NS(made_ns, ""),
	NS(expires_ns, ""),
	NS(from_ns, ""),
	NS(to_ns, ""),
	NS(updated_ns, "", .optional = true),
	NS(accepted_ns, "", .optional = true),
	NS(rejected_ns, "", .optional = true),
	NS(applied_ns, "", .optional = true),
	NS(verified_ns, "", .optional = true),
	NS(looked_ns, "", .optional = true),
	ROWS(rates, tune_rate, "", .optional = true),
	PART_AT(rollback, roll_back_open, "", .optional = true),
};
static SHAPE_OF(tune_progress, "Progress", "");
#undef SHAPE

/* ---- verification -------------------------------------------------------- */

#define SHAPE struct verified_side
static const struct field verified_side_fields[] = {
	TIME_NS("from", from_ns, "Begin."),
	TIME_NS("to", to_ns, "End."),
	COUNT(windows, "Windows that were matched."),
	NUMBER(drops, UNIT_COUNT, "Lossless drops, packets."),
};
static SHAPE_OF(verified_side, "VerifiedSide", "What was compared.");
#undef SHAPE

#define SHAPE struct verified_left_out
static const struct field verified_left_out_fields[] = {
	COUNT(disturbed, "Windows with a restart, a gap or another incident."),
	COUNT(idle, "Windows without load."),
	COUNT(unmatched, "Windows of another load."),
};
static SHAPE_OF(verified_left_out, "LeftOut", "Windows that were not compared.");
#undef SHAPE

#define SHAPE struct verify_effect
static const struct field verify_effect_fields[] = {
	TEXT(metric, "Metric.", .known = true),
	TEXT(unit, "Unit of the values.", .known = true),
	NUMBER(before, UNIT_NONE, "Mean before."),
	NUMBER(after, UNIT_NONE, "Mean after."),
	NUMBER(delta, UNIT_NONE, "Difference."),
	NUMBER(low, UNIT_NONE, "Lower end of the 95 % interval of the difference."),
	NUMBER(high, UNIT_NONE, "Upper end."),
	TEXT_AS("told", judgement, "`better`, `worse` and others.", .known = true),
};
static SHAPE_OF(verify_effect, "Effect", "An effect of a change.");
#undef SHAPE

#define SHAPE struct verification
static const struct field verification_fields[] = {
	TEXT(id, "The sheet.", .known = true),
	WORD(verdict, verify_verdict, verify_verdict_names, VERIFY_INCONCLUSIVE + 1,
		"`keep`, `roll_back` or `inconclusive`."),
	TEXT(why, "Why."),
	WORD(match, verify_match, verify_match_names, VERIFY_NONE + 1, "How windows were matched."),
	NUMBER(window_s, UNIT_SECONDS, "Length of a window."),
	PART(before, verified_side, "Before the change."),
	PART(after, verified_side, "After it."),
	PART(left_out, verified_left_out, "Windows that were not compared."),
	ROWS(effects, verify_effect, "What changed."),
	TEXTS(ports_worse, "Ports on which pause rose."),
	TEXTS(ports_better, "Ports on which pause fell."),
	COUNT(ports_tested, "Ports that were compared."),
	TEXT(pause_quality, "Is pause measured?"),
	TEXT(recorded, "Was the result recorded?", .optional = true),
};
SHAPE_OF(verification, "Verification", "Whether an applied change did what it should.");
#undef SHAPE

static const char *pause_quality(bool bound)
{
	if (bound)
		return "bound from frames";
	return "measured";
}

static void verification_of(
	const struct tune_verified *verified, struct arena *a, struct verification *ret)
{
	const struct verify_result *r = &verified->result;
	*ret = (struct verification){.id = verified->id,
		.verdict = r->verdict,
		.why = r->why,
		.match = verified->match,
		.window_s = (double)verified->window_ns / (double)NS_PER_S,
		.before = {verified->before_from_ns, verified->before_to_ns, r->n_before,
			r->drops_before},
		.after = {verified->after_from_ns, verified->after_to_ns, r->n_after,
			r->drops_after},
		.left_out = {r->n_spoiled, r->n_idle, r->n_unmatched},
		.effects = arena_array(a, struct verify_effect, VERIFY_EFFECTS),
		.ports_worse = verified->worse,
		.n_ports_worse = verified->n_worse,
		.ports_better = verified->better,
		.n_ports_better = verified->n_better,
		.ports_tested = r->n_ports_tested,
		.pause_quality = pause_quality(r->pause_bound)};
	for (size_t i = 0; i < VERIFY_EFFECTS; i++)
		if (r->effects[i].metric) /* a document without this row was read */
			ret->effects[ret->n_effects++] = r->effects[i];
}

/* NULL: it has no verdict. */
static const struct tune_verified *verified_of(const struct verification *from, struct arena *a)
{
	if (!from || from->verdict > VERIFY_INCONCLUSIVE)
		return NULL;
	struct tune_verified *v = arena_new_of(a, struct tune_verified);
	*v = (struct tune_verified){.id = from->id,
		.match = from->match > VERIFY_NONE ? VERIFY_JOB : from->match,
		.window_ns = (int64_t)llround(from->window_s * (double)NS_PER_S),
		.before_from_ns = from->before.from_ns,
		.before_to_ns = from->before.to_ns,
		.after_from_ns = from->after.from_ns,
		.after_to_ns = from->after.to_ns,
		.worse = from->ports_worse,
		.n_worse = from->n_ports_worse,
		.better = from->ports_better,
		.n_better = from->n_ports_better,
		.result = {.verdict = from->verdict,
			.why = str_or(from->why, ""),
			.n_before = from->before.windows,
			.n_after = from->after.windows,
			.drops_before = from->before.drops,
			.drops_after = from->after.drops,
			.n_spoiled = from->left_out.disturbed,
			.n_idle = from->left_out.idle,
			.n_unmatched = from->left_out.unmatched,
			.n_ports_tested = from->ports_tested,
			.pause_bound = str_eq(from->pause_quality, pause_quality(true))}};
	for (size_t i = 0; i < from->n_effects && i < VERIFY_EFFECTS; i++)
		v->result.effects[i] = from->effects[i];
	return v;
}

json_t *tune_verified_json(const struct tune_verified *verified)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct verification document;
	verification_of(verified, a, &document);
	return shape_json(&verification_shape, &document);
}

const struct tune_verified *tune_verified_parse(const json_t *document, struct arena *a)
{
	return verified_of(shape_read_new(&verification_shape, document, a), a);
}

/* ---- the sheet ----------------------------------------------------------- */

#define SHAPE struct tune_due
static const struct field tune_due_fields[] = {
	TIME_NS("time", t_ns, "Since when."),
	TEXT(why, "Why."),
};
static SHAPE_OF(tune_due, "RollbackDue", "A change that should be undone.");
#undef SHAPE

#define SHAPE struct tune_paper
static const struct field tune_paper_fields[] = {
	LETTERS("id", r.sheet.id, "Identity.", .type = "id", .known = true),
	WORD_AS("state", r.state, tune_state, tune_state_names, TUNE_STATES,
		"State in the ledger; null: not recorded.", .unknown = true),
	TEXT_AS("device", r.sheet.device, "Switch."),
	TEXT_AS("port_group", r.sheet.port_group, "Ports: `all`, `hosts`, `uplinks` or a name."),
	TEXTS_AS("ports", r.sheet.ports, r.sheet.n_ports, "These ports."),
	TEXTS_AS("rest", r.sheet.rest, r.sheet.n_rest, "Switches with the same finding."),
	PRIORITY_AS("priority", r.sheet.priority, "Priority, 0 to 7."),
	TEXT_AS("diagnosis", r.sheet.diagnosis, "What is wrong: a row of docs/tuning.md."),
	WORD_AS("advice", r.sheet.advice, tune_advice, tune_advice_names, ADVICE_BLOCKED + 1,
		"`change`, `watch`, `fix_first`, `blocked` or `none`."),
	TEXT_AS("blocked_by", r.sheet.blocked_by, "What is in the way: an incident or a rule."),
	TEXT_AS("summary", r.sheet.summary, "The sheet in one sentence."),
	TEXT_AS("world", r.sheet.world, "How the class is run, on which the advice depends."),
	TEXTS_AS("world_differences", r.sheet.differences, r.sheet.n_differences,
		"Where declared and read back differ."),
	PART_AT_AS("platform", r.platform, tune_said, "The switch."),
	ROWS_AS("changes", r.sheet.changes, r.sheet.n_changes, tune_change,
		"The thresholds to change."),
	ROWS_AS("affected", r.sheet.affected, r.sheet.n_affected, tune_object,
		"The queues that are touched."),
	WORD_AS("disruption", r.sheet.disruption, tune_disruption, tune_disruption_names,
		DISRUPTION_UNKNOWN + 1, "What applying it does to traffic."),
	FLAG_AS("job_boundary", r.sheet.job_boundary, "Should it wait until no job runs?"),
	TIME_NS("made", r.sheet.made_ns, "When the sheet was made."),
	TIME_NS("expires", r.sheet.expires_ns, "When it is void."),
	TIME_NS("from", r.sheet.from_ns, "Begin of the evidence."),
	TIME_NS("to", r.sheet.to_ns, "End of the evidence."),
	ROWS_AS("evidence", r.sheet.evidence, r.sheet.n_evidence, evidence, "The measured values."),
	ROWS_AS("expected", r.sheet.expected, r.sheet.n_expected, tune_expect,
		"What should become better."),
	TEXT_AS("not_expected", r.sheet.not_expected, "What the prediction leaves out."),
	ROWS_AS("checks", r.sheet.checks, r.sheet.n_checks, tune_check,
		"Rules that the new values keep."),
	TEXTS_AS("collect", r.sheet.collect, r.sheet.n_collect, "What data is missing."),
	TEXTS_AS("next_steps", r.sheet.next_steps, r.sheet.n_next_steps, "What to do, in order."),
	TEXT_AS("risk", r.sheet.risk, "What may become worse."),
	TEXT_AS("rollback_if", r.sheet.rollback_if, "When to undo it."),
	TREE_AS("render", r.vendor.apply, "VendorText", "The commands."),
	TREE_AS("undo", r.vendor.undo, "VendorText", "The commands that undo it."),
	TREE_AS("render_notes", r.vendor.notes, "VendorNotes", "What could not be written."),
	NUMBER_AS("confidence_ratio", r.sheet.confidence_ratio, UNIT_RATIO,
		"How sure the advice is, 0 to 1."),
	TEXTS_AS("confidence_inputs", r.sheet.confidence_inputs, r.sheet.n_confidence_inputs,
		"What the confidence was worked out from."),
	NUMBER_AS("coverage_ratio", r.sheet.coverage_ratio, UNIT_RATIO,
		"Share of the expected samples that were there, 0 to 1."),
	NUMBER_AS("buffer_cost_bytes", r.sheet.buffer_cost_bytes, UNIT_BYTES,
		"Buffer that it takes from others."),
	HEX("basis", r.sheet.basis, "What the evidence was, as a checksum."),
	PART_AT(progress, tune_progress, "", .optional = true),
	ROWS_AS("history", r.history, r.n_history, tune_event, "Its decisions.", .optional = true),
	TIME_NS("accepted", r.accepted_ns, "When it was accepted.", .optional = true),
	TEXT_AS("accepted_by", r.accepted_by, "Who accepted it.", ONLY_IF(is_accepted)),
	TEXT_AS("rejected_why", r.rejected_why, "Why it was rejected.", .optional = true),
	TIME_NS("rejected", r.rejected_ns, "When it was rejected.", .optional = true),
	TEXT_AS("rejected_by", r.rejected_by, "Who rejected it.", ONLY_IF(is_rejected)),
	TIME_NS("applied", r.applied_ns, "When it was applied.", .optional = true),
	TEXT_AS("applied_by", r.applied_by, "Who said so; empty: it was read back.",
		ONLY_IF(is_applied)),
	PART_AT(rollback_due, tune_due, "It should be undone.", .optional = true),
	TEXT(verdict, "Result of the last verification.", .optional = true),
	PART_AT(verification, verification, "The last verification.", .optional = true),
	TIME_NS("verified", r.verified_ns, "When it was verified.", .optional = true),
	TEXT_AS("verified_by", r.verified_by, "Who verified it; empty: rocewatch.",
		ONLY_IF(is_verified)),
	TEXT(change, "The changes as one line.", .optional = true),
};
SHAPE_OF(tune_paper, "Sheet", "A threshold review sheet.");
#undef SHAPE

static struct tune_progress *progress_of(const struct tune_record *record, struct arena *a)
{
	struct tune_progress *ret = arena_new_of(a, struct tune_progress);
	*ret = (struct tune_progress){.made_ns = record->sheet.made_ns,
		.expires_ns = record->sheet.expires_ns,
		.from_ns = record->sheet.from_ns,
		.to_ns = record->sheet.to_ns,
		.updated_ns = record->updated_ns,
		.accepted_ns = record->accepted_ns,
		.rejected_ns = record->rejected_ns,
		.applied_ns = record->applied_ns,
		.verified_ns = record->verified_ns,
		.looked_ns = record->watched_ns,
		.rates = record->rates,
		.n_rates = record->n_rates};
	if (record->roll_back_open) {
		ret->rollback = arena_new_of(a, struct roll_back_open);
		ret->rollback->why = record->roll_back_why;
	}
	return ret;
}

static void paper_of(const struct tune_record *record, struct arena *a, struct tune_paper *ret)
{
	*ret = (struct tune_paper){.r = *record,
		.is_accepted = record->accepted_ns != 0,
		.is_rejected = record->rejected_ns != 0,
		.is_applied = record->applied_ns != 0,
		.is_verified = record->verified_ns != 0};
	if (!record->n_history)
		ret->r.history = NULL;
	if (record->roll_back_ns) {
		ret->rollback_due = arena_new_of(a, struct tune_due);
		*ret->rollback_due = (struct tune_due){record->roll_back_ns, record->roll_back_why};
	}
	if (record->verified) {
		ret->verification = arena_new_of(a, struct verification);
		verification_of(record->verified, a, ret->verification);
		ret->verdict = verify_verdict_name(record->verified->result.verdict);
	}
}

/* "kmin 24 MB -> 640 KB, alpha 1/8 -> 1" */
static const char *change_line(const struct tune_sheet *sheet, struct arena *a)
{
	rw_cleanup(str_done) struct str text = {0};
	for (size_t i = 0; i < sheet->n_changes; i++) {
		const struct tune_change *c = &sheet->changes[i];
		str_addf(&text, "%s%s ", str_if(i > 0, ", "), tune_knob_name(c->knob));
		str_addf(&text, "%s -> ", tune_value_text(a, c->knob, c->current));
		str_add(&text, tune_value_text(a, c->knob, c->proposed));
	}
	return arena_strdup(a, str_or(text.s, ""));
}

json_t *tune_record_json(const struct tune_record *record, enum tune_document which)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct tune_paper paper;
	paper_of(record, a, &paper);
	if (which == TUNE_DOCUMENT_WHOLE)
		paper.progress = progress_of(record, a);
	if (which == TUNE_DOCUMENT_SHOWN)
		paper.change = change_line(&record->sheet, a);
	return shape_json(&tune_paper_shape, &paper);
}

/* ---- documents of somebody else ------------------------------------------ */

/* Words of another version: what is safest. False: a threshold that is not known. */
static bool words_are_known(struct tune_sheet *sheet)
{
	if (sheet->advice > ADVICE_BLOCKED)
		sheet->advice = ADVICE_WATCH;
	if (sheet->disruption > DISRUPTION_UNKNOWN)
		sheet->disruption = DISRUPTION_UNKNOWN;
	for (size_t i = 0; i < sheet->n_evidence; i++)
		if (sheet->evidence[i].quality > QUALITY_UNKNOWN)
			sheet->evidence[i].quality = QUALITY_UNKNOWN;
	for (size_t i = 0; i < sheet->n_changes; i++)
		if (sheet->changes[i].knob >= TUNE_KNOBS)
			return false;
	return true;
}

/* The ledger adds to it. */
static void history_with_room(struct tune_record *record)
{
	struct tune_event *history = record->history;
	if (!history)
		return;
	if (record->n_history > TUNE_HISTORY_MAX)
		record->n_history = TUNE_HISTORY_MAX;
	record->history = arena_array(record->arena, struct tune_event, TUNE_HISTORY_MAX);
	memcpy(record->history, history, record->n_history * sizeof(*history));
}

static void progress_into(const struct tune_progress *progress, struct tune_record *record)
{
	record->sheet.made_ns = progress->made_ns;
	record->sheet.expires_ns = progress->expires_ns;
	record->sheet.from_ns = progress->from_ns;
	record->sheet.to_ns = progress->to_ns;
	record->updated_ns = progress->updated_ns;
	record->accepted_ns = progress->accepted_ns;
	record->rejected_ns = progress->rejected_ns;
	record->applied_ns = progress->applied_ns;
	record->verified_ns = progress->verified_ns;
	record->watched_ns = progress->looked_ns;
	record->rates = progress->rates;
	record->n_rates = progress->n_rates;
	record->roll_back_open = progress->rollback != NULL;
	if (record->roll_back_open && !record->roll_back_why)
		record->roll_back_why = progress->rollback->why;
}

struct tune_record *tune_record_parse(const json_t *document)
{
	if (!json_is_object(document))
		return NULL;
	rw_cleanup(tune_record_freep) struct tune_record *record = tune_record_new();
	struct tune_paper paper = {.r = *record};
	shape_read(&tune_paper_shape, document, record->arena, &paper);
	*record = paper.r;
	record->vendor = (struct tune_vendor_texts){json_deep_copy(paper.r.vendor.apply),
		json_deep_copy(paper.r.vendor.undo), json_deep_copy(paper.r.vendor.notes)};
	if (!words_are_known(&record->sheet) || !paper.progress)
		return NULL;
	if (paper.rollback_due) {
		record->roll_back_ns = paper.rollback_due->t_ns;
		record->roll_back_why = paper.rollback_due->why;
	}
	record->verified = verified_of(paper.verification, record->arena);
	history_with_room(record);
	progress_into(paper.progress, record);
	return rw_take(record);
}

struct tune_record *tune_record_load(const char *text)
{
	json_t *document = json_outside(text, strlen(text), 0, NULL);
	struct tune_record *record = tune_record_parse(document);
	json_decref(document);
	return record;
}

struct tune_record *tune_record_copy(const struct tune_record *record)
{
	json_t *document = tune_record_json(record, TUNE_DOCUMENT_WHOLE);
	struct tune_record *copy = tune_record_parse(document);
	json_decref(document);
	return copy;
}

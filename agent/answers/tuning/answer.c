/* answer - the tables of `report tuning`, in the order in which its document has them. */
#include "agent/answers/tuning/answer.h"

#define SHAPE struct sheet_due
static const struct field sheet_due_fields[] = {TIME(time, "Since when."), TEXT(why, "Why.")};
static SHAPE_OF(sheet_due, "SheetDue", "");
#undef SHAPE

#define SHAPE struct sheet_row
static const struct field sheet_row_fields[] = {
	TEXT(id, "Identity.", .type = "id", .known = true),
	TEXT(device, "Switch."),
	TEXT(port_group, "Ports."),
	PRIORITY(priority, "Priority, 0 to 7."),
	TEXT(diagnosis, "What is wrong.", .known = true),
	TEXT(advice, "What is advised.", .known = true),
	TEXT(summary, "The sheet in one sentence.", .known = true),
	TIME(made, "When it was made.", .known = true),
	TIME(expires, "When it is void."),
	TIME(accepted, "When it was accepted."),
	TEXT(accepted_by, "Who accepted it."),
	TIME(rejected, "When it was rejected."),
	TEXT(rejected_by, "Who rejected it."),
	TEXT(rejected_why, "Why."),
	TIME(applied, "When it was applied."),
	TEXT(applied_by, "Who said so."),
	TIME(verified, "When it was verified."),
	TEXT(verdict, "Result of the verification."),
	TEXTS(collect, "What data is missing.", .unknown = true),
	TEXT(blocked_by, "Incident that has to be solved first."),
	PART_AT(rollback_due, sheet_due, "", .taken = true),
	TEXT(subject, "The place in a few words.", .known = true),
	TEXT(state, "State in the ledger; empty: not recorded.", .known = true),
	TEXT(change, "The changes as one line."),
	TEXT(rollback_why, "Why it should be undone."),
	TEXT(waits_for, "What it waits for."),
	FLAG(in_range, "Was anything decided in the range?"),
	FLAG(recorded, "Does it stand in the ledger?", ONLY_IF(is_reviewed)),
};
SHAPE_OF(sheet_row, "SheetRow", "A sheet in a report.");
#undef SHAPE

#define SHAPE struct sheet_list
static const struct field sheet_list_fields[] = {
	ROWS(sheets, sheet_row, "The sheets."),
	TEXT(reason, "Why there is no sheet."),
};
SHAPE_OF(sheet_list, "SheetList", "");
#undef SHAPE

#define SHAPE struct limits_row
static const struct field limits_row_fields[] = {
	TEXT(device, "Switch.", .known = true, .head = "device"),
	TEXT(port, "Port; empty: of the switch.", .known = true, .head = "port"),
	PRIORITY(priority, "Priority, 0 to 7.", .head = "priority"),
	TEXT(what, "What it is.", .known = true, .head = "what"),
	NUMBER(peak_bytes, UNIT_BYTES, "Greatest level.", .known = true, .head = "peak"),
	NUMBER(limit_bytes, UNIT_BYTES, "Its size.", .known = true, .head = "size"),
	NUMBER(used_ratio, UNIT_RATIO, "Their quotient.", .known = true, .head = "used"),
};
SHAPE_OF(limits_row, "NearLimit", "A headroom or pool that was nearly full.");
#undef SHAPE

#define SHAPE struct limits_known
static const struct field limits_known_fields[] = {
	COUNT(headroom, "Headrooms."),
	COUNT(pools, "Pools."),
};
SHAPE_OF(limits_known, "NearKnown", "Of how many headrooms and pools the level is known.");
#undef SHAPE

#define SHAPE struct tuning_counts
static const struct field tuning_counts_fields[] = {
	COUNT(proposed, "Proposed."),
	COUNT(accepted, "Accepted."),
	COUNT(applied, "Applied."),
	COUNT(verified, "Verified."),
	COUNT(rejected, "Rejected."),
	COUNT(expired, "Expired."),
	COUNT(undone, "Undone."),
};
static SHAPE_OF(tuning_counts, "SheetCounts", "Sheets by state.");
#undef SHAPE

#define SHAPE struct tuning_lack
static const struct field tuning_lack_fields[] = {
	TEXT(subject, "The place.", .known = true),
	TEXT(text, "What is missing.", .known = true),
};
static SHAPE_OF(tuning_lack, "EvidenceLack", "Data that is missing.");
#undef SHAPE

#define SHAPE struct tuning_fix
static const struct field tuning_fix_fields[] = {
	TEXT(subject, "The place.", .known = true),
	TEXT(advice, "`fix_first` or `blocked`.", .known = true),
	TEXT(diagnosis, "What is wrong.", .known = true),
	TEXT(blocked_by, "The incident."),
	TEXT(summary, "In one sentence.", .known = true),
};
SHAPE_OF(tuning_fix, "FixFirst", "What to repair first.");
#undef SHAPE

#define SHAPE struct tuning_answer
static const struct field tuning_answer_fields[] = {
	ROWS(sheets, sheet_row, "Sheets with news in the range."),
	PART(counts, tuning_counts, "Sheets by state."),
	ROWS(review, sheet_row, "What a review of the last day says."),
	ROWS(evidence, tuning_lack, "What data is missing."),
	ROWS(fix_first, tuning_fix, "What to repair before thresholds are changed."),
	ROWS(near_limit, limits_row, "Headrooms and pools that were nearly full."),
	PART(near_known, limits_known, "Of how many headrooms and pools the level is known."),
};
SHAPE_OF(tuning_answer, "ReportTuning", "Threshold reviews and changes, for the weekly meeting.");
#undef SHAPE

/* tune_sheet - a plan and its verdict, a fault, or the good news, as a sheet a person can read.
 * Inner header of tune. */
#pragma once

#include "analyzers/tune/tune.h"
#include "analyzers/tune/tune_gate.h"

/* ---- tune_basis ------------------------------------------------------------ */

/* tune_basis - what a sheet rests on, as one number: another number means another sheet. */

/* tune_basis - hash of the settings read back, the topology, and the names and versions of the
 * platforms. Pure. */
uint64_t tune_basis(const struct tune_in *in);

/* ---- tune_sheet ------------------------------------------------------------ */

/* @rest: places that follow the canary. */
void sheet_of_plan(const struct tune_plan *plan, const struct tune_verdict *verdict,
	const struct tune_site **rest, size_t n_rest, struct tune_sheet *ret);
void sheet_of_fault(
	const struct tune_case *tune_case, const struct tune_fault *fault, struct tune_sheet *ret);
/* A row of the table that names what to mend and no knob. */
void sheet_of_rule(
	const struct tune_case *tune_case, const struct tune_site *site, struct tune_sheet *ret);
/* Nothing to change on @priority: because it is good, or because too little is seen. */
void sheet_of_rest(const struct tune_case *tune_case, int priority, struct tune_sheet *ret);

/* How sure the sheet of a plan would be, 0..1. */
double tune_confidence(const struct tune_plan *plan);

/* tune_sheet_name - the id: of the fabric, the place, the diagnosis and the values. */
void tune_sheet_name(uint64_t fabric_id, struct tune_sheet *sheet);

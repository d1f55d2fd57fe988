/* steps/rows - the members of the answer: keys, columns and schema. */
#include "agent/answers/steps/steps_document.h"

#define SHAPE struct steps_usual
static const struct field steps_usual_fields[] = {
	TEXT(slot, "Time of the week.", .known = true),
	COUNT(slots, "Weeks it comes from."),
	NUMBER(octets_per_s, UNIT_NONE, "Usual throughput.", .type = "bytes_per_second"),
	NUMBER(spread_octets_per_s, UNIT_NONE, "How far it varies.", .type = "bytes_per_second"),
};
static SHAPE_OF(steps_usual, "Usual", "What a job usually moves.", .common = true);
#undef SHAPE

#define SHAPE struct steps_told
static const struct field steps_told_fields[] = {
	TEXT(job, "Job; `all hosts` where none is configured."),
	COUNT(gpus, "GPUs.", .unknown = true),
	COUNT(ports, "Ports of its hosts."),
	COUNT(ports_seen, "Ports that have data."),
	TEXT(measured_at, "Where throughput is measured.", .known = true),
	NUMBER(block_s, UNIT_SECONDS, "Time that one value is about."),
	NUMBER(coverage_ratio, UNIT_RATIO, "Share of the expected samples that were there."),
	NUMBER(octets_per_s, UNIT_NONE, "Throughput.", .type = "bytes_per_second"),
	NUMBER(step_declared_s, UNIT_SECONDS, "Step time of the configuration."),
	NUMBER(step_s, UNIT_SECONDS,
		"Step time that was found; null: not visible at this polling interval."),
	NUMBER(exchange_s, UNIT_SECONDS, "Exchange time in a step."),
	NUMBER(ranks_step_s, UNIT_SECONDS,
		"Step time as its ranks told last (`import collectives --note`)."),
	NUMBER(ranks_exchange_s, UNIT_SECONDS,
		"Time of its collectives in that step, of the rank that waited least."),
	NUMBER(ranks_waiting_s, UNIT_SECONDS, "What the median rank waited beside."),
	NUMBER(mfu_ratio, UNIT_RATIO,
		"Share of the GPUs' arithmetic, where `step_teraflop` and `gpu_teraflops` are "
		"declared."),
	TIME(stopped_since, "Since when it stands still."),
	NUMBER(duty_ratio, UNIT_RATIO, "Share of a step in which data is exchanged."),
	NUMBER(rhythm_confidence_ratio, UNIT_RATIO, "How sure the step time is, 0 to 1."),
	NUMBER(sample_s, UNIT_SECONDS, "Time between two samples."),
	NUMBER(idle_s, UNIT_SECONDS, "Time without traffic in the range."),
	PART_AT(usual, steps_usual, "What is usual at this time of the week."),
};
static SHAPE_OF(steps_told, "StepJob", "A job.", .common = true);
#undef SHAPE

#define SHAPE struct steps_level
static const struct field steps_level_fields[] = {
	TEXT(job, "Job.", .head = "job"),
	TIME(from, "Begin.", .known = true, .head = "from"),
	TIME(to, "End.", .known = true, .head = "to"),
	NUMBER(octets_per_s, UNIT_NONE, "Throughput.", .type = "bytes_per_second",
		.head = "octets_per_s"),
	NUMBER(error_ratio, UNIT_RATIO, "Uncertainty of it.", .head = "error_ratio"),
	NUMBER(change_ratio, UNIT_RATIO, "Change against the level before; -0.25: 25 % less.",
		.head = "change_ratio"),
	NUMBER(loss_ratio, UNIT_RATIO, "Share that is lost against the best level.",
		.head = "loss_ratio"),
	NUMBER(stretch_ratio, UNIT_RATIO, "Times that a step takes longer."),
	NUMBER(step_s, UNIT_SECONDS, "Step time, where `jobs[].step` is configured.",
		.head = "step_s"),
};
SHAPE_OF(steps_level, "Level", "A level of throughput.", .common = true);
#undef SHAPE

#define SHAPE struct steps_answer
static const struct field steps_answer_fields[] = {
	TIME(from, "Begin of the time."),
	TIME(to, "End of the time."),
	ROWS(jobs, steps_told, "The jobs."),
	ROWS(levels, steps_level, "Each level of throughput, from change to change."),
};
SHAPE_OF(steps_answer, "steps",
	"Training rhythm: throughput of each job, its changes, and its step time.");
#undef SHAPE

/* counters/rows - the members of the answer: keys and schema. */
#include "agent/answers/counters/counters_document.h"

#define SHAPE struct counters_row
static const struct field counters_row_fields[] = {
	TEXT(device, "Switch.", .known = true),
	TEXT(port, "Port.", .known = true),
	PRIORITY(priority, "Priority, 0 to 7; null: the port."),
	MAYBE(lossless, "Is the priority lossless?"),
	TEXT(peer, "Device or host behind the port."),
	TEXT(host, "Host."),
	TEXT(job, "Job."),
	NUMBER_AS("drops", grew[COUNTERS_DROPS], UNIT_NONE, "Frames dropped."),
	NUMBER_AS("errors", grew[COUNTERS_ERRORS], UNIT_NONE, "Frames damaged."),
	NUMBER_AS("flaps", grew[COUNTERS_FLAPS], UNIT_NONE, "Times that the link went down."),
	NUMBER_AS("marked", grew[COUNTERS_MARKED], UNIT_NONE, "Packets marked by ECN."),
	NUMBER_AS("packets", grew[COUNTERS_PACKETS], UNIT_NONE, "Packets sent."),
	NUMBER_AS("octets", grew[COUNTERS_OCTETS], UNIT_NONE, "Bytes sent."),
	HIDDEN(at),
};
static SHAPE_OF(counters_row, "CounterRow", "One port or one priority of it.");
#undef SHAPE

#define SHAPE struct counters_answer
static const struct field counters_answer_fields[] = {
	TIME(from, "Begin of the time.", .known = true),
	TIME(to, "End of the time.", .known = true),
	NUMBER(seconds, UNIT_SECONDS, "Length of the time.", .known = true),
	ROWS(rows, counters_row, "Ports and their priorities."),
};
SHAPE_OF(counters_answer, "counters", "Counters of the ports of a device over a time (HTTP only).");
#undef SHAPE

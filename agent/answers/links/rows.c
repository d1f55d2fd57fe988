/* links/rows - the members of the answer: keys, columns and schema. */
#include "agent/answers/links/answer.h"

const char *const links_state_words[LINK_STATES] = {
	[LINK_UNKNOWN] = "unknown", [LINK_DOWN] = "down", [LINK_UP] = "up"};

#define SHAPE struct link_port
static const struct field link_port_fields[] = {
	TEXT(device, "Switch.", .known = true, .head = "device"),
	TEXT(port, "Port.", .known = true, .head = "port"),
	TEXT(peer, "What is behind the port.", .head = "peer"),
	WORD(state, link_state, links_state_words, LINK_STATES,
		"`up`, `down` or `unknown` at the end of the range.", .head = "state"),
	NUMBER(up_ratio, UNIT_RATIO, "Share of the samples in which it was up.", .head = "up"),
	NUMBER(flaps, UNIT_COUNT, "Times that the link went down or up.", .head = "flaps"),
	NUMBER(speed_bps, UNIT_BITS_PER_S, "Speed.", .head = "speed"),
	NUMBER(class_bps, UNIT_BITS_PER_S, "Speed that is declared for it."),
	NUMBER(mtu_bytes, UNIT_BYTES, "MTU."),
	NUMBER(in_errors, UNIT_COUNT, "Damaged frames received.", .head = "in errors"),
	NUMBER(out_errors, UNIT_COUNT, "Damaged frames sent.", .head = "out errors"),
	NUMBER(errors_per_s, UNIT_NONE, "Damaged frames per second."),
	NUMBER(worst_errors_per_s, UNIT_NONE, "The same in the worst step.", .head = "worst/s"),
	NUMBER(fcs_errors, UNIT_COUNT, "Frames with a wrong check sum."),
	NUMBER(symbol_errors, UNIT_COUNT, "Symbols with errors."),
	NUMBER(fec_corrected, UNIT_COUNT, "Codewords that FEC corrected."),
	NUMBER(fec_uncorrectable, UNIT_COUNT, "Codewords that FEC could not correct.",
		.head = "FEC lost"),
	NUMBER(pre_fec_ber, UNIT_NONE, "Bit error ratio before FEC."),
	NUMBER(rx_power_dbm, UNIT_NONE, "Received light, dBm, last value.", .head = "rx dBm"),
	NUMBER(rx_power_least_dbm, UNIT_NONE, "Least received light, dBm."),
	NUMBER(tx_power_dbm, UNIT_NONE, "Sent light, dBm, last value."),
	NUMBER(temperature_c, UNIT_NONE, "Temperature of the optic, degrees Celsius."),
	TEXTS(words, "What stands out.", .head = "what"),
	HIDDEN(fabric_port),
	HIDDEN(linked),
};
SHAPE_OF(link_port, "ReportPort", "A port that stands out.", .common = true);
#undef SHAPE
const struct shape_table links_ports_table = {.shape = &link_port_shape};

#define SHAPE struct link_change
static const struct field link_change_fields[] = {
	TIME(time, "When; of a speed or MTU, when the new value was read at the latest.",
		.known = true, .head = "time"),
	TEXT(device, "Device.", .head = "device"),
	TEXT(port, "Port.", .head = "port"),
	TEXT(text, "What changed or was done.", .known = true, .head = "what"),
	TEXT(by, "Who did it.", .head = "by"),
};
SHAPE_OF(link_change, "LinkChange", "A change.");
#undef SHAPE

#define SHAPE struct link_limits
static const struct field link_limits_fields[] = {
	NUMBER(errors_per_s, UNIT_NONE, "Frames with errors per second.", .known = true),
};
static SHAPE_OF(link_limits, "LinkLimits", "Limits of errors.");
#undef SHAPE

#define SHAPE struct links_known
static const struct field links_known_fields[] = {
	COUNT(all, "All ports.", .head = "ports"),
	COUNT(linked, "Ports with a link.", .head = "linked"),
	COUNT(state, "With their state.", .head = "state known"),
	COUNT(errors, "With their errors.", .head = "errors"),
	COUNT(flaps, "With their transitions.", .head = "flaps"),
	COUNT(fec, "With FEC counters.", .head = "FEC"),
	COUNT(optics, "With optical power.", .head = "light"),
	COUNT(speed, "With their speed.", .head = "speed"),
};
SHAPE_OF(links_known, "PortsKnown", "Ports of which each fact is known.");
#undef SHAPE

#define SHAPE struct links_answer
static const struct field links_answer_fields[] = {
	TREE(incidents, "ReportIncident", "Incidents about links that were open in the range.",
		.known = true, .list = true),
	TEXT(source, "What the numbers come from: `values`, `minutes` or `hours`."),
	NUMBER(step_s, UNIT_SECONDS, "Time of a step."),
	NUMBER(coverage_ratio, UNIT_RATIO, "Share of the expected samples that were there."),
	PART(limits, link_limits, "Limits that ports were judged by."),
	ROWS(ports, link_port, "Ports that stand out, the worst first."),
	PART(ports_known, links_known, "Ports of which each fact is known."),
	ROWS(changes, link_change, "Changes of speed and MTU, and those that people noted."),
	TIME(rings_clean,
		"When no ring of buffers was possible last (`ring_possible`); null: not judged, "
		"where no link between switches is known, one leads to a switch that is not "
		"configured, or no priority is lossless."),
	FLAG(ring_open, "A ring of buffers is possible at the end of the range."),
	PART(chart, chart, "Errors and transitions over time."),
	ROWS(audit, topology_finding, "What does not match between both ends of a link."),
	PART(checked, topology_checked, "Links that could be compared."),
};
SHAPE_OF(links_answer, "report-links",
	"What was down, flapped, ran slow, lost frames or does not match, over a time range.");
#undef SHAPE

/*
 * doctor_captures - the doctor's view of what comes in by itself: packet captures and SNMP traps.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "agent/document/json_value.h"
#include "agent/answers/common/capture_facts.h"
#include "agent/answers/doctor/capture_sight.h"
#include "agent/answers/doctor/doctor_internal.h"
#include "config/config.h"
#include "db/series/history.h"

#define EXPECT_NS (5 * 60 * NS_PER_S) /* what a capture should have seen is asked for this long */
#define IMPOSSIBLE_SHARE 1.5 /* captured bytes, of what the port's counters say */

/* ---- captures ------------------------------------------------------------ */

/* Bytes over EXPECT_NS; NAN = not known. */
struct expectation {
	double captured; /* captured times sampling */
	double counted; /* by the counters of the port */
};

static double doctor_captures_number_or_nan(const char *text)
{
	if (text)
		return strtod(text, NULL);
	return NAN;
}

static int take_expectation(void *arg, int n, char *const *words, char *const *names)
{
	struct expectation *expectation = arg;
	expectation->captured = doctor_captures_number_or_nan(words[0]);
	expectation->counted = doctor_captures_number_or_nan(words[1]);
	return 0;
}

static void add_quoted(struct str *sql, const char *text)
{
	str_add(sql, "'");
	for (; *text; text++) {
		if (*text == '\'')
			str_add(sql, "'");
		str_addn(sql, text, 1);
	}
	str_add(sql, "'");
}

/* The counters of the mirrored port count every frame, the capture RoCE alone: more than they say
 * is impossible, much less needs a reason. */
static struct expectation expectation_of(
	const struct doctor *doctor, const struct config_capture *capture)
{
	const struct expectation none = {NAN, NAN};
	struct expectation expectation = none;
	rw_cleanup(str_done) struct str sql = {0}, where = {0};
	if (!capture->device || !capture->port)
		return none;
	long long from_ns = (long long)(doctor->client->at_ns - EXPECT_NS);
	const char *metrics = "'port.in_octets','port.out_octets'";
	if (str_eq(capture->direction, "in"))
		metrics = "'port.in_octets'";
	else if (str_eq(capture->direction, "out"))
		metrics = "'port.out_octets'";
	str_add(&where, "device=");
	add_quoted(&where, capture->device);
	str_add(&where, " AND port=");
	add_quoted(&where, capture->port);
	str_addf(&sql,
		"SELECT (SELECT sum(octets*sampling) FROM flows WHERE %s AND total=1 AND "
		"to_ns>%lld), (SELECT sum(rate*interval_s) FROM rates WHERE %s AND t_ns>%lld AND "
		"metric IN (%s))",
		where.s, from_ns, where.s, from_ns, metrics);
	struct err ignored; /* without the estimate the rest still stands */
	if (history_sql(doctor->client->history, sql.s, take_expectation, &expectation, &ignored) <
		0)
		return none;
	return expectation;
}

static double capture_figure(
	const struct doctor *doctor, const struct config_capture *capture, const char *key)
{
	return capture_fact(doctor->health, capture->name, key);
}

/* "lldp 12, arp 3": the figures of @capture whose keys begin with @prefix, in the order of their
 * keys. Returns their sum; @ret_some: of those whose kind @is wants. */
static double capture_kinds(const struct doctor *doctor, const struct config_capture *capture,
	const char *prefix, bool (*is)(const char *kind), struct str *text, double *ret_some)
{
	rw_cleanup(str_done) struct str start = {0};
	const char *key;
	json_t *value;
	double sum = 0;
	str_addf(&start, "capture/%s/%s_", capture->name, prefix);
	*ret_some = 0;
	json_object_foreach (doctor->health, key, value) {
		if (strncmp(key, start.s, start.n) != 0)
			continue;
		const char *kind = key + start.n;
		const double n = json_number_value(value);
		str_addf(text, "%s%s %.0f", str_if(text->n, ", "), kind, n);
		sum += n;
		if (is(kind))
			*ret_some += n;
	}
	return sum;
}

/* Protocols of the switch itself: names of frame_census. */
static bool is_control(const char *kind)
{
	static const char *const names[] = {
		"arp", "lldp", "lacp", "stp", "bgp", "ospf", "icmp", "dhcp"};
	for (size_t i = 0; i < rw_countof(names); i++)
		if (str_eq(kind, names[i]))
			return true;
	return false;
}

static void capture_tell_sight(
	struct doctor *doctor, const struct config_capture *capture, struct str *notes)
{
	rw_cleanup(str_done) struct str instead = {0}, refused = {0};
	struct reason reasons[CAPTURE_SIGHT_MAX];
	double ignored;
	struct capture_sight sight = {
		.interface_frames = capture_figure(doctor, capture, "interface_frames"),
		.frames = capture_figure(doctor, capture, "frames"),
		.roce = capture_figure(doctor, capture, "roce"),
		.bad = capture_figure(doctor, capture, "bad"),
		.kernel_drops = capture_figure(doctor, capture, "kernel_drops"),
		.requests = capture_figure(doctor, capture, "requests"),
		.answers = capture_figure(doctor, capture, "answers"),
		.aeth_cut = capture_figure(doctor, capture, "aeth_cut"),
		.copies = capture_figure(doctor, capture, "copies"),
		.one_direction = !str_eq(str_or(capture->direction, "both"), "both")};
	sight.instead = capture_kinds(
		doctor, capture, "instead", is_control, &instead, &sight.instead_control);
	sight.encapsulated =
		capture_kinds(doctor, capture, "refused", is_control, &refused, &ignored);
	sight.instead_as = str_or(instead.s, "");
	sight.encapsulated_as = str_or(refused.s, "");
	const size_t n = capture_sight_reasons(&sight, capture->name, reasons);
	for (size_t i = 0; i < n; i++)
		doctor_todo(doctor, false, capture->name, reason_row(reasons[i].code)->next, "%s",
			reasons[i].text + strlen(capture->name) + 2);
	if (sight.roce == 0)
		str_add(notes, "0 RoCE packets seen: this capture says nothing about the fabric; ");
	if (sight.kernel_drops > 0)
		str_addf(notes, "kernel dropped %.0f; ", sight.kernel_drops);
	if (sight.copies > 0)
		str_addf(notes, "%.0f copies left out; ", sight.copies);
	if (sight.encapsulated > 0)
		str_addf(notes, "not opened: %s; ", refused.s);
}

/* What became of the processes that read its packets. */
static void capture_tell_parser(
	struct doctor *doctor, const struct config_capture *capture, struct str *notes)
{
	const double ends = capture_figure(doctor, capture, "parser_ends");
	const double refused = capture_figure(doctor, capture, "parser_refused");
	const double unsent = capture_figure(doctor, capture, "unsent");
	if (ends > 0) {
		str_addf(notes, "its process was ended %.0f times; ", ends);
		doctor_todo(doctor, false, capture->name,
			"read why in the agent's log and in the events parser_down; if it crashed, "
			"keep a sample of this traffic (tcpdump -w) and report it as "
			"docs/security.md says",
			"the process that reads its packets was ended %.0f times since the agent "
			"started: the packets of those intervals are lost",
			ends);
	}
	if (refused > 0)
		doctor_todo(doctor, false, capture->name,
			"see whether the clock was set back; if not, keep a sample of this traffic "
			"(tcpdump -w) and report it as docs/security.md says",
			"%.0f rows of the process that reads its packets were refused: too many, "
			"in the future, or about others",
			refused);
	if (unsent > 0)
		doctor_todo(doctor, false, capture->name,
			"see whether this machine is overloaded, or capture less",
			"%.0f messages of the process that reads its packets were dropped because "
			"the agent did not take them in",
			unsent);
}

static void judge_capture(struct doctor *doctor, const struct config_capture *capture,
	const struct expectation *expectation, struct str *notes)
{
	capture_tell_parser(doctor, capture, notes);
	if (!isfinite(capture_figure(doctor, capture, "frames"))) {
		str_add(notes, "not open");
		return;
	}
	if (capture->listen)
		doctor_sflow(doctor, capture, notes);
	else
		capture_tell_sight(doctor, capture, notes);
	if (expectation->captured > 0 && expectation->counted > 0) {
		double share = expectation->captured / expectation->counted;
		str_addf(notes, "%.0f %% of the port's octets; ", 100 * share);
		if (share > IMPOSSIBLE_SHARE)
			doctor_todo(doctor, false, capture->name,
				"correct capture.sampling, or capture.port",
				"it stands for %.1f times what the counters of %s %s carried",
				share, capture->device, capture->port);
	}
	if (notes->n >= 2)
		notes->s[notes->n -= 2] = '\0'; /* the last "; " */
}

/* ---- rows ------------------------------------------------------------------- */

#define SHAPE struct doctor_capture
#define CAPTURE_FACT_FIELD(m, k, about) COUNT(m, about, .unknown = true),
static const struct field doctor_capture_fields[] = {
	TEXT(name, "Name in the configuration.", .known = true),
	TEXT(interface, "Interface or address it listens on."),
	COUNT(sampling, "One packet in this many is captured."),
	CAPTURE_FACTS(CAPTURE_FACT_FIELD) COUNT(captured_bytes,
		"Captured bytes times the sampling, of the last five minutes.", .unknown = true,
		.unit = UNIT_BYTES),
	COUNT(expected_bytes, "What the mirrored port carried by its counters, in the same time.",
		.unknown = true, .unit = UNIT_BYTES),
	TEXT(notes, "What stands out."),
};
SHAPE_OF(doctor_capture, "Capture", "One capture.");
#undef SHAPE

static void capture_read_facts(struct doctor_capture *row, const json_t *health, const char *name)
{
	CAPTURE_FACTS(CAPTURE_FACT_READ)
}

static struct doctor_capture capture_row(
	struct doctor *doctor, const struct config_capture *capture)
{
	rw_cleanup(str_done) struct str notes = {0};
	struct expectation expectation = expectation_of(doctor, capture);
	judge_capture(doctor, capture, &expectation, &notes);
	struct doctor_capture row = {.name = doctor_text(doctor, capture->name),
		.interface = doctor_text(doctor, str_or(capture->interface, capture->listen)),
		.sampling = (uint64_t)capture->sampling,
		.captured_bytes = doctor_count(expectation.captured),
		.expected_bytes = doctor_count(expectation.counted)};
	capture_read_facts(&row, doctor->health, capture->name);
	if (notes.n)
		row.notes = doctor_text(doctor, notes.s);
	return row;
}

void doctor_captures(struct doctor *doctor)
{
	const struct config *config = doctor->client->config;
	struct doctor_answer *answer = doctor->answer;
	answer->n_captures = config->n_captures;
	answer->captures = arena_array(doctor->arena, struct doctor_capture, config->n_captures);
	for (size_t i = 0; i < config->n_captures; i++)
		answer->captures[i] = capture_row(doctor, &config->captures[i]);
	json_object_set_new(doctor->doc, "captures",
		shape_rows_json(&doctor_capture_shape, answer->captures, answer->n_captures));
}

/* ---- traps --------------------------------------------------------------- */

static const struct {
	const char *name, *what, *remedy;
} trap_drops[] = {
	{"unknown_sender", "traps were dropped: their address belongs to no device, or to several",
		"set the trap source of the devices to the address they are polled at; the agent's "
		"log lists the senders"},
	{"wrong_credential", "traps were dropped: their community or user is not accepted",
		"add their credentials to traps.credentials, or correct the devices"},
	{"malformed", "messages on the trap port were no traps",
		"find out what else sends there; the agent's log lists the senders"},
	{"limited", "traps were dropped unread: one sender sent too many",
		"check that device; the agent's log lists it"},
};

#define SHAPE struct doctor_traps
static const struct field doctor_traps_fields[] = {
	FLAG(open, "Is the address open?"),
	COUNT(received, "Traps and informs that came.", .unknown = true),
	COUNT(events, "Events that were made of them.", .unknown = true),
	COUNT(informs, "Informs, which were answered.", .unknown = true),
	COUNT(repeated, "Informs that came again.", .unknown = true),
	COUNT(unknown_trap, "Kinds that mean nothing here.", .unknown = true),
	COUNT(unknown_sender, "From addresses that are not configured.", .unknown = true),
	COUNT(wrong_credential, "With a wrong community or user.", .unknown = true),
	COUNT(malformed, "That could not be read.", .unknown = true),
	COUNT(limited, "Dropped because too many came.", .unknown = true),
};
static SHAPE_OF(doctor_traps, "Traps", "Counts of SNMP traps.");
#undef SHAPE

static uint64_t traps_count(const struct doctor *doctor, const char *key)
{
	return doctor_count(doctor_health(doctor, "traps/%s", key));
}

void doctor_traps(struct doctor *doctor)
{
	double open = doctor_health(doctor, "traps/open");
	if (!isfinite(open)) {
		json_object_set_new(doctor->doc, "traps", json_null());
		return;
	}
	struct doctor_traps *traps = arena_new_of(doctor->arena, struct doctor_traps);
	*traps = (struct doctor_traps){.open = open > 0,
		.received = traps_count(doctor, "received"),
		.events = traps_count(doctor, "events"),
		.informs = traps_count(doctor, "informs"),
		.repeated = traps_count(doctor, "repeated"),
		.unknown_trap = traps_count(doctor, "unknown_trap"),
		.unknown_sender = traps_count(doctor, "unknown_sender"),
		.wrong_credential = traps_count(doctor, "wrong_credential"),
		.malformed = traps_count(doctor, "malformed"),
		.limited = traps_count(doctor, "limited")};
	doctor->answer->traps = traps;
	json_object_set_new(doctor->doc, "traps", shape_json(&doctor_traps_shape, traps));
	if (!(open > 0))
		doctor_todo(doctor, true, "traps",
			"see in the agent's log why the port cannot be opened; correct "
			"traps.listen",
			"no traps are received");
	for (size_t i = 0; i < rw_countof(trap_drops); i++) {
		double n = doctor_health(doctor, "traps/%s", trap_drops[i].name);
		if (n > 0)
			doctor_todo(doctor, false, "traps", trap_drops[i].remedy, "%.0f %s", n,
				trap_drops[i].what);
	}
}

/*
 * doctor_captures - the doctor's view of what comes in by itself: packet captures and SNMP traps.
 */
#include "agent/answers/doctor/doctor_captures.h"

#include "agent/document/json_value.h"
#include "agent/answers/common/agent_state.h"
#include "agent/answers/doctor/doctor_internal.h"
#include "config/config.h"
#include "db/series/history.h"

/* capture_sight - one row for each reason: when it holds, and its sentence. */

/* So few requests may simply not have been answered yet. */
#define REQUESTS_MIN 1000.0
/* From this share on a mirror of both directions is the reason, not a few duplicates. */
#define COPIES_SHARE 0.25
/* Frames of other kinds that say what an interface carries. */
#define INSTEAD_MIN 20.0
/* So much of a CPU port's traffic belongs to the switch itself. The rest is management. */
#define CONTROL_SHARE 0.9
#define CUT_MIN 10.0

struct sight_row {
	bool (*holds)(const struct capture_sight *sight);
	void (*tell)(const struct capture_sight *sight, const char *name, struct reason *ret);
	bool blind; /* it sees no RoCE at all: the first of these rows is enough */
};

static bool sees_roce(const struct capture_sight *sight)
{
	return sight->roce > 0;
}

/* ---- it sees nothing --------------------------------------------------------- */

static bool is_not_opened(const struct capture_sight *sight)
{
	return sight->encapsulated > 0 && sight->encapsulated >= sight->roce;
}

static void tell_not_opened(const struct capture_sight *sight, const char *name, struct reason *ret)
{
	reason_set(ret, PCAP_NOT_OPENED, name, sight->encapsulated, sight->encapsulated_as);
}

static bool is_silent(const struct capture_sight *sight)
{
	return sight->interface_frames == 0;
}

static void tell_silent(const struct capture_sight *sight, const char *name, struct reason *ret)
{
	reason_set(ret, PCAP_NO_FRAMES, name);
}

static bool is_cpu_port(const struct capture_sight *sight)
{
	return sight->instead >= INSTEAD_MIN &&
		sight->instead_control >= CONTROL_SHARE * sight->instead;
}

static void tell_cpu_port(const struct capture_sight *sight, const char *name, struct reason *ret)
{
	reason_set(ret, PCAP_CPU_PORT, name, sight->instead, sight->instead_as);
}

static bool is_something_else(const struct capture_sight *sight)
{
	return sight->instead > 0;
}

static void tell_something_else(
	const struct capture_sight *sight, const char *name, struct reason *ret)
{
	reason_set(ret, PCAP_OTHER_FRAMES, name, sight->instead, sight->instead_as);
}

static bool is_blind(const struct capture_sight *sight)
{
	return true;
}

static void tell_blind(const struct capture_sight *sight, const char *name, struct reason *ret)
{
	reason_set(ret, PCAP_NO_ROCE, name);
}

/* ---- it does not see all ------------------------------------------------------- */

static bool is_dropping(const struct capture_sight *sight)
{
	return sight->kernel_drops > 0;
}

static void tell_dropping(const struct capture_sight *sight, const char *name, struct reason *ret)
{
	reason_set(ret, PCAP_KERNEL_DROPS, name, sight->kernel_drops,
		sight->frames + sight->kernel_drops);
}

static bool is_one_way(const struct capture_sight *sight)
{
	if (sight->one_direction) /* as it was asked for */
		return false;
	return (sight->requests >= REQUESTS_MIN && sight->answers == 0) ||
		(sight->answers >= REQUESTS_MIN && sight->requests == 0);
}

static void tell_one_way(const struct capture_sight *sight, const char *name, struct reason *ret)
{
	reason_set(ret, PCAP_ONE_WAY, name, sight->requests, sight->answers);
}

static bool is_cut(const struct capture_sight *sight)
{
	return sight->aeth_cut >= CUT_MIN;
}

static void tell_cut(const struct capture_sight *sight, const char *name, struct reason *ret)
{
	reason_set(ret, PCAP_AETH_CUT, name, sight->aeth_cut);
}

static bool is_doubled(const struct capture_sight *sight)
{
	return sight->copies > 0 && sight->copies >= COPIES_SHARE * sight->roce;
}

static void tell_doubled(const struct capture_sight *sight, const char *name, struct reason *ret)
{
	reason_set(ret, PCAP_COPIES, name, sight->copies, sight->roce);
}

static bool is_partly_opened(const struct capture_sight *sight)
{
	return sight->encapsulated > 0 && !is_not_opened(sight);
}

static const struct sight_row sight_rows[] = {
	{is_not_opened, tell_not_opened, true},
	{is_silent, tell_silent, true},
	{is_cpu_port, tell_cpu_port, true},
	{is_something_else, tell_something_else, true},
	{is_blind, tell_blind, true},
	{is_dropping, tell_dropping, false},
	{is_partly_opened, tell_not_opened, false},
	{is_one_way, tell_one_way, false},
	{is_cut, tell_cut, false},
	{is_doubled, tell_doubled, false},
};

size_t capture_sight_reasons(
	const struct capture_sight *sight, const char *name, struct reason ret[CAPTURE_SIGHT_MAX])
{
	bool told = sees_roce(sight);
	size_t n = 0;
	for (size_t i = 0; i < rw_countof(sight_rows) && n < CAPTURE_SIGHT_MAX; i++) {
		const struct sight_row *row = &sight_rows[i];
		if ((row->blind && told) || !row->holds(sight))
			continue;
		row->tell(sight, name, &ret[n++]);
		told |= row->blind;
	}
	return n;
}

/* ---- doctor_captures ----------------------------------------------------- */

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
	const char *name, *what, *remedy, *reason; /* .reason: of the senders */
} trap_drops[] = {
	{"unknown_sender", "traps were dropped: their address belongs to no device, or to several",
		"set the trap source of the devices to the address they are polled at",
		"refused:no_device:"},
	{"wrong_credential", "traps were dropped: their community or user is not accepted",
		"add their credentials to traps.credentials, or correct the devices",
		"refused:credential:"},
	{"malformed", "messages on the trap port were no traps", "find out what else sends there",
		"refused:malformed:"},
	{"limited", "traps were dropped unread: one sender sent too many", "check that device",
		"refused:rate:"},
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
		rw_cleanup(str_done) struct str senders = {0};
		const double n = doctor_health(doctor, "traps/%s", trap_drops[i].name);
		doctor_names(doctor, "traps", "snmp", trap_drops[i].reason, &senders);
		if (n > 0)
			doctor_todo(doctor, false, "traps", trap_drops[i].remedy, "%.0f %s%s%s%s",
				n, trap_drops[i].what, str_if(senders.n, " ("),
				str_or(senders.s, ""), str_if(senders.n, ")"));
	}
}

/* doctor_sflow - the doctor's view of a capture that receives sFlow. */

static const struct {
	const char *key, *what, *remedy;
} sflow_troubles[] = {
	{"strangers", "sFlow datagrams came from addresses that are not allowed and were not read",
		"add the senders to capture.allow, or their address as sflow.agent of the device"},
	{"kernel_drops", "sFlow datagrams were dropped because nobody read them in time",
		"sample less, or raise capture.buffer"},
	{"bad_datagrams", "datagrams were no sFlow, or damaged",
		"look what else sends to this port, and at the version of the sender's software"},
	{"other_versions", "datagrams were of another version of sFlow than 5",
		"set the devices to sFlow version 5"},
	{"lost_datagrams", "sFlow datagrams are missing by their sequence numbers",
		"look at the way from the devices to this machine: estimates stay valid, counts of "
		"flows are too low"},
	{"unmapped_agents",
		"sampled ports belong to agents that are no device of the configuration",
		"set sflow.agent of the device to the agent address in its datagrams; their rows "
		"stand under that address"},
	{"unmapped_ports", "sampled ports have an ifIndex without a name",
		"let SNMP read the device, or give sflow.ports; their rows stand under 'ifindex "
		"N'"},
	{"portless", "flow samples name no port: ifIndex 0 on both sides",
		"let the sender fill in the input and output of its samples (its own ifIndex); "
		"their rows stand under the device, without a port"},
	{"beyond", "samples were left out because there were too many ports or too many samples",
		"sample less: 1 in 10,000 or coarser on ports of 400G"},
};

void doctor_sflow(struct doctor *doctor, const struct config_capture *capture, struct str *notes)
{
	rw_cleanup(str_done) struct str strangers = {0};
	const double datagrams = doctor_health(doctor, "capture/%s/datagrams", capture->name);
	doctor_names(doctor, "capture", capture->name, "refused:not_allowed:", &strangers);
	if (datagrams == 0) {
		str_add(notes, "no sFlow has come: this capture says nothing about the fabric; ");
		doctor_todo(doctor, false, capture->name,
			"set this machine as the sFlow collector of the devices, and see whether a "
			"firewall lets the port through",
			"no sFlow datagram has come from an allowed address");
	} else {
		str_addf(notes, "%.0f datagrams of %.0f agents; ", datagrams,
			doctor_health(doctor, "capture/%s/agents", capture->name));
	}
	for (size_t i = 0; i < rw_countof(sflow_troubles); i++) {
		const double n = doctor_health(
			doctor, "capture/%s/%s", capture->name, sflow_troubles[i].key);
		const bool named = strangers.n && str_eq(sflow_troubles[i].key, "strangers");
		if (!(n > 0))
			continue;
		doctor_todo(doctor, false, capture->name, sflow_troubles[i].remedy, "%.0f %s%s%s%s",
			n, sflow_troubles[i].what, str_if(named, " ("),
			str_if(named, str_or(strangers.s, "")), str_if(named, ")"));
	}
}

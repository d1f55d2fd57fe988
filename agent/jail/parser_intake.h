/*
 * parser_intake - what a parser says, made into what the agent collects. The parser is hostile as
 * far as we know: whoever sends packets may have taken it over. So
 *
 *   - a message that is not exactly of its layout ends the parser (-EBADMSG);
 *   - it speaks of the ports of its own capture alone, or, for sFlow, of devices of the
 *     configuration by number and of agents by address: it cannot send a name; a receiver of what
 *     devices push sends names of ports, cleaned and so many of them, of devices that push;
 *   - text (events, log lines, reasons) is cleaned and marked as of this capture;
 *   - rows are bounded per interval; samples, events and log lines per second. What is beyond is
 *     dropped and counted, and so are rows of the future and of long ago.
 *
 * It can still lie about the traffic that it reads; who can send that traffic can do so anyway.
 * Loop thread.
 */
#pragma once

#include "base/base.h"

#include "agent/jail/parser_wire.h"
#include "collectors/target/collector.h"

struct parser_intake;
struct config_capture;
struct parser_map;

/* Rows of flows in an interval: of a capture, and of an sFlow listener with all its ports. What was
 * held up may come at once, so many intervals of it. */
enum {
	INTAKE_ROWS_PORT = FLOW_ROWS_MAX,
	INTAKE_ROWS_SFLOW = 10240,
	INTAKE_BURST_PORT = 20,
	INTAKE_BURST_SFLOW = 3,
};
/* Per second, of one parser. */
enum {
	INTAKE_SAMPLES = 65536,
	INTAKE_SAMPLES_PUSHED = 1000000,
	INTAKE_EVENTS = 32,
	INTAKE_LOGS = 20,
	INTAKE_NAMES = 65536, /* in all */
	INTAKE_NAMES_PUSHED = 1 << 20,
	INTAKE_BURST_PARTS = 2048, /* of one incident: 90 MB */
	INTAKE_PINNED = 8, /* incidents at once */
	INTAKE_NAMES_DEVICE = 1 << 16, /* of these, of one device: it must not crowd out others */
};

enum intake_who { INTAKE_DEVICE = 1, INTAKE_AGENT }; /* of NAMES and EVENT */

/* What a device number and an ifIndex mean here. Lent for the call; NULL: unknown. */
struct intake_lookup {
	void *arg;
	const char *(*device)(void *arg, uint32_t number);
	const char *(*port)(void *arg, uint32_t number, uint32_t ifindex);
	bool (*counters)(void *arg, uint32_t number); /* may there be samples of it? */
	/* what its object numbers mean, as struct collector_burst has it; malloc'd. May be NULL */
	char *(*objects)(void *arg, uint32_t number);
};

struct intake_options {
	const char *name, *protocol; /* of the capture; lent */
	struct entities *entities;
	const struct sink *sink; /* copied */
	/* A capture of an interface speaks of one port: .device, .port. sFlow has .lookup. */
	bool one_port;
	/* A receiver of what devices push: it names ports, by the devices' own names for them. */
	bool pushed;
	/* Samples of what is pushed go here first (collectors/push/pushed.h), device by device.
	 */
	struct push_hub *hub;
	uint32_t samples_s; /* of what is pushed; 0 = INTAKE_SAMPLES_PUSHED */
	const char *device, *port; /* lent, as the next */
	const char *event_device, *event_port; /* as the configuration says; NULL: it does not */
	struct intake_lookup lookup;
	int64_t interval_ns;
};

struct intake_figure {
	char key[PARSER_KEY_MAX];
	double value;
};
struct parser_intake *parser_intake_new(const struct intake_options *options);
void parser_intake_free(struct parser_intake *intake); /* NULL is fine */

/* parser_intake_message - one message. Its kind, or -EBADMSG, with what is wrong with it in
 * parser_intake_said()->wrong. */
int parser_intake_message(struct parser_intake *intake, const uint8_t *data, size_t n, wall_t now);
/* parser_intake_pinned - the parser was asked for the burst of this incident: it is taken, no other
 * one is. */
void parser_intake_pinned(struct parser_intake *intake, const char *id);
void parser_intake_second(struct parser_intake *intake); /* the bounds per second begin anew */

/* What was said last; by this parser, from its start. */
struct intake_said {
	enum target_state state;
	struct reason reason; /* of .state */
	uint64_t errors, values, polls;
	double poll_s; /* the last one */
	wall_t polled;
	int failed; /* negative errno: it could not open the capture */
	struct reason failure; /* of .failed */
	struct intake_figure figures[PARSER_FIGURES_MAX];
	size_t n_figures;
	uint64_t refused; /* rows, samples, events and lines beyond what it may send */
	uint32_t
		unmapped_ports; /* rows of totals in the last interval about ports without a name */
	uint64_t unmapped_samples;
	const char *wrong;
};
const struct intake_said *parser_intake_said(const struct parser_intake *intake);

/*
 * parser_map - what an sFlow parser has to know of the configuration, and what its numbers mean
 * here. It gets the addresses of the devices and who is allowed to send; names of devices and ports
 * stay with the agent. A number belongs to a name for as long as the map lives, over reloads. For a
 * capture of an interface the map is empty. Loop thread.
 */

struct parser_map *parser_map_new(const struct collector_lookup *lookup); /* copied */
void parser_map_free(struct parser_map *map); /* NULL is fine */

/* parser_map_update - both are lent until the next call. */
void parser_map_update(
	struct parser_map *map, const struct config *config, const struct config_capture *capture);
/* parser_map_changed - the next parser_map_send() sends all of it: to a new process. */
void parser_map_changed(struct parser_map *map);

/* parser_map_send - sends the map where it differs from what was sent last: after a reload, and
 * when the name of a device was resolved to an address. What @send refuses is tried at the next
 * call. */
typedef bool parser_map_send_fn(void *arg, const struct parser_out *out);
void parser_map_send(struct parser_map *map, parser_map_send_fn *send, void *arg);

/* parser_map_number - UINT32_MAX: no such device. */
uint32_t parser_map_number(const struct parser_map *map, const char *device);
struct intake_lookup parser_map_lookup(struct parser_map *map);

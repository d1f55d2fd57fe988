/*
 * gnmi_server - a gNMI server on gRPC C-core, as the counterpart of the collector: Capabilities,
 * Get, Subscribe in all modes, TLS with or without client certificates, and the habits and faults
 * of servers in the field. A library, so that tests and the simulated fabric can serve what they
 * like; values come by callback, gnmi_table.h is one that reads them from a text.
 *
 * One thread of its own; callbacks run on it. gnmi_server_new() returns when the port is open.
 */
#ifndef RW_TESTS_GNMI_SERVER_H
#define RW_TESTS_GNMI_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include "tests/fake/gnmi_speak.h"

typedef void gnmi_server_emit_fn(void *ctx, const struct speak_value *v); /* copied */

/* gnmi_server_values_fn - the values below @path. @round counts up with each sample of a
 * subscription. How many, or -ENOENT. */
typedef int gnmi_server_values_fn(void *arg, const char *target, const char *origin,
	const char *path, uint64_t round, gnmi_server_emit_fn *emit, void *ctx);

enum gnmi_fault {
	FAULT_NONE,
	FAULT_SILENT, /* takes the call and never says a thing */
	FAULT_NO_SYNC, /* data, but never a sync */
	FAULT_STALL, /* the first round and its sync, then nothing */
	FAULT_RESET, /* RST_STREAM at .fault_round */
	FAULT_END, /* status OK at .fault_round: a server that half-closes a stream */
	FAULT_STATUS, /* .fault_status and .fault_text at .fault_round */
	FAULT_HUGE, /* a message of .fault_bytes at .fault_round */
	/* bytes that are no message, each round from .fault_round on, before the real one */
	FAULT_GARBAGE,
	FAULT_WRONG_TYPES, /* numbers come as words from .fault_round on */
	FAULT_TIME, /* the clock is .fault_ns ahead (or behind) from .fault_round on */
	FAULT_ZERO_TIME, /* timestamp 0 from .fault_round on */
	/* everything asked for is deleted at .fault_round; values follow in the next */
	FAULT_DELETE,
	FAULT_EMPTY, /* an empty SubscribeResponse before each message: a keep-alive */
	FAULTS
};
extern const char *const gnmi_fault_names[FAULTS];

struct gnmi_server_options {
	const char *listen; /* "127.0.0.1:0" */
	/* PEM texts; ca: client certificates are asked for and must be signed by it */
	const char *cert, *key, *ca;
	const char *username, *password; /* NULL: anyone */
	/* as Capabilities says; NULL: PROTO, JSON_IETF, JSON */
	const unsigned *encodings;
	size_t n_encodings;
	const char *const *models;
	size_t n_models;
	bool no_capabilities, no_get, no_stream, no_once, no_poll; /* UNIMPLEMENTED */
	bool strict_encodings; /* INVALID_ARGUMENT for one that was not offered */
	bool one_by_one; /* one update per notification */
	bool sonic; /* SONiC's habits (config/profiles/sonic.yaml) */
	uint64_t period_ns; /* of all samples, instead of what was asked for; 0 = as asked */
	/* for benches: rounds after the first are renumbered copies (gnmi_template.h), this many
	 * updates a message */
	size_t prebuilt;
	/* for benches: after the sync this many copies of one notification, as fast as they are
	 * taken, and the end */
	uint64_t flood;
	bool gzip; /* all messages are compressed, whatever the client accepts */
	enum gnmi_fault fault;
	unsigned fault_calls; /* Subscribe calls that have it, from the first; 0 = all */
	uint64_t fault_round;
	int fault_status;
	const char *fault_text;
	uint64_t fault_bytes;
	int64_t fault_ns;
	gnmi_server_values_fn *values;
	void *values_arg;
};

struct gnmi_server_counts {
	unsigned capabilities, gets, subscribes, polls, refused;
	uint64_t messages;
};

struct gnmi_server;
/* NULL when the port or the certificates cannot be used. Everything in @o is lent until
 * gnmi_server_free(). */
struct gnmi_server *gnmi_server_new(const struct gnmi_server_options *o);
uint16_t gnmi_server_port(const struct gnmi_server *s);
struct gnmi_server_counts gnmi_server_counts(struct gnmi_server *s);
void gnmi_server_free(struct gnmi_server *s); /* all calls are cancelled; NULL is fine */

#endif

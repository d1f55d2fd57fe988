/*
 * gnmi_world - a gNMI target and the server it talks to, in one process, for tests. What the target
 * tells is kept.
 *
 *   world_begin(&w, &options, "profile: openconfig, ", "tls: { off: true }", "interval: 100ms");
 *   assert_true(world_until(&w, is_up, 10));
 *   world_end(&w);
 */
#ifndef RW_TESTS_GNMI_WORLD_H
#define RW_TESTS_GNMI_WORLD_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "collectors/gnmi/gnmi.h"
#include "tests/fake/gnmi_table.h"

struct world {
	struct loop *loop;
	struct loop_timer *check, *limit;
	struct entities *entities;
	struct config *config;
	struct gnmi_target *target;
	struct gnmi_server *server;
	/* of the server's threads: not on the stack of a test, which they outlive when it fails */
	struct gnmi_server_options *options;
	struct gnmi_table *table;
	uint16_t port;
	struct sink sink;
	struct sample_list samples;
	char profile[40], reasons[4000]; /* of all states, one a line */
	/* of the newest report, one a line: port, system, chassis and its kind, port and its kind,
	 * description */
	char neighbors[4000];
	unsigned ups, downs, reports;
	size_t n_outside; /* ports that the newest report calls no part of the fabric */
	bool (*until)(struct world *w);
	void (*sampled)(struct world *w); /* called for samples that came, on the loop; NULL */
	bool met;
	uint64_t mark; /* for conditions */
};

/* world_open - a server with @options (values from @table when it has none); port 0 = none is
 * started. */
void world_open(struct world *w, const struct gnmi_server_options *options, const char *table);
/* world_target - the target begins. All three are pieces of YAML flow: of the device ("profile:
 * sonic"), credentials ("tls: { off: true }") and gnmi section ("interval: 1s"). */
void world_target(struct world *w, const char *device, const char *credentials, const char *gnmi);
/* world_until - run until @until or @seconds are over. */
bool world_until(struct world *w, bool (*until)(struct world *w), int seconds);
void world_end(struct world *w);

/* Conditions. */
bool is_up(struct world *w);
bool is_down(struct world *w);
bool has_mark_samples(struct world *w); /* .mark samples or more */

/* world_last - the newest sample of a metric of leaf1; NULL. @port "" and @priority -1 as in
 * entities. */
const struct sample *world_last(
	const struct world *w, const char *metric, const char *port, int priority);
size_t world_count(const struct world *w, const char *metric, const char *port, int priority);
void world_expect(
	const struct world *w, const char *metric, const char *port, int priority, double value);

/* Certificates made on the spot. */
struct certificate {
	char *cert, *key;
	void *x, *k;
};
/* certificate_new - @issuer NULL: a CA. @names: "DNS:a,IP:1.2.3.4". Valid from now - 1 day until
 * now + @days. */
struct certificate certificate_new(
	const char *subject, const struct certificate *issuer, const char *names, int days);
void certificate_free(struct certificate *c);
/* file_with - a new file with this text below /tmp; unlink and free by file_gone(). */
char *file_with(const char *text);
void file_gone(char *path);

#endif

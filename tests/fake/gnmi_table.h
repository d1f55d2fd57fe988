/*
 * gnmi_table - what a fake gNMI server answers, from text: one value a line, tab-separated, '#'
 * comments:
 *
 *   target  path  kind  value          target "-" = none; kind: string int uint bool double json
 * json_ietf ascii
 *
 * An element "+" is sent without a name: the keys of the one before it, as Junos writes them.
 *
 * "PATH>SENT" is found by a request for PATH and sent as SENT: Junos' own sensors answer so.
 *
 * $(BASE) or $(BASE,STEP) in a value stands for BASE + STEP x round: counters that move by
 * themselves, the same in every run. A request is answered with the values of its target that are
 * written as the request is; where there are none, with those whose path it is a prefix of (element
 * by element; * and [key=*] match anything).
 */
#ifndef RW_TESTS_GNMI_TABLE_H
#define RW_TESTS_GNMI_TABLE_H

#include "tests/fake/gnmi_server.h"

struct gnmi_table;
/* NULL, with a message on stderr, for a text that is wrong. */
struct gnmi_table *gnmi_table_parse(const char *text, const char *name);
struct gnmi_table *gnmi_table_load(const char *file);
void gnmi_table_free(struct gnmi_table *t);

/* For struct gnmi_server_options.values, with the table as .values_arg. */
int gnmi_table_values(void *arg, const char *target, const char *origin, const char *path,
	uint64_t round, gnmi_server_emit_fn *emit, void *ctx);

#endif

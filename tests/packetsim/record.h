/* record - the files of a recorded case: fabric.yaml, samples.tsv, truth.json. */
#ifndef PACKETSIM_RECORD_H
#define PACKETSIM_RECORD_H

#include "tests/packetsim/phase.h"

struct run {
	const struct options *options;
	const struct fault *fault;
	struct phase *before; /* NULL: the fault is there from the start */
	struct phase *in;
};

void truth_print(const struct run *run, FILE *out);
void fabric_print(const struct run *run, FILE *out);
void samples_print(const struct run *run, FILE *out);
void flows_print(const struct run *run, FILE *out);

/* "leaf1"; "Ethernet1" */
void name_node(const struct net *net, unsigned node, char *out, size_t size);
unsigned port_number(const struct net *net, uint32_t port);

enum { PRIORITY = 3, CNP_PRIORITY = 6 };
#define METERS_PER_US 198.0 /* light in a fibre */

#endif

/*
 * faults - what each kind of fault does to the simulated fabric, and which flows it brings with it.
 * One row per kind; a kind without a row happens to the telemetry, to the job or to settings that
 * scenario_topology() reads.
 */
#ifndef FABRIC_FAULTS_H
#define FABRIC_FAULTS_H

#include "tests/fabric/scenario.h"
#include "tests/fabric/sim.h"

/* fault_break - before flows are added: what hashes, routes, links, switches and hosts are like
 * with it. */
void fault_break(struct sim *m, const struct scenario *s, const struct fault *f);

/* fault_flows - traffic that is there with the fault only. */
void fault_flows(struct sim *m, const struct scenario *s, const struct fault *f, uint64_t *random);

/* fault_every_rail - a host takes its fault to every rail; a link, a switch or a setting has one.
 */
bool fault_every_rail(enum fault_kind kind);

/* NULL: the scenario has none */
const struct fault *fault_of(const struct scenario *s, enum fault_kind kind);

#endif

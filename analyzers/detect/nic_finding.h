/*
 * nic_finding - what the NIC at the other end of a port adds to a finding about that port: its own
 * counters as evidence, and whether they agree with the switch's.
 */
#pragma once

#include "analyzers/finding_build.h"
#include "analyzers/measure/nic.h"

/* PCIe holds a NIC back from this share of time on: the limit of NVIDIA's own counter of stalled
 * seconds (Linux, Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst). */
#define NIC_PCI_STALLED 0.3
#define NIC_PCI_SECONDS 0.5 /* share of seconds that were stalled so much */

/* nic_prove - a counter of @nic as evidence, when it is known. */
void nic_prove(struct draft *draft, const struct nic_seen *nic, const char *metric,
	const struct amount *amount, const char *unit);

/*
 * nic_check_pause - holds the pause that the switch counts on both ways of @prio against what the
 * NIC counts. Both are evidence. Where both are measured and differ by more than a factor of two,
 * one of the two counters is wrong: that is said, and the result is a factor of less than 1 for the
 * confidence. 1 where they agree, or where the NIC tells none.
 */
double nic_check_pause(
	struct draft *draft, const struct analyzer_in *in, const struct port_prio *prio);

/* nic_is_stalled - PCIe holds the NIC of @port back. False also when that is not known. */
bool nic_is_stalled(const struct analyzer_in *in, const struct port_seen *port);
/* nic_prove_stall - evidence and a reason, when the NIC tells of its PCIe: that it holds the NIC
 * back, or that it does not. */
void nic_prove_stall(
	struct draft *draft, const struct analyzer_in *in, const struct port_seen *port);

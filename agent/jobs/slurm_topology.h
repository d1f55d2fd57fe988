/*
 * slurm_topology - the fabric as a tree of switches, in the words of Slurm's topology/tree plugin
 * (topology.conf(5), topology.yaml(5)).
 *
 * A fabric of leaves and spines is no tree. What places jobs well is which hosts are near each
 * other, so switches that serve the same hosts, or stand above the same switches, become one:
 *
 *      hosts  <- leaves that share hosts (the rails of a pod are one)
 *             <- what the same switches connect, tier by tier, up to the top
 *
 * Pure; @fabric is lent.
 */
#ifndef RW_AGENT_SLURM_TOPOLOGY_H
#define RW_AGENT_SLURM_TOPOLOGY_H

#include <stdio.h>
#include "config/fabric.h"

enum slurm_file { SLURM_YAML, SLURM_CONF }; /* topology.yaml (Slurm 25.05 on), topology.conf */

/* slurm_topology_print - one of the two files, to @out. 0, or -ENODATA: no link leads to a host. */
int slurm_topology_print(FILE *out, const struct fabric *fabric, enum slurm_file file);

#endif

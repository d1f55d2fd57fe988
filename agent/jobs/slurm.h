/* slurm - the words of Slurm: lists of hosts, and the switches of a fabric as its topology plugin
 * reads them. */
#pragma once

#include "base/base.h"
#include "config/fabric.h"

/*
 * hostlist - names of hosts as Slurm writes them: "node-[001-016,20],gpu7", also several brackets
 * in one name ("rack[1-2]n[01-16]"). Ranges are of decimal numbers; their width is that of the
 * first number, filled with zeros (slurm.conf(5), squeue(1) "%N"). Pure.
 */

/* hostlist_expand - all names of @text, in @a, in the order written. 0, or -EINVAL with @e: what is
 * wrong at which character, or more than HOSTLIST_MAX names. */
int hostlist_expand(
	struct arena *a, const char *text, const char *const **ret, size_t *ret_n, struct err *e);

/* hostlist_join - the shortest common way to write @n names, sorted as people sort them: runs of
 * numbers of the same width become a range. Names are taken as they are; duplicates once. */
void hostlist_join(struct str *out, const char *const *names, size_t n);

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

enum slurm_file { SLURM_YAML, SLURM_CONF }; /* topology.yaml (Slurm 25.05 on), topology.conf */

/* slurm_topology_print - one of the two files, to @out. 0, or -ENODATA: no link leads to a host. */
int slurm_topology_print(FILE *out, const struct fabric *fabric, enum slurm_file file);

/*
 * import_sonic - makes a configuration of ours from a switch's config_db.json: its links, and the
 * thresholds of its lossless priorities.
 *
 * What is taken (CONFIG_DB, sonic-yang-models): DEVICE_METADATA and MGMT_INTERFACE (name, role,
 * address), PORT (speeds, aliases), DEVICE_NEIGHBOR and DEVICE_NEIGHBOR_METADATA (the device at the
 * other end), CABLE_LENGTH, PORT_QOS_MAP pfc_enable (what is lossless), QUEUE and WRED_PROFILE
 * (ECN), BUFFER_PG, BUFFER_PROFILE and BUFFER_POOL. "xoff" there is our headroom: bytes after XOFF;
 * dynamic_th n is alpha = 2^n. DSCP_TO_TC_MAP and TC_TO_PRIORITY_GROUP_MAP say which class a packet
 * is in.
 *
 * A dump of CONFIG_DB (sonic-db-dump -n CONFIG_DB -y; also as it lies in a techsupport archive) is
 * read like a config_db.json. With the dynamic buffer model the configuration has no buffer profile
 * (NULL) for a lossless priority: a dump of APPL_DB behind the file of its switch has those in
 * force, and they win.
 *
 * Several files of one fabric make one configuration: a link that is in the files of both ends is
 * one link. What cannot be used gives a warning: a profile that is NULL or not in the file, a
 * fixed threshold, cable lengths of ports without a neighbour. A malformed row is an error with its
 * table, key and line.
 *
 * Everything lives in the set's arena; one thread.
 */
#pragma once

#include "base/base.h"

#include "config/fabric.h"

struct profiles;
struct import_set;

/* @profiles is lent: it has the cell size of an ASIC, by the device's hwsku. NULL: none is known.
 */
struct import_set *import_new(const struct profiles *profiles);
void import_free(struct import_set *set); /* NULL is fine */

/* import_sonic - one file. 0, or -EINVAL with at least one error; then nothing of it should be
 * printed. */
int import_sonic(struct import_set *set, const char *text, size_t n, const char *file,
	struct err_list *errors, struct err_list *warnings);

/* import_finish - what of the files could not be used, when all are read: one warning for each kind
 * and device. */
void import_finish(const struct import_set *set, struct err_list *warnings);

/* import_print - a configuration that `config check` accepts. */
void import_print(struct import_set *set, FILE *out);

/* import_files - all of the above: the configuration of the files @paths, ended by NULL, of @format
 * ("sonic", or "nvue" of Cumulus Linux), to @out. 0, or -EINVAL with what is wrong in @errors; then
 * nothing was printed; -ENOENT: there is no such format. */
int import_files(const char *format, const char *const *paths, FILE *out, struct err_list *errors,
	struct err_list *warnings);

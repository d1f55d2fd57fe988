/*
 * import_thresholds - the lossless priorities of a device and their thresholds. What cannot be used
 * is kept in the rows, and told when all files are read: a later one may still bring it. One
 * thread.
 */
#ifndef RW_AGENT_IMPORT_THRESHOLDS_H
#define RW_AGENT_IMPORT_THRESHOLDS_H

#include "agent/import/import_rows.h"

/* import_thresholds_read - of CONFIG_DB: PORT_QOS_MAP, QUEUE, WRED_PROFILE, BUFFER_PG,
 * BUFFER_PROFILE, BUFFER_POOL. */
void import_thresholds_read(struct sonic_file *file);
/* import_force_read - of APPL_DB: BUFFER_PG_TABLE, BUFFER_PROFILE_TABLE, BUFFER_POOL_TABLE. They
 * win.
 */
void import_force_read(struct sonic_file *file);

#endif

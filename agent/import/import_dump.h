/*
 * import_dump - a dump of a database as the tables of a config_db.json. SONiC's tools write one row
 * as one key: "BUFFER_PG|Ethernet0|3-4" in CONFIG_DB, "BUFFER_PG_TABLE:Ethernet0:3-4" in APPL_DB,
 * and its fields either as the value or below "value" (sonic-db-dump -y, sonic-utilities'
 * tests/mock_tables). A tree is changed only where its keys are written like that.
 */
#ifndef RW_AGENT_IMPORT_DUMP_H
#define RW_AGENT_IMPORT_DUMP_H

#include <jansson.h>

/* import_dump_tables - an object of tables, which the caller frees; @root is borrowed. A key that
 * is no row stays as it is. */
json_t *import_dump_tables(json_t *root);

#endif

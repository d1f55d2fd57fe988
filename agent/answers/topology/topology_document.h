/* topology_document - the fabric graph and its audit, from the configuration and what the database
 * knows of the ports. */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "agent/answers/topology/topology_views.h"

struct client;

/* topology_show_json() or topology_check_json(). */
typedef json_t *topology_make(const struct fabric *fabric, const struct topology_facts *facts);

/* topology_document - as of the end of the client's time range. A client without history knows the
 * configuration alone. 0 with a new reference, or negative errno with @e. */
int topology_document(struct client *client, topology_make *make, json_t **ret, struct err *e);
/* topology_audit_read - the audit as a struct, its texts in @a. */
int topology_audit_read(
	struct client *client, struct arena *a, struct topology_audit *ret, struct err *e);

/* live_gnmi_node - the gNMI server of one switch of a live lab. Its thread asks the simulation
 * under the lab's lock. */
#include "tests/fabric/live_gnmi.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "tests/fabric/live_lab.h"

#define FRESH_NS 20e6 /* paths of one request see one instant, or nearly */

static int node_values(void *arg, const char *target, const char *origin, const char *path,
	uint64_t round, gnmi_server_emit_fn *emit, void *ctx)
{
	struct live_node *n = arg;
	pthread_mutex_lock(&n->lab->busy);
	live_node_refresh(n, FRESH_NS);
	const int rc = n->tables.face->gnmi->values(&n->tables, target, path, emit, ctx);
	pthread_mutex_unlock(&n->lab->busy);
	return rc;
}

int live_gnmi_start(struct live_node *n, struct err *e)
{
	const struct live_gnmi_face *face = n->tables.face->gnmi;
	char listen[64];
	snprintf(listen, sizeof(listen), "%s:%u", n->address, face->port);
	n->gnmi_options = (struct gnmi_server_options){.listen = listen,
		.cert = n->lab->tls.cert,
		.key = n->lab->tls.key,
		.username = LAB_USER,
		.password = n->lab->secret,
		.encodings = face->encodings,
		.n_encodings = face->n_encodings,
		.models = face->models,
		.n_models = face->n_models,
		.no_get = face->no_get,
		.no_once = face->stream_only,
		.no_poll = face->stream_only,
		.strict_encodings = face->n_encodings == 1,
		.sonic = face->sonic,
		.values = node_values,
		.values_arg = n};
	n->server = gnmi_server_new(&n->gnmi_options);
	n->gnmi_options.listen = NULL; /* asked for above, and never again */
	return n->server
		? 0
		: err_set(e, -EADDRINUSE, "%s: cannot serve gNMI on %s", n->tables.name, listen);
}

void live_gnmi_stop(struct live_node *n)
{
	gnmi_server_free(n->server);
	n->server = NULL;
}

/*
 * gnmi_probe - a TLS handshake of our own, on a thread of the loop's pool, after gRPC failed to
 * connect: it says more exactly what is wrong. The target may be freed before it ends.
 */
#include "collectors/gnmi/gnmi_target.h"

#include <stdlib.h>
#include "agent/base/cleanup.h"
#include "agent/base/locked.h"
#include "agent/base/loop.h"

#define PROBE_NS (5 * NS_PER_S)

struct gnmi_probe {
	struct tls_probe tls;
	struct gnmi_target *target; /* NULL: freed meanwhile, nobody wants the result */
	gnmi_probe_fn *done;
	struct gnmi_secrets copies; /* the pool thread reads these, not the target's */
	char *host, *server_name, *status_text;
	int status_code;
};

static void probe_free(struct gnmi_probe *probe)
{
	gnmi_secrets_done(&probe->copies);
	free(probe->host);
	free(probe->server_name);
	free(probe->status_text);
	free(probe);
}

static void probe_work(void *arg)
{
	struct gnmi_probe *probe = arg;
	tls_probe(&probe->tls);
}

static void probe_done(void *arg)
{
	struct gnmi_probe *probe = arg;
	struct gnmi_target *target = probe->target;
	if (target) {
		const struct grpc_io_status status = {probe->status_code, probe->status_text};
		target->probe = NULL;
		probe->done(target, &probe->tls, &status);
	}
	probe_free(probe);
}

static char *copy_of(const char *text)
{
	if (text)
		return rw_strdup(text);
	return NULL;
}

static char *key_copy(const char *key)
{
	if (key)
		return locked_dup(key);
	return NULL;
}

bool gnmi_probe_start(
	struct gnmi_target *target, const struct grpc_io_status *status, gnmi_probe_fn *done)
{
	const struct config_gnmi *device = target->machine.device->gnmi;
	struct gnmi_probe *probe = rw_calloc(1, sizeof(*probe));
	*probe = (struct gnmi_probe){.target = target,
		.done = done,
		.host = rw_strdup(device->address),
		.server_name = copy_of(device->credential->gnmi->tls_server_name),
		.status_text = rw_strdup(status->text),
		.status_code = status->code,
		.copies = {.ca = copy_of(target->secrets.ca),
			.cert = copy_of(target->secrets.cert),
			.key = key_copy(target->secrets.key)}};
	probe->tls = (struct tls_probe){.host = probe->host,
		.port = device->port,
		.ca = probe->copies.ca,
		.cert = probe->copies.cert,
		.key = probe->copies.key,
		.server_name = probe->server_name,
		.timeout_ns = PROBE_NS};
	if (loop_work(target->machine.loop, probe_work, probe_done, probe) < 0) {
		probe_free(probe);
		return false;
	}
	target->probe = probe;
	return true;
}

void gnmi_probe_forget(struct gnmi_target *target)
{
	if (target->probe)
		target->probe->target = NULL;
	target->probe = NULL;
}

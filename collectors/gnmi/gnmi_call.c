/* gnmi_call - connections to a device and calls on them, with the credentials of its target. */
#include "collectors/gnmi/gnmi_target.h"

#include <stdio.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/locked.h"

int gnmi_target_channel(struct gnmi_target *target, struct grpc_io_channel **ret, struct err *e)
{
	const struct config_gnmi *device = target->machine.device->gnmi;
	const struct config_gnmi_credential *credential = device->credential->gnmi;
	const struct grpc_io_options options = {.host = device->address,
		.port = device->port,
		.tls = !credential->tls_off,
		.ca = target->secrets.ca,
		.cert = target->secrets.cert,
		.key = target->secrets.key,
		.server_name = credential->tls_server_name,
		.skip_verify = credential->tls_skip_verify,
		.max_message = (uint32_t)device->max_message,
		.connect_ns = device->timeout_ns};
	return grpc_io_connect(target->io, &options, ret, e);
}

/* bearer_header - "Bearer <token>"; the caller wipes it. */
static char *bearer_header(const char *token)
{
	const size_t size = strlen(token) + sizeof("Bearer ");
	char *text = locked_new(size);
	snprintf(text, size, "Bearer %s", token);
	return text;
}

int gnmi_target_call(struct gnmi_target *target, struct grpc_io_channel *channel,
	const struct gnmi_call *call, struct grpc_io_call **ret, struct err *e)
{
	const char *username = target->machine.device->gnmi->credential->gnmi->username;
	const struct gnmi_secrets *secrets = &target->secrets;
	struct grpc_io_metadata metadata[3];
	size_t n = 0;
	rw_cleanup(gnmi_secret_wipe) char *bearer = NULL;
	if (username)
		metadata[n++] = (struct grpc_io_metadata){"username", username};
	if (secrets->password)
		metadata[n++] = (struct grpc_io_metadata){"password", secrets->password};
	if (secrets->token) {
		bearer = bearer_header(secrets->token);
		metadata[n++] = (struct grpc_io_metadata){"authorization", bearer};
	}
	const struct grpc_io_request request = {.method = call->method,
		.metadata = metadata,
		.n_metadata = n,
		.p = call->request.p,
		.n = call->request.n,
		.half_close = call->unary};
	return grpc_io_call_new(channel, &request, call->events, call->arg, ret, e);
}

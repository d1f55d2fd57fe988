/* config_push - receivers of what devices push, and the devices that do. */
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "config/address.h"
#include "config/config_build.h"
#include "config/config_error.h"
#include "config/yaml.h"

struct config_device_push *build_device_push(struct build *build, struct tree_device_push *tree)
{
	if (!tree)
		return NULL;
	struct config_device_push *push = arena_new_of(build->c->arena, struct config_device_push);
	if (tree->interval_ns == 0)
		tree->interval_ns = build->c->tree->defaults->interval_ns;
	push->address = tree->address;
	push->names = tree->names.v;
	push->n_names = tree->names.n;
	push->objects = tree->objects.v;
	push->n_objects = tree->objects.n;
	push->interval_ns = tree->interval_ns;
	push->line = tree->node->line;
	return push;
}

static bool push_is_local(struct build *build, const char *listen)
{
	const char *host;
	uint16_t port;
	if (!listen || address_split(build->c->arena, listen, 0, &host, &port, NULL) < 0)
		return true;
	return address_is_local(host);
}

static void build_push_tls(
	struct build *build, const struct tree_push *tree, struct config_push *push)
{
	const bool local = push_is_local(build, tree->grpc) && push_is_local(build, tree->http);
	if (tree->tls) {
		push->cert = tree->tls->cert;
		push->key = tree->tls->key;
		push->client_ca = tree->tls->client_ca;
		build_file(build, tree->tls->node, "cert", push->cert, false);
		build_file(build, tree->tls->node, "key", push->key, true);
		build_file(build, tree->tls->node, "client_ca", push->client_ca, false);
	}
	push->insecure = tree->insecure;
	if (!local && !tree->tls && !tree->insecure)
		build_error(build, tree->node,
			"push: an address outside this machine needs tls: { cert: FILE, key: FILE "
			"}, "
			"so that nobody reads along or changes values; 'insecure: true' does "
			"without");
}

static void build_push(
	struct build *build, const struct tree_push *tree, struct config_capture *place)
{
	struct config_push *push = arena_new_of(build->c->arena, struct config_push);
	*place = (struct config_capture){.name = tree->name,
		.listen = str_or(tree->grpc, tree->http),
		.allow = tree->allow.v,
		.n_allow = tree->allow.n,
		.direction = "both",
		.mirrored = "both",
		.sampling = 1,
		.interval_ns = tree->interval_ns,
		.push = push,
		.line = tree->node->line};
	push->grpc = tree->grpc;
	push->http = tree->http;
	push->ipfix = tree->ipfix;
	push->ring_bytes = tree->ring;
	push->max_connections = (unsigned)tree->max_connections;
	push->max_message = tree->max_message;
	push->max_points_s = (uint64_t)tree->max_points_s;
	push->profile_dir = build->c->tree->profile_dir;
	const bool otlp = tree->grpc || tree->http;
	if (build->mode == CONFIG_FULL && otlp == (tree->ipfix != NULL))
		build_error(build, tree->node,
			"%s: expected 'grpc: ADDRESS:PORT', 'http: ADDRESS:PORT' or both, or "
			"'ipfix: ADDRESS:PORT'",
			str_or(tree->name, "push"));
	if (tree->ipfix) {
		place->listen = tree->ipfix;
		place->buffer_bytes = tree->buffer;
		return;
	}
	build_push_tls(build, tree, push);
}

void build_pushes(struct build *build)
{
	struct config *c = build->c;
	const struct tree_list *trees = &c->tree->pushes;
	struct smap *seen = smap_new();
	bool fed = false;
	c->pushes = arena_array(c->arena, struct config_capture, trees->n + 1);
	for (size_t i = 0; i < trees->n; i++) {
		const struct tree_push *tree = trees->v[i];
		build_push(build, tree, &c->pushes[c->n_pushes++]);
		build_already_given(build, seen, tree->node, "push", tree->name);
	}
	for (size_t i = 0; i < c->n_devices; i++)
		fed |= c->devices[i].push != NULL;
	if (fed && trees->n == 0 && build->mode == CONFIG_FULL && c->n_captures == 0)
		build_warn(build, build->root,
			"devices push, and nothing receives it: add 'push:' with grpc or http "
			"(rocewatch config explain push)");
	smap_free(seen);
}

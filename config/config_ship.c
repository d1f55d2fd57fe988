/* config_ship - where the store's content goes as well, from the file as read. */
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/map.h"
#include "config/config_build.h"

const char *sink_kind_name(enum sink_kind kind)
{
	static const char *const names[SINK_KINDS] = {
		[SINK_CLICKHOUSE] = "clickhouse",
		[SINK_REMOTE_WRITE] = "remote_write",
	};
	return names[kind];
}

static void ship_tls(
	struct build *build, const struct tree_alert_tls *tls, struct config_sink *sink)
{
	if (!tls)
		return;
	build_file(build, tls->node, "ca", tls->ca, false);
	build_file(build, tls->node, "cert", tls->cert, false);
	build_file(build, tls->node, "key", tls->key, true);
	if (!tls->cert != !tls->key)
		build_error(build, tls->node, "tls: cert and key belong together; give both");
	sink->tls_ca = tls->ca;
	sink->tls_cert = tls->cert;
	sink->tls_key = tls->key;
	sink->tls_skip_verify = tls->skip_verify;
}

static void ship_sink(
	struct build *build, enum sink_kind kind, struct tree_sink *tree, struct config_sink *ret)
{
	if (!tree->name)
		tree->name = sink_kind_name(kind);
	*ret = (struct config_sink){
		.kind = kind,
		.name = tree->name,
		.url = tree->url,
		.database = tree->database,
		.username = tree->username,
		.password = build_secret(build, tree->node, "password", &tree->password),
		.interval_ns = tree->interval_ns,
		.retry_ns = tree->retry_ns,
		.timeout_ns = tree->timeout_ns,
		.batch = (uint64_t)tree->batch,
	};
	if (ret->password.from != SECRET_NONE && !tree->username)
		build_error(build, tree->node, "a password without a user; add 'username: NAME'");
	ship_tls(build, tree->tls, ret);
}

void build_ship(struct build *build)
{
	struct config *c = build->c;
	const struct tree_ship *tree = c->tree->store->ship;
	size_t n = 0;
	if (!tree)
		return;
	c->ship.agent = tree->agent;
	c->ship.spool_bytes = tree->spool_bytes;
	for (size_t kind = 0; kind < SINK_KINDS; kind++)
		n += tree->sinks[kind].n;
	if (n == 0)
		build_error(build, tree->node, "ship: expected clickhouse or remote_write");
	c->ship.sinks = arena_array(c->arena, struct config_sink, n + 1);
	struct smap *seen = smap_new();
	for (size_t kind = 0; kind < SINK_KINDS; kind++)
		for (size_t i = 0; i < tree->sinks[kind].n; i++) {
			struct tree_sink *one = tree->sinks[kind].v[i];
			struct config_sink *to = &c->ship.sinks[c->ship.n_sinks++];
			ship_sink(build, (enum sink_kind)kind, one, to);
			build_already_given(build, seen, one->node, "ship", to->name);
		}
	smap_free(seen);
}

/* config_alerts - who receives what: the receivers of alerts, and the sinks of 'store.ship'. */
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/str.h"
#include "config/config_build.h"

enum { RECEIVERS_MAX = 32 }; /* each has a thread */

/* The file as printed shows the values in force. */
static void alerts_inherit(const struct config_alerts *alerts, struct config_receiver *receiver)
{
	if (receiver->min_severity < 0)
		receiver->min_severity = alerts->min_severity;
	if (!receiver->resend_ns)
		receiver->resend_ns = alerts->resend_ns;
	if (!receiver->name)
		receiver->name = receiver->kind->name;
}

static void alerts_check_login(struct build *build, const struct config_receiver *receiver)
{
	const bool password = receiver->password.from != SECRET_NONE;
	const struct yaml_node *at = build_at(receiver->node, "username");
	if (receiver->username && !password)
		build_error(build, at,
			"username has no password; add 'password_file: PATH' (or password_env, "
			"password_credential)");
	if (password && !receiver->username)
		build_error(
			build, receiver->node, "a password without a user; add 'username: NAME'");
	if (receiver->username && receiver->token.from != SECRET_NONE)
		build_error(build, at, "username: a token is given as well; keep one of them");
}

void config_check_program(struct build *build, const struct yaml_node *section, const char *key,
	const struct config_texts *argv)
{
	if (argv->n && argv->v[0][0] != '/')
		build_error(build, build_entry_at(section, key, argv->v[0]),
			"%s: '%.64s' is not a whole path; expected one such as /usr/sbin/sendmail",
			key, argv->v[0]);
}

static void alerts_receiver(struct build *build, struct config_receiver *receiver)
{
	const struct yaml_node *node = receiver->node;
	build_secret(build, node, "password", &receiver->password);
	build_secret(build, node, "token", &receiver->token);
	build_secret(build, node, "secret", &receiver->secret);
	build_tls(
		build, receiver->tls_node, receiver->tls_ca, receiver->tls_cert, receiver->tls_key);
	alerts_check_login(build, receiver);
	if (receiver->kind->complete)
		receiver->kind->complete(build, receiver);
	alerts_inherit(build->c->tree->alerts, receiver);
}

void build_alerts(struct build *build)
{
	struct config *c = build->c;
	const struct config_alerts *alerts = c->tree->alerts;
	if (!alerts)
		return;
	if (alerts->n_receivers > RECEIVERS_MAX) {
		build_error(build, alerts->node, "alerts: %zu receivers; expected at most %d",
			alerts->n_receivers, RECEIVERS_MAX);
		return;
	}
	struct smap *seen = smap_new();
	for (size_t i = 0; i < alerts->n_receivers; i++) {
		struct config_receiver *receiver = &alerts->receivers[i];
		alerts_receiver(build, receiver);
		build_already_given(build, seen, receiver->node, "alert receiver", receiver->name);
	}
	smap_free(seen);
	c->alerts = *alerts;
}

/* ---- sinks --------------------------------------------------------------- */

const char *sink_kind_name(enum sink_kind kind)
{
	static const char *const names[SINK_KINDS] = {
		[SINK_CLICKHOUSE] = "clickhouse",
		[SINK_REMOTE_WRITE] = "remote_write",
	};
	return names[kind];
}

static void ship_sink(struct build *build, struct config_sink *sink)
{
	if (!sink->name)
		sink->name = sink_kind_name(sink->kind);
	build_secret(build, sink->node, "password", &sink->password);
	if (sink->password.from != SECRET_NONE && !sink->username)
		build_error(build, sink->node, "a password without a user; add 'username: NAME'");
	build_tls(build, sink->tls_node, sink->tls_ca, sink->tls_cert, sink->tls_key);
}

void build_ship(struct build *build)
{
	struct config *c = build->c;
	struct config_ship *ship = c->tree->store->ship;
	size_t n = 0;
	if (!ship)
		return;
	for (size_t kind = 0; kind < SINK_KINDS; kind++)
		n += ship->of_kind[kind].n;
	if (n == 0)
		build_error(build, ship->node, "ship: expected clickhouse or remote_write");
	ship->sinks = arena_array(c->arena, struct config_sink, n + 1);
	struct smap *seen = smap_new();
	for (size_t kind = 0; kind < SINK_KINDS; kind++)
		for (size_t i = 0; i < ship->of_kind[kind].n; i++) {
			struct config_sink *sink = &ship->of_kind[kind].v[i];
			sink->kind = (enum sink_kind)kind;
			ship_sink(build, sink);
			build_already_given(build, seen, sink->node, "ship", sink->name);
			ship->sinks[ship->n_sinks++] = *sink;
		}
	smap_free(seen);
	c->ship = *ship;
}

/* config_alerts - the receivers of alerts, from the file as read. */
#include "config/config_alerts.h"

#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "config/config_build.h"

#define ALERTMANAGER_RESEND_NS (60 * NS_PER_S)
#define LOCAL_MTA "smtp://127.0.0.1:25"
enum { RECEIVERS_MAX = 32 }; /* each has a thread */

const char *receiver_kind_name(enum receiver_kind kind)
{
	static const char *const names[RECEIVER_KINDS] = {
		[RECEIVER_ALERTMANAGER] = "alertmanager",
		[RECEIVER_WEBHOOK] = "webhook",
		[RECEIVER_SYSLOG] = "syslog",
		[RECEIVER_MAIL] = "mail",
		[RECEIVER_COMMAND] = "command",
	};
	return names[kind];
}

static struct config_texts alerts_texts(const struct tree_values *values)
{
	return (struct config_texts){values->v, values->n};
}

/* The file as printed shows the values in force, so they are written into the tree. */
static void alerts_inherit(
	const struct tree_alerts *alerts, enum receiver_kind kind, struct tree_receiver *tree)
{
	if (tree->min_severity < 0)
		tree->min_severity = alerts->min_severity;
	if (!tree->resend_ns && kind == RECEIVER_ALERTMANAGER)
		tree->resend_ns = ALERTMANAGER_RESEND_NS;
	if (!tree->resend_ns)
		tree->resend_ns = alerts->resend_ns;
	if (!tree->name)
		tree->name = receiver_kind_name(kind);
	if (kind == RECEIVER_MAIL && !tree->url && tree->run.n == 0)
		tree->url = LOCAL_MTA;
}

static void alerts_check_login(struct build *build, const struct tree_receiver *tree,
	const struct config_receiver *receiver)
{
	const bool password = receiver->password.from != SECRET_NONE;
	if (tree->username && !password)
		build_error(build, build_at(tree->node, "username"),
			"username has no password; add 'password_file: PATH' (or password_env, "
			"password_credential)");
	if (password && !tree->username)
		build_error(build, tree->node, "a password without a user; add 'username: NAME'");
	if (tree->username && receiver->token.from != SECRET_NONE)
		build_error(build, build_at(tree->node, "username"),
			"username: a token is given as well; keep one of them");
}

static void alerts_check_run(
	struct build *build, enum receiver_kind kind, const struct tree_receiver *tree)
{
	const char *key = "run";
	if (kind == RECEIVER_MAIL)
		key = "command";
	if (tree->run.n && tree->run.v[0][0] != '/')
		build_error(build, tree->run.at[0],
			"%s: '%.64s' is not a whole path; expected one such as /usr/sbin/sendmail",
			key, tree->run.v[0]);
	if (kind == RECEIVER_MAIL && tree->run.n && tree->url)
		build_error(build, build_at(tree->node, "command"),
			"command: a server is given as well; keep one of them");
}

static void alerts_tls(
	struct build *build, const struct tree_alert_tls *tls, struct config_receiver *receiver)
{
	if (!tls)
		return;
	build_file(build, tls->node, "ca", tls->ca, false);
	build_file(build, tls->node, "cert", tls->cert, false);
	build_file(build, tls->node, "key", tls->key, true);
	if (!tls->cert != !tls->key)
		build_error(build, tls->node, "tls: cert and key belong together; give both");
	receiver->tls_ca = tls->ca;
	receiver->tls_cert = tls->cert;
	receiver->tls_key = tls->key;
	receiver->tls_skip_verify = tls->skip_verify;
}

static void alerts_receiver(struct build *build, enum receiver_kind kind,
	struct tree_receiver *tree, struct config_receiver *ret)
{
	alerts_inherit(build->c->tree->alerts, kind, tree);
	*ret = (struct config_receiver){
		.kind = kind,
		.name = tree->name,
		.min_severity = tree->min_severity,
		.resend_ns = tree->resend_ns,
		.retry_ns = tree->retry_ns,
		.timeout_ns = tree->timeout_ns,
		.spool = (size_t)tree->spool,
		.causes = alerts_texts(&tree->causes),
		.devices = alerts_texts(&tree->devices),
		.jobs = alerts_texts(&tree->jobs),
		.line = tree->node->line,
		.url = tree->url,
		.address = tree->address,
		.facility = tree->facility,
		.username = tree->username,
		.password = build_secret(build, tree->node, "password", &tree->password),
		.token = build_secret(build, tree->node, "token", &tree->token),
		.secret = build_secret(build, tree->node, "secret", &tree->secret),
		.from = tree->from,
		.to = alerts_texts(&tree->to),
		.run = alerts_texts(&tree->run),
	};
	alerts_tls(build, tree->tls, ret);
	alerts_check_login(build, tree, ret);
	alerts_check_run(build, kind, tree);
}

void build_alerts(struct build *build)
{
	struct config *c = build->c;
	const struct tree_alerts *tree = c->tree->alerts;
	size_t n = 0;
	if (!tree)
		return;
	c->alerts.web_url = tree->web_url;
	c->alerts.runbook_url = tree->runbook_url;
	for (size_t kind = 0; kind < RECEIVER_KINDS; kind++)
		n += tree->receivers[kind].n;
	if (n > RECEIVERS_MAX) {
		build_error(build, tree->node, "alerts: %zu receivers; expected at most %d", n,
			RECEIVERS_MAX);
		return;
	}
	c->alerts.receivers = arena_array(c->arena, struct config_receiver, n + 1);
	struct smap *seen = smap_new();
	for (size_t kind = 0; kind < RECEIVER_KINDS; kind++) {
		const struct tree_list *list = &tree->receivers[kind];
		for (size_t i = 0; i < list->n; i++) {
			struct tree_receiver *one = list->v[i];
			struct config_receiver *to = &c->alerts.receivers[c->alerts.n_receivers++];
			alerts_receiver(build, (enum receiver_kind)kind, one, to);
			build_already_given(build, seen, one->node, "alert receiver", to->name);
		}
	}
	smap_free(seen);
}

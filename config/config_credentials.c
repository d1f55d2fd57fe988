/* config_credentials - the log-ins of the configuration: each secret is named, never contained. */
#include <ctype.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "config/config_build.h"

void build_file(struct build *build, const struct yaml_node *section, const char *key,
	const char *path, bool secret)
{
	struct config *c = build->c;
	if (!path)
		return;
	const struct yaml_node *at = build_at(section, key);
	arena_grow_pow2(c->arena, c->files, c->n_files);
	c->files[c->n_files++] = (struct config_file){
		.key = key, .path = path, .secret = secret, .line = at->line, .col = at->col};
}

/* As POSIX names them (XBD 8.1); a pass phrase that stands here by mistake is hardly one. */
static bool credentials_is_variable(const char *name)
{
	static const char fit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	return *name && !isdigit((unsigned char)*name) && name[strspn(name, fit)] == '\0';
}

struct config_secret build_secret(struct build *build, const struct yaml_node *section,
	const char *key, const struct tree_secret *secret)
{
	const struct {
		int from;
		const char *suffix, *name;
	} ways[] = {
		{SECRET_FILE, "file", secret->file},
		{SECRET_ENV, "env", secret->env},
		{SECRET_CREDENTIAL, "credential", secret->credential},
	};
	struct config_secret found = {0};
	for (size_t i = 0; i < rw_countof(ways); i++) {
		if (!ways[i].name)
			continue;
		const char *name = arena_printf(build->c->arena, "%s_%s", key, ways[i].suffix);
		const struct yaml_node *at = build_at(section, name);
		if (found.from != SECRET_NONE) {
			build_error(build, at,
				"%s: this secret is already given in line %d; keep one of them",
				name, found.line);
			continue;
		}
		if (ways[i].from == SECRET_ENV && !credentials_is_variable(ways[i].name)) {
			/* not repeated: it may be the secret */
			build_error(build, at,
				"%s: expected the name of an environment variable, in capital "
				"letters, digits and _",
				name);
			continue;
		}
		found.from = ways[i].from;
		found.name = ways[i].name;
		found.line = at->line;
		found.col = at->col;
		if (found.from == SECRET_FILE)
			build_file(build, section, name, found.name, true);
	}
	return found;
}

/* Keys that another version of SNMP has. */
static void credentials_misplaced(struct build *build, const struct yaml_node *section,
	const char *const *keys, const char *why)
{
	for (; *keys; keys++) {
		const struct yaml_item *item = yaml_get(section, *keys);
		if (!item)
			continue;
		const struct yaml_node at = {.line = item->line, .col = item->col};
		build_error(build, &at, "%s %s", *keys, why);
	}
}

/* ---- SNMP ---------------------------------------------------------------- */

static void credentials_check_community(struct build *build, const struct yaml_node *node,
	const struct config_snmp_credential *snmp)
{
	static const char *const v3_keys[] = {"user", "context", "auth", "auth_file", "auth_env",
		"auth_credential", "priv", "priv_file", "priv_env", "priv_credential", NULL};
	credentials_misplaced(
		build, node, v3_keys, "belongs to version 3; set 'version: 3' or remove it");
	if (snmp->community.from == SECRET_NONE && !yaml_get(node, "community"))
		build_error(build, node,
			"the community is missing here; add 'community_file: PATH' (or "
			"community_env, community_credential)");
}

/* SNMPv3: a protocol needs its pass phrase, a pass phrase its protocol, and encryption needs
 * authentication (RFC 3414 section 1.4.1: there is no level "noAuthPriv"). */
static void credentials_check_usm(struct build *build, const struct yaml_node *node,
	const struct config_snmp_credential *snmp)
{
	static const char *const v2_keys[] = {
		"community_file", "community_env", "community_credential", NULL};
	const bool auth = snmp->auth != SNMP_AUTH_NONE, priv = snmp->priv != SNMP_PRIV_NONE;
	const bool auth_secret = snmp->auth_secret.from != SECRET_NONE;
	const bool priv_secret = snmp->priv_secret.from != SECRET_NONE;
	credentials_misplaced(
		build, node, v2_keys, "belongs to versions 1 and 2c; version 3 has 'user'");
	if (!snmp->user)
		build_error(
			build, node, "the key 'user' is missing here; version 3 needs a user name");
	if (auth && !auth_secret)
		build_error(build, build_at(node, "auth"),
			"auth has no pass phrase; add 'auth_file: PATH' (or auth_env, "
			"auth_credential)");
	if (!auth && auth_secret)
		build_error(build, node,
			"a pass phrase for authentication without a protocol; add 'auth: sha256', "
			"or the one that the switch has");
	if (priv && !priv_secret)
		build_error(build, build_at(node, "priv"),
			"priv has no pass phrase; add 'priv_file: PATH' (or priv_env, "
			"priv_credential)");
	if (!priv && priv_secret)
		build_error(build, node,
			"a pass phrase for encryption without a protocol; add 'priv: aes128', or "
			"the one that the switch has");
	if (priv && !auth)
		build_error(build, build_at(node, "priv"),
			"priv: encryption needs authentication; add 'auth: sha256' and its pass "
			"phrase");
	if (!auth)
		build_warn(build, node,
			"version 3 without authentication: anyone can answer in place of the "
			"switch");
}

static struct config_snmp_credential *credentials_snmp(
	struct build *build, const struct tree_snmp_credential *tree)
{
	if (!tree)
		return NULL;
	struct config_snmp_credential *snmp =
		arena_new_of(build->c->arena, struct config_snmp_credential);
	snmp->version = tree->version + 1;
	snmp->user = tree->user;
	snmp->context = str_or(tree->context, "");
	snmp->auth = SNMP_AUTH_NONE;
	if (tree->auth >= 0)
		snmp->auth = (enum snmp_auth)tree->auth;
	snmp->priv = SNMP_PRIV_NONE;
	if (tree->priv >= 0)
		snmp->priv = (enum snmp_priv)tree->priv;
	snmp->community = build_secret(build, tree->node, "community", &tree->community);
	snmp->auth_secret = build_secret(build, tree->node, "auth", &tree->auth_secret);
	snmp->priv_secret = build_secret(build, tree->node, "priv", &tree->priv_secret);
	if (tree->version < 0)
		return snmp; /* the missing version is reported already */
	if (snmp->version < 3)
		credentials_check_community(build, tree->node, snmp);
	else
		credentials_check_usm(build, tree->node, snmp);
	return snmp;
}

/* ---- gNMI ---------------------------------------------------------------- */

static void credentials_tls(
	struct build *build, const struct tree_tls *tls, struct config_gnmi_credential *gnmi)
{
	gnmi->tls_ca = tls->ca;
	gnmi->tls_cert = tls->cert;
	gnmi->tls_key = tls->key;
	gnmi->tls_server_name = tls->server_name;
	gnmi->tls_off = tls->off;
	gnmi->tls_skip_verify = tls->skip_verify;
	build_file(build, tls->node, "ca", tls->ca, false);
	build_file(build, tls->node, "cert", tls->cert, false);
	build_file(build, tls->node, "key", tls->key, true);
	if (tls->cert && !tls->key)
		build_error(build, tls->node, "cert and key belong together; add 'key: PATH'");
	if (tls->key && !tls->cert)
		build_error(build, tls->node, "cert and key belong together; add 'cert: PATH'");
	if (tls->off)
		build_warn(build, build_at(tls->node, "off"),
			"off: user name and password cross the network in clear text");
	else if (tls->skip_verify)
		build_warn(build, build_at(tls->node, "skip_verify"),
			"skip_verify: anyone in between can pose as the switch");
}

static struct config_gnmi_credential *credentials_gnmi(
	struct build *build, const struct tree_gnmi_credential *tree)
{
	if (!tree)
		return NULL;
	struct config_gnmi_credential *gnmi =
		arena_new_of(build->c->arena, struct config_gnmi_credential);
	gnmi->username = tree->username;
	gnmi->password = build_secret(build, tree->node, "password", &tree->password);
	gnmi->token = build_secret(build, tree->node, "token", &tree->token);
	if (gnmi->password.from != SECRET_NONE && !gnmi->username)
		build_error(
			build, tree->node, "a password without a user name; add 'username: NAME'");
	if (tree->tls)
		credentials_tls(build, tree->tls, gnmi);
	return gnmi;
}

/* ---- all of them --------------------------------------------------------- */

void build_credentials(struct build *build)
{
	const struct tree_list *trees = &build->c->tree->credentials;
	build->c->credentials = arena_array(build->c->arena, struct config_credential, trees->n);
	for (size_t i = 0; i < trees->n; i++) {
		const struct tree_credential *tree = trees->v[i];
		struct config_credential *credential =
			&build->c->credentials[build->c->n_credentials++];
		credential->name = tree->name;
		credential->line = tree->node->line;
		credential->snmp = credentials_snmp(build, tree->snmp);
		credential->gnmi = credentials_gnmi(build, tree->gnmi);
		if (!yaml_get(tree->node, "snmp") && !yaml_get(tree->node, "gnmi"))
			build_error(build, tree->node,
				"%s has no section; expected snmp or gnmi here", tree->name);
	}
}

const struct config_credential *build_credential(
	struct build *build, const struct yaml_node *section, const char *name, bool for_snmp)
{
	const struct config *c = build->c;
	const char *protocol = "gnmi";
	if (for_snmp)
		protocol = "snmp";
	if (!name) {
		if (build->mode == CONFIG_FULL && !yaml_get(section, "credentials"))
			build_error(build, section,
				"the key 'credentials' is missing here: a name from 'credentials:' "
				"that has an %s section",
				protocol);
		return NULL;
	}
	/* A recorded case may name what it was recorded with, and leave the log-ins out. */
	if (build->mode == CONFIG_CASE && !yaml_get(build->root, "credentials"))
		return NULL;
	const struct yaml_node *at = build_at(section, "credentials");
	const char **names = arena_array(c->arena, const char *, c->n_credentials + 1);
	for (size_t i = 0; i < c->n_credentials; i++) {
		const struct config_credential *credential = &c->credentials[i];
		names[i] = credential->name;
		if (strcmp(credential->name, name) != 0)
			continue;
		const void *for_protocol = credential->gnmi;
		if (for_snmp)
			for_protocol = credential->snmp;
		if (!for_protocol)
			build_error(build, at,
				"credentials: '%s' (line %d) has no %s section; add one there or "
				"name another",
				name, credential->line, protocol);
		return credential;
	}
	build_unknown_name(build, at, "credentials", "name", name, names, c->n_credentials,
		"expected one from 'credentials:'");
	return NULL;
}

/* config_credentials - the log-ins of the configuration: each secret is named, never contained. */

#include "config/config_build.h"
#include "base/locked.h"
#include "config/config.h"

/* ---- secret - reads a secret when it is needed. No message and no log line ever holds its
 * content. */

enum { SECRET_MAX_BYTES = 64 * 1024 };

static int strip_and_check(char *text, size_t n, const char *kind, const char *name, struct err *e)
{
	if (n > 0 && text[n - 1] == '\n')
		text[--n] = '\0';
	if (n > 0 && text[n - 1] == '\r')
		text[--n] = '\0';
	if (n == 0)
		return err_set(e, -EINVAL,
			"%s '%s' is empty; expected the secret in its first line", kind, name);
	if (strlen(text) != n)
		return err_set(e, -EINVAL, "%s '%s' has a NUL byte in it; expected a line of text",
			kind, name);
	return 0;
}

static int secret_from_file(
	const char *path, const char *kind, const char *name, char **ret, struct err *e)
{
	char *text = NULL;
	size_t n = 0;
	int r = locked_read_file(path, SECRET_MAX_BYTES, &text, &n, e);
	if (r == -ENOENT && !strchr(path, '/'))
		return err_set(e, r,
			"the %s of a secret does not exist; its name is not repeated, in case it "
			"is the secret itself: write it as ./NAME",
			kind);
	if (r == -ENOENT)
		return err_set(e, r,
			"%s '%s' does not exist; create it with mode 0600, owned by the user the "
			"agent runs as",
			kind, name);
	if (r == -EACCES || r == -EPERM)
		return err_set(e, -EACCES,
			"%s '%s' may not be read by this user; give it to the user the agent runs "
			"as%s",
			kind, name, outside_hint(path));
	if (r < 0)
		return r;
	r = strip_and_check(text, n, kind, name, e);
	if (r < 0) {
		locked_free(text);
		return r;
	}
	*ret = text;
	return 0;
}

/* What was taken out of the environment. Written before there are threads, then only read. */
static struct taken_secret {
	struct taken_secret *next;
	char *name, *value;
} * taken_secrets;

static const char *secret_taken(const char *name)
{
	for (const struct taken_secret *s = taken_secrets; s; s = s->next) {
		if (str_eq(s->name, name))
			return s->value;
	}
	return NULL;
}

static void secret_take(const struct config_secret *secret)
{
	if (secret->from != SECRET_ENV)
		return;
	char *value = getenv(secret->name);
	if (!value)
		return;
	struct taken_secret *taken = rw_calloc(1, sizeof(*taken));
	*taken = (struct taken_secret){
		.next = taken_secrets, .name = rw_strdup(secret->name), .value = locked_dup(value)};
	taken_secrets = taken;
	explicit_bzero(value, strlen(value)); /* the bytes that the kernel shows as environ */
	unsetenv(secret->name);
}

void secrets_leave_environment(const struct config *config)
{
	for (size_t k = 0; k < config->n_credentials; k++) {
		const struct config_credential *c = &config->credentials[k];
		if (c->snmp) {
			secret_take(&c->snmp->community);
			secret_take(&c->snmp->auth_secret);
			secret_take(&c->snmp->priv_secret);
		}
		struct config_login *const logins[] = {c->gnmi, c->scrape};
		for (size_t i = 0; i < rw_countof(logins); i++) {
			if (!logins[i])
				continue;
			secret_take(&logins[i]->password);
			secret_take(&logins[i]->token);
		}
	}
	for (size_t k = 0; k < config->ship.n_sinks; k++)
		secret_take(&config->ship.sinks[k].password);
	for (size_t k = 0; k < config->alerts.n_receivers; k++) {
		secret_take(&config->alerts.receivers[k].password);
		secret_take(&config->alerts.receivers[k].token);
		secret_take(&config->alerts.receivers[k].secret);
		secret_take(&config->alerts.receivers[k].url_secret);
	}
}

static int secret_from_env(const char *name, char **ret, struct err *e)
{
	const char *value = getenv(name);
	if (!value)
		value = secret_taken(name);
	if (!value)
		return err_set(e, -ENOENT,
			"environment variable '%s' is not set; set it for the agent or use a file",
			name);
	char *text = locked_dup(value);
	int r = strip_and_check(text, strlen(text), "environment variable", name, e);
	if (r < 0) {
		locked_free(text);
		return r;
	}
	*ret = text;
	return 0;
}

static int secret_from_credential(const char *name, char **ret, struct err *e)
{
	const char *dir = getenv("CREDENTIALS_DIRECTORY");
	if (!dir)
		return err_set(e, -ENOENT,
			"systemd credential '%s' cannot be read: $CREDENTIALS_DIRECTORY is not "
			"set; run the agent as a unit with LoadCredential=%s:FILE",
			name, name);
	rw_cleanup(str_done) struct str path = {0};
	str_addf(&path, "%s/%s", dir, name);
	return secret_from_file(path.s, "systemd credential", name, ret, e);
}

int secret_read(const struct config_secret *secret, char **ret, struct err *e)
{
	switch (secret->from) {
	case SECRET_FILE: return secret_from_file(secret->name, "file", secret->name, ret, e);
	case SECRET_ENV: return secret_from_env(secret->name, ret, e);
	case SECRET_CREDENTIAL: return secret_from_credential(secret->name, ret, e);
	case SECRET_NONE: break;
	}
	return err_set(e, -EINVAL, "no secret is configured here");
}

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

void build_secret(struct build *build, const struct yaml_node *section, const char *key,
	struct config_secret *secret)
{
	const struct {
		int from;
		const char *suffix, *name;
	} ways[] = {
		{SECRET_FILE, "file", secret->file},
		{SECRET_ENV, "env", secret->env},
		{SECRET_CREDENTIAL, "credential", secret->credential},
	};
	for (size_t i = 0; i < rw_countof(ways); i++) {
		if (!ways[i].name)
			continue;
		const char *name = arena_printf(build->c->arena, "%s_%s", key, ways[i].suffix);
		const struct yaml_node *at = build_at(section, name);
		if (secret->from != SECRET_NONE) {
			build_error(build, at,
				"%s: this secret is already given in line %d; keep one of them",
				name, secret->line);
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
		secret->from = ways[i].from;
		secret->name = ways[i].name;
		secret->line = at->line;
		secret->col = at->col;
		if (secret->from == SECRET_FILE)
			build_file(build, section, name, secret->name, true);
	}
}

void build_tls(struct build *build, const struct yaml_node *section, const char *ca,
	const char *cert, const char *key)
{
	if (!section)
		return;
	build_file(build, section, "ca", ca, false);
	build_file(build, section, "cert", cert, false);
	build_file(build, section, "key", key, true);
	if (!cert != !key)
		build_error(build, section, "tls: cert and key belong together; give both");
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

static void credentials_check_community(
	struct build *build, const struct config_snmp_credential *snmp)
{
	const struct yaml_node *node = snmp->node;
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
static void credentials_check_usm(struct build *build, const struct config_snmp_credential *snmp)
{
	const struct yaml_node *node = snmp->node;
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

static void credentials_snmp(struct build *build, struct config_snmp_credential *snmp)
{
	snmp->version = snmp->version_read + 1;
	snmp->context = str_or(snmp->context_read, "");
	if (snmp->auth_read >= 0)
		snmp->auth = (enum snmp_auth)snmp->auth_read;
	if (snmp->priv_read >= 0)
		snmp->priv = (enum snmp_priv)snmp->priv_read;
	build_secret(build, snmp->node, "community", &snmp->community);
	build_secret(build, snmp->node, "auth", &snmp->auth_secret);
	build_secret(build, snmp->node, "priv", &snmp->priv_secret);
	if (snmp->version_read < 0)
		return; /* the missing version is reported already */
	if (snmp->version < 3)
		credentials_check_community(build, snmp);
	else
		credentials_check_usm(build, snmp);
}

/* ---- gNMI, HTTP ----------------------------------------------------------- */

static void credentials_tls(
	struct build *build, const struct config_login *login, const char *server)
{
	const struct yaml_node *node = login->tls_node;
	build_tls(build, node, login->tls_ca, login->tls_cert, login->tls_key);
	if (login->tls_off)
		build_warn(build, build_at(node, "off"),
			"off: user name and password cross the network in clear text");
	else if (login->tls_skip_verify)
		build_warn(build, build_at(node, "skip_verify"),
			"skip_verify: anyone in between can pose as the %s", server);
}

static void credentials_login(struct build *build, struct config_login *login, const char *server)
{
	build_secret(build, login->node, "password", &login->password);
	build_secret(build, login->node, "token", &login->token);
	if (login->password.from != SECRET_NONE && !login->username)
		build_error(
			build, login->node, "a password without a user name; add 'username: NAME'");
	if (login->tls_node)
		credentials_tls(build, login, server);
}

/* ---- all of them --------------------------------------------------------- */

void build_credentials(struct build *build)
{
	struct config *c = build->c;
	c->credentials = c->tree->credentials;
	c->n_credentials = c->tree->n_credentials;
	for (size_t i = 0; i < c->n_credentials; i++) {
		const struct config_credential *credential = &c->credentials[i];
		const struct yaml_node *node = credential->node;
		if (credential->snmp)
			credentials_snmp(build, credential->snmp);
		if (credential->gnmi)
			credentials_login(build, credential->gnmi, "switch");
		if (credential->scrape)
			credentials_login(build, credential->scrape, "exporter");
		if (!yaml_get(node, "snmp") && !yaml_get(node, "gnmi") && !yaml_get(node, "scrape"))
			build_error(build, node,
				"%s has no section; expected snmp, gnmi or scrape here",
				credential->name);
	}
}

/* The section of @credential for @protocol; NULL: it has none. */
static const void *credential_section(
	const struct config_credential *credential, const char *protocol)
{
	if (str_eq(protocol, "snmp"))
		return credential->snmp;
	if (str_eq(protocol, "gnmi"))
		return credential->gnmi;
	return credential->scrape;
}

const struct config_credential *build_credential(struct build *build,
	const struct yaml_node *section, const char *name, const char *protocol)
{
	const struct config *c = build->c;
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
		if (!credential_section(credential, protocol))
			build_error(build, at,
				"credentials: '%s' (line %d) has no %s section; add one there or "
				"name another",
				name, credential->node->line, protocol);
		return credential;
	}
	build_unknown_name(build, at, "credentials", "name", name, names, c->n_credentials,
		"expected one from 'credentials:'");
	return NULL;
}

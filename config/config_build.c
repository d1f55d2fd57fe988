/* config_build - the file as read into struct config and struct fabric; what only shows when parts
 * are seen together is checked here. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "config/schema.h"

/* Sections that were left out are read as empty ones, so that their defaults are in one place: the
 * rows. */
static void *section_or_defaults(struct build *build, const char *key)
{
	const struct field *f = schema_find(&schema_root, key);
	void **slot = (void *)((char *)build->c->tree + f->option.offset);
	if (!*slot) {
		*slot = arena_alloc(build->c->arena, f->section->size);
		schema_read(build, f->section, NULL, *slot);
	}
	return *slot;
}

int address_split(struct arena *a, const char *text, uint16_t default_port, const char **ret_host,
	uint16_t *ret_port, struct err *e)
{
	static const char expected[] = "expected \"HOST\", \"HOST:PORT\" or \"[IPv6]:PORT\"";
	const char *host = text, *end = text + strlen(text), *port = NULL;
	if (*text == '[') {
		host = text + 1;
		end = strchr(host, ']');
		if (!end || end == host || (end[1] && end[1] != ':'))
			return err_set(e, -EINVAL, "read '%.64s', %s", text, expected);
		if (end[1])
			port = end + 2;
		else
			port = NULL;
	} else {
		const char *colon = strchr(text, ':');
		/* Two colons without brackets: an IPv6 address that needs no port. */
		if (colon && !strchr(colon + 1, ':')) {
			end = colon;
			port = colon + 1;
		}
	}
	if (host == end || end - host > 253 || strcspn(host, " \t/@\"'") < (size_t)(end - host))
		return err_set(e, -EINVAL, "read '%.64s', %s", text, expected);
	int64_t n = default_port;
	if (port && (unit_int(port, &n, NULL) < 0 || n < 1 || n > 65535))
		return err_set(
			e, -EINVAL, "read port '%.64s', expected a port from 1 to 65535", port);
	*ret_port = (uint16_t)n;
	if (a)
		*ret_host = arena_strndup(a, host, (size_t)(end - host));
	else
		*ret_host = NULL;
	return 0;
}

/* Names are used once per kind: true, and an error, when @name is in @seen; else it is from now on.
 */
static bool already_given(struct build *build, struct smap *seen, const struct yaml_node *section,
	const char *kind, const char *name)
{
	const struct yaml_node *at = build_at(section, "name");
	uint64_t line;
	if (!name)
		return false; /* told by the reader */
	if (smap_get(seen, name, strlen(name), &line)) {
		build_error(build, at,
			"name: %s '%s' is already given in line %d; remove one of them or choose "
			"another name",
			kind, name, (int)line);
		return true;
	}
	smap_put(seen, name, strlen(name), (uint64_t)at->line);
	return false;
}

/* ---- credentials --------------------------------------------------------- */

static void add_file(struct build *build, const struct yaml_node *section, const char *key,
	const char *path, bool secret)
{
	struct config *c = build->c;
	if (!path)
		return;
	if ((c->n_files & (c->n_files - 1)) == 0) {
		struct config_file *v =
			arena_array(c->arena, struct config_file, c->n_files ? c->n_files * 2 : 1);
		if (c->n_files)
			memcpy(v, c->files, c->n_files * sizeof(*v));
		c->files = v;
	}
	const struct yaml_node *at = build_at(section, key);
	c->files[c->n_files++] = (struct config_file){
		.key = key, .path = path, .secret = secret, .line = at->line, .col = at->col};
}

/* At most one of KEY_file, KEY_env, KEY_credential. */
static struct config_secret secret_of(struct build *build, const struct yaml_node *section,
	const char *key, const struct tree_secret *secret)
{
	struct config_secret s = {0};
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
		if (s.from != SECRET_NONE) {
			build_error(build, at,
				"%s: this secret is already given in line %d; keep one of them",
				name, s.line);
			continue;
		}
		s.from = ways[i].from;
		s.name = ways[i].name;
		s.line = at->line;
		s.col = at->col;
		if (s.from == SECRET_FILE)
			add_file(build, section, name, s.name, true);
	}
	return s;
}

static void config_build_misplaced(struct build *build, const struct yaml_node *section,
	const char *const *keys, const char *why)
{
	for (; *keys; keys++) {
		const struct yaml_item *i = yaml_get(section, *keys);
		if (i)
			build_error(build, &(struct yaml_node){.line = i->line, .col = i->col},
				"%s: %s", *keys, why);
	}
}

static struct config_snmp_credential *build_snmp_credential(
	struct build *build, const struct tree_snmp_credential *credential)
{
	static const char *const v3_keys[] = {"user", "context", "auth", "auth_file", "auth_env",
		"auth_credential", "priv", "priv_file", "priv_env", "priv_credential", NULL};
	static const char *const v2_keys[] = {
		"community_file", "community_env", "community_credential", NULL};
	if (!credential)
		return NULL;
	struct config_snmp_credential *c =
		arena_new_of(build->c->arena, struct config_snmp_credential);
	c->version = credential->version + 1;
	c->community = secret_of(build, credential->node, "community", &credential->community);
	c->user = credential->user;
	if (credential->context)
		c->context = credential->context;
	else
		c->context = "";
	if (credential->auth < 0)
		c->auth = SNMP_AUTH_NONE;
	else
		c->auth = (enum snmp_auth)credential->auth;
	c->auth_secret = secret_of(build, credential->node, "auth", &credential->auth_secret);
	if (credential->priv < 0)
		c->priv = SNMP_PRIV_NONE;
	else
		c->priv = (enum snmp_priv)credential->priv;
	c->priv_secret = secret_of(build, credential->node, "priv", &credential->priv_secret);
	if (credential->version < 0)
		return c; /* told by the reader */
	if (c->version < 3) {
		config_build_misplaced(build, credential->node, v3_keys,
			"belongs to version 3; set 'version: 3' or remove it");
		if (c->community.from == SECRET_NONE && !yaml_get(credential->node, "community"))
			build_error(build, credential->node,
				"the community is missing here; add 'community_file: PATH' (or "
				"community_env, community_credential)");
		return c;
	}
	config_build_misplaced(build, credential->node, v2_keys,
		"belongs to versions 1 and 2c; version 3 has 'user'");
	if (!c->user)
		build_error(build, credential->node,
			"the key 'user' is missing here; version 3 needs a user name");
	if (c->auth != SNMP_AUTH_NONE && c->auth_secret.from == SECRET_NONE)
		build_error(build, build_at(credential->node, "auth"),
			"auth: its pass phrase is missing; add 'auth_file: PATH' (or auth_env, "
			"auth_credential)");
	if (c->auth == SNMP_AUTH_NONE && c->auth_secret.from != SECRET_NONE)
		build_error(build, credential->node,
			"a pass phrase for authentication without protocol; add 'auth: sha256' "
			"(what the switch has)");
	if (c->priv != SNMP_PRIV_NONE && c->priv_secret.from == SECRET_NONE)
		build_error(build, build_at(credential->node, "priv"),
			"priv: its pass phrase is missing; add 'priv_file: PATH' (or priv_env, "
			"priv_credential)");
	if (c->priv == SNMP_PRIV_NONE && c->priv_secret.from != SECRET_NONE)
		build_error(build, credential->node,
			"a pass phrase for encryption without protocol; add 'priv: aes128' (what "
			"the switch has)");
	if (c->priv != SNMP_PRIV_NONE && c->auth == SNMP_AUTH_NONE)
		build_error(build, build_at(credential->node, "priv"),
			"priv: encryption needs authentication; add 'auth: sha256' and its pass "
			"phrase");
	if (c->auth == SNMP_AUTH_NONE)
		build_warn(build, credential->node,
			"version 3 without authentication: anyone can answer for the switch");
	return c;
}

static struct config_gnmi_credential *build_gnmi_credential(
	struct build *build, const struct tree_gnmi_credential *credential)
{
	if (!credential)
		return NULL;
	struct config_gnmi_credential *c =
		arena_new_of(build->c->arena, struct config_gnmi_credential);
	c->username = credential->username;
	c->password = secret_of(build, credential->node, "password", &credential->password);
	c->token = secret_of(build, credential->node, "token", &credential->token);
	if (c->password.from != SECRET_NONE && !c->username)
		build_error(build, credential->node,
			"a password without user name; add 'username: NAME'");
	if (!credential->tls)
		return c;
	c->tls_ca = credential->tls->ca;
	c->tls_cert = credential->tls->cert;
	c->tls_key = credential->tls->key;
	c->tls_server_name = credential->tls->server_name;
	c->tls_off = credential->tls->off;
	c->tls_skip_verify = credential->tls->skip_verify;
	add_file(build, credential->tls->node, "ca", c->tls_ca, false);
	add_file(build, credential->tls->node, "cert", c->tls_cert, false);
	add_file(build, credential->tls->node, "key", c->tls_key, true);
	if (!c->tls_cert != !c->tls_key)
		build_error(build, credential->tls->node,
			"cert and key belong together; add '%s: PATH'",
			c->tls_cert ? "key" : "cert");
	if (c->tls_off)
		build_warn(build, build_at(credential->tls->node, "off"),
			"off: user name and password cross the network readable");
	else if (c->tls_skip_verify)
		build_warn(build, build_at(credential->tls->node, "skip_verify"),
			"skip_verify: anyone in between can pose as the switch");
	return c;
}

static void build_credentials(struct build *build)
{
	const struct tree_list *l = &build->c->tree->credentials;
	build->c->credentials = arena_array(build->c->arena, struct config_credential, l->n);
	for (size_t i = 0; i < l->n; i++) {
		const struct tree_credential *t = l->v[i];
		struct config_credential *c = &build->c->credentials[build->c->n_credentials++];
		c->name = t->name;
		c->line = t->node->line;
		c->snmp = build_snmp_credential(build, t->snmp);
		c->gnmi = build_gnmi_credential(build, t->gnmi);
		if (!c->snmp && !c->gnmi && !yaml_get(t->node, "snmp") &&
			!yaml_get(t->node, "gnmi"))
			build_error(build, t->node, "%s: expected an snmp or a gnmi section here",
				t->name);
	}
}

/* The credential a device refers to, which must have the section for its protocol. */
static const struct config_credential *find_credential(
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
	/* A recorded case may name what it was recorded with, and leave the log-ins at home. */
	if (build->mode == CONFIG_CASE && !yaml_get(build->root, "credentials"))
		return NULL;
	const struct yaml_node *at = build_at(section, "credentials");
	const char **names = arena_array(c->arena, const char *, c->n_credentials + 1);
	for (size_t i = 0; i < c->n_credentials; i++) {
		const struct config_credential *k = &c->credentials[i];
		names[i] = k->name;
		if (strcmp(k->name, name) != 0)
			continue;
		if (for_snmp ? !k->snmp : !k->gnmi)
			build_error(build, at,
				"credentials: '%s' (line %d) has no %s section; add one there or "
				"name another",
				name, k->line, protocol);
		return k;
	}
	const char *near = str_nearest(name, names, c->n_credentials);
	if (near)
		build_error(build, at, "credentials: unknown name '%.64s'; did you mean '%s'?",
			name, near);
	else
		build_error(build, at,
			"credentials: unknown name '%.64s', expected one from 'credentials:'",
			name);
	return NULL;
}

/* ---- devices ------------------------------------------------------------- */

static int64_t given_or(int64_t given, int64_t otherwise)
{
	if (given)
		return given;
	return otherwise;
}

/* What a device does not say comes from 'defaults:'; it is written back, so that the printed
 * configuration is the effective one. */
static struct config_snmp *build_snmp(struct build *build, struct tree_snmp *snmp)
{
	const struct tree_defaults *d = build->c->tree->defaults;
	if (!snmp)
		return NULL;
	if (snmp->timeout_ns && snmp->timeout_ns > given_or(snmp->interval_ns, d->interval_ns))
		build_warn(build, build_at(snmp->node, "timeout"),
			"timeout: longer than the interval: one lost request costs a whole poll");
	snmp->interval_ns = given_or(snmp->interval_ns, d->interval_ns);
	snmp->slow_interval_ns = given_or(snmp->slow_interval_ns, d->slow_interval_ns);
	if (!snmp->timeout_ns) {
		if (d->timeout_ns < snmp->interval_ns)
			snmp->timeout_ns = d->timeout_ns;
		else
			snmp->timeout_ns = snmp->interval_ns;
	}
	snmp->deadline_ns = given_or(snmp->deadline_ns, snmp->interval_ns);
	if (!snmp->address) {
		if (build->mode == CONFIG_FULL && !yaml_get(snmp->node, "address"))
			build_error(build, snmp->node,
				"the key 'address' is missing here: where the device answers SNMP");
		find_credential(build, snmp->node, snmp->credentials, true);
		return NULL;
	}
	struct config_snmp *s = arena_new_of(build->c->arena, struct config_snmp);
	/* checked by its row */
	address_split(build->c->arena, snmp->address, 161, &s->address, &s->port, NULL);
	s->credential = find_credential(build, snmp->node, snmp->credentials, true);
	s->interval_ns = snmp->interval_ns;
	s->slow_interval_ns = snmp->slow_interval_ns;
	s->timeout_ns = snmp->timeout_ns;
	s->deadline_ns = snmp->deadline_ns;
	s->retries = (int)snmp->retries;
	s->max_varbinds_s = (uint64_t)snmp->max_varbinds_s;
	s->source = snmp->source;
	s->netns = snmp->netns;
	s->line = snmp->node->line;
	return s;
}

static struct config_gnmi *build_gnmi(struct build *build, struct tree_gnmi *gnmi)
{
	if (!gnmi)
		return NULL;
	/* of the words of gnmi.encoding, in the protocol */
	static const int numbers[] = {-1, 2, 4, 0, 3};
	gnmi->interval_ns = given_or(gnmi->interval_ns, build->c->tree->defaults->interval_ns);
	gnmi->slow_interval_ns =
		given_or(gnmi->slow_interval_ns, build->c->tree->defaults->slow_interval_ns);
	if (!gnmi->address) {
		if (build->mode == CONFIG_FULL && !yaml_get(gnmi->node, "address"))
			build_error(build, gnmi->node,
				"the key 'address' is missing here: where the device answers gNMI");
		find_credential(build, gnmi->node, gnmi->credentials, false);
		return NULL;
	}
	struct config_gnmi *g = arena_new_of(build->c->arena, struct config_gnmi);
	address_split(build->c->arena, gnmi->address, 9339, &g->address, &g->port, NULL);
	g->credential = find_credential(build, gnmi->node, gnmi->credentials, false);
	g->interval_ns = gnmi->interval_ns;
	g->slow_interval_ns = gnmi->slow_interval_ns;
	g->timeout_ns = gnmi->timeout_ns;
	g->encoding = numbers[gnmi->encoding];
	g->max_message = gnmi->max_message;
	g->line = gnmi->node->line;
	return g;
}

static bool lists_nothing(const struct yaml_node *root, const char *key)
{
	const struct yaml_item *i = yaml_get(root, key);
	return !i || (i->value->kind == YAML_LIST && i->value->n == 0);
}

static void build_devices(struct build *build)
{
	struct config *c = build->c;
	const struct tree_list *l = &c->tree->devices;
	c->devices = arena_array(c->arena, struct config_device, l->n);
	for (size_t i = 0; i < l->n; i++) {
		struct tree_device *t = l->v[i];
		struct config_device *d = &c->devices[c->n_devices++];
		if (t->name)
			d->name = t->name;
		else
			d->name = "";
		d->device = fabric_device(c->fabric, d->name);
		d->snmp = build_snmp(build, t->snmp);
		d->gnmi = build_gnmi(build, t->gnmi);
		if (t->profile)
			d->profile = t->profile = t->profile;
		else
			d->profile = t->profile = c->defaults.profile;
		d->line = t->node->line;
		if (build->mode == CONFIG_FULL && !yaml_get(t->node, "snmp") &&
			!yaml_get(t->node, "gnmi"))
			build_error(build, t->node,
				"%s: has no address; add 'snmp: { address: ..., credentials: ... "
				"}' or a gnmi section",
				str_or(t->name, "device"));
	}
	if (build->mode == CONFIG_FULL && lists_nothing(build->root, "devices") &&
		lists_nothing(build->root, "capture"))
		build_error(build, build->root,
			"nothing to watch: add 'devices:' (rocewatch config explain devices) or "
			"'capture:'");
}

static void build_captures(struct build *build)
{
	static const char *const directions[] = {"in", "out", "both"};
	struct config *c = build->c;
	const struct tree_list *l = &c->tree->captures;
	struct smap *seen = smap_new();
	c->captures = arena_array(c->arena, struct config_capture, l->n);
	for (size_t i = 0; i < l->n; i++) {
		const struct tree_capture *t = l->v[i];
		struct config_capture *k = &c->captures[c->n_captures++];
		*k = (struct config_capture){.name = t->name,
			.interface = t->interface,
			.listen = t->listen,
			.netns = t->netns,
			.direction = directions[t->direction],
			.sampling = (uint32_t)t->sampling,
			.snaplen = (uint32_t)t->snaplen,
			.buffer_bytes = t->buffer,
			.interval_ns = t->interval_ns,
			.line = t->node->line};
		if (t->port)
			endpoint_split(c->arena, t->port, &k->device, &k->port);
		already_given(build, seen, t->node, "capture", t->name);
		bool wants_interface = yaml_get(t->node, "interface"),
		     wants_listen = yaml_get(t->node, "listen");
		if (wants_interface == wants_listen)
			build_error(build, t->node,
				"%s: expected either 'interface: NAME' (packets) or 'listen: "
				"ADDRESS:PORT' (sFlow)",
				str_or(t->name, "capture"));
	}
	smap_free(seen);
}

static void build_traps(struct build *build)
{
	struct config *c = build->c;
	const struct tree_traps *t = c->tree->traps;
	if (!t)
		return;
	struct config_traps *k = c->traps = arena_new_of(c->arena, struct config_traps);
	k->line = t->node->line;
	if (t->listen)
		/* checked by its row */
		address_split(c->arena, t->listen, 0, &k->address, &k->port, NULL);
	k->credentials =
		arena_array(c->arena, const struct config_credential *, t->credentials.n + 1);
	for (size_t i = 0; i < t->credentials.n; i++) {
		const struct config_credential *found =
			find_credential(build, t->node, t->credentials.v[i], true);
		if (found && found->snmp)
			k->credentials[k->n_credentials++] = found;
	}
}

void build_config(struct build *build)
{
	struct config *c = build->c;
	struct config_tree *t = c->tree;
	const struct tree_defaults *defaults = section_or_defaults(build, "defaults");
	struct tree_store *store = section_or_defaults(build, "store");
	const struct tree_tuning *tuning = section_or_defaults(build, "tuning");

	if (!store->retention) {
		const struct section *s =
			schema_find(schema_find(&schema_root, "store")->section, "retention")
				->section;
		store->retention = arena_alloc(c->arena, s->size);
		schema_read(build, s, NULL, store->retention);
	}
	const struct tree_retention *r = store->retention;
	if (r->raw_ns > r->minute_ns || r->minute_ns > r->hour_ns)
		build_error(build, r->node,
			"retention: expected raw <= minute <= hour, so that older history is the "
			"coarser one");
	c->store.path = store->path;
	c->store.quota_bytes = store->quota_bytes;
	c->store.raw_ns = r->raw_ns;
	c->store.minute_ns = r->minute_ns;
	c->store.hour_ns = r->hour_ns;
	c->defaults.interval_ns = defaults->interval_ns;
	c->defaults.slow_interval_ns = defaults->slow_interval_ns;
	c->defaults.timeout_ns = defaults->timeout_ns;
	c->defaults.profile = defaults->profile;
	c->tuning.min_evidence_ns = tuning->min_evidence_ns;
	c->tuning.min_coverage = tuning->min_coverage;
	c->tuning.base_rtt_ns = tuning->base_rtt_ns;
	c->tuning.max_pmax = tuning->max_pmax;
	c->tuning.names = arena_array(c->arena, struct config_tuning_name, tuning->names.n + 1);
	for (size_t i = 0; i < tuning->names.n; i++) {
		const struct tree_tuning_name *name = tuning->names.v[i];
		if (name->devices && name->object && name->name)
			c->tuning.names[c->tuning.n_names++] = (struct config_tuning_name){
				name->devices, name->object, name->name};
	}
	if (!t->socket) {
		if (strstr(store->path, "://"))
			t->socket = "/run/rocewatch/rocewatch.sock";
		else
			t->socket = arena_printf(c->arena, "%s.sock", store->path);
	}
	c->socket_path = t->socket;
	c->user = t->user;
	if (t->http)
		c->http_listen = t->http->listen;
	else
		c->http_listen = NULL;
	if (t->alerts && t->alerts->alertmanager)
		c->alertmanager_url = t->alerts->alertmanager->url;
	else
		c->alertmanager_url = NULL;
	c->profile_dir = t->profile_dir;
	build_credentials(build);
	build_devices(build);
	build_captures(build);
	build_traps(build);
}

/* ---- fabric -------------------------------------------------------------- */

void build_scalars(struct config *config)
{
	const struct config_tree *t = config->tree;
	struct fabric *f = config->fabric;
	f->congestion = (enum congestion_policy)t->policy->congestion;
	f->lb = (enum lb_policy)t->policy->lb;
	f->lossless_mtu_bytes = t->lossless->mtu_bytes;
	if (t->defaults)
		config->defaults.interval_ns = t->defaults->interval_ns;
	if (t->cost && !isnan(t->cost->usd_per_gpu_hour))
		f->usd_per_gpu_hour = t->cost->usd_per_gpu_hour;
	else
		f->usd_per_gpu_hour = 0;
	f->has_cost = t->jobs.n > 0 || (t->cost && !isnan(t->cost->usd_per_gpu_hour));
	/* Devices and groups that said nothing of their own follow. */
	for (size_t i = 0; i < t->devices.n; i++) {
		const struct tree_device *td = t->devices.v[i];
		struct fabric_device *d = NULL;
		if (td->name)
			d = (struct fabric_device *)fabric_device(f, td->name);
		if (!d || td->lb >= 0)
			continue;
		d->lb = f->lb;
		for (size_t k = 0; k < d->n_groups; k++)
			if (!d->groups[k].given)
				d->groups[k].lb = f->lb;
	}
	for (size_t i = 0; i < t->groups.n; i++) {
		const struct tree_group *tg = t->groups.v[i];
		const struct fabric_device *d = NULL;
		if (tg->device)
			d = fabric_device(f, tg->device);
		struct fabric_group *g = NULL;
		if (d && tg->group)
			g = (struct fabric_group *)fabric_group(d, tg->group);
		if (g && g->given && tg->lb < 0)
			g->lb = d->lb;
	}
}

static void build_fabric_devices(struct build *build)
{
	struct config *c = build->c;
	struct fabric *f = c->fabric;
	const struct tree_list *l = &c->tree->devices;
	struct smap *seen = smap_new();
	f->devices = arena_array(c->arena, struct fabric_device *, l->n);
	for (size_t i = 0; i < l->n; i++) {
		const struct tree_device *t = l->v[i];
		if (!t->name || already_given(build, seen, t->node, "device", t->name))
			continue;
		struct fabric_device *d = arena_new_of(c->arena, struct fabric_device);
		d->name = t->name;
		d->role = (enum device_role)t->role;
		d->rail = t->rail;
		d->lb = (enum lb_policy)(t->lb >= 0 ? t->lb : c->tree->policy->lb);
		f->devices[f->n_devices++] = d;
	}
	smap_free(seen);
}

static void build_intent(struct build *build)
{
	struct config *c = build->c;
	struct fabric *f = c->fabric;
	const struct config_tree *t = c->tree;

	for (size_t i = 0; i < t->lossless->priorities.n; i++)
		f->lossless_mask |= (uint8_t)(1u << (t->lossless->priorities.v[i][0] - '0'));
	f->jobs = arena_array(c->arena, struct fabric_job, t->jobs.n);
	struct smap *seen = smap_new();
	for (size_t i = 0; i < t->jobs.n; i++) {
		const struct tree_job *j = t->jobs.v[i];
		already_given(build, seen, j->node, "job", j->name);
		f->jobs[f->n_jobs++] = (struct fabric_job){.name = j->name,
			.gpus = (uint64_t)j->gpus,
			.hosts = j->hosts,
			.step_ns = j->step_ns};
	}
	smap_free(seen);
	f->thresholds = arena_array(c->arena, struct fabric_threshold, t->thresholds.n);
	for (size_t i = 0; i < t->thresholds.n; i++) {
		const struct tree_threshold *k = t->thresholds.v[i];
		f->thresholds[f->n_thresholds++] = (struct fabric_threshold){.devices = k->devices,
			.ports = k->ports,
			.priority = (int)k->priority,
			.kmin_bytes = k->kmin,
			.kmax_bytes = k->kmax,
			.headroom_bytes = k->headroom,
			.xoff_level_bytes = k->xoff_level,
			.xon_level_bytes = k->xon_level,
			.xon_offset_bytes = k->xon_offset,
			.cell_bytes = k->cell,
			.pool_bytes = k->pool,
			.pmax = k->pmax,
			.alpha = k->alpha,
			.line = k->node->line};
		if (k->kmin && k->kmax && k->kmin > k->kmax)
			build_error(build, build_at(k->node, "kmin"),
				"kmin: larger than kmax; marking starts at kmin and is complete at "
				"kmax");
		if (k->xon_level && k->xoff_level && k->xon_level > k->xoff_level)
			build_error(build, build_at(k->node, "xon_level"),
				"xon_level: higher than xoff_level; sending resumes below the "
				"level that stopped it");
	}
}

void build_fabric(struct build *build)
{
	struct config *c = build->c;
	struct fabric *f = c->fabric = arena_new_of(c->arena, struct fabric);
	section_or_defaults(build, "policy");
	section_or_defaults(build, "lossless");
	f->name = c->tree->fabric;
	f->id = hash_bytes(f->name, strlen(f->name), 0);
	f->discover = c->tree->discover;
	f->lb = (enum lb_policy)c->tree->policy->lb;
	build_fabric_devices(build);
	fabric_sort(f); /* links are looked up by device name */
	build_intent(build);
	build_links(build);
	fabric_sort(f);
	fabric_derive_groups(f, c->arena);
	build_scalars(c);
}

/* config_build - devices, captures, traps and the scalar parts of struct config, from the file as
 * read. What only shows when parts are seen together is checked here. */
#include "config/config_build.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "config/address.h"

enum { PORT_SNMP = 161, PORT_GNMI = 9339 }; /* as registered with IANA */

/* ---- devices ------------------------------------------------------------- */

static int64_t given_or(int64_t given, int64_t otherwise)
{
	if (given)
		return given;
	return otherwise;
}

/* What a device does not say comes from 'defaults:'. It is written into the tree, so that the
 * printed configuration is the effective one. */
static void build_snmp_times(struct build *build, struct tree_snmp *snmp)
{
	const struct tree_defaults *defaults = build->c->tree->defaults;
	snmp->interval_ns = given_or(snmp->interval_ns, defaults->interval_ns);
	snmp->slow_interval_ns = given_or(snmp->slow_interval_ns, defaults->slow_interval_ns);
	snmp->deadline_ns = given_or(snmp->deadline_ns, snmp->interval_ns);
	if (snmp->timeout_ns > snmp->interval_ns)
		build_warn(build, build_at(snmp->node, "timeout"),
			"timeout is longer than the interval: one lost request costs a whole poll");
	if (!snmp->timeout_ns) {
		snmp->timeout_ns = snmp->interval_ns;
		if (defaults->timeout_ns < snmp->interval_ns)
			snmp->timeout_ns = defaults->timeout_ns;
	}
}

static struct config_snmp *build_snmp(struct build *build, struct tree_snmp *tree)
{
	if (!tree)
		return NULL;
	build_snmp_times(build, tree);
	if (!tree->address && build->mode == CONFIG_FULL && !yaml_get(tree->node, "address"))
		build_error(build, tree->node,
			"the key 'address' is missing here: where the device answers SNMP");
	const struct config_credential *credential =
		build_credential(build, tree->node, tree->credentials, true);
	if (!tree->address)
		return NULL;
	struct config_snmp *snmp = arena_new_of(build->c->arena, struct config_snmp);
	/* the schema has checked its form */
	address_split(build->c->arena, tree->address, PORT_SNMP, &snmp->address, &snmp->port, NULL);
	snmp->credential = credential;
	snmp->interval_ns = tree->interval_ns;
	snmp->slow_interval_ns = tree->slow_interval_ns;
	snmp->timeout_ns = tree->timeout_ns;
	snmp->deadline_ns = tree->deadline_ns;
	snmp->retries = (int)tree->retries;
	snmp->max_varbinds_s = (uint64_t)tree->max_varbinds_s;
	snmp->source = tree->source;
	snmp->netns = tree->netns;
	snmp->line = tree->node->line;
	return snmp;
}

static struct config_gnmi *build_gnmi(struct build *build, struct tree_gnmi *tree)
{
	/* enum Encoding of gnmi.proto for auto, proto, json_ietf, json, ascii; -1 = by capability
	 */
	static const int encodings[] = {-1, 2, 4, 0, 3};
	if (!tree)
		return NULL;
	const struct tree_defaults *defaults = build->c->tree->defaults;
	tree->interval_ns = given_or(tree->interval_ns, defaults->interval_ns);
	tree->slow_interval_ns = given_or(tree->slow_interval_ns, defaults->slow_interval_ns);
	if (!tree->address && build->mode == CONFIG_FULL && !yaml_get(tree->node, "address"))
		build_error(build, tree->node,
			"the key 'address' is missing here: where the device answers gNMI");
	const struct config_credential *credential =
		build_credential(build, tree->node, tree->credentials, false);
	if (!tree->address)
		return NULL;
	struct config_gnmi *gnmi = arena_new_of(build->c->arena, struct config_gnmi);
	address_split(build->c->arena, tree->address, PORT_GNMI, &gnmi->address, &gnmi->port, NULL);
	gnmi->credential = credential;
	gnmi->interval_ns = tree->interval_ns;
	gnmi->slow_interval_ns = tree->slow_interval_ns;
	gnmi->timeout_ns = tree->timeout_ns;
	gnmi->encoding = encodings[tree->encoding];
	gnmi->max_message = tree->max_message;
	gnmi->line = tree->node->line;
	return gnmi;
}

static struct config_sflow *build_sflow(struct build *build, const struct tree_device *device)
{
	const struct tree_sflow *tree = device->sflow;
	if (!tree)
		return NULL;
	struct arena *a = build->c->arena;
	struct config_sflow *sflow = arena_new_of(a, struct config_sflow);
	const bool asked = yaml_get(device->node, "snmp") || yaml_get(device->node, "gnmi");
	if (build->mode == CONFIG_FULL && !tree->agent && !asked)
		build_error(build, tree->node,
			"the key 'agent' is missing here: the address in its datagrams, since the "
			"device has no snmp and no gnmi");
	sflow->agent = tree->agent;
	sflow->counters = tree->counters;
	sflow->line = tree->node->line;
	sflow->ports = arena_array(a, struct config_sflow_port, tree->ports.n + 1);
	for (size_t i = 0; i < tree->ports.n; i++) {
		const char *text = tree->ports.v[i], *equals = strchr(text, '=');
		if (!equals) /* the schema has complained */
			continue;
		sflow->ports[sflow->n_ports++] =
			(struct config_sflow_port){.ifindex = (uint32_t)strtoul(text, NULL, 10),
				.port = arena_strdup(a, equals + 1)};
	}
	return sflow;
}

static void build_device_ports(struct config_device *device, const struct tree_device_ports *tree)
{
	if (!tree)
		return;
	device->exclude.v = tree->exclude.v;
	device->exclude.n = tree->exclude.n;
	device->include.v = tree->include.v;
	device->include.n = tree->include.n;
}

static bool lists_nothing(const struct yaml_node *root, const char *key)
{
	const struct yaml_item *item = yaml_get(root, key);
	return !item || (item->value->kind == YAML_LIST && item->value->n == 0);
}

static void build_devices(struct build *build)
{
	struct config *c = build->c;
	const struct tree_list *trees = &c->tree->devices;
	c->devices = arena_array(c->arena, struct config_device, trees->n);
	for (size_t i = 0; i < trees->n; i++) {
		struct tree_device *tree = trees->v[i];
		struct config_device *device = &c->devices[c->n_devices++];
		if (!tree->profile)
			tree->profile = c->defaults.profile;
		device->name = str_or(tree->name, "");
		device->device = fabric_device(c->fabric, device->name);
		device->snmp = build_snmp(build, tree->snmp);
		device->gnmi = build_gnmi(build, tree->gnmi);
		device->sflow = build_sflow(build, tree);
		device->push = build_device_push(build, tree->push);
		build_device_ports(device, tree->ports);
		device->profile = tree->profile;
		device->line = tree->node->line;
		const bool asked = yaml_get(tree->node, "snmp") || yaml_get(tree->node, "gnmi") ||
			yaml_get(tree->node, "sflow") || yaml_get(tree->node, "push");
		if (build->mode == CONFIG_FULL && !asked)
			build_error(build, tree->node,
				"%s has no address; add 'snmp: { address: ..., credentials: ... }' "
				"or a gnmi, sflow or push section",
				str_or(tree->name, "device"));
	}
	if (build->mode == CONFIG_FULL && lists_nothing(build->root, "devices") &&
		lists_nothing(build->root, "capture") && lists_nothing(build->root, "push"))
		build_error(build, build->root,
			"nothing to watch: add 'devices:' (rocewatch config explain devices) or "
			"'capture:'");
}

/* ---- captures and traps -------------------------------------------------- */

/* Keys of one way of capturing that the other does not have. */
static void build_capture_keys(struct build *build, const struct tree_capture *tree)
{
	static const char *const of_interface[] = {
		"netns", "port", "direction", "sampling", "snaplen"};
	for (size_t i = 0; tree->listen && i < rw_countof(of_interface); i++) {
		const struct yaml_node *at = build_at(tree->node, of_interface[i]);
		if (yaml_get(tree->node, of_interface[i]))
			build_warn(build, at,
				"%s has no effect beside 'listen': sFlow says it with each sample",
				of_interface[i]);
	}
	if (tree->interface && yaml_get(tree->node, "allow"))
		build_warn(build, build_at(tree->node, "allow"),
			"allow has no effect without 'listen'");
}

static void build_job_files(struct build *build)
{
	struct config *c = build->c;
	const struct tree_list *trees = &c->tree->job_files;
	struct smap *seen = smap_new();
	c->job_files = arena_array(c->arena, struct config_job_file, trees->n);
	for (size_t i = 0; i < trees->n; i++) {
		const struct tree_job_file *tree = trees->v[i];
		build_already_given(build, seen, tree->node, "job file", tree->path);
		c->job_files[c->n_job_files++] = (struct config_job_file){.path = tree->path,
			.format = tree->format,
			.max_age_ns = tree->max_age_ns,
			.min_hosts = (uint32_t)tree->min_hosts,
			.gpus_per_host = (uint32_t)tree->gpus_per_host,
			.line = tree->node->line};
	}
	smap_free(seen);
}

static void build_captures(struct build *build)
{
	static const char *const directions[] = {"in", "out", "both"};
	struct config *c = build->c;
	const struct tree_list *trees = &c->tree->captures;
	struct smap *seen = smap_new();
	c->captures = arena_array(c->arena, struct config_capture, trees->n);
	for (size_t i = 0; i < trees->n; i++) {
		const struct tree_capture *tree = trees->v[i];
		struct config_capture *capture = &c->captures[c->n_captures++];
		*capture = (struct config_capture){.name = tree->name,
			.interface = tree->interface,
			.listen = tree->listen,
			.allow = tree->allow.v,
			.n_allow = tree->allow.n,
			.netns = tree->netns,
			.direction = directions[tree->direction],
			.mirrored = directions[tree->mirrored],
			.sampling = (uint32_t)tree->sampling,
			.snaplen = (uint32_t)tree->snaplen,
			.buffer_bytes = tree->buffer,
			.interval_ns = tree->interval_ns,
			.line = tree->node->line};
		if (tree->port)
			endpoint_split(c->arena, tree->port, &capture->device, &capture->port);
		build_already_given(build, seen, tree->node, "capture", tree->name);
		const bool packets = yaml_get(tree->node, "interface");
		const bool sflow = yaml_get(tree->node, "listen");
		if (packets == sflow)
			build_error(build, tree->node,
				"%s: expected either 'interface: NAME' (packets) or 'listen: "
				"ADDRESS:PORT' (sFlow)",
				str_or(tree->name, "capture"));
		build_capture_keys(build, tree);
	}
	smap_free(seen);
}

static void build_traps(struct build *build)
{
	struct config *c = build->c;
	const struct tree_traps *tree = c->tree->traps;
	if (!tree)
		return;
	struct config_traps *traps = c->traps = arena_new_of(c->arena, struct config_traps);
	traps->line = tree->node->line;
	if (tree->listen) /* the schema has checked its form */
		address_split(c->arena, tree->listen, 0, &traps->address, &traps->port, NULL);
	traps->credentials =
		arena_array(c->arena, const struct config_credential *, tree->credentials.n + 1);
	for (size_t i = 0; i < tree->credentials.n; i++) {
		const struct config_credential *found =
			build_credential(build, tree->node, tree->credentials.v[i], true);
		if (found && found->snmp)
			traps->credentials[traps->n_credentials++] = found;
	}
}

/* ---- HTTP ---------------------------------------------------------------- */

const char *config_http_unsafe(const struct config_http *http)
{
	if (http->insecure || address_is_local(http->address))
		return NULL;
	if (!http->cert)
		return "an address outside this machine needs tls: { cert: FILE, key: FILE }, so "
		       "that nobody reads along; or listen on 127.0.0.1 behind a reverse proxy; "
		       "'insecure: true' does without";
	if (!http->tokens_file)
		return "an address outside this machine needs tokens_file, so that not everybody "
		       "who reaches it reads everything; 'insecure: true' does without";
	return NULL;
}

static void build_http(struct build *build)
{
	struct config *c = build->c;
	const struct tree_http *tree = c->tree->http;
	if (!tree || !tree->listen)
		return;
	struct config_http *http = c->http = arena_new_of(c->arena, struct config_http);
	address_split(c->arena, tree->listen, 0, &http->address, &http->port, NULL);
	if (tree->tls) {
		http->cert = tree->tls->cert;
		http->key = tree->tls->key;
	}
	http->tokens_file = tree->tokens_file;
	http->allow = tree->allow.v;
	http->n_allow = tree->allow.n;
	http->hosts = tree->hosts.v;
	http->n_hosts = tree->hosts.n;
	http->max_connections = (unsigned)tree->max_connections;
	http->request_timeout_ns = tree->request_timeout_ns;
	http->metrics_top = (size_t)tree->metrics_top;
	http->metrics_all_ports = tree->metrics_all_ports;
	http->insecure = tree->insecure;
	if (!http->address)
		return;
	const char *unsafe = config_http_unsafe(http);
	if (unsafe)
		build_error(build, tree->node, "http: %s", unsafe);
}

/* ---- the rest ------------------------------------------------------------ */

static void build_store(struct build *build)
{
	struct config *c = build->c;
	struct tree_store *tree = schema_read_or_defaults(build, "store");
	if (!tree->retention) {
		const struct section *store = schema_find(&schema_root, "store")->section;
		const struct section *retention = schema_find(store, "retention")->section;
		tree->retention = arena_alloc(c->arena, retention->size);
		schema_read(build, retention, NULL, tree->retention);
	}
	const struct tree_retention *keep = tree->retention;
	if (keep->raw_ns > keep->minute_ns || keep->minute_ns > keep->hour_ns)
		build_error(build, keep->node,
			"retention: expected raw <= minute <= hour, so that older history is the "
			"coarser one");
	c->store.path = tree->path;
	c->store.quota_bytes = tree->quota_bytes;
	c->store.raw_ns = keep->raw_ns;
	c->store.minute_ns = keep->minute_ns;
	c->store.hour_ns = keep->hour_ns;
	c->store.events_ns = keep->events_ns;
	c->store.incidents_ns = keep->incidents_ns;
	build_ship(build);
}

static void build_tuning(struct build *build)
{
	struct config *c = build->c;
	const struct tree_tuning *tree = schema_read_or_defaults(build, "tuning");
	build_tuning_scalars(c, tree);
	c->tuning.names = arena_array(c->arena, struct config_tuning_name, tree->names.n + 1);
	for (size_t i = 0; i < tree->names.n; i++) {
		const struct tree_tuning_name *name = tree->names.v[i];
		if (name->devices && name->object && name->name)
			c->tuning.names[c->tuning.n_names++] = (struct config_tuning_name){
				name->devices, name->object, name->name};
	}
}

void build_config(struct build *build)
{
	struct config *c = build->c;
	struct config_tree *tree = c->tree;
	const struct tree_defaults *defaults = schema_read_or_defaults(build, "defaults");
	c->defaults.interval_ns = defaults->interval_ns;
	c->defaults.slow_interval_ns = defaults->slow_interval_ns;
	c->defaults.timeout_ns = defaults->timeout_ns;
	c->defaults.profile = defaults->profile;
	build_store(build);
	build_tuning(build);
	const struct tree_limits *limits = schema_read_or_defaults(build, "limits");
	c->limits.names_per_device = (uint32_t)limits->names_per_device;
	c->limits.names = (uint32_t)limits->names;
	c->limits.ports_per_device = (uint32_t)limits->ports_per_device;
	c->limits.forget_ns = limits->forget_ns;
	if (!tree->socket && strstr(c->store.path, "://"))
		tree->socket = "/run/rocewatch/rocewatch.sock";
	else if (!tree->socket)
		tree->socket = arena_printf(c->arena, "%s.sock", c->store.path);
	c->socket_path = tree->socket;
	c->user = tree->user;
	c->profile_dir = tree->profile_dir;
	build_http(build);
	build_credentials(build);
	build_devices(build);
	build_agents(build);
	build_captures(build);
	build_pushes(build);
	build_job_files(build);
	build_traps(build);
	build_alerts(build);
}

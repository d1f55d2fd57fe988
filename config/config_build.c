/* config_build - devices, captures, receivers of pushes and traps, and the scalar parts of struct
 * config. What follows from several values is worked out here, and what only shows when parts are
 * seen together is checked: limits the wrong way round, patterns that match nothing. */
#include "config/config_build.h"

#include "config/address.h"
#include "config/fabric.h"
#include "config/option.h"

/*
 * config_scrape - which hosts are scraped, and where: each row of 'scrape:' with each host that it
 * means. A host's name comes from the configuration, or, where 'hosts:' asks for it, from what LLDP
 * tells: what could not be a name stands in no URL, since whoever chooses the host of a URL chooses
 * who gets the log-in.
 */

#define TIMEOUT_MOST_NS (10 * NS_PER_S) /* unless the row says otherwise; Prometheus' default */
enum { URLS_MOST = 8, PORT_HTTP = 80, PORT_HTTPS = 443 };
static const char host_word[] = "{host}";

struct scrape_maker {
	struct build *build;
	struct config_scrape *scrape;
	struct smap *seen; /* hosts */
	size_t cap, n; /* n: of this row */
};

/* Letters, digits, dots, hyphens and underscores; colons of an IPv6 address. */
static bool scrape_host_fits(const char *host)
{
	for (const char *p = host; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr(".-_:", *p))
			return false;
	return *host && strlen(host) <= ADDRESS_HOST_MAX;
}

static const char *scrape_url(struct arena *a, const char *url, const char *host)
{
	rw_cleanup(str_done) struct str out = {0};
	const char *at;
	for (; (at = strstr(url, host_word)); url = at + strlen(host_word)) {
		str_addn(&out, url, (size_t)(at - url));
		if (strchr(host, ':'))
			str_addf(&out, "[%s]", host);
		else
			str_add(&out, host);
	}
	str_add(&out, url);
	return arena_strdup(a, out.s);
}

static void scrape_address(struct arena *a, struct config_scraped *to)
{
	const char *begin = strstr(to->urls[0], "://") + 3;
	uint16_t port = PORT_HTTP;
	if (strncmp(to->urls[0], "https:", 6) == 0)
		port = PORT_HTTPS;
	const char *text = arena_printf(a, "%.*s", (int)strcspn(begin, "/?#"), begin);
	if (address_split(a, text, port, &to->address, &to->port, NULL) == 0)
		return;
	to->address = text;
	to->port = port;
}

/* Each host once, however many links it has. */
static void scrape_host(struct scrape_maker *maker, const char *host, const struct yaml_node *at)
{
	struct config *c = maker->build->c;
	const struct config_scrape *scrape = maker->scrape;
	uint64_t row;
	if (smap_get(maker->seen, host, strlen(host), &row)) {
		if (row != (uint64_t)(uintptr_t)scrape)
			build_error(maker->build, build_at(scrape->node, "hosts"),
				"host %.64s is scraped by another row already; give all its URLs "
				"to one",
				host);
		return;
	}
	smap_put(maker->seen, host, strlen(host), (uint64_t)(uintptr_t)scrape);
	if (!scrape_host_fits(host)) {
		build_warn(maker->build, at,
			"host %.64s is not scraped: its name cannot stand in a URL", host);
		return;
	}
	arena_grow(c->arena, c->scraped, c->n_scraped, maker->cap);
	struct config_scraped *to = &c->scraped[c->n_scraped++];
	const char **urls = arena_array(c->arena, const char *, scrape->n_urls);
	for (size_t i = 0; i < scrape->n_urls; i++)
		urls[i] = scrape_url(c->arena, scrape->urls[i], host);
	*to = (struct config_scraped){
		.device = {.node = scrape->node, .name = host, .profile = "auto"},
		.scrape = scrape,
		.urls = urls};
	scrape_address(c->arena, to);
	maker->n++;
}

static bool scrape_means(const struct config_scrape *scrape, const struct fabric_port *port)
{
	if (!port->host)
		return false;
	if (scrape->hosts.n == 0)
		return !port->discovered;
	for (size_t i = 0; i < scrape->hosts.n; i++)
		if (str_glob(scrape->hosts.v[i], port->host))
			return true;
	return false;
}

static void scrape_hosts(struct scrape_maker *maker)
{
	const struct config_scrape *scrape = maker->scrape;
	const struct fabric *fabric = maker->build->c->fabric;
	const struct yaml_node *at = build_at(scrape->node, "hosts");
	for (size_t i = 0; i < scrape->hosts.n; i++)
		if (!strpbrk(scrape->hosts.v[i], "*?["))
			scrape_host(maker, scrape->hosts.v[i], at);
	for (size_t d = 0; d < fabric->n_devices; d++)
		for (size_t p = 0; p < fabric->devices[d]->n_ports; p++)
			if (scrape_means(scrape, fabric->devices[d]->ports[p]))
				scrape_host(maker, fabric->devices[d]->ports[p]->host, at);
	if (maker->n == 0 && !fabric->discover)
		build_warn(
			maker->build, at, "scrape: no link has such a host, so nothing is scraped");
}

static void scrape_login(struct build *build, struct config_scrape *scrape)
{
	const struct config_credential *credential;
	if (!scrape->credentials)
		return;
	credential = build_credential(build, scrape->node, scrape->credentials, "scrape");
	if (!credential || !credential->scrape)
		return;
	scrape->login = credential->scrape;
	const bool secret = scrape->login->password.from != SECRET_NONE ||
		scrape->login->token.from != SECRET_NONE;
	for (size_t i = 0; secret && i < scrape->n_urls; i++)
		if (strncmp(scrape->urls[i], "http://", 7) == 0)
			build_warn(build, build_at(scrape->node, "urls"),
				"%.64s: the password or token crosses the network readable; use "
				"https",
				scrape->urls[i]);
}

/* After the credentials and the fabric. */
static void build_scrape(struct build *build)
{
	struct config *c = build->c;
	const struct config_tree *tree = c->tree;
	struct scrape_maker maker = {.build = build, .seen = smap_new()};
	struct smap *names = smap_new();
	for (size_t i = 0; i < tree->n_scrapes; i++) {
		struct config_scrape *scrape = &tree->scrapes[i];
		build_already_given(build, names, scrape->node, "scrape", scrape->name);
		if (scrape->interval_ns == 0)
			scrape->interval_ns = tree->defaults->interval_ns;
		if (scrape->timeout_ns == 0 && scrape->interval_ns < TIMEOUT_MOST_NS)
			scrape->timeout_ns = scrape->interval_ns;
		else if (scrape->timeout_ns == 0)
			scrape->timeout_ns = TIMEOUT_MOST_NS;
		if (scrape->n_urls > URLS_MOST)
			build_error(build, build_at(scrape->node, "urls"),
				"urls: read %zu, expected at most %d", scrape->n_urls, URLS_MOST);
		scrape_login(build, scrape);
		maker.scrape = scrape;
		maker.n = 0;
		if (scrape->n_urls > 0)
			scrape_hosts(&maker);
	}
	smap_free(names);
	smap_free(maker.seen);
}

const struct config_scraped *config_scraped_host(const struct config *config, const char *host)
{
	for (size_t i = 0; i < config->n_scraped; i++)
		if (str_eq(config->scraped[i].device.name, host))
			return &config->scraped[i];
	return NULL;
}

/* Does @agent ask a switch that @host is linked to? */
static bool scraped_is_near(const struct config *config, const char *agent, const char *host)
{
	bool linked = false;
	for (size_t d = 0; d < config->fabric->n_devices; d++) {
		const struct fabric_device *device = config->fabric->devices[d];
		for (size_t p = 0; p < device->n_ports; p++) {
			if (!str_eq(device->ports[p]->host, host))
				continue;
			linked = true;
			if (str_eq(device->agent, agent))
				return true;
		}
	}
	return !linked && str_eq(config->agents[0], agent);
}

void config_scraped_keep(struct config *config, const char *agent)
{
	size_t kept = 0;
	for (size_t i = 0; i < config->n_scraped; i++) {
		const struct config_scraped scraped = config->scraped[i];
		if (scraped_is_near(config, agent, scraped.device.name))
			config->scraped[kept++] = scraped;
	}
	config->n_scraped = kept;
}

/* ---- config_build --------------------------------------------------------- */

/* ---- config_agents - which agent asks which device. What one of them sees: config_discover.c. */

/* Names that mean something else in the data. */
static const char *const agent_names_taken[] = {"canary", "judge"};

static void agents_own(struct build *build, const struct config_agent *tree)
{
	struct fabric *fabric = build->c->fabric;
	for (size_t k = 0; k < tree->devices.n; k++) {
		size_t fits = 0;
		for (size_t i = 0; i < fabric->n_devices; i++) {
			struct fabric_device *device = fabric->devices[i];
			if (!str_glob(tree->devices.v[k], device->name))
				continue;
			fits++;
			if (device->agent && strcmp(device->agent, tree->name) != 0)
				build_error(build, build_at(tree->node, "devices"),
					"device '%s' belongs to agent '%s' already; a device that "
					"two agents ask is polled and stored twice",
					device->name, device->agent);
			device->agent = tree->name;
		}
		if (fits == 0)
			build_warn(build, build_at(tree->node, "devices"),
				"agent '%s': no device has a name like '%s'", tree->name,
				tree->devices.v[k]);
	}
}

/* Devices that nobody asks are found here and not by their silence. */
static void agents_find_orphans(struct build *build)
{
	const struct fabric *fabric = build->c->fabric;
	rw_cleanup(str_done) struct str names = {0};
	size_t n = 0;
	for (size_t i = 0; i < fabric->n_devices; i++) {
		if (fabric->devices[i]->agent)
			continue;
		if (n++ < 8)
			str_addf(&names, "%s%s", str_if(names.n, ", "), fabric->devices[i]->name);
	}
	if (n > 0)
		build_warn(build, build_at(build->root, "agents"),
			"no agent asks %zu of %zu devices: %s%s; they stay unknown", n,
			fabric->n_devices, names.s, str_if(n > 8, ", ..."));
}

static void build_judge(struct build *build)
{
	struct config *c = build->c;
	const struct config_judge *judge = c->judge = c->tree->judge;
	if (!judge)
		return;
	if (c->fabric->discover && c->tree->discover)
		build_warn(build, judge->node,
			"judge: it sees no LLDP, and the links are to be discovered: declare them "
			"(rocewatch topology discover prints them), or no pause tree has an edge");
	if (c->tree->n_agents == 0)
		build_error(build, judge->node,
			"judge: expected 'agents:' too, so that it knows for whom to wait");
}

/* Who asks which device, and who judges; after the devices. */
static void build_agents(struct build *build)
{
	struct config *c = build->c;
	struct smap *seen = smap_new();
	c->agents = arena_array(c->arena, const char *, c->tree->n_agents + 1);
	for (size_t i = 0; i < c->tree->n_agents; i++) {
		const struct config_agent *tree = &c->tree->agents[i];
		if (!tree->name ||
			build_already_given(build, seen, tree->node, "agent", tree->name))
			continue;
		for (size_t k = 0; k < rw_countof(agent_names_taken); k++)
			if (str_eq(tree->name, agent_names_taken[k]))
				build_error(build, build_at(tree->node, "name"),
					"'%s' is no name for an agent; expected another one, such "
					"as pod1",
					tree->name);
		c->agents[c->n_agents++] = tree->name;
		agents_own(build, tree);
	}
	smap_free(seen);
	if (c->n_agents > 0)
		agents_find_orphans(build);
	build_judge(build);
	if (c->n_agents > 0 && c->ship.agent)
		build_error(build, build_at(build->root, "store"),
			"store.ship.agent would give all agents of this file one name; leave it "
			"out: each ships under its own name of 'agents:'");
}

/* ---- config_alerts - who receives what: the receivers of alerts, and the sinks of 'store.ship'.
 */

enum { RECEIVERS_MAX = 32 }; /* each has a thread */

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
	build_secret(build, node, "url", &receiver->url_secret);
	build_tls(
		build, receiver->tls_node, receiver->tls_ca, receiver->tls_cert, receiver->tls_key);
	alerts_check_login(build, receiver);
	if (receiver->kind->complete)
		receiver->kind->complete(build, receiver);
	/* The file as printed shows the values in force. */
	if (receiver->min_severity < 0)
		receiver->min_severity = build->c->tree->alerts->min_severity;
	if (!receiver->resend_ns)
		receiver->resend_ns = build->c->tree->alerts->resend_ns;
	if (!receiver->name)
		receiver->name = receiver->kind->name;
}

/* The receivers of alerts. */
static void build_alerts(struct build *build)
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

/* Where the store's content goes as well. */
static void build_ship(struct build *build)
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

enum { PORT_SNMP = 161, PORT_GNMI = 9339 }; /* as registered with IANA */

/* ---- devices ------------------------------------------------------------- */

static int64_t given_or(int64_t given, int64_t otherwise)
{
	if (given)
		return given;
	return otherwise;
}

/* What a device does not say comes from 'defaults:', and is printed as if it stood there. */
static void build_snmp_times(struct build *build, struct config_snmp *snmp)
{
	const struct config_defaults *defaults = build->c->tree->defaults;
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

/* NULL: it is not polled, or, in a recorded case, not known where. */
static struct config_snmp *build_snmp(struct build *build, struct config_snmp *snmp)
{
	if (!snmp)
		return NULL;
	build_snmp_times(build, snmp);
	if (!snmp->address_read && build->mode == CONFIG_FULL && !yaml_get(snmp->node, "address"))
		build_error(build, snmp->node,
			"the key 'address' is missing here: where the device answers SNMP");
	snmp->credential = build_credential(build, snmp->node, snmp->credentials, "snmp");
	if (!snmp->address_read)
		return NULL;
	/* the schema has checked its form */
	address_split(
		build->c->arena, snmp->address_read, PORT_SNMP, &snmp->address, &snmp->port, NULL);
	return snmp;
}

static struct config_gnmi *build_gnmi(struct build *build, struct config_gnmi *gnmi)
{
	/* enum Encoding of gnmi.proto for auto, proto, json_ietf, json, ascii; -1 = by capability
	 */
	static const int encodings[] = {-1, 2, 4, 0, 3};
	if (!gnmi)
		return NULL;
	const struct config_defaults *defaults = build->c->tree->defaults;
	gnmi->interval_ns = given_or(gnmi->interval_ns, defaults->interval_ns);
	gnmi->slow_interval_ns = given_or(gnmi->slow_interval_ns, defaults->slow_interval_ns);
	gnmi->encoding = encodings[gnmi->encoding_read];
	if (!gnmi->address_read && build->mode == CONFIG_FULL && !yaml_get(gnmi->node, "address"))
		build_error(build, gnmi->node,
			"the key 'address' is missing here: where the device answers gNMI");
	gnmi->credential = build_credential(build, gnmi->node, gnmi->credentials, "gnmi");
	if (!gnmi->address_read)
		return NULL;
	address_split(
		build->c->arena, gnmi->address_read, PORT_GNMI, &gnmi->address, &gnmi->port, NULL);
	return gnmi;
}

/* @asked: SNMP or gNMI tells its address. */
static void build_sflow(struct build *build, struct config_sflow *sflow, bool asked)
{
	struct arena *a = build->c->arena;
	if (build->mode == CONFIG_FULL && !sflow->agent && !asked)
		build_error(build, sflow->node,
			"the key 'agent' is missing here: the address in its datagrams, since the "
			"device has no snmp and no gnmi");
	sflow->ports = arena_array(a, struct config_sflow_port, sflow->ports_read.n + 1);
	for (size_t i = 0; i < sflow->ports_read.n; i++) {
		const char *text = sflow->ports_read.v[i], *equals = strchr(text, '=');
		if (!equals) /* the schema has complained */
			continue;
		sflow->ports[sflow->n_ports++] =
			(struct config_sflow_port){.ifindex = (uint32_t)strtoul(text, NULL, 10),
				.port = arena_strdup(a, equals + 1)};
	}
}

static bool lists_nothing(const struct yaml_node *root, const char *key)
{
	const struct yaml_item *item = yaml_get(root, key);
	return !item || (item->value->kind == YAML_LIST && item->value->n == 0);
}

static void build_device(struct build *build, struct config_device *device)
{
	struct config *c = build->c;
	const struct yaml_node *node = device->node;
	const bool asked = yaml_get(node, "snmp") || yaml_get(node, "gnmi");
	device->profile = str_or(device->profile, c->defaults.profile);
	struct config_device *used = &c->devices[c->n_devices++];
	*used = *device;
	used->name = str_or(device->name, "");
	used->device = fabric_device(c->fabric, used->name);
	used->snmp = build_snmp(build, device->snmp);
	used->gnmi = build_gnmi(build, device->gnmi);
	if (device->sflow)
		build_sflow(build, device->sflow, asked);
	if (device->push && device->push->interval_ns == 0)
		device->push->interval_ns = c->tree->defaults->interval_ns;
	if (device->push && device->push->pin && !device->push->address && !asked)
		build_error(build, device->push->node,
			"push: pin needs an address: add push.address, or a snmp or gnmi section");
	if (build->mode == CONFIG_FULL && !asked && !yaml_get(node, "sflow") &&
		!yaml_get(node, "push"))
		build_error(build, node,
			"%s has no address; add 'snmp: { address: ..., credentials: ... }' "
			"or a gnmi, sflow or push section",
			str_or(device->name, "device"));
}

static void build_devices(struct build *build)
{
	struct config *c = build->c;
	c->devices = arena_array(c->arena, struct config_device, c->tree->n_devices);
	for (size_t i = 0; i < c->tree->n_devices; i++)
		build_device(build, &c->tree->devices[i]);
	if (build->mode == CONFIG_FULL && lists_nothing(build->root, "devices") &&
		lists_nothing(build->root, "capture") && lists_nothing(build->root, "push") &&
		lists_nothing(build->root, "scrape"))
		build_error(build, build->root,
			"nothing to watch: add 'devices:' (rocewatch config explain devices) or "
			"'capture:'");
}

/* ---- captures and traps -------------------------------------------------- */

/* Keys of one way of capturing that the other does not have. */
static void build_capture_keys(struct build *build, const struct config_capture *tree)
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
	struct smap *seen = smap_new();
	c->job_files = c->tree->job_files;
	c->n_job_files = c->tree->n_job_files;
	for (size_t i = 0; i < c->n_job_files; i++)
		build_already_given(
			build, seen, c->job_files[i].node, "job file", c->job_files[i].path);
	smap_free(seen);
}

static void build_captures(struct build *build)
{
	static const char *const directions[] = {"in", "out", "both"};
	struct config *c = build->c;
	const size_t n = c->tree->n_captures;
	struct smap *seen = smap_new();
	c->captures = arena_array(c->arena, struct config_capture, n);
	for (; c->n_captures < n; c->n_captures++) {
		struct config_capture *capture = &c->captures[c->n_captures];
		*capture = c->tree->captures[c->n_captures];
		capture->line = capture->node->line;
		capture->direction = directions[capture->direction_read];
		capture->mirrored = directions[capture->mirrored_read];
		if (capture->port_read)
			endpoint_split(
				c->arena, capture->port_read, &capture->device, &capture->port);
		build_already_given(build, seen, capture->node, "capture", capture->name);
		const bool packets = yaml_get(capture->node, "interface");
		const bool sflow = yaml_get(capture->node, "listen");
		if (packets == sflow)
			build_error(build, capture->node,
				"%s: expected either 'interface: NAME' (packets) or 'listen: "
				"ADDRESS:PORT' (sFlow)",
				str_or(capture->name, "capture"));
		build_capture_keys(build, capture);
	}
	smap_free(seen);
}

static void build_traps(struct build *build)
{
	struct config *c = build->c;
	struct config_traps *traps = c->traps = c->tree->traps;
	if (!traps)
		return;
	if (traps->listen) /* the schema has checked its form */
		address_split(c->arena, traps->listen, 0, &traps->address, &traps->port, NULL);
	traps->credentials =
		arena_array(c->arena, const struct config_credential *, traps->n_names + 1);
	for (size_t i = 0; i < traps->n_names; i++) {
		const struct config_credential *found =
			build_credential(build, traps->node, traps->names[i], "snmp");
		if (found && found->snmp)
			traps->credentials[traps->n_credentials++] = found;
	}
}

/* ---- what devices push --------------------------------------------------- */

static bool push_is_local(struct build *build, const char *listen)
{
	const char *host;
	uint16_t port;
	if (!listen || address_split(build->c->arena, listen, 0, &host, &port, NULL) < 0)
		return true;
	return address_is_local(host);
}

static void push_check_tls(struct build *build, const struct config_push_place *row)
{
	const struct config_push *push = &row->push;
	const bool local = push_is_local(build, push->grpc) && push_is_local(build, push->http);
	if (row->tls_node) {
		build_file(build, row->tls_node, "cert", push->cert, false);
		build_file(build, row->tls_node, "key", push->key, true);
		build_file(build, row->tls_node, "client_ca", push->client_ca, false);
	}
	if (!local && !row->tls_node && !push->insecure)
		build_error(build, row->node,
			"push: an address outside this machine needs tls: { cert: FILE, key: FILE "
			"}, "
			"so that nobody reads along or changes values; 'insecure: true' does "
			"without");
}

static void build_push(
	struct build *build, struct config_push_place *row, struct config_capture *place)
{
	struct config_push *push = &row->push;
	const bool otlp = push->grpc || push->http;
	*place = row->place;
	place->node = row->node;
	place->line = row->node->line;
	place->direction = place->mirrored = "both";
	place->sampling = 1;
	place->push = push;
	push->profile_dir = build->c->tree->profile_dir;
	if (build->mode == CONFIG_FULL && otlp == (push->ipfix != NULL))
		build_error(build, row->node,
			"%s: expected 'grpc: ADDRESS:PORT', 'http: ADDRESS:PORT' or both, or "
			"'ipfix: ADDRESS:PORT'",
			str_or(place->name, "push"));
	if (push->ipfix) {
		place->listen = push->ipfix;
		return;
	}
	place->listen = str_or(push->grpc, push->http);
	place->buffer_bytes = 0;
	push_check_tls(build, row);
}

static void build_pushes(struct build *build)
{
	struct config *c = build->c;
	const size_t n = c->tree->n_pushes;
	struct smap *seen = smap_new();
	bool fed = false;
	c->pushes = arena_array(c->arena, struct config_capture, n + 1);
	for (; c->n_pushes < n; c->n_pushes++) {
		struct config_push_place *row = &c->tree->pushes[c->n_pushes];
		build_push(build, row, &c->pushes[c->n_pushes]);
		build_already_given(build, seen, row->node, "push", row->place.name);
	}
	for (size_t i = 0; i < c->n_devices; i++)
		fed |= c->devices[i].push != NULL;
	if (fed && n == 0 && build->mode == CONFIG_FULL && c->n_captures == 0)
		build_warn(build, build->root,
			"devices push, and nothing receives it: add 'push:' with grpc or http "
			"(rocewatch config explain push)");
	smap_free(seen);
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
	struct config_http *http = c->tree->http;
	if (!http || !http->listen)
		return;
	c->http = http;
	address_split(c->arena, http->listen, 0, &http->address, &http->port, NULL);
	if (!http->address)
		return;
	const char *unsafe = config_http_unsafe(http);
	if (unsafe)
		build_error(build, http->node, "http: %s", unsafe);
}

/* ---- well written, and cannot be meant ----------------------------------- */

static double match_ratio(const struct option_table *table, const char *name, const void *options)
{
	const struct option *row = option_find(table, name);
	if (!row || row->type != OPT_RATIO)
		return -1;
	return *(const double *)((const char *)options + row->offset);
}

static const struct yaml_node *match_section(const struct yaml_node *map, const char *key)
{
	const struct yaml_item *item = NULL;
	if (map && map->kind == YAML_MAP)
		item = yaml_get(map, key);
	return item && item->value->kind == YAML_MAP ? item->value : NULL;
}

/* Where warn lies above critical, a warning is never given. */
static void match_limits(struct build *build)
{
	const struct config *c = build->c;
	for (size_t i = 0; i < c->n_tables; i++) {
		const struct option_table *table = c->tables[i];
		const double warn = match_ratio(table, "warn", c->options[i]),
			     critical = match_ratio(table, "critical", c->options[i]);
		const struct yaml_node *section =
			match_section(match_section(build->root, table->section), table->name);
		if (!section || warn < 0 || critical < 0 || warn <= critical)
			continue;
		const char *key = yaml_get(section, "warn") ? "warn" : "critical";
		build_error(build, build_at(section, key),
			"warn (%.4g %%) is above critical (%.4g %%); a warning comes first",
			100 * warn, 100 * critical);
	}
}

static bool match_job(const struct fabric *fabric, const struct fabric_job *job, bool *ret_hosts)
{
	for (size_t d = 0; d < fabric->n_devices; d++)
		for (size_t p = 0; p < fabric->devices[d]->n_ports; p++) {
			const char *host = fabric->devices[d]->ports[p]->host;
			*ret_hosts |= host != NULL;
			if (host && fabric_job_has(job, host))
				return true;
		}
	return false;
}

/* Where links are discovered, or jobs come from a scheduler, hosts are not known yet. */
static void match_jobs(struct build *build)
{
	const struct fabric *fabric = build->c->fabric;
	for (size_t i = 0; i < fabric->n_jobs && !fabric->discover; i++) {
		const struct fabric_job *job = &fabric->jobs[i];
		bool hosts = false;
		if (job->scheduled || !job->hosts || match_job(fabric, job, &hosts) || !hosts)
			continue;
		build_warn(build, build_at(job->node, "hosts"),
			"hosts: '%.64s' matches no host of the links: the job is never seen",
			job->hosts);
	}
}

/* Of thresholds and settings of ports. */
static void match_devices(
	struct build *build, const struct yaml_node *node, const char *glob, const char *what)
{
	const struct fabric *fabric = build->c->fabric;
	bool found = fabric->n_devices == 0;
	for (size_t d = 0; d < fabric->n_devices && !found; d++)
		found = str_glob(glob, fabric->devices[d]->name);
	if (!found)
		build_warn(build, build_at(node, "devices"),
			"devices: '%.64s' matches no device: these %s apply nowhere", glob, what);
}

static void match_thresholds(struct build *build)
{
	const struct fabric *fabric = build->c->fabric;
	for (size_t i = 0; i < fabric->n_thresholds; i++)
		match_devices(build, fabric->thresholds[i].node, fabric->thresholds[i].devices,
			"thresholds");
	for (size_t i = 0; i < fabric->n_port_settings; i++)
		match_devices(build, fabric->port_settings[i].node,
			fabric->port_settings[i].devices, "settings");
}

/* ---- all of it ----------------------------------------------------------- */

static void build_store(struct build *build)
{
	struct config *c = build->c;
	const struct config_store *store = schema_read_or_defaults(build, "store");
	if (store->raw_ns > store->minute_ns || store->minute_ns > store->hour_ns)
		build_error(build, store->retention_node,
			"retention: expected raw <= minute <= hour, so that older history is the "
			"coarser one");
	build_ship(build);
	c->store = *store;
}

void build_config(struct build *build)
{
	struct config *c = build->c;
	struct config_tree *tree = c->tree;
	c->defaults = *(const struct config_defaults *)schema_read_or_defaults(build, "defaults");
	build_store(build);
	c->tuning = *(const struct config_tuning *)schema_read_or_defaults(build, "tuning");
	c->limits = *(const struct config_limits *)schema_read_or_defaults(build, "limits");
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
	build_scrape(build);
	build_job_files(build);
	build_traps(build);
	build_alerts(build);
	match_limits(build);
	match_jobs(build);
	match_thresholds(build);
}

/*
 * config_scrape - which hosts are scraped, and where: each row of 'scrape:' with each host that it
 * means. A host's name comes from the configuration, or, where 'hosts:' asks for it, from what LLDP
 * tells: what could not be a name stands in no URL, since whoever chooses the host of a URL chooses
 * who gets the log-in.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/str.h"
#include "config/address.h"
#include "config/config_build.h"
#include "config/fabric.h"

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

void build_scrape(struct build *build)
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

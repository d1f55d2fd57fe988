/* parser_map - addresses of the configuration for a parser, and its numbers back to names. */
#include "agent/daemon/parser_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "collectors/packet/sflow_agents.h"
#include "config/address.h"
#include "config/config.h"
#include "config/fabric.h"

enum { SENDER_NAMES_MAX = 8 }; /* of one device, beside its own */
/* bytes of one device on the wire, at most */
#define RECORD_MAX ((SENDER_NAMES_MAX + 2) * (PARSER_TEXT_MAX + 3) + 8)

struct map_device { /* by number */
	char *name;
	const struct config_device *device; /* NULL: no longer configured, or a host */
	bool host; /* of the configured links */
};

struct parser_map {
	struct collector_lookup lookup;
	const struct config *config;
	const struct config_capture *capture;
	struct sflow_agents *agents;
	struct map_device *v;
	size_t n, cap;
	uint32_t *numbers; /* of the configuration's devices */
	size_t n_numbers, cap_numbers;
	uint64_t sent; /* hash of what was sent last */
	bool known; /* .sent says something */
};

/* ---- numbers ----------------------------------------------------------------- */

static uint32_t map_number(struct parser_map *map, size_t guess, const char *name)
{
	/* a reload seldom changes the order */
	if (guess < map->n && str_eq(map->v[guess].name, name))
		return (uint32_t)guess;
	for (size_t i = 0; i < map->n; i++)
		if (str_eq(map->v[i].name, name))
			return (uint32_t)i;
	rw_grow(map->v, map->n, map->cap);
	map->v[map->n++] = (struct map_device){.name = rw_strdup(name)};
	return (uint32_t)(map->n - 1);
}

/* Hosts at the other end of links push, too: their NICs. */
static void map_hosts(struct parser_map *map, const struct config *config)
{
	const struct fabric *fabric = config->fabric;
	for (size_t i = 0; fabric && i < fabric->n_devices; i++) {
		const struct fabric_device *device = fabric->devices[i];
		for (size_t k = 0; k < device->n_ports; k++) {
			const char *host = device->ports[k]->host;
			if (!host)
				continue;
			const uint32_t number = map_number(map, map->n, host);
			map->v[number].host = !map->v[number].device;
		}
	}
}

void parser_map_update(
	struct parser_map *map, const struct config *config, const struct config_capture *capture)
{
	map->config = config;
	map->capture = capture;
	sflow_agents_free(map->agents);
	map->agents = NULL;
	if (capture->interface)
		return;
	map->agents = sflow_agents_new(config, capture, &map->lookup);
	for (size_t i = 0; i < map->n; i++) {
		map->v[i].device = NULL;
		map->v[i].host = false;
	}
	map->n_numbers = 0;
	for (size_t i = 0; i < config->n_devices; i++) {
		const uint32_t number = map_number(map, i, config->devices[i].name);
		rw_grow(map->numbers, map->n_numbers, map->cap_numbers);
		map->numbers[map->n_numbers++] = number;
		map->v[number].device = &config->devices[i];
	}
	if (capture->push)
		map_hosts(map, config);
}

void parser_map_changed(struct parser_map *map)
{
	map->known = false;
}

/* ---- sending ----------------------------------------------------------------- */

/* A name is none: the parser resolves nothing. */
static bool map_numeric(const char *text)
{
	struct network network;
	return text && network_parse(text, &network) == 0;
}

/* "192.0.2.1:161", "[2001:db8::1]:161" without the port; false when it is not known. */
static bool map_peer(const struct parser_map *map, const char *device, char host[64])
{
	const char *peer = NULL;
	if (map->lookup.peer)
		peer = map->lookup.peer(map->lookup.arg, device);
	if (!peer)
		return false;
	size_t n = strcspn(peer, ":");
	if (*peer == '[')
		n = strcspn(++peer, "]");
	snprintf(host, 64, "%.*s", (int)n, peer);
	return map_numeric(host);
}

static bool device_has_counters(const struct config_device *device)
{
	return device->sflow && device->sflow->counters && !device->snmp && !device->gnmi;
}

static void map_put_device(
	const struct parser_map *map, const struct config_device *device, struct parser_out *out)
{
	char host[64];
	const char *agent = NULL, *snmp = NULL, *gnmi = NULL, *push = NULL;
	if (device->push)
		push = device->push->address;
	if (device->sflow)
		agent = device->sflow->agent;
	if (device->snmp && map_numeric(device->snmp->address))
		snmp = device->snmp->address;
	if (device->gnmi && map_numeric(device->gnmi->address))
		gnmi = device->gnmi->address;
	/* asked by name: the address that the name was resolved to stands in its place */
	const bool named = (device->snmp && !snmp) || (device->gnmi && !gnmi);
	if (named && map_peer(map, device->name, host)) {
		if (device->snmp && !snmp)
			snmp = host;
		else
			gnmi = host;
	}
	parser_put_text(out, agent);
	parser_put_text(out, snmp);
	parser_put_text(out, gnmi);
	parser_put_text(out, push);
	parser_put_u8(out, device_has_counters(device));
}

/* What a sender calls itself, and where it sends from. */
static void map_put_sender(const struct parser_map *map, uint32_t number, struct parser_out *out)
{
	const struct map_device *of = &map->v[number];
	const struct config_device_push *push = NULL;
	const char *address = NULL;
	size_t n = 0;
	if (of->device)
		push = of->device->push;
	if (push) {
		n = push->n_names;
		address = push->address;
	}
	if (n > SENDER_NAMES_MAX)
		n = SENDER_NAMES_MAX;
	parser_put_u32(out, number);
	parser_put_u8(out, (uint8_t)(n + 1));
	parser_put_text(out, of->name);
	for (size_t i = 0; i < n; i++)
		parser_put_text(out, push->names[i]);
	parser_put_text(out, address);
}

struct map_pass { /* over all messages: to hash them, or to send them */
	parser_map_send_fn *send; /* NULL: only the hash */
	void *arg;
	uint64_t hash;
	bool failed;
	struct parser_out out;
};

static void pass_end_message(struct map_pass *pass)
{
	pass->hash = hash_bytes((const char *)pass->out.b, pass->out.n, pass->hash);
	if (pass->send && !pass->failed)
		pass->failed = !pass->send(pass->arg, &pass->out);
}

static void pass_short(struct map_pass *pass, enum parser_kind kind)
{
	parser_out_begin(&pass->out, kind);
	pass_end_message(pass);
}

static void pass_next(struct map_pass *pass, enum parser_kind kind)
{
	if (pass->out.n + RECORD_MAX <= sizeof(pass->out.b))
		return;
	pass_end_message(pass);
	parser_out_begin(&pass->out, kind);
}

/* @at: of the device, in the order in which they were sent. */
static void map_pass_objects(
	struct map_pass *pass, uint32_t at, const struct config_device_push *push)
{
	for (size_t i = 0; push && i < push->n_objects; i++) {
		parser_out_begin(&pass->out, PARSER_MAP_OBJECTS);
		parser_put_u32(&pass->out, at);
		parser_put_bytes(&pass->out, push->objects[i], strlen(push->objects[i]));
		pass_end_message(pass);
	}
}

static void map_pass(const struct parser_map *map, struct map_pass *pass)
{
	const struct config_capture *capture = map->capture;
	pass_short(pass, PARSER_MAP_BEGIN);
	parser_out_begin(&pass->out, PARSER_MAP_ALLOW);
	for (size_t i = 0; map->agents && i < capture->n_allow; i++) {
		parser_put_text(&pass->out, capture->allow[i]);
		pass_next(pass, PARSER_MAP_ALLOW);
	}
	pass_end_message(pass);
	parser_out_begin(&pass->out, PARSER_MAP_DEVICES);
	for (size_t i = 0; map->agents && i < map->n_numbers; i++) {
		parser_put_u32(&pass->out, map->numbers[i]);
		map_put_device(map, &map->config->devices[i], &pass->out);
		pass_next(pass, PARSER_MAP_DEVICES);
	}
	pass_end_message(pass);
	for (size_t i = 0; map->agents && capture->push && i < map->n_numbers; i++)
		map_pass_objects(pass, (uint32_t)i, map->config->devices[i].push);
	parser_out_begin(&pass->out, PARSER_MAP_SENDERS);
	for (size_t i = 0; capture->push && i < map->n; i++) {
		const struct map_device *of = &map->v[i];
		if (!of->host && !(of->device && of->device->push))
			continue;
		map_put_sender(map, (uint32_t)i, &pass->out);
		pass_next(pass, PARSER_MAP_SENDERS);
	}
	pass_end_message(pass);
	pass_short(pass, PARSER_MAP_END);
}

void parser_map_send(struct parser_map *map, parser_map_send_fn *send, void *arg)
{
	if (map->known && !map->agents)
		return;
	rw_cleanup(freep) struct map_pass *pass = rw_calloc(1, sizeof(*pass));
	map_pass(map, pass);
	if (map->known && pass->hash == map->sent)
		return;
	const uint64_t hash = pass->hash;
	*pass = (struct map_pass){.send = send, .arg = arg};
	map_pass(map, pass);
	map->known = !pass->failed;
	map->sent = hash;
}

/* ---- what numbers mean --------------------------------------------------------- */

static const struct config_device *map_device(const struct parser_map *map, uint32_t number)
{
	if (number >= map->n)
		return NULL;
	return map->v[number].device;
}

static const char *map_device_name(void *arg, uint32_t number)
{
	const struct parser_map *map = arg;
	const struct config_device *device = map_device(map, number);
	if (!device && number < map->n && map->v[number].host)
		return map->v[number].name;
	if (!device)
		return NULL;
	return device->name;
}

static const char *map_port(void *arg, uint32_t number, uint32_t ifindex)
{
	const struct parser_map *map = arg;
	const struct config_device *device = map_device(map, number);
	if (!device || !map->agents)
		return NULL;
	return sflow_agents_port(map->agents, device, ifindex);
}

static bool map_counters(void *arg, uint32_t number)
{
	const struct parser_map *map = arg;
	const struct config_device *device = map_device(map, number);
	if (map->capture->push)
		return (device && device->push) || (number < map->n && map->v[number].host);
	return device && device_has_counters(device);
}

static char *map_objects(void *arg, uint32_t number)
{
	const struct config_device *device = map_device(arg, number);
	struct str out = {0};
	for (size_t i = 0; device && device->push && i < device->push->n_objects; i++)
		str_addf(&out, "%s;", device->push->objects[i]);
	return out.s;
}

uint32_t parser_map_number(const struct parser_map *map, const char *device)
{
	for (size_t i = 0; i < map->n; i++)
		if (map->v[i].device && str_eq(map->v[i].name, device))
			return (uint32_t)i;
	return UINT32_MAX;
}

struct intake_lookup parser_map_lookup(struct parser_map *map)
{
	return (struct intake_lookup){map, map_device_name, map_port, map_counters, map_objects};
}

/* ---- life ---------------------------------------------------------------- */

struct parser_map *parser_map_new(const struct collector_lookup *lookup)
{
	struct parser_map *map = rw_calloc(1, sizeof(*map));
	map->lookup = *lookup;
	return map;
}

void parser_map_free(struct parser_map *map)
{
	if (!map)
		return;
	for (size_t i = 0; i < map->n; i++)
		free(map->v[i].name);
	free(map->v);
	free(map->numbers);
	sflow_agents_free(map->agents);
	free(map);
}

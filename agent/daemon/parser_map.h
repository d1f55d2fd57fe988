/*
 * parser_map - what an sFlow parser has to know of the configuration, and what its numbers mean
 * here. It gets the addresses of the devices and who is allowed to send; names of devices and ports
 * stay with the agent. A number belongs to a name for as long as the map lives, over reloads. For a
 * capture of an interface the map is empty. Loop thread.
 */
#ifndef RW_AGENT_PARSER_MAP_H
#define RW_AGENT_PARSER_MAP_H

#include "agent/daemon/parser_intake.h"

struct config;
struct config_capture;
struct parser_map;

struct parser_map *parser_map_new(const struct collector_lookup *lookup); /* copied */
void parser_map_free(struct parser_map *map); /* NULL is fine */

/* parser_map_update - both are lent until the next call. */
void parser_map_update(
	struct parser_map *map, const struct config *config, const struct config_capture *capture);
/* parser_map_changed - the next parser_map_send() sends all of it: to a new process. */
void parser_map_changed(struct parser_map *map);

/* parser_map_send - sends the map where it differs from what was sent last: after a reload, and
 * when the name of a device was resolved to an address. What @send refuses is tried at the next
 * call. */
typedef bool parser_map_send_fn(void *arg, const struct parser_out *out);
void parser_map_send(struct parser_map *map, parser_map_send_fn *send, void *arg);

/* parser_map_number - UINT32_MAX: no such device. */
uint32_t parser_map_number(const struct parser_map *map, const char *device);
struct intake_lookup parser_map_lookup(struct parser_map *map);

#endif

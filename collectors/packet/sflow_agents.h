/*
 * sflow_agents - whose datagrams an sFlow listener reads, and which device and port of the fabric
 * they are about: by the configuration, and by what other protocols have learned of a device. Loop
 * thread.
 *
 * A device is known by the agent address in the datagram; where that is unknown, by the address the
 * datagram came from. Both are compared with sflow.agent, and with the addresses of snmp and gnmi.
 * An address of several devices means none of them.
 */
#ifndef RW_COLLECTORS_SFLOW_AGENTS_H
#define RW_COLLECTORS_SFLOW_AGENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/target/collector.h"
#include "config/config.h"

struct sflow_agents;

/* Both are lent until sflow_agents_free(); @lookup is copied. */
struct sflow_agents *sflow_agents_new(const struct config *config,
	const struct config_capture *capture, const struct collector_lookup *lookup);
void sflow_agents_free(struct sflow_agents *agents); /* NULL is fine */

/* Addresses have 16 bytes, IPv4 as ::ffff:a.b.c.d. */

/* sflow_agents_allow - may datagrams come from @source? By 'allow', else by the addresses of the
 * devices. */
bool sflow_agents_allow(const struct sflow_agents *agents, const uint8_t source[16]);

/* sflow_agents_device - NULL when no device, or more than one, has one of the two addresses. */
const struct config_device *sflow_agents_device(
	const struct sflow_agents *agents, const uint8_t agent[16], const uint8_t source[16]);

/* sflow_agents_port - the name of the port with this ifIndex: sflow.ports, else as SNMP has learned
 * it; NULL when it is not known. Lent until the next turn of the loop. */
const char *sflow_agents_port(
	const struct sflow_agents *agents, const struct config_device *device, uint32_t ifindex);

#endif

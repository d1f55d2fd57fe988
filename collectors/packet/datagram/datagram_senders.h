/*
 * datagram_senders - whose datagrams a listener of sFlow or IPFIX reads, and which device and port
 * of the fabric they are about: by the configuration, and by what other protocols have learned of a
 * device. Loop thread.
 *
 * A device is known by the agent address in the datagram; where that is unknown, by the address the
 * datagram came from. Both are compared with sflow.agent and push.address, and with the addresses
 * of snmp and gnmi. An address of several devices means none of them.
 */
#pragma once

#include "base/base.h"

#include "collectors/target/collector.h"
#include "config/config.h"

struct datagram_senders;

/* Both are lent until datagram_senders_free(); @lookup is copied. */
struct datagram_senders *datagram_senders_new(const struct config *config,
	const struct config_capture *capture, const struct collector_lookup *lookup);
void datagram_senders_free(struct datagram_senders *senders); /* NULL is fine */

/* Addresses have 16 bytes, IPv4 as ::ffff:a.b.c.d. */

/* datagram_senders_allow - may datagrams come from @source? By 'allow', else by the addresses of
 * the devices. */
bool datagram_senders_allow(const struct datagram_senders *senders, const uint8_t source[16]);

/* datagram_senders_device - NULL when no device, or more than one, has one of the two addresses. */
const struct config_device *datagram_senders_device(
	const struct datagram_senders *senders, const uint8_t agent[16], const uint8_t source[16]);

/* datagram_senders_port - the name of the port with this ifIndex: sflow.ports, else as SNMP has
 * learned it; NULL when it is not known. Lent until the next turn of the loop. */
const char *datagram_senders_port(const struct datagram_senders *senders,
	const struct config_device *device, uint32_t ifindex);

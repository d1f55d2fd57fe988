/*
 * push_senders - which device sends: by the names that it gives itself in its resource, else by the
 * address it sends from. Immutable once made; any thread.
 */
#ifndef RW_COLLECTORS_PUSH_SENDERS_H
#define RW_COLLECTORS_PUSH_SENDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/push/push_map.h"

#define SENDER_NONE UINT32_MAX

struct config;
struct push_senders;

/* push_senders_new - of the devices "dN" with push.names in @config, which is not kept. Their
 * names are push.names, their addresses push.address, snmp.address and gnmi.address. */
struct push_senders *push_senders_new(const struct config *config);
void push_senders_free(struct push_senders *senders); /* NULL is fine */

/* push_senders_named - the number N of the device that calls itself so; letters count the same in
 * any case, and a domain behind the name may be missing on either side. SENDER_NONE: none, or more
 * than one. */
uint32_t push_senders_named(const struct push_senders *senders, const char *name, size_t n);

/* push_senders_find - by the resource's labels (host.name and others), else by the address. */
uint32_t push_senders_find(const struct push_senders *senders, const uint8_t address[16],
	const struct push_label *labels, size_t n);

/* push_senders_address - is it an address of a device? */
bool push_senders_address(const struct push_senders *senders, const uint8_t address[16]);

/* push_senders_describe - how a sender that is no device calls itself: "NAME_at_ADDRESS". */
enum { SENDER_TEXT_MAX = 64 };
void push_senders_describe(const uint8_t address[16], const struct push_label *labels, size_t n,
	char ret[SENDER_TEXT_MAX]);

#endif

/* address - the two texts with a colon in them: where something listens ("HOST:PORT") and which
 * port of which device is meant ("DEVICE:PORT"). */
#ifndef RW_CONFIG_ADDRESS_H
#define RW_CONFIG_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct err;

#define ADDRESS_HOST_MAX 253 /* octets of a domain name, RFC 1035 section 2.3.4 */

/*
 * address_split - "host", "host:port", "[v6]:port" or a bare IPv6 address. *@ret_host lives in @a;
 * NULL when @a is. 0, or -EINVAL: @e says what was read and what is expected.
 */
int address_split(struct arena *a, const char *text, uint16_t default_port, const char **ret_host,
	uint16_t *ret_port, struct err *e);

/* endpoint_split - "leaf1:et-0/0/0:1" at the first ':'. False when there is no text on one side;
 * with @a NULL nothing is copied. */
bool endpoint_split(
	struct arena *a, const char *text, const char **ret_device, const char **ret_port);

#endif

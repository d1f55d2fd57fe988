/* address - the two texts with a colon in them: where something listens ("HOST:PORT") and which
 * port of which device is meant ("DEVICE:PORT"). */
#pragma once

#include "base/base.h"

#include "config/neighbor_kind.h"

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

/* endpoint_kind - does the text name something that is no device: "host:NAME", "switch:NAME",
 * "unknown:NAME"? A configured device that is called "switch" or "unknown" comes before that: the
 * caller asks. @ret may be NULL. */
bool endpoint_kind(const char *text, enum neighbor_kind *ret);

/* A network: the addresses that begin with these bits. IPv4 as its IPv6 form ::ffff:a.b.c.d. */
struct network {
	unsigned char address[16];
	unsigned bits;
};

/* network_parse - "10.0.0.0/8", "2001:db8::/32", or one address. 0 or -EINVAL. */
int network_parse(const char *text, struct network *ret);

/* network_holds - whether @address, in the same form, is one of @network. */
bool network_holds(const struct network *network, const unsigned char address[16]);

/* address_text - an address in that form, as people write it. */
#define ADDRESS_TEXT_MAX 46
char *address_text(char buf[ADDRESS_TEXT_MAX], const unsigned char address[16]);

/* address_is_local - "localhost" or an address of the loopback network. */
bool address_is_local(const char *host);

/* pcap_value - single values in the document of a capture. */
#pragma once

#include <arpa/inet.h>
#include <jansson.h>
#include "base/base.h"

/* pcap_count_put - a counter into @object. */
void pcap_count_put(json_t *object, const char *key, uint64_t value);

/* pcap_address_text - @family 4 or 6, @address as in struct roce_packet. Returns @buf. */
const char *pcap_address_text(
	char buf[INET6_ADDRSTRLEN], uint8_t family, const uint8_t address[16]);
/* pcap_address_put - the same into @object. */
void pcap_address_put(json_t *object, const char *key, uint8_t family, const uint8_t address[16]);

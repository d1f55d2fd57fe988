/* pcap_value - counters and addresses. */
#include "agent/capture/pcap_value.h"

void pcap_count_put(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

const char *pcap_address_text(char buf[INET6_ADDRSTRLEN], uint8_t family, const uint8_t address[16])
{
	int inet = AF_INET6;
	if (family == 4)
		inet = AF_INET;
	buf[0] = '\0';
	inet_ntop(inet, address, buf, INET6_ADDRSTRLEN);
	return buf;
}

void pcap_address_put(json_t *object, const char *key, uint8_t family, const uint8_t address[16])
{
	char text[INET6_ADDRSTRLEN];
	json_object_set_new(object, key, json_string(pcap_address_text(text, family, address)));
}

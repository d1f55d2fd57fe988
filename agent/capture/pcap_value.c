/* pcap_value - counters and addresses. */
#include "agent/capture/pcap_value.h"

void pcap_count_put(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

static char *address_number(char *at, unsigned number)
{
	if (number >= 100)
		*at++ = (char)('0' + number / 100);
	if (number >= 10)
		*at++ = (char)('0' + number / 10 % 10);
	*at++ = (char)('0' + number % 10);
	return at;
}

const char *pcap_address_text(char buf[INET6_ADDRSTRLEN], uint8_t family, const uint8_t address[16])
{
	char *at = buf;
	if (family != 4) {
		buf[0] = '\0';
		inet_ntop(AF_INET6, address, buf, INET6_ADDRSTRLEN);
		return buf;
	}
	for (int i = 0; i < 4; i++) {
		at = address_number(at, address[i]);
		*at++ = '.';
	}
	at[-1] = '\0';
	return buf;
}

void pcap_address_put(json_t *object, const char *key, uint8_t family, const uint8_t address[16])
{
	char text[INET6_ADDRSTRLEN];
	json_object_set_new(object, key, json_string(pcap_address_text(text, family, address)));
}

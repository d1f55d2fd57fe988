/* address - splits "HOST:PORT" and "DEVICE:PORT". */
#include "config/address.h"

#include <arpa/inet.h>

/* The end of the host in @text, which begins at *@host; *@ret_port is the port's text, or NULL.
 * NULL when the brackets are wrong. */
static const char *address_host_end(const char **host, const char **ret_port)
{
	const char *text = *host;
	*ret_port = NULL;
	if (*text == '[') {
		*host = text + 1;
		const char *end = strchr(*host, ']');
		if (!end || (end[1] && end[1] != ':'))
			return NULL;
		if (end[1])
			*ret_port = end + 2;
		return end;
	}
	const char *colon = strchr(text, ':');
	/* Two colons without brackets: an IPv6 address without a port. */
	if (!colon || strchr(colon + 1, ':'))
		return text + strlen(text);
	*ret_port = colon + 1;
	return colon;
}

/* Digits and dots, or colons: an address, which may be wrong. Else a name. */
static bool address_is_wrong(const char *host, size_t length)
{
	char text[ADDRESS_HOST_MAX + 1];
	unsigned char binary[16];
	memcpy(text, host, length);
	text[length] = '\0';
	text[strcspn(text, "%")] = '\0'; /* fe80::1%eth0 */
	if (strspn(text, "0123456789.") == strlen(text))
		return strchr(text, '.') && inet_pton(AF_INET, text, binary) != 1;
	return strchr(text, ':') && inet_pton(AF_INET6, text, binary) != 1;
}

int address_split(struct arena *a, const char *text, uint16_t default_port, const char **ret_host,
	uint16_t *ret_port, struct err *e)
{
	static const char expected[] = "expected \"HOST\", \"HOST:PORT\" or \"[IPv6]:PORT\"";
	const char *host = text, *port;
	const char *end = address_host_end(&host, &port);
	size_t length = 0;
	if (end)
		length = (size_t)(end - host);
	if (length == 0 || length > ADDRESS_HOST_MAX || strcspn(host, " \t/@\"'") < length)
		return err_set(e, -EINVAL, "'%.64s'; %s", text, expected);
	if (address_is_wrong(host, length))
		return err_set(e, -EINVAL,
			"'%.64s'; expected a name, or an IP address such as 192.0.2.11 or "
			"2001:db8::11",
			text);
	int64_t number = default_port;
	if (port && (unit_int(port, &number, NULL) < 0 || number < 1 || number > UINT16_MAX))
		return err_set(e, -EINVAL, "'%.64s'; expected a port from 1 to 65535", text);
	*ret_port = (uint16_t)number;
	*ret_host = NULL;
	if (a)
		*ret_host = arena_strndup(a, host, length);
	return 0;
}

bool endpoint_kind(const char *text, enum neighbor_kind *ret)
{
	static const enum neighbor_kind kinds[] = {
		NEIGHBOR_HOST, NEIGHBOR_SWITCH, NEIGHBOR_UNKNOWN};
	for (size_t i = 0; i < rw_countof(kinds); i++) {
		const char *word = neighbor_kind_word(kinds[i]);
		const size_t n = strlen(word);
		if (strncmp(text, word, n) != 0 || text[n] != ':')
			continue;
		if (ret)
			*ret = kinds[i];
		return true;
	}
	return false;
}

bool endpoint_split(
	struct arena *a, const char *text, const char **ret_device, const char **ret_port)
{
	/* At the first ':': device names have none, but ports do ("et-0/0/0:1"). */
	const char *colon = strchr(text, ':');
	if (!colon || colon == text || !colon[1])
		return false;
	if (colon[1] == ':' && endpoint_kind(text, NULL))
		return false;
	if (a) {
		*ret_device = arena_strndup(a, text, (size_t)(colon - text));
		*ret_port = arena_strdup(a, colon + 1);
	}
	return true;
}

static const unsigned char network_v4_prefix[12] = {[10] = 0xff, [11] = 0xff};

char *address_text(char buf[ADDRESS_TEXT_MAX], const unsigned char address[16])
{
	const size_t before = sizeof(network_v4_prefix);
	if (memcmp(address, network_v4_prefix, before) == 0)
		inet_ntop(AF_INET, address + before, buf, ADDRESS_TEXT_MAX);
	else
		inet_ntop(AF_INET6, address, buf, ADDRESS_TEXT_MAX);
	return buf;
}

int network_parse(const char *text, struct network *ret)
{
	char host[64];
	const char *slash = strchr(text, '/');
	size_t n = strlen(text);
	if (slash)
		n = (size_t)(slash - text);
	if (n >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, n);
	host[n] = '\0';
	unsigned before = 0;
	if (inet_pton(AF_INET, host, ret->address + sizeof(network_v4_prefix)) == 1) {
		memcpy(ret->address, network_v4_prefix, sizeof(network_v4_prefix));
		before = 96;
	} else if (inet_pton(AF_INET6, host, ret->address) != 1) {
		return -EINVAL;
	}
	int64_t bits = 128 - before;
	if (slash && (unit_int(slash + 1, &bits, NULL) < 0 || bits < 0 || bits > 128 - before))
		return -EINVAL;
	ret->bits = before + (unsigned)bits;
	return 0;
}

bool network_holds(const struct network *network, const unsigned char address[16])
{
	const unsigned whole = network->bits / 8, rest = network->bits % 8;
	if (memcmp(network->address, address, whole) != 0)
		return false;
	if (rest == 0)
		return true;
	return (network->address[whole] ^ address[whole]) >> (8 - rest) == 0;
}

bool address_is_local(const char *host)
{
	struct network loopback, one;
	if (str_eq(host, "localhost"))
		return true;
	if (strchr(host, '/') || network_parse(host, &one) < 0)
		return false;
	network_parse("127.0.0.0/8", &loopback);
	if (network_holds(&loopback, one.address))
		return true;
	network_parse("::1", &loopback);
	return network_holds(&loopback, one.address);
}

/* push_senders - names and addresses of the devices that push. */
#include "collectors/push/push_senders.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "config/address.h"
#include "config/config.h"

enum { SENDER_NAME_MAX = 254 };

/* Attributes of a resource that name a device, the surest first. Source: OpenTelemetry semantic
 * conventions, host and service; net.host.name is the older name of the first. */
static const char *const sender_keys[] = {"host.name", "net.host.name", "hostname", "host",
	"device.name", "service.instance.id", "host.id", "net.host.ip", "host.ip"};

struct push_senders {
	struct smap *names; /* lower case -> number + 1; 0 = of several */
	struct smap *addresses;
};

static size_t sender_lower(char buf[SENDER_NAME_MAX], const char *name, size_t n)
{
	if (n >= SENDER_NAME_MAX)
		return 0;
	for (size_t i = 0; i < n; i++)
		buf[i] = (char)tolower((unsigned char)name[i]);
	return n;
}

static void sender_put(struct smap *map, const void *key, size_t n, uint32_t number)
{
	uint64_t before;
	if (n == 0)
		return;
	if (smap_get(map, key, n, &before) && before != number + 1)
		number = UINT32_MAX; /* of several: 0 */
	smap_put(map, key, n, (uint32_t)(number + 1));
}

static uint32_t sender_get(const struct smap *map, const void *key, size_t n)
{
	uint64_t found;
	if (n == 0 || !smap_get(map, key, n, &found) || found == 0)
		return SENDER_NONE;
	return (uint32_t)(found - 1);
}

static bool sender_is_address(const char *name, size_t n, uint8_t ret[16])
{
	char text[64];
	struct network network;
	if (n >= sizeof(text))
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)n, name);
	if (strchr(text, '/') || network_parse(text, &network) < 0)
		return false;
	memcpy(ret, network.address, 16);
	return true;
}

/* Without the domain, unless it is an address. */
static size_t sender_short(const char *name, size_t n)
{
	uint8_t address[16];
	const char *dot = memchr(name, '.', n);
	if (!dot || dot == name || sender_is_address(name, n, address))
		return n;
	return (size_t)(dot - name);
}

static void sender_add_name(struct push_senders *senders, const char *name, uint32_t number)
{
	char lower[SENDER_NAME_MAX];
	const size_t n = sender_lower(lower, name, strlen(name)), n_short = sender_short(lower, n);
	sender_put(senders->names, lower, n, number);
	if (n_short != n)
		sender_put(senders->names, lower, n_short, number);
}

static void sender_add_address(struct push_senders *senders, const char *text, uint32_t number)
{
	uint8_t address[16];
	if (text && sender_is_address(text, strlen(text), address))
		sender_put(senders->addresses, address, 16, number);
}

struct push_senders *push_senders_new(const struct config *config)
{
	struct push_senders *senders = rw_calloc(1, sizeof(*senders));
	senders->names = smap_new();
	senders->addresses = smap_new();
	for (size_t i = 0; i < config->n_devices; i++) {
		const struct config_device *device = &config->devices[i];
		unsigned number;
		if (!device->push || device->push->n_names == 0 ||
			sscanf(device->name, "d%u", &number) != 1)
			continue;
		for (size_t k = 0; k < device->push->n_names; k++)
			sender_add_name(senders, device->push->names[k], number);
		sender_add_address(senders, device->push->address, number);
		if (device->snmp)
			sender_add_address(senders, device->snmp->address, number);
		if (device->gnmi)
			sender_add_address(senders, device->gnmi->address, number);
	}
	return senders;
}

void push_senders_free(struct push_senders *senders)
{
	if (!senders)
		return;
	smap_free(senders->names);
	smap_free(senders->addresses);
	free(senders);
}

uint32_t push_senders_named(const struct push_senders *senders, const char *name, size_t n)
{
	char lower[SENDER_NAME_MAX];
	uint8_t address[16];
	const size_t n_lower = sender_lower(lower, name, n);
	uint32_t found = sender_get(senders->names, lower, n_lower);
	if (found == SENDER_NONE)
		found = sender_get(senders->names, lower, sender_short(lower, n_lower));
	if (found == SENDER_NONE && sender_is_address(name, n, address))
		found = sender_get(senders->addresses, address, 16);
	return found;
}

uint32_t push_senders_find(const struct push_senders *senders, const uint8_t address[16],
	const struct push_label *labels, size_t n)
{
	for (size_t i = 0; i < rw_countof(sender_keys); i++) {
		const struct push_label *label = push_label_of(labels, n, sender_keys[i]);
		uint32_t found = SENDER_NONE;
		if (label)
			found = push_senders_named(senders, label->value, label->n_value);
		if (found != SENDER_NONE)
			return found;
	}
	return sender_get(senders->addresses, address, 16);
}

bool push_senders_address(const struct push_senders *senders, const uint8_t address[16])
{
	uint64_t found;
	return smap_get(senders->addresses, address, 16, &found);
}

void push_senders_describe(const uint8_t address[16], const struct push_label *labels, size_t n,
	char ret[SENDER_TEXT_MAX])
{
	char host[ADDRESS_TEXT_MAX];
	const struct push_label *label = NULL;
	for (size_t i = 0; i < rw_countof(sender_keys) && !label; i++)
		label = push_label_of(labels, n, sender_keys[i]);
	address_text(host, address);
	int n_name = 0;
	if (label && label->n_value < SENDER_TEXT_MAX)
		n_name = (int)label->n_value;
	if (n_name > 0)
		snprintf(ret, SENDER_TEXT_MAX, "%.*s_at_%s", n_name, label->value, host);
	else
		snprintf(ret, SENDER_TEXT_MAX, "%s", host);
}

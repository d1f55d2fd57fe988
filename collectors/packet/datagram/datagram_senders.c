/* datagram_senders - compares addresses of datagrams with those of the configuration. */
#include "collectors/packet/datagram/datagram_senders.h"

#include "config/address.h"

struct datagram_senders {
	const struct config *config;
	const struct config_capture *capture;
	struct collector_lookup lookup;
};

struct datagram_senders *datagram_senders_new(const struct config *config,
	const struct config_capture *capture, const struct collector_lookup *lookup)
{
	struct datagram_senders *senders = rw_calloc(1, sizeof(*senders));
	*senders = (struct datagram_senders){config, capture, *lookup};
	return senders;
}

void datagram_senders_free(struct datagram_senders *senders)
{
	free(senders);
}

/* Is @text, a numeric address, this one? A name is none: see device_peer(). */
static bool address_is(const char *text, const uint8_t address[16])
{
	struct network network;
	if (!text || network_parse(text, &network) < 0)
		return false;
	return memcmp(network.address, address, 16) == 0;
}

/* The address that the name in the configuration was resolved to: "192.0.2.1:161",
 * "[2001:db8::1]:161". */
static bool device_peer(const struct datagram_senders *senders, const struct config_device *device,
	const uint8_t address[16])
{
	char host[64];
	const char *peer = NULL;
	if (senders->lookup.peer)
		peer = senders->lookup.peer(senders->lookup.arg, device->name);
	if (!peer)
		return false;
	size_t n = strcspn(peer, ":");
	if (*peer == '[')
		n = strcspn(++peer, "]");
	snprintf(host, sizeof(host), "%.*s", (int)n, peer);
	return address_is(host, address);
}

static bool device_has(const struct datagram_senders *senders, const struct config_device *device,
	const uint8_t address[16])
{
	if (device->sflow && address_is(device->sflow->agent, address))
		return true;
	if (device->push && address_is(device->push->address, address))
		return true;
	if (device->snmp && address_is(device->snmp->address, address))
		return true;
	if (device->gnmi && address_is(device->gnmi->address, address))
		return true;
	return device_peer(senders, device, address);
}

bool datagram_senders_allow(const struct datagram_senders *senders, const uint8_t source[16])
{
	const struct config_capture *capture = senders->capture;
	struct network network;
	for (size_t i = 0; i < capture->n_allow; i++)
		if (network_parse(capture->allow[i], &network) == 0 &&
			network_holds(&network, source))
			return true;
	if (capture->n_allow)
		return false;
	for (size_t i = 0; i < senders->config->n_devices; i++)
		if (device_has(senders, &senders->config->devices[i], source))
			return true;
	return false;
}

/* What sflow.agent says goes before the addresses that devices are asked at: several devices may be
 * asked through one address. */
static const struct config_device *senders_one(
	const struct datagram_senders *senders, const uint8_t address[16])
{
	const struct config *config = senders->config;
	const struct config_device *found = NULL;
	size_t n = 0;
	for (size_t i = 0; i < config->n_devices; i++) {
		const struct config_device *device = &config->devices[i];
		const bool agent = device->sflow && address_is(device->sflow->agent, address);
		const bool pushes = device->push && address_is(device->push->address, address);
		if (!agent && !pushes)
			continue;
		found = device;
		n++;
	}
	for (size_t i = 0; n == 0 && i < config->n_devices; i++) {
		const struct config_device *device = &config->devices[i];
		if (!device_has(senders, device, address))
			continue;
		if (found)
			return NULL;
		found = device;
	}
	if (n > 1)
		return NULL;
	return found;
}

const struct config_device *datagram_senders_device(
	const struct datagram_senders *senders, const uint8_t agent[16], const uint8_t source[16])
{
	const struct config_device *device = senders_one(senders, agent);
	if (device)
		return device;
	return senders_one(senders, source);
}

const char *datagram_senders_port(const struct datagram_senders *senders,
	const struct config_device *device, uint32_t ifindex)
{
	const struct config_sflow *sflow = device->sflow;
	for (size_t i = 0; sflow && i < sflow->n_ports; i++)
		if (sflow->ports[i].ifindex == ifindex)
			return sflow->ports[i].port;
	if (!senders->lookup.port_name)
		return NULL;
	return senders->lookup.port_name(senders->lookup.arg, device->name, ifindex);
}

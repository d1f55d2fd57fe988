/* pcapng - see pcapng.h. */
#include "collectors/packet/pcapng.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "db/model/flow.h"

enum { KNOWN_SEARCHED = 64 }; /* interfaces that a new description is compared with */

enum { OPTION_END = 0 };
enum { IF_NAME = 2, IF_TSRESOL = 9, IF_TSOFFSET = 14 };
enum { EPB_FLAGS = 2, EPB_DROPCOUNT = 4 };
enum { ISB_IFDROP = 5, ISB_OSDROP = 7 };

/* ---- options ------------------------------------------------------------- */

struct ng_options {
	const uint8_t *at, *end;
	bool swapped;
};

struct ng_option {
	unsigned code;
	const uint8_t *value;
	size_t size;
};

static unsigned ng_option_u16(const uint8_t *data, bool swapped)
{
	uint16_t v;
	memcpy(&v, data, 2);
	if (swapped)
		return __builtin_bswap16(v);
	return v;
}

static bool ng_option_next(struct ng_options *options, struct ng_option *ret)
{
	if (options->end - options->at < 4)
		return false;
	ret->code = ng_option_u16(options->at, options->swapped);
	ret->size = ng_option_u16(options->at + 2, options->swapped);
	ret->value = options->at + 4;
	const size_t padded = (ret->size + 3) & ~(size_t)3;
	const size_t left = (size_t)(options->end - ret->value);
	if (ret->code == OPTION_END || ret->size > left)
		return false;
	options->at = options->end;
	if (padded < left)
		options->at = ret->value + padded;
	return true;
}

static bool ng_option_u64(
	const struct ng_options *options, const struct ng_option *option, uint64_t *ret)
{
	if (option->size < sizeof(*ret))
		return false;
	memcpy(ret, option->value, sizeof(*ret));
	if (options->swapped)
		*ret = __builtin_bswap64(*ret);
	return true;
}

static bool ng_option_u32(
	const struct ng_options *options, const struct ng_option *option, uint32_t *ret)
{
	if (option->size < sizeof(*ret))
		return false;
	memcpy(ret, option->value, sizeof(*ret));
	if (options->swapped)
		*ret = __builtin_bswap32(*ret);
	return true;
}

/* ---- interfaces ---------------------------------------------------------- */

void pcap_interfaces_done(struct pcap_interfaces *interfaces)
{
	free(interfaces->now);
	free(interfaces->known);
	*interfaces = (struct pcap_interfaces){0};
}

void pcap_interfaces_section(struct pcap_interfaces *interfaces)
{
	for (size_t i = 0; i < interfaces->n; i++) {
		const struct pcap_interface *one = &interfaces->now[i];
		interfaces->drops += one->drops;
		interfaces->drops_known |= one->drops_known;
	}
	interfaces->n = 0;
}

struct pcap_interface *pcap_interfaces_add(
	struct pcap_interfaces *interfaces, uint32_t linktype, uint32_t snaplen)
{
	rw_grow(interfaces->now, interfaces->n, interfaces->cap);
	struct pcap_interface *one = &interfaces->now[interfaces->n++];
	*one = (struct pcap_interface){.link = link_of_dlt(linktype),
		.dlt = linktype,
		.snaplen = snaplen,
		.resolution = 6};
	return one;
}

static bool same_interface(const struct pcap_interface *left, const struct pcap_interface *right)
{
	return left->dlt == right->dlt && strcmp(left->name, right->name) == 0;
}

/* Whether another interface of this section has the number already. */
static bool number_taken(const struct pcap_interfaces *interfaces, uint32_t number)
{
	const size_t n = interfaces->n - 1;
	for (size_t i = 0; i < n && i < KNOWN_SEARCHED; i++)
		if (interfaces->now[i].number == number)
			return true;
	return false;
}

/* The number that an earlier section gave the same interface: the one at the same place first,
 * since a file that goes on describes them in the same order. Otherwise a new one. */
static uint32_t interface_number(
	struct pcap_interfaces *interfaces, const struct pcap_interface *one)
{
	const size_t place = interfaces->n - 1;
	if (place < interfaces->n_known && same_interface(&interfaces->known[place], one) &&
		!number_taken(interfaces, (uint32_t)place))
		return (uint32_t)place;
	for (size_t i = 0; i < interfaces->n_known && i < KNOWN_SEARCHED; i++)
		if (same_interface(&interfaces->known[i], one) &&
			!number_taken(interfaces, (uint32_t)i))
			return (uint32_t)i;
	if (interfaces->n_known == PCAP_INTERFACES_MAX)
		return PCAP_INTERFACES_MAX - 1;
	rw_grow(interfaces->known, interfaces->n_known, interfaces->cap_known);
	interfaces->known[interfaces->n_known] = *one;
	return (uint32_t)interfaces->n_known++;
}

void pcapng_interface(
	struct pcap_interfaces *interfaces, const uint8_t *options, size_t n, bool swapped)
{
	struct pcap_interface *one = &interfaces->now[interfaces->n - 1];
	struct ng_options all = {options, options + n, swapped};
	struct ng_option option;
	while (ng_option_next(&all, &option)) {
		uint64_t offset;
		if (option.code == IF_NAME && option.size < sizeof(one->name))
			memcpy(one->name, option.value, option.size);
		else if (option.code == IF_TSRESOL && option.size >= 1)
			one->resolution = option.value[0];
		else if (option.code == IF_TSOFFSET && ng_option_u64(&all, &option, &offset))
			one->offset_s = (int64_t)offset;
	}
	one->number = interface_number(interfaces, one);
}

/* ---- statistics ---------------------------------------------------------- */

/* Counters count from the start of the capture: a later block replaces an earlier one. */
void pcapng_statistics(
	struct pcap_interfaces *interfaces, const uint8_t *body, size_t n, bool swapped)
{
	enum { HEAD = 12 }; /* interface, time stamp */
	if (n < HEAD)
		return;
	uint32_t number;
	memcpy(&number, body, 4);
	if (swapped)
		number = __builtin_bswap32(number);
	if (number >= interfaces->n)
		return;
	struct pcap_interface *one = &interfaces->now[number];
	struct ng_options all = {body + HEAD, body + n, swapped};
	struct ng_option option;
	uint64_t value, drops = 0;
	bool drops_known = false;
	while (ng_option_next(&all, &option)) {
		if (!ng_option_u64(&all, &option, &value))
			continue;
		if (option.code == ISB_IFDROP || option.code == ISB_OSDROP) {
			drops += value;
			drops_known = true;
		}
	}
	if (drops_known) {
		one->drops = drops;
		one->drops_known = true;
	}
}

unsigned pcapng_packet_options(struct pcap_interfaces *interfaces, const uint8_t *options, size_t n,
	bool swapped, struct packet_origin *origin)
{
	enum { INBOUND = 1, OUTBOUND = 2 };
	struct ng_options all = {options, options + n, swapped};
	struct ng_option option;
	unsigned fcs_bytes = 0;
	while (ng_option_next(&all, &option)) {
		uint32_t flags;
		uint64_t drops;
		if (option.code == EPB_FLAGS && ng_option_u32(&all, &option, &flags)) {
			if ((flags & 3) == INBOUND)
				origin->direction = FLOW_DIR_IN;
			else if ((flags & 3) == OUTBOUND)
				origin->direction = FLOW_DIR_OUT;
			fcs_bytes = flags >> 5 & 15;
		} else if (option.code == EPB_DROPCOUNT && ng_option_u64(&all, &option, &drops)) {
			interfaces->packet_drops += drops;
			interfaces->packet_drops_known = true;
		}
	}
	return fcs_bytes;
}

void pcapng_packet_drops(struct pcap_interfaces *interfaces, unsigned drops)
{
	if (drops == UINT16_MAX)
		return;
	interfaces->packet_drops += drops;
	interfaces->packet_drops_known = true;
}

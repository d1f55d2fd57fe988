/* link_type - see link_type.h. */
#include "collectors/packet/link_type.h"

#include <stdio.h>

#include "agent/base/cleanup.h"

#define CAPTURE_AGAIN "no tool converts it: capture again on the Ethernet interface"

struct link_row {
	uint32_t number;
	enum roce_link link;
	const char *name;
	/* NULL: CAPTURE_AGAIN. A header of fixed length before a frame can be taken off. */
	const char *hint;
};

static const struct link_row link_rows[] = {
	{0, LINK_NULL, "BSD loopback", NULL},
	{1, LINK_ETHERNET, "Ethernet", NULL},
	{6, LINK_UNSUPPORTED, "Token Ring", NULL},
	{9, LINK_UNSUPPORTED, "PPP", NULL},
	{10, LINK_UNSUPPORTED, "FDDI", NULL},
	{12, LINK_RAW_IP, "raw IP", NULL},
	{14, LINK_RAW_IP, "raw IP", NULL},
	{50, LINK_UNSUPPORTED, "PPP in HDLC framing", NULL},
	{51, LINK_UNSUPPORTED, "PPPoE", NULL},
	{101, LINK_RAW_IP, "raw IP", NULL},
	{104, LINK_UNSUPPORTED, "Cisco HDLC",
		"take its 4 bytes off: editcap -F pcap -C 4 -T rawip IN OUT"},
	{105, LINK_UNSUPPORTED, "IEEE 802.11", NULL},
	{108, LINK_NULL, "OpenBSD loopback", NULL},
	{113, LINK_SLL, "Linux cooked capture", NULL},
	{119, LINK_UNSUPPORTED, "IEEE 802.11 with Prism header", NULL},
	{127, LINK_UNSUPPORTED, "IEEE 802.11 with radiotap header", NULL},
	{163, LINK_UNSUPPORTED, "IEEE 802.11 with AVS header", NULL},
	{189, LINK_UNSUPPORTED, "USB", NULL},
	{192, LINK_UNSUPPORTED, "per-packet information", NULL},
	{197, LINK_UNSUPPORTED, "ERF of a capture card",
		"have the card write pcap with link type Ethernet"},
	{220, LINK_UNSUPPORTED, "USB", NULL},
	{228, LINK_RAW_IP, "raw IPv4", NULL},
	{229, LINK_RAW_IP, "raw IPv6", NULL},
	{239, LINK_UNSUPPORTED, "netfilter log", "capture on the interface and not on nflog"},
	{240, LINK_UNSUPPORTED, "netANALYZER",
		"take its 4 bytes off: editcap -F pcap -C 4 -T ether IN OUT"},
	{241, LINK_UNSUPPORTED, "netANALYZER, transparent",
		"take its 12 bytes off: editcap -F pcap -C 12 -T ether IN OUT"},
	{242, LINK_UNSUPPORTED, "IP over InfiniBand", NULL},
	{247, LINK_UNSUPPORTED, "InfiniBand",
		"it is native InfiniBand, which is not RoCE and is not judged"},
	{249, LINK_UNSUPPORTED, "USB", NULL},
	{252, LINK_UNSUPPORTED, "exported PDUs of Wireshark",
		"save the packets and not the exported PDUs"},
	{253, LINK_UNSUPPORTED, "Linux netlink", "capture on the interface and not on nlmon"},
	{271, LINK_UNSUPPORTED, "Linux vsock", NULL},
	{274, LINK_UNSUPPORTED, "Ethernet with preamble",
		"take its 8 bytes off: editcap -F pcap -C 8 -T ether IN OUT"},
	{276, LINK_SLL2, "Linux cooked capture 2", NULL},
};

static const struct link_row *link_find(uint32_t linktype)
{
	for (size_t i = 0; i < rw_countof(link_rows); i++)
		if (link_rows[i].number == linktype)
			return &link_rows[i];
	return NULL;
}

enum roce_link link_of_dlt(uint32_t linktype)
{
	const struct link_row *row = link_find(linktype);
	if (row)
		return row->link;
	return LINK_UNSUPPORTED;
}

const char *link_name(char buf[LINK_NAME_MAX], uint32_t linktype)
{
	const struct link_row *row = link_find(linktype);
	if (row)
		snprintf(buf, LINK_NAME_MAX, "%s", row->name);
	else
		snprintf(buf, LINK_NAME_MAX, "link type %u", linktype);
	return buf;
}

const char *link_hint(uint32_t linktype)
{
	const struct link_row *row = link_find(linktype);
	if (row && row->hint)
		return row->hint;
	return CAPTURE_AGAIN;
}

/* sflow_decode - see sflow_decode.h. XDR: all numbers are big endian words of four bytes, opaque
 * data are padded to a multiple of four. */
#include "collectors/packet/sflow/sflow_decode.h"

enum {
	VERSION_5 = 5,
	ADDRESS_UNKNOWN = 0,
	ADDRESS_IP4 = 1,
	ADDRESS_IP6 = 2,
	/* data formats: enterprise << 12 | number; all of these are of enterprise 0 */
	SAMPLE_FLOW = 1,
	SAMPLE_COUNTERS = 2,
	SAMPLE_FLOW_EXPANDED = 3,
	SAMPLE_COUNTERS_EXPANDED = 4,
	SAMPLE_DROP = 5,
	FLOW_HEADER = 1,
	FLOW_SWITCH = 1001,
	FLOW_EGRESS_QUEUE = 1036,
	FLOW_TRANSIT_DELAY = 1039,
	FLOW_QUEUE_DEPTH = 1040,
	COUNTERS_INTERFACE = 1,
	COUNTERS_ETHERNET = 2,
	PROTOCOL_ETHERNET = 1,
	PROTOCOL_IP4 = 11,
	PROTOCOL_IP6 = 12,
	FCS_BYTES = 4,
	PORT_INDEX_BITS = 30,
	PORT_INTERNAL = 0x3fffffff,
	SOURCE_INDEX_BITS = 24,
};

/* ---- the datagram -------------------------------------------------------- */

static void sflow_address_read(struct bytes *b, struct sflow_address *ret)
{
	const uint32_t type = bytes_be32(b);
	size_t n = 0;
	*ret = (struct sflow_address){0};
	if (type == ADDRESS_IP4) {
		ret->family = 4;
		n = 4;
	} else if (type == ADDRESS_IP6) {
		ret->family = 6;
		n = 16;
	} else if (type != ADDRESS_UNKNOWN) {
		b->bad = true;
	}
	const uint8_t *raw = bytes_take(b, n);
	if (raw && n)
		memcpy(ret->bytes, raw, n);
}

int sflow_open(struct sflow_reader *reader, const void *data, size_t n, struct sflow_datagram *ret)
{
	*reader = (struct sflow_reader){.b = bytes_of(data, n)};
	*ret = (struct sflow_datagram){0};
	const uint32_t version = bytes_be32(&reader->b);
	if (!bytes_ok(&reader->b) || version == 0 || version > VERSION_5)
		return -EBADMSG;
	if (version != VERSION_5)
		return -ENOTSUP;
	sflow_address_read(&reader->b, &ret->agent);
	ret->sub_agent = bytes_be32(&reader->b);
	ret->sequence = bytes_be32(&reader->b);
	ret->uptime_ms = bytes_be32(&reader->b);
	ret->samples = bytes_be32(&reader->b);
	if (!bytes_ok(&reader->b) || ret->samples > SFLOW_SAMPLES_MAX)
		return -EBADMSG;
	reader->left = ret->samples;
	return 0;
}

/* A structure with its format and its own length; the reader steps over it. The padding of the last
 * one may be missing. */
static struct bytes sflow_structure(struct bytes *b, uint32_t *ret_format)
{
	static const struct bytes none = {.bad = true};
	*ret_format = bytes_be32(b);
	const size_t n = bytes_be32(b);
	const uint8_t *data = bytes_take(b, n);
	if (!data || !bytes_ok(b))
		return none;
	size_t padding = (4 - n % 4) % 4;
	if (padding > bytes_left(b))
		padding = bytes_left(b);
	bytes_skip(b, padding);
	return bytes_of(data, n);
}

/* ---- records of packets --------------------------------------------------- */

static void sflow_header_read(struct bytes *b, struct sflow_sample *sample)
{
	static const struct {
		uint32_t protocol;
		enum roce_link link;
	} protocols[] = {
		{PROTOCOL_ETHERNET, LINK_ETHERNET},
		{PROTOCOL_IP4, LINK_RAW_IP},
		{PROTOCOL_IP6, LINK_RAW_IP},
	};
	const uint32_t protocol = bytes_be32(b);
	const uint32_t frame_bytes = bytes_be32(b);
	const uint32_t stripped = bytes_be32(b);
	const uint32_t n = bytes_be32(b);
	const uint8_t *header = bytes_take(b, n);
	if (!header)
		return;
	for (size_t i = 0; i < rw_countof(protocols); i++) {
		if (protocols[i].protocol != protocol)
			continue;
		sample->link = protocols[i].link;
		sample->header = header;
		sample->header_bytes = n;
		sample->frame_bytes = frame_bytes;
		sample->stripped = stripped;
		return;
	}
	sample->skipped++;
}

static void sflow_switch_read(struct bytes *b, struct sflow_sample *sample)
{
	sample->in_vlan = bytes_be32(b);
	sample->in_priority = bytes_be32(b);
	sample->out_vlan = bytes_be32(b);
	sample->out_priority = bytes_be32(b);
	sample->has_switch = bytes_ok(b);
}

static void sflow_queue_read(struct bytes *b, struct sflow_sample *sample)
{
	sample->queue = bytes_be32(b);
	sample->has_queue = bytes_ok(b);
}

static void sflow_delay_read(struct bytes *b, struct sflow_sample *sample)
{
	sample->delay_ns = bytes_be32(b);
	sample->has_delay = bytes_ok(b);
}

static void sflow_depth_read(struct bytes *b, struct sflow_sample *sample)
{
	sample->depth_bytes = bytes_be32(b);
	sample->has_depth = bytes_ok(b);
}

/* ---- records of counters --------------------------------------------------- */

static void sflow_interface_read(struct bytes *b, struct sflow_sample *sample)
{
	struct sflow_if_counters *c = &sample->interface;
	c->ifindex = bytes_be32(b);
	c->type = bytes_be32(b);
	c->speed_bps = bytes_be64(b);
	c->direction = bytes_be32(b);
	c->status = bytes_be32(b);
	c->in_octets = bytes_be64(b);
	c->in_unicast = bytes_be32(b);
	c->in_multicast = bytes_be32(b);
	c->in_broadcast = bytes_be32(b);
	c->in_discards = bytes_be32(b);
	c->in_errors = bytes_be32(b);
	bytes_skip(b, 4); /* unknown protocols */
	c->out_octets = bytes_be64(b);
	c->out_unicast = bytes_be32(b);
	c->out_multicast = bytes_be32(b);
	c->out_broadcast = bytes_be32(b);
	c->out_discards = bytes_be32(b);
	c->out_errors = bytes_be32(b);
	bytes_skip(b, 4); /* promiscuous mode */
	sample->has_if = bytes_ok(b);
}

static void sflow_ethernet_read(struct bytes *b, struct sflow_sample *sample)
{
	bytes_skip(b, 4); /* alignment errors */
	sample->fcs_errors = bytes_be32(b);
	bytes_skip(b, 10 * 4); /* collisions and what else a shared medium has */
	sample->symbol_errors = bytes_be32(b);
	sample->has_ethernet = bytes_ok(b);
}

/* ---- samples -------------------------------------------------------------- */

struct sflow_record {
	uint32_t format;
	void (*read)(struct bytes *b, struct sflow_sample *sample);
};
static const struct sflow_record flow_records[] = {
	{FLOW_HEADER, sflow_header_read},
	{FLOW_SWITCH, sflow_switch_read},
	{FLOW_EGRESS_QUEUE, sflow_queue_read},
	{FLOW_TRANSIT_DELAY, sflow_delay_read},
	{FLOW_QUEUE_DEPTH, sflow_depth_read},
};
static const struct sflow_record counter_records[] = {
	{COUNTERS_INTERFACE, sflow_interface_read},
	{COUNTERS_ETHERNET, sflow_ethernet_read},
};

/* 0, or -EBADMSG when a record is longer than the sample, or shorter than its kind must be. */
static int sflow_records_read(struct bytes *b, const struct sflow_record *kinds, size_t n_kinds,
	struct sflow_sample *sample)
{
	const uint32_t n = bytes_be32(b);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t format;
		struct bytes body = sflow_structure(b, &format);
		if (!bytes_ok(&body))
			return -EBADMSG;
		size_t k = 0;
		while (k < n_kinds && kinds[k].format != format)
			k++;
		if (k == n_kinds) {
			sample->skipped++;
			continue;
		}
		kinds[k].read(&body, sample);
		if (!bytes_ok(&body))
			return -EBADMSG;
	}
	if (bytes_ok(b))
		return 0;
	return -EBADMSG;
}

static struct sflow_port sflow_port_of(uint32_t format, uint32_t value)
{
	static const enum sflow_port_kind kinds[] = {
		SFLOW_PORT_INDEX, SFLOW_PORT_DISCARDED, SFLOW_PORT_MANY};
	if (format >= rw_countof(kinds))
		return (struct sflow_port){SFLOW_PORT_UNKNOWN, 0};
	if (format == 0 && value == 0)
		return (struct sflow_port){SFLOW_PORT_UNKNOWN, 0};
	if (format == 0 && (value == PORT_INTERNAL || value == UINT32_MAX))
		return (struct sflow_port){SFLOW_PORT_INTERNAL, 0};
	return (struct sflow_port){kinds[format], value};
}

static struct sflow_port sflow_port_read(struct bytes *b, bool expanded)
{
	uint32_t format, value;
	if (expanded) {
		format = bytes_be32(b);
		value = bytes_be32(b);
	} else {
		const uint32_t word = bytes_be32(b);
		format = word >> PORT_INDEX_BITS;
		value = word & ((1u << PORT_INDEX_BITS) - 1);
	}
	return sflow_port_of(format, value);
}

static void sflow_source_read(struct bytes *b, bool expanded, struct sflow_sample *sample)
{
	sample->sequence = bytes_be32(b);
	if (expanded) {
		sample->source_class = bytes_be32(b);
		sample->source_index = bytes_be32(b);
		return;
	}
	const uint32_t word = bytes_be32(b);
	sample->source_class = word >> SOURCE_INDEX_BITS;
	sample->source_index = word & ((1u << SOURCE_INDEX_BITS) - 1);
}

static int sflow_flow_read(struct bytes *b, bool expanded, struct sflow_sample *sample)
{
	sample->kind = SFLOW_FLOW;
	sflow_source_read(b, expanded, sample);
	sample->sampling = bytes_be32(b);
	sample->pool = bytes_be32(b);
	sample->drops = bytes_be32(b);
	sample->input = sflow_port_read(b, expanded);
	sample->output = sflow_port_read(b, expanded);
	return sflow_records_read(b, flow_records, rw_countof(flow_records), sample);
}

static int sflow_counters_read(struct bytes *b, bool expanded, struct sflow_sample *sample)
{
	sample->kind = SFLOW_COUNTERS;
	sflow_source_read(b, expanded, sample);
	return sflow_records_read(b, counter_records, rw_countof(counter_records), sample);
}

/* Ports of a notification are plain ifIndexes, 0 where there is none. */
static int sflow_drop_read(struct bytes *b, bool expanded, struct sflow_sample *sample)
{
	sample->kind = SFLOW_DROP;
	sflow_source_read(b, expanded, sample);
	sample->drops = bytes_be32(b);
	sample->input = sflow_port_of(0, bytes_be32(b));
	sample->output = sflow_port_of(0, bytes_be32(b));
	sample->reason = bytes_be32(b);
	return sflow_records_read(b, flow_records, rw_countof(flow_records), sample);
}

int sflow_next(struct sflow_reader *reader, struct sflow_sample *ret)
{
	static const struct {
		uint32_t format;
		bool expanded;
		int (*read)(struct bytes *b, bool expanded, struct sflow_sample *sample);
	} kinds[] = {
		{SAMPLE_FLOW, false, sflow_flow_read},
		{SAMPLE_COUNTERS, false, sflow_counters_read},
		{SAMPLE_FLOW_EXPANDED, true, sflow_flow_read},
		{SAMPLE_COUNTERS_EXPANDED, true, sflow_counters_read},
		{SAMPLE_DROP, true, sflow_drop_read},
	};
	while (reader->left > 0) {
		uint32_t format;
		reader->left--;
		struct bytes body = sflow_structure(&reader->b, &format);
		*ret = (struct sflow_sample){0};
		size_t k = 0;
		while (k < rw_countof(kinds) && kinds[k].format != format)
			k++;
		int rc = 0;
		if (!bytes_ok(&body))
			rc = -EBADMSG;
		else if (k < rw_countof(kinds))
			rc = kinds[k].read(&body, kinds[k].expanded, ret);
		if (rc < 0) {
			reader->left = 0;
			return rc;
		}
		if (k < rw_countof(kinds))
			return 1;
		reader->skipped++;
	}
	return 0;
}

/* ---- the packet of a sample ------------------------------------------------ */

bool sflow_packet(const struct sflow_sample *sample, struct roce_packet *ret)
{
	if (!sample->header)
		return false;
	/* What is left of the frame after the agent took bytes away; at its end an FCS may stand.
	 */
	size_t wire = sample->frame_bytes;
	if (sample->stripped < wire)
		wire -= sample->stripped;
	roce_parse(sample->link, sample->header, sample->header_bytes, wire, 0, ret);
	ret->sampled = true;
	ret->layers |= 1u << LAYER_SFLOW;
	/* The length of the frame on the wire, with tags that were taken away, without the FCS. */
	if (sample->link == LINK_ETHERNET && sample->frame_bytes > FCS_BYTES)
		ret->frame_octets = sample->frame_bytes - FCS_BYTES;
	if (ret->n_tunnels == 0)
		ret->octets = ret->frame_octets;
	if (sample->has_switch && ret->n_vlan == 0) {
		ret->vlan = (uint16_t)(sample->in_vlan & 0xfff);
		ret->pcp = (uint8_t)(sample->in_priority & 7);
	}
	return true;
}

/* xray_capture - see xray_set.h. */
#include <arpa/inet.h>

#include "agent/xray/xray_set.h"
#include "collectors/packet/capture/pcap_file.h"
#include "collectors/packet/sflow/sflow_decode.h"
#include "db/model/flow.h"

bool xray_is_capture(const char *bytes, size_t n)
{
	static const uint8_t magics[][4] = {{0xA1, 0xB2, 0xC3, 0xD4}, {0xD4, 0xC3, 0xB2, 0xA1},
		{0xA1, 0xB2, 0x3C, 0x4D}, {0x4D, 0x3C, 0xB2, 0xA1}, {0x0A, 0x0D, 0x0D, 0x0A}};
	for (size_t i = 0; i < rw_countof(magics); i++)
		if (n >= 4 && memcmp(bytes, magics[i], 4) == 0)
			return true;
	return false;
}

enum { NAME_BYTES = 64 };

struct taking { /* a capture that is read */
	struct xray_set *set;
	const char *device, *member; /* as the caller says; NULL */
	struct err *e;
};

static void capture_address(char ret[NAME_BYTES], uint8_t family, const uint8_t *bytes)
{
	if (!inet_ntop(family == 6 ? AF_INET6 : AF_INET, bytes, ret, NAME_BYTES))
		snprintf(ret, NAME_BYTES, "switch");
}

static int capture_add(const struct taking *taking, const char *device, const char *member,
	const struct roce_packet *packet, int64_t t_ns)
{
	struct xray_flow flow = {.family = packet->family,
		.src_port = packet->src_port,
		.dst_port = packet->dst_port,
		.protocol = packet->ip_protocol,
		.dst_qp = packet->dst_qp};
	memcpy(flow.src, packet->src, sizeof(flow.src));
	memcpy(flow.dst, packet->dst, sizeof(flow.dst));
	return xray_set_add(taking->set, device, "", member, &flow, t_ns, taking->e);
}

/* Of each packet that sFlow sampled: the port it went out of. */
static int capture_sflow(
	const struct taking *taking, const struct roce_packet *carrier, int64_t t_ns)
{
	struct sflow_reader reader;
	struct sflow_datagram datagram;
	struct sflow_sample sample;
	char device[NAME_BYTES], member[NAME_BYTES];
	int rc = 0;
	if (sflow_open(&reader, carrier->sflow_data, carrier->sflow_bytes, &datagram) < 0)
		return 0;
	if (datagram.agent.family)
		capture_address(device, datagram.agent.family, datagram.agent.bytes);
	else
		capture_address(device, carrier->family, carrier->src);
	while (rc == 0 && sflow_next(&reader, &sample) == 1) {
		struct roce_packet packet;
		if (sample.kind != SFLOW_FLOW || sample.output.kind != SFLOW_PORT_INDEX ||
			!sflow_packet(&sample, &packet) || packet.kind != PACKET_ROCE)
			continue;
		snprintf(member, sizeof(member), "%u", sample.output.index);
		rc = capture_add(taking, str_or(taking->device, device), member, &packet, t_ns);
	}
	return rc;
}

static int capture_packet(const struct taking *taking, const struct roce_packet *packet,
	const struct pcap_record *record)
{
	char device[NAME_BYTES] = "switch", member[NAME_BYTES];
	uint8_t direction = record->origin.direction;
	snprintf(member, sizeof(member), "interface%u", record->origin.interface);
	if (packet->mirror.layer) {
		direction = packet->mirror.direction;
		if (packet->outer_family)
			capture_address(device, packet->outer_family, packet->outer_src);
		if (packet->mirror.has_port)
			snprintf(member, sizeof(member), "port%u", packet->mirror.port);
		else if (packet->mirror.has_session)
			snprintf(member, sizeof(member), "session%u", packet->mirror.session);
	}
	if (direction == FLOW_DIR_IN)
		return 0;
	return capture_add(taking, str_or(taking->device, device), str_or(taking->member, member),
		packet, record->t_ns);
}

int xray_capture(struct xray_set *set, const char *path, const char *device, const char *member,
	struct err *e)
{
	const struct taking taking = {set, device, member, e};
	struct pcap_reader *reader;
	struct pcap_record record;
	struct err why = {0};
	int rc = pcap_reader_open(path, &reader, &why), taken = 0;
	if (rc < 0)
		return err_at(e, rc, path, 0, 0, "%s", why.text);
	while (taken == 0 && (rc = pcap_reader_next(reader, &record, &why)) == 1) {
		struct roce_packet packet;
		roce_parse(record.link, record.p, record.n, record.wire, 0, &packet);
		if (packet.kind == PACKET_SFLOW)
			taken = capture_sflow(&taking, &packet, record.t_ns);
		else if (packet.kind == PACKET_ROCE)
			taken = capture_packet(&taking, &packet, &record);
	}
	pcap_reader_free(reader);
	if (taken < 0)
		return taken;
	if (rc < 0 && rc != -ENOTSUP)
		return err_at(e, rc, path, 0, 0, "%s", why.text);
	return 0;
}

/* xray_capture - samples of captures, and those that the agent kept: see xray_set.h. */
#include <arpa/inet.h>

#include "agent/xray/xray_set.h"
#include "collectors/packet/capture/pcap_file.h"
#include "collectors/packet/sflow/sflow_decode.h"
#include "db/model/flow.h"
#include "config/fabric.h"
#include "db/model/entity.h"
#include "db/series/history.h"

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

/* ---- samples of the store -------------------------------------------------- */

struct recall {
	struct xray_set *set;
	struct history *history;
	const struct fabric *fabric;
	struct err *e;
};

static const struct fabric_port *member_of(
	const struct fabric_group *group, const struct fabric_port *port)
{
	for (size_t i = 0; i < group->n_members; i++) {
		const struct fabric_port *member = group->members[i];
		if (member == port || (member->lag && str_eq(member->lag, port->lag)))
			return member;
	}
	return NULL;
}

/* The widest group that chooses @port, and the member that it is of it; NULL: none chooses it. */
static const struct fabric_group *group_of(
	const struct fabric_port *port, const struct fabric_port **ret_member)
{
	const struct fabric_group *widest = NULL;
	for (size_t i = 0; i < port->device->n_groups; i++) {
		const struct fabric_group *group = &port->device->groups[i];
		const struct fabric_port *member = member_of(group, port);
		const bool lag = strncmp(group->id, "lag:", 4) == 0;
		if (!member || lag || group->n_members < 2 ||
			(widest && widest->n_members >= group->n_members))
			continue;
		widest = group;
		*ret_member = member;
	}
	return widest;
}

/* What a port sent left by it; what it received left by the port at the other end. */
static const struct fabric_port *port_left_by(
	const struct recall *recall, const struct flow_sample *flow)
{
	const struct entity *entity = entity_get(history_names(recall->history), flow->entity);
	const struct fabric_device *device =
		entity ? fabric_device(recall->fabric, entity->device) : NULL;
	const struct fabric_port *port = device ? fabric_port(device, entity->port) : NULL;
	if (!port || flow->dir == FLOW_DIR_UNKNOWN)
		return NULL;
	return flow->dir == FLOW_DIR_OUT ? port : port->peer;
}

static int recall_flow(void *arg, const struct flow_sample *flow)
{
	const struct recall *recall = arg;
	const struct fabric_port *member = NULL, *port = port_left_by(recall, flow);
	if (flow->total || flow->host || flow->key.family == 0 || !port)
		return 0;
	const struct fabric_group *group = group_of(port, &member);
	if (!group)
		return 0;
	struct xray_flow key = {.family = flow->key.family,
		.src_port = flow->key.src_port,
		.dst_port = XRAY_ROCE_PORT,
		.protocol = XRAY_UDP,
		.dst_qp = flow->key.dst_qp};
	memcpy(key.src, flow->key.src, sizeof(key.src));
	memcpy(key.dst, flow->key.dst, sizeof(key.dst));
	return xray_set_add(recall->set, port->device->name, group->id, member->name, &key,
		flow->from_ns, recall->e);
}

int xray_history(struct xray_set *set, struct history *history, const struct fabric *fabric,
	int64_t from_ns, int64_t to_ns, struct err *e)
{
	struct recall recall = {set, history, fabric, e};
	return history_each_flow(history, from_ns, to_ns, recall_flow, &recall, e);
}

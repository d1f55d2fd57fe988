/* xray_history - see xray_set.h. */

#include "agent/xray/xray_set.h"
#include "config/fabric.h"
#include "db/model/entity.h"
#include "db/series/history.h"

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

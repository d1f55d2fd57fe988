/* tune_touch - which pause trees a fault belongs to. */
#include "analyzers/tune/tune_touch.h"

#include "agent/base/str.h"
#include "db/model/entity.h"

static bool device_in_tree(const struct tune_case *tune_case, const struct fabric_device *device,
	const struct tune_site *site)
{
	for (size_t i = 0; i < tune_case->n_sites; i++)
		if (tune_case->sites[i].priority == site->priority &&
			tune_case->sites[i].tree == site->tree &&
			tune_case->sites[i].device->device == device)
			return true;
	return false;
}

/* A link of the fabric that is down or slow takes capacity out of an ECMP group. */
static bool takes_capacity(const struct tune_fault *fault, const struct fabric_port *port)
{
	const bool cause = fault->cause == CAUSE_PATH_ASYMMETRY ||
		fault->cause == CAUSE_REMOTE_CAPACITY || fault->cause == CAUSE_LINK_SLOW;
	return cause && (!port || port->peer);
}

static bool is_neighbour(const struct fabric_device *left, const struct fabric_device *right)
{
	for (size_t i = 0; i < left->n_ports; i++)
		if (left->ports[i]->peer && left->ports[i]->peer->device == right)
			return true;
	return false;
}

/* The same switch, one it has a link to, or one further: the leaves of a pod, over its spines. */
static bool is_around(const struct fabric_device *left, const struct fabric_device *right)
{
	if (left == right || is_neighbour(left, right))
		return true;
	for (size_t i = 0; i < left->n_ports; i++)
		if (left->ports[i]->peer && is_neighbour(left->ports[i]->peer->device, right))
			return true;
	return false;
}

bool tune_fault_touches(const struct tune_case *tune_case, const struct tune_fault *fault,
	const struct tune_site *site)
{
	const struct fabric *f = tune_case->in->fabric;
	/* a sender that does not slow down presses on its receivers' queues, wherever these are */
	if (fault->row == 7 && (fault->priority == PRIO_NONE || fault->priority == site->priority))
		return true;
	if (fault->priority != PRIO_NONE && fault->priority != site->priority &&
		f->lossless_mask >> fault->priority & 1)
		return false;
	bool found = false;
	for (size_t i = 0; i < f->n_devices; i++) {
		const struct fabric_device *d = f->devices[i];
		bool here = str_eq(d->name, fault->device);
		for (size_t k = 0; !fault->device && fault->host && !here && k < d->n_ports; k++)
			here = str_eq(d->ports[k]->host, fault->host);
		/* an error at one end of a link is one at its other end */
		const struct fabric_port *port = NULL;
		if (here && fault->device && fault->port)
			port = fabric_port(d, fault->port);
		found = found || here;
		/* What it no longer carries fills queues at switches whose pause tree need not hold
		 * it: all members have to be up before any threshold of the pod is judged. */
		if (here && takes_capacity(fault, port) && is_around(d, site->device->device))
			return true;
		if (here &&
			(device_in_tree(tune_case, d, site) ||
				(port && port->peer &&
					device_in_tree(tune_case, port->peer->device, site))))
			return true;
	}
	return fault->everywhere || !found;
}

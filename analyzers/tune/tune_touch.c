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

enum { LINK_ROW = 8, PATH_ROW = 9 }; /* of the decision table */

/*
 * What a link no longer carries, its siblings do: the queues that lead to one of its ends fill, at
 * switches whose pause tree need not hold the link itself.
 */
static bool takes_its_share(const struct tune_case *tune_case, const struct tune_fault *fault,
	const struct fabric_port *port, const struct tune_site *site)
{
	if (!port || !port->peer || (fault->row != LINK_ROW && fault->row != PATH_ROW))
		return false;
	for (size_t i = 0; i < tune_case->n_sites; i++) {
		const struct tune_site *other = &tune_case->sites[i];
		const struct fabric_device *to = NULL;
		if (other->priority != site->priority || other->tree != site->tree)
			continue;
		if (other->hot && other->hot->port->peer)
			to = other->hot->port->peer->device;
		if (to == port->device || to == port->peer->device)
			return true;
	}
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
		if (here && takes_its_share(tune_case, fault, port, site))
			return true;
		if (here &&
			(device_in_tree(tune_case, d, site) ||
				(port && port->peer &&
					device_in_tree(tune_case, port->peer->device, site))))
			return true;
	}
	return fault->everywhere || !found;
}

/* tune_basis - one hash over everything a sheet was computed from. */
#include "analyzers/tune/tune_basis.h"

#include <math.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/map.h"
#include "analyzers/tune/tune_evidence.h"

static uint64_t mix_numbers(uint64_t hash, const double *values, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		/* not a number has many faces */
		double number = -1;
		if (!isnan(values[i]))
			number = values[i];
		hash = hash_bytes(&number, sizeof(number), hash);
	}
	return hash;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
	if (text)
		return hash_bytes(text, strlen(text), hash);
	return hash_u64(hash);
}

uint64_t tune_basis(const struct tune_in *in)
{
	const struct tune_evidence *e = in->evidence;
	uint64_t h = in->fabric->id;
	for (size_t i = 0; i < e->n_devices; i++) {
		const struct tune_device *d = &e->devices[i];
		const double sizes[] = {d->pool_bytes, d->pool_slices, d->shp_ratio, d->cell_bytes};
		h = mix_numbers(mix_text(h, d->device->name), sizes, rw_countof(sizes));
		if (in->platforms)
			h = mix_text(mix_text(h, in->platforms[d->device->index].name),
				in->platforms[d->device->index].version);
		for (size_t k = 0; k < d->n_prios; k++) {
			const struct tune_prio *l = &d->prios[k];
			const double set[] = {l->pfc_enabled, l->alpha, l->headroom_bytes,
				l->xoff_level, l->xon_level, l->xon_offset, l->ecn_enabled, l->kmin,
				l->kmax, l->pmax};
			h = mix_numbers(mix_text(h, l->port->name), set, rw_countof(set));
			if (l->ecn_relative == 1) {
				const double shares[] = {1, l->kmin_ratio, l->kmax_ratio};
				h = mix_numbers(h, shares, rw_countof(shares));
			}
			h = mix_text(h, l->port->peer ? l->port->peer->name : l->port->host);
			h = hash_bytes(&l->port->cable_mm, sizeof(l->port->cable_mm), h);
		}
	}
	return h;
}

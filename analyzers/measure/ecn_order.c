/* ecn_order - compares Kmin with the depth at which PFC acts. */
#include "analyzers/measure/ecn_order.h"

#include "analyzers/measure/formulas.h"

/* Of q_PFC(k): a Kmin above it leaves senders too little time (docs/formulas.md, ecn_bounds). */
#define ROOM 0.5

enum ecn_order ecn_order(const struct ecn_order_in *in, double *ret_q_pfc_bytes)
{
	const double k = fmax(1, in->inputs);
	double q_pfc = NAN;
	if (in->alpha > 0 && in->pool_bytes > in->used_bytes)
		q_pfc = dt_pfc_queue_bytes(in->pool_bytes, in->used_bytes, in->alpha, k);
	else if (in->xoff_level_bytes > 0)
		q_pfc = k * in->xoff_level_bytes;
	if (isnan(q_pfc) || isnan(in->kmin_bytes))
		return ECN_ORDER_UNKNOWN;
	if (ret_q_pfc_bytes)
		*ret_q_pfc_bytes = q_pfc;
	if (in->kmin_bytes >= q_pfc)
		return PFC_FIRST;
	if (in->kmin_bytes > ROOM * q_pfc)
		return ECN_TIGHT;
	return ECN_FIRST;
}

/* flow - orders of flow samples. Pure. */
#include "db/model/flow.h"

#include <string.h>

#define ORDER(x, y)                                                                                \
	do {                                                                                       \
		if ((x) != (y))                                                                    \
			return (x) < (y) ? -1 : 1;                                                 \
	} while (0)

int flow_order(const void *left, const void *right)
{
	const struct flow_sample *x = left, *y = right;

	ORDER(x->host, y->host);
	ORDER(x->entity, y->entity);
	ORDER(x->from_ns, y->from_ns);
	ORDER(!x->total, !y->total);
	ORDER(y->octets, x->octets);
	/* the rest: equal flows come in one order, whoever fills the window */
	ORDER(x->to_ns, y->to_ns);
	ORDER(x->dir, y->dir);
	ORDER(x->key.family, y->key.family);
	int c = memcmp(x->key.src, y->key.src, sizeof(x->key.src));
	if (c == 0)
		c = memcmp(x->key.dst, y->key.dst, sizeof(x->key.dst));
	if (c != 0)
		return c;
	ORDER(x->key.src_port, y->key.src_port);
	ORDER(x->key.dst_qp, y->key.dst_qp);
	ORDER(y->packets, x->packets);
	return 0;
}

int flow_end_order(const void *left, const void *right)
{
	const struct flow_sample *x = left, *y = right;

	ORDER(x->to_ns, y->to_ns);
	return flow_order(left, right);
}

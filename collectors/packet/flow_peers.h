/* flow_peers - which data stream an acknowledgement, NAK or CNP is about. The rules stand in
 * flow_table.h. */
#ifndef RW_COLLECTORS_FLOW_PEERS_H
#define RW_COLLECTORS_FLOW_PEERS_H

#include "collectors/packet/flow_store.h"

/* flow_peer_of - the stream of the other direction that @packet, travelling in @qp, answers; NULL
 * when that is not clear. What was found is remembered in @qp. */
struct flow_stream *flow_peer_of(
	struct flow_table *table, struct flow_qp *qp, const struct roce_packet *packet);

#endif

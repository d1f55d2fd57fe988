/*
 * net - hosts, switches, links and flows of a two-tier fabric, or of one of any form, packet by
 * packet.
 *
 * Ports 0 .. n_hosts-1 are the NICs of the hosts; the ports of the switches follow, leaves first.
 * Sizes are bytes, times picoseconds, rates bit/s. One thread.
 */
#ifndef PACKETSIM_NET_H
#define PACKETSIM_NET_H

#include "tests/packetsim/events.h"

#define NO_PACKET UINT32_MAX

enum {
	MOST_UPLINKS = 16,
	PAYLOAD = 1000, /* of a packet; 48 more of headers, as in the HPCC simulator */
	HEADERS = 48,
	CONTROL_SIZE = 64, /* ACK, NAK, CNP, PFC */
	MOST_HOPS = 64, /* of a packet, then it is dropped: TTL */
};

enum packet_kind { PACKET_DATA, PACKET_ACK, PACKET_NAK, PACKET_CNP };

struct packet {
	uint32_t flow, seq, next;
	uint32_t in_port;
	uint16_t size;
	uint8_t kind, ce, hops;
};

struct fifo {
	uint32_t head, tail;
	uint64_t bytes;
};

/* What a switch counts at a port; all are sums. */
enum count {
	COUNT_IN_OCTETS,
	COUNT_OUT_OCTETS,
	COUNT_IN_PACKETS,
	COUNT_OUT_PACKETS,
	COUNT_ERRORS,
	COUNT_DROPS, /* of the lossless priority, at ingress */
	COUNT_MARKED,
	COUNT_DATA_OCTETS, /* sent, of the lossless priority */
	COUNT_DATA_PACKETS,
	COUNT_CONTROL_OCTETS,
	COUNT_CONTROL_PACKETS,
	COUNT_PFC_RX,
	COUNT_PFC_TX,
	COUNT_PAUSED_RX_NS, /* the neighbour paused us */
	COUNT_PAUSED_TX_NS, /* we paused the neighbour */
	COUNT_EPISODES_RX,
	COUNT_EPISODES_TX,
	COUNTS
};

enum peak { PEAK_SHARED, PEAK_HEADROOM, PEAK_GROUP, PEAK_QUEUE, PEAKS };

struct port {
	uint32_t peer, node; /* node: switch number, or UINT32_MAX of a host */
	uint32_t link; /* of a wiring; UINT32_MAX: to a host */
	int64_t ps_per_byte, propagation;
	uint64_t rate;
	bool up, busy, ignores_marks, marks;
	double loss; /* of packets that arrive */
	/* as a sender */
	struct fifo control, data;
	uint32_t sending;
	bool paused;
	uint32_t pause_generation;
	int64_t paused_since;
	/* as a receiver: its priority group */
	uint64_t in_reserve, in_shared, in_headroom, headroom_size;
	bool lossy; /* drops what finds no room, and never asks for pause */
	bool xoff, pfc_waiting, pfc_asks;
	uint32_t xoff_generation;
	int64_t xoff_since;
	/* settings of the queue and the group */
	double alpha, pmax;
	uint64_t kmin, kmax, xon_offset;
	/* a host's flows that have something to send, and a slow receiver's buffer */
	uint32_t *ready;
	size_t n_ready, ready_room, turn;
	int64_t pace_at;
	double drain_rate, fill;
	int64_t filled_at;
	uint64_t count[COUNTS];
	uint64_t peak[PEAKS];
};

struct node { /* a switch */
	uint32_t first_port, n_ports;
	bool leaf, blind_hash, crc;
	uint64_t hash_seed;
	uint64_t buffer, reserve; /* whole buffer, reserve of each group */
	uint64_t shared_size, shared_used, shared_peak;
	uint32_t without_route; /* an uplink that routes do not use; UINT32_MAX: none */
};

struct flow {
	uint32_t src, dst, packets;
	uint64_t size;
	uint16_t source_port;
	uint8_t kind;
	bool done, listed;
	/* sender */
	uint32_t next_seq, acked, furthest, generation;
	int64_t started, ended, may_send, progress;
	/* reaction point, in bit/s */
	double rate, target, average;
	bool cut_before, marked_alpha, marked_cut, cut_pending;
	int64_t average_at, cut_grid;
	unsigned raises;
	uint32_t raise_generation;
	/* receiver */
	uint32_t expected;
	bool asked_again;
	int64_t asked_at, cnp_at;
};

struct reaction { /* DCQCN at the senders */
	bool on;
	double weight, ai_bps, hai_bps, min_bps;
	int64_t average_every, cut_every, raise_every, cnp_every;
	unsigned fast_recovery;
};

/* Switches of any form, the leaves first, each with hosts_per_leaf hosts. Packets of flows only:
 * nothing is acknowledged. */
struct net_wiring {
	unsigned links;
	const int (*ends)[2]; /* of each link: two switches */
	/* the link by which a packet that is at switch @at and came by the link @came (UINT32_MAX:
	 * from a host) goes on; UINT32_MAX: it is dropped. Not asked at the leaf it goes to */
	uint32_t (*route)(void *arg, uint32_t flow, uint32_t at, uint32_t came);
	void *arg;
};

struct net {
	unsigned n_hosts, leaves, spines, hosts_per_leaf;
	struct port *ports;
	size_t n_ports;
	const struct net_wiring *wiring; /* NULL: two tiers */
	uint32_t (*link_ports)[2]; /* of a wiring */
	struct node *nodes;
	size_t n_nodes;
	struct flow *flows;
	size_t n_flows, flow_room, flows_open;
	struct packet *packets;
	size_t n_packets, packet_room;
	uint32_t free_packet;
	struct event_heap events;
	int64_t now;
	uint64_t random;
	struct reaction reaction[2]; /* of even hosts, of odd ones */
	uint64_t drops, n_events;
};

/* Built from the shape alone; settings are written into ports and nodes by the caller. */
struct net_shape {
	unsigned leaves, spines, hosts_per_leaf;
	uint64_t host_rate, second_rate, uplink_rate; /* second: of every second host */
	int64_t host_propagation, third_propagation, uplink_propagation; /* of every third */
	uint64_t seed;
	const struct net_wiring *wiring; /* lent; NULL: each leaf to each spine */
};
struct net *net_new(const struct net_shape *shape);
void net_free(struct net *net);

/* Port of a leaf to a host, of a leaf to a spine, of a spine to a leaf. */
uint32_t net_host_port(const struct net *net, unsigned host);
uint32_t net_uplink(const struct net *net, unsigned leaf, unsigned spine);
uint32_t net_downlink(const struct net *net, unsigned spine, unsigned leaf);
/* Port by which a flow leaves its first leaf; UINT32_MAX: it does not. */
uint32_t net_first_link(const struct net *net, const struct flow *flow);
enum { FIRST_ADDRESS = 0x0a000001 }; /* of host 0, IPv4 */

/* A flow that starts at once or later; its number. */
uint32_t net_flow(struct net *net, uint32_t src, uint32_t dst, uint64_t size, uint16_t source_port,
	int64_t at, uint8_t kind);
/* Until no flow is open, or until @limit; false: the limit came first. */
bool net_run(struct net *net, int64_t limit);
/* Counters of pauses that still last are brought up to now. */
void net_settle(struct net *net);

uint64_t net_random(struct net *net);
uint64_t mixed(uint64_t value); /* splitmix64's finalizer */

/* ---- between the files of the simulation ---- */
uint32_t frame_new(struct net *net);
void frame_free(struct net *net, uint32_t packet);
void fifo_put(struct net *net, struct fifo *fifo, uint32_t packet);
uint32_t fifo_take(struct net *net, struct fifo *fifo);

void port_kick(struct net *net, uint32_t port);
void port_ask_pause(struct net *net, uint32_t port, bool pause);
void port_event(struct net *net, const struct event *event);

void switch_arrive(struct net *net, uint32_t port, uint32_t packet);
uint32_t switch_take(struct net *net, uint32_t port);
void switch_release(struct net *net, uint32_t packet);

void host_arrive(struct net *net, uint32_t port, uint32_t packet);
uint32_t host_take(struct net *net, uint32_t port);
void nic_event(struct net *net, const struct event *event);

#endif

/*
 * sim - the fine grain: one RoCE fabric plane, packet by packet, event driven, deterministic for a
 * seed.
 *
 * Hosts (one NIC, one port) hang on leaves, leaves on spines; every switch has one shared buffer.
 * Modelled: priority groups with a dynamic threshold, XOFF/XON and headroom, PFC frames that take
 * the wire's time, ECN marking per egress queue, DCQCN senders and receivers, go-back-N, ECMP with
 * real hash functions. README.md has the equations, their sources and what is not modelled.
 *
 * Units: time in picoseconds (uint64_t, names end in _ps), sizes in bytes on the wire, rates in
 * bit/s. Nothing here is shared with the product: no formula, no header. One thread; a struct sim
 * owns all it points to.
 */
#ifndef FABRIC_SIM_H
#define FABRIC_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PS_PER_NS UINT64_C(1000)
#define PS_PER_US UINT64_C(1000000)
#define PS_PER_MS UINT64_C(1000000000)

enum { SIM_PRIORITIES = 8, SIM_CONTROL_PRIORITY = 6, SIM_BOUNCES = 3 };

/* DCQCN reaction point and notification point. */
struct dcqcn_params {
	bool on;
	/* a cut always lowers the target rate too (the paper); false: only when increases were made
	 * since */
	bool clamp_target;
	double g; /* weight of the moving average of marking, 1/256 */
	uint64_t alpha_ps; /* period of the average's update */
	uint64_t decrease_ps; /* at most one cut per this time */
	uint64_t increase_ps; /* timer of rate increase */
	uint64_t increase_bytes; /* byte counter of rate increase, 0 = none */
	unsigned fast_stages; /* increases by halving before the additive ones */
	double ai_bps, hai_bps, min_bps;
	double warm_alpha; /* average of marking of a queue pair that carries on */
	uint64_t cnp_gap_ps; /* a receiver sends at most one CNP per flow in this time */
};

struct switch_params {
	uint64_t buffer_bytes; /* B: what priority groups share, without headroom */
	double alpha; /* dynamic threshold T = alpha (B - Q) */
	/* headroom = factor x (2 R t_prop / 8 + 2 frames), when headroom_bytes is 0 */
	double headroom_factor;
	uint64_t headroom_bytes;
	uint64_t xon_offset_bytes; /* resume when the group is this far below the threshold */
	bool ecn;
	uint64_t kmin_bytes, kmax_bytes;
	double pmax;
	/* thresholds are for this speed and scale with the port's; 0: the same at every port */
	uint64_t ecn_ref_bps;
	unsigned pfc_mask, ecn_mask; /* priorities with PFC; with marking */
	uint64_t watchdog_detect_ps, watchdog_restore_ps; /* PFC watchdog; detect 0 = none */
};

enum hash_function { HASH_CRC32, HASH_CRC16, HASH_XOR, HASH_MIX };
enum { FIELD_SRC = 1, FIELD_DST = 2, FIELD_SPORT = 4, FIELD_ALL = 7 };
struct hash_params {
	enum hash_function function;
	uint32_t seed;
	unsigned fields;
	unsigned live_bits; /* of the hash that choose the member, 0 = all: 1 = only even and odd */
	double stuck; /* share of the hash space that a damaged table sends to one member */
	unsigned stuck_member;
};

struct sim_params {
	unsigned payload_bytes, header_bytes; /* of a full data packet, as counted on the wire */
	unsigned control_bytes; /* ACK, NAK, CNP */
	unsigned ack_every; /* packets */
	uint64_t rto_ps;
	/* each packet takes its own path, receivers put them in order */
	bool spray;
	bool spray_random; /* a link drawn for each packet; else all links in turn */
	/* a flow that was silent for this long takes a path drawn anew (LetFlow: Vanini et al.,
	 * NSDI 2017); 0: it keeps its path */
	uint64_t flowlet_ps;
	struct dcqcn_params cc;
	/* of a receiving NIC that cannot keep up */
	uint64_t nic_buffer_bytes, nic_xoff_bytes, nic_xon_bytes;
	uint64_t seed;
};

struct topo_params {
	/* parallel links between a leaf and a spine */
	unsigned leaves, spines, hosts_per_leaf, parallel;
	uint64_t host_bps, uplink_bps;
	uint64_t host_prop_ps, uplink_prop_ps;
	struct switch_params leaf, spine;
	/* seed + index of the switch is used, unless same_seed */
	struct hash_params leaf_hash, spine_hash;
	bool same_seed;
	/* members of a leaf's group go round the spines link by link, not spine by spine */
	bool interleave;
	/* the links between a leaf and a spine are a LAG: a hash of its own chooses among them */
	bool lag;
};

struct packet;
struct packet_queue {
	struct packet *head, *tail;
	uint64_t bytes;
};

/* What a port has counted since the start, in canonical directions: tx = we paused the neighbour.
 */
struct prio_counters {
	uint64_t pfc_rx, pfc_tx, rx_pause_ps, tx_pause_ps, rx_episodes, tx_episodes;
	/* pg_watermark: shared part; both together is what arrived unsent */
	uint64_t pg_drops, pg_watermark, headroom_watermark;
	uint64_t pg_total_watermark;
	uint64_t out_bytes, out_packets, marked, drops, queue_watermark;
	uint64_t watchdog_storms, watchdog_restores, watchdog_drops;
};
struct port_counters {
	uint64_t in_bytes, out_bytes, in_packets, out_packets, in_errors, out_drops, in_drops;
	struct prio_counters prio[SIM_PRIORITIES];
};

struct sim_port {
	uint32_t node, peer; /* peer = index of the other end's port */
	uint64_t bps, prop_ps;
	double loss; /* of frames arriving here: damaged on the wire */
	bool down;
	bool unrouted; /* up, but no route leads here */
	bool busy;
	bool deaf[SIM_PRIORITIES]; /* ignores PFC of this priority (mismatch across the link) */
	uint64_t busy_until_ps;
	uint64_t headroom_bytes, kmin_bytes, kmax_bytes;
	double pmax, alpha; /* alpha, xon_offset: of its priority groups */
	uint64_t xon_offset_bytes;
	bool ecn;
	struct packet_queue control, data[SIM_PRIORITIES];
	uint64_t served[SIM_PRIORITIES], turn; /* bytes a class has had; of the one that sends */
	bool storm[SIM_PRIORITIES]; /* the watchdog drops what goes here */
	uint64_t pg_shared[SIM_PRIORITIES], pg_headroom[SIM_PRIORITIES];
	bool paused[SIM_PRIORITIES], pausing[SIM_PRIORITIES]; /* by the neighbour; we pause it */
	uint64_t paused_since_ps[SIM_PRIORITIES], pausing_since_ps[SIM_PRIORITIES];
	struct port_counters c;
};

enum node_kind { NODE_HOST, NODE_LEAF, NODE_SPINE };
struct sim_node {
	enum node_kind kind;
	unsigned index; /* within its kind */
	/* leaf: hosts first, then uplinks spine by spine; spine: leaf by leaf */
	uint32_t port0, ports;
	struct switch_params sw;
	struct hash_params hash, lag_hash;
	uint64_t shared_bytes, pool_watermark;
	/* host */
	bool cc_off;
	double drain_bps; /* a receiver's limit, 0 = none; < 0 accepts nothing */
	/* share of each pause_period_ps in which the NIC pauses its switch, whatever arrives */
	double pause_duty;
	uint64_t pause_period_ps;
	double rx_backlog;
	uint64_t rx_time_ps, rx_drops, cnp_sent, cnp_received, ce_received, wake_ps;
	bool rx_pausing;
	uint32_t *flows;
	size_t n_flows, cap_flows, turn;
};

struct sim_flow { /* given */
	uint32_t src, dst; /* hosts */
	uint64_t bytes; /* payload */
	uint64_t start_ps;
	uint16_t sport;
	uint8_t priority;
	bool not_ect, background;
	unsigned kind; /* for the caller's own sums */
	uint32_t tag; /* and to know it again */
	/* 0: a new queue pair, at line rate; else one that carries on at this rate, if its host has
	 * congestion control */
	double warm_bps;
	/* found */
	uint64_t end_ps; /* 0 = not finished */
	uint64_t sent_packets, resent_packets, ce_packets, cnps;
	/* uplink of the source leaf; port of the spine towards the destination leaf */
	uint16_t up, down;
	uint64_t flowlet_last_ps; /* its newest packet at that leaf */
	/* sender */
	uint32_t packets, next, acked;
	bool done;
	double rate_bps, target_bps, alpha;
	bool cut_seen, cnp_in_alpha, cnp_in_cut, cut_pending;
	uint64_t avail_ps, alpha_ps, last_cut_ps, bytes_since;
	unsigned timer_stage, byte_stage, timer_generation, rto_generation;
	uint32_t acked_at_rto;
	/* receiver */
	uint32_t expected, received;
	bool nak_sent, cnp_sent_ever;
	uint64_t last_cnp_ps;
	uint16_t back_up, back_down;
	/* one that bounces: port of its first spine towards the transit leaf, that leaf's uplink;
	 * @down is then of its second spine */
	bool bounced;
	uint16_t bounce_down, bounce_up;
};

struct sim {
	struct sim_params p;
	struct topo_params t;
	struct sim_node *nodes; /* hosts, leaves, spines */
	size_t n_nodes, n_hosts;
	struct sim_port *ports;
	size_t n_ports;
	struct sim_flow *flows;
	size_t n_flows, cap_flows;
	size_t n_awaited, n_done; /* flows that a run waits for; of these, ended */
	uint64_t now_ps, random;
	uint64_t events, drops;
	struct event *heap;
	size_t n_heap, cap_heap;
	uint64_t sequence;
	struct packet *spare;
	struct packet_block *blocks;
	unsigned spray_turn;
	/* Spine i of these has no link to leaf i; it sends down to leaf i - 1, and that up to spine
	 * i + 1: three such ways wait for each other. */
	bool bounce;
	unsigned bounce_leaf[SIM_BOUNCES], bounce_spine[SIM_BOUNCES];
	/* What a mirror sees: every packet that a port sends (@out) or has taken from the wire
	 * undamaged. NULL: nobody looks. */
	void (*trace)(void *data, const struct sim *s, const struct sim_port *p,
		const struct packet *pkt, bool out);
	void *trace_data;
	/* Called when a flow's last byte was acknowledged; may add flows (and so move @flows).
	 * NULL: nobody waits for it. */
	void (*done)(void *data, struct sim *s, size_t flow);
	void *done_data;
};

struct sim_params sim_defaults(void); /* README.md names the source of each number */
struct switch_params switch_defaults(void);

/* sim_new - a fabric without flows. Faults are set on nodes and ports before sim_run(). Caller
 * frees with sim_free(). */
struct sim *sim_new(const struct sim_params *p, const struct topo_params *t);
void sim_free(struct sim *s);

uint32_t sim_host(const struct sim *s, unsigned leaf, unsigned i); /* node index of a leaf's host */
struct sim_node *sim_leaf(struct sim *s, unsigned i);
struct sim_node *sim_spine(struct sim *s, unsigned i);
struct sim_port *sim_port_of(struct sim *s, const struct sim_node *n, unsigned i);
struct sim_port *sim_uplink(struct sim *s, unsigned leaf, unsigned spine, unsigned link);
void sim_link_down(struct sim *s, struct sim_port *p); /* both ends */

/* sim_flow_add - @priority, @sport as they are on the wire. Returns the flow's index. */
size_t sim_flow_add(struct sim *s, uint32_t src, uint32_t dst, uint64_t bytes, uint64_t start_ps,
	uint16_t sport, uint8_t priority, unsigned kind);

/* sim_flow_background - nobody waits for its end. */
void sim_flow_background(struct sim *s, size_t flow);

/* sim_stall - from now on the host's NIC pauses its switch for a share of each period. */
void sim_stall(
	struct sim *s, struct sim_node *host, double duty, uint64_t period_ps, unsigned priority);

/* sim_run - until all flows but those of the background are done, or @until_ps. Open pauses are
 * accounted up to the end. Returns the time. */
uint64_t sim_run(struct sim *s, uint64_t until_ps);

/* sim_hash - what a switch computes for a flow: 32 bits. */
uint32_t sim_hash(const struct hash_params *h, uint32_t src, uint32_t dst, uint16_t sport);
/* with all links up: index of its port */
unsigned sim_uplink_of(const struct sim *s, const struct sim_node *leaf, uint32_t src, uint32_t dst,
	uint16_t sport);
unsigned sim_member(const struct hash_params *h, uint32_t hash, unsigned members);

/* Random numbers: xorshift64*, so that a seed means the same everywhere. */
uint64_t random_next(uint64_t *state);
double random_unit(uint64_t *state); /* [0, 1) */
uint64_t random_seeded(uint64_t seed, uint64_t stream);

#endif

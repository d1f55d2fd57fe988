/*
 * formulas - every closed formula once, with unit, range and source. Pure arithmetic: no state, and
 * no tables of vendors beyond published constants. Bytes are bytes, rates bit/s, times ns, lengths
 * mm; a ratio is 0..1. docs/formulas.md writes each formula out, with its symbols and an example
 * that a test computes.
 *
 * Sources:
 *      [swss]   sonic-net/sonic-swss, cfgmgr/buffer_headroom_mellanox.lua at e6b0c5b5
 *      [HLD]    sonic-net/SONiC, doc/qos/dynamically-headroom-calculation.md
 *      [802.3]  IEEE 802.3, annex 31B (pause frames; 31B.3.7: response time)
 *      [DCQCN]  Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015,
 *               section 4
 *      [DT]     Choudhury and Hahne, Dynamic Queue Length Thresholds for Shared-Memory Packet
 *               Switches, IEEE/ACM Transactions on Networking, 1998
 * "derived" marks arithmetic of our own.
 */
#pragma once

#include "base/base.h"

/* Signal speed in fibre and copper alike, m/s: the constant of [swss], 5.05 ns/m. */
#define CABLE_SPEED_M_S 1.98e8

/*
 * pause_response_bytes - what the peer may still send after it got XOFF: the pause quanta of [swss]
 * (from 802.3 31B.3.7) x 64 B. 0 when the speed is not in the published table (0.1 1 10 25 40 50
 * 100 200 400 800 G). 800G repeats 400G's number there: a placeholder, so it may err low in time.
 */
uint64_t pause_response_bytes(uint64_t speed_bps);

enum headroom_model {
	/* [swss] as of 2026: quanta table, ceiled worst cell factor, small packets by bytes,
	   on-tile latency */
	HEADROOM_SPECTRUM,
	HEADROOM_SPECTRUM_2021, /* [HLD]: the static tables shipped for Spectrum-1..3 */
	/* what is in flight (the terms of [HLD], each as it is): for orientation, not the number
	   of a vendor */
	HEADROOM_GENERIC,
};
struct headroom_in {
	enum headroom_model model;
	uint64_t speed_bps, cable_mm;
	uint64_t mtu_bytes; /* largest frame of any class on the port */
	uint64_t lossless_mtu_bytes; /* largest frame of the lossless class at the sender */
	uint64_t cell_bytes;
	double small_ratio; /* share of minimum-size packets, by count */
	uint64_t gearbox_ns, macsec_ns; /* per direction; 0 = none */
	unsigned lanes; /* 8: the port has two pipelines (800G on Spectrum-4) */
	/* shared headroom pool: nothing is reserved per priority group beyond xon */
	bool shared_pool;
	/* generic: bytes of buffer per byte of packet; 0 = from cell and small_ratio */
	double amplification;
};
struct headroom {
	uint64_t xoff_bytes; /* usable after XOFF was sent; "xoff" is SONiC's word for it */
	uint64_t xon_bytes, size_bytes;
	struct {
		double mtu, lossless_mtu, cable, gearbox, macsec, mac_phy, peer_response, on_tile,
			pause_frame, amplification;
	} terms;
};
/* 0, -EDOM (a needed input is zero or out of range), -ENOTSUP (the speed has no published response
 * time). */
int headroom_calc(const struct headroom_in *in, struct headroom *ret);

/* One pause frame holds a port for quanta x 512 bit times (802.3 31B.2). ns. */
double pause_time_ns(uint64_t speed_bps, unsigned quanta);
/* Largest share of time that @frames_per_s frames of the longest quanta (65,535) can hold a port: a
 * bound, at most 1. */
double pause_duty_bound(uint64_t speed_bps, double frames_per_s);

/* [DT] the limit of one queue is alpha x what is free. Fill level at which n equal owners settle;
 * what one hog can take is n = 1. */
double dt_limit_bytes(double pool_bytes, double alpha, double n_owners);
/* dt_pfc_queue_bytes - depth of an egress queue fed evenly by @inputs ingress groups when their
 * XOFF fires, with @used bytes of the pool taken by others: k a (B-u) / (1 + k a). Derived from
 * [DT]; held against packet simulation within 5 %. */
double dt_pfc_queue_bytes(double pool_bytes, double used_bytes, double alpha, double inputs);

/* [DCQCN] (4), generalised to p lossless priorities and SAI alpha (derived): highest Kmin that
 * marks before PFC even when one ingress feeds all n ports: a (B - p n H) / (n (1 + p a)).
 * Negative: not possible. */
double ecn_kmin_guarantee_bytes(double pool_bytes, double alpha, double n_ports,
	double p_priorities, double headroom_bytes);
double bdp_bytes(uint64_t speed_bps, double rtt_ns);

/* Where Kmin and Kmax may be, for a queue with this PFC point (derived). */
struct ecn_queue {
	double pool_bytes, used_bytes; /* of the shared pool; taken by others */
	double alpha;
	double inputs; /* ingress ports that feed the queue at once */
	uint64_t speed_bps;
	double rtt_ns, mtu_bytes;
	double kmin_bytes, kmax_bytes;
};
struct ecn_bounds {
	double bdp_bytes, q_pfc_bytes, q_pfc_one_bytes, lo_bytes, hi_bytes;
	bool ok; /* there is room: lo <= hi */
	bool kmin_below_pfc, kmax_below_pfc;
};
struct ecn_bounds ecn_bounds(const struct ecn_queue *queue);

/* Collectives: ring AllReduce moves 2 (N-1)/N x size per GPU; bus bandwidth as nccl-tests defines
 * it, algorithm bandwidth x 2 (N-1)/N. */
double allreduce_ring_bytes(double gpus, double bytes);
double allreduce_bus_bytes_s(double gpus, double bytes, double seconds);
/* Bytes of a model's gradients. */
double gradient_bytes(double parameters, double bytes_each);
/*
 * Share of a ring's flows that cross leaves, @ranks spread evenly over @leaves: with ranks in the
 * order of the leaves one leaves each; in any order, on average, the next rank is one of the others
 * by chance, as are the partners of an all-to-all.
 */
double placement_in_order(double ranks, double leaves);
double placement_any_order(double ranks, double leaves);
/* How many times as long a collective takes when the share @crossing of what a leaf's hosts send
 * leaves it, over uplinks that carry 1/@oversubscription of what they can send; at least 1. */
double placement_slowdown(double crossing, double oversubscription);
/* Model FLOPs utilization of a dense model: 6 operations per parameter and token (Chowdhery et al.,
 * PaLM, appendix B, without attention), over what the GPUs can do. */
double mfu_ratio(double tokens_per_s, double parameters, double gpus, double gpu_flops);
/* Money: GPUs x price per GPU-hour x hours. */
double cost_usd(double gpus, double usd_per_gpu_hour, double seconds);

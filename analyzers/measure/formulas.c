/* formulas - each function cites one of the sources that formulas.h lists. */
#include "analyzers/measure/formulas.h"

#include "base/base.h"

/* [swss] pause_quanta_per_speed; 1 quantum = 512 bit times = 64 bytes at any speed. */
static const struct {
	uint64_t speed_bps;
	unsigned quanta;
} response_quanta[] = {
	{100000000ull, 1},
	{1000000000ull, 2},
	{10000000000ull, 67},
	{25000000000ull, 80},
	{40000000000ull, 118},
	{50000000000ull, 147},
	{100000000000ull, 394},
	{200000000000ull, 453},
	{400000000000ull, 905},
	{800000000000ull, 905},
};

uint64_t pause_response_bytes(uint64_t speed_bps)
{
	for (size_t i = 0; i < rw_countof(response_quanta); i++)
		if (response_quanta[i].speed_bps == speed_bps)
			return response_quanta[i].quanta * 64ull;
	return 0;
}

static double ceil_kib(double bytes)
{
	return ceil(bytes / 1024) * 1024;
}

/* Bytes of buffer per byte of the worst packet ([HLD], "worst case factor"): 64 bytes in a large
 * cell, or one byte more than a small cell. */
static double worst_cell_factor(double cell)
{
	if (cell > 128)
		return cell / 64;
	return 2 * cell / (1 + cell);
}

/* [swss] constants of the ASIC table. */
#define MAC_PHY_BYTES (0.8 * 1024)
#define PIPELINE_BYTES (19 * 1024.0)
#define PIPELINE_SPECTRUM6_BYTES (42 * 1024.0)
#define XON_8_LANES_2021_BYTES 37888.0 /* the tables hold this, not twice the pipeline */
#define PEER_RESPONSE_2021_BYTES (3.8 * 1024)
#define ON_TILE_NS 120.0
#define XOFF_EXTRA_SPECTRUM6_BYTES 18432.0
#define XOFF_EXTRA_BYTES 2048.0
/* The generations are told apart by their cells. */
#define CELL_SPECTRUM45_BYTES 192
#define CELL_SPECTRUM6_BYTES 256
#define PAUSE_FRAME_BYTES 84 /* 64 bytes, and 20 of preamble and gap */

/* Bytes on a cable in both directions. */
static double cable_bytes(const struct headroom_in *in)
{
	const double cable_m = (double)in->cable_mm / 1e3;
	return 2 * cable_m / CABLE_SPEED_M_S * (double)in->speed_bps / 8;
}

/* [swss] from the gearbox to the peer; [HLD] for the tables of 2021. Returns -ENOTSUP without a
 * published response time. */
static int spectrum_terms(const struct headroom_in *in, struct headroom *headroom)
{
	const bool now = in->model == HEADROOM_SPECTRUM;
	const double mbps = (double)in->speed_bps / 1e6;
	headroom->terms.mtu = (double)in->mtu_bytes;
	headroom->terms.lossless_mtu = (double)in->lossless_mtu_bytes;
	headroom->terms.cable =
		2 * ((double)in->cable_mm / 1e3) * mbps * 1e9 / CABLE_SPEED_M_S / (8 * 1000);
	headroom->terms.mac_phy = MAC_PHY_BYTES;
	if (now) {
		/* the script divides by 1024, the tables of 2021 by 1000 */
		headroom->terms.gearbox = 2 * mbps * (double)in->gearbox_ns / (8 * 1024);
		headroom->terms.peer_response = (double)pause_response_bytes(in->speed_bps);
	} else {
		headroom->terms.gearbox = 2 * mbps * (double)in->gearbox_ns / (8 * 1000);
		headroom->terms.peer_response = PEER_RESPONSE_2021_BYTES;
	}
	if (now && in->cell_bytes == CELL_SPECTRUM45_BYTES)
		headroom->terms.on_tile = mbps / 1000 * ON_TILE_NS / 8;
	if (headroom->terms.peer_response <= 0)
		return -ENOTSUP;
	return 0;
}

static double spectrum_xoff(const struct headroom_in *in, struct headroom *headroom)
{
	const bool now = in->model == HEADROOM_SPECTRUM;
	const double lossless = headroom->terms.lossless_mtu;
	const double propagation = headroom->terms.mtu + headroom->terms.cable +
		headroom->terms.gearbox + headroom->terms.mac_phy + headroom->terms.peer_response +
		headroom->terms.on_tile;

	double worst = worst_cell_factor((double)in->cell_bytes);
	double small_percent = in->small_ratio * 100; /* by count */
	if (now) {
		worst = ceil(worst);
		/* by bytes, as the script has it */
		const double mean = (small_percent * 64 + (100 - small_percent) * lossless) / 100;
		small_percent = 100 * 64 / mean;
	}
	headroom->terms.amplification = (100 - small_percent + small_percent * worst) / 100;
	double xoff = ceil_kib(lossless + propagation * headroom->terms.amplification);
	if (!now)
		return xoff;
	if (in->cell_bytes == CELL_SPECTRUM6_BYTES)
		xoff += XOFF_EXTRA_SPECTRUM6_BYTES;
	const double most = ceil_kib(lossless + propagation * worst);
	if (!in->shared_pool && in->small_ratio < 1 && xoff + XOFF_EXTRA_BYTES < most)
		xoff += XOFF_EXTRA_BYTES;
	return xoff;
}

static double spectrum_xon(const struct headroom_in *in)
{
	double pipeline = PIPELINE_BYTES;
	if (in->cell_bytes == CELL_SPECTRUM6_BYTES)
		pipeline = PIPELINE_SPECTRUM6_BYTES;
	if (in->lanes != 8)
		return ceil_kib(pipeline);
	if (in->model == HEADROOM_SPECTRUM)
		return ceil_kib(2 * pipeline);
	return XON_8_LANES_2021_BYTES;
}

static int headroom_spectrum(const struct headroom_in *in, struct headroom *headroom)
{
	const int rc = spectrum_terms(in, headroom);
	if (rc < 0)
		return rc;
	const double xoff = spectrum_xoff(in, headroom);
	const double xon = spectrum_xon(in);
	double overhead = 0;
	if (in->lanes == 8)
		overhead = (double)in->mtu_bytes;
	headroom->xoff_bytes = (uint64_t)xoff;
	headroom->xon_bytes = (uint64_t)xon;
	headroom->size_bytes = headroom->xon_bytes;
	if (!in->shared_pool)
		headroom->size_bytes = (uint64_t)ceil_kib(xoff + xon + overhead);
	return 0;
}

/* Bytes of buffer per byte of packet: small packets need whole cells ([swss], by bytes); the others
 * lose half a cell each on average. */
static double generic_amplification(const struct headroom_in *in, double lossless_mtu)
{
	if (in->amplification > 0)
		return fmax(1, in->amplification);
	const double cell = (double)in->cell_bytes;
	const double small_bytes = in->small_ratio * 64;
	const double small = small_bytes / (small_bytes + (1 - in->small_ratio) * lossless_mtu);
	const double large = ceil(lossless_mtu / cell) * cell / lossless_mtu;
	return fmax(1, small * worst_cell_factor(cell) + (1 - small) * large);
}

static int headroom_generic(const struct headroom_in *in, struct headroom *headroom)
{
	const double bytes_per_ns = (double)in->speed_bps / 8e9;
	const double cell = (double)in->cell_bytes;
	const double lossless_mtu = (double)in->lossless_mtu_bytes;
	headroom->terms.mtu = (double)in->mtu_bytes;
	headroom->terms.lossless_mtu = lossless_mtu;
	headroom->terms.pause_frame = PAUSE_FRAME_BYTES;
	headroom->terms.cable = cable_bytes(in);
	headroom->terms.gearbox = 2 * bytes_per_ns * (double)in->gearbox_ns;
	headroom->terms.macsec = 2 * bytes_per_ns * (double)in->macsec_ns;
	headroom->terms.mac_phy = MAC_PHY_BYTES;
	headroom->terms.peer_response = (double)pause_response_bytes(in->speed_bps);
	if (headroom->terms.peer_response <= 0)
		return -ENOTSUP;
	headroom->terms.amplification = generic_amplification(in, lossless_mtu);
	const double sum = headroom->terms.mtu + headroom->terms.pause_frame +
		headroom->terms.cable + headroom->terms.gearbox + headroom->terms.macsec +
		headroom->terms.mac_phy + headroom->terms.peer_response +
		headroom->terms.lossless_mtu;
	headroom->xoff_bytes = (uint64_t)(ceil(sum * headroom->terms.amplification / cell) * cell);
	/* Two lossless packets between XOFF and XON, in cells: with less the port flaps ([DCQCN],
	 * section 4). */
	headroom->xon_bytes = (uint64_t)(ceil(2 * lossless_mtu / cell) * cell);
	headroom->size_bytes = headroom->xon_bytes;
	if (!in->shared_pool)
		headroom->size_bytes += headroom->xoff_bytes;
	return 0;
}

int headroom_calc(const struct headroom_in *in, struct headroom *ret)
{
	*ret = (struct headroom){0};
	if (!in->speed_bps || !in->mtu_bytes || !in->lossless_mtu_bytes || !in->cell_bytes ||
		!(in->small_ratio >= 0 && in->small_ratio <= 1))
		return -EDOM;
	if (in->model == HEADROOM_GENERIC)
		return headroom_generic(in, ret);
	return headroom_spectrum(in, ret);
}

double pause_time_ns(uint64_t speed_bps, unsigned quanta)
{
	return quanta * 512.0 * 1e9 / (double)speed_bps;
}

double pause_duty_bound(uint64_t speed_bps, double frames_per_s)
{
	return fmin(1, frames_per_s * pause_time_ns(speed_bps, 65535) / 1e9);
}

double dt_limit_bytes(double pool_bytes, double alpha, double n_owners)
{
	return alpha * pool_bytes / (1 + n_owners * alpha);
}

double dt_pfc_queue_bytes(double pool_bytes, double used_bytes, double alpha, double inputs)
{
	return inputs * alpha * (pool_bytes - used_bytes) / (1 + inputs * alpha);
}

double ecn_kmin_guarantee_bytes(
	double pool_bytes, double alpha, double n_ports, double p_priorities, double headroom_bytes)
{
	return alpha * (pool_bytes - p_priorities * n_ports * headroom_bytes) /
		(n_ports * (1 + p_priorities * alpha));
}

double bdp_bytes(uint64_t speed_bps, double rtt_ns)
{
	return (double)speed_bps * rtt_ns / 8e9;
}

struct ecn_bounds ecn_bounds(const struct ecn_queue *queue)
{
	struct ecn_bounds bounds = {
		.bdp_bytes = bdp_bytes(queue->speed_bps, queue->rtt_ns),
		.q_pfc_bytes = dt_pfc_queue_bytes(
			queue->pool_bytes, queue->used_bytes, queue->alpha, queue->inputs),
		.q_pfc_one_bytes = dt_limit_bytes(queue->pool_bytes, queue->alpha, 1),
	};
	/* Below one BDP a single CNP empties the link; above half of the PFC point the reaction
	 * comes too late (derived; seen in packet simulation). */
	bounds.lo_bytes = fmax(bounds.bdp_bytes, 4 * queue->mtu_bytes);
	bounds.hi_bytes = 0.5 * bounds.q_pfc_bytes;
	bounds.ok = bounds.lo_bytes <= bounds.hi_bytes;
	bounds.kmin_below_pfc =
		queue->kmin_bytes <= bounds.hi_bytes && queue->kmin_bytes < bounds.q_pfc_one_bytes;
	bounds.kmax_below_pfc = queue->kmax_bytes <= bounds.q_pfc_bytes;
	return bounds;
}

double allreduce_ring_bytes(double gpus, double bytes)
{
	return 2 * (gpus - 1) / gpus * bytes;
}

double allreduce_bus_bytes_s(double gpus, double bytes, double seconds)
{
	return bytes / seconds * 2 * (gpus - 1) / gpus;
}

double gradient_bytes(double parameters, double bytes_each)
{
	return parameters * bytes_each;
}

double placement_in_order(double ranks, double leaves)
{
	if (leaves > 1)
		return leaves / ranks;
	return 0;
}

double placement_any_order(double ranks, double leaves)
{
	return (ranks - ranks / leaves) / (ranks - 1);
}

double placement_slowdown(double crossing, double oversubscription)
{
	return fmax(1, crossing * oversubscription);
}

double mfu_ratio(double tokens_per_s, double parameters, double gpus, double gpu_flops)
{
	return 6 * parameters * tokens_per_s / (gpus * gpu_flops);
}

double cost_usd(double gpus, double usd_per_gpu_hour, double seconds)
{
	return gpus * usd_per_gpu_hour * seconds / 3600;
}

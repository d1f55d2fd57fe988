/* formulas - see formulas.h; each function cites the source that its letters point to. */
#include "analyzers/measure/formulas.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>

#include "agent/base/cleanup.h"

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

/* Buffer a 64-byte-and-a-bit packet takes over its length: a packet just over a cell needs two
 * ([HLD], "worst case factor"). */
static double worst_cell_factor(double cell)
{
	if (cell > 128)
		return cell / 64;
	return 2 * cell / (1 + cell);
}

/* [swss] constants of the ASIC table: mac/phy 0.8 KiB, pipeline latency 19 KiB; Spectrum-6 (256 B
 * cells) 42 KiB. */
#define MAC_PHY_BYTES (0.8 * 1024)
#define PEER_RESPONSE_2021_BYTES (3.8 * 1024)
#define ON_TILE_NS 120.0

static int headroom_spectrum(const struct headroom_in *in, struct headroom *headroom)
{
	const bool now = in->model == HEADROOM_SPECTRUM;
	const double mbps = (double)in->speed_bps / 1e6, cell = (double)in->cell_bytes,
		     lossless = (double)in->lossless_mtu_bytes;
	const bool eight = in->lanes == 8;
	headroom->terms.mtu = (double)in->mtu_bytes;
	headroom->terms.lossless_mtu = lossless;
	headroom->terms.cable =
		2 * ((double)in->cable_mm / 1e3) * mbps * 1e9 / CABLE_SPEED_M_S / (8 * 1000);
	/* The script divides by 1024 now, by 1000 in the tables of 2021: reproduced as they are. */
	headroom->terms.gearbox = 2 * mbps * (double)in->gearbox_ns / (8 * (now ? 1024 : 1000));
	headroom->terms.mac_phy = MAC_PHY_BYTES;
	if (now)
		headroom->terms.peer_response = (double)pause_response_bytes(in->speed_bps);
	else
		headroom->terms.peer_response = PEER_RESPONSE_2021_BYTES;
	if (headroom->terms.peer_response <= 0)
		return -ENOTSUP;
	/* Spectrum-4 and -5 are the generations with 192 byte cells. */
	if (now && in->cell_bytes == 192)
		headroom->terms.on_tile = mbps / 1000 * ON_TILE_NS / 8;
	else
		headroom->terms.on_tile = 0;
	const double propagation = headroom->terms.mtu + headroom->terms.cable +
		headroom->terms.gearbox + headroom->terms.mac_phy + headroom->terms.peer_response +
		headroom->terms.on_tile;

	double worst = worst_cell_factor(cell), small = in->small_ratio * 100;
	if (now) {
		worst = ceil(worst);
		/* "by bytes", as the script has it */
		small = 100 * 64 / ((small * 64 + (100 - small) * lossless) / 100);
	}
	headroom->terms.amplification = (100 - small + small * worst) / 100;
	double xoff = ceil_kib(lossless + propagation * headroom->terms.amplification);
	if (now && in->cell_bytes == 256)
		xoff += 18432;
	if (now && !in->shared_pool && in->small_ratio < 1 &&
		xoff + 2048 < ceil_kib(lossless + propagation * worst))
		xoff += 2048;
	const double pipeline = (in->cell_bytes == 256 ? 42 : 19) * 1024.0;
	/* The 400G rows with 8 lanes of the 2021 tables hold 37 KiB, not 2 x 19. */
	const double xon = ceil_kib(!eight ? pipeline : now ? pipeline * 2 : 37888);
	headroom->xoff_bytes = (uint64_t)xoff;
	headroom->xon_bytes = (uint64_t)xon;
	headroom->size_bytes = (uint64_t)(in->shared_pool
			? xon
			: ceil_kib(xoff + xon + (eight ? (double)in->mtu_bytes : 0)));
	return 0;
}

static int headroom_generic(const struct headroom_in *in, struct headroom *headroom)
{
	const double bytes_ns = (double)in->speed_bps / 8e9, cell = (double)in->cell_bytes;
	headroom->terms.mtu = (double)in->mtu_bytes;
	headroom->terms.lossless_mtu = (double)in->lossless_mtu_bytes;
	headroom->terms.pause_frame = 84; /* 64 B and the 20 B of preamble and gap */
	headroom->terms.cable =
		2 * ((double)in->cable_mm / 1e3) / CABLE_SPEED_M_S * (double)in->speed_bps / 8;
	headroom->terms.gearbox = 2 * bytes_ns * (double)in->gearbox_ns;
	headroom->terms.macsec = 2 * bytes_ns * (double)in->macsec_ns;
	headroom->terms.mac_phy = MAC_PHY_BYTES;
	headroom->terms.peer_response = (double)pause_response_bytes(in->speed_bps);
	if (headroom->terms.peer_response <= 0)
		return -ENOTSUP;
	double amplification = in->amplification;
	if (amplification <= 0) {
		/* By bytes, as in [swss]; the rest fills its cells to the last, half a cell lost on
		 * average. */
		const double small = in->small_ratio * 64 /
			(in->small_ratio * 64 +
				(1 - in->small_ratio) * headroom->terms.lossless_mtu);
		const double large = ceil(headroom->terms.lossless_mtu / cell) * cell /
			headroom->terms.lossless_mtu;
		amplification = small * worst_cell_factor(cell) + (1 - small) * large;
	}
	if (amplification < 1)
		headroom->terms.amplification = 1;
	else
		headroom->terms.amplification = amplification;
	const double sum = headroom->terms.mtu + headroom->terms.pause_frame +
		headroom->terms.cable + headroom->terms.gearbox + headroom->terms.macsec +
		headroom->terms.mac_phy + headroom->terms.peer_response +
		headroom->terms.lossless_mtu;
	headroom->xoff_bytes = (uint64_t)(ceil(sum * headroom->terms.amplification / cell) * cell);
	/* Hysteresis of two lossless packets, in cells: resume any closer and the port flaps
	 * (DCQCN, section 4: two MTU). */
	headroom->xon_bytes = (uint64_t)(ceil(2 * headroom->terms.lossless_mtu / cell) * cell);
	if (in->shared_pool)
		headroom->size_bytes = headroom->xon_bytes;
	else
		headroom->size_bytes = headroom->xoff_bytes + headroom->xon_bytes;
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

double alpha_of_exponent(int dynamic_th)
{
	return exp2(dynamic_th);
}

double ecn_kmin_guarantee_bytes(
	double pool_bytes, double alpha, double n_ports, double p_priorities, double headroom_bytes)
{
	return alpha * (pool_bytes - p_priorities * n_ports * headroom_bytes) /
		(n_ports * (1 + p_priorities * alpha));
}

double pfc_static_level_bytes(
	double pool_bytes, double n_ports, double p_priorities, double headroom_bytes)
{
	return (pool_bytes - p_priorities * n_ports * headroom_bytes) / (p_priorities * n_ports);
}

double bdp_bytes(uint64_t speed_bps, double rtt_ns)
{
	return (double)speed_bps * rtt_ns / 8e9;
}

void ecn_bounds(double pool_bytes, double used_bytes, double alpha, double inputs,
	uint64_t speed_bps, double rtt_ns, double mtu_bytes, double kmin_bytes, double kmax_bytes,
	struct ecn_bounds *ret)
{
	ret->bdp_bytes = bdp_bytes(speed_bps, rtt_ns);
	ret->q_pfc_bytes = dt_pfc_queue_bytes(pool_bytes, used_bytes, alpha, inputs);
	ret->q_pfc_one_bytes = dt_limit_bytes(pool_bytes, alpha, 1);
	/* Below one BDP a single CNP empties the link; above half the PFC point the reaction comes
	 * too late (derived; measured in simulation). */
	ret->lo_bytes = fmax(ret->bdp_bytes, 4 * mtu_bytes);
	ret->hi_bytes = 0.5 * ret->q_pfc_bytes;
	ret->ok = ret->lo_bytes <= ret->hi_bytes;
	ret->kmin_below_pfc = kmin_bytes <= ret->hi_bytes && kmin_bytes < ret->q_pfc_one_bytes;
	ret->kmax_below_pfc = kmax_bytes <= ret->q_pfc_bytes;
}

double allreduce_ring_bytes(double gpus, double bytes)
{
	return 2 * (gpus - 1) / gpus * bytes;
}

double allreduce_bus_bytes_s(double gpus, double bytes, double seconds)
{
	return bytes / seconds * 2 * (gpus - 1) / gpus;
}

double cost_usd(double gpus, double usd_per_gpu_hour, double seconds)
{
	return gpus * usd_per_gpu_hour * seconds / 3600;
}

/* formulas: the published vectors, exactly; what has none, by its own arithmetic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "analyzers/measure/ecn_order.h"
#include "analyzers/measure/formulas.h"

#define G 1000000000ull

/* The static tables shipped for Spectrum-1..3: 0 = no such row. Columns 10 25 40 50 100 200 400 G;
 * 5, 40, 300 m. */
static void test_headroom_2021(void **state)
{
	(void)state;
	static const uint64_t speeds[] = {10, 25, 40, 50, 100, 200, 400}, cables[] = {5, 40, 300};
	static const struct {
		const char *what;
		uint64_t cell, gearbox;
		double small;
		uint64_t xoff[3][7];
	} rows[] = {
		{"MSN2700", 96, 0, 1,
			{{29696, 29696, 29696, 29696, 30720}, {29696, 31744, 32768, 33792, 38912},
				{36864, 48128, 59392, 66560, 104448}}},
		{"SN2700-D48C8", 96, 0, 0.5,
			{{22528, 22528, 22528, 22528, 23552}, {22528, 24576, 25600, 25600, 29696},
				{27648, 36864, 45056, 50176, 78848}}},
		{"MSN3700/4700", 144, 0, 1,
			{{32768, 32768, 33792, 33792, 33792, 35840, 38912},
				{33792, 35840, 37888, 38912, 44032, 55296, 77824},
				{40960, 54272, 66560, 75776, 117760, 203776, 373760}}},
		{"MSN3800", 144, 400, 1,
			{{34816, 38912, 41984, 45056, 56320}, {35840, 40960, 46080, 50176, 66560},
				{44032, 59392, 75776, 87040, 140288}}},
		{"SN3800-D112C8", 144, 400, 0.5,
			{{25600, 28672, 30720, 32768, 40960}, {26624, 30720, 33792, 36864, 48128},
				{31744, 44032, 55296, 63488, 102400}}},
		{"SN4600C-D112C8", 144, 0, 0.5,
			{{24576, 24576, 24576, 24576, 25600}, {24576, 26624, 27648, 28672, 32768},
				{30720, 39936, 49152, 55296, 86016}}},
	};
	for (size_t r = 0; r < rw_countof(rows); r++) {
		for (int c = 0; c < 3; c++) {
			for (int s = 0; s < 7; s++) {
				if (!rows[r].xoff[c][s])
					continue;
				const struct headroom_in in = {.model = HEADROOM_SPECTRUM_2021,
					.speed_bps = speeds[s] * G,
					.cable_mm = cables[c] * 1000,
					.mtu_bytes = 9216,
					.lossless_mtu_bytes = 1024,
					.cell_bytes = rows[r].cell,
					.small_ratio = rows[r].small,
					.gearbox_ns = rows[r].gearbox,
					.lanes = 4};
				struct headroom h;
				assert_int_equal(headroom_calc(&in, &h), 0);
				if (h.xoff_bytes != rows[r].xoff[c][s])
					fail_msg("%s %" PRIu64 "G %" PRIu64 "m: got %" PRIu64
						 ", published %" PRIu64,
						rows[r].what, speeds[s], cables[c], h.xoff_bytes,
						rows[r].xoff[c][s]);
				assert_int_equal(h.xon_bytes, 19456);
				assert_int_equal(h.size_bytes, h.xoff_bytes + 19456);
			}
		}
	}
}

/* The script itself, run with a stub database; and the table shipped for SN5600. size 0 = not
 * published. */
static void test_headroom_now(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		uint64_t mtu, lossless, cell, speed, cable;
		double small;
		unsigned lanes;
		uint64_t gearbox;
		bool shp;
		uint64_t xon, xoff, size;
	} rows[] = {
		{"SPC4 100G 5m", 9100, 4096, 192, 100, 5, 1, 4, 0, false, 19456, 116736, 136192},
		{"SPC4 100G 40m", 9100, 4096, 192, 100, 40, 1, 4, 0, false, 19456, 130048, 149504},
		{"SPC4 100G 300m", 9100, 4096, 192, 100, 300, 1, 4, 0, false, 19456, 228352,
			247808},
		{"SPC4 100G 5m, 1024", 9100, 1024, 192, 100, 5, 1, 4, 0, false, 19456, 113664, 0},
		{"SPC4 100G 40m, 1024", 9100, 1024, 192, 100, 40, 1, 4, 0, false, 19456, 126976, 0},
		{"SPC4 100G 300m, 1024", 9100, 1024, 192, 100, 300, 1, 4, 0, false, 19456, 225280,
			0},
		{"SPC4 200G 5m", 9100, 4096, 192, 200, 5, 1, 4, 0, false, 19456, 134144, 0},
		{"SPC4 200G 40m", 9100, 4096, 192, 200, 40, 1, 4, 0, false, 19456, 160768, 0},
		{"SPC4 200G 300m", 9100, 4096, 192, 200, 300, 1, 4, 0, false, 19456, 357376, 0},
		{"SPC4 400G 5m", 9100, 4096, 192, 400, 5, 1, 4, 0, false, 19456, 233472, 0},
		{"SPC4 400G 30m", 9100, 4096, 192, 400, 30, 1, 4, 0, false, 19456, 271360, 0},
		{"SPC4 400G 40m", 9100, 4096, 192, 400, 40, 1, 4, 0, false, 19456, 286720, 0},
		{"SPC4 400G 100m", 9100, 4096, 192, 400, 100, 1, 4, 0, false, 19456, 377856, 0},
		{"SPC4 400G 300m", 9100, 4096, 192, 400, 300, 1, 4, 0, false, 19456, 680960, 0},
		{"SPC4 400G 40m, 1024", 9100, 1024, 192, 400, 40, 1, 4, 0, false, 19456, 283648, 0},
		{"SPC4 800G 8 lanes 5m", 9100, 4096, 192, 800, 5, 1, 8, 0, false, 38912, 259072,
			307200},
		{"SPC4 800G 8 lanes 40m", 9100, 4096, 192, 800, 40, 1, 8, 0, false, 38912, 365568,
			413696},
		{"SPC4 800G 8 lanes 300m", 9100, 4096, 192, 800, 300, 1, 8, 0, false, 38912,
			1153024, 1201152},
		{"SPC3 400G 40m 4 lanes", 9100, 1024, 144, 400, 40, 1, 4, 0, false, 19456, 265216,
			284672},
		{"SPC3 400G 40m 8 lanes", 9100, 1024, 144, 400, 40, 1, 8, 0, false, 38912, 265216,
			313344},
		{"SPC2 100G 40m gearbox", 9100, 1024, 144, 100, 40, 1, 4, 400, false, 19456, 151552,
			171008},
		{"SPC1 100G 40m", 9100, 1024, 96, 100, 40, 1, 4, 0, false, 19456, 81920, 101376},
		{"SPC3 100G 40m 50 % small, shared pool", 9100, 1024, 144, 100, 40, 0.5, 4, 0, true,
			19456, 51200, 19456},
		{"SN5600 400G 5m", 9216, 1024, 192, 400, 5, 1, 4, 0, false, 19456, 231424, 250880},
		{"SN5600 400G 40m", 9216, 1024, 192, 400, 40, 1, 4, 0, false, 19456, 283648, 0},
		{"SN5600 400G 300m", 9216, 1024, 192, 400, 300, 1, 4, 0, false, 19456, 677888, 0},
		{"SN5600 800G 5m", 9216, 1024, 192, 800, 5, 1, 8, 0, false, 38912, 257024, 0},
		{"SN5600 800G 40m", 9216, 1024, 192, 800, 40, 1, 8, 0, false, 38912, 362496, 0},
		{"SN5600 800G 300m", 9216, 1024, 192, 800, 300, 1, 8, 0, false, 38912, 1150976, 0},
		{"SN5600-C256S1 400G 5m, shared pool", 9216, 4096, 192, 400, 5, 0.5, 4, 0, true,
			19456, 86016, 19456},
		{"SN5600-C256S1 400G 40m, shared pool", 9216, 4096, 192, 400, 40, 0.5, 4, 0, true,
			19456, 104448, 19456},
	};
	for (size_t r = 0; r < rw_countof(rows); r++) {
		const struct headroom_in in = {.model = HEADROOM_SPECTRUM,
			.speed_bps = rows[r].speed * G,
			.cable_mm = rows[r].cable * 1000,
			.mtu_bytes = rows[r].mtu,
			.lossless_mtu_bytes = rows[r].lossless,
			.cell_bytes = rows[r].cell,
			.small_ratio = rows[r].small,
			.gearbox_ns = rows[r].gearbox,
			.lanes = rows[r].lanes,
			.shared_pool = rows[r].shp};
		struct headroom h;
		assert_int_equal(headroom_calc(&in, &h), 0);
		if (h.xoff_bytes != rows[r].xoff || h.xon_bytes != rows[r].xon ||
			(rows[r].size && h.size_bytes != rows[r].size))
			fail_msg("%s: got %" PRIu64 "/%" PRIu64 "/%" PRIu64 ", published %" PRIu64
				 "/%" PRIu64 "/%" PRIu64,
				rows[r].what, h.xon_bytes, h.xoff_bytes, h.size_bytes, rows[r].xon,
				rows[r].xoff, rows[r].size);
	}
}

static void test_headroom_refusals(void **state)
{
	(void)state;
	struct headroom h;
	struct headroom_in in = {.model = HEADROOM_SPECTRUM,
		.speed_bps = 400 * G,
		.cable_mm = 5000,
		.mtu_bytes = 9216,
		.lossless_mtu_bytes = 1024,
		.cell_bytes = 192};
	assert_int_equal(headroom_calc(&in, &h), 0);
	in.speed_bps = 123 * G;
	assert_int_equal(headroom_calc(&in, &h), -ENOTSUP);
	in.speed_bps = 400 * G;
	in.cell_bytes = 0;
	assert_int_equal(headroom_calc(&in, &h), -EDOM);
	in.cell_bytes = 192;
	in.small_ratio = 1.5;
	assert_int_equal(headroom_calc(&in, &h), -EDOM);
	in.small_ratio = NAN;
	assert_int_equal(headroom_calc(&in, &h), -EDOM);
}

/* More of anything that delays the pause needs more headroom; cells round up. */
static void test_headroom_generic(void **state)
{
	(void)state;
	struct headroom_in in = {.model = HEADROOM_GENERIC,
		.speed_bps = 100 * G,
		.cable_mm = 100000,
		.mtu_bytes = 9216,
		.lossless_mtu_bytes = 4200,
		.cell_bytes = 208};
	struct headroom h, more;
	assert_int_equal(headroom_calc(&in, &h), 0);
	assert_int_equal(h.xoff_bytes % 208, 0);
	/* by hand: 9216 + 84 + 12626.3 + 819.2 + 25216 + 4200, cells 21 x 208 for 4200 */
	const double sum = 9216 + 84 + 2 * 100 / 1.98e8 * 1e11 / 8 + 0.8 * 1024 + 25216 + 4200;
	assert_true(fabs((double)h.xoff_bytes - sum * 21 * 208 / 4200) <= 208);
	assert_int_equal(h.size_bytes, h.xoff_bytes + h.xon_bytes);
	in.shared_pool = true; /* what comes after XOFF lies in the headroom pool */
	headroom_calc(&in, &more);
	assert_int_equal(more.size_bytes, more.xon_bytes);
	assert_int_equal(more.xoff_bytes, h.xoff_bytes);
	in.shared_pool = false;
	in.gearbox_ns = 400;
	headroom_calc(&in, &more);
	assert_true(more.xoff_bytes >= h.xoff_bytes + 10000);
	in.small_ratio = 1;
	h = more;
	headroom_calc(&in, &more);
	assert_true((double)more.xoff_bytes > 3 * (double)h.xoff_bytes);
}

static void near(const char *what, double got, double expect, double tolerance)
{
	if (!(fabs(got - expect) <= tolerance))
		fail_msg("%s: got %.6g, expected %.6g", what, got, expect);
}

/* Kmin against the depth at which PFC acts: of dynamic thresholds, or of XOFF at each input. */
static void test_ecn_order(void **state)
{
	static const struct {
		const char *what;
		struct ecn_order_in in;
		enum ecn_order order;
		double q_pfc;
	} rows[] = {
		{"half of 3.2 MB", {16e6, 0, 0.125, NAN, 1.6e6, 2}, ECN_FIRST, 3.2e6},
		{"more than half", {16e6, 0, 0.125, NAN, 1.7e6, 2}, ECN_TIGHT, 3.2e6},
		{"all of it", {16e6, 0, 0.125, NAN, 3.2e6, 2}, PFC_FIRST, 3.2e6},
		{"three inputs of 1 MB each", {NAN, 0, NAN, 1e6, 1.5e6, 3}, ECN_FIRST, 3e6},
		{"one input of 1 MB", {NAN, 0, NAN, 1e6, 1.5e6, 1}, PFC_FIRST, 1e6},
		{"Kmin is not known", {16e6, 0, 0.125, NAN, NAN, 2}, ECN_ORDER_UNKNOWN, 0},
		{"neither is known", {NAN, 0, NAN, NAN, 1e6, 2}, ECN_ORDER_UNKNOWN, 0},
	};
	(void)state;
	for (size_t i = 0; i < rw_countof(rows); i++) {
		double q_pfc = 0;
		const enum ecn_order order = ecn_order(&rows[i].in, &q_pfc);
		if (order != rows[i].order)
			fail_msg("%s: %d, expected %d", rows[i].what, (int)order,
				(int)rows[i].order);
		near(rows[i].what, q_pfc, rows[i].q_pfc, 1);
	}
}

static void test_pause(void **state)
{
	(void)state;
	near("10G", pause_time_ns(10 * G, 65535), 3355e3, 1e3);
	near("25G", pause_time_ns(25 * G, 65535), 1342e3, 1e3);
	near("100G", pause_time_ns(100 * G, 65535), 335.5e3, 0.1e3);
	near("200G", pause_time_ns(200 * G, 65535), 167.8e3, 0.1e3);
	near("400G", pause_time_ns(400 * G, 65535), 83.9e3, 0.1e3);
	near("800G", pause_time_ns(800 * G, 65535), 41.9e3, 0.1e3);
	near("847 frames/s at 400G", pause_duty_bound(400 * G, 847), 0.071, 0.0005);
	near("a bound is at most all of it", pause_duty_bound(10 * G, 1e6), 1, 0);
}

static void test_thresholds(void **state)
{
	(void)state;
	/* B = 3.931 MB, two ingress groups: predicted PFC depth of the egress queue, kB, for alpha
	 * 1/16 .. 1 */
	static const double alpha[] = {1.0 / 16, 1.0 / 8, 1.0 / 4, 1.0 / 2, 1},
			    q2[] = {437, 786, 1310, 1966, 2621}, q1[] = {283, 489, 838, 1362, 2018};
	for (int i = 0; i < 5; i++) {
		near("q_PFC(2)", dt_pfc_queue_bytes(3.931e6, 0, alpha[i], 2) / 1e3, q2[i], 1);
		near("one hog, and 52.1 kB in flight",
			dt_limit_bytes(3.931e6, alpha[i], 1) / 1e3 + 52.1, q1[i], 1);
	}
	/* DCQCN, Trident II: 12 MB, 32 ports, 8 priorities, 22.4 kB in flight */
	near("t_ECN, beta 8 = alpha 1", ecn_kmin_guarantee_bytes(12e6, 1, 32, 8, 22.4e3), 21756, 1);
	near("BDP 400G 8 us", bdp_bytes(400 * G, 8000), 400e3, 1);
	struct ecn_queue queue = {.pool_bytes = 3.931e6,
		.alpha = 1.0 / 16,
		.inputs = 2,
		.speed_bps = 200 * G,
		.rtt_ns = 4100,
		.mtu_bytes = 4200,
		.kmin_bytes = 1048e3,
		.kmax_bytes = 2097e3};
	struct ecn_bounds b = ecn_bounds(&queue);
	/* the simulated case: marks 0.00 %, hosts paused 28.87 ms */
	assert_false(b.kmin_below_pfc);
	assert_false(b.kmax_below_pfc);
	queue.alpha = 1.0 / 4;
	queue.kmin_bytes = 400e3;
	queue.kmax_bytes = 1200e3;
	b = ecn_bounds(&queue);
	assert_true(b.kmin_below_pfc && b.kmax_below_pfc && b.ok);
	near("a limit among three", dt_limit_bytes(16e6, 1, 3), 4e6, 1);
	near("a limit among seven, alpha 1/8", dt_limit_bytes(15e6, 0.125, 7), 1e6, 1);
}

static void test_training(void **state)
{
	(void)state;
	near("ring, 64 GPUs, 1 GB", allreduce_ring_bytes(64, 1e9), 1.97e9, 0.002e9);
	near("bus bandwidth", allreduce_bus_bytes_s(64, 1e9, 1), 1.97e9, 0.002e9);
	near("7B in fp32", gradient_bytes(7e9, 4), 28e9, 0);
	near("405B in bf16", gradient_bytes(405e9, 2), 810e9, 0);
	near("1.8T in bf16", gradient_bytes(1.8e12, 2), 3.6e12, 0);
	near("340M in fp32", gradient_bytes(340e6, 4), 1.4e9, 0.05e9);
	near("a pair on two leaves", placement_any_order(2, 2), 1, 0);
	near("one leaf, in order", placement_in_order(64, 1), 0, 0);
	near("one leaf, any order", placement_any_order(64, 1), 0, 0);
	near("uplinks that carry it", placement_slowdown(0.9, 1), 1, 0);
	near("70B, 1,172 tokens/s a GPU", mfu_ratio(300e3, 70e9, 256, 989e12), 0.4977, 1e-4);
	near("256 GPUs an hour", cost_usd(256, 30, 3600), 7680, 0);
	near("1,024 GPUs a minute", cost_usd(1024, 30, 60), 512, 1e-9);
	near("4,096 GPUs a second", cost_usd(4096, 30, 1), 34.13, 0.005);
	near("10 s at 1,024", cost_usd(1024, 30, 10), 85, 0.5);
	near("10 % for an hour at 1,024", cost_usd(1024, 30, 3600) * 0.10, 3072, 1e-6);
	near("28 ms x 8,000 steps at 512", cost_usd(512, 30, 0.028 * 8000), 955.73, 0.005);
}

/* ---- docs/formulas.md ---------------------------------------------------- */

static double response(const double *v)
{
	return (double)pause_response_bytes((uint64_t)v[0]);
}
static double pause_time(const double *v)
{
	return pause_time_ns((uint64_t)v[0], (unsigned)v[1]);
}
static double duty_bound(const double *v)
{
	return pause_duty_bound((uint64_t)v[0], v[1]);
}
static double limit(const double *v)
{
	return dt_limit_bytes(v[0], v[1], v[2]);
}
static double pfc_queue(const double *v)
{
	return dt_pfc_queue_bytes(v[0], v[1], v[2], v[3]);
}
static double kmin_guarantee(const double *v)
{
	return ecn_kmin_guarantee_bytes(v[0], v[1], v[2], v[3], v[4]);
}
static double bdp(const double *v)
{
	return bdp_bytes((uint64_t)v[0], v[1]);
}
static double ring(const double *v)
{
	return allreduce_ring_bytes(v[0], v[1]);
}
static double bus(const double *v)
{
	return allreduce_bus_bytes_s(v[0], v[1], v[2]);
}
static double gradient(const double *v)
{
	return gradient_bytes(v[0], v[1]);
}
static double in_order(const double *v)
{
	return placement_in_order(v[0], v[1]);
}
static double any_order(const double *v)
{
	return placement_any_order(v[0], v[1]);
}
static double slowdown(const double *v)
{
	return placement_slowdown(v[0], v[1]);
}
static double mfu(const double *v)
{
	return mfu_ratio(v[0], v[1], v[2], v[3]);
}
static double usd(const double *v)
{
	return cost_usd(v[0], v[1], v[2]);
}
/* speed, cable, MTU, lossless MTU, cell, share of small packets: XOFF of the model of 2021 */
static double headroom_2021(const double *v)
{
	struct headroom h;
	const struct headroom_in in = {.model = HEADROOM_SPECTRUM_2021,
		.speed_bps = (uint64_t)v[0],
		.cable_mm = (uint64_t)v[1],
		.mtu_bytes = (uint64_t)v[2],
		.lossless_mtu_bytes = (uint64_t)v[3],
		.cell_bytes = (uint64_t)v[4],
		.small_ratio = v[5]};
	assert_int_equal(headroom_calc(&in, &h), 0);
	return (double)h.xoff_bytes;
}
/* pool, used, alpha, inputs, speed, RTT, MTU: the highest Kmin */
static double bounds_hi(const double *v)
{
	return ecn_bounds(
		&(struct ecn_queue){v[0], v[1], v[2], v[3], (uint64_t)v[4], v[5], v[6], 0, 0})
		.hi_bytes;
}

static const struct documented {
	const char *name;
	size_t n;
	double (*fn)(const double *v);
} documented[] = {
	{"pause_response_bytes", 1, response},
	{"headroom_calc", 6, headroom_2021},
	{"pause_time_ns", 2, pause_time},
	{"pause_duty_bound", 2, duty_bound},
	{"dt_limit_bytes", 3, limit},
	{"dt_pfc_queue_bytes", 4, pfc_queue},
	{"ecn_kmin_guarantee_bytes", 5, kmin_guarantee},
	{"bdp_bytes", 2, bdp},
	{"ecn_bounds", 7, bounds_hi},
	{"allreduce_ring_bytes", 2, ring},
	{"allreduce_bus_bytes_s", 3, bus},
	{"gradient_bytes", 2, gradient},
	{"placement_in_order", 2, in_order},
	{"placement_any_order", 2, any_order},
	{"placement_slowdown", 2, slowdown},
	{"mfu_ratio", 4, mfu},
	{"cost_usd", 3, usd},
};

static char *text_of(const char *path)
{
	char *text = NULL;
	size_t n;
	if (str_read_file(path, 1 << 20, &text, &n, NULL) != 0)
		fail_msg("%s cannot be read", path);
	return text;
}

/* Every public function of formulas.h is in the table above. */
static void test_documented_all(void **state)
{
	rw_cleanup(freep) char *header = text_of("analyzers/measure/formulas.h");
	size_t n = 0;
	char *rest = header;
	for (char *line; (line = strsep(&rest, "\n"));) {
		static const char *const types[] = {"double ", "int ", "uint64_t ", "struct "};
		bool declares = strchr(line, '(') != NULL;
		bool typed = false;
		for (size_t i = 0; i < rw_countof(types); i++)
			typed = typed || strncmp(line, types[i], strlen(types[i])) == 0;
		if (!declares || !typed)
			continue;
		bool known = false;
		for (size_t i = 0; i < rw_countof(documented); i++)
			known = known || strstr(line, documented[i].name);
		if (!known)
			fail_msg("not in docs/formulas.md: %s", line);
		n++;
	}
	assert_int_equal(n, rw_countof(documented));
}

/* Its heading stands in the manual, and under it an example `name(1, 2) = 3` that comes out. */
static void test_documented_examples(void **state)
{
	rw_cleanup(freep) char *manual = text_of("docs/formulas.md");
	for (size_t i = 0; i < rw_countof(documented); i++) {
		const struct documented *d = &documented[i];
		char heading[64], call[64];
		snprintf(heading, sizeof(heading), "### %s\n", d->name);
		snprintf(call, sizeof(call), "`%s(", d->name);
		const char *at = strstr(manual, heading);
		if (!at)
			fail_msg("docs/formulas.md has no heading '### %s'", d->name);
		const char *end = strstr(at + 4, "\n### ");
		at = strstr(at, call);
		if (!at || (end && at > end))
			fail_msg("docs/formulas.md has no example %s...) = ...` under its heading",
				call);
		char *p = (char *)at + strlen(call);
		double v[8] = {0};
		for (size_t k = 0; k < d->n; k++) {
			v[k] = strtod(p, &p);
			assert_true(*p == (k + 1 < d->n ? ',' : ')'));
			p++;
		}
		assert_true(strncmp(p, " = ", 3) == 0);
		const double expect = strtod(p + 3, NULL);
		near(d->name, d->fn(v), expect, fabs(expect) * 0.0005);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_headroom_2021),
		cmocka_unit_test(test_headroom_now),
		cmocka_unit_test(test_headroom_refusals),
		cmocka_unit_test(test_headroom_generic),
		cmocka_unit_test(test_ecn_order),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_thresholds),
		cmocka_unit_test(test_training),
		cmocka_unit_test(test_documented_all),
		cmocka_unit_test(test_documented_examples),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

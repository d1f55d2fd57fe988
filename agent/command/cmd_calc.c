/* cmd_calc - "rocewatch calc": the formulas of analyzers/measure/formulas.h by hand, each input and
 * result with its unit. docs/formulas.md derives them. */
#include "agent/command/command.h"

#include "agent/document/json_value.h"
#include "analyzers/measure/formulas.h"
#include "analyzers/measure/sizing.h"

enum input {
	IN_MODEL,
	IN_SPEED,
	IN_CABLE,
	IN_MTU,
	IN_LOSSLESS_MTU,
	IN_CELL,
	IN_SMALL,
	IN_SHP,
	IN_LANES,
	IN_GEARBOX,
	IN_MACSEC,
	IN_AMPLIFICATION,
	IN_POOL,
	IN_USED,
	IN_ALPHA,
	IN_INGRESS,
	IN_PORTS,
	IN_PRIORITIES,
	IN_HEADROOM,
	IN_RTT,
	IN_KMIN,
	IN_KMAX,
	IN_QUANTA,
	IN_FRAMES,
	IN_GPUS,
	IN_SIZE,
	IN_TIME,
	IN_COMPUTE,
	IN_NETWORK,
	IN_STEPS,
	IN_PRICE,
	IN_FRACTION,
	IN_SWITCHES,
	IN_INTERVAL,
	IN_PARAMETERS,
	IN_BYTES,
	IN_TOKENS,
	IN_PEAK,
	IN_LEAVES,
	IN_OVERSUBSCRIPTION,
	IN_COUNT
};
enum family { F_WORD, F_FLAG, F_SIZE, F_BITRATE, F_LENGTH, F_DURATION, F_RATIO, F_NUMBER, F_COUNT };

static const struct command_option options[] = {
	[IN_MODEL] = {"model", 0, "NAME",
		"spectrum (SONiC's dynamic model of 2026), spectrum-2021 (its static "
		"tables), generic (physics)"},
	[IN_SPEED] = {"speed", 0, "RATE", "link speed, such as 400G"},
	[IN_CABLE] = {"cable", 0, "LENGTH", "cable length, such as 40m"},
	[IN_MTU] = {"mtu", 0, "SIZE", "largest frame of any class on the port, such as 9216B"},
	[IN_LOSSLESS_MTU] = {"lossless-mtu", 0, "SIZE",
		"largest frame of the lossless class, such as 1024B"},
	[IN_CELL] = {"cell", 0, "SIZE", "buffer cell of the ASIC, such as 192B"},
	[IN_SMALL] = {"small-packets", 0, "RATIO",
		"share of minimum-size packets by count, such as 100%"},
	[IN_SHP] = {"shp", 0, NULL, "a shared headroom pool is configured"},
	[IN_LANES] = {"lanes", 0, "N", "serdes lanes of the port"},
	[IN_GEARBOX] = {"gearbox", 0, "TIME", "gearbox latency per direction, such as 400ns"},
	[IN_MACSEC] = {"macsec", 0, "TIME", "MACsec PHY latency per direction (generic)"},
	[IN_AMPLIFICATION] = {"amplification", 0, "N",
		"buffer bytes per packet byte, where the ASIC's is known (generic)"},
	[IN_POOL] = {"pool", 0, "SIZE",
		"shared buffer the queue draws from (one slice), such as 64MB"},
	[IN_USED] = {"used", 0, "SIZE", "part of the pool that others occupy"},
	[IN_ALPHA] = {"alpha", 0, "RATIO", "alpha of the dynamic threshold, such as 1/8"},
	[IN_INGRESS] = {"ingress", 0, "K", "ingress ports that feed the queue at the same time"},
	[IN_PORTS] = {"ports", 0, "N", "ports of the switch"},
	[IN_PRIORITIES] = {"priorities", 0, "P", "lossless priorities in use"},
	[IN_HEADROOM] = {"headroom", 0, "SIZE", "headroom per port and priority"},
	[IN_RTT] = {"rtt", 0, "TIME", "base round trip with hosts, such as 8us"},
	[IN_KMIN] = {"kmin", 0, "SIZE", "ECN Kmin"},
	[IN_KMAX] = {"kmax", 0, "SIZE", "ECN Kmax"},
	[IN_QUANTA] = {"quanta", 0, "N", "pause quanta of a frame, 0 to 65535"},
	[IN_FRAMES] = {"frames", 0, "N", "pause frames per second"},
	[IN_GPUS] = {"gpus", 0, "N", "GPUs"},
	[IN_SIZE] = {"size", 0, "SIZE", "bytes reduced per step, such as 1GB"},
	[IN_TIME] = {"time", 0, "TIME", "how long it took, or for cost lasted"},
	[IN_COMPUTE] = {"compute", 0, "TIME", "compute time of a step"},
	[IN_NETWORK] = {"network", 0, "TIME", "network time of a step that compute does not hide"},
	[IN_STEPS] = {"steps", 0, "N", "steps of the training"},
	[IN_PRICE] = {"price", 0, "USD", "US dollars per GPU-hour"},
	[IN_FRACTION] = {"fraction", 0, "RATIO", "share of the time that is lost"},
	[IN_SWITCHES] = {"switches", 0, "N", "switches of the fabric"},
	[IN_INTERVAL] = {"interval", 0, "TIME", "time between two polls, such as 10s"},
	[IN_PARAMETERS] = {"parameters", 0, "N", "parameters of the model, such as 70B"},
	[IN_BYTES] = {"bytes", 0, "N", "bytes of a gradient: 2 for bf16 and fp16, 4 for fp32"},
	[IN_TOKENS] = {"tokens", 0, "N", "tokens per second of the whole job"},
	[IN_PEAK] = {"peak", 0, "N", "dense teraflops of a GPU in the format trained in"},
	[IN_LEAVES] = {"leaves", 0, "N", "leaves that the job's GPUs are spread over"},
	[IN_OVERSUBSCRIPTION] = {"oversubscription-ratio", 0, "N",
		"what a leaf's hosts can send over what its uplinks carry, such as 2"},
	[IN_COUNT] = {0},
};
static const enum family families[IN_COUNT] = {
	[IN_MODEL] = F_WORD,
	[IN_SPEED] = F_BITRATE,
	[IN_CABLE] = F_LENGTH,
	[IN_MTU] = F_SIZE,
	[IN_LOSSLESS_MTU] = F_SIZE,
	[IN_CELL] = F_SIZE,
	[IN_SMALL] = F_RATIO,
	[IN_SHP] = F_FLAG,
	[IN_LANES] = F_NUMBER,
	[IN_GEARBOX] = F_DURATION,
	[IN_MACSEC] = F_DURATION,
	[IN_AMPLIFICATION] = F_NUMBER,
	[IN_POOL] = F_SIZE,
	[IN_USED] = F_SIZE,
	[IN_ALPHA] = F_RATIO,
	[IN_INGRESS] = F_NUMBER,
	[IN_PORTS] = F_NUMBER,
	[IN_PRIORITIES] = F_NUMBER,
	[IN_HEADROOM] = F_SIZE,
	[IN_RTT] = F_DURATION,
	[IN_KMIN] = F_SIZE,
	[IN_KMAX] = F_SIZE,
	[IN_QUANTA] = F_NUMBER,
	[IN_FRAMES] = F_NUMBER,
	[IN_GPUS] = F_NUMBER,
	[IN_SIZE] = F_SIZE,
	[IN_TIME] = F_DURATION,
	[IN_COMPUTE] = F_DURATION,
	[IN_NETWORK] = F_DURATION,
	[IN_STEPS] = F_NUMBER,
	[IN_PRICE] = F_NUMBER,
	[IN_FRACTION] = F_RATIO,
	[IN_SWITCHES] = F_NUMBER,
	[IN_INTERVAL] = F_DURATION,
	[IN_PARAMETERS] = F_COUNT,
	[IN_BYTES] = F_NUMBER,
	[IN_TOKENS] = F_COUNT,
	[IN_PEAK] = F_NUMBER,
	[IN_LEAVES] = F_NUMBER,
	[IN_OVERSUBSCRIPTION] = F_NUMBER,
};

struct inputs {
	double v[IN_COUNT]; /* bytes, bit/s, m, ns, a ratio, or a plain number: see families[] */
	const char *model;
};

static void cmd_calc_set(json_t *doc, const char *key, double value)
{
	json_object_set_new(doc, key, json_number_or_null(value));
}
static void set_whole(json_t *doc, const char *key, double value)
{
	json_t *number = json_null();
	if (isfinite(value))
		number = json_integer((json_int_t)llround(value));
	json_object_set_new(doc, key, number);
}
/* set_bool - null when it is not @known. */
static void set_bool(json_t *doc, const char *key, bool known, bool value)
{
	json_t *word = json_null();
	if (known)
		word = json_boolean(value);
	json_object_set_new(doc, key, word);
}
/* cmd_calc_quotient - NAN when it cannot be taken. */
static double cmd_calc_quotient(double dividend, double divisor)
{
	if (divisor > 0)
		return dividend / divisor;
	return NAN;
}

static int calc_headroom(const struct inputs *in, json_t *doc, struct err *e)
{
	static const char *const models[] = {[HEADROOM_SPECTRUM] = "spectrum",
		[HEADROOM_SPECTRUM_2021] = "spectrum-2021",
		[HEADROOM_GENERIC] = "generic"};
	unsigned m = 0;
	while (m < rw_countof(models) && strcmp(models[m], in->model) != 0)
		m++;
	if (m == rw_countof(models)) {
		const char *near = str_nearest(in->model, models, rw_countof(models));
		return err_set(e, -EINVAL,
			"--model: unknown model '%.32s'; expected spectrum, spectrum-2021 or "
			"generic%s%s%s",
			in->model, str_if(near, "; did you mean '"), str_or(near, ""),
			str_if(near, "'?"));
	}
	const struct headroom_in h_in = {.model = (enum headroom_model)m,
		.speed_bps = (uint64_t)in->v[IN_SPEED],
		.cable_mm = (uint64_t)llround(in->v[IN_CABLE] * 1e3),
		.mtu_bytes = (uint64_t)in->v[IN_MTU],
		.lossless_mtu_bytes = (uint64_t)in->v[IN_LOSSLESS_MTU],
		.cell_bytes = (uint64_t)in->v[IN_CELL],
		.small_ratio = in->v[IN_SMALL],
		.gearbox_ns = (uint64_t)in->v[IN_GEARBOX],
		.macsec_ns = (uint64_t)in->v[IN_MACSEC],
		.lanes = (unsigned)in->v[IN_LANES],
		.shared_pool = in->v[IN_SHP] > 0,
		.amplification = in->v[IN_AMPLIFICATION]};
	struct headroom h;
	const int r = headroom_calc(&h_in, &h);
	if (r == -ENOTSUP)
		return err_set(e, -EINVAL,
			"--speed: no published pause response time for this speed; known: 100M 1G "
			"10G 25G 40G 50G 100G 200G 400G 800G");
	if (r < 0)
		return err_set(e, -EINVAL,
			"speed, MTUs and cell must be above 0 and the share of small packets "
			"within 0..100%%");
	set_whole(doc, "xoff_bytes", (double)h.xoff_bytes);
	set_whole(doc, "xon_bytes", (double)h.xon_bytes);
	set_whole(doc, "size_bytes", (double)h.size_bytes);
	json_object_set_new(doc, "model", json_string(models[m]));
	json_t *t = json_object();
	cmd_calc_set(t, "mtu_bytes", h.terms.mtu);
	cmd_calc_set(t, "lossless_mtu_bytes", h.terms.lossless_mtu);
	cmd_calc_set(t, "cable_bytes", h.terms.cable);
	cmd_calc_set(t, "gearbox_bytes", h.terms.gearbox);
	cmd_calc_set(t, "macsec_bytes", h.terms.macsec);
	cmd_calc_set(t, "mac_phy_bytes", h.terms.mac_phy);
	cmd_calc_set(t, "peer_response_bytes", h.terms.peer_response);
	cmd_calc_set(t, "on_tile_bytes", h.terms.on_tile);
	cmd_calc_set(t, "pause_frame_bytes", h.terms.pause_frame);
	cmd_calc_set(t, "cell_amplification", h.terms.amplification);
	json_object_set_new(doc, "terms", t);
	return 0;
}

static int calc_ecn(const struct inputs *in, json_t *doc, struct err *e)
{
	const struct ecn_bounds b = ecn_bounds(&(struct ecn_queue){
		.pool_bytes = in->v[IN_POOL],
		.used_bytes = in->v[IN_USED],
		.alpha = in->v[IN_ALPHA],
		.inputs = in->v[IN_INGRESS],
		.speed_bps = (uint64_t)in->v[IN_SPEED],
		.rtt_ns = in->v[IN_RTT],
		.mtu_bytes = in->v[IN_LOSSLESS_MTU],
		.kmin_bytes = in->v[IN_KMIN],
		.kmax_bytes = in->v[IN_KMAX],
	});
	set_whole(doc, "bdp_bytes", b.bdp_bytes);
	set_whole(doc, "q_pfc_bytes", b.q_pfc_bytes);
	set_whole(doc, "q_pfc_one_ingress_bytes", b.q_pfc_one_bytes);
	set_whole(doc, "kmin_lowest_bytes", b.lo_bytes);
	set_whole(doc, "kmin_highest_bytes", b.hi_bytes);
	json_object_set_new(doc, "ecn_can_act_before_pfc", json_boolean(b.ok));
	double guarantee_bytes = NAN;
	if (in->v[IN_PORTS] > 0)
		guarantee_bytes = ecn_kmin_guarantee_bytes(in->v[IN_POOL], in->v[IN_ALPHA],
			in->v[IN_PORTS], in->v[IN_PRIORITIES], in->v[IN_HEADROOM]);
	set_whole(doc, "kmin_guarantee_bytes", guarantee_bytes);
	set_bool(doc, "kmin_acts_before_pfc", in->v[IN_KMIN] > 0, b.kmin_below_pfc);
	set_bool(doc, "kmax_acts_before_pfc", in->v[IN_KMAX] > 0, b.kmax_below_pfc);
	if (in->v[IN_POOL] > in->v[IN_USED] && in->v[IN_ALPHA] > 0 && in->v[IN_INGRESS] >= 1)
		return 0;
	return err_set(e, -EINVAL,
		"the pool must be larger than --used, --alpha above 0 and --ingress at least 1");
}

static int calc_pause(const struct inputs *in, json_t *doc, struct err *e)
{
	if (!(in->v[IN_QUANTA] >= 1 && in->v[IN_QUANTA] <= 65535))
		return err_set(e, -EINVAL, "--quanta must be 1..65535");
	if (in->v[IN_FRAMES] < 0)
		return err_set(e, -EINVAL, "--frames must be at least 0");
	cmd_calc_set(doc, "quantum_ns", pause_time_ns((uint64_t)in->v[IN_SPEED], 1));
	cmd_calc_set(doc, "pause_per_frame_ns",
		pause_time_ns((uint64_t)in->v[IN_SPEED], (unsigned)in->v[IN_QUANTA]));
	cmd_calc_set(doc, "longest_per_frame_ns", pause_time_ns((uint64_t)in->v[IN_SPEED], 65535));
	/* A frame count gives only the upper bound of the pause time: an XON may end a pause early.
	 */
	cmd_calc_set(doc, "paused_at_most_ratio",
		isnan(in->v[IN_FRAMES])
			? NAN
			: pause_duty_bound((uint64_t)in->v[IN_SPEED], in->v[IN_FRAMES]));
	return 0;
}

static int calc_allreduce(const struct inputs *in, json_t *doc, struct err *e)
{
	if (in->v[IN_GPUS] < 2)
		return err_set(e, -EINVAL, "--gpus must be at least 2");
	const double link_bytes_s = in->v[IN_SPEED] / 8;
	const double ring = allreduce_ring_bytes(in->v[IN_GPUS], in->v[IN_SIZE]);
	set_whole(doc, "ring_bytes_per_gpu", ring);
	cmd_calc_set(doc, "ideal_time_s", cmd_calc_quotient(ring, link_bytes_s));
	const double seconds = in->v[IN_TIME] / 1e9;
	double bus = NAN;
	if (seconds > 0)
		bus = allreduce_bus_bytes_s(in->v[IN_GPUS], in->v[IN_SIZE], seconds);
	cmd_calc_set(doc, "algorithm_bytes_per_s", cmd_calc_quotient(in->v[IN_SIZE], seconds));
	cmd_calc_set(doc, "bus_bytes_per_s", bus);
	cmd_calc_set(doc, "bus_share_of_link_ratio", cmd_calc_quotient(bus, link_bytes_s));
	return 0;
}

static int calc_gradient(const struct inputs *in, json_t *doc, struct err *e)
{
	const double gpus = in->v[IN_GPUS];
	if (!(in->v[IN_PARAMETERS] > 0 && in->v[IN_BYTES] > 0))
		return err_set(e, -EINVAL, "--parameters and --bytes must be above 0");
	if (gpus != 0 && gpus < 2)
		return err_set(e, -EINVAL, "--gpus must be at least 2");
	const double bytes = gradient_bytes(in->v[IN_PARAMETERS], in->v[IN_BYTES]);
	double ring = NAN, pairs = NAN;
	if (gpus >= 2) {
		ring = allreduce_ring_bytes(gpus, bytes);
		pairs = gpus * (gpus - 1);
	}
	set_whole(doc, "gradient_bytes", bytes);
	set_whole(doc, "ring_bytes_per_gpu", ring);
	cmd_calc_set(doc, "ideal_time_s", cmd_calc_quotient(ring, in->v[IN_SPEED] / 8));
	set_whole(doc, "all_to_all_flows", pairs);
	return 0;
}

/* What a share of the arithmetic says of a job on current GPUs. */
static const char *mfu_verdict(double mfu)
{
	if (mfu >= 0.55)
		return "healthy";
	if (mfu >= 0.40)
		return "investigate";
	return "wrong";
}

static int calc_mfu(const struct inputs *in, json_t *doc, struct err *e)
{
	static const enum input divided[] = {IN_GPUS, IN_PARAMETERS, IN_TOKENS, IN_PEAK};
	for (size_t i = 0; i < rw_countof(divided); i++)
		if (!(in->v[divided[i]] > 0))
			return err_set(
				e, -EINVAL, "--%s must be above 0", options[divided[i]].name);
	const double mfu = mfu_ratio(
		in->v[IN_TOKENS], in->v[IN_PARAMETERS], in->v[IN_GPUS], in->v[IN_PEAK] * 1e12);
	if (mfu > 1)
		return err_set(e, -EINVAL,
			"%.0f %% of what the GPUs can do: --tokens, --gpus or --peak is wrong",
			100 * mfu);
	cmd_calc_set(doc, "tokens_per_gpu_s", in->v[IN_TOKENS] / in->v[IN_GPUS]);
	cmd_calc_set(doc, "mfu_ratio", mfu);
	json_object_set_new(doc, "verdict", json_string(mfu_verdict(mfu)));
	return 0;
}

/* What a share @crossing of the flows between leaves costs, into @doc under @name. */
static void placement_put(const struct inputs *in, const char *name, double crossing, json_t *doc)
{
	const double compute_s = in->v[IN_COMPUTE] / 1e9,
		     alone_s = allreduce_ring_bytes(in->v[IN_GPUS], in->v[IN_SIZE]) /
		(in->v[IN_SPEED] / 8);
	const double slowdown = placement_slowdown(crossing, in->v[IN_OVERSUBSCRIPTION]);
	const double seconds = alone_s * slowdown;
	json_t *o = json_object();
	cmd_calc_set(o, "crossing_ratio", crossing);
	cmd_calc_set(o, "slowdown_factor", slowdown);
	cmd_calc_set(o, "time_s", seconds);
	const double lost = 1 - cmd_calc_quotient(compute_s + alone_s, compute_s + seconds);
	cmd_calc_set(o, "lost_ratio", lost);
	cmd_calc_set(o, "usd_per_hour", in->v[IN_GPUS] * in->v[IN_PRICE] * lost);
	json_object_set_new(doc, name, o);
}

static int calc_placement(const struct inputs *in, json_t *doc, struct err *e)
{
	const double gpus = in->v[IN_GPUS], leaves = in->v[IN_LEAVES];
	if (gpus < 2)
		return err_set(e, -EINVAL, "--gpus must be at least 2");
	if (!(leaves >= 1 && leaves <= gpus))
		return err_set(e, -EINVAL, "--leaves must be from 1 to --gpus");
	if (!(in->v[IN_SPEED] > 0 && in->v[IN_OVERSUBSCRIPTION] > 0))
		return err_set(e, -EINVAL, "--speed and --oversubscription-ratio must be above 0");
	placement_put(in, "one_leaf", 0, doc);
	placement_put(in, "in_order", placement_in_order(gpus, leaves), doc);
	placement_put(in, "any_order", placement_any_order(gpus, leaves), doc);
	return 0;
}

static int calc_bottleneck(const struct inputs *in, json_t *doc, struct err *e)
{
	const double compute_ns = in->v[IN_COMPUTE], network_ns = in->v[IN_NETWORK];
	const double step_ns = compute_ns + network_ns;
	const char *verdict = "compute-bound";
	double training_s = NAN;
	if (compute_ns <= 0 || network_ns < 0)
		return err_set(e, -EINVAL, "--compute must be above 0");
	if (in->v[IN_STEPS] > 0)
		training_s = in->v[IN_STEPS] * step_ns / 1e9;
	if (network_ns > 10 * compute_ns)
		verdict = "severely network-bound";
	else if (network_ns > compute_ns)
		verdict = "network-bound";
	cmd_calc_set(doc, "step_s", step_ns / 1e9);
	cmd_calc_set(doc, "gpu_utilization_ratio", compute_ns / step_ns);
	cmd_calc_set(doc, "training_s", training_s);
	json_object_set_new(doc, "verdict", json_string(verdict));
	return 0;
}

static int calc_cost(const struct inputs *in, json_t *doc, struct err *e)
{
	if (in->v[IN_GPUS] <= 0 || !(in->v[IN_FRACTION] >= 0 && in->v[IN_FRACTION] <= 1))
		return err_set(e, -EINVAL, "--gpus must be above 0 and --fraction within 0..100%%");
	const double per_second = cost_usd(in->v[IN_GPUS], in->v[IN_PRICE], 1) * in->v[IN_FRACTION];
	cmd_calc_set(doc, "usd_per_second", per_second);
	cmd_calc_set(doc, "usd_per_minute", per_second * 60);
	cmd_calc_set(doc, "usd_per_hour", per_second * 3600);
	double total = NAN;
	if (in->v[IN_TIME] > 0)
		total = per_second * in->v[IN_TIME] / 1e9;
	cmd_calc_set(doc, "usd_total", total);
	return 0;
}

static int calc_sizing(const struct inputs *in, json_t *doc, struct err *e)
{
	struct sizing s;
	if (sizing_of(in->v[IN_SWITCHES], in->v[IN_PORTS], in->v[IN_INTERVAL] / 1e9, &s) < 0)
		return err_set(e, -EINVAL, "--switches, --ports and --interval must be above 0");
	set_whole(doc, "samples_per_s", s.samples_per_s);
	cmd_calc_set(doc, "polling_cores", s.polling_cores);
	cmd_calc_set(doc, "judging_cores", s.judging_cores);
	set_whole(doc, "memory_bytes", s.memory_bytes);
	set_whole(doc, "disk_values_bytes_per_day", s.disk_values_bytes_per_day);
	set_whole(doc, "disk_minutes_hours_bytes_per_day", s.disk_rollups_bytes_per_day);
	set_whole(doc, "traffic_per_switch_bps", s.traffic_per_switch_bps);
	return 0;
}

struct argument { /* an input of one calculator */
	enum input in;
	const char *otherwise; /* its default as text; NULL = the input is required */
};
struct calculator {
	const char *name, *summary, *help;
	struct example examples[2];
	struct argument args[16]; /* ends with IN_COUNT */
	int (*run)(const struct inputs *in, json_t *doc, struct err *e);
};
static const struct calculator calculators[] = {
	{"headroom", "bytes that a priority group must hold after XOFF",
		"It is what SONiC calls \"xoff\".",
		{{"calc headroom --speed 400G --cable 40m --cell 192B",
			 "prints the headroom of a port with its terms"},
			{"calc headroom --model generic --speed 100G --cable 300m --cell 254B",
				"computes it by physics alone"}},
		{{IN_MODEL, "spectrum"}, {IN_SPEED}, {IN_CABLE}, {IN_MTU, "9216B"},
			{IN_LOSSLESS_MTU, "1024B"}, {IN_CELL}, {IN_SMALL, "50%"}, {IN_SHP, ""},
			{IN_LANES, "4"}, {IN_GEARBOX, "0ns"}, {IN_MACSEC, "0ns"},
			{IN_AMPLIFICATION, "0"}, {IN_COUNT}},
		calc_headroom},
	{"ecn", "the queue depths between which Kmin acts before PFC",
		"The pool is one slice of the buffer, not the chip's.",
		{{"calc ecn --pool 64MB --alpha 1/8 --speed 400G",
			 "prints the highest Kmin that marks before PFC pauses"},
			{"calc ecn --pool 64MB --alpha 1 --speed 400G --kmin 1MB --kmax 4MB",
				"also judges these thresholds"}},
		{{IN_POOL}, {IN_ALPHA}, {IN_SPEED}, {IN_RTT, "10us"}, {IN_INGRESS, "2"},
			{IN_USED, "0B"}, {IN_LOSSLESS_MTU, "4200B"}, {IN_KMIN, "0B"},
			{IN_KMAX, "0B"}, {IN_PORTS, "0"}, {IN_PRIORITIES, "1"}, {IN_HEADROOM, "0B"},
			{IN_COUNT}},
		calc_ecn},
	{"pause", "how long a pause frame pauses", NULL,
		{{"calc pause --speed 400G", "prints the time of a frame"},
			{"calc pause --speed 400G --frames 1000 --format json",
				"bounds the paused share of a second with 1000 frames"}},
		{{IN_SPEED}, {IN_QUANTA, "65535"}, {IN_FRAMES, ""}, {IN_COUNT}}, calc_pause},
	{"allreduce", "bytes and bus bandwidth of an allreduce", NULL,
		{{"calc allreduce --gpus 256 --size 1GB --speed 400G",
			 "prints bytes per GPU and the ideal time"},
			{"calc allreduce --gpus 256 --size 1GB --speed 400G --time 50ms",
				"also prints the bus bandwidth that was reached"}},
		{{IN_GPUS}, {IN_SIZE}, {IN_SPEED, "0G"}, {IN_TIME, "0s"}, {IN_COUNT}},
		calc_allreduce},
	{"gradient", "what a model's gradient puts on the fabric in each step",
		"Flows: of an all-to-all of all GPUs.",
		{{"calc gradient --parameters 70B", "prints its size in bf16"},
			{"calc gradient --parameters 7B --bytes 4 --gpus 64 --speed 400G",
				"also prints bytes per GPU, the ideal time and the flows"}},
		{{IN_PARAMETERS}, {IN_BYTES, "2"}, {IN_GPUS, "0"}, {IN_SPEED, "0G"}, {IN_COUNT}},
		calc_gradient},
	{"mfu", "which share of the GPUs' arithmetic a training uses",
		"Dense models: 6 operations per parameter and token; of a mixture of experts give "
		"the active parameters. From 55 % on healthy, below 40 % wrong.",
		{{"calc mfu --parameters 70B --tokens 300K --gpus 256",
			 "prints the share on GPUs of 989 teraflops"},
			{"calc mfu --parameters 7B --tokens 700K --gpus 128 --peak 312",
				"computes it for GPUs of 312 teraflops"}},
		{{IN_PARAMETERS}, {IN_TOKENS}, {IN_GPUS}, {IN_PEAK, "989"}, {IN_COUNT}}, calc_mfu},
	{"placement", "what a job costs whose GPUs are spread over leaves",
		"A ring allreduce: on one leaf, with ranks in the order of the leaves, and in any "
		"order, which an all-to-all is like. Flows spread evenly over the uplinks.",
		{{"calc placement --gpus 64 --leaves 8 --size 14GB --speed 400G",
			 "prints what 2:1 uplinks do to it; --compute also prices the step"},
			{"calc placement --gpus 8 --leaves 1 --size 1GB --speed 400G",
				"prints the same for a job that one leaf holds"}},
		{{IN_GPUS}, {IN_LEAVES}, {IN_SIZE}, {IN_SPEED}, {IN_OVERSUBSCRIPTION, "2"},
			{IN_COMPUTE, "0s"}, {IN_PRICE, "30"}, {IN_COUNT}},
		calc_placement},
	{"bottleneck", "is a step bound by compute or by the network?", NULL,
		{{"calc bottleneck --compute 800ms --network 200ms", "prints the verdict"},
			{"calc bottleneck --compute 800ms --network 900ms --steps 100000",
				"also prints the time of a whole training"}},
		{{IN_COMPUTE}, {IN_NETWORK}, {IN_STEPS, "0"}, {IN_COUNT}}, calc_bottleneck},
	{"cost", "what waiting GPUs cost", NULL,
		{{"calc cost --gpus 256 --price 4", "prints the price of a second and an hour"},
			{"calc cost --gpus 256 --price 4 --fraction 21% --time 24h",
				"prices a day in which 21 % of the time is lost"}},
		{{IN_GPUS}, {IN_PRICE, "30"}, {IN_FRACTION, "100%"}, {IN_TIME, "0s"}, {IN_COUNT}},
		calc_cost},
	{"sizing", "what a fabric takes: CPU, memory, disk, traffic of a switch",
		"Polled over SNMP. The constants were measured (docs/sizing.md); null: not "
		"measured.",
		{{"calc sizing --switches 128", "prints what 128 switches of 64 ports take"},
			{"calc sizing --switches 64 --ports 32 --interval 30s",
				"computes it for a smaller fabric, polled less often"}},
		{{IN_SWITCHES}, {IN_PORTS, "64"}, {IN_INTERVAL, "10s"}, {IN_COUNT}}, calc_sizing},
};

/* read_count - a number, with K, M, B or T behind it for thousands to trillions. */
static int read_count(const char *text, double *ret, struct err *e)
{
	static const struct {
		char letter;
		double times;
	} suffixes[] = {{'K', 1e3}, {'M', 1e6}, {'B', 1e9}, {'T', 1e12}};
	rw_cleanup(freep) char *number = rw_strdup(text);
	const size_t n = strlen(number);
	double times = 1;
	for (size_t i = 0; n && i < rw_countof(suffixes); i++)
		if (text[n - 1] == suffixes[i].letter) {
			times = suffixes[i].times;
			number[n - 1] = '\0';
		}
	const int r = unit_double(number, ret, e);
	*ret *= times;
	return r;
}

static int read_input(enum input i, const char *text, struct inputs *in, struct err *e)
{
	uint64_t u = 0;
	int64_t n = 0;
	int r = 0;
	switch (families[i]) {
	case F_WORD: in->model = text; return 0;
	case F_FLAG: in->v[i] = 1; return 0;
	case F_SIZE:
		r = unit_size(text, &u, e);
		in->v[i] = (double)u;
		break;
	case F_BITRATE:
		r = unit_bitrate(text, &u, e);
		in->v[i] = (double)u;
		break;
	case F_LENGTH:
		r = unit_length(text, &u, e);
		in->v[i] = (double)u / 1e3;
		break;
	case F_DURATION:
		r = unit_duration(text, &n, e);
		in->v[i] = (double)n;
		break;
	case F_RATIO: r = unit_ratio(text, &in->v[i], e); break;
	case F_NUMBER: r = unit_double(text, &in->v[i], e); break;
	case F_COUNT: r = read_count(text, &in->v[i], e); break;
	}
	if (r < 0) {
		struct err inner = *e;
		return err_set(e, -EINVAL, "--%s: %s", options[i].name, inner.text);
	}
	return 0;
}

static void cmd_calc_print_text(
	FILE *out, const json_t *doc, const struct view *layout, bool color, bool header)
{
	const char *key;
	json_t *value;
	json_object_foreach ((json_t *)doc, key, value) {
		if (json_is_object(value)) {
			fprintf(out, "%s:\n", key);
			cmd_calc_print_text(out, value, layout, color, header);
		} else if (json_is_string(value)) {
			fprintf(out, "%-26s %s\n", key, json_string_value(value));
		} else if (json_is_boolean(value)) {
			const char *word = "no";
			if (json_is_true(value))
				word = "yes";
			fprintf(out, "%-26s %s\n", key, word);
		} else if (json_is_integer(value)) {
			fprintf(out, "%-26s %lld\n", key, (long long)json_integer_value(value));
		} else if (json_is_null(value)) {
			fprintf(out, "%-26s unknown\n", key);
		} else if (json_is_real(value)) {
			fprintf(out, "%-26s %.6g\n", key, json_real_value(value));
		}
	}
}

/* cmd_calc_add_rows - the document as rows, for csv, html and md: "terms.cable_bytes" and its
 * value.
 */
static void cmd_calc_add_rows(json_t *rows, const char *prefix, const json_t *doc)
{
	const char *key;
	json_t *value;
	json_object_foreach ((json_t *)doc, key, value) {
		char name[80];
		snprintf(name, sizeof(name), "%s%s%s", prefix, str_if(*prefix, "."), key);
		if (json_is_object(value))
			cmd_calc_add_rows(rows, name, value);
		else
			json_array_append_new(
				rows, json_pack("{s:s, s:O}", "name", name, "value", value));
	}
}

static const struct column columns[] = {
	{"name", "name", COL_TEXT, false}, {"value", "value", COL_NUMBER, true}};
static const struct view view = {
	.title = "calc",
	.rows = "rows",
	.columns = columns,
	.n_columns = rw_countof(columns),
	.text = cmd_calc_print_text,
	.empty = "nothing computed",
};

static int cmd_calc_print(const json_t *doc, const struct globals *globals)
{
	if (globals->format == FORMAT_TABLE || globals->format == FORMAT_JSON ||
		globals->format == FORMAT_JSONL) {
		struct view whole = view;
		whole.rows = NULL;
		return report_print(stdout, doc, &whole, globals->format, !globals->no_header,
			globals->color == COLOR_ALWAYS);
	}
	json_t *rows = json_array();
	cmd_calc_add_rows(rows, "", doc);
	json_t *table = json_pack("{s:o}", "rows", rows);
	int r = report_print(stdout, table, &view, globals->format, !globals->no_header,
		globals->color == COLOR_ALWAYS);
	json_decref(table);
	return r;
}

extern const struct command command_calc;

/* The calculator's inputs into @in. 0, or the exit code after a message. */
static int cmd_calc_read(
	const struct command_args *args, const struct calculator *calculator, struct inputs *in)
{
	struct err e = {0};
	for (const struct argument *argument = calculator->args; argument->in != IN_COUNT;
		argument++) {
		const char *given = command_opt(&command_calc, args, options[argument->in].name);
		const char *text = str_or(given, argument->otherwise);
		if (!text)
			return usage_error(&command_calc, "missing --%s %s (%s)",
				options[argument->in].name, options[argument->in].arg,
				options[argument->in].doc);
		const bool is_off = !given && !*text; /* a flag, or what may be unknown */
		if (is_off && families[argument->in] != F_FLAG)
			in->v[argument->in] = NAN;
		if (!is_off && read_input(argument->in, text, in, &e) < 0)
			return usage_error(&command_calc, "%s", e.text);
	}
	return 0;
}

static int cmd_calc_run(struct command_args *args)
{
	const struct calculator *calculator = calculators;
	struct inputs in = {0};
	struct err e = {0};
	while (!str_eq(calculator->name, args->sub->name))
		calculator++;
	const int refused = cmd_calc_read(args, calculator, &in);
	if (refused)
		return refused;
	json_t *doc = json_object();
	int exit_code = EXIT_OK;
	if (calculator->run(&in, doc, &e) < 0)
		exit_code = usage_error(&command_calc, "%s", e.text);
	else if (cmd_calc_print(doc, args->g) < 0)
		exit_code = EXIT_FAILED;
	json_decref(doc);
	return exit_code;
}

/* Texts of the rows, made once from the inputs: which options, and their defaults. */
static struct calc_row {
	char options[256], help[640];
} calc_rows[rw_countof(calculators)];

static void calc_row_make(const struct calculator *calculator, struct calc_row *row)
{
	rw_cleanup(str_done) struct str names = {0};
	rw_cleanup(str_done) struct str needs = {0};
	rw_cleanup(str_done) struct str defaults = {0};
	for (const struct argument *a = calculator->args; a->in != IN_COUNT; a++) {
		const char *name = options[a->in].name;
		str_addf(&names, "%s%s", str_if(names.n, " "), name);
		if (!a->otherwise)
			str_addf(&needs, "%s--%s", str_if(needs.n, ", "), name);
		else if (*a->otherwise && strtod(a->otherwise, NULL) != 0)
			str_addf(&defaults, "%s--%s %s", str_if(defaults.n, ", "), name,
				a->otherwise);
	}
	snprintf(row->options, sizeof(row->options), "%s", names.s);
	snprintf(row->help, sizeof(row->help), "%s%sRequired: %s.%s%s%s",
		str_or(calculator->help, ""), str_if(calculator->help, "\n\n"), needs.s,
		str_if(defaults.n, "\nDefaults: "), str_or(defaults.s, ""),
		str_if(defaults.n, "."));
}

static bool cmd_calc_sub(size_t i, struct subcommand *ret)
{
	if (i >= rw_countof(calculators))
		return false;
	if (!*calc_rows[i].options)
		calc_row_make(&calculators[i], &calc_rows[i]);
	*ret = (struct subcommand){.name = calculators[i].name,
		.summary = calculators[i].summary,
		.help = calc_rows[i].help,
		.options = calc_rows[i].options,
		.formats = WRITES_ALL,
		.examples = {calculators[i].examples[0], calculators[i].examples[1]},
		.run = cmd_calc_run};
	return true;
}

const struct command command_calc = {
	.name = "calc",
	.summary = "formulas: headroom, ECN, pause, collectives, cost, sizing",
	.help = "docs/formulas.md derives them. Every result has its unit.",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.sub_at = cmd_calc_sub,
	.sub_kind = "calculator",
};

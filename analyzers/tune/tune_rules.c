/* tune_rules - the decision table, and how a row is found. What the signs are made of:
 * tune_signs.c; what is mended first: tune_fault.c. */
#include "analyzers/tune/tune_rules.h"

/* ---- tune_words ------------------------------------------------------------ */

/* tune_words - numbers of tuning as the sentences of a sheet say them. */

const char *tune_size_text(struct arena *a, double bytes)
{
	return arena_strdup(a, number_size(bytes).s);
}

const char *tune_percent(struct arena *a, double ratio)
{
	return arena_printf(a, "%.3g %%", 100 * ratio);
}

const char *tune_value_text(struct arena *a, enum tune_knob knob, double value)
{
	if (isnan(value))
		return "unknown";
	if (str_eq(tune_knob_unit(knob), "bytes"))
		return tune_size_text(a, value);
	if (knob == KNOB_PMAX)
		return arena_printf(a, "%.3g %%", 100 * value);
	if (knob == KNOB_ALPHA && value > 0 && value < 1)
		return arena_printf(a, "1/%.3g", 1 / value);
	return arena_printf(a, "%.3g", value);
}

const char *tune_neighbour(const struct tune_prio *prio)
{
	if (prio->port->host)
		return prio->port->host;
	if (prio->port->peer)
		return prio->port->peer->device->name;
	return "its neighbour";
}

const char *tune_pause_text(struct arena *a, const struct tune_site *site)
{
	const struct tune_prio *l = site->paused;
	if (!l)
		return arena_printf(a, "%s paused nobody", site->device->device->name);
	return arena_printf(a, "%s paused %s %s%s of busy time at %s (priority %d)",
		site->device->device->name, tune_neighbour(l),
		str_if(!l->pause_measured, "at most "), tune_percent(a, l->tx_pause_busy),
		l->port->name, site->priority);
}

#define READ_OR_DECLARED "read back by a collector, or declared under `thresholds:`"

const char *tune_need_how(enum tune_need need, const struct tune_platform *platform)
{
	if (platform && platform->profile)
		return platform->profile->collect[need];
	return NULL;
}

const char *tune_need_text(
	struct arena *a, enum tune_need need, const struct tune_platform *platform)
{
	static const char *const texts[TUNE_NEEDS] = {
		[NEED_HEADROOM] = "headroom in force: " READ_OR_DECLARED,
		[NEED_XON] = "XON in force: " READ_OR_DECLARED " (xon_level, xon_offset)",
		[NEED_ALPHA] = "dynamic threshold (alpha) in force: " READ_OR_DECLARED,
		[NEED_ECN] = "Kmin, Kmax and Pmax in force: " READ_OR_DECLARED,
		[NEED_POOL] = "size of the shared pool and its slices: " READ_OR_DECLARED " (pool)",
		[NEED_MARKS] = "ECN marks per queue: queue.ecn_marked, read by a collector",
		[NEED_WATERMARKS] = "queue watermarks: queue.watermark_bytes, read by a collector",
		[NEED_PAUSE] = "pause time per priority at the ports to hosts: pfc.tx_pause_ns; "
			       "pfc.tx_frames gives only an upper bound",
		[NEED_CABLE] = "set the true cable length on the port, or correct `cable:` of the "
			       "link in the configuration",
		[NEED_SHARED_HEADROOM] = "raise the size of the shared headroom pool, or lower its "
					 "over-subscription ratio",
	};
	const char *how = tune_need_how(need, platform);
	if (how)
		return arena_printf(a, "%s (here: %s)", texts[need], how);
	return texts[need];
}

/* ---- tune_rules ------------------------------------------------------------ */

#define NO_LESS "do not touch headroom; do not put Kmin below one bandwidth-delay product"

/*
 * In the order in which knobs may be turned: loss first, then late ECN, XON where the settings
 * prove it, true incast, early ECN, headroom that nobody uses. Rows without a family name what to
 * mend, or what to watch; a row without a cause ends the search: there is nothing to advise.
 */
const struct tune_rule tune_rules[] = {
	/* 1: headroom too small; 8: loss that headroom cannot explain */
	{1, CAUSE_HEADROOM_SMALL, T_LOST | T_FULL, 0, 0, FAMILY_HEADROOM, 0.9, true,
		"frames of the priority were lost although we sent pause, and the headroom was "
		"used up",
		"do not lower alpha or Kmin first",
		"takes room from the shared pool of the switch"},
	{1, CAUSE_POOL_EXHAUSTED, T_LOST | T_POOL_FULL | T_GREEDY, 0, 0, FAMILY_HEADROOM, 0.8, true,
		"frames of the priority were lost while the shared pool was full, and alpha above "
		"1 lets one port take most of it",
		"do not raise headroom alone: it comes from the pool that is full",
		"queues are held shorter, and hosts are paused sooner"},
	{1, CAUSE_POOL_EXHAUSTED, T_LOST | T_POOL_FULL, 0, 0, FAMILY_NONE, 0.75, true,
		"frames of the priority were lost while the shared pool was full",
		"do not raise headroom: it comes from the pool that is full", NULL},
	{8, CAUSE_LOSSLESS_LOSS, T_LOST, T_FULL, 0, FAMILY_NONE, 0.6, true,
		"frames of the priority were lost while its headroom was not full",
		"no threshold change: headroom is not what is short", NULL},
	{1, CAUSE_HEADROOM_SMALL, T_LOST, 0, T_POOL_FULL, FAMILY_HEADROOM, 0.75, true,
		"frames of the priority were lost although we sent pause; use of headroom is not "
		"told",
		"do not lower alpha or Kmin first",
		"takes room from the shared pool of the switch"},
	{1, CAUSE_HEADROOM_SMALL, T_FULL, 0, 0, FAMILY_HEADROOM, 0.7, true,
		"headroom was used by 90 % or more", "do not lower alpha or Kmin first",
		"takes room from the shared pool of the switch"},

	/* 3: ECN after PFC */
	{3, CAUSE_ECN_LATE, T_HOSTS_PAUSED | T_PAUSES | T_NO_MARKS | T_LATE, 0,
		T_FROM_HOST | T_PASSED_ON, FAMILY_ALPHA_THEN_ECN, 0.85, true,
		"hosts are paused, next to nothing is marked meanwhile, and the settings put Kmin "
		"above half of the depth at which PFC fires",
		NO_LESS,
		"marking sooner costs throughput where the bandwidth-delay product is larger than "
		"assumed"},
	{3, CAUSE_ECN_LATE, T_HOSTS_PAUSED | T_PAUSES | T_LATE, 0,
		T_FROM_HOST | T_PASSED_ON | T_MANY_MARKS, FAMILY_ALPHA_THEN_ECN, 0.65, true,
		"hosts are paused, and the settings put Kmin above half of the depth at which PFC "
		"fires",
		NO_LESS,
		"marking sooner costs throughput where the bandwidth-delay product is larger than "
		"assumed"},

	{3, CAUSE_ECN_LATE, T_HOSTS_PAUSED | T_PAUSES | T_FLAT, 0,
		T_FROM_HOST | T_PASSED_ON | T_MANY_MARKS, FAMILY_ALPHA_THEN_ECN, 0.65, true,
		"hosts are paused, few packets are marked, and the settings put Kmax above the "
		"depth at which PFC fires: marking is too thin before it",
		NO_LESS, "more marks cost throughput where senders recover slowly"},

	/* 11: XON too close to XOFF, where the settings say so too */
	{11, CAUSE_XON_CLOSE, T_PAUSES | T_SHORT | T_CLOSE, 0, T_FROM_HOST | T_LOST, FAMILY_XON,
		0.6, true,
		"pauses end within two round trips of the link, and XON lies less than two frames "
		"below XOFF",
		"no change of headroom or of XOFF", "pauses become fewer and longer"},

	{3, CAUSE_UNKNOWN, T_HOSTS_PAUSED | T_PAUSES | T_NO_MARKS, T_LATE,
		T_FROM_HOST | T_PASSED_ON | T_MANY_MARKS, FAMILY_NONE, 0.3, false,
		"hosts are paused without marks, although the settings should mark first",
		"no threshold change before it is known whether marking works", NULL},
	{3, CAUSE_ECN_LATE, T_HOSTS_PAUSED | T_PAUSES | T_NO_MARKS, 0,
		T_FROM_HOST | T_PASSED_ON | T_MANY_MARKS, FAMILY_NONE, 0.4, false,
		"hosts are paused and next to nothing is marked meanwhile; the settings are not "
		"known",
		"no threshold change without the values that are in force", NULL},

	/* 4: true incast; 9: the queue leads to another switch, more marking would not add a path
	 */
	{4, CAUSE_INCAST, T_HOSTS_PAUSED | T_PAUSES | T_MANY_MARKS | T_TO_HOST, 0,
		T_FROM_HOST | T_PASSED_ON, FAMILY_ALPHA_THEN_ECN, 0.65, true,
		"hosts are paused and one receiver's queue marks more than 5 % of what it sends: "
		"senders react, too slowly",
		"no headroom change",
		"more buffer per queue means deeper queues: latency of what shares them grows"},
	/* 2: headroom that nobody uses, while the pool is short */
	{2, CAUSE_HEADROOM_LARGE, T_HOSTS_PAUSED | T_IDLE_ROOM, 0, T_FROM_HOST | T_LOST | T_FULL,
		FAMILY_LESS_HEADROOM, 0.45, true,
		"for a week no headroom was used by more than a quarter, while the shared pool "
		"makes us pause hosts",
		"never below the calculated or the vendor's value",
		"headroom that is too small loses frames: a person has to look at this one"},

	/* 4 with fewer marks: the table asks for 5 % of a whole window, which holds more than the
	   burst */
	{4, CAUSE_INCAST, T_HOSTS_PAUSED | T_PAUSES | T_TO_HOST, T_NO_MARKS | T_LATE | T_FLAT,
		T_FROM_HOST | T_PASSED_ON, FAMILY_ALPHA_THEN_ECN, 0.5, true,
		"hosts are paused for one receiver's queue, which marks in time by its settings: "
		"senders react, too slowly",
		"no headroom change",
		"more buffer per queue means deeper queues: latency of what shares them grows"},
	{9, CAUSE_UPLINK_OVERLOAD, T_HOSTS_PAUSED | T_PAUSES | T_MANY_MARKS, T_TO_HOST,
		T_FROM_HOST | T_PASSED_ON, FAMILY_NONE, 0.5, true,
		"hosts are paused and a queue towards another switch marks more than 5 % of what "
		"it sends",
		"no threshold change: it adds no path", NULL},

	/* 11, 5: without the settings that would prove it */
	{11, CAUSE_XON_CLOSE, T_PAUSES | T_SHORT, 0, T_FROM_HOST, FAMILY_NONE, 0.35, false,
		"pauses end within two round trips of the link; XON is not known",
		"no threshold change without the values that are in force", NULL},

	/* 5: ECN before need */
	{5, CAUSE_ECN_EARLY, T_MANY_MARKS | T_EARLY | T_LINKS_PAUSED, T_HOSTS_PAUSED, T_FROM_HOST,
		FAMILY_NONE, 0.4, false,
		"a queue marks more than 5 % and Kmin lies below one bandwidth-delay product, but "
		"links between switches are paused: queues stand as deep as PFC lets them, and "
		"later marks let more of them",
		"not when any pause is seen", NULL},
	{5, CAUSE_ECN_EARLY, T_MANY_MARKS | T_EARLY | T_INCIDENT, T_HOSTS_PAUSED, T_FROM_HOST,
		FAMILY_ECN_UP, 0.75, true,
		"queues mark more than 5 % while nobody is paused, Kmin lies below one "
		"bandwidth-delay product, and an incident says so",
		"not when any pause is seen", "marking later lets queues grow: PFC comes nearer"},
	{5, CAUSE_ECN_EARLY, T_MANY_MARKS | T_WIDESPREAD | T_EARLY, T_HOSTS_PAUSED, T_FROM_HOST,
		FAMILY_ECN_UP, 0.65, true,
		"most busy queues mark more than 5 % while nobody is paused, and Kmin lies below "
		"one bandwidth-delay product",
		"not when any pause is seen", "marking later lets queues grow: PFC comes nearer"},
	{5, CAUSE_ECN_EARLY, T_MANY_MARKS | T_FAR_EARLY, T_HOSTS_PAUSED, T_FROM_HOST, FAMILY_ECN_UP,
		0.6, true,
		"a queue marks more than 5 % while nobody is paused, and Kmin lies below a quarter "
		"of one bandwidth-delay product",
		"not when any pause is seen", "marking later lets queues grow: PFC comes nearer"},
	{5, CAUSE_ECN_EARLY, T_MANY_MARKS | T_EARLY, T_HOSTS_PAUSED | T_PAUSES | T_PASSED_ON,
		T_FROM_HOST, FAMILY_ECN_UP, 0.5, true,
		"a queue marks more than 5 % while no switch pauses or is paused, and Kmin lies "
		"below one bandwidth-delay product",
		"not when any pause is seen", "marking later lets queues grow: PFC comes nearer"},
	{5, CAUSE_NONE, T_MANY_MARKS | T_WIDESPREAD, T_HOSTS_PAUSED | T_EARLY, 0, FAMILY_NONE, 0,
		true, "queues mark, nobody is paused, Kmin is where it should be", NULL, NULL},
	{5, CAUSE_ECN_EARLY, T_MANY_MARKS | T_WIDESPREAD, T_HOSTS_PAUSED, T_FROM_HOST, FAMILY_NONE,
		0.3, false,
		"most busy queues mark more than 5 % while nobody is paused; Kmin is not known",
		"no threshold change without the values that are in force", NULL},

	{0, CAUSE_UNKNOWN, T_HOSTS_PAUSED | T_PAUSES, 0, T_FROM_HOST | T_PASSED_ON, FAMILY_NONE,
		0.3, false, "hosts are paused, and what is known does not tell why",
		"no threshold change without a diagnosis", NULL},
};
const size_t tune_n_rules = rw_countof(tune_rules);

#define DCQCN "DCQCN (Zhu et al., SIGCOMM 2015), section 4"
#define THRESHOLDS "Dynamic queue length thresholds (Choudhury and Hahne, 1998)"
#define COMMODITY "RDMA over commodity Ethernet at scale (Guo et al., SIGCOMM 2016)"
#define META "RDMA over Ethernet for distributed AI training at Meta scale (SIGCOMM 2024)"
#define OURS "our own; no publication"
#define ROW(n, about, source) [n] = {about, source, "docs/tuning.md, row " #n "; " source}

static const struct tune_row rows[TUNE_ROWS] = {
	ROW(0, "pause that no other row explains", OURS),
	ROW(1, "headroom too small",
		"IEEE 802.3, 31B.3.7; SONiC, doc/qos/dynamically-headroom-calculation.md"),
	ROW(2, "headroom larger than needed", OURS),
	ROW(3, "ECN marks after PFC fires", DCQCN "; " THRESHOLDS),
	ROW(4, "incast that DCQCN answers too slowly", THRESHOLDS "; " DCQCN),
	ROW(5, "ECN marks before it is needed",
		"DCTCP (Alizadeh et al., SIGCOMM 2010), marking threshold"),
	ROW(6, "a host does not take what it is sent", COMMODITY),
	ROW(7, "a host does not slow down", DCQCN),
	ROW(8, "damaged links, and loss that headroom cannot explain", OURS),
	ROW(9, "uneven or missing paths", META),
	ROW(10, "PFC deadlock", COMMODITY),
	ROW(11, "XON too close to XOFF", DCQCN),
	ROW(12, "mixed or wrong settings", OURS),
	ROW(13, "CNPs wait or are lost", DCQCN),
};

const struct tune_row *tune_row(int row)
{
	if (row < 0 || row >= TUNE_ROWS)
		row = 0;
	return &rows[row];
}

const char *tune_sign_name(uint32_t sign)
{
	static const struct {
		uint32_t sign;
		const char *name;
	} names[] = {
		{T_HOSTS_PAUSED, "hosts paused"},
		{T_PAUSES, "this switch pauses"},
		{T_PASSED_ON, "pause passed on"},
		{T_NO_MARKS, "no marks"},
		{T_MANY_MARKS, "many marks"},
		{T_WIDESPREAD, "most queues mark"},
		{T_TO_HOST, "towards a host"},
		{T_LATE, "Kmin late"},
		{T_PFC_FIRST, "Kmin above q_PFC"},
		{T_EARLY, "Kmin below 1 BDP"},
		{T_LOST, "lossless loss"},
		{T_FULL, "headroom full"},
		{T_POOL_FULL, "pool full"},
		{T_SHORT, "short pauses"},
		{T_CLOSE, "XON close"},
		{T_IDLE_ROOM, "headroom idle"},
		{T_FROM_HOST, "a host pauses us"},
		{T_INCIDENT, "an incident says so"},
		{T_FLAT, "Kmax above q_PFC"},
		{T_FAR_EARLY, "Kmin below 1/4 BDP"},
		{T_GREEDY, "alpha above 1"},
		{T_LINKS_PAUSED, "links paused"},
	};
	for (size_t i = 0; i < rw_countof(names); i++)
		if (names[i].sign == sign)
			return names[i].name;
	return NULL;
}

const char *tune_family_name(enum tune_family family)
{
	static const char *const names[] = {
		[FAMILY_NONE] = "-",
		[FAMILY_HEADROOM] = "headroom up",
		[FAMILY_LESS_HEADROOM] = "headroom down",
		[FAMILY_ALPHA_THEN_ECN] = "alpha up, then Kmin and Kmax down",
		[FAMILY_ECN_UP] = "Kmin and Kmax up",
		[FAMILY_XON] = "XON down",
	};
	return names[family];
}

static struct tune_signs with_incident(const struct tune_signs *signs, const struct tune_rule *rule)
{
	struct tune_signs t = *signs;
	bool told = false;
	for (size_t i = 0; rule->cause && i < signs->n_named; i++)
		told = told || signs->named[i] == rule->cause;
	tune_sign_set(&t, T_INCIDENT, told);
	return t;
}

static bool turns_ecn(const struct tune_rule *rule)
{
	return rule->family == FAMILY_ALPHA_THEN_ECN || rule->family == FAMILY_ECN_UP;
}

const struct tune_rule *tune_rule_match(const struct tune_signs *signs)
{
	for (size_t i = 0; i < tune_n_rules; i++) {
		const struct tune_rule *r = &tune_rules[i];
		if (signs->without_ecn && turns_ecn(r))
			continue;
		const struct tune_signs t = with_incident(signs, r);
		if ((t.yes & r->yes) == r->yes && (t.known & ~t.yes & r->no) == r->no &&
			!(t.yes & r->not_yes)) {
			if (r->cause)
				return r;
			return NULL;
		}
	}
	return NULL;
}

/* ---- lanes and ports ----------------------------------------------------- */

const struct tune_prio *tune_next_prio(const struct tune_site *site, const struct tune_prio *prio)
{
	const struct tune_prio *end = site->device->prios + site->device->n_prios;
	for (prio = prio ? prio + 1 : site->device->prios; prio < end; prio++)
		if (prio->priority == site->priority)
			return prio;
	return NULL;
}

const struct tune_port *tune_port_at(
	const struct tune_device *device, const struct fabric_port *port)
{
	for (size_t i = 0; i < device->n_ports; i++)
		if (device->ports[i].port == port)
			return &device->ports[i];
	return NULL;
}

const struct tune_platform *tune_platform_of(
	const struct tune_in *in, const struct tune_device *device)
{
	if (in->platforms)
		return &in->platforms[device->device->index];
	return NULL;
}

bool tune_is_storage(const struct fabric *fabric, const struct tune_prio *prio)
{
	return prio && prio->port->host && fabric_outside_jobs(fabric, prio->port->host);
}

const struct tune_prio *tune_storage_of(
	const struct tune_case *tune_case, const struct tune_site *site)
{
	for (size_t i = 0; i < tune_case->n_sites; i++) {
		const struct tune_site *other = &tune_case->sites[i];
		if (other->priority == site->priority && other->tree == site->tree &&
			(other->signs.yes & T_PAUSES) &&
			tune_is_storage(tune_case->in->fabric, other->hot))
			return other->hot;
	}
	return NULL;
}

double tune_speed(const struct tune_device *device, const struct fabric_port *port)
{
	const struct tune_port *p = tune_port_at(device, port);
	if (port->speed_bps)
		return (double)port->speed_bps;
	if (p && p->speed_bps > 0)
		return p->speed_bps;
	return NAN;
}

bool tune_has_mixed_speeds(const struct tune_device *device)
{
	double first = NAN;
	for (size_t i = 0; i < device->n_prios; i++) {
		const struct fabric_port *port = device->prios[i].port;
		const double speed = tune_speed(device, port);
		if (!port->host || isnan(speed))
			continue;
		if (isnan(first))
			first = speed;
		if (speed != first)
			return true;
	}
	return false;
}

unsigned tune_recent(const struct tune_prio *prio, uint8_t bits)
{
	return (unsigned)__builtin_popcount(
		bits & ((1u << (prio->recent < TUNE_OF ? prio->recent : TUNE_OF)) - 1));
}

bool tune_same_link(const struct tune_device *left, const struct fabric_port *left_port,
	const struct tune_device *right, const struct fabric_port *right_port)
{
	return !left_port->host == !right_port->host &&
		left_port->cable_mm == right_port->cable_mm &&
		tune_speed(left, left_port) == tune_speed(right, right_port);
}

/*
 * scenario - a fabric, its load and what goes wrong, read from YAML. Numbers carry their unit;
 * "a..b" draws one from the range, "a|b|c" one of these by the seed; the same seed draws the same
 * in every run. Keys are the rows of the table in scenario.c.
 */
#ifndef FABRIC_SCENARIO_H
#define FABRIC_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum pattern {
	PATTERN_RING,
	PATTERN_ALL_TO_ALL,
	PATTERN_INCAST,
	PATTERN_RING_SHUFFLE,
	PATTERN_GATHER
};
enum fault_kind {
	FAULT_HASH_STUCK,
	FAULT_HASH_FIELDS,
	FAULT_LOW_ENTROPY,
	FAULT_LINK_DOWN,
	FAULT_LINK_SPEED,
	FAULT_LINK_LOSS,
	FAULT_HOST_SPEED,
	FAULT_NIC_STALL,
	FAULT_NIC_HUNG,
	FAULT_CC_OFF,
	FAULT_INCAST,
	FAULT_ECN_LATE,
	FAULT_ECN_OFF,
	FAULT_HEADROOM,
	FAULT_PFC_DEAF,
	FAULT_SILENT_HOST,
	FAULT_LINK_FLAP,
	FAULT_DSCP_MAP,
	FAULT_CONFIG_CHANGE,
	FAULT_DRAIN,
	FAULT_REBOOT,
	FAULT_SAME_HASH,
	FAULT_LAG_SKEW,
	FAULT_REMOTE_CAPACITY,
	FAULT_MISSING_ROUTE,
	FAULT_BOUNCE,
	FAULT_XON_CLOSE,
	FAULT_PFC_WRONG,
	FAULT_WRONG_CLASS,
	FAULT_INCAST_SECOND,
	FAULT_CLASS_LEAK,
	/* these happen to the telemetry or to the job, not to packets */
	FAULT_COUNTER_RESET,
	FAULT_TELEMETRY_GAP,
	FAULT_SLOW_COMPUTE,
	FAULT_SLOW_STORAGE,
	FAULT_JOB_IDLE,
	FAULT_OPTIC_DEGRADING,
	FAULT_MTU,
	FAULT_KINDS
};

struct fault {
	enum fault_kind kind;
	/* 1-based; 0 = every one; drawn where not given: see fault_rows in scenario.c */
	double leaf, spine, link, host;
	double share, loss_ratio, speed_bps, factor, size_bytes, length_ns;
};
enum { FAULTS_MAX = 4, SCENARIO_TEXT = 200, ACCEPT_MAX = 6, SETTINGS_MAX = 128 };

/* A threshold that a switch has for itself, whatever the others have and the fault made of it: set
 * while a lab runs or records, in no file. */
enum knob { KNOB_KMIN, KNOB_KMAX, KNOB_PMAX, KNOB_ALPHA, KNOB_HEADROOM, KNOB_XON_OFFSET };
enum port_side { OF_ALL_PORTS, OF_HOST_PORTS, OF_UPLINKS };
struct override {
	enum knob knob;
	enum port_side ports;
	size_t device; /* leaves, then spines */
	double value;
};

struct scenario {
	/* cause "none": nothing is wrong */
	char name[64], title[SCENARIO_TEXT], cause[32], severity[16];
	char accept[ACCEPT_MAX][32]; /* causes that are right as well */
	size_t n_accept;
	/* what a detector should name: uplinks, uplink, host, device, none */
	char subject[16];
	bool fault_in_network;
	/* fabric */
	double leaves, spines, hosts_per_leaf, parallel, planes, host_bps, uplink_bps,
		host_cable_mm, uplink_cable_mm;
	/* headroom_bytes 0: by the factor */
	double pool_bytes, alpha, kmin_bytes, kmax_bytes, pmax, headroom_factor, xon_offset_bytes,
		headroom_bytes;
	double second_priority; /* of a second class, -1: none; */
	bool second_lossless; /* with PFC and marks as the first */
	bool lag; /* parallel links are a LAG */
	double watchdog_ns; /* PFC watchdog of the switches, 0: none */
	/* load */
	enum pattern pattern;
	double qps, group, warm, slice_bytes, compute_ns, exchange_ns, step_ns, excess_ns, slowdown,
		jitter, drift;
	/* queue pairs are at line rate unless they are told to slow down when all start there; else
	 * all start at warm */
	bool settled;
	bool spray_random; /* of packets that are sprayed */
	double flowlet_ns; /* silence after which a flow takes another path, 0: never */
	bool even, spray, pfc_only; /* pfc_only: nobody marks and nobody slows down, by policy */
	double second_share; /* of queue pairs, in the second class */
	/* how much more or less than others a host is sent in a step, as experts are */
	double skew;
	double storage_hosts; /* the last ones of the last leaf: they do not compute */
	/* of a slice, written and read by each host beside the exchange */
	double storage_share, storage_reads;
	bool storage_lossless; /* in the class of the job; else in the second one */
	/* a second job has the neighbours of the first one's hosts, and a rhythm of its own */
	double jobs, other_compute_ns, other_exchange_ns;
	unsigned job; /* 0, 1: whose traffic this is; set by coarse_new() */
	/* that meet where several meet already, beyond what the file says: a load that no threshold
	 * was chosen for */
	double more_senders;
	double gpus, usd_per_gpu_hour;
	double checkpoint_every_ns, checkpoint_ns;
	/* when */
	double at_ns, for_ns, length_ns;
	/* the fault comes back this often, for for_ns each time; 0: it comes once */
	double every_ns;
	/* packets: a capture is written when asked for, or always when capture_bytes is given */
	double capture_bytes; /* of all captures together: the sampling follows from it */
	struct fault faults[FAULTS_MAX];
	size_t n_faults;
	struct override settings[SETTINGS_MAX];
	size_t n_settings;
	uint64_t seed, perturb;
	/* where measured exchanges are kept (measure_cache.h); borrowed; NULL: nowhere */
	const char *cache_dir;
};

/* scenario_read - 0, or -EINVAL with the place of the first mistake in @e. */
int scenario_read(const char *path, uint64_t seed, struct scenario *ret, struct err *e);

/*
 * scenario_perturb - another fabric of the same kind, drawn by @n > 0: another hash function, other
 * DCQCN timers, buffers, thresholds, cables and times 30 % up or down. Labels stay.
 */
void scenario_perturb(struct scenario *s, uint64_t n);

const char *fault_name(enum fault_kind kind);

/* balancing_name - how its switches choose among links, as the configuration says it. */
const char *balancing_name(const struct scenario *s);

#endif

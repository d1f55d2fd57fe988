/*
 * fabric - the immutable graph: devices, ports, links, ECMP groups, jobs, intent. Built once per
 * configuration, in its arena; shared read-only by everyone until the configuration is dropped.
 */
#pragma once

#include "base/base.h"

#include "config/neighbor_kind.h"

struct yaml_node;

enum device_role { ROLE_LEAF, ROLE_SPINE, ROLE_SUPERSPINE, ROLE_OTHER };
const char *device_role_name(enum device_role role);

/* What slows senders down: policy.congestion. What each word says of a class is a row of
 * class_policy.c. */
enum congestion_policy {
	CC_DCQCN,
	CC_PFC_ONLY,
	CC_ECN_ONLY,
	CC_RTT,
	CC_RECEIVER_DRIVEN,
	CC_UET, /* Ultra Ethernet transport */
	CC_MRC, /* multipath reliable connections: trimming, sprayed by the sender, no PFC */
	CC_CREDIT, /* credits on the link (CBFC) instead of pause */
	CC_COUNT
};
/* Who chooses among equal paths: policy.load_balancing. */
enum lb_policy {
	LB_STATIC,
	LB_FLOWLET,
	LB_PACKET,
	LB_ADAPTIVE,
	LB_PINNED,
	LB_SOURCE_ROUTED, /* the sender writes the path into each packet */
	LB_COUNT
};
/* What keeps a class from losing packets, and how its queues mark: as declared in policy.classes,
 * or as the word of its congestion policy says. */
enum class_lossless { LOSSLESS_UNSAID, LOSSLESS_PFC, LOSSLESS_CREDIT, LOSSLESS_NONE };
enum class_ecn { ECN_UNSAID, ECN_ABSOLUTE, ECN_RELATIVE, ECN_OFF };
const char *congestion_policy_name(enum congestion_policy policy);
const char *lb_policy_name(enum lb_policy policy);

struct fabric_port {
	const char *name; /* native name */
	struct fabric_device *device;
	const char *alias; /* "" unknown */
	/* the other end; exactly one of peer, host and outsider is set on a linked port */
	struct fabric_port *peer;
	const char *host, *host_nic; /* host:NAME[:NIC]; nic "" */
	/* the same of "switch:NAME[:PORT]" and "unknown:NAME[:PORT]": no configured device, and not
	 * known to be a host. Such a port has neither peer nor host. */
	const char *outsider, *outsider_port;
	enum neighbor_kind outsider_kind;
	uint64_t speed_bps; /* declared; 0 = read from the device */
	uint64_t cable_mm; /* 0 = unknown */
	const char *lag; /* LAG this port is a member of, or NULL */
	const char *rail; /* plane, or NULL */
	bool discovered; /* the link was reported by LLDP, not declared */
	uint32_t index; /* dense over all ports of the fabric, device by device */
};

struct fabric_group { /* an ECMP group: ports that a switch may choose between, docs/topology.md */
	/* "uplinks", "to:spine1", "lag:po1"; with rails "uplinks@rail0" */
	const char *id;
	struct fabric_device *device;
	/*
	 * In natural order. A LAG is one member, represented by its first port (natural order); its
	 * other ports are those of the device with the same .lag. Only in the group "lag:<name>"
	 * itself each port stands for itself.
	 */
	struct fabric_port **members;
	size_t n_members;
	bool given; /* from the configuration, not derived from the graph */
	enum lb_policy lb;
	bool lb_own; /* .lb is declared for this group, whatever its device does */
};

struct fabric_device {
	const char *name;
	enum device_role role;
	const char *rail; /* plane of a spine, or NULL */
	/* those that are linked or named, sorted by natural name order */
	struct fabric_port **ports;
	size_t n_ports;
	struct fabric_group *groups;
	size_t n_groups;
	enum lb_policy lb;
	bool lb_declared; /* .lb stands in the configuration; false: it is the default */
	uint32_t index; /* position in the fabric's devices */
	const char *agent; /* who asks it, where agents share the fabric; NULL = all, or nobody */
	bool foreign; /* another agent asks it: here nothing of it is known */
};

struct fabric_job {
	const struct yaml_node *node; /* where it stands in the file; NULL: not there */
	const char *name;
	const char *user; /* NULL: not known */
	uint64_t gpus;
	const char *hosts; /* as configured: names and globs with commas between them */
	const char **names; /* of .hosts, those without a wildcard; sorted (strcmp) */
	size_t n_names;
	const char **globs; /* the others */
	size_t n_globs;
	int source; /* as read: enum job_source; -1 = declared */
	bool scheduled; /* a file of the scheduler says that it runs */
	/* length of a healthy step, as declared; 0 = unknown: losses are shares only then */
	int64_t step_ns;
	double step_teraflop, gpu_teraflops; /* of the job, of a GPU in 1 s */
};

struct fabric_threshold { /* declared thresholds: what no protocol can read back */
	const struct yaml_node *node; /* where they stand in the file */
	const char *devices, *ports; /* globs */
	int priority;
	/* sizes: 0 = not given; pmax, alpha: NAN = not given */
	uint64_t kmin_bytes, kmax_bytes, headroom_bytes, xoff_level_bytes, xon_level_bytes,
		xon_offset_bytes, cell_bytes, pool_bytes, headroom_pool_bytes;
	double pmax, alpha;
	double kmin_share, kmax_share; /* of relative ECN; NAN = not given */
};

/* Settings of ports, declared: what no protocol can read back. Lint and topology check compare the
 * two ends of a link by them. */
struct fabric_port_setting {
	const struct yaml_node *node;
	const char *devices, *ports; /* globs */
	uint64_t speed_bps, mtu_bytes; /* 0: not given */
	/* texts of class_policy.h; NULL: not given */
	const char *pfc, *dscp, *groups;
	const char *name; /* of the class map, as the switch calls it; NULL: not given */
	int trust; /* of class_trust_words; -1: not given */
};

struct fabric_class { /* policy.classes: what is declared of one priority */
	bool given;
	bool congestion_given; /* else the site's */
	enum congestion_policy congestion;
	enum class_lossless lossless;
	enum class_ecn ecn;
};
enum { FABRIC_CLASSES = 8 };

struct fabric {
	const char *name;
	struct fabric_device **devices; /* sorted by name, natural order */
	size_t n_devices;
	struct fabric_job *jobs;
	size_t n_jobs;
	struct fabric_threshold *thresholds;
	size_t n_thresholds;
	struct fabric_port_setting *port_settings;
	size_t n_port_settings;
	uint8_t lossless_mask; /* bit n = priority n */
	uint64_t lossless_mtu_bytes;
	enum congestion_policy congestion; /* of the site; of one class: class_congestion() */
	enum lb_policy lb;
	/* they stand in the configuration; false: they are defaults, and nobody said so */
	bool congestion_declared, lb_declared;
	struct fabric_class classes[FABRIC_CLASSES]; /* by priority */
	double usd_per_gpu_hour;
	bool has_cost; /* a price or jobs were given */
	bool discover; /* links: discover, or links that were discovered */
	uint64_t id; /* hash of .name: seeds incident ids */
};

/* NULL if absent */
const struct fabric_device *fabric_device(const struct fabric *fabric, const char *name);
/* native name or alias */
const struct fabric_port *fabric_port(const struct fabric_device *device, const char *name);
const struct fabric_group *fabric_group(const struct fabric_device *device, const char *id);
/* fabric_threshold_fits - is @threshold declared for this priority of @port? */
bool fabric_threshold_fits(
	const struct fabric_threshold *threshold, const struct fabric_port *port, int priority);
/* fabric_threshold_of - the first that is; NULL: none is declared. */
const struct fabric_threshold *fabric_threshold_of(
	const struct fabric *fabric, const struct fabric_port *port, int priority);
/* fabric_port_setting_of - the first that is declared for @port; NULL: none is. */
const struct fabric_port_setting *fabric_port_setting_of(
	const struct fabric *fabric, const struct fabric_port *port);
/* fabric_job_has - does @job run on @host? */
bool fabric_job_has(const struct fabric_job *job, const char *host);
/* fabric_job_of - the first job that runs on @host, NULL = none. */
const struct fabric_job *fabric_job_of(const struct fabric *fabric, const char *host);
/*
 * fabric_outside_jobs - do the jobs that people declared leave @host out (storage, management)? Not
 * known, so false, without such jobs: a host of which the scheduler says nothing is idle, or runs
 * something small.
 */
bool fabric_outside_jobs(const struct fabric *fabric, const char *host);
uint64_t fabric_gpus(const struct fabric *fabric); /* all jobs */
/* fabric_frame_bytes - the largest frame of the lossless class; where none is declared, RoCE's
 * largest path MTU, 4096, with its headers. */
static inline double fabric_frame_bytes(const struct fabric *fabric)
{
	if (!fabric->lossless_mtu_bytes)
		return 4200;
	return (double)fabric->lossless_mtu_bytes;
}

/* natural order: Ethernet2 before Ethernet10 */
int name_compare(const char *left, const char *right);

/* ---- how it is made: while a configuration is built, and by tests; memory is the arena's ---- */

/* fabric_port_add - finds the port of that name, or adds it. */
struct fabric_port *fabric_port_add(
	struct fabric_device *device, struct arena *a, const char *name);
void fabric_group_add(
	struct fabric_device *device, struct arena *a, const struct fabric_group *group);
/* fabric_job_split - fills .names and .globs of @job from its .hosts. */
void fabric_job_split(struct fabric_job *job, struct arena *a);
/* fabric_sort - devices and ports in natural order; before groups are derived. */
void fabric_sort(struct fabric *fabric);
/* fabric_derive_groups - ECMP groups of the finished graph beside the given ones. */
void fabric_derive_groups(struct fabric *fabric, struct arena *a);

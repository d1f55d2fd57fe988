/* import_internal - the set of devices that import_sonic.c and import_nvue.c fill and
 * import_print.c writes. */
#pragma once

#include "base/base.h"

#include <jansson.h>

#include "agent/import/import_sonic.h"

enum { IMPORT_PRIORITIES = 8, IMPORT_PORTS_MAX = 1024 };

/* Where the buffer thresholds of a priority come from, or why there are none. */
enum import_buffers {
	IMPORT_BUFFERS_TAKEN,
	IMPORT_BUFFERS_NULL, /* the dynamic buffer model makes the profile */
	IMPORT_BUFFERS_UNBOUND, /* no profile is named */
	IMPORT_BUFFERS_MISSING, /* .profile is named, and not there */
	IMPORT_BUFFERS_NOT_IN_FORCE, /* NULL, and APPL_DB has none */
	IMPORT_BUFFERS_FIXED /* taken, but for alpha: the threshold is a fixed size */
};

struct import_row { /* thresholds of one lossless priority of one port; 0 or NAN: not given */
	bool lossless;
	unsigned group; /* of the port's priority groups */
	enum import_buffers buffers;
	const char *profile; /* that is missing; NULL */
	int line; /* where it is named; 0 unknown */
	uint64_t kmin, kmax, headroom, xon_level, xon_offset, pool, headroom_pool;
	double pmax, alpha;
	double kmin_share, kmax_share; /* relative ECN; NAN: .kmin and .kmax count */
};
struct import_port {
	const char *name, *alias; /* alias "" unknown */
	uint64_t speed_bps;
	unsigned cable_m; /* 0 unknown */
	/* what makes a packet's class; a map is NULL where no map is named or there */
	uint64_t mtu_bytes; /* 0 unknown */
	const char *trust, *class_map; /* NULL unknown */
	const uint8_t *dscp, *groups; /* of class_policy.h */
	const char *peer, *peer_port; /* NULL: no neighbour is known; port "" unknown */
	struct import_row rows[IMPORT_PRIORITIES];
};
struct import_device {
	const char *name, *type, *address, *sku; /* "" unknown */
	const char *file; /* its own; NULL */
	const char *profile; /* of its own file; NULL */
	unsigned lossless; /* bits */
	bool own; /* its own file was read; else a neighbour's names it */
	bool no_links; /* its file names no neighbour: settings of each port are told */
	bool host;
	struct import_port *ports;
	size_t n_ports, cap_ports;
	uint64_t cell_bytes; /* 0 unknown */
};
struct import_set {
	struct arena *arena;
	const struct profiles *profiles;
	struct import_device **devices;
	size_t n_devices, cap_devices;
	unsigned lossless; /* bits */
	uint64_t lossless_mtu; /* 0 unknown */
	bool discover; /* what was read says nothing of links */
	struct import_device *newest; /* whose own file was read last; NULL */
	const char **files;
	size_t n_files, cap_files;
};

struct import_device *import_device(struct import_set *set, const char *name); /* made when new */
struct import_port *import_port(
	struct import_set *set, struct import_device *device, const char *name, bool make);

/* import_at - what stands in @json at @keys, one below the other, ended by NULL; NULL: nothing. */
const json_t *import_at(const json_t *json, const char *const *keys);
#define IMPORT_AT(json, ...) import_at(json, (const char *const[]){__VA_ARGS__, NULL})

/* import_dump_fields - of a row of a dump: the value itself, or what is below "value". NULL for
 * NULL; borrowed. */
json_t *import_dump_fields(json_t *row);
/* import_dump_tables - the rows of the dump @root, which is borrowed, by their tables: {"PORT":
 * {"Ethernet0": {...}}}. A key that is no row stays as it is. The caller frees it. */
json_t *import_dump_tables(json_t *root);

/* import_is_device_name - as our configuration takes it; "host" is a word of its own there. */
bool import_is_device_name(const char *text);

/* import_nvue - one NVUE document of Cumulus Linux ("nv config show -o json", or what a GET of
 * /nvue_v1/ answers): the thresholds of its lossless priorities, for every port and for those with
 * a profile of their own. 0, or -EINVAL with at least one error. */
int import_nvue(struct import_set *set, const char *text, size_t n, const char *name,
	struct err_list *errors, struct err_list *warnings);

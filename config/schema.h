/*
 * schema - what rocewatch.yaml may hold, as tables of rows; inside of the config room only.
 * Reading, checking, printing and "config explain" all walk these rows, so a key is one row here
 * and one member in a tree_* struct.
 *
 * The tree_* structs are the file as read: one per section, with the yaml node it came from, so
 * that later checks (does this credential exist?) can name the place. config_build.c turns them
 * into the structs of config.h and fabric.h.
 */
#ifndef RW_CONFIG_SCHEMA_H
#define RW_CONFIG_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>
#include "config/config_alerts.h"
#include "config/config_ship.h"
#include "config/config_error.h"
#include "config/option.h"
#include "config/yaml.h"

struct arena;

enum field_kind {
	FIELD_VALUE, /* one value, read by .option */
	FIELD_VALUES, /* a list of values: struct tree_values */
	FIELD_SECTION, /* keys of .section: a pointer to its struct, NULL when not given */
	FIELD_SECTIONS, /* a list of .section: struct tree_list */
	FIELD_ONE_OR_MORE, /* one .section, or a list of them: struct tree_list */
	/* name -> .section: struct tree_list, the name in the first member after .node */
	FIELD_NAMED,
	FIELD_LINKS, /* as FIELD_SECTIONS, or the word "discover" */
	FIELD_MODULES, /* module name -> options from its own table */
	FIELD_REFUSED, /* never allowed; .option.doc says what to write instead */
};

enum field_flags { FIELD_REQUIRED = 1 };

struct section;
struct field {
	enum field_kind kind;
	struct option option; /* name, doc, offset always; the rest for values */
	unsigned flags;
	const struct section *section;
	/* an additional check of a string; @e says what was read and expected */
	int (*check)(const char *text, struct err *e);
};
struct section {
	size_t size;
	const struct field *fields;
	size_t n_fields;
	const char *doc;
};
extern const struct section schema_root;
extern const struct section agents_section, judge_section; /* schema_agents.c */
extern const struct section alerts_section; /* schema_alerts.c */
extern const struct section ship_section; /* schema_ship.c */
extern const struct section push_section, device_push_section; /* schema_push.c */

const struct field *schema_find(const struct section *section, const char *name);
/* schema_type_text - "duration", "one of leaf, spine", "list of sections": for people. Returns
 * @buf. */
char *schema_type_text(const struct field *field, char *buf, size_t size);
/* schema_unset - is this value not given and without default? 0 for numbers, NAN for ratios, NULL
 * for texts, -1 for choices. */
bool schema_unset(const struct option *option, const void *base);

/* ---- the file as read ---------------------------------------------------- */

struct tree_values {
	const char **v;
	const struct yaml_node **at;
	size_t n;
};
struct tree_list {
	void **v;
	size_t n;
}; /* of pointers to tree_* structs */

#define TREE_NODE const struct yaml_node *node /* first in every tree_* struct */

struct tree_secret {
	const char *file, *env, *credential;
};
struct tree_snmp_credential {
	TREE_NODE;
	int version;
	struct tree_secret community, auth_secret, priv_secret;
	const char *user, *context;
	int auth, priv;
};
struct tree_tls {
	TREE_NODE;
	const char *ca, *cert, *key, *server_name;
	bool off, skip_verify;
};
struct tree_gnmi_credential {
	TREE_NODE;
	const char *username;
	struct tree_secret password, token;
	struct tree_tls *tls;
};
struct tree_credential {
	TREE_NODE;
	const char *name;
	struct tree_snmp_credential *snmp;
	struct tree_gnmi_credential *gnmi;
};

struct tree_snmp {
	TREE_NODE;
	const char *address, *credentials, *source, *netns;
	int64_t interval_ns, slow_interval_ns, timeout_ns, deadline_ns, retries, max_varbinds_s;
};
struct tree_gnmi {
	TREE_NODE;
	const char *address, *credentials;
	int64_t interval_ns, slow_interval_ns, timeout_ns;
	int encoding;
	uint64_t max_message;
};
struct tree_sflow {
	TREE_NODE;
	const char *agent;
	struct tree_values ports;
	bool counters;
};
struct tree_device_push {
	TREE_NODE;
	const char *address;
	struct tree_values names, objects;
	int64_t interval_ns;
};
struct tree_device_ports {
	TREE_NODE;
	struct tree_values exclude, include;
};
struct tree_device {
	TREE_NODE;
	const char *name, *rail, *profile;
	int role, lb;
	struct tree_snmp *snmp;
	struct tree_gnmi *gnmi;
	struct tree_sflow *sflow;
	struct tree_device_push *push;
	struct tree_device_ports *ports;
};
struct tree_link {
	TREE_NODE;
	const char *a, *b, *rail;
	uint64_t cable_mm, speed_bps;
	int source; /* enum link_source; -1 = declared */
};
enum link_source { LINK_DECLARED, LINK_DISCOVERED };
struct tree_group {
	TREE_NODE;
	const char *device, *group;
	struct tree_values ports;
	int lb;
};
struct tree_lag {
	TREE_NODE;
	const char *device, *name;
	struct tree_values ports;
};
struct tree_lossless {
	TREE_NODE;
	struct tree_values priorities;
	uint64_t mtu_bytes;
};
struct tree_class {
	TREE_NODE;
	int64_t priority;
	int congestion, lossless, ecn; /* -1: not given */
};
struct tree_policy {
	TREE_NODE;
	int congestion, lb;
	struct tree_list classes; /* of struct tree_class */
	struct tree_values assumed;
};
struct tree_threshold {
	TREE_NODE;
	const char *devices, *ports;
	int64_t priority;
	uint64_t kmin, kmax, headroom, xoff_level, xon_level, xon_offset, cell, pool;
	double pmax, alpha;
};
struct tree_capture {
	TREE_NODE;
	const char *name, *interface, *listen, *netns, *port;
	int direction;
	int mirrored;
	int64_t sampling, interval_ns;
	uint64_t snaplen, buffer;
	struct tree_values allow;
};
struct tree_push_tls {
	TREE_NODE;
	const char *cert, *key, *client_ca;
};
struct tree_push {
	TREE_NODE;
	const char *name, *grpc, *http, *ipfix;
	int64_t interval_ns;
	uint64_t buffer, ring;
	struct tree_values allow;
	struct tree_push_tls *tls;
	bool insecure;
	int64_t max_connections, max_points_s;
	uint64_t max_message;
};
struct tree_job {
	TREE_NODE;
	const char *name, *hosts, *user;
	int64_t gpus, step_ns;
	int source; /* enum job_source; -1 = declared */
};
enum job_source { JOB_DECLARED, JOB_SCHEDULER };
struct tree_job_file {
	TREE_NODE;
	const char *path;
	int format; /* enum job_format */
	int64_t max_age_ns, min_hosts, gpus_per_host;
};
struct tree_cost {
	TREE_NODE;
	double usd_per_gpu_hour;
};
struct tree_retention {
	TREE_NODE;
	int64_t raw_ns, minute_ns, hour_ns, events_ns, incidents_ns;
};
struct tree_sink {
	TREE_NODE;
	const char *name, *url, *database, *username;
	struct tree_secret password;
	struct tree_alert_tls *tls;
	int64_t interval_ns, retry_ns, timeout_ns, batch;
};
struct tree_ship {
	TREE_NODE;
	const char *agent;
	uint64_t spool_bytes;
	struct tree_list sinks[SINK_KINDS]; /* of struct tree_sink */
};
struct tree_store {
	TREE_NODE;
	const char *path;
	uint64_t quota_bytes;
	struct tree_ship *ship;
	struct tree_retention *retention;
};
struct tree_defaults {
	TREE_NODE;
	int64_t interval_ns, slow_interval_ns, timeout_ns;
	const char *profile;
};
struct tree_http_tls {
	TREE_NODE;
	const char *cert, *key;
};
struct tree_http {
	TREE_NODE;
	const char *listen, *tokens_file;
	struct tree_http_tls *tls;
	struct tree_values allow, hosts;
	int64_t max_connections, request_timeout_ns, metrics_top;
	bool insecure, metrics_all_ports;
};
struct tree_traps {
	TREE_NODE;
	const char *listen;
	struct tree_values credentials;
};
struct tree_alert_tls {
	TREE_NODE;
	const char *ca, *cert, *key;
	bool skip_verify;
};
/* One receiver of any kind: the rows of its section fill some of the members. */
struct tree_receiver {
	TREE_NODE;
	const char *name;
	int min_severity, facility;
	int64_t resend_ns, retry_ns, timeout_ns, spool;
	struct tree_values causes, devices, jobs;
	const char *url, *address, *username, *from;
	struct tree_values to, run;
	struct tree_secret password, token, secret;
	struct tree_alert_tls *tls;
};
struct tree_alerts {
	TREE_NODE;
	int min_severity;
	int64_t resend_ns;
	const char *web_url, *runbook_url;
	struct tree_list receivers[RECEIVER_KINDS]; /* of struct tree_receiver */
};
struct tree_tuning_name {
	TREE_NODE;
	const char *devices, *object, *name;
};
struct tree_tuning {
	TREE_NODE;
	int64_t min_evidence_ns;
	double min_coverage;
	int64_t base_rtt_ns;
	double max_pmax;
	struct tree_list names;
};

struct tree_agent {
	TREE_NODE;
	const char *name;
	struct tree_values devices;
};
struct tree_judge {
	TREE_NODE;
	const char *from;
	int64_t wait_ns, begin_ns;
};

struct tree_limits {
	TREE_NODE;
	int64_t names_per_device, names, ports_per_device, forget_ns;
};

struct config_tree { /* the root */
	TREE_NODE;
	const char *fabric, *socket, *user, *profile_dir;
	struct tree_store *store;
	struct tree_list credentials, devices, links, groups, lags, thresholds, captures, pushes,
		jobs, job_files, agents;
	bool discover;
	struct tree_defaults *defaults;
	struct tree_lossless *lossless;
	struct tree_policy *policy;
	struct tree_cost *cost;
	struct tree_http *http;
	struct tree_traps *traps;
	struct tree_alerts *alerts;
	struct tree_tuning *tuning;
	struct tree_limits *limits;
	struct tree_judge *judge;
};

/* ---- between the files of this room -------------------------------------- */

/* schema_read - fill @base (zeroed) from @node, which may be NULL for "not given": defaults alone.
 */
void schema_read(struct build *build, const struct section *section, const struct yaml_node *node,
	void *base);

/* schema_read_or_defaults - the section @key of the root as read; where the file has none, its
 * defaults alone take its place, so that they stand in the rows only. */
void *schema_read_or_defaults(struct build *build, const char *key);

#endif

/*
 * config - one YAML file, strictly read: unknown keys, wrong types, values out of range and missing
 * files are errors with file:line:column, what was read, what was expected and the nearest name.
 * Everything lives in the configuration's arena: a reload builds a new struct config and drops the
 * old one whole.
 */
#pragma once

#include "base/base.h"
#include "config/fabric.h"
#include "config/option.h"
#include "config/snmp_security.h"

/*
 * The structs below are filled by the rows of schema.c. Where a row stands for a member, the value
 * is as read; .._read is as written, beside what became of it. .node is the place in the file: NULL
 * when the section is not in it.
 */
struct config_texts {
	const char *const *v;
	size_t n;
};

/* A secret is only ever named: a file, an environment variable or a systemd credential.
 * secret_read() gets it when needed. */
struct config_secret {
	enum { SECRET_NONE, SECRET_FILE, SECRET_ENV, SECRET_CREDENTIAL } from;
	const char *name; /* path, variable or credential name */
	int line, col;
	const char *file, *env, *credential; /* as read: the one that is given is .name */
};

/* One trailing newline is stripped. It lies in locked memory; the caller ends it with
 * locked_free(). 0, -ENOENT, -EACCES, -EINVAL (empty);
 * @e names the file and the remedy. */
int secret_read(const struct config_secret *secret, char **ret, struct err *e);
struct config;
/* secrets_leave_environment - those that @config names as environment variables move from there
 * into locked memory: then they are not in /proc/PID/environ, and no child inherits them.
 * secret_read() finds them as before. Before the first thread. */
void secrets_leave_environment(const struct config *config);

struct config_snmp_credential {
	const struct yaml_node *node;
	int version; /* 1, 2 (= 2c) or 3 */
	struct config_secret community;
	const char *user, *context; /* v3; context "" */
	enum snmp_auth auth;
	struct config_secret auth_secret;
	enum snmp_priv priv;
	struct config_secret priv_secret;
	const char *context_read;
	int version_read, auth_read, priv_read; /* -1: not given */
};
struct config_login { /* by gNMI or HTTP */
	const struct yaml_node *node, *tls_node;
	const char *username;
	struct config_secret password, token;
	const char *tls_ca, *tls_cert, *tls_key, *tls_server_name; /* NULL = not given */
	bool tls_off, tls_skip_verify;
};
struct config_credential {
	const struct yaml_node *node;
	const char *name;
	struct config_snmp_credential *snmp; /* NULL = not given */
	struct config_login *gnmi, *scrape;
};

struct config_snmp { /* per device */
	const struct yaml_node *node;
	const char *address_read, *credentials; /* "HOST:PORT", a name */
	const char *address; /* host only: IPv4, IPv6 without brackets, or name */
	uint16_t port; /* 161 */
	const struct config_credential *credential;
	int64_t interval_ns, slow_interval_ns, timeout_ns, deadline_ns;
	int retries;
	uint64_t max_varbinds_s; /* 0 = no limit */
	const char *source, *netns; /* source address, network namespace; NULL */
};
struct config_gnmi {
	const struct yaml_node *node;
	const char *address_read, *credentials;
	int encoding_read;
	const char *address;
	uint16_t port;
	const struct config_credential *credential;
	int64_t interval_ns, slow_interval_ns, timeout_ns;
	/* number in the protocol; -1 = what the profile prefers of what the device offers */
	int encoding;
	uint64_t max_message; /* bytes of one message that are accepted */
};
struct config_sflow_port {
	uint32_t ifindex;
	const char *port;
};
struct config_sflow { /* the sFlow agent of a device */
	const struct yaml_node *node;
	struct config_texts ports_read; /* "7=Ethernet4" */
	const char *agent; /* NULL: the address of snmp or gnmi */
	struct config_sflow_port *ports;
	size_t n_ports;
	bool counters; /* store them, when nothing else asks the device */
};
struct config_device_push { /* what the device sends by itself */
	const struct yaml_node *node;
	const char *address; /* NULL: that of snmp or gnmi */
	const char *const *names; /* of itself, beside the device's name */
	size_t n_names;
	const char *const *objects; /* texts of config/push_objects.h */
	size_t n_objects;
	int64_t interval_ns;
	bool pin; /* its name counts only from its address */
};
struct config_device {
	const struct yaml_node *node, *ports_node;
	const char *name;
	const struct fabric_device *device;
	struct config_snmp *snmp; /* NULL = not polled by SNMP */
	struct config_gnmi *gnmi;
	struct config_sflow *sflow;
	struct config_device_push *push; /* NULL = pushes nothing */
	struct config_texts exclude, include; /* globs of port names */
	const char *profile; /* "auto" */
	const char *rail; /* it, role and load balancing are those of .device */
	int role, lb;
};

struct config_capture {
	const struct yaml_node *node;
	const char *name, *interface, *listen; /* interface or listen */
	const char *const *allow; /* with listen: networks; the devices' addresses when none */
	size_t n_allow;
	/* open the interface in this network namespace (ip-netns name); NULL = ours */
	const char *netns;
	const char *device, *port; /* the port it mirrors; NULL = unknown */
	const char *direction; /* "in" "out" "both": what of the interface is captured */
	const char *mirrored; /* the same of the mirrored port; "both": as .direction says */
	uint32_t sampling; /* one in N, >= 1 */
	uint32_t snaplen; /* bytes, 192 */
	uint64_t buffer_bytes; /* kernel ring */
	int64_t interval_ns; /* flow interval, 10 s */
	const char *port_read; /* "DEVICE:PORT" */
	int direction_read, mirrored_read;
	int line;
	struct config_push *push; /* NULL = captures packets, or listens for sFlow */
};

struct config_push { /* a receiver of what devices send by themselves */
	const char *grpc, *http; /* "ADDRESS:PORT"; NULL = not served */
	/* the same over UDP, instead of those: .listen, .buffer_bytes and .interval_ns of the place
	 * are used too */
	const char *ipfix;
	uint64_t ring_bytes; /* for each device that sends IPFIX */
	const char *cert, *key,
		*client_ca; /* files; NULL without TLS, without client certificates */
	unsigned max_connections;
	uint64_t max_message; /* bytes */
	uint64_t max_points_s;
	bool insecure;
	const char *profile_dir; /* of the configuration */
};

struct config_scrape { /* exporters of Prometheus text on hosts */
	const struct yaml_node *node;
	const char *name, *credentials;
	const char *const *urls; /* with {host} */
	size_t n_urls;
	struct config_texts hosts; /* names and globs; none: the hosts of declared links */
	struct config_texts ports; /* "ens1f0np0=mlx5_0" */
	const struct config_login *login; /* NULL: none is asked for */
	int64_t interval_ns, timeout_ns;
	uint64_t max_answer; /* bytes of one answer that are accepted */
};

/* One host that is scraped. */
struct config_scraped {
	struct config_device device; /* first: its name and profile are used */
	const struct config_scrape *scrape;
	const char *const *urls; /* scrape->n_urls of them, with the host's name */
	const char *address; /* of the first one: host only */
	uint16_t port;
};

struct config_traps { /* receiver of traps and informs */
	const struct yaml_node *node;
	const char *listen; /* "ADDRESS:PORT" */
	const char *const *names; /* of credentials */
	size_t n_names;
	const char *address;
	uint16_t port;
	/* with an snmp section */
	const struct config_credential **credentials;
	size_t n_credentials;
};

struct config_http { /* web page, API and metrics */
	const struct yaml_node *node, *tls_node;
	const char *listen; /* "ADDRESS:PORT" */
	const char *address; /* an IP address or "localhost" */
	uint16_t port;
	const char *cert, *key; /* files; both NULL without TLS */
	const char *tokens_file; /* NULL: no token is asked for */
	const char *const *allow; /* networks; all when there are none */
	size_t n_allow;
	const char *const *hosts; /* names beside localhost */
	size_t n_hosts;
	unsigned max_connections;
	int64_t request_timeout_ns;
	size_t metrics_top; /* series per family of /metrics */
	bool metrics_all_ports; /* else those of ports that stand out */
	bool insecure;
};

/* config_http_unsafe - why this must not be served, in words behind "http: "; NULL when it may. */
const char *config_http_unsafe(const struct config_http *http);

enum sink_kind { SINK_CLICKHOUSE, SINK_REMOTE_WRITE, SINK_KINDS };
/* sink_kind_name - the word in the file: "clickhouse". */
const char *sink_kind_name(enum sink_kind kind);

struct config_sink {
	const struct yaml_node *node, *tls_node;
	enum sink_kind kind;
	const char *name; /* unique */
	const char *url, *database, *username; /* database: of a clickhouse */
	struct config_secret password;
	const char *tls_ca, *tls_cert, *tls_key; /* NULL: not given */
	bool tls_skip_verify;
	int64_t interval_ns, retry_ns, timeout_ns;
	uint64_t batch; /* samples in one request */
};

struct config_ship { /* where the store's content goes as well */
	const struct yaml_node *node;
	const char *agent; /* NULL: not given */
	uint64_t spool_bytes;
	struct {
		struct config_sink *v;
		size_t n;
	} of_kind[SINK_KINDS];
	struct config_sink *sinks; /* all of them */
	size_t n_sinks;
};

struct config_store {
	const struct yaml_node *node, *retention_node;
	const char *path; /* file, or URL */
	uint64_t quota_bytes;
	int64_t raw_ns, minute_ns, hour_ns, events_ns, incidents_ns;
	struct config_ship *ship; /* NULL: nowhere else */
};

/* One receiver of alerts. Which members below the line count depends on its kind; the others are
 * zero. */
struct config_receiver {
	const struct yaml_node *node, *tls_node;
	const struct option_table *kind; /* of the module; .name is the word in the file */
	const char *name; /* unique */
	int min_severity; /* enum severity: alerts below it are not sent */
	int64_t resend_ns; /* while open */
	int64_t retry_ns; /* longest time between two attempts */
	int64_t timeout_ns; /* of one attempt */
	size_t spool; /* alerts that may wait */
	struct config_texts causes, devices, jobs; /* globs; none: all */
	/* ---- */
	const char *url; /* alertmanager, webhook: http(s); mail: smtp(s), NULL with .run */
	struct config_secret url_secret; /* webhook: in place of .url, where it holds a secret */
	const char *address; /* syslog: udp://HOST:PORT, tcp://HOST:PORT, unix:PATH */
	int facility; /* syslog, RFC 5424 section 6.2.1 */
	const char *username;
	struct config_secret password, token, secret; /* secret: signs webhooks */
	const char *tls_ca, *tls_cert, *tls_key; /* NULL: not given */
	bool tls_skip_verify;
	const char *from; /* mail; NULL: rocewatch@HOSTNAME */
	struct config_texts to, run; /* run: the command and its arguments */
};

struct config_alerts {
	const struct yaml_node *node;
	int min_severity; /* of receivers that do not say */
	int64_t resend_ns;
	const char *web_url; /* of the web page, for links; NULL */
	const char *runbook_url; /* of the site's runbooks, with {cause}; NULL */
	struct config_receiver *receivers;
	size_t n_receivers;
};

/* A file the configuration refers to: a secret, a certificate. Not opened by config_load(); see
 * config_check_files(). */
struct config_file {
	const char *key, *path; /* "community_file", as written */
	bool secret;
	int line, col;
};

/* A file in which the scheduler says what runs where. */
struct config_job_file {
	const struct yaml_node *node;
	const char *path;
	int format; /* enum job_format of agent/jobs: auto, slurm, kubernetes */
	int64_t max_age_ns; /* an older file says nothing */
	uint32_t min_hosts; /* jobs on fewer are left out */
	uint32_t gpus_per_host; /* where the scheduler does not say; 0 = such jobs are left out */
};

struct config_judge {
	const struct yaml_node *node;
	const char *from; /* URL, or files with commas between them */
	int64_t wait_ns, begin_ns;
};

struct config_defaults {
	const struct yaml_node *node;
	int64_t interval_ns, slow_interval_ns, timeout_ns;
	const char *profile;
};

struct config_limits {
	const struct yaml_node *node;
	uint32_t names_per_device, names, ports_per_device;
	int64_t forget_ns;
};

struct config_tuning_name { /* what the site calls what holds thresholds */
	const struct yaml_node *node;
	const char *devices, *object, *name;
};
struct config_tuning {
	const struct yaml_node *node;
	int64_t min_evidence_ns;
	double min_coverage;
	int64_t base_rtt_ns;
	double max_pmax;
	struct config_tuning_name *names;
	size_t n_names;
};

struct config_tree;

struct config {
	struct arena *arena;
	const char *path;
	struct fabric *fabric;
	struct config_store store;
	struct config_ship ship;
	struct config_credential *credentials;
	size_t n_credentials;
	struct config_device *devices;
	size_t n_devices; /* as in the file */
	struct config_capture *captures;
	size_t n_captures;
	/* receivers: .name, .allow, .interval_ns and .push are used */
	struct config_capture *pushes;
	size_t n_pushes;
	struct config_scraped *scraped; /* host by host */
	size_t n_scraped;
	struct config_job_file *job_files;
	size_t n_job_files;
	struct config_defaults defaults;
	const char *socket_path; /* agent socket; default: store path + ".sock" */
	struct config_limits limits;
	const char *user; /* to become after start, NULL = stay */
	/* who shares the fabric: names, each once; what an agent asks is fabric_device.agent */
	const char **agents;
	size_t n_agents;
	const struct config_judge *judge; /* NULL = each agent judges what it sees */
	const char *self; /* config_as_agent(); NULL = all devices are ours */
	bool judging; /* config_as_judge() */
	int64_t whole_interval_ns; /* of all devices, before others were let go; 0 = not needed */
	struct config_http *http; /* NULL = not served */
	struct config_traps *traps; /* NULL = none are received */
	const char *profile_dir; /* site profiles, NULL */
	struct config_alerts alerts;
	struct config_tuning tuning;
	struct config_file *files;
	size_t n_files;
	struct config_tree *tree; /* the file as read, for printing (config/schema.h) */
	/* options of the modules, parallel to the tables given to config_load */
	const struct option_table *const *tables;
	size_t n_tables;
	void **options;
	struct err_list warnings;
};

enum config_mode {
	CONFIG_FULL, /* rocewatch.yaml: devices need an address */
	CONFIG_CASE, /* fabric.yaml of a recorded case: fabric, devices, links, lossless, policy,
		      * thresholds, port_settings, jobs, cost, analyzers, tuning only; other keys of
		      * rocewatch.yaml are accepted and checked, but not needed */
};

/*
 * config_load - read, check and build. All mistakes are added to @errors, in file order: the first
 * 50, the others are counted in .more.
 * @tables: the modules' option tables, lent for the life of the result. 0, or negative errno with
 * nothing built. config_parse - the same from memory; @name stands for the file in messages.
 */
int config_load(const char *path, enum config_mode mode, const struct option_table *const *tables,
	size_t n_tables, struct config **ret, struct err_list *errors);
int config_parse(const char *text, size_t n, const char *name, enum config_mode mode,
	const struct option_table *const *tables, size_t n_tables, struct config **ret,
	struct err_list *errors);
void config_free(struct config *config); /* NULL is fine */

/*
 * config_check_files - do the files the configuration names exist, and are they files? Missing ones
 * go to @errors with the place where they are named, in file order; those this user may not read,
 * and secrets that everyone may read, to @warnings. Loading does not need them: a secret is read
 * when it is used, so that replay and reports work on any machine. 0 or -ENOENT.
 */
int config_check_files(
	const struct config *config, struct err_list *errors, struct err_list *warnings);

/*
 * config_check_served - does this version do what the configuration asks for? What it cannot start
 * with goes to @errors, keys that are understood but that nothing acts upon to @warnings, each with
 * its place. 0 or -ENOTSUP.
 */
int config_check_served(
	const struct config *config, struct err_list *errors, struct err_list *warnings);

/* config_mistakes_sort - into file order, after several checks were asked one after the other. */
void config_mistakes_sort(struct err_list *errors);

/*
 * config_usual_window - how long windows are, ns, where an option leaves it open: three intervals,
 * at least 5 s. config_window - of an analyzer: its option "window", else the usual one.
 * config_hold - how many of them must show a fault until it is reported: its option "hold", else 1.
 */
int64_t config_usual_window(int64_t interval_ns);
int64_t config_window(const struct config *config, const char *analyzer);
int64_t config_hold(const struct config *config, const char *analyzer);

/*
 * config_interval - the sampling interval of the fabric as a whole, ns: the longest of its devices,
 * over either protocol; defaults.interval when no device is polled, 10 s when that is not set.
 *
 * It is what windows, blocks and waiting times are multiples of: whoever needs one asks here.
 */
int64_t config_interval(const struct config *config);

/* config_scraped_host - NULL: it is not scraped. */
const struct config_scraped *config_scraped_host(const struct config *config, const char *host);

/* config_device_polled - is it asked over any protocol? */
static inline bool config_device_polled(const struct config_device *device)
{
	return device->snmp || device->gnmi;
}
/* config_device_interval - how often the device is polled over @protocol, ns; where it is not
 * configured over that one, over SNMP. 0: not said. */
int64_t config_device_interval(const struct config_device *device, const char *protocol);
/* config_device_slow_interval - how often its names and neighbors are read, ns; 0: not polled. */
int64_t config_device_slow_interval(const struct config_device *device);

/*
 * config_as_agent - @config as agent @name of 'agents:' works by it: only its devices are asked,
 * the others are .foreign, and captures at their ports are left out. config_as_judge - as the judge
 * does: nothing is asked. config_as_before - as @before was. 0, or -EINVAL with @e filled.
 */
int config_as_agent(struct config *config, const char *name, struct err *e);
int config_as_judge(struct config *config, struct err *e);
/* config_judged_elsewhere - a judge judges what this agent collects: its database holds no
 * incident, which is no good news. */
static inline bool config_judged_elsewhere(const struct config *config)
{
	return config && config->self && config->judge;
}
int config_as_before(struct config *config, const struct config *before, struct err *e);

/* Options of one module ("analyzers", "ecmp_imbalance"): defaults overlaid with the file. NULL when
 * no such table. */
const void *config_options(const struct config *config, const char *section, const char *name);
/* config_set - "analyzers.ecmp_imbalance.warn" = "30%", for replay --set. */
int config_set(struct config *config, const char *key, const char *value, struct err *e);

/* A link that LLDP reported: its ends as in the file, "DEVICE:PORT", "host:NAME[:NIC]",
 * "switch:NAME[:PORT]" or "unknown:NAME[:PORT]". */
struct config_link {
	const char *a, *b;
};
/*
 * config_with_links - the same configuration with @links in the place of the words "links:
 * discover" or of what was discovered before; groups are derived anew. Declared links stay; a
 * discovered one that uses a port of theirs, a port used before in @links, or a device that is not
 * configured, is left out. @config is not changed, and the result does not need it. 0 or -EINVAL.
 */
int config_with_links(const struct config *config, const struct config_link *links, size_t n,
	struct config **ret, struct err_list *errors);
/* config_text_unlinked - as config_text(), without the links: for who writes others. */
char *config_text_unlinked(const struct config *config);

/* config_fabric_ports - @self with .outside of its ports as above; @device may be another than the
 * one that reported. The ports are copied into @a. */
struct topology_device;
struct topology_device config_fabric_ports(
	struct arena *a, const struct config_device *device, const struct topology_device *self);

/* config_discovered - the links of @config that were discovered, copied into @a. Returns how many.
 */
size_t config_discovered(const struct config *config, struct arena *a, struct config_link **ret);

/* A job that a file of the scheduler tells (job_files). */
struct config_job {
	const char *name, *user; /* .user: NULL = not told */
	const char *hosts; /* names with commas between them */
	uint64_t gpus;
};
/* config_with_jobs - the same configuration with @jobs in the place of those that the scheduler
 * told before; a job whose name is declared, or was in @jobs before, is left out. @config is not
 * changed, and the result does not need it. 0 or -EINVAL. */
int config_with_jobs(const struct config *config, const struct config_job *jobs, size_t n,
	struct config **ret, struct err_list *errors);
/* config_scheduled - the jobs of @config that the scheduler told, copied into @a. Returns how many.
 */
size_t config_scheduled(const struct config *config, struct arena *a, struct config_job **ret);

/* config_print - the effective configuration as YAML that config_load accepts again; secrets appear
 * as their reference only. */
void config_print(const struct config *config, FILE *out);
char *config_text(const struct config *config); /* same, caller frees */
/* A key as a person may write it: "devices[].snmp.interval". Texts are valid during the visit. */
struct config_key {
	const char *path, *type; /* "duration such as 10s" */
	const char *min, *max; /* as one would write them; NULL = unbounded */
	const char *def; /* the default; NULL none */
	const char *def_means; /* what a default of 0 stands for; NULL: 0 */
	bool required, section; /* section: it has keys of its own */
	const char *doc;
};
typedef void config_key_fn(const struct config_key *key, void *arg);
/* config_keys - visits every key, with those of the modules of @tables. */
void config_keys(
	const struct option_table *const *tables, size_t n_tables, config_key_fn *visit, void *arg);
/* config_keys_of - those of one key, or below it; all when @asked is NULL. -ENOENT with a nearest
 * hint. */
int config_keys_of(const char *asked, const struct option_table *const *tables, size_t n_tables,
	config_key_fn *visit, void *arg, struct err *e);
/* config_key_about - adds "duration such as 10s, 1s to 1h, default 10s". */
void config_key_about(const struct config_key *key, struct str *out);
/* config_explain - type, unit, range, default and prose of one key ("defaults.interval"); all keys
 * when NULL. -ENOENT with a nearest hint. */
int config_explain(const char *key, const struct option_table *const *tables, size_t n_tables,
	FILE *out, struct err *e);

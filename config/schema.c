/*
 * schema - the keys of rocewatch.yaml as rows: their names, types, units, ranges, defaults and
 * prose. The only place that knows them, beside schema_alerts.c. The macros are explained in
 * schema_rows.h.
 */
#include "config/class_policy.h"
#include "config/schema_rows.h"

#include <math.h>
#include <string.h>

#include "agent/base/str.h"

/* ---- choices; the order is the order of the enums they become ------------ */

static const char *const versions[] = {"1", "2c", "3", NULL};
static const char *const auths[] = {
	"none", "md5", "sha1", "sha224", "sha256", "sha384", "sha512", NULL};
static const char *const privs[] = {"none", "des", "aes128", "aes192", "aes256", NULL};
static const char *const roles[] = {"leaf", "spine", "superspine", "other", NULL};
static const char *const directions[] = {"in", "out", "both", NULL};
static const char *const link_sources[] = {"declared", "discovered", NULL};
static const char *const job_sources[] = {"declared", "scheduler", NULL};
static const char *const job_formats[] = {"auto", "slurm", "kubernetes", NULL};

/* ---- sections, inner ones first ------------------------------------------ */

static const struct field snmp_credential_rows[] = {
	CHOICE(tree_snmp_credential, version, "version", versions, NULL, "SNMP version.",
		.flags = FIELD_REQUIRED),
	SECRET(tree_snmp_credential, community, "community", "Community of versions 1 and 2c"),
	NEVER_INLINE("community"),
	TEXT(tree_snmp_credential, user, "user", "User name (securityName) of version 3.",
		.check = schema_check_text),
	TEXT(tree_snmp_credential, context, "context", "Context name of version 3."),
	CHOICE(tree_snmp_credential, auth, "auth", auths, NULL,
		"Authentication protocol of version 3, none when not given. sha256 where the "
		"switch can."),
	SECRET(tree_snmp_credential, auth_secret, "auth", "Pass phrase of authentication"),
	CHOICE(tree_snmp_credential, priv, "priv", privs, NULL,
		"Encryption of version 3, none when not given. aes128 where the switch can."),
	SECRET(tree_snmp_credential, priv_secret, "priv", "Pass phrase of encryption"),
};
TABLE(snmp_credential_section, tree_snmp_credential, snmp_credential_rows,
	"How to log in by SNMP.");

static const struct field tls_rows[] = {
	TEXT(tree_tls, ca, "ca",
		"File with the certificates of the authorities that sign the switches' "
		"certificates.",
		.check = schema_check_text),
	TEXT(tree_tls, cert, "cert",
		"File with our own certificate, for switches that ask for one.",
		.check = schema_check_text),
	TEXT(tree_tls, key, "key", "File with the private key of cert.",
		.check = schema_check_text),
	TEXT(tree_tls, server_name, "server_name",
		"Name to expect in the switch's certificate when it is not the address.",
		.check = schema_check_text),
	VALUE(tree_tls, off, "off", OPT_BOOL, "false", NULL, NULL,
		"No TLS at all: user name and password cross the network readable."),
	VALUE(tree_tls, skip_verify, "skip_verify", OPT_BOOL, "false", NULL, NULL,
		"Do not check the switch's certificate: anyone in between can pose as it."),
};
TABLE(tls_section, tree_tls, tls_rows, "Encryption of gNMI.");

static const struct field gnmi_credential_rows[] = {
	TEXT(tree_gnmi_credential, username, "username", "User name.", .check = schema_check_text),
	SECRET(tree_gnmi_credential, password, "password", "Password"),
	NEVER_INLINE("password"),
	SECRET(tree_gnmi_credential, token, "token",
		"Bearer token, instead of user name and password"),
	NEVER_INLINE("token"),
	SECTION(tree_gnmi_credential, tls, "tls", tls_section),
};
TABLE(gnmi_credential_section, tree_gnmi_credential, gnmi_credential_rows,
	"How to log in by gNMI.");

static const struct field credential_rows[] = {
	SECTION(tree_credential, snmp, "snmp", snmp_credential_section),
	SECTION(tree_credential, gnmi, "gnmi", gnmi_credential_section),
};
TABLE(credential_section, tree_credential, credential_rows,
	"Named ways to log in, for 'credentials:' of devices. Secrets are only ever named: a file, "
	"an environment variable or a systemd credential.");

static const struct field snmp_rows[] = {
	TEXT(tree_snmp, address, "address",
		"\"HOST\", \"HOST:PORT\" or \"[IPv6]:PORT\"; the port is 161 when not given.",
		.check = schema_check_address),
	TEXT(tree_snmp, credentials, "credentials",
		"A name from 'credentials:' that has an snmp section.", .check = schema_check_name),
	VALUE(tree_snmp, interval_ns, "interval", OPT_DURATION, NULL, "100ms", "1h",
		"Time between polls of the fast counters; defaults.interval when not given."),
	VALUE(tree_snmp, slow_interval_ns, "slow_interval", OPT_DURATION, NULL, "1s", "24h",
		"Time between polls of configuration and neighbours; defaults.slow_interval when "
		"not given."),
	VALUE(tree_snmp, timeout_ns, "timeout", OPT_DURATION, NULL, "10ms", "5m",
		"How long one request may stay unanswered; defaults.timeout when not given."),
	VALUE(tree_snmp, deadline_ns, "deadline", OPT_DURATION, NULL, "10ms", "1h",
		"How long one whole poll of the device may take before it is given up; the "
		"interval when not given."),
	VALUE(tree_snmp, retries, "retries", OPT_INT, "1", "0", "10",
		"How often an unanswered request is sent again."),
	VALUE(tree_snmp, max_varbinds_s, "max_varbinds_s", OPT_INT, "0", "0", "1000000",
		"At most this many values per second are asked of the device, to spare its CPU; 0 "
		"= no limit."),
	TEXT(tree_snmp, source, "source", "Local address to ask from.", .check = schema_check_ip),
	TEXT(tree_snmp, netns, "netns", "Network namespace (ip-netns name) to ask from.",
		.check = schema_check_name),
};
TABLE(snmp_section, tree_snmp, snmp_rows, "Poll this device by SNMP.");

static const char *const gnmi_encodings[] = {"auto", "proto", "json_ietf", "json", "ascii", NULL};
static const struct field gnmi_rows[] = {
	TEXT(tree_gnmi, address, "address",
		"\"HOST\", \"HOST:PORT\" or \"[IPv6]:PORT\"; the port is 9339 when not given.",
		.check = schema_check_address),
	TEXT(tree_gnmi, credentials, "credentials",
		"A name from 'credentials:' that has a gnmi section.", .check = schema_check_name),
	VALUE(tree_gnmi, interval_ns, "interval", OPT_DURATION, NULL, "100ms", "1h",
		"Sample interval asked for; defaults.interval when not given."),
	VALUE(tree_gnmi, slow_interval_ns, "slow_interval", OPT_DURATION, NULL, "1s", "24h",
		"Time between readings of configuration and names; defaults.slow_interval when not "
		"given."),
	VALUE(tree_gnmi, timeout_ns, "timeout", OPT_DURATION, "10s", "100ms", "5m",
		"How long making a connection, and the first data of a subscription, may take."),
	CHOICE(tree_gnmi, encoding, "encoding", gnmi_encodings, "auto",
		"How values are encoded; auto = what the profile prefers of what the device "
		"offers."),
	VALUE(tree_gnmi, max_message, "max_message", OPT_SIZE, "32MiB", "64KiB", "64MiB",
		"The largest message that is accepted from the device."),
};
TABLE(gnmi_section, tree_gnmi, gnmi_rows, "Subscribe to this device by gNMI.");

static const struct field sflow_rows[] = {
	TEXT(tree_sflow, agent, "agent",
		"Address that stands in the datagrams as the agent, when it is another than that "
		"of "
		"snmp or gnmi: often a loopback address of the switch.",
		.check = schema_check_ip),
	LIST(tree_sflow, ports, "ports", schema_check_sflow_port,
		"Ports by ifIndex, \"7=Ethernet4\", where SNMP does not tell them."),
	VALUE(tree_sflow, counters, "counters", OPT_BOOL, "false", NULL, NULL,
		"Store the counter samples of this device. For devices that neither SNMP nor gNMI "
		"asks; of others they are counted and not stored, because every counter would come "
		"twice."),
};
TABLE(sflow_section, tree_sflow, sflow_rows,
	"The sFlow agent of the device, for captures with 'listen'.");

static const struct field device_ports_rows[] = {
	LIST(tree_device_ports, exclude, "exclude", schema_check_text,
		"Ports that are no part of the fabric, with * and ?: links that LLDP tells of them "
		"are left out."),
	LIST(tree_device_ports, include, "include", schema_check_text,
		"Ports that are part of the fabric, although 'exclude' or the device's profile "
		"leaves them out."),
};
TABLE(device_ports_section, tree_device_ports, device_ports_rows,
	"Which ports belong to the fabric, for 'links: discover'. Ports of management are left out "
	"without being named here: the profile of the device knows them.");

static const struct field device_rows[] = {
	TEXT(tree_device, name, "name",
		"Name of the device everywhere in rocewatch. A differing sysName is reported.",
		.flags = FIELD_REQUIRED, .check = schema_check_device_name),
	CHOICE(tree_device, role, "role", roles, "other",
		"Place in the fabric. ECMP groups are derived from leaf to spine and spine to "
		"superspine."),
	TEXT(tree_device, rail, "rail",
		"Rail (plane) of a spine: uplinks to it form the group uplinks@RAIL.",
		.check = schema_check_name),
	TEXT(tree_device, profile, "profile",
		"What to collect and how (rocewatch profile list); defaults.profile when not "
		"given.",
		.check = schema_check_name),
	CHOICE(tree_device, lb, "load_balancing", lb_words, NULL,
		"How this device spreads load over equal paths; policy.load_balancing when not "
		"given."),
	SECTION(tree_device, snmp, "snmp", snmp_section),
	SECTION(tree_device, gnmi, "gnmi", gnmi_section),
	SECTION(tree_device, sflow, "sflow", sflow_section),
	SECTION(tree_device, push, "push", device_push_section),
	SECTION(tree_device, ports, "ports", device_ports_section),
};
TABLE(device_section, tree_device, device_rows, "The switches.");

static const struct field link_rows[] = {
	TEXT(tree_link, a, "a",
		"One end: \"DEVICE:PORT\" (native port name), or \"host:NAME[:NIC]\", or "
		"\"switch:NAME[:PORT]\": a switch that is not configured (\"unknown:NAME\", where "
		"LLDP "
		"does not tell which of the two it is).",
		.flags = FIELD_REQUIRED, .check = schema_check_endpoint),
	TEXT(tree_link, b, "b", "The other end, in the same form.", .flags = FIELD_REQUIRED,
		.check = schema_check_endpoint),
	VALUE(tree_link, cable_mm, "cable", OPT_LENGTH, NULL, "1cm", "100km",
		"Length of the cable (m = metres): headroom is computed from it."),
	VALUE(tree_link, speed_bps, "speed", OPT_BITRATE, NULL, "1M", "10T",
		"Speed the link should have; read from the device when not given, and a difference "
		"is reported."),
	TEXT(tree_link, rail, "rail",
		"Rail (plane) this link belongs to; the rail of the spine when not given.",
		.check = schema_check_name),
	CHOICE(tree_link, source, "source", link_sources, NULL,
		"Where the link comes from: written by a person, or reported by LLDP (links: "
		"discover) and then kept by the agent."),
};
TABLE(link_section, tree_link, link_rows,
	"The cables: a list, or the word 'discover' to take them from the switches (LLDP).");

static const struct field group_rows[] = {
	TEXT(tree_group, device, "device", "The device whose ports these are.",
		.flags = FIELD_REQUIRED, .check = schema_check_device_name),
	TEXT(tree_group, group, "group",
		"Name of the group; a derived group of that name (uplinks, to:DEVICE) is replaced.",
		.flags = FIELD_REQUIRED, .check = schema_check_text),
	{.kind = FIELD_VALUES,
		.option = {.name = "ports",
			.type = OPT_STRING,
			.offset = offsetof(struct tree_group, ports),
			.doc = "Its members: native port names; one name for a LAG."},
		.flags = FIELD_REQUIRED,
		.check = schema_check_text},
	CHOICE(tree_group, lb, "load_balancing", lb_words, NULL,
		"How load is spread over this group; the device's when not given."),
};
TABLE(group_section, tree_group, group_rows,
	"ECMP groups that cannot be derived from roles and links.");

static const struct field lag_rows[] = {
	TEXT(tree_lag, device, "device", "The device whose ports these are.",
		.flags = FIELD_REQUIRED, .check = schema_check_device_name),
	TEXT(tree_lag, name, "name", "Name of the aggregate interface.", .flags = FIELD_REQUIRED,
		.check = schema_check_text),
	{.kind = FIELD_VALUES,
		.option = {.name = "ports",
			.type = OPT_STRING,
			.offset = offsetof(struct tree_lag, ports),
			.doc = "Its member ports."},
		.flags = FIELD_REQUIRED,
		.check = schema_check_text},
};
TABLE(lag_section, tree_lag, lag_rows,
	"Link aggregates: one member of an ECMP group, and a group lag:NAME of their own.");

static const struct field lossless_rows[] = {
	{.kind = FIELD_VALUES,
		.option = {.name = "priorities",
			.type = OPT_STRING,
			.offset = offsetof(struct tree_lossless, priorities),
			.def = "3",
			.doc = "802.1p priorities that must not lose packets."},
		.check = schema_check_priority},
	VALUE(tree_lossless, mtu_bytes, "mtu", OPT_SIZE, NULL, "64B", "65535B",
		"Largest frame of these priorities."),
};
TABLE(lossless_section, tree_lossless, lossless_rows, "Which traffic is lossless.");

static const struct field class_rows[] = {
	VALUE(tree_class, priority, "priority", OPT_INT, NULL, "0", "7", "802.1p priority.",
		.flags = FIELD_REQUIRED),
	CHOICE(tree_class, congestion, "congestion", congestion_words, NULL,
		"What slows the senders of this class down; policy.congestion when not given."),
	CHOICE(tree_class, lossless, "lossless", class_lossless_words, NULL,
		"What keeps the class from losing packets: pfc = pause frames, credit = credits "
		"on each link (CBFC), none = it may lose or trim. When not given: as its "
		"congestion says."),
	CHOICE(tree_class, ecn, "ecn", class_ecn_words, NULL,
		"How its queues mark: absolute = Kmin and Kmax in bytes, relative = shares of the "
		"queue's dynamic quota (bytes are ignored then), off. What a device reports wins; "
		"a difference is reported."),
};
TABLE(class_section, tree_class, class_rows,
	"What differs in one class (priority) from the rest of the site.");

static const struct field policy_rows[] = {
	CHOICE(tree_policy, congestion, "congestion", congestion_words, "dcqcn",
		"What slows the senders down. A site that does without ECN is not paged for it. "
		"uet = Ultra Ethernet transport; mrc = multipath reliable connections (sprayed, "
		"trimmed, no PFC); credit = credits on each link (CBFC) instead of pause."),
	CHOICE(tree_policy, lb, "load_balancing", lb_words, "static",
		"How switches spread load over equal paths; only static hashing has a chance "
		"baseline. packet = packets one by one, near-equal; source_routed = the sender "
		"writes the path into each packet (SRv6), so switches choose nothing. What a "
		"device reports wins; a difference is reported."),
	SECTIONS(FIELD_SECTIONS, tree_policy, classes, "classes", class_section),
	{.kind = FIELD_VALUES,
		.option = {.name = "assumed",
			.type = OPT_STRING,
			.offset = offsetof(struct tree_policy, assumed),
			.doc = "Keys of this section that nobody declared: their values are "
			       "defaults. Written into the configuration that the agent stores; "
			       "not needed in a file."},
		.check = schema_check_policy_key},
};
TABLE(policy_section, tree_policy, policy_rows, "What the site means to do.");

#define THRESHOLD(member, key, doc_)                                                               \
	VALUE(tree_threshold, member, key, OPT_SIZE, NULL, NULL, "1TiB", doc_)
static const struct field threshold_rows[] = {
	VALUE(tree_threshold, devices, "devices", OPT_STRING, "*", NULL, NULL,
		"Device names, with * and ?.", .check = schema_check_text),
	VALUE(tree_threshold, ports, "ports", OPT_STRING, "*", NULL, NULL,
		"Port names, with * and ?.", .check = schema_check_text),
	VALUE(tree_threshold, priority, "priority", OPT_INT, NULL, "0", "7", "802.1p priority.",
		.flags = FIELD_REQUIRED),
	THRESHOLD(kmin, "kmin", "ECN: queue length from which packets are marked."),
	THRESHOLD(kmax, "kmax", "ECN: queue length from which every packet is marked."),
	VALUE(tree_threshold, pmax, "pmax", OPT_RATIO, NULL, "0%", "100%",
		"ECN: share of packets marked just below kmax."),
	VALUE(tree_threshold, alpha, "alpha", OPT_RATIO, NULL, "0", "1024",
		"Dynamic threshold of the priority group: share of the free pool, such as 1/8."),
	THRESHOLD(headroom, "headroom",
		"Bytes accepted after XOFF was sent (what is still in flight)."),
	THRESHOLD(xoff_level, "xoff_level", "Fill level at which XOFF is sent (static platforms)."),
	THRESHOLD(xon_level, "xon_level", "Fill level at which sending resumes."),
	THRESHOLD(xon_offset, "xon_offset", "Sending resumes this far below the limit."),
	THRESHOLD(cell, "cell", "Size of one buffer cell."),
	THRESHOLD(pool, "pool", "Size of the shared buffer pool."),
};
TABLE(threshold_section, tree_threshold, threshold_rows,
	"Buffer and ECN thresholds where no protocol can read them back. What a device reports "
	"wins; a difference is reported.");

static const struct field capture_rows[] = {
	TEXT(tree_capture, name, "name", "Name of the capture.", .flags = FIELD_REQUIRED,
		.check = schema_check_name),
	TEXT(tree_capture, interface, "interface",
		"Network interface to capture from: a mirror port, an ERSPAN device, a host's NIC.",
		.check = schema_check_interface),
	TEXT(tree_capture, listen, "listen",
		"ADDRESS:PORT to receive sFlow on, instead of an interface: an address of this "
		"machine, not all of them, such as \"127.0.0.1:6343\".",
		.check = schema_check_trap_listen),
	LIST(tree_capture, allow, "allow", schema_check_network,
		"With 'listen': networks or addresses that datagrams are taken from; others are "
		"counted and not read. When not given: the addresses of the devices above (snmp, "
		"gnmi, sflow.agent)."),
	TEXT(tree_capture, netns, "netns", "Network namespace (ip-netns name) of the interface.",
		.check = schema_check_name),
	TEXT(tree_capture, port, "port",
		"The switch port it mirrors, \"DEVICE:PORT\": its flows are then assigned to the "
		"ECMP member.",
		.check = schema_check_endpoint),
	CHOICE(tree_capture, direction, "direction", directions, "both",
		"Which packets of the interface: in = received by it, out = sent by it."),
	CHOICE(tree_capture, mirrored, "mirrored", directions, "both",
		"Which packets of the mirrored port the mirror session copies: in = received by "
		"the port, out = sent by it. All of them arrive at the interface."),
	VALUE(tree_capture, sampling, "sampling", OPT_INT, "1", "1", "10000000",
		"One packet in N reaches us: all counts are estimates then."),
	VALUE(tree_capture, snaplen, "snaplen", OPT_SIZE, "192B", "64B", "65535B",
		"Bytes kept of each packet; 192B holds all headers, also in a tunnel or mirror."),
	VALUE(tree_capture, buffer, "buffer", OPT_SIZE, "8MiB", "64KiB", "2GiB",
		"Kernel ring buffer; raise it when the doctor reports lost packets."),
	VALUE(tree_capture, interval_ns, "interval", OPT_DURATION, "10s", "100ms", "1h",
		"How often flow totals are written."),
};
TABLE(capture_section, tree_capture, capture_rows, "Where packets come from.");

static const struct field job_rows[] = {
	TEXT(tree_job, name, "name", "Name of the job.", .flags = FIELD_REQUIRED,
		.check = schema_check_text),
	VALUE(tree_job, gpus, "gpus", OPT_INT, NULL, "1", "10000000", "GPUs it runs on.",
		.flags = FIELD_REQUIRED),
	VALUE(tree_job, hosts, "hosts", OPT_STRING, "*", NULL, NULL,
		"Names of its hosts, with * and ?; several with commas: "
		"\"node-001,node-002,gpu-*\".",
		.check = schema_check_hosts),
	TEXT(tree_job, user, "user", "Who runs it.", .check = schema_check_text),
	CHOICE(tree_job, source, "source", job_sources, NULL,
		"Where the job comes from: written by a person, or read from a file of the "
		"scheduler (job_files) and then kept by the agent."),
	VALUE(tree_job, step_ns, "step", OPT_DURATION, "0s", "0s", "1h",
		"How long a step takes when all is well; with it losses are also shown as time per "
		"step, not only as shares. "
		"0s = not known."),
};
TABLE(job_section, tree_job, job_rows, "What runs where, for cost and blame.");

static const struct field job_file_rows[] = {
	TEXT(tree_job_file, path, "path",
		"The file: what squeue --json or kubectl get pods -A -o json printed. Write it to "
		"another name and rename it, so that it is never half there.",
		.flags = FIELD_REQUIRED, .check = schema_check_text),
	CHOICE(tree_job_file, format, "format", job_formats, "auto",
		"Who wrote it; auto = seen from what it holds."),
	VALUE(tree_job_file, max_age_ns, "max_age", OPT_DURATION, "10m", "10s", "30d",
		"An older file says nothing: its jobs are no longer named, and doctor warns."),
	VALUE(tree_job_file, min_hosts, "min_hosts", OPT_INT, "2", "1", "100000",
		"Jobs on fewer hosts are left out: a job on one host does not use the fabric."),
	VALUE(tree_job_file, gpus_per_host, "gpus_per_host", OPT_INT, "0", "0", "1024",
		"GPUs of a host, for jobs of which the scheduler does not say how many they have; "
		"0 = such jobs are left out."),
};
TABLE(job_file_section, tree_job_file, job_file_rows,
	"Files in which the scheduler says what runs where.");

static const struct field cost_rows[] = {
	VALUE(tree_cost, usd_per_gpu_hour, "usd_per_gpu_hour", OPT_DOUBLE, NULL, "0", "100000",
		"Price of one GPU for one hour, US dollars. Incidents are priced with it."),
};
TABLE(cost_section, tree_cost, cost_rows, "What waiting costs.");

static const struct field retention_rows[] = {
	VALUE(tree_retention, raw_ns, "raw", OPT_DURATION, "7d", "1m", "10y",
		"How long samples are kept as they came, with flows and findings."),
	VALUE(tree_retention, minute_ns, "minute", OPT_DURATION, "90d", "1m", "20y",
		"How long minutes are kept: least, greatest, mean, p99, increase and coverage of "
		"each "
		"series. They are made as samples come, and answer where samples are gone."),
	VALUE(tree_retention, hour_ns, "hour", OPT_DURATION, "2y", "1m", "50y",
		"How long hours are kept: the same as minutes, for each hour."),
	VALUE(tree_retention, events_ns, "events", OPT_DURATION, "1y", "1h", "50y",
		"How long events, ended silences and former configurations are kept."),
	VALUE(tree_retention, incidents_ns, "incidents", OPT_DURATION, "2y", "1h", "50y",
		"How long closed incidents, with their events and alerts, and ended "
		"recommendations are kept. What is open is always kept."),
};
TABLE(retention_section, tree_retention, retention_rows, "How long history is kept.");

static const struct field store_rows[] = {
	VALUE(tree_store, path, "path", OPT_STRING, "/var/lib/rocewatch/rocewatch.db", NULL, NULL,
		"Database file on a local disk. An agent always writes a file. Commands that only "
		"read "
		"also take clickhouse://HOST:PORT/DATABASE, where agents ship to.",
		.check = schema_check_no_login),
	VALUE(tree_store, quota_bytes, "quota", OPT_SIZE, "40GB", "1MB", "1000TB",
		"When the database grows past this, the oldest detail goes first. What open "
		"incidents "
		"and threshold reviews rest on stays."),
	SECTION(tree_store, retention, "retention", retention_section),
	SECTION(tree_store, ship, "ship", ship_section),
};
TABLE(store_section, tree_store, store_rows, "Where history is kept.");

static const struct field defaults_rows[] = {
	VALUE(tree_defaults, interval_ns, "interval", OPT_DURATION, "10s", "100ms", "1h",
		"Time between polls of the fast counters."),
	VALUE(tree_defaults, slow_interval_ns, "slow_interval", OPT_DURATION, "5m", "1s", "24h",
		"Time between polls of configuration and neighbours."),
	VALUE(tree_defaults, timeout_ns, "timeout", OPT_DURATION, "2s", "10ms", "5m",
		"How long one request may stay unanswered."),
	VALUE(tree_defaults, profile, "profile", OPT_STRING, "auto", NULL, NULL,
		"Profile of devices that name none; auto = by what the device says it is.",
		.check = schema_check_name),
};
TABLE(defaults_section, tree_defaults, defaults_rows, "For devices that do not say otherwise.");

static const struct field http_tls_rows[] = {
	TEXT(tree_http_tls, cert, "cert",
		"File with the server's certificate and the ones that sign it, PEM.",
		.flags = FIELD_REQUIRED, .check = schema_check_text),
	TEXT(tree_http_tls, key, "key", "File with the private key of cert, PEM, mode 0600.",
		.flags = FIELD_REQUIRED, .check = schema_check_text),
};
TABLE(http_tls_section, tree_http_tls, http_tls_rows,
	"Serve HTTPS, TLS 1.2 or newer. The files are read again at SIGHUP.");

static const struct field http_rows[] = {
	TEXT(tree_http, listen, "listen",
		"ADDRESS:PORT of web page, API and metrics. An address outside this machine needs "
		"tls and tokens_file.",
		.flags = FIELD_REQUIRED, .check = schema_check_http_listen),
	SECTION(tree_http, tls, "tls", http_tls_section),
	TEXT(tree_http, tokens_file, "tokens_file",
		"File with the bearer tokens that clients must send, mode 0600: one line each, "
		"TOKEN or NAME TOKEN, at least 16 characters. Read again at SIGHUP.",
		.check = schema_check_text),
	{.kind = FIELD_VALUES,
		.option = {.name = "allow",
			.type = OPT_STRING,
			.offset = offsetof(struct tree_http, allow),
			.doc = "Networks whose clients may connect, such as 10.0.0.0/8; all when "
			       "not given."},
		.check = schema_check_network},
	{.kind = FIELD_VALUES,
		.option = {.name = "hosts",
			.type = OPT_STRING,
			.offset = offsetof(struct tree_http, hosts),
			.doc = "Names by which clients may call this server (the Host header), "
			       "beside localhost: the name that a reverse proxy passes on."},
		.check = schema_check_text},
	VALUE(tree_http, max_connections, "max_connections", OPT_INT, "2000", "10", "20000",
		"Connections at the same time. When nearly all are in use, the one that is quiet "
		"for longest is closed."),
	VALUE(tree_http, request_timeout_ns, "request_timeout", OPT_DURATION, "30s", "1s", "10m",
		"How long a request may take to arrive, and a document to be made."),
	VALUE(tree_http, metrics_top, "metrics_top", OPT_INT, "20", "1", "10000",
		"/metrics: series of one family that are kept apart by port, group or incident; "
		"how many more there are is a metric too."),
	VALUE(tree_http, metrics_all_ports, "metrics_all_ports", OPT_BOOL, "false", NULL, NULL,
		"/metrics: counters of every port, about 25 series each. Else of ports that are "
		"paused most, of the busiest uplinks, and of those with an open incident."),
	VALUE(tree_http, insecure, "insecure", OPT_BOOL, "false", NULL, NULL,
		"Serve an address outside this machine without TLS or without tokens: everybody "
		"who reaches it reads everything."),
};
TABLE(http_section, tree_http, http_rows,
	"Web page, JSON API and metrics, read-only. Off when not given.");

static const struct field traps_rows[] = {
	TEXT(tree_traps, listen, "listen",
		"ADDRESS:PORT to take traps and informs on: an address of this machine, not all of "
		"them. Ports below 1024 need a right "
		"that the agent does not keep; send to 1162, or redirect 162.",
		.flags = FIELD_REQUIRED, .check = schema_check_trap_listen),
	{.kind = FIELD_VALUES,
		.option = {.name = "credentials",
			.type = OPT_STRING,
			.offset = offsetof(struct tree_traps, credentials),
			.doc = "Names from 'credentials:' whose communities and SNMPv3 users are "
			       "accepted in traps; others are dropped and counted."},
		.flags = FIELD_REQUIRED,
		.check = schema_check_name},
};
TABLE(traps_section, tree_traps, traps_rows,
	"Receive SNMP traps and informs of the devices above (linkDown, restarts, PFC "
	"notifications); each becomes an event. Off when not given.");

static const struct field tuning_name_rows[] = {
	VALUE(tree_tuning_name, devices, "devices", OPT_STRING, "*", NULL, NULL,
		"Device names, with * and ?.", .check = schema_check_text),
	TEXT(tree_tuning_name, object, "object",
		"What is named, as the profile of the device calls it: wred_profile, "
		"buffer_profile, qos_profile, mmu_profile, queuing_out, "
		"queuing_in, congestion_profile, pfc_profile, drop_profile, cnp_profile.",
		.flags = FIELD_REQUIRED, .check = schema_check_name),
	TEXT(tree_tuning_name, name, "name", "Its name on these devices.", .flags = FIELD_REQUIRED,
		.check = schema_check_name),
};
TABLE(tuning_name_section, tree_tuning_name, tuning_name_rows,
	"What a site calls the objects that hold thresholds; the first entry that fits a device "
	"counts.");

static const struct field tuning_rows[] = {
	VALUE(tree_tuning, min_evidence_ns, "min_evidence", OPT_DURATION, "1h", "10s", "365d",
		"No threshold change is advised on less history than this."),
	VALUE(tree_tuning, min_coverage, "min_coverage", OPT_RATIO, "95%", "0%", "100%",
		"Share of that history that must be there."),
	VALUE(tree_tuning, base_rtt_ns, "base_rtt", OPT_DURATION, "10us", "100ns", "10ms",
		"Round trip through the idle fabric, host to host: what the bandwidth-delay "
		"product is made of (two tiers: 8 to 12 us)."),
	VALUE(tree_tuning, max_pmax, "max_pmax", OPT_RATIO, "20%", "1%", "100%",
		"No higher marking probability is advised."),
	SECTIONS(FIELD_SECTIONS, tree_tuning, names, "names", tuning_name_section),
};
TABLE(tuning_section, tree_tuning, tuning_rows, "When thresholds are advised.");

static const struct field limits_rows[] = {
	VALUE(tree_limits, names_per_device, "names_per_device", OPT_INT, "32768", "64", "16000000",
		"Ports, queues, priorities and pools of one device together. A new name beyond is "
		"refused, counted and told."),
	VALUE(tree_limits, names, "names", OPT_INT, "4000000", "1000", "16000000",
		"The same of all devices together."),
	VALUE(tree_limits, ports_per_device, "ports_per_device", OPT_INT, "4096", "16", "262144",
		"Ports of one switch that are followed over SNMP. Those that are known already "
		"come "
		"first; a new one beyond is left out, counted and told."),
	VALUE(tree_limits, forget_ns, "forget", OPT_DURATION, "1h", "1m", "30d",
		"A port or queue that nothing was heard of for so long, beyond what any window "
		"still "
		"needs, leaves memory. The database keeps it as long as its retention says."),
};
TABLE(limits_section, tree_limits, limits_rows,
	"How many names switches may invent: a faulty or hostile one must not fill the memory of "
	"the agent.");

static const struct field root_rows[] = {
	VALUE(config_tree, fabric, "fabric", OPT_STRING, "fabric", NULL, NULL,
		"Name of the fabric; incident numbers are made from it, so do not change it.",
		.check = schema_check_name),
	SECTION(config_tree, store, "store", store_section),
	SECTIONS(FIELD_NAMED, config_tree, credentials, "credentials", credential_section),
	SECTION(config_tree, defaults, "defaults", defaults_section),
	SECTIONS(FIELD_SECTIONS, config_tree, devices, "devices", device_section),
	SECTIONS(FIELD_LINKS, config_tree, links, "links", link_section),
	SECTIONS(FIELD_SECTIONS, config_tree, groups, "ecmp", group_section),
	SECTIONS(FIELD_SECTIONS, config_tree, lags, "lags", lag_section),
	SECTION(config_tree, lossless, "lossless", lossless_section),
	SECTION(config_tree, policy, "policy", policy_section),
	SECTIONS(FIELD_SECTIONS, config_tree, thresholds, "thresholds", threshold_section),
	SECTIONS(FIELD_SECTIONS, config_tree, captures, "capture", capture_section),
	SECTIONS(FIELD_SECTIONS, config_tree, pushes, "push", push_section),
	SECTIONS(FIELD_SECTIONS, config_tree, jobs, "jobs", job_section),
	SECTIONS(FIELD_SECTIONS, config_tree, job_files, "job_files", job_file_section),
	SECTION(config_tree, cost, "cost", cost_section),
	{.kind = FIELD_MODULES,
		.option = {.name = "analyzers", .doc = "Options of the analyzers, by name."}},
	SECTION(config_tree, tuning, "tuning", tuning_section),
	SECTION(config_tree, limits, "limits", limits_section),
	SECTIONS(FIELD_SECTIONS, config_tree, agents, "agents", agents_section),
	SECTION(config_tree, judge, "judge", judge_section),
	SECTION(config_tree, http, "http", http_section),
	SECTION(config_tree, traps, "traps", traps_section),
	SECTION(config_tree, alerts, "alerts", alerts_section),
	TEXT(config_tree, socket, "socket",
		"Socket for commands to the running agent; the store's path with .sock when not "
		"given.",
		.check = schema_check_text),
	TEXT(config_tree, user, "user",
		"User to become after the start; the agent stays who it is when not given.",
		.check = schema_check_name),
	TEXT(config_tree, profile_dir, "profile_dir",
		"Directory with the site's own profiles, which win over built-in ones.",
		.check = schema_check_text),
};
const struct section schema_root = {
	.size = sizeof(struct config_tree),
	.fields = root_rows,
	.n_fields = rw_countof(root_rows),
	.doc = "The configuration of rocewatch.",
};

const struct field *schema_find(const struct section *section, const char *name)
{
	for (size_t i = 0; i < section->n_fields; i++)
		if (strcmp(section->fields[i].option.name, name) == 0)
			return &section->fields[i];
	return NULL;
}

char *schema_type_text(const struct field *field, char *buf, size_t size)
{
	static const char *const names[] = {
		[OPT_BOOL] = "true or false",
		[OPT_INT] = "whole number",
		[OPT_DOUBLE] = "number",
		[OPT_RATIO] = "ratio such as 20% or 1/8",
		[OPT_DURATION] = "duration such as 10s",
		[OPT_SIZE] = "size such as 88064B",
		[OPT_BITRATE] = "bit rate such as 400G",
		[OPT_LENGTH] = "length such as 30m",
		[OPT_STRING] = "text",
		[OPT_ENUM] = "one of",
	};
	switch (field->kind) {
	case FIELD_VALUE:
		if (field->option.type == OPT_ENUM) {
			rw_cleanup(str_done) struct str b = {0};
			for (const char *const *c = field->option.choices; *c; c++)
				str_addf(&b, "%s%s", str_if(b.n, " | "), *c);
			snprintf(buf, size, "%s", b.s);
		} else {
			snprintf(buf, size, "%s", names[field->option.type]);
		}
		break;
	case FIELD_VALUES: snprintf(buf, size, "list such as [a, b]"); break;
	case FIELD_SECTION: snprintf(buf, size, "section"); break;
	case FIELD_SECTIONS: snprintf(buf, size, "list of sections"); break;
	case FIELD_ONE_OR_MORE: snprintf(buf, size, "section, or list of sections"); break;
	case FIELD_NAMED: snprintf(buf, size, "sections, each under a name that you choose"); break;
	case FIELD_LINKS: snprintf(buf, size, "list of sections, or 'discover'"); break;
	case FIELD_MODULES: snprintf(buf, size, "sections, each under the name of a module"); break;
	case FIELD_REFUSED: snprintf(buf, size, "not allowed"); break;
	}
	return buf;
}

bool schema_unset(const struct option *option, const void *base)
{
	const char *p = (const char *)base + option->offset;
	if (option->def)
		return false;
	switch (option->type) {
	case OPT_STRING: return *(const char *const *)(const void *)p == NULL;
	case OPT_ENUM: return *(const int *)(const void *)p == -1;
	case OPT_RATIO:
	case OPT_DOUBLE: return isnan(*(const double *)(const void *)p);
	case OPT_INT:
	case OPT_DURATION: return *(const int64_t *)(const void *)p == 0;
	case OPT_SIZE:
	case OPT_BITRATE:
	case OPT_LENGTH: return *(const uint64_t *)(const void *)p == 0;
	case OPT_BOOL: break;
	}
	return false;
}

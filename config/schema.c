/*
 * schema - the keys of rocewatch.yaml as rows: their names, types, units, ranges, defaults and
 * prose. The only place that knows them; kinds of receivers of alerts bring their own. The macros
 * are explained in schema.h.
 */
#include "config/schema.h"

#include "config/class_policy.h"
#include "config/receiver_rows.h"

/* ---- choices; the order is the order of the enums they become ------------ */

static const char *const versions[] = {"1", "2c", "3", NULL};
static const char *const auths[] = {
	"none", "md5", "sha1", "sha224", "sha256", "sha384", "sha512", NULL};
static const char *const privs[] = {"none", "des", "aes128", "aes192", "aes256", NULL};
static const char *const roles[] = {"leaf", "spine", "superspine", "other", NULL};
static const char *const directions[] = {"in", "out", "both", NULL};
static const char *const link_sources[] = {"declared", "discovered", NULL};
static const char *const job_sources[] = {"declared", "scheduler", NULL};
/* in the order of enum severity (db/model/finding.h) */
const char *const schema_severities[] = {"info", "warning", "critical", NULL};
static const char *const job_formats[] = {"auto", "slurm", "kubernetes", NULL};

/* ---- sections, inner ones first ------------------------------------------ */

static const struct field snmp_credential_rows[] = {
	CHOICE(config_snmp_credential, version_read, "version", versions, NULL, "SNMP version.",
		.flags = FIELD_REQUIRED),
	SECRET(config_snmp_credential, community, "community", "Community of versions 1 and 2c"),
	NEVER_INLINE("community"),
	TEXT(config_snmp_credential, user, "user", "User name (securityName) of version 3.",
		.check = schema_check_text),
	TEXT(config_snmp_credential, context_read, "context", "Context name of version 3."),
	CHOICE(config_snmp_credential, auth_read, "auth", auths, NULL,
		"Authentication protocol of version 3, none when not given. sha256 where the "
		"switch can."),
	SECRET(config_snmp_credential, auth_secret, "auth", "Pass phrase of authentication"),
	CHOICE(config_snmp_credential, priv_read, "priv", privs, NULL,
		"Encryption of version 3, none when not given. aes128 where the switch can."),
	SECRET(config_snmp_credential, priv_secret, "priv", "Pass phrase of encryption"),
};
TABLE(snmp_credential_section, config_snmp_credential, snmp_credential_rows,
	"How to log in by SNMP.");

static const struct field tls_rows[] = {
	TEXT(config_login, tls_ca, "ca",
		"File with the certificates of the authorities that sign the switches' "
		"certificates.",
		.check = schema_check_text),
	TEXT(config_login, tls_cert, "cert",
		"File with our own certificate, for switches that ask for one.",
		.check = schema_check_text),
	TEXT(config_login, tls_key, "key", "File with the private key of cert.",
		.check = schema_check_text),
	TEXT(config_login, tls_server_name, "server_name",
		"Name to expect in the switch's certificate when it is not the address.",
		.check = schema_check_text),
	VALUE(config_login, tls_off, "off", OPT_BOOL, "false", NULL, NULL,
		"No TLS at all: user name and password cross the network readable."),
	VALUE(config_login, tls_skip_verify, "skip_verify", OPT_BOOL, "false", NULL, NULL,
		"Do not check the switch's certificate: anyone in between can pose as it."),
};
TABLE(tls_section, config_login, tls_rows, "Encryption of gNMI.");

static const struct field gnmi_credential_rows[] = {
	TEXT(config_login, username, "username", "User name.", .check = schema_check_text),
	SECRET(config_login, password, "password", "Password"),
	NEVER_INLINE("password"),
	SECRET(config_login, token, "token", "Bearer token, instead of user name and password"),
	NEVER_INLINE("token"),
	INSIDE(config_login, tls_node, "tls", tls_section),
};
TABLE(gnmi_credential_section, config_login, gnmi_credential_rows, "How to log in by gNMI.");

static const struct field scrape_login_tls_rows[] = {
	TEXT(config_login, tls_ca, "ca",
		"File with the certificates of the authorities that sign the exporters' "
		"certificates; the system's when not given.",
		.check = schema_check_text),
	TEXT(config_login, tls_cert, "cert",
		"File with our own certificate, for exporters that ask for one.",
		.check = schema_check_text),
	TEXT(config_login, tls_key, "key", "File with the private key of cert.",
		.check = schema_check_text),
	VALUE(config_login, tls_skip_verify, "skip_verify", OPT_BOOL, "false", NULL, NULL,
		"Do not check the exporter's certificate: anyone in between can pose as it."),
};
TABLE(scrape_login_tls_section, config_login, scrape_login_tls_rows,
	"Encryption towards exporters, for https.");

static const struct field scrape_login_rows[] = {
	TEXT(config_login, username, "username", "User name.", .check = schema_check_text),
	SECRET(config_login, password, "password", "Password"),
	NEVER_INLINE("password"),
	SECRET(config_login, token, "token", "Bearer token, instead of user name and password"),
	NEVER_INLINE("token"),
	INSIDE(config_login, tls_node, "tls", scrape_login_tls_section),
};
TABLE(scrape_login_section, config_login, scrape_login_rows, "How to log in at an exporter.");

static const struct field credential_rows[] = {
	SECTION(config_credential, snmp, "snmp", snmp_credential_section),
	SECTION(config_credential, gnmi, "gnmi", gnmi_credential_section),
	SECTION(config_credential, scrape, "scrape", scrape_login_section),
};
TABLE(credential_section, config_credential, credential_rows,
	"Named ways to log in, for 'credentials:' of devices. Secrets are only ever named: a file, "
	"an environment variable or a systemd credential.");

static const struct field snmp_rows[] = {
	TEXT(config_snmp, address_read, "address",
		"\"HOST\", \"HOST:PORT\" or \"[IPv6]:PORT\"; the port is 161 when not given.",
		.check = schema_check_address),
	TEXT(config_snmp, credentials, "credentials",
		"A name from 'credentials:' that has an snmp section.", .check = schema_check_name),
	VALUE(config_snmp, interval_ns, "interval", OPT_DURATION, NULL, "100ms", "1h",
		"Time between polls of the fast counters; defaults.interval when not given."),
	VALUE(config_snmp, slow_interval_ns, "slow_interval", OPT_DURATION, NULL, "1s", "24h",
		"Time between polls of configuration and neighbours; defaults.slow_interval when "
		"not given."),
	VALUE(config_snmp, timeout_ns, "timeout", OPT_DURATION, NULL, "10ms", "5m",
		"How long one request may stay unanswered; defaults.timeout when not given."),
	VALUE(config_snmp, deadline_ns, "deadline", OPT_DURATION, NULL, "10ms", "1h",
		"How long one whole poll of the device may take before it is given up; the "
		"interval when not given."),
	VALUE(config_snmp, retries, "retries", OPT_INT, "1", "0", "10",
		"How often an unanswered request is sent again."),
	VALUE(config_snmp, max_varbinds_s, "max_varbinds_s", OPT_INT, "0", "0", "1000000",
		"At most this many values per second are asked of the device, to spare its CPU; 0 "
		"= no limit."),
	TEXT(config_snmp, source, "source", "Local address to ask from.", .check = schema_check_ip),
	TEXT(config_snmp, netns, "netns", "Network namespace (ip-netns name) to ask from.",
		.check = schema_check_name),
};
TABLE(snmp_section, config_snmp, snmp_rows, "Poll this device by SNMP.");

static const char *const gnmi_encodings[] = {"auto", "proto", "json_ietf", "json", "ascii", NULL};
static const struct field gnmi_rows[] = {
	TEXT(config_gnmi, address_read, "address",
		"\"HOST\", \"HOST:PORT\" or \"[IPv6]:PORT\"; the port is 9339 when not given.",
		.check = schema_check_address),
	TEXT(config_gnmi, credentials, "credentials",
		"A name from 'credentials:' that has a gnmi section.", .check = schema_check_name),
	VALUE(config_gnmi, interval_ns, "interval", OPT_DURATION, NULL, "100ms", "1h",
		"Sample interval asked for; defaults.interval when not given."),
	VALUE(config_gnmi, slow_interval_ns, "slow_interval", OPT_DURATION, NULL, "1s", "24h",
		"Time between readings of configuration and names; defaults.slow_interval when not "
		"given."),
	VALUE(config_gnmi, timeout_ns, "timeout", OPT_DURATION, "10s", "100ms", "5m",
		"How long making a connection, and the first data of a subscription, may take."),
	CHOICE(config_gnmi, encoding_read, "encoding", gnmi_encodings, "auto",
		"How values are encoded; auto = what the profile prefers of what the device "
		"offers."),
	VALUE(config_gnmi, max_message, "max_message", OPT_SIZE, "32MiB", "64KiB", "64MiB",
		"The largest message that is accepted from the device."),
};
TABLE(gnmi_section, config_gnmi, gnmi_rows, "Subscribe to this device by gNMI.");

static const struct field sflow_rows[] = {
	TEXT(config_sflow, agent, "agent",
		"Address that stands in the datagrams as the agent, when it is another than that "
		"of "
		"snmp or gnmi: often a loopback address of the switch.",
		.check = schema_check_ip),
	LIST(config_sflow, ports_read.v, ports_read.n, "ports", NULL, schema_check_sflow_port,
		"Ports by ifIndex, \"7=Ethernet4\", where SNMP does not tell them."),
	VALUE(config_sflow, counters, "counters", OPT_BOOL, "false", NULL, NULL,
		"Store the counter samples of this device. For devices that neither SNMP nor gNMI "
		"asks; of others they are counted and not stored, because every counter would come "
		"twice."),
};
TABLE(sflow_section, config_sflow, sflow_rows,
	"The sFlow agent of the device, for captures with 'listen'.");

static const struct field device_ports_rows[] = {
	LIST(config_device, exclude.v, exclude.n, "exclude", NULL, schema_check_text,
		"Ports that are no part of the fabric, with * and ?: links that LLDP tells of them "
		"are left out."),
	LIST(config_device, include.v, include.n, "include", NULL, schema_check_text,
		"Ports that are part of the fabric, although 'exclude' or the device's profile "
		"leaves them out."),
};
TABLE(device_ports_section, config_device, device_ports_rows,
	"Which ports belong to the fabric, for 'links: discover'. Ports of management are left out "
	"without being named here: the profile of the device knows them.");

static const struct field device_push_rows[] = {
	TEXT(config_device_push, address, "address",
		"Address that the device sends from, when it is another than that of snmp or gnmi.",
		.check = schema_check_ip),
	LIST(config_device_push, names, n_names, "names", NULL, schema_check_text,
		"How the device calls itself in what it sends (host.name and the like), beside its "
		"name here."),
	VALUE(config_device_push, pin, "pin", OPT_BOOL, "false", NULL, NULL,
		"Only what comes from the device's own address is taken as its: a message that "
		"names it from elsewhere is refused and told. Not with a Collector between."),
	LIST(config_device_push, objects, n_objects, "objects", NULL, schema_check_objects,
		"With IPFIX: what the object numbers mean, \"PORT 1,2=Ethernet0,Ethernet4\" or "
		"\"QUEUE 1=Ethernet0|3\": object_ids and object_names of STATE_DB, "
		"HIGH_FREQUENCY_TELEMETRY_SESSION_TABLE."),
	VALUE(config_device_push, interval_ns, "interval", OPT_DURATION, NULL, "100ms", "1h",
		"How often it sends; three times that without a value and it is silent. "
		"defaults.interval when not given."),
};
TABLE(device_push_section, config_device_push, device_push_rows,
	"The device pushes its values to a receiver of 'push:'. Beside snmp or gnmi, what "
	"is pushed wins, and what is polled fills the gaps.");

static const struct field device_rows[] = {
	TEXT(config_device, name, "name",
		"Name of the device everywhere in rocewatch. A differing sysName is reported.",
		.flags = FIELD_REQUIRED, .check = schema_check_device_name),
	CHOICE(config_device, role, "role", roles, "other",
		"Place in the fabric. ECMP groups are derived from leaf to spine and spine to "
		"superspine."),
	TEXT(config_device, rail, "rail",
		"Rail (plane) of a spine: uplinks to it form the group uplinks@RAIL.",
		.check = schema_check_name),
	TEXT(config_device, profile, "profile",
		"What to collect and how (rocewatch profile list); defaults.profile when not "
		"given.",
		.check = schema_check_name),
	CHOICE(config_device, lb, "load_balancing", lb_words, NULL,
		"How this device spreads load over equal paths; policy.load_balancing when not "
		"given."),
	SECTION(config_device, snmp, "snmp", snmp_section),
	SECTION(config_device, gnmi, "gnmi", gnmi_section),
	SECTION(config_device, sflow, "sflow", sflow_section),
	SECTION(config_device, push, "push", device_push_section),
	INSIDE(config_device, ports_node, "ports", device_ports_section),
};
TABLE(device_section, config_device, device_rows, "The switches.");

static const struct field link_rows[] = {
	TEXT(config_cable, a, "a",
		"One end: \"DEVICE:PORT\" (native port name), or \"host:NAME[:NIC]\", or "
		"\"switch:NAME[:PORT]\": a switch that is not configured (\"unknown:NAME\", where "
		"LLDP "
		"does not tell which of the two it is).",
		.flags = FIELD_REQUIRED, .check = schema_check_endpoint),
	TEXT(config_cable, b, "b", "The other end, in the same form.", .flags = FIELD_REQUIRED,
		.check = schema_check_endpoint),
	VALUE(config_cable, cable_mm, "cable", OPT_LENGTH, NULL, "1cm", "100km",
		"Length of the cable (m = metres): headroom is computed from it."),
	VALUE(config_cable, speed_bps, "speed", OPT_BITRATE, NULL, "1M", "10T",
		"Speed the link should have; read from the device when not given, and a difference "
		"is reported."),
	TEXT(config_cable, rail, "rail",
		"Rail (plane) this link belongs to; the rail of the spine when not given.",
		.check = schema_check_name),
	CHOICE(config_cable, source, "source", link_sources, NULL,
		"Where the link comes from: written by a person, or reported by LLDP (links: "
		"discover) and then kept by the agent."),
};
TABLE(link_section, config_cable, link_rows,
	"The cables: a list, or the word 'discover' to take them from the switches (LLDP).");

static const struct field group_rows[] = {
	TEXT(config_group, device, "device", "The device whose ports these are.",
		.flags = FIELD_REQUIRED, .check = schema_check_device_name),
	TEXT(config_group, group, "group",
		"Name of the group; a derived group of that name (uplinks, to:DEVICE) is replaced.",
		.flags = FIELD_REQUIRED, .check = schema_check_text),
	LIST(config_group, ports.v, ports.n, "ports", NULL, schema_check_text,
		"Its members: native port names; one name for a LAG.", .flags = FIELD_REQUIRED),
	CHOICE(config_group, lb, "load_balancing", lb_words, NULL,
		"How load is spread over this group; the device's when not given."),
};
TABLE(group_section, config_group, group_rows,
	"ECMP groups that cannot be derived from roles and links.");

static const struct field lag_rows[] = {
	TEXT(config_lag, device, "device", "The device whose ports these are.",
		.flags = FIELD_REQUIRED, .check = schema_check_device_name),
	TEXT(config_lag, name, "name", "Name of the aggregate interface.", .flags = FIELD_REQUIRED,
		.check = schema_check_text),
	LIST(config_lag, ports.v, ports.n, "ports", NULL, schema_check_text, "Its member ports.",
		.flags = FIELD_REQUIRED),
};
TABLE(lag_section, config_lag, lag_rows,
	"Link aggregates: one member of an ECMP group, and a group lag:NAME of their own.");

static const struct field lossless_rows[] = {
	LIST(config_lossless, priorities.v, priorities.n, "priorities", "3", schema_check_priority,
		"802.1p priorities that must not lose packets."),
	VALUE(config_lossless, mtu_bytes, "mtu", OPT_SIZE, NULL, "64B", "65535B",
		"Largest frame of these priorities."),
};
TABLE(lossless_section, config_lossless, lossless_rows, "Which traffic is lossless.");

static const struct field class_rows[] = {
	VALUE(config_class, priority, "priority", OPT_INT, NULL, "0", "7", "802.1p priority.",
		.flags = FIELD_REQUIRED),
	CHOICE(config_class, congestion, "congestion", congestion_words, NULL,
		"What slows the senders of this class down; policy.congestion when not given."),
	CHOICE(config_class, lossless, "lossless", class_lossless_words, NULL,
		"What keeps the class from losing packets: pfc = pause frames, credit = credits "
		"on each link (CBFC), none = it may lose or trim. When not given: as its "
		"congestion says."),
	CHOICE(config_class, ecn, "ecn", class_ecn_words, NULL,
		"How its queues mark: absolute = Kmin and Kmax in bytes, relative = shares of the "
		"queue's dynamic quota (bytes are ignored then), off. What a device reports wins; "
		"a difference is reported."),
};
TABLE(class_section, config_class, class_rows,
	"What differs in one class (priority) from the rest of the site.");

static const struct field policy_rows[] = {
	CHOICE(config_policy, congestion, "congestion", congestion_words, "dcqcn",
		"What slows the senders down. A site that does without ECN is not paged for it. "
		"uet = Ultra Ethernet transport; mrc = multipath reliable connections (sprayed, "
		"trimmed, no PFC); credit = credits on each link (CBFC) instead of pause."),
	CHOICE(config_policy, lb, "load_balancing", lb_words, "static",
		"How switches spread load over equal paths; only static hashing has a chance "
		"baseline. packet = packets one by one, near-equal; source_routed = the sender "
		"writes the path into each packet (SRv6), so switches choose nothing. What a "
		"device reports wins; a difference is reported."),
	SECTIONS(FIELD_SECTIONS, config_policy, classes, n_classes, "classes", class_section),
	LIST(config_policy, assumed.v, assumed.n, "assumed", NULL, schema_check_policy_key,
		"Keys of this section that nobody declared: their values are "
		"defaults. Written into the configuration that the agent stores; "
		"not needed in a file."),
};
TABLE(policy_section, config_policy, policy_rows, "What the site means to do.");

#define THRESHOLD(member, key, doc_)                                                               \
	VALUE(fabric_threshold, member, key, OPT_SIZE, NULL, NULL, "1TiB", doc_)
static const struct field threshold_rows[] = {
	VALUE(fabric_threshold, devices, "devices", OPT_STRING, "*", NULL, NULL,
		"Device names, with * and ?.", .check = schema_check_text),
	VALUE(fabric_threshold, ports, "ports", OPT_STRING, "*", NULL, NULL,
		"Port names, with * and ?.", .check = schema_check_text),
	VALUE(fabric_threshold, priority, "priority", OPT_INT, NULL, "0", "7", "802.1p priority.",
		.flags = FIELD_REQUIRED),
	THRESHOLD(kmin_bytes, "kmin", "ECN: queue length from which packets are marked."),
	THRESHOLD(kmax_bytes, "kmax", "ECN: queue length from which every packet is marked."),
	VALUE(fabric_threshold, pmax, "pmax", OPT_RATIO, NULL, "0%", "100%",
		"ECN: share of packets marked just below kmax."),
	VALUE(fabric_threshold, kmin_share, "kmin_share", OPT_RATIO, NULL, "0%", "100%",
		"Relative ECN: share of the queue's dynamic quota from which packets are marked; "
		"kmin and kmax are ignored then."),
	VALUE(fabric_threshold, kmax_share, "kmax_share", OPT_RATIO, NULL, "0%", "100%",
		"Relative ECN: share of the quota at which marking reaches pmax."),
	VALUE(fabric_threshold, alpha, "alpha", OPT_RATIO, NULL, "0", "1024",
		"Dynamic threshold of the priority group: share of the free pool, such as 1/8."),
	THRESHOLD(headroom_bytes, "headroom",
		"Bytes accepted after XOFF was sent (what is still in flight)."),
	THRESHOLD(xoff_level_bytes, "xoff_level",
		"Fill level at which XOFF is sent (static platforms)."),
	THRESHOLD(xon_level_bytes, "xon_level", "Fill level at which sending resumes."),
	THRESHOLD(xon_offset_bytes, "xon_offset", "Sending resumes this far below the limit."),
	THRESHOLD(cell_bytes, "cell", "Size of one buffer cell."),
	THRESHOLD(pool_bytes, "pool",
		"Size of the shared buffer pool, without headroom (SONiC: size of the lossless "
		"pool)."),
	THRESHOLD(headroom_pool_bytes, "headroom_pool",
		"Size of the buffer that holds the headroom of all ports (SONiC: xoff of the "
		"lossless pool)."),
};
TABLE(threshold_section, fabric_threshold, threshold_rows,
	"Buffer and ECN thresholds where no protocol can read them back. What a device reports "
	"wins; a difference is reported.");

static const struct field port_setting_rows[] = {
	VALUE(fabric_port_setting, devices, "devices", OPT_STRING, "*", NULL, NULL,
		"Device names, with * and ?.", .check = schema_check_text),
	VALUE(fabric_port_setting, ports, "ports", OPT_STRING, "*", NULL, NULL,
		"Port names, with * and ?.", .check = schema_check_text),
	VALUE(fabric_port_setting, speed_bps, "speed", OPT_BITRATE, NULL, "1M", "10T", "Speed."),
	VALUE(fabric_port_setting, mtu_bytes, "mtu", OPT_SIZE, NULL, "64B", "65535B", "MTU."),
	TEXT(fabric_port_setting, pfc, "pfc", "Priorities with PFC: 3,4 or none.",
		.check = schema_check_priorities),
	CHOICE(fabric_port_setting, trust, "trust", class_trust_words, NULL,
		"What classifies a packet."),
	TEXT(fabric_port_setting, name, "name",
		"What the switch calls its class map. Where what the maps of both ends hold is not "
		"known, their names are compared.",
		.check = schema_check_text),
	TEXT(fabric_port_setting, dscp, "dscp",
		"Priority (traffic class) of each DSCP: \"0-23:0,24:3,26:3,48:6\".",
		.check = schema_check_dscp),
	TEXT(fabric_port_setting, groups, "groups", "Priority group of each priority: \"3:3,4:4\".",
		.check = schema_check_groups),
};
TABLE(port_setting_section, fabric_port_setting, port_setting_rows,
	"Settings of ports where no protocol can read them back; 'config import' writes them. Both "
	"ends of each link are compared by them (lint, topology check). What a device reports "
	"wins.");

static const struct field capture_rows[] = {
	TEXT(config_capture, name, "name", "Name of the capture.", .flags = FIELD_REQUIRED,
		.check = schema_check_name),
	TEXT(config_capture, interface, "interface",
		"Network interface to capture from: a mirror port, an ERSPAN device, a host's NIC.",
		.check = schema_check_interface),
	TEXT(config_capture, listen, "listen",
		"ADDRESS:PORT to receive sFlow on, instead of an interface: an address of this "
		"machine, not all of them, such as \"127.0.0.1:6343\".",
		.check = schema_check_trap_listen),
	LIST(config_capture, allow, n_allow, "allow", NULL, schema_check_network,
		"With 'listen': networks or addresses that datagrams are taken from; others are "
		"counted and not read. When not given: the addresses of the devices above (snmp, "
		"gnmi, sflow.agent)."),
	TEXT(config_capture, netns, "netns", "Network namespace (ip-netns name) of the interface.",
		.check = schema_check_name),
	TEXT(config_capture, port_read, "port",
		"The switch port it mirrors, \"DEVICE:PORT\": its flows are then assigned to the "
		"ECMP member.",
		.check = schema_check_endpoint),
	CHOICE(config_capture, direction_read, "direction", directions, "both",
		"Which packets of the interface: in = received by it, out = sent by it."),
	CHOICE(config_capture, mirrored_read, "mirrored", directions, "both",
		"Which packets of the mirrored port the mirror session copies: in = received by "
		"the port, out = sent by it. All of them arrive at the interface."),
	VALUE(config_capture, sampling, "sampling", OPT_INT, "1", "1", "10000000",
		"One packet in N reaches us: all counts are estimates then."),
	VALUE(config_capture, snaplen, "snaplen", OPT_SIZE, "192B", "64B", "65535B",
		"Bytes kept of each packet; 192B holds all headers, also in a tunnel or mirror."),
	VALUE(config_capture, buffer_bytes, "buffer", OPT_SIZE, "8MiB", "64KiB", "2GiB",
		"Kernel ring buffer; raise it when the doctor reports lost packets."),
	VALUE(config_capture, interval_ns, "interval", OPT_DURATION, "10s", "100ms", "1h",
		"How often flow totals are written."),
};
TABLE(capture_section, config_capture, capture_rows, "Where packets come from.");

static const struct field scrape_rows[] = {
	TEXT(config_scrape, name, "name", "Name of this row.", .flags = FIELD_REQUIRED,
		.check = schema_check_name),
	LIST(config_scrape, urls, n_urls, "urls", NULL, schema_check_url,
		"Where the exporters of a host answer, such as \"http://{host}:9100/metrics\": "
		"{host} is its name. At most 8.",
		.flags = FIELD_REQUIRED),
	LIST(config_scrape, hosts.v, hosts.n, "hosts", NULL, schema_check_text,
		"Hosts by name, with * and ? among those of the links. When not given: the hosts "
		"of declared links; one that only LLDP tells of is asked when a row here fits "
		"it."),
	LIST(config_scrape, ports.v, ports.n, "ports", NULL, schema_check_port_pair,
		"Where an exporter calls a NIC otherwise than the links: \"ens1f0np0=mlx5_0\"."),
	TEXT(config_scrape, credentials, "credentials",
		"A name from 'credentials:' that has a scrape section, where an exporter asks for "
		"a log-in.",
		.check = schema_check_name),
	VALUE(config_scrape, interval_ns, "interval", OPT_DURATION, NULL, "100ms", "1h",
		"Time between scrapes; defaults.interval when not given."),
	VALUE(config_scrape, timeout_ns, "timeout", OPT_DURATION, NULL, "10ms", "5m",
		"How long an answer may take; the interval, at most 10s, when not given."),
	VALUE(config_scrape, max_answer, "max_answer", OPT_SIZE, "16MiB", "4KiB", "256MiB",
		"The longest answer that is accepted, unpacked."),
};
TABLE(scrape_section, config_scrape, scrape_rows,
	"Exporters of Prometheus text that run on hosts already: counters of NICs are read "
	"from them over HTTP.");

static const struct field push_tls_rows[] = {
	TEXT(config_push_place, push.cert, "cert",
		"File with the receiver's certificate and the ones that sign it, PEM.",
		.flags = FIELD_REQUIRED, .check = schema_check_text),
	TEXT(config_push_place, push.key, "key",
		"File with the private key of cert, PEM, mode 0600.", .flags = FIELD_REQUIRED,
		.check = schema_check_text),
	TEXT(config_push_place, push.client_ca, "client_ca",
		"File with the authorities whose certificates a sender has to show. When not "
		"given, "
		"no certificate is asked for.",
		.check = schema_check_text),
};
TABLE(push_tls_section, config_push_place, push_tls_rows,
	"Encryption of what is received, TLS 1.2 or newer. The files are read at the start and at "
	"SIGHUP.");

static const struct field push_rows[] = {
	TEXT(config_push_place, place.name, "name", "Name of the receiver.",
		.flags = FIELD_REQUIRED, .check = schema_check_name),
	TEXT(config_push_place, push.grpc, "grpc",
		"ADDRESS:PORT where OpenTelemetry metrics are received by gRPC (OTLP/gRPC): an "
		"address of this machine, such as \"127.0.0.1:4317\".",
		.check = schema_check_trap_listen),
	TEXT(config_push_place, push.http, "http",
		"ADDRESS:PORT where they are received by HTTP (OTLP/HTTP with protobuf, path "
		"/v1/metrics), such as \"127.0.0.1:4318\".",
		.check = schema_check_trap_listen),
	TEXT(config_push_place, push.ipfix, "ipfix",
		"ADDRESS:PORT where IPFIX is received over UDP, instead of grpc and http: "
		"high-frequency telemetry, such as \"127.0.0.1:4739\".",
		.check = schema_check_trap_listen),
	VALUE(config_push_place, place.buffer_bytes, "buffer", OPT_SIZE, "8MiB", "64KiB", "1GiB",
		"With 'ipfix': the socket's buffer. The kernel gives net.core.rmem_max of it at "
		"most; raise both when the doctor reports lost datagrams."),
	VALUE(config_push_place, place.interval_ns, "interval", OPT_DURATION, "1s", "100ms", "1h",
		"At most one value of each counter is stored in this time, however often it is "
		"sent: the last, of a watermark the greatest."),
	VALUE(config_push_place, push.ring_bytes, "ring", OPT_SIZE, "8MiB", "2MiB", "256MiB",
		"With 'ipfix': memory for each device that sends, where the last seconds of all "
		"its values are kept; an incident writes them to the database."),
	LIST(config_push_place, place.allow, place.n_allow, "allow", NULL, schema_check_network,
		"Networks or addresses that may send; others are counted and refused before a byte "
		"is read. When not given: the addresses of the devices (push.address, snmp, gnmi), "
		"and this machine."),
	INSIDE(config_push_place, tls_node, "tls", push_tls_section),
	VALUE(config_push_place, push.insecure, "insecure", OPT_BOOL, "false", NULL, NULL,
		"Receive without TLS on an address outside this machine: anybody in between can "
		"read along and change values."),
	VALUE(config_push_place, push.max_connections, "max_connections", OPT_INT, "256", "1",
		"4096",
		"At most this many connections at once, and a quarter of them from one address."),
	VALUE(config_push_place, push.max_message, "max_message", OPT_SIZE, "16MiB", "64KiB",
		"64MiB", "The largest message that is accepted, unpacked."),
	VALUE(config_push_place, push.max_points_s, "max_points_s", OPT_INT, "500000", "100",
		"10000000",
		"At most this many points a second; a sender above it is told to wait and to send "
		"again."),
};
TABLE(push_section, config_push_place, push_rows,
	"Receivers of what devices push by themselves: OpenTelemetry metrics (OTLP), or "
	"IPFIX.");

static const struct field job_rows[] = {
	TEXT(fabric_job, name, "name", "Name of the job.", .flags = FIELD_REQUIRED,
		.check = schema_check_text),
	VALUE(fabric_job, gpus, "gpus", OPT_INT, NULL, "1", "10000000", "GPUs it runs on.",
		.flags = FIELD_REQUIRED),
	VALUE(fabric_job, hosts, "hosts", OPT_STRING, "*", NULL, NULL,
		"Names of its hosts, with * and ?; several with commas: "
		"\"node-001,node-002,gpu-*\".",
		.check = schema_check_hosts),
	TEXT(fabric_job, user, "user", "Who runs it.", .check = schema_check_text),
	CHOICE(fabric_job, source, "source", job_sources, NULL,
		"Where the job comes from: written by a person, or read from a file of the "
		"scheduler (job_files) and then kept by the agent."),
	VALUE(fabric_job, step_ns, "step", OPT_DURATION, "0s", "0s", "1h",
		"How long a step takes when all is well; with it losses are also shown as time per "
		"step, not only as shares. "
		"0s = not known."),
	VALUE(fabric_job, step_teraflop, "step_teraflop", OPT_DOUBLE, "0", "0", "1000000000000000",
		"Floating point operations of one step of the whole job, in 10^12: such as 6 x "
		"parameters x tokens of a step; steps then tells the MFU. 0 = not known."),
	VALUE(fabric_job, gpu_teraflops, "gpu_teraflops", OPT_DOUBLE, "0", "0", "1000000",
		"What one of its GPUs can do in a second in the format trained in, in 10^12, such "
		"as 989. 0 = not known."),
};
TABLE(job_section, fabric_job, job_rows, "What runs where, for cost and blame.");

static const struct field job_file_rows[] = {
	TEXT(config_job_file, path, "path",
		"The file: what squeue --json or kubectl get pods -A -o json printed. Write it to "
		"another name and rename it, so that it is never half there.",
		.flags = FIELD_REQUIRED, .check = schema_check_text),
	CHOICE(config_job_file, format, "format", job_formats, "auto",
		"Who wrote it; auto = seen from what it holds."),
	VALUE(config_job_file, max_age_ns, "max_age", OPT_DURATION, "10m", "10s", "30d",
		"An older file says nothing: its jobs are no longer named, and doctor warns."),
	VALUE(config_job_file, min_hosts, "min_hosts", OPT_INT, "2", "1", "100000",
		"Jobs on fewer hosts are left out: a job on one host does not use the fabric."),
	VALUE(config_job_file, gpus_per_host, "gpus_per_host", OPT_INT, "0", "0", "1024",
		"GPUs of a host, for jobs of which the scheduler does not say how many they have; "
		"0 = such jobs are left out."),
};
TABLE(job_file_section, config_job_file, job_file_rows,
	"Files in which the scheduler says what runs where.");

static const struct field cost_rows[] = {
	VALUE(config_cost, usd_per_gpu_hour, "usd_per_gpu_hour", OPT_DOUBLE, NULL, "0", "100000",
		"Price of one GPU for one hour, US dollars. Incidents are priced with it."),
};
TABLE(cost_section, config_cost, cost_rows, "What waiting costs.");

static const struct field ship_tls_rows[] = {
	TEXT(config_sink, tls_ca, "ca",
		"File with the certificates of the authorities to trust; the system's when not "
		"given.",
		.check = schema_check_text),
	TEXT(config_sink, tls_cert, "cert",
		"File with our own certificate, for servers that ask for one.",
		.check = schema_check_text),
	TEXT(config_sink, tls_key, "key", "File with the private key of cert.",
		.check = schema_check_text),
	VALUE(config_sink, tls_skip_verify, "skip_verify", OPT_BOOL, "false", NULL, NULL,
		"Do not check the server's certificate: anyone in between can pose as it."),
};
TABLE(ship_tls_section, config_sink, ship_tls_rows, "Encryption towards the server.");

#define SINK_ROWS                                                                                  \
	TEXT(config_sink, name, "name", "Name in lists and messages; the kind when not given.",    \
		.check = schema_check_name),                                                       \
		TEXT(config_sink, username, "username", "User name (basic authentication).",       \
			.check = schema_check_text),                                               \
		SECRET(config_sink, password, "password", "Password of that user"),                \
		NEVER_INLINE("password"), INSIDE(config_sink, tls_node, "tls", ship_tls_section),  \
		VALUE(config_sink, interval_ns, "interval", OPT_DURATION, "1s", "100ms", "10m",    \
			"Time between two requests while little comes."),                          \
		VALUE(config_sink, batch, "batch", OPT_INT, "200000", "1000", "1000000",           \
			"Samples in one request, about."),                                         \
		VALUE(config_sink, retry_ns, "retry", OPT_DURATION, "1m", "1s", "1h",              \
			"Longest time between two attempts at a server that does not answer; the " \
			"first ones follow after 1, 2, 4, ... s."),                                \
		VALUE(config_sink, timeout_ns, "timeout", OPT_DURATION, "60s", "1s", "10m",        \
			"How long one request may take.")

static const struct field ship_clickhouse_rows[] = {
	TEXT(config_sink, url, "url", "The server, such as http://HOST:8123.",
		.flags = FIELD_REQUIRED, .check = schema_check_url),
	VALUE(config_sink, database, "database", OPT_STRING, "rocewatch", NULL, NULL,
		"Database; it and its tables are made when they are not there.",
		.check = schema_check_name),
	SINK_ROWS,
};
TABLE(ship_clickhouse_section, config_sink, ship_clickhouse_rows,
	"A ClickHouse server, or one of a cluster.");

static const struct field ship_remote_rows[] = {
	TEXT(config_sink, url, "url",
		"Where samples are posted, such as http://HOST:9090/api/v1/write.",
		.flags = FIELD_REQUIRED, .check = schema_check_url),
	SINK_ROWS,
};
TABLE(ship_remote_section, config_sink, ship_remote_rows,
	"What takes Prometheus' remote write. It gets the samples; records have no place there.");

static const struct field ship_rows[] = {
	TEXT(config_ship, agent, "agent",
		"Whose data they are; the agent's name, or the machine's, when not given. Two "
		"agents need two names.",
		.check = schema_check_name),
	VALUE(config_ship, spool_bytes, "spool", OPT_SIZE, "4GB", "1MB", "100TB",
		"What may wait in the store's file for a server that does not answer; beyond, the "
		"oldest is not sent any more (and stays in the file's own history)."),
	SECTIONS(FIELD_ONE_OR_MORE, config_ship, of_kind[SINK_CLICKHOUSE].v,
		of_kind[SINK_CLICKHOUSE].n, "clickhouse", ship_clickhouse_section),
	SECTIONS(FIELD_ONE_OR_MORE, config_ship, of_kind[SINK_REMOTE_WRITE].v,
		of_kind[SINK_REMOTE_WRITE].n, "remote_write", ship_remote_section),
};
TABLE(ship_section, config_ship, ship_rows, "Where everything that is stored goes as well.");

static const struct field retention_rows[] = {
	VALUE(config_store, raw_ns, "raw", OPT_DURATION, "7d", "1m", "10y",
		"How long samples are kept as they came, with flows and findings."),
	VALUE(config_store, minute_ns, "minute", OPT_DURATION, "90d", "1m", "20y",
		"How long minutes are kept: least, greatest, mean, p99, increase and coverage of "
		"each "
		"series. They are made as samples come, and answer where samples are gone."),
	VALUE(config_store, hour_ns, "hour", OPT_DURATION, "2y", "1m", "50y",
		"How long hours are kept: the same as minutes, for each hour."),
	VALUE(config_store, events_ns, "events", OPT_DURATION, "1y", "1h", "50y",
		"How long events, ended silences and former configurations are kept."),
	VALUE(config_store, incidents_ns, "incidents", OPT_DURATION, "2y", "1h", "50y",
		"How long closed incidents, with their events and alerts, and ended "
		"recommendations are kept. What is open is always kept."),
};
TABLE(retention_section, config_store, retention_rows, "How long history is kept.");

static const struct field store_rows[] = {
	VALUE(config_store, path, "path", OPT_STRING, "/var/lib/rocewatch/rocewatch.db", NULL, NULL,
		"Database file on a local disk. An agent always writes a file. Commands that only "
		"read "
		"also take clickhouse://HOST:PORT/DATABASE, where agents ship to.",
		.check = schema_check_no_login),
	VALUE(config_store, quota_bytes, "quota", OPT_SIZE, "40GB", "1MB", "1000TB",
		"When the database grows past this, the oldest detail goes first. What open "
		"incidents "
		"and threshold reviews rest on stays."),
	INSIDE(config_store, retention_node, "retention", retention_section, .flags = FIELD_ALWAYS),
	SECTION(config_store, ship, "ship", ship_section),
};
TABLE(store_section, config_store, store_rows, "Where history is kept.");

static const struct field defaults_rows[] = {
	VALUE(config_defaults, interval_ns, "interval", OPT_DURATION, "10s", "100ms", "1h",
		"Time between polls of the fast counters."),
	VALUE(config_defaults, slow_interval_ns, "slow_interval", OPT_DURATION, "5m", "1s", "24h",
		"Time between polls of configuration and neighbours."),
	VALUE(config_defaults, timeout_ns, "timeout", OPT_DURATION, "2s", "10ms", "5m",
		"How long one request may stay unanswered."),
	VALUE(config_defaults, profile, "profile", OPT_STRING, "auto", NULL, NULL,
		"Profile of devices that name none; auto = by what the device says it is.",
		.check = schema_check_name),
};
TABLE(defaults_section, config_defaults, defaults_rows, "For devices that do not say otherwise.");

static const struct field http_tls_rows[] = {
	TEXT(config_http, cert, "cert",
		"File with the server's certificate and the ones that sign it, PEM.",
		.flags = FIELD_REQUIRED, .check = schema_check_text),
	TEXT(config_http, key, "key", "File with the private key of cert, PEM, mode 0600.",
		.flags = FIELD_REQUIRED, .check = schema_check_text),
};
TABLE(http_tls_section, config_http, http_tls_rows,
	"Serve HTTPS, TLS 1.2 or newer. The files are read again at SIGHUP.");

static const struct field http_rows[] = {
	TEXT(config_http, listen, "listen",
		"ADDRESS:PORT of web page, API and metrics. An address outside this machine needs "
		"tls and tokens_file.",
		.flags = FIELD_REQUIRED, .check = schema_check_http_listen),
	INSIDE(config_http, tls_node, "tls", http_tls_section),
	TEXT(config_http, tokens_file, "tokens_file",
		"File with the bearer tokens that clients must send, mode 0600: one line each, "
		"TOKEN or NAME TOKEN, at least 16 characters. Behind NAME TOKEN, 'may:ack' lets "
		"its "
		"owner acknowledge, note, assign and silence; else it only reads. Read again at "
		"SIGHUP.",
		.check = schema_check_text),
	LIST(config_http, allow, n_allow, "allow", NULL, schema_check_network,
		"Networks whose clients may connect, such as 10.0.0.0/8; all when "
		"not given."),
	LIST(config_http, hosts, n_hosts, "hosts", NULL, schema_check_text,
		"Names by which clients may call this server (the Host header), "
		"beside localhost: the name that a reverse proxy passes on."),
	VALUE(config_http, max_connections, "max_connections", OPT_INT, "2000", "10", "20000",
		"Connections at the same time. When nearly all are in use, the one that is quiet "
		"for longest is closed."),
	VALUE(config_http, request_timeout_ns, "request_timeout", OPT_DURATION, "30s", "1s", "10m",
		"How long a request may take to arrive, and a document to be made."),
	VALUE(config_http, metrics_top, "metrics_top", OPT_INT, "20", "1", "10000",
		"/metrics: series of one family that are kept apart by port, group or incident; "
		"how many more there are is a metric too."),
	VALUE(config_http, metrics_all_ports, "metrics_all_ports", OPT_BOOL, "false", NULL, NULL,
		"/metrics: counters of every port, about 25 series each. Else of ports that are "
		"paused most, of the busiest uplinks, and of those with an open incident."),
	VALUE(config_http, insecure, "insecure", OPT_BOOL, "false", NULL, NULL,
		"Serve an address outside this machine without TLS or without tokens: everybody "
		"who reaches it reads everything."),
};
TABLE(http_section, config_http, http_rows, "Web page, JSON API and metrics. Off when not given.");

static const struct field traps_rows[] = {
	TEXT(config_traps, listen, "listen",
		"ADDRESS:PORT to take traps and informs on: an address of this machine, not all of "
		"them. Ports below 1024 need a right "
		"that the agent does not keep; send to 1162, or redirect 162.",
		.flags = FIELD_REQUIRED, .check = schema_check_trap_listen),
	LIST(config_traps, names, n_names, "credentials", NULL, schema_check_name,
		"Names from 'credentials:' whose communities and SNMPv3 users are "
		"accepted in traps; others are dropped and counted.",
		.flags = FIELD_REQUIRED),
};
TABLE(traps_section, config_traps, traps_rows,
	"Receive SNMP traps and informs of the devices above (linkDown, restarts, PFC "
	"notifications); each becomes an event. Off when not given.");

static const struct field tuning_name_rows[] = {
	VALUE(config_tuning_name, devices, "devices", OPT_STRING, "*", NULL, NULL,
		"Device names, with * and ?.", .check = schema_check_text),
	TEXT(config_tuning_name, object, "object",
		"What is named, as the profile of the device calls it: wred_profile, "
		"buffer_profile, qos_profile, mmu_profile, queuing_out, "
		"queuing_in, congestion_profile, pfc_profile, drop_profile, cnp_profile.",
		.flags = FIELD_REQUIRED, .check = schema_check_name),
	TEXT(config_tuning_name, name, "name", "Its name on these devices.",
		.flags = FIELD_REQUIRED, .check = schema_check_name),
};
TABLE(tuning_name_section, config_tuning_name, tuning_name_rows,
	"What a site calls the objects that hold thresholds; the first entry that fits a device "
	"counts.");

static const struct field tuning_rows[] = {
	VALUE(config_tuning, min_evidence_ns, "min_evidence", OPT_DURATION, "1h", "10s", "365d",
		"No threshold change is advised on less history than this."),
	VALUE(config_tuning, min_coverage, "min_coverage", OPT_RATIO, "95%", "0%", "100%",
		"Share of that history that must be there."),
	VALUE(config_tuning, base_rtt_ns, "base_rtt", OPT_DURATION, "10us", "100ns", "10ms",
		"Round trip through the idle fabric, host to host: what the bandwidth-delay "
		"product is made of (two tiers: 8 to 12 us)."),
	VALUE(config_tuning, max_pmax, "max_pmax", OPT_RATIO, "20%", "1%", "100%",
		"No higher marking probability is advised."),
	SECTIONS(FIELD_SECTIONS, config_tuning, names, n_names, "names", tuning_name_section),
};
TABLE(tuning_section, config_tuning, tuning_rows, "When thresholds are advised.");

static const struct field agent_rows[] = {
	TEXT(config_agent, name, "name",
		"Name of the agent; start it with 'rocewatch agent --name NAME'.",
		.flags = FIELD_REQUIRED, .check = schema_check_name),
	LIST(config_agent, devices.v, devices.n, "devices", NULL, schema_check_text,
		"The devices that it asks, with * and ?. Each device belongs to one agent.",
		.flags = FIELD_REQUIRED),
};
TABLE(agents_section, config_agent, agent_rows,
	"Agents that share the fabric, each with its devices. All of them, and the judge, "
	"read this same file. One agent asks every device when not given.");

static const struct field judge_rows[] = {
	TEXT(config_judge, from, "from",
		"Where 'rocewatch agent --judge' reads what the agents collect: "
		"clickhouse://USER@HOST:PORT/DATABASE, or the agents' database files with commas "
		"between them.",
		.flags = FIELD_REQUIRED, .check = schema_check_source),
	VALUE(config_judge, wait_ns, "wait", OPT_DURATION, "60s", "1s", "1h",
		"How long the judge waits for an agent of which nothing new arrives. Then it goes "
		"on, and that agent's devices are unknown until it is back."),
	VALUE(config_judge, begin_ns, "begin", OPT_DURATION, "1h", "0s", "50y",
		"How far before the newest data a judge begins that has judged nothing yet."),
};
TABLE(judge_section, config_judge, judge_rows,
	"One process judges what all agents collect. The agents then judge nothing "
	"themselves.");

static const struct field receiver_tls_rows[] = {
	TEXT(config_receiver, tls_ca, "ca",
		"File with the certificates of the authorities to trust; the system's when not "
		"given.",
		.check = schema_check_text),
	TEXT(config_receiver, tls_cert, "cert",
		"File with our own certificate, for receivers that ask for one.",
		.check = schema_check_text),
	TEXT(config_receiver, tls_key, "key", "File with the private key of cert.",
		.check = schema_check_text),
	VALUE(config_receiver, tls_skip_verify, "skip_verify", OPT_BOOL, "false", NULL, NULL,
		"Do not check the receiver's certificate: anyone in between can pose as it."),
};
const struct section receiver_tls_section =
	TABLE_ROWS(config_receiver, receiver_tls_rows, "Encryption towards the receiver.");

static const struct field alerts_rows[] = {
	CHOICE(config_alerts, min_severity, "min_severity", schema_severities, "warning",
		"Incidents below it are not sent, except to receivers that set their own "
		"min_severity."),
	VALUE(config_alerts, resend_ns, "resend", OPT_DURATION, "4h", "1s", "30d",
		"An open incident that nobody has acknowledged is sent again this often."),
	TEXT(config_alerts, web_url, "web_url",
		"Where people reach the web page, such as https://noc.example.org/rocewatch: "
		"alerts link to it.",
		.check = schema_check_url),
	TEXT(config_alerts, runbook_url, "runbook_url",
		"Where the site keeps its own runbooks, such as https://wiki.example.org/{cause}: "
		"incidents and alerts link there. When not given: the runbooks of the web page "
		"at web_url, else the command that prints them.",
		.check = schema_check_runbook_url),
	/* what receivers there are, the modules say: last, see schema_read_keys() */
	{.kind = FIELD_RECEIVERS,
		.option = {.name = "", .offset = offsetof(struct config_alerts, receivers)},
		.count = offsetof(struct config_alerts, n_receivers)},
};
TABLE(alerts_section, config_alerts, alerts_rows,
	"Who is informed when an incident opens, grows worse or ends: one alert per root "
	"cause.");

static const struct field limits_rows[] = {
	VALUE(config_limits, names_per_device, "names_per_device", OPT_INT, "32768", "64",
		"16000000",
		"Ports, queues, priorities and pools of one device together. A new name beyond is "
		"refused, counted and told."),
	VALUE(config_limits, names, "names", OPT_INT, "4000000", "1000", "16000000",
		"The same of all devices together."),
	VALUE(config_limits, ports_per_device, "ports_per_device", OPT_INT, "4096", "16", "262144",
		"Ports of one switch that are followed over SNMP. Those that are known already "
		"come "
		"first; a new one beyond is left out, counted and told."),
	VALUE(config_limits, forget_ns, "forget", OPT_DURATION, "1h", "1m", "30d",
		"A port or queue that nothing was heard of for so long, beyond what any window "
		"still "
		"needs, leaves memory. The database keeps it as long as its retention says."),
};
TABLE(limits_section, config_limits, limits_rows,
	"How many names switches may invent: a faulty or hostile one must not fill the memory of "
	"the agent.");

static const struct field root_rows[] = {
	VALUE(config_tree, fabric, "fabric", OPT_STRING, "fabric", NULL, NULL,
		"Name of the fabric; incident numbers are made from it, so do not change it.",
		.check = schema_check_name),
	SECTION(config_tree, store, "store", store_section),
	SECTIONS(FIELD_NAMED, config_tree, credentials, n_credentials, "credentials",
		credential_section),
	SECTION(config_tree, defaults, "defaults", defaults_section),
	SECTIONS(FIELD_SECTIONS, config_tree, devices, n_devices, "devices", device_section),
	SECTIONS(FIELD_LINKS, config_tree, links, n_links, "links", link_section),
	SECTIONS(FIELD_SECTIONS, config_tree, groups, n_groups, "ecmp", group_section),
	SECTIONS(FIELD_SECTIONS, config_tree, lags, n_lags, "lags", lag_section),
	SECTION(config_tree, lossless, "lossless", lossless_section),
	SECTION(config_tree, policy, "policy", policy_section),
	SECTIONS(FIELD_SECTIONS, config_tree, thresholds, n_thresholds, "thresholds",
		threshold_section),
	SECTIONS(FIELD_SECTIONS, config_tree, port_settings, n_port_settings, "port_settings",
		port_setting_section),
	SECTIONS(FIELD_SECTIONS, config_tree, captures, n_captures, "capture", capture_section),
	SECTIONS(FIELD_SECTIONS, config_tree, pushes, n_pushes, "push", push_section),
	SECTIONS(FIELD_SECTIONS, config_tree, scrapes, n_scrapes, "scrape", scrape_section),
	SECTIONS(FIELD_SECTIONS, config_tree, jobs, n_jobs, "jobs", job_section),
	SECTIONS(
		FIELD_SECTIONS, config_tree, job_files, n_job_files, "job_files", job_file_section),
	SECTION(config_tree, cost, "cost", cost_section),
	{.kind = FIELD_MODULES,
		.option = {.name = "analyzers", .doc = "Options of the analyzers, by name."}},
	SECTION(config_tree, tuning, "tuning", tuning_section),
	SECTION(config_tree, limits, "limits", limits_section),
	SECTIONS(FIELD_SECTIONS, config_tree, agents, n_agents, "agents", agents_section),
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

/*
 * print_configuration - docs/configuration.md from the rows of the configuration: a chapter for
 * each key at the top, with an example, the pages that explain more, and a table of its keys. The
 * examples are checked like all blocks of the pages.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "agent/modules.h"
#include "config/config.h"

static const struct chapter {
	const char *key; /* at the top of the file */
	const char *what; /* one line */
	const char *more; /* links; NULL none */
	const char *example;
} chapters[] = {
	{"fabric", "The name of the fabric.", NULL, "fabric: pod-a\n"},
	{"store", "Where history is kept, for how long, and where else it goes.",
		"[database.md](database.md), [sizing.md](sizing.md), "
		"[clickhouse.md](clickhouse.md), [scale-out.md](scale-out.md)",
		"store:\n"
		"  path: /var/lib/rocewatch/rocewatch.db\n"
		"  quota: 40GB\n"
		"  retention: { raw: 7d, minute: 90d, hour: 2y }\n"},
	{"credentials",
		"Log-ins of switches, under names. A secret is a file, a variable or a "
		"systemd credential, never a text here.",
		"[security.md](security.md)",
		"credentials:\n"
		"  lab: { snmp: { version: 2c, community_file: /etc/rocewatch/community } }\n"
		"  noc: { snmp: { version: 3, user: noc, auth: sha256, auth_file: "
		"/etc/rocewatch/v3.auth, priv: aes128, priv_file: /etc/rocewatch/v3.priv } }\n"
		"  stream: { gnmi: { username: noc, password_file: /etc/rocewatch/gnmi } }\n"
		"devices:\n"
		"  - { name: leaf1, role: leaf, snmp: { address: 192.0.2.11, credentials: noc } "
		"}\n"},
	{"defaults", "What holds for devices that do not say otherwise.",
		"[profiles.md](profiles.md)",
		"defaults: { interval: 10s, slow_interval: 5m, timeout: 2s, profile: auto }\n"},
	{"devices", "The switches: how each is asked, and its place in the fabric.",
		"[switches](switches/README.md), [profiles.md](profiles.md), [push.md](push.md)",
		"credentials:\n"
		"  noc: { snmp: { version: 2c, community_file: /etc/rocewatch/community } }\n"
		"devices:\n"
		"  - { name: leaf1, role: leaf, snmp: { address: 192.0.2.11, credentials: noc } }\n"
		"  - { name: spine1, role: spine, snmp: { address: 192.0.2.21, credentials: noc } "
		"}\n"},
	{"links", "Which port is connected to which: declared, or found by LLDP.",
		"[topology.md](topology.md)", "links: discover\n"},
	{"ecmp", "ECMP groups that do not follow from the links.", "[topology.md](topology.md)",
		"credentials:\n"
		"  noc: { snmp: { version: 2c, community_file: /etc/rocewatch/community } }\n"
		"devices:\n"
		"  - { name: leaf1, role: leaf, snmp: { address: 192.0.2.11, credentials: noc } }\n"
		"ecmp:\n  - { device: leaf1, group: storage, ports: [Ethernet49, Ethernet50] }\n"},
	{"lags", "Bundles of ports.", "[topology.md](topology.md)",
		"credentials:\n"
		"  noc: { snmp: { version: 2c, community_file: /etc/rocewatch/community } }\n"
		"devices:\n"
		"  - { name: leaf1, role: leaf, snmp: { address: 192.0.2.11, credentials: noc } }\n"
		"lags:\n  - { device: leaf1, name: po1, ports: [Ethernet49, Ethernet50] }\n"},
	{"lossless", "The priorities that must not lose frames.", "[tuning.md](tuning.md)",
		"lossless: { priorities: [3] }\n"},
	{"policy",
		"What the site means to do: congestion control and load balancing. A healthy "
		"site is not paged for its choices.",
		"[tuning.md](tuning.md), [detectors.md](detectors.md)",
		"policy: { congestion: dcqcn, load_balancing: static }\n"},
	{"thresholds", "Thresholds of ECN and PFC that cannot be read back from a switch.",
		"[tuning.md](tuning.md)",
		"thresholds:\n"
		"  - { devices: \"leaf*\", priority: 3, kmin: 400KB, kmax: 1600KB, pmax: 20% }\n"},
	{"port_settings", "Settings of ports that cannot be read back from a switch.",
		"[lint.md](lint.md)",
		"port_settings:\n"
		"  - { devices: \"*\", trust: dscp, dscp: \"0-25:0,26:3,27-63:0\", groups: \"3:3\" "
		"}\n"},
	{"capture", "Ports of this machine that see packets of the fabric.",
		"[packets.md](packets.md)",
		"credentials:\n"
		"  noc: { snmp: { version: 2c, community_file: /etc/rocewatch/community } }\n"
		"devices:\n"
		"  - { name: leaf1, role: leaf, snmp: { address: 192.0.2.11, credentials: noc } }\n"
		"capture:\n"
		"  - { name: mirror1, interface: erspan0, port: \"leaf1:Ethernet49\", sampling: "
		"4000 }\n"
		"  - { name: sflow, listen: \"127.0.0.1:6343\" }\n"},
	{"push", "Addresses where devices push their counters.",
		"[push.md](push.md), [push-ipfix.md](push-ipfix.md)",
		"push:\n  - { name: telemetry, grpc: \"127.0.0.1:4317\" }\n"},
	{"scrape", "Exporters of Prometheus text on hosts, read for their counters of NICs.",
		"[scrape.md](scrape.md)",
		"links:\n  - { a: \"leaf1:Ethernet1\", b: \"host:node-001:mlx5_0\" }\n"
		"devices:\n  - { name: leaf1, push: {} }\n"
		"push:\n  - { name: telemetry, grpc: \"127.0.0.1:4317\" }\n"
		"scrape:\n  - { name: nics, urls: [\"http://{host}:9100/metrics\"] }\n"},
	{"jobs", "The training jobs: hosts, GPUs and step time.", "[jobs.md](jobs.md)",
		"jobs:\n  - { name: llama-70b, hosts: \"node-*\", gpus: 256 }\n"},
	{"job_files", "What the scheduler says of jobs.", "[jobs.md](jobs.md)",
		"job_files:\n  - { path: /run/rocewatch/jobs.json, format: slurm }\n"},
	{"cost", "What GPUs cost.", "[incidents.md](incidents.md)",
		"cost: { usd_per_gpu_hour: 2.5 }\n"},
	{"analyzers", "Limits of the detectors.", "[detectors.md](detectors.md)",
		"analyzers: { ecmp_imbalance: { warn: 20%, critical: 50% } }\n"},
	{"tuning", "How threshold reviews are made.", "[tuning.md](tuning.md)",
		"tuning: { min_evidence: 1h, max_pmax: 20% }\n"},
	{"limits", "How much one device may take of memory.", "[reliability.md](reliability.md)",
		"limits: { ports_per_device: 4096, forget: 1h }\n"},
	{"agents", "Several agents that share a fabric.", "[scale-out.md](scale-out.md)",
		"agents:\n"
		"  - { name: pod1, devices: [\"leaf*\"] }\n"
		"  - { name: pod2, devices: [\"spine*\"] }\n"},
	{"judge", "The one that judges what several agents collect.",
		"[scale-out.md](scale-out.md)",
		"agents:\n  - { name: pod1, devices: [\"*\"] }\n"
		"judge: { from: \"clickhouse://127.0.0.1:8123/rocewatch\", wait: 1m }\n"},
	{"http", "The web page, the API and `/metrics`.", "[api.md](api.md), [web.md](web.md)",
		"http: { listen: \"127.0.0.1:9421\" }\n"},
	{"traps", "SNMP traps.", "[switches](switches/README.md)",
		"credentials:\n"
		"  noc: { snmp: { version: 2c, community_file: /etc/rocewatch/community } }\n"
		"devices:\n"
		"  - { name: leaf1, role: leaf, snmp: { address: 192.0.2.11, credentials: noc } }\n"
		"traps: { listen: \"127.0.0.1:10162\", credentials: [noc] }\n"},
	{"alerts", "Who is told when an incident opens, grows worse or ends.",
		"[alerts.md](alerts.md)",
		"alerts:\n"
		"  min_severity: warning\n"
		"  alertmanager: { url: \"http://127.0.0.1:9093\" }\n"},
	{"socket", "The socket for commands to the running agent.", NULL,
		"socket: /run/rocewatch/rocewatch.sock\n"},
	{"user", "The user that the agent becomes.", "[security.md](security.md)",
		"user: rocewatch\n"},
	{"profile_dir", "Profiles of the site.", "[profiles.md](profiles.md)", NULL},
};

struct printing {
	const struct chapter *chapter;
	size_t n; /* rows of this chapter */
};

/* "devices[].name" is of the chapter "devices". */
static bool key_is_of(const char *path, const char *chapter)
{
	const size_t n = strlen(chapter);
	return strncmp(path, chapter, n) == 0 && strchr(".[", path[n]);
}

/* A '|' would end the cell. */
static void print_cell(const char *text)
{
	for (; *text; text++) {
		if (*text == '|')
			putchar('\\');
		putchar(*text);
	}
}

static void print_key(const struct config_key *key, void *arg)
{
	struct printing *printing = arg;
	rw_cleanup(str_done) struct str about = {0};
	if (!key_is_of(key->path, printing->chapter->key))
		return;
	config_key_about(key, &about);
	printf("| `%s` | ", key->path);
	print_cell(about.s);
	printf(" | ");
	print_cell(key->doc);
	printf(" |\n");
	printing->n++;
}

static void check_key(const struct config_key *key, void *arg)
{
	bool *missing = arg;
	for (size_t i = 0; i < rw_countof(chapters); i++)
		if (key_is_of(key->path, chapters[i].key))
			return;
	fprintf(stderr, "%s has no chapter\n", key->path);
	*missing = true;
}

int main(void)
{
	size_t n_tables;
	const struct option_table *const *tables = module_tables(&n_tables);
	bool missing = false;
	for (size_t i = 0; i < rw_countof(chapters); i++) {
		const struct chapter *chapter = &chapters[i];
		struct printing printing = {.chapter = chapter};
		printf("\n## %s\n\n%s", chapter->key, chapter->what);
		if (chapter->more)
			printf(" More: %s.", chapter->more);
		printf("\n\n");
		if (chapter->example)
			printf("```yaml\n%s```\n\n", chapter->example);
		printf("| key | value | meaning |\n|---|---|---|\n");
		config_keys(tables, n_tables, print_key, &printing);
		if (printing.n > 0)
			continue;
		fprintf(stderr, "%s is no key\n", chapter->key);
		missing = true;
	}
	printf("\n");
	config_keys(tables, n_tables, check_key, &missing);
	return missing;
}

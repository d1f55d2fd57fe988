/* config: what the file becomes, that it prints as itself, that every mistake has its place,
 * secrets, and settings changed later. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/locked.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "agent/alert/sender.h"
#include "config/config.h"
#include "config/schema.h"

/* A module as an analyzer would bring it. */
struct imbalance {
	double warn;
	int64_t window_ns, hold;
	bool strict;
	const char *label;
};
static const struct option imbalance_rows[] = {
	{.name = "warn",
		.type = OPT_RATIO,
		.offset = offsetof(struct imbalance, warn),
		.def = "20%",
		.min = "1%",
		.max = "1000%",
		.doc = "warning"},
	{.name = "window",
		.type = OPT_DURATION,
		.offset = offsetof(struct imbalance, window_ns),
		.def = "60s",
		.min = "1s",
		.max = "1h",
		.doc = "window"},
	{.name = "hold",
		.type = OPT_INT,
		.offset = offsetof(struct imbalance, hold),
		.def = "5",
		.min = "1",
		.max = "1000",
		.doc = "hold"},
	{.name = "strict",
		.type = OPT_BOOL,
		.offset = offsetof(struct imbalance, strict),
		.def = "false",
		.doc = "strict"},
	{.name = "label",
		.type = OPT_STRING,
		.offset = offsetof(struct imbalance, label),
		.doc = "label"},
};
static const struct option_table imbalance = {.section = "analyzers",
	.name = "imbalance",
	.size = sizeof(struct imbalance),
	.rows = imbalance_rows,
	.n_rows = rw_countof(imbalance_rows),
	.doc = "spread"};
/* Kinds of receivers are modules too. */
extern const struct sender sender_alertmanager;
static const struct option_table *const tables[] = {&imbalance, &sender_alertmanager.options};

static const char full[] =
	"fabric: pod-a\n"
	"store:\n"
	"  path: /tmp/x.db\n"
	"  quota: 40GB\n"
	"  retention: { raw: 7d, minute: 90d, hour: 2y }\n"
	"credentials:\n"
	"  v2-lab: { snmp: { version: 2c, community_file: /nowhere/community } }\n"
	"  v3-noc: { snmp: { version: 3, user: noc, auth: sha256, auth_env: RW_AUTH, priv: aes128, "
	"priv_credential: v3.priv } }\n"
	"  gnmi: { gnmi: { username: noc, password_env: RW_PASSWORD, tls: { ca: /nowhere/ca.pem, "
	"cert: /nowhere/me.pem, key: /nowhere/me.key } } }\n"
	"defaults: { interval: 20s, slow_interval: 5m, timeout: 3s, profile: auto }\n"
	"devices:\n"
	"  - { name: leaf1, role: leaf, load_balancing: adaptive, snmp: { address: 192.0.2.11, "
	"credentials: v3-noc, interval: 1s, retries: 0 } }\n"
	"  - { name: leaf2, role: leaf, gnmi: { address: \"192.0.2.12:8080\", credentials: gnmi, "
	"interval: 1s },\n"
	"      snmp: { address: \"[2001:db8::2]:1161\", credentials: v2-lab, deadline: 9s, "
	"max_varbinds_s: 500, source: 192.0.2.1, netns: mgmt } }\n"
	"  - { name: spine1, role: spine, rail: r0, snmp: { address: \"2001:db8::1\", credentials: "
	"v2-lab }, profile: sonic }\n"
	"links:\n"
	"  - { a: \"leaf1:Ethernet49\", b: \"spine1:Ethernet1\", cable: 30m, speed: 400G }\n"
	"  - { a: \"leaf1:Ethernet50\", b: \"spine1:Ethernet2\" }\n"
	"  - { a: \"leaf1:Ethernet1\", b: \"host:node-001:rail0\" }\n"
	"ecmp:\n"
	"  - { device: leaf1, group: storage, ports: [Ethernet49, Ethernet50], load_balancing: "
	"packet }\n"
	"lags:\n"
	"  - { device: leaf2, name: po1, ports: [\"Ethernet 1\", Ethernet2] }\n"
	"lossless: { priorities: [3, 4], mtu: 4200B }\n"
	"policy: { congestion: pfc_only, load_balancing: flowlet }\n"
	"thresholds:\n"
	"  - { devices: \"leaf*\", ports: \"*\", priority: 0, kmin: 400KB, kmax: 1600KB, pmax: "
	"20%, alpha: 1/8, headroom: 104448B, cell: 192B, pool: 64MB }\n"
	"  - { priority: 7 }\n"
	"capture:\n"
	"  - { name: mirror, interface: erspan0, sampling: 4000, port: \"leaf1:Ethernet49\", "
	"direction: in, netns: mon, snaplen: 256B, buffer: 1MiB, interval: 1s }\n"
	"  - { name: sflow, listen: \"127.0.0.1:6343\" }\n"
	"jobs:\n"
	"  - { name: \"llama: 70b \\\"big\\\"\", gpus: 512, hosts: \"node-*\" }\n"
	"cost: { usd_per_gpu_hour: 2.5 }\n"
	"analyzers:\n"
	"  imbalance: { warn: 30%, window: 10s, label: \"a # b\" }\n"
	"tuning: { min_evidence: 2h, min_coverage: 90% }\n"
	"traps: { listen: \"127.0.0.1:1162\", credentials: [v2-lab] }\n"
	"http: { listen: \"[::1]:9421\" }\n"
	"alerts: { alertmanager: { url: \"http://127.0.0.1:9093\" } }\n"
	"user: rocewatch\n"
	"profile_dir: /etc/rocewatch/profiles\n";

static struct config *parse(const char *text, enum config_mode mode)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	struct config *c = NULL;
	if (config_parse(text, strlen(text), "t.yaml", mode, tables, 2, &c, &errors) < 0)
		fail_msg("%s:%d:%d: %s", errors.v[0].file, errors.v[0].line, errors.v[0].col,
			errors.v[0].text);
	assert_int_equal(errors.n, 0);
	return c;
}

static void test_full(void **state)
{
	struct config *c = parse(full, CONFIG_FULL);
	assert_string_equal(c->path, "t.yaml");
	assert_string_equal(c->fabric->name, "pod-a");
	assert_string_equal(c->store.path, "/tmp/x.db");
	assert_int_equal(c->store.quota_bytes, 40000000000);
	assert_int_equal(c->store.hour_ns, 2 * 31536000000000000);
	assert_string_equal(c->socket_path, "/tmp/x.db.sock");

	assert_int_equal(c->n_credentials, 3);
	const struct config_snmp_credential *v3 = c->credentials[1].snmp;
	assert_int_equal(c->credentials[0].snmp->version, 2);
	assert_int_equal(c->credentials[0].snmp->community.from, SECRET_FILE);
	assert_string_equal(c->credentials[0].snmp->community.name, "/nowhere/community");
	assert_int_equal(c->credentials[0].snmp->community.line, 7);
	assert_int_equal(v3->version, 3);
	assert_string_equal(v3->context, "");
	assert_int_equal(v3->auth, SNMP_AUTH_SHA256);
	assert_int_equal(v3->auth_secret.from, SECRET_ENV);
	assert_int_equal(v3->priv, SNMP_PRIV_AES128);
	assert_int_equal(v3->priv_secret.from, SECRET_CREDENTIAL);
	assert_string_equal(c->credentials[2].gnmi->tls_ca, "/nowhere/ca.pem");
	assert_null(c->credentials[2].snmp);

	assert_int_equal(c->n_devices, 3);
	const struct config_snmp *leaf1 = c->devices[0].snmp, *leaf2 = c->devices[1].snmp,
				 *spine1 = c->devices[2].snmp;
	assert_ptr_equal(c->devices[0].device, fabric_device(c->fabric, "leaf1"));
	assert_string_equal(c->devices[0].profile, "auto");
	assert_string_equal(c->devices[2].profile, "sonic");
	assert_string_equal(leaf1->address, "192.0.2.11");
	assert_int_equal(leaf1->port, 161);
	assert_ptr_equal(leaf1->credential, &c->credentials[1]);
	assert_int_equal(leaf1->interval_ns, 1000000000);
	/* the default is longer than this interval */
	assert_int_equal(leaf1->timeout_ns, 1000000000);
	assert_int_equal(leaf1->retries, 0);
	assert_int_equal(leaf1->deadline_ns, 1000000000);
	assert_string_equal(leaf2->address, "2001:db8::2");
	assert_int_equal(leaf2->port, 1161);
	assert_int_equal(leaf2->interval_ns, 20000000000);
	assert_int_equal(leaf2->timeout_ns, 3000000000);
	assert_int_equal(leaf2->deadline_ns, 9000000000);
	assert_int_equal(leaf2->max_varbinds_s, 500);
	assert_string_equal(leaf2->source, "192.0.2.1");
	assert_string_equal(leaf2->netns, "mgmt");
	assert_int_equal(c->devices[1].gnmi->port, 8080);
	assert_string_equal(spine1->address, "2001:db8::1");
	assert_int_equal(spine1->port, 161);

	const struct config_capture *m = &c->captures[0];
	assert_string_equal(m->device, "leaf1");
	assert_string_equal(m->port, "Ethernet49");
	assert_string_equal(m->direction, "in");
	assert_int_equal(m->sampling, 4000);
	assert_int_equal(m->snaplen, 256);
	assert_int_equal(m->buffer_bytes, 1048576);
	assert_int_equal(m->interval_ns, 1000000000);
	assert_null(m->listen);
	assert_int_equal(c->captures[1].sampling, 1);
	assert_int_equal(c->captures[1].snaplen, 192);
	assert_null(c->captures[1].device);

	const struct fabric *f = c->fabric;
	assert_int_equal(f->lossless_mask, 0x18);
	assert_int_equal(f->lossless_mtu_bytes, 4200);
	assert_int_equal(f->congestion, CC_PFC_ONLY);
	assert_int_equal(f->lb, LB_FLOWLET);
	assert_int_equal(fabric_device(f, "leaf1")->lb, LB_ADAPTIVE);
	assert_int_equal(fabric_device(f, "leaf2")->lb, LB_FLOWLET);
	assert_int_equal(fabric_group(fabric_device(f, "leaf1"), "storage")->lb, LB_PACKET);
	assert_true(f->usd_per_gpu_hour == 2.5 && f->has_cost && !f->discover);
	assert_int_equal(f->n_thresholds, 2);
	assert_int_equal(f->thresholds[0].kmax_bytes, 1600000);
	assert_true(f->thresholds[0].alpha == 0.125);
	assert_true(isnan(f->thresholds[1].pmax));
	assert_string_equal(f->thresholds[1].devices, "*");
	assert_string_equal(f->jobs[0].name, "llama: 70b \"big\"");

	const struct imbalance *o = config_options(c, "analyzers", "imbalance");
	assert_true(o->warn == 0.3);
	assert_int_equal(o->window_ns, 10000000000);
	assert_int_equal(o->hold, 5);
	assert_string_equal(o->label, "a # b");
	assert_null(config_options(c, "analyzers", "other"));
	assert_string_equal(c->http->address, "::1");
	assert_int_equal(c->http->port, 9421);
	assert_int_equal(c->http->max_connections, 2000);
	assert_string_equal(c->traps->address, "127.0.0.1");
	assert_int_equal(c->traps->port, 1162);
	assert_int_equal(c->traps->n_credentials, 1);
	assert_string_equal(c->traps->credentials[0]->name, "v2-lab");
	assert_int_equal(c->alerts.n_receivers, 1);
	assert_string_equal(c->alerts.receivers[0].name, "alertmanager");
	assert_string_equal(c->alerts.receivers[0].url, "http://127.0.0.1:9093");
	assert_int_equal(c->alerts.receivers[0].resend_ns, 60 * NS_PER_S);
	assert_int_equal(c->tuning.min_evidence_ns, 7200000000000);
	config_free(c);
	config_free(NULL);
}

/* What is printed loads again, prints the same, and holds no secret. */
static void test_round_trip(void **state)
{
	static const struct {
		const char *what, *text;
		enum config_mode mode;
	} rows[] = {
		{"everything", full, CONFIG_FULL},
		{"one device", "devices:\n  - { name: leaf1, role: leaf }\n", CONFIG_CASE},
		{"discover", "links: discover\ndevices:\n  - { name: leaf1, role: leaf }\n",
			CONFIG_CASE},
		{"names that look like other things",
			"fabric: \"null\"\ndevices:\n  - { name: \"true\", profile: \"1e6\" }\n  - "
			"{ name: \"010\", rail: \"r-0\" }\n"
			"jobs:\n  - { name: \"\xc3\xa4 'x' \\\\ {[&*!|>%@`#\", gpus: 1, hosts: "
			"\"-\" }\n",
			CONFIG_CASE},
		{"odd numbers",
			"devices:\n  - { name: a }\ncost: { usd_per_gpu_hour: 0.1 }\nthresholds:\n "
			" - { priority: 0, alpha: 1/3, pmax: 7%, kmin: 1B, kmax: 1MiB }\n",
			CONFIG_CASE},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct config *c = parse(rows[i].text, rows[i].mode);
		rw_cleanup(freep) char *first = config_text(c);
		struct config *again = parse(first, rows[i].mode);
		rw_cleanup(freep) char *second = config_text(again);
		if (strcmp(first, second) != 0)
			fail_msg("%s:\n%s\n--- prints again as\n%s", rows[i].what, first, second);
		assert_int_equal(c->n_devices, again->n_devices);
		assert_int_equal(c->fabric->id, again->fabric->id);
		if (c->fabric->n_jobs)
			assert_string_equal(c->fabric->jobs[0].name, again->fabric->jobs[0].name);
		config_free(c);
		config_free(again);
	}
}

static void test_interval(void **state)
{
	static const struct {
		const char *what, *yaml;
		int64_t interval_ns;
	} rows[] = {
		{"nothing polled, nothing said", "devices: [ { name: a, role: leaf } ]\n",
			10 * NS_PER_S},
		{"nothing polled",
			"defaults: { interval: 4s }\ndevices: [ { name: a, role: leaf } ]\n",
			4 * NS_PER_S},
		{"the devices' own",
			"credentials: { c: { snmp: { version: 2c, community_env: C } } }\n"
			"devices: [ { name: a, role: leaf, snmp: { address: 192.0.2.1, "
			"credentials: c, interval: 1s } } ]\n",
			1 * NS_PER_S},
		{"the longest of both protocols",
			"credentials: { c: { snmp: { version: 2c, community_env: C } }, "
			"g: { gnmi: { username: n, password_env: P } } }\n"
			"devices: [ { name: a, role: leaf, snmp: { address: 192.0.2.1, "
			"credentials: c, interval: 7s }, gnmi: { address: \"192.0.2.1:8080\", "
			"credentials: g, interval: 1s } } ]\n",
			7 * NS_PER_S},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		rw_cleanup(str_done) struct str text = {0};
		rw_cleanup(err_list_done) struct err_list errors = {0};
		struct config *config = NULL;
		str_addf(&text, "fabric: f\n%s", rows[i].yaml);
		if (config_parse(text.s, text.n, "test", CONFIG_CASE, NULL, 0, &config, &errors) !=
			0)
			fail_msg("%s: %s", rows[i].what, errors.v[0].text);
		assert_int_equal(config_interval(config), rows[i].interval_ns);
		config_free(config);
	}
}

static void test_case_mode(void **state)
{
	static const char text[] =
		"devices:\n  - { name: leaf1, role: leaf, snmp: { interval: 1s } }\n";
	rw_cleanup(err_list_done) struct err_list errors = {0};
	struct config *c = parse(text, CONFIG_CASE);
	assert_null(c->devices[0].snmp);
	assert_string_equal(c->fabric->name, "fabric");
	config_free(c);
	c = NULL;
	assert_int_equal(
		config_parse(text, strlen(text), "t", CONFIG_FULL, NULL, 0, &c, &errors), -EINVAL);
	assert_null(c);
	assert_int_equal(errors.n, 2);
	assert_non_null(strstr(errors.v[0].text, "'address' is missing"));
	assert_non_null(strstr(errors.v[1].text, "'credentials' is missing"));
}

static void test_mistakes_in_order(void **state)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	rw_cleanup(str_done) struct str text = {0};
	struct config *c = NULL;
	str_add(&text,
		"links:\n  - { a: \"leaf9:e1\", b: \"leaf1:e1\" }\ndevices:\n  - { name: leaf1, "
		"roll: leaf }\njobs:\n");
	for (int i = 0; i < 200; i++)
		str_addf(&text, "  - { name: j%d, gpus: x }\n", i);
	/* what is there already stays */
	err_list_add(&errors, &(struct err){.text = "before"});
	assert_int_equal(
		config_parse(text.s, text.n, "t", CONFIG_CASE, NULL, 0, &c, &errors), -EINVAL);
	assert_int_equal(errors.n, 51);
	for (size_t i = 2; i < errors.n; i++)
		assert_true(errors.v[i - 1].line < errors.v[i].line);
	assert_int_equal(errors.v[1].line, 2);
	assert_non_null(strstr(errors.v[1].text, "unknown device 'leaf9'; did you mean 'leaf1'?"));
	assert_non_null(strstr(errors.v[2].text, "did you mean 'role'?"));

	rw_cleanup(err_list_done) struct err_list missing = {0};
	assert_int_equal(
		config_load("/nowhere/x.yaml", CONFIG_FULL, NULL, 0, &c, &missing), -ENOENT);
	assert_string_equal(missing.v[0].file, "/nowhere/x.yaml");
	assert_null(c);
}

static void test_set(void **state)
{
	struct config *c = parse(full, CONFIG_FULL);
	struct err e = {0};
	assert_int_equal(config_set(c, "analyzers.imbalance.warn", "50%", &e), 0);
	assert_true(((const struct imbalance *)config_options(c, "analyzers", "imbalance"))->warn ==
		0.5);
	assert_int_equal(config_set(c, "policy.load_balancing", "static", &e), 0);
	assert_int_equal(c->fabric->lb, LB_STATIC);
	assert_int_equal(fabric_device(c->fabric, "leaf2")->lb, LB_STATIC);
	assert_int_equal(fabric_device(c->fabric, "leaf1")->lb, LB_ADAPTIVE);
	assert_int_equal(fabric_group(fabric_device(c->fabric, "leaf1"), "storage")->lb, LB_PACKET);
	assert_int_equal(config_set(c, "cost.usd_per_gpu_hour", "4", &e), 0);
	assert_true(c->fabric->usd_per_gpu_hour == 4);
	assert_int_equal(config_set(c, "lossless.mtu", "9216B", &e), 0);
	assert_int_equal(c->fabric->lossless_mtu_bytes, 9216);
	rw_cleanup(freep) char *text = config_text(c);
	assert_non_null(strstr(text, "warn: 50%"));
	assert_non_null(strstr(text, "mtu: 9216B"));

	static const struct {
		const char *key, *value;
		int want;
		const char *part;
	} rows[] = {
		{"analyzers.imbalance.warm", "50%", -ENOENT,
			"did you mean 'analyzers.imbalance.warn'?"},
		{"analyzers.imbalanse.warn", "50%", -ENOENT,
			"did you mean 'analyzers.imbalance.warn'?"},
		{"analyzers.imbalance.warn", "50", -EINVAL,
			"analyzers.imbalance.warn is '50', which is 5000 %"},
		{"analyzers.imbalance.window", "50", -EINVAL, "expected a duration"},
		{"policy.congestion", "dcqnc", -EINVAL, "did you mean 'dcqcn'?"},
		{"policy.congestio", "dcqcn", -ENOENT, "did you mean 'policy.congestion'?"},
		{"policy", "dcqcn", -ENOENT, "unknown setting"},
		{"", "", -ENOENT, "unknown setting"},
		{"lossless.priorities", "9", -EINVAL, "lossless.priorities is"},
		{"lossless.priorities", "", -EINVAL, "expected a list"},
		{"store.path", "x.db", -ENOENT, "no part in judging"},
		{"devices[1].snmp.interval", "1s", -ENOENT, "no part in judging"},
		{"analyzers.imbalance", "x", -ENOENT, "unknown"},
		{"devices", "x", -ENOENT, "unknown"},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		int r = config_set(c, rows[i].key, rows[i].value, &e);
		if (r != rows[i].want || !strstr(e.text, rows[i].part))
			fail_msg("%s = %s gave %d: %s", rows[i].key, rows[i].value, r, e.text);
		assert_int_equal(config_set(c, rows[i].key, rows[i].value, NULL), rows[i].want);
	}
	config_free(c);
}

/* A file that is there and one that is not; both are only looked at on demand. */
static void test_files(void **state)
{
	char path[] = "/tmp/rw_secret_XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "hunter2\n", 8), 8);
	close(fd);
	rw_cleanup(str_done) struct str text = {0};
	str_addf(&text,
		"credentials:\n  a: { snmp: { version: 2c, community_file: %s } }\n  b: { snmp: { "
		"version: 2c, community_file: /nowhere/x } }\n"
		"  c: { snmp: { version: 2c, community_file: /tmp } }\ndevices:\n  - { name: "
		"leaf1, snmp: { address: h, credentials: a } }\n",
		path);
	struct config *c = parse(text.s, CONFIG_FULL);
	rw_cleanup(err_list_done) struct err_list errors = {0}, warnings = {0};
	chmod(path, 0644);
	assert_int_equal(config_check_files(c, &errors, &warnings), -ENOENT);
	assert_int_equal(errors.n, 2);
	assert_int_equal(errors.v[0].line, 3);
	assert_int_equal(errors.v[0].col, 45);
	assert_non_null(strstr(errors.v[0].text, "'/nowhere/x' does not exist"));
	assert_non_null(strstr(errors.v[1].text, "is a directory"));
	assert_int_equal(warnings.n, 1);
	assert_non_null(strstr(warnings.v[0].text, "chmod 0600"));

	rw_cleanup(locked_freep) char *secret = NULL;
	struct err e = {0};
	assert_int_equal(secret_read(&c->credentials[0].snmp->community, &secret, &e), 0);
	assert_string_equal(secret, "hunter2");
	rw_cleanup(freep) char *print = config_text(c);
	assert_null(strstr(print, "hunter2"));
	assert_non_null(strstr(print, path));
	char *none = NULL;
	assert_int_equal(secret_read(&c->credentials[1].snmp->community, &none, &e), -ENOENT);
	assert_non_null(strstr(e.text, "/nowhere/x"));
	config_free(c);
	unlink(path);
}

static void test_secrets(void **state)
{
	char dir[] = "/tmp/rw_credentials_XXXXXX";
	assert_non_null(mkdtemp(dir));
	rw_cleanup(str_done) struct str file = {0};
	str_addf(&file, "%s/v3.priv", dir);
	static const struct {
		const char *what, *content;
		int want;
		const char *secret;
	} rows[] = {
		{"plain", "secret", 0, "secret"},
		{"one newline goes", "secret\n\n", 0, "secret\n"},
		{"DOS line end", "secret\r\n", 0, "secret"},
		{"spaces stay", " a b ", 0, " a b "},
		{"empty", "", -EINVAL, NULL},
		{"newline only", "\n", -EINVAL, NULL},
	};
	const struct config_secret from_dir = {.from = SECRET_CREDENTIAL, .name = "v3.priv"},
				   from_env = {.from = SECRET_ENV, .name = "RW_TEST_SECRET"};
	struct err e = {0};
	char *none = NULL;
	unsetenv("CREDENTIALS_DIRECTORY");
	assert_int_equal(secret_read(&from_dir, &none, &e), -ENOENT);
	assert_non_null(strstr(e.text, "LoadCredential=v3.priv"));
	setenv("CREDENTIALS_DIRECTORY", dir, 1);
	for (size_t i = 0; i < rw_countof(rows); i++) {
		FILE *f = fopen(file.s, "w");
		fputs(rows[i].content, f);
		fclose(f);
		rw_cleanup(locked_freep) char *got = NULL;
		int r = secret_read(&from_dir, &got, &e);
		if (r != rows[i].want || (r == 0 && strcmp(got, rows[i].secret) != 0))
			fail_msg("%s: gave %d '%s'", rows[i].what, r, got ? got : "");
	}
	/* it would end there, unsaid */
	FILE *f = fopen(file.s, "w");
	assert_int_equal(fwrite("sec\0ret\n", 1, 8, f), 8);
	fclose(f);
	assert_int_equal(secret_read(&from_dir, &none, &e), -EINVAL);
	assert_non_null(strstr(e.text, "NUL"));
	unlink(file.s);
	rmdir(dir);
	unsetenv("RW_TEST_SECRET");
	assert_int_equal(secret_read(&from_env, &none, &e), -ENOENT);
	setenv("RW_TEST_SECRET", "x y", 1);
	rw_cleanup(locked_freep) char *got = NULL;
	assert_int_equal(secret_read(&from_env, &got, &e), 0);
	assert_string_equal(got, "x y");
	assert_int_equal(secret_read(&(struct config_secret){0}, &none, &e), -EINVAL);
	assert_null(none);
}

/* Taken out of the environment: it is not in /proc/PID/environ and children do not get it. */
static void test_environment_is_emptied(void **state)
{
	struct config_snmp_credential snmp = {
		.community = {.from = SECRET_ENV, .name = "RW_TEST_TAKEN"}};
	struct config_credential credential = {.snmp = &snmp};
	struct config_receiver receiver = {.token = {.from = SECRET_ENV, .name = "RW_TEST_TOKEN"},
		.secret = {.from = SECRET_ENV, .name = "RW_TEST_TOKEN"}};
	struct config_receiver alone[] = {
		{.password = {.from = SECRET_ENV, .name = "RW_TEST_ONE"}},
		{.token = {.from = SECRET_ENV, .name = "RW_TEST_TWO"}},
		{.secret = {.from = SECRET_ENV, .name = "RW_TEST_THREE"}},
	};
	static const char *const names[] = {"RW_TEST_ONE", "RW_TEST_TWO", "RW_TEST_THREE"};
	struct config config = {.credentials = &credential, .n_credentials = 1};
	char taken[] = "RW_TEST_TAKEN=hunter2", token[] = "RW_TEST_TOKEN=hunter3";
	struct err e = {0};
	config.alerts.receivers = &receiver;
	config.alerts.n_receivers = 1;
	putenv(taken); /* these very bytes are the environment */
	putenv(token);
	secrets_leave_environment(&config);
	assert_null(getenv("RW_TEST_TAKEN"));
	assert_null(getenv("RW_TEST_TOKEN"));
	assert_string_equal(taken, "RW_TEST_TAKEN=");
	assert_string_equal(token, "RW_TEST_TOKEN=");
	for (int k = 0; k < 2; k++) { /* as often as it is needed */
		rw_cleanup(locked_freep) char *got = NULL;
		assert_int_equal(secret_read(&snmp.community, &got, &e), 0);
		assert_string_equal(got, "hunter2");
	}
	rw_cleanup(locked_freep) char *got = NULL;
	assert_int_equal(secret_read(&receiver.secret, &got, &e), 0);
	assert_string_equal(got, "hunter3");
	secrets_leave_environment(&config); /* of a later configuration: nothing is left to take */
	for (size_t k = 0; k < rw_countof(names); k++)
		setenv(names[k], "hunter4", 1);
	config.alerts.receivers = alone;
	config.alerts.n_receivers = rw_countof(alone);
	secrets_leave_environment(&config);
	for (size_t k = 0; k < rw_countof(names); k++)
		if (getenv(names[k]))
			fail_msg("%s is left", names[k]);
}

static void test_explain(void **state)
{
	static const struct {
		const char *key;
		int want;
		const char *part, *not_part;
	} rows[] = {
		{"defaults.interval", 0, "duration such as 10s, 100ms to 1h, default 10s",
			"slow_interval"},
		{"defaults", 0, "defaults.slow_interval", "store.path"},
		{"devices.snmp.credentials", 0, "devices[].snmp.credentials", "devices[].name"},
		{"devices[].name", 0, "required", "role"},
		{"credentials.<name>.snmp.user", 0, "securityName", "community"},
		{"credentials.v3-noc.snmp.user", 0, "securityName", "community"},
		{"analyzers.imbalance.warn", 0, "1% to 1000%, default 20%", "window"},
		{"analyzers.imbalance", 0, "analyzers.imbalance.window", "fabric\n"},
		{"links", 0, "discover", "devices"},
		{"fabric", 0, "default fabric", "store"},
		{"analyzers.imbalance.warm", -ENOENT, NULL, NULL},
		{"defaults.", -ENOENT, NULL, NULL},
		{"nonsense", -ENOENT, NULL, NULL},
		{"devices[", -ENOENT, NULL, NULL},
		{NULL, 0, "alerts.alertmanager.url", "community\n"},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		rw_cleanup(freep) char *text = NULL;
		size_t n;
		struct err e = {0};
		FILE *out = open_memstream(&text, &n);
		int r = config_explain(rows[i].key, tables, 2, out, &e);
		fclose(out);
		if (r != rows[i].want ||
			(r == 0 && (!strstr(text, rows[i].part) || strstr(text, rows[i].not_part))))
			fail_msg("%s gave %d: %s%s", rows[i].key, r, text, e.text);
	}
	struct err e = {0};
	rw_cleanup(fclosep) FILE *sink = fopen("/dev/null", "w");
	assert_int_equal(config_explain("analyzers.imbalance.warm", tables, 2, sink, &e), -ENOENT);
	assert_non_null(strstr(e.text, "did you mean 'analyzers.imbalance.warn'?"));
}

/* Keys as they are explained: a list as one writes it, and what a default of 0 stands for. */
static void explained(const struct config_key *key, void *arg)
{
	struct str *all = arg;
	str_addf(all, "%s: ", key->path);
	config_key_about(key, all);
	str_add(all, "\n");
}

static void test_key_about(void **state)
{
	rw_cleanup(str_done) struct str all = {0};
	config_keys(NULL, 0, explained, &all);
	static const char *const wanted[] = {
		"lossless.priorities: list such as [a, b], default [3]\n",
		"credentials: sections, each under a name that you choose\n",
		"jobs[].step: duration such as 10s, 0s to 1h, default 0s: not known\n",
		"devices[].snmp.max_varbinds_s: whole number, 0 to 1000000, default 0: no limit\n",
		"store.retention.raw: duration such as 10s, 1m to 10y, default 7d\n",
	};
	for (size_t i = 0; i < rw_countof(wanted); i++)
		if (!strstr(all.s, wanted[i]))
			fail_msg("not explained as '%s'", wanted[i]);
}

static struct config *with_receiver(const char *keys)
{
	struct config *c = NULL;
	struct err_list errors = {0};
	rw_cleanup(str_done) struct str text = {0};
	str_addf(&text, "alerts: { alertmanager: { url: \"http://a:1\"%s } }\n", keys);
	if (config_parse(text.s, text.n, "t", CONFIG_CASE, tables, 2, &c, &errors) < 0)
		fail_msg("%s: %s", text.s, errors.v[0].text);
	err_list_done(&errors);
	return c;
}

/* A struct outlives its configuration, and any key of it that changes is seen. */
static void test_kept(void **state)
{
	static const char *const changes[] = {
		", name: b",
		", timeout: 11s",
		", spool: 11",
		", min_severity: critical",
		", causes: [pfc_storm]",
		", username: u, password_env: ONE",
		", token_file: /x",
		", tls: { ca: /x }",
		", tls: { skip_verify: true }",
	};
	const struct section *section = sender_alertmanager.options.receiver;
	for (size_t i = 0; i < rw_countof(changes); i++) {
		rw_cleanup(arena_freep) struct arena *a = arena_new();
		struct config *plain = with_receiver("");
		struct config *first = with_receiver(changes[i]),
			      *again = with_receiver(changes[i]);
		struct config_receiver kept = first->alerts.receivers[0];
		schema_copy(section, a, &kept);
		config_free(first);
		if (!schema_same(section, &kept, &again->alerts.receivers[0]))
			fail_msg("'%s' is not itself", changes[i]);
		if (schema_same(section, &kept, &plain->alerts.receivers[0]))
			fail_msg("'%s' is not seen", changes[i]);
		config_free(again);
		config_free(plain);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_interval),
		cmocka_unit_test(test_case_mode),
		cmocka_unit_test(test_mistakes_in_order),
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_secrets),
		cmocka_unit_test(test_environment_is_emptied),
		cmocka_unit_test(test_explain),
		cmocka_unit_test(test_key_about),
		cmocka_unit_test(test_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

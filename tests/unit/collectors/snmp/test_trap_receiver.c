/*
 * trap_receiver on loopback: Debian's snmptrap and snmpinform against the receiver beside a target
 * that polls a real snmpd; what becomes an event, what is dropped and counted, and that a storm is
 * not read.
 */
#include "tests/unit/collectors/snmp/snmp_world.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collectors/snmp/trap_receiver.h"

#define LINKDOWN " '' 1.3.6.1.6.3.1.1.5.3 1.3.6.1.2.1.2.2.1.1.1 i 1"
#define V3 " -v3 -u noc -l authPriv -a SHA-256 -x AES -X longsecret1"
#define ENGINE " -e 0x80000000010203"

struct event {
	char kind[32], device[32], port[64], text[256];
};

struct bench {
	struct world w;
	struct world_agent snmpd;
	struct config_credential v3;
	struct config_snmp_credential v3_snmp;
	const struct config_credential *credentials[2];
	struct config_traps config;
	struct trap_receiver *r;
	char address[32];
	struct event events[64];
	size_t n_events;
	bool known; /* is the sender a device? */
	uint64_t wanted; /* datagrams */
	pid_t child;
};
static struct bench b;

static void on_event(void *arg, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text)
{
	struct event *e = &b.events[b.n_events++ % rw_countof(b.events)];
	snprintf(e->kind, sizeof(e->kind), "%s", kind);
	snprintf(e->device, sizeof(e->device), "%s", device);
	snprintf(e->port, sizeof(e->port), "%s", port ? port : "");
	snprintf(e->text, sizeof(e->text), "%s", text);
	assert_true(t_ns > 0 && t_ns <= wall_now().ns);
}

static struct snmp_target *find(void *arg, const char *host, size_t *ret_n)
{
	*ret_n = b.known && strcmp(host, "127.0.0.1") == 0;
	return *ret_n ? b.w.targets[0] : NULL;
}

static bool target_up(struct world *w)
{
	return w->told[0].state == TARGET_UP;
}

static int setup(void **state)
{
	struct err e = {0};
	struct sink sink = {.event = on_event};
	memset(&b, 0, sizeof(b));
	b.known = true;
	setenv("RW_TEST_V3", "longsecret1", 1);
	agent_start(&b.snmpd, "udp:127.0.0.1", free_port(AF_INET), "rocommunity secret\n");
	world_new(&b.w, "secret");
	world_add(&b.w, "127.0.0.1", b.snmpd.port);
	world_start(&b.w, 0);
	world_wait(&b.w, target_up, 20, "the target is up");
	b.v3_snmp = (struct config_snmp_credential){.version = 3,
		.user = "noc",
		.context = "",
		.auth = SNMP_AUTH_SHA256,
		.priv = SNMP_PRIV_AES128,
		.auth_secret = {SECRET_ENV, "RW_TEST_V3", 0, 0},
		.priv_secret = {SECRET_ENV, "RW_TEST_V3", 0, 0}};
	b.v3 = (struct config_credential){.name = "v3", .snmp = &b.v3_snmp};
	b.credentials[0] = &b.w.credential;
	b.credentials[1] = &b.v3;
	b.config = (struct config_traps){.address = "127.0.0.1",
		.port = free_port(AF_INET),
		.credentials = b.credentials,
		.n_credentials = 2};
	snprintf(b.address, sizeof(b.address), " 127.0.0.1:%u", b.config.port);
	if (trap_receiver_new(b.w.loop, &b.config, &sink, find, NULL, &b.r, &e) != 0)
		fail_msg("%s", e.text);
	return 0;
}

static int teardown(void **state)
{
	trap_receiver_free(b.r);
	world_free(&b.w);
	agent_stop(&b.snmpd);
	return 0;
}

static bool child_done(struct world *w)
{
	int status;
	if (b.child && waitpid(b.child, &status, WNOHANG) == b.child)
		b.child = 0;
	return b.child == 0 && trap_receiver_counters(b.r)->received >= b.wanted;
}

/* Run the tool while the loop runs, until it has ended and @datagrams more were received. */
static void tool(const char *name, const char *options, const char *rest, unsigned datagrams)
{
	char line[1024];
	snprintf(line, sizeof(line), "SNMP_PERSISTENT_DIR=%s MIBS= exec %s%s%s%s >/dev/null 2>&1",
		b.snmpd.dir, name, options, b.address, rest);
	b.wanted = trap_receiver_counters(b.r)->received + datagrams;
	b.child = fork();
	assert_true(b.child >= 0);
	if (b.child == 0) {
		execl("/bin/sh", "sh", "-c", line, (char *)NULL);
		_exit(127);
	}
	world_wait(&b.w, child_done, 20, line);
}

static void test_events(void **state)
{
	static const struct {
		const char *what, *tool, *options, *rest;
		unsigned datagrams;
		const char *kind, *port; /* NULL = no event */
	} rows[] = {
		{"v2c trap", "snmptrap", " -v2c -c secret", LINKDOWN, 1, "link_down", "lo"},
		{"v2c inform", "snmpinform", " -v2c -c secret", LINKDOWN, 1, "link_down", "lo"},
		{"v1 trap", "snmptrap", " -v1 -c secret",
			" 1.3.6.1.4.1.8072.3.2.10 127.0.0.1 0 0 ''", 1, "cold_start", ""},
		{"v3 trap", "snmptrap", V3 ENGINE "04 -A longsecret1", LINKDOWN, 1, "link_down",
			"lo"},
		{"the same engine again", "snmptrap", V3 ENGINE "04 -A longsecret1", LINKDOWN, 1,
			"link_down", "lo"},
		{"v3 inform", "snmpinform", V3 " -A longsecret1", LINKDOWN, 2, "link_down", "lo"},
		{"wrong community", "snmptrap", " -v2c -c guess", LINKDOWN, 1, NULL, NULL},
		{"the beginning of the community", "snmptrap", " -v2c -c sec", LINKDOWN, 1, NULL,
			NULL},
		{"more than the community", "snmptrap", " -v2c -c secrets", LINKDOWN, 1, NULL,
			NULL},
		{"wrong password", "snmptrap", V3 ENGINE "05 -A wrongsecret", LINKDOWN, 1, NULL,
			NULL},
		{"wrong password of an engine that was good", "snmptrap",
			V3 ENGINE "04 -A wrongsecret", LINKDOWN, 1, NULL, NULL},
		{"unknown user", "snmptrap", " -v3 -u eve -l noAuthNoPriv" ENGINE "06", LINKDOWN, 1,
			NULL, NULL},
		{"a good user without keys", "snmptrap", " -v3 -u noc -l noAuthNoPriv" ENGINE "04",
			LINKDOWN, 1, NULL, NULL},
		{"and the right one after all", "snmptrap", V3 ENGINE "05 -A longsecret1", LINKDOWN,
			1, "link_down", "lo"},
		{"without meaning", "snmptrap", " -v2c -c secret", " '' 1.3.6.1.4.1.99.0.1", 1,
			NULL, NULL},
	};
	size_t expected = 0, dropped = 0;
	for (size_t i = 0; i < rw_countof(rows); i++) {
		tool(rows[i].tool, rows[i].options, rows[i].rest, rows[i].datagrams);
		expected += rows[i].kind != NULL;
		dropped += rows[i].kind == NULL;
		if (b.n_events != expected)
			fail_msg("%s: %zu events", rows[i].what, b.n_events);
		const struct event *e = &b.events[expected - 1];
		if (rows[i].kind &&
			(strcmp(e->kind, rows[i].kind) != 0 || strcmp(e->device, "sw0") != 0 ||
				strcmp(e->port, rows[i].port) != 0))
			fail_msg("%s: %s of %s '%s'", rows[i].what, e->kind, e->device, e->port);
	}
	const struct trap_counters *n = trap_receiver_counters(b.r);
	assert_int_equal(n->events, expected);
	assert_int_equal(n->informs, 2);
	assert_int_equal(n->unknown_trap, 1);
	assert_int_equal(n->wrong_credential, dropped - 1);
	assert_int_equal(n->malformed, 0);
	assert_int_equal(n->unknown_sender, 0);
}

static void test_unknown_sender(void **state)
{
	b.known = false;
	tool("snmptrap", " -v2c -c secret", LINKDOWN, 1);
	tool("snmptrap", " -v1 -c secret", " 1.3.6.1.4.1.8072.3.2.10 192.0.2.9 0 0 ''", 1);
	assert_int_equal(b.n_events, 0);
	assert_int_equal(trap_receiver_counters(b.r)->unknown_sender, 2);
	assert_string_equal(trap_receiver_counters(b.r)->by_unknown.v[0].sender, "127.0.0.1");
}

static bool all_received(struct world *w)
{
	return trap_receiver_counters(b.r)->received >= b.wanted;
}

/* Thousands of datagrams that are no traps, from a known sender: all counted, few read, and the
 * target goes on being polled. */
static void test_storm(void **state)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
		.sin_port = htons(b.config.port),
		.sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	unsigned sent = 0;
	assert_true(fd >= 0);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 100; i++) /* less than the socket's buffer holds */
			sent += sendto(fd, "\x30\x03\x02\x01\x01", 5, 0, (struct sockaddr *)&to,
					sizeof(to)) == 5;
		b.wanted = sent;
		world_wait(&b.w, all_received, 20, "the storm is received");
	}
	close(fd);
	const struct trap_counters *n = trap_receiver_counters(b.r);
	assert_int_equal(n->received, 2000);
	assert_int_equal(n->limited + n->malformed, 2000);
	assert_true(n->limited > 1000);
	assert_int_equal(b.n_events, 0);
	assert_int_equal(b.w.told[0].state, TARGET_UP);
}

/* A v1 trap of the agent 127.0.0.1, which is a device. */
static void relay_send(int fd)
{
	/* RFC 1157 4.1.6: version 0, "secret"; 1.3.6.1.4.1.8072.3.2.10, agent, coldStart */
	static const uint8_t trap[] = "\x30\x2a\x02\x01\x00\x04\x06secret\xa4\x1d\x06\x0a"
				      "\x2b\x06\x01\x04\x01\xbf\x08\x03\x02\x0a\x40\x04\x7f"
				      "\x00\x00\x01\x02\x01\x00\x02\x01\x00\x43\x01\x00\x30"
				      "\x00";
	struct sockaddr_in to = {.sin_family = AF_INET,
		.sin_port = htons(b.config.port),
		.sin_addr = {htonl(INADDR_LOOPBACK)}};
	b.wanted++;
	assert_int_equal(sendto(fd, trap, sizeof(trap) - 1, 0, (struct sockaddr *)&to, sizeof(to)),
		sizeof(trap) - 1);
}

static int sender_at(uint32_t host)
{
	struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr = {htonl(host)}};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	return fd;
}

/* Senders that are no device: what one of them sends too often keeps another one's out as little as
 * a device's; of many addresses no more is read than of ten devices. */
static void test_strangers(void **state)
{
	const struct trap_counters *n = trap_receiver_counters(b.r);
	int loud = sender_at(0x7f000042), relay = sender_at(0x7f000043);
	for (int i = 0; i < 300; i++)
		relay_send(loud);
	world_wait(&b.w, all_received, 20, "the loud sender is received");
	assert_true(n->limited >= 200);
	const uint64_t events = n->events;
	relay_send(relay);
	world_wait(&b.w, all_received, 20, "the relay is received");
	assert_int_equal(n->events, events + 1);
	for (uint32_t i = 0; i < 1500; i++) {
		int fd = sender_at(0x7f010000 + i);
		relay_send(fd);
		close(fd);
		if (i % 100 == 99) /* less than the socket's buffer holds */
			world_wait(&b.w, all_received, 20, "the many are received");
	}
	assert_true(n->limited >= 200 + 500);
	close(loud);
	close(relay);
}

static void test_refused_start(void **state)
{
	struct trap_receiver *second = NULL;
	struct sink sink = {.event = on_event};
	struct err e = {0};
	/* the port is taken */
	assert_true(trap_receiver_new(b.w.loop, &b.config, &sink, find, NULL, &second, &e) < 0);
	assert_non_null(strstr(e.text, "cannot listen"));
	struct config_traps away = b.config;
	away.address = "192.0.2.77";
	assert_true(trap_receiver_new(b.w.loop, &away, &sink, find, NULL, &second, &e) < 0);
	assert_non_null(strstr(e.text, "address of this machine"));
	assert_false(config_traps_same(&b.config, &away));
	assert_true(config_traps_same(&b.config, &b.config));
	assert_false(config_traps_same(NULL, &b.config));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown_sender, setup, teardown),
		cmocka_unit_test_setup_teardown(test_storm, setup, teardown),
		cmocka_unit_test_setup_teardown(test_strangers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_start, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

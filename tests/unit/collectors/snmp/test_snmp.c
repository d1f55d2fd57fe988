/* snmp against a real snmpd on loopback: values, restart, refusal, silence, one dead of five, IPv6,
 * names, version 1, lost big answers. */
#include "tests/unit/collectors/snmp/snmp_world.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"

#define OPEN "rocommunity secret\n"

static bool up(struct world *w)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->told[i].state != TARGET_UP)
			return false;
	return true;
}

static bool down(struct world *w)
{
	return w->told[0].state == TARGET_BACKOFF;
}

static uint64_t sys_counter(const char *port, const char *name)
{
	char path[256];
	unsigned long long v = 0;
	snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/%s", port, name);
	rw_cleanup(fclosep) FILE *f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%llu", &v), 1);
	return v;
}

static const struct {
	const char *what, *sys;
	unsigned metric;
} counters[] = {
	{"octets received", "rx_bytes", M_PORT_IN_OCTETS},
	{"octets sent", "tx_bytes", M_PORT_OUT_OCTETS},
	{"errors received", "rx_errors", M_PORT_IN_ERRORS},
	{"discards sent", "tx_dropped", M_PORT_OUT_DISCARDS},
};

/* The kernel's own counters before the agent starts and after the poll bracket what it answers: it
 * may cache, never invent. */
static void test_values(void **state)
{
	struct world w;
	struct world_agent a;
	uint64_t before[rw_countof(counters)];
	for (size_t i = 0; i < rw_countof(counters); i++)
		before[i] = sys_counter("lo", counters[i].sys);
	agent_start(&a, "udp:127.0.0.1", free_port(AF_INET), OPEN);
	world_new(&w, "secret\n");
	world_add(&w, "127.0.0.1", a.port);
	int64_t t0 = wall_now().ns;
	world_start(&w, 0);
	world_wait(&w, up, 20, "the target is up");
	int64_t t1 = wall_now().ns;
	for (size_t i = 0; i < rw_countof(counters); i++) {
		const struct sample *s =
			world_sample(&w, "sw0", "lo", PRIO_NONE, counters[i].metric);
		uint64_t after = sys_counter("lo", counters[i].sys);
		if (!s)
			fail_msg("%s: no sample", counters[i].what);
		if (s->value < before[i] || s->value > after)
			fail_msg("%s: %llu is not between %llu and %llu", counters[i].what,
				(unsigned long long)s->value, (unsigned long long)before[i],
				(unsigned long long)after);
		assert_int_equal(s->source, SOURCE_SNMP);
		assert_true(s->t_ns >= t0 && s->t_ns <= t1);
		assert_int_equal(s->t_ns, w.samples[0].t_ns); /* one poll, one time */
		assert_false(s->flags & SF_RESTART);
	}
	assert_false(world_sample(&w, "sw0", "lo", PRIO_NONE, M_PORT_IN_OCTETS)->flags & SF_WRAP32);
	assert_true(world_sample(&w, "sw0", "lo", PRIO_NONE, M_PORT_IN_ERRORS)->flags & SF_WRAP32);
	assert_int_equal(world_sample(&w, "sw0", "lo", PRIO_NONE, M_PORT_OPER_UP)->value, 1);
	assert_int_equal(world_sample(&w, "sw0", "lo", PRIO_NONE, M_PORT_MTU_BYTES)->value, 65536);
	assert_string_equal(w.told[0].profile, "generic");
	assert_string_equal(w.told[0].descr, "rocewatch test agent");
	assert_true(w.n_ports > 0);
	double p50, p95;
	target_poll_quantiles(snmp_target_state(w.targets[0]), &p50, &p95);
	assert_true(p50 >= 0 && p50 < 20);
	world_free(&w);
	agent_stop(&a);
}

static bool ten_polls(struct world *w)
{
	return w->told[0].polls >= 10;
}

/* The load put on a device is what it says it was asked: snmpInTotalReqVars (RFC 3418), read with
 * another tool at the end. */
static void test_load(void **state)
{
	struct world w;
	struct world_agent a;
	char command[160];
	unsigned long long asked = 0;
	agent_start(&a, "udp:127.0.0.1", free_port(AF_INET), OPEN);
	world_new(&w, "secret");
	world_add(&w, "127.0.0.1", a.port);
	world_start(&w, 0);
	world_wait(&w, ten_polls, 60, "ten polls");
	uint64_t counted = snmp_target_state(w.targets[0])->varbinds;
	world_free(&w);
	snprintf(command, sizeof(command),
		"snmpget -v2c -c secret -Oqv -m '' 127.0.0.1:%u .1.3.6.1.2.1.11.13.0", a.port);
	FILE *f = popen(command, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%llu", &asked), 1);
	assert_int_equal(pclose(f), 0);
	/* a request may have been under way; the tool's own is one more */
	if (counted + 20 < asked || counted > asked + asked / 20 + 20)
		fail_msg("counted %llu, the agent was asked %llu", (unsigned long long)counted,
			asked);
	agent_stop(&a);
}

static mono_t agent_began;

static bool up_for_2s(struct world *w)
{
	return up(w) && mono_now().ns - agent_began.ns >= 2 * NS_PER_S;
}

static bool restart_seen(struct world *w)
{
	for (size_t i = w->n_samples; i-- > 0;)
		if (w->samples[i].flags & SF_RESTART)
			return true;
	return false;
}

/* A restarted agent: the target goes down, comes back, and the first counters after it carry the
 * flag. */
static void test_restart(void **state)
{
	struct world w;
	struct world_agent a;
	/* its sysUpTime must be above what it will be after the restart */
	agent_began = mono_now();
	agent_start(&a, "udp:127.0.0.1", free_port(AF_INET), OPEN);
	world_new(&w, "secret");
	world_add(&w, "127.0.0.1", a.port);
	world_start(&w, 0);
	world_wait(&w, up_for_2s, 30, "up for two seconds");
	assert_false(restart_seen(&w));
	agent_stop(&a);
	world_wait(&w, down, 20, "the target is down");
	assert_non_null(strstr(w.told[0].reason, "refused"));
	agent_start(&a, "udp:127.0.0.1", a.port, OPEN);
	world_wait(&w, up, 20, "up again");
	assert_true(restart_seen(&w));
	assert_true(world_sample(&w, "sw0", "lo", PRIO_NONE, M_PORT_IN_OCTETS) != NULL);
	assert_int_equal(w.told[0].up, 2);
	assert_int_equal(w.n_events, 1);
	assert_string_equal(w.told[0].reason, "");
	world_free(&w);
	agent_stop(&a);
}

static void test_refused(void **state)
{
	struct world w;
	world_new(&w, "secret");
	world_add(&w, "127.0.0.1", free_port(AF_INET));
	w.snmp[0].timeout_ns = 60 * NS_PER_S; /* the refusal is heard, not waited for */
	world_start(&w, 0);
	world_wait(&w, down, 20, "refused");
	assert_non_null(strstr(w.told[0].reason, "connection refused"));
	world_free(&w);
}

static void test_wrong_community(void **state)
{
	struct world w;
	struct world_agent a;
	agent_start(&a, "udp:127.0.0.1", free_port(AF_INET), OPEN);
	world_new(&w, "guess");
	world_add(&w, "127.0.0.1", a.port);
	world_start(&w, 0);
	world_wait(&w, down, 20, "no answer");
	assert_non_null(strstr(w.told[0].reason, "wrong community"));
	assert_non_null(strstr(w.told[0].reason, "access list"));
	world_free(&w);
	agent_stop(&a);
}

static void test_unreadable_secret(void **state)
{
	struct world w;
	world_new(&w, "x");
	world_add(&w, "127.0.0.1", 1);
	w.snmp_credential.community.name = "/nonexistent/community";
	world_start(&w, 0);
	world_wait(&w, down, 20, "no secret");
	assert_non_null(strstr(w.told[0].reason, "/nonexistent/community"));
	world_free(&w);
}

/* The secret was readable at the start (with the rights of that time), and is not any more: what
 * was read goes on. */
static void test_secret_of_the_start(void **state)
{
	struct world w;
	struct world_agent a;
	/* root reads everything: a file whose reading is refused to it too is not to be had without
	 * mounts */
	if (geteuid() == 0)
		skip();
	agent_start(&a, "udp:127.0.0.1", free_port(AF_INET), OPEN);
	world_new(&w, "secret");
	world_add(&w, "127.0.0.1", a.port);
	world_start(&w, 0);
	assert_int_equal(chmod(w.secret_path, 0), 0);
	world_wait(&w, up, 20, "up with the secret of the start");
	world_free(&w);
	agent_stop(&a);
}

static void test_bad_name(void **state)
{
	struct world w;
	world_new(&w, "x");
	world_add(&w, "no-such-host.invalid", 161); /* RFC 2606: never resolves */
	world_start(&w, 0);
	world_wait(&w, down, 60, "does not resolve");
	assert_non_null(strstr(w.told[0].reason, "cannot resolve no-such-host.invalid"));
	world_free(&w);
}

static bool ten_polls_each(struct world *w)
{
	for (size_t i = 1; i < w->n; i++)
		if (w->told[i].polls < 10)
			return false;
	return w->told[0].backoff >= 1;
}

static int by_gap(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* A host that never answers: the four others go on at their own pace, whatever it waits for. */
static void test_one_dead_of_five(void **state)
{
	struct world w;
	struct world_agent a;
	agent_start(&a, "udp:127.0.0.1", free_port(AF_INET), OPEN);
	int silent = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t n = sizeof(sin);
	assert_int_equal(bind(silent, (struct sockaddr *)&sin, n), 0);
	assert_int_equal(getsockname(silent, (struct sockaddr *)&sin, &n), 0);
	world_new(&w, "secret");
	world_add(&w, "127.0.0.1", ntohs(sin.sin_port));
	for (int i = 0; i < 4; i++)
		world_add(&w, "127.0.0.1", a.port);
	w.snmp[0].timeout_ns = 1500 * NS_PER_MS;
	w.snmp[0].retries = 0;
	for (size_t i = 0; i < w.n; i++)
		world_start(&w, i);
	world_wait(&w, ten_polls_each, 60,
		"ten polls of each living one and one failure of the dead one");
	assert_int_equal(w.told[0].up, 0);
	for (size_t i = 1; i < w.n; i++) {
		int64_t t[64], gaps[64];
		size_t k = 0;
		uint32_t lo = entities_find(w.entities, w.told[i].device, "lo", PRIO_NONE);
		for (size_t s = 0; s < w.n_samples && k < 64; s++)
			if (w.samples[s].entity == lo && w.samples[s].metric == M_PORT_IN_OCTETS)
				t[k++] = w.samples[s].t_ns;
		assert_true(k >= 10);
		for (size_t s = 1; s < k; s++)
			gaps[s - 1] = t[s] - t[s - 1];
		qsort(gaps, k - 1, sizeof(*gaps), by_gap);
		/* the dead one's waiting would show here */
		assert_true(gaps[(k - 1) / 2] < w.snmp[0].timeout_ns / 2);
	}
	world_free(&w);
	close(silent);
	agent_stop(&a);
}

static void test_ipv6(void **state)
{
	struct world w;
	struct world_agent a;
	int probe = socket(AF_INET6, SOCK_DGRAM, 0);
	if (probe < 0)
		skip();
	close(probe);
	agent_start(&a, "udp6:[::1]", free_port(AF_INET6), "rocommunity6 secret\n");
	world_new(&w, "secret");
	world_add(&w, "::1", a.port);
	w.snmp[0].source = "::1";
	world_start(&w, 0);
	world_wait(&w, up, 20, "up over IPv6");
	assert_non_null(world_sample(&w, "sw0", "lo", PRIO_NONE, M_PORT_IN_OCTETS));
	world_free(&w);
	agent_stop(&a);
}

/* A name is resolved off the loop; version 1 has no GETBULK and no 64-bit counters. */
static void test_version1_by_name(void **state)
{
	struct world w;
	struct world_agent a;
	struct addrinfo *found;
	if (getaddrinfo("localhost", NULL, &(struct addrinfo){.ai_family = AF_INET}, &found)) {
		print_message("no /etc/hosts here: localhost has no address\n");
		skip();
	}
	freeaddrinfo(found);
	agent_start(&a, "udp:127.0.0.1", free_port(AF_INET), OPEN);
	world_new(&w, "secret");
	w.snmp_credential.version = 1;
	world_add(&w, "localhost", a.port);
	w.snmp[0].source = "127.0.0.1";
	world_start(&w, 0);
	world_wait(&w, up, 20, "up with version 1");
	const struct sample *s = world_sample(&w, "sw0", "lo", PRIO_NONE, M_PORT_IN_OCTETS);
	assert_non_null(s);
	assert_true(s->flags & SF_WRAP32);
	assert_true(s->value <= UINT32_MAX);
	world_free(&w);
	agent_stop(&a);
}

static bool all_down(struct world *w)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->told[i].state != TARGET_BACKOFF)
			return false;
	return true;
}

static void test_bad_source(void **state)
{
	static const struct {
		const char *what, *source, *says;
	} rows[] = {
		{"not an address", "ethernet0", "'ethernet0', expected an IPv4 or IPv6 address"},
		{"not ours", "192.0.2.1", "must be an address of this machine"},
		{"other family", "::1", "different families"},
	};
	struct world w;
	world_new(&w, "x");
	for (size_t i = 0; i < rw_countof(rows); i++) {
		size_t n = world_add(&w, "127.0.0.1", 1);
		w.snmp[n].source = rows[i].source;
		world_start(&w, n);
	}
	world_wait(&w, all_down, 20, "refused sources");
	for (size_t i = 0; i < rw_countof(rows); i++)
		if (!strstr(w.told[i].reason, rows[i].says))
			fail_msg("%s: %s", rows[i].what, w.told[i].reason);
	world_free(&w);
}

/* ---- a relay that loses big answers, as a path with a broken MTU does ---- */

#define RELAY_LIMIT 700

struct relay {
	int front, back;
	struct loop_fd *front_watch, *back_watch;
	struct sockaddr_storage client;
	socklen_t n_client;
	unsigned lost;
};

static void relay_front(void *arg, int events)
{
	struct relay *r = arg;
	char buf[65536];
	r->n_client = sizeof(r->client);
	ssize_t n = recvfrom(r->front, buf, sizeof(buf), MSG_DONTWAIT,
		(struct sockaddr *)&r->client, &r->n_client);
	if (n > 0)
		assert_int_equal(send(r->back, buf, (size_t)n, 0), n);
}

static void relay_back(void *arg, int events)
{
	struct relay *r = arg;
	char buf[65536];
	ssize_t n = recv(r->back, buf, sizeof(buf), MSG_DONTWAIT);
	if (n > RELAY_LIMIT)
		r->lost++;
	else if (n > 0)
		sendto(r->front, buf, (size_t)n, 0, (struct sockaddr *)&r->client, r->n_client);
}

static void test_big_answers_lost(void **state)
{
	struct world w;
	struct world_agent a;
	struct relay r = {0};
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}},
			   to = sin;
	socklen_t n = sizeof(sin);
	agent_start(&a, "udp:127.0.0.1", free_port(AF_INET), OPEN);
	world_new(&w, "secret");
	r.front = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	r.back = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	to.sin_port = htons(a.port);
	assert_int_equal(bind(r.front, (struct sockaddr *)&sin, n), 0);
	assert_int_equal(getsockname(r.front, (struct sockaddr *)&sin, &n), 0);
	assert_int_equal(connect(r.back, (struct sockaddr *)&to, sizeof(to)), 0);
	r.front_watch = loop_fd_new(w.loop, r.front, LOOP_READ, relay_front, &r);
	r.back_watch = loop_fd_new(w.loop, r.back, LOOP_READ, relay_back, &r);
	world_add(&w, "127.0.0.1", ntohs(sin.sin_port));
	w.snmp[0].timeout_ns = 150 * NS_PER_MS;
	w.snmp[0].retries = 0;
	world_start(&w, 0);
	world_wait(&w, up, 60, "up in spite of lost big answers");
	assert_true(r.lost > 0);
	assert_true(snmp_target_state(w.targets[0])->max_repetitions < 25);
	assert_int_equal(w.told[0].backoff, 0); /* it never counted as gone */
	assert_non_null(world_sample(&w, "sw0", "lo", PRIO_NONE, M_PORT_IN_OCTETS));
	loop_fd_free(r.front_watch);
	loop_fd_free(r.back_watch);
	world_free(&w);
	close(r.front);
	close(r.back);
	agent_stop(&a);
}

/* A reload that changes nothing keeps the session; each changed field is seen. */
/* A relay that holds requests for one object back, or loses them. */
struct slow_relay {
	struct loop *loop;
	struct loop_fd *front_watch, *back_watch;
	struct loop_timer *timer;
	int front, back;
	struct sockaddr_in client;
	socklen_t n_client;
	char held[4096];
	ssize_t n_held;
	int64_t hold_ns; /* 0 = lose them */
	unsigned asked;
};

/* sysORUpTime, 1.3.6.1.2.1.1.9.1.4, as it stands in a request */
static const char slow_object[] = {0x2b, 6, 1, 2, 1, 1, 9, 1, 4};

static void slow_send(void *arg)
{
	struct slow_relay *r = arg;
	assert_int_equal(send(r->back, r->held, (size_t)r->n_held, 0), r->n_held);
}

static void slow_front(void *arg, int events)
{
	struct slow_relay *r = arg;
	r->n_client = sizeof(r->client);
	ssize_t n = recvfrom(r->front, r->held, sizeof(r->held), MSG_DONTWAIT,
		(struct sockaddr *)&r->client, &r->n_client);
	if (n <= 0)
		return;
	r->n_held = n;
	if (!memmem(r->held, (size_t)n, slow_object, sizeof(slow_object))) {
		slow_send(r);
		return;
	}
	r->asked++;
	if (r->hold_ns > 0)
		loop_timer_start(r->timer, r->hold_ns, 0);
}

static void slow_back(void *arg, int events)
{
	struct slow_relay *r = arg;
	char buf[65536];
	ssize_t n = recv(r->back, buf, sizeof(buf), MSG_DONTWAIT);
	if (n > 0)
		sendto(r->front, buf, (size_t)n, 0, (struct sockaddr *)&r->client, r->n_client);
}

static uint16_t slow_open(struct slow_relay *r, struct loop *loop, uint16_t agent)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}},
			   to = sin;
	socklen_t n = sizeof(sin);
	r->loop = loop;
	r->front = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	r->back = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	to.sin_port = htons(agent);
	assert_int_equal(bind(r->front, (struct sockaddr *)&sin, n), 0);
	assert_int_equal(getsockname(r->front, (struct sockaddr *)&sin, &n), 0);
	assert_int_equal(connect(r->back, (struct sockaddr *)&to, sizeof(to)), 0);
	r->timer = loop_timer_new(loop, slow_send, r);
	r->front_watch = loop_fd_new(loop, r->front, LOOP_READ, slow_front, r);
	r->back_watch = loop_fd_new(loop, r->back, LOOP_READ, slow_back, r);
	return ntohs(sin.sin_port);
}

static void slow_close(struct slow_relay *r)
{
	loop_fd_free(r->front_watch);
	loop_fd_free(r->back_watch);
	loop_timer_free(r->timer);
	close(r->front);
	close(r->back);
}

/* A profile whose background table is long: one row a request. */
static void background_world(struct world *w, char dir[32])
{
	char path[64];
	snprintf(dir, 32, "/tmp/rw-back-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/x.yaml", dir);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs("name: x\ndoc: d\nextends: generic\nsnmp:\n  tables:\n"
	      "    - { name: back, cadence: background, oid: 1.3.6.1.2.1.1.9.1, index: [pool], "
	      "columns: [{ column: 4, metric: pool.watermark_bytes }] }\n",
		f);
	fclose(f);
	world_new(w, "secret");
	w->config.profile_dir = dir;
}

static void background_done(const char *dir)
{
	char path[64];
	snprintf(path, sizeof(path), "%s/x.yaml", dir);
	unlink(path);
	rmdir(dir);
}

static bool background_read(struct world *w)
{
	return world_sample(w, "sw0", "pool:1", PRIO_NONE, M_POOL_WATERMARK) != NULL;
}

static size_t rows_of_lo(const struct world *w)
{
	size_t n = 0;
	for (size_t i = 0; i < w->n_samples; i++)
		n += w->samples[i].entity == entities_find(w->entities, "sw0", "lo", PRIO_NONE) &&
			w->samples[i].metric == M_PORT_IN_ERRORS;
	return n;
}

/* A long table in the background is read in pieces: polls of the counters go on meanwhile. */
static void test_background_in_pieces(void **state)
{
	struct world w;
	struct world_agent a;
	struct slow_relay r = {.hold_ns = 200 * NS_PER_MS};
	char dir[32];
	agent_start(&a, "udp:127.0.0.1", free_port(AF_INET), OPEN);
	background_world(&w, dir);
	world_add(&w, "127.0.0.1", slow_open(&r, w.loop, a.port));
	w.devices[0].profile = "x";
	w.snmp[0].interval_ns = NS_PER_S;
	w.snmp[0].deadline_ns =
		0; /* so the first poll has an interval for it, the others half of one */
	w.snmp_credential.version = 1; /* one row a request */
	world_start(&w, 0);
	world_wait(&w, background_read, 60, "the background table is read");
	assert_true(r.asked >= 5); /* one row of sysORTable each */
	assert_true(rows_of_lo(&w) >= 2); /* it took more than the first poll had time for */
	assert_int_equal(w.told[0].backoff, 0);
	slow_close(&r);
	world_free(&w);
	agent_stop(&a);
	background_done(dir);
}

/* No answer about it: the switch stays up, and its counters are kept. */
static void test_background_lost(void **state)
{
	struct world w;
	struct world_agent a;
	struct slow_relay r = {0};
	char dir[32];
	agent_start(&a, "udp:127.0.0.1", free_port(AF_INET), OPEN);
	background_world(&w, dir);
	world_add(&w, "127.0.0.1", slow_open(&r, w.loop, a.port));
	w.devices[0].profile = "x";
	w.snmp[0].timeout_ns = 100 * NS_PER_MS;
	w.snmp[0].retries = 0;
	world_start(&w, 0);
	world_wait(&w, up, 60, "up without the background table");
	assert_true(r.asked > 0);
	assert_int_equal(w.told[0].backoff, 0);
	assert_non_null(world_sample(&w, "sw0", "lo", PRIO_NONE, M_PORT_IN_OCTETS));
	assert_null(world_sample(&w, "sw0", "pool:1", PRIO_NONE, M_POOL_WATERMARK));
	slow_close(&r);
	world_free(&w);
	agent_stop(&a);
	background_done(dir);
}

static bool is_down(struct world *w)
{
	return w->told[0].backoff > 0;
}

/* An agent that hangs between two polls did not answer: nobody should look for a long table. */
static void test_frozen(void **state)
{
	struct world w;
	struct world_agent a;
	agent_start(&a, "udp:127.0.0.1", free_port(AF_INET), OPEN);
	world_new(&w, "secret");
	world_add(&w, "127.0.0.1", a.port);
	w.snmp[0].interval_ns = NS_PER_S;
	w.snmp[0].timeout_ns = 20 * NS_PER_S; /* the deadline comes first */
	w.snmp[0].deadline_ns = NS_PER_S;
	world_start(&w, 0);
	world_wait(&w, up, 60, "up");
	w.told[0].backoff = 0;
	kill(a.pid, SIGSTOP);
	world_wait(&w, is_down, 60, "down");
	kill(a.pid, SIGCONT);
	assert_non_null(strstr(w.told[0].reason, "no answer to the first request of a poll"));
	assert_null(strstr(w.told[0].reason, "answers, but"));
	world_free(&w);
	agent_stop(&a);
}

static void test_same(void **state)
{
	struct world w;
	world_new(&w, "x");
	world_add(&w, "127.0.0.1", 1);
	world_start(&w, 0);
	struct config_snmp snmp = w.snmp[0];
	struct config_device device = w.devices[0];
	struct config config = w.config;
	device.snmp = &snmp;
	assert_true(snmp_target_same(w.targets[0], &device, &config));
	snmp.interval_ns++;
	assert_false(snmp_target_same(w.targets[0], &device, &config));
	snmp = w.snmp[0];
	device.profile = "generic";
	assert_false(snmp_target_same(w.targets[0], &device, &config));
	device.profile = "auto";
	struct config_snmp_credential c = w.snmp_credential;
	struct config_credential credential = {.name = "other name, same secret", .snmp = &c};
	snmp.credential = &credential;
	assert_true(snmp_target_same(w.targets[0], &device, &config));
	c.community.name = "/other";
	assert_false(snmp_target_same(w.targets[0], &device, &config));
	world_free(&w);
}

static void test_unknown_profile(void **state)
{
	struct world w;
	struct err e = {0};
	struct sink sink = {0};
	struct snmp_target *t = NULL;
	world_new(&w, "x");
	world_add(&w, "127.0.0.1", 1);
	w.devices[0].profile = "tulip";
	assert_true(
		snmp_target_new(w.loop, w.entities, &w.devices[0], &w.config, &sink, &t, &e) < 0);
	assert_non_null(strstr(e.text, "tulip"));
	assert_null(t);
	world_free(&w);
}

static bool cache_learned(struct world *w)
{
	return snmp_target_refresh_ns(w->targets[0]) > 0;
}

static size_t samples_before;

static bool three_more(struct world *w)
{
	size_t n = 0;
	uint32_t lo = entities_find(w->entities, "sw0", "lo", PRIO_NONE);
	for (size_t i = samples_before; i < w->n_samples; i++)
		n += w->samples[i].entity == lo && w->samples[i].metric == M_PORT_IN_OCTETS;
	return n >= 3;
}

/* snmpd keeps interface counters for 3 s. Polled faster, its repeated answers are neither idle
 * seconds nor bursts. */
static void test_cache(void **state)
{
	struct world w;
	struct world_agent a;
	agent_start(&a, "udp:127.0.0.1", free_port(AF_INET), OPEN);
	world_new(&w, "secret");
	world_add(&w, "127.0.0.1", a.port);
	w.snmp[0].interval_ns = 900 * NS_PER_MS; /* a poll may be late by one and a half of them */
	world_start(&w, 0);
	world_wait(&w, cache_learned, 60, "the cache is known");
	assert_true(snmp_target_refresh_ns(w.targets[0]) > 2 * NS_PER_S &&
		snmp_target_refresh_ns(w.targets[0]) < 6 * NS_PER_S);
	samples_before = w.n_samples;
	world_wait(&w, three_more, 60, "readings go on");
	uint32_t lo = entities_find(w.entities, "sw0", "lo", PRIO_NONE);
	const struct sample *last = NULL;
	for (size_t i = samples_before; i < w.n_samples; i++) {
		const struct sample *s = &w.samples[i];
		if (s->entity != lo || s->metric != M_PORT_IN_OCTETS)
			continue;
		/* our own polls pass lo: it moves in each real reading. A machine so busy that the
		 * period was lost again proves nothing. */
		if (last && snmp_target_refresh_ns(w.targets[0]) > 0)
			assert_true(s->value > last->value || s->t_ns - last->t_ns > 2 * NS_PER_S);
		last = s;
	}
	world_free(&w);
	agent_stop(&a);
}

/* ---- version 3 ----------------------------------------------------------- */

#define V3_AGENT                                                                                   \
	"createUser noc SHA-256 \"auth-password\" AES-128 \"priv-password\"\nrouser noc "          \
	"authpriv\n"                                                                               \
	"createUser reader SHA-512 \"auth-password\"\nrouser reader authnopriv\ncreateUser "       \
	"open\nrouser open noauth\n"                                                               \
	"createUser big SHA-384 \"auth-password\" AES-256 \"priv-password\"\nrouser big "          \
	"authpriv\n"                                                                               \
	"createUser mid SHA \"auth-password\" AES-192 \"priv-password\"\nrouser mid authpriv\n"

struct v3 {
	const char *what, *user;
	enum snmp_auth auth;
	const char *auth_password;
	enum snmp_priv priv;
	const char *priv_password;
	const char *says; /* NULL = comes up */
};

static char secret_paths[2][32];

static void secret_write(int which, const char *text)
{
	snprintf(secret_paths[which], sizeof(secret_paths[which]), "/tmp/rw-secret-XXXXXX");
	int fd = mkstemp(secret_paths[which]);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static bool settled(struct world *w)
{
	return w->told[0].state == TARGET_UP || w->told[0].state == TARGET_BACKOFF;
}

static void v3_world(struct world *w, const struct v3 *v, uint16_t port)
{
	world_new(w, "unused");
	secret_write(0, v->auth_password ? v->auth_password : "");
	secret_write(1, v->priv_password ? v->priv_password : "");
	w->snmp_credential = (struct config_snmp_credential){.version = 3,
		.user = v->user,
		.context = "",
		.auth = v->auth,
		.auth_secret = {SECRET_FILE, secret_paths[0], 0, 0},
		.priv = v->priv,
		.priv_secret = {SECRET_FILE, secret_paths[1], 0, 0}};
	world_add(w, "127.0.0.1", port);
	world_start(w, 0);
}

static void v3_done(struct world *w)
{
	world_free(w);
	unlink(secret_paths[0]);
	unlink(secret_paths[1]);
}

static void test_v3(void **state)
{
	static const struct v3 rows[] = {
		{"authPriv SHA-256 AES-128", "noc", SNMP_AUTH_SHA256, "auth-password",
			SNMP_PRIV_AES128, "priv-password", NULL},
		{"wrong auth password", "noc", SNMP_AUTH_SHA256, "auth-passworx", SNMP_PRIV_AES128,
			"priv-password", "wrong auth password"},
		{"wrong priv password", "noc", SNMP_AUTH_SHA256, "auth-password", SNMP_PRIV_AES128,
			"priv-passworx", "wrong priv password or priv protocol"},
		{"right again: the library must not keep the wrong key", "noc", SNMP_AUTH_SHA256,
			"auth-password", SNMP_PRIV_AES128, "priv-password", NULL},
		{"wrong auth protocol", "noc", SNMP_AUTH_SHA1, "auth-password", SNMP_PRIV_AES128,
			"priv-password", "wrong auth password or auth protocol"},
		{"unknown user", "nobody", SNMP_AUTH_SHA256, "auth-password", SNMP_PRIV_NONE, NULL,
			"knows no SNMPv3 user nobody"},
		{"authNoPriv SHA-512", "reader", SNMP_AUTH_SHA512, "auth-password", SNMP_PRIV_NONE,
			NULL, NULL},
		{"noAuthNoPriv", "open", SNMP_AUTH_NONE, NULL, SNMP_PRIV_NONE, NULL, NULL},
		{"SHA-384 AES-256", "big", SNMP_AUTH_SHA384, "auth-password", SNMP_PRIV_AES256,
			"priv-password", NULL},
		{"SHA-1 AES-192", "mid", SNMP_AUTH_SHA1, "auth-password", SNMP_PRIV_AES192,
			"priv-password", NULL},
		{"level too low", "noc", SNMP_AUTH_SHA256, "auth-password", SNMP_PRIV_NONE, NULL,
			"not allow"},
		{"user without keys asked with some", "open", SNMP_AUTH_SHA256, "auth-password",
			SNMP_PRIV_NONE, NULL, "security level"},
		{"password too short", "noc", SNMP_AUTH_SHA256, "short", SNMP_PRIV_NONE, NULL,
			"shorter than 8"},
	};
	struct world_agent a;
	agent_start(&a, "udp:127.0.0.1", free_port(AF_INET), V3_AGENT);
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct world w;
		v3_world(&w, &rows[i], a.port);
		world_wait(&w, settled, 20, rows[i].what);
		if (rows[i].says ? !strstr(w.told[0].reason, rows[i].says)
				 : w.told[0].state != TARGET_UP)
			fail_msg("%s: %s '%s'", rows[i].what, target_state_name(w.told[0].state),
				w.told[0].reason);
		if (!rows[i].says)
			assert_non_null(world_sample(&w, "sw0", "lo", PRIO_NONE, M_PORT_IN_OCTETS));
		v3_done(&w);
	}
	agent_stop(&a);
}

/* An agent that starts again counts its boots up: the session finds the new time by itself, or
 * starts again. */
static void test_v3_restart(void **state)
{
	static const struct v3 v = {"", "noc", SNMP_AUTH_SHA256, "auth-password", SNMP_PRIV_AES128,
		"priv-password", NULL};
	struct world w;
	struct world_agent a;
	agent_start(&a, "udp:127.0.0.1", free_port(AF_INET), V3_AGENT);
	v3_world(&w, &v, a.port);
	world_wait(&w, up, 20, "up");
	agent_stop(&a);
	world_wait(&w, down, 20, "down");
	assert_non_null(strstr(w.told[0].reason, "refused"));
	agent_start(&a, "udp:127.0.0.1", a.port, V3_AGENT);
	world_wait(&w, up, 20, "up again, with another engine");
	v3_done(&w);
	agent_stop(&a);
}

static void test_v3_silent(void **state)
{
	static const struct v3 v = {"", "noc", SNMP_AUTH_SHA256, "auth-password", SNMP_PRIV_AES128,
		"priv-password", NULL};
	struct world w;
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t n = sizeof(sin);
	int silent = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(silent, (struct sockaddr *)&sin, n), 0);
	assert_int_equal(getsockname(silent, (struct sockaddr *)&sin, &n), 0);
	v3_world(&w, &v, ntohs(sin.sin_port));
	world_wait(&w, down, 20, "silent");
	assert_non_null(strstr(w.told[0].reason, "engine discovery"));
	v3_done(&w);
	close(silent);
	v3_world(&w, &v, ntohs(sin.sin_port));
	world_wait(&w, down, 20, "refused");
	assert_non_null(strstr(w.told[0].reason, "connection refused"));
	v3_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_load),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_wrong_community),
		cmocka_unit_test(test_unreadable_secret),
		cmocka_unit_test(test_secret_of_the_start),
		cmocka_unit_test(test_bad_name),
		cmocka_unit_test(test_one_dead_of_five),
		cmocka_unit_test(test_ipv6),
		cmocka_unit_test(test_version1_by_name),
		cmocka_unit_test(test_bad_source),
		cmocka_unit_test(test_big_answers_lost),
		cmocka_unit_test(test_background_in_pieces),
		cmocka_unit_test(test_background_lost),
		cmocka_unit_test(test_frozen),
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_unknown_profile),
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_v3),
		cmocka_unit_test(test_v3_restart),
		cmocka_unit_test(test_v3_silent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

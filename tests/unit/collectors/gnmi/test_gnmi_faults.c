/* The habits and faults of servers: a target recovers, or falls back, or says what is wrong, and
 * never disturbs the one beside it. */
#include "tests/unit/collectors/gnmi/gnmi_world.h"

#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/loop.h"

#define TABLE                                                                                      \
	"-\t/interfaces/interface[name=Ethernet1]/state/counters/in-octets\tuint\t$(1000,10)\n"    \
	"-\t/interfaces/interface[name=Ethernet1]/state/counters/in-pkts\tuint\t$(10,1)\n"
#define PLAIN "tls: { off: true }"
#define QUICK "interval: 100ms, timeout: 2s"
#define ENOUGH 12 /* samples of the counter after the fault */

static size_t octets(const struct world *w)
{
	return world_count(w, "port.in_octets", "Ethernet1", -1);
}
static bool enough(struct world *w)
{
	return octets(w) >= w->mark + ENOUGH;
}

static const struct {
	const char *what;
	enum gnmi_fault fault;
	uint64_t round, bytes;
	int status;
	int64_t ahead_ns;
	const char *text;
	bool odd_times, refused, stale, reconnects; /* counted */
} faults[] = {
	{"a reset in mid-stream", FAULT_RESET, .round = 3, .reconnects = true},
	{"an end without a reason", FAULT_END, .round = 3, .reconnects = true},
	{"an error in mid-stream", FAULT_STATUS, .round = 3, .status = 13, .text = "internal",
		.reconnects = true},
	{"a message beyond the limit", FAULT_HUGE, .round = 3, .bytes = 70000, .reconnects = true},
	{"no message at all among messages", FAULT_GARBAGE, .round = 2, .refused = true},
	{"silence after each first round", FAULT_STALL, .stale = true},
	{"a clock that jumps ahead", FAULT_TIME, .round = 4, .ahead_ns = 3600 * NS_PER_S,
		.odd_times = true},
	{"a clock that jumps back", FAULT_TIME, .round = 4, .ahead_ns = -3600 * NS_PER_S,
		.odd_times = true},
	{"no clock", FAULT_ZERO_TIME, .odd_times = true},
	{"deletes", FAULT_DELETE, .round = 3},
	{"keep-alives", FAULT_EMPTY},
};

static void test_recovers(void **state)
{
	for (size_t i = 0; i < rw_countof(faults); i++) {
		struct world w;
		const struct gnmi_server_options o = {.fault = faults[i].fault,
			.fault_round = faults[i].round,
			.fault_bytes = faults[i].bytes,
			.fault_status = faults[i].status,
			.fault_text = faults[i].text,
			.fault_ns = faults[i].ahead_ns};
		world_open(&w, &o, TABLE);
		world_target(&w, "profile: openconfig", PLAIN, QUICK ", max_message: 64KiB");
		if (!world_until(&w, enough, 20))
			fail_msg("%s: %zu samples: %s", faults[i].what, octets(&w), w.reasons);
		const struct gnmi_target_counts n = gnmi_target_counts(w.target);
		if ((faults[i].odd_times && !n.odd_times) || (faults[i].refused && !n.refused) ||
			(faults[i].stale && !n.stale) || (faults[i].reconnects && !n.reconnects))
			fail_msg("%s: not counted", faults[i].what);
		int64_t now = wall_now().ns, last = 0;
		/* times are true, and go forward per series */
		for (size_t k = 0; k < w.samples.n; k++) {
			if (llabs(w.samples.v[k].t_ns - now) > 30 * NS_PER_S)
				fail_msg("%s: a sample's time is off by %g s", faults[i].what,
					(double)(w.samples.v[k].t_ns - now) / 1e9);
			if (strcmp("Ethernet1",
				    entity_get(w.entities, w.samples.v[k].entity)->port) == 0 &&
				w.samples.v[k].metric == w.samples.v[0].metric) {
				if (w.samples.v[k].t_ns < last - 50 * NS_PER_MS)
					fail_msg("%s: time goes back by %g s", faults[i].what,
						(double)(last - w.samples.v[k].t_ns) / 1e9);
				last = w.samples.v[k].t_ns;
			}
		}
		world_end(&w);
	}
}

static bool told_compressed(struct world *w)
{
	return strstr(w->reasons, "compressed messages, which are refused") != NULL;
}

/* A gigabyte of zeros travels in a megabyte: nothing compressed is inflated, and it is told. */
static void test_compressed_is_refused(void **state)
{
	struct world w;
	const struct gnmi_server_options o = {
		.gzip = true, .fault = FAULT_HUGE, .fault_round = 1, .fault_bytes = 1 << 20};
	world_open(&w, &o, TABLE);
	world_target(&w, "profile: openconfig", PLAIN, QUICK ", max_message: 64KiB");
	if (!world_until(&w, told_compressed, 60))
		fail_msg("%zu samples: %s", octets(&w), w.reasons);
	world_end(&w);
}

/* A stream that goes silent after the first round, each time: subscribed anew, then asked once per
 * interval. */
static void test_stale_falls_back(void **state)
{
	struct world w;
	const struct gnmi_server_options o = {.fault = FAULT_STALL};
	world_open(&w, &o, TABLE);
	world_target(&w, "profile: openconfig", PLAIN, QUICK);
	assert_true(world_until(&w, enough, 20));
	assert_true(gnmi_target_counts(w.target).stale >= 2);
	assert_int_equal(w.downs, 0);
	world_end(&w);
}

/* The loop stands still, once, until the server was asked for @mark values more: by its own clock,
 * whatever is taken from it. */
static atomic_uint asked;

static int counted(void *arg, const char *target, const char *origin, const char *path,
	uint64_t round, gnmi_server_emit_fn *emit, void *ctx)
{
	atomic_fetch_add(&asked, 1);
	return gnmi_table_values(arg, target, origin, path, round, emit, ctx);
}

static void stand_still(struct world *w)
{
	/* what the device refused to sample came too, once each time */
	if (!w->ups || octets(w) < 20)
		return;
	w->sampled = NULL;
	for (unsigned until = asked + (unsigned)w->mark; asked < until;)
		poll(NULL, 0, 1);
}

static bool stood_still(struct world *w)
{
	return !w->sampled && enough(w);
}

/* Who slept: when this process stood still for longer than the watchdog waits, what the device sent
 * meanwhile is read before it is judged. */
static void test_own_sleep_is_no_silence(void **state)
{
	struct world w;
	struct gnmi_table *table = gnmi_table_parse(TABLE, "table");
	assert_non_null(table);
	world_open(&w,
		&(struct gnmi_server_options){
			.period_ns = 50 * NS_PER_MS, .values = counted, .values_arg = table},
		NULL);
	w.sampled = stand_still;
	w.mark = 60;
	world_target(&w, "profile: openconfig", PLAIN, "interval: 300ms, timeout: 10s");
	assert_true(world_until(&w, stood_still, 60));
	assert_int_equal(gnmi_target_counts(w.target).stale, 0);
	assert_int_equal(gnmi_target_counts(w.target).reconnects, 0);
	world_end(&w);
	gnmi_table_free(table);
}

static bool refused_many(struct world *w)
{
	return gnmi_target_counts(w->target).refused >= w->mark;
}

/* Words where numbers should be: no sample, counted, and the stream lives. A watchdog of 30 s: a
 * server that a busy machine holds up would be asked anew, and begin with numbers again. */
static void test_wrong_types(void **state)
{
	struct world w;
	const struct gnmi_server_options o = {
		.fault = FAULT_WRONG_TYPES, .fault_round = 5, .period_ns = 100 * NS_PER_MS};
	world_open(&w, &o, TABLE);
	world_target(&w, "profile: openconfig", PLAIN, "interval: 10s, timeout: 10s");
	w.mark = 1;
	assert_true(world_until(&w, refused_many, 60));
	const size_t numbers = octets(&w);
	assert_true(numbers >= 1); /* the server sends more often than the device is asked to */
	w.mark = ENOUGH;
	assert_true(world_until(&w, refused_many, 60));
	assert_int_equal(octets(&w), numbers);
	assert_int_equal(gnmi_target_state(w.target)->state, TARGET_UP);
	world_end(&w);
}

static bool is_backoff(struct world *w)
{
	return gnmi_target_state(w->target)->state == TARGET_BACKOFF;
}

/* The server's process goes and comes back on the same port. */
static void test_restart(void **state)
{
	struct world w;
	char listen[40];
	world_open(&w, &(struct gnmi_server_options){0}, TABLE);
	world_target(&w, "profile: openconfig", PLAIN, QUICK);
	assert_true(world_until(&w, enough, 20));
	gnmi_server_free(w.server);
	w.server = NULL;
	assert_true(world_until(&w, is_backoff, 20));
	snprintf(listen, sizeof(listen), "127.0.0.1:%u", w.port);
	w.options->listen = listen;
	assert_non_null(w.server = gnmi_server_new(w.options));
	w.mark = octets(&w);
	assert_true(world_until(&w, enough, 20));
	world_end(&w);
}

static bool octets_of_ethernet0(struct world *w)
{
	return world_count(w, "port.in_octets", "Ethernet0", -1) > 10;
}

/* SONiC's server: every request must be one it accepts. */
static void test_sonic_habits(void **state)
{
	struct world w;
	world_open(&w, &(struct gnmi_server_options){.sonic = true, .period_ns = 50000000},
		"CONFIG_DB\t/"
		"PORT\tjson_ietf\t{\"Ethernet0\":{\"alias\":\"etp1\",\"speed\":\"400000\"}}\n"
		"CONFIG_DB\t/PORT_QOS_MAP\tjson_ietf\t{\"Ethernet0\":{\"pfc_enable\":\"3\"}}\n"
		"APPL_DB\t/PORT_TABLE\tjson_ietf\t{\"Ethernet0\":{\"oper_status\":\"up\"}}\n"
		"COUNTERS_DB\t/COUNTERS/"
		"Ethernet*\tjson_ietf\t{\"etp1\":{\"SAI_PORT_STAT_IF_IN_OCTETS\":\"$(1000,10)\"}}"
		"\n");
	world_target(&w, "profile: sonic", PLAIN, "interval: 1s");
	assert_true(world_until(&w, octets_of_ethernet0, 20));
	assert_int_equal(w.downs, 0);
	world_end(&w);
}

/* ---- a server that sends GOAWAY ------------------------------------------ */

struct goaway {
	int fd;
	int stop[2]; /* a pipe: when it is closed, the thread ends */
	pthread_t thread;
};

/* Something to read at @fd; false when the test is over. */
static bool goaway_wait(const struct goaway *g, int fd)
{
	struct pollfd of[] = {{.fd = fd, .events = POLLIN}, {.fd = g->stop[0], .events = POLLIN}};
	while (poll(of, 2, -1) < 0)
		assert_int_equal(errno, EINTR);
	return of[1].revents == 0;
}

static void goaway_serve(const struct goaway *g, int fd)
{
	static const unsigned char settings[] = {0, 0, 0, 4, 0, 0, 0, 0, 0};
	static const unsigned char away[] = {0, 0, 22, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11,
		't', 'o', 'o', '_', 'm', 'a', 'n', 'y', '_', 'p', 'i', 'n', 'g', 's'};
	char preface[64];
	if (!goaway_wait(g, fd) || read(fd, preface, sizeof(preface)) <= 0)
		return;
	if (write(fd, settings, sizeof(settings)) < 0 || write(fd, away, sizeof(away)) < 0)
		return;
	while (goaway_wait(g, fd) && read(fd, preface, sizeof(preface)) > 0)
		;
}

static void *goaway_run(void *arg)
{
	const struct goaway *g = arg;
	while (goaway_wait(g, g->fd)) {
		const int fd = accept(g->fd, NULL, NULL);
		if (fd < 0)
			break;
		goaway_serve(g, fd);
		close(fd);
	}
	return NULL;
}

static bool is_down_once(struct world *w)
{
	return w->downs > 0;
}

static void test_goaway(void **state)
{
	struct world w;
	struct goaway g = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	assert_int_equal(bind(g.fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(pipe(g.stop), 0);
	listen(g.fd, 8);
	getsockname(g.fd, (struct sockaddr *)&a, &n);
	pthread_create(&g.thread, NULL, goaway_run, &g);
	world_open(&w, &(struct gnmi_server_options){0}, TABLE);
	w.port = ntohs(a.sin_port);
	world_target(&w, "profile: openconfig", PLAIN, QUICK);
	assert_true(world_until(&w, is_down_once, 20));
	if (!strstr(w.reasons, "pings too many"))
		fail_msg("says: %s", w.reasons);
	gnmi_target_free(w.target);
	w.target = NULL;
	/* gRPC may keep a connection open for a while: the thread does not wait for it */
	close(g.stop[1]);
	pthread_join(g.thread, NULL);
	close(g.stop[0]);
	close(g.fd);
	world_end(&w);
}

/* A target is freed at every moment of its life: nothing may be left behind. */
static bool never(struct world *w)
{
	return w->mark-- == 0;
}

static void test_freed_at_any_time(void **state)
{
	for (unsigned ticks = 0; ticks < 40; ticks += 1 + ticks / 6) {
		struct world w;
		world_open(&w, &(struct gnmi_server_options){.period_ns = 1000000}, TABLE);
		world_target(&w, "profile: openconfig", PLAIN, QUICK);
		w.mark = ticks;
		world_until(&w, never, 5);
		world_end(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recovers),
		cmocka_unit_test(test_compressed_is_refused),
		cmocka_unit_test(test_stale_falls_back),
		cmocka_unit_test(test_own_sleep_is_no_silence),
		cmocka_unit_test(test_wrong_types),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_sonic_habits),
		cmocka_unit_test(test_goaway),
		cmocka_unit_test(test_freed_at_any_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

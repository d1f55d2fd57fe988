/* A target in a network namespace of its own: an agent that only listens there is polled from here,
 * is found again when it comes back, and this process stays where it is. Needs root: exit 77
 * otherwise. */
#include "tests/unit/collectors/snmp/snmp_world.h"

#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"

static int home, there;

static ino_t namespace_now(void)
{
	struct stat st;
	assert_int_equal(stat("/proc/self/ns/net", &st), 0);
	return st.st_ino;
}

static void loopback_up(void)
{
	struct ifreq r = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &r), 0);
	close(fd);
}

/* agent_there - started in the namespace, where its port is looked for too. */
static void agent_there(struct world_agent *a, uint16_t port)
{
	assert_int_equal(setns(there, CLONE_NEWNET), 0);
	agent_start(a, "udp:127.0.0.1", port ? port : free_port(AF_INET), "rocommunity secret\n");
	assert_int_equal(setns(home, CLONE_NEWNET), 0);
}

static bool one_up_one_refused(struct world *w)
{
	return w->told[0].state == TARGET_UP && w->told[1].state == TARGET_BACKOFF;
}

static bool up(struct world *w)
{
	return w->told[0].state == TARGET_UP;
}

static bool down(struct world *w)
{
	return w->told[0].state == TARGET_BACKOFF;
}

static void test_netns(void **state)
{
	struct world w;
	struct world_agent a;
	char path[64];
	ino_t before = namespace_now();
	agent_there(&a, 0);
	world_new(&w, "secret");
	world_add(&w, "127.0.0.1", a.port);
	world_add(&w, "127.0.0.1", a.port); /* the same address from here is another host */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", there);
	w.snmp[0].netns = path;
	world_start(&w, 0);
	world_start(&w, 1);
	assert_int_equal(namespace_now(), before);
	world_wait(&w, one_up_one_refused, 20, "up there, refused here");
	assert_non_null(world_sample(&w, "sw0", "lo", PRIO_NONE, M_PORT_IN_OCTETS));
	assert_non_null(strstr(w.told[1].reason, "connection refused"));
	uint16_t port = a.port;
	agent_stop(&a);
	world_wait(&w, down, 20, "gone");
	agent_there(&a, port);
	world_wait(&w, up, 20, "back, by the sockets of the start");
	assert_int_equal(namespace_now(), before);
	world_free(&w);
	agent_stop(&a);
}

static void test_no_such_namespace(void **state)
{
	struct world w;
	struct err e = {0};
	struct sink sink = {0};
	struct snmp_target *t = NULL;
	world_new(&w, "secret");
	world_add(&w, "127.0.0.1", 161);
	w.snmp[0].netns = "rw-not-there";
	assert_true(
		snmp_target_new(w.loop, w.entities, &w.devices[0], &w.config, &sink, &t, &e) < 0);
	assert_non_null(strstr(e.text, "rw-not-there"));
	assert_null(t);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_netns),
		cmocka_unit_test(test_no_such_namespace),
	};
	home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (geteuid() != 0 || home < 0 || unshare(CLONE_NEWNET) < 0) {
		fprintf(stderr, "no right to make a network namespace: skipped\n");
		return 77;
	}
	loopback_up();
	there = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (there < 0 || setns(home, CLONE_NEWNET) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

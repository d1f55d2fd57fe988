/* snmp_world - see the header. */
#include "tests/unit/collectors/snmp/snmp_world.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/log.h"
#include "tests/patience.h"

uint16_t free_port(int family)
{
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
	struct sockaddr_in a4 = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct sockaddr *a = family == AF_INET6 ? (struct sockaddr *)&a6 : (struct sockaddr *)&a4;
	socklen_t n = family == AF_INET6 ? sizeof(a6) : sizeof(a4);
	int fd = socket(family, SOCK_DGRAM, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, a, n), 0);
	assert_int_equal(getsockname(fd, a, &n), 0);
	close(fd);
	return ntohs(family == AF_INET6 ? a6.sin6_port : a4.sin_port);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* port_taken - is there a socket on this UDP port? Read from /proc, so that nothing is sent. */
static bool port_taken(uint16_t port)
{
	const char *files[] = {"/proc/net/udp", "/proc/net/udp6"};
	for (size_t i = 0; i < rw_countof(files); i++) {
		char line[256], want[8];
		snprintf(want, sizeof(want), ":%04X ", port);
		rw_cleanup(fclosep) FILE *f = fopen(files[i], "r");
		while (f && fgets(line, sizeof(line), f)) {
			char *local = strchr(line, ':');
			if (local && (local = strchr(local + 1, ':')) &&
				strncmp(local, want, 6) == 0)
				return true;
		}
	}
	return false;
}

void agent_start(struct world_agent *a, const char *address, uint16_t port, const char *config)
{
	char path[128], text[2048];
	a->port = port;
	snprintf(a->address, sizeof(a->address), "%s:%u", address, port);
	snprintf(a->dir, sizeof(a->dir), "/tmp/rw-snmpd-XXXXXX");
	assert_non_null(mkdtemp(a->dir));
	snprintf(path, sizeof(path), "%s/agent.conf", a->dir);
	snprintf(text, sizeof(text), "sysName world\nsysDescr rocewatch test agent\n%s", config);
	write_file(path, text);
	a->pid = fork();
	assert_true(a->pid >= 0);
	if (a->pid == 0) {
		char log[128], pid[128];
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setenv("SNMP_PERSISTENT_DIR", a->dir, 1);
		setenv("SNMPCONFPATH", a->dir, 1);
		setenv("MIBS", "", 1);
		snprintf(log, sizeof(log), "%s/log", a->dir);
		snprintf(pid, sizeof(pid), "%s/pid", a->dir);
		int fd = open("/dev/null", O_RDWR);
		dup2(fd, 0);
		dup2(fd, 1);
		dup2(fd, 2);
		execlp("snmpd", "snmpd", "-f", "-Lf", log, "-C", "-c", path, "-p", pid, a->address,
			(char *)NULL);
		execl("/usr/sbin/snmpd", "snmpd", "-f", "-Lf", log, "-C", "-c", path, "-p", pid,
			a->address, (char *)NULL);
		_exit(127);
	}
	/* a condition with a deadline, not a time to sleep */
	for (int tries = 0; !port_taken(port); tries++) {
		int status;
		if (tries > 2000 || waitpid(a->pid, &status, WNOHANG) == a->pid)
			fail_msg("snmpd does not come up on %s", a->address);
		usleep(10000);
	}
}

void agent_stop(struct world_agent *a)
{
	char command[128];
	if (a->pid <= 0)
		return;
	kill(a->pid, SIGKILL);
	waitpid(a->pid, NULL, 0);
	a->pid = 0;
	snprintf(command, sizeof(command), "rm -rf %s", a->dir);
	assert_int_equal(system(command), 0);
}

static struct world_told *told_of(struct world *w, const char *device)
{
	for (size_t i = 0; i < w->n; i++)
		if (strcmp(w->told[i].device, device) == 0)
			return &w->told[i];
	fail_msg("told of an unknown device %s", device);
	return NULL;
}

static void on_samples(void *arg, const struct sample *v, size_t n)
{
	struct world *w = arg;
	for (size_t i = 0; i < n; i++) {
		rw_grow(w->samples, w->n_samples, w->cap_samples);
		w->samples[w->n_samples++] = v[i];
	}
}

static void on_flows(void *arg, const struct flow_sample *v, size_t n)
{
	fail_msg("SNMP has no flows");
}

static void on_target(void *arg, const struct target *t)
{
	struct world_told *told = told_of(arg, t->device);
	if (told->state != t->state) {
		told->up += t->state == TARGET_UP;
		told->backoff += t->state == TARGET_BACKOFF;
	}
	told->state = t->state;
	told->polls = t->polls;
	snprintf(told->reason, sizeof(told->reason), "%s", t->reason);
}

static void on_device(
	void *arg, const char *device, const char *profile, const char *sysname, const char *descr)
{
	struct world_told *told = told_of(arg, device);
	snprintf(told->profile, sizeof(told->profile), "%s", profile);
	snprintf(told->descr, sizeof(told->descr), "%s", descr);
}

static void on_port(
	void *arg, const char *device, const char *port, const char *alias, uint64_t speed_bps)
{
	((struct world *)arg)->n_ports++;
}

static void on_event(void *arg, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text)
{
	((struct world *)arg)->n_events++;
}

void world_new(struct world *w, const char *community)
{
	*w = (struct world){0};
	log_set_level(LOG_ERROR_);
	snmp_init();
	assert_int_equal(loop_new(&w->loop), 0);
	w->entities = entities_new();
	snprintf(w->secret_path, sizeof(w->secret_path), "/tmp/rw-community-XXXXXX");
	int fd = mkstemp(w->secret_path);
	assert_true(fd >= 0);
	close(fd);
	write_file(w->secret_path, community);
	w->snmp_credential = (struct config_snmp_credential){
		.version = 2, .community = {SECRET_FILE, w->secret_path, 0, 0}};
	w->credential = (struct config_credential){.name = "lab", .snmp = &w->snmp_credential};
}

size_t world_add(struct world *w, const char *address, uint16_t port)
{
	size_t i = w->n++;
	assert_true(i < WORLD_TARGETS);
	snprintf(w->told[i].device, sizeof(w->told[i].device), "sw%zu", i);
	w->snmp[i] = (struct config_snmp){.address = address,
		.port = port,
		.credential = &w->credential,
		.interval_ns = 200 * NS_PER_MS,
		.slow_interval_ns = 300 * NS_PER_S,
		.timeout_ns = 500 * NS_PER_MS,
		.deadline_ns = 20 * NS_PER_S,
		.retries = 1};
	w->devices[i] = (struct config_device){
		.name = w->told[i].device, .snmp = &w->snmp[i], .profile = "auto"};
	return i;
}

void world_start(struct world *w, size_t i)
{
	struct sink sink = {w, on_samples, on_flows, on_target, on_device, on_port, on_event};
	struct err e = {0};
	if (snmp_target_new(w->loop, w->entities, &w->devices[i], &w->config, &sink, &w->targets[i],
		    &e) != 0)
		fail_msg("%s", e.text);
}

struct wait {
	struct world *w;
	bool (*done)(struct world *w);
	int64_t until_ns;
	bool passed;
};

static void on_look(void *arg)
{
	struct wait *x = arg;
	bool over = mono_now().ns > x->until_ns;
	x->passed = x->done(x->w);
	if (x->passed || over)
		loop_stop(x->w->loop);
}

void world_wait(struct world *w, bool (*done)(struct world *w), int seconds, const char *what)
{
	const int64_t limit_ns = patience_ns(seconds * NS_PER_S / PATIENCE_SPARE);
	struct wait x = {w, done, mono_now().ns + limit_ns, false};
	struct loop_timer *timer = loop_timer_new(w->loop, on_look, &x);
	loop_timer_start(timer, 0, 5 * NS_PER_MS);
	loop_run(w->loop);
	loop_timer_free(timer);
	if (!x.passed)
		fail_msg("not within %d s: %s (sw0 is %s: %s)", seconds, what,
			target_state_name(w->told[0].state), w->told[0].reason);
}

const struct sample *world_sample(
	const struct world *w, const char *device, const char *port, int priority, unsigned metric)
{
	uint32_t id = entities_find(w->entities, device, port, priority);
	for (size_t i = w->n_samples; id != ENTITY_NONE && i-- > 0;)
		if (w->samples[i].entity == id && w->samples[i].metric == metric)
			return &w->samples[i];
	return NULL;
}

void world_free(struct world *w)
{
	for (size_t i = 0; i < w->n; i++)
		snmp_target_free(w->targets[i]);
	loop_free(w->loop);
	entities_free(w->entities);
	unlink(w->secret_path);
	free(w->samples);
}

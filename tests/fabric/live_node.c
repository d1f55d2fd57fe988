/* live_node - one switch of a live lab: an snmpd of Debian as master, and the tables of its vendor
 * behind AgentX; or a gNMI server. */
#include "tests/fabric/live_lab.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

#define FRESH_NS                                                                                   \
	20e6 /* one poll of a switch takes some requests: they see one instant, or nearly */
#define START_S 10 /* an snmpd that is not there by then will not come */
#define STOP_S 3

static struct live_node *node_of(struct lab *l, const char *name)
{
	for (size_t i = 0; i < l->n_nodes; i++)
		if (str_eq(l->nodes[i].tables.name, name))
			return &l->nodes[i];
	return NULL;
}

static void take(void *data, const char *device, const char *port, int priority, const char *metric,
	const char *value)
{
	struct live_node *n = node_of(data, device);
	if (n)
		live_switch_take(&n->tables, port, priority, metric, value);
}

/*
 * NX-OS's thresholds are levels, the model's are dynamic: told is the level in an empty buffer,
 * alpha x B, which a group is paused at when it alone is filled. Only where the face has headroom
 * to tell it with.
 */
static void take_levels(struct live_node *n)
{
	const struct recorder *r = &n->lab->r;
	const struct view v = view_of(r, n->plane, n->device, 0, coarse_fault_on(r->c, r->c->t_ns));
	const double level = floor(v.port->alpha * (double)v.node->sw.buffer_bytes),
		     resume = fmax(0, level - (double)v.port->xon_offset_bytes);
	if (!n->tables.known[V_HEADROOM])
		return;
	n->tables.known[V_XOFF_LEVEL] = n->tables.known[V_XON_LEVEL] = n->tables.known[V_HEADROOM];
	for (size_t i = 0; i < n->tables.n_ports; i++)
		for (unsigned q = 0; q < LIVE_PRIORITIES; q++) {
			const bool lossless = face_lossless(r) >> q & 1;
			n->tables.ports[i].v[V_XOFF_LEVEL][q] = lossless ? (uint64_t)level : 0;
			n->tables.ports[i].v[V_XON_LEVEL][q] = lossless ? (uint64_t)resume : 0;
		}
}

void live_node_refresh(struct live_node *n, double age_ns)
{
	const double now = lab_now(n->lab);
	/* nothing is new while time stands still */
	if (n->fresh_ns >= 0 && now - n->fresh_ns <= age_ns)
		return;
	faces_sample_switch(&n->lab->r, now, n->plane, n->device);
	take_levels(n);
	n->fresh_ns = now;
}

static bool get(void *data, const struct agentx_oid *name, struct agentx_value *ret)
{
	live_node_refresh(data, FRESH_NS);
	return live_switch_get(&((struct live_node *)data)->tables, name, ret);
}
static bool next(void *data, const struct agentx_oid *name, bool include,
	const struct agentx_oid *end, struct agentx_oid *ret_name, struct agentx_value *ret)
{
	live_node_refresh(data, FRESH_NS);
	return live_switch_next(
		&((struct live_node *)data)->tables, name, include, end, ret_name, ret);
}
static const struct agentx_ops ops = {get, next};

/* ---- making them --------------------------------------------------------- */

static void mac_of(const char *name, uint8_t mac[6])
{
	uint32_t h = 2166136261u; /* FNV-1a: any spread will do */
	for (const char *p = name; *p; p++)
		h = (h ^ (uint8_t)*p) * 16777619u;
	/* 02: locally administered */
	const uint8_t v[6] = {
		0x02, 0, (uint8_t)(h >> 24), (uint8_t)(h >> 16), (uint8_t)(h >> 8), (uint8_t)h};
	memcpy(mac, v, 6);
}

static void port_init(
	const struct live_node *n, const struct sim *m, const struct sim_node *sw, unsigned i)
{
	const struct live_face *face = n->tables.face;
	const struct sim_port *peer = &m->ports[m->ports[sw->port0 + i].peer];
	const struct sim_node *to = &m->nodes[peer->node];
	struct live_port *p = &n->tables.ports[i];
	p->number = i + 1;
	p->index = face->first_index + i * face->index_step;
	snprintf(p->native, sizeof(p->native), "Ethernet%u", i + 1);
	snprintf(p->name, sizeof(p->name), "%s", p->native);
	if (face->port_name) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		/* from the table of faces */
		snprintf(p->name, sizeof(p->name), face->port_name, i + 1);
#pragma GCC diagnostic pop
	}
	p->to_host = to->kind == NODE_HOST;
	if (p->to_host) {
		host_name(n->lab->s, to->index, p->peer, sizeof(p->peer));
		snprintf(p->peer_port, sizeof(p->peer_port), "rail%u", n->plane);
	} else {
		device_name(n->lab->s, to, n->plane, p->peer, sizeof(p->peer));
		snprintf(p->peer_port, sizeof(p->peer_port),
			face->port_name ? "etp%u" : "Ethernet%u",
			(unsigned)(peer - m->ports) - to->port0 + 1);
	}
	mac_of(n->tables.name, p->mac);
	mac_of(p->peer, p->peer_mac);
}

static bool address_free(const struct lab *l, const char *address)
{
	const struct live_gnmi_face *g = l->o->face->gnmi;
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(g ? g->port : LAB_PORT)};
	rw_cleanup(closep) int fd =
		socket(AF_INET, (g ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0);
	const int one = 1;
	inet_pton(AF_INET, address, &a.sin_addr);
	/* connections of an earlier lab that are not forgotten yet do not matter */
	if (g && fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	return fd >= 0 && bind(fd, (const struct sockaddr *)&a, sizeof(a)) == 0;
}

/* The same directory gives the same addresses, unless somebody else has one of them. */
static int addresses(struct lab *l, struct err *e)
{
	uint8_t h[6];
	mac_of(l->dir, h);
	const unsigned first = (unsigned)h[4] << 8 | h[5];
	for (unsigned k = 0; k < 64; k++) {
		/* 127.1.0.x to 127.254.255.x; 127.0.0.x is everybody's */
		const unsigned net = (first + k * 257) % 0xfe00;
		bool all = true;
		for (size_t i = 0; i < l->n_nodes; i++) {
			const unsigned at = net + (unsigned)(i / 250);
			snprintf(l->nodes[i].address, sizeof(l->nodes[i].address), "127.%u.%u.%u",
				1 + at / 256, at % 256, (unsigned)(i % 250) + 1);
			all = all && address_free(l, l->nodes[i].address);
		}
		if (all)
			return 0;
	}
	return err_set(e, -EADDRINUSE, "no free addresses in 127/8 for %zu switches (port %d)",
		l->n_nodes, l->o->face->gnmi ? l->o->face->gnmi->port : LAB_PORT);
}

int live_nodes_new(struct lab *l, struct err *e)
{
	const struct sim *m = l->r.shape[0];
	l->n_nodes = (size_t)l->r.c->planes * l->r.c->n_switches;
	l->nodes = rw_calloc(l->n_nodes, sizeof(*l->nodes));
	for (size_t i = 0; i < l->n_nodes; i++) {
		struct live_node *n = &l->nodes[i];
		*n = (struct live_node){.lab = l,
			.plane = (unsigned)(i / l->r.c->n_switches),
			.device = i % l->r.c->n_switches,
			.x = {.fd = -1},
			.fresh_ns = -1};
		const struct sim_node *sw = recorder_switch(&l->r, n->device);
		n->tables.face = l->o->face;
		device_name(l->s, sw, n->plane, n->tables.name, sizeof(n->tables.name));
		n->tables.n_ports = sw->ports;
		n->tables.ports = rw_calloc(sw->ports, sizeof(*n->tables.ports));
		for (unsigned k = 0; k < sw->ports; k++)
			port_init(n, m, sw, k);
	}
	l->r.tell = take;
	l->r.tell_data = l;
	for (size_t i = 0; i < l->n_nodes; i++) {
		live_node_refresh(&l->nodes[i], 0);
		live_switch_build(&l->nodes[i].tables);
	}
	return addresses(l, e);
}

void live_nodes_free(struct lab *l)
{
	for (size_t i = 0; i < l->n_nodes; i++) {
		live_switch_done(&l->nodes[i].tables);
		free(l->nodes[i].tables.ports);
	}
	free(l->nodes);
	l->nodes = NULL;
	l->n_nodes = 0;
}

/* ---- snmpd --------------------------------------------------------------- */

static void child(const struct live_node *n, pid_t parent)
{
	char conf[160], log[160], state[160];
	sigset_t none;
	snprintf(conf, sizeof(conf), "run/%s.conf", n->tables.name);
	snprintf(log, sizeof(log), "run/%s.log", n->tables.name);
	snprintf(state, sizeof(state), "run/%s.state", n->tables.name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before we could ask to be told */
		_exit(1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0); /* Ctrl-C is for us; we stop them in order */
	setenv("MIBS", "", 1);
	setenv("SNMP_PERSISTENT_DIR", state, 1);
	setenv("SNMPCONFPATH", "run", 1);
	const int null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	const char *const places[] = {"/usr/sbin/snmpd", "/usr/local/sbin/snmpd", "snmpd"};
	/* Of its own modules only those of the agent itself: interfaces, host and disks would be
	 * this machine's. */
	for (size_t i = 0; i < rw_countof(places); i++)
		execlp(places[i], "snmpd", "-f", "-C", "-c", conf, "-LF", "5", log, "-r", "-I",
			"system_mib,sysORTable,vacm_conf,snmp_mib,snmpEngine,usmConf",
			(char *)NULL);
	_exit(127);
}

int live_node_start(struct live_node *n, struct err *e)
{
	char path[160];
	n->tables.boot_ns = wall_now().ns;
	if (n->tables.face->gnmi)
		return live_gnmi_start(n, e);
	int rc = live_conf_write(n, e);
	if (rc != 0)
		return rc;
	snprintf(path, sizeof(path), "run/%s.agentx", n->tables.name);
	unlink(path);
	const pid_t parent = getpid();
	n->pid = fork();
	if (n->pid < 0) {
		n->pid = 0;
		return err_set(e, -errno, "fork: %s", strerror(errno));
	}
	if (n->pid == 0)
		child(n, parent);
	return 0;
}

static bool ended(struct live_node *n, int *ret_status)
{
	if (waitpid(n->pid, ret_status, WNOHANG) != n->pid)
		return false;
	n->pid = 0;
	return true;
}

int live_node_connect(struct live_node *n, struct err *e)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	char path[160];
	int rc = 0, status = 0;
	size_t trees = 0;
	if (n->tables.face->gnmi)
		return 0;
	while (n->tables.face->subtrees[trees])
		trees++;
	snprintf(path, sizeof(path), "run/%s.agentx", n->tables.name);
	for (unsigned tries = 0; tries < START_S * 100; tries++) {
		agentx_close(&n->x);
		rc = agentx_open(
			&n->x, path, n->tables.name, n->tables.face->subtrees, trees, &ops, n);
		if (rc == 0)
			return 0;
		if (ended(n, &status)) {
			if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
				return err_set(e, -ENOENT,
					"snmpd is not installed: the lab's switches answer through "
					"it (Debian: apt install snmpd)");
			return err_set(e, -ECHILD, "snmpd of %s ended at once: see %s/run/%s.log",
				n->tables.name, n->lab->dir, n->tables.name);
		}
		if (rc != -ENOENT && rc != -ECONNREFUSED && rc != -EPIPE && rc != -ECONNRESET)
			break;
		nanosleep(&pause, NULL);
	}
	return err_set(
		e, rc, "%s: no AgentX session with its snmpd: %s", n->tables.name, strerror(-rc));
}

void live_node_stop(struct live_node *n)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	int status;
	live_gnmi_stop(n);
	agentx_close(&n->x);
	if (n->pid == 0)
		return;
	kill(n->pid, SIGTERM);
	kill(n->pid, SIGCONT); /* a silent one is stopped */
	for (unsigned i = 0; i < STOP_S * 100; i++) {
		if (ended(n, &status))
			return;
		nanosleep(&pause, NULL);
	}
	kill(n->pid, SIGKILL);
	waitpid(n->pid, &status, 0);
	n->pid = 0;
}

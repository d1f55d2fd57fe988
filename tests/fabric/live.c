/*
 * live - see live.h. One thread, one poll loop: requests of the snmpds (answered at once from the
 * simulation as of now), the control socket, signals, and every 100 ms a look at the scenario's
 * clock. gNMI servers have a thread each beside it.
 */
#include "tests/fabric/live_lab.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

#define TICK_MS 100
#define NODES_MAX 200 /* snmpds on one machine: 10 MB each; gNMI servers: a thread each */

double lab_now(const struct lab *l)
{
	return l->held_ns >= 0 ? l->held_ns : (double)mono_now().ns - l->start_ns;
}

static void clock_text(char *buf, size_t size)
{
	char text[WALL_TEXT_MAX];
	snprintf(buf, size, "%.8sZ", wall_format(text, wall_now(), 0) + 11);
}
static void __attribute__((format(printf, 1, 2))) tell(const char *fmt, ...)
{
	char now[16];
	va_list ap;
	clock_text(now, sizeof(now));
	fprintf(stderr, "%s ", now);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

/* ---- start --------------------------------------------------------------- */

static int simulate(struct lab *l, const struct scenario *s, struct err *e)
{
	l->s = rw_calloc(1, sizeof(*l->s));
	*l->s = *s;
	if (s->n_faults)
		l->s->at_ns = l->o->at_ns;
	l->told_for_ns = s->for_ns;
	l->told_every_ns = s->every_ns;
	l->recorded = (struct record_options){.dir = ".",
		.interval_ns = l->o->interval_ns,
		.face = l->o->face->recorded,
		.length_ns = l->o->length_ns > 0 ? l->o->length_ns
						 : fmax(s->length_ns, l->o->at_ns + 3.6e12)};
	l->r = (struct recorder){.s = l->s,
		.o = &l->recorded,
		.random = random_seeded(s->seed, 51),
		.live_face = l->o->face->name};
	tell("simulating %s", s->name);
	int rc = coarse_new(l->s, &l->r.c, e);
	if (rc != 0)
		return rc;
	for (unsigned k = 0; k < 2; k++)
		l->r.shape[k] = scenario_shape(l->s, k == 1);
	if ((size_t)l->r.c->planes * l->r.c->n_switches > NODES_MAX)
		return err_set(e, -E2BIG,
			"%s has %zu switches; a live lab has at most %d: rocewatch lab record can "
			"do more",
			s->name, l->r.c->planes * l->r.c->n_switches, NODES_MAX);
	faces_begin(&l->r);
	return live_nodes_new(l, e);
}

static int start(struct lab *l, struct err *e)
{
	int rc = live_control_open(l, e);
	/* The clock begins with service; the files say when that is, and are there before anybody
	 * can ask. */
	l->r.wall_ns = (double)wall_now().ns;
	if (l->o->push || l->o->scrape)
		l->push = live_push_new(l);
	if (rc == 0)
		rc = live_files_write(l, e);
	if (rc == 0 && l->o->tls)
		rc = live_tls_new(l, e);
	for (size_t i = 0; i < l->n_nodes && rc == 0; i++)
		rc = live_node_start(&l->nodes[i], e);
	for (size_t i = 0; i < l->n_nodes && rc == 0; i++)
		rc = live_node_connect(&l->nodes[i], e);
	if (rc != 0)
		return rc;
	pthread_mutex_lock(&l->busy);
	l->start_ns = (double)mono_now().ns;
	l->held_ns = -1;
	l->r.wall_ns = (double)wall_now().ns;
	pthread_mutex_unlock(&l->busy);
	return live_truth_write(l, e);
}

static void introduce(const struct lab *l)
{
	const struct scenario *s = l->s;
	const struct live_node *last = &l->nodes[l->n_nodes - 1];
	printf("%s, seed %llu: %.0f leaves, %.0f spines, %.0f hosts%s; %zu switches that answer as "
	       "%s do, by %s at %s to %s, port %d\n\n",
		s->name, (unsigned long long)s->seed, s->leaves, s->spines,
		s->leaves * s->hosts_per_leaf, s->planes > 1 ? ", several rails" : "", l->n_nodes,
		l->o->face->name,
		!l->o->face->gnmi   ? "SNMP"
			: l->o->tls ? "gNMI over TLS"
				    : "gNMI",
		l->nodes[0].address, strrchr(last->address, '.') + 1,
		l->o->face->gnmi ? l->o->face->gnmi->port : LAB_PORT);
	printf("in another shell:    rocewatch -c %s/rocewatch.yaml agent\n", l->dir);
	printf("in a third:          rocewatch -c %s/rocewatch.yaml watch\n", l->dir);
	printf("                     rocewatch -c %s/rocewatch.yaml incident list\n", l->dir);
	printf("change thresholds:   rocewatch lab set kmin=400KB%s%s\n",
		l->o->dir ? " --dir " : "", l->o->dir ? l->dir : "");
	printf("what is wrong:       %s/truth.json\n\n", l->dir);
	fflush(stdout);
	if (s->n_faults)
		tell("serving; healthy for %.0f s", s->at_ns / 1e9);
	else
		tell("serving");
}

/* ---- the loop ------------------------------------------------------------ */

static int silence(struct lab *l, struct live_node *n, struct err *e)
{
	const bool wanted = n->to_be_silent,
		   reboots = n->tables.face->gnmi || fault_of(l->s, FAULT_REBOOT) != NULL;
	if (wanted == n->silent)
		return 0;
	n->silent = wanted;
	if (wanted && reboots)
		/* it comes back as a switch does: sysUpTime and counters from zero */
		live_node_stop(n);
	else if (reboots) {
		int rc = live_node_start(n, e);
		return rc != 0 ? rc : live_node_connect(n, e);
	} else
		kill(n->pid, wanted ? SIGSTOP : SIGCONT);
	return 0;
}

static void look_at_clock(struct lab *l, struct err *e)
{
	const double now = lab_now(l);
	const bool on = coarse_fault_on(l->r.c, now);
	if (on != l->was_on) {
		tell(on ? "the fault begins: %s" : "the fault is over: %s", l->s->title);
		live_node_refresh(&l->nodes[0], 0); /* all take notice */
		l->was_on = on;
		if (on && l->s->at_ns != l->o->at_ns)
			live_truth_write(l, e);
	}
	for (size_t i = 0; i < l->n_nodes; i++) {
		const struct view v = view_of(&l->r, l->nodes[i].plane, l->nodes[i].device, 0, on);
		l->nodes[i].to_be_silent = is_silent(&l->r, &v);
	}
}

static int tick(struct lab *l, struct err *e)
{
	int rc = 0;
	pthread_mutex_lock(&l->busy);
	look_at_clock(l, e);
	pthread_mutex_unlock(&l->busy);
	live_push_tick(l);
	for (size_t i = 0; i < l->n_nodes && rc == 0; i++)
		rc = silence(l, &l->nodes[i], e);
	return rc;
}

/* An snmpd that ended by itself: the lab would lie from now on, so it ends too. */
static int children(struct lab *l, struct err *e)
{
	int status;
	for (size_t i = 0; i < l->n_nodes; i++)
		if (l->nodes[i].pid > 0 &&
			waitpid(l->nodes[i].pid, &status, WNOHANG) == l->nodes[i].pid) {
			l->nodes[i].pid = 0;
			return err_set(e, -ECHILD, "snmpd of %s ended: see %s/run/%s.log",
				l->nodes[i].tables.name, l->dir, l->nodes[i].tables.name);
		}
	return 0;
}

/* 0 go on; 1 told to stop */
static int signals(struct lab *l, int fd, struct err *e)
{
	struct signalfd_siginfo s;
	int rc = 0;
	while (rc == 0 && read(fd, &s, sizeof(s)) == (ssize_t)sizeof(s))
		rc = s.ssi_signo == SIGCHLD ? children(l, e) : 1;
	return rc;
}

static int serve(struct lab *l, int signal_fd, struct err *e)
{
	enum { FIXED = 3 };
	rw_cleanup(freep) struct pollfd *p = rw_calloc(FIXED + l->n_nodes, sizeof(*p));
	int rc = 0;
	while (rc == 0 && (l->o->length_ns <= 0 || lab_now(l) < l->o->length_ns)) {
		p[0] = (struct pollfd){signal_fd, POLLIN, 0};
		p[1] = (struct pollfd){l->listen, POLLIN, 0};
		p[2] = (struct pollfd){l->done_fd, POLLIN, 0};
		for (size_t i = 0; i < l->n_nodes; i++)
			p[FIXED + i] = (struct pollfd){l->nodes[i].x.fd, POLLIN, 0};
		if (poll(p, FIXED + l->n_nodes, TICK_MS) < 0 && errno != EINTR)
			return err_set(e, -errno, "poll: %s", strerror(errno));
		if (p[0].revents && (rc = signals(l, signal_fd, e)) != 0)
			break;
		if (p[1].revents)
			live_control_accept(l);
		if (p[2].revents)
			live_control_retuned(l);
		for (size_t i = 0; i < l->n_nodes && rc == 0; i++)
			if (p[FIXED + i].revents && p[FIXED + i].fd == l->nodes[i].x.fd &&
				agentx_serve(&l->nodes[i].x) != 0)
				/* the master closed the session: once more, or its end is reported
				 */
				rc = live_node_connect(&l->nodes[i], e);
		if (rc == 0)
			rc = tick(l, e);
	}
	return rc < 0 ? rc : 0;
}

/* ---- the end ------------------------------------------------------------- */

static void lab_done(struct lab *l)
{
	for (size_t i = 0; i < l->n_nodes; i++)
		if (l->nodes[i].pid > 0) /* all at once, then each is waited for */
			kill(l->nodes[i].pid, SIGTERM);
	for (size_t i = 0; i < l->n_nodes; i++)
		live_node_stop(&l->nodes[i]);
	live_push_free(l->push);
	live_tls_done(l);
	live_control_close(l);
	live_nodes_free(l);
	if (l->r.f)
		faces_end(&l->r);
	for (unsigned k = 0; k < 2; k++)
		sim_free(l->r.shape[k]);
	coarse_free(l->r.c);
	free(l->s);
	if (l->lock >= 0)
		close(l->lock);
}

int live_run(const struct scenario *s, const struct live_options *o, struct err *e)
{
	rw_cleanup(lab_done) struct lab l = {
		.o = o, .lock = -1, .listen = -1, .done_fd = -1, .busy = PTHREAD_MUTEX_INITIALIZER};
	sigset_t set;
	sigemptyset(&set);
	const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
	for (size_t i = 0; i < rw_countof(handled); i++)
		sigaddset(&set, handled[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	rw_cleanup(closep) int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	int rc =
		fd < 0 ? err_set(e, -errno, "signalfd: %s", strerror(errno)) : live_dir_take(&l, e);
	if (rc == 0)
		rc = simulate(&l, s, e);
	if (rc == 0)
		rc = start(&l, e);
	if (rc != 0)
		return rc;
	introduce(&l);
	rc = serve(&l, fd, e);
	tell("stopping");
	return rc;
}

/*
 * live_control - the unix socket of a live lab: one request a connection, one line. Thresholds are
 * simulated anew in a thread of their own, which owns the new simulation until it is done; the loop
 * then goes on with it where the old one was.
 */
#include "tests/fabric/live_lab.h"
#include "tests/fabric/thresholds.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

#define SOCKET_NAME "lab.sock"
#define REQUEST_MAX 256

/* The first byte of an answer: what came of the request. */
enum { REPLY_DONE = '+', REPLY_FAILED = '-', REPLY_MISUSED = '?' };

static const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = SOCKET_NAME};

/* ---- asking -------------------------------------------------------------- */

int live_ask(const char *dir, const char *request, struct err *e)
{
	char buf[64], answer[4096];
	const char *at = dir ? dir : live_default_dir(buf, sizeof(buf));
	rw_cleanup(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (chdir(at) != 0)
		return err_set(e, -errno, "%s: %s", at, strerror(errno));
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		return err_set(e, -errno, "%s: no lab runs there; see rocewatch lab run", at);
	if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0 || shutdown(fd, SHUT_WR) != 0)
		return err_set(e, -errno, "%s: %s", at, strerror(errno));
	char status = 0;
	if (recv(fd, &status, 1, MSG_WAITALL) != 1)
		return err_set(e, -EPIPE, "%s: the lab ended before it answered", at);
	for (ssize_t n; (n = recv(fd, answer, sizeof(answer), 0)) > 0;)
		fwrite(answer, 1, (size_t)n, status == REPLY_DONE ? stdout : stderr);
	if (status == REPLY_DONE)
		return 0;
	if (status == REPLY_MISUSED)
		return 2;
	return 1;
}

/* ---- answering ----------------------------------------------------------- */

/* What came of it, then the text; the connection ends with it. */
static void reply(int fd, char what, const char *text, size_t n)
{
	ssize_t w = send(fd, &what, 1, MSG_NOSIGNAL | MSG_MORE);
	for (size_t at = 0; w > 0 && at < n; at += (size_t)w)
		w = send(fd, text + at, n - at, MSG_NOSIGNAL);
	close(fd);
}
static void __attribute__((format(printf, 3, 4)))
reply_text(int fd, char what, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	const int n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0)
		text[0] = '\0';
	reply(fd, what, text, strlen(text));
}

/* ---- thresholds ---------------------------------------------------------- */

static void *simulate(void *data)
{
	struct lab *l = data;
	l->retune.rc = coarse_new(l->retune.s, &l->retune.c, l->retune.e);
	const uint64_t one = 1;
	if (write(l->done_fd, &one, sizeof(one)) < 0)
		abort(); /* an eventfd takes a 1 */
	return NULL;
}

/* @devices: "" is the whole fabric */
static void retune(struct lab *l, const struct threshold *k, const char *what, const char *text,
	const char *devices, int client)
{
	struct err e = {0};
	if (l->retune.running) {
		reply_text(client, REPLY_FAILED,
			"rocewatch lab: %s is being simulated: one at a time\n", l->retune.what);
		return;
	}
	struct scenario *s = rw_calloc(1, sizeof(*s));
	*s = *l->s;
	if (threshold_set(s, k, text, devices, &e) != 0) {
		reply_text(client, REPLY_MISUSED, "rocewatch lab: %s\n", e.text);
		free(s);
		return;
	}
	l->retune =
		(struct retune){.s = s, .e = rw_calloc(1, sizeof(struct err)), .client = client};
	snprintf(l->retune.what, sizeof(l->retune.what), "%s", what);
	const int rc = pthread_create(&l->retune.thread, NULL, simulate, l);
	if (rc != 0) {
		reply_text(client, REPLY_FAILED, "rocewatch lab: no thread to simulate in: %s\n",
			strerror(rc));
		free(s);
		free(l->retune.e);
		return;
	}
	l->retune.running = true;
}

static double exchange_ns(const struct coarse *c, bool fault)
{
	return fault ? c->fault_exchange_ns : c->exchange_ns;
}

static void values_are_old(struct lab *l)
{
	for (size_t i = 0; i < l->n_nodes; i++)
		l->nodes[i].fresh_ns = -1;
}

static void adopt(struct lab *l, struct scenario *s, struct coarse *c)
{
	/* What was set meanwhile stays. */
	s->at_ns = l->s->at_ns;
	s->for_ns = l->s->for_ns;
	s->every_ns = l->s->every_ns;
	coarse_advance(l->r.c, lab_now(l));
	coarse_continue(c, l->r.c);
	coarse_free(l->r.c);
	for (unsigned k = 0; k < 2; k++)
		sim_free(l->r.shape[k]);
	free(l->s);
	l->s = s;
	l->r.s = s;
	l->r.c = c;
	for (unsigned k = 0; k < 2; k++)
		l->r.shape[k] = scenario_shape(s, k == 1);
	values_are_old(l);
}

void live_control_retuned(struct lab *l)
{
	uint64_t n;
	struct retune *t = &l->retune;
	struct err e = {0};
	if (read(l->done_fd, &n, sizeof(n)) < 0 || !t->running)
		return;
	pthread_join(t->thread, NULL);
	pthread_mutex_lock(&l->busy);
	t->running = false;
	if (t->rc != 0) {
		reply_text(t->client, REPLY_FAILED, "rocewatch lab: %s: %s\n", t->what, t->e->text);
		free(t->s);
	} else {
		const bool fault = coarse_fault_on(l->r.c, lab_now(l));
		const double before = exchange_ns(l->r.c, fault);
		adopt(l, t->s, t->c);
		const double after = exchange_ns(l->r.c, fault);
		char how[160] = "";
		if (isfinite(before) && isfinite(after))
			snprintf(how, sizeof(how),
				"; an exchange takes %.1f ms now, %.1f ms before", after / 1e6,
				before / 1e6);
		reply_text(t->client, REPLY_DONE, "%s is set%s\n", t->what, how);
		fprintf(stderr, "%s is set%s\n", t->what, how);
		live_truth_write(l, &e);
	}
	pthread_mutex_unlock(&l->busy);
	free(t->e);
	*t = (struct retune){0};
}

/* ---- other keys ---------------------------------------------------------- */

static void set_fault(struct lab *l, const char *value, int client)
{
	const double now = lab_now(l);
	const bool on = coarse_fault_on(l->r.c, now), wanted = str_eq(value, "on");
	struct err e = {0};
	if (!wanted && !str_eq(value, "off")) {
		reply_text(client, REPLY_MISUSED,
			"rocewatch lab: fault: '%.40s' is not valid; expected on or off\n", value);
		return;
	}
	if (l->s->n_faults == 0) {
		reply_text(client, REPLY_FAILED,
			"rocewatch lab: %s has no fault that comes and goes\n", l->s->name);
		return;
	}
	coarse_advance(l->r.c, now);
	if (wanted && !on) {
		l->s->at_ns = now;
		l->s->for_ns = l->told_for_ns;
		l->s->every_ns = l->told_every_ns;
	} else if (!wanted) {
		l->s->every_ns = 0;
		l->s->at_ns = fmin(l->s->at_ns, now);
		l->s->for_ns = now - l->s->at_ns;
	}
	if (l->r.c->other) { /* a second job lives through the same faults */
		l->r.c->other_scenario.at_ns = l->s->at_ns;
		l->r.c->other_scenario.for_ns = l->s->for_ns;
		l->r.c->other_scenario.every_ns = l->s->every_ns;
	}
	live_truth_write(l, &e);
	reply_text(client, REPLY_DONE, "the fault is %s\n", wanted ? "on" : "off");
}

static void set_clock(struct lab *l, const char *value, int client)
{
	const double now = lab_now(l);
	if (str_eq(value, "hold")) {
		l->held_ns = now;
		values_are_old(l);
		reply_text(client, REPLY_DONE, "time stands still at %.3f s: counters too\n",
			now / 1e9);
	} else if (str_eq(value, "run")) {
		if (l->held_ns >= 0) {
			l->start_ns = (double)mono_now().ns - l->held_ns;
			l->held_ns = -1;
		}
		reply_text(client, REPLY_DONE, "time goes on\n");
	} else
		reply_text(client, REPLY_MISUSED,
			"rocewatch lab: clock: '%.40s' is not valid; expected hold or run\n",
			value);
}

static void set(struct lab *l, char *what, int client)
{
	char told[REQUEST_MAX];
	char *value = strchr(what, '='), *devices = strchr(what, ' ');
	snprintf(told, sizeof(told), "%s", what);
	if (!value) {
		reply_text(client, REPLY_MISUSED,
			"rocewatch lab: '%.60s' is not valid; expected KEY=VALUE\n", what);
		return;
	}
	*value++ = '\0';
	if (devices)
		*devices++ = '\0';
	const struct threshold *k = threshold_find(what);
	if (k)
		retune(l, k, told, value, devices ? devices : "", client);
	else if (devices)
		reply_text(client, REPLY_MISUSED,
			"rocewatch lab: %s applies to the whole lab; leave out --device\n", what);
	else if (str_eq(what, "fault"))
		set_fault(l, value, client);
	else if (str_eq(what, "clock"))
		set_clock(l, value, client);
	else
		reply_text(client, REPLY_MISUSED,
			"rocewatch lab: unknown key '%.40s'; expected kmin, kmax, pmax, alpha, "
			"headroom, xon_offset, fault or clock\n",
			what);
}

static void show(struct lab *l, int client)
{
	const struct scenario *s = l->s;
	const bool on = coarse_fault_on(l->r.c, lab_now(l));
	struct str b = {0};
	str_addf(&b, "scenario    %s, seed %llu, face %s\n", s->name, (unsigned long long)s->seed,
		l->o->face->name);
	str_addf(&b, "running     %.1f s%s\n", lab_now(l) / 1e9, l->held_ns >= 0 ? ", held" : "");
	str_addf(&b, "fault       %s\n",
		s->n_faults == 0 ? "none that comes and goes"
			: on     ? "on"
				 : "off");
	str_addf(&b, "exchange    %.1f ms\n", exchange_ns(l->r.c, on) / 1e6);
	for (size_t i = 0; i < threshold_count(); i++) {
		const struct threshold *k = threshold_at(i);
		const double v = threshold_value(s, k);
		if (threshold_knob(k) == KNOB_HEADROOM && v <= 0)
			str_addf(&b, "%-11s by cable and speed, times %g\n", threshold_name(k),
				s->headroom_factor);
		else
			str_addf(&b, "%-11s %g%s\n", threshold_name(k), v,
				threshold_is_size(k) ? " B" : "");
	}
	for (size_t i = 0; i < s->n_settings; i++)
		for (size_t j = 0; j < threshold_count(); j++) {
			static const char *const sides[] = {[OF_ALL_PORTS] = "",
				[OF_HOST_PORTS] = ", ports to hosts",
				[OF_UPLINKS] = ", uplinks"};
			const struct threshold *k = threshold_at(j);
			if (threshold_knob(k) == s->settings[i].knob)
				str_addf(&b, "%-11s %g%s on %s%s\n", threshold_name(k),
					s->settings[i].value, threshold_is_size(k) ? " B" : "",
					l->nodes[s->settings[i].device].tables.name,
					sides[s->settings[i].ports]);
		}
	reply(client, REPLY_DONE, b.s, b.n);
	str_done(&b);
}

/* What the switches would answer now, by canonical metric: a recorded case's lines with the time of
 * the model. */
static void counters(struct lab *l, int client)
{
	struct str b = {0};
	for (size_t i = 0; i < l->n_nodes; i++) {
		const struct live_switch *s = &l->nodes[i].tables;
		live_node_refresh(&l->nodes[i], 0);
		for (size_t p = 0; p < s->n_ports; p++)
			for (unsigned m = 0; m < V_METRICS; m++)
				for (unsigned q = 0; q < LIVE_PRIORITIES; q++) {
					if (!(s->known[m] >> q & 1))
						continue;
					if (strncmp(live_metrics[m], "port.", 5) != 0)
						str_addf(&b, "%.6f\t%s\t%s\t%u\t%s\t%llu\n",
							l->nodes[i].fresh_ns / 1e9, s->name,
							s->ports[p].native, q, live_metrics[m],
							(unsigned long long)s->ports[p].v[m][q]);
					else if (q == 0)
						str_addf(&b, "%.6f\t%s\t%s\t-\t%s\t%llu\n",
							l->nodes[i].fresh_ns / 1e9, s->name,
							s->ports[p].native, live_metrics[m],
							(unsigned long long)s->ports[p].v[m][0]);
				}
	}
	reply(client, REPLY_DONE, b.s, b.n);
	str_done(&b);
}

void live_control_accept(struct lab *l)
{
	/* who connects has something to say, and reads the answer */
	const struct timeval wait = {.tv_sec = 1};
	char request[REQUEST_MAX];
	size_t n = 0;
	const int client = accept4(l->listen, NULL, NULL, SOCK_CLOEXEC);
	if (client < 0)
		return;
	setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	for (ssize_t got; n < sizeof(request) - 1 &&
		(got = recv(client, request + n, sizeof(request) - 1 - n, 0)) > 0;)
		n += (size_t)got;
	request[n] = '\0';
	request[strcspn(request, "\n")] = '\0';
	pthread_mutex_lock(&l->busy);
	if (strncmp(request, "set ", 4) == 0)
		set(l, request + 4, client);
	else if (str_eq(request, "show"))
		show(l, client);
	else if (str_eq(request, "counters"))
		counters(l, client);
	else
		reply_text(client, REPLY_MISUSED, "rocewatch lab: no such request\n");
	pthread_mutex_unlock(&l->busy);
}

int live_control_open(struct lab *l, struct err *e)
{
	l->listen = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	l->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->listen < 0 || l->done_fd < 0 ||
		bind(l->listen, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
		listen(l->listen, 8) != 0)
		return err_set(e, -errno, "%s/" SOCKET_NAME ": %s", l->dir, strerror(errno));
	return 0;
}

void live_control_close(struct lab *l)
{
	if (l->retune.running) {
		/* some seconds at most; it cannot be told to stop */
		pthread_join(l->retune.thread, NULL);
		coarse_free(l->retune.c);
		free(l->retune.s);
		free(l->retune.e);
		close(l->retune.client);
	}
	if (l->listen >= 0) {
		close(l->listen);
		unlink(SOCKET_NAME);
	}
	if (l->done_fd >= 0)
		close(l->done_fd);
}

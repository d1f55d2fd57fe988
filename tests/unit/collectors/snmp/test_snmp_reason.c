/* Why a target is not up, in words that tell five causes apart, against real agents: wrong
 * password, wrong engine, wrong community, closed port, silent host. And what is told must also
 * heal: the right secret, the new engine. */
#include "tests/unit/collectors/snmp/snmp_world.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/cleanup.h"

#define AGENT                                                                                      \
	"rocommunity secret\ncreateUser noc SHA-256 \"auth-password\" AES-128 "                    \
	"\"priv-password\"\nrouser noc authpriv\n"

static bool up(struct world *w)
{
	return w->told[0].state == TARGET_UP;
}

static bool down(struct world *w)
{
	return w->told[0].state == TARGET_BACKOFF;
}

static int loopback_socket(uint16_t *ret_port)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t n = sizeof(sin);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sin, n), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sin, &n), 0);
	*ret_port = ntohs(sin.sin_port);
	return fd;
}

struct secrets {
	char path[2][40];
};

static void secret_write(char path[40], const char *text)
{
	snprintf(path, 40, "/tmp/rw-reason-XXXXXX");
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* A world with one v3 target, authPriv SHA-256/AES-128. */
static void v3_world(
	struct world *w, struct secrets *s, const char *auth, const char *priv, uint16_t port)
{
	world_new(w, "unused");
	secret_write(s->path[0], auth);
	secret_write(s->path[1], priv);
	w->snmp_credential = (struct config_snmp_credential){.version = 3,
		.user = "noc",
		.context = "",
		.auth = SNMP_AUTH_SHA256,
		.auth_secret = {SECRET_FILE, s->path[0], 0, 0},
		.priv = SNMP_PRIV_AES128,
		.priv_secret = {SECRET_FILE, s->path[1], 0, 0}};
	world_add(w, "127.0.0.1", port);
}

static void v3_done(struct world *w, struct secrets *s)
{
	world_free(w);
	unlink(s->path[0]);
	unlink(s->path[1]);
}

/* ---- an address that one agent has now and another later ----------------- */

struct relay {
	int front, back;
	struct loop_fd *front_watch, *back_watch;
	struct sockaddr_storage client;
	socklen_t n_client;
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
	if (n > 0)
		sendto(r->front, buf, (size_t)n, 0, (struct sockaddr *)&r->client, r->n_client);
}

static void relay_to(struct relay *r, uint16_t port)
{
	struct sockaddr_in sin = {.sin_family = AF_INET,
		.sin_addr = {htonl(INADDR_LOOPBACK)},
		.sin_port = htons(port)};
	assert_int_equal(connect(r->back, (struct sockaddr *)&sin, sizeof(sin)), 0);
}

static uint16_t relay_new(struct relay *r, struct loop *l, uint16_t port)
{
	uint16_t front_port, unused;
	*r = (struct relay){
		.front = loopback_socket(&front_port), .back = loopback_socket(&unused)};
	relay_to(r, port);
	r->front_watch = loop_fd_new(l, r->front, LOOP_READ, relay_front, r);
	r->back_watch = loop_fd_new(l, r->back, LOOP_READ, relay_back, r);
	return front_port;
}

static void relay_done(struct relay *r)
{
	loop_fd_free(r->front_watch);
	loop_fd_free(r->back_watch);
	close(r->front);
	close(r->back);
}

/* ---- the five ------------------------------------------------------------ */

static char reasons[5][sizeof(((struct world_told *)0)->reason)];

static void wrong_password(char *ret)
{
	struct world w;
	struct world_agent a;
	struct secrets s;
	agent_start(&a, "udp:127.0.0.1", free_port(AF_INET), AGENT);
	v3_world(&w, &s, "auth-passworx", "priv-password", a.port);
	world_start(&w, 0);
	world_wait(&w, down, 20, "the wrong password is refused");
	strcpy(ret, w.told[0].reason);
	/* the file is corrected: no restart, no reload */
	FILE *f = fopen(s.path[0], "w");
	assert_non_null(f);
	fputs("auth-password\n", f);
	fclose(f);
	world_wait(&w, up, 20, "the right password is read again");
	assert_non_null(world_sample(&w, "sw0", "lo", PRIO_NONE, M_PORT_IN_OCTETS));
	v3_done(&w, &s);
	agent_stop(&a);
}

/* The address goes over to an agent with another engine between two polls: nothing is refused,
 * nothing is silent. */
static void wrong_engine(char *ret)
{
	struct world w;
	struct world_agent a, b;
	struct secrets s;
	struct relay r;
	agent_start(&a, "udp:127.0.0.1", free_port(AF_INET), "engineID first\n" AGENT);
	agent_start(&b, "udp:127.0.0.1", free_port(AF_INET), "engineID second\n" AGENT);
	v3_world(&w, &s, "auth-password", "priv-password", 0);
	w.snmp[0].port = relay_new(&r, w.loop, a.port);
	world_start(&w, 0);
	world_wait(&w, up, 20, "up with the first engine");
	relay_to(&r, b.port);
	world_wait(&w, down, 20, "the other engine is noticed");
	strcpy(ret, w.told[0].reason);
	world_wait(&w, up, 20, "up with the second engine");
	assert_int_equal(w.told[0].up, 2);
	relay_done(&r);
	v3_done(&w, &s);
	agent_stop(&a);
	agent_stop(&b);
}

static void wrong_community(char *ret)
{
	struct world w;
	struct world_agent a;
	/* not even an SNMPv3 user */
	agent_start(&a, "udp:127.0.0.1", free_port(AF_INET), "rocommunity secret\n");
	world_new(&w, "guess");
	world_add(&w, "127.0.0.1", a.port);
	world_start(&w, 0);
	world_wait(&w, down, 20, "the wrong community is not answered");
	strcpy(ret, w.told[0].reason);
	FILE *f = fopen(w.secret_path, "w");
	assert_non_null(f);
	fputs("secret\n", f);
	fclose(f);
	world_wait(&w, up, 20, "the right community is read again");
	world_free(&w);
	agent_stop(&a);
}

static void closed_port(char *ret)
{
	struct world w;
	world_new(&w, "secret");
	world_add(&w, "127.0.0.1", free_port(AF_INET));
	world_start(&w, 0);
	world_wait(&w, down, 20, "the port is closed");
	strcpy(ret, w.told[0].reason);
	world_free(&w);
}

static void silent_host(char *ret)
{
	struct world w;
	uint16_t port;
	int fd = loopback_socket(&port); /* takes all, answers nothing */
	world_new(&w, "secret");
	world_add(&w, "127.0.0.1", port);
	world_start(&w, 0);
	world_wait(&w, down, 20, "nothing answers");
	strcpy(ret, w.told[0].reason);
	world_free(&w);
	close(fd);
}

static const struct {
	const char *what, *says, *remedy;
	void (*provoke)(char *ret);
} rows[] = {
	{"wrong password", "wrong auth password", "auth_file", wrong_password},
	{"wrong engine", "wrong engine", "discovered anew", wrong_engine},
	{"wrong community", "wrong community", "community file", wrong_community},
	{"closed port", "connection refused", "snmp.address", closed_port},
	{"silent host", "no answer", "ping it", silent_host},
};

static void test_five_reasons(void **state)
{
	for (size_t i = 0; i < rw_countof(rows); i++) {
		rows[i].provoke(reasons[i]);
		print_message("%-16s %s\n", rows[i].what, reasons[i]);
	}
	for (size_t i = 0; i < rw_countof(rows); i++) {
		if (!strstr(reasons[i], rows[i].says) || !strstr(reasons[i], rows[i].remedy) ||
			strlen(reasons[i]) + 1 >= sizeof(reasons[i]))
			fail_msg("%s: '%s' does not say '%s' and '%s', or was cut", rows[i].what,
				reasons[i], rows[i].says, rows[i].remedy);
		for (size_t k = 0; k < rw_countof(rows); k++)
			if (i != k && strstr(reasons[i], rows[k].says))
				fail_msg("%s: '%s' also says '%s'", rows[i].what, reasons[i],
					rows[k].says);
	}
}

/* ---- silence that is not silence ----------------------------------------- */

/* slow agent - answers, but only after the collector gave up: not a wrong community, and not a dead
 * host. */
struct slow {
	int fd;
	struct loop_fd *watch;
	struct relay relay;
	unsigned seen;
};

static void slow_back(void *arg, int events)
{
	struct slow *s = arg;
	char buf[65536];
	ssize_t n = recv(s->relay.back, buf, sizeof(buf), MSG_DONTWAIT);
	if (n <= 0)
		return;
	/* the answers to the two tries wait until the third datagram, the discovery, was sent */
	static char kept[65536];
	static ssize_t n_kept;
	if (++s->seen < 3) {
		memcpy(kept, buf, (size_t)n);
		n_kept = n;
		return;
	}
	sendto(s->relay.front, kept, (size_t)n_kept, 0, (struct sockaddr *)&s->relay.client,
		s->relay.n_client);
}

static void test_late(void **state)
{
	struct world w;
	struct world_agent a;
	struct slow s = {0};
	agent_start(&a, "udp:127.0.0.1", free_port(AF_INET), AGENT);
	world_new(&w, "secret");
	uint16_t port = relay_new(&s.relay, w.loop, a.port);
	loop_fd_free(s.relay.back_watch);
	s.relay.back_watch = loop_fd_new(w.loop, s.relay.back, LOOP_READ, slow_back, &s);
	world_add(&w, "127.0.0.1", port);
	world_start(&w, 0);
	world_wait(&w, down, 20, "answers too late");
	if (!strstr(w.told[0].reason, "later than 2 tries") ||
		!strstr(w.told[0].reason, "snmp.timeout"))
		fail_msg("%s", w.told[0].reason);
	relay_done(&s.relay);
	world_free(&w);
	agent_stop(&a);
}

/* ---- an agent that refuses its tables: the answers after the first two (who are you, the head of
 * the poll) become errors ---- */

enum { REFUSE_WITH = 5 }; /* genErr */

static void refuse_back(void *arg, int events)
{
	/* error-status, error-index, the list of varbinds */
	static const char no_error[] = {2, 1, 0, 2, 1, 0, 0x30};
	struct slow *s = arg;
	char buf[65536];
	ssize_t n = recv(s->relay.back, buf, sizeof(buf), MSG_DONTWAIT);
	if (n <= 0)
		return;
	char *at = memmem(buf, (size_t)n, no_error, sizeof(no_error));
	assert_non_null(at);
	if (++s->seen > 2)
		at[2] = REFUSE_WITH;
	sendto(s->relay.front, buf, (size_t)n, 0, (struct sockaddr *)&s->relay.client,
		s->relay.n_client);
}

static void test_refused_tables(void **state)
{
	struct world w;
	struct world_agent a;
	struct slow s = {0};
	agent_start(&a, "udp:127.0.0.1", free_port(AF_INET), AGENT);
	world_new(&w, "secret");
	uint16_t port = relay_new(&s.relay, w.loop, a.port);
	loop_fd_free(s.relay.back_watch);
	s.relay.back_watch = loop_fd_new(w.loop, s.relay.back, LOOP_READ, refuse_back, &s);
	world_add(&w, "127.0.0.1", port);
	world_start(&w, 0);
	world_wait(&w, down, 20, "tables are refused");
	if (!strstr(w.told[0].reason, "cannot be read") || !strstr(w.told[0].reason, "genErr"))
		fail_msg("%s", w.told[0].reason);
	relay_done(&s.relay);
	world_free(&w);
	agent_stop(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_five_reasons),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_refused_tables),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

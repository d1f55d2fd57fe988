/*
 * live_push - NICs of hosts that push: one message a second over OTLP/HTTP (opentelemetry-proto,
 * collector/metrics/v1 and metrics/v1), with the names of the DOCA Telemetry Service. The product's
 * decoder is not used, so that the two check each other. Or exporters of these hosts: pages of
 * Prometheus text under /HOST, with the names of node_exporter.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "tests/fabric/live_lab.h"

enum { PUSH_PORT = 4318, SCRAPE_PORT = 9100, PUSH_EVERY_NS = 1000000000, PUSH_PATIENCE_MS = 500 };

struct live_push {
	char address[32];
	int fd; /* to the receiver, or where scrapers connect; -1: not connected */
	double next_ns;
};

/* ---- protobuf -------------------------------------------------------------- */

static void put_varint(struct str *out, uint64_t value)
{
	char byte;
	do {
		byte = (char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		str_addn(out, &byte, 1);
		value >>= 7;
	} while (value);
}
static void put_bytes(struct str *out, unsigned field, const void *data, size_t n)
{
	put_varint(out, field << 3 | 2);
	put_varint(out, n);
	str_addn(out, data, n);
}
static void put_message(struct str *out, unsigned field, struct str *message)
{
	put_bytes(out, field, message->n ? message->s : "", message->n);
	str_done(message);
}
static void put_fixed64(struct str *out, unsigned field, uint64_t value)
{
	char bytes[8];
	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (char)(value >> (8 * i));
	put_varint(out, field << 3 | 1);
	str_addn(out, bytes, sizeof(bytes));
}
/* KeyValue { key = 1, value = 2: AnyValue { string_value = 1 } } */
static void put_attribute(struct str *out, unsigned field, const char *key, const char *value)
{
	struct str text = {0}, pair = {0};
	put_bytes(&text, 1, value, strlen(value));
	put_bytes(&pair, 1, key, strlen(key));
	put_message(&pair, 2, &text);
	put_message(out, field, &pair);
}

/* ---- what a NIC counts -------------------------------------------------------- */

/* Its view: what the switch sends, it receives. */
static const struct pushed {
	const char *name;
	enum port_sum sum;
	double divide; /* durations: ns to us */
} pushed[] = {
	{"hw_np_cnp_sent", SUM_NIC_CNP_SENT, 1},
	{"hw_rp_cnp_handled", SUM_NIC_CNP_HANDLED, 1},
	{"hw_rp_cnp_ignored", SUM_NIC_CNP_IGNORED, 1},
	{"np_ecn_marked_roce_packets", SUM_NIC_CE, 1},
	{"rx_prio3_pause", SUM_PFC_TX, 1},
	{"tx_prio3_pause", SUM_PFC_RX, 1},
	{"rx_prio3_pause_duration", SUM_TX_PAUSE_NS, 1e3},
	{"tx_prio3_pause_duration", SUM_RX_PAUSE_NS, 1e3},
	{"rx_bytes_phy", SUM_OUT_OCTETS, 1},
	{"tx_bytes_phy", SUM_IN_OCTETS, 1},
};

/* The same as node_exporter has it: what "ethtool" collects is of the network interface. */
static const char *const scraped[rw_countof(pushed)] = {
	"infiniband_np_cnp_packets_sent_total",
	"infiniband_rp_cnp_packets_handled_total",
	"infiniband_rp_cnp_ignored_packets_received_total",
	"infiniband_np_ecn_marked_roce_packets_received_total",
	"ethtool_received_prio3_pause",
	"ethtool_transmitted_prio3_pause",
	"ethtool_received_prio3_pause_duration",
	"ethtool_transmitted_prio3_pause_duration",
	"ethtool_received_bytes_phy",
	"ethtool_transmitted_bytes_phy",
};

/* Metric { name = 1, gauge = 5: { data_points = 1: { time = 3, as_int = 6, attributes = 7 } } } */
static void push_metric(struct str *scope, const struct pushed *what, const char *nic,
	uint64_t value, uint64_t t_ns)
{
	struct str point = {0}, gauge = {0}, metric = {0};
	put_fixed64(&point, 3, t_ns);
	put_fixed64(&point, 6, value);
	put_attribute(&point, 7, "device_name", nic);
	put_message(&gauge, 1, &point);
	put_bytes(&metric, 1, what->name, strlen(what->name));
	put_message(&metric, 5, &gauge);
	put_message(scope, 2, &metric);
}

struct nic_at { /* a NIC, and where it is counted */
	char host[48], name[16];
	unsigned plane;
	size_t index;
};

static uint64_t nic_count(const struct lab *l, const struct nic_at *nic, size_t what)
{
	return (uint64_t)(coarse_sum(l->r.c, nic->plane, nic->index, pushed[what].sum) /
		pushed[what].divide);
}

/* ResourceMetrics { resource = 1: { attributes = 1 }, scope_metrics = 2: { metrics = 2 } } */
static void push_host(const struct lab *l, const struct nic_at *nic, struct str *out)
{
	struct str resource = {0}, scope = {0}, message = {0};
	put_attribute(&resource, 1, "service.name", "doca_telemetry_service");
	put_attribute(&resource, 1, "host.name", nic->host);
	for (size_t i = 0; i < rw_countof(pushed); i++)
		push_metric(&scope, &pushed[i], nic->name, nic_count(l, nic, i),
			(uint64_t)wall_now().ns);
	put_message(&message, 1, &resource);
	put_message(&message, 2, &scope);
	put_message(out, 1, &message);
}

static void scrape_host(const struct lab *l, const struct nic_at *nic, struct str *out)
{
	for (size_t i = 0; i < rw_countof(scraped); i++) {
		str_addf(out, "# TYPE node_%s counter\nnode_%s{device=\"", scraped[i], scraped[i]);
		if (*scraped[i] == 'i')
			str_addf(out, "%s\",port=\"1", nic->name);
		else
			str_addf(out, "ens%unp0", nic->plane);
		str_addf(out, "\"} %.17g\n", (double)nic_count(l, nic, i));
	}
}

/* The NICs of @host, of all hosts where it is NULL. */
static void push_all(struct lab *l, const char *host, struct str *out)
{
	const struct sim *m = l->r.shape[0];
	struct nic_at nic;
	pthread_mutex_lock(&l->busy);
	coarse_advance(l->r.c, lab_now(l));
	for (nic.plane = 0; nic.plane < l->r.c->planes; nic.plane++)
		for (size_t i = m->n_hosts; i < m->n_hosts + m->t.leaves; i++)
			for (unsigned k = 0; k < m->t.hosts_per_leaf; k++) {
				const struct sim_port *own = &m->ports[m->nodes[i].port0 + k];
				nic.index = m->nodes[i].port0 + k - m->nodes[m->n_hosts].port0;
				host_name(l->s, m->nodes[m->ports[own->peer].node].index, nic.host,
					sizeof(nic.host));
				snprintf(nic.name, sizeof(nic.name), "mlx5_%u", nic.plane);
				if (!host)
					push_host(l, &nic, out);
				else if (str_eq(host, nic.host))
					scrape_host(l, &nic, out);
			}
	pthread_mutex_unlock(&l->busy);
}

/* ---- HTTP ----------------------------------------------------------------------- */

static void push_close(struct live_push *push)
{
	if (push->fd >= 0)
		close(push->fd);
	push->fd = -1;
}

static void push_connect(struct live_push *push)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(PUSH_PORT)};
	const struct timeval patience = {0, PUSH_PATIENCE_MS * 1000};
	inet_pton(AF_INET, push->address, &to.sin_addr);
	push->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (push->fd < 0)
		return;
	setsockopt(push->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	setsockopt(push->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(push->fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		push_close(push);
}

static bool push_write(int fd, const char *data, size_t n)
{
	while (n > 0) {
		const ssize_t sent = send(fd, data, n, MSG_NOSIGNAL);
		if (sent <= 0)
			return false;
		data += sent;
		n -= (size_t)sent;
	}
	return true;
}

static void push_send(struct live_push *push, const struct str *body)
{
	char head[256], answer[2048];
	if (push->fd < 0)
		push_connect(push);
	if (push->fd < 0)
		return;
	const int n = snprintf(head, sizeof(head),
		"POST /v1/metrics HTTP/1.1\r\nHost: %s\r\nContent-Type: "
		"application/x-protobuf\r\nContent-Length: %zu\r\n\r\n",
		push->address, body->n);
	if (!push_write(push->fd, head, (size_t)n) || !push_write(push->fd, body->s, body->n)) {
		push_close(push);
		return;
	}
	const ssize_t got = recv(push->fd, answer, sizeof(answer) - 1, 0);
	if (got < 12 || strncmp(answer, "HTTP/1.1 200", 12) != 0)
		push_close(push);
}

static void scrape_listen(struct live_push *push)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(SCRAPE_PORT)};
	const int yes = 1;
	inet_pton(AF_INET, push->address, &at.sin_addr);
	push->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(push->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(push->fd, (struct sockaddr *)&at, sizeof(at)) != 0 || listen(push->fd, 512) != 0)
		push_close(push);
}

/* One request, "GET /HOST HTTP/1.1", and one page. */
static void scrape_serve(struct lab *l, int fd)
{
	rw_cleanup(str_done) struct str page = {0};
	const struct timeval patience = {0, PUSH_PATIENCE_MS * 1000};
	char ask[2048] = "", host[48] = "", head[128];
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (recv(fd, ask, sizeof(ask) - 1, 0) > 0 && sscanf(ask, "GET /%47s", host) == 1)
		push_all(l, host, &page);
	const int n = snprintf(head, sizeof(head),
		"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nConnection: "
		"close\r\nContent-Length: %zu\r\n\r\n",
		page.n);
	if (push_write(fd, head, (size_t)n) && page.n)
		push_write(fd, page.s, page.n);
	close(fd);
}

static void scrape_tick(struct lab *l)
{
	struct pollfd p = {l->push->fd, POLLIN, 0};
	while (poll(&p, 1, 0) > 0) {
		const int fd = accept4(l->push->fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			return;
		scrape_serve(l, fd);
	}
}

/* ---- the lab ---------------------------------------------------------------------- */

struct live_push *live_push_new(const struct lab *l)
{
	struct live_push *push = rw_calloc(1, sizeof(*push));
	const char *dot = strrchr(l->nodes[0].address, '.');
	snprintf(push->address, sizeof(push->address), "%.*s.250", (int)(dot - l->nodes[0].address),
		l->nodes[0].address);
	push->fd = -1;
	if (l->o->scrape)
		scrape_listen(push);
	return push;
}

void live_push_free(struct live_push *push)
{
	if (push)
		push_close(push);
	free(push);
}

void live_push_tick(struct lab *l)
{
	struct live_push *push = l->push;
	rw_cleanup(str_done) struct str body = {0};
	const double now = (double)mono_now().ns;
	if (push && l->o->scrape && l->held_ns < 0)
		scrape_tick(l);
	if (!push || !l->o->push || now < push->next_ns || l->held_ns >= 0)
		return;
	push->next_ns = now + PUSH_EVERY_NS;
	push_all(l, NULL, &body);
	push_send(push, &body);
}

void live_push_config(const struct lab *l, FILE *f)
{
	if (l->o->push)
		fprintf(f, "push:\n  - { name: nics, http: \"%s:%d\" }\n", l->push->address,
			PUSH_PORT);
	if (!l->o->scrape)
		return;
	fprintf(f, "scrape:\n  - { name: nics, urls: [\"http://%s:%d/{host}\"], ports: [",
		l->push->address, SCRAPE_PORT);
	for (unsigned plane = 0; plane < l->r.c->planes; plane++)
		fprintf(f, "%sens%unp0=mlx5_%u", plane ? ", " : "", plane, plane);
	fprintf(f, "] }\n");
}

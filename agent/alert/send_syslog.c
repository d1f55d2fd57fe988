/*
 * send_syslog - RFC 5424 messages with structured data: over UDP (RFC 5426), over TCP with octet
 * counting (RFC 6587 section 3.4.1); into a socket of this machine as syslog(3) writes them, for
 * that is what the journal and local daemons read there. UDP and local sockets tell of a loss only
 * sometimes; TCP is closed in order, so that a server which is gone is noticed.
 */
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "agent/alert/sender.h"
#include "config/receiver_rows.h"
#include "config/address.h"

#define PORT_UDP 514 /* RFC 5426 section 3.3 */
#define PORT_TCP 601 /* RFC 3195 section 9.2, the usual one for RFC 6587 */
#define DATAGRAM_MAX 2048 /* what receivers should take: RFC 5426 section 3.2 */
#define CLOSE_WAIT_NS (2 * NS_PER_S)
#define REFUSAL_WAIT_NS (50 * NS_PER_MS)
/* No number is assigned to us; 32473 stands for such a one (RFC 5612). */
#define SD_ID "rocewatch@32473"

enum { SYSLOG_CRITICAL = 2, SYSLOG_WARNING = 4, SYSLOG_NOTICE = 5, SYSLOG_INFO = 6 };

/* ---- the message --------------------------------------------------------- */

static int syslog_severity(const struct alert_message *message)
{
	static const int levels[] = {
		[SEV_INFO] = SYSLOG_INFO,
		[SEV_WARNING] = SYSLOG_WARNING,
		[SEV_CRITICAL] = SYSLOG_CRITICAL,
	};
	if (message->resolved || message->event == ALERT_TEST)
		return SYSLOG_NOTICE;
	return levels[message->severity];
}

/* A value of structured data: three characters are escaped (RFC 5424 section 6.3.3). */
static void syslog_param(struct str *out, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	str_addf(out, " %s=\"", name);
	for (const char *p = value; *p; p++) {
		if (strchr("\"\\]", *p))
			str_add(out, "\\");
		if ((unsigned char)*p < 0x20)
			str_add(out, " ");
		else
			str_addn(out, p, 1);
	}
	str_add(out, "\"");
}

static void syslog_data(struct str *out, const struct alert_message *m)
{
	char priority[16] = "";
	if (m->priority >= 0)
		snprintf(priority, sizeof(priority), "%d", m->priority);
	str_add(out, "[" SD_ID);
	syslog_param(out, "event", alert_event_name(m->event));
	syslog_param(out, "incident", m->id);
	syslog_param(out, "delivery", m->delivery);
	syslog_param(out, "cause", m->cause);
	syslog_param(out, "severity", severity_name(m->severity));
	syslog_param(out, "fabric", m->fabric);
	syslog_param(out, "device", m->device);
	syslog_param(out, "port", m->port);
	syslog_param(out, "priority", priority);
	syslog_param(out, "group", m->group);
	syslog_param(out, "host", m->host);
	syslog_param(out, "jobs", m->jobs);
	syslog_param(out, "cost", m->cost);
	syslog_param(out, "acked_by", m->acked_by);
	syslog_param(out, "url", m->url);
	syslog_param(out, "runbook", m->runbook);
	str_add(out, "]");
}

static void syslog_text(struct str *out, const struct alert_message *m)
{
	const size_t begin = out->n;
	str_addf(out, "%s %s: %s", alert_message_word(m), m->headline, m->summary);
	for (size_t i = begin; i < out->n; i++) /* nobody begins a line of his own */
		if ((unsigned char)out->s[i] < 0x20 || out->s[i] == 0x7f)
			out->s[i] = ' ';
}

/* PRI VERSION TIMESTAMP HOSTNAME APP-NAME PROCID MSGID STRUCTURED-DATA MSG, section 6. */
static void syslog_write(struct str *out, const struct sender_ask *ask)
{
	static const char bom[] = "\xef\xbb\xbf"; /* the text is UTF-8: section 6.4 */
	const struct alert_message *m = ask->messages[0];
	char host[256], t[WALL_TEXT_MAX];
	str_addf(out, "<%d>1 %s %s rocewatch %d %s ", ask->to->facility * 8 + syslog_severity(m),
		wall_format(t, (wall_t){m->time_ns}, 3), sender_hostname(host, sizeof(host)),
		(int)getpid(), alert_event_name(m->event));
	syslog_data(out, m);
	str_addf(out, " %s", bom);
	syslog_text(out, m);
}

/* As syslog(3): PRI, local time without a year, name and process; the data stand behind the text.
 */
static void syslog_write_local(struct str *out, const struct sender_ask *ask)
{
	const struct alert_message *m = ask->messages[0];
	const time_t seconds = (time_t)(m->time_ns / NS_PER_S);
	struct tm local;
	char t[32];
	localtime_r(&seconds, &local);
	strftime(t, sizeof(t), "%b %e %H:%M:%S", &local);
	str_addf(out, "<%d>%s rocewatch[%d]: ", ask->to->facility * 8 + syslog_severity(m), t,
		(int)getpid());
	syslog_text(out, m);
	str_add(out, " ");
	syslog_data(out, m);
}

/* ---- the way ------------------------------------------------------------- */

static int syslog_left_ms(mono_t deadline)
{
	const int64_t left_ns = deadline.ns - mono_now().ns;
	if (left_ns <= 0)
		return 0;
	return (int)(left_ns / NS_PER_MS) + 1;
}

/* 0 when the descriptor is ready, -ETIMEDOUT or -ECANCELED. */
static int syslog_wait(int fd, short events, const struct sender_ask *ask, mono_t deadline)
{
	struct pollfd fds[] = {
		{.fd = fd, .events = events}, {.fd = ask->stop_fd, .events = POLLIN}};
	const int n = poll(fds, rw_countof(fds), syslog_left_ms(deadline));
	if (fds[1].revents)
		return -ECANCELED;
	if (n > 0)
		return 0;
	return -ETIMEDOUT;
}

static int syslog_finish_connect(int fd, const struct sender_ask *ask, mono_t deadline)
{
	int error = 0;
	socklen_t size = sizeof(error);
	const int rc = syslog_wait(fd, POLLOUT, ask, deadline);
	if (rc < 0)
		return rc;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
		return -errno;
	return -error;
}

/* A connected socket that does not block, or a negative errno. */
static int syslog_connect_to(
	const struct addrinfo *to, const struct sender_ask *ask, mono_t deadline)
{
	const int fd = socket(
		to->ai_family, to->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, to->ai_protocol);
	if (fd < 0)
		return -errno;
	int rc = 0;
	if (connect(fd, to->ai_addr, to->ai_addrlen) != 0)
		rc = -errno;
	if (rc == -EINPROGRESS)
		rc = syslog_finish_connect(fd, ask, deadline);
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

static int syslog_connect_net(
	const struct sender_ask *ask, const char *address, bool tcp, mono_t deadline, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct addrinfo hints = {.ai_socktype = SOCK_DGRAM}, *found = NULL;
	const char *host;
	uint16_t port;
	char service[8];
	int rc = address_split(a, address, tcp ? PORT_TCP : PORT_UDP, &host, &port, e);
	if (rc < 0)
		return rc;
	if (tcp)
		hints.ai_socktype = SOCK_STREAM;
	snprintf(service, sizeof(service), "%u", port);
	const int why = getaddrinfo(host, service, &hints, &found);
	if (why != 0)
		return err_set(e, -EHOSTUNREACH, "%.200s: %s", host, gai_strerror(why));
	rc = -EHOSTUNREACH;
	for (const struct addrinfo *one = found; one && rc < 0 && rc != -ECANCELED;
		one = one->ai_next)
		rc = syslog_connect_to(one, ask, deadline);
	freeaddrinfo(found);
	if (rc < 0)
		return err_set(e, rc, "no connection to %.200s: %s", address, strerror(-rc));
	return rc;
}

static int syslog_connect_unix(
	const struct sender_ask *ask, const char *path, mono_t deadline, struct err *e)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	const struct addrinfo to = {.ai_family = AF_UNIX,
		.ai_socktype = SOCK_DGRAM,
		.ai_addr = (struct sockaddr *)&name,
		.ai_addrlen = sizeof(name)};
	const int rc = syslog_connect_to(&to, ask, deadline);
	if (rc < 0)
		return err_set(e, rc, "no connection to %.120s: %s", path, strerror(-rc));
	return rc;
}

static int syslog_put(int fd, const char *text, size_t n, const struct sender_ask *ask,
	mono_t deadline, struct err *e)
{
	while (n > 0) {
		const ssize_t put = send(fd, text, n, MSG_NOSIGNAL);
		int rc = -errno;
		if (put >= 0) {
			text += put;
			n -= (size_t)put;
			continue;
		}
		if (rc == -EAGAIN)
			rc = syslog_wait(fd, POLLOUT, ask, deadline);
		if (rc < 0)
			return err_set(e, rc, "it could not be written: %s", strerror(-rc));
	}
	return 0;
}

/* The server closes its side once it has read everything. One that keeps it open gets two seconds;
 * a reset says that the message was not read. */
static int syslog_close_tcp(int fd, const struct sender_ask *ask, struct err *e)
{
	char ignored[256];
	const mono_t deadline = {mono_now().ns + CLOSE_WAIT_NS};
	ssize_t n = 1;
	shutdown(fd, SHUT_WR);
	while (n > 0 && syslog_wait(fd, POLLIN, ask, deadline) == 0)
		n = recv(fd, ignored, sizeof(ignored), 0);
	if (n < 0 && errno != EAGAIN)
		return err_set(e, -errno, "the connection broke: %s", strerror(errno));
	return 0;
}

/* If no process listens on the port, the error for a datagram comes at once or never. */
static int syslog_refused(int fd, const struct sender_ask *ask, struct err *e)
{
	int error = 0;
	socklen_t size = sizeof(error);
	const mono_t deadline = {mono_now().ns + REFUSAL_WAIT_NS};
	if (syslog_wait(fd, POLLIN, ask, deadline) != 0)
		return 0;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error == 0)
		return 0;
	return err_set(e, -error, "no server takes messages there: %s", strerror(error));
}

static int syslog_send(const struct sender_ask *ask, struct err *e)
{
	rw_cleanup(str_done) struct str text = {0}, frame = {0};
	rw_cleanup(closep) int fd = -1;
	const char *address = ask->to->address;
	const bool tcp = strncmp(address, "tcp://", 6) == 0;
	const mono_t deadline = {mono_now().ns + ask->to->timeout_ns};
	if (strncmp(address, "unix:", 5) == 0) {
		syslog_write_local(&text, ask);
		fd = syslog_connect_unix(ask, address + 5, deadline, e);
	} else {
		syslog_write(&text, ask);
		fd = syslog_connect_net(ask, address + 6, tcp, deadline, e);
	}
	if (fd < 0)
		return fd;
	if (tcp) {
		str_addf(&frame, "%zu %s", text.n, text.s);
		const int rc = syslog_put(fd, frame.s, frame.n, ask, deadline, e);
		if (rc < 0)
			return rc;
		return syslog_close_tcp(fd, ask, e);
	}
	size_t n = text.n;
	if (n > DATAGRAM_MAX)
		n = DATAGRAM_MAX;
	while (n < text.n && n > 0 && ((unsigned char)text.s[n] & 0xc0) == 0x80)
		n--; /* no half character */
	const int rc = syslog_put(fd, text.s, n, ask, deadline, e);
	if (rc < 0)
		return rc;
	return syslog_refused(fd, ask, e);
}

/* ---- its section of the configuration ---- */

/* RFC 5424 section 6.2.1, in the order of its numbers */
static const char *const facilities[] = {"kern", "user", "mail", "daemon", "auth", "syslog", "lpr",
	"news", "uucp", "cron", "authpriv", "ftp", "ntp", "audit", "alert", "clock", "local0",
	"local1", "local2", "local3", "local4", "local5", "local6", "local7", NULL};

static const struct field syslog_rows[] = {
	VALUE(config_receiver, address, "address", OPT_STRING, "unix:/dev/log", NULL, NULL,
		"Where messages go: udp://HOST:514, tcp://HOST:601 (RFC 6587, octet counting) or "
		"unix:PATH.",
		.check = schema_check_syslog),
	CHOICE(config_receiver, facility, "facility", facilities, "daemon",
		"Facility of RFC 5424."),
	RECEIVER_ROWS,
};
TABLE(syslog_section, config_receiver, syslog_rows, "A syslog server (RFC 5424).");

const struct sender sender_syslog = {
	.options = {.section = "alerts", .name = "syslog", .receiver = &syslog_section},
	.batch = 1,
	.send = syslog_send,
};

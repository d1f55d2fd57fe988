/* collective_ras - one question to NCCL's RAS service. Everything it sends is from outside: time
 * and bytes are bounded. */
#include "agent/ranks/collective_set.h"

#include <netdb.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define RAS_PORT "28028"
enum { RAS_HOST_MAX = 256, RAS_LINE_MAX = 256 };

struct ras_call {
	const char *peer;
	int fd;
	int64_t until_ns; /* monotonic */
	struct str got;
	struct err *e;
};

/* "HOST", "HOST:PORT", "[ADDRESS]:PORT", or an address of IPv6 alone. */
static int ras_split(struct ras_call *call, char host[RAS_HOST_MAX], const char **port)
{
	const char *peer = call->peer, *begin = peer, *colon = strrchr(peer, ':');
	size_t n = strlen(peer);
	*port = RAS_PORT;
	if (*peer == '[') {
		const char *end = strchr(peer, ']');
		begin++;
		n = end ? (size_t)(end - begin) : 0;
		if (end && end[1] == ':')
			*port = end + 2;
	} else if (colon && strchr(peer, ':') == colon) {
		n = (size_t)(colon - peer);
		*port = colon + 1;
	}
	if (n == 0 || n >= RAS_HOST_MAX || !**port || strspn(*port, "0123456789") != strlen(*port))
		return err_set(call->e, -EINVAL, "'%.200s': expected HOST or HOST:PORT", peer);
	memcpy(host, begin, n);
	host[n] = '\0';
	return 0;
}

static int ras_late(struct ras_call *call)
{
	return err_set(call->e, -ETIMEDOUT,
		"%.200s: RAS did not answer in full in time (%zu bytes came); look again with a "
		"longer --timeout, or ask a process of the job that is alive",
		call->peer, call->got.n);
}

/* Waits for @what; 0, or a negative errno with the mistake told. */
static int ras_wait(struct ras_call *call, short what)
{
	for (;;) {
		const int64_t left_ns = call->until_ns - mono_now().ns;
		struct pollfd p = {.fd = call->fd, .events = what};
		if (left_ns <= 0)
			return ras_late(call);
		const int rc = poll(&p, 1, (int)(left_ns / NS_PER_MS + 1));
		if (rc > 0)
			return 0;
		if (rc < 0 && errno != EINTR)
			return err_set(call->e, -errno, "%.200s: %s", call->peer, strerror(errno));
	}
}

static int ras_connect_one(struct ras_call *call, const struct addrinfo *to)
{
	int error = 0;
	socklen_t n = sizeof(error);
	call->fd = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (call->fd < 0)
		return -errno;
	if (connect(call->fd, to->ai_addr, to->ai_addrlen) < 0 && errno != EINPROGRESS)
		error = errno;
	if (error == 0 && ras_wait(call, POLLOUT) < 0)
		return -ETIMEDOUT;
	if (error == 0 && getsockopt(call->fd, SOL_SOCKET, SO_ERROR, &error, &n) < 0)
		error = errno;
	if (error == 0)
		return 0;
	close(call->fd);
	call->fd = -1;
	return err_set(call->e, -error,
		"%.200s: %s; RAS listens on the hosts of a running job, on localhost:" RAS_PORT
		" unless NCCL_RAS_ADDR says otherwise",
		call->peer, strerror(error));
}

static int ras_connect(struct ras_call *call)
{
	char host[RAS_HOST_MAX];
	const char *port;
	struct addrinfo *found = NULL, hints = {.ai_socktype = SOCK_STREAM};
	int rc = ras_split(call, host, &port);
	if (rc < 0)
		return rc;
	const int gai = getaddrinfo(host, port, &hints, &found);
	if (gai != 0)
		return err_set(call->e, -EINVAL, "%.200s: %s", call->peer, gai_strerror(gai));
	rc = -EINVAL;
	for (const struct addrinfo *to = found; to && rc < 0 && rc != -ETIMEDOUT; to = to->ai_next)
		rc = ras_connect_one(call, to);
	freeaddrinfo(found);
	return rc;
}

static int ras_send(struct ras_call *call, const char *line)
{
	size_t n = strlen(line);
	while (n > 0) {
		int rc = ras_wait(call, POLLOUT);
		if (rc < 0)
			return rc;
		const ssize_t sent = send(call->fd, line, n, MSG_NOSIGNAL);
		if (sent < 0 && errno != EAGAIN && errno != EINTR)
			return err_set(call->e, -errno, "%.200s: %s", call->peer, strerror(errno));
		if (sent > 0) {
			line += sent;
			n -= (size_t)sent;
		}
	}
	return 0;
}

/* More bytes into .got: 1; 0 at the end of the stream. */
static int ras_more(struct ras_call *call, size_t most)
{
	char part[65536];
	const int rc = ras_wait(call, POLLIN);
	if (rc < 0)
		return rc;
	const ssize_t n = recv(call->fd, part, sizeof(part), 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 1;
	if (n < 0)
		return err_set(call->e, -errno, "%.200s: %s", call->peer, strerror(errno));
	if (call->got.n + (size_t)n > most)
		return err_set(call->e, -EFBIG,
			"%.200s: more than %zu bytes came: this is no RAS service, or the job is "
			"larger than is read",
			call->peer, most);
	str_addn(&call->got, part, (size_t)n);
	return n > 0;
}

/* One line of the greeting: taken out of .got. It must begin with @expected. */
static int ras_line(struct ras_call *call, const char *expected, const char *help)
{
	int rc = 1;
	while (rc == 1 && !(call->got.n && memchr(call->got.s, '\n', call->got.n)))
		rc = ras_more(call, RAS_LINE_MAX);
	if (rc == -EFBIG || rc == 0 ||
		(rc == 1 && strncasecmp(call->got.s, expected, strlen(expected)) != 0))
		return err_set(call->e, -EPROTO, "%.200s: expected '%s' and got something else: %s",
			call->peer, expected, help);
	if (rc < 0)
		return rc;
	const size_t n = (size_t)((char *)memchr(call->got.s, '\n', call->got.n) - call->got.s) + 1;
	memmove(call->got.s, call->got.s + n, call->got.n - n);
	call->got.n -= n;
	call->got.s[call->got.n] = '\0';
	return 0;
}

static int ras_talk(struct ras_call *call)
{
	int rc = ras_connect(call);
	if (rc == 0)
		rc = ras_send(call, "CLIENT PROTOCOL 2\n");
	if (rc == 0)
		rc = ras_line(
			call, "SERVER PROTOCOL ", "is it the RAS port of a job (NCCL 2.24 on)?");
	if (rc == 0)
		rc = ras_send(call, "SET FORMAT json\n");
	if (rc == 0)
		rc = ras_line(call, "OK",
			"this NCCL answers in text only; where its ncclras has no --format, use a "
			"newer NCCL or the inspector's logs");
	if (rc == 0)
		rc = ras_send(call, "VERBOSE STATUS\n");
	if (rc < 0)
		return rc;
	do
		rc = ras_more(call, COLLECTIVE_RAS_MAX);
	while (rc == 1);
	return rc;
}

int collective_ras(const char *peer, unsigned seconds, char **ret, size_t *ret_n, struct err *e)
{
	struct ras_call call = {.peer = peer,
		.fd = -1,
		.until_ns = mono_now().ns + (int64_t)seconds * NS_PER_S,
		.e = e};
	const int rc = ras_talk(&call);
	if (call.fd >= 0)
		close(call.fd);
	*ret = NULL;
	*ret_n = call.got.n;
	if (rc < 0)
		str_done(&call.got);
	else if (call.got.s)
		*ret = call.got.s;
	else
		*ret = rw_strdup("");
	return rc;
}

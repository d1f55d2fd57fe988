/* control - both ends of the agent's socket. Its clients are people with a shell: few and
 * short-lived; what they can make the agent allocate is bounded. */
#include "agent/client/control.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "agent/document/json_value.h"
#include "base/loop.h"

#define GROUP "rocewatch"
#define CALL_TIMEOUT_MS 5000
#define LINE_FIRST 4096
#define REPLY_MAX (16u << 20)
/* A reply waits at most this long for its commit, less than its caller waits for the reply. */
#define HELD_NS (3 * NS_PER_S)
#define HELD_LOOK_NS (5 * NS_PER_MS)

enum { LINES_A_TURN = 32, WAITING_MAX = 128, FOR_MAX = 40 };

struct control_peer {
	struct control *control;
	int fd; /* -1: slot is free */
	struct loop_fd *io;
	char who[64];
	char *line; /* NULL before the first byte, and between requests */
	size_t n, cap;
	struct str out;
	size_t sent;
	bool closing; /* when .out is written */
	json_t *held; /* a reply that waits until what it says is stored; NULL */
	uint64_t ticket; /* of the held reply */
	mono_t held_since;
	mono_t active; /* accepted, or the last whole request: bytes alone keep no place */
};

struct control {
	struct loop *loop;
	char *path;
	int fd;
	struct loop_fd *io;
	control_fn *fn;
	control_hold_fn *hold; /* NULL: no reply waits */
	control_ready_fn *ready;
	void *arg;
	int64_t idle_ns;
	struct loop_timer *look; /* runs while replies are held */
	struct control_peer clients[CONTROL_CLIENTS_MAX];
};

json_t *control_error(const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_t *error = json_string(text); /* NULL when what was quoted is not UTF-8 */
	if (!error)
		error = json_string("unreadable request");
	return json_pack("{s:b, s:o}", "ok", 0, "error", error);
}

static void client_close(struct control_peer *peer)
{
	/* its place is free: who waits to be accepted is next */
	loop_fd_events(peer->control->io, LOOP_READ);
	loop_fd_free(peer->io);
	close(peer->fd);
	str_done(&peer->out);
	json_decref(peer->held);
	peer->held = NULL;
	free(peer->line);
	peer->line = NULL;
	peer->n = peer->cap = 0;
	peer->io = NULL;
	peer->fd = -1;
}

static void client_flush(struct control_peer *peer)
{
	while (peer->sent < peer->out.n) {
		ssize_t n = send(peer->fd, peer->out.s + peer->sent, peer->out.n - peer->sent,
			MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			/* no further request before this reply is read */
			loop_fd_events(peer->io, LOOP_WRITE);
			return;
		}
		if (n < 0) {
			client_close(peer);
			return;
		}
		peer->sent += (size_t)n;
	}
	str_done(&peer->out);
	peer->out = (struct str){0};
	peer->sent = 0;
	if (peer->held)
		loop_fd_events(peer->io, 0); /* nothing more is read before the held reply left */
	else if (peer->closing)
		client_close(peer);
	else if (peer->n > 0 && memchr(peer->line, '\n', peer->n))
		loop_fd_events(peer->io, LOOP_WRITE); /* goes on in the next turn of the loop */
	else
		loop_fd_events(peer->io, LOOP_READ);
}

static void client_reply(struct control_peer *peer, json_t *reply)
{
	rw_cleanup(freep) char *text = json_dumps(reply, JSON_COMPACT);
	json_decref(reply);
	str_add(&peer->out, str_or(text, "{\"ok\":false,\"error\":\"no reply\"}"));
	str_add(&peer->out, "\n");
}

/* Who acts, for the record; NULL when the name that is given is none. */
static const char *client_actor(
	const struct control_peer *peer, const json_t *request, char *buf, size_t size)
{
	const json_t *name = json_object_get(request, "for");
	const char *text = json_string_value(name);
	if (!name)
		return peer->who;
	if (!text || !*text || strlen(text) > FOR_MAX || !text_is_word(text))
		return NULL;
	snprintf(buf, size, "%s (via %s)", text, peer->who);
	return buf;
}

/* The reply, or the reply later: when what was done is stored. */
static void client_answer(struct control_peer *peer, const json_t *request)
{
	struct control *control = peer->control;
	char buf[FOR_MAX + sizeof(peer->who) + 8];
	const char *who = client_actor(peer, request, buf, sizeof(buf));
	json_t *reply;
	if (who)
		reply = control->fn(control->arg, who, request);
	else
		reply = control_error("\"for\": expected a name of one word");
	uint64_t ticket = 0;
	if (control->hold)
		ticket = control->hold(control->arg);
	if (ticket == 0) {
		client_reply(peer, reply);
		return;
	}
	peer->held = reply;
	peer->ticket = ticket;
	peer->held_since = loop_now(control->loop);
	loop_timer_start(control->look, HELD_LOOK_NS, HELD_LOOK_NS);
}

static void client_request(struct control_peer *peer, const char *line, size_t n)
{
	json_error_t why;
	json_t *request = json_outside(line, n, JSON_REJECT_DUPLICATES, &why);
	if (!request)
		client_reply(
			peer, control_error("expected a JSON object in one line: %s", why.text));
	else if (!json_is_object(request))
		client_reply(peer, control_error("expected a JSON object, not another value"));
	else
		client_answer(peer, request);
	peer->active = loop_now(peer->control->loop);
	json_decref(request);
}

/* At most LINES_A_TURN requests: one client that sends thousands at once does not stop the polls.
 */
static void client_lines(struct control_peer *peer)
{
	for (int turn = 0; turn < LINES_A_TURN; turn++) {
		if (peer->n == 0 || peer->closing || peer->held)
			break;
		char *newline = memchr(peer->line, '\n', peer->n);
		if (!newline)
			break;
		const size_t length = (size_t)(newline - peer->line);
		if (length > 0)
			client_request(peer, peer->line, length);
		peer->n -= length + 1;
		memmove(peer->line, newline + 1, peer->n);
	}
	if (peer->n == CONTROL_LINE_MAX && !peer->held && !memchr(peer->line, '\n', peer->n)) {
		client_reply(peer,
			control_error("expected a line of at most %d bytes", CONTROL_LINE_MAX - 1));
		peer->closing = true;
	}
	if (peer->n == 0) {
		free(peer->line);
		peer->line = NULL;
		peer->cap = 0;
	}
}

/* True while the reply still waits. */
static bool client_waits(struct control_peer *peer)
{
	struct control *control = peer->control;
	if (!peer->held)
		return false;
	const bool ready = control->ready(control->arg, peer->ticket);
	const int64_t waited_ns = loop_now(control->loop).ns - peer->held_since.ns;
	if (!ready && waited_ns < HELD_NS)
		return true;
	json_object_set_new(peer->held, "committed", json_boolean(ready));
	json_t *reply = peer->held;
	peer->held = NULL;
	client_reply(peer, reply);
	client_lines(peer); /* what came behind that request */
	const bool again = peer->held != NULL;
	client_flush(peer);
	return again;
}

static void on_look(void *arg)
{
	struct control *control = arg;
	bool waits = false;
	for (size_t k = 0; k < CONTROL_CLIENTS_MAX; k++) {
		struct control_peer *peer = &control->clients[k];
		if (peer->fd >= 0)
			waits |= client_waits(peer);
	}
	if (!waits)
		loop_timer_stop(control->look);
}

void control_hold(struct control *control, control_hold_fn *hold, control_ready_fn *ready)
{
	control->hold = hold;
	control->ready = ready;
}

/* Room for more of the line: at least a byte, at most what a line may have. */
static void client_room(struct control_peer *peer)
{
	if (peer->n < peer->cap)
		return;
	peer->cap *= 2;
	if (peer->cap == 0)
		peer->cap = LINE_FIRST;
	if (peer->cap > CONTROL_LINE_MAX)
		peer->cap = CONTROL_LINE_MAX;
	peer->line = rw_realloc(peer->line, peer->cap);
}

static void on_client(void *arg, int events)
{
	struct control_peer *peer = arg;
	if (events & LOOP_READ) {
		client_room(peer);
		const size_t room = peer->cap - peer->n;
		const ssize_t n = recv(peer->fd, peer->line + peer->n, room, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			client_close(peer);
			return;
		}
		peer->n += (size_t)n;
	}
	if (peer->sent == peer->out.n)
		client_lines(peer);
	client_flush(peer);
}

/* Who asks is what the kernel says of the other end of the socket. */
static void client_name(struct control_peer *peer)
{
	struct ucred credentials;
	socklen_t n = sizeof(credentials);
	char buf[1024];
	struct passwd entry, *found = NULL;
	if (getsockopt(peer->fd, SOL_SOCKET, SO_PEERCRED, &credentials, &n) < 0) {
		snprintf(peer->who, sizeof(peer->who), "unknown");
		return;
	}
	if (getpwuid_r(credentials.uid, &entry, buf, sizeof(buf), &found) == 0 && found)
		snprintf(peer->who, sizeof(peer->who), "%s", entry.pw_name);
	else
		snprintf(peer->who, sizeof(peer->who), "uid %u", (unsigned)credentials.uid);
}

static struct control_peer *free_peer(struct control *control)
{
	for (size_t k = 0; k < CONTROL_CLIENTS_MAX; k++)
		if (control->clients[k].fd < 0)
			return &control->clients[k];
	return NULL;
}

/* Beyond CONTROL_CLIENTS_MAX clients the next one waits in the socket's queue until a place is
 * free: at most CONTROL_IDLE_NS. */
static void on_accept(void *arg, int events)
{
	struct control *control = arg;
	struct control_peer *peer = free_peer(control);
	if (!peer) {
		loop_fd_events(control->io, 0);
		return;
	}
	int fd = accept4(control->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	*peer = (struct control_peer){
		.control = control, .fd = fd, .active = loop_now(control->loop)};
	client_name(peer);
	peer->io = loop_fd_new(control->loop, fd, LOOP_READ, on_client, peer);
}

static int control_address(const char *path, struct sockaddr_un *ret, struct err *e)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(ret->sun_path))
		return err_at(e, -ENAMETOOLONG, path, 0, 0,
			"socket path of %zu bytes; expected at most %zu", strlen(path),
			sizeof(ret->sun_path) - 1);
	strcpy(ret->sun_path, path);
	return 0;
}

/* Remove a socket file that nobody listens on. Any other file stays: it is not ours. */
static int clear_stale(const struct sockaddr_un *address, struct err *e)
{
	struct stat st;
	if (lstat(address->sun_path, &st) < 0)
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return err_at(e, -EEXIST, address->sun_path, 0, 0,
			"is not a socket, but has the name of the agent's socket; remove it, or "
			"name another socket");
	rw_cleanup(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_set(e, -errno, "socket: %s", strerror(errno));
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 || errno == EAGAIN)
		return err_at(e, -EADDRINUSE, address->sun_path, 0, 0,
			"another agent listens on this socket");
	if (errno != ECONNREFUSED)
		return err_at(e, -errno, address->sun_path, 0, 0,
			"socket is there and cannot be asked: %s", strerror(errno));
	if (unlink(address->sun_path) < 0)
		return err_at(e, -errno, address->sun_path, 0, 0,
			"left-over socket cannot be removed: %s", strerror(errno));
	return 0;
}

int control_new(struct loop *loop, const char *path, control_fn *fn, void *arg,
	struct control **ret, struct err *e)
{
	struct sockaddr_un a;
	int rc = control_address(path, &a, e);
	if (rc == 0)
		rc = clear_stale(&a, e);
	if (rc != 0)
		return rc;
	rw_cleanup(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_set(e, -errno, "socket: %s", strerror(errno));
	mode_t old = umask(0117);
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		rc = -errno;
	umask(old);
	if (rc != 0)
		return err_at(e, rc, path, 0, 0, "socket cannot be made: %s", strerror(-rc));
	if (listen(fd, WAITING_MAX) < 0) {
		rc = -errno;
		unlink(path);
		return err_at(e, rc, path, 0, 0, "cannot listen: %s", strerror(-rc));
	}
	/* Where we may not change the group, only our own user can use the socket. */
	const struct group *group = getgrnam(GROUP);
	if (group)
		(void)!lchown(path, (uid_t)-1, group->gr_gid);

	struct control *c = rw_calloc(1, sizeof(*c));
	c->loop = loop;
	c->idle_ns = CONTROL_IDLE_NS;
	c->path = rw_strdup(path);
	c->fn = fn;
	c->arg = arg;
	for (size_t k = 0; k < CONTROL_CLIENTS_MAX; k++)
		c->clients[k].fd = -1;
	c->fd = fd;
	fd = -1;
	c->io = loop_fd_new(loop, c->fd, LOOP_READ, on_accept, c);
	c->look = loop_timer_new(loop, on_look, c);
	*ret = c;
	return 0;
}

void control_idle(struct control *control, int64_t idle_ns)
{
	control->idle_ns = idle_ns;
}

void control_tick(struct control *control)
{
	mono_t now = loop_now(control->loop);
	for (size_t k = 0; k < CONTROL_CLIENTS_MAX; k++) {
		if (control->clients[k].fd >= 0 &&
			now.ns - control->clients[k].active.ns > control->idle_ns)
			client_close(&control->clients[k]);
	}
}

void control_free(struct control *control)
{
	if (!control)
		return;
	for (size_t k = 0; k < CONTROL_CLIENTS_MAX; k++) {
		if (control->clients[k].fd >= 0)
			client_close(&control->clients[k]);
	}
	loop_fd_free(control->io);
	loop_timer_free(control->look);
	unlink(control->path);
	close(control->fd);
	free(control->path);
	free(control);
}

/* ---- the other side ------------------------------------------------------ */

/* Wait for @events until the deadline. */
static int wait_for(int fd, short events, int64_t deadline_ns)
{
	for (;;) {
		int64_t left_ms = (deadline_ns - mono_now().ns) / NS_PER_MS;
		struct pollfd p = {.fd = fd, .events = events};
		int rc = 0;
		if (left_ms > 0)
			rc = poll(&p, 1, (int)left_ms);
		if (rc > 0)
			return 0;
		if (rc == 0)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
	}
}

static int send_all(int fd, const char *text, size_t n, int64_t deadline_ns)
{
	while (n > 0) {
		ssize_t w = send(fd, text, n, MSG_NOSIGNAL);
		if (w < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (w < 0) {
			int rc = wait_for(fd, POLLOUT, deadline_ns);
			if (rc != 0)
				return rc;
			continue;
		}
		text += w;
		n -= (size_t)w;
	}
	return 0;
}

static int receive_line(int fd, struct str *line, int64_t deadline_ns)
{
	char buf[4096];
	for (;;) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n == 0)
			return -EPROTO;
		if (n < 0) {
			int rc = wait_for(fd, POLLIN, deadline_ns);
			if (rc != 0)
				return rc;
			continue;
		}
		const char *newline = memchr(buf, '\n', (size_t)n);
		if (newline) {
			str_addn(line, buf, (size_t)(newline - buf));
			return 0;
		}
		str_addn(line, buf, (size_t)n);
		if (line->n > REPLY_MAX)
			return -EPROTO;
	}
}

int control_call(const char *path, const json_t *request, json_t **ret, struct err *e)
{
	struct sockaddr_un a;
	int64_t deadline_ns = mono_now().ns + CALL_TIMEOUT_MS * NS_PER_MS;
	int rc = control_address(path, &a, e);
	if (rc != 0)
		return rc;
	rw_cleanup(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_set(e, -errno, "socket: %s", strerror(errno));
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		return err_at(
			e, -errno, path, 0, 0, "agent cannot be reached: %s", strerror(errno));
	rw_cleanup(freep) char *text = json_dumps(request, JSON_COMPACT);
	rw_cleanup(str_done) struct str out = {0}, in = {0};
	str_addf(&out, "%s\n", str_or(text, "{}"));
	rc = send_all(fd, out.s, out.n, deadline_ns);
	if (rc == 0)
		rc = receive_line(fd, &in, deadline_ns);
	if (rc != 0)
		return err_at(e, rc, path, 0, 0, "agent did not answer: %s", strerror(-rc));
	json_t *reply = json_outside(str_or(in.s, ""), in.n, 0, NULL);
	if (!json_is_object(reply)) {
		json_decref(reply);
		return err_at(
			e, -EPROTO, path, 0, 0, "agent gave an answer that is no JSON object");
	}
	*ret = reply;
	return 0;
}

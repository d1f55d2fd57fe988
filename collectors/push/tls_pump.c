/* tls_pump - OpenSSL between a connection and a socket pair. */
#include "collectors/push/tls_pump.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/loop.h"

enum { PIPE_BYTES = 65536, TURNS = 16 };

struct tls_context {
	SSL_CTX *ctx;
	uint8_t alpn[16]; /* a length and so many bytes */
	unsigned n_alpn;
};

struct tls_pipe { /* bytes on their way */
	uint8_t b[PIPE_BYTES];
	size_t from, n; /* .n of them, from .from */
	bool ended; /* no more come in */
};

struct tls_pump {
	SSL *ssl;
	int outer, inner;
	struct loop_fd *watch_outer, *watch_inner;
	struct tls_pipe in, out; /* to the library; to the other side */
	bool shaken, want_write, again, told;
	void (*ended)(void *arg);
	void *arg;
};

/* ---- the context -------------------------------------------------------------- */

static int tls_on_alpn(SSL *ssl, const unsigned char **out, unsigned char *n_out,
	const unsigned char *in, unsigned n_in, void *arg)
{
	const struct tls_context *context = arg;
	if (SSL_select_next_proto((unsigned char **)(uintptr_t)out, n_out, context->alpn,
		    context->n_alpn, in, n_in) == OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_OK;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int tls_failed(const char *what, const char *file, struct err *e)
{
	char text[160];
	ERR_error_string_n(ERR_get_error(), text, sizeof(text));
	ERR_clear_error();
	return err_set(e, -EINVAL, "%s %s: %s", what, file, text);
}

static int tls_clients(SSL_CTX *ctx, const char *client_ca, struct err *e)
{
	if (!client_ca)
		return 0;
	if (SSL_CTX_load_verify_locations(ctx, client_ca, NULL) != 1)
		return tls_failed("push.tls.client_ca", client_ca, e);
	SSL_CTX_set_client_CA_list(ctx, SSL_load_client_CA_file(client_ca));
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	return 0;
}

int tls_context_new(const char *cert, const char *key, const char *client_ca, const char *alpn,
	struct tls_context **ret, struct err *e)
{
	struct tls_context *context = rw_calloc(1, sizeof(*context));
	SSL_CTX *ctx = context->ctx = SSL_CTX_new(TLS_server_method());
	int rc = 0;
	if (!ctx)
		rc = err_set(e, -ENOMEM, "TLS: no context");
	if (rc == 0 && SSL_CTX_use_certificate_chain_file(ctx, cert) != 1)
		rc = tls_failed("push.tls.cert", cert, e);
	if (rc == 0 && SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1)
		rc = tls_failed("push.tls.key", key, e);
	if (rc == 0)
		rc = tls_clients(ctx, client_ca, e);
	if (rc < 0) {
		tls_context_free(context);
		return rc;
	}
	SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	context->alpn[0] = (uint8_t)strlen(alpn);
	memcpy(context->alpn + 1, alpn, context->alpn[0]);
	context->n_alpn = 1 + context->alpn[0];
	SSL_CTX_set_alpn_select_cb(ctx, tls_on_alpn, context);
	*ret = context;
	return 0;
}

void tls_context_free(struct tls_context *context)
{
	if (!context)
		return;
	SSL_CTX_free(context->ctx);
	free(context);
}

/* ---- moving bytes -------------------------------------------------------------- */

static size_t pipe_room(const struct tls_pipe *pipe)
{
	return PIPE_BYTES - pipe->from - pipe->n;
}

static void pipe_took(struct tls_pipe *pipe, size_t n)
{
	pipe->from += n;
	pipe->n -= n;
	if (pipe->n == 0)
		pipe->from = 0;
}

/* What SSL said: true to go on now, false to wait or because it is over. */
static bool pump_ssl_result(struct tls_pump *pump, int rc, struct tls_pipe *broken)
{
	if (rc > 0)
		return true;
	const int error = SSL_get_error(pump->ssl, rc);
	ERR_clear_error();
	if (error == SSL_ERROR_WANT_WRITE)
		pump->want_write = true;
	else if (error != SSL_ERROR_WANT_READ)
		broken->ended = true;
	return false;
}

static bool pump_shake(struct tls_pump *pump)
{
	if (pump->shaken)
		return true;
	const int rc = SSL_accept(pump->ssl);
	pump->shaken = rc == 1;
	if (!pump_ssl_result(pump, rc, &pump->in) && pump->in.ended)
		pump->out.ended = true;
	return pump->shaken;
}

/* Each moves once; true when it moved something. */
static bool pump_from_outer(struct tls_pump *pump)
{
	struct tls_pipe *pipe = &pump->in;
	if (pipe->ended || pipe_room(pipe) == 0)
		return false;
	const int n = SSL_read(pump->ssl, pipe->b + pipe->from + pipe->n, (int)pipe_room(pipe));
	if (!pump_ssl_result(pump, n, pipe))
		return false;
	pipe->n += (size_t)n;
	return true;
}

static void pump_inner_gone(struct tls_pump *pump)
{
	pump->in.ended = pump->out.ended = true;
	pump->in.n = 0;
}

static bool pump_to_inner(struct tls_pump *pump)
{
	struct tls_pipe *pipe = &pump->in;
	if (pipe->n == 0)
		return false;
	const ssize_t n = send(pump->inner, pipe->b + pipe->from, pipe->n, MSG_NOSIGNAL);
	if (n > 0)
		pipe_took(pipe, (size_t)n);
	else if (errno != EAGAIN && errno != EINTR)
		pump_inner_gone(pump);
	return n > 0;
}

static bool pump_from_inner(struct tls_pump *pump)
{
	struct tls_pipe *pipe = &pump->out;
	if (pipe->ended || pipe_room(pipe) == 0)
		return false;
	const ssize_t n = recv(pump->inner, pipe->b + pipe->from + pipe->n, pipe_room(pipe), 0);
	if (n > 0)
		pipe->n += (size_t)n;
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		pipe->ended = true;
	return n > 0;
}

static bool pump_to_outer(struct tls_pump *pump)
{
	struct tls_pipe *pipe = &pump->out;
	if (pipe->n == 0)
		return false;
	const int n = SSL_write(pump->ssl, pipe->b + pipe->from, (int)pipe->n);
	if (!pump_ssl_result(pump, n, pipe)) {
		if (pipe->ended)
			pipe->n = 0;
		return false;
	}
	pipe_took(pipe, (size_t)n);
	return true;
}

static void pump_events(struct tls_pump *pump)
{
	int outer = 0, inner = 0;
	if (!pump->in.ended && pipe_room(&pump->in) > 0)
		outer |= LOOP_READ;
	/* what OpenSSL has decrypted already, no descriptor tells of */
	if (pump->want_write || pump->again || (pump->shaken && pump->out.n > 0))
		outer |= LOOP_WRITE;
	if (!pump->out.ended && pipe_room(&pump->out) > 0)
		inner |= LOOP_READ;
	if (pump->in.n > 0)
		inner |= LOOP_WRITE;
	loop_fd_events(pump->watch_outer, outer);
	loop_fd_events(pump->watch_inner, inner);
}

static void pump_turn(struct tls_pump *pump)
{
	pump->want_write = false;
	bool moved = pump_shake(pump);
	if (moved)
		for (int i = 0; i < TURNS && moved; i++) {
			moved = pump_from_outer(pump);
			moved |= pump_to_inner(pump);
			moved |= pump_from_inner(pump);
			moved |= pump_to_outer(pump);
		}
	pump->again = moved;
	if (pump->in.ended && pump->in.n == 0)
		shutdown(pump->inner, SHUT_WR);
	if (pump->out.ended && pump->out.n == 0 && !pump->told) {
		pump->told = true;
		if (pump->shaken)
			SSL_shutdown(pump->ssl);
		ERR_clear_error();
		loop_fd_events(pump->watch_outer, 0);
		loop_fd_events(pump->watch_inner, 0);
		pump->ended(pump->arg);
		return;
	}
	if (!pump->told)
		pump_events(pump);
}

static void pump_on_ready(void *arg, int events)
{
	pump_turn(arg);
}

bool tls_pump_shaken(const struct tls_pump *pump)
{
	return pump->shaken;
}

/* ---- life ------------------------------------------------------------------------ */

struct tls_pump *tls_pump_new(struct loop *loop, struct tls_context *context, int outer,
	void (*ended)(void *arg), void *arg, int *ret_inner)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0) {
		close(outer);
		return NULL;
	}
	struct tls_pump *pump = rw_calloc(1, sizeof(*pump));
	*pump = (struct tls_pump){.outer = outer, .inner = ends[0], .ended = ended, .arg = arg};
	pump->ssl = SSL_new(context->ctx);
	SSL_set_fd(pump->ssl, outer);
	pump->watch_outer = loop_fd_new(loop, outer, LOOP_READ, pump_on_ready, pump);
	pump->watch_inner = loop_fd_new(loop, ends[0], 0, pump_on_ready, pump);
	*ret_inner = ends[1];
	return pump;
}

void tls_pump_free(struct tls_pump *pump)
{
	if (!pump)
		return;
	loop_fd_free(pump->watch_outer);
	loop_fd_free(pump->watch_inner);
	SSL_free(pump->ssl);
	close(pump->outer);
	close(pump->inner);
	free(pump);
}

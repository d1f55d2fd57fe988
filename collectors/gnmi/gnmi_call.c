/* gnmi_call - connections to a device and calls on them, with the credentials of its target. */
#include <arpa/inet.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/locked.h"
#include "base/loop.h"
#include "collectors/gnmi/gnmi_target.h"

/* tls_probe - connects, shakes hands, and turns what OpenSSL finds into a clause for people. */

/* of one handshake; OpenSSL takes 100 KB of certificates at most */
#define TLS_PROBE_BYTES_MAX (1 << 20)

static void bio_freep(BIO **bio)
{
	BIO_free(*bio);
}

static void x509_freep(X509 **certificate)
{
	X509_free(*certificate);
}

static void ssl_freep(SSL **ssl)
{
	SSL_free(*ssl);
}

static void ctx_freep(SSL_CTX **ctx)
{
	SSL_CTX_free(*ctx);
}

static void key_freep(EVP_PKEY **key)
{
	EVP_PKEY_free(*key);
}

static X509 *certificate_of(const char *pem)
{
	rw_cleanup(bio_freep) BIO *b = BIO_new_mem_buf(pem, -1);
	if (b)
		return PEM_read_bio_X509(b, NULL, NULL, NULL);
	return NULL;
}

static EVP_PKEY *key_of(const char *pem)
{
	rw_cleanup(bio_freep) BIO *b = BIO_new_mem_buf(pem, -1);
	/* "": never ask a terminal */
	if (b)
		return PEM_read_bio_PrivateKey(b, NULL, NULL, (void *)"");
	return NULL;
}

static int64_t tls_probe_seconds_of(const ASN1_TIME *time)
{
	struct tm tm;
	if (ASN1_TIME_to_tm(time, &tm) == 1)
		return (int64_t)timegm(&tm);
	return 0;
}

/* tls_probe_expiry - end of validity of the first certificate of a PEM text, seconds since 1970. 0,
 * or -EINVAL. */
static int tls_probe_expiry(const char *pem, int64_t *ret_s)
{
	rw_cleanup(x509_freep) X509 *x = certificate_of(pem);
	if (!x)
		return -EINVAL;
	*ret_s = tls_probe_seconds_of(X509_get0_notAfter(x));
	if (*ret_s)
		return 0;
	return -EINVAL;
}

/* tls_probe_pair - 0 when the key belongs to the certificate, else -EINVAL. */
static int tls_probe_pair(const char *cert, const char *key)
{
	rw_cleanup(x509_freep) X509 *x = certificate_of(cert);
	rw_cleanup(key_freep) EVP_PKEY *k = key_of(key);
	if (x && k && X509_check_private_key(x, k) == 1)
		return 0;
	return -EINVAL;
}

/* ---- words --------------------------------------------------------------- */

static void day_text(char buf[32], const ASN1_TIME *time)
{
	struct tm tm = {0};
	ASN1_TIME_to_tm(time, &tm);
	strftime(buf, 32, "%Y-%m-%d", &tm);
}

static void common_name(char *buf, size_t size, X509_NAME *name)
{
	if (X509_NAME_get_text_by_NID(name, NID_commonName, buf, (int)size) < 0)
		X509_NAME_oneline(name, buf, (int)size);
}

/* names_text - the names that the certificate is valid for. */
static void names_text(char *buf, size_t size, X509 *certificate)
{
	GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
	size_t n = 0;
	buf[0] = '\0';
	for (int i = 0; names && i < sk_GENERAL_NAME_num(names) && n + 16 < size; i++) {
		const GENERAL_NAME *g = sk_GENERAL_NAME_value(names, i);
		char address[INET6_ADDRSTRLEN] = "";
		const char *text = address;
		int length;
		if (g->type == GEN_DNS)
			text = (const char *)ASN1_STRING_get0_data(g->d.dNSName);
		else if (g->type == GEN_IPADD &&
			(g->d.iPAddress->length == 4 || g->d.iPAddress->length == 16))
			inet_ntop(g->d.iPAddress->length == 4 ? AF_INET : AF_INET6,
				ASN1_STRING_get0_data(g->d.iPAddress), address, sizeof(address));
		else
			continue;
		length = (int)(size - n - 1);
		n += (size_t)snprintf(buf + n, size - n, "%s%.*s", str_if(n, ", "),
			length < 100 ? length : 100, text);
		if (!(n < size))
			n = size - 1;
	}
	GENERAL_NAMES_free(names);
	if (n == 0)
		common_name(buf, size, X509_get_subject_name(certificate));
}

static void tls_probe_verdict(struct tls_probe *probe, SSL *ssl)
{
	rw_cleanup(x509_freep) X509 *x = SSL_get1_peer_certificate(ssl);
	long rc = SSL_get_verify_result(ssl);
	char names[72], issuer[48] = "", day[32]; /* short: the remedy comes behind */
	if (!x) {
		probe->finding = TLS_OTHER;
		snprintf(probe->text, sizeof(probe->text), "it shows no certificate");
		return;
	}
	names_text(names, sizeof(names), x);
	common_name(issuer, sizeof(issuer), X509_get_issuer_name(x));
	switch (rc) {
	case X509_V_OK: probe->finding = TLS_FINE; break;
	case X509_V_ERR_CERT_HAS_EXPIRED:
		probe->finding = TLS_EXPIRED;
		day_text(day, X509_get0_notAfter(x));
		snprintf(probe->text, sizeof(probe->text),
			"its certificate (%s), or the one that signed it, expired: it was valid "
			"until %s",
			names, day);
		break;
	case X509_V_ERR_CERT_NOT_YET_VALID:
		probe->finding = TLS_NOT_YET_VALID;
		day_text(day, X509_get0_notBefore(x));
		snprintf(probe->text, sizeof(probe->text),
			"its certificate (%s) is not valid before %s", names, day);
		break;
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		probe->finding = TLS_WRONG_NAME;
		snprintf(probe->text, sizeof(probe->text),
			"its certificate is made out to %s, not to %s", names,
			str_or(probe->server_name, probe->host));
		break;
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_CERT_SIGNATURE_FAILURE:
		probe->finding = TLS_UNKNOWN_CA;
		snprintf(probe->text, sizeof(probe->text),
			"its certificate (%s) was issued by '%s', which is not among the CAs "
			"trusted here",
			names, issuer);
		break;
	default:
		probe->finding = TLS_OTHER;
		snprintf(probe->text, sizeof(probe->text), "its certificate (%s) is refused: %s",
			names, X509_verify_cert_error_string(rc));
	}
}

/* ---- the handshake ------------------------------------------------------- */

/* What is left until @deadline_ns, as poll() wants it. */
static int tls_probe_left_ms(int64_t deadline_ns)
{
	const int64_t left_ns = deadline_ns - mono_now().ns;
	if (left_ns <= 0)
		return 0;
	return (int)(left_ns / NS_PER_MS) + 1;
}

/* connect_within - a connected socket that does not block, or -1. */
static int connect_within(const struct tls_probe *probe, int64_t deadline_ns)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
	char port[8];
	int fd = -1;
	snprintf(port, sizeof(port), "%u", probe->port);
	if (getaddrinfo(probe->host, port, &hints, &list) != 0)
		return -1;
	for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		struct pollfd w = {.fd = fd, .events = POLLOUT};
		int wrong = 0;
		socklen_t n = sizeof(wrong);
		if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) < 0 &&
			(errno != EINPROGRESS || poll(&w, 1, tls_probe_left_ms(deadline_ns)) != 1 ||
				getsockopt(fd, SOL_SOCKET, SO_ERROR, &wrong, &n) < 0 ||
				wrong != 0)) {
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(list);
	return fd;
}

static int certificate_asked(SSL *ssl, X509 **certificate, EVP_PKEY **key)
{
	*(bool *)SSL_get_app_data(ssl) = true;
	return 0;
}

static void tls_probe_trust(SSL_CTX *ctx, const char *pem)
{
	rw_cleanup(bio_freep) BIO *b = BIO_new_mem_buf(pem, -1);
	for (X509 *x; b && (x = PEM_read_bio_X509(b, NULL, NULL, NULL)); X509_free(x))
		X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), x);
	ERR_clear_error();
}

struct tls_shake {
	SSL *ssl;
	int fd;
	int64_t deadline_ns;
	size_t received; /* bytes */
	bool done; /* the handshake, and what follows is the server's decision */
};

static bool tls_shake_may_read(const struct tls_shake *shake)
{
	return shake->received < TLS_PROBE_BYTES_MAX && mono_now().ns < shake->deadline_ns;
}

/* BIO_set_callback_ex(3), before and after each read of the socket. A peer that keeps sending what
 * the handshake skips keeps OpenSSL inside one call: only here does it come by. */
static long tls_shake_on_read(BIO *bio, int operation, const char *data, size_t length, int argi,
	long argl, int ret, size_t *processed)
{
	struct tls_shake *shake = (struct tls_shake *)BIO_get_callback_arg(bio);
	if (operation == (BIO_CB_READ | BIO_CB_RETURN) && ret > 0 && processed)
		shake->received += *processed;
	if (operation != BIO_CB_READ || tls_shake_may_read(shake))
		return ret;
	BIO_clear_retry_flags(bio); /* an end, not a wait */
	return -1;
}

/* One step; what OpenSSL waits for, SSL_ERROR_NONE when it went well. */
static int tls_shake_step(struct tls_shake *shake)
{
	char byte;
	int rc;
	if (shake->done)
		rc = SSL_read(shake->ssl, &byte, 1);
	else
		rc = SSL_connect(shake->ssl);
	if (rc == 1)
		return SSL_ERROR_NONE;
	return SSL_get_error(shake->ssl, rc);
}

/* tls_probe_shake - until the end of the handshake and, in TLS 1.3, the server's decision about our
 * certificate, which comes with its first bytes; or until the deadline. 0, 1 when it ended after
 * the handshake, -1 before. */
static int tls_probe_shake(struct tls_shake *shake)
{
	struct pollfd w = {.fd = shake->fd};
	BIO *bio = SSL_get_rbio(shake->ssl);
	BIO_set_callback_ex(bio, tls_shake_on_read);
	BIO_set_callback_arg(bio, (char *)shake);
	while (tls_shake_may_read(shake)) {
		const int want = tls_shake_step(shake);
		if (want == SSL_ERROR_NONE && shake->done)
			return 0;
		shake->done |= want == SSL_ERROR_NONE;
		if (want == SSL_ERROR_NONE)
			continue;
		w.events = POLLIN;
		if (want == SSL_ERROR_WANT_WRITE)
			w.events = POLLOUT;
		if (want == SSL_ERROR_WANT_READ || want == SSL_ERROR_WANT_WRITE)
			poll(&w, 1, tls_probe_left_ms(shake->deadline_ns));
		else if (tls_shake_may_read(shake))
			return shake->done ? 1 : -1;
	}
	return shake->done ? 0 : -1;
}

/* It sent, and came to no end. */
static void tls_probe_endless(struct tls_probe *probe, const struct tls_shake *shake)
{
	probe->finding = TLS_ENDLESS;
	if (shake->received >= TLS_PROBE_BYTES_MAX)
		snprintf(probe->text, sizeof(probe->text),
			"it sent %d KB, and its TLS handshake did not end",
			TLS_PROBE_BYTES_MAX >> 10);
	else
		snprintf(probe->text, sizeof(probe->text),
			"its TLS handshake did not end within %.0f s",
			(double)probe->timeout_ns / 1e9);
}

void tls_probe(struct tls_probe *probe)
{
	const int64_t deadline_ns = mono_now().ns + probe->timeout_ns;
	rw_cleanup(closep) int fd = connect_within(probe, deadline_ns);
	rw_cleanup(ctx_freep) SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	rw_cleanup(ssl_freep) SSL *ssl = NULL;
	if (ctx)
		ssl = SSL_new(ctx);
	rw_cleanup(x509_freep) X509 *own = NULL;
	if (probe->cert)
		own = certificate_of(probe->cert);
	rw_cleanup(key_freep) EVP_PKEY *key = NULL;
	if (probe->key)
		key = key_of(probe->key);
	const char *name = str_or(probe->server_name, probe->host);
	unsigned char address[16];
	bool asked = false,
	     is_address = inet_pton(AF_INET, name, address) == 1 ||
		inet_pton(AF_INET6, name, address) == 1;
	if (fd < 0)
		probe->finding = TLS_UNREACHABLE;
	else
		probe->finding = TLS_OTHER;
	probe->text[0] = '\0';
	if (fd < 0 || !ssl)
		return;
	if (probe->ca)
		tls_probe_trust(ctx, probe->ca);
	SSL_set_app_data(ssl, &asked);
	SSL_CTX_set_client_cert_cb(ctx, certificate_asked);
	if (own && key) {
		SSL_use_certificate(ssl, own);
		SSL_use_PrivateKey(ssl, key);
	}
	SSL_set_alpn_protos(ssl, (const unsigned char *)"\2h2", 3);
	if (is_address)
		X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name);
	else if (SSL_set_tlsext_host_name(ssl, name))
		SSL_set1_host(ssl, name);
	SSL_set_fd(ssl, fd);
	struct tls_shake shake = {.ssl = ssl, .fd = fd, .deadline_ns = deadline_ns};
	int rc = tls_probe_shake(&shake);
	unsigned long e = ERR_peek_error();
	if (rc < 0 && shake.received > 0 && !tls_shake_may_read(&shake)) {
		tls_probe_endless(probe, &shake);
		ERR_clear_error();
		return;
	}
	if (rc < 0 && ERR_GET_REASON(e) == SSL_R_WRONG_VERSION_NUMBER)
		probe->finding = TLS_NOT_SPOKEN;
	else if (rc >= 0)
		tls_probe_verdict(probe, ssl);
	if ((rc < 0 || probe->finding == TLS_FINE) && (asked || rc > 0) &&
		probe->finding != TLS_NOT_SPOKEN) {
		probe->finding = TLS_WANTS_CERTIFICATE;
		const char *text = "it asks for a client certificate";
		if (own)
			text = "it does not accept our client certificate";
		snprintf(probe->text, sizeof(probe->text), "%s", text);
	}
	ERR_clear_error();
}

/* gnmi_secrets - what a log-in by gNMI needs beside login_secrets_renew(): authorities, and a
 * certificate and key that belong together; and a warning of certificates that expire soon. */

#define EXPIRY_WARN_S (14 * 24 * 3600)
#define PEM_MAX (1u << 20)

static const char *const system_roots[] = {"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"};

static int roots_read(char **ret, struct err *e)
{
	size_t n;
	for (size_t i = 0; i < rw_countof(system_roots); i++)
		if (str_read_file(system_roots[i], PEM_MAX, ret, &n, NULL) == 0)
			return 0;
	return err_set(e, -ENOENT,
		"no tls.ca is given and this machine has no list of CAs (package ca-certificates): "
		"give the CA of the device as tls.ca");
}

int gnmi_secrets_complete(
	const struct config_login *credential, struct login_secrets *secrets, struct err *e)
{
	int rc = 0;
	if (credential->tls_off)
		return 0;
	if (!secrets->ca && !credential->tls_skip_verify)
		rc = roots_read(&secrets->ca, e);
	if (rc == 0 && secrets->cert && tls_probe_pair(secrets->cert, secrets->key) < 0)
		rc = err_set(e, -EINVAL,
			"tls.cert and tls.key do not belong together, or are no PEM: %s, %s",
			credential->tls_cert, credential->tls_key);
	return rc;
}

/* seconds_left - until the certificate expires. False when it lasts long enough, or is no PEM. */
static bool seconds_left(const char *pem, int64_t *ret)
{
	int64_t until;
	if (tls_probe_expiry(pem, &until) < 0)
		return false;
	*ret = until - wall_now().ns / NS_PER_S;
	return *ret <= EXPIRY_WARN_S;
}

void gnmi_target_certificate(struct gnmi_target *target, const char *pem)
{
	int64_t left;
	if (target->expiry_warned || !seconds_left(pem, &left))
		return;
	target->expiry_warned = true;
	log_warn(target->machine.name,
		"gnmi: the certificate of %s expires in %.1f days: renew it on the device",
		target->machine.address, (double)left / 86400);
}

void gnmi_secrets_expiry(const struct gnmi_target *target)
{
	int64_t left;
	if (!target->secrets.cert || !seconds_left(target->secrets.cert, &left))
		return;
	const char *state = "has expired";
	if (left > 0)
		state = "expires within 14 days";
	log_warn(target->machine.name, "gnmi: our client certificate %s %s: renew it",
		target->machine.device->gnmi->credential->gnmi->tls_cert, state);
}

/* ---- gnmi_call ------------------------------------------------------------- */

int gnmi_target_channel(struct gnmi_target *target, struct grpc_io_channel **ret, struct err *e)
{
	const struct config_gnmi *device = target->machine.device->gnmi;
	const struct config_login *credential = device->credential->gnmi;
	const struct grpc_io_options options = {.host = device->address,
		.port = device->port,
		.tls = !credential->tls_off,
		.ca = target->secrets.ca,
		.cert = target->secrets.cert,
		.key = target->secrets.key,
		.server_name = credential->tls_server_name,
		.skip_verify = credential->tls_skip_verify,
		.max_message = (uint32_t)device->max_message,
		.connect_ns = device->timeout_ns};
	return grpc_io_connect(target->io, &options, ret, e);
}

/* bearer_header - "Bearer <token>"; the caller wipes it. */
static char *bearer_header(const char *token)
{
	const size_t size = strlen(token) + sizeof("Bearer ");
	char *text = locked_new(size);
	snprintf(text, size, "Bearer %s", token);
	return text;
}

int gnmi_target_call(struct gnmi_target *target, struct grpc_io_channel *channel,
	const struct gnmi_call *call, struct grpc_io_call **ret, struct err *e)
{
	const char *username = target->machine.device->gnmi->credential->gnmi->username;
	const struct login_secrets *secrets = &target->secrets;
	struct grpc_io_metadata metadata[3];
	size_t n = 0;
	rw_cleanup(target_secret_wipe) char *bearer = NULL;
	if (username)
		metadata[n++] = (struct grpc_io_metadata){"username", username};
	if (secrets->password)
		metadata[n++] = (struct grpc_io_metadata){"password", secrets->password};
	if (secrets->token) {
		bearer = bearer_header(secrets->token);
		metadata[n++] = (struct grpc_io_metadata){"authorization", bearer};
	}
	const struct grpc_io_request request = {.method = call->method,
		.metadata = metadata,
		.n_metadata = n,
		.p = call->request.p,
		.n = call->request.n,
		.half_close = call->unary};
	return grpc_io_call_new(channel, &request, call->events, call->arg, ret, e);
}

/*
 * gnmi_probe - a TLS handshake of our own, on a thread of the loop's pool, after gRPC failed to
 * connect: it says more exactly what is wrong. The target may be freed before it ends.
 */

#define PROBE_NS (5 * NS_PER_S)

struct gnmi_probe {
	struct tls_probe tls;
	struct gnmi_target *target; /* NULL: freed meanwhile, nobody wants the result */
	gnmi_probe_fn *done;
	struct login_secrets copies; /* the thread reads these, not the target's */
	char *host, *server_name, *status_text;
	int status_code;
};

static void probe_free(struct gnmi_probe *probe)
{
	login_secrets_done(&probe->copies);
	free(probe->host);
	free(probe->server_name);
	free(probe->status_text);
	free(probe);
}

static void probe_work(void *arg)
{
	struct gnmi_probe *probe = arg;
	tls_probe(&probe->tls);
}

static void probe_tell(struct gnmi_probe *probe, const struct tls_probe *found)
{
	struct gnmi_target *target = probe->target;
	const struct grpc_io_status status = {probe->status_code, probe->status_text};
	probe->target = NULL;
	if (!target)
		return;
	target->probe = NULL;
	probe->done(target, found, &status);
}

/* Its name is not found: the handshake has a shorter end of its own. */
static void probe_late(void *arg)
{
	static const struct tls_probe nothing = {.finding = TLS_UNREACHABLE};
	probe_tell(arg, &nothing);
}

static void probe_done(void *arg)
{
	struct gnmi_probe *probe = arg;
	probe_tell(probe, &probe->tls);
	probe_free(probe);
}

static const struct loop_job probe_job = {.limit_ns = PROBE_NS + 10 * NS_PER_S,
	.work = probe_work,
	.done = probe_done,
	.late = probe_late};

static char *copy_of(const char *text)
{
	if (text)
		return rw_strdup(text);
	return NULL;
}

static char *key_copy(const char *key)
{
	if (key)
		return locked_dup(key);
	return NULL;
}

bool gnmi_probe_start(
	struct gnmi_target *target, const struct grpc_io_status *status, gnmi_probe_fn *done)
{
	const struct config_gnmi *device = target->machine.device->gnmi;
	struct gnmi_probe *probe = rw_calloc(1, sizeof(*probe));
	*probe = (struct gnmi_probe){.target = target,
		.done = done,
		.host = rw_strdup(device->address),
		.server_name = copy_of(device->credential->gnmi->tls_server_name),
		.status_text = rw_strdup(status->text),
		.status_code = status->code,
		.copies = {.ca = copy_of(target->secrets.ca),
			.cert = copy_of(target->secrets.cert),
			.key = key_copy(target->secrets.key)}};
	probe->tls = (struct tls_probe){.host = probe->host,
		.port = device->port,
		.ca = probe->copies.ca,
		.cert = probe->copies.cert,
		.key = probe->copies.key,
		.server_name = probe->server_name,
		.timeout_ns = PROBE_NS};
	if (loop_work(target->machine.loop, &probe_job, probe) < 0) {
		probe_free(probe);
		return false;
	}
	target->probe = probe;
	return true;
}

void gnmi_probe_forget(struct gnmi_target *target)
{
	if (target->probe)
		target->probe->target = NULL;
	target->probe = NULL;
}

/* gnmi_reason - finds the reason row for how a call ended. gRPC gives the reason of a failed
 * connection only as text: the signs below are those of libgrpc 1.51, and
 * tests/unit/collectors/gnmi/test_gnmi_reason.c provokes each case. */

#define WORDS_MAX 110 /* of a server's text that are shown */

/* words_of - the server's text for people: one short line, without secrets and control characters.
 */
static void words_of(const struct gnmi_target *target, const char *text, char buf[WORDS_MAX])
{
	rw_cleanup(freep) char *copy = rw_strdup(str_or(text, ""));
	text_hide(copy, target->secrets.password);
	text_hide(copy, target->secrets.token);
	for (char *p = copy; *p; p++)
		if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f)
			*p = '?';
	snprintf(buf, WORDS_MAX, "%s", copy);
}

bool gnmi_reason_is_request(const struct grpc_io_status *status)
{
	return status->code == GRPC_IO_INVALID_ARGUMENT || status->code == GRPC_IO_NOT_FOUND ||
		status->code == GRPC_IO_UNIMPLEMENTED;
}

bool gnmi_reason_is_tls(const struct gnmi_target *target, const struct grpc_io_status *status)
{
	static const char *const signs[] = {"handshake failed", "Ssl handshake", "peer certificate",
		"Peer name", "Hostname Verification", "Socket closed", "Connection reset",
		"Endpoint read failed", "Cannot check peer"};
	if (status->code != GRPC_IO_UNAVAILABLE ||
		target->machine.device->gnmi->credential->gnmi->tls_off ||
		target->machine.device->gnmi->credential->gnmi->tls_skip_verify)
		return false;
	for (size_t i = 0; i < rw_countof(signs); i++)
		if (strstr(status->text, signs[i]))
			return true;
	return false;
}

/* network_reason - how gRPC words what the network did; the first row that fits. False: none. */
static bool network_reason(struct reason *ret, const char *address, const char *text)
{
	static const struct {
		const char *sign;
		enum reason_code code;
	} rows[] = {
		{"Connection refused", REASON_GNMI_REFUSED},
		{"DNS resolution failed", REASON_GNMI_RESOLVE},
		{"Network is unreachable", REASON_GNMI_NETWORK},
		{"No route to host", REASON_GNMI_ROUTE},
		{"wrong version number", REASON_GNMI_NO_TLS},
		{"certificate verify failed", REASON_GNMI_NOT_TRUSTED},
		{"is not in peer certificate", REASON_GNMI_OTHER_NAME},
		{"too_many_pings", REASON_GNMI_PINGS},
		{"GOAWAY received", REASON_GNMI_GOAWAY},
		{"Failed to connect to remote host: Timeout", REASON_GNMI_CONNECT_TIMEOUT},
		{"connection attempt timed out", REASON_GNMI_NO_ANSWER},
		{"Handshake read failed", REASON_GNMI_HANDSHAKE},
		{"FD Shutdown", REASON_GNMI_NO_ANSWER},
		{"Timeout occurred", REASON_GNMI_NO_ANSWER},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		if (!strstr(text, rows[i].sign))
			continue;
		reason_of_word(ret, rows[i].code, address);
		return true;
	}
	return false;
}

/* hung_up - did the server end the connection before gRPC could use it? */
static bool hung_up(const char *text)
{
	if (!strstr(text, "failed to connect"))
		return false;
	return strstr(text, "Socket closed") || strstr(text, "Connection reset") ||
		strstr(text, "Endpoint read failed");
}

static void gnmi_reason_unavailable(const struct gnmi_target *target,
	const struct grpc_io_status *status, const char *words, struct reason *ret)
{
	const char *address = target->machine.address;
	if (network_reason(ret, address, status->text))
		return;
	if (!hung_up(status->text))
		reason_set(ret, GNMI_LOST, address, words);
	else if (target->machine.device->gnmi->credential->gnmi->tls_off)
		reason_set(ret, GNMI_WANTS_TLS, address);
	else
		reason_set(ret, GNMI_HANDSHAKE_ENDED, address);
}

static void gnmi_reason_unauthenticated(
	const struct gnmi_target *target, const char *words, struct reason *ret)
{
	const struct config_login *c = target->machine.device->gnmi->credential->gnmi;
	const char *address = target->machine.address;
	if (c->token.from != SECRET_NONE)
		reason_set(ret, GNMI_TOKEN, address, words);
	else if (c->username)
		reason_set(ret, GNMI_PASSWORD, address, c->username, words);
	else
		reason_set(ret, GNMI_LOGIN, address, words);
}

/* gRPC's own words when a message comes in an encoding that the channel does not take. */
static bool gnmi_compressed(const struct grpc_io_status *status)
{
	return strcasestr(status->text, "compress") != NULL;
}

void gnmi_reason(const struct gnmi_target *target, const struct gnmi_stream *stream,
	const struct grpc_io_status *status, struct reason *ret)
{
	const char *address = target->machine.address, *what = "Capabilities";
	if (stream)
		what = stream->profile->name;
	char words[WORDS_MAX];
	words_of(target, status->text, words);
	switch (status->code) {
	case GRPC_IO_UNAVAILABLE: gnmi_reason_unavailable(target, status, words, ret); break;
	case GRPC_IO_UNAUTHENTICATED: gnmi_reason_unauthenticated(target, words, ret); break;
	case GRPC_IO_PERMISSION_DENIED:
		reason_set(ret, GNMI_PERMISSION, address, what, words);
		break;
	case GRPC_IO_NOT_FOUND: reason_set(ret, GNMI_PATH, address, what, words); break;
	case GRPC_IO_INVALID_ARGUMENT:
		if (strcasestr(status->text, "encoding"))
			reason_set(ret, GNMI_ENCODING, address, what, words);
		else
			reason_set(ret, GNMI_STREAM_REFUSED, address, what, words);
		break;
	case GRPC_IO_UNIMPLEMENTED:
		if (gnmi_compressed(status))
			reason_set(ret, GNMI_COMPRESSED, address, what, words);
		else
			reason_set(ret, GNMI_NOT_SERVED, address, what, words);
		break;
	case GRPC_IO_RESOURCE_EXHAUSTED:
		if (strstr(status->text, "larger than max"))
			reason_set(ret, GNMI_TOO_LARGE, address, what, words);
		else
			reason_set(ret, GNMI_NO_ROOM, address, what, words);
		break;
	case GRPC_IO_DEADLINE_EXCEEDED: reason_set(ret, GNMI_CALL_TIMEOUT, address, what); break;
	case GRPC_IO_OK: reason_set(ret, GNMI_ENDED, address, what); break;
	default:
		reason_set(ret, GNMI_STATUS, address, what, grpc_io_code_name(status->code), words);
	}
}

void gnmi_reason_probed(const struct gnmi_target *target, const struct tls_probe *probe,
	const struct grpc_io_status *status, struct reason *ret)
{
	const char *address = target->machine.address, *finding = probe->text;
	if (probe->finding == TLS_NOT_SPOKEN) {
		reason_set(ret, GNMI_NO_TLS, address);
		return;
	}
	if (!*finding) {
		gnmi_reason(target, NULL, status, ret);
		return;
	}
	switch (probe->finding) {
	case TLS_EXPIRED: reason_set(ret, GNMI_CERT_EXPIRED, address, finding); break;
	case TLS_NOT_YET_VALID: reason_set(ret, GNMI_CERT_EARLY, address, finding); break;
	case TLS_UNKNOWN_CA: reason_set(ret, GNMI_CERT_CA, address, finding); break;
	case TLS_WRONG_NAME: reason_set(ret, GNMI_CERT_NAME, address, finding); break;
	case TLS_WANTS_CERTIFICATE: reason_set(ret, GNMI_CERT_CLIENT, address, finding); break;
	case TLS_ENDLESS: reason_set(ret, GNMI_HANDSHAKE_ENDLESS, address, finding); break;
	case TLS_OTHER: reason_set(ret, GNMI_CERT_OTHER, address, finding); break;
	default: gnmi_reason(target, NULL, status, ret);
	}
}

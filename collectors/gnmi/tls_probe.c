/* tls_probe - connects, shakes hands, and turns what OpenSSL finds into a clause for people. */
#include "collectors/gnmi/tls_probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"

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

int tls_probe_expiry(const char *pem, int64_t *ret_s)
{
	rw_cleanup(x509_freep) X509 *x = certificate_of(pem);
	if (!x)
		return -EINVAL;
	*ret_s = tls_probe_seconds_of(X509_get0_notAfter(x));
	if (*ret_s)
		return 0;
	return -EINVAL;
}

int tls_probe_pair(const char *cert, const char *key)
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

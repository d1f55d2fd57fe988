/*
 * tls_probe - one TLS handshake of our own, which shows more exactly than gRPC what is wrong with a
 * server. The only file that includes OpenSSL. Blocking: tls_probe() runs on a pool thread
 * (loop_work).
 */
#ifndef RW_COLLECTORS_TLS_PROBE_H
#define RW_COLLECTORS_TLS_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#define TLS_PROBE_TEXT_MAX 400

enum tls_finding {
	TLS_FINE, /* nothing is wrong with TLS, or not any more */
	TLS_UNREACHABLE,
	TLS_NOT_SPOKEN, /* something listens, but speaks no TLS */
	TLS_EXPIRED,
	TLS_NOT_YET_VALID,
	TLS_UNKNOWN_CA,
	TLS_WRONG_NAME,
	TLS_WANTS_CERTIFICATE, /* of the client, and got none or one it does not accept */
	TLS_ENDLESS, /* it sends, and its handshake comes to no end */
	TLS_OTHER,
};

struct tls_probe {
	/* in; lent for the call */
	const char *host;
	uint16_t port;
	const char *ca, *cert, *key; /* PEM texts; NULL */
	const char *server_name; /* NULL: host */
	int64_t timeout_ns; /* of the whole; a name is looked up for as long as the resolver wants
			     */
	/* out */
	enum tls_finding finding;
	/* a clause: "its certificate expired on 2026-11-20 (issued by ...)" */
	char text[TLS_PROBE_TEXT_MAX];
};

void tls_probe(struct tls_probe *probe);

/* tls_probe_expiry - end of validity of the first certificate of a PEM text, seconds since 1970. 0,
 * or -EINVAL. */
int tls_probe_expiry(const char *pem, int64_t *ret_s);
/* tls_probe_pair - 0 when the key belongs to the certificate, else -EINVAL. */
int tls_probe_pair(const char *cert, const char *key);

#endif

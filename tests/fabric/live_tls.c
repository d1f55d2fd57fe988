/*
 * live_tls - an authority and a certificate for all switches of a live lab, valid for a month:
 * ca.pem for the agent, the rest stays in memory.
 */
#include "tests/fabric/live_lab.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"

#define DAYS 30

static char *text_of(BIO *b)
{
	char *data;
	const long n = BIO_get_mem_data(b, &data);
	char *text = rw_calloc(1, (size_t)n + 1);
	memcpy(text, data, (size_t)n);
	BIO_free(b);
	return text;
}

static bool extend(X509 *x, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	const bool good = e && X509_add_ext(x, e, -1);
	X509_EXTENSION_free(e);
	return good;
}

/* @issuer NULL: signed by itself, an authority. NULL when the library refuses. */
static X509 *certificate(
	EVP_PKEY *key, const char *subject, X509 *issuer, EVP_PKEY *issuer_key, const char *names)
{
	X509 *x = X509_new(), *by = issuer ? issuer : x;
	uint32_t serial = 1;
	if (getrandom(&serial, sizeof(serial), 0) < 0)
		serial = 1;
	X509_set_version(x, 2);
	ASN1_INTEGER_set_uint64(X509_get_serialNumber(x), serial);
	X509_gmtime_adj(X509_getm_notBefore(x), -3600);
	X509_gmtime_adj(X509_getm_notAfter(x), DAYS * 86400L);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
		(const unsigned char *)subject, -1, -1, 0);
	X509_set_issuer_name(x, X509_get_subject_name(by));
	X509_set_pubkey(x, key);
	if (extend(x, by, NID_basic_constraints, issuer ? "CA:FALSE" : "critical,CA:TRUE") &&
		(!names || extend(x, by, NID_subject_alt_name, names)) &&
		X509_sign(x, issuer ? issuer_key : key, EVP_sha256()) > 0)
		return x;
	X509_free(x);
	return NULL;
}

static char *certificate_text(X509 *x)
{
	BIO *b = BIO_new(BIO_s_mem());
	PEM_write_bio_X509(b, x);
	return text_of(b);
}

static int write_ca(X509 *ca, struct err *e)
{
	rw_cleanup(freep) char *text = certificate_text(ca);
	unlink("ca.pem");
	rw_cleanup(closep) int fd = open("ca.pem", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	const size_t n = strlen(text);
	return fd >= 0 && write(fd, text, n) == (ssize_t)n
		? 0
		: err_set(e, -errno, "ca.pem: %s", strerror(errno));
}

int live_tls_new(struct lab *l, struct err *e)
{
	rw_cleanup(str_done) struct str names = {0};
	int rc = -EIO;
	for (size_t i = 0; i < l->n_nodes; i++)
		str_addf(&names, "%sIP:%s", i ? "," : "", l->nodes[i].address);
	EVP_PKEY *ca_key = EVP_EC_gen("P-256"), *key = EVP_EC_gen("P-256");
	X509 *ca = ca_key && key ? certificate(ca_key, "rocewatch lab authority", NULL, NULL, NULL)
				 : NULL;
	X509 *x = ca ? certificate(key, "rocewatch lab", ca, ca_key, names.s) : NULL;
	if (x) {
		BIO *b = BIO_new(BIO_s_mem());
		PEM_write_bio_PrivateKey(b, key, NULL, NULL, 0, NULL, NULL);
		l->tls = (struct lab_tls){certificate_text(x), text_of(b)};
		rc = write_ca(ca, e);
	} else
		err_set(e, rc, "no certificate could be made");
	X509_free(x);
	X509_free(ca);
	EVP_PKEY_free(key);
	EVP_PKEY_free(ca_key);
	return rc;
}

void live_tls_done(struct lab *l)
{
	free(l->tls.cert);
	free(l->tls.key);
	l->tls = (struct lab_tls){0};
}

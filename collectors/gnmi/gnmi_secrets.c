/* gnmi_secrets - reads the log-in and certificates of a target when they are needed, wipes them
 * when they are not, and warns of certificates that expire soon. */
#include "collectors/gnmi/gnmi_target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/locked.h"
#include "agent/base/str.h"

#define EXPIRY_WARN_S (14 * 24 * 3600)
#define PEM_MAX (1u << 20)
#define KEY_MAX (64u << 10)

static const char *const system_roots[] = {"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"};

void gnmi_secret_wipe(char **text)
{
	locked_freep(text);
}

void gnmi_secrets_done(struct gnmi_secrets *secrets)
{
	gnmi_secret_wipe(&secrets->password);
	gnmi_secret_wipe(&secrets->token);
	gnmi_secret_wipe(&secrets->key);
	free(rw_take(secrets->ca));
	free(rw_take(secrets->cert));
}

static int pem_read(const char *path, char **ret, struct err *e)
{
	size_t n;
	if (path)
		return str_read_file(path, PEM_MAX, ret, &n, e);
	return 0;
}

static int key_read(const char *path, char **ret, struct err *e)
{
	size_t n;
	if (path)
		return locked_read_file(path, KEY_MAX, ret, &n, e);
	return 0;
}

static int roots_read(char **ret, struct err *e)
{
	for (size_t i = 0; i < rw_countof(system_roots); i++)
		if (pem_read(system_roots[i], ret, NULL) == 0)
			return 0;
	return err_set(e, -ENOENT,
		"no tls.ca is given and this machine has no list of CAs (package ca-certificates): "
		"give the CA of the device as tls.ca");
}

/* tls_read - certificates and key of @credential. */
static int tls_read(
	const struct config_gnmi_credential *credential, struct gnmi_secrets *ret, struct err *e)
{
	int rc = 0;
	if (credential->tls_ca && !credential->tls_skip_verify)
		rc = pem_read(credential->tls_ca, &ret->ca, e);
	else if (!credential->tls_skip_verify)
		rc = roots_read(&ret->ca, e);
	if (rc == 0)
		rc = pem_read(credential->tls_cert, &ret->cert, e);
	if (rc == 0)
		rc = key_read(credential->tls_key, &ret->key, e);
	if (rc == 0 && ret->cert && tls_probe_pair(ret->cert, ret->key) < 0)
		rc = err_set(e, -EINVAL,
			"tls.cert and tls.key do not belong together, or are no PEM: %s, %s",
			credential->tls_cert, credential->tls_key);
	return rc;
}

int gnmi_secrets_read(
	const struct config_gnmi_credential *credential, struct gnmi_secrets *ret, struct err *e)
{
	int rc = 0;
	if (credential->password.from != SECRET_NONE)
		rc = secret_read(&credential->password, &ret->password, e);
	if (rc == 0 && credential->token.from != SECRET_NONE)
		rc = secret_read(&credential->token, &ret->token, e);
	if (rc == 0 && !credential->tls_off)
		rc = tls_read(credential, ret, e);
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

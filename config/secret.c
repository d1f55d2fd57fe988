/* secret - reads a secret when it is needed. No message and no log line ever holds its content. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/locked.h"
#include "base/str.h"
#include "config/config.h"

enum { SECRET_MAX_BYTES = 64 * 1024 };

static int strip_and_check(char *text, size_t n, const char *kind, const char *name, struct err *e)
{
	if (n > 0 && text[n - 1] == '\n')
		text[--n] = '\0';
	if (n > 0 && text[n - 1] == '\r')
		text[--n] = '\0';
	if (n == 0)
		return err_set(e, -EINVAL,
			"%s '%s' is empty; expected the secret in its first line", kind, name);
	if (strlen(text) != n)
		return err_set(e, -EINVAL, "%s '%s' has a NUL byte in it; expected a line of text",
			kind, name);
	return 0;
}

static int secret_from_file(
	const char *path, const char *kind, const char *name, char **ret, struct err *e)
{
	char *text = NULL;
	size_t n = 0;
	int r = locked_read_file(path, SECRET_MAX_BYTES, &text, &n, e);
	if (r == -ENOENT && !strchr(path, '/'))
		return err_set(e, r,
			"the %s of a secret does not exist; its name is not repeated, in case it "
			"is the secret itself: write it as ./NAME",
			kind);
	if (r == -ENOENT)
		return err_set(e, r,
			"%s '%s' does not exist; create it with mode 0600, owned by the user the "
			"agent runs as",
			kind, name);
	if (r == -EACCES || r == -EPERM)
		return err_set(e, -EACCES,
			"%s '%s' may not be read by this user; give it to the user the agent runs "
			"as%s",
			kind, name, outside_hint(path));
	if (r < 0)
		return r;
	r = strip_and_check(text, n, kind, name, e);
	if (r < 0) {
		locked_free(text);
		return r;
	}
	*ret = text;
	return 0;
}

/* What was taken out of the environment. Written before there are threads, then only read. */
static struct taken_secret {
	struct taken_secret *next;
	char *name, *value;
} * taken_secrets;

static const char *secret_taken(const char *name)
{
	for (const struct taken_secret *s = taken_secrets; s; s = s->next) {
		if (str_eq(s->name, name))
			return s->value;
	}
	return NULL;
}

static void secret_take(const struct config_secret *secret)
{
	if (secret->from != SECRET_ENV)
		return;
	char *value = getenv(secret->name);
	if (!value)
		return;
	struct taken_secret *taken = rw_calloc(1, sizeof(*taken));
	*taken = (struct taken_secret){
		.next = taken_secrets, .name = rw_strdup(secret->name), .value = locked_dup(value)};
	taken_secrets = taken;
	explicit_bzero(value, strlen(value)); /* the bytes that the kernel shows as environ */
	unsetenv(secret->name);
}

void secrets_leave_environment(const struct config *config)
{
	for (size_t k = 0; k < config->n_credentials; k++) {
		const struct config_credential *c = &config->credentials[k];
		if (c->snmp) {
			secret_take(&c->snmp->community);
			secret_take(&c->snmp->auth_secret);
			secret_take(&c->snmp->priv_secret);
		}
		if (c->gnmi) {
			secret_take(&c->gnmi->password);
			secret_take(&c->gnmi->token);
		}
	}
	for (size_t k = 0; k < config->ship.n_sinks; k++)
		secret_take(&config->ship.sinks[k].password);
	for (size_t k = 0; k < config->alerts.n_receivers; k++) {
		secret_take(&config->alerts.receivers[k].password);
		secret_take(&config->alerts.receivers[k].token);
		secret_take(&config->alerts.receivers[k].secret);
	}
}

static int secret_from_env(const char *name, char **ret, struct err *e)
{
	const char *value = getenv(name);
	if (!value)
		value = secret_taken(name);
	if (!value)
		return err_set(e, -ENOENT,
			"environment variable '%s' is not set; set it for the agent or use a file",
			name);
	char *text = locked_dup(value);
	int r = strip_and_check(text, strlen(text), "environment variable", name, e);
	if (r < 0) {
		locked_free(text);
		return r;
	}
	*ret = text;
	return 0;
}

static int secret_from_credential(const char *name, char **ret, struct err *e)
{
	const char *dir = getenv("CREDENTIALS_DIRECTORY");
	if (!dir)
		return err_set(e, -ENOENT,
			"systemd credential '%s' cannot be read: $CREDENTIALS_DIRECTORY is not "
			"set; run the agent as a unit with LoadCredential=%s:FILE",
			name, name);
	rw_cleanup(str_done) struct str path = {0};
	str_addf(&path, "%s/%s", dir, name);
	return secret_from_file(path.s, "systemd credential", name, ret, e);
}

int secret_read(const struct config_secret *secret, char **ret, struct err *e)
{
	switch (secret->from) {
	case SECRET_FILE: return secret_from_file(secret->name, "file", secret->name, ret, e);
	case SECRET_ENV: return secret_from_env(secret->name, ret, e);
	case SECRET_CREDENTIAL: return secret_from_credential(secret->name, ret, e);
	case SECRET_NONE: break;
	}
	return err_set(e, -EINVAL, "no secret is configured here");
}

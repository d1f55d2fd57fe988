/* clickhouse_url - where a database is, and who asks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/err.h"
#include "agent/base/locked.h"
#include "db/clickhouse/clickhouse.h"
#include "db/clickhouse/clickhouse_read.h"

#define CH_TIMEOUT_NS (300 * NS_PER_S)
#define PASSWORD_MAX 4096

static const struct {
	const char *scheme, *http;
	int port;
} ch_schemes[] = {
	{"clickhouse://", "http", 8123},
	{"clickhouses://", "https", 8443},
};

static int scheme_find(const char *url)
{
	for (size_t i = 0; i < rw_countof(ch_schemes); i++)
		if (strncmp(url, ch_schemes[i].scheme, strlen(ch_schemes[i].scheme)) == 0)
			return (int)i;
	return -1;
}

bool clickhouse_is_url(const char *path)
{
	return scheme_find(path) >= 0;
}

/* As it stands in the environment, which this user's processes see anyway, or in a file. */
static int password_read(struct ch_history *to, struct err *e)
{
	const char *password = getenv(CLICKHOUSE_PASSWORD),
		   *path = getenv(CLICKHOUSE_PASSWORD_FILE);
	size_t n;
	if (password && *password) {
		to->password = locked_dup(password);
		return 0;
	}
	if (!path || !*path)
		return 0;
	const int r = locked_read_file(path, PASSWORD_MAX, &to->password, &n, e);
	if (r == 0)
		to->password[strcspn(to->password, "\r\n")] = '\0';
	return r;
}

/* A name of a database stands in statements between backquotes. */
static bool database_is_plain(const char *name)
{
	return *name && !strpbrk(name, "`\\'\"/?#&% ");
}

static int url_split(const char *url, int scheme, struct ch_history *to)
{
	rw_cleanup(freep) char *rest = rw_strdup(url + strlen(ch_schemes[scheme].scheme));
	rw_cleanup(str_done) struct str http = {0};
	char *host = rest, *slash = strchr(rest, '/'), *at;
	if (!slash)
		return -EINVAL;
	*slash = '\0';
	at = strrchr(rest, '@');
	if (at) {
		*at = '\0';
		host = at + 1;
		if (!*rest || strchr(rest, ':'))
			return -EINVAL;
		to->username = rw_strdup(rest);
	}
	const char *bracket = strchr(host, ']'); /* of an IPv6 address */
	const char *colon = strchr(str_or(bracket, host), ':');
	str_addf(&http, "%s://%s", ch_schemes[scheme].http, host);
	if (!colon)
		str_addf(&http, ":%d", ch_schemes[scheme].port);
	if (!*host || !database_is_plain(slash + 1))
		return -EINVAL;
	to->database = rw_strdup(slash + 1);
	to->url = rw_take(http.s);
	return 0;
}

int clickhouse_url_read(const char *url, struct ch_history *to, struct err *e)
{
	const int scheme = scheme_find(url);
	const char *ca = getenv(CLICKHOUSE_CA);
	int r = -EINVAL;
	if (scheme >= 0)
		r = url_split(url, scheme, to);
	if (r < 0)
		return err_set(e, -EINVAL,
			"the database is not a URL such as clickhouse://USER@HOST:8123/DATABASE "
			"(TLS: clickhouses://); the password belongs into %s or into a file that "
			"%s "
			"names",
			CLICKHOUSE_PASSWORD, CLICKHOUSE_PASSWORD_FILE);
	r = password_read(to, e);
	if (r < 0)
		return r;
	if (ca && *ca)
		to->ca = rw_strdup(ca);
	to->client = (struct ch_client){.url = to->url,
		.database = to->database,
		.username = to->username,
		.password = to->password,
		.tls = {.ca = to->ca},
		.timeout_ns = CH_TIMEOUT_NS,
		.stop_fd = -1};
	return 0;
}

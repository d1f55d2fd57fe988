/* schema_check - checks of texts that a type and a range cannot express: names, addresses, URLs. */
#include "config/schema.h"

#include <arpa/inet.h>
#include <strings.h>

#include "config/address.h"
#include "config/class_policy.h"
#include "config/push_objects.h"

#define UNIX_PATH_MAX 107 /* sun_path of unix(7), with its NUL */

int schema_check_name(const char *name, struct err *e)
{
	static const char expected[] = "expected a name of letters, digits and . _ - (at most 63)";
	size_t n =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
	if (n == 0 || name[n] || n > 63)
		return err_set(e, -EINVAL, "'%.64s'; %s", name, expected);
	return 0;
}

/* The keys of `policy:` that have a default. */
int schema_check_policy_key(const char *text, struct err *e)
{
	if (strcmp(text, "congestion") == 0 || strcmp(text, "load_balancing") == 0)
		return 0;
	return err_set(e, -EINVAL, "'%.64s'; expected congestion or load_balancing", text);
}

int schema_check_dscp(const char *text, struct err *e)
{
	uint8_t map[CLASS_DSCPS];
	return class_map_read(text, CLASS_DSCPS, map, e);
}

int schema_check_groups(const char *text, struct err *e)
{
	uint8_t map[FABRIC_CLASSES];
	return class_map_read(text, FABRIC_CLASSES, map, e);
}

int schema_check_priorities(const char *text, struct err *e)
{
	uint8_t mask;
	return class_priorities_read(text, &mask, e);
}

int schema_check_device_name(const char *name, struct err *e)
{
	if (strcmp(name, "host") == 0)
		return err_set(e, -EINVAL,
			"'host'; expected another name, since 'host:NAME' in links means a server");
	return schema_check_name(name, e);
}

/* Names that come from elsewhere (ports, hosts, globs): any printable text. */
int schema_check_text(const char *text, struct err *e)
{
	if (!*text)
		return err_set(e, -EINVAL, "an empty text; expected a name");
	if (strlen(text) > 255)
		return err_set(e, -EINVAL, "'%.32s...'; expected at most 255 characters", text);
	if (!text_is_clean(text))
		return err_set(e, -EINVAL,
			"a text with a control character or an override of text direction; "
			"expected one line of plain text");
	return 0;
}

int schema_check_hosts(const char *text, struct err *e)
{
	if (!*text)
		return err_set(e, -EINVAL, "an empty text; expected names of hosts");
	if (!text_is_clean(text))
		return err_set(e, -EINVAL,
			"a text with a control character or an override of text direction; "
			"expected one line of plain text");
	for (const char *at = text; *at;) {
		const size_t n = strcspn(at, ",");
		if (n == 0 || n > 255)
			return err_set(e, -EINVAL,
				"a list with a name of %zu characters at character %zu; expected "
				"names of 1 to 255 characters with a comma between two of them",
				n, (size_t)(at - text) + 1);
		at += n + (at[n] == ',');
		if (!*at && at[-1] == ',')
			return err_set(e, -EINVAL,
				"a list that ends with a comma; remove it, or add a name");
	}
	return 0;
}

int schema_check_address(const char *text, struct err *e)
{
	int r = schema_check_text(text, e);
	const char *host;
	uint16_t port;
	if (r < 0)
		return r;
	return address_split(NULL, text, 1, &host, &port, e);
}

static int schema_check_listen(const char *text, struct err *e)
{
	const char *host;
	uint16_t port = 0;
	int r = schema_check_text(text, e);
	if (r == 0)
		r = address_split(NULL, text, 0, &host, &port, e);
	if (r == 0 && port == 0)
		r = err_set(e, -EINVAL, "'%.64s'; expected ADDRESS:PORT such as \"127.0.0.1:9421\"",
			text);
	return r;
}

/* The host part of "HOST:PORT" or "[IPv6]:PORT" as an address; false when it is a name. */
static bool listen_address(const char *text, unsigned char raw[16])
{
	char host[64];
	size_t n = strcspn(text, ":");
	if (*text == '[') {
		text++;
		n = strcspn(text, "]");
	}
	if (n >= sizeof(host))
		return false;
	snprintf(host, sizeof(host), "%.*s", (int)n, text);
	return inet_pton(AF_INET, host, raw) == 1 || inet_pton(AF_INET6, host, raw) == 1;
}

/* Traps are received on an address that somebody chose, never on all of them. */
int schema_check_trap_listen(const char *text, struct err *e)
{
	static const char expected[] = "expected an address of this machine and a port, such as "
				       "\"127.0.0.1:1162\" or \"[2001:db8::5]:162\"";
	unsigned char raw[16] = {0}, any[16] = {0};
	const int rc = schema_check_listen(text, e);
	if (rc < 0)
		return rc;
	if (!listen_address(text, raw))
		return err_set(e, -EINVAL, "'%.64s'; %s", text, expected);
	if (memcmp(raw, any, sizeof(raw)) == 0)
		return err_set(e, -EINVAL, "'%.64s', which is every address of this machine; %s",
			text, expected);
	return 0;
}

int schema_check_http_listen(const char *text, struct err *e)
{
	unsigned char raw[16];
	const int rc = schema_check_listen(text, e);
	if (rc < 0)
		return rc;
	if (strncmp(text, "localhost:", 10) == 0 || listen_address(text, raw))
		return 0;
	return err_set(e, -EINVAL,
		"'%.64s'; expected an address of this machine and a port, such as "
		"\"127.0.0.1:9421\" or \"[2001:db8::5]:9421\"",
		text);
}

int schema_check_sflow_port(const char *text, struct err *e)
{
	int64_t ifindex;
	char number[16];
	const int rc = schema_check_text(text, e);
	const char *equals = strchr(text, '=');
	if (rc < 0)
		return rc;
	if (!equals || !equals[1] || (size_t)(equals - text) >= sizeof(number))
		return err_set(
			e, -EINVAL, "'%.64s'; expected IFINDEX=PORT such as \"7=Ethernet4\"", text);
	snprintf(number, sizeof(number), "%.*s", (int)(equals - text), text);
	if (unit_int(number, &ifindex, NULL) < 0 || ifindex < 1 || ifindex > UINT32_MAX)
		return err_set(
			e, -EINVAL, "'%.64s'; expected an ifIndex from 1 to 4294967295", text);
	return 0;
}

int schema_check_port_pair(const char *text, struct err *e)
{
	const int rc = schema_check_text(text, e);
	const char *equals = strchr(text, '=');
	if (rc < 0)
		return rc;
	if (!equals || equals == text || !equals[1])
		return err_set(e, -EINVAL,
			"'%.64s'; expected NAME=NIC such as \"ens1f0np0=mlx5_0\"", text);
	return 0;
}

int schema_check_objects(const char *text, struct err *e)
{
	return push_objects_add(NULL, text, e);
}

int schema_check_network(const char *text, struct err *e)
{
	struct network network;
	if (network_parse(text, &network) == 0)
		return 0;
	return err_set(e, -EINVAL,
		"'%.64s'; expected a network such as 10.0.0.0/8 or 2001:db8::/32, or one address",
		text);
}

int schema_check_ip(const char *text, struct err *e)
{
	unsigned char raw[16];
	if (inet_pton(AF_INET, text, raw) == 1 || inet_pton(AF_INET6, text, raw) == 1)
		return 0;
	return err_set(
		e, -EINVAL, "'%.64s'; expected an IPv4 or IPv6 address of this machine", text);
}

/* "scheme://user:password@host" would put a secret into files, listings and the database. The text
 * is not repeated. */
int schema_check_no_login(const char *text, struct err *e)
{
	int r = schema_check_text(text, e);
	const char *authority = strstr(text, "://");
	if (r == 0 && authority && authority[3 + strcspn(authority + 3, "/?#@")] == '@')
		r = err_set(e, -EINVAL,
			"a URL with a log-in ('...@'); expected one without, since a secret is "
			"never written into the configuration");
	return r;
}

/* "clickhouse://USER@HOST" is right, with a password in it it is not; or files with commas between
 * them. The text is not repeated. */
int schema_check_source(const char *text, struct err *e)
{
	int r = schema_check_text(text, e);
	const char *authority = strstr(text, "://");
	if (r < 0 || !authority)
		return r;
	const char *end = authority + 3 + strcspn(authority + 3, ":/?#@");
	const char *login = authority + 3 + strcspn(authority + 3, "/?#@");
	if (*end == ':' && *login == '@')
		r = err_set(e, -EINVAL,
			"a URL with a password; expected clickhouse://USER@HOST:PORT/DATABASE, and "
			"the password in the environment (ROCEWATCH_CLICKHOUSE_PASSWORD_FILE), "
			"since a secret is never written into the configuration");
	return r;
}

/* Words by which programs of the web call a secret in the query of a URL. */
static const char *const query_secrets[] = {"token", "access_token", "auth_token", "key", "api_key",
	"apikey", "secret", "password", "passwd", "sig", "signature", "auth"};

/* The same for "https://host/path?token=...". */
static int check_no_secret_query(const char *text, struct err *e)
{
	const char *at = text + strcspn(text, "?");
	while (*at && *at != '#') {
		const char *name = at + 1;
		const size_t n = strcspn(name, "=&#");
		for (size_t i = 0; i < rw_countof(query_secrets); i++)
			if (n == strlen(query_secrets[i]) &&
				strncasecmp(name, query_secrets[i], n) == 0)
				return err_set(e, -EINVAL,
					"a URL with a secret ('?%s=...'); a secret is never "
					"written into the configuration: put the whole URL into a "
					"file of mode 0600 and use url_file where that key exists, "
					"else a header",
					query_secrets[i]);
		at = name + strcspn(name, "&#");
	}
	return 0;
}

int schema_check_url(const char *text, struct err *e)
{
	int rc = schema_check_no_login(text, e);
	if (rc == 0)
		rc = check_no_secret_query(text, e);
	if (rc < 0)
		return rc;
	const bool http = strncmp(text, "http://", 7) == 0 && text[7];
	const bool https = strncmp(text, "https://", 8) == 0 && text[8];
	if (!http && !https)
		return err_set(e, -EINVAL,
			"'%.64s'; expected a URL such as \"http://127.0.0.1:9093\"", text);
	return 0;
}

int schema_check_runbook_url(const char *text, struct err *e)
{
	const int rc = schema_check_url(text, e);
	if (rc < 0)
		return rc;
	if (!strstr(text, "{cause}"))
		return err_set(e, -EINVAL,
			"'%.64s' has no {cause}; expected a URL such as "
			"\"https://wiki.example.org/{cause}\"",
			text);
	return 0;
}

int schema_check_smtp_url(const char *text, struct err *e)
{
	const int rc = schema_check_no_login(text, e);
	if (rc < 0)
		return rc;
	const bool plain = strncmp(text, "smtp://", 7) == 0 && text[7];
	const bool tls = strncmp(text, "smtps://", 8) == 0 && text[8];
	if (!plain && !tls)
		return err_set(e, -EINVAL,
			"'%.64s'; expected a mail server such as \"smtp://127.0.0.1:25\"", text);
	return 0;
}

/* udp://HOST[:PORT], tcp://HOST[:PORT] or unix:PATH. */
int schema_check_syslog(const char *text, struct err *e)
{
	static const char expected[] = "expected \"udp://HOST:514\", \"tcp://HOST:601\" or "
				       "\"unix:/dev/log\"";
	const int rc = schema_check_text(text, e);
	if (rc < 0)
		return rc;
	const bool net = strncmp(text, "udp://", 6) == 0 || strncmp(text, "tcp://", 6) == 0;
	if (net && text[6])
		return schema_check_address(text + 6, e);
	if (strncmp(text, "unix:/", 6) == 0 && strlen(text + 5) <= UNIX_PATH_MAX)
		return 0;
	return err_set(e, -EINVAL, "'%.64s'; %s", text, expected);
}

/* Only what keeps a header whole: the mail server judges the rest. */
int schema_check_mail_address(const char *text, struct err *e)
{
	const int rc = schema_check_text(text, e);
	if (rc < 0)
		return rc;
	const char *at = strchr(text, '@');
	if (!at || at == text || !at[1] || strpbrk(text, " <>,;\""))
		return err_set(
			e, -EINVAL, "'%.64s'; expected an address such as noc@example.org", text);
	return 0;
}

int schema_check_interface(const char *text, struct err *e)
{
	int r = schema_check_text(text, e);
	if (r == 0 && (strlen(text) > 15 || strpbrk(text, "/ :")))
		r = err_set(e, -EINVAL,
			"'%.64s'; expected the name of a network interface (at most 15 "
			"characters)",
			text);
	return r;
}

int schema_check_endpoint(const char *text, struct err *e)
{
	const char *device, *port;
	int r = schema_check_text(text, e);
	if (r == 0 && !endpoint_split(NULL, text, &device, &port))
		r = err_set(e, -EINVAL,
			"'%.64s'; expected \"DEVICE:PORT\", \"host:NAME[:NIC]\" or "
			"\"switch:NAME[:PORT]\"",
			text);
	return r;
}

int schema_check_priority(const char *text, struct err *e)
{
	if (text[0] < '0' || text[0] > '7' || text[1])
		return err_set(e, -EINVAL, "'%.64s'; expected a priority from 0 to 7", text);
	return 0;
}

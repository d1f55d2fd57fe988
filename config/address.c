/* address - splits "HOST:PORT" and "DEVICE:PORT". */
#include "config/address.h"

#include <errno.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/err.h"
#include "agent/base/str.h"

/* The end of the host in @text, which begins at *@host; *@ret_port is the port's text, or NULL.
 * NULL when the brackets are wrong. */
static const char *address_host_end(const char **host, const char **ret_port)
{
	const char *text = *host;
	*ret_port = NULL;
	if (*text == '[') {
		*host = text + 1;
		const char *end = strchr(*host, ']');
		if (!end || (end[1] && end[1] != ':'))
			return NULL;
		if (end[1])
			*ret_port = end + 2;
		return end;
	}
	const char *colon = strchr(text, ':');
	/* Two colons without brackets: an IPv6 address without a port. */
	if (!colon || strchr(colon + 1, ':'))
		return text + strlen(text);
	*ret_port = colon + 1;
	return colon;
}

int address_split(struct arena *a, const char *text, uint16_t default_port, const char **ret_host,
	uint16_t *ret_port, struct err *e)
{
	static const char expected[] = "expected \"HOST\", \"HOST:PORT\" or \"[IPv6]:PORT\"";
	const char *host = text, *port;
	const char *end = address_host_end(&host, &port);
	size_t length = 0;
	if (end)
		length = (size_t)(end - host);
	if (length == 0 || length > ADDRESS_HOST_MAX || strcspn(host, " \t/@\"'") < length)
		return err_set(e, -EINVAL, "'%.64s'; %s", text, expected);
	int64_t number = default_port;
	if (port && (unit_int(port, &number, NULL) < 0 || number < 1 || number > UINT16_MAX))
		return err_set(e, -EINVAL, "'%.64s'; expected a port from 1 to 65535", text);
	*ret_port = (uint16_t)number;
	*ret_host = NULL;
	if (a)
		*ret_host = arena_strndup(a, host, length);
	return 0;
}

bool endpoint_split(
	struct arena *a, const char *text, const char **ret_device, const char **ret_port)
{
	/* At the first ':': device names have none, but ports do ("et-0/0/0:1"). */
	const char *colon = strchr(text, ':');
	if (!colon || colon == text || !colon[1])
		return false;
	if (strncmp(text, "host:", 5) == 0 && colon[1] == ':')
		return false;
	if (a) {
		*ret_device = arena_strndup(a, text, (size_t)(colon - text));
		*ret_port = arena_strdup(a, colon + 1);
	}
	return true;
}

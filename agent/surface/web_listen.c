/* web_listen - the listening socket of the web server. */
#include "agent/surface/web_listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/err.h"

enum { BACKLOG = 1024 };

static int listen_on(const struct addrinfo *where)
{
	const int on = 1;
	const int fd = socket(where->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (where->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, where->ai_addr, where->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	const int rc = -errno;
	close(fd);
	return rc;
}

int web_listen(const char *address, uint16_t port, struct err *e)
{
	char service[8];
	struct addrinfo *found = NULL;
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
		.ai_socktype = SOCK_STREAM};
	const char *numeric = address;
	if (strcmp(address, "localhost") == 0)
		numeric = "127.0.0.1";
	snprintf(service, sizeof(service), "%u", (unsigned)port);
	if (getaddrinfo(numeric, service, &hints, &found) != 0)
		return err_set(e, -EINVAL,
			"'%.64s' is no address to listen on; expected one of this machine, such as "
			"127.0.0.1:9421",
			address);
	const int fd = listen_on(found);
	freeaddrinfo(found);
	if (fd < 0)
		return err_set(e, fd, "cannot listen on %s port %u: %s", address, (unsigned)port,
			strerror(-fd));
	return fd;
}

static int listen_names(int fd, char *host, socklen_t n_host, char *port, socklen_t n_port)
{
	struct sockaddr_storage own;
	socklen_t n = sizeof(own);
	if (getsockname(fd, (struct sockaddr *)&own, &n) < 0)
		return -errno;
	if (getnameinfo((struct sockaddr *)&own, n, host, n_host, port, n_port,
		    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return -EINVAL;
	return 0;
}

char *web_listen_url(int fd, const char *scheme, char *buf, size_t size)
{
	char host[64] = "?", port[8] = "0";
	listen_names(fd, host, sizeof(host), port, sizeof(port));
	if (strchr(host, ':'))
		snprintf(buf, size, "%s://[%s]:%s", scheme, host, port);
	else
		snprintf(buf, size, "%s://%s:%s", scheme, host, port);
	return buf;
}

uint16_t web_listen_port(int fd)
{
	char host[64], port[8] = "0";
	unsigned number = 0;
	if (listen_names(fd, host, sizeof(host), port, sizeof(port)) == 0 &&
		sscanf(port, "%5u", &number) == 1)
		return (uint16_t)number;
	return 0;
}

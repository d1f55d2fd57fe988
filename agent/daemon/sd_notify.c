/* notify - see sd_notify(3): AF_UNIX datagram; a leading '@' means the abstract namespace. */
#include "agent/daemon/sd_notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"

void notify_take(struct notify *notify)
{
	const char *path = getenv("NOTIFY_SOCKET"), *watchdog = getenv("WATCHDOG_USEC"),
		   *pid = getenv("WATCHDOG_PID");
	int64_t usec;
	memset(notify, 0, sizeof(*notify));
	if (path && (path[0] == '/' || path[0] == '@') && path[1] &&
		strlen(path) < sizeof(notify->path))
		strcpy(notify->path, path);
	bool for_us = !pid || atol(pid) == (long)getpid();
	if (*notify->path && watchdog && for_us && unit_int(watchdog, &usec, NULL) == 0 &&
		usec > 0 && usec < INT64_MAX / NS_PER_US)
		/* twice as often as asked for, as the manual advises */
		notify->watchdog_ns = usec * NS_PER_US / 2;
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

void notify_send(const struct notify *notify, const char *text)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	if (!*notify->path)
		return;
	size_t length = strlen(notify->path);
	memcpy(to.sun_path, notify->path, length);
	if (to.sun_path[0] == '@')
		to.sun_path[0] = '\0';
	rw_cleanup(closep) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)!sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&to,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
}

/* sd_notify - sends systemd's notifications: an AF_UNIX datagram, sd_notify(3). A leading '@' means
 * the abstract namespace. */
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

/* Half of what systemd asks for, as sd_watchdog_enabled(3) advises; 0 = it asks nothing of us. */
static int64_t watchdog_interval(void)
{
	const char *watchdog = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	int64_t usec;
	if (!watchdog || (pid && atol(pid) != (long)getpid()))
		return 0;
	if (unit_int(watchdog, &usec, NULL) != 0 || usec <= 0 || usec >= INT64_MAX / NS_PER_US)
		return 0;
	return usec * NS_PER_US / 2;
}

void notify_take(struct notify *notify)
{
	const char *path = str_or(getenv("NOTIFY_SOCKET"), "");
	memset(notify, 0, sizeof(*notify));
	if ((path[0] == '/' || path[0] == '@') && path[1] && strlen(path) < sizeof(notify->path))
		strcpy(notify->path, path);
	if (*notify->path)
		notify->watchdog_ns = watchdog_interval();
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

/* sd_notify - systemd's service notifications (sd_notify(3)) without its library: one datagram to
 * $NOTIFY_SOCKET. Loop thread. */
#ifndef RW_AGENT_NOTIFY_H
#define RW_AGENT_NOTIFY_H

#include <stdint.h>

/* notify_take - remember $NOTIFY_SOCKET and the watchdog's variables, and remove them from the
 * environment. */
struct notify {
	char path[108]; /* "" = nobody listens */
	int64_t watchdog_ns; /* how often to say that we live; 0 = not wanted */
};
void notify_take(struct notify *notify);
/* notify_send - @text is lines such as "READY=1". A failure is not reported: systemd notices the
 * silence itself. */
void notify_send(const struct notify *notify, const char *text);

#endif

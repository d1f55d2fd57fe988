/* web_listen - the listening socket of the web server. */
#ifndef RW_SURFACE_WEB_LISTEN_H
#define RW_SURFACE_WEB_LISTEN_H

#include <stddef.h>
#include <stdint.h>

struct err;

/* web_listen - a TCP socket that listens on @address (an IP address or "localhost") and @port; 0 is
 * any free one. Returns the descriptor, or a negative errno with @e. */
int web_listen(const char *address, uint16_t port, struct err *e);

/* web_listen_url - "http://127.0.0.1:9421" of the socket; @buf of at least 80 bytes. */
char *web_listen_url(int fd, const char *scheme, char *buf, size_t size);

/* web_listen_port - the port of the socket; 0 on failure. */
uint16_t web_listen_port(int fd);

#endif

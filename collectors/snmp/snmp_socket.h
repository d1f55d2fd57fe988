/*
 * snmp_socket - a connected UDP socket to one agent: a connected one hears "port unreachable".
 * Bound to a source address and made in a network namespace where asked; names are resolved on a
 * pool thread. The socket outlives its connections: another namespace cannot be entered again once
 * rights were given up. Loop thread only.
 */
#ifndef RW_COLLECTORS_SNMP_SOCKET_H
#define RW_COLLECTORS_SNMP_SOCKET_H

#include <stdint.h>

struct err;
struct loop;
struct snmp_socket;

/* @ready reports how a connect that returned -EINPROGRESS ended: 0, or negative errno with a
 * sentence. */
typedef void snmp_socket_ready_fn(void *arg, int rc, const char *why);

struct snmp_socket_options { /* strings are copied */
	const char *host;
	uint16_t port;
	const char *source; /* numeric address of this machine; NULL = any */
	const char *netns; /* name under /run/netns, or a path; NULL = ours */
};
/* 0, or negative errno with @e (bad source address, no such namespace, no right to enter it). */
int snmp_socket_new(struct loop *loop, const struct snmp_socket_options *options,
	snmp_socket_ready_fn *ready, void *arg, struct snmp_socket **ret, struct err *e);
void snmp_socket_free(struct snmp_socket *socket); /* NULL is fine */
/* snmp_socket_connect - (again) to the address the host has now. 0, -EINPROGRESS (@ready follows),
 * or negative errno with @e. */
int snmp_socket_connect(struct snmp_socket *socket, struct err *e);
int snmp_socket_fd(const struct snmp_socket *socket); /* -1 = not connected */
/* "192.0.2.1:161"; the host before it is known */
const char *snmp_socket_peer(const struct snmp_socket *socket);

#endif

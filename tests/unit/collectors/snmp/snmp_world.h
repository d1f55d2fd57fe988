/*
 * snmp_world - what the SNMP tests share: a real snmpd on a loopback port with its own
 * configuration, run as the current user; a sink that keeps what it is told; waiting for conditions
 * on the loop.
 */
#ifndef RW_TESTS_SNMP_WORLD_H
#define RW_TESTS_SNMP_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "base/loop.h"
#include "collectors/snmp/snmp.h"
#include "db/model/metric.h"

#define WORLD_TARGETS 8

struct world_agent { /* one snmpd */
	char dir[64];
	char address[80]; /* "udp:127.0.0.1:1234" */
	uint16_t port;
	int pid;
};
/* @address: "udp:127.0.0.1" or "udp6:[::1]"; @config: further lines of snmpd.conf. Waits until the
 * port is taken. */
void agent_start(struct world_agent *a, const char *address, uint16_t port, const char *config);
void agent_stop(struct world_agent *a); /* kill and wait; the folder goes */
uint16_t free_port(int family);

struct world_told {
	char device[32], profile[32], descr[256];
	uint32_t up, backoff; /* how often it came there */
	enum target_state state;
	char reason[200];
	uint64_t polls;
};

struct world {
	struct loop *loop;
	struct entities *entities;
	struct config config;
	struct config_credential credential;
	struct config_snmp_credential snmp_credential;
	char secret_path[64];
	struct config_device devices[WORLD_TARGETS];
	struct config_snmp snmp[WORLD_TARGETS];
	struct snmp_target *targets[WORLD_TARGETS];
	struct world_told told[WORLD_TARGETS];
	size_t n;
	struct sample *samples;
	size_t n_samples, cap_samples;
	size_t n_ports, n_events;
};
void world_new(struct world *w, const char *community);
void world_free(struct world *w);
/* A target "sw<n>"; tune world.snmp[n] and world.devices[n] between add and start. Returns n. */
size_t world_add(struct world *w, const char *address, uint16_t port);
void world_start(struct world *w, size_t i);
/* Run the loop until @done(w) or the deadline; fails the test with @what when it passes. */
void world_wait(struct world *w, bool (*done)(struct world *w), int seconds, const char *what);
/* newest sample of (device, port, metric), NULL = none */
const struct sample *world_sample(
	const struct world *w, const char *device, const char *port, int priority, unsigned metric);

#endif

/*
 * live - a scenario served in real time: one snmpd or gNMI server per switch on an address of
 * 127/8, with the tables of its vendor, and the files an agent needs. Its directory belongs to it
 * alone while it runs.
 */
#ifndef FABRIC_LIVE_H
#define FABRIC_LIVE_H

#include "tests/fabric/live_tables.h"
#include "tests/fabric/scenario.h"

struct err;

struct live_options {
	const char *dir; /* NULL: live_default_dir() */
	double interval_ns; /* between polls, as the configuration says */
	/* when the fault begins; how long to serve, 0: until told to stop */
	double at_ns, length_ns;
	const struct live_face *face;
	bool tls; /* of gNMI */
	bool push, scrape; /* NICs of hosts push their counters over OpenTelemetry, or show them as
			      text */
};

/* live_default_dir - of this user: /tmp/rocewatch-lab-UID. */
const char *live_default_dir(char *buf, size_t size);

/* live_run - serves until SIGINT, SIGTERM or the end. Whatever it started is gone when it returns,
 * or dies. 0, or -errno with words. */
int live_run(const struct scenario *s, const struct live_options *o, struct err *e);

/*
 * live_ask - one request to the lab that runs in @dir; its answer goes to stdout. 0; 1: failed, 2:
 * a wrong key or value, with words on stderr; -errno: nobody answers there. Requests: "set
 * KEY=VALUE", "show", "counters".
 */
int live_ask(const char *dir, const char *request, struct err *e);

#endif

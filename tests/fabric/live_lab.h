/* live_lab - what the files of a live lab share: the simulation, its clock, and the switches.
 * Nothing else includes it. */
#ifndef FABRIC_LIVE_LAB_H
#define FABRIC_LIVE_LAB_H

#include <limits.h>
#include <pthread.h>
#include <sys/types.h>

#include "tests/fabric/live.h"
#include "tests/fabric/live_gnmi.h"
#include "tests/fabric/recorder.h"

/* One switch: its answers, and its snmpd with our session, or its gNMI server. */
struct live_node {
	struct lab *lab;
	unsigned plane;
	size_t device; /* in the simulation: leaves, then spines */
	struct live_switch tables;
	struct agentx x;
	pid_t pid; /* 0: not started */
	struct gnmi_server *server; /* NULL: likewise */
	struct gnmi_server_options gnmi_options;
	bool silent, to_be_silent; /* by the scenario */
	double fresh_ns; /* when its values were taken from the simulation */
	char address[32];
};

/* The same fabric with other settings, simulated beside the loop. */
struct retune {
	pthread_t thread;
	bool running;
	struct scenario *s;
	struct coarse *c;
	struct err *e;
	int rc;
	int client; /* who waits for the answer */
	char what[256];
};

struct lab_tls {
	char *cert, *key;
}; /* PEM; NULL: none */

/*
 * The loop's thread owns all of this. gNMI servers have threads of their own, which read the
 * simulation and move it on: whoever does holds
 * @busy, and the loop lets go of it while it waits, and while it starts or stops a server.
 */
struct lab {
	const struct live_options *o;
	pthread_mutex_t busy;
	struct lab_tls tls;
	char secret[40]; /* SNMP's community, gNMI's password */
	char dir[PATH_MAX];
	struct scenario *s; /* as it is now */
	double told_for_ns, told_every_ns; /* of the fault, as the scenario has them */
	struct recorder r;
	struct record_options recorded;
	struct live_node *nodes;
	size_t n_nodes;
	/* of the monotonic clock; model time it stands still at, < 0: it goes on */
	double start_ns, held_ns;
	bool was_on, told_end;
	int lock, listen, done_fd; /* done_fd: the simulation beside the loop has ended */
	struct retune retune;
	struct live_push *push; /* NULL: nothing is pushed */
};

double lab_now(const struct lab *l); /* model time, ns */

/* ---- live_node.c --------------------------------------------------------- */
/* names, ports, neighbours, addresses; first values */
int live_nodes_new(struct lab *l, struct err *e);
void live_nodes_free(struct lab *l);
int live_node_start(struct live_node *n, struct err *e); /* snmpd, without waiting for it */
int live_node_connect(struct live_node *n, struct err *e); /* waits until it is there */
void live_node_stop(struct live_node *n);
/* values older than @age_ns are taken anew */
void live_node_refresh(struct live_node *n, double age_ns);

/* ---- live_gnmi_node.c ---------------------------------------------------- */
int live_gnmi_start(struct live_node *n, struct err *e);
void live_gnmi_stop(struct live_node *n);

/* ---- live_tls.c ---------------------------------------------------------- */
int live_tls_new(struct lab *l, struct err *e);
void live_tls_done(struct lab *l);

/* ---- live_push.c ---------------------------------------------------------- */
/* What the NICs of all hosts count, to the agent's receiver over OTLP/HTTP, as the DOCA Telemetry
 * Service names it; nobody there: the next time. */
struct live_push *live_push_new(const struct lab *l);
void live_push_free(struct live_push *push);
void live_push_tick(struct lab *l); /* holds @busy while it reads the simulation */
void live_push_config(const struct lab *l, FILE *f); /* "push:" or "scrape:" of it */

/* ---- live_files.c -------------------------------------------------------- */
int live_dir_take(struct lab *l, struct err *e); /* make it, lock it, go there */
int live_files_write(struct lab *l, struct err *e); /* and makes the secret */
int live_truth_write(const struct lab *l, struct err *e);
int live_conf_write(const struct live_node *n, struct err *e);

/* ---- live_control.c ------------------------------------------------------ */
int live_control_open(struct lab *l, struct err *e);
void live_control_accept(struct lab *l);
void live_control_retuned(struct lab *l); /* done_fd is readable */
void live_control_close(struct lab *l);

#define LAB_MARK "# Written by rocewatch lab run"
#define LAB_PORT 1161
#define LAB_USER "lab"

#endif

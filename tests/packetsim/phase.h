/* phase - some exchanges of a workload, simulated, as sums and peaks per step. */
#ifndef PACKETSIM_PHASE_H
#define PACKETSIM_PHASE_H

#include "tests/packetsim/net.h"
#include "tests/packetsim/options.h"

struct step_port {
	uint64_t count[COUNTS];
	uint64_t peak[PEAKS];
};

struct phase {
	size_t n_steps, n_ports, n_nodes; /* ports: of switches only, from net->n_hosts on */
	int64_t *duration; /* of each step's exchange */
	struct step_port *ports; /* [step * n_ports + port] */
	uint64_t *shared_peak; /* [step * n_nodes + node] */
	bool finished; /* false: the limit of time came first */
	uint64_t drops, bytes;
	double *victims; /* completion times of flows that are not of the incast, us, sorted */
	size_t n_victims;
	double *incast; /* and of those that are */
	size_t n_incast;
	struct net *net; /* as it stands at the end: for settings and names */
};

struct fault_place { /* numbers from 0; -1: none */
	int leaf, spine, host;
};

/* What is wrong, and where; the row of a kind of fault. */
struct fault {
	const char *name, *cause, *accept, *subject, *help;
	void (*put)(struct net *net, const struct options *options, struct fault_place place);
	const char *also; /* name of a second fault that is there as well; NULL: none */
	bool beside; /* at the host beside the one that was drawn */
};

struct phase *phase_run(const struct options *options, const struct fault *fault);
void phase_free(struct phase *phase);
double phase_quantile(const double *sorted, size_t n, double q);

const struct fault *fault_find(const char *name);
void fault_help(FILE *out);
struct fault_place fault_where(const struct net *net, const struct options *options);
/* fault_beside - the same, at the next host of that leaf. */
struct fault_place fault_beside(const struct net *net, struct fault_place place);

/* The flows of one step; false: no such workload. */
bool workload_add(struct net *net, const struct options *options, uint64_t *random);
/* Is @host one of the two that only store, where the workload has such? */
bool workload_stores(const struct net *net, unsigned host);

/* Thresholds of all ports by the options, then those of single places. */
void settings_put(struct net *net, const struct options *options);

#endif

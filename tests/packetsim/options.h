/* options - what a run simulates: the command line as one structure. */
#ifndef PACKETSIM_OPTIONS_H
#define PACKETSIM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct setting { /* "leaf1/hosts:kmin=800KB", as of the tuning loop */
	char place[32], knob[16];
	double value;
};

enum { MOST_SETTINGS = 512 };

struct options {
	const char *out, *workload, *fault, *cause, *accept, *name, *ports;
	double seed, leaves, spines, hosts_per_leaf, host_gbps, uplink_gbps, host_prop_us,
		uplink_prop_us;
	/* of every second host, of every third cable: 0 as the others */
	double second_gbps, third_prop_us;
	double alpha, kmin, kmax, by_speed, pmax, headroom_factor, headroom, xon_offset, buffer,
		reserve;
	double steps, gap_us, senders, incast_kb, peers, shuffle_kb, qps, flow_kb, store_kb, fresh,
		root, crc;
	double cc_off, rp_timer_us, ai_mbps, hai_mbps, weight, cnp_us, cut_us, average_us, min_mbps;
	/* of the NICs of every second host; 0: as the others */
	double second_timer_us, second_ai_mbps;
	double drain, loss, interval_s, length_s, onset_s, limit_ms;
	struct setting settings[MOST_SETTINGS];
	unsigned n_settings;
};

struct options options_default(void);
/* 0, or -1 with a message on stderr. */
int options_read(struct options *options, int argc, char **argv);
void options_help(FILE *out);

#endif

/*
 * sizing - what a fabric takes: samples, CPU, memory, disk and traffic, from the size of the fabric
 * and the interval. Pure arithmetic on constants that were measured; docs/performance.md has the
 * runs and the commands, docs/sizing.md the formulas in words.
 */
#pragma once

/* Of a port of a SONiC switch over SNMP: 13 counters of the port, 8 priorities with 2 of PFC and 3
 * of queues. */
#define SIZING_SAMPLES_PER_PORT 53
/* The same port on the wire: 8 statistics of each queue are folded into 3. */
#define SIZING_VALUES_PER_PORT 93
/* bench_snmp.sh, 512 switches, from the wire to the committed row. */
#define SIZING_CPU_S_PER_VALUE 0.49e-6
/* bench_analyze and bench_live, 512 switches of 64 ports: 0.6 s for a window. */
#define SIZING_CPU_S_PER_PORT_WINDOW (0.6 / 32768)
/* What judging and memory were measured at. Nothing is said of shorter intervals. */
#define SIZING_MEASURED_INTERVAL_S 10
/* Agents of 8 and 40 switches of 64 ports after 16 min, and bench_live. */
#define SIZING_MEMORY_BYTES 40e6
#define SIZING_MEMORY_BYTES_PER_PORT 45e3
/* bench_store_peers.sh, honest mix: sealed values; a quarter more in the file (pages, names). */
#define SIZING_DISK_BYTES_PER_SAMPLE (0.72 * 1.25)
/* The same run: minutes and hours took 1.2 bytes for each of the six samples of a minute. */
#define SIZING_DISK_BYTES_PER_MINUTE (1.2 * 6)
/* Both directions, with UDP and IP headers: 25.2 KB for a poll of 472 values, 8 simulated switches
 * of 16 ports. */
#define SIZING_TRAFFIC_BYTES_PER_VALUE 53

struct sizing {
	double samples_per_s;
	double values_per_s; /* on the wire */
	double polling_cores; /* 1 = one core of the machine it was measured on, all the time */
	double judging_cores; /* NAN below SIZING_MEASURED_INTERVAL_S */
	double memory_bytes; /* NAN below SIZING_MEASURED_INTERVAL_S */
	double disk_values_bytes_per_day; /* single values */
	double disk_rollups_bytes_per_day; /* minutes and hours */
	double traffic_per_switch_bps; /* requests and answers together */
};

/* sizing_of - 0, or -EINVAL when one of them is not above 0. */
int sizing_of(double switches, double ports, double interval_s, struct sizing *ret);

/* ecmp - what one ECMP group did in one window. Measured by analyzers/measure/ecmp_measure.c, read
 * by detectors and reports. */
#ifndef RW_DB_ECMP_H
#define RW_DB_ECMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "db/model/finding.h"

enum ecmp_verdict {
	ECMP_IDLE,
	ECMP_UNKNOWN,
	ECMP_CHOSEN, /* senders write the path into each packet: nothing here to judge */
	ECMP_EVEN,
	ECMP_WITHIN_CHANCE,
	ECMP_UNLUCKY,
	ECMP_LOW_ENTROPY,
	ECMP_SKEWED
};
/* "idle" "unknown" "source routed" "even" "within chance" "unlucky placement" "low entropy"
 * "skewed" */
const char *ecmp_verdict_name(enum ecmp_verdict verdict);

/* absent: no usable sample in the window */
enum ecmp_link { ECMP_LINK_UP, ECMP_LINK_DOWN, ECMP_LINK_ABSENT };

struct ecmp_member {
	/* borrowed from the fabric; peer is the neighbouring device or host, "" unknown */
	const char *port, *peer;
	uint64_t octets; /* sent in the window */
	/* 0 unknown; the smaller of declared and read where both are known */
	uint64_t speed_bps;
	double utilization_ratio; /* NAN unknown */
	enum quality quality;
	uint64_t declared_bps, read_bps; /* 0 unknown */
	double rate_bps; /* over the time the samples cover; NAN unknown */
	/* load over the mean of the group, weighed by capacity: 1 = its fair share; NAN not judged
	 */
	double share_ratio;
	double coverage_ratio;
	/* highest 1 ms rate of its packets over its capacity; NAN without an unsampled capture */
	double burst_ratio;
	uint64_t discards; /* frames dropped at its egress in the window */
	bool discards_known; /* the device counts them */
	uint64_t ce_packets; /* captured packets that carried CE, as seen */
	uint64_t packets; /* captured RoCE packets, as seen */
	enum ecmp_link link;
};

struct ecmp_measure {
	const char *device, *group;
	int64_t from_ns, to_ns;
	struct ecmp_member *members;
	size_t n_members, n_known;
	size_t hot; /* index of the member with the most load for its capacity */
	size_t cold; /* ... with the least */
	/* max/mean - 1 over members weighed by capacity; NAN unknown */
	double imbalance_ratio;
	double max_minus_min_ratio, cov_ratio, jain_ratio;
	double load_ratio; /* mean utilisation */
	double n_eff; /* NAN: no packets */
	uint32_t tuples; /* 5-tuples seen, what the hash sees; 0 = no packets */
	/* .tuples is a lower bound: an interval had more flows than it kept by name */
	bool tuples_more;
	uint32_t flows; /* 5-tuples with destination QP; lower bound */
	/* the one UDP source port of all flows by name; 0: several, or no packets */
	uint16_t only_src_port;
	/* hash chance for n_eff; NAN unknown */
	double expected_ratio, expected_p95_ratio, expected_p999_ratio;
	double coverage_ratio;
	enum ecmp_verdict verdict;
	/* a static hash chooses the member: only then is there a baseline by chance */
	bool hashed;
	/* a member ever had a sample; false for devices that are declared and never polled */
	bool observed;
	bool equal_weights; /* a capacity is unknown: members count alike */
	size_t n_down, n_absent; /* members without a link, without samples */
	size_t n_live; /* members the imbalance is taken over */
	uint32_t sampling; /* highest one-in-N of the captures used, 0 = none */
	uint64_t packets; /* captured packets behind n_eff, as seen */
	/* probability of such an imbalance, or more, by chance alone; NAN unknown */
	double chance_p;
	/* imbalance that chance exceeds once in 1,000 group windows, corrected for the groups
	 * judged; NAN */
	double chance_limit_ratio;
	const char *flows_note; /* why n_eff is unknown, or NULL; static or in the arena */
	/* what the hash reads, as read back from the device: "src_ip,dst_ip"; NULL unknown */
	const char *hash_fields;
	/* .hash_fields are known, and the UDP source port is not among them: all RoCE flows between
	 * two addresses take one member */
	bool hash_blind;
	/* most captured octets belong to queue pairs whose packets choose their path one by one: a
	 * hash has little to say then, and chance of a hash means nothing */
	bool sprayed;
	/* packets are spread one by one, as declared, read back or captured: all members must carry
	 * the same, but for .spread_limit_ratio */
	bool even;
	/* 1 - the least share, where .even; NAN */
	double low_ratio;
	/* deviation from the fair share that is a fault, where .even; NAN */
	double spread_limit_ratio;
	/* how the device says it spreads load, as it says it; NULL: it does not */
	const char *lb_told;
};

#endif

/*
 * congestion_nic - which part of DCQCN does not work, as the counters of NICs prove it.
 *
 *   dcqcn_off  a NIC counts CNPs that it ignored; or it handles none although it sends, other NICs
 *              do handle theirs, and its own packets are shown to be marked: it is paused by a
 *              switch that marks, captures show CNPs at its port, or the CNPs that all NICs sent
 *              and handled do not add up and nobody else is silent
 *   np_off     packets with CE reach a NIC, and it sends no CNP
 *   cnp_lost   CNPs are sent, and no NIC handles any
 *
 * A counter that stands still because no CE came proves nothing, nor does one that never moved on
 * any NIC, nor one that was reset in the window.
 */
#pragma once

#include "analyzers/detect/congestion_signs.h"
#include "analyzers/measure/nic.h"

struct nic_accused {
	enum cause cause;
	double confidence;
	const struct nic_seen *nic; /* the one that shows it best */
	const struct port_seen *port; /* the finding's subject */
	const struct paused_host *host; /* when it is paused; NULL */
	unsigned nics, guilty; /* of its host */
	const char *rests_on[4];
	unsigned n_rests_on;
	const char *open; /* the part that lacks a proof; NULL */
};

struct nic_trial {
	const struct nics *nics;
	struct nic_cnps cnps;
	struct nic_accused *v; /* by host */
	size_t n;
	/* [fabric_port.index]: it is the first port of a host whose NICs tell of CNPs */
	bool *told;
	bool lost; /* no NIC handles any of the CNPs sent */
};

/* congestion_nics - judges the NICs of the window once for each priority of @congestion. */
void congestion_nics(const struct congestion *congestion, const struct congestion_options *options,
	struct nic_trial *ret);
/* congestion_nic_report, congestion_nic_lost - the findings. */
void congestion_nic_report(const struct congestion *congestion,
	const struct congestion_options *options, const struct nic_trial *trial,
	const struct nic_accused *accused, struct finding_list *out);
void congestion_nic_lost(const struct congestion *congestion,
	const struct congestion_options *options, const struct nic_trial *trial,
	struct finding_list *out);

/* congestion_nic_told - the NICs of the host at @port tell of CNPs. */
bool congestion_nic_told(const struct nic_trial *trial, const struct port_seen *port);
/* congestion_nic_reacts - the NIC at @port slows down for CNPs: it handled some in the window. */
bool congestion_nic_reacts(const struct congestion *congestion, const struct port_seen *port);

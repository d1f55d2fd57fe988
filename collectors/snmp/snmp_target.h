/*
 * snmp_target - one device that is polled; shared by snmp.c (sessions and the API), snmp_poll.c
 * (its polls, and why they fail).
 */
#pragma once

#include "collectors/snmp/snmp.h"
#include "collectors/snmp/snmp_decode.h"
#include "collectors/snmp/snmp_io.h"
#include "collectors/snmp/snmp_lldp.h"
#include "collectors/snmp/snmp_refresh.h"
#include "collectors/target/target.h"
#include "config/profile/profile.h"

enum phase { PHASE_NONE, PHASE_IDENT, PHASE_HEAD, PHASE_LLDP, PHASE_SLOW, PHASE_FAST, PHASE_BACK };

struct walk { /* one table of the profile */
	const struct profile_table *table;
	struct snmp_rows *rows;
	bool *want;
	size_t n_want;
	bool done; /* in this poll */
	/* of a background table: a reading is due, or goes on over several polls, or ended in this
	 * one and is to be decoded */
	bool due, under_way, whole;
	struct snmp_refresh refresh;
};

struct snmp_target {
	struct target_machine machine;
	struct snmp_decoder *decoder;
	struct walk *walks;
	size_t n_walks;

	struct snmp_io *io;
	struct loop_timer *pace; /* max_varbinds_s */
	int64_t pace_until_ns;

	enum phase phase;
	size_t walk; /* index of the one under way */
	bool slow; /* this poll reads the slow tables */
	bool restarted; /* seen in this poll */
	mono_t poll_began;
	mono_t fast_began, fast_ended;
	/* what the last unusable answer about a table contained; NULL = none in this poll */
	const char *trouble;
	int64_t next_slow_ns, names_read_ns; /* mono; 0 = at once */
	struct snmp_uptime uptime;
	uint64_t interfaces, table_changed, unknown_ports, strangers, strangers_before;
	struct sample_list *samples; /* of the poll that is decoded; all targets share it */

	struct snmp_lldp *lldp;
	bool neighbors; /* this poll reads them */
	uint64_t neighbors_changed; /* lldpStatsRemTablesLastChangeTime */
	char *sysname;
};

/* ---- snmp_poll.c --------------------------------------------------------- */

/* snmp_poll_scalar - object number @i (from 0) that every device is asked for beside the tables of
 * its profile and those of LLDP. False behind the last one. The arcs are static. For docs/switches:
 * what a switch is asked. */
bool snmp_poll_scalar(size_t i, struct snmp_oid *ret);
/* the first request of a session; a poll follows by itself */
void snmp_poll_identify(struct snmp_target *target);
void snmp_poll_begin(struct snmp_target *target);
void snmp_poll_answer(void *arg, const struct snmp_answer *answer); /* snmp_io_events.answer */
void snmp_poll_deadline(void *arg); /* timer: the poll took too long */
void snmp_poll_pace(void *arg); /* timer: max_varbinds_s allows the next request */
void snmp_poll_profile_free(struct snmp_target *target); /* walks and decoder */

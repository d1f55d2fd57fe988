/*
 * qp_reaction - the rate of one direction of a queue pair round each CNP about it. Pure; one record
 * of 264 bytes for each direction that a CNP came for.
 *
 * Octets are counted in bins, 32 of them in a ring. A bin is 25 us wide, or as many times twice
 * that as hold three packets. The bin of the CNP is left out; four bins before and four after are
 * its windows. A CNP in the windows of the one before belongs to that one. A reaction with a break
 * in its windows is left out: silence longer than a bin at the end of a message, or longer than
 * four bins within one before the CNP. So is one with a pause frame in force (the caller says until
 * when).
 *
 * A sender that slows down a lot leaves few packets in the window after, or none. Then the rate
 * after is that of the next packets: by the median of eight gaps, so that one long stop among gaps
 * as before (a pause elsewhere) does not look like a rate. The same median says whether a reaction
 * was a clear one (struct reaction_sum, .clear).
 *
 * Pressure is what a sender with the published parameters would make of the CNPs, at their mildest:
 * one cut in 50 us at the most, alpha beginning at 1/2, recovery from the first timer on, and then
 * a hundredth of the full rate a timer. Windows of four bins in which it would be at or below
 * REACTION_PRESSED are under pressure. Source of the parameters: SIGCOMM 2015 paper named in
 * reaction.h, sections 3 and 5 (g 1/256, timer 55 us, five steps of recovery).
 */
#ifndef RW_COLLECTORS_QP_REACTION_H
#define RW_COLLECTORS_QP_REACTION_H

#include <stdbool.h>
#include <stdint.h>

#include "db/model/reaction.h"

enum { QP_REACTION_BINS = 32, QP_REACTION_WINDOW = 4, QP_REACTION_GAPS = 8 };

struct qp_reaction {
	uint32_t octets[QP_REACTION_BINS];
	int64_t bin; /* newest: time / .width_ns */
	int64_t begin_bin; /* nothing is known of bins before */
	int64_t break_bin; /* newest one that a break touches */
	int64_t cnp_bin; /* of the reaction under way */
	int64_t cnp_ns; /* of the newest CNP */
	int64_t timer_ns; /* up to where the mildest sender is followed */
	int64_t cut_ns; /* its newest cut */
	uint32_t width_ns;
	uint32_t peak; /* most octets of a window */
	uint32_t gaps[QP_REACTION_GAPS]; /* after the bin of the CNP, ns */
	double before_bps; /* of the reaction that lasts */
	float alpha, rate, target; /* of the mildest sender; rate and target of its full rate */
	uint8_t stage; /* timers since its newest cut */
	uint8_t n_gaps;
	bool waits; /* a reaction is under way */
	bool lasts; /* it waits for gaps beyond its window */
	bool alone; /* no CNP came in the two windows before it */
};

/* qp_reaction_begin - at the first CNP. @usual_ns: usual time between packets of this direction. */
void qp_reaction_begin(struct qp_reaction *reaction, int64_t t_ns, uint32_t usual_ns);

/*
 * qp_reaction_data - a data packet. @silent_ns: since the one before; @message_ended: that was the
 * last one of its message; @paused_ns: end of the newest time for which a pause frame was in force,
 * as far as known now, 0 none. What it measures goes into @sum.
 */
void qp_reaction_data(struct qp_reaction *reaction, struct reaction_sum *sum, int64_t t_ns,
	uint32_t octets, int64_t silent_ns, bool message_ended, int64_t paused_ns);

/* qp_reaction_cnp - a CNP about this direction, after qp_reaction_begin(). */
void qp_reaction_cnp(struct qp_reaction *reaction, struct reaction_sum *sum, int64_t t_ns);

#endif

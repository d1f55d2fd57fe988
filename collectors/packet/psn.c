/* psn - judges each packet sequence number against the ones before it. */
#include "collectors/packet/psn.h"

void psn_anchor(struct psn_track *track, uint32_t psn)
{
	*track = (struct psn_track){
		.seen = 1, .next = (psn + 1) & PSN_MASK, .last = psn, .valid = true};
}

static void psn_behind(
	struct psn_track *track, struct psn_counts *counts, uint32_t psn, int32_t back)
{
	if (back > PSN_BACK_MAX) {
		counts->restarts++;
		psn_anchor(track, psn);
		return;
	}
	/* back >= 1 */
	uint64_t bit = 0;
	if (back <= 64)
		bit = 1ull << (back - 1);
	bool seen = !bit || (track->seen & bit);
	if (psn == track->last && seen) {
		counts->duplicates++;
	} else if (seen) {
		/* missing ones before it in this run were sent again, too */
		counts->retransmits += 1 + track->late;
		track->late = 0;
	} else {
		track->late++;
	}
	track->seen |= bit;
	track->last = psn;
}

void psn_add(struct psn_track *track, struct psn_counts *counts, uint32_t psn, uint32_t allow)
{
	if (!track->valid) {
		psn_anchor(track, psn);
		track->allow = allow;
		return;
	}
	int32_t ahead = psn_distance(psn, track->next);
	if (ahead < 0) {
		psn_behind(track, counts, psn, -ahead);
		return;
	}
	if (ahead > PSN_AHEAD_MAX) {
		counts->restarts++;
		psn_anchor(track, psn);
		track->allow = allow;
		return;
	}
	/* the sequence goes on: the late ones were reordered, not sent again */
	counts->reordered += track->late;
	track->late = 0;
	if (ahead > 0 && (uint32_t)ahead > track->allow) {
		counts->gaps++;
		counts->missing += (uint32_t)ahead;
	}
	if (ahead >= 63)
		track->seen = 1;
	else
		track->seen = track->seen << (ahead + 1) | 1;
	/* the PSNs in between were used by the responses of a READ: not missing */
	if (ahead > 0 && (uint32_t)ahead <= track->allow) {
		if (ahead >= 63)
			track->seen |= UINT64_MAX;
		else
			track->seen |= ((1ull << ahead) - 1) << 1;
	}
	track->next = (psn + 1) & PSN_MASK;
	track->last = psn;
	track->allow = allow;
}

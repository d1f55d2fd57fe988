/* psn - see psn.h. */
#include "collectors/packet/psn.h"

void psn_anchor(struct psn_track *s, uint32_t psn)
{
	*s = (struct psn_track){
		.seen = 1, .next = (psn + 1) & PSN_MASK, .last = psn, .valid = true};
}

static void psn_behind(struct psn_track *s, struct psn_counts *c, uint32_t psn, int32_t back)
{
	if (back > PSN_BACK_MAX) {
		c->restarts++;
		psn_anchor(s, psn);
		return;
	}
	uint64_t bit = back <= 64 ? 1ull << (back - 1) : 0; /* back >= 1 */
	bool seen = !bit || (s->seen & bit);
	if (psn == s->last && seen) {
		c->duplicates++;
	} else if (seen) {
		/* missing ones before it in this run were sent again, too */
		c->retransmits += 1 + s->late;
		s->late = 0;
	} else {
		s->late++;
	}
	s->seen |= bit;
	s->last = psn;
}

void psn_add(struct psn_track *s, struct psn_counts *c, uint32_t psn, uint32_t allow)
{
	if (!s->valid) {
		psn_anchor(s, psn);
		s->allow = allow;
		return;
	}
	int32_t d = psn_distance(psn, s->next);
	if (d < 0) {
		psn_behind(s, c, psn, -d);
		return;
	}
	if (d > PSN_AHEAD_MAX) {
		c->restarts++;
		psn_anchor(s, psn);
		s->allow = allow;
		return;
	}
	c->reordered += s->late; /* the sequence goes on: what came late was only late */
	s->late = 0;
	if (d > 0 && (uint32_t)d > s->allow) {
		c->gaps++;
		c->missing += (uint32_t)d;
	}
	s->seen = d >= 63 ? 1 : s->seen << (d + 1) | 1;
	if (d > 0 && (uint32_t)d <= s->allow) /* used by the responses of a READ, not missing */
		s->seen |= d >= 63 ? UINT64_MAX : ((1ull << d) - 1) << 1;
	s->next = (psn + 1) & PSN_MASK;
	s->last = psn;
	s->allow = allow;
}

/* ipfix_sequence - habits and gaps. */
#include "collectors/push/ipfix_sequence.h"

#define SURE 3 /* messages in a row that speak for another habit */
#define BACK_MAX 65536u /* further back it is no late message: the source began anew */

static void sequence_vote(struct ipfix_sequence *s, uint32_t step)
{
	const bool says[3] = {
		[IPFIX_COUNTS_RECORDS] = step == (uint32_t)s->records,
		[IPFIX_COUNTS_MESSAGES] = step == 1,
		[IPFIX_COUNTS_NOTHING] = step == 0,
	};
	if (s->unknown || s->records <= 1) /* all would look the same, or nothing is known */
		if (step != 0)
			return;
	for (int i = 0; i < 3; i++) {
		s->votes[i] = says[i] ? s->votes[i] + 1 : 0;
		if (s->votes[i] >= SURE && !says[s->habit])
			s->habit = (enum ipfix_habit)i;
	}
}

void ipfix_sequence(struct ipfix_sequence *s, uint32_t number, uint64_t records, bool unknown,
	struct ipfix_gap *ret)
{
	const uint32_t step = number - s->last;
	const enum ipfix_habit before = s->habit;
	*ret = (struct ipfix_gap){0};
	if (s->begun) {
		if (s->records > 0)
			sequence_vote(s, step);
		uint32_t expected = (uint32_t)s->records;
		if (s->habit == IPFIX_COUNTS_MESSAGES)
			expected = 1;
		const uint32_t ahead = step - expected;
		const bool open = s->habit == IPFIX_COUNTS_RECORDS &&
			(s->unknown || s->votes[IPFIX_COUNTS_MESSAGES] > 0);
		ret->uncounted = s->habit == IPFIX_COUNTS_NOTHING;
		if (ret->uncounted || open || before != s->habit) {
			/* nothing can be said of this step */
		} else if (ahead > 0 && ahead < 0x80000000u) {
			ret->lost = ahead;
		} else if (ahead != 0 && 0 - ahead < BACK_MAX + expected) {
			ret->reordered = true;
			if (s->votes[IPFIX_COUNTS_NOTHING] == 0)
				return; /* the newest one stays */
		}
	}
	s->begun = true;
	s->last = number;
	s->records = records;
	s->unknown = unknown;
}

/* stall - the cause of a silence, and the longest of them. */
#include "collectors/packet/stall.h"

/* Packets that were under way when the RNR NAK passed come between it and the silence. */
#define RNR_BEFORE_NS 1000000

const char *stall_cause_name(enum stall_cause cause)
{
	static const char *const names[] = {"unknown", "timeout", "rnr", "pause", "idle"};
	return names[cause];
}

enum stall_cause silence_cause(const struct silence *silence)
{
	const int64_t lasts_ns = silence->to_ns - silence->from_ns;
	if (silence->again) {
		if (silence->rnr_ns && silence->rnr_ns >= silence->from_ns - RNR_BEFORE_NS)
			return STALL_RNR;
		/* a NAK asks for it: no timeout */
		if (silence->unread || (silence->nak_ns && silence->nak_ns >= silence->from_ns))
			return STALL_UNKNOWN;
		return STALL_TIMEOUT;
	}
	if (silence->paused_ns * 2 >= lasts_ns)
		return STALL_PAUSE;
	if (silence->open)
		return STALL_UNKNOWN;
	return STALL_IDLE;
}

static bool stall_before(const struct stall *left, const struct stall *right)
{
	const bool left_idle = left->cause == STALL_IDLE, right_idle = right->cause == STALL_IDLE;
	if (left_idle != right_idle)
		return right_idle;
	return left->lasts_ns > right->lasts_ns;
}

void stalls_add(struct stalls *stalls, const struct stall *stall)
{
	if (stall->cause != STALL_IDLE) {
		stalls->total++;
		stalls->total_ns += stall->lasts_ns;
	}
	size_t at = stalls->n;
	while (at > 0 && stall_before(stall, &stalls->longest[at - 1]))
		at--;
	if (at >= STALLS_MAX)
		return;
	if (stalls->n < STALLS_MAX)
		stalls->n++;
	for (size_t i = stalls->n - 1; i > at; i--)
		stalls->longest[i] = stalls->longest[i - 1];
	stalls->longest[at] = *stall;
}

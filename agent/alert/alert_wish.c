/* alert_wish - a numbered list of decisions. */
#include "agent/alert/alert_wish.h"

static enum alert_event wish_unknown(const struct alert_fact *fact, const struct alert_known *known)
{
	if (!fact->fits || fact->silenced)
		return ALERT_NONE;
	if (fact->closed && known->waiting)
		return ALERT_RESOLVED;
	if (fact->closed || fact->covered)
		return ALERT_NONE;
	return ALERT_OPENED;
}

enum alert_event alert_wish(const struct alert_fact *fact, const struct alert_known *known,
	int64_t resend_ns, bool heartbeat)
{
	/* 1. it does not know the incident as open */
	if (known->told != TOLD_OPEN)
		return wish_unknown(fact, known);

	/* 2. what it knows as open is ended, silence or not */
	if (fact->closed || fact->covered || !fact->fits)
		return ALERT_RESOLVED;
	if (fact->silenced)
		return ALERT_NONE;

	/* 3. news */
	if (fact->severity > known->severity)
		return ALERT_ESCALATED;
	if (heartbeat && fact->cause != known->cause)
		return ALERT_CHANGED;
	if (heartbeat && fact->acked && !known->acked)
		return ALERT_ACKNOWLEDGED;
	if (known->muted && (heartbeat || !fact->acked))
		return ALERT_REMINDER;

	/* 4. nothing new */
	if (known->age_ns >= resend_ns && (heartbeat || !fact->acked))
		return ALERT_REMINDER;
	return ALERT_NONE;
}

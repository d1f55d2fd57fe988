/* test_alert_wish - what a receiver gets next, as a table of states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/alert/receiver.h"
#include "base/cleanup.h"

#define RESEND 100

/* An open, critical incident that the receiver wants, changed as the letters say:
 * c closed, p explained by another, s silenced, a acknowledged, f not for this receiver, x another
 * cause */
static struct alert_fact wish_fact(const char *letters)
{
	struct alert_fact fact = {.fits = true, .severity = SEV_CRITICAL, .cause = CAUSE_PFC_STORM};
	for (; *letters; letters++) {
		fact.closed |= *letters == 'c';
		fact.covered |= *letters == 'p';
		fact.silenced |= *letters == 's';
		fact.acked |= *letters == 'a';
		fact.fits &= *letters != 'f';
		if (*letters == 'x')
			fact.cause = CAUSE_INCAST;
	}
	return fact;
}

/* - knows nothing, o knows it open, r knows its end; then: w its opening waits, l it got a
 * lower severity, a got the acknowledgement, m muted, t got it long ago */
static struct alert_known wish_known(const char *letters)
{
	struct alert_known known = {.severity = SEV_CRITICAL, .cause = CAUSE_PFC_STORM};
	for (; *letters; letters++) {
		if (*letters == 'o')
			known.told = TOLD_OPEN;
		if (*letters == 'r')
			known.told = TOLD_RESOLVED;
		if (*letters == 'l')
			known.severity = SEV_WARNING;
		if (*letters == 't')
			known.age_ns = RESEND;
		known.waiting |= *letters == 'w';
		known.acked |= *letters == 'a';
		known.muted |= *letters == 'm';
	}
	return known;
}

static void test_wishes(void **state)
{
	static const struct {
		const char *what, *fact, *known;
		enum alert_event pager, alertmanager;
	} rows[] = {
		{"a new one", "", "-", ALERT_OPENED, ALERT_OPENED},
		{"told", "", "o", ALERT_NONE, ALERT_NONE},
		{"told long ago", "", "ot", ALERT_REMINDER, ALERT_REMINDER},
		{"somebody works on it", "a", "ot", ALERT_NONE, ALERT_ACKNOWLEDGED},
		{"and that is known", "a", "oat", ALERT_NONE, ALERT_REMINDER},
		{"acknowledged before it was sent", "a", "-", ALERT_OPENED, ALERT_OPENED},
		{"it grew worse", "", "ol", ALERT_ESCALATED, ALERT_ESCALATED},
		{"it grew worse while somebody works on it", "a", "ola", ALERT_ESCALATED,
			ALERT_ESCALATED},
		{"another cause", "x", "o", ALERT_NONE, ALERT_CHANGED},
		{"over", "c", "o", ALERT_RESOLVED, ALERT_RESOLVED},
		{"over, acknowledged", "ca", "oa", ALERT_RESOLVED, ALERT_RESOLVED},
		{"over, silenced", "cs", "o", ALERT_RESOLVED, ALERT_RESOLVED},
		{"over, and its end is known", "c", "rt", ALERT_NONE, ALERT_NONE},
		{"over before anything waited", "c", "-", ALERT_NONE, ALERT_NONE},
		{"over while its opening waits", "c", "-w", ALERT_RESOLVED, ALERT_RESOLVED},
		{"the same, silenced now", "cs", "-w", ALERT_NONE, ALERT_NONE},
		{"open again", "", "r", ALERT_OPENED, ALERT_OPENED},
		{"explained by another, unknown", "p", "-", ALERT_NONE, ALERT_NONE},
		{"explained by another, known", "p", "o", ALERT_RESOLVED, ALERT_RESOLVED},
		{"silenced, unknown", "s", "-", ALERT_NONE, ALERT_NONE},
		{"silenced, known long ago", "s", "ot", ALERT_NONE, ALERT_NONE},
		{"silenced, worse", "s", "ol", ALERT_NONE, ALERT_NONE},
		{"no more silenced", "", "om", ALERT_REMINDER, ALERT_REMINDER},
		{"no more silenced, acknowledged", "a", "oam", ALERT_NONE, ALERT_REMINDER},
		{"not asked for", "f", "-", ALERT_NONE, ALERT_NONE},
		{"not asked for any more", "f", "o", ALERT_RESOLVED, ALERT_RESOLVED},
	};
	for (size_t k = 0; k < rw_countof(rows); k++) {
		const struct alert_fact fact = wish_fact(rows[k].fact);
		const struct alert_known known = wish_known(rows[k].known);
		const enum alert_event pager = alert_wish(&fact, &known, RESEND, false);
		const enum alert_event manager = alert_wish(&fact, &known, RESEND, true);
		if (pager != rows[k].pager || manager != rows[k].alertmanager)
			fail_msg("%s: '%s' and '%s'", rows[k].what, alert_event_name(pager),
				alert_event_name(manager));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_wishes)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

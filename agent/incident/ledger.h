/*
 * ledger - many findings become one incident: its life from the first raised window to its end.
 *
 *      PENDING --enough weight--> OPEN --UNDER--> CLEARING --`hold` UNDER--> CLOSED
 *         | UNDER                   ^-----OVER-------'
 *         v forgotten        IDLE changes nothing; UNKNOWN freezes
 *
 * Return. A fault that comes back within LEDGER_REOPEN_NS of its end, with the same subject and
 * cause, opens the same incident again (not a setting: set back it has changed once more): its
 * story, who acknowledged it, who works on it, and what it cost so far stay. So does the throughput
 * it is priced by: what was slow when somebody closed the incident does not become what is usual.
 *
 * Identity. The subject (analyzer, device, port, priority, host, group) finds the incident under
 * way. Its id is a hash of fabric, cause, subject and the window that opened it, so live and replay
 * agree. The ledger reads no clock and does no I/O: time comes with the findings, and changes are
 * published through a callback.
 *
 * Opening. A finding opens an incident when its OVER windows weigh `hold` together
 * (agent/incident/cost.h). At the threshold these are `hold` of the last hold + 2 whole windows
 * (1 when hold is 1, 2 of the last 3 when it is 2): agents that refresh their counters more slowly
 * than they are polled show nothing in some windows. Far above the threshold two windows are
 * enough. Windows may overlap; each counts by the part of it that is new.
 *
 * Closing. It takes as long whatever the strength was, so nothing flaps: a whole window without it
 * begins CLEARING, `hold` of them in a row end it. Severity only rises while it is open.
 *
 * Description. What an incident says (summary, evidence, flows, roles, next steps, confidence,
 * value) comes from its strongest OVER window: the one furthest above its threshold, the later one
 * when equal. A window with clearly less confidence (by more than 0.1) does not replace it: packets
 * or counters are missing that were there before.
 *
 * Cause. It may change while the incident is open, as better evidence arrives. The id stays, and
 * the timeline says when and from what it changed. The new cause is taken
 *      at once                             with at least the confidence of the old one, from a
 *                                          window as strong as the one that speaks; or with over
 *                                          0.1 more
 *      after `hold` OVER windows in a row  from a weaker window, or with up to 0.1 less: the last
 *                                          windows of a fault hold only a part of it
 *      never                               with still less: when a capture ends, what its packets
 *                                          showed remains true
 * A cause that rests on silence (a symptom: nothing is seen in the network) is never taken at once:
 * silent it is after a repair, too. The windows that straddle a repair are one whole window
 * together, so it takes more than one. So does a severity that comes with another cause.
 *
 * The end. A window of a pending incident that overlaps the one before and is weaker by more than
 * half of what was new in it may hold the end of the fault: it counts for nothing.
 *
 * One fault, one incident. A finding that another incident explains (agent/incident/explain.h)
 * does not open one:
 *      the other is open       it is listed under the other's "also" and in its timeline
 *      the other is pending    it waits, no longer than the other's own hold
 *      it was open before      it stays open, and gets the other's id as .parent when that opens
 * The same cause on several devices, where the table says so (a setting that is wrong on a whole
 * tier; groups that become uneven together), is one incident too: the first of them lists the
 * others, its summary says how many there are, and it does not end while one of them shows it.
 * A part of an incident that has ended by itself opens only by windows of its own.
 *
 * Nothing is part of something milder. An incident is as bad as its worst part, and as what a job
 * loses by it (analyzers/measure/job_limits.h); one of severity info, which says that it does no
 * harm, explains nothing worse, and a part that becomes worse leaves it.
 *
 * An explanation with much less confidence (by more than 0.3) than what it would explain does not
 * count. Nor does one that began more than ten minutes after it.
 *
 * Nobody judges it. Of a subject that was renamed, linked otherwise or taken out no finding comes
 * any more, neither OVER nor UNDER: such an incident closes, says so, and explains nothing.
 *
 * One thread; nothing here is locked.
 */
#pragma once

#include "base/base.h"

#include "agent/incident/incident.h"
#include "config/fabric.h"
#include "db/model/finding.h"

struct ledger;

/* A whole shift: the same fault twice a night is one story. */
#define LEDGER_REOPEN_NS (8 * 3600 * 1000000000LL)

/* A change of an incident that reached OPEN. @from equals its state when only its contents changed.
 */
typedef void ledger_fn(void *arg, const struct incident *incident, enum incident_state from);

/* ledger_new - @fabric is borrowed until ledger_reload() or ledger_free(); @changed may be NULL. */
struct ledger *ledger_new(const struct fabric *fabric, ledger_fn *changed, void *arg);
void ledger_free(struct ledger *ledger); /* NULL is fine */

/* ledger_reload - judge by another fabric from now on. Incidents of subjects that it does not have
 * (a device, a group, a job; a host that is linked to that port no more) are closed: no finding
 * will come for them. */
void ledger_reload(struct ledger *ledger, const struct fabric *fabric);

/* ledger_take - a finding of one window; windows come in order. A window that an incident has
 * already counted (it is analysed again after a restart) is not counted twice. */
void ledger_take(struct ledger *ledger, const struct finding *finding);

/* Does the window hold counters that @analyzer reads of the device, and of @port unless NULL? */
typedef bool ledger_delivers_fn(
	const void *arg, const char *analyzer, const char *device, const char *port);

/*
 * ledger_judged - all findings of one analyzer's window have been taken. Where it judged others on
 * the device of an incident, and said nothing of the incident's own subject, the subject may be
 * judged no more: a while later the incident explains nothing, and then it closes. So it is, ten
 * minutes later, where it said nothing of the whole device although the subject's counters come
 * (@delivers; NULL: nobody knows). @share: how much of the window was new, in whole windows.
 */
void ledger_judged(struct ledger *ledger, const char *analyzer, int64_t to_ns, double share,
	ledger_delivers_fn *delivers, const void *arg);

/* ledger_follows - was a subject on @device ever raised by @analyzer? If not, UNDER findings of
 * them mean nothing here. */
bool ledger_follows(const struct ledger *ledger, const char *analyzer, const char *device);

/* ledger_rates - what the jobs moved up to now, after the findings of the same window: the loss of
 * incidents under way is measured by it. */
void ledger_rates(struct ledger *ledger, const struct job_rate *rates, size_t n);

/* ledger_rewind - the clock was set back to @t_ns: windows from then on count again, and what open
 * incidents say lies in the future happened now. */
void ledger_rewind(struct ledger *ledger, int64_t t_ns);

/* ledger_compared - for tests: how many pairs of incidents were compared so far to find what
 * explains what: the measure of its work that no machine's load changes. */
uint64_t ledger_compared(const struct ledger *ledger);

/* ledger_incidents - all that reached OPEN, worst first; returns how many. Lent until the next
 * call that changes the ledger. */
size_t ledger_incidents(const struct ledger *ledger, const struct incident ***ret);

/* ledger_find - by id, upper or lower case; NULL when there is none. Lent as above. */
const struct incident *ledger_find(const struct ledger *ledger, const char *id);

/*
 * ledger_action - what people do to an incident; it stands in the timeline with @who and @t_ns.
 *
 *      ACTION_ACK     somebody works on it; @text why, or NULL
 *      ACTION_ASSIGN  @text: who is responsible from now on
 *      ACTION_NOTE    @text
 *      ACTION_CLOSE   closed by a person; if the fault goes on, it opens again. @text why, or
 *                     NULL
 *      ACTION_MERGE   @text: id of the incident that this one is a part of
 *
 * 0, -ENOENT (no such incident, or none to merge into), -EINVAL (no text where one is needed, or
 * merged into itself), -EALREADY (closed already).
 */
int ledger_action(struct ledger *ledger, const char *id, enum incident_action action,
	const char *who, const char *text, int64_t t_ns);

/*
 * ledger_restore - at start, with the stored text of an incident (incident_json_text). Incidents
 * that were open go on; closed ones keep windows that are analysed again from being counted again.
 * 0, -EINVAL (not such a text), -EEXIST (already there, or another one of this subject is open).
 */
int ledger_restore(struct ledger *ledger, const char *json);
/*
 * ledger_known - the windows up to @known_ns are judged again, and what they opened was restored:
 * what opened in none of them then was explained by what is closed now, and opens in none of them.
 */
void ledger_known(struct ledger *ledger, int64_t known_ns);

/* ledger_forget - drop incidents closed before @t_ns from memory; the database keeps them. */
void ledger_forget(struct ledger *ledger, int64_t t_ns);

/*
 * finding_build - a finding is put together piece by piece: evidence, what the confidence rests on,
 * what was ruled out, roles, next steps. Everything lives in the arena of the analyzer's input;
 * texts handed over as const char * are borrowed as long.
 *
 *     struct draft t = finding_new(out, in, "link_health", FINDING_OVER, hold);
 *     t.f->cause = ...;
 *     finding_subject(&t, port);
 *     finding_evidence(&t, "port.fcs_errors", port, PRIO_NONE, 40, "frames", QUALITY_EXACT);
 */
#pragma once

#include "base/base.h"
#include "analyzers/analyzer.h"
#include "analyzers/measure/observe.h"
#include "db/model/entity.h"
#include "db/model/finding.h"

struct draft {
	struct finding *f; /* until the next finding is added to the same list */
	struct arena *a;
};

/* finding_verdict - over when the fault was found; else under, or unknown when the subject gave no
 * answer in the window. */
enum finding_verdict finding_verdict(bool found, bool answered);

/* finding_new - a finding of this window; subject, cause and numbers are set by the caller. @hold:
 * windows before an incident opens. */
struct draft finding_new(struct finding_list *out, const struct analyzer_in *in,
	const char *analyzer, enum finding_verdict verdict, int64_t hold);

/*
 * finding_is_clear - a subject of @device was looked at, and nothing is wrong: true when that is
 * counted in @out and no finding is needed, because no incident of this analyzer ever was on this
 * device. In a large fabric these are hundreds of thousands in each window. @n subjects at once.
 */
bool finding_is_clear(struct finding_list *out, const struct analyzer_in *in, const char *analyzer,
	const char *device, size_t n);

/* The subject: a port of a switch and, where it faces one, its host. */
void finding_subject(struct draft *draft, const struct port_seen *port);

/* NAN is not evidence: nothing is added. @port may be NULL (@device then names what it is about).
 */
void finding_evidence(struct draft *draft, const char *metric, const struct port_seen *port,
	int priority, double value, const char *unit, enum quality quality);
void finding_evidence_device(struct draft *draft, const char *metric, const char *device,
	double value, const char *unit, enum quality quality);
/* The same of any entity; @port NULL: the device. Both are borrowed. */
void finding_evidence_at(struct draft *draft, const char *metric, const char *device,
	const char *port, int priority, double value, const char *unit, enum quality quality);
void finding_amount(struct draft *draft, const char *metric, const struct port_seen *port,
	int priority, const struct amount *amount, const char *unit);

/* What its confidence rests on: a reason for it, a reason that lowers it, and what the data could
 * not prove. */
void finding_rests_on(struct draft *draft, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void finding_against(struct draft *draft, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void finding_unproved(struct draft *draft, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void finding_ruled_out(struct draft *draft, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void finding_add_role(struct draft *draft, const char *role, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void finding_step(struct draft *draft, const char *text, const char *risk);
/* The next steps of the cause's row that hold for @facts (enum cause_fact). */
void finding_steps(struct draft *draft, enum cause cause, unsigned facts);

/* What is at the other end of a port: "spine1:Ethernet1", "node-001 (rail0)", or "its neighbour".
 */
const char *far_end_text(const struct port_seen *near, struct arena *a);
const char *bitrate_text(double bps, struct arena *a);

/* finding_list - lists of findings, in an arena: growing them, ordering them by subject, merging
 * two ordered ones. */

/* finding_add - a new finding at the end: zeroed, priority PRIO_NONE, hold 1, numbers NAN. Valid
 * until the next one is added. */
struct finding *finding_add(struct finding_list *list, struct arena *a);
/* finding_list_reserve - room for @more findings at once: lists that double leave twice their size
 * behind in the arena. */
void finding_list_reserve(struct finding_list *list, struct arena *a, size_t more);
/* finding_list_sort - by device, port, host, group (as people sort names), then priority. */
void finding_list_sort(struct finding_list *list);
/*
 * finding_list_merge - two sorted lists into @out, behind what it holds; what they only counted is
 * added up. @few may be much the
 * shorter one: it costs as many comparisons as it has findings, times the logarithm of the gaps.
 * When
 * @few and @out are empty, @out borrows the memory of @many.
 */
void finding_list_merge(const struct finding_list *few, const struct finding_list *many,
	struct arena *a, struct finding_list *out);

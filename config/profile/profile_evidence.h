/*
 * profile_evidence - how it is known that a kind of switch serves a value where the profile says.
 *
 * In a profile: "KIND" or "KIND: where from", as "evidence" of the whole section (snmp, gnmi: the
 * default of its own tables or streams), of one table or stream, and of one column or leaf; the
 * innermost holds, and nothing said is "document". Tables that come from the profile that is
 * extended were seen on other switches than this kind: how they are known here stands in
 * "inherited", by name; nothing said is "document".
 *
 *   snmp:
 *     evidence: "document: ARISTA-PFC-MIB"
 *     inherited: { interfaces: "recorded: librenms tests/snmpsim/arista_eos.snmprec" }
 *     tables:
 *       - name: pfc
 *         evidence: recorded
 */
#pragma once

#include "base/base.h"

/* Weakest first. */
enum evidence_kind {
	EVIDENCE_DOCUMENT, /* a MIB, a model, a manual or an agent's source says so */
	EVIDENCE_MOCK, /* the vendor's own simulated device or test data answers so */
	EVIDENCE_RECORDED, /* a real device answered so, and the answer was kept */
	EVIDENCE_KINDS
};

struct profile_evidence {
	enum evidence_kind kind;
	const char *source; /* NULL: not said */
};

/* How tables or streams of the extended profile are known on this kind of switch. */
struct profile_inherited {
	const char **names;
	int *lines; /* in the file */
	struct profile_evidence *v;
	size_t n;
};

/* profile_inherited_evidence - of the inherited table @name; "document" when nothing is said. */
struct profile_evidence profile_inherited_evidence(
	const struct profile_inherited *inherited, const char *name);

/* "document"; static, "?" for another number. */
const char *evidence_kind_name(enum evidence_kind kind);

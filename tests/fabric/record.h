/* record - a scenario as a recorded case: fabric.yaml, samples.tsv with what one face can answer,
 * truth.json. */
#ifndef FABRIC_RECORD_H
#define FABRIC_RECORD_H

#include "tests/fabric/scenario.h"

enum face {
	FACE_FULL,
	FACE_SONIC_SNMP,
	FACE_NXOS_SNMP,
	FACE_CUMULUS_SNMP,
	FACE_SONIC_GNMI,
	FACE_CUMULUS_GNMI,
	FACE_OPENCONFIG_GNMI,
	FACE_EOS_SNMP,
	FACE_RELATIVE_ECN, /* as full, but ECN thresholds are shares of the quota */
	FACES
};
extern const char *const face_names[FACES];

struct record_options {
	/* made when it is missing; files of an earlier recording are replaced */
	const char *dir;
	double begin_ns; /* UTC of the first sample, since 1970 */
	double interval_ns, length_ns;
	enum face face;
	bool packets; /* captures too, also when the scenario does not ask for them */
	/* The same scenario with other thresholds or load, borrowed; how long a step is without
	 * them stays what the scenario says. NULL: as it is. */
	const struct scenario *tuned; /* from the start, */
	const struct scenario *tuned_later; /* from later_ns on */
	double later_ns;
};

/* record_case - 0, or a negative errno with words in @e. */
struct err;
int record_case(const struct scenario *s, const struct record_options *o, struct err *e);

#endif

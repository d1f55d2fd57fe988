/*
 * profile_tune - the tuning half of a profile: which thresholds this kind of switch has, how it rounds them, and how they are written in
 * its own words. Data only; the engine that fills the templates is agent/render.h, what is recommended is analyzers/tune.h.
 *
 *   tuning:
 *     syntax: sonic                      # sonic eos nxos nvue junos: whose words the templates are
 *     matched: true                      # false: templates are shown for orientation, "not checked for this platform"
 *     voq: false                         # VOQ/HBM chips: the dynamic-threshold arithmetic does not hold, no advice (tuning facts, d.2 rule 2)
 *     asics: [...]                       # cell size, headroom model, slices: what a platform string in the device's description tells
 *     knobs:
 *       - knob: kmin                     # headroom xoff_level xon_level xon_offset alpha kmin kmax pmax weight
 *         object: WRED_PROFILE           # what has to be changed: everything bound to it changes (blast radius)
 *         shared: true                   # the object is bound to more than one port or queue
 *         unit: bytes                    # as written: bytes kbytes cells percent exponent fraction
 *         step: 1                        # of the unit; what is written is a multiple of it
 *         min: 0
 *         max: 2147483647
 *         disruption: hitless            # hitless queue_flush port_flap daemon_reload reboot unknown
 *         evidence: where this was read
 *     apply / undo templates             # see docs/tuning.md
 */
#ifndef RW_CONFIG_PROFILE_TUNE_H
#define RW_CONFIG_PROFILE_TUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tune_knob { KNOB_HEADROOM, KNOB_XOFF_LEVEL, KNOB_XON_LEVEL, KNOB_XON_OFFSET, KNOB_ALPHA, KNOB_KMIN, KNOB_KMAX, KNOB_PMAX, KNOB_WEIGHT, TUNE_KNOBS };
const char *tune_knob_name(enum tune_knob k);  /* "kmin" */
const char *tune_knob_unit(enum tune_knob k);  /* of values in the house: "bytes", "ratio" (alpha, pmax), "-" (weight) */
int tune_knob_parse(const char *word, enum tune_knob *ret); /* -EINVAL */

enum tune_disruption { DISRUPTION_HITLESS, DISRUPTION_QUEUE_FLUSH, DISRUPTION_PORT_FLAP, DISRUPTION_DAEMON_RELOAD, DISRUPTION_REBOOT, DISRUPTION_UNKNOWN };
const char *tune_disruption_name(enum tune_disruption d);

enum tune_unit { TUNE_BYTES, TUNE_KBYTES, TUNE_CELLS, TUNE_PERCENT, TUNE_EXPONENT, TUNE_FRACTION };

struct tune_knob_rule {
	bool settable;              /* this kind of switch lets one change it */
	const char *object;         /* name of the kind of object, "WRED_PROFILE" */
	bool shared;
	enum tune_unit unit;
	double step, min, max;      /* in .unit */
	enum tune_disruption disruption;
	const char *evidence;
};

struct profile_tune {
	const char *syntax;         /* "sonic" */
	bool matched, voq;
	struct tune_knob_rule knobs[TUNE_KNOBS];
	/* templates and further fields: the renderer's (agent/render.h) */
};

#endif

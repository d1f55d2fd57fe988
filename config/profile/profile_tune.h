/*
 * profile_tune - the tuning half of a profile: which thresholds this kind of switch has, how it
 * rounds them, and how they are written in its syntax. Data only: agent/tuning/vendor_plan.h fills
 * the templates, analyzers/tune/tune.h decides what to recommend.
 *
 *   tuning:
 *     syntax: sonic                      # of the templates; absent: there are none
 *     example: true                      # shown where the platform of a switch is unknown
 *     voq: false                         # VOQ/HBM chips: the dynamic-threshold arithmetic does
 *                                        # not hold, no advice (docs/tuning.md, safety rule 2)
 *     comment: "#"                       # what begins a comment in its syntax
 *     knobs:
 *       - knob: kmin                     # headroom xoff_level xon_level xon_offset alpha kmin
 *                                        # kmax pmax weight
 *         object: WRED_PROFILE           # what has to be changed: everything bound to it
 *                                        # changes (blast radius)
 *         shared: true                   # the object is bound to more than one port or queue
 *         unit: bytes                    # as written: bytes kbytes cells percent exponent
 *                                        # fraction number
 *         step: 1024                     # of the unit; a written value is a multiple of it;
 *                                        # default 1
 *         by_cell: true                  # and a multiple of the buffer cell, where its size is
 *                                        # known
 *         least: 1                       # of the unit; a smaller value does nothing in hardware
 *         min: 0                         # of the unit; absent: no limit is published
 *         max: 2147483647
 *         disruption: hitless            # hitless queue_flush port_flap daemon_reload reboot
 *                                        # unknown (= assume drops)
 *         platforms: ["*7060DX4*"]       # only where the device describes itself as one of
 *                                        # these; absent: all
 *         evidence: where this was read  # required
 *     cannot:                            # knobs without a verified syntax, and why: printed
 *                                        # instead of an invented command
 *       - { knob: alpha, why: "..." }
 *     collect:                           # where data comes from that a review misses: a
 *       marks: sudo counterpoll ...      # command, or what has to be read. Keys: headroom xon
 *                                        # alpha ecn pool marks watermarks pause; and where to
 *                                        # set cable and shared_headroom
 *     relative_ecn:                      # thresholds as shares of the quota, where it has them
 *       since: "5.17"                    # version of its software
 *       asics: ["Spectrum-4"]            # names of chips (asics:), globs; absent: all
 *       where: on Spectrum-4 and later   # the same as a clause
 *       text: "nv set ... {priority} ..."
 *       caveat: what it costs
 *       evidence: where this was read    # required
 *     asics:                             # the buffer of a chip, by the device's description of
 *                                        # itself; searched in all profiles
 *       - { name: Spectrum-4, platforms: ["*SN5600*"], cell: 192, headroom: spectrum,
 *           size_holds_headroom: true, source: "..." }
 *     names:                             # of configured objects: as the device or the
 *                                        # configuration names them, else the standard name
 *       - { name: wred_profile, standard: AZURE_LOSSLESS, check: sudo ecnconfig -l }
 *     forms:                             # the same change in several dialects: the first is
 *                                        # what is shown
 *       - name: cli
 *         commit: nv config apply          # all steps are one transaction, which this ends
 *         steps:                         # each is one change, after which values hold
 *           - sets: [kmin, kmax]         # these come into force together
 *             when: cable                # only where headroom is set by cable length;
 *                                        # no_cable: only where it is not; not said: both
 *             needs: size_apart          # only where a group's size does not hold its headroom
 *                                        # (or the ASIC is not known)
 *             note: "..."                # a warning, as a comment
 *             object: "..."              # what it touches, where that is another object than
 *                                        # the knob's, and not shared
 *             text: "..."                # {knob}, {name} and the words below; [ weight
 *                                        # {weight}] is left out where a value in it is not
 *                                        # known;
 *                                        # other values that do not change and are not known
 *                                            stand as <PMAX>, to be replaced
 *             undo: "..."                # instead of text, where the value of before cannot be
 *                                        # written exactly
 *       - name: config_db                # a form is text, or JSON documents {table: {key:
 *                                        # {field: value}}}; of fields those with a changed
 *                                        # knob
 *         use: save as change.json, then ...   # how it is put to work, where it is not typed
 *         steps:
 *           - { sets: [...], table: WRED_PROFILE, key: "{wred_profile}", fields: {
 *               green_min_threshold: "{kmin}" } }
 *
 * Words: {port} {queue} {priority} {speed_mbps}; {cable_m} (length that the step sets) and
 * {cable_max_m} (longest over the ports), {cable_now_m} (as configured before); {buffer_bytes}
 * (headroom and xoff level together). A text is written once for every port, and the same text only
 * once.
 *
 * Units in the program: bytes; ratios (alpha as 2^n, pmax 0..1); weight is a plain number.
 */
#pragma once

#include "base/base.h"

struct profiles;

enum tune_knob {
	KNOB_HEADROOM,
	KNOB_XOFF_LEVEL,
	KNOB_XON_LEVEL,
	KNOB_XON_OFFSET,
	KNOB_ALPHA,
	KNOB_KMIN,
	KNOB_KMAX,
	KNOB_PMAX,
	KNOB_WEIGHT,
	TUNE_KNOBS
};
extern const char *const tune_knob_names[TUNE_KNOBS];
extern const char *const tune_knob_units[TUNE_KNOBS];
const char *tune_knob_name(enum tune_knob knob); /* "kmin" */
/* of values in the program: "bytes", "ratio" (alpha, pmax), "-" (weight) */
const char *tune_knob_unit(enum tune_knob knob);
int tune_knob_parse(const char *word, enum tune_knob *ret); /* -EINVAL */

enum tune_disruption {
	DISRUPTION_HITLESS,
	DISRUPTION_QUEUE_FLUSH,
	DISRUPTION_PORT_FLAP,
	DISRUPTION_DAEMON_RELOAD,
	DISRUPTION_REBOOT,
	DISRUPTION_UNKNOWN
};
extern const char *const tune_disruption_names[DISRUPTION_UNKNOWN + 1];
const char *tune_disruption_name(enum tune_disruption disruption);

enum tune_unit {
	TUNE_BYTES,
	TUNE_KBYTES,
	TUNE_CELLS,
	TUNE_PERCENT,
	TUNE_EXPONENT,
	TUNE_FRACTION,
	TUNE_NUMBER
};
enum tune_round { TUNE_DOWN, TUNE_NEAREST, TUNE_UP };

struct tune_knob_rule {
	bool settable; /* this kind of switch lets one change it */
	const char *object; /* name of the kind of object, "WRED_PROFILE" */
	bool shared;
	enum tune_unit unit;
	double step, min, max; /* in .unit; min, max: -+INFINITY when nothing is published */
	double least; /* in .unit: a value below it, but 0, does nothing; 0 nothing is published */
	bool by_cell;
	enum tune_disruption disruption;
	const char **platforms;
	size_t n_platforms; /* globs; 0 = all */
	const char *evidence;
	const char *cannot; /* not settable: why, NULL when nothing was said */
};

/* the formula whose published tables an ASIC has */
enum tune_headroom { TUNE_HEADROOM_NONE, TUNE_HEADROOM_SPECTRUM, TUNE_HEADROOM_SPECTRUM_2021 };

struct tune_asic {
	const char *name;
	const char **platforms;
	size_t n_platforms; /* globs of what a device says it is */
	double cell_bytes; /* 0 unknown */
	double ecn_cells; /* cells that ECN thresholds are rounded up to together, 1 */
	enum tune_headroom headroom;
	/* a group's reserved size has to be xon + headroom where headroom is not shared */
	bool size_holds_headroom;
	bool voq;
	unsigned slices; /* parts the buffer is made of; 0 unknown */
	const char *source;
};

struct tune_name { /* of a configured object of the vendor */
	const char *name, *standard; /* standard: may hold {speed_mbps} and {cable_m} */
	const char *check; /* the command that shows it */
	/* there is no standard: what stands there has to be replaced */
	bool placeholder;
};

#define TUNE_FIELDS_MAX 24
enum tune_when { TUNE_ALWAYS, TUNE_BY_CABLE, TUNE_NOT_BY_CABLE };
struct tune_template { /* one step */
	unsigned sets; /* bits 1 << enum tune_knob */
	enum tune_when when;
	bool size_apart;
	const char *note, *object; /* NULL */
	const char *text, *undo; /* text NULL: JSON; undo NULL: the text does */
	const char *table, *key; /* JSON */
	struct {
		const char *field, *value;
	} fields[TUNE_FIELDS_MAX];
	size_t n_fields;
	int line;
};
struct tune_form {
	const char *name, *commit; /* commit NULL: each step comes into force at once */
	const char *use; /* how the text is put to work, NULL: it is typed */
	bool json;
	struct tune_template *steps;
	size_t n_steps;
};

/* What a review may miss at a switch, or asks a person to set there. */
enum tune_need {
	NEED_HEADROOM,
	NEED_XON,
	NEED_ALPHA,
	NEED_ECN,
	NEED_POOL,
	NEED_MARKS,
	NEED_WATERMARKS,
	NEED_PAUSE,
	NEED_CABLE, /* where the cable length is set */
	NEED_SHARED_HEADROOM, /* where the size of the shared headroom pool is set */
	TUNE_NEEDS
};

struct tune_relative { /* ECN thresholds as shares of the queue's quota; .text NULL: cannot */
	const char *since; /* version of the software, "5.17" */
	const char **asics; /* globs of the names of chips that can; none: all */
	size_t n_asics;
	const char *where; /* the same as a clause, where the chip is not known */
	const char *text; /* how it is set: {priority} */
	const char *caveat; /* sentences */
	const char *evidence;
};

struct profile_tune {
	const char *syntax; /* "sonic"; NULL: no templates */
	bool example; /* its syntax is shown where the platform of a switch is unknown */
	const char *comment; /* "#" */
	bool voq;
	struct tune_knob_rule knobs[TUNE_KNOBS];
	struct tune_name *names;
	size_t n_names;
	struct tune_form *forms;
	size_t n_forms;
	const char *collect[TUNE_NEEDS]; /* how it is read or set here; NULL: not known */
	struct tune_relative relative_ecn;
	const char *notes[8];
	size_t n_notes; /* sentences for every rendering */
};

/* tune_rule_applies - does the rule hold for a device that describes itself as @platform? NULL: the
 * platform is not known. */
bool tune_rule_applies(const struct tune_knob_rule *rule, const char *platform);

/* tune_knob_safe - the side to round a value of @knob to: never above a limit that must not be
 * exceeded (Kmin, Kmax, alpha, xoff and xon level), never below a need (headroom, xon offset). */
enum tune_round tune_knob_safe(enum tune_knob knob);

/*
 * tune_knob_write - the number that is written for @value (in the unit of the program). NAN: not
 * settable, the unit is cells and @cell_bytes is not known (NAN or 0), or what results is out of
 * the published range. A percent that is a share of a queue's limit (unit percent on a knob in
 * bytes) needs
 * @limit_bytes.
 */
double tune_knob_write(const struct tune_knob_rule *rule, enum tune_knob knob, double value,
	double cell_bytes, double limit_bytes, enum tune_round how);
/* tune_knob_value - the other way: what a written number means. */
double tune_knob_value(const struct tune_knob_rule *rule, enum tune_knob knob, double written,
	double cell_bytes, double limit_bytes);
/* tune_knob_round - what is in force after @value was written, rounded to the safe side. NAN as
 * above. */
double tune_knob_round(const struct tune_knob_rule *rule, enum tune_knob knob, double value,
	double cell_bytes, double limit_bytes);
/* tune_knob_programmed - what the ASIC makes of @value: whole cells, rounded up. NAN: the cell is
 * not known, or the knob does not count bytes. */
double tune_knob_programmed(
	enum tune_knob knob, double value, double cell_bytes, const struct tune_asic *asic);

/* tune_platform_fits - does one of the globs match @platform? NULL fits none. */
bool tune_platform_fits(const char *const *globs, size_t n, const char *platform);

/* profiles_asic - the chip of a device that describes itself as @platform, from the tables of all
 * profiles; NULL: not known. */
const struct tune_asic *profiles_asic(const struct profiles *profiles, const char *platform);

/*
 * vendor_plan - a recommended change in the syntax of every vendor: what to type, in which order,
 * and how to undo it. The commands are data (config/profile/profile_tune.h); this room orders the
 * steps, rounds, fills the templates, and says what cannot be written instead of inventing it.
 *
 * A plan is a sequence of steps that is safe after each of them (docs/tuning.md, safety rule 6):
 * Kmin goes down before Kmax and up after it, headroom grows before alpha and shrinks after it,
 * xoff rises before xon. What a switch takes over at once is one step. Apply rounds to the safe
 * side as the vendor rounds; undo writes the values read back exactly, or says that it cannot.
 *
 * A vendor is rendered when it can express at least one of the changes; what it cannot is a comment
 * line. A change that could not be undone is not rendered.
 *
 * Units: bytes and ratios in .after; text in the vendor's units. Memory: the caller's arena; json_t
 * are new references.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "analyzers/tune/tune.h"
#include "config/profile/profile.h"

struct config;

struct render_port {
	const char *name;
	uint64_t speed_bps; /* 0 unknown */
	double cable_m; /* its true length, from the configuration; NAN */
	double cable_now_m; /* as the switch is configured (cfg.cable_m); NAN */
};
/* tune_name.name, such as "wred_profile", and what that object is called on this device */
struct render_name {
	const char *name, *value;
};

struct render_ctx {
	const struct profiles *profiles; /* each that has forms is rendered */
	const struct profile *platform; /* of the device; NULL: not known what it is */
	const char *description; /* what the device says it is (sysDescr); NULL */
	const char *device; /* NULL: the sheet's, the canary */
	/* n_ports 0: those of the sheet, by name only */
	const struct render_port *ports;
	size_t n_ports;
	/* egress queue of the priority; negative: the priority's number */
	int queue;
	/* values of the knobs that the sheet does not change; NAN unknown */
	double in_force[TUNE_KNOBS];
	double cell_bytes; /* NAN or 0: by the description, else unknown */
	/* what a queue may hold (fill levels are percent of it): alpha B / (1 + alpha); NAN */
	double queue_limit_bytes;
	const struct render_name *names;
	size_t n_names;
	struct arena *arena;
};

struct render_step {
	const char *text; /* one or more lines, in the syntax of the vendor */
	const char *note; /* NULL */
	double after[TUNE_KNOBS]; /* in force when it is done; NAN unknown */
	unsigned sets; /* bits 1 << enum tune_knob, of what it changed */
};
struct render_plan {
	const struct profile *profile;
	const struct tune_form *form;
	bool undo, native; /* native: the syntax of the device itself */
	struct render_step *steps;
	size_t n_steps;
	const char **missing;
	size_t n_missing; /* sentences: changes it cannot express, and why */
	/* names that have to be checked or replaced first */
	const char **check;
	size_t n_check;
	const char **objects;
	size_t n_objects; /* what it changes, as phrases */
	/* worst of its steps; unknown counts as worse than hitless */
	enum tune_disruption disruption;
};

/* render_names - what the configuration calls the objects of @device ('tuning: names'), into @ctx.
 */
void render_names(struct render_ctx *ctx, const struct config *config, const char *device);

/* render_plan - 0 with all of the sheet, or -ENOTSUP: a part of it cannot be written in this form,
 * so nothing is; .missing says why. */
int render_plan(const struct tune_sheet *sheet, const struct render_ctx *render_ctx,
	const struct profile *profile, const struct tune_form *form, bool undo,
	struct render_plan *ret);

/*
 * render_apply, render_undo - an object with one key per vendor syntax: text with its
 * header, except config_db, which is the JSON document itself. null where that vendor cannot
 * express it.
 */
json_t *render_apply(const struct tune_sheet *sheet, const struct render_ctx *ctx);
json_t *render_undo(const struct tune_sheet *sheet, const struct render_ctx *ctx);
/* render_nothing - the same of a sheet without changes: every vendor that a profile has words for,
 * as null. */
json_t *render_nothing(const struct profiles *profiles);
/* render_notes - {sonic: [sentences], ...}: what is not in the renderings, and why; empty lists
 * where all is. "native": the device's own, or null. */
json_t *render_notes(const struct tune_sheet *sheet, const struct render_ctx *ctx);

/* render_knows - has a profile words in this syntax? render_syntaxes - all of them, "eos, junos or
 * sonic", in @a. */
bool render_knows(const struct profiles *profiles, const char *syntax);
const char *render_syntaxes(const struct profiles *profiles, struct arena *a);

/*
 * render_device - what to type on one device, all forms: in @syntax; NULL: in its own syntax, or,
 * when its platform is not known, in those of all vendors for orientation. In the arena. -ENOTSUP:
 * nothing of it can be written, and the text says why.
 */
int render_device(const struct tune_sheet *sheet, const struct render_ctx *ctx, const char *syntax,
	bool undo, const char **ret);

/*
 * vendor_parts - a sheet whose changes are for different ports, as one sheet for each set of ports,
 * in the order in which they are applied (headroom before what is for all ports). A plan
 * (vendor_plan.h) has one value of a knob; a pool whose cables differ needs several.
 *
 * Memory: the arena. Documents are the caller's.
 */

/* How many; at least one: the sheet itself. */
size_t vendor_parts(const struct tune_sheet *sheet, struct arena *a, struct tune_sheet **ret);

/* vendor_parts_join - joins what render_apply(), render_undo() or render_notes() made of one more
 * part to @into, and drops @part: texts and lists one after the other, JSON documents as one. NULL
 * @into: there was none before. */
json_t *vendor_parts_join(json_t *into, json_t *part);

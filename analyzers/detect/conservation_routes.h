/* conservation_routes - a part of the analyzer conservation: links that no route leads over. */
#pragma once

#include "base/base.h"

#include "analyzers/finding_build.h"
#include "analyzers/measure/links.h"

/* ---- conservation_finding -------------------------------------------------- */

/* conservation_finding - what the parts of the analyzer conservation have in common: its input,
 * bytes by class, and the start of a finding. Pure. */

struct conservation_options {
	double load_floor, leak, cross_rail, storage;
	int64_t window_ns, past_ns, hold;
};

struct conservation_in {
	const struct analyzer_in *in;
	const struct observed *o; /* what is judged: .whole, or .newest */
	const struct observed *whole; /* the window */
	/* its last three polls, and at least 5 s; NULL: the window is no longer */
	const struct observed *newest;
	const struct links *links;
	const struct conservation_options *options;
};

/* conservation_finding - with what all findings of it have in common; cause as given, texts empty.
 */
struct draft conservation_finding(const struct conservation_in *in, enum cause cause,
	enum finding_verdict verdict, struct finding_list *out);

/* ---- the newest polls ------------------------------------------------------ */

/*
 * A window is as long as an agent may take to refresh all its counters. Where the counters of all
 * who send at a place moved at each of the last three polls, its newest polls are enough.
 */

/* What the counters of a sender do at polls; IDLE: nothing since .newest begins. */
enum pace { PACE_IDLE, PACE_EACH_POLL, PACE_SLOW };
struct paces { /* of the senders of a place */
	size_t each_poll, slow;
};
enum pace counter_pace(const struct conservation_in *in, uint32_t entity, unsigned metric);
void paces_add(struct paces *paces, enum pace pace);
/* conservation_newest - @in, by its newest polls where @paces allow it. */
struct conservation_in conservation_newest(
	const struct conservation_in *in, const struct paces *paces);

/* ---- bytes by class -------------------------------------------------------- */

struct classes {
	double lossless, other; /* bytes per second in lossless classes, and in all others */
	size_t ports, known; /* ports that were added; those of them whose queues are counted */
};

/* classes_add_port - what @port sent in the window. */
void classes_add_port(
	const struct conservation_in *in, const struct port_seen *port, struct classes *classes);
/* classes_whole - is every port that was added known? */
bool classes_whole(const struct classes *classes);
/* classes_total - bytes per second in all classes. */
double classes_total(const struct classes *classes);
/* classes_other_share - share of the bytes outside lossless classes; NAN when there are none. */
double classes_other_share(const struct classes *classes);
/* classes_busy - is every port known, and the load above the floor? @capacity in bytes per second,
 * 0 unknown. */
bool classes_busy(const struct classes *classes, double capacity, const struct conservation_in *in);
/* classes_rate - bytes per second of so many octets in the window. */
double classes_rate(const struct conservation_in *in, double octets);

/* ---- conservation_paths ---------------------------------------------------- */

/* conservation_paths - a part of the analyzer conservation: what is sent against the paths there
 * are. */

/* Findings of remote_capacity: one for each spine. */
void conservation_capacity(const struct conservation_in *in, struct finding_list *out);
/* One finding of cross_rail for the fabric. */
void conservation_cross_rail(const struct conservation_in *in, struct finding_list *out);

/* ---- conservation_routes --------------------------------------------------- */

/* Findings of missing_route: one for each link between switches, at the end nearer to the hosts. */
void conservation_routes(const struct conservation_in *in, struct finding_list *out);

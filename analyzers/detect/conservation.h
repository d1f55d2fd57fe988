/* conservation - the parts of the analyzer: what enters and leaves, by class (conservation.c) and
 * by path (conservation_paths.c). Pure. */
#ifndef RW_ANALYZERS_CONSERVATION_H
#define RW_ANALYZERS_CONSERVATION_H

#include "analyzers/measure/links.h"
#include "analyzers/finding_build.h"

struct conservation_options {
	double load_floor, leak, cross_rail, storage;
	int64_t window_ns, hold;
};

struct conservation_in {
	const struct analyzer_in *in;
	const struct observed *o;
	const struct links *links;
	const struct conservation_options *options;
};

/* conservation_finding - with what all findings of it have in common; cause as given, texts empty.
 */
struct tell conservation_finding(const struct conservation_in *in, enum cause cause,
	enum finding_verdict verdict, struct finding_list *out);

/* missing_route */
void conservation_routes(const struct conservation_in *in, struct finding_list *out);
/* remote_capacity */
void conservation_capacity(const struct conservation_in *in, struct finding_list *out);
/* cross_rail */
void conservation_cross_rail(const struct conservation_in *in, struct finding_list *out);

#endif

/* conservation_paths - a part of the analyzer conservation: what is sent against the paths there
 * are. */
#ifndef RW_ANALYZERS_CONSERVATION_PATHS_H
#define RW_ANALYZERS_CONSERVATION_PATHS_H

#include "analyzers/detect/conservation_finding.h"

/* Findings of remote_capacity: one for each spine. */
void conservation_capacity(const struct conservation_in *in, struct finding_list *out);
/* One finding of cross_rail for the fabric. */
void conservation_cross_rail(const struct conservation_in *in, struct finding_list *out);

#endif

/* conservation_routes - a part of the analyzer conservation: links that no route leads over. */
#ifndef RW_ANALYZERS_CONSERVATION_ROUTES_H
#define RW_ANALYZERS_CONSERVATION_ROUTES_H

#include "analyzers/detect/conservation_finding.h"

/* Findings of missing_route: one for each link between switches, at the end nearer to the hosts. */
void conservation_routes(const struct conservation_in *in, struct finding_list *out);

#endif

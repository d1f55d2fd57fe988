/*
 * cnp_starved - drops in the queue that carries CNPs: senders do not learn that they must slow
 * down. A part of the analyzer congestion; it stands apart from its steps, since no queue of RoCE
 * data is judged.
 */
#ifndef RW_ANALYZERS_CNP_STARVED_H
#define RW_ANALYZERS_CNP_STARVED_H

#include "analyzers/detect/congestion_signs.h"

/* cnp_starved_judge - the drops go to @over; queues that dropped before and do not now to @under.
 * Both in the order of ports. Nothing where the site does without DCQCN. */
void cnp_starved_judge(const struct analyzer_in *in, const struct congestion_options *options,
	struct finding_list *over, struct finding_list *under);

#endif

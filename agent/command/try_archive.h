/*
 * try_archive - a recorded case out of the support archives of switches: what "rocewatch try"
 * judges where it is given folders in place of addresses.
 */
#pragma once

#include "base/base.h"

#include "agent/command/survey.h"

struct try_archive {
	size_t readings; /* of the switch with the fewest */
	int64_t shortest_ns, longest_ns; /* from a switch's first reading to its last */
	int64_t apart_ns; /* between the last readings of two switches */
};

/*
 * try_archive_read - the switches of the @n unpacked archives @dirs: into @survey, and as
 * fabric.yaml and samples.tsv into the folder @to. All readings are moved so that the last ones
 * meet. survey_done() in any case. 0 or negative errno with @e, which names the file.
 */
int try_archive_read(char *const *dirs, size_t n, const char *to, struct survey *survey,
	struct try_archive *ret, struct err *e);

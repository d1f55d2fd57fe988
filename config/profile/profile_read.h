/* profile_read - one YAML text to one struct profile; inside of the config room only. */
#pragma once

#include "config/profile/profile.h"
#include "base/base.h"

/* The compiled-in files (generated from config/profiles/ when the program is built); name NULL ends
 * the list. */
struct profile_text {
	const char *file;
	const char *text;
	size_t n;
};
extern const struct profile_text profile_texts[];

struct profile_draft { /* a profile before its "extends" was followed */
	struct profile *profile;
	const char *extends;
	int extends_line, extends_col;
	const char **without; /* tables of the extended one that are left out */
	int *without_lines;
	size_t n_without;
	bool extended; /* "extends" has been followed */
};

/* profile_read - 0, or -EINVAL with errors added. Everything lives in @a. */
int profile_read(const char *text, size_t n, const char *file, struct arena *a,
	struct profile_draft *ret, struct err_list *errors);

/* profile_gnmi_extend - profile->gnmi takes the streams of @base (NULL = there is none of that
 * name) it does not replace. 0 or -EINVAL. */
int profile_gnmi_extend(
	struct profile *profile, const struct profile *base, struct arena *a, struct err *e);

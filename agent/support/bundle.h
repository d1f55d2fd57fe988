/*
 * bundle - what a maintainer needs to reproduce a problem, as one file: an archive (.tar.gz) of
 * texts, without secrets. Every part is made by a process of its own, bounded in time and size: a
 * dead agent, a broken configuration and a damaged database cost the parts that need them, and the
 * manifest says so. Blocks for up to two minutes.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

struct bundle_ask {
	/* The global options, as they are handed on. NULL: not given */
	const char *config, *db;
	const char *since, *until; /* of the case; NULL: the last hour */
	const char *incident; /* its case instead; NULL */
	const char *unit; /* of systemd, whose journal is read */
	const char *const *devices; /* 'profile test' asks these; ends with NULL */
	const char *const *added; /* texts to put in; ends with NULL */
	bool anonymize;
};

/* bundle_plan - what would go in: {parts: [{name, what, from}]}. The caller drops it. */
json_t *bundle_plan(const struct bundle_ask *ask);

/*
 * bundle_write - makes @path, which must not exist (-EEXIST; a link counts as existing), with mode
 * 0600. *@ret (a new reference) is the manifest: {program, created, masked, files: [{name, what,
 * bytes, sha256}], missing: [{name, why}]}. 0, or a negative errno with @e; then there is no file.
 */
int bundle_write(const char *path, const struct bundle_ask *ask, json_t **ret, struct err *e);

/*
 * ecmp_imbalance_text - what the analyzer ecmp_imbalance says of a measured group, and which member
 * it says it of. Pure; texts live in @a. For ecmp_imbalance.c.
 */
#ifndef RW_DETECT_ECMP_IMBALANCE_TEXT_H
#define RW_DETECT_ECMP_IMBALANCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "analyzers/measure/ecmp_group.h"
#include "db/model/ecmp.h"

struct arena;

/* A member that is up and gets nothing. */
bool ecmp_is_dead(const struct ecmp_member *member);
/* Many queue pairs, and all of them on one source port: a hash sees no more than pairs of
 * addresses. */
bool ecmp_has_one_port(const struct ecmp_measure *measure);

/* ecmp_summary_text - the sentence of a finding, whatever its verdict. */
const char *ecmp_summary_text(
	const struct ecmp_measure *measure, const struct ecmp_options *options, struct arena *a);
/* ecmp_with_paths - the same with the members that are down. */
const char *ecmp_with_paths(
	const char *summary, const struct ecmp_measure *measure, struct arena *a);
const char *ecmp_members_with(
	const struct ecmp_measure *measure, enum ecmp_link link, struct arena *a);
const char *ecmp_chance_number(double chance, struct arena *a); /* "p = 0.03" */
const char *ecmp_tuples_text(const struct ecmp_measure *measure, struct arena *a);

#endif

/* try_archive - see try_archive.h. */
#include "agent/command/try_archive.h"

#include "agent/command/try_dump.h"
#include "agent/document/paper.h"
#include "agent/history/case_export.h"
#include "collectors/recorded/replay.h"
#include "config/profile/profile.h"
#include "config/profile/profile_gnmi.h"
#include "db/model/entity.h"

#define ARCHIVE_INTERVALS 8 /* at least: a window is three, and an incident takes two windows */

struct archive_set {
	struct try_dump *v;
	size_t n;
	struct arena *a;
	struct entities *entities;
	struct profiles *profiles;
	const struct profile *profile;
	const struct survey *survey;
};

/* The profile of switches whose counters stand in a database of that name. */
static const struct profile *archive_profile(const struct profiles *profiles)
{
	for (size_t i = 0; i < profiles_count(profiles); i++) {
		const struct profile *profile = profiles_at(profiles, i);
		for (size_t k = 0; profile->gnmi && k < profile->gnmi->n_streams; k++)
			if (str_eq(profile->gnmi->streams[k]->target, "COUNTERS_DB"))
				return profile;
	}
	return NULL;
}

static int archive_open(struct archive_set *set, size_t n, struct err *e)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	*set = (struct archive_set){.a = arena_new(), .entities = entities_new()};
	set->v = arena_array(set->a, struct try_dump, n);
	const int rc = profiles_load(NULL, &set->profiles, &errors);
	if (rc < 0)
		return err_set(e, rc, "the built-in profiles cannot be read");
	set->profile = archive_profile(set->profiles);
	return 0;
}

static void archive_close(struct archive_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		try_dump_done(&set->v[i]);
	profiles_free(set->profiles);
	entities_free(set->entities);
	arena_free(set->a);
}

static int archive_read_all(struct archive_set *set, char *const *dirs, size_t n, struct err *e)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct try_dump *dump = &set->v[set->n++];
		rc = try_dump_read(
			dirs[i], set->profiles, set->profile, set->entities, set->a, dump, e);
		for (size_t k = 0; rc == 0 && k < i; k++)
			if (str_eq(set->v[k].name, dump->name))
				rc = err_set(e, -EINVAL, "%s and %s are both of the switch %s",
					dirs[k], dirs[i], dump->name);
	}
	return rc;
}

static int64_t archive_last(const struct try_dump *dump)
{
	return dump->times_ns[dump->n_readings - 1];
}

static void archive_count(const struct try_dump *dump, struct try_archive *ret)
{
	const int64_t span_ns = archive_last(dump) - dump->times_ns[0];
	if (dump->n_readings < ret->readings)
		ret->readings = dump->n_readings;
	if (span_ns < ret->shortest_ns)
		ret->shortest_ns = span_ns;
	if (span_ns > ret->longest_ns)
		ret->longest_ns = span_ns;
}

/* All at one time, with enough in between; and what is to be said of it. */
static void archive_align(struct archive_set *set, struct try_archive *ret)
{
	int64_t oldest_ns = archive_last(&set->v[0]), newest_ns = oldest_ns;
	*ret = (struct try_archive){.readings = SIZE_MAX, .shortest_ns = INT64_MAX};
	for (size_t i = 0; i < set->n; i++) {
		const int64_t last_ns = archive_last(&set->v[i]);
		archive_count(&set->v[i], ret);
		if (last_ns < oldest_ns)
			oldest_ns = last_ns;
		if (last_ns > newest_ns)
			newest_ns = last_ns;
	}
	ret->apart_ns = newest_ns - oldest_ns;
	for (size_t i = 0; i < set->n; i++) {
		try_dump_move(&set->v[i], newest_ns);
		try_dump_fill(&set->v[i], ARCHIVE_INTERVALS);
	}
}

static int archive_survey(const struct archive_set *set, struct survey *survey, struct err *e)
{
	const char **names = arena_array(set->a, const char *, set->n);
	for (size_t i = 0; i < set->n; i++)
		names[i] = set->v[i].name;
	const int rc = survey_named(survey, names, set->n, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < set->n; i++) {
		const struct try_dump *dump = &set->v[i];
		survey_known(survey, i, set->profile->name, &dump->self, dump->neighbors,
			dump->n_neighbors);
		survey_counted(survey, set->entities, dump->samples.v, dump->samples.n);
	}
	survey_link(survey);
	return 0;
}

static int archive_write_fabric(FILE *out, void *arg)
{
	const struct archive_set *set = arg;
	rw_cleanup(str_done) struct str extra = {0};
	str_add(&extra,
		"# samples.tsv: between two readings of a switch, what a counter rose by is "
		"spread evenly\n");
	survey_add_job(&extra, set->survey);
	survey_print(out, set->survey, NULL, str_or(extra.s, ""), true);
	if (fflush(out) != 0 || ferror(out))
		return -EIO;
	return 0;
}

/* A name that a switch gave may make a thing of another kind of it, which no case may hold. */
static bool archive_has_place(const struct archive_set *set, const struct sample *sample)
{
	const struct entity *entity = entity_get(set->entities, sample->entity);
	return entity && !sample_scope_error(sample->metric, entity);
}

static int archive_write(const struct archive_set *set, const char *to, struct err *e)
{
	rw_cleanup(str_done) struct str fabric = {0};
	struct sample_list all = {0};
	for (size_t i = 0; i < set->n; i++)
		for (size_t k = 0; k < set->v[i].samples.n; k++) {
			const struct sample *sample = &set->v[i].samples.v[k];
			if (!archive_has_place(set, sample))
				continue;
			rw_grow(all.v, all.n, all.cap);
			all.v[all.n++] = *sample;
		}
	if (all.n > 0)
		qsort(all.v, all.n, sizeof(*all.v), sample_order);
	str_addf(&fabric, "%s/fabric.yaml", to);
	int rc = file_write(fabric.s, archive_write_fabric, (void *)set, e);
	if (rc == 0)
		rc = case_write_samples(to, set->entities, all.v, all.n, e);
	free(all.v);
	return rc;
}

int try_archive_read(char *const *dirs, size_t n, const char *to, struct survey *survey,
	struct try_archive *ret, struct err *e)
{
	struct archive_set set;
	int rc = archive_open(&set, n, e);
	if (rc == 0)
		rc = archive_read_all(&set, dirs, n, e);
	if (rc == 0) {
		archive_align(&set, ret);
		rc = archive_survey(&set, survey, e);
	}
	set.survey = survey;
	if (rc == 0)
		rc = archive_write(&set, to, e);
	archive_close(&set);
	return rc;
}

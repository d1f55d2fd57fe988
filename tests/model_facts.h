/*
 * model_facts - models.tsv: what makers' own models say of the paths that profiles read. Of the
 * test that judges the profiles by it, and of the page that shows it.
 */
#ifndef RW_TESTS_MODEL_FACTS_H
#define RW_TESTS_MODEL_FACTS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/str.h"
#include "config/profile/profile_gnmi.h"

#define FACTS_MAX 1000

struct fact {
	char *profile, *verdict, *since, *unit, *path, *source;
};

static struct {
	char *text;
	struct fact v[FACTS_MAX];
	size_t n;
	const char *sources[128]; /* by letter */
} facts;

static bool fact_is_of(const struct fact *fact, const char *profile)
{
	return profile && strcmp(fact->profile, profile) == 0;
}

static bool fact_is_absent(const struct fact *fact)
{
	return strcmp(fact->verdict, "absent") == 0;
}

/* "/a/(b|c)" is "/a/b" and "/a/c". */
static int facts_add(struct fact *fact)
{
	char *open = strchr(fact->path, '(');
	if (!open) {
		facts.v[facts.n] = *fact;
		facts.v[facts.n].path = rw_strdup(fact->path);
		return ++facts.n == FACTS_MAX ? -1 : 0;
	}
	*open = '\0';
	char *list = open + 1, *tail = strchr(list, ')');
	if (!tail)
		return -1;
	*tail++ = '\0';
	for (char *leaf; (leaf = strsep(&list, "|"));) {
		rw_cleanup(str_done) struct str path = {0};
		struct fact one = *fact;
		str_addf(&path, "%s%s%s", fact->path, leaf, tail);
		one.path = path.s;
		if (facts_add(&one) < 0)
			return -1;
	}
	return 0;
}

static int facts_read(const char *path)
{
	size_t n = 0;
	char *save = NULL;
	if (str_read_file(path, 1 << 20, &facts.text, &n, NULL) < 0)
		return -1;
	for (char *line = strtok_r(facts.text, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save)) {
		struct fact f = {0};
		char *words = line;
		if (line[0] == '#' && line[1] == ' ' && line[2] && line[3] == ' ')
			facts.sources[line[2] & 127] = line + 4;
		if (line[0] == '#')
			continue;
		char **const parts[] = {
			&f.profile, &f.verdict, &f.since, &f.unit, &f.path, &f.source};
		for (size_t i = 0; i < rw_countof(parts); i++)
			*parts[i] = strsep(&words, "\t");
		if (!f.source || words || facts_add(&f) < 0)
			return -1;
	}
	return 0;
}

static void facts_free(void)
{
	for (size_t i = 0; i < facts.n; i++)
		free(facts.v[i].path);
	free(facts.text);
}

static inline const struct fact *fact_absent(const char *profile, const char *path)
{
	for (size_t i = 0; i < facts.n; i++)
		if (fact_is_of(&facts.v[i], profile) && fact_is_absent(&facts.v[i]) &&
			profile_gnmi_is_under(path, facts.v[i].path))
			return &facts.v[i];
	return NULL;
}

static const struct fact *fact_served(const char *profile, const char *path)
{
	char plain[PROFILE_GNMI_PLAIN_MAX];
	profile_gnmi_plain(path, plain, sizeof(plain));
	for (size_t i = 0; i < facts.n; i++)
		if (fact_is_of(&facts.v[i], profile) && !fact_is_absent(&facts.v[i]) &&
			strcmp(facts.v[i].path, plain) == 0)
			return &facts.v[i];
	return NULL;
}

/* What @profile, or the one it extends, is told of @path; NULL: nobody looked it up. */
static const struct fact *fact_of(const char *profile, const char *extends, const char *path)
{
	const struct fact *served = fact_served(profile, path);
	return served ? served : fact_served(extends, path);
}

#endif

/* profile - the set of profiles: built-in and site files, "extends" followed once, and the choice
 * for a device. */
#include "config/profile/profile.h"

#include <dirent.h>

#include "base/process.h"
#include "config/neighbor_kind.h"
#include "config/profile/profile_read.h"
#include "config/profile/profile_tune.h"
#include "db/model/entity.h"
#include "config/profile/profile_gnmi.h"

#define FILE_MAX_BYTES (1u << 20)
#define GENERIC "generic"
#define DESCR_WEIGHT 1000 /* more than the arcs of any object id */

struct profiles {
	struct arena *arena;
	struct profile_draft *drafts;
	size_t n, cap;
};

static struct profiles *set_new(void)
{
	struct profiles *p = rw_calloc(1, sizeof(*p));
	p->arena = arena_new();
	return p;
}

void profiles_free(struct profiles *profiles)
{
	if (!profiles)
		return;
	arena_free(profiles->arena);
	free(profiles->drafts);
	free(profiles);
}

/* set_add - a later one of the same name replaces an earlier one. */
static void set_add(struct profiles *profiles, const struct profile_draft *draft)
{
	for (size_t i = 0; i < profiles->n; i++)
		if (strcmp(profiles->drafts[i].profile->name, draft->profile->name) == 0) {
			profiles->drafts[i] = *draft;
			return;
		}
	rw_grow(profiles->drafts, profiles->n, profiles->cap);
	profiles->drafts[profiles->n++] = *draft;
}

static int set_read(struct profiles *profiles, const char *text, size_t n, const char *file,
	struct err_list *errors)
{
	struct profile_draft d;
	int rc = profile_read(text, n, file, profiles->arena, &d, errors);
	if (rc == 0)
		set_add(profiles, &d);
	return rc;
}

static int profile_wrong(struct err_list *errors, const char *file, int line, int col,
	const char *before, const char *what, const char *after)
{
	struct err e = {0};
	err_at(&e, -EINVAL, file, line, col, "%s'%s'%s", before, what, after);
	err_list_add(errors, &e);
	return -EINVAL;
}

static bool profile_left_out(const struct profile_draft *draft, const struct profile_table *table)
{
	for (size_t i = 0; i < draft->n_without; i++)
		if (strcmp(draft->without[i], table->name) == 0)
			return true;
	for (size_t i = 0; i < draft->profile->n_tables; i++)
		if (strcmp(draft->profile->tables[i]->name, table->name) == 0)
			return true; /* an own table replaces it */
	return false;
}

static void extend_management(
	struct profiles *set, struct profile *profile, const struct profile *base)
{
	const size_t own = profile->n_management_ports;
	const char **globs =
		arena_array(set->arena, const char *, own + base->n_management_ports + 1);
	for (size_t i = 0; i < own; i++)
		globs[i] = profile->management_ports[i];
	for (size_t i = 0; i < base->n_management_ports; i++)
		globs[own + i] = base->management_ports[i];
	profile->management_ports = globs;
	profile->n_management_ports += base->n_management_ports;
}

static bool tables_have(struct profile_table *const *tables, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(tables[i]->name, name) == 0)
			return true;
	return false;
}

/* profile_extend - one level: what @draft does not say is taken from its base, tables of the base
 * come first.
 */
static int profile_extend(
	struct profiles *set, struct profile_draft *draft, struct err_list *errors)
{
	struct profile *p = draft->profile;
	if (!draft->extends)
		return 0;
	const struct profile *base = NULL;
	for (size_t i = 0; i < set->n; i++)
		if (strcmp(set->drafts[i].profile->name, draft->extends) == 0) {
			if (set->drafts[i].extends)
				base = NULL;
			else
				base = set->drafts[i].profile;
		}
	if (!base)
		return profile_wrong(errors, p->file, draft->extends_line, draft->extends_col,
			"read ", draft->extends,
			", expected the name of a profile that does not itself extend another");
	for (size_t i = 0; i < draft->n_without; i++) {
		bool found = false;
		for (size_t k = 0; k < base->n_tables; k++)
			found = found || strcmp(base->tables[k]->name, draft->without[i]) == 0;
		if (!found)
			return profile_wrong(errors, p->file, draft->without_lines[i], 0, "read ",
				draft->without[i],
				", expected a table of the profile this one extends");
	}
	struct profile_table **tables =
		arena_array(set->arena, struct profile_table *, base->n_tables + p->n_tables + 1);
	size_t n = 0;
	for (size_t i = 0; i < base->n_tables; i++)
		if (!profile_left_out(draft, base->tables[i]))
			tables[n++] = base->tables[i];
	p->n_tables_inherited = n;
	for (size_t i = 0; i < p->inherited.n; i++)
		if (!tables_have(tables, n, p->inherited.names[i]))
			return profile_wrong(errors, p->file, p->inherited.lines[i], 0, "read ",
				p->inherited.names[i],
				", expected a table that comes from the profile this one extends");
	for (size_t i = 0; i < p->n_tables; i++)
		tables[n++] = p->tables[i];
	p->tables = tables;
	p->n_tables = n;
	if (p->n_traps == 0) {
		p->traps = base->traps;
		p->n_traps = base->n_traps;
	}
	p->snmp = p->snmp || base->snmp;
	extend_management(set, p, base);
	return 0;
}

static int extend_gnmi(struct profiles *set, struct profile *profile, struct err_list *errors)
{
	struct err e = {0};
	if (!profile->gnmi || !profile->gnmi->extends ||
		profile_gnmi_extend(
			profile, profiles_get(set, profile->gnmi->extends), set->arena, &e) == 0)
		return 0;
	err_list_add(errors, &e);
	return -EINVAL;
}

static int profile_by_name(const void *left, const void *right)
{
	const struct profile_draft *x = left, *y = right;
	bool gx = strcmp(x->profile->name, GENERIC) == 0,
	     gy = strcmp(y->profile->name, GENERIC) == 0;
	if (gx != gy) {
		if (gx)
			return -1;
		return 1;
	}
	return strcmp(x->profile->name, y->profile->name);
}

/* Is @name one of the first @n tables, and read as often as @table? */
static bool table_is_before(const struct profile *profile, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(profile->tables[i]->name, name) == 0)
			return profile->tables[i]->cadence == profile->tables[n]->cadence;
	return false;
}

/* profile_before_check - "unless" and "behind" name a table that is read before this one. */
static int profile_before_check(const struct profile *profile, struct err_list *errors)
{
	static const char expected[] = ", expected a table before it, of the same cadence";
	for (size_t i = 0; i < profile->n_tables; i++) {
		const struct profile_table *table = profile->tables[i];
		if (table->unless && !table_is_before(profile, i, table->unless))
			return profile_wrong(errors, profile->file, table->line, 0,
				"read unless: ", table->unless, expected);
		if (table->behind && !table_is_before(profile, i, table->behind))
			return profile_wrong(errors, profile->file, table->line, 0,
				"read behind: ", table->behind, expected);
	}
	return 0;
}

/* set_finish - follow "extends". The built-in ones are finished before site files are read: a
 * site's "generic" does not change them. */
static int set_finish(struct profiles *profiles, struct err_list *errors)
{
	int rc = 0;
	for (size_t i = 0; i < profiles->n; i++)
		if (!profiles->drafts[i].extended &&
			(profile_extend(profiles, &profiles->drafts[i], errors) < 0 ||
				profile_before_check(profiles->drafts[i].profile, errors) < 0 ||
				extend_gnmi(profiles, profiles->drafts[i].profile, errors) < 0))
			rc = -EINVAL;
	for (size_t i = 0; i < profiles->n; i++)
		profiles->drafts[i].extended = true;
	qsort(profiles->drafts, profiles->n, sizeof(*profiles->drafts), profile_by_name);
	return rc;
}

static int read_builtin(struct profiles *profiles, struct err_list *errors)
{
	int rc = 0;
	for (const struct profile_text *t = profile_texts; t->file; t++)
		if (set_read(profiles, t->text, t->n, t->file, errors) < 0)
			rc = -EINVAL;
	if (rc == 0)
		return set_finish(profiles, errors);
	return rc;
}

static int is_profile_file(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);
	return entry->d_name[0] != '.' && n > 5 && strcmp(entry->d_name + n - 5, ".yaml") == 0;
}

static int read_site(struct profiles *profiles, const char *dir, struct err_list *errors)
{
	struct dirent **list;
	struct err late = {0};
	if (path_answers(dir, &late) < 0) {
		err_list_add(errors, &late);
		return -EINVAL;
	}
	int rc = 0, n = scandir(dir, &list, is_profile_file, alphasort);
	if (n < 0) {
		struct err e = {0};
		err_set(&e, -errno, "cannot read the profile directory %s: %s", dir,
			strerror(errno));
		err_list_add(errors, &e);
		return -EINVAL;
	}
	for (int i = 0; i < n; i++) {
		char path[4096];
		rw_cleanup(freep) char *text = NULL;
		size_t size;
		struct err e = {0};
		snprintf(path, sizeof(path), "%s/%s", dir, list[i]->d_name);
		if (str_read_file(path, FILE_MAX_BYTES, &text, &size, &e) < 0) {
			err_list_add(errors, &e);
			rc = -EINVAL;
		} else if (set_read(profiles, text, size, path, errors) < 0) {
			rc = -EINVAL;
		}
		free(list[i]);
	}
	free(list);
	return rc;
}

int profiles_load(const char *site_dir, struct profiles **ret, struct err_list *errors)
{
	struct profiles *p = set_new();
	int rc = read_builtin(p, errors);
	if (site_dir && read_site(p, site_dir, errors) < 0)
		rc = -EINVAL;
	if (rc == 0)
		rc = set_finish(p, errors);
	if (rc < 0) {
		profiles_free(p);
		return rc;
	}
	*ret = p;
	return 0;
}

static int profiles_one(struct profiles *set, const char *text, size_t n, const char *file,
	struct profiles **ret, struct err_list *errors)
{
	int rc = set_read(set, text, n, file, errors);
	if (rc == 0)
		rc = set_finish(set, errors);
	if (rc < 0) {
		profiles_free(set);
		return rc;
	}
	*ret = set;
	return 0;
}

int profiles_parse(const char *text, size_t n, const char *file, struct profiles **ret,
	struct err_list *errors)
{
	struct profiles *set = set_new();
	const int rc = read_builtin(set, errors);
	if (rc == 0)
		return profiles_one(set, text, n, file, ret, errors);
	profiles_free(set);
	return rc;
}

int profiles_parse_over(const struct profiles *base, const char *text, size_t n, const char *file,
	struct profiles **ret, struct err_list *errors)
{
	struct profiles *set = set_new();
	for (size_t i = 0; i < base->n; i++)
		set_add(set, &base->drafts[i]);
	return profiles_one(set, text, n, file, ret, errors);
}

size_t profiles_count(const struct profiles *profiles)
{
	return profiles->n;
}

const struct profile *profiles_at(const struct profiles *profiles, size_t i)
{
	assert(i < profiles->n);
	return profiles->drafts[i].profile;
}

const struct profile *profiles_get(const struct profiles *profiles, const char *name)
{
	for (size_t i = 0; i < profiles->n; i++)
		if (strcmp(profiles->drafts[i].profile->name, name) == 0)
			return profiles->drafts[i].profile;
	return NULL;
}

/* match_weight - 0 = does not fit. A description weighs more than any object id, both together
 * most. */
static size_t match_weight(
	const struct profile_match *match, const uint32_t *object_id, size_t n, const char *descr)
{
	if (match->n_object_id &&
		(n < match->n_object_id ||
			memcmp(object_id, match->object_id,
				match->n_object_id * sizeof(*object_id)) != 0))
		return 0;
	if (match->descr && !str_glob(match->descr, descr))
		return 0;
	if (match->descr)
		return match->n_object_id + DESCR_WEIGHT;
	return match->n_object_id;
}

const struct profile *profiles_match(
	const struct profiles *profiles, const uint32_t *object_id, size_t n, const char *descr)
{
	const struct profile *best = profiles_get(profiles, GENERIC);
	size_t weight = 0;
	for (size_t i = 0; i < profiles->n; i++) {
		const struct profile *c = profiles->drafts[i].profile;
		for (size_t k = 0; c->snmp && k < c->n_matches; k++) {
			size_t w = match_weight(&c->matches[k], object_id, n, str_or(descr, ""));
			if (w > weight) {
				weight = w;
				best = c;
			}
		}
	}
	return best;
}

const struct profile *profiles_match_models(
	const struct profiles *profiles, const char *const *models, size_t n)
{
	const struct profile *best = profiles_get(profiles, "openconfig");
	size_t weight = 0;
	if (!(best && best->gnmi))
		best = NULL;
	for (size_t i = 0; i < profiles->n; i++) {
		const struct profile *c = profiles->drafts[i].profile;
		size_t w = 0;
		for (size_t k = 0; c->gnmi && k < n; k++)
			for (size_t g = 0; g < c->gnmi->n_models; g++)
				w += str_glob(c->gnmi->models[g], models[k]);
		if (w > weight) {
			weight = w;
			best = c;
		}
	}
	return best;
}

int profile_priority(const struct profile *profile, uint32_t queue)
{
	if (!profile->has_tc_map) {
		if (queue < 8)
			return (int)queue;
		return PRIO_NONE;
	}
	if (queue < PROFILE_TC_MAX)
		return profile->tc_map[queue];
	return PRIO_NONE;
}

bool profile_port_name_of(const struct profile *profile, uint32_t ifindex, char *buf, size_t size)
{
	for (size_t i = 0; i < profile->n_port_names; i++) {
		const struct profile_port_name *r = &profile->port_names[i];
		if (ifindex < r->first || ifindex > r->last)
			continue;
		const char *at = strstr(r->name, "{n}");
		snprintf(buf, size, "%.*s%u%s", (int)(at - r->name), r->name, ifindex - r->subtract,
			at + 3);
		return true;
	}
	return false;
}

/* The number in @text where it is a name by this rule; -1 where it is none. */
static int64_t port_name_number(const struct profile_port_name *rule, const char *text)
{
	const char *at = strstr(rule->name, "{n}"), *suffix = at + 3;
	const size_t before = (size_t)(at - rule->name);
	if (strncmp(text, rule->name, before) != 0)
		return -1;
	const char *digits = text + before;
	const size_t n = strspn(digits, "0123456789");
	if (n == 0 || n > 9 || strcmp(digits + n, suffix) != 0)
		return -1;
	return strtoll(digits, NULL, 10);
}

bool profile_port_name_told(const struct profile *profile, uint32_t ifindex, const char *text)
{
	for (size_t i = 0; i < profile->n_port_names; i++) {
		const struct profile_port_name *rule = &profile->port_names[i];
		const int64_t number = port_name_number(rule, text);
		if (number < 0)
			continue;
		const bool by_index = ifindex >= rule->first && ifindex <= rule->last;
		return !by_index || number == ifindex - rule->subtract;
	}
	return false;
}

bool profile_is_management(const struct profile *profile, const char *port)
{
	for (size_t i = 0; i < profile->n_management_ports; i++)
		if (str_glob(profile->management_ports[i], port))
			return true;
	return false;
}

/* profile_asic - finds the switching chip of a platform in the tables of all profiles. */

const struct tune_asic *profiles_asic(const struct profiles *profiles, const char *platform)
{
	for (size_t i = 0; platform && i < profiles_count(profiles); i++) {
		const struct profile *at = profiles_at(profiles, i);
		for (size_t k = 0; k < at->n_asics; k++)
			if (tune_platform_fits(
				    at->asics[k].platforms, at->asics[k].n_platforms, platform))
				return &at->asics[k];
	}
	return NULL;
}

/* profile_neighbor - the texts of an LLDP neighbour against the words of all profiles. */

static bool globs_fit(const struct profile_globs *globs, const char *text)
{
	for (size_t i = 0; *text && i < globs->n; i++)
		if (str_glob(globs->v[i], text))
			return true;
	return false;
}

/* A device that this profile is for, by its description. */
static bool profile_descr_fits(const struct profile *profile, const char *descr)
{
	for (size_t i = 0; *descr && i < profile->n_matches; i++)
		if (profile->matches[i].descr && str_glob(profile->matches[i].descr, descr))
			return true;
	return globs_fit(&profile->network_os, descr);
}

void profiles_neighbor_signs(const struct profiles *profiles, const char *descr,
	const char *port_id, const char *port_descr, struct neighbor_signs *ret)
{
	for (size_t i = 0; i < profiles_count(profiles); i++) {
		const struct profile *profile = profiles_at(profiles, i);
		ret->network_os = ret->network_os || profile_descr_fits(profile, descr);
		ret->host_os = ret->host_os || globs_fit(&profile->host_os, descr);
		ret->switch_port = ret->switch_port || globs_fit(&profile->switch_ports, port_id) ||
			globs_fit(&profile->switch_ports, port_descr);
	}
}

/* slurm - the words of Slurm: lists of hosts, and the switches of a fabric as its topology plugin
 * reads them. */
#include "agent/jobs/slurm.h"

#include "agent/jobs/job_run.h"

/* ---- job_slurm - the list "jobs" of `squeue --json`. Names of members: Slurm's data_parser
 * plugins (v0.0.39 to v0.0.42, "JOB_INFO"). GPUs are counted from tres_alloc_str, which says what
 * was given: "gres/gpu=16"; a site that tracks only types has "gres/gpu:h100=16" alone. */

static const char *job_slurm_text(const json_t *job, const char *member)
{
	return json_string_value(json_object_get(job, member));
}

/* 7, or {"set": true, "infinite": false, "number": 7}; 0 when it is not given. */
static uint64_t job_slurm_number(const json_t *job, const char *member)
{
	const json_t *value = json_object_get(job, member);
	if (json_is_object(value)) {
		if (!json_is_true(json_object_get(value, "set")))
			return 0;
		value = json_object_get(value, "number");
	}
	const json_int_t number = json_integer_value(value);
	if (number < 0)
		return 0;
	return (uint64_t)number;
}

static bool job_slurm_runs(const json_t *job)
{
	const json_t *state = json_object_get(job, "job_state");
	if (json_is_string(state))
		return strcmp(json_string_value(state), "RUNNING") == 0;
	for (size_t i = 0; i < json_array_size(state); i++) {
		const char *word = json_string_value(json_array_get(state, i));
		if (word && strcmp(word, "RUNNING") == 0)
			return true;
	}
	return false;
}

/* The count behind "gres/gpu=", else the sum of all "gres/gpu:TYPE=". */
static uint64_t job_slurm_gpus(const char *tres)
{
	static const char word[] = "gres/gpu";
	uint64_t typed = 0;
	for (const char *at = strstr(tres, word); at; at = strstr(at + 1, word)) {
		const char *end = at + strlen(word);
		const bool begins = at == tres || at[-1] == ',';
		if (begins && *end == '=')
			return strtoull(end + 1, NULL, 10);
		const char *equals = end + strcspn(end, "=,");
		if (begins && *end == ':' && *equals == '=')
			typed += strtoull(equals + 1, NULL, 10);
	}
	return typed;
}

static int job_slurm_take(struct job_runs *runs, const json_t *job, struct err *e)
{
	uint64_t id = job_slurm_number(job, "het_job_id"); /* its components are one job */
	if (id == 0)
		id = job_slurm_number(job, "job_id");
	const char *name = arena_printf(runs->a, "%.180s/%llu",
		str_or(job_slurm_text(job, "name"), "job"), (unsigned long long)id);
	struct job_run *run = job_runs_of(runs, name, job_slurm_text(job, "user_name"));
	const char *const *hosts;
	size_t n;
	const int rc =
		hostlist_expand(runs->a, str_or(job_slurm_text(job, "nodes"), ""), &hosts, &n, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n; i++)
		job_run_add_host(runs, run, hosts[i]);
	run->gpus += job_slurm_gpus(str_or(job_slurm_text(job, "tres_alloc_str"), ""));
	return 0;
}

int job_slurm_read(struct job_runs *runs, const json_t *jobs, struct err *e)
{
	for (size_t i = 0; i < json_array_size(jobs); i++) {
		const json_t *job = json_array_get(jobs, i);
		if (!json_is_object(job))
			return err_set(e, -EINVAL, "jobs[%zu] is no object", i);
		if (!job_slurm_runs(job)) {
			runs->waiting++;
			continue;
		}
		struct err why = {0};
		if (job_slurm_take(runs, job, &why) < 0)
			return err_set(e, -EINVAL, "jobs[%zu].nodes: %s", i, why.text);
	}
	return 0;
}

enum { HOSTLIST_MAX = 65536 }; /* names that one list may stand for */

/* hostlist - reads and writes lists of hosts in the words of Slurm. */

enum { NUMBER_DIGITS = 18, NAME_BYTES = 255 };

/* ---- reading ------------------------------------------------------------- */

struct hostlist_names {
	struct arena *a;
	const char *text; /* the whole list, for messages */
	const char **v;
	size_t n, cap;
	struct err *e;
};

static int hostlist_wrong(const struct hostlist_names *names, const char *at, const char *expected)
{
	return err_set(names->e, -EINVAL, "'%.64s' is no list of hosts: character %zu: expected %s",
		names->text, (size_t)(at - names->text) + 1, expected);
}

struct hostlist_range {
	uint64_t from, to;
	int width;
};

/* One of the parts between commas in brackets: "7" or "001-016". @at moves behind it. */
static int hostlist_range(
	const struct hostlist_names *names, const char **at, struct hostlist_range *ret)
{
	const char *begin = *at;
	const size_t digits = strspn(begin, "0123456789");
	if (digits == 0 || digits > NUMBER_DIGITS)
		return hostlist_wrong(names, begin, "a number of 1 to 18 digits");
	*ret = (struct hostlist_range){.from = strtoull(begin, NULL, 10), .width = (int)digits};
	ret->to = ret->from;
	*at = begin + digits;
	if (**at != '-')
		return 0;
	const char *last = *at + 1;
	const size_t last_digits = strspn(last, "0123456789");
	if (last_digits == 0 || last_digits > NUMBER_DIGITS)
		return hostlist_wrong(names, last, "a number of 1 to 18 digits");
	ret->to = strtoull(last, NULL, 10);
	if (ret->to < ret->from)
		return hostlist_wrong(names, last, "a number that is not below the first one");
	if (ret->to - ret->from >= HOSTLIST_MAX)
		return hostlist_wrong(names, last, "a range of at most 65,536 numbers");
	*at = last + last_digits;
	return 0;
}

static int hostlist_word(struct hostlist_names *names, const char *prefix, const char *rest);

/* "[...]" at @open, behind @prefix: each number of each range, and what follows the bracket. */
static int hostlist_bracket(struct hostlist_names *names, const char *prefix, const char *open)
{
	const char *close = strchr(open, ']');
	if (!close)
		return hostlist_wrong(names, open, "a ']' behind this '['");
	for (const char *at = open + 1; at < close;) {
		struct hostlist_range range = {0};
		int rc = hostlist_range(names, &at, &range);
		if (rc < 0)
			return rc;
		for (uint64_t k = range.from; k <= range.to && rc == 0; k++) {
			const char *name = arena_printf(
				names->a, "%s%0*llu", prefix, range.width, (unsigned long long)k);
			rc = hostlist_word(names, name, close + 1);
		}
		if (rc < 0)
			return rc;
		if (*at != ',' && at != close)
			return hostlist_wrong(names, at, "',' or ']'");
		at += *at == ',';
	}
	return 0;
}

/* The rest of one name, up to a comma or the end. */
static int hostlist_word(struct hostlist_names *names, const char *prefix, const char *rest)
{
	const size_t plain = strcspn(rest, "[],");
	const char *name = prefix;
	if (plain > 0)
		name = arena_printf(names->a, "%s%.*s", prefix, (int)plain, rest);
	if (strlen(name) > NAME_BYTES) /* also the bound of brackets in one name */
		return hostlist_wrong(names, rest, "a name of at most 255 characters");
	if (rest[plain] == ']')
		return hostlist_wrong(names, rest + plain, "a '[' before this ']'");
	if (rest[plain] == '[')
		return hostlist_bracket(names, name, rest + plain);
	if (!*name)
		return hostlist_wrong(names, rest, "a name");
	if (names->n == HOSTLIST_MAX)
		return err_set(names->e, -EINVAL, "'%.64s...' stands for more than %d hosts",
			names->text, HOSTLIST_MAX);
	arena_grow(names->a, names->v, names->n, names->cap);
	names->v[names->n++] = name;
	return 0;
}

/* Behind the name that begins at @at: commas in brackets separate numbers. */
static const char *hostlist_next(const char *at)
{
	bool inside = false;
	for (; *at && (inside || *at != ','); at++) {
		if (*at == '[')
			inside = true;
		else if (*at == ']')
			inside = false;
	}
	return at;
}

int hostlist_expand(
	struct arena *a, const char *text, const char *const **ret, size_t *ret_n, struct err *e)
{
	struct hostlist_names names = {.a = a, .text = text, .e = e};
	*ret = NULL;
	*ret_n = 0;
	/* Several brackets multiply: too long a list is refused before anything is made of it. */
	if (strlen(text) > (size_t)HOSTLIST_MAX * 16)
		return err_set(e, -EINVAL, "a list of hosts of %zu bytes; expected at most 1 MiB",
			strlen(text));
	for (const char *at = text; *at;) {
		const int rc = hostlist_word(&names, "", at);
		if (rc < 0)
			return rc;
		at = hostlist_next(at);
		at += *at == ',';
	}
	*ret = names.v;
	*ret_n = names.n;
	return 0;
}

/* ---- writing ------------------------------------------------------------- */

static int hostlist_by_name(const void *left, const void *right)
{
	return name_compare(*(const char *const *)left, *(const char *const *)right);
}

/* A name as "prefix, number, suffix": the last number in it is the one that ranges. */
struct hostlist_parts {
	const char *name;
	size_t prefix, digits;
	uint64_t number;
};

static struct hostlist_parts hostlist_split(const char *name)
{
	struct hostlist_parts ret = {.name = name, .prefix = strlen(name)};
	size_t end = strlen(name);
	while (end > 0 && !isdigit((unsigned char)name[end - 1]))
		end--;
	size_t begin = end;
	while (begin > 0 && isdigit((unsigned char)name[begin - 1]) && end - begin < NUMBER_DIGITS)
		begin--;
	if (begin == end)
		return ret;
	ret.prefix = begin;
	ret.digits = end - begin;
	ret.number = strtoull(name + begin, NULL, 10);
	return ret;
}

/* May both stand in one bracket? Width matters: node1 and node01 are two hosts. */
static bool hostlist_alike(const struct hostlist_parts *one, const struct hostlist_parts *other)
{
	return one->digits > 0 && one->digits == other->digits && one->prefix == other->prefix &&
		strncmp(one->name, other->name, one->prefix) == 0 &&
		strcmp(one->name + one->prefix + one->digits,
			other->name + other->prefix + other->digits) == 0;
}

static void hostlist_put_numbers(struct str *out, const struct hostlist_parts *parts, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t last = i;
		while (last + 1 < n && parts[last + 1].number == parts[last].number + 1)
			last++;
		if (i > 0)
			str_add(out, ",");
		str_addf(out, "%0*llu", (int)parts[i].digits, (unsigned long long)parts[i].number);
		if (last > i)
			str_addf(out, "-%0*llu", (int)parts[last].digits,
				(unsigned long long)parts[last].number);
		i = last + 1;
	}
}

static void hostlist_put(struct str *out, const struct hostlist_parts *parts, size_t n)
{
	if (n == 1) {
		str_add(out, parts->name);
		return;
	}
	str_addf(out, "%.*s[", (int)parts->prefix, parts->name);
	hostlist_put_numbers(out, parts, n);
	str_addf(out, "]%s", parts->name + parts->prefix + parts->digits);
}

void hostlist_join(struct str *out, const char *const *names, size_t n)
{
	struct arena *a = arena_new();
	const char **sorted = arena_array(a, const char *, n + 1);
	struct hostlist_parts *parts = arena_array(a, struct hostlist_parts, n + 1);
	size_t kept = 0;
	if (n > 0)
		memcpy(sorted, names, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), hostlist_by_name);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || strcmp(sorted[i], sorted[i - 1]) != 0)
			parts[kept++] = hostlist_split(sorted[i]);
	}
	for (size_t i = 0; i < kept;) {
		size_t end = i + 1;
		while (end < kept && hostlist_alike(&parts[i], &parts[end]))
			end++;
		if (i > 0)
			str_add(out, ",");
		hostlist_put(out, &parts[i], end - i);
		i = end;
	}
	arena_free(a);
}

/* slurm_topology - folds the graph of switches into a tree, and writes it. */

enum { NOWHERE = -1, TIERS_MAX = 16 };

struct tree_switch { /* one line of the file: one switch, or several that are one to Slurm */
	const char *name;
	const char *members; /* as a list of hosts is written; NULL: the switch itself */
	const char **nodes; /* hosts below it, or */
	size_t n_nodes;
	size_t *children; /* switches below it: positions in .switches */
	size_t n_children;
};

struct tree_build {
	struct arena *a;
	const struct fabric *fabric;
	int *above; /* of each device: the switch of the tree it is part of, or NOWHERE */
	struct tree_switch *switches;
	size_t n, cap;
};

static size_t tree_root(size_t *set, size_t at)
{
	while (set[at] != at) {
		set[at] = set[set[at]];
		at = set[at];
	}
	return at;
}

static void tree_join(size_t *set, size_t one, size_t other)
{
	const size_t a = tree_root(set, one), b = tree_root(set, other);
	if (a < b)
		set[b] = a;
	else
		set[a] = b;
}

/* "leaf1" alone; of several the first, and the others in a comment. */
static void tree_name(
	struct tree_build *build, struct tree_switch *sw, const char **devices, size_t n)
{
	sw->name = devices[0];
	if (n == 1)
		return;
	rw_cleanup(str_done) struct str members = {0};
	hostlist_join(&members, devices, n);
	sw->members = arena_strdup(build->a, members.s);
	sw->name = arena_printf(build->a, "with-%s", devices[0]);
}

/* ---- hosts and the switches that serve them ------------------------------- */

struct tree_hosts {
	const char **names;
	size_t *device; /* one that serves it */
	size_t n, cap_names, cap_device;
	struct smap *index;
};

static void tree_read_hosts(struct tree_build *build, struct tree_hosts *hosts, size_t *set)
{
	const struct fabric *fabric = build->fabric;
	for (size_t d = 0; d < fabric->n_devices; d++) {
		for (size_t p = 0; p < fabric->devices[d]->n_ports; p++) {
			const char *host = fabric->devices[d]->ports[p]->host;
			uint64_t at;
			if (!host)
				continue;
			if (smap_get(hosts->index, host, strlen(host), &at)) {
				tree_join(set, hosts->device[at], d);
				continue;
			}
			smap_put(hosts->index, host, strlen(host), hosts->n);
			arena_grow(build->a, hosts->device, hosts->n, hosts->cap_device);
			arena_grow(build->a, hosts->names, hosts->n, hosts->cap_names);
			hosts->device[hosts->n] = d;
			hosts->names[hosts->n++] = host;
		}
	}
}

static bool tree_serves_hosts(const struct fabric_device *device)
{
	for (size_t p = 0; p < device->n_ports; p++)
		if (device->ports[p]->host)
			return true;
	return false;
}

/* The switches next to hosts. */
static void tree_lowest(struct tree_build *build)
{
	const struct fabric *fabric = build->fabric;
	const size_t n = fabric->n_devices;
	size_t *set = arena_array(build->a, size_t, n + 1);
	struct tree_hosts hosts = {.index = smap_new()};
	for (size_t d = 0; d < n; d++)
		set[d] = d;
	tree_read_hosts(build, &hosts, set);
	smap_free(hosts.index);
	for (size_t first = 0; first < n; first++) {
		if (tree_root(set, first) != first || !tree_serves_hosts(fabric->devices[first]))
			continue;
		const char **devices = arena_array(build->a, const char *, n);
		size_t n_devices = 0;
		arena_grow(build->a, build->switches, build->n, build->cap);
		struct tree_switch *sw = &build->switches[build->n];
		*sw = (struct tree_switch){.nodes = arena_array(build->a, const char *, hosts.n)};
		for (size_t d = first; d < n; d++) {
			if (tree_root(set, d) != first)
				continue;
			devices[n_devices++] = fabric->devices[d]->name;
			build->above[d] = (int)build->n;
		}
		for (size_t h = 0; h < hosts.n; h++)
			if (tree_root(set, hosts.device[h]) == first)
				sw->nodes[sw->n_nodes++] = hosts.names[h];
		tree_name(build, sw, devices, n_devices);
		build->n++;
	}
}

/* ---- the tiers above ------------------------------------------------------ */

struct tree_tier {
	size_t first, end; /* the switches of the tree that stand on top so far */
	size_t *set; /* which of them become one: by position, then devices above them */
};

/* Joins what a link connects: two switches of the tier, or one of them and a device above. */
static void tree_tier_links(struct tree_build *build, struct tree_tier *tier)
{
	const struct fabric *fabric = build->fabric;
	const size_t n_low = tier->end;
	for (size_t d = 0; d < fabric->n_devices; d++) {
		if (build->above[d] == NOWHERE)
			continue;
		for (size_t p = 0; p < fabric->devices[d]->n_ports; p++) {
			const struct fabric_port *peer = fabric->devices[d]->ports[p]->peer;
			if (!peer)
				continue;
			const size_t other = peer->device->index;
			size_t joined = n_low + other;
			if (build->above[other] != NOWHERE)
				joined = (size_t)build->above[other];
			tree_join(tier->set, (size_t)build->above[d], joined);
		}
	}
}

/* One switch of the next tier: what stands below it, and the devices it is made of. */
static void tree_tier_add(struct tree_build *build, const struct tree_tier *tier, size_t root)
{
	const struct fabric *fabric = build->fabric;
	const char **devices = arena_array(build->a, const char *, fabric->n_devices + 1);
	struct tree_switch sw = {
		.children = arena_array(build->a, size_t, tier->end - tier->first)};
	size_t n_devices = 0;
	for (size_t k = tier->first; k < tier->end; k++)
		if (tree_root(tier->set, k) == root)
			sw.children[sw.n_children++] = k;
	for (size_t d = 0; d < fabric->n_devices; d++)
		if (build->above[d] == NOWHERE && tree_root(tier->set, tier->end + d) == root)
			devices[n_devices++] = fabric->devices[d]->name;
	if (n_devices == 0) { /* linked with each other, without a switch above */
		devices[0] = build->switches[sw.children[0]].name;
		sw.name = arena_printf(build->a, "above-%s", devices[0]);
	} else {
		tree_name(build, &sw, devices, n_devices);
	}
	arena_grow(build->a, build->switches, build->n, build->cap);
	build->switches[build->n++] = sw;
}

/* All that @from is part of is part of @to now. */
static void tree_lift(struct tree_build *build, const struct tree_tier *tier, const int *to)
{
	for (size_t d = 0; d < build->fabric->n_devices; d++) {
		size_t root = tree_root(tier->set, tier->end + d);
		if (build->above[d] != NOWHERE)
			root = tree_root(tier->set, (size_t)build->above[d]);
		if (build->above[d] != NOWHERE || to[root] != NOWHERE)
			build->above[d] = to[root];
	}
}

/* The next tier on top of @tier. False: nothing is above. */
static bool tree_raise(struct tree_build *build, struct tree_tier *tier)
{
	const size_t n = tier->end + build->fabric->n_devices;
	tier->set = arena_array(build->a, size_t, n);
	int *to = arena_array(build->a, int, n);
	for (size_t k = 0; k < n; k++) {
		tier->set[k] = k;
		to[k] = NOWHERE;
	}
	tree_tier_links(build, tier);
	const size_t before = build->n;
	for (size_t k = tier->first; k < tier->end; k++) {
		const size_t root = tree_root(tier->set, k);
		if (to[root] != NOWHERE)
			continue;
		to[root] = (int)build->n;
		tree_tier_add(build, tier, root);
	}
	const bool joined = build->n - before < tier->end - tier->first;
	tree_lift(build, tier, to);
	tier->first = before;
	tier->end = build->n;
	return joined;
}

static void tree_make(struct tree_build *build)
{
	const struct fabric *fabric = build->fabric;
	build->above = arena_array(build->a, int, fabric->n_devices + 1);
	for (size_t d = 0; d < fabric->n_devices; d++)
		build->above[d] = NOWHERE;
	tree_lowest(build);
	struct tree_tier tier = {.end = build->n};
	for (int k = 0; k < TIERS_MAX && tier.end - tier.first > 1; k++) {
		/* a tier that joins nothing says nothing; the one above it may */
		if (!tree_raise(build, &tier) && k > 0)
			break;
	}
}

/* ---- writing -------------------------------------------------------------- */

/* A switch with one child is that child. */
static size_t tree_plain(const struct tree_build *build, size_t at)
{
	while (build->switches[at].n_children == 1)
		at = build->switches[at].children[0];
	return at;
}

static void tree_children(
	const struct tree_build *build, const struct tree_switch *sw, struct str *out)
{
	const char **names = arena_array(build->a, const char *, sw->n_children + 1);
	for (size_t k = 0; k < sw->n_children; k++)
		names[k] = build->switches[tree_plain(build, sw->children[k])].name;
	hostlist_join(out, names, sw->n_children);
}

static void tree_print_switch(FILE *out, const struct tree_build *build,
	const struct tree_switch *sw, enum slurm_file file)
{
	static const char *const keys[][2] = {
		[SLURM_YAML] = {"children", "nodes"}, [SLURM_CONF] = {"Switches", "Nodes"}};
	rw_cleanup(str_done) struct str below = {0};
	const bool lowest = sw->n_nodes > 0;
	if (lowest)
		hostlist_join(&below, sw->nodes, sw->n_nodes);
	else
		tree_children(build, sw, &below);
	if (file == SLURM_YAML && sw->members)
		fprintf(out, "      # %s: %s\n", sw->name, sw->members);
	else if (sw->members)
		fprintf(out, "# %s: %s\n", sw->name, sw->members);
	if (file == SLURM_YAML)
		fprintf(out, "      - switch: %s\n        %s: %s\n", sw->name, keys[file][lowest],
			below.s);
	else
		fprintf(out, "SwitchName=%s %s=%s\n", sw->name, keys[file][lowest], below.s);
}

int slurm_topology_print(FILE *out, const struct fabric *fabric, enum slurm_file file)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct tree_build build = {.a = a, .fabric = fabric};
	tree_make(&build);
	if (build.n == 0)
		return -ENODATA;
	fprintf(out, "# The fabric %s, written by: rocewatch topology export\n", fabric->name);
	if (file == SLURM_YAML)
		fprintf(out,
			"---\n- topology: %s\n  cluster_default: true\n  tree:\n    switches:\n",
			fabric->name);
	for (size_t k = build.n; k > 0; k--)
		if (build.switches[k - 1].n_children > 1)
			tree_print_switch(out, &build, &build.switches[k - 1], file);
	for (size_t k = 0; k < build.n; k++)
		if (build.switches[k].n_nodes > 0)
			tree_print_switch(out, &build, &build.switches[k], file);
	return 0;
}

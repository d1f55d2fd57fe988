/* scenario - see scenario.h. Tables first, then the reader. */
#include "tests/fabric/scenario.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "config/yaml.h"
#include "tests/fabric/sim.h"

enum type { T_NUMBER, T_SIZE, T_BITRATE, T_LENGTH, T_DURATION, T_RATIO };
struct row {
	const char *section, *key;
	enum type type;
	size_t offset;
	const char *def; /* NULL: stays 0 */
};
#define ROW(section, key, type, member, def)                                                       \
	{                                                                                          \
		section, key, type, offsetof(struct scenario, member), def                         \
	}

static const struct row rows[] = {
	ROW("fabric", "leaves", T_NUMBER, leaves, "4"),
	ROW("fabric", "spines", T_NUMBER, spines, "4"),
	ROW("fabric", "hosts_per_leaf", T_NUMBER, hosts_per_leaf, "8"),
	ROW("fabric", "parallel", T_NUMBER, parallel, "2"),
	ROW("fabric", "rails", T_NUMBER, planes, "1"),
	ROW("fabric", "host_speed", T_BITRATE, host_bps, "400G"),
	ROW("fabric", "uplink_speed", T_BITRATE, uplink_bps, "400G"),
	ROW("fabric", "host_cable", T_LENGTH, host_cable_mm, "5m"),
	ROW("fabric", "uplink_cable", T_LENGTH, uplink_cable_mm, "40m"),
	ROW("fabric", "pool", T_SIZE, pool_bytes, "32MB"),
	ROW("fabric", "alpha", T_RATIO, alpha, "1/8"),
	ROW("fabric", "kmin", T_SIZE, kmin_bytes, "800KB"),
	ROW("fabric", "kmax", T_SIZE, kmax_bytes, "3200KB"),
	ROW("fabric", "pmax", T_RATIO, pmax, "20%"),
	ROW("fabric", "headroom_factor", T_NUMBER, headroom_factor, "1.3"),
	ROW("fabric", "headroom", T_SIZE, headroom_bytes, NULL),
	ROW("fabric", "xon_offset", T_SIZE, xon_offset_bytes, "8316B"),
	ROW("fabric", "second_priority", T_NUMBER, second_priority, "-1"),
	ROW("fabric", "watchdog", T_DURATION, watchdog_ns, NULL),
	ROW("load", "second_share", T_RATIO, second_share, NULL),
	ROW("load", "skew", T_RATIO, skew, NULL),
	ROW("load", "storage_hosts", T_NUMBER, storage_hosts, NULL),
	ROW("load", "storage_writes", T_RATIO, storage_share, NULL),
	ROW("load", "storage_reads", T_RATIO, storage_reads, NULL),
	ROW("load", "flowlet", T_DURATION, flowlet_ns, NULL),
	ROW("load", "jobs", T_NUMBER, jobs, "1"),
	ROW("load", "other_compute", T_DURATION, other_compute_ns, "170ms"),
	ROW("load", "other_exchange", T_DURATION, other_exchange_ns, "60ms"),
	ROW("load", "qps", T_NUMBER, qps, "16"),
	ROW("load", "group", T_NUMBER, group, "8"),
	ROW("load", "warm", T_RATIO, warm, "100%"),
	ROW("load", "slice", T_SIZE, slice_bytes, "8MB"),
	ROW("load", "compute", T_DURATION, compute_ns, "300ms"),
	ROW("load", "exchange", T_DURATION, exchange_ns, "100ms"),
	ROW("load", "step", T_DURATION, step_ns, NULL),
	ROW("load", "excess", T_DURATION, excess_ns, NULL),
	ROW("load", "slowdown", T_RATIO, slowdown, NULL),
	ROW("load", "jitter", T_RATIO, jitter, "1%"),
	ROW("load", "drift", T_RATIO, drift, "1%"),
	ROW("load", "gpus", T_NUMBER, gpus, NULL),
	ROW("load", "usd_per_gpu_hour", T_NUMBER, usd_per_gpu_hour, "30"),
	ROW("load", "checkpoint_every", T_DURATION, checkpoint_every_ns, NULL),
	ROW("load", "checkpoint", T_DURATION, checkpoint_ns, NULL),
	ROW(NULL, "at", T_DURATION, at_ns, "4m"),
	ROW(NULL, "for", T_DURATION, for_ns, "100y"),
	ROW(NULL, "length", T_DURATION, length_ns, "15m"),
	ROW(NULL, "every", T_DURATION, every_ns, NULL),
	ROW(NULL, "capture", T_SIZE, capture_bytes, NULL),
};

#define FAULT(key, type, member)                                                                   \
	{                                                                                          \
		NULL, key, type, offsetof(struct fault, member), NULL                              \
	}
static const struct row fault_keys[] = {
	FAULT("leaf", T_NUMBER, leaf),
	FAULT("spine", T_NUMBER, spine),
	FAULT("link", T_NUMBER, link),
	FAULT("host", T_NUMBER, host),
	FAULT("share", T_RATIO, share),
	FAULT("loss", T_RATIO, loss_ratio),
	FAULT("speed", T_BITRATE, speed_bps),
	FAULT("factor", T_NUMBER, factor),
	FAULT("size", T_SIZE, size_bytes),
	FAULT("length", T_DURATION, length_ns),
};

enum place { AT_LEAF = 1, AT_SPINE = 2, AT_LINK = 4, AT_HOST = 8 };
static const struct {
	const char *name;
	unsigned place; /* drawn by the seed where the file does not say */
} fault_rows[FAULT_KINDS] = {
	[FAULT_HASH_STUCK] = {"hash_stuck", AT_LEAF | AT_SPINE | AT_LINK},
	[FAULT_HASH_FIELDS] = {"hash_fields", AT_LEAF},
	[FAULT_LOW_ENTROPY] = {"low_entropy", 0},
	[FAULT_LINK_DOWN] = {"link_down", AT_LEAF | AT_SPINE | AT_LINK},
	[FAULT_LINK_SPEED] = {"link_speed", AT_LEAF | AT_SPINE | AT_LINK},
	[FAULT_LINK_LOSS] = {"link_loss", AT_LEAF | AT_SPINE | AT_LINK},
	[FAULT_HOST_SPEED] = {"host_speed", AT_LEAF | AT_HOST},
	[FAULT_NIC_STALL] = {"nic_stall", AT_LEAF | AT_HOST},
	[FAULT_NIC_HUNG] = {"nic_hung", AT_LEAF | AT_HOST},
	[FAULT_CC_OFF] = {"cc_off", AT_LEAF | AT_HOST},
	[FAULT_INCAST] = {"incast", AT_LEAF | AT_HOST},
	[FAULT_ECN_LATE] = {"ecn_late", 0},
	[FAULT_ECN_OFF] = {"ecn_off", AT_LEAF},
	[FAULT_HEADROOM] = {"headroom", AT_LEAF},
	[FAULT_PFC_DEAF] = {"pfc_deaf", AT_LEAF | AT_SPINE | AT_LINK},
	[FAULT_SILENT_HOST] = {"silent_host", AT_LEAF | AT_HOST},
	[FAULT_REBOOT] = {"reboot", AT_SPINE},
	[FAULT_SAME_HASH] = {"same_hash", 0},
	[FAULT_LAG_SKEW] = {"lag_skew", AT_LEAF | AT_LINK},
	[FAULT_REMOTE_CAPACITY] = {"remote_capacity", AT_LEAF | AT_SPINE},
	[FAULT_MISSING_ROUTE] = {"missing_route", AT_LEAF | AT_SPINE | AT_LINK},
	[FAULT_BOUNCE] = {"bounce", AT_LEAF | AT_SPINE},
	[FAULT_XON_CLOSE] = {"xon_close", AT_LEAF},
	[FAULT_PFC_WRONG] = {"pfc_wrong", AT_LEAF | AT_HOST},
	[FAULT_WRONG_CLASS] = {"wrong_class", AT_LEAF | AT_HOST},
	[FAULT_INCAST_SECOND] = {"incast_second", AT_LEAF | AT_HOST},
	[FAULT_CLASS_LEAK] = {"class_leak", 0},
	[FAULT_LINK_FLAP] = {"link_flap", AT_LEAF | AT_SPINE | AT_LINK},
	[FAULT_DSCP_MAP] = {"dscp_map", AT_LEAF},
	[FAULT_CONFIG_CHANGE] = {"config_change", AT_LEAF},
	[FAULT_DRAIN] = {"drain", AT_LEAF | AT_HOST},
	[FAULT_JOB_IDLE] = {"job_idle", 0},
	[FAULT_OPTIC_DEGRADING] = {"optic_degrading", AT_LEAF | AT_SPINE | AT_LINK},
	[FAULT_SLOW_STORAGE] = {"slow_storage", 0},
	[FAULT_MTU] = {"mtu", AT_LEAF | AT_SPINE | AT_LINK},
	[FAULT_COUNTER_RESET] = {"counter_reset", AT_LEAF},
	[FAULT_TELEMETRY_GAP] = {"telemetry_gap", AT_LEAF},
	[FAULT_SLOW_COMPUTE] = {"slow_compute", AT_LEAF | AT_HOST},
};
const char *fault_name(enum fault_kind kind)
{
	return fault_rows[kind].name;
}

struct reader {
	const char *path;
	uint64_t random;
	struct err *e;
};

static int refuse(struct reader *r, int line, int col, const char *what, const char *expected)
{
	return err_at(r->e, -EINVAL, r->path, line, col, "'%.60s' is not valid; expected %s", what,
		expected);
}

static int one_value(const char *s, enum type type, double *ret, struct err *e)
{
	uint64_t u = 0;
	int64_t i = 0;
	int rc = -EINVAL;
	switch (type) {
	case T_NUMBER: return unit_double(s, ret, e);
	case T_RATIO: return unit_ratio(s, ret, e);
	case T_SIZE: rc = unit_size(s, &u, e); break;
	case T_BITRATE: rc = unit_bitrate(s, &u, e); break;
	case T_LENGTH: rc = unit_length(s, &u, e); break;
	case T_DURATION:
		rc = unit_duration(s, &i, e);
		*ret = (double)i;
		return rc;
	}
	*ret = (double)u;
	return rc;
}

/* One of several that have nothing between them, such as powers of two. */
static int one_of(struct reader *r, const struct yaml_node *n, enum type type, double *ret)
{
	struct err e = {0};
	char buf[128], *rest = buf, *word;
	double v[8];
	size_t count = 0;
	snprintf(buf, sizeof(buf), "%s", n->text);
	while ((word = strsep(&rest, "|")))
		if (count == rw_countof(v) || one_value(word, type, &v[count++], &e) != 0)
			return err_at(r->e, -EINVAL, r->path, n->line, n->col, "%s",
				*e.text ? e.text : "more than 8 choices");
	*ret = v[(size_t)(random_unit(&r->random) * (double)count)];
	return 0;
}

/* A value, a range or a choice; whole limits of a plain number draw whole numbers. */
static int value(struct reader *r, const struct yaml_node *n, enum type type, double *ret)
{
	struct err e = {0};
	char low[64];
	if (n->kind != YAML_TEXT)
		return refuse(r, n->line, n->col, n->kind == YAML_LIST ? "a list" : "a section",
			"a value or a range such as 40%..70%");
	if (strchr(n->text, '|'))
		return one_of(r, n, type, ret);
	const char *dots = strstr(n->text, "..");
	if (!dots) {
		if (one_value(n->text, type, ret, &e) == 0)
			return 0;
		return err_at(r->e, -EINVAL, r->path, n->line, n->col, "%s", e.text);
	}
	double a, b;
	snprintf(low, sizeof(low), "%.*s", (int)(dots - n->text < 63 ? dots - n->text : 63),
		n->text);
	if (one_value(low, type, &a, &e) != 0 || one_value(dots + 2, type, &b, &e) != 0)
		return err_at(r->e, -EINVAL, r->path, n->line, n->col, "%s", e.text);
	if (!(a <= b))
		return refuse(r, n->line, n->col, n->text, "a range that goes up");
	const double u = random_unit(&r->random);
	if (type == T_NUMBER && a == floor(a) && b == floor(b))
		*ret = a + floor(u * (b - a + 1));
	else
		*ret = a + u * (b - a);
	return 0;
}

static int text(struct reader *r, const struct yaml_node *n, char *to, size_t size)
{
	if (n->kind != YAML_TEXT || strlen(n->text) >= size)
		return refuse(r, n->line, n->col, n->kind == YAML_TEXT ? n->text : "no text",
			"a short text");
	snprintf(to, size, "%s", n->text);
	return 0;
}

static int choice(struct reader *r, const struct yaml_node *n, const char *const *names,
	size_t count, const char *expected, unsigned *ret)
{
	for (size_t i = 0; n->kind == YAML_TEXT && i < count; i++)
		if (str_eq(n->text, names[i])) {
			*ret = (unsigned)i;
			return 0;
		}
	return refuse(r, n->line, n->col, n->kind == YAML_TEXT ? n->text : "no text", expected);
}

static int section(
	struct reader *r, const struct yaml_node *map, const char *name, struct scenario *s)
{
	static const char *const patterns[] = {
		"ring", "all-to-all", "incast", "ring-shuffle", "gather"};
	static const struct {
		const char *section, *key, *names[2];
		size_t offset;
	} flags[] = {
		{"load", "placement", {"hashed", "even"}, offsetof(struct scenario, even)},
		{"load", "rates", {"told", "settled"}, offsetof(struct scenario, settled)},
		{"load", "balancing", {"static", "packet"}, offsetof(struct scenario, spray)},
		{"load", "spraying", {"in-turn", "random"},
			offsetof(struct scenario, spray_random)},
		{"load", "congestion", {"dcqcn", "pfc_only"}, offsetof(struct scenario, pfc_only)},
		{"load", "storage_class", {"second", "lossless"},
			offsetof(struct scenario, storage_lossless)},
		{"fabric", "second_class", {"lossy", "lossless"},
			offsetof(struct scenario, second_lossless)},
		{"fabric", "bundles", {"ecmp", "lag"}, offsetof(struct scenario, lag)},
	};
	unsigned v = 0;
	int rc = 0;
	if (map->kind != YAML_MAP)
		return refuse(r, map->line, map->col, "no section", "keys");
	for (size_t i = 0; i < map->n && rc == 0; i++) {
		const struct yaml_item *it = &map->items[i];
		size_t k = 0, j = 0;
		while (k < rw_countof(rows) &&
			!(str_eq(rows[k].section, name) && str_eq(rows[k].key, it->key)))
			k++;
		while (j < rw_countof(flags) &&
			!(str_eq(flags[j].section, name) && str_eq(flags[j].key, it->key)))
			j++;
		if (k < rw_countof(rows))
			rc = value(
				r, it->value, rows[k].type, (double *)((char *)s + rows[k].offset));
		else if (j < rw_countof(flags)) {
			char expected[64];
			snprintf(expected, sizeof(expected), "%s or %s", flags[j].names[0],
				flags[j].names[1]);
			if ((rc = choice(r, it->value, flags[j].names, 2, expected, &v)) == 0)
				*(bool *)((char *)s + flags[j].offset) = v == 1;
		} else if (str_eq(name, "load") && str_eq(it->key, "pattern")) {
			if ((rc = choice(r, it->value, patterns, rw_countof(patterns),
				     "ring, all-to-all, incast, ring-shuffle or gather", &v)) == 0)
				s->pattern = (enum pattern)v;
		} else
			rc = refuse(r, it->line, it->col, it->key, "a key of this section");
	}
	return rc;
}

static double drawn(struct reader *r, double most)
{
	return 1 + floor(random_unit(&r->random) * most);
}

static int fault_read(struct reader *r, const struct yaml_node *map, struct scenario *s)
{
	struct fault *f = &s->faults[s->n_faults];
	const struct yaml_item *kind = map->kind == YAML_MAP ? yaml_get(map, "kind") : NULL;
	const char *names[FAULT_KINDS];
	unsigned v = 0;
	for (unsigned i = 0; i < FAULT_KINDS; i++)
		names[i] = fault_rows[i].name;
	if (s->n_faults == FAULTS_MAX || !kind)
		return refuse(r, map->line, map->col, kind ? "too many faults" : "no kind",
			"at most 4 faults, each with its kind");
	int rc = choice(r, kind->value, names, FAULT_KINDS, "a kind of fault of README.md", &v);
	if (rc != 0)
		return rc;
	*f = (struct fault){.kind = (enum fault_kind)v};
	/* Drawn before what the file says, so that saying it does not shift the other draws. */
	const unsigned place = fault_rows[v].place;
	const double leaf = drawn(r, s->leaves), spine = drawn(r, s->spines),
		     link = drawn(r, s->parallel), host = drawn(r, s->hosts_per_leaf);
	f->leaf = place & AT_LEAF ? leaf : 0;
	f->spine = place & AT_SPINE ? spine : 0;
	f->link = place & AT_LINK ? link : 0;
	f->host = place & AT_HOST ? host : 0;
	for (size_t i = 0; i < map->n; i++) {
		const struct yaml_item *it = &map->items[i];
		size_t k = 0;
		if (it == kind)
			continue;
		while (k < rw_countof(fault_keys) && !str_eq(fault_keys[k].key, it->key))
			k++;
		if (k == rw_countof(fault_keys))
			return refuse(r, it->line, it->col, it->key, "a key of a fault");
		if ((rc = value(r, it->value, fault_keys[k].type,
			     (double *)((char *)f + fault_keys[k].offset))) != 0)
			return rc;
	}
	if (f->leaf > s->leaves || f->spine > s->spines || f->link > s->parallel ||
		f->host > s->hosts_per_leaf)
		return refuse(r, map->line, map->col, "a place",
			"a leaf, spine, link and host that this fabric has");
	s->n_faults++;
	return 0;
}

/* A fault, a share or a storage host in a class or fabric that is not there. */
static bool consistent(const struct scenario *s)
{
	const bool second = s->second_priority >= 0 && s->second_priority < SIM_PRIORITIES &&
		s->second_priority != 3 && s->second_priority != SIM_CONTROL_PRIORITY;
	bool needs_second = s->second_share > 0 || s->second_lossless ||
		(s->storage_share + s->storage_reads > 0 && !s->storage_lossless);
	if (s->second_priority != -1 && !second)
		return false;
	for (size_t i = 0; i < s->n_faults; i++) {
		const enum fault_kind k = s->faults[i].kind;
		needs_second |=
			k == FAULT_PFC_WRONG || k == FAULT_WRONG_CLASS || k == FAULT_INCAST_SECOND;
		if ((k == FAULT_BOUNCE && (s->leaves < SIM_BOUNCES || s->spines < SIM_BOUNCES)) ||
			(k == FAULT_LAG_SKEW && !s->lag) ||
			(k == FAULT_REMOTE_CAPACITY &&
				!(s->faults[i].factor >= 1 && s->faults[i].factor <= s->parallel)))
			return false;
	}
	return (second || !needs_second) && s->storage_hosts >= 0 &&
		s->storage_hosts <= s->leaves * s->hosts_per_leaf - 2 &&
		(s->jobs == 1 || (s->jobs == 2 && s->slowdown == 0 && s->excess_ns == 0)) &&
		s->skew >= 0 && s->skew < 1 && s->group >= 2;
}

static int document(struct reader *r, const struct yaml_node *doc, struct scenario *s)
{
	const struct yaml_item *it;
	int rc = 0;
	if (doc->kind != YAML_MAP)
		return refuse(r, 1, 1, "no keys", "a scenario");
	/* The fabric comes first wherever it stands: places of faults are drawn from it. */
	if ((it = yaml_get(doc, "fabric")) && (rc = section(r, it->value, "fabric", s)) != 0)
		return rc;
	if ((it = yaml_get(doc, "load")) && (rc = section(r, it->value, "load", s)) != 0)
		return rc;
	for (size_t i = 0; i < doc->n && rc == 0; i++) {
		it = &doc->items[i];
		if (str_eq(it->key, "fabric") || str_eq(it->key, "load"))
			continue;
		if (str_eq(it->key, "title"))
			rc = text(r, it->value, s->title, sizeof(s->title));
		else if (str_eq(it->key, "cause"))
			rc = text(r, it->value, s->cause, sizeof(s->cause));
		else if (str_eq(it->key, "subject"))
			rc = text(r, it->value, s->subject, sizeof(s->subject));
		else if (str_eq(it->key, "severity"))
			rc = text(r, it->value, s->severity, sizeof(s->severity));
		else if (str_eq(it->key, "accept")) {
			if (it->value->kind != YAML_LIST || it->value->n > ACCEPT_MAX)
				return refuse(r, it->line, it->col, it->key,
					"a list of at most 6 causes");
			for (size_t k = 0; k < it->value->n && rc == 0; k++)
				rc = text(r, it->value->items[k].value, s->accept[s->n_accept++],
					sizeof(s->accept[0]));
		} else if (str_eq(it->key, "faults")) {
			if (it->value->kind != YAML_LIST)
				return refuse(r, it->line, it->col, it->key, "a list of faults");
			for (size_t k = 0; k < it->value->n && rc == 0; k++)
				rc = fault_read(r, it->value->items[k].value, s);
		} else {
			size_t k = 0;
			while (k < rw_countof(rows) &&
				(rows[k].section || !str_eq(rows[k].key, it->key)))
				k++;
			if (k == rw_countof(rows))
				return refuse(r, it->line, it->col, it->key,
					"title, cause, accept, subject, severity, fabric, load, "
					"faults, at, for, every, length or capture");
			rc = value(
				r, it->value, rows[k].type, (double *)((char *)s + rows[k].offset));
		}
	}
	if (rc == 0 &&
		(s->leaves < 1 || s->leaves > 64 || s->spines < 1 || s->spines > 32 ||
			s->hosts_per_leaf < 1 || s->hosts_per_leaf > 128 || s->parallel < 1 ||
			s->parallel > 32 || s->planes < 1 || s->planes > 16 || s->qps < 1 ||
			s->qps > 256 || s->slice_bytes < 1e5 || s->leaves * s->hosts_per_leaf < 2))
		rc = refuse(r, 1, 1, "the fabric",
			"1..64 leaves, 1..32 spines, 1..128 hosts a leaf, 1..32 links, 1..16 "
			"rails, 1..256 QPs, a slice of at least 100KB");
	if (rc == 0 && !consistent(s))
		rc = refuse(r, 1, 1, "the scenario",
			"a second class (0..7, not 3 or 6) where something uses it, a LAG where "
			"one is skewed, two jobs at most, a capacity that the bundle has, three "
			"leaves and spines for a bounce, groups of two or more");
	if (rc == 0 && (!*s->title || !*s->cause))
		rc = refuse(r, 1, 1, "no title or cause", "both");
	return rc;
}

static void list_donep(struct err_list *l)
{
	err_list_done(l);
}

int scenario_read(const char *path, uint64_t seed, struct scenario *ret, struct err *e)
{
	rw_cleanup(freep) char *bytes = NULL;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	rw_cleanup(list_donep) struct err_list mistakes = {0};
	const struct yaml_node *doc = NULL;
	size_t n;
	int rc = str_read_file(path, 1 << 20, &bytes, &n, e);
	if (rc != 0)
		return rc;
	/* what lies between the members too: measure_cache.c compares the whole */
	memset(ret, 0, sizeof(*ret));
	ret->seed = seed;
	snprintf(ret->subject, sizeof(ret->subject), "none");
	const char *base = strrchr(path, '/');
	snprintf(ret->name, sizeof(ret->name), "%s", base ? base + 1 : path);
	char *dot = strrchr(ret->name, '.');
	if (dot)
		*dot = '\0';
	for (size_t i = 0; i < rw_countof(rows); i++)
		if (rows[i].def)
			one_value(rows[i].def, rows[i].type,
				(double *)((char *)ret + rows[i].offset), NULL);
	struct reader r = {path, random_seeded(seed, 11), e};
	if (yaml_read(bytes, n, path, a, &doc, &mistakes) != 0) {
		*e = mistakes.v[0];
		return -EINVAL;
	}
	return document(&r, doc, ret);
}

void scenario_perturb(struct scenario *s, uint64_t n)
{
	double *const constants[] = {&s->pool_bytes, &s->kmin_bytes, &s->kmax_bytes, &s->pmax,
		&s->headroom_factor, &s->xon_offset_bytes, &s->host_cable_mm, &s->uplink_cable_mm,
		&s->compute_ns, &s->exchange_ns, &s->other_compute_ns, &s->other_exchange_ns,
		&s->jitter, &s->drift};
	uint64_t random = random_seeded(n, random_seeded(s->seed, 61));
	s->perturb = n;
	for (size_t i = 0; i < rw_countof(constants); i++)
		*constants[i] *= 0.7 + 0.6 * random_unit(&random);
	if (s->kmax_bytes < s->kmin_bytes * 1.5)
		s->kmax_bytes = s->kmin_bytes * 1.5;
	/* a healthy fabric has enough; too little is a fault of its own */
	if (s->headroom_factor < 1.25)
		s->headroom_factor = 1.25;
	if (s->pmax > 1)
		s->pmax = 1;
}

const char *balancing_name(const struct scenario *s)
{
	if (s->spray)
		return "packet";
	if (s->flowlet_ns > 0)
		return "flowlet";
	return "static";
}

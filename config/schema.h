/*
 * schema - what rocewatch.yaml may hold, as tables of rows: a key is one row and one member. The
 * row says name, type, unit, range, default and prose, and where in its struct the value goes.
 * Reading, checking, printing and "config explain" all walk the rows.
 *
 * A section fills one struct, of config.h, of fabric.h or of this file. Its first member is the
 * yaml node it came from, so that later checks (does this credential exist?) can name the place.
 * What follows from several values together is worked out by the build_*() functions, in members
 * that have no row. For the config room, and for modules that bring a section of their own.
 */
#pragma once

#include "base/base.h"
#include "config/config.h"
#include "config/option.h"
#include "config/yaml.h"

enum field_kind {
	FIELD_VALUE, /* one value, read by .option */
	FIELD_VALUES, /* a list of texts: const char *const *, and .count */
	FIELD_SECTION, /* keys of .section: a pointer to its struct, NULL when not given */
	/* keys of .section whose members stand in the struct around it; .offset is the node, NULL
	 * when not given */
	FIELD_INSIDE,
	FIELD_SECTIONS, /* a list of .section: an array of its structs, and .count */
	FIELD_ONE_OR_MORE, /* one .section, or a list of them: an array, and .count */
	/* name -> .section: an array, and .count; the name in the first member after .node */
	FIELD_NAMED,
	FIELD_LINKS, /* as FIELD_SECTIONS, or the word "discover" */
	FIELD_MODULES, /* module name -> options from its own table */
	FIELD_RECEIVERS, /* the keys of modules: struct config_receiver of any kind, and .count */
	FIELD_REFUSED, /* never allowed; .option.doc says what to write instead */
};

enum field_flags {
	FIELD_REQUIRED = 1,
	FIELD_ALWAYS = 2, /* printed with its defaults where the file has none */
};

struct field {
	enum field_kind kind;
	struct option option; /* name, doc, offset always; the rest for values */
	size_t count; /* where the number of entries stands, a size_t */
	unsigned flags;
	const struct section *section;
	/* an additional check of a string; @e says what was read and expected */
	int (*check)(const char *text, struct err *e);
};
struct section {
	size_t size;
	const struct field *fields;
	size_t n_fields;
	const char *doc;
};
extern const struct section schema_root;
extern const char *const schema_severities[]; /* in the order of enum severity */

/* ---- rows ---------------------------------------------------------------- */

/*
 * T is the struct of the section, member where the value goes, key the name in the file. A member
 * of another type than the row's does not compile.
 *
 *   VALUE     one value: type, default, least, greatest (as text, NULL = none), prose
 *   TEXT      a text without default
 *   CHOICE    one of a list of words; -1 when not given
 *   LIST      a list of texts: two members, the texts and how many they are
 *   SECTION   keys of another section, which is optional
 *   INSIDE    the same, with its members in T
 *   SECTIONS  a list of sections, or sections by name: two members
 *   SECRET    three rows, of which a file may use one: a struct config_secret
 *   REFUSED   a key that is never allowed; says what to write instead
 *   TABLE     the rows of a section become the section
 */
#define MEMBER_OF(T, member) ((struct T *)0)->member
#define OPT_BOOL_FITS(m) _Generic((m), bool : 1, default : 0)
#define OPT_INT_FITS(m) _Generic((m), int : 1, unsigned : 1, int64_t : 1, uint64_t : 1, default : 0)
#define OPT_DOUBLE_FITS(m) _Generic((m), double : 1, default : 0)
#define OPT_RATIO_FITS(m) OPT_DOUBLE_FITS(m)
#define OPT_DURATION_FITS(m) _Generic((m), int64_t : 1, default : 0)
#define OPT_SIZE_FITS(m) _Generic((m), unsigned : 1, uint64_t : 1, default : 0)
#define OPT_BITRATE_FITS(m) _Generic((m), uint64_t : 1, default : 0)
#define OPT_LENGTH_FITS(m) OPT_BITRATE_FITS(m)
#define OPT_STRING_FITS(m) _Generic((m), const char * : 1, default : 0)
#define OPT_ENUM_FITS(m) _Generic((m), int : 1, default : 0)
/* The size of the member; a division by zero where its type does not fit. */
#define MEMBER_SIZE(opt_type, T, member)                                                           \
	(sizeof(MEMBER_OF(T, member)) / opt_type##_FITS(MEMBER_OF(T, member)))

#define VALUE(T, member, key, opt_type, def_, min_, max_, doc_, ...)                               \
	{                                                                                          \
		.kind = FIELD_VALUE,                                                               \
		.option = {.name = key,                                                            \
			.type = opt_type,                                                          \
			.offset = offsetof(struct T, member),                                      \
			.size = MEMBER_SIZE(opt_type, T, member),                                  \
			.def = def_,                                                               \
			.min = min_,                                                               \
			.max = max_,                                                               \
			.doc = doc_},                                                              \
		__VA_ARGS__                                                                        \
	}
#define TEXT(T, member, key, doc_, ...)                                                            \
	VALUE(T, member, key, OPT_STRING, NULL, NULL, NULL, doc_, __VA_ARGS__)
#define CHOICE(T, member, key, names, def_, doc_, ...)                                             \
	{                                                                                          \
		.kind = FIELD_VALUE,                                                               \
		.option = {.name = key,                                                            \
			.type = OPT_ENUM,                                                          \
			.offset = offsetof(struct T, member),                                      \
			.size = MEMBER_SIZE(OPT_ENUM, T, member),                                  \
			.def = def_,                                                               \
			.choices = names,                                                          \
			.doc = doc_},                                                              \
		__VA_ARGS__                                                                        \
	}
#define LIST(T, texts, n_texts, key, def_, check_, doc_, ...)                                      \
	{                                                                                          \
		.kind = FIELD_VALUES,                                                              \
		.option = {.name = key,                                                            \
			.type = OPT_STRING,                                                        \
			.offset = offsetof(struct T, texts),                                       \
			.def = def_,                                                               \
			.doc = doc_},                                                              \
		.count = offsetof(struct T, n_texts), .check = check_, __VA_ARGS__                 \
	}
#define SECTION(T, member, key, s)                                                                 \
	{                                                                                          \
		.kind = FIELD_SECTION,                                                             \
		.option = {.name = key, .offset = offsetof(struct T, member)}, .section = &s       \
	}
#define INSIDE(T, node_member, key, s, ...)                                                        \
	{                                                                                          \
		.kind = FIELD_INSIDE,                                                              \
		.option = {.name = key, .offset = offsetof(struct T, node_member)}, .section = &s, \
		__VA_ARGS__                                                                        \
	}
#define SECTIONS(kind_, T, member, n_member, key, s)                                               \
	{                                                                                          \
		.kind = kind_, .option = {.name = key, .offset = offsetof(struct T, member)},      \
		.count = offsetof(struct T, n_member), .section = &s                               \
	}
#define REFUSED(key, instead)                                                                      \
	{                                                                                          \
		.kind = FIELD_REFUSED, .option = {.name = key, .doc = instead }                    \
	}
#define TABLE_ROWS(T, rows, doc_)                                                                  \
	{                                                                                          \
		.size = sizeof(struct T), .fields = rows, .n_fields = rw_countof(rows),            \
		.doc = doc_                                                                        \
	}
#define TABLE(name, T, rows, doc_) static const struct section name = TABLE_ROWS(T, rows, doc_)

/* A secret is three keys, of which one may be given. */
#define SECRET(T, member, key, what)                                                               \
	TEXT(T, member.file, key "_file",                                                          \
		what                                                                               \
		": a file whose first line it is, mode 0600. Read when it is needed, not before.", \
		.check = schema_check_text),                                                       \
		TEXT(T, member.env, key "_env",                                                    \
			what ": the name of an environment variable of the agent.",                \
			.check = schema_check_name),                                               \
		TEXT(T, member.credential, key "_credential",                                      \
			what ": the name of a systemd credential (LoadCredential= in the unit).",  \
			.check = schema_check_name)
#define NEVER_INLINE(key)                                                                          \
	REFUSED(key,                                                                               \
		"a secret is never written into the configuration; use '" key                      \
		"_file: PATH', '" key "_env: VARIABLE' or '" key "_credential: NAME'")

/* ---- what rows name as .check -------------------------------------------- */

/* Each returns 0, or -EINVAL with @e: what was read and what is expected, to stand behind the name
 * of the key and "is". */
int schema_check_name(const char *text, struct err *e);
int schema_check_policy_key(const char *text, struct err *e);
int schema_check_dscp(const char *text, struct err *e); /* "0-7:0,26:3" */
int schema_check_groups(const char *text, struct err *e); /* "3:3,4:4" */
int schema_check_priorities(const char *text, struct err *e); /* "3,4", "none" */
int schema_check_device_name(const char *text, struct err *e);
int schema_check_text(const char *text, struct err *e);
int schema_check_source(const char *text, struct err *e);
int schema_check_hosts(const char *text, struct err *e); /* "node-001,gpu-*" */
int schema_check_address(const char *text, struct err *e);
int schema_check_sflow_port(const char *text, struct err *e); /* "7=Ethernet4" */
int schema_check_port_pair(const char *text, struct err *e); /* "ens1f0np0=mlx5_0" */
int schema_check_objects(const char *text, struct err *e); /* config/push_objects.h */
int schema_check_trap_listen(const char *text, struct err *e);
int schema_check_http_listen(const char *text, struct err *e);
int schema_check_network(const char *text, struct err *e);
int schema_check_ip(const char *text, struct err *e);
int schema_check_no_login(const char *text, struct err *e);
int schema_check_url(const char *text, struct err *e);
/* a URL with {cause} in it */
int schema_check_runbook_url(const char *text, struct err *e);
int schema_check_smtp_url(const char *text, struct err *e);
int schema_check_syslog(const char *text, struct err *e);
int schema_check_mail_address(const char *text, struct err *e);
int schema_check_interface(const char *text, struct err *e);
int schema_check_endpoint(const char *text, struct err *e);
int schema_check_priority(const char *text, struct err *e);

/* ---- sections that become something else --------------------------------- */

enum link_source { LINK_DECLARED, LINK_DISCOVERED };
struct config_cable { /* a row of 'links:'; becomes ports of the fabric */
	const struct yaml_node *node;
	const char *a, *b, *rail;
	uint64_t cable_mm, speed_bps;
	int source; /* enum link_source; -1 = declared */
};
struct config_group { /* a row of 'ecmp:' */
	const struct yaml_node *node;
	const char *device, *group;
	struct config_texts ports;
	int lb;
};
struct config_lag {
	const struct yaml_node *node;
	const char *device, *name;
	struct config_texts ports;
};
struct config_lossless {
	const struct yaml_node *node;
	struct config_texts priorities;
	uint64_t mtu_bytes;
};
struct config_class {
	const struct yaml_node *node;
	int priority;
	int congestion, lossless, ecn; /* -1: not given */
};
struct config_policy {
	const struct yaml_node *node;
	int congestion, lb;
	struct config_class *classes;
	size_t n_classes;
	struct config_texts assumed;
};
struct config_cost {
	const struct yaml_node *node;
	double usd_per_gpu_hour; /* NAN: not given */
};
struct config_agent {
	const struct yaml_node *node;
	const char *name;
	struct config_texts devices;
};
/* A row of 'push:'. */
struct config_push_place {
	const struct yaml_node *node;
	struct config_capture place;
	struct config_push push;
	const struct yaml_node *tls_node;
};
enum job_source { JOB_DECLARED, JOB_SCHEDULER };

/* The file as read, with the values in force: what printing shows. struct config is made of it, and
 * may differ later: an agent lets go of the devices of others. */
struct config_tree {
	const struct yaml_node *node;
	const char *fabric, *socket, *user, *profile_dir;
	struct config_store *store;
	struct config_credential *credentials;
	struct config_device *devices;
	struct config_cable *links;
	struct config_group *groups;
	struct config_lag *lags;
	struct fabric_threshold *thresholds;
	struct fabric_port_setting *port_settings;
	struct config_capture *captures;
	struct config_push_place *pushes;
	struct config_scrape *scrapes;
	struct fabric_job *jobs;
	struct config_job_file *job_files;
	struct config_agent *agents;
	size_t n_credentials, n_devices, n_links, n_groups, n_lags, n_thresholds, n_port_settings,
		n_captures, n_pushes, n_scrapes, n_jobs, n_job_files, n_agents;
	bool discover;
	struct config_defaults *defaults;
	struct config_lossless *lossless;
	struct config_policy *policy;
	struct config_cost *cost;
	struct config_http *http;
	struct config_traps *traps;
	struct config_alerts *alerts;
	struct config_tuning *tuning;
	struct config_limits *limits;
	struct config_judge *judge;
};

/* ---- mistakes and warnings ----------------------------------------------- */

/*
 * A message names the key, what was read, and what is expected or to be done:
 * "interval is '5x'; expected a duration such as 10s (100ms to 1h)".
 */
struct build { /* while one configuration is made */
	struct config *c;
	const char *name; /* of the file */
	enum config_mode mode;
	struct err_list *errors; /* of this configuration only */
	const struct yaml_node *root;
};

/* build_error - a mistake at a node (NULL: no place); build_warn - something that works, but
 * probably not as meant. */
void build_error(struct build *build, const struct yaml_node *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void build_warn(struct build *build, const struct yaml_node *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* build_at - the node of a key in a section, else the section itself: where a later check points
 * to. build_entry_at - of the entry @text in the list under that key. */
const struct yaml_node *build_at(const struct yaml_node *section, const char *key);
const struct yaml_node *build_entry_at(
	const struct yaml_node *section, const char *key, const char *text);

/* build_unknown - the key of @item is not one of @names; says the nearest one, else all of them.
 * @what is the kind of name: "key", "analyzer". */
void build_unknown(struct build *build, const struct yaml_item *item, const char *what,
	const char *const *names, size_t n);

/*
 * build_unknown_name - "@key: unknown @what '@name'; did you mean 'x'?", or @otherwise where no
 * name is near: "; expected one from 'devices:'".
 */
void build_unknown_name(struct build *build, const struct yaml_node *at, const char *key,
	const char *what, const char *name, const char *const *names, size_t n,
	const char *otherwise);

/* build_already_given - names are used once per @kind. True, and an error, when @name is in @seen
 * ("name" -> line); else it is from now on. */
bool build_already_given(struct build *build, struct smap *seen, const struct yaml_node *section,
	const char *kind, const char *name);

/* config_check_program - a program of the site, the list @key of @section, is named by its whole
 * path. */
void config_check_program(struct build *build, const struct yaml_node *section, const char *key,
	const struct config_texts *argv);

/* ---- walking the rows ---------------------------------------------------- */

const struct field *schema_find(const struct section *section, const char *name);
/* schema_receiver - the row that @table adds to the section 'alerts:'; false when it adds none. */
bool schema_receiver(const struct option_table *table, struct field *ret);
/* schema_type_text - "duration", "one of leaf, spine", "list of sections": for people. Returns
 * @buf. */
char *schema_type_text(const struct field *field, char *buf, size_t size);
/*
 * schema_same - have both structs of @section the same values? schema_copy - what the texts and
 * lists of @base point to is copied into @a; for who keeps a struct longer than its configuration.
 * Both of sections without sections, but those inside.
 */
bool schema_same(const struct section *section, const void *left, const void *right);
void schema_copy(const struct section *section, struct arena *a, void *base);

/* schema_read - fill @base (zeroed) from @node, which may be NULL for "not given": defaults alone.
 */
void schema_read(struct build *build, const struct section *section, const struct yaml_node *node,
	void *base);

/* schema_read_or_defaults - the section @key of the root as read; where the file has none, its
 * defaults alone take its place, so that they stand in the rows only. */
void *schema_read_or_defaults(struct build *build, const char *key);

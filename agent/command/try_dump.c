/* try_dump - see try_dump.h. */
#include "agent/command/try_dump.h"

#include <jansson.h>
#include <sys/stat.h>
#include <time.h>

#include "agent/import/import_internal.h"
#include "base/process.h"
#include "collectors/gnmi/gnmi_decode.h"
#include "collectors/gnmi/gnmi_match.h"
#include "config/profile/profile.h"
#include "proto/gnmi_codec.h"
#include "proto/gnmi_path.h"

#define DUMP_FILE_MAX ((size_t)32 << 20) /* in memory ten times that; 64 ports take 2 MB */
/* commands run between the note of the time and the end of the dump; a file that is older than the
 * note or much younger has been copied */
#define DUMP_WRITTEN_WITHIN_NS (600 * NS_PER_S)

/* ---- files ------------------------------------------------------------------- */

struct dump {
	const char *dir; /* that holds the files */
	struct arena *a;
	json_t *config, *appl, *state; /* rows by table; NULL: not there */
	json_t *counters; /* as it was written: rows by key */
	struct gnmi_feed **feeds; /* of each stream of the profile */
	struct gnmi_feed *feed; /* of the stream whose answer is being read */
	int64_t t_ns;
	struct sample_list *out;
};

static char *dump_path(const struct dump *dump, const char *name)
{
	struct str path = {0};
	str_addf(&path, "%s/%s", dump->dir, name);
	return path.s;
}

/* 0 with *@ret NULL where there is no such file. */
static int dump_load(const struct dump *dump, const char *name, json_t **ret, struct err *e)
{
	rw_cleanup(freep) char *path = dump_path(dump, name);
	rw_cleanup(freep) char *text = NULL;
	json_error_t why;
	size_t n;
	*ret = NULL;
	const int rc = str_read_file(path, DUMP_FILE_MAX, &text, &n, e);
	if (rc == -ENOENT)
		return 0;
	if (rc < 0)
		return rc;
	*ret = json_loadb(text, n, 0, &why);
	if (!*ret)
		return err_at(e, -EINVAL, path, why.line, why.column,
			"is no JSON: %s; expected what sonic-db-dump -y writes", why.text);
	if (json_is_object(*ret))
		return 0;
	json_decref(*ret);
	*ret = NULL;
	return err_at(e, -EINVAL, path, 1, 0,
		"holds no object of rows; expected what sonic-db-dump -y writes");
}

/* "29/11/2026 07:30:00:123456" of the note beside a reading. */
static bool dump_noted(const struct dump *dump, size_t number, int64_t *ret_ns)
{
	char name[32];
	snprintf(name, sizeof(name), "date.counter_%zu", number);
	rw_cleanup(freep) char *path = dump_path(dump, name);
	rw_cleanup(freep) char *text = NULL;
	struct tm tm = {0};
	size_t n;
	if (str_read_file(path, 256, &text, &n, NULL) < 0)
		return false;
	const char *rest = strptime(text, "%d/%m/%Y %H:%M:%S", &tm);
	if (!rest)
		return false;
	*ret_ns = (int64_t)timegm(&tm) * NS_PER_S;
	if (*rest == ':')
		*ret_ns += (int64_t)strtoul(rest + 1, NULL, 10) * 1000;
	return true;
}

/* The time of a reading is that of its file. A file that is older than its note, or much younger,
 * is a copy: then the note has the time. */
static int dump_time(
	const struct dump *dump, const char *name, size_t number, int64_t *ret_ns, struct err *e)
{
	rw_cleanup(freep) char *path = dump_path(dump, name);
	struct stat st;
	int64_t noted_ns;
	if (stat(path, &st) < 0)
		return err_at(e, -errno, path, 0, 0, "cannot be read: %s", strerror(errno));
	*ret_ns = (int64_t)st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
	if (!dump_noted(dump, number, &noted_ns))
		return 0;
	if (*ret_ns < noted_ns || *ret_ns > noted_ns + DUMP_WRITTEN_WITHIN_NS)
		*ret_ns = noted_ns;
	return 0;
}

/* ---- tables ------------------------------------------------------------------ */

static json_t *dump_row(json_t *database, const char *table, const char *row)
{
	rw_cleanup(str_done) struct str key = {0};
	str_addf(&key, "%s:%s", table, row);
	return import_dump_fields((json_t *)IMPORT_AT(database, key.s));
}

/* A port as the server writes it: by its alias, where it has one. @name may go on behind the port's
 * name: "Ethernet0:3". */
static const char *dump_alias(const struct dump *dump, const char *name)
{
	const size_t n = strcspn(name, ":");
	rw_cleanup(freep) char *port = strndup(name, n);
	rw_cleanup(str_done) struct str whole = {0};
	const char *alias = json_string_value(IMPORT_AT(dump->config, "PORT", port, "alias"));
	if (!alias || !*alias)
		return name;
	str_addf(&whole, "%s%s", alias, name + n);
	return arena_strdup(dump->a, whole.s);
}

/* The maps of names to object ids, by what is behind the ports in a path of counters. */
static const struct {
	const char *part, *map;
} dump_maps[] = {{"", "COUNTERS_PORT_NAME_MAP"}, {"/Queues", "COUNTERS_QUEUE_NAME_MAP"},
	{"/PriorityGroups", "COUNTERS_PG_NAME_MAP"}};

static void dump_put_named(const struct dump *dump, const char *table, const char *name,
	const char *end, json_t *id, json_t *rows)
{
	const char *oid = json_string_value(id);
	rw_cleanup(str_done) struct str key = {0};
	json_t *fields = NULL;
	if (oid)
		fields = dump_row(dump->counters, table, oid);
	str_addf(&key, "%s%s", dump_alias(dump, name), end);
	if (json_is_object(fields))
		json_object_set(rows, key.s, fields);
}

/* Rows of counters by the names of their ports, queues or groups. @path is "/TABLE/PORTS" or
 * "/TABLE/PORTS/PART"; the server tells periodic watermarks of queues beside their counters. New.
 */
static json_t *dump_named(const struct dump *dump, const char *path)
{
	const char *ports = strchr(path + 1, '/');
	const char *part = strchr(ports + 1, '/');
	rw_cleanup(freep) char *table = strndup(path + 1, (size_t)(ports - path - 1));
	json_t *rows = json_object();
	const char *map = NULL, *name;
	json_t *id;
	for (size_t i = 0; i < rw_countof(dump_maps); i++)
		if (str_eq(dump_maps[i].part, str_or(part, "")))
			map = dump_maps[i].map;
	if (!map)
		return rows;
	json_t *ids = import_dump_fields((json_t *)IMPORT_AT(dump->counters, map));
	json_object_foreach (ids, name, id) {
		dump_put_named(dump, table, name, "", id, rows);
		if (part && str_eq(table, "COUNTERS"))
			dump_put_named(dump, "PERIODIC_WATERMARKS", name, ":periodic", id, rows);
	}
	return rows;
}

/* ---- answers ----------------------------------------------------------------- */

static json_t *dump_database(const struct dump *dump, const char *target)
{
	const struct {
		const char *name;
		json_t *tables;
	} databases[] = {{"CONFIG_DB", dump->config}, {"APPL_DB", dump->appl},
		{"STATE_DB", dump->state}, {"COUNTERS_DB", dump->counters}};
	for (size_t i = 0; i < rw_countof(databases); i++)
		if (str_eq(databases[i].name, target))
			return databases[i].tables;
	return NULL;
}

static void dump_on_update(void *arg, const struct gnmi_update *update)
{
	const struct dump *dump = arg;
	gnmi_feed_update(dump->feed, update, dump->t_ns, dump->out);
}

/* @rows are the answer to a subscription of @path. */
static void dump_tell(struct dump *dump, const char *path, json_t *rows)
{
	rw_cleanup(arena_freep) struct arena *scratch = arena_new();
	rw_cleanup(freep) char *text = json_dumps(rows, JSON_COMPACT);
	struct gnmi_counts counts = {0};
	struct gnmi_decode decode = *gnmi_feed_decode(dump->feed);
	struct gnmi_update update = {.op = GNMI_UPDATE,
		.t_ns = dump->t_ns,
		.path_id = GNMI_PATH_NONE,
		.target = "",
		.origin = ""};
	struct gnmi_path at;
	decode.fn = dump_on_update;
	decode.arg = dump;
	decode.counts = &counts;
	gnmi_path_init(&at);
	for (const char *part = path + 1, *end; *part; part = end + (*end == '/')) {
		end = part + strcspn(part, "/");
		gnmi_path_add(&at, part, (size_t)(end - part), NULL, 0, true);
	}
	if (text)
		gnmi_deliver_json(&decode, &update, &at, text, strlen(text), scratch);
}

/* What a subscription of @path is answered with. New; NULL: there is no such table. */
static json_t *dump_answer(const struct dump *dump, json_t *database, const char *path)
{
	if (strchr(path + 1, '/'))
		return dump_named(dump, path);
	return json_incref((json_t *)IMPORT_AT(database, path + 1));
}

/* One reading, to all streams. */
static void dump_tell_all(struct dump *dump, const struct profile_gnmi *gnmi)
{
	for (size_t i = 0; i < gnmi->n_streams; i++) {
		const struct profile_gnmi_stream *stream = gnmi->streams[i];
		json_t *database = dump_database(dump, stream->target);
		dump->feed = dump->feeds[i];
		for (size_t k = 0; database && k < stream->n_subscriptions; k++) {
			const char *path = stream->subscriptions[k].path;
			json_t *rows = dump_answer(dump, database, path);
			dump_tell(dump, path, rows);
			json_decref(rows);
		}
		gnmi_feed_round(dump->feed, dump->t_ns, dump->out);
	}
}

/* ---- a switch ---------------------------------------------------------------- */

/* Its name without the domain; that of its folder where it does not say one. */
static const char *dump_name(const struct dump *dump, const char *dir)
{
	const char *hostname = json_string_value(
		IMPORT_AT(dump->config, "DEVICE_METADATA", "localhost", "hostname"));
	rw_cleanup(freep) char *whole = realpath(dir, NULL);
	if (!hostname || !*hostname)
		hostname = strrchr(str_or(whole, "/switch"), '/') + 1;
	char *name = arena_strndup(dump->a, hostname, strcspn(hostname, "."));
	for (char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("-_", *at))
			*at = '-';
	return name;
}

/* The readings, one after the other: two of them are not in memory at once. */
static int dump_read_counters(
	struct dump *dump, const struct profile_gnmi *gnmi, struct try_dump *ret, struct err *e)
{
	for (size_t number = 1; number <= DUMP_READINGS_MAX; number++) {
		char name[40];
		snprintf(name, sizeof(name), "COUNTERS_DB_%zu.json", number);
		int rc = dump_load(dump, name, &dump->counters, e);
		if (rc < 0)
			return rc;
		if (!dump->counters)
			break;
		rc = dump_time(dump, name, number, &dump->t_ns, e);
		if (rc < 0)
			return rc;
		if (ret->n_readings > 0 && dump->t_ns <= ret->times_ns[ret->n_readings - 1])
			return err_at(e, -EINVAL, dump->dir, 0, 0,
				"%s is not younger than the reading before it, by its "
				"date.counter_%zu or the time of the file; unpack the archive so "
				"that files keep their times",
				name, number);
		ret->times_ns[ret->n_readings++] = dump->t_ns;
		dump_tell_all(dump, gnmi);
		json_decref(dump->counters);
		dump->counters = NULL;
	}
	if (ret->n_readings >= 2)
		return 0;
	return err_at(e, -EINVAL, dump->dir, 0, 0,
		"holds %zu of the two readings that a rate needs; expected COUNTERS_DB_1.json and "
		"COUNTERS_DB_2.json, as 'show techsupport' writes them",
		ret->n_readings);
}

static int dump_read_rest(struct dump *dump, struct err *e)
{
	const struct {
		const char *name;
		json_t **to;
	} files[] = {{"CONFIG_DB.json", &dump->config}, {"APPL_DB.json", &dump->appl},
		{"STATE_DB.json", &dump->state}};
	for (size_t i = 0; i < rw_countof(files); i++) {
		json_t *root;
		const int rc = dump_load(dump, files[i].name, &root, e);
		if (rc < 0)
			return rc;
		if (root)
			*files[i].to = import_dump_tables(root);
		json_decref(root);
	}
	if (dump->config)
		return 0;
	return err_at(e, -ENOENT, dump->dir, 0, 0,
		"holds no CONFIG_DB.json, neither here nor below dump/; expected an unpacked "
		"archive of 'show techsupport'");
}

static int dump_feeds_new(struct dump *dump, struct gnmi_decoder *decoder,
	const struct profile_gnmi *gnmi, struct err *e)
{
	dump->feeds = arena_array(dump->a, struct gnmi_feed *, gnmi->n_streams);
	for (size_t i = 0; i < gnmi->n_streams; i++) {
		dump->feeds[i] = gnmi_feed_new(decoder, gnmi->streams[i], e);
		if (!dump->feeds[i])
			return -EINVAL;
		gnmi_feed_begin(dump->feeds[i]);
	}
	return 0;
}

static void dump_close(struct dump *dump, const struct profile_gnmi *gnmi)
{
	for (size_t i = 0; dump->feeds && i < gnmi->n_streams; i++)
		gnmi_feed_free(dump->feeds[i]);
	json_decref(dump->config);
	json_decref(dump->appl);
	json_decref(dump->state);
	json_decref(dump->counters);
}

int try_dump_read(const char *dir, const struct profiles *profiles, const struct profile *profile,
	struct entities *entities, struct arena *a, struct try_dump *ret, struct err *e)
{
	rw_cleanup(str_done) struct str below = {0};
	struct dump dump = {.dir = dir, .a = a, .out = &ret->samples};
	struct stat st;
	*ret = (struct try_dump){0};
	int rc = path_answers(dir, e);
	if (rc < 0)
		return rc;
	str_addf(&below, "%s/dump", dir);
	if (stat(below.s, &st) == 0 && S_ISDIR(st.st_mode))
		dump.dir = below.s;
	rc = dump_read_rest(&dump, e);
	if (rc < 0) {
		dump_close(&dump, profile->gnmi);
		return rc;
	}
	ret->name = dump_name(&dump, dir);
	struct gnmi_compiled_set *compiled = gnmi_compiled_set_new();
	struct gnmi_decoder *decoder = gnmi_decoder_new(entities, ret->name, profile, compiled, 0);
	rc = dump_feeds_new(&dump, decoder, profile->gnmi, e);
	if (rc == 0)
		rc = dump_read_counters(&dump, profile->gnmi, ret, e);
	if (rc == 0)
		ret->n_neighbors =
			gnmi_decode_neighbors(decoder, a, profiles, &ret->self, &ret->neighbors);
	dump_close(&dump, profile->gnmi);
	gnmi_decoder_free(decoder);
	gnmi_compiled_set_free(compiled);
	return rc;
}

void try_dump_done(struct try_dump *dump)
{
	free(dump->samples.v);
	dump->samples = (struct sample_list){0};
}

/* ---- between readings -------------------------------------------------------- */

static uint64_t dump_series(const struct sample *sample)
{
	return (uint64_t)sample->entity << 16 | sample->metric;
}

/* The value of @to as it was @share of the way since @from. */
static struct sample dump_between(
	const struct sample *from, const struct sample *to, int64_t t_ns, double share)
{
	struct sample made = *to;
	made.t_ns = t_ns;
	if (metric_info(to->metric)->kind == METRIC_COUNTER)
		made.value = from->value + (uint64_t)((double)(to->value - from->value) * share);
	return made;
}

/* Those of one series between two of its readings. */
static void dump_fill_gap(
	struct sample_list *out, const struct sample *from, const struct sample *to, size_t pieces)
{
	const int64_t gap_ns = to->t_ns - from->t_ns;
	const bool counter = metric_info(to->metric)->kind == METRIC_COUNTER;
	if (counter && to->value < from->value)
		return;
	for (size_t i = 1; i < pieces; i++) {
		const double share = (double)i / (double)pieces;
		const int64_t t_ns = from->t_ns + (int64_t)((double)gap_ns * share);
		rw_grow(out->v, out->n, out->cap);
		out->v[out->n++] = dump_between(from, to, t_ns, share);
	}
}

void try_dump_fill(struct try_dump *dump, size_t least)
{
	const size_t gaps = dump->n_readings - 1;
	const size_t pieces = (least + gaps - 1) / gaps;
	struct sample_list *samples = &dump->samples;
	struct map *last = map_new(); /* series -> its reading before, + 1 */
	const size_t n = samples->n;
	for (size_t i = 0; pieces > 1 && i < n; i++) {
		const struct sample to = samples->v[i];
		uint64_t at;
		if (map_get(last, dump_series(&to), &at) && at) {
			const struct sample from = samples->v[at - 1];
			dump_fill_gap(samples, &from, &to, pieces);
		}
		map_put(last, dump_series(&to), i + 1);
	}
	map_free(last);
	if (samples->n > 0)
		qsort(samples->v, samples->n, sizeof(*samples->v), sample_order);
}

void try_dump_move(struct try_dump *dump, int64_t last_ns)
{
	const int64_t by_ns = last_ns - dump->times_ns[dump->n_readings - 1];
	for (size_t i = 0; i < dump->n_readings; i++)
		dump->times_ns[i] += by_ns;
	for (size_t i = 0; i < dump->samples.n; i++)
		dump->samples.v[i].t_ns += by_ns;
}

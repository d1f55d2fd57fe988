/* incident_burst - puts the parts together, and asks each field when it began. */
#include "agent/answers/incident/incident_burst.h"

#include "agent/answers/incident/incident_read.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/document/shape.h"
#include "base/bytes.h"
#include "collectors/push/burst.h"
#include "collectors/push/push_map.h"
#include "config/push_objects.h"
#include "db/series/history.h"

#define BEGUN_SHARE 0.05 /* of the whole rise of a counter */
#define QUIET_NS (50 * NS_PER_MS) /* a counter that stands still so long begins anew */
#define FULL_SHARE 0.5 /* of the greatest fill level */
enum { ONSETS_MAX = 200 };

struct burst_series { /* of one field */
	struct burst_field field;
	uint64_t last, rise, peak, risen;
	bool begun;
	int64_t seen_ns; /* of .last */
	int64_t step_ns, run_ns; /* when it rose last; when that began, after a pause */
	int64_t t_ns; /* of its onset; 0 = none */
	uint64_t values;
};

struct burst_kept { /* what one device sent */
	char *device;
	struct push_objects *objects;
	uint8_t *data;
	size_t n, cap;
	int parts, next; /* the part that comes next */
	bool whole;
	int64_t t_ns, from_ns, to_ns;
	struct map *at; /* hash of a field -> place in .v, plus one */
	struct burst_series *v;
	size_t n_v, cap_v;
	bool second; /* the second reading: when */
	FILE *out; /* the values as they are; NULL: not wanted */
};

struct burst_list {
	struct burst_kept *v;
	size_t n, cap;
};

/* ---- reading the parts --------------------------------------------------------- */

static void kept_free(struct burst_kept *kept)
{
	free(kept->device);
	push_objects_free(kept->objects);
	free(kept->data);
	map_free(kept->at);
	free(kept->v);
}

static void list_done(struct burst_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		kept_free(&list->v[i]);
	free(list->v);
}

static void kept_objects(struct burst_kept *kept, const char *texts)
{
	rw_cleanup(freep) char *copy = rw_strdup(texts);
	char *save = NULL;
	for (char *text = strtok_r(copy, ";", &save); text; text = strtok_r(NULL, ";", &save))
		push_objects_add(kept->objects, text, NULL);
}

static void kept_add(struct burst_kept *kept, const char *data)
{
	size_t n = 0;
	rw_cleanup(freep) uint8_t *bytes = base64_bytes(data, &n);
	if (!bytes) {
		kept->whole = false;
		return;
	}
	kept->data = rw_realloc(kept->data, kept->n + n + 1);
	memcpy(kept->data + kept->n, bytes, n);
	kept->n += n;
}

/* device, t_ns, from_ns, to_ns, part, parts, objects, data */
static int list_take(void *arg, int n, char *const *words, char *const *names)
{
	struct burst_list *list = arg;
	const int64_t t_ns = strtoll(str_or(words[1], "0"), NULL, 10);
	const int part = atoi(str_or(words[4], "0"));
	struct burst_kept *kept = NULL;
	if (list->n > 0)
		kept = &list->v[list->n - 1];
	if (!kept || !str_eq(kept->device, str_or(words[0], "")) || kept->t_ns != t_ns) {
		rw_grow(list->v, list->n, list->cap);
		kept = &list->v[list->n++];
		*kept = (struct burst_kept){.device = rw_strdup(str_or(words[0], "")),
			.t_ns = t_ns,
			.objects = push_objects_new(),
			.at = map_new(),
			.whole = true,
			.parts = atoi(str_or(words[5], "0")),
			.from_ns = strtoll(str_or(words[2], "0"), NULL, 10),
			.to_ns = strtoll(str_or(words[3], "0"), NULL, 10)};
	}
	if (words[6])
		kept_objects(kept, words[6]);
	if (part != kept->next)
		kept->whole = false;
	if (kept->whole)
		kept_add(kept, str_or(words[7], ""));
	kept->next++;
	return 0;
}

static int list_read(struct client *client, const char *id, struct burst_list *list, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	if (!incident_id_is_plain(id))
		return err_set(e, -EINVAL, "'%.40s' is no id of an incident", id);
	str_addf(&sql,
		"SELECT device, t_ns, from_ns, to_ns, part, parts, objects, data FROM bursts WHERE "
		"incident_id LIKE '%s%%' ORDER BY device, t_ns, part",
		id);
	const int rc = history_sql_named(client->history, sql.s, NULL, list_take, list, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < list->n; i++)
		list->v[i].whole &= list->v[i].next == list->v[i].parts;
	if (list->n == 0)
		return err_set(e, -ENODATA,
			"no single values are kept of incident %s: they are, when a switch pushes "
			"IPFIX to a receiver ('push', 'ipfix') as the incident opens",
			id);
	return 0;
}

/* ---- fields ------------------------------------------------------------------ */

static struct burst_series *kept_series(struct burst_kept *kept, const struct burst_field *field)
{
	uint64_t at;
	const uint64_t key = hash_bytes(field, sizeof(*field), 1);
	if (map_get(kept->at, key, &at))
		return &kept->v[at];
	map_put(kept->at, key, kept->n_v);
	rw_grow(kept->v, kept->n_v, kept->cap_v);
	kept->v[kept->n_v] = (struct burst_series){.field = *field};
	return &kept->v[kept->n_v++];
}

static bool series_counts(const struct burst_series *series)
{
	const struct sai_stat *stat = sai_stat_of(series->field.type, series->field.stat);
	return !stat || stat->kind == SAI_COUNTER;
}

static void series_value(
	const struct burst_kept *kept, struct burst_series *series, int64_t t_ns, uint64_t value)
{
	uint64_t step = 0;
	if (series->begun && value > series->last)
		step = value - series->last;
	series->last = value;
	series->begun = true;
	if (!kept->second) {
		series->values++;
		series->rise += step;
		if (value > series->peak)
			series->peak = value;
		return;
	}
	series->risen += step;
	/* it was seen to stand still: a time of which nothing is known is no rest */
	if (step > 0 && series->seen_ns - series->step_ns > QUIET_NS)
		series->run_ns = t_ns;
	if (step > 0)
		series->step_ns = t_ns;
	series->seen_ns = t_ns;
	bool now = (double)value >= FULL_SHARE * (double)series->peak && series->peak > 0;
	if (series_counts(series))
		now = step > 0 && (double)series->risen >= BEGUN_SHARE * (double)series->rise;
	if (now && series->t_ns == 0 && series_counts(series))
		series->t_ns = series->run_ns;
	else if (now && series->t_ns == 0)
		series->t_ns = t_ns;
}

static const char *series_object(
	const struct burst_kept *kept, const struct burst_field *field, char buf[32])
{
	const char *name = push_objects_name(kept->objects, field->type, field->object);
	if (name)
		return name;
	snprintf(buf, 32, "object %" PRIu32, field->object);
	return buf;
}

static void kept_column(void *arg, const struct burst_field *field, const int64_t *t_ns,
	const uint64_t *values, size_t n)
{
	struct burst_kept *kept = arg;
	char object[32], name[SAI_NAME_MAX];
	struct burst_series *series = kept_series(kept, field);
	for (size_t i = 0; i < n; i++)
		series_value(kept, series, t_ns[i], values[i]);
	if (!kept->out)
		return;
	char who[128];
	const char *said = series_object(kept, field, object);
	text_clean(who, sizeof(who), said, strlen(said));
	sai_stat_text(name, field->type, field->stat);
	for (size_t i = 0; i < n; i++)
		fprintf(kept->out, "%" PRId64 ",%s,%s,%s,%" PRIu64 "\n", t_ns[i], kept->device, who,
			name, values[i]);
}

static void kept_read(struct burst_kept *kept)
{
	if (burst_read(kept->data, kept->n, kept_column, kept) < 0)
		kept->whole = false;
}

/* ---- the document ---------------------------------------------------------------- */

struct onset {
	const struct burst_kept *kept;
	const struct burst_series *series;
};

static int onset_order(const void *left, const void *right)
{
	const struct onset *l = left, *r = right;
	if (l->series->t_ns != r->series->t_ns)
		return (l->series->t_ns > r->series->t_ns) - (l->series->t_ns < r->series->t_ns);
	return strcmp(l->kept->device, r->kept->device);
}

/* Octets and packets always flow. Pauses, marks, losses and fill levels show what began. */
static bool series_tells(const struct burst_series *series)
{
	static const char *const words[] = {
		"PFC_", "PAUSE", "ECN", "DROP", "DISCARD", "TRIM", "OCCUPANCY", "WATERMARK"};
	const struct sai_stat *stat = sai_stat_of(series->field.type, series->field.stat);
	for (size_t i = 0; stat && i < rw_countof(words); i++)
		if (strstr(stat->name, words[i]))
			return series->t_ns != 0;
	return false;
}

/* What the document says. */
struct burst_told {
	const char *device, *start, *until;
	uint64_t values, fields;
	bool whole;
};
struct onset_told {
	const char *t, *device, *object, *statistic;
	uint64_t rise, peak; /* COUNT_UNKNOWN: it is of the other kind */
};
struct bursts_told {
	const char *incident;
	struct burst_told *bursts;
	size_t n_bursts;
	struct onset_told *onset;
	size_t n_onset;
};

#define SHAPE struct burst_told
static const struct field burst_told_fields[] = {
	TEXT(device, "", .known = true),
	TEXT(start, "", .known = true),
	TEXT(until, "", .known = true),
	COUNT(values, ""),
	COUNT(fields, ""),
	FLAG(whole, ""),
};
static SHAPE_OF(burst_told, "burst", "");
#undef SHAPE

#define SHAPE struct onset_told
static const struct field onset_told_fields[] = {
	TEXT(t, "", .known = true),
	TEXT(device, "", .known = true),
	TEXT(object, "", .known = true),
	TEXT(statistic, "", .known = true),
	COUNT(rise, "", .unknown = true),
	COUNT(peak, "", .unknown = true),
};
static SHAPE_OF(onset_told, "onset", "");
#undef SHAPE

#define SHAPE struct bursts_told
static const struct field bursts_told_fields[] = {
	TEXT(incident, "", .known = true),
	ROWS(bursts, burst_told, ""),
	ROWS(onset, onset_told, ""),
};
static SHAPE_OF(bursts_told, "bursts", "");
#undef SHAPE

static void burst_onsets(const struct burst_list *list, struct arena *a, struct bursts_told *ret)
{
	struct onset *v = NULL;
	size_t n = 0, cap = 0;
	for (size_t i = 0; i < list->n; i++)
		for (size_t k = 0; k < list->v[i].n_v; k++) {
			if (!series_tells(&list->v[i].v[k]))
				continue;
			rw_grow(v, n, cap);
			v[n++] = (struct onset){&list->v[i], &list->v[i].v[k]};
		}
	if (n > 0)
		qsort(v, n, sizeof(*v), onset_order);
	ret->n_onset = n < ONSETS_MAX ? n : ONSETS_MAX;
	ret->onset = arena_array(a, struct onset_told, ret->n_onset + 1);
	for (size_t i = 0; i < ret->n_onset; i++) {
		char object[32], name[SAI_NAME_MAX], t[WALL_TEXT_MAX];
		const struct burst_series *s = v[i].series;
		const bool counts = series_counts(s);
		ret->onset[i] = (struct onset_told){
			.t = arena_strdup(a, wall_format(t, (wall_t){s->t_ns}, 6)),
			.device = v[i].kept->device,
			.object = arena_strdup(a, series_object(v[i].kept, &s->field, object)),
			.statistic =
				arena_strdup(a, sai_stat_text(name, s->field.type, s->field.stat)),
			.rise = counts ? s->rise : COUNT_UNKNOWN,
			.peak = counts ? COUNT_UNKNOWN : s->peak};
	}
	free(v);
}

static void burst_devices(const struct burst_list *list, struct arena *a, struct bursts_told *ret)
{
	ret->n_bursts = list->n;
	ret->bursts = arena_array(a, struct burst_told, list->n + 1);
	for (size_t i = 0; i < list->n; i++) {
		const struct burst_kept *kept = &list->v[i];
		char from[WALL_TEXT_MAX], to[WALL_TEXT_MAX];
		uint64_t values = 0;
		for (size_t k = 0; k < kept->n_v; k++)
			values += kept->v[k].values;
		ret->bursts[i] = (struct burst_told){.device = kept->device,
			.start = arena_strdup(a, wall_format(from, (wall_t){kept->from_ns}, 3)),
			.until = arena_strdup(a, wall_format(to, (wall_t){kept->to_ns}, 3)),
			.values = values,
			.fields = kept->n_v,
			.whole = kept->whole};
	}
}

static void burst_text(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct bursts_told told = {0};
	shape_read(&bursts_told_shape, doc, a, &told);
	for (size_t i = 0; i < told.n_bursts; i++) {
		const struct burst_told *row = &told.bursts[i];
		fprintf(out, "%s  %s to %s  %" PRIu64 " values of %" PRIu64 " fields%s\n",
			row->device, row->start, row->until, row->values, row->fields,
			str_if(!row->whole, "  (parts are missing)"));
	}
	fprintf(out, "\nWHO BEGAN (the rise of a counter, half of the greatest fill)\n");
	for (size_t i = 0; i < told.n_onset; i++)
		fprintf(out, "%s  %-16s %-20s %s\n", told.onset[i].t, told.onset[i].device,
			told.onset[i].object, told.onset[i].statistic);
}

static const struct column onset_columns[] = {
	{"t", "TIME", COL_TEXT, false},
	{"device", "DEVICE", COL_TEXT, false},
	{"object", "OBJECT", COL_TEXT, false},
	{"statistic", "STATISTIC", COL_TEXT, false},
	{"rise", "RISE", COL_INT, true},
	{"peak", "PEAK", COL_INT, true},
};

const struct view incident_burst_view = {
	.title = "Who began",
	.rows = "onset",
	.columns = onset_columns,
	.n_columns = rw_countof(onset_columns),
	.text = burst_text,
	.empty = "nothing rose",
};

int incident_burst(struct client *client, const char *id, json_t **ret, struct err *e)
{
	rw_cleanup(list_done) struct burst_list list = {0};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct bursts_told told = {.incident = id};
	const int rc = list_read(client, id, &list, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < list.n; i++) {
		kept_read(&list.v[i]);
		for (size_t k = 0; k < list.v[i].n_v; k++)
			list.v[i].v[k].begun = false;
		list.v[i].second = true;
		kept_read(&list.v[i]);
	}
	burst_devices(&list, a, &told);
	burst_onsets(&list, a, &told);
	*ret = shape_json(&bursts_told_shape, &told);
	json_clean(*ret);
	return 0;
}

int incident_burst_values(struct client *client, const char *id, FILE *out, struct err *e)
{
	rw_cleanup(list_done) struct burst_list list = {0};
	const int rc = list_read(client, id, &list, e);
	if (rc < 0)
		return rc;
	fprintf(out, "t_ns,device,object,statistic,value\n");
	for (size_t i = 0; i < list.n; i++) {
		list.v[i].out = out;
		kept_read(&list.v[i]);
	}
	return 0;
}

/*
 * store_names - which number a name has in the file. The agent's ids are its own; a name is looked
 * up here when its first sample or flow is written, and added when it is new. SQLite gives the
 * numbers, one above the largest there is: 63 bits do not end.
 *
 * gone_ns says until when the agent knew a name; NAME_LIVE while it does. Readers load the names
 * that their time range needs by it (series_db.c), and retention deletes by it.
 */

#include "db/sqlite/schema/sqlite_io.h"
#include "db/sqlite/write/store_write.h"

/* store_stock - what lies in the tail of each device, kept as transactions add to it, and the
 * newest sample of all. */

struct seal_device *seal_device_of(struct seal *seal, int64_t device)
{
	uint64_t at;

	if (map_get(seal->index, (uint64_t)device, &at))
		return &seal->devices[at];
	rw_grow(seal->devices, seal->n_devices, seal->cap_devices);
	map_put(seal->index, (uint64_t)device, seal->n_devices);
	seal->devices[seal->n_devices] =
		(struct seal_device){.device = device, .from_ns = INT64_MAX, .to_ns = INT64_MIN};
	return &seal->devices[seal->n_devices++];
}

void seal_note(struct store_writer *writer, const struct tail_put *put)
{
	struct seal *seal = &writer->seal;

	rw_grow(seal->added, seal->n_added, seal->cap_added);
	seal->added[seal->n_added++] = (struct seal_added){.device = put->device,
		.from_ns = put->from_ns,
		.to_ns = put->to_ns,
		.n = put->n,
		.series = put->series};
}

void seal_commit(struct store_writer *writer)
{
	struct seal *seal = &writer->seal;

	for (size_t i = 0; seal->loaded && i < seal->n_added; i++) {
		const struct seal_added *added = &seal->added[i];
		struct seal_device *device = seal_device_of(seal, added->device);
		if (added->from_ns < device->from_ns)
			device->from_ns = added->from_ns;
		if (added->to_ns > device->to_ns)
			device->to_ns = added->to_ns;
		device->rows++;
		device->n += added->n;
		device->series = added->series;
	}
	for (size_t i = 0; i < seal->n_added; i++)
		if (seal->added[i].to_ns > seal->newest_ns)
			seal->newest_ns = seal->added[i].to_ns;
	if (seal->n_added > 0)
		seal->stored_mono_ns = mono_now().ns;
	seal->n_added = 0;
}

void seal_rollback(struct store_writer *writer)
{
	writer->seal.n_added = 0;
}

/* From the index of the table alone. */
int seal_load(struct store_writer *writer)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	struct seal *seal = &writer->seal;
	int rc = sqlite_prepare(writer->db,
		"SELECT device, min(from_ns), max(to_ns), count(*), sum(n) FROM tail "
		"INDEXED BY tail_device GROUP BY device",
		&st);

	if (seal->loaded)
		return SQLITE_OK;
	if (!seal->index)
		seal->index = map_new();
	map_clear(seal->index);
	seal->n_devices = 0;
	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct seal_device *device = seal_device_of(seal, sqlite3_column_int64(st, 0));
		device->from_ns = sqlite3_column_int64(st, 1);
		device->to_ns = sqlite3_column_int64(st, 2);
		device->rows = (uint64_t)sqlite3_column_int64(st, 3);
		device->n = (uint64_t)sqlite3_column_int64(st, 4);
		if (device->to_ns > seal->newest_ns)
			seal->newest_ns = device->to_ns;
		rc = SQLITE_OK;
	}
	seal->loaded = rc == SQLITE_DONE;
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

int writer_newest(struct store_writer *writer, int64_t *ret)
{
	/* one seek for each device, and for each of its metrics */
	static const char sql[] =
		"SELECT max(t) FROM (SELECT (SELECT max(to_ns) FROM tail WHERE device=e.id) AS t "
		"FROM entity e WHERE e.port='' AND e.priority=-1 UNION ALL "
		"SELECT (SELECT to_ns FROM block WHERE device=e.id AND metric=m.id "
		"ORDER BY from_ns DESC LIMIT 1) FROM entity e CROSS JOIN metric_name m "
		"WHERE e.port='' AND e.priority=-1)";
	int rc;

	*ret = sqlite_int(writer->db, sql, 0, &rc);
	return rc;
}

static const char *const names_sql[NAME_STATEMENTS] = {
	[NAME_FIND] = "SELECT id, gone_ns FROM entity WHERE device=?1 AND port=?2 AND priority=?3",
	[NAME_ADD] = "INSERT INTO entity(device, port, priority, made_ns) VALUES(?1, ?2, ?3, ?4)",
	[NAME_BACK] = "UPDATE entity SET gone_ns=" NAME_LIVE_SQL " WHERE id=?1",
	[NAME_GONE] = "UPDATE entity SET gone_ns=?2 WHERE id=?1",
	[NAME_SERIES] = "SELECT metric FROM series WHERE entity=?1",
	[NAME_TEXT_FIND] = "SELECT id FROM text WHERE text=?1",
	[NAME_TEXT_ADD] = "INSERT INTO text(text) VALUES(?1)",
};

static int names_statement(struct store_writer *writer, unsigned kind, sqlite3_stmt **ret)
{
	sqlite3_stmt **st = &writer->names[kind];
	int rc = SQLITE_OK;

	if (!*st)
		rc = sqlite_prepare(writer->db, names_sql[kind], st);
	*ret = *st;
	return rc;
}

/* ---- what the agent says --------------------------------------------------- */

/* Room for ids up to and including @id. */
static void names_room(struct store_writer *writer, uint32_t id)
{
	size_t n = writer->n_entities;

	if (id < n)
		return;
	if (n == 0)
		n = 256;
	while (n <= id)
		n *= 2;
	writer->entities = rw_realloc(writer->entities, n * sizeof(*writer->entities));
	memset(writer->entities + writer->n_entities, 0,
		(n - writer->n_entities) * sizeof(*writer->entities));
	writer->n_entities = n;
}

/* The port of a priority; any other name's own id. */
static uint32_t name_port(const struct record_entity *name)
{
	if (name->priority == PRIO_NONE || name->parent == ENTITY_NONE)
		return name->id;
	return name->parent;
}

void writer_note_names(struct store_writer *writer, const struct record_entity *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct record_entity *name = &names[i];
		names_room(writer, name->id);
		writer->entities[name->id] = (struct writer_entity){.device = name->device,
			.port = name->port,
			.priority = name->priority,
			.port_id = name_port(name),
			.device_id = name->owner};
	}
}

void writer_note_texts(struct store_writer *writer, const struct record_text *texts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t id = texts[i].id;
		if (id >= writer->n_texts) {
			const size_t room = (size_t)id * 2 + 64;
			writer->texts = rw_realloc(writer->texts, room * sizeof(*writer->texts));
			memset(writer->texts + writer->n_texts, 0,
				(room - writer->n_texts) * sizeof(*writer->texts));
			writer->n_texts = room;
		}
		writer->texts[id] = (struct writer_text){.text = texts[i].text};
	}
}

/* ---- names ----------------------------------------------------------------- */

/* What an earlier run knew was gone when it ended; each name comes back with its first sample. */
static int age_names(struct store_writer *writer)
{
	int64_t newest_ns;

	if (writer->names_aged || writer->o.replay)
		return SQLITE_OK;
	int rc = writer_newest(writer, &newest_ns);
	if (rc == SQLITE_OK)
		rc = sqlite_execf(writer->db,
			"UPDATE entity SET gone_ns=%lld WHERE gone_ns=" NAME_LIVE_SQL,
			(long long)newest_ns);
	if (rc != SQLITE_OK)
		return rc;
	writer->names_aged = writer->names_aged_now = true;
	writer->names_changed = true;
	return SQLITE_OK;
}

/* Which metrics table series has of it. */
static int load_series(struct store_writer *writer, struct writer_entity *entity)
{
	sqlite3_stmt *st;
	int rc = names_statement(writer, NAME_SERIES, &st);

	if (rc != SQLITE_OK)
		return rc;
	memset(entity->bits, 0, sizeof(entity->bits));
	sqlite3_bind_int64(st, 1, entity->file_id);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		const int metric = metric_by_name((const char *)sqlite3_column_text(st, 0));
		if (metric < 0)
			continue;
		entity->bits[metric / 64] |= UINT64_C(1) << (metric % 64);
		if (entity->device_id < writer->n_entities)
			writer->entities[entity->device_id].n_series++;
	}
	sqlite3_reset(st);
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

static void bind_name(sqlite3_stmt *st, const struct writer_entity *entity)
{
	sqlite3_bind_text(st, 1, entity->device, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 2, entity->port, -1, SQLITE_STATIC);
	sqlite3_bind_int(st, 3, entity->priority);
}

static int name_add(struct store_writer *writer, struct writer_entity *entity, int64_t t_ns)
{
	sqlite3_stmt *st;
	int rc = names_statement(writer, NAME_ADD, &st);

	if (rc != SQLITE_OK)
		return rc;
	bind_name(st, entity);
	sqlite3_bind_int64(st, 4, t_ns);
	rc = sqlite_run(st);
	entity->file_id = sqlite3_last_insert_rowid(writer->db);
	writer->names_changed = true;
	return rc;
}

static int name_back(struct store_writer *writer, const struct writer_entity *entity)
{
	sqlite3_stmt *st;
	int rc = names_statement(writer, NAME_BACK, &st);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, entity->file_id);
	writer->names_changed = true;
	return sqlite_run(st);
}

static int name_find(struct store_writer *writer, struct writer_entity *entity, int64_t t_ns)
{
	bool gone = false;
	sqlite3_stmt *st;
	int rc = names_statement(writer, NAME_FIND, &st);

	if (rc != SQLITE_OK)
		return rc;
	bind_name(st, entity);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		entity->file_id = sqlite3_column_int64(st, 0);
		gone = sqlite3_column_int64(st, 1) != NAME_LIVE;
	}
	sqlite3_reset(st);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return rc;
	if (rc == SQLITE_DONE)
		return name_add(writer, entity, t_ns);
	rc = load_series(writer, entity);
	if (rc == SQLITE_OK && gone)
		rc = name_back(writer, entity);
	return rc;
}

int writer_name_find(struct store_writer *writer, uint32_t id, int64_t t_ns)
{
	if (id >= writer->n_entities || !writer->entities[id].device)
		return SQLITE_NOTFOUND;
	int rc = age_names(writer);
	if (rc != SQLITE_OK)
		return rc;
	/* first, so that a rollback finds it however far this came */
	rw_grow(writer->new_ids, writer->n_new_ids, writer->cap_new_ids);
	writer->new_ids[writer->n_new_ids++] = id;
	rc = name_find(writer, &writer->entities[id], t_ns);
	if (rc != SQLITE_OK)
		writer->entities[id].file_id = 0;
	return rc;
}

int writer_names_gone(struct store_writer *writer, const uint32_t *ids, size_t n, int64_t t_ns)
{
	sqlite3_stmt *st;
	int rc = names_statement(writer, NAME_GONE, &st);

	for (size_t i = 0; rc == SQLITE_OK && i < n; i++) {
		if (ids[i] >= writer->n_entities || !writer->entities[ids[i]].file_id)
			continue; /* nothing was ever stored of it */
		sqlite3_bind_int64(st, 1, writer->entities[ids[i]].file_id);
		sqlite3_bind_int64(st, 2, t_ns);
		rc = sqlite_run(st);
		writer->names_changed = true;
	}
	return rc;
}

/* ---- texts ----------------------------------------------------------------- */

static int text_find(struct store_writer *writer, struct writer_text *text)
{
	sqlite3_stmt *st;
	int rc = names_statement(writer, NAME_TEXT_FIND, &st);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_text(st, 1, text->text, -1, SQLITE_STATIC);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		text->file_id = sqlite3_column_int64(st, 0);
	sqlite3_reset(st);
	if (rc == SQLITE_ROW)
		return SQLITE_OK;
	if (rc == SQLITE_DONE)
		rc = names_statement(writer, NAME_TEXT_ADD, &st);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_text(st, 1, text->text, -1, SQLITE_STATIC);
	rc = sqlite_run(st);
	if (rc == SQLITE_OK)
		text->file_id = sqlite3_last_insert_rowid(writer->db);
	return rc;
}

int writer_text(struct store_writer *writer, uint64_t id, int64_t *ret)
{
	int rc = SQLITE_OK;

	*ret = 0;
	if (id == 0 || id >= writer->n_texts || !writer->texts[id].text)
		return SQLITE_OK;
	struct writer_text *text = &writer->texts[id];
	if (!text->file_id) {
		rw_grow(writer->new_texts, writer->n_new_texts, writer->cap_new_texts);
		writer->new_texts[writer->n_new_texts++] = (uint32_t)id;
		rc = text_find(writer, text);
	}
	*ret = text->file_id;
	return rc;
}

/* ---- transactions ---------------------------------------------------------- */

int writer_names_commit(struct store_writer *writer)
{
	int rc = SQLITE_OK;

	if (writer->names_changed) /* readers look at this number before they look at names */
		rc = sqlite_exec(writer->db,
			"INSERT INTO meta VALUES('" SCHEMA_NAMES "', 1) "
			"ON CONFLICT(key) DO UPDATE SET value=value+1");
	writer->names_aged_now &= rc != SQLITE_OK;
	return rc;
}

void writer_names_rollback(struct store_writer *writer)
{
	for (size_t i = 0; i < writer->n_new_ids; i++)
		writer->entities[writer->new_ids[i]].file_id = 0;
	for (size_t i = 0; i < writer->n_new_texts; i++)
		writer->texts[writer->new_texts[i]].file_id = 0;
	writer->n_new_ids = writer->n_new_texts = 0;
	if (writer->names_aged_now)
		writer->names_aged = writer->names_aged_now = false;
}

void writer_names_unresolve(struct store_writer *writer)
{
	for (size_t i = 0; i < writer->n_entities; i++)
		writer->entities[i].file_id = 0;
	for (size_t i = 0; i < writer->n_texts; i++)
		writer->texts[i].file_id = 0;
	writer->names_aged = false;
}

/* store_metrics - which numbers the metrics have in the file, and sets of those numbers. */

static int tail_order_metrics(const void *left, const void *right, void *arg)
{
	const struct tail_state *tail = arg;
	const int64_t x = tail->number[*(const uint16_t *)left];
	const int64_t y = tail->number[*(const uint16_t *)right];

	return (x > y) - (x < y);
}

int writer_metric_numbers(struct store_writer *writer)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	struct tail_state *tail = &writer->tail;
	int rc = sqlite_prepare(writer->db, "SELECT id FROM metric_name WHERE name=?1", &st);

	for (uint16_t m = 0; rc == SQLITE_OK && m < METRIC_COUNT; m++) {
		sqlite3_bind_text(st, 1, metric_info(m)->name, -1, SQLITE_STATIC);
		rc = sqlite3_step(st);
		tail->number[m] = sqlite3_column_int64(st, 0);
		tail->by_number[m] = m;
		const int reset = sqlite3_reset(st);
		if (rc == SQLITE_ROW)
			rc = reset;
	}
	if (rc == SQLITE_DONE) /* schema_migrate() adds each that is missing */
		rc = SQLITE_CORRUPT;
	qsort_r(tail->by_number, METRIC_COUNT, sizeof(*tail->by_number), tail_order_metrics, tail);
	for (uint16_t i = 0; i < METRIC_COUNT; i++)
		tail->place[tail->by_number[i]] = i;
	return rc;
}

int writer_metric_of(const struct store_writer *writer, int64_t number)
{
	const struct tail_state *tail = &writer->tail;
	size_t from = 0, to = METRIC_COUNT;

	while (from < to) {
		const size_t middle = (from + to) / 2;
		if (tail->number[tail->by_number[middle]] < number)
			from = middle + 1;
		else
			to = middle;
	}
	if (from < METRIC_COUNT && tail->number[tail->by_number[from]] == number)
		return tail->by_number[from];
	return -1;
}

void writer_tail_bits(const struct tail_segment *parts, size_t n, struct str *ret)
{
	ret->n = 0;
	for (size_t i = 0; i < n; i++) {
		const uint64_t number = (uint64_t)parts[i].metric;
		while (ret->n <= number / 8)
			str_addn(ret, "\0", 1);
		ret->s[number / 8] = (char)(ret->s[number / 8] | 1 << (number % 8));
	}
}

/* series_db - a SQLite file opened for reading, and its rows as samples. A read transaction lasts
 * as long as one window, or one slice of a scan, takes to read. */
#include "db/sqlite/read/series_db.h"

#include <sys/stat.h>
#include <unistd.h>

#include "db/sqlite/read/blocks.h"
#include "db/sqlite/read/samples_table.h"
#include "db/sqlite/schema/sqlite_io.h"

/* series_snapshot - bounds how long a reader of ours may look at one state of the file: as long as
 * it does, the write-ahead log cannot begin anew behind it. */

#define LOOK_EVERY 100000 /* steps of SQLite's machine: some milliseconds */

static int snapshot_late(void *arg)
{
	const struct series_db *db = arg;

	return db->snapshot_until_ns != 0 && mono_now().ns > db->snapshot_until_ns;
}

void series_snapshot_begin(struct series_db *db)
{
	db->snapshot_until_ns = mono_now().ns + SERIES_SNAPSHOT_S * NS_PER_S;
	sqlite3_progress_handler(db->db, LOOK_EVERY, snapshot_late, db);
}

void series_snapshot_end(struct series_db *db)
{
	db->snapshot_until_ns = 0;
}

/* series_names - the names of a file, for its reader. A file may hold a million names of which all
 * but a few are gone: what is read are those that were known at some time of the range that is
 * asked for. The reader has ids of its own; those in the file may be any number. */

/* ---- a name ---------------------------------------------------------------- */

static void names_room(struct series_db *db, uint32_t id)
{
	if (id < db->n_names)
		return;
	const uint32_t n = id + id / 2 + 64;
	db->names = rw_realloc(db->names, n * sizeof(*db->names));
	memset(db->names + db->n_names, 0, (n - db->n_names) * sizeof(*db->names));
	db->n_names = n;
}

/* Our id of a name. Two names of the file may be the same once they are clean, and names can be
 * printed: the second gets its number into its name. */
static uint32_t names_own(
	struct series_db *db, int64_t file_id, const char *device, const char *port, int priority)
{
	const uint32_t id = entities_intern(db->entities, device, port, priority);
	if (id >= db->n_names || db->names[id].file_id == 0 || db->names[id].file_id == file_id)
		return id;
	if (text_is_clean(device) && text_is_clean(port))
		return id; /* deleted, and made anew since */
	rw_cleanup(str_done) struct str other = {0};
	str_addf(&other, "%s~%lld", port, (long long)file_id);
	return entities_intern(db->entities, device, other.s, priority);
}

/* Numbers that this program's files have: an array holds them. */
enum { NUMBERS_NEAR = 1 << 22 };

/* Enters the row at hand: id, device, port, priority, gone_ns. Returns our id, ENTITY_NONE when it
 * cannot be used. */
static uint32_t names_take(struct series_db *db, sqlite3_stmt *st)
{
	const int64_t file_id = sqlite3_column_int64(st, 0);
	const char *device = (const char *)sqlite3_column_text(st, 1);
	const char *port = (const char *)sqlite3_column_text(st, 2);
	const int priority = sqlite3_column_int(st, 3);
	uint32_t id = ENTITY_NONE;

	if (device && port && priority >= INT16_MIN && priority <= INT16_MAX)
		id = names_own(db, file_id, device, port, priority);
	if (id == ENTITY_NONE)
		return id;
	names_room(db, entities_count(db->entities)); /* parents may have come along */
	struct series_name *name = &db->names[id];
	name->file_id = file_id;
	name->version = db->taking_version;
	name->gone_ns = sqlite3_column_int64(st, 4);
	if (file_id < 0 || file_id >= NUMBERS_NEAR) {
		map_put(db->far, (uint64_t)file_id, id);
		return id;
	}
	if ((size_t)file_id >= db->n_near) {
		const size_t n = (size_t)file_id + (size_t)file_id / 2 + 64;
		db->near = rw_realloc(db->near, n * sizeof(*db->near));
		memset(db->near + db->n_near, 0, (n - db->n_near) * sizeof(*db->near));
		db->n_near = n;
	}
	db->near[file_id] = id;
	return id;
}

#define NAMES_COLUMNS "SELECT id, device, port, priority, "

/* One name by its number in the file. SQLITE_OK also when there is none. */
static int names_by_number(struct series_db *db, int64_t file_id, uint32_t *ret)
{
	int rc = SQLITE_OK;

	if (!db->naming)
		rc = sqlite_prepare(
			db->db, NAMES_COLUMNS "gone_ns FROM entity WHERE id=?1", &db->naming);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(db->naming, 1, file_id);
	if (sqlite3_step(db->naming) == SQLITE_ROW)
		*ret = names_take(db, db->naming);
	return sqlite3_reset(db->naming);
}

/* The number in the file of a name that is known by its words, if there is one. */
static int names_by_words(struct series_db *db, const struct entity *entity)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db->db,
		NAMES_COLUMNS "gone_ns FROM entity WHERE device=?1 AND port=?2 AND priority=?3", -1,
		&st, NULL);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_text(st, 1, entity->device, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 2, entity->port, -1, SQLITE_STATIC);
	sqlite3_bind_int(st, 3, entity->priority);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		names_take(db, st);
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

/* Ports and devices are known as long as what belongs to them; in a file that others wrote, maybe
 * not: then they are looked up by name. */
static int names_complete(struct series_db *db, uint32_t id)
{
	const struct entity *entity = entity_get(db->entities, id);
	const uint32_t needed[] = {entity->parent, entity_device(db->entities, id)};
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < rw_countof(needed); i++) {
		if (needed[i] != ENTITY_NONE && needed[i] < db->n_names &&
			db->names[needed[i]].file_id == 0)
			rc = names_by_words(db, entity_get(db->entities, needed[i]));
	}
	return rc;
}

/* ---- all that a range needs -------------------------------------------------- */

/* The index of gone names leads to few names among many, but each costs a seek, and they have to be
 * sorted then: where not more than this are to be left out, the table is read as it lies. */
#define NAMES_GONE_FEW "50000"
/* ?2: of priorities only these, and what has none, a bit each; 0 = all */
#define NAMES_LANES " AND (?2=0 OR ?2>>iif(priority<0," NAMES_PORTS ",priority)&1) ORDER BY id"
#define NAMES_PORTS "8" /* the bit WINDOW_LANES */

static const char *names_select(const struct series_db *db, int64_t from_ns, int *ret_rc)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;

	*ret_rc = SQLITE_OK;
	*ret_rc = sqlite3_prepare_v2(db->db,
		"SELECT count(*) FROM (SELECT 1 FROM entity INDEXED BY entity_gone "
		"WHERE gone_ns<?1 LIMIT " NAMES_GONE_FEW ") HAVING count(*)>=" NAMES_GONE_FEW,
		-1, &st, NULL);
	if (*ret_rc != SQLITE_OK)
		return NULL;
	sqlite3_bind_int64(st, 1, from_ns);
	const int rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		return NAMES_COLUMNS
			"gone_ns FROM entity INDEXED BY entity_gone WHERE gone_ns>=?1" NAMES_LANES;
	if (rc != SQLITE_DONE)
		*ret_rc = rc;
	return NAMES_COLUMNS "gone_ns FROM entity NOT INDEXED WHERE gone_ns>=?1" NAMES_LANES;
}

/* @device NULL: all of them, of priorities those of @lanes. */
static int load_entities(
	struct series_db *db, int64_t from_ns, const char *device, unsigned lanes, size_t *ret_n)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	const char *sql = NAMES_COLUMNS "gone_ns FROM entity WHERE device=?2 AND gone_ns>=?1 "
					"ORDER BY +id";
	rw_cleanup(freep) uint32_t *taken = NULL;
	size_t cap = 0;
	int rc = SQLITE_OK;

	*ret_n = 0;
	if (!device)
		sql = names_select(db, from_ns, &rc);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db->db, sql, -1, &st, NULL);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, from_ns);
	if (device)
		sqlite3_bind_text(st, 2, device, -1, SQLITE_STATIC);
	else
		sqlite3_bind_int64(st, 2, lanes);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		rw_grow(taken, *ret_n, cap);
		taken[(*ret_n)++] = names_take(db, st);
	}
	if (rc != SQLITE_DONE)
		return rc;
	rc = SQLITE_OK;
	for (size_t i = 0; rc == SQLITE_OK && i < *ret_n; i++)
		if (taken[i] != ENTITY_NONE)
			rc = names_complete(db, taken[i]);
	return rc;
}

/* The metric of a row: rows are sorted by entity, and entities of a kind have the same metrics, so
 * the one that followed the last time is tried first. */
struct metric_row {
	int after[METRIC_COUNT + 1]; /* -1 not seen yet */
	int last; /* METRIC_COUNT: none */
};

static int metric_row_of(struct metric_row *row, const char *name)
{
	int metric = row->after[row->last];
	if (!name || metric < 0 || strcmp(metric_info((unsigned)metric)->name, name) != 0)
		metric = metric_by_name(name);
	if (metric < 0)
		return metric;
	row->after[row->last] = metric;
	row->last = metric;
	return metric;
}

/* Which entity ever had which metric. Where most names are gone, only the others are looked up. */
static int load_present(struct series_db *db, int64_t from_ns)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	const char *sql = "SELECT entity, metric FROM series";
	struct metric_row row = {.last = METRIC_COUNT};
	int rc;

	const int64_t all = sqlite_int(db->db, "SELECT max(id) FROM entity", 0, &rc);
	if ((int64_t)entities_count(db->entities) * 4 < all)
		sql = "SELECT s.entity, s.metric FROM entity e INDEXED BY entity_gone "
		      "CROSS JOIN series s ON s.entity=e.id WHERE e.gone_ns>=?1";
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db->db, sql, -1, &st, NULL);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, from_ns);
	memset(row.after, -1, sizeof(row.after));
	int64_t file_id = -1;
	uint32_t id = ENTITY_NONE;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		const int metric = metric_row_of(&row, (const char *)sqlite3_column_text(st, 1));
		if (sqlite3_column_int64(st, 0) != file_id) {
			file_id = sqlite3_column_int64(st, 0);
			id = series_numbered(db, file_id);
		}
		if (metric >= 0 && id != ENTITY_NONE)
			db->present[(size_t)id * SERIES_WORDS + (unsigned)metric / 64] |=
				UINT64_C(1) << (metric % 64);
	}
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

/* A number that changes when names or their series do. */
static int names_version(struct series_db *db, int64_t *ret)
{
	int rc;

	*ret = sqlite_int(db->db, "SELECT value FROM meta WHERE key='" SCHEMA_NAMES "'", 0, &rc);
	return rc;
}

int series_names_load(struct series_db *db, int64_t from_ns)
{
	return series_names_lanes(db, from_ns, 0);
}

/* What is asked for next is often a little older, and few names are gone by then. */
#define NAMES_BEFORE_NS (3600 * NS_PER_S)

int series_names_lanes(struct series_db *db, int64_t from_ns, unsigned lanes)
{
	int64_t version;
	int rc = names_version(db, &version);

	if (rc != SQLITE_OK)
		return rc;
	const bool enough = db->names_lanes == 0 || (lanes && !(lanes & ~db->names_lanes));
	if (db->names_loaded && enough && version == db->names_version &&
		from_ns >= db->names_from_ns)
		return SQLITE_OK;
	if (db->names_loaded && lanes)
		lanes = db->names_lanes ? lanes | db->names_lanes : 0; /* those of both */
	unsigned more = lanes;
	if (db->names_loaded && version == db->names_version && from_ns >= db->names_from_ns)
		more &= ~db->names_lanes; /* the others are there */
	if (db->names_loaded && from_ns > db->names_from_ns)
		from_ns = db->names_from_ns;
	else if (from_ns > INT64_MIN + NAMES_BEFORE_NS)
		from_ns -= NAMES_BEFORE_NS;
	size_t n;
	db->taking_version = version;
	rc = load_entities(db, from_ns, NULL, more, &n);
	if (rc != SQLITE_OK)
		return rc;
	db->names_version = version;
	db->names_from_ns = from_ns;
	db->names_lanes = lanes;
	db->names_loaded = true;
	return SQLITE_OK;
}

/* Names of one device are as good as all of them where it is named in full: by plain characters,
 * which are the same in the file. */
static bool names_plain(const char *device)
{
	for (const char *c = device; *c; c++)
		if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f || strchr("*?[]\\", *c))
			return false;
	return *device != '\0';
}

/* The names of one device; *@ret false: it is not known by this name. */
static int names_load_device(
	struct series_db *db, int64_t version, int64_t from_ns, const char *device, bool *ret)
{
	const size_t length = strlen(device);
	uint64_t at;
	size_t n;

	if (!db->parts || db->parts_version != version || from_ns < db->parts_from_ns) {
		smap_free(db->parts);
		db->parts = smap_new();
		db->parts_version = version;
		db->parts_from_ns = from_ns;
	}
	*ret = true;
	if (smap_get(db->parts, device, length, &at))
		return SQLITE_OK;
	db->taking_version = version;
	const int rc = load_entities(db, db->parts_from_ns, device, 0, &n);
	*ret = n > 0;
	if (rc == SQLITE_OK && n > 0)
		smap_put(db->parts, device, length, 1);
	return rc;
}

/* Whether names of parts are enough: where all are there, they are looked at. */
static int names_partly(struct series_db *db, int64_t *ret_version, bool *ret)
{
	*ret = !db->names_loaded || db->names_lanes != 0;
	if (!*ret)
		return SQLITE_OK;
	return names_version(db, ret_version);
}

int series_names_filter(struct series_db *db, int64_t from_ns, const char *device, bool *ret_part)
{
	int64_t version = 0;
	bool part;
	int rc = names_partly(db, &version, &part);

	part = part && device && names_plain(device);
	if (rc == SQLITE_OK && part)
		rc = names_load_device(db, version, from_ns, device, &part);
	if (ret_part)
		*ret_part = part;
	if (rc != SQLITE_OK || part)
		return rc;
	return series_names_load(db, from_ns);
}

#define NAMES_PARTS_MOST 16 /* of more devices all names are read */

/* Are these names loaded, as of @version? */
static bool names_there(const struct series_db *db, int64_t version, const uint32_t *ids, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (ids[i] >= db->n_names || !db->names[ids[i]].file_id ||
			db->names[ids[i]].version != version)
			return false;
	}
	return true;
}

int series_names_some(struct series_db *db, int64_t from_ns, const uint32_t *ids, size_t n)
{
	int64_t version = 0;
	uint32_t last = ENTITY_NONE;
	size_t n_devices = 0;
	bool part;
	int rc = names_partly(db, &version, &part);

	if (rc == SQLITE_OK && part && names_there(db, version, ids, n))
		return SQLITE_OK;
	for (size_t i = 0; rc == SQLITE_OK && part && i < n; i++) {
		const uint32_t device = entity_device(db->entities, ids[i]);
		const struct entity *entity = entity_get(db->entities, device);
		if (!entity || device == last)
			continue;
		last = device;
		part = ++n_devices <= NAMES_PARTS_MOST && names_plain(entity->device);
		if (part)
			rc = names_load_device(db, version, from_ns, entity->device, &part);
	}
	/* One that did not come along has another name in the file, or is gone. */
	part = part && names_there(db, version, ids, n);
	if (rc != SQLITE_OK || part)
		return rc;
	return series_names_load(db, from_ns);
}

int series_entity_has(
	struct series_db *db, uint32_t id, const bool metrics[METRIC_COUNT], bool *ret)
{
	static const char sql[] = "SELECT metric FROM series WHERE entity=?1";
	int rc = SQLITE_OK;

	*ret = false;
	if (!db->having)
		rc = sqlite_prepare(db->db, sql, &db->having);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(db->having, 1, db->names[id].file_id);
	while (!*ret && sqlite3_step(db->having) == SQLITE_ROW) {
		const int metric = metric_by_name((const char *)sqlite3_column_text(db->having, 0));
		*ret = metric >= 0 && metrics[metric];
	}
	return sqlite3_reset(db->having);
}

int series_present_load(struct series_db *db, int64_t from_ns)
{
	if (db->present && db->present_version == db->names_version &&
		from_ns >= db->present_from_ns)
		return SQLITE_OK;
	if (from_ns > db->names_from_ns)
		from_ns = db->names_from_ns;
	free(db->present);
	db->n_present = entities_count(db->entities) + 1;
	db->present = rw_calloc((size_t)db->n_present * SERIES_WORDS, sizeof(*db->present));
	const int rc = load_present(db, from_ns);
	if (rc != SQLITE_OK) {
		free(db->present);
		db->present = NULL;
		db->n_present = 0;
	}
	db->present_version = db->names_version;
	db->present_from_ns = from_ns;
	return rc;
}

/* ---- one number ---------------------------------------------------------------- */

int series_name_of(struct series_db *db, int64_t file_id, uint32_t *ret)
{
	*ret = series_numbered(db, file_id);
	if (*ret != ENTITY_NONE)
		return SQLITE_OK;
	return names_by_number(db, file_id, ret);
}

int series_name_now(struct series_db *db, int64_t file_id, uint32_t *ret)
{
	*ret = series_numbered(db, file_id);
	if (*ret != ENTITY_NONE && db->names[*ret].version == db->names_version)
		return SQLITE_OK;
	*ret = ENTITY_NONE;
	db->taking_version = db->names_version;
	return names_by_number(db, file_id, ret);
}

static int text_read(struct series_db *db, int64_t file_id, uint64_t *ret)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db->db, "SELECT text FROM text WHERE id=?1", -1, &st, NULL);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, file_id);
	rc = sqlite3_step(st);
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	if (rc != SQLITE_ROW)
		return rc;
	*ret = entities_text(db->entities, (const char *)sqlite3_column_text(st, 0));
	map_put(db->texts, (uint64_t)file_id, *ret);
	return SQLITE_OK;
}

uint64_t series_text_of(struct series_db *db, int64_t file_id)
{
	uint64_t id = 0;

	if (file_id == 0 || map_get(db->texts, (uint64_t)file_id, &id))
		return id;
	const int rc = text_read(db, file_id, &id);
	if (rc != SQLITE_OK)
		db->text_rc = rc;
	return id;
}

#define BUSY_MS 5000

/* ---- opening ------------------------------------------------------------- */

int series_begin_bare(struct series_db *db)
{
	int rc = db->names_rc;

	/* Names that could not be read for history_entities(), which cannot say so, fail the
	 * question that follows: an answer without them would look whole. */
	db->names_rc = SQLITE_OK;
	if (rc == SQLITE_OK)
		rc = sqlite_exec(db->db, "BEGIN");
	series_snapshot_begin(db);
	db->text_rc = SQLITE_OK;
	if (rc != SQLITE_OK)
		series_end(db);
	return rc;
}

/* A read transaction. series_begin - it begins with the names that a range from @from_ns on needs;
 * series_begin_bare - the caller reads those that it needs. Return a SQLite result code. */
static int series_begin(struct series_db *db, int64_t from_ns)
{
	int rc = series_begin_bare(db);

	if (rc == SQLITE_OK)
		rc = series_names_load(db, from_ns);
	if (rc != SQLITE_OK)
		series_end(db);
	return rc;
}

void series_end(struct series_db *db)
{
	series_snapshot_end(db);
	if (!sqlite3_get_autocommit(db->db))
		sqlite_exec(db->db, "COMMIT");
}

/* The main file has everything: there is no write-ahead log, or an empty one that nobody has open
 * (then there would be a -shm file). */
static bool is_whole(const char *path)
{
	rw_cleanup(str_done) struct str wal = {0}, shm = {0};
	struct stat st;

	str_addf(&wal, "%s-wal", path);
	str_addf(&shm, "%s-shm", path);
	if (stat(wal.s, &st) < 0)
		return errno == ENOENT;
	return st.st_size == 0 && access(shm.s, F_OK) < 0 && errno == ENOENT;
}

/*
 * Who may not write the directory cannot make the -shm file of a database that nobody writes at the
 * moment. Where the main file has everything it may be read as it is.
 */
static int open_immutable(struct series_db *db)
{
	rw_cleanup(str_done) struct str uri = {0};

	if (!is_whole(db->path))
		return SQLITE_CANTOPEN;
	str_add(&uri, "file:");
	for (const char *p = db->path; *p; p++) {
		if (strchr("?#%", *p))
			str_addf(&uri, "%%%02x", (unsigned char)*p);
		else
			str_addn(&uri, p, 1);
	}
	str_add(&uri, "?immutable=1");
	sqlite3_close(db->db);
	db->db = NULL;
	db->immutable = true;
	return sqlite_open(
		uri.s, &db->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI);
}

/* Mistakes that SQLite would describe less well. */
static int check_path(const char *path, struct err *e)
{
	struct stat st;

	if (access(path, R_OK) < 0) {
		int error = -errno;
		return err_set(e, error, "cannot open the database %s: %s%s", path,
			strerror(-error),
			str_if(error == -ENOENT,
				"; 'rocewatch agent' or 'rocewatch replay --db' makes one"));
	}
	struct err kind;
	if (stat(path, &st) < 0)
		return 0;
	const int rc = str_file_kind(path, &st, &kind);
	if (rc < 0)
		return err_set(e, rc, "cannot open the database %s: it %s", path, kind.text);
	return 0;
}

static int open_connection(struct series_db *db)
{
	int rc = sqlite_open(db->path, &db->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX);

	if (rc == SQLITE_OK) {
		sqlite3_busy_timeout(db->db, BUSY_MS);
		/* opening reads nothing yet */
		sqlite_int(db->db, "SELECT count(*) FROM sqlite_master", 0, &rc);
	}
	if ((rc & 0xff) == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_READONLY)
		rc = open_immutable(db);
	if (rc == SQLITE_OK)
		rc = samples_table_register(db->db);
	return rc;
}

static int open_reader_file(struct series_db *db, struct err *e)
{
	int version, r = check_path(db->path, e);

	if (r < 0)
		return r;
	int rc = open_connection(db);
	if (rc != SQLITE_OK)
		return sqlite_fail(e, db->db, rc, "open", db->path);
	r = schema_check(db->db, db->path, &version, e);
	if (r < 0)
		return r;
	if (version == 0)
		return err_set(e, -EINVAL,
			"%s is empty; 'rocewatch agent' or 'rocewatch replay --db' fills it",
			db->path);
	rc = sqlite_exec(
		db->db, "PRAGMA query_only=1; PRAGMA cache_size=-4096; PRAGMA temp_store=MEMORY");
	if (rc != SQLITE_OK)
		return sqlite_fail(e, db->db, rc, "read", db->path);
	db->blocks = blocks_new(db->db);
	db->blocks->has_counts = version >= SCHEMA_COUNTS;
	return 0;
}

int series_db_open(const char *path, struct series_db **ret, struct err *e)
{
	struct series_db *db = rw_calloc(1, sizeof(*db));

	db->path = rw_strdup(path);
	db->entities = entities_new();
	db->far = map_new();
	db->texts = map_new();
	int r = open_reader_file(db, e);
	if (r < 0) {
		series_db_close(&db->history);
		return r;
	}
	*ret = db;
	return 0;
}

void series_db_close(struct history *history)
{
	struct series_db *db = series_db_of(history);

	blocks_free(db->blocks);
	sqlite3_finalize(db->having);
	sqlite3_finalize(db->naming);
	sqlite3_close(db->db);
	entities_free(db->entities);
	map_free(db->far);
	free(db->near);
	map_free(db->texts);
	smap_free(db->parts);
	free(db->names);
	free(db->present);
	free(db->path);
	free(db);
}

/* Names are read when somebody looks at them: most commands need few. A failure shows at the next
 * reading. */
const struct entities *series_db_entities(struct history *history)
{
	struct series_db *db = series_db_of(history);

	if (!db->names_loaded || db->names_lanes != 0) {
		db->names_rc = SQLITE_OK;
		db->names_rc = series_begin(db, NAME_LIVE);
		series_end(db);
	}
	return db->entities;
}

const struct entities *series_db_names(struct history *history)
{
	return series_db_of(history)->entities;
}

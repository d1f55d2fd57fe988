/* hour_book - see hour_book.h. The file is read by connections of the test's own, past the faults,
 * and samples through the product's reader. */
#include "tests/faults/hour_book.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/series/history.h"

struct book_thing {
	enum book_kind kind;
	uint64_t number;
	int64_t t_ns;
	bool forgiven; /* handed over, and not committed before the store was closed */
	bool state;
	char key[64];
};
struct book_sample {
	char name[48]; /* device, port, priority */
	int64_t t_ns;
	uint64_t value, text; /* text: hash of a text value, 0 = a number */
	uint64_t thing; /* counted from 1 */
	uint16_t metric, flags;
	uint32_t times; /* found in the file */
};
struct book {
	struct book_thing *things;
	uint64_t n_things, cap_things;
	struct book_sample *samples;
	uint64_t n_samples, cap_samples;
};

/* ---- writing ------------------------------------------------------------- */

struct book *book_new(void)
{
	return rw_calloc(1, sizeof(struct book));
}

void book_free(struct book *book)
{
	free(book->things);
	free(book->samples);
	free(book);
}

static struct book_thing *book_add(struct book *book, enum book_kind kind, int64_t t_ns)
{
	rw_grow(book->things, book->n_things, book->cap_things);
	struct book_thing *thing = &book->things[book->n_things++];
	*thing = (struct book_thing){.kind = kind, .t_ns = t_ns};
	return thing;
}

static uint64_t book_text(const char *text)
{
	return hash_bytes(text, strlen(text), 0) | 1;
}

static void book_name(char *buf, size_t size, const struct entity *entity)
{
	snprintf(buf, size, "%s %s %d", entity->device, entity->port, entity->priority);
}

void book_samples(
	struct book *book, const struct entities *entities, const struct sample *samples, size_t n)
{
	book_add(book, BOOK_SAMPLES, samples[0].t_ns);
	for (size_t i = 0; i < n; i++) {
		rw_grow(book->samples, book->n_samples, book->cap_samples);
		struct book_sample *to = &book->samples[book->n_samples++];
		*to = (struct book_sample){.t_ns = samples[i].t_ns,
			.value = samples[i].value,
			.metric = samples[i].metric,
			.flags = samples[i].flags,
			.thing = book->n_things};
		book_name(to->name, sizeof(to->name), entity_get(entities, samples[i].entity));
		if (metric_info(samples[i].metric)->type == TYPE_TEXT)
			to->text = book_text(entities_text_get(entities, samples[i].value));
	}
}

void book_row(struct book *book, enum book_kind kind, int64_t t_ns, const char *fmt, ...)
{
	struct book_thing *thing = book_add(book, kind, t_ns);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(thing->key, sizeof(thing->key), fmt, ap);
	va_end(ap);
}

void book_state(struct book *book, enum book_kind kind, int64_t t_ns, const char *fmt, ...)
{
	struct book_thing *thing = book_add(book, kind, t_ns);
	va_list ap;

	thing->state = true;
	va_start(ap, fmt);
	vsnprintf(thing->key, sizeof(thing->key), fmt, ap);
	va_end(ap);
}

void book_number(struct book *book, uint64_t number)
{
	book->things[book->n_things - 1].number = number;
}

uint64_t book_get_number(const struct book *book, uint64_t i)
{
	return book->things[i].number;
}

uint64_t book_count(const struct book *book)
{
	return book->n_things;
}

void book_forgive(struct book *book, uint64_t committed)
{
	for (uint64_t i = committed; i < book->n_things; i++)
		book->things[i].forgiven = true;
}

/* ---- comparing ----------------------------------------------------------- */

/* How often a row is there: ?1 its key, ?2 its time. Of a state: the time of its newest version. */
static const char *const book_sql[BOOK_KINDS] = {
	[BOOK_EVENT] = "SELECT count(*) FROM event WHERE text=?1 AND t_ns=?2 AND kind='probe' "
		       "AND who='tester'",
	[BOOK_FINDING] = "SELECT count(*) FROM finding WHERE summary=?1 AND to_ns=?2 AND "
			 "device='leaf0' AND priority=3 AND analyzer='probe'",
	[BOOK_FLOW] = "SELECT count(*) FROM flow WHERE octets=CAST(?1 AS INTEGER) AND to_ns=?2 AND "
		      "src='10.0.0.1' AND dst='10.0.0.2' AND dst_qp=77",
	[BOOK_FABRIC] = "SELECT count(*) FROM fabric_history WHERE yaml=?1 AND t_ns=?2",
	[BOOK_DEVICE] = "SELECT count(*) FROM device_attr WHERE descr=?1 AND t_ns=?2",
	[BOOK_PORT] = "SELECT count(*) FROM port_attr WHERE alias=?1 AND t_ns=?2 AND "
		      "speed_bps=1000",
	[BOOK_INCIDENT] = "SELECT CASE WHEN summary='incident '||updated_ns AND "
			  "length(json)=39999 THEN updated_ns ELSE -1 END FROM incident WHERE "
			  "id=?1",
	[BOOK_HEALTH] = "SELECT CASE WHEN count(*)=3 AND count(DISTINCT t_ns)=1 THEN max(t_ns) "
			"ELSE -1 END FROM health HAVING count(*)>0",
	[BOOK_TARGET] = "SELECT updated_ns FROM target WHERE device=?1",
	[BOOK_ALERT] = "SELECT updated_ns FROM alert WHERE receiver=?1",
};

struct book_reading {
	struct book *book;
	const struct book_bounds *bounds;
	struct hour_check *check;
	sqlite3 *db;
	sqlite3_stmt *statements[BOOK_KINDS];
	const struct entities *entities;
};

static void book_say(struct book_reading *reading, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void book_say(struct book_reading *reading, const char *fmt, ...)
{
	va_list ap;

	if (reading->check->words[0])
		return;
	va_start(ap, fmt);
	vsnprintf(reading->check->words, sizeof(reading->check->words), fmt, ap);
	va_end(ap);
}

/* INT64_MIN: there is no such row. */
static int64_t book_ask(struct book_reading *reading, const struct book_thing *thing)
{
	sqlite3_stmt **st = &reading->statements[thing->kind];
	int64_t answer = INT64_MIN;

	if (!*st)
		sqlite3_prepare_v2(reading->db, book_sql[thing->kind], -1, st, NULL);
	sqlite3_bind_text(*st, 1, thing->key, -1, SQLITE_STATIC);
	sqlite3_bind_int64(*st, 2, thing->t_ns);
	const int rc = sqlite3_step(*st);
	if (rc == SQLITE_ROW) {
		answer = sqlite3_column_int64(*st, 0);
	} else if (rc != SQLITE_DONE) {
		reading->check->damaged = true;
		book_say(reading, "%s", sqlite3_errmsg(reading->db));
	}
	sqlite3_reset(*st);
	return answer;
}

static void book_missing(struct book_reading *reading, uint64_t thing, const char *what)
{
	struct hour_check *check = reading->check;

	if (check->first_missing == 0 || thing < check->first_missing)
		check->first_missing = thing;
	if (thing > reading->bounds->committed)
		return;
	check->lost++;
	book_say(reading, "thing %llu is lost: %s", (unsigned long long)thing, what);
}

static void book_present(struct book_reading *reading, uint64_t thing)
{
	if (thing > reading->check->last_present)
		reading->check->last_present = thing;
}

static bool book_is_old(const struct book_reading *reading, int64_t t_ns)
{
	return t_ns < reading->bounds->floor_ns;
}

static void book_compare_row(struct book_reading *reading, uint64_t i)
{
	const struct book_thing *thing = &reading->book->things[i];
	const int64_t times = book_ask(reading, thing);

	if (times > 0)
		book_present(reading, i + 1);
	if (times > 1) {
		reading->check->twice++;
		book_say(reading, "'%s' is there %lld times", thing->key, (long long)times);
	}
	if (times < 1 && !thing->forgiven && !book_is_old(reading, thing->t_ns))
		book_missing(reading, i + 1, thing->key);
}

/* Only the newest version of a state that must be there is looked for: a newer one may be. */
static void book_compare_state(struct book_reading *reading, uint64_t i)
{
	const struct book *book = reading->book;
	const struct book_thing *thing = &book->things[i];
	bool later = false, handed = false;

	for (uint64_t k = 0; k < book->n_things; k++) {
		const struct book_thing *other = &book->things[k];
		if (other->kind != thing->kind || strcmp(other->key, thing->key) != 0)
			continue;
		later |= k > i && k < reading->bounds->committed && !other->forgiven;
	}
	if (later || thing->forgiven)
		return;
	const int64_t version = book_ask(reading, thing);
	for (uint64_t k = 0; k < book->n_things; k++)
		handed |= book->things[k].kind == thing->kind && book->things[k].t_ns == version;
	if (version != INT64_MIN && !handed) {
		reading->check->wrong++;
		book_say(reading, "state '%s' has a version that nobody gave", thing->key);
	}
	if (version < thing->t_ns && !(version == INT64_MIN && book_is_old(reading, thing->t_ns)))
		book_missing(reading, i + 1, thing->key);
}

static int book_sample_order(const void *left, const void *right)
{
	const struct book_sample *x = left, *y = right;

	if (x->t_ns != y->t_ns)
		return x->t_ns < y->t_ns ? -1 : 1;
	if (x->metric != y->metric)
		return x->metric < y->metric ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int book_meet_sample(void *arg, const struct sample *sample)
{
	struct book_reading *reading = arg;
	struct book_sample key = {.t_ns = sample->t_ns, .metric = sample->metric}, *found;

	book_name(key.name, sizeof(key.name), entity_get(reading->entities, sample->entity));
	found = bsearch(&key, reading->book->samples, reading->book->n_samples, sizeof(key),
		book_sample_order);
	bool same = found && found->value == sample->value;
	if (found && found->text)
		same = book_text(entities_text_get(reading->entities, sample->value)) ==
			found->text;
	if (!same || (sample->flags & ~SF_LATE) != found->flags) {
		reading->check->wrong++;
		book_say(reading, "%s at %lld of '%s' is not what was handed over",
			metric_info(sample->metric)->name, (long long)sample->t_ns, key.name);
		return 0;
	}
	found->times++;
	book_present(reading, found->thing);
	return 0;
}

static void book_compare_samples(struct book_reading *reading, const char *path)
{
	struct book *book = reading->book;
	struct history *history;
	struct err e = {0};

	qsort(book->samples, book->n_samples, sizeof(*book->samples), book_sample_order);
	for (uint64_t i = 0; i < book->n_samples; i++)
		book->samples[i].times = 0;
	if (db_history_open(path, &history, &e) < 0) {
		reading->check->damaged = true;
		book_say(reading, "%s", e.text);
		return;
	}
	reading->entities = history_entities(history);
	if (history_each_sample(history, NULL, book_meet_sample, reading, &e) < 0) {
		reading->check->damaged = true;
		book_say(reading, "%s", e.text);
	}
	history_close(history);
	for (uint64_t i = 0; i < book->n_samples; i++) {
		const struct book_sample *sample = &book->samples[i];
		const bool pinned = sample->t_ns >= reading->bounds->pin_from_ns &&
			sample->t_ns <= reading->bounds->pin_to_ns;
		const bool old = book_is_old(reading, sample->t_ns) && !pinned;
		if (sample->times == 0 && !old && !book->things[sample->thing - 1].forgiven)
			book_missing(reading, sample->thing, sample->name);
	}
}

static bool book_is_whole(struct book_reading *reading, const char *path)
{
	sqlite3_stmt *st = NULL;
	const char *text = "";

	int rc = sqlite3_open_v2(path, &reading->db, SQLITE_OPEN_READWRITE, "unix");
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(reading->db, "PRAGMA integrity_check", -1, &st, NULL);
	if (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
		text = (const char *)sqlite3_column_text(st, 0);
	const bool whole = strcmp(text, "ok") == 0;
	if (!whole) {
		reading->check->damaged = true;
		book_say(reading, "%s: %s %s", path, sqlite3_errmsg(reading->db), text);
	}
	sqlite3_finalize(st);
	return whole;
}

void book_compare(struct book *book, const char *path, const struct book_bounds *bounds,
	struct hour_check *ret)
{
	struct book_reading reading = {.book = book, .bounds = bounds, .check = ret};

	*ret = (struct hour_check){0};
	if (book_is_whole(&reading, path)) {
		book_compare_samples(&reading, path);
		for (uint64_t i = 0; i < book->n_things; i++) {
			if (book->things[i].state)
				book_compare_state(&reading, i);
			else if (book->things[i].kind != BOOK_SAMPLES)
				book_compare_row(&reading, i);
		}
	}
	for (size_t i = 0; i < BOOK_KINDS; i++)
		sqlite3_finalize(reading.statements[i]);
	sqlite3_close(reading.db);
}

/* ---- everything in the file ---------------------------------------------- */

/* FNV-1a: nobody chooses these bytes. */
static uint64_t book_mix(uint64_t hash, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
	return hash + n;
}

static uint64_t book_hash_table(sqlite3 *db, const char *table, uint64_t hash)
{
	sqlite3_stmt *st;
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT * FROM \"%s\"%s", table,
		strcmp(table, "event") == 0 ? " WHERE kind='probe'" : "");
	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		return 0;
	while (sqlite3_step(st) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(st); i++) {
			const void *p = sqlite3_column_blob(st, i);
			const size_t n = (size_t)sqlite3_column_bytes(st, i);
			hash = book_mix(hash * 31, p, n);
		}
	sqlite3_finalize(st);
	return hash;
}

uint64_t book_content(const char *path)
{
	sqlite3 *db;
	sqlite3_stmt *st;
	uint64_t hash = 1;

	sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, "unix");
	sqlite3_prepare_v2(db,
		"SELECT name FROM sqlite_master WHERE type='table' AND name<>'meta' ORDER BY name",
		-1, &st, NULL);
	while (sqlite3_step(st) == SQLITE_ROW)
		hash = book_hash_table(db, (const char *)sqlite3_column_text(st, 0), hash);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return hash;
}

/*
 * A database file that somebody else wrote or a disk has damaged: opened by every reader, and by an
 * agent that starts on it. Seeds are small databases (make_seeds.py). The byte that counts changes
 * of the file chooses the document. No crash, an end, and nothing in the answer steers a terminal.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "agent/client/client.h"
#include "agent/judge/pipeline.h"
#include "agent/judge/resume.h"
#include "agent/daemon/tune_agent.h"
#include "agent/incident/ledger.h"
#include "agent/modules.h"
#include "agent/answers/common/served.h"
#include "config/config.h"
#include "db/model/entity.h"
#include "db/open.h"
#include "db/store/store.h"
#include "tests/fuzz/printed.h"

enum { COUNTER_BYTE = 27, PAGE = 4096, ROWS = 64 };
static char database_path[64];
static const struct served_document *database_rows[ROWS];
static size_t database_n_rows;

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* Some bytes within one page, without moving the rest: a page that moved would be another file. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	if (size < PAGE)
		return size;
	const size_t page = seed / 7 % (size / PAGE) * PAGE;
	const size_t at = page + (seed / 131) % PAGE;
	size_t n = 1 + seed % 16;
	if (at + n > size)
		n = size - at;
#ifdef RW_FUZZER
	LLVMFuzzerMutate(data + at, n, n);
#endif
	data[COUNTER_BYTE] = (uint8_t)(seed >> 8);
	return size;
}

static void database_forget(void)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-journal", ".lock", ".state"};
	for (size_t i = 0; i < rw_countof(suffixes); i++) {
		char name[96];
		snprintf(name, sizeof(name), "%s%s", database_path, suffixes[i]);
		unlink(name);
	}
}

static void database_row(void *arg, const struct served_document *row)
{
	if (database_n_rows < ROWS)
		database_rows[database_n_rows++] = row;
}

static void database_init(void)
{
	log_set_level(LOG_ERROR_ + 1);
	const char *room = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	snprintf(database_path, sizeof(database_path), "%s/rw-fuzz-%d.db", room, (int)getpid());
	served_each(database_row, NULL);
	atexit(database_forget);
}

static void database_read(const struct served_document *row)
{
	const struct globals globals = {
		.config_path = "/nonexistent", .db = database_path, .quiet = true};
	const struct served_given given[] = {{"id", "a"}, {"metric", "port.in_octets"}};
	const struct served_ask ask = {.given = given, .n_given = rw_countof(given)};
	struct client client = {0};
	struct err e = {0};
	json_t *doc = NULL;
	if (client_open_data(&client, &globals, row->span_ns, &e) < 0) {
		if (!*e.text)
			printed_fault("refused without a word", "");
		return;
	}
	/* Documents are made for who has a configuration: who opens them makes sure of that. */
	if (client.config && row->make(&client, &ask, &doc, &e) == 0)
		printed_document(doc);
	json_decref(doc);
	client_done(&client);
}

static void database_start(void)
{
	static const char yaml[] = "fabric: pod-a\ndevices: [{ name: leaf1, role: leaf }]\n";
	struct err_list errors = {0};
	struct err e = {0};
	struct config *config;
	struct store *store = NULL;
	size_t n;
	const struct option_table *const *tables = module_tables(&n);
	if (config_parse(yaml, strlen(yaml), "fuzz", CONFIG_CASE, tables, n, &config, &errors) != 0)
		abort();
	struct entities *entities = entities_new();
	const struct store_options options = {.path = database_path};
	if (db_store_open(&options, entities, &store, &e) == 0) {
		struct ledger *ledger = ledger_new(config->fabric, NULL, NULL);
		struct pipeline *pipeline = pipeline_new(config, entities, store, ledger);
		struct tune_agent *tuning = tune_agent_new(store, pipeline, ledger, config);
		tune_agent_resume(tuning, database_path, &e);
		resume_agent(database_path, entities, config, pipeline, ledger, wall_now().ns, &e);
		tune_agent_free(tuning);
		pipeline_free(pipeline);
		ledger_free(ledger);
		store_close(store);
	}
	entities_free(entities);
	config_free(config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!database_n_rows)
		database_init();
	if (size < PAGE)
		return 0;
	database_forget();
	const int fd = open(database_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	const bool whole = fd >= 0 && write(fd, data, size) == (ssize_t)size;
	if (fd < 0 || close(fd) != 0 || !whole)
		abort();
	const size_t which = data[COUNTER_BYTE] % (database_n_rows + 1);
	if (which == database_n_rows)
		database_start();
	else
		database_read(database_rows[which]);
	return 0;
}

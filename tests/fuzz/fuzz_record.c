/*
 * A stored recommendation or incident that somebody else wrote (a database from anywhere, a request
 * on the socket). First byte: 0 recommendation, 1 incident, 2 verification; then the text. What is
 * accepted says nothing that steers a terminal, and read, written and read again it says the same.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "agent/document/json_value.h"
#include "agent/incident/incident_json.h"
#include "agent/incident/incident_record.h"
#include "agent/incident/ledger.h"
#include "agent/tuning/tune_json.h"
#include "config/config.h"
#include "tests/fuzz/printed.h"

static void record_same(json_t *first, json_t *again)
{
	printed_document(first);
	if (!json_equal(first, again)) {
		fprintf(stderr, "%s\n%s\n", json_dumps(first, JSON_SORT_KEYS),
			again ? json_dumps(again, JSON_SORT_KEYS) : "nothing");
		printed_fault("read again it says something else", "");
	}
	json_decref(first);
	json_decref(again);
}

static void record_sheet(const char *text)
{
	struct tune_record *record = tune_record_load(text);
	if (!record)
		return;
	json_t *first = tune_record_json(record, TUNE_DOCUMENT_WHOLE);
	tune_record_complete(record);
	json_decref(tune_record_json(record, TUNE_DOCUMENT_PUBLIC));
	tune_record_free(record);
	record = tune_record_parse(first);
	json_t *again = NULL;
	if (record)
		again = tune_record_json(record, TUNE_DOCUMENT_WHOLE);
	tune_record_free(record);
	record_same(first, again);
}

/* The ledger takes it as after a restart; what it says then is stable. */
static void record_incident(const char *text)
{
	static const struct fabric fabric = {.name = "fuzz"};
	struct ledger *ledger = ledger_new(&fabric, NULL, NULL);
	const struct incident **all;
	if (ledger_restore(ledger, text) == 0 && ledger_incidents(ledger, &all) == 1) {
		rw_cleanup(freep) char *stored = incident_json_text(all[0]);
		json_t *first = incident_json(all[0]);
		struct ledger *other = ledger_new(&fabric, NULL, NULL);
		const struct incident **same;
		json_t *again = NULL;
		if (ledger_restore(other, stored) == 0 && ledger_incidents(other, &same) == 1)
			again = incident_json(same[0]);
		record_same(first, again);
		ledger_free(other);
	}
	ledger_free(ledger);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	char *text = strndup((const char *)data + 1, size - 1);
	if (*data % 3 == 0) {
		record_sheet(text);
	} else if (*data % 3 == 1) {
		record_incident(text);
	} else {
		struct arena *a = arena_new();
		json_t *document = json_outside(text, strlen(text), 0, NULL);
		const struct tune_verified *verified = tune_verified_parse(document, a);
		if (verified)
			json_decref(tune_verified_json(verified));
		json_decref(document);
		arena_free(a);
	}
	free(text);
	return 0;
}

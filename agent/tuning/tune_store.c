/* tune_store - one row of the table "recommendations" for each record. */
#include "agent/tuning/tune_store.h"

#include <errno.h>
#include <stdlib.h>
#include "agent/base/cleanup.h"
#include "agent/base/log.h"
#include "agent/base/str.h"
#include "agent/tuning/tune_json.h"
#include "db/series/history.h"
#include "db/store/store.h"

static char *record_text(const struct tune_record *record)
{
	json_t *document = tune_record_json(record, TUNE_DOCUMENT_WHOLE);
	char *text = json_dumps(document, JSON_COMPACT);
	json_decref(document);
	return text;
}

void tune_store_record(void *store, const struct tune_record *record, enum tune_state from)
{
	const struct tune_sheet *sheet = &record->sheet;
	rw_cleanup(freep) char *json = record_text(record);
	struct store_recommendation row = {.id = sheet->id,
		.device = sheet->device,
		.state = tune_state_name(record->state),
		.advice = tune_advice_name(sheet->advice),
		.summary = str_or(sheet->summary, ""),
		.json = json,
		.diagnosis = str_or(sheet->diagnosis, ""),
		.priority = sheet->priority,
		.t_ns = sheet->made_ns,
		.from_ns = sheet->from_ns,
		.to_ns = sheet->to_ns,
		.updated_ns = record->updated_ns};
	if (sheet->n_ports == 1)
		row.port = sheet->ports[0];
	if (record->who && *record->who)
		row.who = record->who;
	store_recommendation(store, &row);
	if (record->note)
		store_event(store, record->note_ns, "tuning", NULL, record->who, record->note);
}

static int tune_store_take_row(void *arg, int n, char *const *values, char *const *names)
{
	if (n != 1 || !values[0])
		return 0;
	if (tune_ledger_restore(arg, tune_record_load(values[0])) == -EINVAL)
		log_warn("tuning",
			"a stored recommendation cannot be read; it stays in the database as it "
			"is");
	return 0;
}

int tune_store_load(struct history *history, struct tune_ledger *ledger, struct err *e)
{
	return history_sql(history,
		"SELECT json FROM recommendations WHERE json IS NOT NULL ORDER BY t_ns, id",
		tune_store_take_row, ledger, e);
}

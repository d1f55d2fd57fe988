/* tune_decide - proposals and decisions of commands, by the agent's socket or directly. */
#include "agent/tuning/tune_decide.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/client/client.h"
#include "agent/client/direct.h"
#include "agent/document/json_value.h"
#include "agent/tuning/tune_json.h"
#include "agent/tuning/tune_readback.h"
#include "agent/tuning/tune_store.h"
#include "db/series/history.h"

const struct tune_record *tune_find(const struct tune_ledger *ledger, const char *id, struct err *e)
{
	const struct tune_record *const *records, *found = NULL;
	const size_t n = tune_ledger_records(ledger, &records), length = strlen(id);
	size_t n_found = 0;
	for (size_t i = 0; i < n && length > 0; i++) {
		if (strncasecmp(records[i]->sheet.id, id, length) != 0)
			continue;
		found = records[i];
		n_found++;
	}
	if (n_found == 1)
		return found;
	if (n_found == 0)
		err_set(e, -ENOENT,
			"there is no sheet '%.40s'; 'rocewatch tune list' shows the recorded "
			"ones, 'tune review' makes new ones",
			id);
	else
		err_set(e, -EINVAL, "%zu sheets begin with '%.40s'; give more letters", n_found,
			id);
	return NULL;
}

/* ---- through the agent --------------------------------------------------- */

static int propose_by_agent(const struct client *client, struct tune_record *record, struct err *e)
{
	json_t *reply = NULL,
	       *request = json_pack("{s:s, s:o}", "cmd", "tune_propose", "sheet",
		       tune_record_json(record, TUNE_DOCUMENT_WHOLE));
	const int rc = client_ask(client, request, &reply, e);
	if (rc == 0)
		tune_state_parse(doc_word(reply, "state"), &record->state);
	json_decref(reply);
	return rc;
}

static int decide_by_agent(const struct client *client, const char *id,
	const struct tune_decision_in *in, struct err *e)
{
	json_t *reply = NULL, *result = NULL;
	if (in->result)
		result = tune_verified_json(in->result);
	json_t *request = json_pack("{s:s, s:s, s:s?, s:I, s:o?}", "cmd",
		tune_decision_word(in->decision), "id", id, "note", in->text, "at_ns",
		(json_int_t)in->at_ns, "result", result);
	int rc;
	if (request)
		rc = client_ask(client, request, &reply, e);
	else
		rc = err_set(e, -EINVAL, "the text is not valid UTF-8");
	json_decref(reply);
	return rc;
}

/* ---- directly ------------------------------------------------------------ */

struct direct_proposals {
	struct client *client;
	struct tune_record *const *records;
	size_t n;
};

static void propose_each(const struct direct_proposals *proposals, struct tune_ledger *ledger)
{
	char who[64];
	client_own_name(who, sizeof(who));
	for (size_t i = 0; i < proposals->n; i++) {
		struct tune_record *record = proposals->records[i];
		if (record->sheet.advice != ADVICE_CHANGE)
			continue;
		tune_ledger_propose(
			ledger, tune_record_copy(record), who, proposals->client->now_ns);
		const struct tune_record *kept = tune_ledger_find(ledger, record->sheet.id);
		if (kept)
			record->state = kept->state;
	}
}

static int propose_direct(
	const struct client *client, struct store *store, void *arg, struct err *e)
{
	struct tune_ledger *ledger = tune_ledger_new(tune_store_record, store);
	const int rc = tune_store_load(client->history, ledger, e);
	if (rc == 0)
		propose_each(arg, ledger);
	tune_ledger_free(ledger);
	return rc;
}

struct direct_decision {
	const char *id;
	struct tune_decision_in in;
};

/* What was read back since the sheet was made counts before the decision does. */
static int read_back_first(const struct client *client, struct tune_ledger *ledger,
	const struct tune_record *record, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const uint16_t *metrics;
	const size_t n = tune_metrics(&metrics);
	const struct window_spec spec = {.metrics = metrics, .n_metrics = n};
	struct window window;
	const int rc = history_window(
		client->history, a, &spec, record->sheet.to_ns, client->end_ns, &window, e);
	if (rc == 0)
		tune_ledger_read_one(ledger, record->sheet.id, &window, client->end_ns);
	return rc;
}

static int decide_in(const struct client *client, struct tune_ledger *ledger,
	const struct direct_decision *decision, struct err *e)
{
	const struct tune_decision_in *in = &decision->in;
	const struct tune_record *record = tune_ledger_find(ledger, decision->id);
	enum tune_state state = TUNE_PROPOSED;
	int rc = 0;
	if (record && in->decision != TUNE_ACCEPT && in->decision != TUNE_REJECT)
		rc = read_back_first(client, ledger, record, e);
	if (rc != 0)
		return rc;
	rc = tune_ledger_decide(ledger, decision->id, in);
	if (rc == -EALREADY && in->decision == TUNE_APPLY)
		return 0; /* it was read back already */
	if (rc == 0)
		return 0;
	if (record)
		state = record->state;
	return err_set(e, rc, "%s: %s", decision->id, tune_decision_error(rc, state));
}

static int decide_direct(const struct client *client, struct store *store, void *arg, struct err *e)
{
	struct tune_ledger *ledger = tune_ledger_new(tune_store_record, store);
	int rc = tune_store_load(client->history, ledger, e);
	if (rc == 0)
		rc = decide_in(client, ledger, arg, e);
	tune_ledger_free(ledger);
	return rc;
}

/* ---- either way ---------------------------------------------------------- */

static size_t n_changes(struct tune_record *const *records, size_t n)
{
	size_t found = 0;
	for (size_t i = 0; i < n; i++)
		found += records[i]->sheet.advice == ADVICE_CHANGE;
	return found;
}

int tune_propose_all(
	struct client *client, struct tune_record *const *records, size_t n, struct err *e)
{
	if (n_changes(records, n) == 0)
		return 0;
	if (client_writer_pid(client) == 0) {
		struct direct_proposals proposals = {client, records, n};
		return direct_write(client, propose_direct, &proposals, e);
	}
	int rc = 0;
	for (size_t i = 0; i < n && rc == 0; i++)
		if (records[i]->sheet.advice == ADVICE_CHANGE)
			rc = propose_by_agent(client, records[i], e);
	return rc;
}

int tune_decide(
	struct client *client, const char *id, const struct tune_decision_in *in, struct err *e)
{
	if (client_writer_pid(client) != 0)
		return decide_by_agent(client, id, in, e);
	char who[64];
	struct direct_decision decision = {.id = id, .in = *in};
	client_own_name(who, sizeof(who));
	decision.in.who = who;
	return direct_write(client, decide_direct, &decision, e);
}

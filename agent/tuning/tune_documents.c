/* tune_documents - threshold reviews as documents. */
#include "agent/tuning/tune_documents.h"

#include <strings.h>

#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/tuning/tune_json.h"
#include "agent/tuning/tune_record.h"
#include "config/config.h"
#include "db/model/entity.h"
#include "db/series/history.h"

/* tune_decide - proposals and decisions of commands, by the agent's socket or directly. */

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

/* ---- what was recorded --------------------------------------------------- */

void tune_documents_free(struct tune_ledger **ledger)
{
	tune_ledger_free(*ledger);
}

int tune_documents_load(struct client *client, struct tune_ledger **ret, struct err *e)
{
	*ret = tune_ledger_new(NULL, NULL);
	return tune_store_load(client->history, *ret, e);
}

/* Read-back up to now: an accepted sheet whose values are in force counts as applied. */
static int tune_documents_read_back(
	struct client *client, struct tune_ledger *ledger, struct err *e)
{
	const struct tune_record *const *v;
	const size_t n = tune_ledger_records(ledger, &v);
	int64_t from = INT64_MAX;
	for (size_t k = 0; k < n; k++) {
		const bool over = v[k]->state == TUNE_REJECTED || v[k]->state == TUNE_EXPIRED ||
			v[k]->state == TUNE_UNDONE;
		if (!over && v[k]->sheet.to_ns < from)
			from = v[k]->sheet.to_ns;
	}
	if (from >= client->end_ns)
		return 0;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const uint16_t *metrics;
	const size_t n_metrics = tune_metrics(&metrics);
	const struct window_spec spec = {.metrics = metrics, .n_metrics = n_metrics};
	struct window w;
	const int rc = history_window(client->history, a, &spec, from, client->end_ns, &w, e);
	if (rc == 0)
		tune_ledger_read(ledger, &w, client->end_ns);
	if (rc == -ENODATA)
		return 0;
	return rc;
}

static int tune_documents_now(struct client *client, struct tune_ledger **ret, struct err *e)
{
	const int rc = tune_documents_load(client, ret, e);
	if (rc == 0)
		return tune_documents_read_back(client, *ret, e);
	return rc;
}

static int tune_documents_order(const void *left, const void *right)
{
	const struct tune_record *x = *(const struct tune_record *const *)left;
	const struct tune_record *y = *(const struct tune_record *const *)right;
	if (x->sheet.made_ns < y->sheet.made_ns)
		return 1;
	if (x->sheet.made_ns > y->sheet.made_ns)
		return -1;
	return strcmp(x->sheet.id, y->sheet.id);
}

int tune_list_document(struct client *client, json_t **ret, struct err *e)
{
	rw_cleanup(tune_documents_free) struct tune_ledger *l = NULL;
	int rc = tune_documents_now(client, &l, e);
	if (rc != 0)
		return rc;
	const struct tune_record *const *v;
	const size_t n = tune_ledger_records(l, &v);
	const struct tune_record **sorted = rw_calloc(n + 1, sizeof(*sorted));
	json_t *sheets = json_array();
	for (size_t k = 0; k < n; k++)
		sorted[k] = v[k];
	if (n > 1)
		qsort(sorted, n, sizeof(*sorted), tune_documents_order);
	for (size_t k = 0; k < n; k++)
		json_array_append_new(sheets, tune_record_json(sorted[k], TUNE_DOCUMENT_SHOWN));
	free(sorted);
	*ret = json_pack("{s:o}", "sheets", sheets);
	return 0;
}

/* ---- review -------------------------------------------------------------- */

/* An unknown name is a usage error: an empty review would read as "nothing to do". */
static int tune_documents_device(
	const struct fabric *fabric, const char *option, const char *glob, struct err *e)
{
	const char **names = rw_calloc(fabric->n_devices + 1, sizeof(*names));
	bool found = !glob;
	for (size_t i = 0; i < fabric->n_devices; i++) {
		names[i] = fabric->devices[i]->name;
		found = found || str_glob(glob, names[i]);
	}
	const char *near = NULL;
	if (!found)
		near = str_nearest(glob, names, fabric->n_devices);
	free(names);
	if (found)
		return 0;
	return err_set(e, -EINVAL,
		"%s: no switch is named '%.100s'%s%s%s; 'rocewatch topology show' "
		"lists them",
		option, glob, str_if(near, "; perhaps '"), str_or(near, ""), str_if(near, "'"));
}

static int tune_documents_names(
	const struct fabric *fabric, const struct tune_filter *filter, struct err *e)
{
	int rc = tune_documents_device(fabric, "--device", filter->device, e);
	if (rc == 0)
		rc = tune_documents_device(fabric, "--uplinks", filter->uplinks, e);
	if (rc != 0 || !filter->port)
		return rc;
	for (size_t i = 0; i < fabric->n_devices; i++)
		for (size_t k = 0; k < fabric->devices[i]->n_ports; k++)
			if ((!filter->device ||
				    str_glob(filter->device, fabric->devices[i]->name)) &&
				(str_glob(filter->port, fabric->devices[i]->ports[k]->name) ||
					str_glob(
						filter->port, fabric->devices[i]->ports[k]->alias)))
				return 0;
	return err_set(e, -EINVAL, "--port: no port%s%s is named '%.100s'",
		str_if(filter->device, " of "), str_or(filter->device, ""), filter->port);
}

static int tune_documents_filter(
	const struct tune_ask *ask, struct tune_filter *filter, struct err *e)
{
	int64_t priority = PRIO_NONE;
	struct err why = {0};
	if (ask->priority &&
		(unit_int(ask->priority, &priority, &why) != 0 || priority < 0 || priority > 7))
		return err_set(e, -EINVAL, "--priority: '%.20s' is not a priority; expected 0 to 7",
			ask->priority);
	*filter = (struct tune_filter){.device = ask->device,
		.port = ask->port,
		.uplinks = ask->uplinks,
		.priority = (int)priority,
		.allow_reduce = ask->allow_reduce};
	return 0;
}

int tune_review_asked(
	struct client *client, const struct tune_ask *ask, struct tune_reviewed *ret, struct err *e)
{
	rw_cleanup(tune_documents_free) struct tune_ledger *l = NULL;
	struct tune_filter filter;
	int rc = tune_documents_filter(ask, &filter, e);
	if (rc == 0)
		rc = tune_documents_names(client->config->fabric, &filter, e);
	if (rc == 0)
		rc = tune_documents_load(client, &l, e);
	if (rc != 0)
		return rc;
	rc = tune_review_records(client, &filter, l, ret, e);
	if (rc != -ENODATA)
		return rc;
	ret->reason = rw_strdup(e->text);
	*e = (struct err){0};
	return 0;
}

/* Sheets without a change are not recorded: a review of the same range makes them again. */
static const struct tune_record *find_reviewed(const struct tune_reviewed *reviewed, const char *id)
{
	const struct tune_record *found = NULL;
	const size_t length = strlen(id);
	for (size_t i = 0; i < reviewed->n && length > 0; i++) {
		if (strncasecmp(reviewed->v[i]->sheet.id, id, length) != 0)
			continue;
		if (found)
			return NULL;
		found = reviewed->v[i];
	}
	return found;
}

int tune_show_document(struct client *client, const char *id, json_t **ret, struct err *e)
{
	rw_cleanup(tune_documents_free) struct tune_ledger *ledger = NULL;
	struct tune_reviewed reviewed = {0};
	struct err ignored = {0};
	const struct tune_record *record = NULL;
	int rc = tune_documents_now(client, &ledger, e);
	if (rc != 0)
		return rc;
	record = tune_find(ledger, id, e);
	if (!record && e->code == -ENOENT &&
		tune_review_asked(client, &(struct tune_ask){0}, &reviewed, &ignored) == 0)
		record = find_reviewed(&reviewed, id);
	rc = record ? 0 : e->code;
	if (record) {
		*e = (struct err){0};
		*ret = json_pack(
			"{s:[o]}", "sheets", tune_record_json(record, TUNE_DOCUMENT_SHOWN));
	}
	tune_reviewed_done(&reviewed);
	return rc;
}

json_t *tune_reviewed_json(const struct tune_reviewed *reviewed)
{
	json_t *sheets = json_array();
	for (size_t i = 0; i < reviewed->n; i++)
		json_array_append_new(
			sheets, tune_record_json(reviewed->v[i], TUNE_DOCUMENT_SHOWN));
	json_t *doc = json_object();
	json_object_set_new(doc, "sheets", sheets);
	json_object_set_new(doc, "reason", json_string_or_null(reviewed->reason));
	return doc;
}

/* tune_acts - see tune_acts.h. */
#include "agent/tuning/tune_decide.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/client/client.h"
#include "agent/daemon/tune_agent.h"
#include "agent/document/json_value.h"
#include "db/series/history.h"
#include "db/store/store.h"

const struct tune_record *tune_find(const struct tune_ledger *ledger, const char *id, struct err *e)
{
	const struct tune_record *const *v, *found = NULL;
	const size_t n = tune_ledger_records(ledger, &v), length = strlen(id);
	size_t many = 0;
	for (size_t k = 0; k < n; k++) {
		if (length == 0 || strncasecmp(v[k]->id, id, length) != 0)
			continue;
		found = v[k];
		many++;
	}
	if (many == 1)
		return found;
	if (many == 0)
		err_set(e, -ENOENT,
			"there is no sheet '%.40s'; 'rocewatch tune list' names those that were "
			"recorded, 'tune review' makes them",
			id);
	else
		err_set(e, -EINVAL, "'%.40s' is the beginning of %zu sheets; give more letters", id,
			many);
	return NULL;
}

/* ---- through the agent --------------------------------------------------- */

static int propose_by_agent(const struct client *client, json_t *sheet, struct err *e)
{
	json_t *request = json_pack("{s:s, s:O}", "cmd", "tune_propose", "sheet", sheet),
	       *reply = NULL;
	const int rc = client_ask(client, request, &reply, e);
	if (rc == 0)
		json_object_set(sheet, "state", json_object_get(reply, "state"));
	json_decref(reply);
	return rc;
}

static int do_by_agent(
	const struct client *client, const char *id, const struct tune_act_in *in, struct err *e)
{
	static const char *const words[] = {[TUNE_ACCEPT] = "tune_accept",
		[TUNE_REJECT] = "tune_reject",
		[TUNE_APPLY] = "tune_applied",
		[TUNE_VERIFY] = "tune_verified"};
	json_t *request = json_pack("{s:s, s:s, s:s?, s:I, s:O?}", "cmd", words[in->act], "id", id,
		       "note", in->text, "at_ns", (json_int_t)in->at_ns, "result",
		       (json_t *)in->result),
	       *reply = NULL;
	int rc;
	if (request)
		rc = client_ask(client, request, &reply, e);
	else
		rc = err_set(e, -EINVAL, "expected text in UTF-8");
	json_decref(reply);
	return rc;
}

/* ---- by hand ------------------------------------------------------------- */

typedef int hand_fn(struct client *client, struct tune_ledger *ledger, void *arg, struct err *e);

static int by_hand(struct client *client, hand_fn *fn, void *arg, struct err *e)
{
	struct entities *entities = entities_new();
	struct store *store = NULL;
	int rc = client_store_open(client, entities, &store, e);
	if (rc == 0) {
		struct tune_ledger *l = tune_ledger_new(tune_record_store, store);
		rc = tune_records_load(client->history, l, e);
		if (rc == 0)
			rc = fn(client, l, arg, e);
		if (rc == 0)
			rc = store_flush(store, e);
		tune_ledger_free(l);
		store_close(store);
	}
	entities_free(entities);
	return rc;
}

static int propose_hand(struct client *client, struct tune_ledger *ledger, void *arg, struct err *e)
{
	json_t *sheets = arg, *s;
	char who[64];
	size_t k;
	client_own_name(who, sizeof(who));
	json_array_foreach (sheets, k, s) {
		const char *id = json_string_value(json_object_get(s, "id"));
		const int rc = tune_ledger_propose(ledger, s, who, client->now_ns);
		const struct tune_record *r = tune_ledger_find(ledger, id);
		if ((rc == 0 || rc == -EALREADY) && r)
			json_object_set_new(s, "state", json_string(tune_state_name(r->state)));
	}
	return 0;
}

struct hand_act {
	const char *id;
	struct tune_act_in in;
};

static int do_hand(struct client *client, struct tune_ledger *ledger, void *arg, struct err *e)
{
	const struct hand_act *h = arg;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const uint16_t *metrics;
	const size_t n = tune_metrics(&metrics);
	const struct window_spec spec = {.metrics = metrics, .n_metrics = n};
	const struct tune_record *r = tune_ledger_find(ledger, h->id);
	struct window w;
	int rc = 0;
	if (r)
		rc = history_window(client->history, a, &spec, r->to_ns, client->now_ns, &w, e);
	if (rc != 0)
		return rc;
	if (r && h->in.act != TUNE_ACCEPT && h->in.act != TUNE_REJECT)
		tune_ledger_look_one(ledger, h->id, &w, client->now_ns);
	rc = tune_ledger_act(ledger, h->id, &h->in);
	if (rc == -EALREADY && h->in.act == TUNE_APPLY)
		rc = 0; /* it was read back already */
	if (rc == 0)
		return 0;
	return err_set(e, rc, "%s: %s", h->id, tune_act_error(rc, r ? r->state : TUNE_PROPOSED));
}

/* ---- either -------------------------------------------------------------- */

static json_t *only_changes(json_t *sheets)
{
	json_t *v = json_array(), *s;
	size_t k;
	json_array_foreach (sheets, k, s)
		if (str_eq(doc_word(s, "advice"), "change"))
			json_array_append(v, s);
	return v;
}

int tune_propose_all(struct client *client, json_t *sheets, struct err *e)
{
	json_t *changes = only_changes(sheets), *s;
	size_t k;
	int rc = 0;
	if (json_array_size(changes) && client_writer_pid(client) <= 0)
		rc = by_hand(client, propose_hand, changes, e);
	else
		json_array_foreach (changes, k, s)
			if (rc == 0)
				rc = propose_by_agent(client, s, e);
	json_decref(changes);
	return rc;
}

int tune_do(struct client *client, const char *id, const struct tune_act_in *in, struct err *e)
{
	char who[64];
	struct hand_act h = {.id = id, .in = *in};
	if (client_writer_pid(client) > 0)
		return do_by_agent(client, id, in, e);
	client_own_name(who, sizeof(who));
	h.in.who = who;
	return by_hand(client, do_hand, &h, e);
}

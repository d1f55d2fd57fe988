/*
 * Any JSON on the agent's socket, to the table of requests over a real ledger, recommendations,
 * alerts and store. Requests stand one a line; those of one input come to one agent. Each reply is
 * a document that says "ok", its texts can be printed, and it names nobody but the user that the
 * kernel named.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/alert/alert.h"
#include "agent/daemon/agent_state.h"
#include "agent/daemon/requests.h"
#include "agent/daemon/tune_agent.h"
#include "agent/document/json_value.h"
#include "agent/incident/incident_json.h"
#include "agent/incident/ledger.h"
#include "agent/judge/pipeline.h"
#include "agent/modules.h"
#include "agent/sources/sources.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/loop.h"
#include "config/config.h"
#include "db/open.h"
#include "db/store/store.h"
#include "tests/fuzz/printed.h"

enum { LIFE = 500 }; /* inputs that one database sees */

static const char requests_yaml[] = "fabric: pod-a\n"
				    "defaults: { interval: 1s, slow_interval: 5s }\n"
				    "devices:\n"
				    "  - { name: leaf1, role: leaf }\n"
				    "  - { name: spine1, role: spine }\n"
				    "links:\n"
				    "  - { a: \"leaf1:e49\", b: \"spine1:e1\", speed: 400G }\n"
				    "  - { a: \"leaf1:e1\", b: \"host:n1\", speed: 400G }\n"
				    "lossless: { priorities: [3] }\n";

static struct agent rig;
static char rig_path[64];

static void rig_incident(void *arg, const struct incident *incident, enum incident_state from)
{
	struct agent *agent = arg;
	incident_store(agent->store, incident, from);
	alert_take(agent->alert, incident, from);
}

/* An incident to act on: its stored text. */
static const char rig_open[] = "{\"id\":\"k3v7q2ab\",\"cause\":\"pfc_pause_storm\",\"severity\":"
			       "\"critical\",\"state\":\"open\","
			       "\"subject\":{\"analyzer\":\"pause_storm\",\"device\":\"leaf1\","
			       "\"port\":\"e1\",\"priority\":3},"
			       "\"began\":\"2026-01-01T00:00:00.000Z\",\"opened\":\"2026-01-01T00:"
			       "01:00.000Z\",\"summary\":\"x\"}";

static void rig_begin(void)
{
	struct err_list errors = {0};
	struct err e = {0};
	size_t n;
	const struct option_table *const *tables = module_tables(&n);
	log_set_level(LOG_ERROR_);
	rig = (struct agent){0};
	if (config_parse(requests_yaml, strlen(requests_yaml), "fuzz", CONFIG_CASE, tables, n,
		    &rig.config, &errors) != 0 ||
		loop_new(&rig.loop) != 0)
		abort();
	snprintf(rig_path, sizeof(rig_path), "/tmp/rw-fuzz-requests-%d.db", (int)getpid());
	unlink(rig_path);
	rig.entities = entities_new();
	const struct store_options options = {.path = rig_path, .replay = true};
	if (db_store_open(&options, rig.entities, &rig.store, &e) != 0)
		abort();
	rig.ledger = ledger_new(rig.config->fabric, rig_incident, &rig);
	rig.pipeline = pipeline_new(rig.config, rig.entities, rig.store, rig.ledger);
	rig.sources = sources_new(rig.loop, rig.entities, rig.store, pipeline_sink(rig.pipeline));
	rig.tuning = tune_agent_new(rig.store, rig.pipeline, rig.ledger, rig.config);
	rig.alert = alert_new(rig.loop, rig.store, rig.config);
	ledger_restore(rig.ledger, rig_open);
}

static void rig_end(void)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", ".lock", ".state"};
	sources_free(rig.sources);
	tune_agent_free(rig.tuning);
	alert_free(rig.alert);
	pipeline_free(rig.pipeline);
	ledger_free(rig.ledger);
	store_close(rig.store);
	entities_free(rig.entities);
	loop_free(rig.loop);
	config_free(rig.config);
	for (size_t i = 0; i < rw_countof(suffixes); i++) {
		char name[96];
		snprintf(name, sizeof(name), "%s%s", rig_path, suffixes[i]);
		unlink(name);
	}
}

static void rig_ask(const char *line, size_t n)
{
	json_t *request = json_outside(line, n, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(request)) {
		json_decref(request);
		return;
	}
	json_t *reply = requests_answer(&rig, "fuzzer", request);
	if (!json_is_object(reply) || !json_is_boolean(json_object_get(reply, "ok")))
		printed_fault("a reply without ok", "");
	printed_document(reply);
	char *text = json_dumps(reply, JSON_COMPACT);
	if (!text)
		printed_fault("a reply that cannot be sent", "");
	free(text);
	json_decref(reply);
	json_decref(request);
}

/* What the agent under test keeps from input to input is not lost; looking for leaks after each
 * took 60 % of the time. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned life;
	if (life++ % LIFE == 0) {
		if (life > 1)
			rig_end();
		else
			atexit(rig_end);
		rig_begin();
	}
	const char *line = (const char *)data, *end = line + size;
	while (line < end) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		const size_t n = newline ? (size_t)(newline - line) : (size_t)(end - line);
		rig_ask(line, n);
		line += n + 1;
	}
	return 0;
}

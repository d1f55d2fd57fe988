/* cmd_tune_whatif - makes the answer of "rocewatch tune whatif": what other thresholds would do, by
 * the queue model calibrated on the time range asked for. */
#include "agent/command/cmd_tune_whatif.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/client/client.h"
#include "agent/client/known_names.h"
#include "agent/document/json_value.h"
#include "agent/tuning/tune_read.h"
#include "analyzers/tune/tune_effect.h"
#include "analyzers/tune/tune_evidence.h"
#include "config/config.h"
#include "config/profile/profile.h"
#include "db/model/entity.h"

static double *setting_of(struct whatif_settings *settings, enum tune_knob knob)
{
	switch (knob) {
	case KNOB_ALPHA: return &settings->alpha;
	case KNOB_HEADROOM: return &settings->headroom_bytes;
	case KNOB_XOFF_LEVEL: return &settings->xoff_level_bytes;
	case KNOB_XON_OFFSET: return &settings->xon_offset_bytes;
	case KNOB_KMIN: return &settings->kmin_bytes;
	case KNOB_KMAX: return &settings->kmax_bytes;
	case KNOB_PMAX: return &settings->pmax;
	default: return NULL;
	}
}

static int cmd_tune_whatif_read_value(
	enum tune_knob knob, const char *text, double *ret, struct err *e)
{
	struct err why = {0};
	uint64_t bytes;
	if (str_eq(tune_knob_unit(knob), "bytes")) {
		if (unit_size(text, &bytes, &why) != 0)
			return err_set(e, -EINVAL, "--set %s: %s", tune_knob_name(knob), why.text);
		*ret = (double)bytes;
		return 0;
	}
	if (unit_ratio(text, ret, &why) == 0 ||
		(knob == KNOB_ALPHA && unit_double(text, ret, NULL) == 0)) {
		if (*ret > 0)
			return 0;
		return err_set(
			e, -EINVAL, "--set %s: '%.40s' is not above 0", tune_knob_name(knob), text);
	}
	return err_set(e, -EINVAL, "--set %s: %s", tune_knob_name(knob), why.text);
}

static int read_sets(
	const char *const *set, struct whatif_settings *to, unsigned *ret_knobs, struct err *e)
{
	*to = (struct whatif_settings){NAN, NAN, NAN, NAN, NAN, NAN, NAN};
	*ret_knobs = 0;
	for (; set && *set; set++) {
		const char *equals = strchr(*set, '=');
		rw_cleanup(freep) char *word = NULL;
		if (equals)
			word = strndup(*set, (size_t)(equals - *set));
		enum tune_knob k;
		double *at = NULL;
		if (word && tune_knob_parse(word, &k) == 0)
			at = setting_of(to, k);
		if (!at)
			return err_set(e, -EINVAL,
				"--set: unknown setting '%.60s'; expected alpha, headroom, "
				"xoff_level, "
				"xon_offset, kmin, kmax or pmax and a value, such as kmin=400KB",
				*set);
		const int rc = cmd_tune_whatif_read_value(k, equals + 1, at, e);
		if (rc != 0)
			return rc;
		*ret_knobs |= 1u << k;
	}
	if (*ret_knobs)
		return 0;
	return err_set(e, -EINVAL, "missing --set KNOB=VALUE, such as --set kmin=400KB");
}

static json_t *cmd_tune_whatif_changes_of(struct tune_effect *effect, unsigned knobs)
{
	json_t *changes = json_array();
	for (int k = 0; k < TUNE_KNOBS; k++)
		if (knobs & 1u << k)
			json_array_append_new(changes,
				json_pack("{s:s, s:o, s:o, s:n, s:s, s:s}", "knob",
					tune_knob_name((enum tune_knob)k), "current",
					json_number_or_null(
						*setting_of(&effect->queue.now, (enum tune_knob)k)),
					"proposed",
					json_number_or_null(
						*setting_of(&effect->to, (enum tune_knob)k)),
					"programmed", "unit", tune_knob_unit((enum tune_knob)k),
					"why", ""));
	return changes;
}

static json_t *cmd_tune_whatif_document(struct tune_effect *effect, unsigned knobs)
{
	json_t *expected = json_array(), *notes = json_array();
	for (size_t k = 0; k < effect->n_expected; k++)
		json_array_append_new(expected,
			json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "metric",
				effect->expected[k].metric, "now",
				json_number_or_null(effect->expected[k].now), "likely",
				json_number_or_null(effect->expected[k].likely), "low",
				json_number_or_null(effect->expected[k].low), "high",
				json_number_or_null(effect->expected[k].high), "unit",
				json_string_or_null(effect->expected[k].unit)));
	for (size_t k = 0; k < effect->n_notes; k++)
		json_array_append_new(notes, json_string_or_null(effect->notes[k]));
	return json_pack("{s:s, s:s, s:i, s:o, s:o, s:o, s:o, s:o}", "device",
		effect->prio->port->device->name, "port", effect->prio->port->name, "priority",
		effect->prio->priority, "changes", cmd_tune_whatif_changes_of(effect, knobs),
		"expected", expected, "q_pfc_bytes", json_number_or_null(effect->model.q_pfc_bytes),
		"residual_ratio", json_number_or_null(effect->model.residual), "notes", notes);
}

static int only_priority(const struct fabric *fabric)
{
	int found = PRIO_NONE;
	for (int k = 0; k < 8; k++)
		if (fabric->lossless_mask & 1u << k) {
			if (found == PRIO_NONE)
				found = k;
			else
				found = 8;
		}
	if (found < 8)
		return found;
	return PRIO_NONE;
}

static void cmd_tune_whatif_free_profiles(struct profiles **profiles)
{
	profiles_free(*profiles);
}

static int load_whatif_profiles(const struct client *client, struct profiles **ret, struct err *e)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	if (profiles_load(client->config->profile_dir, ret, &errors) == 0)
		return 0;
	if (errors.n)
		return err_set(e, -EINVAL, "%s", errors.v[0].text);
	return err_set(e, -EINVAL, "the profiles cannot be read");
}

static int read_priority(const struct client *client, const char *word, int64_t *ret, struct err *e)
{
	struct err why = {0};
	*ret = only_priority(client->config->fabric);
	if (word && (unit_int(word, ret, &why) != 0 || *ret < 0 || *ret > 7))
		return err_set(e, -EINVAL, "--priority: '%.20s' is not a priority, 0 to 7", word);
	if (*ret == PRIO_NONE)
		return err_set(
			e, -EINVAL, "missing --priority N: the fabric has several lossless ones");
	return 0;
}

int tune_whatif_document(
	struct client *client, const struct tune_whatif_ask *ask, json_t **ret, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *arena = arena_new();
	rw_cleanup(cmd_tune_whatif_free_profiles) struct profiles *profiles = NULL;
	const struct config *config = client->config;
	int64_t priority = PRIO_NONE;
	struct whatif_settings to;
	struct tune_history history;
	struct tune_effect effect;
	unsigned knobs;
	if (!ask->device)
		return err_set(e, -EINVAL, "missing --device NAME");
	int rc = read_priority(client, ask->priority, &priority, e);
	if (rc == 0)
		rc = read_sets(ask->set, &to, &knobs, e);
	if (rc == 0)
		rc = load_whatif_profiles(client, &profiles, e);
	if (rc == 0)
		rc = tune_read_history(
			client, profiles, client->from_ns, client->to_ns, arena, &history, e);
	if (rc == 0)
		rc = known_device(client, ask->device, e);
	if (rc == 0)
		rc = known_port(client, ask->device, ask->port, e);
	if (rc != 0)
		return rc;
	const struct tune_options options = {.min_evidence_ns = config->tuning.min_evidence_ns,
		.min_coverage = config->tuning.min_coverage,
		.rtt_ns = config->tuning.base_rtt_ns,
		.max_pmax = config->tuning.max_pmax};
	rc = tune_whatif(history.evidence, ask->device, ask->port, (int)priority, &to, &options,
		arena, &effect, e);
	if (rc == 0)
		*ret = cmd_tune_whatif_document(&effect, knobs);
	return rc;
}

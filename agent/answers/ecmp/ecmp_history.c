/* ecmp_history - the ECMP matrix at several points in time. */
#include "agent/answers/ecmp/ecmp_history.h"

#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/history/window_walk.h"
#include "config/config.h"
#include "db/model/finding.h"

enum { FRAMES_MAX = 120, FRAMES_USUAL = 60 };

struct ecmp_frames {
	const char *device; /* glob */
	const char **peers;
	size_t n_peers, cap_peers;
	const struct fabric_group **rows;
	const char **devices; /* of the rows */
	size_t n_rows, cap_rows, cap_devices;
	json_t *frames;
};

/* ---- rows and columns, from the configuration ---------------------------- */

/* A group towards the next tier; "to:" groups are parts of it. */
static bool ecmp_frames_is_tier(const char *group)
{
	return strncmp(group, "to:", 3) != 0 && strncmp(group, "lag:", 4) != 0;
}

static const char *ecmp_frames_peer(const struct fabric_port *port)
{
	if (port->peer)
		return port->peer->device->name;
	return NULL;
}

static void ecmp_frames_add_peer(struct ecmp_frames *frames, const char *peer)
{
	for (size_t i = 0; i < frames->n_peers; i++)
		if (str_eq(frames->peers[i], peer))
			return;
	rw_grow(frames->peers, frames->n_peers, frames->cap_peers);
	frames->peers[frames->n_peers++] = peer;
}

static void ecmp_frames_add_row(
	struct ecmp_frames *frames, const char *device, const struct fabric_group *group)
{
	size_t n_devices = frames->n_rows;
	rw_grow(frames->devices, n_devices, frames->cap_devices);
	rw_grow(frames->rows, frames->n_rows, frames->cap_rows);
	frames->devices[frames->n_rows] = device;
	frames->rows[frames->n_rows++] = group;
	for (size_t i = 0; i < group->n_members; i++)
		if (ecmp_frames_peer(group->members[i]))
			ecmp_frames_add_peer(frames, ecmp_frames_peer(group->members[i]));
}

static void ecmp_frames_layout(struct ecmp_frames *frames, const struct fabric *fabric)
{
	for (size_t d = 0; d < fabric->n_devices; d++) {
		const struct fabric_device *device = fabric->devices[d];
		if (!str_glob(frames->device, device->name))
			continue;
		for (size_t i = 0; i < device->n_groups; i++)
			if (device->groups[i].n_members >= 2 &&
				ecmp_frames_is_tier(device->groups[i].id))
				ecmp_frames_add_row(frames, device->name, &device->groups[i]);
	}
}

/* ---- one window ---------------------------------------------------------- */

static const struct ecmp_measure *ecmp_frames_measure(
	const struct ecmp_measure *measure, size_t n, const char *device, const char *group)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(measure[i].device, device) && str_eq(measure[i].group, group))
			return &measure[i];
	return NULL;
}

/* The load of the links towards one peer, by their capacity; NAN unknown. */
static double ecmp_frames_cell(const struct ecmp_measure *measure, const char *peer)
{
	double rate_bps = 0, speed_bps = 0;
	for (size_t i = 0; i < measure->n_members; i++) {
		const struct ecmp_member *member = &measure->members[i];
		if (!str_eq(member->peer, peer) || isnan(member->rate_bps) || !member->speed_bps)
			continue;
		rate_bps += member->rate_bps;
		speed_bps += (double)member->speed_bps;
	}
	if (speed_bps <= 0)
		return NAN;
	/* Four digits: a picture shows no more, and there may be 500,000 of them. */
	return round(rate_bps / speed_bps * 1e4) / 1e4;
}

static json_t *ecmp_frames_row(const struct ecmp_frames *frames, const struct ecmp_measure *measure)
{
	json_t *cells = json_array();
	for (size_t i = 0; i < frames->n_peers; i++) {
		double ratio = NAN;
		if (measure)
			ratio = ecmp_frames_cell(measure, frames->peers[i]);
		json_array_append_new(cells, json_number_or_null(ratio));
	}
	return cells;
}

static int ecmp_frames_window(void *arg, const struct window *window,
	const struct ecmp_measure *measure, size_t n, struct arena *turn)
{
	struct ecmp_frames *frames = arg;
	json_t *rows = json_array(), *imbalance = json_array(), *verdict = json_array();
	for (size_t i = 0; i < frames->n_rows; i++) {
		const struct ecmp_measure *row =
			ecmp_frames_measure(measure, n, frames->devices[i], frames->rows[i]->id);
		double ratio = NAN;
		const char *name = NULL;
		if (row) {
			ratio = row->imbalance_ratio;
			name = ecmp_verdict_name(row->verdict);
		}
		json_array_append_new(rows, ecmp_frames_row(frames, row));
		json_array_append_new(imbalance, json_number_or_null(ratio));
		json_array_append_new(verdict, json_string_or_null(name));
	}
	json_t *frame = json_object();
	json_object_set_new(frame, "time", json_time(window->to_ns));
	json_object_set_new(frame, "cells", rows);
	json_object_set_new(frame, "imbalance_ratio", imbalance);
	json_object_set_new(frame, "verdict", verdict);
	json_array_append_new(frames->frames, frame);
	return 0;
}

/* ---- the document -------------------------------------------------------- */

/* One window at a time: what lies between is not read. */
static int ecmp_frames_walk(struct client *client, struct ecmp_frames *frames, int64_t window_ns,
	size_t most, struct err *e)
{
	struct client part = *client;
	struct ecmp_history ignored;
	int64_t from_ns = client->from_ns, to_ns = client->to_ns;
	int rc = window_bounds(client, window_ns, &from_ns, &to_ns, e);
	if (rc == -ENODATA)
		return 0;
	if (rc < 0)
		return rc;
	const size_t n = (size_t)((to_ns - from_ns) / window_ns);
	if (n <= most) {
		part.from_ns = from_ns;
		part.to_ns = to_ns;
		return ecmp_history_each(&part, ecmp_frames_window, frames, &ignored, e);
	}
	for (size_t i = 0; rc == 0 && i < most; i++) {
		const int64_t number = (int64_t)((i + 1) * n / most);
		part.to_ns = from_ns + number * window_ns;
		part.from_ns = part.to_ns - window_ns;
		rc = ecmp_history_each(&part, ecmp_frames_window, frames, &ignored, e);
	}
	return rc;
}

static json_t *ecmp_frames_json(
	struct client *client, const struct ecmp_frames *frames, const struct ecmp_options *options)
{
	json_t *doc = json_object(), *peers = json_array(), *rows = json_array();
	for (size_t i = 0; i < frames->n_peers; i++)
		json_array_append_new(peers, json_string_or_null(frames->peers[i]));
	for (size_t i = 0; i < frames->n_rows; i++)
		json_array_append_new(rows,
			json_pack("{s:s, s:s}", "device", frames->devices[i], "group",
				frames->rows[i]->id));
	json_object_set_new(doc, "from", json_time(client->from_ns));
	json_object_set_new(doc, "to", json_time(client->to_ns));
	json_object_set_new(
		doc, "window_s", json_real((double)options->window_ns / (double)NS_PER_S));
	json_object_set_new(doc, "warn_ratio", json_real(options->warn));
	json_object_set_new(doc, "peers", peers);
	json_object_set_new(doc, "rows", rows);
	json_object_set(doc, "frames", frames->frames);
	return doc;
}

static int ecmp_frames_count(const char *text, size_t *ret, struct err *e)
{
	int64_t n = FRAMES_USUAL;
	if (text && (unit_int(text, &n, NULL) < 0 || n < 1 || n > FRAMES_MAX))
		return err_set(e, -EINVAL, "frames: '%.20s' is not a number from 1 to %d", text,
			FRAMES_MAX);
	*ret = (size_t)n;
	return 0;
}

int ecmp_history_document(struct client *client, const char *device, const char *frames_text,
	json_t **ret, struct err *e)
{
	const struct ecmp_options *options =
		config_options(client->config, "analyzers", "ecmp_imbalance");
	size_t most = 0;
	if (!options)
		return err_set(e, -EINVAL,
			"the configuration has no options for analyzers.ecmp_imbalance");
	int rc = ecmp_frames_count(frames_text, &most, e);
	if (rc < 0)
		return rc;
	struct ecmp_frames frames = {.device = device, .frames = json_array()};
	ecmp_frames_layout(&frames, client->config->fabric);
	rc = ecmp_frames_walk(client, &frames, options->window_ns, most, e);
	if (rc == 0)
		*ret = ecmp_frames_json(client, &frames, options);
	json_decref(frames.frames);
	free(frames.peers);
	free(frames.devices);
	free(frames.rows);
	return rc;
}

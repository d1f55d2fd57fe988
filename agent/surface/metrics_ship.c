/* metrics_ship - families about where the store's content goes as well. */
#include <math.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/surface/metrics_page.h"

#define SINK "sink"

static void metrics_emit_sink_up(struct metrics_page *page)
{
	metrics_each_named(page, "ship/", SINK, "failing_s", true);
}

static void metrics_emit_sink_samples(struct metrics_page *page)
{
	metrics_each_named(page, "ship/", SINK, "samples", false);
}

static void metrics_emit_sink_failures(struct metrics_page *page)
{
	metrics_each_named(page, "ship/", SINK, "failures", false);
}

static void metrics_emit_sink_lost(struct metrics_page *page)
{
	metrics_each_named(page, "ship/", SINK, "lost", false);
}

static void metrics_emit_sink_waiting(struct metrics_page *page)
{
	metrics_each_named(page, "ship/", SINK, "waiting_samples", false);
}

static void metrics_emit_sink_behind(struct metrics_page *page)
{
	metrics_each_named(page, "ship/", SINK, "behind_s", false);
}

#define HEALTH "the agent's report about itself (`store.ship`)"

static const struct metrics_family rows[] = {
	{"rocewatch_ship_up", METRICS_GAUGE, "", SINK,
		"0 when the newest request to the server failed", HEALTH, metrics_emit_sink_up},
	{"rocewatch_ship_samples", METRICS_COUNTER, "", SINK,
		"Samples that the server took since the agent started", HEALTH,
		metrics_emit_sink_samples},
	{"rocewatch_ship_failures", METRICS_COUNTER, "", SINK,
		"Requests that failed; they are repeated", HEALTH, metrics_emit_sink_failures},
	{"rocewatch_ship_lost_samples", METRICS_COUNTER, "", SINK,
		"Samples that were never sent, because too much waited", HEALTH,
		metrics_emit_sink_lost},
	{"rocewatch_ship_waiting_samples", METRICS_GAUGE, "", SINK,
		"Samples that wait for the server", HEALTH, metrics_emit_sink_waiting},
	{"rocewatch_ship_behind_seconds", METRICS_GAUGE, "seconds", SINK,
		"Age of the oldest data that wait for the server", HEALTH,
		metrics_emit_sink_behind},
};

const struct metrics_group metrics_ship_group = {rows, rw_countof(rows)};

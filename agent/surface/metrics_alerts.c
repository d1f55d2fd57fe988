/* metrics_alerts - families about the receivers of alerts: do they answer, what waits? */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/surface/metrics_page.h"

#define RECEIVER "receiver"

static void metrics_emit_receiver_up(struct metrics_page *page)
{
	metrics_each_named(page, "alert/", RECEIVER, "failing", true);
}

static void metrics_emit_alerts_sent(struct metrics_page *page)
{
	metrics_each_named(page, "alert/", RECEIVER, "sent", false);
}

static void metrics_emit_alerts_failed(struct metrics_page *page)
{
	metrics_each_named(page, "alert/", RECEIVER, "failed", false);
}

static void metrics_emit_alerts_dropped(struct metrics_page *page)
{
	metrics_each_named(page, "alert/", RECEIVER, "dropped", false);
}

static void metrics_emit_alerts_pending(struct metrics_page *page)
{
	metrics_each_named(page, "alert/", RECEIVER, "queued", false);
}

static void metrics_emit_alert_success(struct metrics_page *page)
{
	metrics_each_named(page, "alert/", RECEIVER, "last_success_s", false);
}

#define HEALTH "the agent's report about itself (`rocewatch alert list`)"

static const struct metrics_family rows[] = {
	{"rocewatch_alert_receiver_up", METRICS_GAUGE, "", RECEIVER,
		"0 when the newest message to the receiver failed", HEALTH,
		metrics_emit_receiver_up},
	{"rocewatch_alerts_sent", METRICS_COUNTER, "", RECEIVER,
		"Messages that the receiver took since the agent started, repetitions included",
		HEALTH, metrics_emit_alerts_sent},
	{"rocewatch_alerts_failed", METRICS_COUNTER, "", RECEIVER,
		"Attempts that failed; they are repeated", HEALTH, metrics_emit_alerts_failed},
	{"rocewatch_alerts_dropped", METRICS_COUNTER, "", RECEIVER,
		"Alerts that were given up: too many waited, or the receiver refused them", HEALTH,
		metrics_emit_alerts_dropped},
	{"rocewatch_alerts_pending", METRICS_GAUGE, "", RECEIVER,
		"Alerts that wait for the receiver", HEALTH, metrics_emit_alerts_pending},
	{"rocewatch_alert_last_success_timestamp_seconds", METRICS_GAUGE, "seconds", RECEIVER,
		"When the receiver last took a message, unix time", HEALTH,
		metrics_emit_alert_success},
};

const struct metrics_group metrics_alert_group = {rows, rw_countof(rows)};

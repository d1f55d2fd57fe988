/* metrics_alerts - families about the receivers of alerts: do they answer, what waits? */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/surface/metrics_page.h"

/* The agent says "alert/NAME/KEY" of each receiver; a name has no '/'. */
static void metrics_each_receiver(struct metrics_page *page, const char *wanted, bool negate)
{
	static const char family[] = "alert/";
	const char *key;
	json_t *value;
	json_object_foreach ((json_t *)page->health, key, value) {
		if (strncmp(key, family, strlen(family)) != 0)
			continue;
		const char *name = key + strlen(family), *end = strchr(name, '/');
		if (!end || !str_eq(end + 1, wanted))
			continue;
		const struct metrics_label labels[] = {
			{"receiver", arena_strndup(page->arena, name, (size_t)(end - name))},
			{NULL, NULL}};
		double number = NAN;
		if (json_is_number(value))
			number = json_number_value(value);
		if (negate)
			number = number == 0;
		metrics_put(page, labels, number);
	}
}

static void metrics_emit_receiver_up(struct metrics_page *page)
{
	metrics_each_receiver(page, "failing", true);
}

static void metrics_emit_alerts_sent(struct metrics_page *page)
{
	metrics_each_receiver(page, "sent", false);
}

static void metrics_emit_alerts_failed(struct metrics_page *page)
{
	metrics_each_receiver(page, "failed", false);
}

static void metrics_emit_alerts_dropped(struct metrics_page *page)
{
	metrics_each_receiver(page, "dropped", false);
}

static void metrics_emit_alerts_pending(struct metrics_page *page)
{
	metrics_each_receiver(page, "queued", false);
}

static void metrics_emit_alert_success(struct metrics_page *page)
{
	metrics_each_receiver(page, "last_success_s", false);
}

#define RECEIVER "receiver"
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

/* served_state - the documents about the present: the frame of the screen, the devices, the health
 * of the agent. */

#include "agent/answers/doctor/doctor.h"
#include "agent/answers/common/served.h"
#include "agent/answers/status/status.h"
#include "agent/answers/watch/watch_frame.h"

#define STATE_SPAN_NS (15 * 60 * NS_PER_S)

/* The makers of these documents return NULL with @e filled. */
static int served_made(json_t *doc, json_t **ret, const struct err *e)
{
	*ret = doc;
	if (doc)
		return 0;
	if (e->code < 0)
		return e->code;
	return -EIO;
}

static int served_watch(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	return served_made(watch_frame(client, e), ret, e);
}

static int served_status(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	return served_made(status_document(client, e), ret, e);
}

static int served_doctor(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	return served_made(doctor_document(client, e), ret, e);
}

static const struct served_document rows[] = {
	{.path = "watch",
		.quick = true,
		.summary = "The frame of the live screen: state, golden signals, top paused ports, "
			   "busiest uplinks, jobs and open incidents.",
		.span_ns = STATE_SPAN_NS,
		.make = served_watch},
	{.path = "status",
		.quick = true,
		.summary =
			"Each device and capture with its age and the reason why it is down, and "
			"the open incidents.",
		.span_ns = STATE_SPAN_NS,
		.make = served_status},
	{.path = "doctor",
		.summary = "Health of the agent, its targets, captures and store, and what to do.",
		.span_ns = STATE_SPAN_NS,
		.make = served_doctor},
};

const struct served_group served_state = {.rows = rows, .n_rows = rw_countof(rows)};

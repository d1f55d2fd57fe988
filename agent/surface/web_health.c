/* web_health - does an agent run, and is what it wrote new? */
#include "agent/surface/web_health.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/err.h"
#include "agent/base/str.h"
#include "agent/client/peek.h"
#include "agent/surface/http.h"
#include "agent/surface/web_answer.h"
#include "config/config.h"

#define ALLOWANCE_NS (10 * NS_PER_S)
#define LOOK_LATE_NS (15 * NS_PER_S)

struct web_health {
	struct peek peek; /* of the thread that looks */
	int64_t old_ns;
	pthread_mutex_t lock;
	int64_t looked_ns; /* monotonic; 0 never */
	int64_t age_ns; /* of the newest sample; -1 none */
	bool well;
	char why[800];
};

struct web_health *web_health_new(const char *db_path, const struct config *config)
{
	struct web_health *health = rw_calloc(1, sizeof(*health));
	health->peek.db_path = db_path;
	health->old_ns = 3 * 10 * NS_PER_S + ALLOWANCE_NS;
	if (config)
		health->old_ns = 3 * config_interval(config) + ALLOWANCE_NS;
	health->age_ns = -1;
	pthread_mutex_init(&health->lock, NULL);
	return health;
}

void web_health_free(struct web_health *health)
{
	if (!health)
		return;
	peek_done(&health->peek);
	pthread_mutex_destroy(&health->lock);
	free(health);
}

/* The age of the newest sample, ns, or a negative errno. */
static int64_t health_age(struct web_health *health, struct err *e)
{
	int64_t newest_ns;
	const int rc = peek_newest(&health->peek, &newest_ns, e);
	if (rc < 0)
		return rc;
	const int64_t age_ns = wall_now().ns - newest_ns;
	if (age_ns < 0)
		return 0;
	return age_ns;
}

/* Fills @why when it is not well. */
static bool health_is_well(
	struct web_health *health, int64_t age_ns, const struct err *e, char *why, size_t size)
{
	char age[32];
	if (age_ns < 0 && age_ns != -ENODATA) {
		snprintf(why, size, "the database cannot be read: %.600s", e->text);
		return false;
	}
	/* No right to look: whoever writes new data runs. */
	if (peek_writer(&health->peek) == 0) {
		snprintf(why, size, "no agent is running: nothing is collected");
		return false;
	}
	if (age_ns < 0) {
		snprintf(why, size, "the agent has written no sample yet");
		return false;
	}
	if (age_ns <= health->old_ns)
		return true;
	snprintf(why, size, "the newest sample is %s old: the agent runs, but no device answers",
		duration_format(age, sizeof(age), age_ns));
	return false;
}

void web_health_look(struct web_health *health)
{
	struct err e = {0};
	char why[800] = "";
	const int64_t age_ns = health_age(health, &e);
	const bool well = health_is_well(health, age_ns, &e, why, sizeof(why));
	pthread_mutex_lock(&health->lock);
	health->looked_ns = mono_now().ns;
	health->age_ns = age_ns;
	health->well = well;
	snprintf(health->why, sizeof(health->why), "%s", why);
	pthread_mutex_unlock(&health->lock);
}

void web_health_reply(struct web_health *health, struct http_reply *ret)
{
	char text[96];
	pthread_mutex_lock(&health->lock);
	const int64_t since_ns = mono_now().ns - health->looked_ns;
	if (since_ns > LOOK_LATE_NS) {
		web_reply_error(ret, 503, "the database was not looked at for %lld s",
			(long long)(since_ns / NS_PER_S));
	} else if (!health->well) {
		web_reply_error(ret, 503, "%s", health->why);
	} else {
		const int n =
			snprintf(text, sizeof(text), "{\"status\": \"ok\", \"data_age_s\": %.1f}\n",
				(double)health->age_ns / (double)NS_PER_S);
		*ret = (struct http_reply){.status = 200,
			.type = "application/json",
			.body = blob_new(text, (size_t)n)};
	}
	pthread_mutex_unlock(&health->lock);
}

/*
 * web_health - the answer to /healthz: does an agent run, and is what it wrote new? Looked at once
 * a second by one thread, answered to any.
 */
#ifndef RW_SURFACE_WEB_HEALTH_H
#define RW_SURFACE_WEB_HEALTH_H

#include <stdint.h>

struct config;
struct http_reply;
struct web_health;

/* web_health_new - @db_path is lent until web_health_free(). @config says how often devices are
 * polled: data older than three intervals and 10 s is not new. */
struct web_health *web_health_new(const char *db_path, const struct config *config);
void web_health_free(struct web_health *health);

/* web_health_look - reads the database; about once a second, on one thread. */
void web_health_look(struct web_health *health);

/* web_health_reply - 200, or 503 with the reason. */
void web_health_reply(struct web_health *health, struct http_reply *ret);

#endif

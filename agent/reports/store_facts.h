/*
 * store_facts - what an agent says of its store beside the samples in it, for doctor and status
 * alike: what it cannot do, and how far each system is to which it sends (store.ship).
 *
 * @health: its own numbers by key (table health); empty where no agent runs or the past is asked
 * for. Loop's or command's thread.
 */
#ifndef RW_REPORTS_STORE_FACTS_H
#define RW_REPORTS_STORE_FACTS_H

#include <jansson.h>

struct client;
struct str;

/* store_alarms_json - what is wrong with samples that are stored: rows of severity, subject, what,
 * do (the remedy). Caller owns it. */
json_t *store_alarms_json(const json_t *health);

/* ship_facts_json - a row for each sink of the configuration: name, kind, url, failing,
 * failing_since, error, behind_s, and counts. null: not known. Caller owns it. */
json_t *ship_facts_json(struct client *client, const json_t *health);
/* ship_fact_text - such a row in words, without its name. */
void ship_fact_text(const json_t *row, struct str *out);

#endif

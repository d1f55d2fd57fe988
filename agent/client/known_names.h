/*
 * known_names - is there such a device, port or job? A name that matches nothing is a typing error,
 * and an empty answer would look like good news. What is known: the configuration, and every name
 * that the database has samples of.
 *
 * Each takes a glob (NULL matches all) and returns 0, or -EINVAL with @e: what was asked for, and
 * the nearest name. Callers have read something of the history before, so that its names are there.
 */
#ifndef RW_CLIENT_KNOWN_NAMES_H
#define RW_CLIENT_KNOWN_NAMES_H

struct client;
struct err;

int known_device(struct client *client, const char *glob, struct err *e);
/* known_stored_device - the same for a caller that has not read the names of the history yet. */
int known_stored_device(struct client *client, const char *glob, struct err *e);
/* known_port - of a device that matches @device; by name or alias. */
int known_port(struct client *client, const char *device, const char *glob, struct err *e);
int known_job(struct client *client, const char *glob, struct err *e);

#endif

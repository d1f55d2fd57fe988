/*
 * unjudged - why no incident is about something that a face shows as bad: it is silenced, it stands
 * at another place, it ended, it is too young, nobody judges it, ... One row for each reason, in
 * the order in which they are looked for.
 */
#pragma once

#include "base/base.h"

#include "db/model/cause.h"

struct client;
struct open_incident;
struct status_device;

/* What is bad, as far as its face knows. */
struct unjudged {
	const struct client *client; /* NULL: what ended and how young it is are not looked for */
	const struct open_incident *incidents; /* of any cause and place; those silenced, too */
	size_t n_incidents;
	const enum cause *causes; /* ended by CAUSE_NONE: an incident of one of these is missing */
	const char *device, *port; /* NULL: the place is not known */
	double lasted_s; /* how long it has been so; 0: not known */
	bool never_answered, is_capture; /* of a device that is down */
};

/* unjudged_device - that @device is down, late or silent, while these are open. */
struct unjudged unjudged_device(const struct client *client, const struct status_device *device,
	const struct open_incident *incidents, size_t n);

/* unjudged_say - adds "no incident is about it: " and the first reason that holds. One always does.
 */
void unjudged_say(const struct unjudged *what, struct str *out);

/* unjudged_over - "over its limit, and no incident is about it: ...", for a measured value while
 * what is open says that it is in order. */
void unjudged_over(const struct unjudged *what, struct str *out);

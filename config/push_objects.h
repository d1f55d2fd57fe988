/*
 * push_objects - what the object indexes in a switch's telemetry mean. They are not on the wire:
 * SONiC keeps them in STATE_DB, HIGH_FREQUENCY_TELEMETRY_SESSION_TABLE|<profile>|<type>, fields
 * object_ids and object_names (sonic-swss crates/countersyncd/src/actor/swss.rs), two lists parted
 * by commas. The configuration has them as "TYPE IDS=NAMES":
 *
 *      "QUEUE 1,2,3=Ethernet0|3,Ethernet0|4,Ethernet4|3"   as read there
 *      "PORT 1-3=Ethernet0,Ethernet4,Ethernet8"            a range
 *      "PORT =Ethernet0,Ethernet4"                         without numbers: from 1
 *
 * Loop thread.
 */
#pragma once

#include "base/base.h"

struct push_objects;

enum {
	PUSH_OBJECT_MAX = 32767,
	PUSH_OBJECTS_TEXT = 50000, /* bytes of one text */
};

struct push_objects *push_objects_new(void);
void push_objects_free(struct push_objects *objects); /* NULL is fine */

/* push_objects_add - one text of the configuration; a later one wins. 0, or -EINVAL with @e: what
 * is wrong with it. @objects NULL: it is only looked at. */
int push_objects_add(struct push_objects *objects, const char *text, struct err *e);

/* push_objects_name - NULL: nobody said. Lent. */
const char *push_objects_name(const struct push_objects *objects, uint32_t type, uint32_t object);

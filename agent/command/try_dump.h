/*
 * try_dump - a switch by the files of its own support archive, with nothing asked of it: dumps
 * of its databases at two or more times.
 *
 *   DIR/dump/ (or DIR)   CONFIG_DB.json APPL_DB.json STATE_DB.json   names, settings, neighbours
 *                        COUNTERS_DB_1.json COUNTERS_DB_2.json ...   the readings
 *                        date.counter_1 date.counter_2 ...           when; else the files' times
 *
 * So does generate_dump write them ("show techsupport", sonic-utilities scripts/generate_dump:
 * save_redis, save_counter_snapshot), by sonic-db-dump -y: {"TABLE|ROW": {"type": "hash", "value":
 * {"FIELD": "TEXT"}}}.
 *
 * The rows of a dump go to the decoder of gNMI in the shape in which the switch's gNMI server sends
 * them. So the profile alone says what a table means:
 *
 *   files -> tables -> the answer to each subscription -> feeds -> samples, ports, neighbours
 *
 * No clock; one thread.
 */
#pragma once

#include "base/base.h"

#include "config/topology.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

struct profile;
struct profiles;

#define DUMP_READINGS_MAX 100 /* of one switch */

struct try_dump {
	const char *name; /* its host name without the domain; in the arena */
	int64_t times_ns[DUMP_READINGS_MAX]; /* UTC, rising */
	size_t n_readings;
	struct sample_list samples; /* by time */
	struct topology_device self; /* as all below: in the arena */
	struct topology_neighbor *neighbors;
	size_t n_neighbors;
};

/*
 * try_dump_read - of the folder @dir, by the gNMI half of @profile, which is one of @profiles.
 * 0, or -EINVAL and -ENOENT with words in @e that name the file. try_dump_done() in any case.
 */
int try_dump_read(const char *dir, const struct profiles *profiles, const struct profile *profile,
	struct entities *entities, struct arena *a, struct try_dump *ret, struct err *e);
void try_dump_done(struct try_dump *dump);

/*
 * try_dump_fill - as many times between two readings as make @least intervals of them all: what
 * a counter rose by is spread evenly, for only its mean is known; of all else the later reading
 * counts. It is not flagged: over both readings it is what was measured, and detectors that take no
 * estimate would see nothing. A counter that fell is left out before it did.
 */
void try_dump_fill(struct try_dump *dump, size_t least);
/* try_dump_move - all times, so that the last reading is at @last_ns. */
void try_dump_move(struct try_dump *dump, int64_t last_ns);

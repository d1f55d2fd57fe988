/*
 * replay - a pure reader of recorded cases: samples.tsv to samples. No fabric, no pipeline, no
 * clock.
 *
 * A case is a folder with fabric.yaml and samples.tsv (metrics: docs/metrics.md), optionally
 * captures; a line of samples.tsv is
 *
 *      time_s <TAB> device <TAB> port <TAB> priority <TAB> metric <TAB> value [<TAB> flags
 *          [<TAB> window_s]]
 *
 * with "-" for no port, no priority, no flags; "#" begins a comment line; a first line that names
 * the columns is skipped. Times are decimal seconds, read exactly to the nanosecond; counters are
 * exact u64.
 */
#pragma once

#include "base/base.h"

#include "db/model/entity.h"
#include "db/model/metric.h"

#define REPLAY_LINE_MAX 4096 /* bytes, without the newline */

/*
 * replay_read - read a whole file. Samples are appended to @out sorted by (time, entity, metric),
 * whatever the order of the lines; entities and texts are interned. On failure @out is emptied.
 * Caller frees out->v. 0, -EINVAL with @e at file:line:column (what was read, what was expected),
 * or the errno of reading.
 */
int replay_read(
	const char *path, struct entities *entities, struct sample_list *out, struct err *e);
/* replay_parse - the same from memory, for tests and fuzzing; @name stands for the file in
 * messages.
 */
int replay_parse(const char *text, size_t n, const char *name, struct entities *entities,
	struct sample_list *out, struct err *e);

/*
 * replay_interval - the usual time between the samples of a counter: the median over series of
 * their median gap, ns. It stands for the interval of the recording, which fabric.yaml need not
 * name.
 * @samples sorted by time. 0 when no counter has two samples.
 */
int64_t replay_interval(const struct sample *samples, size_t n);

/* sample_scope_error - why @metric cannot belong to @entity, as a phrase of what was expected; NULL
 * when it can. Static text. */
const char *sample_scope_error(unsigned metric, const struct entity *entity);

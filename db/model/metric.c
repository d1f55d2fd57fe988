/* metric - the table of canonical metrics, printed from metric.def, and names for its words. Static
 * data only. */
#include "db/model/metric.h"

#include <stddef.h>
#include <string.h>

#define METRIC(                                                                                    \
	sym, metric_name, metric_unit, metric_kind_, metric_scope_, metric_type_, metric_help)     \
	[M_##sym] = {                                                                              \
		.name = metric_name,                                                               \
		.unit = metric_unit,                                                               \
		.kind = METRIC_##metric_kind_,                                                     \
		.scope = SCOPE_##metric_scope_,                                                    \
		.type = TYPE_##metric_type_,                                                       \
		.help = metric_help,                                                               \
	},
static const struct metric_info infos[METRIC_COUNT] = {
#include "db/model/metric.def"
};
#undef METRIC

static const char *const kind_names[] = {
	[METRIC_COUNTER] = "counter",
	[METRIC_GAUGE] = "gauge",
	[METRIC_STATE] = "state",
	[METRIC_WATERMARK] = "watermark",
};
static const char *const scope_names[] = {
	[SCOPE_PORT] = "port", [SCOPE_PRIO] = "priority", [SCOPE_DEVICE] = "device"};

const struct metric_info *metric_info(unsigned metric)
{
	if (metric < METRIC_COUNT)
		return &infos[metric];
	return NULL;
}

/* Called while reading files and arguments, never per sample: a scan of some hundred names is
 * enough. */
int metric_by_name(const char *name)
{
	if (!name)
		return -1;
	for (int m = 0; m < METRIC_COUNT; m++)
		if (strcmp(infos[m].name, name) == 0)
			return m;
	return -1;
}

const char *metric_kind_name(enum metric_kind kind)
{
	if ((unsigned)kind < sizeof(kind_names) / sizeof(kind_names[0]))
		return kind_names[kind];
	return "unknown";
}

const char *metric_scope_name(enum metric_scope scope)
{
	if ((unsigned)scope < sizeof(scope_names) / sizeof(scope_names[0]))
		return scope_names[scope];
	return "unknown";
}

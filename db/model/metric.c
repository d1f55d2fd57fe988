/* metric - the table of canonical metrics, printed from metric.def, and names for its words. Static
 * data only. */
#include "db/model/metric.h"

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

/* sample - names of flags and sources, and a value as a number. Pure. */

static const struct {
	unsigned flag;
	const char *name;
} names[] = {
	{SF_RESTART, "restart"},
	{SF_WRAP32, "wrap32"},
	{SF_ESTIMATED, "estimated"},
	{SF_SUSPECT, "suspect"},
	{SF_LATE, "late"},
	{SF_DECLARED, "declared"},
};

static const char *const source_names[] = {
	[SOURCE_UNKNOWN] = "",
	[SOURCE_SNMP] = "snmp",
	[SOURCE_GNMI] = "gnmi",
	[SOURCE_PCAP] = "pcap",
	[SOURCE_REPLAY] = "replay",
	[SOURCE_CONFIG] = "config",
	[SOURCE_AGENT] = "agent",
	[SOURCE_SFLOW] = "sflow",
	[SOURCE_PUSH] = "push",
	[SOURCE_SCRAPE] = "scrape",
};

const char *sample_source_name(unsigned source)
{
	if (source < rw_countof(source_names))
		return source_names[source];
	return NULL;
}

char *sample_flags_text(char buf[SAMPLE_FLAGS_TEXT_MAX], unsigned flags)
{
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < rw_countof(names); i++) {
		if (!(flags & names[i].flag))
			continue;
		/* All names joined are 47 characters: they fit. */
		n += (size_t)snprintf(
			buf + n, SAMPLE_FLAGS_TEXT_MAX - n, "%s%s", str_if(n, ","), names[i].name);
	}
	return buf;
}

int sample_flags_parse(const char *text, unsigned *ret)
{
	unsigned flags = 0;

	if (!text || *text == '\0' || strcmp(text, "-") == 0) {
		*ret = 0;
		return 0;
	}
	for (;;) {
		size_t len = strcspn(text, ","), i;

		for (i = 0; i < rw_countof(names); i++)
			if (strlen(names[i].name) == len && memcmp(names[i].name, text, len) == 0)
				break;
		if (i == rw_countof(names))
			return -EINVAL;
		flags |= names[i].flag;
		if (text[len] == '\0')
			break;
		text += len + 1;
	}
	*ret = flags;
	return 0;
}

double sample_number(unsigned metric, uint64_t value)
{
	const struct metric_info *info = metric_info(metric);

	if (!info || info->type == TYPE_TEXT)
		return NAN;
	if (info->type == TYPE_F64)
		return sample_f64(value);
	return (double)value;
}

int sample_order(const void *left, const void *right)
{
	const struct sample *x = left, *y = right;

	if (x->t_ns != y->t_ns)
		return x->t_ns < y->t_ns ? -1 : 1;
	if (x->entity != y->entity)
		return x->entity < y->entity ? -1 : 1;
	return (x->metric > y->metric) - (x->metric < y->metric);
}

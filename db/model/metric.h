/* metric - the canonical metrics, printed from metric.def. Ids are for memory only; names are what
 * is stored. */
#ifndef RW_DB_METRIC_H
#define RW_DB_METRIC_H

#include <stdint.h>

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_STATE, METRIC_WATERMARK };
enum metric_scope { SCOPE_PORT, SCOPE_PRIO, SCOPE_DEVICE };
enum metric_type { TYPE_U64, TYPE_F64, TYPE_TEXT };

enum metric {
#define METRIC(sym, name, unit, kind, scope, type, help) M_##sym,
#include "db/model/metric.def"
#undef METRIC
	METRIC_COUNT
};

struct metric_info {
	const char *name, *unit;
	enum metric_kind kind;
	enum metric_scope scope;
	enum metric_type type;
	const char *help;
};

/* metric_info - static; NULL when @metric is out of range. metric_by_name - id or -1. */
const struct metric_info *metric_info(unsigned metric);
int metric_by_name(const char *name);
const char *metric_kind_name(enum metric_kind kind);
const char *metric_scope_name(enum metric_scope scope);

#endif

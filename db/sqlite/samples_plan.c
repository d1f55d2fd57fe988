/* samples_plan - which conditions of a statement reach the blocks' key, and what that saves. The
 * planner compares figures only with each other. */
#include "db/sqlite/samples_plan.h"

#include <stdint.h>
#include <string.h>
#include "agent/base/cleanup.h"

static const struct plan_row {
	int column;
	unsigned char op;
	enum samples_condition condition;
	double share; /* of all rows that is left */
} plan_rows[] = {
	{SC_METRIC, SQLITE_INDEX_CONSTRAINT_EQ, COND_METRIC, 1.0 / 50},
	{SC_METRIC, SQLITE_INDEX_CONSTRAINT_LIKE, COND_METRIC_LIKE, 1.0 / 5},
	{SC_METRIC, SQLITE_INDEX_CONSTRAINT_GLOB, COND_METRIC_GLOB, 1.0 / 5},
	{SC_DEVICE, SQLITE_INDEX_CONSTRAINT_EQ, COND_DEVICE, 1.0 / 100},
	{SC_DEVICE, SQLITE_INDEX_CONSTRAINT_LIKE, COND_DEVICE_LIKE, 1.0 / 4},
	{SC_DEVICE, SQLITE_INDEX_CONSTRAINT_GLOB, COND_DEVICE_GLOB, 1.0 / 4},
	{SC_PORT, SQLITE_INDEX_CONSTRAINT_EQ, COND_PORT, 1.0 / 64},
	{SC_PORT, SQLITE_INDEX_CONSTRAINT_ISNULL, COND_PORT_NULL, 1.0 / 64},
	{SC_PORT, SQLITE_INDEX_CONSTRAINT_LIKE, COND_PORT_LIKE, 1.0 / 4},
	{SC_PORT, SQLITE_INDEX_CONSTRAINT_GLOB, COND_PORT_GLOB, 1.0 / 4},
	{SC_PRIORITY, SQLITE_INDEX_CONSTRAINT_EQ, COND_PRIORITY, 1.0 / 2},
	{SC_PRIORITY, SQLITE_INDEX_CONSTRAINT_ISNULL, COND_PRIORITY_NULL, 1.0 / 2},
	{SC_ENTITY, SQLITE_INDEX_CONSTRAINT_EQ, COND_ENTITY, 1.0 / 10000},
	{SC_KIND, SQLITE_INDEX_CONSTRAINT_EQ, COND_KIND, 1.0 / 2},
	{SC_T_NS, SQLITE_INDEX_CONSTRAINT_GT, COND_FROM, 1.0 / 20},
	{SC_T_NS, SQLITE_INDEX_CONSTRAINT_GE, COND_FROM, 1.0 / 20},
	{SC_T_NS, SQLITE_INDEX_CONSTRAINT_LT, COND_TO, 1.0 / 20},
	{SC_T_NS, SQLITE_INDEX_CONSTRAINT_LE, COND_TO, 1.0 / 20},
	{SC_T_NS, SQLITE_INDEX_CONSTRAINT_EQ, COND_AT, 1.0 / 1000},
};

static const struct plan_row *plan_row_of(
	sqlite3_index_info *info, int i, const struct sqlite3_index_constraint *constraint)
{
	for (size_t k = 0; k < rw_countof(plan_rows); k++) {
		if (plan_rows[k].column != constraint->iColumn || plan_rows[k].op != constraint->op)
			continue;
		if (constraint->op == SQLITE_INDEX_CONSTRAINT_EQ &&
			strcmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
			return NULL; /* "=" means something else then */
		return &plan_rows[k];
	}
	return NULL;
}

int samples_plan(sqlite3_vtab *table, sqlite3_index_info *info)
{
	double rows = 1e9;
	int n = 0;
	char *text = sqlite3_malloc(info->nConstraint + 1);

	if (!text)
		return SQLITE_NOMEM;
	for (int i = 0; i < info->nConstraint; i++) {
		if (!info->aConstraint[i].usable)
			continue;
		const struct plan_row *row = plan_row_of(info, i, &info->aConstraint[i]);
		if (!row)
			continue;
		text[n++] = (char)('a' + row->condition);
		info->aConstraintUsage[i].argvIndex = n;
		rows *= row->share;
	}
	text[n] = '\0';
	info->idxStr = text;
	info->needToFreeIdxStr = 1;
	info->idxNum = 0;
	if (info->colUsed & ((UINT64_C(1) << SC_RATE) | (UINT64_C(1) << SC_INTERVAL_S)))
		info->idxNum = PLAN_RATES;
	if (rows < 1)
		rows = 1;
	info->estimatedRows = (sqlite3_int64)rows;
	info->estimatedCost = rows + 50;
	return SQLITE_OK;
}

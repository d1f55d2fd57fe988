/* samples_plan - which conditions of a statement reach the blocks' key, and what that saves. The
 * planner compares figures only with each other. */
#include "db/sqlite/read/samples_plan.h"

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

/* Of rocewatch_rates. The arguments come first. */
static const struct plan_row steps_rows[] = {
	{RC_WANT_METRIC, SQLITE_INDEX_CONSTRAINT_EQ, COND_METRIC_GLOB, 1.0 / 50},
	{RC_WANT_FROM, SQLITE_INDEX_CONSTRAINT_EQ, COND_FROM, 1.0 / 20},
	{RC_WANT_TO, SQLITE_INDEX_CONSTRAINT_EQ, COND_TO, 1.0 / 20},
	{RC_WANT_STEP, SQLITE_INDEX_CONSTRAINT_EQ, COND_STEP, 1},
	{RC_DEVICE, SQLITE_INDEX_CONSTRAINT_EQ, COND_DEVICE, 1.0 / 100},
	{RC_DEVICE, SQLITE_INDEX_CONSTRAINT_LIKE, COND_DEVICE_LIKE, 1.0 / 4},
	{RC_DEVICE, SQLITE_INDEX_CONSTRAINT_GLOB, COND_DEVICE_GLOB, 1.0 / 4},
	{RC_PORT, SQLITE_INDEX_CONSTRAINT_EQ, COND_PORT, 1.0 / 64},
	{RC_PORT, SQLITE_INDEX_CONSTRAINT_ISNULL, COND_PORT_NULL, 1.0 / 64},
	{RC_PORT, SQLITE_INDEX_CONSTRAINT_LIKE, COND_PORT_LIKE, 1.0 / 4},
	{RC_PORT, SQLITE_INDEX_CONSTRAINT_GLOB, COND_PORT_GLOB, 1.0 / 4},
	{RC_PRIORITY, SQLITE_INDEX_CONSTRAINT_EQ, COND_PRIORITY, 1.0 / 2},
	{RC_PRIORITY, SQLITE_INDEX_CONSTRAINT_ISNULL, COND_PRIORITY_NULL, 1.0 / 2},
};

/* The extension may be loaded by an older SQLite. */
static bool plan_knows_values(void)
{
	return sqlite3_libversion_number() >= 3038000;
}

static bool is_argument(bool steps, int column)
{
	return steps && column >= RC_WANT_METRIC;
}

static const struct plan_row *plan_row_of(sqlite3_index_info *info, bool steps, int i,
	const struct sqlite3_index_constraint *constraint)
{
	const struct plan_row *rows = plan_rows;
	size_t n = rw_countof(plan_rows);

	if (steps) {
		rows = steps_rows;
		n = rw_countof(steps_rows);
	}
	for (size_t k = 0; k < n; k++) {
		if (rows[k].column != constraint->iColumn || rows[k].op != constraint->op)
			continue;
		if (constraint->op == SQLITE_INDEX_CONSTRAINT_EQ &&
			!is_argument(steps, constraint->iColumn) &&
			strcmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
			return NULL; /* "=" means something else then */
		return &rows[k];
	}
	return NULL;
}

/* What the cursor makes of the condition. *@ret_exact: SQLite need not look at the rows again. */
static enum samples_condition plan_condition(
	sqlite3_index_info *info, int i, const struct plan_row *row, bool *ret_exact)
{
	sqlite3_value *value = NULL;
	*ret_exact = row->condition == COND_METRIC;
	if (row->condition != COND_FROM && row->condition != COND_TO)
		return row->condition;
	*ret_exact = plan_knows_values() && sqlite3_vtab_rhs_value(info, i, &value) == SQLITE_OK &&
		sqlite3_value_type(value) == SQLITE_INTEGER;
	if (*ret_exact && row->op == SQLITE_INDEX_CONSTRAINT_GT)
		return COND_AFTER;
	if (*ret_exact && row->op == SQLITE_INDEX_CONSTRAINT_LT)
		return COND_BEFORE;
	return row->condition;
}

/* Do rows by device, port and priority serve? Of one metric alone, and for a grouping, whose result
 * comes in the same order then. @conditions: the plan's text. */
static bool plan_sorts(sqlite3_index_info *info, const char *conditions)
{
	static const int order[] = {SC_DEVICE, SC_PORT, SC_PRIORITY};
	const bool grouping = plan_knows_values() && sqlite3_vtab_distinct(info) == 1;
	bool sorts = grouping && info->nOrderBy > 0 && strchr(conditions, 'a' + COND_METRIC) &&
		(size_t)info->nOrderBy <= rw_countof(order);

	for (int i = 0; sorts && i < info->nOrderBy; i++)
		sorts = !info->aOrderBy[i].desc && info->aOrderBy[i].iColumn == order[i];
	return sorts;
}

int samples_plan(sqlite3_index_info *info, bool steps)
{
	uint64_t looked =
		(UINT64_C(1) << SC_RATE) | (UINT64_C(1) << SC_INTERVAL_S); /* of PLAN_RATES */
	double rows = 1e9;
	int n = 0;
	char *text = sqlite3_malloc(info->nConstraint + 1);

	if (!text)
		return SQLITE_NOMEM;
	for (int i = 0; i < info->nConstraint; i++) {
		const bool argument = is_argument(steps, info->aConstraint[i].iColumn);
		if (!info->aConstraint[i].usable && argument) {
			sqlite3_free(text);
			return SQLITE_CONSTRAINT; /* in another order of the tables it is */
		}
		if (!info->aConstraint[i].usable)
			continue;
		const struct plan_row *row = plan_row_of(info, steps, i, &info->aConstraint[i]);
		if (!row)
			continue;
		bool exact = false;
		enum samples_condition condition = row->condition;
		if (!steps)
			condition = plan_condition(info, i, row, &exact);
		text[n++] = (char)('a' + condition);
		info->aConstraintUsage[i].argvIndex = n;
		info->aConstraintUsage[i].omit = argument || exact;
		rows *= row->share;
	}
	text[n] = '\0';
	if (steps)
		looked =
			(UINT64_C(1) << RC_P50) | (UINT64_C(1) << RC_P95) | (UINT64_C(1) << RC_P99);
	info->idxStr = text;
	info->needToFreeIdxStr = 1;
	info->idxNum = 0;
	if (info->colUsed & looked)
		info->idxNum = PLAN_RATES;
	if (!steps && plan_sorts(info, text)) {
		info->idxNum |= PLAN_SORTED;
		info->orderByConsumed = 1;
	}
	if (rows < 1)
		rows = 1;
	info->estimatedRows = (sqlite3_int64)rows;
	info->estimatedCost = rows + 50;
	return SQLITE_OK;
}

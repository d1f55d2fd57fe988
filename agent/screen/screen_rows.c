/* screen_rows - cells and orders of the rows that documents give. */
#include "agent/screen/screen_rows.h"

#include "agent/answers/watch/watch_frame.h"
#include "agent/document/json_value.h"
#include "agent/document/quantity.h"

/* screen_text - short texts for members of answers, and the filter. */

enum canvas_style screen_style(const char *state)
{
	static const struct {
		const char *state;
		enum canvas_style style;
	} rows[] = {
		{"critical", STYLE_CRITICAL},
		{"warning", STYLE_WARNING},
		{"unknown", STYLE_UNKNOWN},
		{"down", STYLE_CRITICAL},
		{"stopped", STYLE_WARNING},
		{"idle", STYLE_DIM},
		{"info", STYLE_PLAIN},
		{"origin", STYLE_BOLD},
	};
	for (size_t i = 0; i < rw_countof(rows); i++)
		if (str_eq(rows[i].state, state))
			return rows[i].style;
	return STYLE_PLAIN;
}

void screen_add_ratio(struct str *out, double ratio)
{
	double percent = fabs(ratio) * 100;
	if (isnan(ratio))
		str_add(out, "-");
	else if (percent < 0.05)
		str_add(out, "0 %");
	else if (percent < 9.95)
		str_addf(out, "%.1f %%", ratio * 100);
	else
		str_addf(out, "%.0f %%", ratio * 100);
}

/* "frames/s" is "6.8k/s": the name of the signal says what is counted. */
static void screen_add_rate(struct str *out, double value)
{
	str_add_scaled(out, value < 0.005 ? 0 : value, "/s");
}

void screen_add_value(struct str *out, double value, const char *unit, const char *quality)
{
	size_t n = strlen(unit);
	if (isnan(value)) {
		str_add(out, "-");
		return;
	}
	if (str_eq(quality, "bound") && value > 0)
		str_add(out, "<= ");
	if (str_eq(quality, "estimated"))
		str_add(out, "~");
	if (str_eq(unit, "ratio"))
		screen_add_ratio(out, value);
	else if (str_eq(unit, "links") || str_eq(unit, "ports"))
		str_addf(out, "%.0f", value);
	else if (n > 2 && str_eq(unit + n - 2, "/s") && !strchr("bB", *unit))
		screen_add_rate(out, value);
	else
		str_add_quantity(out, value, unit);
}

void screen_add_age(struct str *out, double seconds)
{
	char text[32];
	if (isnan(seconds)) {
		str_add(out, "-");
		return;
	}
	int64_t whole_ns = (int64_t)llround(fmax(seconds, 0)) * NS_PER_S;
	str_add(out, duration_format(text, sizeof(text), whole_ns));
}

void screen_add_money(struct str *out, double usd)
{
	char digits[40];
	if (isnan(usd)) {
		str_add(out, "-");
		return;
	}
	if (fabs(usd) < 10) {
		str_addf(out, "$%.2f", usd);
		return;
	}
	int n = snprintf(digits, sizeof(digits), "%.0f", usd);
	str_add(out, "$");
	for (int i = 0; i < n; i++) {
		str_addn(out, &digits[i], 1);
		int rest = n - 1 - i;
		if (rest > 0 && rest % 3 == 0 && isdigit((unsigned char)digits[i]))
			str_add(out, ",");
	}
}

void screen_add_time(struct str *out, const char *time)
{
	if (!time || strlen(time) < strlen("2026-11-22T03:14:22"))
		str_add(out, "-");
	else
		str_addf(out, "%.10s %.8sZ", time, time + 11);
}

void screen_add_port(struct str *out, const struct screen_names *names)
{
	str_add(out, names->device && *names->device ? names->device : "-");
	if (names->port && *names->port)
		str_addf(out, ":%s", names->port);
	if (names->priority != COUNT_UNKNOWN)
		str_addf(out, " p%llu", (unsigned long long)names->priority);
}

/* ---- filter -------------------------------------------------------------- */

static void screen_add_lower(struct str *out, const char *text)
{
	for (; *text; text++) {
		char c = (char)tolower((unsigned char)*text);
		str_addn(out, &c, 1);
	}
}

static bool screen_word_matches(const char *pattern, const char *word)
{
	rw_cleanup(str_done) struct str lower = {0};
	screen_add_lower(&lower, str_or(word, ""));
	return lower.n > 0 && str_glob(pattern, lower.s);
}

bool screen_matches(const char *filter, const struct screen_names *names)
{
	const char *const words[] = {names->device, names->port, names->peer, names->host,
		names->job, names->cause, names->name, names->id, names->state};
	rw_cleanup(str_done) struct str pattern = {0}, place = {0};
	bool whole = strpbrk(filter, "*?[") != NULL;
	if (!*filter)
		return true;
	str_add(&pattern, str_if(!whole, "*"));
	screen_add_lower(&pattern, filter);
	str_add(&pattern, str_if(!whole, "*"));
	for (size_t i = 0; i < rw_countof(words); i++)
		if (screen_word_matches(pattern.s, words[i]))
			return true;
	screen_add_port(&place, names);
	return screen_word_matches(pattern.s, place.s);
}

/* screen_table - lists: columns as wide as their content, one column that takes the rest. */

enum { TABLE_COLUMNS_MAX = 16, TABLE_GAP = 2, TABLE_REST_MIN = 8 };

/* screen_json_names - of an object of a document. */
static void screen_json_names(const void *row, struct screen_names *ret)
{
	const json_t *priority = json_object_get(row, "priority");
	*ret = (struct screen_names){.device = doc_word(row, "device"),
		.port = doc_word(row, "port"),
		.peer = doc_word(row, "peer"),
		.host = doc_word(row, "host"),
		.job = doc_word(row, "job"),
		.cause = doc_word(row, "cause"),
		.name = doc_word(row, "name"),
		.id = doc_word(row, "id"),
		.state = doc_word(row, "state"),
		.priority = COUNT_UNKNOWN};
	if (json_is_integer(priority))
		ret->priority = (uint64_t)json_integer_value(priority);
}

static bool screen_list_has(const struct screen_list *list, const char *filter, const void *row)
{
	struct screen_names names;
	if (!*filter)
		return true;
	if (list->document) {
		screen_json_names(row, &names);
		return screen_matches(filter, &names);
	}
	if (!list->names)
		return true;
	list->names(row, &names);
	return screen_matches(filter, &names);
}

static const void *screen_list_row(const struct screen_list *list, size_t i)
{
	if (list->document)
		return json_array_get(list->document, i);
	return (const char *)list->rows + i * list->size;
}

void screen_rows_of(struct screen_rows *ret, const struct screen_list *list, const char *filter,
	int (*compare)(const void *left, const void *right))
{
	const size_t n = list->document ? json_array_size(list->document) : list->n;
	*ret = (struct screen_rows){.rows = rw_calloc(n + 1, sizeof(*ret->rows))};
	for (size_t i = 0; i < n; i++) {
		const void *row = screen_list_row(list, i);
		if (screen_list_has(list, filter, row))
			ret->rows[ret->n++] = row;
	}
	if (compare)
		qsort(ret->rows, ret->n, sizeof(*ret->rows), compare);
}

void screen_rows_done(struct screen_rows *rows)
{
	free(rows->rows);
	*rows = (struct screen_rows){0};
}

struct table_layout {
	const struct screen_column *columns[TABLE_COLUMNS_MAX];
	int widths[TABLE_COLUMNS_MAX];
	size_t n;
};

static int table_content_width(const struct screen_column *column, const struct screen_rows *rows)
{
	int width = canvas_width(column->header);
	for (size_t i = 0; i < rows->n && width < column->most; i++) {
		rw_cleanup(str_done) struct str text = {0};
		column->cell(rows->rows[i], &text);
		int n = canvas_width(str_or(text.s, ""));
		if (n > width)
			width = n;
	}
	if (width > column->most)
		width = column->most;
	return width;
}

static void table_lay_out(struct table_layout *layout, int cols,
	const struct screen_column *columns, size_t n, const struct screen_rows *rows)
{
	int rest = cols - 1;
	int flexible = -1;
	*layout = (struct table_layout){0};
	for (size_t i = 0; i < n; i++) {
		if (columns[i].from_cols > cols)
			continue;
		size_t k = layout->n++;
		layout->columns[k] = &columns[i];
		if (columns[i].most == 0)
			flexible = (int)k;
		else
			layout->widths[k] = table_content_width(&columns[i], rows);
		rest -= layout->widths[k] + TABLE_GAP;
	}
	if (flexible >= 0 && rest >= TABLE_REST_MIN)
		layout->widths[flexible] = rest;
	else if (flexible >= 0)
		layout->widths[flexible] = TABLE_REST_MIN;
}

static void table_put_row(
	struct canvas *canvas, int at, const struct table_layout *layout, const void *row)
{
	int col = 1;
	for (size_t i = 0; i < layout->n; i++) {
		const struct screen_column *column = layout->columns[i];
		rw_cleanup(str_done) struct str text = {0};
		str_add(&text, "");
		enum canvas_style style = STYLE_DIM;
		if (row)
			style = column->cell(row, &text);
		else
			str_add(&text, column->header);
		if (column->right)
			canvas_put_right(canvas, at, col, layout->widths[i], style, text.s);
		else
			canvas_put(canvas, at, col, layout->widths[i], style, text.s);
		col += layout->widths[i] + TABLE_GAP;
	}
}

int screen_table_put(struct canvas *canvas, int row, int height,
	const struct screen_column *columns, size_t n_columns, const struct screen_rows *rows,
	int first, int selected)
{
	struct table_layout layout;
	int n = (int)rows->n - first;
	int room = height - 1;
	if (room < 0)
		return 0;
	table_lay_out(&layout, canvas->cols, columns, n_columns, rows);
	table_put_row(canvas, row, &layout, NULL);
	int shown = n;
	if (n > room)
		shown = room - 1;
	for (int i = 0; i < shown; i++) {
		table_put_row(canvas, row + 1 + i, &layout, rows->rows[first + i]);
		if (first + i == selected)
			canvas_paint(canvas, row + 1 + i, 0, canvas->cols, STYLE_SELECTED);
	}
	if (shown == n)
		return 1 + shown;
	if (room > 0)
		canvas_putf(canvas, row + 1 + shown, 1, canvas->cols - 2, STYLE_DIM, "%d more",
			n - shown);
	return height;
}

void screen_list_put(struct screen *screen, struct canvas *canvas, int row, int height,
	const struct screen_column *columns, size_t n_columns, const struct screen_rows *rows)
{
	struct screen_place *place = &screen->stack[screen->depth];
	int n = (int)rows->n;
	int visible = height - 2; /* the header, and the count of what is left */
	if (visible < 1)
		visible = 1;
	if (place->selected >= n)
		place->selected = n - 1;
	if (place->selected < 0)
		place->selected = 0;
	if (place->top > place->selected)
		place->top = place->selected;
	if (place->selected >= place->top + visible)
		place->top = place->selected - visible + 1;
	if (place->top > n - visible)
		place->top = n - visible;
	if (place->top < 0)
		place->top = 0;
	screen->n_rows = n;
	screen->n_visible = visible;
	screen_table_put(canvas, row, height, columns, n_columns, rows, place->top,
		n > 0 ? place->selected : -1);
}

/* ---- incidents ----------------------------------------------------------- */

void screen_incident_names(const void *row, struct screen_names *ret)
{
	const struct open_incident *incident = row;
	*ret = (struct screen_names){.device = incident->device,
		.port = incident->port,
		.host = incident->host,
		.job = incident->job,
		.cause = incident->cause,
		.id = incident->id,
		.state = incident->state,
		.priority = incident->priority};
}

void screen_note_incident(struct screen *screen, const void *incident)
{
	const char *id = str_or(((const struct open_incident *)incident)->id, "");
	snprintf(screen->row_subject, sizeof(screen->row_subject), "%s", id);
}

static enum canvas_style cell_severity(const void *row, struct str *out)
{
	const char *severity = str_or(((const struct open_incident *)row)->severity, "");
	str_add(out, severity);
	return screen_style(severity);
}

static enum canvas_style cell_incident_age(const void *row, struct str *out)
{
	screen_add_age(out, ((const struct open_incident *)row)->age_s);
	return STYLE_PLAIN;
}

static enum canvas_style cell_incident_money(const void *row, struct str *out)
{
	const double usd = ((const struct open_incident *)row)->usd_per_hour;
	screen_add_money(out, usd);
	if (!isnan(usd))
		str_add(out, "/h");
	return STYLE_PLAIN;
}

static enum canvas_style cell_incident_total(const void *row, struct str *out)
{
	screen_add_money(out, ((const struct open_incident *)row)->usd_total);
	return STYLE_PLAIN;
}

/* Commands take an id that is shortened while it stays unambiguous. */
enum { SCREEN_ID_SHOWN = 5 };

static enum canvas_style cell_incident_id(const void *row, struct str *out)
{
	str_addf(out, "%.*s", SCREEN_ID_SHOWN, str_or(((const struct open_incident *)row)->id, ""));
	return STYLE_DIM;
}

static enum canvas_style cell_incident_cause(const void *row, struct str *out)
{
	str_add(out, str_or(((const struct open_incident *)row)->cause, ""));
	return STYLE_PLAIN;
}

/* What it says in one line. */
static enum canvas_style cell_incident_text(const void *row, struct str *out)
{
	const struct open_incident *incident = row;
	const char *const texts[] = {incident->headline, incident->summary, incident->cause};
	for (size_t i = 0; i < rw_countof(texts) && !out->n; i++)
		str_add(out, str_or(texts[i], ""));
	return STYLE_PLAIN;
}

/* Who has it: silenced, assigned or acknowledged. */
static enum canvas_style cell_incident_owner(const void *row, struct str *out)
{
	const struct open_incident *incident = row;
	const struct {
		const char *text, *word;
	} owners[] = {{incident->silenced, "silenced"}, {incident->assigned_to, NULL},
		{incident->acked_by, NULL}};
	for (size_t i = 0; i < rw_countof(owners); i++) {
		if (!owners[i].text || !*owners[i].text)
			continue;
		str_add(out, str_or(owners[i].word, owners[i].text));
		return STYLE_PLAIN;
	}
	str_add(out, "-");
	return STYLE_DIM;
}

const struct screen_column screen_incident_columns[] = {
	{"SEVERITY", 8, 0, false, cell_severity},
	{"AGE", 7, 0, true, cell_incident_age},
	{"COST", 10, 0, true, cell_incident_money},
	{"SO FAR", 9, 110, true, cell_incident_total},
	{"CAUSE", 20, 130, false, cell_incident_cause},
	{"WHAT", 0, 0, false, cell_incident_text},
	{"OWNER", 12, 100, false, cell_incident_owner},
	{"ID", SCREEN_ID_SHOWN, 0, false, cell_incident_id},
};
const size_t screen_incident_n_columns = rw_countof(screen_incident_columns);

static int screen_severity_rank(const struct open_incident *row)
{
	static const char *const words[] = {"info", "unknown", "warning", "critical"};
	for (size_t i = 0; i < rw_countof(words); i++)
		if (str_eq(words[i], row->severity))
			return (int)i;
	return -1;
}

/* Larger first; unknown last. */
static int screen_number_order(double x, double y)
{
	x = isnan(x) ? -INFINITY : x;
	y = isnan(y) ? -INFINITY : y;
	return (y > x) - (y < x);
}

static int screen_word_order(const char *x, const char *y)
{
	return strverscmp(str_or(x, ""), str_or(y, "")); /* Ethernet9, Ethernet10 */
}

static const struct open_incident *incident_at(const void *row)
{
	return *(const struct open_incident *const *)row;
}

static int incident_by_money(const void *left, const void *right)
{
	const struct open_incident *x = incident_at(left), *y = incident_at(right);
	int r = screen_number_order(x->usd_per_hour, y->usd_per_hour);
	if (r == 0)
		r = screen_severity_rank(y) - screen_severity_rank(x);
	if (r == 0)
		r = screen_word_order(x->opened, y->opened);
	return r ? r : screen_word_order(x->id, y->id);
}

static int incident_by_severity(const void *left, const void *right)
{
	int r = screen_severity_rank(incident_at(right)) - screen_severity_rank(incident_at(left));
	return r ? r : incident_by_money(left, right);
}

static int incident_by_age(const void *left, const void *right)
{
	/* the newest first */
	int r = screen_word_order(incident_at(right)->opened, incident_at(left)->opened);
	return r ? r : incident_by_money(left, right);
}

static int incident_by_device(const void *left, const void *right)
{
	int r = screen_word_order(incident_at(left)->device, incident_at(right)->device);
	return r ? r : incident_by_money(left, right);
}

const char *const screen_incident_orders[] = {"money", "severity", "newest", "device", NULL};
screen_compare *const screen_incident_compares[] = {
	incident_by_money, incident_by_severity, incident_by_age, incident_by_device};

/* ---- the top of the paused ports, on the wall ---------------------------- */

void screen_paused_names(const void *row, struct screen_names *ret)
{
	const struct watch_paused *paused = row;
	*ret = (struct screen_names){.device = paused->device,
		.port = paused->port,
		.peer = paused->peer,
		.host = paused->host,
		.priority = paused->priority};
}

static enum canvas_style cell_paused_share(const void *row, struct str *out)
{
	const struct watch_paused *paused = row;
	screen_add_value(out, paused->pause_ratio, "ratio", paused->quality);
	return STYLE_BOLD;
}

static enum canvas_style cell_paused_port(const void *row, struct str *out)
{
	struct screen_names names;
	screen_paused_names(row, &names);
	screen_add_port(out, &names);
	return STYLE_PLAIN;
}

static enum canvas_style cell_paused_role(const void *row, struct str *out)
{
	const char *role = ((const struct watch_paused *)row)->role;
	str_add(out, role);
	return screen_style(role);
}

static enum canvas_style cell_paused_text(const void *row, struct str *out)
{
	str_add(out, str_or(((const struct watch_paused *)row)->sentence, ""));
	return STYLE_PLAIN;
}

const struct screen_column screen_paused_columns[] = {
	{"PAUSED", 9, 0, true, cell_paused_share},
	{"PORT", 26, 0, false, cell_paused_port},
	{"ROLE", 7, 0, false, cell_paused_role},
	{"WHO PAUSES", 0, 0, false, cell_paused_text},
};
const size_t screen_paused_n_columns = rw_countof(screen_paused_columns);

/* ---- the list of ports ---------------------------------------------------- */

static enum canvas_style cell_port_name(const void *row, struct str *out)
{
	struct screen_names names;
	screen_json_names(row, &names);
	screen_add_port(out, &names);
	return STYLE_PLAIN;
}

static enum canvas_style cell_port_peer(const void *row, struct str *out)
{
	const char *peer = doc_word(row, "peer");
	const bool began = json_is_true(json_object_get(row, "origin"));
	str_addf(out, "%s%s", str_if(began, "ORIGIN "), *peer ? peer : "-");
	return STYLE_PLAIN;
}

/* "7.1 %" where the switch measures time, "0-7.1 %" where frames only bound it. */
static enum canvas_style cell_port_pause(
	const json_t *row, struct str *out, const char *low, const char *high)
{
	double lo = doc_number(row, low), hi = doc_number(row, high);
	if (!isnan(lo) && !isnan(hi) && hi - lo > 0.0005) {
		screen_add_ratio(out, lo);
		str_add(out, " to ");
	}
	screen_add_ratio(out, hi);
	if (isnan(hi) || hi < 0.0005)
		return STYLE_DIM;
	return STYLE_BOLD;
}

static enum canvas_style cell_port_rx(const void *row, struct str *out)
{
	return cell_port_pause(row, out, "rx_lo_ratio", "rx_hi_ratio");
}

static enum canvas_style cell_port_tx(const void *row, struct str *out)
{
	return cell_port_pause(row, out, "tx_lo_ratio", "tx_hi_ratio");
}

static enum canvas_style cell_port_measured(const void *row, struct str *out)
{
	bool measured = json_is_true(json_object_get(row, "rx_measured")) ||
		json_is_true(json_object_get(row, "tx_measured"));
	str_add(out, measured ? "time" : "frames");
	return STYLE_DIM;
}

static void cell_port_add_frames(struct str *out, const json_t *row, const char *key)
{
	double frames = doc_number(row, key);
	if (isnan(frames))
		str_add(out, "-");
	else
		screen_add_value(out, frames, "", "");
}

static enum canvas_style cell_port_rx_frames(const void *row, struct str *out)
{
	cell_port_add_frames(out, row, "rx_frames");
	return STYLE_DIM;
}

static enum canvas_style cell_port_tx_frames(const void *row, struct str *out)
{
	cell_port_add_frames(out, row, "tx_frames");
	return STYLE_DIM;
}

const struct screen_column screen_port_columns[] = {
	{"PORT", 26, 0, false, cell_port_name},
	{"IT PAUSED US", 16, 0, true, cell_port_rx},
	{"WE PAUSED IT", 16, 0, true, cell_port_tx},
	{"NEIGHBOUR", 0, 0, false, cell_port_peer},
	{"BY", 6, 100, false, cell_port_measured},
	{"FRAMES RECEIVED", 15, 120, true, cell_port_rx_frames},
	{"FRAMES SENT", 15, 120, true, cell_port_tx_frames},
};
const size_t screen_port_n_columns = rw_countof(screen_port_columns);

static int port_by_name(const void *left, const void *right)
{
	const json_t *x = *(const json_t *const *)left, *y = *(const json_t *const *)right;
	int r = screen_word_order(doc_word(x, "device"), doc_word(y, "device"));
	return r ? r : screen_word_order(doc_word(x, "port"), doc_word(y, "port"));
}

static int port_by_rx(const void *left, const void *right)
{
	const json_t *x = *(const json_t *const *)left, *y = *(const json_t *const *)right;
	int r = screen_number_order(doc_number(x, "rx_hi_ratio"), doc_number(y, "rx_hi_ratio"));
	return r ? r : port_by_name(left, right);
}

static int port_by_tx(const void *left, const void *right)
{
	const json_t *x = *(const json_t *const *)left, *y = *(const json_t *const *)right;
	int r = screen_number_order(doc_number(x, "tx_hi_ratio"), doc_number(y, "tx_hi_ratio"));
	return r ? r : port_by_name(left, right);
}

const char *const screen_port_orders[] = {"pause", "it paused us", "we paused it", "device", NULL};
/* "pause" is the order of the document: origins, then what is paused most. */
screen_compare *const screen_port_compares[] = {NULL, port_by_rx, port_by_tx, port_by_name};

/* screen_heat - paints the document "ecmp/heatmap". Cells hold numbers where there is room for
 * them, else one sign each: a block as high as the load, or a digit for tenths of the line rate. */

enum { HEAT_NAME_MAX = 16, HEAT_CELL_MAX = 9, HEAT_NUMBER_MIN = 5, HEAT_TAIL = 32 };

struct heat {
	struct canvas *canvas;
	const json_t *peers;
	struct screen_rows rows;
	int name, cell; /* columns of the device and of a cell */
	int left, n_shown; /* peers shown */
};

static void heat_lay_out(struct heat *heat, struct screen_place *place)
{
	int n = (int)json_array_size(heat->peers);
	heat->name = 6;
	for (size_t i = 0; i < heat->rows.n; i++) {
		int width = canvas_width(doc_word(heat->rows.rows[i], "device"));
		if (width > heat->name)
			heat->name = width;
	}
	if (heat->name > HEAT_NAME_MAX)
		heat->name = HEAT_NAME_MAX;
	int room = heat->canvas->cols - heat->name - 2 - HEAT_TAIL;
	heat->cell = n > 0 ? room / n : room;
	if (heat->cell > HEAT_CELL_MAX)
		heat->cell = HEAT_CELL_MAX;
	if (heat->cell < HEAT_NUMBER_MIN)
		heat->cell = 1 + (heat->cell > 1);
	heat->n_shown = room / heat->cell;
	if (heat->n_shown > n)
		heat->n_shown = n;
	if (place->left > n - heat->n_shown)
		place->left = n - heat->n_shown;
	if (place->left < 0)
		place->left = 0;
	heat->left = place->left;
}

static void heat_put_cell(struct heat *heat, int row, int col, const json_t *cell)
{
	static const char *const blocks[] = {
		"\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};
	double ratio = doc_number(cell, "utilization_ratio");
	bool hot = json_is_true(json_object_get(cell, "hot"));
	enum canvas_style style = hot ? STYLE_WARNING : STYLE_PLAIN;
	rw_cleanup(str_done) struct str text = {0};
	if (isnan(ratio))
		str_add(&text, "-");
	else if (heat->cell >= HEAT_NUMBER_MIN)
		str_addf(&text, "%.0f%s", fabs(ratio) * 100, hot ? "!" : " ");
	else if (heat->canvas->utf8)
		str_add(&text, blocks[(int)(fmin(fmax(ratio, 0), 0.999) * 8)]);
	else
		str_addf(&text, "%d", (int)(fmin(fmax(ratio, 0), 0.999) * 10));
	if (isnan(ratio))
		style = STYLE_DIM;
	canvas_put_right(heat->canvas, row, col, heat->cell, style, text.s);
}

static void heat_put_row(struct heat *heat, int at, const json_t *row)
{
	struct canvas *canvas = heat->canvas;
	const json_t *cells = json_object_get(row, "cells");
	int col = heat->name + 2;
	rw_cleanup(str_done) struct str imbalance = {0};
	canvas_put(canvas, at, 1, heat->name, STYLE_PLAIN, doc_word(row, "device"));
	for (int i = 0; i < heat->n_shown; i++, col += heat->cell)
		heat_put_cell(heat, at, col, json_array_get(cells, (size_t)(heat->left + i)));
	double ratio = doc_number(row, "link_imbalance_ratio");
	if (isnan(ratio))
		ratio = doc_number(row, "imbalance_ratio");
	screen_add_ratio(&imbalance, ratio);
	const char *verdict = doc_word(row, "verdict");
	bool quiet = str_eq(verdict, "even") || str_eq(verdict, "idle");
	canvas_put_right(canvas, at, col + 1, 8, STYLE_BOLD, imbalance.s);
	canvas_put(canvas, at, col + 11, canvas->cols - col - 12,
		quiet ? STYLE_PLAIN : STYLE_WARNING, verdict);
}

static void heat_put_head(struct heat *heat, int row)
{
	struct canvas *canvas = heat->canvas;
	int col = heat->name + 2;
	canvas_put(canvas, row, 1, heat->name, STYLE_DIM, "LEAF");
	for (int i = 0; i < heat->n_shown; i++, col += heat->cell) {
		const char *peer =
			json_string_value(json_array_get(heat->peers, (size_t)(heat->left + i)));
		if (heat->cell >= HEAT_NUMBER_MIN)
			canvas_put_right(
				canvas, row, col + 1, heat->cell - 1, STYLE_DIM, str_or(peer, "-"));
	}
	canvas_put_right(canvas, row, col + 1, 8, STYLE_DIM, "MAX/MEAN");
	canvas_put(canvas, row, col + 11, canvas->cols - col - 12, STYLE_DIM, "VERDICT");
}

static void heat_add_legend(struct str *out, const struct heat *heat, const json_t *doc)
{
	int n = (int)json_array_size(heat->peers);
	if (heat->n_shown < n)
		str_addf(out, "spines %d to %d of %d (Left, Right); ", heat->left + 1,
			heat->left + heat->n_shown, n);
	if (heat->cell < HEAT_NUMBER_MIN && !heat->canvas->utf8)
		str_add(out, "tenths of line rate in busy windows; limit of max/mean-1 ");
	else
		str_add(out, "% of line rate in busy windows; limit of max/mean-1 ");
	screen_add_ratio(out, doc_number(doc, "warn_ratio"));
}

void screen_heat_paint(struct screen *screen, const struct screen_docs *docs, struct canvas *canvas,
	int row, int rows)
{
	struct screen_place *place = screen_place_of(screen);
	struct heat heat = {.canvas = canvas, .peers = json_object_get(docs->page, "peers")};
	screen_rows_of(&heat.rows, SCREEN_DOCUMENT(json_object_get(docs->page, "rows")),
		screen->filter, NULL);
	heat_lay_out(&heat, place);
	rw_cleanup(str_done) struct str legend = {0};
	heat_add_legend(&legend, &heat, docs->page);
	canvas_put(canvas, row, 1, canvas->cols - 2, STYLE_DIM, legend.s);
	heat_put_head(&heat, row + 1);
	int visible = rows - 3;
	if (place->top > (int)heat.rows.n - visible)
		place->top = (int)heat.rows.n - visible;
	if (place->top < 0)
		place->top = 0;
	screen->n_rows = (int)heat.rows.n;
	screen->n_visible = visible;
	int shown = 0;
	for (; shown < visible && place->top + shown < (int)heat.rows.n; shown++)
		heat_put_row(&heat, row + 2 + shown, heat.rows.rows[place->top + shown]);
	int below = (int)heat.rows.n - place->top - shown;
	if (below > 0)
		canvas_putf(
			canvas, row + 2 + shown, 1, canvas->cols - 2, STYLE_DIM, "%d more", below);
	if (heat.rows.n == 0)
		canvas_put(canvas, row + 2, 1, canvas->cols - 2, STYLE_DIM,
			*screen->filter
				? "no group matches the filter"
				: "no ECMP groups with traffic counters in this time range");
	screen_rows_done(&heat.rows);
}

/* screen_paper - wraps and scrolls a text. */

enum { PAPER_INDENT_MAX = 24 };

struct paper_line {
	const char *text;
	size_t n;
	int indent; /* columns before it */
};

struct paper {
	struct paper_line *v;
	size_t n, cap;
};

static void paper_add(struct paper *paper, const char *text, size_t n, int indent)
{
	rw_grow(paper->v, paper->n, paper->cap);
	paper->v[paper->n++] = (struct paper_line){text, n, indent};
}

/* Where the continuation of a line begins: behind the first gap of two blanks ("cost        $3"),
 * else two columns in from its own beginning. */
static int paper_indent(const char *line, size_t n)
{
	size_t own = 0;
	while (own < n && line[own] == ' ')
		own++;
	for (size_t i = own; i + 2 < n && i < PAPER_INDENT_MAX; i++) {
		if (line[i] != ' ' || line[i + 1] != ' ')
			continue;
		while (i < n && line[i] == ' ')
			i++;
		if (i < PAPER_INDENT_MAX)
			return (int)i;
	}
	return (int)own + 2;
}

/* Bytes of @line that fill @width columns, ended at a word where there is one. */
static size_t paper_fit(const char *line, size_t n, int width)
{
	size_t last = 0;
	int cols = 0;
	size_t i = 0;
	for (; i < n && cols < width; i++) {
		cols += ((unsigned char)line[i] & 0xc0) != 0x80;
		if (line[i] == ' ')
			last = i;
	}
	while (i < n && ((unsigned char)line[i] & 0xc0) == 0x80)
		i++;
	if (i >= n || line[i] == ' ')
		return i;
	if (last > i / 2)
		return last;
	return i;
}

static void paper_wrap(struct paper *paper, const char *line, size_t n, int width)
{
	int hang = paper_indent(line, n);
	int indent = 0;
	if (hang > width / 2)
		hang = 2;
	do {
		size_t fit = paper_fit(line, n, width - indent);
		paper_add(paper, line, fit, indent);
		line += fit;
		n -= fit;
		while (n > 0 && *line == ' ') {
			line++;
			n--;
		}
		indent = hang;
	} while (n > 0);
}

/* A line of a tree is cut rather than continued: its place says what it belongs to. */
static bool paper_is_branch(const char *line, size_t n)
{
	size_t i = 0;
	while (i < n && (line[i] == ' ' || line[i] == '|'))
		i++;
	return i > 0 && i + 1 < n && line[i] == '+' && line[i + 1] == '-';
}

static void paper_read(struct paper *paper, const char *text, int width)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		if (paper_is_branch(text, n))
			paper_add(paper, text, n, 0);
		else
			paper_wrap(paper, text, n, width);
		text += n;
		if (*text == '\n')
			text++;
	}
}

static bool paper_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

/* Words that say how bad something is, where they stand alone. */
static void paper_colour(struct canvas *canvas, int row, int col, const char *line)
{
	static const struct {
		const char *word;
		enum canvas_style style;
	} words[] = {
		{"critical", STYLE_CRITICAL},
		{"CRITICAL", STYLE_CRITICAL},
		{"warning", STYLE_WARNING},
		{"WARNING", STYLE_WARNING},
		{"down", STYLE_CRITICAL},
		{"DO NOW", STYLE_BOLD},
		{"NOT PROVED", STYLE_BOLD},
		{"ROOT", STYLE_BOLD},
		{"TO DO", STYLE_BOLD},
	};
	for (size_t w = 0; w < rw_countof(words); w++) {
		size_t n = strlen(words[w].word);
		for (const char *at = strstr(line, words[w].word); at;
			at = strstr(at + n, words[w].word)) {
			bool alone =
				(at == line || !paper_is_letter(at[-1])) && !paper_is_letter(at[n]);
			char before[1024];
			if (!alone || (size_t)(at - line) >= sizeof(before))
				continue;
			snprintf(before, sizeof(before), "%.*s", (int)(at - line), line);
			canvas_paint(
				canvas, row, col + canvas_width(before), (int)n, words[w].style);
		}
	}
}

static void paper_put_line(
	struct canvas *canvas, int row, int margin, const struct paper_line *line, bool title)
{
	rw_cleanup(str_done) struct str text = {0};
	str_addn(&text, line->text, line->n);
	int col = margin + line->indent;
	canvas_put(canvas, row, col, canvas->cols - col, title ? STYLE_BOLD : STYLE_PLAIN,
		str_or(text.s, ""));
	paper_colour(canvas, row, col, str_or(text.s, ""));
}

/* A text that was laid out for this many columns keeps its lines: it gives up its margin. */
static int paper_margin(const char *text, int cols)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		rw_cleanup(str_done) struct str line = {0};
		str_addn(&line, text, n);
		int width = canvas_width(str_or(line.s, ""));
		if (width > cols - 2 && width <= cols)
			return 0;
		text += n + (text[n] == '\n');
	}
	return 1;
}

void screen_paper_put(
	struct screen *screen, struct canvas *canvas, int row, int rows, const char *text)
{
	struct screen_place *place = screen_place_of(screen);
	struct paper paper = {0};
	int margin = paper_margin(text, canvas->cols);
	paper_read(&paper, text, canvas->cols - 2 * margin);
	int visible = rows;
	if ((int)paper.n > rows)
		visible = rows - 1;
	if (place->top > (int)paper.n - visible)
		place->top = (int)paper.n - visible;
	if (place->top < 0)
		place->top = 0;
	screen->n_rows = (int)paper.n;
	screen->n_visible = visible;
	for (int i = 0; i < visible && place->top + i < (int)paper.n; i++)
		paper_put_line(
			canvas, row + i, margin, &paper.v[place->top + i], place->top + i == 0);
	int below = (int)paper.n - place->top - visible;
	if (below > 0)
		canvas_putf(canvas, row + visible, 1, canvas->cols - 2, STYLE_DIM,
			"%d more lines: PgDn", below);
	else if ((int)paper.n > rows)
		canvas_put(canvas, row + visible, 1, canvas->cols - 2, STYLE_DIM, "end: PgUp");
	free(paper.v);
}

void screen_paper_put_at(struct canvas *canvas, int row, int rows, const char *text)
{
	struct paper paper = {0};
	paper_read(&paper, text, canvas->cols - 2);
	for (int i = 0; i < rows && i < (int)paper.n; i++) {
		struct paper_line line = paper.v[i];
		if (i == rows - 1) /* with all that follows, so that it is cut with an ellipsis */
			line.n = strcspn(line.text, "\n");
		paper_put_line(canvas, row + i, 1, &line, false);
	}
	free(paper.v);
}

/* screen_rows - cells and orders of the rows that documents give. */
#include "agent/surface/screen_rows.h"

#include <math.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/document/json_value.h"
#include "agent/surface/screen_text.h"

/* ---- incidents ----------------------------------------------------------- */

void screen_add_headline(struct str *out, const json_t *incident)
{
	const char *headline = doc_word(incident, "headline");
	if (!*headline)
		headline = doc_word(incident, "summary");
	if (!*headline)
		headline = doc_word(incident, "cause");
	str_add(out, headline);
}

static enum canvas_style cell_severity(const json_t *row, struct str *out)
{
	str_add(out, doc_word(row, "severity"));
	return screen_style(doc_word(row, "severity"));
}

static enum canvas_style cell_incident_age(const json_t *row, struct str *out)
{
	screen_add_age(out, doc_number(row, "age_s"));
	return STYLE_PLAIN;
}

static enum canvas_style cell_incident_money(const json_t *row, struct str *out)
{
	double usd = doc_number(row, "usd_per_hour");
	screen_add_money(out, usd);
	if (!isnan(usd))
		str_add(out, "/h");
	return STYLE_PLAIN;
}

static enum canvas_style cell_incident_total(const json_t *row, struct str *out)
{
	screen_add_money(out, doc_number(row, "usd_total"));
	return STYLE_PLAIN;
}

static enum canvas_style cell_incident_id(const json_t *row, struct str *out)
{
	str_add(out, doc_word(row, "id"));
	return STYLE_DIM;
}

static enum canvas_style cell_incident_cause(const json_t *row, struct str *out)
{
	str_add(out, doc_word(row, "cause"));
	return STYLE_PLAIN;
}

static enum canvas_style cell_incident_text(const json_t *row, struct str *out)
{
	screen_add_headline(out, row);
	return STYLE_PLAIN;
}

/* Who has it: silenced, assigned or acknowledged. */
static enum canvas_style cell_incident_owner(const json_t *row, struct str *out)
{
	static const struct {
		const char *key, *word;
	} owners[] = {{"silenced", "silenced"}, {"assigned_to", NULL}, {"acked_by", NULL}};
	for (size_t i = 0; i < rw_countof(owners); i++) {
		const char *text = doc_word(row, owners[i].key);
		if (!*text)
			continue;
		str_add(out, str_or(owners[i].word, text));
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
	{"ID", 8, 120, false, cell_incident_id},
};
const size_t screen_incident_n_columns = rw_countof(screen_incident_columns);

static int screen_severity_rank(const json_t *row)
{
	static const char *const words[] = {"info", "unknown", "warning", "critical"};
	for (size_t i = 0; i < rw_countof(words); i++)
		if (str_eq(words[i], doc_word(row, "severity")))
			return (int)i;
	return -1;
}

/* Larger first; unknown last. */
static int screen_number_order(const json_t *left, const json_t *right, const char *key)
{
	double x = doc_number(left, key), y = doc_number(right, key);
	x = isnan(x) ? -INFINITY : x;
	y = isnan(y) ? -INFINITY : y;
	return (y > x) - (y < x);
}

static int screen_word_order(const json_t *left, const json_t *right, const char *key)
{
	return strverscmp(doc_word(left, key), doc_word(right, key)); /* Ethernet9, Ethernet10 */
}

static int incident_by_money(const void *left, const void *right)
{
	const json_t *x = *(const json_t *const *)left, *y = *(const json_t *const *)right;
	int r = screen_number_order(x, y, "usd_per_hour");
	if (r == 0)
		r = screen_severity_rank(y) - screen_severity_rank(x);
	if (r == 0)
		r = screen_word_order(x, y, "opened");
	return r ? r : screen_word_order(x, y, "id");
}

static int incident_by_severity(const void *left, const void *right)
{
	const json_t *x = *(const json_t *const *)left, *y = *(const json_t *const *)right;
	int r = screen_severity_rank(y) - screen_severity_rank(x);
	return r ? r : incident_by_money(left, right);
}

static int incident_by_age(const void *left, const void *right)
{
	const json_t *x = *(const json_t *const *)left, *y = *(const json_t *const *)right;
	int r = screen_word_order(y, x, "opened"); /* the newest first */
	return r ? r : incident_by_money(left, right);
}

static int incident_by_device(const void *left, const void *right)
{
	const json_t *x = *(const json_t *const *)left, *y = *(const json_t *const *)right;
	int r = screen_word_order(x, y, "device");
	return r ? r : incident_by_money(left, right);
}

const char *const screen_incident_orders[] = {"money", "severity", "newest", "device", NULL};
screen_compare *const screen_incident_compares[] = {
	incident_by_money, incident_by_severity, incident_by_age, incident_by_device};

/* ---- the top of the paused ports, on the wall ---------------------------- */

static enum canvas_style cell_paused_share(const json_t *row, struct str *out)
{
	screen_add_value(out, doc_number(row, "pause_ratio"), "ratio", doc_word(row, "quality"));
	return STYLE_BOLD;
}

static enum canvas_style cell_paused_port(const json_t *row, struct str *out)
{
	screen_add_port(out, row);
	return STYLE_PLAIN;
}

static enum canvas_style cell_paused_role(const json_t *row, struct str *out)
{
	const char *role = doc_word(row, "role");
	str_add(out, *role ? role : "-");
	return screen_style(role);
}

static enum canvas_style cell_paused_text(const json_t *row, struct str *out)
{
	str_add(out, doc_word(row, "sentence"));
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

static enum canvas_style cell_port_name(const json_t *row, struct str *out)
{
	screen_add_port(out, row);
	return STYLE_PLAIN;
}

static enum canvas_style cell_port_peer(const json_t *row, struct str *out)
{
	const char *peer = doc_word(row, "peer");
	str_add(out, *peer ? peer : "-");
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

static enum canvas_style cell_port_rx(const json_t *row, struct str *out)
{
	return cell_port_pause(row, out, "rx_lo_ratio", "rx_hi_ratio");
}

static enum canvas_style cell_port_tx(const json_t *row, struct str *out)
{
	return cell_port_pause(row, out, "tx_lo_ratio", "tx_hi_ratio");
}

static enum canvas_style cell_port_measured(const json_t *row, struct str *out)
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

static enum canvas_style cell_port_rx_frames(const json_t *row, struct str *out)
{
	cell_port_add_frames(out, row, "rx_frames");
	return STYLE_DIM;
}

static enum canvas_style cell_port_tx_frames(const json_t *row, struct str *out)
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

/* The longer of both ways; -1 when neither is known (fmax takes the number of a number and a NAN).
 */
static double port_worst(const json_t *row)
{
	double known = fmax(doc_number(row, "rx_hi_ratio"), doc_number(row, "tx_hi_ratio"));
	return fmax(known, -1);
}

static int port_by_name(const void *left, const void *right)
{
	const json_t *x = *(const json_t *const *)left, *y = *(const json_t *const *)right;
	int r = screen_word_order(x, y, "device");
	return r ? r : screen_word_order(x, y, "port");
}

static int port_by_rx(const void *left, const void *right)
{
	const json_t *x = *(const json_t *const *)left, *y = *(const json_t *const *)right;
	int r = screen_number_order(x, y, "rx_hi_ratio");
	return r ? r : port_by_name(left, right);
}

static int port_by_tx(const void *left, const void *right)
{
	const json_t *x = *(const json_t *const *)left, *y = *(const json_t *const *)right;
	int r = screen_number_order(x, y, "tx_hi_ratio");
	return r ? r : port_by_name(left, right);
}

static int port_by_worst(const void *left, const void *right)
{
	double x = port_worst(*(const json_t *const *)left);
	double y = port_worst(*(const json_t *const *)right);
	int r = (y > x) - (y < x);
	return r ? r : port_by_name(left, right);
}

const char *const screen_port_orders[] = {"pause", "it paused us", "we paused it", "device", NULL};
screen_compare *const screen_port_compares[] = {
	port_by_worst, port_by_rx, port_by_tx, port_by_name};

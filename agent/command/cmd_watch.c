/*
 * cmd_watch - one screen for the operations room: what is wrong, where, since when. A frame is a
 * document like any other; the screen is that document printed again every two seconds. Only what
 * is measured is shown: a signal nobody collects says so.
 */
#include "agent/command/command.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/document/quantity.h"
#include "agent/reports/status.h"
#include "analyzers/analyzer.h"
#include "analyzers/measure/ecmp_measure.h"
#include "config/config.h"
#include "db/model/metric.h"
#include "db/series/history.h"

enum { REFRESH_MS = 2000, TOP_UPLINKS = 8, BAR_WIDTH = 20 };

/* Counters summed over the fabric; scope of a priority counts lossless priorities only where the
 * loss is what matters. */
static const struct signal {
	const char *name, *unit, *meaning;
	uint16_t metrics[4];
	size_t n_metrics;
	bool lossless_only;
	bool bad; /* anything above zero is worth a look */
} signals[] = {
	{"pause frames sent", "frames/s", "we paused the neighbour",
		{M_PFC_TX_FRAMES, M_PORT_OUT_PAUSE_FRAMES}, 2, false, false},
	{"pause frames received", "frames/s", "the neighbour paused us",
		{M_PFC_RX_FRAMES, M_PORT_IN_PAUSE_FRAMES}, 2, false, false},
	{"ECN-marked packets", "packets/s", "queues that marked CE", {M_QUEUE_ECN_MARKED}, 1, false,
		false},
	{"lossless drops", "frames/s", "must be zero", {M_PG_DROPS, M_QUEUE_DROPS}, 2, true, true},
	{"discards", "frames/s", "good frames dropped, any class",
		{M_PORT_IN_DISCARDS, M_PORT_OUT_DISCARDS}, 2, false, true},
	{"frames with errors", "frames/s", "bad frames received or not sent",
		{M_PORT_IN_ERRORS, M_PORT_OUT_ERRORS, M_PORT_FCS_ERRORS}, 3, false, true},
};

struct frame {
	struct client *x;
	struct arena *arena;
	struct window w;
	struct ecmp_params ecmp;
};

static bool cmd_watch_counts(
	const struct frame *frame, const struct signal *signal, const struct series *run)
{
	const struct entity *e = entity_get(frame->w.entities, run->entity);
	bool mine = false;

	for (size_t i = 0; i < signal->n_metrics; i++)
		mine |= signal->metrics[i] == run->metric;
	if (!mine || !e || !signal->lossless_only)
		return mine && e;
	return e->priority >= 0 && (frame->x->config->fabric->lossless_mask >> e->priority & 1);
}

static json_t *signal_json(const struct frame *frame, const struct signal *signal)
{
	double sum = 0, worst = 0;
	const struct entity *where = NULL;
	size_t n = 0;
	char text[256] = "";

	for (size_t i = 0; i < frame->w.n_series; i++) {
		const struct series *run = &frame->w.series[i];
		double rate;
		if (!cmd_watch_counts(frame, signal, run) ||
			series_rate(run, frame->w.from_ns, frame->w.to_ns, 0, &rate, NULL) < 0)
			continue;
		n++;
		sum += rate;
		if (rate > worst) {
			worst = rate;
			where = entity_get(frame->w.entities, run->entity);
		}
	}
	if (n == 0)
		snprintf(text, sizeof(text), "not collected");
	else if (where && where->priority >= 0)
		snprintf(text, sizeof(text), "%s %s p%d (%s)", where->device, where->port,
			where->priority, signal->meaning);
	else if (where)
		snprintf(text, sizeof(text), "%s %s (%s)", where->device, where->port,
			signal->meaning);
	json_t *j = json_object();
	json_object_set_new(j, "signal", json_string(signal->name));
	json_object_set_new(j, "value", n ? json_number_or_null(sum) : json_null());
	json_object_set_new(j, "unit", json_string(signal->unit));
	json_object_set_new(j, "state",
		json_string(n == 0                       ? "unknown"
				: sum > 0 && signal->bad ? "warning"
							 : "ok"));
	json_object_set_new(j, "where", json_string_or_null(text[0] ? text : NULL));
	return j;
}

static json_t *imbalance_json(const struct ecmp_measure *measure, size_t n)
{
	const struct ecmp_measure *worst = NULL;
	size_t judged = 0, unknown = 0;
	char text[512];

	for (size_t i = 0; i < n; i++) {
		unknown += measure[i].verdict == ECMP_UNKNOWN;
		if (measure[i].verdict == ECMP_IDLE || measure[i].verdict == ECMP_UNKNOWN ||
			isnan(measure[i].imbalance_ratio))
			continue;
		judged++;
		if (!worst || measure[i].imbalance_ratio > worst->imbalance_ratio)
			worst = &measure[i];
	}
	json_t *j = json_object();
	json_object_set_new(j, "signal", json_string("ECMP max/mean-1, worst"));
	json_object_set_new(j, "value", json_number_or_null(worst ? worst->imbalance_ratio : NAN));
	json_object_set_new(j, "unit", json_string("ratio"));
	json_object_set_new(j, "state",
		json_string(worst         ? worst->verdict > ECMP_WITHIN_CHANCE ? "warning" : "ok"
				: unknown ? "unknown"
					  : "idle"));
	if (worst && worst->hot < worst->n_members) {
		const struct ecmp_member *hot = &worst->members[worst->hot];
		int at = snprintf(text, sizeof(text), "%s %s, most on %s%s%s: %s", worst->device,
			worst->group, hot->port, str_if(*hot->peer, " to "), hot->peer,
			ecmp_verdict_name(worst->verdict));
		if (at > 0 && (size_t)at < sizeof(text) && isfinite(worst->expected_p95_ratio))
			snprintf(text + at, sizeof(text) - (size_t)at, " (chance p95 %.0f %%)",
				worst->expected_p95_ratio * 100);
		else if (at > 0 && (size_t)at < sizeof(text))
			snprintf(text + at, sizeof(text) - (size_t)at, " (chance unknown: %s)",
				str_or(worst->flows_note, "no packets"));
	} else {
		snprintf(text, sizeof(text), "%zu of %zu groups busy%s", judged, n,
			str_if(unknown, ", data missing"));
	}
	json_object_set_new(j, "where", json_string_or_null(text));
	return j;
}

struct uplink {
	const struct ecmp_measure *group;
	const struct ecmp_member *member;
};

static int cmd_watch_hotter(const void *left, const void *right)
{
	const struct uplink *x = left, *y = right;
	double u = x->member->utilization_ratio, v = y->member->utilization_ratio;
	return (v > u) - (v < u);
}

/* Parallel links are members of two groups: "uplinks" and "to:" their neighbour. */
static bool is_listed(const json_t *list, const struct uplink *uplink)
{
	const json_t *o;
	size_t k;
	json_array_foreach (list, k, o)
		if (str_eq(json_string_value(json_object_get(o, "device")),
			    uplink->group->device) &&
			str_eq(json_string_value(json_object_get(o, "port")), uplink->member->port))
			return true;
	return false;
}

static json_t *uplinks_json(struct frame *frame, const struct ecmp_measure *measure, size_t n)
{
	json_t *list = json_array();
	size_t total = 0, k = 0;

	for (size_t i = 0; i < n; i++)
		total += measure[i].n_members;
	struct uplink *v = arena_array(frame->arena, struct uplink, total + 1);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < measure[i].n_members; j++)
			if (isfinite(measure[i].members[j].utilization_ratio))
				v[k++] = (struct uplink){&measure[i], &measure[i].members[j]};
	qsort(v, k, sizeof(*v), cmd_watch_hotter);
	for (size_t i = 0; i < k && json_array_size(list) < TOP_UPLINKS; i++) {
		if (is_listed(list, &v[i]))
			continue;
		json_t *j = json_object();
		json_object_set_new(j, "device", json_string_or_null(v[i].group->device));
		json_object_set_new(j, "port", json_string_or_null(v[i].member->port));
		json_object_set_new(j, "peer", json_string_or_null(v[i].member->peer));
		json_object_set_new(j, "utilization_ratio",
			json_number_or_null(v[i].member->utilization_ratio));
		json_array_append_new(list, j);
	}
	return list;
}

/* A ratio of the analyzer's options; @fallback when it has no such row. */
static double ratio_option(
	const struct analyzer *analyzer, const void *options, const char *name, double fallback)
{
	const struct option *o = NULL;
	if (analyzer && options)
		o = option_find(&analyzer->options, name);
	if (!o || o->type != OPT_RATIO)
		return fallback;
	double v;
	memcpy(&v, (const char *)options + o->offset, sizeof(v));
	return v;
}

/* The newest window that is closed: aligned like the analyzers', one interval after its end. */
static int read_window(struct frame *frame, struct err *e)
{
	const struct analyzer *a = analyzer_by_name("ecmp_imbalance");
	const struct config *c = frame->x->config;
	const char *options = NULL;
	if (a)
		options = config_options(c, a->options.section, a->options.name);
	uint16_t metrics[64];
	size_t n = 0;
	int64_t window_ns = 60 * NS_PER_S;

	if (options)
		window_ns = analyzer_window(a, options, c->defaults.interval_ns);
	frame->ecmp = (struct ecmp_params){
		.warn = ratio_option(a, options, "warn", 0.2),
		.load_floor = ratio_option(a, options, "load_floor", 0.05),
		.min_coverage = ratio_option(a, options, "min_coverage", 0.5),
		.interval_ns = c->defaults.interval_ns,
	};
	int64_t closed_ns =
		frame->x->now_ns - (frame->x->agent_alive ? frame->ecmp.interval_ns : 0);
	frame->w.to_ns = closed_ns - (closed_ns % window_ns + window_ns) % window_ns;
	frame->w.from_ns = frame->w.to_ns - window_ns;
	for (size_t i = 0; i < ecmp_n_metrics && n < rw_countof(metrics); i++)
		metrics[n++] = ecmp_metrics[i];
	for (size_t i = 0; i < rw_countof(signals); i++)
		for (size_t j = 0; j < signals[i].n_metrics && n < rw_countof(metrics); j++) {
			size_t k = 0;
			while (k < n && metrics[k] != signals[i].metrics[j])
				k++;
			if (k == n)
				metrics[n++] = signals[i].metrics[j];
		}
	const struct window_spec spec = {.metrics = metrics, .n_metrics = n, .flows = true};
	return history_window(frame->x->history, frame->arena, &spec, frame->w.from_ns,
		frame->w.to_ns, &frame->w, e);
}

static long long number_of(const json_t *object, const char *key)
{
	return (long long)json_integer_value(json_object_get(object, key));
}

/* The one word at the top: the worst of what is open, and never better than what is known. */
static const char *cmd_watch_overall(const json_t *doc)
{
	const json_t *q = json_object_get(doc, "data_quality");
	json_t *list = json_object_get(doc, "incidents"), *i;
	size_t k, warnings = 0;

	json_array_foreach (list, k, i) {
		if (str_eq(json_string_value(json_object_get(i, "severity")), "critical"))
			return "critical";
		warnings++;
	}
	if (warnings > 0 || number_of(q, "down") + number_of(q, "captures_down") > 0)
		return "warning";
	if (number_of(q, "unknown") + number_of(q, "captures_unknown") > 0)
		return "unknown";
	return "ok";
}

static json_t *frame_document(struct client *client, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *arena = arena_new();
	struct frame f = {.x = client, .arena = arena};
	struct ecmp_measure *m = NULL;
	json_t *doc = status_document(client, e);

	if (!doc)
		return NULL;
	if (read_window(&f, e) < 0) {
		json_decref(doc);
		return NULL;
	}
	size_t n = ecmp_measure_all(client->config->fabric, &f.w, &f.ecmp, arena, &m);
	json_t *list = json_array();
	json_array_append_new(list, imbalance_json(m, n));
	for (size_t i = 0; i < rw_countof(signals); i++)
		json_array_append_new(list, signal_json(&f, &signals[i]));
	json_object_set_new(doc, "state", json_string(cmd_watch_overall(doc)));
	json_object_set_new(doc, "window",
		json_pack("{s:o,s:o}", "from", json_time(f.w.from_ns), "to", json_time(f.w.to_ns)));
	json_object_set_new(doc, "signals", list);
	json_object_set_new(doc, "uplinks", uplinks_json(&f, m, n));
	return doc;
}

/* ---- the screen ---------------------------------------------------------- */

static const char *cmd_watch_text_of(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));
	if (s && *s)
		return s;
	return "-";
}

/* The part of an RFC 3339 text behind the 'T'. */
static const char *cmd_watch_time_of(const json_t *object, const char *key)
{
	const char *s = cmd_watch_text_of(object, key);
	if (strlen(s) > 11)
		return s + 11;
	return "-";
}

static void put_state(FILE *out, const char *state, bool color)
{
	static const struct {
		const char *state, *code;
	} codes[] = {{"critical", "\033[1;31m"}, {"warning", "\033[1;33m"}, {"unknown", "\033[35m"},
		{"down", "\033[1;31m"}};
	for (size_t i = 0; color && i < rw_countof(codes); i++)
		if (str_eq(state, codes[i].state)) {
			fprintf(out, "%s%-9s\033[0m", codes[i].code, state);
			return;
		}
	fprintf(out, "%-9s", state);
}

static void cmd_watch_put_clean(FILE *out, const char *text)
{
	for (; *text; text++)
		fputc((unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text, out);
}

static void print_screen(
	FILE *out, const json_t *doc, const struct view *layout, bool color, bool header)
{
	const json_t *q = json_object_get(doc, "data_quality");
	json_t *devices = json_object_get(doc, "devices"), *row;
	size_t i, shown = 0;
	char age[32];

	if (header) {
		fprintf(out, "rocewatch  ");
		cmd_watch_put_clean(out, cmd_watch_text_of(doc, "fabric"));
		fprintf(out, "   %.10s %.8sZ   %s   ", cmd_watch_text_of(doc, "time"),
			cmd_watch_time_of(doc, "time"),
			json_is_true(json_object_get(q, "agent_running"))
				? "agent running"
				: "no agent running: as of the newest sample");
		put_state(out, cmd_watch_text_of(doc, "state"), color);
		fputc('\n', out);
	}
	const json_t *oldest = json_object_get(q, "oldest_device_age_s");
	fprintf(out, "devices %lld/%lld up", number_of(q, "up"),
		number_of(q, "up") + number_of(q, "down") + number_of(q, "unknown"));
	long long captures = number_of(q, "captures_up") + number_of(q, "captures_down") +
		number_of(q, "captures_unknown");
	if (captures > 0)
		fprintf(out, "   captures %lld/%lld up", number_of(q, "captures_up"), captures);
	fprintf(out, "   oldest data %s",
		json_is_number(oldest) ? duration_format(age, sizeof(age),
						 (int64_t)(json_number_value(oldest) * 1e9))
				       : "-");
	fprintf(out, "   open incidents %lld\n",
		(long long)json_integer_value(json_object_get(doc, "open_incidents")));
	json_array_foreach (devices, i, row) {
		if (str_eq(cmd_watch_text_of(row, "status"), "up"))
			continue;
		fprintf(out, "  ");
		put_state(out, cmd_watch_text_of(row, "status"), color);
		cmd_watch_put_clean(out, cmd_watch_text_of(row, "name"));
		fprintf(out, " %s: ", cmd_watch_text_of(row, "protocol"));
		cmd_watch_put_clean(out, cmd_watch_text_of(row, "reason"));
		fputc('\n', out);
	}

	const json_t *w = json_object_get(doc, "window");
	fprintf(out, "\n%-24s %-18s %-9s%s   (window %.8s - %.8sZ)\n", "GOLDEN SIGNAL", "NOW",
		"STATE", "WHERE", cmd_watch_time_of(w, "from"), cmd_watch_time_of(w, "to"));
	json_array_foreach (json_object_get(doc, "signals"), i, row) {
		const json_t *value = json_object_get(row, "value");
		rw_cleanup(str_done) struct str now = {0};
		if (json_is_number(value) && str_eq(cmd_watch_text_of(row, "unit"), "ratio"))
			str_addf(&now, "%.0f %%", json_number_value(value) * 100);
		else if (json_is_number(value))
			str_add_quantity(
				&now, json_number_value(value), cmd_watch_text_of(row, "unit"));
		else
			str_add(&now, "-");
		fprintf(out, "%-24s %-18s ", cmd_watch_text_of(row, "signal"), now.s);
		put_state(out, cmd_watch_text_of(row, "state"), color);
		cmd_watch_put_clean(out, cmd_watch_text_of(row, "where"));
		fputc('\n', out);
	}

	fprintf(out, "\nTOP LOADED UPLINKS (%% of line)\n");
	json_array_foreach (json_object_get(doc, "uplinks"), i, row) {
		double u = json_number_value(json_object_get(row, "utilization_ratio"));
		int filled = (int)lrint((u > 1 ? 1 : u) * BAR_WIDTH);
		char name[128];
		snprintf(name, sizeof(name), "%s %s > %s", cmd_watch_text_of(row, "device"),
			cmd_watch_text_of(row, "port"), cmd_watch_text_of(row, "peer"));
		fprintf(out, "  ");
		cmd_watch_put_clean(out, name);
		fprintf(out, "%*s %5.1f ", strlen(name) < 40 ? (int)(40 - strlen(name)) : 0, "",
			u * 100);
		for (int b = 0; b < BAR_WIDTH; b++)
			fputc(b < filled ? '#' : '-', out);
		fputc('\n', out);
		shown++;
	}
	if (shown == 0)
		fprintf(out, "  no rates known: no samples in this window, or no speeds\n");

	fprintf(out, "\nINCIDENTS\n");
	shown = 0;
	json_array_foreach (json_object_get(doc, "incidents"), i, row) {
		fprintf(out, "  %s ", cmd_watch_text_of(row, "id"));
		put_state(out, cmd_watch_text_of(row, "severity"), color);
		fprintf(out, "since %.10s %.8sZ  ", cmd_watch_text_of(row, "opened"),
			cmd_watch_time_of(row, "opened"));
		cmd_watch_put_clean(out, cmd_watch_text_of(row, "summary"));
		fputc('\n', out);
		shown++;
	}
	if (shown == 0)
		fprintf(out, "  none open\n");
}

static const struct column signal_columns[] = {
	{"signal"}, {"value"}, {"unit"}, {"state"}, {"where"}};
static const struct view view = {
	.title = "rocewatch",
	.rows = "signals",
	.columns = signal_columns,
	.n_columns = rw_countof(signal_columns),
	.text = print_screen,
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signum)
{
	interrupted = 1;
}

extern const struct command command_watch;

/* Exit code of one frame; the error, if any, is printed where the frame would stand. */
static int show_frame(const struct globals *globals, bool clear)
{
	struct client x;
	struct err e = {0};
	int r = client_open(&x, globals, 15 * 60 * NS_PER_S, &e);
	json_t *doc;
	if (r < 0)
		doc = NULL;
	else
		doc = frame_document(&x, &e);

	if (clear)
		fputs("\033[H\033[2J", stdout);
	if (!doc) {
		fflush(stdout);
		err_print(stderr, &e);
	} else {
		if (report_print(stdout, doc, &view, globals->format, !globals->no_header,
			    globals->color == COLOR_ALWAYS) < 0)
			interrupted = 1;
		json_decref(doc);
	}
	if (r == 0)
		client_done(&x);
	if (doc)
		return EXIT_OK;
	if (r == -EINVAL)
		return EXIT_USAGE;
	return EXIT_FAILED;
}

static int cmd_watch_run(struct command_args *args)
{
	if (args->argc > 0)
		return usage_error(
			&command_watch, "read '%.64s', expected no argument", args->argv[0]);
	if (command_opt(&command_watch, args, "once"))
		return show_frame(args->g, false);

	struct termios saved, raw;
	bool keys = tcgetattr(STDIN_FILENO, &saved) == 0;
	bool screen = isatty(STDOUT_FILENO) && args->g->format == FORMAT_TABLE;
	struct sigaction act = {.sa_handler = on_interrupt};
	struct pollfd in = {.fd = keys ? STDIN_FILENO : -1, .events = POLLIN};

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	if (keys) {
		raw = saved;
		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	int code = EXIT_OK;
	while (!interrupted) {
		code = show_frame(args->g, screen);
		if (code == EXIT_USAGE)
			break; /* waiting does not mend it */
		if (screen) {
			fputs("\n[q]uit\n", stdout);
			fflush(stdout);
		}
		char key;
		if (poll(&in, 1, REFRESH_MS) > 0 &&
			(read(STDIN_FILENO, &key, 1) <= 0 || key == 'q'))
			break;
	}
	if (keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &saved);
	return code;
}

const struct command command_watch = {
	.name = "watch",
	.args = "",
	.summary = "the screen for the operations room, refreshed every 2 s",
	.help = "Shows devices that do not answer, the golden signals of the newest closed window, "
		"the most loaded uplinks and the open incidents. "
		"A signal that no device delivers is shown as unknown, not as zero. q or Ctrl-C "
		"ends it.",
	.options =
		(const struct command_option[]){
			{"once", 0, NULL, "print one frame as text and end"}, {NULL}},
	.run = cmd_watch_run,
};

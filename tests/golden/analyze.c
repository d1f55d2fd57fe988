/*
 * analyze ANALYZER CASE - one analyzer over a recorded case, its findings as text that can be read
 * and compared.
 *
 * CASE holds fabric.yaml and samples.tsv (metrics as recorded), and optionally flows.tsv, one flow
 * of one capture interval a line: from_s  to_s  device  port  sampling  src  dst  src_port  dst_qp
 * packets  octets  burst_bps The row of totals is added here. Each window's verdict is one line;
 * what stands behind it follows when it differs from the window before. Subjects of which the same
 * is said, one after the other, share it; so do windows.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "analyzers/analyzer.h"
#include "collectors/recorded/replay.h"
#include "config/config.h"
#include "db/series/series_memory.h"

static int failed(const char *path, const struct err *e)
{
	fprintf(stderr, "%s: ", path);
	err_print(stderr, e);
	return 1;
}

/* ---- flows.tsv ----------------------------------------------------------- */

static int add_totals(struct series_memory *memory, const struct flow_sample *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool first = true;
		struct flow_sample t = v[i];
		t.total = true;
		t.key = (struct flow_key){0};
		t.packets = t.octets = t.burst_bps = t.flows = 0;
		for (size_t k = 0; k < n; k++) {
			if (v[k].entity != v[i].entity || v[k].from_ns != v[i].from_ns)
				continue;
			first = first && k >= i;
			t.packets += v[k].packets;
			t.octets += v[k].octets;
			t.flows++;
			t.sum_sq_octets += (double)v[k].octets * (double)v[k].octets;
			t.burst_bps = v[k].burst_bps > t.burst_bps ? v[k].burst_bps : t.burst_bps;
		}
		if (first)
			series_memory_add_flow(memory, &t);
		series_memory_add_flow(memory, &v[i]);
	}
	return 0;
}

static int read_flows(const char *path, struct entities *entities, struct series_memory *memory)
{
	rw_cleanup(fclosep) FILE *in = fopen(path, "r");
	if (!in)
		return errno == ENOENT ? 0 : -errno;
	char line[512];
	struct flow_sample *v = NULL;
	size_t n = 0, cap = 0;
	int r = 0;
	while (r == 0 && fgets(line, sizeof(line), in)) {
		char device[64], port[64], src[64], dst[64];
		double from, to;
		struct flow_sample f = {.dir = FLOW_DIR_OUT};
		unsigned qp;
		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (sscanf(line,
			    "%lf %lf %63s %63s %" SCNu32 " %63s %63s %" SCNu16 " %x %" SCNu64
			    " %" SCNu64 " %" SCNu64,
			    &from, &to, device, port, &f.sampling, src, dst, &f.key.src_port, &qp,
			    &f.packets, &f.octets, &f.burst_bps) != 12 ||
			inet_pton(AF_INET, src, f.key.src) != 1 ||
			inet_pton(AF_INET, dst, f.key.dst) != 1) {
			fprintf(stderr, "%s: not a flow: %s", path, line);
			r = -EINVAL;
			break;
		}
		f.key.family = 4;
		f.key.dst_qp = qp;
		f.from_ns = llround(from * 1e9);
		f.to_ns = llround(to * 1e9);
		f.entity = entities_intern(entities, device, port, PRIO_NONE);
		rw_grow(v, n, cap);
		v[n++] = f;
	}
	if (r == 0)
		r = add_totals(memory, v, n);
	free(v);
	return r;
}

/* ---- findings as text ---------------------------------------------------- */

static void print_list(struct str *out, const char *title, const char *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		str_addf(out, "    %-12s %s\n", title, v[i]);
}

static void print_details(struct str *out, const struct finding *f)
{
	if (f->verdict == FINDING_OVER) {
		str_addf(out, "    %-12s %.2f\n", "confidence", f->confidence_ratio);
		str_addf(out, "    %-12s %.3f\n", "loss", f->loss_ratio);
		str_addf(out, "    %-12s %" PRIu32 " windows\n", "hold", f->hold);
	}
	str_addf(out, "    %-12s %.3f\n", "coverage", f->coverage_ratio);
	static const char *const signs[] = {[REASON_FOR] = "rests on",
		[REASON_AGAINST] = "against",
		[REASON_OPEN] = "not proved"};
	for (size_t i = 0; i < f->n_reasons; i++)
		print_list(out, signs[f->reasons[i].sign], &f->reasons[i].text, 1);
	for (size_t i = 0; i < f->n_evidence; i++) {
		const struct evidence *e = &f->evidence[i];
		str_addf(out, "    %-12s %s%s%s = %.6g %s (%s)\n", "evidence", e->metric,
			e->port ? " " : "", e->port ? e->port : "", e->value, e->unit,
			quality_name(e->quality));
	}
	for (size_t i = 0; i < f->n_flows; i++) {
		const struct finding_flow *w = &f->flows[i];
		str_addf(out,
			"    %-12s %s > %s sport %u QP 0x%06x at %s: %" PRIu64 " packets, %" PRIu64
			" octets, %" PRIu64 " bit/s in bursts\n",
			"flow", w->src, w->dst, w->src_port, w->dst_qp, w->port, w->packets,
			w->octets, w->burst_bps);
	}
	for (size_t i = 0; i < f->n_roles; i++)
		str_addf(out, "    %-12s %s: %s\n", "role", f->roles[i].entity, f->roles[i].role);
	print_list(out, "ruled out", f->ruled_out, f->n_ruled_out);
	for (size_t i = 0; i < f->n_next_steps; i++)
		str_addf(out, "    %-12s %s [%s]\n", "next", f->next_steps[i].text,
			f->next_steps[i].risk);
}

/* Details are told when the story changes. */
struct story {
	char subject[256];
	enum finding_verdict verdict;
	enum severity severity;
	enum cause cause;
	char member[64];
};

/* What is said of subjects one after the other: told once, behind all of them. */
struct telling {
	struct str subjects, said;
	char device[64]; /* of the last subject: named once for all its ports */
};

static void telling_end(struct str *out, struct telling *t)
{
	if (t->subjects.n > 0)
		str_addf(out, "  %s: %s", t->subjects.s, t->said.s);
	str_done(&t->subjects);
	str_done(&t->said);
	*t = (struct telling){0};
}

static void telling_add(
	struct str *out, struct telling *t, const char *device, const char *port, struct str *said)
{
	if (t->subjects.n > 0 && !str_eq(t->said.s, said->s))
		telling_end(out, t);
	const char *comma = t->subjects.n > 0 ? ", " : "";
	if (str_eq(t->device, device))
		str_addf(&t->subjects, "%s%s", comma, port);
	else
		str_addf(&t->subjects, "%s%s %s", comma, device, port);
	snprintf(t->device, sizeof(t->device), "%s", device);
	str_done(&t->said);
	t->said = *said;
	*said = (struct str){0};
}

static void say_finding(struct str *out, const struct finding *f, const char *subject,
	struct story *stories, size_t max)
{
	str_addf(out, "%s %s %s\n", finding_verdict_name(f->verdict),
		f->verdict == FINDING_OVER ? severity_name(f->severity) : "-",
		f->verdict == FINDING_OVER ? cause_name(f->cause) : "-");
	if (f->summary && f->summary[0])
		str_addf(out, "    %-12s %s\n", "says", f->summary);
	struct story *s = NULL;
	for (size_t i = 0; i < max && !s; i++)
		if (!stories[i].subject[0] || str_eq(stories[i].subject, subject))
			s = &stories[i];
	const char *member = f->member ? f->member : "";
	if (s && s->subject[0] && s->verdict == f->verdict && s->severity == f->severity &&
		s->cause == f->cause && str_eq(s->member, member))
		return;
	if (s) {
		snprintf(s->subject, sizeof(s->subject), "%s", subject);
		s->cause = f->cause;
		snprintf(s->member, sizeof(s->member), "%s", member);
		s->verdict = f->verdict;
		s->severity = f->severity;
	}
	print_details(out, f);
}

static void print_findings(
	struct str *out, const struct finding_list *found, struct story *stories, size_t max)
{
	struct telling telling = {0};
	for (size_t i = 0; i < found->n; i++) {
		const struct finding *f = &found->v[i];
		const char *device = f->device ? f->device : "-", *port = f->port ? f->port : "-";
		rw_cleanup(str_done) struct str said = {0};
		char subject[256];
		if (f->group)
			port = f->group;
		snprintf(subject, sizeof(subject), "%s %s", device, port);
		say_finding(&said, f, subject, stories, max);
		telling_add(out, &telling, device, port, &said);
	}
	telling_end(out, &telling);
}

/* Windows that say the same, one after the other: they are one line. */
struct same {
	struct str text; /* of the last window that was printed */
	int64_t begin_ns, window_ns; /* of the first that says the same */
	int n;
};

static void print_window(int64_t begin_ns, int64_t length_ns, const char *text)
{
	printf("window %.3f - %.3f s%s\n", (double)begin_ns / 1e9,
		(double)(begin_ns + length_ns) / 1e9, text);
}

static void same_end(struct same *same)
{
	if (same->n > 0) {
		char many[64];
		snprintf(many, sizeof(many), ": the same in %d windows", same->n);
		print_window(same->begin_ns, same->n * same->window_ns, many);
	}
	same->n = 0;
}

static void same_add(struct same *same, int64_t begin_ns, int64_t window_ns, struct str *text)
{
	if (same->window_ns && str_eq(str_or(same->text.s, ""), str_or(text->s, ""))) {
		if (same->n++ == 0)
			same->begin_ns = begin_ns;
		return;
	}
	same_end(same);
	same->window_ns = window_ns;
	print_window(begin_ns, window_ns, "");
	fputs(str_or(text->s, ""), stdout);
	str_done(&same->text);
	same->text = *text;
	*text = (struct str){0};
}

int main(int argc, char **argv)
{
	const struct analyzer *an = argc == 3 ? analyzer_by_name(argv[1]) : NULL;
	if (!an) {
		fprintf(stderr, "usage: analyze ANALYZER CASE\n");
		return 2;
	}
	struct err e = {0};
	rw_cleanup(err_list_done) struct err_list errors = {0};
	rw_cleanup(str_done) struct str fabric = {0}, samples_path = {0}, flows_path = {0};
	str_addf(&fabric, "%s/fabric.yaml", argv[2]);
	str_addf(&samples_path, "%s/samples.tsv", argv[2]);
	str_addf(&flows_path, "%s/flows.tsv", argv[2]);
	const struct option_table *tables[] = {&an->options};
	struct config *config;
	if (config_load(fabric.s, CONFIG_CASE, tables, 1, &config, &errors) < 0)
		return failed(fabric.s, &errors.v[0]);
	struct entities *entities = entities_new();
	struct series_memory *memory = series_memory_new(entities, INT64_MAX / 4);
	struct sample_list samples = {0};
	struct same same = {0};
	/* before the first goto, which would skip its birth but not its end */
	rw_cleanup(arena_freep) struct arena *turn = arena_new();
	int code = 1;
	if (replay_read(samples_path.s, entities, &samples, &e) < 0) {
		failed(samples_path.s, &e);
		goto out;
	}
	for (size_t i = 0; i < samples.n; i++)
		series_memory_add(memory, &samples.v[i]);
	if (!samples.n || read_flows(flows_path.s, entities, memory) < 0)
		goto out;

	const void *options = config_options(config, an->options.section, an->options.name);
	int64_t last_ns = samples.v[samples.n - 1].t_ns,
		interval_ns = replay_interval(samples.v, samples.n);
	const int64_t window_ns = analyzer_window(an, options, interval_ns);
	uint16_t metrics[METRIC_COUNT];
	bool wanted[METRIC_COUNT] = {false};
	analyzer_wants(an, wanted);
	struct window_spec spec = analyzer_spec(wanted, metrics);
	spec.flows = an->spec.flows;
	const int64_t past_ns = analyzer_past(an, options, interval_ns);
	struct story stories[64] = {0};
	code = 0;
	for (int64_t t = samples.v[0].t_ns / window_ns * window_ns; t + window_ns <= last_ns;
		t += window_ns) {
		arena_reset(turn);
		struct window w, past;
		struct finding_list found = {0};
		if (window_from_memory(memory, turn, &spec, t, t + window_ns, &w) < 0) {
			code = 1;
			break;
		}
		struct analyzer_in in = {.fabric = config->fabric,
			.window = &w,
			.options = options,
			.interval_ns = interval_ns,
			.arena = turn};
		if (past_ns > 0) {
			if (window_from_memory(memory, turn, &an->past, t + window_ns - past_ns,
				    t + window_ns, &past) < 0) {
				code = 1;
				break;
			}
			in.past = &past;
		}
		if (an->run(&in, &found) < 0) {
			code = 1;
			break;
		}
		rw_cleanup(str_done) struct str text = {0};
		print_findings(&text, &found, stories, rw_countof(stories));
		same_add(&same, t, window_ns, &text);
	}
	same_end(&same);
out:
	str_done(&same.text);
	free(samples.v);
	series_memory_free(memory);
	entities_free(entities);
	config_free(config);
	return code;
}

/*
 * truth - what is really wrong, for whoever judges an answer: cause and other causes that are
 * right, where, from when to when, how bad. One entry per fault; the same keys at the top are those
 * of the scenario as a whole.
 */
#include "tests/fabric/recorder.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "tests/fabric/thresholds.h"

/* What a kind of fault is called when it is one of several. @priority: of which class it is, when
 * it is not of the whole port. */
static const struct {
	const char *cause, *accept, *subject;
	enum { ANY_CLASS, FIRST_CLASS, SECOND_CLASS } priority;
} kinds[FAULT_KINDS] = {
	[FAULT_HASH_STUCK] = {"ecmp_imbalance", NULL, "uplinks", ANY_CLASS},
	[FAULT_HASH_FIELDS] = {"ecmp_imbalance", "ecmp_low_entropy", "uplinks", ANY_CLASS},
	[FAULT_LOW_ENTROPY] = {"ecmp_low_entropy", "ecmp_imbalance", "uplinks", ANY_CLASS},
	[FAULT_LINK_DOWN] = {"path_asymmetry", "link_flap", "uplink", ANY_CLASS},
	[FAULT_LINK_SPEED] = {"link_slow", NULL, "uplink", ANY_CLASS},
	[FAULT_LINK_LOSS] = {"link_errors", "optic_degrading", "uplink", ANY_CLASS},
	[FAULT_HOST_SPEED] = {"link_slow", "straggler", "host", ANY_CLASS},
	[FAULT_NIC_STALL] = {"slow_receiver", NULL, "host", FIRST_CLASS},
	[FAULT_NIC_HUNG] = {"pfc_storm", "slow_receiver", "host", FIRST_CLASS},
	[FAULT_CC_OFF] = {"dcqcn_off", NULL, "host", FIRST_CLASS},
	[FAULT_INCAST] = {"incast", NULL, "host", FIRST_CLASS},
	[FAULT_ECN_LATE] = {"ecn_late", "ecn_off", "none", FIRST_CLASS},
	[FAULT_ECN_OFF] = {"ecn_off", "ecn_late", "device", FIRST_CLASS},
	[FAULT_HEADROOM] = {"headroom_small", "lossless_loss", "device", FIRST_CLASS},
	[FAULT_PFC_DEAF] = {"pfc_mismatch", "lossless_loss", "uplink", FIRST_CLASS},
	[FAULT_SILENT_HOST] = {"missing_rail", NULL, "host", ANY_CLASS},
	[FAULT_LINK_FLAP] = {"link_flap", "path_asymmetry", "uplink", ANY_CLASS},
	[FAULT_DSCP_MAP] = {"dscp_mismatch", "lossless_loss", "device", FIRST_CLASS},
	[FAULT_CONFIG_CHANGE] = {"config_drift", NULL, "device", FIRST_CLASS},
	[FAULT_DRAIN] = {"none", "missing_rail", "host", ANY_CLASS},
	[FAULT_REBOOT] = {"device_down", "path_asymmetry", "device", ANY_CLASS},
	[FAULT_COUNTER_RESET] = {"none", NULL, "device", ANY_CLASS},
	[FAULT_TELEMETRY_GAP] = {"telemetry_gap", "device_down", "device", ANY_CLASS},
	[FAULT_SLOW_COMPUTE] = {"host_slow", "straggler", "none", ANY_CLASS},
	[FAULT_JOB_IDLE] = {"none", NULL, "none", ANY_CLASS},
	[FAULT_SLOW_STORAGE] = {"slow_storage", "straggler", "none", ANY_CLASS},
	[FAULT_OPTIC_DEGRADING] = {"optic_degrading", NULL, "uplink", ANY_CLASS},
	[FAULT_MTU] = {"mtu_mismatch", NULL, "uplink", ANY_CLASS},
	[FAULT_SAME_HASH] = {"ecmp_polarization", "ecmp_imbalance", "none", ANY_CLASS},
	[FAULT_LAG_SKEW] = {"ecmp_imbalance", NULL, "device", ANY_CLASS},
	[FAULT_REMOTE_CAPACITY] = {"remote_capacity", "path_asymmetry", "uplink", ANY_CLASS},
	[FAULT_MISSING_ROUTE] = {"missing_route", "ecmp_imbalance", "uplink", ANY_CLASS},
	[FAULT_BOUNCE] = {"pfc_deadlock", "path_asymmetry", "none", FIRST_CLASS},
	[FAULT_XON_CLOSE] = {"xon_close", NULL, "device", FIRST_CLASS},
	[FAULT_PFC_WRONG] = {"pfc_wrong_priority", NULL, "host", SECOND_CLASS},
	[FAULT_WRONG_CLASS] = {"dscp_mismatch", "class_leak", "host", SECOND_CLASS},
	[FAULT_INCAST_SECOND] = {"incast", NULL, "host", SECOND_CLASS},
	[FAULT_CLASS_LEAK] = {"class_leak", "storage_receiver", "none", FIRST_CLASS},
};

static bool is_none(const char *cause)
{
	return strcmp(cause, "none") == 0;
}

static void text(FILE *f, const char *key, const char *value)
{
	if (value && *value && !is_none(value))
		fprintf(f, ", \"%s\": \"%s\"", key, value);
	else
		fprintf(f, ", \"%s\": null", key);
}

/* On the time axis of the samples: seconds since 1970 in a recording; in a live lab since its
 * start, which "started" says. */
static double axis_s(const struct recorder *r, double ns)
{
	if (r->live_face)
		return ns / 1e9;
	return (r->wall_ns + ns) / 1e9;
}

static void seconds_or_null(FILE *f, const char *key, bool known, double ns)
{
	if (known)
		fprintf(f, "  \"%s\": %.13g,\n", key, ns / 1e9);
	else
		fprintf(f, "  \"%s\": null,\n", key);
}

static void accepted(const struct scenario *s, const char *cause, const char *also, FILE *f)
{
	fprintf(f, "\"accept\": [\"%s\"", cause);
	if (also)
		fprintf(f, ", \"%s\"", also);
	for (size_t i = 0; i < s->n_accept && s->n_faults < 2; i++)
		if (!also || strcmp(also, s->accept[i]) != 0)
			fprintf(f, ", \"%s\"", s->accept[i]);
	fprintf(f, "]");
}

/* A host's fault is at one leaf of every rail; every other one has its place in the first. */
static void places(const struct recorder *r, const struct fault *x, FILE *f)
{
	const struct scenario *s = r->s;
	struct sim *m = r->shape[0];
	const struct sim_port *p = fault_port(m, x);
	const struct sim_node *n = x->leaf >= 1 ? sim_leaf(m, (unsigned)x->leaf - 1)
		: x->spine >= 1                 ? sim_spine(m, (unsigned)x->spine - 1)
						: NULL;
	char name[48], port[32] = "";
	if (p)
		snprintf(port, sizeof(port), "Ethernet%u",
			(unsigned)((size_t)(p - m->ports) - n->port0) + 1);
	if (n)
		device_name(s, n, 0, name, sizeof(name));
	text(f, "device", n ? name : NULL);
	text(f, "port", port);
	if (x->host >= 1)
		host_name(s, (unsigned)((x->leaf - 1) * s->hosts_per_leaf + x->host - 1), name,
			sizeof(name));
	text(f, "host", x->host >= 1 ? name : NULL);
	if (p && x->spine >= 1) {
		const struct sim_port *peer = &m->ports[p->peer];
		device_name(s, &m->nodes[peer->node], 0, name, sizeof(name));
		fprintf(f, ", \"peer_device\": \"%s\", \"peer_port\": \"Ethernet%u\"", name,
			(unsigned)((size_t)(peer - m->ports) - m->nodes[peer->node].port0) + 1);
	}
	if (!n || s->planes < 2 || x->host < 1)
		return;
	fprintf(f, ", \"devices\": [");
	for (unsigned plane = 0; plane < r->c->planes; plane++) {
		device_name(s, n, plane, name, sizeof(name));
		fprintf(f, "%s\"%s\"", plane ? ", " : "", name);
		if (x->kind == FAULT_SILENT_HOST)
			break; /* one rail is what is missing */
	}
	fprintf(f, "]");
}

/* Impact decides: nothing moves or a fifth is lost, a hundredth is lost, less. Settings that wait
 * for their day are a warning too. */
static const char *severity(const struct scenario *s, const char *cause, double lost)
{
	if (is_none(cause))
		return NULL;
	if (*s->severity)
		return s->severity;
	return lost >= 0.2 ? "critical" : lost >= 0.01 ? "warning" : "info";
}

/* Of the last time it came, at most the end of the recording; a recording that ends before the
 * fault begins has none of it. */
static double fault_end_ns(const struct recorder *r)
{
	const struct scenario *s = r->s;
	return fmax(
		s->at_ns, fmin(s->every_ns > 0 ? INFINITY : s->at_ns + s->for_ns, r->o->length_ns));
}

static void one_fault(const struct recorder *r, const struct fault *x, double lost, FILE *f)
{
	const struct scenario *s = r->s;
	const char *cause =
		s->n_faults > 1 && kinds[x->kind].cause ? kinds[x->kind].cause : s->cause;
	const char *also = s->n_faults > 1 ? kinds[x->kind].accept : NULL;
	const char *subject =
		s->n_faults > 1 && kinds[x->kind].subject ? kinds[x->kind].subject : s->subject;
	fprintf(f, "{\"kind\": \"%s\", \"cause\": \"%s\", ", fault_name(x->kind), cause);
	accepted(s, cause, also, f);
	text(f, "severity", severity(s, cause, lost));
	text(f, "subject", subject);
	places(r, x, f);
	text(f, "group", strncmp(subject, "uplink", 6) == 0 ? "uplinks" : NULL);
	if (x->kind == FAULT_LAG_SKEW) /* a LAG towards each spine, in their order */
		for (unsigned i = 1; i <= (unsigned)s->spines; i++)
			fprintf(f, "%s\"lag:PortChannel%u\"%s", i == 1 ? ", \"groups\": [" : ", ",
				i, i == (unsigned)s->spines ? "]" : "");
	if (kinds[x->kind].priority != ANY_CLASS)
		fprintf(f, ", \"priority\": %.0f",
			kinds[x->kind].priority == FIRST_CLASS ? PRIORITY : s->second_priority);
	else
		text(f, "priority", NULL);
	fprintf(f, ", \"onset_s\": %.13g, \"end_s\": %.13g", axis_s(r, s->at_ns),
		axis_s(r, fault_end_ns(r)));
	const struct {
		const char *key;
		double v;
	} numbers[] = {{"share", x->share}, {"loss_ratio", x->loss_ratio},
		{"speed_bps", x->speed_bps}, {"factor", x->factor}, {"size_bytes", x->size_bytes},
		{"length_s", x->length_ns / 1e9}, {"every_s", s->every_ns / 1e9},
		{"for_s", s->every_ns > 0 ? s->for_ns / 1e9 : 0}};
	for (size_t k = 0; k < rw_countof(numbers); k++)
		if (numbers[k].v > 0)
			fprintf(f, ", \"%s\": %.10g", numbers[k].key, numbers[k].v);
	fprintf(f, "}");
}

/* Wrong from the start, by how the fabric was built or how the job was placed. */
static void standing(const struct recorder *r, double lost, FILE *f)
{
	const struct scenario *s = r->s;
	char name[48];
	fprintf(f, "{\"kind\": \"standing\", \"cause\": \"%s\", ", s->cause);
	accepted(s, s->cause, NULL, f);
	text(f, "severity", severity(s, s->cause, lost));
	text(f, "subject", s->subject);
	fprintf(f, ", \"device\": null, \"devices\": [");
	for (unsigned i = 0; i < (unsigned)s->leaves; i++) {
		device_name(s, sim_leaf(r->shape[0], i), 0, name, sizeof(name));
		fprintf(f, "%s\"%s\"", i ? ", " : "", name);
	}
	fprintf(f, "], \"port\": null, \"host\": null");
	text(f, "group", strcmp(s->subject, "uplinks") == 0 ? "uplinks" : NULL);
	fprintf(f, ", \"priority\": null, \"onset_s\": %.13g, \"end_s\": %.13g}", axis_s(r, 0),
		axis_s(r, r->o->length_ns));
}

/* Of a step, as the fault leaves it; a slow checkpoint is shared out among the steps between two of
 * them. */
static double step_in_fault_ns(const struct recorder *r, const struct coarse *c)
{
	const struct scenario *s = r->s;
	const struct fault *compute = fault_of(s, FAULT_SLOW_COMPUTE),
			   *storage = fault_of(s, FAULT_SLOW_STORAGE);
	const double step = c->compute_ns * (compute ? compute->factor : 1) + c->fault_exchange_ns;
	/* a checkpoint begins at the same time of the clock, however long the one before took */
	return storage && s->checkpoint_every_ns > 0
		? step * (s->checkpoint_every_ns - s->checkpoint_ns) /
			(s->checkpoint_every_ns - storage->factor * s->checkpoint_ns)
		: step;
}

/* Of the time from the onset to the end, the share in which the fault is there. */
static double fault_on_ratio(const struct scenario *s)
{
	return s->every_ns > 0 ? fmin(1, s->for_ns / s->every_ns) : 1;
}

/* ---- what the fine grain saw of the exchange that the recording repeats ---- */

static void number_or_null(FILE *f, const char *key, double v, const char *end)
{
	if (isfinite(v))
		fprintf(f, "\"%s\": %.9g%s", key, v, end);
	else
		fprintf(f, "\"%s\": null%s", key, end);
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void steps_told(const struct coarse *c, bool fault, FILE *f)
{
	const size_t n = c->step_ns[fault].n;
	double *v = c->step_ns[fault].v, sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += v[i];
	if (n)
		qsort(v, n, sizeof(*v), by_value);
	fprintf(f, "\"steps_recorded\": %zu, ", n);
	number_or_null(f, "step_recorded_mean_s", n ? sum / (double)n / 1e9 : NAN, ", ");
	number_or_null(f, "step_recorded_p99_s",
		n ? v[(size_t)ceil(0.99 * (double)n) - 1] / 1e9 : NAN, "}");
}

/* Means over the variants of one exchange of the first rail; drops are of all of them. Shares of
 * time are of the exchange's. */
static void outcome_of(const struct recorder *r, const struct coarse *c, enum state state, FILE *f)
{
	const struct scenario *s = r->s;
	const struct sim *m = r->shape[0];
	const size_t first = m->nodes[m->n_hosts].port0;
	double time = 0, worst = 0, p50 = 0, p99 = 0, bytes = 0, host_pause = 0, link_pause = 0,
	       marked = 0, packets = 0, drops = 0, hosts = 0, uplinks = 0;
	for (unsigned v = 0; v < VARIANTS; v++) {
		const struct measured *x = &c->m[state][v];
		time += x->endless ? INFINITY : x->duration_ns / VARIANTS;
		worst = fmax(worst, x->endless ? INFINITY : x->duration_ns);
		p50 += x->flow_p50_ns / VARIANTS;
		p99 += x->flow_p99_ns / VARIANTS;
		bytes += x->flow_bytes / x->duration_ns / VARIANTS;
		for (size_t i = 0; i < x->n_ports; i++) {
			const bool host =
				m->nodes[m->ports[m->ports[first + i].peer].node].kind == NODE_HOST;
			const double *sum = x->ports[i].sum;
			*(host ? &hosts : &uplinks) += x->duration_ns;
			*(host ? &host_pause : &link_pause) += sum[SUM_TX_PAUSE_NS];
			marked += sum[SUM_MARKED];
			packets += sum[SUM_QUEUE_PACKETS];
			drops += sum[SUM_PG_DROPS];
		}
	}
	const double slices = c->scale * (state == STATE_FAULT ? c->stretch : 1);
	fprintf(f, "{");
	number_or_null(f, "step_s", (c->compute_ns + time * slices) / 1e9, ", ");
	number_or_null(f, "exchange_s", time * slices / 1e9, ", ");
	number_or_null(f, "exchange_worst_s", worst * slices / 1e9, ", ");
	number_or_null(f, "slice_us", time / 1e3, ",\n      ");
	number_or_null(f, "victim_p50_us", p50 / 1e3, ", ");
	number_or_null(f, "victim_p99_us", p99 / 1e3, ", ");
	number_or_null(f, "goodput_bps_per_host", bytes * 8e9 / (s->leaves * s->hosts_per_leaf),
		",\n      ");
	number_or_null(f, "host_pause_ratio", host_pause / hosts, ", ");
	number_or_null(f, "link_pause_ratio", link_pause / uplinks, ", ");
	number_or_null(f, "marks_ratio", packets > 0 ? marked / packets : NAN, ", ");
	number_or_null(f, "lossless_drops", drops, ",\n      ");
	steps_told(c, state == STATE_FAULT, f);
}

static void outcome(const struct recorder *r, const char *key, const struct coarse *c, FILE *f)
{
	fprintf(f, "  \"%s\": {\n    \"ok\": ", key);
	outcome_of(r, c, STATE_OK, f);
	fprintf(f, ",\n    \"fault\": ");
	if (r->s->n_faults)
		outcome_of(r, c, STATE_FAULT, f);
	else
		fprintf(f, "null");
	fprintf(f, "\n  },\n");
}

/* What stands in the switches, by name where one has its own. */
static void thresholds_told(const struct scenario *s, const char *key, FILE *f)
{
	static const char *const sides[] = {
		[OF_ALL_PORTS] = "", [OF_HOST_PORTS] = "/hosts", [OF_UPLINKS] = "/uplinks"};
	char name[48];
	fprintf(f, "  \"%s\": {", key);
	for (size_t i = 0; i < threshold_count(); i++)
		fprintf(f, "%s\"%s\": %.9g", i ? ", " : "", threshold_name(threshold_at(i)),
			threshold_value(s, threshold_at(i)));
	for (size_t i = 0; i < s->n_settings; i++)
		for (size_t k = 0; k < threshold_count(); k++)
			if (threshold_knob(threshold_at(k)) == s->settings[i].knob) {
				switch_name(s, s->settings[i].device, name, sizeof(name));
				fprintf(f, ", \"%s%s:%s\": %.9g", name, sides[s->settings[i].ports],
					threshold_name(threshold_at(k)), s->settings[i].value);
			}
	fprintf(f, "},\n");
}

void truth_write(const struct recorder *r, FILE *f)
{
	const struct scenario *s = r->s;
	const struct coarse *c = r->earlier ? r->earlier : r->c;
	const double gpus = s->gpus > 0 ? s->gpus : s->leaves * s->hosts_per_leaf * s->planes;
	const bool ends = isfinite(c->fault_exchange_ns),
		   faulty = s->n_faults > 0 || !is_none(s->cause);
	const double step = c->compute_ns + c->exchange_ns,
		     slow = ends ? step_in_fault_ns(r, c) : INFINITY;
	const double lost = s->n_faults == 0 ? 0
		: ends                       ? fmax(0, 1 - step / slow)
					     : 1,
		     per_hour = gpus * s->usd_per_gpu_hour * lost * fault_on_ratio(s);
	const double onset = s->n_faults ? s->at_ns : 0,
		     end = s->n_faults ? fault_end_ns(r) : r->o->length_ns;
	fprintf(f,
		"{\n  \"scenario\": \"%s\",\n  \"title\": \"%s\",\n  \"seed\": %" PRIu64
		",\n  \"perturb\": %" PRIu64
		",\n  \"face\": \"%s\",\n  \"interval_s\": %g,\n  \"length_s\": %g,\n",
		s->name, s->title, s->seed, s->perturb,
		r->live_face ? r->live_face : face_names[r->o->face], r->o->interval_ns / 1e9,
		r->o->length_ns / 1e9);
	fprintf(f, "  \"policy\": {\"congestion\": \"%s\", \"load_balancing\": \"%s\"},\n",
		s->pfc_only ? "pfc_only" : "dcqcn", balancing_name(s));
	fprintf(f, "  \"cause\": \"%s\",\n  \"accept\": [\"%s\"", s->cause, s->cause);
	for (size_t i = 0; i < s->n_accept; i++)
		fprintf(f, ", \"%s\"", s->accept[i]);
	fprintf(f, "],\n");
	const char *worst = severity(s, s->cause, lost);
	fprintf(f, "  \"severity\": %s%s%s,\n", worst ? "\"" : "", worst ? worst : "null",
		worst ? "\"" : "");
	char buf[WALL_TEXT_MAX];
	fprintf(f, "  \"started\": \"%s\",\n", wall_format(buf, (wall_t){(int64_t)r->wall_ns}, 3));
	if (faulty)
		fprintf(f, "  \"onset\": \"%s\",\n",
			wall_format(buf, (wall_t){(int64_t)(r->wall_ns + onset)}, 3));
	seconds_or_null(f, "onset_s", faulty, axis_s(r, onset) * 1e9);
	seconds_or_null(f, "end_s", faulty, axis_s(r, end) * 1e9);
	fprintf(f, "  \"faults\": [");
	for (size_t i = 0; i < s->n_faults; i++) {
		fprintf(f, "%s\n    ", i ? "," : "");
		one_fault(r, &s->faults[i], lost, f);
	}
	if (!s->n_faults && faulty) {
		fprintf(f, "\n    ");
		standing(r, lost, f);
	}
	fprintf(f, "%s],\n  \"subject\": \"%s\",\n", faulty ? "\n  " : "", s->subject);
	fprintf(f, "  \"step_s\": %.6f,\n  \"exchange_s\": %.6f,\n", step / 1e9,
		c->exchange_ns / 1e9);
	seconds_or_null(f, "step_in_fault_s", ends, slow);
	seconds_or_null(f, "exchange_in_fault_s", ends, c->fault_exchange_ns);
	thresholds_told(s, "thresholds", f);
	outcome(r, "outcome", c, f);
	if (r->earlier) {
		fprintf(f, "  \"changed_s\": %.13g,\n", axis_s(r, r->o->later_ns));
		thresholds_told(r->o->tuned_later, "thresholds_after", f);
		outcome(r, "outcome_after", r->c, f);
	}
	fprintf(f,
		"  \"steps\": %" PRIu64
		",\n  \"gpus\": %.0f,\n  \"lost_ratio\": %.6f,\n  \"usd_per_hour\": %.2f,\n",
		c->steps, gpus, lost, per_hour);
	fprintf(f, "  \"usd_total\": %.2f\n}\n",
		per_hour * (s->n_faults ? (end - onset) / 3.6e12 : 0));
}

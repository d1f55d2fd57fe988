/* gnmi - the life of a target (see gnmi.h): secrets, Capabilities, the choice of the profile, which
 * stream when, and the API. */
#include "collectors/gnmi/gnmi_target.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/loop.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "collectors/gnmi/gnmi_compiled.h"
#include "db/model/metric.h"

#define BACKOFF_INTERVALS 3 /* a short outage must not become a long one */
#define BACKOFF_MAX_NS (60 * NS_PER_S)
#define BACKOFF_MIN_NS (200 * NS_PER_MS)

static const unsigned encodings_usual[] = {
	GNMI_ENC_PROTO, GNMI_ENC_JSON_IETF, GNMI_ENC_JSON, GNMI_ENC_ASCII};

static void target_lost(struct gnmi_target *target, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void on_stream_changed(
	struct gnmi_target *target, struct gnmi_stream *stream, const struct grpc_io_status *why);

static const struct config_gnmi_credential *gnmi_credential(const struct gnmi_target *target)
{
	return target->device->gnmi->credential->gnmi;
}

int64_t gnmi_target_jittered(struct gnmi_target *target, int64_t ns)
{
	target->random ^= target->random << 13;
	target->random ^= target->random >> 7;
	target->random ^= target->random << 17;
	return ns - ns / 10 + (int64_t)(target->random % 1024) * (ns / 5) / 1024;
}

/* ---- secrets ------------------------------------------------------------- */

/* secrets_renew - at each try, so that a new one needs no reload. Where a file cannot be read any
 * more (rights were given up after the start) what we have goes on. */
static int secrets_renew(struct gnmi_target *target, struct err *e)
{
	struct gnmi_secrets now = {0};
	const bool had = target->secrets_error.code == 0;
	int rc = gnmi_secrets_read(gnmi_credential(target), &now, e);
	if (rc == -EACCES && had) {
		gnmi_secrets_done(&now);
		return 0;
	}
	gnmi_secrets_done(&target->secrets);
	target->secrets = now;
	return rc;
}

/* ---- what the pipeline is told ------------------------------------------- */

static void gnmi_told(struct gnmi_target *target)
{
	if (target->decoder)
		target->state.suspects = gnmi_decode_stats(target->decoder)->suspects;
	target->sink.target(target->sink.arg, &target->state);
}

/* ---- failure ------------------------------------------------------------- */

static void session_end(struct gnmi_target *target)
{
	for (size_t i = 0; i < target->n_streams; i++)
		gnmi_stream_stop(target->streams[i]);
	grpc_io_call_free(target->call);
	grpc_io_close(target->channel);
	target->call = NULL;
	target->channel = NULL;
	free((void *)target->answer.p);
	target->answer = (struct gnmi_bytes){0};
	loop_timer_stop(target->deadline);
	loop_timer_stop(target->slow);
	target->slow_at = target->n_streams;
}

static void target_lost(struct gnmi_target *target, const char *fmt, ...)
{
	char reason[GNMI_REASON_MAX];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);
	session_end(target);
	target->failures++;
	int64_t gap = target->device->gnmi->interval_ns *
		(target->failures < BACKOFF_INTERVALS ? (int64_t)target->failures
						      : BACKOFF_INTERVALS);
	if (gap > BACKOFF_MAX_NS)
		gap = BACKOFF_MAX_NS;
	else if (gap < BACKOFF_MIN_NS)
		gap = BACKOFF_MIN_NS;
	loop_timer_start(target->timer, gnmi_target_jittered(target, gap), 0);
	target_change(&target->state, TARGET_BACKOFF, loop_now(target->loop), wall_now(), reason);
	gnmi_told(target);
}

static void on_probed(struct gnmi_target *target, const struct tls_probe *probe,
	const struct grpc_io_status *status)
{
	char reason[GNMI_REASON_MAX];
	gnmi_reason_probed(target, probe, status, reason);
	target_lost(target, "%s", reason);
}

/* target_lost_by - how a call ended, in words; TLS gets a closer look first. */
static void target_lost_by(struct gnmi_target *target, const struct gnmi_stream *stream,
	const struct grpc_io_status *status)
{
	char reason[GNMI_REASON_MAX];
	target->state.errors++;
	gnmi_reason(target, stream, status, reason);
	if (!stream && gnmi_reason_is_tls(target, status)) {
		rw_cleanup(freep) char *text = rw_strdup(status->text);
		const struct grpc_io_status copy = {status->code, text};
		session_end(target);
		if (gnmi_probe_start(target, &copy, on_probed))
			return;
	}
	target_lost(target, "%s", stream && *stream->trouble ? stream->trouble : reason);
}

/* ---- streams ------------------------------------------------------------- */

static void streams_free(struct gnmi_target *target)
{
	for (size_t i = 0; i < target->n_streams; i++)
		gnmi_stream_free(target->streams[i]);
	free(target->streams);
	target->streams = NULL;
	target->n_streams = target->slow_at = 0;
	gnmi_decoder_free(target->decoder);
	target->decoder = NULL;
}

static uint64_t gnmi_cell_bytes(const struct gnmi_target *target)
{
	const struct fabric *f = target->config->fabric;
	for (size_t i = 0; f && i < f->n_thresholds; i++)
		if (f->thresholds[i].cell_bytes &&
			str_glob(f->thresholds[i].devices, target->device->name))
			return f->thresholds[i].cell_bytes;
	return 0;
}

/* profile_use - its decoder and streams; what another profile knew is forgotten. */
static int profile_use(struct gnmi_target *target, const struct profile *profile, struct err *e)
{
	if (target->profile == profile && target->decoder)
		return 0;
	streams_free(target);
	target->profile = profile;
	if (!target->set->compiled)
		target->set->compiled = gnmi_compiled_set_new();
	target->decoder = gnmi_decoder_new(target->entities, target->name, profile,
		target->set->compiled, gnmi_cell_bytes(target));
	target->streams = rw_calloc(
		profile->gnmi->n_streams ? profile->gnmi->n_streams : 1, sizeof(*target->streams));
	for (size_t i = 0; i < profile->gnmi->n_streams; i++) {
		struct gnmi_stream *s =
			gnmi_stream_new(target, profile->gnmi->streams[i], on_stream_changed, e);
		if (!s) {
			streams_free(target);
			return -EINVAL;
		}
		target->streams[target->n_streams++] = s;
	}
	target->slow_at = target->n_streams;
	return 0;
}

static void fast_start(struct gnmi_target *target)
{
	bool any = false;
	target->slow_first = false;
	for (size_t i = 0; i < target->n_streams; i++)
		any = any || !target->streams[i]->p->slow;
	if (!any)
		target_lost(target, "%s: profile %s has no stream of counters", target->address,
			target->profile->name);
	for (size_t i = 0; i < target->n_streams && target->state.state != TARGET_BACKOFF; i++)
		if (!target->streams[i]->p->slow)
			gnmi_stream_start(target->streams[i]);
}

/* slow_next - the next slow stream from @from on, or the fast ones. */
static void slow_next(struct gnmi_target *target, size_t from)
{
	for (size_t i = from; i < target->n_streams; i++) {
		if (!target->streams[i]->p->slow)
			continue;
		target->slow_at = i;
		gnmi_stream_start(target->streams[i]);
		return;
	}
	target->slow_at = target->n_streams;
	loop_timer_start(target->slow,
		gnmi_target_jittered(target, target->device->gnmi->slow_interval_ns), 0);
	if (target->slow_first)
		fast_start(target);
}

static void on_slow(void *arg)
{
	slow_next(arg, 0);
}

static bool fast_live(const struct gnmi_target *target)
{
	for (size_t i = 0; i < target->n_streams; i++)
		if (!target->streams[i]->p->slow &&
			(target->streams[i]->state == STREAM_LIVE ||
				target->streams[i]->state == STREAM_OPENING))
			return true;
	return false;
}

static void gnmi_account(struct gnmi_target *target)
{
	if (target->state.values != target->values_before || target->state.n_poll == 0)
		target_polled(&target->state, target->lag_s, wall_now());
	target->values_before = target->state.values;
	gnmi_told(target);
}

static void target_up(struct gnmi_target *target)
{
	target->failures = 0;
	if (target->state.state == TARGET_UP)
		return;
	target_change(&target->state, TARGET_UP, loop_now(target->loop), wall_now(), NULL);
	gnmi_account(target);
	if (!gnmi_decode_hears(target->decoder))
		gnmi_target_neighbors(target);
	loop_timer_start(target->timer, target->device->gnmi->interval_ns,
		target->device->gnmi->interval_ns);
}

static void on_stream_changed(
	struct gnmi_target *target, struct gnmi_stream *stream, const struct grpc_io_status *why)
{
	if (stream->p->slow) {
		if (why && !gnmi_reason_is_request(why) && why->code != GRPC_IO_DEADLINE_EXCEEDED &&
			target->slow_first) {
			target_lost_by(target, stream, why); /* not the stream: the device */
			return;
		}
		if (why)
			gnmi_stream_stop(stream);
		if (why && gnmi_feed_hears(stream->feed))
			gnmi_target_neighbors(target); /* it has no LLDP, which is an answer */
		if (stream->state == STREAM_REST && target->slow_at < target->n_streams &&
			target->streams[target->slow_at] == stream)
			slow_next(target, target->slow_at + 1);
		return;
	}
	if (stream->state == STREAM_LIVE)
		target_up(target);
	else if (why && !fast_live(target))
		target_lost_by(target, stream, why);
}

/* ---- Capabilities -------------------------------------------------------- */

static void encodings_choose(
	struct gnmi_target *target, const struct gnmi_capabilities *capabilities)
{
	const struct profile_gnmi *g = target->profile->gnmi;
	const unsigned *wanted;
	if (g->n_encodings)
		wanted = g->encodings;
	else
		wanted = encodings_usual;
	size_t n;
	if (g->n_encodings)
		n = g->n_encodings;
	else
		n = rw_countof(encodings_usual);
	target->n_encodings = 0;
	if (target->device->gnmi->encoding >= 0) {
		target->encodings[target->n_encodings++] = (unsigned)target->device->gnmi->encoding;
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (!capabilities || capabilities->n_encodings == 0 ||
			gnmi_capabilities_has(capabilities, (enum gnmi_encoding)wanted[i]))
			target->encodings[target->n_encodings++] = wanted[i];
}

static const struct profile *profile_choose(const struct gnmi_target *target,
	const struct gnmi_capabilities *capabilities, struct arena *a)
{
	const char *wanted = target->device->profile;
	if (wanted && !str_eq(wanted, "auto"))
		return profiles_get(target->set->profiles, wanted);
	size_t n = 0;
	if (capabilities)
		n = capabilities->n_models;
	const char **names = arena_array(a, const char *, n + 1);
	for (size_t i = 0; i < n; i++)
		names[i] = capabilities->models[i].name;
	return profiles_match_models(target->set->profiles, names, n);
}

/* gnmi_offers - for people: "PROTO, JSON". */
static const char *gnmi_offers(const struct gnmi_capabilities *capabilities, char buf[80])
{
	size_t n = 0;
	buf[0] = '\0';
	for (size_t i = 0; capabilities && i < capabilities->n_encodings && n < 60; i++)
		n += (size_t)snprintf(buf + n, 80 - n, "%s%s", str_if(n, ", "),
			gnmi_encoding_name(capabilities->encodings[i]));
	return buf;
}

static void session_begin(struct gnmi_target *target, const struct gnmi_capabilities *capabilities)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct err e = {0};
	char list[80];
	const struct profile *p = profile_choose(target, capabilities, a);
	if (!p || !p->gnmi) {
		target_lost(target,
			"%s: no profile fits this device: name one with 'profile:' (rocewatch "
			"profile list)",
			target->address);
		return;
	}
	if (profile_use(target, p, &e) < 0) {
		target_lost(target, "profile %s: %s", p->name, e.text);
		return;
	}
	encodings_choose(target, capabilities);
	if (target->n_encodings == 0) {
		target_lost(target,
			"%s: the device offers the encodings %s, and profile %s reads none of "
			"them: set gnmi.encoding",
			target->address, gnmi_offers(capabilities, list), p->name);
		return;
	}
	if (capabilities)
		snprintf(target->descr, sizeof(target->descr),
			"gNMI %.20s, %zu models, encoding %s", capabilities->version,
			capabilities->n_models, gnmi_encoding_name(target->encodings[0]));
	else
		snprintf(target->descr, sizeof(target->descr),
			"gNMI without Capabilities, encoding %s",
			gnmi_encoding_name(target->encodings[0]));
	target->sink.device(target->sink.arg, target->name, p->name,
		gnmi_decode_sysname(target->decoder), target->descr);
	target->slow_first = true;
	slow_next(target, 0);
}

static void capabilities_started(void *arg, const char *pem)
{
	if (pem)
		gnmi_target_certificate(arg, pem);
}

static void capabilities_message(void *arg, const void *data, size_t n)
{
	struct gnmi_target *t = arg;
	free((void *)t->answer.p);
	uint8_t *copy = rw_calloc(1, n + 1);
	memcpy(copy, data, n);
	t->answer = (struct gnmi_bytes){copy, n};
}

static void capabilities_done(void *arg, const struct grpc_io_status *status)
{
	struct gnmi_target *t = arg;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct gnmi_capabilities c;
	bool known = status->code == GRPC_IO_OK && t->answer.p &&
		gnmi_decode_capabilities(t->answer.p, t->answer.n, a, &c) == 0;
	if (status->code != GRPC_IO_OK && status->code != GRPC_IO_UNIMPLEMENTED) {
		target_lost_by(t, NULL, status);
		return;
	}
	session_end(t); /* the connection of Capabilities; streams have their own */
	session_begin(t, known ? &c : NULL);
}

static const struct grpc_io_events capabilities_events = {.started = capabilities_started,
	.message = capabilities_message,
	.done = capabilities_done};

static void gnmi_on_deadline(void *arg)
{
	struct gnmi_target *t = arg;
	t->state.timeouts++;
	target_lost(t,
		"%s: no answer within %.1f s: ping it; check the route, the firewall and the port "
		"in gnmi.address",
		t->address, (double)t->device->gnmi->timeout_ns / 1e9);
}

static void gnmi_session_start(struct gnmi_target *target)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct gnmi_bytes request;
	struct err e = {0};
	target_change(&target->state, TARGET_STARTING, loop_now(target->loop), wall_now(), NULL);
	gnmi_told(target);
	int rc = secrets_renew(target, &e);
	if (rc == 0 && !target->io && !(target->io = grpc_io_get(target->loop)))
		rc = err_set(&e, -EAGAIN, "no thread for gRPC: %s", strerror(errno));
	if (rc == 0)
		rc = gnmi_target_channel(target, &target->channel, &e);
	gnmi_encode_capabilities(a, &request);
	if (rc == 0)
		rc = gnmi_target_call(target, target->channel,
			&(struct gnmi_call){.method = GNMI_METHOD_CAPABILITIES,
				.request = request,
				.unary = true,
				.events = &capabilities_events,
				.arg = target},
			&target->call, &e);
	if (rc < 0) {
		target->state.errors++;
		target_lost(target, *e.file ? "%s: %s" : "%s%s", *e.file ? e.file : "", e.text);
		return;
	}
	if (target->failures == 0)
		gnmi_secrets_expiry(target);
	/* gRPC's own limit of a connection comes first, with a reason */
	loop_timer_start(target->deadline, target->device->gnmi->timeout_ns + NS_PER_S, 0);
}

static void gnmi_on_timer(void *arg)
{
	struct gnmi_target *t = arg;
	if (t->state.state == TARGET_UP)
		gnmi_account(t);
	else
		gnmi_session_start(t);
}

/* ---- new, same, update, free --------------------------------------------- */

static bool gnmi_profile_known(const struct gnmi_target *target, struct err *e)
{
	const char *wanted = target->device->profile;
	const struct profile *p = NULL;
	if (wanted && !str_eq(wanted, "auto"))
		p = profiles_get(target->set->profiles, wanted);
	if (!wanted || str_eq(wanted, "auto") || (p && p->gnmi))
		return true;
	err_set(e, -ENOENT,
		p ? "device %s: profile '%s' has no gNMI streams"
		  : "device %s: no profile '%s'. Those there are: rocewatch profile list",
		target->name, wanted);
	return false;
}

int gnmi_target_new(struct loop *loop, struct entities *entities,
	const struct config_device *device, const struct config *config, const struct sink *sink,
	struct gnmi_target **ret, struct err *e)
{
	assert(device->gnmi);
	struct gnmi_target *t = rw_calloc(1, sizeof(*t));
	char address[300];
	snprintf(address, sizeof(address), strchr(device->gnmi->address, ':') ? "[%s]:%u" : "%s:%u",
		device->gnmi->address, device->gnmi->port);
	*t = (struct gnmi_target){.loop = loop,
		.entities = entities,
		.sink = *sink,
		.device = device,
		.config = config,
		.name = rw_strdup(device->name),
		.address = rw_strdup(address)};
	t->state.device = t->name;
	t->state.protocol = "gnmi";
	t->state.address = t->address;
	t->state.interval_ns = device->gnmi->interval_ns;
	t->random = hash_bytes(t->name, strlen(t->name), (uint64_t)wall_now().ns) | 1;
	t->timer = loop_timer_new(loop, gnmi_on_timer, t);
	t->deadline = loop_timer_new(loop, gnmi_on_deadline, t);
	t->slow = loop_timer_new(loop, on_slow, t);
	t->set = profile_set_get(config, e);
	if (!t->set || !gnmi_profile_known(t, e)) {
		gnmi_target_free(t);
		return -EINVAL;
	}
	if (gnmi_credential(t)->tls_skip_verify && !gnmi_credential(t)->tls_off)
		log_warn(t->name, "gnmi: tls.skip_verify: anyone in between can pose as %s",
			t->address);
	/* now, while we may; what may heal is told by the first try */
	gnmi_secrets_read(gnmi_credential(t), &t->secrets, &t->secrets_error);
	int64_t spread = NS_PER_S;
	if (device->gnmi->interval_ns < NS_PER_S)
		spread = device->gnmi->interval_ns;
	loop_timer_start(t->timer, (int64_t)(t->random % 1024) * spread / 1024, 0);
	*ret = t;
	return 0;
}

static bool gnmi_secret_same(const struct config_secret *left, const struct config_secret *right)
{
	return left->from == right->from && str_eq(left->name, right->name);
}

bool gnmi_target_same(const struct gnmi_target *target, const struct config_device *device,
	const struct config *config)
{
	const struct config_gnmi *a = target->device->gnmi, *b = device->gnmi;
	if (!b)
		return false;
	const struct config_gnmi_credential *ca = a->credential->gnmi, *cb = b->credential->gnmi;
	const struct gnmi_target other = {.device = device, .config = config};
	return str_eq(target->device->name, device->name) &&
		str_eq(target->device->profile, device->profile) &&
		profile_set_same(target->set, target->config, config) &&
		gnmi_cell_bytes(target) == gnmi_cell_bytes(&other) &&
		str_eq(a->address, b->address) && a->port == b->port &&
		a->interval_ns == b->interval_ns && a->slow_interval_ns == b->slow_interval_ns &&
		a->timeout_ns == b->timeout_ns && a->encoding == b->encoding &&
		a->max_message == b->max_message && str_eq(ca->username, cb->username) &&
		gnmi_secret_same(&ca->password, &cb->password) &&
		gnmi_secret_same(&ca->token, &cb->token) && str_eq(ca->tls_ca, cb->tls_ca) &&
		str_eq(ca->tls_cert, cb->tls_cert) && str_eq(ca->tls_key, cb->tls_key) &&
		str_eq(ca->tls_server_name, cb->tls_server_name) && ca->tls_off == cb->tls_off &&
		ca->tls_skip_verify == cb->tls_skip_verify;
}

void gnmi_target_update(
	struct gnmi_target *target, const struct config_device *device, const struct config *config)
{
	target->device = device;
	target->config = config;
	/* equal, as gnmi_target_same() found: and the old one's address may be used again */
	target->set->config = config;
}

void gnmi_target_free(struct gnmi_target *target)
{
	if (!target)
		return;
	gnmi_probe_forget(target);
	session_end(target);
	streams_free(target);
	grpc_io_put(target->io);
	loop_timer_free(target->timer);
	loop_timer_free(target->deadline);
	loop_timer_free(target->slow);
	profile_set_put(target->set);
	gnmi_secrets_done(&target->secrets);
	free(target->address);
	free(target->name);
	free(target);
}

const struct target *gnmi_target_state(const struct gnmi_target *target)
{
	return &target->state;
}

bool gnmi_target_prefers_snmp(const struct gnmi_target *target, unsigned metric)
{
	const struct profile_gnmi *g = NULL;
	if (target->profile)
		g = target->profile->gnmi;
	for (size_t i = 0; g && i < g->n_prefer_snmp; i++)
		if (g->prefer_snmp[i] == metric)
			return true;
	return false;
}

/* ---- views --------------------------------------------------------------- */

struct leaves {
	const struct gnmi_stream *s;
	gnmi_leaf_fn *fn;
	void *arg;
};

static void leaf_view(void *arg, const struct gnmi_leaf_view *view)
{
	const struct leaves *l = arg;
	l->fn(l->arg,
		&(struct gnmi_leaf){.stream = l->s->p->name,
			.how = profile_gnmi_how_name(l->s->p->hows[l->s->how]),
			.path = view->path,
			.what = view->metric >= 0 ? metric_info((unsigned)view->metric)->name
						  : view->what,
			.doc = view->doc,
			.type = view->type,
			.trouble = l->s->trouble,
			.slow = l->s->p->slow,
			.fallback = view->fallback,
			.paths = view->paths,
			.zero = view->zero,
			.wrong_type = view->wrong_type});
}

void gnmi_target_leaves(const struct gnmi_target *target, gnmi_leaf_fn *fn, void *arg)
{
	for (size_t i = 0; i < target->n_streams; i++) {
		struct leaves l = {target->streams[i], fn, arg};
		gnmi_feed_leaves(target->streams[i]->feed, leaf_view, &l);
	}
}

struct gnmi_target_counts gnmi_target_counts(const struct gnmi_target *target)
{
	struct gnmi_target_counts n = {0};
	for (size_t i = 0; i < target->n_streams; i++) {
		const struct gnmi_stream *s = target->streams[i];
		const struct gnmi_counts *c = &s->counts;
		n.messages += c->messages;
		n.bytes += c->bytes;
		n.updates += c->updates;
		n.refused += c->bad_messages + c->large_messages + c->bad_paths + c->bad_json +
			c->bad_lists;
		n.odd_times += s->time.odd;
		n.stale += s->n_stale;
		n.reconnects += s->n_reconnects;
		n.stalls += s->n_stalls + (s->call ? grpc_io_call_counts(s->call).stalls : 0);
		if (s->time.skew_ns)
			n.skew_s = (double)s->time.skew_ns / 1e9;
	}
	if (target->decoder)
		n.refused += gnmi_decode_stats(target->decoder)->wrong_types;
	return n;
}

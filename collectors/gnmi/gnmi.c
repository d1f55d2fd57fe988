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
#define PROBE_NS (3 * NS_PER_S)

static const unsigned encodings_usual[] = {
	GNMI_ENC_PROTO, GNMI_ENC_JSON_IETF, GNMI_ENC_JSON, GNMI_ENC_ASCII};

static void target_lost(struct gnmi_target *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static const struct config_gnmi_credential *credential(const struct gnmi_target *t)
{
	return t->device->gnmi->credential->gnmi;
}

int64_t gnmi_target_jittered(struct gnmi_target *t, int64_t ns)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return ns - ns / 10 + (int64_t)(t->random % 1024) * (ns / 5) / 1024;
}

/* ---- secrets ------------------------------------------------------------- */

/* secrets_renew - at each try, so that a new one needs no reload. Where a file cannot be read any
 * more (rights were given up after the start) what we have goes on. */
static int secrets_renew(struct gnmi_target *t, struct err *e)
{
	struct gnmi_secrets now = {0};
	const bool had = t->secrets_error.code == 0;
	int rc = gnmi_secrets_read(credential(t), &now, e);
	if (rc == -EACCES && had) {
		gnmi_secrets_done(&now);
		return 0;
	}
	gnmi_secrets_done(&t->secrets);
	t->secrets = now;
	return rc;
}

/* ---- connections --------------------------------------------------------- */

int gnmi_target_channel(struct gnmi_target *t, struct grpc_io_channel **ret, struct err *e)
{
	const struct config_gnmi *g = t->device->gnmi;
	const struct config_gnmi_credential *c = credential(t);
	const struct grpc_io_options o = {.host = g->address,
		.port = g->port,
		.tls = !c->tls_off,
		.ca = t->secrets.ca,
		.cert = t->secrets.cert,
		.key = t->secrets.key,
		.server_name = c->tls_server_name,
		.skip_verify = c->tls_skip_verify,
		.max_message = (uint32_t)g->max_message,
		.connect_ns = g->timeout_ns};
	return grpc_io_connect(t->io, &o, ret, e);
}

int gnmi_target_call(struct gnmi_target *t, struct grpc_io_channel *c, const char *method,
	struct gnmi_bytes request, bool unary, int64_t deadline_ns,
	const struct grpc_io_events *events, void *arg, struct grpc_io_call **ret, struct err *e)
{
	struct grpc_io_metadata metadata[3];
	size_t n = 0;
	rw_cleanup(gnmi_secret_wipe) char *bearer = NULL;
	if (credential(t)->username)
		metadata[n++] = (struct grpc_io_metadata){"username", credential(t)->username};
	if (t->secrets.password)
		metadata[n++] = (struct grpc_io_metadata){"password", t->secrets.password};
	if (t->secrets.token) {
		size_t size = strlen(t->secrets.token) + sizeof("Bearer ");
		bearer = rw_calloc(1, size);
		snprintf(bearer, size, "Bearer %s", t->secrets.token);
		metadata[n++] = (struct grpc_io_metadata){"authorization", bearer};
	}
	const struct grpc_io_request r = {.method = method,
		.metadata = metadata,
		.n_metadata = n,
		.p = request.p,
		.n = request.n,
		.half_close = unary,
		.deadline_ns = deadline_ns};
	return grpc_io_call_new(c, &r, events, arg, ret, e);
}

/* ---- what the pipeline is told ------------------------------------------- */

static void told(struct gnmi_target *t)
{
	t->state.suspects =
		t->decoder ? gnmi_decode_stats(t->decoder)->suspects : t->state.suspects;
	t->sink.target(t->sink.arg, &t->state);
}

void gnmi_target_deliver(struct gnmi_target *t, struct sample_list *samples)
{
	if (gnmi_decode_ports_changed(t->decoder)) {
		for (size_t i = 0; i < gnmi_decode_port_count(t->decoder); i++) {
			const struct gnmi_port *p = gnmi_decode_port(t->decoder, i);
			if (p->changed)
				t->sink.port(t->sink.arg, t->name, p->name, p->alias, p->speed_bps);
		}
		gnmi_decode_ports_told(t->decoder);
	}
	if (samples->n)
		t->sink.samples(t->sink.arg, samples->v, samples->n);
	samples->n = 0;
}

void gnmi_target_neighbors(struct gnmi_target *t)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct topology_device self = {
		.name = t->name, .sysname = gnmi_decode_sysname(t->decoder), .chassis = ""};
	struct topology_neighbor *heard = NULL;
	if (!t->sink.neighbors)
		return;
	const size_t n = gnmi_decode_hears(t->decoder)
		? gnmi_decode_neighbors(t->decoder, a, &self, &heard)
		: 0;
	t->sink.neighbors(t->sink.arg, &self, heard, n);
}

/* ---- failure ------------------------------------------------------------- */

static void session_end(struct gnmi_target *t)
{
	for (size_t i = 0; i < t->n_streams; i++)
		gnmi_stream_stop(t->streams[i]);
	grpc_io_call_free(t->call);
	grpc_io_close(t->channel);
	t->call = NULL;
	t->channel = NULL;
	free((void *)t->answer.p);
	t->answer = (struct gnmi_bytes){0};
	loop_timer_stop(t->deadline);
	loop_timer_stop(t->slow);
	t->slow_at = t->n_streams;
}

static void target_lost(struct gnmi_target *t, const char *fmt, ...)
{
	char reason[GNMI_REASON_MAX];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);
	session_end(t);
	t->failures++;
	int64_t gap = t->device->gnmi->interval_ns *
		(t->failures < BACKOFF_INTERVALS ? (int64_t)t->failures : BACKOFF_INTERVALS);
	gap = gap > BACKOFF_MAX_NS ? BACKOFF_MAX_NS : gap < BACKOFF_MIN_NS ? BACKOFF_MIN_NS : gap;
	loop_timer_start(t->timer, gnmi_target_jittered(t, gap), 0);
	target_change(&t->state, TARGET_BACKOFF, loop_now(t->loop), wall_now(), reason);
	told(t);
}

/* A handshake of our own, on a pool thread. The target may be gone when it is over. */
struct probe {
	struct tls_probe p;
	struct gnmi_target *t; /* NULL: gone, or not interested any more */
	struct gnmi_secrets copies;
	char *host, *server_name, *status_text;
	int status_code;
};

static void probe_free(struct probe *x)
{
	gnmi_secrets_done(&x->copies);
	free(x->host);
	free(x->server_name);
	free(x->status_text);
	free(x);
}

static void probe_work(void *arg)
{
	tls_probe(&((struct probe *)arg)->p);
}

static void probe_done(void *arg)
{
	struct probe *x = arg;
	char reason[GNMI_REASON_MAX];
	if (x->t) {
		x->t->probe = NULL;
		gnmi_reason_probed(x->t, &x->p,
			&(struct grpc_io_status){x->status_code, x->status_text}, reason);
		target_lost(x->t, "%s", reason);
	}
	probe_free(x);
}

static char *copy_of(const char *s)
{
	return s ? rw_strdup(s) : NULL;
}

static bool probe_start(struct gnmi_target *t, const struct grpc_io_status *s)
{
	struct probe *x = rw_calloc(1, sizeof(*x));
	*x = (struct probe){.t = t,
		.host = rw_strdup(t->device->gnmi->address),
		.server_name = copy_of(credential(t)->tls_server_name),
		.status_text = rw_strdup(s->text),
		.status_code = s->code,
		.copies = {.ca = copy_of(t->secrets.ca),
			.cert = copy_of(t->secrets.cert),
			.key = copy_of(t->secrets.key)}};
	x->p = (struct tls_probe){.host = x->host,
		.port = t->device->gnmi->port,
		.ca = x->copies.ca,
		.cert = x->copies.cert,
		.key = x->copies.key,
		.server_name = x->server_name,
		.timeout_ns = PROBE_NS};
	if (loop_work(t->loop, probe_work, probe_done, x) < 0) {
		probe_free(x);
		return false;
	}
	t->probe = x;
	return true;
}

/* target_lost_by - how a call ended, in words; TLS gets a closer look first. */
static void target_lost_by(
	struct gnmi_target *t, const struct gnmi_stream *stream, const struct grpc_io_status *s)
{
	char reason[GNMI_REASON_MAX];
	t->state.errors++;
	gnmi_reason(t, stream, s, reason);
	if (!stream && gnmi_reason_is_tls(t, s)) {
		rw_cleanup(freep) char *text = rw_strdup(s->text);
		const struct grpc_io_status copy = {s->code, text};
		session_end(t);
		if (probe_start(t, &copy))
			return;
	}
	target_lost(t, "%s", stream && *stream->trouble ? stream->trouble : reason);
}

/* ---- streams ------------------------------------------------------------- */

static void streams_free(struct gnmi_target *t)
{
	for (size_t i = 0; i < t->n_streams; i++)
		gnmi_stream_free(t->streams[i]);
	free(t->streams);
	t->streams = NULL;
	t->n_streams = t->slow_at = 0;
	gnmi_decoder_free(t->decoder);
	t->decoder = NULL;
}

static uint64_t cell_bytes(const struct gnmi_target *t)
{
	const struct fabric *f = t->config->fabric;
	for (size_t i = 0; f && i < f->n_thresholds; i++)
		if (f->thresholds[i].cell_bytes &&
			str_glob(f->thresholds[i].devices, t->device->name))
			return f->thresholds[i].cell_bytes;
	return 0;
}

/* profile_use - its decoder and streams; what another profile knew is forgotten. */
static int profile_use(struct gnmi_target *t, const struct profile *p, struct err *e)
{
	if (t->profile == p && t->decoder)
		return 0;
	streams_free(t);
	t->profile = p;
	if (!t->set->compiled)
		t->set->compiled = gnmi_compiled_set_new();
	t->decoder = gnmi_decoder_new(t->entities, t->name, p, t->set->compiled, cell_bytes(t));
	t->streams = rw_calloc(p->gnmi->n_streams ? p->gnmi->n_streams : 1, sizeof(*t->streams));
	for (size_t i = 0; i < p->gnmi->n_streams; i++) {
		struct gnmi_stream *s = gnmi_stream_new(t, p->gnmi->streams[i], e);
		if (!s) {
			streams_free(t);
			return -EINVAL;
		}
		t->streams[t->n_streams++] = s;
	}
	t->slow_at = t->n_streams;
	return 0;
}

static void fast_start(struct gnmi_target *t)
{
	bool any = false;
	t->slow_first = false;
	for (size_t i = 0; i < t->n_streams; i++)
		any = any || !t->streams[i]->p->slow;
	if (!any)
		target_lost(t, "%s: profile %s has no stream of counters", t->address,
			t->profile->name);
	for (size_t i = 0; i < t->n_streams && t->state.state != TARGET_BACKOFF; i++)
		if (!t->streams[i]->p->slow)
			gnmi_stream_start(t->streams[i]);
}

/* slow_next - the next slow stream from @from on, or the fast ones. */
static void slow_next(struct gnmi_target *t, size_t from)
{
	for (size_t i = from; i < t->n_streams; i++) {
		if (!t->streams[i]->p->slow)
			continue;
		t->slow_at = i;
		gnmi_stream_start(t->streams[i]);
		return;
	}
	t->slow_at = t->n_streams;
	loop_timer_start(t->slow, gnmi_target_jittered(t, t->device->gnmi->slow_interval_ns), 0);
	if (t->slow_first)
		fast_start(t);
}

static void on_slow(void *arg)
{
	slow_next(arg, 0);
}

static bool fast_live(const struct gnmi_target *t)
{
	for (size_t i = 0; i < t->n_streams; i++)
		if (!t->streams[i]->p->slow &&
			(t->streams[i]->state == STREAM_LIVE ||
				t->streams[i]->state == STREAM_OPENING))
			return true;
	return false;
}

static void account(struct gnmi_target *t)
{
	if (t->state.values != t->values_before || t->state.n_poll == 0)
		target_polled(&t->state, t->lag_s, wall_now());
	t->values_before = t->state.values;
	told(t);
}

static void target_up(struct gnmi_target *t)
{
	t->failures = 0;
	if (t->state.state == TARGET_UP)
		return;
	target_change(&t->state, TARGET_UP, loop_now(t->loop), wall_now(), NULL);
	account(t);
	if (!gnmi_decode_hears(t->decoder))
		gnmi_target_neighbors(t);
	loop_timer_start(t->timer, t->device->gnmi->interval_ns, t->device->gnmi->interval_ns);
}

void gnmi_target_stream_changed(
	struct gnmi_target *t, struct gnmi_stream *s, const struct grpc_io_status *why)
{
	if (s->p->slow) {
		if (why && !gnmi_reason_is_request(why) && why->code != GRPC_IO_DEADLINE_EXCEEDED &&
			t->slow_first) {
			target_lost_by(t, s, why); /* not the stream: the device */
			return;
		}
		if (why)
			gnmi_stream_stop(s);
		if (why && gnmi_feed_hears(s->feed))
			gnmi_target_neighbors(t); /* it has no LLDP, which is an answer */
		if (s->state == STREAM_REST && t->slow_at < t->n_streams &&
			t->streams[t->slow_at] == s)
			slow_next(t, t->slow_at + 1);
		return;
	}
	if (s->state == STREAM_LIVE)
		target_up(t);
	else if (why && !fast_live(t))
		target_lost_by(t, s, why);
}

/* ---- Capabilities -------------------------------------------------------- */

static void encodings_choose(struct gnmi_target *t, const struct gnmi_capabilities *c)
{
	const struct profile_gnmi *g = t->profile->gnmi;
	const unsigned *wanted = g->n_encodings ? g->encodings : encodings_usual;
	const size_t n = g->n_encodings ? g->n_encodings : rw_countof(encodings_usual);
	t->n_encodings = 0;
	if (t->device->gnmi->encoding >= 0) {
		t->encodings[t->n_encodings++] = (unsigned)t->device->gnmi->encoding;
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (!c || c->n_encodings == 0 ||
			gnmi_capabilities_has(c, (enum gnmi_encoding)wanted[i]))
			t->encodings[t->n_encodings++] = wanted[i];
}

static const struct profile *profile_choose(
	const struct gnmi_target *t, const struct gnmi_capabilities *c, struct arena *a)
{
	const char *wanted = t->device->profile;
	if (wanted && !str_eq(wanted, "auto"))
		return profiles_get(t->set->profiles, wanted);
	size_t n = c ? c->n_models : 0;
	const char **names = arena_array(a, const char *, n + 1);
	for (size_t i = 0; i < n; i++)
		names[i] = c->models[i].name;
	return profiles_match_models(t->set->profiles, names, n);
}

/* offers - for people: "PROTO, JSON". */
static const char *offers(const struct gnmi_capabilities *c, char buf[80])
{
	size_t n = 0;
	buf[0] = '\0';
	for (size_t i = 0; c && i < c->n_encodings && n < 60; i++)
		n += (size_t)snprintf(buf + n, 80 - n, "%s%s", n ? ", " : "",
			gnmi_encoding_name(c->encodings[i]));
	return buf;
}

static void session_begin(struct gnmi_target *t, const struct gnmi_capabilities *c)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct err e = {0};
	char list[80];
	const struct profile *p = profile_choose(t, c, a);
	if (!p || !p->gnmi) {
		target_lost(t,
			"%s: no profile fits this device: name one with 'profile:' (rocewatch "
			"profile list)",
			t->address);
		return;
	}
	if (profile_use(t, p, &e) < 0) {
		target_lost(t, "profile %s: %s", p->name, e.text);
		return;
	}
	encodings_choose(t, c);
	if (t->n_encodings == 0) {
		target_lost(t,
			"%s: the device offers the encodings %s, and profile %s reads none of "
			"them: set gnmi.encoding",
			t->address, offers(c, list), p->name);
		return;
	}
	if (c)
		snprintf(t->descr, sizeof(t->descr), "gNMI %.20s, %zu models, encoding %s",
			c->version, c->n_models, gnmi_encoding_name(t->encodings[0]));
	else
		snprintf(t->descr, sizeof(t->descr), "gNMI without Capabilities, encoding %s",
			gnmi_encoding_name(t->encodings[0]));
	t->sink.device(t->sink.arg, t->name, p->name, gnmi_decode_sysname(t->decoder), t->descr);
	t->slow_first = true;
	slow_next(t, 0);
}

static void capabilities_started(void *arg, const char *pem)
{
	if (pem)
		gnmi_target_certificate(arg, pem);
}

static void capabilities_message(void *arg, const void *p, size_t n)
{
	struct gnmi_target *t = arg;
	free((void *)t->answer.p);
	uint8_t *copy = rw_calloc(1, n + 1);
	memcpy(copy, p, n);
	t->answer = (struct gnmi_bytes){copy, n};
}

static void capabilities_done(void *arg, const struct grpc_io_status *s)
{
	struct gnmi_target *t = arg;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct gnmi_capabilities c;
	bool known = s->code == GRPC_IO_OK && t->answer.p &&
		gnmi_decode_capabilities(t->answer.p, t->answer.n, a, &c) == 0;
	if (s->code != GRPC_IO_OK && s->code != GRPC_IO_UNIMPLEMENTED) {
		target_lost_by(t, NULL, s);
		return;
	}
	session_end(t); /* the connection of Capabilities; streams have their own */
	session_begin(t, known ? &c : NULL);
}

static const struct grpc_io_events capabilities_events = {.started = capabilities_started,
	.message = capabilities_message,
	.done = capabilities_done};

static void on_deadline(void *arg)
{
	struct gnmi_target *t = arg;
	t->state.timeouts++;
	target_lost(t,
		"%s: no answer within %.1f s: ping it; check the route, the firewall and the port "
		"in gnmi.address",
		t->address, (double)t->device->gnmi->timeout_ns / 1e9);
}

static void session_start(struct gnmi_target *t)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct gnmi_bytes request;
	struct err e = {0};
	target_change(&t->state, TARGET_STARTING, loop_now(t->loop), wall_now(), NULL);
	told(t);
	int rc = secrets_renew(t, &e);
	if (rc == 0 && !t->io && !(t->io = grpc_io_get(t->loop)))
		rc = err_set(&e, -EAGAIN, "no thread for gRPC: %s", strerror(errno));
	if (rc == 0)
		rc = gnmi_target_channel(t, &t->channel, &e);
	gnmi_encode_capabilities(a, &request);
	if (rc == 0)
		rc = gnmi_target_call(t, t->channel, GNMI_METHOD_CAPABILITIES, request, true, 0,
			&capabilities_events, t, &t->call, &e);
	if (rc < 0) {
		t->state.errors++;
		target_lost(t, *e.file ? "%s: %s" : "%s%s", *e.file ? e.file : "", e.text);
		return;
	}
	if (t->failures == 0)
		gnmi_secrets_expiry(t);
	/* gRPC's own limit of a connection comes first, with a reason */
	loop_timer_start(t->deadline, t->device->gnmi->timeout_ns + NS_PER_S, 0);
}

static void on_timer(void *arg)
{
	struct gnmi_target *t = arg;
	if (t->state.state == TARGET_UP)
		account(t);
	else
		session_start(t);
}

/* ---- new, same, update, free --------------------------------------------- */

static bool profile_known(const struct gnmi_target *t, struct err *e)
{
	const char *wanted = t->device->profile;
	const struct profile *p =
		wanted && !str_eq(wanted, "auto") ? profiles_get(t->set->profiles, wanted) : NULL;
	if (!wanted || str_eq(wanted, "auto") || (p && p->gnmi))
		return true;
	err_set(e, -ENOENT,
		p ? "device %s: profile '%s' has no gNMI streams"
		  : "device %s: no profile '%s'. Those there are: rocewatch profile list",
		t->name, wanted);
	return false;
}

int gnmi_target_new(struct loop *l, struct entities *entities, const struct config_device *device,
	const struct config *config, const struct sink *sink, struct gnmi_target **ret,
	struct err *e)
{
	assert(device->gnmi);
	struct gnmi_target *t = rw_calloc(1, sizeof(*t));
	char address[300];
	snprintf(address, sizeof(address), strchr(device->gnmi->address, ':') ? "[%s]:%u" : "%s:%u",
		device->gnmi->address, device->gnmi->port);
	*t = (struct gnmi_target){.loop = l,
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
	t->timer = loop_timer_new(l, on_timer, t);
	t->deadline = loop_timer_new(l, on_deadline, t);
	t->slow = loop_timer_new(l, on_slow, t);
	t->set = profile_set_get(config, e);
	if (!t->set || !profile_known(t, e)) {
		gnmi_target_free(t);
		return -EINVAL;
	}
	if (credential(t)->tls_skip_verify && !credential(t)->tls_off)
		log_warn(t->name, "gnmi: tls.skip_verify: anyone in between can pose as %s",
			t->address);
	/* now, while we may; what may heal is told by the first try */
	gnmi_secrets_read(credential(t), &t->secrets, &t->secrets_error);
	int64_t spread =
		device->gnmi->interval_ns < NS_PER_S ? device->gnmi->interval_ns : NS_PER_S;
	loop_timer_start(t->timer, (int64_t)(t->random % 1024) * spread / 1024, 0);
	*ret = t;
	return 0;
}

static bool secret_same(const struct config_secret *a, const struct config_secret *b)
{
	return a->from == b->from && str_eq(a->name, b->name);
}

bool gnmi_target_same(const struct gnmi_target *t, const struct config_device *device,
	const struct config *config)
{
	const struct config_gnmi *a = t->device->gnmi, *b = device->gnmi;
	if (!b)
		return false;
	const struct config_gnmi_credential *ca = a->credential->gnmi, *cb = b->credential->gnmi;
	const struct gnmi_target other = {.device = device, .config = config};
	return str_eq(t->device->name, device->name) &&
		str_eq(t->device->profile, device->profile) &&
		profile_set_same(t->set, t->config, config) &&
		cell_bytes(t) == cell_bytes(&other) && str_eq(a->address, b->address) &&
		a->port == b->port && a->interval_ns == b->interval_ns &&
		a->slow_interval_ns == b->slow_interval_ns && a->timeout_ns == b->timeout_ns &&
		a->encoding == b->encoding && a->max_message == b->max_message &&
		str_eq(ca->username, cb->username) && secret_same(&ca->password, &cb->password) &&
		secret_same(&ca->token, &cb->token) && str_eq(ca->tls_ca, cb->tls_ca) &&
		str_eq(ca->tls_cert, cb->tls_cert) && str_eq(ca->tls_key, cb->tls_key) &&
		str_eq(ca->tls_server_name, cb->tls_server_name) && ca->tls_off == cb->tls_off &&
		ca->tls_skip_verify == cb->tls_skip_verify;
}

void gnmi_target_update(
	struct gnmi_target *t, const struct config_device *device, const struct config *config)
{
	t->device = device;
	t->config = config;
	/* equal, as gnmi_target_same() found: and the old one's address may be used again */
	t->set->config = config;
}

void gnmi_target_free(struct gnmi_target *t)
{
	if (!t)
		return;
	if (t->probe)
		t->probe->t = NULL;
	session_end(t);
	streams_free(t);
	grpc_io_put(t->io);
	loop_timer_free(t->timer);
	loop_timer_free(t->deadline);
	loop_timer_free(t->slow);
	profile_set_put(t->set);
	gnmi_secrets_done(&t->secrets);
	free(t->address);
	free(t->name);
	free(t);
}

const struct target *gnmi_target_state(const struct gnmi_target *t)
{
	return &t->state;
}

bool gnmi_target_prefers_snmp(const struct gnmi_target *t, unsigned metric)
{
	const struct profile_gnmi *g = t->profile ? t->profile->gnmi : NULL;
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

static void leaf_view(void *arg, const struct gnmi_leaf_view *v)
{
	const struct leaves *l = arg;
	l->fn(l->arg,
		&(struct gnmi_leaf){.stream = l->s->p->name,
			.how = profile_gnmi_how_name(l->s->p->hows[l->s->how]),
			.path = v->path,
			.what = v->metric >= 0 ? metric_info((unsigned)v->metric)->name : v->what,
			.doc = v->doc,
			.type = v->type,
			.trouble = l->s->trouble,
			.slow = l->s->p->slow,
			.fallback = v->fallback,
			.paths = v->paths,
			.zero = v->zero,
			.wrong_type = v->wrong_type});
}

void gnmi_target_leaves(const struct gnmi_target *t, gnmi_leaf_fn *fn, void *arg)
{
	for (size_t i = 0; i < t->n_streams; i++) {
		struct leaves l = {t->streams[i], fn, arg};
		gnmi_feed_leaves(t->streams[i]->feed, leaf_view, &l);
	}
}

struct gnmi_target_counts gnmi_target_counts(const struct gnmi_target *t)
{
	struct gnmi_target_counts n = {0};
	for (size_t i = 0; i < t->n_streams; i++) {
		const struct gnmi_stream *s = t->streams[i];
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
	n.refused += t->decoder ? gnmi_decode_stats(t->decoder)->wrong_types : 0;
	return n;
}

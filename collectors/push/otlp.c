/*
 * otlp - receives OpenTelemetry metrics by gRPC and HTTP, and delivers samples.
 *
 * Messages come on threads of the libraries. One lock holds the feed and what is around it (.lock);
 * the loop takes the samples out, and no message is taken while too many of them wait.
 */
#include "collectors/target/collector.h"

#include <pthread.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/loop.h"
#include "collectors/push/otlp_grpc.h"
#include "collectors/push/otlp_http.h"
#include "collectors/push/push_feed.h"
#include "collectors/push/push_listen.h"
#include "config/address.h"
#include "config/config.h"
#include "config/profile/profile.h"

#define TICK_NS (NS_PER_S)
#define FLUSH_NS (5 * NS_PER_MS)
#define EXPIRE_NS (60 * NS_PER_S)
#define BURST_S 3 /* seconds of points that may come at once */

enum { PENDING_MAX = 1 << 18 }; /* samples that wait for the loop */
enum { BACKLOG_MAX = 4 << 20 }; /* bytes that wait for the agent */
enum { FLUSH_SAMPLES = 16384 }; /* at once: half a megabyte */

struct otlp {
	struct loop *loop;
	struct sink sink;
	struct collector_backlog backlog;
	struct arena *texts;
	const char *name, *address;
	struct config_push push;
	struct profiles *profiles;
	struct push_listen *listen;
	struct tls_context *tls_grpc, *tls_http;
	struct otlp_grpc *grpc;
	struct otlp_http *http;
	struct mailbox *mailbox;
	struct loop_timer *start, *tick, *flush;
	struct target target;
	uint64_t seed;
	struct network *allow; /* of the loop */
	size_t n_allow;
	bool listed; /* the configuration says who may send */
	struct push_senders *senders; /* of the loop: whose addresses may connect */
	pthread_mutex_t lock; /* of all that follows */
	struct push_feed *feed;
	bool woken; /* the loop knows that samples wait */
	double room; /* points that may come now */
	int64_t room_ns; /* when that was said */
	uint64_t refused_rate, refused_size, refused_full; /* messages */
	struct refused by_rate, by_size, by_full, by_bad; /* the same by sender */
	uint64_t beyond; /* points that were told as beyond the bounds */
	mono_t expired;
	struct complaint crowded;
};

/* ---- messages: threads of the libraries ------------------------------------------ */

/* How many points may come now; refilled by time. */
static bool otlp_has_room(struct otlp *otlp, int64_t now_ns)
{
	const double rate = (double)otlp->push.max_points_s, most = rate * BURST_S;
	otlp->room += rate * (double)(now_ns - otlp->room_ns) / 1e9;
	otlp->room_ns = now_ns;
	if (otlp->room > most)
		otlp->room = most;
	return otlp->room > 0;
}

static void otlp_refused(struct refused *by, const uint8_t source[16])
{
	char host[ADDRESS_TEXT_MAX];
	refused_add(by, address_text(host, source));
}

static void otlp_busy(struct otlp_reply *reply, const char *why)
{
	reply->verdict = OTLP_BUSY;
	reply->retry_s = 1;
	snprintf(reply->message, sizeof(reply->message), "%s", why);
}

static void otlp_take_locked(struct otlp *otlp, const uint8_t source[16], const uint8_t *data,
	size_t n, struct otlp_reply *reply)
{
	struct push_feed_result result;
	size_t waiting;
	push_feed_samples(otlp->feed, &waiting);
	if (!otlp_has_room(otlp, mono_now().ns)) {
		otlp->refused_rate++;
		otlp_refused(&otlp->by_rate, source);
		otlp_busy(reply, "more points a second than push.max_points_s: send again later");
		return;
	}
	if (waiting > PENDING_MAX) {
		otlp->refused_full++;
		otlp_refused(&otlp->by_full, source);
		otlp_busy(reply, "what came before is not stored yet: send again later");
		return;
	}
	if (push_feed_take(otlp->feed, source, data, n, wall_now().ns, &result) < 0) {
		otlp_refused(&otlp->by_bad, source);
		reply->verdict = OTLP_BAD;
		snprintf(reply->message, sizeof(reply->message),
			"no ExportMetricsServiceRequest in protobuf");
		return;
	}
	otlp->room -= (double)result.points;
	reply->verdict = OTLP_TAKEN;
	reply->n_answer = otlp_answer(reply->answer, result.refused, result.message);
	push_feed_samples(otlp->feed, &waiting);
	if (waiting > 0 && !otlp->woken)
		otlp->woken = mailbox_post(otlp->mailbox, otlp);
}

static void otlp_on_message(
	void *arg, int fd, const uint8_t *data, size_t n, bool packed, struct otlp_reply *ret)
{
	struct otlp *otlp = arg;
	uint8_t source[16];
	rw_cleanup(freep) uint8_t *unpacked = NULL;
	*ret = (struct otlp_reply){.verdict = OTLP_BAD};
	if (!push_listen_source(otlp->listen, fd, source))
		return; /* it is over already */
	if (packed) {
		size_t n_unpacked;
		const int rc =
			inflate_bytes(data, n, otlp->push.max_message, &unpacked, &n_unpacked);
		if (rc == -EMSGSIZE)
			ret->verdict = OTLP_LARGE;
		snprintf(ret->message, sizeof(ret->message), "%s",
			rc == -EMSGSIZE ? "the message is larger than push.max_message"
					: "what is packed is neither gzip nor zlib");
		data = unpacked;
		if (rc == 0)
			n = n_unpacked;
	}
	pthread_mutex_lock(&otlp->lock);
	if (packed && !unpacked) {
		otlp->refused_size++;
		otlp_refused(&otlp->by_size, source);
	} else {
		otlp_take_locked(otlp, source, data, n, ret);
	}
	pthread_mutex_unlock(&otlp->lock);
}

/* ---- the loop ---------------------------------------------------------------------- */

static bool otlp_has_backlog(const struct otlp *otlp)
{
	return otlp->backlog.bytes && otlp->backlog.bytes(otlp->backlog.arg) > BACKLOG_MAX;
}

/* Slice by slice, so that what has been acknowledged never meets a full queue. The rest waits, and
 * senders are told to wait. */
static void otlp_flush(struct otlp *otlp)
{
	size_t n = 1;
	pthread_mutex_lock(&otlp->lock);
	while (n > 0 && !otlp_has_backlog(otlp)) {
		const struct sample *samples = push_feed_samples(otlp->feed, &n);
		if (n > FLUSH_SAMPLES)
			n = FLUSH_SAMPLES;
		if (n > 0 && otlp->sink.samples)
			otlp->sink.samples(otlp->sink.arg, samples, n);
		push_feed_taken(otlp->feed, n);
		otlp->target.values += n;
	}
	otlp->woken = n > 0;
	pthread_mutex_unlock(&otlp->lock);
	if (n > 0)
		loop_timer_start(otlp->flush, FLUSH_NS, 0);
}

static void otlp_on_mail(void *arg, void *message)
{
	otlp_flush(arg);
}

static void otlp_on_flush(void *arg)
{
	otlp_flush(arg);
}

static void otlp_name_first(void *arg, const char *name, uint64_t points)
{
	struct str *out = arg;
	str_addf(out, "%s%s (%llu points)", str_if(out->n > 0, ", "), name,
		(unsigned long long)points);
}

/* Who brings more series than its share, and what nobody sends any more. */
static void otlp_look(struct otlp *otlp)
{
	const mono_t now = loop_now(otlp->loop);
	rw_cleanup(str_done) struct str names = {0};
	pthread_mutex_lock(&otlp->lock);
	const uint64_t beyond = push_feed_counts(otlp->feed)->beyond;
	if (beyond > otlp->beyond)
		push_feed_named(otlp->feed, FEED_BEYOND, otlp_name_first, &names);
	if (now.ns - otlp->expired.ns >= EXPIRE_NS) {
		push_feed_expire(otlp->feed, now.ns);
		otlp->expired = now;
	}
	pthread_mutex_unlock(&otlp->lock);
	if (beyond > otlp->beyond)
		complain(&otlp->crowded, now, LOG_WARN_, otlp->name,
			"points are refused: %s; these senders bring more series or names than "
			"leaves room for others. Export less there, or do not allow them "
			"(push.allow)",
			str_or(names.s, "a sender"));
	else
		complaint_over(&otlp->crowded, now, otlp->name, "no more series are refused");
	otlp->beyond = beyond;
}

static void otlp_on_tick(void *arg)
{
	struct otlp *otlp = arg;
	otlp_look(otlp);
	target_polled(&otlp->target, 0, mono_now(), wall_now());
	if (otlp->sink.target)
		otlp->sink.target(otlp->sink.arg, &otlp->target);
}

static void otlp_grpc_door(void *arg, int fd)
{
	const struct otlp *otlp = arg;
	otlp_grpc_add(otlp->grpc, fd);
}

static void otlp_http_door(void *arg, int fd)
{
	const struct otlp *otlp = arg;
	otlp_http_add(otlp->http, fd);
}

/* In the first turn of the loop: by then the process has given up its rights, and threads that
 * start now have none. */
static void otlp_on_start(void *arg)
{
	struct otlp *otlp = arg;
	const struct otlp_door door = {.arg = otlp,
		.take = otlp_on_message,
		.max_message = otlp->push.max_message,
		.max_connections = otlp->push.max_connections};
	struct reason reason;
	int rc = 0;
	if (otlp->push.grpc)
		rc = otlp_grpc_new(&door, &otlp->grpc);
	if (rc == 0 && otlp->push.http)
		rc = otlp_http_new(&door, &otlp->http);
	if (rc < 0) {
		reason_set(&reason, OTLP_START, otlp->name, strerror(-rc));
		target_change(
			&otlp->target, TARGET_BACKOFF, loop_now(otlp->loop), wall_now(), &reason);
	} else {
		push_listen_start(otlp->listen);
		target_change(&otlp->target, TARGET_UP, loop_now(otlp->loop), wall_now(), NULL);
		loop_timer_start(otlp->tick, TICK_NS, TICK_NS);
	}
	if (otlp->sink.target)
		otlp->sink.target(otlp->sink.arg, &otlp->target);
}

/* ---- who may send -------------------------------------------------------------------- */

static bool otlp_allows(void *arg, const uint8_t source[16])
{
	const struct otlp *otlp = arg;
	for (size_t i = 0; i < otlp->n_allow; i++)
		if (network_holds(&otlp->allow[i], source))
			return true;
	return !otlp->listed && push_senders_address(otlp->senders, source);
}

/* Without 'allow': this machine beside the devices. */
static void otlp_allow(struct otlp *otlp, const struct config_capture *place)
{
	static const char *const local[] = {"127.0.0.0/8", "::1/128"};
	free(otlp->allow);
	otlp->allow = rw_calloc(place->n_allow + rw_countof(local), sizeof(*otlp->allow));
	otlp->n_allow = 0;
	for (size_t i = 0; i < place->n_allow; i++)
		if (network_parse(place->allow[i], &otlp->allow[otlp->n_allow]) == 0)
			otlp->n_allow++;
	otlp->listed = place->n_allow > 0;
	for (size_t i = 0; !otlp->listed && i < rw_countof(local); i++)
		if (network_parse(local[i], &otlp->allow[otlp->n_allow]) == 0)
			otlp->n_allow++;
}

static void otlp_configure(void *instance, const void *of, const struct config *config)
{
	struct otlp *otlp = instance;
	const struct config_capture *place = of;
	otlp_allow(otlp, place);
	push_senders_free(otlp->senders);
	otlp->senders = push_senders_new(config);
	pthread_mutex_lock(&otlp->lock);
	push_feed_devices(otlp->feed, config);
	push_feed_interval(otlp->feed, place->interval_ns);
	pthread_mutex_unlock(&otlp->lock);
}

/* ---- life ------------------------------------------------------------------------------ */

static const char *otlp_copy(struct otlp *otlp, const char *text)
{
	if (!text)
		return NULL;
	return arena_strdup(otlp->texts, text);
}

static void otlp_settings(struct otlp *otlp, const struct config_capture *place)
{
	const struct config_push *push = place->push;
	otlp->name = arena_strdup(otlp->texts, str_or(place->name, "push"));
	otlp->push = *push;
	otlp->push.grpc = otlp_copy(otlp, push->grpc);
	otlp->push.http = otlp_copy(otlp, push->http);
	otlp->address = str_or(otlp->push.grpc, str_or(otlp->push.http, ""));
	otlp->target = (struct target){.device = otlp->name,
		.protocol = "otlp",
		.address = otlp->address,
		.interval_ns = TICK_NS};
}

static int otlp_profiles(struct otlp *otlp, const char *dir, struct err *e)
{
	struct err_list errors = {0};
	int rc = profiles_load(dir, &otlp->profiles, &errors);
	if (rc < 0 && errors.n > 0)
		*e = errors.v[0];
	err_list_done(&errors);
	return rc;
}

static int otlp_tls(struct otlp *otlp, const struct config_push *push, struct err *e)
{
	int rc = 0;
	if (!push->cert)
		return 0;
	if (push->grpc)
		rc = tls_context_new(
			push->cert, push->key, push->client_ca, "h2", &otlp->tls_grpc, e);
	if (rc == 0 && push->http)
		rc = tls_context_new(
			push->cert, push->key, push->client_ca, "http/1.1", &otlp->tls_http, e);
	return rc;
}

/* Here, where the process may still open files. */
static int otlp_libraries(const struct config_push *push, struct err *e)
{
	int rc = 0;
	if (push->grpc)
		rc = otlp_grpc_prepare(e);
	if (rc == 0 && push->http)
		rc = otlp_http_prepare(e);
	return rc;
}

static int otlp_open_doors(struct otlp *otlp, const struct config_push *push, struct err *e)
{
	int rc = otlp_libraries(push, e);
	if (rc < 0)
		return rc;
	if (push->grpc)
		rc = push_listen_open(
			otlp->listen, push->grpc, otlp->tls_grpc, otlp_grpc_door, otlp, e);
	if (rc == 0 && push->http)
		rc = push_listen_open(
			otlp->listen, push->http, otlp->tls_http, otlp_http_door, otlp, e);
	return rc;
}

static void otlp_free(struct otlp *otlp)
{
	if (!otlp)
		return;
	otlp_grpc_free(otlp->grpc);
	otlp_http_free(otlp->http);
	if (otlp->feed)
		otlp_flush(otlp);
	push_listen_free(otlp->listen);
	tls_context_free(otlp->tls_grpc);
	tls_context_free(otlp->tls_http);
	mailbox_free(otlp->mailbox);
	loop_timer_free(otlp->start);
	loop_timer_free(otlp->tick);
	loop_timer_free(otlp->flush);
	push_feed_free(otlp->feed);
	push_senders_free(otlp->senders);
	profiles_free(otlp->profiles);
	pthread_mutex_destroy(&otlp->lock);
	free(otlp->allow);
	arena_free(otlp->texts);
	free(otlp);
}

static struct otlp *otlp_new(const struct collector_env *env, const struct config_capture *place)
{
	struct otlp *otlp = rw_calloc(1, sizeof(*otlp));
	otlp->loop = env->loop;
	otlp->sink = *env->sink;
	otlp->backlog = env->backlog;
	otlp->texts = arena_new();
	otlp->seed = siphash_random_key().low;
	pthread_mutex_init(&otlp->lock, NULL);
	otlp_settings(otlp, place);
	otlp->room_ns = mono_now().ns;
	otlp->room = (double)otlp->push.max_points_s;
	const struct push_listen_options options = {
		.max_connections = otlp->push.max_connections, .allow = otlp_allows, .arg = otlp};
	otlp->listen = push_listen_new(otlp->loop, &options);
	otlp->mailbox = mailbox_new(otlp->loop, 4, otlp_on_mail, otlp);
	otlp->start = loop_timer_new(otlp->loop, otlp_on_start, otlp);
	otlp->tick = loop_timer_new(otlp->loop, otlp_on_tick, otlp);
	otlp->flush = loop_timer_new(otlp->loop, otlp_on_flush, otlp);
	return otlp;
}

static int otlp_open(const struct collector_env *env, const void *config, void **ret, struct err *e)
{
	const struct config_capture *place = config;
	struct otlp *otlp = otlp_new(env, place);
	int rc = otlp_profiles(otlp, place->push->profile_dir, e);
	if (rc == 0)
		rc = otlp_tls(otlp, place->push, e);
	if (rc == 0)
		rc = otlp_open_doors(otlp, place->push, e);
	if (rc < 0) {
		otlp_free(otlp);
		return rc;
	}
	const struct push_feed_options options = {.entities = env->entities,
		.profiles = otlp->profiles,
		.source = SOURCE_PUSH,
		.seed = otlp->seed};
	otlp->feed = push_feed_new(&options);
	otlp_configure(otlp, place, env->config);
	target_change(&otlp->target, TARGET_STARTING, loop_now(otlp->loop), wall_now(), NULL);
	loop_timer_start(otlp->start, 0, 0);
	*ret = otlp;
	return 0;
}

/* ---- the collector ----------------------------------------------------------------------- */

static bool otlp_place(const struct config *config, size_t i, struct collector_place *ret)
{
	if (i >= config->n_pushes)
		return false;
	const struct config_capture *place = &config->pushes[i];
	*ret = (struct collector_place){.name = place->name, .address = str_or(place->listen, "")};
	if (place->push && (place->push->grpc || place->push->http))
		ret->config = place;
	return true;
}

static bool otlp_same(const void *instance, const void *place, const struct config *config)
{
	const struct otlp *otlp = instance;
	const struct config_capture *is = place;
	return str_eq(otlp->name, is->name) && str_eq(otlp->push.grpc, is->push->grpc) &&
		str_eq(otlp->push.http, is->push->http);
}

static void otlp_close(void *instance)
{
	otlp_free(instance);
}

static const struct target *otlp_state(const void *instance)
{
	return &((const struct otlp *)instance)->target;
}

struct otlp_figures {
	collector_figure_fn *fn;
	void *arg;
	const char *prefix;
};

static void otlp_named_figure(void *arg, const char *name, uint64_t points)
{
	const struct otlp_figures *figures = arg;
	char key[FEED_NAME_MAX + 32];
	snprintf(key, sizeof(key), "%s%s", figures->prefix, name);
	figures->fn(figures->arg, key, "", (double)points);
}

static void otlp_figures_feed(struct otlp *otlp, collector_figure_fn *fn, void *arg)
{
	static const char *const prefixes[] = {[FEED_UNKNOWN_NAME] = "unknown:",
		[FEED_UNKNOWN_DEVICE] = "refused:no_device:",
		[FEED_UNSUPPORTED] = "unsupported:",
		[FEED_BEYOND] = "refused:share:",
		[FEED_MISNAMED] = "misnamed:",
		[FEED_PINNED] = "refused:pinned:"};
	const struct push_feed_counts *c = push_feed_counts(otlp->feed);
	const struct {
		const char *key;
		uint64_t value;
	} figures[] = {
		{"messages", c->messages},
		{"bad_messages", c->bad_messages},
		{"points", c->points},
		{"samples", c->samples},
		{"series", c->series},
		{"unknown_points", c->unknown_points},
		{"unknown_names", c->unknown_names},
		{"unsupported_points", c->unsupported},
		{"delta_points", c->delta},
		{"no_device_points", c->no_device},
		{"misnamed", c->misnamed},
		{"pinned_points", c->pinned},
		{"no_place_points", c->no_place},
		{"no_value_points", c->no_value},
		{"repeated_points", c->repeated},
		{"thinned_points", c->thinned},
		{"off_clock_points", c->off_clock},
		{"beyond_points", c->beyond},
		{"series_forgotten", c->forgotten},
		{"refused_rate", otlp->refused_rate},
		{"refused_size", otlp->refused_size},
		{"refused_full", otlp->refused_full},
	};
	for (size_t i = 0; i < rw_countof(figures); i++)
		fn(arg, figures[i].key, "", (double)figures[i].value);
	refused_figures(&otlp->by_rate, "rate", fn, arg);
	refused_figures(&otlp->by_size, "size", fn, arg);
	refused_figures(&otlp->by_full, "full", fn, arg);
	refused_figures(&otlp->by_bad, "malformed", fn, arg);
	for (enum push_feed_kind kind = 0; kind < FEED_KINDS; kind++) {
		struct otlp_figures named = {fn, arg, prefixes[kind]};
		push_feed_named(otlp->feed, kind, otlp_named_figure, &named);
	}
}

static void otlp_figures(const void *instance, collector_figure_fn *fn, void *arg)
{
	struct otlp *otlp = (struct otlp *)(uintptr_t)instance;
	const struct push_listen_counts *c = push_listen_counts(otlp->listen);
	fn(arg, "connections", "", c->open);
	fn(arg, "accepted", "", (double)c->accepted);
	fn(arg, "strangers", "", (double)c->strangers);
	fn(arg, "crowded", "", (double)c->crowded);
	fn(arg, "failed_handshakes", "", (double)c->failed_handshakes);
	refused_figures(&c->by_stranger, "not_allowed", fn, arg);
	refused_figures(&c->by_crowded, "crowded", fn, arg);
	pthread_mutex_lock(&otlp->lock);
	otlp_figures_feed(otlp, fn, arg);
	pthread_mutex_unlock(&otlp->lock);
}

extern const struct collector collector_otlp;
const struct collector collector_otlp = {.name = "otlp",
	.role = COLLECTS_PACKETS,
	.own_process = true,
	.family = "push",
	.place = otlp_place,
	.open = otlp_open,
	.same = otlp_same,
	.update = otlp_configure,
	.close = otlp_close,
	.state = otlp_state,
	.figures = otlp_figures};

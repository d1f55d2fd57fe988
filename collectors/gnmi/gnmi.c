/* gnmi - the life of a target: secrets, Capabilities, the choice of the profile, which stream runs
 * when, and the collector's functions. */
#include "collectors/gnmi/gnmi_target.h"

#include "base/loop.h"
#include "collectors/gnmi/gnmi_match.h"
#include "db/model/metric.h"

static const unsigned encodings_usual[] = {
	GNMI_ENC_PROTO, GNMI_ENC_JSON_IETF, GNMI_ENC_JSON, GNMI_ENC_ASCII};

static void on_stream_changed(
	struct gnmi_target *target, struct gnmi_stream *stream, const struct grpc_io_status *why);

static const struct config_login *gnmi_credential(const struct gnmi_target *target)
{
	return target->machine.device->gnmi->credential->gnmi;
}

/* ---- secrets ------------------------------------------------------------- */

static int secrets_renew(struct gnmi_target *target, struct err *e)
{
	int rc = login_secrets_renew(gnmi_credential(target), &target->secrets, e);
	if (rc == 0)
		rc = gnmi_secrets_complete(gnmi_credential(target), &target->secrets, e);
	return rc;
}

/* ---- failure ------------------------------------------------------------- */

static void session_end(void *owner)
{
	struct gnmi_target *target = owner;
	for (size_t i = 0; i < target->n_streams; i++)
		gnmi_stream_stop(target->streams[i]);
	grpc_io_call_free(target->call);
	grpc_io_close(target->channel);
	target->call = NULL;
	target->channel = NULL;
	free((void *)target->answer.p);
	target->answer = (struct gnmi_bytes){0};
	loop_timer_stop(target->machine.deadline);
	loop_timer_stop(target->slow);
	target->slow_at = target->n_streams;
}

static void on_probed(struct gnmi_target *target, const struct tls_probe *probe,
	const struct grpc_io_status *status)
{
	struct reason reason;
	gnmi_reason_probed(target, probe, status, &reason);
	target_lost_for(&target->machine, &reason);
}

/* target_lost_by - the reason is how a call ended; where that may be TLS, what a probe finds. */
static void target_lost_by(struct gnmi_target *target, const struct gnmi_stream *stream,
	const struct grpc_io_status *status)
{
	struct reason reason;
	target->machine.state.errors++;
	gnmi_reason(target, stream, status, &reason);
	if (!stream && gnmi_reason_is_tls(target, status)) {
		rw_cleanup(freep) char *text = rw_strdup(status->text);
		const struct grpc_io_status copy = {status->code, text};
		session_end(target);
		if (gnmi_probe_start(target, &copy, on_probed))
			return;
	}
	if (stream && *stream->trouble.text)
		reason = stream->trouble;
	target_lost_for(&target->machine, &reason);
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

/* profile_use - makes the decoder and the streams of @profile; those of another one are dropped. */
static int profile_use(struct gnmi_target *target, const struct profile *profile, struct err *e)
{
	if (target->machine.profile == profile && target->decoder)
		return 0;
	streams_free(target);
	target->machine.profile = profile;
	void **compiled = profile_set_slot(target->machine.set, gnmi_compiled_set_free);
	if (!*compiled)
		*compiled = gnmi_compiled_set_new();
	target->decoder = gnmi_decoder_new(target->machine.entities, target->machine.name, profile,
		*compiled, target_cell_bytes(target->machine.device, target->machine.config));
	target->streams = rw_calloc(profile->gnmi->n_streams + 1, sizeof(*target->streams));
	for (size_t i = 0; i < profile->gnmi->n_streams; i++) {
		struct gnmi_stream *stream =
			gnmi_stream_new(target, profile->gnmi->streams[i], on_stream_changed, e);
		if (!stream) {
			streams_free(target);
			return -EINVAL;
		}
		target->streams[target->n_streams++] = stream;
	}
	target->slow_at = target->n_streams;
	return 0;
}

/* fast_start - starts the streams of counters; one that fails at once may end the session. */
static void fast_start(struct gnmi_target *target)
{
	struct target_machine *machine = &target->machine;
	size_t n = 0;
	target->slow_first = false;
	for (size_t i = 0; i < target->n_streams; i++)
		n += !target->streams[i]->profile->slow;
	if (n == 0)
		target_lost(machine, GNMI_NO_COUNTERS, machine->address, machine->profile->name);
	for (size_t i = 0; i < target->n_streams; i++) {
		if (machine->state.state == TARGET_BACKOFF)
			return;
		if (!target->streams[i]->profile->slow)
			gnmi_stream_start(target->streams[i]);
	}
}

/* slow_next - starts the next slow stream from index @from on; after the last one, the fast
 * streams. */
static void slow_next(struct gnmi_target *target, size_t from)
{
	for (size_t i = from; i < target->n_streams; i++) {
		if (!target->streams[i]->profile->slow)
			continue;
		target->slow_at = i;
		gnmi_stream_start(target->streams[i]);
		return;
	}
	target->slow_at = target->n_streams;
	loop_timer_start(target->slow,
		target_jittered(&target->machine, target->machine.device->gnmi->slow_interval_ns),
		0);
	if (target->slow_first)
		fast_start(target);
}

static void on_slow(void *arg)
{
	slow_next(arg, 0);
}

/* fast_live - does a stream of counters deliver, or may it soon? */
static bool fast_live(const struct gnmi_target *target)
{
	for (size_t i = 0; i < target->n_streams; i++) {
		const struct gnmi_stream *stream = target->streams[i];
		if (stream->profile->slow)
			continue;
		if (stream->state == STREAM_LIVE || stream->state == STREAM_OPENING)
			return true;
	}
	return false;
}

/* ---- why a target that is up delivers nothing ----------------------------- */

static uint64_t gnmi_unknown_paths(const struct gnmi_target *target, const char **ret_example)
{
	uint64_t sum = 0;
	*ret_example = "";
	for (size_t i = 0; i < target->n_streams; i++) {
		const char *example;
		const uint64_t n = gnmi_feed_unknown(target->streams[i]->feed, &example);
		sum += n;
		if (n > 0 && !**ret_example)
			*ret_example = example;
	}
	return sum;
}

/* The stream of counters that is refused, or NULL. */
static const struct gnmi_stream *gnmi_refused_stream(const struct gnmi_target *target)
{
	for (size_t i = 0; i < target->n_streams; i++) {
		const struct gnmi_stream *stream = target->streams[i];
		if (!stream->profile->slow && *stream->trouble.text)
			return stream;
	}
	return NULL;
}

/* gnmi_explain - no value came in the last interval, although the session is there: why, as far as
 * it is known. Nothing is said while the first round is under way. */
static void gnmi_explain(const struct gnmi_target *target, struct reason *ret)
{
	const char *address = target->machine.address, *example;
	const struct gnmi_stream *refused = gnmi_refused_stream(target);
	const uint64_t unknown = gnmi_unknown_paths(target, &example);
	bool none = target->n_streams > 0;
	*ret = (struct reason){.code = REASON_NONE};
	for (size_t i = 0; i < target->n_streams; i++)
		none = none && (target->streams[i]->profile->slow || target->streams[i]->none);
	if (unknown == 0 && refused)
		*ret = refused->trouble;
	else if (unknown > 0)
		reason_set(ret, GNMI_UNKNOWN_PATHS, address, (double)unknown,
			target->machine.profile->name, example);
	else if (none)
		reason_set(ret, GNMI_HAS_NONE, address, target->machine.profile->name);
}

/* gnmi_account - once per interval: it counts as a poll when values came. */
static void gnmi_account(struct gnmi_target *target)
{
	struct target *state = &target->machine.state;
	const bool came = state->values != target->values_before;
	struct reason why = {.code = REASON_NONE};
	if (came || state->n_poll == 0)
		target_polled(state, target->lag_s, mono_now(), wall_now());
	if (!came)
		gnmi_explain(target, &why);
	snprintf(state->reason, sizeof(state->reason), "%s", why.text);
	state->reason_code = why.code;
	target->values_before = state->values;
	target_report(&target->machine);
}

static void target_up(struct gnmi_target *target)
{
	struct target_machine *machine = &target->machine;
	const int64_t interval_ns = machine->device->gnmi->interval_ns;
	machine->failures = 0;
	if (machine->state.state == TARGET_UP)
		return;
	target_change(&machine->state, TARGET_UP, loop_now(machine->loop), wall_now(), NULL);
	gnmi_account(target);
	if (!gnmi_decode_has_lldp(target->decoder))
		gnmi_target_neighbors(target);
	loop_timer_start(machine->timer, interval_ns, interval_ns);
}

/* slow_changed - a slow stream ended its round, or failed: the next one is due. */
static void slow_changed(
	struct gnmi_target *target, struct gnmi_stream *stream, const struct grpc_io_status *why)
{
	/* 1. while the target starts: the device is lost, not only this stream */
	if (why && target->slow_first && !gnmi_reason_is_request(why) &&
		why->code != GRPC_IO_DEADLINE_EXCEEDED) {
		target_lost_by(target, stream, why);
		return;
	}
	/* 2. this stream cannot be had; a device without LLDP has no neighbours */
	if (why) {
		gnmi_stream_stop(stream);
		if (gnmi_feed_has_lldp(stream->feed))
			gnmi_target_neighbors(target);
	}
	/* 3. it was its turn, and it is over */
	const bool its_turn =
		target->slow_at < target->n_streams && target->streams[target->slow_at] == stream;
	if (its_turn && stream->state == STREAM_REST)
		slow_next(target, target->slow_at + 1);
}

static void on_stream_changed(
	struct gnmi_target *target, struct gnmi_stream *stream, const struct grpc_io_status *why)
{
	if (stream->profile->slow)
		slow_changed(target, stream, why);
	else if (stream->state == STREAM_LIVE)
		target_up(target);
	else if (why && !fast_live(target))
		target_lost_by(target, stream, why);
}

/* ---- Capabilities -------------------------------------------------------- */

/* encodings_choose - those to try, in order: the configured one alone; else those of the profile,
 * or the usual ones, that the device offers. A device that does not say offers all. */
static void encodings_choose(
	struct gnmi_target *target, const struct gnmi_capabilities *capabilities)
{
	const struct profile_gnmi *profile = target->machine.profile->gnmi;
	const int configured = target->machine.device->gnmi->encoding;
	const unsigned *wanted = encodings_usual;
	size_t n = rw_countof(encodings_usual);
	target->n_encodings = 0;
	if (configured >= 0) {
		target->encodings[target->n_encodings++] = (unsigned)configured;
		return;
	}
	if (profile->n_encodings) {
		wanted = profile->encodings;
		n = profile->n_encodings;
	}
	const bool any = !capabilities || capabilities->n_encodings == 0;
	for (size_t i = 0; i < n; i++)
		if (any || gnmi_capabilities_has(capabilities, (enum gnmi_encoding)wanted[i]))
			target->encodings[target->n_encodings++] = wanted[i];
}

static const struct profile *profile_choose(const struct gnmi_target *target,
	const struct gnmi_capabilities *capabilities, struct arena *a)
{
	const char *wanted = target->machine.device->profile;
	if (wanted && !str_eq(wanted, "auto"))
		return profiles_get(target->machine.set->profiles, wanted);
	size_t n = 0;
	if (capabilities)
		n = capabilities->n_models;
	const char **names = arena_array(a, const char *, n + 1);
	for (size_t i = 0; i < n; i++)
		names[i] = capabilities->models[i].name;
	return profiles_match_models(target->machine.set->profiles, names, n);
}

/* gnmi_offers - the device's encodings for people: "PROTO, JSON". */
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
		target_lost(&target->machine, GNMI_NO_PROFILE, target->machine.address);
		return;
	}
	if (profile_use(target, p, &e) < 0) {
		target_lost(&target->machine, GNMI_BAD_PROFILE, p->name, e.text);
		return;
	}
	encodings_choose(target, capabilities);
	if (target->n_encodings == 0) {
		target_lost(&target->machine, GNMI_OFFERS, target->machine.address,
			gnmi_offers(capabilities, list), p->name);
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
	target->machine.sink.device(target->machine.sink.arg, target->machine.name, p->name,
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
	struct gnmi_target *target = arg;
	uint8_t *copy = rw_calloc(1, n + 1);
	memcpy(copy, data, n);
	free((void *)target->answer.p);
	target->answer = (struct gnmi_bytes){copy, n};
}

static void capabilities_done(void *arg, const struct grpc_io_status *status)
{
	struct gnmi_target *target = arg;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const struct gnmi_bytes *answer = &target->answer;
	struct gnmi_capabilities decoded;
	const struct gnmi_capabilities *capabilities = NULL;
	if (status->code != GRPC_IO_OK && status->code != GRPC_IO_UNIMPLEMENTED) {
		target_lost_by(target, NULL, status);
		return;
	}
	if (status->code == GRPC_IO_OK && answer->p &&
		gnmi_decode_capabilities(answer->p, answer->n, a, &decoded) == 0)
		capabilities = &decoded;
	session_end(target); /* the connection of Capabilities; streams have their own */
	session_begin(target, capabilities);
}

static const struct grpc_io_events capabilities_events = {.started = capabilities_started,
	.message = capabilities_message,
	.done = capabilities_done};

static void gnmi_on_deadline(void *arg)
{
	struct gnmi_target *target = arg;
	struct target_machine *machine = &target->machine;
	machine->state.timeouts++;
	target_lost(machine, GNMI_CAPABILITIES_TIMEOUT, machine->address,
		(double)machine->device->gnmi->timeout_ns / 1e9);
}

static int capabilities_call(struct gnmi_target *target, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct gnmi_call call = {.method = GNMI_METHOD_CAPABILITIES,
		.unary = true,
		.events = &capabilities_events,
		.arg = target};
	gnmi_encode_capabilities(a, &call.request);
	return gnmi_target_call(target, target->channel, &call, &target->call, e);
}

/* capabilities_ask - the first call of a session. 0, or negative errno with @e. */
static int capabilities_ask(struct gnmi_target *target, struct err *e)
{
	if (!target->io)
		target->io = grpc_io_get(target->machine.loop, e);
	if (!target->io)
		return -EAGAIN;
	int rc = gnmi_target_channel(target, &target->channel, e);
	if (rc == 0)
		rc = capabilities_call(target, e);
	return rc;
}

static void gnmi_session_start(struct gnmi_target *target)
{
	struct target_machine *machine = &target->machine;
	struct err e = {0};
	target_change(&machine->state, TARGET_STARTING, loop_now(machine->loop), wall_now(), NULL);
	target_report(machine);
	if (secrets_renew(target, &e) < 0) {
		rw_cleanup(str_done) struct str why = {0};
		str_addf(&why, "%s%s%s", e.file, str_if(*e.file, ": "), e.text);
		machine->state.errors++;
		target_lost(machine, GNMI_SECRET, why.s);
		return;
	}
	if (capabilities_ask(target, &e) < 0) {
		machine->state.errors++;
		target_lost(machine, GNMI_SETUP, machine->address, e.text);
		return;
	}
	if (machine->failures == 0)
		gnmi_secrets_expiry(target);
	/* gRPC's own limit of a connection comes first, and it has a reason */
	target_limit(machine, machine->device->gnmi->timeout_ns + NS_PER_S);
}

static void gnmi_on_timer(void *arg)
{
	struct gnmi_target *target = arg;
	if (target->machine.state.state == TARGET_UP)
		gnmi_account(target);
	else
		gnmi_session_start(target);
}

/* ---- new, same, update, free --------------------------------------------- */

static int64_t gnmi_interval_ns(const struct target_machine *machine)
{
	return machine->device->gnmi->interval_ns;
}

static bool gnmi_serves(const struct profile *profile)
{
	return profile->gnmi != NULL;
}

static const struct target_hooks gnmi_target_hooks = {.protocol = "gnmi",
	.due = gnmi_on_timer,
	.deadline = gnmi_on_deadline,
	.session_end = session_end,
	.interval_ns = gnmi_interval_ns,
	.profile_serves = gnmi_serves,
	.profile_rows = "gNMI streams",
	.backoff_min_ns = 200 * NS_PER_MS,
	.backoff_max_ns = 60 * NS_PER_S};

int gnmi_target_new(struct loop *loop, struct entities *entities,
	const struct config_device *device, const struct config *config, const struct sink *sink,
	struct gnmi_target **ret, struct err *e)
{
	assert(device->gnmi);
	struct gnmi_target *target = rw_calloc(1, sizeof(*target));
	struct target_machine *machine = &target->machine;
	const struct target_setup setup = {.loop = loop,
		.entities = entities,
		.device = device,
		.config = config,
		.sink = sink,
		.host = device->gnmi->address,
		.port = device->gnmi->port};
	int rc = target_init(machine, &gnmi_target_hooks, target, &setup, e);
	if (rc < 0) {
		gnmi_target_free(target);
		return rc;
	}
	const struct config_login *credential = gnmi_credential(target);
	machine->state.interval_ns = device->gnmi->interval_ns;
	target->slow = loop_timer_new(loop, on_slow, target);
	if (credential->tls_skip_verify && !credential->tls_off)
		log_warn(machine->name, "gnmi: tls.skip_verify: anyone on the way can pose as %s",
			machine->address);
	/* Now, while we have the rights. The first try reports an error: it may be gone by then. */
	secrets_renew(target, NULL);
	target_start_spread(machine, device->gnmi->interval_ns);
	*ret = target;
	return 0;
}

void gnmi_target_free(struct gnmi_target *target)
{
	if (!target)
		return;
	gnmi_probe_forget(target);
	session_end(target);
	streams_free(target);
	grpc_io_put(target->io);
	loop_timer_free(target->slow);
	login_secrets_done(&target->secrets);
	target_done(&target->machine);
	free(target);
}

const struct target *gnmi_target_state(const struct gnmi_target *target)
{
	return &target->machine.state;
}

static bool gnmi_collector_prefers_other(const void *instance, unsigned metric)
{
	const struct gnmi_target *target = instance;
	if (!target->machine.profile)
		return false;
	const struct profile_gnmi *profile = target->machine.profile->gnmi;
	for (size_t i = 0; profile && i < profile->n_prefer_snmp; i++)
		if (profile->prefer_snmp[i] == metric)
			return true;
	return false;
}

/* ---- for "profile test" -------------------------------------------------- */

struct stream_values {
	const struct gnmi_stream *stream;
	collector_value_fn *fn;
	void *arg;
};

/* Did the device answer with no, rather than not at all? */
static bool stream_refusal(const struct gnmi_stream *stream)
{
	static const enum reason_code refusals[] = {REASON_GNMI_PATH, REASON_GNMI_ENCODING,
		REASON_GNMI_STREAM_REFUSED, REASON_GNMI_NOT_SERVED, REASON_GNMI_PERMISSION,
		REASON_GNMI_TOO_LARGE, REASON_GNMI_NO_ROOM, REASON_GNMI_COMPRESSED};
	for (size_t i = 0; i < rw_countof(refusals); i++)
		if (stream->trouble.code == refusals[i])
			return true;
	return stream->state == STREAM_REFUSED;
}

static enum collector_outcome stream_outcome(const struct gnmi_stream *stream)
{
	if (stream->none)
		return OUTCOME_HAS_NONE;
	if (!*stream->trouble.text)
		return OUTCOME_FINE;
	if (stream_refusal(stream))
		return OUTCOME_REFUSED;
	return OUTCOME_SILENT;
}

static void stream_value(void *arg, const struct gnmi_leaf_view *view)
{
	const struct stream_values *values = arg;
	const struct gnmi_stream *stream = values->stream;
	const struct profile_gnmi_stream *profile = stream->profile;
	struct collector_value value = {.table = profile->name,
		.how = profile_gnmi_how_name(profile->hows[stream->way]),
		.path = view->path,
		.what = view->what,
		.doc = view->doc,
		.type = view->type,
		.trouble = stream->trouble.text,
		.slow = profile->slow,
		.fallback = view->fallback,
		.outcome = stream_outcome(stream),
		.rows = view->paths,
		.zero = view->zero,
		.wrong_type = view->wrong_type};
	if (view->metric >= 0)
		value.what = metric_info((unsigned)view->metric)->name;
	values->fn(values->arg, &value);
}

void gnmi_target_values(const struct gnmi_target *target, collector_value_fn *fn, void *arg)
{
	for (size_t i = 0; i < target->n_streams; i++) {
		struct stream_values values = {target->streams[i], fn, arg};
		gnmi_feed_leaves(target->streams[i]->feed, stream_value, &values);
	}
}

static void counts_add(struct gnmi_target_counts *sum, const struct gnmi_stream *stream)
{
	const struct gnmi_counts *counts = &stream->counts;
	sum->messages += counts->messages;
	sum->bytes += counts->bytes;
	sum->updates += counts->updates;
	sum->refused += counts->bad_messages + counts->large_messages + counts->bad_paths +
		counts->bad_json + counts->bad_lists;
	sum->odd_times += stream->time.odd;
	sum->stale += stream->n_stale;
	sum->reconnects += stream->n_reconnects;
	sum->stalls += stream->n_stalls;
	if (stream->call)
		sum->stalls += grpc_io_call_counts(stream->call).stalls;
	if (stream->time.skew_ns)
		sum->skew_s = (double)stream->time.skew_ns / 1e9;
}

struct gnmi_target_counts gnmi_target_counts(const struct gnmi_target *target)
{
	struct gnmi_target_counts sum = {.unknown_path = ""};
	for (size_t i = 0; i < target->n_streams; i++)
		counts_add(&sum, target->streams[i]);
	if (!target->decoder)
		return sum;
	sum.wrong_types = gnmi_decode_stats(target->decoder)->wrong_types;
	sum.refused += sum.wrong_types;
	sum.unknown_paths = gnmi_unknown_paths(target, &sum.unknown_path);
	return sum;
}

/* ---- the collector ------------------------------------------------------- */

static bool gnmi_collector_place(const struct config *config, size_t i, struct collector_place *ret)
{
	if (i >= config->n_devices)
		return false;
	const struct config_device *device = &config->devices[i];
	*ret = (struct collector_place){.name = device->name};
	if (device->gnmi) {
		ret->address = device->gnmi->address;
		ret->config = device;
	}
	return true;
}

static int gnmi_collector_open(
	const struct collector_env *env, const void *place, void **ret, struct err *e)
{
	struct gnmi_target *target;
	int rc = gnmi_target_new(
		env->loop, env->entities, place, env->config, env->sink, &target, e);
	if (rc == 0)
		*ret = target;
	return rc;
}

static bool gnmi_collector_same(
	const void *instance, const void *place, const struct config *config)
{
	const struct gnmi_target *target = instance;
	const struct config_device *device = place;
	const struct config_gnmi *is = target->machine.device->gnmi, *wanted = device->gnmi;
	if (!wanted || !target_same(&target->machine, device, config))
		return false;
	if (!str_eq(is->address, wanted->address) || is->port != wanted->port)
		return false;
	if (is->interval_ns != wanted->interval_ns ||
		is->slow_interval_ns != wanted->slow_interval_ns ||
		is->timeout_ns != wanted->timeout_ns)
		return false;
	if (is->encoding != wanted->encoding || is->max_message != wanted->max_message)
		return false;
	return login_same(is->credential->gnmi, wanted->credential->gnmi);
}

static void gnmi_collector_update(void *instance, const void *place, const struct config *config)
{
	struct gnmi_target *target = instance;
	target_update(&target->machine, place, config);
}

static void gnmi_collector_close(void *instance)
{
	gnmi_target_free(instance);
}

static const struct target *gnmi_collector_state(const void *instance)
{
	return gnmi_target_state(instance);
}

/* What can be said in words only: the key holds them, behind a prefix. */
static void gnmi_collector_words(
	const struct gnmi_target *target, collector_figure_fn *fn, void *arg)
{
	const char *example;
	rw_cleanup(str_done) struct str key = {0};
	if (gnmi_unknown_paths(target, &example) > 0) {
		str_addf(&key, "unknown_path/%s", example);
		fn(arg, key.s, "", 1);
	}
	for (size_t i = 0; i < target->n_streams; i++) {
		const struct gnmi_stream *stream = target->streams[i];
		const enum collector_outcome outcome = stream_outcome(stream);
		key.n = 0;
		if (outcome == OUTCOME_HAS_NONE)
			str_addf(&key, "has_none/%s", stream->profile->name);
		else if (outcome != OUTCOME_FINE)
			str_addf(&key, "trouble/%s", stream->trouble.text);
		else
			continue;
		fn(arg, key.s, "", 1);
	}
}

static void gnmi_collector_figures(const void *instance, collector_figure_fn *fn, void *arg)
{
	const struct gnmi_target_counts counts = gnmi_target_counts(instance);
	fn(arg, "messages", "", (double)counts.messages);
	fn(arg, "bytes", "", (double)counts.bytes);
	fn(arg, "updates", "", (double)counts.updates);
	fn(arg, "refused", "", (double)counts.refused);
	fn(arg, "wrong_types", "", (double)counts.wrong_types);
	fn(arg, "unknown_paths", "", (double)counts.unknown_paths);
	gnmi_collector_words(instance, fn, arg);
	fn(arg, "odd_times", "", (double)counts.odd_times);
	fn(arg, "stale", "", (double)counts.stale);
	fn(arg, "reconnects", "", (double)counts.reconnects);
	fn(arg, "stalls", "", (double)counts.stalls);
	fn(arg, "skew_s", "s", counts.skew_s);
}

static void gnmi_collector_values(const void *instance, collector_value_fn *fn, void *arg)
{
	gnmi_target_values(instance, fn, arg);
}

const struct collector collector_gnmi = {.name = "gnmi",
	.role = COLLECTS_DEVICE_PREFERRED,
	.family = "gnmi",
	.place = gnmi_collector_place,
	.open = gnmi_collector_open,
	.same = gnmi_collector_same,
	.update = gnmi_collector_update,
	.close = gnmi_collector_close,
	.state = gnmi_collector_state,
	.figures = gnmi_collector_figures,
	.prefers_other = gnmi_collector_prefers_other,
	.values = gnmi_collector_values};

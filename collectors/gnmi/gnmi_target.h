/*
 * gnmi_target - one device over gNMI: what gnmi.c (its life), gnmi_stream.c (one subscription),
 * gnmi_call.c, gnmi_stream.c, gnmi_call.c, gnmi_call.c and gnmi_call.c share. For these
 * only.
 */
#pragma once

#include "base/base.h"

#include "collectors/gnmi/gnmi.h"
#include "collectors/gnmi/gnmi_decode.h"
#include "collectors/gnmi/grpc_io.h"
#include "collectors/target/target.h"
#include "proto/gnmi.h"
#include "proto/gnmi_codec.h"
#include "proto/gnmi_walk.h"

struct gnmi_backlog;
struct gnmi_stream;

/*
 * gnmi_backlog - the messages of one call on their way to its stream: at once while they are small
 * and few, else piece by piece, with the loop's other work in between. One device may keep the loop
 * busy for BACKLOG_SHARE of the time, and never for longer than a slice at once; meanwhile HTTP/2's
 * flow control holds it back, and what waits here is bounded by one message and GRPC_IO_HELD_MAX.
 *
 * Loop thread. Callbacks may call gnmi_backlog_clear(), not gnmi_backlog_free().
 */

struct gnmi_backlog_hooks {
	void (*message)(void *arg, const void *data, size_t n); /* one piece */
	void (*idle)(void *arg); /* after the pieces of one turn */
	void (*done)(void *arg, const struct grpc_io_status *status); /* the last piece was given */
	void (*hold)(void *arg, bool hold); /* read no more from the device, or go on */
};

/*
 * gnmi_time - pure: the time at which a value was taken. The device's own stamp is best, because
 * rates follow its clock. But a stamp may be missing, its clock may be wrong, or it may be the time
 * of the last change although the value was sampled now. Then the time of arrival is used:
 *
 *   1. the stamp is more than 1 s in the future       the clock is ahead: arrival, for this stream,
 *                                                     for ten minutes
 *   2. no stamp of a whole period was fresh           the clock is behind, or the path is slow:
 *                                                     arrival
 *   3. the stamp is older than half an interval + 1 s the value did not change since: arrival
 *   4. none of these                                  the stamp
 *
 * Values with the same stamp were taken at the same time. When they come in many messages, one per
 * counter, the arrival of the first is used for all that come within half an interval. Otherwise
 * each counter of a port would have its own time, and its own row in the database.
 */

struct gnmi_time { /* of one stream; zeroed, then .interval_ns set */
	int64_t interval_ns;
	int64_t ahead_until_ns; /* arrival */
	/* begin of the period; its least lag, that of the one before */
	int64_t period_ns, least_ns, before_ns;
	bool has_least, has_before;
	/* the last stamp that was not used, and the arrival that stands for it */
	int64_t stamp_ns, stands_ns;
	/* notifications whose stamp was not used though there was one */
	uint64_t odd;
	/* how far the clock is behind (or, negative, ahead) while it is not used; else 0 */
	int64_t skew_ns;
};

/* gnmi_time_take - ns since 1970 of what came at @arrival_ns with the stamp of @update. */
int64_t gnmi_time_take(
	struct gnmi_time *time, const struct gnmi_update *update, int64_t arrival_ns);

/*
 * tls_probe - one TLS handshake of our own, which shows more exactly than gRPC what is wrong with a
 * server. The only file that includes OpenSSL. Blocking: tls_probe() runs on a thread of its own
 * (loop_work).
 */

#define TLS_PROBE_TEXT_MAX 400

enum tls_finding {
	TLS_FINE, /* nothing is wrong with TLS, or not any more */
	TLS_UNREACHABLE,
	TLS_NOT_SPOKEN, /* something listens, but speaks no TLS */
	TLS_EXPIRED,
	TLS_NOT_YET_VALID,
	TLS_UNKNOWN_CA,
	TLS_WRONG_NAME,
	TLS_WANTS_CERTIFICATE, /* of the client, and got none or one it does not accept */
	TLS_ENDLESS, /* it sends, and its handshake comes to no end */
	TLS_OTHER,
};

struct tls_probe {
	/* in; lent for the call */
	const char *host;
	uint16_t port;
	const char *ca, *cert, *key; /* PEM texts; NULL */
	const char *server_name; /* NULL: host */
	int64_t timeout_ns; /* of the whole; a name is looked up for as long as the resolver wants
			     */
	/* out */
	enum tls_finding finding;
	/* a clause: "its certificate expired on 2026-11-20 (issued by ...)" */
	char text[TLS_PROBE_TEXT_MAX];
};

void tls_probe(struct tls_probe *probe);

/*
 * Life of a stream:
 *
 *   REST --start--> OPENING --first round--> LIVE
 *                    |  ^                     |
 *             not served or silent:           |  lost, stale
 *             next way    +------------- WAITING <--+
 *                    v
 *                 REFUSED (asked again after slow_interval)
 */
/* Of a stream; see the drawing above. */
enum stream_state { STREAM_REST, STREAM_OPENING, STREAM_LIVE, STREAM_WAITING, STREAM_REFUSED };
typedef void gnmi_stream_fn(
	struct gnmi_target *target, struct gnmi_stream *stream, const struct grpc_io_status *why);

struct gnmi_stream {
	struct gnmi_target *target;
	gnmi_stream_fn *changed;
	const struct profile_gnmi_stream *profile; /* lent */
	struct gnmi_feed *feed;
	struct gnmi_walk *walk;
	struct gnmi_counts counts;
	struct gnmi_time time;
	struct grpc_io_channel *channel;
	struct grpc_io_call *call;
	struct gnmi_backlog *backlog; /* messages of .call on their way */
	struct loop_timer *timer;
	enum stream_state state;
	size_t way; /* index into profile->hows */
	uint32_t left_out; /* bits: optional subscriptions that the device refuses */
	uint32_t told_left_out; /* of these, what the log has said already */
	bool told_rest;
	unsigned encoding; /* index into the target's list */
	unsigned failures, stale; /* in a row */
	/* of this call */
	bool synced; /* the first round is complete */
	bool round_done; /* the round is over; the timer starts the next one */
	bool poll_sent;
	bool overslept; /* the timer came late: see gnmi_stream_overslept() */
	uint64_t updates_before; /* .counts.updates when it began */
	/* of the newest round: the device took the request and has none of these values */
	bool none;
	/* because of that the other ways are tried; they were, and brought nothing either */
	bool probing, none_tried;
	int64_t period_ns; /* the shortest of its sample intervals */
	mono_t due; /* of the timer */
	mono_t opened, last_update;
	mono_t first_way_at; /* when to go back to the first way; 0 = it is in use */
	/* of the newest message: arrival, and the time its values were taken at */
	int64_t arrived_ns, round_t_ns;
	struct sample_list samples;
	struct reason trouble; /* why it does not deliver; text "" = it does */
	struct complaint complaint;
	uint64_t n_stale, n_reconnects, n_stalls;
};

struct gnmi_target {
	struct target_machine machine; /* while UP, its timer reports once per interval */
	struct gnmi_decoder *decoder;
	struct gnmi_stream **streams;
	size_t n_streams;
	struct login_secrets secrets;
	struct grpc_io *io;
	struct grpc_io_channel *channel; /* of Capabilities */
	struct grpc_io_call *call;
	struct gnmi_bytes answer; /* Capabilities, kept until the call is over */
	struct loop_timer *slow; /* next round of the slow streams */
	size_t slow_at; /* index of the slow stream that is under way; n_streams = none */
	bool slow_first; /* the fast streams wait for the first round of the slow ones */
	unsigned encodings[5]; /* in the order they will be tried */
	size_t n_encodings;
	struct gnmi_probe *probe; /* under way; NULL = none */
	uint64_t values_before; /* at the last report */
	uint64_t told_over_limit, told_too_often; /* of the decoder's, when they were told last */
	struct complaint too_many, too_often;
	double lag_s; /* from the device's stamp to its arrival, of the newest notification */
	char descr[160];
	bool expiry_warned;
};

/* ---- gnmi_call.c --------------------------------------------------------- */
/* gnmi_target_channel - a new connection to the device, with its credentials. 0 or negative errno
 * with @e. */
int gnmi_target_channel(struct gnmi_target *target, struct grpc_io_channel **ret, struct err *e);

struct gnmi_call { /* what to call */
	const char *method;
	struct gnmi_bytes request; /* lent for the call of gnmi_target_call() */
	bool unary; /* one request, and no more is sent */
	const struct grpc_io_events *events; /* with .arg; on the loop thread */
	void *arg;
};
/* gnmi_target_call - makes it, with the credentials. 0 or negative errno with @e. */
int gnmi_target_call(struct gnmi_target *target, struct grpc_io_channel *channel,
	const struct gnmi_call *call, struct grpc_io_call **ret, struct err *e);

/* gnmi_target_neighbors - the LLDP neighbours to the sink; an empty list where the profile has no
 * LLDP. */
void gnmi_target_neighbors(struct gnmi_target *target);

/* ---- gnmi_call.c -------------------------------------------------------- */
/* The end of a probe, on the loop thread: its finding, and how the call ended that was its reason.
 * Both are lent. */
typedef void gnmi_probe_fn(struct gnmi_target *target, const struct tls_probe *probe,
	const struct grpc_io_status *status);
/* gnmi_probe_start - a TLS handshake with the device, on a thread of its own; one at a time.
 * @status is copied. False when the pool takes no work: @done is then not called. */
bool gnmi_probe_start(
	struct gnmi_target *target, const struct grpc_io_status *status, gnmi_probe_fn *done);
void gnmi_probe_forget(struct gnmi_target *target); /* its result is not wanted any more */

/* ---- gnmi_call.c ------------------------------------------------------ */
/* gnmi_secrets_complete - the system's authorities where none are given; a certificate must fit its
 * key. 0 or negative errno */
int gnmi_secrets_complete(
	const struct config_login *credential, struct login_secrets *secrets, struct err *e);
/* gnmi_target_certificate - warns when the server's certificate expires soon. gnmi_secrets_expiry -
 * the same for our own. */
void gnmi_target_certificate(struct gnmi_target *target, const char *pem);
void gnmi_secrets_expiry(const struct gnmi_target *target);

/* ---- gnmi_stream.c ------------------------------------------------------- */
/* @profile is lent. NULL with @e for a path that is none. */
struct gnmi_stream *gnmi_stream_new(struct gnmi_target *target,
	const struct profile_gnmi_stream *profile, gnmi_stream_fn *changed, struct err *e);
void gnmi_stream_free(struct gnmi_stream *stream);
void gnmi_stream_start(struct gnmi_stream *stream); /* from any state: anew */
void gnmi_stream_stop(struct gnmi_stream *stream); /* REST */

/* ---- gnmi_call.c ------------------------------------------------------- */

/* gnmi_reason - a sentence with the remedy for how a call ended. @stream NULL: Capabilities. Never
 * holds a secret. */
void gnmi_reason(const struct gnmi_target *target, const struct gnmi_stream *stream,
	const struct grpc_io_status *status, struct reason *ret);
/* gnmi_reason_probed - the same, with what a handshake of our own found. */
void gnmi_reason_probed(const struct gnmi_target *target, const struct tls_probe *probe,
	const struct grpc_io_status *status, struct reason *ret);
/* gnmi_reason_is_tls - may a handshake of our own find out more? */
bool gnmi_reason_is_tls(const struct gnmi_target *target, const struct grpc_io_status *status);
/* gnmi_reason_is_request - the server refuses this request, not us: another one may be accepted. */
bool gnmi_reason_is_request(const struct grpc_io_status *status);

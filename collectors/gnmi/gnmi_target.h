/*
 * gnmi_target - one device over gNMI: what gnmi.c (its life), gnmi_stream.c (one subscription),
 * gnmi_call.c, gnmi_deliver.c, gnmi_probe.c, gnmi_secrets.c and gnmi_reason.c share. For these
 * only.
 */
#ifndef RW_COLLECTORS_GNMI_TARGET_H
#define RW_COLLECTORS_GNMI_TARGET_H

#include "collectors/gnmi/gnmi.h"
#include "collectors/gnmi/gnmi_backlog.h"
#include "collectors/gnmi/gnmi_decode.h"
#include "collectors/gnmi/gnmi_time.h"
#include "collectors/gnmi/grpc_io.h"
#include "collectors/gnmi/tls_probe.h"
#include "collectors/target/target.h"
#include "proto/gnmi_codec.h"
#include "proto/gnmi_walk.h"

struct gnmi_secrets { /* wiped when freed */
	char *password, *token, *ca, *cert, *key;
};

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

/* What a stream reports to its target: it became LIVE, WAITING or REFUSED, or ended its round. @why
 * is how its call ended, NULL when it did not. May start others, or end the target's session. */
struct gnmi_stream;
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
	struct gnmi_secrets secrets;
	struct err secrets_error; /* why they could not be read */
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

/* ---- gnmi_deliver.c ------------------------------------------------------ */
/* gnmi_target_deliver - ports that changed and samples, to the sink. Empties @samples. */
void gnmi_target_deliver(struct gnmi_target *target, struct sample_list *samples);
/* gnmi_target_neighbors - the LLDP neighbours to the sink; an empty list where the profile has no
 * LLDP. */
void gnmi_target_neighbors(struct gnmi_target *target);

/* ---- gnmi_probe.c -------------------------------------------------------- */
/* The end of a probe, on the loop thread: its finding, and how the call ended that was its reason.
 * Both are lent. */
typedef void gnmi_probe_fn(struct gnmi_target *target, const struct tls_probe *probe,
	const struct grpc_io_status *status);
/* gnmi_probe_start - a TLS handshake with the device, on a pool thread; one at a time. @status is
 * copied. False when the pool takes no work: @done is then not called. */
bool gnmi_probe_start(
	struct gnmi_target *target, const struct grpc_io_status *status, gnmi_probe_fn *done);
void gnmi_probe_forget(struct gnmi_target *target); /* its result is not wanted any more */

/* ---- gnmi_secrets.c ------------------------------------------------------ */
/* 0 or negative errno */
int gnmi_secrets_read(
	const struct config_gnmi_credential *credential, struct gnmi_secrets *ret, struct err *e);
void gnmi_secrets_done(struct gnmi_secrets *secrets);
void gnmi_secret_wipe(char **text);
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

/* ---- gnmi_reason.c ------------------------------------------------------- */

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

#endif

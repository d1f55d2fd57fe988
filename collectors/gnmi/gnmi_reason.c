/*
 * gnmi_reason - finds the reason row for how a call ended. gRPC gives the reason of a failed
 * connection only as text: the signs below are those of libgrpc 1.51, and
 * tests/unit/collectors/gnmi/test_gnmi_reason.c provokes each case.
 */
#include "collectors/gnmi/gnmi_target.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/base/text_clean.h"

#define WORDS_MAX 110 /* of a server's text that are shown */

/* words_of - the server's text for people: one short line, without secrets and control characters.
 */
static void words_of(const struct gnmi_target *target, const char *text, char buf[WORDS_MAX])
{
	rw_cleanup(freep) char *copy = rw_strdup(str_or(text, ""));
	text_hide(copy, target->secrets.password);
	text_hide(copy, target->secrets.token);
	for (char *p = copy; *p; p++)
		if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f)
			*p = '?';
	snprintf(buf, WORDS_MAX, "%s", copy);
}

bool gnmi_reason_is_request(const struct grpc_io_status *status)
{
	return status->code == GRPC_IO_INVALID_ARGUMENT || status->code == GRPC_IO_NOT_FOUND ||
		status->code == GRPC_IO_UNIMPLEMENTED;
}

bool gnmi_reason_is_tls(const struct gnmi_target *target, const struct grpc_io_status *status)
{
	static const char *const signs[] = {"handshake failed", "Ssl handshake", "peer certificate",
		"Peer name", "Hostname Verification", "Socket closed", "Connection reset",
		"Endpoint read failed", "Cannot check peer"};
	if (status->code != GRPC_IO_UNAVAILABLE ||
		target->machine.device->gnmi->credential->gnmi->tls_off ||
		target->machine.device->gnmi->credential->gnmi->tls_skip_verify)
		return false;
	for (size_t i = 0; i < rw_countof(signs); i++)
		if (strstr(status->text, signs[i]))
			return true;
	return false;
}

/* network_reason - how gRPC words what the network did; the first row that fits. False: none. */
static bool network_reason(struct reason *ret, const char *address, const char *text)
{
	static const struct {
		const char *sign;
		enum reason_code code;
	} rows[] = {
		{"Connection refused", REASON_GNMI_REFUSED},
		{"DNS resolution failed", REASON_GNMI_RESOLVE},
		{"Network is unreachable", REASON_GNMI_NETWORK},
		{"No route to host", REASON_GNMI_ROUTE},
		{"wrong version number", REASON_GNMI_NO_TLS},
		{"certificate verify failed", REASON_GNMI_NOT_TRUSTED},
		{"is not in peer certificate", REASON_GNMI_OTHER_NAME},
		{"too_many_pings", REASON_GNMI_PINGS},
		{"GOAWAY received", REASON_GNMI_GOAWAY},
		{"Failed to connect to remote host: Timeout", REASON_GNMI_CONNECT_TIMEOUT},
		{"connection attempt timed out", REASON_GNMI_NO_ANSWER},
		{"Handshake read failed", REASON_GNMI_HANDSHAKE},
		{"FD Shutdown", REASON_GNMI_NO_ANSWER},
		{"Timeout occurred", REASON_GNMI_NO_ANSWER},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		if (!strstr(text, rows[i].sign))
			continue;
		reason_of_word(ret, rows[i].code, address);
		return true;
	}
	return false;
}

/* hung_up - did the server end the connection before gRPC could use it? */
static bool hung_up(const char *text)
{
	if (!strstr(text, "failed to connect"))
		return false;
	return strstr(text, "Socket closed") || strstr(text, "Connection reset") ||
		strstr(text, "Endpoint read failed");
}

static void gnmi_reason_unavailable(const struct gnmi_target *target,
	const struct grpc_io_status *status, const char *words, struct reason *ret)
{
	const char *address = target->machine.address;
	if (network_reason(ret, address, status->text))
		return;
	if (!hung_up(status->text))
		reason_set(ret, GNMI_LOST, address, words);
	else if (target->machine.device->gnmi->credential->gnmi->tls_off)
		reason_set(ret, GNMI_WANTS_TLS, address);
	else
		reason_set(ret, GNMI_HANDSHAKE_ENDED, address);
}

static void gnmi_reason_unauthenticated(
	const struct gnmi_target *target, const char *words, struct reason *ret)
{
	const struct config_gnmi_credential *c = target->machine.device->gnmi->credential->gnmi;
	const char *address = target->machine.address;
	if (c->token.from != SECRET_NONE)
		reason_set(ret, GNMI_TOKEN, address, words);
	else if (c->username)
		reason_set(ret, GNMI_PASSWORD, address, c->username, words);
	else
		reason_set(ret, GNMI_LOGIN, address, words);
}

/* gRPC's own words when a message comes in an encoding that the channel does not take. */
static bool gnmi_compressed(const struct grpc_io_status *status)
{
	return strcasestr(status->text, "compress") != NULL;
}

void gnmi_reason(const struct gnmi_target *target, const struct gnmi_stream *stream,
	const struct grpc_io_status *status, struct reason *ret)
{
	const char *address = target->machine.address, *what = "Capabilities";
	if (stream)
		what = stream->profile->name;
	char words[WORDS_MAX];
	words_of(target, status->text, words);
	switch (status->code) {
	case GRPC_IO_UNAVAILABLE: gnmi_reason_unavailable(target, status, words, ret); break;
	case GRPC_IO_UNAUTHENTICATED: gnmi_reason_unauthenticated(target, words, ret); break;
	case GRPC_IO_PERMISSION_DENIED:
		reason_set(ret, GNMI_PERMISSION, address, what, words);
		break;
	case GRPC_IO_NOT_FOUND: reason_set(ret, GNMI_PATH, address, what, words); break;
	case GRPC_IO_INVALID_ARGUMENT:
		if (strcasestr(status->text, "encoding"))
			reason_set(ret, GNMI_ENCODING, address, what, words);
		else
			reason_set(ret, GNMI_STREAM_REFUSED, address, what, words);
		break;
	case GRPC_IO_UNIMPLEMENTED:
		if (gnmi_compressed(status))
			reason_set(ret, GNMI_COMPRESSED, address, what, words);
		else
			reason_set(ret, GNMI_NOT_SERVED, address, what, words);
		break;
	case GRPC_IO_RESOURCE_EXHAUSTED:
		if (strstr(status->text, "larger than max"))
			reason_set(ret, GNMI_TOO_LARGE, address, what, words);
		else
			reason_set(ret, GNMI_NO_ROOM, address, what, words);
		break;
	case GRPC_IO_DEADLINE_EXCEEDED: reason_set(ret, GNMI_CALL_TIMEOUT, address, what); break;
	case GRPC_IO_OK: reason_set(ret, GNMI_ENDED, address, what); break;
	default:
		reason_set(ret, GNMI_STATUS, address, what, grpc_io_code_name(status->code), words);
	}
}

void gnmi_reason_probed(const struct gnmi_target *target, const struct tls_probe *probe,
	const struct grpc_io_status *status, struct reason *ret)
{
	const char *address = target->machine.address, *finding = probe->text;
	if (probe->finding == TLS_NOT_SPOKEN) {
		reason_set(ret, GNMI_NO_TLS, address);
		return;
	}
	if (!*finding) {
		gnmi_reason(target, NULL, status, ret);
		return;
	}
	switch (probe->finding) {
	case TLS_EXPIRED: reason_set(ret, GNMI_CERT_EXPIRED, address, finding); break;
	case TLS_NOT_YET_VALID: reason_set(ret, GNMI_CERT_EARLY, address, finding); break;
	case TLS_UNKNOWN_CA: reason_set(ret, GNMI_CERT_CA, address, finding); break;
	case TLS_WRONG_NAME: reason_set(ret, GNMI_CERT_NAME, address, finding); break;
	case TLS_WANTS_CERTIFICATE: reason_set(ret, GNMI_CERT_CLIENT, address, finding); break;
	case TLS_ENDLESS: reason_set(ret, GNMI_HANDSHAKE_ENDLESS, address, finding); break;
	case TLS_OTHER: reason_set(ret, GNMI_CERT_OTHER, address, finding); break;
	default: gnmi_reason(target, NULL, status, ret);
	}
}

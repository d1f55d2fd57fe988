/*
 * gnmi_reason - how a call ended, in words for the person who can mend it. gRPC tells the reason of
 * a failed connection only as text; what that says was read from libgrpc 1.51's answers in each of
 * these cases (tests/unit/collectors/gnmi/test_gnmi_reason.c provokes them).
 */
#include "collectors/gnmi/gnmi_target.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/str.h"

#define WORDS_MAX 110 /* of a server's text that are shown */

static void gnmi_reason_say(char buf[GNMI_REASON_MAX], const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void gnmi_reason_say(char buf[GNMI_REASON_MAX], const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(buf, GNMI_REASON_MAX, fmt, ap);
	va_end(ap);
}

/* secret_hide - a server may repeat what it was told. */
static void secret_hide(char *text, const char *secret)
{
	size_t n = 0;
	if (secret)
		n = strlen(secret);
	for (char *p; n >= 3 && (p = strstr(text, secret));)
		memset(p, '*', n);
}

/* words_of - the server's text: one line, no secret, no control characters, not long. */
static void words_of(const struct gnmi_target *target, const char *text, char buf[WORDS_MAX])
{
	rw_cleanup(freep) char *copy = rw_strdup(str_or(text, ""));
	secret_hide(copy, target->secrets.password);
	secret_hide(copy, target->secrets.token);
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

/* How gRPC words what the network did; the first that fits. */
static const struct {
	const char *sign, *words;
} network[] = {
	{"Connection refused",
		"connection refused: the host is there, but no gNMI server listens on this port. "
		"Start it, or correct gnmi.address"},
	{"DNS resolution failed",
		"the name cannot be resolved: correct gnmi.address, or the name server of this "
		"machine"},
	{"Network is unreachable", "network unreachable: check the route and the firewall"},
	{"No route to host", "no route to host: check that it is up, the route and the firewall"},
	{"wrong version number",
		"something listens there, but speaks no TLS: correct the port in gnmi.address, or "
		"set tls.off if the server has none"},
	{"certificate verify failed",
		"its certificate is not trusted: give the CA that signed it as tls.ca"},
	{"is not in peer certificate",
		"its certificate is made out to another name: set tls.server_name to that, or "
		"correct gnmi.address"},
	{"too_many_pings",
		"the server found our keep-alive pings too many and hung up; it is tried again, "
		"slower"},
	{"GOAWAY received",
		"the server sent us away (GOAWAY): it restarts, or finds our pings too many; it is "
		"tried again, slower"},
	{"Failed to connect to remote host: Timeout",
		"no answer: ping it; check the route and the firewall"},
	{"connection attempt timed out",
		"no answer in the time allowed: ping it; check the route, the firewall, and "
		"gnmi.timeout"},
	{"Handshake read failed",
		"connections are taken, but no answer comes to the TLS handshake: correct the port "
		"in gnmi.address; see whether the server hangs"},
	{"FD Shutdown",
		"no answer in the time allowed: ping it; check the firewall, and gnmi.timeout"},
	{"Timeout occurred",
		"no answer in the time allowed: ping it; check the firewall, and gnmi.timeout"},
};

static void gnmi_reason_unavailable(const struct gnmi_target *target,
	const struct grpc_io_status *status, char buf[GNMI_REASON_MAX])
{
	const struct config_gnmi_credential *c = target->machine.device->gnmi->credential->gnmi;
	char words[WORDS_MAX];
	for (size_t i = 0; i < rw_countof(network); i++) {
		if (strstr(status->text, network[i].sign)) {
			gnmi_reason_say(buf, "%s: %s", target->machine.address, network[i].words);
			return;
		}
	}
	if (strstr(status->text, "failed to connect") &&
		(strstr(status->text, "Socket closed") ||
			strstr(status->text, "Connection reset") ||
			strstr(status->text, "Endpoint read failed"))) {
		gnmi_reason_say(buf,
			c->tls_off ? "%s: the server hangs up at once: it wants TLS. Remove "
				     "tls.off, or correct the port"
				   : "%s: the server hangs up during the TLS handshake: it may "
				     "want a client certificate (tls.cert, tls.key)",
			target->machine.address);
		return;
	}
	words_of(target, status->text, words);
	gnmi_reason_say(buf, "%s: the connection was lost: %s", target->machine.address, words);
}

static void gnmi_reason_unauthenticated(
	const struct gnmi_target *target, const char *words, char buf[GNMI_REASON_MAX])
{
	const struct config_gnmi_credential *c = target->machine.device->gnmi->credential->gnmi;
	if (c->token.from != SECRET_NONE)
		gnmi_reason_say(buf,
			"%s: the token is refused ('%s'): renew the file of token_file; it is read "
			"again at each try",
			target->machine.address, words);
	else if (c->username)
		gnmi_reason_say(buf,
			"%s: wrong password, or no user %s there ('%s'): correct them; the file is "
			"read again at each try",
			target->machine.address, c->username, words);
	else
		gnmi_reason_say(buf,
			"%s: it asks for a log-in ('%s'): add username and password_file to the "
			"credentials",
			target->machine.address, words);
}

void gnmi_reason(const struct gnmi_target *target, const struct gnmi_stream *stream,
	const struct grpc_io_status *status, char buf[GNMI_REASON_MAX])
{
	const char *what = "Capabilities";
	if (stream)
		what = stream->p->name;
	char words[WORDS_MAX];
	words_of(target, status->text, words);
	switch (status->code) {
	case GRPC_IO_UNAVAILABLE: gnmi_reason_unavailable(target, status, buf); break;
	case GRPC_IO_UNAUTHENTICATED: gnmi_reason_unauthenticated(target, words, buf); break;
	case GRPC_IO_PERMISSION_DENIED:
		gnmi_reason_say(buf,
			"%s: not allowed to read %s ('%s'): give this user read access on the "
			"device",
			target->machine.address, what, words);
		break;
	case GRPC_IO_NOT_FOUND:
		gnmi_reason_say(buf,
			"%s: stream %s asks for a path that is unknown there ('%s'): another "
			"profile may fit this image",
			target->machine.address, what, words);
		break;
	case GRPC_IO_INVALID_ARGUMENT:
		gnmi_reason_say(buf,
			strcasestr(status->text, "encoding")
				? "%s: wrong encoding for stream %s ('%s'): set gnmi.encoding to "
				  "one the device offers"
				: "%s: the device refuses stream %s: '%s'",
			target->machine.address, what, words);
		break;
	case GRPC_IO_UNIMPLEMENTED:
		gnmi_reason_say(buf, "%s: the device does not serve stream %s: '%s'",
			target->machine.address, what, words);
		break;
	case GRPC_IO_RESOURCE_EXHAUSTED:
		gnmi_reason_say(buf,
			strstr(status->text, "larger than max")
				? "%s: stream %s sends messages larger than gnmi.max_message: "
				  "raise it ('%s')"
				: "%s: the device has no room for stream %s: '%s'",
			target->machine.address, what, words);
		break;
	case GRPC_IO_DEADLINE_EXCEEDED:
		gnmi_reason_say(buf,
			"%s: %s: no answer in the time allowed: the host may be down, a firewall "
			"in between, or the device slow (gnmi.timeout)",
			target->machine.address, what);
		break;
	case GRPC_IO_OK:
		gnmi_reason_say(buf, "%s: the device ended stream %s without a reason",
			target->machine.address, what);
		break;
	default:
		gnmi_reason_say(buf, "%s: stream %s ended: %s: '%s'", target->machine.address, what,
			grpc_io_code_name(status->code), words);
	}
}

void gnmi_reason_probed(const struct gnmi_target *target, const struct tls_probe *probe,
	const struct grpc_io_status *status, char buf[GNMI_REASON_MAX])
{
	static const char *const remedies[] = {
		[TLS_EXPIRED] = "renew it on the device (and check both clocks)",
		[TLS_NOT_YET_VALID] = "check the clocks of both sides",
		[TLS_UNKNOWN_CA] = "wrong CA: give that one as tls.ca",
		[TLS_WRONG_NAME] = "wrong name: set tls.server_name, or correct gnmi.address",
		[TLS_WANTS_CERTIFICATE] = "give tls.cert and tls.key, signed by a CA it trusts",
		[TLS_OTHER] = "see tls.ca, tls.cert and tls.key",
	};
	if (probe->finding == TLS_NOT_SPOKEN)
		gnmi_reason_say(buf,
			"%s: something listens there, but speaks no TLS: correct the port in "
			"gnmi.address, or set tls.off if the server has none",
			target->machine.address);
	else if (probe->finding == TLS_FINE || probe->finding == TLS_UNREACHABLE || !*probe->text)
		gnmi_reason(target, NULL, status, buf);
	else
		gnmi_reason_say(buf, "%s: %s: %s", target->machine.address, probe->text,
			remedies[probe->finding]);
}

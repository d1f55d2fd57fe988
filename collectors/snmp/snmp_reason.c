/* snmp_reason - why a request failed, as a row of collectors/target/reason.def. Silence has many
 * causes; the earlier answers of the session decide between them. */
#include "collectors/snmp/snmp_target.h"

#include "base/str.h"

/* RFC 3416 section 3; noAccess and authorizationError come from the agent's access control. */
enum { PDU_NO_ACCESS = 6, PDU_AUTHORIZATION = 16 };

/* reason_of_report - an SNMPv3 engine says which of its checks failed (usmStats, RFC 3414). */
static void reason_of_report(
	struct reason *ret, enum snmp_report report, const char *peer, const char *user)
{
	switch (report) {
	case REPORT_SECURITY_LEVEL: reason_set(ret, SNMP_V3_LEVEL, peer, user); break;
	case REPORT_TIME_WINDOW: reason_set(ret, SNMP_V3_TIME, peer, user); break;
	case REPORT_USER: reason_set(ret, SNMP_V3_USER, peer, user); break;
	case REPORT_ENGINE: reason_set(ret, SNMP_V3_ENGINE, peer, user); break;
	case REPORT_DIGEST: reason_set(ret, SNMP_V3_AUTH, peer, user); break;
	case REPORT_DECRYPTION: reason_set(ret, SNMP_V3_PRIV, peer, user); break;
	default: reason_set(ret, SNMP_V3_OTHER, peer, user);
	}
}

/* reason_of_error - the agent answers, with an error to a request that every agent can answer. */
static void reason_of_error(struct reason *ret, const struct config_snmp_credential *credential,
	const char *peer, int error_status)
{
	const bool access = error_status == PDU_AUTHORIZATION || error_status == PDU_NO_ACCESS;
	if (access && credential->version == 3)
		reason_set(ret, SNMP_VIEW_USER, peer, credential->user);
	else if (access)
		reason_set(ret, SNMP_VIEW_COMMUNITY, peer);
	else
		reason_set(ret, SNMP_ERROR, peer, error_status);
}

struct silence {
	const struct config_snmp_credential *credential;
	const char *peer, *timeout;
	int tries;
	enum snmp_silence kind; /* what the question after the silence has shown */
};

/* reason_of_silence_v12 - SNMP v1/v2c looks the same for a silent host and a wrong community;
 * snmp_io has asked one question more. */
static void reason_of_silence_v12(struct reason *ret, const struct silence *silence)
{
	if (silence->kind == SILENCE_AGENT)
		reason_set(ret, SNMP_WRONG_COMMUNITY, silence->peer);
	else if (silence->kind == SILENCE_LATE)
		reason_set(ret, SNMP_LATE, silence->peer, silence->tries, silence->timeout);
	else
		reason_set(ret, SNMP_SILENT, silence->peer, silence->tries, silence->timeout);
}

/* reason_of_silence_v3 - the engine was discovered, so somebody is there. */
static void reason_of_silence_v3(struct reason *ret, const struct silence *silence)
{
	const struct config_snmp_credential *c = silence->credential;
	if (c->context && *c->context)
		reason_set(ret, SNMP_V3_CONTEXT, silence->peer, c->user, c->context,
			str_if(c->priv, ", and a wrong priv password or priv protocol,"));
	else if (c->priv)
		reason_set(ret, SNMP_V3_PRIV_SILENT, silence->peer, c->user);
	else
		reason_set(ret, SNMP_V3_LOST, silence->peer, c->user);
}

static void reason_of_silence(struct reason *ret, const struct silence *silence, bool identified)
{
	if (identified && silence->kind == SILENCE_AGENT)
		reason_set(ret, SNMP_V3_UNANSWERED_NOW, silence->peer, silence->credential->user);
	else if (identified)
		reason_set(ret, SNMP_GONE, silence->peer, silence->tries, silence->timeout);
	else if (silence->credential->version == 3)
		reason_of_silence_v3(ret, silence);
	else
		reason_of_silence_v12(ret, silence);
}

void snmp_reason(
	const struct snmp_target *target, const struct snmp_answer *answer, struct reason *ret)
{
	const struct config_snmp *s = target->machine.device->snmp;
	const struct config_snmp_credential *c = s->credential->snmp;
	const char *peer = snmp_io_peer(target->io);
	char timeout[32];
	const struct silence silence = {.credential = c,
		.peer = peer,
		.timeout = unit_duration_text(timeout, sizeof(timeout), s->timeout_ns),
		.tries = s->retries + 1,
		.kind = answer->silence};
	switch (answer->status) {
	case SNMP_IO_OK: reason_of_error(ret, c, peer, answer->error_status); break;
	case SNMP_IO_TIMEOUT: reason_of_silence(ret, &silence, target->phase != PHASE_IDENT); break;
	case SNMP_IO_REFUSED: reason_set(ret, SNMP_REFUSED, peer); break;
	case SNMP_IO_UNREACHABLE: reason_set(ret, SNMP_UNREACHABLE, peer, answer->detail); break;
	case SNMP_IO_REPORT:
		reason_of_report(ret, answer->report, peer, str_or(c->user, ""));
		break;
	default: reason_set(ret, SNMP_LIBRARY, peer, answer->detail);
	}
}

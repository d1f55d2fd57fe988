/* snmp_library - see the header. */
#include "collectors/snmp/snmp_library.h"

#include <net-snmp/net-snmp-config.h>
#include <net-snmp/net-snmp-includes.h>
#include <net-snmp/library/snmp_transport.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "agent/base/cleanup.h"

/* ---- varbinds ------------------------------------------------------------ */

static void arcs_of(uint32_t *to, const oid *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (uint32_t)from[i];
}

static void value_of(struct snmp_varbind *v, const netsnmp_variable_list *var, uint32_t *arcs)
{
	switch (var->type) {
	case ASN_INTEGER:
		v->type = SNMP_INTEGER;
		v->number = (uint64_t)(int64_t)*var->val.integer;
		break;
	case ASN_GAUGE: /* = Unsigned32 */
	case ASN_UINTEGER:
		v->type = SNMP_GAUGE32;
		v->number = (uint32_t)*var->val.integer;
		break;
	case ASN_COUNTER:
		v->type = SNMP_COUNTER32;
		v->number = (uint32_t)*var->val.integer;
		break;
	case ASN_TIMETICKS:
		v->type = SNMP_TICKS;
		v->number = (uint32_t)*var->val.integer;
		break;
	case ASN_COUNTER64:
		v->type = SNMP_COUNTER64;
		v->number = (uint64_t)(uint32_t)var->val.counter64->high << 32 |
			(uint32_t)var->val.counter64->low;
		break;
	case ASN_OCTET_STR:
	case ASN_IPADDRESS:
		v->type = var->type == ASN_OCTET_STR ? SNMP_STRING : SNMP_ADDRESS;
		v->bytes = var->val.string;
		v->n_bytes = var->val_len;
		break;
	case ASN_OBJECT_ID:
		v->type = SNMP_OBJECT_ID;
		v->object = (struct snmp_oid){arcs, var->val_len / sizeof(oid)};
		arcs_of(arcs, var->val.objid, v->object.n);
		break;
	case ASN_NULL: v->type = SNMP_NULL_VALUE; break;
	case SNMP_NOSUCHOBJECT: v->type = SNMP_NO_SUCH_OBJECT; break;
	case SNMP_NOSUCHINSTANCE: v->type = SNMP_NO_SUCH_INSTANCE; break;
	case SNMP_ENDOFMIBVIEW: v->type = SNMP_END_OF_MIB; break;
	default: v->type = SNMP_OTHER;
	}
}

size_t snmp_scratch_fill(struct snmp_scratch *s, const struct snmp_pdu *pdu)
{
	size_t n = 0, n_arcs = 0;
	for (const netsnmp_variable_list *v = pdu->variables; v; v = v->next_variable, n++)
		n_arcs +=
			v->name_length + (v->type == ASN_OBJECT_ID ? v->val_len / sizeof(oid) : 0);
	if (n > s->cap_v) {
		s->cap_v = n * 2;
		s->v = rw_realloc(s->v, s->cap_v * sizeof(*s->v));
	}
	if (n_arcs > s->cap_arcs) {
		s->cap_arcs = n_arcs * 2;
		s->arcs = rw_realloc(s->arcs, s->cap_arcs * sizeof(*s->arcs));
	}
	uint32_t *arcs = s->arcs;
	size_t i = 0;
	for (const netsnmp_variable_list *v = pdu->variables; v; v = v->next_variable, i++) {
		struct snmp_varbind *b = &s->v[i];
		*b = (struct snmp_varbind){.oid = {arcs, v->name_length}};
		arcs_of(arcs, v->name, v->name_length);
		arcs += v->name_length;
		value_of(b, v, arcs);
		arcs += b->object.n;
	}
	return n;
}

void snmp_scratch_done(struct snmp_scratch *s)
{
	free(s->v);
	free(s->arcs);
	*s = (struct snmp_scratch){0};
}

/* ---- the transport: plain send and recv on a connected socket ------------ */

#define DATAGRAM_MAX 65507

static void failed(netsnmp_transport *t, int error)
{
	int *to;
	memcpy(&to, t->data, sizeof(to));
	*to = error;
}

static int transport_recv(netsnmp_transport *t, void *buf, int size, void **opaque, int *opaque_n)
{
	*opaque = NULL;
	*opaque_n = 0;
	ssize_t n = recv(t->sock, buf, (size_t)size, MSG_DONTWAIT);
	if (n >= 0)
		return (int)n;
	if (errno != EAGAIN && errno != EINTR)
		failed(t, errno);
	return -1;
}

static int transport_send(
	netsnmp_transport *t, const void *buf, int size, void **opaque, int *opaque_n)
{
	ssize_t n = send(t->sock, buf, (size_t)size, MSG_DONTWAIT);
	/* the answer to an earlier datagram, told now: this one was not sent */
	if (n < 0 && errno == ECONNREFUSED)
		n = send(t->sock, buf, (size_t)size, MSG_DONTWAIT);
	if (n < 0)
		failed(t, errno);
	return (int)n;
}

static int transport_close(netsnmp_transport *t)
{
	t->sock = -1; /* the socket is its owner's and stays */
	return 0;
}

static char *transport_text(netsnmp_transport *t, const void *data, int n)
{
	return strdup("peer"); /* freed by the library */
}

struct netsnmp_transport_s *snmp_transport_new(int fd, int *failed_errno)
{
	static const oid domain[] = {1, 3, 6, 1, 6, 1, 1}; /* snmpUDPDomain, RFC 3417 */
	netsnmp_transport *t = rw_calloc(1, sizeof(*t)); /* freed by the library */
	t->domain = domain;
	t->domain_length = rw_countof(domain);
	t->sock = fd;
	t->msgMaxSize = DATAGRAM_MAX;
	t->data = rw_calloc(1, sizeof(failed_errno));
	t->data_length = sizeof(failed_errno);
	memcpy(t->data, &failed_errno, sizeof(failed_errno));
	t->f_recv = transport_recv;
	t->f_send = transport_send;
	t->f_close = transport_close;
	t->f_fmtaddr = transport_text;
	return t;
}

/* ---- users of SNMPv3 ----------------------------------------------------- */

_Static_assert(SNMP_KU_MAX >= USM_AUTH_KU_LEN, "room for the longest key");

static const struct {
	oid *oid;
	size_t n;
} auth_protocols[] =
	{
		[SNMP_AUTH_NONE] = {NULL, 0},
		[SNMP_AUTH_MD5] = {usmHMACMD5AuthProtocol, 10},
		[SNMP_AUTH_SHA1] = {usmHMACSHA1AuthProtocol, 10},
		[SNMP_AUTH_SHA224] = {usmHMAC128SHA224AuthProtocol, 10},
		[SNMP_AUTH_SHA256] = {usmHMAC192SHA256AuthProtocol, 10},
		[SNMP_AUTH_SHA384] = {usmHMAC256SHA384AuthProtocol, 10},
		[SNMP_AUTH_SHA512] = {usmHMAC384SHA512AuthProtocol, 10},
},
  priv_protocols[] = {
	  [SNMP_PRIV_NONE] = {NULL, 0},
	  [SNMP_PRIV_DES] = {usmDESPrivProtocol, 10},
	  [SNMP_PRIV_AES128] = {usmAESPrivProtocol, 10},
	  [SNMP_PRIV_AES192] = {usmAES192PrivProtocol, 9},
	  [SNMP_PRIV_AES256] = {usmAES256PrivProtocol, 9},
};

int snmp_ku_make(enum snmp_auth auth, const char *password, struct snmp_ku *ret)
{
	ret->n = USM_AUTH_KU_LEN;
	return generate_Ku(auth_protocols[auth].oid, (u_int)auth_protocols[auth].n,
		       (const u_char *)password, strlen(password), ret->v,
		       &ret->n) == SNMPERR_SUCCESS
		? 0
		: -EINVAL;
}

void snmp_session_user(struct snmp_session *s, char *user, enum snmp_auth auth, enum snmp_priv priv,
	const struct snmp_ku *auth_key, const struct snmp_ku *priv_key, uint8_t *engine,
	size_t n_engine)
{
	s->securityModel = USM_SEC_MODEL_NUMBER;
	s->securityLevel = priv ? SNMP_SEC_LEVEL_AUTHPRIV
		: auth          ? SNMP_SEC_LEVEL_AUTHNOPRIV
				: SNMP_SEC_LEVEL_NOAUTH;
	s->securityName = user;
	s->securityNameLen = strlen(user);
	s->securityEngineID = engine;
	s->securityEngineIDLen = n_engine;
	s->contextEngineID = engine;
	s->contextEngineIDLen = n_engine;
	s->securityAuthProto = auth_protocols[auth].oid;
	s->securityAuthProtoLen = auth_protocols[auth].n;
	s->securityPrivProto = priv_protocols[priv].oid;
	s->securityPrivProtoLen = priv_protocols[priv].n;
	if (auth_key)
		memcpy(s->securityAuthKey, auth_key->v, s->securityAuthKeyLen = auth_key->n);
	if (priv_key)
		memcpy(s->securityPrivKey, priv_key->v, s->securityPrivKeyLen = priv_key->n);
}

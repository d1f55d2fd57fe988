/* snmp_library - see the header. */
#include "collectors/snmp/snmp_library.h"

#include <net-snmp/net-snmp-config.h>
#include <net-snmp/net-snmp-includes.h>
#include <net-snmp/library/snmp_impl.h>
#include <net-snmp/library/snmp_transport.h>

#include <sys/socket.h>

/* ---- varbinds ------------------------------------------------------------ */

static void snmp_library_arcs_of(uint32_t *to, const oid *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (uint32_t)from[i];
}

static void snmp_library_value_of(
	struct snmp_varbind *varbind, const netsnmp_variable_list *var, uint32_t *arcs)
{
	switch (var->type) {
	case ASN_INTEGER:
		varbind->type = SNMP_INTEGER;
		varbind->number = (uint64_t)(int64_t)*var->val.integer;
		break;
	case ASN_GAUGE: /* = Unsigned32 */
	case ASN_UINTEGER:
		varbind->type = SNMP_GAUGE32;
		varbind->number = (uint32_t)*var->val.integer;
		break;
	case ASN_COUNTER:
		varbind->type = SNMP_COUNTER32;
		varbind->number = (uint32_t)*var->val.integer;
		break;
	case ASN_TIMETICKS:
		varbind->type = SNMP_TICKS;
		varbind->number = (uint32_t)*var->val.integer;
		break;
	case ASN_COUNTER64:
		varbind->type = SNMP_COUNTER64;
		varbind->number = (uint64_t)(uint32_t)var->val.counter64->high << 32 |
			(uint32_t)var->val.counter64->low;
		break;
	case ASN_OCTET_STR:
	case ASN_IPADDRESS:
		if (var->type == ASN_OCTET_STR)
			varbind->type = SNMP_STRING;
		else
			varbind->type = SNMP_ADDRESS;
		varbind->bytes = var->val.string;
		varbind->n_bytes = var->val_len;
		break;
	case ASN_OBJECT_ID:
		varbind->type = SNMP_OBJECT_ID;
		varbind->object = (struct snmp_oid){arcs, var->val_len / sizeof(oid)};
		snmp_library_arcs_of(arcs, var->val.objid, varbind->object.n);
		break;
	case ASN_NULL: varbind->type = SNMP_NULL_VALUE; break;
	case SNMP_NOSUCHOBJECT: varbind->type = SNMP_NO_SUCH_OBJECT; break;
	case SNMP_NOSUCHINSTANCE: varbind->type = SNMP_NO_SUCH_INSTANCE; break;
	case SNMP_ENDOFMIBVIEW: varbind->type = SNMP_END_OF_MIB; break;
	default: varbind->type = SNMP_OTHER;
	}
}

size_t snmp_scratch_fill(struct snmp_scratch *scratch, const struct snmp_pdu *pdu)
{
	size_t n = 0, n_arcs = 0;
	for (const netsnmp_variable_list *v = pdu->variables; v; v = v->next_variable, n++) {
		n_arcs += v->name_length;
		if (v->type == ASN_OBJECT_ID)
			n_arcs += v->val_len / sizeof(oid);
	}
	snmp_scratch_room(scratch, n, n_arcs);
	uint32_t *arcs = scratch->arcs;
	size_t i = 0;
	for (const netsnmp_variable_list *v = pdu->variables; v; v = v->next_variable, i++) {
		struct snmp_varbind *b = &scratch->v[i];
		*b = (struct snmp_varbind){.oid = {arcs, v->name_length}};
		snmp_library_arcs_of(arcs, v->name, v->name_length);
		arcs += v->name_length;
		snmp_library_value_of(b, v, arcs);
		arcs += b->object.n;
	}
	return n;
}

int snmp_library_read(const uint8_t *data, size_t n, struct snmp_scratch *scratch,
	struct snmp_message *ret, struct snmp_pdu **ret_pdu)
{
	u_char community[COMMUNITY_MAX_LEN];
	size_t n_community = sizeof(community), left = n;
	long version = 0;
	u_char *bytes = rw_calloc(n + 1, 1); /* the library writes into what it reads */
	memcpy(bytes, data, n);
	netsnmp_pdu *pdu = snmp_pdu_create(0);
	u_char *at = NULL;
	if (pdu)
		at = snmp_comstr_parse(bytes, &left, community, &n_community, &version);
	const bool read = at && version == SNMP_VERSION_2c && snmp_pdu_parse(pdu, at, &left) == 0 &&
		pdu->command == SNMP_MSG_RESPONSE;
	if (read) {
		ret->id = (uint32_t)pdu->reqid;
		ret->error_status = (uint32_t)pdu->errstat;
		ret->error_index = (uint32_t)pdu->errindex;
		ret->n = snmp_scratch_fill(scratch, pdu);
		ret->v = scratch->v;
		*ret_pdu = pdu;
	} else if (pdu) {
		snmp_free_pdu(pdu);
	}
	free(bytes);
	return read ? 0 : -EBADMSG;
}

void snmp_library_free(struct snmp_pdu *pdu)
{
	snmp_free_pdu(pdu);
}

/* ---- the transport: plain send and recv on a connected socket ------------ */

#define DATAGRAM_MAX 65507

static void snmp_library_failed(netsnmp_transport *transport, int error)
{
	int *failed_errno = snmp_transport_owner(transport);
	*failed_errno = error;
}

static int snmp_library_transport_recv(
	netsnmp_transport *transport, void *buf, int size, void **opaque, int *opaque_n)
{
	*opaque = NULL;
	*opaque_n = 0;
	ssize_t n = recv(transport->sock, buf, (size_t)size, MSG_DONTWAIT);
	if (n >= 0)
		return (int)n;
	if (errno != EAGAIN && errno != EINTR)
		snmp_library_failed(transport, errno);
	return -1;
}

static int snmp_library_transport_send(
	netsnmp_transport *transport, const void *buf, int size, void **opaque, int *opaque_n)
{
	ssize_t n = send(transport->sock, buf, (size_t)size, MSG_DONTWAIT);
	/* the error of an earlier datagram, reported now: this one was not sent */
	if (n < 0 && errno == ECONNREFUSED)
		n = send(transport->sock, buf, (size_t)size, MSG_DONTWAIT);
	if (n < 0)
		snmp_library_failed(transport, errno);
	return (int)n;
}

static int snmp_library_transport_close(netsnmp_transport *transport)
{
	transport->sock = -1; /* the socket is its owner's and stays */
	return 0;
}

static char *snmp_library_transport_text(netsnmp_transport *transport, const void *data, int n)
{
	return strdup("peer"); /* freed by the library */
}

void *snmp_transport_owner(const struct netsnmp_transport_s *transport)
{
	void *owner;
	memcpy(&owner, transport->data, sizeof(owner));
	return owner;
}

struct netsnmp_transport_s *snmp_transport_make(
	int fd, void *owner, snmp_transport_recv_fn *recv_fn, snmp_transport_send_fn *send_fn)
{
	static const oid domain[] = {1, 3, 6, 1, 6, 1, 1}; /* snmpUDPDomain, RFC 3417 */
	netsnmp_transport *t = rw_calloc(1, sizeof(*t)); /* freed by the library */
	t->domain = domain;
	t->domain_length = rw_countof(domain);
	t->sock = fd;
	t->msgMaxSize = DATAGRAM_MAX;
	t->data = rw_calloc(1, sizeof(owner));
	t->data_length = sizeof(owner);
	memcpy(t->data, &owner, sizeof(owner));
	t->f_recv = recv_fn;
	t->f_send = send_fn;
	t->f_close = snmp_library_transport_close;
	t->f_fmtaddr = snmp_library_transport_text;
	return t;
}

struct netsnmp_transport_s *snmp_transport_new(int fd, int *failed_errno)
{
	return snmp_transport_make(
		fd, failed_errno, snmp_library_transport_recv, snmp_library_transport_send);
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
	if (generate_Ku(auth_protocols[auth].oid, (u_int)auth_protocols[auth].n,
		    (const u_char *)password, strlen(password), ret->v, &ret->n) == SNMPERR_SUCCESS)
		return 0;
	return -EINVAL;
}

void snmp_session_user(struct snmp_session *session, char *user, enum snmp_auth auth,
	enum snmp_priv priv, const struct snmp_ku *auth_key, const struct snmp_ku *priv_key,
	uint8_t *engine, size_t n_engine)
{
	session->securityModel = USM_SEC_MODEL_NUMBER;
	if (priv)
		session->securityLevel = SNMP_SEC_LEVEL_AUTHPRIV;
	else if (auth)
		session->securityLevel = SNMP_SEC_LEVEL_AUTHNOPRIV;
	else
		session->securityLevel = SNMP_SEC_LEVEL_NOAUTH;
	session->securityName = user;
	session->securityNameLen = strlen(user);
	session->securityEngineID = engine;
	session->securityEngineIDLen = n_engine;
	session->contextEngineID = engine;
	session->contextEngineIDLen = n_engine;
	session->securityAuthProto = auth_protocols[auth].oid;
	session->securityAuthProtoLen = auth_protocols[auth].n;
	session->securityPrivProto = priv_protocols[priv].oid;
	session->securityPrivProtoLen = priv_protocols[priv].n;
	if (auth_key) {
		session->securityAuthKeyLen = auth_key->n;
		memcpy(session->securityAuthKey, auth_key->v, auth_key->n);
	}
	if (priv_key) {
		session->securityPrivKeyLen = priv_key->n;
		memcpy(session->securityPrivKey, priv_key->v, priv_key->n);
	}
}

void snmp_user_remove(const uint8_t *engine, size_t n_engine, const char *user)
{
	struct usmUser *u = usm_get_user((u_char *)engine, n_engine, user);
	if (!u)
		return;
	usm_remove_user(u);
	usm_free_user(u);
}

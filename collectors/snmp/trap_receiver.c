/* trap_receiver - see the header. */
#include "collectors/snmp/trap_receiver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/loop.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "collectors/snmp/snmp.h"
#include "collectors/snmp/snmp_trap_io.h"

#define RATE 10 /* traps a second and sender */
#define BURST 50 /* a line card that goes down takes its ports along */
#define SENDERS_MAX 4096 /* all senders beyond, and all unknown ones, share one allowance */

struct sender {
	double allowance;
	int64_t at_ns;
	uint32_t last_inform;
	bool has_inform;
};

struct trap_receiver {
	struct loop *loop;
	struct sink sink;
	trap_find_fn *find;
	void *arg;
	struct snmp_trap_io *io;
	struct smap *index; /* host -> into senders; 0 = strangers */
	struct sender *senders;
	size_t n_senders, cap_senders;
	struct trap_counters counters;
	struct complaint unknown, refused, malformed, limited;
};

/* ---- how much of whom ---------------------------------------------------- */

static struct sender *sender_of(struct trap_receiver *r, const char *host, bool known)
{
	uint64_t at = 0;
	if (known && !smap_get(r->index, host, strlen(host), &at) && r->n_senders < SENDERS_MAX) {
		at = r->n_senders;
		rw_grow(r->senders, r->n_senders, r->cap_senders);
		r->senders[r->n_senders++] = (struct sender){.allowance = BURST};
		smap_put(r->index, host, strlen(host), at);
	}
	return &r->senders[at];
}

/* A token bucket (monotonic time). */
static bool allowed(struct sender *s, mono_t now)
{
	if (s->at_ns)
		s->allowance += (double)(now.ns - s->at_ns) * RATE / 1e9;
	s->at_ns = now.ns;
	if (s->allowance > BURST)
		s->allowance = BURST;
	if (s->allowance < 1)
		return false;
	s->allowance -= 1;
	return true;
}

static void complain_unknown(struct trap_receiver *r, const char *host, size_t n)
{
	r->counters.unknown_sender++;
	if (n > 1)
		complain(&r->unknown, loop_now(r->loop), LOG_WARN_, "traps",
			"%zu devices share the address %s: whose trap this is cannot be told, it "
			"is dropped",
			n, host);
	else
		complain(&r->unknown, loop_now(r->loop), LOG_WARN_, "traps",
			"a trap from %s, which is the address of no device: dropped. Let the "
			"device send "
			"from the address it is polled at (trap source), or correct snmp.address",
			host);
}

/* A v1 trap may come from elsewhere and still name its agent: that is only seen once it is read. */
static bool on_datagram(void *arg, const char *host, int version)
{
	struct trap_receiver *r = arg;
	size_t n = 0;
	bool known = r->find(r->arg, host, &n) != NULL;
	r->counters.received++;
	if (!allowed(sender_of(r, host, known), loop_now(r->loop))) {
		r->counters.limited++;
		complain(&r->limited, loop_now(r->loop), LOG_WARN_, "traps",
			"more than %d traps a second from %s: the rest is dropped unread", RATE,
			host);
		return false;
	}
	if (!known && version != 1) {
		complain_unknown(r, host, n);
		return false;
	}
	return true;
}

static void on_refused(void *arg, const char *host, enum snmp_trap_refusal why)
{
	struct trap_receiver *r = arg;
	if (why == TRAP_MALFORMED) {
		r->counters.malformed++;
		complain(&r->malformed, loop_now(r->loop), LOG_WARN_, "traps",
			"a message from %s that is no SNMP trap: dropped", host);
		return;
	}
	r->counters.wrong_credential++;
	complain(&r->refused, loop_now(r->loop), LOG_WARN_, "traps",
		"a trap from %s with a community or user that is not in traps.credentials, or with "
		"wrong keys: "
		"dropped",
		host);
}

/* ---- what it says -------------------------------------------------------- */

static const char *port_name(void *arg, uint32_t ifindex)
{
	return snmp_target_port_name(arg, ifindex);
}

static struct snmp_target *target_of(struct trap_receiver *r, const struct snmp_trap_message *m)
{
	char agent[16];
	size_t n = 0, n_agent = 0;
	struct snmp_target *t = r->find(r->arg, m->host, &n);
	const uint8_t *a = m->pdu.agent_addr;
	if (!t && m->pdu.version == 1) {
		snprintf(agent, sizeof(agent), "%u.%u.%u.%u", a[0], a[1], a[2], a[3]);
		t = r->find(r->arg, agent, &n_agent);
	}
	if (!t)
		complain_unknown(r, m->host, n);
	return t;
}

/* An inform whose acknowledgement got lost is sent again with the same id: one event is enough. */
static bool repeated(struct trap_receiver *r, const struct snmp_trap_message *m)
{
	if (!m->pdu.inform)
		return false;
	struct sender *s = sender_of(r, m->host, true);
	bool again = s->has_inform && s->last_inform == m->request_id;
	s->has_inform = true;
	s->last_inform = m->request_id;
	r->counters.informs += !again;
	r->counters.repeated += again;
	return again;
}

static void on_message(void *arg, const struct snmp_trap_message *m)
{
	struct trap_receiver *r = arg;
	struct snmp_target *t = target_of(r, m);
	struct snmp_trap_event e;
	if (!t || repeated(r, m))
		return;
	const struct snmp_trap_sender s = {
		.profile = snmp_target_profile_data(t), .port_name = port_name, .arg = t};
	int rc = snmp_trap_read(&m->pdu, &s, &e);
	if (rc < 0) {
		r->counters.malformed += rc == -EBADMSG;
		r->counters.unknown_trap += rc != -EBADMSG;
		return;
	}
	r->counters.events++;
	if (r->sink.event)
		r->sink.event(r->sink.arg, wall_now().ns, e.kind, snmp_target_state(t)->device,
			*e.port ? e.port : NULL, e.text);
	if (e.look)
		snmp_target_look(t);
}

/* ---- life ---------------------------------------------------------------- */

struct secrets {
	char *community, *auth, *priv;
};

static void wipe(char *s)
{
	if (s)
		explicit_bzero(s, strlen(s));
	free(s);
}

static int credential_read(const struct config_snmp_credential *c, struct secrets *s,
	struct snmp_trap_credential *ret, struct err *e)
{
	int rc = 0;
	if (c->version != 3)
		rc = secret_read(&c->community, &s->community, e);
	if (rc == 0 && c->version == 3 && c->auth)
		rc = secret_read(&c->auth_secret, &s->auth, e);
	if (rc == 0 && c->version == 3 && c->priv)
		rc = secret_read(&c->priv_secret, &s->priv, e);
	*ret = (struct snmp_trap_credential){.version = c->version,
		.community = s->community,
		.user = c->user,
		.auth = c->auth,
		.auth_password = s->auth,
		.priv = c->priv,
		.priv_password = s->priv};
	return rc;
}

int trap_receiver_new(struct loop *l, const struct config_traps *c, const struct sink *sink,
	trap_find_fn *find, void *arg, struct trap_receiver **ret, struct err *e)
{
	static const struct snmp_trap_io_events events = {
		.datagram = on_datagram, .message = on_message, .refused = on_refused};
	rw_cleanup(freep) struct secrets *secrets =
		rw_calloc(c->n_credentials + 1, sizeof(*secrets));
	rw_cleanup(freep) struct snmp_trap_credential *v =
		rw_calloc(c->n_credentials + 1, sizeof(*v));
	struct trap_receiver *r = rw_calloc(1, sizeof(*r));
	*r = (struct trap_receiver){
		.loop = l, .sink = *sink, .find = find, .arg = arg, .index = smap_new()};
	rw_grow(r->senders, r->n_senders, r->cap_senders);
	r->senders[r->n_senders++] = (struct sender){.allowance = BURST}; /* strangers */
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < c->n_credentials; i++)
		rc = credential_read(c->credentials[i]->snmp, &secrets[i], &v[i], e);
	if (rc == 0)
		rc = snmp_trap_io_new(
			l, c->address, c->port, v, c->n_credentials, &events, r, &r->io, e);
	for (size_t i = 0; i < c->n_credentials; i++) {
		wipe(secrets[i].community);
		wipe(secrets[i].auth);
		wipe(secrets[i].priv);
	}
	if (rc < 0) {
		trap_receiver_free(r);
		return rc;
	}
	*ret = r;
	return 0;
}

void trap_receiver_free(struct trap_receiver *r)
{
	if (!r)
		return;
	snmp_trap_io_free(r->io);
	smap_free(r->index);
	free(r->senders);
	free(r);
}

const struct trap_counters *trap_receiver_counters(const struct trap_receiver *r)
{
	return &r->counters;
}

static bool secret_same(const struct config_secret *a, const struct config_secret *b)
{
	return a->from == b->from && str_eq(a->name, b->name);
}

bool config_traps_same(const struct config_traps *a, const struct config_traps *b)
{
	if (!a || !b)
		return a == b;
	if (!str_eq(a->address, b->address) || a->port != b->port ||
		a->n_credentials != b->n_credentials)
		return false;
	for (size_t i = 0; i < a->n_credentials; i++) {
		const struct config_snmp_credential *x = a->credentials[i]->snmp,
						    *y = b->credentials[i]->snmp;
		if (x->version != y->version || !secret_same(&x->community, &y->community) ||
			!str_eq(x->user, y->user) || x->auth != y->auth ||
			!secret_same(&x->auth_secret, &y->auth_secret) || x->priv != y->priv ||
			!secret_same(&x->priv_secret, &y->priv_secret))
			return false;
	}
	return true;
}

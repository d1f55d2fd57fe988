/* trap_receiver - limits, attributes and reads the traps and informs that snmp_trap_io delivers. */
#include "collectors/snmp/trap_receiver.h"

#include "base/loop.h"
#include "collectors/snmp/snmp.h"
#include "collectors/snmp/snmp_trap_io.h"
#include "collectors/target/target.h"

#define RATE 10 /* traps a second and sender */
#define BURST 50 /* a line card that goes down takes its ports along */
#define STRANGERS_RATE 100 /* of all senders together that are no device */
#define STRANGERS_BURST 500
#define SENDERS_MAX 4096 /* devices beyond are as strangers */
#define STRANGERS_MAX 64 /* whose allowances are remembered */

/* A token bucket (monotonic time). */
struct trap_allowance {
	double left;
	int64_t at_ns;
};

struct trap_sender {
	struct trap_allowance allowance;
	uint32_t last_inform;
	bool has_inform;
};

/* They choose their addresses: the place of the one that was quiet longest goes to a new one. */
struct trap_stranger {
	char host[64];
	struct trap_allowance allowance;
};

struct trap_receiver {
	struct loop *loop;
	struct sink sink;
	trap_find_fn *find;
	void *arg;
	struct snmp_trap_io *io;
	struct smap *index; /* host -> into senders */
	struct trap_sender *senders; /* devices */
	size_t n_senders, cap_senders;
	struct trap_stranger strangers[STRANGERS_MAX];
	struct trap_allowance all_strangers;
	struct trap_counters counters;
	struct complaint unknown, refused, malformed, limited;
};

/* ---- rate limit of each sender ---------------------------------------------------- */

static bool allowance_take(
	struct trap_allowance *allowance, int64_t now_ns, double rate, double burst)
{
	if (allowance->at_ns)
		allowance->left += (double)(now_ns - allowance->at_ns) * rate / 1e9;
	if (!allowance->at_ns || allowance->left > burst)
		allowance->left = burst;
	allowance->at_ns = now_ns;
	if (allowance->left < 1)
		return false;
	allowance->left -= 1;
	return true;
}

/* NULL: there are too many. */
static struct trap_sender *trap_receiver_sender_of(struct trap_receiver *receiver, const char *host)
{
	uint64_t at = 0;
	if (smap_get(receiver->index, host, strlen(host), &at))
		return &receiver->senders[at];
	if (receiver->n_senders == SENDERS_MAX)
		return NULL;
	smap_put(receiver->index, host, strlen(host), receiver->n_senders);
	rw_grow(receiver->senders, receiver->n_senders, receiver->cap_senders);
	receiver->senders[receiver->n_senders] = (struct trap_sender){0};
	return &receiver->senders[receiver->n_senders++];
}

static struct trap_stranger *trap_receiver_stranger(
	struct trap_receiver *receiver, const char *host)
{
	struct trap_stranger *quiet = &receiver->strangers[0];
	for (size_t i = 0; i < STRANGERS_MAX; i++) {
		struct trap_stranger *stranger = &receiver->strangers[i];
		if (str_eq(stranger->host, host))
			return stranger;
		if (stranger->allowance.at_ns < quiet->allowance.at_ns)
			quiet = stranger;
	}
	*quiet = (struct trap_stranger){0};
	snprintf(quiet->host, sizeof(quiet->host), "%s", host);
	return quiet;
}

/* A device has an allowance of its own; a stranger one, too, and a part in that of all. */
static bool trap_receiver_allowed(struct trap_receiver *receiver, const char *host, bool known)
{
	const int64_t now_ns = loop_now(receiver->loop).ns;
	struct trap_sender *device = NULL;
	if (known)
		device = trap_receiver_sender_of(receiver, host);
	if (device)
		return allowance_take(&device->allowance, now_ns, RATE, BURST);
	struct trap_stranger *stranger = trap_receiver_stranger(receiver, host);
	return allowance_take(&stranger->allowance, now_ns, RATE, BURST) &&
		allowance_take(&receiver->all_strangers, now_ns, STRANGERS_RATE, STRANGERS_BURST);
}

static void complain_unknown(struct trap_receiver *receiver, const char *host, size_t n)
{
	receiver->counters.unknown_sender++;
	refused_add(&receiver->counters.by_unknown, host);
	if (n > 1)
		complain(&receiver->unknown, loop_now(receiver->loop), LOG_WARN_, "traps",
			"%zu devices share the address %s: its sender is ambiguous, the trap is "
			"dropped",
			n, host);
	else
		complain(&receiver->unknown, loop_now(receiver->loop), LOG_WARN_, "traps",
			"a trap from %s, which is the address of no device: dropped. Set the "
			"device's trap source to the address it is polled at, or correct "
			"snmp.address",
			host);
}

/* A v1 trap may come from elsewhere and still name its agent: that is known only once it is read.
 */
static bool on_datagram(void *arg, const char *host, int version)
{
	struct trap_receiver *r = arg;
	size_t n = 0;
	bool known = r->find(r->arg, host, &n) != NULL;
	r->counters.received++;
	if (!trap_receiver_allowed(r, host, known)) {
		r->counters.limited++;
		refused_add(&r->counters.by_limited, host);
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
		refused_add(&r->counters.by_malformed, host);
		complain(&r->malformed, loop_now(r->loop), LOG_WARN_, "traps",
			"a message from %s that is no SNMP trap: dropped", host);
		return;
	}
	r->counters.wrong_credential++;
	refused_add(&r->counters.by_credential, host);
	complain(&r->refused, loop_now(r->loop), LOG_WARN_, "traps",
		"a trap from %s with a community or user that is not in traps.credentials, or with "
		"wrong keys: dropped",
		host);
}

/* ---- messages -------------------------------------------------------- */

static const char *trap_receiver_port_name(void *arg, uint32_t ifindex)
{
	return snmp_target_port_name(arg, ifindex);
}

static struct snmp_target *target_of(
	struct trap_receiver *receiver, const struct snmp_trap_message *message)
{
	char agent[16];
	size_t n = 0, n_agent = 0;
	struct snmp_target *t = receiver->find(receiver->arg, message->host, &n);
	const uint8_t *a = message->pdu.agent_addr;
	if (!t && message->pdu.version == 1) {
		snprintf(agent, sizeof(agent), "%u.%u.%u.%u", a[0], a[1], a[2], a[3]);
		t = receiver->find(receiver->arg, agent, &n_agent);
	}
	if (!t)
		complain_unknown(receiver, message->host, n);
	return t;
}

/* An inform whose acknowledgement got lost is sent again with the same id: one event is enough. */
static bool trap_receiver_repeated(
	struct trap_receiver *receiver, const struct snmp_trap_message *message)
{
	struct trap_sender *s = NULL;
	if (message->pdu.inform)
		s = trap_receiver_sender_of(receiver, message->host);
	if (!s)
		return false;
	bool again = s->has_inform && s->last_inform == message->request_id;
	s->has_inform = true;
	s->last_inform = message->request_id;
	receiver->counters.informs += !again;
	receiver->counters.repeated += again;
	return again;
}

static void trap_receiver_on_message(void *arg, const struct snmp_trap_message *message)
{
	struct trap_receiver *r = arg;
	struct snmp_target *t = target_of(r, message);
	struct snmp_trap_event e;
	if (!t || trap_receiver_repeated(r, message))
		return;
	const struct snmp_trap_sender s = {.profile = snmp_target_profile_data(t),
		.port_name = trap_receiver_port_name,
		.arg = t};
	int rc = snmp_trap_read(&message->pdu, &s, &e);
	if (rc < 0) {
		r->counters.malformed += rc == -EBADMSG;
		r->counters.unknown_trap += rc != -EBADMSG;
		return;
	}
	const char *port = NULL;
	if (*e.port)
		port = e.port;
	r->counters.events++;
	if (r->sink.event)
		r->sink.event(r->sink.arg, wall_now().ns, e.kind, snmp_target_state(t)->device,
			port, e.text);
	if (e.poll_soon)
		snmp_target_poll_soon(t);
}

/* ---- life ---------------------------------------------------------------- */

struct trap_secrets {
	char *community, *auth, *priv;
};

static int credential_read(const struct config_snmp_credential *credential,
	struct trap_secrets *secrets, struct snmp_trap_credential *ret, struct err *e)
{
	int rc = 0;
	if (credential->version != 3)
		rc = secret_read(&credential->community, &secrets->community, e);
	if (rc == 0 && credential->version == 3 && credential->auth)
		rc = secret_read(&credential->auth_secret, &secrets->auth, e);
	if (rc == 0 && credential->version == 3 && credential->priv)
		rc = secret_read(&credential->priv_secret, &secrets->priv, e);
	*ret = (struct snmp_trap_credential){.version = credential->version,
		.community = secrets->community,
		.user = credential->user,
		.auth = credential->auth,
		.auth_password = secrets->auth,
		.priv = credential->priv,
		.priv_password = secrets->priv};
	return rc;
}

int trap_receiver_new(struct loop *loop, const struct config_traps *traps, const struct sink *sink,
	trap_find_fn *find, void *arg, struct trap_receiver **ret, struct err *e)
{
	static const struct snmp_trap_io_events events = {.datagram = on_datagram,
		.message = trap_receiver_on_message,
		.refused = on_refused};
	rw_cleanup(freep) struct trap_secrets *secrets =
		rw_calloc(traps->n_credentials + 1, sizeof(*secrets));
	rw_cleanup(freep) struct snmp_trap_credential *v =
		rw_calloc(traps->n_credentials + 1, sizeof(*v));
	struct trap_receiver *r = rw_calloc(1, sizeof(*r));
	*r = (struct trap_receiver){
		.loop = loop, .sink = *sink, .find = find, .arg = arg, .index = smap_new()};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < traps->n_credentials; i++)
		rc = credential_read(traps->credentials[i]->snmp, &secrets[i], &v[i], e);
	if (rc == 0)
		rc = snmp_trap_io_new(loop,
			&(struct snmp_trap_io_options){.address = traps->address,
				.port = traps->port,
				.credentials = v,
				.n_credentials = traps->n_credentials},
			&events, r, &r->io, e);
	for (size_t i = 0; i < traps->n_credentials; i++) {
		target_secret_wipe(&secrets[i].community);
		target_secret_wipe(&secrets[i].auth);
		target_secret_wipe(&secrets[i].priv);
	}
	if (rc < 0) {
		trap_receiver_free(r);
		return rc;
	}
	*ret = r;
	return 0;
}

void trap_receiver_free(struct trap_receiver *receiver)
{
	if (!receiver)
		return;
	snmp_trap_io_free(receiver->io);
	smap_free(receiver->index);
	free(receiver->senders);
	free(receiver);
}

const struct trap_counters *trap_receiver_counters(const struct trap_receiver *receiver)
{
	return &receiver->counters;
}

bool config_traps_same(const struct config_traps *left, const struct config_traps *right)
{
	if (!left || !right)
		return left == right;
	if (!str_eq(left->address, right->address) || left->port != right->port ||
		left->n_credentials != right->n_credentials)
		return false;
	for (size_t i = 0; i < left->n_credentials; i++) {
		const struct config_snmp_credential *x = left->credentials[i]->snmp,
						    *y = right->credentials[i]->snmp;
		if (x->version != y->version || !str_eq(x->user, y->user) || x->auth != y->auth ||
			x->priv != y->priv)
			return false;
		if (!target_secret_same(&x->community, &y->community) ||
			!target_secret_same(&x->auth_secret, &y->auth_secret) ||
			!target_secret_same(&x->priv_secret, &y->priv_secret))
			return false;
	}
	return true;
}

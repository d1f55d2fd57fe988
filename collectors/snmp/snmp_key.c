/* snmp_key - see the header. */
#include "collectors/snmp/snmp_key.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/loop.h"
#include "agent/base/map.h"

struct snmp_key {
	struct snmp_key *next;
	enum snmp_auth auth; /* the hash */
	char *password; /* wiped when the key is there */
	uint64_t fingerprint;
	bool busy, ready;
	struct snmp_ku ku;
	int rc;
	unsigned refs; /* those who got it, and the work under way */
};

static struct snmp_key *keys;
static struct snmp_key_waiter *waiters, *telling; /* telling: those being told just now */

static void password_wipe(struct snmp_key *k)
{
	if (k->password)
		explicit_bzero(k->password, strlen(k->password));
	free(k->password);
	k->password = NULL;
}

void snmp_key_put(struct snmp_key *k)
{
	if (!k || --k->refs > 0)
		return;
	for (struct snmp_key **p = &keys; *p; p = &(*p)->next)
		if (*p == k) {
			*p = k->next;
			break;
		}
	password_wipe(k);
	explicit_bzero(k, sizeof(*k));
	free(k);
}

struct snmp_key *snmp_key_get(enum snmp_auth auth, const char *password)
{
	/* the list must not tell which of two passwords is which across runs */
	static uint64_t seed;
	if (!seed)
		seed = (uint64_t)wall_now().ns | 1;
	uint64_t fingerprint = hash_bytes(password, strlen(password), seed);
	for (struct snmp_key *k = keys; k; k = k->next)
		if (k->auth == auth && k->fingerprint == fingerprint && k->rc == 0) {
			k->refs++;
			return k;
		}
	struct snmp_key *k = rw_calloc(1, sizeof(*k));
	*k = (struct snmp_key){.next = keys,
		.auth = auth,
		.password = rw_strdup(password),
		.fingerprint = fingerprint,
		.refs = 1};
	keys = k;
	return k;
}

static void key_work(void *arg)
{
	struct snmp_key *k = arg;
	k->rc = snmp_ku_make(k->auth, k->password, &k->ku);
}

static void key_done(void *arg)
{
	struct snmp_key *k = arg;
	k->busy = false;
	k->ready = true;
	password_wipe(k);
	/* From the head, one at a time: a waiter may free itself or another one. Who waits for
	 * another key gets back into the list. */
	telling = waiters;
	waiters = NULL;
	while (telling) {
		struct snmp_key_waiter *w = telling;
		telling = w->next;
		w->waiting = false;
		w->done(w->arg);
	}
	snmp_key_put(k);
}

bool snmp_key_ready(struct snmp_key *k, struct loop *l)
{
	if (!k || k->ready)
		return true;
	if (!k->busy) {
		k->busy = true;
		k->refs++;
		if (loop_work(l, key_work, key_done, k) < 0) {
			k->busy = false;
			k->refs--;
			k->rc = -EAGAIN;
			return true;
		}
	}
	return false;
}

const struct snmp_ku *snmp_key_value(const struct snmp_key *k)
{
	return k && k->ready && k->rc == 0 ? &k->ku : NULL;
}

int snmp_key_error(const struct snmp_key *k)
{
	return k ? k->rc : 0;
}

void snmp_key_wait(struct snmp_key_waiter *w)
{
	w->waiting = true;
	w->next = waiters;
	waiters = w;
}

void snmp_key_leave(struct snmp_key_waiter *w)
{
	struct snmp_key_waiter **const lists[] = {&waiters, &telling};
	for (size_t i = 0; w->waiting && i < rw_countof(lists); i++)
		for (struct snmp_key_waiter **p = lists[i]; *p; p = &(*p)->next)
			if (*p == w) {
				*p = w->next;
				break;
			}
	w->waiting = false;
}

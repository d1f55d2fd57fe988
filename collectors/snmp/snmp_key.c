/* snmp_key - a list of keys by password, and of those who wait for one. */
#include "collectors/snmp/snmp_key.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/locked.h"
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
static struct snmp_key_waiter *waiters;
static struct snmp_key_waiter *woken; /* those whose .done is called just now */

static void password_wipe(struct snmp_key *key)
{
	locked_freep(&key->password);
}

void snmp_key_put(struct snmp_key *key)
{
	if (!key || --key->refs > 0)
		return;
	for (struct snmp_key **p = &keys; *p; p = &(*p)->next)
		if (*p == key) {
			*p = key->next;
			break;
		}
	password_wipe(key);
	locked_free(key);
}

struct snmp_key *snmp_key_get(enum snmp_auth auth, const char *password)
{
	/* the same password must not have the same fingerprint in every run */
	static uint64_t seed;
	if (!seed)
		seed = (uint64_t)wall_now().ns | 1;
	uint64_t fingerprint = hash_bytes(password, strlen(password), seed);
	for (struct snmp_key *k = keys; k; k = k->next)
		if (k->auth == auth && k->fingerprint == fingerprint && k->rc == 0) {
			k->refs++;
			return k;
		}
	struct snmp_key *k = locked_new(sizeof(*k));
	*k = (struct snmp_key){.next = keys,
		.auth = auth,
		.password = locked_dup(password),
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

static void snmp_key_done(void *arg)
{
	struct snmp_key *k = arg;
	k->busy = false;
	k->ready = true;
	password_wipe(k);
	/* From the head, one at a time: a waiter may free itself or another one. A waiter whose key
	 * is another one waits again. */
	woken = waiters;
	waiters = NULL;
	while (woken) {
		struct snmp_key_waiter *w = woken;
		woken = w->next;
		w->waiting = false;
		w->done(w->arg);
	}
	snmp_key_put(k);
}

bool snmp_key_ready(struct snmp_key *key, struct loop *loop)
{
	if (!key || key->ready)
		return true;
	if (!key->busy) {
		key->busy = true;
		key->refs++;
		if (loop_work(loop, key_work, snmp_key_done, key) < 0) {
			key->busy = false;
			key->refs--;
			key->rc = -EAGAIN;
			return true;
		}
	}
	return false;
}

const struct snmp_ku *snmp_key_value(const struct snmp_key *key)
{
	if (key && key->ready && key->rc == 0)
		return &key->ku;
	return NULL;
}

int snmp_key_error(const struct snmp_key *key)
{
	if (key)
		return key->rc;
	return 0;
}

void snmp_key_wait(struct snmp_key_waiter *waiter)
{
	waiter->waiting = true;
	waiter->next = waiters;
	waiters = waiter;
}

void snmp_key_leave(struct snmp_key_waiter *waiter)
{
	struct snmp_key_waiter **const lists[] = {&waiters, &woken};
	for (size_t i = 0; waiter->waiting && i < rw_countof(lists); i++)
		for (struct snmp_key_waiter **p = lists[i]; *p; p = &(*p)->next)
			if (*p == waiter) {
				*p = waiter->next;
				break;
			}
	waiter->waiting = false;
}

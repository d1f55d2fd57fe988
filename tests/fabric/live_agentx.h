/*
 * live_agentx - the subagent's side of AgentX (RFC 2741): one session with one snmpd, which asks,
 * and is answered from two functions. A protocol of its own here because net-snmp's library serves
 * one master per process, and a fabric has one per switch.
 *
 * One thread; requests are answered in the order they come, at once. Sizes from outside are
 * limited: a PDU to AGENTX_PDU_MAX bytes.
 */
#ifndef FABRIC_LIVE_AGENTX_H
#define FABRIC_LIVE_AGENTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AGENTX_OID_MAX = 32, AGENTX_PDU_MAX = 1 << 20 };
struct agentx_oid {
	uint32_t n, v[AGENTX_OID_MAX];
};
/* <0, 0, >0: lexicographic */
int agentx_oid_order(const struct agentx_oid *a, const struct agentx_oid *b);
/* "1.3.6.1"; false: not an OID */
bool agentx_oid_read(const char *text, struct agentx_oid *ret);

enum agentx_type {
	AGENTX_INTEGER = 2,
	AGENTX_OCTETS = 4,
	AGENTX_COUNTER32 = 65,
	AGENTX_GAUGE32 = 66,
	AGENTX_TICKS = 67,
	AGENTX_COUNTER64 = 70
};
struct agentx_value {
	enum agentx_type type;
	uint64_t number;
	const char *text; /* octets: borrowed until the answer is written */
	size_t n_text;
};

struct agentx_ops {
	/* The instance called @name, or the first one after @name (or at it, when @include) and
	 * before @end; false: there is none. */
	bool (*get)(void *data, const struct agentx_oid *name, struct agentx_value *ret);
	bool (*next)(void *data, const struct agentx_oid *name, bool include,
		const struct agentx_oid *end, struct agentx_oid *ret_name,
		struct agentx_value *ret);
};

struct agentx {
	int fd; /* -1: no session */
	uint32_t session, packet;
	const struct agentx_ops *ops;
	void *data;
	uint8_t *in;
	size_t n_in, cap_in;
	uint64_t requests; /* answered so far */
};

/*
 * agentx_open - connect to the master at @path (a unix socket), open a session called @name and
 * register each of @subtrees. Waits for the master's answers. Returns 0, or -errno; -ECONNREFUSED
 * and -ENOENT: nobody listens there yet. agentx_close() also after a failure.
 */
int agentx_open(struct agentx *x, const char *path, const char *name, const char *const *subtrees,
	size_t n_subtrees, const struct agentx_ops *ops, void *data);
void agentx_close(struct agentx *x);

/* agentx_serve - answer what has arrived; to be called when @fd is readable. 0, or -errno when the
 * session is over. */
int agentx_serve(struct agentx *x);

#endif

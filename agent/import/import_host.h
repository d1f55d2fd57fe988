/*
 * import_host - what hosts print about their NICs and collectives, as a document.
 *
 *   nccl-tests  tables of nccl-tests: bus bandwidth of each node, against the median of all
 *   nccl-log    NCCL_DEBUG=INFO: which NICs NCCL picked up on each host, and by which transport
 *   ethtool     ethtool -S (two of one NIC give what grew between them), ethtool -m,
 *               /sys/class/infiniband/.../hw_counters, rdma statistic: counters of NICs
 *
 * Texts come from anybody: they are bounded and cleaned here. A document has "kind", "rows",
 * "notes" (what cannot be said, and why) and "flagged" (one sentence each about a host). The caller
 * owns it.
 */
#ifndef RW_AGENT_IMPORT_HOST_H
#define RW_AGENT_IMPORT_HOST_H

#include <jansson.h>
#include <stddef.h>

#include "agent/base/err.h"
#include "agent/document/writer.h"

struct import_text {
	const char *text;
	size_t n;
	const char *name; /* of the file */
	const char *host; /* whose it is, where the text does not say so; "" unknown */
	const char *nic; /* likewise */
};

struct import_kind {
	const char *name, *summary;
	/* NULL with @e filled when nothing of the kind is in it */
	json_t *(*read)(const struct import_text *texts, size_t n, double below, struct err *e);
	const struct view *view;
};
extern const struct import_kind import_kinds[]; /* ends with name NULL */

json_t *import_nccl_tests(const struct import_text *texts, size_t n, double below, struct err *e);
json_t *import_nccl_log(const struct import_text *texts, size_t n, double below, struct err *e);
json_t *import_ethtool(const struct import_text *texts, size_t n, double below, struct err *e);

/* import_note, import_flag - one more sentence. import_flag() says which host it is about. */
void import_note(json_t *doc, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void import_flag(json_t *doc, const char *host, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
json_t *import_document(const char *kind);

#endif

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
#pragma once

#include <jansson.h>
#include "base/base.h"

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
	bool gates; /* a flagged host makes the command fail: a check before a job starts */
};
extern const struct import_kind import_kinds[]; /* ends with name NULL */

json_t *import_nccl_tests(const struct import_text *texts, size_t n, double below, struct err *e);
json_t *import_nccl_log(const struct import_text *texts, size_t n, double below, struct err *e);
json_t *import_ethtool(const struct import_text *texts, size_t n, double below, struct err *e);

/* import_note, import_flag - one more sentence. import_flag() says which host it is about. */
void import_note(json_t *doc, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void import_flag(json_t *doc, const char *host, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* import_flagged - what was flagged: {host, text}; borrowed from @doc. */
json_t *import_flagged(const json_t *doc);
json_t *import_document(const char *kind);

/*
 * host_text - lines of what was printed on hosts (nccl-tests, NCCL_DEBUG, ethtool), as people keep
 * it: with the tags that pdsh ("node-001: ") and mpirun ("[1,0]<stdout>:") put before each line, or
 * without. Every line is cleaned (base/text_clean.h) and cut to HOST_LINE_MAX. One thread.
 */

enum { HOST_LINE_MAX = 4096, HOST_NAME_LEN = 64, HOST_WORDS_MAX = 64 };

struct host_text {
	const char *at, *end;
	unsigned number; /* of the line, from 1 */
	char host[HOST_NAME_LEN]; /* its tag; "" none */
	char line[HOST_LINE_MAX]; /* without tags; leading blanks are kept */
};

void host_text_begin(struct host_text *text, const char *data, size_t n);
bool host_text_next(struct host_text *text);

/* host_words - splits @line at blanks, in place. Returns how many words are in @words. */
size_t host_words(char *line, char *words[HOST_WORDS_MAX]);

/* host_number, host_real - the whole word is a number. */
bool host_number(const char *word, uint64_t *ret);
bool host_real(const char *word, double *ret);

/* host_name_copy - @n bytes as a name: cut, and "" when it holds anything but letters, digits and
 * . _ - */
void host_name_copy(char ret[HOST_NAME_LEN], const char *text, size_t n);

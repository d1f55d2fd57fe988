/* config_ship - where the store's content goes as well: the section 'store.ship:' as built. Part of
 * struct config (config/config.h). */
#ifndef RW_CONFIG_SHIP_H
#define RW_CONFIG_SHIP_H

#include "config/config_alerts.h"

enum sink_kind { SINK_CLICKHOUSE, SINK_REMOTE_WRITE, SINK_KINDS };
/* sink_kind_name - the word in the file: "clickhouse". */
const char *sink_kind_name(enum sink_kind kind);

struct config_sink {
	enum sink_kind kind;
	const char *name; /* unique */
	const char *url, *database, *username; /* database: of a clickhouse */
	struct config_secret password;
	const char *tls_ca, *tls_cert, *tls_key; /* NULL: not given */
	bool tls_skip_verify;
	int64_t interval_ns, retry_ns, timeout_ns;
	uint64_t batch; /* samples in one request */
};

struct config_ship {
	const char *agent; /* NULL: not given */
	uint64_t spool_bytes;
	struct config_sink *sinks;
	size_t n_sinks;
};

#endif

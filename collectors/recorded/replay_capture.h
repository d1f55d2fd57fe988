/*
 * replay_capture - the captures of a recorded case, as the flow rows a live capture would have
 * given.
 *
 * capture.yaml has the `capture:` list of the configuration (name, interface, port, direction,
 * sampling, interval); the packets of the capture NAME lie beside it in capture-NAME.pcap or
 * capture-NAME.pcapng.
 */
#pragma once

#include "base/base.h"
#include "config/config.h"
#include "db/model/entity.h"
#include "db/model/flow.h"

struct flow_list {
	struct flow_sample *v;
	size_t n, cap;
};

/*
 * replay_captures - flows of all captures of the case in @dir, appended to @out in order of their
 * end. No capture.yaml: none.
 * @config: the fabric the captures' ports belong to. Caller frees out->v. 0, or negative errno with
 * @e filled.
 */
int replay_captures(const char *dir, const struct config *config, struct entities *entities,
	struct flow_list *out, struct err *e);

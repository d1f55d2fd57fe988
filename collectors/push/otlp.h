/* otlp - the receiver of OpenTelemetry metrics as a collector (collectors/target/collector.h). It
 * runs in a process of its own (agent/jail/parser_child.h). */
#ifndef RW_COLLECTORS_OTLP_H
#define RW_COLLECTORS_OTLP_H

#include "collectors/target/collector.h"

extern const struct collector collector_otlp;

#endif

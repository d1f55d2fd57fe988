/* otlp - the receiver of OpenTelemetry metrics as a collector (collectors/target/collector.h). It
 * runs in a process of its own (agent/jail/parser_child.h). */
#pragma once

#include "collectors/target/collector.h"

extern const struct collector collector_otlp;

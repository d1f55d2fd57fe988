/*
 * otlp_grpc - the service opentelemetry.proto.collector.metrics.v1.MetricsService on connections
 * that others have accepted. Every other method is answered UNIMPLEMENTED. Source:
 * opentelemetry-proto, docs/specification.md (OTLP/gRPC); retry information is google.rpc.RetryInfo
 * in grpc-status-details-bin.
 *
 * Threads: one of our own takes calls and messages from gRPC, which starts more for itself. They
 * start with otlp_grpc_new(), so after the process has given up its rights.
 */
#pragma once

#include "collectors/push/otlp_take.h"
#include "base/base.h"

struct otlp_grpc;

/* otlp_grpc_prepare - loads the library: once, where the process may still open files. 0, or
 * -ENOENT with @e. */
int otlp_grpc_prepare(struct err *e);

/* otlp_grpc_new - @door is copied. 0 or negative errno. */
int otlp_grpc_new(const struct otlp_door *door, struct otlp_grpc **ret);
/* otlp_grpc_free - ends all connections and waits for the thread. NULL is fine. */
void otlp_grpc_free(struct otlp_grpc *grpc);
/* otlp_grpc_add - a connection without TLS, or the inner end of one; @fd does not block and belongs
 * to gRPC from now on. Loop thread. */
void otlp_grpc_add(struct otlp_grpc *grpc, int fd);

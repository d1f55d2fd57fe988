/*
 * otlp_http - OTLP/HTTP on connections that others have accepted: POST /v1/metrics with protobuf,
 * packed by gzip or not. Source: opentelemetry-proto, docs/specification.md (OTLP/HTTP). The JSON
 * encoding is refused with 415 and the reason.
 *
 * libmicrohttpd has one thread for all connections; it starts with otlp_http_new(), so after the
 * process has given up its rights.
 */
#pragma once

#include "collectors/push/otlp_take.h"
#include "base/base.h"

struct otlp_http;

/* otlp_http_prepare - loads the library: once, where the process may still open files. 0, or
 * -ENOENT with @e. */
int otlp_http_prepare(struct err *e);

/* otlp_http_new - @door is copied. 0 or negative errno. */
int otlp_http_new(const struct otlp_door *door, struct otlp_http **ret);
void otlp_http_free(struct otlp_http *http); /* NULL is fine */
/* otlp_http_add - @fd does not block and belongs to the server from now on. False: it was refused
 * and closed. Loop thread. */
bool otlp_http_add(struct otlp_http *http, int fd);

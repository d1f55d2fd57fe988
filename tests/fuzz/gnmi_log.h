/*
 * gnmi_log - what a decoder delivered, written down so that two decoders can be held to each other.
 * For the fuzz targets and unit tests of proto/.
 */
#ifndef RW_TESTS_GNMI_LOG_H
#define RW_TESTS_GNMI_LOG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "proto/gnmi.h"

/* One line per update; nothing that differs between decoders by design (path_id). Bytes are written
 * in full, with their length. */
static inline void gnmi_log_update(struct str *log, const struct gnmi_update *u)
{
	static const char *const ops[] = {"update", "delete", "sync", "error"};
	str_addf(log,
		"%s clock=%d atomic=%d dup=%u code=%u t=%lld target=%s origin=%s path=%s ext=%d:",
		ops[u->op], (int)u->clock, u->atomic, u->duplicates, u->code, (long long)u->t_ns,
		u->target, u->origin, u->path, u->extension_id);
	if (strlen(u->path) != u->path_n)
		abort();
	for (size_t i = 0; i < u->extension_n; i++)
		str_addf(log, "%02x", u->extension[i]);
	str_addf(log, "%s", u->extension ? "." : "-");
	if (u->op == GNMI_UPDATE || u->op == GNMI_ERROR) {
		const struct gnmi_value *v = &u->value;
		uint64_t bits = v->kind == GNMI_BOOL ? v->b : v->u;
		str_addf(log, " kind=%d", (int)v->kind);
		if (v->kind >= GNMI_STRING) {
			str_addf(log, " %zu:", v->n);
			str_addn(log, v->p, v->n);
		} else if (v->kind != GNMI_NULL) {
			str_addf(log, " %llx scale=%u", (unsigned long long)bits, v->scale);
		}
	}
	str_add(log, "\n");
}

#endif

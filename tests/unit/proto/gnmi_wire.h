/*
 * gnmi_wire - gNMI bytes written by hand, without any protobuf library, and what decoders make of
 * them as text.
 *
 * Bytes:  "0a( 08 v5 12('text') )"   hexadecimal bytes; vN a varint; 'text' as it is; ( ) what is
 * inside, after its length as a varint Updates, one a line, what is usual left out:
 *   "/a/b = uint 5"   "o:/a = string x dup=3 target=t ext=1:0a"   "delete /a"   "sync"   "error 14
 * text"
 */
#ifndef RW_TESTS_GNMI_WIRE_H
#define RW_TESTS_GNMI_WIRE_H

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "proto/gnmi.h"

static inline void wire_varint(struct str *out, uint64_t v)
{
	do {
		char c = (char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		str_addn(out, &c, 1);
	} while ((v >>= 7) > 0);
}

/* Adds the bytes of @text up to its end or to a closing parenthesis; returns where it stopped.
 * Mistakes in the notation abort. */
static inline const char *wire_add(struct str *out, const char *text)
{
	while (*text && *text != ')') {
		if (isspace((unsigned char)*text)) {
			text++;
		} else if (*text == '(') {
			struct str inside = {0};
			text = wire_add(&inside, text + 1);
			if (*text++ != ')')
				abort();
			wire_varint(out, inside.n);
			if (inside.n)
				str_addn(out, inside.s, inside.n);
			str_done(&inside);
		} else if (*text == '\'') {
			const char *end = strchr(text + 1, '\'');
			str_addn(out, text + 1, (size_t)(end - text - 1));
			text = end + 1;
		} else if (*text == 'v') {
			char *end;
			uint64_t v = text[1] == '-' ? (uint64_t)strtoll(text + 1, &end, 10)
						    : strtoull(text + 1, &end, 10);
			wire_varint(out, v);
			text = end;
		} else {
			char pair[3] = {text[0], text[1], '\0'}, *end,
			     c = (char)strtoul(pair, &end, 16);
			if (*end || !text[1])
				abort();
			str_addn(out, &c, 1);
			text += 2;
		}
	}
	return text;
}

static inline void wire_text(struct str *out, const struct gnmi_update *u)
{
	static const char *const kinds[] = {"null", "int", "uint", "bool", "double", "decimal",
		"string", "ascii", "bytes", "proto"};
	static const char *const clocks[] = {"ok", "missing", "scaled", "early"};
	char value[4096];

	if (out->n)
		str_add(out, "\n");
	gnmi_value_text(&u->value, value, sizeof(value));
	switch (u->op) {
	case GNMI_SYNC: str_add(out, "sync"); break;
	case GNMI_ERROR: str_addf(out, "error %u %s", u->code, value); break;
	case GNMI_DELETE:
	case GNMI_UPDATE:
		str_addf(out, "%s%s%s%s", u->op == GNMI_DELETE ? "delete " : "", u->origin,
			*u->origin ? ":" : "", u->path);
		if (u->op == GNMI_UPDATE)
			str_addf(out, " = %s %s", kinds[u->value.kind], value);
		if (u->clock != GNMI_CLOCK_OK)
			str_addf(out, " clock=%s", clocks[u->clock]);
	}
	if (u->duplicates)
		str_addf(out, " dup=%u", u->duplicates);
	if (u->atomic)
		str_add(out, " atomic");
	if (*u->target)
		str_addf(out, " target=%s", u->target);
	if (u->extension) {
		str_addf(out, " ext=%d:", (int)u->extension_id);
		for (size_t i = 0; i < u->extension_n; i++)
			str_addf(out, "%02x", u->extension[i]);
	}
}

#endif

/*
 * The codec alone. The first byte chooses: a SubscribeResponse, a GetResponse, a
 * CapabilityResponse, or text that is taken for a path, encoded in a request, and whose canonical
 * form must be a path again, and the same.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "proto/gnmi_codec.h"
#include "tests/fuzz/gnmi_log.h"

static void take(void *arg, const struct gnmi_update *u)
{
	gnmi_log_update(arg, u);
	/* Whatever is delivered as a path can be asked for again. */
	struct arena *a = arena_new();
	struct gnmi_elem *elems;
	size_t n;
	if (u->path_n && gnmi_path_parse(u->path, u->path_n, a, &elems, &n, NULL) < 0 &&
		!strchr(u->path, '#'))
		abort();
	arena_free(a);
}

static void path(const char *text, size_t n, struct arena *a)
{
	struct gnmi_path first, second;
	struct gnmi_elem *elems;
	size_t n_elems;
	bool ok = true;
	struct err e = {0};

	gnmi_path_init(&first);
	gnmi_path_init(&second);
	if (gnmi_path_parse(text, n, a, &elems, &n_elems, &e) < 0) {
		if (e.code == 0 || !e.text[0])
			abort();
		return;
	}
	for (size_t i = 0; ok && i < n_elems; i++)
		ok = gnmi_path_add(&first, elems[i].name, elems[i].name_n, elems[i].keys,
			elems[i].n_keys, true);
	if (!ok)
		return;
	if (gnmi_path_parse(first.s, gnmi_path_length(&first), a, &elems, &n_elems, NULL) < 0)
		abort();
	for (size_t i = 0; i < n_elems; i++)
		if (!gnmi_path_add(&second, elems[i].name, elems[i].name_n, elems[i].keys,
			    elems[i].n_keys, true))
			abort();
	if (strcmp(first.s, second.s) != 0 || first.elems != second.elems)
		abort();
	struct gnmi_subscription v = {.path = first.s, .mode = GNMI_SAMPLE, .sample_ns = 1};
	struct gnmi_bytes bytes;
	if (gnmi_encode_subscribe(&(struct gnmi_subscribe){.v = &v, .n = 1}, a, &bytes, NULL) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = bytes_of(data, size);
	const uint8_t what = bytes_u8(&in);
	const size_t n = bytes_left(&in);
	struct gnmi_counts counts = {0};
	struct gnmi_capabilities c;
	struct str log = {0};
	struct arena *a = arena_new();
	struct gnmi_decode d = {
		.plain_names = what & 4, .fn = take, .arg = &log, .counts = &counts};

	switch (what & 3) {
	case 0: gnmi_decode_subscribe(in.p, n, &d, a); break;
	case 1: gnmi_decode_get(in.p, n, &d, a); break;
	case 2:
		if (gnmi_decode_capabilities(in.p, n, a, &c) == 0)
			for (size_t i = 0; i < c.n_encodings; i++)
				str_add(&log, gnmi_encoding_name(c.encodings[i]));
		break;
	default: path((const char *)in.p, n, a);
	}
	str_done(&log);
	arena_free(a);
	return 0;
}

/*
 * Two decoders, one answer. The input is a stream: two bytes of length, then so much of a
 * SubscribeResponse, again and again. Each message goes to the codec and to a walker that keeps its
 * paths from message to message; what they deliver and what they count must be equal, and two
 * updates have the same id exactly when they have the same origin and path. The stream is then
 * played to the same walker once more: what it learnt must not change what it says.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "proto/gnmi_codec.h"
#include "proto/gnmi_walk.h"
#include "tests/fuzz/gnmi_log.h"

#define IDS 4096

struct side {
	struct str log;
	struct gnmi_counts counts;
	char *paths[IDS]; /* by id: origin and path */
};

static void must(bool ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "not so: %s\n", what);
		abort();
	}
}

static void take(void *arg, const struct gnmi_update *u)
{
	struct side *s = arg;
	gnmi_log_update(&s->log, u);
	/* The bytes are read, whatever the caller does with them. */
	char text[64];
	uint64_t n;
	double d;
	gnmi_value_text(&u->value, text, sizeof(text));
	(void)(gnmi_value_u64(&u->value, &n) + gnmi_value_double(&u->value, &d));
	if (u->path_id == GNMI_PATH_NONE || u->path_id >= IDS)
		return;
	struct str path = {0};
	str_addf(&path, "%s:%s", u->origin, u->path);
	char **known = &s->paths[u->path_id];
	must(!*known || strcmp(*known, path.s) == 0, "one id, one path");
	if (*known)
		str_done(&path);
	else
		*known = path.s;
}

static void play(struct bytes in, struct gnmi_walk *w, struct side *walker, struct side *codec,
	const struct gnmi_decode *d, struct arena *a)
{
	while (bytes_left(&in) > 0) {
		size_t n = bytes_be16(&in);
		if (n > bytes_left(&in))
			n = bytes_left(&in);
		/* A copy of exactly its size: one byte past the end is then the sanitizer's to see.
		 */
		uint8_t *message = malloc(n + !n);
		const uint8_t *p = bytes_take(&in, n);
		if (n && p)
			memcpy(message, p, n);
		walker->log.n = codec->log.n = 0;
		int r_codec = gnmi_decode_subscribe(message, n, d, a);
		int r_walker = gnmi_walk_message(w, message, n);
		free(message);
		arena_reset(a);
		if (r_codec == -EMSGSIZE) {
			/* The walker does not unpack, so it has no such limit. */
			walker->counts = codec->counts;
			continue;
		}
		must(r_codec == r_walker, "the same result");
		must(memcmp(&walker->counts, &codec->counts, sizeof(codec->counts)) == 0,
			"the same counts");
		if (walker->log.n != codec->log.n ||
			(codec->log.n && memcmp(walker->log.s, codec->log.s, codec->log.n) != 0)) {
			fprintf(stderr, "codec:\n%.*s\nwalker:\n%.*s\n", (int)codec->log.n,
				codec->log.s, (int)walker->log.n, walker->log.s);
			must(false, "the same updates");
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct gnmi_list lists[] = {
		{"interface", {"name"}}, {"queue", {"interface-id", "name"}}};
	static struct side walker, codec;
	struct bytes in = bytes_of(data, size);
	struct arena *a = arena_new();
	struct gnmi_decode d = {
		.lists = lists, .n_lists = 2, .fn = take, .plain_names = bytes_u8(&in) & 1};

	memset(&walker.counts, 0, sizeof(walker.counts));
	memset(&codec.counts, 0, sizeof(codec.counts));
	d.arg = &walker;
	d.counts = &walker.counts;
	struct gnmi_walk *w = gnmi_walk_new(&d);
	d.arg = &codec;
	d.counts = &codec.counts;
	for (int round = 0; round < 2; round++)
		play(in, w, &walker, &codec, &d, a);
	const uint32_t n = gnmi_walk_stats(w)->memory.paths;
	gnmi_walk_free(w);
	arena_free(a);
	for (uint32_t i = 0; i < n && i < IDS; i++)
		for (uint32_t k = 0; walker.paths[i] && k < i && i < 64; k++)
			must(!walker.paths[k] || strcmp(walker.paths[i], walker.paths[k]) != 0,
				"one path, one id");
	for (uint32_t i = 0; i < IDS && i < n; i++) {
		free(walker.paths[i]);
		walker.paths[i] = NULL;
	}
	return 0;
}

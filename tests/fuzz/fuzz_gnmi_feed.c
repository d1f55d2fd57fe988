/*
 * A hostile gNMI server, from its bytes to samples: walker -> built-in profile -> decoder ->
 * samples, ports and LLDP neighbours. Input: which profile, then messages (two bytes of length,
 * SubscribeResponse), each to one stream of the profile. A length above 0xff00 ends the round.
 * Entities stay bounded and names are fit to be printed.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "collectors/gnmi/gnmi_decode.h"
#include "collectors/gnmi/gnmi_match.h"
#include "config/profile/profile.h"
#include "config/profile/profile_gnmi.h"
#include "config/topology.h"
#include "db/model/entity.h"
#include "db/model/metric.h"
#include "proto/gnmi_walk.h"
#include "tests/fuzz/printed.h"

enum { FEEDS = 16, T0 = 1000 };

struct feed_side {
	struct gnmi_feed *feed;
	struct gnmi_walk *walk;
	struct gnmi_counts counts;
	struct sample_list *out;
	int64_t *t_ns;
};

static void feed_take(void *arg, const struct gnmi_update *update)
{
	struct feed_side *side = arg;
	if (update->op == GNMI_UPDATE)
		gnmi_feed_update(side->feed, update, ++*side->t_ns, side->out);
}

static void feed_open(struct feed_side *side, struct gnmi_decoder *decoder,
	const struct profile_gnmi_stream *stream)
{
	struct err e = {0};
	side->feed = gnmi_feed_new(decoder, stream, &e);
	if (!side->feed)
		abort();
	struct gnmi_decode decode = *gnmi_feed_decode(side->feed);
	decode.fn = feed_take;
	decode.arg = side;
	decode.counts = &side->counts;
	side->walk = gnmi_walk_new(&decode);
	gnmi_feed_begin(side->feed);
}

static void feed_samples(const struct entities *entities, struct sample_list *out)
{
	for (size_t i = 0; i < out->n; i++) {
		const struct sample *s = &out->v[i];
		const struct entity *e = entity_get(entities, s->entity);
		if (!e || s->metric >= METRIC_COUNT)
			printed_fault("a sample of nothing", "");
		printed_line(e->port);
		if (metric_info(s->metric)->type == TYPE_TEXT)
			printed_line(entities_text_get(entities, s->value));
	}
	out->n = 0;
}

static void feed_neighbors(struct gnmi_decoder *decoder)
{
	struct arena *a = arena_new();
	struct topology_device self = {.name = "leaf1", .sysname = "", .chassis = ""};
	struct topology_neighbor *heard = NULL;
	struct topology_link *links;
	size_t n = 0;
	if (gnmi_decode_has_lldp(decoder))
		n = gnmi_decode_neighbors(decoder, a, NULL, &self, &heard);
	for (size_t i = 0; i < n; i++) {
		printed_line(heard[i].sysname);
		printed_line(heard[i].chassis);
		printed_line(heard[i].port_id);
		printed_line(heard[i].port_descr);
	}
	topology_links(a, &self, 1, heard, n, &links);
	arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct profiles *profiles;
	struct err_list errors = {0};
	if (!profiles && profiles_load(NULL, &profiles, &errors) < 0)
		abort();
	struct bytes in = bytes_of(data, size);
	const struct profile *profile =
		profiles_at(profiles, bytes_u8(&in) % profiles_count(profiles));
	if (!profile->gnmi)
		return 0;
	struct entities *entities = entities_new();
	entities_limit(entities, &(struct entity_limits){.per_device = 500});
	/* patterns are no input: made once */
	static struct gnmi_compiled_set *compiled;
	if (!compiled)
		compiled = gnmi_compiled_set_new();
	struct gnmi_decoder *decoder = gnmi_decoder_new(entities, "leaf1", profile, compiled, 0);
	struct sample_list out = {0};
	struct feed_side sides[FEEDS] = {0};
	int64_t t_ns = T0;
	size_t n_sides = profile->gnmi->n_streams;
	if (n_sides > FEEDS)
		n_sides = FEEDS;
	for (size_t i = 0; i < n_sides; i++) {
		sides[i].out = &out;
		sides[i].t_ns = &t_ns;
		feed_open(&sides[i], decoder, profile->gnmi->streams[i]);
	}
	while (n_sides && bytes_left(&in) > 0) {
		struct feed_side *side = &sides[bytes_u8(&in) % n_sides];
		size_t n = bytes_be16(&in);
		if (n > 0xff00) {
			gnmi_feed_round(side->feed, ++t_ns, &out);
			continue;
		}
		if (n > bytes_left(&in))
			n = bytes_left(&in);
		const uint8_t *p = bytes_take(&in, n);
		uint8_t *message = malloc(n + !n); /* of exactly its size */
		if (n && p)
			memcpy(message, p, n);
		gnmi_walk_message(side->walk, message, n);
		free(message);
		feed_samples(entities, &out);
	}
	feed_samples(entities, &out);
	feed_neighbors(decoder);
	const struct gnmi_ports *ports = gnmi_decode_ports(decoder);
	for (size_t i = 0; i < ports->n; i++) {
		printed_line(ports->v[i].name);
		printed_line(ports->v[i].alias);
	}
	if (entities_count(entities) > 510)
		printed_fault("names without bound", "");
	for (size_t i = 0; i < n_sides; i++) {
		gnmi_walk_free(sides[i].walk);
		gnmi_feed_free(sides[i].feed);
	}
	gnmi_decoder_free(decoder);
	entities_free(entities);
	free(out.v);
	return 0;
}

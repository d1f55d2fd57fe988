/* Any bytes as messages of a parser that somebody has taken over: no crash, nothing read beyond
 * them; what reaches the store is of a port that this capture may speak of, ends now or before, and
 * holds numbers; at most so many rows a second; texts are clean. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "base/text_clean.h"
#include "agent/jail/parser_intake.h"
#include "db/model/metric.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_NS (1000 * NS_PER_S)
#define LATEST_NS (NOW_NS + 10 * NS_PER_S)

struct fuzz {
	struct entities *entities;
	bool one_port;
	size_t rows;
};

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void fuzz_entity(const struct fuzz *fuzz, uint32_t id)
{
	const struct entity *entity = entity_get(fuzz->entities, id);
	must(entity != NULL);
	if (fuzz->one_port)
		must(str_eq(entity->device, "leaf1") && str_eq(entity->port, "swp1"));
	must(text_is_clean(entity->device) && text_is_clean(entity->port));
}

static void on_flows(void *arg, const struct flow_sample *flows, size_t n)
{
	struct fuzz *fuzz = arg;
	for (size_t i = 0; i < n; i++) {
		fuzz_entity(fuzz, flows[i].entity);
		must(flows[i].from_ns < flows[i].to_ns && flows[i].to_ns <= LATEST_NS);
		must(flows[i].dir <= FLOW_DIR_OUT && isfinite(flows[i].sum_sq_octets));
		must(isfinite(flows[i].reaction.held) && flows[i].octets <= (uint64_t)1 << 53);
	}
	fuzz->rows += n;
	must(fuzz->rows <= INTAKE_ROWS_SFLOW * INTAKE_BURST_SFLOW);
}

static void on_samples(void *arg, const struct sample *samples, size_t n)
{
	const struct fuzz *fuzz = arg;
	must(!fuzz->one_port);
	for (size_t i = 0; i < n; i++) {
		fuzz_entity(fuzz, samples[i].entity);
		must(str_eq(entity_get(fuzz->entities, samples[i].entity)->device, "leaf2"));
		must(metric_info(samples[i].metric)->type != TYPE_TEXT);
		must(samples[i].t_ns <= LATEST_NS);
	}
}

static void on_event(void *arg, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text)
{
	must(text_is_clean(text) && t_ns <= LATEST_NS);
}

static const char *device_of(void *arg, uint32_t number)
{
	if (number > 1)
		return NULL;
	return number ? "leaf2" : "leaf1";
}

static const char *port_of(void *arg, uint32_t number, uint32_t ifindex)
{
	return str_if(ifindex == 7, "swp7")[0] ? "swp7" : NULL;
}

static bool counters_of(void *arg, uint32_t number)
{
	return number == 1;
}

static void fuzz_said(const struct intake_said *said)
{
	must(said->n_figures <= PARSER_FIGURES_MAX);
	for (size_t i = 0; i < said->n_figures; i++)
		must(text_is_clean(said->figures[i].key) && isfinite(said->figures[i].value));
	must(text_is_clean(said->reason.text) && text_is_clean(said->failure.text));
	must(said->failed <= 0);
}

/* Input: a byte for the kind of capture, then messages, each after two bytes with its length. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz fuzz = {.entities = entities_new()};
	const struct sink sink = {
		.arg = &fuzz, .flows = on_flows, .samples = on_samples, .event = on_event};
	log_set_level(LOG_ERROR_ + 1);
	if (size > 0)
		fuzz.one_port = data[0] & 1;
	const struct intake_options options = {.name = "mirror",
		.protocol = "sflow",
		.entities = fuzz.entities,
		.sink = &sink,
		.one_port = fuzz.one_port,
		.device = "leaf1",
		.port = "swp1",
		.lookup = {&fuzz, device_of, port_of, counters_of},
		.interval_ns = NS_PER_S};
	struct parser_intake *intake = parser_intake_new(&options);
	for (size_t at = 1; at + 2 <= size;) {
		size_t n = (size_t)data[at] << 8 | data[at + 1];
		at += 2;
		if (n > size - at)
			n = size - at;
		uint8_t *exact = malloc(n ? n : 1);
		memcpy(exact, data + at, n);
		const int kind = parser_intake_message(intake, exact, n, (wall_t){NOW_NS});
		free(exact);
		at += n;
		must(kind > 0 || parser_intake_said(intake)->wrong);
		fuzz_said(parser_intake_said(intake));
		if (kind < 0)
			break;
	}
	parser_intake_free(intake);
	entities_free(fuzz.entities);
	return 0;
}

/*
 * hostile_gnmi KIND [ADDRESS] - a gNMI server that means harm. Prints "listening on PORT", and ends
 * with its standard input. Kinds:
 *
 *      honest    64 ports with counters, once a second
 *      paths     2,000 ports with new names, ten times a second
 *      cells     2,000 queues with new names, ten times a second
 *      big       250,000 updates in one message, one after the other
 *      string    a value of 10 MB where a number should be, one after the other
 *      flood     messages of one update, as fast as they are taken
 *      bomb      compressed messages that inflate to 256 MB
 *      garbage   bytes that are no message, as fast as they are taken
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/fake/gnmi_server.h"

#define BOMB_BYTES (256u << 20)
#define STRING_BYTES (10u << 20)

struct kind {
	const char *name;
	unsigned ports, values; /* of one round; values are spread over the ports */
	bool new_names, queues;
	size_t text; /* bytes of each value; 0: a number */
	struct gnmi_server_options options;
};

static const struct kind kinds[] = {
	{"honest", 64, 64, .options = {.period_ns = 1000000000}},
	{"paths", 2000, 2000, .new_names = true, .options = {.period_ns = 100000000}},
	{"cells", 2000, 2000, .new_names = true, .queues = true,
		.options = {.period_ns = 100000000}},
	{"big", 64, 250000, .options = {.period_ns = 1000000}},
	{"string", 1, 1, .text = STRING_BYTES, .options = {.period_ns = 1000000}},
	{"flood", 1, 1, .options = {.flood = UINT64_MAX}},
	{"bomb", 1, 1, .text = BOMB_BYTES, .options = {.gzip = true, .period_ns = 1000000000}},
	{"garbage", 64, 64, .options = {.fault = FAULT_GARBAGE, .period_ns = 1000000}},
};

/* The long value is made once. */
static const char *value_text(const struct kind *kind, uint64_t round, char buf[32])
{
	static char *text;
	if (kind->text == 0) {
		snprintf(buf, 32, "%llu", (unsigned long long)round * 1000);
		return buf;
	}
	if (!text) {
		text = rw_calloc(1, kind->text + 1);
		memset(text, '7', kind->text);
	}
	return text;
}

static int values(void *arg, const char *target, const char *origin, const char *path,
	uint64_t round, gnmi_server_emit_fn *emit, void *ctx)
{
	const struct kind *kind = arg;
	const bool of_queues = strstr(path, "/queue[") != NULL;
	const bool of_ports = strstr(path, "/state/counters") != NULL && !strstr(path, "ethernet");
	if ((kind->queues && !of_queues) || (!kind->queues && !of_ports))
		return kind->queues && of_ports ? 0 : -ENOENT;
	const unsigned long long epoch = kind->new_names ? (unsigned long long)round : 0;
	for (unsigned i = 0; i < kind->values; i++) {
		char name[160], number[32];
		const unsigned port = i % kind->ports;
		if (kind->queues)
			snprintf(name, sizeof(name),
				"/qos/interfaces/interface[interface-id=eth1]/output/queues/"
				"queue[name=q%llu-%u]/state/transmit-pkts",
				epoch, port);
		else
			snprintf(name, sizeof(name),
				"/interfaces/interface[name=eth%llu-%u]/state/counters/in-octets",
				epoch, port);
		emit(ctx,
			&(struct speak_value){name, kind->text ? SPEAK_STRING : SPEAK_UINT,
				value_text(kind, round, number)});
	}
	return (int)kind->values;
}

int main(int argc, char **argv)
{
	const struct kind *kind = NULL;
	char line[64];
	for (size_t i = 0; argc > 1 && i < rw_countof(kinds); i++)
		if (strcmp(kinds[i].name, argv[1]) == 0)
			kind = &kinds[i];
	if (!kind)
		return fprintf(stderr, "usage: hostile_gnmi KIND [ADDRESS]\n"), 2;
	struct gnmi_server_options options = kind->options;
	options.values = values;
	options.values_arg = (void *)kind;
	options.listen = argc > 2 ? argv[2] : "127.0.0.1:0";
	struct gnmi_server *server = gnmi_server_new(&options);
	if (!server)
		return fprintf(stderr, "hostile_gnmi: cannot listen on %s\n", options.listen), 1;
	printf("listening on %u\n", gnmi_server_port(server));
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		;
	printf("sent %llu messages\n", (unsigned long long)gnmi_server_counts(server).messages);
	gnmi_server_free(server);
	return 0;
}

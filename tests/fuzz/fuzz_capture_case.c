/*
 * The captures of a recorded case that somebody else sent: capture.yaml and the packets beside it.
 * The first two bytes are the length of capture.yaml; the rest is capture-a.pcap. Flows come in
 * order of their end, about entities that exist.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "agent/modules.h"
#include "collectors/recorded/replay_capture.h"
#include "config/config.h"
#include "db/model/entity.h"
#include "tests/fuzz/printed.h"

static const char case_yaml[] = "fabric: pod-a\n"
				"devices:\n"
				"  - { name: leaf1, role: leaf }\n"
				"  - { name: spine1, role: spine }\n"
				"links:\n"
				"  - { a: \"leaf1:e49\", b: \"spine1:e1\", speed: 400G }\n";
static char case_dir[64];

static void case_end(void)
{
	char name[96];
	snprintf(name, sizeof(name), "%s/capture.yaml", case_dir);
	unlink(name);
	snprintf(name, sizeof(name), "%s/capture-a.pcap", case_dir);
	unlink(name);
	rmdir(case_dir);
}

static void case_write(const char *file, const void *data, size_t n)
{
	char name[96];
	snprintf(name, sizeof(name), "%s/%s", case_dir, file);
	FILE *out = fopen(name, "w");
	if (!out)
		abort();
	if (n)
		fwrite(data, 1, n, out);
	fclose(out);
}

static struct config *case_config(void)
{
	struct err_list errors = {0};
	struct config *config;
	size_t n;
	const struct option_table *const *tables = module_tables(&n);
	if (config_parse(case_yaml, strlen(case_yaml), "fuzz", CONFIG_CASE, tables, n, &config,
		    &errors) != 0)
		abort();
	snprintf(case_dir, sizeof(case_dir), "/tmp/rw-fuzz-case-XXXXXX");
	if (!mkdtemp(case_dir))
		abort();
	atexit(case_end);
	log_set_level(LOG_ERROR_);
	return config;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct config *config;
	if (!config)
		config = case_config();
	struct bytes in = bytes_of(data, size);
	size_t n = bytes_be16(&in);
	if (n > bytes_left(&in))
		n = bytes_left(&in);
	const uint8_t *yaml = bytes_take(&in, n);
	case_write("capture.yaml", yaml, n);
	n = bytes_left(&in);
	case_write("capture-a.pcap", bytes_take(&in, n), n);
	struct entities *entities = entities_new();
	struct flow_list flows = {0};
	struct err e = {0};
	if (replay_captures(case_dir, config, entities, &flows, &e) < 0)
		printed_lines(e.text);
	for (size_t i = 0; i < flows.n; i++) {
		const struct entity *entity = entity_get(entities, flows.v[i].entity);
		if (!entity)
			printed_fault("a flow of nothing", "");
		printed_line(entity->port);
		if (i > 0 && flows.v[i].to_ns < flows.v[i - 1].to_ns)
			printed_fault("flows out of order", "");
	}
	free(flows.v);
	entities_free(entities);
	return 0;
}

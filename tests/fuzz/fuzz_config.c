/* fuzz_config - a configuration from anyone: it is refused with at least one placed mistake, or it
 * prints as itself. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "agent/alert/sender.h"
#include "config/config.h"
#include "config/config_salvage.h"

struct options {
	double warn;
	int64_t window_ns;
};
static const struct option rows[] = {
	{.name = "warn",
		.type = OPT_RATIO,
		.offset = offsetof(struct options, warn),
		.def = "20%",
		.min = "1%",
		.doc = "warning"},
	{.name = "window",
		.type = OPT_DURATION,
		.offset = offsetof(struct options, window_ns),
		.def = "60s",
		.doc = "window"},
};
static const struct option_table table = {.section = "analyzers",
	.name = "ecmp_imbalance",
	.size = sizeof(struct options),
	.rows = rows,
	.n_rows = rw_countof(rows)};
extern const struct sender sender_alertmanager, sender_webhook, sender_syslog, sender_mail,
	sender_command;
static const struct option_table *const tables[] = {&table, &sender_alertmanager.options,
	&sender_webhook.options, &sender_syslog.options, &sender_mail.options,
	&sender_command.options};
enum { TABLES = sizeof(tables) / sizeof(*tables) };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	free(config_salvage_store((const char *)data, size));
	for (int mode = CONFIG_FULL; mode <= CONFIG_CASE; mode++) {
		rw_cleanup(err_list_done) struct err_list errors = {0};
		struct config *c = NULL, *again = NULL;
		if (config_parse((const char *)data, size, "fuzz", (enum config_mode)mode, tables,
			    TABLES, &c, &errors) < 0) {
			if (errors.n == 0 || c)
				abort();
			continue;
		}
		rw_cleanup(freep) char *text = config_text(c);
		if (errors.n ||
			config_parse(text, strlen(text), "again", (enum config_mode)mode, tables,
				TABLES, &again, &errors) < 0)
			abort();
		rw_cleanup(freep) char *same = config_text(again);
		if (strcmp(text, same) != 0)
			abort();
		config_free(again);
		config_free(c);
	}
	return 0;
}

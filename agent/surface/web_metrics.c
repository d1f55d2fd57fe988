/* web_metrics - makes the page from the database, as any reading command does. */
#include "agent/surface/web_metrics.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/base/clock.h"
#include "agent/base/err.h"
#include "agent/base/log.h"
#include "agent/client/client.h"
#include "agent/surface/metrics.h"
#include "config/config.h"

#define SPAN_NS (15 * 60 * NS_PER_S)

/* A database that cannot be read is a fact to be told, not a scrape that fails: an alert asks for
 * it by name. */
static int web_metrics_write(
	FILE *out, const struct globals *base, const struct metrics_options *options, struct err *e)
{
	static struct complaint unreadable;
	struct client client;
	int rc = client_open(&client, base, SPAN_NS, e);
	if (rc == 0) {
		struct metrics_options wanted = *options;
		const struct config_http *http = client.config->http;
		wanted.top = http ? http->metrics_top : 0;
		wanted.all_ports = http && http->metrics_all_ports;
		rc = metrics_print(out, &client, &wanted, e);
		client_done(&client);
	}
	if (rc == 0)
		return 0;
	complain(&unreadable, mono_now(), LOG_WARN_, "web",
		"/metrics: the database cannot be read: %s", e->text);
	return metrics_print_unreadable(out, options);
}

static int web_metrics_make(
	const struct globals *base, bool openmetrics, char **ret, size_t *ret_n, struct err *e)
{
	const struct metrics_options options = {.openmetrics = openmetrics};
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_n);
	if (!out)
		return err_set(e, -ENOMEM, "out of memory");
	const int rc = web_metrics_write(out, base, &options, e);
	if (fclose(out) != 0 || rc < 0) {
		free(text);
		return rc < 0 ? rc : -EIO;
	}
	*ret = text;
	return 0;
}

static int web_metrics_print_open(
	const struct globals *base, char **ret, size_t *ret_n, struct err *e)
{
	return web_metrics_make(base, true, ret, ret_n, e);
}

static int web_metrics_print_text(
	const struct globals *base, char **ret, size_t *ret_n, struct err *e)
{
	return web_metrics_make(base, false, ret, ret_n, e);
}

static const struct web_subject web_metrics_open = {.path = "/metrics openmetrics",
	.type = METRICS_OPENMETRICS_TYPE,
	.print = web_metrics_print_open};
static const struct web_subject web_metrics_text = {
	.path = "/metrics text", .type = METRICS_TEXT_TYPE, .print = web_metrics_print_text};

const struct web_subject *web_metrics_subject(const char *accept)
{
	if (metrics_wants_openmetrics(accept))
		return &web_metrics_open;
	return &web_metrics_text;
}

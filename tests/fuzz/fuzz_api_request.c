/* What an HTTP client sends before anything else is known of it: target, Host, Authorization,
 * If-None-Match; and a line of a tokens file. No crash, and what is accepted keeps its limits. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "agent/web/api_request.h"

static void check_text(const char *text, size_t most)
{
	if (strlen(text) > most)
		abort();
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		if (*c < 0x20 || *c == 0x7f)
			abort();
}

static void check_target(const char *text)
{
	static struct api_target target;
	struct err e = {0};
	const int rc = api_target_read(text, &target, &e);
	if (rc < 0) {
		if (!*e.text)
			abort();
		return;
	}
	if (target.path[0] != '/' || target.n_given > API_PARAMS_MAX)
		abort();
	check_text(target.path, API_TARGET_MAX);
	for (size_t i = 0; i < target.n_given; i++) {
		check_text(target.given[i].name, API_TARGET_MAX);
		check_text(target.given[i].value, API_VALUE_MAX);
		if (!*target.given[i].name ||
			(i > 0 && strcmp(target.given[i - 1].name, target.given[i].name) >= 0))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char text[3 * API_TARGET_MAX];
	char host[64];
	const char *token;
	struct err e = {0};
	size_t n;

	if (size >= sizeof(text))
		size = sizeof(text) - 1;
	memcpy(text, data, size);
	text[size] = '\0';
	check_target(text);
	if (api_host(text, host, sizeof(host)) == 0)
		check_text(host, sizeof(host) - 1);
	token = api_bearer(text, &n);
	if (token && (n == 0 || n > API_TOKEN_MAX || token < text || token + n > text + size))
		abort();
	if (token && !api_token_equal(token, n, token, n))
		abort();
	api_etag_matches(text, "\"0123456789abcdef\"");
	struct api_token line;
	if (api_token_line(text, &line, &e) == 1) {
		check_text(line.name, sizeof(text));
		check_text(line.text, API_TOKEN_MAX);
		if (strlen(line.text) < API_TOKEN_MIN)
			abort();
	}
	return 0;
}

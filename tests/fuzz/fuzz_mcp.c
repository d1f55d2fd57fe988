/* fuzz_mcp - a client of the MCP server that writes anything: each reply is one line, a JSON-RPC
 * object with a result or an error. The first message decides nothing for the fuzzer: it may be an
 * "initialize". */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "agent/mcp/mcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Says what it was asked for. */
static int make(const struct globals *base, const struct served_document *row,
	const struct served_given *given, size_t n, bool one_line, char **ret, size_t *ret_n,
	struct err *e)
{
	json_t *doc = json_object();
	for (size_t i = 0; i < n; i++)
		json_object_set_new(doc, given[i].name, json_string(given[i].value));
	*ret = json_dumps(doc, JSON_COMPACT);
	*ret_n = strlen(*ret);
	json_decref(doc);
	return 0;
}

static void look_at_one(const json_t *message)
{
	const json_t *result = json_object_get(message, "result");
	const json_t *error = json_object_get(message, "error");
	if ((result != NULL) == (error != NULL) || !json_object_get(message, "id"))
		abort();
	if (error && !json_is_integer(json_object_get(error, "code")))
		abort();
}

/* One reply, or those of a batch. */
static void look_at(char *reply)
{
	rw_cleanup(freep) char *text = reply;
	if (!text)
		return;
	if (strchr(text, '\n'))
		abort();
	json_t *message = json_loads(text, 0, NULL);
	if (json_is_object(message))
		look_at_one(message);
	else if (json_array_size(message) == 0)
		abort();
	for (size_t i = 0; i < json_array_size(message); i++)
		look_at_one(json_array_get(message, i));
	json_decref(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mcp mcp = {.make = make};
	const char *at = (const char *)data;
	while (size > 0) {
		const char *newline = memchr(at, '\n', size);
		const size_t n = newline ? (size_t)(newline - at) : size;
		look_at(mcp_answer(&mcp, at, n));
		at += n;
		size -= n;
		if (newline) {
			at++;
			size--;
		}
	}
	return 0;
}

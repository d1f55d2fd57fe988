/*
 * mcp - messages of the Model Context Protocol.
 *
 * Source: Model Context Protocol, revisions 2024-11-05, 2025-06-18, 2025-11-25 (lifecycle with
 * "initialize") and 2026-07-28 (metadata in each request; "Versioning and Compatibility");
 * JSON-RPC 2.0 Specification. Revision 2025-03-26 is left out: it alone asks for batches.
 */
#include "agent/surface/mcp.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"

#define MODERN "2026-07-28"
#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_SERVER "io.modelcontextprotocol/serverInfo"
/* The list of tools changes with the program only. */
#define LIST_TTL_MS 3600000

/* Newest first. */
static const char *const legacy_versions[] = {"2025-11-25", "2025-06-18", "2024-11-05"};

enum mcp_error {
	MCP_PARSE = -32700,
	MCP_REQUEST = -32600,
	MCP_METHOD = -32601,
	MCP_PARAMS = -32602,
	MCP_VERSION = -32022,
};

static const char instructions[] =
	"rocewatch monitors a RoCEv2 fabric for AI training: who pauses whom (PFC), late ECN "
	"marks, "
	"uneven uplinks (ECMP), losses, slow hosts, and what they cost. Everything here only "
	"reads. "
	"Begin with 'watch' (the frame of the live screen) or 'incidents' (what is open, worst "
	"first); 'incident_show' gives one incident with its evidence and next steps, 'blame' what "
	"is known of one host or port, 'doctor' whether the data can be trusted. Look at "
	"agent.state and agent.stale first: data of a stopped agent says nothing of the present. "
	"null means not known, never zero. Times are UTC; since, until and around take RFC 3339 or "
	"a duration back from now such as 15m, 24h, 7d. Ratios are 0 to 1; units stand in the "
	"keys.";

/* One request that was read. */
struct mcp_request {
	const json_t *id, *params; /* id NULL: a notification */
	const char *method;
	const char *version; /* its revision */
	bool modern;
};

/* ---- replies ------------------------------------------------------------- */

static json_t *mcp_reply(const json_t *id)
{
	json_t *reply = json_object();
	json_object_set_new(reply, "jsonrpc", json_string("2.0"));
	if (id)
		json_object_set_new(reply, "id", json_copy((json_t *)(uintptr_t)id));
	return reply;
}

static json_t *mcp_error(const json_t *id, enum mcp_error code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static json_t *mcp_error(const json_t *id, enum mcp_error code, const char *fmt, ...)
{
	char text[512];
	va_list values;
	va_start(values, fmt);
	vsnprintf(text, sizeof(text), fmt, values);
	va_end(values);
	json_t *error = json_object();
	json_object_set_new(error, "code", json_integer(code));
	json_object_set_new(error, "message", json_string_or_null(text));
	json_t *reply = mcp_reply(id);
	json_object_set_new(reply, "error", error);
	return reply;
}

static json_t *mcp_server_info(void)
{
	return json_pack("{s:s, s:s, s:s}", "name", "rocewatch", "title", "rocewatch", "version",
		RW_VERSION);
}

/* @result is taken. A modern one says what kind it is and whose. */
static json_t *mcp_result(const struct mcp_request *request, json_t *result)
{
	if (request->modern) {
		json_t *meta = json_object();
		json_object_set_new(meta, META_SERVER, mcp_server_info());
		json_object_set_new(result, "resultType", json_string("complete"));
		json_object_set_new(result, "_meta", meta);
	}
	json_t *reply = mcp_reply(request->id);
	json_object_set_new(reply, "result", result);
	return reply;
}

static json_t *mcp_versions(void)
{
	json_t *versions = json_array();
	json_array_append_new(versions, json_string(MODERN));
	for (size_t i = 0; i < rw_countof(legacy_versions); i++)
		json_array_append_new(versions, json_string(legacy_versions[i]));
	return versions;
}

static json_t *mcp_capabilities(void)
{
	return json_pack("{s:{}}", "tools");
}

static void mcp_put_cache(const struct mcp_request *request, json_t *result)
{
	if (!request->modern)
		return;
	json_object_set_new(result, "ttlMs", json_integer(LIST_TTL_MS));
	json_object_set_new(result, "cacheScope", json_string("public"));
}

/* ---- methods ------------------------------------------------------------- */

/* The revision asked for where it is known, else our newest of that kind: the client then decides.
 */
static json_t *mcp_initialize(struct mcp *mcp, const struct mcp_request *request)
{
	const char *asked = json_string_value(json_object_get(request->params, "protocolVersion"));
	if (!asked)
		return mcp_error(
			request->id, MCP_PARAMS, "initialize: params.protocolVersion is missing");
	mcp->agreed = legacy_versions[0];
	for (size_t i = 0; i < rw_countof(legacy_versions); i++)
		if (str_eq(legacy_versions[i], asked))
			mcp->agreed = legacy_versions[i];
	json_t *result = json_object();
	json_object_set_new(result, "protocolVersion", json_string(mcp->agreed));
	json_object_set_new(result, "capabilities", mcp_capabilities());
	json_object_set_new(result, "serverInfo", mcp_server_info());
	json_object_set_new(result, "instructions", json_string(instructions));
	return mcp_result(request, result);
}

static json_t *mcp_discover(struct mcp *mcp, const struct mcp_request *request)
{
	json_t *result = json_object();
	json_object_set_new(result, "supportedVersions", mcp_versions());
	json_object_set_new(result, "capabilities", mcp_capabilities());
	json_object_set_new(result, "instructions", json_string(instructions));
	mcp_put_cache(request, result);
	return mcp_result(request, result);
}

static json_t *mcp_ping(struct mcp *mcp, const struct mcp_request *request)
{
	return mcp_result(request, json_object());
}

static json_t *mcp_list_tools(struct mcp *mcp, const struct mcp_request *request)
{
	json_t *result = json_object();
	json_object_set_new(result, "tools", mcp_tools_list());
	mcp_put_cache(request, result);
	return mcp_result(request, result);
}

/* There are none; some clients ask all the same. "resources/templates/list" -> "resourceTemplates"
 */
static json_t *mcp_list_nothing(const struct mcp_request *request, const char *key)
{
	json_t *result = json_object();
	json_object_set_new(result, key, json_array());
	mcp_put_cache(request, result);
	return mcp_result(request, result);
}

static json_t *mcp_list_resources(struct mcp *mcp, const struct mcp_request *request)
{
	return mcp_list_nothing(request, "resources");
}

static json_t *mcp_list_templates(struct mcp *mcp, const struct mcp_request *request)
{
	return mcp_list_nothing(request, "resourceTemplates");
}

static json_t *mcp_list_prompts(struct mcp *mcp, const struct mcp_request *request)
{
	return mcp_list_nothing(request, "prompts");
}

static json_t *mcp_call_tool(struct mcp *mcp, const struct mcp_request *request)
{
	const char *name = json_string_value(json_object_get(request->params, "name"));
	if (!name)
		return mcp_error(request->id, MCP_PARAMS, "tools/call: params.name is missing");
	const struct served_document *row = mcp_tools_find(name);
	if (!row)
		return mcp_error(request->id, MCP_PARAMS,
			"unknown tool '%.128s'; tools/list names them", name);
	const bool structured = strcmp(request->version, "2025-06-18") >= 0;
	return mcp_result(request,
		mcp_tools_call(mcp->base, mcp->make, row,
			json_object_get(request->params, "arguments"), structured));
}

enum mcp_era { MCP_LEGACY = 1, MCP_MODERN = 2, MCP_BOTH = MCP_LEGACY | MCP_MODERN };

static const struct {
	const char *method;
	enum mcp_era era;
	json_t *(*answer)(struct mcp *mcp, const struct mcp_request *request);
} methods[] = {
	{"initialize", MCP_LEGACY, mcp_initialize},
	{"ping", MCP_LEGACY, mcp_ping},
	{"server/discover", MCP_MODERN, mcp_discover},
	{"tools/list", MCP_BOTH, mcp_list_tools},
	{"tools/call", MCP_BOTH, mcp_call_tool},
	{"resources/list", MCP_BOTH, mcp_list_resources},
	{"resources/templates/list", MCP_BOTH, mcp_list_templates},
	{"prompts/list", MCP_BOTH, mcp_list_prompts},
};

/* ---- messages ------------------------------------------------------------ */

static json_t *mcp_dispatch(struct mcp *mcp, const struct mcp_request *request)
{
	enum mcp_era era = MCP_LEGACY;
	if (request->modern)
		era = MCP_MODERN;
	for (size_t i = 0; i < rw_countof(methods); i++)
		if (str_eq(methods[i].method, request->method) && (methods[i].era & era))
			return methods[i].answer(mcp, request);
	return mcp_error(request->id, MCP_METHOD, "unknown method '%.128s'", request->method);
}

static json_t *mcp_unsupported(const struct mcp_request *request)
{
	json_t *reply = mcp_error(request->id, MCP_VERSION,
		"protocol version '%.32s' is not supported", request->version);
	json_t *data = json_object();
	json_object_set_new(data, "supported", mcp_versions());
	json_object_set_new(data, "requested", json_string(request->version));
	json_object_set_new(json_object_get(reply, "error"), "data", data);
	return reply;
}

static json_t *mcp_modern(struct mcp *mcp, struct mcp_request *request, const json_t *meta)
{
	request->modern = true;
	if (!str_eq(request->version, MODERN))
		return mcp_unsupported(request);
	if (!json_is_object(json_object_get(meta, META_CAPABILITIES)))
		return mcp_error(request->id, MCP_PARAMS,
			"params._meta lacks the object " META_CAPABILITIES);
	return mcp_dispatch(mcp, request);
}

static json_t *mcp_legacy(struct mcp *mcp, struct mcp_request *request)
{
	const bool first = str_eq(request->method, "initialize") || str_eq(request->method, "ping");
	if (!mcp->agreed && !first)
		return mcp_error(request->id, MCP_PARAMS,
			"send initialize first, or name the protocol version in params._meta "
			"(" META_VERSION ")");
	request->version = str_or(mcp->agreed, legacy_versions[0]);
	return mcp_dispatch(mcp, request);
}

/* A request; NULL where no reply is due. */
static json_t *mcp_message(struct mcp *mcp, const json_t *message)
{
	struct mcp_request request = {.id = json_object_get(message, "id"),
		.params = json_object_get(message, "params"),
		.method = json_string_value(json_object_get(message, "method"))};
	const bool is_reply = !json_object_get(message, "method") &&
		(json_object_get(message, "result") || json_object_get(message, "error"));
	if (is_reply)
		return NULL; /* we ask nothing of a client */
	const bool named = json_is_string(request.id) || json_is_integer(request.id);
	if (!str_eq(json_string_value(json_object_get(message, "jsonrpc")), "2.0") ||
		!request.method || (request.id && !named))
		return mcp_error(named ? request.id : NULL, MCP_REQUEST,
			"expected {\"jsonrpc\": \"2.0\", \"id\": a text or whole number, "
			"\"method\": ...}");
	if (!request.id)
		return NULL; /* notifications: nothing here depends on them */
	if (request.params && !json_is_object(request.params))
		return mcp_error(request.id, MCP_PARAMS, "params is no object");
	const json_t *meta = json_object_get(request.params, "_meta");
	request.version = json_string_value(json_object_get(meta, META_VERSION));
	if (request.version)
		return mcp_modern(mcp, &request, meta);
	return mcp_legacy(mcp, &request);
}

static bool mcp_blank(const char *line, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strchr(" \t\r", line[i]) || !line[i])
			return false;
	return true;
}

/* One line: JSON text has no newline of its own unless it is indented. */
static char *mcp_text(json_t *reply)
{
	char *text = NULL;
	if (reply)
		text = json_dumps(reply, JSON_COMPACT | JSON_REAL_PRECISION(15));
	json_decref(reply);
	return text;
}

char *mcp_answer(struct mcp *mcp, const char *line, size_t n)
{
	json_error_t why;
	if (mcp_blank(line, n))
		return NULL;
	json_t *message = json_loadb(line, n, JSON_REJECT_DUPLICATES, &why);
	json_t *reply;
	if (!message)
		reply = mcp_error(NULL, MCP_PARSE, "not JSON: %s", why.text);
	else if (!json_is_object(message))
		reply = mcp_error(NULL, MCP_REQUEST,
			"expected one JSON-RPC object a line; batches are not served");
	else
		reply = mcp_message(mcp, message);
	json_decref(message);
	return mcp_text(reply);
}

char *mcp_answer_too_long(void)
{
	return mcp_text(
		mcp_error(NULL, MCP_REQUEST, "a message is longer than %zu bytes", MCP_LINE_MAX));
}

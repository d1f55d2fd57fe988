/*
 * web_act - what a person may do from the page: acknowledge, note, assign, silence. The agent does
 * it, asked over its socket as the commands ask it; this process writes nothing.
 *
 * A request has to bring what no page of another site and no copy of an earlier request has: a
 * token whose line in http.tokens_file ends with "may:ack", the server's own Origin where a browser
 * says one, and a pass that was given out to the owner of that token, at most WEB_PASS_NS ago, and
 * is taken once.
 */
#pragma once

#include "base/base.h"

#include "agent/web/api_request.h"
#include "agent/web/http.h"
#include "agent/web/web_documents.h"

#define WEB_ACT_PATH "/api/v1/act"
#define WEB_PASS_NS (60 * NS_PER_S)
#define WEB_PASS_TEXT 33 /* 128 bits in hexadecimal, and the end */
#define WEB_WHO_MAX (API_ACTOR_MAX + 1)

enum { WEB_PASSES_MAX = 64 };

/* Passes that are out; the oldest gives way. Zeroed is none. The server's HTTP thread only. */
struct web_passes {
	struct web_pass {
		char text[WEB_PASS_TEXT], who[WEB_WHO_MAX];
		mono_t given;
	} v[WEB_PASSES_MAX];
	unsigned next;
};

/* web_pass_give - a new one for @who, into @ret. 0, or a negative errno: no randomness. */
int web_pass_give(struct web_passes *passes, const char *who, mono_t now, char ret[WEB_PASS_TEXT]);

/* web_pass_take - whether @text (NULL: none) was given to @who, is new enough and was not taken
 * before. */
bool web_pass_take(struct web_passes *passes, const char *who, const char *text, mono_t now);

/* web_act_is_own - whether a browser, if it is one, says that this server's own page asks:
 * Sec-Fetch-Site is same-origin, and Origin names the host that is asked. */
bool web_act_is_own(const struct http_request *request);

/* web_act_subject - does what its parameters say (do, id, ...; who: in whose name), and answers
 * with what the agent answered. Not among the served documents: nobody gets here by GET. */
extern const struct web_subject web_act_subject;

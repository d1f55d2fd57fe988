/* change - checks what a person says, and makes an event of it. */
#include "agent/incident/change.h"

#include <errno.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/text_clean.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/err.h"

#define CHANGE_TEXT_MAX 1000
#define CHANGE_AHEAD_NS (5 * NS_PER_S) /* two clocks need not agree to the second */

static int change_take(const json_t *request, const char *key, const char **ret, struct err *e)
{
	*ret = json_string_value(json_object_get(request, key));
	if (!*ret)
		return 0;
	const size_t n = strlen(*ret);
	if (n == 0 || n > CHANGE_TEXT_MAX)
		return err_set(e, -EINVAL, "%s has %zu characters; expected 1 to %d", key, n,
			CHANGE_TEXT_MAX);
	if (!text_is_clean(*ret))
		return err_set(e, -EINVAL, "%s: expected one line of plain text", key);
	return 0;
}

int change_read(const json_t *request, const char *who, int64_t now_ns, struct arena *a,
	struct store_change *ret, struct err *e)
{
	struct store_change change = {.t_ns = now_ns, .kind = "change", .who = who};
	const char *ticket = NULL;
	const struct {
		const char *key, **to;
	} texts[] = {{"text", &change.text}, {"device", &change.device}, {"port", &change.port},
		{"job", &change.job}, {"ticket", &ticket}};
	for (size_t i = 0; i < rw_countof(texts); i++) {
		const int rc = change_take(request, texts[i].key, texts[i].to, e);
		if (rc < 0)
			return rc;
	}
	if (!change.text)
		return err_set(e, -EINVAL, "no text is given; add --text TEXT");
	if (change.port && !change.device)
		return err_set(e, -EINVAL, "a port needs its device; add --device NAME");
	if (ticket)
		change.text = arena_printf(a, "%s: %s", ticket, change.text);
	const json_t *t = json_object_get(request, "t_ns");
	if (json_is_integer(t))
		change.t_ns = json_integer_value(t);
	if (change.t_ns < 0)
		return err_set(e, -EINVAL, "the time lies before 1970");
	if (change.t_ns > now_ns + CHANGE_AHEAD_NS)
		return err_set(e, -EINVAL, "the time lies in the future; an event has happened");
	*ret = change;
	return 0;
}

/* client_range - reads --since, --until, --around and --span. */
#include "agent/client/client_range.h"

#include <errno.h>

#include "agent/base/clock.h"
#include "agent/base/err.h"
#include "agent/base/str.h"
#include "agent/client/client.h"

#define AROUND_SPAN_NS (15 * 60 * NS_PER_S)

static int read_time(
	const char *option, const char *text, int64_t now_ns, int64_t *ret_ns, struct err *e)
{
	wall_t t;
	if (wall_parse(text, (wall_t){now_ns}, &t) < 0)
		return err_set(e, -EINVAL,
			"%s: '%.64s' is not a time; write it as 2026-11-21T03:00:00Z, "
			"'2026-11-21 03:00', or 24h for a day ago",
			option, text);
	*ret_ns = t.ns;
	return 0;
}

/* The state is asked for as of @t_ns: the present, unless that is over. */
static void range_set_at(struct client *client, int64_t t_ns)
{
	client->at_ns = client->now_ns;
	client->past = t_ns < client->now_ns;
	if (client->past)
		client->at_ns = t_ns;
}

static int range_around(struct client *client, const struct globals *globals, struct err *e)
{
	int64_t span_ns = AROUND_SPAN_NS, middle_ns = 0;
	struct err why;

	if (globals->since || globals->until)
		return err_set(
			e, -EINVAL, "--around goes with --span, not with --since or --until");
	if (globals->span && unit_duration(globals->span, &span_ns, &why) < 0)
		return err_set(e, -EINVAL, "--span: %s", why.text);
	if (span_ns <= 0)
		return err_set(
			e, -EINVAL, "--span: '%.64s' is not a duration above zero", globals->span);
	int r = read_time("--around", globals->around, client->end_ns, &middle_ns, e);
	if (r < 0)
		return r;
	if (__builtin_sub_overflow(middle_ns, span_ns, &client->from_ns) ||
		__builtin_add_overflow(middle_ns, span_ns, &client->to_ns))
		return err_set(e, -EINVAL, "--span: '%.64s' is too long", globals->span);
	range_set_at(client, middle_ns);
	return 0;
}

int client_range_read(struct client *client, const struct globals *globals, int64_t default_span_ns,
	struct err *e)
{
	int r = 0;
	client->range_given = globals->since || globals->until || globals->around;
	if (globals->span && !globals->around)
		return err_set(e, -EINVAL, "--span goes with --around");
	if (globals->around)
		return range_around(client, globals, e);
	client->to_ns = client->end_ns;
	if (globals->until)
		r = read_time("--until", globals->until, client->end_ns, &client->to_ns, e);
	client->from_ns = client->to_ns - default_span_ns;
	if (r == 0 && globals->since)
		r = read_time("--since", globals->since, client->end_ns, &client->from_ns, e);
	if (r < 0)
		return r;
	client->at_ns = client->now_ns;
	client->past = false;
	if (globals->until)
		range_set_at(client, client->to_ns);
	if (client->from_ns < client->to_ns)
		return 0;
	char from[WALL_TEXT_MAX], to[WALL_TEXT_MAX];
	return err_set(e, -EINVAL, "empty time range: it begins at %s and ends at %s",
		wall_text(from, (wall_t){client->from_ns}, 0),
		wall_text(to, (wall_t){client->to_ns}, 0));
}

/* tune_verified - see the header. */
#include "agent/tuning/tune_verified.h"

#include <errno.h>

#include "agent/base/arena.h"
#include "agent/base/clock.h"
#include "agent/base/err.h"
#include "agent/base/str.h"
#include "agent/client/client.h"
#include "agent/tuning/tune_read.h"
#include "agent/tuning/tune_readback.h"

#define COMPARE_SPAN_NS (24 * 3600 * NS_PER_S)
#define COMPARE_LEAST_NS (3600 * NS_PER_S)

/* Why it does not count as in force, for the message. */
static const char *not_in_force(const struct tune_readback *read)
{
	switch (read->reading) {
	case TUNE_READ_NOTHING: return "its thresholds cannot be read back";
	case TUNE_READ_MIXED: return "only some of its values were read back";
	case TUNE_READ_OTHER: return read->text;
	case TUNE_READ_PROPOSED: return "its values are in force without having been accepted";
	case TUNE_READ_CURRENT: break;
	}
	return "the previous values are in force";
}

/* When it came into force: as the ledger knows, else as it was read back. @ret_before_ns: the end
 * of the time before. */
static int find_change(struct client *client, const struct tune_record *record, struct arena *a,
	int64_t *ret_before_ns, int64_t *ret_applied_ns, struct err *e)
{
	struct tune_readback read;
	const int rc = tune_read_settings(client, record, client->to_ns, a, &read, e);
	if (rc != 0)
		return rc;
	const bool proposed = read.reading == TUNE_READ_PROPOSED;
	*ret_applied_ns = record->applied_ns;
	if (*ret_applied_ns == 0 && proposed && record->state == TUNE_ACCEPTED)
		*ret_applied_ns = read.since_ns;
	if (*ret_applied_ns == 0)
		return err_set(e, -ENODATA,
			"%s is %s, and %s; 'tune applied %s --at TIME' says when it was put in "
			"force",
			record->sheet.id, tune_state_name(record->state), not_in_force(&read),
			record->sheet.id);
	*ret_before_ns = *ret_applied_ns;
	const bool read_between =
		read.before_ns > record->sheet.to_ns && read.before_ns < *ret_applied_ns;
	if (proposed && read_between)
		*ret_before_ns = read.before_ns;
	return 0;
}

/* Since when the previous values had been in force: what was measured under others is no
 * comparison. */
static int64_t before_since(struct client *client, const struct tune_record *record,
	int64_t from_ns, int64_t applied_ns, struct arena *a)
{
	struct tune_readback read;
	struct err ignored = {0};
	if (tune_read_settings_in(client, record, from_ns, applied_ns - 1, a, &read, &ignored) !=
			0 ||
		read.reading != TUNE_READ_CURRENT || read.before_ns == INT64_MIN)
		return from_ns;
	if (read.since_ns > from_ns)
		return read.since_ns;
	return from_ns;
}

static int64_t no_later(int64_t left, int64_t right)
{
	if (left < right)
		return left;
	return right;
}

/* Before: as far back as the sheet looked, at least an hour, at most a day, and not further than
 * the previous values had been in force. */
static int64_t compare_from(struct client *client, const struct tune_record *record,
	const struct tune_verify_ask *ask, struct arena *a)
{
	const int64_t longest_ago = ask->applied_ns - COMPARE_SPAN_NS;
	int64_t from = no_later(record->sheet.from_ns, ask->applied_ns - COMPARE_LEAST_NS);
	if (ask->before_ns)
		from = ask->applied_ns - ask->before_ns;
	else if (from < longest_ago)
		from = longest_ago;
	return before_since(client, record, from, ask->applied_ns, a);
}

static int64_t compare_to(const struct client *client, const struct tune_verify_ask *ask)
{
	int64_t span = COMPARE_SPAN_NS;
	if (ask->after_ns)
		span = ask->after_ns;
	return no_later(ask->applied_ns + span, client->to_ns);
}

static const char **names_of(
	const struct tune_comparison *comparison, const size_t *ports, size_t n, struct arena *a)
{
	const char **names = arena_array(a, const char *, n + 1);
	for (size_t i = 0; i < n; i++)
		names[i] = comparison->ports[ports[i]];
	return names;
}

int tune_verify_record(struct client *client, const struct tune_record *record,
	struct tune_verify_ask *ask, struct arena *a, struct tune_verified *ret, struct err *e)
{
	int64_t before_to = 0;
	struct tune_comparison c;
	int rc = find_change(client, record, a, &before_to, &ask->applied_ns, e);
	if (rc != 0)
		return rc;
	const int64_t from = compare_from(client, record, ask, a), to = compare_to(client, ask);
	rc = tune_read_comparison(client, record, from, to, 0, a, &c, e);
	if (rc != 0)
		return rc;
	size_t n_before = 0, after = c.n_windows;
	while (n_before < c.n_windows && c.windows[n_before].to_ns <= before_to)
		n_before++;
	while (after > 0 && c.windows[after - 1].from_ns >= ask->applied_ns)
		after--;
	if (after < c.n_windows) /* senders take a moment to adapt */
		after++;
	const struct verify_in in = {.before = c.windows,
		.n_before = n_before,
		.after = c.windows + after,
		.n_after = c.n_windows - after,
		.n_ports = c.n_ports,
		.match = ask->match,
		.arena = a};
	*ret = (struct tune_verified){.id = record->sheet.id,
		.match = ask->match,
		.window_ns = c.window_ns,
		.before_from_ns = from,
		.before_to_ns = before_to,
		.after_from_ns = ask->applied_ns,
		.after_to_ns = to};
	if (n_before) {
		ret->before_from_ns = c.windows[0].from_ns;
		ret->before_to_ns = c.windows[n_before - 1].to_ns;
	}
	if (after < c.n_windows) {
		ret->after_from_ns = c.windows[after].from_ns;
		ret->after_to_ns = c.windows[c.n_windows - 1].to_ns;
	}
	tune_verify(&in, &ret->result);
	ret->n_worse = ret->result.n_ports_worse;
	ret->n_better = ret->result.n_ports_better;
	ret->worse = names_of(&c, ret->result.ports_worse, ret->n_worse, a);
	ret->better = names_of(&c, ret->result.ports_better, ret->n_better, a);
	return 0;
}

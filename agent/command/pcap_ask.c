/* pcap_ask - reads options, and times that lean on the packets. */
#include "agent/command/pcap_ask.h"

#include <errno.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"

enum { ASK_TOP = 20, ASK_SAMPLING_MAX = 1 << 24 };
#define AROUND_SPAN_NS (15 * 60 * NS_PER_S)
#define BIN_LEAST_NS (10 * NS_PER_US)

/* ---- options -------------------------------------------------------------------------- */

static int ask_list(const struct command_args *args, const char *option,
	int (*add)(struct pcap_select *select, const char *text, struct err *e),
	struct pcap_select *select, struct err *e)
{
	rw_cleanup(freep) const char **values = command_opt_all(args, option);
	struct err why = {0};
	for (size_t i = 0; values[i]; i++)
		if (add(select, values[i], &why) < 0)
			return err_set(e, -EINVAL, "--%s: %s", option, why.text);
	return 0;
}

/* ask_number - a whole number from @least to @most; stays as it is when the option is not given. */
static int ask_number(const struct command *command, const struct command_args *args,
	const char *option, int64_t least, int64_t most, int64_t *ret, struct err *e)
{
	const char *text = command_opt(command, args, option);
	int64_t value = 0;
	if (!text)
		return 0;
	if (unit_int(text, &value, NULL) < 0 || value < least || value > most)
		return err_set(e, -EINVAL, "--%s: '%.32s' is not a number from %lld to %lld",
			option, text, (long long)least, (long long)most);
	*ret = value;
	return 1;
}

static int ask_units(struct pcap_ask *ask, const struct command *command,
	const struct command_args *args, struct err *e)
{
	const char *bin = command_opt(command, args, "bin");
	const char *speed = command_opt(command, args, "speed");
	struct err why = {0};
	if (bin && unit_duration(bin, &ask->options.bin_ns, &why) < 0)
		return err_set(e, -EINVAL, "--bin: %s", why.text);
	if (bin && ask->options.bin_ns < BIN_LEAST_NS)
		return err_set(e, -EINVAL, "--bin: '%.32s' is shorter than 10us", bin);
	if (speed && unit_bitrate(speed, &ask->options.speed_bps, &why) < 0)
		return err_set(e, -EINVAL, "--speed: %s", why.text);
	if (speed && ask->options.speed_bps == 0)
		return err_set(e, -EINVAL, "--speed: the speed must be above 0");
	return 0;
}

static int ask_sort(struct pcap_ask *ask, const struct command *command,
	const struct command_args *args, struct err *e)
{
	const char *word = command_opt(command, args, "sort");
	rw_cleanup(str_done) struct str words = {0};
	ask->sort = &pcap_sorts[0];
	if (!word)
		return 0;
	ask->sort = pcap_sort_named(word);
	if (ask->sort)
		return 0;
	for (const struct pcap_sort *sort = pcap_sorts; sort->word; sort++)
		str_addf(&words, "%s%s", str_if(words.n, ", "), sort->word);
	return err_set(e, -EINVAL, "--sort: '%.32s' is none of %s", word, words.s);
}

/* People get the first rows, programs all of them. */
static size_t ask_top_usual(const struct globals *globals)
{
	if (!globals->format_given || globals->format == FORMAT_TABLE)
		return ASK_TOP;
	if (globals->format == FORMAT_HTML || globals->format == FORMAT_MD)
		return ASK_TOP;
	return 0;
}

int pcap_ask_read(struct pcap_ask *ask, const struct command *command,
	const struct command_args *args, struct err *e)
{
	int64_t sampling = 0, priority = 0, top = (int64_t)ask_top_usual(args->g);
	*ask = (struct pcap_ask){.sort = NULL};
	int rc = ask_list(args, "host", pcap_select_add_host, &ask->select, e);
	if (rc == 0)
		rc = ask_list(args, "qp", pcap_select_add_qp, &ask->select, e);
	if (rc == 0)
		rc = ask_units(ask, command, args, e);
	if (rc == 0)
		rc = ask_sort(ask, command, args, e);
	if (rc < 0)
		return rc;
	const int given = ask_number(command, args, "priority", 0, 7, &priority, e);
	if (given < 0 || ask_number(command, args, "top", 0, INT32_MAX, &top, e) < 0 ||
		ask_number(command, args, "sampling", 1, ASK_SAMPLING_MAX, &sampling, e) < 0)
		return -EINVAL;
	ask->select.priority_given = given > 0;
	ask->select.priority = (uint8_t)priority;
	ask->options.sampling = (uint32_t)sampling;
	ask->top = (size_t)top;
	return 0;
}

/* ---- times ---------------------------------------------------------------------------- */

bool pcap_ask_timed(const struct globals *globals)
{
	return globals->since || globals->until || globals->around || globals->span;
}

static int time_unreadable(const char *option, const char *text, struct err *e)
{
	return err_set(e, -EINVAL,
		"%s: '%.64s' is not a time; write it as 2026-11-21T03:00:00Z, '2026-11-21 03:00', "
		"5m for that long before the last packet, or +5m for that long after the first",
		option, text);
}

/* time_after_begin - "+DURATION". */
static int time_after_begin(const char *option, const char *text, const struct capture_files *files,
	int64_t *ret_ns, struct err *e)
{
	int64_t begin_ns = 0, after_ns = 0;
	if (unit_duration(text + 1, &after_ns, NULL) < 0)
		return time_unreadable(option, text, e);
	(void)capture_files_begin(files, &begin_ns);
	if (__builtin_add_overflow(begin_ns, after_ns, ret_ns))
		return time_unreadable(option, text, e);
	return 0;
}

/* A time that depends on what is taken for the present is counted back from the newest packet. */
static int ask_time(const char *option, const char *text, const struct capture_files *files,
	int64_t *ret_ns, struct err *e)
{
	wall_t early, late;
	int64_t end_ns = 0;
	if (*text == '+')
		return time_after_begin(option, text, files, ret_ns, e);
	if (wall_parse(text, (wall_t){INT64_MAX / 4}, &early) < 0 ||
		wall_parse(text, (wall_t){INT64_MAX / 2}, &late) < 0)
		return time_unreadable(option, text, e);
	*ret_ns = early.ns;
	if (early.ns == late.ns)
		return 0;
	if (!capture_files_end(files, &end_ns))
		return err_set(e, -EINVAL,
			"%s: '%.64s' is counted from the last packet, which is not known before a "
			"pipe has been read; give a full time, or +DURATION after the first packet",
			option, text);
	(void)wall_parse(text, (wall_t){end_ns}, &late);
	*ret_ns = late.ns;
	return 0;
}

static int ask_around(struct pcap_select *select, const struct globals *globals,
	const struct capture_files *files, struct err *e)
{
	int64_t span_ns = AROUND_SPAN_NS, middle_ns = 0;
	struct err why = {0};
	if (globals->since || globals->until)
		return err_set(
			e, -EINVAL, "--around goes with --span, not with --since or --until");
	if (globals->span && unit_duration(globals->span, &span_ns, &why) < 0)
		return err_set(e, -EINVAL, "--span: %s", why.text);
	if (ask_time("--around", globals->around, files, &middle_ns, e) < 0)
		return -EINVAL;
	if (span_ns <= 0 || __builtin_sub_overflow(middle_ns, span_ns, &select->since_ns) ||
		__builtin_add_overflow(middle_ns, span_ns, &select->until_ns))
		return err_set(e, -EINVAL, "--span: '%.64s' is no duration that fits",
			str_or(globals->span, ""));
	select->since_given = select->until_given = true;
	return 0;
}

int pcap_ask_times(struct pcap_ask *ask, const struct globals *globals,
	const struct capture_files *files, struct err *e)
{
	struct pcap_select *select = &ask->select;
	int rc = 0;
	if (globals->around)
		return ask_around(select, globals, files, e);
	if (globals->span)
		return err_set(e, -EINVAL, "--span goes with --around");
	select->since_given = globals->since != NULL;
	select->until_given = globals->until != NULL;
	if (globals->since)
		rc = ask_time("--since", globals->since, files, &select->since_ns, e);
	if (rc == 0 && globals->until)
		rc = ask_time("--until", globals->until, files, &select->until_ns, e);
	if (rc < 0)
		return rc;
	if (globals->since && globals->until && select->since_ns > select->until_ns)
		return err_set(e, -EINVAL, "--since is later than --until");
	return 0;
}

/* golden - the table of golden signals, from golden.def. */
#include "db/model/golden.h"

#define GOLDEN(symbol, word, text, of, says, ...)                                                  \
	[GOLDEN_##symbol] = {.name = word,                                                         \
		.title = text,                                                                     \
		.unit = of,                                                                        \
		.meaning = says,                                                                   \
		.causes = {__VA_ARGS__}},
static const struct golden_info infos[GOLDEN_COUNT] = {
#include "db/model/golden.def"
};

const char *const golden_state_names[GOLDEN_STATES] = {
	[GOLDEN_UNKNOWN] = "unknown",
	[GOLDEN_IDLE] = "idle",
	[GOLDEN_OK] = "ok",
	[GOLDEN_WARNING] = "warning",
	[GOLDEN_CRITICAL] = "critical",
};

const struct golden_info *golden_info(unsigned signal)
{
	if (signal >= GOLDEN_COUNT)
		return NULL;
	return &infos[signal];
}

/* The list ends with CAUSE_NONE, or where the array does. */
static bool golden_lists(const enum cause *causes, size_t n, enum cause cause)
{
	for (size_t i = 0; i < n && causes[i] != CAUSE_NONE; i++)
		if (causes[i] == cause)
			return true;
	return false;
}

bool golden_shows(enum golden signal, enum cause cause)
{
	return golden_lists(infos[signal].causes, GOLDEN_CAUSES_MAX, cause);
}

const char *golden_state_name(enum golden_state state)
{
	return golden_state_names[state];
}

enum golden_state golden_state_of(enum severity severity)
{
	static const enum golden_state states[] = {[SEV_INFO] = GOLDEN_OK,
		[SEV_WARNING] = GOLDEN_WARNING,
		[SEV_CRITICAL] = GOLDEN_CRITICAL};
	return states[severity];
}

char *golden_job_port(char buf[GOLDEN_PORT_MAX], const char *job, enum golden_job what)
{
	static const char *const words[GOLDEN_JOB_COUNT] = {
		"rate", "level", "step", "exchange", "idle"};
	if (!job)
		job = "";
	snprintf(buf, GOLDEN_PORT_MAX, "job:%s %s", job, words[what]);
	return buf;
}

/* capture_sight - one row for each reason: when it holds, and its sentence. */
#include "agent/answers/doctor/capture_sight.h"

#include "base/cleanup.h"

/* So few requests may simply not have been answered yet. */
#define REQUESTS_MIN 1000.0
/* From this share on a mirror of both directions is the reason, not a few duplicates. */
#define COPIES_SHARE 0.25
/* Frames of other kinds that say what an interface carries. */
#define INSTEAD_MIN 20.0
/* So much of a CPU port's traffic belongs to the switch itself. The rest is management. */
#define CONTROL_SHARE 0.9
#define CUT_MIN 10.0

struct sight_row {
	bool (*holds)(const struct capture_sight *sight);
	void (*tell)(const struct capture_sight *sight, const char *name, struct reason *ret);
	bool blind; /* it sees no RoCE at all: the first of these rows is enough */
};

static bool sees_roce(const struct capture_sight *sight)
{
	return sight->roce > 0;
}

/* ---- it sees nothing --------------------------------------------------------- */

static bool is_not_opened(const struct capture_sight *sight)
{
	return sight->encapsulated > 0 && sight->encapsulated >= sight->roce;
}

static void tell_not_opened(const struct capture_sight *sight, const char *name, struct reason *ret)
{
	reason_set(ret, PCAP_NOT_OPENED, name, sight->encapsulated, sight->encapsulated_as);
}

static bool is_silent(const struct capture_sight *sight)
{
	return sight->interface_frames == 0;
}

static void tell_silent(const struct capture_sight *sight, const char *name, struct reason *ret)
{
	reason_set(ret, PCAP_NO_FRAMES, name);
}

static bool is_cpu_port(const struct capture_sight *sight)
{
	return sight->instead >= INSTEAD_MIN &&
		sight->instead_control >= CONTROL_SHARE * sight->instead;
}

static void tell_cpu_port(const struct capture_sight *sight, const char *name, struct reason *ret)
{
	reason_set(ret, PCAP_CPU_PORT, name, sight->instead, sight->instead_as);
}

static bool is_something_else(const struct capture_sight *sight)
{
	return sight->instead > 0;
}

static void tell_something_else(
	const struct capture_sight *sight, const char *name, struct reason *ret)
{
	reason_set(ret, PCAP_OTHER_FRAMES, name, sight->instead, sight->instead_as);
}

static bool is_blind(const struct capture_sight *sight)
{
	return true;
}

static void tell_blind(const struct capture_sight *sight, const char *name, struct reason *ret)
{
	reason_set(ret, PCAP_NO_ROCE, name);
}

/* ---- it does not see all ------------------------------------------------------- */

static bool is_dropping(const struct capture_sight *sight)
{
	return sight->kernel_drops > 0;
}

static void tell_dropping(const struct capture_sight *sight, const char *name, struct reason *ret)
{
	reason_set(ret, PCAP_KERNEL_DROPS, name, sight->kernel_drops,
		sight->frames + sight->kernel_drops);
}

static bool is_one_way(const struct capture_sight *sight)
{
	if (sight->one_direction) /* as it was asked for */
		return false;
	return (sight->requests >= REQUESTS_MIN && sight->answers == 0) ||
		(sight->answers >= REQUESTS_MIN && sight->requests == 0);
}

static void tell_one_way(const struct capture_sight *sight, const char *name, struct reason *ret)
{
	reason_set(ret, PCAP_ONE_WAY, name, sight->requests, sight->answers);
}

static bool is_cut(const struct capture_sight *sight)
{
	return sight->aeth_cut >= CUT_MIN;
}

static void tell_cut(const struct capture_sight *sight, const char *name, struct reason *ret)
{
	reason_set(ret, PCAP_AETH_CUT, name, sight->aeth_cut);
}

static bool is_doubled(const struct capture_sight *sight)
{
	return sight->copies > 0 && sight->copies >= COPIES_SHARE * sight->roce;
}

static void tell_doubled(const struct capture_sight *sight, const char *name, struct reason *ret)
{
	reason_set(ret, PCAP_COPIES, name, sight->copies, sight->roce);
}

static bool is_partly_opened(const struct capture_sight *sight)
{
	return sight->encapsulated > 0 && !is_not_opened(sight);
}

static const struct sight_row sight_rows[] = {
	{is_not_opened, tell_not_opened, true},
	{is_silent, tell_silent, true},
	{is_cpu_port, tell_cpu_port, true},
	{is_something_else, tell_something_else, true},
	{is_blind, tell_blind, true},
	{is_dropping, tell_dropping, false},
	{is_partly_opened, tell_not_opened, false},
	{is_one_way, tell_one_way, false},
	{is_cut, tell_cut, false},
	{is_doubled, tell_doubled, false},
};

size_t capture_sight_reasons(
	const struct capture_sight *sight, const char *name, struct reason ret[CAPTURE_SIGHT_MAX])
{
	bool told = sees_roce(sight);
	size_t n = 0;
	for (size_t i = 0; i < rw_countof(sight_rows) && n < CAPTURE_SIGHT_MAX; i++) {
		const struct sight_row *row = &sight_rows[i];
		if ((row->blind && told) || !row->holds(sight))
			continue;
		row->tell(sight, name, &ret[n++]);
		told |= row->blind;
	}
	return n;
}

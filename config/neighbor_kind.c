/* neighbor_kind - the rules of neighbor_kind.h, in their order. */
#include "config/neighbor_kind.h"

static const char *const kind_words[] = {
	[NEIGHBOR_HOST] = "host", [NEIGHBOR_SWITCH] = "switch", [NEIGHBOR_UNKNOWN] = "unknown"};

const char *neighbor_kind_word(enum neighbor_kind kind)
{
	return kind_words[kind];
}

static bool all_hex(const char *text)
{
	return *text && text[strspn(text, "0123456789abcdefABCDEF :")] == '\0';
}

uint8_t neighbor_capabilities_hex(const char *text)
{
	static const struct {
		const char *word;
		uint8_t bit;
	} words[] = {{"bridge", LLDP_CAP_BRIDGE}, {"router", LLDP_CAP_ROUTER},
		{"station", LLDP_CAP_STATION}, {"repeater", LLDP_CAP_REPEATER},
		{"wlan", LLDP_CAP_WLAN}, {"telephone", LLDP_CAP_TELEPHONE},
		{"docsis", LLDP_CAP_DOCSIS}};
	uint8_t set = 0;
	if (all_hex(text))
		return (uint8_t)strtoul((char[3]){text[0], text[1], '\0'}, NULL, 16);
	for (size_t i = 0; i < rw_countof(words); i++)
		if (strcasestr(text, words[i].word))
			set |= words[i].bit;
	return set;
}

enum neighbor_kind neighbor_kind_of(const struct neighbor_signs *signs)
{
	/* What a server announces. An access point or a telephone is neither, and agents that
	 * number the bits from the wrong end announce these in place of bridge and router. */
	const uint8_t of_hosts = LLDP_CAP_STATION | LLDP_CAP_OTHER | LLDP_CAP_REPEATER;
	const bool forwards = signs->capabilities & (LLDP_CAP_BRIDGE | LLDP_CAP_ROUTER);
	const bool station = signs->capabilities && !(signs->capabilities & ~of_hosts);
	const bool both = forwards && signs->switch_port;
	if (signs->network_os)
		return NEIGHBOR_SWITCH;
	if (signs->host_os && !both)
		return NEIGHBOR_HOST;
	if (station)
		return NEIGHBOR_HOST;
	if (both)
		return NEIGHBOR_SWITCH;
	if (forwards || signs->switch_port)
		return NEIGHBOR_UNKNOWN;
	return NEIGHBOR_HOST;
}

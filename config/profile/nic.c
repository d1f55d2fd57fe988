/* nic - which command shows what on which NIC. */
#include "config/profile/nic.h"

#include "base/base.h"

#define NIC_COMMAND(nic_prefix, nic_topic, command, what) {nic_prefix, nic_topic, command, what},
static const struct nic_command commands[] = {
#include "config/profile/nic.def"
};

const struct nic_command *nic_command(const char *device, const char *topic)
{
	for (size_t i = 0; i < rw_countof(commands); i++) {
		const struct nic_command *row = &commands[i];
		const size_t n = strlen(row->prefix);
		if (str_eq(row->topic, topic) && strncmp(str_or(device, ""), row->prefix, n) == 0)
			return row;
	}
	return NULL;
}

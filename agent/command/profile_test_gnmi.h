/* profile_test_gnmi - "profile test" over gNMI: subscribe, wait, and say leaf by leaf what came.
 * For cmd_profile.c. */
#ifndef RW_AGENT_PROFILE_TEST_GNMI_H
#define RW_AGENT_PROFILE_TEST_GNMI_H

#include <stdint.h>
#include "agent/command/command.h"
#include "config/config.h"

/* Until every stream of the profile had its first round and @run_ns passed. Returns an exit code.
 */
int profile_test_gnmi(const struct globals *globals, const struct config_device *device,
	const struct config *config, int64_t run_ns);

#endif

/* limits - reads the options of detectors. */
#include "agent/answers/common/limits.h"

#include "analyzers/measure/links.h"
#include "analyzers/measure/pause/pause_limits.h"
#include "config/config.h"

struct limit_pair limits_pause(const struct config *config)
{
	const struct pause_storm_options *options =
		config_options(config, "analyzers", "pause_storm");
	if (options)
		return (struct limit_pair){options->warn, options->critical, false};
	return (struct limit_pair){0.01, 0.05, false};
}

struct limit_pair limits_errors(const struct config *config)
{
	const struct link_health_options *options =
		config_options(config, "analyzers", "link_health");
	if (options)
		return (struct limit_pair){options->errors_per_s, NAN, false};
	return (struct limit_pair){1, NAN, false};
}

/* limits - from when on something is bad, as the configuration of the detectors says: for whoever
 * judges documents. Pure. */
#pragma once

#include "base/base.h"

struct config;

struct limit_pair {
	double warn, critical;
	bool own; /* a user gave one of them: his judgement */
};

/* limits_pause - share of time, analyzers.pause_storm; 1 % and 5 % without it. */
struct limit_pair limits_pause(const struct config *config);
/* limits_errors - frames with errors per second, analyzers.link_health; 1 without it. From where on
 * they are critical is a share of the frames there, not a rate: NAN. */
struct limit_pair limits_errors(const struct config *config);

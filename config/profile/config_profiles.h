/* config_profiles - do a configuration and the profiles fit? */
#pragma once

#include "base/base.h"

struct config;

/*
 * config_check_profiles - do the profiles exist that the devices name, and is every file of
 * profile_dir right? Mistakes are added to @errors with their place. 0 or -EINVAL.
 */
int config_check_profiles(const struct config *config, struct err_list *errors);

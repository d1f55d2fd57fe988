/*
 * modules - the option tables of everything that has options, for whoever reads a configuration.
 */
#pragma once

#include "base/base.h"

struct option_table;

/* module_tables - the option tables of every module, for config_load(); @ret_n of them. The array
 * lives as long as the process.
 * Any thread. */
const struct option_table *const *module_tables(size_t *ret_n);

/*
 * config_salvage - what can be read of a configuration that config_load() refuses. A reader of the
 * database needs only one value of the file: where the database is. A typo somewhere else must not
 * keep people from looking at their incidents. Pure; any thread.
 */
#pragma once

#include "base/base.h"

/* Where the store is when the file does not say. */
#define CONFIG_STORE_DEFAULT "/var/lib/rocewatch/rocewatch.db"

/*
 * config_salvage_store - the value of store.path in the @n bytes at @text: from the tree where the
 * text is YAML, else from the lines of the section "store:", in block or flow style. The caller
 * frees it. NULL when the text does not say.
 */
char *config_salvage_store(const char *text, size_t n);

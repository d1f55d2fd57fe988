/*
 * option - a setting is a table row: name, type, unit, range, default as text, and a sentence that
 * helps someone choose. Help, "config explain", the manual and the checks are all made from the
 * row. Modules (analyzers) own their tables; config only walks them.
 */
#pragma once

#include "base/base.h"

struct build;
struct config_receiver;
struct section;

enum option_type {
	OPT_BOOL, /* bool: true | false */
	OPT_INT, /* int64_t */
	OPT_DOUBLE, /* double */
	OPT_RATIO, /* double: 20% or 0.2 */
	OPT_DURATION, /* int64_t ns */
	OPT_SIZE, /* uint64_t bytes */
	OPT_BITRATE, /* uint64_t bit/s */
	OPT_LENGTH, /* uint64_t mm */
	OPT_STRING, /* const char *, in the configuration's arena */
	OPT_ENUM, /* int: index into choices */
};

struct option {
	const char *name;
	enum option_type type;
	size_t offset; /* into the module's options struct */
	const char *def; /* default, as one would write it */
	const char *min, *max; /* as one would write them; NULL = unbounded */
	const char *const *choices; /* OPT_ENUM, NULL-terminated */
	const char *doc;
	size_t size; /* of the member; 0: as the type says. OPT_INT and OPT_SIZE also have 4 */
};

struct option_table { /* one module: "analyzers.ecmp_imbalance" */
	const char *section, *name;
	size_t size; /* of the options struct */
	const struct option *rows;
	size_t n_rows;
	const char *doc;
	/* in the section "alerts", instead of rows: the keys of one receiver of this kind, and what
	 * is checked or filled in once they are read (NULL: nothing). config/receiver_rows.h */
	const struct section *receiver;
	void (*complete)(struct build *build, struct config_receiver *receiver);
};

/* options_defaults - fill @base (size bytes) from the rows. Aborts on a wrong table (our mistake).
 */
void options_defaults(const struct option_table *table, struct arena *a, void *base);
/* option_set - parse @text into @base; range-checked. 0, -EINVAL or -ERANGE; @e says what was read
 * and expected, without place. */
int option_set(
	const struct option *option, struct arena *a, void *base, const char *text, struct err *e);
/* option_unset - is this value not given and without default? 0 for numbers, NAN for ratios, NULL
 * for texts, -1 for choices. */
bool option_unset(const struct option *option, const void *base);
const struct option *option_find(const struct option_table *table, const char *name);
/* option_same - is it the same value in both? */
bool option_same(const struct option *option, const void *left, const void *right);
/* option_text - the value as one would write it. */
char *option_text(const struct option *option, struct arena *a, const void *base);

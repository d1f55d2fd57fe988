/* served_ask - the parameters of one request. */
#include "base/cleanup.h"
#include "base/str.h"
#include "agent/answers/common/served.h"

const char *served_get(const struct served_ask *ask, const char *name)
{
	for (size_t i = 0; i < ask->n_given; i++)
		if (str_eq(ask->given[i].name, name))
			return ask->given[i].value;
	return NULL;
}

bool served_flag(const struct served_ask *ask, const char *name)
{
	static const char *const yes[] = {"", "1", "true", "yes"};
	const char *value = served_get(ask, name);
	for (size_t i = 0; value && i < rw_countof(yes); i++)
		if (str_eq(value, yes[i]))
			return true;
	return false;
}

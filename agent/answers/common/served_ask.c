/* served_ask - the parameters of one request. */
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

int served_priority(const char *text, int *ret, struct err *e)
{
	int64_t number;
	const int rc = unit_int(text, &number, e);
	if (rc < 0 || number < 0 || number > 7)
		return err_set(e, -EINVAL, "priority '%.64s' is not a number from 0 to 7", text);
	*ret = (int)number;
	return 0;
}

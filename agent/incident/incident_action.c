/* incident_action - the words of actions, and the reasons for refusing one. */
#include "agent/incident/incident_action.h"

#include <errno.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/str.h"

static const char *const action_words[] = {
	[ACTION_ACK] = "ack",
	[ACTION_ASSIGN] = "assign",
	[ACTION_NOTE] = "note",
	[ACTION_CLOSE] = "close",
	[ACTION_MERGE] = "merge",
};

int incident_action_parse(const char *word, enum incident_action *ret)
{
	for (size_t k = 0; word && k < rw_countof(action_words); k++) {
		if (str_eq(action_words[k], word)) {
			*ret = (enum incident_action)k;
			return 0;
		}
	}
	return -EINVAL;
}

const char *incident_action_error(int error)
{
	switch (-error) {
	case ENOENT: return "there is no such incident";
	case EALREADY: return "it is closed already";
	case EINVAL: return "expected a text, or another incident to merge into";
	}
	return strerror(-error);
}

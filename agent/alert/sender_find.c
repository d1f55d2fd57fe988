/* sender_find - looks rows up in the table of senders. */
#include "agent/alert/sender.h"

const struct sender *sender_find(enum receiver_kind kind)
{
	for (size_t i = 0; senders[i]; i++)
		if (senders[i]->kind == kind)
			return senders[i];
	return NULL;
}

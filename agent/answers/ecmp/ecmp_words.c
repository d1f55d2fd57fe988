/* ecmp_words - members, flows and shares as words. */
#include "agent/answers/ecmp/ecmp_words.h"

#include <math.h>

#include "base/str.h"
#include "agent/document/json_value.h"
#include "agent/answers/spine/answer.h"

char *doc_pct(char *buf, size_t size, double ratio)
{
	/* One decimal below 100 %: 19.8 % must not read as the limit of 20 %. */
	int decimals = fabs(ratio) < 0.9995 ? 1 : 0;
	/* no "-0.0 %" */
	if (fabs(ratio) < 0.0005)
		ratio = 0;
	if (isnan(ratio))
		snprintf(buf, size, "-");
	else
		snprintf(buf, size, "%.*f %%", decimals, 100 * ratio);
	return buf;
}

char *ecmp_member_text(char *buf, size_t size, const struct spine_group *group, const char *port)
{
	const struct spine_member *member = spine_group_member(group, port);
	if (member && member->peer)
		snprintf(buf, size, "%s -> %s", port, member->peer);
	else
		snprintf(buf, size, "%s", port);
	return buf;
}

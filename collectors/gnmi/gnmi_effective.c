/* gnmi_effective - remembers, for each series, the last round in which an effective stream gave it.
 */
#include "collectors/gnmi/gnmi_effective.h"

#include <stdlib.h>
#include "agent/base/cleanup.h"
#include "agent/base/map.h"
#include "collectors/gnmi/gnmi_series.h"

struct gnmi_effective {
	struct map *given; /* entity and metric -> round */
	uint64_t round; /* rounds that were answered in full */
	unsigned unanswered; /* times it was asked since then */
};

struct gnmi_effective *gnmi_effective_new(void)
{
	struct gnmi_effective *effective = rw_calloc(1, sizeof(*effective));
	effective->given = map_new();
	return effective;
}

void gnmi_effective_free(struct gnmi_effective *effective)
{
	if (!effective)
		return;
	map_free(effective->given);
	free(effective);
}

void gnmi_effective_asked(struct gnmi_feed *feed)
{
	if (feed->stream->effective)
		feed->decoder->effective->unanswered++;
}

void gnmi_effective_round(struct gnmi_feed *feed)
{
	if (!feed->stream->effective)
		return;
	feed->decoder->effective->round++;
	feed->decoder->effective->unanswered = 0;
}

bool gnmi_effective_take(struct gnmi_feed *feed, const struct gnmi_series *series)
{
	struct gnmi_effective *effective = feed->decoder->effective;
	const uint64_t key = (uint64_t)series->entity << 16 | series->metric;
	uint64_t round;
	if (!effective)
		return true;
	if (feed->stream->effective) {
		map_put(effective->given, key, effective->round);
		return true;
	}
	if (effective->unanswered > GNMI_EFFECTIVE_UNANSWERED)
		return true;
	if (!map_get(effective->given, key, &round))
		return true;
	return round + 1 < effective->round;
}

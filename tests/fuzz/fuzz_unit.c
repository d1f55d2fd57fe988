/* Every text a person may write as a number or a time: no crash, and what is accepted is read back
 * as the same value. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"interval", "slow_interval", "timeout"};
	char text[256], out[64], when[WALL_TEXT_MAX];
	int64_t ns, back_ns;
	uint64_t u, back_u;
	double d;
	wall_t t, again;

	if (size >= sizeof(text))
		size = sizeof(text) - 1;
	memcpy(text, data, size);
	text[size] = '\0';
	if (unit_duration(text, &ns, NULL) == 0 &&
		(unit_duration(unit_duration_text(out, sizeof(out), ns), &back_ns, NULL) < 0 ||
			back_ns != ns))
		abort();
	if (unit_size(text, &u, NULL) == 0 &&
		(unit_size(unit_size_text(out, sizeof(out), u), &back_u, NULL) < 0 || back_u != u))
		abort();
	if (unit_bitrate(text, &u, NULL) == 0 &&
		(unit_bitrate(unit_bitrate_text(out, sizeof(out), u), &back_u, NULL) < 0 ||
			back_u != u))
		abort();
	if (unit_length(text, &u, NULL) == 0 &&
		(unit_length(unit_length_text(out, sizeof(out), u), &back_u, NULL) < 0 ||
			back_u != u))
		abort();
	unit_int(text, &ns, NULL);
	unit_ratio(text, &d, NULL);
	unit_double(text, &d, NULL);
	str_nearest(text, names, 3);
	str_glob(text, "Ethernet1/1");
	/* year 2262 */
	if (wall_parse(text, (wall_t){1700000000 * NS_PER_S}, &t) == 0 && t.ns >= 0 &&
		t.ns / NS_PER_S < 9214646400) {
		if (wall_parse(wall_format(when, t, 9), (wall_t){0}, &again) < 0 ||
			again.ns != t.ns)
			abort();
	}
	return 0;
}

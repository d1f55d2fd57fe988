/* fuzz_xray_csv - csv files of anyone for `rocewatch xray`: rows, or a mistake that names the line;
 * what was read is learned from. */
#include <stdint.h>
#include <stdlib.h>

#include "agent/xray/xray_answer.h"
#include "base/cleanup.h"
#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int (*const readers[])(struct xray_set *, const char *, size_t, const char *,
		struct err *) = {xray_csv_samples, xray_csv_flows, xray_csv_links};
	rw_cleanup(xray_set_freep) struct xray_set *set = xray_set_new();
	struct xray_learn_answer learned;
	struct xray_paths_answer paths;
	struct err e = {0};
	bool good;
	for (size_t i = 0; i < rw_countof(readers); i++)
		if (readers[i](set, (const char *)data, size, "fuzz.csv", &e) < 0 && !e.code)
			abort();
	if (xray_learn_all(set, &e) < 0)
		return 0;
	xray_say_learned(set, &learned);
	xray_say_paths(set, NULL, &paths, &good, &e);
	return 0;
}

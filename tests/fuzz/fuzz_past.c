/* fuzz_past - an answer of a time series database from anyone, in each form: refused with a
 * reason, or series whose times grow and whose values are numbers. */
#include <math.h>
#include <stdlib.h>

#include "agent/import/past_internal.h"
#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int series_checked(void *arg, const struct past_series *series, struct err *e)
{
	for (size_t i = 0; i < series->n; i++)
		if (!isfinite(series->points[i].value) ||
			(i && series->points[i].t_ns < series->points[i - 1].t_ns))
			abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int api = 0; api < PAST_APIS; api++) {
		struct err e = {0};
		char said[64];
		const int rc = past_answer_read(
			(enum past_api)api, (const char *)data, size, series_checked, NULL, &e);
		if ((rc < 0) != (*e.text != '\0'))
			abort();
		past_answer_complaint((const char *)data, size, said, sizeof(said));
	}
	return 0;
}

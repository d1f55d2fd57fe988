/* fuzz_import_text - text of a host from anyone, by each reader: a document of rows, or a mistake
 * that says what was expected; never both. */
#include <stdint.h>
#include <stdlib.h>

#include "base/err.h"
#include "agent/import/import_host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = {0};
	/* two files: the halves, so that readings and runs meet */
	const size_t half = size / 2;
	const struct import_text texts[] = {
		{(const char *)data, half, "first", "", "nic0"},
		{(const char *)data + half, size - half, "second", "host-1", ""},
		{(const char *)data, size, "both", "", ""},
	};
	for (size_t i = 0; import_kinds[i / 2].name; i++) {
		const size_t n = i % 2 ? 1 : 2;
		json_t *doc = import_kinds[i / 2].read(texts + i % 2 * 2, n, 0.9, &e);
		if (!doc && !e.code)
			abort();
		if (doc && !json_is_array(json_object_get(doc, "rows")))
			abort();
		json_decref(doc);
		e = (struct err){0};
	}
	return 0;
}

/* Any text as a profile: no crash; what is accepted can be asked for everything. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "config/profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err_list errors = {0};
	struct profiles *p = NULL;
	static struct profiles *builtin; /* read once: they are no input, and slow to read */
	static const uint32_t oid[] = {1, 3, 6, 1, 4, 1, 8072, 3, 2, 10};
	if (!builtin && profiles_load(NULL, &builtin, &errors) < 0)
		abort();
	if (profiles_parse_over(builtin, (const char *)data, size, "fuzz.yaml", &p, &errors) == 0) {
		char name[64];
		profiles_match(p, oid, sizeof(oid) / sizeof(*oid), "Some switch");
		for (size_t i = 0; i < profiles_count(p); i++) {
			profile_priority(profiles_at(p, i), (uint32_t)size);
			profile_port_name_of(profiles_at(p, i), (uint32_t)size, name, sizeof(name));
		}
	}
	profiles_free(p);
	err_list_done(&errors);
	return 0;
}

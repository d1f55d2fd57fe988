/* test_hash_fields - which hashes cannot tell RoCE flows between two addresses apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "analyzers/measure/ecmp_measure.h"

static void blind_hashes(void **state)
{
	static const struct {
		const char *fields;
		bool blind;
	} rows[] = {
		{"src_ip,dst_ip", true},
		{"src_ip, dst_ip, dst_port, ip_protocol", true},
		{"src_ip,dst_ip,src_port", false},
		{"src_ip,dst_ip,l4_src_port", false},
		{"src_ip,dst_ip,dst_qp", false},
		{"src_ip,dst_ip,user_defined", false}, /* nobody knows what it reads */
		{"", false},
		{NULL, false},
	};
	for (size_t k = 0; k < rw_countof(rows); k++)
		if (hash_fields_blind(rows[k].fields) != rows[k].blind)
			fail_msg("%s", rows[k].fields);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(blind_hashes)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

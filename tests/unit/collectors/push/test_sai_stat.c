/* sai_stat: the numbers that headers state, by hand; the table is in order and without gaps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "collectors/push/push_map.h"

/* inc/saiqueue.h and inc/saibuffer.h state these numbers; those of ports were counted in the header
 * (the 109th value of the enumeration from 0 is SAI_PORT_STAT_PFC_3_RX_PKTS). */
static const struct {
	uint32_t type, number;
	enum sai_kind kind;
	const char *name;
} stated[] = {
	{1, 0, SAI_COUNTER, "SAI_PORT_STAT_IF_IN_OCTETS"},
	{1, 9, SAI_COUNTER, "SAI_PORT_STAT_IF_OUT_OCTETS"},
	{1, 70, SAI_COUNTER, "SAI_PORT_STAT_ECN_MARKED_PACKETS"},
	{1, 109, SAI_COUNTER, "SAI_PORT_STAT_PFC_3_RX_PKTS"},
	{1, 110, SAI_COUNTER, "SAI_PORT_STAT_PFC_3_TX_PKTS"},
	{1, 141, SAI_COUNTER, "SAI_PORT_STAT_PFC_3_RX_PAUSE_DURATION_US"},
	{1, 160, SAI_COUNTER, "SAI_PORT_STAT_DOT3_STATS_FCS_ERRORS"},
	{1, 203, SAI_COUNTER, "SAI_PORT_STAT_TX_TRIM_PACKETS"},
	{21, 0x18, SAI_LEVEL, "SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES"},
	{21, 0x1b, SAI_PEAK, "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES"},
	{21, 0x22, SAI_COUNTER, "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS"},
	{21, 0x28, SAI_COUNTER, "SAI_QUEUE_STAT_TRIM_PACKETS"},
	{21, 0x2e, SAI_COUNTER, "SAI_QUEUE_STAT_TX_TRIM_PACKETS"},
	{24, 0x14, SAI_PEAK, "SAI_BUFFER_POOL_STAT_XOFF_ROOM_WATERMARK_BYTES"},
	{26, 0x05, SAI_PEAK, "SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES"},
	{26, 0x08, SAI_COUNTER, "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS"},
};

static void numbers_and_names(void **state)
{
	char buf[SAI_NAME_MAX];
	for (size_t i = 0; i < sizeof(stated) / sizeof(stated[0]); i++) {
		const struct sai_stat *stat = sai_stat_of(stated[i].type, stated[i].number);
		assert_non_null(stat);
		assert_int_equal(stat->kind, stated[i].kind);
		assert_string_equal(
			sai_stat_text(buf, stated[i].type, stated[i].number), stated[i].name);
	}
}

static void no_gaps(void **state)
{
	static const struct {
		uint32_t type, n;
		const char *name;
	} types[] = {
		{SAI_PORT, 204, "PORT"},
		{SAI_QUEUE, 0x2f, "QUEUE"},
		{SAI_BUFFER_POOL, 0x19, "BUFFER_POOL"},
		{SAI_INGRESS_PRIORITY_GROUP, 0xf, "INGRESS_PRIORITY_GROUP"},
	};
	for (size_t t = 0; t < 4; t++) {
		assert_string_equal(sai_type_name(types[t].type), types[t].name);
		for (uint32_t i = 0; i < types[t].n; i++)
			assert_non_null(sai_stat_of(types[t].type, i));
		assert_null(sai_stat_of(types[t].type, types[t].n));
	}
}

static void unknown_is_shown(void **state)
{
	char buf[SAI_NAME_MAX];
	assert_string_equal(sai_stat_text(buf, 33, 7), "sai_type_33_stat_7");
	assert_string_equal(sai_stat_text(buf, 1, 0x20000567), "sai_type_1_stat_536872295");
	assert_null(sai_type_name(2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_and_names),
		cmocka_unit_test(no_gaps),
		cmocka_unit_test(unknown_is_shown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

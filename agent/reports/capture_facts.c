/* capture_facts - keys of documents, and of the agent's health. */
#include "agent/reports/capture_facts.h"

#include <math.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"

static const struct {
	const char *name, *key;
} capture_facts[] = {
	{"frames", "frames"}, /* that the filter let through */
	{"interface_frames", "interface_frames"}, /* of the interface, whatever they are */
	{"roce_packets", "roce"},
	{"rocev1_packets", "rocev1"},
	{"uet_packets", "uet"},
	{"tunneled_packets", "tunneled"},
	{"encapsulated_frames", "encapsulated"}, /* recognised and not opened */
	{"copies", "copies"},
	{"unreadable_frames", "bad"},
	{"kernel_drops", "kernel_drops"},
};

double capture_fact(const json_t *health, const char *capture, const char *key)
{
	rw_cleanup(str_done) struct str name = {0};
	str_addf(&name, "capture/%s/%s", capture, key);
	const json_t *value = json_object_get(health, name.s);
	if (!json_is_number(value))
		return NAN;
	return json_number_value(value);
}

void capture_facts_put(json_t *row, const json_t *health, const char *capture)
{
	for (size_t i = 0; i < rw_countof(capture_facts); i++) {
		const double value = capture_fact(health, capture, capture_facts[i].key);
		json_t *number = json_null();
		if (isfinite(value))
			number = json_integer((json_int_t)value);
		json_object_set_new(row, capture_facts[i].name, number);
	}
}

/* test_incident_card - the card fits the lines of the terminal, of 80 columns, whatever the finding
 * says, names what to do with commands that are not broken, and keeps reasons for and against
 * apart; the page holds all of it in each format. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "agent/answers/incident/incident_view.h"
#include "agent/document/page.h"

static const char storm[] =
	"{'id': 'tdd53op4', 'cause': 'pfc_storm', 'severity': 'critical', 'state': 'open',"
	" 'age_s': 660, 'usd_per_hour': 960, 'usd_total': 64, 'confidence_ratio': 0.92,"
	" 'headline': 'node-010 pauses leaf2:Ethernet2 100 % of the time',"
	" 'summary': 'node-010 pauses its switch and receives nothing: leaf2:Ethernet2 p3 is "
	"paused "
	"100.0 % of the time, at 0 % of line rate; 7 other switches and 1 host wait behind it "
	"(L3)',"
	" 'subject': {'device': 'leaf2', 'port': 'Ethernet2', 'host': 'node-010', 'priority': 3},"
	" 'roles': [{'entity': 'node-010', 'role': 'culprit'},"
	"  {'entity': 'leaf2', 'role': 'direct_victim'},"
	"  {'entity': 'leaf2:Ethernet2', 'role': 'direct_victim'},"
	"  {'entity': 'switch:spine9', 'role': 'direct_victim'},"
	"  {'entity': 'host:node-009', 'role': 'indirect_victim'}],"
	" 'loss': [{'job': 'train', 'loss_ratio': 1.0, 'since': '2026-01-01T00:04:00Z',"
	"  'measured_at': 'host ports', 'step_before_s': null, 'step_s': null}],"
	" 'commands': [{'where': 'node-010', 'command': \"ethtool -S <nic> | grep -i -E "
	"'out_of_buffer|discard|prio3_pause'\", 'effect': 'drops', 'risk': 'read only'},"
	"  {'where': 'leaf2', 'command': 'show pfc counters', 'effect': 'pause', 'risk': 'read "
	"only'},"
	"  {'where': 'leaf2', 'command': 'show more', 'effect': 'more', 'risk': 'read only'}],"
	" 'next_steps': [{'text': 'look at it', 'risk': 'none: read only'},"
	"  {'text': 'drain the host or shut its port', 'risk': 'aborts the job'}],"
	" 'reasons_for': ['pause time measured by the switch', 'all 31 other host-facing queues "
	"are "
	"quiet', 'its port runs at 0 % of line rate'],"
	" 'reasons_against': ['samples are missing or suspect'],"
	" 'not_proved': ['PCIe, memory and firmware of the NIC: no switch sees them'],"
	" 'ruled_out': ['incast: it drains at 0 %', 'deadlock: no ring among 3 paused ports'],"
	" 'changed_before': ['2026-01-01T00:03:00Z aaaaaaaa: leaf1: old', '2026-01-01T00:04:00Z "
	"bbbbbbbb: leaf2: cfg.hash_fields was x, now y'],"
	" 'evidence': [{'metric': 'pfc.rx_pause_ratio', 'device': 'leaf2', 'port': 'Ethernet2',"
	"  'value': 1.0, 'unit': 'ratio', 'quality': 'exact', 'to': '2026-01-01T00:05:00Z'}],"
	" 'timeline': [{'t': '2026-01-01T00:04:00Z', 'text': 'onset: <first> window'}],"
	" 'first': '2026-01-01T00:04:00Z', 'opened': '2026-01-01T00:05:00Z', 'closed': null}";

/* JSON with single quotes for double ones; a double quote stands for itself. */
static json_t *card_of(const char *text)
{
	rw_cleanup(freep) char *json = rw_strdup(text);
	bool inside = false;
	struct str out = {0};
	for (const char *s = json; *s; s++) {
		if (*s == '"')
			inside = !inside;
		if (*s == '\'' && !inside)
			str_add(&out, "\"");
		else
			str_addn(&out, s, 1);
	}
	json_error_t error;
	json_t *o = json_loads(out.s, 0, &error);
	if (!o)
		fail_msg("%s at %d: %s", error.text, error.position, out.s);
	str_done(&out);
	return o;
}

static char *card_text(const json_t *incident, size_t height)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	incident_card_text(out, incident, 80, height, false);
	fclose(out);
	return text;
}

static void check_size(const char *text, size_t most)
{
	size_t lines = 0;
	for (const char *s = text; *s; lines++) {
		const size_t n = strcspn(s, "\n");
		if (n > 80)
			fail_msg("%zu columns: %.*s", n, (int)n, s);
		s += n + 1;
	}
	if (lines > most)
		fail_msg("%zu lines, expected %zu:\n%s", lines, most, text);
}

static void card_storm(void **state)
{
	json_t *o = card_of(storm);
	rw_cleanup(freep) char *text = card_text(o, 20);
	check_size(text, 20);
	assert_null(strstr(text, "..."));
	const char *const holds[] = {
		"show more",
		"CRITICAL pfc_storm tdd53op4 open 11m $960/h ($64 so far) conf high\n",
		"Spread: 1 other switch and 1 host wait. Job train: stopped. Not: incast,\n"
		"deadlock.\n",
		("DO NOW   1 on node-010 (read only):\n"
		 "           ethtool -S <nic> | grep -i -E 'out_of_buffer|discard|prio3_pause'\n"),
		"drain the host or shut its port (aborts the job)\n",
		"WHY      pause time measured by the switch;",
		"AGAINST  samples are missing or suspect\n",
		"CHANGED  2026-01-01T00:04:00Z bbbbbbbb:",
		"NOT PROVED  PCIe, memory and firmware of the NIC: no switch sees them\n",
	};
	for (size_t k = 0; k < rw_countof(holds); k++)
		if (!strstr(text, holds[k]))
			fail_msg("missing: %s in\n%s", holds[k], text);
	json_decref(o);
}

/* Long texts and many reasons are cut at words, never the command. */
static void card_long(void **state)
{
	json_t *o = card_of(storm);
	json_t *why = json_object_get(o, "reasons_for"), *open = json_object_get(o, "not_proved");
	for (int k = 0; k < 12; k++) {
		json_array_append_new(why, json_string("another reason of quite some length"));
		json_array_append_new(open, json_string("one more thing that is not known"));
		json_array_append_new(json_object_get(o, "reasons_against"),
			json_string("doubts of a length that takes half of a line"));
	}
	json_object_set_new(o, "acked_by", json_string("alice"));
	json_object_set_new(o, "assigned_to", json_string("bob"));
	rw_cleanup(freep) char *text = card_text(o, 12);
	check_size(text, 12);
	assert_non_null(strstr(text, "grep -i -E 'out_of_buffer|discard|prio3_pause'\n"));
	assert_non_null(strstr(text, "OWNER    acknowledged by alice; assigned to bob\n"));
	assert_non_null(strstr(text, " ...\n"));
	json_decref(o);
}

static size_t count_lines(const char *text)
{
	size_t n = 0;
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		n++;
	return n;
}

/* Each terminal is filled to its last line, and what to do is whole in the smallest: each command,
 * and a step of four lines, too. Into a pipe nothing is cut. */
static void card_heights(void **state)
{
	static const char step[] =
		"set the NIC to one priority, restart the job on the other rail, wait for ten "
		"steps, compare the time of a step with the one before, and only then move the "
		"rest of the hosts, one after the other, with a minute between them";
	json_t *o = card_of(storm);
	json_t *why = json_object_get(o, "reasons_for");
	for (int k = 0; k < 60; k++)
		json_array_append_new(why, json_sprintf("reason %d of quite some length", k));
	json_object_set_new(
		o, "next_steps", json_pack("[{s:s, s:s}]", "text", step, "risk", "aborts the job"));
	size_t shown = 0;
	for (size_t height = 0; height <= 60; height += 12) {
		rw_cleanup(freep) char *text = card_text(o, height), *flat = rw_strdup(text);
		if (height > 0)
			check_size(text, height > 14 ? height : 14); /* fewer do not hold it */
		if (strlen(text) < shown && height > 0)
			fail_msg("%zu lines show less than fewer lines:\n%s", height, text);
		if (height > 0)
			shown = strlen(text);
		rw_cleanup(str_done) struct str words = {0};
		for (const char *at = strtok(flat, " \n"); at; at = strtok(NULL, " \n"))
			str_addf(&words, "%s ", at);
		if (!strstr(words.s, step) || !strstr(text, "grep -i -E 'out_of_buffer|discard"))
			fail_msg("what to do is cut at %zu lines:\n%s", height, text);
		if (height == 24 && (count_lines(text) != 24 || !strstr(text, "show more")))
			fail_msg("%zu of 24 lines:\n%s", count_lines(text), text);
		const bool whole = strstr(text, "...") == NULL;
		if ((whole && height == 24) || (!whole && (height == 0 || height == 60)))
			fail_msg("%zu lines:\n%s", height, text);
	}
	json_decref(o);
}

/* The runbook's address is never cut off, however much else there is to say. */
static void card_runbook(void **state)
{
	static const struct {
		const char *runbook, *line;
	} rows[] = {
		{"rocewatch runbook pfc_storm",
			"MORE     rocewatch incident show tdd53op4 --full; runbook pfc_storm\n"},
		{"https://noc.example/runbooks/pfc_storm",
			"RUNBOOK  https://noc.example/runbooks/pfc_storm\n"},
	};
	for (size_t k = 0; k < rw_countof(rows); k++) {
		json_t *o = card_of(storm);
		json_object_set_new(o, "runbook", json_string(rows[k].runbook));
		for (int i = 0; i < 12; i++)
			json_array_append_new(json_object_get(o, "not_proved"),
				json_string("one more thing that is not known"));
		rw_cleanup(freep) char *text = card_text(o, 12);
		check_size(text, 12);
		if (!strstr(text, rows[k].line))
			fail_msg("missing: %s in\n%s", rows[k].line, text);
		json_decref(o);
	}
}

/* As little as an old database holds. */
static void card_bare(void **state)
{
	json_t *o = card_of("{'id': 'aaaaaaaa', 'cause': 'unknown', 'severity': 'info',"
			    " 'state': 'closed', 'summary': 'something'}");
	rw_cleanup(freep) char *text = card_text(o, 12);
	check_size(text, 12);
	assert_string_equal(text,
		"INFO unknown aaaaaaaa closed cost unknown conf unknown\n"
		"something\n"
		"MORE     rocewatch incident show aaaaaaaa --full; incident timeline aaaaaaaa\n");
	json_decref(o);
}

static void page_formats(void **state)
{
	static const struct {
		enum report_format format;
		const char *begins, *command, *onset;
	} rows[] = {
		{FORMAT_TABLE, "node-010 pauses", "ethtool -S <nic> |", "onset: <first> window"},
		{FORMAT_MD, "# node-010 pauses", "```\nethtool -S <nic> |",
			"onset: \\<first\\> window"},
		{FORMAT_HTML, "<!DOCTYPE html>", ">ethtool -S &lt;nic&gt; |",
			"onset: &lt;first&gt; window"},
	};
	json_t *o = card_of(storm);
	for (size_t k = 0; k < rw_countof(rows); k++) {
		rw_cleanup(freep) char *text = NULL;
		size_t n;
		FILE *out = open_memstream(&text, &n);
		const struct page_style style = {.format = rows[k].format, .width = 80};
		struct page *page = incident_page(o);
		assert_int_equal(page_print(out, page, &style), 0);
		page_free(page);
		fclose(out);
		assert_memory_equal(text, rows[k].begins, strlen(rows[k].begins));
		const char *const holds[] = {rows[k].command, rows[k].onset,
			"samples are missing or suspect", "no ring among 3 paused ports",
			"drain the host or shut its port", "show more", "CRITICAL"};
		for (size_t i = 0; i < rw_countof(holds); i++)
			if (!strstr(text, holds[i]))
				fail_msg("missing: %s in\n%s", holds[i], text);
		if (rows[k].format == FORMAT_HTML && strstr(text, "http"))
			fail_msg("the page is not self-contained:\n%s", text);
	}
	json_decref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(card_storm),
		cmocka_unit_test(card_long),
		cmocka_unit_test(card_heights),
		cmocka_unit_test(card_runbook),
		cmocka_unit_test(card_bare),
		cmocka_unit_test(page_formats),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

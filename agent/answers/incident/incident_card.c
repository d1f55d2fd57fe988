/* incident_card - lays an incident out in the lines that a terminal has. */
#include "agent/answers/incident/incident_card.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "agent/document/json_value.h"
#include "agent/answers/incident/incident_words.h"
#include "agent/answers/common/text.h"

enum { CARD_LEAST = 12, LABEL_COLUMNS = 9 };
#define ALL SIZE_MAX

struct card {
	size_t width, height;
	char **lines; /* owned, as the array is */
	size_t n, cap;
};

static void card_clear(struct card *card)
{
	for (size_t k = 0; k < card->n; k++)
		free(card->lines[k]);
	card->n = 0;
}

static void card_push(struct card *card, struct str *line)
{
	while (line->n && line->s[line->n - 1] == ' ')
		line->s[--line->n] = '\0';
	rw_grow(card->lines, card->n, card->cap);
	card->lines[card->n++] = line->s;
}

static size_t card_columns(const char *text, size_t bytes)
{
	size_t n = 0;
	for (size_t k = 0; k < bytes; k++)
		n += ((unsigned char)text[k] & 0xc0) != 0x80;
	return n;
}

/*
 * A label and @text beside it, wrapped at words into at most @most lines; three dots where it was
 * cut. Further lines begin at column @indent.
 */
static void card_paragraph(
	struct card *card, const char *label, size_t indent, const char *text, size_t most)
{
	size_t lines = 0;
	const char *rest = text + strspn(text, " ");
	while (*rest && lines < most) {
		struct str line = {0};
		str_addf(&line, "%-*s", (int)indent, lines ? "" : label);
		size_t at = line.n;
		const size_t room = card->width - (lines + 1 == most ? 4 : 0);
		bool first = true;
		while (*rest) {
			const size_t n = strcspn(rest, " "), wide = card_columns(rest, n);
			const bool last = rest[n + strspn(rest + n, " ")] == '\0';
			if (!first && at + 1 + wide > (last ? card->width : room))
				break;
			str_addf(&line, "%s%.*s", str_if(!first, " "), (int)n, rest);
			at += wide + !first;
			first = false;
			rest += n + strspn(rest + n, " ");
		}
		if (++lines == most && *rest)
			str_add(&line, " ...");
		card_push(card, &line);
	}
}

static void card_list(
	struct card *card, const char *label, const json_t *list, size_t most, bool newest)
{
	rw_cleanup(str_done) struct str text = {0};
	str_add(&text, "");
	if (newest && json_array_size(list))
		str_add(&text,
			str_or(json_string_value(json_array_get(list, json_array_size(list) - 1)),
				""));
	else
		incident_add_list(&text, list);
	if (text.n)
		card_paragraph(card, label,
			strlen(label) + 2 > LABEL_COLUMNS ? strlen(label) + 2 : LABEL_COLUMNS,
			text.s, most);
}

/* ---- what to do ---------------------------------------------------------- */

/* A command is never broken: it has a line of its own when it does not fit behind its place. */
static void card_command(
	struct card *card, const char *label, unsigned number, const json_t *command)
{
	struct str line = {0};
	const char *where = doc_word(command, "where"), *run = doc_word(command, "command");
	const char *place = str_eq(where, "here") ? "" : "on ";
	if (str_eq(where, "here"))
		where = "";
	str_addf(&line, "%-*s%u %s%s%s%s", LABEL_COLUMNS, label, number, place, where,
		str_if(*where, ": "), run);
	str_addf(&line, "  (%s)", doc_word(command, "risk"));
	if (line.n <= card->width) {
		card_push(card, &line);
		return;
	}
	str_done(&line);
	line = (struct str){0};
	str_addf(&line, "%-*s%u %s%s (%s):", LABEL_COLUMNS, label, number, place, where,
		doc_word(command, "risk"));
	card_push(card, &line);
	struct str second = {0};
	str_addf(&second, "%-*s%s", LABEL_COLUMNS + 2, "", run);
	card_push(card, &second);
}

static void card_step(struct card *card, const char *label, unsigned number, const json_t *step)
{
	char head[32];
	rw_cleanup(str_done) struct str text = {0};
	snprintf(head, sizeof(head), "%-*s%u ", LABEL_COLUMNS, label, number);
	str_addf(&text, "%s  (%s)", doc_word(step, "text"), doc_word(step, "risk"));
	card_paragraph(card, head, strlen(head), text.s, ALL); /* what to do is never cut */
}

/* The first step that changes something; where there is none, the first one. */
static const json_t *card_first_change(const json_t *steps)
{
	const json_t *step;
	size_t k;
	json_array_foreach (steps, k, step)
		if (strncmp(doc_word(step, "risk"), "none", strlen("none")) != 0)
			return step;
	return json_array_get(steps, 0);
}

static void card_do(struct card *card, const json_t *incident, size_t commands)
{
	const json_t *list = json_object_get(incident, "commands"), *o;
	unsigned number = 0;
	size_t k;
	json_array_foreach (list, k, o) {
		if (k >= commands)
			break;
		card_command(card, number ? "" : "DO NOW", number + 1, o);
		number++;
	}
	o = card_first_change(json_object_get(incident, "next_steps"));
	if (o)
		card_step(card, number ? "" : "DO NOW", number + 1, o);
}

/* ---- the card ------------------------------------------------------------ */

/* How many lines each part may take, and how many commands there are; the next row is tried when
 * the card is too long. */
static const struct card_budget {
	size_t what, spread, why, against, unproved, commands;
} budgets[] = {
	{ALL, ALL, ALL, ALL, ALL, ALL},
	{ALL, ALL, 4, 4, 4, ALL},
	{ALL, ALL, 2, 2, 2, ALL},
	{ALL, ALL, 2, 2, 2, 2},
	{3, 2, 2, 1, 1, 2},
	{2, 2, 1, 1, 1, 2},
	{2, 1, 1, 1, 1, 2},
	{2, 1, 1, 1, 1, 1},
	{1, 1, 1, 1, 1, 1},
};

static void card_fill(struct card *card, const json_t *incident, const struct card_budget *budget)
{
	rw_cleanup(str_done) struct str head = {0}, spread = {0}, owner = {0};
	const char *summary = doc_word(incident, "summary");
	if (!*summary)
		summary = doc_word(incident, "headline");
	card_clear(card);
	incident_add_head(&head, incident);
	card_paragraph(card, "", 0, head.s, ALL);
	card_paragraph(card, "", 0, summary, budget->what);
	str_add(&spread, "");
	incident_add_spread(&spread, incident);
	card_paragraph(card, "", 0, spread.s, budget->spread);
	card_do(card, incident, budget->commands);
	card_list(card, "WHY", json_object_get(incident, "reasons_for"), budget->why, false);
	card_list(card, "AGAINST", json_object_get(incident, "reasons_against"), budget->against,
		false);
	card_list(card, "CHANGED", json_object_get(incident, "changed_before"), budget->unproved,
		true);
	card_list(card, "NOT PROVED", json_object_get(incident, "not_proved"), budget->unproved,
		false);
	str_add(&owner, "");
	incident_add_owner(&owner, incident);
	card_paragraph(card, "OWNER", LABEL_COLUMNS, owner.s, budget->unproved);
}

/* Where to read on: the runbook's address in a line of its own; a runbook that is a command
 * stands among the commands. */
static void card_more(struct card *card, const json_t *incident)
{
	static const char program[] = "rocewatch ";
	const char *runbook = doc_word(incident, "runbook"), *id = doc_word(incident, "id");
	const bool command = strncmp(runbook, program, strlen(program)) == 0;
	struct str line = {0}, more = {0};
	if (*runbook && !command) {
		str_addf(&line, "%-*s%s", LABEL_COLUMNS, "RUNBOOK", runbook);
		card_push(card, &line);
	}
	str_addf(&more, "%-*s%sincident show %s --full; ", LABEL_COLUMNS, "MORE", program, id);
	if (command)
		str_add(&more, runbook + strlen(program));
	else
		str_addf(&more, "incident timeline %s", id);
	card_push(card, &more);
}

void incident_card_text(FILE *out, const json_t *incident, size_t width, size_t height, bool color)
{
	struct card card = {.width = width, .height = height};
	if (height > 0 && height < CARD_LEAST)
		card.height = CARD_LEAST;
	for (size_t k = 0; k < rw_countof(budgets); k++) {
		card_fill(&card, incident, &budgets[k]);
		card_more(&card, incident);
		if (card.height == 0 || card.n <= card.height)
			break;
	}
	const bool loud = color && str_eq(doc_word(incident, "severity"), "critical");
	for (size_t k = 0; k < card.n; k++) {
		fputs(str_if(k == 0 && color, loud ? "\033[1;31m" : "\033[1m"), out);
		text_put(out, card.lines[k]);
		fputs(str_if(k == 0 && color, "\033[0m"), out);
		fputc('\n', out);
	}
	card_clear(&card);
	free(card.lines);
}

/* incident_view - incidents as people see them: the list, the card in the lines that a terminal
 * has, the page that holds all of it, the timeline. */
#include "agent/answers/incident/incident_view.h"

#include "agent/answers/common/text.h"
#include "agent/answers/incident/incident_read.h"
#include "agent/document/page.h"
#include "agent/document/paper.h"
#include "agent/document/quantity.h"

static void incident_age_text(char *text, size_t size, double age_s)
{
	static const struct {
		double below_s, unit_s;
		char letter;
	} units[] = {{60, 1, 's'}, {3600, 60, 'm'}, {48 * 3600, 3600, 'h'}, {INFINITY, 86400, 'd'}};
	size_t k = 0;
	if (isnan(age_s)) {
		snprintf(text, size, "-");
		return;
	}
	while (age_s >= units[k].below_s)
		k++;
	snprintf(text, size, "%.0f%c", floor(age_s / units[k].unit_s), units[k].letter);
}

static const char *incident_confidence_word(double confidence)
{
	if (isnan(confidence))
		return "unknown";
	if (confidence >= 0.8)
		return "high";
	if (confidence >= 0.5)
		return "medium";
	return "low";
}

/* ---- head ---------------------------------------------------------------- */

static void add_money(struct str *out, const struct incident_told *incident)
{
	const double per_hour = incident->usd_per_hour;
	const double total = incident->usd_total;
	if (isnan(per_hour)) {
		str_add(out, "  cost unknown");
		return;
	}
	str_addf(out, "  $%.*f/h", per_hour < 10 ? 2 : 0, per_hour);
	if (!isnan(total))
		str_addf(out, " ($%.*f%s)", total < 10 ? 2 : 0, total,
			str_if(incident_is_open(incident), " so far"));
}

static void incident_add_head(struct str *out, const struct incident_told *incident)
{
	char age[16];
	for (const char *s = incident->severity; *s; s++)
		str_addf(out, "%c", toupper((unsigned char)*s));
	incident_age_text(age, sizeof(age), incident->age_s);
	str_addf(out, " %s  %s  %s", incident->cause, incident->id, incident->state);
	if (!isnan(incident->age_s))
		str_addf(out, incident_is_open(incident) ? " %s" : " after %s", age);
	add_money(out, incident);
	const char *sure = incident_confidence_word(incident->confidence_ratio);
	str_addf(out, "  conf %s", str_eq(sure, "medium") ? "med" : sure);
}

/* ---- spread -------------------------------------------------------------- */

/* Is @name a switch? Roles name its ports as "NAME:PORT". */
static bool words_is_switch(const struct incident_told *incident, const char *name)
{
	const size_t n = strlen(name);
	for (size_t k = 0; k < incident->n_roles; k++) {
		const char *entity = incident->roles[k].entity;
		if (strncmp(entity, name, n) == 0 && entity[n] == ':')
			return true;
	}
	for (size_t k = 0; k < incident->n_evidence; k++)
		if (str_eq(incident->evidence[k].device, name))
			return true;
	return false;
}

/* Who waits beside the switch that the incident is about, as its summary counts them: switches and
 * hosts among the victims; their ports are not counted. */
static void add_victims(struct str *out, const struct incident_told *incident)
{
	static const char host_prefix[] = "host:", switch_prefix[] = "switch:";
	const char *own = incident->subject.device;
	size_t switches = 0, hosts = 0;
	for (size_t k = 0; k < incident->n_roles; k++) {
		const struct told_role *role = &incident->roles[k];
		const char *entity = role->entity;
		const bool named = strncmp(entity, host_prefix, strlen(host_prefix)) == 0;
		const bool outside = strncmp(entity, switch_prefix, strlen(switch_prefix)) == 0;
		if (str_eq(role->role, "culprit") || str_eq(entity, own) ||
			(strchr(entity, ':') && !named && !outside))
			continue;
		if (outside || (!named && words_is_switch(incident, entity)))
			switches++;
		else
			hosts++;
	}
	if (switches + hosts == 0)
		return;
	str_add(out, "Spread: ");
	if (switches)
		str_addf(out, "%zu other switch%s", switches, str_if(switches != 1, "es"));
	if (switches && hosts)
		str_add(out, " and ");
	if (hosts)
		str_addf(out, "%zu host%s", hosts, str_if(hosts != 1, "s"));
	str_addf(out, " wait%s.  ", str_if(switches + hosts == 1, "s"));
}

static void add_loss(struct str *out, const struct told_loss *loss)
{
	const double lost = loss->loss_ratio;
	const double before = loss->step_before_s, now = loss->step_s;
	if (!(lost > 0))
		return;
	if (*loss->job)
		str_addf(out, "Job %s: ", loss->job);
	else
		str_add(out, "All hosts: ");
	if (lost >= 0.99)
		str_add(out, "stopped");
	else if (!isnan(before) && !isnan(now))
		str_addf(out, "steps %.3g s, were %.3g s", now, before);
	else
		str_addf(out, "%.1f %% of wall time lost", 100 * lost);
	str_add(out, ".  ");
}

static void add_jobs(struct str *out, const struct incident_told *incident)
{
	const size_t before = out->n;
	for (size_t k = 0; k < incident->n_loss; k++)
		add_loss(out, &incident->loss[k]);
	if (out->n > before)
		return;
	for (size_t k = 0; k < incident->n_jobs; k++)
		str_addf(out, "Job %s: loss not measured.  ", incident->jobs[k]);
}

/* Of each cause that was ruled out its name: what stands in front of the colon. */
static void add_ruled_out(struct str *out, const struct incident_told *incident)
{
	size_t n = 0;
	for (size_t k = 0; k < incident->n_ruled_out; k++) {
		const char *text = incident->ruled_out[k];
		const size_t name = strcspn(text, ":");
		if (name == 0 || !text[name] || name > 24)
			continue;
		str_add(out, n++ ? ", " : "Not: ");
		str_addn(out, text, name);
	}
	if (n)
		str_add(out, ".");
}

static void incident_add_spread(struct str *out, const struct incident_told *incident)
{
	add_victims(out, incident);
	add_jobs(out, incident);
	add_ruled_out(out, incident);
}

/* ---- the rest ------------------------------------------------------------ */

static void incident_add_owner(struct str *out, const struct incident_told *incident)
{
	const char *acked = incident->acked_by, *note = incident->ack_note,
		   *owner = incident->assigned_to, *silenced = incident->silenced;
	if (*acked)
		str_addf(out, "acknowledged by %s%s%s", acked, str_if(*note, ": "), note);
	if (*acked && *owner)
		str_add(out, "; ");
	if (*owner)
		str_addf(out, "assigned to %s", owner);
	if (*silenced)
		str_addf(out, "%s%s", str_if(*acked || *owner, "; "), silenced);
}

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
			const size_t n = strcspn(rest, " "), wide = text_columns(rest, n);
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
	struct card *card, const char *label, const char *const *list, size_t n, size_t most)
{
	rw_cleanup(str_done) struct str text = {0};
	for (size_t k = 0; k < n; k++)
		str_addf(&text, "%s%s", str_if(k, "; "), list[k]);
	if (text.n)
		card_paragraph(card, label,
			strlen(label) + 2 > LABEL_COLUMNS ? strlen(label) + 2 : LABEL_COLUMNS,
			text.s, most);
}

/* ---- what to do ---------------------------------------------------------- */

/* A command is never broken: it has a line of its own when it does not fit behind its place. */
static void card_command(
	struct card *card, const char *label, unsigned number, const struct told_command *command)
{
	struct str line = {0};
	const char *where = command->where, *run = command->command;
	const char *place = str_eq(where, "here") ? "" : "on ";
	if (str_eq(where, "here"))
		where = "";
	str_addf(&line, "%-*s%u %s%s%s%s", LABEL_COLUMNS, label, number, place, where,
		str_if(*where, ": "), run);
	str_addf(&line, "  (%s)", command->risk);
	if (line.n <= card->width) {
		card_push(card, &line);
		return;
	}
	str_done(&line);
	line = (struct str){0};
	str_addf(&line, "%-*s%u %s%s (%s):", LABEL_COLUMNS, label, number, place, where,
		command->risk);
	card_push(card, &line);
	struct str second = {0};
	str_addf(&second, "%-*s%s", LABEL_COLUMNS + 2, "", run);
	card_push(card, &second);
}

static void card_step(
	struct card *card, const char *label, unsigned number, const struct told_step *step)
{
	char head[32];
	rw_cleanup(str_done) struct str text = {0};
	snprintf(head, sizeof(head), "%-*s%u ", LABEL_COLUMNS, label, number);
	str_addf(&text, "%s  (%s)", step->text, step->risk);
	card_paragraph(card, head, strlen(head), text.s, ALL); /* what to do is never cut */
}

/* The first step that changes something; where there is none, the first one. */
static const struct told_step *card_first_change(const struct incident_told *incident)
{
	for (size_t k = 0; k < incident->n_next_steps; k++)
		if (strncmp(incident->next_steps[k].risk, "none", strlen("none")) != 0)
			return &incident->next_steps[k];
	return incident->n_next_steps ? incident->next_steps : NULL;
}

static void card_do(struct card *card, const struct incident_told *incident, size_t commands)
{
	unsigned number = 0;
	for (size_t k = 0; k < incident->n_commands && k < commands; k++) {
		card_command(card, number ? "" : "DO NOW", number + 1, &incident->commands[k]);
		number++;
	}
	const struct told_step *step = card_first_change(incident);
	if (step)
		card_step(card, number ? "" : "DO NOW", number + 1, step);
}

/* ---- the card ------------------------------------------------------------ */

/* The parts that may be cut, the first to get a line that is left over first. What to do is none of
 * them. */
enum card_part {
	PART_WHAT,
	PART_WHY,
	PART_SPREAD,
	PART_UNPROVED,
	PART_AGAINST,
	PART_CHANGED,
	PART_RANKS,
	PART_OWNER,
	CARD_PARTS
};

struct card_budget {
	size_t lines[CARD_PARTS]; /* that each part may take */
	size_t commands; /* that are shown */
};

/* Where to read on: the runbook's address in a line of its own; a runbook that is a command
 * stands among the commands. */
static void card_more(struct card *card, const struct incident_told *incident)
{
	static const char program[] = "rocewatch ";
	const char *runbook = incident->runbook, *id = incident->id;
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

static void card_fill(
	struct card *card, const struct incident_told *incident, const struct card_budget *budget)
{
	rw_cleanup(str_done) struct str head = {0}, spread = {0}, owner = {0};
	const size_t *lines = budget->lines;
	const char *summary = incident->summary;
	if (!*summary)
		summary = incident->headline;
	card_clear(card);
	incident_add_head(&head, incident);
	card_paragraph(card, "", 0, head.s, ALL);
	card_paragraph(card, "", 0, summary, lines[PART_WHAT]);
	str_add(&spread, "");
	incident_add_spread(&spread, incident);
	card_paragraph(card, "", 0, spread.s, lines[PART_SPREAD]);
	card_do(card, incident, budget->commands);
	card_list(card, "WHY", incident->reasons_for, incident->n_reasons_for, lines[PART_WHY]);
	card_list(card, "AGAINST", incident->reasons_against, incident->n_reasons_against,
		lines[PART_AGAINST]);
	const size_t changes = incident->n_changed_before; /* the card prints the newest */
	if (changes)
		card_list(card, "CHANGED", incident->changed_before + changes - 1, 1,
			lines[PART_CHANGED]);
	if (incident->n_ranks) /* the card prints the newest */
		card_list(card, "RANKS", incident->ranks, 1, lines[PART_RANKS]);
	card_list(card, "NOT PROVED", incident->not_proved, incident->n_not_proved,
		lines[PART_UNPROVED]);
	str_add(&owner, "");
	incident_add_owner(&owner, incident);
	card_paragraph(card, "OWNER", LABEL_COLUMNS, owner.s, lines[PART_OWNER]);
	card_more(card, incident);
}

/* One line of each part and all that is to be done, fewer commands only where that is too long;
 * then a line more for one part after the other, as long as there is room. */
static void card_fit(struct card *card, const struct incident_told *incident)
{
	static const size_t commands[] = {ALL, 2, 1};
	struct card_budget budget;
	bool grows = true;
	for (size_t k = 0; k < rw_countof(commands); k++) {
		budget.commands = commands[k];
		for (size_t part = 0; part < CARD_PARTS; part++)
			budget.lines[part] = 1;
		card_fill(card, incident, &budget);
		if (card->n <= card->height)
			break;
	}
	while (grows && card->n < card->height) {
		grows = false;
		for (size_t part = 0; part < CARD_PARTS; part++) {
			const size_t before = card->n;
			budget.lines[part]++;
			card_fill(card, incident, &budget);
			if (card->n > before && card->n <= card->height) {
				grows = true;
				continue;
			}
			budget.lines[part]--;
			card_fill(card, incident, &budget);
		}
	}
}

static void card_print(
	FILE *out, const struct incident_told *incident, size_t width, size_t height, bool color)
{
	static const struct card_budget whole = {{ALL, ALL, ALL, ALL, ALL, ALL, ALL}, ALL};
	struct card card = {.width = width, .height = height};
	if (height > 0 && height < CARD_LEAST)
		card.height = CARD_LEAST;
	if (card.height > 0)
		card_fit(&card, incident);
	else
		card_fill(&card, incident, &whole);
	const bool loud = color && str_eq(incident->severity, "critical");
	for (size_t k = 0; k < card.n; k++) {
		fputs(str_if(k == 0 && color, loud ? "\033[1;31m" : "\033[1m"), out);
		text_put(out, card.lines[k]);
		fputs(str_if(k == 0 && color, "\033[0m"), out);
		fputc('\n', out);
	}
	card_clear(&card);
	free(card.lines);
}

/* ---- lines --------------------------------------------------------------- */

static void page_words(struct page *page, const char *label,
	void (*add)(struct str *out, const struct incident_told *incident),
	const struct incident_told *incident)
{
	rw_cleanup(str_done) struct str text = {0};
	str_add(&text, "");
	add(&text, incident);
	page_fact(page, label, text.s);
}

static void add_subject(struct str *out, const struct incident_told *incident)
{
	const struct told_subject *subject = &incident->subject;
	const struct {
		const char *name, *word;
	} parts[] = {
		{subject->device, ""},
		{subject->port, "port "},
		{subject->group, "group "},
		{subject->member, "member "},
		{subject->host, "host "},
	};
	for (size_t k = 0; k < rw_countof(parts); k++)
		if (*parts[k].name)
			str_addf(out, "%s%s%s", str_if(out->n, ", "), parts[k].word, parts[k].name);
	if (subject->priority >= 0)
		str_addf(out, "%spriority %d", str_if(out->n, ", "), subject->priority);
}

static void add_when(struct str *out, const struct incident_told *incident)
{
	const char *opened = incident->opened, *closed = incident->closed, *first = incident->first;
	const uint64_t windows = incident->windows;
	str_addf(out, "began %s, opened %s", when_text(*first ? first : opened).s,
		when_text(opened).s);
	if (*closed)
		str_addf(out, ", closed %s", when_text(closed).s);
	if (windows != COUNT_UNKNOWN)
		str_addf(out, "; seen in %llu window%s", (unsigned long long)windows,
			str_if(windows != 1, "s"));
}

static void add_confidence(struct str *out, const struct incident_told *incident)
{
	const double confidence = incident->confidence_ratio, coverage = incident->coverage_ratio;
	str_add(out, incident_confidence_word(confidence));
	if (!isnan(confidence))
		str_addf(out, " (%.0f %%)", 100 * confidence);
	if (!isnan(coverage))
		str_addf(out, ", %.0f %% of the data was there", 100 * coverage);
}

/* How far a price may be off, as a share of it: as the losses that it is made of; 0: not known. */
static double price_error(const struct incident_told *incident)
{
	double most = 0;
	for (size_t k = 0; k < incident->n_loss; k++)
		if (incident->loss[k].loss_ratio > 0)
			most = fmax(
				most, incident->loss[k].error_ratio / incident->loss[k].loss_ratio);
	return most;
}

static void add_cost(struct str *out, const struct incident_told *incident)
{
	const double error = price_error(incident);
	const double per_hour = incident->usd_per_hour, total = incident->usd_total,
		     explained = incident->explained_ratio;
	const unsigned long long gpus = incident->gpus_affected;
	if (isnan(per_hour))
		str_addf(out, "unknown%s",
			str_if(!gpus, " (no job is configured for this subject, or no price)"));
	else
		str_addf(out, "$%.2f/h, $%.2f so far (%llu GPUs wait)", per_hour,
			isnan(total) ? 0 : total, gpus);
	if (per_hour > 0 && error > 0)
		str_addf(out, "; with 95 %% from $%.2f to $%.2f an hour",
			per_hour * fmax(0, 1 - error), per_hour * (1 + error));
	if (!isnan(explained))
		str_addf(out, "; accounts for %.0f %% of the measured slowdown", 100 * explained);
}

/* The time a job lost since the onset: as a share of wall time, and per step where the normal
 * length of a step is configured. */
static void page_loss(struct page *page, const struct told_loss *loss, double explained)
{
	const double lost = loss->loss_ratio, before = loss->step_before_s, now = loss->step_s;
	rw_cleanup(str_done) struct str text = {0};
	if (!(lost > 0))
		return;
	str_addf(&text, "%.1f %% of wall time of %s since %s, measured at %s", 100 * lost,
		*loss->job ? loss->job : "all hosts", when_text(loss->since).s, loss->measured_at);
	if (!isnan(before) && !isnan(now))
		str_addf(&text, "; a step takes %.3g s, before %.3g s", now, before);
	if (!isnan(before) && !isnan(now) && !isnan(explained))
		str_addf(&text, "; accounts for %.3g of %.3g ms per step",
			1e3 * (now - before) * explained, 1e3 * (now - before));
	page_fact(page, "lost", text.s);
}

/* ---- lists --------------------------------------------------------------- */

static void page_commands(struct page *page, const struct incident_told *incident)
{
	for (size_t k = 0; k < incident->n_commands; k++) {
		const struct told_command *o = &incident->commands[k];
		rw_cleanup(str_done) struct str head = {0};
		str_addf(&head, "on %s", str_eq(o->where, "here") ? "this machine" : o->where);
		if (*o->effect)
			str_addf(&head, ", %s", o->effect);
		str_addf(&head, " (%s)", o->risk);
		page_fact(page, "do now", head.s);
		page_code(page, "", o->command);
	}
}

static void page_steps(struct page *page, const struct incident_told *incident)
{
	for (size_t k = 0; k < incident->n_next_steps; k++)
		page_factf(page, "next", "%s (risk: %s)", incident->next_steps[k].text,
			incident->next_steps[k].risk);
}

enum { ROLES_SHOWN = 16 };

static void page_roles(struct page *page, const struct incident_told *incident)
{
	static const struct {
		const char *role, *label;
	} kinds[] = {
		{"culprit", "culprit"},
		{"suspect", "suspect"},
		{"direct_victim", "victims"},
		{"indirect_victim", "indirect"},
	};
	for (size_t k = 0; k < rw_countof(kinds); k++) {
		rw_cleanup(str_done) struct str text = {0};
		size_t n = 0;
		str_add(&text, "");
		for (size_t i = 0; i < incident->n_roles; i++) {
			const struct told_role *role = &incident->roles[i];
			if (!str_eq(role->role, kinds[k].role))
				continue;
			if (n++ < ROLES_SHOWN)
				str_addf(&text, "%s%s", str_if(n > 1, ", "), role->entity);
		}
		if (n > ROLES_SHOWN)
			str_addf(&text, " and %zu more", n - ROLES_SHOWN);
		page_fact(page, kinds[k].label, text.s);
	}
}

/* ---- tables -------------------------------------------------------------- */

static char *page_place(const char *device, const char *port)
{
	struct str text = {0};
	str_addf(&text, "%s%s%s", device, str_if(*device && *port, ":"), port);
	return text.s;
}

static char *page_clock(const char *time)
{
	struct str text = {0};
	str_add_when(&text, time);
	return text.s;
}

/* The time of day; with its date where that is not the one of the first row. */
static char *evidence_clock(const char *time, const char *first)
{
	struct str text = {0};
	if (strlen(time) < 19 || strncmp(time, first, 10) != 0)
		return page_clock(time);
	str_addf(&text, "%.8sZ", time + 11);
	return text.s;
}

static char *evidence_value(const struct told_evidence *row)
{
	struct str text = {0};
	if (isnan(row->value))
		str_add(&text, "-");
	else
		str_add_quantity(&text, row->value, row->unit);
	return text.s;
}

static void page_evidence(struct page *page, const struct incident_told *incident)
{
	static const char *const headers[] = {"EVIDENCE", "WHERE", "VALUE", "QUALITY", "UNTIL"};
	const size_t n = incident->n_evidence;
	struct page_row *rows = rw_calloc(n + 1, sizeof(*rows));
	for (size_t k = 0; k < n; k++) {
		const struct told_evidence *o = &incident->evidence[k];
		rows[k].cell[0] = rw_strdup(quantity_name(o->metric));
		rows[k].cell[1] = page_place(o->device, o->port);
		rows[k].cell[2] = evidence_value(o);
		rows[k].cell[3] = rw_strdup(o->quality);
		rows[k].cell[4] = evidence_clock(o->to, incident->evidence[0].to);
	}
	page_grid(page, headers, rw_countof(headers), rows, n);
}

static void page_flows(struct page *page, const struct told_subject *subject)
{
	static const char *const headers[] = {"FLOW FROM", "TO", "UDP PORT", "QP", "PORT", "BYTES"};
	const size_t n = subject->n_flows;
	struct page_row *rows = rw_calloc(n + 1, sizeof(*rows));
	for (size_t k = 0; k < n; k++) {
		const struct told_flow *o = &subject->flows[k];
		struct str port = {0}, qp = {0}, bytes = {0};
		str_addf(&port, "%.0f", o->src_port);
		str_addf(&qp, "0x%06llx", (unsigned long long)o->dst_qp);
		str_add_quantity(&bytes, o->octets, "bytes");
		rows[k].cell[0] = rw_strdup(o->src);
		rows[k].cell[1] = rw_strdup(o->dst);
		rows[k].cell[2] = port.s;
		rows[k].cell[3] = qp.s;
		rows[k].cell[4] = page_place(o->device, o->port);
		rows[k].cell[5] = bytes.s;
	}
	page_grid(page, headers, rw_countof(headers), rows, n);
}

static void page_timeline(struct page *page, const struct incident_told *incident)
{
	static const char *const headers[] = {"TIME", "WHAT HAPPENED"};
	const size_t n = incident->n_timeline;
	struct page_row *rows = rw_calloc(n + 1, sizeof(*rows));
	for (size_t k = 0; k < n; k++) {
		rows[k].cell[0] = page_clock(incident->timeline[k].t);
		rows[k].cell[1] = rw_strdup(incident->timeline[k].text);
	}
	page_grid(page, headers, rw_countof(headers), rows, n);
}

/* ---- the page ------------------------------------------------------------ */

static void page_reasons(struct page *page, const struct incident_told *incident)
{
	const struct {
		const char *label, **texts;
		size_t n;
	} lists[] = {
		{"why", incident->reasons_for, incident->n_reasons_for},
		{"against", incident->reasons_against, incident->n_reasons_against},
		{"not proved", incident->not_proved, incident->n_not_proved},
		{"ruled out", incident->ruled_out, incident->n_ruled_out},
		{"changed", incident->changed_before, incident->n_changed_before},
		{"ranks", incident->ranks, incident->n_ranks},
	};
	for (size_t i = 0; i < rw_countof(lists); i++)
		for (size_t k = 0; k < lists[i].n; k++)
			page_fact(page, lists[i].label, lists[i].texts[k]);
	for (size_t k = 0; k < incident->n_also; k++)
		page_fact(page, "also",
			*incident->also[k].summary ? incident->also[k].summary
						   : incident->also[k].cause);
}

/* The card's line begins with its own label. */
static void page_spread(struct page *page, const struct incident_told *incident)
{
	static const char label[] = "Spread: ";
	rw_cleanup(str_done) struct str text = {0};
	str_add(&text, "");
	incident_add_spread(&text, incident);
	const bool labelled = strncmp(text.s, label, strlen(label)) == 0;
	page_fact(page, "spread", labelled ? text.s + strlen(label) : text.s);
}

/* "CRITICAL pfc_storm ..." with its first word as the state. */
static void page_head(struct page *page, const char *head)
{
	const size_t n = strcspn(head, " ");
	rw_cleanup(freep) char *state = strndup(head, n);
	page_verdict(page, state, head + n + strspn(head + n, " "));
}

static struct page *page_of(const struct incident_told *incident)
{
	struct page *page = page_new(incident->headline);
	rw_cleanup(str_done) struct str head = {0};
	incident_add_head(&head, incident);
	page_title(page, incident->headline, NULL);
	page_head(page, head.s);
	page_fact(page, "what", incident->summary);
	page_spread(page, incident);
	page_words(page, "where", add_subject, incident);
	page_words(page, "when", add_when, incident);
	page_words(page, "cost", add_cost, incident);
	for (size_t k = 0; k < incident->n_loss; k++)
		page_loss(page, &incident->loss[k], incident->explained_ratio);
	page_words(page, "owner", incident_add_owner, incident);
	page_fact(page, "part of", incident->parent);
	page_commands(page, incident);
	page_steps(page, incident);
	page_link(page, "runbook", incident->runbook);
	page_words(page, "confidence", add_confidence, incident);
	page_reasons(page, incident);
	page_roles(page, incident);
	page_evidence(page, incident);
	page_flows(page, &incident->subject);
	page_timeline(page, incident);
	return page;
}

/* ---- views --------------------------------------------------------------- */

const struct column incident_list_columns[INCIDENT_LIST_COLUMNS] = {
	{"id", "ID", COL_TEXT, false},
	{"severity", "SEVERITY", COL_TEXT, false},
	{"state", "STATE", COL_TEXT, false},
	{"opened", "OPENED", COL_TIME, false},
	{"cause", "CAUSE", COL_TEXT, false},
	{"where", "WHERE", COL_TEXT, false},
	{"confidence_ratio", "CONF", COL_RATIO_PCT, true},
	{"usd_per_hour", "COST/H", COL_USD, true},
	{"acked_by", "ACKED", COL_TEXT, false},
	{"summary", "SUMMARY", COL_TEXT, false},
};

static size_t incident_view_width(FILE *out)
{
	return paper_width(out, 80, 160);
}

/* "$960", "$12.4k"; "-" when it is not known. */
static void list_money(char *text, size_t size, double usd)
{
	if (isnan(usd))
		snprintf(text, size, "-");
	else if (usd < 10)
		snprintf(text, size, "$%.2f", usd);
	else if (usd < 9999.5)
		snprintf(text, size, "$%.0f", usd);
	else if (usd < 99950)
		snprintf(text, size, "$%.1fk", usd / 1e3);
	else
		snprintf(text, size, "$%.0fk", usd / 1e3);
}

static const char *list_state(const struct incident_told *incident)
{
	const char *state = incident->state;
	if (str_eq(state, "closed"))
		return "closed";
	if (str_eq(state, "clearing"))
		return "clears";
	if (*incident->acked_by)
		return "ack";
	if (*incident->silenced)
		return "silent";
	return "new";
}

static const char *list_severity(const struct incident_told *incident)
{
	static const char *const words[][2] = {
		{"critical", "CRIT"}, {"warning", "warn"}, {"info", "info"}};
	for (size_t k = 0; k < rw_countof(words); k++)
		if (str_eq(words[k][0], incident->severity))
			return words[k][1];
	return "-";
}

/* ---- families ------------------------------------------------------------ */

#define FAMILY_DEEPEST 8

/* The row that @at is part of in the end; itself when it is part of none there. */
static size_t family_root(const struct incident_told *rows, size_t n, size_t at)
{
	for (int depth = 0; depth < FAMILY_DEEPEST && *rows[at].parent; depth++) {
		size_t k = 0;
		while (k < n && !str_eq(rows[k].id, rows[at].parent))
			k++;
		if (k == n || k == at)
			return at;
		at = k;
	}
	return at;
}

size_t incident_families(struct incident_told *incidents, size_t n)
{
	rw_cleanup(freep) size_t *roots = rw_calloc(n + 1, sizeof(*roots));
	size_t kept = 0;
	for (size_t k = 0; k < n; k++) {
		roots[k] = family_root(incidents, n, k);
		if (roots[k] != k)
			incidents[roots[k]].parts++;
	}
	for (size_t k = 0; k < n; k++)
		if (roots[k] == k)
			incidents[kept++] = incidents[k];
	return kept;
}

const char *incident_parts_text(const struct incident_told *incident, char out[INCIDENT_PARTS_MAX])
{
	out[0] = '\0';
	if (incident->parts > 0)
		snprintf(out, INCIDENT_PARTS_MAX, " (+%llu part%s)",
			(unsigned long long)incident->parts, str_if(incident->parts != 1, "s"));
	return out;
}

/* ---- the list ------------------------------------------------------------- */

/* Columns in front of the headline, and behind it. */
enum { LIST_BEFORE = 27, LIST_BEHIND = 7 };

static void list_line(FILE *out, const struct incident_told *incident, bool color)
{
	char age[16], money[16], parts[INCIDENT_PARTS_MAX];
	const char *severity = list_severity(incident);
	incident_parts_text(incident, parts);
	const bool loud = color && str_eq(severity, "CRIT");
	incident_age_text(age, sizeof(age), incident->age_s);
	list_money(money, sizeof(money), incident->usd_per_hour);
	fprintf(out, "%-8.8s %s%-4s%s %4s %6s  ", incident->id, str_if(loud, "\033[1;31m"),
		severity, str_if(loud, "\033[0m"), age, money);
	text_put_cut(out, incident->headline,
		incident_view_width(out) - LIST_BEFORE - LIST_BEHIND - strlen(parts));
	fprintf(out, "%s %s\n", parts, list_state(incident));
}

/* The document of a list. */
struct list_told {
	struct incident_told *incidents;
	size_t n_incidents;
	uint64_t closed;
	bool filtered, judged_elsewhere;
};
#define SHAPE struct list_told
static const struct field list_told_fields[] = {
	ROWS(incidents, incident_told, ""),
	COUNT(closed, ""),
	FLAG(filtered, ""),
	FLAG(judged_elsewhere, ""),
};
static SHAPE_OF(list_told, "list", "");
#undef SHAPE

static void list_text(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct list_told list = {0};
	size_t n = 0;
	shape_read(&list_told_shape, doc, a, &list);
	for (size_t k = 0; k < list.n_incidents; k++)
		if (list.filtered || incident_is_open(&list.incidents[k]))
			list.incidents[n++] = list.incidents[k];
	n = incident_families(list.incidents, n);
	if (n > 0 && header)
		fprintf(out, "%-8s %-4s %4s %6s  %-*s %s\n", "ID", "SEV", "AGE", "COST/H",
			(int)(incident_view_width(out) - LIST_BEFORE - LIST_BEHIND), "WHAT",
			"STATE");
	for (size_t k = 0; k < n; k++)
		list_line(out, &list.incidents[k], color);
	const char *none = "no open incidents";
	if (list.filtered)
		none = "no incidents";
	if (list.judged_elsewhere)
		none = "no incidents here: a judge judges what this agent collects, and its "
		       "database holds them";
	if (n == 0)
		fprintf(out, "%s\n", none);
	if (!list.filtered && list.closed)
		fprintf(out, "%llu closed: rocewatch incident list --all\n",
			(unsigned long long)list.closed);
}

const struct view incident_list_view = {
	.title = "Incidents",
	.rows = "incidents",
	.columns = incident_list_columns,
	.n_columns = INCIDENT_LIST_COLUMNS,
	.text = list_text,
	.empty = "no incidents",
};

/* Takes @page. */
static void incident_view_print(FILE *out, struct page *page, bool color)
{
	const struct page_style style = {
		.width = incident_view_width(out), .color = color, .ascii = !paper_is_utf8()};
	page_print(out, page, &style);
	page_free(page);
}

static const struct column timeline_columns[] = {
	{"t", "TIME", COL_TIME, false},
	{"text", "EVENT", COL_TEXT, false},
};
static void timeline_text(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const struct incident_told *incident = incident_told(doc, a);
	struct page *page = page_new("Timeline");
	if (header)
		fprintf(out, "%s %s  %s\n\n", incident->id, incident->cause, incident->headline);
	page_timeline(page, incident);
	incident_view_print(out, page, color);
}

const struct view incident_timeline_view = {
	.title = "Timeline",
	.rows = "timeline",
	.columns = timeline_columns,
	.n_columns = rw_countof(timeline_columns),
	.text = timeline_text,
	.empty = "nothing recorded",
};

void incident_card_print(FILE *out, const struct incident_told *incident, bool color)
{
	size_t height = paper_height(out);
	if (height > 0)
		height--; /* the line in which the next command is typed */
	card_print(out, incident, incident_view_width(out), height, color);
}

void incident_card_text(FILE *out, const json_t *incident, size_t width, size_t height, bool color)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	card_print(out, incident_told(incident, a), width, height, color);
}

struct page *incident_page(const json_t *incident)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	return page_of(incident_told(incident, a));
}

static void card_text(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	incident_card_print(out, incident_told(doc, a), color);
}

static void full_text(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	incident_view_print(out, incident_page(doc), color);
}

const struct view incident_card_view = {
	.title = "Incident",
	.rows = NULL,
	.columns = incident_list_columns,
	.n_columns = INCIDENT_LIST_COLUMNS,
	.text = card_text,
	.page = incident_page,
};
const struct view incident_full_view = {
	.title = "Incident",
	.rows = NULL,
	.columns = incident_list_columns,
	.n_columns = INCIDENT_LIST_COLUMNS,
	.text = full_text,
	.page = incident_page,
};

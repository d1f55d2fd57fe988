/*
 * manual_page - the text of a manual page in man(7), escaped. Every function adds to @out. What is
 * not ASCII becomes a named character, so that a page reads the same in every locale.
 *
 * manual_page - macros of man(7), and what must be escaped in them.
 */

#include "agent/command/cli_help.h"
#include "agent/manual/manual.h"
#include "agent/modules.h"
#include "config/config.h"
#include "db/model/cause.h"
#include "db/model/metric.h"

/* A file below the directory that the pages go to. */
struct manual_file {
	char path[96]; /* "man/man1/rocewatch.1" */
	struct str text;
};

/* The date of the version: SOURCE_DATE_EPOCH is for files, not for what a page says. */
#define PAGE_DATE RW_DATE

/* The code point that begins at @p, and its length; a stray byte is one of its own. */
static unsigned roff_code(const unsigned char *p, size_t *ret_n)
{
	static const unsigned char first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	size_t n = 1;
	if (*p >= 0xf0)
		n = 4;
	else if (*p >= 0xe0)
		n = 3;
	else if (*p >= 0xc0)
		n = 2;
	unsigned code = *p & first[n];
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80) {
			*ret_n = 1;
			return *p;
		}
		code = code << 6 | (p[i] & 0x3fu);
	}
	*ret_n = n;
	return code;
}

static void roff_escape_n(struct str *out, const char *text, size_t length)
{
	for (size_t i = 0; i < length;) {
		const unsigned char *p = (const unsigned char *)text + i;
		size_t n = 1;
		if (*p >= 0x80) {
			str_addf(out, "\\[u%04X]", roff_code(p, &n));
			i += n;
			continue;
		}
		switch (*p) {
		case '\\': str_add(out, "\\e"); break;
		case '-': str_add(out, "\\-"); break;
		case '\'': str_add(out, "\\(aq"); break;
		case '`': str_add(out, "\\(ga"); break;
		case '^': str_add(out, "\\(ha"); break;
		case '~': str_add(out, "\\(ti"); break;
		case '"': str_add(out, "\\(dq"); break;
		default: str_addn(out, (const char *)p, 1);
		}
		i++;
	}
}

/* roff_escape - @text on a line of its own begun by the caller: no line break of its own. */
static void roff_escape(struct str *out, const char *text)
{
	roff_escape_n(out, text, strlen(text));
}

/* roff_begin - the title line and NAME. @date "2026-11-23". */
static void roff_begin(struct str *out, const char *name, int section, const char *summary)
{
	rw_cleanup(str_done) struct str title = {0};
	for (const char *p = name; *p; p++)
		str_addf(&title, "%c", toupper((unsigned char)*p));
	str_addf(out, ".\\\" Made from the tables of the program when it is built.\n.TH \"");
	roff_escape(out, title.s);
	str_addf(out, "\" \"%d\" \"%s\" \"rocewatch %s\" \"rocewatch\"\n", section, PAGE_DATE,
		RW_VERSION);
	str_add(out, ".SH NAME\n");
	roff_escape(out, name);
	str_add(out, " \\- ");
	roff_escape(out, summary);
	str_add(out, "\n");
}

static void roff_heading(struct str *out, const char *title)
{
	str_add(out, ".SH \"");
	roff_escape(out, title);
	str_add(out, "\"\n");
}

static void roff_subheading(struct str *out, const char *title)
{
	str_add(out, ".SS \"");
	roff_escape(out, title);
	str_add(out, "\"\n");
}

/* One source line: a leading dot or quote would be a request. */
static void roff_line(struct str *out, const char *text, size_t n)
{
	while (n > 0 && *text == ' ') {
		text++;
		n--;
	}
	if (n == 0)
		return;
	if (*text == '.')
		str_add(out, "\\&");
	roff_escape_n(out, text, n);
	str_add(out, "\n");
}

/* roff_text - paragraphs as help has them: a newline counts behind '.' and ':' and in "\n\n". */
static void roff_text(struct str *out, const char *text)
{
	rw_cleanup(str_done) struct str line = {0};
	for (const char *p = text; *p; p++) {
		if (*p != '\n') {
			str_addn(&line, p, 1);
			continue;
		}
		const bool ends = p == text || strchr(".:\n", p[-1]) || p[1] == '\n' || !p[1];
		if (!ends) {
			str_add(&line, " ");
			continue;
		}
		roff_line(out, str_or(line.s, ""), line.n);
		if (line.n > 0 && p[1] == '\n')
			str_add(out, ".PP\n");
		else if (line.n > 0 && p[1])
			str_add(out, ".br\n");
		str_done(&line);
		line = (struct str){0};
	}
	roff_line(out, str_or(line.s, ""), line.n);
}

/* roff_item - a term and what it means. */
static void roff_item(struct str *out, const char *term, const char *text)
{
	str_add(out, ".TP\n.B ");
	roff_line(out, term, strlen(term));
	roff_line(out, text, strlen(text));
}

/* roff_literal - lines as they are. */
static void roff_literal(struct str *out, const char *text)
{
	str_add(out, ".PP\n.nf\n");
	while (*text) {
		const size_t n = strcspn(text, "\n");
		if (n == 0)
			str_add(out, ".sp\n");
		if (n > 0 && *text == '.')
			str_add(out, "\\&");
		roff_escape_n(out, text, n);
		if (n > 0)
			str_add(out, "\n");
		text += n + (text[n] == '\n');
	}
	str_add(out, ".fi\n");
}

/* roff_see - SEE ALSO: "rocewatch(1)", ended by NULL. */
static void roff_see(struct str *out, const char *const *pages)
{
	roff_heading(out, "SEE ALSO");
	for (size_t i = 0; pages[i]; i++) {
		const char *open = strchr(pages[i], '(');
		str_add(out, ".BR ");
		roff_escape_n(out, pages[i], (size_t)(open - pages[i]));
		str_addf(out, " %s%s\n", open, str_if(pages[i + 1], ","));
	}
}

/* manual_cause - rocewatch-causes(7) and rocewatch-metrics(7), by their tables. */

static void cause_item(struct str *out, const struct cause_info *info)
{
	rw_cleanup(str_done) struct str text = {0};
	str_addf(&text, "%s. Needs: %s. Not proved by it: %s.", info->means, info->needs,
		info->not_proved);
	roff_item(out, info->name, text.s);
	for (size_t i = 0; i < CAUSE_STEPS_MAX && info->steps[i].text; i++) {
		rw_cleanup(str_done) struct str step = {0};
		str_addf(&step, "%zu. %s (risk: %s)\n", i + 1, info->steps[i].text,
			info->steps[i].risk);
		str_add(out, ".br\n");
		roff_text(out, step.s);
	}
}

void manual_causes(struct str *out)
{
	static const char *const see[] = {
		"rocewatch-incident(1)", "rocewatch-metrics(7)", "rocewatch.yaml(5)", NULL};
	roff_begin(out, "rocewatch-causes", 7, "causes that rocewatch names, and the next steps");
	roff_heading(out, "DESCRIPTION");
	roff_text(out,
		"An incident names one of these causes. Needs says which data it takes to see it: "
		"'rocewatch doctor' says for which causes a device cannot be judged.");
	roff_heading(out, "CAUSES");
	for (int cause = CAUSE_NONE + 1; cause < CAUSE_COUNT; cause++) {
		const struct cause_info *info = cause_info((enum cause)cause);
		if (!(info->flags & CAUSE_IS_PLANNED))
			cause_item(out, info);
	}
	roff_see(out, see);
}

void manual_metrics(struct str *out)
{
	static const char *const see[] = {"rocewatch-query(1)", "rocewatch-db(5)", NULL};
	roff_begin(out, "rocewatch-metrics", 7, "metrics that rocewatch stores");
	roff_heading(out, "DESCRIPTION");
	roff_text(out,
		"Counters are stored as the switch counts them; 'rocewatch query METRIC --rate' "
		"shows their change per second. What a switch does not answer is absent, never 0.");
	roff_heading(out, "METRICS");
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		const struct metric_info *info = metric_info(m);
		rw_cleanup(str_done) struct str text = {0};
		str_addf(&text, "%s of a %s, unit %s. %s", metric_kind_name(info->kind),
			metric_scope_name(info->scope), info->unit, info->help);
		roff_item(out, info->name, text.s);
	}
	roff_see(out, see);
}

/* manual_program - rocewatch(1), and what the agent's page has beside its options. */

static void program_options(struct str *out)
{
	roff_heading(out, "GLOBAL OPTIONS");
	roff_text(out,
		"They may stand before or after the command. One that means nothing to a command "
		"is refused.");
	for (size_t i = 0; i < n_global_options; i++) {
		const struct command_option *o = &global_options[i].o;
		rw_cleanup(str_done) struct str term = {0};
		if (o->letter)
			str_addf(&term, "-%c, ", o->letter);
		str_addf(&term, "--%s%s%s", o->name, str_if(o->arg, " "), str_or(o->arg, ""));
		roff_item(out, term.s, o->doc);
	}
}

void manual_program(struct str *out)
{
	static const char *const see[] = {"rocewatch-agent(8)", "rocewatch.yaml(5)",
		"rocewatch-db(5)", "rocewatch-causes(7)", "rocewatch-metrics(7)", NULL};
	roff_begin(out, "rocewatch", 1,
		"watches RoCEv2 fabrics: names the link, host and flows that make training wait");
	roff_heading(out, "SYNOPSIS");
	str_add(out, ".B rocewatch\n[options]\n.I command\n[arguments]\n");
	roff_heading(out, "DESCRIPTION");
	roff_text(out,
		"rocewatch reads counters of switches (SNMP, gNMI, pushed telemetry), packets and "
		"sFlow, finds what makes RoCEv2 traffic wait or get lost, and says which link, "
		"host and flows it is, what it costs and what to do. It changes nothing on a "
		"switch.\n\nThe agent collects and judges; every other command reads its database. "
		"'rocewatch lab' simulates a fabric to try everything without switches.");
	roff_heading(out, "COMMANDS");
	for (size_t i = 0; commands[i]; i++) {
		rw_cleanup(str_done) struct str term = {0};
		if (commands[i]->hidden)
			continue;
		str_addf(&term, "rocewatch-%s(%d)", commands[i]->name, manual_section(commands[i]));
		roff_item(out, term.s, commands[i]->summary);
	}
	program_options(out);
	for (const struct help_topic *t = help_topics; t->name; t++) {
		rw_cleanup(str_done) struct str title = {0};
		for (const char *p = t->name; *p; p++)
			str_addf(&title, "%c", *p == '-' ? ' ' : *p & ~0x20);
		roff_heading(out, title.s);
		roff_literal(out, t->text);
	}
	roff_see(out, see);
}

static void manual_agent_sections(struct str *out)
{
	static const struct {
		const char *term, *text;
	} signals[] = {{"SIGHUP",
			       "Read the configuration again. A file with mistakes is refused as a "
			       "whole and the configuration in force stays; the log, an event and "
			       "'rocewatch status' say so."},
		{"SIGTERM, SIGINT",
			"Stop in order: sources, windows that have ended, the database, the "
			"socket."}};
	static const struct {
		const char *term, *text;
	} files[] = {{"/etc/rocewatch/rocewatch.yaml", "The configuration; rocewatch.yaml(5)."},
		{"/var/lib/rocewatch/rocewatch.db",
			"The database (store.path), with FILE-wal, FILE-shm, FILE.lock and "
			"FILE.state beside it; rocewatch-db(5)."},
		{"/lib/systemd/system/rocewatch.service",
			"The service: Type=notify with a watchdog; reload sends SIGHUP."},
		{"/usr/share/rocewatch/system",
			"Drop-ins for what a site may need more: capture.conf, netns.conf, "
			"addresses.conf, secrets.conf. Each says at its top where it goes."}};
	roff_heading(out, "SIGNALS");
	for (size_t i = 0; i < rw_countof(signals); i++)
		roff_item(out, signals[i].term, signals[i].text);
	roff_heading(out, "FILES");
	for (size_t i = 0; i < rw_countof(files); i++)
		roff_item(out, files[i].term, files[i].text);
	roff_heading(out, "SERVICE");
	roff_text(out,
		"The Debian package makes the user rocewatch and its directories. Write the "
		"configuration, then:");
	roff_literal(out,
		"rocewatch config check\n"
		"systemctl enable --now rocewatch\n"
		"rocewatch doctor\n");
	roff_text(out,
		"Exit 2 (wrong configuration) is not restarted; other failures are, after 2 s.");
}

/* manual_command - the page of one command with all its subcommands. */

int manual_section(const struct command *command)
{
	if (str_eq(command->name, "agent"))
		return 8;
	return 1;
}

static void synopsis_row(
	struct str *out, const struct command *command, const struct subcommand *sub)
{
	str_add(out, ".B rocewatch ");
	roff_escape(out, command->name);
	if (sub->name) {
		str_add(out, " ");
		roff_escape(out, sub->name);
	}
	str_add(out, "\n");
	if (sub->args) {
		str_add(out, ".I ");
		roff_escape(out, sub->args);
		str_add(out, "\n");
	}
	str_add(out, "[options]\n");
}

static void synopsis(struct str *out, const struct command *command)
{
	struct subcommand sub;
	roff_heading(out, "SYNOPSIS");
	command_self(command, &sub);
	if (command->run)
		synopsis_row(out, command, &sub);
	for (size_t i = 0; command_sub(command, i, &sub); i++) {
		if (i > 0 || command->run)
			str_add(out, ".br\n");
		synopsis_row(out, command, &sub);
	}
}

/* "-i, --interface IFACE" */
static void option_item(struct str *out, const struct command_option *option)
{
	rw_cleanup(str_done) struct str term = {0};
	if (option->letter)
		str_addf(&term, "-%c, ", option->letter);
	str_addf(
		&term, "--%s%s%s", option->name, str_if(option->arg, " "), str_or(option->arg, ""));
	roff_item(out, term.s, option->doc);
}

static void options_of(struct str *out, const struct command *command, const struct subcommand *sub)
{
	rw_cleanup(str_done) struct str globals = {0};
	char buf[64];
	for (const struct command_option *o = command->options; o && o->name; o++)
		if (command_shows_option(command, sub, o))
			option_item(out, o);
	for (size_t i = 0; i < n_global_options; i++) {
		const struct global_option *option = &global_options[i];
		if (!option->needs || !global_is_for(option, command, sub))
			continue;
		const char *value = global_placeholder(option, sub, buf, sizeof(buf));
		str_addf(&globals, "%s--%s%s%s", str_if(globals.n, ", "), option->o.name,
			str_if(value, " "), str_or(value, ""));
	}
	if (globals.n == 0)
		return;
	str_add(&globals, ". See rocewatch(1).");
	roff_item(out, "Global options", globals.s);
}

static void examples_of(struct str *out, const struct example *examples)
{
	for (size_t i = 0; i < 2 && examples[i].line; i++) {
		rw_cleanup(str_done) struct str line = {0};
		str_addf(&line, "rocewatch %s", examples[i].line);
		roff_item(out, line.s, examples[i].does);
	}
}

static void row_section(
	struct str *out, const struct command *command, const struct subcommand *sub)
{
	rw_cleanup(str_done) struct str title = {0};
	str_addf(&title, "%s%s%s", sub->name, str_if(sub->args, " "), str_or(sub->args, ""));
	roff_subheading(out, title.s);
	rw_cleanup(str_done) struct str summary = {0};
	str_addf(&summary, "%s.", sub->summary);
	roff_text(out, summary.s);
	if (sub->help) {
		str_add(out, ".PP\n");
		roff_text(out, sub->help);
	}
	options_of(out, command, sub);
	str_add(out, ".PP\nExamples:\n");
	examples_of(out, sub->examples);
}

static void description(struct str *out, const struct command *command)
{
	rw_cleanup(str_done) struct str topics = {0};
	roff_heading(out, "DESCRIPTION");
	roff_text(out, str_or(command->help, command->summary));
	if (command->topics) {
		command->topics(&topics);
		str_add(out, ".PP\n");
		roff_text(out, topics.s);
	}
	if (command->otherwise)
		str_addf(out, ".PP\n.B rocewatch %s\nalone is\n.BR \"rocewatch %s %s\" .\n",
			command->name, command->name, command->otherwise);
}

static void exit_status(struct str *out, const struct command *command)
{
	roff_heading(out, "EXIT STATUS");
	if (command->usage_exit == USAGE_EXIT_CHECK) {
		roff_text(
			out, "0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN. A wrong option is UNKNOWN.");
		return;
	}
	roff_text(out, "0 done, 1 failed at run time, 2 wrong usage or configuration.");
	for (const struct command_option *o = command->options; o && o->name; o++)
		if (str_eq(o->name, "check"))
			roff_text(out, "With --check: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.");
}

void manual_command(struct str *out, const struct command *command)
{
	static const char *const see[] = {"rocewatch(1)", "rocewatch-agent(8)", "rocewatch.yaml(5)",
		"rocewatch-causes(7)", NULL};
	rw_cleanup(str_done) struct str name = {0};
	struct subcommand sub;
	str_addf(&name, "rocewatch-%s", command->name);
	roff_begin(out, name.s, manual_section(command), command->summary);
	synopsis(out, command);
	description(out, command);
	command_self(command, &sub);
	if (command->run) {
		roff_heading(out, "OPTIONS");
		options_of(out, command, &sub);
		str_add(out,
			".PP\n.BR rocewatch (1)\nlists the options that every command takes.\n");
	}
	if (command_has_subs(command))
		roff_heading(out, "SUBCOMMANDS");
	for (size_t i = 0; command_sub(command, i, &sub); i++)
		row_section(out, command, &sub);
	if (command->examples[0].line) {
		roff_heading(out, "EXAMPLES");
		examples_of(out, command->examples);
	}
	if (manual_section(command) == 8)
		manual_agent_sections(out);
	exit_status(out, command);
	roff_see(out, see);
}

/* manual_config - rocewatch.yaml(5) by the rows of the schema, and rocewatch-db(5). */

static void config_item(const struct config_key *key, void *arg)
{
	struct str *out = arg;
	rw_cleanup(str_done) struct str about = {0};
	if (key->section && !strchr(key->path, '.')) {
		roff_subheading(out, key->path);
		roff_text(out, key->doc);
		return;
	}
	if (!key->section) {
		config_key_about(key, &about);
		str_add(&about, ". ");
	}
	str_add(&about, key->doc);
	roff_item(out, key->path, about.s);
}

void manual_configuration(struct str *out)
{
	static const char *const see[] = {
		"rocewatch-config(1)", "rocewatch-agent(8)", "rocewatch-causes(7)", NULL};
	size_t n_tables;
	const struct option_table *const *tables = module_tables(&n_tables);
	roff_begin(out, "rocewatch.yaml", 5, "configuration of rocewatch");
	roff_heading(out, "SYNOPSIS");
	str_add(out, ".I /etc/rocewatch/rocewatch.yaml\n");
	roff_heading(out, "DESCRIPTION");
	roff_text(out,
		"A YAML file. Numbers with a dimension carry their unit: 10s, 400G, 88064B, 20%. "
		"Secrets are only named: a file (mode 0600), an environment variable, or a "
		"systemd credential.\n\n'rocewatch config check' answers every mistake with "
		"file:line:column and what was expected; 'rocewatch config explain KEY' prints "
		"what stands here. In the keys below, [] is an entry of a list and <name> a name "
		"that you choose.");
	roff_heading(out, "EXAMPLE");
	roff_literal(out,
		"fabric: pod-a\n"
		"store: { path: /var/lib/rocewatch/rocewatch.db }\n"
		"credentials:\n"
		"  ro: { snmp: { version: 2c, community_file: /etc/rocewatch/community } }\n"
		"devices:\n"
		"  - { name: leaf1, role: leaf, snmp: { address: 192.0.2.11, credentials: ro } }\n"
		"  - { name: spine1, role: spine, snmp: { address: 192.0.2.21, credentials: ro } "
		"}\n"
		"links: discover\n");
	roff_heading(out, "KEYS");
	config_keys(tables, n_tables, config_item, out);
	roff_see(out, see);
}

/* ---- the database -------------------------------------------------------- */

/* The text between the @n-th '|' of a table's row and the next one, without marks of code. */
static void database_cell(const char *row, size_t n, struct str *ret)
{
	const char *at = row;
	for (size_t i = 0; i < n && at; i++) {
		at = strchr(at, '|');
		if (at)
			at++;
	}
	if (!at)
		return;
	for (const char *p = at + strspn(at, " "); *p && *p != '|' && *p != '\n'; p++)
		if (*p != '`')
			str_addn(ret, p, 1);
	while (ret->n > 0 && ret->s[ret->n - 1] == ' ')
		ret->s[--ret->n] = '\0';
}

static void database_view(struct str *out, const char *row)
{
	rw_cleanup(str_done) struct str name = {0};
	rw_cleanup(str_done) struct str what = {0};
	rw_cleanup(str_done) struct str columns = {0};
	rw_cleanup(str_done) struct str text = {0};
	database_cell(row, 1, &name);
	database_cell(row, 2, &what);
	database_cell(row, 3, &columns);
	str_addf(&text, "One row is %s. Columns: %s.", str_or(what.s, ""), str_or(columns.s, ""));
	roff_item(out, name.s, text.s);
}

void manual_database(struct str *out, const char *database)
{
	static const char *const see[] = {"rocewatch-query(1)", "rocewatch-db(1)",
		"rocewatch-metrics(7)", "sqlite3(1)", NULL};
	roff_begin(out, "rocewatch-db", 5, "database of rocewatch and its views");
	roff_heading(out, "SYNOPSIS");
	str_add(out, ".I /var/lib/rocewatch/rocewatch.db\n");
	roff_heading(out, "DESCRIPTION");
	roff_text(out,
		"A SQLite database in WAL mode, written by one agent and read by any number of "
		"programs. The views are the interface: their columns are only ever added to. "
		"'rocewatch query sql' reads them; a plain sqlite3 needs the extension "
		"rocewatch_sqlite for samples and rates.");
	roff_heading(out, "EXAMPLE");
	roff_literal(out, "rocewatch query sql \"SELECT id, cause, summary FROM incidents\"\n");
	roff_heading(out, "VIEWS");
	for (const char *line = strstr(database, "\n| `"); line; line = strstr(line + 1, "\n| `"))
		database_view(out, line + 1);
	roff_see(out, see);
}

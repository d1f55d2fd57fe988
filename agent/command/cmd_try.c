/*
 * cmd_try - "rocewatch try": what is wrong in this fabric, within a minute, with no configuration.
 *
 *      survey: who are they, how are they linked -> a configuration in a directory of our own ->
 *      an agent on it for some polls -> what its database answers -> the directory goes
 *
 * Folders in place of addresses are the unpacked support archives of switches, and nobody is asked:
 *
 *      a recorded case of their readings -> a replay -> what its database answers
 *
 * The agent is the same program with the same detectors, so its verdict is that of a real one that
 * has just been started.
 */
#include "agent/command/command.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/answers/common/text.h"
#include "agent/answers/doctor/doctor.h"
#include "agent/answers/incident/incident_view.h"
#include "agent/answers/status/status.h"
#include "agent/answers/doctor/doctor_coverage.h"
#include "agent/command/survey.h"
#include "agent/command/try_archive.h"
#include "agent/document/paper.h"
#include "base/log.h"
#include "base/process.h"
#include "config/config.h"

#define SURVEY_NS (15 * NS_PER_S) /* for who they are; a silent one is named */
#define WATCH_NS (40 * NS_PER_S) /* with the survey, less than a minute */
#define LOOK_NS (200 * 1000000LL)
#define ARCHIVE_APART_NS (30 * NS_PER_S) /* more is said */

static const struct command_option options[] = {
	SURVEY_OPTIONS,
	{"for", 0, "DURATION", "watch this long (default: 40s)"},
	{"keep", 0, "DIR", "of folders: keep the case that is judged in this new folder"},
	{0},
};

extern const struct command command_try;

/* SIGINT and SIGTERM end the watch early: what is known by then is told, and nothing stays. */
static volatile sig_atomic_t try_stopped;

static void try_on_signal(int number)
{
	try_stopped = number;
}

struct trial {
	char dir[PATH_MAX];
	char config[PATH_MAX + 32], log[PATH_MAX + 32], db[PATH_MAX + 32];
	struct survey survey;
	const char *keep; /* of folders; NULL: in .dir */
	struct try_archive archive;
	const struct survey_hosts *hosts;
	int64_t watch_ns;
	pid_t agent; /* 0: none runs */
};

/* ---- the directory --------------------------------------------------------- */

/* In memory where there is such a place. */
static int try_make_dir(struct trial *trial, struct err *e)
{
	static const char *const places[] = {"/dev/shm", "/tmp"};
	for (size_t i = 0; i < rw_countof(places); i++) {
		snprintf(trial->dir, sizeof(trial->dir), "%s/rocewatch-try-XXXXXX", places[i]);
		if (mkdtemp(trial->dir)) {
			snprintf(trial->config, sizeof(trial->config), "%s/rocewatch.yaml",
				trial->dir);
			snprintf(trial->log, sizeof(trial->log), "%s/agent.log", trial->dir);
			snprintf(trial->db, sizeof(trial->db), "%s/rocewatch.db", trial->dir);
			return 0;
		}
	}
	const int rc = -errno;
	trial->dir[0] = '\0';
	return err_set(e, rc, "no directory for the trial in /dev/shm or /tmp: %s", strerror(-rc));
}

static void try_remove_dir(const struct trial *trial)
{
	if (!*trial->dir)
		return;
	DIR *dir = opendir(trial->dir);
	const struct dirent *entry;
	while (dir && (entry = readdir(dir)) != NULL)
		if (!str_eq(entry->d_name, ".") && !str_eq(entry->d_name, ".."))
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	if (rmdir(trial->dir) < 0)
		fprintf(stderr, "rocewatch: %s stays: %s\n", trial->dir, strerror(errno));
}

static int try_write_config(FILE *out, void *arg)
{
	const struct trial *trial = arg;
	rw_cleanup(str_done) struct str extra = {0};
	str_addf(&extra,
		"store: { path: \"%s\" }\n"
		"defaults: { interval: 2s, slow_interval: 10s }\n",
		trial->db);
	survey_add_job(&extra, &trial->survey);
	survey_print(out, &trial->survey, trial->hosts, extra.s, true);
	if (fflush(out) != 0 || ferror(out))
		return -EIO;
	return 0;
}

/* ---- the agent ------------------------------------------------------------- */

/* This program, with its words in the log; @argv ends with NULL. */
static int try_spawn(struct trial *trial, char *const *argv, struct err *e)
{
	char program[] = "/proc/self/exe";
	struct spawn spawn;
	spawn_begin(&spawn);
	posix_spawn_file_actions_addopen(
		&spawn.files, STDOUT_FILENO, trial->log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	posix_spawn_file_actions_adddup2(&spawn.files, STDOUT_FILENO, STDERR_FILENO);
	posix_spawn_file_actions_addopen(&spawn.files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	const int rc = spawn_run(&spawn, &trial->agent, program, argv, environ);
	if (rc == 0)
		return 0;
	trial->agent = 0;
	return err_set(e, rc, "the agent cannot be started: %s", strerror(-rc));
}

static int try_start(struct trial *trial, struct err *e)
{
	char name[] = "rocewatch", option[] = "-c", command[] = "agent";
	char *const argv[] = {name, option, trial->config, command, NULL};
	return try_spawn(trial, argv, e);
}

/* The last line of the log, as the reason why what ran has ended. */
static int try_ended(struct trial *trial, const char *what, struct err *e)
{
	char line[512] = "";
	FILE *log = fopen(trial->log, "re");
	while (log && fgets(line, sizeof(line), log))
		;
	if (log)
		fclose(log);
	line[strcspn(line, "\n")] = '\0';
	trial->agent = 0;
	return err_set(e, -EIO, "the %s ended: %s", what, line);
}

/* The case in @from, through the detectors, into the database of the trial. */
static int try_replay(struct trial *trial, const char *from, struct err *e)
{
	char name[] = "rocewatch", quiet[] = "--quiet", command[] = "replay",
	     from_option[] = "--from", db_option[] = "--db";
	rw_cleanup(freep) char *source = rw_strdup(from);
	char *const argv[] = {
		name, quiet, command, from_option, source, db_option, trial->db, NULL};
	int status = 0;
	const int rc = try_spawn(trial, argv, e);
	if (rc < 0)
		return rc;
	while (waitpid(trial->agent, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) > EXIT_FAILED)
		return try_ended(trial, "replay", e);
	trial->agent = 0;
	return 0;
}

/* Until the time is over, or somebody stops us. -EIO when the agent has ended by itself. */
static int try_wait(struct trial *trial, struct err *e)
{
	const int64_t until_ns = mono_now().ns + trial->watch_ns;
	while (mono_now().ns < until_ns && !try_stopped) {
		const struct timespec pause = {0, LOOK_NS};
		nanosleep(&pause, NULL);
		if (waitpid(trial->agent, NULL, WNOHANG) != trial->agent)
			continue;
		return try_ended(trial, "agent", e);
	}
	return 0;
}

static void try_stop(struct trial *trial)
{
	if (trial->agent <= 0)
		return;
	kill(trial->agent, SIGTERM);
	while (waitpid(trial->agent, NULL, 0) < 0 && errno == EINTR)
		;
	trial->agent = 0;
}

/* ---- what is told ---------------------------------------------------------- */

static void try_put_survey(FILE *out, const struct survey *survey)
{
	size_t between = 0;
	for (size_t i = 0; i < survey->n_links; i++)
		between += survey->links[i].b_device && !survey->links[i].problem;
	fprintf(out,
		"SWITCHES     answered %zu of %zu; links %zu, of them between these switches %zu\n",
		survey->n_answered, survey->n, survey->n_links, between);
	for (size_t i = 0; i < survey->n; i++)
		if (!survey->v[i].answered)
			fprintf(out, "             silent: %s\n", survey->v[i].reason);
}

static void try_put_readings(FILE *out, const struct trial *trial)
{
	const struct try_archive *archive = &trial->archive;
	char shortest[32], longest[32], apart[32];
	if (archive->readings == 0)
		return;
	fprintf(out, "READINGS     %zu of each switch, over %s", archive->readings,
		duration_format(shortest, sizeof(shortest), archive->shortest_ns));
	if (archive->longest_ns != archive->shortest_ns)
		fprintf(out, " to %s",
			duration_format(longest, sizeof(longest), archive->longest_ns));
	fputs("; between two of them only the mean is known\n", out);
	if (archive->apart_ns > ARCHIVE_APART_NS)
		fprintf(out, "             taken up to %s apart, judged as if at one time\n",
			duration_format(apart, sizeof(apart), archive->apart_ns));
}

static void try_put_state(FILE *out, const struct status_answer *status)
{
	rw_cleanup(str_done) struct str line = {0};
	verdict_line(&line, status->state, status->state_why);
	fputs("VERDICT      ", out);
	text_put(out, line.s);
	fputc('\n', out);
	for (size_t i = 0; i < status->n_incidents; i++) {
		const struct open_incident *incident = &status->incidents[i];
		fprintf(out, "%-12s %s %s: ", str_if(i == 0, "OPEN"), incident->severity,
			incident->cause);
		text_put(out, text_or_dash(incident->summary));
		fputc('\n', out);
	}
}

/* The worst one, as "incident show" shows it. */
static int try_put_card(
	struct client *client, const struct command_args *args, const char *id, struct err *e)
{
	struct command_args bare = *args;
	json_t *doc = NULL;
	bare.n_given = 0;
	int rc = command_document(client, &bare, "incident/show", "id", id, &doc, e);
	putchar('\n');
	if (rc == 0)
		rc = command_print(&bare, doc, &incident_card_view, e);
	json_decref(doc);
	return rc;
}

static int try_tell(const struct trial *trial, const struct command_args *args, struct err *e)
{
	struct globals globals = *args->g;
	struct client client;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct status_answer status = {0};
	struct doctor_answer doctor = {0};
	if (trial->archive.readings > 0) {
		globals.db = trial->db;
	} else {
		globals.config_path = trial->config;
		globals.config_named = true;
		globals.config_given = true;
	}
	int rc = client_open(&client, &globals, trial->watch_ns, e);
	if (rc < 0)
		return rc;
	rc = status_read(&client, a, &status, e);
	if (rc == 0) {
		try_put_survey(stdout, &trial->survey);
		try_put_readings(stdout, trial);
		try_put_state(stdout, &status);
	}
	if (rc == 0 && status.n_incidents > 0)
		rc = try_put_card(&client, args, status.incidents[0].id, e);
	if (rc == 0)
		rc = doctor_read(&client, a, &doctor, e);
	if (rc == 0) {
		fputc('\n', stdout);
		coverage_print(stdout, &doctor);
		puts("A trial sees what changes while it watches, not what is usual here.\n"
		     "NEXT         rocewatch config init HOST... --community-file FILE");
		doctor_done(&doctor);
	}
	client_done(&client);
	return rc;
}

/* ---- the command ----------------------------------------------------------- */

static int try_watch(struct trial *trial, const struct command_args *args, struct err *e)
{
	int rc = survey_hosts(&trial->survey, trial->hosts, SURVEY_NS, e);
	if (rc < 0)
		return rc;
	if (trial->survey.n_answered == 0)
		return err_set(e, -EIO, "no switch answered (%zu asked): %s", trial->survey.n,
			trial->survey.v[0].reason);
	rc = try_make_dir(trial, e);
	if (rc == 0)
		rc = file_write(trial->config, try_write_config, trial, e);
	if (rc == 0)
		rc = try_start(trial, e);
	if (rc == 0)
		rc = try_wait(trial, e);
	if (rc == 0)
		rc = try_tell(trial, args, e);
	return rc;
}

/* Where the case is kept, or the directory of the trial. */
static int try_case_dir(struct trial *trial, const char **ret, struct err *e)
{
	*ret = trial->dir;
	if (!trial->keep)
		return 0;
	*ret = trial->keep;
	if (mkdir(trial->keep, 0750) == 0)
		return 0;
	return err_set(
		e, -EINVAL, "--keep: %.200s: %s; name a new folder", trial->keep, strerror(errno));
}

static int try_judge(struct trial *trial, const struct command_args *args, struct err *e)
{
	const char *dir;
	int rc = try_make_dir(trial, e);
	if (rc == 0)
		rc = try_case_dir(trial, &dir, e);
	if (rc == 0)
		rc = try_archive_read(
			args->argv, (size_t)args->argc, dir, &trial->survey, &trial->archive, e);
	if (rc == 0)
		rc = try_replay(trial, dir, e);
	if (rc == 0)
		rc = try_tell(trial, args, e);
	return rc;
}

static bool try_is_folder(const char *text)
{
	struct stat st;
	return stat(text, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Addresses, or folders: EXIT_OK, or a usage error that was printed. */
static int try_read_places(struct trial *trial, const struct command_args *args,
	struct survey_hosts *hosts, bool *ret_folders)
{
	size_t n_folders = 0;
	for (int i = 0; i < args->argc; i++)
		n_folders += try_is_folder(args->argv[i]);
	*ret_folders = n_folders > 0;
	if (n_folders == 0 && trial->keep)
		return usage_error(&command_try, "--keep is of folders");
	if (n_folders == 0)
		return survey_hosts_read(&command_try, args, 0, hosts);
	if (n_folders == (size_t)args->argc)
		return EXIT_OK;
	return usage_error(&command_try,
		"folders and addresses cannot be mixed: %zu of %d are folders", n_folders,
		args->argc);
}

static int cmd_try_run(struct command_args *args)
{
	const char *text = command_opt(&command_try, args, "for");
	const struct sigaction action = {.sa_handler = try_on_signal};
	struct err e = {0};
	struct trial trial = {
		.watch_ns = WATCH_NS, .keep = command_opt(&command_try, args, "keep")};
	rw_cleanup(survey_hosts_done) struct survey_hosts hosts = {0};
	bool folders;
	const int code = try_read_places(&trial, args, &hosts, &folders);
	if (code != EXIT_OK)
		return code;
	if (text && (unit_duration(text, &trial.watch_ns, NULL) < 0 || trial.watch_ns <= 0))
		return usage_error(
			&command_try, "--for: '%.40s' is not a duration such as 40s", text);
	trial.hosts = &hosts;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (!args->g->verbose)
		log_set_level(LOG_ERROR_);
	int rc;
	if (folders)
		rc = try_judge(&trial, args, &e);
	else
		rc = try_watch(&trial, args, &e);
	try_stop(&trial);
	try_remove_dir(&trial);
	survey_done(&trial.survey);
	if (rc == 0)
		return EXIT_OK;
	err_print(stderr, &e);
	if (rc == -EINVAL && !folders)
		return EXIT_USAGE;
	return EXIT_FAILED;
}

const struct command command_try = {
	.name = "try",
	.args = "HOST...",
	.summary = "within a minute, with no configuration: what is wrong here",
	.help = "Asks these switches over SNMP or gNMI who they are and how they are linked "
		"(LLDP), "
		"watches them for a while with the detectors of the agent, and tells the verdict, "
		"the worst incident, and what these switches cannot show and why. HOST is "
		"ADDRESS[:PORT], or gnmi:ADDRESS[:PORT]. It needs no configuration and no root, "
		"changes nothing on a "
		"switch, and leaves no file behind. Ctrl-C ends it early with what is known by "
		"then.\n\n"
		"HOST may also be a folder: the unpacked archive of SONiC's 'show techsupport', "
		"one for each switch. Then nothing is asked: what changed between the two "
		"readings of its counters is judged.\n"
		"Exit: 0 told, whatever is wrong; 1 no switch answers, or an archive cannot be "
		"judged.",
	.options = options,
	.examples = {{"try 192.0.2.11 192.0.2.12 192.0.2.21 --community-file community",
			     "watches three switches for forty seconds",
			     .not_run = "asks switches"},
		{"try sonic_dump_leaf1 sonic_dump_spine1",
			"judges what two switches wrote for support",
			.not_run = "needs two archives"}},
	.usage_exit = EXIT_USAGE,
	.run = cmd_try_run,
};
